#' What a burst costs, from its begin on
#'
#' Per launch, operation, size and treatment: time lost since a burst began, averaged over the bursts (an event-triggered average), before
#' it and after. See `locked_cost()`. A loop that is as fast before the bursts as elsewhere has a level line up to 0.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame: `panel`, `launch`, `since_ms` (since the burst began), `lost_us` (mean, less the background), `se_us`,
#'   `n`, `cost_us` (NA: withheld), `n_cells` (that have a figure: six are drawn, those with the smallest p); NULL without slices and
#'   bursts.
#' @noRd
plot_locked <- function(analysis, draw = TRUE) {
  frame <- analysis$frames[["locked"]] %||% locked_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  reach <- stats::qnorm(1 - analysis$alpha / 2) * frame$se_us
  ggplot2::ggplot(frame, ggplot2::aes(since_ms, lost_us)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey70") + ggplot2::geom_vline(xintercept = 0, colour = "grey70") +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = lost_us - reach, ymax = lost_us + reach), fill = okabe_ito[["sky"]], alpha = 0.4) +
    ggplot2::geom_line(colour = okabe_ito[["blue"]], linewidth = 0.7) +
    ggplot2::scale_x_continuous(labels = number_labels) + ggplot2::scale_y_continuous(labels = number_labels) +
    ggplot2::facet_wrap(~panel, ncol = 1, scales = "free") + theme_noiselab() +
    plot_words("What a burst costs, from its begin on", paste0(sprintf("mean over the bursts on the ranks' CPUs in one launch, n = %s",
        format_range(tapply(frame$n, frame$panel, max))),
                                                               left_out_words(nlevels(frame$panel), frame$n_cells[1])),
               sprintf(paste("Time that the loop lost in slices ended since the burst began, less what slices without a burst lose; alpha %g; band: pointwise",
                             "%g %% confidence interval by bursts. Up to 0 the line should be level: what is lost before a burst is not its doing."),
                       analysis$alpha, 100 * (1 - analysis$alpha)),
               "time since the burst began, ms", "lost, \u00b5s")
}

left_out_words <- function(n_shown, n) if (n > n_shown) sprintf("; %d of %d cells, those with the smallest p", n_shown, n) else ""

locked_data <- function(analysis, most_panels = 6) {
  campaign <- analysis$campaign
  rows <- analysis$verdicts
  rows <- rows[rows$channel == "locked" & rows$scope == scope_launch, ]
  n <- NROW(rows)
  # the order of the campaign among those that are drawn
  rows <- rows[sort(utils::head(order(rows$p_one_sided), most_panels)), ]
  reader <- slices_reader()
  frames <- lapply(seq_len(NROW(rows)), function(i) locked_panel(rows[i, ], analysis, reader))
  frames <- Filter(Negate(is.null), frames)
  if (length(frames) > 0) cbind(do.call(rbind, c(frames, list(make.row.names = FALSE))), n_cells = n)
}

# The rows of the launch and cell of a verdict.
rows_of_cell <- function(rows, cell) {
  same <- rows[["arm"]] == "on"
  for (name in c("launch", "operation", "bytes", "level_requested_percent", treatment_columns)) {
    value <- as.character(cell[[name]])
    same <- same & (as.character(rows[[name]]) == value | is.na(rows[[name]]) & is.na(value))
  }
  which(same)
}

locked_panel <- function(cell, analysis, reader) {
  parts <- locked_parts(analysis$campaign, as.character(cell$launch), rows_of_cell(analysis$campaign$rows, cell), reader)
  if (is.character(parts)) return(NULL)
  curve <- locked_curve(parts$timeline, locked_track(parts$timeline, parts$bursts, 1))
  if (is.null(curve)) return(NULL)
  got <- cell$raw_locked[[1]]
  data.frame(panel = paste0(panel_name(cell), ", ", alt_at(cell$level_requested_percent),
                            if (length(analysis$campaign$launches) > 1) paste0(", ", cell$launch)),
             launch = as.character(cell$launch), curve, cost_us = got$cost_ns / 1000)
}

# Mean time lost between a burst's begin and so long after it, over the bursts; before it with the sign that lets the line rise.
locked_curve <- function(timeline, track, n_points = 81) {
  if (is.null(track$quiet)) return(NULL)
  windows <- track$windows
  if (nrow(windows) < locked_design$least_bursts) return(NULL)
  sums <- c(0, cumsum(timeline$excess - track$quiet$per_slice))
  span <- 2 * stats::median(windows$length)
  stretch <- timeline$stretch[windows$first]
  since <- seq(-span, span, length.out = n_points)
  curve <- lapply(since, function(by) {
    slice <- findInterval(windows$start + by, timeline$at)
    known <- slice > 0
    known[known] <- timeline$stretch[slice[known]] == stretch[known]
    lost <- bounded(sums[pmax(1, slice)] - sums[windows$first], windows$length)[known]
    if (length(lost) < 2) return(NULL)
    data.frame(since_ms = by / 1e6, lost_us = mean(lost) / 1000, se_us = stats::sd(lost) / sqrt(length(lost)) / 1000, n = length(lost))
  })
  curve <- bind_rows(Filter(Negate(is.null), curve))
  if (nrow(curve) == 0) NULL else curve
}

alt_locked <- function(frame) {
  alt_panels(frame, "What a burst costs, from its begin on", function(rows) {
    cost <- if (is.na(rows$cost_us[1])) "no cost is shown" else sprintf("a burst costs %s \u00b5s", format_effect(rows$cost_us[1], FALSE))
    sprintf("%s, over %s bursts", cost, format_count(max(rows$n)))
  })
}
