# noiselab analyze equivalent: a trace, or the agents of a campaign, and the setting that is like each.

analyze_equivalent <- function(operands, values, form) {
  sources <- unlist(lapply(operands, equivalent_sources), recursive = FALSE)
  fits <- lapply(sources, function(source) {
    fit <- equivalent_setting(source$bursts, source$windows, source$read_bytes, source$cpu_ns, source$told_s)
    fit$notes <- as.character(c(source$notes, fit$notes))
    c(list(agent = source$agent, host = source$host), fit)
  })
  notes <- unlist(lapply(fits, `[[`, "notes"))
  settings <- lapply(fits, function(fit) {
    arrays <- c("cpus", "lengths_s", "command", "notes")
    fit[arrays] <- lapply(fit[arrays], I)
    fit
  })
  answered(form, NULL, list(settings = if (form == "json") settings), list(frame = if (form == "csv") equivalent_frame(fits)), NULL,
           unlist(lapply(fits, format_equivalent)), equivalent_view(fits, operands), notes)
}

# A file is a trace; a directory is a launch or a campaign.
equivalent_sources <- function(operand) {
  if (!dir.exists(operand)) {
    if (!file.exists(operand)) abort_usage("'", operand, "' is neither a trace nor a directory")
    bursts <- read_bursts(operand)
    keys <- attr(bursts, "keys")
    known <- function(name) {
      value <- suppressWarnings(as.numeric(sub("[^0-9.].*$", "", keys[[name]] %||% "")))
      if (is_number(value)) value else NA_real_
    }
    total <- known("cpu_time_ns")
    return(list(list(agent = sub("\\.trace$", "", basename(operand)), host = keys$host %||% NA_character_, bursts = bursts,
                     windows = NULL, told_s = NA_real_, read_bytes = known("read_bytes"),
                     cpu_ns = if (is.na(total)) sum(bursts$duration_ns) else total)))
  }
  campaign <- read_campaign(operand, arms = "any")
  sources <- campaign_sources(campaign)
  if (length(sources) == 0) {
    abort_data("no bursts of an agent in ", operand, ": run noiselab-detect with an agent and --keep-bursts yes, or give a trace of ",
               "noiselab record")
  }
  sources
}

# One source per agent and node: the bursts of its tasks in the halves in which it was on, over all launches.
campaign_sources <- function(campaign) {
  files <- campaign$bursts
  if (NROW(files) == 0 || NROW(campaign$agents) == 0) return(list())
  account <- as.data.frame(campaign$agents)
  on <- account[account$arm == "on" & !has_level(account$level_requested_percent), ]
  on$kind <- as.character(on$kind)
  groups <- unique(on[c("kind", "host")])
  sources <- lapply(seq_len(nrow(groups)), function(i) {
    halves <- on[on$kind == groups$kind[i] & on$host == groups$host[i], ]
    mine <- files[files$host == groups$host[i] & files$launch %in% halves$launch, ]
    if (nrow(mine) == 0) return(NULL)
    parts <- lapply(seq_len(nrow(mine)), function(j) {
      bursts_of_agent(read_bursts(mine$file[j]), campaign$tasks, halves[halves$launch == mine$launch[j], ], mine[j, ])
    })
    notes <- unique(unlist(lapply(parts, `[[`, "notes")))
    # Launches one after the other: each has its own time zero.
    reach <- cumsum(c(0, vapply(parts, `[[`, 0, "reach_ns")))
    shifted <- function(what) bind_rows(lapply(seq_along(parts), function(j) {
      part <- parts[[j]][[what]]
      part$start_ns <- part$start_ns + reach[j]
      part
    }))
    told <- unique(unlist(lapply(campaign$launches[mine$launch], function(info) info$options$agent_period_ns)))
    list(agent = groups$kind[i], told_s = if (is_number(told, 0)) told / 1e9 else NA_real_, host = groups$host[i],
         bursts = shifted("bursts"), windows = shifted("windows"),
         read_bytes = sum(halves$read_bytes), cpu_ns = sum(halves$agent_cpu_ns), notes = notes)
  })
  Filter(Negate(is.null), sources)
}

