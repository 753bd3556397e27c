# noiselab analyze stability.

analyze_stability <- function(operands, values, form) {
  alpha <- alpha_option(values$alpha)
  spread <- spread_option(values$spread)
  campaign <- read_campaign(operands)
  table <- stability_table(campaign, alpha, spread = spread)
  advice <- recommend_configuration(table)
  advice$commands <- sub("--pilot DIR", paste("--pilot", paste(operands, collapse = " ")), advice$commands,
                         fixed = TRUE)
  notes <- brief_notes(campaign)
  if (form == "csv") say_notes("noiselab-analyze", notes)
  write_output(switch(form, json = stability_json(table, advice, alpha, spread, notes), csv = csv_lines(table),
                      format_stability(table, advice, alpha, spread, notes)), values$out)
  # Said after the table is printed: the table is the reason.
  if (is.null(advice$row)) {
    abort_data("stability: ", paste(advice$why, collapse = "; "),
               ": run more launches (--launches), for longer (--seconds), or try other operations, sizes and counts")
  }
  NULL
}

spread_option <- function(text) {
  if (is.null(text)) return(reproducible_percent)
  value <- suppressWarnings(as.numeric(sub("%$", "", text)))
  if (!is_number(value, 0, 100)) abort_usage("--spread: '", text, "' is not a percentage above 0 and below 100 (try 5)")
  value
}

how_measured <- function(table) {
  timed <- paste0(format_seconds(table$half_s), ifelse(table$design == "lockin", "", paste0(" ", table$design)))
  ifelse(is.na(table$count), timed, paste0("x", format_count_each(table$count)))
}

format_stability <- function(table, advice, alpha, spread, notes) {
  label <- stability_label(table)
  # Each row has the name of its treatment under it where there are several.
  named <- function(lines) {
    if (!any(nzchar(label))) return(lines)
    c(lines[1], as.vector(rbind(lines[-1], paste0("    ", label))))
  }
  known <- unique(table[!is.na(table$level_requested_percent), c("level_requested_percent", "kind")])
  levels <- unique(level_label(known, " % of one CPU"))
  c("clean time of a half, off arm: scatter in percent",
    wrap_line(paste0("CV: SD over mean within a launch; robust: MAD over median; over n: SD over mean of the means of ",
                     "n launches; Allan: deviation at one half, and the lowest and its measured time",
                     if (any(!is.na(table$count))) "; xN: blocks of N operations")),
    named(clean_lines(table, alpha)), "",
    paste0("reaction to ", paste(levels, collapse = ", "), ", in these launches"),
    wrap_line(sprintf(paste(
      "slower: percent; p: sign-flip test, by Holm over the configurations; limit: slowdown that the placebo's pairs",
      "would have shown with power 0.95 at alpha %g; merit: level (%% of one CPU) within reach of one second of the",
      "machine (wall time x nodes), low is good"
    ), alpha)),
    named(reaction_lines(table, alpha)), "",
    recommendation_text(table, advice, alpha, spread), format_notes(notes))
}

configuration_columns <- function(table) {
  how <- how_measured(table)
  form <- paste0("  %-", max(9, nchar(table$operation)), "s %7s %5s %-", max(4, nchar(how)), "s")
  sprintf(form, c("operation", table$operation), c("bytes", format_count_each(table$bytes)),
          c("ranks", format_count_each(table$ranks)), c("half", how))
}

confidence_name <- function(alpha) sprintf("%g %% CI", 100 * (1 - alpha))

clean_lines <- function(table, alpha) {
  percent <- function(x) format_effect(x, FALSE)
  low <- table$cv_launches_low_percent
  interval <- ifelse(is.na(low), "-", paste0("[", percent(low), ", ", percent(table$cv_launches_high_percent), "]"))
  at <- ifelse(is.na(table$allan_best_s), "-", format_seconds(signif(table$allan_best_s, 3)))
  sprintf("%s %3s %5s %6s %6s %15s %6s %6s %7s", configuration_columns(table), c("n",
                                                                                 format_count_each(table$n_launches)),
          c("CV", percent(table$cv_within_percent)), c("robust", percent(table$cv_within_robust_percent)),
          c("over n", percent(table$cv_launches_percent)), c(confidence_name(2 * alpha), interval),
          c("Allan", percent(table$allan_percent)), c("lowest", percent(table$allan_min_percent)), c("at", at))
}

reaction_lines <- function(table, alpha) {
  high <- ifelse(is.na(table$merit_high), "?", format_level(table$merit_high))
  merit <- ifelse(is.na(table$merit), "-", paste0("[", format_level(table$merit_low), ", ", high, "]"))
  sprintf("%s %7s %16s %7s %6s %7s %16s", configuration_columns(table), c("slower",
                                                                          format_effect(table$slowdown_percent)),
          c(confidence_name(2 * alpha), format_interval(table$slowdown_low_percent, table$slowdown_high_percent)),
          c("p", format_p(table$p_holm)), c("limit", format_effect(table$limit_percent, FALSE)),
          c("merit", format_level(table$merit)), c(confidence_name(2 * alpha), merit))
}

stability_label <- function(table) {
  columns <- varying_factors(table)
  treatment_label(table, columns, named = TRUE)
}

recommendation_text <- function(table, advice, alpha, spread) {
  criteria <- sprintf(paste("suitable: the clean time is shown to scatter by at most %g %% over launches (upper bound at",
                            "alpha %g, 3 launches or more), and the level is detected at alpha %g"), spread, alpha, alpha)
  not <- table[!table$suitable, ]
  left <- if (nrow(not) > 0) unlist(lapply(split(configuration_name(not), in_order(not$reason)), paste,
                                           collapse = "; "))
  found <- if (is.null(advice$row)) c(paste("recommendation: none,", advice$why[1]), wrap_line(criteria),
                                                 wrap_line(paste("-", advice$why[-1])[length(advice$why) > 1])) else {
    equal <- sprintf("not told apart from it: %s", paste(advice$equal, collapse = "; "))
    c(paste("recommendation:", configuration_name(advice$row)), wrap_line(criteria), wrap_line(paste("-", advice$why)),
      wrap_line(equal[length(advice$equal) > 0]))
  }
  c(found, wrap_line(sprintf("not suitable, %s: %s", names(left), left)), "",
    if (length(advice$commands) > 0) c("go on with", unlist(lapply(advice$commands, wrap_command)), ""))
}

stability_json <- function(table, advice, alpha, spread, notes) {
  name <- if (is.null(advice$row)) NA_character_ else configuration_name(advice$row)
  recommendation <- list(name = jsonlite::unbox(name), half_period_s = jsonlite::unbox(advice$half_period_s),
                         why = I(advice$why), equal = I(advice$equal), commands = I(advice$commands))
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), alpha = alpha,
               spread_percent = spread, rows = table, recommendation = recommendation,
               notes = as.character(unique(notes))),
          single = c("schema", "program", "version", "alpha", "spread_percent"))
}
