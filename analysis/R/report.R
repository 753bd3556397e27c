# The report of a campaign: the answer and its picture, then a section per question.

#' Write a report
#'
#' One HTML file that needs nothing else, neither network nor scripts, and beside it each plot's data as CSV
#' and its picture (SVG; PNG where it has more than some thousand points, or svglite is not installed). A
#' campaign of synchronised starts, or of an experiment with an analysis of its own, may hold one arm only:
#' the report then has no verdicts.
#'
#' @param campaign An `nl_campaign` from [read_campaign()] or an `nl_analysis`; or an
#' `nl_acceptance_verdict` from `judge_acceptance()`, which
#'   has been judged: `alpha` and `margin` are then its own.
#' @param file Character, length 1: the HTML file. It is written beside its place and renamed.
#' @param plots_dir Character, length 1: directory for pictures and CSV files, made if need be.
#' @param alpha One-sided level of the tests, length 1.
#' @param margin Slowdown in percent that verdicts are judged against, length 1; NULL: none. (A list: what a
#' front end read of many nodes.)
#' @return `file`, invisibly.
#' @examples
#' \dontrun{
#' write_report(read_campaign("campaign"), "report.html")
#' }
#' @export
write_report <- function(campaign, file, plots_dir = files_beside(file), alpha = 0.01, margin = NULL) {
  if (inherits(campaign, "nl_acceptance_verdict")) return(write_acceptance_report(campaign, file, plots_dir))
  check_report_file(file)
  # of many nodes it is asked of an agent's answer alone
  scale_margin <- if (is.list(margin)) margin
  analysis <- if (inherits(campaign, "nl_analysis")) {
    campaign
  } else {
    report_analysis(campaign, alpha, if (is.null(scale_margin)) margin)
  }
  analysis$scale_margin <- scale_margin
  analysis$own <- own_answer(analysis)
  clear_plots_dir(plots_dir, plot_table()$name)
  analysis <- with_parts(analysis)
  write_page(report_page(analysis, write_figures(analysis, plots_dir), basename(plots_dir)), file)
}

with_parts <- function(analysis) {
  if (!is_clean(analysis)) analysis$location <- location_of(analysis)
  analysis$agent <- agent_of(analysis)
  led <- c("agent_answers", "agent_taken", "interruption_ns", "margin_answer")
  if (!is.null(analysis$agent$answers)) analysis[led] <- analysis$agent$analysis[led]
  analysis$panel_cells <- panel_cells(analysis$campaign$rows)
  analysis$mechanisms <- load_mechanisms(analysis$campaign, analysis$verdicts$alpha[1])
  analysis
}

files_beside <- function(file) paste0(sub("\\.html?$", "", file), "_files")

# Looked at before anything is computed: the first thing that cannot be is a place that cannot be written.
check_report_file <- function(file) {
  check_argument(is_text(file), "file", file, "one file name")
  dir <- dirname(file)
  check_argument(dir.exists(dir), "file", file, "a file in a directory that exists")
  # A trial says more than permissions do: of root, of file systems that are read-only or far away.
  trial <- tempfile(".noiselab.", dir)
  on.exit(unlink(trial))
  if (!tryCatch(suppressWarnings(file.create(trial)), error = function(e) FALSE)) {
    abort_usage("cannot write in '", dir, "': --out FILE writes the report elsewhere")
  }
}

report_analysis <- function(campaign, alpha, margin = NULL) {
  if (length(unique(campaign$rows[["arm"]])) == 1) {
    analysis <- clean_analysis(campaign, alpha)
    if (has_starts(campaign) || !is.null(own_answer(analysis))) return(analysis)
    check_arms(campaign)
  }
  analyze_campaign(campaign, alpha = alpha, margin = margin)
}

# The picture of the answer is the first of these that there is, each section's the first of its own.
answer_plots <- c("pareto", "intervals", "dose", "forest", "tail")
agent_plots <- c("intervals", "forest")
lead_plots <- list(slower = c("forest", "tail"), cpu = "preempted", seen = "power", where = "nodes",
                   trust = "trace")

