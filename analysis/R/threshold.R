# Thresholds: the smallest detected level, the smallest detectable one, and the level that slows by a given amount.

# Sensitivity thresholds per operation, size, treatment and channel, each with an interval: the minimum effective dose (MED), the smallest
# level that the step-down detects, with its bracket (next lower tested level, MED]; the limit of detection (LOD), the level at which the
# expected effect reaches the placebo's detection limit (without one that of the lowest level), read off the monotone fit of effect on delivered
# level from (0, 0), weighted by 1/se^2, linear between levels: a line through all would be more precise where the response is a line, and wrong
# where it is not.
#
# Intervals (confidence 1 - alpha) come from resampling the unit of inference (docs/methods.md): within a launch half samples of pairs, across launches
# Gaussian multipliers with Student's correction, all levels of a launch together; where each launch has one arm, off and on launches apart. For a mean
# these give Student's and Welch's interval. `..._low_percent`, `..._high_percent`: Inf: above the highest level; `slope`: unit of the channel per percent
# of one CPU. Currie, L. A. (1968) Analytical Chemistry 40, 586-593; Tamhane, A. C. et al. (1996) Biometrics 52, 21-37 (MED by step-down); Hartigan, J. A.
# (1969) JASA 64, 1303-1317; Praestgaard, J. and Wellner, J. (1993) Annals of Probability 21, 2053-2086 (exchangeably weighted bootstraps).
thresholds <- function(verdicts, alpha = 0.01) {
  if (is.null(verdicts$ci_low)) verdicts$ci_low <- NA_real_
  wanted <- verdicts[!vapply(channels[verdicts$channel], `[[`, TRUE, "control"), ]
  if (nrow(wanted) == 0) return(NULL)
  bind_rows(lapply(split_families(wanted), threshold_of, alpha = alpha))
}

# What is tested together: the levels of one operation, size, treatment and channel.
family_columns <- function(rows) intersect(c(label_columns, "channel"), names(rows))

split_families <- function(rows) {
  key <- in_order(row_key(rows, family_columns(rows)))
  lapply(unname(split(seq_along(key), key)), function(at) rows_at(rows, at))
}

# data.frame() of plain columns without its checks, which cost more than what is done in loops; columns of one value are repeated.
frame <- function(...) {
  columns <- list(...)
  lengths <- lengths(columns)
  n <- if (min(lengths) == 0) 0L else max(lengths)
  structure(lapply(columns, rep_len, n), class = "data.frame", row.names = .set_row_names(n))
}

# The parts of a data frame by a key, in the order in which the keys come.
parts_by <- function(rows, ...) {
  code <- code_of(combine_keys(...))
  lapply(unname(split(seq_along(code), code)), function(at) rows_at(rows, at))
}

threshold_of <- function(rows, alpha) {
  rows <- rows[order(rows$level_requested_percent), ]
  rows$at <- seq_len(nrow(rows))
  # The values behind each estimate; without them, estimates are resampled as independent and normal.
  units <- rows$raw_values
  dosed <- rows[rows$level_requested_percent > 0 & has_level(rows$level_requested_percent), ]
  # Currie's limit is that of the blank: the placebo, or else the lowest level; where the scatter grows with the dose (a
  # quiet machine's blank has none), that of the lowest level above it.
  limit <- max(rows$detection_limit[seq_len(min(2, nrow(rows)))])
  resampled <- resample_family(rows, dosed, units)
  med <- med_of(dosed, resampled, alpha)
  curve <- curve_of(dosed)
  if (!any(has_level(rows$level_requested_percent))) med$med_reason <- curve$reason <- "the treatment has no level"
  if (is.na(curve$reason)) curve$resampled <- monotone_fit(resampled$effect[, curve$use, drop = FALSE], curve$weight)
  do.call(frame, c(as.list(rows_at(rows, 1))[c(family_columns(rows), "unit")], med, lod_of(limit, curve, alpha, pmax(resampled$spread, 1e-9)), list(
    slope = slope_through_origin(dosed$level_delivered_percent, dosed$estimate, dosed$se_effect),
    detection_limit = limit, n_pairs = stats::median(rows$n_pairs), n_tested = min(rows$n_tested),
    n_launches = max(rows$n_launches)
  )))
}

# Of a line through the origin, by weighted least squares; NA without a level that has a delivered load and a standard error.
slope_through_origin <- function(x, y, se) {
  use <- !is.na(x) & !is.na(y) & is.finite(se) & se > 0 & x > 0
  if (any(use)) sum((x * y / se^2)[use]) / sum((x^2 / se^2)[use]) else NA_real_
}

