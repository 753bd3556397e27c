# What a plan rests on: the scatter of a pair, measured in a pilot or assumed, by half-period.

# Two ranks on a shared virtual machine that its hypervisor takes some percent from (docs/methods.md). `time` at 10 ms: the
# scatter of a pair that the rank interval has, 4 %; at 1 and 5 s, where the wander of the base speed rules and ranks gain
# nothing, sqrt(2) times the Allan deviation of the log loop time. The figure is the scatter times the root of the time over
# sqrt(2), %/sqrt(s).
assumed_time <- data.frame(tau_s = c(0.01, 1, 5), figure_percent = c(4 * sqrt(0.01 / 2), 2.1, 4))
assumed_preempted_points <- 0.4
assumed_overhead_s <- 3e-4
assumed_launch_s <- 2
assumed_warmup_s <- 0.5

# Scatter without a pilot: a table as from pilot_scatter(). On the scale of the test (log ratio, or points).
assumed_scatter <- function(channel, half_s) {
  if (!channel %in% c("time", "preempted")) {
    abort_usage("--channel ", channel, ": without a pilot only time and preempted can be planned (give --pilot DIR)")
  }
  if (channel == "preempted") {
    # White: the background of a half comes from few interruptions.
    return(data.frame(half_s = half_s, sd = assumed_preempted_points * sqrt(0.01 / half_s), df = NA_real_))
  }
  x <- log(assumed_time$tau_s)
  y <- log(assumed_time$figure_percent)
  beyond <- y[3] + (y[3] - y[2]) / (x[3] - x[2]) * (log(half_s) - x[3])
  figure <- exp(ifelse(half_s > 5, beyond, stats::approx(x, y, log(half_s), rule = 2)$y))
  data.frame(half_s = half_s, sd = sqrt(2) * figure / 100 / sqrt(half_s), df = NA_real_)
}

# The part of a campaign that one cell of the plan is about.
pilot_cell <- function(campaign, operation, bytes, ranks, channel) {
  rows <- campaign$rows
  at <- which(rows[["operation"]] == operation & rows[["ranks"]] == ranks & rows[["bytes"]] == bytes)
  rows <- rows[at, ]
  pairs <- pair_rows(rows)
  part <- campaign
  part$rows <- rows
  part$launches <- campaign$launches[intersect(names(campaign$launches), unique(rows[["launch"]]))]
  measured <- measure_pairs(part, pairs, channel)
  d <- measured$differences[[channel]]
  if (is.null(d)) {
    abort_data("--channel ", channel, ": not measured in the pilot ", paste(campaign$dirs,
               collapse = " "))
  }
  level <- pairs$cells$level_requested_percent[pairs$cell]
  if (length(level) > 0 && !any(has_level(level))) {
    abort_usage("--pilot: the treatment ", pairs$cells$kind[1], " has no level: give a pilot with --levels")
  }
  known <- is.finite(d)
  # The blank: small effects are sought, and a large load scatters more.
  blank <- if (any(known)) min(level[known]) else NA_real_
  use <- which(known & level == blank)
  label <- list(design = pairs$cells$design[1], level_requested_percent = blank, pattern = pairs$cells$pattern[1])
  list(rows = rows, d = d[use], by_ranks = tested_by_ranks(channel, label), launch = as.character(rows[["launch"]][pairs$on[use]]),
       level = blank,
       half_s = nominal_half(part))
}

# The length that was asked for; a loop of a fixed number of operations comes near it.
nominal_half <- function(campaign) {
  asked <- unlist(lapply(campaign$launches, function(info) info$options$half_period_ns)) / 1e9
  if (length(asked) == 0) return(stats::median(campaign$rows[["wall_ns"]]) / 1e9)
  if (length(unique(asked)) > 1) {
    abort_usage("--pilot: launches have half-periods of ", paste(format_seconds(sort(unique(asked))), collapse = ", "),
                ": give the directories of launches that have the same")
  }
  asked[1]
}

