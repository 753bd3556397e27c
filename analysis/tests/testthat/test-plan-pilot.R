plan_of <- function(...) status_of("noiselab-plan", ...)
plan_list <- function(...) jsonlite::fromJSON(plan_of("--json", ...)$out)

test_that("without a pilot the scatter is an assumption, and is called one", {
  got <- plan_of("--detect", "0.1%", "--op", "alltoall", "--bytes", "2KiB")
  expect_equal(got$status, 0L)
  expect_match(paste(got$out, collapse = " "), "ASSUMED, not +measured")
  expect_true(all(nchar(got$out) <= 98))
  plan <- plan_list("--detect", "0.1", "--op", "alltoall", "--bytes", "2KiB")
  # what the rank interval of 30 s at 1 % had: (1.48 - 0.94) / 2 / qnorm(0.995) * sqrt(1500) = 4.06
  expect_equal(plan$cells$sd, 4)
  expect_equal(plan$cells$n_pairs, plan_pairs(log(1.001), 0.04)$n)
  expect_equal(plan$scatter, "assumed")
  expect_equal(plan$run$measuring_s, plan$cells$n_pairs * 2 * 2 * 0.01)
  expect_equal(plan$run$total_s, plan$cells$n_pairs * 2 * 2 * 0.0103 + 2.5)
  expect_match(plan$command, "--op alltoall --bytes 2048 --levels 0,0.1 --half-period 10ms --seconds")
})

test_that("the assumed figure is that of its table, and between and beyond its points a line of logs", {
  at <- function(half_s) assumed_scatter(half_s) / sqrt(2) * sqrt(half_s) * 100
  at_10_ms <- 4 / sqrt(2) * sqrt(0.01)
  expect_equal(vapply(c(0.001, 0.01, 1, 5), at, 0), c(at_10_ms, at_10_ms, 2.1, 4))
  expect_equal(at(0.1), sqrt(at_10_ms * 2.1))
  expect_gt(at(20), 4)
})

test_that("every operation and level costs pairs of its own", {
  run <- function(ops, levels) plan_list("--detect", "1", "--op", ops, "--levels", levels)$run
  expect_equal(run("barrier,bcast", "0,1,5")$measuring_s, 6 * run("barrier", "1")$measuring_s)
  expect_equal(run("barrier", "0,0.3,1")$levels_percent, c(0, 0.3, 1))
})

test_that("a pilot's own scatter is planned with, and its uncertainty gives the upper figure", {
  dir <- local_campaign(pairs = 60, levels_percent = c(0, 5), operations = c("barrier", "bcast"),
                        bytes = c(0, 64))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  blank <- analysis$pairs$cells$level_requested_percent[analysis$pairs$cell] == 0 &
    analysis$pairs$cells$operation[analysis$pairs$cell] == "barrier"
  # a periodic load is judged by ranks
  sd <- pseudo_median(analysis$differences$time[blank], 0.98)$se * sqrt(60)
  plan <- plan_list("--detect", "0.2", "--pilot", dir, "--op", "barrier", "--half-period", "10ms")
  expect_equal(plan$cells$sd, 100 * sd)
  expect_equal(plan$cells$sd_upper, 100 * sd * sqrt(59 / qchisq(0.2, 59)))
  expect_equal(plan$cells$n_pairs, plan_pairs(log(1.002), sd)$n)
  expect_equal(plan$cells$n_pairs_upper, plan_pairs(log(1.002), plan$cells$sd_upper / 100)$n)
  expect_gt(plan$run$total_upper_s, plan$run$total_s)
  expect_match(paste(plan$notes, collapse = " "), "cannot be promised from one launch")
  expect_match(plan$command, "--levels 0,5")
  expect_equal(plan$scatter, "pilot")
})

test_that("a pilot of several launches plans for launches like these", {
  dir <- local_campaign(pairs = 60, launches = 6, levels_percent = c(0, 1), launch_sd = 0.004)
  plan <- plan_list("--detect", "0.3", "--pilot", dir)
  expect_equal(plan$scope, "launches like these")
  r <- plan$run
  expect_lte(
    detection_limit(sqrt((plan$cells$sd_launch^2 + plan$cells$sd^2 / r$pairs_per_launch) / r$n_launches),
                    r$n_launches - 1),
    100 * log(1.003)
  )
  expect_match(plan$command, if (r$n_launches > 1) "--launches" else "--seconds")
  fixed <- plan_list("--detect", "1", "--pilot", dir, "--launches", "12")
  expect_equal(fixed$run$n_launches, 12)
  expect_equal(plan_list("--detect", "1", "--pilot", dir, "--launches", "1")$scope, "this launch")
  text <- plan_of("--detect", "0.3", "--margin", "0.5", "--pilot", dir)$out
  expect_true(all(nchar(text) <= 98))
  expect_match(text, "show that it is below 0.5 %, if it is 0 %", all = FALSE)
})

