# Half samples: what the random signs of the sign-flip test say about everything else. A set of signs picks
# the subset of the units whose sign is -1; sums over such subsets give intervals, detection limits and
# thresholds that agree with the test.

n_flips <- 19999
most_groups <- 256
enumerated_up_to <- 20  # pairs whose sign patterns are all looked at
coins <- 400            # other orders of the run that a detection limit looks at, each with its mirror image

# Sums and sizes of the units that are flipped together: each pair, or contiguous groups of many.
flip_units <- function(d, groups = most_groups) {
  if (length(d) <= groups) list(sum = d, n = rep(1, length(d))) else batch_sums(d, groups)
}

# Inference on the mean of the differences `d` of pairs, in run order, from the randomised order. Where a
# coin decides the order within each pair, on and off are exchangeable without an effect, so all patterns of
# signs are equally likely: that gives the test. Its inversion is an interval whose coverage is exact for
# any noise, heavy tails and drift included; its ends are order statistics of the means over random subsets
# of the pairs (Hartigan's typical values). The same argument gives the detection limit: under another order
# of the same noise, the effect that this test would have found with probability `power` (`with_limit`: it
# takes longer than all the rest). A list in the unit of `d`: `estimate`, `low`, `high` (one-sided bounds of
# confidence 1 - alpha each), `se`, `df` (of batch means), `limit`, `p` (one-sided), `z`, `n`, `method`. Up
# to 20 pairs all patterns are counted, beyond 19,999 random ones over at most 256 groups of neighbours, and
# `flip_tail()` where hardly any reaches the mean. Ends are NA below the number of pairs that can reach
# alpha; below a level of 0.001 Student's t on batch means takes the place of patterns. Fisher, R. A. (1935)
# The Design of Experiments; Hartigan, J. A. (1969) JASA 64, 1303-1317; Currie, L. A. (1968) Analytical
# Chemistry 40, 586-593.
randomisation_inference <- function(d, alpha = 0.01, power = 0.95, with_limit = TRUE) {
  n <- length(d)
  means <- batch_mean_ci(d, 1 - 2 * alpha)
  none <- list(limit = NA_real_, p = NA_real_, z = NA_real_, n = n, method = "none: no pairs")
  if (n == 0) return(c(means, none))
  if (alpha < 20 / (n_flips + 1) && n > enumerated_up_to) return(student_inference(means, n, alpha, power))
  got <- if (n <= enumerated_up_to) enumerated(d, alpha) else sampled(d, alpha)
  means[c("low", "high")] <- got[c("low", "high")]
  limit <- if (with_limit && isTRUE(means$se > 0) && n >= pairs_needed(alpha)) {
    randomisation_limit(d, alpha, power)
  } else {
    NA_real_
  }
  c(means, list(limit = limit, p = got$p, z = got$z, n = n, method = got$method))
}

student_inference <- function(means, n, alpha, power) {
  known <- isTRUE(means$se > 0)
  t <- if (known) means$estimate / means$se else NA_real_
  c(means, list(limit = detection_limit(means$se, means$df, alpha, power),
                p = if (known) max(1e-300, stats::pt(t, means$df, lower.tail = FALSE)) else NA_real_,
                z = t, n = n, method = "t on batch means"))
}

# `alpha`: NA: the test alone, without the ends of the interval.
sampled <- function(d, alpha = NA) {
  units <- flip_units(d)
  s <- units$sum
  g <- length(s)
  signs <- sign_matrix(g)
  # Columns that this test has no use for are left out where they are many; few cost less than a copy.
  if (ncol(signs) >= 2 * g) signs <- signs[, seq_len(g), drop = FALSE]
  signed <- signs %*% rbind(cbind(s, units$n), matrix(0, ncol(signs) - g, 2))
  scale <- sqrt(sum(s^2))
  reached <- sum(signed[, 1] >= sum(s) - tie_margin(s))
  got <- list(z = if (scale > 0) sum(s) / scale else 0, p = (1 + reached) / (n_flips + 1),
              method = "sign-flip, Monte Carlo")
  if (reached < few_flips) {
    # What so few patterns reach has no larger p than this.
    got$p <- max(1e-300, min(flip_tail(s, sum(s)), (few_flips + 1) / (n_flips + 1)))
    got$method <- "sign-flip, saddlepoint"
  }
  if (is.na(alpha)) return(got)
  # The mean over the subset whose sign is -1.
  at <- max(1, floor(alpha * (n_flips + 1)))
  at <- c(at, n_flips + 1 - at)
  ends <- sort((sum(s) - signed[, 1]) / (length(d) - signed[, 2]), partial = at, na.last = TRUE)[at]
  c(got, list(low = ends[1], high = ends[2]))
}

