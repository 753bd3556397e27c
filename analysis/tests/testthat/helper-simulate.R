schema_known <- 2L

# Writes a campaign directory with known truth as the detector does. Per half: the machine has its noise, by
# default a base speed that wanders, a heavy-tailed background and scatter; the on half is slower by
# `slowdown_percent` and loses `level + cost_ns * bursts` of CPU time to the generator. Factors of treatment
# are crossed. In patterns other than `periodic` the number of bursts in an on half is drawn, and with it
# load and slowdown.
#
# `seed` (up to 2e6) draws the machine: its noise belongs to the time slots (and launches), whatever runs in
# them. `coin_seed` draws the schedule.
#
# `pairs`: pairs (sets, loops) per operation and level; `launches`: in design `launches` of sets of
# launches, each with one loop per operation and one arm, every arm once per set in random order;
# `slowdown_percent`: length 1 or that of `levels_percent`, NULL: `amplification` (1 or one per operation)
# times the preempted share; `treatment_factor`: times the slowdown, one per treatment (phase varies
# fastest, kind slowest); `launch_sd`, `base_sd`: SD (log) between launches of slowdown and base speed;
# `wander_sd`, `jitter_sd`, `spike_rate`: of the noises ar1, white and pareto unless `noise` (names of
# `noise_models`, or lists of parameters by name) has others; `ended`: `complete`, `interrupted`, NA:
# killed. A placement of several CPUs (`rank:0+rank:1`; `all`) is loaded on each. `start`: with other than
# `loop` every start of every rank is made: keep `half_period_ns` short; `raw`: name of the file for them;
# `nodes`: that ranks are spread over; `noise_nodes`: numbers from 1, the load is on the last rank of each;
# `external`: a treatment from outside, without level; `late_rank`: some microseconds behind in every third
# synchronised start. Invisibly the truth per operation, treatment and level: `slowdown_percent`,
# `preempted_percent` (of one CPU), `cost_ns`.
simulate_campaign <- function(dir, ...) {
  model <- simulation_of(...)
  each_launch(model, function(id, launch) simulate_launch(file.path(dir, id), id, launch))
  invisible(truth_frame(model))
}

simulation_defaults <- list(operations = "barrier", bytes = 0, levels_percent = c(0, 0.1, 0.3, 1),
                            pairs = 200, launches = 1, design = "lockin", slowdown_percent = NULL,
                            amplification = 1.5, cost_ns = 2000, half_period_ns = 1e7, period_ns = 1e7,
                            operation_ns = 2000, ranks = 2, wander_sd = 0.002, jitter_sd = 0.004,
                            spike_rate = 0.02, launch_sd = 0, arms = "both", ended = "complete", seed = 1,
                            prefix = "sim", kinds = "spin", patterns = "periodic", placements = "last",
                            phases = "random", treatment_factor = 1, base_sd = 0, start = "loop", raw = NULL,
                            nodes = 1, late_rank = NULL, noise = c("ar1", "pareto", "white"),
                            coin_seed = NULL, noise_nodes = 1, external = NULL)

simulation_of <- function(...) {
  model <- simulation_defaults
  given <- list(...)
  stopifnot(names(given) %in% names(model))
  model[names(given)] <- given
  stopifnot(model$start %in% c("loop", "window", "round"), is.null(model$raw) || model$start != "loop")
  model$coin_seed <- model$coin_seed %||% model$seed
  simulation_model(model)
}

# In memory: what read_campaign() makes of the files of simulate_campaign() with the same arguments, fast
# enough for thousands of campaigns. Histograms, ranks and what belongs to synchronised starts are left
# empty; the truth is the attribute `truth`.
simulated_campaign <- function(...) {
  model <- simulation_of(...)
  launches <- each_launch(model, function(id, launch) {
    drawn <- simulate_rows(id, launch)
    drawn$each_ns <- drawn$load_ns <- NULL
    list(rows = rows_as_read(drawn, launch), info = simulate_info(id, drawn, launch))
  })
  ids <- names(launches)
  campaign <- c(
    list(rows = bind_part(launches, "rows")),
    lapply(stats::setNames(nm = names(launch_files)), function(table) no_rows()),
    list(launches = lapply(launches, `[[`, "info"), dirs = model$prefix, paths = stats::setNames(ids, ids),
         notes = unlist(lapply(launches, function(launch) launch_notes(launch$info)), use.names = FALSE))
  )
  structure(campaign, class = "nl_campaign", truth = truth_frame(model))
}

# (data.table() takes ten times as long.)
no_rows <- function() {
  structure(list(launch = character()), class = c("data.table", "data.frame"), row.names = integer())
}