# ---- resampling --------------------------------------------------------------------------------

# Effects (unit of the channel) of the levels above 0 in every resample, one column per level; the detection limit of
# the blank in it over that of the rows.
resample_family <- function(rows, dosed, units) {
  known <- is.finite(dosed$estimate) & is.finite(dosed$se_effect) & dosed$se_effect > 0
  if (!any(known)) return(NULL)
  off <- Find(function(x) length(x) > 1, rows$raw_off)
  across <- rows$scope[1] == scope_campaign
  draws <- if (!across) NULL else if (is.null(off)) launch_draws(rows, units) else unpaired_draws(rows, units, off)
  effect <- matrix(NA_real_, n_resamples, nrow(dosed))
  for (i in which(known)) {
    deviation <- if (!is.null(draws)) draws$deviation(dosed$at[i]) else pair_deviation(units[[dosed$at[i]]], dosed[i, ])
    effect[, i] <- dosed$estimate[i] + deviation
  }
  blank <- if (!is.null(draws)) draws$spread else blank_spread(units[[rows$at[1]]], rows[1, ])
  list(effect = effect, spread = blank)
}

# Deviation of the resampled effect of one level from its estimate, scaled so that its scatter is the standard error
# that the verdict has (for pseudo-medians that of the ranks).
pair_deviation <- function(values, row) {
  if (identical(row$estimator, "pseudo-median")) values <- rank_scores(values - stats::median(values))
  if (length(values) < 2) return(with_seed(seed_of(row), stats::rnorm(n_resamples)) * row$se_effect)
  got <- half_sample_means(values, seed_of(row))
  (got$mean - mean(values)) / got$se * row$se_effect
}

# Means over half samples and the standard error of the mean, of pairs or of groups of neighbours. The half samples
# differ from row to row: different pairs are behind them.
half_sample_means <- function(values, seed) {
  group <- flip_units(values)
  g <- length(group$sum)
  weights <- half_sample_weights(g, seed)
  size <- drop(weights %*% group$n)
  deviation <- group$sum - group$n * mean(values)
  list(mean = drop(weights %*% group$sum) / size,
       se = sqrt(g / (g - 1) * sum(deviation^2)) / length(values),
       spread = sqrt(pmax(0, drop(weights %*% deviation^2) / sum(deviation^2)) * g / rowSums(weights)))
}

# To first order a pseudo-median is its value plus a mean of signed ranks.
rank_scores <- function(d) sign(d) * data.table::frank(abs(d), ties.method = "average")

# Relative standard error of the blank in each resample. That of ranks does not know of far spikes.
blank_spread <- function(values, row) {
  if (length(values) < 8) return(rep(1, n_resamples))
  if (identical(row$estimator, "pseudo-median")) {
    ends <- stats::quantile(values, c(0.05, 0.95), names = FALSE)
    values <- pmin(pmax(values, ends[1]), ends[2])
    if (ends[1] == ends[2]) return(rep(1, n_resamples))
  }
  half_sample_means(values, seed_of(row) + 1)$spread
}

# The same resamples in every session, others for each level of a family.
seed_of <- function(row) 1000 + 7 * row$at

# Gaussian multipliers on the launches, the same for all levels of a launch, times Student's factor.
launch_draws <- function(rows, units) {
  lengths <- vapply(rows$at, function(i) length(units[[i]]), 0L)
  n <- max(lengths, 0)
  if (n < 2) return(NULL)
  got <- with_seed(seed_of(rows[1, ]), list(
    gauss = matrix(stats::rnorm(n_resamples * n), n_resamples),
    student = sqrt((n - 1) / stats::rchisq(n_resamples, n - 1))
  ))
  list(spread = got$student, deviation = function(at) {
    row <- rows[match(at, rows$at), ]
    values <- units[[at]]
    if (length(values) != n || stats::sd(values) == 0) {
      return(with_seed(seed_of(row), stats::rt(n_resamples, max(1, length(values) - 1))) * row$se_effect)
    }
    drop(got$gauss %*% (values - mean(values))) / (stats::sd(values) * sqrt(n - 1)) * got$student * row$se_effect
  })
}

