# Reading and validating campaigns (docs/reference/formats.md is the contract).

schema_read <- 2

# One launch: `info` (the parsed launch.json), `rows` (data.table: the columns of halves.csv or blocks.csv,
# and `design`), `late` (of pairs with a half of late ranks), a data.table for each of `launch_files` (with
# `launch`; no rows where the file is missing), of a launch with an agent `agents`, `tasks` and `bursts`
# (`launch`, `host`, `file`), `notes`. Factors of treatment are factors, NA in off rows; columns of
# synchronised starts are absent where there are none. `arms`: `both` (a lockin launch with one arm is
# refused) or `any`. Signals `nl_error_schema`, `nl_error_damaged` (file and line) or `nl_error_data`. A
# launch that was killed (`ended` is null) may end in an incomplete line, which is left out and noted.
read_launch <- function(dir, arms) {
  info <- read_launch_json(file.path(dir, "launch.json"))
  design <- info$options$design
  file <- file.path(dir, designs[[design]]$file)
  promised <- promised_rows(info)
  lacking <- if (isTRUE(promised > 0)) abort_data else abort_no_rows
  if (!file.exists(file)) {
    lacking(file, " is missing (design ", design, "): run the launch again, or leave it out")
  }
  if (file.size(file) == 0) lacking(file, " is empty")
  main <- read_contract_csv(file, row_rules, info)
  rows <- main$data
  check_rows(rows, file, info, arms)
  check_row_count(rows, file, promised)
  if (nrow(rows) == 0) abort_no_rows(file, " has no rows: the launch ended before its first half")
  if (!is.null(info$sequential)) info$sequential$rows_read <- nrow(rows)
  data.table::set(rows, j = "design", value = design)
  halves <- split_late(rows)
  needed <- c("ranks", if (!identical(info$options$per_operation_timing, FALSE)) "hist",
              if (start_mode(info) != "loop") starts_files)
  files <- lapply(stats::setNames(names(launch_files), names(launch_files)), function(name) {
    read_optional_csv(dir, paste0(name, ".csv"), launch_files[[name]], info, name %in% needed)
  })
  for (name in c("hist", "starts_hist")) check_bins(files[[name]]$data, file.path(dir, paste0(name, ".csv")))
  agent <- read_agent_files(dir, info)
  c(
    list(info = info, rows = halves$rows, late = halves$late),
    lapply(files, `[[`, "data"),
    agent[agent_tables],
    list(
      notes = c(launch_notes(info), main$notes, unlist(lapply(files, `[[`, "notes"), use.names = FALSE),
                agent$notes)
    )
  )
}

# What launches with an agent have besides; `counters` those with a load, too.
agent_tables <- c("agents", "tasks", "bursts", "counters")

# How a launch started its operations: loop, barrier, window or round.
start_mode <- function(info) start_of(info)$mode %||% "loop"

# What launch.json says of synchronised starts, or NULL. (`$` would take `started_utc` for an abbreviated
# `start`.)
start_of <- function(info) info[["start"]]

# The condition that read_campaign() may pass over, where other launches have rows.
abort_no_rows <- function(...) nl_abort(c("nl_no_rows", "nl_error_data"), ...)

# Rows that launch.json says were written; NA while the launch runs, or after it was killed.
promised_rows <- function(info) {
  if (is.null(info$ended) || is.null(info$rows)) NA_real_ else info$rows
}

check_row_count <- function(rows, file, promised) {
  if (is.na(promised) || nrow(rows) == promised) return(invisible())
  abort_damaged(file, nrow(rows) + 1, "has ", format_count(nrow(rows)), " rows, launch.json says ",
                format_count(promised), ": copy the file again, or leave the launch out")
}

