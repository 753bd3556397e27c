# The answers about agents: by the one rule, in words, tables, JSON and exit status.

# On/off knows the slowdown of 0.5 % to some 0.7 only, its bursts to 0.05.
short_campaign <- function(env = parent.frame(), ...) {
  dir <- local_folder(env)
  simulate_agent_campaign(dir, pairs = 12, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                          slowdown_percent = 0.5, seed = 3, ...)
  add_agent_slices(dir, 500)
}

delayedAssign("short", short_campaign(globalenv()))

flat <- function(lines) gsub(" +", " ", paste(lines, collapse = " "))

test_that("the figure by bursts comes first everywhere: sentence, table, JSON, report", {
  dir <- short
  said <- status_of("noiselab-analyze", "agent", dir)
  expect_match(
    said$out[1],
    paste0("^collectd at 100 ms slows barrier by 0\\.50[0-9]* % \\(0\\.4[0-9]+ to 0\\.[56][0-9]+\\) through ",
           "its bursts; ")
  )
  expect_match(flat(said$out), "operation slowdown % 99 % interval by .* barrier \\+0\\.50[0-9] .* bursts")
  expect_lte(length(said$out), 24)
  # no sentence twice, and no other figure before it
  expect_equal(flat(status_of("noiselab-analyze", dir)$out[1:2]), flat(said$out[1:2]))
  report <- agent_report(read_campaign(dir, arms = "any"))
  expect_equal(report$answers[c("lead", "case", "outcome")],
               data.frame(lead = "bursts", case = "open", outcome = "detected"))
  expect_match(report_answer(report$analysis)[1], "through its bursts")
  # and so does the section below the box, before it says what time alone tells
  analysis <- report$analysis
  analysis$agent <- report
  slower <- slower_sentence(analysis)
  expect_match(slower, "through its bursts.*by time alone.*the slowdown is")
})

test_that(paste0("a pass by bursts needs what was not seen and what lies beyond inside the margin, a fail ",
                 "only the bursts"), {
  coarse_walks()
  dir <- short
  status <- function(margin) {
    status_of("noiselab-analyze", "agent", dir, "--margin", margin)
  }
  open <- status("1%")
  expect_equal(open$status, 3L)
  expect_match(
    flat(open$out),
    paste0("Margin of 1 %: inconclusive, upper bounds: recorded bursts 0\\.6[0-9]+ %, unrecorded bursts ",
           "[0-9.]+ %, other effects 1\\.[0-9]+ %")
  )
  expect_match(flat(open$out), "undecided: measuring for [0-9.]+ (s|min|h) in total decides")
  above <- status("0.3%")
  expect_equal(above$status, 1L)
  expect_match(flat(above$out), "Margin of 0.3 %: fail, an effect is above it, by its bursts.")
  # two and a half seconds do not exclude rare long bursts; what is asked changes no figure
  expect_equal(status("8%")$status, 3L)
  expect_equal(status("20%")$status, 0L)
  figures <- function(margin) {
    got <- jsonlite::fromJSON(paste(
      status_of("noiselab-analyze", "agent", dir, "--json", if (!is.null(margin)) c("--margin", margin))$out,
      collapse = "\n"
    ))
    got$answers[c("value", "low", "high", "beyond", "beyond_low", "beyond_high", "beyond_most", "bursts",
                  "whole", "whole_low", "whole_high", "unseen", "limit")]
  }
  for (margin in c("0.3%", "5%", "12%", "60%")) {
    expect_equal(figures(margin), figures(NULL))
  }
})

