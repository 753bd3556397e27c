# Reading launches of noiselab-accept (docs/reference/formats.md is the contract).

figure_rules <- rules_of_table("accept")
accept_hist_rules <- rules_of_table("accept_hist")
mismatch_rules <- rules_of_table("mismatches")

# What launch.json has besides.
accept_keys <- keys_of(
  " " = "checks:array others:objects",
  "checks[]" = paste0("name:text status:status reason:string repetitions:number seconds:number ",
                      "planned_seconds:number"),
  "others[]" = "host:text n_cpus:number reason:string record:object",
  "others[].record" = paste(
    paste0("source:text source_reason:string span_ns:number wall_on_cpu_ns:number lost:number ",
           "not_kept:number steal_ns:number"),
    "tasks:objects account:object"
  ),
  "others[].record.account" = "unaccounted_percent:number resolution_percent:number blind:string",
  "others[].record.tasks[]" = paste(
    "task:text busy_ns:number bursts:number burst_ns:number longest_ns:number period_ns:number cpus:string",
    "pid:number processes:number pids:string cgroup:string main_bursts:number main_busy_ns:number"
  )
)

# Read a campaign of acceptance launches. Launches that died are read up to their last complete line.
# Signals `nl_error_schema`, `nl_error_damaged` (file and line named) or `nl_error_data`. `dirs`: character,
# length >= 1: campaign directories, launch directories of noiselab-accept, or both. Gives an object of
# class `nl_acceptance`, a list: `figures` (data frame, the columns of `accept.csv` over all launches,
# without rows that have no value), `hist` (those of `accept_hist.csv`, with `launch`), `mismatches` (those
# of `mismatches.csv`), `checks` (data frame: `launch`, `check`, `status` (`ran`, `skipped`, `failed`,
# `planned`), `reason`, `repetitions`), `launches` (list of the parsed `launch.json` files, by id), `paths`
# (directory of each), `hosts` (character), `lost` (data frame: `launch`, `host`; or NULL), `shared` (data
# frame: `host_a`, `host_b`, `cpu`: nodes of one kernel that share a CPU), `others` (list: who else ran, one
# for each launch and node), `self_check` (list: `dirs` of the detector's launches ending in `-selfcheck`,
# `planned` (logical, NA: no schedule says), `why_not`), `progress` (see read_campaign()), `dirs`, `notes`.
read_acceptance <- function(dirs) {
  paths <- unique(normalizePath(unlist(lapply(dirs, find_launches, program = "noiselab-accept"))))
  if (length(paths) == 0) {
    abort_data("no launch of noiselab-accept in ", paste(dirs, collapse = " "),
               ": make some with noiselab run acceptance")
  }
  launches <- lapply(paths, read_accept_launch)
  ids <- launch_ids(launches)
  part <- function(name) bind_rows(lapply(launches, `[[`, name))
  infos <- stats::setNames(lapply(launches, `[[`, "info"), ids)
  figures <- part("figures")
  if (NROW(figures) == 0) abort_data("no launch of ", paste(dirs, collapse = " "),
                                     " has a figure: they ended before the first check was done")
  progress <- schedule_progress(dirs)
  hosts <- unique(c(
    unlist(lapply(infos, function(info) vapply(info$hosts, function(h) show_json(h$host), "")),
           use.names = FALSE),
    figures$host[nzchar(figures$host) & !is.na(figures$host)]
  ))
  structure(
    list(figures = figures, hist = part("hist"), mismatches = part("mismatches"), checks = part("checks"),
         launches = infos, paths = stats::setNames(paths, ids), hosts = hosts[natural_order(hosts)],
         shared = shared_cpus(infos, figures),
         others = unlist(lapply(launches, `[[`, "others"), recursive = FALSE),
         self_check = find_self_check(dirs), progress = progress, dirs = dirs, lost = lost_nodes(dirs, infos),
         notes = c(progress_notes(progress), unlist(lapply(launches, `[[`, "notes")), unlike_hosts(infos))),
    class = "nl_acceptance"
  )
}

# node2 before node10.
natural_order <- function(names) {
  order(vapply(regmatches(names, gregexpr("[0-9]+|[^0-9]+", names)), function(part) {
    paste(ifelse(grepl("^[0-9]", part), formatC(part, width = 12), part), collapse = "")
  }, ""))
}

