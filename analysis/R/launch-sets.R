# Randomised launches: every launch has one arm, and a set of launches holds each arm once, in random order.

set_of <- function(info) {
  set <- info$options$set
  if (is_number(set)) set else NA_real_
}

# Do all launches belong to a numbered set, and do two sets at least hold both arms?
in_sets <- function(campaign) {
  sets <- vapply(campaign$launches, set_of, 0)
  if (anyNA(sets)) return(FALSE)
  rows <- campaign$rows
  arms <- unique(data.frame(set = sets[rows[["launch"]]], arm = rows[["arm"]]))
  sum(table(arms$set) == 2) > 1
}

# Each on launch against the off launch of its set: the set is the unit, and the order within it was drawn.
set_verdicts <- function(campaign, wanted, settings) {
  on <- set_differences(campaign, wanted)
  by <- c("operation", "bytes", "ranks", "design", treatment_columns, "channel", "level_requested_percent")
  group <- do.call(paste, c(on[by], sep = "\r"))
  verdicts <- lapply(split(on, factor(group, unique(group))), set_verdict, settings = settings)
  list(verdicts = unname(verdicts))
}

# One row per on launch, operation and channel: `difference` of its mean to that of the off launch of its set.
set_differences <- function(campaign, wanted) {
  means <- launch_means(campaign, wanted)
  means$set <- vapply(campaign$launches, set_of, 0)[means$launch]
  same <- c("operation", "bytes", "ranks", "channel", "set")
  key <- function(rows) do.call(paste, c(rows[same], sep = "\r"))
  off <- means[means$arm == "off", ]
  twice <- anyDuplicated(key(off))
  if (twice > 0) {
    abort_data("set ", off$set[twice], " has two off launches: give each set of launches a number of its own (--set)")
  }
  on <- means[means$arm == "on", ]
  on$difference <- on$value - off$value[match(key(on), key(off))]
  on
}

set_verdict <- function(on, settings) {
  name <- on$channel[1]
  twice <- anyDuplicated(on$set)
  if (twice > 0) {
    abort_data("set ", on$set[twice], " has level ", on$level_requested_percent[twice],
               " twice: give each set of launches a number of its own (--set)")
  }
  x <- on$difference[is.finite(on$difference)]
  n <- length(x)
  lost <- nrow(on) - n
  est <- launches_inference(x, settings, "paired t on sets of launches")
  est$mean <- est[c("estimate", "low", "high", "se", "df")]
  est$estimator <- "mean of set differences"
  est$why <- if (lost == 0) "" else sprintf("%d set(s) without a complete pair are left out", lost)
  flip <- sign_flip_test(x)
  reason <- if (n < 2) "fewer than 2 sets have both arms" else if (min(x) == max(x)) {
    "all sets agree exactly, their scatter is unknown"
  } else NA_character_
  verdict_row(across_label(on), name, 0, n, n, est, list(p = flip$p, method = flip$method), reason, settings,
              "set of launches", x)
}
