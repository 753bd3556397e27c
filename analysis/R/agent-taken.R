# What an agent took from the ranks, attributed by the records of their CPUs: time in which a rank could have run and the agent ran in its
# place.

taken_parts <- c(agent = "preempted_by_agent_ns", others = "preempted_by_others_ns", kernel = "preempted_by_kernel_ns",
                 noiselab = "preempted_by_noiselab_ns", unknown = "preempted_unknown_ns")

#' CPU time that an agent took from the ranks, attributed
#'
#' Per launch, node and agent: the time in which the agent ran on a rank's CPU while that rank waited for it, on minus off. Other tasks are
#' no part of its noise.
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param alpha One-sided level, length 1: intervals have confidence 1 - 2 alpha.
#' @param power Power at the limit, length 1.
#' @return A data frame, one row per launch x node x agent, and one per agent over all of them where there are several (`launch`, `host` NA;
#'   heterogeneity by Cochran's Q in `heterogeneity_p`): `scope`, `launch`, `host`, `kind`, `n_pairs`, in percent of one CPU
#'   `taken_percent`, `taken_low`, `taken_high`, `limit_percent` (what would have been found with that power), `account_percent` (the
#'   agent's own CPU time), `others_percent`, `kernel_percent`, `noiselab_percent`, `unknown_percent`; `p_value` (one-sided), `reason` (why
#'   there is no figure, else NA).
#' @details Time over wall time of the on halves, less that of the off halves, with the ratios' linearised standard error over pairs and
#'   Student's t:
#'   what is recorded is a sum of bursts, and an off half holds none, so the sign of a difference says nothing that
#'   the record does not. An agent that never ran where a rank waited has 0 with p = 1.
#' @noRd
agent_taken <- function(campaign, alpha = 0.01, power = 0.95) {
  rows <- bind_rows(lapply(agent_shifts(campaign), taken_row, alpha = alpha, power = power))
  if (nrow(rows) == 0) return(rows)
  pooled <- lapply(split(rows, in_order(rows$kind)), pool_taken, alpha = alpha, power = power)
  bind_rows(c(list(rows), Filter(Negate(is.null), pooled)))
}

no_records <- paste("who ran on the ranks' CPUs was not recorded: root, CAP_PERFMON or kernel.perf_event_paranoid of at most 0, and ranks bound to CPUs,",
                    "would add it")

taken_row <- function(shift, alpha, power) {
  mean_of <- function(part) {
    d <- shift$waited[[part]]
    if (any(is.finite(d))) mean(d[is.finite(d)]) / 1e4 else NA_real_
  }
  d <- shift$waited$agent / 1e4
  d <- d[is.finite(d)]
  est <- batch_mean_ci(d, 1 - 2 * alpha)
  reason <- if (length(shift$preempted) == 0) "no pair of an off and an on half" else if (length(d) == 0) no_records else if (length(d) < 3)
    "fewer than three pairs of halves" else NA_character_
  c(list(scope = scope_launch, launch = shift$launch, host = shift$host, kind = shift$kind, n_pairs = length(d),
         account_percent = per_second(shift$rows, shift$on, "agent_cpu_ns") / 1e7), taken_test(est, alpha, power, reason),
    stats::setNames(lapply(names(taken_parts)[-1], mean_of), paste0(names(taken_parts)[-1], "_percent")))
}

# `est`: estimate, se and df, percent.
taken_test <- function(est, alpha, power, reason) {
  if (!is.na(reason)) return(list(taken_percent = NA_real_, taken_low = NA_real_, taken_high = NA_real_, limit_percent = NA_real_,
                                  p_value = NA_real_,
                                  se = NA_real_, df = NA_real_, reason = reason))
  # Without scatter nothing is known of how far it goes; but what is 0 in every pair was not there.
  if (!isTRUE(est$se > 1e-12 * abs(est$estimate))) {
    none <- est$estimate == 0
    return(list(taken_percent = est$estimate, taken_low = NA_real_, taken_high = NA_real_, limit_percent = NA_real_,
                p_value = if (none) 1 else NA_real_, se = est$se,
                df = est$df, reason = if (none) NA_character_ else "all pairs agree exactly"))
  }
  reach <- stats::qt(1 - alpha, est$df) * est$se
  p <- stats::pt(est$estimate / est$se, est$df, lower.tail = FALSE)
  list(taken_percent = est$estimate, taken_low = est$estimate - reach, taken_high = est$estimate + reach,
       limit_percent = (stats::qt(1 - alpha, est$df) + stats::qt(power, est$df)) * est$se, p_value = p, se = est$se, df = est$df, reason = reason)
}

# These launches and nodes: their mean, with the scatter within them.
pool_taken <- function(rows, alpha, power) {
  k <- nrow(rows)
  if (k < 2) return(NULL)
  se <- sqrt(sum(rows$se^2)) / k
  # Welch and Satterthwaite's degrees of freedom of a sum
  df <- if (isTRUE(se > 0)) (k * se)^4 / sum(rows$se^4 / rows$df) else Inf
  q <- if (isTRUE(all(rows$se > 0))) sum((rows$taken_percent - stats::weighted.mean(rows$taken_percent, 1 / rows$se^2))^2 / rows$se^2) else
    NA_real_
  means <- lapply(rows[c("account_percent", paste0(names(taken_parts)[-1], "_percent"))], mean)
  as.data.frame(c(list(scope = scope_these, launch = NA_character_, host = NA_character_, kind = rows$kind[1], n_pairs = sum(rows$n_pairs)),
                  means,
                  taken_test(list(estimate = mean(rows$taken_percent), se = se, df = df), alpha, power,
                             c(rows$reason[!is.na(rows$reason)], NA)[1]),
                  list(heterogeneity_p = stats::pchisq(q, k - 1, lower.tail = FALSE))))
}

# The rows that the answer is about: over all launches where there are several.
main_taken <- function(rows) if (any(is.na(rows$launch))) rows[is.na(rows$launch), ] else rows

# "It took 1.02 % (1.01 to 1.03) of one CPU from the ranks, of the 1.03 % that it used"; NULL without records.
taken_words <- function(row, alpha = 0.01) {
  if (NROW(row) != 1 || !is.na(row$reason)) return(NULL)
  if (row$taken_percent == 0 && row$p_value == 1) return("it never ran where a rank waited for its CPU (by the records of who ran)")
  if (row$p_value > alpha) return(sprintf("by the records of who ran it was not seen to take CPU time from the ranks; %s %% of one CPU would have been", format_effect(row$limit_percent, FALSE)))
  sprintf("by the records of who ran it takes %s of one CPU from the ranks of a node%s",
          percent_words(row$taken_percent, max(0, row$taken_low), row$taken_high),
          if (is.na(row$account_percent)) "" else sprintf(", of the %s %% that it uses", format_effect(row$account_percent, FALSE)))
}
