test_that("the curve is level before bursts, rises by their cost, and without slices there is no plot", {
  dir <- local_campaign(pairs = 60, levels_percent = 1, operations = "barrier", seed = 2)
  expect_null(plot_locked(analyze_campaign(read_campaign(dir))))
  analysis <- analyze_campaign(read_campaign(add_slices(dir)))
  frame <- plot_locked(analysis, draw = FALSE)
  expect_lt(max(abs(frame$lost_us[frame$since_ms < 0])), 10)
  expect_equal(frame$lost_us[which.min(abs(frame$since_ms - 0.6))], 100, tolerance = 0.1)
  expect_equal(frame$cost_us[1], 100, tolerance = 0.05)
  expect_match(alt_locked(frame), "barrier, at 1 %: a burst costs (1[0-9][0-9]|9[0-9]).* over [0-9]+ bursts")
  drawn <- plot_locked(analysis)
  expect_s3_class(drawn, "ggplot")
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
})

test_that("of many cells those with the smallest p are drawn, and the picture says so", {
  dir <- local_campaign(pairs = 30, levels_percent = c(0.5, 1), operations = "barrier", seed = 2)
  analysis <- analyze_campaign(read_campaign(add_slices(dir)))
  rows <- analysis$verdicts[analysis$verdicts$channel == "locked" & analysis$verdicts$scope == scope_launch, ]
  frame <- locked_data(analysis, most_panels = 1)
  expect_identical(unique(frame$n_cells), 2L)
  expect_match(frame$panel[1], alt_at(rows$level_requested_percent[which.min(rows$p_one_sided)]), fixed = TRUE)
  expect_identical(locked_data(analysis)$n_cells[1], 2L)
  analysis$frames[["locked"]] <- frame
  expect_match(plot_locked(analysis)$labels$subtitle, "1 of 2 cells, those with the smallest p", fixed = TRUE)
  analysis$frames[["locked"]] <- NULL
  expect_no_match(plot_locked(analysis)$labels$subtitle, "smallest p", fixed = TRUE)
})

test_that("a curve by hand: what is lost stands after the slice that lost it", {
  ns <- rep(2e5, 1000)
  at <- c(100, 300, 500, 700, 900)
  ns[at] <- ns[at] + 3e5
  begin <- cumsum(ns) - ns
  timeline <- loop_timeline(0, 1000, ns)
  track <- locked_track(timeline, data.frame(start_ns = begin[at] + 1000, duration_ns = 2e5, cpu = 0), 1)
  curve <- locked_curve(timeline, track)
  expect_equal(unique(curve$lost_us[curve$since_ms < 0.45]), 0)
  expect_equal(unique(curve$lost_us[curve$since_ms > 0.5]), 300)
})