# On and off launches apart, `off` the same in all levels, which share them. A level's deviation has the factor of
# Student's t at the degrees of freedom of its Welch's test, at one probability for all levels: its quantiles are then
# the interval of that test.
unpaired_draws <- function(rows, units, off) {
  # Each stratum once: the seed is the same for every campaign, so what it misses would be missed in all of them.
  strata <- (seq_len(n_resamples) - 0.5) / n_resamples
  got <- with_seed(seed_of(rows[1, ]), list(
    off = stats::rnorm(n_resamples), on = matrix(stats::rnorm(n_resamples * nrow(rows)), n_resamples),
    student = sample(strata), blank = sample(strata)
  ))
  variances <- lapply(rows$at, function(i) {
    list(mean = c(stats::var(units[[i]]) / length(units[[i]]), stats::var(off) / length(off)), df = c(length(units[[i]]), length(off)) - 1)
  })
  factor <- function(at, p) {
    v <- variances[[at]]
    df <- sum(v$mean)^2 / sum(v$mean^2 / v$df)
    sqrt(df / stats::qchisq(p, df))
  }
  known <- vapply(variances, function(v) isTRUE(min(v$df) > 0 && sum(v$mean) > 0), TRUE)
  list(spread = if (known[1]) factor(1, got$blank) else rep(1, n_resamples), deviation = function(at) {
    if (!known[at]) return(rep(NA_real_, n_resamples))
    share <- sqrt(variances[[at]]$mean / sum(variances[[at]]$mean))
    (share[1] * got$on[, at] - share[2] * got$off) * factor(at, got$student) * rows$se_effect[at]
  })
}

ends_of <- function(x, alpha) {
  stats::quantile(x, c(alpha / 2, 1 - alpha / 2), names = FALSE, type = 1, na.rm = TRUE)
}

# ---- the two numbers -------------------------------------------------------------------------

med_of <- function(dosed, resampled, alpha) {
  hit <- dosed$level_requested_percent[dosed$stepdown == "detected" & is.na(dosed$reason)]
  med <- if (length(hit) > 0) min(hit) else NA_real_
  lower <- dosed$level_requested_percent[dosed$level_requested_percent < med]
  ends <- if (is.null(resampled) || any(!is.na(dosed$reason)) || anyNA(dosed$ci_low)) c(NA_real_, NA_real_) else {
    # Detected where the effect exceeds what the test needs, at this level and all higher ones.
    needed <- dosed$estimate - dosed$ci_low
    found <- resampled$effect > rep(needed, each = n_resamples)
    found[is.na(found)] <- FALSE
    smallest <- rep(Inf, n_resamples)
    still <- rep(TRUE, n_resamples)
    for (i in rev(seq_len(nrow(dosed)))) {
      still <- still & found[, i]
      smallest[still] <- dosed$level_requested_percent[i]
    }
    ends_of(smallest, alpha)
  }
  list(
    med_percent = med, med_bracket_low_percent = if (is.na(med)) NA else max(0, lower),
    med_low_percent = ends[1], med_high_percent = ends[2],
    med_reason = if (!is.na(med)) NA_character_ else if (nrow(dosed) == 0) {
      "no level above 0 was tested"
    } else if (all(!is.na(dosed$reason))) dosed$reason[1] else "no level was detected")
}

# The monotone dose-response of the levels that can be used, or why there is none.
curve_of <- function(dosed) {
  none <- function(reason) list(use = integer(), reason = reason)
  use <- which(is.finite(dosed$level_delivered_percent) & is.finite(dosed$estimate) & is.finite(dosed$se_effect) & dosed$se_effect > 0)
  if (length(use) == 0) return(none("no level with a delivered load and a standard error"))
  x <- dosed$level_delivered_percent[use]
  if (any(diff(c(0, x)) <= 0)) return(none("the delivered levels do not rise with the requested ones"))
  weight <- 1 / dosed$se_effect[use]^2
  list(use = use, level = x, weight = weight, fitted = monotone_fit(dosed$estimate[use], weight), reason = NA_character_)
}

# The level at which the fit reaches the limit (unit of the channel). `spread`: the limit's own error in each resample, over its value.
lod_of <- function(limit, curve, alpha, spread) {
  row <- function(level, ends, reason) list(lod_percent = level, lod_low_percent = ends[1], lod_high_percent = ends[2], lod_reason = reason)
  reason <- if (is.na(limit)) "no detection limit known" else curve$reason
  if (!is.na(reason)) return(row(NA_real_, c(NA_real_, NA_real_), reason))
  level <- level_reaching(curve$level, curve$fitted, limit)
  ends <- ends_of(level_reaching(curve$level, curve$resampled, limit * spread), alpha)
  if (is.finite(level)) return(row(level, ends, NA_character_))
  row(NA_real_, ends, sprintf("the effect of the highest level, %s %%, stays below the limit", format_level(max(curve$level))))
}

