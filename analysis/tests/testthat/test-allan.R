test_that("the Allan deviation of an alternating series is known", {
  got <- allan_deviation(rep(c(0, 1), 30), 0.5)
  expect_equal(got$deviation[got$m == 1], sqrt(1 / 2))
  expect_equal(got$deviation[got$m == 2], 0)
  expect_equal(got$tau_s, got$m * 0.5)
})

test_that("it agrees with its definition on a plain loop", {
  x <- sin(1:40) + (1:40) / 10
  m <- 4
  means <- vapply(1:37, function(i) mean(x[i:(i + 3)]), 0)
  wanted <- sqrt(mean((means[5:37] - means[1:33])^2) / 2)
  got <- allan_deviation(x, 1)
  expect_equal(got$deviation[got$m == m], wanted)
})

test_that("empty, short and constant series are handled", {
  expect_equal(nrow(allan_deviation(numeric(), 1)), 0)
  expect_equal(nrow(allan_deviation(1, 1)), 0)
  expect_equal(allan_deviation(rep(3, 10), 1)$deviation[1], 0)
  expect_error(allan_deviation(1:5, 0), "tau0_s", class = "nl_error_usage")
})
