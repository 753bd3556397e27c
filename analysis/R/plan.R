# How many pairs, and how many launches, does an answer need?

# Pairs that a test needs. The smallest number of pairs with which a one-sided Student's test of the mean difference finds a true effect with the wanted
# power (noncentral t with n - 1 degrees of freedom); or, with `margin`, with which the interval of confidence 1 - 2 alpha lies inside the margin with
# that probability when the truth is `effect` (two one-sided tests). Beyond 5000 degrees of freedom the normal distribution stands for Student's.
# Schuirmann, D. J. (1987) Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680 (two one-sided tests).
# `effect`: true effect, any unit (for log ratios: log of the ratio). `sd`: standard deviation of one pair's difference, unit of `effect`. `margin`:
# numeric (from -margin to margin) or 2 (from, to; from -Inf: only the upper end is asked), unit of `effect`; NULL: detection. `least`: smallest answer,
# at least 2.
# Gives a data frame of one row: `n` (pairs; NA where there is no answer), `power` (reached with n), `reason` (why n is NA, else NA).
plan_pairs <- function(effect, sd, alpha = 0.01, power = 0.95, margin = NULL, least = 2) {
  if (length(margin) == 1) margin <- abs(margin) * c(-1, 1)
  reason <- no_plan(effect, sd, margin)
  if (!is.na(reason)) return(planned(reason = reason))
  reached <- function(n) test_power(n, effect, sd, alpha, margin)
  n <- smallest_n(reached, power, least)
  if (is.na(n)) return(planned(reason = sprintf("more than %g pairs", most_pairs)))
  planned(n, reached(n))
}

most_pairs <- 1e12

planned <- function(n = NA_real_, power = NA_real_, reason = NA_character_) data.frame(n = n, power = power, reason = reason)

no_plan <- function(effect, sd, margin) {
  if (!is_number(sd) || sd < 0) return("the scatter is unknown")
  if (sd == 0) return("there is no scatter in the data, so nothing is known about it")
  if (is.null(margin) && effect <= 0) return("a test for slower cannot find an effect of 0 or below")
  if (!is.null(margin) && (effect <= margin[1] || effect >= margin[2])) {
    return("the expected effect is not inside the margin")
  }
  NA_character_
}

# Power is taken to rise with n: doubled until it is reached, then halved down.
smallest_n <- function(reached, power, least) {
  low <- least - 1
  high <- least
  while (reached(high) < power) {
    if (high >= most_pairs) return(NA_real_)
    low <- high
    high <- 2 * high
  }
  while (high - low > 1) {
    middle <- floor((low + high) / 2)
    if (reached(middle) < power) low <- middle else high <- middle
  }
  high
}

test_power <- function(n, effect, sd, alpha, margin = NULL) {
  df <- n - 1
  se <- sd / sqrt(n)
  if (is.null(margin)) return(effect_power(effect, se, df, alpha))
  cut <- stats::qt(1 - alpha, df)
  # Given s, the estimated over the true standard error, the rest is normal.
  given <- function(s) {
    pmax(0, stats::pnorm((margin[2] - effect) / se - cut * s) - stats::pnorm((margin[1] - effect) / se + cut * s))
  }
  if (df > 5000) return(given(1))
  ends <- sqrt(stats::qchisq(c(1e-13, 1 - 1e-13), df) / df)
  density <- function(s) 2 * s * df * stats::dchisq(df * s^2, df)
  cells <- seq(ends[1], ends[2], length.out = 9)
  sum(vapply(1:8, function(i) {
    stats::integrate(function(s) given(s) * density(s), cells[i], cells[i + 1], rel.tol = 1e-8, abs.tol = 1e-12,
                     subdivisions = 200, stop.on.error = FALSE)$value
  }, 0))
}

