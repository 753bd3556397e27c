# One self-contained HTML file. htmltools escapes every text that is handed to a tag.

#' Write a report
#'
#' One HTML file that needs nothing else (style inline, plots embedded as PNG), and beside it each plot
#' as a PNG file and its data as CSV. A campaign of synchronised starts may hold one arm only: the report then has no
#' verdicts.
#'
#' @param campaign An `nl_campaign` from [read_campaign()], or an `nl_analysis`.
#' @param file Character, length 1: the HTML file. It is written beside its place and renamed.
#' @param plots_dir Character, length 1: directory for the PNG and CSV files, made if need be.
#' @param alpha One-sided level of the tests, length 1.
#' @param margin Slowdown in percent that verdicts are judged against, length 1; NULL: none.
#' @return `file`, invisibly.
#' @examples
#' \donttest{
#' dir <- file.path(tempdir(), "report")
#' simulate_campaign(dir, pairs = 20, levels_percent = c(0, 5), seed = 1)
#' write_report(read_campaign(dir), file.path(dir, "report.html"))
#' unlink(dir, recursive = TRUE)
#' }
#' @export
write_report <- function(campaign, file, plots_dir = paste0(sub("\\.html?$", "", file), "_files"),
                         alpha = 0.01, margin = NULL) {
  check_argument(is_text(file), "file", file, "one file name")
  analysis <- if (inherits(campaign, "nl_analysis")) campaign else report_analysis(campaign, alpha, margin)
  check_argument(dir.exists(dirname(file)), "file", file, "a file in a directory that exists")
  clear_plots_dir(plots_dir, plot_table()$name)
  # Known once, for the table and both plots.
  if (!is_clean(analysis)) analysis$location <- location_of(analysis)
  analysis$agent <- agent_of(analysis)
  analysis$panel_cells <- panel_cells(analysis$campaign$rows)
  figures <- write_figures(analysis, plots_dir)
  write_page(report_page(analysis, Filter(Negate(is.null), figures), basename(plots_dir)), file)
}

# Plots of an earlier report that this one does not have would be taken for its own.
clear_plots_dir <- function(plots_dir, names) {
  if (!dir.exists(plots_dir) && !dir.create(plots_dir, showWarnings = FALSE)) {
    abort_usage("cannot make the directory '", plots_dir, "'")
  }
  unlink(file.path(plots_dir, as.vector(outer(names, c(".png", ".csv"), paste0))))
}

write_page <- function(page, file) {
  write_atomically(file, function(path) {
    writeLines(c("<!DOCTYPE html>", enc2utf8(as.character(page))), path, useBytes = TRUE)
  })
  invisible(file)
}

report_analysis <- function(campaign, alpha, margin = NULL, estimators = TRUE) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  one_arm <- length(unique(campaign$rows[["arm"]])) == 1
  if (one_arm && any(vapply(campaign$launches, start_mode, "") != "loop")) return(clean_analysis(campaign, alpha))
  if (one_arm) check_arms(campaign)
  analyze_campaign(campaign, alpha = alpha, margin = margin, estimators = estimators)
}

# Drawing takes most of a report's time. Plots of the same search are drawn by the process that has made it.
write_figures <- function(analysis, plots_dir, rows = plots_of("noise")) {
  name <- vapply(rows, `[[`, "", "name")
  groups <- split(rows, in_order(ifelse(name %in% c("periodogram", "folded"), "search", name)))
  drawn <- in_processes(unname(groups), function(plots) lapply(plots, write_figure, analysis = analysis, plots_dir = plots_dir))
  do.call(c, drawn)
}

# PNG and CSV of one plot; NULL where the campaign has no data for it.
write_figure <- function(plot, analysis, plots_dir) {
  frame <- plot_frame(plot, analysis)
  if (is.null(frame)) return(NULL)
  csv <- file.path(plots_dir, paste0(plot$name, ".csv"))
  write_atomically(csv, function(path) data.table::fwrite(without_levels(frame), path, na = ""))
  png_file <- file.path(plots_dir, paste0(plot$name, ".png"))
  size <- figure_size(plot, frame, analysis)
  drawn <- draw_frame(plot, analysis, frame)
  write_atomically(png_file, function(path) save_plot(drawn, path, size))
  c(plot[c("name", "title", "question")],
    list(alt = plot$alt(if (is.null(analysis$campaign)) frame else frame[order(panel_factor(frame$panel, analysis)), ]),
         png = readBin(png_file, "raw", file.size(png_file)), width = size[1], height = size[2]))
}

# The data of a plot, or NULL where there is nothing to draw.
plot_frame <- function(plot, analysis) {
  if (plot$compares && is_clean(analysis)) return(NULL)
  frame <- plot$draw(analysis, draw = FALSE)
  if (NROW(frame) == 0) return(NULL)
  # Clean launches of one loop each have a trace of one point.
  if (plot$name == "trace" && NROW(frame) <= n_panels(frame)) return(NULL)
  frame
}