#' Read a campaign
#'
#' @param dirs Character, length >= 1: campaign directories, launch directories, or both.
#' @param arms Character, length 1: `both` (a campaign without off or without on rows is refused: nothing
#' can be
#'   compared) or `any`.
#' @return An object of class `nl_campaign`, a list: `rows` (data.table, one row per half, block or
#'   loop over all launches, columns as in `halves.csv` and `design`), `late` (the same, of pairs with a
#'   half of late ranks, which are not
#'   among `rows`; NULL: there are none), `hist`, `ranks`, `nodes`, `starts_hist`,
#'   `clocks`, `agents`, `tasks`, `counters` (data.tables with `launch`), `bursts` (data frame: `launch`,
#'   `host`, `file`), `launches` (list
#'   of the parsed `launch.json` files, named by launch id), `dirs` (the arguments), `paths` (character:
#'   directory of each launch, named by
#'   its id), `progress` (data frame, one row per directory with a `schedule.tsv`: `dir`, `experiment`,
#'   `created_utc`, `planned`, `complete` and `unplanned`, numbers of launches), `notes` (character).
#' @details In a campaign directory `partial/` and `claims/` are passed over, and so are files; `partial/`
#' may be given
#'   as a campaign of its own. Conditions: `nl_error_usage`, `nl_error_schema`, `nl_error_damaged` (file and
#'   line named), `nl_error_data`.
#' @examples
#' \dontrun{
#' names(read_campaign("campaign")$launches)
#' }
#' @export
read_campaign <- function(dirs, arms = "both") {
  check_argument(is.character(dirs) && length(dirs) > 0 && !anyNA(dirs), "dirs", dirs, "directory names")
  check_argument(arms %in% c("both", "any"), "arms", arms, "both or any")
  launch_dirs <- unlist(lapply(dirs, find_launches))
  passed <- length(unlist(lapply(dirs, find_launches, program = "noiselab-accept")))
  read <- read_all_launches(unique(normalizePath(launch_dirs)), arms)
  launches <- read$launches
  ids <- launch_ids(launches)
  tables <- c("rows", "late", names(launch_files), agent_tables)
  progress <- schedule_progress(dirs)
  campaign <- c(
    lapply(stats::setNames(tables, tables), bind_part, launches = launches),
    list(
      launches = stats::setNames(lapply(launches, `[[`, "info"), ids),
      dirs = dirs,
      paths = stats::setNames(read$dirs, ids),
      progress = progress,
      notes = c(
        progress_notes(progress),
        read$notes,
        if (passed > 0) {
          sprintf(
            "%d launch(es) of noiselab-accept are not read here: noiselab analyze acceptance reads them",
            passed
          )
        },
        unlist(lapply(launches, `[[`, "notes"))
      )
    )
  )
  if (arms == "both") check_arms(campaign)
  structure(name_intervals(campaign), class = "nl_campaign")
}

launch_ids <- function(launches) {
  ids <- vapply(launches, function(launch) launch$info$launch, "")
  if (anyDuplicated(ids)) {
    abort_usage("launch id '", ids[duplicated(ids)][1], "' occurs twice: give each launch once")
  }
  ids
}

# Launches without rows are passed over, and said; when none has rows, the first one's error stands.
read_all_launches <- function(dirs, arms) {
  got <- lapply(dirs, function(dir) tryCatch(read_launch(dir, arms), nl_no_rows = identity))
  without <- vapply(got, inherits, TRUE, "nl_no_rows")
  if (all(without)) stop(got[[1]])
  list(launches = got[!without], dirs = dirs[!without],
       notes = sprintf("launch %s has no rows and is left out (%s)", printable(basename(dirs[without])),
                       vapply(got[without], conditionMessage, "")))
}

bind_part <- function(launches, part) {
  parts <- lapply(launches, `[[`, part)
  if (all(lengths(parts) == 0)) return(NULL)
  if (length(parts) == 1) return(parts[[1]])  # saves copying the one big table
  # only some launches may have synchronised starts
  data.table::rbindlist(parts, use.names = TRUE, fill = TRUE)
}

# The launch directories of a program under (or at) one directory: of the detector at least one, of others
# maybe none.
find_launches <- function(dir, program = "noiselab-detect") {
  inside <- all_launches(dir)
  of <- vapply(inside, program_of, "")
  if (program == "noiselab-detect" && !any(of == program)) {
    other <- if ("noiselab-accept" %in% of) {
      c("launches of noiselab-accept", "acceptance")
    } else {
      c("runs of noiselab profile", "profile")
    }
    abort_data("'", dir, "' has ", other[1], " only: noiselab analyze ", other[2], " reads them")
  }
  inside[of == program]
}

all_launches <- function(dir) {
  if (!dir.exists(dir)) abort_usage("'", dir, "' is not a directory")
  inside <- if (is_launch_dir(dir)) dir else launch_folders(dir)
  if (length(inside) == 0) {
    abort_data("no launch in '", dir, "' (no sub-directory with a launch.json): give the directory ",
               "that noiselab-detect --out wrote to", sprintf("; %s", progress_notes(schedule_progress(dir))))
  }
  inside
}

