result_of <- function(...) judge_acceptance(simulated_acceptance(seed = 1, ...))

test_that("every acceptance plot gives data, is built and speaks, for one node, three and many", {
  for (nodes in c(1, 3, many_hosts + 1)) {
    result <- unclass(result_of(nodes = nodes, launches = if (nodes > 3) 1 else 2, repetitions = 2,
                                slow_node = if (nodes > 1) 2))
    for (plot in plots_of("acceptance")) {
      if (plot$name == "acceptance-scale") next # a simulated campaign has no record of who ran
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
  rows <- rows[
    rows$check == "detour" & rows$variant == "all" & rows$metric == "lost" & rows$host == "node9" &
      rows$repetition == 2,
  ]
  expect_equal(map$lost_percent[map$host == "node9" & map$turn == 2], max(rows$value))
})

test_that(paste0("noiselab plot draws them from a directory, with the limits of the campaign, and apart ",
                 "from the others"), {
  dir <- local_acceptance(seed = 1)
  names <- vapply(plots_of("acceptance"), `[[`, "", "name")
  got <- status_of("noiselab-plot", paste(names, collapse = ","), dir, "--out", dir)
  expect_equal(got$status, 0L)
  # without a record of who ran nothing is projected by cause
  expect_equal(got$out, file.path(dir, paste0(setdiff(names, "acceptance-scale"), ".png")))
  writeLines("quantum.alone.quantum <= 1 us", file.path(dir, "limits.conf"))
  writeLines(c("# schema: 1", "# limits: limits.conf", "launch\tset\tnodes\tranks\targuments"),
             file.path(dir, "schedule.tsv"))
  frame <- utils::read.csv(text = status_of("noiselab-plot", "acceptance-matrix", dir, "--csv")$out)
  expect_equal(unique(frame$check[frame$verdict == "fail"]), "quantum")
  refused <- status_of("noiselab-plot", "dose,acceptance-map", dir)
  expect_equal(refused$status, 2L)
  expect_match(refused$err, "plots of noise and an acceptance campaign are drawn apart")
  other <- local_campaign(pairs = 8, levels_percent = 5)
  expect_equal(status_of("noiselab-plot", "acceptance-map", other)$status, 3L)
})

test_that(paste0("who used each CPU is what the records say of tasks, and what scans lost beside them; each ",
                 "cause has its cost at scale"), {
  coarse_walks()
  a <- simulated_acceptance(nodes = 1, launches = 1, lost_percent = 0.5, lost_sd = 0, drift_sd = 0,
                            launch_sd = 0, seed = 4)
  tasks <- lapply(1:7, function(i) {
    list(task = paste0("task", i), pid = 100 + i, processes = 1, busy_ns = i * 1e8, bursts = 50,
         burst_ns = i * 2e6, longest_ns = i * 2e6, main_bursts = 50, main_busy_ns = i * 1e8, cpus = "1",
         on_cpus = list(list(1, i * 0.9e8), list(0, i * 0.1e8)))
  })
  a$others <- read_others(list(
    launch = "sim-0001",
    others = list(list(
      host = "node1",
      n_cpus = 2,
      record = list(source = "cpu", span_ns = 10e9, wall_on_cpu_ns = 28e8, lost = 0, not_kept = 0,
                    tasks = tasks, cpu_activity_lengths = list(list(2e6, 50)))
    ))
  ))
  result <- judge_acceptance(a)
  frame <- plot_acceptance_causes(result, draw = FALSE)
  # 700 ms of task7 in 10 s, nine tenths of them on CPU 1
  expect_equal(frame$lost_percent[frame$who == "task7 (PID 107)" & frame$cpu == 1], 6.3)
  expect_equal(frame$lost_percent[frame$who == "other tasks" & frame$cpu == 0], 100 * (1 + 2) * 0.1e8 / 10e9)
  expect_equal(frame$lost_percent[frame$who == "interrupts and firmware" & frame$cpu == 0], 0.5,
               tolerance = 1e-6)
  expect_match(alt_acceptance_causes(frame), "most was lost on node1, CPU 1, .*task7 .PID 107. 6.30 %")
  scale <- plot_acceptance_scale(result, draw = FALSE)
  expect_equal(scale$who[!scale$all][1], "task7 (PID 107)")
  expect_true(all(diff(scale$slowdown_percent) <= 0))
  for (plot in list(plot_acceptance_causes(result), plot_acceptance_scale(result))) {
    expect_s3_class(ggplot2::ggplot_build(plot), "ggplot_built")
  }
})
