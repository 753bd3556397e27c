# What measured noise costs on many nodes: a row per number of nodes, time between two synchronisations, and
# phase.

# A row per nodes x every x phase, percent. `spread_s`: with a common phase starts lie so far apart;
# `wander`: periods differ between nodes, so that phases are not fixed for a run; `pattern`: NULL: an ideal
# synchronisation; `unseen_s`: the longest burst that may have been missed. `limit_percent`: of any number
# of nodes; `reason`: why it is a lower bound.
project_noise <- function(noise, nodes, every_s, alpha = 0.02, spread_s = 0, wander = FALSE, seed = 1,
                          pattern = NULL, phases = c("independent", "common"), unseen_s = usual_unseen_s) {
  cells <- expand.grid(nodes = nodes, every_s = every_s, phase = phases, stringsAsFactors = FALSE)
  effort <- min(1, 4 / nrow(cells))
  noise <- parted_noise(noise)
  bind_rows(lapply(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    got <- project_cell(noise, cell$nodes, cell$every_s, cell$phase, alpha, spread_s, wander, seed, pattern,
                        unseen_s, effort, recorded = TRUE)
    # without end: no number
    percent <- function(x) if (is.finite(x)) 100 * x else NA_real_
    data.frame(nodes = cell$nodes, every_ns = round(cell$every_s * 1e9), phase = cell$phase,
               slowdown_percent = percent(got$value), ci_low = percent(got$low), ci_high = 100 * got$high,
               limit_percent = 100 * got$limit, method = got$method, reason = got$reason,
               bound_percent = 100 * got$bound, ci_high_recorded = 100 * got$recorded)
  }))
}

# What a train costs: `value`, `low`, `high` (shares; NA: no upper end), `reason` ("at least: ..." where
# there is none), `method`, `limit`. `bound`: what it is below if no burst is longer than `unseen_s`, also
# where that lies too far away to be the end of an interval; `recorded`: the upper end if none costs more
# than those recorded, where these do not tell what is beyond (else NA; only where it is asked for). The
# interval joins, as independent errors of the logarithm, the draws of the phases, what is not known of the
# bursts (`noise_bound()`), of their cost (`scale`), and of the figure itself (`se`). `effort`: so many of
# the usual events are walked.
project_cell <- function(noise, n, work_s, phase, alpha = 0.02, spread_s = 0, wander = FALSE, seed = 1,
                         pattern = NULL, unseen_s = usual_unseen_s, effort = 1, recorded = FALSE) {
  middle <- phase_slowdown(noise, n, work_s, phase, alpha, spread_s, wander, seed, pattern, effort)
  # a grid without room, or a walk without end
  if (is.na(middle$value)) middle[c("value", "low", "high")] <- Inf
  answer <- c(
    middle,
    list(
      bound = middle$high,
      recorded = NA_real_,
      limit = if (phase == "independent" && is.null(pattern)) {
        slowdown_limit(noise, work_s)
      } else {
        NA_real_
      },
      reason = NA_character_
    )
  )
  if (is.infinite(middle$value)) {
    answer$reason <- "at least: bursts as frequent and as costly as these leave no time to work"
    answer[c("low", "high", "bound")] <- c(Inf, NA_real_, NA_real_)
    return(answer)
  }
  if (is.infinite(middle$high)) {
    answer[c("high", "bound", "reason")] <- list(NA_real_, NA_real_,
                                                 "at least: of one draw nothing follows for the next")
  }
  if (!is.finite(noise$watched_s) || middle$value <= 0) return(answer)
  ends <- record_ends(noise, n, work_s, phase, alpha, middle$value, seed, unseen_s, effort, recorded)
  answer$low <- middle$value * joined_ends(c(middle$low / middle$value, ends$low), -1)
  upper <- function(end) {
    high <- middle$value * joined_ends(c(middle$high / middle$value, end), 1)
    if (is.finite(high)) high else NA_real_
  }
  answer$bound <- upper(ends$high)
  answer$recorded <- upper(ends$recorded)
  if (is.na(answer$reason)) answer$reason <- ends$reason
  if (is.na(answer$reason) && is.na(answer$bound)) {
    answer$reason <- "at least: bursts as frequent and as costly as the record allows leave no time to work"
  }
  # Many nodes do not cost less than one, of which bursts never seen may be most.
  if (
    n > 1 && !is.na(answer$bound) && phase == "independent" && is_one_rank(noise) && rests_on_unseen(noise, 1)
  ) {
    answer$bound <- max(
      answer$bound,
      project_cell(noise, 1, work_s, phase, alpha, seed = seed, unseen_s = unseen_s, effort = effort)$high
    )
  }
  answer$high <- if (is.na(answer$reason)) answer$bound else NA_real_
  answer
}

# Factors above 1 (`sign` 1), or below, as independent errors of the logarithm.
joined_ends <- function(ends, sign) exp(sign * sqrt(sum(pmax(0, sign * log(ends))^2)))

# What a bound costs over what the record does. Where one of them is without end nothing is excluded on its
# side.
size_change <- function(cost, centre, upper) {
  if (is.finite(centre) && (upper || is.finite(cost))) cost / centre else if (upper) Inf else 0
}

