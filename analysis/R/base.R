# Conditions that a user can cause. The class decides the exit status of the front ends.

nl_abort <- function(class, ...) {
  stop(errorCondition(paste0(...), class = c(class, "nl_error"), call = NULL))
}

abort_usage <- function(...) nl_abort("nl_error_usage", ...)
abort_data <- function(...) nl_abort("nl_error_data", ...)
abort_schema <- function(...) nl_abort("nl_error_schema", ...)

# `part`: schema, or version.
abort_version <- function(file, part, got, wanted) {
  abort_schema(file, ": ", part, " ", got, ", this version reads ", wanted,
               ": use a matching version of noiselab")
}

abort_damaged <- function(file, line, ...) {
  nl_abort("nl_error_damaged", file, ":", format(line, scientific = FALSE), ": ", ...)
}

# Stops unless `ok`, saying which argument, the value it got and the value it wanted.
check_argument <- function(ok, argument, value, wanted) {
  if (isTRUE(ok)) return(invisible(TRUE))
  got <- tryCatch(paste(format(utils::head(unlist(value), 3)), collapse = ", "),
                  error = function(e) class(value)[1])
  if (length(got) == 0 || !nzchar(got)) got <- "nothing"
  abort_usage("argument '", argument, "': got ", got, ", wanted ", wanted)
}

is_number <- function(x, above = -Inf, below = Inf) {
  is.numeric(x) && length(x) == 1 && is.finite(x) && x > above && x < below
}

check_probability <- function(value, argument) {
  check_argument(is_number(value, 0, 1), argument, value, "one number between 0 and 1")
}

check_numeric <- function(value, argument) {
  check_argument(is.numeric(value) && !anyNA(value) && all(is.finite(value)), argument, value,
                 "finite numbers")
}

# Work that falls into independent parts, shared by two processes (mc.cores: the option of the package
# parallel).

# f of each item. What a process could not deliver, because it was killed, this one does; the first error of
# any part is signalled as if it had happened here.
in_processes <- function(items, f) {
  one <- function(item) list(value = tryCatch(f(item), error = identity))
  cores <- if (.Platform$OS.type == "windows") 1 else getOption("mc.cores", 2L)
  done <- suppressWarnings(parallel::mclapply(items, one, mc.cores = cores, mc.set.seed = FALSE))
  lost <- !vapply(done, is.list, TRUE)
  done[lost] <- lapply(items[lost], one)
  got <- lapply(done, `[[`, "value")
  failed <- Filter(function(value) inherits(value, "error"), got)
  if (length(failed) > 0) stop(failed[[1]])
  got
}

# Names of nodes in files of the site: lists as Slurm writes them, with or without domains.

# The nodes of a word of a file, such as n[1-4,07]. What has brackets is read by the one reader there is.
nodes_of_word <- function(word, file, line) {
  if (!grepl("[][]", word)) return(printable(Filter(nzchar, strsplit(word, ",", fixed = TRUE)[[1]])))
  reader <- file.path(system.file(package = "noiselab"), "..", "..", "..", "..", "libexec", "noiselab",
                      "noiselab-sh")
  if (!file.exists(reader)) {
    abort_usage("'", file, "', line ", line, ": '", printable(shortened(word)),
                "' is a list of nodes, and the program that reads them is not here: ",
                "run noiselab as make, or make install, leaves it, or write a name for each node")
  }
  if (nchar(word, "bytes") > 1e5) {
    abort_damaged(file, line, "'", printable(shortened(word)), "' is too long for a list of nodes")
  }
  said <- suppressWarnings(system2(reader, c("nodes", shQuote(word)), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(said, "status"))) abort_damaged(file, line, printable(sub("^noiselab-sh: ", "", said[1])))
  said
}