# The plot of a data frame that it gave: what is slow to compute is not computed twice.
draw_frame <- function(plot, analysis, frame) {
  analysis$frames[[plot$name]] <- frame
  plot$draw(analysis)
}

save_plot <- function(plot, path, size, form = "png") {
  plot_devices[[form]](path, size[1], size[2])
  on.exit(grDevices::dev.off())
  print(plot)
}

# Inches; the height follows the number of panels.
figure_size <- function(plot, frame, analysis) {
  if (!is.null(plot$size)) return(plot$size(frame, analysis))
  name <- plot$name
  panels <- n_panels(frame)
  stacked <- name %in% c("trace", "launches")
  columns <- if (several_treatments(analysis) && name %in% c("dose", "preempted", "levels", "tail", "shift", "overshoot")) {
    panel_columns(panels, nrow(analysis$treatments))
  } else grDevices::n2mfrow(panels)[1]  # as facet_wrap() does
  rows <- if (stacked) panels else ceiling(panels / columns)
  if (name == "treatments" && any(nzchar(frame$row))) rows <- length(unique(frame$row))
  each <- if (name == "launches") 0.8 + 0.25 * length(unique(frame$launch)) else if (stacked) 2.1 else 2.9
  if (several_treatments(analysis)) {
    # Many rows of panels are lower; in the plot of launches each treatment has a line for all its launches.
    if (!stacked && rows > 2) each <- 2.3
    if (name == "launches") {
      most <- max(table(frame[c("panel", "treatment", "level")]))
      each <- 0.6 + length(unique(frame$treatment)) * (0.16 + 0.12 * most)
    }
  }
  c(9, min(40, 1.8 + each * rows + if (rows == 1) 0.4 else 0))
}

report_page <- function(analysis, figures, files_dir) {
  tags <- htmltools::tags
  body <- list(
    tags$h1("OS noise sensitivity"),
    tags$p(class = "answer", paste(c(report_answer(analysis), if (several_nodes(analysis)) analysis$location$answer), collapse = " ")),
    report_alarms(analysis),
    if (!is_clean(analysis)) list(
      section("Verdicts", verdict_table(analysis)),
      if (!is.null(analysis$margin)) section("Against the margin", margin_table(analysis)),
      if (several_treatments(analysis)) section("Treatments", treatment_tables(analysis)),
      if (several_nodes(analysis)) section("Nodes", location_section(analysis$location)),
      if (!is.null(analysis$agent)) section("Agent", agent_section(analysis$agent)),
      section("Thresholds", threshold_table(analysis), amplification_table(analysis)),
      estimator_table(analysis)
    ),
    if (!is_clean(analysis)) list(report_sweep(analysis), report_replay(analysis), report_counters(analysis)),
    report_starts(analysis$campaign),
    section("Plots", lapply(figures, figure_tag, files_dir = files_dir)),
    if (!is_clean(analysis)) section("Generator certificates", certificate_table(analysis$campaign),
                                     burst_table(analysis$campaign)),
    section("Provenance", provenance_table(analysis$campaign), notes_list(analysis$notes)),
    section("How to reproduce", reproduce(analysis))
  )
  html_page("noiselab report", body)
}

html_page <- function(title, body) {
  tags <- htmltools::tags
  tags$html(lang = "en", tags$head(
    tags$meta(charset = "utf-8"),
    tags$meta(name = "viewport", content = "width=device-width, initial-scale=1"),
    tags$title(title), tags$style(htmltools::HTML(report_style))
  ), tags$body(body))
}

section <- function(title, ...) htmltools::tags$section(htmltools::tags$h2(title), ...)

