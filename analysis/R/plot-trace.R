# The first launch in run order; long runs thinned to some 4000 points per operation: every k-th pair, and
# always the 200 slowest halves.
plot_trace <- function(analysis, draw = TRUE) {
  campaign <- analysis$campaign
  launch <- campaign$rows[["launch"]][1]
  at <- which(campaign$rows[["launch"]] == launch)
  frame <- analysis$frames$trace %||%
    bind_rows(lapply(split(at, code_of(cell_key(campaign$rows)[at])), trace_panel, rows = campaign$rows))
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  thinned <- max(frame$kept_one_in)
  several <- length(campaign$launches)
  # Opaque, as half-transparent points make a picture twice as large; in run order neither arm hides the
  # other.
  ggplot2::ggplot(frame[order(frame$start_s), ], ggplot2::aes(start_s, time_us)) +
    ggplot2::geom_point(ggplot2::aes(colour = arm, shape = arm), size = 0.6) +
    ggplot2::scale_colour_manual(NULL, values = arm_colours) +
    ggplot2::scale_shape_manual(NULL, values = arm_shapes) +
    ggplot2::guides(
      colour = ggplot2::guide_legend(override.aes = list(size = 2.5))
    ) + ggplot2::scale_y_log10(labels = number_labels, breaks = function(r) trace_breaks(r)) +
    ggplot2::facet_wrap(~panel, ncol = 1, scales = "free_y") + theme_noiselab() +
    plot_words(
      "Halves in run order",
      paste0("launch ", launch, if (several > 1) paste(", the first of", several), ", n = ",
             format_count(length(at)), " halves"),
      paste0(
        if (thinned > 1) {
          paste0("Drawn: 1 of ", thinned, " pairs, and the 200 slowest ", "halves of each operation. ")
        } else {
          "Every half is drawn. "
        },
        if (several_treatments(analysis)) "On: all treatments and levels. ",
        "Log axis. No test is made here (no band, alpha does not apply)."
      ),
      "time since the first half, s",
      "time per operation, \u00b5s"
    )
}

trace_breaks <- function(range) {
  decades <- 10^seq(floor(log10(range[1])), ceiling(log10(range[2])))
  breaks <- as.vector(outer(c(1, 2, 5), decades))
  breaks <- breaks[breaks >= range[1] & breaks <= range[2]]
  if (length(breaks) < 3) pretty(range, 4) else breaks
}

trace_panel <- function(at, rows, most = 4000, slowest = 200) {
  pair <- rows[["pair"]][at]
  time_us <- operation_ns_at(rows, at) / 1000
  step <- max(1, ceiling(length(at) / (most - slowest)))
  keep <- step == 1 | code_of(pair) %% step == 0
  if (step > 1) keep[order(time_us, decreasing = TRUE)[seq_len(slowest)]] <- TRUE
  at <- at[keep]
  data.frame(panel = panel_name(list(operation = rows[["operation"]][at], bytes = rows[["bytes"]][at])),
             start_s = rows[["start_ns"]][at] / 1e9, time_us = time_us[keep],
             arm = rows[["arm"]][at], level = rows[["level_requested_percent"]][at],
             kept_one_in = step)
}

# The share of operations that took `lo_ns` or longer, per bin; bins may occur several times (launches are
# merged).
ccdf_from_hist <- function(lo_ns, count) {
  edges <- sort(unique(lo_ns))
  if (length(edges) == 0) return(data.frame(lo_ns = numeric(), count = numeric(), probability = numeric()))
  merged <- as.numeric(rowsum(as.numeric(count), match(lo_ns, edges)))
  data.frame(lo_ns = edges, count = merged, probability = rev(cumsum(rev(merged))) / sum(merged))
}

# From the latency histograms, all launches merged; the off curve stands in the panel of every treatment.
plot_tail <- function(analysis, draw = TRUE) {
  hist <- as.data.frame(analysis$campaign$hist)
  if (!any(hist$count > 0)) return(NULL)
  key <- combine_keys(hist$operation, hist$bytes, hist$arm, hist$level_requested_percent,
                      treatment_code(hist))
  has_any <- stats::ave(hist$count, key, FUN = sum) > 0
  hist <- hist[has_any, ]
  key <- key[has_any]
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
  colours <- c(
    "#000000",
    rep_len(okabe_ito[c("sky", "green", "orange", "purple", "vermillion", "blue")], length(names_on))
  )
  total <- unique(format(signif(range(rowsum(frame$count, paste(frame$panel, frame$series))), 3),
                         big.mark = " ", scientific = FALSE, trim = TRUE))
  ggplot2::ggplot(frame[frame$lo_us > 0, ], ggplot2::aes(lo_us, probability)) +
    ggplot2::geom_step(ggplot2::aes(colour = series, linetype = series),
                       direction = "vh") + ggplot2::scale_colour_manual(NULL, values = unname(colours)) +
    ggplot2::scale_linetype_manual(
      NULL, values = c("solid", rep_len(c("22", "42", "13", "62", "1343"), length(names_on)))
    ) + ggplot2::scale_x_log10(labels = log_labels) + ggplot2::scale_y_log10(labels = log_labels) +
    ggplot2::guides(colour = ggplot2::guide_legend(nrow = 1, keywidth = 2.2)) +
    panel_facets(frame, analysis, "free_x") + theme_noiselab() +
    (if (several_treatments(analysis)) {
      ggplot2::theme(panel.spacing.x = ggplot2::unit(16, "pt"))
    }) +
    plot_words(
      "Tail of the operation times",
      sprintf("n = %s operations per curve, over all ranks and launches", paste(total, collapse = " to ")),
      paste("Share of operations that took at least this long. Solid black: off; dashed: on, by",
            "requested level. Bins are at most 0.78 % wide. No band, no test (alpha does not", "apply)."),
      "time of one operation, \u00b5s",
      "share of operations at least as long"
    )
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
