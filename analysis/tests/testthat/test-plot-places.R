analysis_of <- function(..., env = parent.frame()) analyze_campaign(read_campaign(local_campaign(..., env = env)), channels = "time")

test_that("nodes are in the order of their shift, with their intervals and limits", {
  analysis <- analysis_of(nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(0, 1), pairs = 40, seed = 1)
  frame <- plot_nodes(analysis, draw = FALSE)
  expect_equal(frame$host[1], "node2")
  expect_equal(frame$place, 1:3)
  expect_true(all(diff(frame$preempted_shift_percent) <= 0))
  expect_equal(unique(frame$panel), "1 %")
  expect_equal(frame$found, c("here", "not detected", "not detected"))
  expect_s3_class(ggplot2::ggplot_build(plot_nodes(analysis)), "ggplot_built")
  expect_match(alt_nodes(frame), "detected on node2 of 3 nodes, most on node2, \\+1.02 % of one CPU")
})

test_that("one node and two hundred are drawn, many without their names but for those with the noise", {
  one <- analysis_of(nodes = 1, ranks = 2, levels_percent = 1, pairs = 20)
  expect_s3_class(ggplot2::ggplot_build(plot_nodes(one)), "ggplot_built")
  many <- analysis_of(nodes = 200, ranks = 200, noise_nodes = c(17, 120), levels_percent = 1, pairs = 10, seed = 3)
  plot <- plot_nodes(many)
  built <- ggplot2::ggplot_build(plot)
  names <- unlist(lapply(built$data, function(layer) layer$label))
  expect_setequal(names, c("node17", "node120"))
  expect_lt(size_nodes(plot_nodes(many, draw = FALSE), many)[2], 10)
})

test_that("each treatment has a panel, at its highest level, and the first and the last point lie inside of it", {
  analysis <- analysis_of(nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(1, 2), kinds = c("spin", "cache"), pairs = 20)
  frame <- plot_nodes(analysis, draw = FALSE)
  expect_setequal(frame$panel, c("spin, 2 %", "cache, 2 %"))
  expect_equal(sum(frame$place == 1), 2)
  range <- ggplot2::ggplot_build(plot_nodes(analysis))$layout$panel_params[[1]]$y.range
  expect_true(range[1] < 0.5 && range[2] > 3.5)
})

test_that("each rank has a line, and its share is compared with 1/n", {
  dir <- local_starts(ranks = 4, late_rank = 2, half_period_ns = 3e5)
  frame <- plot_lateness(analyze_campaign(read_campaign(dir), channels = "time"), draw = FALSE)
  expect_equal(sort(unique(frame$line)), 0:3)
  expect_equal(levels(factor(frame$panel)), c("last to end", "last to start"))
  # over all lines every start has one rank that was last: the mean of times_expected over ranks is 1
  means <- tapply(frame$times_expected, list(frame$panel, frame$start_s), mean)
  expect_equal(range(means), c(1, 1))
  starts <- frame[frame$panel == "last to start", ]
  expect_gt(weighted.mean(starts$times_expected[starts$line == 2], starts$starts[starts$line == 2]), 1.5)
  expect_match(alt_lateness(frame), "last to start: rank 2 ")
  for (none in list(local_starts(ranks = 1), local_campaign(pairs = 4, levels_percent = 5)))
    expect_null(plot_lateness(analyze_campaign(read_campaign(none), channels = "time")))
})

test_that("many ranks share lines: by node, or by number where there is one node or too many", {
  campaign <- function(n, host) {
    list(ranks = data.frame(launch = "a", rank = seq_len(n) - 1, host = host(seq_len(n) - 1)), launches = list(a = list(ranks = n)))
  }
  lines <- function(n, host) lateness_groups(campaign(n, host), "a", n)
  expect_equal(lines(64, function(r) "x")$line, 0:63)
  by_node <- lines(4096, function(r) paste0("n", r %/% 128))
  expect_equal(max(by_node$line), 31)
  expect_equal(by_node$label[129], "n1")
  by_number <- lines(4096, function(r) "x")
  expect_equal(max(by_number$line), 63)
  expect_equal(by_number$label[65], "64 to 127")
  expect_lte(max(lines(4096, function(r) paste0("n", r))$line), 63)
  # a joint line is compared with its joint share
  table <- data.frame(slice = 0, start_ns = 0, end_ns = 1e9, rank = c(0, 1, 100), starts = 10, last_starts = c(3, 2, 5),
                      last_ends = c(0, 0, 10))
  frame <- lateness_frame(table, lines(128, function(r) "x"))
  at <- frame[frame$panel == "last to start" & frame$times_expected > 0, ]
  expect_equal(at$times_expected, c(5, 5) / 10 / (2 / 128))
})