test_that("the between-launch part of a plan is that of its launch means", {
  dir <- local_campaign(pairs = 40, launches = 5, levels_percent = 2, launch_sd = 0.02, patterns = "poisson")
  cell <- pilot_cell(read_campaign(dir), "barrier", 0, 2)
  # a load whose bursts vary is planned by the mean, as it is judged
  expect_false(cell$by_ranks)
  got <- pilot_scatter(cell)
  within <- split(cell$d, cell$launch)
  s2 <- mean(vapply(within, var, 0))
  expect_equal(got$sd_launch^2, max(0, var(vapply(within, mean, 0)) - s2 * mean(1 / lengths(within))))
  expect_equal(got$sd^2, s2)
  expect_gt(got$sd_launch_high, got$sd_launch)
  expect_no_match(paste(plan_of("--detect", "1", "--pilot", dir)$out, collapse = " "), "signed-rank")
})

test_that("what is not in the pilot is refused, with what is there", {
  dir <- local_campaign(pairs = 10, levels_percent = 0, operations = c("barrier", "bcast"), bytes = c(0, 64))
  refused <- function(wanted, ...) expect_refused("noiselab-plan", c(...), wanted)
  refused("'reduce' is not in the pilot, which has .*bcast 64 B", "--detect", "1", "--pilot", dir, "--op",
          "reduce")
  refused("--bytes: 128 is not in the pilot", "--detect", "1", "--pilot", dir, "--op", "bcast", "--bytes",
          "128")
  refused("--ranks: 9 is not in the pilot", "--detect", "1", "--pilot", dir, "--ranks", "9")
  refused("the pilot has halves of 10ms .* --half-period 2ms", "--detect", "1", "--pilot", dir,
          "--half-period", "2ms")
  simulate_campaign(dir, pairs = 10, levels_percent = 0, ranks = 3, prefix = "three")
  refused("launches of 2 and 3 ranks: say which", "--detect", "1", "--pilot", dir)
  expect_equal(plan_list("--detect", "1", "--pilot", dir, "--ranks", "3")$cells$ranks, 3)
})

test_that("wrong options get status 2 and one line", {
  wrong <- list(character(), "x", c("--detect", "x"), c("--detect", "0"),
                c("--detect", "1", "--pilot", "no-such-dir"), c("--detect", "1", "--json", "--csv"))
  with_detect <- list(c("--power", "2"), c("--half-period", "10 parsec"), c("--bytes", "12x"),
                      c("--levels", "x"), c("--levels", "1,1"), c("--launches", "0"), c("--op", "a,,b"))
  for (args in c(wrong, lapply(with_detect, function(more) c("--detect", "1", more)))) {
    expect_refused("noiselab-plan", args)
  }
})

test_that(paste0("an effect that takes more than a day is planned, but not within reach; a pilot of one ",
                 "pair, or without scatter, says nothing"), {
  got <- plan_of("--detect", "0.001", "--op", "barrier")
  expect_equal(got$status, 3L)
  expect_match(got$err, "more than a day")
  expect_match(got$out, "^total: [0-9.]+ days", all = FALSE)
  expect_refused("noiselab-plan",
                 c("--detect", "1", "--pilot", local_campaign(pairs = 1, levels_percent = 5)),
                 "1 pair\\(s\\) of this cell", 3L)
  dir <- local_campaign(pairs = 5, levels_percent = 5)
  edit_cells(halves_of(dir), 2:11, wall_ns = 10000000, operations = 5000)
  expect_refused("noiselab-plan", c("--detect", "1", "--pilot", dir), "pairs of the pilot are equal", 3L)
})

test_that("time to start a launch comes from launches that followed each other", {
  dir <- local_campaign(pairs = 5, levels_percent = 5, launches = 3)
  files <- file.path(dir, paste0("sim-", 1:3), "launch.json")
  for (i in 1:3) edit_info(files[i], info$started_utc <- sprintf("2026-01-01T00:00:%02dZ", c(0, 5, 10)[i]))
  campaign <- read_campaign(dir)
  expect_equal(start_to_start(campaign), 5 - 0.1, tolerance = 0.02)
  expect_equal(launch_overhead(campaign), 2e-4)
  # all started at once: nothing is known
  for (id in names(campaign$launches)) campaign$launches[[id]]$started_utc <- "2026-01-01T00:00:00Z"
  expect_true(is.na(start_to_start(campaign)))
})

test_that("times are said as the programs take them, and as people do", {
  expect_equal(format_seconds(c(0.01, 2.5, 1e-4)), c("10ms", "2.5s", "100us"))
  expect_equal(wrap_command("a --b 1 --c 2", 8), c("  a --b 1 \\", "      --c 2"))
})
