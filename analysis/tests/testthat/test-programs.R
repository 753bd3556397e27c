test_that("every program of the package prints its help, with every option", {
  for (name in names(programs())) {
    got <- status_of(name, "--help")
    expect_equal(got$status, 0L)
    expect_match(got$out[1], paste0("Usage: ", sub("-", " ", name)))
    for (o in programs()[[name]]$options()) expect_match(got$out, paste0("^  --", o$name, "( |$)"), all = FALSE)
  }
})

test_that("an unknown program is refused", {
  expect_error(run_program("noiselab-none"), class = "nl_error_usage")
})
