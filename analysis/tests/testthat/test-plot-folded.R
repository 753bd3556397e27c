test_that("the strongest period is folded, and without one there is no plot", {
  dir <- local_campaign(pairs = 300, levels_percent = 5, design = "blocks")
  analysis <- analyze_campaign(read_campaign(dir))
  expect_null(plot_folded(analysis))
  slow <- analysis$campaign$rows$start_ns %% 4e8 < 1e8
  wall <- analysis$campaign$rows$wall_ns
  analysis$campaign$rows$wall_ns <- ifelse(slow, 1.1 * wall, wall)
  frame <- plot_folded(analysis, draw = FALSE)
  expect_equal(frame$period_s[1], 0.4, tolerance = 0.01)
  expect_equal(max(frame$box_percent), 100 * log(1.1), tolerance = 0.25)
  expect_true(all(frame$phase > 0 & frame$phase < 1))
  expect_match(alt_folded(frame), "barrier: period 4|barrier: period 3")
  drawn <- plot_folded(analysis)
  expect_match(drawn$labels$subtitle, "n = 300 values")
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
})
