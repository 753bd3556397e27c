test_that("analyses have the channel locked where slices and bursts were recorded, with the known cost", {
  dir <- add_slices(local_campaign(pairs = 60, levels_percent = 1, operations = "barrier", seed = 2))
  analysis <- analyze_campaign(read_campaign(dir))
  row <- subset(analysis$verdicts, channel == "locked")
  expect_equal(nrow(row), 1)
  expect_equal(row$verdict, "detected")
  share <- 100e-6 * row$raw_locked[[1]]$bursts_per_s
  expect_equal(row$estimate, 100 * share / (1 - share), tolerance = 0.05)
  expect_true(row$ci_low < row$estimate & row$ci_high > row$estimate)
  expect_equal(row$unit_of_inference, "burst")
  expect_equal(row$test_kind, "shifts")
  expect_gt(row$detection_limit, 0)
})

test_that("launches together have it, too, and bursts that cost nothing are not detected", {
  dir <- add_slices(local_campaign(pairs = 60, launches = 2, levels_percent = 1, operations = "barrier", seed = 2), cost_us = 0)
  rows <- subset(analyze_campaign(read_campaign(dir))$verdicts, channel == "locked")
  expect_setequal(rows$scope, c(scope_launch, scope_these, scope_campaign))
  expect_equal(unique(rows$verdict[rows$scope == scope_these]), "not detected")
  expect_equal(subset(rows, scope == scope_these)$n_launches, 2)
})

test_that("bursts on CPUs without a rank do not count, and without a trace there is no row", {
  dir <- add_slices(local_campaign(pairs = 20, levels_percent = 1, operations = "barrier", seed = 2))
  trace <- list.files(dir, "generator", recursive = TRUE, full.names = TRUE)
  edit_lines(trace, function(lines) sub("\t[0-9]+$", "\t999", lines))
  campaign <- read_campaign(dir)
  on <- which(campaign$rows$arm == "on")
  got <- locked_of_rows(campaign, names(campaign$launches), on, 0.01, 0.99)
  expect_equal(got$n_bursts, 0)
  unlink(trace)
  got <- locked_of_rows(campaign, names(campaign$launches), on, 0.01, 0.99)
  expect_equal(got[c("state", "reason")], data.frame(state = "unrecorded", reason = "no bursts of the generator were recorded"))
  expect_false("locked" %in% analyze_campaign(campaign)$verdicts$channel)
})

test_that("a launch with an agent has a row per operation, and one without slices says so", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 10, seed = 1)
  got <- locked_by_launch(read_campaign(dir))
  expect_equal(got$state, "unrecorded")
  expect_match(got$reason, "no slices")
  expect_equal(names(got), c("launch", "operation", "bytes", names(locked_columns), "figure", "watched_s", "is_quick", "beyond"))
})

test_that("a node that had the load and lacks its slices leaves no figure, and is named", {
  dir <- add_slices(local_campaign(pairs = 20, levels_percent = 1, operations = "barrier", seed = 2))
  campaign <- read_campaign(dir)
  id <- names(campaign$launches)
  host <- as.character(campaign$ranks$host[1])
  path <- campaign$paths[[id]]
  more <- campaign$ranks[1, ]
  more$host <- "node9"
  campaign$ranks <- rbind(campaign$ranks, more)
  file.copy(file.path(path, paste0("generator.", host, ".trace")), file.path(path, "generator.node9.trace"))
  got <- locked_of_rows(campaign, id, which(campaign$rows$arm == "on"), 0.01, 0.98)
  expect_equal(got[c("state", "reason")], data.frame(state = "unrecorded", reason = "no slices of node9"))
})

test_that("a record that had no room for all bursts gives no figure by bursts", {
  file <- file.path(local_folder(), "bursts.n1.trace")
  campaign <- list(bursts = data.frame(launch = "one", host = "n1", file = file),
                   tasks = data.frame(launch = "one", host = "n1", task = "top", group = "agent"))
  record <- function(not_kept) {
    writeLines(c("# origin_monotonic_ns: 0", paste("# not_kept:", not_kept), "0\t41000\t0\t-\ttop"), file)
    recorded_bursts_of_agent(campaign, "one", "n1")
  }
  expect_equal(nrow(record(0)), 1)
  expect_match(record(17), "^17 bursts found no room in the record")
  # of nobody's name: the agent's, unless by its own account it took nothing there
  campaign$tasks$group <- "other"
  campaign$agents <- data.frame(launch = "one", host = "n1", agent_on_ranks_ns = c(0, 400))
  expect_match(record(0), "^whose bursts they were is not recorded")
  campaign$agents$agent_on_ranks_ns <- 0
  expect_equal(nrow(record(0)), 0)
})

test_that("each launch of an agent is judged on the others' records, too", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 12, launches = 3, operations = "barrier", bytes = 0, agent_burst_ns = 5e5, seed = 3)
  campaign <- read_campaign(add_agent_slices(dir, 500), arms = "any")
  got <- locked_by_launch(campaign)
  expect_equal(got$launch, names(campaign$launches))
  expect_true(all(got$state == "measured" & got$p_value < 1e-6))
  rows <- lapply(names(campaign$launches), function(id) which(campaign$rows$launch == id & campaign$rows$arm == "on"))
  tracks <- Map(function(id, at) track_of_rows(campaign, id, at, read_slices), names(campaign$launches), rows)
  expect_equal(got$limit_percent[2], locked_cost(tracks[[2]], 0.01, 0.98, others = unname(tracks[-2]))$limit_percent)
  expect_gt(got$limit_percent[2], locked_cost(tracks[[2]], 0.01, 0.98)$limit_percent * (1 - 1e-9))
})
