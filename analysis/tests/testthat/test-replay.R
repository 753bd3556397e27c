# An agent's launches and a replay's in one campaign; with `together` in the same launches.
both_of <- function(agent_percent, replay_percent, pairs = 15, launches = 3, together = FALSE) {
  of <- function(seed, ...) {
    do.call(simulated_campaign, c(quiet, list(pairs = pairs, launches = launches, seed = seed, ...)))
  }
  a <- of(1, external = "collectd", slowdown_percent = agent_percent, prefix = "a")
  b <- of(2, patterns = "replay", kinds = "sum", levels_percent = 1, slowdown_percent = replay_percent,
          prefix = "r")
  if (together) {
    b$rows$launch <- sub("^r", "a", b$rows$launch)
    b$rows$pair <- b$rows$pair + max(a$rows$pair)
    b$launches <- list()
  }
  join_campaigns(list(a, b))
}

test_that("an agent and its replay are the same, or not, and the margin says how near that is", {
  equal <- both_of(2, 2, launches = 4)
  # A replay's bursts per half vary, so its launches scatter.
  same <- compare_replay(equal, margin = 1.5)
  expect_equal(c(same$rows$verdict, same$answer, same$rows$test),
               c("same", "pass", "Welch on launch summaries"))
  usual <- compare_replay(equal)$rows
  expect_equal(usual$margin_percent, 0.05)
  expect_equal(usual$margin_from, "fixed")
  expect_true(same$rows$p_same <= 0.01)
  expect_equal(compare_replay(equal, margin = 0.0001)$rows$verdict, "inconclusive")
  more <- compare_replay(both_of(4, 2))
  expect_equal(c(more$rows$verdict, more$answer), c("agent slows more", "fail"))
  expect_lt(abs(more$rows$difference_percent - 100 * (1.04 / 1.02 - 1)), 0.2)
  expect_match(more$sentences, "not the same: the agent slows more, by more than")
})

test_that("the default margin is fixed before measuring: by nothing that scatters", {
  row <- list(estimate = 2, detection_limit = 0.1, p_one_sided = 1e-4, alpha = 0.01)
  expect_equal(replay_margin(row, NULL)$percent, 0.05)
  expect_equal(replay_margin(row, NULL, 1)$percent, 0.1)
  expect_equal(replay_margin(row, NULL, 1)$from, "10 % of the agent's CPU time")
  expect_equal(replay_margin(utils::modifyList(row, list(detection_limit = 1.8)), NULL)$percent, 0.05)
  expect_match(replay_margin(utils::modifyList(row, list(p_one_sided = 0.2)), NULL)$reason,
               "nothing that a replay could equal")
  expect_equal(replay_margin(row, 0.7), list(percent = 0.7, from = "given", reason = NA_character_))
})

test_that("what an agent does not do, no replay can equal", {
  result <- compare_replay(both_of(0, 2))
  expect_equal(result$rows$verdict, "inconclusive")
  expect_match(result$sentences, "the agent's own slowdown was not detected (limit ", fixed = TRUE)
})

test_that(paste0("the difference is taken within launches, within one launch, or by Welch's test, as the ",
                 "data allow"), {
  expect_equal(compare_replay(both_of(2, 2, together = TRUE))$rows$test, "t on differences within launches")
  one <- compare_replay(both_of(2, 2, launches = 1, together = TRUE))
  expect_equal(one$rows$test, "Welch on pairs")
  expect_equal(one$rows$n, 30)
  # In blocks both stand against the same off block, which drops out of the difference.
  blocks <- simulated_campaign(design = "blocks", patterns = "replay", kinds = c("collectd", "sum"),
                               levels_percent = 1, pairs = 40, treatment_factor = c(2, 1), seed = 5)
  agent <- which(blocks$rows$kind == "collectd")
  blocks$rows$level_requested_percent[agent] <- Inf
  for (name in c("pattern", "placement", "phase")) {
    words <- as.character(blocks$rows[[name]])
    words[agent] <- "none"
    blocks$rows[[name]] <- as_word(words)
  }
  row <- compare_replay(blocks, margin = 1)$rows
  expect_equal(row$test, "t on differences of halves of the same set")
  at <- function(kind) {
    with(blocks$rows[blocks$rows$kind %in% kind, ], (log(wall_ns / operations))[order(pair)])
  }
  d <- at("collectd") - at("sum")
  expect_equal(row$difference_percent, 100 * expm1(mean(d)))
  expect_equal(
    row$p_same,
    max(stats::t.test(d, mu = log(1.01), alternative = "less")$p.value,
        stats::t.test(d, mu = -log(1.01), alternative = "greater")$p.value)
  )
})

test_that("the front end answers with its status, and refuses a campaign without a replay", {
  dir <- local_folder()
  make <- function(...) do.call(simulate_campaign, c(quiet, list(dir, ..., pairs = 15, launches = 4)))
  make(external = "collectd", slowdown_percent = 2, prefix = "a", seed = 1)
  replay <- function(...) status_of("noiselab-analyze", "replay", dir, ...)
  expect_equal(replay()$status, 3L)
  make(patterns = "replay", kinds = "sum", levels_percent = 1, slowdown_percent = 8, prefix = "r", seed = 2)
  got <- replay("--margin", "0.5")
  expect_equal(got$status, 1L)
  expect_match(got$out, "replay slows more", all = FALSE)
  expect_lte(max(nchar(got$out)), 110)
  expect_equal(replay("--margin", "10")$status, 0L)
  analysis <- analyze_campaign(read_campaign(dir), channels = c("time", "preempted"))
  expect_match(as.character(report_replay(analysis)), "not the same: the replay slows more")
})
