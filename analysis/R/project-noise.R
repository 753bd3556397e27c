# The noise of a node, as far as the projection to many nodes knows it: what a burst costs, how often one comes, and how well that is known.

# What is fixed before anything is measured.
project_design <- list(
  steady = 0.1,        # distances scatter by no more than that share of their median: the bursts keep to a period
  like_period = 0.25,  # so far may the number of bursts be from one per period
  blocks = 16,         # of time, for the index of dispersion
  most_costs = 4096
)

# `period_s`: NA where bursts come at any time; `costs_s`: what bursts cost a rank, each as likely; `scale`: low and high end of the factor
# that the costs are known by; `watched_s`: node-seconds, Inf: declared, not measured; `n_bursts`: seen in that time.
node_noise <- function(name, costs_s, period_s = NA_real_, rate_hz = NA_real_, scale = c(1, 1), watched_s = Inf, n_bursts = length(costs_s),
                       n_nodes = 1, dispersion = 1, cost_words = "", notes = character()) {
  noise <- list(name = name, costs_s = sort(costs_s), period_s = period_s, rate_hz = if (is.na(period_s)) rate_hz else 1 / period_s,
                scale = scale, watched_s = watched_s, n_bursts = n_bursts, n_nodes = n_nodes, dispersion = max(1, dispersion), cost_words = cost_words, notes = notes,
                tail = if (is.finite(watched_s)) tail_shape(costs_s))
  if (noise_load(noise) >= 1)
    abort_data(name, ": bursts of ", format_time(mean(costs_s)), ", ", format_level(noise$rate_hz), " per second, leave no time to work")
  noise
}

noise_load <- function(noise) noise$rate_hz * mean(noise$costs_s)

# At least 2 bursts for a period; NA where they keep to none. `group`: distances count within groups only.
steady_period <- function(start_s, group, rate_hz, told_s = NA_real_) {
  distances <- diff(start_s)[diff(group) == 0]
  near <- function(period) is_number(period, 0) && abs(rate_hz * period - 1) <= project_design$like_period
  if (length(distances) >= least_distances) {
    centre <- stats::median(distances)
    if (stats::median(abs(distances - centre)) <= project_design$steady * centre && near(centre)) return(centre)
    if (stats::median(abs(distances - centre)) > project_design$steady * centre) return(NA_real_)
  }
  if (near(told_s)) told_s else NA_real_
}

# How much more than those of a Poisson process the counts of blocks of time scatter, never below 1.
count_dispersion <- function(start_s, span_s, blocks = project_design$blocks) {
  if (length(start_s) < blocks) return(1)
  counts <- tabulate(pmin(blocks, 1 + floor(blocks * start_s / span_s)), blocks)
  max(1, stats::var(counts) / mean(counts))
}

# How much more than those of one Poisson process the counts of several nodes, or launches, scatter (Pearson), never below 1.
unequal_rates <- function(counts, seconds) {
  if (length(counts) < 2) return(1)
  expected <- sum(counts) * seconds / sum(seconds)
  max(1, sum((counts - expected)^2 / expected) / (length(counts) - 1))
}

# `files`: of a node each. `tasks`: only theirs, NULL: all. What the bursts of one activity take together is its cost: nobody measured what it cost the ranks.
noise_of_traces <- function(files, tasks = NULL, told_s = NA_real_) {
  nodes <- lapply(files, trace_activities, tasks)
  span_s <- vapply(nodes, `[[`, 0, "span_s")
  n <- lengths(lapply(nodes, `[[`, "start_s"))
  if (sum(n) == 0) abort_data("--task: '", tasks[1], "' had no burst in ", paste(files, collapse = " "), did_you_mean(tasks[1], unlist(lapply(nodes, `[[`, "tasks"))))
  start_s <- unlist(lapply(nodes, `[[`, "start_s"))
  rate <- sum(n) / sum(span_s)
  period <- steady_period(start_s, rep(seq_along(nodes), n), rate, told_s)
  dispersion <- c(unequal_rates(n, span_s), vapply(which(n > 0), function(i) count_dispersion(nodes[[i]]$start_s, span_s[i]), 0))
  node_noise(paste(tasks %||% basename(files), collapse = ", "), unlist(lapply(nodes, `[[`, "cpu_s")), period, rate,
             watched_s = sum(span_s), n_nodes = length(files), dispersion = max(dispersion), cost_words = by_cpu_time, notes = vapply(nodes, `[[`, "", "words"))
}

