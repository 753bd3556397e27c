# The reports of two campaigns compared.

write_comparison_report <- function(comparison, file, plots_dir = files_beside(file)) {
  check_report_file(file, "--report")
  families <- intersect(names(comparison_families), comparison$rows$family)
  clear_plots_dir(plots_dir, paste0("compare-", names(comparison_families)))
  figures <- lapply(stats::setNames(families, families), function(family) family_figure(comparison, family, plots_dir))
  figure <- function(family) if (!is.null(figures[[family]])) figure_tag(figures[[family]], basename(plots_dir))
  sides <- comparison$sides
  sections <- lapply(families, function(family) {
    rows <- comparison$rows[comparison$rows$family == family, ]
    page_section(family, comparison_families[[family]]$question, family_sentence(rows), if (family != families[1]) figure(family),
                 list(page_table(change_table(rows, comparison, change_names(rows)),
                                 how = paste0(comparison_intro(comparison), if (any(rows$familywise %in% FALSE)) paste0(". ", change_alone_words), ".")),
                      reasons_fold(change_names(rows), rows$reason)),
                 if (any(!is.na(rows$margin_verdict))) {
                   judged <- rows[!is.na(rows$margin_verdict), ]
                   list(details_tag("Against the margin", page_table(change_margin_table(judged, comparison, change_names(judged)),
                                                                     how = upper_first(change_margin_words(comparison)))))
                 })
  })
  write_page(html_page("B against A", sprintf("A: %s, %s; B: %s, %s", sides$dirs[1], launches_words(sides$launches[1]), sides$dirs[2],
                                              launches_words(sides$launches[2])),
                       comparison_answer(comparison), NULL, figure(families[1]),
                       c(sections, list(differs_section(comparison), compare_again(comparison$margin_percent, c(
                         if (comparison$paired) "--paired", if (comparison$alpha != 0.01) paste("--alpha", format(comparison$alpha, digits = 15))
                       ), comparison$sides$dirs)))), file)
}

# What changed, in the clean time first; and the margin.
comparison_answer <- function(comparison) {
  rows <- comparison$rows
  first <- rows[rows$family == "time", ]
  more <- setdiff(intersect(names(comparison_families), rows$family), "time")
  c(if (nrow(first) > 0) upper_first(family_sentence(first)), if (!is.na(comparison$answer)) {
      sprintf("Is %s within the margin of %g %%? %s.", margin_of_what(rows), comparison$margin_percent, upper_first(comparison$answer))
    }, if (length(more) > 0) paste0("Beside the clean time: ", paste(vapply(more, function(family) {
      part <- rows[rows$family == family, ]
      sprintf("%s, %s", family, changed_words(part))
    }, ""), collapse = "; "), "."))
}

changed_words <- function(rows) {
  changed <- rows$familywise %in% TRUE
  if (any(changed)) sprintf("%d of %d changed", sum(changed), nrow(rows)) else if (all(!is.na(rows$reason))) "could not be tested" else
    sprintf("no change found in %s", counted(nrow(rows), "row"))
}

# By Holm's correction; what was not found has the change that would have been.
family_sentence <- function(rows) {
  rows <- rows[order(-abs(rows$effect)), ]
  changed <- rows[rows$familywise %in% TRUE, ]
  limits <- rows$detection_limit[is.na(rows$reason)]
  if (length(limits) == 0) return(sprintf("Nothing could be tested (%s).", rows$reason[1]))
  unit <- if (rows$unit[1] == "%") " %" else paste0(" ", rows$unit[1])
  seen <- sprintf("a change of %s%s would have been found", format_span_of(limits), unit)
  if (nrow(changed) == 0) return(sprintf("no difference between B and A was found in %s; %s.", counted(nrow(rows), "row"), seen))
  top <- utils::head(changed, 3)
  sprintf("B differs from A in %d of %s: %s%s%s.", nrow(changed), counted(nrow(rows), "row"),
          paste0(change_names(top), " is ", top$verdict, " (", format_change(top$effect), unit, " ",
                 change_interval(top$ci_low, top$ci_high), ")", collapse = ", "),
          if (nrow(changed) > 3) sprintf(" and %d more", nrow(changed) - 3) else "", if (nrow(changed) < nrow(rows)) paste("; elsewhere", seen) else "")
}

