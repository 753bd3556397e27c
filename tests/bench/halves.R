# How disturbed was a launch, and what do its estimates gain? Rscript halves.R CAMPAIGN: a line `steal
# preempted` (percent of the wall time of its off halves: of the slowest rank, of the rank that waited
# most), then one per level above 0: `level typical adjusted`, the variance of the mean slowdown over that
# of the typical shift and of the mean less steal, from random halves of its own pairs. NA: unknown. the
# parts of the package, of which it exports few
attach(asNamespace("noiselab"), name = "parts of noiselab", warn.conflicts = FALSE)
draws <- 1000
set.seed(1)
campaign <- read_campaign(commandArgs(TRUE)[1])
rows <- campaign$rows
off <- rows[["arm"]] == "off"
percent <- function(name) {
  if (is.null(rows[[name]])) {
    NA
  } else {
    100 * sum(rows[[name]][off]) / sum(rows[["wall_ns"]][off])
  }
}
cat(sprintf("%.3g %.3g\n", percent("rank_steal_ns_max"), percent("preempted_ns_max")))

pairs <- pair_rows(rows)
lost <- lost_time(campaign, pairs)
y <- log(operation_ns(rows))
d <- y[pairs$on] - y[pairs$off]
level <- rows[["level_requested_percent"]][pairs$on]
for (one in setdiff(sort(unique(level)), 0)) {
  at <- which(level == one & is.finite(d))
  if (length(at) < 20) next
  # The scatter over half samples is that of the estimate.
  estimates <- replicate(draws, {
    half <- sample(at, length(at) %/% 2)
    c(mean(d[half]), pseudo_median(d[half])$estimate, if (is.null(lost)) NA else mean(lost$d[half]))
  })
  v <- apply(estimates, 1, stats::var)
  cat(sprintf("%g %.2f %.2f\n", one, v[1] / v[2], v[1] / v[3]))
}