# Which hosts names of a file mean, as the detector has it: equal whatever their case, or the names before
# the first dot where one of the two is without its domain. One integer per name, its index in `hosts`, NA:
# none; one that could be several hosts, and two that are one, are refused (`option`: for messages).
hosts_meant <- function(names, hosts, option) {
  own <- tolower(hosts)
  short <- sub("\\..*", "", own)
  is_bare <- short == own
  at <- vapply(names, function(name) {
    name <- tolower(name)
    could <- which(
      own == name | short == sub("\\..*", "", name) & (is_bare | !grepl(".", name, fixed = TRUE))
    )
    if (length(could) > 1) {
      abort_usage(option, ": '", name, "' could be ", few_words(hosts[could]), ": say it with its domain")
    }
    if (length(could) == 1) could else NA_integer_
  }, 0L, USE.NAMES = FALSE)
  twin <- which(!is.na(at) & duplicated(at))
  if (length(twin) > 0) {
    abort_usage(option, ": '", names[match(at[twin[1]], at)], "' and '", names[twin[1]], "' are one node")
  }
  at
}

# Quantiles of the single operations' times, of which there are histograms only.

# The middle of the bin (ns) that holds the smallest value which at least the share `p` does not exceed; NA
# where nothing was counted. Bins may occur several times. `within`: the value by linear interpolation
# within its bin, where whole ns stand in the middle of theirs: for what compares histograms, as the middle
# of a bin would be the same in many of them.
hist_quantile <- function(lo_ns, hi_ns, count, p, within = FALSE) {
  total <- sum(as.numeric(count))
  if (length(count) == 0 || total == 0) return(rep(NA_real_, length(p)))
  by_size <- order(lo_ns)
  reached <- cumsum(as.numeric(count[by_size]))
  i <- findInterval(p * total * (1 - 1e-12), reached, left.open = TRUE) + 1
  at <- by_size[i]
  if (!within) return((lo_ns[at] + hi_ns[at] - 1) / 2)
  inside <- (p * total - (reached[i] - count[at])) / count[at]
  lo_ns[at] - 0.5 + inside * (hi_ns[at] - lo_ns[at])
}

mean_or_na <- function(x) if (length(x) == 0 || all(is.na(x))) NA_real_ else mean(x, na.rm = TRUE)
sum_or_na <- function(x) if (all(is.na(x))) NA_real_ else sum(x, na.rm = TRUE)
max_or_na <- function(x) if (all(is.na(x))) NA_real_ else max(x, na.rm = TRUE)

# The log of what cannot be 0 or below; where a clock went wrong it is, and the half has no value.
log_or_na <- function(x) {
  if (any(x <= 0, na.rm = TRUE)) x[which(x <= 0)] <- NA
  log(x)
}

answer_status <- function(answer) c(pass = 0L, fail = 1L, inconclusive = 3L)[[answer]]

# A time as options take it: four digits, in the unit that leaves at least 1.
option_time <- function(seconds) {
  ns <- round(signif(seconds, 4) * 1e9)
  scale <- c(s = 1e9, ms = 1e6, us = 1e3, ns = 1)
  unit <- which(ns >= scale)[1]
  paste0(format(ns / scale[[unit]], scientific = FALSE, drop0trailing = TRUE, trim = TRUE, digits = 10),
         names(scale)[unit])
}

# The table as files have it: no field where there is no level.
without_levels <- function(frame) {
  for (name in intersect(c("level_requested_percent", "level"), names(frame))) {
    level <- frame[[name]]
    if (is.numeric(level)) frame[[name]] <- ifelse(has_level(level), level, NA_real_)
  }
  frame
}

package_version_text <- function() as.character(utils::packageVersion("noiselab"))

# The warnings of launches, or where to find them when they are many.
brief_notes <- function(campaign) {
  notes <- unique(campaign$notes)
  if (length(notes) <= 3) return(notes)
  sprintf("%d notes and warnings of the launches: noiselab analyze %s prints them", length(notes),
          paste(campaign$dirs, collapse = " "))
}

