# The plot of a projection: slowdown by number of nodes.

# `projection`: of make_projection().
plot_scale <- function(projection, draw = TRUE) {
  frame <- projection$frames$scale %||% scale_data(projection)
  if (!draw || is.null(frame)) return(frame)
  phases <- c(independent = "each node hit on its own", common = "all nodes hit at the same moment")
  frame$phase <- factor(phases[frame$phase], phases)
  frame$step <- in_order(paste("synchronised every", vapply(frame$every_ns / 1e9, format_time, "")))
  least <- least_shown(frame)
  # What is open upwards, or goes beyond the picture, has a band up to its edge.
  top <- max(c(frame$slowdown_percent, frame$ci_high), na.rm = TRUE) * 2
  frame$low <- pmax(frame$ci_low, least)
  frame$high <- pmax(ifelse(is.na(frame$ci_high), top, pmin(frame$ci_high, top)), least)
  frame$middle <- pmax(frame$slowdown_percent, least)
  open <- frame[is.na(frame$ci_high), ]
  ggplot2::ggplot(frame, ggplot2::aes(nodes, middle, colour = step, fill = step)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = low, ymax = high), alpha = 0.18, colour = NA) +
    ggplot2::geom_line(linewidth = 0.6) + ggplot2::geom_point(size = 1.6) +
    (if (nrow(open) > 0) ggplot2::geom_point(data = open, shape = 24, size = 2.4)) +
    ggplot2::scale_x_log10(breaks = 10^(0:7),
                           labels = log_labels(10^(0:7))) + ggplot2::scale_y_log10(labels = log_labels) +
    ggplot2::scale_colour_manual(NULL, values = scale_colours(frame$step)) +
    ggplot2::scale_fill_manual(NULL, values = scale_colours(frame$step)) +
    ggplot2::facet_wrap(~phase, ncol = 2) + theme_noiselab() +
    plot_words("Slowdown by number of nodes", paste0(projection$noise$name, "; ", watched_words(projection)),
               sprintf(paste(
      "Bands: %g %% interval (alpha %g at each side), of what was recorded and of the bursts' phases.%s",
      "All nodes are taken to be like those that",
      "were recorded."
    ), 100 * (1 - projection$request$alpha), projection$request$alpha / 2,
    if (nrow(open) > 0) " Triangles: at least so much, the record has no upper end." else ""), "nodes",
      "slowdown, %")
}

scale_colours <- function(step) unname(okabe_ito[c("blue", "vermillion", "green", "purple", "orange", "sky",
                                                   "black")])[seq_len(nlevels(step))]

watched_words <- function(projection) {
  noise <- projection$noise
  if (!isTRUE(is.finite(noise$watched_s))) return("n = 0 recorded bursts: what is assumed")
  sprintf("n = %s recorded bursts in %s", format_count(noise$n_bursts %||% NA),
          format_span(noise$watched_s, 3))
}

# A logarithmic axis has no 0: what is less is drawn at its lower edge.
least_shown <- function(frame) {
  seen <- c(frame$slowdown_percent, frame$ci_high)
  seen <- seen[is.finite(seen) & seen > 0]
  if (length(seen) == 0) 1e-4 else max(1e-4, min(seen) / 3)
}

scale_data <- function(projection) {
  rows <- projection$rows
  rows <- rows[is.finite(rows$slowdown_percent), ]
  if (length(unique(rows$nodes)) < 2) return(NULL)
  rows[intersect(c("nodes", "every_ns", "phase", "slowdown_percent", "ci_low", "ci_high", "method", "reason"),
                 names(rows))]
}

alt_scale <- function(frame) {
  of <- frame[frame$phase == "independent", ]
  rows <- of[of$nodes == max(of$nodes), ]
  sprintf("Slowdown by number of nodes, each hit on its own: on %s nodes %s.", format_count(max(of$nodes)),
          join_words(sprintf(
    "%s %% when synchronised every %s", plain(rows$slowdown_percent),
      vapply(rows$every_ns / 1e9, format_time, "")
  )))
}
