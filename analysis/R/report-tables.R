# Tables of a report on verdicts, thresholds, treatments, nodes.

# The terminal's table, of all rows, in the order of the plots.
slowdown_table <- function(analysis) {
  rows <- answer_rows(analysis, Inf)
  if (NROW(rows) == 0) return(NULL)
  rows <- rows[
    order(panel_factor(panel_name(rows), analysis), rows$ranks, label_in(rows, analysis),
          rows$level_requested_percent),
  ]
  table <- answer_table(analysis, TRUE, rows)
  table$columns$picture <- NULL
  page_table(
    table,
    how = paste0(
      upper_first(answer_legend(analysis)),
      ", with power ",
      analysis$power,
      ". Level: CPU time asked for, percent of one CPU. Slowdown: by ",
      "how much longer an operation takes with the load than without. Preempted: CPU time that other tasks ",
      "took from the ranks, percent of one CPU."
    )
  )
}

verdict_tags <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  constant <- constant_treatment(analysis$treatments)
  scope <- scope_note(analysis$verdicts)
  tags <- htmltools::tags
  list(if (nzchar(constant)) tags$p(paste0("Treatment: ", constant, ".")),
       lapply(verdict_parts(analysis), part_tags), tags$ul(lapply(channel_lines(rows), tags$li)),
       if (!is.null(scope)) tags$p(upper_first(scope), "."))
}

refused_fold <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  label <- label_in(rows, analysis)
  reasons_fold(
    paste0(
      panel_name(rows),
      ifelse(nzchar(label), paste0(" (", label, ")"), ""),
      " by ",
      rows$channel,
      ifelse(has_level(rows$level_requested_percent),
             paste0(" at ", format_level(rows$level_requested_percent), " %"), "")
    ),
    same_reason(rows$reason)
  )
}

several_nodes <- function(analysis) length(unique(analysis$location$nodes$host)) > 1

# The report's section on an agent: what it used, what it took, when, and who else.

agent_section <- function(report) {
  tags <- htmltools::tags
  sentences <- report_sentences(report)
  list(
    if (length(sentences) > 0) tags$ul(lapply(upper_first(sentences), tags$li)),
    if (NROW(report$agents) > 1) {
      page_table(several_table(report$agents, report$margin, whole = TRUE), "The agents side by side",
                 several_legend(report$margin, whole = TRUE))
    },
    if (nrow(report$accounts) > 0) {
      page_table(account_columns(report$accounts), "What the agent used in its halves, by its own account")
    } else {
      tags$p("No account of the agent was recorded (agent.HOST.csv).")
    },
    part_tags(agreement_part(report)),
    part_tags(mechanisms_part(report)),
    if (NROW(report$tasks) > 0) {
      part_tags(tasks_part(report))
    } else {
      tags$p("Who took the CPU was not recorded (tasks.HOST.csv).")
    },
    if (NROW(report$bursts) > 0) {
      part_tags(bursts_part(report$bursts))
    } else {
      tags$p("No single bursts were kept (bursts.HOST.trace).")
    }
  )
}

# Sections of the report on what is done with an agent: sampling intervals, its replay, hardware counters.
# NULL where the campaign has nothing of the kind.

report_versions <- function(analysis) {
  if (!has_versions(analysis$campaign)) return(NULL)
  result <- compare_versions(analysis$campaign, analysis$margin, analysis$alpha)
  details_tag("The two versions", page_table(versions_table(result), "The new version against the old one"))
}

report_settings <- function(analysis) {
  if (!has_settings(analysis$campaign)) return(NULL)
  result <- compare_settings(analysis$campaign, analysis$margin, analysis$alpha, analysis$power)
  details_tag("The settings, both sides", part_tags(setting_part(result)),
              lapply(setting_task_parts(result), part_tags))
}

report_sweep <- function(analysis) {
  if (!is_sweep(analysis$campaign)) return(NULL)
  sweep <- interval_sweep(analysis, analysis$margin)
  details_tag("The sampling interval", lapply(sweep$sentences, htmltools::tags$p),
              part_tags(intervals_part(sweep)))
}

report_replay <- function(analysis) {
  if (!has_replay(analysis$campaign)) return(NULL)
  result <- tryCatch(compare_replay(analysis), nl_error_data = identity)
  tags <- htmltools::tags
  if (inherits(result, "error")) {
    return(details_tag("Agent and replay", tags$p(upper_first(paste0(conditionMessage(result), ".")))))
  }
  details_tag("Agent and replay", part_tags(replay_part(result)))
}

# Where an agent was measured the reader expects this, so what is missing is said; damaged files do not cost
# the report.
report_counters <- function(analysis) {
  counters <- tryCatch(counters_by_arm(analysis), nl_error = identity)
  tags <- htmltools::tags
  fold <- function(...) details_tag("Why it got slower: hardware counters", ...)
  if (inherits(counters, "error")) {
    return(fold(tags$p(class = "loud",
                       paste0("The hardware counters cannot be used: ", conditionMessage(counters)))))
  }
  if (!is.null(counters)) return(fold(part_tags(counter_part(counters)), lapply(counters$notes, tags$p)))
  if (any(!has_level(analysis$verdicts$level_requested_percent))) {
    fold(tags$p(paste0(upper_first(without_counters), ".")))
  }
}

