test_that("the monotone fit is that of isoreg", {
  set.seed(1)
  for (k in c(1, 2, 5, 9)) {
    y <- stats::rnorm(k)
    expect_equal(monotone_fit(y), stats::isoreg(y)$yf)
  }
  # Weights: 3 and 2 are pooled, 2 counts twice.
  expect_equal(monotone_fit(c(1, 3, 2), c(1, 1, 2)), c(1, 7 / 3, 7 / 3))
  expect_equal(monotone_fit(numeric()), numeric())
})

test_that("rows of a matrix are fitted one by one", {
  rows <- rbind(c(1, 3, 2), c(3, 2, 1), c(1, 2, 3))
  expect_equal(monotone_fit(rows, c(1, 1, 2)), t(apply(rows, 1, monotone_fit, weight = c(1, 1, 2))))
})

test_that("the level that reaches an effect lies on the line between two levels", {
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 1.1), 0.55)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 0.1), 0.05)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 2), 1)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 2.1), Inf)
  # An effect below 0 counts as none, and the first level that reaches it is taken.
  expect_equal(level_reaching(c(1, 2, 3), c(-1, 1, 1), 1), 2)
  expect_equal(level_reaching(c(1, 2), rbind(c(1, 2), c(2, 4)), c(1.5, 1)), c(1.5, 0.5))
})

test_that("a line fits a line and not a curve", {
  expect_equal(lack_of_fit(c(1, 2, 3), c(2, 4, 6), c(1, 1, 1)), 1)
  expect_lt(lack_of_fit(c(1, 2, 3), c(0, 0, 6), rep(0.1, 3)), 1e-6)
  expect_true(is.na(lack_of_fit(1, 2, 1)))
})
