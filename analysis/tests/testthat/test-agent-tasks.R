# Who took the CPU of the ranks.

made <- function(..., env = parent.frame()) {
  read_campaign(local_agent(pairs = 20, seed = 3, agent_burst_ns = 1e6, ..., env = env))
}

test_that("the agent explains what the ranks lost, and what always runs explains nothing", {
  campaign <- made(levels_percent = 1)
  rows <- agent_tasks(campaign)
  agent <- rows[rows$kind == "collectd" & rows$task == "collectd", ]
  expect_equal(agent$bursts_per_s, 10, tolerance = 0.05)
  expect_equal(agent$off_us_per_s, 0)
  expect_true(agent$share_low <= 1 && agent$share_high >= 1)
  worker <- rows[rows$kind == "collectd" & rows$task == "kworker/1:2", ]
  expect_lt(abs(worker$shift_us_per_s), 0.02 * worker$us_per_s)
  expect_equal(c(rows$task[1], rows$kind[1]), c("collectd", "collectd"))
  expect_setequal(unique(rows$level_requested_percent), c(1, Inf))
  analysis <- analyze_campaign(campaign, channels = "time")
  phase <- plot_agent_phase(analysis, draw = FALSE)$within_period
  expect_true(length(phase) > 10 && all(phase >= 0 & phase < 1))
})

test_that(paste0("quantiles of several CPUs are weighted by bursts, and tasks that ran in off halves only ",
                 "have a row"), {
  campaign <- made()
  table <- campaign$tasks
  second <- table[table$group == "agent", ]
  second$cpu <- 3
  second$bursts <- 3 * second$bursts
  second$p50_ns <- 2 * second$p50_ns
  gone <- table[table$arm == "off" & table$group == "kernel", ]
  gone$task <- "cron"
  campaign$tasks <- data.table::rbindlist(list(table, second, gone))
  rows <- agent_tasks(campaign)
  agent <- rows[rows$task == "collectd", ]
  expect_equal(agent$p50_us, (1 + 3 * 2) / 4 * table$p50_ns[table$group == "agent"] / 1000)
  expect_equal(agent$cpus, "1,3")
  cron <- rows[rows$task == "cron", ]
  expect_equal(cron$us_per_s, 0)
  expect_lt(cron$shift_us_per_s, 0)
})

test_that("the source and its limits are said, and so are lost records", {
  expect_match(task_evidence(made()), "by context-switch records .* switches in and out, none lost")
  campaign <- made(source = "thread", lost_switches = 2)
  expect_match(task_evidence(campaign),
               "which task ran instead is not known \\(no better source: perf_event_open")
  expect_match(task_evidence(campaign), "80 RECORDS WERE LOST")
})

