# noiselab plot: one plot, or several, as a file or as data.

# A function, because options are made in a file that is read later.
plot_options <- function() c(list(
  option("out", "FILE", "a .png, .svg, .pdf or .csv; with several plots a directory (default: NAME.png)"),
  option("margin", "PERCENT", "the slowdown that matters, in plots that show one (--list)"),
  option("size", "WxH", "width and height in inches, such as 6x4 (default: that of the report)"),
  option("nodes", "LIST", "scale: numbers of nodes (default: decades from 1 to 100000)"),
  option("every", "LIST", "scale: work between synchronisations (default 100us,1ms,10ms)"),
  option("csv", help = "the data as CSV instead of a picture"),
  option("json", help = "the data as JSON instead of a picture"),
  option("list", help = "print the plots and what they need")
), usual_options("alpha", "help"))

name_width <- function(about) max(nchar(about$name))

plot_help <- function() {
  about <- plot_table()
  help_text(
    c("Usage: noiselab plot [OPTIONS] NAME[,NAME...] DIR...", "       noiselab plot --list"),
    c("Draws plots of the report one by one: DIR is a campaign or a launch, several are analyzed",
      "together. Prints the paths of the files that it wrote, or the data with --csv or --json."),
    plot_options(),
    c("Plots:", sprintf("  %-*s %s", name_width(about), about$name, about$title), "",
      "Exit status: 0 it worked, whatever the plot shows; 2 wrong usage, environment or a damaged file;",
      "3 the data cannot answer (empty campaign, no complete pair, nothing to draw); 70 a bug.")
  )
}

run_plot <- function(operands, values, form) {
  if (isTRUE(values$list)) {
    if (length(values) > 1 || length(operands) > 0) abort_usage("--list stands alone")
    return(writeLines(list_plots()))
  }
  if (length(operands) == 0) abort_usage("no NAME given (try --list)")
  rows <- wanted_plots(operands[1])
  dirs <- operands[-1]
  if (length(dirs) == 0) abort_usage("no DIR given (try --help)")
  target <- plot_target(values, vapply(rows, `[[`, "", "name"))
  alpha <- alpha_option(values$alpha)
  margin <- plot_margin(values$margin, rows)
  of <- unique(vapply(rows, function(plot) plot$of %||% "noise", ""))
  if (length(of) > 1) {
    abort_usage(
      "plots of ",
      join_words(c(noise = "noise", acceptance = "an acceptance campaign", nights = "several nights",
                   profile = "a program's profile", scale = "a projection")[of]),
      " are drawn apart"
    )
  }
  if (of != "scale") {
    for (name in intersect(c("nodes", "every"), names(values))) {
      abort_usage("--", name, ": is of the plot scale only")
    }
  }
  # judged as in the campaign itself
  if (of == "acceptance") {
    values <- as_asked(values, dirs, c("limits", "classes", "reference", "margin"))
    margin <- acceptance_margin(values$margin)
  }
  write_plots(
    rows,
    switch(of, noise = report_analysis(read_campaign(dirs, arms = "any"), alpha, margin),
           acceptance = unclass(judge_dirs(dirs, values, alpha, margin)),
           nights = unclass(trend_of(dirs, values, alpha, margin)), profile = profile_of(dirs, alpha),
           scale = scale_projection(dirs, values)),
    target
  )
}

profile_of <- function(dirs, alpha) {
  if (length(dirs) != 1) abort_usage("the plot profile is of one run: wanted one DIR, got ", length(dirs))
  profile_report(read_profile(dirs), alpha)
}

scale_projection <- function(dirs, values) {
  nodes <- values$nodes %||% "1,10,100,1000,10000,100000"
  is_profile <- campaign_program(dirs) == "noiselab-profile"
  asked_projection(
    dirs,
    c(
      list(nodes = nodes),
      if (!is.null(values$every)) {
        values["every"]
      } else if (!is_profile) {
        list(every = "100us,1ms,10ms")
      },
      values["alpha"][!is.null(values$alpha)]
    )
  )
}

# NULL where no rank was held up, or nothing is left to work.
profile_projection <- function(dirs) {
  tryCatch(scale_projection(dirs, list()), nl_error_data = function(e) NULL)
}

