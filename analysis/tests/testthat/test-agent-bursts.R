# When an agent takes the CPU: activities and period.

made <- function(...) {
  dir <- local_agent(...)
  campaign <- read_campaign(dir)
  list(campaign = campaign, bursts = agent_bursts(campaign))
}

test_that("1 ms per second is found in 120 s: by preempted time at p < 0.001, its period within 1 %", {
  got <- made(pairs = 30, half_period_ns = 2e9, agent_period_ns = 1e9, agent_burst_ns = 1e6, seed = 7)
  expect_lt(analyze_campaign(got$campaign, channels = "preempted")$verdicts$p_one_sided, 0.001)
  expect_lt(abs(got$bursts$period_s - 1), 0.01)
  expect_equal(got$bursts$per_period_us, 1000, tolerance = 0.1)
  expect_equal(got$bursts$duty_percent, 0.1, tolerance = 0.1)
  # halves of one period hold no distances, and need none: the period is given
  short <- made(pairs = 30, half_period_ns = 1e9, agent_period_ns = 1e9, agent_burst_ns = 1e6,
                seed = 7)$bursts
  expect_equal(short$period_by, "given")
  expect_lt(abs(short$period_s - 1), 0.01)
})

test_that("among intervals without a name the period is found, too, and what each period holds", {
  got <- made(pairs = 60, source = "thread", agent_burst_ns = 4e6, seed = 3)$bursts
  expect_equal(got$period_by, "spectrum")
  expect_equal(got$period_s, 0.1, tolerance = 0.001)
  expect_equal(got$per_period_us, 4080, tolerance = 0.1)
})

test_that("late activities make distances uncertain, and the spectrum sharpens their period", {
  halves <- data.frame(start = seq(0, by = 8.2e8, length.out = 40), wall = 4e8, row = 1:40)
  start <- seq(5e7, 3.3e10, by = 1e8)
  late <- with_seed(6, stats::rexp(length(start), 1 / 3e6))
  bursts <- in_halves(data.frame(start_ns = round(start + late), duration_ns = 1e6, cpu = 1), halves)
  got <- activity_period(merge_activities(bursts, 0), bursts, halves, 0.01)
  expect_equal(got$period_by, "spectrum")
  expect_equal(got$period_s, 0.1, tolerance = 1e-4)
})

test_that("bursts at random have no period, and it is said", {
  halves <- data.frame(start = seq(0, by = 4e8, length.out = 50), wall = 2e8, row = 1:50)
  bursts <- with_seed(5, data.frame(start_ns = sort(round(runif(600, 0, 2e10))), duration_ns = 5e4, cpu = 1))
  bursts <- in_halves(bursts, halves)
  got <- activity_period(merge_activities(bursts, 0), bursts, halves, 0.01)
  expect_true(is.na(got$period_s))
  expect_match(got$reason, "do not keep to a period")
})

test_that("threads that switch among themselves are one activity, as long as their time on the CPU", {
  start <- rep(seq(0, by = 1e8, length.out = 20), each = 3) + c(0, 6e4, 13e4)
  bursts <- data.frame(start_ns = start, duration_ns = 5e4, cpu = c(1, 2, 1), half = rep(1:2, each = 30))
  gap <- activity_gap(bursts)
  expect_true(gap > 2e4 && gap < 9e7)
  merged <- merge_activities(bursts, gap)
  expect_equal(merged[c("took", "n")], data.frame(took = rep(1.5e5, 20), n = 3))
  expect_equal(activity_gap(bursts[seq(1, 60, 3), ]), 0)
  expect_equal(activity_gap(bursts[1, ]), 0)
})

test_that("bursts outside the halves with the agent do not count", {
  halves <- data.frame(start = c(0, 4e8), wall = 2e8, row = c(1, 3))
  bursts <- data.frame(start_ns = c(1e7, 3e8, 4.1e8, 7e8), duration_ns = 1000)
  expect_equal(in_halves(bursts, halves)[c("start_ns", "half")],
               data.frame(start_ns = c(1e7, 4.1e8), half = c(1, 3)), ignore_attr = TRUE)
})

test_that("an agent without a burst in its halves, or without any file, is no error", {
  campaign <- made(pairs = 12)$campaign
  writeLines("# source: cpu", campaign$bursts$file <- tempfile())
  row <- agent_bursts(campaign)
  expect_equal(row$n_activities, 0)
  expect_match(burst_sentences(row), "no burst lies in a half")
  campaign$bursts <- campaign$bursts[0, ]
  expect_equal(nrow(agent_bursts(campaign)), 0)
})
