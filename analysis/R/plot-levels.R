#' Box plots by level
#'
#' The published figure: box plots by level with every launch as a point; in a single launch, every one
#' of up to 20 batches of consecutive pairs.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `level` (requested, percent of one CPU; "clean" for
#'   the off arm of unpaired launches), `unit_id` (launch or batch), `slowdown_percent`; NULL without
#'   the time channel.
#' @references Khudoleeva, A. and Stefanov, K. (2021) doi:10.14529/cmse210105.
#' @noRd
plot_levels <- function(analysis, draw = TRUE) {
  unpaired <- length(analysis$pairs$off) == 0
  several <- length(analysis$campaign$launches) > 1
  frame <- if (unpaired) levels_unpaired(analysis) else levels_paired(analysis, several)
  if (!draw) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  words <- setdiff(frame$level, "clean")
  known <- suppressWarnings(as.numeric(words))
  frame$level <- factor(frame$level, c(if ("clean" %in% frame$level) "clean", words[order(known)]))
  what <- if (several) "launch" else "batch of consecutive pairs"
  per <- table(frame$panel, frame$level)
  ggplot2::ggplot(frame, ggplot2::aes(level, slowdown_percent)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_boxplot(outlier.shape = NA, fill = "grey92", colour = "grey35", width = 0.6) +
    ggplot2::geom_jitter(width = 0.14, height = 0, size = 1.5, alpha = 0.8, shape = 17,
                         colour = okabe_ito[["vermillion"]]) +
    panel_facets(frame, analysis) + theme_noiselab() +
    plot_words("Slowdown by level", sprintf("each point is one %s, n = %s per level", what,
                                            format_range(per[per > 0])),
               paste("Boxes: median and quartiles, whiskers to 1.5 times their distance. Points: every",
                     what, if (unpaired) "against the mean of the clean launches." else
                       "against its off halves.", "No test is made here (alpha does not apply)."),
               if (all(is.na(known))) "treatment" else "requested level, % of one CPU", "slowdown, %")
}

levels_paired <- function(analysis, several) {
  rows <- analysis$campaign$rows
  pairs <- analysis$pairs
  speed <- log_or_na(operation_ns(rows))
  d <- speed[pairs$on] - speed[pairs$off]
  bind_rows(lapply(split(seq_along(d), pairs$cell), function(at) {
    cell <- pairs$cells[pairs$cell[at[1]], ]
    batch <- batch_sums(d[at], if (several) 1 else 20)
    data.frame(panel = cell_panel(cell, analysis), level = level_label(cell, ""),
               unit_id = if (several) cell$launch else as.character(seq_along(batch$n)),
               slowdown_percent = 100 * expm1(batch$sum / batch$n))
  }))
}

# The clean launches stand in the panel of every treatment.
levels_unpaired <- function(analysis) {
  means <- launch_means(analysis$campaign, "time")
  operation <- panel_name(means)
  off <- means$arm == "off"
  clean <- tapply(means$value[off], operation[off], mean)
  frame <- data.frame(panel = cell_panel(means, analysis),
                      level = ifelse(off, "clean", level_label(means, "")),
                      unit_id = means$launch,
                      slowdown_percent = 100 * expm1(means$value - as.numeric(clean[operation])))
  if (!several_treatments(analysis)) return(frame)
  bind_rows(lapply(label_in(analysis$treatments, analysis), function(label) {
    clean <- frame[off, ]
    clean$panel <- paste(operation[off], label, sep = ", ")
    rbind(clean, frame[!off & frame$panel == paste(operation, label, sep = ", "), ])
  }))
}
