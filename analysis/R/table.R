# The one model of a table: columns of values, with what people see of them. Written as text for a terminal, as HTML, and (the
# values) as CSV or JSON. Own code: cli and pillar know tables of a console, not these three forms, and take longer to load than this
# takes to run.

# A column of words. `style`: names in `ansi_styles`, one per row, "" for none; `folds`: may be folded where the table is too wide.
col_words <- function(label, value, style = NULL, folds = TRUE) {
  list(label = label, value = value, text = ifelse(is.na(value), "-", as.character(value)), align = "left", style = style, folds = folds)
}

# A column of numbers, set to the right. `text`: a function of the values, or the texts, one per row; `unit`: said in the header.
col_number <- function(label, value, text = format_count_each, unit = "", style = NULL) {
  if (is.function(text)) text <- ifelse(is.na(value), "-", text(value))
  list(label = if (nzchar(unit)) paste(label, unit) else label, value = value, text = as.character(text), align = "right", style = style)
}

# `...`: columns under their names in data, in the order shown; NULL for none. `by`: one text per row, a heading above the rows
# that share it; `mark`: one word per row, its class in HTML.
new_table <- function(..., by = NULL, mark = NULL) {
  columns <- Filter(Negate(is.null), list(...))
  structure(list(columns = columns, n = length(columns[[1]]$text), by = by, mark = mark), class = "nl_table")
}

# ---- text --------------------------------------------------------------------------------------

text_width <- 98

# Lines of at most `width` columns: a table that is wider stands closer, and then its widest column of words folds.
table_lines <- function(table, width = text_width, indent = 2, colour = FALSE) {
  columns <- table$columns
  cells <- lapply(columns, function(one) c(one$label, one$text))
  widths <- vapply(cells, function(x) max(nchar(x, "width")), 0)
  needs <- function(gap) sum(widths) + gap * (length(widths) - 1) + indent
  gap <- if (needs(2) <= width) 2 else 1
  folding <- which(vapply(columns, function(one) isTRUE(one$folds), TRUE))
  if (needs(gap) > width && length(folding) > 0) {
    widest <- folding[which.max(widths[folding])]
    widths[widest] <- max(12, widths[widest] - (needs(gap) - width))
  }
  row_lines <- function(i) {
    text <- vapply(cells, `[`, "", i)
    folded <- Map(function(x, w) if (nchar(x, "width") > w) strwrap(x, w + 1) else x, text, widths)
    style <- vapply(columns, function(one) if (i == 1 || is.null(one$style)) "" else one$style[i - 1], "")
    vapply(seq_len(max(lengths(folded))), function(line) {
      parts <- mapply(function(x, w, one, s) styled(pad_to(if (line <= length(x)) x[line] else "", w, one$align), s, colour), folded,
                      widths, columns, style)
      sub(" +$", "", paste0(strrep(" ", indent), paste(parts, collapse = strrep(" ", gap))))
    }, "")
  }
  group <- table$by %||% rep("", table$n)
  body <- lapply(split(seq_len(table$n), in_order(group)), function(at) {
    c(if (nzchar(group[at[1]])) paste0(strrep(" ", indent), group[at[1]], ":"), unlist(lapply(at + 1, row_lines)))
  })
  c(row_lines(1), unlist(body, use.names = FALSE))
}

table_width <- function(table, gap = 2, indent = 2) {
  widths <- vapply(table$columns, function(one) max(nchar(c(one$label, one$text), "width")), 0)
  sum(widths) + gap * (length(widths) - 1) + indent
}

pad_to <- function(text, width, align) {
  gap <- strrep(" ", max(0, width - nchar(text, "width")))
  if (align == "right") paste0(gap, text) else paste0(text, gap)
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

# <table> with <thead> and a <tbody> per group. Numbers are class "num" and have their value in data-value, for sorting; words that fold are
# class "wrap" where the column says so; the first column heads its row; a row's mark is its class.
table_html <- function(table, caption = NULL, id = NULL) {
  tags <- htmltools::tags
  columns <- table$columns
  class_of <- function(one) if (one$align == "right") "num" else one$class
  heads <- unname(lapply(columns, function(one) tags$th(scope = "col", class = class_of(one), one$label)))
  row <- function(i) {
    cells <- lapply(seq_along(columns), function(k) {
      one <- columns[[k]]
      value <- if (is.numeric(one$value) && !is.na(one$value[i])) format(one$value[i], digits = 15, trim = TRUE)
      if (k == 1) tags$th(scope = "row", class = class_of(one), `data-value` = value, one$text[i]) else {
        tags$td(class = class_of(one), `data-value` = value, one$text[i])
      }
    })
    tags$tr(class = if (!is.null(table$mark)) gsub("[^a-z]+", "-", tolower(table$mark[i])), cells)
  }
  at <- seq_len(table$n)
  groups <- if (is.null(table$by)) list(at) else split(at, in_order(table$by))
  bodies <- unname(Map(function(name, rows) {
    tags$tbody(if (nzchar(name)) tags$tr(class = "group", tags$th(scope = "rowgroup", colspan = length(columns), name)), lapply(rows, row))
  }, names(groups) %||% "", groups))
  tags$table(id = id, if (!is.null(caption)) tags$caption(caption), tags$thead(tags$tr(heads)), bodies)
}

# ---- a table with its words, the same on a screen and on a page ----------------------------------

# `title` stands above it, `how` says what the columns mean, `remarks` follow, a line each.
new_part <- function(title, table, how = NULL, remarks = NULL) list(title = title, table = table, how = how, remarks = remarks)

part_lines <- function(part) {
  if (!is.null(part)) c(wrap_line(part$title, 0), wrap_line(part$how), if (!is.null(part$table)) table_lines(part$table), wrap_line(part$remarks), "")
}

part_tags <- function(part) {
  if (is.null(part)) return(NULL)
  tags <- htmltools::tags
  how <- if (!is.null(part$how)) upper_first(paste(part$how, collapse = " "))
  remarks <- lapply(upper_first(as.character(part$remarks)), tags$p)
  if (is.null(part$table)) return(list(tags$p(paste0(upper_first(part$title), if (length(remarks) > 0) ":" else ".")), remarks))
  list(page_table(part$table, upper_first(part$title), how), remarks)
}

# ---- data --------------------------------------------------------------------------------------

# One object for programs. A value stands as it is, what is in I() as an array however many there are, NULL as null; data frames are arrays of rows.
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
  as.character(jsonlite::toJSON(x, dataframe = "rows", na = "null", null = "null", digits = NA, pretty = TRUE))
}

csv_lines <- function(frame) {
  if (NCOL(frame) == 0) return(character())
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  data.table::fwrite(without_levels(frame), file, na = "", quote = "auto")
  readLines(file)
}
