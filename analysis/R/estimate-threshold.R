# Thresholds: the smallest detected level, the smallest detectable one, and the level that slows by a given
# amount.

# Sensitivity thresholds per operation, size, treatment and channel, each with an interval: the minimum
# effective dose (MED), the smallest level that the step-down detects, with its bracket (next lower tested
# level, MED]; the limit of detection (LOD), the level at which the expected effect reaches the placebo's
# detection limit (without one that of the lowest level), read off the monotone fit of effect on delivered
# level from (0, 0), weighted by 1/se^2, linear between levels: a line through all would be more precise
# where the response is a line, and wrong where it is not.
#
# Ends (`..._low_percent`, `..._high_percent`; Inf: above the highest level) follow from those of the
# effects, one-sided bounds of confidence 1 - alpha each, and of the limit, whose scatter is one of
# chi-square. `slope`: unit of the channel per percent of one CPU. Currie, L. A. (1968) Analytical Chemistry
# 40, 586-593; Tamhane, A. C. et al. (1996) Biometrics 52, 21-37 (MED by step-down).
thresholds <- function(verdicts, alpha = 0.01) {
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

# data.frame() of plain columns without its checks, which cost more than what is done in loops; columns of
# one value are repeated.
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
  dosed <- rows[rows$level_requested_percent > 0 & has_level(rows$level_requested_percent), ]
  # Currie's limit is that of the blank: the placebo, or else the lowest level; where the scatter grows with
  # the dose (a quiet machine's blank has none), that of the lowest level above it.
  blank <- utils::head(rows, 2)
  blank <- blank[order(-blank$detection_limit, na.last = FALSE)[1], ]
  df <- max(0, min(blank$raw_full_df, blank$n_tested - 1, na.rm = TRUE))
  limits <- blank$detection_limit *
    c(
      if (df > 0) {
        sqrt(df / stats::qchisq(c(1 - alpha, alpha), df))
      } else {
        c(NA, NA)
      },
      1
    )
  med <- med_of(dosed)
  curve <- curve_of(dosed)
  if (!any(has_level(rows$level_requested_percent))) {
    med$med_reason <- curve$reason <- "the treatment has no level"
  }
  do.call(
    frame,
    c(
      as.list(rows_at(rows, 1))[c(family_columns(rows), "unit")],
      med,
      lod_of(limits, curve),
      list(slope = slope_through_origin(dosed$level_delivered_percent, dosed$estimate, dosed$se_effect),
           detection_limit = limits[3], n_pairs = stats::median(rows$n_pairs), n_tested = min(rows$n_tested),
           n_launches = max(rows$n_launches))
    )
  )
}

# Of a line through the origin, by weighted least squares; NA without a level that has a delivered load and
# a standard error.
slope_through_origin <- function(x, y, se) {
  use <- !is.na(x) & !is.na(y) & is.finite(se) & se > 0 & x > 0
  if (any(use)) sum((x * y / se^2)[use]) / sum((x^2 / se^2)[use]) else NA_real_
}

# ---- the two numbers -------------------------------------------------------------------------

# The end of the interval of the MED: from where on `bound` of every higher level is beyond what the test
# needs.
med_of <- function(dosed) {
  level <- dosed$level_requested_percent
  hit <- level[dosed$stepdown == "detected" & is.na(dosed$reason)]
  med <- if (length(hit) > 0) min(hit) else NA_real_
  end <- function(bound) {
    if (nrow(dosed) == 0 || any(!is.na(dosed$reason)) || anyNA(bound)) return(NA_real_)
    c(level[rev(cumprod(rev(bound > dosed$estimate - dosed$ci_low))) == 1], Inf)[1]
  }
  list(
    med_percent = med, med_bracket_low_percent = if (is.na(med)) NA else max(0, level[level < med]),
    med_low_percent = end(dosed$ci_high), med_high_percent = end(dosed$ci_low),
    med_reason = if (!is.na(med)) NA_character_ else if (nrow(dosed) == 0) {
      "no level above 0 was tested"
    } else if (all(!is.na(dosed$reason))) dosed$reason[1] else "no level was detected")
}

