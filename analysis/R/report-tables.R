# Tables of a report on verdicts, thresholds, treatments, nodes.

# One column per factor of treatment that varies in the campaign.
treatment_cells <- function(rows, analysis) as.list(rows[varying_factors(analysis$treatments)])

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
verdict_table <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  constant <- constant_treatment(analysis$treatments)
  by <- split(rows$channel, in_order(ifelse(nzchar(rows$estimator_note), same_reason(rows$estimator_note), NA)))
  estimators <- sprintf("%s: %s", vapply(by, function(x) join_words(unique(x)), ""), names(by))
  tags <- htmltools::tags
  list(
    if (nzchar(constant)) tags$p(paste0("Treatment: ", constant, ".")),
    html_table(c(list(
      operation = panel_name(rows)), scope_cells(rows), treatment_cells(rows, analysis), list(
      channel = rows$channel, "level %" = format_level(rows$level_requested_percent),
      "delivered %" = format_level(rows$level_delivered_percent),
      n = paste(format_count(ifelse(is.na(rows$launch), rows$n_launches, rows$n_pairs)),
                c(pair = "pairs", launch = "launches", "set of launches" = "sets")[rows$unit_of_inference]),
      effect = format_effect(rows$estimate), "CI" = format_interval(rows$ci_low, rows$ci_high),
      p = format_p(rows$p_one_sided), limit = format_effect(rows$detection_limit, FALSE),
      verdict = marked(row_outcome(rows))
    )), how = paste0(
      sprintf("alpha %g one-sided, step-down from the highest level; intervals have confidence %g; limit: the effect this run would have found with power %g; ",
              analysis$alpha, 1 - 2 * analysis$alpha, analysis$power),
      "n: units of inference. Channels, with the unit of effect and limit: ", paste(trimws(channel_lines(rows)), collapse = " "),
      if (length(estimators) > 0) paste0(" Estimator: ", paste(estimators, collapse = "; "), "."),
      if (any(row_outcome(rows) == "detected alone")) paste(
        " Detected alone: at alpha in its own channel and operation, not with the chance of any false detection over all of them at alpha.")),
    text = c("operation", "scope", treatment_columns, "channel", "verdict"), verdict = row_outcome(rows)),
    if (!is.null(scope_note(analysis$verdicts))) tags$p(upper_first(scope_note(analysis$verdicts)), ".")
  )
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

location_section <- function(location) {
  rows <- answering_rows(location$nodes)
  all <- nrow(rows)
  factors <- varying_factors(rows)
  rows <- utils::head(rows[order(match(rows$found, c("here", "trace", "not detected", "inconclusive")),
                                 -rows$preempted_shift_percent), ], 32)
  list(html_table(c(
    list(node = rows$host), as.list(rows[factors]),
    list("level %" = format_level(rows$level_requested_percent), ranks = format_count(rows$ranks),
         "clean %" = format_effect(rows$clean_preempted_percent, FALSE), "shift %" = format_effect(rows$preempted_shift_percent),
         CI = format_interval(rows$ci_low, rows$ci_high), "p, Holm" = format_p(rows$p_holm),
         limit = format_effect(rows$detection_limit, FALSE), "extra, %" = format_effect(rows$extra_share_percent, FALSE),
         "slowest off, %" = format_effect(rows$slowest_off_percent, FALSE),
         "slowest on, %" = format_effect(rows$slowest_on_percent, FALSE), "ranks, %" = format_effect(rows$ranks_percent, FALSE),
         found = marked(rows$found))
  ), how = sprintf(paste("Preempted time of the ranks of each node, on minus off, in percent of one CPU, with %g %% interval, at the highest",
                         "level of each treatment%s. Limit: the shift that this test, with Holm's correction over the nodes, finds with",
                         "power %g. Extra: share of the extra preempted time of all nodes. Slowest: share of the halves in which the slowest",
                         "rank was there, beside the share of the ranks."), 100 * (1 - location$alpha),
                   if (all > 32) sprintf(" (32 of %d rows; all: noiselab analyze nodes --csv)", all) else "", location$power),
  text = c("node", factors, "found"), verdict = rows$found), reasons_fold(rows$host, rows$reason))
}

# The slowdowns side by side, and what slows each operation most against the rest.
treatment_tables <- function(analysis) {
  tables <- side_by_side(analysis, function(rows) {
    paste0(format_effect(rows$estimate), " ", format_interval(rows$ci_low, rows$ci_high),
           c(detected = "", "detected alone" = " (alone)", "not detected" = " ?", inconclusive = " -")[row_outcome(rows)])
  })
  beside <- lapply(names(tables), function(name) {
    text <- tables[[name]]$text
    columns <- lapply(seq_len(ncol(text)), function(j) {
      ifelse(tables[[name]]$worst[, j] == "worst", paste0(text[, j], " *"), text[, j])
    })
    html_table(c(list(treatment = rownames(text)), stats::setNames(columns, colnames(text))), name,
               paste("Slowdown in percent, with interval, by treatment and requested level. *: the largest at the level; ?: not",
                     "detected; alone: not with all operations and channels counted together; -: inconclusive."), text = "treatment")
  })
  list(beside, contrast_table(analysis))
}

