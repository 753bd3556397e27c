test_that("a campaign in memory is what the reader makes of the files", {
  arguments <- list(pairs = 2, levels_percent = c(0, 1), operations = c("barrier", "allreduce"),
                    bytes = c(0, 8), launches = 2, kinds = c("spin", "cache"),
                    patterns = c("periodic", "poisson"), half_period_ns = 4e7, launch_sd = 0.01,
                    base_sd = 0.02, noise = c("one_over_f", "lognormal", "white"), seed = 3)
  for (design in c("lockin", "launches")) {
    arguments[c("design", "launches")] <- list(design, if (design == "launches") 1 else 2)
    dir <- tempfile()
    truth <- do.call(simulate_campaign, c(dir, arguments))
    read <- read_campaign(dir)
    unlink(dir, recursive = TRUE)
    memory <- do.call(simulated_campaign, arguments)
    order <- order(match(read$rows$launch, names(memory$launches)))
    expect_equal(as.data.frame(memory$rows), as.data.frame(read$rows)[order, ], ignore_attr = "row.names")
    expect_equal(memory$launches, read$launches[names(memory$launches)])
    expect_equal(attr(memory, "truth"), truth)
  }
})

# A placebo treats nothing, so what is left is the machine.
machine <- function(...) {
  rows <- simulated_campaign(levels_percent = 0, pairs = 30, launches = 2, base_sd = 0.1, ...)$rows
  rows[, c("launch", "start_ns", "wall_ns", "preempted_ns_sum", "base_ns")]
}

test_that("the noise belongs to the time slots: another coin changes the arms, not the machine", {
  noise <- list(ar1 = list(), one_over_f = list(), drift = list(), pareto = list(rate = 1),
                lognormal = list(), agent = list(), white = list())
  arms <- function(...) simulated_campaign(levels_percent = 0, pairs = 30, launches = 2, ...)$rows$arm
  for (design in c("lockin", "launches")) {
    same <- machine(seed = 4, noise = noise, design = design)
    expect_identical(machine(seed = 4, coin_seed = 5, noise = noise, design = design), same)
    expect_false(identical(machine(seed = 5, noise = noise, design = design), same))
    expect_false(identical(arms(seed = 4, design = design), arms(seed = 4, coin_seed = 6, design = design)))
    expect_identical(arms(seed = 4, design = design), arms(seed = 4, coin_seed = 4, design = design))
    expect_identical(arms(seed = 4, coin_seed = 6, design = design),
                     arms(seed = 5, coin_seed = 6, design = design))
  }
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
