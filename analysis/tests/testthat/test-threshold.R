test_that("the slope through the origin is the weighted least squares one", {
  x <- c(0.1, 0.3, 1)
  y <- c(0.2, 0.5, 1.9)
  se <- c(0.1, 0.1, 0.2)
  expect_equal(slope_through_origin(x, y, se), unname(coef(lm(y ~ 0 + x, weights = 1 / se^2))))
  expect_true(is.na(slope_through_origin(NA, NA, NA)))
  # too few pairs for a standard error
  expect_true(is.na(slope_through_origin(5, 1, Inf)))
})

test_that("Fieller's interval satisfies its definition", {
  a <- c(2.2, 4.1, 5.9, 8.3, 3.8)
  b <- c(1, 2, 3.1, 4, 2.1)
  got <- fieller_ratio(a, b)
  expect_equal(got$estimate, sum(a) / sum(b))
  for (r in c(got$low, got$high)) {
    expect_equal(t.test(a - r * b)$p.value, 0.01, tolerance = 1e-6)
  }
  expect_match(fieller_ratio(a, b - mean(b))$reason, "not clearly above 0")
  expect_match(fieller_ratio(1, 1)$reason, "fewer than 3")
})

test_that("MED is the smallest detected level and its bracket starts at the next lower one", {
  rows <- data.frame(scope = "this launch", launch = "L", design = "lockin", operation = "barrier",
                     bytes = 0, ranks = 2,
                     channel = "time", unit = "%", level_requested_percent = c(0, 0.1, 0.3, 1),
                     level_delivered_percent = c(0, 0.1, 0.3, 1), estimate = c(0, 0.2, 0.6, 2),
                     ci_low = c(-0.2, 0, 0.4, 1.8), ci_high = c(0.2, 0.4, 0.8, 2.2), raw_full_df = Inf,
                     se_effect = 0.1, detection_limit = c(0.3, 0.4, 0.6, 0.9), n_pairs = 50, n_tested = 50,
                     n_launches = 1,
                     reason = NA_character_,
                     stepdown = c("not detected", "not detected", "detected", "detected"))
  got <- thresholds(rows)
  expect_equal(c(got$med_percent, got$med_bracket_low_percent, got$slope), c(0.3, 0.1, 2))
  # the larger of the placebo's limit and that of the lowest level, 0.4: halfway between 0.1 and 0.3
  expect_equal(got$lod_percent, 0.2)
  # what the test needs, 0.2, is exceeded by all upper ends from 0.1 on, by lower ends from 0.3 on
  expect_equal(c(got$med_low_percent, got$med_high_percent), c(0.1, 0.3))
  # upper ends of the effects at the lower end of the limit, and the other way round
  ends <- 0.4 * sqrt(49 / stats::qchisq(c(0.99, 0.01), 49))
  expect_equal(c(got$lod_low_percent, got$lod_high_percent),
               c(0.1 * ends[1] / 0.4, 0.3 + 0.7 * (ends[2] - 0.4) / 1.4))
  rows$stepdown <- "not detected"
  rows$estimate <- 0
  got <- thresholds(rows)
  expect_true(is.na(got$med_percent))
  expect_equal(got$med_reason, "no level was detected")
  expect_match(got$lod_reason, "stays below the limit")
  # nothing was tested: nothing is known of the limit's scatter
  rows$n_tested <- 0
  expect_silent(got <- thresholds(rows))
  expect_true(is.na(got$lod_low_percent) && is.na(got$lod_high_percent))
})

test_that("intervals of thresholds hold what they are of", {
  analysis <- analyze_campaign(read_campaign(local_campaign(pairs = 60, levels_percent = c(0, 0.3, 1, 3))),
                               channels = "time")
  got <- analysis$thresholds
  expect_true(got$med_low_percent <= got$med_percent && got$med_percent <= got$med_high_percent)
  expect_true(got$lod_low_percent < got$lod_percent && got$lod_percent < got$lod_high_percent)
  expect_equal(thresholds(analysis$verdicts), got[names(got) != "main"])
})

test_that("delivered levels that do not rise with the requested ones give no level of detection", {
  verdicts <- analyze_campaign(read_campaign(local_campaign(pairs = 20, levels_percent = c(0, 1, 5))),
                               channels = "time")$verdicts
  verdicts$level_delivered_percent[verdicts$level_requested_percent == 5] <- 0.5
  got <- thresholds(verdicts)
  expect_match(got$lod_reason, "do not rise")
})

# Rows of launches with one arm each, as analyze_campaign() makes them: n off and n on launches per level.
unpaired_rows <- function(n, levels_percent, slope, sd, channel = "time") {
  launches <- function(arm, level) {
    data.frame(launch = NA_character_, design = "single", operation = "barrier", bytes = 0, ranks = 2,
               kind = "spin", pattern = "periodic", placement = "last", phase = "random", arm = arm,
               level_requested_percent = level, level_delivered_percent = level, delivered_ratio = NA_real_,
               channel = channel, value = stats::rnorm(n, log1p(slope * level / 100), sd))
  }
  off <- launches("off", 0)
  settings <- list(alpha = 0.01, power = 0.95, conf = 0.99)
  decide_all(
    bind_rows(lapply(levels_percent, function(level) welch_verdict(launches("on", level), off, settings))),
    NULL
  )
}

test_that("thresholds of launches with one arm each have the coverage they state", {
  set.seed(1)
  # What 3 and 3 such launches detect with probability 0.95 and 0.5, from 10^5 of them: 6.60 and 3.14
  # standard deviations.
  truth <- 100 * expm1(6.60 * 0.002) / 1.5
  got <- bind_rows(lapply(1:25, function(i) {
    thresholds(unpaired_rows(3, c(0, 0.5, 1, 2, 4), 1.5, 0.002))
  }))
  # 0.99 less three standard errors of 25; without the shared off launches it was 0.44.
  expect_gt(mean(got$lod_low_percent <= truth & truth <= got$lod_high_percent), 0.93)
  expect_true(all(got$med_low_percent <= 0.5 & got$med_high_percent >= 0.5))
})
