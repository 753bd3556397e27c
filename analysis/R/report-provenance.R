# What a report says of where its data come from: certificates of the load, each launch's machine and settings, the commands.

# Cells of a column: `get` of each element, in `form` if it is a number.
cells_of <- function(items, get, form = format_level) {
  vapply(items, function(item) {
    value <- get(item)
    if (is.numeric(value) && length(value) == 1) form(value) else show_json(value)
  }, "")
}

certificate_table <- function(campaign) {
  rows <- unlist(lapply(certificates(campaign), function(g) {
    lapply(g$levels, function(level) c(list(g = g), level))
  }), recursive = FALSE)
  if (length(rows) == 0) return(htmltools::tags$p("No generator certificate was recorded."))
  of_level <- function(key, form = format_level) cells_of(rows, function(r) r[[key]], form)
  of_generator <- function(key, form = format_level) cells_of(rows, function(r) r$g[[key]], form)
  ok <- vapply(rows, function(r) if (is.null(r$ok)) "-" else if (isTRUE(r$ok)) "yes" else "NO", "")
  # A certificate from before the treatment was in its levels has the kind of the generator.
  kind <- cells_of(rows, function(r) r$kind %||% r$g$kind)
  other <- lapply(stats::setNames(treatment_columns[-1], treatment_columns[-1]), of_level)
  told <- vapply(names(other), function(n) any(!other[[n]] %in% c("unknown", treatment_defaults[[n]])), TRUE)
  html_table(c(list(
    launch = of_generator("launch"), host = of_generator("host"),
    CPU = of_generator("cpu", format_count), kind = kind), other[told], list(
    "period ms" = cells_of(rows, function(r) if (!is.null(r$g$period_ns)) r$g$period_ns / 1e6),
    "requested %" = of_level("level_requested_percent"),
    "delivered %" = of_level("level_delivered_percent"),
    halves = of_level("halves", format_count), "bursts planned" = of_level("bursts_planned", format_count),
    "bursts run" = of_level("bursts_run", format_count), ok = ok
  )), "The load", "Load in the on halves, percent of one CPU; ok: delivered is requested within the tolerance.",
  text = c("launch", "host", treatment_columns))
}

burst_table <- function(campaign) {
  rows <- certificates(campaign)
  if (length(rows) == 0) return(NULL)
  of <- function(key) cells_of(rows, function(g) g[[key]], format_count)
  late <- function(key) cells_of(rows, function(g) g$lateness_ns[[key]], format_count)
  html_table(list(
    launch = of("launch"), host = of("host"), CPU = of("cpu"), policy = of("policy"),
    "late p50 ns" = late("p50"), "late p99 ns" = late("p99"), "late max ns" = late("max"),
    "bursts run" = of("bursts_run"), "late bursts" = of("bursts_late"), migrations = of("migrations"),
    "involuntary switches" = of("involuntary_switches"),
    ok = vapply(rows, function(g) if (is.null(g$ok)) "-" else if (isTRUE(g$ok)) "yes" else "NO", "")
  ), "How late bursts began, and what disturbed the generators", text = c("launch", "host", "policy"))
}

# What all launches share stands once; what differs has a column per launch.
provenance_table <- function(campaign) {
  lines <- lapply(unname(campaign$launches), provenance_lines)
  same <- vapply(names(lines[[1]]), function(key) length(unique(vapply(lines, `[[`, "", key))) == 1, TRUE)
  shared <- list(names(same)[same], unname(lines[[1]][same]))
  names(shared) <- c("what", if (length(lines) == 1) names(campaign$launches) else "in all launches")
  differing <- c(list(names(same)[!same]), lapply(lines, function(one) unname(one[!same])))
  names(differing) <- c("what", names(campaign$launches))
  wide <- function(columns) html_table(columns, text = names(columns), wrap = names(columns)[-1])
  list(wide(shared), if (!all(same)) wide(differing))
}

