# Monotone dose-response: more load does not slow less.

#' Monotone regression
#'
#' The nondecreasing sequence nearest to the effects in weighted least squares, by the minimum over upper sets of the
#' maximum over lower sets of weighted means.
#'
#' @param effect Numeric, length k (any unit), in the order of rising level; or a matrix with k columns, one row per
#'   resample.
#' @param weight Numeric, length k, above 0.
#' @return As `effect`: the fitted values.
#' @references Barlow, R. E. et al. (1972) Statistical Inference under Order Restrictions, theorem 1.8.
#' @noRd
monotone_fit <- function(effect, weight = rep(1, if (is.matrix(effect)) ncol(effect) else length(effect))) {
  rows <- if (is.matrix(effect)) effect else matrix(effect, 1)
  k <- ncol(rows)
  check_argument(is.numeric(rows) && !anyNA(rows), "effect", effect, "finite numbers")
  check_argument(length(weight) == k && all(weight > 0), "weight", weight, paste(k, "numbers above 0"))
  if (k == 0) return(effect)
  sums <- matrix(0, nrow(rows), k + 1)
  for (i in seq_len(k)) sums[, i + 1] <- sums[, i] + rows[, i] * weight[i]
  total <- c(0, cumsum(weight))
  fitted <- rows
  for (i in seq_len(k)) {
    largest <- rep(-Inf, nrow(rows))
    for (a in seq_len(i)) {
      smallest <- rep(Inf, nrow(rows))
      for (b in i:k) smallest <- pmin(smallest, (sums[, b + 1] - sums[, a]) / (total[b + 1] - total[a]))
      largest <- pmax(largest, smallest)
    }
    fitted[, i] <- largest
  }
  if (is.matrix(effect)) fitted else drop(fitted)
}

#' Level at which a dose-response reaches an effect
#'
#' On the curve from (0, 0) through the fitted effects, linear between levels: the smallest level whose effect reaches
#' `delta`.
#'
#' @param level Numeric, length k: rising levels above 0 (percent of one CPU).
#' @param fitted Numeric, length k, or a matrix with k columns: nondecreasing effects from `monotone_fit()`.
#' @param delta Effect to be reached, above 0: length 1 or one per row (unit of `fitted`).
#' @return Numeric, one per row: the level; Inf where the highest level's effect stays below `delta`.
#' @noRd
level_reaching <- function(level, fitted, delta) {
  rows <- if (is.matrix(fitted)) fitted else matrix(fitted, 1)
  check_argument(is.numeric(delta) && !anyNA(delta) && all(delta > 0), "delta", delta, "numbers above 0")
  check_argument(length(level) == ncol(rows) && all(diff(c(0, level)) > 0), "level", level,
                 paste(ncol(rows), "rising numbers above 0"))
  delta <- rep_len(delta, nrow(rows))
  reached <- rep(Inf, nrow(rows))
  x <- c(0, level)
  y <- cbind(0, pmax(rows, 0))
  for (i in rev(seq_along(level))) {
    here <- y[, i + 1] >= delta
    share <- (delta - y[, i]) / (y[, i + 1] - y[, i])
    inside <- here & y[, i] < delta
    reached[inside] <- x[i] + share[inside] * (x[i + 1] - x[i])
  }
  reached
}

# Do the effects depart from a line through the origin by more than their standard errors allow? The p-value of
# chi-square; NA for one level.
lack_of_fit <- function(level, effect, se) {
  if (length(level) < 2) return(NA_real_)
  slope <- sum(level * effect / se^2) / sum(level^2 / se^2)
  stats::pchisq(sum(((effect - slope * level) / se)^2), length(level) - 1, lower.tail = FALSE)
}
