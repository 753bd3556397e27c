test_that("a wrong argument says its name, the value got and the value wanted", {
  expect_error(detection_limit(1, 10, alpha = 2), "'alpha': got 2, wanted one number between 0 and 1", class = "nl_error_usage")
})