change_names <- function(rows) {
  treated <- rows$level_requested_percent > 0
  label <- treatment_label(rows, varying_factors(rows[treated, ]))
  paste0(ifelse(rows$measure == "time", "", paste0(measure_names[rows$measure], " of ")), cell_words(rows),
         ifelse(treated, at_level(rows), ""), ifelse(treated & nzchar(label), paste0(", ", label), ""))
}

family_figure <- function(comparison, family, plots_dir) {
  comparison$rows <- comparison$rows[comparison$rows$family == family, ]
  drawn <- plot_compare(comparison)
  if (is.null(drawn)) return(NULL)
  frame <- plot_compare(comparison, draw = FALSE)
  name <- paste0("compare-", family)
  write_atomically(file.path(plots_dir, paste0(name, ".csv")), function(path) data.table::fwrite(frame, path, na = ""))
  figure_parts(list(name = name, title = paste0("B against A: ", compare_panels[[family]]), question = "", asks = family), drawn,
               alt_compare(frame), c(9, attr(drawn, "height_in") - 0.8), nrow(frame), plots_dir)
}

alt_compare <- function(frame) {
  alt_panels(frame, "Change of B against A", function(rows) {
    counts <- table(rows$verdict)
    top <- rows[which.max(abs(rows$effect)), ]
    sprintf("%s; the largest: %s, %s %% %s", paste(counts, names(counts), collapse = ", "), top$label, format_effect(top$effect),
            format_interval(top$ci_low, top$ci_high))
  })
}

differs_section <- function(comparison) {
  differs <- comparison$differs
  page_section("differs", "What else differs, and can the comparison be trusted?",
               if (nrow(differs) == 0) "Nothing that is recorded of machine, software and settings differs." else
                 sprintf("What differs of machine, software or settings (%d): %s.", nrow(differs), few_words(differs$what, 6)),
               NULL, if (nrow(differs) > 0) html_table(list(what = differs$what, A = differs$a, B = differs$b), text = c("what", "A", "B"),
                                                       wrap = c("A", "B")),
               list(details_tag("Notes", notes_list(comparison$notes))))
}

compare_again <- function(margin, options, dirs) {
  words <- c("noiselab compare", if (!is.null(margin)) paste("--margin", format(margin, digits = 15)), options, vapply(dirs, quote_word, ""))
  page_section("again", "How to repeat it", sprintf("Compared by noiselab %s.", package_version_text()), NULL, htmltools::tags$pre(paste(words, collapse = " ")))
}

# ---- acceptance --------------------------------------------------------------------------------

# The report of compare_acceptance().
write_change_report <- function(comparison, dirs, file) {
  check_report_file(file, "--report")
  rows <- comparison$rows
  shown <- shown_changes(rows)
  how <- sprintf("B against A, each with its %g %% interval; Holm's correction over all figures%s. Limit: the change that would have been found.%s",
                 100 * (1 - comparison$alpha), if (is.null(comparison$margin)) "" else sprintf("; same: within %g %%", comparison$margin),
                 if (nrow(rows) > nrow(shown)) sprintf(" %d more: noiselab compare --csv.", nrow(rows) - nrow(shown)) else "")
  write_page(html_page("B against A", sprintf("acceptance campaigns; A: %s; B: %s", dirs[1], dirs[2]), comparison$answer, NULL, NULL, list(
    page_section("changed", "Which figures changed?", comparison$answer, NULL, page_table(changes_table(shown), how = how),
                 list(details_tag("Notes", notes_list(comparison$notes)))),
    compare_again(comparison$margin, NULL, dirs)
  )), file)
}

# The report of an acceptance campaign.