enumerated <- function(d, alpha = NA) {
  scale <- sqrt(sum(d^2))
  ends <- typical_ends(d, alpha)
  list(low = ends[1], high = ends[2], p = enumerate_flips(d), z = if (scale > 0) sum(d) / scale else 0,
       method = "sign-flip, exact")
}

# The ends that leave `tail` on either side: where the exact test of d - theta turns from `tail` or less to
# more. They are order statistics of the means over all subsets.
typical_ends <- function(d, tail) {
  if (is.na(tail) || length(d) < pairs_needed(tail)) return(c(NA_real_, NA_real_))
  sums <- size <- 0
  for (x in d) {
    sums <- c(sums, sums + x)
    size <- c(size, size + 1)
  }
  at <- floor(tail * length(sums) * (1 + 1e-12))
  at <- c(at, length(sums) - at)
  sort((sums / size)[-1], partial = at)[at]
}

# The test rejects when its lower bound lies above 0, and an effect moves that bound by its own size. So
# under another order of the same residuals an effect is found when it exceeds the negative of the bound:
# the limit is the quantile of that over orders. Each coin's mirror image comes with it.
randomisation_limit <- function(d, alpha, power) {
  units <- flip_units(d)
  g <- length(units$sum)
  residual <- (units$sum - units$n * mean(d)) * sqrt(g / (g - 1))
  n_subsets <- max(499, ceiling(5 / alpha))
  subsets <- subset_table(g, alpha, n_subsets)
  orders <- t(sign_matrix(g)[n_subsets + seq_len(coins), seq_len(g), drop = FALSE])
  means <- (subsets$member %*% (residual * orders)) / drop(subsets$member %*% units$n)
  at <- c(subsets$at, nrow(means) + 1 - subsets$at)
  ends <- apply(means, 2, function(x) sort.int(x, partial = at)[at])
  stats::quantile(c(-ends[1, ], ends[2, ]), power, names = FALSE, type = 6)
}

# Subsets of g units (0/1, one per row, none empty) and which order statistic of their means is the bound.
subset_table <- function(g, alpha, n_subsets) {
  if (g <= 8) {
    codes <- seq_len(2^g - 1)
    member <- vapply(seq_len(g), function(i) (codes %/% 2^(i - 1)) %% 2, numeric(length(codes)))
    return(list(member = member, at = max(1, floor(alpha * 2^g))))
  }
  member <- (1 - sign_matrix(g)[seq_len(n_subsets), seq_len(g), drop = FALSE]) / 2
  member <- member[rowSums(member) > 0, , drop = FALSE]
  list(member = member, at = max(1, round(alpha * (nrow(member) + 1))))
}

# Inference on the typical shift, the counterpart of `randomisation_inference()`: the signed-rank test, the
# interval that inverts it around the pseudo-median, and the shift of all differences that it would have
# found. `resolution`: smallest difference that can be told from none (unit of `d`); no limit lies below it.
# A list: `estimate`, `low`, `high` (one-sided bounds of 1 - alpha each), `se` (half the interval over the
# normal quantile), `df` (Inf), `limit`, `p` (one-sided), `z`, `n`, `method`; NA as in `pseudo_median()`.
# Where test and end of the interval at 0 disagree by their discreteness, the end follows the test. Hodges,
# J. L. and Lehmann, E. L. (1963) Annals of Mathematical Statistics 34, 598-611; Pratt, J. W. (1959) JASA
# 54, 655-667; Currie, L. A. (1968) Analytical Chemistry 40, 586-593.
rank_inference <- function(d, alpha = 0.01, power = 0.95, resolution = 0, with_limit = TRUE) {
  test <- signed_rank_test(d)
  got <- c(pseudo_median(d, 1 - 2 * alpha), list(df = Inf))
  if (!is.na(got$low) && test$p <= alpha && got$low <= 0) {
    step <- min(d[d > 0]) / 2  # the least that a Walsh average above 0 can be
    got$low <- if (got$estimate > 0) min(got$estimate, step) else step
    got$estimate <- max(got$estimate, got$low)
    got$high <- max(got$high, got$estimate)
  }
  if (!is.na(got$low) && test$p > alpha && got$low > 0) got$low <- 0
  limit <- if (with_limit) rank_limit(d, got$se, alpha, power, resolution) else NA_real_
  c(got, list(limit = limit, p = test$p, z = test$z, n = length(d), method = test$method))
}

