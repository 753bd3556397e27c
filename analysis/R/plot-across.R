# Plot of acceptance campaigns over nights.

# Figures that are shown: those that changed, then those that stand for a check.
most_trends <- 6
trend_figures <- c("detour alone lost", "detour all lost", "quantum alone lost", "quantum alone quantum",
                   "latency between half_round_trip", "bandwidth between one_way",
                   "latency within half_round_trip", "bandwidth within one_way")

plot_acceptance_trend <- function(trend, draw = TRUE) {
  frame <- trend_data(trend)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  frame$night <- night_time(frame$date)
  changed <- frame[nzchar(frame$since), ]
  named <- unique(changed$entity)
  colours <- stats::setNames(
    rep_len(unname(okabe_ito[c("vermillion", "blue", "green", "purple", "orange", "sky")]), length(named)),
    named
  )
  points <- changed[!duplicated(paste(changed$panel, changed$entity)), ]
  # of many nodes only those that changed have bars
  bars <- if (length(unique(frame$entity)) > 8) changed else frame
  ggplot2::ggplot(frame, ggplot2::aes(night, value, group = entity)) +
    ggplot2::geom_vline(data = points, ggplot2::aes(xintercept = night_time(since), colour = entity),
                        linetype = "dashed", show.legend = FALSE) +
    ggplot2::geom_linerange(data = bars[!nzchar(bars$since), ], ggplot2::aes(ymin = ci_low, ymax = ci_high),
                            colour = "grey75",
                            na.rm = TRUE) + ggplot2::geom_line(colour = "grey60", linewidth = 0.35) +
    ggplot2::geom_point(colour = "grey55", size = 1) +
    ggplot2::geom_linerange(data = changed, ggplot2::aes(ymin = ci_low, ymax = ci_high, colour = entity),
                            na.rm = TRUE, show.legend = FALSE) +
    ggplot2::geom_line(data = changed, ggplot2::aes(colour = entity), linewidth = 0.6) +
    ggplot2::geom_point(data = changed, ggplot2::aes(colour = entity), size = 1.8) +
    ggplot2::scale_colour_manual(
      NULL, values = colours, breaks = named, labels = ifelse(nzchar(named), named, "the cluster")
    ) + ggplot2::facet_wrap(~panel, ncol = 2, scales = "free_y") + theme_noiselab() +
    plot_words(
      "Figures of every node, night by night",
      sprintf("%s; bars: %g %% interval of the night", counted(nrow(trend$nights), "night"),
              100 * (1 - trend$alpha)),
      paste(
        paste0("Coloured: what changed by more than the margin, dashed the first night after it. Grey: no ",
               "change that could be told."),
        "Changes are tested over all splits and series together."
      ),
      NULL,
      NULL
    )
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
  least <- function(verdict) {
    vapply(figures,
           function(f) min(1, values$p[values$figure == f & values$verdict == verdict], na.rm = TRUE), 0)
  }
  has <- function(verdict) figures %in% values$figure[values$verdict == verdict]
  # what stands for a check, if nothing changed
  key <- gsub(" ", ".", trend_figures, fixed = TRUE)
  stands <- match(sub("[.][0-9]+$", "", figures), key, length(key) + 1)
  shown <- utils::head(figures[order(!has("worse"), !has("better"), stands, least("worse"), least("better"))],
                       most_trends)
  rows <- values[values$figure %in% shown, ]
  rows <- rows[order(match(rows$figure, shown), rows$entity, rows$date), ]
  scale <- c(ns = 1e-3, bytes_per_s = 1e-6)[rows$unit]
  scale[is.na(scale)] <- 1
  unit <- c(ns = "\u00b5s", bytes_per_s = "MB/s", percent = "%", per_s = "1/s")[rows$unit]
  unit <- unname(ifelse(is.na(unit), rows$unit, unit))
  data.frame(panel = paste0(rows$figure, ", ", unit), date = rows$date, name = rows$name,
             entity = rows$entity, value = unname(rows$value * scale), ci_low = unname(rows$ci_low * scale),
             ci_high = unname(rows$ci_high * scale), unit = unit, verdict = rows$verdict, since = rows$since)
}

alt_acceptance_trend <- function(frame) {
  changed <- frame[nzchar(frame$since), ]
  changed <- changed[!duplicated(changed$name), ]
  paste0("Figures of every node, night by night: ", if (nrow(changed) == 0) "none changed" else
    few_words(paste(changed$name, changed$verdict, "since", substr(changed$since, 1, 10)), 6), ".")
}
