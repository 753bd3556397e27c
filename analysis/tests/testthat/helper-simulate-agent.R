# Campaigns with a real agent, simulated, as launches write them that switch one on and off by themselves
# (docs/reference/formats.md): one arm without a level beside any arms of a generator (`levels_percent`),
# `agent.HOST.csv`, `tasks.HOST.csv`, `bursts.HOST.trace` and the certificates in `launch.json`. The agent
# wakes with its period by the node's clock, whether it is on or off; what falls into its on halves takes
# CPU time from the ranks. Beside it a task `kworker/1:2` runs now and then in both arms. `agent_burst_ns`:
# CPU time of one burst; `unaccounted`: share of the agent's CPU time by which the ranks lose more (below 0:
# less) than it; `source`: `cpu`, `thread` or `schedstat`; `lost_switches`: records lost per half; `others`:
# was the rest of the ranks' preempted time recorded as that of other tasks? `scraper_percent`: CPU time of
# what asks the agent, of one CPU. `...`: of simulate_campaign(),
# but `external`, `start`, `raw`.
simulate_agent_campaign <- function(dir, name = "collectd", agent_period_ns = 1e8, agent_burst_ns = 41000,
                                    slowdown_percent = 0.2, levels_percent = numeric(), unaccounted = 0,
                                    source = "cpu", lost_switches = 0, others = FALSE, half_period_ns = 2e8,
                                    design = "lockin", scraper_percent = 0, ...) {
  check_argument(is_text(dir), "dir", dir, "one directory name")
  check_argument(source %in% names(task_sources), "source", source,
                 paste(names(task_sources), collapse = ", "))
  given <- list(half_period_ns = half_period_ns, design = design, ...)
  of_agent <- do.call(simulation_of, c(given, list(external = name, slowdown_percent = slowdown_percent)))
  model <- of_agent
  if (length(levels_percent) > 0) {
    model <- do.call(simulation_of, c(given, list(levels_percent = levels_percent)))
    model$truth <- Map(c, model$truth, of_agent$truth)
  } else {
    model$kinds <- model$patterns <- model$placements <- model$phases <- character()
  }
  model["external"] <- list(NULL)
  model$agent <- list(name = name, period_ns = agent_period_ns, burst_ns = agent_burst_ns,
                      unaccounted = unaccounted, source = source, lost_switches = lost_switches,
                      others = others, scraper_percent = scraper_percent)
  model$companion <- list(load = agent_load, files = simulate_agent_files)
  each_launch(model, function(id, launch) simulate_launch(file.path(dir, id), id, launch))
  invisible(truth_frame(model))
}

# Bursts of the halves `on`: `start_ns`, `duration_ns`, `half`; and the CPU time in each half.
draw_agent <- function(agent, start, wall, on) {
  n <- max(1, ceiling((start[length(start)] + wall[length(wall)]) / agent$period_ns))
  wakes <- with_seed(length(start) + 1, {
    data.frame(start_ns = (seq_len(n) - 0.63) * agent$period_ns + stats::runif(n, 0, 2e4),
               duration_ns = agent$burst_ns * exp(stats::rnorm(n, 0, 0.2)))
  })
  half <- findInterval(wakes$start_ns, start)
  inside <- half > 0 & wakes$start_ns + wakes$duration_ns < start[pmax(1, half)] + wall[pmax(1, half)] &
    on[pmax(1, half)]
  bursts <- round(wakes[inside, ])
  bursts$half <- half[inside]
  cpu <- numeric(length(start))
  sums <- rowsum(bursts$duration_ns, bursts$half)
  cpu[as.numeric(rownames(sums))] <- sums[, 1]
  list(bursts = bursts, cpu_ns = cpu)
}

# CPU time of the agent in its halves `mine`, and what the ranks lose to it, ns.
agent_load <- function(model, start, wall, mine) {
  delivered <- draw_agent(model$agent, start, wall, mine)$cpu_ns[mine] * length(model$noise_nodes)
  list(delivered_ns = delivered, load_ns = round(delivered * (1 + model$agent$unaccounted)))
}

# Writes the files of every treated node and returns the launch's facts with the certificates.
simulate_agent_files <- function(dir, id, rows, preempted, info, model) {
  agent <- model$agent
  mine <- rows[["arm"]] == "on" & !has_level(rows[["level_requested_percent"]])
  drawn <- draw_agent(agent, rows[["start_ns"]], rows[["wall_ns"]], mine)
  node <- simulated_nodes(model)
  by_node <- t(rowsum(t(preempted), node))
  hosts <- paste0("node", model$noise_nodes)
  for (i in seq_along(hosts)) {
    write <- function(table, name) {
      data.table::fwrite(as_in_files(table), file.path(dir, paste0(name, ".", hosts[i], ".csv")), na = "",
                         scipen = 50)
    }
    write(
      simulate_account(id, hosts[i], model$noise_nodes[i] - 1, rows, by_node[, model$noise_nodes[i]], drawn,
                       agent, mine),
      "agent"
    )
    write(simulate_tasks(id, hosts[i], rows, drawn, agent, mine), "tasks")
    if (agent$source %in% c("cpu", "thread")) {
      simulate_trace(file.path(dir, paste0("bursts.", hosts[i], ".trace")), hosts[i], drawn, agent)
    }
  }
  info$options$agent <- info$options$agent_cmd <- agent$name
  info$n_agents <- length(hosts)
  info$options$agent_period_ns <- agent$period_ns
  info$agents <- lapply(hosts, function(host) {
    list(
      host = host,
      name = agent$name,
      way = "cmd",
      command = agent$name,
      source = agent$source,
      source_reason = if (agent$source == "cpu") {
        ""
      } else {
        "perf_event_open: permission denied (perf_event_paranoid 2)"
      },
      state_found = "not running",
      state_left = "not running",
      lost_switches = agent$lost_switches * nrow(rows)
    )
  })
  info
}

