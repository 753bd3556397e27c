#' Agent and replay side by side
#'
#' Slowdown under an agent and under the replay of it by the generator, with intervals; the band is what counts as the same
#' as the agent.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `operation`, `bytes`, `series` (`agent` or `replay`), `name`, `estimate`,
#'   `ci_low`, `ci_high`, `band_low`, `band_high`, `preempted_percent`, `difference_percent`, `verdict`; two rows per operation,
#'   size, agent and replay. NULL where the campaign does not have both.
#' @noRd
plot_replay <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$replay %||% replay_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  frame$name <- factor(frame$name, rev(unique(frame$name)))
  verdicts <- frame[!duplicated(frame$panel), ]
  ggplot2::ggplot(frame, ggplot2::aes(estimate, name)) +
    ggplot2::geom_rect(ggplot2::aes(xmin = band_low, xmax = band_high), ymin = -Inf, ymax = Inf, data = verdicts,
                       fill = okabe_ito[["green"]],
                       alpha = 0.15, na.rm = TRUE, inherit.aes = FALSE) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low, xmax = ci_high, colour = series), na.rm = TRUE, show.legend = FALSE) +
    ggplot2::geom_point(ggplot2::aes(colour = series, shape = series), size = 3) +
    ggplot2::scale_colour_manual(NULL, values = c(agent = okabe_ito[["vermillion"]], replay = okabe_ito[["blue"]])) +
    ggplot2::scale_shape_manual(NULL, values = c(agent = 17, replay = 16)) +
    ggplot2::facet_wrap(~panel, ncol = 1, scales = "free_y", labeller = ggplot2::labeller(panel = function(panel) {
      paste0(panel, ": ", verdicts$verdict[match(panel, verdicts$panel)])
    })) + theme_noiselab() +
    plot_words("Agent and replay side by side", sprintf("unit of inference: the %s, n = %s", frame$unit_of_inference[1],
                                                        format_range(frame$n)),
               sprintf(paste("Bars: %s confidence interval. Band: what counts as the same as the agent. The verdict is about the",
                             "difference, which may be known better than its parts."),
                       format_confidence(2 * analysis$alpha)), "slowdown, %", NULL)
}

replay_data <- function(analysis) {
  if (!has_replay(analysis$campaign)) return(NULL)
  rows <- tryCatch(compare_replay(analysis)$rows, nl_error_data = function(e) NULL)
  if (is.null(rows)) return(NULL)
  several <- length(unique(rows$replay)) > 1 || length(unique(rows$agent)) > 1
  panel <- paste0(panel_name(rows), if (several) paste0(", ", rows$agent, " against ", rows$replay))
  one <- function(series, name) {
    data.frame(panel = panel, rows[c("operation", "bytes")], series = series, name = name, estimate = rows[[paste0(series, "_percent")]],
               ci_low = rows[[paste0(series, "_low")]], ci_high = rows[[paste0(series, "_high")]],
               band_low = rows$agent_percent - rows$margin_percent, band_high = rows$agent_percent + rows$margin_percent,
               preempted_percent = rows[[paste0(series, "_preempted_percent")]],
               rows[c("difference_percent", "verdict", "n", "unit_of_inference")])
  }
  frame <- rbind(one("agent", rows$agent), one("replay", paste0("replay (", rows$replay, ")")))
  frame <- frame[order(match(frame$panel, panel), frame$series), ]
  rownames(frame) <- NULL
  frame
}

size_replay <- function(frame, analysis) c(9, min(40, 1.9 + 1.1 * n_panels(frame)))

alt_replay <- function(frame) {
  alt_panels(frame, "Slowdown under agent and replay", function(rows) {
    sprintf("%s %% and %s %%, difference %s %%, %s", format_effect(rows$estimate[1]), format_effect(rows$estimate[2]),
            format_effect(rows$difference_percent[1]), rows$verdict[1])
  })
}
