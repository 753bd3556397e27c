# What an acceptance campaign measures: one row per figure, and one per check.

# `worse`: the direction in which a figure is worse. `scale`: on which differences are tested; where a value is not above 0,
# linear. `of`: whose figure it is (cluster, node, pair); several values of a node in one repetition become one by `combine`.
# `compared`: node against node; `placed`: it depends on a node's place in the order of ranks.
measure <- function(check, metric, what, worse, scale, of, combine = "mean", compared = FALSE, placed = FALSE, name = metric) {
  data.frame(check = check, metric = metric, what = what, worse = worse, scale = scale, of = of, combine = combine, compared = compared,
             placed = placed, name = name)
}

acceptance_measures <- do.call(rbind, list(
  measure("latency", "half_round_trip", "half a round trip", "more", "log", "pair", compared = TRUE),
  measure("bandwidth", "one_way", "bandwidth, one way at a time", "less", "log", "pair", compared = TRUE),
  measure("bandwidth", "two_way", "bandwidth, both ways at once", "less", "log", "pair", compared = TRUE),
  measure("opcost", "published", "cost of an operation, timer and barrier taken out", "more", "linear", "cluster"),
  measure("opcost", "synchronised", "time of an operation, synchronised starts", "more", "log", "cluster"),
  measure("opcost", "synchronised_p50", "median time of an operation, synchronised starts", "more", "log", "cluster"),
  measure("opcost", "clock_cost", "cost of reading the timer (DT)", "more", "log", "cluster"),
  measure("opcost", "barrier_cost", "cost of a barrier (DB)", "more", "log", "cluster"),
  measure("completeness", "coefficient", "completeness coefficient F_e", "less", "log", "cluster"),
  measure("completeness", "link_speed", "speed of one pair alone (S)", "less", "log", "cluster"),
  measure("completeness", "exchange", "exchange of all with all (T_e)", "more", "log", "cluster"),
  measure("completeness", "own_exchange", "a node's part in the exchange of all with all", "more", "log", "node", compared = TRUE,
          placed = TRUE),
  measure("topology", "total", "bandwidth over all channels", "less", "log", "cluster"),
  measure("topology", "per_channel", "bandwidth of a channel", "less", "log", "cluster"),
  measure("quantum", "lost", "time lost by a fixed-work quantum", "more", "linear", "node", compared = TRUE),
  measure("quantum", "quantum", "time of a fixed-work quantum", "more", "log", "node", compared = TRUE),
  measure("quantum", "preempted", "CPU time taken by others", "more", "linear", "node"),
  measure("quantum", "steal", "taken by the hypervisor", "more", "linear", "node"),
  measure("detour", "lost", "time lost in detours", "more", "linear", "node", compared = TRUE),
  measure("detour", "lost", "time lost in detours, worst CPU", "more", "linear", "node", "max", compared = TRUE, name = "lost_worst_cpu"),
  measure("detour", "detours", "detours per second of a CPU", "more", "linear", "node"),
  measure("detour", "longest", "longest detour", "more", "log", "node", "max"),
  measure("detour", "base", "a turn of the clock loop", "more", "log", "node", compared = TRUE),
  measure("detour", "preempted", "CPU time taken by others", "more", "linear", "node"),
  measure("detour", "steal", "taken by the hypervisor", "more", "linear", "node"),
  measure("collective", "p50", "median time, synchronised starts", "more", "log", "cluster"),
  measure("collective", "p99", "99 % of the times are below", "more", "log", "cluster"),
  measure("collective", "p99.9", "99.9 % of the times are below", "more", "log", "cluster"),
  measure("collective", "mean", "mean time, synchronised starts", "more", "log", "cluster"),
  measure("collective", "longest", "longest time", "more", "log", "cluster"),
  measure("collective", "above_twice_median", "share of time above twice the median", "more", "linear", "cluster"),
  measure("collective", "late_starts", "starts that were late", "more", "linear", "cluster"),
  measure("collective", "last_start", "starts in which the node was last", "more", "linear", "node", "sum"),
  measure("collective", "last_end", "starts that the node ended last", "more", "linear", "node", "sum"),
  measure("collective", "last_start_cost", "what the node's late starts cost, per start", "more", "linear", "node", "sum"),
  measure("collective", "last_end_cost", "what the node's late ends cost, per start", "more", "linear", "node", "sum", compared = TRUE,
          placed = TRUE),
  measure("others", "taken", "CPU time that other tasks took", "more", "linear", "node"),
  measure("kernels", "time", "time of a load kernel", "more", "log", "cluster")
))

