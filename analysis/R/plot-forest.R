# A line per operation, size, treatment and level above 0, below it each launch that it pools; with a margin
# the interval that the verdict comes from. Lewis, S. and Clarke, M. (2001) Forest plots, BMJ 322,
# 1479-1480.
plot_forest <- function(analysis, draw = TRUE) {
  frame <- forest_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  margin <- frame$margin_percent[1]
  frame <- forest_lines(frame, analysis)
  axis <- forest_axis(frame, margin)
  frame <- axis$frame
  main <- frame[frame$pooled, ]
  each <- frame[!frame$pooled, ]
  names_y <- main[!duplicated(main$line), ]
  bounds <- main[!is.na(main$bound_low_percent), ]
  blue <- okabe_ito[["blue"]]
  ggplot2::ggplot(main, ggplot2::aes(estimate_percent, y)) +
    (if (!is.na(margin)) {
      list(
        ggplot2::annotate("rect", xmin = axis$margin[1], xmax = axis$margin[2], ymin = -Inf, ymax = Inf,
                          fill = "grey88"),
        ggplot2::geom_vline(xintercept = axis$margin[2], colour = "grey35", linewidth = 0.4, linetype = "42")
      )
    }) + ggplot2::geom_vline(xintercept = pseudo_log(0, axis$sigma), colour = "grey50", linewidth = 0.3) +
    ggplot2::geom_linerange(
      ggplot2::aes(xmin = ci_low_percent, xmax = ci_high_percent), data = each, na.rm = TRUE,
      colour = "grey45", linewidth = 0.3
    ) + ggplot2::geom_point(data = each, colour = "grey35", size = 0.7) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = ci_low_percent, xmax = ci_high_percent), na.rm = TRUE,
                            colour = blue, linewidth = 0.5) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = bound_low_percent, xmax = bound_high_percent), data = bounds,
                            colour = blue, linewidth = 1.5) +
    ggplot2::geom_point(ggplot2::aes(shape = verdict, fill = verdict),
                        size = 2.6) + verdict_scales(main$verdict) +
    ggplot2::scale_y_continuous(breaks = names_y$line, labels = names_y$label, minor_breaks = NULL,
                                expand = ggplot2::expansion(add = c(if (nrow(each) > 0) 0.3 else 0.5, 0.5))) +
    ggplot2::facet_grid(panel ~ ., scales = "free_y", space = "free_y",
                        labeller = ggplot2::label_wrap_gen(18)) + axis$scales + theme_noiselab() +
    ggplot2::theme(strip.text.y = ggplot2::element_text(angle = 0),
                   panel.spacing.y = ggplot2::unit(3, "pt")) +
    plot_words("Slowdown of every cell", scope_words(main),
               forest_caption(frame, analysis$alpha, axis$clipped),
               "slowdown, % (axis linear near 0, logarithmic beyond)", NULL)
}

