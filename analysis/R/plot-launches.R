#' Slowdown by launch
#'
#' A line per launch; where several treatments were run, a line per treatment with its launches beside each
#' other.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `treatment` ("" where there is one), `launch`, `level`
#'   (requested, percent of one CPU), `estimate`, `ci_low`, `ci_high` (percent); NULL with fewer than two
#'   launches, or where launches have one arm only.
#' @references Kalibera, T. and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM.
#' @noRd
plot_launches <- function(analysis, draw = TRUE) {
  rows <- analysis$verdicts
  rows <- rows[rows$scope == scope_launch & rows$channel == "time" & !is.na(rows$estimate), ]
  if (length(unique(rows$launch)) < 2) return(NULL)
  frame <- data.frame(panel = panel_name(rows), treatment = label_in(rows, analysis), launch = rows$launch,
                      level = rows$level_requested_percent, estimate = rows$estimate,
                      ci_low = rows$ci_low, ci_high = rows$ci_high, n_pairs = rows$n_pairs)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  frame$launch <- factor(frame$launch, rev(unique(frame$launch)))
  frame$level <- in_order(level_words(frame$level, analysis))
  lines <- if (several_treatments(analysis)) launch_lines(frame, analysis) else {
    list(frame = cbind(frame, y = as.integer(frame$launch)), names = levels(frame$launch))
  }
  ggplot2::ggplot(lines$frame, ggplot2::aes(estimate, y)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low, xmax = ci_high), na.rm = TRUE,
                            colour = okabe_ito[["blue"]]) +
    ggplot2::geom_point(shape = 17, size = 2, colour = okabe_ito[["vermillion"]]) +
    ggplot2::scale_y_continuous(breaks = seq_along(lines$names), labels = lines$names,
                                expand = ggplot2::expansion(add = 0.6), minor_breaks = NULL) +
    ggplot2::facet_grid(panel ~ level) + theme_noiselab() +
    plot_words("Slowdown by launch",
               sprintf("columns: requested level, %% of one CPU; unit of inference: the pair, n = %s pairs per point",
                       format_range(frame$n_pairs)),
               sprintf(paste("Bars: %g %% confidence interval within the launch (alpha %g). %sLaunches",
                             "differ by more than the bars where something changes between launches."),
                       100 * (1 - 2 * analysis$alpha), analysis$alpha, lines$words %||% ""),
               "slowdown, %", NULL)
}

# A line per treatment, first on top, and its launches in order of their names around it.
launch_lines <- function(frame, analysis) {
  names <- rev(intersect(label_in(analysis$treatments, analysis), frame$treatment))
  turn <- stats::ave(as.integer(frame$launch), frame$panel, frame$treatment, frame$level, FUN = rank)
  n <- stats::ave(turn, frame$panel, frame$treatment, frame$level, FUN = length)
  frame$y <- match(frame$treatment, names) + 0.7 * (turn - (n + 1) / 2) / pmax(n, 2)
  list(frame = frame, names = names, words = "Each point is a launch, in order of its name from top to bottom. ")
}
