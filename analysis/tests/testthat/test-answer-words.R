words_of <- function(analysis) gsub(" +", " ", paste(format_answer(analysis), collapse = " "))
calm <- function(...) {
  do.call(simulated_campaign, c(quiet, list(pairs = 60, operations = c("barrier", "bcast"), seed = 3, ...)))
}
answer_of <- function(..., channels = "time") words_of(analyze_campaign(calm(...), channels = channels))
both <- c("time", "preempted")
# Every channel.
delayedAssign("whole", analyze_campaign(calm(levels_percent = c(0, 1, 5))))

test_that(paste0("the answer begins the text, and says what each operation is sensitive to, with its effect ",
                 "and interval"), {
  analysis <- whole
  text <- format_verdicts(analysis)
  expect_match(text[1], "^answer \\(this launch, alpha 0.01\\)")
  expect_true(all(nchar(text) <= 100 | grepl("scope:", text)))
  answer <- words_of(analysis)
  of <- function(name) {
    row <- subset(analysis$verdicts, channel == "time" & operation == name & level_requested_percent == 1)
    expect_equal(row$verdict, "detected")
    list(percent_of(row$estimate), format_effect(row$ci_low, FALSE), format_effect(row$ci_high, FALSE))
  }
  wanted <- do.call(
    sprintf,
    c(
      paste0("Both operations are sensitive to a load of 1 %% of one CPU: 1 %% slows barrier by %s (98 %% ",
             "interval %s to %s) and bcast by %s (%s to %s)."),
      of("barrier"),
      of("bcast")
    )
  )
  expect_match(answer, wanted, fixed = TRUE)
  expect_match(answer, "At 1 % and above, ranks measurably lose CPU time")
  expect_match(answer, "Verdicts rest on the pseudo-median .*typical half")
  expect_no_match(answer, "BROKEN|CONTROL|busy")
})

test_that(paste0("what was not detected stands with its limit, and a control of 5 % that was missed is a ",
                 "broken set-up"), {
  said <- answer_of(levels_percent = c(0, 1, 5), slowdown_percent = 0)
  expect_match(
    said,
    paste0("No level was detected on barrier, bcast; a slowdown of [0-9.]+ % \\([a-z]+\\) or [0-9.]+ % ",
           "\\([a-z]+\\) would have been detected with probability 0.95")
  )
  expect_match(
    said,
    paste0("BROKEN SET-UP: not even 5 % was detected on barrier and bcast.*was the load delivered \\([0-9. ",
           "to]+ %.*ranks on the loaded CPUs")
  )
  # the ranks lost time to it all the same
  expect_match(
    answer_of(levels_percent = c(0, 1, 5), slowdown_percent = 0, channels = both),
    "POSITIVE CONTROL MISSED: 5 % was not detected by time on barrier and bcast, though it reached the ranks"
  )
  # too few pairs for a verdict at this level are no proof
  analysis <- analyze_campaign(calm(levels_percent = c(0, 5), slowdown_percent = 0), channels = "time")
  analysis$verdicts$n_pairs <- 8
  expect_match(control_sentence(analysis), "BROKEN")
  analysis$verdicts$alpha <- 1e-3
  expect_null(control_sentence(analysis))
  analysis$verdicts$n_pairs <- 20
  analysis$verdicts$reason <- "too few"
  expect_null(control_sentence(analysis))
  # no control: a level of 1 % may be too small to be seen
  expect_no_match(answer_of(levels_percent = c(0, 1), slowdown_percent = 0), "BROKEN|CONTROL")
})

