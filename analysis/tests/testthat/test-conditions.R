test_that("a wrong argument says its name, the value got and the value wanted", {
  expect_error(plan_pairs(1, 1, alpha = 2), "'alpha': got 2, wanted one number between 0 and 1", class = "nl_error_usage")
})
