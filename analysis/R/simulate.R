#' Simulate a campaign with known truth
#'
#' Writes a campaign directory as the detector does (docs/formats.md), for tests and for learning what
#' the analysis can see. Per half: the base speed wanders (AR(1) in the log), the on half is slower by
#' `slowdown_percent`, loses `level + cost_ns * bursts` of CPU time to the generator, and every half
#' loses a heavy-tailed background. Factors of treatment are crossed. In patterns other than `periodic`
#' the number of bursts in an on half is drawn (its mean is that of the periodic one), and with it the
#' load and the slowdown.
#'
#' @param dir Character, length 1: campaign directory, made if need be. A launch id must be new.
#' @param operations Character, length >= 1; `bytes` numeric, length 1 or that of `operations`.
#' @param bytes Message size in bytes.
#' @param levels_percent Numeric: requested levels, percent of one CPU.
#' @param pairs Pairs (sets, loops) per operation and level, length 1.
#' @param launches Number of launches, length 1.
#' @param design `lockin`, `blocks` or `single`.
#' @param slowdown_percent Numeric, length 1 or that of `levels_percent`: true slowdown; NULL:
#'   `amplification` times the stolen share.
#' @param amplification True slowdown over stolen share, length 1 (or one per operation).
#' @param cost_ns True cost of an interruption beyond the load, ns, length 1.
#' @param half_period_ns,period_ns Length of a half and of the noise period, ns, length 1.
#' @param operation_ns Time of one operation, ns, length 1 or that of `operations`.
#' @param ranks Number of ranks, length 1.
#' @param wander_sd,wander_phi Innovation SD (log) and coefficient of the AR(1) base speed, length 1;
#'   `wander_phi = 1` is a random walk.
#' @param jitter_sd SD of the log loop time of a half, length 1.
#' @param spike_rate Chance that a half loses a Pareto-distributed background spike, length 1.
#' @param launch_sd SD (log) of the slowdown between launches, length 1.
#' @param base_sd SD (log) of the base speed between launches, length 1.
#' @param arms One of `both`, `off`, `on`: which arms each launch has (`single` only may lack one).
#' @param ended `complete`, `interrupted`, or NA for a killed launch.
#' @param seed Whole number, length 1: the same seed writes the same rows.
#' @param prefix Character, length 1: launch ids are `<prefix>-1`, `<prefix>-2`, ...
#' @param kinds,patterns,placements,phases Character, length >= 1: the words of each factor of treatment;
#'   all combinations are run. A placement of several CPUs (`rank:0+rank:1`; `all`: those of all ranks) is
#'   loaded on each at the level.
#' @param treatment_factor Numeric, length 1 or one per treatment (phase varies fastest, kind slowest):
#'   times the slowdown.
#' @param start How operations are started, length 1: `loop`, or with synchronised starts `barrier`, `window` or
#'   `round`. These write every start of every rank to memory first: keep `half_period_ns` short.
#' @param raw Character, length 1: name of the file for every start of every rank; NULL: none.
#' @param nodes Number of nodes that the ranks are spread over in synchronised starts, length 1. Clocks of all
#'   but the first are off by some ms and drift.
#' @param late_rank Rank that is some microseconds behind the others in every third synchronised start; NULL: none.
#' @return Invisibly a data frame with the truth per operation, treatment and level: `operation`, `bytes`,
#'   `kind`, `pattern`, `placement`, `phase`, `level_requested_percent`, `slowdown_percent`,
#'   `stolen_percent` (of one CPU), `cost_ns`.
#' @examples
#' dir <- file.path(tempdir(), "simulated")
#' simulate_campaign(dir, pairs = 10, levels_percent = c(0, 1), seed = 1)
#' list.files(dir, recursive = TRUE)
#' unlink(dir, recursive = TRUE)
#' @export
simulate_campaign <- function(dir, operations = "barrier", bytes = 0,
                              levels_percent = c(0, 0.1, 0.3, 1), pairs = 200, launches = 1,
                              design = "lockin", slowdown_percent = NULL, amplification = 1.5,
                              cost_ns = 2000, half_period_ns = 1e7, period_ns = 1e7,
                              operation_ns = 2000, ranks = 2, wander_sd = 0.002, wander_phi = 0.99,
                              jitter_sd = 0.004, spike_rate = 0.02, launch_sd = 0, arms = "both",
                              ended = "complete", seed = 1, prefix = "sim", kinds = "spin",
                              patterns = "periodic", placements = "last", phases = "random",
                              treatment_factor = 1, base_sd = 0, start = "loop", raw = NULL, nodes = 1,
                              late_rank = NULL) {
  check_argument(is_text(dir), "dir", dir, "one directory name")
  check_argument(start %in% start_modes, "start", start, paste(start_modes, collapse = ", "))
  check_argument(is.null(raw) || is_text(raw) && start != "loop", "raw", raw, "a file name, with synchronised starts")
  check_argument(is_number(pairs, 0), "pairs", pairs, "a number above 0")
  check_argument(design %in% names(designs), "design", design, paste(names(designs), collapse = ", "))
  check_numeric(levels_percent, "levels_percent")
  model <- as.list(environment())
  crossed <- expand.grid(phase = phases, placement = placements, pattern = patterns, kind = kinds,
                         stringsAsFactors = FALSE)[treatment_columns]
  crossed$cpus <- ifelse(crossed$placement == "all", ranks, lengths(strsplit(crossed$placement, "+", fixed = TRUE)))
  crossed$times <- rep_len(treatment_factor, nrow(crossed))
  model$truth <- bind_rows(lapply(seq_along(operations), function(i) {
    bind_rows(lapply(seq_len(nrow(crossed)), function(k) {
      each <- levels_percent + 100 * cost_ns / period_ns * (levels_percent > 0)
      slow <- if (is.null(slowdown_percent)) rep_len(amplification, length(operations))[i] * each else
        rep_len(slowdown_percent, length(levels_percent))
      data.frame(operation = operations[i], bytes = rep_len(bytes, length(operations))[i],
                 operation_ns = rep_len(operation_ns, length(operations))[i],
                 crossed[rep(k, length(each)), ], level_requested_percent = levels_percent,
                 slowdown_percent = crossed$times[k] * slow, stolen_percent = crossed$cpus[k] * each,
                 cost_ns = cost_ns)
    }))
  }))
  for (i in seq_len(launches)) {
    id <- paste0(prefix, "-", i)
    with_seed(seed * 1000 + i, simulate_launch(file.path(dir, id), id, model))
  }
  invisible(model$truth[setdiff(names(model$truth), c("cpus", "times", "operation_ns"))])
}