report_style <- "
:root { color-scheme: light dark; --line: #bbb; --soft: #f3f3f3; --loud: #a33000; }
@media (prefers-color-scheme: dark) { :root { --line: #555; --soft: #222; --loud: #ff9a66; } }
body { font: 15px/1.45 sans-serif; max-width: 62rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.answer { font-size: 1.15rem; border-left: 4px solid #0072B2; padding: .4rem .9rem; background: var(--soft); }
.loud { color: var(--loud); font-weight: bold; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .55rem; text-align: right; white-space: nowrap; }
th.text, td.text { text-align: left; } td.wrap { white-space: normal; }
caption { text-align: left; padding: .3rem 0; }
tr.detected td:last-child { font-weight: bold; }
figure { margin: 1rem 0 2rem; break-inside: avoid; } img { max-width: 100%; height: auto; background: #fff; }
pre { background: var(--soft); padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; font-size: 11px; } table { font-size: 8px; } h2 { break-after: avoid; } }
"

# ---- the answer --------------------------------------------------------------------------------

report_answer <- function(analysis) {
  if (is_clean(analysis)) return(clean_answer(analysis))
  facts <- answer_facts(analysis)
  where <- report_where(analysis$campaign)
  time <- facts$families[facts$families$channel == "time", ]
  phrases <- if (several_treatments(analysis)) worst_phrases(analysis) else time_phrases(time)
  sense <- paste0(where, ", ", paste(phrases, collapse = "; "), ".")
  dosed <- is.null(facts$families) || any(has_level(facts$families$level_percent) | !facts$families$pattern %in% no_word)
  c(upper_first(sense), if (dosed) c(smallest_phrases(facts, analysis), lod_phrase(analysis)), refused_phrase(facts),
    answer_scope(analysis))
}

# By loop time, at the highest level that all treatments of an operation have (else the highest): which
# slows it most, which least, and what is detected at all.
worst_phrases <- function(analysis) {
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$channel == "time" & rows$level_requested_percent > 0 & !is.na(rows$estimate), ]
  if (nrow(rows) == 0) return("loop times were not analyzed")
  vapply(split(rows, in_order(panel_name(rows))), function(part) {
    shared <- table(part$level_requested_percent)
    level <- max(as.numeric(names(shared)[shared == max(shared)]))
    at <- part[part$level_requested_percent == level, ]
    at <- at[order(-at$estimate), ]
    told <- paste0(label_in(at, analysis), " (", format_effect(at$estimate), " %, ",
                   row_outcome(at), ")")
    where <- paste0(if (has_level(level)) sprintf("at %s %% of one CPU ", format_level(level)), panel_name(at[1, ]), " is slowed")
    if (nrow(at) == 1) return(paste(where, "by", told))
    paste0(where, " most by ", told[1], ", least by ", told[nrow(at)], " of ", nrow(at), " treatments (",
           between_phrase(at[1, ], at[nrow(at), ], analysis$contrasts), ")")
  }, "")
}

# Is the difference of two verdicts more than chance?
between_phrase <- function(most, least, contrasts) {
  if (NROW(contrasts) == 0) return("their difference was not tested")
  same <- c("scope", "launch", "operation", "bytes", "ranks", "level_requested_percent")
  key <- function(rows, columns) do.call(paste, c(unname(rows[columns]), sep = "\r"))
  sides <- function(suffix) key(contrasts, paste0(treatment_columns, suffix))
  ends <- c(key(most, treatment_columns), key(least, treatment_columns))
  at <- which(key(contrasts, same) == key(most, same) & sides("_a") %in% ends & sides("_b") %in% ends)
  p <- contrasts$p_holm[at]
  if (length(p) != 1 || is.na(p)) "their difference was not tested" else paste("their difference: p =", format_p(p), "by Holm")
}

upper_first <- function(text) paste0(toupper(substr(text, 1, 1)), substring(text, 2))

join_words <- function(x, last = "and") {
  n <- length(x)
  if (n < 2) x else paste(paste(x[-n], collapse = ", "), last, x[n])
}

report_where <- function(campaign) {
  launches <- unname(campaign$launches)
  hosts <- lapply(launches, function(info) {
    sort(unique(unlist(lapply(info$hosts, function(h) show_json(h$host, NULL)))))
  })
  ranks <- vapply(launches, function(info) as.numeric(info$ranks %||% NA), 0)
  all_hosts <- unique(unlist(hosts))
  name <- if (length(all_hosts) == 1) all_hosts else if (length(all_hosts) > 1) {
    sprintf("%d nodes", length(all_hosts))
  } else "this machine"
  counts <- sort(unique(ranks), na.last = TRUE)
  counts <- join_words(ifelse(is.na(counts), "an unknown number of", format_count(counts)))
  if (length(unique(ranks)) == 1 && length(unique(hosts)) == 1) {
    return(sprintf("on %s with %s ranks", name, counts))
  }
  sprintf("over %d launches with %s ranks, on %s", length(launches), counts, name)
}

# By loop time: what each operation senses, with p, or what it would have sensed. `rows`: families of answer_facts().
time_phrases <- function(rows) {
  if (NROW(rows) == 0) return("loop times were not analyzed")
  vapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    name <- panel_name(row)
    if (row$pattern %in% no_word) return(external_phrase(row, name))
    paste0(switch(row$outcome,
      "not detected" = sprintf("%s senses none of the tested levels by loop time (%s)", name, would_have_been(row)),
      inconclusive = sprintf("whether %s senses a load by loop time cannot be told (%s)", name, inconclusive_reason(row)),
      sprintf("%s senses %s %% of one CPU by loop time (%s %% slower, p = %s%s)", name, format_level(row$level_percent),
              format_effect(row$estimate), format_p(row$p_one_sided), alone_words(row))
    ), if (row$n_refused > 0 && row$n_refused < row$n_levels) sprintf(", %d of %d levels could not be judged", row$n_refused, row$n_levels))
  }, "")
}

alone_words <- function(row) {
  if (row$outcome == "detected alone") return("; alone: not with all operations and channels counted together")
  if (is.na(row$alone_percent)) "" else sprintf("; %s %% alone", format_level(row$alone_percent))
}

would_have_been <- function(row) {
  if (is.na(row$limit)) "no limit known" else sprintf("a slowdown of %s %% would have been found", format_effect(row$limit, FALSE))
}

inconclusive_reason <- function(row) if (is.na(row$reason)) "a higher level was not detected" else row$reason

answer_scope <- function(analysis) {
  rows <- widest_scope(analysis$verdicts)
  # Looks at a growing campaign, and within a launch, leave less than was asked for.
  sprintf("One-sided alpha %s; scope: %s.", join_words(vapply(sort(unique(rows$alpha)), format_nominal, "")), rows$scope[1])
}

# A treatment without a level: what it does, or what it would have been seen to do.
external_phrase <- function(row, name) {
  if (row$outcome == "inconclusive") return(sprintf("whether %s slows %s cannot be told (%s)", row$kind, name, inconclusive_reason(row)))
  effect <- sprintf("%s %% by loop time, %s", format_effect(row$estimate), format_interval(row$ci_low, row$ci_high))
  if (row$outcome != "not detected") {
    return(sprintf("%s slows %s (%s, p = %s%s)", row$kind, name, effect, format_p(row$p_one_sided), alone_words(row)))
  }
  sprintf("%s was not found to slow %s (%s; %s)", row$kind, name, effect, would_have_been(row))
}

# What was found at all, and what would have been: never "nothing" without a limit.
smallest_phrases <- function(facts, analysis) {
  best <- facts$smallest
  alone <- facts$alone
  c(if (is.null(best)) {
    paste0("No channel detected any of the tested levels", if (!is.null(alone)) " with all of them counted together", "; ",
           limit_phrase(facts$families, analysis), ".")
  } else {
    sprintf(paste("The smallest level detected at all, with all operations and channels counted together, is %s %% of one CPU, by",
                  "channel %s of %s (the threshold lies %s)."),
            format_level(best$level_percent), best$channel, cell_panel(best, analysis),
            if (best$below_percent > 0) sprintf("between %s and %s %%", format_level(best$below_percent), format_level(best$level_percent))
            else sprintf("at or below %s %%, the lowest level tested", format_level(best$level_percent)))
  }, if (!is.null(alone)) {
    sprintf("Alone, %s %% is detected by channel %s of %s.", format_level(alone$level_percent), alone$channel, cell_panel(alone, analysis))
  })
}

# Limits in percent can be compared; those of other units cannot.
limit_phrase <- function(families, analysis) {
  known <- families[!is.na(families$limit) & families$unit == "%", ]
  if (NROW(known) == 0) return("the detection limit is unknown, so this says nothing about smaller or larger effects")
  best <- known[order(known$channel != "time", known$limit), ][1, ]
  sprintf("the smallest effect that would have been found is %s %%, by channel %s of operation %s", format_effect(best$limit, FALSE),
          best$channel, cell_panel(best, analysis))
}

lod_phrase <- function(analysis) {
  rows <- analysis$thresholds[!is.na(analysis$thresholds$lod_percent), ]
  if (NROW(rows) == 0) return(NULL)
  known <- widest_scope(rows)
  best <- known[order(known$lod_percent), ][1, ]
  sprintf("The smallest detectable level (LOD) is %s %% of one CPU, by channel %s on operation %s.",
          format_level(best$lod_percent), best$channel, cell_panel(best, analysis))
}

refused_phrase <- function(facts) {
  refused <- facts$refused
  if (nrow(refused) == 0) return(NULL)
  sprintf("No verdict has %s.", join_words(sprintf("%d row%s (%s)", refused$n, ifelse(refused$n == 1, "", "s"), refused$reason)))
}

report_alarms <- function(analysis) {
  progress <- analysis$campaign$progress
  unfinished <- if (NROW(progress) > 0) progress_notes(progress[progress$complete < progress$planned, ])
  loud <- unique(c(unfinished, grep("^PLACEBO DETECTED|not ok|was killed|ended as", analysis$notes, value = TRUE)))
  if (length(loud) > 0) lapply(loud, function(text) htmltools::tags$p(class = "loud", text))
}

# ---- tables ------------------------------------------------------------------------------------

# `columns`: named list, heading -> character values; text columns are set to the left.
html_table <- function(columns, caption = NULL, row_class = NULL, text = character(), wrap = character()) {
  tags <- htmltools::tags
  kind <- ifelse(names(columns) %in% wrap, "text wrap", ifelse(names(columns) %in% text, "text", NA))
  cells <- function(tag, values) {
    Map(function(value, class) tag(class = if (!is.na(class)) class, value), values, kind)
  }
  n <- length(columns[[1]])
  body <- lapply(seq_len(n), function(i) {
    tags$tr(class = row_class[i], unname(cells(tags$td, lapply(columns, `[[`, i))))
  })
  tags$div(class = "scroll", tags$table(
    if (!is.null(caption)) tags$caption(caption),
    tags$thead(tags$tr(unname(cells(tags$th, as.list(names(columns)))))), tags$tbody(body)
  ))
}

# One column per factor of treatment that varies in the campaign.
treatment_cells <- function(rows, analysis) as.list(rows[varying_factors(analysis$treatments)])

verdict_table <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  caption <- sprintf(paste("alpha %g one-sided, step-down from the highest level; intervals have",
                           "confidence %g; limit: the effect this run would have found with power %g."),
                     analysis$alpha, 1 - 2 * analysis$alpha, analysis$power)
  constant <- constant_treatment(analysis$treatments)
  if (nzchar(constant)) caption <- paste0("Treatment: ", constant, ". ", upper_first(caption))
  reasons <- unique(paste0(rows$channel, ": ", rows$estimator_note)[nzchar(rows$estimator_note)])
  list(
    html_table(c(list(
      operation = rows$operation, bytes = format_count(rows$bytes), scope = scope_cell(rows)),
      treatment_cells(rows, analysis), list(
      channel = rows$channel, "level %" = format_level(rows$level_requested_percent),
      "delivered %" = format_level(rows$level_delivered_percent),
      n = paste(format_count(ifelse(is.na(rows$launch), rows$n_launches, rows$n_pairs)),
                c(pair = "pairs", launch = "launches", "set of launches" = "sets")[rows$unit_of_inference]),
      effect = format_effect(rows$estimate), "CI" = format_interval(rows$ci_low, rows$ci_high),
      p = format_p(rows$p_one_sided), limit = format_effect(rows$detection_limit, FALSE),
      verdict = ifelse(is.na(rows$reason), row_outcome(rows), paste0("inconclusive: ", rows$reason))
    )), caption, ifelse(row_outcome(rows) == "detected", "detected", "other"),
    text = c("operation", "scope", treatment_columns, "channel", "verdict"), wrap = "verdict"),
    htmltools::tags$p("n: units of inference. Channels, with the unit of effect and limit:"),
    htmltools::tags$ul(lapply(trimws(channel_lines(rows)), htmltools::tags$li)),
    if (length(reasons) > 0) htmltools::tags$p(paste0("Estimator: ", paste(reasons, collapse = "; "), ".")),
    if (any(row_outcome(rows) == "detected alone")) htmltools::tags$p(paste(
      "Detected alone: at alpha in its own channel and operation, not with the chance of any false detection over all of them at alpha."
    )),
    if (!is.null(scope_note(analysis$verdicts))) htmltools::tags$p(scope_note(analysis$verdicts))
  )
}

# On one node there is nothing to tell apart.
several_nodes <- function(analysis) length(unique(analysis$location$nodes$host)) > 1

location_section <- function(location) {
  rows <- answering_rows(location$nodes)
  all <- nrow(rows)
  factors <- varying_factors(rows)
  rows <- utils::head(rows[order(match(rows$found, c("here", "trace", "not detected", "inconclusive")),
                                 -rows$preempted_shift_percent), ], 32)
  html_table(c(
    list(node = rows$host), as.list(rows[factors]),
    list("level %" = format_level(rows$level_requested_percent), ranks = format_count(rows$ranks),
         "clean %" = format_effect(rows$clean_preempted_percent, FALSE), "shift %" = format_effect(rows$preempted_shift_percent),
         CI = format_interval(rows$ci_low, rows$ci_high), "p, Holm" = format_p(rows$p_holm),
         limit = format_effect(rows$detection_limit, FALSE), "extra, %" = format_effect(rows$extra_share_percent, FALSE),
         "slowest off, %" = format_effect(rows$slowest_off_percent, FALSE),
         "slowest on, %" = format_effect(rows$slowest_on_percent, FALSE), "ranks, %" = format_effect(rows$ranks_percent, FALSE),
         found = ifelse(is.na(rows$reason), rows$found, paste0(rows$found, ": ", rows$reason)))
  ), sprintf(paste("Preempted time of the ranks of each node, on minus off, in percent of one CPU, with %g %% interval, at the highest",
                   "level of each treatment%s. Limit: the shift that this test, with Holm's correction over the nodes, finds with",
                   "power %g. Extra: share of the extra preempted time of all nodes. Slowest: share of the halves in which the slowest",
                   "rank was there, beside the share of the ranks."), 100 * (1 - location$alpha),
             if (all > 32) sprintf(" (32 of %d rows; all: noiselab analyze nodes --csv)", all) else "", location$power),
  text = c("node", factors, "found"), wrap = "found")
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
    html_table(c(list(treatment = rownames(text)), stats::setNames(columns, colnames(text))),
               paste0(name, ": slowdown in percent, with interval, by treatment and requested level. ",
                      "*: the largest at the level; ?: not detected; alone: not with all operations and channels counted together; ",
                      "-: inconclusive."), text = "treatment")
  })
  list(beside, contrast_table(analysis))
}