# The monotone dose-response of the levels that can be used, and that of the ends of their intervals; or why
# there is none.
curve_of <- function(dosed) {
  use <- dosed[
    is.finite(dosed$level_delivered_percent) & is.finite(dosed$estimate) & is.finite(dosed$se_effect) &
      dosed$se_effect > 0,
  ]
  if (nrow(use) == 0) return(list(reason = "no level with a delivered load and a standard error"))
  if (any(diff(c(0, use$level_delivered_percent)) <= 0)) {
    return(list(reason = "the delivered levels do not rise with the requested ones"))
  }
  fit <- lapply(use[c("ci_high", "ci_low", "estimate")], monotone_fit, 1 / use$se_effect^2)
  list(level = use$level_delivered_percent, fit = fit, reason = NA_character_)
}

# The level at which the fit reaches the limit (unit of the channel). `limits`: its lower and upper end, and
# itself.
lod_of <- function(limits, curve) {
  reason <- if (is.na(limits[3])) "no detection limit known" else curve$reason
  level <- if (is.na(reason)) {
    mapply(level_reaching, list(curve$level), curve$fit, limits)
  } else {
    rep(NA_real_, 3)
  }
  if (level[3] %in% Inf) {
    reason <- sprintf("the effect of the highest level, %s %%, stays below the limit",
                      format_level(max(curve$level)))
  }
  list(lod_percent = if (is.na(reason)) level[3] else NA_real_, lod_low_percent = level[1],
       lod_high_percent = level[2], lod_reason = reason)
}

no_ratio <- function(reason) list(estimate = NA_real_, low = NA_real_, high = NA_real_, reason = reason)

# Ratio of two means with Fieller's interval: `a` and `b` are paired, in run order, averaged over at most
# `groups` contiguous groups, so their correlation is used. A list: `estimate`, `low`, `high`, `reason` (why
# they are NA, else NA). Fieller, E. C. (1954) JRSS B 16, 175-185.
fieller_ratio <- function(a, b, conf = 0.99, groups = 256) {
  n <- length(a)
  if (n < 3) return(no_ratio("fewer than 3 pairs"))
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
  if (qa <= 0 || mean_b <= 0) return(no_ratio("the denominator is not clearly above 0"))
  root <- sqrt(max(0, qb^2 - qa * qc))
  list(estimate = mean_a / mean_b, low = (qb - root) / qa, high = (qb + root) / qa, reason = NA_character_)
}

# Monotone dose-response: more load does not slow less.

# The nondecreasing sequence nearest to the effects (in the order of rising level) in weighted least
# squares, by the minimum over upper sets of the maximum over lower sets of weighted means. Barlow, R. E. et
# al. (1972) Statistical Inference under Order Restrictions, theorem 1.8.
monotone_fit <- function(effect, weight = rep(1, length(effect))) {
  k <- seq_along(effect)
  mean_of <- function(a, b) sum((effect * weight)[a:b]) / sum(weight[a:b])
  vapply(
    k,
    function(i) max(vapply(k[k <= i], function(a) min(vapply(k[k >= i], function(b) mean_of(a, b), 0)), 0)), 0
  )
}

# The smallest level whose effect reaches `delta`, on the curve from (0, 0) through the `fitted` effects at
# the rising `level`s, linear between them; Inf where the highest level's effect stays below, NA where an
# effect or `delta` is not known.
level_reaching <- function(level, fitted, delta) {
  if (anyNA(c(fitted, delta))) return(NA_real_)
  x <- c(0, level)
  y <- c(0, pmax(fitted, 0))
  at <- which(y >= delta)[1]
  if (is.na(at)) return(Inf)
  if (at == 1) 0 else x[at - 1] + (delta - y[at - 1]) / (y[at] - y[at - 1]) * (x[at] - x[at - 1])
}

