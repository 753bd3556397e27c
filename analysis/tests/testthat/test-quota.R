# A quota of CPU time: time that nobody took.

# A campaign in which the quota stopped the ranks for these percents of their time, by arm.
stopped <- function(off, on, ...) {
  campaign <- simulated_campaign(pairs = 40, levels_percent = 1, seed = 2, ...)
  share <- ifelse(campaign$rows$arm == "off", off, on) + 0.2 * sin(seq_len(nrow(campaign$rows)))
  campaign$rows$throttled_ns <- pmax(0, share) / 100 * campaign$rows$wall_ns * campaign$rows$ranks
  campaign
}

test_that("time that a quota took is said as such, and is not taken for other tasks'", {
  campaign <- stopped(off = 30, on = 30)
  rows <- campaign$rows
  campaign$rows$preempted_ns_sum <- rows$throttled_ns
  campaign$launches[[1]]$hosts[[1]]$cpu_quota <- list(cpus = 0.5, quota_ns = 5e7, period_ns = 1e8, above = 1L, group = "/sys/fs/cgroup/job")
  said <- busy_sentence(campaign)
  expect_match(said, "a CPU quota of 0.5 CPUs (/sys/fs/cgroup/job) stopped the ranks for 30 % of the off halves", fixed = TRUE)
  expect_no_match(said, "other tasks")
  expect_null(quota_sentence(campaign))
  # what other tasks took beside is still theirs
  campaign$rows$preempted_ns_sum <- rows$throttled_ns + 0.05 * rows$wall_ns * rows$ranks
  expect_match(busy_sentence(campaign), "other tasks took 5 %")
})

test_that("a load that makes the quota stop the ranks more is said", {
  expect_match(quota_sentence(stopped(off = 10, on = 14)),
               "^the CPU quota stops the ranks with 1 % by \\[\\+(3\\.[0-9]+|4\\.0*), \\+(4\\.[0-9]+|5\\.0*)\\] points of the ranks' time more: that part of")
  expect_match(quota_sentence(stopped(off = 14, on = 10)), "less: that part")
  expect_null(quota_sentence(stopped(off = 0, on = 0) |> (\(x) { x$rows$throttled_ns <- NA_real_; x })()))
  campaign <- stopped(off = 0, on = 0)
  campaign$rows$throttled_ns <- NULL
  expect_null(quota_sentence(campaign))
  expect_null(busy_sentence(campaign))
})

test_that("the quota is a cause of its own among those who took the CPU", {
  dir <- tempfile("agent")
  on.exit(unlink(dir, recursive = TRUE))
  simulate_agent_campaign(dir, pairs = 40, seed = 3, agent_burst_ns = 1e6)
  campaign <- read_campaign(dir)
  before <- agent_tasks(campaign)
  rows <- campaign$rows
  campaign$rows$throttled_ns <- ifelse(rows$arm == "off", 0.01, 0.03) * rows$wall_ns
  quota <- agent_tasks(campaign)[agent_tasks(campaign)$group == "quota", ]
  expect_equal(quota$task, rep("the CPU quota", nrow(quota)))
  expect_equal(quota$us_per_s, rep(3e4, nrow(quota)))
  expect_equal(quota$shift_us_per_s, rep(2e4, nrow(quota)))
  groups <- agent_tasks(campaign, groups = TRUE)
  expect_equal(groups$shift_us_per_s[groups$group == "quota"], quota$shift_us_per_s)
  expect_equal(agent_tasks(campaign)[agent_tasks(campaign)$group != "quota", ], before, ignore_attr = TRUE)
})

test_that("its column is read, and may be empty or missing", {
  dir <- local_campaign(pairs = 4, levels_percent = 1)
  expect_true(is.na(throttled_percent(read_campaign(dir)$rows)))
  edit_lines(halves_of(dir), function(x) c(paste0(x[1], ",throttled_ns"), paste0(x[-1], c(",", ",1000"))))
  rows <- read_campaign(dir)$rows
  expect_equal(sort(unique(rows$throttled_ns)), 1000)
  expect_true(throttled_percent(rows) > 0)
})