contrast_table <- function(analysis) {
  rows <- worst_contrasts(analysis$contrasts, analysis)
  if (NROW(rows) == 0) {
    return(htmltools::tags$p(paste("Differences between treatments were not tested: no two of them share a launch,",
                                   "or have two launches each.")))
  }
  list(html_table(list(
    operation = rows$operation, bytes = format_count(rows$bytes), scope = scope_cell(rows),
    "level %" = format_level(rows$level_requested_percent), "slows most" = rows$a, against = rows$b,
    "longer by %" = format_effect(rows$difference_percent), CI = format_interval(rows$ci_low, rows$ci_high),
    "p, two-sided" = format_p(rows$p_two_sided), "p, Holm" = format_p(rows$p_holm),
    n = paste(format_count(rows$n_a), format_count(rows$n_b), sep = ", ")
  ), sprintf(paste("The treatment that slows most at each level, against each other one: time under the first over time",
                   "under the second, Welch's %g %% interval (each by itself). Holm: over all levels and pairs of treatments",
                   "of the operation and size. All pairs: noiselab analyze --csv --table contrasts."),
             100 * (1 - analysis$alpha)),
  text = c("operation", "scope", "slows most", "against")))
}

scope_cell <- function(rows) ifelse(is.na(rows$launch), rows$scope, rows$launch)

