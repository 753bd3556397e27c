test_that("halves give their middle times and the log time per operation", {
  dir <- local_campaign(pairs = 20, levels_percent = c(0, 5))
  campaign <- read_campaign(dir)
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
  dir <- local_starts(raw = "starts.bin", pairs = 40, half_period_ns = 1e6)
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
