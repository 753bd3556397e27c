# Effect against delivered level (percent of one CPU); the band is the interval of the placebo; `series` is
# the verdict, or `detected alone`.
plot_dose <- function(analysis, draw = TRUE) {
  # algorithms have one level each, and a picture of their own
  if (length(analysis$campaign$launches[[1]]$algorithms) > 1) return(NULL)
  draw_dose(analysis, draw, "time", "slowdown, %", "Slowdown by delivered level")
}

plot_preempted <- function(analysis, draw = TRUE) {
  draw_dose(analysis, draw, "preempted", "preempted, % of one CPU per generator",
            "Preempted CPU time by delivered level")
}

dose_data <- function(analysis, channel) {
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$channel == channel & !is.na(rows$estimate) & has_level(rows$level_requested_percent), ]
  if (nrow(rows) == 0) return(NULL)
  placebo <- rows[rows$level_requested_percent == 0, ]
  panel <- cell_panel(rows, analysis)
  at <- match(panel, panel[rows$level_requested_percent == 0])
  delivered <- ifelse(is.na(rows$level_delivered_percent), rows$level_requested_percent,
                      rows$level_delivered_percent)
  cbind(data.frame(panel = panel), rows[c("operation", "bytes", treatment_columns, "scope",
        "level_requested_percent")], level_delivered_percent = delivered,
        rows[c("estimate", "ci_low", "ci_high", "n_pairs", "n_launches", "verdict")],
        band_low = placebo$ci_low[at], band_high = placebo$ci_high[at],
        series = row_outcome(rows))
}

draw_dose <- function(analysis, draw, channel, y_name, title) {
  frame <- dose_data(analysis, channel)
  if (!draw || is.null(frame)) return(frame)
  axes <- dose_axes(frame)
  frame <- axes$frame
  frame$panel <- panel_factor(frame$panel, analysis)
  frame <- frame[order(frame$panel, frame$x), ]
  known <- frame[!is.na(frame$ci_low), ]
  ggplot2::ggplot(frame, ggplot2::aes(x, estimate)) +
    ggplot2::geom_rect(
      ggplot2::aes(ymin = band_low, ymax = band_high), xmin = -Inf, xmax = Inf, fill = "grey85",
      data = frame[!duplicated(frame$panel) & !is.na(frame$band_low), ]
    ) + ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = ci_low, ymax = ci_high), alpha = 0.25, fill = okabe_ito[["sky"]],
                         data = joined(known, known$panel)) +
    ggplot2::geom_line(data = joined(frame, frame$panel), colour = okabe_ito[["blue"]]) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = ci_low, ymax = ci_high), na.rm = TRUE, colour = okabe_ito[["blue"]]
    ) + ggplot2::geom_point(ggplot2::aes(shape = series, fill = series), size = 2.8) +
    verdict_scales(frame$series) + axes$scales + panel_facets(frame, analysis) + theme_noiselab() +
    plot_words(title, scope_words(frame), dose_caption(frame, analysis$alpha),
               "delivered level, % of one CPU (ticks: requested levels)", y_name)
}

# A line, or a band, needs two points; ggplot2 would say so aloud for every panel that has one.
joined <- function(frame, ...) {
  if (nrow(frame) == 0) {
    frame
  } else {
    frame[stats::ave(seq_len(nrow(frame)), ..., FUN = length) > 1, ]
  }
}

# The frame on pseudo-logarithmic axes (`x`: delivered level), and their scales.
dose_axes <- function(frame) {
  levels <- sort(unique(frame$level_requested_percent))
  sigma_x <- if (any(levels > 0)) min(levels[levels > 0]) / 2 else 0.01
  width <- stats::median(frame$ci_high - frame$ci_low, na.rm = TRUE) / 2
  sigma_y <- 10^floor(log10(if (isTRUE(width > 0)) width else 0.1))
  values <- c("estimate", "ci_low", "ci_high", "band_low", "band_high")
  breaks <- pseudo_log_breaks(range(frame[values], na.rm = TRUE), sigma_y)
  frame$x <- pseudo_log(frame$level_delivered_percent, sigma_x)
  frame[values] <- lapply(frame[values], pseudo_log, sigma = sigma_y)
  list(
    frame = frame,
    scales = list(pseudo_axis(ggplot2::scale_x_continuous, levels, sigma_x),
                  pseudo_axis(ggplot2::scale_y_continuous, breaks, sigma_y))
  )
}

dose_caption <- function(frame, alpha) {
  paste0(
    "Bars and blue band: ",
    100 * (1 - 2 * alpha),
    " % confidence interval. Grey: ",
    if (all(is.na(frame$band_low))) {
      "no placebo was run. "
    } else {
      "that of the placebo (clean). "
    },
    "Detected: step-down from the highest level, one-sided alpha ",
    alpha,
    if (any(frame$series == "detected alone")) {
      "; alone: not with all operations and channels counted together"
    },
    if (any(frame$series == "inconclusive")) {
      "; inconclusive: no test was possible, or a higher level was not detected"
    },
    ". Both axes are linear near 0, logarithmic beyond."
  )
}