test_that("the words of the seven cases", {
  analysis <- list(
    campaign = list(launches = list(),
                    rows = data.frame(arm = "off", preempted_ns_sum = 9e8, wall_ns = 1e9, ranks = 2)),
    interruption_ns = 7.4e5
  )
  exact <- function(x, se) figure_of_t(x, se, Inf)
  words <- function(bursts, whole, beyond = NULL, taken = NULL, ...) {
    got <- agent_rule(bursts, whole, beyond, agree = 0.1)
    row <- data.frame(kind = "X", operation = "barrier", bytes = 0, ranks = 2, got, state = "measured",
                      n_bursts = 240, n_seen = 240, watched_s = 31.3, unseen = 0.84, by_quick = FALSE,
                      limit = 22.1, reason = NA_character_, whole_reason = NA_character_, alpha = 0.01)
    row <- utils::modifyList(row, list(...))
    answer_words_of_agents(row, analysis, taken)
  }
  bursts <- exact(1.07, 0.012)
  expect_equal(
    words(bursts, NULL, exact(0.01, 0.02)),
    paste0("X slows barrier by 1.070 % (1.039 to 1.101), through its bursts; other effects are below 0.0615 ",
           "% either way.")
  )
  expect_equal(
    words(bursts, exact(-4.6, 4.2)),
    paste0("X slows barrier by 1.070 % (1.039 to 1.101) through its bursts; other effects add less than ",
           "10.7 % (total -5 % (-15 to 6)).")
  )
  expect_match(
    words(bursts, exact(6.1, 0.4)),
    paste0("^X slows barrier by 6.1 % \\(5.1 to 7.1\\) in total: 1.07 % through its bursts, 5.0 % ",
           "\\([34].[90] to 6.0\\) by other effects.$")
  )
  expect_match(
    words(bursts, exact(0, 0.1)),
    paste0("^The bursts of X cost 1.070 % .* on barrier, but in total it slows it by less than 0.258 %: the ",
           "two contradict; no slowdown is stated.$")
  )
  alone <- exact(-4.6, 4.6)
  none <- words(NULL, alone, state = "few", n_bursts = 0, n_seen = 0, reason = "none")
  expect_equal(
    none[1],
    "X did not run on a rank's CPU in 31 s; bursts rarer than one in 6.8 s are not excluded (up to 0.840 %)."
  )
  expect_match(
    none[2],
    "^X was not found to slow barrier: -5 % \\(-15 to 6\\) by on/off; 22.1 % would have been detected.$"
  )
  # one on record anywhere forbids "none"
  expect_equal(
    words(NULL, alone, state = "few", n_bursts = 0, n_seen = 2, reason = "none")[
      1
    ],
    paste0("X ran on a rank's CPU only in short segments (2 times), not in 31 s of undisturbed time: ",
           "estimating the cost of a burst takes 5 there.")
  )
  expect_equal(
    words(NULL, alone, state = "few", n_bursts = 1, n_seen = 1, reason = "none")[
      1
    ],
    "X ran on a rank's CPU only 1 time in 31 s of undisturbed time: estimating the cost of a burst takes 5."
  )
  expect_equal(
    words(NULL, with_unseen(exact(0.01, 0.02), 31.3), state = "few", n_bursts = 0, n_seen = 0,
          reason = "none", by_quick = TRUE, beyond_most = 0.06)[2],
    paste0("X was not found to slow barrier: 0.01 % (-0.04 to 0.91) by on/off, unseen bursts included; ",
           "other effects add less than 0.06 %.")
  )
  expect_equal(
    words(NULL, alone, state = "unrecorded", reason = no_records),
    c("X was not found to slow barrier: -5 % (-15 to 6) by on/off; 22.1 % would have been detected.",
      paste0("There is no figure by bursts: ", no_records, "."))
  )
  expect_match(
    words(
      NULL, alone, state = "not flat",
      reason = "the loop was slower before the bursts already (by 120 us in as long a time; they cost 400)"
    )[1],
    paste0("^On barrier the loop was slower before the bursts already .by 120 us in as long a time; they ",
           "cost 400.: none is charged to X.$")
  )
  taken <- data.frame(launch = "L", kind = "X", taken_percent = 0.958, taken_low = 0.879, taken_high = 1.04,
                      p_value = 1e-9, reason = NA_character_)
  expect_equal(
    words(NULL, alone, taken = taken, state = "busy", reason = "busy")[1],
    paste(
      paste0("X takes 0.958 % (0.879 to 1.040) of one CPU from the ranks; by the cost of an interruption in ",
             "this campaign's profile (740 \u00b5s per ms) some"),
      paste0("0.709 % *direct loss*, caches excluded; the whole could not be told here: other tasks held ",
             "the ranks' CPUs 45 % of the time without it.")
    )
  )
  few <- data.frame(taken[c("launch", "kind")], account_percent = 1.04, taken_percent = NA_real_,
                    p_value = NA_real_, reason = "fewer than three pairs of halves")
  expect_match(
    words(NULL, alone, taken = few, state = "busy", reason = "busy")[1],
    paste0("^X used 1.04 % of one CPU by its own account; what that cost barrier could not be told here: ",
           "other tasks held")
  )
})

