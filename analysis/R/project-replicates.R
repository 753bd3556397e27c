# Draws of a simulation by their numbers: taken by several jobs, each with its file, and put together.

# `pattern$kept`: an environment with `rows` (a list of data frames: `nodes`, `every_ns`, `phase`, `noise`, `replicate`, `slowdown`) and `merged` (are these all
# the draws there are?). `compute()`: the draws of `pattern$replicates`. `noise$role`: `recorded`, `fewer` and `more` bursts, each `cheaper`, `dearer`.
keep_draws <- function(pattern, noise, n, work_s, spread_s, compute) {
  kept <- pattern$kept
  if (is.null(kept)) return(compute())
  cell <- data.frame(nodes = n, every_ns = round(1e9 * work_s), phase = if (is.null(spread_s)) "independent" else "common", noise = noise$role)
  if (kept$merged) {
    at <- Reduce(`&`, lapply(names(cell), function(name) kept$rows[[name]] == cell[[name]]))
    if (!any(at)) abort_data("--merge: no draws of ", nodes_words(n), ", every ", format_time(work_s), ", phases ", cell$phase, ", bursts ", cell$noise)
    return(kept$rows$slowdown[at])
  }
  draws <- compute()
  kept$rows <- rbind(kept$rows, cbind(cell, replicate = pattern$replicates, slowdown = draws, row.names = NULL))
  draws
}

# "3", "1-10": numbers of draws.
replicates_option <- function(text) {
  if (is.null(text)) return(NULL)
  ends <- suppressWarnings(as.numeric(strsplit(text, "-", fixed = TRUE)[[1]]))
  whole <- length(ends) %in% 1:2 && grepl("^[0-9]+(-[0-9]+)?$", text) && min(ends) >= 1 && max(ends) <= 1e6 && !is.unsorted(ends)
  if (!whole) abort_usage("--replicates: '", text, "' is not a number, nor two (try 1-10)")
  seq(ends[1], ends[length(ends)])
}

# ---- the files ---------------------------------------------------------------------------------

# What a job hands on beside its draws: the options, and the noise, in numbers that lose nothing.
handed_on <- function(projection, values) {
  exact <- function(x) if (is.list(x)) lapply(x, exact) else if (is.numeric(x)) I(sprintf("%.17g", x)) else x
  asked <- values[setdiff(names(values), c("replicates", asked_when_merged))]
  list(asked = lapply(asked, as.character), noise = exact(projection$noise), sequence = exact(projection$request$pattern$sequence))
}

asked_when_merged <- c("merge", "json", "csv", "out", "report", "margin")

# The parts that jobs wrote: `values` (their options), `noise`, `sequence`, `rows` of draws.
read_replicates <- function(files) {
  parts <- lapply(files, read_replicate_file)
  same <- function(name) vapply(parts, function(part) identical(part[[name]], parts[[1]][[name]]), TRUE)
  for (name in c("version", "asked", "noise", "sequence")) {
    other <- which(!same(name))[1]
    if (!is.na(other)) abort_data("--merge: ", files[other], " is of another ", c(version = "version of noiselab", asked = "question", noise = "record",
                                                                            sequence = "profile")[[name]], " than ", files[1])
  }
  numbers <- lapply(parts, function(part) unique(part$rows$replicate))
  if (anyDuplicated(unlist(numbers)) > 0) {
    twice <- unlist(numbers)[duplicated(unlist(numbers))][1]
    abort_data("--merge: replicate ", twice, " is in ", paste(files[vapply(numbers, function(one) twice %in% one, TRUE)], collapse = " and in "))
  }
  rows <- bind_rows(lapply(parts, `[[`, "rows"))
  c(parts[[1]][c("asked", "noise", "sequence")], list(rows = rows[order(rows$replicate), ]))
}

replicate_columns <- c("nodes", "every_ns", "phase", "noise", "replicate", "slowdown")

read_replicate_file <- function(file) {
  if (!file.exists(file)) abort_data(file, " is missing")
  got <- tryCatch(jsonlite::fromJSON(file), error = function(e) abort_damaged(file, 1, "not JSON"))
  whole <- is.list(got) && identical(got$program, "noiselab-project") && is.list(got$handed_on) && is.data.frame(got$replicates) &&
    setequal(names(got$replicates), replicate_columns)
  if (!whole) abort_data(file, " was not written by noiselab project --replicates --json")
  number <- function(x) if (is.list(x)) lapply(x, number) else {
    value <- suppressWarnings(as.numeric(x))
    if (is.character(x) && !anyNA(value[x != "NA"])) value else x
  }
  list(version = got$version, asked = lapply(got$handed_on$asked, function(x) if (identical(x, "TRUE")) TRUE else x), noise = number(got$handed_on$noise), sequence = got$handed_on$sequence,
       rows = got$replicates[replicate_columns])
}

merge_notes <- function(rows) {
  numbers <- sort(unique(rows$replicate))
  lacking <- setdiff(seq_len(max(numbers)), numbers)
  if (length(lacking) > 0) sprintf("of %d replicates %d are not in these files, the first is number %d", max(numbers), length(lacking), lacking[1])
}
