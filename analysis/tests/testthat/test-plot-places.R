analysis_of <- function(..., env = parent.frame()) {
  analyze_campaign(read_campaign(local_campaign(..., env = env)), channels = "time")
}

test_that("nodes are in the order of their shift, with their intervals and limits", {
  analysis <- analysis_of(nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(0, 1), pairs = 40,
                          seed = 1)
  frame <- plot_nodes(analysis, draw = FALSE)
  expect_equal(frame$host[1], "node2")
  expect_equal(frame$place, 1:3)
  expect_true(all(diff(frame$preempted_shift_percent) <= 0))
  expect_equal(unique(frame$panel), "1 %")
  expect_equal(frame$found, c("here", "not detected", "not detected"))
  expect_s3_class(ggplot2::ggplot_build(plot_nodes(analysis)), "ggplot_built")
  expect_match(alt_nodes(frame), "detected on node2 of 3 nodes, most on node2, \\+1.02 % of one CPU")
})

test_that("two hundred nodes are drawn without their names but for those with the noise", {
  many <- analysis_of(nodes = 200, ranks = 200, noise_nodes = c(17, 120), levels_percent = 1, pairs = 10,
                      seed = 3)
  built <- ggplot2::ggplot_build(plot_nodes(many))
  expect_setequal(unlist(lapply(built$data, function(layer) layer$label)), c("node17", "node120"))
  expect_lt(size_nodes(plot_nodes(many, draw = FALSE), many)[2], 10)
})

test_that(paste0("each treatment has a panel, at its highest level, and the first and the last point lie ",
                 "inside of it"), {
  analysis <- analysis_of(nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(1, 2),
                          kinds = c("spin", "cache"), pairs = 20)
  frame <- plot_nodes(analysis, draw = FALSE)
  expect_setequal(frame$panel, c("spin, 2 %", "cache, 2 %"))
  expect_equal(sum(frame$place == 1), 2)
  range <- ggplot2::ggplot_build(plot_nodes(analysis))$layout$panel_params[[
    1
  ]]$y.range
  expect_true(range[1] < 0.5 && range[2] > 3.5)
})
