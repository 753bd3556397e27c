test_that("the plot has a point per operation and interval, the margin and the safe region", {
  analysis <- analyze_campaign(sweep_campaign(c(0.1, 1), c(3, 0)), margin = 0.5, channels = "time")
  frame <- plot_intervals(analysis, draw = FALSE)
  expect_equal(frame$interval_s, c(1, 0.1))
  expect_equal(frame$series, c("below the margin", "above the margin"))
  drawn <- ggplot2::ggplot_build(plot_intervals(analysis))
  expect_equal(length(drawn$data), 7) # safe region, zero, margin, guide, two bars, points
  expect_equal(alt_intervals(frame), sprintf("Slowdown by sampling interval. barrier: %s %% at 100 ms, %s %% at 1 s, safe from 1 s on.",
                                             format_effect(frame$estimate[2]), format_effect(frame$estimate[1])))
  expect_equal(size_intervals(frame, analysis)[1], 9)
  without <- plot_intervals(analyze_campaign(analysis$campaign, channels = "time"), draw = FALSE)
  expect_equal(without$series, c("not detected", "detected"))
  expect_true(all(is.na(without$margin_percent)))
})