contrast_table <- function(analysis) {
  rows <- worst_contrasts(analysis$contrasts, analysis)
  if (NROW(rows) == 0) {
    return(htmltools::tags$p(paste("Differences between treatments were not tested: no two of them share a launch,",
                                   "or have two launches each.")))
  }
  html_table(c(list(operation = panel_name(rows)), scope_cells(rows), list(
    "level %" = format_level(rows$level_requested_percent), "slows most" = rows$a, against = rows$b,
    "longer by %" = format_effect(rows$difference_percent), CI = format_interval(rows$ci_low, rows$ci_high),
    "p, two-sided" = format_p(rows$p_two_sided), "p, Holm" = format_p(rows$p_holm),
    n = paste(format_count(rows$n_a), format_count(rows$n_b), sep = ", ")
  )), "The treatment that slows most at each level, against each other one",
  sprintf(paste("Time under the first over time under the second, Welch's %g %% interval (each by itself). Holm: over all levels and",
                "pairs of treatments of the operation and size. All pairs: noiselab analyze --csv --table contrasts."),
          100 * (1 - analysis$alpha)),
  text = c("operation", "scope", "slows most", "against"))
}

# What the rows are about, where they differ in it.
scope_cells <- function(rows) {
  scope <- ifelse(is.na(rows$launch), rows$scope, rows$launch)
  if (length(unique(scope)) > 1) list(scope = scope)
}

threshold_table <- function(analysis) {
  rows <- analysis$thresholds
  if (NROW(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  without <- rows$pattern %in% no_word
  if (all(without)) return(htmltools::tags$p("The treatment has no level, so there is no threshold."))
  rows <- rows[!without, ]
  level <- function(name) {
    value <- rows[[paste0(name, "_percent")]]
    trimws(paste(ifelse(is.na(value), "none", format_level(value)), format_levels(rows[[paste0(name, "_low_percent")]],
        rows[[paste0(name, "_high_percent")]])))
  }
  label <- label_in(rows, analysis)
  name <- paste0(panel_name(rows), ifelse(nzchar(label), paste0(" (", label, ")"), ""), " by ", rows$channel)
  none <- function(what, reason) ifelse(is.na(reason), NA, paste0("no ", what, ": ", reason))
  list(html_table(c(list(operation = panel_name(rows)), treatment_cells(rows, analysis), list(
    channel = rows$channel), scope_cells(rows), list(MED = level("med"), LOD = level("lod"),
    "slows by delta" = ifelse(rows$channel == "time", level("d_delta"), ""), slope = format_effect(rows$slope),
    n = format_count(ifelse(is.na(rows$launch), rows$n_launches, rows$n_pairs))
  )), how = sprintf(paste(
    "In percent of one CPU, each with its %g %% interval (pairs, or launches, resampled). MED: smallest level detected; its interval holds the",
    "level that runs like this detect more often than not. LOD: level whose expected effect reaches the placebo's detection limit. Delta: %g %%.",
    "Slope: effect per percent of one CPU delivered. n: pairs (launches) per level."), 100 * (1 - analysis$alpha), analysis$delta_percent),
  text = c("operation", treatment_columns, "channel", "scope")),
  reasons_fold(rep(name, 3), c(none("MED", rows$med_reason), none("LOD", rows$lod_reason),
                               ifelse(rows$channel == "time", none("level that slows by delta", rows$d_delta_reason), NA)), "there is none"))
}

margin_table <- function(analysis) {
  if (is.null(analysis$margin)) return(NULL)
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!is.na(rows$margin_verdict), ]
  answer <- analysis$margin_answer
  needs <- margin_needs_words(rows, analysis)
  list(if (length(needs) > 0) htmltools::tags$ul(lapply(needs, htmltools::tags$li)),
       htmltools::tags$p(paste0("Is every slowdown below ", format_level(analysis$margin), " %? Answer: ", answer$answer,
                                if (!is.na(answer$reason)) paste0(" (", answer$reason, ")"), ".")),
       html_table(c(list(operation = panel_name(rows)), scope_cells(rows),
                    treatment_cells(rows, analysis),
                    list("level %" = format_level(rows$level_requested_percent), "slowdown %" = format_effect(rows$margin_estimate),
                         CI = format_interval(rows$margin_low, rows$margin_high), verdict = marked(rows$margin_verdict))), how =
                  sprintf(paste("One %g %% interval per row: its ends are one-sided bounds at alpha %g. Above: all of it lies above the",
                                "margin; below: all of it lies below."), 100 * (1 - 2 * analysis$alpha), analysis$alpha),
                  text = c("operation", "scope", treatment_columns, "verdict"), verdict = rows$margin_verdict))
}

amplification_table <- function(analysis) {
  one <- function(rows, value, heading, caption) {
    if (NROW(rows) == 0) return(NULL)
    rows <- main_rows(rows)
    rows <- rows[rows$level_requested_percent > 0, ]
    if (NROW(rows) == 0) return(NULL)
    columns <- c(list(operation = panel_name(rows)), scope_cells(rows), treatment_cells(rows, analysis),
                 list("level %" = format_level(rows$level_requested_percent),
                      value = format_effect(rows[[value]], FALSE), CI = format_interval(rows$ci_low, rows$ci_high)))
    names(columns)[names(columns) == "value"] <- heading
    list(html_table(columns, caption, text = c("operation", "scope", treatment_columns)),
         reasons_fold(paste0(panel_name(rows), at_level(rows)), rows$reason, "unknown"))
  }
  list(one(analysis$amplification, "amplification", "amplification",
           "Amplification: slowdown percent over preempted percent (Fieller's interval)"),
       one(analysis$cost, "cost_ns", "ns per interruption", "Cost of one interruption beyond the load itself"))
}

# A reason without the figures that differ from row to row.
same_reason <- function(text) {
  text <- sub("only an effect above [^ ]+ % could have been seen", "only an effect above the limit could have been seen", text)
  gsub("(in|;) [0-9.e+-]+ % of (the pairs|them)", "\\1 some of \\2", text)
}