threshold_table <- function(analysis) {
  rows <- analysis$thresholds
  if (NROW(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  without <- rows$pattern %in% no_word
  if (all(without)) return(htmltools::tags$p("The treatment has no level, so there is no threshold."))
  rows <- rows[!without, ]
  why <- function(value, reason) ifelse(is.na(value), paste0("none: ", reason), format_level(value))
  d_delta <- ifelse(rows$channel == "time", paste(why(rows$d_delta_percent, rows$d_delta_reason),
                                                  format_levels(rows$d_delta_low_percent, rows$d_delta_high_percent)), "")
  html_table(c(list(operation = rows$operation, bytes = format_count(rows$bytes)),
    treatment_cells(rows, analysis), list(channel = rows$channel, scope = scope_cell(rows), "MED %" = why(rows$med_percent, rows$med_reason),
    "CI" = format_levels(rows$med_low_percent, rows$med_high_percent),
    "LOD %" = why(rows$lod_percent, rows$lod_reason), "CI " = format_levels(rows$lod_low_percent, rows$lod_high_percent),
    "d_delta % CI" = d_delta, slope = format_effect(rows$slope),
    n = format_count(ifelse(is.na(rows$launch), rows$n_launches, rows$n_pairs))
  )), sprintf(paste("In percent of one CPU, each with its %g %% interval (pairs, or launches, resampled). MED: smallest level detected; its",
                    "interval holds the level that runs like this detect more often than not. LOD: level whose expected effect reaches",
                    "the detection limit. d_delta: level that slows by %g %%. Slope: effect per percent of one CPU delivered.",
                    "n: pairs (launches) per level."), 100 * (1 - analysis$alpha), analysis$delta_percent),
  text = c("operation", treatment_columns, "channel", "scope", "CI", "CI ", "d_delta % CI"))
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
       html_table(c(list(operation = rows$operation, bytes = format_count(rows$bytes), scope = scope_cell(rows)),
                    treatment_cells(rows, analysis),
                    list("level %" = format_level(rows$level_requested_percent), "slowdown %" = format_effect(rows$margin_estimate),
                         CI = format_interval(rows$margin_low, rows$margin_high), verdict = rows$margin_verdict)),
                  sprintf(paste("One %g %% interval per row: its ends are one-sided bounds at alpha %g. Above: all of it lies above the",
                                "margin; below: all of it lies below."), 100 * (1 - 2 * analysis$alpha), analysis$alpha),
                  text = c("operation", "scope", treatment_columns, "verdict")))
}

estimator_table <- function(analysis) {
  rows <- analysis$estimators
  if (NROW(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  rows <- rows[rows$level_requested_percent > 0, ]
  if (nrow(rows) == 0) return(NULL)
  htmltools::tags$details(
    htmltools::tags$summary("Several estimates of each slowdown"),
    html_table(c(list(operation = rows$operation, bytes = format_count(rows$bytes), scope = scope_cell(rows)),
                 treatment_cells(rows, analysis),
                 list("level %" = format_level(rows$level_requested_percent), estimator = rows$estimator,
                      "slowdown %" = format_effect(rows$estimate), CI = format_interval(rows$ci_low, rows$ci_high),
                      gain = ifelse(is.na(rows$gain), "", format_effect(rows$gain, FALSE)),
                      n = paste(format_count(rows$n), rows$unit), remark = ifelse(is.na(rows$reason), rows$note, rows$reason))),
               sprintf(paste("With %g %% intervals. Gain: adjusting is worth so many times the pairs."),
                       100 * (1 - analysis$alpha)),
               text = c("operation", "scope", treatment_columns, "estimator", "remark"), wrap = "remark"))
}

amplification_table <- function(analysis) {
  one <- function(rows, value, heading, caption) {
    rows <- main_rows(rows)
    rows <- rows[rows$level_requested_percent > 0, ]
    if (NROW(rows) == 0) return(NULL)
    columns <- c(list(operation = rows$operation, bytes = format_count(rows$bytes), scope = scope_cell(rows)),
                 treatment_cells(rows, analysis),
                 list("level %" = format_level(rows$level_requested_percent),
                      value = format_effect(rows[[value]], FALSE), CI = format_interval(rows$ci_low, rows$ci_high),
                      remark = ifelse(is.na(rows$reason), "", rows$reason)))
    names(columns)[names(columns) == "value"] <- heading
    html_table(columns, caption, text = c("operation", "scope", treatment_columns, "remark"), wrap = "remark")
  }
  list(
    if (NROW(analysis$amplification) > 0) one(analysis$amplification, "amplification", "amplification", "Amplification: slowdown percent over preempted percent (Fieller's interval)."),
    if (NROW(analysis$cost) > 0) one(analysis$cost, "cost_ns", "ns per interruption", "Cost of one interruption beyond the load itself.")
  )
}

figure_tag <- function(figure, files_dir) {
  tags <- htmltools::tags
  data <- paste0("data:image/png;base64,", gsub("\n", "", jsonlite::base64_enc(figure$png), fixed = TRUE))
  tags$figure(
    id = figure$name, tags$h3(figure$question),
    tags$img(src = data, alt = figure$alt, width = round(96 * figure$width),
             height = round(96 * figure$height)),
    tags$figcaption(paste0(figure$title, ". Files: ", files_dir, "/", figure$name, ".png, ", files_dir,
                           "/", figure$name, ".csv"))
  )
}

# One list per launch and generator: the certificate, and the launch it belongs to.
certificates <- function(campaign) {
  unlist(lapply(unname(campaign$launches), function(info) {
    lapply(info$generators, function(g) c(list(launch = info$launch), g))
  }), recursive = FALSE)
}

# Cells of a column: `get` of each element, in `form` if it is a number.
cells_of <- function(items, get, form = format_level) {
  vapply(items, function(item) {
    value <- get(item)
    if (is.numeric(value) && length(value) == 1) form(value) else show_json(value)
  }, "")
}

certificate_table <- function(campaign) {
  rows <- unlist(lapply(certificates(campaign), function(g) {
    lapply(g$levels, function(level) c(list(g = g), level))
  }), recursive = FALSE)
  if (length(rows) == 0) return(htmltools::tags$p("No generator certificate was recorded."))
  of_level <- function(key, form = format_level) cells_of(rows, function(r) r[[key]], form)
  of_generator <- function(key, form = format_level) cells_of(rows, function(r) r$g[[key]], form)
  ok <- vapply(rows, function(r) if (is.null(r$ok)) "-" else if (isTRUE(r$ok)) "yes" else "NO", "")
  # A certificate from before the treatment was in its levels has the kind of the generator.
  kind <- cells_of(rows, function(r) r$kind %||% r$g$kind)
  other <- lapply(stats::setNames(treatment_columns[-1], treatment_columns[-1]), of_level)
  told <- vapply(names(other), function(n) any(!other[[n]] %in% c("unknown", treatment_defaults[[n]])), TRUE)
  html_table(c(list(
    launch = of_generator("launch"), host = of_generator("host"),
    CPU = of_generator("cpu", format_count), kind = kind), other[told], list(
    "period ms" = cells_of(rows, function(r) if (!is.null(r$g$period_ns)) r$g$period_ns / 1e6),
    "requested %" = of_level("level_requested_percent"),
    "delivered %" = of_level("level_delivered_percent"),
    halves = of_level("halves", format_count), "bursts planned" = of_level("bursts_planned", format_count),
    "bursts run" = of_level("bursts_run", format_count), ok = ok
  )), "Load in the on halves, percent of one CPU; ok: delivered is requested within the tolerance.",
  text = c("launch", "host", treatment_columns))
}

burst_table <- function(campaign) {
  rows <- certificates(campaign)
  if (length(rows) == 0) return(NULL)
  of <- function(key) cells_of(rows, function(g) g[[key]], format_count)
  late <- function(key) cells_of(rows, function(g) g$lateness_ns[[key]], format_count)
  html_table(list(
    launch = of("launch"), host = of("host"), CPU = of("cpu"), policy = of("policy"),
    "late p50 ns" = late("p50"), "late p99 ns" = late("p99"), "late max ns" = late("max"),
    "bursts run" = of("bursts_run"), "late bursts" = of("bursts_late"), migrations = of("migrations"),
    "involuntary switches" = of("involuntary_switches"),
    ok = vapply(rows, function(g) if (is.null(g$ok)) "-" else if (isTRUE(g$ok)) "yes" else "NO", "")
  ), "How late bursts began, and what disturbed the generators.", text = c("launch", "host", "policy"))
}

provenance_table <- function(campaign) {
  lines <- lapply(unname(campaign$launches), provenance_lines)
  columns <- c(list(names(lines[[1]])), lapply(lines, unname))
  names(columns) <- c(" ", names(campaign$launches))
  html_table(columns, text = names(columns), wrap = names(columns)[-1])
}

# The same keys for every launch; what launch.json does not have is unknown.
provenance_lines <- function(info) {
  o <- info$options
  span <- function(ns) if (is_number(ns)) paste(format_level(ns / 1e6), "ms") else show_json(ns)
  host <- function(key) {
    values <- vapply(info$hosts, function(h) show_json(h[[key]]), "")
    if (length(values) == 0) return("unknown")
    if (length(unique(values)) == 1) return(values[1])
    paste(paste0(vapply(info$hosts, function(h) show_json(h$host), ""), ": ", values), collapse = "; ")
  }
  ranks <- vapply(info$placement, function(r) {
    bound <- isTRUE(r$cpu >= 0)
    sprintf("%s: %s/%s", show_json(r$rank), show_json(r$host),
            if (bound) show_json(r$cpu) else paste0("not bound (", show_json(r$binding), ")"))
  }, "")
  switching <- info$switching
  c("program" = paste(show_json(info$program), show_json(info$version), show_json(info$git)),
    "design" = show_json(o$design), "operations" = show_json(o$operations),
    "bytes" = show_json(o$bytes), "levels, % of one CPU" = show_json(o$levels_percent),
    "half" = span(o$half_period_ns), "block" = span(o$block_ns), "period" = span(o$period_ns),
    "kind" = show_json(o$kinds %||% o$kind), "pattern" = show_json(o$patterns, "periodic"),
    "noise placement" = show_json(o$placements %||% o$noise_cpu), "phase across nodes" = show_json(o$phases, "random"),
    "preset" = show_json(o$preset, "none"), "generator options" = show_json(o$generator_options, "none"),
    "seed" = show_json(info$seed),
    "ranks" = paste(show_json(info$ranks), "on", show_json(info$nodes), "node(s)"),
    "rank: host/CPU" = if (length(ranks) > 0) paste(ranks, collapse = ", ") else "unknown",
    "hosts" = show_json(lapply(info$hosts, function(h) show_json(h$host))),
    "CPU model" = host("cpu_model"), "topology" = host("topology"), "cpuset" = host("cpuset"),
    "SMT" = host("smt"), "governor" = host("governor"), "kernel" = host("kernel"),
    "tick" = host("tick"), "isolcpus" = host("cmdline_isolcpus"), "nohz_full" = host("nohz_full"),
    "clock source" = host("clocksource"), "clock" = show_json(info$clock),
    "preempted time by" = info$preempted_by %||% "clocks", "start" = start_mode(info),
    "start clock" = show_json(start_of(info)$clock, "none"), "clock synchronisation" = show_json(start_of(info)$sync, "none"),
    "late above" = if (is.null(start_of(info)$late_bound_ns)) "none" else paste(show_json(start_of(info)$late_bound_ns), "ns"),
    "MPI" = paste(show_json(info$mpi$library), show_json(info$mpi$version)),
    "MPI parameters" = show_json(info$mpi$parameters), "Slurm" = show_json(info$slurm),
    "switching times" = if (is.null(switching)) "unknown" else {
      sprintf("p50 %s ns, p99 %s ns, max %s ns, n = %s", show_json(switching$p50_ns),
              show_json(switching$p99_ns), show_json(switching$max_ns), show_json(switching$n))
    },
    "most memory of a rank" = if (is.null(info$peak_memory_kib)) "unknown" else {
      paste(show_json(info$peak_memory_kib), "KiB")
    },
    "started" = show_json(info$started_utc),
    "ended" = paste(show_json(info$ended_utc, ""), show_json(info$ended, "killed, no end recorded")))
}

notes_list <- function(notes) {
  tags <- htmltools::tags
  if (length(notes) == 0) return(tags$p("Nothing odd was noticed."))
  list(tags$h3("Warnings and notes"), tags$ul(lapply(unique(notes), tags$li)))
}

reproduce <- function(analysis) {
  campaign <- analysis$campaign
  commands <- vapply(campaign$launches, launch_command, "")
  report <- c("noiselab report", if (analysis$alpha != 0.01) paste("--alpha", format(analysis$alpha, digits = 15)),
              if (!is.null(analysis$margin)) paste("--margin", format(analysis$margin, digits = 15)),
              vapply(campaign$dirs, quote_word, ""))
  tags <- htmltools::tags
  list(tags$p("The runs, with the seeds of their schedules:"), tags$pre(paste(commands, collapse = "\n")),
       tags$p("This report:"), tags$pre(paste(report, collapse = " ")),
       tags$p(paste("Written by the noiselab R package", package_version_text())))
}

# The command as given, under mpirun where it had several ranks, with its seed.
launch_command <- function(info) {
  words <- printable(unlist(info$command))
  if (length(words) == 0) return(paste("# launch", info$launch, "does not say its command"))
  if (isTRUE(info$ranks > 1)) words <- c("mpirun", "-n", show_json(info$ranks), words)
  seeded <- any(words == "--seed" | startsWith(words, "--seed="))
  if (!seeded && length(info$seed) > 0) words <- c(words, "--seed", show_json(info$seed))
  paste(vapply(words, quote_word, ""), collapse = " ")
}

quote_word <- function(x) if (grepl("^[A-Za-z0-9_./:=,@%+-]+$", x)) x else shQuote(x)
