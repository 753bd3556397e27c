# How often noiselab analyze setting states a difference of two values that are the same, how often it decides
# a known one, and how often its interval holds it, on machines simulated here alone (base R; nothing of this
# is in the package):
#   R_LIBS=build/lib/noiselab/R Rscript --vanilla tests/bench/settings-simulated.R RUNS FILE [SAME]
# Adds a row for each kind of noise, true change and length to FILE, and goes on at the next seed with each
# call ("by load": a change of interruptions alone); SAME: only of values that are the same. Lengths are sets
# of the reference, another value and a placebo: 14, 60, and 186, which 60 s have in blocks of 100 ms with
# 7 ms after each switch. The margin is 0.2 %: no difference is wrong of a change of as much.
arguments <- commandArgs(TRUE)
runs <- as.integer(arguments[1])
file <- arguments[2]
noiselab <- asNamespace("noiselab")

# Logarithms of times of n blocks that follow each other, in percent; with an attribute `detours`: of which so
# much is detours, and operations are timed one by one.
noises <- list(
  white = function(n) stats::rnorm(n, 0, 0.5),
  # the machine's speed wanders
  drift = function(n) {
    as.numeric(stats::filter(stats::rnorm(n, 0, 0.3), 0.98, "recursive")) + stats::rnorm(n, 0, 0.3)
  },
  # seldom something long
  spikes = function(n) stats::rnorm(n, 0, 0.2) + stats::rexp(n, 1 / 10) * (stats::runif(n) < 0.03),
  # kernel threads and daemons: detours, in some blocks
  detours = function(n) {
    of_detours <- stats::rexp(n, 1 / 15) * (stats::runif(n) < 0.3)
    structure(stats::rnorm(n, 0, 0.4) + of_detours, detours = of_detours)
  },
  # the machine has two speeds, and seldom changes from one to the other; detours
  jumps = function(n) {
    of_detours <- stats::rexp(n, 1 / 2)
    slow <- cumsum(stats::runif(n) < 1 / 50) %% 2
    structure(stats::rnorm(n, 0, 0.6) + 70 * slow + of_detours, detours = of_detours)
  },
  # some blocks are much slower or faster than others, and not by detours
  outliers = function(n) structure(0.5 * stats::rt(n, 1.5), detours = stats::rexp(n, 1) / 10),
  # busy spells of some blocks
  spells = function(n) {
    stats::rnorm(n, 0, 0.3) + 3 * (cumsum(sample(c(-1, 0, 1), n, TRUE, c(0.1, 0.8, 0.1))) %% 5 == 0)
  }
)

# The value's change is one of each operation, or of interruptions: a load that it starts, or that it ends.
campaign <- function(noise, change, sets, by_load) {
  arm <- unlist(lapply(seq_len(sets), function(i) sample(3)))
  slower <- noise(3 * sets)
  added <- if (by_load && change < 0) c(-change, 0, -change)[arm] else c(0, change, 0)[arm]
  wall <- 1e8 * exp((as.numeric(slower) + added) / 100)
  of_detours <- attr(slower, "detours")
  if (by_load) of_detours <- of_detours + added
  told <- list(
    settings = list(list(key = "kernel.knob", values = list("1", "0"))),
    arms = list(list(kind = "knob-0", values = list("0")), list(kind = "placebo", values = list("1")))
  )
  rows <- data.frame(launch = "one", design = "blocks", operation = "allreduce", bytes = 2048, ranks = 2,
                     pair = rep(seq_len(sets), each = 3), order = rep(0:2, sets),
                     arm = ifelse(arm == 1, "off", "on"), level_requested_percent = ifelse(arm == 1, 0, Inf),
                     kind = c(NA, "knob-0", "placebo")[arm], start_ns = cumsum(c(0, wall[-length(wall)])),
                     wall_ns = wall, operations = 1e4, preempted_ns_sum = 0)
  if (!is.null(of_detours)) rows$detour_ns <- wall * -expm1(-of_detours / 100)
  structure(list(rows = data.table::as.data.table(rows), dirs = "simulated", notes = character(),
                 launches = list(one = list(options = list(settings = told)))), class = "nl_campaign")
}

planned_sets <- 60000 %/% (3 * 107)
with_load <- paste0(c("detours", "jumps", "outliers"), ", load")
cells <- expand.grid(noise = c(names(noises), with_load), change = c(0, -0.2, 0.2, -1, 1),
                     sets = c(14, 60, planned_sets), stringsAsFactors = FALSE)
cells <- cells[cells$change == 0 & !cells$noise %in% with_load |
                 cells$change != 0 & cells$sets == planned_sets & !"SAME" %in% arguments, ]

done <- if (file.exists(file)) utils::read.csv(file, comment.char = "#") else data.frame(seed = 0)
seed <- max(0, done$seed) + 1
if (!file.exists(file)) {
  cat(
    paste0("# One row per part of tests/bench/settings-simulated.R: simulated runs of noiselab run setting; ",
           "stated: slower or faster; holds: intervals of 98 %"),
    "date,version,noise,true_percent,sets,runs,stated,wrong_side,holds,no_difference,seed",
    file = file,
    sep = "\n"
  )
}
version <- noiselab$package_version_text()
for (cell in seq_len(nrow(cells))) {
  set.seed(1e6 + 1000 * seed + cell)
  change <- cells$change[cell]
  got <- do.call(rbind, lapply(seq_len(runs), function(i) {
    noise <- as.character(cells$noise[cell])
    one <- campaign(noises[[sub(",.*", "", noise)]], change, cells$sets[cell], noise %in% with_load)
    noiselab$compare_settings(one, margin = 0.2)$rows
  }))
  truth <- 100 * expm1(change / 100)
  row <- c(format(Sys.Date()), version, sub(", ", " by ", cells$noise[cell]), change, cells$sets[cell], runs,
           sum(got$outcome %in% c("slower", "faster")),
           sum(got$outcome == if (change > 0) "faster" else if (change < 0) "slower" else ""),
           sum(got$ci_low <= truth & got$ci_high >= truth), sum(got$outcome == "no difference"), seed)
  cat(row, sep = ",", file = file, append = TRUE)
  cat("\n", file = file, append = TRUE)
  cat(row, "\n")
}