# Who made a launch; one of noiselab-accept is told by its figures even if it died before its launch.json.
program_of <- function(dir) {
  file <- file.path(dir, "launch.json")
  if (file.exists(file.path(dir, "accept.csv"))) return("noiselab-accept")
  if (!file.exists(file)) return("noiselab-detect")
  check_regular(file)
  named <- grep("\"program\": *\"noiselab-[a-z]+\"", readLines(file, warn = FALSE, skipNul = TRUE),
                value = TRUE, useBytes = TRUE)
  other <- Filter(function(program) any(grepl(program, named, useBytes = TRUE)),
                  c("noiselab-accept", "noiselab-profile"))
  c(other, "noiselab-detect")[1]
}

launch_folders <- function(dir) {
  inside <- list.dirs(dir, recursive = FALSE)
  name <- basename(inside)
  inside <- inside[!name %in% not_launches & !startsWith(name, ".")]
  inside[vapply(inside, is_launch_dir, TRUE) & !vapply(inside, is_stillborn, TRUE)]
}

# Killed between its first file and launch.json: it has headers only, and nothing is lost without it.
# (`noiselab run --resume` puts it aside.)
is_stillborn <- function(dir) {
  if (file.exists(file.path(dir, "launch.json"))) return(FALSE)
  all(
    lengths(lapply(list.files(dir, "\\.csv$", full.names = TRUE), readLines, n = 2, warn = FALSE,
                   skipNul = TRUE)) < 2
  )
}

is_launch_dir <- function(dir) {
  any(file.exists(file.path(dir, c("launch.json", "halves.csv", "blocks.csv", "accept.csv"))))
}

# ---- launch.json -------------------------------------------------------------------------------

# A launch.json, with what every program writes and what `keys` names.
read_json_head <- function(file, keys = list()) {
  if (!file.exists(file)) {
    abort_data(file, " is missing: without it the design and the levels are unknown; copy it along ",
               "with the CSV files, or leave this launch out")
  }
  info <- read_json_file(file)
  if (!is_object(info)) abort_damaged(file, 1, "not a JSON object")
  if (!is_number(info$schema) || info$schema != schema_read) {
    abort_version(file, "schema", show_json(info$schema, "missing"), schema_read)
  }
  check_keys(info, c(head_keys, keys), file)
  info
}

read_launch_json <- function(file) read_json_head(file, detect_keys)

text_pattern <- "^[A-Za-z0-9._:+=-]+$"
text_wanted <- "letters, digits and ._-:+= only"

# Designs: where their rows are, and what one pair of each is called.
designs <- lapply(
  list(lockin = c("halves.csv", "pairs"), blocks = c("blocks.csv", "sets"), single = c("blocks.csv", "loops"),
       quick = c("halves.csv", "pairs")),
  function(words) list(file = words[1], pairs = words[2])
)

# What a value is asked for, and what that is called. Whatever ends in null may be missing, too.
json_types <- local({
  or_null <- function(is) function(x) is.null(x) || is(x)
  one_of <- function(words) list(is = function(x) is_text(x) && x %in% words, name = join_words(words, "or"))
  list(text = list(is = is_text, name = "a text"),
       id = list(is = function(x) is_text(x) && grepl(text_pattern, x), name = text_wanted),
       string = list(is = or_null(is_string), name = "a text or null"),
       count = list(is = function(x) is_number(x, 0), name = "a number above 0"),
       share = list(is = function(x) is_number(x, 0) && x <= 0.5, name = "a number above 0 and at most 0.5"),
       amount = list(is = function(x) is_number(x) && x >= 0, name = "a number of at least 0"),
       number = list(is = or_null(is_number), name = "a number or null"),
       flag = list(is = or_null(function(x) isTRUE(x) || isFALSE(x)), name = "true, false or null"),
       scalar = list(is = or_null(function(x) is.atomic(x) && length(x) == 1), name = "one value or null"),
       needed = list(is = is_object, name = "an object"),
       object = list(is = or_null(is_object), name = "an object or null"),
       array = list(is = function(x) is_array(x, is_object), name = "an array of objects"),
       objects = list(is = or_null(function(x) is_array(x, is_object)), name = "an array of objects"),
       texts = list(is = or_null(function(x) is_array(x, is_string)), name = "an array of texts"),
       numbers = list(is = or_null(function(x) is_array(x, is_number)), name = "an array of numbers"),
       design = one_of(names(designs)), mode = one_of(c("loop", "barrier", "window", "round")),
       decision = one_of(c("open", "above", "below")), spending = one_of(c("obrien-fleming", "pocock")),
       status = one_of(c("planned", "ran", "skipped", "failed")))
})

