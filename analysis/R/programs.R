# The programs of the package, and what all of them do alike: parse, help, say what failed, exit status.

# `run` gets the operands, the values of the options and the form of the output (text, json or csv); it returns the
# exit status as an integer where it answered a question, anything else is 0. A function, because the entries refer to
# functions of files that are read later.
programs <- function() list(
  "noiselab-analyze" = list(options = analyze_options, help = analyze_help, run = run_analyze),
  "noiselab-report" = list(options = report_options, help = report_help, run = run_report),
  "noiselab-plan" = list(options = plan_options, help = plan_help, run = run_plan),
  "noiselab-project" = list(options = project_options, help = project_help, run = run_project),
  "noiselab-plot" = list(options = plot_options, help = plot_help, run = run_plot),
  "noiselab-compare" = list(options = compare_options, help = compare_help, run = run_compare)
)

#' Run a program of the package
#'
#' What the commands `noiselab analyze`, `noiselab report`, `noiselab plan`, `noiselab project`, `noiselab plot` and `noiselab compare` call. Data go to
#' stdout, messages to stderr.
#'
#' @param name Character, length 1: the program, such as `noiselab-analyze`.
#' @param args Character: its command line arguments.
#' @return Integer, length 1: the exit status (0 worked, or a margin is kept; 1 it is not; 2 usage, environment or
#'   damaged input; 3 the data cannot answer, or not whether a margin is kept; 70 an unexpected failure).
#' @examples
#' file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
#' run_program("noiselab-analyze", c("summary", file, "--csv"))
#' @export
run_program <- function(name, args = character()) {
  check_argument(is_text(name) && name %in% names(programs()), "name", name, paste(names(programs()), collapse = ", "))
  program <- programs()[[name]]
  run_front_end(name, function() {
    if (identical(args, "--list-tables")) return(writeLines(program_tables(name, program$options())))
    parsed <- parse_arguments(args, program$options())
    if (isTRUE(parsed$values$help)) return(writeLines(program$help()))
    form <- form_option(parsed$values) # refuses here, whether or not the program looks at it
    program$run(parsed$operands, parsed$values, form)
  })
}

# What shell completion and `noiselab help` know of a program, as the programs in C print it: type, name, value and help, divided by tabs.
program_tables <- function(name, options) {
  row <- function(type, name, value, help) paste(type, name, value, gsub("[\t\n]+", " ", help), sep = "\t")
  c(vapply(options, function(o) row("option", paste0("--", o$name), if (is.na(o$value)) "-" else o$value, o$help), ""),
    if (name == "noiselab-analyze") vapply(analyze_words(), function(w) row("analysis", w$name, w$operands, paste(w$help, collapse = " ")),
                                           ""),
    if (name == "noiselab-plot") row("plot", plot_table()$name, "-", plot_table()$title))
}

# `work` returns the exit status as an integer where it answered a question; anything else is 0.
run_front_end <- function(program, work) {
  fail <- function(status) function(e) {
    # What R says is one line; what is wrong with a file has a line for each place.
    text <- if (inherits(e, "nl_error_several")) strsplit(conditionMessage(e), "\n", fixed = TRUE)[[1]] else
      gsub("\\s*\n\\s*", " ", conditionMessage(e))
    writeLines(paste0(program, ": ", text), stderr())
    status
  }
  tryCatch(
    withCallingHandlers({
      status <- work()
      if (is.integer(status)) status else 0L
    }, warning = function(w) {
      say_notes(program, first_line(conditionMessage(w)))
      invokeRestart("muffleWarning")
    }),
    nl_error_data = fail(3L), nl_error = fail(2L),
    # whoever read has gone, as head does: the status that a program in C has then. R's own words are translated, the signal is not.
    error = function(e) if (grepl("SIGPIPE", conditionMessage(e), fixed = TRUE)) 141L else fail(70L)(e)
  )
}
