ranks_columns <- 128 # most ranks of a node side by side; more share a tile

#' Extra preempted time by rank
#'
#' A map of nodes (lines) by the ranks of each (columns, in their order): preempted time, on minus off, at the highest level
#' of each treatment. A node with more than 128 ranks has neighbours in one tile, which shows the largest.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `host`, `line` (of the host, from 1), `column` (from 1), `rank` (the one
#'   with the largest shift of the tile), `cpu`, `ranks` (in the tile), `level_requested_percent`,
#'   `preempted_shift_percent` (percent of one CPU), `ci_low`, `ci_high`, `detection_limit`, `p_holm`, `found` (see
#'   [locate_noise()]). NULL with one rank, and where no launch has shifts by rank.
#' @noRd
plot_ranks <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$ranks %||% ranks_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  hosts <- unique(frame$host[order(frame$line)])
  lines <- length(hosts)
  frame$y <- lines + 1 - frame$line
  shown <- seq(1, lines, by = ceiling(lines / 32))
  here <- frame[frame$found == "here", ]
  together <- max(frame$ranks)
  ggplot2::ggplot(frame, ggplot2::aes(column, y)) +
    ggplot2::geom_tile(ggplot2::aes(fill = pmax(0, preempted_shift_percent))) +
    (if (lines <= 64) ggplot2::geom_point(data = here, shape = 24, size = if (lines > 20) 0.9 else 1.8, fill = okabe_ito[["vermillion"]])) +
    ggplot2::scale_fill_gradientn("preempted time, on minus off, % of one CPU", colours = heatmap_colours, trans = "sqrt",
                                  limits = c(0, NA), na.value = "grey75") +
    ggplot2::guides(fill = ggplot2::guide_colourbar(title.position = "top", title.hjust = 0.5)) +
    ggplot2::scale_y_continuous(breaks = lines + 1 - shown, labels = hosts[shown], expand = c(0, 0), minor_breaks = NULL) +
    ggplot2::scale_x_continuous(breaks = whole_breaks, expand = c(0, 0)) +
    ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    ggplot2::theme(legend.key.width = ggplot2::unit(46, "pt"), legend.key.height = ggplot2::unit(9, "pt"),
                   legend.title = ggplot2::element_text(size = 9.5), panel.background = ggplot2::element_rect(fill = "grey75"),
                   panel.grid = ggplot2::element_blank()) +
    plot_words("Extra preempted time by rank",
               sprintf("%s ranks on %s, n = %s", format_count(sum(frame$ranks[frame$panel == frame$panel[1]])),
                       counted(lines, "node"), attr(frame, "n") %||% ""),
               paste0("Square root scale; what is below 0 is drawn as 0. ", if (lines <= 64) sprintf(
                 "Triangles: more than 0 at one-sided alpha %g after Holm's correction over the ranks. ", analysis$alpha),
                 if (together > 1) sprintf("A tile holds up to %d neighbouring ranks and shows the largest. ", together),
                 "Grey: not known. No bands."), "rank of the node, in order", NULL)
}

whole_breaks <- function(limits) {
  breaks <- pretty(limits, 8)
  unique(breaks[breaks == round(breaks) & breaks >= 1])
}

ranks_data <- function(analysis) {
  rows <- answering_rows(location_of(analysis)$ranks)
  if (is.null(rows)) return(NULL)
  rows <- rows[!is.na(rows$preempted_shift_percent), ]
  if (length(unique(rows$rank)) < 2) return(NULL)
  rows$panel <- dose_panel(rows)
  rows$line <- code_of(rows$host)
  rows <- rows[order(match(rows$panel, rows$panel), rows$line, rows$rank), ]
  turn <- stats::ave(rows$rank, rows$panel, rows$host, FUN = seq_along)
  per <- ceiling(max(turn) / ranks_columns)
  rows$column <- (turn - 1) %/% per + 1
  tile <- paste(rows$panel, rows$line, rows$column)
  rows$ranks <- stats::ave(rows$rank, tile, FUN = length)
  rows <- rows[order(match(tile, tile), -rows$preempted_shift_percent), ]
  rows <- rows[!duplicated(rows[c("panel", "line", "column")]), ]
  rownames(rows) <- NULL
  unit <- rows$unit_of_inference[1]
  n <- if (unit == "pair") rows$n_pairs else rows$n_launches
  structure(rows[c("panel", "host", "line", "column", "rank", "cpu", "ranks", "level_requested_percent", "preempted_shift_percent",
                   "ci_low", "ci_high", "detection_limit", "p_holm", "found")],
            n = paste(format_range(n), c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")[[unit]]))
}

size_ranks <- function(frame, analysis) {
  c(9, min(40, 2.6 + n_panels(frame) * (0.4 + max(0.6, min(6, 0.22 * max(frame$line))))))
}

alt_ranks <- function(frame) {
  alt_panels(frame, "Extra preempted time by rank", function(rows) {
    top <- rows[which.max(rows$preempted_shift_percent), ]
    n <- sum(rows$found == "here")
    sprintf("most by rank %s of %s, %s %% of one CPU; detected on %s", format_count(top$rank), top$host,
            format_effect(top$preempted_shift_percent), if (n == 0) "none" else counted(n, "rank"))
  })
}
