# Output for people (a table of 100 columns) and for programs (JSON, CSV).

# The whole text of a campaign: one block per operation, size and scope, then thresholds and amplification,
# then notes. Where several treatments were run, blocks name them by the factors that vary. A factor with
# one value everywhere is named once, at the top, unless it is the default.
format_verdicts <- function(analysis) {
  constant <- constant_treatment(analysis$treatments)
  lines <- function(...) unlist(lapply(c(...), part_lines), use.names = FALSE)
  c(if (nzchar(constant)) c(paste("treatment:", constant), ""), format_answer(analysis),
    lines(verdict_parts(analysis)), wrap_line(channel_lines(main_rows(analysis$verdicts))), "",
    lines(list(margin_part(analysis), threshold_part(analysis), amplification_part(analysis))),
    lines(load_mechanism_parts(analysis$mechanisms, analysis$campaign, analysis$verdicts$alpha[1])),
    format_notes(c(scope_note(analysis$verdicts), analysis$notes)))
}

# One for each operation, size and scope.
verdict_parts <- function(analysis) {
  verdicts <- main_rows(analysis$verdicts)
  block <- in_order(row_key(verdicts, c("scope", "launch", "operation", "bytes")))
  unname(lapply(split(verdicts, block), verdict_part, analysis = analysis))
}

# Rows of a table by their treatment; NULL where there is one.
treatment_group <- function(rows, analysis) {
  factors <- varying_factors(analysis$treatments)
  if (length(factors) > 0) treatment_label(rows, factors, named = TRUE)
}

verdict_part <- function(rows, analysis) {
  power <- analysis$power
  first <- rows[1, ]
  title <- sprintf("%s, %s B, %s ranks   (%s)", first$operation, format_count(first$bytes),
                   format_level(first$ranks),
                   if (is.na(first$launch)) {
                     sprintf(
                       "scope: %s; unit: %s, n = %s",
                       first$scope,
                       first$unit_of_inference,
                       if (first$unit_of_inference == "pair") {
                         paste(format_range(rows$n_pairs), "per level,", max(rows$n_launches), "launches")
                       } else {
                         format_count(max(rows$n_launches))
                       }
                     )
                   } else {
                     sprintf("scope: %s, %s; unit: pair, n = %s per level", first$scope, first$launch,
                             format_range(rows$n_pairs))
                   })
  units <- c(pair = "pairs", launch = "launches",
             "set of launches" = "sets of launches")[[first$unit_of_inference]]
  what <- sprintf("alpha %g one-sided; n = %s tested; limit = effect found with power %g", first$alpha, units,
                  power)
  table <- new_table(
    channel = col_words("channel", rows$channel),
    level_requested_percent = col_number("level %", rows$level_requested_percent, format_level),
    level_delivered_percent = col_number("delivered", rows$level_delivered_percent, format_level),
    n_tested = col_number("n", rows$n_tested), estimate = col_number("effect", rows$estimate, format_effect),
    ci_low = col_interval(paste(format_confidence(2 * first$alpha), "CI"), rows$ci_low, rows$ci_high),
    p_one_sided = col_number("p", rows$p_one_sided, format_p),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    verdict = col_words("verdict", short_verdict(rows)), by = treatment_group(rows, analysis),
    mark = row_outcome(rows)
  )
  new_part(
    title,
    table,
    what,
    c(
      with_rows(rows, rows$reason, "inconclusive"),
      with_rows(rows, ifelse(nzchar(rows$estimator_note), rows$estimator_note, NA), "estimate"),
      if (any(is_alone(rows))) {
        paste0("detected (alone): at alpha in its own channel and operation, not with the chance of any ",
               "false detection over all of them at alpha")
      }
    )
  )
}

