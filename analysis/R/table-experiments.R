# noiselab analyze intervals.

intervals_part <- function(sweep) {
  rows <- sweep$rows
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")
  models <- sweep$model[!is.na(sweep$model$cost_s), ]
  guide <- sprintf(
    "guide line of %s, %s: %s lost per sample (%s to %s), slowdown = that / interval%s",
    models$agent,
    panel_name(models),
    format_time(models$cost_s),
    format_time(models$cost_low_s),
    format_time(models$cost_high_s),
    ifelse(is.na(models$interval_at_margin_s), "",
           paste0("; it meets the margin at ", format_time(models$interval_at_margin_s)))
  )
  new_part(
    "slowdown by sampling interval",
    intervals_table(sweep),
    paste0(
      "slowdown, CI, bound, limit in percent; limit: the slowdown found with power ",
      sweep$power,
      "; preempted: percent of one CPU; n: ",
      paste(unique(units[rows$unit_of_inference]), collapse = ", "),
      if (!is.null(sweep$margin)) {
        sprintf(
          paste(
            paste0("; intervals are tested from the longest down to the first that is not below the margin, ",
                   "each at one-sided alpha %g, which needs no correction")
          ),
          sweep$alpha
        )
      }
    ),
    c(guide, sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason))))
  )
}

intervals_table <- function(sweep) {
  rows <- sweep$rows
  new_table(
    interval_s = col_number("interval", rows$interval_s, format_time),
    estimate = col_number("slowdown", rows$estimate, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(2 * sweep$alpha), "CI"), rows$ci_low, rows$ci_high),
    # what has no verdict bounds nothing
    bound_high = col_number(paste(format_confidence(sweep$alpha), "upper bound"),
                            ifelse(is.na(rows$reason), rows$bound_high, NA), format_effect),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    preempted_percent = col_number("preempted", rows$preempted_percent, plain),
    n = col_number("n", rows$n),
    verdict = if (is.null(sweep$margin)) {
      col_verdict("verdict", ifelse(is.na(rows$reason), short_verdict_words(rows), "inconclusive"))
    },
    margin_verdict = if (!is.null(sweep$margin)) {
      col_verdict(paste("against", format_level(sweep$margin), "%"),
                  ifelse(is.na(rows$reason), rows$margin_verdict, "inconclusive"))
    },
    by = paste0(rows$agent, ": ", panel_name(rows), ", ", format_level(rows$ranks), " ranks")
  )
}

intervals_view <- function(sweep, operands) {
  new_view(sweep$sentences, intervals_table(sweep),
           "limit: the slowdown that would be detected; preempted: percent of one CPU",
           c(sprintf("inconclusive: %s", unique(stats::na.omit(sweep$rows$reason))), sweep$busy),
           length(unique(sweep$notes)), all_command(operands, "intervals"), report_beside(operands))
}

short_verdict_words <- function(rows) sub(" \\(.*", "", sub(":.*", "", rows$verdict))

# noiselab analyze replay.

replay_part <- function(result) {
  new_part(
    "agent and replay",
    replay_table(result),
    paste0(
      "percent of the time of an operation; difference: agent against replay, with the interval of two ",
      "one-sided tests at alpha ",
      result$alpha,
      " each; same within: the margin"
    ),
    result$sentences
  )
}

replay_table <- function(result) {
  rows <- result$rows
  slowdown <- function(of, who) col_number(who, rows[[paste0(of, "_percent")]], format_effect, "%")
  new_table(
    operation = col_words("operation", panel_name(rows)),
    agent_percent = slowdown("agent", rows$agent[1]),
    replay_percent = slowdown("replay", "replay"),
    difference_percent = slowdown("difference", "difference"),
    bound_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), rows$bound_low,
                             rows$bound_high),
    margin_percent = col_number("same within", rows$margin_percent, plain, "%"),
    verdict = col_words("verdict", rows$verdict)
  )
}

