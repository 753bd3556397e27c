# A campaign whose ranks took turns at being slowest.
turns <- function(..., slowest, preempted = slowest) {
  dir <- local_campaign(..., env = parent.frame())
  campaign <- read_campaign(dir)
  n <- nrow(campaign$rows)
  data.table::set(campaign$rows, j = "slowest_rank", value = rep_len(slowest, n))
  data.table::set(campaign$rows, j = "preempted_rank", value = rep_len(preempted, n))
  analyze_campaign(campaign, channels = "time")
}

test_that("shares of the halves are counted by rank and bin of time", {
  analysis <- turns(pairs = 50, levels_percent = 5, ranks = 4, slowest = c(0, 0, 0, 2), preempted = -1)
  frame <- plot_heatmap(analysis, draw = FALSE)
  expect_equal(unique(frame$panel), "longest loop")
  expect_equal(length(unique(frame$start_s)), 10)
  expect_equal(sum(frame$n[frame$line == 0]), 100)
  over <- tapply(frame$share_percent * frame$n, frame$line, sum) / 100
  expect_equal(as.vector(over), c(75, 0, 25, 0))
  sums <- tapply(frame$share_percent, frame$start_s, sum)
  expect_equal(range(sums), c(100, 100))
  expect_match(alt_heatmap(frame), "longest loop: most by rank 0 of node1, 75.0 % of the halves")
})

test_that("long runs have at most 200 bins, and one rank has no map", {
  frame <- plot_heatmap(turns(pairs = 1200, levels_percent = 5, slowest = c(0, 1)), draw = FALSE)
  expect_equal(length(unique(frame$start_s)), 200)
  expect_equal(length(unique(frame$panel)), 2)
  expect_null(plot_heatmap(turns(pairs = 4, levels_percent = 5, ranks = 1, slowest = 0)))
})

test_that("ranks stand by host, and up to 4096 fit into 128 lines of one host each", {
  lines <- function(n, host) {
    rank_lines(list(ranks = data.frame(launch = "a", rank = seq_len(n) - 1, host = host(seq_len(n) - 1)),
                    launches = list(a = list(ranks = n))), "a", n)
  }
  few <- lines(6, function(r) c("x", "y")[r %% 2 + 1])
  expect_equal(few$rank, c(0, 2, 4, 1, 3, 5))
  expect_equal(few$line, 0:5)
  expect_equal(line_labels(few)$label[4], "y: 1")
  many <- lines(4096, function(r) paste0("n", r %/% 100))
  expect_lte(max(many$line), 127)
  expect_true(all(tapply(many$host, many$line, function(h) length(unique(h))) == 1))
  expect_setequal(many$rank, 0:4095)
  expect_lte(nrow(line_labels(many)), 16)
  expect_equal(max(lines(4096, function(r) paste0("n", r))$line), 127)
  one <- lines(4096, function(r) "x")
  expect_equal(line_labels(one)$label[1], "0 to 31")
})

test_that("lines of several ranks count them all", {
  analysis <- turns(pairs = 50, levels_percent = 5, ranks = 300, slowest = c(0, 1, 2, 299))
  frame <- plot_heatmap(analysis, draw = FALSE)
  part <- frame[frame$panel == "longest loop", ]
  over <- tapply(part$share_percent * part$n, part$line, sum) / 100
  expect_equal(as.vector(over)[c(1, length(over))], c(75, 25))
  expect_equal(unique(frame$ranks[frame$line == 0]), 3)
  expect_s3_class(ggplot2::ggplotGrob(plot_heatmap(analysis)), "gtable")
})

test_that("with synchronised starts it is the time that others waited for a rank", {
  dir <- local_starts(ranks = 4, late_rank = 2, half_period_ns = 3e5, nodes = 2)
  campaign <- read_campaign(dir)
  frame <- plot_heatmap(analyze_campaign(campaign), draw = FALSE)
  expect_setequal(frame$panel, c("last to start", "last to end"))
  expect_true(all(is.na(frame$share_percent)))
  part <- frame[frame$panel == "last to start" & frame$n > 0, ]
  expect_equal(sum(part$wait_us * part$n), sum(campaign$lateness$start_cost_ns) / 1000)
  by_rank <- tapply(part$wait_us * part$n, part$first_rank, sum)
  expect_equal(names(which.max(by_rank)), "2")
  expect_lte(length(unique(frame$start_s)), 200)
  expect_match(alt_heatmap(frame), "last to start: most by rank 2 of node2, [0-9.]+ \u00b5s per start")
})
