# The figures of an agent's answer, by hand.

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

test_that("with a period the CPU time per time is a burst's over the period, without one no better known than bursts at random", {
  start <- 25e7 * (0:19)
  got <- use_figure(start, rep(2.5e6, 20), rep(1, 20), 5.1e9)
  expect_equal(attr(got, "period_ns"), 25e7)
  expect_equal(got$value, 0.01)
  expect_equal(got$ends(0.01), c(0.01, 0.01))
  # distances across a pause between two stretches are none
  expect_equal(use_figure(c(start[1:10], 1e9 + start[11:20]), rep(2.5e6, 20), rep(1:2, each = 10), 6.1e9)$value, 0.01)
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
  none <- replicate(200, {
    at <- cumsum(rexp(40, 4e-9))
    at <- sort(c(at, at[torn] + 6e6))
    is.na(attr(use_figure(at, rep(1e6, length(at)), rep(1, length(at)), max(at) + 1e6), "period_ns"))
  })
  expect_true(all(none))
})

test_that("compound Poisson bounds are those of the count where all are of one size, and hold their mean where they are not", {
  expect_equal(compound_poisson_ends(rep(3, 7), 0.01), 3 * c(qgamma(0.01, 7), qgamma(0.99, 8)))
  expect_equal(compound_poisson_ends(numeric(), 0.01), c(0, NA))
  set.seed(1)
  held <- replicate(600, {
    ends <- compound_poisson_ends(rexp(rpois(1, 30)), 0.01)
    ends[1] <= 30 && 30 <= ends[2]
  })
  expect_gte(sum(held), qbinom(0.001, 600, 0.97))
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

test_that("bursts rarer than one in the time watched may cost so much more", {
  expect_equal(unseen_percent(31.5, 0.005), 100 * 0.05 * log(200) / 31.5)
  expect_equal(round(unseen_percent(31.5, 0.005), 2), 0.84)
  expect_equal(unseen_percent(0, 0.01), Inf)
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
