# The files of an agent (docs/reference/formats.md): its account, who ran on the ranks' CPUs, and the single
# bursts; with any load what was counted.

# Has this launch switched an agent by itself? Its options say so also in a launch that was killed.
switches_agent <- function(info) {
  # A setting of the operating system is switched in the same way, and is no agent.
  if (is.list(info$options$settings)) return(FALSE)
  length(info$agents) > 0 || isTRUE(info$n_agents > 0) || is_text(info$options[["agent"]])
}

# `agents`, `tasks` and `counters` (data.tables), `bursts` (data frame: launch, host, file) and `notes` of
# one launch.
read_agent_files <- function(dir, info) {
  agents <- read_host_tables(dir, "agent", agent_rules, info)
  tasks <- read_host_tables(dir, "tasks", task_rules, info)
  counters <- read_host_tables(dir, "counters", counted_rules, info)
  files <- list.files(dir, "^bursts\\..+\\.trace$")
  bursts <- data.frame(launch = rep(info$launch, length(files)),
                       host = sub("^bursts\\.(.+)\\.trace$", "\\1", files),
                       file = file.path(rep(dir, length(files)), files))
  # A launch of the other arm has no agent to account for.
  absent <- if (switches_agent(info)) c(
    if (nrow(agents$data) == 0) "agent.HOST.csv (the agent's account, and its agreement with preempted time)",
    if (nrow(tasks$data) == 0) "tasks.HOST.csv (who took the CPU)"
  )
  list(
    agents = agents$data,
    tasks = tasks$data,
    bursts = bursts,
    counters = counters$data,
    notes = c(agents$notes, tasks$notes, counters$notes, agent_certificate_notes(info),
              sprintf("launch %s: no %s", info$launch, absent))
  )
}

# One file per node, bound together.
read_host_tables <- function(dir, name, rules, info) {
  parts <- lapply(list.files(dir, paste0("^", name, "\\..+\\.csv$"), full.names = TRUE), function(file) {
    part <- read_contract_csv(file, rules, info, blank_off = TRUE)
    refuse_row(part$data[["launch"]] != info$launch, file, function(at) {
      paste0("launch is '", part$data[["launch"]][at], "', launch.json says '", info$launch, "'")
    })
    part
  })
  if (length(parts) == 0) return(list(data = empty_table(rules)))
  list(data = data.table::rbindlist(lapply(parts, `[[`, "data"), use.names = TRUE),
       notes = unlist(lapply(parts, `[[`, "notes"), use.names = FALSE))
}

agent_certificate_notes <- function(info) {
  unlist(lapply(info$agents, function(agent) {
    say <- function(...) paste0("launch ", info$launch, ", agent ", printable(agent$name %||% "?"), " on ",
                                printable(agent$host), ": ", ...)
    died <- !is.null(agent$died) && !identical(agent$died, FALSE)
    changed <- is_text(agent$state_found) && is_text(agent$state_left) &&
      agent$state_found != agent$state_left
    c(if (died) say("died during the run (", show_json(agent$died), "): halves after that are without it"),
      if (changed) say("was found ", printable(agent$state_found), " and left ", printable(agent$state_left)),
      vapply(agent$warnings, function(w) say("warning: ", printable(w)), ""))
  }), use.names = FALSE)
}

# What two commands switched is off after the last launch, where nobody said how it was before: said first.
# NULL where that is not so.
left_off_sentence <- function(campaign) {
  agents <- unlist(lapply(campaign$launches, `[[`, "agents"), recursive = FALSE)
  is_left_off <- vapply(
    agents, function(agent) is_text(agent$state_left) && startsWith(agent$state_left, "off, switched by"), NA
  )
  names <- unique(vapply(agents[is_left_off], function(agent) printable(agent$name %||% "the agent"), ""))
  if (length(names) == 0) return(NULL)
  sprintf(
    paste0("%s is off now: --agent-off was run last, and whether it was on before is not known ",
           "(--agent-found on or off)."),
    join_words(names)
  )
}
