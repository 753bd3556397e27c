# Acceptance campaigns of a known truth: what the tests and benchmarks judge.

acceptance_model <- list(nodes = 3, cpus = 2, launches = 3, repetitions = 5, lost_percent = 0.05,
                         lost_sd = 0.2, latency_ns = 2000, speed = 1e10, sd = 0.03, drift_sd = 0.05,
                         launch_sd = 0.01, place_effect = 0.2, slow_node = NULL, slow_link = NULL,
                         slow_percent = 20, extra_lost_percent = 1, work_percent = 0, mismatches = 0,
                         watched_s = 4, burst_node = NULL, switches = NULL, hop_percent = 60, models = NULL,
                         model_percent = 30, started = "2026-01-01", seed = 1)

# Nodes and links are equal but for what is asked; every repetition has a drift that all share, every launch
# another order of nodes and an offset of its own, and detours are skewed. `cpus`: of each node;
# `lost_percent` (detours) with `lost_sd` (of its logarithm); `speed` (bytes per s) with `sd` and
# `drift_sd`; `launch_sd` (of their logarithms); `place_effect`: what the second place costs in
# `last_end_cost`; `slow_node` (number): loses `extra_lost_percent` more, works slower by `work_percent`,
# and its pairs are slower by `slow_percent`; `watched_s`: of each scan of a CPU; `burst_node`: one burst of
# 50 ms in 10 s; `switches`, `models`: number of nodes on each leaf switch, of each CPU model (further hops
# cost `hop_percent`, other models work slower by `model_percent`); `started`: day; `slow_link`: two
# numbers; `mismatches`: words wrong from node 1 to 2. simulated_acceptance(): in memory,
# simulate_acceptance(): as files in `dir`.
simulated_acceptance <- function(...) {
  model <- utils::modifyList(acceptance_model, list(...))
  check_argument(all(names(list(...)) %in% names(acceptance_model)), "...", names(list(...)),
                 paste(names(acceptance_model), collapse = ", "))
  set.seed(model$seed)
  hosts <- sprintf("node%d", seq_len(model$nodes))
  ids <- sprintf("sim-%04d", seq_len(model$launches))
  figures <- bind_rows(lapply(seq_along(ids), function(l) {
    simulate_accept_launch(model, hosts, ids[l], l - 1)
  }))
  if (is.null(figures$peer_host)) figures$peer_host <- ""
  infos <- stats::setNames(lapply(ids, function(id) {
    list(
      schema = schema_known,
      program = "noiselab-accept",
      launch = id,
      options = list(length = "quick"),
      ranks = model$nodes,
      nodes = model$nodes,
      hosts = unname(Map(function(h, cpu) list(host = h, ranks = 1, kernel = "simulated", cpu_model = cpu),
                         hosts, paste("CPU", part_of(model$models, model$nodes)))),
      shared_kernel = FALSE,
      started_utc = paste0(model$started, "T00:00:00Z"),
      ended_utc = paste0(model$started, "T00:01:00Z"),
      ended = "complete",
      rows = sum(figures$launch == id),
      checks = lapply(unique(figures$check), function(name) {
        list(name = name, status = "ran", reason = NULL, repetitions = model$repetitions)
      })
    )
  }), ids)
  mismatches <- if (model$mismatches > 0) {
    data.frame(launch = ids[1], repetition = 1, sender_rank = 0, sender_host = hosts[1], receiver_rank = 1,
               receiver_host = hosts[2], bytes = 65536, offset_bytes = 4096 + 4 * seq_len(model$mismatches),
               expected_hex = "0000002a", found_hex = "0000012a")
  }
  checks <- bind_rows(lapply(infos, function(info) bind_rows(lapply(info$checks, function(check) {
    data.frame(launch = info$launch, check = check$name, status = check$status, reason = NA_character_,
               repetitions = check$repetitions)
  }))))
  structure(
    list(figures = figures, hist = as.data.frame(empty_table(accept_hist_rules)), mismatches = mismatches,
         checks = checks, launches = infos, paths = character(), hosts = hosts, shared = NULL,
         self_check = list(dirs = character(), planned = NA, why_not = "simulated"), progress = NULL,
         dirs = "simulated", notes = character()),
    class = "nl_acceptance"
  )
}

# The part of each node: 1 for the first so many, then 2, ...
part_of <- function(sizes, n) if (is.null(sizes)) rep(1, n) else rep(seq_along(sizes), sizes)

