test_that("every configuration that reacts has a point with its interval", {
  dir <- local_campaign(operations = c("barrier", "bcast"), pairs = 60, launches = 3, levels_percent = c(0, 2),
                        amplification = c(1.5, 0))
  simulate_campaign(dir, pairs = 60, launches = 2, levels_percent = c(0, 2), ranks = 4, prefix = "four")
  analysis <- analyze_campaign(read_campaign(dir), channels = "time", estimators = FALSE)
  frame <- plot_stability(analysis, draw = FALSE)
  expect_equal(frame$panel, c("barrier", "barrier"))
  expect_setequal(frame$configuration, c("2 ranks, halves of 10ms", "4 ranks, halves of 10ms"))
  expect_equal(frame$class[frame$ranks == 4], "undecided")
  drawn <- plot_stability(analysis)
  expect_match(drawn$labels$caption, "alpha 0.01")
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
  expect_match(alt_stability(frame), "barrier: [0-9.]+ % of one CPU with 2 ranks, halves of 10ms \\(suitable\\)")
})

test_that("where nothing reacts, or no pair exists, there is no plot", {
  dir <- local_campaign(pairs = 10, launches = 3, levels_percent = 0)
  expect_null(plot_stability(analyze_campaign(read_campaign(dir))))
  dir <- local_campaign(design = "single", arms = "off", launches = 2, levels_percent = 0)
  simulate_campaign(dir, design = "single", arms = "on", launches = 2, levels_percent = 2, prefix = "on")
  expect_null(plot_stability(analyze_campaign(read_campaign(dir))))
})
