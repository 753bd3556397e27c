pulses <- function(t, period, duty, begin = 0) as.numeric(((t - begin + 1e-9) / period) %% 1 < duty)
grid_times <- function(n) (seq_len(n) - 1) * 1e-3
noise_at <- function(seed, n) with_seed(seed, stats::rnorm(n))

test_that("of a short burst the fundamental is reported, not one of its harmonics", {
  t <- grid_times(2^14)
  drift <- with_seed(1, cumsum(stats::rnorm(2^14, 0, 0.01)))
  for (duty in c(0.01, 0.1, 0.5)) {
    x <- 2 * pulses(t, 0.1, duty, 0.02) + 0.5 * noise_at(2, length(t)) + drift
    family <- find_family(periodogram(x, t), 0.01)
    expect_equal(1 / family$frequency_hz, 0.1, tolerance = 1e-3)
    expect_lt(family$fap, 1e-6)
  }
  # the spectrum's highest line is not the fundamental's: red noise hides that one
  spectrum <- periodogram(2 * pulses(t, 0.1, 0.01, 0.02) + 0.5 * noise_at(2, length(t)) + drift, t)
  expect_gt(spectrum$frequency_hz[which.max(spectrum$z)], 15)
})

test_that("a sinusoid is its own fundamental", {
  t <- grid_times(4096)
  family <- find_family(periodogram(sin(2 * pi * 12.3 * t) + noise_at(3, 4096), t), 0.01)
  expect_equal(family$frequency_hz, 12.3, tolerance = 0.01)
})

test_that("sums of harmonics find no period in noise, white or red", {
  found <- vapply(1:60, function(seed) {
    x <- noise_at(seed, 512)
    if (seed %% 2 == 0) x <- x + cumsum(noise_at(seed + 1000, 512)) / 5
    !is.null(find_family(periodogram(x, 1:512), 0.01))
  }, TRUE)
  expect_lte(sum(found), 3)
})

test_that("a search near one frequency finds it with fewer trials, and nothing elsewhere", {
  t <- grid_times(4096)
  spectrum <- periodogram(0.16 * sin(2 * pi * 50 * t) + noise_at(4, 4096), t)
  near <- find_family(spectrum, 0.5, near = 50, within_hz = 0.4)
  expect_equal(near$frequency_hz, 50, tolerance = 0.01)
  expect_lt(near$fap, (find_family(spectrum, 1) %||% list(fap = 1))$fap)
  expect_null(find_family(spectrum, 0.01, near = 120, within_hz = 0.4))
})

test_that("the period is refined beyond the resolution, within a few of its standard errors", {
  off <- vapply(1:20, function(seed) {
    t <- grid_times(4096)
    period <- 0.1 + seed / 4000
    x <- pulses(t, period, 0.1) + 0.5 * noise_at(seed, 4096)
    spectrum <- periodogram(x, t)
    got <- refine_frequency(x, t, find_family(spectrum, 0.01)$frequency_hz, spectrum)
    (got$frequency_hz - 1 / period) / got$se_hz
  }, 0)
  expect_lt(max(abs(off)), 4)
  expect_gt(stats::sd(off), 0.4)
  expect_lt(stats::sd(off), 2)
})

test_that("harmonics are numbered, and an empty spectrum has none", {
  t <- grid_times(4096)
  lines <- harmonic_lines(periodogram(pulses(t, 0.064, 0.25) + 0.1 * noise_at(5, 4096), t), 1 / 0.064)
  # of a pulse that is up for a quarter every fourth harmonic is 0
  expect_true(all(1:3 %in% lines$harmonic))
  expect_false(any(lines$harmonic %% 4 == 0))
  expect_equal(lines$frequency_hz, lines$harmonic / 0.064, tolerance = 0.01)
  expect_equal(lines$amplitude[1], 2 / pi * sin(pi / 4), tolerance = 0.02)
  expect_null(find_family(periodogram(1, 1), 0.01))
})

test_that("a sinusoid at the limit is found with about the probability stated", {
  t <- grid_times(1024)
  limit <- line_limit(periodogram(noise_at(6, 1024), t, oversample = 1), 0.01, 0.95)
  size <- stats::median(limit$amplitude)
  found <- vapply(1:60, function(seed) {
    got <- periodogram(noise_at(seed, 1024) + size * sin(2 * pi * 125 * t), t, oversample = 1)
    got$fap[which.min(abs(got$frequency_hz - 125))] <= 0.01
  }, TRUE)
  expect_gte(mean(found), 0.85)
  expect_lte(mean(found), 1)
  expect_equal(stats::pchisq(9, 2, noncentrality(9, 2, 0.95), lower.tail = FALSE), 0.95, tolerance = 1e-5)
})
