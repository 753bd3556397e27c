heads <- c("# schema: 1", "# experiment: sensitivity", "# seed: 7", "launch\tset\tnodes\tranks\targuments")
schedule_in <- function(dir, lines, head = heads) {
  file <- file.path(dir, "schedule.tsv")
  writeLines(c(head, lines), file, useBytes = TRUE)
  file
}

planned <- function(ids) paste0(ids, "\t1\t-\t2\t--op\tbarrier\t--levels\t1")

test_that(paste0("a schedule is read with its keys and the words of each launch, tabs between them, also ",
                 "those that are no UTF-8"), {
  dir <- local_folder()
  got <- read_schedule(schedule_in(
    dir, c("a-1\t1\t-\t4\t--op\tbarrier\t--note\ttwo words", "a-2\t-\tn1,n2\t-\t--raw\tM\xfcll\tM\xc3\xbcll"),
    c("# out: M\xfcll", heads)
  ))
  expect_equal(got$keys[c("experiment", "seed", "out")],
               c(experiment = "sensitivity", seed = "7", out = "M<fc>ll"))
  expect_equal(got$launches[1:4],
               data.frame(launch = c("a-1", "a-2"), set = c(1, NA), nodes = c(NA, "n1,n2"), ranks = c(4, NA)))
  expect_equal(got$launches$arguments,
               list(c("--op", "barrier", "--note", "two words"), c("--raw", "M<fc>ll", "M\u00fcll")))
})

test_that("a damaged schedule is refused with file and line", {
  dir <- local_folder()
  refused <- function(lines, wanted, ..., class = "nl_error_damaged") {
    expect_error(read_schedule(schedule_in(dir, lines, ...)), wanted, class = class)
  }
  refused(c(planned("a"), "b\t1"), "schedule.tsv:6: has 2 fields")
  refused(c(planned("a"), planned("b"), planned("a")),
          "schedule.tsv:7: launch 'a' is planned twice \\(first in line 5\\)")
  refused(planned("a b"), "schedule.tsv:5: launch is 'a b'")
  refused("a\tx\t-\t2\t--op", "schedule.tsv:5: set is 'x', wanted a whole number")
  refused(character(), "schedule.tsv:2: the line with the names", head = "# schema: 1")
  refused(planned("a"), "schedule.tsv:2: the columns are", head = c("# schema: 1", "launch\tranks"))
  refused(planned("a"), "schema 9", head = c("# schema: 9", "launch\tset\tnodes\tranks"),
          class = "nl_error_schema")
  refused(planned("a"), "schema missing", head = "launch\tset\tnodes\tranks", class = "nl_error_schema")
})

test_that(paste0("a campaign says how many of its planned launches are complete, how to resume, and what ",
                 "was not planned"), {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2)
  expect_equal(nrow(read_campaign(dir)$progress), 0)
  counts <- function(ids) {
    schedule_in(dir, planned(ids))
    unlist(read_campaign(dir)$progress[c("planned", "complete", "unplanned")], use.names = FALSE)
  }
  expect_equal(counts(c("sim-1", "sim-2")), c(2, 2, 0))
  expect_match(read_campaign(dir)$notes, "2 of 2 planned launches complete$")
  expect_equal(counts(c("sim-1", "sim-2", "sim-3")), c(3, 2, 0))
  said <- paste0("2 of 3 planned launches complete (resume with: noiselab run sensitivity --resume ", dir,
                 ")")
  campaign <- read_campaign(dir)
  expect_match(campaign$notes, said, fixed = TRUE, all = FALSE)
  expect_match(paste(trimws(format_verdicts(analyze_campaign(campaign, channels = "time"))), collapse = " "),
               said, fixed = TRUE)
  expect_match(page_of(report_analysis(campaign, 0.01)), "2 of 3 planned launches complete", fixed = TRUE)
  # one that was killed is not complete
  simulate_campaign(dir, pairs = 12, levels_percent = 5, prefix = "cut", ended = NA)
  expect_equal(counts(c("sim-1", "cut-1")), c(2, 1, 1))
  expect_match(read_campaign(dir)$notes, "1 launch\\(es\\) are not in its schedule.tsv", all = FALSE)
  # nothing so far
  empty <- local_folder()
  schedule_in(empty, planned(c("a", "b")))
  expect_error(read_campaign(empty),
               "no launch in .*0 of 2 planned launches complete \\(resume with: noiselab run",
               class = "nl_error_data")
})

