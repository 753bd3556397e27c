heatmap_lines <- 128  # most lines of the map; more ranks than that share one
heatmap_bins <- 200   # most bins of time

#' Which rank held the others up, and when
#'
#' A map of rank by time, of the first launch with the most ranks; ranks of a node stand together. From loops: in which
#' share of the halves of a bin of time was it this rank whose loop took longest, or that lost most CPU time to others?
#' From synchronised starts: how long did the rest wait for it, being the last to start or to end? (How often it was
#' last is in `plot_lateness()`.) More than 128 ranks are put together, neighbours of a node.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel` (`longest loop`, `most CPU time lost`; or `last to start`, `last to
#'   end`), `line` (from 0), `host`, `first_rank`, `ranks` (number of them in the line), `start_s`, `end_s` (of the
#'   bin, since the first half), `n` (halves, or starts, in the bin), `share_percent` (of them; NA with synchronised
#'   starts), `wait_us` (mean over the starts of the time by which one of these ranks, being last, was behind the second last;
#'   NA in loops). NULL with one rank.
#' @references Petrini, F., Kerbyson, D. J. and Pakin, S. (2003) The case of the missing supercomputer performance,
#'   SC'03 (noise found by its place).
#' @noRd
plot_heatmap <- function(analysis, draw = TRUE) {
  campaign <- analysis$campaign
  ranks_of <- vapply(campaign$launches, function(info) as.numeric(info$ranks %||% 0), 0)
  synchronised <- vapply(campaign$launches, start_mode, "") != "loop" & names(ranks_of) %in% campaign$lateness$launch
  # Launches with the same kind of map: those with synchronised starts where there are any.
  like <- if (any(synchronised)) synchronised else rep(TRUE, length(ranks_of))
  launch <- names(ranks_of)[like][which.max(ranks_of[like])]
  counted <- if (any(synchronised)) heatmap_starts(campaign, launch) else heatmap_halves(campaign, launch)
  if (is.null(counted)) return(NULL)
  lines <- rank_lines(campaign, launch, max(counted$rank) + 1)
  if (nrow(lines) < 2) return(NULL)
  frame <- heatmap_frame(counted, lines)
  if (!draw) return(frame)
  draw_heatmap(frame, lines, launch, sum(like), any(synchronised))
}

draw_heatmap <- function(frame, lines, launch, n_launches, synchronised) {
  n_lines <- max(lines$line) + 1
  frame$top <- n_lines - 1 - frame$line
  frame$x <- (frame$start_s + frame$end_s) / 2
  frame$shade <- if (synchronised) frame$wait_us else frame$share_percent
  frame$panel <- factor(frame$panel, unique(frame$panel))
  labels <- line_labels(lines)
  several <- length(unique(lines$host)) > 1
  borders <- n_lines - 0.5 - lines$line[which(diff(code_of(lines$host)) != 0) + 1]
  if (length(borders) > 32) borders <- numeric()
  bins <- frame[frame$line == 0 & frame$panel == frame$panel[1], ]
  together <- max(table(lines$line))
  what <- if (synchronised) "starts" else "halves"
  ggplot2::ggplot(frame, ggplot2::aes(x, top, fill = shade)) +
    ggplot2::geom_raster() +
    (if (length(borders) > 0) ggplot2::geom_hline(yintercept = borders, colour = "white", linewidth = 0.5)) +
    ggplot2::scale_fill_gradientn(if (synchronised) "wait per start, \u00b5s" else "share of halves, %",
                                  colours = heatmap_colours, trans = "sqrt", limits = c(0, NA), na.value = "grey75") +
    ggplot2::guides(fill = ggplot2::guide_colourbar(title.position = "top", title.hjust = 0.5)) +
    ggplot2::scale_y_continuous(breaks = n_lines - 1 - labels$line, labels = labels$label, expand = c(0, 0),
                                minor_breaks = NULL) +
    ggplot2::scale_x_continuous(expand = c(0, 0)) +
    ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    ggplot2::theme(legend.key.width = ggplot2::unit(46, "pt"), legend.key.height = ggplot2::unit(9, "pt"),
                   legend.title = ggplot2::element_text(size = 9.5), plot.margin = ggplot2::margin(5.5, 16, 5.5, 5.5),
                   panel.background = ggplot2::element_rect(fill = "grey75"), panel.grid = ggplot2::element_blank()) +
    plot_words("Ranks that held the others up, over the run",
               sprintf("launch %s%s; n = %s %s on %s ranks of %s, %s of %s s", launch,
                       if (n_launches > 1) paste(", one of", n_launches) else "", format_count(sum(bins$n)), what,
                       format_count(nrow(lines)), counted(length(unique(lines$host)), "host"),
                       counted(nrow(bins), "bin"), format_level(stats::median(bins$end_s - bins$start_s))),
               heatmap_caption(frame, lines, synchronised, together, length(borders) > 0),
               "time since the first half, s", if (several || together > 1) NULL else "rank")
}

