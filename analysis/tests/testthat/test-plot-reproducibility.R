test_that("there is a point for each number of ranks with 3 launches", {
  dir <- local_starts(launches = 3, arms = "off", design = "single", base_sd = 0.05)
  simulate_campaign(dir, pairs = 2, launches = 2, ranks = 3, arms = "off", design = "single", levels_percent = 0, start = "round",
                    half_period_ns = 6e4, prefix = "three", seed = 2)
  analysis <- clean_analysis(read_campaign(dir, arms = "any"), 0.05)
  frame <- plot_reproducibility(analysis, draw = FALSE)
  expect_equal(frame$ranks, 2)
  expect_equal(frame$n_launches, 3)
  drawn <- plot_reproducibility(analysis)
  expect_match(drawn$labels$caption, "95 % confidence interval \\(alpha 0.05\\)")
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
  expect_match(alt_reproducibility(frame), "barrier: [0-9.]+ % at 2")
})