say_notes <- function(program, notes) {
  if (length(notes) > 0) writeLines(paste0(program, ": note: ", unique(notes)), stderr())
}

write_output <- function(lines, file) {
  if (is.null(file)) return(writeLines(lines))
  write_atomically(file, function(path) writeLines(lines, path))
}

# A device or a pipe is no file to be replaced by one: /dev/null would be a file from then on.
is_device <- function(file) {
  path <- normalizePath(file, mustWork = FALSE)
  file.exists(file) && grepl("^/(dev|proc)/", path) && !grepl("^/dev/shm/", path)
}

check_writable <- function(file) {
  if (is_device(file)) abort_usage("'", file, "' is a device, wanted a file name")
  if (!dir.exists(dirname(file))) abort_usage("'", dirname(file), "' is not a directory")
  if (dir.exists(file)) abort_usage("'", file, "' is a directory, wanted a file name")
  if (file.access(dirname(file), 2) != 0) abort_usage("cannot write in '", dirname(file), "'")
}

# Written beside its place and renamed, so that a failure leaves no half file and no damaged old one.
write_atomically <- function(file, write) {
  check_writable(file)
  temporary <- tempfile(paste0(".", basename(file), "."), dirname(file))
  on.exit(unlink(temporary))
  opened <- tryCatch(suppressWarnings(file.create(temporary)), error = function(e) FALSE)
  if (!opened) abort_usage("cannot write in '", dirname(file), "'")
  write(temporary)
  Sys.chmod(temporary, "0644", use_umask = TRUE)
  if (!suppressWarnings(file.rename(temporary, file))) abort_usage("cannot write '", file, "'")
  invisible(file)
}

day_s <- 86400

clamp <- function(x, range) pmin(pmax(x, range[1]), range[2])

# Linear near 0, logarithmic beyond `sigma`; shows 0, small and large levels on one axis.
pseudo_log <- function(x, sigma) asinh(x / (2 * sigma)) / log(10)

in_order <- function(x) factor(x, unique(x))

# One text per row, of these of its columns, as far as it has them.
row_key <- function(rows, columns) {
  do.call(paste, c(unname(as.list(rows)[intersect(columns, names(rows))]), sep = "\r"))
}

# JSON as jsonlite reads it unsimplified: an object is a list with names, an array one without.
is_object <- function(x) is.list(x) && !is.null(names(x))

is_array <- function(x, each) is.list(x) && is.null(names(x)) && all(vapply(x, each, TRUE))
is_string <- function(x) is.character(x) && length(x) == 1 && !is.na(x)

# A short text of any JSON value, safe to print.
show_json <- function(x, absent = "unknown") {
  if (length(x) == 0) return(absent)
  flat <- unlist(x)
  if (length(flat) == 0) return(absent)
  if (is.list(x) && !is.null(names(x))) flat <- paste(names(flat), flat, sep = " ")
  text <- if (is.numeric(flat)) {
    vapply(flat, format, "", digits = 15, scientific = FALSE, trim = TRUE)
  } else {
    as.character(flat)
  }
  printable(paste(text, collapse = ", "))
}

is_text <- function(x) is.character(x) && length(x) == 1 && !is.na(x) && nzchar(x)
`%||%` <- function(a, b) if (is.null(a)) b else a

closed_words <- list(arm = c("off", "on"),
                     measure = c("global", "on_time", "after_last", "spread", "overshoot"),
                     reason = c("first", "schedule", "residual"))

bind_rows <- function(parts) {
  data.table::setDF(data.table::rbindlist(parts, use.names = TRUE, fill = TRUE))
}

# Which rows have the values of `row` in these columns, as far as they have them.
rows_like <- function(rows, row, columns) {
  Reduce(`&`, lapply(intersect(columns, names(rows)), function(name) rows[[name]] %in% row[[name]]),
         rep(TRUE, nrow(rows)))
}

has_level <- function(level) is.finite(level)
