# noiselab analyze agent: what an agent used and took, for people (100 columns) and for programs.

agent_csv_tables <- c("estimates", "answers", "agents", "taken", "behalf", "behalf_tasks", "mechanisms",
                      "accounts", "tasks", "bursts", "activities")

# All of it, once: `accounts` (with `cause`), `tasks`, `groups`, `bursts`, `analysis` (NULL without both
# arms), `notes`. `margin`: percent of one node's slowdown; `scale_margin`: of margin_request(), of many
# nodes.
agent_report <- function(campaign, alpha = 0.01, margin = NULL, analysis = NULL, scale_margin = NULL) {
  if (NROW(campaign$agents) + NROW(campaign$tasks) + NROW(campaign$bursts) == 0 && !has_agent(campaign)) {
    abort_data("no agent in ", paste(campaign$dirs, collapse = " "),
               ": no launch has agent.HOST.csv (run noiselab-detect ",
               "with --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit or --agent-on)")
  }
  if (has_versions(campaign)) {
    abort_data("these launches have two versions of one agent: noiselab analyze versions compares them")
  }
  both <- length(unique(campaign$rows[["arm"]])) == 2
  if (is.null(analysis) && both) {
    analysis <- analyze_campaign(campaign, alpha = alpha, channels = c("time", "preempted"), margin = margin)
  }
  # what planned looks leave of it
  if (!is.null(analysis)) alpha <- analysis$alpha
  accounts <- agent_accounts(campaign, alpha, over = analysis$looks$alpha %||% alpha)
  tasks <- agent_tasks(campaign, alpha)
  if (nrow(accounts) > 0) accounts$cause <- agreement_causes(accounts, tasks)
  taken <- agent_taken(campaign, alpha, over = analysis$looks$alpha %||% alpha)
  reader <- slices_reader()
  locked <- if (!is.null(analysis)) locked_by_launch(campaign, alpha, reader)
  if (!is.null(analysis)) analysis <- with_agent_answers(analysis, taken, locked)
  answers <- analysis$agent_answers
  report <- list(
    answers = answers,
    accounts = accounts,
    tasks = tasks,
    taken = taken,
    bursts = agent_bursts(campaign, alpha),
    evidence = task_evidence(campaign),
    analysis = analysis,
    alpha = alpha,
    margin = margin,
    campaign = campaign,
    reader = reader,
    notes = c(campaign$notes, if (campaign_looks(campaign)$for_all) campaign_looks(campaign)$note,
              agent_notes(accounts))
  )
  report["agents"] <- list(several_agents(report))
  report$kept <- new.env()
  report["behalf"] <- list(if (!is.null(analysis)) on_its_behalf(campaign, alpha))
  report["behalf_tasks"] <- list(if (!is.null(analysis)) behalf_accounts(campaign, alpha))
  behalf <- behalf_use(report$behalf, report$behalf_tasks, alpha)
  report["mechanisms"] <- list(if (!is.null(analysis)) mechanism_changes(campaign, alpha, behalf = behalf))
  report$scale_margin <- scale_margin
  if (!is.null(scale_margin)) report$scale_answer <- scale_margin_answer(report)
  report
}

agent_notes <- function(accounts) {
  if (nrow(accounts) == 0) return(character())
  rows <- accounts[!is.na(accounts$launch), ]
  where <- paste0(rows$launch, ", ", rows$host, ": ")
  still <- which(rows$off_cpu_percent > 0.05 * rows$cpu_percent & rows$off_cpu_percent > 0.001)
  idle <- which(rows$cpu_percent == 0)
  # Two accounts, and one may count what the hypervisor took as the agent's.
  more <- which(
    rows$on_ranks_percent > 1.05 * rows$cpu_percent & rows$on_ranks_percent > rows$cpu_percent + 0.01
  )
  c(
    sprintf("%s%s was not off in its off halves: it used %s %% of a CPU there, %s %% in the on halves",
            where[still], rows$kind[still], format_effect(rows$off_cpu_percent[still], FALSE),
            format_effect(rows$cpu_percent[still], FALSE)),
    sprintf("%s%s used no CPU time in its on halves: was it on?", where[idle], rows$kind[idle]),
    sprintf(
      paste0("%s%s has %s %% of a CPU on CPUs of ranks, but %s %% in all: the two accounts differ (steal ",
             "may be in one of them)"),
      where[more],
      rows$kind[more],
      three(rows$on_ranks_percent[more]),
      three(rows$cpu_percent[more])
    )
  )
}

