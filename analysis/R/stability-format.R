# noiselab analyze stability.

analyze_stability <- function(operands, values, form) {
  alpha <- alpha_option(values$alpha)
  spread <- percent_option("spread", values$spread, "5", reproducible_percent)
  campaign <- read_campaign(operands)
  table <- stability_table(campaign, alpha, spread = spread)
  advice <- recommend_configuration(table)
  advice$commands <- sub("--pilot DIR", paste("--pilot", paste(operands, collapse = " ")), advice$commands,
                         fixed = TRUE)
  notes <- brief_notes(campaign)
  best <- if (is.null(advice$row)) NA_character_ else configuration_name(advice$row)
  lines <- answered(form, NULL, list(alpha = alpha, spread_percent = spread, recommendation = c(
    list(name = best, half_period_s = advice$half_period_s), lapply(pick(advice, c("why", "equal", "commands")), texts)
  )), list(rows = table), notes, format_stability(table, advice, alpha, spread, notes), stability_view(table, advice, alpha, spread, notes, operands))
  write_output(as_lines(lines, values), values$out)
  # Said after the table is printed: the table is the reason.
  if (is.null(advice$row)) {
    abort_data("stability: ", paste(advice$why, collapse = "; "),
               ": run more launches (--launches), for longer (--seconds), or try other operations, sizes and counts")
  }
  NULL
}

how_measured <- function(table) {
  timed <- paste0(format_seconds(table$half_s), ifelse(table$design == "lockin", "", paste0(" ", table$design)))
  ifelse(is.na(table$count), timed, paste0("x", format_count_each(table$count)))
}

format_stability <- function(table, advice, alpha, spread, notes) {
  known <- unique(table[!is.na(table$level_requested_percent), c("level_requested_percent", "kind")])
  levels <- unique(level_label(known, " % of one CPU"))
  c("clean time of a half, off arm: scatter in percent",
    wrap_line(paste0("CV: SD over mean within a launch; robust: MAD over median; over n: SD over mean of the means of ",
                     "n launches; Allan: deviation at one half, and the lowest and its measured time",
                     if (any(!is.na(table$count))) "; xN: blocks of N operations")),
    clean_lines(table, alpha), "",
    paste0("reaction to ", paste(levels, collapse = ", "), ", in these launches"),
    wrap_line(sprintf(paste(
      "slower: percent; p: sign-flip test, by Holm over the configurations; limit: slowdown that the placebo's pairs",
      "would have shown with power 0.95 at alpha %g; merit: level (%% of one CPU) within reach of one second of the",
      "machine (wall time x nodes), low is good"
    ), alpha)),
    reaction_lines(table, alpha), "",
    recommendation_text(table, advice, alpha, spread), format_notes(notes))
}

# On one screen: what to measure with and why, then every configuration.
stability_view <- function(table, advice, alpha, spread, notes, operands) {
  best <- advice$row
  plain <- function(x) format_effect(x, FALSE)
  bounds <- ifelse(is.na(table$cv_launches_low_percent), "-", paste0("[", plain(table$cv_launches_low_percent), ", ",
      plain(table$cv_launches_high_percent), "]"))
  label <- stability_label(table)
  shown <- do.call(new_table, c(configuration_columns(table), list(
    cv_launches_percent = col_number("CV", table$cv_launches_percent, plain, "%"),
    cv_launches_low_percent = col_number(confidence_name(2 * alpha), table$cv_launches_low_percent, bounds),
    slowdown_percent = col_number("slower", table$slowdown_percent, format_effect, "%"),
    slowdown_low_percent = col_interval(confidence_name(2 * alpha), table$slowdown_low_percent, table$slowdown_high_percent),
    merit = col_number("merit", table$merit, format_level), suitable = col_words("suitable", ifelse(table$suitable, "yes", "no")),
    by = if (any(nzchar(label))) label
  )))
  new_view(if (is.null(best)) upper_first(paste0(advice$why, ".")) else c(
    sprintf("Measure with %s: %s.", configuration_name(best), advice$why[1]), upper_first(paste0(advice$why[2], ".")),
    if (length(advice$equal) > 0) sprintf("Not told apart from it: %s.", few_words(advice$equal, 3))
  ), shown, sprintf("CV: scatter of the clean time over launches, at most %g %% wanted; merit: level within reach of one second, low is good", spread),
  c(if (length(advice$commands) > 0) paste("go on with:", advice$commands[length(advice$commands)]), not_suitable_words(table)),
  length(unique(notes)),
  all_command(operands, "stability"), report_beside(operands))
}

