simulated_comparison <- function(..., operation_ns = 2200, env = parent.frame()) {
  a <- local_campaign(pairs = 10, levels_percent = c(0, 5), seed = 1, prefix = "a", ..., env = env)
  b <- local_campaign(pairs = 10, levels_percent = c(0, 5), seed = 2, prefix = "b", operation_ns = operation_ns, ..., env = env)
  compare_campaigns(read_campaign(a), read_campaign(b), margin_percent = 2)
}

test_that("the data of the plot are the times, quantiles and slowdowns with an interval", {
  got <- simulated_comparison(launches = 3, operations = c("barrier", "alltoall"), bytes = c(0, 2048), kinds = c("spin", "cache"))
  frame <- plot_compare(got, draw = FALSE)
  rows <- got$rows[got$rows$family %in% c("time", "tail", "slowdown"), ]
  expect_equal(nrow(frame), nrow(rows))
  expect_equal(frame$effect, rows$effect)
  expect_equal(frame$ci_low, rows$ci_low)
  expect_setequal(frame$family, c("time", "tail", "slowdown"))
  expect_true("alltoall, 2048 B at 5 %, cache" %in% frame$label)
  expect_equal(frame$verdict[frame$label == "barrier" & frame$family == "time"], "slower")
  expect_false(any(duplicated(frame[c("panel", "label")])))
})

test_that("the drawing names n, the unit, alpha, what bars are and the margin", {
  plot <- plot_compare(simulated_comparison(launches = 3))
  expect_s3_class(plot, "ggplot")
  words <- paste(gsub("\n", " ", unlist(plot$labels[c("subtitle", "caption", "x")])), collapse = " ")
  for (word in c("n = 3 of A and 3 of B launches", "alpha 0.01", "99 % confidence interval", "margin, +-2 %", "change, %")) {
    expect_match(words, word, fixed = TRUE)
  }
  file <- tempfile(fileext = ".png")
  on.exit(unlink(file))
  write_comparison_plot(simulated_comparison(launches = 2), file)
  expect_gt(file.size(file), 1000)
})

test_that("one launch each shows what its pairs can tell; nothing with an interval is no plot", {
  got <- simulated_comparison(launches = 1)
  expect_equal(unique(plot_compare(got, draw = FALSE)$family), "slowdown")
  expect_match(plot_compare(got)$labels$subtitle, "these two launches")
  got$rows <- got$rows[got$rows$family == "time", ]
  expect_null(plot_compare(got))
})
