# noiselab analyze intervals.

analyze_intervals <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  sweep <- interval_sweep(read_campaign(operands), margin, alpha, power)
  answered(form, values$table, c(list(alpha = alpha, power = power, margin_percent = margin), pick(sweep, c("answer", "safe")),
                                 list(sentences = texts(sweep$sentences), intervals = sweep$steps, model = sweep$model)),
           list(estimates = intervals_estimates(sweep), rows = public_sweep(sweep$rows)), sweep$notes, format_intervals(sweep),
           intervals_view(sweep, operands), c(sweep$sentences, sweep$notes), if (!is.null(margin)) sweep$answer)
}

public_sweep <- function(rows) rows[setdiff(names(rows), c("se", "df"))]

#' Format a sweep over sampling intervals
#'
#' @param sweep An `nl_intervals` from [interval_sweep()].
#' @return Character, one element per line.
#' @noRd
format_intervals <- function(sweep) c(wrap_line(sweep$sentences, 0), "", part_lines(intervals_part(sweep)), format_notes(sweep$notes))

intervals_part <- function(sweep) {
  rows <- sweep$rows
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")
  models <- sweep$model[!is.na(sweep$model$cost_s), ]
  guide <- sprintf(
    "guide line of %s, %s: %s lost per sample (%s to %s), slowdown = that / interval%s%s", models$agent, panel_name(models),
    format_time(models$cost_s),
    format_time(models$cost_low_s), format_time(models$cost_high_s),
    ifelse(is.na(models$interval_at_margin_s), "", paste0("; it meets the margin at ", format_time(models$interval_at_margin_s))),
    ifelse(models$p_lack_of_fit %in% NA | models$p_lack_of_fit > 0.01, "", paste0("; it does not fit (p = ", format_p(models$p_lack_of_fit), ")")))
  new_part("slowdown by sampling interval", intervals_table(sweep), paste0(
    "slowdown, CI, bound, limit in percent; limit: the slowdown found with power ", sweep$power, "; preempted: percent of one CPU; n: ",
    paste(unique(units[rows$unit_of_inference]), collapse = ", "), if (!is.null(sweep$margin)) sprintf(paste(
      "; intervals are tested from the longest down to the first that is not below the margin, each at one-sided alpha %g, which needs no correction"
    ), sweep$alpha)
  ), c(guide, sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason)))))
}

intervals_table <- function(sweep) {
  rows <- sweep$rows
  plain <- function(x) format_effect(x, FALSE)
  new_table(
    interval_s = col_number("interval", rows$interval_s, format_time), estimate = col_number("slowdown", rows$estimate, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(2 * sweep$alpha), "CI"), rows$ci_low, rows$ci_high),
    bound_high = col_number(paste(format_confidence(sweep$alpha), "upper bound"), rows$bound_high, format_effect),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    preempted_percent = col_number("preempted", rows$preempted_percent, plain),
    n = col_number("n", rows$n), verdict = if (is.null(sweep$margin)) col_verdict("verdict",
        ifelse(is.na(rows$reason), short_verdict_words(rows), "inconclusive")),
    margin_verdict = if (!is.null(sweep$margin)) col_verdict(paste("against", format_level(sweep$margin), "%"),
                                                             ifelse(is.na(rows$reason), rows$margin_verdict, "inconclusive")),
    by = paste0(rows$agent, ": ", panel_name(rows), ", ", format_level(rows$ranks), " ranks")
  )
}

intervals_view <- function(sweep, operands) {
  new_view(sweep$sentences, intervals_table(sweep), "limit: the slowdown that would have been seen; preempted: percent of one CPU",
           sprintf("inconclusive: %s", unique(stats::na.omit(sweep$rows$reason))), length(unique(sweep$notes)),
           all_command(operands, "intervals"),
           report_beside(operands))
}

short_verdict_words <- function(rows) sub(" \\(.*", "", sub(":.*", "", rows$verdict))
