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
