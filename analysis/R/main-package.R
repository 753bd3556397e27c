#' noiselab: analysis of OS-noise measurements
#'
#' [run_program()] is the command line, and has all of it. [read_campaign()] reads campaigns,
#' [analyze_campaign()] pairs off and on halves, estimates and decides, [write_report()] writes the report.
#' Choices are tables: a channel is a row of `channels`, a plot one of `plots()`.
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
utils::globalVariables(c("algorithm", "arm", "band_high", "band_low", "bound_high", "bound_high_percent",
                         "bound_low", "bound_low_percent", "check", "ci_high", "ci_high_percent", "ci_low",
                         "ci_low_percent", "effect", "end_s", "entity", "estimate", "estimate_percent",
                         "found", "front", "high", "host", "interval_s", "label", "length_us",
                         "limit_percent", "line", "lo_us", "lost_ns_per_ns", "lost_percent", "low", "model",
                         "night", "nodes", "power", "preempted_shift_percent", "probability", "quiet_ratio",
                         "safe_from_s", "series", "shade", "shown", "since", "slowdown_percent", "start_s",
                         "task", "time_us", "top", "turn", "us_per_s", "value", "verdict", "within_period",
                         "x", "y", "y_name"))