report_page <- function(analysis, figures, files_dir) {
  lead <- utils::head(
    intersect(if (has_agent(analysis$campaign)) agent_plots else answer_plots, names(figures)), 1
  )
  figure <- function(name) if (length(name) > 0) figure_tag(figures[[name]], files_dir)
  rest <- figures[setdiff(names(figures), lead)]
  ask <- function(id, title, sentence, body = NULL, ...) {
    mine <- names(rest)[vapply(rest, function(one) one$asks == id, TRUE)]
    wanted <- setdiff(lead_plots[[id]], if (!several_nodes(analysis)) "nodes")
    first <- c(intersect(wanted, mine), mine)[1]
    more <- setdiff(mine, first)
    page_section(
      id, title, sentence, if (!is.na(first)) figure(first), body,
      c(list(...), lapply(more, function(name) details_tag(figures[[name]]$question, figure(name))))
    )
  }
  checks <- trust_checks(analysis)
  clean <- is_clean(analysis)
  html_page(
    report_title(analysis),
    report_where(analysis$campaign),
    report_answer(analysis),
    report_alarms(analysis),
    figure(lead),
    list(
      if (!clean) {
        ask("slower", "Did it slow down?", slower_sentence(analysis),
            list(slowdown_table(analysis), refused_fold(analysis)),
            details_tag("Against the margin", part_tags(margin_part(analysis))), report_settings(analysis),
            report_versions(analysis), report_sweep(analysis), report_replay(analysis),
            details_tag("All verdicts, by every channel", verdict_tags(analysis)))
      },
      if (!clean) {
        ask(
          "cpu",
          "What took the CPU?",
          cpu_sentence(analysis),
          NULL,
          if (!is.null(analysis$agent)) {
            details_tag("The agent: what it used and took", agent_section(analysis$agent))
          },
          report_counters(analysis),
          details_tag("Amplification", part_tags(amplification_part(analysis))),
          details_tag("What changed besides", lapply(
            load_mechanism_parts(analysis$mechanisms, analysis$campaign, analysis$verdicts$alpha[1]),
            part_tags
          )),
          details_tag("The load that was delivered", certificate_table(analysis$campaign))
        )
      },
      if (!clean) {
        ask("seen", "What could have been seen?", seen_sentence(analysis), NULL,
            details_tag("Thresholds: the smallest level that shows", part_tags(threshold_part(analysis))))
      },
      ask(
        "where",
        "Which rank or node?",
        where_sentence(analysis),
        if (several_nodes(analysis)) {
          lapply(location_parts(analysis$location, answering_rows(analysis$location$nodes)), part_tags)
        },
        details_tag("Synchronised starts", report_starts(analysis$campaign))
      ),
      ask(
        "trust",
        "Can the run be trusted?",
        trust_sentence(checks),
        trust_table(checks),
        details_tag("All notes", notes_list(analysis$notes)),
        if (clean) {
          lapply(Filter(function(one) !one$asks %in% c("where", "trust"), unname(rest)),
                 function(one) details_tag(one$question, figure(one$name)))
        }
      ),
      again_section(analysis)
    )
  )
}

# The question that the experiment asks.
report_title <- function(analysis) {
  if (!is.null(analysis$own)) return(analysis$own$question)
  if (compares_algorithms(analysis$campaign)) {
    return("Which algorithm is the fastest here, quiet and under noise?")
  }
  if (is_clean(analysis)) return("How well do synchronised starts begin?")
  if (has_settings(analysis$campaign)) return("Does the setting make a difference?")
  if (has_versions(analysis$campaign)) return("Does the new version cost more than the old one?")
  agents <- unique(sub("@.*", "", analysis$treatments$kind[analysis$treatments$pattern %in% no_word]))
  if (has_agent(analysis$campaign) && length(agents) > 0) {
    return(sprintf("What %s %s cost?", if (length(agents) == 1) "does" else "do", join_words(agents)))
  }
  "How much does noise slow these operations down?"
}

again_section <- function(analysis) {
  page_section(
    "again",
    "Where it comes from, and how to repeat it",
    sprintf(
      "Measured on %s, by noiselab %s; these commands make it again.", report_where(analysis$campaign),
      join_words(unique(vapply(analysis$campaign$launches, function(info) show_json(info$version), "")))
    ),
    NULL,
    reproduce(analysis),
    list(details_tag("Machine, settings and software of every launch", provenance_table(analysis$campaign)))
  )
}

# How a report is put together: templates, style sheet and script are files of inst/report.

# A template with its values. htmltools escapes every text that is put in.
template <- function(name, ...) {
  htmltools::htmlTemplate(report_file(paste0(name, ".html")), ..., document_ = FALSE)
}

report_file <- function(name) system.file("report", name, package = "noiselab", mustWork = TRUE)

