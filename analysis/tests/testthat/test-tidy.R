schema <- function() {
  jsonlite::read_json(system.file("schema", "analysis.json", package = "noiselab"))$properties$estimates$items
}

# Every word of a closed column is in the schema, and every quantity ends in a unit.
expect_in_schema <- function(rows) {
  expect_equal(names(rows), estimate_columns)
  expect_setequal(names(schema()$properties), estimate_columns)
  for (name in c("channel", "scope", "n_unit", "verdict", "margin_verdict")) {
    known <- unlist(schema()$properties[[name]]$enum)
    expect_equal(setdiff(stats::na.omit(rows[[name]]), known), character(), label = name)
  }
  expect_true(all(grepl(schema()$properties$quantity$pattern, rows$quantity)))
  expect_true(all(is.na(rows$ci_low) | is.na(rows$ci_high) | rows$ci_low <= rows$ci_high))
}

test_that("each estimate of a campaign is a row, with the numbers of its table", {
  dir <- local_campaign(pairs = 20, launches = 2, levels_percent = c(0, 1, 5), kinds = c("spin", "cache"))
  analysis <- analyze_campaign(read_campaign(dir), channels = c("time", "preempted"), margin = 1)
  rows <- campaign_estimates(analysis)
  expect_in_schema(rows)
  effects <- rows[rows$quantity %in% c("slowdown_percent", "preempted_percent"), ]
  expect_equal(effects$value, analysis$verdicts$estimate)
  expect_equal(effects$verdict, gsub(" ", "_", row_outcome(analysis$verdicts)))
  expect_setequal(
    unique(rows$quantity),
    c("slowdown_percent", "preempted_percent", "smallest_detected_level_percent", "detectable_level_percent",
      "amplification_ratio")
  )
  expect_true(all(rows$confidence > 0.9, na.rm = TRUE))
  csv <- data.table::fread(text = status_of("noiselab-analyze", dir, "--csv")$out)
  expect_equal(names(csv), estimate_columns)
})

test_that(paste0("intervals, replays, agents and acceptance have the same columns (nodes and comparisons: ",
                 "tests/cli/analyze.bats)"), {
  expect_in_schema(intervals_estimates(interval_sweep(sweep_campaign(c(1, 10), c(2, 0.2)), margin = 0.5)))
  part <- function(...) {
    do.call(simulated_campaign, c(quiet, list(pairs = 30, launches = 4, slowdown_percent = 2, ...)))
  }
  both <- join_campaigns(list(part(external = "agent", prefix = "a", seed = 1),
                              part(patterns = "replay", levels_percent = 1, prefix = "r", seed = 2)))
  expect_in_schema(replay_estimates(compare_replay(both)))
  agent <- local_folder()
  unlink(agent, recursive = TRUE)
  simulate_agent_campaign(agent, pairs = 20, seed = 1)
  expect_in_schema(agent_estimates(agent_report(read_campaign(agent))))
  expect_in_schema(acceptance_change_estimates(compare_acceptance(
    simulated_acceptance(seed = 1), simulated_acceptance(slow_node = 2, seed = 2)
  )))
  expect_in_schema(acceptance_estimates(judge_acceptance(simulated_acceptance(
    slow_node = 2, seed = 1
  ))))
})