trace_activities <- function(file, tasks) {
  trace <- read_trace(file, tasks)
  got <- list(start_s = numeric(), cpu_s = numeric(), span_s = attr(trace, "watched_s"), tasks = attr(trace, "tasks"), words = trace_notes(list(trace), file))
  if (nrow(trace) == 0) return(got)
  bursts <- data.frame(start_ns = 1e9 * trace$start_s, duration_ns = 1e9 * (trace$stop_s - trace$start_s), cpu = trace$cpu, half = 1)
  whole <- merge_activities(bursts, activity_gap(bursts))
  got$start_s <- whole$start / 1e9
  got$cpu_s <- as.numeric(rowsum(bursts$duration_ns, rep(seq_len(nrow(whole)), whole$n))) / 1e9
  got
}

# Of the agent, or of the generator at the level asked for (the highest), what its bursts on the ranks' CPUs cost the operation that they
# cost most.
noise_of_campaign <- function(campaign, level = NULL, told_s = NA_real_, reader = slices_reader()) {
  rows <- campaign$rows
  on <- rows[["arm"]] == "on"
  agent <- on & is_agent_row(rows)
  if (any(agent)) on <- agent else {
    levels <- sort(unique(rows[["level_requested_percent"]][on & rows[["level_requested_percent"]] > 0]))
    wanted <- level %||% max(levels, -Inf)
    if (!wanted %in% levels) abort_data("no level ", format_level(wanted), " in ", paste(campaign$dirs, collapse = " "), " (there is ",
                                        paste(format_level(levels), collapse = ", "), ")")
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
    if (!any(known)) return(list(reason = c(unlist(Filter(is.character, tracks)), "no burst on a rank's CPU")[1]))
    costs <- bind_rows(lapply(tracks[known], function(track) {
      cbind(launch = "-", operation = one, bytes = 0, cost_of_track(track, 0.01, 0.98, scheduled = !any(agent)))
    }))
    list(operation = rows[["operation"]][at[1]], tracks = tracks[known], cost = pool_locked(costs, 0.02),
         n_nodes = vapply(names(by_launch)[known], function(id) max(1, length(loaded_hosts(campaign, id, any(agent)))), 0))
  })
  title <- if (any(agent)) agent_title(as.character(rows[["kind"]][on][1]), campaign) else {
    sprintf("a load of %s %%", format_level(rows[["level_requested_percent"]][on][1]))
  }
  told <- if (is.na(told_s)) campaign_period(campaign, rows[at_on, ][1, ]) else told_s
  lacking <- vapply(cells, function(cell) !is.null(cell$reason), TRUE)
  if (all(lacking)) return(noise_of_times(campaign, rows[at_on, ], any(agent), title, told, cells[[1]]$reason))
  cells <- cells[!lacking]
  measured <- vapply(cells, function(cell) cell$cost$state[1] == "measured" && isTRUE(cell$cost$amplification[1] > 0), TRUE)
  best <- if (any(measured)) which(measured)[which.max(vapply(cells[measured], function(cell) cell$cost$amplification[1], 0))] else 1
  cell <- cells[[best]]
  cost <- cell$cost[1, ]
  amplify <- if (measured[best]) c(cost$amplification, max(1e-3, cost$amplification_low), cost$amplification_high) else c(1, 1, 1)
  # The windows of a launch are those of all its nodes: each has its share.
  windows <- bind_rows(lapply(seq_along(cell$tracks), function(i) cbind(cell$tracks[[i]]$windows, launch = i)))
  watched <- sum(vapply(cell$tracks, `[[`, 0, "total_ns") * cell$n_nodes) / 1e9
  rate <- nrow(windows) / watched
  period <- if (max(cell$n_nodes) == 1) steady_period(windows$start / 1e9, windows$stretch + windows$launch / 1e3, rate, told) else {
    steady_period(numeric(), numeric(), rate, told)
  }
  node_noise(
    title, amplify[1] * pmax(windows$cpu_ns, 1) / 1e9, period, rate, scale = amplify[2:3] / amplify[1],
    watched_s = watched, n_nodes = max(cell$n_nodes),
    dispersion = unequal_rates(tabulate(windows$launch, length(cell$tracks)), vapply(cell$tracks, `[[`, 0, "total_ns") * cell$n_nodes),
    cost_words = if (measured[best]) sprintf("%s times its CPU time, as %s had it", format_effect(amplify[1], FALSE), cell$operation) else {
      by_cpu_time
    }, notes = if (!measured[best]) paste0("what a burst costs was not measured (", cost$reason, "): its CPU time stands for it"))
}