# Quantiles of a node's detours, from its merged histogram: one value per launch.
detour_quantiles <- c(p50 = 0.5, p90 = 0.9, p99 = 0.99, p99.9 = 0.999, p99.99 = 0.9999, p99.999 = 0.99999)

# In the order of the table for people. `head`: the figure that stands for the check, by variants, the best first; `todo`: what
# to look at when it fails.
acceptance_checks <- list(
  integrity = list(what = "words that arrived wrong", todo = paste(
    "take the sender's or the receiver's adapter, cable and memory out of service and repeat with noiselab-accept --checks integrity")),
  latency = list(what = "half a round trip", head = "half_round_trip", variants = c("between", "within"), size = "least", todo = paste(
    "compare cable, port, link speed and firmware with a good one")),
  bandwidth = list(what = "bandwidth, one way at a time", head = "one_way", variants = c("between", "within"), size = "most", todo = paste(
    "compare link width and speed, cable and error counters with a good one")),
  opcost = list(what = "median time of a barrier", head = "synchronised_p50", variants = "barrier", todo = paste(
    "compare MPI library and its tuning with the reference")),
  completeness = list(what = "completeness coefficient F_e", head = "coefficient", variants = c("nodes", "ranks"), size = "most",
                      todo = paste(
    "look for oversubscribed switches and uplinks")),
  topology = list(what = "bandwidth of a channel, complete graph", head = "per_channel", variants = "complete", size = "most", todo = paste(
    "look for oversubscribed switches and uplinks")),
  quantum = list(what = "time lost by a fixed-work quantum", head = "lost", variants = c("alone", "all"), todo = paste(
    "look for services on it with noiselab record, compare clock and governor with a good node")),
  detour = list(what = "time lost in detours", head = "lost", variants = c("alone", "all"), todo = paste(
    "look for services and interrupts on it with noiselab record")),
  collective = list(what = "99.9 % of barriers are below", head = "p99.9", variants = "barrier", todo = paste(
    "see which node ends last (last_end_cost), then detours of that node")),
  others = list(what = "CPU time that other tasks took", head = "taken", variants = "", todo = paste(
    "end the tasks that are named, or move them to CPUs of their own")),
  scale = list(what = "slowdown of many such nodes", head = "slowdown", variants = "", todo = paste(
    "end what interrupts its CPUs: the tasks that are named, then interrupts; noiselab project says which bursts cost it")),
  kernels = list(what = "time of a load kernel", head = "time", variants = c("matmul", "sort", "montecarlo"), size = "most", todo = paste(
    "a wrong result: test memory and CPU of the nodes that took part"))
)

figure_key <- c("check", "variant", "metric", "size")
unit_key <- c(figure_key, "unit", "of", "entity", "launch", "repetition")

# The columns of units, where nothing was measured.
one_unit <- data.frame(check = "", variant = "", metric = "", size = NA_real_, unit = "", of = "", entity = "", launch = "", repetition = 1,
                       x = 1, n_values = 1, trials = 0, place = NA_real_,
                       what = "", worse = "more", scale = "linear", compared = FALSE, placed = FALSE)

