# noiselab analyze agent, the sentences, and the report's section.

# Nothing writes into it.
delayedAssign("with_load", local_agent(pairs = 30, levels_percent = 1, env = globalenv()))

test_that("a margin decides the exit status: 0 below, 1 above, 3 undecided with the time that would decide", {
  coarse_walks()
  dir <- local_agent(pairs = 24, slowdown_percent = 2, seed = 2, levels_percent = 20)
  campaign <- read_campaign(dir)
  # The positive control, far above every margin, has no say.
  answer <- function(margin) {
    with_agent_answers(analyze_campaign(campaign, channels = "time", margin = margin))$margin_answer$answer
  }
  # bursts of 50 ms that come more rarely than these 4.8 s were watched may cost more than 4 %
  expect_equal(answer(4), "inconclusive")
  expect_equal(answer(12), "pass")
  expect_equal(answer(0.5), "fail")
  open <- status_of("noiselab-analyze", "agent", dir, "--margin", "2.03%")
  expect_equal(open$status, 3L)
  expect_match(
    gsub(" +", " ", paste(open$out, collapse = " ")),
    paste0("measuring for [0-9.]+ (s|min|h|days) in total decides with probability 0.95|no run of a month ",
           "would decide")
  )
})

test_that("the time that a longer run would need follows from the standard error, by hand", {
  row <- data.frame(channel = "time", launch = "L", margin_verdict = "inconclusive", reason = NA,
                    raw_margin = log1p(0.01), raw_margin_se = 0.002, alpha = 0.01)
  campaign <- list(rows = data.frame(launch = "L", wall_ns = rep(1e9, 60)))
  times <- ((qnorm(0.99) + qnorm(0.95)) * 0.002 / (log1p(0.01) - log1p(0.005)))^2
  expect_equal(margin_needs(row, campaign, 0.5, 0.95), 60 * times)
  expect_equal(margin_needs(row, campaign, NULL, 0.95), NA_real_)
  row$margin_verdict <- "above"
  expect_equal(margin_needs(row, campaign, 0.5, 0.95), NA_real_)
  expect_equal(format_span(c(45, 840, 11500, 432000)), c("45 s", "14 min", "3.2 h", "5 days"))
})

test_that("JSON and CSV have the tables, and nothing that is not a number", {
  coarse_walks()
  json <- status_of("noiselab-analyze", "agent", with_load, "--json")
  expect_equal(json$status, 0L)
  parsed <- jsonlite::fromJSON(paste(json$out, collapse = "\n"))
  expect_true(all(c("sentences", "accounts", "tasks", "bursts", "evidence") %in% names(parsed)))
  expect_equal(parsed$accounts$agreement, "agree")
  expect_false(any(grepl("Inf|NaN", json$out)))
  for (table in c("accounts", "activities")) {
    lines <- status_of("noiselab-analyze", "agent", with_load, "--csv", "--table", table)$out
    expect_gt(nrow(utils::read.csv(text = lines)), 0)
    expect_false(any(grepl("(^|,)Inf(,|$)", lines)), label = table)
  }
})

test_that("launches of one arm each have accounts, and say that there is nothing to compare", {
  coarse_walks()
  dir <- local_agent(design = "launches", launches = 2, pairs = 1, half_period_ns = 1e9)
  got <- status_of("noiselab-analyze", "agent", dir, "--all")
  expect_equal(got$status, 0L)
  text <- gsub(" +", " ", paste(got$out, collapse = " "))
  expect_match(
    text,
    paste0("cannot be compared \\(no launch has an off and an on half together that are long enough for the ",
           "system's accounts\\)")
  )
  expect_match(text, "collectd agent 1 [0-9.]+ [0-9]+ - ")
  expect_no_match(paste(status_of("noiselab-analyze", "agent", dir)$out, collapse = " "), "accounts")
})

test_that("a campaign without an agent is refused with status 3, an unknown option with 2", {
  got <- status_of("noiselab-analyze", "agent", local_campaign(pairs = 12, levels_percent = 1))
  expect_equal(got$status, 3L)
  expect_match(got$err, "no launch has agent.HOST.csv", all = FALSE)
  expect_equal(status_of("noiselab-analyze", "agent", "x", "--level", "1")$status, 2L)
})

test_that("lines keep to 100 columns, with long names, several nodes and a disagreement", {
  coarse_walks()
  dir <- local_agent(pairs = 12, name = "prometheus-node-exporter", nodes = 2, ranks = 4, noise_nodes = 1:2,
                     unaccounted = 0.5, agent_burst_ns = 2e6, source = "thread",
                     prefix = "a-rather-long-launch-id")
  out <- status_of("noiselab-analyze", "agent", dir, "--all")$out
  expect_match(gsub(" +", " ", paste(out, collapse = " ")),
               "disagree \\(the ranks lost more than the agent used")
  expect_lte(max(nchar(out)), 100)
  expect_false(any(grepl("\\bNA\\b|NaN|Inf", out)))
})

test_that("an agent that is on in its off halves, or does nothing, is noted", {
  rows <- data.frame(launch = "L", host = "h", kind = "a", off_cpu_percent = c(0.5, 0, 0),
                     cpu_percent = c(1, 0, 1), on_ranks_percent = c(1, 0, 1.2))
  notes <- agent_notes(rows)
  expect_match(notes[1], "was not off in its off halves")
  expect_match(notes[2], "used no CPU time in its on halves")
  expect_match(notes[3], "the two accounts differ")
  expect_length(notes, 3)
})

test_that("the report has a section on the agent, and every plot of it can be drawn", {
  coarse_walks()
  analysis <- analyze_campaign(read_campaign(with_load), channels = c("time", "preempted"))
  analysis$agent <- agent_of(analysis)
  section <- as.character(htmltools::tagList(agent_section(analysis$agent)))
  expect_match(section, "Does the agent's own CPU time explain|explain what the ranks lost")
  expect_match(section, "kworker/1:2")
  expect_match(section, "CPU 1 for 4[0-9.]* \u00b5s in each 100 ms")
  expect_false(grepl(">(Inf|NaN|NA)<", section))
  agents <- Filter(function(plot) startsWith(plot$name, "agent-"), plots())
  expect_length(agents, 1)
  for (plot in agents) {
    frame <- plot_frame(plot, analysis)
    expect_gt(NROW(frame), 0)
    expect_s3_class(ggplot2::ggplot_build(draw_frame(plot, analysis, frame)), "ggplot_built")
    expect_false(grepl("Inf|\\bNA\\b|NaN", plot$alt(frame)), label = plot$alt(frame))
  }
  bare <- analyze_campaign(read_campaign(local_campaign(pairs = 12, levels_percent = 1)), channels = "time")
  expect_null(agent_of(bare))
  for (plot in agents) expect_null(plot_frame(plot, bare))
})