# Types of keys by the place of their object: words `key:type`; `[]` behind a place: of each object there.
# Places come after those that they are in.
keys_of <- function(...) {
  lapply(c(...), function(words) {
    parts <- strsplit(strsplit(words, " ", fixed = TRUE)[[1]], ":", fixed = TRUE)
    stats::setNames(vapply(parts, `[`, "", 2), vapply(parts, `[`, "", 1))
  })
}

head_keys <- keys_of(
  " " = paste(
    paste0("launch:id options:needed ended:string rows:number ranks:number nodes:number n_generators:number ",
           "hosts:objects generators:objects placement:objects"),
    paste0("mpi:object slurm:object switching:object warnings:texts command:texts program:scalar ",
           "version:scalar git:scalar seed:scalar started_utc:string"),
    paste0("ended_utc:string peak_memory_kib:number start:object pairs_planned:number sequential:object ",
           "agents:objects n_agents:number")
  )
)
detect_keys <- keys_of(
  options = paste(
    paste0("design:design operations:texts levels_percent:numbers per_operation_timing:flag kinds:texts ",
           "patterns:texts placements:texts phases:texts set:number"),
    "arms:string adjust:texts external:string agent_interval_ns:number"
  ),
  start = paste0("mode:mode clock:object sync:object late_bound_ns:number residual_ns:number starts:number ",
                 "late_starts:number overshoot_ns:object raw:string"),
  start.overshoot_ns = "p50:number p99:number max:number",
  "generators[]" = paste0("host:string kind:string cpu:scalar period_ns:number ok:flag lateness_ns:object ",
                          "levels:objects"),
  "generators[].levels[]" = paste(
    paste0("level_requested_percent:number level_delivered_percent:number ratio:number halves:number ",
           "bursts_planned:number bursts_run:number ok:flag"),
    "kind:string pattern:string placement:string phase:string"
  ),
  "agents[]" = paste(
    paste0("host:text name:string way:string source:string source_reason:string state_found:string ",
           "state_left:string died:scalar switching:object"),
    paste0("totals:object ins:number outs:number lost_switches:number account:string scraper:object ",
           "observer_cpu_ns:number warnings:texts")
  ),
  sequential = paste(
    paste0("stop_when:text margin_percent:amount alpha:share spending:spending looks_planned:amount ",
           "rounds_planned:count looks:objects decided:flag")
  ),
  "sequential.looks[]" = "look:amount fraction:amount rounds:count nominal_p:share cells:objects",
  "sequential.looks[].cells[]" = paste(
    paste0("operation:text bytes:amount level_percent:amount kind:string pattern:string placement:string ",
           "phase:string n:amount mean_log_ratio:number sd:number"),
    "low_percent:number high_percent:number decision:decision"
  )
)

check_keys <- function(info, keys, file) {
  for (place in names(keys)) {
    objects <- objects_at(info, place)
    for (i in seq_along(objects)) for (key in names(keys[[place]])) {
      type <- json_types[[keys[[place]][[key]]]]
      value <- objects[[i]][[key]]
      if (!type$is(value)) {
        abort_damaged(file, 1, "key '", names(objects)[i], key, "' is ", show_json(value, "missing"),
                      ", wanted ", type$name)
      }
    }
  }
}

# The objects at a place that are there, named by how to get to them.
objects_at <- function(info, place) {
  found <- stats::setNames(list(info), "")
  for (part in strsplit(trimws(place), ".", fixed = TRUE)[[1]]) {
    key <- sub("[]", "", part, fixed = TRUE)
    found <- do.call(c, unname(Map(function(object, before) {
      inside <- object[[key]]
      if (is.null(inside)) return(list())
      if (key == part) return(stats::setNames(list(inside), paste0(before, key, ".")))
      stats::setNames(inside, sprintf("%s%s[%d].", before, key, seq_along(inside) - 1))
    }, found, names(found))))
  }
  found
}

launch_notes <- function(info) {
  say <- function(...) paste0("launch ", info$launch, ": ", ...)
  start <- start_of(info)
  share <- if (isTRUE(start$starts > 0)) (start$late_starts %||% 0) / start$starts else 0
  c(
    if (is.null(info$ended)) {
      say("was killed (no end recorded); its rows up to the last complete line are used")
    } else if (info$ended != "complete") {
      say("ended as '", printable(info$ended), "'; the rows up to there are used")
    },
    sequential_notes(info),
    if (share > 0.01) {
      say(plain(100 * share), " % of the starts were late (flagged, and kept)")
    },
    vapply(info$warnings, function(w) say("warning: ", printable(w)), ""),
    vapply(
      Filter(function(g) isFALSE(g$ok), info$generators),
      function(g) {
        say("generator on ", printable(g$host %||% "unknown host"),
            " delivered a load outside its tolerance (certificate not ok)")
      },
      ""
    )
  )
}