# How often to repeat each level but the highest so that the variance of the mean is smallest for the total cost: r_i = ceil(sqrt(c_(i+1)
# / c_i * T_i^2 / T_(i+1)^2)), at least 1. `costs` of one repetition and `variances` T_i^2 from the lowest level on. Inf where the level
# above adds no variance, 1 where its own adds none. Kalibera, T. and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM,
# section 5.
repetition_counts <- function(costs, variances) {
  k <- length(costs)
  if (k < 2) return(numeric())
  variances <- pmax(0, variances)
  own <- variances[-k]
  above <- variances[-1]
  # A square root that is whole on paper may be above it in its last bits.
  count <- ceiling(sqrt(costs[-1] / costs[-k] * own / above) - 1e-9)
  ifelse(own == 0, 1, pmax(1, count))
}

# Launches, and pairs in each, that an answer about launches like these needs. The launch is the unit: the mean of a launch of r pairs has the variance
# T_2^2 + T_1^2 / r. r is Kalibera and Jones' best count; the number of launches then follows from Student's test on their means, see plan_pairs().
# Where launches add no variance of their own, as many launches are taken as the exact sign-flip check of launch means needs, and r follows from them.
# Kalibera, T. and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM.
# `effect`: true effect, any unit. `sd_pair`, `sd_launch`: T_1 and T_2, standard deviation of pairs within a launch and between launches, unit of
# `effect`. `pair_s`, `launch_s`: seconds: what one pair costs, and what a launch costs beside its pairs. `alpha`, `power`, `margin`: as in
# plan_pairs(). `launches`: number of launches; NULL: the best. `least`: fewest pairs in a launch.
# Gives a data frame of one row: `n_launches`, `pairs_per_launch`, `seconds` (all launches), `power` (reached), `reason` (why they are NA, else NA).
plan_launches <- function(effect, sd_pair, sd_launch, pair_s, launch_s, alpha = 0.01, power = 0.95, margin = NULL,
                          launches = NULL, least = 7) {
  if (length(margin) == 1) margin <- abs(margin) * c(-1, 1)
  reason <- no_plan(effect, sd_pair, margin)
  if (is.na(reason) && identical(as.numeric(launches), 1)) reason <- "one launch cannot speak for launches like these"
  if (!is.na(reason)) return(planned_launches(reason = reason))
  if (is.null(launches) && sd_launch == 0) launches <- pairs_needed(alpha)
  launch_sd <- function(r) sqrt(sd_launch^2 + sd_pair^2 / r)
  if (is.null(launches)) {
    r <- max(least, repetition_counts(c(pair_s, launch_s), c(sd_pair, sd_launch)^2))
    found <- plan_pairs(effect, launch_sd(r), alpha, power, margin)
    if (is.na(found$n)) return(planned_launches(reason = "more launches than can be counted"))
    return(planned_launches(found$n, r, found$n * (launch_s + r * pair_s), found$power))
  }
  reached <- function(r) test_power(launches, effect, launch_sd(r), alpha, margin)
  # With endless pairs launches still differ by sd_launch.
  if (sd_launch > 0 && reached(Inf) < power || reached(most_pairs) < power) {
    return(planned_launches(reason = sprintf("%g launches are too few, however long they are", launches)))
  }
  r <- smallest_n(reached, power, least)
  planned_launches(launches, r, launches * (launch_s + r * pair_s), reached(r))
}

planned_launches <- function(n = NA_real_, r = NA_real_, seconds = NA_real_, power = NA_real_, reason = NA_character_) {
  data.frame(n_launches = n, pairs_per_launch = r, seconds = seconds, power = power, reason = reason)
}

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
    abort_data("--channel ", channel, ": not measured in the pilot ", paste(campaign$dirs, collapse = " "))
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
    abort_data(sprintf("the pilot has %d pair(s) of this cell at its lowest level, its scatter needs 2: run it longer", length(cell$d)))
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

