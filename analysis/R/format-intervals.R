# noiselab analyze intervals.

analyze_intervals <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  sweep <- interval_sweep(read_campaign(operands), margin, alpha, power)
  if (form == "csv") say_notes("noiselab-analyze", c(sweep$sentences, sweep$notes))
  lines <- switch(form, json = intervals_json(sweep), csv = csv_lines(public_sweep(sweep$rows)), format_intervals(sweep))
  if (!is.null(margin)) attr(lines, "status") <- answer_status(sweep$answer)
  lines
}

public_sweep <- function(rows) rows[setdiff(names(rows), c("se", "df"))]

#' Format a sweep over sampling intervals
#'
#' @param sweep An `nl_intervals` from [interval_sweep()].
#' @return Character, one element per line.
#' @examples
#' campaign <- simulated_campaign(external = "agent", pairs = 40, launches = 4, seed = 1)
#' for (i in 1:4) campaign$launches[[i]]$options$agent_interval_ns <- c(1e9, 1e10)[1 + i %% 2]
#' cat(format_intervals(interval_sweep(name_intervals(campaign))), sep = "\n")
#' @export
format_intervals <- function(sweep) {
  rows <- sweep$rows
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")
  shown <- if (is.null(sweep$margin)) "verdict" else paste("against", format_level(sweep$margin), "%")
  form <- "  %9s %9s %20s %20s %9s %9s %4s  %s"
  bounds <- paste(format_confidence(sweep$alpha), "upper bound")
  header <- trimws(sprintf(form, "interval", "slowdown", paste(format_confidence(2 * sweep$alpha), "CI"), bounds, "limit", "preempted", "n", shown), "right")
  word <- ifelse(!is.na(rows$reason), "inconclusive", if (is.null(sweep$margin)) short_verdict_words(rows) else rows$margin_verdict)
  lines <- sprintf(form, format_time(rows$interval_s), format_effect(rows$estimate), format_interval(rows$ci_low, rows$ci_high),
                   format_effect(rows$bound_high), format_effect(rows$detection_limit, FALSE), format_effect(rows$preempted_percent, FALSE),
                   format_count(rows$n), word)
  title <- paste0(rows$agent, ": ", panel_name(rows), ", ", format_level(rows$ranks), " ranks")
  models <- sweep$model
  guide <- ifelse(is.na(models$cost_s), "", sprintf(
    "guide line: %s lost per sample (%s to %s), slowdown = that / interval%s%s", format_time(models$cost_s), format_time(models$cost_low_s),
    format_time(models$cost_high_s),
    ifelse(is.na(models$interval_at_margin_s), "", paste0("; it meets the margin at ", format_time(models$interval_at_margin_s))),
    ifelse(models$p_lack_of_fit %in% NA | models$p_lack_of_fit > 0.01, "", paste0("; it does not fit (p = ", format_p(models$p_lack_of_fit), ")"))))
  parts <- Map(function(name, part, model, reason) c(name, header, part, wrap_line(model[nzchar(model)]),
                                                      wrap_line(sprintf("inconclusive: %s", unique(reason[!is.na(reason)]))), ""),
               unique(title), split(lines, in_order(title)), guide, split(rows$reason, in_order(title)))
  c(unlist(parts, use.names = FALSE), wrap_line(sweep$sentences, 0), "",
    wrap_line(paste0("slowdown, CI, bound, limit in percent; limit: the slowdown found with power ", sweep$power, "; preempted: percent of one CPU; n: ",
                     paste(unique(units[rows$unit_of_inference]), collapse = ", "),
                     if (!is.null(sweep$margin)) sprintf(paste(
                       "; intervals are tested from the longest down to the first that is not below the margin, each at one-sided alpha %g,",
                       "which needs no correction"), sweep$alpha))),
    "", format_notes(sweep$notes))
}

short_verdict_words <- function(rows) sub(" \\(.*", "", sub(":.*", "", rows$verdict))

intervals_json <- function(sweep) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = sweep$alpha, power = sweep$power,
               margin_percent = sweep$margin %||% NA_real_, answer = sweep$answer %||% NA_character_, sentences = sweep$sentences,
               safe = sweep$safe, intervals = sweep$steps, rows = public_sweep(sweep$rows), model = sweep$model,
               notes = as.character(unique(sweep$notes))),
          single = c("schema", "program", "version", "alpha", "power", "margin_percent", "answer"))
}
