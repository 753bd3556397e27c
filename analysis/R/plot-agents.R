# The begin of every activity within the agent's period: a level line keeps to it, a slanted one drifts, a
# cloud has none.
plot_agent_phase <- function(analysis, draw = TRUE) {
  frame <- analysis$frames[["agent-phase"]] %||% phase_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  ggplot2::ggplot(frame, ggplot2::aes(start_s, within_period, size = length_us)) +
    ggplot2::geom_point(colour = okabe_ito[["blue"]], alpha = 0.55, shape = 16) +
    ggplot2::scale_size_area("length, \u00b5s", max_size = 3.2, trans = "sqrt", labels = number_labels) +
    ggplot2::scale_y_continuous(
      limits = c(0, 1), expand = ggplot2::expansion(0.02)
    ) + ggplot2::scale_x_continuous(labels = number_labels) + ggplot2::facet_wrap(~panel, ncol = 1) +
    theme_noiselab() +
    plot_words(
      "When the agent takes the CPU",
      sprintf("begin of each activity in the halves with the agent, n = %s%s",
              format_range(table(frame$panel)),
              if (any(frame$thinned)) " (a part of them, drawn at random)" else ""),
      paste(
        paste0("A level line: the agent keeps to its period; a slanted one: the true period is a little ",
               "longer or shorter; lines that"),
        paste0("begin anew: switching it off moved its phase; a cloud: no period. Where no period was ",
               "found: within the half.")
      ),
      "time since the node's first half, s",
      "begin, share of the period"
    )
}

phase_data <- function(analysis, most = 5000, most_panels = 6) {
  parts <- activity_panels(analysis, most_panels)
  frames <- lapply(parts, function(part) {
    rows <- part$activities
    thin <- nrow(rows) > most
    if (thin) rows <- rows[with_seed(1, sort(sample.int(nrow(rows), most))), ]
    period <- part$row$period_s
    if (is.na(period)) {
      halves <- analysis$campaign$agents
      halves <- halves[halves[["launch"]] == part$row$launch & halves[["host"]] == part$row$host, ]
      within <- pmin(1, pmax(0, rows$in_half_s / (halves[["wall_ns"]][rows$half] / 1e9)))
    } else within <- (rows$start_s / period) %% 1
    data.frame(
      panel = paste0(
        part$panel,
        if (is.na(period)) {
          ": no period"
        } else {
          paste(": period", format_time(signif(period, 4)))
        }
      ),
      rows[c("launch", "host", "start_s")],
      within_period = within,
      period_s = period,
      length_us = rows$length_us,
      thinned = thin
    )
  })
  if (length(frames) > 0) do.call(rbind, c(frames, list(make.row.names = FALSE)))
}

activity_panels <- function(analysis, most) {
  bursts <- agent_of(analysis)$bursts
  rows <- as.data.frame(bursts)
  rows <- utils::head(rows[rows$n_activities > 0, ], most)
  all <- attr(bursts, "activities")
  lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    list(
      row = row,
      activities = all[all$launch == row$launch & all$host == row$host, ],
      panel = paste0(if (length(analysis$campaign$launches) > 1) paste0(row$launch, ", "), row$host, ", ",
                     row$kind)
    )
  })
}

alt_agent_phase <- function(frame) {
  alt_panels(frame, "When the agent takes the CPU", function(rows) {
    if (is.na(rows$period_s[1])) return(sprintf("%s activities", format_count(nrow(rows))))
    centre <- circular_phase(rows$within_period, 1)
    away <- abs((rows$within_period - centre + 0.5) %% 1 - 0.5)
    sprintf("half of %s activities begin within %s %% of the period around its %s", format_count(nrow(rows)),
            format_effect(200 * stats::median(away), FALSE), sprintf("%.2f", centre))
  })
}

