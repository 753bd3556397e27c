# The noise of a node, as far as the projection to many nodes knows it: what a burst costs, how often one
# comes, and how well that is known.

# What is fixed before anything is measured.
project_design <- list(
  # drawn anew they tell how well its slowdown is known; bursts in each, where they come one by one
  blocks_of_record = c(8, 32), per_block = 5,
  resampled = 24,           # so many times,
  most_resampled = 2e5,     # with so many bursts at most
  much = 0.02,              # of a node's time: from there on steps that meet several of its bursts decide
  blocks = c(16, 64, 256),  # of time, for the index of dispersion
  # times as far from the figure as the lower end an upper end may lie that rests on what was never seen; but
  # up to so many times the figure in any case, and never beyond
  most_uneven = 2,
  open_from = c(1.5, 3),
  # so improbable must so even counts be by chance, before they are taken for regular
  regular = 0.001,
  most_costs = 4096,
  # of records, and of traces: more takes more than 1 GiB, and ten seconds
  most_bursts = 1.5e6, most_bytes = 2^26
)

# Noise of which no times are known, only how long bursts are (`costs_s`, each as likely): they come at any
# time (`rate_hz`), or once a `period_s`. `scale`: low and high end of the factor that the costs are known
# by; `watched_s`: node-seconds, Inf: declared, not measured; `n_bursts`: seen in that time; `dispersion`:
# of their number, 1: of a Poisson process; `nodes_sd`: what the logarithms of the nodes' rates are known by
# (Student's t of `n_nodes` - 1 degrees), beyond chance.
node_noise <- function(name, costs_s, period_s = NA_real_, rate_hz = NA_real_, scale = c(1, 1),
                       watched_s = Inf, n_bursts = length(costs_s), n_nodes = 1, dispersion = 1,
                       cost_words = "", notes = character(), nodes_sd = 0) {
  noise <- list(name = name, costs_s = sort(costs_s), period_s = period_s,
                rate_hz = if (is.na(period_s)) rate_hz else 1 / period_s, scale = scale,
                watched_s = watched_s, n_bursts = n_bursts, n_nodes = n_nodes,
                dispersion = max(1, dispersion), nodes_sd = nodes_sd, cost_words = cost_words, notes = notes,
                tail = if (is.finite(watched_s)) tail_shape(costs_s), longer = 1, units = 1)
  if (noise_load(noise) >= 1) refuse_load(noise$name, noise$costs_s, noise$rate_hz)
  noise
}

refuse_load <- function(name, costs_s, rate_hz) {
  abort_data(name, ": bursts of ", format_time(mean(costs_s)), ", ", format_level(rate_hz),
             " per second, leave no time to work")
}

noise_load <- function(noise) noise$rate_hz * mean(noise$costs_s)

# Noise that was recorded: a train that can be walked. `watched`: a row per unbroken record (`node`,
# `seconds`); `bursts`: `record` (a row of those), `start_s`, `stop_s` (from the begin of the record), `cpu`
# (NA: the only one). Each CPU is a rank, and the ranks of a node wait for each other. `cost_ratio`: what a
# burst costs, in times of its length; `period_s`: as somebody said. The rest as in `node_noise()`, where
# costs are those of `node_activities()`.
node_train <- function(name, bursts, watched, scale = c(1, 1), cost_ratio = 1, cost_words = "",
                       notes = character(), period_s = NA_real_) {
  if (nrow(bursts) > project_design$most_bursts) {
    abort_data(name, ": ", format_count(nrow(bursts)), " bursts are more than the ",
               format_count(project_design$most_bursts),
               " that can be walked: take some tasks only, or less time")
  }
  bursts <- queue_bursts(bursts, cost_ratio)
  cpus <- max(bursts$cpu) + 1
  queue <- bursts$record * cpus + bursts$cpu
  load <- rowsum(bursts$cost_s, queue, reorder = FALSE)[, 1] /
    watched$seconds[bursts$record[!duplicated(queue)]]
  if (any(load >= 1 - 1e-6)) refuse_load(name, bursts$cost_s, nrow(bursts) / sum(watched$seconds))
  done <- node_activities(bursts)
  n <- tabulate(done$record, nrow(watched))
  over_time <- max(
    0,
    vapply(which(n > 1),
           function(i) count_dispersion(done$start_s[done$record == i], watched$seconds[i])$times, 0)
  )
  dispersion <- max(over_time, unequal_records(watched$node, n, watched$seconds))
  if (dispersion == 0) dispersion <- 1
  lost_s <- as.numeric(rowsum(c(done$cost_s, rep(0, nrow(watched))), c(done$record, seq_len(nrow(watched)))))
  watched_s <- sum(watched$seconds)
  noise <- list(
    name = name,
    costs_s = sort(done$cost_s),
    period_s = NA_real_,
    rate_hz = nrow(done) / watched_s,
    scale = scale,
    watched_s = watched_s,
    n_bursts = nrow(done),
    n_nodes = length(unique(watched$node)),
    dispersion = dispersion,
    nodes_sd = unequal_nodes(watched$node, n, lost_s, watched$seconds,
                             dispersion * (1 + stats::var(done$cost_s) / mean(done$cost_s)^2)),
    cost_words = cost_words,
    notes = notes,
    tail = tail_shape(done$cost_s),
    longer = 1,
    told_s = period_s,
    is_random = cpus == 1 && all(vapply(split(bursts, bursts$record), comes_at_random, TRUE, watched)),
    # CPUs that are hit by themselves, each on its own; 1: all of them together
    units = clamp(round(cpus * nrow(done) / nrow(bursts)), c(1, cpus))
  )
  noise$groups <- group_costs(noise$costs_s)
  noise$records <- engine_train(bursts, watched)
  noise
}

