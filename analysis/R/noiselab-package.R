#' noiselab: analysis of OS-noise measurements
#'
#' The package reads campaigns ([read_campaign()]), pairs off and on halves, estimates and decides
#' ([analyze_campaign()]), prints (`format_verdicts()`), plots ([plot_table()]) and reports
#' ([write_report()]). Where a campaign crosses treatments (kind of load, pattern, placement, phase), each is
#' judged by itself, and `treatment_contrasts()` compares them. [judge_summary()] works from published tables of mean,
#' SD and n. [compare_campaigns()] compares two campaigns, by launches.
#'
#' Of synchronised starts (every rank begins each operation at the same instant) `start_quality()` says how well they
#' began, `late_ranks()` who was late, `clock_runs()` what the clocks did, `mpiperf_report()` and `reproducibility()`
#' what MPIPerf publishes; [read_starts()] reads every start of every rank.
#'
#' What noise that was measured on few nodes costs on many says `project_noise()`, from `node_noise()`.
#'
#' Noise that comes back is found and described by [periodic_noise()], with `periodogram()` and `epoch_fold()`.
#'
#' Of launches that switched a real agent on and off, `agent_accounts()` says what it used, what the ranks lost and whether
#' the two agree, `agent_tasks()` who took the CPU, and `agent_bursts()` when.
#'
#' Choices are tables: a channel is a row of [channel_table()], a plot a row of [plot_table()].
#'
#' Every failure that a user can cause is a condition of class `nl_error` and one of
#' `nl_error_usage` (an argument is wrong), `nl_error_schema` (a file format this version does not
#' know), `nl_error_damaged` (a file is broken; file and line are named) and `nl_error_data` (the
#' data cannot answer the question).
#'
#' @useDynLib noiselab, .registration = TRUE
#' @keywords internal
"_PACKAGE"

# Names that ggplot2 looks up in the data frame of a plot.
utils::globalVariables(c(
  "check", "host", "turn", "line", "lost_percent", "variant", "size", "value", "node", "x", "y", "ymin", "ymax",
  "series", "panel", "arm", "level", "time_us", "start_s", "band_low", "band_high", "estimate", "ci_low", "ci_high",
  "launch", "probability", "lo_us", "slowdown_percent", "clean", "treatment", "end_s", "top", "shade", "ranks", "high",
  "bound_low_percent", "bound_high_percent", "verdict", "cell", "power", "limit_percent", "label", "effect", "low",
  "estimate_percent", "ci_low_percent", "ci_high_percent", "found", "us_per_s", "task", "within_period", "length_us",
  "share", "bound_high", "bound_low", "column", "interval_s", "model", "name", "phase", "preempted_shift_percent",
  "safe_from_s", "y_name"
))
