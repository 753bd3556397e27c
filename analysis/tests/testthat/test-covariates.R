test_that("what a covariate explains is taken out, the effect stays", {
  x <- c(1, -1, 2, -2, 0.5, -0.5)
  got <- adjust_differences(3 + 2 * x, cbind(drift = x))
  expect_equal(got$d, rep(3, 6))
  expect_equal(got$coefficients, c(drift = 2))
  set.seed(1)
  d <- 1 + 2 * x + stats::rnorm(6, sd = 0.1)
  got <- adjust_differences(d, cbind(drift = x))
  expect_equal(got$coefficients[["drift"]], unname(stats::coef(stats::lm(d ~ x))[2]))
  expect_gt(got$gain, 50)
})

test_that("covariates without scatter, with gaps, or given twice are left out", {
  x <- c(1, -1, 2, -2, 0.5, -0.5)
  d <- 1 + x
  got <- adjust_differences(d, cbind(steal = 0, drift = x, base = c(NA, x[-1])))
  expect_equal(got$used, "drift")
  expect_equal(is.na(got$coefficients), c(steal = TRUE, drift = FALSE, base = TRUE))
  got <- adjust_differences(d, cbind(a = x, b = 2 * x))
  expect_equal(length(got$used), 1)
  expect_equal(adjust_differences(d[1:2], cbind(drift = x[1:2]))$d, d[1:2])
  expect_equal(adjust_differences(numeric(), cbind(drift = numeric()))$used, character())
})

test_that("the drift of the neighbours is the slope times the distance of on and off", {
  # Six halves at 0, 1, 2 ... s whose log time rises by 0.1 per s.
  rows <- data.frame(launch = "L", operation = "barrier", bytes = 0, start_ns = 0:7 * 1e9, operations = 1,
                     wall_ns = 1000 * exp(0.1 * 0:7))
  pairs <- list(on = c(2, 3, 6, 7), off = c(1, 4, 5, 8))
  expect_equal(local_drift(rows, pairs), c(0.1, -0.1, 0.1, -0.1))
  expect_true(all(is.na(local_drift(rows, list(on = c(2, 3), off = c(1, 4))))))
})

test_that("adjusting for drift makes a drifting campaign more precise", {
  campaign <- read_campaign(local_campaign(pairs = 60, levels_percent = 1, wander_sd = 0.02, wander_phi = 1, jitter_sd = 0.001))
  analysis <- analyze_campaign(campaign, channels = "time", adjust = "drift")
  rows <- analysis$estimators
  expect_lt(rows$se[rows$estimator == "adjusted"], rows$se[rows$estimator == "mean"])
  expect_equal(rows$note[rows$estimator == "adjusted"], "for drift")
  # shown, and deciding nothing
  expect_equal(analysis$verdicts, analyze_campaign(campaign, channels = "time")$verdicts)
  expect_error(analyze_campaign(campaign, adjust = "moon"), "moon", class = "nl_error_usage")
})