heatmap_colours <- c("grey97", "#C6E3F5", "#56B4E9", "#0072B2", "#002F4D")

heatmap_caption <- function(frame, lines, synchronised, together, bordered) {
  expected <- 100 * together / nrow(lines)
  paste(c(if (synchronised) {
    c("Mean over the starts of a bin: time by which the last rank was behind the second last, where it was this one;",
      "square root scale.")
  } else {
    c("Share of the halves of a bin in which the loop of this rank took longest, or other processes took most CPU time",
      "from it; square root scale.",
      sprintf("If all %s were alike: %s %%.", if (together > 1) "lines" else "ranks", format_effect(expected, FALSE)))
  },
  if (together > 1) sprintf("Each line holds up to %d neighbouring ranks.", together),
  if (bordered) "White lines: borders of hosts.",
  if (anyNA(frame$shade)) sprintf("Dark grey: no %s in the bin.", if (synchronised) "start" else "half"),
  "All operations and arms. No band, no test (alpha does not apply)."), collapse = " ")
}

# Halves in which a rank's loop took longest, and in which it lost most, by bin of time.
heatmap_halves <- function(campaign, launch) {
  at <- which(campaign$rows[["launch"]] == launch)
  if (length(at) == 0) return(NULL)
  start <- campaign$rows[["start_ns"]][at]
  end <- max(start + campaign$rows[["wall_ns"]][at])
  # Ten halves and more to a bin, so that a share is one.
  bins <- max(1, min(heatmap_bins, length(at) %/% 10))
  width <- end / bins / 1e9
  bin <- pmin(bins - 1, floor(start / 1e9 / width))
  count <- function(panel, column) {
    rank <- campaign$rows[[column]][at]
    known <- which(!is.na(rank) & rank >= 0)
    if (length(known) == 0) return(NULL)
    n_ranks <- max(rank[known]) + 1
    times <- tabulate(bin[known] * n_ranks + rank[known] + 1, bins * n_ranks)
    code <- which(times > 0) - 1
    times <- times[times > 0]
    data.frame(panel = panel, bin = code %/% n_ranks, rank = code %% n_ranks, amount = times, n_at = times)
  }
  parts <- bind_rows(list(count("longest loop", "slowest_rank"), count("most CPU time lost", "preempted_rank")))
  if (nrow(parts) == 0) return(NULL)
  structure(parts, width_s = width, bins = bins)
}

# Time that the last rank cost, by bins of the slices of lateness.csv.
heatmap_starts <- function(campaign, launch) {
  table <- as.data.frame(campaign$lateness)
  table <- table[table$launch == launch & table$starts > 0, ]
  if (nrow(table) == 0) return(NULL)
  together <- ceiling((max(table$slice) + 1) / heatmap_bins)
  bin <- table$slice %/% together
  first <- !duplicated(table$slice)
  count <- function(panel, cost) {
    data.frame(panel = panel, bin = bin, rank = table$rank, amount = cost / 1000, n_at = ifelse(first, table$starts, 0))
  }
  width <- stats::median((table$end_ns - table$start_ns)[first]) * together / 1e9
  structure(rbind(count("last to start", table$start_cost_ns), count("last to end", table$end_cost_ns)),
            width_s = width, bins = max(bin) + 1, wait = TRUE)
}

