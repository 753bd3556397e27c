# Tests that need nothing but the random order within pairs: under the null hypothesis on and off are
# exchangeable within a pair, so every pattern of signs of the differences is equally likely.

#' Sign-flip test of the mean
#'
#' One-sided test that differences are larger than 0, by the randomisation distribution of their
#' mean. Up to 20 pairs it is enumerated; beyond, `flips` random sign patterns are drawn (from a fixed
#' seed, so that the same data give the same p-value) over at most 256 contiguous groups of pairs.
#' Flipping whole groups together is a subgroup of the randomisation group, so the test stays exact.
#'
#' @param d Numeric, length n: difference or log ratio of each pair, in run order.
#' @param flips Number of random sign patterns, length 1.
#' @param groups Largest number of groups, length 1.
#' @param exact_up_to Largest n that is enumerated, length 1 (at most 40).
#' @return A list: `p` (one-sided p-value; NA for no pairs), `z` (mean over its standard deviation
#'   under the null hypothesis), `n`, `method`.
#' @references Fisher, R. A. (1935) The Design of Experiments. Horowitz, E. and Sahni, S. (1974)
#'   Journal of the ACM 21, 277-292 (enumeration in two halves).
#' @examples
#' sign_flip_test(c(1, 2, 3))$p # 1 of 8 sign patterns is as large
#' @export
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
  p <- (1 + sum(drop(sign_matrix(length(s), flips) %*% s) >= sum(s) - tie_margin(s))) / (flips + 1)
  list(p = p, z = z, n = n, method = "sign-flip, Monte Carlo")
}

# Sums that are equal on paper may differ in their last bits.
tie_margin <- function(s) 1e-9 * sum(abs(s))

# Share of the 2^n sign patterns whose sum reaches sum(s): all sums of each half, then counting.
enumerate_flips <- function(s) {
  half <- length(s) %/% 2
  left <- signed_sums(s[seq_len(half)])
  right <- sort(signed_sums(s[half + seq_len(length(s) - half)]))
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
#' channels whose background is heavy-tailed. Zero differences are dropped, as Wilcoxon did and as
#' `wilcox.test` does: whatever their sign is flipped to, they say nothing about it.
#'
#' @param d Numeric, length n: difference of each pair.
#' @return A list: `p` (one-sided; not below 1e-300), `z` (normal approximation), `v` (sum of the
#'   ranks of the positive differences), `n` (pairs that are not zero), `method`. Exact by enumeration
#'   up to 20 pairs (ties included), exact by [stats::psignrank()] up to 50 without ties, else the
#'   normal approximation with correction for ties and continuity.
#' @references Wilcoxon, F. (1945) Biometrics Bulletin 1, 80-83.
#' @examples
#' signed_rank_test(c(1, 2, 3, -0.5))$p
#' @export
signed_rank_test <- function(d) {
  check_numeric(d, "d")
  d <- d[d != 0]
  n <- length(d)
  if (n == 0) {
    return(list(p = NA_real_, z = NA_real_, v = 0, n = 0L, method = "none: no difference but 0"))
  }
  r <- data.table::frank(abs(d), ties.method = "average")
  v <- sum(r[d > 0])
  # Differences of magnitudes in the last bits are not ties here; ties come from coarse clocks.
  centre <- sum(r) / 2
  spread <- sqrt(sum(r^2)) / 2
  z <- (v - centre) / spread
  if (n <= 20) {
    p <- enumerate_flips(r * sign(d))
    method <- "signed rank, exact"
  } else if (n <= 50 && !anyDuplicated(r)) {
    p <- stats::psignrank(v - 1, n, lower.tail = FALSE)
    method <- "signed rank, exact"
  } else {
    p <- stats::pnorm((v - centre - 0.5) / spread, lower.tail = FALSE)
    method <- "signed rank, normal"
  }
  list(p = max(p, 1e-300), z = z, v = v, n = n, method = method)
}
