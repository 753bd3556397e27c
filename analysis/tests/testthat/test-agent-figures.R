# What an agent took by the records.

# Of a campaign whose records say this of every half.
taken_where <- function(taken_ns) {
  campaign <- read_campaign(local_agent(pairs = 12, seed = 3))
  data.table::set(campaign$agents, j = "preempted_by_agent_ns", value = taken_ns)
  agent_taken(campaign)
}

test_that("what the records attribute is found to a percent of itself, of several launches as one figure", {
  rows <- agent_taken(read_campaign(local_agent(pairs = 30, launches = 3, agent_burst_ns = 1e6, seed = 4)))
  pooled <- rows[is.na(rows$launch), ]
  expect_equal(pooled$taken_percent, 1, tolerance = 0.05)
  expect_true(
    pooled$taken_low < pooled$taken_percent && pooled$taken_high > pooled$taken_percent &&
      pooled$p_value < 1e-12
  )
  expect_equal(pooled$taken_percent, mean(rows$taken_percent[!is.na(rows$launch)]))
  expect_equal(pooled$scope, "these launches")
})

test_that("hand-computed: the mean of the pairs, Student's interval, limit and p", {
  d <- c(1.0, 1.1, 0.9, 1.0, 1.2)
  est <- batch_mean_ci(d, 0.98)
  row <- taken_test(est, 0.01, 0.95, NA_character_)
  byhand <- t.test(d, conf.level = 0.98)
  expect_equal(c(row$taken_low, row$taken_high), as.numeric(byhand$conf.int))
  expect_equal(row$p_value, t.test(d, alternative = "greater")$p.value)
  expect_equal(row$limit_percent, (qt(0.99, 4) + qt(0.95, 4)) * sd(d) / sqrt(5))
})

test_that(paste0("an agent that never ran where a rank waited took nothing, and without records the reason ",
                 "is said"), {
  row <- taken_where(0)
  expect_equal(c(row$taken_percent, row$p_value), c(0, 1))
  expect_match(taken_words(row), "never ran where a rank waited")
  none <- taken_where(NA_real_)
  expect_true(is.na(none$taken_percent))
  expect_match(none$reason, "CAP_PERFMON")
})

test_that("pairs that agree exactly are no certainty, and what is not seen is not said to be nothing", {
  same <- taken_test(list(estimate = 1, se = 0, df = 4), 0.01, 0.95, NA_character_)
  expect_equal(
    same[c("p_value", "taken_low", "limit_percent", "reason")],
    list(p_value = NA_real_, taken_low = NA_real_, limit_percent = NA_real_,
         reason = "all pairs agree exactly")
  )
  some <- as.data.frame(c(taken_test(list(estimate = 0.1, se = 0.1, df = 4), 0.01, 0.95, NA_character_),
                          account_percent = 1))
  expect_match(
    taken_words(some, 0.01),
    paste0("^scheduler records show: no CPU time taken from waiting ranks was detected; 0.588 % of one CPU ",
           "would have been detected$")
  )
  # that it ran on their CPUs is no contradiction, and said
  expect_match(
    taken_words(some, 0.01, 1.62),
    paste0("^scheduler records show: it runs on the ranks' CPUs for 1.62 % of one CPU; no CPU time taken ",
           "from waiting ranks was detected; 0.588 %")
  )
})

test_that("hand-computed: halves count by their length, with the ratio's standard error", {
  rows <- data.frame(wall_ns = c(1, 1, 1, 1, 1, 2, 3, 10) * 1e9, x = c(0, 0, 0, 0, 1, 2, 3.3, 10) * 1e7)
  d <- ratio_shift(rows, 5:8, 1:4, "x")
  rate <- 16.3 / 16
  expect_equal(mean(d) / 1e4, rate)
  expect_equal(sd(d) / 2 / 1e4, sqrt(sum((c(1, 2, 3.3, 10) - rate * c(1, 2, 3, 10))^2) / 3) / 2 / 4)
  expect_true(all(is.na(ratio_shift(rows, 5:8, 1:4, "y"))))
  # of halves without partners the rate itself
  expect_equal(mean(ratio_shift(rows, 5:8, NULL, "x")) / 1e4, rate)
})