# Columns in the types that the reader gives them.
rows_as_read <- function(rows, model) {
  for (name in treatment_columns) rows[[name]] <- as_word(rows[[name]])
  whole <- vapply(rows, is.integer, TRUE)
  rows[whole] <- lapply(rows[whole], as.numeric)
  rows$design <- rep(model$design, length(rows$pair))
  data.table::setDT(rows)
  rows
}

# The arguments, and what follows from them: `truth` (a list of columns, one value per operation, treatment
# and level), `noise`.
simulation_model <- function(model) {
  stopifnot(model$pairs > 0, model$design %in% c(names(designs), "launches"),
            model$noise_nodes %in% seq_len(model$nodes), abs(model$seed) <= 2e6, abs(model$coin_seed) <= 2e6)
  if (!is.null(model$external)) model <- simulated_external(model)
  model$noise <- with_parameters(model$noise, noise_models, list(
    ar1 = list(sd = model$wander_sd), pareto = list(rate = model$spike_rate),
    white = list(sd = model$jitter_sd)
  ))
  model$truth <- simulated_truth(model)
  model
}

simulated_external <- function(model) {
  stopifnot(grepl(text_pattern, model$external))
  model[c("kinds", "patterns", "placements", "phases")] <- c(model$external, rep(no_word, 3))
  model$levels_percent <- no_level
  model$slowdown_percent <- model$slowdown_percent %||% 1
  model
}

# Operations vary slowest, levels fastest; of the treatments kind slowest, phase fastest.
simulated_truth <- function(model) {
  levels <- model$levels_percent
  n_levels <- length(levels)
  factors <- list(phase = model$phases, placement = model$placements, pattern = model$patterns,
                  kind = model$kinds)
  n_treatments <- prod(lengths(factors))
  n_operations <- length(model$operations)
  n <- n_operations * n_treatments * n_levels
  operation <- rep(seq_len(n_operations), each = n_treatments * n_levels)
  each <- c(n_levels, n_levels * cumprod(lengths(factors)[-4]))
  crossed <- Map(function(words, each) rep_len(rep(words, each = each), n), factors, each)[treatment_columns]
  cpus <- ifelse(crossed$placement == "all", model$ranks,
                 lengths(strsplit(crossed$placement, "+", fixed = TRUE)))
  times <- rep_len(rep(rep_len(model$treatment_factor, n_treatments), each = n_levels), n)
  preempted <- levels + 100 * model$cost_ns / model$period_ns * (levels > 0)
  if (!is.null(model$external)) preempted <- model$slowdown_percent / model$amplification[1]
  amplification <- rep_len(model$amplification, n_operations)
  slow <- if (is.null(model$slowdown_percent)) {
    amplification[operation] * rep_len(preempted, n)
  } else {
    rep_len(rep_len(model$slowdown_percent, n_levels), n)
  }
  of_operation <- function(x) rep_len(x, n_operations)[operation]
  c(list(operation = model$operations[operation], bytes = of_operation(model$bytes),
         operation_ns = of_operation(model$operation_ns)), crossed,
    list(cpus = cpus, level_requested_percent = rep_len(levels, n), slowdown_percent = times * slow,
         preempted_percent = cpus * rep_len(preempted, n), cost_ns = rep(model$cost_ns, n)))
}

truth_frame <- function(model) {
  as.data.frame(model$truth[setdiff(names(model$truth), c("cpus", "operation_ns"))])
}

# Calls `make` for each launch, with its id and its model, under the launch's own random numbers.
each_launch <- function(model, make) {
  each <- launch_models(model)
  stopifnot(length(each) < 1000)
  ids <- paste0(model$prefix, "-", seq_along(each))
  lapply(stats::setNames(seq_along(each), ids), function(i) {
    launch <- each[[i]]
    launch$number <- i
    launch$schedule_seed <- if (model$coin_seed != model$seed) model$coin_seed * 1000 + i
    with_seed(model$seed * 1000 + i, make(ids[i], launch))
  })
}

# In design `launches` a set holds each arm once: off, and every treatment at every level, for all operations.
launch_models <- function(model) {
  if (model$design != "launches") return(rep(list(model), model$launches))
  truth <- model$truth
  n_arms <- length(truth$operation) / length(model$operations)
  arm_of_cell <- rep_len(seq_len(n_arms), length(truth$operation))
  arms <- with_seed(model$coin_seed * 1000, {
    unlist(lapply(seq_len(model$launches), function(i) sample.int(n_arms + 1) - 1))
  })
  Map(function(arm, set) {
    launch <- model
    cells <- arm_of_cell == max(1, arm)
    launch$truth <- lapply(truth, `[`, cells)
    launch$design <- "single"
    launch$arms <- if (arm == 0) "off" else "on"
    launch$set <- set
    launch$levels_percent <- if (arm == 0) numeric() else launch$truth$level_requested_percent[1]
    for (name in treatment_columns) launch[[paste0(name, "s")]] <- launch$truth[[name]][1]
    launch
  }, arms, rep(seq_len(model$launches), each = n_arms + 1))
}

