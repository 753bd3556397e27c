# Tests that need nothing but the random order within pairs: under the null hypothesis on and off are
# exchangeable within a pair, so every pattern of signs of the differences is equally likely.

#' Sign-flip test of the mean
#'
#' One-sided test that differences are larger than 0, by the randomisation distribution of their
#' mean. Up to 20 pairs it is enumerated; beyond, `flips` random sign patterns are drawn (from a fixed
#' seed, so that the same data give the same p-value) over at most 256 contiguous groups of pairs.
#' Flipping whole groups together is a subgroup of the randomisation group, so the test stays exact.
#' Where hardly any of the patterns drawn reaches the mean, `flip_tail()` takes their place, and the method says so.
#'
#' @param d Numeric, length n: difference or log ratio of each pair, in run order.
#' @param flips Number of random sign patterns, length 1.
#' @param groups Largest number of groups, length 1.
#' @param exact_up_to Largest n that is enumerated, length 1 (at most 40).
#' @return A list: `p` (one-sided p-value; NA for no pairs), `z` (mean over its standard deviation
#'   under the null hypothesis), `n`, `method`.
#' @references Fisher, R. A. (1935) The Design of Experiments. Horowitz, E. and Sahni, S. (1974)
#'   Journal of the ACM 21, 277-292 (enumeration in two halves).
#' @noRd
sign_flip_test <- function(d, flips = 19999, groups = 256, exact_up_to = 20) {
  check_numeric(d, "d")
  n <- length(d)
  if (n == 0) return(list(p = NA_real_, z = NA_real_, n = 0L, method = "none: no pairs"))
  s <- if (n <= exact_up_to) d else batch_sums(d, groups)$sum
  scale <- sqrt(sum(s^2))
  z <- if (scale > 0) sum(s) / scale else 0
  if (n <= exact_up_to) {
    return(list(p = enumerate_flips(s), z = z, n = n, method = "sign-flip, exact"))
  }
  reached <- sum(drop(sign_matrix(length(s), flips) %*% s) >= sum(s) - tie_margin(s))
  c(sampled_p(s, reached, flips), list(z = z, n = n))
}

few_flips <- 20  # as many random patterns at least must reach a sum for their share to be its p-value

# p and method of a sum that so many random patterns reach.
sampled_p <- function(s, reached, flips) {
  if (reached >= few_flips) return(list(p = (1 + reached) / (flips + 1), method = "sign-flip, Monte Carlo"))
  # What so few patterns reach has no larger p than this.
  list(p = max(1e-300, min(flip_tail(s, sum(s)), (few_flips + 1) / (flips + 1))), method = "sign-flip, saddlepoint")
}

# Sums that are equal on paper may differ in their last bits.
tie_margin <- function(s) 1e-9 * sum(abs(s))

# Share of the 2^n sign patterns whose sum reaches sum(s): all sums of each half, then counting.
enumerate_flips <- function(s) {
  half <- length(s) %/% 2
  left <- signed_sums(s[seq_len(half)])
  right <- sort.int(signed_sums(s[half + seq_len(length(s) - half)]), method = "quick")
  reach <- sum(s) - tie_margin(s) - left
  below <- findInterval(reach, right, left.open = TRUE)
  sum(length(right) - below) / 2^length(s)
}

signed_sums <- function(s) {
  sums <- 0
  for (x in s) sums <- c(sums + x, sums - x)
  sums
}

# The random signs are the same for every test: one matrix per session, drawn without touching the
# caller's random numbers. Its leading columns serve tests with fewer groups; the last of those are kept.
sign_store <- new.env(parent = emptyenv())

sign_matrix <- function(n_columns, flips) sign_table(n_columns, flips)$signs

# A list: `signs` (flips x n_columns, +1 and -1), `sums` (of each row).
sign_table <- function(n_columns, flips) {
  name <- paste(flips, n_columns)
  kept <- sign_store[[name]]
  if (!is.null(kept)) return(kept)
  whole <- sign_store[[paste("whole", flips)]]
  if (is.null(whole) || ncol(whole) < n_columns) {
    width <- max(n_columns, most_groups)
    whole <- with_seed(20210105, matrix(2 * (stats::runif(flips * width) < 0.5) - 1, flips))
    sign_store[[paste("whole", flips)]] <- whole
  }
  signs <- if (ncol(whole) == n_columns) whole else whole[, seq_len(n_columns), drop = FALSE]
  table <- list(signs = signs, sums = rowSums(signs))
  recent <- c(sign_store$recent, name)
  if (length(recent) > 3) {
    rm(list = recent[1], envir = sign_store)
    recent <- recent[-1]
  }
  sign_store$recent <- recent
  sign_store[[name]] <- table
  table
}

with_seed <- function(seed, code) {
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  kind <- RNGkind()
  on.exit({
    RNGkind(kind[1], kind[2], kind[3])
    if (is.null(before)) rm(".Random.seed", envir = globalenv())
    else assign(".Random.seed", before, globalenv())
  })
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  force(code)
}