list_plots <- function() {
  about <- plot_table()
  lines <- strwrap(paste0(about$title, "; needs ", about$needs), 96 - name_width(about), simplify = FALSE)
  unlist(
    Map(function(name, text) sprintf("%-*s %s", name_width(about), c(name, rep("", length(text) - 1)), text),
        about$name, lines),
    use.names = FALSE
  )
}

wanted_plots <- function(text) {
  known <- plots()
  names(known) <- vapply(known, `[[`, "", "name")
  wanted <- unique(strsplit(text, ",", fixed = TRUE)[[1]])
  unknown <- setdiff(wanted, names(known))
  if (length(wanted) == 0 || length(unknown) > 0) {
    abort_usage("'", c(unknown, text)[1], "' is not a plot", did_you_mean(c(unknown, text)[1], names(known)))
  }
  unname(known[wanted])
}

plot_margin <- function(text, rows) {
  value <- margin_option(text)
  if (!is.null(value) && !any(vapply(rows, function(plot) isTRUE(plot$margin), TRUE))) {
    abort_usage(
      "--margin does not apply to ", rows[[1]]$name, " (it does to ",
      paste(unlist(lapply(plots(), function(plot) if (isTRUE(plot$margin)) plot$name)), collapse = ", "), ")"
    )
  }
  value
}

# What is written where: `form`, and a path for each plot (NULL: stdout).
plot_target <- function(values, names) {
  size <- if (is.null(values$size)) {
    c(NA_real_, NA_real_)
  } else {
    suppressWarnings(as.numeric(strsplit(values$size, "x", fixed = TRUE)[[1]]))
  }
  if (length(size) != 2 || !is.null(values$size) && !all(is.finite(size) & size >= 1 & size <= 100)) {
    abort_usage("--size: '", values$size, "' is not a width and a height in inches from 1 to 100 (try 6x4)")
  }
  asked <- if (isTRUE(values$csv)) "csv" else if (isTRUE(values$json)) "json"
  if (length(names) > 1) {
    form <- asked %||% "png"
    if (is.null(values$out) && !is.null(asked)) {
      abort_usage("--", form, " of several plots needs --out DIRECTORY")
    }
    dir <- values$out %||% "."
    if (!dir.exists(dir)) abort_usage("--out: '", dir, "' is not a directory, which several plots need")
    return(list(form = form, files = as.list(file.path(dir, paste0(names, ".", form))), size = size))
  }
  ending <- tolower(sub("^.*\\.", "", basename(values$out %||% ".png")))
  forms <- c(names(plot_devices), "csv", "json")
  if (is.null(asked) && !ending %in% forms) {
    abort_usage("--out: '", values$out, "' does not end in ", paste0(".", forms, collapse = ", "))
  }
  form <- asked %||% ending
  if (!form %in% names(plot_devices) && any(!is.na(size))) abort_usage("--size does not apply to data")
  list(form = form, files = list(values$out %||% if (is.null(asked)) paste0(names, ".", form)), size = size)
}

write_plots <- function(rows, analysis, target) {
  drawn <- Map(function(plot, file) {
    frame <- plot_frame(plot, analysis)
    if (!is.null(frame)) write_plot(plot, frame, analysis, target, file)
    lacks <- sprintf("%s: nothing to draw: needs %s", plot$name, plot$needs)
    if (is.null(frame)) if (length(rows) == 1) abort_data(lacks) else say_notes("noiselab-plot", lacks)
    !is.null(frame)
  }, rows, target$files)
  if (!any(unlist(drawn))) abort_data("none of these plots has anything to draw")
}

write_plot <- function(plot, frame, analysis, target, file) {
  if (!target$form %in% names(plot_devices)) {
    lines <- if (target$form == "csv") csv_lines(frame) else {
      to_json(list(schema = 1L, plot = plot$name, rows = frame), single = c("schema", "plot"))
    }
    write_output(lines, file)
  } else {
    size <- ifelse(is.na(target$size), figure_size(plot, frame, analysis), target$size)
    drawn <- draw_frame(plot, analysis, frame)
    write_atomically(file, function(path) save_plot(drawn, path, size, target$form))
  }
  if (!is.null(file)) writeLines(file)
}
