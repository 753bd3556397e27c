test_that("the profile and its box are those computed by hand", {
  # 8 periods of 4 bins, the third raised; +-0.5 in turn makes the scatter
  x <- rep(c(1, 1, 5, 1), 8) + rep(c(0.5, -0.5), each = 4, times = 4)
  t <- (0:31 + 0.5) / 4
  got <- epoch_fold(x, t, 1, bins = 4)
  expect_equal(got$profile, c(0, 0, 4, 0))
  expect_equal(c(got$phase, got$duty, got$amplitude, got$cost), c(0.5, 0.25, 4, 1))
  expect_lt(got$p, 0.01)
  # an overall mean of 2: 8 (1 + 1 + 9 + 1) between the bins
  y <- detrend_periods(x, t, 1)
  sums <- fold_sums(y, t, 1, 4)
  expect_equal(sums$variance, sum((y - ave(y, (0:31) %% 4))^2) / 28)
  expect_equal(fold_chi_square(sums), 96 / sums$variance)
})

test_that("detrending takes drift off and leaves the profile, also one that is raised half of the time", {
  t <- (0:9999) / 100
  for (duty in c(0.1, 0.5, 0.9)) {
    pulse <- as.numeric((t + 1e-9) %% 1 < duty)
    y <- detrend_periods(5 * pulse + t / 3, t, 1)
    profile <- tapply(y, round(100 * (t %% 1)) %% 100, mean)
    raise <- mean(profile[seq_len(100 * duty)]) - mean(profile[-seq_len(100 * duty)])
    expect_equal(raise, 5, tolerance = 0.05)
    expect_lt(stats::sd(y - 5 * pulse), 0.2)
  }
})

test_that("duty, phase, amplitude and cost of a box in noise are found within their standard errors", {
  off <- vapply(1:12, function(seed) {
    with_seed(seed, {
      t <- seq_len(8000) * 1e-3
      begin <- stats::runif(1)
      x <- 1.5 * (((t / 0.2) - begin) %% 1 < 0.2) + stats::rnorm(8000) + cumsum(stats::rnorm(8000, 0, 0.02))
      got <- epoch_fold(x, t, 0.2)
      c((((got$phase - begin) + 0.5) %% 1 - 0.5) / got$phase_se, (got$duty - 0.2) / got$duty_se,
        (got$amplitude - 1.5) / got$amplitude_se, (got$cost - 0.3) / got$cost_se)
    })
  }, numeric(4))
  expect_lt(max(abs(off)), 6)
  spread <- apply(off, 1, function(v) sqrt(mean(v^2)))
  expect_true(all(spread > 0.3 & spread < 2.2))
})

test_that("noise alone is rarely significant, red noise as rarely as white", {
  p <- function(seed, red) with_seed(seed, {
    x <- if (red) cumsum(stats::rnorm(1024)) else stats::rnorm(1024)
    epoch_fold(x, 1:1024, 50)$p
  })
  white <- vapply(1:30, p, 0, red = FALSE)
  red <- vapply(1:30, p, 0, red = TRUE)
  # the binomial limit of 99.9 %
  expect_lte(sum(white <= 0.05), 6)
  expect_lte(sum(red <= 0.05), 6)
  expect_gt(sum(white <= 0.3), 3)
})

test_that("a box of the size of the limit is found with about the probability stated", {
  t <- 1:2000
  box <- (t %% 20) < 10
  limit <- with_seed(1, epoch_fold(stats::rnorm(2000), t, 20, bins = 20)$limit)
  p <- vapply(
    1:15,
    function(seed) with_seed(seed, epoch_fold(stats::rnorm(2000) + 2 * limit * box, t, 20, bins = 20)$p), 0
  )
  expect_gte(mean(p <= 0.01), 0.8)
  small <- vapply(
    1:15, function(seed) with_seed(seed, epoch_fold(stats::rnorm(2000) + limit * box, t, 20, bins = 20)$p), 0
  )
  expect_lte(mean(small <= 0.01), 0.6)
})

test_that("uneven times fold as well", {
  t <- with_seed(7, cumsum(stats::runif(3000, 0.005, 0.015)))
  x <- 3 * ((t + 0.05) %% 0.5 < 0.1) + with_seed(8, stats::rnorm(3000))
  got <- epoch_fold(x, t, 0.5)
  expect_equal(got$phase, 0.9, tolerance = 0.05)
  expect_equal(got$duty, 0.2, tolerance = 0.15)
  expect_equal(got$cost, 0.6, tolerance = 0.15)
  expect_lt(got$p, 1e-10)
})

