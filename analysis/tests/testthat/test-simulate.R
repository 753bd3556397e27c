test_that("the same seed writes the same rows, another seed other rows", {
  read <- function(seed) {
    dir <- local_campaign(pairs = 5, seed = seed)
    readLines(halves_of(dir))
  }
  expect_identical(read(1), read(1))
  expect_false(identical(read(1), read(2)))
})

test_that("the truth is returned in the units of the analysis", {
  truth <- simulate_campaign(dir <- tempfile(), pairs = 2, levels_percent = c(0, 1), cost_ns = 2000)
  unlink(dir, recursive = TRUE)
  expect_equal(truth$stolen_percent, c(0, 1.02))
  expect_equal(truth$slowdown_percent, 1.5 * c(0, 1.02))
})

test_that("an existing launch is not overwritten and bad arguments are refused", {
  dir <- local_campaign(pairs = 2)
  expect_error(simulate_campaign(dir, pairs = 2), "exists already", class = "nl_error_usage")
  expect_error(simulate_campaign(tempfile(), pairs = 0), "'pairs'", class = "nl_error_usage")
  expect_error(simulate_campaign(tempfile(), design = "other"), "'design'", class = "nl_error_usage")
})

test_that("factors of treatment are crossed, and several CPUs are loaded each at the level", {
  dir <- tempfile()
  truth <- simulate_campaign(dir, pairs = 3, levels_percent = c(0, 1), kinds = c("spin", "cache"),
                             placements = c("last", "rank:0+rank:1"), treatment_factor = c(1, 2, 3, 4), cost_ns = 0)
  rows <- read_campaign(dir)$rows
  unlink(dir, recursive = TRUE)
  expect_equal(truth$kind, rep(c("spin", "cache"), each = 4))
  expect_equal(truth$slowdown_percent[truth$level_requested_percent == 1], 1.5 * 1:4)
  expect_equal(truth$stolen_percent[truth$level_requested_percent == 1], c(1, 2, 1, 2))
  on <- rows[rows$level_requested_percent == 1, ]
  expect_equal(on$level_delivered_percent, rep(1, nrow(on)), tolerance = 1e-3)
  expect_equal(on$delivered_ns / on$wall_ns, ifelse(on$placement == "last", 0.01, 0.02), tolerance = 1e-3)
  expect_equal(as.vector(table(on$kind, on$placement)), rep(3, 4))
})

test_that("patterns other than periodic have a varying number of bursts with the same mean", {
  bursts <- with_seed(1, lapply(treatment_words$pattern, function(p) draw_bursts(rep(p, 4000), 8)))
  names(bursts) <- treatment_words$pattern
  expect_equal(unique(bursts$periodic), 8)
  for (pattern in setdiff(names(bursts), "periodic")) {
    expect_gt(length(unique(bursts[[pattern]])), 2)
    expect_equal(mean(bursts[[pattern]]), 8, tolerance = 0.05)
  }
})

test_that("synchronised starts, and their raw file, follow from the seed too, and need a way to start", {
  read <- function(seed) {
    dir <- local_starts(raw = "starts.bin", seed = seed, late_rank = 1, nodes = 2)
    lapply(list.files(dir, "csv$|bin$", recursive = TRUE, full.names = TRUE), function(f) readBin(f, "raw", file.size(f)))
  }
  expect_identical(read(1), read(1))
  expect_false(identical(read(1), read(2)))
  expect_error(simulate_campaign(tempfile(), raw = "starts.bin"), "'raw'", class = "nl_error_usage")
  expect_error(simulate_campaign(tempfile(), start = "leap"), "'start'", class = "nl_error_usage")
})
