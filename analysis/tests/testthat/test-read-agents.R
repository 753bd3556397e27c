# The files of launches that switch an agent on and off.

agent_launch <- function(..., pairs = 12, env = parent.frame()) local_agent(pairs = pairs, ..., env = env)
file_of <- function(dir, name) list.files(dir, paste0("^", name), recursive = TRUE, full.names = TRUE)[1]

test_that("an agent's arm stands beside those of a generator in one launch", {
  dir <- agent_launch(levels_percent = c(0, 1))
  campaign <- read_campaign(dir)
  expect_equal(campaign$notes, character())
  on <- campaign$rows[campaign$rows$arm == "on", ]
  expect_setequal(unique(paste(on$kind, on$level_requested_percent)), c("collectd Inf", "spin 0", "spin 1"))
  expect_equal(unique(as.character(on$pattern[on$kind == "collectd"])), "none")
  expect_true(all(on$delivered_ns[on$kind == "collectd"] > 0))
  halves <- utils::read.csv(file_of(dir, "halves.csv"))
  agent <- halves[halves$kind == "collectd", ]
  expect_true(all(is.na(agent$level_requested_percent)) && all(agent$pattern == ""))
})

test_that("accounts, tasks and files of bursts are read, one table for all launches and nodes", {
  dir <- agent_launch(launches = 2, nodes = 2, ranks = 4, noise_nodes = 1:2)
  campaign <- read_campaign(dir)
  expect_equal(nrow(campaign$agents), 2 * nrow(campaign$rows))
  expect_setequal(unique(campaign$agents$host), c("node1", "node2"))
  expect_setequal(unique(campaign$tasks$group), c("agent", "kernel", "softirq", "steal"))
  expect_equal(nrow(campaign$bursts), 4)
  bursts <- read_bursts(campaign$bursts$file[1])
  expect_named(bursts, c("start_ns", "duration_ns", "cpu", "kind", "task"))
  expect_equal(unique(bursts$task), "collectd")
  expect_true(all(is.na(bursts$kind)))
  expect_equal(attr(bursts, "keys")$source, "cpu")
})

test_that("a damaged row of each file is named by file and line", {
  dir <- agent_launch()
  refused <- function(name, line, message, ...) {
    good <- readLines(file_of(dir, name))
    edit_cells(file_of(dir, name), line, ...)
    expect_error(read_campaign(dir), sprintf("%s[^:]*:%d: %s", name, line, message),
                 class = "nl_error_damaged")
    writeLines(good, file_of(dir, name))
  }
  refused("agent.node1", 4, "wall_ns is '-5'", wall_ns = "-5")
  refused("agent.node1", 3, "launch is 'other'", launch = "other")
  refused("agent.node1", 5, "wakeups is '-1', wanted at least 0", wakeups = "-1")
  refused("tasks.node1", 2, "bursts is '1.5', wanted a whole number", bursts = "1.5")
  refused("tasks.node1", 3, "arm is 'none', wanted off or on", arm = "none")
})

test_that(paste0("launches without these files keep working, what an agent's launch lacks is said, and off ",
                 "rows may leave their level empty"), {
  campaign <- read_campaign(local_campaign(pairs = 12, levels_percent = 1))
  expect_equal(c(nrow(campaign$agents), nrow(campaign$tasks), nrow(campaign$bursts)), c(0, 0, 0))
  expect_equal(campaign$notes, character())
  dir <- agent_launch()
  edit_cells(file_of(dir, "tasks.node1"), 2, level_requested_percent = "")
  unlink(c(file_of(dir, "agent"), file_of(dir, "bursts")))
  campaign <- read_campaign(dir)
  expect_equal(campaign$tasks$level_requested_percent[1], 0)
  expect_match(campaign$notes, "no agent.HOST.csv", all = FALSE)
  got <- status_of("noiselab-analyze", "agent", dir, "--all")
  expect_equal(got$status, 0L)
  expect_match(got$out, "no account of the agent", all = FALSE)
  expect_match(got$out, "collectd +agent", all = FALSE)
})

test_that("a killed launch has its rows so far, and an agent that died is said", {
  dir <- agent_launch(ended = NA)
  file <- file_of(dir, "agent.node1")
  cat(substr(readLines(file)[3], 1, 40), file = file, append = TRUE)
  campaign <- read_campaign(dir)
  expect_match(campaign$notes, "agent.node1.csv:26: the launch was killed while it wrote this line",
               all = FALSE)
  dir <- agent_launch()
  edit_info(file_of(dir, "launch.json"),
            info$agents[[1]][c("died", "warnings")] <- list("half 12", list("wrote 2 GB to stdout")))
  notes <- read_campaign(dir)$notes
  expect_match(notes, "agent collectd on node1: died during the run \\(half 12\\)", all = FALSE)
  expect_match(notes, "warning: wrote 2 GB", all = FALSE)
})

test_that(paste0("what two commands left off, which nobody said it was before, is said first; what was left ",
                 "as found is not"), {
  launch <- function(name, left) {
    list(agents = list(list(name = name, host = "n1", state_found = "unknown", state_left = left)))
  }
  left <- "off, switched by --agent-off (how it was before is not known: --agent-found)"
  expect_match(
    left_off_sentence(list(launches = list(a = launch("vmstat", left), b = launch("vmstat", left)))),
    "^vmstat is off now: --agent-off was run last, .*--agent-found on or off"
  )
  expect_null(left_off_sentence(list(launches = list(a = launch("vmstat", "on")))))
  expect_null(left_off_sentence(list(launches = list(a = list()))))
})
