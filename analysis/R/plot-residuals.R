#' Simultaneous band for a normal quantile plot
#'
#' Within the band lie, with probability `conf`, *all* values of a sample of independent normal values that was
#' standardised by its own median and quartiles (see `robust_scale()`). If centre and scale were known, each order
#' statistic would follow a beta distribution; on that scale of its own, mean and standard deviation of each, and the
#' number of standard deviations that holds all of them at once, are found by simulation with the standardisation. So
#' the tails have as much say as the middle. A fixed seed makes the same n give the same band.
#'
#' @param n Number of values, length 1.
#' @param conf Simultaneous confidence, length 1.
#' @param ranks Whole numbers: the order statistics wanted; NULL for those of the simulation: all up to 100, of more
#'   values some 100 that are densest in the tails.
#' @param simulations Number of simulated samples, length 1.
#' @return A data frame, one row per rank: `rank`, `normal_sd` (its normal quantile), `low_sd`, `high_sd` (the band, in
#'   standard deviations). No rows for fewer than 8 values.
#' @references Aldor-Noiman, S., Brown, L. D., Buja, A., Rolke, W. and Stine, R. A. (2013) The power to see: a new
#'   graphical test of normality, The American Statistician 67, 249-260.
#' @noRd
qq_band <- function(n, conf = 0.99, ranks = NULL, simulations = 2000) {
  check_argument(is_number(n) && n >= 0 && n == floor(n), "n", n, "one whole number")
  check_probability(conf, "conf")
  check_argument(is_number(simulations, 99), "simulations", simulations, "a number of at least 100")
  none <- data.frame(rank = numeric(), normal_sd = numeric(), low_sd = numeric(), high_sd = numeric())
  if (n < qq_needed) return(none)
  limits <- qq_limits(n, conf, simulations)
  if (is.null(ranks)) ranks <- limits$rank
  check_argument(is.numeric(ranks) && all(ranks %in% seq_len(n)), "ranks", ranks, paste("whole numbers from 1 to", n))
  score <- function(rank) stats::qnorm((rank - 0.5) / n)
  bound <- function(column) {
    own <- stats::approx(score(limits$rank), limits[[column]], score(ranks))$y
    stats::qnorm(stats::qbeta(stats::pnorm(own, log.p = TRUE), ranks, n - ranks + 1, log.p = TRUE))
  }
  data.frame(rank = ranks, normal_sd = score(ranks), low_sd = bound("low"), high_sd = bound("high"))
}

# All ranks, or about `most` of them: evenly spaced on the normal scale, and thereby every one of the outermost.
spread_ranks <- function(n, most) {
  if (n <= most) return(seq_len(n))
  at <- stats::pnorm(seq(stats::qnorm(0.5 / n), stats::qnorm(1 - 0.5 / n), length.out = most))
  sort(unique(c(1, n, round(0.5 + at * n))))
}

# One session draws the panels of a complete run, which have the same n, several times.
qq_store <- new.env(parent = emptyenv())

qq_limits <- function(n, conf, simulations) {
  key <- paste(n, conf, simulations)
  if (is.null(qq_store[[key]])) qq_store[[key]] <- with_seed(20130249, simulate_qq_limits(n, conf, simulations))
  qq_store[[key]]
}

