# The one model of a table: columns of values, with what people see of them. Written as text for a terminal,
# as HTML, and (the values) as CSV or JSON. Own code: cli and pillar know tables of a console, not these
# three forms, and take longer to load than this takes to run.

# A column of words. `style`: names in `ansi_styles`, one per row, "" for none; `folds`: may be folded where
# the table is too wide.
col_words <- function(label, value, style = NULL, folds = TRUE) {
  list(label = label, value = value, text = ifelse(is.na(value), "-", as.character(value)), align = "left",
       style = style, folds = folds)
}

# A column of numbers, set to the right. `text`: a function of the values, or the texts, one per row;
# `unit`: said in the header.
col_number <- function(label, value, text = format_count_each, unit = "", style = NULL) {
  if (is.function(text)) text <- ifelse(is.na(value), "-", text(value))
  list(label = if (nzchar(unit)) paste(label, unit) else label, value = value, text = as.character(text),
       align = "right", style = style)
}

# `...`: columns under their names in data, in the order shown; NULL for none. `by`: one text per row, a
# heading above the rows that share it; `mark`: one word per row, its class in HTML.
new_table <- function(..., by = NULL, mark = NULL) {
  columns <- Filter(Negate(is.null), list(...))
  structure(list(columns = columns, n = length(columns[[1]]$text), by = by, mark = mark), class = "nl_table")
}

# ---- text --------------------------------------------------------------------------------------

text_width <- 98

# Two blanks between columns, always: what is too wide folds.
table_gap <- 2
least_folded <- 12 # columns that a column of words keeps

# Widths of columns that fit into `width` with the blanks between them, as far as that can be: headings fold
# into two lines first, then the widest columns of words, then whatever else has blanks; at last long words
# are cut. Pictures (`folds` FALSE) stay.
column_widths <- function(columns, width, indent) {
  each <- function(of) vapply(columns, function(one) max(nchar(c("", of(one)), "width")), 0)
  words <- function(x) unlist(strsplit(with_units(x), " ", fixed = TRUE))
  fits <- function(widths) sum(widths) + table_gap * (length(widths) - 1) + indent <= width
  widths <- each(function(one) c(one$label, one$text))
  if (fits(widths)) return(widths)
  stays <- vapply(columns, function(one) isFALSE(one$folds), TRUE)
  folds <- vapply(columns, function(one) isTRUE(one$folds), TRUE)
  heads <- each(function(one) words(one$label))
  longest <- pmax(heads, each(function(one) words(one$text)))
  halved <- vapply(columns, function(one) {
    tried <- seq(max(1, nchar(words(one$label))), text_width)
    Find(function(w) length(cell_lines(one$label, w)) <= 2, tried) %||% text_width
  }, 0)
  leasts <- list(pmax(halved, each(function(one) one$text)), ifelse(folds, pmax(longest, least_folded), Inf),
                 ifelse(folds, Inf, longest), ifelse(folds, pmax(heads, least_folded), Inf))
  for (least in leasts) {
    least <- ifelse(stays, widths, pmin(widths, least))
    # no further than needed, the widest of those that have something to give
    while (!fits(widths) && any(widths > least)) {
      gives <- which(widths > least)
      widest <- gives[which.max(widths[gives])]
      widths[widest] <- widths[widest] - 1
    }
  }
  widths
}

# A number keeps its % beside it.
kept_together <- function(text) gsub(" %", "^%", text, fixed = TRUE)

# In a cell it keeps its unit.
with_units <- function(text) {
  gsub("([0-9]) ([nm\u00b5]?s|[kMG]?B)( |$)", "\\1^\\2\\3", kept_together(text))
}

# Lines of a cell of at most `width` columns: a word that is longer goes on in the next one.
cell_lines <- function(text, width) {
  if (nchar(text, "width") <= width) return(text)
  lines <- strwrap(with_units(text), width + 1)
  lines <- unlist(lapply(lines, function(line) {
    from <- seq(1, max(1, nchar(line)), by = width)
    substring(line, from, from + width - 1)
  }))
  gsub("^", " ", lines, fixed = TRUE)
}

# Lines of at most `width` columns.
table_lines <- function(table, width = text_width, indent = 2, colour = FALSE) {
  columns <- table$columns
  cells <- lapply(columns, function(one) c(one$label, one$text))
  widths <- column_widths(columns, width, indent)
  row_lines <- function(i) {
    text <- vapply(cells, `[`, "", i)
    folded <- Map(cell_lines, text, widths)
    style <- vapply(columns, function(one) if (i == 1 || is.null(one$style)) "" else one$style[i - 1], "")
    vapply(seq_len(max(lengths(folded))), function(line) {
      parts <- mapply(
        function(x, w, one, s) {
          styled(format(if (line <= length(x)) x[line] else "", width = w, justify = one$align), s, colour)
        },
        folded,
        widths,
        columns,
        style
      )
      sub(" +$", "", paste0(strrep(" ", indent), paste(parts, collapse = strrep(" ", table_gap))))
    }, "")
  }
  group <- table$by %||% rep("", table$n)
  body <- lapply(split(seq_len(table$n), in_order(group)), function(at) {
    c(if (nzchar(group[at[1]])) paste0(strrep(" ", indent), group[at[1]], ":"),
      unlist(lapply(at + 1, row_lines)))
  })
  c(row_lines(1), unlist(body, use.names = FALSE))
}

