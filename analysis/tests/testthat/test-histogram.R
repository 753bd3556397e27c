hist_of <- function(lo, count, width = 1) data.frame(lo_ns = lo, hi_ns = lo + width, count = count)

test_that("quantiles are interpolated within bins, whole ns in the middle of theirs", {
  quantile <- function(hist, p) spread_quantile(hist$lo_ns, hist$hi_ns, hist$count, p)
  hist <- hist_of(c(100, 200), c(10, 30), width = 10)
  expect_equal(quantile(hist, c(0, 5, 10, 25, 40) / 40), c(100, 105, 110, 205, 210) - 0.5)
  expect_equal(quantile(hist[2:1, ], 25 / 40), 204.5)
  expect_equal(quantile(hist_of(100, 7), 0.5), 100)
  expect_equal(quantile(hist[0, ], c(0.1, 0.9)), c(NA_real_, NA_real_))
})

test_that("the interval of a quantile comes from binomial ranks, and is missing beyond the data", {
  hist <- hist_of(0:999, 1)
  got <- quantile_interval(hist, 0.5, alpha = 0.01)
  reach <- stats::qnorm(0.995) * sqrt(1000 / 4)
  expect_equal(c(got$low, got$estimate, got$high), c(500 - reach, 500, 500 + reach) - 0.5)
  tail <- quantile_interval(hist, 0.999, alpha = 0.01)
  expect_equal(tail$estimate, 998.5)
  expect_true(is.na(tail$high))
  # binom.test inverts the same binomial
  exact <- stats::qbinom(c(0.005, 0.995), 1000, 0.5)
  expect_equal(c(got$low, got$high), exact, tolerance = 0.003)
})

test_that("the interval of a difference keeps the distances to the nearer ends", {
  got <- difference_interval(list(estimate = 5, low = 4, high = 8), list(estimate = 2, low = 1.5, high = 4))
  expect_equal(got, list(estimate = 3, low = 3 - sqrt(1 + 4), high = 3 + sqrt(9 + 0.25)))
})