test_that("about launches like these the launch is the unit of bursts, too", {
  group <- function(slowdown) {
    cbind(
      data.frame(launch = seq_along(slowdown), operation = "barrier", bytes = 0),
      locked_row(list(n_bursts = 100, bursts_per_s = 4, burst_cpu_ns = 2.5e6, cost_ns = 2.5e6,
                      cost_low_ns = 2.4e6, cost_high_ns = 2.6e6, slowdown_low = 0, slowdown_high = 0,
                      p_value = 1e-9, limit_percent = 0.1, amplification = 1, amplification_low = 0.9,
                      amplification_high = 1.1, z = 4, state = "measured", seconds = 25))
    )
  }
  x <- c(1, 2, 3, 1, 2)
  rows <- group(x)
  rows$slowdown_percent <- x
  rows$slowdown_low <- x - 0.01
  rows$slowdown_high <- x + 0.01
  rows$figure <- lapply(x, figure_of_t, se = 0.01 / qnorm(0.99), df = Inf)
  these <- pool_locked(rows)
  like <- pool_locked(rows, like = TRUE)
  expect_equal(c(like$slowdown_low, like$slowdown_high), as.numeric(t.test(x, conf.level = 0.98)$conf.int))
  expect_equal(like$p_value, t.test(x, alternative = "greater")$p.value)
  expect_lt(these$slowdown_high, like$slowdown_high)
  expect_equal(like$cost_low_ns, these$cost_low_ns)
})

test_that("the period of the bursts is the one that was given, whatever beats within it", {
  bursts <- data.frame(launch = "a", host = "n1", source = "cpu", period_by = "distances", cpus = "0",
                       cpu_share = 1, n_activities = 40, seconds = 1, period_s = 0.004, per_period_us = 45.4,
                       p50_us = 45.4, activities_per_s = 250, duty_percent = 1.135, reason = NA_character_)
  expect_equal(burst_sentences(bursts), "On n1, it runs on CPU 0 for 45.4 \u00b5s every 4 ms.")
  bursts[c("period_s", "per_period_us", "period_by")] <- list(0.1, 1135, "given")
  expect_equal(burst_sentences(bursts), "On n1, it runs on CPU 0 for 1.14 ms in each 100 ms.")
  # a train of 20 bursts of 50 us, 1 ms apart, each half a second, while the user said a second
  start <- as.vector(outer(1e6 * (0:19), 5e8 * (0:59), `+`))
  train <- data.frame(start_ns = start, duration_ns = 5e4, half = 1)
  activities <- data.frame(half = 1, start = start, took = 5e4)
  got <- given_period(1, activities, train, 30)
  expect_equal(got[c("period_s", "period_by")], list(period_s = 1, period_by = "given"))
  expect_equal(got$per_period_us, 2 * 20 * 50)
  expect_equal(given_period_s(list(options = list(agent_period_ns = 1e9))), 1)
  expect_equal(given_period_s(list(options = list(agent_period_ns = 1e9, agent_interval_ns = 2e8))), 0.2)
  expect_true(is.na(given_period_s(list(options = list(agent_period_ns = NULL)))))
})

test_that("the distance of bursts in a train is no period: below ten bursts' length it is none", {
  # threads wake up after one another, 95.6 us apart, for 40 us each; at 500 us apart it is a period
  halves <- data.frame(start = 0, wall = 2e9, row = 1)
  period <- function(distance_ns) {
    start <- seq(0, 2e9 - 1, distance_ns)
    bursts <- data.frame(start_ns = start, duration_ns = 4e4, half = 1)
    activity_period(data.frame(half = 1, start = start, took = 4e4), bursts, halves, 0.01)
  }
  short <- period(95600)
  expect_true(is.na(short$period_s) && is.na(short$per_period_us))
  expect_match(short$reason, "they come 95.6 \u00b5s apart, below 10 times their length")
  expect_equal(period(5e5)$period_s, 5e-4)
})

figure <- function(value, se = 0.01) figure_of_t(value, se, Inf)

test_that("what leads follows from what is on record, and the case from what lies beyond the bursts", {
  case <- function(...) agent_rule(...)[c("lead", "case", "found")]
  is <- function(lead, case, found = TRUE) list(lead = lead, case = case, found = found)
  expect_equal(case(figure(1.07), figure(1.06)), is("bursts", "agree"))
  expect_equal(case(figure(1.07), figure(-4.6, 4)), is("bursts", "open"))
  expect_equal(case(figure(1.07), figure(6.1, 0.4)), is("on/off", "more"))
  expect_equal(case(figure(1.07), figure(0, 0.1)), is("bursts", "less", FALSE))
  expect_equal(case(figure(1.07), NULL), is("bursts", "open"))
  expect_equal(case(NULL, figure(-4.6, 4)), is("on/off", "alone", FALSE))
  expect_equal(case(figure(1.07), figure(-50, 100), figure(0.01, 0.02), agree = 0.1), is("bursts", "agree"))
})