test_that(paste0("what a runner leaves beside the launches is passed over, and interrupted launches can be ",
                 "read by themselves"), {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  before <- read_campaign(dir)
  simulate_campaign(file.path(dir, "partial"), pairs = 12, levels_percent = 5, prefix = "cut",
                    ended = "interrupted")
  dir.create(file.path(dir, "claims", "sim-2"), recursive = TRUE)
  file.copy(file.path(dir, "partial", "cut-1"), dir, recursive = TRUE)
  file.rename(file.path(dir, "cut-1"), file.path(dir, ".new-1"))
  file.create(file.path(dir, "slurm-17.out"))
  expect_equal(read_campaign(dir)[c("rows", "notes")], before[c("rows", "notes")])
  expect_equal(names(read_campaign(file.path(dir, "partial"))$launches), "cut-1")
})

test_that("what a campaign was judged by is taken from its schedule, unless something else is given", {
  dir <- local_folder()
  write <- function(...) schedule_in(dir, character(), c(..., heads))
  expect_length(campaign_asked(dir), 0)
  write("# margin_percent: -")
  expect_identical(names(campaign_asked(dir)), "analysis")
  write("# margin_percent: 2", "# limits: limits.conf", paste0("# reference: ", dir),
        "# reference: /nowhere/at/all")
  file.create(file.path(dir, "limits.conf"))
  all <- c("limits", "classes", "reference", "margin")
  got <- capture.output(values <- as_asked(list(json = TRUE), dir, all), type = "message")
  expect_match(got, "'/nowhere/at/all', by which the campaign was judged, is gone")
  expect_equal(values[all],
               list(limits = file.path(dir, "limits.conf"), classes = NULL, reference = dir, margin = "2"),
               ignore_attr = TRUE)
  expect_equal(as_asked(list(margin = "5"), dir, all), list(margin = "5"))
  expect_equal(as_asked(list(), c(dir, dir), "margin"), list())
})

test_that(paste0("analyze repeats the margin that the campaign was asked for; its status is that of what it ",
                 "is asked itself"), {
  dir <- local_campaign(levels_percent = c(0, 5), pairs = 30, base_sd = 0.01)
  schedule_in(dir, character(), c("# margin_percent: 1", heads))
  got <- status_of("noiselab-analyze", dir)
  expect_equal(got$status, 0)
  expect_match(paste(got$out, collapse = " "), "Margin of 1 %: fail")
  expect_equal(status_of("noiselab-analyze", c("--margin", "1", dir))$status, 1)
  expect_equal(status_of("noiselab-analyze", c("--channel", "preempted", dir))$status, 0)
})

schedule_of <- function(dir, ids, ...) schedule_in(dir, planned(ids), c(..., heads))

test_that("the looks at a campaign are those of its schedule", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 4)
  looks <- function(n) {
    if (n > 0) schedule_of(dir, paste0("sim-", seq_len(n)))
    campaign_looks(read_campaign(dir), 0.01)
  }
  expect_equal(looks(0)[c("looks", "alpha", "note")],
               list(looks = NA_real_, alpha = 0.01, note = character()))
  expect_equal(looks(4)[c("looks", "planned", "present", "share", "alpha", "note")],
               list(looks = 1, planned = 4L, present = 4, share = 1, alpha = 0.01, note = character()))
  more <- looks(2)
  expect_equal(more[c("looks", "alpha")], list(looks = 3, alpha = 0.01 / 9))
  expect_match(
    more$note,
    "^look 3 at this campaign: 2 launches were planned, 4 are there; .* alpha 0.00111 \\(0.01 over 3\\^2\\)$"
  )
  interim <- looks(8)
  expect_equal(interim[c("share", "alpha")],
               list(share = 0.5, alpha = 2 * (1 - pnorm(qnorm(0.995) / sqrt(0.5)))))
  expect_match(interim$note, "^interim look: 4 of 8 planned launches are there; .* alpha 0.00027")
})

