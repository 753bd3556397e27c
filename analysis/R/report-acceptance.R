# The report of an acceptance campaign.

#' Write the report of an acceptance campaign
#'
#' @param result An `nl_acceptance_verdict` from [judge_acceptance()].
#' @inheritParams write_report
#' @return `file`, invisibly.
#' @examples
#' \dontrun{
#' write_acceptance_report(judge_acceptance(read_acceptance("acceptance-campaign")), "report.html")
#' }
#' @export
write_acceptance_report <- function(result, file, plots_dir = paste0(sub("\\.html?$", "", file), "_files")) {
  check_argument(inherits(result, "nl_acceptance_verdict"), "result", class(result), "the result of judge_acceptance()")
  check_argument(is_text(file) && dir.exists(dirname(file)), "file", file, "a file in a directory that exists")
  rows <- plots_of("acceptance")
  clear_plots_dir(plots_dir, vapply(rows, `[[`, "", "name"))
  figures <- Filter(Negate(is.null), write_figures(unclass(result), plots_dir, rows))
  tags <- htmltools::tags
  write_page(html_page("noiselab acceptance", list(
    tags$h1("Cluster acceptance"), tags$p(class = "answer", result$answer),
    if (result$self_check$verdict == "inconclusive") tags$p(class = "loud", paste0("Self-check: ", result$self_check$reason)),
    section("Checks", acceptance_check_table(result)), failing_table(result),
    section("Nodes", acceptance_node_table(result), tags$p(paste0("Self-check: ", result$self_check$verdict, " (", result$self_check$reason, ")."))),
    section("Plots", lapply(figures, figure_tag, files_dir = basename(plots_dir))),
    section("Provenance", acceptance_provenance(result), notes_list(result$notes))
  )), file)
}

acceptance_check_table <- function(result) {
  rows <- result$checks
  html_table(list(check = rows$check, measures = what_words(rows), value = ifelse(rows$status == "ran", figure_interval(rows), "-"), on = rows$entity,
                  limit = rows$limit, "judged by" = rows$source, judged = format_count(rows$n_judged), verdict = rows$verdict, reason = rows$reason),
             sprintf("The figure that stands for each check, of the worst node or pair, with its %g %% interval.", 100 * (1 - result$alpha)),
             ifelse(rows$verdict == "fail", "detected", "other"), text = c("check", "measures", "on", "limit", "judged by", "verdict", "reason"), wrap = c("measures", "reason"))
}

failing_table <- function(result) {
  rows <- utils::head(result$judgements[result$judgements$verdict == "fail", ], 60)
  if (nrow(rows) == 0) return(NULL)
  section("Failed", html_table(list(who = rows$entity, check = rows$check, measures = what_words(rows), value = figure_interval(rows), limit = rows$limit, effect = rows$effect,
                                    "judged by" = rows$source, "what to do" = rows$todo), text = c("who", "check", "measures", "limit", "effect", "judged by", "what to do"),
                               wrap = c("measures", "effect", "what to do")))
}

acceptance_node_table <- function(result) {
  rows <- result$nodes
  html_table(list(node = rows$host, verdict = rows$verdict, why = rows$reason), row_class = ifelse(rows$verdict == "fail", "detected", "other"),
             text = c("node", "verdict", "why"), wrap = "why")
}

acceptance_provenance <- function(result) {
  infos <- unname(result$acceptance$launches)
  of <- function(key) cells_of(infos, function(info) info[[key]])
  html_table(list(launch = of("launch"), version = of("version"), ranks = of("ranks"), nodes = of("nodes"), started = of("started_utc"), ended = of("ended_utc"),
                  end = cells_of(infos, function(info) show_json(info$ended, "died")), command = vapply(infos, function(info) paste(unlist(info$command), collapse = " "), "")),
             text = c("launch", "version", "started", "ended", "end", "command"), wrap = "command")
}
