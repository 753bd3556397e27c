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
