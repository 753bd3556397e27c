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