empty_table <- function(rules) {
  empty <- lapply(rules$kind, function(k) {
    switch(k, text = , label = , blank = character(), word = factor(), numeric())
  })
  data.table::setDT(stats::setNames(empty, rules$name))
}

read_optional_csv <- function(dir, name, rules, info, expected = TRUE) {
  file <- file.path(dir, name)
  result <- if (file.exists(file)) read_contract_csv(file, rules, info) else {
    list(
      data = empty_table(rules),
      notes = if (expected) {
        paste0("launch ", info$launch, ": ", name, " is missing")
      }
    )
  }
  data.table::set(result$data, j = "launch", value = rep(info$launch, nrow(result$data)))
  result
}

# ---- columns of the contract -------------------------------------------------------------------

# Columns of a file, in words `name:kind`, `?` behind one whose fields may be empty: text, label (any
# printable character but a comma), blank (free text, may be empty), word (a factor of the treatment: text
# that only on rows have), count and whole, amount and number (count and amount from 0 on, the others from
# what follows >=). `treatment` stands for its four.
rules_of <- function(...) {
  words <- unlist(strsplit(
    gsub("\\btreatment\\b", "kind:word pattern:word placement:word phase:word", c(...)), " "
  ))
  part <- function(i) sub("^([^:]+):([a-z]+)(>=([^?]+))?[?]?$", paste0("\\", i), words)
  lowest <- ifelse(part(2) %in% c("count", "amount"), "0", ifelse(nzchar(part(4)), part(4), "-Inf"))
  kind <- c(count = "whole", amount = "number")[part(2)]
  data.frame(name = part(1), kind = unname(ifelse(is.na(kind), part(2), kind)), lowest = as.numeric(lowest),
             empty_ok = endsWith(words, "?"))
}

text_kinds <- c("text", "word", "label", "blank")

# The tables of the contract that are columns of a file, by the file's name.
column_tables <- local({
  names <- c("halves", "hist", "ranks", "nodes", "starts_hist", "clocks", "agent", "accept", "accept_hist",
             "mismatches", "tasks", "counters", "profile_operations", "profile_ranks", "profile_arrivals")
  lapply(stats::setNames(names, names), contract_table)
})
rules_of_table <- function(name) {
  rules_of(paste(column_tables[[name]]$name, column_tables[[name]]$kind, sep = ":"))
}

# preempted_ns_*: the difference of two clocks, so small negative values are real (of the sum, by rank:
# check_rows()); the ranks' steal is of three. A clock that jumps makes times of starts negative: that is a
# finding, not a damaged file.
row_rules <- rules_of_table("halves")

# The files of an agent, one for each node: its account, and who ran on the ranks' CPUs (a task is named as
# the kernel names it).
agent_rules <- rules_of_table("agent")
task_rules <- rules_of_table("tasks")
# Around each half, on each node with a load: what the kernel counted on its ranks' CPUs, and the ranks for
# themselves.
counted_rules <- rules_of_table("counters")

# The files of a launch beside its rows, NAME.csv, and which of them only launches with synchronised starts
# have.
launch_files <- local({
  names <- c("hist", "ranks", "nodes", "starts_hist", "clocks")
  lapply(stats::setNames(names, names), rules_of_table)
})
starts_files <- c("starts_hist", "clocks")

# Columns that not every launch has: a file has all of a group or none.
added_columns <- local({
  all <- do.call(rbind, unname(lapply(column_tables, `[`, c("name", "since"))))
  all <- unique(all[!is.na(all$since), ])
  split(all$name, factor(all$since, unique(all$since)))
})

# ---- one CSV file ------------------------------------------------------------------------------

