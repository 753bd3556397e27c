# Machines whose slowdown is known: by closed forms, or by the reference simulator of tests/reference, which
# shares no line with the package.

# A node's record; `cpu` 0: the only one.
record_of <- function(start_s, cost_s, seconds, cpu = 0) {
  node_train("record", data.frame(record = 1, start_s = start_s, stop_s = start_s + cost_s, cpu = cpu),
             data.frame(node = 1, seconds = seconds))
}
# As many bursts as are expected, at random times.
any_time <- function(per_s, seconds, seed) with_seed(seed, sort(stats::runif(per_s * seconds, 0, seconds)))
slowdown_of <- function(noise, n, work_s) {
  100 * project_cell(noise, n, work_s, "independent", effort = 0.25)$value
}
# What begins during another one waits for it, as on a CPU.
queued <- function(at, cost_s) {
  sums <- cost_s * seq_along(at)
  sums + cummax(at - sums + cost_s) - cost_s
}

test_that("a projection follows from its arguments and the settings of walks alone: it can be remembered", {
  noise <- record_of(any_time(20, 30, 5), 1e-3, 30)
  # as the package calls it: what tests find under its name is a copy
  project <- function(n) {
    getFromNamespace("project_cell", "noiselab")(noise, n, 1e-3, "independent", effort = 0.1)
  }
  first <- project(50)
  set.seed(1)
  other <- project(60)
  expect_false(identical(first, other))
  expect_identical(project(50), first)
  remembered_projections()
  expect_identical(list(project(60), project(50)), list(other, first))
  # what was computed before is not computed again, and what was not, or by coarser walks, is
  without_walks <- function() {
    replaced("walk_halves", function(...) stop("a walk"))
    expect_identical(project(50), first)
    expect_error(project(70), "a walk")
    coarse_walks()
    expect_error(project(50), "a walk")
  }
  without_walks()
})

test_that("CPUs of a node that are stopped together cost what one of them costs", {
  at <- any_time(1, 2000, 1)
  together <- function(cpus, cost_s) {
    record_of(rep(at, cpus), cost_s, 2000, rep(seq_len(cpus), each = length(at)))
  }
  # The reference has 73.6 and, at half the rate, 2 ms on 8 CPUs, 104.
  expect_equal(slowdown_of(together(16, 1e-3), 1000, 1e-3), 74, tolerance = 0.03)
  expect_equal(slowdown_of(together(3, 1e-3), 1000, 1e-3), 74, tolerance = 0.03)
  half <- any_time(0.5, 4000, 2)
  expect_equal(slowdown_of(record_of(rep(half, 8), 2e-3, 4000, rep(1:8, each = 2000)), 1000, 1e-3), 104,
               tolerance = 0.03)
  # Of two CPUs the second is stopped as the first goes on: 89.2 by the reference.
  expect_equal(slowdown_of(record_of(c(at, at + 1e-3), 1e-3, 2000, rep(1:2, each = 2000)), 1000, 1e-3), 89.2,
               tolerance = 0.03)
  # One node, two CPUs, of which the second is stopped in the middle of the other's 10 ms: short steps lose
  # 15 ms each time, long ones 10.
  apart <- record_of(c(at, at + 0.005), 0.01, 2000, rep(1:2, each = 2000))
  expect_equal(slowdown_of(apart, 1, 1e-5), 1.5 / (1 - 0.015), tolerance = 0.02)
  expect_equal(slowdown_of(apart, 1, 1), 1 / (1 - 0.01), tolerance = 0.03)
})

test_that("bursts that come in clumps cost what a walk of them costs, however far apart they are", {
  clumps <- function(n, apart_s, cost_s, per_s, seconds) {
    # none begins before the one before it is over
    over_s <- n * apart_s
    begin <- with_seed(3,
                       cumsum(over_s + (1 / per_s - over_s) * sample(stats::qexp(ppoints(per_s * seconds)))))
    record_of(as.numeric(outer(0:(n - 1) * apart_s, begin, `+`)), cost_s, max(begin) + over_s)
  }
  expect_equal(slowdown_of(clumps(10, 2e-3, 1e-4, 1, 2000), 1000, 1e-3), 10.0, tolerance = 0.06)
  expect_equal(slowdown_of(clumps(10, 3e-4, 1e-4, 1, 2000), 1000, 1e-3), 45, tolerance = 0.04)
  expect_equal(slowdown_of(clumps(10, 1e-3, 1e-4, 1, 2000), 1000, 1e-3), 17, tolerance = 0.06)
  expect_equal(slowdown_of(clumps(10, 1.05e-3, 1e-3, 0.2, 4000), 1000, 1e-3), 389, tolerance = 0.08)
})

