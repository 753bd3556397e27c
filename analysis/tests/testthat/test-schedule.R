schedule_in <- function(dir, lines, head = c("# schema: 1", "# experiment: sensitivity", "# seed: 7",
                                             "launch\tset\tnodes\tranks\targuments")) {
  file <- file.path(dir, "schedule.tsv")
  writeLines(c(head, lines), file)
  file
}

planned <- function(ids) paste0(ids, "\t1\t-\t2\t--op\tbarrier\t--levels\t1")

test_that("a schedule is read with its keys and the words of each launch, tabs between them", {
  dir <- local_folder()
  got <- read_schedule(schedule_in(dir, c("a-1\t1\t-\t4\t--op\tbarrier\t--note\ttwo words", "a-2\t-\tn1,n2\t-\t--op\tempty")))
  expect_equal(c(got$keys[["experiment"]], got$keys[["seed"]]), c("sensitivity", "7"))
  expect_equal(got$launches$launch, c("a-1", "a-2"))
  expect_equal(got$launches$set, c(1, NA))
  expect_equal(got$launches$nodes, c(NA, "n1,n2"))
  expect_equal(got$launches$ranks, c(4, NA))
  expect_equal(got$launches$arguments[[1]], c("--op", "barrier", "--note", "two words"))
})

test_that("a damaged schedule is refused with file and line", {
  dir <- local_folder()
  refused <- function(lines, wanted, ..., class = "nl_error_damaged") {
    expect_error(read_schedule(schedule_in(dir, lines, ...)), wanted, class = class)
  }
  refused(c(planned("a"), "b\t1"), "schedule.tsv:6: has 2 fields")
  refused(c(planned("a"), planned("b"), planned("a")), "schedule.tsv:7: launch 'a' is planned twice \\(first in line 5\\)")
  refused(planned("a b"), "schedule.tsv:5: launch is 'a b'")
  refused("a\tx\t-\t2\t--op", "schedule.tsv:5: set is 'x', wanted a whole number")
  refused("a\t1\t-\t1.5\t--op", "schedule.tsv:5: ranks is '1.5'")
  refused(character(), "schedule.tsv:2: the line with the names", head = "# schema: 1")
  refused(planned("a"), "schedule.tsv:2: the columns are", head = c("# schema: 1", "launch\tranks"))
  refused(planned("a"), "schema 9", head = c("# schema: 9", "launch\tset\tnodes\tranks"), class = "nl_error_schema")
  refused(planned("a"), "schema missing", head = "launch\tset\tnodes\tranks", class = "nl_error_schema")
})

test_that("a campaign says how many of its planned launches are complete, and how to resume", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2)
  schedule_in(dir, planned(c("sim-1", "sim-2", "sim-3")))
  campaign <- read_campaign(dir)
  expect_equal(campaign$progress[c("planned", "complete", "unplanned")], data.frame(planned = 3L, complete = 2L, unplanned = 0L))
  said <- paste0("2 of 3 planned launches complete (resume with: noiselab run sensitivity --resume ", dir, ")")
  expect_match(campaign$notes, said, fixed = TRUE, all = FALSE)
  words <- function(...) paste(trimws(c(...)), collapse = " ")
  expect_match(words(format_verdicts(analyze_campaign(campaign, channels = "time"))), said, fixed = TRUE)
  expect_match(page_of(report_analysis(campaign, 0.01)), "2 of 3 planned launches complete", fixed = TRUE)
})

test_that("a launch that was killed or is not readable is not complete, and one that was not planned is said", {
  dir <- local_campaign(pairs = 12, levels_percent = 5, launches = 1)
  simulate_campaign(dir, pairs = 12, levels_percent = 5, prefix = "cut", ended = NA)
  schedule_in(dir, planned(c("cut-1", "none-1")))
  expect_equal(read_campaign(dir)$progress[c("planned", "complete", "unplanned")], data.frame(planned = 2L, complete = 0L, unplanned = 1L))
  expect_match(read_campaign(dir)$notes, "1 launch\\(es\\) are not in its schedule.tsv", all = FALSE)
  schedule_in(dir, planned(c("sim-1", "cut-1")))
  expect_match(read_campaign(dir)$notes, "1 of 2 planned", all = FALSE)
})

