# Several estimates of the same slowdown, side by side: what each says, how precise it is, and where it is not valid.

# One row per estimator of the channel `time`. `within` gets what is known of a cell and returns a list with estimate,
# low, high, se (percent), n, unit and note, or a reason. Adding an estimator is adding a row.
estimators <- list(
  typical = list(
    name = "typical", question = "pseudo-median of paired log ratios: the shift of the typical half",
    within = function(cell, alpha) {
      validity <- whole_bursts(cell$bursts, cell$level, pattern = cell$pattern)
      got <- from_inference(rank_inference(cell$d, alpha))
      got$note <- if (validity$valid) validity$why else sub("^mean used: ", "less than the mean: ", validity$why)
      got
    }
  ),
  mean = list(
    name = "mean", question = "mean of paired log ratios: what a user pays",
    within = function(cell, alpha) from_inference(randomisation_inference(cell$d, alpha, with_limit = FALSE))
  ),
  batch_means = list(
    name = "batch_means", question = "the same with Student's interval on batch means, which knows of autocorrelation",
    within = function(cell, alpha) {
      groups <- batch_groups(cell$d)
      got <- from_inference(batch_mean_ci(cell$d, 1 - 2 * alpha, groups))
      plain <- if (length(cell$d) > 1) stats::sd(cell$d) / sqrt(length(cell$d)) else NA_real_
      got$note <- sprintf("%d batches; standard error %s that of independent pairs", groups,
                          format_times(got$se_log / plain))
      got
    }
  ),
  trimmed = list(
    name = "trimmed", question = "mean without the highest and lowest tenth of the pairs",
    within = function(cell, alpha) {
      validity <- whole_bursts(cell$bursts, cell$level, pattern = cell$pattern)
      if (!validity$valid) return(list(reason = sub("^mean used: ", "not valid: ", validity$why)))
      got <- from_inference(trimmed_mean_ci(cell$d, 1 - 2 * alpha))
      got$note <- paste0(validity$why, "; spikes that only one arm has are trimmed, too")
      got
    }
  ),
  adjusted = list(
    name = "adjusted", question = "mean, adjusted for what the treatment cannot move (steal, drift)",
    within = function(cell, alpha) adjusted_estimate(cell, alpha, control = TRUE)
  ),
  beside_base = list(
    name = "beside_base", question = "mean, adjusted for the base speed, too: what remains beside its change",
    within = function(cell, alpha) adjusted_estimate(cell, alpha, control = FALSE)
  )
)

from_inference <- function(got) {
  percent <- function(x) 100 * expm1(x)
  list(estimate = percent(got$estimate), low = percent(got$low), high = percent(got$high),
       se_log = got$se, se = got$se * (100 + percent(got$estimate)))
}

adjusted_estimate <- function(cell, alpha, control) {
  wanted <- if (control) vapply(covariates, `[[`, TRUE, "control") else rep(TRUE, length(covariates))
  got <- adjust_differences(cell$d, cell$covariates[, names(covariates)[wanted], drop = FALSE])
  if (!control && !"base" %in% got$used) return(list(reason = "base_ns was not measured or does not vary"))
  if (length(got$used) == 0) return(list(reason = "no covariate with known, varying values"))
  result <- from_inference(randomisation_inference(got$d, alpha, with_limit = FALSE))
  result$gain <- got$gain
  result$note <- paste0("for ", join_words(got$used))
  result
}

#' Trimmed mean with Student's interval on winsorised deviations
#'
#' @param d Numeric, length n: difference or log ratio of each pair.
#' @param conf Confidence, length 1.
#' @param trim Share dropped at either end, length 1.
#' @return A list in the unit of `d`: `estimate`, `low`, `high`, `se`, `df`; NA where fewer than 3 values remain or
#'   those have no scatter.
#' @references Tukey, J. W. and McLaughlin, D. H. (1963) Sankhya A 25, 331-352.
#' @noRd
trimmed_mean_ci <- function(d, conf = 0.99, trim = 0.1) {
  check_numeric(d, "d")
  check_probability(conf, "conf")
  check_argument(is_number(trim) && trim >= 0 && trim < 0.5, "trim", trim, "a share from 0 to below 0.5")
  n <- length(d)
  cut <- floor(trim * n)
  left <- n - 2 * cut
  none <- list(estimate = if (n > 0) mean(d, trim = trim) else NA_real_, low = NA_real_, high = NA_real_,
               se = NA_real_, df = NA_real_)
  if (left < 3) return(none)
  s <- sort(d)
  winsorised <- c(rep(s[cut + 1], cut), s[cut + seq_len(left)], rep(s[n - cut], cut))
  se <- sqrt(sum((winsorised - mean(winsorised))^2) / (left * (left - 1)))
  if (!isTRUE(se > 0)) return(none)
  reach <- stats::qt(1 - (1 - conf) / 2, left - 1) * se
  list(estimate = mean(s[cut + seq_len(left)]), low = none$estimate - reach, high = none$estimate + reach, se = se,
       df = left - 1)
}

# Batches long enough that the means of neighbours are hardly correlated: halved in number until they are, not below 16.
batch_groups <- function(d) {
  groups <- min(length(d), most_groups)
  while (groups >= 32) {
    batch <- batch_sums(d, groups)
    if (!isTRUE(autocorrelation(batch$sum / batch$n, 1)$acf > 2 / sqrt(groups))) break
    groups <- groups %/% 2
  }
  groups
}