# The figures by unit: one row per measure, variant, size, entity (node, pair or "" for all), launch and repetition. `x` is the value
# in `unit`; `place` the node's place in the order of its launch.
acceptance_units <- function(acceptance) {
  rows <- acceptance$figures
  by_group <- rows$check %in% c("completeness", "kernels")
  rows$size <- ifelse(!by_group, rows$bytes, ifelse(rows$check == "completeness" & rows$variant == "nodes", rows$nodes, rows$ranks))
  rows <- rows_at(rows, which(!is.na(rows$repetition)))
  own <- split(seq_len(nrow(rows)), list(paste(rows$check, rows$metric)))
  got <- bind_rows(lapply(seq_len(nrow(acceptance_measures)), function(i) {
    m <- lapply(acceptance_measures, `[`, i)
    at <- own[[paste(m$check, m$metric)]]
    if (length(at) == 0) return(NULL)
    part <- rows_at(rows, at)
    of <- if (m$of == "pair") ifelse(part$host == part$peer_host, "node", m$of) else rep(m$of, length(at))
    part$of <- of
    part$entity <- ifelse(of == "cluster", "", ifelse(of == "node", part$host, pair_name(part$host, part$peer_host)))
    part$metric <- m$name
    group <- code_of(do.call(combine_keys, unname(unclass(part)[unit_key])))
    one <- rows_at(unclass(part)[c(unit_key, "node")], which(!duplicated(group)))
    one$n_values <- tabulate(group)
    one$x <- combined(part$value, group, m$combine)
    # ranks of a node share its starts; CPUs each have turns of their own
    trials <- ifelse(is.na(part$n), 0, part$n)
    one$trials <- combined(trials, group, if (m$combine == "sum") "max" else "sum")
    names(one)[names(one) == "node"] <- "place"
    if (m$name == "lost_worst_cpu") one[one$n_values > 1, ] else one
  }))
  if (NROW(got) == 0) return(quantile_units(acceptance) %||% one_unit[0, ])
  at <- match(paste(got$check, got$metric), paste(acceptance_measures$check, acceptance_measures$name))
  got[c("what", "worse", "scale", "compared", "placed")] <- acceptance_measures[at, c("what", "worse", "scale", "compared", "placed")]
  bind_rows(list(got, quantile_units(acceptance)))
}

# Mean, sum or largest value of each group (1, 2, ...).
combined <- function(x, group, how) {
  if (length(x) == max(group)) return(x[order(group)])
  if (how == "max") return(x[order(group, x)][cumsum(tabulate(group))])
  as.vector(rowsum(x, group)) / (if (how == "mean") tabulate(group) else 1)
}

# Whichever end was written first.
pair_name <- function(a, b) ifelse(a < b, paste(a, b, sep = " - "), paste(b, a, sep = " - "))
pair_ends <- function(pair) do.call(rbind, strsplit(pair, " - ", fixed = TRUE))

# Detours of each node, CPUs merged, per launch.
node_histograms <- function(acceptance) {
  hist <- as.data.frame(acceptance$hist)
  hist <- hist[hist$check %in% c("detour", "quantum") & nzchar(hist$host), ]
  if (nrow(hist) == 0) return(NULL)
  by <- c("launch", "check", "variant", "metric", "host", "lo_ns", "hi_ns")
  group <- code_of(do.call(paste, c(hist[by], sep = "\r")))
  merged <- hist[!duplicated(group), by]
  merged$count <- rowsum(hist$count, group)[, 1]
  rownames(merged) <- NULL
  merged
}

