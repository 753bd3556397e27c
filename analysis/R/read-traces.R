# Traces of noise (docs/reference/formats.md, Traces), by the reader that the generator has: common/trace,
# which this package compiles, too.

# Read a trace of bursts that a launch left (`of_launch`), or that a user gives. A user's may be a file of
# another tool, and is refused where it cannot be noise; one of a launch may be empty. Signals
# `nl_error_damaged`, with file and, where a line is no burst, its number. `file`: character. Gives a data
# frame, one row per burst: `start_ns`, `duration_ns`, `cpu`, `kind`, `task` (NA: none). Attributes: `keys`,
# a named list of texts, the comments `# key: value`; `span_ns`, the length of one round, `has_span`,
# whether the file says so; `percent`, the busy share of a CPU, over all CPUs; `words`, what a person has to
# see of the trace (busy share, rate, longest burst); `converted`, what was made of another tool's file
# (empty: nothing).
read_bursts <- function(file, of_launch = TRUE) {
  if (!file.exists(file)) abort_data(file, " is missing")
  got <- .Call("trace_columns", enc2native(path.expand(file)), of_launch, PACKAGE = "noiselab")
  if (is.character(got)) nl_abort("nl_error_damaged", got)
  names <- unique(got$task)
  if (!all(validUTF8(c(got$comments, names)))) abort_data(file, " is not UTF-8")
  got$task <- ifelse(is.na(names), NA, printable(names))[match(got$task, names)]
  keys <- lapply(comment_keys(paste0("#", got$comments)), printable)
  if (got$has_span) keys$span_ns <- sprintf("%.0f", got$span_ns)
  bursts <- as.data.frame(got[c("start_ns", "duration_ns", "cpu", "kind", "task")])
  structure(bursts, keys = keys, span_ns = got$span_ns, has_span = got$has_span,
            percent = 100 * sum(got$duration_ns) / got$span_ns, words = got$words, converted = got$converted)
}

# The bursts of a trace that a user gives, of these tasks (NULL: of all), within the time in which they were
# watched: a recording says when it began and ended, of another trace that is from its first burst to a mean
# distance behind the last one. Gives a data frame, one row per burst, by start: `cpu` (NA: none named),
# `start_s`, `stop_s`, from the begin of that time, and `task`. On a CPU none overlap. Attributes:
# `watched_s`; `tasks`, all names in the file; `words` and `converted` as of `read_bursts()`; `keys`.
read_trace <- function(file, tasks = NULL) {
  bursts <- read_bursts(file, of_launch = FALSE)
  window <- watched_window(bursts)
  own <- is.null(tasks) | bursts$task %in% tasks
  start_s <- (bursts$start_ns - window$start_ns) / 1e9
  rows <- data.frame(cpu = bursts$cpu, start_s = start_s, stop_s = start_s + bursts$duration_ns / 1e9,
                     task = bursts$task)[own, ]
  structure(rows, row.names = seq_len(nrow(rows)), watched_s = window$length_ns / 1e9,
            tasks = unique(bursts$task[!is.na(bursts$task)]), percent = attr(bursts, "percent"),
            words = attr(bursts, "words"), converted = attr(bursts, "converted"), keys = attr(bursts, "keys"))
}

# Those of several nodes, a file each: the same rows with `node` (1, 2, ...); `watched_s` has one number per
# node.
read_traces <- function(files, tasks = NULL) {
  traces <- lapply(files, read_trace, tasks)
  rows <- bind_rows(lapply(seq_along(traces), function(i) {
    one <- traces[[i]]
    data.frame(node = rep(i, nrow(one)), cpu = one$cpu, start_s = one$start_s, stop_s = one$stop_s,
               task = one$task)
  }))
  structure(rows, watched_s = vapply(traces, attr, 0, "watched_s"),
            tasks = unique(unlist(lapply(traces, attr, "tasks"))), words = trace_notes(traces, files))
}

# What a person has to see of each trace that was read, so that one in another unit is noticed; of many that
# of the busiest one, and the range. `traces`: of `read_trace()` or `read_bursts()`.
trace_notes <- function(traces, files) {
  notes <- vapply(seq_along(traces), function(i) {
    converted <- attr(traces[[i]], "converted")
    paste0(printable(basename(files[i])), ": ", attr(traces[[i]], "words"),
           if (nzchar(converted)) paste0(" (", converted, ")"))
  }, "")
  if (length(notes) <= 3) return(notes)
  percent <- vapply(traces, attr, 0, "percent")
  c(
    notes[which.max(percent)],
    sprintf("of the %d traces this is the busiest; the others are busy for %s to %s %% of a CPU",
            length(notes), format_level(signif(min(percent), 3)),
            format_level(signif(max(percent[-which.max(percent)]), 3)))
  )
}

# The time in which bursts were watched: `start_ns`, on their clock, and `length_ns`.
watched_window <- function(bursts) {
  span_ns <- attr(bursts, "span_ns")
  if (nrow(bursts) == 1 && !attr(bursts, "has_span")) {
    abort_data("one burst in a trace that does not say how long it is (# span_ns: N) has no level")
  }
  is_recorded <- !is.null(attr(bursts, "keys")$origin_monotonic_ns) &&
    max(bursts$start_ns + bursts$duration_ns) <= span_ns
  data.frame(start_ns = if (is_recorded) 0 else bursts$start_ns[1], length_ns = span_ns)
}