replay_view <- function(result, operands) {
  new_view(
    c(
      sprintf(
        "Does the replay slow the code as the agent does? %s.",
        c(pass = "Yes", fail = "No", inconclusive = "That cannot be told")[[
          result$answer
        ]]
      ),
      result$sentences
    ),
    replay_table(result),
    notes = length(unique(result$notes)),
    command = all_command(operands, "replay"),
    report = report_beside(operands)
  )
}

# noiselab analyze equivalent: a trace, or the agents of a campaign, and the setting that is like each.

# A file is a trace; a directory is a launch or a campaign.
equivalent_sources <- function(operand) {
  if (!dir.exists(operand)) {
    if (!file.exists(operand)) abort_usage("'", operand, "' is neither a trace nor a directory")
    bursts <- read_bursts(operand, of_launch = FALSE)
    keys <- attr(bursts, "keys")
    known <- function(name) {
      value <- suppressWarnings(as.numeric(sub("[^0-9.].*$", "", keys[[name]] %||% "")))
      if (is_number(value)) value else NA_real_
    }
    total <- known("cpu_time_ns")
    return(list(list(agent = sub("\\.trace$", "", basename(operand)), host = keys$host %||% NA_character_,
                     bursts = bursts, notes = trace_notes(list(bursts), operand), windows = NULL,
                     told_s = NA_real_, read_bytes = known("read_bytes"),
                     cpu_ns = if (is.na(total)) sum(bursts$duration_ns) else total)))
  }
  campaign <- read_campaign(operand, arms = "any")
  sources <- campaign_sources(campaign)
  if (length(sources) == 0) {
    abort_data("no bursts of an agent in ", operand,
               ": measure with noiselab run agent --who auto:keep-bursts=yes, or give a trace of ",
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
      bursts_of_agent(read_bursts(mine$file[j]), campaign$tasks, halves[halves$launch == mine$launch[j], ],
                      mine[j, ])
    })
    notes <- unique(unlist(lapply(parts, `[[`, "notes")))
    # Launches one after the other: each has its own time zero.
    reach <- cumsum(c(0, vapply(parts, `[[`, 0, "reach_ns")))
    shifted <- function(what) bind_rows(lapply(seq_along(parts), function(j) {
      part <- parts[[j]][[what]]
      part$start_ns <- part$start_ns + reach[j]
      part
    }))
    told <- unique(unlist(lapply(campaign$launches[mine$launch], function(info) {
      info$options$agent_period_ns
    })))
    list(agent = groups$kind[i], told_s = if (is_number(told, 0)) told / 1e9 else NA_real_,
         host = groups$host[i], bursts = shifted("bursts"), windows = shifted("windows"),
         read_bytes = sum(halves$read_bytes), cpu_ns = sum(halves$agent_cpu_ns), notes = notes)
  })
  Filter(Negate(is.null), sources)
}

bursts_of_agent <- function(bursts, tasks, halves, file) {
  known <- as.data.frame(tasks)
  known <- known[known$launch == file$launch & known$host == file$host, ]
  mine <- unique(known$task[known$group == "agent"])
  anonymous <- !any(bursts$task %in% mine)
  notes <- if (anonymous) {
    sprintf(
      paste0("launch %s on %s: the bursts name no task of the agent, so whatever interrupted the ranks in ",
             "its halves counts"),
      file$launch,
      file$host
    )
  }
  if (!anonymous) bursts <- bursts[bursts$task %in% mine, ]
  windows <- data.frame(start_ns = halves$start_ns, length_ns = halves$wall_ns)
  windows <- windows[order(windows$start_ns), ]
  list(bursts = as.data.frame(bursts), windows = windows, notes = notes,
       reach_ns = max(windows$start_ns + windows$length_ns) + 1e9)
}

