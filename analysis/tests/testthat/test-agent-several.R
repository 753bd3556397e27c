# Several agents in one campaign: a row for each.

two_agents <- function(env = parent.frame()) {
  dir <- local_folder(env)
  made <- function(dir, ...) simulate_agent_campaign(dir, operations = "barrier", pairs = 60, agent_period_ns = 1e8, ...)
  made(dir, name = "heavy", slowdown_percent = 3, agent_burst_ns = 2.5e6, seed = 1)
  more <- local_folder(env)
  made(more, name = "light", slowdown_percent = 0, agent_burst_ns = 4e4, seed = 2)
  rename_launches(more, "-light")
  file.rename(list.files(more, full.names = TRUE), file.path(dir, list.files(more)))
  dir
}

test_that("each agent has a row with what it took and costs, and the worst is named first", {
  report <- agent_report(read_campaign(two_agents(), arms = "any"), margin = 1)
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
  expect_equal(c(heavy$margin_answer, light$margin_answer), c("above", "below"))
  # cost per sample as it is: three times as seldom is a third of the slowdown
  expect_equal(heavy$safe_interval_s, 0.1 * heavy$slowdown_high)
  expect_true(is.na(light$amplification))
  text <- paste(several_sentence(rows), collapse = " ")
  expect_match(text, "^1 of 2 agents slow an operation, most of all heavy at 100 ms by ")
})

test_that("the answer is a table of the agents, and JSON and CSV have it", {
  dir <- two_agents()
  said <- status_of("noiselab-analyze", "agent", dir, "--margin", "1%")
  expect_equal(said$status, 1L)
  expect_lte(length(said$out), 10)
  expect_match(paste(said$out, collapse = "\n"), "heavy +100 ms")
  expect_match(paste(said$out, collapse = "\n"), "light +100 ms")
  expect_lte(max(nchar(said$out)), 100)
  json <- jsonlite::fromJSON(paste(status_of("noiselab-analyze", "agent", dir, "--json")$out, collapse = "\n"))
  expect_setequal(json$agents$agent, c("heavy", "light"))
  expect_match(paste(status_of("noiselab-analyze", "agent", dir)$out, collapse = "\n"), "heavy +100 ms .* 3[.0-9]* ms")
  csv <- utils::read.csv(text = status_of("noiselab-analyze", "agent", dir, "--csv", "--table", "agents")$out)
  expect_setequal(csv$agent, c("heavy", "light"))
})