test_that("verdicts over launches use what the looks leave of alpha, those of single launches all of it", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 4)
  schedule_of(dir, paste0("sim-", 1:3))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time", margin = 1)
  across <- analysis$verdicts$scope %in% scopes_across
  expect_equal(unique(analysis$verdicts$alpha[across]), 0.0025)
  expect_equal(unique(analysis$verdicts$alpha[!across]), 0.01)
  row <- analysis$verdicts[
    analysis$verdicts$scope == scope_campaign & analysis$verdicts$level_requested_percent == 5,
  ]
  expect_equal(log1p(row$ci_low / 100), row$raw_estimate - stats::qt(1 - 0.0025, 3) * row$raw_full_se)
  expect_match(format_verdicts(analysis), "look 2 at this campaign", all = FALSE)
  expect_equal(json_of(dir, "--channel", "time")$looks,
               list(looks = 2, planned = 3L, present = 4, alpha = 0.0025))
})

test_that("a campaign that was planned when another had ended is a further look, one beside it is none", {
  of <- function(prefix, seed, ...) {
    local_campaign(pairs = 12, levels_percent = c(0, 5), launches = 2, prefix = prefix, seed = seed, ...,
                   env = parent.frame(2))
  }
  first <- of("first", 1)
  second <- of("second", 2)
  other <- of("other", 3, operations = "bcast")
  created <- function(dir, name, year) {
    schedule_of(dir, paste0(name, "-", 1:2), sprintf("# created_utc: %d-01-02T00:00:00Z", year))
  }
  created(first, "first", 2000)
  created(second, "second", 2000)
  created(other, "other", 2099)
  expect_equal(campaign_looks(read_campaign(c(first, second)))$looks, 1)
  expect_equal(campaign_looks(read_campaign(c(first, other)))$looks, 1)
  created(second, "second", 2099)
  got <- campaign_looks(read_campaign(c(second, first)))
  expect_equal(got$looks, 2)
  expect_match(got$note, "in 2 schedules made one after the other")
  # Launches from elsewhere, too, are more than was planned.
  unlink(file.path(second, "schedule.tsv"))
  expect_equal(campaign_looks(read_campaign(c(first, second)))$looks, 3)
})

test_that("where each launch has one arm a set is added at a time", {
  campaign <- simulated_campaign(design = "launches", launches = 4, levels_percent = c(0, 5), pairs = 1)
  expect_equal(launches_per_look(campaign), 3)
  campaign$progress <- data.frame(dir = "none", created_utc = NA, planned = 9, complete = 9, unplanned = 3)
  campaign$paths <- character()
  expect_equal(campaign_looks(campaign)$looks, 2)
  for (id in names(campaign$launches)) campaign$launches[[id]]$options$set <- NULL
  expect_equal(campaign_looks(campaign)$looks, 4)
})

test_that("of looks planned after each launch each has its part of alpha, single launches and agents too", {
  dir <- local_agent(pairs = 12, launches = 3, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                     seed = 3)
  ids <- list.files(dir)
  schedule_of(dir, c(ids, "a-4", "a-5"), "# looks: 5")
  campaign <- read_campaign(dir, arms = "any")
  expect_equal(campaign_looks(campaign)[c("looks", "planned", "present", "alpha")],
               list(looks = 3, planned = 5, present = 3, alpha = 0.002))
  report <- agent_report(campaign, margin = 1)
  expect_equal(c(unique(report$analysis$verdicts$alpha), report$alpha), c(0.002, 0.002))
  expect_match(paste(report$notes, collapse = "\n"),
               "look after each of 5 launches was planned: tests use alpha 0.002")
  # ended at the third look, with those that were left out of the plan, and a single launch
  schedule_of(dir, ids, "# looks: 5")
  unlink(file.path(dir, ids[2:3]), recursive = TRUE)
  one <- agent_report(read_campaign(dir, arms = "any"), margin = 1)
  expect_equal(unique(one$analysis$verdicts[c("alpha", "scope")]),
               data.frame(alpha = 0.002, scope = scope_launch), ignore_attr = TRUE)
})
