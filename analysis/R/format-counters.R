# noiselab analyze counters, and the report's section on them.

counter_tables <- c("causes", "changes")

analyze_counters <- function(operands, values, form) {
  table <- table_option(values, counter_tables)
  analysis <- analyze_campaign(read_campaign(operands), alpha = alpha_option(values$alpha), channels = c("time", "preempted", "base"))
  counters <- counters_by_arm(analysis)
  if (is.null(counters)) abort_data(without_counters)
  if (form == "csv") say_notes("noiselab-analyze", counters$notes)
  switch(form, json = counters_json(counters), csv = csv_lines(counters[[table]]), format_counters(counters))
}

without_counters <- paste("no hardware counters were recorded (no likwid*.csv beside the launches), so whether a lower clock or damaged caches",
                          "played a part is not known")

#' Format hardware counters
#'
#' @param counters An `nl_counters` from [counters_by_arm()].
#' @return Character, one element per line.
#' @examples
#' # see counters_by_arm()
#' @export
format_counters <- function(counters) {
  form <- "  %-24s %11s %11s %9s %20s %3s"
  header <- trimws(sprintf(form, "", "off", "on", "change %", paste(format_confidence(counters$alpha), "CI"), "n"), "right")
  blocks <- lapply(seq_len(nrow(counters$causes)), function(i) {
    cause <- counters$causes[i, ]
    rows <- counters$changes[counters$changes$label == cause$label & counters$changes$arm == cause$arm, ]
    c(sprintf("%s under %s: %s", cause$label, cause$arm, cause$cause), header,
      sprintf(form, figure_words(rows$figure), format_effect(rows$off, FALSE), format_effect(rows$on, FALSE), format_effect(rows$change_percent),
              format_interval(rows$ci_low, rows$ci_high), format_count(rows$n_launches)), wrap_line(cause$why), "")
  })
  c(unlist(blocks), wrap_line(counter_rules()), "", format_notes(counters$notes))
}

figure_words <- function(figure) {
  vapply(counter_figures[figure], function(f) paste0(f$name, if (nzchar(f$unit)) paste0(", ", f$unit)), "", USE.NAMES = FALSE)
}

counter_rules <- function() sprintf(paste(
  "lower clock: by %g %% or more, and at least %g %% of the slowdown; cache damage: L2, L3 or memory traffic up by %g %% or more with %g %%",
  "more cycles per instruction; preempted time: detected, and at least %g %% of the slowdown; n: launches"
), lower_clock_percent, 100 * share_of_slowdown, more_traffic_percent, more_cycles_percent, 100 * share_of_slowdown)

counters_json <- function(counters) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = counters$alpha, files = counters$files,
               causes = counters$causes, changes = counters$changes, notes = as.character(counters$notes)),
          single = c("schema", "program", "version", "alpha"))
}
