test_that("the trimmed mean and its interval are those of Tukey and McLaughlin", {
  d <- c(1:9, 100)
  got <- trimmed_mean_ci(d, conf = 0.95, trim = 0.1)
  expect_equal(got$estimate, mean(2:9))
  w <- c(2, 2:9, 9)
  se <- sqrt(sum((w - mean(w))^2) / (8 * 7))
  expect_equal(got$se, se)
  expect_equal(got$low, mean(2:9) - stats::qt(0.975, 7) * se)
  # Without trimming it is Student's.
  expect_equal(unlist(trimmed_mean_ci(d, 0.95, 0)[c("low", "high")], use.names = FALSE),
               as.numeric(stats::t.test(d, conf.level = 0.95)$conf.int))
  expect_true(is.na(trimmed_mean_ci(c(1, 2))$low))
  expect_true(is.na(trimmed_mean_ci(rep(1, 20))$low))
})

test_that("batches are longer where neighbours are correlated", {
  set.seed(3)
  white <- stats::rnorm(2000)
  red <- as.numeric(stats::filter(stats::rnorm(2000), 0.98, method = "recursive"))
  expect_equal(batch_groups(white), 256)
  expect_lt(batch_groups(red), 100)
  expect_gte(batch_groups(red), 16)
})

test_that("every estimator gives a row, with its effect or its reason", {
  campaign <- read_campaign(local_campaign(pairs = 60, levels_percent = c(0, 5)))
  rows <- analyze_campaign(campaign, channels = "time", estimators = TRUE)$estimators
  expect_equal(unique(rows$estimator), c(names(estimators), names(tail_shifts)))
  expect_true(all(is.na(rows$estimate) == !is.na(rows$reason)))
  at <- rows$level_requested_percent == 5 & rows$estimator %in% c("mean", "batch_means", "trimmed", "adjusted", "median_shift")
  expect_true(all(abs(rows$estimate[at] - 7.53) < 1))
  poisson <- read_campaign(local_campaign(pairs = 30, levels_percent = 5, patterns = "poisson"))
  rows <- analyze_campaign(poisson, channels = "time", estimators = TRUE)$estimators
  expect_match(rows$reason[rows$estimator == "trimmed"], "not valid: in pattern poisson")
})

test_that("across launches estimators are means of launches with Student's interval", {
  campaign <- read_campaign(local_campaign(pairs = 30, levels_percent = 5, launches = 4))
  rows <- analyze_campaign(campaign, channels = "time", estimators = TRUE)$estimators
  one <- rows[rows$estimator == "trimmed" & rows$scope == scope_launch, ]
  all <- rows[rows$estimator == "trimmed" & rows$scope == scope_campaign, ]
  expect_equal(nrow(one), 4)
  ci <- stats::t.test(log1p(one$estimate / 100), conf.level = 0.98)$conf.int
  expect_equal(c(all$ci_low, all$ci_high), 100 * expm1(as.numeric(ci)))
  expect_equal(all$unit, "launches")
})

test_that("a shift of quantiles has the value and the error of their ranks", {
  hist <- data.frame(lo_ns = 100:199, hi_ns = 101:200, count = 100)
  got <- shift_of_quantile(hist, hist, 0.5, 0.01)
  expect_equal(got$estimate, 0)
  # Uniform over 100 ns, 10,000 values: the median's standard error is 100 * sqrt(1/4 / 10000) = 0.5 of 149.5 ns.
  expect_equal(got$se, 100 * sqrt(2) * 0.5 / 149.5, tolerance = 1e-3)
  expect_match(shift_of_quantile(hist[0, ], hist, 0.5, 0.01)$reason, "no histogram")
  expect_match(shift_of_quantile(hist, hist, 0.9999, 0.01)$reason, "fewer than 20")
  shifted <- transform(hist, lo_ns = 2 * lo_ns, hi_ns = 2 * hi_ns)
  expect_equal(shift_of_quantile(hist, shifted, 0.5, 0.01)$estimate, 100 * (2 * 150 - 0.5) / 149.5 - 100)
})

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