simulate_accept_launch <- function(model, hosts, id, turn) {
  n <- model$nodes
  order <- (seq_len(n) - 1 + turn) %% n + 1
  place <- match(seq_len(n), order) - 1
  jitter <- function(k, sd = model$sd) exp(stats::rnorm(k, 0, sd))
  offset <- exp(stats::rnorm(1, 0, model$launch_sd))
  bad <- seq_len(n) %in% model$slow_node
  ends <- if (n > 1) utils::combn(n, 2) else matrix(0, 2, 0)
  slow <- 1 + model$slow_percent / 100
  pair_slow <- ifelse(bad[ends[1, ]] | bad[ends[2, ]], slow, 1) *
    ifelse(ends[1, ] %in% model$slow_link & ends[2, ] %in% model$slow_link, slow, 1)
  leaf <- part_of(model$switches, n)
  hop <- ifelse(leaf[ends[1, ]] != leaf[ends[2, ]], 1 + model$hop_percent / 100, 1)
  work <- (1 + ifelse(bad, model$work_percent, 0) / 100) *
    (1 + (part_of(model$models, n) - 1) * model$model_percent / 100)
  bind_rows(lapply(seq_len(model$repetitions), function(r) {
    drift <- offset * exp(stats::rnorm(1, 0, model$drift_sd))
    row <- function(check, variant, metric, unit, value, ...) {
      if (length(value) == 0) return(NULL)
      frame(launch = id, check = check, variant = variant, metric = metric, unit = unit, value = value,
            n = 100, repetition = r, start_ns = r * 1e9, wall_ns = 1e8, ranks = n, nodes = n, ...)
    }
    pair <- function(...) {
      row(..., node = place[ends[1, ]], host = hosts[ends[1, ]], peer_node = place[ends[2, ]],
          peer_host = hosts[ends[2, ]])
    }
    cpu <- rep(seq_len(model$cpus) - 1, n)
    of <- rep(seq_len(n), each = model$cpus)
    scan <- function(...) row(..., node = place[of], host = hosts[of], cpu = cpu)
    wrong <- ifelse(seq_len(n) == 2 & r == 1 & turn == 0, model$mismatches, 0)
    turns <- function(rows) {
      rows$n <- round(model$watched_s * 1e9 / rows$value)
      rows
    }
    # one scan of every CPU; a turn of the loop takes 20 ns
    scanned <- function(variant) {
      bursts <- stats::rpois(length(of), ifelse(of %in% model$burst_node, model$watched_s / 10, 0))
      base <- 20 * work[of] * jitter(length(of), model$sd / 10)
      bind_rows(list(
        scan("detour", variant, "lost", "percent", lost() + 100 * bursts * 0.05 / model$watched_s),
        scan("detour", variant, "longest", "ns", ifelse(bursts > 0, 5e7, 1e5 * jitter(length(of), 0.3))),
        turns(scan("detour", variant, "base", "ns", base))
      ))
    }
    lost <- function() drift * model$lost_percent * jitter(length(of), model$lost_sd) +
      ifelse(bad[of], model$extra_lost_percent, 0)
    bind_rows(list(
      row("integrity", "", "mismatches", "count", wrong, node = place, host = hosts, rank = place),
      row("integrity", "", "received", "bytes", rep(1e9, n), node = place, host = hosts, rank = place),
      pair("latency", "between", "half_round_trip", "ns",
           drift * model$latency_ns * pair_slow * hop * jitter(ncol(ends)), bytes = 8),
      pair("bandwidth", "between", "one_way", "bytes_per_s",
           model$speed / drift / pair_slow / hop * jitter(ncol(ends)), bytes = 65536),
      row("completeness", "nodes", "coefficient", "ratio", 0.9 * jitter(1), bytes = 65536),
      scanned("alone"),
      scanned("all"),
      scan("quantum", "alone", "quantum", "ns", drift * work[of] * 1e5 * jitter(length(of), model$sd / 10)),
      row("collective", "barrier", "p99.9", "ns", drift * 3e4 * jitter(1), bytes = 0),
      row("collective", "barrier", "last_end_cost", "ns",
          100 * (1 + model$place_effect * place) * jitter(n) * ifelse(bad, slow, 1), bytes = 0, node = place,
          host = hosts, rank = place)
    ))
  }))
}

# @rdname simulated_acceptance
simulate_acceptance <- function(dir, ...) {
  acceptance <- simulated_acceptance(...)
  rows <- acceptance$figures
  for (name in setdiff(figure_rules$name, names(rows))) rows[[name]] <- NA
  for (id in names(acceptance$launches)) {
    own <- file.path(dir, id)
    dir.create(own, recursive = TRUE)
    data.table::fwrite(rows[rows$launch == id, figure_rules$name], file.path(own, "accept.csv"), na = "")
    wrong <- acceptance$mismatches[acceptance$mismatches$launch == id, ]
    if (NROW(wrong) > 0) data.table::fwrite(wrong, file.path(own, "mismatches.csv"))
    writeLines(
      as.character(jsonlite::toJSON(acceptance$launches[[id]], auto_unbox = TRUE, null = "null",
                                    digits = NA)),
      file.path(own, "launch.json")
    )
  }
  invisible(dir)
}

# A file of limits, as parsed.
limits_of <- function(...) {
  file <- tempfile()
  on.exit(unlink(file))
  writeLines(c(...), file)
  read_limits(file)
}

# Until the caller ends what costs at scale is walked through fewer events, and once: of tests that want the
# words, and figures to a few percent.
coarse_walks <- function(env = parent.frame()) {
  usual <- project_walk
  replaced("project_walk",
           utils::modifyList(usual, list(events = usual$events / 8, end_events = usual$end_events / 8)), env)
  remembered_projections(env)
}