# Rows of the table for one cell within one launch. `cell`: d, bursts, level, pattern, covariates (matrix).
estimator_rows <- function(label, cell, alpha) {
  bind_rows(lapply(estimators, function(estimator) {
    got <- if (length(cell$d) == 0) list(reason = "no pair has a value") else estimator$within(cell, alpha)
    estimator_row(label, estimator$name, got, length(cell$d), "pairs")
  }))
}

estimator_row <- function(label, name, got, n, unit) {
  value <- function(key) got[[key]] %||% NA_real_
  reason <- got$reason %||% if (is.na(value("low"))) "too few values, or no scatter" else NA_character_
  as.data.frame(c(label[intersect(c(label_columns, dose_columns), names(label))], list(
    estimator = name, estimate = value("estimate"), ci_low = value("low"), ci_high = value("high"), se = value("se"),
    gain = value("gain"), n = n, unit = unit, note = got$note %||% "", reason = reason
  )))
}

# Shifts of quantiles of the single operations' times, from the histograms of a launch: percent of the off quantile.
# Ranks of order statistics bound a quantile as if operations were independent; neighbours are not, so within a launch
# these intervals are the least that can be said, and the note says so.
quantile_shifts <- function(hist, label, alpha, probabilities = tail_shifts) {
  level <- label$level_requested_percent
  same <- function(arm) {
    mine <- hist[["launch"]] == label$launch & hist[["operation"]] == label$operation & hist[["bytes"]] == label$bytes &
      hist[["arm"]] == arm
    if (arm == "off") return(hist[mine, ])
    mine <- mine & (hist[["level_requested_percent"]] == level | abs(hist[["level_requested_percent"]] - level) < 1e-12) %in% TRUE
    for (factor in intersect(treatment_columns, names(hist))) {
      mine <- mine & (is.na(hist[[factor]]) | as.character(hist[[factor]]) == (label[[factor]] %||% ""))
    }
    hist[mine, ]
  }
  off <- on <- data.frame(count = numeric())
  if (NROW(hist) > 0) {
    off <- same("off")
    on <- same("on")
  }
  bind_rows(lapply(names(probabilities), function(name) {
    got <- shift_of_quantile(off, on, probabilities[[name]], alpha)
    estimator_row(label, name, got, sum(on[["count"]]), "operations")
  }))
}

tail_shifts <- c(median_shift = 0.5, p99_shift = 0.99, p99.9_shift = 0.999)

shift_of_quantile <- function(off, on, p, alpha) {
  if (nrow(off) == 0 || nrow(on) == 0) return(list(reason = "no histogram of single operations"))
  if (min(sum(off[["count"]]), sum(on[["count"]])) * (1 - p) < 20) {
    return(list(reason = "fewer than 20 operations beyond the quantile"))
  }
  logs <- function(hist) lapply(quantile_interval(hist, p, alpha), log)
  shift <- lapply(difference_interval(logs(on), logs(off)), function(x) 100 * expm1(x))
  c(shift, list(se = (shift$high - shift$low) / 2 / stats::qnorm(1 - alpha / 2),
                note = "operations as if independent: at least this wide"))
}

# The same estimators across launches: each launch gives one value, Student's interval on them.
estimators_across <- function(rows, alpha) {
  by <- c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent", "estimator")
  bind_rows(lapply(groups_across(rows, intersect(by, names(rows))), function(group) {
    x <- log1p(group$estimate / 100)
    known <- is.finite(x)
    got <- if (sum(known) < 2) list(reason = group$reason[!known][1] %||% "fewer than 2 launches have a value") else {
      c(from_inference(batch_mean_ci(x[known], 1 - 2 * alpha, groups = Inf)),
        list(gain = mean_or_na(group$gain), note = if (length(unique(group$note)) == 1) group$note[1] else ""))
    }
    if (is.null(got$reason) && grepl("^operations as if", got$note)) got$note <- "scatter of the launches"
    estimator_row(across_label(group), group$estimator[1], got, sum(known), "launches")
  }))
}

format_times <- function(x) ifelse(is.finite(x), paste0(format_effect(x, FALSE), " times"), "unknown, in units")

#' Autocorrelation of a series
#'
#' @param x Numeric, length n: evenly spaced series.
#' @param lags Largest lag, length 1; at most a quarter of n is used.
#' @return A data frame: `lag` (1, 2, ...), `acf` (divisor n at every lag, as Box and Jenkins). No rows for fewer than
#'   8 values, or where all are equal.
#' @references Box, G. E. P. and Jenkins, G. M. (1970) Time Series Analysis, chapter 2.
#' @noRd
autocorrelation <- function(x, lags = 30) {
  check_numeric(x, "x")
  check_argument(is_number(lags, 0), "lags", lags, "one number above 0")
  n <- length(x)
  if (n < 8 || min(x) == max(x)) return(data.frame(lag = numeric(), acf = numeric()))
  most <- floor(min(lags, n / 4))
  data.frame(lag = seq_len(most), acf = stats::acf(x, most, plot = FALSE)$acf[-1])
}
