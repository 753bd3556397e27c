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

test_that("the wider of the intervals of pairs and of 16 groups of them is taken", {
  # steps of two equal pairs: the groups are the numbers 1 to 16, whose deviation is sqrt(68 / 3)
  got <- wider_mean_ci(rep(1:16, each = 2))
  expect_equal(c(got$se, got$df), c(sqrt(68 / 3) / 4, 15))
  # alternating pairs: groups of two are all 0, and the pairs have the deviation sqrt(32 / 31)
  got <- wider_mean_ci(rep(c(-1, 1), 16))
  expect_equal(c(got$estimate, got$se, got$df), c(0, 1 / sqrt(31), 31))
  expect_true(is.na(wider_mean_ci(numeric())$estimate))
  expect_equal(wider_mean_ci(7)$estimate, 7)
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
  cell <- list(delivered = 8 * bursts, bursts = bursts, resolution = 0)
  est <- typical_shift(d[bursts > 0], bursts > 0, cell, list(level_requested_percent = 0.01),
                       list(alpha = 0.01, power = 0.95))
  expect_equal(est$estimate, 8 * 30 / 150)
  expect_match(est$why, "20 % of the pairs")
  expect_lt(est$low, est$estimate)
  expect_gt(est$low, 7.8 * 30 / 150)
})

test_that("a load that ran in halves without a burst of their own counts in the scaling", {
  dosed <- c(rep(TRUE, 54), rep(FALSE, 6))
  expect_equal(dosed_share(rep(5, 60), dosed), 1)
  expect_equal(dosed_share(5 * dosed, dosed), 0.9)
  # where the load is not known, the share of the dosed halves stands in
  expect_equal(dosed_share(rep(NA_real_, 60), dosed), 0.9)
})