# Of bursts whose cost nobody measured (programs under --app, no slices recorded): their CPU time.
noise_of_times <- function(campaign, rows, is_agent, title, told_s, reason) {
  if (is_agent) {
    by_node <- agent_bursts(campaign)
    parts <- attr(by_node, "activities")
    cpu_s <- parts$length_us / 1e6
    start_s <- parts$start_s
    group <- match(paste(parts$launch, parts$host), unique(paste(parts$launch, parts$host))) + parts$half / 1e4
    watched_s <- sum(by_node$seconds)
    n_nodes <- length(unique(by_node$host))
  } else {
    files <- unlist(lapply(campaign$paths, list.files, "^generator\\..+\\.trace$", full.names = TRUE))
    bursts <- lapply(unname(files), function(file) as.data.frame(read_bursts(file))[c("start_ns", "duration_ns")])
    parts <- bind_rows(Map(cbind, bursts, file = seq_along(bursts)))
    cpu_s <- parts$duration_ns / 1e9
    start_s <- parts$start_ns / 1e9
    group <- parts$file
    n_nodes <- length(unique(basename(files)))
    watched_s <- sum(rows[["wall_ns"]]) / 1e9 * n_nodes
  }
  if (length(cpu_s) == 0) abort_data("the bursts are not known: ", reason)
  period <- steady_period(start_s, group, length(cpu_s) / watched_s, told_s)
  node_noise(title, pmax(cpu_s, 1e-9), period, length(cpu_s) / watched_s, watched_s = watched_s, n_nodes = n_nodes,
             cost_words = by_cpu_time, notes = paste0("what a burst costs was not measured (", reason, "): its CPU time stands for it"))
}

by_cpu_time <- "as long as it was on a CPU"

# What hits a node is what hits any of its CPUs, of all scans with the most CPUs at once.
noise_of_acceptance <- function(dirs, told_s = NA_real_) {
  scans <- detour_scans(unlist(lapply(dirs, find_launches, program = "noiselab-accept")))
  if (NROW(scans) == 0) abort_data("no detour was recorded in ", paste(dirs, collapse = " "), ": the check 'detour' was not run")
  if (all(lengths(scans$detours) == 0)) abort_data("no detour was found in ", paste(dirs, collapse = " "))
  scans <- busiest_scans(scans)
  noise <- noise_of_scans(scans, told_s)
  noise$dispersion <- max(noise$dispersion, unequal_rates(rowsum(vapply(scans$detours, NROW, 0), scans$file)[, 1], rowsum(scans$wall_ns, scans$file)[, 1]))
  noise
}

# `told_s`: NULL: no period is looked for.
noise_of_scans <- function(scans, told_s = NULL) {
  scans <- busiest_scans(scans)
  parts <- bind_rows(lapply(which(lengths(scans$detours) > 0), function(i) cbind(scans$detours[[i]], scan = i)))
  # scans without a detour: the shortest one that is looked for, once
  if (NROW(parts) == 0) parts <- data.frame(start_ns = 0, duration_ns = 1000, scan = 1)
  cpus <- length(unique(scans$cpu))
  watched_s <- sum(scans$wall_ns) / 1e9 / cpus
  rate <- nrow(parts) / watched_s
  period <- if (cpus == 1 && !is.null(told_s)) steady_period(parts$start_ns / 1e9, parts$scan, rate, told_s) else NA_real_
  node_noise("What interrupts a CPU", pmax(parts$duration_ns, 1) / 1e9, period, rate, watched_s = watched_s, n_nodes = length(unique(scans$host)),
             cost_words = "as long as the detour", dispersion = count_dispersion(parts$start_ns / 1e9, max(parts$start_ns / 1e9, 1e-9)))
}