# Slowdown (percent) by sampling interval, with its two-sided interval and, as a broad bar, its one-sided
# bounds; the safe region shaded.
plot_intervals <- function(analysis, draw = TRUE) {
  frame <- analysis$frames$intervals %||% intervals_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  margin <- frame$margin_percent[1]
  safe <- unique(frame[!is.na(frame$safe_from_s), c("panel", "safe_from_s")])
  frame$panel <- in_order(frame$panel)
  safe$panel <- factor(safe$panel, levels(frame$panel))
  ticks <- sort(unique(frame$interval_s))
  guide <- guide_line(frame)
  columns <- c("estimate", "ci_low", "ci_high", "bound_low", "bound_high")
  # The margin is far below what the shortest interval costs: one axis shows both.
  sigma <- 10^floor(log10(
    if (!is.na(margin) && margin > 0) {
      margin
    } else {
      max(1e-4, stats::median(abs(frame$estimate)))
    }
  ))
  breaks <- pseudo_log_breaks(range(frame[columns], margin, na.rm = TRUE), sigma)
  frame[columns] <- lapply(frame[columns], pseudo_log, sigma = sigma)
  guide$model <- pseudo_log(guide$model, sigma)
  ggplot2::ggplot(frame, ggplot2::aes(interval_s, estimate)) +
    (if (nrow(safe) > 0) {
      ggplot2::geom_rect(ggplot2::aes(xmin = safe_from_s, xmax = Inf), ymin = -Inf, ymax = Inf, data = safe,
                         inherit.aes = FALSE, fill = okabe_ito[["green"]], alpha = 0.13)
    }) + ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    (if (!is.na(margin)) {
      ggplot2::geom_hline(yintercept = pseudo_log(margin, sigma), colour = okabe_ito[["vermillion"]],
                          linetype = "dashed")
    }) +
    ggplot2::geom_line(ggplot2::aes(y = model), data = guide, colour = "grey40", linetype = "dotted",
                       na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = bound_low, ymax = bound_high), colour = okabe_ito[["sky"]],
                            linewidth = 3, alpha = 0.5, na.rm = TRUE) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = ci_low, ymax = ci_high), colour = okabe_ito[["blue"]], na.rm = TRUE
    ) + ggplot2::geom_point(ggplot2::aes(shape = series, fill = series), size = 2.8) +
    verdict_scales(frame$series) +
    ggplot2::scale_x_log10(breaks = ticks, labels = format_time(ticks), minor_breaks = NULL,
                           expand = ggplot2::expansion(mult = 0.08)) +
    ggplot2::scale_y_continuous(
      breaks = pseudo_log(breaks, sigma), labels = number_labels(breaks)
    ) + ggplot2::facet_wrap(~panel) + theme_noiselab() +
    plot_words(
      "Slowdown by sampling interval",
      intervals_subtitle(frame),
      paste0(
        sprintf(
          paste0("Thin bars: %s confidence interval; broad bars: one-sided bounds of %s each. Dotted: the ",
                 "same time lost per sample."),
          format_confidence(2 * analysis$alpha),
          format_confidence(analysis$alpha)
        ),
        " The axis is linear near 0, logarithmic beyond.",
        if (!is.na(margin)) {
          sprintf(" Dashed: the margin, %s %%. Shaded: safe for all operations.", format_level(margin))
        }
      ),
      "sampling interval (logarithmic)",
      "slowdown, %"
    )
}

intervals_data <- function(analysis) {
  if (!is_sweep(analysis$campaign)) return(NULL)
  sweep <- interval_sweep(analysis, analysis$margin)
  rows <- sweep$rows[!is.na(sweep$rows$estimate), ]
  if (nrow(rows) == 0) return(NULL)
  several <- length(unique(rows$agent)) > 1
  series <- if (is.null(sweep$margin)) rows$verdict else {
    ifelse(rows$margin_verdict == "inconclusive", "inconclusive", paste(rows$margin_verdict, "the margin"))
  }
  cbind(
    panel = paste0(if (several) paste0(rows$agent, ", "), panel_name(rows)),
    rows[c("agent", "operation", "bytes", "interval_s", "estimate", "ci_low", "ci_high", "bound_low",
           "bound_high", "detection_limit", "model")],
    margin_percent = sweep$margin %||% NA_real_,
    safe_from_s = if (is.null(sweep$safe)) {
      NA_real_
    } else {
      sweep$safe$interval_s[match(rows$agent, sweep$safe$agent)]
    },
    rows[c("margin_verdict", "n", "unit_of_inference")],
    series = series
  )
}

# The line between the points, fine enough to be a curve on the logarithmic axis.
guide_line <- function(frame) {
  bind_rows(lapply(split(frame, frame$panel), function(part) {
    x <- exp(seq(log(min(part$interval_s)), log(max(part$interval_s)), length.out = 60))
    data.frame(panel = part$panel[1], interval_s = x, model = part$model[1] * part$interval_s[1] / x)
  }))
}

intervals_subtitle <- function(frame) {
  safe <- unique(frame[c("agent", "safe_from_s")])
  from <- ifelse(is.na(safe$safe_from_s), "no interval is shown to be safe",
                 paste("safe from", format_time(safe$safe_from_s), "on"))
  paste(
    c(if (!is.na(frame$margin_percent[1])) paste0(safe$agent, ": ", from),
      sprintf("unit of inference: the %s, n = %s", frame$unit_of_inference[1], format_range(frame$n))),
    collapse = "; "
  )
}

size_intervals <- function(frame, analysis) {
  c(9, min(40, 1.8 + 2.9 * ceiling(n_panels(frame) / grDevices::n2mfrow(n_panels(frame))[1])))
}

alt_intervals <- function(frame) {
  alt_panels(frame, "Slowdown by sampling interval", function(rows) {
    rows <- rows[order(rows$interval_s), ]
    ends <- unique(rows[c(1, nrow(rows)), ])
    safe <- if (is.na(rows$safe_from_s[1])) {
      ", no interval shown to be safe"
    } else {
      paste0(", safe from ", format_time(rows$safe_from_s[1]), " on")
    }
    paste0(paste(format_effect(ends$estimate), "% at", format_time(ends$interval_s), collapse = ", "),
           if (!is.na(rows$margin_percent[1])) safe)
  })
}
