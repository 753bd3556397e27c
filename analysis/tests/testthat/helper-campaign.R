# A small campaign in a directory of its own, removed at the end of the test.
local_campaign <- function(..., make = simulate_campaign, env = parent.frame()) {
  dir <- local_folder(env)
  make(dir, ...)
  dir
}
local_agent <- function(..., env = parent.frame()) {
  local_campaign(..., make = simulate_agent_campaign, env = env)
}
local_acceptance <- function(..., env = parent.frame()) {
  local_campaign(..., make = simulate_acceptance, env = env)
}

# One that several tests look at; it is removed with the session. What is made of it is made once, by
# delayedAssign().
kept_campaign <- function(...) {
  dir <- tempfile("campaign")
  simulate_campaign(dir, ...)
  dir
}

# The text of a report, its pictures cut short: searching through them takes seconds.
read_html <- function(file) {
  gsub("base64,iVBOR[A-Za-z0-9+/=]+", "base64,iVBOR", paste(readLines(file), collapse = "\n"), perl = TRUE)
}

# The page of a report with the pictures of these plots only: drawing takes most of a report's time.
page_of <- function(analysis, plots = character()) {
  dir <- local_folder()
  analysis <- with_parts(analysis)
  rows <- Filter(function(plot) plot$name %in% plots, plots_of("noise"))
  figures <- if (length(rows) > 0) {
    write_figures(analysis, dir, rows)
  } else {
    stats::setNames(list(), character())
  }
  read_html(write_page(report_page(analysis, figures, "r_files"), file.path(dir, "r.html")))
}

# Every plot that has something to show, built but not rendered, with its data and its words.
built_plots <- function(analysis) {
  built <- lapply(plots_of("noise"), function(plot) {
    frame <- plot_frame(plot, analysis)
    if (!is.null(frame)) {
      list(name = plot$name, frame = frame, alt = plot$alt(frame),
           drawn = ggplot2::ggplot_build(draw_frame(plot, analysis, frame)))
    }
  })
  Filter(Negate(is.null), built)
}

halves_of <- function(dir) list.files(dir, "halves.csv|blocks.csv", recursive = TRUE, full.names = TRUE)[1]

# Rewrites one file of a campaign line by line.
edit_lines <- function(file, change) writeLines(change(readLines(file)), file)

published <- function() read_summary(system.file("extdata", "khudoleeva2021.csv", package = "noiselab"))

# Puts values into named columns of the given lines (the header is line 1) of a CSV file.
edit_cells <- function(file, lines, ...) edit_lines(file, put_cells(lines, ...))
put_cells <- function(lines, ...) {
  values <- list(...)
  function(x) {
    cells <- strsplit(paste0(x, ",!"), ",")
    at <- match(names(values), cells[[1]])
    for (line in lines) cells[[line]][at] <- unlist(values)
    vapply(cells, function(row) paste(row[-length(row)], collapse = ","), "")
  }
}

# Rewrites keys of a launch.json as parsed.
edit_json <- function(file, change) {
  info <- change(jsonlite::read_json(file))
  writeLines(jsonlite::toJSON(info, auto_unbox = TRUE, null = "null", digits = NA), file)
}

# The same by statements about `info`.
edit_info <- function(file, change) {
  at <- new.env(parent = parent.frame())
  at$info <- jsonlite::read_json(file)
  eval(substitute(change), at)
  edit_json(file, function(info) at$info)
}

# A campaign with synchronised starts, of some hundred starts.
local_starts <- function(..., pairs = 4, levels_percent = 5, start = "window", half_period_ns = 6e4,
                         env = parent.frame()) {
  local_campaign(pairs = pairs, levels_percent = levels_percent, start = start,
                 half_period_ns = half_period_ns, ..., env = env)
}

# A program without a process: its status, what went to stderr, and to stdout.
status_of <- function(name, ...) {
  text <- NULL
  out <- utils::capture.output(
    text <- utils::capture.output(status <- run_program(name, c(...)), type = "message")
  )
  list(status = status, err = text, out = out)
}

# A command line that is refused in one line.
expect_refused <- function(name, args, words = paste0("^", name, ": "), status = 2L) {
  got <- status_of(name, args)
  testthat::expect_equal(got[c("status", "out")], list(status = status, out = character()))
  testthat::expect_length(got$err, 1)
  testthat::expect_match(got$err, words)
}

# What noiselab analyze --json says.
json_of <- function(...) jsonlite::fromJSON(status_of("noiselab-analyze", ..., "--json")$out)

# An empty directory, removed at the end of the test.
local_folder <- function(env = parent.frame()) {
  dir <- tempfile("empty")
  dir.create(dir)
  do.call(on.exit, list(bquote(unlink(.(dir), recursive = TRUE)), add = TRUE), envir = env)
  dir
}

# A machine so quiet that few pairs tell.
quiet <- list(noise = list(white = list(sd = 5e-4)), spike_rate = 0)

# A sweep in memory: launches of an agent at each of the intervals (s).
sweep_campaign <- function(intervals_s, slowdown_percent, ..., launches = 3, pairs = 25) {
  parts <- lapply(seq_along(intervals_s), function(i) {
    part <- do.call(
      simulated_campaign,
      c(
        quiet,
        list(external = "agent", slowdown_percent = slowdown_percent[i], launches = launches, pairs = pairs,
             prefix = paste0("every", i), seed = i, ...)
      )
    )
    for (id in names(part$launches)) part$launches[[id]]$options$agent_interval_ns <- intervals_s[i] * 1e9
    part
  })
  name_intervals(join_campaigns(parts))
}

# Campaigns in memory as one.
join_campaigns <- function(parts) {
  all <- parts[[1]]
  all$rows <- data.table::rbindlist(lapply(parts, `[[`, "rows"))
  all$launches <- unlist(lapply(parts, `[[`, "launches"), recursive = FALSE)
  all$paths <- unlist(lapply(parts, `[[`, "paths"))
  all
}

# Gives the launches of a simulated campaign other ids, so that it can stand beside another one.
rename_launches <- function(dir, ending) {
  for (id in list.files(dir)) {
    path <- file.path(dir, paste0(id, ending))
    file.rename(file.path(dir, id), path)
    for (file in list.files(path, full.names = TRUE)) {
      edit_lines(file, function(lines) gsub(id, basename(path), lines, fixed = TRUE))
    }
  }
}
