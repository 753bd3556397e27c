# noiselab analyze intervals.

intervals_tables <- c("estimates", "rows")

analyze_intervals <- function(operands, values, form) {
  table <- table_option(values, intervals_tables)
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  sweep <- interval_sweep(read_campaign(operands), margin, alpha, power)
  if (form == "csv") say_notes("noiselab-analyze", c(sweep$sentences, sweep$notes))
  lines <- switch(form, json = intervals_json(sweep), csv = csv_lines(if (table == "rows") public_sweep(sweep$rows) else
      intervals_estimates(sweep)), all = format_intervals(sweep),
                  intervals_view(sweep, operands))
  if (!is.null(margin)) attr(lines, "status") <- answer_status(sweep$answer)
  lines
}

public_sweep <- function(rows) rows[setdiff(names(rows), c("se", "df"))]

#' Format a sweep over sampling intervals
#'
#' @param sweep An `nl_intervals` from [interval_sweep()].
#' @return Character, one element per line.
#' @noRd
format_intervals <- function(sweep) {
  rows <- sweep$rows
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")
  models <- sweep$model[!is.na(sweep$model$cost_s), ]
  guide <- sprintf(
    "guide line of %s, %s: %s lost per sample (%s to %s), slowdown = that / interval%s%s", models$agent, panel_name(models),
    format_time(models$cost_s),
    format_time(models$cost_low_s), format_time(models$cost_high_s),
    ifelse(is.na(models$interval_at_margin_s), "", paste0("; it meets the margin at ", format_time(models$interval_at_margin_s))),
    ifelse(models$p_lack_of_fit %in% NA | models$p_lack_of_fit > 0.01, "", paste0("; it does not fit (p = ", format_p(models$p_lack_of_fit), ")")))
  c(wrap_line(sweep$sentences, 0), "", table_lines(intervals_table(sweep)), wrap_line(guide),
    wrap_line(sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason)))), "",
    wrap_line(paste0("slowdown, CI, bound, limit in percent; limit: the slowdown found with power ", sweep$power,
                     "; preempted: percent of one CPU; n: ",
                     paste(unique(units[rows$unit_of_inference]), collapse = ", "),
                     if (!is.null(sweep$margin)) sprintf(paste(
                       "; intervals are tested from the longest down to the first that is not below the margin, each at one-sided alpha %g,",
                       "which needs no correction"), sweep$alpha))),
    "", format_notes(sweep$notes))
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

intervals_json <- function(sweep) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = sweep$alpha, power = sweep$power,
               margin_percent = sweep$margin %||% NA_real_, answer = sweep$answer %||% NA_character_, sentences = sweep$sentences,
               estimates = intervals_estimates(sweep), safe = sweep$safe, intervals = sweep$steps, rows = public_sweep(sweep$rows),
               model = sweep$model,
               notes = as.character(unique(sweep$notes))),
          single = c("schema", "program", "version", "alpha", "power", "margin_percent", "answer"))
}
