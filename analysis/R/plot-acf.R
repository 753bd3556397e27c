#' Autocorrelation of a series
#'
#' @param x Numeric, length n: evenly spaced series.
#' @param lags Largest lag, length 1; at most a quarter of n is used.
#' @return A data frame: `lag` (1, 2, ...), `acf` (divisor n at every lag, as Box and Jenkins). No rows for fewer than
#'   8 values, or where all are equal.
#' @references Box, G. E. P. and Jenkins, G. M. (1970) Time Series Analysis, chapter 2.
#' @noRd
autocorrelation <- function(x, lags = 30) {
  check_numeric(x, "x")
  check_argument(is_number(lags, 0), "lags", lags, "one number above 0")
  n <- length(x)
  if (n < 8 || min(x) == max(x)) return(data.frame(lag = numeric(), acf = numeric()))
  most <- floor(min(lags, n / 4))
  data.frame(lag = seq_len(most), acf = stats::acf(x, most, plot = FALSE)$acf[-1])
}

#' Autocorrelation of clean times and of pair differences
#'
#' Per cell (launch, operation, size, treatment, level), in run order: of the log times of its off halves, and of its
#' pairs' differences. Drift makes neighbours alike, and tests that take them as independent wrong; the difference of
#' two halves next to each other loses what drifts more slowly than a pair.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `cell` (a number), `launch`, `level_requested_percent` (of one CPU),
#'   `series` (`clean log times`, `pair differences`), `lag_pairs` (of the cell, up to 30), `acf`, `band` (half-width
#'   for one lag of independent values, confidence 1 - alpha), `n_pairs`. At most 40 cells per panel, evenly taken.
#'   NULL without the time channel or pairs, and where no cell has 8 of them.
#' @references Bartlett, M. S. (1946) Supplement to the Journal of the Royal Statistical Society 8, 27-41 (the band).
#' @noRd
plot_acf <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$acf %||% acf_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  mean_of <- stats::aggregate(acf ~ panel + series + lag_pairs, frame, mean)
  band <- stats::aggregate(band ~ panel + series, frame, max)
  colours <- c("clean log times" = okabe_ito[["vermillion"]], "pair differences" = okabe_ito[["blue"]])
  cells <- length(unique(frame$cell))
  several <- cells > n_panels(frame)
  ggplot2::ggplot(frame, ggplot2::aes(lag_pairs, acf, colour = series)) +
    ggplot2::geom_rect(ggplot2::aes(ymin = -band, ymax = band), xmin = -Inf, xmax = Inf, data = band, fill = "grey85",
                       colour = NA, inherit.aes = FALSE) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    (if (several) ggplot2::geom_line(ggplot2::aes(group = cell), linewidth = 0.25, alpha = 0.45)) +
    ggplot2::geom_segment(ggplot2::aes(xend = lag_pairs, yend = 0), data = mean_of, linewidth = 0.5) +
    ggplot2::geom_point(ggplot2::aes(shape = series), data = mean_of, size = 1.5) +
    ggplot2::scale_colour_manual(values = colours, guide = "none") +
    ggplot2::scale_shape_manual(values = c("clean log times" = 17, "pair differences" = 16), guide = "none") +
    ggplot2::facet_grid(panel ~ series) + theme_noiselab() +
    plot_words("Autocorrelation of clean times and of pair differences",
               sprintf("time channel; unit: the pair, n = %s pairs per cell, %s", format_range(frame$n_pairs),
                       counted(cells, "cell")),
               paste(if (several) {
                       "Points: mean over the cells (launch, treatment, level) of the panel; thin lines: each cell."
                     } else "One cell per panel.",
                     sprintf(paste("Grey: %g %% interval of one lag of one cell if its values were independent",
                                   "(z / sqrt n, alpha %g, two-sided%s)."),
                             100 * (1 - analysis$alpha), analysis$alpha, if (several) "; of the shortest cell" else ""),
                     "Where the clean times on the left stay above it, the machine drifts; on the right, the",
                     "difference of two neighbouring halves has lost what is slower than a pair."),
               "lag, pairs of the same cell in run order", "autocorrelation")
}

acf_cells <- 40  # more cells than that in a panel hide each other

acf_data <- function(analysis) {
  pairs <- analysis$pairs
  d <- analysis$differences$time
  if (length(d) == 0 || length(pairs$off) == 0) return(NULL)
  clean <- log_or_na(operation_ns_at(analysis$campaign$rows, pairs$off))
  members <- split(seq_along(d), pairs$cell)
  panel <- panel_name(pairs$cells)
  wanted <- unlist(lapply(split(seq_along(panel), panel), function(at) {
    at[unique(round(seq(1, length(at), length.out = min(length(at), acf_cells))))]
  }), use.names = FALSE)
  parts <- lapply(sort(wanted), function(k) {
    at <- members[[k]]
    at <- at[is.finite(d[at])]
    one <- function(series, x) {
      curve <- autocorrelation(x)
      if (nrow(curve) == 0) return(NULL)
      data.frame(panel = panel[k], cell = k, launch = pairs$cells$launch[k],
                 level_requested_percent = pairs$cells$level_requested_percent[k], series = series,
                 lag_pairs = curve$lag, acf = curve$acf, band = stats::qnorm(1 - analysis$alpha / 2) / sqrt(length(at)),
                 n_pairs = length(at))
    }
    bind_rows(list(one("clean log times", clean[at]), one("pair differences", d[at])))
  })
  frame <- bind_rows(parts)
  if (nrow(frame) == 0) NULL else frame
}

size_acf <- function(frame, analysis) c(9, min(40, 2 + 1.8 * n_panels(frame)))

alt_acf <- function(frame) {
  alt_panels(frame, "Autocorrelation at lag 1", function(rows) {
    first <- rows[rows$lag_pairs == 1, ]
    mean_of <- function(series) format_effect(mean(first$acf[first$series == series]))
    sprintf("%s of the clean times, %s of the pair differences (band %s)", mean_of("clean log times"),
            mean_of("pair differences"), format_effect(max(first$band), FALSE))
  })
}