# As they queue on their CPUs, in the order of starts: `record`, `cpu` (from 0, as CPUs are numbered in all
# records), `start_s`, `cost_s`.
queue_bursts <- function(bursts, cost_ratio = 1) {
  n <- nrow(bursts)
  cpu <- bursts$cpu %||% rep(NA_real_, n)
  cpu[is.na(cpu)] <- -1
  cpu <- match(cpu, sort(unique(cpu))) - 1
  order <- in_turn(bursts$record, cpu, bursts$start_s)
  start_s <- bursts$start_s[order]
  # what lies behind 10 ps is lost in differences of times
  cost_s <- pmax(cost_ratio * round(bursts$stop_s[order] - start_s, 11), 1e-9)
  record <- bursts$record[order]
  cpu <- cpu[order]
  # The end of each: its own cost after the later of its start and the end of the one before it, as sums
  # from the queue's begin.
  for (at in split(seq_len(n), run_number(record, cpu))) {
    sums <- cumsum(cost_s[at])
    start_s[at] <- cummax(start_s[at] - sums + cost_s[at]) + sums - cost_s[at]
  }
  order <- in_turn(record, start_s)
  data.frame(record = record[order], cpu = cpu[order], start_s = start_s[order], cost_s = cost_s[order])
}

# The order of rows; of a million that are in order already it is dear to find.
in_turn <- function(...) {
  later <- TRUE
  for (key in rev(list(...))) {
    step <- diff(key)
    later <- step > 0 | step == 0 & later
  }
  if (all(later)) seq_along(..1) else order(...)
}

# Runs of equal pairs, numbered from 1.
run_number <- function(a, b) cumsum(c(length(a) > 0, diff(a) != 0 | diff(b) != 0))[seq_along(a)]

# What holds a node up: bursts that overlap, on whichever CPUs, are one activity. It costs what the CPU
# loses that loses most.
node_activities <- function(bursts) {
  n <- nrow(bursts)
  if (n == 0) return(data.frame(record = numeric(), start_s = numeric(), cost_s = numeric()))
  end <- bursts$start_s + bursts$cost_s
  span <- max(end) + 1
  far <- cummax(end + bursts$record * span) - bursts$record * span
  # (One behind the other is one: those that queue are.)
  new <- c(TRUE, diff(bursts$record) != 0 | bursts$start_s[-1] > far[-n] + 1e-8)
  group <- cumsum(new)
  if (bursts$cpu[1] == max(bursts$cpu) && bursts$cpu[1] == min(bursts$cpu)) {
    return(data.frame(record = bursts$record[new], start_s = bursts$start_s[new],
                      cost_s = as.numeric(rowsum(bursts$cost_s, group, reorder = FALSE))))
  }
  order <- order(group, bursts$cpu)
  run <- run_number(group[order], bursts$cpu[order])
  lost <- rowsum(bursts$cost_s[order], run, reorder = FALSE)[, 1]
  group <- group[order][!duplicated(run)]
  largest <- order(group, -lost)
  data.frame(record = bursts$record[new], start_s = bursts$start_s[new],
             cost_s = unname(lost[largest[!duplicated(group[largest])]]))
}

# As src/walk.c takes it: every node is as likely, of a node every second of its records.
engine_train <- function(bursts, watched) {
  nodes <- unique(watched$node)
  of_node <- rowsum(watched$seconds, match(watched$node, nodes))[match(watched$node, nodes), 1]
  share <- cumsum(watched$seconds / of_node / length(nodes))
  list(first = c(0L, as.integer(cumsum(tabulate(bursts$record, nrow(watched))))),
       length_s = as.numeric(watched$seconds), share = share / share[length(share)], start_s = bursts$start_s,
       cost_s = bursts$cost_s, cpu = as.integer(bursts$cpu), rate_hz = 0,
       bursts_hz = nrow(bursts) / sum(watched$seconds), span_s = max(watched$seconds), is_period = FALSE)
}

# The train of a period that was declared is one burst, again and again.
period_train <- function(noise) {
  bursts <- data.frame(record = 1, cpu = 0, start_s = 0, cost_s = noise$costs_s[1])
  train <- engine_train(bursts, data.frame(node = 1, seconds = noise$period_s))
  train$is_period <- TRUE
  train
}

# How much more, or less, than those of a Poisson process the counts of blocks of time scatter: `times`,
# below 1 only where that is no chance; `is_random`: they could be its counts.
count_dispersion <- function(start_s, span_s) {
  blocks <- project_design$blocks[project_design$blocks * 2 <= length(start_s)]
  if (length(blocks) == 0) return(list(times = 1, is_random = TRUE))
  each <- vapply(blocks, function(n) {
    counts <- tabulate(pmin(n, 1 + floor(n * start_s / span_s)), n)
    stats::var(counts) / mean(counts)
  }, 0)
  by_chance <- stats::pchisq((blocks - 1) * each, blocks - 1)
  improbable <- project_design$regular
  # What is left of it could be more by chance.
  times <- if (all(by_chance < improbable)) {
    max(1e-3, (blocks - 1) * each / stats::qchisq(0.05, blocks - 1))
  } else {
    max(1, each)
  }
  list(times = times, is_random = all(by_chance >= improbable & by_chance <= 1 - improbable))
}