# Bursts of each on half: as many as periods, or drawn with that mean. Periodic campaigns use no random
# number here.
draw_bursts <- function(pattern, periods) {
  bursts <- rep(periods, length(pattern))
  at <- which(!pattern %in% c("periodic", no_word))
  if (length(at) == 0) return(bursts)
  n <- length(at)
  single <- stats::rpois(n, periods)
  clusters <- 4 * stats::rpois(n, periods / 4)
  moved <- pmax(0, periods + sample(c(-1, 0, 0, 0, 1), n, replace = TRUE))
  bursts[at] <- ifelse(pattern[at] == "bursts", clusters, ifelse(pattern[at] == "jittered", moved, single))
  bursts
}

simulate_launch <- function(dir, id, model) {
  if (!dir.create(dir, recursive = TRUE, showWarnings = FALSE)) {
    abort_usage("'", dir, "' exists already or cannot be made")
  }
  rows <- simulate_rows(id, model)
  each_ns <- rows$each_ns
  preempted <- simulate_preempted(rows, model)
  rows <- place_rows(rows, preempted, model)
  rows$each_ns <- rows$load_ns <- NULL
  rows <- structure(data.table::as.data.table(rows), each_ns = each_ns)
  ranks <- simulate_ranks(rows, preempted, model)
  info <- simulate_info(id, rows, model)
  if (model$start != "loop") {
    starts <- simulate_starts(id, rows, ranks, info, model, dir)
    rows <- starts$rows
    ranks <- starts$ranks
    info <- starts$info
  }
  if (!is.null(model$companion)) info <- model$companion$files(dir, id, rows, preempted, info, model)
  file <- if (model$design == "lockin") "halves.csv" else "blocks.csv"
  write <- function(table, name) {
    data.table::fwrite(as_in_files(table), file.path(dir, name), na = "", scipen = 50)
  }
  write(rows, file)
  write(simulate_hist(rows), "hist.csv")
  write(ranks, "ranks.csv")
  write(simulate_nodes(rows, preempted, model), "nodes.csv")
  writeLines(jsonlite::toJSON(info, auto_unbox = TRUE, null = "null", na = "null", digits = NA,
                              pretty = TRUE), file.path(dir, "launch.json"))
}

# A treatment from outside has nothing in its fields but its name.
as_in_files <- function(table) {
  for (name in setdiff(intersect(treatment_columns, names(table)), "kind")) {
    word <- as.character(table[[name]])
    table[[name]] <- ifelse(word %in% no_word, NA, word)
  }
  without_levels(table)
}

# Which operation, level and arm each half has, in run order. The launch's own random numbers are used up in
# any case, so that the noise, drawn next, does not depend on who drew the schedule.
simulate_schedule <- function(model) {
  plan <- draw_schedule(model)
  if (is.null(model$schedule_seed)) plan else with_seed(model$schedule_seed, draw_schedule(model))
}

draw_schedule <- function(model) {
  truth <- model$truth
  n_cells <- length(truth$operation)
  if (model$design == "lockin") {
    cell <- unlist(lapply(seq_len(model$pairs), function(i) sample.int(n_cells)))
    n <- length(cell)
    on_first <- stats::runif(n) < 0.5
    arm <- as.vector(rbind(ifelse(on_first, "on", "off"), ifelse(on_first, "off", "on")))
    return(list(cell = rep(cell, each = 2), pair = rep(seq_len(n), each = 2), order = rep(0:1, n), arm = arm))
  }
  # A set holds, per operation, one off block and one block of each level, in random order.
  firsts <- match(unique(truth$operation), truth$operation)  # whose off block has no treatment
  cell <- c(firsts, seq_len(n_cells))
  arm <- rep(c("off", "on"), c(length(firsts), n_cells))
  if (model$arms != "both") {
    cell <- cell[arm == model$arms]
    arm <- arm[arm == model$arms]
  }
  n_set <- length(cell)
  n_sets <- if (model$design == "single") 1 else model$pairs
  order <- unlist(lapply(seq_len(n_sets), function(i) sample.int(n_set)))
  list(cell = cell[order], pair = rep(seq_len(n_sets), each = n_set), order = rep(seq_len(n_set) - 1, n_sets),
       arm = arm[order])
}

