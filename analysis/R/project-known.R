# How well a record knows the noise of a node: the noise with as few, or as many, bursts as it allows.

# `most` costs, the costliest one by one; `draws` of what the rates may be, of which those around the demanded quantile are averaged.
known_design <- list(single = 40, groups = 100, draws = 2000)

# What the chain of waits and a simulation of single ranks differ by, at most (test-project.R; docs/methods.md).
model_share <- 0.01

# Means of the costs above the costliest that was seen, of eight parts as likely, by the tail's shape; where that is not known or bounds them: as costly as
# that one.
costs_beyond <- function(tail, longest_s) {
  if (is.na(tail$shape)) return(longest_s)
  shape <- min(tail$shape, tail_design$most_shape)
  spread <- tail$scale_s + shape * (longest_s - tail$threshold_s)
  if (spread <= 0) return(longest_s)
  # The mean over a part of what survives, of a generalised Pareto distribution.
  end <- seq(0, 8) / 8
  upto <- if (abs(shape) < 1e-6) end - ifelse(end > 0, end * log(end), 0) else (end^(1 - shape) / (1 - shape) - end) / shape
  longest_s + spread * 8 * diff(upto)[8:1]
}

# Costs in groups, the costliest first: `cost_s` (mean), `n` of bursts.
group_costs <- function(costs_s) {
  n <- length(costs_s)
  ends <- exp(seq(log(known_design$single), log(max(n, known_design$single)), length.out = known_design$groups - known_design$single))
  ends <- unique(c(pmin(n, c(seq_len(known_design$single), round(ends))), n))
  group <- findInterval(seq_len(n) - 1, ends) + 1
  list(cost_s = as.numeric(rowsum(rev(costs_s), group)) / tabulate(group), n = tabulate(group))
}

#' The noise that a record just allows
#'
#' Of every threshold the rate of bursts beyond it is known as that of a Poisson process of which k were seen: Gamma(k) from below, Gamma(k + 1) from above.
#' One random process has these at all thresholds: independent exponential rates for each burst seen, and from above one more beyond the costliest. What it
#' costs is simulated; the quantile is that of the cost, not of each rate for itself.
#'
#' @param noise From `node_noise()`.
#' @param upper The upper end? Else the lower.
#' @param alpha Probability, length 1: of both sides together.
#' @param demand List: `nodes`, `work_s`, `phase`, `stretch` (slowdown, a share: steps last so much longer).
#' @param seed Number, length 1.
#' @return `noise`, with `weights` of its costs: the mean of the draws around that quantile.
#' @references Garwood (1936) for the limits; Cui and Hannig (2019) Nonparametric generalized fiducial inference for survival functions.
#' @noRd
noise_bound <- function(noise, upper, alpha, demand, seed = 1) {
  if (!is.finite(noise$watched_s)) return(noise)
  groups <- group_costs(noise$costs_s)
  draws <- known_design$draws
  cost_s <- groups$cost_s
  masses <- with_seed(seed, {
    seen <- matrix(stats::rgamma(draws * length(cost_s), rep(groups$n / noise$dispersion, each = draws)), draws)
    list(seen = seen, more = stats::rexp(draws))
  })
  if (upper) {
    beyond <- costs_beyond(noise$tail, max(noise$costs_s))
    masses$seen <- cbind(matrix(masses$more / length(beyond), draws, length(beyond)), masses$seen)
    cost_s <- c(rev(beyond), cost_s)
  }
  # Of a period the number of bursts is known, and how many are as costly is not.
  rates <- if (is.na(noise$period_s)) masses$seen * noise$dispersion / noise$watched_s else {
    noise$rate_hz * masses$seen / (rowSums(masses$seen) + if (upper) 0 else masses$more)
  }
  around <- (if (upper) 1 - alpha / 2 else alpha / 2) + c(-1, 1) * alpha / 4
  chosen <- order(about_cost(rates, cost_s, demand))[seq(max(1, ceiling(around[1] * draws)), floor(around[2] * draws))]
  rate <- colMeans(rates[chosen, , drop = FALSE])
  noise$rate_hz <- sum(rate)
  noise$weights <- rev(rate / sum(rate))
  noise$costs_s <- rev(cost_s)
  noise
}

# What rates (a row each, the costliest first) cost, about: only their order counts. Of many nodes the mean of the largest that a step meets.
about_cost <- function(rates, costs_s, demand) {
  beyond <- rates
  for (j in seq_len(ncol(rates))[-1]) beyond[, j] <- beyond[, j - 1] + rates[, j]
  width <- -diff(c(costs_s, 0))
  n <- demand$nodes
  all <- beyond[, ncol(beyond)]
  met <- if (n == 1) beyond else if (demand$phase == "common") all * (1 - (1 - beyond / all)^n) else 1 - exp(-n * demand$work_s * (1 + demand$stretch) * beyond)
  as.numeric(met %*% width)
}

# Noise whose bursts all cost so many times more.
noise_scaled <- function(noise, factor) {
  noise$costs_s <- noise$costs_s * factor
  noise
}

# Rates of what was never seen: bursts of `longest_s`, as often as the record does not exclude.
noise_with_unseen <- function(noise, longest_s, alpha) {
  unseen_hz <- -log(alpha / 2) / noise$watched_s
  rate_hz <- c(noise_weights(noise) * noise$rate_hz, unseen_hz)
  noise$costs_s <- c(noise$costs_s, max(longest_s, noise$costs_s))
  noise$rate_hz <- sum(rate_hz)
  noise$weights <- rate_hz / sum(rate_hz)
  noise
}
