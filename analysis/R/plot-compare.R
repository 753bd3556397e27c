#' Changes between two campaigns
#'
#' A forest: every time, quantile and slowdown of [compare_campaigns()] with its interval, B against A.
#'
#' @param comparison An `nl_comparison` from [compare_campaigns()].
#' @param draw Logical, length 1: draw, or return the data?
#' @return A ggplot (its attribute `height_in` is the height that suits it, inches), or a data frame with `panel`,
#'   `label`, `family`, `measure`, `effect`, `ci_low`, `ci_high` (percent), `verdict` (`slower`, `faster`, `no
#'   difference found`), `n_a`, `n_b`, `scope`; NULL where no row has an interval.
#' @noRd
plot_compare <- function(comparison, draw = TRUE) {
  check_argument(inherits(comparison, "nl_comparison"), "comparison", class(comparison),
                 "the result of compare_campaigns()")
  rows <- comparison$rows
  rows <- rows[rows$family %in% names(compare_panels) & !is.na(rows$ci_low), ]
  if (nrow(rows) == 0) return(NULL)
  label <- compare_labels(rows)
  found <- rows$familywise %in% TRUE
  frame <- data.frame(panel = unname(compare_panels[rows$family]), label = label, family = rows$family,
                      measure = rows$measure,
                      effect = rows$effect, ci_low = rows$ci_low, ci_high = rows$ci_high,
                      verdict = ifelse(found, ifelse(rows$effect > 0, "slower", "faster"), "no difference found"),
                      n_a = rows$n_a, n_b = rows$n_b, scope = rows$scope)
  if (!draw) return(frame)
  frame$panel <- factor(frame$panel, intersect(compare_panels, frame$panel))
  frame$label <- factor(frame$label, rev(unique(frame$label)))
  margin <- comparison$margin_percent
  band <- if (!is.null(margin) && any(frame$family == "time")) {
    data.frame(panel = factor(compare_panels[["time"]], levels(frame$panel)), low = -margin, high = margin)
  }
  sigma <- max(0.05, stats::median(frame$ci_high - frame$ci_low) / 2)
  wide <- max(abs(c(frame$ci_low, frame$ci_high))) > 8 * sigma
  shown <- function(x) if (wide) pseudo_log(x, sigma) else x
  reach <- range(0, frame$ci_low, frame$ci_high, band$low, band$high)
  breaks <- if (wide) pseudo_log_breaks(reach, sigma) else pretty(reach, 6)
  frame[c("effect", "ci_low", "ci_high")] <- lapply(frame[c("effect", "ci_low", "ci_high")], shown)
  if (!is.null(band)) band[c("low", "high")] <- lapply(band[c("low", "high")], shown)
  plot <- ggplot2::ggplot(frame, ggplot2::aes(effect, label)) +
    (if (!is.null(band)) ggplot2::geom_rect(data = band, ggplot2::aes(xmin = low, xmax = high, ymin = -Inf, ymax = Inf),
                                            inherit.aes = FALSE, fill = "grey85", alpha = 0.8)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low, xmax = ci_high), colour = okabe_ito[["blue"]]) +
    ggplot2::geom_point(ggplot2::aes(shape = verdict, fill = verdict), size = 2.4) + verdict_scales(frame$verdict) +
    ggplot2::scale_x_continuous(breaks = shown(breaks), labels = number_labels(breaks),
                                guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::facet_grid(panel ~ ., scales = "free_y", space = "free_y",
                        labeller = ggplot2::label_wrap_gen(18)) + theme_noiselab() +
    ggplot2::theme(strip.text.y = ggplot2::element_text(angle = 0)) +
    plot_words("B against A", compare_subtitle(comparison, frame), compare_caption(comparison, !is.null(band), wide),
               "change, %", NULL)
  structure(plot, height_in = min(40, max(4, 2.4 + 0.24 * nrow(frame) + 0.2 * nlevels(frame$panel))))
}

# What tells the rows of a panel apart.
compare_labels <- function(rows) {
  some <- function(where, text) ifelse(where, text, "")
  several <- function(x) rep(length(unique(x)) > 1, nrow(rows))
  treated <- rows$level_requested_percent > 0
  treatment <- treatment_label(rows, varying_factors(rows[treated, ]))
  paste0(panel_name(rows), some(several(rows$ranks), paste0(", ", format_count(rows$ranks), " ranks")),
         some(several(rows$mode), paste0(", ", rows$mode)), some(rows$family == "tail", paste0(": ", rows$measure)),
         some(treated, at_level(rows)), some(treated & nzchar(treatment), paste0(", ", treatment)))
}

compare_panels <- c(time = "clean time", tail = "clean quantiles", slowdown = "slowdown under load")

compare_subtitle <- function(comparison, frame) {
  sides <- comparison$sides
  of <- function(scope, unit) {
    at <- frame$scope == scope
    if (any(at)) sprintf("scope: %s, n = %s of A and %s of B %s", scope, format_range(frame$n_a[at]),
                         format_range(frame$n_b[at]), unit)
  }
  paste0("A: ", sides$dirs[1], "; B: ", sides$dirs[2], "; ",
         paste(c(of(scope_systems, "launches"), of(scope_two, "groups of pairs")), collapse = "; "))
}

compare_caption <- function(comparison, banded, wide) {
  paste0(sprintf(paste("Bars: %g %% confidence interval of each row by itself (%s). Marks: two-sided",
                       "alpha %g after Holm's correction over the rows of a panel."), 100 * (1 - comparison$alpha),
                 if (comparison$paired) "Student, launches paired in time" else "Welch", comparison$alpha),
         if (banded) sprintf(" Grey band: the margin, +-%g %%.", comparison$margin_percent),
         if (wide) " The axis is linear near 0, logarithmic beyond.")
}