# Do a record's bursts come as those of a Poisson process would, in the time that the ones before them leave?
comes_at_random <- function(bursts, watched) {
  count_dispersion(bursts$start_s - cumsum(bursts$cost_s) + bursts$cost_s,
                   watched$seconds[bursts$record[1]] - sum(bursts$cost_s))$is_random
}

# How much more than those of one Poisson process the counts of several records of the same nodes scatter
# (Pearson); 0: there are none.
unequal_records <- function(node, n, seconds) {
  sums <- rowsum(cbind(n, seconds), node, reorder = FALSE)
  expected <- (sums[, 1] / sums[, 2])[match(node, unique(node))] * seconds
  more <- length(n) - nrow(sums)
  known <- expected > 0
  if (more > 0 && any(known)) max(1, sum((n - expected)[known]^2 / expected[known]) / more) else 0
}

# What the mean node's load is known by (standard deviation of its logarithm), as far as nodes differ by
# more than chance. `uneven`: variance of the loads by chance, times the number of bursts.
unequal_nodes <- function(node, n, lost_s, seconds, uneven) {
  sums <- rowsum(cbind(n, lost_s, seconds), node, reorder = FALSE)
  if (nrow(sums) < 2 || sum(n) < 2) return(0)
  load <- sums[, 2] / sums[, 3]
  sqrt(max(0, stats::var(load / mean(load)) - uneven / mean(sums[, 1])) / nrow(sums))
}

# `files`: of a node each. `tasks`: only theirs, NULL: all. Nobody measured what the bursts cost the ranks.
noise_of_traces <- function(files, tasks = NULL, told_s = NA_real_) {
  if (sum(file.size(files), na.rm = TRUE) > project_design$most_bytes) {
    abort_usage("--trace: ", paste(files, collapse = " "), ": more than ",
                format_count(project_design$most_bytes / 2^20), " MiB: give fewer, or a shorter record")
  }
  bursts <- read_traces(files, tasks)
  if (nrow(bursts) == 0) {
    abort_data("--task: '", tasks[1], "' had no burst in ", paste(files, collapse = " "),
               did_you_mean(tasks[1], attr(bursts, "tasks")))
  }
  bursts$record <- bursts$node
  node_train(paste(tasks %||% basename(files), collapse = ", "), bursts,
             data.frame(node = seq_along(files), seconds = attr(bursts, "watched_s")),
             cost_words = by_cpu_time, notes = attr(bursts, "words"), period_s = told_s)
}

# Of the agent, or of the generator at the level asked for (the highest), what its bursts on the ranks' CPUs
# cost the operation that they cost most. `records`: of the agent with the bursts of others that work on its
# behalf, in place of its own alone: `parts` (as of part_of_halves()), and `scale`, the ends of the factor
# by which others' time is known.
noise_of_campaign <- function(campaign, level = NULL, told_s = NA_real_, reader = slices_reader(),
                              records = NULL) {
  rows <- campaign$rows
  on <- rows[["arm"]] == "on"
  agent <- on & is_agent_row(rows)
  if (any(agent)) {
    on <- agent
    refuse_several_agents(campaign, rows[agent, ])
    if (
      !all(vapply(unique(as.character(rows[["launch"]][agent])), knows_agents_tasks, TRUE,
                  campaign = campaign))
    ) {
      abort_data(no_tasks_of_its_own)
    }
  } else {
    levels <- sort(unique(rows[["level_requested_percent"]][on & rows[["level_requested_percent"]] > 0]))
    wanted <- level %||% max(levels, -Inf)
    if (!wanted %in% levels) {
      abort_data("no level ", format_level(wanted), " in ", paste(campaign$dirs, collapse = " "),
                 " (there is ", paste(format_level(levels), collapse = ", "), ")")
    }
    on <- on & rows[["level_requested_percent"]] == wanted
  }
  at_on <- if (any(agent)) undisturbed_rows(campaign, which(on)) else which(on)
  # cut short before a stretch
  if (length(at_on) == 0) at_on <- which(on)
  key <- paste(rows[["operation"]], rows[["bytes"]])
  cells <- lapply(unique(key[at_on]), function(one) {
    at <- at_on[key[at_on] == one]
    by_launch <- split(at, as.character(rows[["launch"]][at]))
    tracks <- lapply(names(by_launch), function(id) track_of_rows(campaign, id, by_launch[[id]], reader))
    known <- vapply(tracks, is.list, TRUE)
    if (!any(known)) {
      return(list(reason = c(unlist(Filter(is.character, tracks)), "no burst on a rank's CPU")[1]))
    }
    costs <- bind_rows(lapply(tracks[known], function(track) {
      cbind(launch = "-", operation = one, bytes = 0,
            cost_of_track(track, 0.01, 0.98, scheduled = !any(agent)))
    }))
    list(
      operation = rows[["operation"]][at[1]],
      tracks = tracks[known],
      cost = pool_locked(costs, 0.02),
      n_nodes = vapply(names(by_launch)[known],
                       function(id) max(1, length(loaded_hosts(campaign, id, any(agent)))), 0)
    )
  })
  title <- if (any(agent)) {
    agent_title(as.character(rows[["kind"]][on][1]), campaign)
  } else {
    sprintf("a load of %s %%", format_level(rows[["level_requested_percent"]][on][1]))
  }
  told <- if (is.na(told_s)) {
    campaign_period(campaign, rows[at_on, ][1, ])
  } else {
    told_s
  }
  lacking <- vapply(cells, function(cell) !is.null(cell$reason), TRUE)
  if (all(lacking)) {
    return(noise_of_times(campaign, rows[at_on, ], any(agent), title, told, cells[[1]]$reason, records))
  }
  cells <- cells[!lacking]
  measured <- vapply(
    cells, function(cell) cell$cost$state[1] == "measured" && isTRUE(cell$cost$amplification[1] > 0), TRUE
  )
  best <- if (any(measured)) {
    which(measured)[which.max(vapply(cells[measured], function(cell) cell$cost$amplification[1], 0))]
  } else {
    1
  }
  cell <- cells[[best]]
  cost <- cell$cost[1, ]
  amplify <- if (measured[best]) {
    c(cost$amplification, max(1e-3, cost$amplification_low), cost$amplification_high)
  } else {
    c(1, 1, 1)
  }
  # The windows of a launch are those of all its nodes: each has its share, in turn.
  parts <- lapply(seq_along(cell$tracks), function(i) {
    track <- cell$tracks[[i]]
    nodes <- cell$n_nodes[i]
    start_s <- track$all$on_record / 1e9
    list(
      bursts = data.frame(part = paste(i, seq_along(start_s) %% nodes + 1), start_s = start_s,
                          stop_s = start_s + track$all$cpu_ns / 1e9),
      watched = data.frame(part = paste(i, seq_len(nodes)), node = seq_len(nodes),
                           seconds = track$total_ns / 1e9)
    )
  })
  others <- c(1, 1)
  if (!is.null(records)) {
    parts <- records$parts
    others <- records$scale
  }
  node_train(
    title,
    in_records(parts),
    bind_rows(lapply(parts, `[[`, "watched")),
    scale = others * amplify[2:3] / amplify[1],
    cost_ratio = amplify[1],
    period_s = told,
    cost_words = if (measured[best]) {
      sprintf("%s times its CPU time, as %s had it", format_effect(amplify[1], FALSE), cell$operation)
    } else {
      by_cpu_time
    },
    notes = if (!measured[best]) {
      paste0("what a burst costs was not measured (", cost$reason, "): its CPU time stands for it")
    }
  )
}

