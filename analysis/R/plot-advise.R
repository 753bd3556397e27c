# Quiet time (of the default's) against ns lost per ns that noise takes, or that the last rank comes late.
# Ehrgott, M. (2005) Multicriteria Optimization, doi:10.1007/3-540-27659-9 (the Pareto front).
plot_pareto <- function(analysis, draw = TRUE) {
  frame <- pareto_data(analysis$campaign, analysis$alpha)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  ggplot2::ggplot(frame, ggplot2::aes(quiet_ratio, lost_ns_per_ns)) +
    ggplot2::geom_hline(yintercept = 1, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_vline(xintercept = 1, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = low, ymax = high), na.rm = TRUE, colour = "grey55",
                            linewidth = 0.4) +
    ggplot2::geom_point(ggplot2::aes(fill = front, shape = algorithm == "default"), size = 2.6) +
    ggplot2::geom_text(ggplot2::aes(label = algorithm), frame[frame$front, ], size = 2.7, hjust = "inward",
                       vjust = -0.8, check_overlap = TRUE) +
    ggplot2::scale_fill_manual(NULL, values = c(`TRUE` = okabe_ito[["blue"]], `FALSE` = "white"),
                               breaks = c(TRUE, FALSE), labels = c("on the front", "another one is better"),
                               guide = ggplot2::guide_legend(override.aes = list(shape = 21))) +
    ggplot2::scale_shape_manual(NULL, values = c(`TRUE` = 23, `FALSE` = 21), breaks = TRUE,
                                labels = "the library's default") +
    ggplot2::scale_x_log10(labels = function(x) sprintf("%.4g", x),
                           expand = ggplot2::expansion(mult = 0.06)) +
    ggplot2::scale_y_continuous(expand = ggplot2::expansion(mult = c(0.08, 0.16))) +
    ggplot2::facet_grid(
      panel ~ figure, scales = "free_y", labeller = ggplot2::label_wrap_gen(18)
    ) + theme_noiselab() + ggplot2::theme(strip.text.y = ggplot2::element_text(angle = 0)) +
    plot_words(
      "Quiet time against what noise and late ranks cost",
      "Towards the lower left is better. Grey lines: the default's time; as much as was taken",
      sprintf(
        paste0("n = %d launches; %g %% intervals of each algorithm by itself (alpha %g). Front: none is ",
               "shown to be better in one figure and worse in none."),
        frame$n_launches[1],
        100 * (1 - 2 * analysis$alpha),
        analysis$alpha
      ),
      "quiet time, of the default's",
      "lost, ns per ns"
    )
}

pareto_data <- function(campaign, alpha) {
  if (!compares_algorithms(campaign)) return(NULL)
  advice <- tryCatch(advise_table(campaign, alpha), nl_error_data = function(e) NULL)
  if (is.null(advice)) return(NULL)
  rows <- advice$algorithms[advice$algorithms$in_fact == advice$algorithms$algorithm, ]
  base <- rows[rows$algorithm == "default", ]
  ratio <- rows$quiet_ns / base$quiet_ns[match(call_key(rows), call_key(base))]
  of <- function(figure, value, low, high) {
    data.frame(panel = panel_name(rows), rows[c("operation", "bytes", "ranks", "algorithm")], figure = figure,
               quiet_ratio = ratio, lost_ns_per_ns = rows[[value]], low = rows[[low]], high = rows[[high]],
               front = rows$front, n_launches = advice$n_launches, row.names = NULL)
  }
  frame <- rbind(of("noise", "lost_ns_per_ns", "lost_low", "lost_high"),
                 of("late ranks", "late_ns_per_ns", "late_low", "late_high"))
  frame <- frame[is.finite(frame$quiet_ratio) & is.finite(frame$lost_ns_per_ns), ]
  frame$figure <- factor(frame$figure, c("noise", "late ranks"))
  if (nrow(frame) == 0) NULL else frame
}

alt_pareto <- function(frame) {
  alt_panels(frame, "Algorithms on the front, quiet time of the default's", function(rows) {
    rows <- rows[rows$front & !duplicated(rows$algorithm), ]
    paste(sprintf("%s %s", rows$algorithm, three(rows$quiet_ratio)), collapse = ", ")
  })
}