format_equivalent <- function(fit) {
  percent <- function(x) if (is.na(x)) "-" else sprintf("%.0f %%", 100 * x)
  period <- format_time(signif(fit$period_s, 4))
  beat <- switch(fit$pattern,
    periodic = sprintf("every %s, at the same place in the period", period),
    jittered = sprintf("once in every %s, anywhere in %s of it", period, percent(fit$jitter_percent / 100)),
    poisson = sprintf("at random times, every %s on average", period))
  kept <- if (fit$pattern == "poisson") {
    if (is.na(fit$ks_distances)) {
      character()
    } else {
      sprintf("KS distance of their distances from exponential ones %.2f", fit$ks_distances)
    }
  } else {
    c(
      if (!is.na(fit$share_at_period)) {
        sprintf("%s of the CPU time in groups at the period", percent(fit$share_at_period))
      },
      sprintf("%s of the periods have one", percent(fit$places_filled))
    )
  }
  where <- if (is.na(fit$host)) fit$agent else paste0(fit$agent, " on ", fit$host)
  c(
    paste0(where, " is like"),
    "",
    paste0("    ", paste(fit$command, collapse = " ")),
    "",
    wrap_line(sprintf(
      "activity: %s (%s groups of %s bursts in %s; bursts less than %s apart are one activity)", beat,
      format_count(fit$groups), format_count(fit$bursts), format_time(fit$watched_s),
      format_time(max(fit$gap_s, 1e-9))
    )),
    wrap_line(sprintf(
      paste0("level: %s %% of %s; a group takes %s to %s of CPU time (10 to 90 %%, median %s), the ",
             "generator's burst %s"),
      format_level(fit$level_percent),
      if (length(fit$cpus) > 1) "each CPU" else "one CPU",
      format_time(fit$lengths_s[1]),
      format_time(fit$lengths_s[3]),
      format_time(fit$lengths_s[2]),
      format_time(fit$burst_s)
    )),
    wrap_line(sprintf("kind: %s; %s", fit$kind, fit$kind_reason)),
    wrap_line(sprintf("likeness: %s", paste(c(fit$goodness, kept), collapse = "; "))),
    wrap_line(
      if (fit$goodness == "poor") {
        "a replay of the trace (noiselab-gen --replay FILE) is closer than this setting"
      }
    ),
    wrap_line(sprintf("note: %s", fit$notes)),
    ""
  )
}

# On one screen: one setting with its likeness, or a line for each of several.
equivalent_view <- function(fits, operands) {
  if (length(fits) == 1) return(format_equivalent(fits[[1]]))
  of <- function(name) vapply(fits, function(fit) fit[[name]] %||% NA, fits[[1]][[name]])
  new_view(
    sprintf("%s is like noiselab-gen %s (%s).", of("agent"),
            vapply(fits, function(fit) paste(fit$command[-1], collapse = " "), ""), of("goodness")),
    new_table(agent = col_words("agent", of("agent")), host = col_words("host", as.character(of("host"))),
              level_percent = col_number("level", of("level_percent"), format_level, "%"),
              period_s = col_number("period", of("period_s"), function(x) format_time(signif(x, 4))),
              pattern = col_words("pattern", of("pattern")),
              goodness = col_words("likeness", of("goodness"))),
    notes = length(unique(unlist(lapply(fits, `[[`, "notes")))),
    command = all_command(operands, "equivalent")
  )
}

# The columns that are one number or word.
equivalent_frame <- function(fits) {
  bind_rows(lapply(fits, function(fit) {
    lengths <- stats::setNames(as.list(fit$lengths_s), c("length_p10_s", "length_p50_s", "length_p90_s"))
    one <- fit[setdiff(names(fit), c("cpus", "lengths_s", "command", "notes"))]
    data.frame(c(
      one, lengths,
      list(cpus = paste(format_count(fit$cpus), collapse = " "), command = paste(fit$command, collapse = " "))
    ))
  }))
}

# noiselab analyze counters, and the report's section on them.