# Fast path: fread, then checks on whole columns. Only when something looks wrong is the file read
# line by line, to name the line.
# `blank_off`: off rows may have an empty level, which is 0.
read_contract_csv <- function(file, rules, info, blank_off = FALSE) {
  rules <- check_header(file, rules)
  notes <- character()
  cut_off <- !ends_with_newline(file)
  data <- if (!cut_off) quiet_fread(file = file, rules = rules)
  if (is.null(data)) {
    text <- complete_lines(file, cut_off, partial = is.null(info$ended))
    notes <- text$notes
    data <- quiet_fread(text = text$lines, rules = rules)
    if (is.null(data)) abort_damaged(file, 1, "cannot be read as a comma separated table")
  }
  extra <- setdiff(names(data), rules$name)
  if (length(extra) > 0) {
    notes <- c(notes, paste0(file, ": unknown column(s) left out: ", paste(extra, collapse = ", ")))
    data.table::set(data, j = extra, value = NULL)
  }
  for (name in rules$name[rules$kind == "word"]) {
    data.table::set(data, j = name, value = as_word(data[[name]]))
  }
  for (i in seq_len(nrow(rules))) check_column(data[[rules$name[i]]], lapply(rules, `[[`, i), file)
  drop_empty_starts(data)
  if ("arm" %in% rules$name) {
    if (blank_off) {
      data.table::set(data, which(data[["arm"]] == "off" & is.na(data[["level_requested_percent"]])),
                      "level_requested_percent", 0)
    }
    external <- take_external(data, file, info)
    check_treatment(data, file, info, external)
  }
  list(data = data, notes = notes)
}

# With --starts loop the columns of synchronised starts are there and empty: as good as not there, and 10^6
# rows of nothing need memory.
drop_empty_starts <- function(data) {
  lead <- intersect(c("global_ns", "first_starts"), names(data))
  if (length(lead) == 0 || nrow(data) == 0 || !is.na(data[[lead]][1])) return(invisible())
  columns <- intersect(added_columns$starts, names(data))
  if (all(vapply(columns, function(n) all(is.na(data[[n]])), TRUE))) {
    data.table::set(data, j = columns, value = NULL)
  }
}

# On rows without a level are under a treatment from outside, in place: no level, and no pattern, placement
# or phase. Returns which rows these are (NULL: none).
take_external <- function(data, file, info) {
  level <- data[["level_requested_percent"]]
  if (!anyNA(level)) return(NULL)
  external <- is.na(level)
  wrong <- which(external & (data[["arm"]] == "off" | !may_be_external(info)))[1]
  if (!is.na(wrong)) refuse_cell(file, wrong, list(name = "level_requested_percent"), "", "a number")
  data.table::set(data, which(external), "level_requested_percent", no_level)
  for (name in setdiff(intersect(treatment_columns, names(data)), "kind")) {
    x <- data[[name]]
    levels(x) <- unique(c(levels(x), no_word))
    x[external] <- no_word
    data.table::set(data, j = name, value = x)
  }
  external
}

may_be_external <- function(info) {
  is_text(info$options$external) || length(info$options$levels_percent) == 0 || switches_agent(info) ||
    is_object(info$options[["late"]])
}

# Pairs with a half of late ranks, which are no noise: `late`; and all others.
split_late <- function(rows) {
  pairs <- rows[["pair"]][!is.na(rows[["late_ns"]])]
  if (length(pairs) == 0) {
    if (!is.null(rows[["late_ns"]])) data.table::set(rows, j = "late_ns", value = NULL)
    return(list(rows = rows))
  }
  part <- function(at) {
    part <- data.table::as.data.table(rows_at(rows, which(at)))
    for (name in intersect(treatment_columns, names(part))) {
      data.table::set(part, j = name, value = droplevels(part[[name]]))
    }
    part
  }
  is_late <- rows[["pair"]] %in% pairs
  noise <- part(!is_late)
  list(rows = data.table::set(noise, j = "late_ns", value = NULL), late = part(is_late))
}

# On rows name their treatment, off rows have none; words are those of the contract and of launch.json.
check_treatment <- function(data, file, info, external = NULL) {
  own <- if (is.null(external)) TRUE else !external
  off <- data[["arm"]] == "off"
  for (name in intersect(treatment_columns, names(data))) {
    x <- data[[name]]
    refuse <- function(bad, wanted) {
      at <- which(bad)[1]
      if (!is.na(at)) refuse_cell(file, at, list(name = name), x[at], wanted)
    }
    lacking <- is.na(x)
    refuse(lacking & !off, "a word in an on row")
    refuse(!lacking & off, "nothing in an off row")
    one_of <- function(known, whose) {
      if (length(known) > 0 && !all(levels(x) %in% known)) {
        refuse(own & !lacking & !x %in% known, paste0(whose, printable(paste(known, collapse = ", "))))
      }
    }
    one_of(treatment_words[[name]], "one of ")
    one_of(unlist(info$options[[paste0(name, "s")]]), "what launch.json has: ")
  }
}

