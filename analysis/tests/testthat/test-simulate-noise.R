draw <- function(name, n, ..., slot_s = 0.01, seed = 1) {
  limits <- lapply(noise_models[[name]]$parameters, `[[`, 1)
  model <- utils::modifyList(c(limits, slot_s = slot_s), list(...))
  with_seed(seed, noise_models[[name]]$draw(n, (seq_len(n) - 1) * slot_s, model))
}

test_that("every model of the table draws finite noise of the wanted length, none below 0 where time is lost", {
  for (name in names(noise_models)) {
    expect_equal(noise_models[[name]]$name, name)
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

test_that("the spectrum of 1/f wander falls with its exponent", {
  slope <- function(exponent) {
    power <- rowMeans(vapply(1:20, function(seed) {
      x <- draw("one_over_f", 4096, exponent = exponent, seed = seed)
      Mod(stats::fft(x - mean(x)))[2:400]^2
    }, numeric(399)))
    unname(stats::coef(stats::lm(log(power) ~ log(1:399)))[2])
  }
  for (exponent in c(0, 0.7, 1, 1.5)) expect_lt(abs(slope(exponent) + exponent), 0.1)
})

test_that("spikes have the rate, the tail and the median asked for", {
  pareto <- draw("pareto", 1e5, rate = 1, index = 1.5, scale_ns = 1000)
  # P(X > x) = (1 + x / scale)^-index
  for (x in c(1e3, 1e4, 1e5)) expect_equal(mean(pareto > x), (1 + x / 1000)^-1.5, tolerance = 0.1)
  expect_equal(mean(draw("pareto", 1e5, rate = 0.02) > 0), 0.02, tolerance = 0.1)
  lognormal <- draw("lognormal", 1e5, rate = 0.5, median_ns = 3000, sd_log = 2)
  expect_equal(mean(lognormal > 0), 0.5, tolerance = 0.02)
  expect_equal(stats::median(lognormal[lognormal > 0]), 3000, tolerance = 0.05)
  expect_equal(stats::sd(log(lognormal[lognormal > 0])), 2, tolerance = 0.02)
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

test_that("models add up, in any number, and parameters come from the list, the arguments or the table", {
  model <- function(...) with_parameters(..., table = noise_models)
  expect_equal(model("white"), list(white = list(sd = 0.004)))
  expect_equal(model("white", defaults = list(white = list(sd = 1))), list(white = list(sd = 1)))
  expect_equal(model(list(white = list(sd = 2), drift = list()), defaults = list(white = list(sd = 1)))$white$sd, 2)
  expect_equal(model(character()), stats::setNames(list(), character()))
  by_argument <- simulated_campaign(pairs = 5, jitter_sd = 0.5, wander_phi = 0.1)$rows
  noise <- list(ar1 = list(phi = 0.1), pareto = list(), white = list(sd = 0.5))
  by_list <- simulated_campaign(pairs = 5, noise = noise)$rows
  expect_identical(by_argument, by_list)
})