# Bursts of two agents, or of one at two intervals, are no agent's.
refuse_several_agents <- function(campaign, rows) {
  kinds <- unique(as.character(rows[["kind"]]))
  # The same name, but another command: but for numbers, which are those of processes.
  words <- vapply(campaign$launches[unique(as.character(rows[["launch"]]))], function(info) {
    gsub("[0-9]+", "N", paste(unlist(info$options[["agent"]]), collapse = " "))
  }, "")
  if (length(kinds) > 1) {
    abort_data("bursts of several agents (", join_words(kinds), "): project them one by one")
  }
  if (length(unique(words)) > 1) {
    abort_data("bursts of agents by other commands (", join_words(unique(unname(words))),
               "): project them one by one")
  }
}

# Bursts of all parts, `record`: the row of `part` among those watched.
in_records <- function(parts) {
  watched <- bind_rows(lapply(parts, `[[`, "watched"))
  bursts <- bind_rows(lapply(parts, `[[`, "bursts"))
  if (NROW(bursts) > 0) bursts$record <- match(bursts$part, watched$part)
  bursts
}

# Of bursts whose cost nobody measured (programs under --app, no slices recorded): their CPU time.
noise_of_times <- function(campaign, rows, is_agent, title, told_s, reason, records = NULL) {
  if (is_agent && !is.null(records)) {
    return(node_train(
      title, in_records(records$parts), bind_rows(lapply(records$parts, `[[`, "watched")),
      scale = records$scale, cost_words = by_cpu_time, period_s = told_s,
      notes = paste0("what a burst costs was not measured (", reason, "): its CPU time stands for it")
    ))
  }
  parts <- if (is_agent) {
    lapply(seq_len(NROW(campaign$bursts)), function(i) agent_part(campaign, i))
  } else {
    generator_parts(campaign, rows)
  }
  parts <- Filter(Negate(is.null), parts)
  bursts <- in_records(parts)
  if (NROW(bursts) == 0) abort_data("the bursts are not known: ", reason)
  node_train(title, bursts, bind_rows(lapply(parts, `[[`, "watched")), cost_words = by_cpu_time,
             period_s = told_s,
             notes = paste0("what a burst costs was not measured (", reason, "): its CPU time stands for it"))
}

# A node's bursts in halves with the agent, or the load, which are one record without what lies between.
# `halves`: `start`, `wall` (ns).
part_of_halves <- function(bursts, halves, node, part) {
  halves <- halves[order(halves$start), ]
  halves$row <- seq_len(nrow(halves))
  bursts <- in_halves(bursts, halves)
  begin <- c(0, cumsum(halves$wall))[bursts$half]
  start_s <- (begin + pmax(0, bursts$start_ns - halves$start[bursts$half])) / 1e9
  list(
    bursts = data.frame(part = rep(part, nrow(bursts)), start_s = start_s,
                        stop_s = start_s + bursts$duration_ns / 1e9, cpu = bursts$cpu),
    watched = data.frame(part = part, node = node, seconds = sum(halves$wall) / 1e9)
  )
}