# The rules of the columns that this version of the file has.
check_header <- function(file, rules) {
  check_regular(file)
  header <- strsplit(readLines(file, n = 1, warn = FALSE, skipNul = TRUE), ",", fixed = TRUE, useBytes = TRUE)
  if (length(header) == 0 || length(header[[1]]) == 0) {
    abort_data(file, " is empty: the launch wrote nothing; run it again or leave it out")
  }
  of_profiles <- c("inside", "shortest", "counters")
  for (added in if ("arm" %in% rules$name) added_columns else added_columns[of_profiles]) {
    if (!any(added %in% header[[1]])) rules <- rows_at(rules, which(!rules$name %in% added))
  }
  missing <- setdiff(rules$name, header[[1]])
  if (length(missing) > 0) {
    abort_damaged(file, 1, "column '", missing[1], "' is missing (the header was edited, or comes ",
                  "from another version)")
  }
  twice <- header[[1]][duplicated(header[[1]])]
  if (length(twice) > 0) abort_damaged(file, 1, "column '", twice[1], "' occurs twice")
  rules
}

ends_with_newline <- function(file) {
  con <- file(file, "rb")
  on.exit(close(con))
  seek(con, file.size(file) - 1)
  identical(readBin(con, "raw", 1), as.raw(10L))
}

# NULL when fread found anything odd. A column that cannot be numeric stays text; the column check then
# names the line. (Leaving fread by a warning would upset its next call, so warnings are collected.)
quiet_fread <- function(..., rules) {
  classes <- ifelse(rules$kind %in% text_kinds, "character", "numeric")
  odd <- FALSE
  data <- tryCatch(withCallingHandlers(
    data.table::fread(..., sep = ",", header = TRUE, quote = "", na.strings = "", fill = FALSE,
                      colClasses = stats::setNames(classes, rules$name), showProgress = FALSE,
                      strip.white = FALSE, data.table = TRUE),
    warning = function(w) {
      if (!startsWith(conditionMessage(w), "Attempt to override column")) odd <<- TRUE
      invokeRestart("muffleWarning")
    }), error = function(e) NULL)
  if (odd) NULL else data
}

# The lines of a file whose field count is right; a killed launch may lack the end of its last line.
complete_lines <- function(file, cut_off, partial) {
  lines <- read_text_lines(file)
  fields <- nchar(gsub("[^,]", "", lines, useBytes = TRUE), "bytes") + 1L
  wanted <- fields[1]
  notes <- character()
  last <- length(lines)
  if (partial && last > 1 && (cut_off || fields[last] != wanted)) {
    notes <- paste0(file, ":", last, ": the launch was killed while it wrote this line; left out")
    lines <- lines[-last]
    fields <- fields[-last]
  } else if (cut_off) {
    abort_damaged(file, last, "the last line has no newline: the file was cut off; copy it again, ",
                  "or run the launch again")
  }
  bad <- which(fields != wanted)
  if (length(bad) > 0) {
    abort_damaged(file, bad[1], "has ", fields[bad[1]], " fields, the header has ", wanted)
  }
  list(lines = lines, notes = notes)
}

check_column <- function(x, rule, file) {
  refuse <- function(bad, wanted) {
    at <- which(bad)[1]
    if (!is.na(at)) refuse_cell(file, at, rule, x[at], wanted)
  }
  if (is.character(x)) refuse(!validUTF8(x), "UTF-8")
  if (rule$kind %in% text_kinds) return(check_text(x, rule, file))
  if (is.character(x)) {
    refuse(!is.na(x) & !is.finite(suppressWarnings(as.numeric(x))), "a number")
    refuse(!is.na(x), "a number")  # numbers R reads but the contract does not
  }
  if (anyNA(x)) refuse(if (rule$empty_ok) is.nan(x) else is.na(x), "a number")
  refuse(is.infinite(x), "a finite number")
  refuse(x < rule$lowest, paste("at least", rule$lowest))
  if (rule$kind == "whole") refuse(x != floor(x), "a whole number")
}

check_text <- function(x, rule, file) {
  if (rule$kind == "blank") return(invisible()) # free text, that may be empty
  known <- if (is.factor(x)) levels(x) else unique(x)
  if (anyNA(known)) refuse_cell(file, which(is.na(x))[1], rule, "", "text")
  refuse <- function(odd, wanted) {
    if (length(odd) > 0) refuse_cell(file, match(odd[1], x), rule, odd[1], wanted)
  }
  refuse(known[!grepl(if (rule$kind == "label") "^[[:print:]]+$" else text_pattern, known, useBytes = TRUE)],
         text_wanted)
  words <- closed_words[[rule$name]]
  if (!is.null(words)) refuse(setdiff(known, words), join_words(words, "or"))
}

