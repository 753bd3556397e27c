test_that("the number of pairs is the smallest with the power that base R computes for it", {
  power_of <- function(n, effect, sd, alpha) {
    power.t.test(n = n, delta = effect, sd = sd, sig.level = alpha, type = "one.sample",
                 alternative = "one.sided")$power
  }
  for (case in list(c(1, 1, 0.01, 0.95), c(0.5, 2, 0.05, 0.8), c(0.1, 1, 0.01, 0.9), c(3, 1, 0.01, 0.95),
                    c(0.02, 1, 0.01, 0.95))) {
    got <- plan_pairs(case[1], case[2], case[3], case[4])
    expect_gte(power_of(got$n, case[1], case[2], case[3]), case[4] - 1e-4)
    expect_lt(power_of(got$n - 1, case[1], case[2], case[3]), case[4])
    expect_equal(got$power, power_of(got$n, case[1], case[2], case[3]), tolerance = 1e-4)
  }
})

test_that(paste0("a margin is shown to be kept as often as its upper end lies above simulated intervals of ",
                 "no effect"), {
  n <- plan_pairs(plan_goals(list(margin = 20))$equivalence$effect, 0.3, alpha = 0.05, power = 0.8)$n
  high <- with_seed(
    4, rnorm(2e5, 0, 0.3 / sqrt(n)) + qt(0.95, n - 1) * 0.3 * sqrt(rchisq(2e5, n - 1) / (n - 1) / n)
  )
  expect_equal(mean(high < log(1.2)), plan_pairs(log(1.2), 0.3, 0.05, 0.8)$power, tolerance = 0.005)
})

test_that("what has no answer is NA with a reason", {
  reasons <- list("scatter is unknown" = plan_pairs(1, NA_real_), "no scatter" = plan_pairs(1, 0),
                  "0 or below" = plan_pairs(0, 1), "more than" = plan_pairs(1e-9, 1))
  for (wanted in names(reasons)) {
    expect_true(is.na(reasons[[wanted]]$n))
    expect_match(reasons[[wanted]]$reason, wanted)
  }
  expect_equal(plan_pairs(10, 1, least = 7)$n, 7)
})

test_that("launches are planned with the best number of pairs, and are enough", {
  got <- plan_launches(effect = 1, sd_pair = 4, sd_launch = 0.5, pair_s = 0.02, launch_s = 2)
  # sqrt(2 / 0.02 * 16 / 0.25) = 80
  expect_equal(got$pairs_per_launch, 80)
  sd <- sqrt(0.25 + 16 / 80)
  expect_equal(got$n_launches, plan_pairs(1, sd)$n)
  expect_equal(got$seconds, got$n_launches * (2 + 80 * 0.02))
  fixed <- plan_launches(effect = 1, sd_pair = 4, sd_launch = 0.2, pair_s = 0.02, launch_s = 2, launches = 10)
  sd_of <- function(r) sqrt(0.04 + 16 / r)
  expect_lte(detection_limit(sd_of(fixed$pairs_per_launch) / sqrt(10), 9), 1)
  expect_gt(detection_limit(sd_of(fixed$pairs_per_launch - 1) / sqrt(10), 9), 1)
  none <- plan_launches(effect = 1, sd_pair = 4, sd_launch = 0, pair_s = 0.02, launch_s = 2)
  expect_equal(none$n_launches, 7)
  expect_match(plan_launches(1, 4, 2, 0.02, 2, launches = 5)$reason, "5 launches are too few")
  expect_match(plan_launches(1, 4, 2, 0.02, 2, launches = 1)$reason, "one launch cannot speak")
  expect_match(plan_launches(1, 0, 2, 0.02, 2)$reason, "no scatter")
})