report_text <- function(name) {
  htmltools::HTML(paste(readLines(report_file(name), encoding = "UTF-8"), collapse = "\n"))
}

# `answer`: sentences; `alarms`: what is to be known before it is believed; `sections`: of page_section(),
# NULL ones are left out.
html_page <- function(title, where, answer, alarms, picture, sections) {
  tags <- htmltools::tags
  sections <- Filter(Negate(is.null), sections)
  template(
    "page",
    title = title,
    where = where,
    style = report_text("style.css"),
    script = report_text("sort.js"),
    answer = htmltools::tagList(lapply(answer, tags$p),
                                lapply(alarms, function(text) tags$p(class = "loud", text))),
    picture = picture %||% "",
    contents = htmltools::tagList(lapply(sections, `[[`, "link")),
    sections = htmltools::tagList(lapply(sections, `[[`, "html")),
    footer = paste("Written by noiselab", package_version_text())
  )
}

# A question with its answer in a sentence, its plot, what stands open below it (`body`), and what is folded
# (`folds`: tags of details_tag()).
page_section <- function(id, title, sentence, picture = NULL, body = NULL, folds = NULL) {
  if (is.null(sentence)) return(NULL)
  tags <- htmltools::tags
  list(
    link = tags$li(tags$a(href = paste0("#", id), title)),
    html = template("section", id = id, title = title,
                    sentence = upper_first(paste(sentence, collapse = " ")), picture = picture %||% "",
                    body = htmltools::tagList(body), folds = htmltools::tagList(folds))
  )
}

details_tag <- function(title, ...) {
  body <- without_nulls(list(...))
  if (length(body) > 0) template("fold", title = title, body = htmltools::tagList(body))
}

# Lists of tags may hold nothing at any depth.
without_nulls <- function(x) {
  if (!is.list(x) || inherits(x, "shiny.tag")) return(x)
  Filter(function(part) length(part) > 0, lapply(x, without_nulls))
}

# `files_dir`: where the plot's own files are, as seen from the report.
figure_tag <- function(figure, files_dir) {
  if (is.null(figure)) return(NULL)
  tags <- htmltools::tags
  files <- paste0(files_dir, "/", figure$name, c(paste0(".", figure$picture$form), ".csv"))
  template("figure", id = figure$name, title = paste0(figure$title, "."), subtitle = figure$subtitle,
           picture = drawn_tag(figure$picture, figure$alt, figure$name), caption = figure$caption,
           files = tags$p("Picture and data: ", paste(files, collapse = ", ")))
}

# Open to the eye and to those who have the picture read to them.
drawn_tag <- function(picture, alt, id) {
  tags <- htmltools::tags
  if (picture$form == "svg") {
    return(tags$div(class = "drawn", htmltools::HTML(inline_svg(picture$data, alt, id))))
  }
  data <- paste0("data:image/png;base64,", gsub("\n", "", jsonlite::base64_enc(picture$data), fixed = TRUE))
  tags$div(
    class = "drawn",
    tags$img(src = data, alt = alt, width = round(96 * picture$width), height = round(96 * picture$height))
  )
}

# The drawing as part of a page: without what only a file needs, with its text alternative, and with names
# that no other drawing has.
inline_svg <- function(text, alt, id) {
  text <- sub("^<\\?xml[^>]*\\?>\\s*", "", text)
  text <- gsub(" xmlns(:xlink)?='[^']*'", "", text)
  text <- sub(" width='[^']*' height='[^']*'", "", text)
  text <- gsub("(id='|url\\(#)cp", paste0("\\1", id, "-cp"), text)
  text <- gsub(" font-family: [^;]*;| lengthAdjust='[^']*'", "", text)
  # a tenth of a point is a third of a hair
  places <- gregexpr("(points|[xy][12]?|c[xy]|r|width|height)='[^']*'", text)
  regmatches(text, places) <- lapply(regmatches(text, places), function(x) {
    gsub("([0-9]\\.[0-9])[0-9]", "\\1", x)
  })
  sub("<svg ", paste0("<svg role='img' aria-label='", htmltools::htmlEscape(alt, attribute = TRUE), "' "),
      text, fixed = TRUE)
}

