test_that("the robust scale of normal quantiles is 1, and tails do not move it", {
  x <- stats::qnorm(((1:1000) - 0.5) / 1000)
  got <- robust_scale(x)
  expect_equal(got$scale, 1)
  expect_equal(got$method, "quartiles")
  x[1000] <- 1e6
  expect_equal(robust_scale(x)$scale, 1)
})

test_that("few, equal and no values have the plain scale, or none", {
  expect_equal(robust_scale(c(1, 3)), list(centre = 2, scale = stats::sd(c(1, 3)), method = "sd"))
  expect_equal(robust_scale(rep(2, 20))$scale, 0)
  expect_true(is.na(robust_scale(5)$scale))
  expect_true(is.na(robust_scale(numeric())$centre))
})

test_that("ninety-nine in a hundred normal samples lie within the band altogether", {
  for (n in c(12, 400)) {
    band <- qq_band(n, ranks = seq_len(n))
    leaves <- with_seed(7, replicate(1500, {
      x <- stats::rnorm(n)
      own <- robust_scale(x)
      z <- sort((x - own$centre) / own$scale)
      # the median is 0 by construction
      any(z < band$low_sd - 1e-9 | z > band$high_sd + 1e-9)
    }))
    expect_lt(mean(leaves), 0.022)
    expect_gt(mean(leaves), 0.003)
  }
})

test_that("the band is the same each time, leaves the caller's random numbers alone, and is as wide as asked", {
  set.seed(5)
  before <- .Random.seed
  rm(list = ls(qq_store), envir = qq_store)
  first <- qq_band(50)
  expect_identical(.Random.seed, before)
  rm(list = ls(qq_store), envir = qq_store)
  expect_identical(qq_band(50), first)
  expect_true(all(first$low_sd < first$normal_sd & first$normal_sd < first$high_sd))
  narrow <- qq_band(50, conf = 0.5)
  expect_true(all(narrow$high_sd < first$high_sd))
  expect_equal(nrow(qq_band(7)), 0)
  expect_error(qq_band(2.5), "whole number", class = "nl_error_usage")
  expect_error(qq_band(20, ranks = 21), "ranks", class = "nl_error_usage")
})

test_that("many ranks are thinned, with every one of the outermost", {
  expect_equal(spread_ranks(5, 100), 1:5)
  ranks <- spread_ranks(1e6, 100)
  expect_lte(length(ranks), 102)
  expect_equal(range(ranks), c(1, 1e6))
  expect_true(2 %in% ranks)
})

test_that("residuals are those of the pairs: centred per cell, scaled by quartiles, ordered", {
  dir <- local_campaign(pairs = 30, levels_percent = c(0, 5), operations = c("barrier", "reduce"))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_residuals(analysis, draw = FALSE)
  part <- frame[frame$panel == "barrier", ]
  expect_equal(unique(part$n_pairs), 60)
  expect_equal(unique(part$n_cells), 2)
  at <- analysis$pairs$cells$operation[analysis$pairs$cell] == "barrier"
  d <- analysis$differences$time[at]
  residual <- d - ave(d, analysis$pairs$cell[at])
  own <- robust_scale(residual)
  expect_equal(part$residual_sd, sort((residual - own$centre) / own$scale))
  expect_equal(part$scale_log[1], own$scale)
  expect_match(alt_residuals(frame), "barrier: from -[0-9.]+ to \\+[0-9.]+, normal would be -2.39 to \\+2.39")
})

test_that("heavy tails leave the band and stay in the picture", {
  dir <- local_campaign(pairs = 150, levels_percent = c(0, 5), spike_rate = 0.3, half_period_ns = 2e5, period_ns = 2e5)
  frame <- plot_residuals(analyze_campaign(read_campaign(dir), channels = "time"), draw = FALSE)
  expect_true(any(frame$outside & frame$normal_sd > 1.5))
  expect_gt(max(abs(frame$residual_sd)), 12)
  expect_match(alt_residuals(frame), "leaves the band")
})

test_that("a cell of many pairs has a scale of its own; one pair, equal and too few pairs have none", {
  x <- stats::qnorm(((1:250) - 0.5) / 250)
  d <- c(x, 10 * x)
  cell <- rep(1:2, each = 250)
  expect_false(any(residual_panel(d, cell, "p")$outside))
  few <- residual_panel(c(x[seq(1, 250, 5)], 10 * x[seq(1, 250, 5)]), rep(1:2, each = 50), "p")
  expect_true(any(few$outside))
  expect_null(residual_panel(1:9, 1:9, "p"))
  expect_null(residual_panel(rep(1, 20), rep(1, 20), "p"))
  expect_null(residual_panel(c(1, 2, 3), c(1, 1, 1), "p"))
})