simulate_account <- function(id, host, node, rows, preempted, drawn, agent, mine) {
  n <- nrow(rows)
  count <- tabulate(drawn$bursts$half, n)
  data.frame(
    launch = id,
    node = node,
    host = host,
    operation = rows[["operation"]],
    bytes = rows[["bytes"]],
    pair = rows[["pair"]],
    order = rows[["order"]],
    arm = rows[["arm"]],
    kind = as.character(rows[["kind"]]),
    level_requested_percent = rows[["level_requested_percent"]],
    start_ns = rows[["start_ns"]],
    wall_ns = rows[["wall_ns"]],
    preempted_ns = preempted,
    switch_ns = 9e4,
    settle_ns = 5e6,
    agent_cpu_ns = round(drawn$cpu_ns * 1.2),
    agent_on_ranks_ns = drawn$cpu_ns,
    others_on_ranks_ns = 0,
    preempted_by_agent_ns = drawn$cpu_ns,
    preempted_by_others_ns = if (agent$others) {
      pmax(0, preempted - drawn$cpu_ns)
    } else {
      0
    },
    preempted_by_kernel_ns = 0,
    preempted_by_noiselab_ns = 0,
    preempted_unknown_ns = 0,
    scraper_cpu_ns = ifelse(mine, round(rows[["wall_ns"]] * agent$scraper_percent / 100), 0),
    wakeups = count,
    voluntary_switches = count,
    involuntary_switches = 0,
    migrations = 0,
    processes = ifelse(mine, 3, 0),
    started = 0,
    rss_kib = ifelse(mine, 12400, 0),
    read_bytes = 2048 * count,
    written_bytes = 0,
    observer_cpu_ns = 20000,
    observer_on_ranks_ns = 0,
    lost_switches = agent$lost_switches,
    switch_ins = 2 * count + 3,
    switch_outs = 2 * count + 3
  )
}

# The agent where it was on, and a kernel thread of 30 us every 50 ms or so everywhere.
simulate_tasks <- function(id, host, rows, drawn, agent, mine) {
  code <- combine_keys(code_of(rows[["arm"]]), rows[["level_requested_percent"]])
  line <- function(at, task, group, bursts, each) {
    known <- agent$source %in% c("cpu", "thread")
    data.frame(launch = id, host = host, source = agent$source, arm = rows[["arm"]][at[1]],
               kind = as.character(rows[["kind"]])[at[1]],
               level_requested_percent = rows[["level_requested_percent"]][at[1]], cpu = 1, task = task,
               group = group, bursts = bursts, cpu_ns = NA, wall_ns = round(bursts * each),
               p50_ns = if (known) each else NA, p90_ns = if (known) round(1.3 * each) else NA,
               p99_ns = if (known) round(1.6 * each) else NA, max_ns = if (known) 2 * each else NA,
               threads = 1)
  }
  parts <- lapply(unique(code), function(x) {
    at <- which(code == x)
    seconds <- sum(rows[["wall_ns"]][at]) / 1e9
    took <- drawn$bursts[drawn$bursts$half %in% at, ]
    own <- if (agent$source == "thread") c("?", "preempted") else c(agent$name, "agent")
    other <- if (agent$source == "thread") c("?", "yielded") else c("kworker/1:2", "kernel")
    rbind(
      if (nrow(took) > 0) {
        line(at, own[1], own[2], nrow(took), round(mean(took$duration_ns)))
      },
      line(at, other[1], other[2], round(20 * seconds), 30000),
      line(at, "softirq", "softirq", round(100 * seconds), 2000),
      line(at, "steal", "steal", 0, 0)
    )
  })
  bind_rows(parts)
}

simulate_trace <- function(file, host, drawn, agent) {
  bursts <- drawn$bursts
  # What a rank records of itself has no name, so the kernel thread is in it, too.
  if (agent$source == "thread") bursts <- with_noise_bursts(bursts)
  lines <- sprintf("%.0f\t%.0f\t%d\t-\t%s", bursts$start_ns, bursts$duration_ns, 1L,
                   if (agent$source == "thread") "?" else agent$name)
  writeLines(
    c(paste("# source:", agent$source), "# origin: 1000000000", paste("# host:", host),
      paste("# lost:", agent$lost_switches), "# start_ns\tduration_ns\tcpu\tkind\ttask", lines),
    file
  )
}

with_noise_bursts <- function(bursts) {
  last <- max(bursts$start_ns)
  n <- ceiling(last / 5e7)
  noise <- with_seed(
    n, data.frame(start_ns = sort(round(stats::runif(n, 0, last))), duration_ns = 30000, half = NA)
  )
  all <- rbind(bursts, noise)
  all[order(all$start_ns), ]
}

