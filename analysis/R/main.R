# The front ends: options in, text out, exit status back. Nothing else in the package prints.

starts_tables <- c("starts", "ranks", "nodes", "clocks", "raw")

# A function, because it names the rows of tables in files that are read later.
analyze_options <- function() {
  c(
    usual_options("all", "json", "csv", "alpha", "power"),
    list(
      option("table", "NAME", paste("the table --csv prints:", paste(csv_tables, collapse = ", "))),
      option("channel", "NAMES", "channels to analyze, separated by commas (default: all without *)"),
      option(
        "margin",
        "PERCENT",
        paste0("is every slowdown below this margin? Decides the exit status (agent, acceptance: also ",
               "1%:nodes=1000,every=1ms, of many nodes)")
      ),
      option("level", "LEVELS",
             "judge and print these levels only (percent of one CPU, separated by commas)"),
      option("mixed", help = "judge launches together although MPI library, kernel or version differ"),
      option("spread", "PERCENT",
             "stability: largest scatter over launches, by its bound, that is reproducible (default 5)"),
      option("period", "TIMES",
             "periodic: describe these periods in any case, such as 1s,100ms (may be given again)",
             again = TRUE),
      option(
        "limits",
        "FILE",
        paste0("acceptance: limits of your own (--write-limits prints a template); without a campaign they ",
               "are only checked")
      ),
      option("classes", "FILE",
             "acceptance: classes of nodes that may be compared, a line CLASS NODE... each"),
      option("reference", "DIR", "acceptance: learn limits from this campaign (may be given again)",
             again = TRUE),
      option(
        "write-limits",
        help = "acceptance: print a commented template of limits, with the campaign's figures if one is given"
      ),
      option("known-bad", "FILE", "acceptance: nodes that are left out, a line NODE DATE REASON each"),
      option("lines", help = "acceptance: print lines `name: value unit`"),
      option(
        "arm", "NAME",
        paste0("periodic: the condition to analyse, ", paste(periodic_arms, collapse = ", "),
               " (default off)")
      ),
      option("trim", "SHARE", "mpiperf: share of the starts to drop (default 0.25; 0: none)"),
      option(
        "write",
        "WHAT=FILE",
        paste(
          paste0("write this as well (may be given again): acceptance: junit (XML), openmetrics (Prometheus ",
                 "text), reframe (references for ReFrame),"),
          paste0("nodes=DIR (a file for each); profile: arrivals (how late ranks arrived, for ",
                 "noiselab-detect --arrival trace); advise: rules (a file"),
          "of Open MPI); for noiselab run advise: plan, worth"
        ),
        again = TRUE
      ),
      option("check-options", help = "only check these options, before anything is measured; no DIR is read")
    ),
    usual_options("out", "help")
  )
}

report_options <- function() {
  c(
    list(
      option("out", "FILE", "the HTML file (default: report.html in the first DIR)"),
      option("margin", "PERCENT", "judge every slowdown against this margin, too"),
      option("limits", "FILE", "acceptance campaigns: limits of your own"),
      option("classes", "FILE", "acceptance campaigns: classes of nodes that may be compared"),
      option("known-bad", "FILE",
             "acceptance campaigns: nodes that are left out, a line NODE DATE REASON each"),
      option("reference", "DIR", "acceptance campaigns: learn limits from this one (may be given again)",
             again = TRUE)
    ),
    usual_options("alpha", "help")
  )
}

report_exit_help <- c(
  "Exit status: 0 the report was written, whatever it says; 2 wrong usage, environment or a damaged file;",
  "3 the data cannot answer (empty campaign, one arm only, no complete pair); 70 a bug."
)

exit_help <- c(
  paste0("Exit status: 0 it worked, whatever was found (with --margin: every slowdown is below it); 1 with ",
         "--margin:"),
  "one is above; 2 wrong usage, environment or a damaged file; 3 the data cannot answer (empty campaign,",
  "one arm only, no complete pair, --margin undecided); 70 a bug."
)