# Of a campaign with several designs, that with half-periods: a block says less about them.
pilot_launches <- function(campaign) {
  design <- vapply(campaign$launches, function(info) info$options$design %||% "lockin", "")
  keep <- names(design)[if (any(design == "lockin")) design == "lockin" else TRUE]
  campaign$launches <- campaign$launches[keep]
  campaign$rows <- campaign$rows[which(campaign$rows[["launch"]] %in% keep), ]
  campaign
}

# Is the tested estimate of such a cell one of ranks? As in launch_verdict().
tested_by_ranks <- function(channel, label) {
  channels[[channel]]$test == "signed_rank" || channels[[channel]]$typical && typical_design(label)
}

# One launch's estimate and its standard error, as the test of its cell has them: of ranks the interval's half-width over
# the normal quantile.
launch_mean <- function(d, by_ranks) {
  est <- batch_mean_ci(d)
  ranks <- if (by_ranks) pseudo_median(d, 0.98)
  if (!isTRUE(ranks$se > 0)) return(data.frame(mean = est$estimate, se = est$se, n = length(d), df = est$df))
  data.frame(mean = ranks$estimate, se = ranks$se, n = length(d), df = length(d) - 1)
}

# Scatter of pairs in a pilot's cell, and what its launches add.
pilot_scatter <- function(cell, channel) {
  launches <- bind_rows(lapply(split(cell$d, in_order(cell$launch)), launch_mean, by_ranks = cell$by_ranks))
  use <- is.finite(launches$se)
  if (!any(use)) {
    abort_data(sprintf("the pilot has %d pair(s) of this cell at its lowest level, its scatter needs 2: run it longer",
                       length(cell$d)))
  }
  variance <- mean((launches$n * launches$se^2)[use])
  if (variance == 0) {
    abort_data("all pairs of the pilot are equal, so nothing is known about their scatter: measure for longer")
  }
  own <- data.frame(half_s = cell$half_s, sd = sqrt(variance), df = sum(launches$df[use]), source = "pairs")
  table <- if (channels[[channel]]$test == "mean") rbind(own, longer_scatter(cell, channel)) else own
  k <- nrow(launches)
  between <- if (k > 1) stats::var(launches$mean) else NA_real_
  below <- mean(launches$se[use]^2)
  list(table = table, by_ranks = cell$by_ranks, n_launches = k, n_pairs = sum(launches$n), level = cell$level,
       sd_launch = sqrt(max(0, between - below)),
       # With 80 % certainty the variance of launch means is at most this.
       sd_launch_high = if (k > 1) sqrt(max(0, between * (k - 1) / stats::qchisq(0.2, k - 1) - below)) else NA_real_)
}

# Longer half-periods from the off halves, m of them together against the next m: as the test has it, sqrt(2) times the
# Allan deviation, or the scatter that the rank interval of these differences has. Off halves have others between them, so
# the wander counted is that of a longer time: an upper estimate.
longer_scatter <- function(cell, channel) {
  off <- which(cell$rows[["arm"]] == "off")
  curves <- lapply(split(off, code_of(cell$rows[["launch"]][off])), function(at) {
    value <- log_or_na(channels[[channel]]$value(cell$rows[at, ], 1))
    value <- value[is.finite(value)]
    curve <- allan_deviation(value, cell$half_s)
    # Ten stretches of a length say something about it, fewer do not.
    curve <- curve[curve$m > 1 & length(value) / pmax(curve$m, 1) >= 10, ]
    variance <- if (cell$by_ranks) vapply(curve$m, neighbours_variance, 0, x = value) else 2 * curve$deviation^2
    data.frame(m = curve$m, tau_s = curve$tau_s, variance = as.numeric(variance), length = rep(length(value), nrow(curve)))
  })
  curves <- bind_rows(curves)
  curves <- curves[is.finite(curves$variance), ]
  if (nrow(curves) == 0) return(NULL)
  bind_rows(lapply(split(curves, curves$m), function(p) {
    data.frame(half_s = p$tau_s[1], sd = sqrt(mean(p$variance)), df = sum(floor(p$length / p$m) - 1), source = "allan")
  }))
}

