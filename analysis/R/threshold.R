# Thresholds, amplification and the cost of an interruption.

#' Sensitivity thresholds
#'
#' Per operation, size, treatment and channel: the *minimum effective dose* (MED), the smallest level that the
#' step-down detects, with its bracket (next lower tested level, MED]; and the *limit of detection*
#' (LOD) in level, the level whose expected effect reaches the detection limit: limit / slope, the
#' slope from a regression through the origin of effect on delivered level, weighted by 1/se^2.
#'
#' @param verdicts Data frame: the `verdicts` of [analyze_campaign()].
#' @param alpha Probability, length 1: the slope's interval has confidence 1 - alpha.
#' @return A data frame, one row per scope x launch x operation x bytes x treatment x channel: `med_percent` (of
#'   one CPU; NA if no level was detected), `med_bracket_low_percent`, `med_reason`,
#'   `lod_percent` (delivered level) and its interval `lod_low_percent`, `lod_high_percent` from that of
#'   the slope, `lod_reason`, `slope`, `slope_low`, `slope_high` (unit of the
#'   channel per percent of one CPU), `detection_limit` (unit of the channel, at the
#'   placebo, or else at the lowest level), `n_pairs` (median over levels), `n_tested` (smallest over
#'   levels), `n_launches`.
#' @references Currie, L. A. (1968) Analytical Chemistry 40, 586-593.
#' @examples
#' dir <- file.path(tempdir(), "thresholds")
#' simulate_campaign(dir, pairs = 40, levels_percent = c(0, 1, 5), seed = 1)
#' analysis <- analyze_campaign(read_campaign(dir), channels = "time")
#' thresholds(analysis$verdicts)[, c("med_percent", "lod_percent")]
#' unlink(dir, recursive = TRUE)
#' @export
thresholds <- function(verdicts, alpha = 0.01) {
  check_argument(is.data.frame(verdicts) && nrow(verdicts) > 0, "verdicts", class(verdicts),
                 "a data frame of verdicts")
  wanted <- verdicts[!channel_table()$control[match(verdicts$channel, names(channels))], ]
  if (nrow(wanted) == 0) return(NULL)
  bind_rows(lapply(split_families(wanted), threshold_of, alpha = alpha))
}

# What is tested together: the levels of one operation, size, treatment and channel.
family_columns <- function(rows) intersect(c(label_columns, "channel"), names(rows))

split_families <- function(rows) {
  keys <- lapply(rows[family_columns(rows)], function(x) ifelse(is.na(x), "", as.character(x)))
  key <- do.call(paste, c(keys, sep = "\r"))
  unname(split(rows, factor(key, unique(key))))
}

bind_rows <- function(parts) {
  as.data.frame(data.table::rbindlist(parts, use.names = TRUE, fill = TRUE))
}

threshold_of <- function(rows, alpha) {
  dosed <- rows[rows$level_requested_percent > 0, ]
  hit <- dosed$level_requested_percent[dosed$stepdown == "detected" & is.na(dosed$reason)]
  med <- if (length(hit) > 0) min(hit) else NA_real_
  lower <- dosed$level_requested_percent[dosed$level_requested_percent < med]
  # Few launches know their standard errors badly: Student's quantile of the launches.
  df <- if (rows$scope[1] == scope_campaign) max(1, min(rows$n_launches) - 1) else Inf
  slope <- slope_through_origin(dosed$level_delivered_percent, dosed$estimate, dosed$se_effect, alpha, df)
  # Currie's limit is that of the blank: the placebo, or else the lowest level.
  blank <- order(rows$level_requested_percent)[1]
  limit <- rows$detection_limit[blank]
  lod_reason <- if (is.na(limit)) "no detection limit known" else slope$reason
  cbind(rows[1, c(family_columns(rows), "unit")], data.frame(
    med_percent = med,
    med_bracket_low_percent = if (is.na(med)) NA else max(0, lower),
    med_reason = if (!is.na(med)) NA_character_ else if (nrow(dosed) == 0) {
      "no level above 0 was tested"
    } else if (all(!is.na(dosed$reason))) dosed$reason[1] else "no level was detected",
    lod_percent = if (is.na(lod_reason)) limit / slope$slope else NA_real_,
    lod_low_percent = if (is.na(lod_reason)) limit / slope$high else NA_real_,
    lod_high_percent = if (is.na(lod_reason)) limit / slope$low else NA_real_,
    lod_reason = lod_reason, slope = slope$slope, slope_low = slope$low, slope_high = slope$high,
    detection_limit = limit, n_pairs = stats::median(rows$n_pairs), n_tested = min(rows$n_tested), n_launches = max(rows$n_launches)
  ))
}