agent_part <- function(campaign, i) {
  file <- campaign$bursts[i, ]
  account <- campaign$agents
  account <- account[account[["launch"]] == file$launch & account[["host"]] == file$host, ]
  on <- which(is_agent_row(account))
  if (length(on) == 0) return(NULL)
  bursts <- read_bursts(file$file)
  tasks <- as.data.frame(campaign$tasks)
  mine <- unique(tasks$task[tasks$launch == file$launch & tasks$host == file$host & tasks$group == "agent"])
  if (any(bursts$task %in% mine)) bursts <- bursts[bursts$task %in% mine, ]
  part_of_halves(bursts, data.frame(start = account[["start_ns"]][on], wall = account[["wall_ns"]][on]),
                 file$host, paste(file$launch, file$host))
}

generator_parts <- function(campaign, rows) {
  unlist(lapply(names(campaign$paths), function(id) {
    mine <- rows[["launch"]] == id
    files <- list.files(campaign$paths[[id]], "^generator\\..+\\.trace$", full.names = TRUE)
    lapply(if (any(mine)) files, function(file) {
      bursts <- absolute_bursts(read_bursts(file), file)
      if (is.character(bursts)) return(NULL)
      part_of_halves(bursts, data.frame(start = rows[["start_ns"]][mine], wall = rows[["wall_ns"]][mine]),
                     basename(file), paste(id, basename(file)))
    })
  }), recursive = FALSE)
}

by_cpu_time <- "as long as it was on a CPU"

# What hits a node is what hits any of its CPUs, of all scans with the most CPUs at once.
noise_of_acceptance <- function(dirs, told_s = NA_real_) {
  scans <- detour_scans(unlist(lapply(dirs, find_launches, program = "noiselab-accept")))
  if (NROW(scans) == 0) {
    abort_data("no detour was recorded in ", paste(dirs, collapse = " "), ": the check 'detour' was not run")
  }
  if (all(lengths(scans$detours) == 0)) abort_data("no detour was found in ", paste(dirs, collapse = " "))
  noise_of_scans(scans, told_s)
}

# Scans of all CPUs at once are one record of the node. `told_s`: how often bursts come, as somebody said.
noise_of_scans <- function(scans, told_s = NA_real_) {
  scans <- busiest_scans(scans)
  key <- paste(if (is.null(scans$file)) scans$host else scans$file, scans$repetition)
  records <- unique(key)
  scans$record <- match(key, records)
  first <- match(records, key)
  watched <- data.frame(node = scans$host[first],
                        seconds = as.numeric(tapply(scans$wall_ns, scans$record, max)) / 1e9)
  parts <- bind_rows(lapply(which(lengths(scans$detours) > 0), function(i) {
    at <- scans$detours[[i]]
    data.frame(record = scans$record[i], cpu = scans$cpu[i], start_s = at$start_ns / 1e9,
               stop_s = (at$start_ns + pmax(at$duration_ns, 1)) / 1e9)
  }))
  # scans without a detour: the shortest one that is looked for, once
  if (NROW(parts) == 0) parts <- data.frame(record = 1, cpu = scans$cpu[1], start_s = 0, stop_s = 1e-6)
  node_train("What interrupts a CPU", parts, watched, cost_words = "as long as the detour", period_s = told_s)
}

# The scans in the traces of these directories: as `read_detour_trace()` has them, with `file`, `host` and
# `launch` (number of the directory).
detour_scans <- function(dirs) {
  bind_rows(lapply(seq_along(dirs), function(i) {
    files <- list.files(dirs[[i]], "^detours\\..*\\.trace$", full.names = TRUE)
    bind_rows(lapply(files, function(file) {
      scans <- read_detour_trace(file)
      if (nrow(scans) > 0) {
        cbind(scans, file = file, host = sub("^detours\\.(.*)\\.trace$", "\\1", basename(file)), launch = i)
      }
    }))
  }))
}

busiest_scans <- function(scans) {
  scans[
    scans$variant == (if (any(scans$variant == "all")) "all" else scans$variant[1]),
  ]
}

# What held ranks up between two synchronising calls that were looked at is one burst.
noise_of_profile <- function(program) {
  calls <- program$calls
  held <- calls$noise_ns[calls$noise_ns > 0]
  if (length(held) == 0) abort_data("no rank was delayed in a sampled call")
  # What several ranks of a node lose before the same call they lose at once.
  window <- paste(calls$node, calls$group)
  seconds <- tapply(pmax(0, calls$left_ns - calls$since_ns), factor(window, unique(window)), max) / 1e9
  node <- calls$node[!duplicated(window)]
  begin <- stats::ave(as.numeric(seconds), node, FUN = function(x) cumsum(x) - x)
  nodes <- unique(calls$node)
  at <- which(calls$noise_ns > 0)
  start_s <- begin[match(window[at], names(seconds))]
  bursts <- data.frame(record = match(calls$node[at], nodes), cpu = calls$rank[at], start_s = start_s,
                       stop_s = start_s + calls$noise_ns[at] / 1e9)
  watched <- data.frame(node = nodes, seconds = as.numeric(tapply(seconds, factor(node, nodes), sum)))
  node_train("What held the program's ranks up", bursts, watched,
             cost_words = "as long as a rank was off its CPU, one burst between two calls")
}

# Steps of a program that was profiled: `every_s`, mean work between two synchronisations of most ranks;
# `calls` of them; `words`: which they are; `sequence`: `steps_in_order()`.
program_steps <- function(dir) {
  profile <- read_profile(dir)
  calls <- whole_calls(profile$arrivals)
  if (nrow(calls) == 0) abort_data("'", dir, "': no synchronising call was sampled on all its ranks")
  program <- steps_of_calls(calls[calls$communicator == main_communicator(calls), ])
  c(program, list(sequence = steps_in_order(program$calls, profile$operations)))
}