# Of one node, or of many; beside a program `every` may be left out.
agent_margin <- function(text) margin_request(text, step_known = TRUE)

analyze_agent <- function(operands, values, form) {
  asked <- agent_margin(as_asked(values, operands, "margin")$margin)
  margin <- if (!isTRUE(asked$at_scale)) asked$percent
  alpha <- alpha_option(values$alpha)
  report <- agent_report(read_campaign(operands, arms = "any"), alpha, margin,
                         scale_margin = if (isTRUE(asked$at_scale)) asked)
  if (!is.null(asked) && is.null(report$analysis)) check_arms(report$campaign)
  # of the agent's rows alone: the positive control is meant to slow
  answer <- if (!is.null(margin)) {
    (if (is.null(report$answers)) {
      agent_margin_answer(NULL)
    } else {
      report$analysis$margin_answer
    })
  } else {
    report$scale_answer
  }
  head <- c(
    margin_head(asked$percent, answer),
    if (!is.null(asked)) margin_words_head(report$scale_answer$request %||% asked, report$scale_answer)
  )
  answered(
    form,
    values$table,
    c(
      list(alpha = report$alpha, sentences = texts(report_sentences(report, operands)),
           evidence = texts(report$evidence)),
      head
    ),
    c(list(estimates = agent_estimates(report)),
      pick(report, setdiff(agent_csv_tables, c("estimates", "activities"))),
      list(projections = if (form == "json") scale_of_agent(report))),
    report$notes,
    format_agent(report),
    agent_view(report, operands),
    answer = if (!is.null(values$margin)) answer$answer,
    only_csv = list(activities = attr(report$bursts, "activities"))
  )
}

# The analysis of a campaign with agents, with their answers by the one rule.
with_agent_answers <- function(
  analysis, taken = agent_taken(analysis$campaign, analysis$alpha, over = analysis$looks$alpha),
  locked = locked_by_launch(analysis$campaign, analysis$alpha)
) {
  analysis$agent_answers <- agent_answers(analysis, taken, locked)
  if (is.null(analysis$agent_answers)) return(analysis)
  analysis$agent_taken <- taken
  if (any(analysis$agent_answers$state == "busy")) {
    analysis$interruption_ns <- interruption_cost_of(analysis$campaign)
  }
  if (!is.null(analysis$margin)) {
    analysis$margin_answer <- passes_accounted(agent_margin_answer(analysis$agent_answers), analysis$campaign,
                                               analysis$margin)
  }
  analysis
}

# Nothing passes by time of the ranks' CPUs that nobody accounts for: on one of them more than the margin,
# and than the account can tell.
passes_accounted <- function(answer, campaign, margin) {
  nodes <- unlist(lapply(unname(campaign$launches), function(info) info$cpu_account), recursive = FALSE)
  open <- Filter(function(node) {
    worst <- node$worst_cpu$unaccounted_percent
    is_number(worst) && worst > max(margin, as.numeric(node$resolution_percent %||% 0))
  }, nodes)
  if (answer$answer != "pass" || length(open) == 0) return(answer)
  worst <- open[[which.max(vapply(open, function(node) node$worst_cpu$unaccounted_percent, 0))]]
  list(
    answer = "inconclusive",
    reason = sprintf("%s %% of CPU %s of %s is unaccounted for%s", three(worst$worst_cpu$unaccounted_percent),
                     show_json(worst$worst_cpu$cpu), printable(worst$host %||% "?"),
                     if (is_text(worst$blind)) paste0(": ", printable(worst$blind)) else "")
  )
}

