test_that("a quantile of a histogram is the middle of its bin", {
  lo <- c(10, 11, 200)
  hi <- c(11, 12, 202)
  count <- c(50, 49, 1)
  expect_equal(hist_quantile(lo, hi, count, c(0, 0.5, 0.51, 0.99, 0.991, 1)), c(10, 10, 11, 11, 200.5, 200.5))
  # order and repetition of the bins do not matter
  expect_equal(hist_quantile(rev(c(lo, 10)), rev(c(hi, 11)), rev(c(count, 2)), 0.51),
               11 - 1 * (0.51 * 102 <= 52))
  expect_equal(hist_quantile(numeric(), numeric(), numeric(), 0.5), NA_real_)
  expect_equal(hist_quantile(5, 6, 0, 0.5), NA_real_)
  expect_equal(hist_quantile(5, 6, 3, c(0.1, 1)), c(5, 5))
})

test_that("the quality of starts is that of every start by itself", {
  dir <- local_starts(raw = "starts.bin", pairs = 6, launches = 2, half_period_ns = 3e5,
                      operations = c("barrier", "bcast"))
  table <- start_quality(read_campaign(dir))
  expect_equal(table$operation, rep(c("barrier", "bcast"), each = 2))
  expect_equal(table$arm, rep(c("off", "on"), 2))
  starts <- rbind(read_starts(file.path(dir, "sim-1"), operations = "barrier", arms = "off"),
                  read_starts(file.path(dir, "sim-2"), operations = "barrier", arms = "off"))
  one <- table[1, ]
  expect_equal(one$n_launches, 2)
  expect_equal(one$starts, nrow(starts) / 2)
  expect_equal(one$late_starts, sum(starts$late) / 2)
  expect_equal(one$late_percent, 100 * one$late_starts / one$starts)
  expect_equal(one$overshoot_max_ns, max(starts$overshoot_ns))
  expect_equal(one$overshoot_p50_ns, unname(quantile(starts$overshoot_ns, 0.5, type = 1)))
  by <- as.data.frame(starts)[c("launch", "pair", "order", "start")]
  global <- aggregate(starts$arrival_ns + starts$took_ns, by, max)$x
  expect_equal(one$global_p50_ns, unname(quantile(global, 0.5, type = 1)), tolerance = 0.008)
  expect_equal(one$spread_ns, mean(aggregate(starts$arrival_ns, by, function(x) diff(range(x)))$x))
  expect_equal(one$within_percent + one$between_percent, 100)
})

ranks_campaign <- function(...) {
  cost <- c(5, 5, 90, 0, 3, 7)
  list(
    ranks = data.frame(launch = "a", rank = rep(0:2, 2), host = c("n1", "n1", "n2"), cpu = rep(0:2, 2),
                       last_starts = c(2, 2, 6, 0, 1, 1), last_ends = c(1, 2, 7, 0, 2, 0),
                       start_cost_ns = cost, end_cost_ns = 2 * cost)
  )
}

test_that("who was late is counted by rank and by node, against the share of each", {
  table <- late_ranks(ranks_campaign())
  wanted <- data.frame(rank = c(2, 1, 0), starts = 12, expected_percent = 100 / 3,
                       last_starts_percent = 100 * c(7, 3, 2) / 12, last_ends_percent = 100 * c(7, 4, 1) / 12,
                       start_cost_ns = c(97, 8, 5), end_cost_ns = 2 * c(97, 8, 5))
  expect_equal(as.data.frame(table)[names(wanted)], wanted, ignore_attr = TRUE)
  nodes <- late_ranks(ranks_campaign(), "node")
  wanted <- data.frame(host = c("n2", "n1"), node_ranks = c(1, 2), expected_percent = 100 * c(1, 2) / 3,
                       last_ends_percent = 100 * c(7, 5) / 12)
  expect_equal(as.data.frame(nodes)[names(wanted)], wanted, ignore_attr = TRUE)
})