analyze_counters <- function(operands, values, form) {
  analysis <- analyze_campaign(read_campaign(operands), alpha = alpha_option(values$alpha),
                               channels = c("time", "preempted", "base"))
  counters <- counters_by_arm(analysis)
  if (is.null(counters)) abort_data(without_counters)
  answered(form, values$table, list(alpha = counters$alpha, files = counters$files),
           counters[c("causes", "changes")], counters$notes, list(wrap_line(counter_rules())),
           counters_view(counters, operands))
}

without_counters <- paste(
  paste0("no hardware counters were recorded (no likwid*.csv beside the launches), so whether a lower clock ",
         "or damaged caches"),
  "played a part is not known"
)

counter_part <- function(counters) {
  new_part(
    "causes",
    counter_table(counters),
    counter_rules(),
    sprintf("%s under %s: %s: %s", counters$causes$label, counters$causes$arm, counters$causes$cause,
            counters$causes$why)
  )
}

counter_table <- function(counters) {
  rows <- counters$changes
  new_table(figure = col_words("figure", figure_words(rows$figure)), off = col_number("off", rows$off, plain),
            on = col_number("on", rows$on, plain),
            change_percent = col_number("change", rows$change_percent, format_effect, "%"),
            ci_low = col_interval(paste(format_confidence(counters$alpha), "CI"), rows$ci_low, rows$ci_high),
            n_launches = col_number("launches", rows$n_launches), by = paste(rows$label, "under", rows$arm))
}

# On one screen: the cause of each slowdown, and the figures that tell it.
counters_view <- function(counters, operands) {
  causes <- counters$causes
  new_view(sprintf("%s under %s: %s (%s).", causes$label, causes$arm, causes$cause, causes$why),
           counter_table(counters), notes = length(unique(counters$notes)),
           command = all_command(operands, "counters"), report = report_beside(operands))
}

figure_words <- function(figure) {
  vapply(counter_figures[figure], function(f) paste0(f$name, if (nzchar(f$unit)) paste0(", ", f$unit)), "",
         USE.NAMES = FALSE)
}

counter_rules <- function() {
  sprintf(
    paste(
      paste0("lower clock: by %g %% or more, and at least %g %% of the slowdown; cache damage: L2, L3 or ",
             "memory traffic up by %g %% or more with %g %%"),
      "more cycles per instruction; preempted time: detected, and at least %g %% of the slowdown; n: launches"
    ),
    lower_clock_percent,
    100 * share_of_slowdown,
    more_traffic_percent,
    more_cycles_percent,
    100 * share_of_slowdown
  )
}

# What `noiselab analyze nodes` prints.

location_lines <- 20  # most nodes or ranks with a line of their own; the rest are summed up

# One for each treatment and level of `nodes`.
location_parts <- function(location, nodes = location$nodes) {
  factors <- varying_factors(location$nodes)
  dose <- dose_key(nodes)
  unname(lapply(split(seq_len(nrow(nodes)), in_order(dose)), function(at) {
    rows <- nodes[at, ]
    ranks <- location$ranks[dose_key(location$ranks) == dose[at[1]], ]
    new_part(location_head(rows, factors, location), location_table(rows, location),
             if (at[1] == 1) location_words(location), location_verdicts(rows, ranks))
  }))
}

location_head <- function(rows, factors, location) {
  treatment <- treatment_label(rows[1, ], factors, named = TRUE)
  dose <- if (isTRUE(rows$level_requested_percent[1] == 0)) {
    "placebo (level 0)"
  } else {
    level_label(rows[1, ], " % of one CPU")
  }
  tested <- sum(!is.na(rows$p_one_sided))
  unit <- rows$unit_of_inference[1]
  n <- if (unit == "pair") rows$n_pairs else rows$n_launches
  sprintf("%s%s   (scope: %s; unit: %s, n = %s; alpha %g one-sided, Holm over %s)", if (nzchar(treatment)) {
    paste0(treatment, ", ")
  } else "", dose, rows$scope[1], unit, format_range(n), location$alpha, counted(tested, "node"))
}

