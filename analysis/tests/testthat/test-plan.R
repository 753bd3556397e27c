test_that("the number of pairs is the smallest with the power that base R computes for it", {
  power_of <- function(n, effect, sd, alpha) {
    power.t.test(n = n, delta = effect, sd = sd, sig.level = alpha, type = "one.sample", alternative = "one.sided")$power
  }
  for (case in list(c(1, 1, 0.01, 0.95), c(0.5, 2, 0.05, 0.8), c(0.1, 1, 0.01, 0.9), c(3, 1, 0.01, 0.95), c(0.02, 1, 0.01, 0.95))) {
    got <- plan_pairs(case[1], case[2], case[3], case[4])
    expect_gte(power_of(got$n, case[1], case[2], case[3]), case[4] - 1e-4)
    expect_lt(power_of(got$n - 1, case[1], case[2], case[3]), case[4])
    expect_equal(got$power, power_of(got$n, case[1], case[2], case[3]), tolerance = 1e-4)
  }
  wanted <- power.t.test(delta = 1, sd = 1, sig.level = 0.01, power = 0.95, type = "one.sample", alternative = "one.sided")$n
  expect_equal(plan_pairs(1, 1)$n, ceiling(wanted))
})

test_that("the detection limit of the planned pairs is the effect that was sought", {
  n <- plan_pairs(0.3, 2)$n
  expect_lte(detection_limit(2 / sqrt(n), n - 1), 0.3)
  expect_gt(detection_limit(2 / sqrt(n - 1), n - 2), 0.3)
})

test_that("equivalence has the power that simulated intervals have", {
  got <- plan_pairs(0.2, 1, alpha = 0.05, power = 0.8, margin = 1)
  n <- got$n
  inside <- with_seed(4, {
    mean <- rnorm(2e5, 0.2, 1 / sqrt(n))
    reach <- qt(0.95, n - 1) * sqrt(rchisq(2e5, n - 1) / (n - 1) / n)
    mean(mean - reach > -1 & mean + reach < 1)
  })
  expect_equal(got$power, inside, tolerance = 0.005)
  expect_gte(got$power, 0.8)
  expect_lt(test_power(n - 1, 0.2, 1, 0.05, c(-1, 1)), 0.8)
  # many pairs: 2 pnorm(margin sqrt(n) / sd - z) - 1 in closed form
  n <- plan_pairs(0, 1, margin = 0.02)$n
  expect_equal(n, ceiling(((qnorm(0.99) + qnorm(0.975)) / 0.02)^2), tolerance = 1e-4)
  expect_equal(plan_pairs(0, 1, margin = 0.02)$n, plan_pairs(0, 1, margin = c(-0.02, 0.02))$n)
})

test_that("a margin that a verdict asks of the upper end alone is planned for that end", {
  n <- plan_pairs(0, 1, margin = c(-Inf, 0.2))$n
  expect_equal(n, ((qnorm(0.99) + qnorm(0.95)) / 0.2)^2, tolerance = 0.02)
  expect_lt(n, 0.9 * plan_pairs(0, 1, margin = 0.2)$n)
  expect_equal(plan_goals(list(margin = 1))$equivalence$margin, c(-Inf, log1p(0.01)))
})

test_that("what has no answer is NA with a reason", {
  reasons <- list("scatter is unknown" = plan_pairs(1, NA_real_), "no scatter" = plan_pairs(1, 0),
                  "0 or below" = plan_pairs(0, 1),
                  "not inside the margin" = plan_pairs(1, 1, margin = 1), "more than" = plan_pairs(1e-9, 1))
  for (wanted in names(reasons)) {
    expect_true(is.na(reasons[[wanted]]$n))
    expect_match(reasons[[wanted]]$reason, wanted)
  }
  expect_error(check_probability(2, "alpha"), "'alpha': got 2, wanted one number between 0 and 1", class = "nl_error_usage")
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
  expect_gt(plan_launches(0, 4, 0.5, 0.02, 2, margin = 1)$n_launches, 2)
})
