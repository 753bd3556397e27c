# An acceptance verdict for others: Prometheus' text exposition (OpenMetrics), and references as ReFrame has them.

metric_label <- function(name, value) sprintf('%s="%s"', name, gsub("\n", "\\n",
    gsub('"', '\\"', gsub("\\", "\\\\", value, fixed = TRUE), fixed = TRUE), fixed = TRUE))

#' Figures and verdicts as OpenMetrics text
#'
#' @param result An `nl_acceptance_verdict`.
#' @return Character, a line each, the last `# EOF`: gauges `noiselab_acceptance_verdict`, `noiselab_acceptance_node` (1 with the verdict as
#'   a label), `noiselab_acceptance_ended_seconds`, and `noiselab_acceptance_figure` with `_low` and `_high`, the ends of its interval.
#' @noRd
openmetrics_lines <- function(result) {
  f <- result$figures
  label <- paste(metric_label("check", f$check), metric_label("variant", f$variant), metric_label("metric", f$metric),
                 metric_label("size", ifelse(is.na(f$size), "", format_count_each(f$size))),
                 metric_label("entity", f$entity), metric_label("unit", f$unit), sep = ",")
  number <- function(x) ifelse(is.na(x), "NaN", vapply(x, format, "", digits = 9, trim = TRUE))
  gauge <- function(name, help, labels, value) {
    name <- paste0("noiselab_acceptance_", name)
    c(paste("# TYPE", name, "gauge"), paste("# HELP", name, help), sprintf("%s%s %s", name,
        ifelse(nzchar(labels), paste0("{", labels, "}"), ""), value))
  }
  ended <- as.numeric(as.POSIXct(result$ended_utc, "UTC", "%Y-%m-%dT%H:%M:%SZ"))
  c(gauge("verdict", "verdict of the campaign", metric_label("verdict", result$verdict), 1),
    gauge("ended_seconds", "when its last launch ended", "", number(ended)),
    gauge("node", "verdict of each node", paste(metric_label("host", result$nodes$host), metric_label("verdict", result$nodes$verdict),
                                                sep = ","), 1),
    gauge("figure", "mean of each figure, in its unit", label, number(f$value)),
    gauge("figure_low", "lower end of its interval", label, number(f$ci_low)),
    gauge("figure_high", "upper end of its interval", label, number(f$ci_high)), "# EOF")
}

#' References for ReFrame from a campaign
#'
#' @param result An `nl_acceptance_verdict`.
#' @return Character: JSON as experiments/reframe/references.json has it: of each figure (without node) the worst value, with its margin as
#'   the bound on the side that is worse.
#' @noRd
reframe_references <- function(result) {
  f <- result$figures
  f$entity <- ""
  f$name <- figure_name(f)
  worst <- f[order(f$name, ifelse(f$worse == "more", -f$value, f$value)), ]
  worst <- worst[!duplicated(worst$name) & worst$value > 0, ]
  allowed <- margin_of(result$margins, margin_kinds(worst$check, worst$metric, worst$unit), worst$value, "linear",
                       worst$worse) / worst$value
  rows <- lapply(seq_len(nrow(worst)), function(i) {
    bound <- round(allowed[i], 4)
    c(list(signif(worst$value[i], 6)), if (worst$worse[i] == "less") list(-bound, NULL) else list(NULL, bound), list(worst$unit[i]))
  })
  strsplit(as.character(jsonlite::toJSON(list("*" = list(acceptance = stats::setNames(rows, worst$name))), auto_unbox = TRUE, null = "null",
                                         digits = NA, pretty = TRUE)), "\n", fixed = TRUE)[[1]]
}