table_width <- function(table, gap = table_gap, indent = 2) {
  widths <- vapply(table$columns, function(one) max(nchar(c(one$label, one$text), "width")), 0)
  sum(widths) + gap * (length(widths) - 1) + indent
}

ansi_styles <- c(bold = "1", dim = "2", red = "31", green = "32", yellow = "33", cyan = "36")

styled <- function(text, style, colour = TRUE) {
  if (!colour || !nzchar(style) || !nzchar(trimws(text))) return(text)
  sprintf("\033[%sm%s\033[0m", ansi_styles[[style]], text)
}

# Colours are for a terminal that has them, and for who wants them (no-color.org).
wants_colour <- function() {
  isatty(stdout()) && !nzchar(Sys.getenv("NO_COLOR")) && !Sys.getenv("TERM") %in% c("", "dumb")
}

# Can the output show more than ASCII?
shows_unicode <- function() isTRUE(l10n_info()[["UTF-8"]])

# ---- HTML --------------------------------------------------------------------------------------

# <table> with <thead> and a <tbody> per group. Numbers are class "num" and have their value in data-value,
# for sorting; words that fold are class "wrap" where the column says so; the first column heads its row; a
# row's mark is its class.
table_html <- function(table, caption = NULL, id = NULL) {
  tags <- htmltools::tags
  columns <- table$columns
  class_of <- function(one) if (one$align == "right") "num" else one$class
  heads <- unname(lapply(columns, function(one) tags$th(scope = "col", class = class_of(one), one$label)))
  row <- function(i) {
    cells <- lapply(seq_along(columns), function(k) {
      one <- columns[[k]]
      value <- if (is.numeric(one$value) && !is.na(one$value[i])) {
        format(one$value[i], digits = 15, trim = TRUE)
      }
      if (k == 1) tags$th(scope = "row", class = class_of(one), `data-value` = value, one$text[i]) else {
        tags$td(class = class_of(one), `data-value` = value, one$text[i])
      }
    })
    tags$tr(class = if (!is.null(table$mark)) gsub("[^a-z]+", "-", tolower(table$mark[i])), cells)
  }
  at <- seq_len(table$n)
  groups <- if (is.null(table$by)) list(at) else split(at, in_order(table$by))
  bodies <- unname(Map(function(name, rows) {
    tags$tbody(
      if (nzchar(name)) {
        tags$tr(class = "group", tags$th(scope = "rowgroup", colspan = length(columns), name))
      },
      lapply(rows, row)
    )
  }, names(groups) %||% "", groups))
  tags$table(id = id, if (!is.null(caption)) tags$caption(caption), tags$thead(tags$tr(heads)), bodies)
}

# ---- a table with its words, the same on a screen and on a page ----------------------------------

# `title` stands above it, `how` says what the columns mean, `remarks` follow, a line each.
new_part <- function(title, table, how = NULL, remarks = NULL) {
  list(title = title, table = table, how = how, remarks = remarks)
}

part_lines <- function(part) {
  if (!is.null(part)) {
    c(wrap_line(part$title, 0), wrap_line(part$how), if (!is.null(part$table)) table_lines(part$table),
      wrap_line(part$remarks), "")
  }
}

part_tags <- function(part) {
  if (is.null(part)) return(NULL)
  tags <- htmltools::tags
  how <- if (!is.null(part$how)) upper_first(paste(part$how, collapse = " "))
  remarks <- lapply(upper_first(as.character(part$remarks)), tags$p)
  if (is.null(part$table)) {
    return(list(tags$p(paste0(upper_first(part$title), if (length(remarks) > 0) ":" else ".")), remarks))
  }
  list(page_table(part$table, upper_first(part$title), how), remarks)
}

# ---- data --------------------------------------------------------------------------------------

# One object for programs. A value stands as it is, what is in I() as an array however many there are, NULL
# as null; data frames are arrays of rows.
answer_json <- function(program, head, tables = list(), notes = NULL) {
  head <- lapply(head, function(part) if (is.null(part)) NA else part)
  tables <- lapply(tables, function(rows) if (is.null(rows)) list() else as.data.frame(rows))
  to_json(c(alone(c(list(schema = 1L, program = program, version = package_version_text()), head)), tables,
            list(notes = as.character(unique(notes)))))
}

