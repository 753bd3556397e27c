# The front ends: options in, text out, exit status back. Nothing else in the package prints.

option <- function(name, value = NA_character_, help) list(name = name, value = value, help = help)

analyze_options <- list(
  option("json", help = "print JSON"),
  option("csv", help = "print the verdicts as CSV"),
  option("table", "NAME", paste("the table --csv prints:", paste(csv_tables, collapse = ", "))),
  option("alpha", "P", "one-sided level of the tests (default 0.01); intervals have 1 - P"),
  option("channel", "NAMES", "channels to analyze, separated by commas (default: all)"),
  option("out", "FILE", "write there instead of to stdout"),
  option("help", help = "print this help")
)

report_options <- list(
  option("out", "FILE", "the HTML file (default: report.html in the first DIR)"),
  option("alpha", "P", "one-sided level of the tests (default 0.01); intervals have 1 - P"),
  option("help", help = "print this help")
)

# Options and operands in any order; --name value or --name=value; -- ends the options.
parse_arguments <- function(args, options) {
  values <- list()
  operands <- character()
  names_known <- vapply(options, `[[`, "", "name")
  i <- 1
  while (i <= length(args)) {
    arg <- args[i]
    if (arg == "--") {
      operands <- c(operands, args[-seq_len(i)])
      break
    }
    if (arg == "-h") arg <- "--help"
    if (!startsWith(arg, "-") || arg == "-") {
      operands <- c(operands, arg)
    } else {
      name <- sub("^--", "", sub("=.*", "", arg))
      at <- match(name, names_known)
      if (!startsWith(arg, "--") || is.na(at)) {
        abort_usage("unknown option '", sub("=.*", "", arg), "' (try --help)")
      }
      takes_value <- !is.na(options[[at]]$value)
      if (grepl("=", arg, fixed = TRUE)) {
        if (!takes_value) abort_usage("--", name, " takes no value (got '", arg, "')")
        values[[name]] <- sub("^[^=]*=", "", arg)
      } else if (takes_value) {
        i <- i + 1
        if (i > length(args)) abort_usage("--", name, " needs a value: ", options[[at]]$help)
        values[[name]] <- args[i]
      } else {
        values[[name]] <- TRUE
      }
    }
    i <- i + 1
  }
  list(values = values, operands = operands)
}

help_text <- function(usage, about, options, more) {
  left <- vapply(options, function(o) {
    paste0("  --", o$name, if (is.na(o$value)) "" else paste0(" ", o$value))
  }, "")
  c(usage, "", about, "", "Options:", paste(format(left), vapply(options, `[[`, "", "help"), sep = "  "),
    "", more)
}

exit_help <- c(
  "Exit status: 0 it worked, whatever was found; 2 wrong usage, environment or a damaged file;",
  "3 the data cannot answer (empty campaign, one arm only, no complete pair); 70 a bug."
)

analyze_help <- function() {
  about <- channel_table()
  help_text(
    c("Usage: noiselab analyze [OPTIONS] DIR...", "       noiselab analyze [OPTIONS] summary FILE.csv"),
    c("Prints the verdict table of a campaign: DIR is a campaign or a launch, several are analyzed",
      "together. With 'summary', judges a table of mean, SD and n (columns table, config, op, bytes,",
      "level_percent, mean_s, sd_s, n) by the published rules P and N, Welch's test and Holm."),
    analyze_options,
    c("Channels:", sprintf("  %-7s %s [%s]", about$name, about$question, about$formula), "", exit_help)
  )
}

report_help <- function() {
  about <- plot_table()
  help_text(
    "Usage: noiselab report [OPTIONS] DIR...",
    c("Writes one self-contained HTML report of a campaign and prints its path; beside it a directory",
      "<name>_files with each plot as PNG and its data as CSV."),
    report_options, c("Plots:", sprintf("  %-9s %s", about$name, about$title), "", exit_help)
  )
}

alpha_option <- function(text) {
  if (is.null(text)) return(0.01)
  value <- suppressWarnings(as.numeric(text))
  if (!is_number(value, 1e-4, 0.5)) {
    abort_usage("--alpha: '", text, "' is not a probability above 0.0001 and below 0.5 (try 0.01)")
  }
  value
}

table_option <- function(values) {
  if (is.null(values$table)) return("verdicts")
  if (!isTRUE(values$csv)) abort_usage("--table needs --csv (JSON has all tables)")
  if (!values$table %in% csv_tables) {
    abort_usage("--table: '", values$table, "' is not a table (try ", paste(csv_tables, collapse = ", "), ")")
  }
  values$table
}

channel_option <- function(text) {
  if (is.null(text)) return(NULL)
  wanted <- strsplit(text, ",", fixed = TRUE)[[1]]
  unknown <- setdiff(wanted, names(channels))
  if (length(wanted) == 0 || length(unknown) > 0) {
    abort_usage("--channel: '", c(unknown, text)[1], "' is not a channel (try ",
                paste(names(channels), collapse = ","), ")")
  }
  wanted
}