analyze_help <- function() {
  words <- analyze_words()
  more <- vapply(words, function(w) paste("       noiselab analyze [OPTIONS]", w$name, w$operands), "")
  help_text(
    c("Usage: noiselab analyze [OPTIONS] DIR...", more),
    c("Prints the verdict table of a campaign: DIR is a campaign or a launch, several are analyzed",
      "together. With a word before them (a directory of that name is ./word):", "",
      unlist(lapply(words, function(w) {
        lines <- c(
          w$help,
          if (!is.null(w$tables)) strwrap(paste0("Tables for --csv: ", paste(w$tables, collapse = ", ")), 94)
        )
        sprintf("  %-15s %s", c(w$name, rep("", length(lines) - 1)), lines)
      }))),
    analyze_options(),
    c("Channels (*: only when asked for):",
      vapply(names(channels), function(name) {
        sprintf("  %-10s %s [%s]", paste0(name, if (channels[[name]]$asked) "*"), channels[[name]]$question,
                channels[[name]]$formula)
      }, ""), "", exit_help)
  )
}

report_help <- function() {
  about <- plot_table()
  about <- about[!about$of %in% c("nights", "scale"), ]
  help_text(
    "Usage: noiselab report [OPTIONS] DIR...",
    c("Writes one self-contained HTML report of a campaign and prints its path; beside it a directory",
      "<name>_files with each plot as PNG and its data as CSV."),
    report_options(), c("Plots:", sprintf("  %-15s %s", about$name, about$title), "", report_exit_help)
  )
}

campaign_options <- c("table", "power", "alpha", "channel", "margin", "level", "mixed")

run_analyze <- function(operands, values, form) {
  if (isTRUE(values[["check-options"]])) return(check_options(operands, values))
  if (length(operands) == 0) abort_usage("no DIR given (try --help)")
  words <- analyze_words()
  names_known <- vapply(words, `[[`, "", "name")
  at <- match(operands[1], names_known)
  # A slip in the word, not a directory of that name.
  if (is.na(at) && !file.exists(operands[1]) && nzchar(meant <- did_you_mean(operands[1], names_known, ""))) {
    abort_usage("'", operands[1], "' is neither a directory nor an analysis", meant)
  }
  lines <- if (!is.na(at)) run_word(words[[at]], operands[-1], values, form) else {
    only_options(values, "a campaign", campaign_options)
    analyze_dirs(operands, values, form)
  }
  if (!is.null(lines)) print_answer(lines, values)
}