# For answer_json(): an array of texts; elements by name, NULL where there is none.
texts <- function(x) I(as.character(x))
pick <- function(x, names) stats::setNames(lapply(names, function(name) x[[name]]), names)

alone <- function(x) {
  if (is.data.frame(x) || inherits(x, "AsIs")) return(x)
  if (is.list(x)) lapply(x, alone) else if (length(x) == 1) jsonlite::unbox(x) else x
}

to_json <- function(x, single = character()) {
  x[single] <- lapply(x[single], jsonlite::unbox)
  as.character(jsonlite::toJSON(x, dataframe = "rows", na = "null", null = "null", digits = NA,
                                pretty = TRUE))
}

csv_lines <- function(frame) {
  if (NCOL(frame) == 0) return(character())
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  data.table::fwrite(without_levels(frame), file, na = "", quote = "auto")
  readLines(file)
}

# What a terminal shows first: the answer, one table, the warnings that matter, and where the rest is. At
# most 24 lines.

screen_lines <- 24
most_sentence_lines <- 8
most_warnings <- 3

verdict_styles <- c("detected" = "bold", "detected alone" = "bold", "not detected" = "",
                    "inconclusive" = "yellow", "above" = "bold", "below" = "", "fail" = "red",
                    "pass" = "green")

# A column of closed words, each with its mark.
col_verdict <- function(label, word, unicode = shows_unicode()) {
  mark <- verdict_looks[[if (unicode) "mark" else "ascii"]][match(word, verdict_looks$word)]
  mark[is.na(mark)] <- " "
  style <- ifelse(word %in% names(verdict_styles), verdict_styles[word], "")
  one <- col_words(label, word, style = unname(style))
  one$text <- paste(mark, word)
  one
}

# `sentences`: the answer. `table`: an nl_table, or lines. `legend`: one text under it. `warnings`: the most
# important first, each with what to do. `notes`: number of what else there is to say. `command`: of the
# whole text. `report`: file, where there is one.
new_view <- function(sentences, table = NULL, legend = NULL, warnings = character(), notes = 0,
                     command = NULL, report = NULL) {
  list(sentences = sentences, table = table, legend = legend, warnings = unique(warnings), notes = notes,
       command = command, report = report)
}

# Lines of a text; a number keeps its % beside it, and a command that fits into a line can be copied from it.
fold <- function(text, width = text_width) {
  whole <- vapply(text, whole_commands, "", width, USE.NAMES = FALSE)
  lines <- unlist(lapply(kept_together(whole), strwrap, width = width + 1))
  lines <- gsub("^%", " %", lines, fixed = TRUE)
  if (any(grepl("`", text, fixed = TRUE))) lines else gsub("`", " ", lines, fixed = TRUE)
}

# The blanks of commands of noiselab as "`", by which no line is broken.
whole_commands <- function(text, width) {
  if (grepl("`", text, fixed = TRUE)) return(text)
  commands <- "(analyze|project|plan|run|report|plot|compare|profile|help|doctor)"
  at <- gregexpr(paste0("noiselab ", commands, "( |$).*?(?=[;,)] |[.]?$|[.] )"), text, perl = TRUE)
  regmatches(text, at) <- lapply(regmatches(text, at), function(command) {
    ifelse(nchar(command) < width, gsub(" ", "`", trimws(command), fixed = TRUE), command)
  })
  text
}

