#' Overlapping Allan deviation
#'
#' Deviation of the difference of neighbouring averages, over 1, 2, 4, ... samples: it falls as the root
#' of the averaging time while noise is white, and rises again where drift wins.
#'
#' @param x Numeric, length n: evenly spaced series (any unit).
#' @param tau0_s Spacing of the samples in seconds, length 1.
#' @return A data frame: `m` (samples averaged), `tau_s` (their span, s), `deviation` (unit of `x`),
#'   `n` (differences averaged). No rows for fewer than 3 samples.
#' @references Allan, D. W. (1966) Proceedings of the IEEE 54, 221-230. Riley, W. (2008) NIST Special
#'   Publication 1065 (the overlapping estimator).
#' @noRd
allan_deviation <- function(x, tau0_s) {
  check_numeric(x, "x")
  check_argument(is_number(tau0_s, 0), "tau0_s", tau0_s, "one number of seconds above 0")
  n <- length(x)
  if (n < 3) {
    return(data.frame(m = numeric(), tau_s = numeric(), deviation = numeric(), n = numeric()))
  }
  m <- unique(floor(2^seq(0, log2(n / 3))))
  phase <- c(0, cumsum(x - mean(x)))
  deviation <- vapply(m, function(k) {
    means <- diff(phase, lag = k) / k
    step <- diff(means, lag = k)
    sqrt(sum(step^2) / (2 * length(step)))
  }, 0)
  data.frame(m = m, tau_s = m * tau0_s, deviation = deviation, n = n - 2 * m + 1)
}

#' Allan deviation of the clean loop time
#'
#' Of the log time per operation of the off halves, per launch. The off halves are taken as evenly
#' spaced at the median distance of their starts; what runs between them is dead time.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `launch`, `m`, `tau_s`, `deviation` (log units), `n`,
#'   `white` (what white noise of the first deviation would give); NULL with fewer than 3 off halves.
#' @noRd
plot_allan <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$allan %||% allan_data(analysis)
  if (nrow(frame) == 0) return(NULL)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  # Over one sample n differences are averaged, of n + 1 halves.
  halves <- frame$n[frame$m == 1] + 1
  frame <- frame[frame$deviation > 0, ]
  frame$series <- paste(frame$panel, frame$launch)
  frame$launch <- in_order(frame$launch)
  ggplot2::ggplot(frame, ggplot2::aes(tau_s, 100 * deviation, group = series)) +
    ggplot2::geom_line(ggplot2::aes(y = 100 * white), colour = "grey65", linetype = "22",
                       linewidth = 0.35) +
    allan_curves(frame) +
    ggplot2::scale_x_log10(labels = log_labels) + ggplot2::scale_y_log10(labels = number_labels) +
    ggplot2::facet_wrap(~panel) + theme_noiselab() +
    plot_words("Allan deviation of the clean loop time",
               sprintf("off halves, overlapping estimator, n = %s halves, %d %s",
                       format_range(halves),
                       nlevels(frame$launch), if (nlevels(frame$launch) == 1) "launch" else "launches"),
               paste(if (nlevels(frame$launch) > allan_keys) "Black: geometric mean over launches.",
                     "Grey dashes: white noise, falling as the root of time; above it the base speed wanders,",
                     "and longer averaging helps less or harms. Dead time between off halves is ignored.",
                     "No band, no test (alpha does not apply)."),
               "averaging time, s", "Allan deviation of log loop time, %")
}

allan_data <- function(analysis) {
  rows <- analysis$campaign$rows
  off <- which(rows[["arm"]] == "off")
  parts <- lapply(split(off, code_of(cell_key(rows)[off])), function(at) {
    if (length(at) < 3) return(NULL)
    spacing <- stats::median(diff(rows[["start_ns"]][at])) / 1e9
    if (!isTRUE(spacing > 0)) return(NULL)
    curve <- allan_deviation(stats::na.omit(log_or_na(operation_ns_at(rows, at))), spacing)
    cbind(data.frame(panel = panel_name(list(operation = rows[["operation"]][at[1]],
                                             bytes = rows[["bytes"]][at[1]])),
                     launch = rows[["launch"]][at[1]]),
          curve, white = curve$deviation[1] / sqrt(curve$m))
  })
  bind_rows(Filter(Negate(is.null), parts))
}

allan_keys <- 6  # more launches than that: no key for each, but their mean

# One launch: one colour. A few: a colour, line and shape for each, with a key. Many: their mean.
allan_curves <- function(frame) {
  n <- nlevels(frame$launch)
  if (n == 1) {
    return(list(ggplot2::geom_line(colour = arm_colours[["off"]]),
                ggplot2::geom_point(colour = arm_colours[["off"]], shape = arm_shapes[["off"]], size = 1.6)))
  }
  if (n > allan_keys) {
    parts <- split(frame, list(frame$panel, frame$m), drop = TRUE)
    average <- bind_rows(lapply(parts, function(p) {
      data.frame(panel = p$panel[1], tau_s = exp(mean(log(p$tau_s))), series = "mean of launches",
                 deviation = exp(mean(log(p$deviation))))
    }))
    return(list(ggplot2::geom_line(colour = okabe_ito[["sky"]], linewidth = 0.4),
                ggplot2::geom_line(data = average, linewidth = 0.9)))
  }
  lines <- c("solid", "42", "13", "1343", "62", "2262")[seq_len(n)]
  colours <- unname(okabe_ito[c("blue", "vermillion", "green", "orange", "purple", "black")])[seq_len(n)]
  list(ggplot2::geom_line(ggplot2::aes(colour = launch, linetype = launch)),
       ggplot2::geom_point(ggplot2::aes(colour = launch, shape = launch), size = 1.6),
       ggplot2::scale_colour_manual(NULL, values = colours),
       ggplot2::scale_linetype_manual(NULL, values = lines),
       ggplot2::scale_shape_manual(NULL, values = c(16, 17, 15, 18, 3, 4)[seq_len(n)]),
       ggplot2::guides(colour = ggplot2::guide_legend(nrow = ceiling(n / 3), keywidth = 2.2)))
}
