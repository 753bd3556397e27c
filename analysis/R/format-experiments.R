# noiselab analyze intervals.

analyze_intervals <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  sweep <- interval_sweep(read_campaign(operands), margin, alpha, power)
  answered(form, values$table, c(list(alpha = alpha, power = power, margin_percent = margin), pick(sweep, c("answer", "safe")),
                                 list(sentences = texts(sweep$sentences), intervals = sweep$steps, model = sweep$model)),
           list(estimates = intervals_estimates(sweep), rows = public_sweep(sweep$rows)), sweep$notes, format_intervals(sweep),
           intervals_view(sweep, operands), c(sweep$sentences, sweep$notes), if (!is.null(margin)) sweep$answer)
}

public_sweep <- function(rows) rows[setdiff(names(rows), c("se", "df"))]

#' Format a sweep over sampling intervals
#'
#' @param sweep An `nl_intervals` from [interval_sweep()].
#' @return Character, one element per line.
#' @noRd
format_intervals <- function(sweep) c(wrap_line(sweep$sentences, 0), "", part_lines(intervals_part(sweep)), format_notes(sweep$notes))

intervals_part <- function(sweep) {
  rows <- sweep$rows
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")
  models <- sweep$model[!is.na(sweep$model$cost_s), ]
  guide <- sprintf(
    "guide line of %s, %s: %s lost per sample (%s to %s), slowdown = that / interval%s%s", models$agent, panel_name(models),
    format_time(models$cost_s),
    format_time(models$cost_low_s), format_time(models$cost_high_s),
    ifelse(is.na(models$interval_at_margin_s), "", paste0("; it meets the margin at ", format_time(models$interval_at_margin_s))),
    ifelse(models$p_lack_of_fit %in% NA | models$p_lack_of_fit > 0.01, "", paste0("; it does not fit (p = ", format_p(models$p_lack_of_fit), ")")))
  new_part("slowdown by sampling interval", intervals_table(sweep), paste0(
    "slowdown, CI, bound, limit in percent; limit: the slowdown found with power ", sweep$power, "; preempted: percent of one CPU; n: ",
    paste(unique(units[rows$unit_of_inference]), collapse = ", "), if (!is.null(sweep$margin)) sprintf(paste(
      "; intervals are tested from the longest down to the first that is not below the margin, each at one-sided alpha %g, which needs no correction"
    ), sweep$alpha)
  ), c(guide, sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason)))))
}

intervals_table <- function(sweep) {
  rows <- sweep$rows
  plain <- function(x) format_effect(x, FALSE)
  new_table(
    interval_s = col_number("interval", rows$interval_s, format_time), estimate = col_number("slowdown", rows$estimate, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(2 * sweep$alpha), "CI"), rows$ci_low, rows$ci_high),
    bound_high = col_number(paste(format_confidence(sweep$alpha), "upper bound"), rows$bound_high, format_effect),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    preempted_percent = col_number("preempted", rows$preempted_percent, plain),
    n = col_number("n", rows$n), verdict = if (is.null(sweep$margin)) col_verdict("verdict",
        ifelse(is.na(rows$reason), short_verdict_words(rows), "inconclusive")),
    margin_verdict = if (!is.null(sweep$margin)) col_verdict(paste("against", format_level(sweep$margin), "%"),
                                                             ifelse(is.na(rows$reason), rows$margin_verdict, "inconclusive")),
    by = paste0(rows$agent, ": ", panel_name(rows), ", ", format_level(rows$ranks), " ranks")
  )
}

intervals_view <- function(sweep, operands) {
  new_view(sweep$sentences, intervals_table(sweep), "limit: the slowdown that would have been seen; preempted: percent of one CPU",
           sprintf("inconclusive: %s", unique(stats::na.omit(sweep$rows$reason))), length(unique(sweep$notes)),
           all_command(operands, "intervals"),
           report_beside(operands))
}

short_verdict_words <- function(rows) sub(" \\(.*", "", sub(":.*", "", rows$verdict))

# noiselab analyze replay.

analyze_replay <- function(operands, values, form) {
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  result <- compare_replay(read_campaign(operands), margin, alpha, power)
  answered(form, values$table, list(alpha = alpha, power = power, margin_percent = margin, answer = result$answer, sentences = texts(result$sentences)),
           list(estimates = replay_estimates(result), rows = result$rows), result$notes, format_replay(result), replay_view(result, operands),
           c(result$sentences, result$notes), if (!is.null(margin)) result$answer)
}

format_replay <- function(result) {
  c(unlist(lapply(replay_parts(result), part_lines)), paste0("Does the replay slow the code as the agent does? ", result$answer), "",
    format_notes(result$notes))
}

