bad_certificate <- function(dir) {
  file <- list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)[1]
  edit_json(file, function(info) {
    at <- which(vapply(info$generators[[1]]$levels, `[[`, 0, "level_requested_percent") == 5)
    info$generators[[1]]$levels[[at]]$ok <- FALSE
    info$generators[[1]]$levels[[at]]$ratio <- 0.6
    info
  })
}

test_that("a level that the generator did not deliver has no verdict", {
  dir <- local_campaign(pairs = 20, levels_percent = c(0, 1, 5), launches = 2)
  bad_certificate(dir)
  rows <- analyze_campaign(read_campaign(dir), channels = "time")$verdicts
  bad <- rows$level_requested_percent == 5 & (is.na(rows$launch) | rows$launch == "sim-1")
  expect_match(rows$reason[bad], "delivered 60.0 % of the load, outside its tolerance")
  expect_true(all(is.na(rows$p_one_sided[bad])))
  expect_false(any(grepl("tolerance", rows$reason[!bad])))
  expect_match(rows$verdict[bad], "^inconclusive")
})

test_that("launches of different libraries or kernels are judged together only on request", {
  dir <- local_campaign(pairs = 20, levels_percent = 5, launches = 3)
  file <- list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)[2]
  edit_json(file, function(info) {
    info$mpi$version <- "9.9"
    info
  })
  campaign <- read_campaign(dir)
  rows <- analyze_campaign(campaign, channels = "time")$verdicts
  expect_match(rows$reason[rows$scope == scope_campaign], "launches differ in MPI version")
  expect_true(all(is.na(rows$reason[rows$scope == scope_launch])))
  rows <- analyze_campaign(campaign, channels = "time", mixed = TRUE)$verdicts
  expect_true(all(is.na(rows$reason)))
})

test_that("clean and noisy launches on different hosts say nothing of the load", {
  dir <- tempfile("arms")
  on.exit(unlink(dir, recursive = TRUE))
  for (arm in c("off", "on")) {
    simulate_campaign(dir, design = "single", arms = arm, levels_percent = 5, launches = 3, prefix = arm, seed = if (arm == "on") 2 else 1)
  }
  expect_true(is.na(mixed_hosts_between_arms(read_campaign(dir))))
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    if (grepl("on-", file)) edit_json(file, function(info) {
      info$hosts[[1]]$host <- "node2"
      info
    })
  }
  rows <- analyze_campaign(read_campaign(dir), channels = "time")$verdicts
  expect_match(rows$reason, "different hosts")
})

test_that("pairs of several launches are not taken for independent ones", {
  campaign <- read_campaign(local_campaign(pairs = 10, levels_percent = 5, launches = 2))
  expect_error(analyze_campaign(campaign, unit = "pair"), "not independent", class = "nl_error_usage")
  rows <- analyze_campaign(campaign, unit = "launch", channels = "time")$verdicts
  expect_equal(unique(rows$unit_of_inference), "launch")
  one <- read_campaign(local_campaign(pairs = 10, levels_percent = 5))
  expect_error(analyze_campaign(one, unit = "launch"), "one launch says nothing", class = "nl_error_data")
  expect_equal(unique(analyze_campaign(one, unit = "pair", channels = "time")$verdicts$unit_of_inference), "pair")
})

test_that("a clock that goes back is refused with its line", {
  dir <- local_campaign(pairs = 5, levels_percent = 5)
  edit_cells(halves_of(dir), 4, start_ns = "1")
  expect_error(read_campaign(dir), "halves.csv:4: start_ns goes back", class = "nl_error_damaged")
})

test_that("the margin has one answer, and counts all operations together for a fail", {
  campaign <- read_campaign(local_campaign(pairs = 60, levels_percent = c(1, 5)))
  answer <- function(margin) analyze_campaign(campaign, channels = "time", margin = margin)$margin_answer$answer
  expect_equal(answer(0.5), "fail")
  expect_equal(answer(10), "pass")
  expect_equal(answer(7.6), "inconclusive")
  rows <- analyze_campaign(campaign, channels = "time", margin = 4)$verdicts
  expect_equal(rows$margin_verdict, c("below", "above"))
})