# The slowdown of what the record just allows, over that of what it holds, at both ends. `reason`: why there
# is no upper end, or why `high` is none. `recorded`: where it is asked for, and no burst costs more than
# those recorded.
record_ends <- function(noise, n, work_s, phase, alpha, slowdown, seed, unseen_s, effort, recorded = FALSE) {
  demand <- list(nodes = n, work_s = work_s, phase = phase, stretch = slowdown, units = noise$units)
  # Where bursts leave hardly any time, waits grow without end: as on one node then.
  cost <- if (noise_load(noise) / noise$units > project_walk$most_load) function(noise) {
    load <- sum(noise_weights(noise) * noise$costs_s) * noise$rate_hz / noise$units
    if (load < 1) slowdown_alone(load) else Inf
  } else function(noise) slowdown_at_any_time(noise, n, work_s, phase, seed, effort)
  centre <- cost(noise)
  # Steps that a record happens to have many of, or few, are as uncertain as its blocks are unlike.
  unlike <- if (phase == "independent") unlike_blocks(noise, n, work_s, alpha, seed, effort)
  blocks <- unlike$factor
  # Of too few bursts for blocks, and of nodes that differ, also in costs, both ways are looked at; and
  # which rare bursts of a node meet in one step is not in the record of random ones.
  meet_by_chance <- phase == "independent" && isTRUE(noise$is_random) &&
    noise_load(noise) < project_design$much && is.finite(centre)
  ends_of <- function(bound, upper) {
    ratio <- function(bound) size_change(cost(bound), centre, upper)
    by_record <- if (phase == "independent") {
      as_many_nodes(noise, bound, n, work_s, slowdown, ratio, seed, effort)
    }
    by_chance <- is.null(blocks) || noise$nodes_sd > 0
    at_any_time <- if (by_chance || meet_by_chance) cost(bound)
    c(by_record, if (by_chance) size_change(at_any_time, centre, upper),
      if (meet_by_chance) at_any_time / slowdown,
      # One that happens to lack large steps has few in each of its blocks, and so a narrow interval around
      # too small a figure.
      if (!is.null(unlike$scattered)) by_record * unlike$scattered / slowdown)
  }
  scaled <- function(i) {
    if (noise$scale[i] == 1) return(1)
    size_change(cost(noise_scaled(noise, noise$scale[i])), centre, i == 2)
  }
  low <- min(ends_of(noise_bound(noise, FALSE, alpha, demand, seed), FALSE), 1 / blocks)
  low <- joined_ends(c(low, scaled(1)), -1)
  upper <- function(unseen_s) {
    bound <- noise_bound(noise, TRUE, alpha, demand, seed, unseen_s)
    joined_ends(c(max(ends_of(bound, TRUE), blocks), scaled(2)), 1)
  }
  lacks <- not_carried(noise, n, work_s, alpha)
  if (is.null(lacks) && is.infinite(noise$scale[2])) lacks <- "at least: what a burst costs has no upper end"
  if (!is.null(lacks)) return(list(low = low, high = Inf, reason = lacks, recorded = NA_real_))
  high <- upper(unseen_s)
  rests <- rests_on_unseen(noise, n)
  # Of costs beyond those seen nothing is known: where what may have been missed decides, there is no end.
  # One node is bounded by it: bursts of `unseen_s`, as often as the record does not exclude, take no more
  # than that of its time.
  is_far <- n > 1 && rests && high > clamp(low^-project_design$most_uneven, project_design$open_from)
  list(
    low = low,
    high = high,
    reason = if (is_far) {
      sprintf("at least: bursts longer than those recorded, rarer than one in %s of a node, are not excluded",
              format_span(noise$watched_s / -log(alpha / 2), 3))
    } else {
      NA_character_
    },
    recorded = if (recorded && rests) upper(0) else NA_real_
  )
}

# The slowdown of these rates over that of the record. So many times as many bursts are those of so many
# times as many nodes, which keeps what comes together together; another mix of costs is compared at any
# time (`ratio`), as is the rate where each step of a node meets many bursts.
as_many_nodes <- function(noise, bound, n, work_s, slowdown, ratio, seed, effort) {
  if (bursts_met(noise, work_s, slowdown) > project_walk$dense) return(ratio(bound))
  times <- bound$rate_hz / noise$rate_hz
  nodes <- max(1, round(n * times))
  halves <- if (n > 1 && !is.null(noise$records)) {
    walk_train(noise$records, nodes, work_s, effort * project_walk$end_events, seed = seed)
  }
  if (is.null(halves)) return(ratio(bound))
  bound$rate_hz <- noise$rate_hz
  mean(halves) / slowdown * ratio(bound)
}

# Bursts of a CPU in a step.
bursts_met <- function(noise, work_s, slowdown) noise$rate_hz / noise$units * work_s * (1 + slowdown)

# `factor`: by which the blocks of time that the record consists of put its slowdown in doubt (bootstrap,
# Student's); `scattered`: that of bursts at random times, where the record's are dense and such; NULL: there
# are too few. Where the largest of many steps decide, a record without them does
# not show how far records differ: bursts at random times have the spread of such records.
unlike_blocks <- function(noise, n, work_s, alpha, seed, effort) {
  blocks <- noise$blocks
  # a block has ten steps
  most <- if (is.null(blocks)) 0 else floor(min(noise$records$length_s) / (10 * work_s))
  if (!is.null(blocks) && most < blocks$n) {
    blocks <- if (most >= project_design$blocks_of_record[1]) train_blocks(noise$records, most)
  }
  is_dense <- isTRUE(noise$is_random) && noise_load(noise) >= project_design$much
  if (is.null(blocks) && !is_dense) return(NULL)
  # (searches and tables have many sizes)
  draws <- if (effort < 0.5) project_design$resampled / 2 else project_design$resampled
  # Of a long record a part is drawn, whose slowdown is known by so much less.
  part <- min(1, max(project_design$most_resampled / noise$n_bursts, 0.05))
  sds <- NULL
  # The spread is known as well as so few blocks tell it, by so few draws of them.
  uncertain <- 1 / (draws - 1)
  if (!is.null(blocks)) {
    each <- ceiling(clamp(blocks$n * part, c(min(8, blocks$n), blocks$n)))
    part <- each / blocks$n
    drawn <- spread_of(function(i) resampled_train(noise$records, blocks, seed + i, each), draws, n, work_s,
                       seed, effort)
    if (is.null(drawn)) return(NULL)
    sds <- drawn$sd * sqrt(blocks$n / (blocks$n - 1))
    uncertain <- uncertain + 1 / (blocks$n * length(noise$records$length_s) - 1)
  }
  scattered <- if (is_dense) {
    spread_of(function(i) scattered_train(noise$records, seed + i, part), draws, n, work_s, seed, effort)
  }
  if (is.null(sds) && is.null(scattered)) return(NULL)
  sd <- sqrt(part) * max(sds, scattered$sd)
  list(factor = exp(stats::qt(1 - alpha / 2, 1 / uncertain) * sd), scattered = scattered$mean)
}

# The slowdowns of so many trains: `mean`, `sd` (over it); NULL: they are not known.
spread_of <- function(train, draws, n, work_s, seed, effort) {
  got <- lapply(seq_len(draws), function(i) {
    halves <- walk_train(train(i), n, work_s, effort * project_walk$end_events / 8, seed = seed + i)
    if (!is.null(halves)) walked(halves)
  })
  if (any(lengths(got) == 0)) return(NULL)
  value <- vapply(got, `[[`, 0, "value")
  # What walks of them differ by from walk to walk is none of theirs.
  chance <- mean(vapply(got, `[[`, 0, "se")^2)
  if (mean(value) > 0) list(mean = mean(value), sd = sqrt(max(0, stats::var(value) - chance)) / mean(value))
}

# Equal blocks of each record: `n` of them, `bursts` in each (a row per record), `first`: the number of its
# first burst.
train_blocks <- function(train, n) {
  records <- length(train$length_s)
  record <- findInterval(seq_along(train$start_s) - 1, train$first, rightmost.closed = TRUE)
  block <- pmin(n, floor(train$start_s / (train$length_s / n)[record]) + 1)
  bursts <- matrix(tabulate((record - 1) * n + block, records * n), records, byrow = TRUE)
  list(n = n, bursts = bursts, first = matrix(cumsum(t(bursts)), records, byrow = TRUE) - bursts + 1)
}

