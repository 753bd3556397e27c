# The report's section on an agent: what it used, what it took, when, and who else.

# What is known of an agent, or NULL; computed once for section and plots.
agent_of <- function(analysis) {
  if (!is.null(analysis$agent)) return(analysis$agent)
  campaign <- analysis$campaign
  if (NROW(campaign$agents) + NROW(campaign$tasks) + NROW(campaign$bursts) == 0) return(NULL)
  agent_report(campaign, analysis$alpha, analysis$margin, if (!is_clean(analysis)) analysis)
}

report_agent_fold <- function(analysis) if (!is.null(analysis$agent)) details_tag("The agent: what it used and took",
    agent_section(analysis$agent))

agent_section <- function(report) {
  tags <- htmltools::tags
  sentences <- report_sentences(report)
  list(if (length(sentences) > 0) tags$ul(lapply(upper_first(sentences), tags$li)),
       if (NROW(report$agents) > 1) {
         page_table(several_table(report$agents, report$margin, TRUE), "The agents side by side", several_legend(report$margin))
       },
       account_table(report$accounts), agreement_table(report), task_tables(report), bursts_table(report$bursts),
       switched_table(report$campaign))
}

account_table <- function(rows) {
  if (nrow(rows) == 0) return(htmltools::tags$p("No account of the agent was recorded (agent.HOST.csv)."))
  html_table(list(
    node = node_label(rows), agent = rows$kind, "on for s" = three(rows$seconds), "CPU %" = three(rows$cpu_percent),
    "on ranks' CPUs %" = three(rows$on_ranks_percent), "CPU % when off" = three(rows$off_cpu_percent),
    "scraper %" = three(rows$scraper_percent), "wake-ups/s" = three(rows$wakeups_per_s), "switches/s" = three(rows$switches_per_s),
    processes = three(rows$processes), "started/s" = three(rows$started_per_s), memory = format_bytes(1024 * rows$rss_kib),
    "read/s" = format_bytes(rows$read_bytes_per_s), "written/s" = format_bytes(rows$written_bytes_per_s),
    "observer %" = three(rows$observer_percent)
  ), "What the agent used in its halves, by its own account",
  "Percent of one CPU. Observer: noiselab's companion that keeps the account.",
  text = c("node", "agent"))
}

agreement_table <- function(report) {
  rows <- report$accounts
  if (nrow(rows) == 0) return(NULL)
  list(html_table(list(
    node = node_label(rows), agent = rows$kind, "ranks lost" = three(rows$preempted_us_per_s),
    CI = format_ends(rows$preempted_low, rows$preempted_high), "agent used" = three(rows$agent_us_per_s),
    "others" = three(rows$others_us_per_s),
    difference = three(rows$difference_us_per_s), "CI " = format_ends(rows$difference_low, rows$difference_high),
    allowed = three(rows$tolerance_us_per_s), pairs = format_count(rows$n_pairs), answer = marked(rows$agreement)
  ), "Does the agent's own CPU time explain what the ranks lost?",
  sprintf(paste("\u00b5s per second, on minus off, with %g %% intervals. Agent used: on the ranks' CPUs. Others: all other tasks there, by",
                "the records of the CPUs. Allowed: a tenth of the agent's CPU time or 500 \u00b5s/s, whichever is larger."), 100 * (1 - 2 * report$alpha)),
  text = c("node", "agent", "answer"), verdict = rows$agreement),
  reasons_fold(node_label(rows), ifelse(is.na(rows$reason), rows$cause, rows$reason), "they differ or cannot be compared"))
}