# Overlapping Allan deviation of an evenly spaced series: of the difference of neighbouring averages over 1, 2, 4, ... samples, which
# falls as the root of the time while noise is white and rises where drift wins. Columns `m` (samples averaged), `tau_s` (m times the
# spacing `tau0_s`), `deviation`; no rows below 3 samples. Allan, D. W. (1966) Proceedings of the IEEE 54, 221-230; Riley, W. (2008) NIST
# Special Publication 1065.
allan_deviation <- function(x, tau0_s) {
  n <- length(x)
  if (n < 3) {
    return(data.frame(m = numeric(), tau_s = numeric(), deviation = numeric()))
  }
  m <- unique(floor(2^seq(0, log2(n / 3))))
  phase <- c(0, cumsum(x - mean(x)))
  deviation <- vapply(m, function(k) {
    means <- diff(phase, lag = k) / k
    step <- diff(means, lag = k)
    sqrt(sum(step^2) / (2 * length(step)))
  }, 0)
  data.frame(m = m, tau_s = m * tau0_s, deviation = deviation)
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

# A plan: for every operation and size what it takes, and the run that gives it to all of them.

# What is asked: one entry per goal. `effect` and `margin` on the scale of the channel's test.
plan_goals <- function(request) {
  scale <- function(x) if (channels[[request$channel]]$transform == "log_ratio") log1p(x / 100) else x
  say <- function(x) paste0(format_level(x), if (channel_is_relative(request$channel)) " %" else " points")
  what <- if (request$channel == "time") "a slowdown of" else paste("a change of", request$channel, "of")
  goals <- list()
  if (!is.null(request$detect)) {
    goals$detect <- list(effect = scale(request$detect), margin = NULL, text = paste("detect", what, say(request$detect)))
  }
  if (!is.null(request$margin)) {
    goals$equivalence <- list(
      effect = scale(request$expect), margin = c(-Inf, scale(request$margin)),
      text = sprintf("show that it is below %s, if it is %s", say(request$margin), say(request$expect))
    )
  }
  goals
}

channel_is_relative <- function(channel) channels[[channel]]$transform == "log_ratio"

# request: list of detect, margin, expect (percent, or points; NULL where not asked), channel, alpha, power, operations,
# bytes, ranks, half_s, launches, levels (percent), n_levels; NULL where left open. campaign: of the pilot, or NULL.
make_plan <- function(request, campaign = NULL) {
  basis <- if (is.null(campaign)) assumed_basis(request) else pilot_basis(request, pilot_launches(campaign))
  basis$half_s <- request$half_s %||% basis$half_s
  scatters <- lapply(seq_len(nrow(basis$cells)), function(i) cell_scatter(basis, i, request))
  # One pair in each level, treatment, operation and size.
  arms <- nrow(basis$cells) * basis$n_arms
  basis$round_s <- 2 * arms * (basis$half_s + basis$overhead_s)
  across <- basis$n_launches > 1 && !identical(as.numeric(request$launches), 1)
  goals <- plan_goals(request)
  plan_rows <- function(launches, launches_upper) {
    bind_rows(lapply(names(goals), function(name) {
      bind_rows(lapply(seq_along(scatters), function(i) {
        cbind(goal = name, basis$cells[i, ], plan_cell(goals[[name]], scatters[[i]], basis, request, across, launches, launches_upper))
      }))
    }))
  }
  rows <- plan_rows(request$launches, request$launches)
  # All share the run's launches: the largest number of them, and what is then enough of pairs.
  if (across && !anyNA(rows$n_launches)) {
    most <- max(rows$n_launches_upper)
    rows <- plan_rows(max(rows$n_launches), if (is.na(most)) request$launches else most)
  }
  run <- plan_of_run(rows, basis, request, across, arms)
  list(request = request, goals = goals, basis = basis, cells = rows, run = run, across = across,
       command = plan_command(run, basis, request), notes = plan_notes(rows, run, basis, request, across))
}

assumed_basis <- function(request) {
  cells <- expand.grid(bytes = request$bytes %||% 2048, operation = request$operations %||% c("barrier", "allreduce",
                                                                                              "alltoall"),
                       stringsAsFactors = FALSE)
  cells$bytes[cells$operation %in% c("barrier", "ibarrier")] <- 0
  cells <- unique(cells)
  half <- request$half_s %||% 0.01
  list(cells = data.frame(operation = cells$operation, bytes = cells$bytes, ranks = request$ranks %||% NA_real_),
       half_s = half, overhead_s = assumed_overhead_s, launch_s = assumed_launch_s + assumed_warmup_s, n_launches = 0,
       levels = plan_levels(request, NULL), n_arms = plan_n_levels(request, NULL), extra = NULL,
       period_s = min(half, 0.01), scatter = assumed_scatter(request$channel, half))
}

pilot_basis <- function(request, campaign) {
  cells <- pilot_cells(request, campaign)
  scatter <- lapply(seq_len(nrow(cells)), function(i) {
    pilot_scatter(pilot_cell(campaign, cells$operation[i], cells$bytes[i], cells$ranks[i], request$channel), request$channel)
  })
  costs <- pilot_costs(campaign)
  options <- lapply(campaign$launches, `[[`, "options")
  period <- max(0, unlist(lapply(options, `[[`, "period_ns"))) / 1e9
  treatments <- treatment_table(campaign)
  levels <- sort(unique(unlist(lapply(options, `[[`, "levels_percent"))))
  warmup <- max(0, unlist(lapply(options, `[[`, "warmup_ns"))) / 1e9
  # All cells share the run's half-period: the worst of them decides at each.
  tables <- bind_rows(lapply(scatter, `[[`, "table"))
  worst <- stats::aggregate(sd ~ half_s, tables, max)
  in_all <- table(tables$half_s)
  worst <- worst[in_all[as.character(worst$half_s)] == length(scatter), ]
  list(cells = cells, half_s = best_half(worst, costs$overhead_s, period), overhead_s = costs$overhead_s,
       launch_s = costs$launch_s + if (costs$launch_known) 0 else warmup, launch_known = costs$launch_known,
       n_launches = min(vapply(scatter, `[[`, 0, "n_launches")), levels = plan_levels(request, levels),
       n_arms = plan_n_levels(request, levels) * nrow(treatments), extra = treatment_words_of(treatments, campaign),
       period_s = period, pilot = scatter, dirs = campaign$dirs)
}

# Operations and sizes of the pilot that are planned for; asked for and not there is an error.
pilot_cells <- function(request, campaign) {
  rows <- campaign$rows
  first <- which(!duplicated(combine_keys(code_of(rows[["operation"]]), rows[["bytes"]], rows[["ranks"]])))
  there <- data.frame(operation = as.character(rows[["operation"]][first]), bytes = rows[["bytes"]][first], ranks = rows[["ranks"]][first])
  there <- there[order(match(there$operation, unique(there$operation)), there$bytes, there$ranks), ]
  counts <- sort(unique(there$ranks))
  ranks <- request$ranks %||% if (length(counts) == 1) counts
  if (is.null(ranks)) abort_usage("--ranks: the pilot has launches of ", join_words(counts), " ranks: say which")
  has <- paste(unique(sprintf("%s %s B (%s ranks)", there$operation, format_count(there$bytes),
                              format_count(there$ranks))), collapse = ", ")
  if (!ranks %in% counts) abort_usage("--ranks: ", ranks, " is not in the pilot, which has ", has)
  there <- there[there$ranks == ranks, ]
  missing <- setdiff(request$operations, there$operation)
  if (length(missing) > 0) abort_usage("--op: '", missing[1], "' is not in the pilot, which has ", has)
  if (!is.null(request$operations)) there <- there[there$operation %in% request$operations, ]
  if (!is.null(request$bytes)) {
    sized <- setdiff(request$bytes, there$bytes)
    if (length(sized) > 0 && any(there$bytes > 0)) {
      abort_usage("--bytes: ", sized[1], " is not in the pilot, which has ", has)
    }
    there <- there[there$bytes %in% c(0, request$bytes), ]
  }
  rownames(there) <- NULL
  there
}

# Levels of the run: as given, as in the pilot, or the placebo and, as loads slow by their own size at least, a level of
# the size of the effect and larger ones.
plan_levels <- function(request, pilot) {
  if (!is.null(request$levels)) return(request$levels)
  k <- request$n_levels
  if (is.null(k) && !is.null(pilot)) return(pilot)
  k <- k %||% 2
  sought <- min(90, request$detect %||% request$margin)
  if (k == 1) return(sought)
  # Equal steps of about half a decade, up to 90 % of a CPU.
  step <- min(sqrt(10), (90 / sought)^(1 / max(1, k - 2)))
  c(0, signif(sought * step^(seq_len(k - 1) - 1), 2))
}

plan_n_levels <- function(request, pilot) length(plan_levels(request, pilot))

# Options of the pilot that are not the detector's defaults and change what a pair is.
treatment_words_of <- function(treatments, campaign) {
  flags <- c(kind = "--kind", pattern = "--pattern", placement = "--on", phase = "--phase")
  words <- unlist(lapply(intersect(treatment_columns, names(treatments)), function(column) {
    values <- unique(treatments[[column]])
    if (identical(values, treatment_defaults[[column]])) return(NULL)
    # Places that are compared are options of their own; a plus joins the CPUs of one.
    if (column == "placement") return(paste("--on", gsub("+", ",", values, fixed = TRUE)))
    paste(flags[[column]], paste(values, collapse = ","))
  }))
  mode <- unique(vapply(campaign$launches, start_mode, ""))
  c(words, if (length(mode) == 1 && mode != "loop") paste("--starts", mode))
}

cell_scatter <- function(basis, i, request) {
  if (is.null(basis$pilot)) return(list(sd = basis$scatter$sd, df = NA_real_, source = "assumed", sd_launch = NA_real_,
                                        sd_launch_high = NA_real_))
  pilot <- basis$pilot[[i]]
  at <- scatter_at(pilot$table, basis$half_s)
  if (is.null(at)) {
    said <- format_seconds(c(min(pilot$table$half_s), max(pilot$table$half_s), basis$half_s))
    abort_usage("--half-period: the pilot has halves of ", said[1], " and tells of up to ", said[2], ", not of ",
                said[3], ": measure a pilot with --half-period ", said[3])
  }
  list(sd = at$sd, df = at$df, source = at$source, sd_launch = pilot$sd_launch, sd_launch_high = pilot$sd_launch_high,
       n_pairs = pilot$n_pairs, n_launches = pilot$n_launches, level = pilot$level)
}

plan_cell <- function(goal, scatter, basis, request, across, launches, launches_upper) {
  to_percent <- if (channel_is_relative(request$channel)) 100 else 1
  sd_high <- if (is.na(scatter$df)) NA_real_ else sd_upper(scatter$sd, scatter$df)
  base <- data.frame(half_period_s = basis$half_s, sd = to_percent * scatter$sd, sd_upper = to_percent * sd_high,
                     sd_source = scatter$source, sd_df = scatter$df, sd_launch = to_percent * scatter$sd_launch,
                     sd_launch_upper = to_percent * scatter$sd_launch_high)
  if (across) return(cbind(base, plan_cell_launches(goal, scatter, sd_high, basis, request, launches, launches_upper)))
  find <- function(sd) {
    if (is.na(sd)) return(planned())
    plan_pairs(goal$effect, sd, request$alpha, request$power, goal$margin, least = pairs_needed(request$alpha))
  }
  likely <- find(scatter$sd)
  launches <- launches %||% 1
  per_launch <- pmax(pairs_needed(request$alpha), ceiling(likely$n / launches))
  cbind(base, n_pairs = likely$n, n_pairs_upper = find(sd_high)$n, n_launches = launches, n_launches_upper = launches,
        pairs_per_launch = per_launch, power = likely$power, reason = likely$reason)
}

plan_cell_launches <- function(goal, scatter, sd_high, basis, request, launches, launches_upper) {
  find <- function(sd, sd_launch, launches) {
    plan_launches(goal$effect, sd, sd_launch, basis$round_s, basis$launch_s, request$alpha, request$power, goal$margin,
                  launches = launches, least = pairs_needed(request$alpha))
  }
  likely <- find(scatter$sd, scatter$sd_launch, launches)
  worst <- find(sd_high, scatter$sd_launch_high, launches_upper)
  # Without a scatter of launches seen, the likely plan takes the least number of launches, and may cost more.
  cost <- function(plan) plan$n_launches * (basis$launch_s + plan$pairs_per_launch * basis$round_s)
  if (isTRUE(cost(worst) < cost(likely))) worst <- likely
  data.frame(n_pairs = likely$n_launches * likely$pairs_per_launch,
             n_pairs_upper = worst$n_launches * worst$pairs_per_launch, n_launches = likely$n_launches,
             n_launches_upper = worst$n_launches, pairs_per_launch = likely$pairs_per_launch, power = likely$power,
             reason = likely$reason)
}

# The run that is enough for every row of the plan.
plan_of_run <- function(rows, basis, request, across, arms) {
  if (anyNA(rows$n_pairs)) {
    reasons <- unique(stats::na.omit(rows$reason))
    return(list(n_launches = NA_real_, pairs_per_launch = NA_real_, measuring_s = NA_real_, total_s = NA_real_,
                total_upper_s = NA_real_,
                arms = arms, reason = reasons[1]))
  }
  launches <- max(rows$n_launches)
  per_launch <- max(rows$pairs_per_launch)
  total <- function(launches, pairs) launches * (basis$launch_s + pairs * basis$round_s)
  upper <- total(max(rows$n_launches_upper), max(rows$n_pairs_upper / rows$n_launches_upper))
  upper <- max(upper, total(launches, per_launch))
  list(n_launches = launches, pairs_per_launch = per_launch, measuring_s = per_launch * arms * 2 * basis$half_s,
       total_s = total(launches, per_launch), total_upper_s = upper, arms = arms, reason = NA_character_)
}

plan_command <- function(run, basis, request) {
  if (is.na(run$total_s)) return(NA_character_)
  list_of <- function(x) paste(x, collapse = ",")
  bytes <- setdiff(unique(basis$cells$bytes), 0)
  ranks <- unique(basis$cells$ranks)
  # A period other than the default one belongs to the pairs that were seen.
  usual <- isTRUE(all.equal(basis$period_s, min(basis$half_s, 0.01)))
  own_period <- !is.null(basis$pilot) && basis$period_s > 0 && !usual
  paste(c(
    "noiselab run sensitivity", paste("--op", list_of(unique(basis$cells$operation))),
    if (length(bytes) > 0) paste("--bytes", list_of(format_count_each(bytes))),
    paste("--levels", list_of(format_level(basis$levels))), basis$extra,
    paste("--half-period", format_seconds(basis$half_s)),
    if (own_period) paste("--period", format_seconds(basis$period_s)),
    paste("--seconds", paste0(format_count(ceiling(1000 * run$measuring_s - 1e-6) / 1000), "s")),
    if (!is.na(ranks)) paste("--ranks", format_count(ranks)),
    if (run$n_launches > 1) paste("--launches", format_count(run$n_launches))
  ), collapse = " ")
}

plan_notes <- function(rows, run, basis, request, across) {
  assumed <- is.null(basis$pilot)
  one <- assumed || basis$n_launches < 2
  guessed <- is.null(request$levels) && (assumed || !is.null(request$n_levels))
  operations <- paste(unique(basis$cells$operation), collapse = ",")
  c(if (assumed) {
      paste("the scatter is an assumption, not a measurement of this machine: measure a pilot (noiselab run",
            "sensitivity --op", operations, "--levels 0,1 --seconds 30 --out pilot) and give --pilot pilot")
    }, if (one) {
      paste("\"launches like these\" cannot be promised",
            if (assumed) "without a pilot of several launches:" else "from one launch:",
            "how much launches differ is unknown. Run a pilot with --launches 5 (7 are better), and give it")
    }, if (one && isTRUE(request$launches > 1)) {
      paste("with several launches noiselab analyze judges launches like these; the number of pairs here is for these", "launches together")
    }, if (across) {
      paste("how much launches differ comes from", basis$n_launches, "launches at the pilot's lowest level; a load may",
            "differ more between launches")
    }, if (across && any(rows$sd_launch == 0)) {
      paste("the pilot's launches differ no more than their pairs explain: their number is that of the sign-flip check")
    }, if (request$channel %in% c("preempted", "detour")) {
      paste("planned for the pseudo-median's interval; where most halves of a small level hold no burst, so many pairs", "more are needed")
    }, if (any(rows$sd_source == "allan")) {
      paste("scatter at this half-period: from the Allan deviation of the off halves, which have others between them:", "an upper estimate")
    }, if (guessed) "the levels are a guess: which load has the effect is not known before (give --levels LIST)")
}
