# Reading what noiselab profile wrote of one run of a program (docs/reference/formats.md, "noiselab-profile").

# The last run of a campaign, or one run. A list: info, operations, ranks, arrivals (data.tables), notes.
read_profile <- function(dir) {
  launches <- sort(find_launches(dir, program = "noiselab-profile"))
  if (length(launches) == 0) abort_data("'", dir, "' has no run of noiselab profile")
  launch <- launches[length(launches)]
  info <- read_json_head(file.path(launch, "launch.json"))
  file <- file.path(launch, "ranks.csv")
  if (!file.exists(file)) {
    if (length(Sys.glob(file.path(launch, "rank.*.profile"))) > 0) {
      abort_data("'", launch, "' has no tables yet: it still runs, or make them: noiselab profile --tables ",
                 launch)
    }
    abort_data("'", launch, "': no rank of this run was profiled")
  }
  read <- function(name, rules) {
    got <- read_contract_csv(file.path(launch, name), rules, info)
    c(got["data"], list(notes = got$notes))
  }
  parts <- list(operations = read("operations.csv", rules_of_table("profile_operations")),
                ranks = read("ranks.csv", rules_of_table("profile_ranks")),
                arrivals = read("arrivals.csv", rules_of_table("profile_arrivals")))
  c(list(info = info, dir = launch), lapply(parts, `[[`, "data"),
    list(notes = c(if (length(launches) > 1) sprintf("the last of %s", counted(length(launches), "run")),
                   profile_notes(info, parts$ranks$data),
                   unlist(lapply(parts, `[[`, "notes"), use.names = FALSE))))
}

profile_notes <- function(info, ranks) {
  lost <- sum(ranks[["lost_calls"]])
  cost <- 100 * max(ranks[["sampled_calls"]] * ranks[["sample_cost_ns"]] / pmax(1, ranks[["wall_ns"]]))
  c(
    if (any(ranks[["state"]] != "finalized")) {
      sprintf("%s did not come to MPI_Finalize: clocks of several nodes are those of the start",
              counted(sum(ranks[["state"]] != "finalized"), "rank"))
    },
    if (isTRUE(info$ranks > nrow(ranks))) {
      sprintf("%d of %d ranks were profiled", nrow(ranks), as.integer(info$ranks))
    },
    if (lost > 0) {
      sprintf("%s of more than 384 kinds of call are in no row", counted(lost, "call"))
    },
    if (any(ranks[["waits"]] != "scheduler")) {
      "the kernel keeps no account of waits: preempted time holds all the time off the CPU"
    },
    sprintf("looking at arrivals took %s %% of the time", format(signif(cost, 2)))
  )
}

# Stored output of LIKWID: likwid-perfctr -m -O and likwid-mpirun -m -O.

# The comma separated form (`-O`) of `likwid-perfctr -m` and `likwid-mpirun -m`: of each marker region and
# performance group the metrics of every hardware thread. Tables of raw counts and of statistics, and lines
# of other programs, are passed over. A row per region, group, thread and metric: `region`, `group`,
# `thread` (`HWThread 3`, or `host:rank:cpu`), `metric` (as LIKWID names it), `value` (NA: not counted
# there); attribute `raw_only`: regions with counts but no metrics. Signals `nl_error_damaged` with file and
# line, `nl_error_data` without a marker region. LIKWID 5.2, printOutput() and printcsv() in its
# `likwid.lua`, printMpiOutput() in `likwid-mpirun`: a line `TABLE,Region NAME,Group N WHAT,GROUP,ROWS`
# begins a table; then a line of names and ROWS lines, filled up with empty fields.
read_likwid <- function(file) {
  if (!file.exists(file)) abort_data(file, " is missing")
  lines <- sub("\r$", "", read_text_lines(file))
  begins <- grep("^TABLE,", lines, useBytes = TRUE)
  tables <- lapply(begins, read_likwid_table, lines = lines, file = file)
  regions <- unlist(lapply(tables, `[[`, "region"))
  if (length(regions) == 0) {
    abort_data(
      file,
      " has no marker region of LIKWID",
      if (length(begins) > 0) {
        " (run likwid-perfctr with -m)"
      } else {
        ": wanted the output of likwid-perfctr -m -O"
      }
    )
  }
  rows <- bind_rows(lapply(tables, `[[`, "rows"))
  if (NROW(rows) == 0) rows <- no_counters()
  structure(rows, raw_only = setdiff(regions, rows$region))
}

no_counters <- function() {
  data.frame(region = character(), group = character(), thread = character(), metric = character(),
             value = numeric())
}

# The table that begins in line `at`: its region (NULL: none), and the rows of metrics.
read_likwid_table <- function(at, lines, file) {
  fields <- strsplit(lines[at], ",", fixed = TRUE)[[1]]
  of_region <- isTRUE(startsWith(fields[2], "Region "))
  place <- if (of_region) 3 else 2
  what <- sub("^Group [0-9]+ ", "", fields[place])
  n <- suppressWarnings(as.numeric(fields[place + 2]))
  if (!isTRUE(what != fields[place]) || !is_number(n, -1) || n != round(n)) {
    abort_damaged(file, at, "'", printable(lines[at]),
                  "' is not the head of a table (TABLE,Region NAME,Group N Metric,GROUP,ROWS)")
  }
  if (!of_region) return(NULL)
  region <- sub("^Region ", "", fields[2])
  if (what != "Metric") return(list(region = region))
  first <- strsplit(lines[at + 1], ",", fixed = TRUE)[[1]]
  if (!first[1] %in% "Metric") {
    abort_damaged(file, min(at + 1, length(lines)), "the table that begins in line ", at,
                  " has no line of names (Metric,...)")
  }
  # one line beyond the end at most, whatever the head claims
  body <- at + 1 + seq_len(min(n, max(0, length(lines) - at - 1) + 1))
  cut <- which(body > length(lines) | grepl("^(TABLE|STRUCT),", lines[body], useBytes = TRUE))[1]
  if (!is.na(cut)) {
    abort_damaged(file, min(body[cut], length(lines)), "the table that begins in line ", at, " ends after ",
                  cut - 1, " of ", n, " rows: the file was cut off")
  }
  threads <- Filter(nzchar, first[-1])
  cells <- strsplit(paste0(lines[body], ",!"), ",", fixed = TRUE)
  wanted <- 1 + length(threads)
  short <- which(lengths(cells) - 1 < wanted)[1]
  if (!is.na(short)) {
    abort_damaged(file, body[short], "has ", lengths(cells)[short] - 1, " fields, wanted ", wanted)
  }
  words <- unlist(lapply(cells, `[`, 1 + seq_along(threads)))
  values <- suppressWarnings(as.numeric(words))
  # What a thread does not count (a socket's memory traffic, say) is a dash, or no number at all.
  odd <- which(is.na(values) & !words %in% c("-", "nan", "-nan", "NaN", "nil"))[1]
  if (!is.na(odd)) {
    abort_damaged(file, body[(odd - 1) %/% length(threads) + 1], "'", printable(words[odd]),
                  "' is not a number")
  }
  values[!is.finite(values)] <- NA
  list(
    region = region,
    rows = data.frame(region = region, group = fields[place + 1], thread = rep(threads, n),
                      metric = rep(vapply(cells, `[[`, "", 1), each = length(threads)), value = values)
  )
}
