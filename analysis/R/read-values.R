# Values that other programs measured, one a run: plain columns, tables of the OSU micro-benchmarks (OMB),
# hyperfine's and ReFrame's files.

values_kinds <- c(column = "a column of values", omb = "tables of OMB", hyperfine = "hyperfine's JSON",
                  reframe = "a run report of ReFrame", perflog = "a perflog of ReFrame")

# More values than runs: single operations of one run, which are not independent of each other.
most_runs <- 2000

# One side of a comparison. `column`: which column of a CSV file or of OMB's tables, or which variable of
# ReFrame's; NULL: the only one, of OMB's tables the first after the size. Gives a list: `file`, `kind` (a
# name of `values_kinds`), `rows` (data frame: `what` (which measurement, "" where a file has one), `value`,
# `unit` ("": unknown), `line` (NA in JSON)), `notes`. What is no such file is refused with file and line.
read_values <- function(file, column = NULL) {
  if (!file.exists(file) || dir.exists(file)) abort_usage("'", file, "' is no file that can be read")
  lines <- read_text_lines(file)
  text <- stripped(lines)
  first <- which(nzchar(text))[1]
  if (is.na(first)) abort_data("'", file, "' is empty: wanted a value for each run")
  # A launcher's lines above a table of OMB may begin as JSON does.
  got <- if (any(is_omb_head(text))) {
    values_of_omb(file, text, column)
  } else if (grepl("^[[{]", text[first])) {
    values_of_json(file, column)
  } else {
    values_of_columns(file, text, column)
  }
  many <- vapply(split(got$rows$value, got$rows$what), length, 0L)
  if (nrow(got$rows) == 0) abort_data("'", file, "' has no value")
  if (any(many > most_runs)) {
    abort_usage("'", file, "' has ", max(many), " values of one thing, at most ", most_runs,
                " are compared: give one value a run, such as its mean ",
                "(values within a run are not independent)")
  }
  c(list(file = file), got)
}

# A decimal number, and no word that R reads as one.
is_decimal <- function(text) grepl("^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$", text)

decimal_at <- function(text, file, line, what) {
  odd <- which(!is_decimal(text) | !is.finite(suppressWarnings(as.numeric(text))))[1]
  if (!is.na(odd)) {
    abort_damaged(file, line[odd], "'", printable(shortened(text[odd])), "' is not a number", what)
  }
  as.numeric(text)
}

# The unit at the end of a column's name: time_us, Latency (us), MB/s.
unit_in_name <- function(name) {
  got <- regmatches(name,
                    regexec("\\(([^()]+)\\)\\s*$|[_ ](ns|us|ms|s|min|seconds)$|^([A-Za-z]+/s)$", name))[[1]]
  unit <- got[-1][nzchar(got[-1])]
  if (length(unit) == 0) "" else unit[1]
}

# The one of `names` that is asked for, or the only one.
column_asked <- function(column, names, file, line) {
  if (is.null(column)) {
    if (length(names) != 1) {
      abort_usage("'", file, "', line ", line, ": has ", length(names), " columns (",
                  few_words(printable(names), 8), "): say which with --column")
    }
    return(names)
  }
  if (!column %in% names) {
    abort_usage("--column: '", file, "' has no '", column, "'", did_you_mean(column, printable(names)))
  }
  column
}

# ---- columns -----------------------------------------------------------------------------------

values_of_columns <- function(file, text, column) {
  at <- which(nzchar(text) & !startsWith(text, "#"))
  if (length(at) == 0) abort_data("'", file, "' has no value")
  head <- text[at[1]]
  if (grepl("|", head, fixed = TRUE)) return(values_of_perflog(file, text, at, column))
  separator <- if (grepl("\t", head, fixed = TRUE)) "\t" else if (grepl(";", head, fixed = TRUE)) ";" else ","
  cells <- split_cells(text[at], separator)
  if (all(is_decimal(cells[[1]]))) {
    if (!is.null(column)) abort_usage("--column: '", file, "' has no header, and so no names of columns")
    odd <- which(lengths(cells) != 1)[1]
    if (!is.na(odd)) {
      abort_damaged(file, at[odd], lengths(cells)[odd],
                    " values: wanted one number a line, or a header that names the columns")
    }
    return(list(kind = "column",
                rows = value_rows("", decimal_at(unlist(cells), file, at, ", as the first line is"), "", at),
                notes = NULL))
  }
  names <- cells[[1]]
  if (all(c("command", "mean", "stddev", "median") %in% names)) {
    abort_data(
      "'",
      file,
      "' is hyperfine's CSV, which has the mean and scatter of the runs and not the runs: no verdict; use ",
      "--export-json"
    )
  }
  wide <- which(lengths(cells) != length(names))[1]
  if (!is.na(wide)) {
    abort_damaged(file, at[wide], lengths(cells)[wide], " fields, the header has ", length(names))
  }
  if (is.null(column) && length(names) == 1 && length(cells) == 1 && !nzchar(unit_in_name(names))) {
    abort_damaged(file, at[1], "'", printable(shortened(names)),
                  "' is not a number, and no value follows it as a header")
  }
  column <- column_asked(column, names, file, at[1])
  value <- vapply(cells[-1], `[`, "", match(column, names))
  list(kind = "column",
       rows = value_rows("", decimal_at(value, file, at[-1], ""), unit_in_name(column), at[-1]), notes = NULL,
       column = column, line = at[1])
}

