# Quantiles of the single operations' times, of which there are histograms only.

#' Quantiles from a histogram
#'
#' @param lo_ns,hi_ns Numeric, length n: edges of the bins, ns; bins may occur several times (launches are merged
#'   by adding counts).
#' @param count Numeric, length n: values in each bin.
#' @param p Probabilities.
#' @return Numeric, as `p`, ns: the middle of the bin that holds the smallest value which at least the share `p`
#'   does not exceed (bins of 1 ns: the value); NA where nothing was counted.
#' @noRd
hist_quantile <- function(lo_ns, hi_ns, count, p) {
  check_numeric(count, "count")
  total <- sum(count)
  if (length(count) == 0 || total == 0) return(rep(NA_real_, length(p)))
  by_size <- order(lo_ns)
  reached <- cumsum(count[by_size])
  at <- by_size[findInterval(p * total * (1 - 1e-12), reached, left.open = TRUE) + 1]
  (lo_ns[at] + hi_ns[at] - 1) / 2
}

# The value below which the share p of the values lies, by linear interpolation within its bin; whole ns stand in the
# middle of theirs. For what compares histograms: the middle of a bin would be the same in many of them.
spread_quantile <- function(lo_ns, hi_ns, count, p) {
  total <- sum(as.numeric(count))
  if (length(count) == 0 || total == 0) return(rep(NA_real_, length(p)))
  by_size <- order(lo_ns)
  reached <- cumsum(as.numeric(count[by_size]))
  i <- findInterval(p * total * (1 - 1e-12), reached, left.open = TRUE) + 1
  at <- by_size[i]
  inside <- (p * total - (reached[i] - count[at])) / count[at]
  lo_ns[at] - 0.5 + inside * (hi_ns[at] - lo_ns[at])
}

# Quantiles in ns with their intervals of confidence 1 - alpha: the number of independent operations below a quantile is
# binomial, here by its normal approximation. NA where the ranks leave the data. `hist`: lo_ns, hi_ns, count.
quantile_interval <- function(hist, p, alpha) {
  total <- sum(as.numeric(hist[["count"]]))
  reach <- stats::qnorm(1 - alpha / 2) * sqrt(p * (1 - p) / total)
  at <- function(q) {
    inside <- spread_quantile(hist[["lo_ns"]], hist[["hi_ns"]], hist[["count"]], pmin(1, pmax(0, q)))
    ifelse(q < 0 | q > 1, NA, inside)
  }
  list(estimate = at(p), low = at(p - reach), high = at(p + reach))
}

# Interval of a difference of two values from the intervals of both (Zou and Donner 2008).
difference_interval <- function(a, b) {
  difference <- a$estimate - b$estimate
  list(estimate = difference, low = difference - sqrt((a$estimate - a$low)^2 + (b$high - b$estimate)^2),
       high = difference + sqrt((a$high - a$estimate)^2 + (b$estimate - b$low)^2))
}
