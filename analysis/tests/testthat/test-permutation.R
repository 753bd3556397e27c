test_that("3 + 3 launches have the 20 relabelings that can be counted by hand", {
  # 4, 5, 6 is the largest of choose(6, 3) = 20 sums; its mirror image counts, too.
  got <- permutation_test(c(1, 2, 3), c(4, 5, 6))
  expect_equal(got[c("p_two_sided", "smallest_p")], list(p_two_sided = 2 / 20, smallest_p = 2 / 20))
  # Sums of three that reach 3 + 5 + 6 = 14: 3 5 6 and 4 5 6; as far below: 1 2 3 and 1 2 4.
  expect_equal(permutation_test(c(1, 2, 4), c(3, 5, 6))$p_two_sided, 4 / 20)
})

test_that("unequal sizes count either tail once: 1 + 3", {
  # 4 relabelings: y may lack 1, 2, 3 or 10. Differences from the mean of all: 3, 2, 1, -6 for the sum of y.
  got <- permutation_test(10, c(1, 2, 3))
  expect_equal(c(got$p_two_sided, got$smallest_p), c(1, 1) / 4)
})

test_that("p-values depend neither on the unit nor on where 0 is", {
  x <- c(0.1, 0.35, 0.2, 0.7)
  y <- c(0.3, 0.9, 0.8)
  one <- permutation_test(x, y)
  for (other in list(permutation_test(1e9 + 1e3 * x, 1e9 + 1e3 * y), permutation_test(1e-9 * x, 1e-9 * y))) {
    expect_equal(other$p_two_sided, one$p_two_sided)
  }
})

test_that("beyond the number that is enumerated, random relabelings give nearly the same, and the same every time", {
  x <- c(3, 1, 4, 1, 5, 9, 2, 6)
  y <- c(5, 3, 5, 8, 9, 7, 9, 3)
  exact <- permutation_test(x, y)
  drawn <- permutation_test(x, y, relabelings = 10000)
  expect_match(exact$method, "exact")
  expect_match(drawn$method, "Monte Carlo")
  # Four standard errors of a share out of 10,000.
  expect_lt(abs(exact$p_two_sided - drawn$p_two_sided), 4 * sqrt(exact$p_two_sided * (1 - exact$p_two_sided) / 10000))
  set.seed(1)
  before <- .Random.seed
  expect_equal(permutation_test(x, y, relabelings = 10000), drawn)
  expect_equal(.Random.seed, before)
  # The one seen counts, so none is smaller than 1 / relabelings.
  expect_equal(permutation_test(1:20, 101:120)$p_two_sided, 1 / 20000)
})

test_that("empty, single and constant samples", {
  expect_true(is.na(permutation_test(numeric(), 1:3)$p_two_sided))
  expect_equal(permutation_test(1, 2)$p_two_sided, 1)
  expect_equal(permutation_test(c(2, 2), c(2, 2, 2))$p_two_sided, 1)
})

test_that("without a difference the test at 5 % errs in 5 % of samples", {
  p <- with_seed(7, replicate(2000, permutation_test(rnorm(4), rnorm(5))$p_two_sided))
  # 126 relabelings: the largest share not above 5 % is 6/126. Bounds: binomial, 99.9 %.
  expect_true(sum(p <= 0.05) >= qbinom(0.0005, 2000, 6 / 126) && sum(p <= 0.05) <= qbinom(0.9995, 2000, 6 / 126))
})
