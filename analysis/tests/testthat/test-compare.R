# Two campaigns that differ in nothing but the machine's noise, unless said otherwise.
two_sides <- function(..., a = list(), b = list(), env = parent.frame()) {
  common <- utils::modifyList(list(pairs = 8, launches = 4, levels_percent = c(0, 5), base_sd = 0.01),
                              list(...))
  side <- function(more, seed, prefix) {
    do.call(local_campaign,
            c(utils::modifyList(c(common, list(seed = seed, prefix = prefix)), more), list(env = env)))
  }
  list(a = side(a, 11, "before"), b = side(b, 12, "after"))
}

compare_dirs <- function(dirs, ...) {
  compare_campaigns(read_campaign(dirs$a, "any"), read_campaign(dirs$b, "any"), ...)
}
# Nothing writes into these.
delayedAssign("plain", two_sides(launches = 2, env = globalenv()))

# The campaign with its launches at these seconds after the epoch of the test.
set_starts <- function(campaign, seconds, length_s = 5) {
  utc <- function(s) format(.POSIXct(1767225600 + s, "UTC"), "%Y-%m-%dT%H:%M:%SZ")
  campaign$launches <- Map(
    function(info, s) utils::modifyList(info, list(started_utc = utc(s), ended_utc = utc(s + length_s))),
    campaign$launches, seconds
  )
  campaign
}

# From the files, without the package: means over the off halves of each launch.
by_hand <- function(dir, value) {
  files <- list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)
  vapply(files, function(file) {
    rows <- utils::read.csv(file)
    mean(value(rows[rows$arm == "off", ]))
  }, 0, USE.NAMES = FALSE)
}

row_of <- function(got, measure, level = 0) {
  got$rows[got$rows$measure == measure & got$rows$level_requested_percent == level, ]
}

test_that("clean time and shares are compared as t.test compares launch means", {
  dirs <- two_sides(b = list(operation_ns = 2100))
  got <- compare_dirs(dirs, margin_percent = 1)
  log_time <- lapply(dirs, by_hand, function(rows) log(rows$wall_ns / rows$operations))
  welch <- t.test(log_time$b, log_time$a, conf.level = 0.99)
  row <- row_of(got, "time")
  expect_equal(row$p_two_sided, welch$p.value)
  expect_equal(log1p(c(row$ci_low, row$ci_high) / 100), as.numeric(welch$conf.int))
  expect_equal(log1p(row$effect / 100), mean(log_time$b) - mean(log_time$a))
  expect_equal(log1p(c(row$bound_low, row$bound_high) / 100),
               as.numeric(t.test(log_time$b, log_time$a, conf.level = 0.98)$conf.int))
  expect_equal(c(row$value_a, row$value_b), exp(vapply(log_time, mean, 0)), ignore_attr = TRUE)
  expect_equal(c(row$n_a, row$n_b), c(4, 4))
  expect_equal(row$verdict, "slower")
  # One row in the family: Holm changes nothing, and both limits are that of each direction at 0.005.
  expect_equal(row$p_holm, row$p_two_sided)
  expect_equal(log1p(row$detection_limit / 100),
               detection_limit(welch$stderr, welch$parameter[[1]], 0.005, 0.95))
  preempted <- lapply(dirs, by_hand, function(rows) 100 * rows$preempted_ns_sum / rows$wall_ns)
  row <- row_of(got, "preempted")
  expect_equal(row$effect, mean(preempted$b) - mean(preempted$a))
  expect_equal(row$p_two_sided, t.test(preempted$b, preempted$a)$p.value)
  # Two rows in the family: the limit holds for the smaller of the alphas of Holm.
  expect_equal(row$p_holm, p.adjust(got$rows$p_two_sided[got$rows$family == "share"], "holm")[1])
  expect_equal(row$detection_limit, detection_limit(row$se, row$df, 0.0025, 0.95))
})

