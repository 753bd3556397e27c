# noiselab analyze acceptance.

analyze_acceptance <- function(dirs, values, form) {
  alpha <- alpha_option(values$alpha)
  margin <- margin_option(values$margin)
  limits <- if (!is.null(values$limits)) read_limits(values$limits)
  if (isTRUE(values[["check-limits"]])) {
    classes <- if (!is.null(values$classes)) read_classes(values$classes)
    if (is.null(limits) && is.null(values$classes)) abort_usage("--check-limits needs --limits FILE, or --classes FILE")
    return(c(if (!is.null(limits)) sprintf("%s: %d limit(s)", values$limits, nrow(limits)),
             if (!is.null(values$classes)) sprintf("%s: %d node(s)", values$classes, NROW(classes))))
  }
  if (length(dirs) == 1 && !isTRUE(values[["write-limits"]])) {
    values <- as_asked(values, dirs, c("limits", "classes", "reference", "margin"))
    margin <- margin_option(values$margin)
    limits <- if (!is.null(values$limits)) read_limits(values$limits)
  }
  if (length(dirs) == 0) {
    if (isTRUE(values[["write-limits"]])) return(limits_template())
    abort_usage("acceptance: no DIR given (try --help)")
  }
  if (isTRUE(values$lines) && form != "text") abort_usage("--lines and --", form, " exclude each other")
  if (isTRUE(values$reframe) && !isTRUE(values[["write-limits"]])) abort_usage("--reframe belongs to --write-limits")
  if (length(dirs) > 1 && !any(vapply(dirs, is_launch_dir, TRUE)) && !isTRUE(values[["write-limits"]])) return(analyze_trend(dirs, values,
      form, alpha, margin))
  table_option(values, acceptance_tables)
  result <- judge_dirs(dirs, values, alpha, margin)
  if (isTRUE(values[["write-limits"]])) return(if (isTRUE(values$reframe)) reframe_references(result) else limits_template(result))
  if (!is.null(values$openmetrics)) write_output(openmetrics_lines(result), values$openmetrics)
  if (!is.null(values[["nodes-dir"]])) write_node_files(result, values[["nodes-dir"]])
  if (!is.null(values$junit)) write_output(acceptance_junit(result), values$junit)
  answered(form, values$table, acceptance_head(result), acceptance_data(result), result$notes, format_acceptance(result), if (isTRUE(values$lines)) {
    c(sprintf("%s: %s", c("verdict", "self_check", "judged", "complete"),
              c(result$verdict, result$self_check$verdict, result$judged, if (result$complete) "yes" else "no")),
      acceptance_lines(result))
  } else acceptance_view(result, dirs), c(result$answer, result$notes), result$verdict,
  list(comparisons = result$comparisons, histograms = if (identical(values$table, "histograms")) node_histograms(result$acceptance)))
}

# Several campaigns: each by itself, and what changed from night to night.
analyze_trend <- function(dirs, values, form, alpha, margin) {
  for (name in c("lines", "junit", "nodes-dir", "openmetrics")) if (!is.null(values[[name]])) abort_usage("--", name,
      " is of one campaign, and ", length(dirs), " are given")
  table_option(values, trend_tables)
  result <- trend_of(dirs, values, alpha, margin)
  answered(form, values$table, list(answer = paste(result$answer, collapse = " "), verdict = result$verdict, alpha = result$alpha),
           result[trend_tables], result$notes, format_trend(result), trend_view(result, dirs), NULL, result$verdict)
}

trend_of <- function(dirs, values, alpha, margin) {
  acceptance_trend(lapply(dirs, judge_dirs, values, alpha, margin, judged_by_options(values)), alpha)
}

# Files are read once, however many campaigns are judged by them.
judged_by_options <- function(values) {
  list(limits = if (!is.null(values$limits)) read_limits(values$limits),
       reference = if (!is.null(values$reference)) read_acceptance(values$reference),
       classes = if (!is.null(values$classes)) read_classes(values$classes), known = if (!is.null(values[["known-bad"]])) read_known_bad(values[["known-bad"]]))
}

judge_dirs <- function(dirs, values, alpha, margin, parsed = judged_by_options(values)) {
  acceptance <- read_acceptance(dirs)
  if (!is.null(parsed$known)) acceptance <- leave_out(acceptance, parsed$known)
  judge_acceptance(acceptance, parsed$limits, parsed$reference, alpha, margin, values$limits %||% "limits", parsed$classes)
}

has_acceptance <- function(dir) dir.exists(dir) && length(find_launches(dir, program = "noiselab-accept")) > 0

# noiselab compare of two acceptance campaigns.
run_compare_acceptance <- function(dirs, values, form, alpha, power, margin) {
  if (isTRUE(values$paired) || !is.null(values$plot)) abort_usage("--paired and --plot do not apply to acceptance campaigns")
  comparison <- compare_acceptance(read_acceptance(dirs[1]), read_acceptance(dirs[2]), margin, alpha, power)
  if (!is.null(values$report)) write_change_report(comparison, dirs, values$report)
  lines <- answered(form, values$table, list(answer = comparison$answer, alpha = comparison$alpha, margin_percent = margin, verdict = comparison$verdict),
                    list(estimates = acceptance_change_estimates(comparison), rows = comparison$rows), comparison$notes, format_changes(comparison),
                    changes_view(comparison, dirs), c(comparison$answer, comparison$notes), if (!is.null(margin)) comparison$verdict,
                    program = "noiselab-compare")
  write_output(as_lines(lines, values), values$out)
  attr(lines, "status")
}
