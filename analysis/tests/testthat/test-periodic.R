# A launch whose raw file holds starts every 10 us that take 2 us, 20 us more at every tick of 4 ms, and 1
# ms more once in 100 ms, 37 ms after time zero.
burst_campaign <- function(tick = "250 Hz, stopped when idle", seconds = 2, env = parent.frame()) {
  dir <- local_starts(raw = "starts.bin", pairs = 20, env = env)
  launch <- file.path(dir, "sim-1")
  edit_info(file.path(launch, "launch.json"), info$hosts[[1]]["tick"] <- list(tick))
  at <- seq(0, seconds * 1e9 - 1, by = 1e4)
  took <- 2000 + round(with_seed(1, stats::rexp(length(at), 1 / 200)))
  took <- took + 20000 * (at %% 4e6 < 1e4)
  burst <- at %% 1e8 >= 3.7e7 & at %% 1e8 < 3.7e7 + 1e4
  took[burst] <- took[burst] + 1e6
  # a start cannot begin before the one before it has ended
  keep <- rep(TRUE, length(at))
  for (i in which(took > 1e4)) keep[i + seq_len(ceiling(took[i] / 1e4) - 1)] <- FALSE
  keep <- keep[seq_along(at)]
  at <- at[keep]
  took <- took[keep]
  raw <- raw_index(file.path(launch, "starts.bin"), read_launch_json(file.path(launch, "launch.json")))
  header <- readBin(raw$file, "raw", raw$start)
  none <- matrix(0, length(at), 2)
  con <- file(raw$file, "wb")
  writeBin(header, con)
  writeBin(raw_block(0, 0, 0, 0, 1, 0, at, none, none, cbind(took, took)), con)
  close(con)
  dir
}

test_that("an agent and the kernel's tick are found in the starts, with duty, cost and phase", {
  campaign <- read_campaign(burst_campaign())
  got <- periodic_noise(campaign)
  starts <- got[got$series == "starts" & is.na(got$reason), ]
  agent <- starts[which.min(abs(starts$period_s - 0.1)), ]
  expect_equal(agent$period_s, 0.1, tolerance = 1e-4)
  expect_equal(agent$mark, "")
  expect_equal(agent$duty, 0.01, tolerance = 0.3)
  expect_equal(agent$cost_percent, 1, tolerance = 0.1)
  expect_equal(agent$phase_s, 0.037, tolerance = 0.02)
  expect_lt(agent$fap, 1e-6)
  expect_gt(agent$harmonics, 20)
  tick <- starts[starts$mark == "tick", ]
  expect_equal(nrow(tick), 1)
  expect_equal(tick$period_s, 0.004, tolerance = 1e-4)
  # 20 us of 4 ms; a box is not quite what a burst spread over two slices looks like
  expect_equal(tick$cost_percent, 0.5, tolerance = 0.3)
  # too short for the halves
  expect_match(got$reason[got$series == "time" & got$source == "tick"], "longer than a third of the span")
})

# A campaign of design blocks whose off halves are slower, by a factor, in a share of each period.
slow_campaign <- function(period_s, duty, factor, pairs = 400, env = parent.frame()) {
  dir <- local_campaign(pairs = pairs, levels_percent = 5, design = "blocks", env = env)
  file <- halves_of(dir)
  rows <- as.data.frame(data.table::fread(file, na.strings = "", integer64 = "double"))
  at <- rows$arm == "off" & ((rows$start_ns / 1e9 / period_s) %% 1) < duty
  rows$wall_ns[at] <- round(rows$wall_ns[at] * factor)
  data.table::fwrite(rows, file, scipen = 50)
  dir
}

