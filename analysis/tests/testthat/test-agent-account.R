# What an agent used against what the ranks lost.

made <- function(...) {
  dir <- local_agent(...)
  agent_accounts(read_campaign(dir))
}

test_that("an agent whose CPU time is what the ranks lost agrees, also under heavy-tailed noise", {
  row <- made(pairs = 60, agent_burst_ns = 1e6, seed = 4)
  expect_equal(row$agreement, "agree")
  expect_lt(abs(row$difference_us_per_s), 20)
  expect_equal(row$on_ranks_percent, 1, tolerance = 0.05)
  expect_equal(row$cpu_percent / row$on_ranks_percent, 1.2, tolerance = 0.01)
  expect_equal(row$wakeups_per_s, 10, tolerance = 0.05)
  expect_equal(row$off_cpu_percent, 0)
})

test_that("ranks that lose a fifth more, or less, than a 1 % agent used disagree with it", {
  rows <- bind_rows(lapply(c(0.2, -0.2), function(share) {
    made(pairs = 60, agent_burst_ns = 1e6, unaccounted = share, seed = 4)
  }))
  expect_equal(rows$agreement, c("disagree", "disagree"))
  expect_equal(rows$difference_us_per_s, c(2000, -2000), tolerance = 0.1)
})

test_that("hand-computed pairs: the difference, its fixed margin and the three answers", {
  judge <- agreement_of
  same <- judge(c(1000, 1010, 990, 1000), c(1000, 1000, 1000, 1000), 0.01)
  expect_equal(c(same$difference_us_per_s, same$tolerance_us_per_s), c(0, 500))
  expect_equal(same$agreement, "agree")
  expect_equal(judge(c(5, 6, 5, 6), c(1, 1, 1, 1), 0.01, account = 20000)$tolerance_us_per_s, 2000)
  expect_equal(judge(rep(c(1795, 1805), 5), rep(1000, 10), 0.01)$agreement, "disagree")
  # Wide data do not widen what is allowed, nor does an estimate near 0 decide.
  open <- judge(c(-4000, 6000, 1000, 1020), rep(1000, 4), 0.01)
  expect_equal(open$agreement, "cannot be compared")
  expect_match(open$reason, "500 \u00b5s/s are")
  others <- c(4000, 0, 1000, 20)
  known <- judge(c(1000, 1010, 990, 1000) + others, rep(1000, 4), 0.01, others = others)
  expect_equal(known[c("agreement", "others_us_per_s", "preempted_us_per_s")],
               list(agreement = "agree", others_us_per_s = 1255, preempted_us_per_s = 2255))
  expect_match(judge(c(1, 2), c(NA, NA), 0.01)$reason, "not known")
  expect_match(judge(5, 5, 0.01)$reason, "1 pair of halves: too few")
  expect_match(judge(numeric(), numeric(), 0.01)$reason, "no launch has an off and an on half together")
})

test_that("a disagreement names what may be behind it, the largest first", {
  account <- data.frame(launch = "L", host = "h", kind = "a", agreement = "disagree",
                        difference_us_per_s = c(500, -500), switches_per_s = 30, scraper_percent = 0,
                        observer_on_ranks_percent = 0, others_us_per_s = NA)
  tasks <- data.frame(launch = "L", host = "h", kind = "a", group = c("kernel", "other", "agent"),
                      shift_us_per_s = c(100, 300, 900))
  got <- agreement_causes(account, tasks)
  expect_match(
    got[1],
    paste0("other tasks that ran more with it: about 300 \u00b5s/s, kernel threads that ran more with it: ",
           "about 100 \u00b5s/s and context switches")
  )
  expect_match(got[1], "context switches")
  expect_match(got[2], "while a rank did not want to run")
  # tasks on record are no part of the difference
  expect_no_match(agreement_causes(transform(account, others_us_per_s = 400), tasks)[1], "other tasks")
})

test_that("several treated nodes without a generator count as several CPUs", {
  dir <- local_agent(pairs = 40, nodes = 2, ranks = 4, noise_nodes = 1:2, agent_burst_ns = 1e6, seed = 1)
  campaign <- read_campaign(dir)
  preempted <- analyze_campaign(campaign, channels = "preempted")$verdicts
  expect_equal(preempted$mean, 1, tolerance = 0.15)
  expect_equal(agent_accounts(campaign)$agreement, c("agree", "agree"))
})

test_that("over launches the launch is the unit, and an interim look uses its own level", {
  dir <- local_agent(pairs = 12, launches = 3, agent_burst_ns = 1e6, seed = 2)
  campaign <- read_campaign(dir)
  width <- function(...) {
    rows <- agent_accounts(campaign, ...)
    of <- function(scope) unname(with(rows[rows$scope == scope, ], (difference_high - difference_low)[1]))
    c(of(scope_launch), of(scope_campaign))
  }
  expect_equal(width(0.01, over = 0.001) / width(0.01), c(1, qt(0.999, 2) / qt(0.99, 2)))
  rows <- agent_accounts(campaign)
  expect_equal(rows$seconds[is.na(rows$launch)], sum(rows$seconds[!is.na(rows$launch)]))
})
