# The reports of one program's profile, and of a projection.

# `report`: of profile_report(). `dirs`: as they were given. `projection`: of what held its ranks up; NULL:
# there is none.
write_profile_report <- function(report, dirs, projection, file, plots_dir = files_beside(file)) {
  check_report_file(file)
  rows <- plots_of("profile")
  names <- vapply(c(rows, plots_of("scale")), `[[`, "", "name")
  clear_plots_dir(plots_dir, names)
  figures <- write_figures(report, plots_dir, rows)
  view <- profile_view(report, dirs)
  parts <- profile_parts(report)
  body <- lapply(parts, part_tags)
  write_page(html_page(
    "Where does this program wait, and what would noise cost it?", profile_where(report), view$sentences,
      report_alarms_of(view),
    figure_tag(figures$profile, basename(plots_dir)), list(
      page_section("calls", "Which calls take the time?", profile_calls_sentence(report), NULL, body[1]),
      if (length(body) > 1) page_section("ranks", "Which rank is late, and why?",
                                         largest_sentence(report$largest) %||% waiting_sentence(report),
                                         NULL, body[2]),
      if (length(body) > 2) page_section("noise", "What does an interruption cost?",
                                         exposure_sentence(report), NULL, body[3]),
      if (length(body) > 3) page_section("kernel", "What did the kernel count?", kernel_sentence(report),
                                         NULL, body[4]),
      scale_section(projection, plots_dir),
      page_section("trust", "Can the run be trusted?", sprintf("%s of the time was spent to sample calls.",
                                                               sampling_cost_words(report)), NULL, NULL,
                   list(details_tag("All notes", notes_list(report$notes)))),
      page_section("again", "Where it comes from, and how to repeat it",
                   "This command makes the profile again.", NULL,
                   htmltools::tags$pre(paste(c("noiselab profile --",
                                               vapply(unlist(report$profile$info$command), quote_word, "")),
                                                 collapse = " ")))
    )), file)
}

profile_where <- function(report) {
  info <- report$profile$info
  sprintf("%s; %s on %s; %s", show_json(info$profiled_program), counted(nrow(report$profile$ranks), "rank"),
          counted(length(unique(report$profile$ranks[["node"]])), "node"), show_json(info$started_utc))
}

report_alarms_of <- function(view) if (length(view$warnings) > 0) upper_first(utils::head(view$warnings, 1))

profile_calls_sentence <- function(report) {
  top <- utils::head(report$operations[report$operations$share >= 0.005, ], 3)
  if (nrow(top) == 0) return("The program hardly calls MPI.")
  sprintf("Most time is spent in %s.", join_words(sprintf("%s (%s)", operation_words(top),
                                                          percent_of_time(top$share))))
}

sampling_cost_words <- function(report) {
  ranks <- report$profile$ranks
  percent_of_time(max(ranks[["sampled_calls"]] * ranks[["sample_cost_ns"]] / pmax(1, ranks[["wall_ns"]])))
}

scale_section <- function(projection, plots_dir) {
  if (is.null(projection)) return(NULL)
  figures <- write_figures(projection, plots_dir, plots_of("scale"))
  page_section("scale", "What does that mean on many nodes?", projection_sentences(projection)[1],
               figure_tag(figures$scale, basename(plots_dir)),
               page_table(projection_table(projection), how = paste(projection_legend(projection),
                                                                    collapse = " ")))
}

# `projection`: of make_projection(); `view`: what a terminal shows of it; `command`: the words that made it.
write_projection_report <- function(projection, view, command, file, plots_dir = files_beside(file)) {
  check_report_file(file)
  clear_plots_dir(plots_dir, vapply(plots_of("scale"), `[[`, "", "name"))
  figures <- write_figures(projection, plots_dir, plots_of("scale"))
  tables <- list(page_table(projection_table(projection), how = paste(projection_legend(projection),
                                                                      collapse = " ")))
  write_page(html_page(
    "What does this noise cost on many nodes?", projection$noise$name, view$sentences, report_alarms_of(view),
    figure_tag(figures$scale, basename(plots_dir)), list(
      page_section("nodes", "How much, on how many nodes?", view$sentences[1], NULL, tables),
      page_section("trust", "How far does the record carry?",
                   paste0(upper_first(watched_words(projection)), "."), NULL, NULL,
                   list(details_tag("All notes", notes_list(c(view$warnings, projection$notes))))),
      page_section("again", "Where it comes from, and how to repeat it", "This command computes it again.",
                   NULL,
                   htmltools::tags$pre(paste(c("noiselab project", vapply(command, quote_word, "")),
                                             collapse = " ")))
    )), file)
}