# Each text once, with the rows that it concerns. Figures in a text that differ from row to row are left to
# the rows.
with_rows <- function(rows, text, word) {
  same <- same_reason(text)
  known <- which(!is.na(same))
  vapply(split(known, in_order(same[known])), function(at) {
    by <- split(rows$level_requested_percent[at], in_order(rows$channel[at]))
    whole <- vapply(names(by), function(name) length(by[[name]]) == sum(rows$channel == name), TRUE)
    levels <- vapply(by, function(x) paste(format_level(sort(unique(x))), collapse = ", "), "")
    part <- paste0(names(by), ifelse(whole | levels == "-", "", paste0(" at ", levels, " %")))
    sprintf(
      "%s: %s: %s",
      word,
      if (all(whole) && length(by) == length(unique(rows$channel))) {
        "all"
      } else {
        paste(part, collapse = "; ")
      },
      same[at[1]]
    )
  }, "", USE.NAMES = FALSE)
}

# The limit has its own column, and reasons their own lines.
short_verdict <- function(rows) {
  ifelse(rows$verdict_because == "higher_level_failed", "inconcl. (higher level failed)",
         ifelse(is_alone(rows), "detected (alone)", rows$verdict))
}

# Detected at alpha in its own family, but not with the chance of any false detection over all of them at
# alpha.
is_alone <- function(rows) rows$verdict == "detected" & rows$familywise %in% FALSE

# Each channel of the tables in a line: its unit, and the question that it answers.
channel_lines <- function(rows) {
  units <- unique(rows[c("channel", "unit")])
  sprintf("%s, %s: %s", units$channel, units$unit, vapply(channels[units$channel], `[[`, "", "question"))
}