test_that("the sensitivity is compared by the mean log ratios of launches", {
  dirs <- two_sides(a = list(slowdown_percent = c(0, 5)), b = list(slowdown_percent = c(0, 9)), pairs = 25,
                    launches = 3)
  got <- compare_dirs(dirs)
  means <- lapply(dirs, function(dir) {
    rows <- analyze_campaign(read_campaign(dir), channels = c("time", "preempted"))
    within <- rows$verdicts[
      rows$verdicts$scope == "this launch" & rows$verdicts$level_requested_percent == 5,
    ]
    slow <- within$mean[within$channel == "time"]
    list(slow = log1p(slow / 100), amplification = slow / within$mean[within$channel == "preempted"])
  })
  row <- row_of(got, "slowdown", 5)
  welch <- t.test(means$b$slow, means$a$slow)
  expect_equal(row$p_two_sided, welch$p.value)
  expect_equal(row$effect, 100 * expm1(mean(means$b$slow) - mean(means$a$slow)))
  expect_equal(row$verdict, "more sensitive")
  expect_equal(c(row$value_a, row$value_b), c(5, 9), tolerance = 0.1)
  row <- row_of(got, "amplification", 5)
  expect_equal(row$p_two_sided, t.test(means$b$amplification, means$a$amplification)$p.value)
  expect_equal(row$verdict, "larger")
  # Level 0 is no treatment.
  expect_false(any(got$rows$family == "slowdown" & got$rows$level_requested_percent == 0))
})

test_that("quantiles of the clean operation times come from the histograms", {
  dirs <- two_sides(b = list(operation_ns = 2400))
  got <- compare_dirs(dirs)
  expect_equal(row_of(got, "p50")$effect, 20, tolerance = 0.1)
  expect_equal(row_of(got, "p50")$verdict, "slower")
})

test_that("a quantile that too few operations reach has none, and says so", {
  dirs <- two_sides(launches = 2)
  for (file in list.files(dirs$a, "hist.csv", recursive = TRUE, full.names = TRUE)) {
    edit_cells(file, seq_along(readLines(file))[-1], count = 1)
  }
  row <- row_of(compare_dirs(dirs), "p99.9")
  expect_true(is.na(row$value_a) && is.na(row$p_two_sided))
  expect_match(row$reason, "no value on side A: fewer than 1000 operations for p99.9")
  file.remove(list.files(dirs$b, "hist.csv", recursive = TRUE, full.names = TRUE))
  expect_match(row_of(compare_dirs(dirs), "p50")$reason,
               "no value on side B: single operations were not timed")
})

test_that("one launch is inconclusive", {
  dirs <- two_sides(launches = 1)
  got <- compare_dirs(dirs, margin_percent = 5)
  time <- row_of(got, "time")
  expect_match(time$reason, "one launch of A and of B has it: there is no scatter between launches")
  expect_true(all(is.na(time[c("p_two_sided", "p_holm", "ci_low", "detection_limit", "bound_high")])))
  expect_true(is.finite(time$effect))
  expect_equal(got$answer, "inconclusive")
  expect_match(row_of(compare_campaigns(read_campaign(plain$a), read_campaign(dirs$b)), "slowdown", 5)$reason,
               "one launch of B")
})

test_that("launches that agree exactly have no scatter to compare with", {
  dirs <- two_sides(launches = 2, pairs = 3)
  for (dir in unlist(dirs)) for (file in list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)) {
    edit_cells(file, seq_along(readLines(file))[-1], wall_ns = 1e7, operations = 5000)
  }
  row <- row_of(compare_dirs(dirs), "time")
  expect_match(row$reason, "all launches agree exactly")
  expect_equal(row$effect, 0)
})