# A list of the columns of halves.csv or blocks.csv, and `each_ns`, the mean time of an operation.
simulate_rows <- function(id, model) {
  plan <- simulate_schedule(model)
  truth <- lapply(model$truth, `[`, plan$cell)
  n <- length(plan$cell)
  on <- plan$arm == "on"
  level <- ifelse(on, truth$level_requested_percent, 0)
  slot_s <- model$half_period_ns / 1e9
  times_s <- (seq_len(n) - 1) * (slot_s + 2e-4)
  noise <- function(part) draw_noise(model$noise, part, times_s, slot_s)
  speed <- noise("speed")
  shift <- stats::rnorm(1, 0, model$launch_sd)
  if (model$base_sd > 0) speed <- speed + stats::rnorm(1, 0, model$base_sd)
  lost <- noise("lost")
  periods <- max(1, round(model$half_period_ns / model$period_ns))
  external <- truth$pattern %in% no_word
  bursts <- on * (level > 0) * draw_bursts(truth$pattern, periods)
  dose <- bursts / periods  # of the level
  slow <- on * (log1p(ifelse(level > 0, dose, 1) * truth$slowdown_percent / 100) + shift * (level > 0))
  # Synchronised starts are half an operation's time apart.
  slot <- if (model$start == "loop") truth$operation_ns else 1.5 * truth$operation_ns
  operations <- pmax(1, round(model$half_period_ns / slot))
  busy <- round(operations * truth$operation_ns * exp(speed + slow + noise("scatter")) + lost)
  wall <- busy + round(operations * (slot - truth$operation_ns))
  cpus <- truth$cpus * length(model$noise_nodes)
  bursts <- cpus * bursts
  start <- cumsum(c(0, wall[-n] + 2e5))
  delivered <- round(cpus * dose * ifelse(external & on, truth$preempted_percent, level) / 100 * wall)
  load <- delivered + ifelse(external, 0, bursts * model$cost_ns)
  if (!is.null(model$companion)) {
    taken <- model$companion$load(model, start, wall, on & external)
    delivered[on & external] <- taken$delivered_ns
    load[on & external] <- taken$load_ns
  }
  preempted <- round(load + lost + stats::rnorm(n, 300, 150))
  detour <- round(pmax(0, preempted * 1.1))
  word <- function(x) {
    x[!on] <- NA
    x
  }
  # Of a treatment from outside no generator keeps an account; an agent's CPU time is known.
  account <- function(x, of_agent = FALSE) {
    if (!is.null(model$external)) return(rep(NA_real_, n))
    ifelse(on & external & !of_agent, NA_real_, x)
  }
  list(launch = rep(id, n), operation = truth$operation, bytes = truth$bytes, ranks = rep(model$ranks, n),
       pair = plan$pair, order = plan$order, arm = plan$arm, level_requested_percent = level,
       level_delivered_percent = account(100 * delivered / (cpus * wall), TRUE), start_ns = start,
       wall_ns = wall, operations = operations, preempted_ns_max = round(preempted * 0.9),
       preempted_ns_sum = preempted, preempted_rank = rep(0L, n), detour_ns = detour,
       detours = bursts + (lost > 0), base_ns = round(truth$operation_ns * exp(speed), 2),
       steal_ns = rep(0L, n), involuntary_switches = bursts, slowest_rank = rep(0L, n),
       delivered_ns = account(delivered, TRUE), bursts = account(bursts),
       bursts_due = account(as.integer(bursts > 0)), kind = word(truth$kind), pattern = word(truth$pattern),
       placement = word(truth$placement), phase = word(truth$phase), requested_ns = account(delivered),
       rank_steal_ns_max = rep(0, n), rank_steal_ns_sum = rep(0, n), each_ns = busy / operations,
       load_ns = load)
}