test_that("clocks that are compared have a row each, shared ones none", {
  dir <- local_starts(ranks = 4, nodes = 2)
  table <- clock_runs(read_campaign(dir))
  wanted <- data.frame(rank = 2, host = "node2", runs = 2, drift_ppm = 5, largest_residual_ns = 120)
  expect_equal(as.data.frame(table)[names(wanted)], wanted, ignore_attr = TRUE)
  dir <- local_starts()
  expect_equal(nrow(clock_runs(read_campaign(dir))), 0)
})

test_that("a rank that comes late is the one that is named", {
  dir <- local_starts(ranks = 4, late_rank = 2, half_period_ns = 3e5)
  table <- late_ranks(read_campaign(dir))
  expect_equal(table$rank[1], 2)
  expect_gt(table$last_starts_percent[1], 40)
})

test_that("analyze starts prints text, every table and JSON", {
  dir <- local_starts(ranks = 4, nodes = 2, raw = "starts.bin", launches = 2)
  simulate_campaign(dir, pairs = 2, levels_percent = 5, prefix = "loop", seed = 2)
  got <- status_of("noiselab-analyze", "starts", "--all", dir)
  expect_equal(got$status, 0L)
  expect_match(got$out, "barrier, 4 ranks \\(window\\)", all = FALSE)
  expect_match(got$out, "launch loop-1 has no synchronised starts", all = FALSE)
  for (name in starts_tables) {
    table <- data.table::fread(
      text = status_of("noiselab-analyze", "starts", dir, "--csv", "--table", name)$out
    )
    expect_gt(nrow(table), 0)
  }
  # the last one was raw
  status_of("noiselab-analyze", "starts", dir, "--csv", "--table", "raw", "--out", file.path(dir, "raw.csv"))
  expect_equal(data.table::fread(file.path(dir, "raw.csv")), table)
  starts <- rbind(read_starts(file.path(dir, "sim-1")), read_starts(file.path(dir, "sim-2")))
  expect_equal(names(table), names(starts))
  expect_equal(table$took_ns, starts$took_ns)
  expect_equal(table$launch, as.character(starts$launch))
  parsed <- jsonlite::fromJSON(status_of("noiselab-analyze", "starts", "--json", dir)$out)
  expect_equal(c(parsed$schema, nrow(parsed$ranks)), c(1, 4))
  expect_equal(parsed$nodes$node_ranks, c(2, 2))
})

test_that("what starts cannot answer has status 3, what it does not take has status 2", {
  dir <- local_campaign(pairs = 4, levels_percent = 5)
  for (args in list(c("starts", dir), c("starts", "--csv", "--table", "raw", dir), c("mpiperf", dir),
                    c("reproducibility", dir))) {
    got <- status_of("noiselab-analyze", args)
    expect_equal(got$status, 3L)
    expect_match(utils::tail(got$err, 1), "run |more launches")
  }
  for (args in list(c("starts", dir, "--alpha", "0.1"), c("starts", "--table", "cost", "--csv", dir),
                    "starts", c("mpiperf", "--trim", "1", dir), c("mpiperf", "--trim", "x", dir),
                    c(dir, "--trim", "0"), c("starts", "no-such-dir"))) {
    expect_refused("noiselab-analyze", args)
  }
})

hist_of <- function(lo, count, width = 1) data.frame(lo_ns = lo, hi_ns = lo + width, count = count)

test_that("quantiles are interpolated within bins, whole ns in the middle of theirs", {
  quantile <- function(hist, p) hist_quantile(hist$lo_ns, hist$hi_ns, hist$count, p, within = TRUE)
  hist <- hist_of(c(100, 200), c(10, 30), width = 10)
  expect_equal(quantile(hist, c(0, 5, 10, 25, 40) / 40), c(100, 105, 110, 205, 210) - 0.5)
  expect_equal(quantile(hist[2:1, ], 25 / 40), 204.5)
  expect_equal(quantile(hist_of(100, 7), 0.5), 100)
  expect_equal(quantile(hist[0, ], c(0.1, 0.9)), c(NA_real_, NA_real_))
})