# Each record of `each` of its own blocks, drawn with replacement.
resampled_train <- function(train, blocks, seed, each = blocks$n) {
  records <- length(train$length_s)
  at <- t(with_seed(seed, matrix(sample.int(blocks$n, records * each, TRUE), records)))
  row <- rep(seq_len(records), each = each)
  bursts <- blocks$bursts[cbind(row, as.vector(at))]
  own <- sequence(bursts, blocks$first[cbind(row, as.vector(at))])
  moved <- (rep(seq_len(each), records) - as.vector(at)) * (train$length_s / blocks$n)[row]
  bursts_hz <- train$first[records + 1] / sum(train$length_s)
  train$start_s <- train$start_s[own] + rep(moved, bursts)
  train$cost_s <- train$cost_s[own]
  train$cpu <- train$cpu[own]
  train$length_s <- train$length_s * each / blocks$n
  train$span_s <- train$span_s * each / blocks$n
  train$bursts_hz <- train$bursts_hz * length(own) / sum(train$length_s) / bursts_hz
  train$first <- c(0L, as.integer(cumsum(rowsum(bursts, row))))
  train
}

# The same costs, drawn with replacement, after random times in between that are as long on average, for a
# part of the time. For records of one CPU.
scattered_train <- function(train, seed, part = 1) {
  records <- length(train$length_s)
  had <- diff(train$first)
  length_s <- train$length_s * part
  parts <- with_seed(seed, lapply(which(had > 0), function(i) {
    costs <- train$cost_s[train$first[i] + seq_len(had[i])]
    n <- ceiling(part * had[i] + 6 * sqrt(part * had[i]) + 6)
    cost_s <- costs[sample.int(had[i], n, TRUE)]
    start_s <- cumsum(stats::rexp(n) * (train$length_s[i] - sum(costs)) / had[i] + cost_s) - cost_s
    within <- start_s < length_s[i]
    list(record = rep(i, sum(within)), start_s = start_s[within], cost_s = cost_s[within])
  }))
  record <- unlist(lapply(parts, `[[`, "record"))
  train$length_s <- length_s
  train$span_s <- train$span_s * part
  train$start_s <- unlist(lapply(parts, `[[`, "start_s"))
  train$cost_s <- unlist(lapply(parts, `[[`, "cost_s"))
  train$cpu <- integer(length(record))
  train$bursts_hz <- train$bursts_hz * length(record) / sum(had) / part
  train$first <- c(0L, as.integer(cumsum(tabulate(record, records))))
  train
}

# For many cells they are made once.
parted_noise <- function(noise) {
  if (is.null(noise$records) || !is.null(noise$blocks)) return(noise)
  # Bursts that come in clumps are to lie within one.
  each <- noise$n_bursts / project_design$per_block
  n <- floor(clamp(each / max(1, noise$dispersion), project_design$blocks_of_record))
  if (each >= n) noise$blocks <- train_blocks(noise$records, n)
  noise$drawn <- new.env()
  noise
}

# Do the costs recorded not tell those beyond the longest? Then an upper end goes by bursts of `unseen_s` that
# were never seen. Of one node these may be most, as where the costliest differ too much for the shape of
# their tail.
rests_on_unseen <- function(noise, n) !noise$tail$known || n == 1 && noise$tail$heavy

# The longest burst that an upper end of this record allows for, s, where it goes by one that was never
# seen; NULL: it does not, because the costs recorded tell those beyond.
rests_on_unseen_s <- function(noise, unseen_s) {
  if (is.finite(noise$watched_s) && rests_on_unseen(noise, 1)) max(unseen_s, noise$costs_s)
}

# Why the record does not carry that size: a burst that comes once in n * work_s of a node must have been
# seen with probability 1 - alpha / 2.
not_carried <- function(noise, n, work_s, alpha = 0.02) {
  demanded <- n * work_s
  if (n > 1 && -log(alpha / 2) * demanded > noise$watched_s) {
    return(sprintf("at least: bursts rarer than one in %s of a node were not recorded",
                   format_span(noise$watched_s / -log(alpha / 2), 3)))
  }
  tail <- noise$tail
  # As costly as what a step meets were so few that the shape of the tail decides.
  if (tail$heavy && n > 1 && noise$watched_s / demanded < tail$n) {
    sprintf(
      paste0("at least: the costliest bursts differ too much (shape %.2f of the tail): %s would be needed, ",
             "and there are %s"),
      tail$shape,
      if (is.finite(tail$needed) && tail$needed < 1e6) {
        counted(ceiling(signif(tail$needed, 2)), "burst")
      } else {
        "more than a million bursts"
      },
      format_count(noise$n_bursts)
    )
  }
}

# `value`, `low` and `high` (of the draws of phases, and of the figure's own error), `method`.
phase_slowdown <- function(noise, n, work_s, phase, alpha, spread_s, wander, seed, pattern = NULL,
                           effort = 1) {
  one <- function(value, method = "exact") {
    list(value = value, low = value, high = value, method = method)
  }
  if (noise$rate_hz == 0) return(one(0))
  if (n > 1 && !is.null(pattern)) {
    return(simulated_slowdown(noise_plain(noise), n, work_s, if (phase == "common") spread_s, pattern, alpha,
                              seed))
  }
  common <- phase == "common"
  if (common && spread_s > 0 && is.null(noise$records) && is.na(noise$period_s)) {
    abort_usage("--phase-spread: the bursts keep to no period")
  }
  # One CPU: what bursts take of the time is missing, whatever the step. All at once: the largest of each.
  if (is_one_rank(noise) && (n == 1 || common && spread_s == 0)) {
    load <- noise$rate_hz * largest_cost(noise, n)
    return(one(if (load < 1) slowdown_alone(load) else Inf))
  }
  if (is_saturated(noise, n, work_s) && !common) return(one(slowdown_limit(noise, work_s)))
  train <- noise$records %||% if (is.na(noise$period_s)) random_train(noise) else period_train(noise)
  range_s <- if (!common) {
    -1
  } else if (is.na(noise$period_s)) {
    spread_s
  } else {
    min(spread_s, noise$period_s)
  }
  halves <- walk_train(train, if (common) min(n, project_walk$most_common) else n, work_s,
                       effort * project_walk$events, range_s,
                       common && noise_load(noise) < project_walk$most_own, seed)
  if (is.null(halves) && common) {
    load <- noise$rate_hz * largest_cost(noise, n)
    return(one(if (load < 1) slowdown_alone(load) else Inf))
  }
  if (is.null(halves)) return(slowdown_beyond(noise, train, n, work_s, effort, seed))
  got <- walked(halves, wander)
  ends <- ends_of_draws(got$draws, alpha)
  error <- stats::qnorm(1 - alpha / 2) * got$se
  list(value = got$value, low = max(got$value / 100, got$value - sqrt((got$value - ends[1])^2 + error^2)),
       high = got$value + sqrt((ends[2] - got$value)^2 + error^2), method = "walk")
}

