# noiselab analyze replay.

analyze_replay <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  result <- compare_replay(read_campaign(operands), margin, alpha, power)
  answered(form, values$table, list(alpha = alpha, power = power, margin_percent = margin, answer = result$answer, sentences = texts(result$sentences)),
           list(estimates = replay_estimates(result), rows = result$rows), result$notes, format_replay(result), replay_view(result, operands),
           c(result$sentences, result$notes), if (!is.null(margin)) result$answer)
}

format_replay <- function(result) {
  c(unlist(lapply(replay_parts(result), part_lines)), paste0("Does the replay slow the code as the agent does? ", result$answer), "",
    format_notes(result$notes))
}

# One for each operation.
replay_parts <- function(result) {
  rows <- result$rows
  lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    new_part(sprintf("%s, %s ranks   (%s, n = %s)", panel_name(row), format_level(row$ranks), row$test, format_count(row$n)), new_table(
      under = col_words("under", c(row$agent, paste0("replay (", row$replay, ")"), "difference")),
      slowdown_percent = col_number("slowdown", c(row$agent_percent, row$replay_percent, row$difference_percent), format_effect),
      ci_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), c(row$agent_low, row$replay_low, row$bound_low),
                            c(row$agent_high, row$replay_high, row$bound_high)),
      preempted_percent = col_number("preempted", c(row$agent_preempted_percent, row$replay_preempted_percent, NA),
                                     function(x) format_effect(x, FALSE))
    ), paste0("percent; preempted: percent of one CPU; difference: agent against replay, with the interval of confidence ",
              format_confidence(2 * result$alpha), " that belongs to two one-sided tests at alpha ", result$alpha, " each"),
    sprintf("verdict: %s; the same: within \u00b1%s %% (%s); a difference of %s %% would have been found%s", row$verdict,
            format_effect(row$margin_percent, FALSE), row$margin_from, format_effect(row$detection_limit, FALSE),
            if (is.na(row$reason)) "" else paste0("; ", row$reason)))
  })
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
