# What an agent costs beyond its bursts, from quick halves between which it is frozen: the bursts' windows are masked in the half with it, and
# the same stretch of time in the half without it.

# Rows of a design with quick halves: which are stretches that nothing disturbs, and how long the halves were planned; NA: another design.
planned_parts <- function(campaign, id) {
  options <- campaign$launches[[id]]$options
  if (!identical(options$design, "quick")) return(NULL)
  list(quick = c(options$half_period_ns, options$long_half_ns), undisturbed = options$block_ns)
}

# Of these rows those in which an agent ran undisturbed: all, but for quick halves.
undisturbed_rows <- function(campaign, at) {
  ids <- as.character(campaign$rows[["launch"]][at])
  planned <- campaign$rows[["planned_ns"]][at]
  keep <- rep(TRUE, length(at))
  for (id in unique(ids)) {
    parts <- planned_parts(campaign, id)
    if (!is.null(parts)) keep[ids == id] <- planned[ids == id] %in% parts$undisturbed
  }
  at[keep]
}

#' Log ratios of quick halves without what bursts cost
#'
#' @param blocks Data frame, a row per half: `pair`, `arm`, `start_ns`, `first`, `n` (its slices), `planned_ns`.
#' @param ns Numeric: length of all slices.
#' @param bursts Data frame: `start_ns`, `duration_ns`.
#' @param tail_ns How long a burst's window goes on after its end.
#' @return A data frame, a row per pair in the order of time: `pair`, `planned_ns`, `raw` (log of mean slice, on over off), `d` (the same where no
#'   slice counts for more than `most_medians` medians of its half), `kept` (share of the slices).
#' @noRd
masked_pairs <- function(blocks, ns, bursts, tail_ns) {
  blocks <- blocks[blocks$n > 0, ]
  on <- blocks[blocks$arm == "on", ]
  off <- blocks[blocks$arm == "off", ]
  on <- on[on$pair %in% off$pair, ]
  on <- on[order(on$start_ns), ]
  off <- off[match(on$pair, off$pair), ]
  if (nrow(on) == 0) return(NULL)
  sums <- c(0, cumsum(ns))
  ends <- bursts$start_ns + bursts$duration_ns + tail_ns
  length_of <- function(half) sums[half$first + half$n] - sums[half$first]
  # Bursts that reach into a half, also those that begin before it.
  at <- findInterval(ends, on$start_ns)
  reach <- at > 0 & bursts$start_ns < (on$start_ns + length_of(on))[pmax(1, at)]
  hit <- split(which(reach), at[reach])
  # Sum of the slices that are left, the same with long ones cut, and their number.
  total <- function(half, i) {
    slices <- half$first[i] - 1 + seq_len(half$n[i])
    own <- ns[slices]
    masked <- rep(FALSE, length(slices))
    for (k in hit[[as.character(i)]]) {
      begin <- sums[slices] - sums[half$first[i]]
      masked <- masked | begin + own > bursts$start_ns[k] - on$start_ns[i] & begin < ends[k] - on$start_ns[i]
    }
    left <- own[!masked]
    c(sum(left), sum(pmin(left, most_medians * stats::median(own))), length(left))
  }
  each <- function(half) vapply(seq_len(nrow(half)), function(i) total(half, i), numeric(3))
  with <- each(on)
  without <- each(off)
  ratio <- function(k) log(with[k, ] / with[3, ]) - log(without[k, ] / without[3, ])
  data.frame(pair = on$pair, planned_ns = on$planned_ns, raw = ratio(1), d = ratio(2), kept = pmin(with[3, ] / on$n, without[3, ] / off$n))
}

# An interruption counts for as much as its slice would have lasted once more; a pair for so many robust standard deviations from the centre.
most_medians <- 2
most_deviations <- 3

most_reach <- function(d) if (stats::mad(d) > 0) most_deviations * stats::mad(d) else Inf
clamped <- function(x, reach) pmin(pmax(x, -reach), reach)

# Pairs of which less than this is left are no pairs.
least_kept <- 0.25

# Neighbouring pairs hang together for less than a part of so many.
beyond_groups <- 64