test_that("bursts that begin during a stall count", {
  load <- function(share) record_of(queued(any_time(1000 * share, 200, 4), 1e-3), 1e-3, 201)
  expect_equal(slowdown_of(load(0.05), 16, 0.1), 10.0, tolerance = 0.03)
  expect_equal(slowdown_of(load(0.1), 16, 0.1), 18.3, tolerance = 0.03)
  expect_equal(slowdown_of(load(0.2), 16, 0.1), 37.1, tolerance = 0.03)
  expect_equal(slowdown_of(load(0.4), 16, 0.1), 93.2, tolerance = 0.05)
  expect_equal(slowdown_of(record_of(any_time(1, 10000, 5), 0.01, 10000), 1e4, 1e-3), 1466, tolerance = 0.05)
  # The chain of waits has them, too.
  random <- function(share) {
    100 * slowdown_chain(node_noise("random", 1e-3, NA, rate_hz = 1000 * share), 16, 0.1)
  }
  expect_equal(c(random(0.05), random(0.2), random(0.4)), c(10.0, 37.1, 93.2), tolerance = 0.03)
})

test_that("of a period with beats left out the rate counts, not the period", {
  beats <- 0:9999 * 0.1
  left <- function(share) record_of(beats[with_seed(6, sample(10000)) > 10000 * share], 2.5e-3, 1000)
  expect_equal(slowdown_of(left(0.1), 1, 0.01), 2.302, tolerance = 1e-3)
  expect_equal(slowdown_of(left(0.2), 1, 0.01), 2.041, tolerance = 1e-3)
  got <- project_cell(left(0.1), 1, 0.01, "independent")
  expect_lt(got$low, 0.02300)
  # All beats, of one node or of many at once: the same, whatever their number.
  all <- record_of(beats, 2.5e-3, 1000)
  expect_equal(100 * project_cell(all, 1000, 0.01, "common")$value, 2.564, tolerance = 1e-3)
  expect_equal(slowdown_of(all, 10, 0.01), 16.7, tolerance = 0.06)
})

test_that(paste0("bursts of 10 ms on 1,000 nodes that are recorded as lengths alone cost what those of a ",
                 "record do"), {
  costs <- with_seed(7, stats::rexp(2000, 1e3))
  walked <- slowdown_of(record_of(any_time(1, 2000, 8), costs, 2000), 200, 1e-3)
  expect_equal(slowdown_of(node_noise("lengths", costs, NA, rate_hz = 1, watched_s = 2000), 200, 1e-3),
               walked, tolerance = 0.04)
  expect_equal(100 * slowdown_chain(node_noise("lengths", costs, NA, rate_hz = 1), 200, 1e-3), walked,
               tolerance = 0.1)
})

test_that("bursts that come more rarely cost less, and how rarely is found where the upper end stays below", {
  at <- any_time(5, 600, 9)
  costs <- with_seed(9, stats::rexp(3000, 1e4))
  record <- record_of(rep(at, 2), rep(costs, 2), 600, rep(1:2, each = 3000))
  rarer <- noise_rarer(record, 3)
  expect_equal(slowdown_of(rarer, 50, 1e-3), slowdown_of(record, 50, 1e-3) / 3, tolerance = 0.1)
  expect_equal(rarer$records$start_s[1:2], rep(3 * at[1], 2))
  # some 2.4 % at five a second: 50 nodes, 100 us each
  gap_s <- interval_below(record, 50, 1e-3, 1)
  expect_gt(gap_s, 0.42)
  expect_lt(gap_s, 0.65)
  expect_lt(100 * project_cell(noise_rarer(record, gap_s / 0.2), 50, 1e-3, "independent")$high, 1.1)
  # Samples of two bursts each half second, as their period was told: what lies within one stays together.
  beats <- rep(0:99 * 0.5, each = 2) + c(0.1, 0.103)
  told <- node_train("told", data.frame(record = 1, start_s = beats, stop_s = beats + 1e-3),
                     data.frame(node = 1, seconds = 50), period_s = 0.5)
  expect_equal(noise_rarer(told, 2)$records$start_s[1:4], c(0.1, 0.103, 1.1, 1.103))
})

