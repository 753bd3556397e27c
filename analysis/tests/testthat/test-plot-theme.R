test_that("the pseudo-log axis is 0 at 0, odd, and grows by 1 per decade", {
  expect_equal(pseudo_log(0, 0.1), 0)
  expect_equal(pseudo_log(-2, 0.1), -pseudo_log(2, 0.1))
  expect_equal(pseudo_log(1000, 0.01) - pseudo_log(100, 0.01), 1, tolerance = 1e-6)
  expect_true(0 %in% pseudo_log_breaks(c(-1, 5), 0.1))
})

test_that("few decades get 2 and 5 as well", {
  expect_equal(pseudo_log_breaks(c(-5, 5), 1), c(-5, -2, -1, 0, 1, 2, 5))
})
