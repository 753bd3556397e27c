# Clusters of known truth, as an acceptance campaign would measure them: every CPU has a train of bursts in
# wall time; scans see windows of it, the record of who ran all of it. Nothing of noiselab's is used here:
# columns and lists are those of docs/reference/formats.md.

machine_model <- list(cpus = 2, launches = 3, short_hz = 300, short_s = 4e-6, task_hz = 3, task_s = 4e-4,
                      latency_ns = 2000, speed = 1e10, scatter = 0.03, drift = 0.05, launch = 0.01)

# How long a launch is, and how much of it is scanned: seconds, repetitions, seconds of a scan of one CPU
# (all at once, alone).
machine_lengths <- list(quick = list(seconds = 12, repetitions = 4, scan = c(all = 0.3, alone = 0.15)),
                        planned = list(seconds = 200, repetitions = 8, scan = c(all = 3, alone = 1.5)))

# Starts and lengths of the bursts of one CPU of a launch; `long`: bursts of 50 ms per second.
machine_train <- function(seconds, m, extra_percent, long_hz) {
  draw <- function(hz, mean_s, spread) {
    n <- rpois(1, hz * seconds)
    data.frame(start = runif(n, 0, seconds), length = rlnorm(n, log(mean_s), spread))
  }
  tasks <- draw(m$task_hz, m$task_s, 0.5)
  if (extra_percent > 0) tasks <- rbind(tasks, draw(extra_percent / 100 / 2e-3, 2e-3, 0.2))
  if (long_hz > 0) {
    n <- rpois(1, long_hz * seconds)
    tasks <- rbind(tasks, data.frame(start = runif(n, 0, seconds), length = rep(0.05, n)))
  }
  list(tasks = tasks, short = draw(m$short_hz, m$short_s, 0.6))
}

# What of a train lies in a window.
machine_within <- function(train, from, to) {
  pmax(0, pmin(train$start + train$length, to) - pmax(train$start, from))
}