quantile_units <- function(acceptance) {
  hist <- node_histograms(acceptance)
  hist <- hist[hist$check == "detour", ]
  if (NROW(hist) == 0) return(NULL)
  bind_rows(lapply(split(hist, in_order(paste(hist$launch, hist$variant, hist$host))), function(part) {
    # A quantile beyond the data is only their maximum.
    known <- sum(part$count) * (1 - detour_quantiles) >= 1
    if (!any(known)) return(NULL)
    p <- detour_quantiles[known]
    data.frame(check = "detour", variant = part$variant[1], metric = names(p), size = NA_real_, unit = "ns", of = "node",
               entity = part$host[1],
               launch = part$launch[1], repetition = NA_real_, x = hist_quantile(part$lo_ns, part$hi_ns, part$count, p),
               n_values = sum(part$count),
               trials = sum(part$count), place = NA_real_, what = paste(100 * p, "% of the detours are below"), worse = "more",
               scale = "log", compared = FALSE,
               placed = FALSE)
  }))
}

# How long CPUs were watched by the scans of a node, one row per check, variant, node, launch and repetition: `seconds` of all its CPUs
# (turns of the loop, or quanta, times what one takes), `bursts`: scans whose longest interruption was a fifth of `burst_ns` or more.
watched_time <- function(acceptance) {
  rows <- acceptance$figures
  rows <- rows[rows$check %in% c("detour", "quantum") & !is.na(rows$repetition), ]
  turn <- rows[rows$metric == c(detour = "base", quantum = "quantum")[rows$check] & !is.na(rows$n), ]
  if (nrow(turn) == 0) return(NULL)
  long <- rows[rows$check == "detour" & rows$metric == "longest", ]
  key <- function(x) paste(x$check, x$variant, x$host, x$launch, x$repetition, x$cpu, sep = "\r")
  longest <- ifelse(turn$check == "quantum", if (is.null(turn$max)) NA else turn$max, long$value[match(key(turn), key(long))])
  turn$seconds <- turn$value * turn$n * 1e-9
  turn$bursts <- as.numeric(!is.na(longest) & longest >= burst_ns / 5)
  by <- c("check", "variant", "host", "launch", "repetition")
  group <- code_of(do.call(paste, c(turn[by], sep = "\r")))
  data.frame(turn[!duplicated(group), by], rowsum(turn[c("seconds", "bursts")], group), row.names = NULL)
}

# Seconds that all checks were measured, over all launches.
measured_seconds <- function(acceptance) {
  rows <- acceptance$figures[!is.na(acceptance$figures$repetition), ]
  sum(rows$wall_ns[!duplicated(combine_keys(rows$launch, rows$check, rows$repetition))], na.rm = TRUE) * 1e-9
}

# What each node could lose to bursts that no scan of it saw, in percent of a CPU: the exact upper bound of their rate, times their length.
unseen_share <- function(watched, hosts, alpha) {
  if (is.null(watched)) return(rep(NA_real_, length(hosts)))
  total <- rowsum(watched[c("seconds", "bursts")], watched$host)
  at <- match(hosts, rownames(total))
  pmin(100, 100 * stats::qgamma(1 - alpha, total$bursts[at] + 1) / total$seconds[at] * burst_ns * 1e-9)
}

# On the scale of tests: more is worse.
to_scale <- function(x, scale, worse) (if (scale == "log") log(x) else x) * (if (worse == "less") -1 else 1)
from_scale <- function(x, scale, worse) {
  x <- x * (if (worse == "less") -1 else 1)
  if (scale == "log") exp(x) else x
}

# Logarithms where all values have one.
usable_scale <- function(part) if (part$scale[1] == "log" && all(part$x > 0)) "log" else "linear"

# detour.alone.lost.node2: the stable name of a figure; text of other characters becomes _.
figure_name <- function(rows) {
  size <- ifelse(is.na(rows$size), "", paste0(".", format_count(rows$size)))
  entity <- gsub("[^A-Za-z0-9_.+-]+", "_", sub(" (-|->) ", "--", rows$entity))
  paste0(rows$check, ifelse(nzchar(rows$variant), paste0(".", gsub("[^A-Za-z0-9_.+-]", "-", rows$variant)), ""), ".", rows$metric, size,
         ifelse(nzchar(entity), paste0(".", entity), ""))
}