#' Mean of values of which a few lie far out
#'
#' @param d Numeric, length n: in the order of time.
#' @return A figure: Huber's estimate with the median absolute deviation for scale, by its influence function over all values or over groups of
#'   neighbours, whichever is wider; the mean, where most values are the same.
#' @references Huber, P. J. (1981) Robust Statistics, chapters 3 and 6.
#' @noRd
robust_figure <- function(d) {
  reach <- most_reach(d)
  centre <- stats::median(d)
  for (i in 1:100) {
    w <- clamped(d - centre, reach)
    centre <- centre + mean(w)
    if (abs(mean(w)) < 1e-12) break
  }
  each <- batch_mean_ci(w, 0.98, Inf)
  groups <- batch_mean_ci(w, 0.98, beyond_groups)
  figure_of_t(centre, c(each$se, groups$se) / mean(abs(d - centre) <= reach), c(each$df, groups$df))
}

#' Slowdown beyond the bursts
#'
#' @param pairs Result of `masked_pairs()`.
#' @param alpha Of the tests whether short and long halves differ, and whether more is cut with the agent, length 1.
#' @return A figure (percent), with attributes `n` (pairs) and `note`; NULL with fewer than seven pairs. Others' interruptions and jumps of the
#'   machine's speed come in both arms and are cut, by `robust_figure()`; where more is cut with the agent, nothing is, and the mean counts. Where long
#'   halves show another effect than short ones what the agent leaves behind when it is frozen lasts longer than a short half: then the long ones alone.
#' @noRd
quick_figure <- function(pairs, alpha = 0.01) {
  pairs <- pairs[is.finite(pairs$d) & is.finite(pairs$raw) & pairs$kept >= least_kept, ]
  if (NROW(pairs) < 7) return(NULL)
  note <- NULL
  long <- pairs$planned_ns > min(pairs$planned_ns)
  if (sum(long) >= 3 && sum(!long) >= 3) {
    p <- p_of_t(pairs$d[long], pairs$d[!long])
    if (isTRUE(p <= alpha) && sum(long) >= 7) {
      note <- sprintf("short and long halves differ (p = %s): what it leaves behind lasts longer than a short half, so the long ones count alone",
                      format_p(p))
      pairs <- pairs[long, ]
    }
  }
  figure <- robust_figure(pairs$d)
  centre <- figure$value
  p <- p_of_t(pairs$raw - centre - clamped(pairs$d - centre, most_reach(pairs$d)), alternative = "greater")
  if (isTRUE(p <= alpha)) {
    note <- c(note, sprintf("long interruptions that its bursts do not hold come more often with it (p = %s): they count in full", format_p(p)))
    each <- batch_mean_ci(pairs$raw, 0.98, Inf)
    groups <- batch_mean_ci(pairs$raw, 0.98, locked_design$groups)
    figure <- figure_of_t(each$estimate, c(each$se, groups$se), c(each$df, groups$df))
  }
  structure(figure_as(figure, function(x) 100 * expm1(x)), n = nrow(pairs), note = if (length(note) > 0) paste(note, collapse = "; "))
}

# NA where nothing scatters.
p_of_t <- function(...) tryCatch(stats::t.test(...)$p.value, error = function(e) NA_real_)

# Of the rows `at` of a launch; NULL where there is none, or no record of bursts. Without a burst the whole lies beyond.
beyond_of_rows <- function(campaign, id, at, reader = read_slices, alpha = 0.01) {
  parts <- planned_parts(campaign, id)
  if (is.null(parts)) return(NULL)
  rows <- campaign$rows
  mine <- which(rows[["launch"]] == id & rows[["operation"]] == rows[["operation"]][at[1]] & rows[["bytes"]] == rows[["bytes"]][at[1]] &
                rows[["planned_ns"]] %in% parts$quick)
  on <- mine[rows[["arm"]][mine] == "on"]
  got <- if (length(on) > 0) locked_parts(campaign, id, on, reader)
  if (!is.list(got)) return(NULL)
  slices <- reader(got$file, campaign$launches[[id]])
  key <- function(x) paste(x[["operation"]], x[["bytes"]], x[["pair"]], x[["order"]], x[["arm"]], sep = "\r")
  blocks <- slices$blocks
  blocks$planned_ns <- rows[["planned_ns"]][mine][match(key(blocks), key(rows[mine, ]))]
  blocks <- blocks[!is.na(blocks$planned_ns), ]
  quick_figure(masked_pairs(blocks, slices$ns, got$bursts, tail_of(got$timeline)), alpha)
}