test_that("what cannot be folded has a reason and no numbers", {
  t <- seq_len(1000) / 100
  x <- with_seed(9, stats::rnorm(1000))
  reason <- function(...) {
    got <- epoch_fold(...)
    expect_true(all(is.na(unlist(got[c("p", "phase", "duty", "amplitude", "cost", "limit")]))))
    got$reason
  }
  expect_equal(reason(x, t, 4), "the period 4 s is longer than a third of the span 10 s")
  expect_equal(reason(numeric(), numeric(), 1), "0 points, a periodogram needs 16")
  expect_equal(reason(1, 1, 1), "1 point, a periodogram needs 16")
  expect_equal(reason(rep(2, 1000), t, 1), "the series is constant")
  expect_equal(reason(x, t, 0.004), "the period 4 ms is below two samples (one every 10 ms)")
})

test_that("the box wraps around the end of the period and does not exist in a flat profile", {
  got <- box_fit(c(4, 0, 0, 4), rep(1, 4))
  expect_equal(got[c("start", "width", "amplitude", "low")],
               list(start = 3, width = 2, amplitude = 4, low = 0))
  # weights count: (7/4)^2 4 10/14 explains more than (2 - 1/11)^2 3 11/14, the first bin alone
  got <- box_fit(c(6, 1, 0, 0), c(3, 1, 5, 5))
  expect_equal(c(got$start, got$width, got$amplitude), c(0, 2, 7 / 4))
  expect_equal(box_fit(rep(1, 4), rep(1, 4))$amplitude, 0)
})

test_that("times are written in the unit that suits them", {
  expect_equal(format_time(c(1, 0.1, 2.5e-4, 3e-9, 60, NA)),
               c("1 s", "100 ms", "250 \u00b5s", "3 ns", "60 s", "-"))
})

test_that("halves give their middle times and the log time per operation", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = c(0, 5))
  got <- periodic_series(campaign)$series
  expect_equal(vapply(got, `[[`, "", "series"), c("time", "preempted"))
  off <- as.data.frame(campaign$rows)[campaign$rows$arm == "off", ]
  expect_equal(got[[1]]$t_s, (off$start_ns + off$wall_ns / 2) / 1e9)
  expect_equal(got[[1]]$x, log(off$wall_ns / off$operations))
  expect_equal(got[[2]]$x, 100 * off$preempted_ns_sum / off$wall_ns)
  expect_equal(length(periodic_series(campaign, "all")$series[[1]]$x), 80)
  # a round holds both levels' pairs: four halves of 10.2 ms
  expect_equal(got[[1]]$sampling_s, c(0.01, 0.0408), tolerance = 0.05)
})

test_that("what a start lost is shared out over its slices", {
  # the first lies in one slice, the second goes from 0.8 to 2.3
  expect_equal(into_slices(c(0.2, 0.8, 2.4), c(0.1, 1.5, 0.1), c(0.5, 1.5, 0), 3), c(0.5 + 0.2, 1, 0.3))
  # what lies before the first or behind the last slice is cut off
  expect_equal(into_slices(c(0.9, -0.3), c(0.4, 0.4), c(0.4, 0.4), 1), 0.2)
})

test_that("the starts of a raw file become even slices, and a lost file a note", {
  dir <- local_starts(raw = "starts.bin", pairs = 16, half_period_ns = 5e5)
  campaign <- read_campaign(dir)
  got <- periodic_series(campaign)$series
  starts <- got[[3]]
  expect_equal(starts$series, "starts")
  place <- diff(starts$t_s) / starts$width_s
  expect_equal(place, round(place), tolerance = 1e-6)
  all <- read_starts(file.path(dir, "sim-1"), arms = "off", by = "start")
  expect_gte(starts$width_s, 4e-9 * stats::median(diff(all$scheduled_ns)) * 0.99)
  expect_lte(length(starts$x), 2^18)
  # what is lost in all slices is what all starts took beyond the median
  lost <- sum(all$global_ns - stats::median(all$global_ns)) / 1e9
  expect_equal(sum(starts$x / 100) * starts$width_s, lost, tolerance = 0.1)
  unlink(file.path(dir, "sim-1", "starts.bin"))
  got <- periodic_series(campaign)
  expect_equal(length(got$series), 2)
  expect_match(got$notes, "starts.bin is missing")
})

test_that("starts that are slow in turn make no period of their beat with the slices", {
  # every third start is slow; 4.1 of them fall into a slice, so that without spreading they beat with it
  from <- (0:39999) / 4.1
  slow <- ifelse(seq_along(from) %% 3 == 0, 0.1, 0)
  sums <- into_slices(from, rep(1, length(from)), slow, 9756)
  sharp <- into_slices(from, rep(0.1, length(from)), slow, 9756)
  expect_lt(stats::sd(sums[10:9700]), 0.5 * stats::sd(sharp[10:9700]))
})