test_that("a period of the halves is found and described, and one that was asked for is not found twice", {
  dir <- slow_campaign(0.5, 0.3, 1.05)
  got <- periodic_noise(read_campaign(dir))
  time <- got[got$series == "time", ]
  expect_equal(time$source[1], "found")
  expect_equal(time$period_s[1], 0.5, tolerance = 0.005)
  expect_lt(abs(time$duty[1] - 0.3), 0.15)
  expect_lt(abs(time$cost_percent[1] - 1.5), 0.8)
  expect_equal(time$n[1], 400)
  asked <- periodic_noise(read_campaign(dir), periods = c(0.5, 100))
  time <- asked[asked$series == "time" & asked$source == "asked", ]
  expect_lt(time$p_fold[1], 0.01)
  expect_equal(time$period_se_s[1], 0)
  expect_match(time$reason[2], "longer than a third")
  expect_equal(sum(asked$series == "time" & asked$source == "found" & abs(asked$period_s - 0.5) < 0.01), 0)
  # a multiple of it is told as such, and the true one found
  asked <- periodic_noise(read_campaign(dir), periods = 1)
  time <- asked[asked$series == "time" & is.na(asked$reason), ]
  expect_match(time$note[1], "a multiple of 500 ms")
  expect_equal(time$period_s[2], 0.5, tolerance = 0.005)
})

test_that("nothing periodic has no numbers but limits", {
  got <- periodic_noise(simulated_campaign(pairs = 100, levels_percent = 5), periods = 0.3)
  expect_equal(got$source, rep(c("asked", "search"), 2))
  expect_true(all(is.na(got[numbers_of_rows])))
  expect_true(all(got$limit_percent > 0))
  expect_match(got$reason[1], "not detected at 0.01; a cost of")
  expect_match(got$reason[2], "would have been detected")
  expect_lte(max(nchar(all_lines(periodic_view(got, 0.01, "dir"), periodic_parts(got), NULL))), 98)
})

test_that("periods are marked with what they may come from", {
  known <- list(tick_s = 0.004, load_s = 0.01, sampling_s = c(0.08))
  expect_equal(vapply(c(0.004, 0.002, 0.01, 0.08, 0.3, NA), period_mark, "", known = known, span = 10),
               c("tick", "tick", "load", "sampling", "", ""))
  expect_equal(period_mark(0.01, list(load_s = NULL), 10), "")
  expect_equal(tick_period(list(hosts = list(list(tick = "250 Hz, stopped when idle")))), 1 / 250)
  expect_null(tick_period(list(hosts = list(list(tick = NULL)))))
  expect_null(tick_period(list(hosts = list(list(tick = "100 Hz"), list(tick = "250 Hz")))))
})

test_that("times on the command line have units", {
  expect_equal(period_option(c("1s,100ms", "250us", "1.5ms", "20ns")), c(1, 0.1, 2.5e-4, 0.0015, 2e-8))
  expect_null(period_option(NULL))
  for (bad in c("10", "10x", "ms", "-1s", "0s", "", "1s,,2s")) {
    expect_error(period_option(bad), "--period", class = "nl_error_usage")
  }
})

test_that("the front end prints text and JSON, and refuses what it does not know", {
  dir <- slow_campaign(0.5, 0.3, 1.05)
  out <- status_of("noiselab-analyze", "periodic", "--all", dir, "--period", "200ms", "--period=300ms")
  expect_equal(out$status, 0L)
  expect_match(out$out, "time +50[01]|time +49[89]", all = FALSE)
  expect_match(out$out, "300 ms: ", all = FALSE)
  expect_lte(max(nchar(out$out)), 98)
  expect_equal(json_of("periodic", dir)$periods$series[1], "time")
  expect_match(status_of("noiselab-analyze", "periodic", dir, "--arm", "no")$err, "--arm: 'no' is not an arm")
  expect_equal(status_of("noiselab-analyze", "periodic", dir, "--period", "1x")$status, 2L)
  expect_equal(status_of("noiselab-analyze", dir, "--period", "1s")$status, 2L)
  off <- local_campaign(pairs = 30, levels_percent = 5, design = "blocks")
  edit_lines(halves_of(off), function(x) x[c(1, grep(",on,", x))])
  edit_info(file.path(off, "sim-1", "launch.json"), {
    info["rows"] <- list(NULL)
    info["ended"] <- list(NULL)
  })
  expect_equal(status_of("noiselab-analyze", "periodic", off)$status, 3L)
  expect_equal(status_of("noiselab-analyze", "periodic", off, "--arm", "on")$status, 0L)
})

test_that("aliases lie at the distance from the next multiple of the sampling rate", {
  expect_equal(aliases_of((0:99) / 100, c(10, 60, 130, 199)), c(40, 30, 1))
  expect_equal(length(aliases_of(with_seed(1, cumsum(stats::runif(100))) / 100, 60)), 0)
  expect_equal(aliases_of(1, 60), numeric())
})
