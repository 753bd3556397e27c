#' When an agent takes the CPU
#'
#' The begin of every activity, over the run, within the agent's period: a level line is an agent that
#' keeps to it, a slanted one drifts, a cloud has none. See `agent_bursts()`.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame; NULL without bursts: `panel`, `launch`, `host`, `start_s` (since
#'   the node's first half), `within_period` (share of the period; without a period of the half), `period_s`, `length_us`.
#' @noRd
plot_agent_phase <- function(analysis, draw = TRUE) {
  frame <- analysis$frames[["agent-phase"]] %||% phase_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  ggplot2::ggplot(frame, ggplot2::aes(start_s, within_period, size = length_us)) +
    ggplot2::geom_point(colour = okabe_ito[["blue"]], alpha = 0.55, shape = 16) +
    ggplot2::scale_size_area("length, \u00b5s", max_size = 3.2, trans = "sqrt", labels = number_labels) +
    ggplot2::scale_y_continuous(limits = c(0, 1), expand = ggplot2::expansion(0.02)) +
    ggplot2::scale_x_continuous(labels = number_labels) + ggplot2::facet_wrap(~panel, ncol = 1) + theme_noiselab() +
    plot_words("When the agent takes the CPU", sprintf("begin of each activity in the halves with the agent, n = %s%s",
                                                      format_range(table(frame$panel)),
                                                      if (any(frame$thinned)) " (a part of them, drawn at random)" else ""),
               paste("A level line: the agent keeps to its period; a slanted one: the true period is a little longer or shorter; lines that",
                     "begin anew: switching it off moved its phase; a cloud: no period. Where no period was found: within the half."),
               "time since the node's first half, s", "begin, share of the period")
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
    data.frame(panel = paste0(part$panel, if (is.na(period)) ": no period" else paste(": period", format_time(signif(period, 4)))),
               rows[c("launch", "host", "start_s")], within_period = within, period_s = period, length_us = rows$length_us, thinned = thin)
  })
  if (length(frames) > 0) do.call(rbind, c(frames, list(make.row.names = FALSE)))
}

# Per launch and node with bursts: its `row` of agent_bursts(), its `activities`, the name of its `panel`.
activity_panels <- function(analysis, most) {
  bursts <- agent_of(analysis)$bursts
  rows <- as.data.frame(bursts)
  rows <- utils::head(rows[rows$n_activities > 0, ], most)
  all <- attr(bursts, "activities")
  lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    list(row = row, activities = all[all$launch == row$launch & all$host == row$host, ],
         panel = paste0(if (length(analysis$campaign$launches) > 1) paste0(row$launch, ", "), row$host, ", ", row$kind))
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
