# A line for each time between two synchronisations, all nodes hit at once in grey; more numbers of nodes where that takes no simulation.
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

# Plot of acceptance campaigns over nights.

# Figures that are shown: those that changed, then those that stand for a check.
most_trends <- 6
trend_figures <- c("detour alone lost", "detour all lost", "quantum alone lost", "quantum alone quantum", "latency between half_round_trip",
                   "bandwidth between one_way",
                   "latency within half_round_trip", "bandwidth within one_way")

plot_acceptance_trend <- function(trend, draw = TRUE) {
  frame <- trend_data(trend)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  frame$night <- night_time(frame$date)
  changed <- frame[nzchar(frame$since), ]
  named <- unique(changed$entity)
  colours <- stats::setNames(rep_len(unname(okabe_ito[c("vermillion", "blue", "green", "purple", "orange", "sky")]), length(named)), named)
  points <- changed[!duplicated(paste(changed$panel, changed$entity)), ]
  # of many nodes only those that changed have bars
  bars <- if (length(unique(frame$entity)) > 8) changed else frame
  ggplot2::ggplot(frame, ggplot2::aes(night, value, group = entity)) +
    ggplot2::geom_vline(data = points, ggplot2::aes(xintercept = night_time(since), colour = entity), linetype = "dashed", show.legend = FALSE) +
    ggplot2::geom_linerange(data = bars[!nzchar(bars$since), ], ggplot2::aes(ymin = ci_low, ymax = ci_high), colour = "grey75", na.rm = TRUE) +
    ggplot2::geom_line(colour = "grey60", linewidth = 0.35) + ggplot2::geom_point(colour = "grey55", size = 1) +
    ggplot2::geom_linerange(data = changed, ggplot2::aes(ymin = ci_low, ymax = ci_high, colour = entity), na.rm = TRUE, show.legend = FALSE) +
    ggplot2::geom_line(data = changed, ggplot2::aes(colour = entity), linewidth = 0.6) +
    ggplot2::geom_point(data = changed, ggplot2::aes(colour = entity), size = 1.8) +
    ggplot2::scale_colour_manual(NULL, values = colours, breaks = named, labels = ifelse(nzchar(named), named, "the cluster")) +
    ggplot2::facet_wrap(~panel, ncol = 2, scales = "free_y") + theme_noiselab() +
    plot_words("Figures of every node, night by night", sprintf("%s; bars: %g %% interval of the night", counted(nrow(trend$nights), "night"),
        100 * (1 - trend$alpha)),
               paste("Coloured: what changed by more than the margin, dashed the first night after it. Grey: no change that could be told.",
                     "Changes are tested over all splits and series together."), NULL, NULL)
}

night_time <- function(date) as.POSIXct(date, format = "%Y-%m-%dT%H:%M:%S", tz = "UTC")

trend_data <- function(trend) {
  if (nrow(trend$nights) < 2) return(NULL)
  values <- trend$values
  at <- match(values$name, trend$series$name)
  values$verdict <- trend$series$verdict[at]
  values$since <- trend$series$since[at]
  values$p <- trend$series$p[at]
  figures <- unique(values$figure)
  least <- function(verdict) vapply(figures, function(f) min(1, values$p[values$figure == f & values$verdict == verdict], na.rm = TRUE), 0)
  has <- function(verdict) figures %in% values$figure[values$verdict == verdict]
  # what stands for a check, if nothing changed
  key <- gsub(" ", ".", trend_figures, fixed = TRUE)
  stands <- match(sub("[.][0-9]+$", "", figures), key, length(key) + 1)
  shown <- utils::head(figures[order(!has("worse"), !has("better"), stands, least("worse"), least("better"))], most_trends)
  rows <- values[values$figure %in% shown, ]
  rows <- rows[order(match(rows$figure, shown), rows$entity, rows$date), ]
  scale <- c(ns = 1e-3, bytes_per_s = 1e-6)[rows$unit]
  scale[is.na(scale)] <- 1
  unit <- c(ns = "\u00b5s", bytes_per_s = "MB/s", percent = "%", per_s = "1/s")[rows$unit]
  unit <- unname(ifelse(is.na(unit), rows$unit, unit))
  data.frame(panel = paste0(rows$figure, ", ", unit), date = rows$date, name = rows$name, entity = rows$entity, value = unname(rows$value * scale),
             ci_low = unname(rows$ci_low * scale), ci_high = unname(rows$ci_high * scale), unit = unit, verdict = rows$verdict, since = rows$since)
}

alt_acceptance_trend <- function(frame) {
  changed <- frame[nzchar(frame$since), ]
  changed <- changed[!duplicated(changed$name), ]
  paste0("Figures of every node, night by night: ", if (nrow(changed) == 0) "none changed" else
    few_words(paste(changed$name, changed$verdict, "since", substr(changed$since, 1, 10)), 6), ".")
}