# The report's tables on synchronised starts, and the analysis where there is nothing to compare.

report_starts <- function(campaign) if (has_starts(campaign)) lapply(starts_parts(campaign), part_tags)

# An analysis of launches that hold one arm only: nothing is compared, but starts can be looked at.
clean_analysis <- function(campaign, alpha) {
  arm <- unique(campaign$rows[["arm"]])
  structure(
    list(
      verdicts = data.frame(),
      thresholds = NULL,
      amplification = data.frame(),
      treatments = treatment_table(campaign),
      notes = c(sprintf("all rows are of arm %s: nothing is compared, there are no verdicts", arm),
                starts_notes(campaign)),
      alpha = alpha,
      power = 0.95,
      campaign = campaign,
      pairs = NULL
    ),
    class = "nl_analysis"
  )
}

# What a report says of where its data come from: certificates of the load, each launch's machine and
# settings, the commands.

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
  kind <- cells_of(rows, function(r) r$kind)
  other <- lapply(stats::setNames(treatment_columns[-1], treatment_columns[-1]), of_level)
  told <- vapply(names(other), function(n) any(!other[[n]] %in% c("unknown", treatment_defaults[[n]])), TRUE)
  html_table(
    c(
      list(launch = of_generator("launch"), host = of_generator("host"),
           CPU = of_generator("cpu", format_count), kind = kind),
      other[told],
      list(
        "period ms" = cells_of(rows, function(r) {
          if (!is.null(r$g$period_ns)) r$g$period_ns / 1e6
        }),
        "requested %" = of_level("level_requested_percent"),
        "delivered %" = of_level("level_delivered_percent"),
        halves = of_level("halves", format_count),
        "bursts planned" = of_level("bursts_planned", format_count),
        "bursts run" = of_level("bursts_run", format_count),
        ok = ok
      )
    ),
    "The load",
    "Load in the on halves, percent of one CPU; ok: delivered is requested within the tolerance.",
    text = c("launch", "host", treatment_columns)
  )
}

provenance_table <- function(campaign) {
  told <- c(
    provenance_of(campaign$launches),
    list(
      seed = of_launch("seed"),
      "rank: host/CPU" = rank_places,
      Slurm = of_launch("slurm"),
      "clock synchronisation" = of_launch(c("start", "sync"), "none"),
      "switching times" = of_launch("switching"),
      "most memory of a rank, KiB" = of_launch("peak_memory_kib"),
      started = of_launch("started_utc"),
      ended = function(info) {
        paste(show_json(info$ended_utc, ""), show_json(info$ended, "killed, no end recorded"))
      }
    )
  )
  lines <- lapply(unname(campaign$launches), function(info) {
    vapply(told, function(get) paste(get(info), collapse = "; "), "")
  })
  same <- vapply(names(told), function(key) length(unique(vapply(lines, `[[`, "", key))) == 1, TRUE)
  shared <- list(names(same)[same], unname(lines[[1]][same]))
  names(shared) <- c("what", if (length(lines) == 1) names(campaign$launches) else "in all launches")
  differing <- c(list(names(same)[!same]), lapply(lines, function(one) unname(one[!same])))
  names(differing) <- c("what", names(campaign$launches))
  wide <- function(columns) html_table(columns, text = names(columns), wrap = names(columns)[-1])
  list(wide(shared), if (!all(same)) wide(differing))
}

rank_places <- function(info) {
  ranks <- vapply(
    info$placement,
    function(r) {
      sprintf(
        "%s: %s/%s",
        show_json(r$rank),
        show_json(r$host),
        if (isTRUE(r$cpu >= 0)) {
          show_json(r$cpu)
        } else {
          paste0("not bound (", show_json(r$binding), ")")
        }
      )
    },
    ""
  )
  if (length(ranks) > 0) paste(ranks, collapse = ", ") else "unknown"
}

reproduce <- function(analysis) {
  campaign <- analysis$campaign
  commands <- vapply(campaign$launches, launch_command, "")
  report <- c(
    "noiselab report",
    if (analysis$alpha != 0.01) {
      paste("--alpha", format(analysis$alpha, digits = 15))
    },
    if (!is.null(analysis$margin)) {
      paste("--margin", format(analysis$margin, digits = 15))
    },
    vapply(campaign$dirs, quote_word, "")
  )
  tags <- htmltools::tags
  list(tags$p("The launches, with the seeds of their schedules:"), tags$pre(paste(commands, collapse = "\n")),
       tags$p("This report:"), tags$pre(paste(report, collapse = " ")))
}

launch_command <- function(info) {
  words <- printable(unlist(info$command))
  if (length(words) == 0) return(paste("# launch", info$launch, "does not say its command"))
  if (isTRUE(info$ranks > 1)) words <- c("mpirun", "-n", show_json(info$ranks), words)
  seeded <- any(words == "--seed" | startsWith(words, "--seed="))
  if (!seeded && length(info$seed) > 0) words <- c(words, "--seed", show_json(info$seed))
  paste(vapply(words, quote_word, ""), collapse = " ")
}
