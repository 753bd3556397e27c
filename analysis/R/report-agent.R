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
       account_table(report$accounts), part_tags(agreement_part(report)),
       if (NROW(report$tasks) > 0) part_tags(tasks_part(report)) else tags$p("Who took the CPU was not recorded (tasks.HOST.csv)."),
       if (NROW(report$bursts) > 0) part_tags(bursts_part(report$bursts)) else tags$p("No single bursts were kept (bursts.HOST.trace)."),
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