# Variance of a difference of neighbouring means of m values, by the rank interval of all of them.
neighbours_variance <- function(m, x) {
  sums <- c(0, cumsum(x))
  from <- seq_len(length(x) - 2 * m + 1)
  d <- (sums[from + 2 * m] - 2 * sums[from + m] + sums[from]) / m
  length(d) * pseudo_median(d, 0.98)$se^2
}

# The half-period that needs least time: the least sd^2 (half + overhead); of those within a tenth of it the shortest.
best_half <- function(table, overhead_s, period_s) {
  # Blocks of a number of operations are a little shorter or longer than asked for.
  table <- table[table$half_s >= 0.95 * period_s & table$sd > 0, ]
  if (nrow(table) == 0) return(NA_real_)
  cost <- table$sd^2 * (table$half_s + overhead_s)
  min(table$half_s[cost <= 1.1 * min(cost)])
}

# Scatter at a half-period: between two of the table by a straight line of logs.
scatter_at <- function(table, half_s) {
  table <- table[order(table$half_s), ]
  exact <- which(abs(log(table$half_s / half_s)) < 0.05)
  if (length(exact) > 0) return(table[exact[1], ])
  if (half_s < table$half_s[1] || half_s > table$half_s[nrow(table)]) return(NULL)
  above <- findInterval(half_s, table$half_s) + 1
  sd <- exp(stats::approx(log(table$half_s), log(table$sd), log(half_s))$y)
  data.frame(half_s = half_s, sd = sd, df = min(table$df[above - 1:0]), source = "allan")
}

# Upper bound of a standard deviation, right with 80 % certainty.
sd_upper <- function(sd, df) sd * sqrt(df / stats::qchisq(0.2, df))

# Seconds between halves, and seconds to start a launch, as the pilot had them.
pilot_costs <- function(campaign) {
  launch <- start_to_start(campaign)
  list(overhead_s = overhead_of(launch_gaps(campaign$rows)),
       launch_s = if (is.na(launch)) assumed_launch_s else launch, launch_known = !is.na(launch))
}

# Mean time (s) between the rows of each launch, named by its id.
launch_gaps <- function(rows) {
  code <- code_of(rows[["launch"]])
  n <- tabulate(code)
  first <- which(!duplicated(code))
  last <- which(!duplicated(code, fromLast = TRUE))
  last <- last[order(code[last])]
  start <- rows[["start_ns"]]
  wall <- rows[["wall_ns"]]
  # The rows of a launch are in the order of their starts.
  within <- rowsum(wall, code)[, 1] - wall[last]
  stats::setNames((start[last] - start[first] - within) / (n - 1) / 1e9, as.character(rows[["launch"]][first]))
}

overhead_of <- function(gap) {
  gap <- gap[is.finite(gap) & gap >= 0]
  if (length(gap) > 0) mean(gap) else assumed_overhead_s
}

# What a launch took beyond its rows: from its start to the next one's, where they followed each other. Start times are
# whole seconds.
start_to_start <- function(campaign) {
  times <- vapply(campaign$launches, function(info) {
    as.numeric(as.POSIXct(info$started_utc %||% NA_character_, format = "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
  }, 0)
  rows <- campaign$rows
  span <- vapply(names(times), function(id) {
    at <- which(rows[["launch"]] == id)
    max(rows[["start_ns"]][at] + rows[["wall_ns"]][at]) / 1e9
  }, 0)
  order <- order(times)
  extra <- diff(times[order]) - utils::head(span[order], -1)
  extra <- extra[is.finite(extra) & extra > 0 & extra < 60]
  if (length(extra) == 0) NA_real_ else stats::median(extra)
}