# Bursts of each on half: as many as periods, or drawn with that mean. Periodic campaigns use no random
# number here.
draw_bursts <- function(pattern, periods) {
  bursts <- rep(periods, length(pattern))
  at <- which(pattern != "periodic")
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
  ranks <- simulate_ranks(rows, model)
  info <- simulate_info(id, rows, model)
  if (model$start != "loop") {
    starts <- simulate_starts(id, rows, ranks, info, model, dir)
    rows <- starts$rows
    ranks <- starts$ranks
    info <- starts$info
  }
  file <- if (model$design == "lockin") "halves.csv" else "blocks.csv"
  data.table::fwrite(rows, file.path(dir, file), na = "", scipen = 50)
  data.table::fwrite(simulate_hist(rows), file.path(dir, "hist.csv"), scipen = 50)
  data.table::fwrite(ranks, file.path(dir, "ranks.csv"), scipen = 50)
  writeLines(jsonlite::toJSON(info, auto_unbox = TRUE, null = "null", na = "null", digits = NA,
                              pretty = TRUE), file.path(dir, "launch.json"))
}

# Which operation, level and arm each half has, in run order.
simulate_schedule <- function(model) {
  truth <- model$truth
  lockin <- model$design == "lockin"
  if (lockin) {
    cell <- as.vector(replicate(model$pairs, sample.int(nrow(truth))))
    n <- length(cell)
    on_first <- stats::runif(n) < 0.5
    arm <- as.vector(rbind(ifelse(on_first, "on", "off"), ifelse(on_first, "off", "on")))
    return(list(cell = rep(cell, each = 2), pair = rep(seq_len(n), each = 2),
                order = rep(0:1, n), arm = arm))
  }
  # A set holds, per operation, one off block and one block of each level, in random order.
  firsts <- match(unique(truth$operation), truth$operation)  # whose off block has no treatment
  set <- data.frame(cell = c(firsts, seq_len(nrow(truth))),
                    arm = rep(c("off", "on"), c(length(firsts), nrow(truth))))
  if (model$arms != "both") set <- set[set$arm == model$arms, ]
  n_sets <- if (model$design == "single") 1 else model$pairs
  order <- as.vector(replicate(n_sets, sample.int(nrow(set))))
  list(cell = set$cell[order], pair = rep(seq_len(n_sets), each = nrow(set)),
       order = rep(seq_len(nrow(set)) - 1, n_sets), arm = set$arm[order])
}