test_that("an interval holds what parts of a record put in doubt, and bursts in stretches of time widen it", {
  truth <- 0.09985 # the reference: 16 nodes, steps of 100 ms, 1 ms each 20 ms
  load <- function(seed) record_of(queued(with_seed(seed, sort(stats::runif(3000, 0, 60))), 1e-3), 1e-3, 60.1)
  held <- vapply(1:6, function(seed) {
    got <- project_cell(load(seed), 16, 0.1, "independent", effort = 0.3)
    c(got$low <= truth, got$high >= truth)
  }, c(TRUE, TRUE))
  expect_true(all(held))
  # Loads of 40 % (1 ms, 16 nodes, steps of 100 ms) and, of another kind, 25 % (2 ms on average, exponential,
  # 64 nodes, steps of 200 ms, of which a minute has too few for 32 blocks); the reference has 93.25 and 64.6.
  # The fifth record lacks large steps: its blocks alone have 87.9 to 92.9 %.
  held <- vapply(3:6, function(seed) {
    got <- project_cell(record_of(any_time(400, 60, seed), 1e-3, 60.1), 16, 0.1, "independent", effort = 0.3)
    c(got$low <= 0.9325, got$high >= 0.9325, got$high - got$low < 0.16)
  }, c(TRUE, TRUE, TRUE))
  expect_true(all(held))
  exponential <- record_of(any_time(125, 60, 2), with_seed(2, stats::rexp(7500, 500)), 60.5)
  got <- project_cell(exponential, 64, 0.2, "independent", effort = 0.3)
  expect_lt(got$low, 0.646)
  expect_gt(got$high, 0.646)
  expect_gt(unlike_blocks(parted_noise(exponential), 64, 0.2, 0.02, 1, 1)$factor, 1.05)
  # As many bursts, all of them within the first half of the time.
  even <- record_of(queued(any_time(50, 60, 4), 1e-3), 1e-3, 60.1)
  uneven <- record_of(queued(any_time(100, 30, 4), 1e-3), 1e-3, 60.1)
  doubt <- function(noise) unlike_blocks(parted_noise(noise), 2, 0.1, 0.02, 1, 0.3)$factor
  expect_lt(doubt(even), 1.25)
  expect_gt(doubt(uneven), 1.5)
  expect_true(even$is_random)
  expect_false(uneven$is_random)
  blocks <- train_blocks(even$records, 8)
  expect_equal(c(sum(blocks$bursts), blocks$first[1], blocks$first[8] + blocks$bursts[8]), c(3000, 1, 3001))
  drawn <- resampled_train(even$records, blocks, 2)
  expect_equal(c(length(drawn$start_s), max(diff(drawn$first)) / 60.1), c(drawn$first[2], drawn$bursts_hz))
  expect_false(is.unsorted(drawn$start_s))
  # The first block is one of the eight as it was.
  times <- function(train, block) train$start_s[floor(train$start_s / 60.1 * 8) == block] - block * 60.1 / 8
  expect_true(any(vapply(0:7, function(i) isTRUE(all.equal(times(drawn, 0), times(even$records, i))), TRUE)))
  # The same load, on average.
  scattered <- vapply(1:20, function(i) sum(scattered_train(even$records, i)$cost_s), 0)
  expect_equal(mean(scattered), 3, tolerance = 0.02)
})

test_that("a step that meets many bursts of a node is walked by the time between them, as burst by burst", {
  costs <- with_seed(10, stats::rexp(1200, 1e3))
  queue <- queue_bursts(data.frame(record = 1, cpu = 0, start_s = any_time(400, 3, 10),
                                   stop_s = any_time(400, 3, 10) + costs))
  record <- node_train("record", transform(queue, stop_s = start_s + cost_s),
                       data.frame(node = 1, seconds = max(queue$start_s + queue$cost_s) + 1e-3))
  # With a CPU more, on which next to nothing is lost, it goes burst by burst.
  one_by_one <- record$records
  one_by_one$start_s <- c(one_by_one$start_s, one_by_one$length_s)
  one_by_one$cost_s <- c(one_by_one$cost_s, 1e-12)
  one_by_one$cpu <- c(one_by_one$cpu, 1L)
  one_by_one$first <- c(0L, length(one_by_one$cpu))
  for (work_s in c(0.03, 0.1, 7)) {
    walk <- function(train, n) walk_halves(train, n, work_s, 6, 10, 40)
    expect_equal(walk(record$records, 16), walk(one_by_one, 16), tolerance = 1e-5)
  }
  # Whole rounds of a record: what is lost of it is lost of each.
  open_s <- record$watched_s - sum(queue$cost_s)
  expect_equal(as.vector(walk_halves(record$records, 3, 5 * open_s, 4, 2, 3)),
               rep(sum(queue$cost_s) / open_s, 8), tolerance = 1e-9)
  # Bursts of a record drawn anew may reach into the next one, which then comes later.
  over <- record$records
  over$start_s <- c(0.05, 0.02 + over$start_s[-1])
  expect_equal(walk_halves(over, 1, 4 * open_s, 1, 0, 2), matrix(sum(queue$cost_s) / open_s, 2, 1),
               tolerance = 0.05)
})

