# The report of an acceptance campaign.

# `result`: an nl_acceptance_verdict. `options`: the words of the command line that it was judged by, beside
# the directories.
write_acceptance_report <- function(result, file, plots_dir = files_beside(file), options = character()) {
  check_report_file(file)
  rows <- plots_of("acceptance")
  clear_plots_dir(plots_dir, vapply(rows, `[[`, "", "name"))
  figures <- write_figures(unclass(result), plots_dir, rows)
  figure <- function(name) figure_tag(figures[[paste0("acceptance-", name)]], basename(plots_dir))
  acceptance <- result$acceptance
  write_page(
    html_page(
      "Is this cluster quiet and correct?",
      sprintf("%s; %s; %s", counted(length(acceptance$hosts), "node"),
              counted(length(acceptance$launches), "launch", "launches"), result$ended_utc),
      acceptance_view(result, acceptance$dirs)$sentences,
      NULL,
      figure("matrix"),
      list(
        page_section(
          "failed",
          "Which node failed what, and what is to be done?",
          failed_sentence(result),
          NULL,
          failing_table(result),
          list(details_tag(
            "All checks",
            page_table(
              checks_table(result),
              how = sprintf(
                "The figure that stands for each check, of the worst node or pair, with its %g %% interval.",
                100 * (1 - result$alpha)
              )
            ),
            reasons_fold(result$checks$check, result$checks$reason, "a check has no plain verdict")
          ))
        ),
        page_section(
          "who",
          "Who makes the noise, and what does it cost at scale?",
          who_sentence(result),
          figure("causes"),
          list(
            if (!is.null(causes_table(result))) {
              page_table(causes_table(result, most = 24), how = causes_legend(result))
            },
            figure("scale"),
            if (length(result$noise) > 0) lapply(result$noise, htmltools::tags$p)
          )
        ),
        page_section(
          "where",
          "Which node lost time, and when?",
          lost_sentence(result),
          figure("map"),
          list(
            html_table(list(node = result$nodes$host, verdict = result$nodes$verdict),
                       text = c("node", "verdict"), verdict = result$nodes$verdict),
            reasons_fold(result$nodes$host, result$nodes$reason, "a node has its verdict")
          )
        ),
        page_section("trust", "Can the run be trusted?",
                     sprintf("Self-check: %s (%s).", result$self_check$verdict, result$self_check$reason),
                     NULL, NULL, list(details_tag("All notes", notes_list(result$notes)))),
        page_section("again", "Where it comes from, and how to repeat it",
                     "These launches were judged; their commands make them again.", NULL,
                     acceptance_again(result, options),
                     list(details_tag("Launches", acceptance_provenance(result))))
      )
    ),
    file
  )
}

who_sentence <- function(result) {
  top <- result$causes[
    which.max(ifelse(is.na(result$causes$at_scale_percent), -1, result$causes$at_scale_percent)),
  ]
  if (NROW(top) == 0 || is.na(top$at_scale_percent)) {
    return(result$noise[1] %||% "Who ran beside the ranks was not recorded.")
  }
  sprintf("Most would be due to %s on %s: with it alone, %s %s.", cause_words(top), top$host,
          at_scale_words(result$at_scale), do.call(slower_words, cause_ends(top)))
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

lost_sentence <- function(result) {
  rows <- lost_map_data(result)
  if (is.null(rows)) return("The time that CPUs lose was not measured (check detour).")
  top <- rows[which.max(rows$lost_percent), ]
  sprintf("The most time was lost on %s: %s %% in one repetition; half of all scans lost less than %s %%.",
          top$line, format_effect(top$lost_percent, FALSE),
          format_effect(stats::median(rows$lost_percent), FALSE))
}

failing_table <- function(result) {
  rows <- utils::head(result$judgements[result$judgements$verdict == "fail", ], 60)
  if (nrow(rows) == 0) return(NULL)
  tags <- htmltools::tags
  todo <- unique(rows$todo[nzchar(rows$todo)])
  list(
    html_table(
      list(who = rows$entity, check = rows$check, measures = what_words(rows), value = figure_interval(rows),
           limit = rows$limit, effect = rows$effect, "judged by" = rows$source, verdict = rows$verdict),
      text = c("who", "check", "measures", "limit", "effect", "judged by", "verdict"),
      wrap = c("measures", "effect"),
      verdict = rows$verdict
    ),
    if (length(todo) > 0) list(tags$h3("What to do"), tags$ul(lapply(todo, tags$li)))
  )
}

acceptance_provenance <- function(result) {
  infos <- unname(result$acceptance$launches)
  of <- function(key) cells_of(infos, function(info) info[[key]])
  html_table(
    list(launch = of("launch"), version = of("version"), ranks = of("ranks"), nodes = of("nodes"),
         started = of("started_utc"), ended = of("ended_utc"),
         end = cells_of(infos, function(info) show_json(info$ended, "died"))),
    text = c("launch", "version", "started", "ended", "end")
  )
}

acceptance_again <- function(result, options) {
  tags <- htmltools::tags
  list(
    tags$pre(paste(vapply(result$acceptance$launches, launch_command, ""), collapse = "\n")),
    tags$pre(paste(c("noiselab report", vapply(c(options, result$acceptance$dirs), quote_word, "")),
                   collapse = " "))
  )
}
