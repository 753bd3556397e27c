# How heavy the tail of what bursts cost is: whether a record carries the size asked for.

# What is fixed before anything is measured (Vehtari, Simpson, Gelman, Yao, Gabry 2024, Pareto smoothed importance sampling).
tail_design <- list(share = 0.2, per_root = 3, least = 5, most_shape = 0.7, prior = 10, prior_shape = 0.5)

#' The shape of the tail of costs
#'
#' @param costs_s Costs of bursts, s.
#' @return A list: `shape` (of a generalised Pareto distribution; 0 exponential, 1/a Pareto of index a, below 0 bounded; NA: fewer than 5 in the tail, or all
#'   alike), `scale_s`, `threshold_s`, `n` (bursts in the tail), `needed` (bursts that a mean over such a tail takes; Inf from shape 1 on), `heavy` (is the
#'   shape above what so many bursts can tell, or above 0.7?).
#' @references Zhang, J. and Stephens, M. A. (2009) A new and efficient estimation method for the generalized Pareto distribution. Vehtari, A. et al. (2024)
#'   Pareto smoothed importance sampling: size of the tail, weak prior of the shape, and the sample size that it needs.
#' @noRd
tail_shape <- function(costs_s) {
  n <- length(costs_s)
  m <- ceiling(min(tail_design$share * n, tail_design$per_root * sqrt(n)))
  none <- list(shape = NA_real_, scale_s = NA_real_, threshold_s = NA_real_, n = 0, needed = NA_real_, heavy = FALSE)
  if (m < tail_design$least || m >= n) return(none)
  costs <- sort(costs_s)
  threshold <- costs[n - m]
  over <- costs[(n - m + 1):n] - threshold
  over <- over[over > 0]
  if (length(over) < tail_design$least || over[length(over)] < 1e-6 * threshold) return(none)
  fit <- fit_generalised_pareto(over)
  k <- length(over)
  shape <- (fit$shape * k + tail_design$prior * tail_design$prior_shape) / (k + tail_design$prior)
  list(shape = shape, scale_s = fit$scale, threshold_s = threshold, n = k, needed = if (shape < 1) 10^(1 / (1 - max(0, shape))) else Inf,
       heavy = shape > min(tail_design$most_shape, 1 - 1 / log10(n)))
}

# `x`: ascending, above 0. The profile likelihood of theta = -shape / scale, averaged over a grid that the data set.
fit_generalised_pareto <- function(x) {
  n <- length(x)
  grid <- 30 + floor(sqrt(n))
  theta <- 1 / x[n] + (1 - sqrt(grid / (seq_len(grid) - 0.5))) / (3 * x[floor(n / 4 + 0.5)])
  shape <- vapply(theta, function(t) mean(log1p(-t * x)), 0)
  likelihood <- n * (log(-theta / shape) - shape - 1)
  weights <- vapply(likelihood, function(l) 1 / sum(exp(likelihood - l)), 0)
  at <- sum(theta * weights)
  shape <- mean(log1p(-at * x))
  list(shape = shape, scale = -shape / at)
}
