# Steps whose synchronisation takes time itself, or is none of all nodes: simulated message by message.

project_patterns <- c("barrier", "allreduce", "bcast", "reduce", "ring", "alltoall", "halo2d", "halo3d")

# How much is simulated: draws, and steps of each; `most`: ranks x rounds x steps x draws, and the least of steps and draws for which that must do.
project_simulation <- list(draws = 60, steps = 300, periods = 2, most = 5e7, least_draws = 4, least_steps = 40, quiet = c(16L, 64L))

# Rounds of a pattern, about; for what it costs to simulate.
pattern_rounds <- function(name, n) switch(name, ring = 2 * (n - 1), alltoall = n - 1, halo2d = 4, halo3d = 6, ceiling(log2(n)) + 2)

#' Slowdown of steps with a pattern of messages
#'
#' @param noise From `node_noise()`, without weights.
#' @param n Number of nodes.
#' @param work_s Work of a step, s.
#' @param spread_s NULL: phases are independent; else they lie within that time.
#' @param pattern List: `name` (of `project_patterns`), `bytes`, `latency_s`, `overhead_s` (of CPU time, for each message on both sides),
#'   `per_byte_s`.
#' @return List: `value` (the slowdown against the same steps without noise, a share, mean over draws), `low`, `high` (quantiles), `method`.
#' @references Alexandrov, A. et al. (1995) LogGP. Hoefler, T., Schneider, T. and Lumsdaine, A. (2010) Characterizing the influence of system noise on
#'   large-scale applications by simulation.
#' @noRd
simulated_slowdown <- function(noise, n, work_s, spread_s, pattern, alpha, seed) {
  plan <- simulation_plan(noise, n, work_s, pattern)
  form <- noise_form(noise, spread_s)
  costs <- some_costs(noise$costs_s)
  each <- function(form, ends, draws) {
    got <- simulated_ends(pattern, n, work_s, ends, form, costs, draws, seed)
    (got[2, ] - got[1, ]) / diff(ends)
  }
  draws <- each(form, c(plan$steps %/% 4L, plan$steps), plan$draws) / each(c(0, 0, 0), project_simulation$quiet, 1L) - 1
  ends <- stats::quantile(draws, c(alpha / 2, 1 - alpha / 2), names = FALSE)
  list(value = mean(draws), low = ends[1], high = ends[2], method = "simulated")
}

# What the sources in C take: period (0: none), range of phases, bursts per s.
noise_form <- function(noise, spread_s = NULL) c(if (is.na(noise$period_s)) 0 else noise$period_s, spread_s %||% noise$period_s, noise$rate_hz)

# When the last rank is done with each of the steps `ends`, s: a row each, a column per draw. `form`: `noise_form()`.
simulated_ends <- function(pattern, n, work_s, ends, form, costs_s, draws, seed) {
  .Call("maxplus", pattern$name, n, pattern$bytes, c(pattern$latency_s, pattern$overhead_s, pattern$per_byte_s), form, costs_s, work_s,
        as.integer(ends), as.integer(draws), seed, PACKAGE = "noiselab")
}

simulation_plan <- function(noise, n, work_s, pattern) {
  plan <- project_simulation
  each <- n * (pattern_rounds(pattern$name, n) + 1)
  steps <- max(plan$steps, if (!is.na(noise$period_s)) plan$periods * noise$period_s / work_s)
  steps <- max(plan$least_steps, min(steps, plan$most / (each * plan$least_draws)))
  draws <- max(plan$least_draws, min(plan$draws, plan$most / (each * steps)))
  if (each * steps * draws > 40 * plan$most) {
    abort_usage("--pattern: ", pattern$name, " on ", format_count(n), " nodes is too much to simulate (", format_level(each * steps * draws), " messages): fewer --nodes")
  }
  list(steps = as.integer(steps), draws = as.integer(draws))
}
