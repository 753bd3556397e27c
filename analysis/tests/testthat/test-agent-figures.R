# What an agent took by the records, and three figures of its cost side by side.

taken_of <- function(..., change = identity) {
  dir <- tempfile("agent")
  on.exit(unlink(dir, recursive = TRUE))
  simulate_agent_campaign(dir, ...)
  campaign <- read_campaign(dir)
  campaign$agents <- change(campaign$agents)
  noiselab:::agent_taken(campaign)
}

test_that("what the records attribute is found to a percent of itself where the ranks lose a hundred times as much by others", {
  row <- taken_of(pairs = 60, agent_burst_ns = 1e6, seed = 4)
  expect_equal(nrow(row), 1)
  expect_equal(row$taken_percent, 1, tolerance = 0.05)
  expect_lt(row$p_value, 1e-12)
  expect_true(row$taken_low < row$taken_percent && row$taken_high > row$taken_percent)
  expect_true(is.na(row$reason))
})

test_that("hand-computed: the mean of the pairs, Student's interval, limit and p", {
  d <- c(1.0, 1.1, 0.9, 1.0, 1.2)
  est <- noiselab:::batch_mean_ci(d, 0.98)
  row <- noiselab:::taken_test(est, 0.01, 0.95, NA_character_)
  byhand <- t.test(d, conf.level = 0.98)
  expect_equal(c(row$taken_low, row$taken_high), as.numeric(byhand$conf.int))
  expect_equal(row$p_value, t.test(d, alternative = "greater")$p.value)
  expect_equal(row$limit_percent, (qt(0.99, 4) + qt(0.95, 4)) * sd(d) / sqrt(5))
})

test_that("an agent that never ran where a rank waited took nothing, and nothing is found", {
  row <- taken_of(pairs = 20, seed = 3, change = function(rows) {
    data.table::set(rows, j = "preempted_by_agent_ns", value = 0)
    rows
  })
  expect_equal(c(row$taken_percent, row$p_value), c(0, 1))
  expect_match(noiselab:::taken_words(row), "never ran where a rank waited")
})

test_that("pairs that agree exactly are no certainty, and what is not seen is not said to be nothing", {
  same <- noiselab:::taken_test(list(estimate = 1, se = 0, df = 4), 0.01, 0.95, NA_character_)
  expect_equal(same[c("p_value", "taken_low", "limit_percent", "reason")],
               list(p_value = NA_real_, taken_low = NA_real_, limit_percent = NA_real_, reason = "all pairs agree exactly"))
  some <- as.data.frame(c(noiselab:::taken_test(list(estimate = 0.1, se = 0.1, df = 4), 0.01, 0.95, NA_character_), account_percent = 1))
  expect_match(noiselab:::taken_words(some, 0.01), "not seen to take CPU time from the ranks; 0.588 % of one CPU would have been")
})

test_that("hand-computed: halves count by their length, with the ratio's standard error", {
  rows <- data.frame(wall_ns = c(1, 1, 1, 1, 1, 2, 3, 10) * 1e9, x = c(0, 0, 0, 0, 1, 2, 3.3, 10) * 1e7)
  d <- noiselab:::ratio_shift(rows, 5:8, 1:4, "x")
  rate <- 16.3 / 16
  expect_equal(mean(d) / 1e4, rate)
  expect_equal(sd(d) / 2 / 1e4, sqrt(sum((c(1, 2, 3.3, 10) - rate * c(1, 2, 3, 10))^2) / 3) / 2 / 4)
  expect_true(all(is.na(noiselab:::ratio_shift(rows, 5:8, 1:4, "y"))))
})

test_that("without records the reason is said, with what would add them", {
  row <- taken_of(pairs = 20, seed = 3, change = function(rows) {
    data.table::set(rows, j = "preempted_by_agent_ns", value = NA_real_)
    rows
  })
  expect_true(is.na(row$taken_percent))
  expect_match(row$reason, "CAP_PERFMON")
})

test_that("several launches are one figure about these launches, with a test of whether they differ", {
  rows <- taken_of(pairs = 16, launches = 3, agent_burst_ns = 1e6, seed = 2)
  pooled <- rows[is.na(rows$launch), ]
  expect_equal(pooled$scope, "these launches")
  expect_equal(pooled$taken_percent, mean(rows$taken_percent[!is.na(rows$launch)]))
  expect_true(pooled$heterogeneity_p >= 0 && pooled$heterogeneity_p <= 1)
})