test_that("what is without end at random times bounds nothing", {
  expect_identical(c(size_change(3, 2, TRUE), size_change(Inf, 2, TRUE), size_change(Inf, Inf, TRUE)),
                   c(1.5, Inf, Inf))
  expect_identical(c(size_change(1, 2, FALSE), size_change(Inf, Inf, FALSE), size_change(1, Inf, FALSE)),
                   c(0.5, 0, 0))
  # On 2,000 nodes hit within 10 ms of each other the costliest of exponential bursts take all the time at
  # random times: one of 8 ms each 50 ms on average, the largest of 2,000 some 66 ms.
  at <- any_time(20, 100, 11)
  costs <- with_seed(11, stats::rexp(2000, 125))
  queue <- queue_bursts(data.frame(record = 1, cpu = 0, start_s = at, stop_s = at + costs))
  record <- node_train("record", transform(queue, stop_s = start_s + cost_s),
                       data.frame(node = 1, seconds = max(queue$start_s + queue$cost_s) + 0.1))
  got <- project_cell(record, 2000, 1e-3, "common", spread_s = 0.01, effort = 0.1)
  expect_true(is.finite(got$value))
  expect_identical(c(got$low, got$high), c(0, NA))
  expect_match(got$reason, "^at least: bursts as frequent and as costly as the record allows leave no time")
})

test_that("a size at which an upper end passes a margin is found by few tries, to 2 %", {
  tries <- 0
  between <- function(high, ends, tried, ...) {
    tries <<- 0
    margin_between(function(x) {
      tries <<- tries + 1
      high(x)
    }, 0.05, ends, tried, ...)
  }
  # 10^-4 n^0.7 is 5 % at 500^(1 / 0.7)
  got <- between(function(n) 1e-4 * n^0.7, c(1, 1e7), 500, c(1, 1e-4), whole = floor)
  expect_true(got[1] <= 500^(1 / 0.7) && got[2] >= 500^(1 / 0.7) && got[2] < 1.02 * got[1])
  expect_lte(tries, 4)
  # growing to 6 % at most
  got <- between(function(n) 0.06 * n / (n + 1000), c(1, 1e7), 100, c(1, 6e-5), whole = floor)
  expect_true(got[1] <= 5000 && got[2] >= 5000 && got[2] < 1.02 * got[1])
  expect_lte(tries, 8)
  # open above 70: nothing but halves
  got <- between(function(n) if (n < 70) 1e-4 * n else NA, c(1, 1e7), 500, whole = floor)
  expect_true(got[1] <= 69 && got[2] >= 70 && got[2] <= got[1] + 1)
  # never above it
  expect_gt(between(function(n) 0.01, c(1, 1e7 + 1), 500, whole = floor)[1], 1e7 / 1.03)
})

test_that("rows are put in order, also where they are in order already, and one CPU's bursts are joined", {
  rows <- with_seed(12, data.frame(a = sample(3, 200, TRUE), b = sample(4, 200, TRUE)))
  expect_identical(in_turn(rows$a, rows$b), order(rows$a, rows$b))
  sorted <- rows[order(rows$a, rows$b), ]
  expect_identical(in_turn(sorted$a, sorted$b), seq_len(200))
  expect_identical(in_turn(numeric()), integer())
  # What follows directly is one, on one CPU as beside another that loses less.
  one <- data.frame(record = c(1, 1, 1, 2), cpu = 0, start_s = c(0, 0.5, 3, 0), cost_s = c(0.5, 1, 2, 4))
  expected <- data.frame(record = c(1, 1, 2), start_s = c(0, 3, 0), cost_s = c(1.5, 2, 4))
  expect_equal(node_activities(one), expected)
  beside <- rbind(one[1:2, ], data.frame(record = 1, cpu = 1, start_s = 1, cost_s = 0.1), one[3:4, ])
  expect_equal(node_activities(beside), expected)
})
