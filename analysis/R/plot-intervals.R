#' Slowdown by sampling interval
#'
#' Slowdown of each operation against the sampling interval of an agent (logarithmic), with its two-sided interval and, as
#' a broad bar, its one-sided bounds; with a margin the region that is safe, for all operations, is shaded.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `agent`, `operation`, `bytes`, `interval_s`, `estimate`, `ci_low`, `ci_high`,
#'   `bound_low`, `bound_high`, `detection_limit`, `model` (percent), `margin_percent`, `safe_from_s` (the shortest safe
#'   interval, NA: none), `margin_verdict`, `series` (how the point is drawn). NULL where the launches do not differ in the
#'   interval.
#' @noRd
plot_intervals <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$intervals %||% intervals_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  margin <- frame$margin_percent[1]
  safe <- unique(frame[!is.na(frame$safe_from_s), c("panel", "safe_from_s")])
  frame$panel <- in_order(frame$panel)
  safe$panel <- factor(safe$panel, levels(frame$panel))
  ticks <- sort(unique(frame$interval_s))
  guide <- guide_line(frame)
  columns <- c("estimate", "ci_low", "ci_high", "bound_low", "bound_high")
  # The margin is far below what the shortest interval costs: one axis shows both.
  sigma <- 10^floor(log10(if (!is.na(margin) && margin > 0) margin else max(1e-4, stats::median(abs(frame$estimate)))))
  breaks <- pseudo_log_breaks(range(frame[columns], margin, na.rm = TRUE), sigma)
  frame[columns] <- lapply(frame[columns], pseudo_log, sigma = sigma)
  guide$model <- pseudo_log(guide$model, sigma)
  ggplot2::ggplot(frame, ggplot2::aes(interval_s, estimate)) +
    (if (nrow(safe) > 0) ggplot2::geom_rect(ggplot2::aes(xmin = safe_from_s, xmax = Inf), ymin = -Inf, ymax = Inf, data = safe,
                                            inherit.aes = FALSE, fill = okabe_ito[["green"]], alpha = 0.13)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    (if (!is.na(margin)) ggplot2::geom_hline(yintercept = pseudo_log(margin, sigma), colour = okabe_ito[["vermillion"]],
                                             linetype = "dashed")) +
    ggplot2::geom_line(ggplot2::aes(y = model), data = guide, colour = "grey40", linetype = "dotted", na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = bound_low, ymax = bound_high), colour = okabe_ito[["sky"]], linewidth = 3, alpha = 0.5,
                            na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = ci_low, ymax = ci_high), colour = okabe_ito[["blue"]], na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(shape = series, fill = series), size = 2.8) +
    verdict_scales(frame$series) +
    ggplot2::scale_x_log10(breaks = ticks, labels = format_time(ticks), minor_breaks = NULL, expand = ggplot2::expansion(mult = 0.08)) +
    ggplot2::scale_y_continuous(breaks = pseudo_log(breaks, sigma), labels = number_labels(breaks)) +
    ggplot2::facet_wrap(~panel) + theme_noiselab() +
    plot_words("Slowdown by sampling interval", intervals_subtitle(frame), paste0(
      sprintf("Thin bars: %s confidence interval; broad bars: one-sided bounds of %s each. Dotted: the same time lost per sample.",
              format_confidence(2 * analysis$alpha), format_confidence(analysis$alpha)),
      " The axis is linear near 0, logarithmic beyond.",
      if (!is.na(margin)) sprintf(" Dashed: the margin, %s %%. Shaded: safe for all operations.", format_level(margin))),
      "sampling interval (logarithmic)", "slowdown, %")
}

intervals_data <- function(analysis) {
  if (!is_sweep(analysis$campaign)) return(NULL)
  sweep <- interval_sweep(analysis, analysis$margin)
  rows <- sweep$rows[!is.na(sweep$rows$estimate), ]
  if (nrow(rows) == 0) return(NULL)
  several <- length(unique(rows$agent)) > 1
  series <- if (is.null(sweep$margin)) rows$verdict else {
    ifelse(rows$margin_verdict == "inconclusive", "inconclusive", paste(rows$margin_verdict, "the margin"))
  }
  cbind(panel = paste0(if (several) paste0(rows$agent, ", "), panel_name(rows)),
        rows[c("agent", "operation", "bytes", "interval_s", "estimate", "ci_low", "ci_high", "bound_low", "bound_high", "detection_limit",
               "model")],
        margin_percent = sweep$margin %||% NA_real_,
        safe_from_s = if (is.null(sweep$safe)) NA_real_ else sweep$safe$interval_s[match(rows$agent, sweep$safe$agent)],
        rows[c("margin_verdict", "n", "unit_of_inference")], series = series)
}

# The line between the points, fine enough to be a curve on the logarithmic axis.
guide_line <- function(frame) {
  bind_rows(lapply(split(frame, frame$panel), function(part) {
    x <- exp(seq(log(min(part$interval_s)), log(max(part$interval_s)), length.out = 60))
    data.frame(panel = part$panel[1], interval_s = x, model = part$model[1] * part$interval_s[1] / x)
  }))
}

intervals_subtitle <- function(frame) {
  unit <- frame$unit_of_inference[1]
  safe <- unique(frame[c("agent", "safe_from_s")])
  said <- if (is.na(frame$margin_percent[1])) NULL else paste(ifelse(
    is.na(safe$safe_from_s), paste0(safe$agent, ": no interval is shown to be safe"),
    paste0(safe$agent, ": safe from ", format_time(safe$safe_from_s), " on")), collapse = "; ")
  paste(c(said, sprintf("unit of inference: the %s, n = %s", unit, format_range(frame$n))), collapse = "; ")
}

size_intervals <- function(frame, analysis) {
  panels <- n_panels(frame)
  c(9, min(40, 1.8 + 2.9 * ceiling(panels / grDevices::n2mfrow(panels)[1])))
}

alt_intervals <- function(frame) {
  alt_panels(frame, "Slowdown by sampling interval", function(rows) {
    rows <- rows[order(rows$interval_s), ]
    ends <- unique(rows[c(1, nrow(rows)), ])
    paste0(paste(format_effect(ends$estimate), "% at", format_time(ends$interval_s), collapse = ", "),
           if (!is.na(rows$margin_percent[1])) if (is.na(rows$safe_from_s[1])) ", no interval shown to be safe" else {
             paste0(", safe from ", format_time(rows$safe_from_s[1]), " on")
           })
  })
}