# Weighted least squares through the origin; `df` is that of the weights' standard errors.
slope_through_origin <- function(x, y, se, alpha, df = Inf) {
  use <- !is.na(x) & !is.na(y) & !is.na(se) & se > 0 & x > 0
  none <- list(slope = NA_real_, low = NA_real_, high = NA_real_,
               reason = "no level with a delivered load and a standard error")
  if (!any(use)) return(none)
  weight <- 1 / se[use]^2
  information <- sum(weight * x[use]^2)
  slope <- sum(weight * x[use] * y[use]) / information
  reach <- stats::qt(1 - alpha / 2, df) / sqrt(information)
  list(slope = slope, low = slope - reach, high = slope + reach,
       reason = if (slope - reach > 0) NA_character_ else "the slope is not clearly positive")
}

#' Ratio of two means with Fieller's interval
#'
#' For amplification: numerator and denominator are paired batch (or launch) means, so their
#' correlation is used.
#'
#' @param a,b Numeric, length n: paired values of numerator and denominator, in run order.
#' @param conf Confidence, length 1.
#' @param groups Largest number of contiguous groups they are averaged over, length 1.
#' @return A list: `estimate`, `low`, `high` (unit of `a` per unit of `b`), `reason` (why they are NA,
#'   else NA).
#' @references Fieller, E. C. (1954) Journal of the Royal Statistical Society B 16, 175-185.
#' @examples
#' fieller_ratio(c(2, 4.1, 6, 7.9), c(1, 2, 3.1, 4))$estimate
#' @export
fieller_ratio <- function(a, b, conf = 0.99, groups = 256) {
  check_numeric(a, "a")
  check_numeric(b, "b")
  check_argument(length(a) == length(b), "b", length(b), paste(length(a), "values, as in a"))
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
  list(estimate = mean_a / mean_b, low = (qb - root) / qa, high = (qb + root) / qa,
       reason = NA_character_)
}

#' Cost of one interruption
#'
#' What the generator's bursts cost the ranks beyond the load itself: per on half
#' (stolen on - stolen off - delivered) / bursts. It is the price of the context switch and of cold
#' caches, some microseconds, and dominates at small levels.
#'
#' @param stolen_on,stolen_off Numeric, length n: `stolen_ns_sum` of the two halves of each pair, ns.
#' @param delivered_on Numeric, length n: CPU time of the generators in the on half, ns.
#' @param bursts_on Numeric, length n: bursts in the on half.
#' @param due Numeric, length n: `bursts_due` of the on half.
#' @param level Requested level in percent, length 1.
#' @param conf Confidence, length 1.
#' @param pattern Pattern of the bursts, length 1.
#' @return A list: `estimate`, `low`, `high`, `se` (ns per burst), `df`, `estimator`, `reason`. The
#'   pseudo-median is used where the pattern is periodic and every on half with bursts holds the same
#'   whole number of them (see [whole_bursts()] and [dosed_pairs()]), else the ratio of sums.
#' @examples
#' interruption_cost(c(30, 32, 31), c(10, 11, 12), c(15, 15, 15), c(2, 2, 2), level = 1)$estimate
#' @export
interruption_cost <- function(stolen_on, stolen_off, delivered_on, bursts_on, level, conf = 0.99,
                              due = bursts_on, pattern = "periodic") {
  none <- function(reason) {
    list(estimate = NA_real_, low = NA_real_, high = NA_real_, se = NA_real_, df = NA_real_,
         estimator = NA_character_, reason = reason)
  }
  if (isTRUE(level == 0)) return(none("no bursts at level 0"))
  excess <- stolen_on - stolen_off - delivered_on
  if (length(excess) == 0 || anyNA(excess) || anyNA(bursts_on)) {
    return(none("delivered load or bursts unknown (no generator)"))
  }
  if (sum(bursts_on) == 0) return(none("no burst was run"))
  dosed <- dosed_pairs(due, level)
  validity <- whole_bursts(bursts_on[dosed], level, pattern = pattern)
  per_half <- mean(bursts_on)
  # Ratio of sums: linearised, each pair contributes its residual from the common ratio.
  ratio <- sum(excess) / sum(bursts_on)
  residual <- batch_mean_ci(excess - ratio * bursts_on, conf)
  sums <- list(estimate = ratio, low = ratio + residual$low / per_half,
               high = ratio + residual$high / per_half, se = residual$se / per_half,
               df = residual$df, estimator = "ratio of sums", reason = NA_character_)
  if (!validity$valid) return(sums)
  ranks <- pseudo_median(excess[dosed] / validity$bursts, conf)
  if (!isTRUE(ranks$se > 0)) return(sums)
  list(estimate = ranks$estimate, low = ranks$low, high = ranks$high, se = ranks$se, df = Inf,
       estimator = "pseudo-median", reason = NA_character_)
}
