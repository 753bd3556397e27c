nodes_lines <- 60 # more nodes than that have no names on their axis
nodes_named <- 8  # but the first of those found

# A node's preempted time, on minus off (percent of one CPU), at the highest level of each treatment, the
# largest first. See `locate_noise()`.
plot_nodes <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$nodes %||% nodes_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  lines <- max(frame$place)
  frame$y <- lines + 1 - frame$place
  scale <- shift_scale(frame[c("preempted_shift_percent", "ci_low", "ci_high")],
                       frame$preempted_shift_percent)
  frame[c("preempted_shift_percent", "ci_low", "ci_high")] <- scale$values
  few <- lines <= nodes_lines && n_panels(frame) == 1
  unit <- frame$unit_of_inference[1]
  by_pair <- unit == "pair"
  named <- frame[if (few) rep(FALSE, nrow(frame)) else frame$found == "here" & frame$place <= nodes_named, ]
  # Below each other, however near their points are.
  named$y_name <- lines - (named$place - 1) * max(1, lines / 24)
  ggplot2::ggplot(frame, ggplot2::aes(preempted_shift_percent, y)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low, xmax = ci_high), na.rm = TRUE,
                            colour = okabe_ito[["blue"]],
                            linewidth = if (lines > nodes_lines) 0.25 else 0.5) +
    ggplot2::geom_point(ggplot2::aes(shape = found, fill = found),
                        size = if (lines > nodes_lines) 1.3 else 2.6, na.rm = TRUE) +
    (if (nrow(named) > 0) {
      ggplot2::geom_text(ggplot2::aes(y = y_name, label = host), data = named, hjust = 1.3, size = 2.9)
    }) + verdict_scales(frame$found, c(here = "loses CPU time with the load")) + scale$axis +
    (if (few) {
      ggplot2::scale_y_continuous(breaks = frame$y, labels = frame$host, minor_breaks = NULL,
                                  expand = ggplot2::expansion(add = 0.6))
    } else {
      ggplot2::scale_y_continuous(breaks = NULL, expand = ggplot2::expansion(mult = 0.02, add = 0.6))
    }) + ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    plot_words(
      "Extra preempted time by node",
      sprintf("scope: %s; unit of inference: the %s, n = %s; %s",
              if (by_pair) scope_launch else scope_campaign, unit,
              format_range(if (by_pair) frame$n_pairs else frame$n_launches), counted(lines, "node")),
      paste0(
        sprintf(
          paste(
            paste0("Preempted time of the ranks of a node, on minus off. Bars: %g %% confidence interval of ",
                   "each by itself. Loses CPU time:"),
            paste0("more than 0 at one-sided alpha %g after Holm's correction over the nodes; trace: ",
                   "clearly less than a tenth of the most.")
          ),
          100 * (1 - analysis$alpha),
          analysis$alpha
        ),
        scale$words
      ),
      "preempted time, on minus off, % of one CPU",
      if (few) NULL else "nodes, the most on top"
    )
}

nodes_data <- function(analysis) {
  rows <- answering_rows(location_of(analysis)$nodes)
  if (is.null(rows)) return(NULL)
  rows <- rows[!is.na(rows$preempted_shift_percent), ]
  if (nrow(rows) == 0) return(NULL)
  rows$panel <- dose_panel(rows)
  rows <- rows[order(match(rows$panel, rows$panel), -rows$preempted_shift_percent), ]
  rows$place <- stats::ave(rows$preempted_shift_percent, rows$panel, FUN = seq_along)
  rownames(rows) <- NULL
  rows[c("panel", "host", "ranks", "place", "kind", "level_requested_percent", "preempted_shift_percent",
         "ci_low", "ci_high", "detection_limit", "extra_share_percent", "p_holm", "found", "n_pairs",
         "n_launches", "unit_of_inference")]
}

location_of <- function(analysis) {
  analysis$location %||%
    tryCatch(locate_noise(analysis$campaign, analysis$alpha, analysis$power),
             nl_error_data = function(e) NULL)
}

dose_panel <- function(rows) {
  treatment <- treatment_label(
    rows, setdiff(varying_factors(rows), if (any(!has_level(rows$level_requested_percent))) "kind")
  )
  paste0(treatment, ifelse(nzchar(treatment), ", ", ""), level_label(rows))
}

# Pseudo-logarithmic where one value dwarfs the others. Values on the axis, its scales and what the caption
# says of it.
shift_scale <- function(values, middle) {
  typical <- stats::median(abs(middle), na.rm = TRUE)
  wide <- max(abs(middle), na.rm = TRUE) > 20 * typical && length(middle) > 2
  if (!wide) return(list(values = values, axis = ggplot2::scale_x_continuous(), words = ""))
  sigma <- 10^floor(log10(max(typical, max(abs(middle), na.rm = TRUE) * 1e-4)))
  scaled <- lapply(values, pseudo_log, sigma = sigma)
  breaks <- pseudo_log_breaks(range(unlist(values), na.rm = TRUE), sigma)
  list(values = scaled, words = " The axis is linear near 0, logarithmic beyond.",
       axis = pseudo_axis(ggplot2::scale_x_continuous, breaks, sigma))
}

size_nodes <- function(frame, analysis) {
  lines <- max(frame$place)
  c(9, min(40, 2.2 + n_panels(frame) * (0.3 + if (lines > nodes_lines) 4.2 else max(0.8, 0.2 * lines))))
}

alt_nodes <- function(frame) {
  alt_panels(frame, "Extra preempted time by node", function(rows) {
    here <- rows[rows$found == "here", ]
    top <- rows[which.max(rows$preempted_shift_percent), ]
    most <- sprintf("most on %s, %s %% of one CPU %s", top$host, format_effect(top$preempted_shift_percent),
                    format_interval(top$ci_low, top$ci_high))
    if (nrow(here) == 0) {
      paste0("not detected on any of ", counted(nrow(rows), "node"), " (", most, ")")
    } else {
      paste0("detected on ", few_words(here$host, 6), " of ", counted(nrow(rows), "node"), ", ", most)
    }
  })
}
