# Text and JSON files of others. Whatever they hold is checked here before it reaches a parser, and refused with file and line.

longest_line <- 1e6 # bytes; the longest that noiselab writes is a row of some 400
deepest_json <- 100 # launch.json has 5

# A pipe would be waited for, a device never ends; both claim to be empty.
check_regular <- function(file) {
  if (isTRUE(file.size(file) == 0) && system2("test", c("-f", shQuote(file))) != 0) abort_usage("'", file, "' is not a regular file")
}

# The lines of a text file. Signals `nl_error_damaged` for NUL bytes, lines of more than a million bytes and, with `utf8`, what is no UTF-8.
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

# Text of a file without blanks at its ends. Looked for once per run of blanks: trimws() looks at each blank, which takes the square of a run.
stripped <- function(text) gsub("^[[:space:]]+|(?<![[:space:]])[[:space:]]++$", "", text, perl = TRUE)

# Lines without comments and without blanks at their ends; each run of blanks is one.
read_stripped_lines <- function(file) stripped(gsub("[[:space:]]+", " ", sub("#.*", "", read_text_lines(file))))

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

# A JSON text as lists, unsimplified. jsonlite 1.8.4 hands the parser's message, with a piece of the text, to C as a format: what is no JSON
# must not get that far. `refuse`: called with the line and words, and does not return.
parse_json_text <- function(bytes, refuse) {
  if (any(bytes == as.raw(0))) refuse(line_of_byte(bytes, match(as.raw(0), bytes)), "has a NUL byte: this is no text file")
  opens <- bytes == charToRaw("[") | bytes == charToRaw("{")
  closes <- bytes == charToRaw("]") | bytes == charToRaw("}")
  depth <- cumsum(opens - closes)
  if (any(depth > deepest_json)) refuse(line_of_byte(bytes, which(depth > deepest_json)[1]), "not a JSON file (nested too deeply)")
  text <- rawToChar(bytes)
  if (!validUTF8(text)) refuse(which(!validUTF8(strsplit(text, "\n", fixed = TRUE, useBytes = TRUE)[[1]]))[1], "is not UTF-8")
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