# What an interruption of 1 ms costs the program beside which the agents ran, ns; NA where it was not
# profiled.
interruption_cost_of <- function(campaign) {
  dirs <- file.path(campaign$dirs, "profiles")
  dirs <- dirs[dir.exists(dirs)]
  if (length(dirs) == 0) return(NA_real_)
  exposure <- tryCatch(profile_report(read_profile(dirs[1]))$exposure, nl_error = function(e) NULL)
  cost <- exposure$cost_ns[exposure$interruption_ns == 1e6]
  if (length(cost) == 1) cost else NA_real_
}

# All that the first screen says, in its order: what terminal, JSON and report have. What was asked leads, and
# what many nodes pay is never the line that finds no room. Where loop times tell nothing, what is known comes
# before that they do.
report_sentences <- function(report, dirs = report$campaign$dirs) {
  # One launch says for each node when it strikes.
  bursts <- unique(burst_sentences(utils::head(report$bursts[!duplicated(report$bursts$host), ], 2)))
  kind <- unique(report$answers$kind)
  scale <- c(scale_margin_sentence(report$scale_answer, agents_interval_s(report)),
             if (is.null(report$scale_answer)) scale_sentence(scale_of_agent(report), dirs))
  # That the machine is not as it was found comes before everything.
  left <- left_off_sentence(report$campaign)
  if (NROW(report$agents) > 1) {
    return(c(left, several_sentence(report$agents), margin_sentence(report$analysis), scale))
  }
  answers <- if (!is.null(report$analysis)) answer_sentences(report$analysis)
  x <- if (length(kind) == 1) kind else "the agent"
  named <- behalf_named(report)
  behalf <- c(behalf_tasks_words(named, x),
              behalf_words(report$behalf[!report$behalf$group %in% named$group, ], x, report$alpha))
  mine <- report$mechanisms[as.character(report$mechanisms$kind) %in% kind, ]
  with_it <- if (length(kind) == 1) mechanism_words(mine, kind, any(report$answers$case %in% "more"))
  told <- report$answers$case != "alone" | is_told(report$answers$low, report$answers$high)
  first <- seq_len(min(length(answers), 1 + !is.null(report$margin)))
  if (length(told) > 0 && !any(told)) return(c(left, answers[first], scale, bursts, with_it, behalf,
                                               answers[-first]))
  c(left, answers[first], with_it, scale, behalf, answers[-first], bursts)
}

agent_view <- function(report, operands) {
  analysis <- report$analysis
  agents <- report$agents
  several <- NROW(agents) > 1
  accounts <- main_taken(report$accounts)
  apart <- report$accounts[report$accounts$agreement %in% "disagree", ]
  tables <- c(if (!is.null(analysis)) table_lines(answer_table(analysis)),
              if (!is.null(analysis) && nrow(accounts) > 0) "",
              if (nrow(accounts) > 0) table_lines(account_columns(accounts)))
  warnings <- c(
    agent_notes(report$accounts),
    if (several) {
      sprintf("%s: no slowdown: %s", agents$agent, agents$reason)[
        !is.na(agents$reason)
      ]
    } else {
      sprintf("%s: the agent's CPU time does not explain what the ranks lost%s", node_label(apart),
              ifelse(is.na(apart$cause), "", paste0(": ", apart$cause)))
    },
    agent_warnings(report)
  )
  new_view(report_sentences(report, operands),
    if (several) several_table(agents, report$margin) else tables,
    if (several) several_legend(report$margin) else if (!is.null(analysis)) answer_legend(analysis), warnings,
    length(setdiff(unique(report$notes), warnings)), all_command(operands, "agent"), report_beside(operands))
}