rank_limit_pairs <- c(exact = 200, most = 1000)

# The shift that the signed-rank test would have found: the larger of two. From the interval's half-width:
# it knows the density of the differences where they are. And from other orders of the same pairs, as
# randomisation_limit(): with heavy tails a shift moves the differences to where that density is lower.
# Beyond 1000 pairs the shifts in question are too small for that; up to there 200 of the pairs, evenly
# spread, stand for all. Differences of 0 are no scatter: where most are, any shift that can be told from
# none is found. NA below the number of pairs that can reach `alpha`.
rank_limit <- function(d, se, alpha, power, resolution = 0) {
  n_all <- length(d)
  if (n_all < pairs_needed(alpha) || is.na(se)) return(NA_real_)
  usual <- if (se > 0) detection_limit(se, Inf, alpha, power) else 0
  other <- if (n_all > rank_limit_pairs[["most"]] || min(d) == max(d)) 0 else order_limit(d, alpha, power)
  limit <- max(usual, other, resolution)
  if (limit > 0) limit else NA_real_
}

order_limit <- function(d, alpha, power) {
  n_all <- length(d)
  if (n_all > rank_limit_pairs[["exact"]]) {
    d <- d[round(seq(1, n_all, length.out = rank_limit_pairs[["exact"]]))]
  }
  n <- length(d)
  residual <- d - pseudo_median(d)$estimate
  pairs <- n * (n + 1) / 2
  # Rejected when more averages than this lie above 0.
  most <- if (n <= 50) stats::qsignrank(1 - alpha, n) else {
    floor(pairs / 2 + 0.5 + stats::qnorm(1 - alpha) * sqrt(n * (n + 1) * (2 * n + 1) / 24))
  }
  if (pairs - most < 1) return(NA_real_)
  half <- lower.tri(diag(n), diag = TRUE)
  needed <- function(x) {
    apply(x, 2, function(v) sort.int(outer(v, v, `+`)[half] / 2, partial = most + 1)[most + 1])
  }
  # A column per order, and its mirror image.
  x <- residual * t(sign_matrix(n)[1000 + seq_len(coins / 4), seq_len(n), drop = FALSE])
  x <- cbind(x, -x)
  # Only the largest matter: those that need no more than one of the smaller among these are told by counting.
  above <- walsh_counter(x)
  wanted <- floor(power * (ncol(x) + 1))
  least <- needed(x[, order(above(0))[max(1, wanted - 12)], drop = FALSE])
  open <- above(least) >= pairs - most
  if (sum(!open) >= wanted) open[] <- TRUE
  needs <- rep(least, ncol(x))
  needs[open] <- needed(x[, open, drop = FALSE])
  stats::quantile(needs, power, names = FALSE, type = 6) * sqrt(n / n_all)
}

# A function that counts, for each column of `x`, the averages of two of its values (or of one and itself)
# above `at`, none of which it makes.
walsh_counter <- function(x) {
  n <- nrow(x)
  # The columns lie on one line, one after the other, so far apart that they do not meet.
  reach <- 1.5 * max(abs(x))
  place <- 4 * reach * col(x)
  line <- sort.int(x + place, method = "quick")
  end <- n * col(x)
  function(at) {
    partners <- end - findInterval(pmax(pmin(2 * at - x, reach), -reach) + place, line)
    (colSums(partners) + colSums(x > at)) / 2
  }
}

# Tests that need nothing but the random order within pairs: under the null hypothesis on and off are
# exchangeable within a pair, so every pattern of signs of the differences is equally likely.