# What can stand before the operands: `options` that mean something to it (beside json, csv and out),
# `tables` that --csv --table prints, the first by itself, what it `writes` (--write), `margin`, which reads
# its margin (else one of one node), and `run`, which gets operands, values and the form of the output and
# returns lines, or NULL when it has written them itself. Those that answer an experiment of their own stand
# in the files of their analyses (`own_words()`). A function, because the entries refer to functions of files
# that are read later.
analyze_words <- function() {
  c(list(
    list(
      name = "summary",
      operands = "FILE.csv",
      options = "margin",
      run = analyze_summary,
      help = c("a table of mean, SD and n (columns table, config, op, bytes, level_percent, mean_s,",
               "sd_s, n), judged by the published rules P and N, Welch's test and Holm")
    ),
    list(
      name = "starts",
      operands = "DIR...",
      tables = starts_tables,
      run = analyze_starts,
      help = c(
        paste0("how well synchronised starts began, who was late, what the clocks did (table raw: every ",
               "start of every"),
        "rank, of launches with --starts METHOD:raw=FILE)"
      )
    ),
    list(
      name = "mpiperf",
      operands = "DIR...",
      options = "trim",
      run = analyze_mpiperf,
      help = c("the report that MPIPerf publishes, from launches with raw starts, and after how many starts",
               "its stop rules would have stopped")
    ),
    list(
      name = "advise",
      operands = "DIR...",
      options = c("alpha", "margin"),
      writes = c("rules", "plan"),
      run = analyze_advise,
      help = c(
        paste0("which collective algorithm of the MPI library is the fastest here, quiet and under noise, ",
               "and how to select it"),
        "(launches of noiselab run advise); status 3: undecided somewhere"
      )
    ),
    list(
      name = "equivalent",
      operands = "TRACE|DIR...",
      run = analyze_equivalent,
      help = c(
        "the options of noiselab-gen that imitate a recorded agent: level, period, pattern, and how closely",
        "they do (a trace of noiselab record, or launches with the bursts of an agent)"
      )
    ),
    list(
      name = "setting",
      operands = "DIR...",
      options = c("alpha", "power", "margin"),
      tables = c("estimates", "rows", "writing", "settings"),
      run = analyze_setting,
      help = c(
        paste0("a setting of the operating system against its reference (launches of noiselab run setting): ",
               "faster, slower, no"),
        paste0("difference beyond --margin, or undecided; then status 0: none is slower by more, 1: one is, ",
               "3: cannot tell")
      )
    ),
    list(
      name = "boots",
      operands = "DIR...",
      options = c("alpha", "margin"),
      run = analyze_boots,
      help = c(
        paste0("boots of two names against each other (launches of noiselab run setting --between-boots ",
               "NAME); the boot is"),
        "the unit; if there are too few for the exact test, it prints how many it needs"
      )
    ),
    list(
      name = "versions",
      operands = "DIR...",
      options = c("alpha", "margin"),
      writes = c("markdown", "junit"),
      tables = estimates_or_rows,
      run = analyze_versions,
      help = c(
        paste0("two versions of an agent in the same launches (noiselab run agent --against): does the new ",
               "one cost more, by bursts, by"),
        "other effects and in total; with --margin status 0: not by more, 1: by more, 3: cannot tell"
      )
    ),
    list(
      name = "replay",
      operands = "DIR...",
      options = c("alpha", "power", "margin"),
      tables = estimates_or_rows,
      run = analyze_replay,
      help = c(
        paste0("an agent and its replay by the generator side by side: is the slowdown the same? (--margin: ",
               "slowdowns that"),
        "differ by less count as the same; then status 0: the same, 1: not, 3: cannot tell)"
      )
    ),
    list(
      name = "counters",
      operands = "DIR...",
      options = "alpha",
      tables = c("causes", "changes"),
      run = analyze_counters,
      help = paste0("why the operation became slower: clock, cycles per instruction and cache traffic by ",
                    "arm (launches with likwid*.csv)")
    ),
    list(
      name = "nodes",
      operands = "DIR...",
      options = c("alpha", "power", "margin", "level"),
      tables = c("estimates", "nodes", "ranks"),
      run = analyze_nodes,
      help = c(
        "which node, and which rank, got the noise: extra preempted time of each place, with interval and",
        "limit (--margin: percent of one CPU)"
      )
    ),
    list(
      name = "periodic",
      operands = "DIR...",
      options = c("alpha", "period", "arm"),
      tables = "periods",
      run = analyze_periodic,
      help = c(
        "periods, duty, cost and phase of periodic noise (in launches with raw starts down to those of the",
        "kernel's tick)"
      )
    ),
    list(
      name = "acceptance",
      operands = "DIR...",
      run = analyze_acceptance,
      tables = c(acceptance_tables, trend_tables),
      options = c("alpha", "margin", "limits", "classes", "reference", "known-bad", "write-limits", "lines"),
      writes = c("junit", "openmetrics", "reframe", "nodes"),
      bare = TRUE,
      margin = acceptance_margin,
      help = c(
        paste0("is this cluster quiet and correct, and which node is not (launches of noiselab-accept); ",
               "status 0: pass, 1: fail,"),
        paste0("3: inconclusive. --margin: by how much a node may be worse. Several DIR: what changed from ",
               "night to night (tables"),
        paste0(paste(trend_tables, collapse = ", "), ")")
      )
    ),
    list(
      name = "profile",
      operands = "DIR",
      options = "alpha",
      writes = c("arrivals", "worth"),
      tables = profile_tables,
      run = analyze_profile,
      help = paste0("where a program spent its time, and who waited for whom (noiselab profile; of several ",
                    "runs the last)")
    ),
    list(
      name = "agent",
      operands = "DIR...",
      options = c("alpha", "margin"),
      tables = agent_csv_tables,
      run = analyze_agent,
      margin = agent_margin,
      help = c("the CPU time that an agent used and took from the ranks, and when; whether its account",
               "agrees with that of the ranks; who took the CPU")
    )
  ), unname(own_words()))
}

run_word <- function(word, operands, values, form) {
  only_options(values, word$name,
               c(word$options, if (!is.null(word$tables)) "table", if (!is.null(word$writes)) "write"))
  values$write <- files_option(values[["write"]], word$writes, word$name)  # `$` would find write-limits, too
  if (length(operands) == 0 && !isTRUE(word$bare)) {
    abort_usage(word$name, ": no ", sub("\\.\\.\\.$", "", word$operands), " given (try --help)")
  }
  table_option(values, word$tables)
  word$run(operands, values, form)
}