heatmap_frame <- function(counted, lines) {
  n_lines <- max(lines$line) + 1
  bins <- attr(counted, "bins")
  width <- attr(counted, "width_s")
  line <- lines$line[match(counted$rank, lines$rank)]
  bind_rows(lapply(unique(counted$panel), function(panel) {
    at <- which(counted$panel == panel)
    sums <- matrix(0, n_lines, bins)
    add <- rowsum(counted$amount[at], counted$bin[at] * n_lines + line[at] + 1)
    sums[as.numeric(rownames(add))] <- add
    n <- numeric(bins)
    seen <- rowsum(counted$n_at[at], counted$bin[at])
    n[as.numeric(rownames(seen)) + 1] <- seen
    value <- as.vector(sums) / rep(n, each = n_lines)
    value[rep(n, each = n_lines) == 0] <- NA
    wait <- isTRUE(attr(counted, "wait"))
    first <- match(seq_len(n_lines) - 1, lines$line)
    data.frame(panel = panel, line = rep(seq_len(n_lines) - 1, bins), host = rep(lines$host[first], bins),
               first_rank = rep(lines$rank[first], bins), ranks = rep(tabulate(lines$line + 1, n_lines), bins),
               start_s = rep((seq_len(bins) - 1) * width, each = n_lines),
               end_s = rep(seq_len(bins) * width, each = n_lines),
               n = rep(n, each = n_lines), share_percent = if (wait) NA_real_ else 100 * value,
               wait_us = if (wait) value else NA_real_)
  }))
}

# Line of each rank, host by host in the order of their first rank. Lines hold ranks of one host, unless there are more
# hosts than lines.
rank_lines <- function(campaign, launch, at_least, most = heatmap_lines) {
  ranks <- as.data.frame(campaign$ranks)
  ranks <- unique(ranks[ranks$launch == launch, intersect(c("rank", "host"), names(ranks))])
  n <- max(at_least, campaign$launches[[launch]]$ranks, ranks$rank + 1)
  host <- ranks$host[match(seq_len(n) - 1, ranks$rank)]
  if (length(host) == 0) host <- rep(NA_character_, n)
  host <- ifelse(is.na(host), "unknown", host)
  by_host <- order(code_of(host), seq_len(n))
  host <- host[by_host]
  size <- as.vector(table(in_order(host)))
  per <- ceiling(n / most)
  if (length(size) > most) {
    line <- (seq_len(n) - 1) %/% per
  } else {
    while (sum(ceiling(size / per)) > most) per <- per + 1
    within <- sequence(size) - 1
    line <- code_of(paste(code_of(host), within %/% per)) - 1
  }
  data.frame(rank = by_host - 1, host = host, line = line)
}

# At most 16 labels: ranks of a line, or where there are many hosts, the host at its first line.
line_labels <- function(lines) {
  n_lines <- max(lines$line) + 1
  hosts <- unique(lines$host)
  first <- lines[!duplicated(lines$line), ]
  last <- lines[!duplicated(lines$line, fromLast = TRUE), ]
  span <- paste0(format_count(first$rank), ifelse(first$rank == last$rank, "", paste(" to", format_count(last$rank))))
  if (length(hosts) == 1 || n_lines <= 16) {
    label <- if (length(hosts) == 1) span else paste0(first$host, ": ", span)
    at <- seq(1, n_lines, by = ceiling(n_lines / 16))
    return(data.frame(line = first$line[at], label = label[at]))
  }
  middle <- as.vector(tapply(first$line, in_order(first$host), mean))
  at <- seq(1, length(middle), by = ceiling(length(middle) / 16))
  data.frame(line = middle[at], label = unique(first$host)[at])
}

size_heatmap <- function(frame, analysis) {
  n <- length(unique(frame$line))
  c(9, 2.6 + n_panels(frame) * (0.5 + min(0.18 * max(n, 3), 2.2 + 0.016 * n)))
}

alt_heatmap <- function(frame) {
  wait <- all(is.na(frame$share_percent))
  value <- if (wait) frame$wait_us else frame$share_percent
  frame$value <- ifelse(is.na(value), 0, value)
  title <- if (wait) "Time that the others waited for a rank" else {
    "Share of the halves in which a rank took longest, or lost most"
  }
  alt_panels(frame, title, function(rows) {
    mean_of <- tapply(rows$value * rows$n, rows$line, sum) / tapply(rows$n, rows$line, sum)
    top <- as.numeric(names(which.max(mean_of)))
    row <- rows[rows$line == top, ][1, ]
    sprintf("most by %s of %s, %s %s over the run", if (row$ranks == 1) paste("rank", format_count(row$first_rank)) else
      paste("the", format_count(row$ranks), "ranks from", format_count(row$first_rank)), row$host,
      format_effect(max(mean_of), FALSE), if (wait) "\u00b5s per start" else "% of the halves")
  })
}
