# The plots of a report as files: a drawing without words of its own, which stand beside it on the page, and its data.

# More points than these are drawn in pixels: each would be an element of its own.
most_marks <- 2500
most_svg_bytes <- 9e4

# Plots of an earlier report that this one does not have would be taken for its own.
clear_plots_dir <- function(plots_dir, names) {
  if (!dir.exists(plots_dir) && !dir.create(plots_dir, showWarnings = FALSE)) {
    abort_usage("cannot make the directory '", plots_dir, "'; --out FILE writes the report elsewhere")
  }
  unlink(file.path(plots_dir, as.vector(outer(names, c(".png", ".svg", ".csv"), paste0))))
}

# Drawing takes most of a report's time.
write_figures <- function(analysis, plots_dir, rows = plots_of("noise")) {
  # loaded here, not by each of the processes
  loadNamespace("ggplot2")
  has_svglite()
  figures <- Filter(Negate(is.null), in_processes(rows, function(plot) write_figure(plot, analysis, plots_dir)))
  stats::setNames(figures, vapply(figures, `[[`, "", "name"))
}

# One plot: its data as CSV, its drawing, and what a page says of it; NULL where the campaign has no data for it.
write_figure <- function(plot, analysis, plots_dir) {
  frame <- plot_frame(plot, analysis)
  if (is.null(frame)) return(NULL)
  write_atomically(file.path(plots_dir, paste0(plot$name, ".csv")), function(path) data.table::fwrite(without_levels(frame), path, na = ""))
  ordered <- if (is.null(analysis$campaign)) frame else frame[order(panel_factor(frame$panel, analysis)), ]
  # Without title, subtitle and caption it is lower.
  figure <- figure_parts(plot, draw_frame(plot, analysis, frame), plot$alt(ordered), figure_size(plot, frame, analysis) - c(0, 0.8),
                         nrow(frame), plots_dir)
  if (!is.null(plot$narrow)) figure$narrow <- narrow_picture(plot$narrow(figure$drawn, frame), frame)
  figure$drawn <- NULL
  figure
}

# A drawing (`drawn`: without words) and the words beside it.
figure_parts <- function(plot, drawn, alt, size, n_marks, plots_dir) {
  words <- lapply(drawn$labels[c("subtitle", "caption")], function(text) gsub("\n", " ", text %||% "", fixed = TRUE))
  names(words) <- c("subtitle", "caption")
  drawn <- drawn + ggplot2::labs(title = NULL, subtitle = NULL, caption = NULL)
  c(plot[c("name", "title", "question", "asks")], words, list(alt = alt, drawn = drawn,
      picture = write_picture(drawn, plots_dir, plot$name, size, n_marks)))
}

# The drawing as a file and for the page: `form` (svg or png) and `data` (text or raw).
write_picture <- function(drawn, plots_dir, name, size, n_marks) {
  as_svg <- n_marks <= most_marks && has_svglite()
  picture <- list(form = "png", width = size[1], height = size[2])
  if (as_svg) {
    picture$data <- svg_text(drawn, size)
    if (nchar(picture$data, "bytes") <= most_svg_bytes) picture$form <- "svg"
  }
  file <- file.path(plots_dir, paste0(name, ".", picture$form))
  if (picture$form == "svg") write_output(picture$data, file) else {
    write_atomically(file, function(path) save_plot(drawn, path, size))
    picture$data <- readBin(file, "raw", file.size(file))
  }
  picture
}

svg_text <- function(drawn, size) {
  file <- tempfile(fileext = ".svg")
  on.exit(unlink(file))
  svglite::svglite(file, width = size[1], height = size[2])
  tryCatch(print(drawn), finally = grDevices::dev.off())
  paste(readLines(file, encoding = "UTF-8"), collapse = "\n")
}

# For the width of a phone, with a panel below the other; NULL without svglite.
narrow_picture <- function(drawn, frame) {
  if (!has_svglite() || nrow(frame) > most_marks) return(NULL)
  size <- c(4.4, 1 + 1.5 * min(8, n_panels(frame)))
  list(form = "svg", data = svg_text(drawn, size), width = size[1], height = size[2])
}

# The data of a plot, or NULL where there is nothing to draw.
plot_frame <- function(plot, analysis) {
  if (plot$compares && is_clean(analysis)) return(NULL)
  frame <- plot$draw(analysis, draw = FALSE)
  if (NROW(frame) == 0) return(NULL)
  # Clean launches of one loop each have a trace of one point.
  if (plot$name == "trace" && NROW(frame) <= n_panels(frame)) return(NULL)
  frame
}

# The plot of a data frame that it gave: what is slow to compute is not computed twice.
draw_frame <- function(plot, analysis, frame) {
  analysis$frames[[plot$name]] <- frame
  plot$draw(analysis)
}

save_plot <- function(plot, path, size, form = "png") {
  plot_devices[[form]](path, size[1], size[2])
  on.exit(grDevices::dev.off())
  print(plot)
}

# Inches; the height follows the number of panels.
figure_size <- function(plot, frame, analysis) {
  if (!is.null(plot$size)) return(plot$size(frame, analysis))
  name <- plot$name
  panels <- n_panels(frame)
  stacked <- name %in% c("trace", "launches")
  columns <- if (several_treatments(analysis) && name %in% c("dose", "preempted", "tail")) {
    panel_columns(panels, nrow(analysis$treatments))
  } else grDevices::n2mfrow(panels)[1]  # as facet_wrap() does
  rows <- if (stacked) panels else ceiling(panels / columns)
  if (name == "treatments" && any(nzchar(frame$row))) rows <- length(unique(frame$row))
  each <- if (name == "launches") 0.8 + 0.25 * length(unique(frame$launch)) else if (stacked) 2.1 else 2.9
  if (several_treatments(analysis)) {
    # Many rows of panels are lower; in the plot of launches each treatment has a line for all its launches.
    if (!stacked && rows > 2) each <- 2.3
    if (name == "launches") {
      most <- max(table(frame[c("panel", "treatment", "level")]))
      each <- 0.6 + length(unique(frame$treatment)) * (0.16 + 0.12 * most)
    }
  }
  c(9, min(40, 1.8 + each * rows + if (rows == 1) 0.4 else 0))
}

has_svglite <- function() requireNamespace("svglite", quietly = TRUE)
