# Tables of a report on verdicts, thresholds, treatments, nodes.

# The terminal's table, of all rows, in the order of the plots.
slowdown_table <- function(analysis) {
  rows <- answer_rows(analysis, Inf)
  if (NROW(rows) == 0) return(NULL)
  rows <- rows[order(panel_factor(panel_name(rows), analysis), rows$ranks, label_in(rows, analysis), rows$level_requested_percent), ]
  table <- answer_table(analysis, TRUE, rows)
  table$columns$picture <- NULL
  page_table(table, how = paste0(upper_first(answer_legend(analysis)), ", with power ", analysis$power,
                                 ". Level: CPU time asked for, percent of one CPU. Slowdown: by ",
                                 "how much longer an operation takes with the load than without. Preempted: CPU time that other tasks took from the ranks, percent of one CPU."))
}

# All of it: every channel.
verdict_tags <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  constant <- constant_treatment(analysis$treatments)
  scope <- scope_note(analysis$verdicts)
  tags <- htmltools::tags
  list(if (nzchar(constant)) tags$p(paste0("Treatment: ", constant, ".")), lapply(verdict_parts(analysis), part_tags),
       tags$ul(lapply(channel_lines(rows), tags$li)), if (!is.null(scope)) tags$p(upper_first(scope), "."))
}

# Why rows have no verdict: each reason once.
refused_fold <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  label <- label_in(rows, analysis)
  reasons_fold(paste0(panel_name(rows), ifelse(nzchar(label), paste0(" (", label, ")"), ""), " by ", rows$channel,
                      ifelse(has_level(rows$level_requested_percent), paste0(" at ", format_level(rows$level_requested_percent), " %"), "")),
               same_reason(rows$reason))
}

# On one node there is nothing to tell apart.
several_nodes <- function(analysis) length(unique(analysis$location$nodes$host)) > 1

location_section <- function(location) lapply(location_parts(location, answering_rows(location$nodes)), part_tags)

# The slowdowns side by side, and what slows each operation most against the rest.
treatment_tags <- function(analysis) {
  contrast <- contrast_part(analysis)
  list(lapply(side_by_side_parts(analysis), part_tags), if (is.null(contrast)) {
    htmltools::tags$p("Differences between treatments were not tested: no two of them share a launch, or have two launches each.")
  } else part_tags(contrast))
}

# A reason without the figures that differ from row to row.
same_reason <- function(text) {
  text <- sub("only an effect above [^ ]+ % could have been seen", "only an effect above the limit could have been seen", text)
  gsub("(in|;) [0-9.e+-]+ % of (the pairs|them)", "\\1 some of \\2", text)
}
