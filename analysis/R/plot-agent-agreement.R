#' The agent's account against what the ranks lost
#'
#' Every pair of halves a point: the agent's CPU time on the ranks' CPUs against the preempted time of the node's ranks, both
#' on minus off, with the line on which they are equal and the tolerance around it. Pairs of a long run are averaged in
#' neighbouring groups.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `launch`, `host`, `kind`, `agent_us_per_s`, `preempted_us_per_s` (us per
#'   second, on minus off), `pairs` (averaged in the point), `estimate_us_per_s` (agent and estimated
#'   difference), `tolerance_us_per_s`, `agreement`; NULL without
#'   `agent.HOST.csv`, or where it does not know both figures.
#' @noRd
plot_agent_agreement <- function(analysis, draw = TRUE) {
  frame <- analysis$frames[["agent-agreement"]] %||% agreement_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  band <- do.call(rbind, lapply(split(frame, frame$panel), function(part) {
    x <- range(0, part$agent_us_per_s)
    x <- seq(x[1], x[2] * 1.03, length.out = 50)
    wide <- part$tolerance_us_per_s[1]
    data.frame(panel = part$panel[1], agent_us_per_s = x, tolerance_low = x - wide, tolerance_high = x + wide)
  }))
  # A few halves that others disturbed would squeeze all the rest.
  ends <- stats::quantile(frame$preempted_us_per_s, c(0.25, 0.75), names = FALSE)
  ends <- range(ends + c(-4, 4) * diff(ends), band$tolerance_low, band$tolerance_high, frame$estimate_us_per_s)
  ends <- c(max(ends[1], min(frame$preempted_us_per_s, band$tolerance_low)),
            min(ends[2], max(frame$preempted_us_per_s, band$tolerance_high)))
  ends <- ends + c(-0.05, 0.05) * diff(ends)
  outside <- sum(frame$preempted_us_per_s < ends[1] | frame$preempted_us_per_s > ends[2])
  means <- do.call(rbind, lapply(split(frame, frame$panel), function(part) {
    data.frame(panel = part$panel[1], agent_us_per_s = stats::weighted.mean(part$agent_us_per_s, part$pairs),
               preempted_us_per_s = part$estimate_us_per_s[1])
  }))
  ggplot2::ggplot(frame, ggplot2::aes(agent_us_per_s)) +
    ggplot2::geom_ribbon(ggplot2::aes(ymin = tolerance_low, ymax = tolerance_high), data = band, fill = "grey80") +
    ggplot2::geom_line(ggplot2::aes(y = agent_us_per_s), data = band, colour = "grey40", linewidth = 0.4) +
    ggplot2::geom_point(ggplot2::aes(y = preempted_us_per_s), colour = okabe_ito[["blue"]], alpha = 0.5, size = 1.2) +
    ggplot2::geom_point(ggplot2::aes(y = preempted_us_per_s), data = means, colour = okabe_ito[["vermillion"]], shape = 18, size = 3.5) +
    ggplot2::scale_x_continuous(labels = number_labels) + ggplot2::scale_y_continuous(labels = number_labels) +
    ggplot2::coord_cartesian(ylim = ends) + ggplot2::facet_wrap(~panel, scales = "free_x") + theme_noiselab() +
    plot_words("The agent's account against what the ranks lost",
               sprintf("scope: this launch; points: %s, n = %s pairs of halves",
                       if (max(frame$pairs) > 1) "neighbouring pairs, averaged" else "pairs",
                       format_range(tapply(frame$pairs, frame$panel, sum))),
               paste0("Both on minus off. Line: equal; band: the difference that counts as agreement, a tenth of the agent's time or 500 \u00b5s/s. Diamond: the estimate ",
                      "over all pairs. Points above (below) the band: something beside the agent took time in the on (off) half.",
                      if (outside > 0) sprintf(" Outside the frame: %s.", counted(outside, "point"))),
               "agent's CPU time on the ranks' CPUs, \u00b5s per second", "preempted time of the ranks, less other tasks on record, \u00b5s per second")
}

agreement_data <- function(analysis, most = 400, most_panels = 12) {
  shifts <- agent_shifts(analysis$campaign)
  accounts <- agent_of(analysis)$accounts
  frames <- lapply(utils::head(shifts, most_panels), function(s) {
    known <- is.finite(s$preempted) & is.finite(s$agent)
    if (sum(known) == 0) return(NULL)
    batch <- batch_sums(less_others(s$preempted, s$others)[known], most)
    agent <- batch_sums(s$agent[known], most)
    row <- accounts[accounts$launch %in% s$launch & accounts$host == s$host & accounts$kind == s$kind, ][1, ]
    data.frame(panel = paste0(if (length(analysis$campaign$launches) > 1) paste0(s$launch, ", "), s$host, ", ", s$kind, ": ",
                              row$agreement),
               launch = s$launch, host = s$host, kind = s$kind, agent_us_per_s = agent$sum / agent$n,
               preempted_us_per_s = batch$sum / batch$n,
               pairs = batch$n, estimate_us_per_s = row$agent_us_per_s + row$difference_us_per_s,
               tolerance_us_per_s = row$tolerance_us_per_s, agreement = row$agreement)
  })
  frames <- Filter(Negate(is.null), frames)
  if (length(frames) > 0) do.call(rbind, frames)
}

alt_agent_agreement <- function(frame) {
  alt_panels(frame, "The agent's account against what the ranks lost, on minus off", function(rows) {
    sprintf("on average the agent used %s \u00b5s/s and the ranks lost %s \u00b5s/s by it",
            three(stats::weighted.mean(rows$agent_us_per_s, rows$pairs)), three(rows$estimate_us_per_s[1]))
  })
}