# A line per node with the noise, most of it first, and why others could not be judged.
location_verdicts <- function(rows, ranks) {
  lacking <- sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason)))
  rows <- rows[rows$found %in% c("here", "trace"), ]
  rows <- utils::head(rows[order(rows$found != "here", -rows$preempted_shift_percent), ], 2 * location_lines)
  c(vapply(seq_len(nrow(rows)), function(i) location_verdict(rows[i, ], ranks), ""), lacking)
}

location_verdict <- function(row, ranks) {
  shift <- sprintf("%s %% of a CPU (%s to %s), p = %s", format_digits(row$preempted_shift_percent, row),
                   format_digits(row$ci_low, row), format_digits(row$ci_high, row), format_p(row$p_holm))
  share <- if (is.na(row$extra_share_percent)) "" else {
    sprintf(", %s %% of the extra preempted time", plain(row$extra_share_percent))
  }
  paste0(row$host, ": ", switch(row$found,
    here = paste0("with the load its ranks lose ", shift, share,
                  which_ranks(ranks[ranks$host == row$host, ])),
    trace = paste0("traces, less than a tenth of the most: ", shift)
  ))
}

# With as many digits as tell the ends of the interval apart.
format_digits <- function(x, row) {
  width <- row$ci_high - row$ci_low
  digits <- if (isTRUE(width > 0)) min(6, max(2, 1 - floor(log10(width)))) else 2
  sprintf("%+.*f", as.integer(digits), x)
}

# Of a node with the noise: the ranks that lost more, each with its CPU.
which_ranks <- function(ranks) {
  here <- ranks[ranks$found == "here", ]
  if (nrow(here) == 0) {
    limits <- ranks$detection_limit
    return(if (all(is.na(limits))) "" else paste0("; no single rank, limits ", format_span_of(limits), " %"))
  }
  here <- here[order(-here$preempted_shift_percent), ]
  cpu <- ifelse(here$cpu >= 0, paste0(" (CPU ", format_count(here$cpu), ")"), "")
  paste0("; ", if (nrow(here) == 1) "rank " else "ranks ",
         few_words(paste0(format_count_each(here$rank), cpu), 4))
}

location_table <- function(rows, location) {
  rows <- utils::head(rows[order(-rows$preempted_shift_percent), ], location_lines)
  rows <- rows[order(match(rows$host, location$nodes$host)), ]
  share <- function(x) ifelse(x == 0, "0", plain(x))
  new_table(
    host = col_words("node", rows$host), ranks = col_number("ranks", rows$ranks),
    clean_preempted_percent = col_number("clean %", rows$clean_preempted_percent, plain),
    preempted_shift_percent = col_number("shift %", rows$preempted_shift_percent, format_effect),
    ci_low = col_interval(paste(format_confidence(location$alpha), "CI"), rows$ci_low, rows$ci_high),
    p_holm = col_number("p Holm", rows$p_holm, format_p),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    extra_share_percent = col_number("extra", rows$extra_share_percent, function(x) sprintf("%.1f", x)),
    slowest_off_percent = col_number("slow off", rows$slowest_off_percent, share),
    slowest_on_percent = col_number("slow on", rows$slowest_on_percent, share),
    ranks_percent = col_number("% of ranks", rows$ranks_percent, plain)
  )
}

