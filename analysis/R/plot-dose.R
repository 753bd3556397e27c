# Effect against delivered level, both on pseudo-logarithmic axes; several treatments have panels of their own (`plot_treatments()` has
# them in one). Data: `panel`, cell and treatment, `level_requested_percent`, `level_delivered_percent` (percent of one CPU), `estimate`,
# `ci_low`, `ci_high`, `band_low`, `band_high` (unit of the channel; the band is the interval of the placebo), `verdict`, `series` (the
# verdict, or `detected alone`); NULL where the channel was not measured.
plot_dose <- function(analysis, draw = TRUE) {
  # algorithms have one level each, and a picture of their own
  if (length(analysis$campaign$launches[[1]]$algorithms) > 1) return(NULL)
  draw_dose(analysis, draw, "time", "slowdown, %", "Slowdown by delivered level")
}

plot_preempted <- function(analysis, draw = TRUE) {
  draw_dose(analysis, draw, "preempted", "preempted, % of one CPU per generator", "Preempted CPU time by delivered level")
}

dose_data <- function(analysis, channel) {
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$channel == channel & !is.na(rows$estimate) & has_level(rows$level_requested_percent), ]
  if (nrow(rows) == 0) return(NULL)
  placebo <- rows[rows$level_requested_percent == 0, ]
  panel <- cell_panel(rows, analysis)
  at <- match(panel, panel[rows$level_requested_percent == 0])
  delivered <- ifelse(is.na(rows$level_delivered_percent), rows$level_requested_percent, rows$level_delivered_percent)
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
  ggplot2::ggplot(frame, ggplot2::aes(x, estimate)) +
    ggplot2::geom_rect(ggplot2::aes(ymin = band_low, ymax = band_high), xmin = -Inf, xmax = Inf,
                       fill = "grey85", data = frame[!duplicated(frame$panel) & !is.na(frame$band_low), ]) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = ci_low, ymax = ci_high), alpha = 0.25, fill = okabe_ito[["sky"]],
                         data = with_interval(frame)) +
    ggplot2::geom_line(data = joined(frame, frame$panel), colour = okabe_ito[["blue"]]) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = ci_low, ymax = ci_high), na.rm = TRUE, colour = okabe_ito[["blue"]]) +
    ggplot2::geom_point(ggplot2::aes(shape = series, fill = series), size = 2.8) +
    verdict_scales(frame$series) +
    axes$scales + panel_facets(frame, analysis) + theme_noiselab() +
    plot_words(title, scope_words(frame), dose_caption(frame, analysis$alpha),
               "delivered level, % of one CPU (ticks: requested levels)", y_name)
}

# The points of a band: two at least in a panel that have an interval.
with_interval <- function(frame) {
  frame <- frame[!is.na(frame$ci_low), ]
  if (nrow(frame) == 0) frame else joined(frame, frame$panel)
}

# A line needs two points; ggplot2 would say so aloud for every panel that has one.
joined <- function(frame, ...) frame[stats::ave(seq_len(nrow(frame)), ..., FUN = length) > 1, ]

# The frame on pseudo-logarithmic axes (`x` from the level in column `by`), and their scales. With `clip` the
# estimates set the y axis, and longer intervals leave the panel.
dose_axes <- function(frame, by = "level_delivered_percent", clip = FALSE) {
  levels <- sort(unique(frame$level_requested_percent))
  sigma_x <- if (any(levels > 0)) min(levels[levels > 0]) / 2 else 0.01
  width <- stats::median(frame$ci_high - frame$ci_low, na.rm = TRUE) / 2
  if (clip) width <- min(width, diff(range(frame$estimate, 0)) / 10, na.rm = TRUE)
  sigma_y <- 10^floor(log10(if (isTRUE(width > 0)) width else 0.1))
  values <- intersect(c("estimate", "ci_low", "ci_high", "band_low", "band_high"), names(frame))
  reach <- range(frame[values], na.rm = TRUE)
  frame$x <- pseudo_log(frame[[by]], sigma_x)
  frame[values] <- lapply(frame[values], pseudo_log, sigma = sigma_y)
  limits <- pseudo_log(reach, sigma_y)
  if (clip) {
    middle <- range(frame$estimate, 0)
    limits <- c(max(limits[1], middle[1] - 0.25 * diff(middle)), min(limits[2], middle[2] + 0.25 * diff(middle)))
    reach <- 2 * sigma_y * sinh(limits * log(10))
  }
  breaks <- pseudo_log_breaks(reach, sigma_y)
  list(frame = frame, clipped = any(frame$ci_low < limits[1] | frame$ci_high > limits[2], na.rm = TRUE), scales = list(
    ggplot2::scale_x_continuous(breaks = pseudo_log(levels, sigma_x), labels = number_labels(levels)),
    ggplot2::scale_y_continuous(breaks = pseudo_log(breaks, sigma_y), labels = number_labels(breaks),
                                guide = ggplot2::guide_axis(check.overlap = TRUE)),
    if (clip) ggplot2::coord_cartesian(ylim = limits)
  ))
}

