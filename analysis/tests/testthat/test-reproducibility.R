test_that("the relative standard error and its interval are those computed by hand", {
  got <- relative_error(c(9, 10, 11), 0.95)
  expect_equal(got$rse_percent, 100 / (10 * sqrt(3)))
  expect_equal(got$sd_ns, 1)
  # chi-square quantiles at 2 degrees of freedom, from a table
  expect_equal(got$rse_low_percent, got$rse_percent * sqrt(2 / 7.3778), tolerance = 1e-4)
  expect_equal(got$rse_high_percent, got$rse_percent * sqrt(2 / 0.050636), tolerance = 1e-4)
  expect_equal(relative_error(rep(5, 4), 0.95)$rse_percent, 0)
  two <- relative_error(c(1, 2), 0.95)
  expect_equal(two$reason, "2 launches, the RSE needs 3")
  expect_true(is.na(two$rse_percent))
  expect_true(is.na(relative_error(1, 0.95)$sd_ns))
})

test_that("launches are put together by operation, size and ranks; their means count all starts", {
  dir <- local_starts(pairs = 2, launches = 3, arms = "off", design = "single", base_sd = 0.05,
                      operations = c("barrier", "bcast"))
  simulate_campaign(dir, pairs = 2, launches = 4, ranks = 3, arms = "off", design = "single",
                    levels_percent = 0, start = "round", half_period_ns = 6e4, base_sd = 0.05,
                    prefix = "three", seed = 2)
  campaign <- read_campaign(dir, arms = "any")
  table <- reproducibility(campaign)
  expect_setequal(paste(table$operation, table$ranks, table$n_launches),
                  c("barrier 2 3", "barrier 3 4", "bcast 2 3"))
  rows <- as.data.frame(campaign$rows)
  rows <- rows[rows$operation == "bcast", ]
  means <- rows$global_ns / rows$operations
  expect_equal(table$rse_percent[table$operation == "bcast"], 100 * sd(means) / mean(means) / sqrt(3))
  got <- status_of("noiselab-analyze", "reproducibility", "--all", dir)
  expect_equal(got$status, 0L)
  expect_match(got$out, "RSE %", all = FALSE)
  expect_equal(
    jsonlite::fromJSON(
      status_of("noiselab-analyze", "reproducibility", "--json", "--alpha", "0.05", dir)$out
    )$confidence,
    0.95
  )
})

test_that("with fewer than 3 launches there is no answer", {
  dir <- local_starts(launches = 2)
  got <- status_of("noiselab-analyze", "reproducibility", dir)
  expect_equal(got$status, 3L)
  expect_match(got$err, "at most 2 launch\\(es\\).*it needs 3")
})
