side <- function(values, unit = "", what = "", name = "side") {
  list(file = name, kind = "column",
       rows = data.frame(what = what, value = values, unit = unit, line = seq_along(values)), notes = NULL)
}
compared <- function(a, b, ...) compare_values(side(a, name = "a"), side(b, name = "b"), ...)

five <- c(10.247, 12.000, 9.978, 12.695, 13.080)
three <- c(5.591, 6.217, 6.836)

test_that("five runs against three, all apart, are a factor of two and 1/56, which decides nothing at 0.01", {
  row <- compared(five, three)$rows
  expect_equal(row$p_lower, 1 / 56, tolerance = 1e-12)
  expect_equal(row$p_two_sided, 2 / 56, tolerance = 1e-12)
  expect_equal(row$smallest_p_one_sided, 1 / 56)
  expect_equal(row$verdict, "inconclusive")
  expect_match(row$reason, "1/56", fixed = TRUE)
  expect_equal(row$runs_needed, 5)
  # The middle of the 15 ratios, by hand: B / A = 0.5385, A is 1.86 times B.
  expect_equal(1 + row$effect / 100, stats::median(as.vector(outer(three, five, "/"))), tolerance = 1e-12)
  expect_gt(100 / (100 + row$effect), 1.8)
  expect_equal(c(row$ci_low, row$ci_high), 100 * (c(5.591 / 13.080, 6.836 / 9.978) - 1), tolerance = 1e-9)
  expect_equal(row$confidence, 1 - 2 / 56)
  # The same, asked for at a level that they can reach.
  expect_equal(compared(five, three, alpha = 0.05)$rows$verdict, "lower")
  expect_equal(compared(five, three, margin_percent = 1)$answer, "inconclusive")
  expect_equal(compared(five, three, margin_percent = 1, alpha = 0.02)$answer, "pass")
  expect_equal(compared(three, five, margin_percent = 1, alpha = 0.02)$answer, "fail")
})

test_that("three against three never decide, however far apart they are", {
  row <- compared(c(1, 2, 3), c(1001, 1002, 1003))$rows
  expect_equal(row$p_higher, 1 / 20)
  expect_equal(row$verdict, "inconclusive")
  expect_match(row$reason, "1/20 (1/8 by signs of pairs)", fixed = TRUE)
  expect_equal(smallest_p_of_pairs(3), 1 / 8)
  expect_equal(c(smallest_p(5, 5), smallest_p(4, 6), smallest_p(1, 1)), c(1 / 252, 1 / 210, 1 / 2))
})

test_that("one run each is refused, with the runs that are needed", {
  expect_error(compared(5, 9), "at least 5 runs of each are needed", class = "nl_error_data")
  expect_error(compared(5, 9, alpha = 0.1), "at least 3 runs", class = "nl_error_data")
  expect_equal(compared(5, c(9, 10, 11))$rows$verdict, "inconclusive")
})

test_that("p and interval are those of R's own exact test, which shares no code", {
  x <- c(1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3, 0.91)
  y <- c(2.878, 1.647, 2.598, 4.05, 3.06001, 2.29, 3.29, 5.11)
  row <- compared(x - 2, y - 2)$rows # some below 0: differences
  ours <- suppressWarnings(stats::wilcox.test(y, x, exact = TRUE, conf.int = TRUE, conf.level = 0.99))
  expect_equal(row$scale, "difference")
  expect_equal(row$p_two_sided, ours$p.value, tolerance = 1e-10)
  expect_equal(c(row$ci_low, row$ci_high), as.vector(ours$conf.int), tolerance = 1e-9)
  expect_equal(row$effect, unname(ours$estimate), tolerance = 1e-9)
  ratio <- compared(x, y)$rows
  logs <- stats::wilcox.test(log(y), log(x), exact = TRUE, conf.int = TRUE, conf.level = 0.99)
  expect_equal(c(ratio$ci_low, ratio$ci_high), 100 * expm1(as.vector(logs$conf.int)), tolerance = 1e-9)
})

test_that("with ties all orders are counted, and at most alpha of them are found", {
  x <- c(1, 2, 2, 3, 3)
  y <- c(2, 3, 3, 4)
  all <- c(x, y)
  sums <- utils::combn(9, 4, function(i) sum(rank(all)[i]))
  p <- rank_p(x, y)
  expect_equal(p$greater, mean(sums >= sum(rank(all)[6:9]) - 1e-9))
  expect_equal(p$less, mean(sums <= sum(rank(all)[6:9]) + 1e-9))
  found <- utils::combn(9, 4, function(i) rank_p(all[-i], all[i])$greater)
  for (alpha in c(0.01, 0.05, 0.2)) expect_lte(mean(found <= alpha), alpha)
  expect_equal(rank_p(c(1, 1, 1), c(1, 1))$greater, 1)
  # Of means, by hand: 2 of 20 choices differ by as much.
  expect_equal(means_p(c(1, 2, 3), c(10, 20, 30))$p, 2 / 20)
})

