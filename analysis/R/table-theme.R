# What all plots share: colours, marks, theme, axes, captions.

# Okabe and Ito's colours, safe for colour-blind readers.
okabe_ito <- c(black = "#000000", orange = "#E69F00", sky = "#56B4E9", green = "#009E73",
               yellow = "#F0E442", blue = "#0072B2", vermillion = "#D55E00", purple = "#CC79A7")

arm_colours <- c(off = okabe_ito[["blue"]], on = okabe_ito[["vermillion"]])
arm_shapes <- c(off = 16, on = 17)

# Scales of shape and fill for those of these words that occur. `labels`: other words for the legend, by word.
verdict_scales <- function(words, labels = character()) {
  looks <- verdict_looks[verdict_looks$word %in% words, ]
  named <- function(x) stats::setNames(x, looks$word)
  text <- ifelse(looks$word %in% names(labels), labels[looks$word], looks$word)
  list(
    ggplot2::scale_shape_manual(NULL, values = named(as.numeric(looks$shape)), breaks = looks$word,
                                labels = text),
    ggplot2::scale_fill_manual(NULL, values = named(colour_of(looks$colour)), breaks = looks$word,
                               labels = text)
  )
}

colour_of <- function(name) ifelse(name %in% names(okabe_ito), okabe_ito[name], name)

theme_noiselab <- function() {
  ggplot2::theme_bw(base_size = 11) +
    ggplot2::theme(legend.position = "bottom", legend.margin = ggplot2::margin(),
                   legend.box.spacing = ggplot2::unit(5, "pt"), plot.title.position = "plot",
                   plot.caption.position = "plot",
                   plot.caption = ggplot2::element_text(hjust = 0, colour = "grey30", size = 8.5),
                   plot.subtitle = ggplot2::element_text(colour = "grey20", size = 9.5),
                   panel.grid.minor = ggplot2::element_blank(),
                   strip.background = ggplot2::element_rect(fill = "grey92", colour = NA),
                   axis.text.x = ggplot2::element_text(size = 8.5))
}

plot_words <- function(title, subtitle, caption, x, y) {
  fold <- function(text, width) paste(strwrap(text, width), collapse = "\n")
  ggplot2::labs(title = title, subtitle = fold(subtitle, 125), caption = fold(caption, 140), x = x, y = y)
}

# Decades, or 1, 2 and 5 of each where the range holds fewer than 6 of them.
pseudo_log_breaks <- function(range, sigma) {
  decades <- 10^seq(floor(log10(sigma)), 6)
  inside <- function(steps) {
    breaks <- c(-rev(steps), 0, steps)
    breaks[breaks >= range[1] & breaks <= range[2]]
  }
  breaks <- inside(decades)
  if (length(breaks) < 6) breaks <- inside(as.vector(outer(c(1, 2, 5), decades)))
  if (length(breaks) < 3) breaks <- pretty(range, 5)
  breaks
}

# That axis, x or y.
pseudo_axis <- function(scale, breaks, sigma) {
  scale(breaks = pseudo_log(breaks, sigma), labels = number_labels(breaks),
        guide = ggplot2::guide_axis(check.overlap = TRUE))
}

number_labels <- function(x) {
  vapply(x, function(v) format(signif(v, 3), scientific = FALSE, drop0trailing = TRUE), "")
}

# Log axis labels: 1, 10, 100, 10^4 ...
log_labels <- function(x) {
  ifelse(is.na(x), "", ifelse(abs(log10(x)) < 4, number_labels(x), sprintf("1e%g", round(log10(x)))))
}

# A panel per operation, size and, where there are several, treatment.
cell_panel <- function(rows, analysis) {
  label <- label_in(rows, analysis)
  paste0(panel_name(rows), ifelse(nzchar(label), ", ", ""), label)
}

# Panels in the order of the operations as given (else as they first ran), then by size and treatment.
panel_factor <- function(panel, analysis) {
  # A report, which asks for every plot, has looked through the rows once.
  cells <- analysis$panel_cells %||% panel_cells(analysis$campaign$rows)
  given <- unlist(lapply(analysis$campaign$launches, function(info) info$options$operations))
  cells <- cells[order(match(cells$operation, unique(c(given, cells$operation))), cells$bytes), ]
  names <- panel_name(cells)
  labels <- label_in(analysis$treatments, analysis)
  with_treatment <- as.vector(t(outer(names, labels, paste, sep = ", ")))
  factor(panel, intersect(c(names, with_treatment), panel))
}

panel_cells <- function(rows) {
  first <- which(!duplicated(combine_keys(code_of(rows[["operation"]]), rows[["bytes"]])))
  data.frame(operation = rows[["operation"]][first], bytes = rows[["bytes"]][first])
}

# Columns of facets: with several treatments a row per operation, so that neighbours differ in treatment.
panel_columns <- function(panels, treatments = 1) {
  if (treatments > 1 && treatments <= 4) treatments else min(4, ceiling(sqrt(panels)))
}

panel_facets <- function(frame, analysis, scales = "fixed") {
  if (!several_treatments(analysis)) return(ggplot2::facet_wrap(~panel, scales = scales))
  columns <- panel_columns(n_panels(frame), nrow(analysis$treatments))
  ggplot2::facet_wrap(~panel, ncol = columns, scales = scales,
                      labeller = ggplot2::label_wrap_gen(96 %/% columns))
}

n_panels <- function(frame) length(unique(frame$panel))

scope_words <- function(rows) {
  across <- rows$scope == scope_campaign
  paste(
    c(
      if (any(across)) {
        sprintf("scope: launches like these; unit of inference: the launch, n = %s launches",
                format_count(max(rows$n_launches[across])))
      },
      if (!all(across)) {
        sprintf("scope: %s; unit of inference: the pair, n = %s pairs per level", rows$scope[!across][1],
                format_range((rows$n_tested %||% rows$n_pairs)[!across]))
      }
    ),
    collapse = "; "
  )
}