# `columns`: heading -> text; those named in `text` are words, `wrap` words that fold; `how`: what they
# mean, folded; `verdict`: words of the last.
html_table <- function(columns, caption = NULL, how = NULL, text = character(), wrap = character(),
                       verdict = NULL) {
  made <- Map(
    function(name, value) {
      value <- as.character(value)
      if (name %in% wrap) {
        c(col_words(name, value), class = "wrap")
      } else if (name %in% text) {
        col_words(name, value)
      } else {
        col_number(name, value, value)
      }
    },
    names(columns),
    columns
  )
  page_table(do.call(new_table, c(unname(made), list(mark = verdict))), caption, how)
}

# Each reason once, with the rows that it concerns (`name`, one per reason given); NULL without a reason.
reasons_fold <- function(name, reason, word = "inconclusive") {
  known <- !is.na(reason) & nzchar(reason)
  if (!any(known)) return(NULL)
  tags <- htmltools::tags
  of <- split(name[known], in_order(reason[known]))
  details_tag(
    sprintf("Why %s: %s in %s", word, counted(length(of), "reason"), counted(sum(known), "row")),
    tags$ul(Map(function(why, who) tags$li(paste0(upper_first(why), ": ", few_words(unique(who), 12), ".")),
                names(of), of))
  )
}

notes_list <- function(notes) {
  tags <- htmltools::tags
  if (length(notes) == 0) return(tags$p("Nothing odd was noticed."))
  tags$ul(lapply(upper_first(unique(notes)), tags$li))
}

write_page <- function(page, file) {
  write_atomically(file, function(path) writeLines(enc2utf8(as.character(page)), path, useBytes = TRUE))
  invisible(file)
}

# The plots of a report as files: a drawing without words of its own, which stand beside it on the page, and
# its data.

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

write_figures <- function(analysis, plots_dir, rows = plots_of("noise")) {
  # loaded here, not by each of the processes
  loadNamespace("ggplot2")
  has_svglite()
  figures <- Filter(Negate(is.null),
                    in_processes(rows, function(plot) write_figure(plot, analysis, plots_dir)))
  stats::setNames(figures, vapply(figures, `[[`, "", "name"))
}

# One plot: its data as CSV, its drawing, and what a page says of it; NULL where the campaign has no data
# for it.
write_figure <- function(plot, analysis, plots_dir) {
  frame <- plot_frame(plot, analysis)
  if (is.null(frame)) return(NULL)
  write_atomically(file.path(plots_dir, paste0(plot$name, ".csv")),
                   function(path) data.table::fwrite(without_levels(frame), path, na = ""))
  ordered <- if (is.null(analysis$campaign)) frame else frame[order(panel_factor(frame$panel, analysis)), ]
  drawn <- draw_frame(plot, analysis, frame)
  words <- lapply(c(subtitle = "subtitle", caption = "caption"), function(name) {
    gsub("\n", " ", drawn$labels[[name]] %||% "", fixed = TRUE)
  })
  drawn <- drawn + ggplot2::labs(title = NULL, subtitle = NULL, caption = NULL)
  # Without its words it is lower.
  picture <- write_picture(drawn, plots_dir, plot$name, figure_size(plot, frame, analysis) - c(0, 0.8),
                           nrow(frame))
  c(plot[c("name", "title", "question", "asks")], words, list(alt = plot$alt(ordered), picture = picture))
}

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

save_plot <- function(plot, path, size, form = "png") {
  plot_devices[[form]](path, size[1], size[2])
  on.exit(grDevices::dev.off())
  print(plot)
}

figure_size <- function(plot, frame, analysis) {
  if (!is.null(plot$size)) return(plot$size(frame, analysis))
  panels <- n_panels(frame)
  stacked <- plot$name == "trace"
  several <- several_treatments(analysis)
  columns <- if (several && plot$name != "power") panel_columns(panels, nrow(analysis$treatments)) else
    grDevices::n2mfrow(panels)[1]  # as facet_wrap() does
  rows <- if (stacked) panels else ceiling(panels / columns)
  each <- if (stacked) 2.1 else if (several && rows > 2) 2.3 else 2.9  # many rows of panels are lower
  c(9, min(40, 1.8 + each * rows + if (rows == 1) 0.4 else 0))
}

has_svglite <- function() requireNamespace("svglite", quietly = TRUE)

plot_devices <- list(png = function(path, width, height) {
    grDevices::png(path, width = width, height = height, units = "in", res = 110, type = "cairo")
  },
  svg = function(path, width, height) grDevices::svg(path, width = width, height = height),
  pdf = function(path, width, height) grDevices::cairo_pdf(path, width = width, height = height)
)
