# Steps in latency by size, and settings of whole launches.

step_bytes <- c(960, 1088, 1920, 2176, 3840, 4352, 7680, 8704, 15360, 17408, 30720, 34816, 61440, 69632)

# Launches of a line of times with factors beyond sizes, and launches that differ as a whole.
step_times <- function(at = numeric(), factor = numeric(), n = 8, sd = 0.08) {
  line <- 2000 + 0.4 * step_bytes
  for (k in seq_along(at)) line <- line * ifelse(step_bytes > at[k], factor[k], 1)
  t(vapply(seq_len(n), function(i) line * exp(stats::rnorm(length(line), 0, sd) + stats::rnorm(1, 0, 0.1)),
           line))
}

test_that("a step is found between the two sizes where it is, and its height is in the interval", {
  set.seed(1)
  found <- latency_steps(step_bytes, step_times(4096, 1.5))
  expect_equal(c(found$from_bytes, found$to_bytes), c(3840, 4352))
  expect_true(found$low_bytes <= 3840 && found$high_bytes >= 4352)
  expect_true(found$percent_low < 50 && found$percent_high > 50 && found$percent_low > 0)
  down <- latency_steps(step_bytes, step_times(16384, 0.6))
  expect_equal(c(down$from_bytes, down$to_bytes), c(15360, 17408))
  expect_lt(down$percent_high, 0)
})

test_that("two steps are two, in order of size", {
  set.seed(2)
  found <- latency_steps(step_bytes, step_times(c(2048, 16384), c(1.6, 1.6)))
  expect_equal(found$from_bytes, c(1920, 15360))
})

test_that(paste0("where there is no step none is found more often than alpha says, and too few sizes or ",
                 "launches are none"), {
  set.seed(3)
  n <- sum(vapply(seq_len(200), function(i) nrow(latency_steps(step_bytes, step_times(), alpha = 0.05)) > 0,
                  NA))
  expect_lte(n, stats::qbinom(0.999, 200, 0.05))
  expect_equal(nrow(latency_steps(step_bytes[1:5], step_times(2048, 3)[, 1:5])), 0)
  expect_equal(nrow(latency_steps(step_bytes, step_times(2048, 3, n = 1))), 0)
})

test_that("a line of least relative errors goes through points on a line", {
  line <- line_through(c(1, 2, 4), c(3, 5, 9))
  expect_equal(line$misfit, 0)
  expect_equal(line$at(3), 7)
})

# Figures of sets: a setting that is faster by `gain` and, at one size, slower.
settings_figures <- function(gain, slower_at = NULL, n = 12) {
  grid <- expand.grid(bytes = c(1024, 8192, 65536), algorithm = c("default", "A=1", "A=2"),
                      launch = sprintf("set-%04d", seq_len(n)), stringsAsFactors = FALSE)
  effect <- ifelse(grid$algorithm == "A=1", log(1 - gain), 0) +
    ifelse(grid$algorithm == "A=1" & grid$bytes %in% slower_at, 0.3, 0)
  x <- effect + stats::rnorm(nrow(grid), 0, 0.01)
  x[grid$algorithm == "default"] <- 0
  data.frame(launch = grid$launch, operation = "alltoall", bytes = grid$bytes, ranks = 4,
             algorithm = grid$algorithm, quiet = x, noise = NA_real_, quiet_ns = 1e4 * exp(x),
             noise_ns = NA_real_, lost = NA_real_, late_lost = NA_real_, late_by_ns = NA_real_)
}

judged_settings <- function(figures, program = NULL) {
  figures <- rbind(figures, over_all(figures, program))
  arms <- unique(figures[c("operation", "bytes", "ranks", "algorithm")])
  arms <- cbind(launch = "set-0001", arms, number = NA_integer_, in_fact = arms$algorithm)
  settings_rows(figures, arms, sprintf("set-%04d", 1:4), 0.01, 5)
}

test_that(paste0("the setting that is faster over all is advised, what it slows is named, and without a ",
                 "gain the reference is kept"), {
  set.seed(4)
  rows <- judged_settings(settings_figures(0.2, slower_at = 8192))
  expect_equal(unlist(rows[rows$operation == "all", c("verdict", "algorithm")], use.names = FALSE),
               c("use", "A=1"))
  expect_equal(rows$verdict[rows$bytes == 8192], "slower")
  expect_true(all(
    rows$gain_low_percent[rows$bytes %in% c(1024, 65536)] < 20 &
      rows$gain_high_percent[rows$bytes %in% c(1024, 65536)] > 20
  ))
  kept <- judged_settings(settings_figures(0))
  expect_equal(kept$verdict[kept$operation == "all"], "keep")
})

test_that("a program's shares are the weights", {
  set.seed(5)
  figures <- settings_figures(0, slower_at = 8192)
  program <- data.frame(operation = "alltoall", bytes = c(1024, 8192, 65536), share = c(0, 0.5, 0))
  all <- over_all(figures, program)
  expect_equal(all$quiet[all$algorithm == "A=1"],
               figures$quiet[figures$algorithm == "A=1" & figures$bytes == 8192])
})

test_that("a lower end that few launches put anywhere is said as a bound", {
  expect_equal(gain_bounds(data.frame(gain_low_percent = c(-4.5e18, -20), gain_high_percent = c(91.4, 3))),
               c("below -1000, 91.4", "-20, 3"))
})
