test_that("the curve counts each rank's starts, and the bound is drawn", {
  dir <- local_starts(half_period_ns = 3e5, operations = c("reduce", "barrier"))
  analysis <- analyze_campaign(read_campaign(dir))
  frame <- plot_overshoot(analysis, draw = FALSE)
  expect_equal(unique(frame$late_bound_us), 1)
  off <- frame[frame$panel == "barrier" & frame$arm == "off", ]
  expect_equal(max(off$probability), 1)
  expect_equal(sum(off$count), 2 * sum(analysis$campaign$rows[["operations"]][analysis$campaign$rows[["operation"]] == "barrier" &
      analysis$campaign$rows[["arm"]] == "off"]))
  drawn <- plot_overshoot(analysis)
  expect_equal(levels(drawn$data$panel), c("reduce", "barrier"))
  expect_match(drawn$labels$caption, "bound \\(1 ")
  expect_match(alt_overshoot(frame), "barrier: [0-9.]+ \u00b5s off, [0-9.]+ \u00b5s on at 5 %")
})