bursts_of_agent <- function(bursts, tasks, halves, file) {
  known <- as.data.frame(tasks)
  known <- known[known$launch == file$launch & known$host == file$host, ]
  mine <- unique(known$task[known$group == "agent"])
  anonymous <- !any(bursts$task %in% mine)
  notes <- if (anonymous) sprintf(
    "launch %s on %s: the bursts name no task of the agent, so whatever interrupted the ranks in its halves counts", file$launch, file$host)
  if (!anonymous) bursts <- bursts[bursts$task %in% mine, ]
  windows <- data.frame(start_ns = halves$start_ns, length_ns = halves$wall_ns)
  windows <- windows[order(windows$start_ns), ]
  list(bursts = as.data.frame(bursts), windows = windows, notes = notes, reach_ns = max(windows$start_ns + windows$length_ns) + 1e9)
}

format_equivalent <- function(fit) {
  percent <- function(x) if (is.na(x)) "-" else sprintf("%.0f %%", 100 * x)
  period <- format_time(signif(fit$period_s, 4))
  beat <- switch(fit$pattern,
    periodic = sprintf("every %s, at the same place in the period", period),
    jittered = sprintf("once in every %s, anywhere in %s of it", period, percent(fit$jitter_percent / 100)),
    bursts = sprintf("every %s, %g bursts %s apart", period, fit$group, format_time(fit$spacing_s)),
    poisson = sprintf("at random times, every %s on average", period))
  kept <- if (fit$pattern == "poisson") {
    if (is.na(fit$ks_distances)) character() else sprintf("KS distance of their distances from exponential ones %.2f", fit$ks_distances)
  } else c(if (!is.na(fit$share_at_period)) sprintf("%s of the CPU time in groups at the period", percent(fit$share_at_period)),
           sprintf("%s of the periods have one", percent(fit$places_filled)))
  where <- if (is.na(fit$host)) fit$agent else paste0(fit$agent, " on ", fit$host)
  c(paste0(where, " is like"), "", paste0("    ", paste(fit$command, collapse = " ")), "",
    wrap_line(sprintf("activity: %s (%s groups of %s bursts in %s; bursts less than %s apart are one activity)", beat,
                      format_count(fit$groups),
                      format_count(fit$bursts), format_time(fit$watched_s), format_time(max(fit$gap_s, 1e-9)))),
    wrap_line(sprintf("level: %s %% of %s; a group takes %s to %s of CPU time (10 to 90 %%, median %s), the generator's burst %s",
                      format_level(fit$level_percent), if (length(fit$cpus) > 1) "each CPU" else "one CPU", format_time(fit$lengths_s[1]),
                      format_time(fit$lengths_s[3]), format_time(fit$lengths_s[2]), format_time(fit$burst_s))),
    wrap_line(sprintf("kind: %s; %s", fit$kind, fit$kind_reason)),
    wrap_line(sprintf("likeness: %s", paste(c(fit$goodness, kept, sprintf("KS distance of the lengths %.2f (equal within %g %%)",
        fit$ks_lengths,
                                                                       100 * equal_length)), collapse = "; "))),
    wrap_line(if (fit$goodness == "poor") "a replay of the trace (noiselab-gen --replay FILE) is closer than this setting"),
    wrap_line(sprintf("note: %s", fit$notes)), "")
}

# On one screen: one setting with its likeness, or a line for each of several.
equivalent_view <- function(fits, operands) {
  if (length(fits) == 1) return(format_equivalent(fits[[1]]))
  of <- function(name) vapply(fits, function(fit) fit[[name]] %||% NA, fits[[1]][[name]])
  new_view(sprintf("%s is like noiselab-gen %s (%s).", of("agent"), vapply(fits, function(fit) paste(fit$command[-1], collapse = " "), ""),
                   of("goodness")),
           new_table(
             agent = col_words("agent", of("agent")), host = col_words("host", as.character(of("host"))),
             level_percent = col_number("level", of("level_percent"), format_level, "%"),
             period_s = col_number("period", of("period_s"), function(x) format_time(signif(x, 4))),
             pattern = col_words("pattern", of("pattern")),
             goodness = col_words("likeness", of("goodness"))
           ), notes = length(unique(unlist(lapply(fits, `[[`, "notes")))), command = all_command(operands, "equivalent"))
}

# The columns that are one number or word.
equivalent_frame <- function(fits) {
  bind_rows(lapply(fits, function(fit) {
    lengths <- stats::setNames(as.list(fit$lengths_s), c("length_p10_s", "length_p50_s", "length_p90_s"))
    one <- fit[setdiff(names(fit), c("cpus", "lengths_s", "command", "notes"))]
    data.frame(c(one, lengths, list(cpus = paste(format_count(fit$cpus), collapse = " "), command = paste(fit$command, collapse = " "))))
  }))
}
