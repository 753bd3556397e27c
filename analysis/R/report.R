# The report of a campaign: the answer and its picture, then a section per question.

#' Write a report
#'
#' One HTML file that needs nothing else, neither network nor scripts, and beside it each plot's data as CSV and its picture (SVG; PNG where
#' it has more than some thousand points, or svglite is not installed). A campaign of synchronised starts may hold one arm only: the report
#' then has no verdicts.
#'
#' @param campaign An `nl_campaign` from [read_campaign()] or an `nl_analysis`; or an `nl_acceptance_verdict` from [judge_acceptance()] or
#'   an `nl_comparison` from [compare_campaigns()], which have been judged: `alpha` and `margin` are then theirs.
#' @param file Character, length 1: the HTML file. It is written beside its place and renamed.
#' @param plots_dir Character, length 1: directory for pictures and CSV files, made if need be.
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
write_report <- function(campaign, file, plots_dir = files_beside(file), alpha = 0.01, margin = NULL) {
  if (inherits(campaign, "nl_acceptance_verdict")) return(write_acceptance_report(campaign, file, plots_dir))
  if (inherits(campaign, "nl_comparison")) return(write_comparison_report(campaign, file, plots_dir))
  check_report_file(file)
  analysis <- if (inherits(campaign, "nl_analysis")) campaign else report_analysis(campaign, alpha, margin)
  clear_plots_dir(plots_dir, plot_table()$name)
  analysis <- with_parts(analysis)
  write_page(report_page(analysis, write_figures(analysis, plots_dir), basename(plots_dir)), file)
}

# What tables and plots both need is found once.
with_parts <- function(analysis) {
  if (!is_clean(analysis)) analysis$location <- location_of(analysis)
  analysis$agent <- agent_of(analysis)
  led <- c("agent_answers", "agent_taken", "interruption_ns", "margin_answer")
  if (!is.null(analysis$agent$answers)) analysis[led] <- analysis$agent$analysis[led]
  analysis$panel_cells <- panel_cells(analysis$campaign$rows)
  analysis
}

files_beside <- function(file) paste0(sub("\\.html?$", "", file), "_files")

# Looked at before anything is computed: the first thing that cannot be is a place that cannot be written.
check_report_file <- function(file, option = "--out") {
  check_argument(is_text(file), "file", file, "one file name")
  dir <- dirname(file)
  check_argument(dir.exists(dir), "file", file, "a file in a directory that exists")
  # A trial says more than permissions do: of root, of file systems that are read-only or far away.
  trial <- tempfile(".noiselab.", dir)
  on.exit(unlink(trial))
  if (!tryCatch(suppressWarnings(file.create(trial)), error = function(e) FALSE)) abort_usage("cannot write in '", dir, "': ", option,
      " FILE writes the report elsewhere")
}

report_analysis <- function(campaign, alpha, margin = NULL) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  one_arm <- length(unique(campaign$rows[["arm"]])) == 1
  if (one_arm && any(vapply(campaign$launches, start_mode, "") != "loop")) return(clean_analysis(campaign, alpha))
  if (one_arm) check_arms(campaign)
  analyze_campaign(campaign, alpha = alpha, margin = margin)
}

# The picture of the answer is the first of these that there is, each section's the first of its own.
answer_plots <- c("intervals", "treatments", "dose", "forest", "lateness")
agent_plots <- c("intervals", "forest")
lead_plots <- list(
  slower = c("forest", "tail"), cpu = c("agent-tasks", "preempted"), seen = "power", where = c("nodes", "lateness"),
  trust = c("launches", "trace")
)

report_page <- function(analysis, figures, files_dir) {
  lead <- utils::head(intersect(if (has_agent(analysis$campaign)) agent_plots else answer_plots, names(figures)), 1)
  figure <- function(name) if (length(name) > 0) figure_tag(figures[[name]], files_dir)
  rest <- figures[setdiff(names(figures), lead)]
  ask <- function(id, title, sentence, body = NULL, ...) {
    mine <- names(rest)[vapply(rest, function(one) one$asks == id, TRUE)]
    wanted <- setdiff(lead_plots[[id]], if (!several_nodes(analysis)) "nodes")
    first <- c(intersect(wanted, mine), mine)[1]
    more <- setdiff(mine, first)
    page_section(id, title, sentence, if (!is.na(first)) figure(first), body,
                 c(list(...), lapply(more, function(name) details_tag(figures[[name]]$question, figure(name)))))
  }
  checks <- trust_checks(analysis)
  html_page(
    if (has_agent(analysis$campaign)) paste("What", join_words(agent_names(analysis)), "costs") else "OS noise and synchronised codes",
    report_where(analysis$campaign), report_answer(analysis), report_alarms(analysis), figure(lead),
    if (is_clean(analysis)) list(
      ask("where", "Which rank or node?", where_sentence(analysis), report_starts(analysis$campaign)),
      ask("trust", "Can the run be trusted?", trust_sentence(checks), trust_table(checks), details_tag("Notes", notes_list(analysis$notes)),
          other_figures(rest, c("where", "trust"), figure)),
      again_section(analysis)
    ) else list(
      ask("slower", "Did it slow down?", slower_sentence(analysis), list(slowdown_table(analysis), refused_fold(analysis)),
          details_tag("Against the margin", part_tags(margin_part(analysis))), details_tag("Treatments side by side", treatments_of(analysis)),
          report_sweep(analysis),
          report_replay(analysis), details_tag("All verdicts, by every channel", verdict_tags(analysis))),
      ask("cpu", "What took the CPU?", cpu_sentence(analysis), NULL, report_agent_fold(analysis), report_counters(analysis),
          details_tag("Amplification and cost of an interruption", lapply(cost_parts(analysis), part_tags)),
          details_tag("The load that was delivered", certificate_table(analysis$campaign), burst_table(analysis$campaign))),
      ask("seen", "What could have been seen?", seen_sentence(analysis), NULL,
          details_tag("Thresholds: the smallest level that shows", part_tags(threshold_part(analysis)))),
      ask("where", "Which rank or node?", where_sentence(analysis), if (several_nodes(analysis)) location_section(analysis$location),
          details_tag("Synchronised starts", report_starts(analysis$campaign))),
      ask("trust", "Can the run be trusted?", trust_sentence(checks), trust_table(checks),
          details_tag("All notes", notes_list(analysis$notes))),
      again_section(analysis)
    )
  )
}

# Plots of questions that a page does not ask.
other_figures <- function(figures, asked, figure) {
  names <- names(figures)[!vapply(figures, function(one) one$asks %in% asked, TRUE)]
  lapply(names, function(name) details_tag(figures[[name]]$question, figure(name)))
}

treatments_of <- function(analysis) if (several_treatments(analysis)) treatment_tags(analysis)

again_section <- function(analysis) {
  page_section("again", "Where it comes from, and how to repeat it",
               sprintf("Measured on %s, by noiselab %s; these commands make it again.", report_where(analysis$campaign),
                       join_words(unique(vapply(analysis$campaign$launches, function(info) show_json(info$version), "")))),
               NULL, reproduce(analysis), list(details_tag("Machine, settings and software of every launch", provenance_table(analysis$campaign))))
}
