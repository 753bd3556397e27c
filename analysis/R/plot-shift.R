#' Shift function: how each quantile moves
#'
#' Quantile of the operation times on minus off, against the probability of the quantile, from the latency histograms:
#' a load that slows every operation alike moves all quantiles alike, one that interrupts few moves the upper ones only.
#' With three launches or more a point is the mean over the launches and its bar Student's interval of their scatter.
#' With fewer, histograms are merged, and the bar comes from order statistics *as if operations were independent*, which
#' neighbouring operations, and ranks that wait for each other, are not: it is too short.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `level_requested_percent` (of one CPU; 0: the placebo), `p`
#'   (probability of the quantile, 0.01 to 0.999), `off_us`, `on_us` (the quantiles; means over launches), `shift_us`
#'   (their difference), `low_us`, `high_us` (interval of confidence 1 - alpha; NA where the operations are too few for
#'   the quantile), `unit` (what the interval takes as independent: `launches` or `operations`), `n_launches`,
#'   `n_operations` (on). NULL without histograms of both arms.
#' @references Doksum, K. (1974) Empirical probability plots and statistical inference for nonlinear models in the
#'   two-sample case, Annals of Statistics 2, 267-277. Wilcox, R. R. (1995) Comparing two independent groups via
#'   multiple quantiles, The Statistician 44, 91-99. Zou, G. Y. and Donner, A. (2008) Construction of confidence limits
#'   about effect measures, Statistics in Medicine 27, 1693-1702 (interval of a difference from two intervals).
#' @noRd
plot_shift <- function(analysis, draw = TRUE) {
  frame <- shift_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  series <- shift_series(sort(unique(frame$level_requested_percent)), analysis)
  frame$series <- factor(shift_series(frame$level_requested_percent, analysis), series)
  width <- stats::median(frame$high_us - frame$low_us, na.rm = TRUE) / 2
  width <- max(stats::median(abs(frame$shift_us)) / 3, width, na.rm = TRUE)
  sigma <- 10^floor(log10(if (isTRUE(width > 0)) width else 0.1))
  values <- c("shift_us", "low_us", "high_us")
  middle <- range(frame$shift_us, 0)
  reach <- range(frame[values], 0, na.rm = TRUE)
  reach <- c(max(reach[1], middle[1] - diff(middle)), min(reach[2], middle[2] + diff(middle)))
  frame[values] <- lapply(frame[values], pseudo_log, sigma = sigma)
  limits <- pseudo_log(reach, sigma)
  clipped <- any(frame$low_us < limits[1] | frame$high_us > limits[2], na.rm = TRUE)
  breaks <- pseudo_log_breaks(reach, sigma)
  n <- nlevels(frame$series)
  look <- shift_look(levels(frame$series))
  # Side by side at each quantile, so that intervals do not cover each other.
  frame$x <- stats::qlogis(frame$p) + (as.integer(frame$series) - (n + 1) / 2) * 0.5 / max(n, 4)
  shown <- c(0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
  ggplot2::ggplot(frame, ggplot2::aes(x, shift_us, colour = series, group = series)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_line(linewidth = 0.35) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = low_us, ymax = high_us), na.rm = TRUE, linewidth = 0.45) +
    ggplot2::geom_point(ggplot2::aes(shape = series, fill = series), size = 1.5) +
    ggplot2::scale_colour_manual(NULL, values = look$colours) +
    ggplot2::scale_fill_manual(NULL, values = look$colours) +
    ggplot2::scale_shape_manual(NULL, values = look$shapes) +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = 1)) +
    ggplot2::scale_x_continuous(breaks = stats::qlogis(shown), labels = paste0("p", 100 * shown), minor_breaks = NULL) +
    ggplot2::scale_y_continuous(breaks = pseudo_log(breaks, sigma), labels = number_labels(breaks),
                                guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::coord_cartesian(ylim = limits) +
    panel_facets(frame, analysis) + theme_noiselab() +
    plot_words("Shift function: how each quantile of the operation times moves", shift_subtitle(frame),
               shift_caption(frame, analysis$alpha, clipped),
               "quantile of the operation times (logit scale)", "quantile on minus off, \u00b5s")
}

shift_quantiles <- c(0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)
shift_launches <- 3  # with fewer launches their scatter says too little

shift_series <- function(level, analysis) ifelse(level == 0, "placebo", level_words(level, analysis))

shift_look <- function(series) {
  n <- length(series)
  colours <- rep_len(unname(okabe_ito[c("blue", "green", "orange", "vermillion", "purple", "sky")]), n)
  shapes <- rep_len(c(21, 22, 23, 24, 25), n)
  colours[series == "placebo"] <- "grey45"
  list(colours = stats::setNames(colours, series), shapes = stats::setNames(shapes, series))
}

