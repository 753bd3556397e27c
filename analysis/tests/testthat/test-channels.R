test_that("the values of the channels are those of their formulas", {
  rows <- data.frame(wall_ns = 1e7, operations = 5000, stolen_ns_sum = 1e5, detour_ns = 2e5,
                     base_ns = 1900, steal_ns = 1e6)
  value <- function(name, n = 1) channels[[name]]$value(rows, n)
  expect_equal(value("time"), 2000)
  expect_equal(value("stolen"), 1)
  expect_equal(value("stolen", 2), 0.5)
  expect_equal(value("detour"), 2)
  expect_equal(value("base"), 1900)
  expect_equal(value("steal"), 10)
})

test_that("the channel table has a row per channel and an unknown channel is refused", {
  expect_equal(channel_table()$name, names(channels))
  expect_error(check_channels("tiem"), "tiem", class = "nl_error_usage")
})