test_that("Holm's correction is over the rows of a family, and the words follow it", {
  rows <- data.frame(family = "time", measure = "time", operation = letters[1:3], bytes = 0, ranks = 2,
                     mode = "loop", kind = NA_character_, pattern = NA_character_, placement = NA_character_,
                     phase = NA_character_, level_requested_percent = 0, unit = "%", value_a = 1, value_b = 1,
                     estimate = c(0.028, -0.05, 0), se = 0.01, df = Inf, n_a = 9, n_b = 9,
                     scope = scope_systems, reason = NA_character_)
  got <- decide_comparison(rows, list(alpha = 0.01, power = 0.95, margin = NULL))
  p <- 2 * pnorm(-c(2.8, 5, 0))
  expect_equal(got$p_two_sided, p)
  expect_equal(got$p_holm, p.adjust(p, "holm"))
  expect_lt(p[1], 0.01)
  limit <- 100 * expm1(0.01 * (qnorm(1 - 0.01 / 6) + qnorm(0.95)))
  expect_equal(got$detection_limit, rep(limit, 3))
  expect_equal(got$verdict, c("slower", "faster", "no difference found"))
  expect_equal(got$familywise, c(FALSE, TRUE, NA))
})

test_that("a margin has three answers", {
  dirs <- two_sides(b = list(operation_ns = 2100), base_sd = 0.002)
  a <- read_campaign(dirs$a)
  b <- read_campaign(dirs$b)
  answer <- function(margin) {
    got <- compare_campaigns(a, b, margin)
    c(got$answer, row_of(got, "time")$margin_verdict)
  }
  expect_equal(answer(1), c("fail", "slower by more than the margin"))
  expect_equal(answer(20), c("pass", "within the margin"))
  expect_equal(answer(5), c("inconclusive", "inconclusive"))
  turned <- compare_campaigns(b, a, 1)
  expect_equal(c(turned$answer, row_of(turned, "time")$margin_verdict),
               c("pass", "faster by more than the margin"))
  # Only the clean time is asked about, and without a margin nothing is.
  expect_true(all(is.na(turned$rows$margin_verdict[turned$rows$family != "time"])))
  expect_true(is.na(compare_campaigns(a, b)$answer))
})

test_that("campaigns that do not overlap in time are said to", {
  sides <- lapply(two_sides(launches = 3), read_campaign)
  got <- compare_campaigns(set_starts(sides$a, c(0, 30, 40)), set_starts(sides$b, c(100, 200, 300)))
  expect_match(got$notes, "do not overlap in time (55 s between them)", fixed = TRUE, all = FALSE)
})

test_that("what differs between the two is listed", {
  dirs <- two_sides(launches = 2, b = list(half_period_ns = 2e7))
  for (file in list.files(dirs$b, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$hosts[[1]]$kernel <- "6.9"
      info$mpi$version <- "5.0"
      info$cells <- list(list(operation = "barrier", bytes = 0, detour_threshold_ns = 2000))
      info
    })
  }
  for (file in list.files(dirs$a, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$cells <- list(list(operation = "barrier", bytes = 0, detour_threshold_ns = 1300))
      info
    })
  }
  got <- compare_dirs(dirs)$differs
  expect_setequal(got$what,
                  c("kernel", "MPI version", "option half_period_ns", "detour threshold, barrier 0 B"))
  expect_equal(unlist(got[got$what == "kernel", ], use.names = FALSE), c("kernel", "simulated", "6.9"))
  expect_equal(unlist(got[got$what == "detour threshold, barrier 0 B", -1], use.names = FALSE),
               c("1300 ns", "2000 ns"))
  expect_equal(nrow(compare_dirs(plain)$differs), 0)
})

test_that("only what is on both sides is compared; the rest is listed", {
  dirs <- two_sides(
    launches = 2,
    operations = c("barrier", "bcast"),
    bytes = c(0, 8),
    kinds = c("spin", "cache"),
    b = list(operations = c("barrier", "scan"), bytes = c(0, 8), levels_percent = c(0, 5, 10),
             kinds = c("spin", "membw"))
  )
  got <- compare_dirs(dirs)
  expect_equal(unique(got$rows$operation), "barrier")
  expect_equal(unique(got$rows$kind[got$rows$family == "slowdown"]), "spin")
  expect_match(got$notes, "only in A: bcast 8 B, 2 ranks", fixed = TRUE, all = FALSE)
  expect_match(got$notes, "only in B: scan 8 B, 2 ranks", fixed = TRUE, all = FALSE)
  expect_match(got$notes, "treated only in B: barrier 0 B, 2 ranks at 10 %", fixed = TRUE, all = FALSE)
})