analyze_summary <- function(operands, values, form) {
  if (length(operands) != 1) abort_usage("summary: wanted one FILE.csv, got ", length(operands))
  judged <- judge_summary(read_summary(operands), margin_percent = margin_option(values$margin))
  answered(form, NULL, judged[names(judged) != "rows"], judged["rows"], NULL, summary_parts(judged),
           summary_view(judged, operands), answer = judged$answer)
}

analyze_starts <- function(operands, values, form) {
  if (identical(values$table, "raw")) return(write_raw_csv(operands, values$out))
  campaign <- read_campaign(operands, arms = "any")
  check_synchronised(campaign)
  answered(
    form,
    values$table,
    list(launches = texts(names(campaign$launches))),
    list(starts = start_quality(campaign), ranks = late_ranks(campaign), nodes = late_ranks(campaign, "node"),
         clocks = clock_runs(campaign)),
    starts_notes(campaign),
    starts_parts(campaign)[-1],
    starts_view(campaign, operands)
  )
}

analyze_nodes <- function(operands, values, form) {
  o <- tested_options(values)
  location <- locate_noise(keep_levels(read_campaign(operands), level_option(values$level)), o$alpha, o$power,
                           o$margin)
  answered(
    form,
    values$table,
    c(
      list(alpha = o$alpha, power = o$power, launches = texts(names(location$campaign$launches)),
           answer = texts(location$answer)),
      margin_head(o$margin, location$margin_answer)
    ),
    list(estimates = location_estimates(location), nodes = location$nodes, ranks = location$ranks),
    location$notes,
    location_parts(location),
    location_view(location, operands),
    c(location$answer, location$notes),
    location$margin_answer$answer
  )
}

# Straight to the file or to stdout, a few blocks at a time: raw files may be larger than memory.
write_raw_csv <- function(dirs, file) {
  write_to <- function(path) {
    first <- TRUE
    notes <- stream_starts(dirs, function(rows) {
      data.table::fwrite(without_levels(rows), path, append = nzchar(path) && !first, col.names = first,
                         na = "", quote = FALSE, scipen = 50, logical01 = TRUE, showProgress = FALSE)
      first <<- FALSE
    })
    say_notes("noiselab-analyze", notes)
    if (first) {
      abort_data("no start in a raw file of ", paste(dirs, collapse = " "),
                 ": run noiselab-detect with --starts window:raw=starts.bin")
    }
  }
  if (is.null(file)) write_to("") else write_atomically(file, write_to)
  NULL
}

analyze_mpiperf <- function(operands, values, form) {
  trim <- number_option("trim", values$trim, 0.25, -1e-300, 1,
                        "a share from 0 to below 1 (try 0.25, or 0 for none)")
  report <- mpiperf_report(operands, trim)
  notes <- attr(report, "notes")
  answered(form, NULL, list(trim = trim, remark = mpiperf_words(trim)), list(rows = report), notes,
           list(mpiperf_part(report)), mpiperf_view(report, trim, operands), c(mpiperf_words(trim), notes))
}

analyze_dirs <- function(dirs, values, form) {
  table <- table_option(values, csv_tables)
  wanted <- channel_option(values$channel)
  is_asked <- !is.null(values$margin)
  by_time <- is.null(wanted) || "time" %in% wanted
  if (is_asked && !by_time) abort_usage("--margin judges the channel time, which --channel leaves out")
  # what was asked of many nodes, noiselab analyze agent answers
  if (by_time && !is_asked && !isTRUE(agent_margin(campaign_asked(dirs)$margin)$at_scale)) {
    values <- as_asked(values, dirs, "margin")
  }
  o <- tested_options(values)
  campaign <- keep_levels(read_campaign(dirs), level_option(values$level))
  analysis <- analyze_campaign(campaign, alpha = o$alpha, power = o$power, channels = wanted,
                               margin = o$margin, mixed = isTRUE(values$mixed))
  if (has_agent(campaign) && !has_versions(campaign)) analysis <- with_agent_answers(analysis)
  analysis$mechanisms <- load_mechanisms(campaign, o$alpha)
  internal <- grepl("^raw_|^refused$", names(analysis$verdicts))
  answered(
    form,
    table,
    c(o[c("alpha", "power")], list(launches = texts(names(campaign$launches))),
      margin_head(o$margin, analysis$margin_answer), list(looks = analysis$looks)),
    c(list(estimates = campaign_estimates(analysis), verdicts = analysis$verdicts[!internal]),
      pick(analysis, c("thresholds", "amplification")),
      if (form == "json") list(mechanisms = analysis$mechanisms)),
    analysis$notes,
    format_verdicts(analysis),
    answer_view(analysis, all_command(dirs)) %||% format_verdicts(analysis),
    answer = if (is_asked) analysis$margin_answer$answer
  )
}

