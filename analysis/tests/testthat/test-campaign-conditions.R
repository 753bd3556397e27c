test_that("a load that was absent, ran in the off halves or is unknown has no verdict", {
  dir <- local_campaign(pairs = 20, levels_percent = c(1, 5))
  halves <- data.table::fread(halves_of(dir))
  on <- which(halves$level_requested_percent == 5) + 1
  reason <- function() {
    rows <- analyze_campaign(read_campaign(dir), channels = "time")$verdicts
    expect_true(is.na(rows$reason[rows$level_requested_percent == 1]))
    at <- rows$level_requested_percent == 5
    expect_equal(rows$verdict_because[at], "refused")
    expect_equal(rows$verdict[at], "inconclusive")
    rows$reason[at]
  }
  edit_cells(halves_of(dir), on, level_delivered_percent = 0.01, delivered_ns = 1000)
  expect_match(reason(), "the load was absent: 0.01 % of one CPU delivered for 5 %")
  edit_cells(halves_of(dir), on, level_delivered_percent = "", delivered_ns = "")
  expect_match(reason(), "what the generator delivered is unknown")
  edit_cells(halves_of(dir), on, level_delivered_percent = 5, delivered_ns = 500000)
  edit_cells(halves_of(dir), which(halves$arm == "off") + 1, level_delivered_percent = 4)
  rows <- analyze_campaign(read_campaign(dir), channels = "time")$verdicts
  expect_match(rows$reason, "the load ran in the off halves, too")
})

test_that("launches of different libraries or kernels are judged together only on request", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 5, launches = 3)
  campaign$launches[[2]]$mpi$version <- "9.9"
  rows <- analyze_campaign(campaign, channels = "time")$verdicts
  expect_match(rows$reason[rows$scope == scope_campaign], "launches differ in MPI version")
  expect_true(all(is.na(rows$reason[rows$scope == scope_launch])))
  expect_true(all(is.na(analyze_campaign(campaign, channels = "time", mixed = TRUE)$verdicts$reason)))
})

test_that("clean and noisy launches on different hosts say nothing of the load", {
  campaign <- join_campaigns(lapply(c("off", "on"), function(arm) {
    simulated_campaign(design = "single", arms = arm, levels_percent = 5, launches = 3, prefix = arm,
                       seed = if (arm == "on") 2 else 1)
  }))
  expect_true(is.na(mixed_hosts_between_arms(campaign)))
  for (id in paste0("on-", 1:3)) campaign$launches[[id]]$hosts[[1]]$host <- "node2"
  expect_match(analyze_campaign(campaign, channels = "time")$verdicts$reason, "different hosts")
})

test_that("the answer on the margin is that of every row in its table", {
  of <- function(...) simulated_campaign(levels_percent = 1, pairs = 40, ...)
  campaign <- join_campaigns(list(
    of(operations = "barrier", slowdown_percent = 0, seed = 1, prefix = "a"),
    of(operations = "allreduce", bytes = 8, slowdown_percent = 20, seed = 2, prefix = "b")
  ))
  analysis <- analyze_campaign(campaign, channels = "time", margin = 2)
  expect_equal(sort(analysis$verdicts$margin_verdict), c("above", "below"))
  expect_equal(analysis$margin_answer$answer, "fail")
})

# A launch that a look ended, or that was interrupted before one.
sequential <- function(campaign, ended, rounds, alpha_at = numeric(), planned = 100) {
  info <- campaign$launches[[1]]
  info[c("ended", "rows", "pairs_planned")] <- list(ended, nrow(campaign$rows), planned)
  info$sequential <- list(stop_when = "decided", margin_percent = 1, alpha = 0.01,
                          spending = "obrien-fleming", looks_planned = 5, rounds_planned = planned,
                          decided = length(alpha_at) > 0, rows_read = nrow(campaign$rows),
                          looks = Map(function(r, p) list(rounds = r, nominal_p = p), rounds, alpha_at))
  campaign$launches[[1]] <- info
  campaign
}

