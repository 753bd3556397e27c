test_that("the autocorrelation of an alternating series is known", {
  got <- autocorrelation(rep(c(1, -1), 10), lags = 3)
  # sums over n - lag products, divided by n products
  expect_equal(got$acf, c(-19, 18, -17) / 20)
  expect_equal(got$lag, 1:3)
})

test_that("it stops at a quarter of the series; short and constant series have none", {
  expect_equal(nrow(autocorrelation(sin(1:20), lags = 30)), 5)
  expect_equal(nrow(autocorrelation(1:7)), 0)
  expect_equal(nrow(autocorrelation(rep(1, 50))), 0)
  expect_equal(nrow(autocorrelation(numeric())), 0)
  expect_error(autocorrelation(1:20, lags = 0), "lags", class = "nl_error_usage")
})

test_that("pairing in random order takes the drift out", {
  dir <- local_campaign(pairs = 150, levels_percent = c(0, 1), wander_sd = 0.01, jitter_sd = 0.003, wander_phi = 0.995)
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_acf(analysis, draw = FALSE)
  first <- frame[frame$lag_pairs == 1, ]
  expect_true(all(first$acf[first$series == "clean log times"] > 0.7))
  expect_true(all(abs(first$acf[first$series == "pair differences"]) < first$band[1]))
  expect_equal(first$band[1], stats::qnorm(0.995) / sqrt(150))
  d <- analysis$differences$time[analysis$pairs$cell == 1]
  expect_equal(first$acf[first$series == "pair differences" & first$cell == 1], stats::acf(d, 1, plot = FALSE)$acf[2])
  expect_match(alt_acf(frame), "barrier: \\+0.[0-9]+ of the clean times, [+-]0.[0-9]+ of the pair differences \\(band 0.210\\)")
})

test_that("many cells are thinned, and few pairs give no plot", {
  dir <- local_campaign(pairs = 9, launches = 9, levels_percent = c(0, 1, 2, 3, 5))
  frame <- plot_acf(analyze_campaign(read_campaign(dir), channels = "time"), draw = FALSE)
  expect_equal(length(unique(frame$cell)), 40)
  expect_equal(range(frame$cell), c(1, 45))
  dir <- local_campaign(pairs = 7, levels_percent = 5)
  expect_null(plot_acf(analyze_campaign(read_campaign(dir))))
})