# The campaign with these levels only; the off rows stay.
keep_levels <- function(campaign, levels) {
  if (is.null(levels)) return(campaign)
  rows <- campaign$rows
  have <- sort(unique(rows[["level_requested_percent"]][rows[["arm"]] == "on"]))
  have <- have[has_level(have)]
  if (length(have) == 0) abort_usage("--level: the treatments of this campaign have no level")
  unknown <- levels[!vapply(levels, function(x) any(abs(have - x) < 1e-9), TRUE)]
  if (length(unknown) > 0) {
    abort_usage("--level: ", format_level(unknown[1]), " % was not run (there are ",
                paste(format_level(have), collapse = ", "), ")")
  }
  wanted <- vapply(have, function(x) any(abs(levels - x) < 1e-9), TRUE)
  off <- rows[["arm"]] == "off"
  near <- !off & rows[["level_requested_percent"]] %in% have[wanted]
  # Off rows whose pair has levels that are not wanted only go with them.
  key <- combine_keys(cell_key(rows), rows[["pair"]])
  campaign$rows <- rows[near | off & (key %in% key[near] | !key %in% key[!off]), ]
  for (table in c("ranks", "nodes", "counters")) {
    level <- campaign[[table]][["level_requested_percent"]]
    campaign[[table]] <- campaign[[table]][campaign[[table]][["arm"]] == "off" | level %in% have[wanted], ]
  }
  campaign
}

# A number is of one node; what is of many is for an agent's answer.
report_margin <- function(text) {
  asked <- agent_margin(text)
  if (isTRUE(asked$at_scale)) asked else asked$percent
}

run_report <- function(dirs, values, form) {
  if (length(dirs) == 0) abort_usage("no DIR given (try --help)")
  alpha <- alpha_option(values$alpha)
  values <- as_asked(
    values,
    dirs,
    if (all(vapply(dirs, has_acceptance, TRUE))) {
      c("limits", "classes", "reference", "margin")
    } else {
      "margin"
    }
  )
  margin <- if (all(vapply(dirs, has_acceptance, TRUE))) {
    acceptance_margin(values$margin)
  } else {
    report_margin(values$margin)
  }
  file <- values$out %||% file.path(dirs[1], "report.html")
  if (dir.exists(dirs[1])) check_report_file(file)
  if (all(vapply(dirs, has_acceptance, TRUE))) {
    given <- unlist(lapply(c("limits", "classes", "known-bad", "reference", "margin", "alpha"),
                           function(name) lapply(values[[name]], function(x) c(paste0("--", name), x))))
    return(writeLines(write_acceptance_report(judge_dirs(dirs, values, alpha, margin), file,
                                              options = given)))
  }
  if (!is.null(values$limits) || !is.null(values$reference)) {
    abort_usage("--limits and --reference are for acceptance campaigns")
  }
  if (campaign_program(dirs) == "noiselab-profile") {
    return(writeLines(write_profile_report(profile_of(dirs, alpha), dirs, profile_projection(dirs), file)))
  }
  campaign <- read_campaign(dirs, arms = "any")
  writeLines(write_report(campaign, file, alpha = alpha, margin = margin))
}

show_lines <- function(x, lines) {
  cat(as_lines(lines, list()), sep = "\n")
  invisible(x)
}

#' @export
print.nl_campaign <- function(x, ...) {
  cat(sprintf("noiselab campaign: %d launch(es), %d rows, operations: %s\n", length(x$launches),
              nrow(x$rows), paste(unique(x$rows[["operation"]]), collapse = ", ")))
  invisible(x)
}

