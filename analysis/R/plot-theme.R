# What all plots share: colours, marks, theme, axes, captions.

# Okabe and Ito's colours, safe for colour-blind readers.
okabe_ito <- c(black = "#000000", orange = "#E69F00", sky = "#56B4E9", green = "#009E73",
               yellow = "#F0E442", blue = "#0072B2", vermillion = "#D55E00", purple = "#CC79A7")

arm_colours <- c(off = okabe_ito[["blue"]], on = okabe_ito[["vermillion"]])
arm_shapes <- c(off = 16, on = 17)

# What a verdict looks like wherever it stands: shape and colour of its points in plots, and a mark of that shape in tables; `ascii`: for
# terminals without Unicode.
verdict_looks <- as.data.frame(matrix(c(
  "detected",             "24", "vermillion", "\u25b2", "*",
  "above",                "24", "vermillion", "\u25b2", "*",
  "above the margin",     "24", "vermillion", "\u25b2", "*",
  "slower",               "24", "vermillion", "\u25b2", "*",
  "changed: worse",       "24", "vermillion", "\u25b2", "*",
  "fail",                 "24", "vermillion", "\u25b2", "*",
  "here",                 "24", "vermillion", "\u25b2", "*",
  "disagree",             "24", "vermillion", "\u25b2", "*",
  "detected alone",       "24", "white",      "\u25b3", "+",
  "trace",                "25", "orange",     "\u25bc", "v",
  "not reproducible",     "25", "orange",     "\u25bc", "v",
  "not detected",         "21", "white",      "\u25cb", "-",
  "no difference found",  "21", "white",      "\u25cb", "-",
  "below",                "22", "green",      "\u25a0", "-",
  "below the margin",     "22", "green",      "\u25a0", "=",
  "same",                 "22", "green",      "\u25a0", "=",
  "suitable",             "22", "green",      "\u25a0", "=",
  "agree",                "22", "green",      "\u25a0", "=",
  "pass",                 "22", "sky",        "\u25a0", "-",
  "faster",               "25", "blue",       "\u25bc", "v",
  "changed: better",      "25", "blue",       "\u25bc", "v",
  "look at it",           "23", "yellow",     "\u25c6", "?",
  "slower (alone)",       "24", "white",      "\u25b3", "+",
  "faster (alone)",       "25", "white",      "\u25bd", "+",
  "more sensitive",       "24", "vermillion", "\u25b2", "*",
  "less sensitive",       "25", "blue",       "\u25bc", "v",
  "undecided",            "23", "yellow",     "\u25c6", "?",
  "inconclusive",         "23", "yellow",     "\u25c6", "?"
), ncol = 5, byrow = TRUE, dimnames = list(NULL, c("word", "shape", "colour", "mark", "ascii"))))

# Scales of shape and fill for those of these words that occur. `labels`: other words for the legend, by word.
verdict_scales <- function(words, labels = character()) {
  looks <- verdict_looks[verdict_looks$word %in% words, ]
  named <- function(x) stats::setNames(x, looks$word)
  text <- ifelse(looks$word %in% names(labels), labels[looks$word], looks$word)
  list(
    ggplot2::scale_shape_manual(NULL, values = named(as.numeric(looks$shape)), breaks = looks$word, labels = text),
    ggplot2::scale_fill_manual(NULL, values = named(colour_of(looks$colour)), breaks = looks$word, labels = text)
  )
}

colour_of <- function(name) ifelse(name %in% names(okabe_ito), okabe_ito[name], name)

theme_noiselab <- function() {
  ggplot2::theme_bw(base_size = 11) + ggplot2::theme(
    legend.position = "bottom", legend.margin = ggplot2::margin(), legend.box.spacing = ggplot2::unit(5, "pt"),
    plot.title.position = "plot", plot.caption.position = "plot",
    plot.caption = ggplot2::element_text(hjust = 0, colour = "grey30", size = 8.5),
    plot.subtitle = ggplot2::element_text(colour = "grey20", size = 9.5),
    panel.grid.minor = ggplot2::element_blank(),
    strip.background = ggplot2::element_rect(fill = "grey92", colour = NA),
    axis.text.x = ggplot2::element_text(size = 8.5)
  )
}

# Title, subtitle and caption, wrapped to the width of the page.
plot_words <- function(title, subtitle, caption, x, y) {
  fold <- function(text, width) paste(strwrap(text, width), collapse = "\n")
  ggplot2::labs(title = title, subtitle = fold(subtitle, 125), caption = fold(caption, 140), x = x,
                y = y)
}

# Linear near 0, logarithmic beyond `sigma`; shows 0, small and large levels on one axis.
pseudo_log <- function(x, sigma) asinh(x / (2 * sigma)) / log(10)

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

number_labels <- function(x) vapply(x, function(v) format(signif(v, 3), scientific = FALSE, drop0trailing = TRUE), "")

# Log axis labels: 1, 10, 100, 10^4 ...
log_labels <- function(x) {
  ifelse(is.na(x), "", ifelse(abs(log10(x)) < 4, number_labels(x), sprintf("1e%g", round(log10(x)))))
}

panel_name <- function(rows) {
  bytes <- rows[["bytes"]]
  paste0(rows[["operation"]], ifelse(bytes > 0, paste0(", ", format_count(bytes), " B"), ""))
}

# "1 host", "2 to 5 hosts".
counted <- function(n, word, many = paste0(word, "s")) paste(format_range(n), if (max(n) == 1) word else many)

in_order <- function(x) factor(x, unique(x))

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

# Facets by panel. With several treatments their names are long, and fold.
panel_facets <- function(frame, analysis, scales = "fixed") {
  if (!several_treatments(analysis)) return(ggplot2::facet_wrap(~panel, scales = scales))
  columns <- panel_columns(n_panels(frame), nrow(analysis$treatments))
  ggplot2::facet_wrap(~panel, ncol = columns, scales = scales, labeller = ggplot2::label_wrap_gen(96 %/% columns))
}

n_panels <- function(frame) length(unique(frame$panel))

scope_words <- function(rows) {
  across <- rows$scope == scope_campaign
  paste(c(if (any(across)) sprintf("scope: launches like these; unit of inference: the launch, n = %s launches",
                                   format_count(max(rows$n_launches[across]))),
          if (!all(across)) sprintf("scope: %s; unit of inference: the pair, n = %s pairs per level", rows$scope[!across][1],
                                    format_range(rows$n_pairs[!across]))), collapse = "; ")
}

# The verdicts a plot shows, per treatment: those of the main answer, or of its first launch.
widest_scope <- function(verdicts) {
  rows <- main_rows(verdicts)
  label <- treatment_label(rows, varying_factors(verdicts))
  across <- rows$scope != scope_launch
  first <- rows$launch[match(label, label)]
  rows[across | !label %in% label[across] & rows$launch == first, ]
}
