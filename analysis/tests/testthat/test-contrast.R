# Rows as of analyze_campaign(): one operation, the time channel, one row per kind and level.
verdict_rows <- function(kind, level, log_ratios, operation = "barrier") {
  stats <- lapply(log_ratios, batch_mean_ci)
  of <- function(name) vapply(stats, `[[`, 0, name)
  data.frame(scope = "this launch", launch = "L", design = "lockin", operation = operation, bytes = 0, ranks = 2,
             kind = kind, pattern = "periodic", placement = "last", phase = "random", channel = "time",
             level_requested_percent = level, estimate = 100 * expm1(of("estimate")), raw_estimate = of("estimate"),
             raw_se = of("se"), raw_df = of("df"), raw_n = lengths(log_ratios))
}

test_that("a contrast is Welch's test on the log ratios of the pairs", {
  # by hand: difference 0.1, standard error sqrt(2 * 0.01 / 3), 4 degrees of freedom
  a <- c(0.1, 0.2, 0.3)
  b <- c(0, 0.1, 0.2)
  got <- treatment_contrasts(verdict_rows(c("cache", "spin"), 1, list(a, b)))
  se <- sqrt(0.02 / 3)
  expect_equal(got$difference_percent, 100 * (exp(0.1) - 1))
  expect_equal(got[c("se_log", "df")], data.frame(se_log = se, df = 4))
  expect_equal(c(got$ci_low, got$ci_high), 100 * (exp(0.1 + c(-1, 1) * 4.604095 * se) - 1), tolerance = 1e-6)
  expect_equal(got$p_two_sided, 0.287864, tolerance = 1e-5)
  expect_equal(got$p_holm, got$p_two_sided)
  expect_equal(c(got$kind_a, got$kind_b), c("cache", "spin"))
  # unequal scatter and number, against R's own
  b <- c(0, 0.5, 0.1, 0.3)
  got <- treatment_contrasts(verdict_rows(c("cache", "spin"), 1, list(a, b)))
  wanted <- t.test(a, b, conf.level = 0.99)
  expect_equal(got$p_two_sided, wanted$p.value)
  expect_equal(c(got$ci_low, got$ci_high), 100 * expm1(as.numeric(wanted$conf.int)))
  expect_equal(c(got$n_a, got$n_b), c(3, 4))
})

test_that("Holm corrects for the levels and pairs of treatments of one operation", {
  x <- list(c(0.1, 0.2, 0.3), c(0, 0.1, 0.2), c(0.5, 0.6, 0.8))
  three <- verdict_rows(c("a", "b", "c"), rep(c(1, 5), each = 3), c(x, rev(x)))
  got <- treatment_contrasts(rbind(three, verdict_rows(c("a", "b"), 1, x[1:2], "reduce")))
  expect_equal(nrow(got), 7)
  barrier <- got$operation == "barrier"
  expect_equal(got$p_holm[barrier], p.adjust(got$p_two_sided[barrier], "holm"))
  expect_equal(got$p_holm[!barrier], got$p_two_sided[!barrier])
})

test_that("no, one and constant treatments, one pair, the placebo and other channels have no contrast", {
  x <- list(c(0.1, 0.2, 0.3), c(0, 0.1, 0.2))
  two <- verdict_rows(c("a", "b"), 1, x)
  expect_null(treatment_contrasts(two[0, ]))
  expect_null(treatment_contrasts(two[1, ]))
  expect_null(treatment_contrasts(transform(two, level_requested_percent = 0)))
  expect_null(treatment_contrasts(transform(two, channel = "base")))
  expect_null(treatment_contrasts(transform(two, launch = c("K", "L"))))
  for (flat in list(list(0.2, 0.1), list(c(0.2, 0.2), c(0.1, 0.1)))) {
    got <- treatment_contrasts(verdict_rows(c("a", "b"), 1, flat))
    expect_equal(got$difference_percent, 100 * expm1(0.1))
    expect_true(all(is.na(got[c("ci_low", "ci_high", "p_two_sided", "p_holm", "se_log", "df")])))
    expect_match(got$reason, "scatter")
  }
})

test_that("of a campaign: the pairs of the rows, and the worst first in what is printed", {
  dir <- local_campaign(pairs = 30, levels_percent = c(0, 5), kinds = c("spin", "cache", "mem"), treatment_factor = c(1, 3, 2))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  got <- analysis$contrasts
  expect_equal(paste(got$kind_a, got$kind_b), c("cache mem", "cache spin", "mem spin"))
  rows <- analysis$campaign$rows
  y <- log(rows$wall_ns / rows$operations)
  d <- split(y[analysis$pairs$on] - y[analysis$pairs$off], paste(rows$kind, rows$level_requested_percent)[analysis$pairs$on])
  wanted <- t.test(d[["cache 5"]], d[["spin 5"]], conf.level = 0.99)
  expect_equal(got$p_two_sided[2], wanted$p.value)
  expect_equal(c(got$ci_low[2], got$ci_high[2]), 100 * expm1(as.numeric(wanted$conf.int)), tolerance = 0.01)
  worst <- worst_contrasts(got, analysis)
  expect_equal(paste(worst$a, worst$b), c("cache mem", "cache spin"))
  # seen from the other side
  turned <- turn_contrasts(transform(got[2, ], a = "cache", b = "spin"))
  expect_equal(turned$difference_percent, 100 * expm1(-log1p(got$difference_percent[2] / 100)))
  expect_equal(c(turned$ci_low, turned$ci_high), 100 * expm1(-as.numeric(rev(wanted$conf.int))), tolerance = 0.01)
  expect_equal(turned[c("kind_a", "kind_b", "a")], data.frame(kind_a = "spin", kind_b = "cache", a = "spin"), ignore_attr = TRUE)
})

test_that("estimates with known standard errors are compared as samples are, and without end of degrees of freedom as normal", {
  x <- c(1, 3, 2, 5)
  y <- c(2, 4, 7)
  error <- function(x) stats::sd(x) / sqrt(length(x))
  got <- welch_from_errors(mean(x), error(x), 3, mean(y), error(y), 2)
  wanted <- stats::t.test(y, x)
  expect_equal(got$p_two_sided, wanted$p.value)
  expect_equal(got$df, unname(wanted$parameter))
  expect_equal(welch_from_errors(0, 3, Inf, 10, 4, Inf)$p_two_sided, 2 * stats::pnorm(-2))
})