# Most operations near the base time, and a long one for each detour, in the numbers that were run.
simulate_hist <- function(rows) {
  mean_ns <- operation_ns(rows)
  key <- combine_keys(rows[["operation"]], rows[["arm"]], rows[["level_requested_percent"]],
                      treatment_code(rows))
  parts <- lapply(split(seq_along(key), key), function(at) {
    typical <- stats::median(mean_ns[at]) * exp(stats::rnorm(4000, 0, 0.1))
    detours <- rows[["detours"]][at]
    long <- rep(pmax(1, rows[["preempted_ns_sum"]][at] / pmax(1, detours)), detours)
    each <- max(1, (sum(rows[["operations"]][at]) * rows[["ranks"]][at[1]] - length(long)) / length(typical))
    # Draws stand for many operations each, so that a long one has the weight of one.
    weight <- rep(c(each, 1), c(length(typical), length(long)))
    counts <- rowsum(weight, hist_bin(c(typical, typical[1] + long)))
    lo <- as.numeric(rownames(counts))
    do.call(
      frame,
      c(
        list(operation = rows[["operation"]][at[1]], bytes = rows[["bytes"]][at[1]],
             arm = rows[["arm"]][at[1]], level_requested_percent = rows[["level_requested_percent"]][at[1]],
             lo_ns = lo, hi_ns = lo + hist_width(lo), count = round(counts[, 1])),
        treatment_of(rows, at[1])
      )
    )
  })
  bind_rows(unname(parts))
}

# Bins as in docs/reference/formats.md: exact below 128 ns, then 128 per octave.
hist_width <- function(x) pmax(1, 2^(floor(log2(pmax(1, x))) - 7))
hist_bin <- function(x) floor(x / hist_width(x)) * hist_width(x)

# Launches follow each other by a minute.
simulated_utc <- function(minute) sprintf("2026-01-01T%02d:%02d:00Z", minute %/% 60, minute %% 60)

simulate_info <- function(id, rows, model) {
  killed <- is.na(model$ended)
  host <- paste0("node", simulated_nodes(model))
  hosts <- unique(host)
  list(
    schema = schema_known,
    program = "noiselab-detect",
    version = "1.0.0",
    git = "simulated",
    launch = id,
    command = list("simulate_campaign", "seed", as.character(model$seed)),
    options = list(design = model$design, operations = as.list(unique(model$truth$operation)),
                   bytes = as.list(unique(model$truth$bytes)),
                   levels_percent = as.list(model$levels_percent[has_level(model$levels_percent)]),
                   external = model$external, half_period_ns = model$half_period_ns,
                   period_ns = model$period_ns, arms = model$arms, set = model$set, kind = model$kinds[1],
                   kinds = as.list(model$kinds), patterns = as.list(model$patterns),
                   placements = as.list(model$placements), phases = as.list(model$phases),
                   seconds = sum(rows[["wall_ns"]]) / 1e9, warmup_ns = 0),
    seed = as.character(model$seed),
    ranks = model$ranks,
    nodes = length(hosts),
    placement = lapply(seq_len(model$ranks) - 1, function(rank) {
      list(rank = rank, host = host[rank + 1], cpu = rank, binding = as.character(rank))
    }),
    hosts = lapply(hosts, function(name) {
      list(host = name, kernel = "simulated", tick = NULL, clocksource = "simulated", cpu_model = "simulated")
    }),
    mpi = list(library = "none", version = "simulated", parameters = list()),
    clock = list(name = "simulated", tick_ns = 1, read_ns = 0),
    cells = list(),
    pairs_planned = max(rows[["pair"]]),
    n_generators = if (without_generator(model)) {
      0L
    } else {
      length(model$noise_nodes)
    },
    generators = if (killed || without_generator(model)) {
      list()
    } else {
      list(simulate_certificate(rows, model))
    },
    warnings = list(),
    started_utc = simulated_utc(model$number - 1),
    ended_utc = if (!killed) simulated_utc(model$number),
    ended = if (!killed) model$ended,
    rows = if (!killed) length(rows[["pair"]])
  )
}

without_generator <- function(model) !any(has_level(model$truth$level_requested_percent))

simulate_certificate <- function(rows, model) {
  on <- which(rows[["arm"]] == "on" & has_level(rows[["level_requested_percent"]]))
  code <- combine_keys(treatment_code(rows, on), rows[["level_requested_percent"]][on])
  levels <- lapply(on[!duplicated(code)], function(first) {
    at <- on[code == code[match(first, on)]]
    level <- rows[["level_requested_percent"]][first]
    bursts <- sum(rows[["bursts"]][at])
    c(
      treatment_of(rows, first),
      list(level_requested_percent = level, halves = length(at),
           level_delivered_percent = mean(rows[["level_delivered_percent"]][at]), bursts_planned = bursts,
           bursts_run = bursts, ratio = if (level > 0) 1 else NULL, ok = if (level > 0) TRUE else NULL)
    )
  })
  levels <- levels[order(vapply(levels, `[[`, 0, "level_requested_percent"))]
  list(host = "node1", kind = model$kinds[1], cpu = 0, period_ns = model$period_ns, ok = TRUE,
       lateness_ns = list(p50 = 1500, p99 = 9000, max = 50000), levels = levels)
}
