# From estimates to verdicts.

#' Detection limit
#'
#' The effect that a one-sided test at `alpha` would have found with probability `power`: `se` times
#' the noncentrality at which Student's test has that power.
#'
#' @param se Numeric, length n: standard error of the estimate (any unit).
#' @param df Numeric, length 1 or n: its degrees of freedom; Inf for the normal distribution.
#' @param alpha,power Probabilities, length 1.
#' @return Numeric, length n, in the unit of `se`; NA where `se` or `df` is, or `se` is 0: without
#'   scatter in the data nothing is known about it.
#' @references Currie, L. A. (1968) Analytical Chemistry 40, 586-593.
#' @examples
#' detection_limit(se = 1, df = Inf) # qnorm(0.99) + qnorm(0.95)
#' @export
detection_limit <- function(se, df, alpha = 0.01, power = 0.95) {
  check_probability(alpha, "alpha")
  check_probability(power, "power")
  df <- rep_len(df, length(se))
  known <- !is.na(se) & !is.na(df) & se > 0
  limit <- rep(NA_real_, length(se))
  limit[known] <- se[known] * vapply(df[known], detection_factor, 0, alpha = alpha, power = power)
  limit
}

detection_factor <- function(df, alpha, power) {
  if (df > 5000) return(stats::qnorm(1 - alpha) + stats::qnorm(power))
  cut <- stats::qt(1 - alpha, df)
  # pt() is not reliable at the large noncentralities that few degrees of freedom need, so integrate
  # P(Z + ncp > cut * s) over the scaled chi distribution of s.
  reached <- function(ncp) {
    if (df > 4) return(stats::pt(cut, df, ncp, lower.tail = FALSE))
    density <- function(s) 2 * s * df * stats::dchisq(df * s^2, df)
    stats::integrate(function(s) density(s) * stats::pnorm(ncp - cut * s), 0, 8,
                     rel.tol = 1e-8, subdivisions = 500)$value
  }
  stats::uniroot(function(ncp) reached(ncp) - power, c(0, 5 * (cut + 3)), tol = 1e-9,
                 check.conv = FALSE)$root
}

# Smallest number of sign patterns that can reach alpha.
pairs_needed <- function(alpha) ceiling(-log2(alpha))

#' Step down over levels
#'
#' Levels are tested from the highest, each at one-sided `alpha`, up to the first that fails. This
#' keeps the chance of any false detection among the levels at or below `alpha` without a correction.
#' Level 0 (the placebo) is outside: its test stands alone.
#'
#' @param level Numeric, length n: requested level in percent, each once.
#' @param p Numeric, length n: one-sided p-value; NA counts as failed.
#' @param alpha Probability, length 1.
#' @return Character, length n: `detected`, `not detected`, or
#'   `not tested (a higher level failed)`.
#' @references Marcus, R., Peritz, E. and Gabriel, K. R. (1976) Biometrika 63, 655-660.
#' @examples
#' step_down(c(0.1, 0.3, 1), p = c(0.2, 0.001, 0.001))
#' @export
step_down <- function(level, p, alpha = 0.01) {
  check_numeric(level, "level")
  check_argument(length(p) == length(level), "p", length(p), paste(length(level), "p-values"))
  check_argument(anyDuplicated(level) == 0, "level", level, "each level once")
  if (length(level) == 0) return(character())
  hit <- !is.na(p) & p <= alpha
  word <- ifelse(hit, "detected", "not detected")
  dosed <- which(level > 0)
  by_level <- dosed[order(level[dosed], decreasing = TRUE)]
  failed <- which(!hit[by_level])
  if (length(failed) > 0) {
    word[by_level[seq_along(by_level) > failed[1]]] <- "not tested (a higher level failed)"
  }
  word
}

# Adds stepdown and verdict to the rows of one scope, launch, operation, bytes and channel.
decide_family <- function(rows, alpha) {
  rows$stepdown <- step_down(rows$level_requested_percent, rows$p_one_sided, alpha)
  rows$verdict <- vapply(seq_len(nrow(rows)), function(i) verdict_of(rows[i, ], alpha), "")
  rows
}

verdict_of <- function(row, alpha) {
  if (!is.na(row$reason)) return(paste0("inconclusive: ", row$reason))
  limit <- paste("limit", signif(row$detection_limit, 3), "%")
  if (row$stepdown == "detected") return("detected")
  if (row$stepdown == "not detected" || row$p_one_sided > alpha) {
    return(paste0("not detected (", limit, ")"))
  }
  paste0("inconclusive: p is below alpha, but a higher level was not detected (", limit, ")")
}
