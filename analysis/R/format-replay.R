# noiselab analyze replay.

analyze_replay <- function(operands, values, form) {
  table <- table_option(values, intervals_tables)
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  result <- compare_replay(read_campaign(operands), margin, alpha, power)
  if (form == "csv") say_notes("noiselab-analyze", c(result$sentences, result$notes))
  lines <- switch(form, json = replay_json(result), csv = csv_lines(if (table == "rows") result$rows else replay_estimates(result)),
                  all = format_replay(result), replay_view(result, operands))
  if (!is.null(margin)) attr(lines, "status") <- answer_status(result$answer)
  lines
}

#' Format an agent and its replay
#'
#' @param result An `nl_replay` from [compare_replay()].
#' @return Character, one element per line.
#' @noRd
format_replay <- function(result) {
  rows <- result$rows
  blocks <- lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    table <- new_table(
      under = col_words("under", c(row$agent, paste0("replay (", row$replay, ")"), "difference")),
      slowdown_percent = col_number("slowdown", c(row$agent_percent, row$replay_percent, row$difference_percent), format_effect),
      ci_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), c(row$agent_low, row$replay_low, row$bound_low),
                            c(row$agent_high, row$replay_high, row$bound_high)),
      preempted_percent = col_number("preempted", c(row$agent_preempted_percent, row$replay_preempted_percent, NA),
                                     function(x) format_effect(x, FALSE))
    )
    c(sprintf("%s, %s ranks   (%s, n = %s)", panel_name(row), format_level(row$ranks), row$test, format_count(row$n)), table_lines(table),
      wrap_line(sprintf("verdict: %s; the same: within \u00b1%s %% (%s); a difference of %s %% would have been found%s", row$verdict,
                        format_effect(row$margin_percent, FALSE), row$margin_from, format_effect(row$detection_limit, FALSE),
                        if (is.na(row$reason)) "" else paste0("; ", row$reason))), "")
  })
  c(unlist(blocks), paste0("Does the replay slow the code as the agent does? ", result$answer), "",
    wrap_line(paste0("percent; preempted: percent of one CPU; difference: agent against replay, with the interval of confidence ",
                     format_confidence(2 * result$alpha), " that belongs to two one-sided tests at alpha ", result$alpha, " each")),
    "", format_notes(result$notes))
}

replay_view <- function(result, operands) {
  rows <- result$rows
  new_view(c(sprintf("Does the replay slow the code as the agent does? %s.",
                     c(pass = "Yes", fail = "No", inconclusive = "That cannot be told")[[result$answer]]),
             result$sentences),
           new_table(
             operation = col_words("operation", panel_name(rows)), agent_percent = col_number(rows$agent[1], rows$agent_percent,
                 format_effect, "%"),
             replay_percent = col_number("replay", rows$replay_percent, format_effect, "%"),
             difference_percent = col_number("difference", rows$difference_percent, format_effect, "%"),
             bound_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), rows$bound_low, rows$bound_high),
             margin_percent = col_number("same within", rows$margin_percent, function(x) format_effect(x, FALSE), "%"),
             verdict = col_words("verdict", rows$verdict)
           ), notes = length(unique(result$notes)), command = all_command(operands, "replay"), report = report_beside(operands))
}

replay_json <- function(result) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = result$alpha, power = result$power,
               margin_percent = result$margin %||% NA_real_, answer = result$answer, sentences = result$sentences,
               estimates = replay_estimates(result), rows = result$rows,
               notes = as.character(unique(result$notes))),
          single = c("schema", "program", "version", "alpha", "power", "margin_percent", "answer"))
}