view_lines <- function(view, width = text_width, most = screen_lines, colour = FALSE) {
  parts <- lapply(view$sentences, fold, width = width)
  shown <- cumsum(lengths(parts)) <= most_sentence_lines
  if (length(shown) > 0) shown[1] <- TRUE
  top <- c(unlist(parts[shown]), if (any(!shown)) sprintf("(and %s)", counted(sum(!shown), "more sentence")))
  table <- if (inherits(view$table, "nl_table")) {
    table_lines(view$table, width, colour = colour)
  } else {
    view$table
  }
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
  if (length(table) > room(k)) {
    table <- c(table[seq_len(room(k) - 1)], sprintf("  ... and %d more lines", length(table) - room(k) + 1))
  }
  if (length(table) + length(legend) <= room(k)) {
    table <- c(table, vapply(legend, styled, "", "dim", colour, USE.NAMES = FALSE))
  }
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

# All that there is to say: a view without a limit, then `parts` (of new_part(), or lines) and all notes.
all_lines <- function(view, parts, notes) {
  parts <- Filter(Negate(is.null), parts)
  c(
    wrap_line(view$sentences, 0),
    "",
    if (!is.null(view$table)) c(table_lines(view$table), wrap_line(view$legend)),
    wrap_line(sprintf("! %s", view$warnings)),
    "",
    unlist(
      lapply(parts, function(part) {
        if (is.character(part)) c(part, "") else part_lines(part)
      }),
      use.names = FALSE
    ),
    format_notes(notes)
  )
}

# An analysis in the form that was asked for; what is for the others is not made. `head`: what JSON has
# beside the tables; `tables`: data frames by name, of JSON and CSV, `only_csv`: further ones of CSV;
# `table`: which of them CSV prints, NULL: the first; `said`: what it leaves to stderr; `all`: lines of
# --all, or the parts beside the view's table; `answer`: of a question that decides the status, NULL: none
# was asked.
answered <- function(form, table, head, tables, notes, all, view, said = notes, answer = NULL,
                     only_csv = list(), program = "noiselab-analyze") {
  if (form == "csv") say_notes(program, said)
  # What people read first stands in the JSON, too, as it is, for every analysis that has a first screen.
  if (form == "json" && is.list(view)) {
    head <- c(head, list(first_screen = texts(view$sentences), warnings = texts(view$warnings)))
  }
  lines <- switch(form, json = answer_json(program, head, tables, notes),
                  csv = csv_lines(as.data.frame(c(tables, only_csv)[[table %||% 1]])),
                  all = if (is.list(all)) all_lines(view, all, notes) else all, view)
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

# The lines, where they were asked for; the status that they answer with.
print_answer <- function(lines, values) {
  write_output(as_lines(lines, values), values$out)
  attr(lines, "status")
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

# Intervals with their estimates on one axis, a line of characters per row: linear near 0, logarithmic
# beyond `sigma`. A column of words, or NULL where the terminal has only ASCII or nothing is known. `found`:
# logical, whose estimate is a full dot.
col_picture <- function(estimate, low, high, found, unicode = shows_unicode(), width = picture_width) {
  known <- is.finite(estimate) & is.finite(low) & is.finite(high)
  if (!unicode || !any(known)) return(NULL)
  reach <- c(0, low[known], high[known])
  half <- (high - low)[known] / 2
  sigma <- max(min(half[half > 0], Inf), max(abs(reach)) / 1000)
  if (!is.finite(sigma)) return(NULL)
  ends <- range(pseudo_log(reach, sigma))
  if (ends[1] == ends[2]) return(NULL)
  place <- function(x) {
    pmin(width, pmax(1, 1 + round((pseudo_log(x, sigma) - ends[1]) / diff(ends) * (width - 1))))
  }
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

# What a verdict looks like wherever it stands: shape and colour of its points in plots, and a mark of that
# shape in tables; `ascii`: for terminals without Unicode.
verdict_looks <- local({
  looks <- matrix(
    c("24 vermillion \u25b2 *",
      "detected, above, above the margin, slower, changed: worse, fail, here, disagree, more sensitive",
      "24 white \u25b3 +", "detected alone, slower (alone)", "25 white \u25bd +", "faster (alone)",
      "25 orange \u25bc v", "trace, not reproducible", "21 white \u25cb -",
      "not detected, no difference found", "22 green \u25a0 -", "below", "22 green \u25a0 =",
      "below the margin, same, suitable, agree", "22 sky \u25a0 -", "pass", "25 blue \u25bc v",
      "faster, changed: better, less sensitive", "23 yellow \u25c6 ?", "look at it, undecided, inconclusive"),
    2
  )
  words <- strsplit(looks[2, ], ", ")
  look <- do.call(rbind, strsplit(looks[1, ], " "))[rep(seq_along(words), lengths(words)), ]
  stats::setNames(data.frame(unlist(words), look), c("word", "shape", "colour", "mark", "ascii"))
})

# `table`: an nl_table whose mark is the word of its last column.
page_table <- function(table, caption = NULL, how = NULL) {
  tags <- htmltools::tags
  if (!is.null(table$mark)) {
    last <- length(table$columns)
    table$columns[[last]]$text <- with_mark(table$columns[[last]]$text, table$mark)
    table$mark <- row_look(table$mark)
  }
  tags$div(class = "table", tags$div(class = "scroll", table_html(table, caption)),
           if (!is.null(how)) tags$details(class = "how", tags$summary("What the columns mean"), tags$p(how)))
}

row_look <- function(verdict) {
  colour <- verdict_looks$colour[match(verdict, verdict_looks$word)]
  ifelse(is.na(colour), "", paste0("look-", colour))
}

# Texts with the marks of their words, once.
with_mark <- function(text, words) {
  mark <- verdict_looks$mark[match(words, verdict_looks$word)]
  mark[is.na(mark)] <- ""
  ifelse(startsWith(text, mark), text, paste(mark, text))
}

col_interval <- function(label, low, high) col_number(label, low, format_interval(low, high))