read_accept_launch <- function(dir) {
  info <- read_json_head(file.path(dir, "launch.json"), accept_keys)
  checks <- bind_rows(lapply(info$checks, function(check) {
    data.frame(launch = info$launch, check = check$name, status = check$status,
               reason = check$reason %||% NA_character_, repetitions = check$repetitions %||% 0)
  }))
  figures <- read_accept_csv(dir, "accept.csv", figure_rules, info)
  check_row_count(figures$data, file.path(dir, "accept.csv"), promised_rows(info))
  others <- read_others(info)
  taken <- taken_figures(others)
  if (NROW(taken) > 0) {
    checks <- rbind(
      checks,
      data.frame(launch = info$launch, check = "others", status = "ran", reason = NA_character_,
                 repetitions = 1)
    )
  }
  unknown <- is.na(figures$data$value)
  hist <- read_accept_csv(dir, "accept_hist.csv", accept_hist_rules, info)
  mismatches <- read_accept_csv(dir, "mismatches.csv", mismatch_rules, info)
  list(
    info = info,
    checks = checks,
    others = others,
    figures = bind_rows(list(figures$data[!unknown, ], taken)),
    hist = hist$data,
    mismatches = mismatches$data,
    notes = c(launch_notes(info), figures$notes, unknown_note(info, figures$data[unknown, ]), hist$notes,
              mismatches$notes)
  )
}

# A figure that could not be told (steal where the kernel does not say) is a row without a value.
unknown_note <- function(info, rows) {
  if (nrow(rows) > 0) {
    sprintf("launch %s: no value of %s (%s)", info$launch,
            few_words(unique(paste0(rows$check, ".", rows$metric)), 4), counted(nrow(rows), "row"))
  }
}

# As the detector's files, but that free text (hosts, variants) may be empty.
read_accept_csv <- function(dir, name, rules, info) {
  file <- file.path(dir, name)
  blank <- rules$name[rules$kind == "label" & rules$empty_ok]
  # A launch that died before its first row left an empty file.
  if (file.exists(file) && file.size(file) == 0) return(list(data = empty_table(rules)))
  rules$kind[rules$name %in% blank] <- "blank"
  got <- read_optional_csv(dir, name, rules, info, expected = FALSE)
  data <- as.data.frame(got$data)
  data[blank] <- lapply(data[blank], function(x) printable(ifelse(is.na(x), "", x)))
  list(data = data, notes = got$notes)
}

# Nodes of one kernel whose ranks or scans were on the same CPU: what one of them did, the other felt.
shared_cpus <- function(infos, figures) {
  bind_rows(lapply(infos, function(info) {
    if (!isTRUE(info$shared_kernel)) return(NULL)
    bound <- bind_rows(lapply(info$placement, function(p) {
      if (is_number(p$cpu)) data.frame(host = show_json(p$host), cpu = p$cpu)
    }))
    scanned <- figures[figures$launch == info$launch & !is.na(figures$cpu) & nzchar(figures$host),
                       c("host", "cpu")]
    pairs <- merge(unique(rbind(bound, scanned)), unique(rbind(bound, scanned)), by = "cpu",
                   suffixes = c("_a", "_b"))
    unique(pairs[pairs$host_a < pairs$host_b, c("host_a", "host_b", "cpu")])
  }))
}

# What nodes must have in common to be compared.
alike <- c(kernel = "kernel", "CPU model" = "cpu_model", topology = "topology", CPUs = "cpuset",
           governor = "governor")

unlike_hosts <- function(infos) {
  hosts <- unlist(lapply(unname(infos), `[[`, "hosts"), recursive = FALSE)
  unlist(lapply(names(alike), function(name) {
    value <- vapply(hosts, function(h) show_json(h[[alike[[name]]]]), "")
    if (length(unique(value)) < 2) return(NULL)
    of <- vapply(split(vapply(hosts, function(h) show_json(h$host), ""), in_order(value)),
                 function(h) few_words(unique(h), 4), "")
    sprintf("nodes are not alike, %s: %s; what differs between them may be that", name,
            paste(sprintf("%s (%s)", names(of), of), collapse = "; "))
  }))
}

# What the schedules of these directories say under a key.
scheduled_words <- function(dirs, key) {
  files <- file.path(dirs, schedule_file)
  keys <- unlist(lapply(files[file.exists(files)], function(file) read_schedule(file)$keys))
  as.character(keys[names(keys) == key])
}