test_that("a few bursts are known no better than their count, none have an upper end, and neighbours that resemble each other widen the interval", {
  test <- function(n, ...) taken_test(list(estimate = 1, se = 0.1, df = 30), 0.01, 0.95, NA_character_, n, 30)
  few <- test(6)
  expect_equal(c(few$taken_low, few$taken_high), c(qgamma(0.01, 6), qgamma(0.99, 7)) / 6)
  expect_equal(test(200)$taken_high, 1 + qt(0.99, 30) * 0.1)
  none <- taken_test(list(estimate = 0, se = 0, df = 30), 0.01, 0.95, NA_character_, 0, 30)
  expect_equal(none$taken_high, 100 * 0.05 * log(100) / 30)
  set.seed(1)
  # AR(0.9): over pairs alone the interval covers in 37 %
  covers <- replicate(200, {
    d <- 1e4 + as.numeric(stats::filter(rnorm(260, 0, 500), 0.9, method = "recursive"))[61:260]
    rows <- data.frame(launch = "L", wall_ns = rep(1e9, 200), agent_cpu_ns = 1e7)
    got <- taken_row(list(waited = list(agent = d), preempted = d, rows = rows, on = 1:200, launch = "L", host = "h", kind = "a", is_quick = FALSE), 0.01, 0.95)
    got$taken_low <= 1 && 1 <= got$taken_high
  })
  expect_gte(mean(covers), 0.9)
})

test_that("launches that differ widen what is known of launches like these, and nodes of one launch are no launches", {
  row <- function(launch, x, host = "n1") data.frame(scope = scope_launch, launch = launch, host = host, kind = "a", n_pairs = 20, account_percent = x, taken_percent = x,
                                     se = 0.005, df = 19, reason = NA_character_, others_percent = 0, kernel_percent = 0, noiselab_percent = 0, unknown_percent = 0)
  x <- c(1, 2, 3, 1, 2)
  like <- pool_taken(bind_rows(Map(row, 1:5, x)), 0.01, 0.95)
  expect_equal(like$scope, scope_campaign)
  expect_equal(c(like$taken_low, like$taken_high), as.numeric(t.test(x, conf.level = 0.98)$conf.int))
  nodes <- pool_taken(bind_rows(list(row(1, 1), row(1, 1, "n2"), row(2, 1), row(2, 1, "n2"))), 0.01, 0.95)
  expect_equal(nodes$se, 0.005 / sqrt(2))
  expect_equal(nodes$scope, scope_these)
})

test_that("agreement is equivalence within a margin that no scatter widens: three outcomes", {
  agree <- function(...) noiselab:::figures_agree(figures_by_hand(...), 1)
  expect_equal(as.list(agree(1, 1.01, 0.02)[c("agreement", "margin")]), list(agreement = "agree", margin = 0.1))
  expect_equal(agree(1, 2, 0.02)$agreement, "disagree")
  open <- agree(1, 1.01, 5)
  expect_equal(open$agreement, "cannot be compared")
  expect_match(open$reason, "known to \u00b17.07 % only")
  expect_equal(noiselab:::figures_agree(figures_by_hand(1, 1, 0.01), 0.1)$margin, 0.05)
})

test_that("the answer is on a screen, and all tables have the three figures", {
  dir <- tempfile("agent")
  on.exit(unlink(dir, recursive = TRUE))
  simulate_agent_campaign(dir, pairs = 30, operations = "barrier", bytes = 0, agent_burst_ns = 1e6, seed = 2)
  out <- status_of("noiselab-analyze", "agent", dir)$out
  expect_lte(length(out), 24)
  expect_lte(max(nchar(out)), 100)
  text <- paste(status_of("noiselab-analyze", "agent", dir, "--all")$out, collapse = "\n")
  for (name in noiselab:::figure_names[c("taken", "locked", "all")]) expect_match(text, name, fixed = TRUE)
  expect_match(text, "by the records of who ran it takes|By the records of who ran it takes")
  expect_gt(nrow(utils::read.csv(text = status_of("noiselab-analyze", "agent", dir, "--csv", "--table", "figures")$out)), 2)
})