threshold_part <- function(analysis) {
  rows <- analysis$thresholds
  if (is.null(rows) || nrow(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  without <- rows$kind[rows$pattern %in% no_word]
  lacking <- sprintf("no dose-response, threshold or level of %s: the treatment has no level",
                     join_words(unique(without)))
  rows <- rows[!rows$pattern %in% no_word, ]
  if (nrow(rows) == 0) return(new_part(lacking, NULL))
  name <- paste0(rows$operation, ifelse(rows$bytes > 0, paste0(" ", format_count(rows$bytes), " B"), ""), " ",
                 rows$channel)
  med <- ifelse(is.na(rows$med_percent), "none", format_level(rows$med_percent))
  table <- new_table(
    operation = col_words("operation, channel", name),
    med_percent = col_words("MED", paste(med, format_levels(rows$med_low_percent, rows$med_high_percent))),
    lod_percent = col_words(
      "LOD", paste(format_level(rows$lod_percent), format_levels(rows$lod_low_percent, rows$lod_high_percent))
    ),
    slope = col_number("slope", rows$slope, format_effect),
    n_tested = col_words(
      "n", paste(format_count(rows$n_tested), c(launch = "launches", pair = "pairs")[unit_of(rows)])
    ),
    by = treatment_group(rows, analysis)
  )
  new_part(
    sprintf("thresholds, in percent of one CPU, each with its %g %% CI", 100 * (1 - analysis$alpha)),
    table,
    paste(
      paste0("MED: smallest level detected [those that runs like this detect more often than not]; LOD: ",
             "level whose effect reaches the placebo's limit;"),
      "slope: effect per percent of one CPU delivered; n: pairs or launches per level"
    ),
    c(threshold_reasons(rows, analysis), if (length(without) > 0) lacking)
  )
}

# Intervals of levels: 0 and infinity are open ends.
format_levels <- function(low, high) {
  end <- function(x) ifelse(is.infinite(x), "above all", format_level(x))
  ifelse(is.na(low) | is.na(high), "",
         ifelse(is.infinite(low), "[above all]", paste0("[", end(low), ", ", end(high), "]")))
}

# The three-way verdicts, and the one answer.
margin_part <- function(analysis) {
  if (is.null(analysis$margin)) return(NULL)
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!is.na(rows$margin_verdict), ]
  words <- c(above = "slower by more than the margin", below = "slowed by less than the margin",
             inconclusive = "inconclusive")
  alpha <- unique(rows$alpha)
  head <- if (length(alpha) == 1) {
    sprintf("against the margin of %s %% (one %s CI, both one-sided tests at alpha %g)",
            format_level(analysis$margin), format_confidence(2 * alpha), alpha)
  } else {
    sprintf("against the margin of %s %% (each row by one CI of its own alpha, see above)",
            format_level(analysis$margin))
  }
  table <- new_table(
    operation = col_words("operation", rows$operation), bytes = col_number("bytes", rows$bytes),
    level_requested_percent = col_number("level %", rows$level_requested_percent, format_level),
    margin_estimate = col_number("slowdown %", rows$margin_estimate, format_effect),
    margin_low = col_interval("CI", rows$margin_low, rows$margin_high),
    margin_verdict = col_words("verdict", words[rows$margin_verdict]), by = treatment_group(rows, analysis),
    mark = rows$margin_verdict
  )
  answer <- analysis$margin_answer
  new_part(
    head, table,
    remarks = paste0("answer: ", answer$answer, if (!is.na(answer$reason)) paste0(" (", answer$reason, ")"))
  )
}

threshold_reasons <- function(rows, analysis) {
  reason <- c(ifelse(is.na(rows$med_reason), NA, paste("no MED:", rows$med_reason)),
              ifelse(is.na(rows$lod_reason), NA, paste("no LOD:", rows$lod_reason)))
  label <- label_in(rows, analysis)
  name <- rep(paste0(rows$operation, " ", rows$channel, ifelse(nzchar(label), paste0(" (", label, ")"), "")),
              2)
  who <- vapply(split(name, reason), function(x) paste(unique(x), collapse = ", "), "")
  sprintf("%s: %s", names(who), who)
}

amplification_part <- function(analysis) {
  rows <- analysis$amplification
  rows <- if (NROW(rows) > 0) main_rows(rows)
  rows <- rows[!is.na(rows$amplification), ]
  if (NROW(rows) > 0) {
    new_part(
      "amplification: slowdown % / mean preempted %, by level, with CI",
      new_table(operation = col_words("operation", rows$operation), bytes = col_number("bytes", rows$bytes),
                level_requested_percent = col_number("level %", rows$level_requested_percent, format_level),
                value = col_number("ratio", rows$amplification, plain),
                ci_low = col_interval("CI", rows$ci_low, rows$ci_high),
                scope = col_words("scope", ifelse(is.na(rows$launch), rows$scope, rows$launch)),
                by = treatment_group(rows, analysis))
    )
  }
}

csv_tables <- c("estimates", "verdicts", "thresholds", "amplification")

# Beside the view: every row as judged, and the margin. A `?` after a rule's verdict or threshold: digits
# that are not printed in the table could turn it.
summary_parts <- function(judged) {
  list(
    new_part(
      "every row",
      summary_table(judged),
      paste(
        paste0("P: the noisy mean lies above the clean mean's 99 % CI; N: the two CIs do not overlap; Welch ",
               "and Holm (over all rows): one-sided; P alarm: the"),
        paste0("false-alarm rate rule P has at these n; limit: slowdown that Welch's test finds at alpha ",
               "0.01 with power 0.95.")
      ),
      doubt_words(judged)
    ),
    if (!is.null(judged$answer)) summary_margin_part(judged)
  )
}

in_doubt <- function(text, sure) paste0(text, ifelse(!is.na(sure) & !sure, "?", ""))

summary_table <- function(judged) {
  rows <- judged$rows
  yes <- function(x, sure) in_doubt(ifelse(x, "yes", "no"), sure)
  do.call(
    new_table,
    c(
      summary_columns(rows),
      list(
        slowdown_percent = col_number("slower %", rows$slowdown_percent, format_effect),
        rule_p = col_words("P", yes(rows$rule_p, rows$rule_p_sure)),
        rule_n = col_words("N", yes(rows$rule_n, rows$rule_n_sure)),
        welch_p_one_sided = col_number("Welch p", rows$welch_p_one_sided, format_p),
        holm_p = col_number("Holm p", rows$holm_p, format_p),
        rule_p_false_alarm = col_number("P alarm", rows$rule_p_false_alarm,
                                        function(x) sprintf("%.2f %%", 100 * x)),
        detection_limit_percent = col_number("limit %", rows$detection_limit_percent, plain)
      )
    )
  )
}

smallest_table <- function(judged) {
  rows <- judged$configurations
  threshold <- function(rule, label) {
    value <- rows[[paste0("threshold_rule_", rule, "_percent")]]
    col_number(label, value, in_doubt(format_level(value), rows[[paste0("threshold_rule_", rule, "_sure")]]))
  }
  do.call(
    new_table,
    c(summary_columns(rows), list(p = threshold("p", "by rule P, %"), n = threshold("n", "by rule N, %")))
  )
}

# On one screen: how many rows each rule calls noisy, and from which level.
summary_view <- function(judged, operands) {
  rows <- judged$rows
  of <- function(hit) sprintf("%d of %d", sum(hit, na.rm = TRUE), nrow(rows))
  doubt <- doubt_words(judged)
  new_view(
    c(
      if (!is.null(judged$answer)) {
        sprintf("Margin of %g %% of the clean mean: %s.", judged$margin_percent, judged$answer)
      },
      sprintf(
        paste0("Noise is detected in %s rows by rule P, %s by rule N, and %s by Welch's test with Holm's ",
               "correction at alpha 0.01."),
        of(rows$rule_p),
        of(rows$rule_n),
        of(rows$holm_p <= 0.01)
      )
    ),
    smallest_table(judged),
    paste0("smallest level, percent of one CPU, from which every higher level is detected; ?: hangs on ",
           "digits that are not printed"),
    if (startsWith(doubt, "?")) {
      "some verdicts hang on digits that the table does not print (marked ?)"
    },
    command = all_command(operands, "summary")
  )
}

summary_columns <- function(rows) {
  list(
    table = col_words("table", rows$table),
    config = col_words("config", rows$config),
    op = col_words("op", rows$op),
    bytes = col_number("bytes", rows$bytes),
    level_percent = if (!is.null(rows$level_percent)) {
      col_number("level", rows$level_percent, format_level)
    }
  )
}

doubt_words <- function(judged) {
  sure <- unlist(lapply(judged[c("rows", "configurations")], function(part) {
    part[grep("_sure$", names(part))]
  }))
  if (all(is.na(sure))) {
    return("The digits that were printed are not known: what rounding could change is not said.")
  }
  if (all(sure, na.rm = TRUE)) {
    return("No verdict by rule P or N hangs on the rounding of the printed means and SDs.")
  }
  paste(
    paste0("?: hangs on digits that are not printed. A 12.34 may be anything from 12.335 to 12.345, a 431 ",
           "from 430.5 to"),
    "431.5; n is exact. Asked of rules P and N."
  )
}

summary_margin_part <- function(judged) {
  rows <- judged$rows
  new_part(
    sprintf("margin %g %% of the clean mean: %s", judged$margin_percent, judged$answer),
    do.call(
      new_table,
      c(
        summary_columns(rows),
        list(slowdown_percent = col_number("slower %", rows$slowdown_percent, format_effect),
             bound_low_percent = col_interval("98 % CI", rows$bound_low_percent, rows$bound_high_percent),
             margin_verdict = col_words("verdict", short_margin(rows$margin_verdict)))
      )
    ),
    paste(
      paste0("CI: Welch's, by inversion; a verdict is that of the interval, slower by more after Holm's ",
             "correction over all rows;"),
      "fail: any row is slower by more; pass: none is, and none is inconclusive"
    ),
    sprintf("inconclusive: %s", unique(stats::na.omit(rows$margin_reason)))
  )
}

# A reason without the figures that differ from row to row.
same_reason <- function(text) {
  text <- sub("only an effect above [^ ]+ % would be detected",
              "only an effect above the limit would be detected", text)
  gsub("(in|;) [0-9.e+-]+ % of (the pairs|them)", "\\1 some of \\2", text)
}
