# Text and JSON files of others. Whatever they hold is checked here before it reaches a parser, and refused
# with file and line.

longest_line <- 1e6 # bytes; the longest that noiselab writes is a row of some 400
deepest_json <- 100 # launch.json has 5

# A pipe would be waited for, a device never ends; both claim to be empty.
check_regular <- function(file) {
  if (isTRUE(file.size(file) == 0) && system2("test", c("-f", shQuote(file))) != 0) {
    abort_usage("'", file, "' is not a regular file")
  }
}

# The lines of a text file. Signals `nl_error_damaged` for NUL bytes, lines of more than a million bytes
# and, with `utf8`, what is no UTF-8.
read_text_lines <- function(file, utf8 = TRUE) {
  check_regular(file)
  nul <- nul_line(file)
  if (!is.na(nul)) abort_damaged(file, nul, "has a NUL byte: this is no text file")
  lines <- readLines(file, warn = FALSE)
  long <- which(nchar(lines, "bytes") > longest_line)[1]
  if (!is.na(long)) abort_damaged(file, long, "is longer than ", format_count(longest_line), " bytes")
  odd <- if (utf8) which(!validUTF8(lines))[1] else NA
  if (!is.na(odd)) abort_damaged(file, odd, "is not UTF-8")
  lines
}

# Text of a file without blanks at its ends. Looked for once per run of blanks: trimws() looks at each
# blank, which takes the square of a run.
stripped <- function(text) gsub("^[[:space:]]+|(?<![[:space:]])[[:space:]]++$", "", text, perl = TRUE)

# Lines without comments and without blanks at their ends; each run of blanks is one.
read_stripped_lines <- function(file) {
  stripped(gsub("[[:space:]]+", " ", sub("#.*", "", read_text_lines(file))))
}

# Lines `# key: value` as values by key.
comment_keys <- function(lines) {
  pair <- regmatches(lines, regexec("^#+\\s*([A-Za-z0-9_]+)\\s*:(.*)$", lines, perl = TRUE))
  pair <- pair[lengths(pair) == 3]
  stats::setNames(stripped(vapply(pair, `[`, "", 3)), vapply(pair, `[`, "", 2))
}

# The lines of a file that an option names, without comments.
lines_of_option <- function(file, option) {
  if (!file.exists(file) || dir.exists(file)) {
    abort_usage(option, ": '", file, "' is no file that can be read")
  }
  read_stripped_lines(file)
}

# A file about nodes, none of which may stand in it twice: what `parse` makes of each line, data frames with
# a column `host`.
read_node_file <- function(file, option, parse, twice) {
  lines <- lines_of_option(file, option)
  rows <- bind_rows(lapply(which(nzchar(lines)), function(i) cbind(line = i, parse(lines[i], i))))
  twin <- which(duplicated(rows$host))
  if (length(twin) > 0) abort_damaged(file, rows$line[twin[1]], "'", rows$host[twin[1]], "' ", twice)
  rows
}

# The line of the first NUL byte, NA: there is none.
nul_line <- function(file) {
  con <- file(file, "rb")
  on.exit(close(con))
  before <- 0
  while (length(bytes <- readBin(con, "raw", 2^22)) > 0) {
    at <- match(as.raw(0), bytes)
    if (!is.na(at)) return(before + sum(bytes[seq_len(at)] == as.raw(10)) + 1)
    before <- before + sum(bytes == as.raw(10))
  }
  NA
}

# A JSON text as lists, unsimplified. jsonlite 1.8.4 hands the parser's message, with a piece of the text,
# to C as a format: what is no JSON must not get that far. `refuse`: called with the line and words, and
# does not return.
parse_json_text <- function(bytes, refuse) {
  if (any(bytes == as.raw(0))) {
    refuse(line_of_byte(bytes, match(as.raw(0), bytes)), "has a NUL byte: this is no text file")
  }
  opens <- bytes == charToRaw("[") | bytes == charToRaw("{")
  closes <- bytes == charToRaw("]") | bytes == charToRaw("}")
  depth <- cumsum(opens - closes)
  if (any(depth > deepest_json)) {
    refuse(line_of_byte(bytes, which(depth > deepest_json)[1]), "not a JSON file (nested too deeply)")
  }
  text <- rawToChar(bytes)
  if (!validUTF8(text)) {
    refuse(
      which(!validUTF8(strsplit(text, "\n", fixed = TRUE, useBytes = TRUE)[[1]]))[
        1
      ],
      "is not UTF-8"
    )
  }
  valid <- jsonlite::validate(text)
  if (!valid) {
    offset <- attr(valid, "offset")
    refuse(if (is_number(offset)) line_of_byte(bytes, offset) else 1, "not a JSON file")
  }
  jsonlite::parse_json(text, simplifyVector = FALSE)
}