test_that("a complete campaign offers nothing to resume, and one without a schedule says nothing", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  expect_equal(nrow(read_campaign(dir)$progress), 0)
  expect_equal(read_campaign(dir)$notes, character())
  schedule_in(dir, planned("sim-1"))
  expect_match(read_campaign(dir)$notes, "1 of 1 planned launches complete$")
})

test_that("what a runner leaves beside the launches is passed over, and interrupted launches can be read by themselves", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  before <- read_campaign(dir)
  dir.create(file.path(dir, "partial"))
  simulate_campaign(file.path(dir, "partial"), pairs = 12, levels_percent = 5, prefix = "cut", ended = "interrupted")
  dir.create(file.path(dir, "claims", "sim-2"), recursive = TRUE)
  simulate_campaign(file.path(dir, "setting-up"), pairs = 12, levels_percent = 5, prefix = "new")
  file.rename(file.path(dir, "setting-up", "new-1"), file.path(dir, ".new-1"))
  unlink(file.path(dir, "setting-up"), recursive = TRUE)
  file.create(file.path(dir, c("slurm-17.out", "job.sbatch")))
  after <- read_campaign(dir)
  expect_equal(names(after$launches), "sim-1")
  expect_equal(after$rows, before$rows)
  expect_equal(after$notes, before$notes)
  expect_equal(names(read_campaign(file.path(dir, "partial"))$launches), "cut-1")
})

test_that("a campaign that has only a schedule so far has no data, and says how to go on", {
  dir <- local_folder()
  schedule_in(dir, planned(c("a", "b")))
  expect_error(read_campaign(dir), "no launch in .*0 of 2 planned launches complete \\(resume with: noiselab run", class = "nl_error_data")
})

test_that("words and comments of any bytes are read, those that are no UTF-8 by their codes", {
  dir <- local_folder()
  file <- file.path(dir, "schedule.tsv")
  writeLines(c("# schema: 1", "# out: M\xfcll", "launch\tset\tnodes\tranks\targuments", "a\t1\t-\t2\t--raw\tM\xfcll\tM\xc3\xbcll"), file,
             useBytes = TRUE)
  got <- read_schedule(file)
  expect_equal(got$keys[["out"]], "M<fc>ll")
  expect_equal(got$launches$arguments[[1]], c("--raw", "M<fc>ll", "M\u00fcll"))
})

test_that("what a campaign was judged by is taken from its schedule, unless something else is given", {
  dir <- local_folder()
  write <- function(...) writeLines(c("# schema: 1", ..., "launch\tset\tnodes\tranks"), file.path(dir, "schedule.tsv"))
  expect_length(campaign_asked(dir), 0)
  write("# margin_percent: -")
  expect_length(campaign_asked(dir), 0)
  write("# margin_percent: 2", "# limits: limits.conf", paste0("# reference: ", dir), "# reference: /nowhere/at/all")
  file.create(file.path(dir, "limits.conf"))
  all <- c("limits", "classes", "reference", "margin")
  got <- capture.output(values <- as_asked(list(json = TRUE), dir, all), type = "message")
  expect_match(got, "'/nowhere/at/all', by which the campaign was judged, is gone")
  expect_equal(values[all], list(limits = file.path(dir, "limits.conf"), classes = NULL, reference = dir, margin = "2"), ignore_attr = TRUE)
  expect_equal(as_asked(list(margin = "5"), dir, all), list(margin = "5"))
  expect_equal(as_asked(list(), dir, "margin"), list(margin = "2"))
  expect_equal(as_asked(list(), c(dir, dir), "margin"), list())
})

test_that("analyze repeats the margin that the campaign was asked for; its status is that of what it is asked itself", {
  dir <- local_campaign(levels_percent = c(0, 5), pairs = 30, base_sd = 0.01)
  expect_equal(status_of("noiselab-analyze", dir)$status, 0)
  writeLines(c("# schema: 1", "# margin_percent: 1", "launch\tset\tnodes\tranks"), file.path(dir, "schedule.tsv"))
  got <- status_of("noiselab-analyze", dir)
  expect_equal(got$status, 0)
  expect_equal(status_of("noiselab-analyze", c("--margin", "1", dir))$status, 1)
  expect_match(paste(got$out, collapse = " "), "Margin of 1 %: fail")
  expect_equal(status_of("noiselab-analyze", c("--channel", "preempted", dir))$status, 0)
})

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
  expect_equal(interim$alpha, 2 * (1 - pnorm(qnorm(0.995) / sqrt(0.5))))
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