# Row i of the table is line i + 1 of the file: fread accepts no blank lines inside.
refuse_cell <- function(file, i, rule, got, wanted) {
  text <- if (is.numeric(got)) format(got, digits = 15) else as.character(got)
  is_empty <- is.na(got) & !is.nan(got) | text %in% ""
  abort_damaged(file, i + 1, rule$name, " is ",
                if (is_empty) "empty" else paste0("'", shortened(printable(text)), "'"), ", wanted ", wanted)
}

# What no single column can tell: arms, the launch id, what launch.json says was run, rows that occur
# twice.
check_rows <- function(rows, file, info, arms) {
  lockin <- info$options$design %in% c("lockin", "quick")
  if (lockin && arms == "both" && nrow(rows) > 1) check_both_arms(rows[["arm"]], file)
  level <- rows[["level_requested_percent"]]
  off <- rows[["arm"]] == "off"
  refuse <- function(bad, name, wanted) refuse_row(bad, file, function(at) {
    value <- rows[[name]][at]
    paste0(name, " is ", if (is.character(value)) paste0("'", value, "'") else value, wanted(at))
  })
  known <- function(key) unlist(info$options[[key]])
  is_of <- function(key) {
    function(at) {
      paste0(", launch.json has ", printable(paste(known(key), collapse = ", ")))
    }
  }
  in_off <- function(at) " in an off row, wanted 0"
  lowest <- -pmax(1e6, 1e4 * rows[["ranks"]])
  refuse(rows[["launch"]] != info$launch, "launch", function(at) {
    paste0(", launch.json says '", info$launch, "'")
  })
  refuse(off & level != 0, "level_requested_percent", in_off)
  if (!is.null(rows[["requested_ns"]])) refuse(off & rows[["requested_ns"]] != 0, "requested_ns", in_off)
  if (length(known("operations")) > 0) {
    refuse(!rows[["operation"]] %in% known("operations"), "operation", is_of("operations"))
  }
  if (length(known("levels_percent")) > 0) {
    refuse(!off & has_level(level) & !level %in% near_levels(level[!off], known("levels_percent")),
           "level_requested_percent", is_of("levels_percent"))
  }
  refuse(rows[["preempted_ns_sum"]] < lowest, "preempted_ns_sum", function(at) {
    paste0(", wanted at least ", lowest[at])
  })
  key <- if (lockin) combine_keys(rows[["pair"]], off) else {
    combine_keys(cell_key(rows), rows[["pair"]], off, level, treatment_code(rows))
  }
  refuse_row(duplicated(key), file, function(at) {
    paste0("pair ", rows[["pair"]][at], " of ", rows[["operation"]][at], " has this arm twice")
  })
  start <- rows[["start_ns"]]
  refuse_row(c(FALSE, diff(start) < 0), file, function(at) {
    paste0("start_ns goes back from ", format(start[at - 1], digits = 15), " to ",
           format(start[at], digits = 15),
           ": the rows are out of order, or the clock of this launch cannot be trusted")
  })
}

# The first of the rows that are bad; `why`: a text, or a function of its number.
refuse_row <- function(bad, file, why) {
  at <- which(bad)[1]
  if (!is.na(at)) abort_damaged(file, at + 1, if (is.function(why)) why(at) else why)
}

# Those of the levels seen that are levels asked for, but for rounding.
near_levels <- function(seen, asked, tolerance = 1e-9) {
  seen <- unique(seen)
  seen[vapply(seen, function(x) any(abs(x - asked) <= tolerance * pmax(1, abs(asked))), TRUE)]
}

check_both_arms <- function(arm, where) {
  arms <- unique(arm)
  if (length(arms) == 2) return(invisible())
  abort_data("all ", format_count(length(arm)), " rows in ", paste(where, collapse = " "),
             " are of arm '", arms, "': a comparison needs both; add launches with the other arm")
}

check_arms <- function(campaign) check_both_arms(campaign$rows[["arm"]], campaign$dirs)

check_bins <- function(data, file) {
  refuse_row(data[["lo_ns"]] >= data[["hi_ns"]], file, function(at) {
    paste0("lo_ns is ", data[["lo_ns"]][at], ", hi_ns ", data[["hi_ns"]][at], ", wanted lo_ns below hi_ns")
  })
}