# Order statistics of uniform values are sums of exponential gaps, so those wanted come from gamma gaps between them.
simulate_qq_limits <- function(n, conf, simulations) {
  tested <- spread_ranks(n, 100)
  ranks <- sort(unique(c(tested, quartile_ranks(n))))
  gaps <- diff(c(0, ranks, n + 1))
  sums <- apply(matrix(stats::rgamma(length(gaps) * simulations, rep(gaps, simulations)), length(gaps)), 2, cumsum)
  values <- stats::qnorm(t(sums[-length(gaps), , drop = FALSE]) / sums[length(gaps), ])
  quartiles <- quartile_ranks(n)
  at <- match(quartiles, ranks)
  scale <- (values[, at[3]] - values[, at[1]]) / diff(stats::qnorm((quartiles[c(1, 3)] - 0.5) / n))
  known <- stats::pnorm((values - values[, at[2]]) / scale)
  each <- rep(ranks, each = simulations)
  own <- stats::qnorm(stats::pbeta(known, each, n - each + 1, log.p = TRUE), log.p = TRUE)
  own <- matrix(pmin(8, pmax(-38, own)), simulations)
  centre <- colMeans(own)
  spread <- apply(own, 2, stats::sd)
  # The median is 0 by construction and has no scatter, which its neighbours have.
  free <- spread > 0
  worst <- apply(abs(t((t(own[, free]) - centre[free]) / spread[free])), 1, max)
  reach <- stats::quantile(worst, conf, names = FALSE, type = 1) * spread
  data.frame(rank = ranks, low = centre - reach, high = centre + reach)[free, ]
}

qq_needed <- 8  # fewer values have no quartiles worth the name

quartile_ranks <- function(n) pmax(1, ceiling(n * c(0.25, 0.5, 0.75)))

#' Centre and scale from order statistics
#'
#' The median, and the distance of the quartiles in units of that of the standard normal distribution: for normal
#' values its standard deviation, and deaf to tails.
#'
#' @param x Numeric, length n.
#' @return A list in the unit of `x`: `centre`, `scale`, `method` (`quartiles`; `sd` where the quartiles are equal or
#'   there are fewer than 8 values). `scale` is NA for fewer than 2 values, and 0 where all are equal.
#' @references Tukey, J. W. (1977) Exploratory Data Analysis (quartiles as a measure of spread).
#' @noRd
robust_scale <- function(x) {
  check_numeric(x, "x")
  n <- length(x)
  if (n >= qq_needed) {
    ranks <- quartile_ranks(n)
    at <- sort(x, partial = ranks)[ranks]
    if (at[3] > at[1]) {
      return(list(centre = at[2], scale = (at[3] - at[1]) / diff(stats::qnorm((ranks[c(1, 3)] - 0.5) / n)),
                  method = "quartiles"))
    }
  }
  list(centre = if (n > 0) mean(x) else NA_real_, scale = if (n > 1) stats::sd(x) else NA_real_, method = "sd")
}

residual_cell <- 200  # a cell with fewer pairs has the scale of its operation and size