# One-sided test that the differences `d` of pairs, in run order, are larger than 0, by the randomisation
# distribution of their mean, as in `randomisation_inference()`: `p` (NA for no pairs), `z`, `n`, `method`.
# Whole groups together are a subgroup of the randomisation group, so the test stays exact. Horowitz, E. and
# Sahni, S. (1974) Journal of the ACM 21, 277-292 (enumeration in two halves).
sign_flip_test <- function(d) {
  if (length(d) == 0) return(list(p = NA_real_, z = NA_real_, n = 0L, method = "none: no pairs"))
  got <- if (length(d) <= enumerated_up_to) enumerated(d) else sampled(d)
  c(got[c("p", "z", "method")], n = length(d))
}

few_flips <- 20  # as many random patterns at least must reach a sum for their share to be its p-value

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

# The random signs are the same for every test: one matrix per session, drawn column by column without
# touching the caller's random numbers, of `n_columns` or more. Its leading columns serve tests with fewer
# groups.
sign_store <- new.env(parent = emptyenv())

sign_matrix <- function(n_columns) {
  if (NCOL(sign_store$whole) < n_columns || is.null(sign_store$whole)) {
    # Some more than asked for, as cells differ by a few pairs; and if that was not enough, then not a few.
    width <- max(32 * ceiling(n_columns / 32), min(most_groups, 2 * NCOL(sign_store$whole)))
    sign_store$whole <- with_seed(20210105, matrix(1 - 2 * (stats::runif(n_flips * width) >= 0.5), n_flips))
  }
  sign_store$whole
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

# Wilcoxon's one-sided signed-rank test, a sign-flip test on signed ranks for heavy-tailed channels. Zeros
# take part in the ranking and have no sign (Pratt), equal magnitudes share their mean rank; given the
# magnitudes all patterns of signs are equally likely, so it is exact with both. A list: `p` (at least
# 1e-300; 1 where all are 0), `z`, `v` (sum of the ranks of positive differences), `n` (not zero), `method`.
# Exact up to 50 that are not zero, else by `flip_tail()`. Wilcoxon, F. (1945) Biometrics Bulletin 1, 80-83;
# Pratt, J. W. (1959) JASA 54, 655-667.
signed_rank_test <- function(d) {
  if (length(d) == 0) return(list(p = NA_real_, z = NA_real_, v = 0, n = 0L, method = "none: no pairs"))
  # Differences of magnitudes in the last bits are not ties here; ties come from coarse clocks.
  r <- data.table::frank(abs(d), ties.method = "average")
  s <- (sign(d) * r)[d != 0]
  n <- length(s)
  v <- sum(s[s > 0])
  z <- if (n > 0) sum(s) / sqrt(sum(s^2)) else 0
  # Zeros and ties leave gaps between the sums of few, which no smooth curve follows; sums of whole ranks
  # are 2 apart, of mean ranks 1.
  p <- if (n <= 50) rank_tail(abs(s), v) else flip_tail(s, sum(s) - if (all(r == floor(r))) 1 else 0.5)
  list(p = max(p, 1e-300), z = z, v = v, n = n,
       method = paste("signed rank,", if (n <= 50) "exact" else "saddlepoint"))
}

# P(sum of the ranks with positive signs >= v), by convolution: whole or half ranks, each in the sum or not.
rank_tail <- function(ranks, v) {
  steps <- sort(round(2 * ranks))
  chances <- 1
  for (step in steps) chances <- (c(chances, numeric(step)) + c(numeric(step), chances)) / 2
  sum(chances[seq_along(chances) > 2 * v])
}

# P(sum of e_i s_i >= total) with e_i = -1 or +1 equally likely, by Lugannani and Rice's saddlepoint
# approximation: its relative error stays small far out, where counting random patterns ends at one over
# their number. Not below 2^-n nor 1e-300. Lugannani and Rice (1980) Advances in Applied Probability 12,
# 475-490; Robinson, J. (1982) JRSS B 44, 91-101.
flip_tail <- function(s, total) {
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

# Do estimates scatter by more than their standard errors allow? p-value of Cochran's Q.
heterogeneity <- function(estimate, se) {
  known <- is.finite(estimate) & is.finite(se) & se > 0
  if (sum(known) < 2) return(NA_real_)
  x <- estimate[known]
  weight <- 1 / se[known]^2
  stats::pchisq(sum(weight * (x - sum(weight * x) / sum(weight))^2), sum(known) - 1, lower.tail = FALSE)
}
