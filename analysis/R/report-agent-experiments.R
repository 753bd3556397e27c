# Sections of the report on what is done with an agent: sampling intervals, its replay, hardware counters. NULL where the
# campaign has nothing of the kind.

report_sweep <- function(analysis) {
  if (!is_sweep(analysis$campaign)) return(NULL)
  sweep <- interval_sweep(analysis, analysis$margin)
  rows <- sweep$rows
  tags <- htmltools::tags
  models <- sweep$model
  word <- if (is.null(sweep$margin)) rows$verdict else ifelse(rows$margin_verdict == "inconclusive", "inconclusive",
      paste(rows$margin_verdict, "the margin"))
  details_tag("The sampling interval", lapply(sweep$sentences, function(text) tags$p(text)),
          html_table(c(list(agent = rows$agent, operation = rows$operation, bytes = format_count(rows$bytes),
                            interval = format_time(rows$interval_s),
                          "slowdown %" = format_effect(rows$estimate), CI = format_interval(rows$ci_low, rows$ci_high),
                          "upper bound %" = format_effect(rows$bound_high), "limit %" = format_effect(rows$detection_limit, FALSE),
                          "preempted %" = format_effect(rows$preempted_percent, FALSE), n = paste(format_count(rows$n), rows$unit_of_inference)),
                     list(verdict = marked(word))), how =
                     sprintf(paste("Slowdown with %s interval, and its one-sided upper bound of confidence %s; limit: the slowdown that would",
                                   "have been found with power %g. Intervals are tested from the longest down to the first that is not below the margin, each",
                                   "at the same level: that order is fixed beforehand, so no correction is needed."),
                             format_confidence(sweep$alpha), format_confidence(sweep$alpha), sweep$power),
                     text = c("agent", "operation", "verdict"), verdict = word),
          html_table(list(agent = models$agent, operation = models$operation, bytes = format_count(models$bytes),
                          "lost per sample" = format_time(models$cost_s),
                          CI = paste(format_time(models$cost_low_s), "to", format_time(models$cost_high_s)),
                          "p, lack of fit" = format_p(models$p_lack_of_fit), "meets the margin at" = format_time(models$interval_at_margin_s)),
                     "Guide line: slowdown = time lost per sample / interval", text = c("agent", "operation", "CI")))
}

report_replay <- function(analysis) {
  if (!has_replay(analysis$campaign)) return(NULL)
  result <- tryCatch(compare_replay(analysis), nl_error_data = identity)
  tags <- htmltools::tags
  if (inherits(result, "error")) return(details_tag("Agent and replay", tags$p(upper_first(paste0(conditionMessage(result), ".")))))
  rows <- result$rows
  details_tag("Agent and replay", lapply(result$sentences, function(text) tags$p(text)),
          html_table(list(operation = rows$operation, bytes = format_count(rows$bytes), agent = rows$agent, replay = rows$replay,
                          "agent, %" = paste(format_effect(rows$agent_percent), format_interval(rows$agent_low, rows$agent_high)),
                          "replay, %" = paste(format_effect(rows$replay_percent), format_interval(rows$replay_low, rows$replay_high)),
                          "difference, %" = paste(format_effect(rows$difference_percent), format_interval(rows$bound_low, rows$bound_high)),
                          "same within" = paste0("\u00b1", format_effect(rows$margin_percent, FALSE)),
                          "preempted, %" = paste(format_effect(rows$agent_preempted_percent, FALSE), "/",
                                                 format_effect(rows$replay_preempted_percent, FALSE)),
                          verdict = marked(rows$verdict)), how =
                     sprintf(paste("Slowdown under the agent and under its replay by the generator, with %s intervals; their difference with the %s",
                                   "interval of two one-sided tests (same: all of it lies within the margin). Preempted: agent / replay, of one CPU."),
                             format_confidence(result$alpha), format_confidence(2 * result$alpha)),
                     text = c("operation", "agent", "replay", "verdict"), verdict = rows$verdict))
}

# Where an agent was measured the reader expects this, so what is missing is said; damaged files do not cost the report.
report_counters <- function(analysis) {
  counters <- tryCatch(counters_by_arm(analysis), nl_error = identity)
  tags <- htmltools::tags
  if (inherits(counters, "error")) {
    return(details_tag("Why it got slower: hardware counters", tags$p(class = "loud",
        paste0("The hardware counters cannot be used: ", conditionMessage(counters)))))
  }
  if (is.null(counters)) {
    if (!any(!has_level(analysis$verdicts$level_requested_percent))) return(NULL)
    return(details_tag("Why it got slower: hardware counters", tags$p(paste0(upper_first(without_counters), "."))))
  }
  causes <- counters$causes
  change <- function(name) format_effect(causes[[paste0(name, "_percent")]])
  details_tag("Why it got slower: hardware counters",
          html_table(list(operation = causes$operation, bytes = format_count(causes$bytes), arm = causes$arm,
                          "slowdown %" = change("slowdown"),
                          "preempted %" = change("preempted"), "base %" = change("base"), "clock %" = change("clock"),
                          "cycles per instruction %" = change("cpi"), "L2 %" = change("l2"), "L3 %" = change("l3"),
                          "memory %" = change("memory"),
                          cause = causes$cause), how =
                     paste0("Channels and hardware counters (LIKWID) of each arm against off; L2, L3, memory: traffic. ",
                            upper_first(counter_rules()), "."),
                     text = c("operation", "arm", "cause"), wrap = "cause"),
          lapply(counters$notes, function(text) tags$p(text)))
}
