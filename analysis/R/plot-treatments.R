#' Slowdown by treatment
#'
#' The dose response of every treatment in one panel per operation: which hurts most at the same level? At
#' each requested level the treatments stand side by side (what was delivered is in the data). Beyond seven treatments the factor with most
#' values has the colours, and every combination of the others a row of panels.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `operation`, `bytes`, `kind`, `pattern`, `placement`,
#'   `phase`, `treatment` (colour and shape), `row` (the other factors, "" up to seven treatments),
#'   `level_requested_percent`, `level_delivered_percent` (percent of one CPU), `estimate`, `ci_low`,
#'   `ci_high` (percent), `verdict`; NULL with one treatment, or without the time channel.
#' @noRd
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
    ggplot2::scale_fill_manual(values = stats::setNames(look$colours, levels(frame$treatment)), na.value = "white",
                               guide = "none") +
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