test_that("what cannot be compared is refused in one line", {
  a <- read_campaign(plain$a)
  expect_error(compare_campaigns(a, a), "in A and in B", class = "nl_error_usage")
  copy <- local_folder()
  file.copy(list.files(plain$a, full.names = TRUE), copy, recursive = TRUE)
  expect_error(compare_campaigns(a, read_campaign(copy)), "a copy", class = "nl_error_usage")
  other <- two_sides(launches = 2, operations = "scan")
  expect_error(compare_campaigns(a, read_campaign(other$b)),
               "nothing in common: A has barrier 0 B, 2 ranks; B has scan 0 B",
               class = "nl_error_usage")
  a$rows <- a$rows[a$rows[["arm"]] == "on", ]
  expect_error(compare_campaigns(a, read_campaign(plain$b)), "no row of the arm off", class = "nl_error_data")
})

test_that("loops are not compared with synchronised starts, unless both sides have both", {
  starts <- local_starts(launches = 2, prefix = "starts", seed = 5)
  loops <- local_campaign(pairs = 4, launches = 2, levels_percent = 5, prefix = "loops", seed = 6)
  expect_error(compare_campaigns(read_campaign(loops), read_campaign(starts)),
               "by loop in A and by window in B", class = "nl_error_usage")
  again <- local_starts(launches = 2, prefix = "starts-again", seed = 7)
  loops_again <- local_campaign(pairs = 4, launches = 2, levels_percent = 5, prefix = "loops-again", seed = 8)
  got <- compare_campaigns(read_campaign(c(loops, starts)), read_campaign(c(loops_again, again)))
  expect_equal(got$rows$mode[got$rows$family == "time"], c("loop", "window"))
})

test_that("launches of one arm each are compared by their clean ones", {
  here <- environment()
  off <- function(prefix, seed) {
    local_campaign(pairs = 1, launches = 3, design = "single", arms = "off", levels_percent = 1,
                   prefix = prefix, seed = seed, env = here)
  }
  dirs <- c(off("a", 1), off("b", 2))
  got <- compare_campaigns(read_campaign(dirs[1], "any"), read_campaign(dirs[2], "any"))
  expect_setequal(got$rows$family, c("time", "tail", "share"))
  expect_equal(c(row_of(got, "time")$n_a, row_of(got, "time")$n_b), c(3, 3))
})

test_that("a side that grew beyond its plan has less of alpha left", {
  dirs <- two_sides(launches = 3)
  ids <- basename(list.dirs(dirs$b, recursive = FALSE))
  writeLines(
    c("# schema: 1", "launch\tset\tnodes\tranks\targuments", paste0(ids[1:2], "\t-\t-\t2\t--op\tbarrier")),
    file.path(dirs$b, "schedule.tsv")
  )
  got <- compare_campaigns(read_campaign(dirs$a), read_campaign(dirs$b))
  expect_equal(got$alpha, 0.0025)
  expect_match(got$notes[1], "^B: look 2 at this campaign")
})

test_that("where both sides ran the same agent the margin is of what it costs", {
  coarse_walks()
  made <- function(slowdown_percent, seed) {
    dir <- local_folder(parent.frame(2))
    simulate_agent_campaign(dir, name = "top", operations = "barrier", pairs = 20, launches = 3,
                            slowdown_percent = slowdown_percent, agent_burst_ns = 1e6, seed = seed)
    rename_launches(dir, paste0("-", seed))
    dir
  }
  old <- made(1, 1)
  new <- made(4, 2)
  answer <- function(a, b, margin) compare_campaigns(read_campaign(a), read_campaign(b), margin)$answer
  expect_equal(answer(old, new, 8), "pass")
  expect_equal(answer(new, old, 1), "pass")
  said <- status_of("noiselab-compare", "--margin", "1", old, new)
  expect_equal(said$status, 1L)
  expect_match(paste(said$out, collapse = " "), "Margin of 1 % of the agent's slowdown: fail")
})