#' Wilcoxon's signed-rank test
#'
#' One-sided test that differences are larger than 0. It is a sign-flip test on signed ranks, for
#' channels whose background is heavy-tailed. Zeros take part in the ranking and have no sign (Pratt), equal magnitudes
#' share their mean rank; given the magnitudes, all patterns of signs are equally likely, so the test is exact with
#' both.
#'
#' @param d Numeric, length n: difference of each pair.
#' @return A list: `p` (one-sided; not below 1e-300; 1 where all differences are 0), `z` (sum of the signed ranks over its
#'   standard deviation under the null hypothesis), `v` (sum of the ranks of the positive differences), `n` (pairs that
#'   are not zero), `method`. Exact up to 50 pairs that are not zero (by enumeration, [stats::psignrank()], or, with zeros and
#'   ties, by convolution), else by `flip_tail()`.
#' @references Wilcoxon, F. (1945) Biometrics Bulletin 1, 80-83. Pratt, J. W. (1959) JASA 54, 655-667 (zeros).
#' @noRd
signed_rank_test <- function(d) {
  check_numeric(d, "d")
  if (length(d) == 0) return(list(p = NA_real_, z = NA_real_, v = 0, n = 0L, method = "none: no pairs"))
  # Differences of magnitudes in the last bits are not ties here; ties come from coarse clocks.
  r <- data.table::frank(abs(d), ties.method = "average")
  s <- (sign(d) * r)[d != 0]
  n <- length(s)
  v <- sum(s[s > 0])
  z <- if (n > 0) sum(s) / sqrt(sum(s^2)) else 0
  if (n <= enumerated_up_to) {
    p <- if (n == 0) 1 else enumerate_flips(s)
    method <- "signed rank, exact"
  } else if (n <= 50 && n == length(d) && !anyDuplicated(r)) {
    p <- stats::psignrank(v - 1, n, lower.tail = FALSE)
    method <- "signed rank, exact"
  } else if (n <= 50) {
    # Zeros and ties leave gaps between the sums, which no smooth curve follows.
    p <- rank_tail(abs(s), v)
    method <- "signed rank, exact"
  } else {
    # Sums of whole ranks are 2 apart, of mean ranks 1.
    p <- flip_tail(s, sum(s) - if (all(r == floor(r))) 1 else 0.5)
    method <- "signed rank, saddlepoint"
  }
  list(p = max(p, 1e-300), z = z, v = v, n = n, method = method)
}

# P(sum of the ranks with positive signs >= v), by convolution: whole or half ranks, each in the sum or not.
rank_tail <- function(ranks, v) {
  steps <- sort(round(2 * ranks))
  chances <- 1
  for (step in steps) chances <- (c(chances, numeric(step)) + c(numeric(step), chances)) / 2
  sum(chances[seq_along(chances) > 2 * v])
}

#' Tail of the distribution of a sum with random signs
#'
#' Lugannani and Rice's saddlepoint approximation of P(sum of e_i s_i >= total) with e_i = -1 or +1, equally likely: its
#' relative error stays small far out, where counting random patterns ends at one over their number.
#'
#' @param s Numeric, length n: the terms; their signs do not matter.
#' @param total The sum to be reached, length 1 (unit of `s`).
#' @return The probability, length 1; not below 2^-n nor 1e-300.
#' @references Lugannani, R. and Rice, S. (1980) Advances in Applied Probability 12, 475-490. Robinson, J. (1982) JRSS B
#'   44, 91-101 (permutation tests).
#' @noRd
flip_tail <- function(s, total) {
  check_numeric(s, "s")
  s <- abs(s[s != 0])
  n <- length(s)
  least <- max(1e-300, 2^-n)
  if (n == 0) return(as.numeric(total <= 0))
  if (total >= sum(s) * (1 - 1e-9)) return(least)
  if (total <= -sum(s)) return(1)
  scale <- sqrt(sum(s^2))
  z <- total / scale
  if (abs(z) < 1e-3) return(stats::pnorm(z, lower.tail = FALSE))
  if (z < 0) return(1 - flip_tail(s, -total))
  s <- s / scale
  # The slope of the cumulant generating function, sum(s tanh(t s)), rises from 0 to sum(s) and lies below t.
  slope <- function(t) sum(s * tanh(t * s)) - z
  t <- stats::uniroot(slope, c(z, 2 * z), extendInt = "upX", tol = 1e-12 * z, maxiter = 500)$root
  u <- t * s
  log_cosh <- u + log1p(exp(-2 * u)) - log(2)
  w <- sqrt(max(0, 2 * (t * z - sum(log_cosh))))
  v <- t * sqrt(sum((s / cosh(pmin(u, 350)))^2))
  if (w < 1e-3) return(stats::pnorm(z, lower.tail = FALSE))
  log_density <- stats::dnorm(w, log = TRUE)
  mills <- exp(stats::pnorm(w, lower.tail = FALSE, log.p = TRUE) - log_density)
  max(least, exp(log_density + log(max(mills + 1 / v - 1 / w, 1e-12))))
}
