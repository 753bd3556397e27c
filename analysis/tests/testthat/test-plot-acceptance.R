result_of <- function(...) judge_acceptance(simulated_acceptance(seed = 1, ...))

test_that("every acceptance plot gives data, is built and speaks, for one node, three and many", {
  for (nodes in c(1, 3, many_hosts + 1)) {
    result <- unclass(result_of(nodes = nodes, launches = if (nodes > 3) 1 else 2, repetitions = 2, slow_node = if (nodes > 1) 2))
    for (plot in plots_of("acceptance")) {
      frame <- plot_frame(plot, result)
      expect_gt(NROW(frame), 0, label = plot$name)
      drawn <- draw_frame(plot, result, frame)
      expect_s3_class(ggplot2::ggplot_build(drawn), "ggplot_built")
      expect_match(plot$alt(frame), "^[A-Z].*\\.$")
      expect_false(grepl("\\bNA\\b|Inf", plot$alt(frame)), label = plot$alt(frame))
      expect_true(all(figure_size(plot, frame, result) <= 40))
    }
  }
})

test_that("the matrix names who failed what, and a slow link leaves its ends undecided", {
  frame <- plot_acceptance_matrix(result_of(slow_node = 2), draw = FALSE)
  expect_equal(frame$verdict[frame$host == "node2" & frame$check == "detour"], "fail")
  expect_false(any(frame$verdict[frame$host != "node2"] == "fail"))
  link <- plot_acceptance_matrix(result_of(slow_link = c(1, 3)), draw = FALSE)
  at <- link$check == "latency"
  expect_equal(link$verdict[at][c(1, 3)], c("inconclusive", "inconclusive"))
  expect_false(link$verdict[at][2] == "fail")
})

test_that("a slow node stands out on the map, and nodes are in the order of their numbers", {
  result <- result_of(nodes = 12, slow_node = 10)
  map <- plot_acceptance_map(result, draw = FALSE)
  expect_equal(unique(map$host), paste0("node", 1:12))
  expect_equal(range(map$turn), c(1, 15))
  expect_match(alt_acceptance_map(map), "most on node10, CPU")
})

test_that("a map of more CPUs than lines shows the worst CPU of each node", {
  result <- result_of(nodes = 34, launches = 1, repetitions = 2)
  map <- plot_acceptance_map(result, draw = FALSE)
  expect_equal(nrow(map), 68)
  rows <- result$acceptance$figures
  rows <- rows[rows$check == "detour" & rows$variant == "all" & rows$metric == "lost" & rows$host == "node9" & rows$repetition == 2, ]
  expect_equal(map$lost_percent[map$host == "node9" & map$turn == 2], max(rows$value))
})

test_that("noiselab plot draws them from a directory, with the limits of the campaign, and apart from the others", {
  dir <- local_acceptance(seed = 1)
  names <- vapply(plots_of("acceptance"), `[[`, "", "name")
  got <- status_of("noiselab-plot", paste(names, collapse = ","), dir, "--out", dir)
  expect_equal(got$status, 0L)
  expect_equal(got$out, file.path(dir, paste0(names, ".png")))
  writeLines("quantum.alone.quantum <= 1 us", file.path(dir, "limits.conf"))
  writeLines(c("# schema: 1", "# limits: limits.conf", "launch\tset\tnodes\tranks\targuments"), file.path(dir, "schedule.tsv"))
  frame <- utils::read.csv(text = status_of("noiselab-plot", "acceptance-matrix", dir, "--csv")$out)
  expect_equal(unique(frame$check[frame$verdict == "fail"]), "quantum")
  refused <- status_of("noiselab-plot", "dose,acceptance-map", dir)
  expect_equal(refused$status, 2L)
  expect_match(refused$err, "plots of noise and an acceptance campaign are drawn apart")
  other <- local_campaign(pairs = 8, levels_percent = 5)
  expect_equal(status_of("noiselab-plot", "acceptance-map", other)$status, 3L)
})
