# Estimates of an effect from the differences of pairs.

# Sums over at most `groups` contiguous groups of nearly equal size (they differ by one at most).
batch_sums <- function(x, groups = 256) {
  n <- length(x)
  g <- min(n, groups)
  ends <- floor(seq_len(g) * n / g)
  list(sum = diff(c(0, cumsum(x)[ends])), n = diff(c(0, ends)))
}

# Mean of `d` (in run order) with Student's interval on the means of at most `groups` contiguous groups,
# which contain most of the correlation of neighbouring pairs: `estimate`, `low`, `high`, `se`, `df`; NA
# where the number of pairs does not allow it. Law, A. M. and Kelton, W. D. (1991) Simulation Modeling and
# Analysis, chapter 9.
batch_mean_ci <- function(d, conf = 0.99, groups = 256) {
  n <- length(d)
  if (n == 0) {
    return(list(estimate = NA_real_, low = NA_real_, high = NA_real_, se = NA_real_, df = NA_real_))
  }
  centre <- mean(d)
  if (n == 1) {
    return(list(estimate = centre, low = NA_real_, high = NA_real_, se = NA_real_, df = NA_real_))
  }
  batch <- batch_sums(d, groups)
  g <- length(batch$n)
  # Weights n_i/n make the mean of the batches the mean of the pairs.
  se <- sqrt(g / (g - 1) * sum((batch$sum - batch$n * centre)^2)) / n
  reach <- stats::qt(1 - (1 - conf) / 2, g - 1) * se
  list(estimate = centre, low = centre - reach, high = centre + reach, se = se, df = g - 1)
}

# The same over single pairs or over 16 groups of them, whichever interval is wider: what is correlated over
# longer stretches than a pair widens the second one.
wider_mean_ci <- function(d, conf = 0.99) {
  each <- batch_mean_ci(d, conf)
  blocks <- batch_mean_ci(d, conf, locked_design$groups)
  if (isTRUE(blocks$high - blocks$low > each$high - each$low)) blocks else each
}

# Hodges and Lehmann's pseudo-median of the differences `d` (the median of all averages of two, Walsh
# averages) with the interval that inverts the signed-rank test: `estimate`, `low`, `high`, `se` (half-width
# over the normal quantile). Up to 200 pairs all averages are formed; beyond, the wanted order statistics
# are roots of their counting function, O(n) per evaluation on sorted data. The interval is NA below the n
# at which it can have that confidence (8 for 0.99). Hodges and Lehmann (1963) Annals of Mathematical
# Statistics 34, 598-611.
pseudo_median <- function(d, conf = 0.99) {
  n <- length(d)
  none <- list(estimate = NA_real_, low = NA_real_, high = NA_real_, se = NA_real_)
  if (n == 0) return(none)
  if (n == 1) {
    none$estimate <- d
    return(none)
  }
  pairs <- n * (n + 1) / 2
  # Ranks of the Walsh averages that bound the interval.
  lowest <- if (n < 1000) stats::qsignrank((1 - conf) / 2, n) else {
    spread <- sqrt(n * (n + 1) * (2 * n + 1) / 24)
    floor(pairs / 2 - stats::qnorm(1 - (1 - conf) / 2) * spread)
  }
  ranks <- c(lowest, NA, pairs + 1 - lowest)
  found <- if (n <= 200) walsh_small(d, ranks) else walsh_large(d, ranks)
  if (lowest < 1) found[c(1, 3)] <- NA
  list(estimate = found[2], low = found[1], high = found[3],
       se = (found[3] - found[1]) / (2 * stats::qnorm(1 - (1 - conf) / 2)))
}

walsh_small <- function(d, ranks) {
  averages <- outer(d, d, "+") / 2
  averages <- sort(averages[upper.tri(averages, diag = TRUE)])
  c(averages[max(1, ranks[1])], stats::median(averages), averages[min(length(averages), ranks[3])])
}

walsh_large <- function(d, ranks) {
  s <- sort(d)
  n <- length(s)
  if (s[1] == s[n]) return(rep(s[1], 3))
  pairs <- n * (n + 1) / 2
  centre <- stats::median(s)
  width <- stats::IQR(s)
  if (width == 0) width <- s[n] - s[1]
  wanted <- c(ranks[1], pairs / 2, ranks[3]) - 0.5
  vapply(wanted, function(k) {
    shape <- function(theta) (walsh_count(s, theta) - k) / pairs
    reach <- 3 * width / sqrt(n)
    theta <- stats::uniroot(shape, centre + c(-reach, reach), extendInt = "upX", tol = 1e-7 * width,
                            maxiter = 200)$root
    # with many zero differences the root is the step at 0; the search ends only near it
    if (
      abs(theta) < 1e-6 * width && 0 >= s[1] && walsh_count(s, 0) >= k &&
        walsh_count(s, -.Machine$double.xmin) < k
    ) {
      0
    } else {
      theta
    }
  }, 0)
}