find_self_check <- function(dirs) {
  found <- unlist(lapply(dirs, function(dir) {
    if (!is_launch_dir(dir)) grep("-selfcheck$", launch_folders(dir), value = TRUE)
  }))
  said <- scheduled_words(dirs, "self_check")
  list(
    dirs = found,
    planned = if (length(said) == 0) NA else any(!grepl("^no\\b", said)),
    why_not = if (length(said) > 0) {
      sub("^no:? *", "", grep("^no\\b", said, value = TRUE)[1])
    } else {
      "no schedule plans one"
    }
  )
}

# Nodes that did not answer any more when a launch failed, as the schedule has them (`# lost: LAUNCH
# HOST,HOST`): `launch`, `host`; of launches that were completed later none. NULL: there are none.
lost_nodes <- function(dirs, infos) {
  words <- scheduled_words(dirs, "lost")
  parts <- strsplit(words[grepl("^[^ ]+ [^ ]+$", words)], " ", fixed = TRUE)
  complete <- names(infos)[vapply(infos, function(info) identical(info$ended, "complete"), TRUE)]
  rows <- bind_rows(lapply(parts, function(part) {
    data.frame(launch = printable(part[1]), host = printable(strsplit(part[2], ",", fixed = TRUE)[[1]]))
  }))
  if (NROW(rows) > 0) unique(rows[!rows$launch %in% complete, ])
}

# One list for each node of a launch: `launch`, `host`, `reason` (there is no record; else NA), `n_cpus`,
# `source` (`cpu`: switches, `proc`: the tasks' accounts only), `why` (no better source; NA), `span_s`,
# `busy_s` (of all CPUs together), `blocks_s` (the same by equal parts of the time; empty: not known),
# `tasks` (data frame), `lengths` (data frame `seconds`, `n`: how long others had a CPU in one piece), `begun`
# (how many began in each part), `is_whole` (no records lost), `account` (where the CPUs' time went; NULL:
# not in older records), `on_cpus` (data frame `task`, `pid`, `cpu`, `busy_s`; empty in older records).
read_others <- function(info) {
  seconds <- function(x) if (is_number(x)) x / 1e9 else NA_real_
  numbers <- function(x) vapply(x, function(v) if (is_number(v)) as.numeric(v) else NA_real_, 0)
  others <- info$others
  if (is.list(others) && length(others) == 0) {
    why <- if (is.null(info$ended)) {
      "the launch did not end"
    } else {
      "the launcher does not say which rank is a node's first"
    }
    others <- lapply(info$hosts, function(h) list(host = show_json(h$host), n_cpus = 0, reason = why))
  }
  lapply(others, function(other) {
    record <- other$record
    if (is.null(record)) {
      return(list(launch = info$launch, host = other$host,
                  reason = printable(other$reason %||% "it was not recorded"), n_cpus = other$n_cpus))
    }
    on_cpus <- bind_rows(lapply(record$tasks, function(t) bind_rows(lapply(t$on_cpus, function(on) {
      if (length(on) == 2 && is_number(on[[1]]) && is_number(on[[2]])) {
        data.frame(task = printable(t$task), pid = t$pid %||% NA_real_, cpu = on[[1]], busy_s = on[[2]] / 1e9)
      }
    }))))
    tasks <- bind_rows(lapply(record$tasks, function(t) {
      # older records have neither processes nor the bursts that make up a task's time: there all of them do
      n_main <- t$main_bursts %||% t$bursts %||% NA_real_
      data.frame(
        task = printable(t$task),
        pid = t$pid %||% NA_real_,
        processes = t$processes %||% NA_real_,
        pids = printable(t$pids %||% ""),
        cgroup = printable(t$cgroup %||% ""),
        is_kernel = isTRUE(t$kernel),
        busy_s = seconds(t$busy_ns),
        bursts = t$bursts %||% NA_real_,
        burst_s = seconds(t$burst_ns),
        longest_s = seconds(t$longest_ns),
        main_bursts = n_main,
        main_busy_s = if (is.null(t$main_bursts)) {
          seconds(t$busy_ns)
        } else {
          seconds(t$main_busy_ns)
        },
        # ... and each was in one piece
        main_pieces = t$main_pieces %||% n_main,
        main_parted_s = seconds(t$main_parted_ns %||% 0),
        pieces_s = I(list(numbers(t$main_piece_lengths) / 1e9)),
        period_s = seconds(t$period_ns),
        cpus = printable(t$cpus %||% "")
      )
    }))
    lengths <- record$cpu_activity_lengths
    list(
      launch = info$launch,
      host = other$host,
      reason = NA_character_,
      n_cpus = other$n_cpus,
      source = record$source,
      steal_s = seconds(record$steal_ns),
      why = printable(record$source_reason %||% ""),
      span_s = seconds(record$span_ns),
      busy_s = seconds(record$wall_on_cpu_ns),
      blocks_s = numbers(record$block_busy_ns) / 1e9,
      tasks = tasks,
      lengths = data.frame(seconds = pmax(1, numbers(lapply(lengths, `[[`, 1))) / 1e9,
                           n = numbers(lapply(lengths, `[[`, 2))),
      account = record$account,
      on_cpus = on_cpus,
      begun = numbers(record$block_activities),
      is_whole = isTRUE(record$lost == 0) && isTRUE(record$not_kept == 0)
    )
  })
}