test_that("the answer on the margin is that of every row in its table", {
  dir <- tempfile("unlike")
  on.exit(unlink(dir, recursive = TRUE))
  simulate_campaign(dir, operations = "barrier", levels_percent = 1, pairs = 40, slowdown_percent = 0, seed = 1, prefix = "a")
  simulate_campaign(dir, operations = "allreduce", bytes = 8, levels_percent = 1, pairs = 40, slowdown_percent = 20, seed = 2,
                    prefix = "b")
  analysis <- analyze_campaign(read_campaign(dir), channels = "time", margin = 2)
  expect_equal(sort(analysis$verdicts$margin_verdict), c("above", "below"))
  expect_equal(analysis$margin_answer$answer, "fail")
})

# A launch that a look ended, or that was interrupted before one.
sequential <- function(campaign, ended, rounds, alpha_at = numeric(), planned = 100) {
  info <- campaign$launches[[1]]
  info[c("ended", "rows", "pairs_planned")] <- list(ended, nrow(campaign$rows), planned)
  info$sequential <- list(stop_when = "decided", margin_percent = 1, alpha = 0.01, spending = "obrien-fleming", looks_planned = 5,
                          rounds_planned = planned, decided = length(alpha_at) > 0, rows_read = nrow(campaign$rows),
                          looks = Map(function(r, p) list(rounds = r, nominal_p = p), rounds, alpha_at))
  campaign$launches[[1]] <- info
  campaign
}

test_that("a launch ended at an early look is judged at the alpha of that look, by the detector's rule", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 5, seed = 3)
  analysis <- analyze_campaign(sequential(campaign, "complete", 20, 8.4e-9), channels = "time", margin = 1)
  expect_equal(analysis$verdicts$test, "t on batch means")
  expect_equal(analysis$verdicts$margin_verdict, "above")
  expect_equal(analysis$margin_answer$answer, "fail")
  expect_match(format_verdicts(analysis), "1 - 8.4e-09 CI", all = FALSE)
})

test_that("a launch interrupted long before its first look is inconclusive, not an error", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 1, seed = 3)
  analysis <- analyze_campaign(sequential(campaign, "interrupted", numeric(), planned = 2000), channels = "time", margin = 1)
  expect_equal(analysis$margin_answer$answer, "inconclusive")
})

test_that("an adjustment that did nothing says so, and one gap does not switch it off", {
  campaign <- simulated_campaign(pairs = 60, levels_percent = 5, seed = 1)
  plain <- analyze_campaign(campaign, channels = "time")$verdicts
  got <- analyze_campaign(campaign, channels = "time", adjust = "steal")$verdicts
  expect_equal(got$estimate, plain$estimate)
  expect_match(got$estimator_note, "not adjusted for steal, which is unknown or does not vary")
  campaign$rows$operations[5] <- 0
  got <- analyze_campaign(campaign, channels = "time", adjust = "drift")$verdicts
  expect_equal(got$estimator_note, "adjusted for drift")
  expect_false(got$estimate == analyze_campaign(campaign, channels = "time")$verdicts$estimate)
})

test_that("contrasts of launches that must not be judged together are refused, too", {
  campaign <- simulated_campaign(pairs = 20, levels_percent = 5, kinds = c("spin", "cache"), seed = 1, launches = 3)
  campaign$launches[[1]]$version <- "0.0"
  got <- analyze_campaign(campaign, channels = "time")$contrasts
  expect_match(got$reason[got$scope == scope_campaign], "launches differ in noiselab version")
  expect_true(is.na(got$p_holm[got$scope == scope_campaign]))
})

test_that("dropped levels leave no pairs behind that look interrupted", {
  campaign <- keep_levels(read_campaign(local_campaign(pairs = 10, levels_percent = c(0, 1))), 1)
  expect_false(any(grepl("without a partner", analyze_campaign(campaign, channels = "time")$notes)))
})