steps_of_calls <- function(calls) {
  kinds <- sort(table(calls$operation[!duplicated(calls$group)]), decreasing = TRUE)
  every_s <- signif(mean(call_work_ns(calls)) / 1e9, 3)
  list(
    calls = calls,
    every_s = every_s,
    words = sprintf(
      "the program works for %s between two synchronisations of %d ranks (%s)", format_time(every_s),
      calls$ranks[1],
      join_words(sprintf("%s %s of them", names(kinds), percent_of_time(as.numeric(kinds) / sum(kinds))))
    )
  )
}

call_work_ns <- function(calls) pmax(1, calls$arrived_ns - calls$since_ns - calls$noise_ns)

# The program's own steps, in the order of its calls: `name` of the pattern that an operation is, `bytes`
# (mean), `work` (share of the mean step's).
steps_in_order <- function(calls, operations) {
  first <- !duplicated(calls$group)
  work <- as.numeric(rowsum(call_work_ns(calls), calls$group, reorder = FALSE)) /
    tabulate(match(calls$group, unique(calls$group)))
  one <- data.frame(call = calls$call[first], operation = calls$operation[first], work = work / mean(work))
  one <- one[order(one$call), ]
  one <- one[unique(round(seq(1, nrow(one), length.out = min(nrow(one), most_steps)))), ]
  sums <- rowsum(cbind(as.numeric(operations[["bytes"]]), as.numeric(operations[["calls"]])),
                 operations[["operation"]])
  at <- match(one$operation, rownames(sums))
  like <- sub("^i|_init$", "", one$operation)
  data.frame(
    name = ifelse(like == "barrier", "barrier", ifelse(grepl("^alltoall", like), "alltoall", "allreduce")),
    bytes = ifelse(is.na(at), 1, pmax(1, sums[at, 1] / pmax(1, sums[at, 2]))), work = one$work
  )
}

most_steps <- 256

campaign_period <- function(campaign, row) {
  options <- campaign$launches[[as.character(row[["launch"]])]]$options
  ns <- if (is_agent_row(row)) options$agent_interval_ns %||% options$agent_period_ns else {
    if (identical(as.character(row[["pattern"]]), "periodic")) options$period_ns
  }
  if (is_number(ns, 0)) ns / 1e9 else NA_real_
}

noise_weights <- function(noise) noise$weights %||% rep(1 / length(noise$costs_s), length(noise$costs_s))

# `profile`: the steps of a program that was profiled.
project_patterns <- c("barrier", "allreduce", "bcast", "reduce", "ring", "alltoall", "halo2d", "halo3d",
                      "profile")

# How much is simulated: draws, and steps of each; `most`: ranks x rounds x steps x draws, and the least of
# steps and draws for which that must do.
project_simulation <- list(draws = 60, steps = 300, periods = 6, most = 2e7, least_draws = 4,
                           least_steps = 40, quiet = c(16L, 64L))

# Rounds of a pattern, about; for what it costs to simulate.
pattern_rounds <- function(pattern, n) {
  mean(vapply(
    pattern_steps(pattern)$name,
    function(name) {
      switch(name, ring = 2 * (n - 1), alltoall = n - 1, halo2d = 4, halo3d = 6, ceiling(log2(n)) + 2)
    },
    0
  ))
}

# The steps that it goes through in turn: `name`, `bytes`, `work` (share of the mean).
pattern_steps <- function(pattern) {
  pattern$sequence %||% data.frame(name = pattern$name, bytes = pattern$bytes, work = 1)
}

# Slowdown against the same steps without noise, a share: mean over draws, and where the next run lies by
# Student's t (a predictive interval). `spread_s`: NULL: phases are independent; `pattern`: `name`, `bytes`,
# `latency_s`, `overhead_s` (CPU time for each message on both sides), `per_byte_s`, `sequence` (steps of a
# profile). Alexandrov et al. (1995) LogGP; Hoefler, Schneider and Lumsdaine (2010) Characterizing the
# influence of system noise by simulation.
simulated_slowdown <- function(noise, n, work_s, spread_s, pattern, alpha, seed) {
  predicted(
    keep_draws(pattern, noise, n, work_s, spread_s, function() {
      simulated_draws(noise, n, work_s, spread_s, pattern, seed)
    }),
    alpha
  )
}

# Where the next draw lies: Student's predictive interval with one degree less, because nobody knows that
# draws are normal, of the draws or of their logarithms, whichever reaches farther. Of one draw nothing
# follows.
predicted <- function(draws, alpha) {
  n <- length(draws)
  ends <- c(0, Inf)
  if (n > 1) {
    reach <- stats::qt(1 - alpha / 2, max(1, n - 2)) * sqrt(1 + 1 / n)
    next_one <- function(x) mean(x) + c(-1, 1) * reach * stats::sd(x)
    ends <- next_one(draws)
    logs <- if (all(draws > 0)) exp(next_one(log(draws)))
    ends <- c(max(0, min(ends[1], logs[1])), max(ends[2], logs[2]))
  }
  list(value = mean(draws), low = ends[1], high = ends[2], method = "simulated")
}

