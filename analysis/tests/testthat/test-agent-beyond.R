# Quick halves: slices of 0.2 ms, the loop slower by `percent` with the agent, bursts of 2 ms in some halves with it.
quick_halves <- function(n = 200, percent = 0, jitter = 0.01, hit = 5, seed = 1, slices = 100) {
  set.seed(seed)
  order <- sample(0:1, n, TRUE)
  blocks <- data.frame(pair = rep(seq_len(n), each = 2), arm = as.vector(rbind(ifelse(order, "on", "off"), ifelse(order, "off", "on"))),
                       first = 1 + slices * (0:(2 * n - 1)), n = slices, planned_ns = 25e6)
  ns <- 2e5 * exp(stats::rnorm(2 * n * slices, 0, jitter))
  on <- which(blocks$arm == "on")
  ns <- ns * rep(ifelse(blocks$arm == "on", 1 + percent / 100, 1), each = slices)
  bursts <- NULL
  blocks$start_ns <- 25e6 * (seq_len(2 * n) - 1)
  for (i in on[seq_len(hit) * (n %/% max(1, hit))]) {
    at <- blocks$first[i] + 40
    bursts <- rbind(bursts, data.frame(start_ns = blocks$start_ns[i] + sum(ns[blocks$first[i]:(at - 1)]) + 1e4, duration_ns = 2e6))
    ns[at] <- ns[at] + 2e6
  }
  list(blocks = blocks, ns = ns, bursts = bursts %||% data.frame(start_ns = numeric(), duration_ns = numeric()))
}

masked <- function(x) masked_pairs(x$blocks, x$ns, x$bursts, 5e5)

test_that("hand-computed: what bursts cost is masked, and the same time in the partner", {
  x <- quick_halves(n = 10, percent = 1, jitter = 0, hit = 3)
  got <- masked(x)
  expect_equal(got$d, rep(log(1.01), 10))
  # 2.01 ms of slice 41, and those that begin within 2.5 ms of the burst
  expect_equal(sum(got$kept < 1), 3)
  expect_equal(min(got$kept), 0.87, tolerance = 0.03)
  # the slow slice of a partner at the same place goes with it, another stays
  x <- quick_halves(n = 10, jitter = 0, hit = 1)
  on <- which(masked(x)$kept < 1)
  off <- which(x$blocks$pair == masked(x)$pair[on] & x$blocks$arm == "off")
  there <- x
  there$ns[x$blocks$first[off] + 41] <- 1e7
  expect_equal(masked(there)$d[on], 0)
  there$ns[x$blocks$first[off] + 5] <- 1e7
  expect_lt(masked(there)$d[on], -0.1)
})

test_that("a burst that began before its half is masked as far as it reaches into it", {
  x <- quick_halves(n = 8, jitter = 0, hit = 0)
  on <- which(x$blocks$arm == "on")[3]
  x$bursts <- data.frame(start_ns = x$blocks$start_ns[on] - 1e6, duration_ns = 2e6)
  x$ns[x$blocks$first[on] + 0:1] <- 1e6
  expect_equal(masked(x)$d, rep(0, 8))
})

test_that("what lies beyond the bursts is found and covered, with bursts and without", {
  held <- vapply(1:100, function(seed) {
    ends <- quick_figure(masked(quick_halves(n = 60, percent = 0.5, hit = 6, seed = seed)))$ends(0.01)
    ends[1] <= 0.5 && 0.5 <= ends[2]
  }, TRUE)
  expect_gte(sum(held), qbinom(0.001, 100, 0.98))
  expect_lt(figure_p(quick_figure(masked(quick_halves(percent = 0.5))), 0), 1e-6)
  expect_null(quick_figure(masked(quick_halves(n = 6, hit = 1))))
})

test_that("where long halves show what short ones do not, the long ones count alone, and it is said", {
  short <- masked(quick_halves(n = 100, hit = 0))
  long <- masked(quick_halves(n = 20, percent = 1, hit = 0, seed = 2))
  long$planned_ns <- 25e7
  got <- quick_figure(rbind(short, long))
  expect_equal(attr(got, "n"), 20)
  expect_match(attr(got, "note"), "^short and long halves differ")
  expect_equal(got$value, 1, tolerance = 0.1)
  same <- masked(quick_halves(n = 20, hit = 0, seed = 2))
  same$planned_ns <- 25e7
  expect_equal(attr(quick_figure(rbind(short, same)), "n"), 120)
})