# Of more nodes than can be walked: by the chain, of a record from the most that can be, below which it is
# not; as far above it may be.
slowdown_beyond <- function(noise, train, n, work_s, effort, seed) {
  chain <- function(n) {
    units <- noise_of_units(noise, n)
    slowdown_chain(units$noise, units$n, work_s, effort = effort)
  }
  answer <- function(value, low = value) {
    list(value = value, low = low, high = value^2 / low, method = "chain")
  }
  events <- effort * project_walk$events
  near <- floor(min(n / 2, events / 4, events / (3 * project_walk$few_steps * train$bursts_hz * work_s)))
  halves <- if (!is.null(noise$records) && near >= 1) walk_train(train, near, work_s, events, seed = seed)
  if (is.null(halves)) return(answer(chain(n)))
  more <- chain(n) / chain(near)
  if (is.finite(more) && more >= 1) answer(mean(halves) * more, mean(halves)) else answer(chain(n))
}

is_one_rank <- function(noise) is.null(noise$records) || all(noise$records$cpu == 0)

# Of a period that was declared: every step meets the most that it can.
is_saturated <- function(noise, n, work_s) {
  if (is.na(noise$period_s)) return(FALSE)
  most <- max(noise$costs_s)
  n * (work_s - bursts_in_step(noise, work_s, most) * (noise$period_s - most)) / noise$period_s >
    project_walk$saturated
}

# The same for bursts of these costs that come at any time, a share: only how it changes with them counts.
slowdown_at_any_time <- function(noise, n, work_s, phase, seed, effort = 1) {
  units <- noise_of_units(noise, if (phase == "common") 1 else n)
  noise <- units$noise
  load <- noise$rate_hz *
    if (phase == "common") {
      largest_cost(noise, n)
    } else {
      sum(noise_weights(noise) * noise$costs_s)
    }
  if (load >= 1) return(Inf)
  if (units$n == 1) return(slowdown_alone(load))
  if (load > project_walk$most_load) return(Inf)
  halves <- walk_train(random_train(noise), units$n, work_s, effort * project_walk$end_events, seed = seed)
  if (is.null(halves)) slowdown_chain(noise, units$n, work_s, effort = effort) else mean(halves)
}

# CPUs that are hit by themselves are as many nodes with their share of the bursts each.
noise_of_units <- function(noise, n) {
  noise$rate_hz <- noise$rate_hz / noise$units
  list(noise = noise, n = n * noise$units)
}

# With costs in groups, as `noise_bound()` has them.
grouped_noise <- function(noise) {
  groups <- noise$groups %||% group_costs(noise$costs_s)
  noise$costs_s <- rev(groups$cost_s)
  noise$weights <- rev(groups$n / sum(groups$n))
  noise
}

# Between which the next run lies. So far out few draws have no quantile: by Student's t, too.
ends_of_draws <- function(draws, alpha) {
  n <- length(draws)
  ends <- stats::quantile(draws, c(alpha / 2, 1 - alpha / 2), names = FALSE)
  if (n * alpha >= 4) return(ends)
  reach <- stats::qt(1 - alpha / 2, n - 1) * stats::sd(draws) * sqrt(1 + 1 / n)
  c(min(ends[1], mean(draws) - reach), max(ends[2], mean(draws) + reach))
}

noise_plain <- function(noise) {
  if (is.null(noise$weights)) return(noise)
  at <- (seq_len(project_design$most_costs) - 0.5) / project_design$most_costs
  mean_s <- sum(noise$weights * noise$costs_s)
  order <- order(noise$costs_s)
  costs <- noise$costs_s[order][pmin(length(order), findInterval(at, cumsum(noise$weights[order])) + 1)]
  noise$costs_s <- costs * mean_s / mean(costs)
  noise$weights <- NULL
  noise
}

some_costs <- function(costs_s) {
  if (length(unique(costs_s)) == 1) return(costs_s[1])
  if (length(costs_s) <= project_design$most_costs) return(costs_s)
  sort(costs_s)[round(seq(1, length(costs_s), length.out = project_design$most_costs))]
}

# The same noise, watched so many times as long, or for a part of the time.
watched_longer <- function(noise, times) {
  noise$watched_s <- noise$watched_s * times
  noise$n_bursts <- noise$n_bursts * times
  noise$longer <- noise$longer * times
  # too few for a tail may be enough then; of many, more copies do not change its shape
  copies <- max(1, min(times, project_design$most_bursts / length(noise$costs_s)))
  if (!noise$tail$known) noise$tail <- tail_shape(rep(noise$costs_s, copies))
  noise
}

# What the record does not exclude: bursts of `unseen_s`, as often as -log(alpha) per watched time; and how
# long one would watch to exclude that they add the margin. `high_percent`: NA where it says only how short
# the record is (above the margin and twice what was seen).
unseen_bursts <- function(noise, row, request) {
  if (!is.finite(noise$watched_s)) return(NULL)
  margin <- request$margin %||% usual_margin
  cost <- function(noise) {
    slowdown_at_any_time(noise, row$nodes, row$every_ns / 1e9, "independent", request$seed)
  }
  seen <- c(stats::na.omit(c(row$ci_high_recorded, row$ci_high)), row$slowdown_percent)[1]
  high <- if (rests_on_unseen(noise, row$nodes) && !is.na(row$bound_percent)) {
    row$bound_percent
  } else {
    seen * cost(noise_with_unseen(noise, request$unseen_s, request$alpha)) / cost(noise)
  }
  list(longest_s = request$unseen_s,
       high_percent = if (isTRUE(high <= max(margin, 2 * seen))) high else NA_real_,
       watch_s = -log(request$alpha / 2) * row$nodes * request$unseen_s / (margin / 100))
}