# What to beware of, the most important first: of the set-up, what would decide, and who else was there.
agent_warnings <- function(report) {
  analysis <- report$analysis
  if (is.null(analysis)) return(NULL)
  c(control_sentence(analysis),
    grep("^[A-Z]{3}|not ok|was killed|ended as|interim look", analysis$notes, value = TRUE),
    heterogeneity_warning(analysis), unique(stats::na.omit(report$answers$note)),
    answers_need_words(report$answers, analysis), quota_sentence(analysis$campaign),
    busy_sentence(analysis$campaign))
}

answers_need_words <- function(answers, analysis) {
  needs <- answers$needs_s[!is.na(answers$needs_s)]
  if (length(needs) == 0 || !identical(analysis$margin_answer$answer, "inconclusive")) return(NULL)
  open_margin_words(needs, analysis$power)
}

account_columns <- function(rows) {
  # of one launch the name of the node says which
  one <- length(unique(rows$launch)) == 1 && !anyNA(rows$launch)
  new_table(host = col_words("agent on", if (one) rows$host else node_label(rows)),
            cpu_percent = col_number("CPU", rows$cpu_percent, three, "%"),
            on_ranks_percent = col_number("on rank CPUs", rows$on_ranks_percent, three, "%"),
            wakeups_per_s = col_number("wake-ups/s", rows$wakeups_per_s, three),
            rss_kib = col_number("memory", rows$rss_kib, function(x) format_bytes(1024 * x)),
            written_bytes_per_s = col_number("written/s", rows$written_bytes_per_s, format_bytes),
            agreement = if (any(is_compared(rows))) col_words("accounts", rows$agreement))
}

format_agent <- function(report) {
  c(
    wrap_line(report_sentences(report), 0),
    "",
    if (NROW(report$agents) > 1) {
      c(table_lines(several_table(report$agents, report$margin, whole = TRUE)),
        wrap_line(several_legend(report$margin, whole = TRUE)), "")
    },
    unlist(lapply(
      list(cost_part(report), mechanisms_part(report), accounts_part(report$accounts), agreement_part(report),
           tasks_part(report), bursts_part(report$bursts)),
      part_lines
    )),
    wrap_line(agent_warnings(report)),
    format_notes(report$notes)
  )
}

node_label <- function(rows) {
  ifelse(is.na(rows$launch), paste(rows$host, "(all launches)"), paste0(rows$launch, ", ", rows$host))
}

format_bytes <- function(x) {
  scale <- c("MB" = 1e6, "kB" = 1e3, "B" = 1)
  vapply(x, function(b) {
    if (is.na(b)) return("-")
    unit <- which(b >= scale)[1]
    if (is.na(unit)) unit <- 3
    paste(three(b / scale[[unit]]), names(scale)[unit])
  }, "")
}

accounts_part <- function(rows) {
  if (nrow(rows) == 0) {
    return(new_part("no account of the agent (agent.HOST.csv is missing or has no on half)", NULL))
  }
  new_part(
    "what it used",
    account_columns(rows),
    remarks = paste0(
      sprintf(
        paste0("%s: %s was on for %s of measured time; %s context switches and %s processes started per s, ",
               "%s processes; read %s per s"),
        node_label(rows),
        rows$kind,
        vapply(rows$seconds, format_span, ""),
        three(rows$switches_per_s),
        three(rows$started_per_s),
        three(rows$processes),
        format_bytes(rows$read_bytes_per_s)
      ),
      ifelse(
        is.na(rows$switch_ns_p50),
        "",
        sprintf("; switching it: median %s, longest %s", format_time(rows$switch_ns_p50 / 1e9),
                format_time(rows$switch_ns_max / 1e9))
      ),
      sprintf("; noiselab's observer %s %% of one CPU, of it %s on CPUs of ranks",
              three(rows$observer_percent), three(rows$observer_on_ranks_percent)),
      ifelse(rows$scraper_percent > 0 & !is.na(rows$scraper_percent),
             sprintf("; the scraper %s %%", three(rows$scraper_percent)), "")
    )
  )
}