dose_caption <- function(frame, alpha) {
  paste0("Bars and blue band: ", 100 * (1 - 2 * alpha), " % confidence interval. Grey: ",
         if (all(is.na(frame$band_low))) "no placebo was run. " else "that of the placebo (clean). ",
         "Detected: step-down from the highest level, one-sided alpha ", alpha,
         if (any(frame$series == "detected alone")) "; alone: not with all operations and channels counted together",
         if (any(frame$series == "inconclusive")) {
           "; inconclusive: no test was possible, or a higher level was not detected"
         }, ". Both axes are linear near 0, logarithmic beyond.")
}

# The dose response of every treatment in one panel per operation, side by side at each requested level: which hurts most? Beyond seven
# treatments the factor with most values has the colours, and every combination of the others a row of panels. Data: as `plot_dose()`,
# with `treatment` (colour and shape) and `row` (the other factors, "" up to seven treatments), without band; NULL with one treatment, or
# without the time channel.
plot_treatments <- function(analysis, draw = TRUE) {
  if (!several_treatments(analysis)) return(NULL)
  frame <- dose_data(analysis, "time")
  if (is.null(frame)) return(NULL)
  # Treatments without a level have no place on the axis.
  treatments <- analysis$treatments[!analysis$treatments$pattern %in% no_word, ]
  if (nrow(treatments) < 2) return(NULL)
  frame$panel <- panel_name(frame)
  keys <- treatment_keys(treatments)
  frame$treatment <- treatment_label(frame, keys$colour)
  frame$row <- treatment_label(frame, keys$row)
  frame <- frame[setdiff(names(frame), c("band_low", "band_high"))]
  if (!draw) return(frame)
  axes <- dose_axes(frame, by = "level_requested_percent", clip = TRUE)
  frame <- axes$frame
  frame$panel <- panel_factor(frame$panel, analysis)
  frame$treatment <- factor(frame$treatment, unique(treatment_label(treatments, keys$colour)))
  frame$row <- factor(frame$row, unique(treatment_label(treatments, keys$row)))
  frame <- frame[order(frame$panel, frame$row, frame$treatment, frame$x), ]
  n <- nlevels(frame$treatment)
  look <- treatment_look(n)
  # Side by side at each level, so that intervals do not cover each other.
  frame$x <- frame$x + (as.integer(frame$treatment) - (n + 1) / 2) * (0.04 * min(n, 5)) / n * diff(range(frame$x, 0))
  ggplot2::ggplot(frame, ggplot2::aes(x, estimate, colour = treatment, group = treatment)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_line(data = joined(frame, frame$panel, frame$row, frame$treatment), linewidth = 0.4) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = ci_low, ymax = ci_high), na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(shape = treatment, fill = ifelse(startsWith(series, "detected"), as.character(treatment), NA)),
                        size = 2.4) +
    ggplot2::scale_colour_manual(NULL, values = look$colours) +
    ggplot2::scale_shape_manual(NULL, values = look$shapes) +
    ggplot2::scale_fill_manual(values = stats::setNames(look$colours, levels(frame$treatment)), na.value = "white", guide = "none") +
    axes$scales + treatment_facets(frame, keys) + theme_noiselab() +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = ceiling(n / 6)),
                    shape = ggplot2::guide_legend(nrow = ceiling(n / 6), override.aes = list(fill = look$colours))) +
    plot_words("Slowdown by treatment", scope_words(frame),
               sprintf(paste("Colour and shape: %s. Filled: detected (step-down from the highest level, one-sided alpha %g,",
                             "per treatment); hollow: not, or inconclusive. Bars: %g %% confidence interval of each by itself;",
                             "%sdifferences are in the table of contrasts. Both axes are linear near 0, logarithmic",
                             "beyond."),
                       paste(keys$colour, collapse = ", "), analysis$alpha, 100 * (1 - 2 * analysis$alpha),
                       if (axes$clipped) "bars that touch the frame go on beyond it; " else ""),
               "requested level, % of one CPU", "slowdown, %")
}

treatment_most <- 7  # colours that a reader can tell apart

# Which factors have the colours, and which the rows of panels.
treatment_keys <- function(treatments) {
  factors <- varying_factors(treatments)
  if (nrow(treatments) <= treatment_most || length(factors) < 2) return(list(colour = factors, row = character()))
  values <- vapply(factors, function(n) length(unique(treatments[[n]])), 0L)
  colour <- factors[which.max(values)]
  list(colour = colour, row = setdiff(factors, colour))
}

# Shapes that can be filled; 7 colours by 5 shapes make 35 different signs.
treatment_look <- function(n) {
  list(colours = rep_len(unname(okabe_ito[c("blue", "vermillion", "green", "purple", "orange", "sky", "black")]), n),
       shapes = rep_len(c(21, 24, 22, 23, 25), n))
}

treatment_facets <- function(frame, keys) {
  if (length(keys$row) == 0) ggplot2::facet_wrap(~panel) else ggplot2::facet_grid(row ~ panel)
}
