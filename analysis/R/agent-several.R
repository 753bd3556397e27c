# Several agents of one campaign, or one at several intervals, side by side: what each takes and costs, and how often it may sample.

#' Agents side by side
#'
#' @param report The result of `agent_report()`.
#' @return A data frame, one row per agent and interval: `agent`, `interval_s` (between two samples, NA: not known), `cpu_percent` (of one
#'   CPU, its own account), `taken_percent`, `taken_low`, `taken_high` (of one CPU, attributed), `slowdown_percent`, `slowdown_low`,
#'   `slowdown_high` (of the operation whose slowdown is surest: detected ones first, then by the lower end), `operation`, `bytes`, `by` (`bursts`,
#'   `on/off`, see `agent_rule()`), `outcome` (Holm over agents and operations), `amplification` (slowdown by what was taken; NA unless both were found), `margin_answer` (by on/off or bursts,
#'   over all operations: `below`, `above`, `undecided`; NA without a margin), `safe_interval_s` (where the upper end of the slowdown, with what may lie
#'   beyond bursts, would be the margin, if each sample costs the same whatever the interval; NA where the interval holds 0), `limit` (slowdown
#'   that would have been found; NA where one was), `reason` (why there is no slowdown, else NA);
#'   `cost_s` (time that the operation loses by a sample: slowdown times interval).
#'   NULL without rows.
#' @noRd
several_agents <- function(report) {
  figures <- report$figures
  if (NROW(figures) == 0) return(NULL)
  bind_rows(lapply(unique(figures$kind), function(kind) several_row(figures[figures$kind == kind, ], kind, report)))
}

several_row <- function(figures, kind, report) {
  answers <- report$answers[report$answers$kind == kind, ]
  known <- answers[is.finite(answers$low) & answers$case != "less", ]
  # Nothing is chosen by its estimate: the outcome has Holm's correction over agents and operations, and so has the one named.
  worst <- known[order(match(known$outcome, outcomes), -known$low)[1], ]
  taken <- figures[figures$figure == "taken", ][1, ]
  found <- function(row) isTRUE(grepl("^detected", row$outcome))
  margin <- report$margin
  interval_s <- sampling_interval_s(kind, report$campaign)
  all <- answers_high(answers)
  data.frame(
    agent = sub("@[^@]*$", "", kind), interval_s = interval_s,
    cpu_percent = mean_or_na(report$accounts$cpu_percent[report$accounts$kind == kind & !is.na(report$accounts$launch)]),
    taken_percent = taken$value, taken_low = taken$low, taken_high = taken$high,
    slowdown_percent = worst$value, slowdown_low = worst$low, slowdown_high = worst$high, operation = worst$operation, bytes = worst$bytes,
    by = if (nrow(known) > 0) worst$lead else NA_character_, outcome = if (nrow(known) > 0) worst$outcome else "inconclusive",
    amplification = if (found(worst) && found(taken)) worst$value / taken$value else NA_real_,
    margin_answer = if (is.null(margin)) NA_character_ else margin_of_kind(answers),
    safe_interval_s = if (is.null(margin) || nrow(known) == 0 || !isTRUE(worst$low > 0)) NA_real_ else interval_s * all / margin,
    limit = if (found(worst)) NA_real_ else max_or_na(known$limit),
    cost_s = if (isTRUE(worst$low > 0)) worst$value / 100 * interval_s else NA_real_,
    reason = if (nrow(known) > 0) NA_character_ else c(stats::na.omit(answers$whole_reason), NA)[1]
  )
}

# The most that an agent may cost on any operation: its figure with what may lie beyond the bursts.
answers_high <- function(answers) {
  rest <- ifelse(answers$lead == "bursts" & is.finite(answers$beyond_most), answers$beyond_most, 0)
  high <- 100 * ((1 + answers$high / 100) * (1 + rest / 100) - 1)
  if (length(high) == 0 || anyNA(high) || any(answers$lead == "bursts" & is.na(answers$beyond_most))) NA_real_ else max(high)
}

# As the exit status has it: over all operations.
margin_of_kind <- function(answers) {
  words <- answers$margin_verdict
  if (any(words %in% "above" & stats::p.adjust(answers$p_above, "holm") <= answers$alpha)) "above" else
    if (length(words) > 0 && all(words %in% "below")) "below" else "undecided"
}

# Between two samples of this agent, as it was told or found; NA where that is not known, or its launches differ.
sampling_interval_s <- function(kind, campaign) {
  rows <- campaign$rows
  launches <- unique(as.character(rows[["launch"]][as.character(rows[["kind"]]) == kind & !has_level(rows[["level_requested_percent"]])]))
  ns <- unique(unlist(lapply(campaign$launches[launches], function(info) info$options$agent_interval_ns %||% info$options$agent_period_ns)))
  if (length(ns) == 1 && is.finite(ns) && ns > 0) ns / 1e9 else NA_real_
}

several_sentence <- function(rows) {
  hit <- rows[grepl("^detected", rows$outcome), ]
  hit <- hit[order(-hit$slowdown_percent), ]
  name <- function(rows) paste0(rows$agent, ifelse(is.na(rows$interval_s), "", paste0(" at ", vapply(rows$interval_s, format_time, ""))))
  each <- function(row) {
    sprintf("%s by %s on %s", name(row), percent_words(row$slowdown_percent, row$slowdown_low, row$slowdown_high), row$operation)
  }
  if (nrow(hit) == 0) return(paste0(sprintf("None of %d agents was found to slow an operation", nrow(rows)), if (all(is.na(rows$limit))) "." else
    sprintf("; %s %% would have been.", format_span_of(rows$limit[!is.na(rows$limit)]))))
  sprintf("%d of %d agents slow an operation, most of all %s.", nrow(hit), nrow(rows), each(hit[1, ]))
}

several_table <- function(rows, margin, unicode = shows_unicode()) {
  new_table(
    agent = col_words("agent", rows$agent), interval_s = col_number("every", rows$interval_s, function(x) vapply(x, format_time, "")),
    cpu_percent = col_number("CPU", rows$cpu_percent, three, "%"), taken_percent = col_number("taken", rows$taken_percent, three, "%"),
    slowdown_percent = col_number("slowdown", rows$slowdown_percent, format_effect, "%"),
    low = col_interval("interval", rows$slowdown_low, rows$slowdown_high), operation = col_words("on", rows$operation),
    source = col_words("by", rows$by),
    amplification = col_number("ampl.", rows$amplification, three),
    cost = if (is.null(margin)) col_number("per sample", rows$cost_s, function(x) vapply(signif(x, 3), format_time, "")),
    margin = if (!is.null(margin)) col_words("margin", rows$margin_answer),
    safe = if (!is.null(margin)) col_number("safe", rows$safe_interval_s, function(x) vapply(x, format_time, "")), mark = rows$outcome
  )
}

several_legend <- function(margin) {
  paste0("CPU, taken from the ranks: % of one CPU; slowdown of the operation that it slows most; ampl.: slowdown by taken",
         if (is.null(margin)) "; per sample: time that it then loses", if (!is.null(margin)) "; safe: the shortest interval below the margin, if each sample costs the same")
}