test_that("two claims have half of alpha each, one has all of it", {
  got <- agent_rule(figure(1, 0.1), figure(1, 10))
  expect_equal(c(got$low, got$high), 1 + c(-1, 1) * qnorm(0.995) * 0.1)
  expect_equal(got$beyond_most, diff(beyond_figure(figure(1, 10), figure(1, 0.1))$ends(0.005)) / 2,
               tolerance = 1e-5)
  alone <- agent_rule(NULL, figure(1, 0.1))
  expect_equal(c(alone$low, alone$high), 1 + c(-1, 1) * qnorm(0.99) * 0.1)
})

test_that(paste0("a pass needs the whole below the margin, or bursts, those unseen and what may lie beyond ",
                 "together"), {
  side <- function(..., watched_s = 1e4) {
    unlist(agent_rule(..., margin = 2, watched_s = watched_s)[c("margin_verdict", "margin_by")],
           use.names = FALSE)
  }
  undecided <- c("inconclusive", NA)
  expect_equal(side(figure(1.07), figure(1.06)), c("below", "on/off"))
  # bursts below, the rest known to 5 % only: the record that passed by its bursts
  expect_equal(side(figure(1.07), figure(1.1, 2)), undecided)
  expect_equal(side(figure(1.07), figure(1.1, 2), figure(0.02, 0.1)), c("below", "bursts"))
  # watched so shortly that rare long bursts may cost more than what is left
  expect_equal(side(figure(1.07), figure(1.1, 2), figure(0.02, 0.1), watched_s = 10), undecided)
  expect_equal(side(NULL, figure(1, 0.1)), c("below", "on/off"))
  # without bursts the same inequality: no pass where the time is too short for what comes rarely, and what
  # is on record counts
  side_alone <- function(...) {
    agent_rule(NULL, figure(1, 0.1), margin = 2, ...)$margin_verdict
  }
  expect_equal(side_alone(watched_s = 20), "inconclusive")
  expect_equal(side_alone(watched_s = 60), "below")
  expect_equal(side_alone(watched_s = 60, seen_ns = c(5e7, 5e7)), "inconclusive")
  expect_equal(agent_rule(figure(0.5), figure(0.6), margin = 2, watched_s = 10)$margin_verdict,
               "inconclusive")
  # an estimate far below 0 beyond the bursts is no pass
  expect_equal(side(figure(1.07), figure(-4.6, 4.6)), undecided)
})

test_that(paste0("what others took may widen the interval, and never moves both ends one way: at a margin ",
                 "that is the truth few pass"), {
  # 200 pairs, slower by 1 %, scatter 0.25 %; what others took differs by some 0.35 points each time, and by
  # nothing on average
  got <- vapply(
    1:60,
    function(seed) {
      set.seed(seed)
      lost <- structure(
        data.frame(d = stats::rnorm(200, log(1.01), 0.0025), moved_percent = stats::rnorm(200, 0, 0.35)),
        of = "others"
      )
      adjusted <- adjusted_mean(list(lost = lost), list(alpha = 0.01, conf = 0.98, power = 0.95))
      if (adjusted$is_withheld) return(NA)
      figure <- adjusted_figure(adjusted)
      usual <- figure_of_t(adjusted$estimate, adjusted$se, adjusted$df)
      expect_true(all((figure$ends(0.01) - usual$ends(0.01)) * c(-1, 1) >= 0))
      percent <- figure_as(figure, function(x) 100 * expm1(x))
      agent_rule(NULL, percent, margin = 1, watched_s = 1e5, judged = percent)$margin_verdict == "below"
    },
    NA
  )
  expect_gt(sum(!is.na(got)), 50)
  expect_lte(sum(got, na.rm = TRUE), qbinom(0.999, 60, 0.01))
})

test_that("a fail needs the whole above the margin, or bursts above and the whole not shown below", {
  side <- function(...) agent_rule(..., margin = 2, watched_s = 1e4)$margin_verdict
  expect_equal(side(figure(1), figure(6, 0.4)), "above")
  expect_equal(side(figure(2.5), figure(2, 5)), "above")
  expect_equal(side(figure(2.5), figure(0, 0.1)), "inconclusive")
  expect_equal(side(figure(2.5), NULL), "above")
  expect_equal(agent_rule(figure(2.5, 0.2), NULL, margin = 2)$p_above, 2 * pnorm(-2.5), tolerance = 1e-3)
})

