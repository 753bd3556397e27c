test_that("the values of the channels are those of their formulas", {
  rows <- data.frame(wall_ns = 1e7, operations = 5000, preempted_ns_sum = 1e5, detour_ns = 2e5,
                     base_ns = 1900, steal_ns = 1e6)
  value <- function(name, n = 1) channels[[name]]$value(rows, n)
  expect_equal(vapply(c("time", "preempted", "detour", "base", "steal"), value, 0), c(2000, 1, 2, 1900, 10),
               ignore_attr = TRUE)
  expect_equal(value("preempted", 2), 0.5)
})

test_that("with synchronised starts the time is that of all ranks, elsewhere the loop's", {
  rows <- data.frame(wall_ns = c(1e7, 1e7), operations = 5000, global_ns = c(5e6, NA),
                     spread_ns = c(1e5, 2e5))
  got <- lapply(channels[c("time", "arrival")], function(channel) channel$value(rows, 1))
  expect_equal(got, list(time = c(1000, 2000), arrival = c(20, 40)))
  expect_equal(operation_ns_at(rows, 2), 2000)
})

test_that("channels of synchronised starts are analyzed only when asked for, and then decide nothing else", {
  expect_equal(check_channels(NULL), c("time", "preempted", "locked", "detour", "base", "steal"))
  dir <- local_starts(pairs = 12, levels_percent = c(0, 5))
  campaign <- read_campaign(dir)
  default <- analyze_campaign(campaign)$verdicts
  expect_equal(unique(default$channel), c("time", "preempted", "detour", "base", "steal"))
  all <- analyze_campaign(campaign, channels = names(channels))$verdicts
  shared <- all[all$channel %in% default$channel, ]
  expect_equal(shared, default, ignore_attr = TRUE)
  expect_setequal(setdiff(all$channel, default$channel), "arrival")
  # in loops they are not there, and that is said
  got <- analyze_campaign(simulated_campaign(pairs = 10, levels_percent = 5), channels = c("time", "arrival"))
  expect_equal(unique(got$verdicts$channel), "time")
  expect_match(got$notes, "channel arrival: not measured", all = FALSE)
})

test_that("a time below 0, from a clock that jumped, has no logarithm and no warning", {
  expect_equal(log_or_na(c(1, 0, -5, NA)), c(0, NA, NA, NA))
})

test_that("an unknown channel is refused", {
  expect_error(check_channels("tiem"), "tiem", class = "nl_error_usage")
})

test_that(paste0("a channel's value is the expression of the contract, and columns that are not there are ",
                 "no value"), {
  value <- channel_value("100 * detour_ns / (wall_ns * n_generators)")
  expect_equal(value(data.frame(detour_ns = c(1, 4), wall_ns = c(10, 20)), 2), c(5, 10))
  expect_length(value(data.frame(wall_ns = 10), 1), 0)
  expect_null(channel_value(NA))
  columns <- column_tables$halves$name
  for (one in channels) {
    expect_equal(setdiff(one$columns, columns), character(),
                 info = sprintf("columns of %s in common/contract/channels.table that halves.table lacks",
                                one$name))
  }
})

test_that("estimates name every channel as the schema allows", {
  rows <- jsonlite::read_json(system.file("schema", "analysis.json", package = "noiselab"))$properties
  columns <- rows$estimates$items$properties
  for (one in channels) {
    expect_true(one$name %in% unlist(columns$channel$enum),
                info = paste(one$name, "of channels.table is not in analysis/inst/schema/analysis.json"))
    expect_match(one$quantity, columns$quantity$pattern, info = one$name)
  }
  for (name in unlist(columns$channel$enum)) {
    expect_true(name %in% names(channels), info = paste(name, "is not in common/contract/channels.table"))
  }
})
