# An analysis whose rows are made to say what a test needs.
analysis_with <- function(change, ...) {
  campaign <- do.call(
    simulated_campaign,
    utils::modifyList(
      c(quiet,
        list(pairs = 40, levels_percent = c(0, 0.5, 1, 5), operations = c("barrier", "bcast"), seed = 1)),
      list(...)
    )
  )
  analysis <- analyze_campaign(campaign, channels = "time")
  analysis$verdicts <- change(analysis$verdicts)
  analysis
}

test_that("a row's outcome is one of a closed set", {
  rows <- data.frame(verdict = c("detected", "detected", "not detected", "inconclusive"),
                     familywise = c(TRUE, FALSE, FALSE, FALSE))
  expect_equal(row_outcome(rows), c("detected", "detected alone", "not detected", "inconclusive"))
  expect_true(all(row_outcome(rows) %in% outcomes))
})

test_that(paste0("the smallest level is that with all families counted together, and what is smaller alone ",
                 "stands beside it"), {
  facts <- answer_facts(analysis_with(function(v) {
    v$familywise[v$operation == "bcast" & v$level_requested_percent <= 1] <- FALSE
    v$verdict[v$operation == "barrier" & v$level_requested_percent < 5] <- "not detected"
    v$p_one_sided[v$operation == "barrier" & v$level_requested_percent < 5] <- 0.3
    v$detection_limit[v$operation == "barrier"] <- c(9, 2, 3, 4)[match(
      v$level_requested_percent[v$operation == "barrier"], c(0, 0.5, 1, 5)
    )]
    v
  }))
  expect_equal(facts$outcome, c("detected", "detected"))
  expect_equal(facts$level_percent, c(5, 5))
  # of the levels that were not detected, not of the placebo
  expect_equal(facts$limit, c(3, NA))
})

test_that("what is detected alone only is no headline without that word, in the report as on the terminal", {
  analysis <- analysis_with(function(v) {
    v$familywise[v$level_requested_percent > 0] <- FALSE
    v
  })
  answer <- paste(report_answer(analysis), collapse = " ")
  expect_match(answer, "0.5 % slows barrier by [^)]*; alone\\)", ignore.case = TRUE)
  html <- as.character(htmltools::tagList(verdict_tags(analysis)))
  expect_match(html, "\u25b3 detected \\(alone\\)<")
  expect_false(grepl("\u25b2 detected<", html))
  expect_match(html, "Detected (alone): at alpha in its own", fixed = TRUE)
  expect_match(format_verdicts(analysis), "detected \\(alone\\)", all = FALSE)
})

test_that("rows that were refused are inconclusive, each reason counted once", {
  analysis <- analysis_with(function(v) {
    at <- v$operation == "bcast" & v$level_requested_percent > 0
    v$reason[at] <- "the load ran in the off halves"
    v$reason[v$operation == "barrier" & v$level_requested_percent == 0.5] <- "too few pairs"
    v$verdict[!is.na(v$reason)] <- "inconclusive"
    v
  })
  facts <- answer_facts(analysis)
  expect_equal(facts$outcome, c("detected", "inconclusive"))
  answer <- paste(report_answer(analysis), collapse = " ")
  expect_match(answer, "bcast cannot be judged \\(the load ran in the off halves\\)", ignore.case = TRUE)
  why <- as.character(refused_fold(analysis))
  expect_match(
    why,
    "The load ran in the off halves: .*bcast by time at 0.5 %, bcast by time at 1 %, bcast by time at 5 %"
  )
  expect_match(why, "Too few pairs: .*barrier by time at 0.5 %")
  expect_false(grepl("bcast was not", answer))
  treated <- analysis_with(function(v) {
    v$reason[v$kind == "cache"] <- "no load"
    v$verdict[v$kind == "cache"] <- "inconclusive"
    v
  }, kinds = c("spin", "cache"), operations = "barrier")
  expect_match(slower_sentence(treated), "inconclusive")
})

test_that("nothing detected has its limit, and a campaign of the placebo alone has no family", {
  facts <- answer_facts(analysis_with(function(v) {
    v$verdict <- "not detected"
    v$p_one_sided <- 0.4
    v$familywise <- FALSE
    v
  }))
  expect_equal(facts$outcome, rep("not detected", 2))
  expect_true(all(facts$limit > 0))
  placebo <- analyze_campaign(simulated_campaign(pairs = 20, levels_percent = 0, seed = 1))
  expect_null(answer_facts(placebo))
  expect_match(slower_sentence(placebo), "Times were not analyzed")
})

test_that("a treatment without a level is told by its name", {
  analysis <- analyze_campaign(
    do.call(simulated_campaign,
            c(quiet, list(external = "agent", slowdown_percent = 5, pairs = 40, seed = 1))),
    channels = "time"
  )
  facts <- answer_facts(analysis)
  expect_equal(facts$level_percent, Inf)
  expect_match(slower_sentence(analysis), "With agent on the slowdown is")
})

test_that("a campaign of placebos alone has its answer: what it differs by, and what would have been seen", {
  analysis <- analyze_campaign(simulated_campaign(pairs = 40, levels_percent = 0, seed = 7))
  text <- paste(format_answer(analysis), collapse = " ")
  row <- analysis$verdicts[
    analysis$verdicts$channel == "time" & analysis$verdicts$level_requested_percent == 0,
  ]
  expect_match(text, "the placebo (level 0, no load in either half) differs by", fixed = TRUE)
  expect_match(text, paste0("a slowdown of ", plain(row$detection_limit[1]), " %"), fixed = TRUE)
  loaded <- analyze_campaign(simulated_campaign(pairs = 40, levels_percent = c(0, 3), seed = 7))
  expect_no_match(paste(format_answer(loaded), collapse = " "), "the placebo (level 0", fixed = TRUE)
})
