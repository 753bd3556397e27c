test_that("the curve passes the detection limit at its power, and more pairs find less", {
  dir <- local_campaign(pairs = 40, levels_percent = c(0, 5), operations = c("barrier", "reduce"))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_power(analysis, draw = FALSE)
  expect_equal(unique(frame$n), c(20, 40, 80))
  expect_equal(unique(frame$level_requested_percent), 5)
  row <- subset(analysis$verdicts, operation == "reduce" & level_requested_percent == 5)
  this <- frame[frame$panel == "reduce" & frame$times == 1, ]
  expect_equal(this$limit_percent[1], row$detection_limit)
  at <- stats::approx(log(this$slowdown_percent), this$power, log(row$detection_limit))$y
  expect_equal(at, 0.95, tolerance = 0.005)
  by <- split(frame$power[frame$panel == "reduce"], frame$times[frame$panel == "reduce"])
  expect_true(all(diff(rbind(by[[1]], by[[2]], by[[3]])) >= 0))
  expect_equal(unique(frame$df), c(19, 39, 79))
  expect_equal(power_subtitle(frame),
               "time channel; scope: this launch; unit of inference: the pair, n = 40 pairs")
  expect_match(alt_power(frame), "reduce: 0.5 at [0-9.]+ %, detection limit [0-9.]+ % with 40 pairs")
})

test_that("two launches have no half, and launches with one arm have Welch's degrees of freedom", {
  analysis <- analyze_campaign(
    simulated_campaign(pairs = 10, launches = 2, levels_percent = 5, launch_sd = 0.002), channels = "time"
  )
  analysis$verdicts <- transform(analysis$verdicts[analysis$verdicts$scope == scope_campaign, ], main = TRUE)
  frame <- plot_power(analysis, draw = FALSE)
  expect_equal(unique(frame$n), c(2, 4))
  expect_equal(unique(frame$df), c(1, 3))
  expect_match(power_subtitle(frame),
               "scope: launches like these; unit of inference: the launch, n = 2 launches")
  dir <- local_campaign(design = "single", arms = "off", launches = 4, levels_percent = 0, base_sd = 0.01)
  simulate_campaign(dir, design = "single", arms = "on", launches = 4, levels_percent = 5, base_sd = 0.01,
                    prefix = "on", seed = 2)
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_power(analysis, draw = FALSE)
  this <- frame[frame$times == 1, ]
  expect_equal(detection_limit(this$se_log[1], this$df[1]), log1p(analysis$verdicts$detection_limit / 100),
               tolerance = 1e-4)
  expect_gt(this$df[1], 3)
  expect_null(plot_power(analyze_campaign(simulated_campaign(pairs = 1, levels_percent = 5),
                                          channels = "time")))
})