test_that("many runs are tested by drawn orders, the same each time, with their standard error", {
  x <- with_seed(5, stats::rnorm(45))
  y <- with_seed(6, stats::rnorm(40, 0.4))
  p <- rank_p(x, y)
  expect_identical(rank_p(x, y), p)
  exact <- stats::wilcox.test(y, x, alternative = "greater", exact = TRUE)$p.value
  expect_gt(p$se, 0)
  expect_lt(abs(p$greater - exact), 5 * p$se)
})

test_that("a difference of the size of the limit is found as often as is said", {
  limit <- limit_in_sd(10, 10, 0.005, 0.95)
  found <- with_seed(
    11,
    mean(replicate(
      1000,
      stats::wilcox.test(stats::rnorm(10, limit), stats::rnorm(10), alternative = "greater")$p.value <= 0.005
    ))
  )
  expect_gt(found, 0.925)
  expect_lt(found, 0.975)
  expect_equal(limit_in_sd(3, 3, 0.005, 0.95), Inf)
  # For many runs: Noether's number for a shift of half a standard deviation, within one.
  needed <- (stats::qnorm(0.995) + stats::qnorm(0.95))^2 * 2 * pi / 3 / 0.25
  expect_lte(abs(runs_needed(0.5, 1, 0.005, 0.95) - needed), 1)
  expect_true(is.na(runs_needed(1e-6, 1, 0.005, 0.95)))
})

test_that("runs of one distribution are told apart no more often than alpha", {
  found <- with_seed(
    21,
    mean(replicate(
      400,
      compared(exp(stats::rnorm(6)), exp(stats::rnorm(7)),
               alpha = 0.05)$rows$verdict %in% c("higher", "lower")
    ))
  )
  expect_lte(found, stats::qbinom(0.999, 400, 0.05) / 400)
})

test_that("an interval never contradicts its word, also where values tie", {
  rows <- with_seed(
    31,
    lapply(seq_len(200), function(i) {
      compared(round(stats::rnorm(7, 10), 0), round(stats::rnorm(8, 12), 0), alpha = 0.05)$rows
    })
  )
  for (row in rows) {
    if (row$verdict %in% c("higher", "lower")) expect_true(row$ci_low > 0 || row$ci_high < 0)
  }
  expect_true(any(vapply(rows, function(row) row$verdict == "higher", TRUE)))
})

test_that("the margin is of the side that is worse, and rates are better when they are higher", {
  a <- 100 + c(-3, -2, -1, 0, 1, 2, 3) / 10
  expect_equal(compared(a, a * 1.1, margin_percent = 5)$answer, "fail")
  expect_equal(compared(a, a * 1.1, margin_percent = 15)$answer, "pass")
  expect_equal(compared(a, a * 1.1, margin_percent = 5, better = "higher")$answer, "pass")
  rate <- compare_values(side(a, "MB/s"), side(a * 0.9, "MB/s"), 5)
  expect_equal(rate$answer, "fail")
  expect_equal(compared(a, a * 1.0499, margin_percent = 5)$answer, "inconclusive")
  expect_error(compared(c(-1, a), a, margin_percent = 5), "no ratio", class = "nl_error_usage")
})

test_that("several measurements are corrected together", {
  many <- function(by) {
    list(
      file = "x",
      kind = "omb",
      notes = NULL,
      rows = data.frame(what = rep(c("8 B", "64 B", "1 KiB"), each = 5), value = c(1:5, 1:5, 1:5) + by,
                        unit = "us", line = 1:15)
    )
  }
  rows <- compare_values(many(0), many(c(rep(0, 5), rep(100, 5), rep(0, 5))))$rows
  expect_equal(rows$p_two_sided, c(1, 2 / 252, 1))
  expect_equal(rows$verdict, c(no_difference, "higher", no_difference))
  expect_equal(rows$familywise, c(NA, FALSE, NA))
})

test_that("the first screen has at most 24 lines, in text and for every kind of answer", {
  for (comparison in list(compared(five, three, margin_percent = 1), compared(1:9, 1:9),
                          compared(1:9, 100 + 1:9), compared(c(0, -1, 3), c(7, 8, 9)))) {
    lines <- view_lines(values_view(comparison, c("A.csv", "B.csv")))
    expect_lte(length(lines), 24)
    expect_lte(max(nchar(lines)), 100)
  }
  rows <- data.frame(what = rep(paste("Allreduce,", 2^(0:22), "B"), each = 6),
                     value = rep(2^(0:22), each = 6) * exp(with_seed(1, stats::rnorm(138, 0, 0.01))),
                     unit = "us", line = seq_len(138))
  many <- list(file = "x", kind = "omb", notes = NULL, rows = rows)
  other <- replace(many, "rows", list(transform(rows, value = rev(value[order(value)])[rank(-value)])))
  expect_lte(length(view_lines(values_view(compare_values(many, other), c("a", "b")))), 24)
})

test_that("a few runs that are far off are named where means differ and most runs do not", {
  a <- 100 + (1:12) / 10
  b <- c(a[1:8], 900, 950, 1000, 1100)
  comparison <- compared(a, b, alpha = 0.1)
  expect_equal(comparison$rows$verdict, no_difference)
  expect_match(values_view(comparison, c("a", "b"))$warnings, "a few runs are far off", all = FALSE)
})