test_that("what is detected alone, and what was missed below, are said beside the level that counts", {
  analysis <- analyze_campaign(calm(levels_percent = c(0, 0.5, 1, 5)), channels = "time")
  barrier <- analysis$verdicts$operation == "barrier"
  level <- analysis$verdicts$level_requested_percent
  analysis$verdicts$familywise[barrier & level == 1] <- FALSE
  analysis$verdicts$verdict[barrier & level == 0.5] <- "not detected"
  analysis$verdicts$detection_limit[barrier & level == 0.5] <- 0.25
  said <- paste(answer_sentences(analysis), collapse = " ")
  expect_match(said, "5 % slows barrier by [^)]*; 1 % alone\\)")
  expect_match(
    said,
    paste0("Smaller levels were not detected on barrier; a slowdown of 0.250 % would have been detected ",
           "with probability 0.95"),
    fixed = TRUE
  )
})

test_that("how busy the machine was is said where it matters, with the tasks that the look saw", {
  campaign <- calm(levels_percent = c(0, 5))
  expect_null(busy_sentence(campaign))
  off <- campaign$rows$arm == "off"
  campaign$rows$preempted_ns_sum[off] <- 0.06 * campaign$rows$wall_ns[off]
  expect_match(busy_sentence(campaign), "other tasks took 3 % of the ranks' CPUs")
  campaign$rows$rank_steal_ns_max <- 0.04 * campaign$rows$wall_ns
  expect_match(busy_sentence(campaign), "the hypervisor took 4 % in the off halves")
  campaign$launches[[1]]$before <- list(
    look_s = 1.5,
    quiet = FALSE,
    nodes = list(list(
      host = "a",
      cpus = list(
        list(cpu = 0, busy_percent = 40, steal_percent = 2,
             tasks = list(list(name = "cc1", pid = 7, percent = 40))),
        list(cpu = 1, busy_percent = 0, steal_percent = 0, tasks = list())
      )
    ))
  )
  expect_match(busy_sentence(campaign),
               "before the run a rank's CPU was busy for 42 % of the time \\(cc1\\).*stop other work")
  idle <- calm(levels_percent = c(0, 5))
  expect_null(busy_sides(idle, idle))
  expect_match(
    busy_sides(idle, campaign),
    paste0("^the machine was busy: B: before the run .*\\(cc1\\).*; this raises the detection limits: stop ",
           "other work")
  )
  expect_equal(lengths(regmatches(said <- busy_sides(campaign, campaign), gregexpr("stop other work", said))),
               1)
})

test_that("launches that differ are no reason to run five where there are five", {
  said <- function(launches) {
    heterogeneity_warning(analyze_campaign(calm(levels_percent = 5, launches = launches, launch_sd = 0.05),
                                           channels = "time"))
  }
  expect_match(said(3), "the answer is about these launches; for others run 5 launches or more")
  expect_match(said(6), "the answer is about launches like these, and as wide as they scatter$")
})

test_that("a reason stands once, with the rows that it concerns", {
  rows <- data.frame(channel = rep(c("time", "base"), each = 3), level_requested_percent = rep(c(0, 1, 5), 2))
  expect_equal(with_rows(rows, c(NA, "few", NA, NA, NA, NA), "inconclusive"),
               "inconclusive: time at 1 %: few")
  expect_equal(with_rows(rows, c("few", "few", "few", NA, "few", NA), "inconclusive"),
               "inconclusive: time; base at 1 %: few")
  expect_equal(with_rows(rows, rep("few", 6), "inconclusive"), "inconclusive: all: few")
  limits <- sprintf("only an effect above %d %% would be detected: measure for longer", 51:56)
  expect_equal(with_rows(rows, limits, "inconclusive"),
               "inconclusive: all: only an effect above the limit would be detected: measure for longer")
  expect_equal(with_rows(rows, rep(NA_character_, 6), "inconclusive"), character())
})

test_that("each channel is explained in one line where its table is printed", {
  text <- gsub(" +", " ", paste(format_verdicts(whole), collapse = " "))
  for (name in c("time", "preempted", "detour", "base", "steal")) {
    expect_equal(length(strsplit(text, channels[[name]]$question, fixed = TRUE)[[1]]), 2)
  }
})