two_agents <- function(env = parent.frame()) {
  dir <- local_folder(env)
  made <- function(dir, ...) {
    simulate_agent_campaign(dir, operations = "barrier", pairs = 60, agent_period_ns = 1e8, ...)
  }
  made(dir, name = "heavy", slowdown_percent = 3, agent_burst_ns = 2.5e6, seed = 1)
  more <- local_folder(env)
  made(more, name = "light", slowdown_percent = 0, agent_burst_ns = 4e4, seed = 2)
  rename_launches(more, "-light")
  file.rename(list.files(more, full.names = TRUE), file.path(dir, list.files(more)))
  dir
}

delayedAssign("two", two_agents(globalenv()))

test_that("each agent has a row with what it took and costs, and the worst is named first", {
  report <- agent_report(read_campaign(two, arms = "any"), margin = 1)
  rows <- report$agents
  expect_setequal(rows$agent, c("heavy", "light"))
  heavy <- rows[rows$agent == "heavy", ]
  light <- rows[rows$agent == "light", ]
  expect_equal(heavy$interval_s, 0.1)
  expect_equal(heavy$taken_percent, 2.5, tolerance = 0.05)
  expect_true(heavy$slowdown_low < 3 && heavy$slowdown_high > 3)
  expect_equal(heavy$amplification, heavy$slowdown_percent / heavy$taken_percent)
  expect_equal(heavy$by, "on/off")
  expect_equal(heavy$cost_s, heavy$slowdown_percent / 100 * 0.1)
  # twelve seconds do not exclude bursts that come more rarely
  expect_equal(c(heavy$margin_answer, light$margin_answer), c("above", "undecided"))
  # cost per sample as it is: three times as seldom is a third of the slowdown
  expect_equal(heavy$safe_interval_s, 0.1 * heavy$slowdown_high)
  expect_true(is.na(light$amplification))
  text <- paste(several_sentence(rows), collapse = " ")
  expect_match(text, "^1 of 2 agents slow an operation, most of all heavy at 100 ms by ")
})

test_that("the answer is a table of the agents, and JSON and CSV have it", {
  said <- status_of("noiselab-analyze", "agent", two, "--margin", "1%")
  expect_equal(said$status, 1L)
  expect_lte(length(said$out), 10)
  for (agent in c("heavy", "light")) expect_match(paste(said$out, collapse = "\n"), paste(agent, "+100 ms"))
  # whose slowdown decides the margin
  expect_match(said$out, "^Margin of 1 %: fail, an effect is above it, that of heavy", all = FALSE)
  expect_match(report_title(analyze_campaign(read_campaign(two), channels = "time")),
               "^What do (heavy|light) and (heavy|light) cost[?]$")
  expect_lte(max(nchar(said$out)), 100)
  expect_match(paste(status_of("noiselab-analyze", "agent", two)$out, collapse = "\n"),
               "heavy +100 ms .* 3[.0-9]* ms")
  csv <- utils::read.csv(text = status_of("noiselab-analyze", "agent", two, "--csv", "--table", "agents")$out)
  expect_setequal(csv$agent, c("heavy", "light"))
})

test_that("where bursts run is said in plain words: one CPU, mainly one, several, or what the ranks lost", {
  bursts <- data.frame(launch = "a", host = "n1", source = "cpu", period_by = "given", cpus = "0",
                       cpu_share = 1, n_activities = 40, seconds = 1, period_s = 1, per_period_us = 1260,
                       p50_us = 45.4, activities_per_s = 250, duty_percent = 0.126, reason = NA_character_)
  said <- function(...) burst_sentences(utils::modifyList(bursts, list(...)))
  expect_equal(said(), "On n1, it runs on CPU 0 for 1.26 ms in each 1 s.")
  expect_equal(said(cpus = "3,1", cpu_share = 0.95),
               "On n1, it runs mainly on CPU 3 for 1.26 ms in each 1 s.")
  expect_equal(said(cpus = "3,1", cpu_share = 0.6),
               "On n1, it runs on the CPUs 3 and 1 for 1.26 ms in each 1 s.")
  expect_equal(said(source = "thread", cpus = "-", period_by = "distances"),
               "On n1, the ranks lost a rank's CPU for 1.26 ms every 1 s.")
})

