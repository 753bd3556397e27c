# The front end of noiselab compare.

# A function, because option() is in a file that is read later.
compare_options <- function() {
  c(
    list(
      option("margin", "PERCENT",
             "is the clean time (of an agent: its slowdown) within this margin? Decides the exit status"),
      option("alpha", "P", "two-sided level of slower/faster, one-sided of the margin (default 0.01)"),
      option("column", "NAME",
             "files of values: the column of a CSV file or of OMB's tables, or ReFrame's variable"),
      option(
        "better", "WHICH",
        "files of values: is lower or higher better (default: lower; higher where the unit ends in /s)"
      ),
      option("table", "NAME", "the table --csv prints: estimates or rows (all figures of each row)")
    ),
    usual_options("all", "json", "csv", "power", "out", "help")
  )
}

compare_help <- function() {
  help_text(
    c("Usage: noiselab compare [OPTIONS] A B", "       noiselab compare [OPTIONS] A.csv B.csv"),
    c(
      "Compares two campaigns (directories of launches), B against A: before and after an upgrade, one node",
      paste0("against another. The launch is the unit, so both need two launches or more. Two acceptance ",
             "campaigns are"),
      "compared figure by figure and node by node; --margin then applies to every figure.",
      "",
      paste0("Two files of values that other programs measured, one a run: a column of numbers, CSV with a ",
             "header, tables"),
      paste0("of OMB (one after the other, a run each), hyperfine's --export-json, a run report or perflog ",
             "of ReFrame. An"),
      paste0("exact permutation test decides. If the runs are too few for a verdict, it prints how many are ",
             "needed.")
    ),
    compare_options(),
    c("Families (Holm's correction is over the rows of one):",
      sprintf("  %-14s %s", names(comparison_families), vapply(comparison_families, `[[`, "", "question")),
      "",
      "Exit status: 0 it worked, or the margin is kept (or B is faster); 1 slower by more than the margin;",
      "2 wrong usage, nothing to compare, or a damaged file; 3 the margin is inconclusive, or the data",
      "cannot answer; 70 a bug.")
  )
}

run_compare <- function(dirs, values, form) {
  if (length(dirs) != 2) abort_usage("wanted two directories, A and B, got ", length(dirs), " (try --help)")
  is_file <- file.exists(dirs) & !dir.exists(dirs)
  if (all(is_file)) return(run_compare_values(dirs, values, form))
  if (any(is_file)) {
    abort_usage("'", dirs[is_file], "' is a file and '", dirs[!is_file],
                "' is not: give two campaigns, or two files of values")
  }
  for (name in c("column", "better")) {
    if (!is.null(values[[name]])) abort_usage("--", name, " is for files of values; these are directories")
  }
  table_option(values, estimates_or_rows)
  o <- tested_options(values)
  if (all(dir.exists(dirs)) && length(unique(normalizePath(dirs))) == 1) {
    abort_usage("A and B are the same directory, '", dirs[1], "': give two campaigns")
  }
  accept <- vapply(dirs, has_acceptance, TRUE)
  if (all(accept)) return(run_compare_acceptance(dirs, values, form, o$alpha, o$power, o$margin))
  if (any(accept)) {
    abort_usage("'", dirs[accept], "' is an acceptance campaign and '", dirs[!accept],
                "' is not: nothing to compare")
  }
  sides <- lapply(dirs, read_campaign, arms = "any")
  comparison <- compare_campaigns(sides[[1]], sides[[2]], o$margin, o$alpha, o$power)
  comparison$busy <- busy_sides(sides[[1]], sides[[2]])
  comparison$agents <- agents_changed(sides[[1]], sides[[2]], o$alpha)
  notes <- c(comparison$busy, comparison$notes)
  print_answer(
    answered(
      form,
      values$table,
      pick(comparison, c("alpha", "power", "margin_percent", "answer", "sides", "differs")),
      list(estimates = comparison_estimates(comparison), rows = comparison$rows,
           agents = comparison$agents$rows),
      notes,
      comparison_parts(comparison),
      comparison_view(comparison, dirs),
      comparison$notes,
      if (!is.na(comparison$answer)) comparison$answer,
      program = "noiselab-compare"
    ),
    values
  )
}

# noiselab compare of two files of values.
run_compare_values <- function(files, values, form) {
  if (normalizePath(files[1]) == normalizePath(files[2])) {
    abort_usage("A and B are the same file, '", files[1], "'")
  }
  if (!is.null(values$better) && !values$better %in% c("lower", "higher")) {
    abort_usage("--better: '", values$better, "' is not lower or higher")
  }
  table_option(values, estimates_or_rows)
  o <- tested_options(values)
  sides <- lapply(files, read_values, values$column)
  comparison <- compare_values(sides[[1]], sides[[2]], o$margin, o$alpha, o$power, values$better)
  print_answer(
    answered(form, values$table,
             pick(comparison, c("kind", "alpha", "power", "margin_percent", "answer", "sides")),
             list(estimates = value_estimates(comparison), rows = comparison$rows), comparison$notes,
             values_parts(comparison), values_view(comparison, files), comparison$notes,
             if (!is.na(comparison$answer)) comparison$answer, program = "noiselab-compare"),
    values
  )
}

# noiselab analyze acceptance.