# Fields of lines; a quoted one may hold the separator.
split_cells <- function(lines, separator) {
  quoted <- grepl("\"", lines, fixed = TRUE)
  cells <- strsplit(paste0(lines, separator), separator, fixed = TRUE)
  cells[quoted] <- lapply(lines[quoted], function(line) {
    scan(text = line, what = "", sep = separator, quote = "\"", quiet = TRUE)
  })
  lapply(cells, stripped)
}

value_rows <- function(what, value, unit, line) {
  data.frame(what = rep_len(what, length(value)), value = value, unit = rep_len(unit, length(value)),
             line = rep_len(line, length(value)))
}

# ---- OMB ---------------------------------------------------------------------------------------

# The line above a table: "# Size   Avg Latency(us)   Min Latency(us)", or without a size.
is_omb_head <- function(text) grepl("^#\\s*(Size\\s|.*Latency ?\\(us\\)|.*\\(MB/s\\)|.*Messages/s)", text)

# Every table of a file is a run: one value for each size. Lines of a launcher between them are passed over,
# and counted.
values_of_omb <- function(file, text, column) {
  parts <- list()
  title <- ""
  names <- NULL
  other <- 0
  for (i in which(nzchar(text))) {
    line <- text[i]
    if (grepl("^#\\s*OSU ", line)) {
      title <- sub("( Latency)? Test$", "", sub(" +v[0-9.]+.*$", "", sub("^#\\s*OSU +(MPI +)?", "", line)))
    }
    if (is_omb_head(line)) {
      names <- strsplit(sub("^#\\s*", "", line), "\\s{2,}|\t+")[[1]]
      has_size <- names[1] == "Size"
      wanted <- if (is.null(column)) names[1 + has_size] else column_asked(column, names, file, i)
    } else if (grepl("^[0-9.]", line)) {
      cells <- strsplit(line, "\\s+")[[1]]
      if (is.null(names)) abort_damaged(file, i, "values before the head of a table of OMB")
      if (length(cells) != length(names)) {
        abort_damaged(file, i, length(cells), " fields, the head of the table has ", length(names))
      }
      parts[[length(parts) + 1]] <- value_rows(
        paste0(title, if (has_size) paste0(if (nzchar(title)) ", ", cells[1], " B")),
        decimal_at(cells[match(wanted, names)], file, i, ""), unit_in_name(wanted), i
      )
    } else if (!startsWith(line, "#")) other <- other + 1
  }
  list(
    kind = "omb",
    rows = bind_rows(c(list(value_rows("", numeric(), "", integer())), parts)),
    notes = if (other > 0) {
      sprintf("%s: %s that belong to no table were passed over", file, counted(other, "line"))
    }
  )
}

# ---- ReFrame's perflog -------------------------------------------------------------------------

