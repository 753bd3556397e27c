#' Overlapping Allan deviation
#'
#' Deviation of the difference of neighbouring averages, over 1, 2, 4, ... samples: it falls as the root
#' of the averaging time while noise is white, and rises again where drift wins.
#'
#' @param x Numeric, length n: evenly spaced series (any unit).
#' @param tau0_s Spacing of the samples in seconds, length 1.
#' @return A data frame: `m` (samples averaged), `tau_s` (their span, s), `deviation` (unit of `x`),
#'   `n` (differences averaged). No rows for fewer than 3 samples.
#' @references Allan, D. W. (1966) Proceedings of the IEEE 54, 221-230. Riley, W. (2008) NIST Special
#'   Publication 1065 (the overlapping estimator).
#' @noRd
allan_deviation <- function(x, tau0_s) {
  check_numeric(x, "x")
  check_argument(is_number(tau0_s, 0), "tau0_s", tau0_s, "one number of seconds above 0")
  n <- length(x)
  if (n < 3) {
    return(data.frame(m = numeric(), tau_s = numeric(), deviation = numeric(), n = numeric()))
  }
  m <- unique(floor(2^seq(0, log2(n / 3))))
  phase <- c(0, cumsum(x - mean(x)))
  deviation <- vapply(m, function(k) {
    means <- diff(phase, lag = k) / k
    step <- diff(means, lag = k)
    sqrt(sum(step^2) / (2 * length(step)))
  }, 0)
  data.frame(m = m, tau_s = m * tau0_s, deviation = deviation, n = n - 2 * m + 1)
}
