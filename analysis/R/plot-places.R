nodes_lines <- 60 # more nodes than that have no names on their axis
nodes_named <- 8  # but the first of those found

# A node's preempted time, on minus off (percent of one CPU), at the highest level of each treatment, the largest first. See `locate_noise()`.
plot_nodes <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$nodes %||% nodes_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  lines <- max(frame$place)
  frame$y <- lines + 1 - frame$place
  scale <- shift_scale(frame[c("preempted_shift_percent", "ci_low", "ci_high")], frame$preempted_shift_percent)
  frame[c("preempted_shift_percent", "ci_low", "ci_high")] <- scale$values
  few <- lines <= nodes_lines && n_panels(frame) == 1
  unit <- frame$unit_of_inference[1]
  by_pair <- unit == "pair"
  named <- frame[if (few) rep(FALSE, nrow(frame)) else frame$found == "here" & frame$place <= nodes_named, ]
  # Below each other, however near their points are.
  named$y_name <- lines - (named$place - 1) * max(1, lines / 24)
  ggplot2::ggplot(frame, ggplot2::aes(preempted_shift_percent, y)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low, xmax = ci_high), na.rm = TRUE, colour = okabe_ito[["blue"]],
                            linewidth = if (lines > nodes_lines) 0.25 else 0.5) +
    ggplot2::geom_point(ggplot2::aes(shape = found, fill = found), size = if (lines > nodes_lines) 1.3 else 2.6, na.rm = TRUE) +
    (if (nrow(named) > 0) ggplot2::geom_text(ggplot2::aes(y = y_name, label = host), data = named, hjust = 1.3, size = 2.9)) +
    verdict_scales(frame$found, c(here = "the noise is here")) +
    scale$axis + (if (few) {
      ggplot2::scale_y_continuous(breaks = frame$y, labels = frame$host, minor_breaks = NULL, expand = ggplot2::expansion(add = 0.6))
    } else ggplot2::scale_y_continuous(breaks = NULL, expand = ggplot2::expansion(mult = 0.02, add = 0.6))) +
    ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    plot_words("Extra preempted time by node", sprintf(
      "scope: %s; unit of inference: the %s, n = %s; %s", if (by_pair) scope_launch else scope_campaign, unit,
      format_range(if (by_pair) frame$n_pairs else frame$n_launches), counted(lines, "node")
    ), paste0(sprintf(paste(
      "Preempted time of the ranks of a node, on minus off. Bars: %g %% confidence interval of each by itself. The noise is here:",
      "more than 0 at one-sided alpha %g after Holm's correction over the nodes; trace: clearly less than a tenth of the most."
    ), 100 * (1 - analysis$alpha), analysis$alpha), scale$words), "preempted time, on minus off, % of one CPU",
    if (few) NULL else "nodes, the most on top")
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
  rows[c("panel", "host", "ranks", "place", "kind", "level_requested_percent", "preempted_shift_percent", "ci_low", "ci_high",
         "detection_limit", "extra_share_percent", "p_holm", "found", "n_pairs", "n_launches", "unit_of_inference")]
}

location_of <- function(analysis) {
  analysis$location %||% tryCatch(locate_noise(analysis$campaign, analysis$alpha, analysis$power), nl_error_data = function(e) NULL)
}

dose_panel <- function(rows) {
  treatment <- treatment_label(rows, setdiff(varying_factors(rows), if (any(!has_level(rows$level_requested_percent))) "kind"))
  paste0(treatment, ifelse(nzchar(treatment), ", ", ""), level_label(rows))
}

# Pseudo-logarithmic where one value dwarfs the others. Values on the axis, its scales and what the caption says of it.
shift_scale <- function(values, middle) {
  typical <- stats::median(abs(middle), na.rm = TRUE)
  wide <- max(abs(middle), na.rm = TRUE) > 20 * typical && length(middle) > 2
  if (!wide) return(list(values = values, axis = ggplot2::scale_x_continuous(), words = ""))
  sigma <- 10^floor(log10(max(typical, max(abs(middle), na.rm = TRUE) * 1e-4)))
  scaled <- lapply(values, pseudo_log, sigma = sigma)
  breaks <- pseudo_log_breaks(range(unlist(values), na.rm = TRUE), sigma)
  list(values = scaled, words = " The axis is linear near 0, logarithmic beyond.",
       axis = ggplot2::scale_x_continuous(breaks = pseudo_log(breaks, sigma), labels = number_labels(breaks),
                                          guide = ggplot2::guide_axis(check.overlap = TRUE)))
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
    if (nrow(here) == 0) paste0("not detected on any of ", counted(nrow(rows), "node"), " (", most, ")") else {
      paste0("detected on ", few_words(here$host, 6), " of ", counted(nrow(rows), "node"), ", ", most)
    }
  })
}

lateness_lines <- 64  # most lines of the map; more ranks than that share one