# The scans in the traces of these directories: as `read_detour_trace()` has them, with `file`, `host` and `launch` (number of the directory).
detour_scans <- function(dirs) {
  bind_rows(lapply(seq_along(dirs), function(i) {
    files <- list.files(dirs[[i]], "^detours\\..*\\.trace$", full.names = TRUE)
    bind_rows(lapply(files, function(file) {
      scans <- read_detour_trace(file)
      if (nrow(scans) > 0) cbind(scans, file = file, host = sub("^detours\\.(.*)\\.trace$", "\\1", basename(file)), launch = i)
    }))
  }))
}

busiest_scans <- function(scans) scans[scans$variant == (if (any(scans$variant == "all")) "all" else scans$variant[1]), ]

# What held ranks up between two synchronising calls that were looked at is one burst.
noise_of_profile <- function(program) {
  calls <- program$calls
  held <- calls$noise_ns[calls$noise_ns > 0]
  if (length(held) == 0) abort_data("no rank was held up in a call that was looked at")
  ranks <- length(unique(calls$rank)) / length(unique(calls$node))
  watched_s <- sum(pmax(0, calls$left_ns - calls$since_ns)) / 1e9 / ranks
  node_noise("What held the program's ranks up", held / 1e9, rate_hz = length(held) / watched_s, watched_s = watched_s,
             n_nodes = length(unique(calls$node)), cost_words = "as long as a rank was off its CPU, one burst between two calls")
}

# Steps of a program that was profiled: `every_s`, mean work between two synchronisations of most ranks; `calls` of them; `words`: which they are;
# `sequence`: `steps_in_order()`.
program_steps <- function(dir) {
  profile <- read_profile(dir)
  calls <- whole_calls(profile$arrivals)
  if (nrow(calls) == 0) abort_data("'", dir, "': no synchronising call was looked at on all its ranks")
  program <- steps_of_calls(calls[calls$communicator == main_communicator(calls), ])
  c(program, list(sequence = steps_in_order(program$calls, profile$operations)))
}

steps_of_calls <- function(calls) {
  kinds <- sort(table(calls$operation[!duplicated(calls$group)]), decreasing = TRUE)
  every_s <- signif(mean(call_work_ns(calls)) / 1e9, 3)
  list(calls = calls, every_s = every_s, words = sprintf(
    "the program works for %s between two synchronisations of %d ranks (%s)", format_time(every_s), calls$ranks[1],
    join_words(sprintf("%s %s of them", names(kinds), percent_of_time(as.numeric(kinds) / sum(kinds))))
  ))
}

call_work_ns <- function(calls) pmax(1, calls$arrived_ns - calls$since_ns - calls$noise_ns)