#' Residuals of the pairs against the normal distribution
#'
#' Difference of each pair (log ratio of the loop times, on over off) minus the mean of its cell, over a robust scale:
#' that of its cell, or where that has fewer than 200 pairs, of all pairs of the operation and size. Tests within a
#' launch do not need normal differences; the plot shows how far from it they are, and the outliers that stay in.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `normal_sd` (the normal quantile), `residual_sd` (ordered residual,
#'   in robust standard deviations), `low_sd`, `high_sd` (simultaneous band of confidence 0.99, see `qq_band()`),
#'   `outside` (logical), `n_pairs`, `n_cells`, `scale_log` (median robust standard deviation of a pair, in log units).
#'   At most 1000 rows per panel: the outermost always. NULL without the time channel or pairs, and where no operation
#'   has 8 of them.
#' @references See `qq_band()`.
#' @noRd
plot_residuals <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$residuals %||% residual_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  # The same axis both ways, so that the line stays straight.
  long <- max(abs(frame$residual_sd)) > 12
  shown <- if (long) function(x) pseudo_log(x, 1.5) else identity
  frame[c("x", "y", "ymin", "ymax")] <- lapply(frame[c("normal_sd", "residual_sd", "low_sd", "high_sd")], shown)
  breaks <- if (long) pseudo_log_breaks(range(frame$residual_sd), 1.5) else pretty(frame$residual_sd, 6)
  breaks_x <- -6:6
  cells <- frame$n_cells[!duplicated(frame$panel)]
  blue <- okabe_ito[["blue"]]
  ggplot2::ggplot(frame, ggplot2::aes(x, y)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = ymin, ymax = ymax), fill = "grey82") +
    ggplot2::geom_abline(slope = 1, intercept = 0, colour = "grey45", linewidth = 0.35) +
    ggplot2::geom_point(ggplot2::aes(colour = outside, shape = outside), size = 1.1) +
    ggplot2::scale_colour_manual(NULL, values = c("FALSE" = blue, "TRUE" = okabe_ito[["vermillion"]]),
                                 labels = c("FALSE" = "inside the band", "TRUE" = "outside")) +
    ggplot2::scale_shape_manual(NULL, values = c("FALSE" = 16, "TRUE" = 17),
                                labels = c("FALSE" = "inside the band", "TRUE" = "outside")) +
    ggplot2::guides(colour = ggplot2::guide_legend(override.aes = list(size = 2.5))) +
    ggplot2::scale_x_continuous(breaks = shown(breaks_x), labels = breaks_x, minor_breaks = NULL) +
    ggplot2::scale_y_continuous(breaks = shown(breaks), labels = number_labels(breaks),
                                guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::facet_wrap(~panel) + theme_noiselab() +
    plot_words("Residuals of the pairs against the normal distribution",
               sprintf("time channel; unit: the pair, n = %s pairs per panel, of %s", format_range(frame$n_pairs),
                       counted(cells, "cell")),
               paste("Log ratio of each pair minus the mean of its cell, over a robust standard deviation (quartiles).",
                     "Grey: simultaneous 99 % band (alpha 0.01 for the whole panel) for as many independent normal",
                     "values standardised in the same way, by simulation. Points above it on the right or below it on",
                     "the left: heavy tails; they stay in all estimates, and the sign-flip test does not assume them",
                     "away.",
                     if (long) "Both axes are linear near 0, logarithmic beyond."),
               "normal quantile, standard deviations", "residual, robust standard deviations")
}

residual_data <- function(analysis) {
  d <- analysis$differences$time
  pairs <- analysis$pairs
  if (length(d) == 0 || length(pairs$off) == 0) return(NULL)
  known <- is.finite(d)
  d <- d[known]
  cell <- pairs$cell[known]
  panel <- panel_name(pairs$cells)
  code <- code_of(panel)[cell]
  parts <- lapply(unique(code), function(k) {
    residual_panel(d[code == k], cell[code == k], panel[match(k, code_of(panel))])
  })
  parts <- Filter(Negate(is.null), parts)
  if (length(parts) == 0) NULL else bind_rows(parts)
}

residual_panel <- function(d, cell, name) {
  cell <- code_of(cell)
  n <- tabulate(cell)
  residual <- d - (rowsum(d, cell)[, 1] / n)[cell]
  residual <- residual[n[cell] > 1]
  cell <- cell[n[cell] > 1]
  if (length(residual) < qq_needed) return(NULL)
  scale <- rep(robust_scale(residual)$scale, length(n))
  for (k in which(n >= residual_cell)) scale[k] <- robust_scale(residual[cell == k])$scale
  if (!all(scale[cell] > 0)) return(NULL)
  z <- residual / scale[cell]
  whole <- robust_scale(z)
  z <- sort((z - whole$centre) / whole$scale)
  ranks <- spread_ranks(length(z), 1000)
  band <- qq_band(length(z), ranks = ranks)
  data.frame(panel = name, band["normal_sd"], residual_sd = z[ranks], band[c("low_sd", "high_sd")],
             outside = z[ranks] < band$low_sd | z[ranks] > band$high_sd, n_pairs = length(z), n_cells = sum(n > 1),
             scale_log = stats::median(scale[unique(cell)]))
}

alt_residuals <- function(frame) {
  title <- "Residuals of pairs against the normal distribution, in robust standard deviations"
  alt_panels(frame, title, function(rows) {
    sprintf("from %s to %s, normal would be %s to %s; %s", format_effect(min(rows$residual_sd)),
            format_effect(max(rows$residual_sd)), format_effect(min(rows$normal_sd)),
            format_effect(max(rows$normal_sd)),
            if (any(rows$outside)) "leaves the band" else "within the band")
  })
}