# On one screen: which node, then the nodes at the highest level of the first treatment.
location_view <- function(location, operands) {
  rows <- answering_rows(location$nodes)
  rows <- rows[dose_key(rows) == dose_key(rows)[1], ]
  margin <- location$margin_answer
  here <- rows[rows$found == "here", ]
  new_view(
    c(
      location$answer,
      if (!is.null(margin)) {
        margin_answer_words(location$margin, margin, " of one CPU")
      },
      if (nrow(here) == 1) {
        paste0(location_verdict(here, location$ranks[dose_key(location$ranks) == dose_key(here), ]), ".")
      } else {
        if (nrow(here) == 0 && !all(is.na(rows$detection_limit))) {
          sprintf("A node that lost %s %% of one CPU more would have been detected with probability %g.",
                  format_span_of(rows$detection_limit), location$power)
        }
      }
    ),
    location_table(rows, location),
    paste0("preempted time of the node's ranks, on minus off, percent of ONE CPU, at ",
           level_label(rows[1, ], " %"),
           "; extra: share of all nodes; slow: share of halves with the slowest rank"),
    notes = length(unique(location$notes)),
    command = all_command(operands, "nodes"),
    report = report_beside(operands)
  )
}

location_words <- function(location) {
  more <- length(unique(location$nodes$host)) > location_lines
  paste0(
    "shift: preempted time of the node's ranks, on minus off, in percent of ONE CPU; clean: the same in off ",
    "halves; limit: the shift that this ",
    "test, as corrected, finds with power ",
    location$power,
    "; extra: share of the extra preempted time of all nodes; slow: share of the ",
    "halves in which the slowest rank was there, off and on, beside the node's share of the ranks",
    if (more) paste0(" (the ", location_lines, " nodes that lost most; all: noiselab analyze nodes --csv)")
  )
}

# noiselab analyze profile.

# `scale`: what it means on many nodes, in a sentence.
profile_sentences <- function(report, scale = NULL) {
  shares <- report$shares
  shown <- shares[shares >= 0.0005]
  wall <- max(report$profile$ranks[["wall_ns"]])
  c(
    sprintf(
      "The program ran for %s with %s on %s, and spent %s of its time in MPI%s.",
      time_words(wall),
      counted(nrow(report$profile$ranks), "rank"),
      counted(length(unique(report$profile$ranks[["node"]])), "node"),
      percent_of_time(sum(shares)),
      if (length(shown) > 0) {
        paste0(" (", paste(names(shown), percent_of_time(shown), collapse = ", "), ")")
      } else {
        ""
      }
    ),
    largest_sentence(report$largest),
    if (!is.null(report$waiting)) c(waiting_sentence(report), scale, exposure_sentence(report))
  )
}

# NULL where it is a call whose arrivals are sampled: the sentence on these says it.
largest_sentence <- function(largest) {
  if (is.null(largest) || largest$is_measured) return(NULL)
  text <- sprintf("Ranks wait most in %s: about %s in each call (%s of their time)", largest$words,
                  time_words(largest$each_ns), percent_of_time(largest$share))
  if (is.na(largest$rank)) return(paste0(text, ". No single rank is waited for: they are late in turn."))
  longer <- if (!isTRUE(largest$longer > 0.005)) "" else {
    cause <- if (is.na(largest$by_noise)) "by work or by noise" else {
      sprintf("%s of it by its own work, %s by noise", percent_of_time(1 - largest$by_noise),
              percent_of_time(largest$by_noise))
    }
    sprintf(", which takes %s longer than the others between its calls (%s)", percent_of_time(largest$longer),
            cause)
  }
  sprintf("%s. They wait for rank %d%s.", text, as.integer(largest$rank), longer)
}

# Was it noise, or had some more to do?
waiting_sentence <- function(report) {
  w <- report$waiting
  ranks <- report$ranks
  n <- nrow(report$calls)
  part <- function(x) percent_of_time(if (w$wait_ns > 0) x / w$wait_ns else 0)
  late <- ranks[which.max(ranks$times_last), ]
  c(
    sprintf(
      paste(
        paste0("In %s, a rank waited on average %s for the last: %s because of unequal work, %s because of ",
               "noise (preempted, or taken by"),
        "a hypervisor), %s because some ranks left the call before late."
      ),
      counted(n, "sampled synchronising call"),
      time_words(w$wait_ns),
      part(w$unequal_ns),
      part(w$noise_ns),
      part(w$carried_ns)
    ),
    sprintf(
      "Rank %d arrived last in %s of them%s.",
      late$rank,
      percent_of_time(late$times_last / n),
      if (length(unique(report$profile$ranks[["node"]])) < 2) {
        ""
      } else {
        sprintf("; %s of the waiting was for other nodes, the rest within nodes", part(w$between_ns))
      }
    )
  )
}

