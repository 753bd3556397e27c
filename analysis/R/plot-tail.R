#' Complementary distribution function from a histogram
#'
#' @param lo_ns Numeric, length n: lower edge of each bin, ns; bins may occur several times (launches
#'   are merged by adding counts).
#' @param count Numeric, length n: operations in each bin.
#' @return A data frame, sorted: `lo_ns`, `count`, `probability` (share of operations that took `lo_ns`
#'   or longer).
#' @noRd
ccdf_from_hist <- function(lo_ns, count) {
  check_numeric(lo_ns, "lo_ns")
  check_numeric(count, "count")
  check_argument(length(lo_ns) == length(count), "count", length(count),
                 paste(length(lo_ns), "counts, as bins"))
  edges <- sort(unique(lo_ns))
  if (length(edges) == 0) {
    return(data.frame(lo_ns = numeric(), count = numeric(), probability = numeric()))
  }
  merged <- as.numeric(rowsum(as.numeric(count), match(lo_ns, edges)))
  data.frame(lo_ns = edges, count = merged, probability = rev(cumsum(rev(merged))) / sum(merged))
}

#' Tail of the operation times, by arm
#'
#' From the latency histograms, all launches merged. The off curve stands in the panel of every treatment.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `arm`, `level` (requested, percent of one CPU),
#'   `lo_us`, `probability`, `count`; NULL without histograms.
#' @noRd
plot_tail <- function(analysis, draw = TRUE) {
  hist <- as.data.frame(analysis$campaign$hist)
  if (nrow(hist) == 0) return(NULL)
  counted <- stats::ave(hist$count, hist$operation, hist$bytes, hist$arm, hist$level_requested_percent,
                        treatment_code(hist), FUN = sum)
  hist <- hist[counted > 0, ]
  if (nrow(hist) == 0) return(NULL)
  key <- combine_keys(hist$operation, hist$bytes, hist$arm, hist$level_requested_percent, treatment_code(hist))
  curves <- lapply(split(hist, code_of(key)), function(h) {
    tail <- ccdf_from_hist(h$lo_ns, h$count)
    data.frame(panel = if (h$arm[1] == "off") panel_name(h[1, ]) else cell_panel(h[1, ], analysis),
               operation = panel_name(h[1, ]), arm = h$arm[1], level = h$level_requested_percent[1],
               lo_us = tail$lo_ns / 1000, probability = tail$probability, count = tail$count)
  })
  frame <- bind_rows(curves)
  if (several_treatments(analysis)) frame <- beside_treatments(frame)
  frame$operation <- NULL
  if (!draw) return(frame)
  frame <- frame[order(frame$level, frame$arm), ]
  frame$panel <- panel_factor(frame$panel, analysis)
  frame$series <- in_order(ifelse(frame$arm == "off", "off", paste("on", level_words(frame$level, analysis))))
  names_on <- setdiff(levels(frame$series), "off")
  frame$series <- factor(frame$series, c("off", names_on))
  colours <- c("#000000", rep_len(okabe_ito[c("sky", "green", "orange", "purple", "vermillion", "blue")],
                                  length(names_on)))
  total <- range(rowsum(frame$count, paste(frame$panel, frame$series)))
  ggplot2::ggplot(frame[frame$lo_us > 0, ], ggplot2::aes(lo_us, probability)) +
    ggplot2::geom_step(ggplot2::aes(colour = series, linetype = series), direction = "vh") +
    ggplot2::scale_colour_manual(NULL, values = unname(colours)) +
    ggplot2::scale_linetype_manual(NULL, values = c("solid", rep_len(c("22", "42", "13", "62", "1343"),
                                                                     length(names_on)))) +
    ggplot2::scale_x_log10(labels = log_labels) + ggplot2::scale_y_log10(labels = log_labels) +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = 1, keywidth = 2.2)) +
    panel_facets(frame, analysis, "free_x") + theme_noiselab() +
    (if (several_treatments(analysis)) ggplot2::theme(panel.spacing.x = ggplot2::unit(16, "pt"))) +
    plot_words("Tail of the operation times",
               sprintf("n = %s operations per curve, over all ranks and launches", tail_range(total)),
               paste("Share of operations that took at least this long. Solid black: off; dashed: on, by",
                     "requested level. Bins are at most 0.78 % wide. No band, no test (alpha does not",
                     "apply)."),
               "time of one operation, \u00b5s", "share of operations at least as long")
}

# Off curves copied to each panel of their operation that has an on curve; alone where there is none.
beside_treatments <- function(frame) {
  on <- unique(frame[frame$arm == "on", c("operation", "panel")])
  off <- frame[frame$arm == "off", ]
  copies <- lapply(seq_len(nrow(on)), function(i) {
    rows <- off[off$operation == on$operation[i], ]
    rows$panel <- rep(on$panel[i], nrow(rows))
    rows
  })
  bind_rows(c(list(off[!off$operation %in% on$operation, ]), copies, list(frame[frame$arm == "on", ])))
}

tail_range <- function(n) {
  text <- format(signif(n, 3), big.mark = " ", scientific = FALSE, trim = TRUE)
  if (text[1] == text[2]) text[1] else paste(text, collapse = " to ")
}