# The program's own steps, in the order of its calls: `name` of the pattern that an operation is, `bytes` (mean), `work` (share of the mean step's).
steps_in_order <- function(calls, operations) {
  first <- !duplicated(calls$group)
  work <- as.numeric(rowsum(call_work_ns(calls), calls$group, reorder = FALSE)) / tabulate(match(calls$group, unique(calls$group)))
  one <- data.frame(call = calls$call[first], operation = calls$operation[first], work = work / mean(work))
  one <- one[order(one$call), ]
  one <- one[unique(round(seq(1, nrow(one), length.out = min(nrow(one), most_steps)))), ]
  sums <- rowsum(cbind(as.numeric(operations[["bytes"]]), as.numeric(operations[["calls"]])), operations[["operation"]])
  at <- match(one$operation, rownames(sums))
  like <- sub("^i|_init$", "", one$operation)
  data.frame(name = ifelse(like == "barrier", "barrier", ifelse(grepl("^alltoall", like), "alltoall", "allreduce")),
             bytes = ifelse(is.na(at), 1, pmax(1, sums[at, 1] / pmax(1, sums[at, 2]))), work = one$work)
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
project_patterns <- c("barrier", "allreduce", "bcast", "reduce", "ring", "alltoall", "halo2d", "halo3d", "profile")

# How much is simulated: draws, and steps of each; `most`: ranks x rounds x steps x draws, and the least of steps and draws for which that must do.
project_simulation <- list(draws = 60, steps = 300, periods = 2, most = 5e7, least_draws = 4, least_steps = 40, quiet = c(16L, 64L))

# Rounds of a pattern, about; for what it costs to simulate.
pattern_rounds <- function(pattern, n) {
  mean(vapply(pattern_steps(pattern)$name, function(name) switch(name, ring = 2 * (n - 1), alltoall = n - 1, halo2d = 4, halo3d = 6, ceiling(log2(n)) + 2), 0))
}

# The steps that it goes through in turn: `name`, `bytes`, `work` (share of the mean).
pattern_steps <- function(pattern) pattern$sequence %||% data.frame(name = pattern$name, bytes = pattern$bytes, work = 1)

# Slowdown against the same steps without noise, a share, mean and quantiles over draws. `spread_s`: NULL: phases are independent; `pattern`: `name`,
# `bytes`, `latency_s`, `overhead_s` (CPU time for each message on both sides), `per_byte_s`, `sequence` (steps of a profile). Alexandrov et al.
# (1995) LogGP; Hoefler, Schneider and Lumsdaine (2010) Characterizing the influence of system noise by simulation.
simulated_slowdown <- function(noise, n, work_s, spread_s, pattern, alpha, seed) {
  of_draws(keep_draws(pattern, noise, n, work_s, spread_s, function() simulated_draws(noise, n, work_s, spread_s, pattern, seed)), alpha, "simulated")
}

simulated_draws <- function(noise, n, work_s, spread_s, pattern, seed) {
  plan <- simulation_plan(noise, n, work_s, pattern)
  costs <- some_costs(noise$costs_s)
  each <- function(form, turns, draws, first = 0) {
    ends <- turns * nrow(pattern_steps(pattern))
    got <- simulated_ends(pattern, n, work_s, ends, form, costs, draws, seed, first)
    (got[2, ] - got[1, ]) / diff(ends)
  }
  first <- if (is.null(pattern$replicates)) 0 else pattern$replicates[1] - 1
  each(noise_form(noise, spread_s), c(ceiling(plan$turns / 4), plan$turns), plan$draws, first) / each(c(0, 0, 0), plan$quiet, 1) - 1
}

# What the sources in C take: period (0: none), range of phases, bursts per s.
noise_form <- function(noise, spread_s = NULL) c(if (is.na(noise$period_s)) 0 else noise$period_s, spread_s %||% noise$period_s, noise$rate_hz)

# When the last rank is done with each of the steps `ends`, s: a row each, a column per draw. `form`: `noise_form()`; `work_s`: of the mean step; `first`: number
# of the first draw, from 0.
simulated_ends <- function(pattern, n, work_s, ends, form, costs_s, draws, seed, first = 0) {
  steps <- pattern_steps(pattern)
  .Call("maxplus", steps$name, n, steps$bytes, c(pattern$latency_s, pattern$overhead_s, pattern$per_byte_s), form, costs_s, work_s * steps$work,
        as.integer(ends), as.integer(c(first, draws)), seed, PACKAGE = "noiselab")
}

# `turns` of the pattern's steps; `quiet`: from which to which without noise. A draw asked for by its number has all the steps that are wanted.
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
      abort_usage("--pattern: ", pattern$name, " on ", format_count(n), " nodes is too much to simulate at once (", format_level(each * steps * draws),
                  " messages): fewer --nodes, or --replicates by several jobs")
    }
  }
  list(turns = max(2, ceiling(as.integer(steps) / length)), quiet = ceiling(plan$quiet / length) + if (length > 1) c(0, 1) else 0, draws = as.integer(draws))
}

# `most` costs, the costliest one by one; `draws` of what the rates may be, of which those around the demanded quantile are averaged.
known_design <- list(single = 40, groups = 100, draws = 2000)

# What the chain of waits and a simulation of single ranks differ by, at most (test-project.R; docs/methods.md).
model_share <- 0.01