# `bad`: number of the node that is slow or noisy (0: none); `slow_percent` of its work and links;
# `extra_percent` of a CPU lost to bursts of 2 ms, `long_hz` of 50 ms; `bad_link`: two nodes, slower by
# `link_percent`; `switches`, `models`: nodes of each group, slower by `hop_percent`, `model_percent` from
# the second on.
machine_campaign <- function(nodes, length, seed, bad = 0, slow_percent = 0, extra_percent = 0, long_hz = 0,
                             bad_link = NULL, link_percent = 0, switches = NULL, models = NULL,
                             hop_percent = 60, model_percent = 30) {
  m <- machine_model
  l <- machine_lengths[[length]]
  set.seed(seed)
  hosts <- paste0("node", seq_len(nodes))
  group <- function(sizes) {
    if (is.null(sizes)) rep(1, nodes) else rep(seq_along(sizes), sizes)
  }
  leaf <- group(switches)
  model <- group(models)
  pairs <- t(utils::combn(nodes, 2))
  slow <- 1 + slow_percent / 100
  of_pair <- ifelse(pairs[, 1] == bad | pairs[, 2] == bad, slow, 1) *
    ifelse(leaf[pairs[, 1]] != leaf[pairs[, 2]], 1 + hop_percent / 100, 1)
  if (!is.null(bad_link)) {
    of_pair[pairs[, 1] == bad_link[1] & pairs[, 2] == bad_link[2]] <- 1 + link_percent / 100
  }
  work <- ifelse(seq_len(nodes) == bad, slow, 1) * (1 + (model - 1) * model_percent / 100)
  figures <- list()
  others <- list()
  for (launch in seq_len(m$launches)) {
    id <- sprintf("machine-%d", launch)
    offset <- exp(rnorm(1, 0, m$launch))
    drift <- offset * exp(rnorm(l$repetitions, 0, m$drift))
    row <- function(check, variant, metric, unit, value, repetition, n = 100, ...) {
      data.frame(launch = id, check = check, variant = variant, metric = metric, unit = unit, value = value,
                 n = n, repetition = repetition, start_ns = 1, wall_ns = 1e9 * l$seconds / l$repetitions / 8,
                 bytes = NA_real_, ranks = nodes, nodes = nodes, node = NA_real_, host = "", cpu = NA_real_,
                 peer_node = NA_real_, peer_host = "", max = NA_real_, ...)
    }
    for (r in seq_len(l$repetitions)) {
      jitter <- function(n) exp(rnorm(n, 0, m$scatter))
      link <- function(check, metric, unit, value, bytes) {
        x <- row(check, "between", metric, unit, value, r)
        x[c("bytes", "host", "peer_host", "node", "peer_node")] <- list(
          bytes, hosts[pairs[, 1]], hosts[pairs[, 2]], pairs[, 1] - 1, pairs[, 2] - 1
        )
        x
      }
      figures[[length(figures) + 1]] <- link("latency", "half_round_trip", "ns",
                                             drift[r] * m$latency_ns * of_pair * jitter(nrow(pairs)), 8)
      figures[[length(figures) + 1]] <- link("bandwidth", "one_way", "bytes_per_s",
                                             m$speed / drift[r] / of_pair * jitter(nrow(pairs)), 65536)
      words <- row("integrity", "", "mismatches", "count", rep(0, nodes), r)
      words$host <- hosts
      figures[[length(figures) + 1]] <- words
    }
    for (node in seq_len(nodes)) {
      trains <- lapply(seq_len(m$cpus), function(cpu) {
        machine_train(l$seconds, m, if (node == bad) extra_percent else 0,
                      if (node == bad && cpu == 1) long_hz else 0)
      })
      block <- l$seconds / 16
      busy <- vapply(
        0:15,
        function(b) {
          sum(vapply(trains, function(t) sum(machine_within(t$tasks, b * block, (b + 1) * block)), 0))
        },
        0
      )
      taken <- row("others", "", "taken", "percent", 100 * busy / (block * m$cpus), 1:16, n = NA_real_)
      taken$host <- hosts[node]
      figures[[length(figures) + 1]] <- taken
      lengths <- unlist(lapply(trains, function(t) t$tasks$length))
      others[[length(others) + 1]] <- list(
        launch = id, host = hosts[node], reason = NA_character_, n_cpus = m$cpus, source = "cpu", why = "",
        span_s = l$seconds, steal_s = 0, busy_s = sum(busy), blocks_s = busy, tasks = data.frame(),
        lengths = data.frame(seconds = lengths, n = rep(1, length(lengths))),
        begun = rep(length(lengths) / 16, 16), is_whole = TRUE, account = NULL
      )
      for (variant in c("all", "alone")) {
        window <- l$scan[[variant]]
        for (cpu in seq_len(m$cpus)) {
          for (r in seq_len(l$repetitions)) {
            from <- runif(1, 0, l$seconds - window)
            t <- trains[[cpu]]
            cut <- c(machine_within(t$tasks, from, from + window),
                     machine_within(t$short, from, from + window))
            cut <- cut[cut > 1e-6]
            base <- 20 * work[node] * exp(rnorm(1, 0, m$scatter / 10))
            x <- rbind(
              row("detour", variant, "lost", "percent", 100 * sum(cut) / window, r, n = length(cut)),
              row("detour", variant, "longest", "ns", if (length(cut) > 0) 1e9 * max(cut) else 0, r,
                  n = length(cut)),
              row("detour", variant, "base", "ns", base, r, n = round(1e9 * window / base)),
              if (variant == "alone") {
                row("quantum", "alone", "quantum", "ns",
                    drift[r] * 1e5 * work[node] * exp(rnorm(1, 0, m$scatter / 10)), r, n = 1000)
              }
            )
            x[c("host", "cpu", "node")] <- list(hosts[node], cpu - 1, node - 1)
            figures[[length(figures) + 1]] <- x
          }
        }
      }
    }
  }
  rows <- as.data.frame(data.table::rbindlist(figures))
  infos <- lapply(seq_len(m$launches), function(launch) {
    list(
      schema = 1,
      program = "noiselab-accept",
      launch = sprintf("machine-%d", launch),
      options = list(length = length),
      ranks = nodes,
      nodes = nodes,
      shared_kernel = FALSE,
      hosts = lapply(seq_len(nodes), function(i) {
        list(host = hosts[i], ranks = 1, kernel = "k", cpu_model = paste("CPU", model[i]))
      }),
      started_utc = "2026-01-01T00:00:00Z",
      ended_utc = "2026-01-01T00:10:00Z",
      ended = "complete",
      checks = list()
    )
  })
  names(infos) <- vapply(infos, `[[`, "", "launch")
  checks <- expand.grid(launch = names(infos), check = unique(rows$check), stringsAsFactors = FALSE)
  checks[c("status", "reason", "repetitions")] <- list("ran", NA_character_, l$repetitions)
  hist <- data.frame(check = character(), variant = character(), metric = character(), bytes = numeric(),
                     node = numeric(), host = character(), rank = numeric(), cpu = numeric(),
                     lo_ns = numeric(), hi_ns = numeric(), count = numeric(), launch = character())
  structure(
    list(figures = rows, hist = hist, mismatches = NULL, checks = checks, launches = infos,
         paths = character(), hosts = hosts, shared = NULL, others = others,
         self_check = list(dirs = character(), planned = NA, why_not = "simulated"), progress = NULL,
         dirs = "machines", notes = character()),
    class = "nl_acceptance"
  )
}