test_that("what a scraper may have cost fails no agent, and is said beside the slowdown it is part of", {
  coarse_walks()
  asked <- function(scraper_percent) {
    dir <- local_folder(parent.frame())
    simulate_agent_campaign(dir, pairs = 60, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                            slowdown_percent = 3, seed = 5, scraper_percent = scraper_percent)
    status_of("noiselab-analyze", "agent", dir, "--margin", "1")
  }
  alone <- asked(0)
  expect_equal(alone$status, 1)
  expect_false(any(grepl("scraper", alone$out)))
  little <- asked(0.1)
  expect_equal(little$status, 1)
  expect_false(any(grepl("scraper used", little$out)))
  much <- asked(2.5)
  expect_equal(much$status, 3)
  expect_match(flat(much$out),
               "The scraper used 2.50 % of one CPU on this machine: that is part of this slowdown.",
               fixed = TRUE)
  expect_match(flat(much$out), "may do so by the scraper, which used 2.50 % of one CPU", fixed = TRUE)
  # what it does while the agent answers is in what bursts cost
  by_bursts <- function(value) {
    scraper_words(data.frame(lead = "bursts", value = value, beyond_most = 2.9, scraper_percent = 0.31))
  }
  expect_match(by_bursts(0.41),
               "0.31.* % of one CPU .* that is part of this slowdown or of the other effects[.]$")
  expect_match(by_bursts(40), "that is part of the other effects.", fixed = TRUE)
})

test_that("where bursts have no figure, quick halves are not the whole: stretches and long halves are", {
  set.seed(2)
  # nine sets: a stretch, 10 % slower with the agent, a long pair, and eight short ones, 60 % slower with it
  planned <- c(1e9, 2.5e8, 2.5e8, rep(2.5e7, 16))
  arm <- c("on", rep(c("off", "on"), 9))
  rows <- data.frame(launch = "one", operation = "barrier", bytes = 0, ranks = 2,
                     pair = rep(1:90, each = 2)[1:171], planned_ns = rep(planned, 9), arm = rep(arm, 9))
  rows$kind <- ifelse(rows$arm == "on", "asked", NA)
  rows$level_requested_percent <- ifelse(rows$arm == "on", Inf, 0)
  slower <- ifelse(rows$arm == "off", 0, ifelse(rows$planned_ns == 2.5e7, 0.6, log(1.1)))
  rows$wall_ns <- rows$planned_ns
  rows$operations <- rows$planned_ns / 1000 / exp(slower + stats::rnorm(171, 0, 0.005))
  rows$start_ns <- cumsum(c(0, rows$wall_ns[-171]))
  options <- list(design = "quick", half_period_ns = 2.5e7, long_half_ns = 2.5e8, block_ns = 1e9)
  campaign <- list(rows = data.table::as.data.table(rows), launches = list(one = list(options = options)))
  row <- data.frame(kind = "asked", operation = "barrier", bytes = 0, launch = "one", alpha = 0.01)
  got <- stretch_figure(row, campaign)
  ends <- 100 * expm1(got$ends(0.01))
  expect_true(ends[1] < 10 && 10 < ends[2] && ends[2] - ends[1] < 4)
  expect_equal(attr(got, "n"), 9)
  expect_equal(stretches_words(list(n_stretches = 9)), ", in 9 undisturbed stretches with it")
  # with nothing to find it finds something in one campaign of a hundred, on either side
  same <- campaign
  found <- vapply(1:300, function(seed) {
    set.seed(seed)
    wander <- as.numeric(stats::filter(stats::rnorm(171, 0, 0.003), 0.9, "recursive"))
    same$rows$operations <- planned / 1000 / exp(wander + stats::rnorm(171, 0, 0.01))
    ends <- stretch_figure(row, same)$ends(0.01)
    ends[1] > 0 || ends[2] < 0
  }, NA)
  expect_lte(sum(found), stats::qbinom(0.999, 300, 0.02))
  # too few, or another design
  short <- campaign
  short$rows <- campaign$rows[1:114, ]
  expect_null(stretch_figure(row, short))
  campaign$launches$one$options$design <- "blocks"
  expect_null(stretch_figure(row, campaign))
  # a scraper's work is that of the stretches, too: each quick half of 1.1.0 began with a scrape
  account <- cbind(rows, scraper_cpu_ns = ifelse(rows$planned_ns == 1e9, 2e7, 0.5 * rows$wall_ns))
  asked <- list(agents = account, launches = list(one = list(options = options)))
  expect_equal(scraper_percent(asked, "asked"), 2)
})