# Fields between bars; each variable has NAME_value and NAME_unit. Several headers may follow each other, as
# the variables of a test change.
values_of_perflog <- function(file, text, at, column) {
  parts <- list()
  names <- NULL
  failed <- 0
  for (i in at) {
    cells <- stripped(strsplit(paste0(text[i], "|"), "|", fixed = TRUE)[[1]])
    if (any(endsWith(cells, "_value"))) {
      names <- cells
      variables <- sub("_value$", "", names[endsWith(names, "_value")])
      if (!is.null(column)) variables <- column_asked(column, variables, file, i)
      next
    }
    if (is.null(names)) abort_damaged(file, i, "no header with fields NAME_value, as ReFrame 4 writes it")
    if (length(cells) != length(names)) {
      abort_damaged(file, i, length(cells), " fields, the header has ", length(names))
    }
    field <- function(name) if (name %in% names) cells[match(name, names)] else ""
    if (field("result") == "fail") failed <- failed + 1
    test <- paste(Filter(nzchar, c(field("name"), field("system"), field("partition"), field("environ"))),
                  collapse = " ")
    for (v in variables) {
      value <- field(paste0(v, "_value"))
      if (value %in% c("", "None", "null")) next
      parts[[length(parts) + 1]] <- value_rows(paste(Filter(nzchar, c(test, v)), collapse = " "),
                                               decimal_at(value, file, i, paste0(" (", v, ")")),
                                               field(paste0(v, "_unit")), i)
    }
  }
  list(kind = "perflog", rows = bind_rows(c(list(value_rows("", numeric(), "", integer())), parts)),
       notes = failed_note(file, failed))
}

# A run that missed a reference is a run; it is counted as all are.
failed_note <- function(file, failed) {
  if (failed > 0) {
    sprintf("%s: %s of the test failed (by a reference, or for another reason): their values count, too",
            file, counted(failed, "run"))
  }
}

# ---- JSON --------------------------------------------------------------------------------------

values_of_json <- function(file, column) {
  json <- read_json_file(file)
  if (is_object(json) && is.list(json$results)) {
    if (!is.null(column)) abort_usage("--column does not apply to hyperfine's JSON: its times are compared")
    return(values_of_hyperfine(file, json$results))
  }
  if (is_object(json) && is.list(json$runs)) return(values_of_reframe(file, json$runs, column))
  abort_damaged(file, 1, "neither hyperfine's JSON (results) nor a run report of ReFrame (runs)")
}

values_of_hyperfine <- function(file, results) {
  failed <- 0
  rows <- lapply(seq_along(results), function(i) {
    one <- results[[i]]
    if (
      !is_object(one) || !is_string(one$command) || !is_array(one$times, is_number) || length(one$times) == 0
    ) {
      abort_damaged(file, 1, "result ", i, " of hyperfine has no command, or no times")
    }
    failed <<- failed + sum(unlist(one$exit_codes) != 0)
    parameters <- if (is_object(one$parameters)) {
      paste0(" [", paste(names(one$parameters), unlist(one$parameters), sep = "=", collapse = ", "), "]")
    }
    value_rows(printable(paste0(one$command, parameters)), unlist(one$times), "s", NA_integer_)
  })
  list(kind = "hyperfine", rows = bind_rows(rows), notes = if (failed > 0) {
    sprintf("%s: %s ended with a status that is not 0: their times count, too", file, counted(failed, "run"))
  })
}

# Variables of a test are an array `perfvars`, or (since 4.7) an object `perfvalues` of arrays value,
# reference, two thresholds and unit.
values_of_reframe <- function(file, runs, column) {
  failed <- 0
  rows <- list()
  add <- function(test, name, value, unit) {
    if (!is.null(column) && name != column || is.null(value)) return()
    if (!is_number(value)) {
      abort_damaged(file, 1, "variable '", printable(name), "' of test '", printable(test), "' is no number")
    }
    rows[[length(rows) + 1]] <<- value_rows(printable(paste(test, name)), value,
                                            if (is_string(unit)) printable(unit) else "", NA_integer_)
  }
  for (run in runs) for (one in if (is_object(run)) run$testcases) {
    if (!is_object(one)) abort_damaged(file, 1, "a test case of ReFrame is no object")
    where <- paste(c(one$system, one$partition, one$environment %||% one$environ), collapse = " ")
    test <- stripped(paste(show_json(one$display_name %||% one$name), where))
    if (identical(one$result, "failure") || identical(one$result, "fail")) failed <- failed + 1
    for (v in one$perfvars) add(test, show_json(v$name), v$value, v$unit)
    for (key in names(one$perfvalues)) {
      v <- one$perfvalues[[key]]
      add(test, sub("^.*:", "", key), if (length(v) > 0) v[[1]], if (length(v) >= 5) v[[5]])
    }
  }
  if (length(rows) == 0) {
    abort_data("'", file, "' has no performance variable", if (!is.null(column)) paste0(" '", column, "'"))
  }
  list(kind = "reframe", rows = bind_rows(rows), notes = failed_note(file, failed))
}
