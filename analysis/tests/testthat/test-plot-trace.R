test_that("the share at or above each bin is counted from the tail", {
  got <- ccdf_from_hist(c(10, 20, 30), c(90, 9, 1))
  expect_equal(got$probability, c(1, 0.1, 0.01))
})

test_that("histograms are merged by adding counts", {
  got <- ccdf_from_hist(c(20, 10, 20), c(1, 2, 1))
  expect_equal(got$lo_ns, c(10, 20))
  expect_equal(got$probability, c(1, 0.5))
})

test_that("no bin and one bin are handled", {
  expect_equal(nrow(ccdf_from_hist(numeric(), numeric())), 0)
  expect_equal(ccdf_from_hist(5, 3)$probability, 1)
})
