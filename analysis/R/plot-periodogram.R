#' Spectrum of the noise
#'
#' Of the first launch: the periodogram of the starts in slices where it has a raw file, else of the log time per
#' operation of its halves; arm off (all rows where there is none). Long spectra are thinned to the largest power in
#' each of some 1500 intervals of log frequency.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `launch`, `series`, `n`, `span_s`, `frequency_hz`, `power_percent2`,
#'   `background_percent2`, `threshold_percent2` (what noise exceeds anywhere with probability alpha), `found` (the
#'   period, in words, whose harmonic this is; NA: none); NULL without a series of 16 points.
#' @noRd
plot_periodogram <- function(analysis, draw = TRUE) {
  frame <- bind_rows(lapply(searched_series(analysis$campaign, analysis$alpha), `[[`, "frame"))
  if (NROW(frame) == 0) return(NULL)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  lines <- frame[!is.na(frame$found), ]
  lines$found <- in_order(lines$found)
  ggplot2::ggplot(frame, ggplot2::aes(frequency_hz)) +
    ggplot2::geom_line(ggplot2::aes(y = power_percent2), colour = "grey60", linewidth = 0.3) +
    ggplot2::geom_line(ggplot2::aes(y = background_percent2), colour = okabe_ito[["black"]], linewidth = 0.8) +
    ggplot2::geom_line(ggplot2::aes(y = threshold_percent2), colour = okabe_ito[["black"]], linewidth = 0.5,
                       linetype = "42") +
    ggplot2::geom_point(ggplot2::aes(y = power_percent2, colour = found, shape = found), data = lines, size = 1.7) +
    ggplot2::scale_colour_manual(NULL, values = unname(okabe_ito[c("vermillion", "blue", "green", "orange", "purple",
                                                                   "sky", "yellow", "black")])) +
    ggplot2::scale_shape_manual(NULL, values = c(16, 17, 15, 18, 3, 4, 8, 1)) +
    ggplot2::scale_y_log10(labels = log_labels, limits = c(min(frame$background_percent2) / 30, NA),
                           oob = function(x, range) pmax(x, range[1])) +
    ggplot2::scale_x_log10(labels = log_labels, sec.axis = ggplot2::sec_axis(~ 1 / ., name = "period, s",
                                                                             labels = log_labels)) +
    panel_facets(frame, clean_panels(analysis), scales = "free") + theme_noiselab() +
    plot_words("Spectrum of the noise", plotted_words(frame),
               sprintf(paste("Thick: background (running median / ln 2). Dashes: exceeded anywhere in a panel by noise",
                             "alone with alpha = %g (whitened power, all frequencies searched). Points: lines of the",
                             "periods found%s. Thinned spectra show the largest power of each interval; of longer series",
                             "the first %d values. Unit of inference: this launch. No other band."),
                       analysis$alpha, if (nrow(lines) == 0) " (none)" else "", most_plotted),
               "frequency, Hz", "power, %\u00b2 per independent frequency")
}

most_plotted <- 16384

# Panels are cells here, whatever the treatments.
clean_panels <- function(analysis) {
  analysis$treatments <- analysis$treatments[0, ]
  analysis
}

# The series of the first launch, one per operation and size: its starts where there are some, else its time.
plotted_series <- function(campaign) {
  id <- names(campaign$launches)[1]
  first <- list(rows = campaign$rows[campaign$rows[["launch"]] == id, ], launches = campaign$launches[id],
                paths = campaign$paths)
  got <- periodic_series(first, if (any(first$rows[["arm"]] == "off")) "off" else "all")$series
  of <- vapply(got, function(s) s$series, "")
  got <- got[of %in% c("starts", "time")]
  cell <- vapply(got, function(s) panel_name(s), "")
  # A search of unevenly spaced halves takes seconds per 10^5 of them: of a long run the plot shows the beginning.
  got <- lapply(got, function(s) {
    if (s$series == "time" && length(s$x) > most_plotted) s[c("t_s", "x")] <- lapply(s[c("t_s", "x")], utils::head, most_plotted)
    s
  })
  got[!duplicated(cell, fromLast = TRUE)]  # starts come last
}

# Both plots, each with and without drawing, need the same search, which takes seconds with a raw file: the last one
# is kept.
last_search <- new.env(parent = emptyenv())

# A list, one entry per series: `s`, the series, `rows`, its periods that stand out, the strongest first, and `frame`,
# its spectrum as plotted.
searched_series <- function(campaign, alpha) {
  rows <- campaign$rows
  key <- list(campaign$paths, names(campaign$launches), nrow(rows), sum(rows[["wall_ns"]]), sum(rows[["start_ns"]]),
              alpha)
  if (!identical(last_search$key, key)) {
    found <- lapply(plotted_series(campaign), function(s) {
      spectrum <- periodogram(s$x, s$t_s)
      rows <- search_series(s, campaign$launches[[s$launch]], NULL, "off", alpha, spectrum)$rows
      rows <- rows[is.na(rows$reason), ]
      rows <- rows[order(rows$fap, -rows$cost_percent), ]
      list(s = s, rows = rows, frame = spectrum_frame(s, rows, spectrum, alpha))
    })
    last_search$key <- key
    last_search$found <- found
  }
  last_search$found
}

plotted_words <- function(frame) {
  first <- frame[!duplicated(frame$panel), ]
  series <- c(time = "log time per operation of the halves", starts = "share of time lost, starts in slices")
  sprintf("launch %s; %s; n = %s values over %s", first$launch[1], paste(series[unique(first$series)], collapse = "; "),
          format_range(first$n), paste(unique(format_time(signif(range(first$span_s), 3))), collapse = " to "))
}

percent_scale <- function(s) if (s$series == "time") 100 else 1

spectrum_frame <- function(s, rows, spectrum, alpha, most = 1500) {
  if (nrow(spectrum) == 0) return(NULL)
  # A harmonic that two periods share belongs to the shorter one, which has fewer of them.
  rows <- rows[order(rows$period_s), ]
  found <- rep(NA_character_, nrow(spectrum))
  for (i in seq_len(nrow(rows))) {
    at <- match(harmonic_lines(spectrum, 1 / rows$period_s[i])$frequency_hz, spectrum$frequency_hz)
    at <- at[is.na(found[at])]
    found[at] <- trimws(paste(format_time(signif(rows$period_s[i], 4)), rows$mark[i]))
  }
  z <- critical_z(alpha, attr(spectrum, "searched"))
  scale <- percent_scale(s)^2
  frame <- data.frame(panel = panel_name(s), launch = s$launch, series = s$series, n = length(s$x),
                      span_s = attr(spectrum, "span_s"),
                      frequency_hz = spectrum$frequency_hz, power_percent2 = scale * spectrum$power,
                      background_percent2 = scale * spectrum$background,
                      threshold_percent2 = scale * spectrum$background * spectrum$worth * expm1(z / spectrum$worth),
                      found = found)
  place <- log(frame$frequency_hz / frame$frequency_hz[1])
  bin <- floor(place / max(place) * most)
  top <- order(bin, -frame$power_percent2)
  top <- top[!duplicated(bin[top])]
  frame[sort(unique(c(top, which(!is.na(found))))), ]
}

alt_periodogram <- function(frame) {
  alt_panels(frame, "Spectrum of the noise", function(rows) {
    found <- unique(stats::na.omit(rows$found))
    range <- format_time(1 / range(rows$frequency_hz))
    sprintf("%s between periods of %s and %s",
            if (length(found) == 0) "no period stands out" else paste("periods found:", paste(found, collapse = ", ")),
            range[2], range[1])
  })
}