#' Front ends
#'
#' What `noiselab analyze` and `noiselab report` run.
#'
#' @param args Character: the command line arguments.
#' @return Integer, length 1: the exit status (0 worked; 2 usage, environment or damaged input; 3 the
#'   data cannot answer; 70 an unexpected failure). Data go to stdout, messages to stderr.
#' @examples
#' file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
#' main_analyze(c("summary", file, "--csv"))
#' @export
main_analyze <- function(args = commandArgs(TRUE)) {
  run_front_end("noiselab-analyze", function() {
    parsed <- parse_arguments(args, analyze_options)
    values <- parsed$values
    if (isTRUE(values$help)) return(writeLines(analyze_help()))
    if (length(parsed$operands) == 0) abort_usage("no DIR given (try --help)")
    if (isTRUE(values$json) && isTRUE(values$csv)) abort_usage("--json and --csv exclude each other")
    form <- if (isTRUE(values$json)) "json" else if (isTRUE(values$csv)) "csv" else "text"
    alpha <- alpha_option(values$alpha)
    table <- table_option(values)
    lines <- if (parsed$operands[1] == "summary") {
      analyze_summary(parsed, form)
    } else {
      analyze_dirs(parsed$operands, form, alpha, channel_option(values$channel), table)
    }
    write_output(lines, values$out)
  })
}

analyze_summary <- function(parsed, form) {
  if (length(parsed$operands) != 2) {
    abort_usage("summary: wanted one FILE.csv, got ", length(parsed$operands) - 1)
  }
  if (!is.null(parsed$values$channel)) abort_usage("--channel does not apply to summary tables")
  if (!is.null(parsed$values$table)) abort_usage("--table does not apply to summary tables")
  if (!is.null(parsed$values$alpha)) abort_usage("--alpha does not apply to summary: rules P and N are defined at 99 %")
  judged <- judge_summary(read_summary(parsed$operands[2]))
  switch(form, json = summary_json(judged), csv = summary_csv(judged), format_summary(judged))
}

analyze_dirs <- function(dirs, form, alpha, wanted, table) {
  analysis <- analyze_campaign(read_campaign(dirs), alpha = alpha, channels = wanted)
  if (form == "csv") say_notes("noiselab-analyze", analysis$notes)
  switch(form, json = verdicts_json(analysis), csv = verdicts_csv(analysis, table),
         format_verdicts(analysis))
}

#' @rdname main_analyze
#' @export
main_report <- function(args = commandArgs(TRUE)) {
  run_front_end("noiselab-report", function() {
    parsed <- parse_arguments(args, report_options)
    if (isTRUE(parsed$values$help)) return(writeLines(report_help()))
    dirs <- parsed$operands
    if (length(dirs) == 0) abort_usage("no DIR given (try --help)")
    alpha <- alpha_option(parsed$values$alpha)
    campaign <- read_campaign(dirs)
    file <- parsed$values$out %||% file.path(dirs[1], "report.html")
    writeLines(write_report(campaign, file, alpha = alpha))
  })
}

say_notes <- function(program, notes) {
  if (length(notes) > 0) writeLines(paste0(program, ": note: ", unique(notes)), stderr())
}

write_output <- function(lines, file) {
  if (is.null(file)) return(writeLines(lines))
  write_atomically(file, function(path) writeLines(lines, path))
}

# Written beside its place and renamed, so that a failure leaves no half file and no damaged old one.
write_atomically <- function(file, write) {
  if (!dir.exists(dirname(file))) abort_usage("'", dirname(file), "' is not a directory")
  if (dir.exists(file)) abort_usage("'", file, "' is a directory, wanted a file name")
  temporary <- tempfile(paste0(".", basename(file), "."), dirname(file))
  on.exit(unlink(temporary))
  opened <- tryCatch(suppressWarnings(file.create(temporary)), error = function(e) FALSE)
  if (!opened) abort_usage("cannot write in '", dirname(file), "'")
  write(temporary)
  Sys.chmod(temporary, "0644", use_umask = TRUE)
  if (!suppressWarnings(file.rename(temporary, file))) abort_usage("cannot write '", file, "'")
  invisible(file)
}

run_front_end <- function(program, work) {
  fail <- function(status) function(e) {
    text <- gsub("\\s*\n\\s*", " ", conditionMessage(e))
    writeLines(paste0(program, ": ", text), stderr())
    status
  }
  tryCatch(
    withCallingHandlers({
      work()
      0L
    }, warning = function(w) {
      say_notes(program, first_line(conditionMessage(w)))
      invokeRestart("muffleWarning")
    }),
    nl_error_data = fail(3L), nl_error = fail(2L), error = fail(70L)
  )
}
