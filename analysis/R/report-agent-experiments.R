# Sections of the report on what is done with an agent: sampling intervals, its replay, hardware counters. NULL where the
# campaign has nothing of the kind.

report_sweep <- function(analysis) {
  if (!is_sweep(analysis$campaign)) return(NULL)
  sweep <- interval_sweep(analysis, analysis$margin)
  details_tag("The sampling interval", lapply(sweep$sentences, htmltools::tags$p), part_tags(intervals_part(sweep)))
}

report_replay <- function(analysis) {
  if (!has_replay(analysis$campaign)) return(NULL)
  result <- tryCatch(compare_replay(analysis), nl_error_data = identity)
  tags <- htmltools::tags
  if (inherits(result, "error")) return(details_tag("Agent and replay", tags$p(upper_first(paste0(conditionMessage(result), ".")))))
  details_tag("Agent and replay", lapply(result$sentences, tags$p), lapply(replay_parts(result), part_tags))
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
  details_tag("Why it got slower: hardware counters", lapply(counter_parts(counters), part_tags), tags$p(paste0(upper_first(counter_rules()), ".")),
              lapply(counters$notes, tags$p))
}
