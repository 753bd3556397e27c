#' Reproducibility by number of ranks
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `ranks`, `n_launches`, `rse_percent`, `rse_low_percent`,
#'   `rse_high_percent`: see `reproducibility()`. NULL where no operation has 3 launches with synchronised starts.
#' @references Kurnosov, M. G. (2012), see `published_summary()`.
#' @noRd
plot_reproducibility <- function(analysis, draw = TRUE) {
  campaign <- analysis$campaign
  if (is.null(campaign$rows[["global_ns"]]) || !any(campaign$rows[["arm"]] == "off")) return(NULL)
  conf <- 1 - analysis$alpha
  table <- reproducibility(campaign, conf)
  table <- table[!is.na(table$rse_percent) & table$mode != "loop", ]
  if (nrow(table) == 0) return(NULL)
  frame <- data.frame(panel = panel_name(table), table[c("ranks", "n_launches", "rse_percent", "rse_low_percent", "rse_high_percent")])
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  counts <- sort(unique(frame$ranks))
  ggplot2::ggplot(frame, ggplot2::aes(ranks, rse_percent)) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = rse_low_percent, ymax = rse_high_percent), colour = okabe_ito[["blue"]]) +
    ggplot2::geom_line(data = frame[frame$panel %in% frame$panel[duplicated(frame$panel)], ], colour = "grey55", linewidth = 0.35) +
    ggplot2::geom_point(shape = 17, size = 2.2, colour = okabe_ito[["vermillion"]]) +
    ggplot2::scale_x_continuous(trans = "log2", breaks = counts, minor_breaks = NULL,
                                expand = ggplot2::expansion(mult = if (length(counts) > 1) 0.08 else 0.5)) +
    ggplot2::scale_y_continuous(limits = c(0, NA), labels = number_labels) +
    ggplot2::facet_wrap(~panel) + theme_noiselab() +
    plot_words("Reproducibility by number of ranks", sprintf("off arm; unit of inference: the launch, n = %s launches per point",
        format_range(frame$n_launches)),
               sprintf(paste("RSE: standard error of the mean over launches, percent of the mean; all starts count. Bars: %g %% confidence",
                             "interval (alpha %g), as if the means of launches were normal."), 100 * conf, analysis$alpha),
               "ranks", "relative standard error, %")
}

alt_reproducibility <- function(frame) {
  alt_panels(frame, "Relative standard error over launches, by ranks", function(rows) {
    paste0(format_effect(rows$rse_percent, FALSE), " % at ", format_count(rows$ranks), collapse = ", ")
  })
}