# Number of Walsh averages (s_i + s_j)/2, i <= j, that are <= theta; s is sorted.
walsh_count <- function(s, theta) {
  (sum(findInterval(2 * theta - s, s)) + findInterval(theta, s)) / 2
}

# Which pairs carry a dose? Where one burst is smaller than the wake-up it costs, the generator merges
# several: most on halves then hold none, and their pairs say nothing about the load. Whether one is `due`
# (`bursts_due` of the on half; NA without a generator) follows from the generator's account *before* the
# half, not from anything in it nor from the order, so a rank test on the dosed pairs alone is exact. (By
# the bursts that were run it would not be: a disturbed half lasts longer and catches more.) All TRUE at
# level 0, where bursts are unknown, and where none or one is due in every half.
dosed_pairs <- function(due, level) {
  if (isTRUE(level == 0) || anyNA(due) || !any(due > 0)) return(rep(TRUE, length(due)))
  due > 0
}

# Mean load over all pairs, as a share of the mean load of the dosed ones: where the other halves had no
# load at all, the share of dosed pairs.
dosed_share <- function(delivered, dosed) {
  share <- mean(delivered) / mean(delivered[dosed])
  if (is.finite(share) && share > 0) share else mean(dosed)
}

# The effect that a one-sided test at `alpha` would have found with probability `power`: `se` (any unit)
# times the noncentrality at which Student's test with `df` (Inf: normal) has that power. NA where `se` or
# `df` is, or `se` is 0: without scatter nothing is known about it. Currie, L. A. (1968) Analytical
# Chemistry 40, 586-593.
detection_limit <- function(se, df, alpha = 0.01, power = 0.95) {
  df <- rep_len(df, length(se))
  known <- !is.na(se) & !is.na(df) & se > 0
  limit <- rep(NA_real_, length(se))
  # Of thousands of ranks nearly all have the same degrees of freedom, and so have the next thousands.
  each <- unique(df[known])
  factor <- vapply(each, known_factor, 0, alpha, power)
  limit[known] <- se[known] * factor[match(df[known], each)]
  limit
}

factors <- new.env(parent = emptyenv())

known_factor <- function(df, alpha, power) {
  name <- paste(c(df, alpha, power), collapse = " ")
  if (is.null(factors[[name]])) {
    if (length(factors) > 1e4) rm(list = names(factors), envir = factors)
    factors[[name]] <- detection_factor(df, alpha, power)
  }
  factors[[name]]
}

detection_factor <- function(df, alpha, power) {
  if (df > 5000) return(stats::qnorm(1 - alpha) + stats::qnorm(power))
  stats::uniroot(function(ncp) effect_power(ncp, 1, df, alpha) - power,
                 c(0, 5 * (stats::qt(1 - alpha, df) + 3)), tol = 1e-9, check.conv = FALSE)$root
}

# Power of the one-sided test at a true `effect` (unit of `se`): the probability that Student's test finds
# it (noncentral t; normal for `df` Inf); NA where `se` or `df` is, or `se` is 0. Johnson, N. L. and Welch,
# B. L. (1940) Biometrika 31, 362-389.
effect_power <- function(effect, se, df, alpha = 0.01) {
  if (is.na(se) || is.na(df) || se <= 0) return(rep(NA_real_, length(effect)))
  if (df > 5000) return(stats::pnorm(stats::qnorm(1 - alpha) - effect / se, lower.tail = FALSE))
  cut <- stats::qt(1 - alpha, df)
  # pt() gives up at the large noncentralities of few degrees of freedom: integrate over the scale's
  # distribution.
  density <- function(s) 2 * s * df * stats::dchisq(df * s^2, df)
  # of many degrees of freedom it is a peak, which is not to be missed
  ends <- sqrt(stats::qchisq(c(1e-13, 1 - 1e-13), df) / df)
  vapply(effect / se, function(ncp) {
    if (df > 4 && abs(ncp) < 30) return(stats::pt(cut, df, ncp, lower.tail = FALSE))
    found <- function(s) density(s) * stats::pnorm(ncp - cut * s)
    min(1, stats::integrate(found, ends[1], ends[2], rel.tol = 1e-8, subdivisions = 500)$value)
  }, 0)
}

# Smallest number of sign patterns that can reach alpha.
pairs_needed <- function(alpha) ceiling(-log2(alpha))