# The same keys for every launch; what launch.json does not have is unknown.
provenance_lines <- function(info) {
  o <- info$options
  span <- function(ns) if (is_number(ns)) paste(format_level(ns / 1e6), "ms") else show_json(ns)
  host <- function(key) {
    values <- vapply(info$hosts, function(h) show_json(h[[key]]), "")
    if (length(values) == 0) return("unknown")
    if (length(unique(values)) == 1) return(values[1])
    paste(paste0(vapply(info$hosts, function(h) show_json(h$host), ""), ": ", values), collapse = "; ")
  }
  ranks <- vapply(info$placement, function(r) {
    bound <- isTRUE(r$cpu >= 0)
    sprintf("%s: %s/%s", show_json(r$rank), show_json(r$host),
            if (bound) show_json(r$cpu) else paste0("not bound (", show_json(r$binding), ")"))
  }, "")
  switching <- info$switching
  c("program" = paste(show_json(info$program), show_json(info$version), show_json(info$git)),
    "design" = show_json(o$design), "operations" = show_json(o$operations),
    "bytes" = show_json(o$bytes), "levels, % of one CPU" = show_json(o$levels_percent),
    "half" = span(o$half_period_ns), "block" = span(o$block_ns), "period" = span(o$period_ns),
    "kind" = show_json(o$kinds %||% o$kind), "pattern" = show_json(o$patterns, "periodic"),
    "noise placement" = show_json(o$placements %||% o$noise_cpu), "phase across nodes" = show_json(o$phases, "random"),
    "preset" = show_json(o$preset, "none"), "generator options" = show_json(o$generator_options, "none"),
    "seed" = show_json(info$seed),
    "ranks" = paste(show_json(info$ranks), "on", show_json(info$nodes), "node(s)"),
    "rank: host/CPU" = if (length(ranks) > 0) paste(ranks, collapse = ", ") else "unknown",
    "hosts" = show_json(lapply(info$hosts, function(h) show_json(h$host))),
    "CPU model" = host("cpu_model"), "topology" = host("topology"), "cpuset" = host("cpuset"),
    "SMT" = host("smt"), "governor" = host("governor"), "kernel" = host("kernel"),
    "tick" = host("tick"), "isolcpus" = host("cmdline_isolcpus"), "nohz_full" = host("nohz_full"),
    "clock source" = host("clocksource"), "clock" = show_json(info$clock),
    "preempted time by" = info$preempted_by %||% "clocks", "start" = start_mode(info),
    "start clock" = show_json(start_of(info)$clock, "none"), "clock synchronisation" = show_json(start_of(info)$sync, "none"),
    "late above" = if (is.null(start_of(info)$late_bound_ns)) "none" else paste(show_json(start_of(info)$late_bound_ns), "ns"),
    "MPI" = paste(show_json(info$mpi$library), show_json(info$mpi$version)),
    "MPI parameters" = show_json(info$mpi$parameters), "Slurm" = show_json(info$slurm),
    "switching times" = if (is.null(switching)) "unknown" else {
      sprintf("p50 %s ns, p99 %s ns, max %s ns, n = %s", show_json(switching$p50_ns),
              show_json(switching$p99_ns), show_json(switching$max_ns), show_json(switching$n))
    },
    "most memory of a rank" = if (is.null(info$peak_memory_kib)) "unknown" else {
      paste(show_json(info$peak_memory_kib), "KiB")
    },
    "started" = show_json(info$started_utc),
    "ended" = paste(show_json(info$ended_utc, ""), show_json(info$ended, "killed, no end recorded")))
}

reproduce <- function(analysis) {
  campaign <- analysis$campaign
  commands <- vapply(campaign$launches, launch_command, "")
  report <- c("noiselab report", if (analysis$alpha != 0.01) paste("--alpha", format(analysis$alpha, digits = 15)),
              if (!is.null(analysis$margin)) paste("--margin", format(analysis$margin, digits = 15)),
              vapply(campaign$dirs, quote_word, ""))
  tags <- htmltools::tags
  list(tags$p("The launches, with the seeds of their schedules:"), tags$pre(paste(commands, collapse = "\n")),
       tags$p("This report:"), tags$pre(paste(report, collapse = " ")))
}

# The command as given, under mpirun where it had several ranks, with its seed.
launch_command <- function(info) {
  words <- printable(unlist(info$command))
  if (length(words) == 0) return(paste("# launch", info$launch, "does not say its command"))
  if (isTRUE(info$ranks > 1)) words <- c("mpirun", "-n", show_json(info$ranks), words)
  seeded <- any(words == "--seed" | startsWith(words, "--seed="))
  if (!seeded && length(info$seed) > 0) words <- c(words, "--seed", show_json(info$seed))
  paste(vapply(words, quote_word, ""), collapse = " ")
}
