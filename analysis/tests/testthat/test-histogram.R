hist_of <- function(lo, count, width = 1) data.frame(lo_ns = lo, hi_ns = lo + width, count = count)

test_that("quantiles are interpolated within bins, whole ns in the middle of theirs", {
  quantile <- function(hist, p) spread_quantile(hist$lo_ns, hist$hi_ns, hist$count, p)
  hist <- hist_of(c(100, 200), c(10, 30), width = 10)
  expect_equal(quantile(hist, c(0, 5, 10, 25, 40) / 40), c(100, 105, 110, 205, 210) - 0.5)
  expect_equal(quantile(hist[2:1, ], 25 / 40), 204.5)
  expect_equal(quantile(hist_of(100, 7), 0.5), 100)
  expect_equal(quantile(hist[0, ], c(0.1, 0.9)), c(NA_real_, NA_real_))
})
