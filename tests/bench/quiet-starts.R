# Figures of synchronised starts from the raw file of a launch: overshoots from the blocks in which no rank
# was switched off its CPU, times of all starts. Prints "name value".
source("analysis/tests/simulate.R", chdir = TRUE)
dir <- commandArgs(TRUE)[1]
show <- function(name, x) cat(name, format(x, digits = 6), "\n")
for (operation in c("waitpattern-up", "waitpattern-null", "barrier")) {
  ranks <- read_starts(dir, operations = operation)
  ranks <- ranks[ranks$switches == 0, ]
  # medians stand a few switches: of all starts
  starts <- read_starts(dir, operations = operation, by = "start")
  show(paste0(operation, ".n_quiet"), nrow(ranks))
  show(paste0(operation, ".p50"), median(ranks$overshoot_ns))
  show(paste0(operation, ".p99"), quantile(ranks$overshoot_ns, 0.99))
  show(paste0(operation, ".late_percent"), 100 * mean(starts$late))
  show(paste0(operation, ".median"), round(median(starts$global_ns)))
}