# Means of the costs above the costliest, of eight parts as likely, by the tail's shape; where that is not known or bounds them: that one.
costs_beyond <- function(tail, longest_s) {
  if (is.na(tail$shape)) return(longest_s)
  shape <- min(tail$shape, tail_design$most_shape)
  spread <- tail$scale_s + shape * (longest_s - tail$threshold_s)
  if (spread <= 0) return(longest_s)
  # The mean over a part of what survives, of a generalised Pareto distribution.
  end <- seq(0, 8) / 8
  upto <- if (abs(shape) < 1e-6) end - ifelse(end > 0, end * log(end), 0) else (end^(1 - shape) / (1 - shape) - end) / shape
  longest_s + spread * 8 * diff(upto)[8:1]
}

# Costs in groups, the costliest first: `cost_s` (mean), `n` of bursts.
group_costs <- function(costs_s) {
  n <- length(costs_s)
  ends <- exp(seq(log(known_design$single), log(max(n, known_design$single)), length.out = known_design$groups - known_design$single))
  ends <- unique(c(pmin(n, c(seq_len(known_design$single), round(ends))), n))
  group <- findInterval(seq_len(n) - 1, ends) + 1
  list(cost_s = as.numeric(rowsum(rev(costs_s), group)) / tabulate(group), n = tabulate(group))
}

# The noise that a record just allows, at the upper or lower end for what is demanded (`stretch`: steps last so much longer, a share). The rate
# beyond every threshold is that of a Poisson process of which k were seen: one random process has these at all of them, independent exponential
# rates for each burst, and from above one more. The quantile is that of the simulated cost. Garwood (1936); Cui and Hannig (2019) Nonparametric
# generalized fiducial inference for survival functions.
noise_bound <- function(noise, upper, alpha, demand, seed = 1) {
  if (!is.finite(noise$watched_s)) return(noise)
  groups <- group_costs(noise$costs_s)
  draws <- known_design$draws
  cost_s <- groups$cost_s
  masses <- with_seed(seed, {
    seen <- matrix(stats::rgamma(draws * length(cost_s), rep(groups$n / noise$dispersion, each = draws)), draws)
    list(seen = seen, more = stats::rexp(draws))
  })
  if (upper) {
    beyond <- costs_beyond(noise$tail, max(noise$costs_s))
    masses$seen <- cbind(matrix(masses$more / length(beyond), draws, length(beyond)), masses$seen)
    cost_s <- c(rev(beyond), cost_s)
  }
  # Of a period the number of bursts is known, and how many are as costly is not.
  rates <- if (is.na(noise$period_s)) masses$seen * noise$dispersion / noise$watched_s else {
    noise$rate_hz * masses$seen / (rowSums(masses$seen) + if (upper) 0 else masses$more)
  }
  around <- (if (upper) 1 - alpha / 2 else alpha / 2) + c(-1, 1) * alpha / 4
  chosen <- order(about_cost(rates, cost_s, demand))[seq(max(1, ceiling(around[1] * draws)), floor(around[2] * draws))]
  rate <- colMeans(rates[chosen, , drop = FALSE])
  noise$rate_hz <- sum(rate)
  noise$weights <- rev(rate / sum(rate))
  noise$costs_s <- rev(cost_s)
  noise
}

# What rates (a row each, the costliest first) cost, about: only their order counts. Of many nodes the mean of the largest that a step meets.
about_cost <- function(rates, costs_s, demand) {
  beyond <- rates
  for (j in seq_len(ncol(rates))[-1]) beyond[, j] <- beyond[, j - 1] + rates[, j]
  width <- -diff(c(costs_s, 0))
  n <- demand$nodes
  all <- beyond[, ncol(beyond)]
  met <- if (n == 1) beyond else if (demand$phase == "common") all * (1 - (1 - beyond / all)^n) else 1 - exp(-n * demand$work_s * (1 + demand$stretch) * beyond)
  as.numeric(met %*% width)
}

noise_scaled <- function(noise, factor) {
  noise$costs_s <- noise$costs_s * factor
  noise
}

# Rates of what was never seen: bursts of `longest_s`, as often as the record does not exclude.
noise_with_unseen <- function(noise, longest_s, alpha) {
  unseen_hz <- -log(alpha / 2) / noise$watched_s
  rate_hz <- c(noise_weights(noise) * noise$rate_hz, unseen_hz)
  noise$costs_s <- c(noise$costs_s, max(longest_s, noise$costs_s))
  noise$rate_hz <- sum(rate_hz)
  noise$weights <- rate_hz / sum(rate_hz)
  noise
}