known_others <- function(others) {
  Filter(function(o) is.na(o$reason) && isTRUE(o$span_s > 0) && isTRUE(o$n_cpus > 0), others)
}

# CPU time of tasks that a list of tasks lacks, where the account of the CPUs shows more than ticks leave
# open. Records of switches lack nobody.
hidden_seconds <- function(o) {
  percent <- unaccounted_percent(o$account)
  if (o$source != "proc" || is.infinite(percent)) return(0)
  percent / 100 * o$span_s * o$n_cpus
}

# Percent of the CPUs' time that an account of them leaves open, where it is more than ticks do; Inf: it does
# not say; 0: there is none, as in a record of an older version.
unaccounted_percent <- function(account) {
  if (is.null(account)) return(0)
  percent <- account$unaccounted_percent
  if (!is_number(percent)) return(Inf)
  if (percent > (account$resolution_percent %||% 0)) percent else 0
}

# As figures of the check `others`: the share of its CPUs that a node lost to other tasks, a row for each
# part of the time.
taken_figures <- function(others) {
  bind_rows(lapply(known_others(others), function(o) {
    parts <- max(1, length(o$blocks_s))
    taken_s <- (if (length(o$blocks_s) > 0) o$blocks_s else o$busy_s) + hidden_seconds(o) / parts
    data.frame(launch = o$launch, check = "others", variant = "", metric = "taken", unit = "percent",
               value = 100 * taken_s / (o$span_s / parts * o$n_cpus), n = NA_real_,
               repetition = seq_len(parts), bytes = NA_real_, ranks = NA_real_, nodes = NA_real_,
               node = NA_real_, host = o$host, cpu = NA_real_, peer_host = "",
               wall_ns = 1e9 * o$span_s / parts)
  }))
}

# One row per scan; `detours`: a list of data frames (start_ns, duration_ns). A line that a dying launch
# left incomplete is left out.
read_detour_trace <- function(file) {
  lines <- read_text_lines(file)
  head <- regmatches(
    lines,
    regexec(
      paste0("^# scan: repetition ([0-9]+) variant (\\S+) cpu (-?[0-9]+) wall_ns ([0-9]+) detours ([0-9]+) ",
             "kept ([0-9]+)"),
      lines
    )
  )
  at <- which(lengths(head) == 7)
  if (length(at) == 0) return(data.frame())
  part <- do.call(rbind, head[at])
  rows <- data.frame(repetition = as.numeric(part[, 2]), variant = part[, 3], cpu = as.numeric(part[, 4]),
                     wall_ns = as.numeric(part[, 5]))
  ends <- c(at[-1] - 1, length(lines))
  rows$detours <- lapply(seq_along(at), function(i) {
    own <- lines[seq_len(ends[i] - at[i]) + at[i]]
    own <- own[grepl("^[0-9]+\t[0-9]+\t-?[0-9]+$", own)]
    if (length(own) == 0) return(NULL)
    cells <- data.table::tstrsplit(own, "\t", fixed = TRUE, type.convert = TRUE)
    data.frame(start_ns = as.numeric(cells[[1]]), duration_ns = as.numeric(cells[[2]]))
  })
  # Of a scan with too many detours only the first were kept: it is known up to the last of them.
  cut <- which(as.numeric(part[, 7]) < as.numeric(part[, 6]) & lengths(rows$detours) > 0)
  rows$wall_ns[cut] <- vapply(rows$detours[cut], function(d) sum(d[nrow(d), ]), 0)
  rows
}