simulate_rows <- function(id, model) {
  plan <- simulate_schedule(model)
  truth <- model$truth[plan$cell, ]
  n <- length(plan$cell)
  on <- plan$arm == "on"
  level <- ifelse(on, truth$level_requested_percent, 0)
  wander <- as.numeric(stats::filter(stats::rnorm(n, 0, model$wander_sd), model$wander_phi,
                                     method = "recursive"))
  shift <- stats::rnorm(1, 0, model$launch_sd)
  if (model$base_sd > 0) wander <- wander + stats::rnorm(1, 0, model$base_sd)
  spike <- (stats::runif(n) < model$spike_rate) * 5e3 * (stats::runif(n)^(-1 / 1.5) - 1)
  periods <- max(1, round(model$half_period_ns / model$period_ns))
  bursts <- on * (level > 0) * draw_bursts(truth$pattern, periods)
  dose <- bursts / periods  # of the level
  slow <- on * (log1p(ifelse(level > 0, dose, 1) * truth$slowdown_percent / 100) + shift * (level > 0))
  # Synchronised starts are half an operation's time apart.
  slot <- if (model$start == "loop") truth$operation_ns else 1.5 * truth$operation_ns
  operations <- pmax(1, round(model$half_period_ns / slot))
  busy <- round(operations * truth$operation_ns * exp(wander + slow +
                  stats::rnorm(n, 0, model$jitter_sd)) + spike)
  wall <- busy + round(operations * (slot - truth$operation_ns))
  bursts <- truth$cpus * bursts
  delivered <- round(truth$cpus * dose * level / 100 * wall)
  stolen <- round(delivered + bursts * model$cost_ns + spike + stats::rnorm(n, 300, 150))
  detour <- round(pmax(0, stolen * 1.1))
  rows <- data.table::data.table(
    launch = id, operation = truth$operation, bytes = truth$bytes, ranks = model$ranks,
    pair = plan$pair, order = plan$order, arm = plan$arm, level_requested_percent = level,
    level_delivered_percent = 100 * delivered / (truth$cpus * wall), start_ns = cumsum(c(0, wall[-n] + 2e5)),
    wall_ns = wall, operations = operations, stolen_ns_max = round(stolen * 0.9),
    stolen_ns_sum = stolen, stolen_rank = 0L, detour_ns = detour,
    detours = bursts + (spike > 0), base_ns = round(truth$operation_ns * exp(wander), 2),
    steal_ns = 0L, involuntary_switches = bursts, slowest_rank = 0L, delivered_ns = delivered,
    bursts = bursts, bursts_due = as.integer(bursts > 0), kind = ifelse(on, truth$kind, NA),
    pattern = ifelse(on, truth$pattern, NA), placement = ifelse(on, truth$placement, NA),
    phase = ifelse(on, truth$phase, NA), requested_ns = delivered
  )
  structure(rows, each_ns = busy / operations)
}

# Most operations near the base time, and one long one per burst.
simulate_hist <- function(rows) {
  mean_ns <- operation_ns(rows)
  key <- combine_keys(rows[["operation"]], rows[["arm"]], rows[["level_requested_percent"]], treatment_code(rows))
  parts <- lapply(split(seq_along(key), key), function(at) {
    typical <- stats::median(mean_ns[at]) * exp(stats::rnorm(4000, 0, 0.1))
    long <- utils::head(rows[["stolen_ns_sum"]][at][rows[["detours"]][at] > 0], 2000)
    lo <- hist_bin(c(typical, typical[1] + pmax(1, long)))
    counts <- table(lo)
    lo <- as.numeric(names(counts))
    data.frame(operation = rows[["operation"]][at[1]], bytes = rows[["bytes"]][at[1]],
               arm = rows[["arm"]][at[1]],
               level_requested_percent = rows[["level_requested_percent"]][at[1]],
               lo_ns = lo, hi_ns = lo + hist_width(lo), count = as.vector(counts), treatment_of(rows, at[1]))
  })
  bind_rows(unname(parts))
}

# Bins as in docs/formats.md: exact below 128 ns, then 128 per octave.
hist_width <- function(x) pmax(1, 2^(floor(log2(pmax(1, x))) - 7))
hist_bin <- function(x) floor(x / hist_width(x)) * hist_width(x)