shift_subtitle <- function(frame) {
  across <- frame$unit == "launches"
  paste(c(if (any(across)) sprintf("scope: launches like these; unit of inference: the launch, n = %s launches",
                                   format_range(frame$n_launches[across])),
          if (!all(across)) sprintf("scope: %s; operations as if independent, n = %s operations of each level",
                                    if (max(frame$n_launches[!across]) > 1) "these launches, merged" else "this launch",
                                    tail_range(range(frame$n_operations[!across])))), collapse = "; ")
}

shift_caption <- function(frame, alpha, clipped) {
  across <- frame$unit == "launches"
  paste0("Bars: ", 100 * (1 - alpha), " % confidence interval (alpha ", alpha, ") of each point by itself, ",
         paste(c(if (any(across)) "from the scatter of the launches (Student)",
                 if (!all(across)) "from order statistics as if operations were independent, so too short"),
               collapse = "; "), ". ",
         "Colour and shape: requested level. Quantiles are interpolated within bins of at most 0.78 %. ",
         if (clipped) "Bars that touch the frame go on beyond it. ",
         "The vertical axis is linear near 0, logarithmic beyond.")
}

shift_data <- function(analysis) {
  hist <- as.data.frame(analysis$campaign$hist)
  hist <- hist[hist$count > 0, ]
  if (nrow(hist) == 0 || length(unique(hist$arm)) < 2) return(NULL)
  cell <- paste(code_of(hist$operation), hist$bytes)
  off <- hist[hist$arm == "off", ]
  off_of <- split(off, cell[hist$arm == "off"])
  on <- hist[hist$arm == "on", ]
  cell_on <- cell[hist$arm == "on"]
  dose <- combine_keys(code_of(cell_on), on$level_requested_percent, treatment_code(on))
  parts <- lapply(split(seq_len(nrow(on)), in_order(dose)), function(at) {
    clean <- off_of[[cell_on[at[1]]]]
    if (is.null(clean)) return(NULL)
    rows <- on[at, ]
    shared <- intersect(rows$launch, clean$launch)
    curve <- if (length(shared) >= shift_launches) shift_across(rows, clean, shared, analysis$alpha) else
      shift_within(rows, clean, analysis$alpha)
    data.frame(panel = cell_panel(rows[1, ], analysis), level_requested_percent = rows$level_requested_percent[1],
               curve, n_launches = length(unique(rows$launch)), n_operations = sum(rows$count))
  })
  frame <- bind_rows(Filter(Negate(is.null), unname(parts)))
  if (nrow(frame) == 0) return(NULL)
  frame[order(frame$panel, frame$level_requested_percent, frame$p), ]
}

shift_across <- function(on, off, launches, alpha) {
  quantiles <- function(hist) {
    vapply(split(hist, factor(hist$launch, launches)), function(h) {
      spread_quantile(h$lo_ns, h$hi_ns, h$count, shift_quantiles) / 1000
    }, shift_quantiles)
  }
  off_us <- quantiles(off[off$launch %in% launches, ])
  on_us <- quantiles(on[on$launch %in% launches, ])
  shift <- on_us - off_us
  n <- length(launches)
  reach <- stats::qt(1 - alpha / 2, n - 1) * apply(shift, 1, stats::sd) / sqrt(n)
  data.frame(p = shift_quantiles, off_us = rowMeans(off_us), on_us = rowMeans(on_us), shift_us = rowMeans(shift),
             low_us = rowMeans(shift) - reach, high_us = rowMeans(shift) + reach, unit = "launches")
}

shift_within <- function(on, off, alpha) {
  quantiles_us <- function(hist) lapply(quantile_interval(hist, shift_quantiles, alpha), `/`, 1000)
  a <- quantiles_us(on)
  b <- quantiles_us(off)
  shift <- difference_interval(a, b)
  data.frame(p = shift_quantiles, off_us = b$estimate, on_us = a$estimate, shift_us = shift$estimate,
             low_us = shift$low, high_us = shift$high, unit = "operations")
}

alt_shift <- function(frame) {
  alt_panels(frame, "Shift of the quantiles of the operation times, on minus off", function(rows) {
    top <- rows[rows$level_requested_percent == max(rows$level_requested_percent), ]
    at <- function(p) format_effect(top$shift_us[top$p == p])
    sprintf("%s the median moves by %s \u00b5s, p99 by %s \u00b5s, p99.9 by %s \u00b5s",
            alt_at(top$level_requested_percent[1]), at(0.5), at(0.99), at(0.999))
  })
}
