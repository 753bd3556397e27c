test_that("every plot of the table gives data, draws, and states n", {
  dir <- local_campaign(pairs = 10, launches = 2, levels_percent = c(0, 5))
  analysis <- analyze_campaign(read_campaign(dir))
  for (plot in plots()) {
    frame <- plot$draw(analysis, draw = FALSE)
    expect_gt(nrow(frame), 0)
    drawn <- plot$draw(analysis)
    expect_s3_class(drawn, "ggplot")
    words <- paste(drawn$labels$subtitle, drawn$labels$caption)
    expect_match(words, "n = ")
    expect_match(words, "alpha")
    expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
  }
  expect_equal(plot_table()$name, vapply(plots(), `[[`, "", "name"))
})

test_that("plots without data are NULL", {
  dir <- local_campaign(pairs = 10, levels_percent = 5)
  unlink(file.path(dir, "sim-1", "hist.csv"))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  expect_null(plot_launches(analysis))
  expect_null(plot_tail(analysis))
  expect_null(plot_stolen(analysis))
})

test_that("a long trace is thinned but keeps its slowest halves", {
  dir <- local_campaign(pairs = 4000, levels_percent = 5)
  campaign <- read_campaign(dir)
  frame <- trace_panel(seq_len(nrow(campaign$rows)), campaign$rows)
  expect_lte(nrow(frame), 4300)
  expect_gt(frame$kept_one_in[1], 1)
  slow <- sort(campaign$rows$wall_ns / campaign$rows$operations / 1000, decreasing = TRUE)[1:200]
  expect_true(all(slow %in% frame$time_us))
})