simulated_draws <- function(noise, n, work_s, spread_s, pattern, seed) {
  plan <- simulation_plan(noise, n, work_s, pattern)
  length <- nrow(pattern_steps(pattern))
  quiet <- simulated_ends(pattern, n, work_s, plan$quiet * length, c(0, 0, 0), 0, 1, seed)
  quiet_s <- diff(quiet[, 1]) / diff(plan$quiet)
  first <- if (is.null(pattern$replicates)) 0 else pattern$replicates[1] - 1
  ends <- simulated_ends(pattern, n, work_s, seq_len(plan$turns) * length, noise_form(noise, spread_s),
                         some_costs(noise$costs_s), plan$draws, seed, first, recorded_activities(noise))
  apply(ends, 2, turn_length, plan$turns, noise$period_s) / quiet_s - 1
}

# Mean length of a turn that ends at these times, s, after a quarter of them. Of a period it is that of
# whole periods, wherever they begin.
turn_length <- function(ends, turns, period_s = NA_real_) {
  begin <- ends[ceiling(turns / 4)]
  span <- ends[turns] - begin
  whole <- if (is.na(period_s)) 0 else floor(span / period_s) - 1
  if (whole < 1) return(span / (turns - ceiling(turns / 4)))
  from <- begin + (span - whole * period_s) * seq(0, 1, length.out = 400)
  from <- from[from - begin <= period_s]
  done <- stats::approx(ends, seq_along(ends), c(from, from + whole * period_s), rule = 2)$y
  whole * period_s / mean(done[-seq_along(from)] - done[seq_along(from)])
}

# What the sources in C take: period (0: none), range of phases (of a record below 0: independent), bursts
# per s.
noise_form <- function(noise, spread_s = NULL) {
  if (!is.null(noise$records)) return(c(0, spread_s %||% -1, noise$rate_hz))
  c(if (is.na(noise$period_s)) 0 else noise$period_s, spread_s %||% noise$period_s, noise$rate_hz)
}

# The record of a node as one rank meets it, as src/maxplus.c takes it; NULL: none.
recorded_activities <- function(noise) {
  train <- noise$records
  if (is.null(train)) return(NULL)
  record <- findInterval(seq_along(train$start_s) - 1, train$first)
  done <- node_activities(data.frame(record = record, cpu = train$cpu, start_s = train$start_s,
                                     cost_s = train$cost_s))
  list(c(0L, as.integer(cumsum(tabulate(done$record, length(train$length_s))))), as.numeric(train$length_s),
       as.numeric(train$share), done$start_s, done$cost_s)
}

# When the last rank is done with each of the steps `ends`, s: a row each, a column per draw. `form`:
# `noise_form()`; `work_s`: of the mean step; `first`: number of the first draw, from 0; `train`:
# `recorded_activities()`.
simulated_ends <- function(pattern, n, work_s, ends, form, costs_s, draws, seed, first = 0, train = NULL) {
  steps <- pattern_steps(pattern)
  .Call("maxplus", steps$name, n, steps$bytes, c(pattern$latency_s, pattern$overhead_s, pattern$per_byte_s),
        form, costs_s, work_s * steps$work, as.integer(ends), as.integer(c(first, draws)), seed, train,
        PACKAGE = "noiselab")
}

# `turns` of the pattern's steps; `quiet`: from which to which without noise. A draw asked for by its number
# has all the steps that are wanted.
simulation_plan <- function(noise, n, work_s, pattern) {
  plan <- project_simulation
  length <- nrow(pattern_steps(pattern))
  each <- n * (pattern_rounds(pattern, n) + 1)
  steps <- max(plan$steps, if (!is.na(noise$period_s)) plan$periods * noise$period_s / work_s)
  draws <- length(pattern$replicates)
  if (draws == 0) {
    steps <- max(plan$least_steps, min(steps, plan$most / (each * plan$least_draws)))
    draws <- max(plan$least_draws, min(plan$draws, plan$most / (each * steps)))
    if (each * steps * draws > 40 * plan$most) {
      abort_usage("--pattern: ", pattern$name, " on ", format_count(n),
                  " nodes is too much to simulate at once (", format_level(each * steps * draws),
                  " messages): fewer --nodes, or --replicates by several jobs")
    }
  }
  list(turns = max(2, ceiling(as.integer(steps) / length)),
       quiet = ceiling(plan$quiet / length) + if (length > 1) c(0, 1) else 0, draws = as.integer(draws))
}

# `most` costs, the costliest one by one; `draws` of what the rates may be, of which those around the
# demanded quantile are averaged.
known_design <- list(single = 40, groups = 100, draws = 2000)

# Means of the costs above the costliest, of eight parts as likely, by the tail's shape; where that is not
# known or bounds them: that one.
costs_beyond <- function(tail, longest_s) {
  if (is.na(tail$shape)) return(longest_s)
  shape <- min(tail$shape, tail_design$most_shape)
  spread <- tail$scale_s + shape * (longest_s - tail$threshold_s)
  if (spread <= 0) return(longest_s)
  # The mean over a part of what survives, of a generalised Pareto distribution.
  end <- seq(0, 8) / 8
  upto <- if (abs(shape) < 1e-6) {
    end - ifelse(end > 0, end * log(end), 0)
  } else {
    (end^(1 - shape) / (1 - shape) - end) / shape
  }
  longest_s + spread * 8 * diff(upto)[8:1]
}

# Costs in groups, the costliest first: `cost_s` (mean), `n` of bursts.
group_costs <- function(costs_s) {
  n <- length(costs_s)
  ends <- exp(seq(log(known_design$single), log(max(n, known_design$single)),
                  length.out = known_design$groups - known_design$single))
  ends <- unique(c(pmin(n, c(seq_len(known_design$single), round(ends))), n))
  group <- findInterval(seq_len(n) - 1, ends) + 1
  list(cost_s = as.numeric(rowsum(rev(costs_s), group)) / tabulate(group), n = tabulate(group))
}

