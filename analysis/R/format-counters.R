# noiselab analyze counters, and the report's section on them.

analyze_counters <- function(operands, values, form) {
  analysis <- analyze_campaign(read_campaign(operands), alpha = alpha_option(values$alpha), channels = c("time", "preempted", "base"))
  counters <- counters_by_arm(analysis)
  if (is.null(counters)) abort_data(without_counters)
  answered(form, values$table, list(alpha = counters$alpha, files = counters$files), counters[c("causes", "changes")], counters$notes,
           format_counters(counters), counters_view(counters, operands))
}

without_counters <- paste("no hardware counters were recorded (no likwid*.csv beside the launches), so whether a lower clock or damaged caches",
                          "played a part is not known")

format_counters <- function(counters) {
  c(unlist(lapply(counter_parts(counters), part_lines)), wrap_line(counter_rules()), "", format_notes(counters$notes))
}

# One for each operation and arm.
counter_parts <- function(counters) {
  plain <- function(x) format_effect(x, FALSE)
  lapply(seq_len(nrow(counters$causes)), function(i) {
    cause <- counters$causes[i, ]
    rows <- counters$changes[counters$changes$label == cause$label & counters$changes$arm == cause$arm, ]
    new_part(sprintf("%s under %s: %s", cause$label, cause$arm, cause$cause), new_table(
      figure = col_words("", figure_words(rows$figure)), off = col_number("off", rows$off, plain), on = col_number("on", rows$on, plain),
      change_percent = col_number("change %", rows$change_percent, format_effect),
      ci_low = col_interval(paste(format_confidence(counters$alpha), "CI"), rows$ci_low, rows$ci_high),
      n_launches = col_number("n", rows$n_launches)
    ), remarks = cause$why)
  })
}

# On one screen: the cause of each slowdown, and the figures that tell it.
counters_view <- function(counters, operands) {
  causes <- counters$causes
  rows <- counters$changes
  plain <- function(x) format_effect(x, FALSE)
  new_view(sprintf("%s under %s: %s.", causes$label, causes$arm, causes$cause), new_table(
    figure = col_words("figure", figure_words(rows$figure)), off = col_number("off", rows$off, plain),
    on = col_number("on", rows$on, plain),
    change_percent = col_number("change", rows$change_percent, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(counters$alpha), "CI"), rows$ci_low, rows$ci_high),
    n_launches = col_number("launches", rows$n_launches),
    by = paste(rows$label, "under", rows$arm)
  ), notes = length(unique(counters$notes)), command = all_command(operands, "counters"), report = report_beside(operands))
}

figure_words <- function(figure) {
  vapply(counter_figures[figure], function(f) paste0(f$name, if (nzchar(f$unit)) paste0(", ", f$unit)), "", USE.NAMES = FALSE)
}

counter_rules <- function() sprintf(paste(
  "lower clock: by %g %% or more, and at least %g %% of the slowdown; cache damage: L2, L3 or memory traffic up by %g %% or more with %g %%",
  "more cycles per instruction; preempted time: detected, and at least %g %% of the slowdown; n: launches"
), lower_clock_percent, 100 * share_of_slowdown, more_traffic_percent, more_cycles_percent, 100 * share_of_slowdown)
