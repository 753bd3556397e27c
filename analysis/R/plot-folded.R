#' One period of the strongest periodic noise
#'
#' Of the first launch, per operation and size: the series of `plot_periodogram()` folded at the period that stands out
#' most, and the box fitted to it.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `launch`, `series`, `n`, `span_s`, `period_s`, `phase` (share of
#'   the period), `mean_percent` (above the part that is not raised), `se_percent`, `box_percent`, `label`; NULL where
#'   nothing periodic was found.
#' @noRd
plot_folded <- function(analysis, draw = TRUE) {
  series <- searched_series(analysis$campaign, analysis$alpha)
  frame <- bind_rows(Filter(Negate(is.null), lapply(series, folded_frame, alpha = analysis$alpha)))
  if (NROW(frame) == 0) return(NULL)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  named <- frame[!duplicated(frame$panel), ]
  ggplot2::ggplot(frame, ggplot2::aes(phase)) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = mean_percent - se_percent, ymax = mean_percent + se_percent),
                            colour = okabe_ito[["sky"]], linewidth = 0.6) +
    ggplot2::geom_point(ggplot2::aes(y = mean_percent), colour = okabe_ito[["blue"]], size = 0.9) +
    ggplot2::geom_step(ggplot2::aes(y = box_percent), colour = okabe_ito[["vermillion"]], linewidth = 0.7,
                       direction = "mid") +
    ggplot2::geom_text(ggplot2::aes(x = 0.99, y = Inf, label = label), data = named, hjust = 1, vjust = 1.4,
                       size = 3.1) +
    ggplot2::scale_x_continuous(limits = c(0, 1), expand = ggplot2::expansion(0.01)) +
    ggplot2::scale_y_continuous(labels = number_labels, expand = ggplot2::expansion(c(0.05, 0.25))) +
    panel_facets(frame, clean_panels(analysis), scales = "free_y") + theme_noiselab() +
    plot_words("One period of the strongest periodic noise", plotted_words(frame),
               sprintf(paste("Points: mean of each bin over all periods, above the part that is not raised; bars: one",
                             "standard error, scatter of single values. Line: box fitted by least squares. The period",
                             "stood out of the spectrum at alpha = %g. Unit of inference: this launch. Phase 0 is the",
                             "launch's time zero."), analysis$alpha),
               "phase, share of the period", if (all(frame$series == "time")) "slower, %" else "time lost, %")
}

folded_frame <- function(searched, alpha) {
  s <- searched$s
  if (NROW(searched$rows) == 0) return(NULL)
  top <- searched$rows[1, ]
  fold <- epoch_fold(s$x, s$t_s, top$period_s, width_s = s$width_s, alpha = alpha)
  if (!is.na(fold$reason)) return(NULL)
  scale <- percent_scale(s)
  data.frame(panel = panel_name(s), launch = s$launch, series = s$series, n = fold$n, span_s = fold$span_s,
             period_s = top$period_s,
             phase = fold$profile$phase, mean_percent = scale * fold$profile$mean, se_percent = scale * fold$profile$se,
             box_percent = scale * fold$profile$box,
             label = sprintf("period %s%s, duty %s %%, cost %s %%", format_time(signif(top$period_s, 4)),
                             if (nzchar(top$mark)) paste0(" (", top$mark, ")") else "",
                             format_effect(100 * top$duty, FALSE), with_error(top$cost_percent, top$cost_se_percent)))
}

alt_folded <- function(frame) alt_panels(frame, "One period of the strongest periodic noise",
                                         function(rows) rows$label[1])
