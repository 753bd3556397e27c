overlap_campaign <- function(alone, both, work, launch = "a", arm = "off") {
  times <- c(alone, both, work)
  names <- rep(c("ibcast", "ibcast+work", "work:ibcast"), c(length(alone), length(both), length(work)))
  pair <- unlist(lapply(list(alone, both, work), seq_along))
  n <- length(times)
  list(rows = data.table::data.table(
    launch = rep(launch, n), operation = names, bytes = rep(8, n), ranks = rep(2, n), pair = pair, order = rep(0, n),
    arm = rep(arm, n), level_requested_percent = rep(0, n), kind = factor(rep(NA, n)), pattern = factor(rep(NA, n)),
    placement = factor(rep(NA, n)), phase = factor(rep(NA, n)), wall_ns = 100 * times, operations = rep(100, n)
  ), starts_hist = data.table::data.table(), dirs = "x", launches = list(), notes = character())
}

test_that("the overlap share is that computed by hand, negative where it is", {
  got <- overlap_shares(overlap_campaign(c(10, 11, 9, 10), c(14, 15, 13, 14), c(8, 9, 7, 8)))
  # both - work is 6 in every round, alone 10 on average
  expect_equal(got$overlap, 1 - 6 / 10)
  expect_equal(c(got$alone_ns, got$both_ns, got$work_ns), c(10, 14, 8))
  expect_lt(got$overlap_low, 0.4)
  expect_gt(got$overlap_high, 0.4)
  expect_equal(got$n, 4)
  worse <- overlap_shares(overlap_campaign(c(10, 11, 9, 10), c(21, 22, 20, 21), c(8, 8, 8, 8)))
  expect_equal(worse$overlap, 1 - 13 / 10)
  expect_match(format_overlap(worse, 0.99, NULL), "below 0", all = FALSE)
  same <- overlap_shares(overlap_campaign(rep(10, 4), rep(12, 4), rep(8, 4)))
  expect_equal(unlist(same[c("overlap", "overlap_low", "overlap_high")], use.names = FALSE), rep(0.6, 3))
})

test_that("a machine that drifts does not widen the interval", {
  slow <- seq(0, 100, length.out = 30)
  jitter <- with_seed(1, stats::rnorm(30, 0, 0.1))
  got <- overlap_shares(overlap_campaign(10 + jitter, 14 + slow + jitter, 8 + slow))
  expect_equal(got$overlap, 0.4, tolerance = 0.01)
  expect_lt(got$overlap_high - got$overlap_low, 0.05)
})

test_that("a part that is missing, one round and an interrupted last round are handled", {
  got <- overlap_shares(overlap_campaign(numeric(), c(14, 15), c(8, 9)))
  expect_true(is.na(got$overlap))
  expect_equal(got$reason, "no half of the operation alone")
  expect_equal(overlap_shares(overlap_campaign(10, 14, 8))$reason, "fewer than 3 pairs")
  got <- overlap_shares(overlap_campaign(c(10, 11, 9, 10, 500), c(14, 15, 13, 14), c(8, 9, 7, 8, 8)))
  expect_equal(got$overlap, 0.4)
  expect_equal(nrow(overlap_shares(list(rows = overlap_campaign(10, 14, 8)$rows[1, ]))), 0)
})

test_that("several launches are the unit, and the median of single starts stands beside", {
  dir <- local_starts(operations = c("ibcast", "ibcast+work", "work:ibcast"), operation_ns = c(4000, 6000, 4000), pairs = 8,
                      launches = 3, levels_percent = 0, half_period_ns = 2e5)
  got <- overlap_shares(read_campaign(dir))
  expect_equal(sum(got$scope == "launches like these"), 2)
  expect_equal(nrow(got), 2 + 3 * 2)
  across <- got[got$scope == "launches like these" & got$arm == "off", ]
  expect_equal(across$overlap, mean(got$overlap[got$scope == "this launch" & got$arm == "off"]))
  expect_equal(across$n, 3)
  expect_equal(got$median_overlap, rep(0.5, 8), tolerance = 0.15)
  out <- status_of("noiselab-analyze", "overlap", dir)
  expect_equal(out$status, 0L)
  expect_match(out$out, "ibcast +0 off", all = FALSE)
  expect_equal(nrow(jsonlite::fromJSON(status_of("noiselab-analyze", "overlap", "--json", dir)$out)$rows), 8)
})