configuration_columns <- function(table) {
  list(operation = col_words("operation", table$operation), bytes = col_number("bytes", table$bytes),
       ranks = col_number("ranks", table$ranks),
       half = col_words("half", how_measured(table)))
}

confidence_name <- function(alpha) sprintf("%g %% CI", 100 * (1 - alpha))

clean_lines <- function(table, alpha) {
  percent <- function(x) format_effect(x, FALSE)
  low <- table$cv_launches_low_percent
  interval <- ifelse(is.na(low), "-", paste0("[", percent(low), ", ", percent(table$cv_launches_high_percent), "]"))
  stability_lines(table, list(
    n_launches = col_number("n", table$n_launches), cv_within_percent = col_number("CV", table$cv_within_percent, percent),
    cv_within_robust_percent = col_number("robust", table$cv_within_robust_percent, percent),
    cv_launches_percent = col_number("over n", table$cv_launches_percent, percent),
    cv_launches_low_percent = col_number(confidence_name(2 * alpha), low, interval),
    allan_percent = col_number("Allan", table$allan_percent, percent),
    allan_min_percent = col_number("lowest", table$allan_min_percent, percent),
    allan_best_s = col_number("at", table$allan_best_s, function(x) format_seconds(signif(x, 3)))
  ))
}

reaction_lines <- function(table, alpha) {
  high <- ifelse(is.na(table$merit_high), "?", format_level(table$merit_high))
  merit <- ifelse(is.na(table$merit), "-", paste0("[", format_level(table$merit_low), ", ", high, "]"))
  stability_lines(table, list(
    slowdown_percent = col_number("slower", table$slowdown_percent, format_effect),
    slowdown_low_percent = col_interval(confidence_name(2 * alpha), table$slowdown_low_percent, table$slowdown_high_percent),
    p_holm = col_number("p", table$p_holm, format_p), limit_percent = col_number("limit", table$limit_percent,
        function(x) format_effect(x, FALSE)),
    merit = col_number("merit", table$merit, format_level), merit_low = col_number(confidence_name(2 * alpha), table$merit_low, merit)
  ))
}

# Where there are several treatments, each has a line above its rows.
stability_lines <- function(table, columns) {
  label <- stability_label(table)
  table_lines(do.call(new_table, c(configuration_columns(table), columns, list(by = if (any(nzchar(label))) label))))
}

stability_label <- function(table) {
  columns <- varying_factors(table)
  treatment_label(table, columns, named = TRUE)
}

recommendation_text <- function(table, advice, alpha, spread) {
  criteria <- sprintf(paste("suitable: the clean time is shown to scatter by at most %g %% over launches (upper bound at",
                            "alpha %g, 3 launches or more), and the level is detected at alpha %g"), spread, alpha, alpha)
  found <- if (is.null(advice$row)) c(paste("recommendation: none,", advice$why[1]), wrap_line(criteria),
                                                 wrap_line(paste("-", advice$why[-1])[length(advice$why) > 1])) else {
    equal <- sprintf("not told apart from it: %s", paste(advice$equal, collapse = "; "))
    c(paste("recommendation:", configuration_name(advice$row)), wrap_line(criteria), wrap_line(paste("-", advice$why)),
      wrap_line(equal[length(advice$equal) > 0]))
  }
  c(found, wrap_line(not_suitable_words(table)), "",
    if (length(advice$commands) > 0) c("go on with", unlist(lapply(advice$commands, wrap_command)), ""))
}

# Each reason once, with the configurations that it keeps out.
not_suitable_words <- function(table) {
  not <- table[!table$suitable, ]
  if (nrow(not) == 0) return(character())
  left <- vapply(split(configuration_name(not), in_order(not$reason)), paste, "", collapse = "; ")
  unname(sprintf("not suitable, %s: %s", names(left), left))
}
