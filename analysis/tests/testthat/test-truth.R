# Statistical ground truth in small: seeded, so it does not vary. Each bound is an exact binomial limit,
# which a correct analysis would pass with 99.9 % of all seeds, and one whose standard errors are off by a
# factor of 1.5 would not. `make bench-stats` does the same with more campaigns and shapes.
truth_machines <- list(
  "white noise" = "white",
  "1/f wander" = list(one_over_f = list(sd = 0.006, exponent = 1.2), white = list(sd = 0.002)),
  "Pareto 1.5 in every half" = list(pareto = list(rate = 1), white = list())
)

# Verdicts of campaigns of 20 pairs per operation and level at alpha 1 %. Operations run in turn, so each
# has noise of its own: twenty of them are cheaper than twenty campaigns.
truth_verdicts <- function(seeds, levels, ..., channels = "time", operations = paste0("operation", 1:20),
                           noise = "white", coin = 0, scope = "this launch") {
  bind_rows(lapply(seeds, function(i) {
    campaign <- simulated_campaign(operations = operations, levels_percent = levels, pairs = 20, cost_ns = 0,
                                   noise = noise, seed = i, coin_seed = i + coin, ...)
    rows <- analyze_campaign(campaign, channels = channels)$verdicts
    cbind(rows[rows$scope %in% scope, ], seed = i)
  }))
}

at_most <- function(hits, p) expect_lte(sum(hits), qbinom(0.999, length(hits), p))
within_limits <- function(hits, p) {
  expect_gte(sum(hits), qbinom(0.0005, length(hits), p[1]))
  expect_lte(sum(hits), qbinom(0.9995, length(hits), p[length(p)]))
}

delayedAssign("white_null", truth_verdicts(1:3, 0, slowdown_percent = 0, channels = c("time", "preempted")))

for (machine in names(truth_machines)) {
  test_that(paste("false alarms and coverage are as stated:", machine), {
    null <- if (identical(truth_machines[[machine]], "white")) white_null else {
      truth_verdicts(1:3, 0, slowdown_percent = 0, channels = c("time", "preempted"),
                     noise = truth_machines[[machine]])
    }
    for (channel in c("time", "preempted")) {
      rows <- null[null$channel == channel, ]
      expect_equal(nrow(rows), 60)
      at_most(rows$p_one_sided <= 0.01, 0.01)
      within_limits(rows$ci_low <= 0 & 0 <= rows$ci_high, 0.99)
    }
  })
}

test_that(paste0("an effect of the stated limit is detected as often as stated, by another coin on the same ",
                 "machine"), {
  rows <- bind_rows(lapply(1:3, function(i) {
    clean <- white_null[white_null$seed == i & white_null$channel == "time", ]
    limits <- clean$detection_limit[match(paste0("operation", 1:20), clean$operation)]
    # without a cost, the slowdown at level 1 is the amplification
    bind_rows(lapply(c(1, 1.5), function(part) {
      got <- truth_verdicts(i, 1, amplification = limits / part, coin = 5000)
      cbind(got, truth = limits[match(got$operation, paste0("operation", 1:20))] / part, part = part)
    }))
  }))
  whole <- rows[rows$part == 1, ]
  expect_equal(nrow(whole), 60)
  within_limits(whole$p_one_sided <= 0.01, c(0.93, 0.97))
  within_limits(rows$ci_low <= rows$truth & rows$truth <= rows$ci_high, 0.99)
  # of normal estimates 2.33 and 1.64 standard errors add up to the limit; a limit of 1.5 times what is
  # needed would be found at two thirds
  within_limits(rows$p_one_sided[rows$part == 1.5] <= 0.01, c(0.5, 0.7))
})

test_that("launches with effects of their own do not raise false alarms across launches", {
  rows <- truth_verdicts(1:7, 1, slowdown_percent = 0, operations = "barrier", launches = 6, launch_sd = 0.01,
                         base_sd = 0.02, scope = c("launches like these", "this launch"))
  across <- rows[rows$scope == "launches like these", ]
  expect_equal(nrow(across), 7)
  at_most(across$p_one_sided <= 0.01, 0.01)
  within_limits(across$ci_low <= 0 & 0 <= across$ci_high, 0.99)
  # the pairs of a launch share its effect: taken for independent they find one in every other launch
  within <- rows[rows$scope == "this launch", ]
  expect_equal(nrow(within), 42)
  expect_gt(sum(within$p_one_sided <= 0.01), qbinom(0.999, 42, 0.01))
})

test_that("unpaired launches keep their false alarms and their coverage", {
  rows <- truth_verdicts(1:16, 0, slowdown_percent = 0, operations = "barrier", design = "launches",
                         launches = 6, base_sd = 0.02, scope = "launches like these")
  expect_equal(nrow(rows), 16)
  at_most(rows$p_one_sided <= 0.01, 0.01)
  within_limits(rows$ci_low <= 0 & 0 <= rows$ci_high, 0.99)
})