# The largest number of nodes up to which the upper end stays below the margin (a share); 0: one node is
# above it, NA: that is open, Inf: any number.
nodes_below <- function(noise, work_s, margin, alpha = 0.02, wander = FALSE, seed = 1,
                        unseen_s = usual_unseen_s, most = 1e7) {
  noise <- parted_noise(noise)
  cell <- function(n) {
    project_cell(noise, n, work_s, "independent", alpha, wander = wander, seed = seed, unseen_s = unseen_s,
                 effort = 0.125)
  }
  one <- cell(1)
  if (!isTRUE(one$bound < margin)) return(if (one$low >= margin) 0 else NA_real_)
  if (isTRUE(slowdown_limit(noise, work_s) < margin)) return(Inf)
  # Beyond these no record carries a size.
  most <- min(most, floor(noise$watched_s / -log(alpha / 2) / work_s))
  found <- margin_between(function(n) cell(n)$bound, margin, c(1, max(1, most) + 1),
                          margin / slowdown_alone(noise_load(noise)), c(1, one$bound), whole = floor)
  found[1]
}

# Between which two sizes, at most `apart` times each other, an upper end that rises with the size passes the
# margin: `ends`, below and above it, drawn together. `tried`: the first size; `known`: a size and its upper
# end; `whole`: makes a size of a number. Each next one is where the logarithms of two sizes' ends put the
# margin, and a little beyond.
margin_between <- function(high, margin, ends, tried, known = NULL, apart = 1.02, whole = identity) {
  seen <- matrix(as.numeric(known), 2)
  above <- NA
  for (i in 1:16) {
    tried <- whole(tried)
    # an end that nothing was tried at may be the answer
    if (tried >= ends[2] && is.na(above)) tried <- whole(ends[2] / sqrt(apart))
    if (tried <= ends[1] || tried >= ends[2]) tried <- whole(sqrt(prod(ends)))
    if (tried <= ends[1]) break
    got <- high(tried)
    is_below <- isTRUE(got < margin)
    ends[if (is_below) 1 else 2] <- tried
    if (!is_below) above <- tried
    if (ends[2] <= apart * ends[1]) break
    if (isTRUE(got > 0)) seen <- cbind(seen, c(tried, got))
    # those around it, or the two nearest
    around <- match(ends, seen[1, ])
    if (anyNA(around)) around <- utils::head(order(abs(log(seen[2, ] / margin))), 2)
    tried <- if (length(around) == 0 || i > 8) {
      sqrt(prod(ends))
    } else {
      from <- seen[, around, drop = FALSE]
      slope <- if (ncol(from) == 2) log(from[2, 2] / from[2, 1]) / log(from[1, 2] / from[1, 1]) else 1
      by <- (margin / from[2, 1])^(1 / clamp(slope, c(0.2, 2)))
      from[1, 1] * clamp(by, c(1 / 30, 30)) * apart^(if (is_below) 0.4 else -0.4)
    }
    if (!is.na(above) && (tried <= 1.003 * ends[1] || tried >= ends[2] / 1.003)) tried <- sqrt(prod(ends))
  }
  ends
}

# The shortest mean time between bursts at which the upper end stays below the margin (a share) on all these
# nodes, steps and phases: the same bursts, less often. NA: none up to a day. The shortest step loses the
# largest share.
shortest_period <- function(noise, nodes, every_s, margin, phase, alpha = 0.02, spread_s = 0, wander = FALSE,
                            seed = 1, unseen_s = usual_unseen_s) {
  mean_s <- 1 / noise$rate_hz
  noise <- told_begins(noise)
  if (is.null(noise$drawn)) noise$drawn <- new.env()
  high <- function(gap_s) {
    rarer <- noise_rarer(noise, gap_s / mean_s)
    if (noise_load(rarer) >= 0.99) return(NA_real_)
    project_cell(rarer, max(nodes), min(every_s), phase, alpha, spread_s, wander, seed, unseen_s = unseen_s,
                 effort = 0.1)$bound
  }
  # Half as often costs half, about.
  got <- high(mean_s)
  ends <- c(1 / day_s, 1 / mean(noise$costs_s))
  if (!is.na(got)) ends[if (got < margin) 1 else 2] <- 1 / mean_s
  tried <- if (is.na(got)) sqrt(prod(ends)) else margin / got / mean_s
  found <- margin_between(function(hz) high(1 / hz), margin, ends, tried,
                          if (!is.na(got)) c(1 / mean_s, got), apart = 1.05)
  if (found[1] > 1 / day_s || isTRUE(high(day_s) < margin)) 1 / found[1] else NA_real_
}

# Where what each burst belongs to began, of a record: for many searches it is found once.
told_begins <- function(noise) {
  if (!is.null(noise$records) && is.null(noise$records$begin_s)) {
    noise$records$begin_s <- activity_begins(noise$records, noise$told_s %||% NA_real_)
  }
  noise
}

# For other rooms: seconds between bursts, on average, from which on these nodes pay less than `percent`;
# NA: none up to a day.
interval_below <- function(noise, nodes, every_s, percent, alpha = 0.02, unseen_s = usual_unseen_s,
                           seed = 1) {
  shortest_period(noise, nodes, every_s, percent / 100, "independent", alpha, seed = seed,
                  unseen_s = unseen_s)
}

# The same bursts, so many times as rarely: time passes more slowly between what happens at once (bursts of
# one told period, or one activity).
noise_rarer <- function(noise, times) {
  noise$rate_hz <- noise$rate_hz / times
  if (!is.na(noise$period_s)) noise$period_s <- noise$period_s * times
  if (is.finite(noise$watched_s)) noise$watched_s <- noise$watched_s * times
  noise$blocks <- NULL
  if (!is.null(noise$records)) noise$records <- train_rarer(noise$records, times, noise$told_s %||% NA_real_)
  noise
}

train_rarer <- function(train, times, told_s = NA_real_) {
  begin_s <- train$begin_s %||% activity_begins(train, told_s)
  train$start_s <- train$start_s + (times - 1) * begin_s
  train$length_s <- train$length_s * times
  train$span_s <- train$span_s * times
  train$bursts_hz <- train$bursts_hz / times
  train
}

# When what each burst belongs to began: the period that was told, or the activity.
activity_begins <- function(train, told_s = NA_real_) {
  if (!is.na(told_s)) return(floor(train$start_s / told_s) * told_s)
  record <- findInterval(seq_along(train$start_s) - 1, train$first)
  done <- node_activities(data.frame(record = record, cpu = train$cpu, start_s = train$start_s,
                                     cost_s = train$cost_s))
  span <- max(train$length_s) + 1
  # (a start is found in spite of what is lost in the sums)
  done$start_s[findInterval(train$start_s + record * span + 1e-8, done$start_s + done$record * span)]
}

project_margin <- function(rows, margin) {
  if (any(is.na(rows$slowdown_percent) | rows$ci_low > margin)) return("fail")
  if (all(!is.na(rows$bound_percent) & rows$bound_percent < margin)) "pass" else "inconclusive"
}