test_that(paste0("a few bursts are known no better than their count, none have an upper end, and neighbours ",
                 "that resemble each other widen the interval"), {
  test <- function(n, ...) {
    taken_test(list(estimate = 1, se = 0.1, df = 30), 0.01, 0.95, NA_character_, n, 30)
  }
  few <- test(6)
  expect_equal(c(few$taken_low, few$taken_high), c(qgamma(0.01, 6), qgamma(0.99, 7)) / 6)
  expect_equal(test(200)$taken_high, 1 + qt(0.99, 30) * 0.1)
  none <- taken_test(list(estimate = 0, se = 0, df = 30), 0.01, 0.95, NA_character_, 0, 30)
  expect_equal(none$taken_high, 100 * 0.05 * log(100) / 30)
  set.seed(1)
  # AR(0.9): over pairs alone the interval covers in 37 %
  covers <- replicate(100, {
    d <- 1e4 +
      as.numeric(stats::filter(rnorm(260, 0, 500), 0.9, method = "recursive"))[
        61:260
      ]
    rows <- data.frame(launch = "L", wall_ns = rep(1e9, 200), agent_cpu_ns = 1e7)
    got <- taken_row(
      list(waited = list(agent = d), preempted = d, rows = rows, on = 1:200, launch = "L", host = "h",
           kind = "a", is_quick = FALSE),
      0.01,
      0.95
    )
    got$taken_low <= 1 && 1 <= got$taken_high
  })
  expect_gte(mean(covers), 0.85)
})

test_that(paste0("launches that differ widen what is known of launches like these, and nodes of one launch ",
                 "are no launches"), {
  row <- function(launch, x, host = "n1") {
    data.frame(scope = scope_launch, launch = launch, host = host, kind = "a", n_pairs = 20,
               account_percent = x, taken_percent = x, se = 0.005, df = 19, reason = NA_character_,
               others_percent = 0, kernel_percent = 0, noiselab_percent = 0, unknown_percent = 0)
  }
  x <- c(1, 2, 3, 1, 2)
  like <- pool_taken(bind_rows(Map(row, 1:5, x)), 0.01, 0.95)
  expect_equal(like$scope, scope_campaign)
  expect_equal(c(like$taken_low, like$taken_high), as.numeric(t.test(x, conf.level = 0.98)$conf.int))
  nodes <- pool_taken(bind_rows(list(row(1, 1), row(1, 1, "n2"), row(2, 1), row(2, 1, "n2"))), 0.01, 0.95)
  expect_equal(nodes$se, 0.005 / sqrt(2))
  expect_equal(nodes$scope, scope_these)
})

test_that("the answer is on a screen, and all tables have what it costs", {
  dir <- local_agent(pairs = 30, operations = "barrier", bytes = 0, agent_burst_ns = 1e6, seed = 2)
  out <- status_of("noiselab-analyze", "agent", dir)$out
  expect_lte(length(out), 24)
  expect_lte(max(nchar(out)), 100)
  text <- paste(status_of("noiselab-analyze", "agent", dir, "--all")$out, collapse = "\n")
  expect_match(text, "what it costs\n.*ranks waited for the agent 1\\.0[0-9]* % of one CPU")
  expect_match(text, "[Ss]cheduler records show: it preempts a node's ranks for")
  estimates <- utils::read.csv(text = status_of("noiselab-analyze", "agent", dir, "--csv")$out)
  expect_equal(estimates$verdict[estimates$quantity == "taken_attributed_percent"], "detected")
})

test_that("amplification is the ratio of sums: that bursts differ in length is no error of it", {
  # each burst costs 1.2 of its length, elsewhere a window loses 5 on average
  cpu <- c(100, 200, 300, 400, 1000)
  got <- amplification_figure(5 + 1.2 * cpu, cpu, 5, 0, 100)
  expect_equal(got$value, 1.2)
  expect_equal(got$ends(0.01), c(1.2, 1.2))
  # residuals of -10, 10, 0, 0: their standard deviation over the root of 4 over the mean length of 100
  lost <- c(90, 110, 100, 100)
  got <- amplification_figure(lost, rep(100, 4), 0, 0, 100)
  reach <- qt(0.99, 3) * sd(c(-10, 10, 0, 0)) / 2 / 100
  expect_equal(got$ends(0.01), 1 + c(-1, 1) * reach)
  # what lies elsewhere knows it less well
  expect_equal(amplification_figure(lost, rep(100, 4), 0, 50, 9)$ends(0.01), 1 + c(-1, 1) * qt(0.99, 8) * 0.5)
})

test_that(paste0("with a period the CPU time per time is a burst's over the period, without one no better ",
                 "known than bursts at random"), {
  start <- 25e7 * (0:19)
  got <- use_figure(start, rep(2.5e6, 20), rep(1, 20), 5.1e9)
  expect_equal(attr(got, "period_ns"), 25e7)
  expect_equal(got$value, 0.01)
  expect_equal(got$ends(0.01), c(0.01, 0.01))
  # distances across a pause between two stretches are none
  expect_equal(
    use_figure(c(start[1:10], 1e9 + start[11:20]), rep(2.5e6, 20), rep(1:2, each = 10), 6.1e9)$value, 0.01
  )
  set.seed(2)
  at <- sort(runif(12, 0, 12e9))
  got <- use_figure(at, rep(1e6, 12), rep(1, 12), 12e9)
  expect_true(is.na(attr(got, "period_ns")))
  expect_equal(got$value, 1e-3)
  # bursts of one length: the exact bounds of a Poisson count
  exact <- c(qgamma(0.01, 12), qgamma(0.99, 13)) / 12 * 1e-3
  expect_lte(got$ends(0.01)[1], exact[1] * (1 + 1e-9))
  expect_gte(got$ends(0.01)[2], exact[2] * (1 - 1e-9))
})