# `result`: an nl_acceptance_verdict. `options`: the words of the command line that it was judged by, beside the directories.
write_acceptance_report <- function(result, file, plots_dir = files_beside(file), options = character()) {
  check_report_file(file)
  rows <- plots_of("acceptance")
  clear_plots_dir(plots_dir, vapply(rows, `[[`, "", "name"))
  figures <- write_figures(unclass(result), plots_dir, rows)
  figure <- function(name) figure_tag(figures[[paste0("acceptance-", name)]], basename(plots_dir))
  acceptance <- result$acceptance
  write_page(html_page(
    "Is this cluster quiet and correct?", sprintf("%s; %s; %s", counted(length(acceptance$hosts), "node"),
                                                  launches_words(length(acceptance$launches)),
                                                  result$ended_utc), result$answer,
    if (result$self_check$verdict == "inconclusive") paste0("Self-check: ", result$self_check$reason, "."), figure("matrix"), list(
      page_section("failed", "Which node failed what, and what is to be done?", failed_sentence(result), figure("boxes"),
                   failing_table(result), list(details_tag("All checks", page_table(checks_table(result), how = sprintf(
                     "The figure that stands for each check, of the worst node or pair, with its %g %% interval.", 100 * (1 - result$alpha))),
                                                           reasons_fold(result$checks$check, result$checks$reason, "a check has no plain verdict")))),
      page_section("where", "Which node lost time, and when?", lost_sentence(result), figure("map"), acceptance_node_table(result)),
      page_section("trust", "Can the run be trusted?", sprintf("Self-check: %s (%s).", result$self_check$verdict, result$self_check$reason),
                   NULL, NULL, list(details_tag("All notes", notes_list(result$notes)))),
      page_section("again", "Where it comes from, and how to repeat it", "These launches were judged; their commands make them again.",
                   NULL,
                   acceptance_again(result, options), list(details_tag("Launches", acceptance_provenance(result))))
    )), file)
}

failed_sentence <- function(result) {
  bad <- result$judgements[result$judgements$verdict == "fail", ]
  judged <- sum(result$checks$n_judged)
  if (nrow(bad) == 0) return(sprintf("Nothing failed of %s that were judged.", counted(judged, "figure")))
  first <- bad[1, ]
  who <- unique(bad$entity[nzchar(bad$entity)])
  sprintf("%d of %s failed%s; first to be done: %s.", nrow(bad), counted(judged, "figure"),
          if (length(who) > 0) paste(", on", few_words(who, 6)) else "",
          sub("\\.$", "", first$todo))
}

# By the CPU that lost most, all CPUs scanned at once.
lost_sentence <- function(result) {
  rows <- lost_map_data(result)
  if (is.null(rows)) return("The time that CPUs lose was not measured (check detour).")
  top <- rows[which.max(rows$lost_percent), ]
  sprintf("The most time was lost on %s: %s %% in one repetition; half of all scans lost less than %s %%.", top$line,
          format_effect(top$lost_percent, FALSE),
          format_effect(stats::median(rows$lost_percent), FALSE))
}

failing_table <- function(result) {
  rows <- utils::head(result$judgements[result$judgements$verdict == "fail", ], 60)
  if (nrow(rows) == 0) return(NULL)
  tags <- htmltools::tags
  todo <- unique(rows$todo[nzchar(rows$todo)])
  list(html_table(list(who = rows$entity, check = rows$check, measures = what_words(rows), value = figure_interval(rows),
                       limit = rows$limit,
                       effect = rows$effect, "judged by" = rows$source, verdict = rows$verdict),
                  text = c("who", "check", "measures", "limit", "effect", "judged by", "verdict"), wrap = c("measures", "effect"), verdict = rows$verdict),
       if (length(todo) > 0) list(tags$h3("What to do"), tags$ul(lapply(todo, tags$li))))
}

acceptance_node_table <- function(result) {
  rows <- result$nodes
  list(html_table(list(node = rows$host, verdict = rows$verdict), text = c("node", "verdict"), verdict = rows$verdict),
       reasons_fold(rows$host, rows$reason, "a node has its verdict"))
}

acceptance_provenance <- function(result) {
  infos <- unname(result$acceptance$launches)
  of <- function(key) cells_of(infos, function(info) info[[key]])
  html_table(list(launch = of("launch"), version = of("version"), ranks = of("ranks"), nodes = of("nodes"), started = of("started_utc"),
                  ended = of("ended_utc"),
                  end = cells_of(infos, function(info) show_json(info$ended, "died"))),
             text = c("launch", "version", "started", "ended", "end"))
}

acceptance_again <- function(result, options) {
  tags <- htmltools::tags
  list(tags$pre(paste(vapply(result$acceptance$launches, launch_command, ""), collapse = "\n")),
       tags$pre(paste(c("noiselab report", vapply(c(options, result$acceptance$dirs), quote_word, "")), collapse = " ")))
}
