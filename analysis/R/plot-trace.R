#' Trace of the halves in run order
#'
#' Of the first launch. Long runs are thinned to about 4000 points per operation: every k-th pair, and
#' the 200 slowest halves always.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `start_s` (since the first half), `time_us` (per
#'   operation), `arm`, `level` (requested, percent of one CPU), `kept_one_in` (thinning).
#' @noRd
plot_trace <- function(analysis, draw = TRUE) {
  campaign <- analysis$campaign
  launch <- campaign$rows[["launch"]][1]
  at <- which(campaign$rows[["launch"]] == launch)
  frame <- analysis$frames$trace %||% trace_data(campaign, at)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  thinned <- max(frame$kept_one_in)
  several <- length(campaign$launches)
  # Opaque, as half-transparent points make a picture twice as large; in run order neither arm hides the other.
  ggplot2::ggplot(frame[order(frame$start_s), ], ggplot2::aes(start_s, time_us)) +
    ggplot2::geom_point(ggplot2::aes(colour = arm, shape = arm), size = 0.6) +
    ggplot2::scale_colour_manual(NULL, values = arm_colours) +
    ggplot2::scale_shape_manual(NULL, values = arm_shapes) +
    ggplot2::guides(colour = ggplot2::guide_legend(override.aes = list(size = 2.5))) +
    ggplot2::scale_y_log10(labels = number_labels,
                           breaks = function(r) trace_breaks(r)) +
    ggplot2::facet_wrap(~panel, ncol = 1, scales = "free_y") + theme_noiselab() +
    plot_words("Halves in run order",
               paste0("launch ", launch, if (several > 1) paste(", the first of", several), ", n = ", format_count(length(at)), " halves"),
               paste0(if (thinned > 1) paste0("Drawn: 1 of ", thinned, " pairs, and the 200 slowest ",
                                              "halves of each operation. ") else "Every half is drawn. ",
                      if (several_treatments(analysis)) "On: all treatments and levels. ",
                      "Log axis. No test is made here (no band, alpha does not apply)."),
               "time since the first half, s", "time per operation, \u00b5s")
}

trace_data <- function(campaign, at) {
  panel <- cell_key(campaign$rows)[at]
  bind_rows(lapply(split(at, code_of(panel)), trace_panel, rows = campaign$rows))
}

trace_breaks <- function(range) {
  decades <- 10^seq(floor(log10(range[1])), ceiling(log10(range[2])))
  breaks <- as.vector(outer(c(1, 2, 5), decades))
  breaks <- breaks[breaks >= range[1] & breaks <= range[2]]
  if (length(breaks) < 3) pretty(range, 4) else breaks
}

trace_panel <- function(at, rows, most = 4000, slowest = 200) {
  pair <- rows[["pair"]][at]
  time_us <- operation_ns_at(rows, at) / 1000
  step <- max(1, ceiling(length(at) / (most - slowest)))
  keep <- step == 1 | code_of(pair) %% step == 0
  if (step > 1) keep[order(time_us, decreasing = TRUE)[seq_len(slowest)]] <- TRUE
  at <- at[keep]
  data.frame(panel = panel_name(list(operation = rows[["operation"]][at], bytes = rows[["bytes"]][at])),
             start_s = rows[["start_ns"]][at] / 1e9, time_us = time_us[keep],
             arm = rows[["arm"]][at], level = rows[["level_requested_percent"]][at],
             kept_one_in = step)
}
