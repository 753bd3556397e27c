draw <- function(name, n, ..., slot_s = 0.01, seed = 1) {
  model <- utils::modifyList(c(noise_models[[name]]$parameters, slot_s = slot_s), list(...))
  with_seed(seed, noise_models[[name]]$draw(n, (seq_len(n) - 1) * slot_s, model))
}

test_that("every model of the table draws finite noise of the wanted length, none below 0 where time is lost", {
  for (name in names(noise_models)) {
    for (n in c(1, 2, 500)) {
      x <- draw(name, n)
      expect_length(x, n)
      expect_true(all(is.finite(x)))
      if (noise_models[[name]]$part == "lost") expect_true(all(x >= 0))
    }
  }
  expect_setequal(vapply(noise_models, `[[`, "", "part"), c("speed", "lost", "scatter"))
})

test_that("fractional noise is white for exponent 0, its sum for 2, and follows the filter between", {
  e <- c(1, -2, 0.5, 3)
  expect_equal(fractional_noise(e, 0), e)
  expect_equal(fractional_noise(e, 2), cumsum(e))
  # weights 1, 1/2, 3/8, 5/16 for 1/f
  expect_equal(fractional_noise(c(1, 0, 0, 0), 1), c(1, 1 / 2, 3 / 8, 5 / 16))
  expect_equal(fractional_noise(e, 1)[3], 0.5 - 2 / 2 + 3 / 8)
  expect_equal(fractional_noise(5, 1), 5)
})

test_that("wander shows in time and base, lost time in time and preempted, scatter in time alone", {
  spread <- function(...) {
    rows <- simulated_campaign(levels_percent = 0, pairs = 50, noise = list(...))$rows
    c(time = stats::sd(rows$wall_ns), base = stats::sd(rows$base_ns), preempted = max(rows$preempted_ns_sum)) >
      c(100, 0.1, 2000)
  }
  seen <- function(...) names(which(spread(...)))
  expect_equal(seen(), character())
  expect_equal(seen(ar1 = list()), c("time", "base"))
  expect_equal(seen(pareto = list(rate = 1)), c("time", "preempted"))
  expect_equal(seen(white = list()), "time")
})