test_that("bursts that other tasks tear, shift and wake beside the beat keep their period", {
  start <- 25e7 * (0:39)
  torn <- seq(3, 40, by = 3)
  # the last sixth of a torn burst comes 6 ms after its begin; every tenth burst is 40 ms late
  start[seq(10, 40, by = 10)] <- start[seq(10, 40, by = 10)] + 4e7
  cpu <- replace(rep(2.5e6, 40), torn, 2.1e6)
  parts <- data.frame(start = c(start, start[torn] + 6e6, 1.1e9), cpu = c(cpu, rep(4e5, length(torn)), 1e4))
  parts <- parts[order(parts$start), ]
  got <- use_figure(parts$start, parts$cpu, rep(1, nrow(parts)), 10e9)
  expect_equal(attr(got, "period_ns"), 25e7)
  expect_equal(got$value, 0.01, tolerance = 0.005)
  expect_lt(diff(got$ends(0.01)) / 2, 0.04 * got$value)
  # at random, torn or not, there is none
  set.seed(4)
  none <- replicate(60, {
    at <- cumsum(rexp(40, 4e-9))
    at <- sort(c(at, at[torn] + 6e6))
    is.na(attr(use_figure(at, rep(1e6, length(at)), rep(1, length(at)), max(at) + 1e6), "period_ns"))
  })
  expect_true(all(none))
})

test_that(paste0("compound Poisson bounds are those of the count where all are of one size, and hold their ",
                 "mean where they are not"), {
  expect_equal(compound_poisson_ends(rep(3, 7), 0.01), 3 * c(qgamma(0.01, 7), qgamma(0.99, 8)))
  expect_equal(compound_poisson_ends(numeric(), 0.01), c(0, NA))
  set.seed(1)
  held <- replicate(300, {
    ends <- compound_poisson_ends(rexp(rpois(1, 30)), 0.01)
    ends[1] <= 30 && 30 <= ends[2]
  })
  expect_gte(sum(held), qbinom(0.001, 300, 0.97))
})

test_that("slowdown by bursts: 1.025 of 1.03 % is 1.067 %, with the ends of both parts", {
  amplification <- figure_of_t(1.025, 0.01, Inf)
  use <- figure_as(figure_of_t(log(0.0103), 0.02, Inf), exp)
  got <- bursts_figure(amplification, use)
  x <- 1.025 * 0.0103
  expect_equal(got$value, 100 * x / (1 - x))
  z <- qnorm(0.99)
  high <- x + sqrt((0.0103 * 0.01 * z)^2 + (x * (exp(0.02 * z) - 1))^2)
  expect_equal(got$ends(0.01)[2], 100 * high / (1 - high))
  # a tenth may have been lost before: off the lower end only; cut windows have no upper end
  less <- bursts_figure(amplification, figure_of_t(0.01, 0, Inf), function(a) 0.1)
  low <- 0.01 * (1.025 - 0.01 * z - 0.1)
  expect_equal(less$ends(0.01)[1], 100 * low / (1 - low))
  expect_equal(bursts_figure(amplification, use, at_least = TRUE)$ends(0.01)[2], Inf)
})

test_that("the least level of a figure is that of its distance from the border", {
  figure <- figure_of_t(2, 0.5, 7)
  expect_equal(figure_p(figure, 1), pt(-2, 7), tolerance = 1e-4)
  expect_equal(figure_p(figure, 3, -1), pt(-2, 7), tolerance = 1e-4)
  expect_equal(figure_p(figure, 2.5), 1)
  expect_true(is.na(figure_p(NULL, 1)))
})

test_that("whole, bursts and what lies beyond are one equation", {
  exact <- function(x) figure_of_t(x, 0, Inf)
  expect_equal(beyond_figure(exact(6.05), exact(1))$value, 5)
  expect_equal(in_all_figure(exact(1), exact(5))$value, 6.05)
  # the ends of two independent parts, in squares
  apart <- beyond_figure(figure_of_t(3, 0.3, Inf), figure_of_t(0, 0.4, Inf))
  expect_equal(diff(apart$ends(0.01)) / 2, qnorm(0.99) * 0.5, tolerance = 0.03)
  # an estimate far below 0 says no more than what could have been seen
  expect_equal(beyond_bound(figure_of_t(-4.6, 4.64, Inf), 0.01), qnorm(0.99) * 4.64)
  expect_equal(beyond_bound(figure_of_t(1, 1, Inf), 0.01), 1 + qnorm(0.99))
})
