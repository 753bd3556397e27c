# What the binary files of a launch have in common: magic, version, and a header in JSON that names operations and arms.

abort_damaged_byte <- function(file, byte, ...) {
  nl_abort("nl_error_damaged", file, ": byte ", format(byte, scientific = FALSE), ": ", ...)
}

refuse_header <- function(ok, header, file, key, wanted) {
  if (isTRUE(ok)) return(invisible())
  abort_damaged_byte(file, 16, "key '", key, "' is ", show_json(if (is_object(header)) header[[key]], "missing"), ", wanted ", wanted)
}

# The header of a file of the launch `info`, called `what` in messages, and the byte at which the rest of the file begins.
binary_header <- function(con, file, size, info, magic, version, what) {
  first <- readBin(con, "raw", 16)
  if (length(first) < 16 || !identical(first[1:8], charToRaw(magic))) abort_damaged_byte(file, 0, "no ", what, " of noiselab (wanted ",
      magic, ")")
  numbers <- u32(readBin(first[9:16], "integer", 2, 4, endian = "little"))
  if (numbers[1] != version) {
    abort_schema(file, ": version ", numbers[1], ", this version reads ", version, ": use a matching version of noiselab")
  }
  if (16 + numbers[2] > size) abort_damaged_byte(file, 12, "the header is longer than the file")
  text <- readBin(con, "raw", numbers[2])
  header <- parse_json_text(text, function(line, ...) abort_damaged_byte(file, 16, "the header is no JSON"))
  refuse_header(is_object(header), header, file, "launch", "an object")
  refuse_header(identical(header$launch, info$launch), header, file, "launch", paste0("'", info$launch, "' as in launch.json"))
  list(header = header, start = 16 + numbers[2])
}

# What the numbers of operations and arms in blocks mean: data frames `configs` and `arms`.
check_cells_header <- function(header, file) {
  refuse_header(is_array(header$configs, function(x) is_object(x) && is_text(x$operation) && is_number(x$bytes)), header, file, "configs",
                "an array of {operation, bytes}")
  refuse_header(is_array(header$arms, function(x) {
    is_object(x) && isTRUE(x$arm %in% closed_words$arm) && (is_number(x$level_requested_percent) || x$arm == "on") &&
      all(vapply(x[treatment_columns], function(v) is.null(v) || is_string(v), TRUE))
  }), header, file, "arms", "an array of {arm, level_requested_percent, kind, pattern, placement, phase}")
  # What is under a treatment from outside has no level, nor three of the words.
  words <- lapply(stats::setNames(treatment_columns, treatment_columns), function(n) {
    as_word(vapply(header$arms, function(x) if (x$arm == "on") as.character(x[[n]] %||% no_word) else NA_character_, ""))
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
