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
#' @param over The same over launches, of which more may come, see `campaign_looks()`.
#' @param power Power at the limit, length 1.
#' @return A data frame, one row per launch x node x agent, and one per agent over all of them where there are several (`launch`, `host` NA;
#'   heterogeneity by Cochran's Q in `heterogeneity_p`): `scope`, `launch`, `host`, `kind`, `n_pairs`, in percent of one CPU
#'   `taken_percent`, `taken_low`, `taken_high`, `limit_percent` (what would have been found with that power), `account_percent` (the
#'   agent's own CPU time), `others_percent`, `kernel_percent`, `noiselab_percent`, `unknown_percent`; `p_value` (one-sided), `reason` (why
#'   there is no figure, else NA).
#' @details Time over wall time of the on halves, less that of the off halves, with the ratios' linearised standard error and
#'   Student's t, over pairs or over 16 blocks of them (halves of an agent resemble their neighbours), whichever is wider:
#'   what is recorded is a sum of bursts, and an off half holds none, so the sign of a difference says nothing that
#'   the record does not. With fewer than 20 bursts the interval holds that of their Poisson count, too. An agent that never ran where a rank
#'   waited has 0 with p = 1, and as upper end what bursts rarer than one in the time could take.
#'   Over launches the nodes of a launch are one, as dependent as can be; from five launches on the answer is about launches like these, and
#'   no narrower than Student's over launches.
#' @noRd
agent_taken <- function(campaign, alpha = 0.01, power = 0.95, over = alpha) {
  rows <- bind_rows(lapply(agent_shifts(campaign), taken_row, alpha = alpha, power = power, tasks = campaign$tasks))
  if (nrow(rows) == 0) return(rows)
  pooled <- lapply(split(rows, in_order(rows$kind)), pool_taken, alpha = over, power = power)
  bind_rows(c(list(rows), Filter(Negate(is.null), pooled)))
}

no_records <- paste("who ran on the ranks' CPUs was not recorded: root, CAP_PERFMON or kernel.perf_event_paranoid of at most 0, and ranks bound to CPUs,",
                    "would add it")

few_bursts <- 20

taken_row <- function(shift, alpha, power, tasks = NULL) {
  mean_of <- function(part) {
    d <- shift$waited[[part]]
    if (any(is.finite(d))) mean(d[is.finite(d)]) / 1e4 else NA_real_
  }
  d <- shift$waited$agent / 1e4
  d <- d[is.finite(d)]
  each <- batch_mean_ci(d, 1 - 2 * alpha)
  blocks <- batch_mean_ci(d, 1 - 2 * alpha, locked_design$groups)
  est <- if (isTRUE(blocks$high - blocks$low > each$high - each$low)) blocks else each
  reason <- if (length(shift$preempted) == 0 && !shift$is_quick) "no pair of an off and an on half" else if (length(d) == 0) no_records else if (length(d) < 3)
    "fewer than three pairs of halves" else NA_character_
  mine <- tasks[tasks[["launch"]] %in% shift$launch & tasks[["host"]] %in% shift$host & tasks[["group"]] %in% "agent" &
                tasks[["arm"]] %in% "on", ]
  n <- if (NROW(mine) > 0) sum(mine[["bursts"]]) else NA_real_
  c(list(scope = scope_launch, launch = shift$launch, host = shift$host, kind = shift$kind, n_pairs = length(d),
         account_percent = per_second(shift$rows, shift$on, "agent_cpu_ns") / 1e7),
    taken_test(est, alpha, power, reason, n, sum(shift$rows[["wall_ns"]][shift$on]) / 1e9),
    stats::setNames(lapply(names(taken_parts)[-1], mean_of), paste0(names(taken_parts)[-1], "_percent")))
}

# `est`: estimate, se and df, percent; `n`: bursts that it rests on, NA: not known; `seconds`: watched.
taken_test <- function(est, alpha, power, reason, n = NA_real_, seconds = NA_real_) {
  if (!is.na(reason)) return(list(taken_percent = NA_real_, taken_low = NA_real_, taken_high = NA_real_, limit_percent = NA_real_,
                                  p_value = NA_real_,
                                  se = NA_real_, df = NA_real_, reason = reason))
  # Without scatter nothing is known of how far it goes; but what is 0 in every pair was not there.
  if (!isTRUE(est$se > 1e-12 * abs(est$estimate))) {
    none <- est$estimate == 0
    high <- if (none && !is.na(seconds)) unseen_percent(seconds, alpha) else NA_real_
    return(list(taken_percent = est$estimate, taken_low = if (is.na(high)) NA_real_ else 0, taken_high = high, limit_percent = high,
                p_value = if (none) 1 else NA_real_, se = est$se,
                df = est$df, reason = if (none) NA_character_ else "all pairs agree exactly"))
  }
  ends <- est$estimate + c(-1, 1) * stats::qt(1 - alpha, est$df) * est$se
  if (isTRUE(n > 0 && n < few_bursts)) {
    count <- est$estimate * c(stats::qgamma(alpha, n), stats::qgamma(1 - alpha, n + 1)) / n
    ends <- c(min(ends[1], count[1]), max(ends[2], count[2]))
  }
  p <- stats::pt(est$estimate / est$se, est$df, lower.tail = FALSE)
  list(taken_percent = est$estimate, taken_low = ends[1], taken_high = ends[2],
       limit_percent = (stats::qt(1 - alpha, est$df) + stats::qt(power, est$df)) * est$se, p_value = p, se = est$se, df = est$df, reason = reason)
}

# These launches: their mean, with the scatter within them; with launches enough it is about launches like these.
pool_taken <- function(rows, alpha, power) {
  if (nrow(rows) < 2) return(NULL)
  launches <- bind_rows(lapply(split(rows, in_order(rows$launch)), function(mine) {
    data.frame(taken_percent = mean(mine$taken_percent), se = mean(mine$se), df = min(mine$df))
  }))
  k <- nrow(launches)
  se <- sqrt(sum(launches$se^2)) / k
  # Welch and Satterthwaite's degrees of freedom of a sum
  df <- if (isTRUE(se > 0)) (k * se)^4 / sum(launches$se^4 / launches$df) else Inf
  like <- k >= launches_for_more
  between <- stats::sd(launches$taken_percent) / sqrt(k)
  if (like && isTRUE(stats::qt(1 - alpha, k - 1) * between > stats::qt(1 - alpha, df) * se)) {
    se <- between
    df <- k - 1
  }
  q <- if (isTRUE(all(launches$se > 0))) {
    sum((launches$taken_percent - stats::weighted.mean(launches$taken_percent, 1 / launches$se^2))^2 / launches$se^2)
  } else NA_real_
  means <- lapply(rows[c("account_percent", paste0(names(taken_parts)[-1], "_percent"))], mean)
  as.data.frame(c(list(scope = if (like) scope_campaign else scope_these, launch = NA_character_, host = NA_character_, kind = rows$kind[1],
                       n_pairs = sum(rows$n_pairs)),
                  means,
                  taken_test(list(estimate = mean(launches$taken_percent), se = se, df = df), alpha, power,
                             c(rows$reason[!is.na(rows$reason)], NA)[1]),
                  list(heterogeneity_p = if (k > 1) stats::pchisq(q, k - 1, lower.tail = FALSE) else NA_real_)))
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
