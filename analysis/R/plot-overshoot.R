#' How far from their times starts began
#'
#' Share of the starts (of every rank) whose overshoot reached at least so much, by operation and arm, with the bound
#' above which a start is flagged late. All launches with synchronised starts merged.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `arm`, `level` (requested, percent of one CPU), `overshoot_us` (bins
#'   below 1 ns are drawn at 1 ns), `probability`, `count`, `late_bound_us` (the largest of the launches'); NULL without
#'   synchronised starts.
#' @noRd
plot_overshoot <- function(analysis, draw = TRUE) {
  hist <- as.data.frame(analysis$campaign$starts_hist)
  hist <- hist[hist$measure == "overshoot" & hist$count > 0, ]
  if (NROW(hist) == 0) return(NULL)
  bounds <- unlist(lapply(analysis$campaign$launches, function(info) start_of(info)$late_bound_ns))
  bound_us <- if (length(bounds) > 0) max(bounds) / 1000 else NA_real_
  key <- combine_keys(code_of(hist$operation), hist$bytes, code_of(hist$arm), hist$level_requested_percent, treatment_code(hist))
  frame <- bind_rows(lapply(split(hist, code_of(key)), function(h) {
    tail <- ccdf_from_hist(h$lo_ns, h$count)
    data.frame(panel = if (h$arm[1] == "off") panel_name(h[1, ]) else cell_panel(h[1, ], analysis),
               operation = panel_name(h[1, ]), arm = h$arm[1], level = h$level_requested_percent[1],
               overshoot_us = pmax(1, tail$lo_ns) / 1000, probability = tail$probability, count = tail$count,
               late_bound_us = bound_us)
  }))
  if (several_treatments(analysis)) frame <- beside_treatments(frame)
  frame$operation <- NULL
  if (!draw) return(frame)
  frame <- frame[order(frame$level, frame$arm), ]
  frame$panel <- panel_factor(frame$panel, analysis)
  series <- in_order(ifelse(frame$arm == "off", "off", paste("on", level_words(frame$level, analysis))))
  names_on <- setdiff(levels(series), "off")
  frame$series <- factor(series, c("off", names_on))
  colours <- c("#000000", rep_len(okabe_ito[c("sky", "green", "orange", "purple", "vermillion", "blue")], length(names_on)))
  names(colours) <- c("off", names_on)
  lines <- c("solid", rep_len(c("22", "42", "13", "62", "1343"), length(names_on)))
  names(lines) <- names(colours)
  total <- range(rowsum(frame$count, paste(frame$panel, frame$series)))
  ggplot2::ggplot(frame, ggplot2::aes(overshoot_us, probability)) +
    (if (!is.na(bound_us)) ggplot2::geom_vline(xintercept = bound_us, colour = okabe_ito[["vermillion"]], linewidth = 0.4)) +
    ggplot2::geom_step(ggplot2::aes(colour = series, linetype = series), direction = "vh") +
    ggplot2::scale_colour_manual(NULL, values = colours) + ggplot2::scale_linetype_manual(NULL, values = lines) +
    ggplot2::scale_x_log10(labels = log_labels) + ggplot2::scale_y_log10(labels = log_labels) +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = 1, keywidth = 2.2)) +
    panel_facets(frame, analysis) + theme_noiselab() +
    (if (several_treatments(analysis)) ggplot2::theme(panel.spacing.x = ggplot2::unit(16, "pt"))) +
    plot_words("How far from their times starts began",
               sprintf("n = %s starts x ranks per curve, over all launches", tail_range(total)),
               paste("Share of starts that overshot their time by at least so much, each rank counted.",
                     if (!is.na(bound_us)) {
                       sprintf("Upright line: the bound (%s \u00b5s) above which a start is flagged late; it is kept.",
                               number_labels(bound_us))
                     },
                     "Solid black: off; dashed: on, by requested level. No band, no test (alpha does not apply)."),
               "start overshoot, \u00b5s", "share of starts at least as far off")
}

alt_overshoot <- function(frame) {
  alt_panels(frame, "Start overshoot that 1 in 100 starts reaches", function(rows) {
    reached <- function(rows) format_effect(max(rows$overshoot_us[rows$probability >= 0.01]), FALSE)
    off <- rows[rows$arm == "off", ]
    on <- rows[rows$arm == "on" & rows$level == max(rows$level), ]
    paste(c(if (nrow(off) > 0) paste(reached(off), "\u00b5s off"),
            if (nrow(on) > 0) paste(reached(on), "\u00b5s on", alt_at(on$level[1]))), collapse = ", ")
  })
}