line_of_byte <- function(bytes, at) 1 + sum(utils::head(bytes, max(0, at - 1)) == as.raw(10))

read_json_file <- function(file) {
  check_regular(file)
  parse_json_text(readBin(file, "raw", file.size(file)), function(line, ...) abort_damaged(file, line, ...))
}

# What the binary files of a launch have in common: magic, version, and a header in JSON that names
# operations and arms.

abort_damaged_byte <- function(file, byte, ...) {
  nl_abort("nl_error_damaged", file, ": byte ", format(byte, scientific = FALSE), ": ", ...)
}

refuse_header <- function(ok, header, file, key, wanted) {
  if (isTRUE(ok)) return(invisible())
  abort_damaged_byte(file, 16, "key '", key, "' is ",
                     show_json(if (is_object(header)) header[[key]], "missing"), ", wanted ", wanted)
}

# The header of a file of the launch `info`, called `what` in messages, and the byte at which the rest of
# the file begins.
binary_header <- function(con, file, size, info, magic, version, what) {
  first <- readBin(con, "raw", 16)
  if (length(first) < 16 || !identical(first[1:8], charToRaw(magic))) {
    abort_damaged_byte(file, 0, "no ", what, " of noiselab (wanted ", magic, ")")
  }
  numbers <- u32(readBin(first[9:16], "integer", 2, 4, endian = "little"))
  if (numbers[1] != version) abort_version(file, "version", numbers[1], version)
  if (16 + numbers[2] > size) abort_damaged_byte(file, 12, "the header is longer than the file")
  text <- readBin(con, "raw", numbers[2])
  header <- parse_json_text(text, function(line, ...) abort_damaged_byte(file, 16, "the header is no JSON"))
  refuse_header(is_object(header), header, file, "launch", "an object")
  refuse_header(identical(header$launch, info$launch), header, file, "launch",
                paste0("'", info$launch, "' as in launch.json"))
  list(header = header, start = 16 + numbers[2])
}

# What the numbers of operations and arms in blocks mean: data frames `configs` and `arms`.
check_cells_header <- function(header, file) {
  refuse_header(
    is_array(header$configs, function(x) is_object(x) && is_text(x$operation) && is_number(x$bytes)), header,
    file, "configs", "an array of {operation, bytes}"
  )
  refuse_header(is_array(header$arms, function(x) {
    is_object(x) && isTRUE(x$arm %in% closed_words$arm) &&
      (is_number(x$level_requested_percent) || x$arm == "on") &&
      all(vapply(x[treatment_columns], function(v) is.null(v) || is_string(v), TRUE))
  }), header, file, "arms", "an array of {arm, level_requested_percent, kind, pattern, placement, phase}")
  # What is under a treatment from outside has no level, nor three of the words.
  words <- lapply(stats::setNames(treatment_columns, treatment_columns), function(n) {
    as_word(vapply(
      header$arms,
      function(x) {
        if (x$arm == "on") as.character(x[[n]] %||% no_word) else NA_character_
      },
      ""
    ))
  })
  list(configs = data.frame(operation = vapply(header$configs, `[[`, "", "operation"),
                            bytes = vapply(header$configs, function(x) as.numeric(x$bytes), 0)),
       arms = data.frame(arm = vapply(header$arms, `[[`, "", "arm"),
                         level_requested_percent = vapply(header$arms, function(x) {
                           as.numeric(x$level_requested_percent %||% no_level)
                         }, 0), words))
}

# R's integers are signed, and their smallest value is NA.
u32 <- function(x) {
  x <- as.numeric(x)
  x[is.na(x)] <- -2147483648
  ifelse(x < 0, x + 4294967296, x)
}

# Rows of a data frame of plain columns, as fast.
rows_at <- function(rows, at) {
  structure(lapply(unclass(rows), `[`, at), class = "data.frame", row.names = .set_row_names(length(at)))
}

summary_rules <- rules_of(
  "table:text config:text op:text bytes:count level_percent:amount mean_s:number sd_s:number n:whole>=2"
)