# Rank by time: how often it was last to start, and to end, over its share if all were alike (1/n), of the first launch with the most ranks. More
# than 64 ranks are put together: those of a node, or neighbours.
plot_lateness <- function(analysis, draw = TRUE) {
  campaign <- analysis$campaign
  table <- as.data.frame(campaign$lateness)
  table <- table[table$starts > 0, ]
  if (nrow(table) == 0) return(NULL)
  ranks_of <- vapply(campaign$launches[unique(table$launch)], function(info) as.numeric(info$ranks %||% 0), 0)
  launch <- names(ranks_of)[which.max(ranks_of)]
  table <- table[table$launch == launch, ]
  lines <- lateness_groups(campaign, launch, max(table$rank) + 1)
  if (nrow(lines) < 2) return(NULL)
  frame <- lateness_frame(table, lines)
  if (!draw) return(frame)
  frame$panel <- factor(frame$panel, c("last to start", "last to end"))
  n_lines <- max(lines$line) + 1
  # Beyond 8 times, and below an eighth, it makes no difference for the eye.
  frame$shade <- pmin(3, pmax(-3, log2(frame$times_expected)))
  frame$top <- n_lines - 1 - frame$line
  names <- unique(lines[c("line", "label")])
  shown <- names[seq(1, n_lines, by = ceiling(n_lines / 16)), ]
  together <- max(table(lines$line))
  several <- sum(vapply(campaign$launches, start_mode, "") != "loop")
  ggplot2::ggplot(frame, ggplot2::aes(xmin = start_s, xmax = end_s, ymin = top - 0.5, ymax = top + 0.5, fill = shade)) +
    ggplot2::geom_rect() +
    ggplot2::scale_fill_gradient2("last, times its share (1/n)", low = okabe_ito[["blue"]], mid = "grey96", high = "#B03A00",
                                  limits = c(-3, 3), breaks = -3:3, labels = c("1/8 or less", "1/4", "1/2", "1", "2", "4", "8 or more")) +
    ggplot2::guides(fill = ggplot2::guide_colourbar(title.position = "top", title.hjust = 0.5)) +
    ggplot2::scale_y_continuous(breaks = n_lines - 1 - shown$line, labels = shown$label, expand = c(0, 0), minor_breaks = NULL) +
    ggplot2::scale_x_continuous(expand = c(0, 0)) +
    ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    ggplot2::theme(legend.key.width = ggplot2::unit(46, "pt"), legend.key.height = ggplot2::unit(9, "pt"),
                   legend.title = ggplot2::element_text(size = 9.5), plot.margin = ggplot2::margin(5.5, 16, 5.5, 5.5),
                   panel.background = ggplot2::element_rect(fill = "grey75"), panel.grid = ggplot2::element_blank()) +
    plot_words("Who was last, over the run",
               sprintf("launch %s%s, n = %s starts on %s ranks", launch, if (several > 1) paste(", one of", several) else "",
                       format_count(sum(frame$starts[!duplicated(frame$start_s)])), format_count(nrow(lines))),
               paste0("Share of the starts of each slice of time in which the rank was last, over 1/n. ",
                      if (together > 1) sprintf("Each line holds up to %d ranks; it is compared with their joint share. ", together),
                      "Orange: more often than its share, blue: less; dark grey: no start in the slice. All operations and arms. ",
                      "No test is made here (alpha does not apply)."),
               "time since the first half, s", if (together > 1) NULL else "rank")
}

lateness_groups <- function(campaign, launch, at_least) {
  ranks <- as.data.frame(campaign$ranks)
  ranks <- unique(ranks[ranks$launch == launch, c("rank", "host")])
  n <- max(at_least, campaign$launches[[launch]]$ranks, ranks$rank + 1)
  host <- ranks$host[match(seq_len(n) - 1, ranks$rank)]
  nodes <- length(unique(host))
  if (n <= lateness_lines) {
    line <- seq_len(n) - 1
  } else if (nodes > 1 && nodes <= lateness_lines) {
    line <- code_of(host) - 1
    return(data.frame(rank = seq_len(n) - 1, line = line, label = host))
  } else line <- (seq_len(n) - 1) %/% ceiling(n / lateness_lines)
  ends <- function(f) stats::ave(seq_len(n) - 1, line, FUN = f)
  label <- ifelse(ends(min) == ends(max), format_count(ends(min)), paste0(format_count(ends(min)), " to ", format_count(ends(max))))
  data.frame(rank = seq_len(n) - 1, line = line, label = trimws(label))
}

# Ranks that were never last in a slice have no row in the file: they get 0.
lateness_frame <- function(table, lines) {
  n_lines <- max(lines$line) + 1
  members <- tabulate(lines$line + 1, n_lines)
  slices <- table[!duplicated(table$slice), c("slice", "start_ns", "end_ns", "starts")]
  cell <- (match(table$slice, slices$slice) - 1) * n_lines + lines$line[table$rank + 1] + 1
  part <- function(panel, count) {
    sums <- rowsum(as.numeric(count), cell)
    last <- replace(numeric(nrow(slices) * n_lines), as.numeric(rownames(sums)), sums)
    data.frame(panel = panel, line = rep(seq_len(n_lines) - 1, nrow(slices)),
               label = rep(lines$label[match(seq_len(n_lines) - 1, lines$line)], nrow(slices)), ranks = rep(members, nrow(slices)),
               start_s = rep(slices$start_ns, each = n_lines) / 1e9, end_s = rep(slices$end_ns, each = n_lines) / 1e9,
               starts = rep(slices$starts, each = n_lines),
               times_expected = last / rep(slices$starts, each = n_lines) / (rep(members, nrow(slices)) / nrow(lines)))
  }
  rbind(part("last to start", table$last_starts), part("last to end", table$last_ends))
}

alt_lateness <- function(frame) {
  alt_panels(frame, "How often each line of ranks was last, over its share", function(rows) {
    mean_of <- tapply(rows$times_expected * rows$starts, rows$label, sum) / tapply(rows$starts, rows$label, sum)
    top <- sort(mean_of, decreasing = TRUE)
    sprintf("rank %s %s times its share over the run, rank %s %s times", names(top)[1], plain(top[[1]]),
            names(top)[length(top)], plain(top[[length(top)]]))
  })
}