test_that("a launch ended at an early look is judged at the alpha of that look, by the detector's rule", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 5, seed = 3)
  analysis <- analyze_campaign(sequential(campaign, "complete", 20, 8.4e-9), channels = "time", margin = 1)
  expect_equal(c(analysis$verdicts$test, analysis$verdicts$margin_verdict), c("t on batch means", "above"))
  expect_equal(analysis$margin_answer$answer, "fail")
  expect_match(format_verdicts(analysis), "1 - 1.7e-08 CI", all = FALSE)
})

test_that("a launch interrupted long before its first look is inconclusive, not an error", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 1, seed = 3)
  analysis <- analyze_campaign(sequential(campaign, "interrupted", numeric(), planned = 2000),
                               channels = "time", margin = 1)
  expect_equal(analysis$margin_answer$answer, "inconclusive")
})

test_that("dropped levels leave no pairs behind that look interrupted", {
  campaign <- keep_levels(read_campaign(local_campaign(pairs = 10, levels_percent = c(0, 1))), 1)
  expect_false(any(grepl("without a partner", analyze_campaign(campaign, channels = "time")$notes)))
})

# A quota of CPU time: time that nobody took.

# A campaign in which the quota stopped the ranks for these percents of their time, by arm.
stopped <- function(off, on, ...) {
  campaign <- simulated_campaign(pairs = 40, levels_percent = 1, seed = 2, ...)
  share <- ifelse(campaign$rows$arm == "off", off, on) + 0.2 * sin(seq_len(nrow(campaign$rows)))
  campaign$rows$throttled_ns <- pmax(0, share) / 100 * campaign$rows$wall_ns * campaign$rows$ranks
  campaign
}

test_that("time that a quota took is said as such, and is not taken for other tasks'", {
  campaign <- stopped(off = 30, on = 30)
  rows <- campaign$rows
  campaign$rows$preempted_ns_sum <- rows$throttled_ns
  campaign$launches[[1]]$hosts[[1]]$cpu_quota <- list(cpus = 0.5, quota_ns = 5e7, period_ns = 1e8, above = 1L,
                                                      group = "/sys/fs/cgroup/job")
  said <- busy_sentence(campaign)
  expect_match(said,
               "a CPU quota of 0.5 CPUs (/sys/fs/cgroup/job) stopped the ranks for 30 % of the off halves",
               fixed = TRUE)
  expect_no_match(said, "other tasks")
  expect_null(quota_sentence(campaign))
  # what other tasks took beside is still theirs
  campaign$rows$preempted_ns_sum <- rows$throttled_ns + 0.05 * rows$wall_ns * rows$ranks
  expect_match(busy_sentence(campaign), "other tasks took 5 %")
})

test_that("a load that makes the quota stop the ranks more is said", {
  expect_match(
    quota_sentence(stopped(off = 10, on = 14)),
    paste0("^the CPU quota stops the ranks with 1 % by \\[\\+(3\\.[0-9]+|4\\.0*), \\+(4\\.[0-9]+|5\\.0*)\\] ",
           "points of the ranks' time more: that part of")
  )
  expect_match(quota_sentence(stopped(off = 14, on = 10)), "less: that part")
  expect_null(quota_sentence(stopped(off = 0, on = 0) |> (\(x) { x$rows$throttled_ns <- NA_real_; x })()))
  campaign <- stopped(off = 0, on = 0)
  campaign$rows$throttled_ns <- NULL
  expect_null(quota_sentence(campaign))
  expect_null(busy_sentence(campaign))
})

test_that("its column is read, and may be empty or missing", {
  dir <- local_campaign(pairs = 4, levels_percent = 1)
  expect_true(is.na(throttled_percent(read_campaign(dir)$rows)))
  edit_lines(halves_of(dir), function(x) c(paste0(x[1], ",throttled_ns"), paste0(x[-1], c(",", ",1000"))))
  rows <- read_campaign(dir)$rows
  expect_equal(sort(unique(rows$throttled_ns)), 1000)
  expect_true(throttled_percent(rows) > 0)
})
