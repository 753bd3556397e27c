# Advice on simulated campaigns of known truth, stage by stage as noiselab run advise measures them: how
# often is an algorithm advised that is no faster, or a default kept that one beats by more than the margin?
# Part of make bench-stats.

advise_cells <- 6
advise_arms_each <- 6
advise_rounds_each <- 12
# Log ratio to the default of the arms of each cell. The margin is 5 %.
advise_truths <- list(
  same = function() rep(0, advise_arms_each),
  # the hardest to keep rightly: one arm gains just over the margin
  "one at the margin" = function() c(log(0.95) - 1e-9, rep(0, advise_arms_each - 1)),
  "one 15 % faster and two slower" = function() c(log(0.85), log(1.6), log(2), rep(0, advise_arms_each - 3))
)
# Scatter of an arm from launch to launch, that of a round, and its degrees of freedom (few: long tails).
advise_machines <- list(
  quiet = list(launch = 0.01, round = 0.02, df = 30),
  wandering = list(launch = 0.03, round = 0.05, df = 3),
  busy = list(launch = 0.05, round = 0.15, df = 2)
)
# Figures of one launch of these arms. The default's own scatter is in all of a cell.
advise_launch <- function(launch, arms, truth, machine) {
  m <- advise_machines[[machine]]
  scatter <- function() {
    stats::rnorm(1, 0, m$launch) + pseudo_median(m$round * stats::rt(advise_rounds_each, m$df))$estimate
  }
  cell <- paste(arms$operation, arms$bytes)
  of_default <- stats::setNames(replicate(length(unique(cell)), scatter()), unique(cell))
  value <- function() {
    ifelse(arms$algorithm == "default", 0,
           truth[as.character(arms$algorithm)] + replicate(nrow(arms), scatter()) - of_default[cell])
  }
  data.frame(launch = launch, arms[c("operation", "bytes", "ranks", "algorithm")], quiet = value(),
             noise = value(), quiet_ns = 1, noise_ns = 1)
}

# A campaign of three stages of four launches; `truth` of the named arms in every cell.
advise_outcome <- function(truth, machine, seed) {
  set.seed(seed)
  gains <- advise_truths[[truth]]()
  names(gains) <- letters[seq_along(gains)]
  arms <- expand.grid(algorithm = c("default", names(gains)),
                      operation = sprintf("op%d", seq_len(advise_cells)), stringsAsFactors = FALSE)
  arms <- data.frame(launch = "1", operation = arms$operation, bytes = 8, ranks = 2,
                     algorithm = arms$algorithm, number = 1L, in_fact = arms$algorithm)
  left <- arms
  figures <- NULL
  for (stage in 1:3) {
    launches <- as.character(4 * (stage - 1) + 1:4)
    figures <- bind_rows(c(list(figures),
                           lapply(launches, advise_launch, arms = left, truth = gains, machine = machine)))
    judged <- advise_judged(figures, arms, as.character(1:4), alpha / 3, advise_margin_percent)
    left <- arms_left(judged, arms, advise_margin_percent)
    if (nrow(left) == 0) break
  }
  rows <- judged$rows
  used <- rows$verdict == "use"
  c(n = 1, false_use = any(used & gains[rows$algorithm] >= 0),
    wrong_keep = any(rows$verdict == "keep") && min(gains) < log(1 - advise_margin_percent / 100),
    decided = mean(rows$verdict != "undecided"), found = mean(used & gains[rows$algorithm] < 0))
}

# `n`: campaigns per cell in all.
advise_simulated <- function(n) {
  cat("Advice: simulated campaigns of", advise_cells, "operations with", advise_arms_each,
      "algorithms, three stages of four launches\n")
  cells <- expand.grid(machine = names(advise_machines), truth = names(advise_truths),
                       stringsAsFactors = FALSE)
  in_cells(
    "advise.csv",
    n,
    cells,
    function(cell) function(seed) advise_outcome(cell$truth, cell$machine, seed),
    function(cell, sums) {
      name <- paste0(cell$truth, ", ", cell$machine)
      for (wrong in c("use", "keep")) {
        share(name, hits_of(sums[[c(use = "false_use", keep = "wrong_keep")[[wrong]]]], sums[["n"]]), "wrong",
              paste0(" ", wrong))
      }
      cat(sprintf("  %-44s decided %.0f %% of the cases, advised rightly %.0f %%\n", "",
                  100 * sums[["decided"]] / sums[["n"]], 100 * sums[["found"]] / sums[["n"]]))
    }
  )
}