# `mean_values`: those of the unit of inference that are behind the mean, on the scale of the test.
verdict_row <- function(label, name, n_pairs, n_tested, n_launches, est, reason, settings, unit,
                        mean_values) {
  effect <- function(x) if (is.null(x)) NA_real_ else to_effect(name, x)
  limit <- effect(est$limit %||% detection_limit(est$se, est$df, settings$alpha, settings$power))
  if (is.na(reason)) {
    reason <- if (is.na(limit)) {
      "the scatter is unknown, so there is no detection limit"
    } else if (is.na(est$low) || is.na(est$high)) {
      "too few pairs for an interval"
    } else if (limit > hopeless_limit && channels[[name]]$unit != "ns" && !isTRUE(est$p <= settings$alpha)) {
      sprintf("only an effect above %s %% would be detected: measure for longer", plain(limit))
    } else {
      NA_character_
    }
  }
  conclusive <- is.na(reason)
  adjusted <- est$adjusted
  log_ratio <- channels[[name]]$transform == "log_ratio"
  # Standard error of the effect: of log ratios it is, to first order, 100 (1 + effect/100) se.
  se_effect <- if (log_ratio) est$se * (100 + effect(est$estimate)) else est$se
  c(
    label[intersect(label_columns, names(label))],
    list(
      channel = name,
      unit = channels[[name]]$unit,
      level_requested_percent = label$level_requested_percent,
      level_delivered_percent = label$level_delivered_percent,
      delivered_ratio = label$delivered_ratio %||% NA_real_,
      delivered_note = delivered_note(label),
      n_pairs = n_pairs,
      n_tested = n_tested,
      n_launches = n_launches,
      unit_of_inference = unit,
      estimate = effect(est$estimate),
      estimator = est$estimator,
      estimator_note = est$why,
      ci_low = effect(est$low),
      ci_high = effect(est$high),
      mean = effect(est$mean$estimate),
      mean_low = effect(est$mean$low),
      mean_high = effect(est$mean$high),
      adjusted_mean = effect(adjusted$estimate),
      adjusted_low = effect(adjusted$low),
      adjusted_high = effect(adjusted$high),
      adjusted_for = adjusted$covariate %||% NA_character_,
      adjusted_note = adjusted$note %||% NA_character_,
      z = est$z,
      p_one_sided = if (conclusive) est$p else NA_real_,
      test = est$method,
      test_kind = test_kind(est$method),
      detection_limit = limit,
      alpha = settings$alpha,
      reason = reason,
      heterogeneity_p = NA_real_,
      se_effect = se_effect,
      # On the scale of the test.
      raw_estimate = est$estimate,
      raw_se = est$own_se %||% est$se,
      raw_df = est$own_df %||% est$df,
      raw_full_se = est$se,
      raw_full_df = est$df,
      raw_n = est$own_n %||% n_tested,
      raw_mean = est$mean$estimate,
      raw_mean_se = est$mean$se,
      raw_mean_df = est$mean$df,
      raw_mean_values = list(as.numeric(mean_values)),
      raw_adjusted = list(adjusted)
    )
  )
}

# A delivered load off by more than 5 % of the requested one is said on the row.
delivered_note <- function(label) {
  ratio <- delivered_ratio(label$level_delivered_percent, label$level_requested_percent)
  if (is.na(ratio) || abs(ratio - 1) <= 0.05) return(NA_character_)
  sprintf("delivered %.3g %% of one CPU for %g %% requested", label$level_delivered_percent,
          label$level_requested_percent)
}

# A run that could only have seen an effect of this size has no answer, %.
hopeless_limit <- 50

test_kind <- function(method) unname(test_kinds[sub("[ :,].*", "", method)])

# Closed words for the tests of verdicts, by the first word of their method.
test_kinds <- c("sign-flip" = "sign_flip", "signed" = "signed_rank", "t" = "t", "paired" = "t",
                "Welch" = "welch", "shifts" = "shifts", "none" = "none")
