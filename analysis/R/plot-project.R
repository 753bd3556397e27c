# Plot of a projection to many nodes.

#' Slowdown by number of nodes
#'
#' A line for each time between two synchronisations, its interval as a band, all nodes hit at once in grey; with a margin a dashed line.
#'
#' @param projection From `make_projection()`.
#' @param draw Logical, length 1: FALSE returns the data frame that would be drawn.
#' @return A ggplot, or a data frame with `nodes`, `every_ns`, `phase`, `slowdown_percent`, `ci_low`, `ci_high` (percent; `ci_high` NA: a lower bound),
#'   `limit_percent`, `method`, `reason`: as the rows of the projection, at more numbers of nodes where that takes no simulation.
#' @noRd
plot_projection <- function(projection, draw = TRUE) {
  frame <- projection$frames$projection %||% projection_frame(projection)
  if (!draw) return(frame)
  open <- at_least(frame)
  least <- min(frame$slowdown_percent[!open], frame$ci_low[frame$ci_low > 0]) / 2
  frame$shown <- pmax(least, ifelse(open, frame$ci_low, frame$slowdown_percent))
  frame$ci_low <- pmax(least, frame$ci_low)
  every <- format_time(frame$every_ns / 1e9)
  frame$every <- factor(every, unique(every[order(frame$every_ns)]))
  own <- frame[frame$phase == "independent", ]
  # The same for each step, but where nodes are hit a little apart.
  common <- frame[frame$phase == "common" & is.finite(frame$slowdown_percent), ]
  colours <- rep_len(unname(okabe_ito[c("vermillion", "orange", "green", "blue", "purple", "sky", "black")]), nlevels(frame$every))
  margin <- projection$request$margin
  ggplot2::ggplot(own, ggplot2::aes(nodes, shown, colour = every, fill = every)) +
    ggplot2::geom_line(data = common, ggplot2::aes(y = slowdown_percent, group = every), colour = "grey60", linetype = "dotdash", linewidth = 0.5) +
    ggplot2::geom_ribbon(data = own[!is.na(own$ci_high), ], ggplot2::aes(ymin = ci_low, ymax = ci_high), alpha = 0.2, colour = NA) +
    (if (!is.null(margin)) ggplot2::geom_hline(yintercept = margin, colour = okabe_ito[["vermillion"]], linetype = "dashed", linewidth = 0.4)) +
    ggplot2::geom_line(data = own[is.na(own$reason), ], linewidth = 0.7) +
    ggplot2::geom_line(data = own[!is.na(own$reason), ], linewidth = 0.7, linetype = "dotted", show.legend = FALSE) +
    ggplot2::geom_point(data = own[own$nodes %in% projection$request$nodes & is.na(own$reason), ], size = 1.8) +
    ggplot2::geom_point(data = own[own$nodes %in% projection$request$nodes & !is.na(own$reason), ], shape = 24, size = 2.4, fill = "white",
                        show.legend = FALSE) +
    ggplot2::scale_x_log10(breaks = 10^(0:9), labels = count_words_each, minor_breaks = NULL) +
    ggplot2::scale_y_log10(labels = number_labels) +
    ggplot2::scale_colour_manual("synchronised every", values = colours, aesthetics = c("colour", "fill")) + theme_noiselab() +
    plot_words("Slowdown by number of nodes", projection_legend(projection), paste0(
      sprintf("Bands: %s interval. Grey: all nodes hit at the same moment.", format_confidence(projection$request$alpha)),
      if (any(open & frame$phase == "independent")) " Dotted, triangles: at least; the data do not carry that size.",
      if (!is.null(margin)) sprintf(" Dashed: the margin, %s %%.", format_level(margin))), "nodes (logarithmic)", "slowdown, % (logarithmic)")
}

count_words_each <- function(n) vapply(n, count_words, "")

projection_frame <- function(projection) {
  request <- projection$request
  nodes <- request$nodes
  rows <- projection$rows
  if (!is.null(request$pattern) || length(nodes) < 2) return(rows)
  steps <- seq(log10(min(nodes)), log10(max(nodes)), length.out = 1 + ceiling(plot_points_per_decade * log10(max(nodes) / min(nodes))))
  between <- setdiff(unique(round(10^steps)), nodes)
  if (length(between) == 0) return(rows)
  rows <- rbind(rows, project_noise(projection$noise, between, request$every_s, request$alpha, request$spread_s, request$wander, request$seed))
  rows[order(rows$phase != "independent", rows$every_ns, rows$nodes), ]
}

plot_points_per_decade <- 3

alt_projection <- function(frame) {
  own <- frame[frame$phase == "independent", ]
  parts <- split(own, own$every_ns)
  paste0("Slowdown by number of nodes. ", paste(vapply(parts, function(rows) {
    top <- rows[which.max(rows$nodes), ]
    sprintf("Every %s: %s on %s", format_time(top$every_ns / 1e9), projected_words(top), nodes_words(top$nodes))
  }, ""), collapse = "; "), ".")
}