# NULL, a percentage by which a node may be worse than the others, or what the noise may cost many nodes:
# `percent`, `nodes`, `every_s`, `unseen_s` (the longest burst that may come and was not seen).
acceptance_margin <- function(text) {
  asked <- margin_request(text)
  if (isTRUE(asked$at_scale)) asked[c("percent", "nodes", "every_s", "unseen_s")] else asked$percent
}

analyze_acceptance <- function(dirs, values, form) {
  alpha <- alpha_option(values$alpha)
  margin <- acceptance_margin(values$margin)
  if (length(dirs) == 0 && length(intersect(c("limits", "classes"), names(values))) > 0) {
    return(c(
      if (!is.null(values$limits)) {
        sprintf("%s: %d limit(s)", values$limits, nrow(read_limits(values$limits)))
      },
      if (!is.null(values$classes)) {
        sprintf("%s: %d node(s)", values$classes, NROW(read_classes(values$classes)))
      }
    ))
  }
  if (length(dirs) == 1 && !isTRUE(values[["write-limits"]])) {
    values <- as_asked(values, dirs, c("limits", "classes", "reference", "margin"))
    margin <- acceptance_margin(values$margin)
  }
  if (length(dirs) == 0) {
    if (isTRUE(values[["write-limits"]])) return(limits_template())
    abort_usage("acceptance: no DIR given (try --help)")
  }
  if (isTRUE(values$lines) && form != "text") abort_usage("--lines and --", form, " exclude each other")
  if (length(dirs) > 1 && !any(vapply(dirs, is_launch_dir, TRUE)) && !isTRUE(values[["write-limits"]])) {
    return(analyze_trend(dirs, values, form, alpha, margin))
  }
  table_option(values, acceptance_tables)
  result <- judge_dirs(dirs, values, alpha, margin)
  if (isTRUE(values[["write-limits"]])) return(limits_template(result))
  write <- list(openmetrics = openmetrics_lines, junit = acceptance_junit, reframe = reframe_references)
  for (what in intersect(names(write), names(values$write))) {
    write_output(write[[what]](result), values$write[[what]])
  }
  if (!is.null(values$write$nodes)) write_node_files(result, values$write$nodes)
  answered(
    form,
    values$table,
    acceptance_head(result),
    acceptance_data(result),
    result$notes,
    format_acceptance(result),
    if (isTRUE(values$lines)) {
      c(
        sprintf(
          "%s: %s",
          c("verdict", "self_check", "judged", "complete", "asked"),
          c(result$verdict, result$self_check$verdict, result$judged, if (result$complete) "yes" else "no",
            if (length(result$asked) > 0) "yes" else "no")
        ),
        acceptance_lines(result)
      )
    } else {
      acceptance_view(result, dirs)
    },
    c(result$answer, result$notes),
    if (length(result$asked) > 0 || result$verdict == "fail") result$verdict,
    list(
      comparisons = result$comparisons,
      histograms = if (identical(values$table, "histograms")) {
        node_histograms(result$acceptance)
      }
    )
  )
}

# Several campaigns: each by itself, and what changed from night to night.
analyze_trend <- function(dirs, values, form, alpha, margin) {
  for (name in c("lines", "write")) {
    if (length(values[[name]]) > 0) {
      abort_usage("--", name, " is of one campaign, and ", length(dirs), " are given")
    }
  }
  table_option(values, trend_tables)
  result <- trend_of(dirs, values, alpha, margin)
  answered(
    form, values$table,
    list(answer = paste(result$answer, collapse = " "), verdict = result$verdict, alpha = result$alpha),
    result[trend_tables], result$notes, format_trend(result), trend_view(result, dirs), NULL, result$verdict
  )
}

trend_of <- function(dirs, values, alpha, margin) {
  acceptance_trend(lapply(dirs, judge_dirs, values, alpha, margin, judged_by_options(values)), alpha)
}

# Files are read once, however many campaigns are judged by them.
judged_by_options <- function(values) {
  list(
    limits = if (!is.null(values$limits)) read_limits(values$limits),
    reference = if (!is.null(values$reference)) read_acceptance(values$reference),
    classes = if (!is.null(values$classes)) read_classes(values$classes),
    known = if (!is.null(values[["known-bad"]])) {
      read_known_bad(values[["known-bad"]])
    }
  )
}

judge_dirs <- function(dirs, values, alpha, margin, parsed = judged_by_options(values)) {
  acceptance <- read_acceptance(dirs)
  if (!is.null(parsed$known)) acceptance <- leave_out(acceptance, parsed$known)
  judge_acceptance(acceptance, parsed$limits, parsed$reference, alpha, margin, values$limits %||% "limits",
                   parsed$classes)
}

has_acceptance <- function(dir) dir.exists(dir) && length(find_launches(dir, program = "noiselab-accept")) > 0

# noiselab compare of two acceptance campaigns.
run_compare_acceptance <- function(dirs, values, form, alpha, power, margin) {
  comparison <- compare_acceptance(read_acceptance(dirs[1]), read_acceptance(dirs[2]), margin, alpha, power)
  print_answer(
    answered(
      form,
      values$table,
      list(answer = comparison$answer, alpha = comparison$alpha, margin_percent = margin,
           verdict = comparison$verdict),
      list(estimates = acceptance_change_estimates(comparison), rows = comparison$rows),
      comparison$notes,
      format_changes(comparison),
      changes_view(comparison, dirs),
      c(comparison$answer, comparison$notes),
      if (!is.null(margin)) comparison$verdict,
      program = "noiselab-compare"
    ),
    values
  )
}