# One for each operation.
replay_parts <- function(result) {
  rows <- result$rows
  lapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    new_part(sprintf("%s, %s ranks   (%s, n = %s)", panel_name(row), format_level(row$ranks), row$test, format_count(row$n)), new_table(
      under = col_words("under", c(row$agent, paste0("replay (", row$replay, ")"), "difference")),
      slowdown_percent = col_number("slowdown", c(row$agent_percent, row$replay_percent, row$difference_percent), format_effect),
      ci_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), c(row$agent_low, row$replay_low, row$bound_low),
                            c(row$agent_high, row$replay_high, row$bound_high)),
      preempted_percent = col_number("preempted", c(row$agent_preempted_percent, row$replay_preempted_percent, NA),
                                     function(x) format_effect(x, FALSE))
    ), paste0("percent; preempted: percent of one CPU; difference: agent against replay, with the interval of confidence ",
              format_confidence(2 * result$alpha), " that belongs to two one-sided tests at alpha ", result$alpha, " each"),
    sprintf("verdict: %s; the same: within \u00b1%s %% (%s); a difference of %s %% would have been found%s", row$verdict,
            format_effect(row$margin_percent, FALSE), row$margin_from, format_effect(row$detection_limit, FALSE),
            if (is.na(row$reason)) "" else paste0("; ", row$reason)))
  })
}

replay_view <- function(result, operands) {
  rows <- result$rows
  new_view(c(sprintf("Does the replay slow the code as the agent does? %s.",
                     c(pass = "Yes", fail = "No", inconclusive = "That cannot be told")[[result$answer]]),
             result$sentences),
           new_table(
             operation = col_words("operation", panel_name(rows)), agent_percent = col_number(rows$agent[1], rows$agent_percent,
                 format_effect, "%"),
             replay_percent = col_number("replay", rows$replay_percent, format_effect, "%"),
             difference_percent = col_number("difference", rows$difference_percent, format_effect, "%"),
             bound_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), rows$bound_low, rows$bound_high),
             margin_percent = col_number("same within", rows$margin_percent, function(x) format_effect(x, FALSE), "%"),
             verdict = col_words("verdict", rows$verdict)
           ), notes = length(unique(result$notes)), command = all_command(operands, "replay"), report = report_beside(operands))
}

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
  answered(form, NULL, if (form == "json") list(settings = settings), if (form == "csv") list(equivalent_frame(fits)), NULL,
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
    abort_data("no bursts of an agent in ", operand, ": measure with noiselab run agent --who auto:keep-bursts=yes, or give a trace of ",
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

# noiselab analyze counters, and the report's section on them.

analyze_counters <- function(operands, values, form) {
  analysis <- analyze_campaign(read_campaign(operands), alpha = alpha_option(values$alpha), channels = c("time", "preempted", "base"))
  counters <- counters_by_arm(analysis)
  if (is.null(counters)) abort_data(without_counters)
  answered(form, values$table, list(alpha = counters$alpha, files = counters$files), counters[c("causes", "changes")], counters$notes,
           format_counters(counters), counters_view(counters, operands))
}

without_counters <- paste("no hardware counters were recorded (no likwid*.csv beside the launches), so whether a lower clock or damaged caches",
                          "played a part is not known")

format_counters <- function(counters) {
  c(unlist(lapply(counter_parts(counters), part_lines)), wrap_line(counter_rules()), "", format_notes(counters$notes))
}

# One for each operation and arm.
counter_parts <- function(counters) {
  plain <- function(x) format_effect(x, FALSE)
  lapply(seq_len(nrow(counters$causes)), function(i) {
    cause <- counters$causes[i, ]
    rows <- counters$changes[counters$changes$label == cause$label & counters$changes$arm == cause$arm, ]
    new_part(sprintf("%s under %s: %s", cause$label, cause$arm, cause$cause), new_table(
      figure = col_words("", figure_words(rows$figure)), off = col_number("off", rows$off, plain), on = col_number("on", rows$on, plain),
      change_percent = col_number("change %", rows$change_percent, format_effect),
      ci_low = col_interval(paste(format_confidence(counters$alpha), "CI"), rows$ci_low, rows$ci_high),
      n_launches = col_number("n", rows$n_launches)
    ), remarks = cause$why)
  })
}

# On one screen: the cause of each slowdown, and the figures that tell it.
counters_view <- function(counters, operands) {
  causes <- counters$causes
  rows <- counters$changes
  plain <- function(x) format_effect(x, FALSE)
  new_view(sprintf("%s under %s: %s.", causes$label, causes$arm, causes$cause), new_table(
    figure = col_words("figure", figure_words(rows$figure)), off = col_number("off", rows$off, plain),
    on = col_number("on", rows$on, plain),
    change_percent = col_number("change", rows$change_percent, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(counters$alpha), "CI"), rows$ci_low, rows$ci_high),
    n_launches = col_number("launches", rows$n_launches),
    by = paste(rows$label, "under", rows$arm)
  ), notes = length(unique(counters$notes)), command = all_command(operands, "counters"), report = report_beside(operands))
}

figure_words <- function(figure) {
  vapply(counter_figures[figure], function(f) paste0(f$name, if (nzchar(f$unit)) paste0(", ", f$unit)), "", USE.NAMES = FALSE)
}

counter_rules <- function() sprintf(paste(
  "lower clock: by %g %% or more, and at least %g %% of the slowdown; cache damage: L2, L3 or memory traffic up by %g %% or more with %g %%",
  "more cycles per instruction; preempted time: detected, and at least %g %% of the slowdown; n: launches"
), lower_clock_percent, 100 * share_of_slowdown, more_traffic_percent, more_cycles_percent, 100 * share_of_slowdown)