exposure_sentence <- function(report) {
  e <- report$exposure[report$exposure$interruption_ns == 1e6, ]
  sprintf("An interruption of 1 ms of one rank costs the program %s (%g %% interval %s to %s).",
          time_words(e$cost_ns), 100 * report$conf, time_words(e$cost_low_ns), time_words(e$cost_high_ns))
}

profile_operation_table <- function(rows) {
  percent <- function(x) plain(100 * x)
  new_table(
    operation = col_words("operation", operation_words(rows)),
    communicator = col_words("ranks", ifelse(rows$ranks > 0, paste(rows$ranks, rows$communicator), "-")),
    calls = col_number("calls", rows$calls), share = col_number("time %", rows$share, percent),
    mean_ns = col_number("mean \u00b5s", rows$mean_ns, in_us),
    longest_ns = col_number("longest \u00b5s", rows$longest_ns, in_us),
    waiting = col_number("waiting %", rows$waiting, percent)
  )
}

profile_view <- function(report, operands) {
  new_view(
    profile_sentences(report, scale_sentence(scale_of_profile(report), operands)),
    profile_operation_table(utils::head(report$operations, 8)),
    "time: of all ranks' time; waiting: for the last rank to arrive, of the time inside, in sampled calls",
    if (is.null(report$main)) report$notes[1], length(report$notes) - is.null(report$main),
    all_command(operands, "profile")
  )
}

# NULL where no rank was held up in a call that was looked at.
scale_of_profile <- function(report) {
  if (is.null(report$main)) return(NULL)
  program <- steps_of_calls(report$main)
  scale_of(noise_of_profile(program), program$every_s, 1 - report$conf)
}

profile_rank_table <- function(ranks) {
  if (is.null(ranks$late_ns)) {
    return(new_table(rank = col_number("rank", ranks$rank), host = col_words("host", ranks$host),
                     state = col_words("state", ranks$state)))
  }
  new_table(rank = col_number("rank", ranks$rank), host = col_words("host", ranks$host),
            times_last = col_number("last", ranks$times_last),
            late_ns = col_number("late", ranks$late_ns, function(x) format_effect(x / 1000)),
            waited_ns = col_number("waited", ranks$waited_ns, in_us),
            preempted_ns = col_number("preempted", ranks$preempted_ns, in_us),
            off_cpu_ns = col_number("off CPU", ranks$off_cpu_ns, in_us),
            own_ns = col_number("own work", ranks$own_ns, in_us),
            other_mpi_ns = col_number("other MPI", ranks$other_mpi_ns, in_us))
}

# Beside the view: every operation, each rank, interruptions of other lengths, and what the kernel counted.
profile_parts <- function(report) {
  e <- report$exposure
  counted <- kernel_part(report)
  c(list(
    new_part("all operations", profile_operation_table(report$operations)),
    new_part("ranks: \u00b5s for each sampled call, since the one before", profile_rank_table(report$ranks)),
    if (!is.null(e)) {
      new_part(
        "what an interruption of one rank costs the program",
        new_table(
          interruption_ns = col_words("interruption", time_words(e$interruption_ns)),
          cost_ns = col_words("costs", time_words(e$cost_ns)),
          cost_low_ns = col_words(sprintf("%g %% interval", 100 * report$conf),
                                  paste(time_words(e$cost_low_ns), "to", time_words(e$cost_high_ns)))
        )
      )
    }
  ), if (!is.null(counted)) list(counted))
}