cost_part <- function(report) {
  taken <- main_taken(report$taken)
  answers <- report$answers
  if (NROW(taken) + NROW(answers) == 0) return(NULL)
  launch <- ifelse(is.na(taken$launch), "all launches", taken$launch)
  new_part(
    "what it costs",
    if (!is.null(answers)) answer_table(report$analysis),
    remarks = c(
      unique(sprintf("no figure by bursts: %s", answers$reason[!is.na(answers$reason)])),
      ifelse(
        !is.na(taken$reason),
        sprintf("%s: not known what it took: %s", launch, taken$reason),
        sprintf(
          paste0("%s: ranks waited for the agent %s %% of one CPU %s, %s would have been detected; for ",
                 "others %s, for kernel threads %s, for noiselab %s, for unknown %s"),
          launch,
          three(taken$taken_percent),
          format_ends(taken$taken_low, taken$taken_high),
          three(taken$limit_percent),
          three(taken$others_percent),
          three(taken$kernel_percent),
          three(taken$noiselab_percent),
          three(taken$unknown_percent)
        )
      )
    )
  )
}

# Of each treatment: what was counted more, or less, with it.
mechanisms_part <- function(report) {
  rows <- report$mechanisms
  if (NROW(rows) == 0) return(NULL)
  new_part(
    sprintf("what changed besides (on minus off, %g %% CI; a node's ranks' CPUs together)",
            100 * (1 - 2 * report$alpha)),
    mechanism_columns(rows),
    remarks = c(
      uncounted_notes(report$campaign),
      paste(
        paste0("named: there is more of it by Holm's correction over the counters, it could cost 0.05 % or ",
               "more by the most that one event costs,"),
        "and neither bursts nor another counter that is named bring it"
      )
    )
  )
}

is_compared <- function(accounts) !is.na(accounts$preempted_us_per_s)

agreement_part <- function(report) {
  rows <- report$accounts
  if (nrow(rows) == 0) return(NULL)
  remark <- ifelse(is.na(rows$reason), rows$cause, rows$reason)
  shown <- !is.na(remark) & nzchar(remark)
  said <- paste0(rows$agreement, ifelse(shown, paste0(" (", remark, ")"), ""))
  figures <- sprintf(
    "ranks lost %s %s, agent used %s on their CPUs, %sdifference %s %s, allowed %s: ",
    three(rows$preempted_us_per_s), format_ends(rows$preempted_low, rows$preempted_high),
    three(rows$agent_us_per_s),
    ifelse(is.na(rows$others_us_per_s), "", sprintf("other tasks %s, ", three(rows$others_us_per_s))),
    three(rows$difference_us_per_s), format_ends(rows$difference_low, rows$difference_high),
    three(rows$tolerance_us_per_s)
  )
  new_part(
    sprintf(
      paste0("does the agent's own CPU time explain what the ranks lost? (\u00b5s per second, on minus off, ",
             "%g %% CI)"),
      100 * (1 - 2 * report$alpha)
    ),
    NULL,
    remarks = c(
      paste0(node_label(rows), ": ", ifelse(is_compared(rows), figures, ""), said),
      if (any(is_compared(rows))) {
        paste0("allowed, fixed before measuring: a tenth of the agent's CPU time or 500 \u00b5s/s, ",
               "whichever is larger")
      }
    )
  )
}

format_ends <- function(low, high) ifelse(is.na(low), "-", paste0("[", three(low), ", ", three(high), "]"))