forest_data <- function(analysis) {
  rows <- analysis$verdicts
  rows <- rows[rows$channel == "time" & rows$level_requested_percent > 0 & !is.na(rows$estimate), ]
  if (NROW(rows) == 0) return(NULL)
  rows <- lead_by_answers(rows[rows$main | rows$scope == scope_launch, ], analysis$agent_answers)
  keep <- which(rows$main)
  key <- row_key(rows,
                 c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent"))
  pooled <- seq_len(nrow(rows)) %in% keep
  # Launches of a line that is not pooled are lines themselves.
  rows <- rows[pooled | key %in% key[keep], ]
  pooled <- pooled[pooled | key %in% key[keep]]
  margin <- analysis$margin %||% NA_real_
  bound <- function(column) if (is.na(margin)) NA_real_ else as.numeric(rows[[column]] %||% NA)
  decided <- rep_len(
    if (is.na(margin)) {
      NA_character_
    } else {
      as.character(rows$margin_verdict %||% NA)
    },
    nrow(rows)
  )
  label <- forest_labels(rows, analysis)
  frame <- data.frame(panel = panel_name(rows), label = label,
                      rows[c("operation", "bytes", "ranks", treatment_columns)],
                      level_requested_percent = rows$level_requested_percent, pooled = pooled,
                      scope = rows$scope, launch = rows$launch, n_pairs = rows$n_pairs,
                      n_launches = rows$n_launches, estimate_percent = rows$estimate,
                      ci_low_percent = rows$ci_low, ci_high_percent = rows$ci_high,
                      bound_low_percent = bound("margin_low"), bound_high_percent = bound("margin_high"),
                      margin_percent = margin, verdict = ifelse(is.na(decided), row_outcome(rows), decided))
  treatment <- match(treatment_label(frame, treatment_columns),
                     treatment_label(analysis$treatments, treatment_columns))
  frame <- frame[
    order(panel_factor(frame$panel, analysis), frame$ranks, treatment, frame$level_requested_percent,
          !frame$pooled, frame$launch),
  ]
  rownames(frame) <- NULL
  frame
}

forest_labels <- function(rows, analysis) {
  differ <- function(column) length(unique(rows[[column]])) > 1
  treatment <- label_in(rows, analysis)
  has_both <- nzchar(treatment) & has_level(rows$level_requested_percent)
  parts <- list(
    if (differ("ranks")) paste(format_level(rows$ranks), "ranks"),
    if (differ("design")) rows$design,
    ifelse(has_both, paste0(treatment, ", ", level_label(rows)),
           ifelse(nzchar(treatment), treatment, level_label(rows)))
  )
  parts <- Filter(function(part) length(part) > 0 && any(nzchar(part)), parts)
  do.call(paste, c(parts, sep = ", "))
}

# Lines from top to bottom; the launches of a line lie below its middle.
forest_lines <- function(frame, analysis) {
  frame$panel <- panel_factor(frame$panel, analysis)
  # A launch that stands for itself has a line of its own.
  own <- ifelse(frame$pooled & frame$scope == scope_launch, frame$launch, "")
  key <- paste(frame$panel, frame$label, own, sep = "\r")
  several <- tapply(own, paste(frame$panel, frame$label), function(x) length(unique(x)))
  more <- frame$pooled & nzchar(own) & several[paste(frame$panel, frame$label)] > 1
  frame$label <- ifelse(more, paste0(frame$label, ", ", frame$launch), frame$label)
  frame$line <- max(code_of(key)) + 1 - code_of(key)
  turn <- stats::ave(seq_along(key), key, frame$pooled, FUN = seq_along)
  n <- stats::ave(seq_along(key), key, frame$pooled, FUN = length)
  frame$y <- ifelse(frame$pooled, frame$line,
                    frame$line - 0.18 - pmin(0.12, 0.5 / pmax(1, n - 1)) * (turn - 1))
  frame
}

forest_axis <- function(frame, margin) {
  main <- frame[frame$pooled, ]
  values <- c("estimate_percent", "ci_low_percent", "ci_high_percent", "bound_low_percent",
              "bound_high_percent")
  width <- stats::median(main$ci_high_percent - main$ci_low_percent, na.rm = TRUE) / 2
  middle <- range(main$estimate_percent, 0, margin, na.rm = TRUE)
  width <- min(width, diff(middle) / 10, na.rm = TRUE)
  sigma <- 10^floor(log10(if (isTRUE(width > 0)) width else 0.1))
  reach <- pseudo_log(range(frame[values], middle, -margin, na.rm = TRUE), sigma)
  # Intervals of two launches are so wide that they would hide all others.
  scaled <- pseudo_log(middle, sigma)
  limits <- c(max(reach[1], scaled[1] - 0.35 * diff(scaled)), min(reach[2], scaled[2] + 0.35 * diff(scaled)))
  clipped <- any(
    pseudo_log(frame$ci_low_percent, sigma) < limits[1] |
      pseudo_log(frame$ci_high_percent, sigma) > limits[2],
    na.rm = TRUE
  )
  frame[values] <- lapply(frame[values], pseudo_log, sigma = sigma)
  breaks <- pseudo_log_breaks(2 * sigma * sinh(limits * log(10)), sigma)
  list(
    frame = frame,
    sigma = sigma,
    clipped = clipped,
    margin = pseudo_log(c(-margin, margin), sigma),
    scales = list(pseudo_axis(ggplot2::scale_x_continuous, breaks, sigma),
                  ggplot2::coord_cartesian(xlim = limits))
  )
}

forest_caption <- function(frame, alpha, clipped) {
  margin <- frame$margin_percent[1]
  decided <- any(!is.na(frame$bound_low_percent))
  paste0(
    "Blue bars: ",
    100 * (1 - 2 * alpha),
    " % confidence interval of each line by itself",
    if (decided) {
      sprintf("; thick: the %g %% interval that the verdict on the margin comes from (alpha %g each side)",
              100 * (1 - 2 * alpha), alpha)
    },
    ". ",
    if (any(!frame$pooled)) {
      sprintf("Small grey bars: each launch by itself, %g %% within the launch. ", 100 * (1 - 2 * alpha))
    },
    if (!is.na(margin)) {
      sprintf("Shaded: slower or faster by less than the margin of %g %%. ", margin)
    },
    if (!decided) {
      sprintf("Detected: step-down from the highest level, one-sided alpha %g. ", alpha)
    } else {
      paste0("Above, below: the whole thick bar lies beyond, or short of, the margin; inconclusive: it does ",
             "neither. ")
    },
    if (clipped) "Bars that touch the frame go on beyond it."
  )
}

size_forest <- function(frame, analysis) {
  lines <- sum(frame$pooled)
  launches <- max(0, table(paste(frame$panel, frame$label)[!frame$pooled]))
  c(9, min(40, 1.9 + 0.12 * n_panels(frame) + lines * (0.22 + min(0.3, 0.05 * launches))))
}

alt_forest <- function(frame) {
  frame <- frame[frame$pooled, ]
  alt_panels(frame, "Slowdown of every cell", function(rows) {
    top <- rows[rows$level_requested_percent == max(rows$level_requested_percent), ]
    top <- top[which.max(top$estimate_percent), ]
    counts <- table(rows$verdict)
    sprintf("most at %s: %s %% %s; %s", top$label, format_effect(top$estimate_percent),
            format_interval(top$ci_low_percent, top$ci_high_percent),
            paste(counts, names(counts), collapse = ", "))
  })
}