task_tables <- function(report, most = 12) {
  tasks <- report$tasks
  tags <- htmltools::tags
  if (NROW(tasks) == 0) return(tags$p("Who took the CPU was not recorded (tasks.HOST.csv)."))
  arm <- in_order(paste(tasks$launch, tasks$host, arm_label(tasks), sep = ", "))
  shown <- unlist(lapply(split(seq_len(nrow(tasks)), arm), utils::head, most), use.names = FALSE)
  rows <- tasks[shown, ]
  groups <- report$groups
  list(
    tags$p("Who took the CPU of the ranks:"), tags$ul(lapply(report$evidence, tags$li)),
    html_table(list(
      node = paste0(rows$launch, ", ", rows$host), arm = arm_label(rows), task = rows$task, group = rows$group, CPUs = rows$cpus,
      "bursts/s" = three(rows$bursts_per_s), "\u00b5s/s on" = three(rows$us_per_s), off = three(rows$off_us_per_s),
      "p50 \u00b5s" = three(rows$p50_us), p90 = three(rows$p90_us), p99 = three(rows$p99_us), longest = three(rows$max_us),
      threads = three(rows$threads), "share of what the ranks lost" = share_words(rows)
    ), paste0("Tasks on the ranks' CPUs in measured halves, the largest shift first",
              if (length(shown) < nrow(tasks)) {
                sprintf(" (%d of %d rows; all: noiselab analyze agent --csv --table tasks)", length(shown), nrow(tasks))
              },
              ". Share: of the shift of the ranks' preempted time, with its interval. Rows irq, softirq and steal are from /proc/stat, in ",
              "steps of a clock tick; steal is what the hypervisor took."),
    text = c("node", "arm", "task", "group", "CPUs")),
    html_table(list(
      node = paste0(groups$launch, ", ", groups$host), arm = arm_label(groups), group = groups$group,
      "\u00b5s/s on" = three(groups$us_per_s),
      off = three(groups$off_us_per_s), "on minus off" = signed_three(groups$shift_us_per_s), share = share_words(groups)
    ), "The same by group", text = c("node", "arm", "group"))
  )
}

bursts_table <- function(rows) {
  if (NROW(rows) == 0) return(htmltools::tags$p("No single bursts were kept (bursts.HOST.trace)."))
  html_table(list(
    node = node_label(rows), source = rows$source, bursts = format_count(rows$n_bursts), activities = format_count(rows$n_activities),
    "per s" = three(rows$activities_per_s), CPUs = rows$cpus, "p50 \u00b5s" = three(rows$p50_us), p90 = three(rows$p90_us),
    p99 = three(rows$p99_us), longest = three(rows$max_us), period = period_interval(rows),
    "\u00b5s per period" = three(rows$per_period_us),
    remark = ifelse(is.na(rows$reason), ifelse(rows$period_by == "spectrum", "period by the spectrum", "period by distances"), rows$reason)
  ), "When the agent took the CPU", paste("Intervals in which the ranks' CPUs were taken while the agent was on. Bursts that follow each other closely are one activity; lengths",
           "are those of activities, in time on the CPU. \u00b1: half the interval of the period."),
  text = c("node", "source", "CPUs", "remark"), wrap = "remark")
}

# How the agent was switched, by the companions' certificates.
switched_table <- function(campaign) {
  rows <- unlist(lapply(unname(campaign$launches), function(info) lapply(info$agents, function(a) c(list(launch = info$launch), a))),
                 recursive = FALSE)
  if (length(rows) == 0) return(NULL)
  of <- function(key) cells_of(rows, function(r) r[[key]])
  times <- function(which) cells_of(rows, function(r) {
    s <- r$switching[[which]]
    if (is.null(s)) "-" else sprintf("%s, longest %s, n = %s", format_time((s$p50_ns %||% NA_real_) / 1e9),
                                     format_time((s$max_ns %||% NA_real_) / 1e9), show_json(s$n))
  })
  html_table(list(launch = of("launch"), node = of("host"), agent = of("name"), "switched by" = of("way"), command = of("command"),
                  "found" = of("state_found"), "left" = of("state_left"),
                  "account by" = of("account"), scrapes = cells_of(rows, function(r) scrape_words(r$scraper)),
                  died = cells_of(rows, function(r) show_json(r$died, "no")), "switch on" = times("on"), "switch off" = times("off")),
             "How the agent was switched, and in which state it was found and left",
             text = c("launch", "node", "agent", "switched by", "command", "found", "left", "account by", "scrapes", "died",
                      "switch on", "switch off"),
             wrap = "command")
}

scrape_words <- function(scraper) {
  if (is.null(scraper)) return("none")
  sprintf("%s, failed %s, skipped %s", show_json(scraper$scrapes), show_json(scraper$failed), show_json(scraper$skipped))
}