tasks_part <- function(report, most = 8) {
  tasks <- report$tasks
  if (NROW(tasks) == 0) return(NULL)
  arm <- paste(tasks$launch, tasks$host, arm_label(tasks), sep = ", ")
  rank <- stats::ave(seq_along(arm), arm, FUN = seq_along)
  rest <- c(table(arm[rank > most]))
  new_part(
    "who took the CPU of the ranks",
    task_table(tasks[rank <= most, ], arm[rank <= most]),
    report$evidence,
    c(
      if (length(rest) > 0) {
        sprintf("and of %s %d more (--csv --table tasks)", names(rest), rest)
      },
      paste(
        paste0("share: of the shift of the ranks' preempted time that the task explains, with the interval ",
               "of that shift; irq,"),
        "softirq and steal are from /proc/stat, in steps of a clock tick"
      )
    )
  )
}

task_table <- function(rows, by = NULL) {
  new_table(task = col_words("task", substr(rows$task, 1, 18)), group = col_words("group", rows$group),
            cpus = col_words("CPUs", substr(rows$cpus, 1, 5)),
            bursts_per_s = col_number("bursts/s", rows$bursts_per_s, three),
            us_per_s = col_number("\u00b5s/s on", rows$us_per_s, three),
            off_us_per_s = col_number("off", rows$off_us_per_s, three),
            p50_us = col_number("p50 \u00b5s", rows$p50_us, three),
            max_us = col_number("longest", rows$max_us, three), share = col_words("share", share_words(rows)),
            by = by)
}

share_words <- function(rows) {
  ifelse(
    is.na(rows$share),
    "-",
    ifelse(abs(rows$share_low) < 0.005 & abs(rows$share_high) < 0.005, "0 %",
           sprintf("%.0f %% [%.0f, %.0f]", 100 * rows$share, 100 * rows$share_low, 100 * rows$share_high))
  )
}

arm_label <- function(rows) {
  ifelse(has_level(rows$level_requested_percent),
         paste0(rows$kind, ", ", format_level(rows$level_requested_percent), " %"), rows$kind)
}

bursts_part <- function(rows) {
  if (NROW(rows) == 0) return(NULL)
  found <- rows[!is.na(rows$period_s), ]
  lacking <- rows[is.na(rows$period_s), ]
  new_part(
    "when it takes them",
    NULL,
    remarks = c(
      sprintf("%s: %s, %s bursts in %s activities; lengths \u00b5s: p50 %s, p90 %s, p99 %s, longest %s",
              node_label(rows), rows$source, format_count(rows$n_bursts), format_count(rows$n_activities),
              three(rows$p50_us), three(rows$p90_us), three(rows$p99_us), three(rows$max_us)),
      sprintf(
        "%s: period %s, %s \u00b5s in each, by %s",
        node_label(found),
        ifelse(found$period_by == "given", format_time(signif(found$period_s, 4)),
               period_words(found$period_s, (found$period_high - found$period_low) / 2)),
        three(found$per_period_us),
        ifelse(
          found$period_by == "given",
          "what was given or measured before",
          ifelse(found$period_by == "distances",
                 sprintf("%s distances of activities", format_count(found$n_distances)),
                 sprintf("the spectrum (false-alarm probability %s)", format_p(found$fap)))
        )
      ),
      sprintf("%s: no period (%s)", node_label(lacking), lacking$reason)
    )
  )
}

# What is known of an agent, or NULL; computed once for section and plots.
agent_of <- function(analysis) {
  if (!is.null(analysis$agent)) return(analysis$agent)
  campaign <- analysis$campaign
  if (NROW(campaign$agents) + NROW(campaign$tasks) + NROW(campaign$bursts) == 0) return(NULL)
  # of two versions the new one; what they differ by stands in a section of its own
  if (has_versions(campaign)) {
    names <- unlist(Filter(Negate(is.null), lapply(unname(campaign$launches), versions_of))[1])
    return(agent_report(only_version(campaign, names[["new"]]), analysis$alpha, analysis$margin))
  }
  agent_report(campaign, analysis$alpha, analysis$margin, if (!is_clean(analysis)) analysis,
               analysis$scale_margin)
}
