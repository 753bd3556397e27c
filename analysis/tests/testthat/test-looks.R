schedule_of <- function(dir, ids, created = NULL) {
  writeLines(c("# schema: 1", "# experiment: sensitivity", if (!is.null(created)) paste("# created_utc:", created),
               "launch\tset\tnodes\tranks\targuments", paste0(ids, "\t-\t-\t2\t--op\tbarrier")), file.path(dir, "schedule.tsv"))
}

test_that("the looks at a campaign are those of its schedule", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 4)
  looks <- function() campaign_looks(read_campaign(dir), 0.01)
  free <- looks()
  expect_true(is.na(free$looks) && free$alpha == 0.01 && length(free$note) == 0)
  schedule_of(dir, paste0("sim-", 1:4))
  whole <- looks()
  expect_equal(whole[c("looks", "planned", "present", "share", "alpha")],
               list(looks = 1, planned = 4L, present = 4, share = 1, alpha = 0.01))
  expect_equal(whole$note, character())
  schedule_of(dir, paste0("sim-", 1:2))
  more <- looks()
  expect_equal(more$looks, 3)
  expect_equal(more$alpha, 0.01 / 9)
  expect_match(more$note, "^look 3 at this campaign: 2 launches were planned, 4 are there; .* alpha 0.00111 \\(0.01 over 3\\^2\\)$")
  schedule_of(dir, paste0("sim-", 1:8))
  interim <- looks()
  expect_equal(interim$share, 0.5)
  expect_equal(interim$alpha, spending_bounds(c(0.5, 1), 0.01)$alpha_spent[1])
  expect_match(interim$note, "^interim look: 4 of 8 planned launches are there; .* alpha 0.00027")
})

test_that("verdicts over launches use what the looks leave of alpha, those of single launches all of it", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 4)
  schedule_of(dir, paste0("sim-", 1:3))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time", margin = 1)
  across <- analysis$verdicts$scope %in% scopes_across
  expect_equal(unique(analysis$verdicts$alpha[across]), 0.0025)
  expect_equal(unique(analysis$verdicts$alpha[!across]), 0.01)
  row <- analysis$verdicts[analysis$verdicts$scope == scope_campaign & analysis$verdicts$level_requested_percent == 5, ]
  expect_equal(log1p(row$ci_low / 100), row$raw_estimate - stats::qt(1 - 0.0025, 3) * row$raw_full_se)
  expect_match(format_verdicts(analysis), "look 2 at this campaign", all = FALSE)
  json <- json_of(dir, "--channel", "time")
  expect_equal(json$looks, list(looks = 2, planned = 3L, present = 4, alpha = 0.0025))
  schedule_of(dir, paste0("sim-", 1:4))
  expect_false(any(grepl("look", analyze_campaign(read_campaign(dir), channels = "time")$notes)))
  json <- json_of(local_campaign(pairs = 12), "--channel", "time")
  expect_true(is.na(json$looks$looks) || is.null(json$looks$looks))
})

test_that("a campaign that was planned when another had ended is a further look, one beside it is none", {
  first <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2, prefix = "first")
  second <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2, prefix = "second", seed = 2)
  other <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2, prefix = "other", operations = "bcast", seed = 3)
  last <- max(vapply(read_campaign(first)$launches, `[[`, "", "ended_utc"))
  schedule_of(first, paste0("first-", 1:2), "2000-01-01T00:00:00Z")
  schedule_of(second, paste0("second-", 1:2), "2000-01-02T00:00:00Z")
  schedule_of(other, paste0("other-", 1:2), "2099-01-02T00:00:00Z")
  expect_equal(campaign_looks(read_campaign(c(first, second)))$looks, 1)
  expect_equal(campaign_looks(read_campaign(c(first, other)))$looks, 1)
  schedule_of(second, paste0("second-", 1:2), "2099-01-01T00:00:00Z")
  got <- campaign_looks(read_campaign(c(second, first)))
  expect_equal(got$looks, 2)
  expect_match(got$note, "in 2 schedules made one after the other")
  # Launches from elsewhere, too, are more than was planned.
  unlink(file.path(second, "schedule.tsv"))
  expect_equal(campaign_looks(read_campaign(c(first, second)))$looks, 3)
})

test_that("where each launch has one arm a set is added at a time", {
  campaign <- simulated_campaign(design = "launches", launches = 4, levels_percent = c(0, 5), pairs = 1)
  expect_length(campaign$launches, 12)
  expect_equal(launches_per_look(campaign), 3)
  campaign$progress <- data.frame(dir = "none", created_utc = NA, planned = 9, complete = 9, unplanned = 3)
  campaign$paths <- character()
  expect_equal(campaign_looks(campaign)$looks, 2)
  campaign$launches <- lapply(campaign$launches, function(info) {
    info$options$set <- NULL
    info
  })
  expect_equal(campaign_looks(campaign)$looks, 4)
})

test_that("adding launches until something is found finds no more than alpha says", {
  set.seed(1)
  n <- 20000
  planned <- 5
  x <- matrix(stats::rnorm(n * 15), n)
  found <- list(full = rep(FALSE, n), spent = rep(FALSE, n))
  for (k in planned:15) {
    mean <- rowMeans(x[, 1:k])
    t <- mean / sqrt(rowSums((x[, 1:k] - mean)^2) / (k - 1) / k)
    campaign <- structure(list(launches = vector("list", k), paths = character(), rows = data.frame(launch = "a", arm = c("off", "on")),
                               progress = data.frame(dir = "none", created_utc = NA, planned = planned, complete = planned, unplanned = k - planned)),
                          class = "nl_campaign")
    found$full <- found$full | t >= stats::qt(0.99, k - 1)
    found$spent <- found$spent | t >= stats::qt(1 - campaign_looks(campaign, 0.01)$alpha, k - 1)
  }
  expect_gt(mean(found$full), 0.03)
  expect_lt(mean(found$spent), 0.013)
})

test_that("of looks planned after each launch each has its part of alpha, single launches and agents too", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 12, launches = 3, operations = "barrier", bytes = 0, agent_burst_ns = 5e5, seed = 3)
  ids <- sort(basename(list.dirs(dir, recursive = FALSE)))
  plan <- function(ids, looks) writeLines(c("# schema: 1", "# experiment: agent", "# created_utc: 2026-01-01T00:00:00Z", sprintf("# looks: %d", looks),
                                            "launch\tset\tnodes\tranks\targuments", paste0(ids, "\t-\t-\t2\t--seconds\t1s")), file.path(dir, "schedule.tsv"))
  plan(c(ids, "a-4", "a-5"), 5)
  campaign <- read_campaign(dir, arms = "any")
  looks <- campaign_looks(campaign)
  expect_equal(looks[c("looks", "planned", "present", "alpha")], list(looks = 3, planned = 5, present = 3, alpha = 0.002))
  report <- agent_report(campaign, margin = 1)
  expect_equal(unique(report$analysis$verdicts$alpha), 0.002)
  expect_equal(report$alpha, 0.002)
  expect_match(paste(report$notes, collapse = "\n"), "look after each of 5 launches was planned: tests use alpha 0.002")
  # ended at the third look, with those that were left out of the plan
  plan(ids, 5)
  expect_equal(campaign_looks(read_campaign(dir, arms = "any"))$alpha, 0.002)
  unlink(file.path(dir, ids[2:3]), recursive = TRUE)
  one <- agent_report(read_campaign(dir, arms = "any"), margin = 1)
  expect_equal(unique(one$analysis$verdicts$alpha), 0.002)
  expect_equal(unique(one$analysis$verdicts$scope), scope_launch)
})