# Would it pass if no burst cost more than those recorded?
recorded_below <- function(rows, margin) {
  seen <- pmin(rows$bound_percent, rows$ci_high_recorded, na.rm = TRUE)
  all(!is.na(seen) & seen < margin)
}

reserve_rows <- function(cores, ranks_per_node, row) {
  cost <- 100 * cores / (ranks_per_node - cores)
  high <- row$ci_high
  data.frame(
    cores = cores,
    nodes = row$nodes,
    every_ns = row$every_ns,
    cost_percent = cost,
    saved_percent = row$slowdown_percent,
    saved_low = row$ci_low,
    saved_high = high,
    verdict = ifelse(row$ci_low > cost, "pays",
                     ifelse(!is.na(high) & high < cost, "does not pay", "undecided"))
  )
}

# What bursts cost many ranks that wait for each other: closed forms, and the chain of waits from step to
# step (docs/methods.md, Projection).

# A single rank, or all of them hit at the same moment, work-conserving: what bursts take of the time is
# missing, whatever the step.
slowdown_alone <- function(load) load / (1 - load)

largest_cost <- function(noise, n) {
  if (is.null(noise$weights) && length(noise$costs_s) > project_design$most_costs) {
    noise <- grouped_noise(noise)
  }
  order <- order(noise$costs_s)
  below <- cumsum(noise_weights(noise)[order])
  sum(noise$costs_s[order] * diff(c(0, pmin(1, below)^n)))
}

# Any number of ranks: the most bursts that a step can meet, each the most costly one. NA where bursts keep
# to no period: there is no such number.
slowdown_limit <- function(noise, work_s) {
  if (is.na(noise$period_s)) return(NA_real_)
  most <- max(noise$costs_s)
  bursts_in_step(noise, work_s, most) * most / work_s + most / work_s
}

# Bursts of a period that every rank meets in a step, whatever its phase.
bursts_in_step <- function(noise, work_s, cost_s) {
  max(0, ceiling(work_s / (noise$period_s - cost_s) - 1e-9) - 1)
}

# A distribution on the grid 0, h, 2h, ... that keeps the mean: what lies between two points goes to both.
on_grid <- function(x, weights, h, n) {
  at <- x / h
  low <- pmin(floor(at + 1e-9), n - 2)
  up <- pmin(1, pmax(0, at - low))
  mass <- numeric(n)
  for (part in list(list(low, weights * (1 - up)), list(low + 1, weights * up))) {
    sums <- rowsum(part[[2]], part[[1]])
    i <- as.integer(rownames(sums)) + 1
    mass[i] <- mass[i] + sums
  }
  mass
}

# Column by column: the distribution function of a sum, by the weights of one of its parts and the function
# of the other, on one grid from 0 on.
convolved_with <- function(mass, cdf) {
  n <- stats::nextn(2 * nrow(cdf))
  padded <- rbind(cdf, matrix(0, n - nrow(cdf), ncol(cdf)))
  sums <- stats::mvfft(stats::mvfft(padded) * stats::fft(c(mass, rep(0, n - length(mass)))), inverse = TRUE)
  pmax(Re(sums[seq_len(nrow(cdf)), , drop = FALSE]) / n, 0)
}

# Sums of a random number of costs: `transform` of their characteristic function.
compound <- function(mass, transform) {
  pmax(0, Re(stats::fft(transform(stats::fft(mass)), inverse = TRUE)) / length(mass))
}

# What work of `work_s` is delayed by, bursts at any time, those that begin during a delay included, on the
# grid 0, h, ...: a column for each delay r that is there when it begins, P(delay = x) = (g + r) / (g + x)
# P(bursts that begin within g + x take x - r). Takacs (1962) Introduction to the Theory of Queues.
delays <- function(mass, rate_hz, work_s, h, size) {
  x <- seq(0, size - 1)
  sums <- stats::mvfft(exp(outer(stats::fft(mass) - 1, rate_hz * (work_s + x * h))), inverse = TRUE)
  sums <- matrix(pmax(0, Re(sums[seq_len(size), , drop = FALSE])) / length(mass), size)
  lag <- outer(x, x, "-")
  delay <- matrix(0, size, size)
  there <- lag >= 0
  delay[there] <- sums[cbind(lag[there] + 1, row(lag)[there])]
  delay * outer(1 / (work_s + x * h), work_s + x * h)
}

