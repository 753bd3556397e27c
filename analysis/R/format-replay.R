# noiselab analyze replay.

analyze_replay <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  result <- compare_replay(read_campaign(operands), margin, alpha, power)
  if (form == "csv") say_notes("noiselab-analyze", c(result$sentences, result$notes))
  lines <- switch(form, json = replay_json(result), csv = csv_lines(result$rows), format_replay(result))
  if (!is.null(margin)) attr(lines, "status") <- answer_status(result$answer)
  lines
}

#' Format an agent and its replay
#'
#' @param result An `nl_replay` from [compare_replay()].
#' @return Character, one element per line.
#' @examples
#' # see compare_replay()
#' @export
format_replay <- function(result) {
  rows <- result$rows
  form <- "  %-24s %9s %20s %9s"
  header <- trimws(sprintf(form, "under", "slowdown", paste(format_confidence(2 * result$alpha), "CI"), "preempted"), "right")
  blocks <- lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    c(sprintf("%s, %s ranks   (%s, n = %s)", panel_name(row), format_level(row$ranks), row$test, format_count(row$n)), header,
      sprintf(form, c(row$agent, paste0("replay (", row$replay, ")")), format_effect(c(row$agent_percent, row$replay_percent)),
              format_interval(c(row$agent_low, row$replay_low), c(row$agent_high, row$replay_high)),
              format_effect(c(row$agent_preempted_percent, row$replay_preempted_percent), FALSE)),
      sprintf(form, "difference", format_effect(row$difference_percent), format_interval(row$bound_low, row$bound_high), ""),
      wrap_line(sprintf("verdict: %s; the same: within \u00b1%s %% (%s); a difference of %s %% would have been found%s", row$verdict,
                        format_effect(row$margin_percent, FALSE), row$margin_from, format_effect(row$detection_limit, FALSE),
                        if (is.na(row$reason)) "" else paste0("; ", row$reason))), "")
  })
  c(unlist(blocks), paste0("Does the replay slow the code as the agent does? ", result$answer), "",
    wrap_line(paste0("percent; preempted: percent of one CPU; difference: agent against replay, with the interval of confidence ",
                     format_confidence(2 * result$alpha), " that belongs to two one-sided tests at alpha ", result$alpha, " each")),
    "", format_notes(result$notes))
}

replay_json <- function(result) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = result$alpha, power = result$power,
               margin_percent = result$margin %||% NA_real_, answer = result$answer, sentences = result$sentences, rows = result$rows,
               notes = as.character(unique(result$notes))),
          single = c("schema", "program", "version", "alpha", "power", "margin_percent", "answer"))
}
