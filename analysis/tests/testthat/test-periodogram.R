# Noise whose power falls as 1/f^a, of variance 1.
red_noise <- function(n, a) {
  f <- seq_len(n / 2 - 1)
  half <- complex(real = stats::rnorm(length(f)), imaginary = stats::rnorm(length(f))) * f^(-a / 2)
  x <- Re(stats::fft(c(0, half, 0, rev(Conj(half))), inverse = TRUE))
  x / stats::sd(x)
}

test_that("at even times it is the squared Fourier transform", {
  t <- (0:127) / 10
  x <- with_seed(1, stats::rnorm(128))
  residual <- unname(stats::lm(x ~ t)$residuals)
  got <- periodogram(x, t)
  expect_equal(got$power[seq(1, 125, 2)], (Mod(stats::fft(residual))^2 / 128)[2:64])
  expect_equal(got$frequency_hz[seq(1, 125, 2)], (1:63) / 12.8)
})

test_that("at uneven times it is the least-squares fit of a sinusoid", {
  t <- with_seed(2, sort(stats::runif(300, 0, 50)))
  x <- with_seed(3, stats::rnorm(300)) + sin(t)
  residual <- stats::lm(x ~ t)$residuals
  got <- periodogram(x, t)
  for (i in c(1, 7, 16, 100, nrow(got))) {
    f <- got$frequency_hz[i]
    fit <- stats::lm(residual ~ cos(2 * pi * f * t) + sin(2 * pi * f * t))
    expect_equal(got$power[i], 150 * mean((stats::fitted(fit) - mean(residual))^2), tolerance = 1e-4)
  }
})

test_that("a sinusoid has its frequency and power, also with gaps and when time does not begin at 0", {
  t <- 5 + (0:999) / 100
  for (keep in list(rep(TRUE, 1000), (0:999) %% 97 > 20)) {
    got <- periodogram(2 * cos(2 * pi * (3 * t - 0.2))[keep], t[keep])
    top <- got[which.max(got$power), ]
    expect_equal(c(top$frequency_hz, top$power), c(3, sum(keep)), tolerance = 0.01)
    expect_lt(top$fap, 1e-12)
  }
})

test_that("noise alone, white or red, even or not, is found at the level asked for", {
  times <- function(uneven) if (uneven) cumsum(stats::runif(512, 0.5, 1.5)) else 1:512
  for (case in list(list(0, FALSE), list(0, TRUE), list(1, TRUE), list(2, FALSE))) {
    fap <- with_seed(
      11, replicate(12, min(periodogram(red_noise(512, case[[1]]), times(case[[2]]))$fap, na.rm = TRUE))
    )
    # more come once in a thousand
    expect_lte(sum(fap <= 0.05), stats::qbinom(0.999, 12, 0.05))
    expect_lte(sum(fap <= 0.01), stats::qbinom(0.999, 12, 0.01))
    # and the formula is not empty: some of the best of 510 frequencies come near
    expect_gt(sum(fap < 0.8), 2)
  }
})

test_that("the background follows a red spectrum and passes under a line", {
  x <- with_seed(4, red_noise(4096, 1))
  got <- periodogram(x + 0.2 * sin(2 * pi * (1:4096) * 0.1), 1:4096)
  slope <- stats::coef(stats::lm(log(background) ~ log(frequency_hz), got[got$frequency_hz > 0.002, ]))[[2]]
  expect_equal(slope, -1, tolerance = 0.1)
  top <- got[which.max(got$z), ]
  expect_equal(top$frequency_hz, 0.1, tolerance = 0.002)
  expect_gt(top$power / top$background, 20)
})

test_that("the chance of a false alarm is the formula's", {
  expect_equal(false_alarm(5, 100), 1 - (1 - exp(-5))^100)
  expect_equal(false_alarm(critical_z(0.01, 1e5), 1e5), 0.01)
  expect_equal(false_alarm(0, 3), 1)
})

test_that("short, constant, straight and disordered series are refused or have a reason", {
  reason <- function(x) attr(periodogram(x, seq_along(x)), "reason")
  expect_equal(
    vapply(list(numeric(), 1, rep(3, 50), 1:50 * 2), reason, ""),
    c("0 points, a periodogram needs 16", "1 point, a periodogram needs 16", "the series is constant",
      "the series is a straight line")
  )
  expect_equal(nrow(periodogram(rep(3, 50), 1:50)), 0)
})

test_that("one spike is no period, and an alternating series has the shortest one", {
  spike <- replace(with_seed(5, stats::rnorm(512)), 100, 500)
  expect_gt(min(periodogram(spike, 1:512)$fap, na.rm = TRUE), 0.01)
  x <- rep(c(1, 1, -1, -1), 100) + with_seed(6, stats::rnorm(400, 0, 0.1))
  got <- periodogram(x, 1:400)
  expect_equal(got$period_s[which.max(got$power)], 4, tolerance = 0.01)
})

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

test_that("sums of harmonics find no period in noise, white or red", {
  found <- vapply(1:24, function(seed) {
    x <- noise_at(seed, 512)
    if (seed %% 2 == 0) x <- x + cumsum(noise_at(seed + 1000, 512)) / 5
    !is.null(find_family(periodogram(x, 1:512), 0.01))
  }, TRUE)
  expect_lte(sum(found), 2)
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
  off <- vapply(1:8, function(seed) {
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
  expect_null(find_family(periodogram(1, 1), 0.01))
})

test_that("a sinusoid at the limit is found with about the probability stated", {
  t <- grid_times(1024)
  limit <- line_limit(periodogram(noise_at(6, 1024), t), 0.01, 0.95)
  size <- stats::median(limit$amplitude)
  found <- vapply(1:30, function(seed) {
    got <- periodogram(noise_at(seed, 1024) + size * sin(2 * pi * 125 * t), t)
    got$fap[which.min(abs(got$frequency_hz - 125))] <= 0.01
  }, TRUE)
  expect_gte(mean(found), 0.8)
  expect_lte(mean(found), 1)
  expect_equal(stats::pchisq(9, 2, noncentrality(9, 2, 0.95), lower.tail = FALSE), 0.95, tolerance = 1e-5)
})