# Slowdown in the long run by the chain of waits from step to step, each closed by an ideal barrier
# (docs/methods.md, Projection): P(W' <= x | W = w) = F(x) (F(x) - rate int_x^(x+w) S(u) du)^(n-1), F of
# what a step's work is delayed by (one period: so many bursts whole, and one more with a probability).
# `cells`: of the grid of waits. NA: no grid has room for them.
slowdown_chain <- function(noise, n, work_s, cells = NULL, effort = 1) {
  if (is.null(noise$weights) && length(noise$costs_s) > project_design$most_costs) {
    noise <- grouped_noise(noise)
  }
  weights <- noise_weights(noise)
  mean_s <- sum(weights * noise$costs_s)
  load <- noise$rate_hz * mean_s
  most <- max(noise$costs_s)
  if (load >= 1) return(Inf)
  if (n == 1) return(slowdown_alone(load))
  periodic <- !is.na(noise$period_s)
  if (!periodic && noise$rate_hz * work_s > project_chain$many) {
    return(slowdown_of_many(noise, n, work_s)$value)
  }
  if (periodic) {
    whole <- bursts_in_step(noise, work_s, mean_s)
    rest <- work_s - whole * (noise$period_s - mean_s)
    base_s <- whole * mean_s
    # Bursts that every node meets in every step are no wait.
    if (whole > project_chain$many) {
      return((whole + (1 - (1 - min(1, rest / (noise$period_s - mean_s)))^n)) * mean_s / work_s)
    }
    far <- (whole + 1) * most
    # Of a periodic train that is thinned (a lower bound) some cycles are empty.
    full <- min(1, noise$rate_hz * noise$period_s)
    hit <- function(per_s) min(1, rest * per_s)
    sums <- function(mass, per_s) {
      one <- full * mass + c(1 - full, rep(0, length(mass) - 1))
      compound(one, function(f) f^whole * (1 - hit(per_s) + hit(per_s) * f))
    }
    rates <- c(1 / noise$period_s, 1 / (noise$period_s - mean_s * full))
  } else {
    count <- noise$rate_hz * work_s / (1 - load)
    base_s <- noise$rate_hz * work_s * mean_s
    far <- min(stats::qpois(1e-7 / n, count, lower.tail = FALSE) * most,
               count * mean_s + 12 * sqrt(count * sum(weights * noise$costs_s^2)) / (1 - load) + 3 * most)
  }
  far <- max(far, most)
  cells <- cells %||% clamp(16 * far / mean_s, if (effort < 0.5) c(120, 200) else c(160, 480))
  # The largest cost on a point of the grid: most waits are that long.
  h <- most / max(1, floor(cells * most / far))
  size <- ceiling(far / h) + 2
  if (size > project_chain$most_cells) return(NA_real_)
  mass <- on_grid(noise$costs_s, weights, h, 2 * size)
  if (periodic) {
    met <- sums(mass, rates[1])[seq_len(size)]
    alone <- pmin(1, cumsum(sums(mass, rates[2])[seq_len(size)]))
  } else {
    delay <- delays(mass, noise$rate_hz, work_s, h, size)
    met <- delay[, 1]
    alone <- pmin(1, cumsum(met))
  }
  tail <- pmax(0, 1 - cumsum(mass[seq_len(size)])) # S on [kh, (k+1)h)
  area <- c(0, cumsum(tail * h))
  fresh <- pmax(0, seq(0, size - 1) * h - base_s)
  # What began within the last w and is not over after another x: rows x, columns w.
  reach <- outer(seq(0, size - 1), fresh / h, "+")
  upto <- function(k) {
    area[pmin(floor(k) + 1, size + 1)] + (k - floor(k)) * h * tail[pmin(floor(k) + 1, size)] * (k < size)
  }
  left <- noise$rate_hz * matrix(upto(as.numeric(reach)) - area[seq_len(size)], size)
  # A burst under way comes on top of those that are met in any case.
  if (periodic) {
    base <- compound(mass, function(f) f^whole)[seq_len(size)]
    if (base[1] < 1 - 1e-12) left <- pmin(convolved_with(base, left), 1)
  } else {
    # The part with a delay of about r from before is later than x by what r comes to, beyond what others are.
    begun <- pmax(left - rbind(left[-1, , drop = FALSE], 0), 0)
    later <- 1 - apply(delay, 2, cumsum)
    middle <- (later + cbind(later[, -1, drop = FALSE], 1)) / 2
    left <- pmin(pmax(middle - later[, 1], 0) %*% begun, 1)
  }
  within <- pmin(1, cumsum(met))
  cdf <- alone * pmax(within - left, 0)^(n - 1)
  cdf[size, ] <- 1
  step <- rbind(cdf[1, ], diff(cdf))
  step[step < 0] <- 0
  step <- sweep(step, 2, colSums(step), "/")
  balance <- step - diag(size)
  balance[1, ] <- 1
  p <- tryCatch(solve(balance, c(1, rep(0, size - 1)), tol = 1e-20), error = function(e) {
    Reduce(function(p, i) as.numeric(step %*% p), 1:500, rep(1 / size, size))
  })
  max(slowdown_alone(load), sum(p * seq(0, size - 1)) * h / work_s)
}

# `many`: bursts that a node meets in a step, from which on their sums are smooth; `most_cells`: of a grid;
# `points`: of a density.
project_chain <- list(many = 50, most_cells = 1500, points = 2048)

# Of many bursts in each step (docs/methods.md): `value`, and `error`, what a step may be longer by because
# of bursts under way when it begins. The delay of a node is that of the M/G/1 queue whose busy periods have
# the transform that solves psi(u) = D(u + i rate (1 - psi)); the density is that transform's inverse, and
# the step waits for the largest of n.
slowdown_of_many <- function(noise, n, work_s) {
  if (is.null(noise$weights)) noise <- grouped_noise(noise)
  weights <- noise$weights
  costs_s <- noise$costs_s
  rate <- noise$rate_hz
  load <- rate * sum(weights * costs_s)
  if (load >= 1) return(list(value = Inf, error = 0))
  mean_s <- work_s * load / (1 - load)
  sd_s <- sqrt(work_s * rate * sum(weights * costs_s^2) / (1 - load)^3)
  most <- max(costs_s) / (1 - load)
  below <- mean_s - min(mean_s, 9 * sd_s)
  above <- mean_s + 12 * sd_s + 4 * most +
    8 * sum(weights * costs_s^2) / sum(weights * costs_s) / (1 - load)^2
  points <- project_chain$points
  width <- above - below
  u <- 2 * pi * seq(0, points / 2) / width
  psi <- rep(1 + 0i, length(u))
  for (i in 1:500) {
    new <- as.vector(exp(outer(1i * u - rate * (1 - psi), costs_s)) %*% weights)
    done <- max(Mod(new - psi)) < 1e-10
    psi <- new
    if (done) break
  }
  phi <- exp(rate * work_s * (psi - 1) - 1i * u * below)
  whole <- c(phi, Conj(phi[seq(points / 2, 2)]))
  density <- pmax(0, Re(stats::fft(whole)) / points)
  at <- below + (seq_len(points) - 1) * width / points
  cdf <- pmin(1, cumsum(density) / sum(density))
  largest <- sum(at * diff(c(0, cdf^n)))
  # What is left over from before: the mean workload of a node that was done and waited.
  left <- rate * sum(weights * costs_s^2) / 2 / (1 - load)
  list(value = largest / work_s, error = left / work_s)
}

# What is fixed before anything is measured (Vehtari, Simpson, Gelman, Yao, Gabry 2024, Pareto smoothed
# importance sampling).
tail_design <- list(share = 0.2, per_root = 3, least = 5, most_shape = 0.7, prior = 10, prior_shape = 0.5,
                    alike = 1.1, apart = 2)

# The tail of costs, s, as a generalised Pareto distribution: `shape` (0 exponential, 1/a Pareto of index
# a), `needed` (bursts that a mean over it takes), `heavy` (the shape is above what so many bursts can tell,
# or 0.7), `known` (costs beyond the longest follow from those seen, by the shape. Where the costliest are all
# alike there is none: a record that happens to lack longer ones looks the same). Zhang and Stephens (2009);
# Vehtari et al. (2024).
tail_shape <- function(costs_s) {
  n <- length(costs_s)
  m <- ceiling(min(tail_design$share * n, tail_design$per_root * sqrt(n)))
  none <- list(shape = NA_real_, scale_s = NA_real_, threshold_s = NA_real_, n = 0, needed = NA_real_,
               heavy = FALSE, known = FALSE)
  if (m < tail_design$least || m >= n) return(none)
  costs <- sort(costs_s)
  threshold <- costs[n - m]
  # a kind of its own, far above all others: what these do says nothing of it; nor do a few of its that met
  for (skipped in seq(0, tail_design$least - 1)) {
    most <- costs[n - skipped]
    alike <- sum(costs[seq_len(n - skipped)] >= most / tail_design$alike)
    if (
      alike >= tail_design$least && alike + skipped < n && costs[n] <= 2 * most * tail_design$alike &&
        costs[n - skipped - alike] < most / tail_design$apart
    ) {
      return(none)
    }
  }
  over <- costs[(n - m + 1):n] - threshold
  # (what sums differ by is no cost)
  over <- over[over > 1e-6 * threshold]
  # All as far above: no number of them would give a shape.
  if (length(over) < tail_design$least || over[length(over)] - over[1] <= 1e-6 * costs[n]) return(none)
  fit <- fit_generalised_pareto(over)
  if (!is.finite(fit$shape) || !is.finite(fit$scale)) return(none)
  k <- length(over)
  shape <- (fit$shape * k + tail_design$prior * tail_design$prior_shape) / (k + tail_design$prior)
  list(shape = shape, scale_s = fit$scale, threshold_s = threshold, n = k,
       needed = if (shape < 1) 10^(1 / (1 - max(0, shape))) else Inf,
       heavy = shape > min(tail_design$most_shape, 1 - 1 / log10(n)), known = TRUE)
}

