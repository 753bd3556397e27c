# What a terminal shows first: the answer, one table, the warnings that matter, and where the rest is. At most 24 lines.

screen_lines <- 24
most_sentence_lines <- 8
most_warnings <- 3

verdict_styles <- c("detected" = "bold", "detected alone" = "bold", "not detected" = "", "inconclusive" = "yellow", "above" = "bold",
                    "below" = "",
                    "fail" = "red", "pass" = "green")

# A column of closed words, each with its mark.
col_verdict <- function(label, word, unicode = shows_unicode()) {
  mark <- verdict_looks[[if (unicode) "mark" else "ascii"]][match(word, verdict_looks$word)]
  mark[is.na(mark)] <- " "
  style <- ifelse(word %in% names(verdict_styles), verdict_styles[word], "")
  one <- col_words(label, word, style = unname(style))
  one$text <- paste(mark, word)
  one
}

# `sentences`: the answer. `table`: an nl_table, or lines. `legend`: one text under it. `warnings`: the most important first, each with
# what to do. `notes`: number of what else there is to say. `command`: of the whole text. `report`: file, where there is one.
new_view <- function(sentences, table = NULL, legend = NULL, warnings = character(), notes = 0, command = NULL, report = NULL) {
  list(sentences = sentences, table = table, legend = legend, warnings = unique(warnings), notes = notes, command = command,
       report = report)
}

# Lines of a text; a number keeps its % beside it.
fold <- function(text, width = text_width) {
  lines <- unlist(lapply(gsub(" %", "^%", text, fixed = TRUE), strwrap, width = width + 1))
  gsub("^%", " %", lines, fixed = TRUE)
}

view_lines <- function(view, width = text_width, most = screen_lines, colour = FALSE) {
  parts <- lapply(view$sentences, fold, width = width)
  shown <- cumsum(lengths(parts)) <= most_sentence_lines
  if (length(shown) > 0) shown[1] <- TRUE
  top <- c(unlist(parts[shown]), if (any(!shown)) sprintf("(and %s)", counted(sum(!shown), "more sentence")))
  table <- if (inherits(view$table, "nl_table")) table_lines(view$table, width, colour = colour) else view$table
  legend <- if (!is.null(view$legend)) paste0("  ", fold(view$legend, width - 2))
  alarms <- lapply(utils::head(view$warnings, most_warnings), function(text) {
    lines <- fold(text, width - 2)
    paste0(rep(c(styled("!", "yellow", colour), " "), c(1, length(lines) - 1)), " ", lines)
  })
  end <- function(k) view_end(view, length(view$warnings) - k, width)
  # What is left for the table beside the first k warnings.
  gap <- ""
  room <- function(k) most - length(top) - 2 * length(gap) - sum(lengths(alarms[seq_len(k)])) - length(end(k))
  # The first warning stands in any case; further ones where the table still has its place.
  k <- length(alarms)
  while (k > 1 && room(k) < length(table)) k <- k - 1
  # Empty lines give way before rows do, where that is enough.
  if (length(table) > room(k) && length(table) <= room(k) + 2) gap <- NULL
  if (length(table) > room(k)) table <- c(table[seq_len(room(k) - 1)], sprintf("  ... and %d more lines", length(table) - room(k) + 1))
  if (length(table) + length(legend) <= room(k)) table <- c(table, vapply(legend, styled, "", "dim", colour, USE.NAMES = FALSE))
  last <- c(unlist(alarms[seq_len(k)]), end(k))
  c(top, if (length(table) > 0) c(gap, table), if (length(last) > 0) c(gap, last))
}

view_end <- function(view, warnings_left, width) {
  more <- view$notes + warnings_left
  command <- if (!is.null(view$command)) {
    paste0("all tables", if (more > 0) sprintf(" and %s", counted(more, "more note")), ": ", view$command)
  }
  report <- if (!is.null(view$report)) paste0("report: ", view$report)
  both <- paste(c(report, command), collapse = "; ")
  if (nchar(both) <= width) both[nzchar(both)] else c(report, command)
}

# An analysis in the form that was asked for; what is for the others is not made. `head`: what JSON has beside the tables; `tables`: data
# frames by name, of JSON and CSV, `only_csv`: further ones of CSV; `table`: which of them CSV prints, NULL: the first; `said`: what it leaves
# to stderr; `answer`: of a question that decides the status, NULL: none was asked.
answered <- function(form, table, head, tables, notes, all, view, said = notes, answer = NULL, only_csv = list(), program = "noiselab-analyze") {
  if (form == "csv") say_notes(program, said)
  lines <- switch(form, json = answer_json(program, head, tables, notes), csv = csv_lines(as.data.frame(c(tables, only_csv)[[table %||% 1]])),
                  all = all, view)
  if (!is.null(answer)) attr(lines, "status") <- answer_status(answer)
  lines
}

# What the front ends print: lines as they are, a view as text for where it goes.
as_lines <- function(x, values) {
  if (!is.list(x)) return(x)
  lines <- view_lines(x, colour = is.null(values$out) && wants_colour())
  attr(lines, "status") <- attr(x, "status")
  lines
}

# The command that prints everything of these directories, as the user would type it.
all_command <- function(dirs, word = NULL, program = "analyze") {
  plain <- grepl("^[A-Za-z0-9_./@:+,=-]+$", dirs)
  paste(c("noiselab", program, word, "--all", ifelse(plain, dirs, shQuote(dirs))), collapse = " ")
}

# The report that stands beside a campaign, NULL: none.
report_beside <- function(dirs) {
  file <- file.path(sub("/+$", "", dirs[1]), "report.html")
  if (file.exists(file)) file
}

# ---- the small picture -------------------------------------------------------------------------

picture_width <- 15

# Intervals with their estimates on one axis, a line of characters per row: linear near 0, logarithmic beyond `sigma`. A column of
# words, or NULL where the terminal has only ASCII or nothing is known. `found`: logical, whose estimate is a full dot.
col_picture <- function(estimate, low, high, found, unicode = shows_unicode(), width = picture_width) {
  known <- is.finite(estimate) & is.finite(low) & is.finite(high)
  if (!unicode || !any(known)) return(NULL)
  reach <- c(0, low[known], high[known])
  half <- (high - low)[known] / 2
  sigma <- max(min(half[half > 0], Inf), max(abs(reach)) / 1000)
  if (!is.finite(sigma)) return(NULL)
  ends <- range(pseudo_log(reach, sigma))
  if (ends[1] == ends[2]) return(NULL)
  place <- function(x) pmin(width, pmax(1, 1 + round((pseudo_log(x, sigma) - ends[1]) / diff(ends) * (width - 1))))
  zero <- place(0)
  text <- vapply(seq_along(estimate), function(i) {
    cells <- rep(" ", width)
    cells[zero] <- "\u2502"
    if (known[i]) {
      cells[place(low[i]):place(high[i])] <- "\u2500"
      cells[place(estimate[i])] <- if (found[i]) "\u25cf" else "\u25cb"
    }
    paste(cells, collapse = "")
  }, "")
  top <- paste0(format_level(signif(max(reach), 2)), " %")
  head <- paste0(strrep(" ", zero - 1), "0")
  col_words(paste0(head, strrep(" ", max(1, width - nchar(head) - nchar(top))), top), text, folds = FALSE)
}