# The noise that a record just allows, at the upper or lower end for what is demanded (`stretch`: steps last
# so much longer, a share), at any time. The rate beyond every threshold is that of a Poisson process of
# which k were seen: one random process has these at all of them, independent exponential rates for each
# burst, and from above one more, which lies where the tail puts it, or where that is not known at
# `unseen_s`. The number of all is as uneven (`dispersion`), and the nodes as unlike, as they were seen to
# be. The quantile is that of the simulated cost. Garwood (1936); Cui and Hannig (2019) Nonparametric
# generalized fiducial inference for survival functions.
noise_bound <- function(noise, upper, alpha, demand, seed = 1, unseen_s = usual_unseen_s) {
  if (!is.finite(noise$watched_s)) return(noise)
  groups <- noise$groups %||% group_costs(noise$costs_s)
  draws <- known_design$draws
  cost_s <- groups$cost_s
  n <- groups$n * noise$longer
  spread <- noise$dispersion
  got <- drawn_once(
    noise$drawn,
    c(seed, n, spread, noise$nodes_sd, noise$n_nodes),
    function() {
      with_seed(seed, {
        shares <- matrix(stats::rgamma(draws * length(n), rep(n / max(1, spread), each = draws)), draws)
        all <- if (spread < 1) {
          stats::rgamma(draws, sum(n) / spread) * spread
        } else {
          rowSums(shares) * spread
        }
        nodes <- if (noise$nodes_sd > 0) {
          exp(pmin(50, noise$nodes_sd * stats::rt(draws, noise$n_nodes - 1)))
        } else {
          1
        }
        list(times = shares / rowSums(shares) * all * nodes, more = stats::rexp(draws))
      })
    }
  )
  rates <- got$times / noise$watched_s
  if (upper) {
    beyond <- if (rests_on_unseen(noise, demand$nodes)) {
      max(unseen_s, noise$costs_s)
    } else {
      costs_beyond(noise$tail, max(noise$costs_s))
    }
    rates <- cbind(matrix(got$more / noise$watched_s / length(beyond), draws, length(beyond)), rates)
    cost_s <- c(rev(beyond), cost_s)
  }
  around <- (if (upper) 1 - alpha / 2 else alpha / 2) + c(-1, 1) * alpha / 4
  chosen <- order(about_cost(rates, cost_s, demand))[seq(max(1, ceiling(around[1] * draws)),
                                                         floor(around[2] * draws))]
  rate <- colMeans(rates[chosen, , drop = FALSE])
  noise$rate_hz <- sum(rate)
  noise$weights <- rev(rate / sum(rate))
  noise$costs_s <- rev(cost_s)
  noise$period_s <- NA_real_
  noise
}

# The draws of a noise whose cells are many are made once (`kept`: an environment; NULL: it has one cell).
drawn_once <- function(kept, of, draw) {
  if (is.null(kept)) return(draw())
  if (!identical(kept$of, of)) {
    kept$got <- draw()
    kept$of <- of
  }
  kept$got
}

# What rates (a row each, the costliest first) cost, about: only their order counts. Of many nodes the mean
# of the largest that a step meets; where each meets many, what they take, the largest deviation from that
# (of sums that are about normal), and what single bursts are beyond it.
about_cost <- function(rates, costs_s, demand) {
  beyond <- rates
  for (j in seq_len(ncol(rates))[-1]) beyond[, j] <- beyond[, j - 1] + rates[, j]
  n <- demand$nodes
  all <- beyond[, ncol(beyond)]
  is_own <- n > 1 && demand$phase != "common"
  step_s <- demand$work_s / (demand$units %||% 1)
  met_s <- step_s * (1 + demand$stretch)
  apart_s <- if (is_own && mean(all) * met_s > project_walk$dense) {
    stats::qnorm(1 / (n + 1), lower.tail = FALSE) * sqrt(met_s * as.numeric(rates %*% costs_s^2))
  } else {
    0
  }
  width <- -diff(c(pmax(0, costs_s - mean(apart_s)), 0))
  met <- if (n == 1) {
    beyond
  } else if (!is_own) {
    all * (1 - (1 - beyond / all)^n)
  } else {
    1 - exp(-n * demand$work_s * (1 + demand$stretch) * beyond)
  }
  # the largest that a step meets, and what each of its nodes meets in any case
  as.numeric(met %*% width) + apart_s +
    if (is_own) (if (any(apart_s > 0)) met_s else step_s) * as.numeric(rates %*% costs_s) else 0
}

noise_scaled <- function(noise, factor) {
  noise$costs_s <- noise$costs_s * factor
  if (!is.null(noise$groups)) noise$groups$cost_s <- noise$groups$cost_s * factor
  noise
}

# Rates of what was never seen: bursts of `longest_s`, as often as the record does not exclude.
noise_with_unseen <- function(noise, longest_s, alpha) {
  unseen_hz <- -log(alpha / 2) / noise$watched_s
  if (is.null(noise$weights)) noise <- grouped_noise(noise)
  rate_hz <- c(noise_weights(noise) * noise$rate_hz, unseen_hz)
  noise$costs_s <- c(noise$costs_s, max(longest_s, noise$costs_s))
  noise$rate_hz <- sum(rate_hz)
  noise$weights <- rate_hz / sum(rate_hz)
  noise
}
