# The schedule of a campaign (schedule.tsv), and how far it is.

schedule_file <- "schedule.tsv"

# Of this file alone: it changes by itself.
schedule_schema <- 1L

# Its first columns; the words of the detector follow, each in a field of its own.
schedule_columns <- c("launch", "set", "nodes", "ranks")

# Directories of a campaign that hold no launches of its own: those that were interrupted and run again, and
# what the runners of several jobs keep for themselves. (Names with a leading point are launches that are
# still being set up.)
not_launches <- c("partial", "claims")

# A schedule.tsv: `keys` (the lines `# key: value`), `launches` (a row per planned launch: `launch`, `set`
# (NA: none), `nodes` (NA: all), `ranks`, `arguments` (list: the words of the detector)). Signals
# `nl_error_schema` and `nl_error_damaged`, file and line named; a launch that is planned twice is damage.
read_schedule <- function(file) {
  if (!file.exists(file)) abort_usage("'", file, "' does not exist")
  # Words may be paths of any bytes; what is no UTF-8 is kept by its codes.
  lines <- iconv(read_text_lines(file, utf8 = FALSE), "UTF-8", "UTF-8", sub = "byte")
  comment <- startsWith(lines, "#")
  keys <- comment_keys(lines[comment])
  schema <- keys["schema"]
  if (!identical(unname(schema), as.character(schedule_schema))) {
    abort_version(file, "schema", if (is.na(schema)) "missing" else printable(schema), schedule_schema)
  }
  at <- which(!comment & grepl("[^[:space:]]", lines))
  if (length(at) == 0) {
    abort_damaged(file, length(lines) + 1, "the line with the names of the columns is missing")
  }
  fields <- strsplit(lines[at], "\t", fixed = TRUE)
  if (!identical(utils::head(fields[[1]], 4), schedule_columns)) {
    abort_damaged(file, at[1], "the columns are '",
                  printable(paste(utils::head(fields[[1]], 4), collapse = " ")), "', wanted ",
                  paste(schedule_columns, collapse = " "),
                  " and the words of the detector, with tabs between")
  }
  list(keys = keys, launches = schedule_rows(fields[-1], at[-1], file))
}

# `at`: the line of each row, for messages.
schedule_rows <- function(fields, at, file) {
  short <- which(lengths(fields) < 4)
  if (length(short) > 0) {
    abort_damaged(file, at[short[1]], "has ", length(fields[[short[1]]]),
                  " fields, wanted launch, set, nodes, ranks ", "and words, with tabs between")
  }
  field <- function(i) vapply(fields, `[`, "", i)
  refuse <- function(bad, name, got, wanted) {
    i <- which(bad)[1]
    if (!is.na(i)) abort_damaged(file, at[i], name, " is '", printable(got[i]), "', wanted ", wanted)
  }
  launch <- field(1)
  refuse(!grepl(text_pattern, launch), "launch", launch, text_wanted)
  numbers <- lapply(c(set = 2, ranks = 4), function(i) {
    text <- field(i)
    refuse(!grepl("^([0-9]{1,9}|-)$", text), schedule_columns[i], text, "a whole number, or -")
    suppressWarnings(as.numeric(text))
  })
  twice <- anyDuplicated(launch)
  if (twice > 0) {
    abort_damaged(file, at[twice], "launch '", launch[twice], "' is planned twice (first in line ",
                  at[match(launch[twice], launch)], ")")
  }
  nodes <- field(3)
  rows <- data.frame(launch = launch, set = numbers$set, nodes = ifelse(nodes == "-", NA_character_, nodes),
                     ranks = numbers$ranks)
  rows$arguments <- lapply(fields, `[`, -(1:4))
  rows
}

# What the schedules of these campaign directories have planned and what is complete: one row per directory
# with a schedule.
schedule_progress <- function(dirs) {
  bind_rows(lapply(unique(dirs), function(dir) {
    file <- file.path(dir, schedule_file)
    if (!file.exists(file)) return(NULL)
    schedule <- read_schedule(file)
    planned <- schedule$launches$launch
    present <- basename(launch_folders(dir))
    complete <- vapply(file.path(dir, planned, "launch.json"), is_complete, TRUE)
    data.frame(dir = dir, experiment = unname(schedule$keys["experiment"]),
               created_utc = unname(schedule$keys["created_utc"]), planned = length(planned),
               complete = sum(complete), unplanned = length(setdiff(present, planned)),
               looks = suppressWarnings(as.numeric(unname(schedule$keys["looks"]))))
  }))
}

# Did this launch end as planned? A file that cannot be read is the reader's to refuse, not a launch to count.
is_complete <- function(file) {
  if (!file.exists(file)) return(FALSE)
  info <- tryCatch(read_json_file(file), error = function(e) NULL)
  is_object(info) && identical(info$ended, "complete")
}

progress_notes <- function(progress) {
  if (NROW(progress) == 0) return(character())
  experiment <- ifelse(is.na(progress$experiment), "EXPERIMENT", printable(progress$experiment))
  resume <- ifelse(progress$complete == progress$planned, "",
                   sprintf(" (resume with: noiselab run %s --resume %s)", experiment,
                           vapply(printable(progress$dir), quote_word, "")))
  c(
    sprintf("%s: %d of %d planned launches complete%s", printable(progress$dir), progress$complete,
            progress$planned, resume),
    sprintf("%s: %d launch(es) are not in its %s; they are used", printable(progress$dir), progress$unplanned,
            schedule_file)[progress$unplanned > 0]
  )
}

set_of <- function(info) {
  set <- info$options$set
  if (is_number(set)) set else NA_real_
}

compares_algorithms <- function(campaign) {
  any(vapply(campaign$launches, function(info) length(info$algorithms) > 1, NA))
}