# `x`: ascending, above 0. The profile likelihood of theta = -shape / scale, averaged over a grid that the
# data set.
fit_generalised_pareto <- function(x) {
  n <- length(x)
  grid <- 30 + floor(sqrt(n))
  theta <- 1 / x[n] + (1 - sqrt(grid / (seq_len(grid) - 0.5))) / (3 * x[floor(n / 4 + 0.5)])
  # an exponential has 0, which nothing can be divided by
  not_zero <- function(theta) ifelse(abs(theta) < 1e-9 / x[n], 1e-9 / x[n], theta)
  theta <- not_zero(theta)
  shape <- vapply(theta, function(t) mean(log1p(-t * x)), 0)
  likelihood <- n * (log(-theta / shape) - shape - 1)
  weights <- vapply(likelihood, function(l) 1 / sum(exp(likelihood - l)), 0)
  at <- not_zero(sum(theta * weights))
  shape <- mean(log1p(-at * x))
  list(shape = shape, scale = -shape / at)
}

# `pattern$kept`: an environment with `rows` (a list of data frames: `nodes`, `every_ns`, `phase`, `noise`,
# `replicate`, `slowdown`) and `merged` (are these all the draws there are?). `compute()`: the draws of
# `pattern$replicates`.
keep_draws <- function(pattern, noise, n, work_s, spread_s, compute) {
  kept <- pattern$kept
  if (is.null(kept)) return(compute())
  cell <- data.frame(nodes = n, every_ns = round(1e9 * work_s),
                     phase = if (is.null(spread_s)) "independent" else "common", noise = "recorded")
  if (kept$merged) {
    at <- Reduce(`&`, lapply(names(cell), function(name) kept$rows[[name]] == cell[[name]]))
    if (!any(at)) {
      abort_data("--merge: no draws of ", nodes_words(n), ", every ", format_time(work_s), ", phases ",
                 cell$phase)
    }
    return(kept$rows$slowdown[at])
  }
  draws <- compute()
  kept$rows <- rbind(kept$rows,
                     cbind(cell, replicate = pattern$replicates, slowdown = draws, row.names = NULL))
  draws
}

replicates_option <- function(text) {
  if (is.null(text)) return(NULL)
  ends <- suppressWarnings(as.numeric(strsplit(text, "-", fixed = TRUE)[[1]]))
  whole <- length(ends) %in% 1:2 && grepl("^[0-9]+(-[0-9]+)?$", text) && min(ends) >= 1 && max(ends) <= 1e6 &&
    !is.unsorted(ends)
  if (!whole) abort_usage("--replicates: '", text, "' is not a number, nor two (try 1-10)")
  seq(ends[1], ends[length(ends)])
}

# What a job hands on beside its draws: the options, and the noise, in numbers that lose nothing.
handed_on <- function(projection, values) {
  exact <- function(x) if (is.list(x)) lapply(x, exact) else if (is.numeric(x)) I(sprintf("%.17g", x)) else x
  asked <- values[setdiff(names(values), c("replicates", asked_when_merged))]
  list(asked = lapply(asked, as.character), noise = exact(projection$noise),
       sequence = exact(projection$request$pattern$sequence))
}

asked_when_merged <- c("merge", "json", "csv", "out", "margin")

# The parts that jobs wrote: `values` (their options), `noise`, `sequence`, `rows` of draws.
read_replicates <- function(files) {
  parts <- lapply(files, read_replicate_file)
  same <- function(name) vapply(parts, function(part) identical(part[[name]], parts[[1]][[name]]), TRUE)
  for (name in c("version", "asked", "noise", "sequence")) {
    other <- which(!same(name))[1]
    if (!is.na(other)) {
      abort_data(
        "--merge: ",
        files[other],
        " is of another ",
        c(version = "version of noiselab", asked = "question", noise = "record",
          sequence = "profile")[[name]],
        " than ",
        files[1]
      )
    }
  }
  numbers <- lapply(parts, function(part) unique(part$rows$replicate))
  if (anyDuplicated(unlist(numbers)) > 0) {
    twice <- unlist(numbers)[duplicated(unlist(numbers))][1]
    abort_data("--merge: replicate ", twice, " is in ",
               paste(files[vapply(numbers, function(one) twice %in% one, TRUE)], collapse = " and in "))
  }
  rows <- bind_rows(lapply(parts, `[[`, "rows"))
  c(parts[[1]][c("asked", "noise", "sequence")], list(rows = rows[order(rows$replicate), ]))
}

replicate_columns <- c("nodes", "every_ns", "phase", "noise", "replicate", "slowdown")

read_replicate_file <- function(file) {
  if (!file.exists(file)) abort_data(file, " is missing")
  got <- tryCatch(jsonlite::fromJSON(file), error = function(e) abort_damaged(file, 1, "not JSON"))
  whole <- is.list(got) && identical(got$program, "noiselab-project") && is.list(got$handed_on) &&
    is.data.frame(got$replicates) && setequal(names(got$replicates), replicate_columns)
  if (!whole) abort_data(file, " was not written by noiselab project --replicates --json")
  number <- function(x) if (is.list(x)) lapply(x, number) else {
    value <- suppressWarnings(as.numeric(x))
    if (is.character(x) && !anyNA(value[x != "NA"])) value else x
  }
  list(
    version = got$version,
    asked = lapply(got$handed_on$asked, function(x) {
      if (identical(x, "TRUE")) TRUE else x
    }),
    noise = number(got$handed_on$noise),
    sequence = got$handed_on$sequence,
    rows = got$replicates[replicate_columns]
  )
}