# Ratio of two means with Fieller's interval: `a` and `b` are paired, in run order, averaged over at most `groups` contiguous groups, so
# their correlation is used. A list: `estimate`, `low`, `high`, `reason` (why they are NA, else NA). Fieller, E. C. (1954) JRSS B 16,
# 175-185.
fieller_ratio <- function(a, b, conf = 0.99, groups = 256) {
  none <- function(reason) list(estimate = NA_real_, low = NA_real_, high = NA_real_, reason = reason)
  n <- length(a)
  if (n < 3) return(none("fewer than 3 pairs"))
  mean_a <- mean(a)
  mean_b <- mean(b)
  batch_a <- batch_sums(a, groups)
  batch_b <- batch_sums(b, groups)
  g <- length(batch_a$n)
  dev_a <- batch_a$sum - batch_a$n * mean_a
  dev_b <- batch_b$sum - batch_b$n * mean_b
  scale <- g / (g - 1) / n^2
  t2 <- stats::qt(1 - (1 - conf) / 2, g - 1)^2
  # The interval is the set of ratios r for which mean_a - r mean_b does not differ from 0.
  qa <- mean_b^2 - t2 * scale * sum(dev_b^2)
  qb <- mean_a * mean_b - t2 * scale * sum(dev_a * dev_b)
  qc <- mean_a^2 - t2 * scale * sum(dev_a^2)
  if (qa <= 0 || mean_b <= 0) return(none("the denominator is not clearly above 0"))
  root <- sqrt(max(0, qb^2 - qa * qc))
  list(estimate = mean_a / mean_b, low = (qb - root) / qa, high = (qb + root) / qa, reason = NA_character_)
}

# What the generator's bursts cost the ranks beyond the load itself, per on half (preempted on - preempted off - delivered) / bursts, ns:
# the price of the context switch and of cold caches, some microseconds, which dominates at small levels. All arguments per pair; `due`:
# `bursts_due`; `typical`: every on half with bursts has the same number by design: then the pseudo-median over the dosed pairs by their
# mean number of bursts, else the ratio of sums. A list: `estimate`, `low`, `high`, `se`, `df`, `estimator`, `reason`.
interruption_cost <- function(preempted_on, preempted_off, delivered_on, bursts_on, level, conf = 0.99, due = bursts_on, typical = FALSE) {
  none <- function(reason) {
    list(estimate = NA_real_, low = NA_real_, high = NA_real_, se = NA_real_, df = NA_real_, estimator = NA_character_, reason = reason)
  }
  if (isTRUE(level == 0)) return(none("no bursts at level 0"))
  excess <- preempted_on - preempted_off - delivered_on
  if (length(excess) == 0 || anyNA(excess) || anyNA(bursts_on)) {
    return(none("delivered load or bursts unknown (no generator)"))
  }
  if (sum(bursts_on) == 0) return(none("no burst was run"))
  if (typical) {
    dosed <- dosed_pairs(due, level)
    ranks <- pseudo_median(excess[dosed], conf)
    if (is.na(ranks$se)) return(none("too few pairs"))
    per_burst <- lapply(ranks[c("estimate", "low", "high", "se")], `/`, mean(bursts_on[dosed]))
    return(c(per_burst, list(df = Inf, estimator = "pseudo-median", reason = NA_character_)))
  }
  # Ratio of sums: linearised, each pair contributes its residual from the common ratio.
  ratio <- sum(excess) / sum(bursts_on)
  residual <- batch_mean_ci(excess - ratio * bursts_on, conf)
  per_half <- mean(bursts_on)
  list(estimate = ratio, low = ratio + residual$low / per_half,
       high = ratio + residual$high / per_half, se = residual$se / per_half,
       df = residual$df, estimator = "ratio of sums", reason = NA_character_)
}

# Monotone dose-response: more load does not slow less.

# The nondecreasing sequence nearest to the effects (in the order of rising level; or a matrix, one row per resample) in weighted least
# squares, by the minimum over upper sets of the maximum over lower sets of weighted means. Barlow, R. E. et al. (1972) Statistical
# Inference under Order Restrictions, theorem 1.8.
monotone_fit <- function(effect, weight = rep(1, if (is.matrix(effect)) ncol(effect) else length(effect))) {
  rows <- if (is.matrix(effect)) effect else matrix(effect, 1)
  k <- ncol(rows)
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

# The smallest level whose effect reaches `delta` (length 1, or one per row), on the curve from (0, 0) through the `fitted` effects (of
# `monotone_fit()`; a matrix: one row per resample) at the rising `level`s, linear between them; Inf where the highest level's effect
# stays below.
level_reaching <- function(level, fitted, delta) {
  rows <- if (is.matrix(fitted)) fitted else matrix(fitted, 1)
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
