test_that("a limit that no figure can break or keep is refused with file and line", {
  expect_error(limits_of("", "latency.half_round_trip <= 1e999 us"), ":2: '1e999' is not a number that can be a limit",
               class = "nl_error_damaged")
  expect_error(limits_of("latency.half_round_trip <= 1e400 us"), ":1: ", class = "nl_error_damaged")
})

test_that("a limit on the wrong side of a figure is refused with file and line, and says the right one", {
  expect_error(limits_of("latency.half_round_trip >= 3 us"), ":1: .*more is worse \\(write <=\\)", class = "nl_error_damaged")
  expect_error(limits_of("", "", "bandwidth.one_way <= 1 GB/s"), ":3: .*less is worse \\(write >=\\)", class = "nl_error_damaged")
})

test_that("a misspelt variant is refused with file, line and what may have been meant, and those that there are are taken", {
  expect_error(limits_of("latency.betwen.half_round_trip <= 3 us"), ":1: unknown variant 'betwen' of latency.*between",
               class = "nl_error_damaged")
  expect_error(limits_of("detour.alone.alone.lost <= 3 %"), "unknown variant", class = "nl_error_damaged")
  got <- limits_of("topology.grid2d:4x2.per_channel >= 1 GB/s", "opcost.isend+wait.published <= 9 us", "detour.all.p99.9 <= 9 us")
  expect_equal(got$variant, c("grid2d:4x2", "isend+wait", "all"))
  expect_error(limits_of("topology.grid2d:4.0x2.per_channel >= 1 GB/s"), "unknown variant", class = "nl_error_damaged")
})

test_that("means and deviations that nobody measured are refused in place of being searched for minutes", {
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  for (row in c("1,1e308,5", "1e308,1,5", "1,1e-300,5", "1,1,1e300")) {
    writeLines(c("table,config,op,bytes,level_percent,mean_s,sd_s,n", "1,I,barrier,0,0,1,0.1,5", paste0("1,I,barrier,0,1,", row)), file)
    expect_error(read_summary(file), ":3: ", class = "nl_error_damaged")
  }
})