#' @export
print.nl_analysis <- function(x, all = FALSE, ...) {
  show_lines(x, (if (!all) answer_view(x)) %||% format_verdicts(x))
}

channel_option <- function(text) names_option("channel", text, names(channels), "channel")

# `run` gets the operands, the values of the options and the form of the output (text, json or csv); it
# returns the exit status as an integer where it answered a question, anything else is 0. A function,
# because the entries refer to functions of files that are read later.
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
#' What the commands `noiselab analyze`, `noiselab report`, `noiselab plan`, `noiselab project`, `noiselab
#' plot` and `noiselab compare` call. Data go to stdout, messages to stderr.
#'
#' @param name Character, length 1: the program, such as `noiselab-analyze`.
#' @param args Character: its command line arguments.
#' @return Integer, length 1: the exit status (0 worked, or a margin is kept; 1 it is not; 2 usage,
#' environment or
#'   damaged input; 3 the data cannot answer, or not whether a margin is kept; 70 an unexpected failure).
#' @examples
#' file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
#' run_program("noiselab-analyze", c("summary", file, "--csv"))
#' @export
run_program <- function(name, args = character()) {
  check_argument(is_text(name) && name %in% names(programs()), "name", name,
                 paste(names(programs()), collapse = ", "))
  program <- programs()[[name]]
  run_front_end(name, function() {
    if (identical(args, "--list-tables")) return(writeLines(program_tables(name, program$options())))
    parsed <- parse_arguments(args, program$options())
    if (isTRUE(parsed$values$help)) return(writeLines(program$help()))
    form <- form_option(parsed$values) # refuses here, whether or not the program looks at it
    program$run(parsed$operands, parsed$values, form)
  })
}

# What shell completion and `noiselab help` know of a program, as the programs in C print it: type, name,
# value and help, divided by tabs.
program_tables <- function(name, options) {
  row <- function(type, name, value, help) paste(type, name, value, gsub("[\t\n]+", " ", help), sep = "\t")
  c(
    vapply(options,
           function(o) row("option", paste0("--", o$name), if (is.na(o$value)) "-" else o$value, o$help), ""),
    if (name == "noiselab-analyze") {
      vapply(analyze_words(), function(w) row("analysis", w$name, w$operands, paste(w$help, collapse = " ")),
             "")
    },
    if (name == "noiselab-plot") row("plot", plot_table()$name, "-", plot_table()$title)
  )
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
  tryCatch(withCallingHandlers({
      status <- work()
      if (is.integer(status)) status else 0L
    }, warning = function(w) {
      say_notes(program, trimws(sub("\n.*", "", conditionMessage(w))))
      invokeRestart("muffleWarning")
    }),
    nl_error_data = fail(3L), nl_error = fail(2L),
    # whoever read has gone, as head does: the status that a program in C has then. R's own words are
    # translated, the signal is not.
    error = function(e) if (grepl("SIGPIPE", conditionMessage(e), fixed = TRUE)) 141L else fail(70L)(e)
  )
}

analyze_profile <- function(operands, values, form) {
  if (length(operands) != 1) abort_usage("profile: wanted one DIR, got ", length(operands))
  if (!is.null(values$write$worth)) {
    cells <- program_cells(read_profile(operands))
    cells$left_out[cells$left_out == ""] <- NA # an empty field
    write_output(csv_lines(cells), values$write$worth)
    return(character())
  }
  report <- profile_report(read_profile(operands), alpha_option(values$alpha))
  if (!is.null(values$write$arrivals)) write_output(arrival_trace_lines(report), values$write$arrivals)
  if (form == "csv" && is.null(report[[values$table %||% profile_tables[1]]])) {
    abort_data("--table ", values$table, if (identical(values$table, "counters")) {
      ": no rank has counts of the kernel"
    } else {
      ": no synchronising call was sampled on all its ranks"
    })
  }
  view <- profile_view(report, operands)
  answered(
    form,
    values$table,
    list(answer = paste(view$sentences, collapse = " "), shares = as.list(report$shares),
         waiting = report$waiting, largest_waiting = report$largest),
    c(pick(report, profile_tables), list(projections = if (form == "json") scale_of_profile(report))),
    report$notes,
    profile_parts(report),
    view
  )
}
