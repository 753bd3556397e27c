test_that("the mean of few pairs has Student's interval", {
  d <- c(1, 2, 3, 4.5)
  wanted <- t.test(d, conf.level = 0.99)
  got <- batch_mean_ci(d)
  expect_equal(c(got$low, got$high), as.numeric(wanted$conf.int))
  expect_equal(got$estimate, 2.625)
})

test_that("many pairs are averaged in contiguous groups", {
  d <- rep(c(0, 1, 0, 3), each = 10)
  got <- batch_mean_ci(d, groups = 4)
  expect_equal(got$se, sd(c(0, 1, 0, 3)) / 2)
  expect_equal(got$df, 3)
  expect_equal(batch_sums(1:10, 3)$n, c(3, 3, 4))
  expect_equal(batch_sums(1:10, 3)$sum, c(6, 15, 34))
})

test_that("no pair, one pair and constant differences give what can be said", {
  expect_true(is.na(batch_mean_ci(numeric())$estimate))
  expect_equal(batch_mean_ci(7)$estimate, 7)
  expect_true(is.na(batch_mean_ci(7)$low))
  expect_equal(batch_mean_ci(c(2, 2, 2))$low, 2)
  expect_true(is.na(pseudo_median(numeric())$estimate))
  expect_equal(pseudo_median(7)$estimate, 7)
  expect_true(is.na(pseudo_median(7)$low))
  expect_equal(pseudo_median(rep(2, 500))$estimate, 2)
})

test_that("the pseudo-median is the median of the Walsh averages", {
  expect_equal(pseudo_median(c(1, 2, 4))$estimate, 2.25)
  expect_true(is.na(pseudo_median(1:7)$low))
  expect_equal(pseudo_median(as.numeric(1:8))[c("low", "high")], list(low = 1, high = 8))
})

test_that("the pseudo-median and its interval agree with wilcox.test", {
  for (n in c(20, 45)) {
    d <- sin(1:n * 1.7) + 0.1
    wanted <- wilcox.test(d, conf.int = TRUE, conf.level = 0.99)
    got <- pseudo_median(d)
    expect_equal(got$estimate, as.numeric(wanted$estimate))
    expect_equal(c(got$low, got$high), as.numeric(wanted$conf.int))
  }
})

test_that("root finding gives the order statistics that forming all averages gives", {
  d <- sin(1:700 * 1.7)^3 + 0.1
  all_averages <- outer(d, d, "+") / 2
  all_averages <- sort(all_averages[upper.tri(all_averages, diag = TRUE)])
  k <- qsignrank(0.005, 700)
  got <- pseudo_median(d)
  expect_equal(got$estimate, median(all_averages), tolerance = 1e-5)
  expect_equal(got$low, all_averages[k], tolerance = 1e-5)
  expect_equal(got$high, all_averages[length(all_averages) + 1 - k], tolerance = 1e-5)
  zeros <- c(rep(0, 600), 1:50)
  expect_equal(pseudo_median(zeros)$estimate, 0)
})

test_that("the pseudo-median is used only where on halves hold whole bursts", {
  expect_match(whole_bursts(rep(2, 10), 1)$why, "valid: every on half holds 2 bursts")
  expect_true(whole_bursts(c(rep(1, 96), rep(2, 4)), 1)$valid)
  expect_false(whole_bursts(c(rep(1, 94), rep(2, 6)), 1)$valid)
  expect_match(whole_bursts(rep(1:2, 10), 1)$why, "only 50 %")
  expect_match(whole_bursts(rep(0, 10), 1)$why, "no burst")
  expect_match(whole_bursts(c(1, NA), 1)$why, "unknown")
  expect_true(whole_bursts(c(0, 0), 0)$valid)
  d <- as.numeric(1:20)
  expect_equal(estimate_difference(d, rep(1, 20), rep(TRUE, 20), rep(1, 20), 1, 0.99)$estimator, "pseudo-median")
  expect_equal(estimate_difference(d, 1:20, rep(TRUE, 20), 1:20, 1, 0.99)$estimator, "mean")
})

test_that("patterns other than periodic get the mean, even where the numbers of bursts agree", {
  for (pattern in setdiff(treatment_words$pattern, "periodic")) {
    got <- whole_bursts(rep(1, 10), 1, pattern = pattern)
    expect_false(got$valid)
    expect_match(got$why, paste("mean used: in pattern", pattern))
  }
  expect_true(whole_bursts(c(0, 0), 0, pattern = "poisson")$valid)
  # a median would call this effect 0
  d <- c(rep(0, 12), rep(5, 8))
  bursts <- d / 5
  got <- estimate_difference(d, bursts, rep(TRUE, 20), bursts, 1, 0.99, "poisson")
  expect_equal(got[c("estimate", "estimator")], list(estimate = 2, estimator = "mean"))
  # pairs without a burst due are still left out of the test, not of the mean
  got <- estimate_difference(d, bursts, bursts > 0, bursts, 1, 0.99, "poisson")
  expect_equal(got$estimate, 2)
})

test_that("pairs without a burst due are left out only where some halves were dosed", {
  expect_equal(dosed_pairs(c(0, 1, 0, 2), 0.01), c(FALSE, TRUE, FALSE, TRUE))
  expect_true(all(dosed_pairs(c(0, 0, 0), 0.01)))
  expect_true(all(dosed_pairs(c(0, 1), 0)))
  expect_true(all(dosed_pairs(c(NA, 1), 0.01)))
  expect_length(dosed_pairs(numeric(), 0.01), 0)
})

test_that("the effect of merged bursts is that of the dosed pairs times their share", {
  d <- c(rep(c(0.3, -0.2, 0.1, -0.2), 30), rep(c(7.9, 8, 8.1), 10))
  bursts <- c(rep(0, 120), rep(1, 30))
  est <- estimate_difference(d, bursts, bursts > 0, 8 * bursts, 0.01, 0.99)
  expect_equal(est$estimate, 8 * 30 / 150)
  expect_equal(est$estimator, "pseudo-median")
  expect_match(est$why, "20 % of the pairs")
  expect_lt(est$low, est$estimate)
  expect_gt(est$low, 7.8 * 30 / 150)
})

test_that("a load that ran in halves without a burst of their own counts in the scaling", {
  d <- rep(c(4.9, 5, 5.1), 20)
  bursts <- c(rep(1, 54), rep(0, 6))
  est <- estimate_difference(d, bursts, bursts > 0, rep(5, 60), 5, 0.99)
  expect_equal(est$estimate, 5)
  expect_equal(estimate_difference(d, bursts, bursts > 0, rep(NA_real_, 60), 5, 0.99)$estimate, 5 * 0.9)
})
