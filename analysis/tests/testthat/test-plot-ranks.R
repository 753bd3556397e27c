test_that("the map has a line per node, and its darkest tile where the noise is", {
  dir <- local_campaign(nodes = 3, ranks = 6, noise_nodes = 2, levels_percent = c(0, 1), pairs = 40, seed = 1)
  analysis <- analyze_campaign(read_campaign(dir))
  frame <- plot_ranks(analysis, draw = FALSE)
  expect_equal(nrow(frame), 6)
  top <- frame[which.max(frame$preempted_shift_percent), ]
  expect_equal(top$host, "node2")
  expect_equal(c(top$rank, top$column, top$line), c(3, 2, 2))
  expect_s3_class(ggplot2::ggplot_build(plot_ranks(analysis)), "ggplot_built")
  expect_match(noiselab:::alt_ranks(frame), "most by rank 3 of node2")
})

test_that("more ranks than columns share a tile, which shows the largest", {
  dir <- local_campaign(nodes = 2, ranks = 600, noise_nodes = 2, levels_percent = 1, pairs = 8, seed = 1)
  frame <- plot_ranks(analyze_campaign(read_campaign(dir)), draw = FALSE)
  expect_lte(max(frame$column), 128)
  expect_equal(sum(frame$ranks), 600)
  expect_equal(frame$rank[which.max(frame$preempted_shift_percent)], 599)
})

test_that("one rank, and launches without shifts, have no map", {
  dir <- local_campaign(ranks = 1, levels_percent = 1, pairs = 12)
  expect_null(plot_ranks(analyze_campaign(read_campaign(dir)), draw = FALSE))
})
