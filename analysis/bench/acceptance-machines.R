# Clusters of known truth, as an acceptance campaign would measure them: every CPU has a train of bursts in
# wall time; scans see windows of it, the record of who ran all of it. Nothing of noiselab's is used here:
# columns and lists are those of docs/reference/formats.md.

machine_model <- list(cpus = 2, launches = 3, short_hz = 300, short_s = 4e-6, task_hz = 3, task_s = 4e-4,
                      latency_ns = 2000, speed = 1e10, scatter = 0.03, drift = 0.05, launch = 0.01)

# How long a launch is, and how much of it is scanned: seconds, repetitions, seconds of a scan of one CPU
# (all at once, alone).
machine_lengths <- list(quick = list(seconds = 12, repetitions = 4, scan = c(all = 0.3, alone = 0.15)),
                        planned = list(seconds = 200, repetitions = 8, scan = c(all = 3, alone = 1.5)))

# Starts and lengths of the bursts of one CPU of a launch, by their starts; `long_hz`: bursts of 50 ms per
# second.
machine_train <- function(seconds, m, extra_percent, long_hz) {
  draw <- function(hz, mean_s, spread) {
    n <- rpois(1, hz * seconds)
    list(start = runif(n, 0, seconds), length = rlnorm(n, log(mean_s), spread))
  }
  in_order <- function(...) {
    from <- unlist(lapply(list(...), `[[`, "start"))
    length <- unlist(lapply(list(...), `[[`, "length"))
    by <- order(from)
    list(start = from[by], length = length[by], longest = max(0, length))
  }
  list(
    tasks = in_order(
      draw(m$task_hz, m$task_s, 0.5),
      if (extra_percent > 0) draw(extra_percent / 100 / 2e-3, 2e-3, 0.2),
      if (long_hz > 0) draw(long_hz, 0.05, 0)
    ),
    short = in_order(draw(m$short_hz, m$short_s, 0.6))
  )
}

# What of a train lies in a window, burst by burst.
machine_within <- function(train, from, to) {
  at <- findInterval(c(from - train$longest, to), train$start)
  own <- seq_len(at[2] - at[1]) + at[1]
  begin <- train$start[own]
  pmax(0, pmin(begin + train$length[own], to) - pmax(begin, from))
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
    drift <- exp(rnorm(1, 0, m$launch)) * exp(rnorm(l$repetitions, 0, m$drift))
    # columns of one value are repeated
    rows <- function(check, variant, metric, unit, value, repetition, ...) {
      own <- list(...)
      usual <- list(n = 100, bytes = NA_real_, node = NA_real_, host = "", cpu = NA_real_,
                    peer_node = NA_real_, peer_host = "", max = NA_real_)
      figures[[length(figures) + 1]] <<- data.table::as.data.table(c(
        list(launch = id, check = check, variant = variant, metric = metric, unit = unit, value = value,
             repetition = repetition, start_ns = 1, wall_ns = 1e9 * l$seconds / l$repetitions / 8,
             ranks = nodes, nodes = nodes),
        own,
        usual[setdiff(names(usual), names(own))]
      ))
    }
    # of every pair in every repetition
    each <- rep(seq_len(l$repetitions), each = nrow(pairs))
    link <- function(check, metric, unit, value, bytes) {
      rows(check, "between", metric, unit, value, each, bytes = bytes, host = hosts[pairs[, 1]],
           peer_host = hosts[pairs[, 2]], node = pairs[, 1] - 1, peer_node = pairs[, 2] - 1)
    }
    jitter <- function() exp(rnorm(length(each), 0, m$scatter))
    link("latency", "half_round_trip", "ns", drift[each] * m$latency_ns * of_pair * jitter(), 8)
    link("bandwidth", "one_way", "bytes_per_s", m$speed / drift[each] / of_pair * jitter(), 65536)
    rows("integrity", "", "mismatches", "count", 0, rep(seq_len(l$repetitions), each = nodes), host = hosts)
    scans <- expand.grid(repetition = seq_len(l$repetitions), cpu = seq_len(m$cpus),
                         variant = c("all", "alone"), stringsAsFactors = FALSE)
    window <- l$scan[scans$variant]
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
      rows("others", "", "taken", "percent", 100 * busy / (block * m$cpus), 1:16, n = NA_real_,
           host = hosts[node])
      starts <- unlist(lapply(trains, function(t) t$tasks$start))
      length_s <- unlist(lapply(trains, function(t) t$tasks$length))
      others[[length(others) + 1]] <- list(
        launch = id, host = hosts[node], reason = NA_character_, n_cpus = m$cpus, source = "cpu", why = "",
        span_s = l$seconds, steal_s = 0, busy_s = sum(busy), blocks_s = busy, tasks = data.frame(),
        lengths = data.frame(seconds = length_s, n = rep(1, length(length_s))),
        begun = tabulate(pmin(16, 1 + starts %/% block), 16), is_whole = TRUE, account = NULL
      )
      # what of its bursts is longer than a turn of the loop
      seen <- lapply(seq_len(nrow(scans)), function(i) {
        from <- runif(1, 0, l$seconds - window[i])
        t <- trains[[scans$cpu[i]]]
        cut <- unlist(lapply(t, machine_within, from, from + window[i]))
        cut[cut > 1e-6]
      })
      scan <- function(metric, unit, value, n, at = TRUE, check = "detour") {
        rows(check, scans$variant[at], metric, unit, value, scans$repetition[at], n = n, host = hosts[node],
             cpu = scans$cpu[at] - 1, node = node - 1)
      }
      n <- lengths(seen)
      base <- 20 * work[node] * exp(rnorm(nrow(scans), 0, m$scatter / 10))
      scan("lost", "percent", 100 * vapply(seen, sum, 0) / window, n)
      scan("longest", "ns", 1e9 * vapply(seen, function(cut) max(0, cut), 0), n)
      scan("base", "ns", base, round(1e9 * window / base))
      alone <- scans$variant == "alone"
      scan("quantum", "ns", drift[scans$repetition[alone]] * 1e5 * work[node] *
             exp(rnorm(sum(alone), 0, m$scatter / 10)), 1000, alone, "quantum")
    }
  }
  rows <- as.data.frame(data.table::rbindlist(figures, use.names = TRUE))
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