simulate_ranks <- function(rows, model) {
  code <- combine_keys(rows[["arm"]], rows[["level_requested_percent"]], treatment_code(rows))
  first <- which(!duplicated(code))
  at <- lapply(first, function(i) which(code == code[i]))
  bind_rows(lapply(seq_len(model$ranks) - 1, function(rank) {
    total <- function(column) vapply(at, function(i) sum(rows[[column]][i]), 0)
    data.frame(rank = rank, host = "node1", cpu = rank, arm = rows[["arm"]][first],
               level_requested_percent = rows[["level_requested_percent"]][first], halves = lengths(at),
               wall_ns = total("wall_ns"), stolen_ns = if (rank == 0) total("stolen_ns_sum") else 0,
               detours = total("detours"), detour_ns = total("detour_ns"),
               involuntary_switches = total("involuntary_switches"),
               times_slowest = if (rank == 0) lengths(at) else 0, treatment_of(rows, first))
  }))
}

simulate_info <- function(id, rows, model) {
  killed <- is.na(model$ended)
  list(
    schema = schema_known, program = "noiselab-detect", version = "0.1.0", git = "simulated",
    launch = id, command = list("simulate_campaign", "seed", as.character(model$seed)),
    options = list(design = model$design, operations = as.list(unique(overlap_base(model$truth$operation))),
                   bytes = as.list(unique(model$truth$bytes)),
                   levels_percent = as.list(model$levels_percent),
                   half_period_ns = model$half_period_ns, period_ns = model$period_ns,
                   kind = model$kinds[1], kinds = as.list(model$kinds), patterns = as.list(model$patterns),
                   placements = as.list(model$placements), phases = as.list(model$phases),
                   seconds = sum(rows[["wall_ns"]]) / 1e9, warmup_ns = 0),
    seed = as.character(model$seed), ranks = model$ranks, nodes = 1,
    placement = lapply(seq_len(model$ranks) - 1, function(rank) {
      list(rank = rank, host = "node1", cpu = rank, binding = as.character(rank))
    }),
    hosts = list(list(host = "node1", kernel = "simulated", cmdline_isolcpus = NULL, nohz_full = NULL,
                      tick = NULL, clocksource = "simulated", governor = NULL, smt = NULL,
                      cpuset = NULL, topology = NULL, cpu_model = "simulated")),
    mpi = list(library = "none", version = "simulated", parameters = list()), slurm = NULL,
    clock = list(name = "simulated", source = "simulated", tick_ns = 1, read_ns = 0),
    cells = list(), pairs_planned = max(rows[["pair"]]), n_generators = 1L,
    generators = if (killed) list() else list(simulate_certificate(rows, model)),
    switching = list(n = nrow(rows), p50_ns = 2000, p99_ns = 9000, max_ns = 20000),
    warnings = list(), started_utc = "2026-01-01T00:00:00Z",
    ended_utc = if (killed) NULL else "2026-01-01T00:01:00Z",
    ended = if (killed) NULL else model$ended, rows = if (killed) NULL else nrow(rows)
  )
}

simulate_certificate <- function(rows, model) {
  on <- which(rows[["arm"]] == "on")
  code <- combine_keys(treatment_code(rows, on), rows[["level_requested_percent"]][on])
  levels <- lapply(on[!duplicated(code)], function(first) {
    at <- on[code == code[match(first, on)]]
    level <- rows[["level_requested_percent"]][first]
    delivered <- sum(rows[["delivered_ns"]][at])
    wall <- sum(rows[["wall_ns"]][at])
    c(treatment_of(rows, first),
      list(level_requested_percent = level, halves = length(at), wall_ns = wall,
           requested_ns = sum(rows[["requested_ns"]][at]), delivered_ns = delivered,
           level_delivered_percent = mean(rows[["level_delivered_percent"]][at]),
           bursts_planned = sum(rows[["bursts"]][at]), bursts_run = sum(rows[["bursts"]][at]),
           ratio = if (level > 0) 1 else NULL, ok = if (level > 0) TRUE else NULL))
  })
  rank <- function(key) vapply(levels, `[[`, 0, key)
  list(schema = schema_known, program = "noiselab-gen", version = "0.1.0", host = "node1",
       kind = model$kinds[1], kind_bytes = 0, cpu = 0, period_ns = model$period_ns, tolerance_percent = 5,
       ok = TRUE, lateness_ns = list(p50 = 1500, p99 = 9000, max = 50000), migrations = 0,
       ended = "complete", threads = list(list(cpu = 0)), levels = levels[order(rank("level_requested_percent"))])
}
