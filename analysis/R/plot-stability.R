#' Figure of merit by configuration
#'
#' The level within reach of one second of machine time, for every configuration that reacts.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `configuration`, `ranks`, `design`, `count`, `n_launches`, `n_pairs`,
#' `merit`, `merit_low`,
#'   `merit_high` (percent of one CPU times root of a second), `class` (`suitable`, `not reproducible`,
#'   `undecided`): see
#'   [stability_table()]. NULL where no configuration with pairs reacts.
#' @references Khudoleeva, A. and Stefanov, K. (2021) doi:10.14529/cmse210105 (stage 1).
#' @noRd
plot_stability <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$stability %||% stability_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  frame$configuration <- factor(frame$configuration, rev(unique(frame$configuration[order(frame$ranks,
                                                                                          frame$configuration)])))
  # An interval without an upper end goes on to the frame's.
  frame$high <- ifelse(is.na(frame$merit_high), Inf, frame$merit_high)
  ggplot2::ggplot(frame, ggplot2::aes(merit, configuration)) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = merit_low, xmax = high), colour = okabe_ito[["blue"]]) +
    ggplot2::geom_point(ggplot2::aes(shape = class, fill = class), size = 2.6) + verdict_scales(frame$class) +
    ggplot2::scale_x_log10(labels = log_labels) +
    ggplot2::facet_grid(panel ~ ., scales = "free_y", space = "free_y") + theme_noiselab() +
    ggplot2::theme(strip.text.y = ggplot2::element_text(angle = 0)) +
    plot_words("Level within reach of one second, by configuration",
               sprintf("configurations that react, n = %s pairs at the highest level, %s launches",
                       format_range(frame$n_pairs), format_range(frame$n_launches)),
               sprintf(paste(
                 "Level whose slowdown a one-sided test at alpha %g finds with power %g, times the root of the machine",
                 "time (wall time x nodes) of the pairs: it falls as the root of the seconds, and the left is better. Bars:",
                 "%g %% confidence interval within these launches. Suitable: reacts (sign-flip test, Holm over",
                 "configurations), and the clean time is shown to scatter by at most %g %% over launches."
               ), analysis$alpha, analysis$power, 100 * (1 - 2 * analysis$alpha), reproducible_percent),
               "level x root of time, % of one CPU x sqrt(s)", NULL)
}

stability_data <- function(analysis) {
  if (length(analysis$pairs$off) == 0) return(NULL)
  table <- stability_table(analysis$campaign, analysis$alpha, analysis$power)
  table <- table[!is.na(table$merit), ]
  if (nrow(table) == 0) return(NULL)
  label <- stability_label(table)
  class <- ifelse(table$suitable, "suitable", table$reproducible)
  how <- ifelse(is.na(table$count), paste("halves of", how_measured(table)), paste("blocks of",
                                                                                   format_count_each(table$count)))
  data.frame(panel = panel_name(table),
             configuration = paste0(format_level(table$ranks), ifelse(table$ranks == 1, " rank, ", " ranks, "), how,
                                    ifelse(nzchar(label), ", ", ""), label),
             table[c("ranks", "design", "count", "n_launches", "n_pairs", "merit", "merit_low", "merit_high")], class = class)
}

alt_stability <- function(frame) {
  alt_panels(frame, "Level within reach of one second of machine time", function(rows) {
    best <- rows[which.min(rows$merit), ]
    sprintf("%s %% of one CPU with %s (%s)", format_level(best$merit), best$configuration, best$class)
  })
}

# A line for each configuration, and its panel's margins.
size_stability <- function(frame, analysis) c(9, min(40, 2.4 + 0.35 * nrow(frame) + 0.25 * n_panels(frame)))
