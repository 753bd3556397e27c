# Who else had a node's CPUs while it was measured: what noiselab-record saw during the launches (`others` of launch.json).

# What is named beside the shares: tasks that take a CPU for longer than any tick, as often as to matter.
named_task <- list(percent = 1, burst_s = 1e-4, duty = 0.5)

other_types <- c(host = "text", n_cpus = "number", reason = "string")
record_types <- c(source = "text", source_reason = "string", span_ns = "number", wall_on_cpu_ns = "number", lost = "number", not_kept = "number",
                  steal_ns = "number")
taker_types <- c(task = "text", busy_ns = "number", bursts = "number", burst_ns = "number", longest_ns = "number", period_ns = "number",
                 cpus = "string")

# One list for each node of a launch: `launch`, `host`, `reason` (there is no record; else NA), `n_cpus`, `source` (`cpu`: switches,
# `proc`: the tasks' accounts only), `why` (no better source; NA), `span_s`, `busy_s` (of all CPUs together), `blocks_s` (the same by
# equal parts of the time; empty: not known), `tasks` (data frame), `lengths` (data frame `seconds`, `n`: how long others had a CPU at a time),
# `begun` (how many began in each part), `is_whole` (no records lost).
read_others <- function(info, file) {
  seconds <- function(x) if (is_number(x)) x / 1e9 else NA_real_
  numbers <- function(x) vapply(x, function(v) if (is_number(v)) as.numeric(v) else NA_real_, 0)
  others <- info$others
  if (is.list(others) && length(others) == 0) {
    why <- if (is.null(info$ended)) "the launch did not end" else "the launcher does not say which rank is a node's first"
    others <- lapply(info$hosts, function(h) list(host = show_json(h$host), n_cpus = 0, reason = why))
  }
  lapply(others, function(other) {
    check_json(other, other_types, file, "others.")
    record <- other$record
    if (is.null(record)) {
      return(list(launch = info$launch, host = other$host, reason = printable(other$reason %||% "it was not recorded"), n_cpus = other$n_cpus))
    }
    check_json(record, record_types, file, "others.record.")
    tasks <- bind_rows(lapply(record$tasks, function(t) {
      check_json(t, taker_types, file, "others.record.tasks.")
      data.frame(task = printable(t$task), busy_s = seconds(t$busy_ns), bursts = t$bursts %||% NA_real_, burst_s = seconds(t$burst_ns),
                 longest_s = seconds(t$longest_ns), period_s = seconds(t$period_ns), cpus = printable(t$cpus %||% ""))
    }))
    lengths <- record$cpu_activity_lengths
    list(launch = info$launch, host = other$host, reason = NA_character_, n_cpus = other$n_cpus, source = record$source,
         why = printable(record$source_reason %||% ""), span_s = seconds(record$span_ns), busy_s = seconds(record$wall_on_cpu_ns),
         blocks_s = numbers(record$block_busy_ns) / 1e9, tasks = tasks,
         lengths = data.frame(seconds = pmax(1, numbers(lapply(lengths, `[[`, 1))) / 1e9, n = numbers(lapply(lengths, `[[`, 2))),
         begun = numbers(record$block_activities), is_whole = isTRUE(record$lost == 0) && isTRUE(record$not_kept == 0))
  })
}

known_others <- function(others) Filter(function(o) is.na(o$reason) && isTRUE(o$span_s > 0) && isTRUE(o$n_cpus > 0), others)

# As figures of the check `others`: the share of its CPUs that a node lost to other tasks, a row for each part of the time.
taken_figures <- function(others) {
  bind_rows(lapply(known_others(others), function(o) {
    parts <- max(1, length(o$blocks_s))
    taken_s <- if (length(o$blocks_s) > 0) o$blocks_s else o$busy_s
    data.frame(launch = o$launch, check = "others", variant = "", metric = "taken", unit = "percent",
               value = 100 * taken_s / (o$span_s / parts * o$n_cpus), n = NA_real_, repetition = seq_len(parts), bytes = NA_real_, ranks = NA_real_,
               nodes = NA_real_, node = NA_real_, host = o$host, cpu = NA_real_, peer_host = "", wall_ns = NA_real_)
  }))
}

