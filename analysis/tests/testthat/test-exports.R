test_that("the package exports what a person would call, and no more", {
  expect_equal(sort(getNamespaceExports("noiselab")),
               c("analyze_campaign", "read_campaign", "run_program", "write_report"))
})
