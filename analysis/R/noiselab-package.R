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
  "algorithm", "arm", "band_high", "band_low", "bound_high", "bound_high_percent", "bound_low", "bound_low_percent",
  "check", "ci_high", "ci_high_percent", "ci_low", "ci_low_percent", "effect", "end_s", "entity", "estimate",
  "estimate_percent", "found", "front", "high", "host", "interval_s", "label", "length_us", "limit_percent", "line",
  "lo_us", "lost_ns_per_ns", "lost_percent", "low", "model", "night", "nodes", "power",
  "preempted_shift_percent", "probability", "quiet_ratio", "safe_from_s", "series", "shade", "shown", "since",
  "slowdown_percent", "start_s", "task", "time_us", "top", "turn", "us_per_s", "value", "verdict",
  "within_period", "x", "y", "y_name"
))