# The tasks of a node over all its launches, the busiest first: `percent` of its CPUs, `percent_of_cpu` of one.
node_takers <- function(others) {
  tasks <- bind_rows(lapply(others, `[[`, "tasks"))
  if (NROW(tasks) == 0) return(NULL)
  span_s <- sum(vapply(others, `[[`, 0, "span_s"))
  cpus <- max(vapply(others, `[[`, 0, "n_cpus"))
  busiest <- tasks[order(-tasks$busy_s), ]
  first <- busiest[!duplicated(busiest$task), ]
  busy <- rowsum(busiest$busy_s, busiest$task)[first$task, 1]
  first$percent_of_cpu <- 100 * busy / span_s
  first$percent <- first$percent_of_cpu / cpus
  first$longest_s <- vapply(first$task, function(t) max(busiest$longest_s[busiest$task == t]), 0)
  first$per_s <- vapply(first$task, function(t) sum(busiest$bursts[busiest$task == t]), 0) / span_s
  # who is on a CPU without a pause has no period
  first$period_s[!(first$burst_s < named_task$duty * first$period_s) %in% TRUE] <- NA
  first[order(-first$percent), ]
}

is_named_task <- function(takers) {
  (takers$percent_of_cpu >= named_task$percent & takers$burst_s >= named_task$burst_s) %in% TRUE
}

# How quiet each node is, whatever was judged: the node that lost most and who took it, the tasks that come in bursts, and how far the others
# are from it. Character, one to three sentences; empty where no launch tells.
noise_lines <- function(acceptance, figures) {
  rows <- figures[figures$check == "others" & figures$metric == "taken", ]
  if (nrow(rows) == 0) return(scan_line(acceptance, figures))
  rows <- rows[order(-rows$value), ]
  worst <- rows[1, ]
  mine <- Filter(function(o) o$host == worst$entity, known_others(acceptance$others))
  takers <- node_takers(mine)
  longest_s <- suppressWarnings(max(unlist(lapply(mine, function(o) o$lengths$seconds))))
  by_account <- any(vapply(mine, `[[`, "", "source") == "proc")
  most <- utils::head(takers[takers$percent >= 0.005, ], 3)
  c(paste0(
    sprintf("node %s lost %s%s of its CPUs to others", worst$entity, format_figure(worst$value, "percent"), interval_text(worst)),
    if (is.finite(longest_s)) paste0(", longest ", format_time(longest_s)),
    if (NROW(most) > 0) paste0("; most to ", join_words(sprintf("%s (%s)", most$task, format_figure(most$percent, "percent")))),
    if (by_account) paste0("; by the tasks' accounts in /proc only, which know no bursts and nothing of tasks that ended (root, CAP_PERFMON or ",
                           "perf_event_paranoid <= 0 would tell)"),
    if (nrow(rows) > 1) sprintf("; the other %s at most %s", if (nrow(rows) == 2) "node" else sprintf("%d nodes", nrow(rows) - 1),
                                format_figure(rows$value[2], "percent")), "."
  ), taker_lines(worst$entity, takers))
}

interval_text <- function(row) {
  if (is.na(row$ci_low) || is.na(row$ci_high)) return("")
  sprintf(" (%s to %s)", format_effect(max(0, row$ci_low), FALSE), format_effect(row$ci_high, FALSE))
}

taker_lines <- function(host, takers) {
  t <- utils::head(takers[is_named_task(takers), ], 3)
  if (NROW(t) == 0) return(NULL)
  each <- sprintf("%s takes CPU %s for %s %s (%s of a CPU)", t$task, t$cpus, format_time(t$burst_s),
                  ifelse(is.na(t$period_s), sprintf("at a time, %s per second without a period", format_effect(t$per_s, FALSE)),
                         paste("every", format_time(t$period_s))), format_figure(t$percent_of_cpu, "percent"))
  paste0("On ", host, ", ", paste(each, collapse = "; "), ".")
}

# Where nobody recorded who ran the scans tell how much was lost.
scan_line <- function(acceptance, figures) {
  rows <- figures[figures$check == "detour" & figures$metric == "lost" & figures$variant == "alone", ]
  if (length(acceptance$others) == 0 || nrow(rows) == 0) return(NULL)
  worst <- rows[which.max(rows$value), ]
  why <- stats::na.omit(vapply(acceptance$others, `[[`, "", "reason"))
  sprintf("node %s lost %s%s of its CPUs in detours; who took it was not recorded (%s).", worst$entity, format_figure(worst$value, "percent"),
          interval_text(worst), if (length(why) > 0) why[1] else "no time passed")
}
