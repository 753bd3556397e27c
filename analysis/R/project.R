# What measured noise costs on many nodes: a row per number of nodes, time between two synchronisations, and phase.

# How phases are simulated: draws (of many ranks fewer, they differ less), and for how many periods and steps each is walked.
project_walk <- list(draws = c(200, 1000), ranks_drawn = 1e5, circuits = 8, steps = 400, most_ranks = 1e5, most_uneven = 4096,
                     circuits_uneven = 20, saturated = 40)

# A row per nodes x every x phase, percent. The interval joins the draws of the phases, what is not known of the bursts (`noise_bound()`) and of
# their cost, and what the chain differs from a simulation by (`model_share`), as independent errors of the logarithm. `spread_s`: with a common
# phase starts lie so far apart; `wander`: periods differ between nodes, so that phases are not fixed for a run; `pattern`: NULL: an ideal
# synchronisation. `limit_percent`: of any number of nodes; `reason`: why it is a lower bound.
project_noise <- function(noise, nodes, every_s, alpha = 0.02, spread_s = 0, wander = FALSE, seed = 1, pattern = NULL,
                          phases = c("independent", "common")) {
  cells <- expand.grid(nodes = nodes, every_s = every_s, phase = phases, stringsAsFactors = FALSE)
  bind_rows(lapply(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    got <- project_cell(noise, cell$nodes, cell$every_s, cell$phase, alpha, spread_s, wander, seed, pattern)
    data.frame(nodes = cell$nodes, every_ns = round(cell$every_s * 1e9), phase = cell$phase, slowdown_percent = 100 * got$value,
               ci_low = 100 * got$low, ci_high = 100 * got$high, limit_percent = 100 * got$limit, method = got$method, reason = got$reason)
  }))
}

project_cell <- function(noise, n, work_s, phase, alpha = 0.02, spread_s = 0, wander = FALSE, seed = 1, pattern = NULL) {
  of <- function(noise, wander, role = "recorded") {
    noise$role <- role
    phase_slowdown(noise, n, work_s, phase, alpha, spread_s, wander, seed, pattern)
  }
  middle <- of(noise, wander)
  measured <- is.finite(noise$watched_s)
  centre <- if (is.null(pattern) && measured) of(noise, TRUE)$value else middle$value
  # By no draws: those of several jobs need the same.
  stretch <- if (is.null(pattern)) centre else slowdown_chain(noise, n, work_s)
  demand <- list(nodes = n, work_s = work_s, phase = phase, stretch = stretch)
  end <- function(upper) {
    value <- middle[[if (upper) "high" else "low"]]
    if (measured) value <- c(value, middle$value / centre * c(
      of(noise_bound(noise, upper, alpha, demand, seed), TRUE, c("fewer", "more")[1 + upper])$value,
      if (noise$scale[1 + upper] == 1) centre else of(noise_scaled(noise, noise$scale[1 + upper]), TRUE, c("cheaper", "dearer")[1 + upper])$value,
      if (middle$method == "chain") centre * (1 + c(-1, 1)[1 + upper] * model_share)
    ))
    parts <- log(value / middle$value)
    middle$value * exp((2 * upper - 1) * sqrt(sum(pmax(0, (2 * upper - 1) * parts)^2)))
  }
  lacks <- if (measured) not_carried(noise, n, work_s, alpha)
  high <- if (is.null(lacks) && is.finite(noise$scale[2])) end(TRUE) else NA_real_
  reason <- lacks %||% if (is.infinite(noise$scale[2])) "at least: what a burst costs has no upper end" else if (is.infinite(high)) {
    "at least: bursts as frequent and as costly as the record allows leave no time to work"
  }
  list(value = middle$value, low = end(FALSE), high = if (is.finite(high)) high else NA_real_,
       limit = if (phase == "independent" && is.null(pattern)) slowdown_limit(noise, work_s) else NA_real_, method = middle$method, reason = reason %||% NA_character_)
}

# Why the record does not carry that size: a burst that comes once in n * work_s of a node must have been seen with probability 1 - alpha / 2.
not_carried <- function(noise, n, work_s, alpha = 0.02) {
  demanded <- n * work_s
  if (-log(alpha / 2) * demanded > noise$watched_s) return(sprintf("at least: bursts rarer than one in %s of a node were not recorded", format_span(noise$watched_s, 3)))
  tail <- noise$tail
  # As costly as what a step meets were so few that the shape of the tail decides.
  if (n > 1 && tail$heavy && noise$watched_s / demanded < tail$n) sprintf(
    "at least: the costliest bursts differ too much (shape %.2f of the tail): %s would be needed, and there are %s", tail$shape,
    if (is.finite(tail$needed) && tail$needed < 1e6) counted(ceiling(signif(tail$needed, 2)), "burst") else "more than a million bursts", format_count(noise$n_bursts)
  )
}

phase_slowdown <- function(noise, n, work_s, phase, alpha, spread_s, wander, seed, pattern = NULL) {
  one <- function(value, method = "exact") list(value = value, low = value, high = value, method = method)
  if (noise$rate_hz == 0) return(one(0))
  if (n > 1 && !is.null(pattern)) return(simulated_slowdown(noise_plain(noise), n, work_s, if (phase == "common") spread_s, pattern, alpha, seed))
  load <- noise$rate_hz * largest_cost(noise, n)
  if (n == 1 || phase == "common" && spread_s == 0) return(one(if (load < 1) slowdown_alone(load) else Inf))
  periodic <- !is.na(noise$period_s)
  range_s <- if (phase == "common") min(spread_s, noise$period_s) else noise$period_s
  if (!periodic && phase == "common") abort_usage("--phase-spread: the bursts keep to no period")
  even <- length(unique(noise$costs_s)) == 1
  most <- max(noise$costs_s)
  hits <- n * (work_s - bursts_in_step(noise, work_s, most) * (noise$period_s - most)) / range_s
  if (periodic && even && isTRUE(hits > project_walk$saturated) && phase == "independent") return(one(slowdown_limit(noise, work_s)))
  walkable <- periodic && is.null(noise$weights) && if (even) n <= project_walk$most_ranks else {
    n <= project_walk$most_uneven && work_s + most < noise$period_s
  }
  if (phase == "common") {
    walkable <- periodic
    n <- min(n, project_walk$most_uneven)
    noise <- noise_plain(noise)
  }
  if (!walkable || (wander && phase == "independent")) return(one(slowdown_chain(noise, n, work_s), "chain"))
  costs <- some_costs(noise$costs_s)
  of_draws(walk_phases(n, noise$period_s, range_s, costs, work_s, seed), alpha, "walk")
}

of_draws <- function(draws, alpha, method) {
  ends <- stats::quantile(draws, c(alpha / 2, 1 - alpha / 2), names = FALSE)
  list(value = mean(draws), low = ends[1], high = ends[2], method = method)
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

walk_phases <- function(n, period_s, range_s, costs_s, work_s, seed, draws = clamp(project_walk$ranks_drawn / n, project_walk$draws)) {
  circuits <- if (length(costs_s) > 1) project_walk$circuits_uneven else project_walk$circuits
  .Call("walk", as.integer(n), period_s, range_s, costs_s, work_s, as.integer(draws), circuits, project_walk$steps, seed, PACKAGE = "noiselab")
}

# The largest number of nodes up to which the slowdown stays below the margin (a share), Inf: at any.
nodes_below <- function(noise, work_s, margin, most = 1e7) {
  below <- function(n) slowdown_chain(noise, n, work_s, 80) < margin
  if (!below(1)) return(0)
  if (isTRUE(slowdown_limit(noise, work_s) < margin)) return(Inf)
  if (below(most)) return(most)
  ends <- c(0, log(most))
  for (i in 1:14) {
    middle <- mean(ends)
    if (below(floor(exp(middle)))) ends[1] <- middle else ends[2] <- middle
  }
  floor(exp(ends[1]))
}

# The shortest period at which the upper end stays below the margin on all these nodes, steps and phases; NA: none up to a day, or no period. The
# shortest step loses the largest share. Phases that wander are quick to compute: those that are fixed are walked only near their answer.
shortest_period <- function(noise, nodes, every_s, margin, phase, alpha = 0.02, spread_s = 0, wander = FALSE, seed = 1) {
  if (is.na(noise$period_s)) return(NA_real_)
  below <- function(period_s, wander) {
    if (mean(noise$costs_s) >= period_s * 0.99) return(FALSE)
    noise$period_s <- period_s
    noise$rate_hz <- 1 / period_s
    isTRUE(project_cell(noise, max(nodes), min(every_s), phase, alpha, spread_s, wander, seed)$high < margin)
  }
  search <- function(ends, times, wander) {
    if (!below(ends[2], wander)) return(NA_real_)
    for (i in seq_len(times)) {
      middle <- sqrt(prod(ends))
      if (below(middle, wander)) ends[2] <- middle else ends[1] <- middle
    }
    ends[2]
  }
  rough <- search(c(mean(noise$costs_s), day_s), 12, TRUE)
  if (wander || phase == "common" || is.na(rough)) return(rough)
  near <- pmin(rough * c(0.5, 2), day_s)
  search(if (below(near[2], FALSE)) near else c(near[2], day_s), 5, FALSE)
}

project_margin <- function(rows, margin) {
  if (any(rows$ci_low > margin)) return("fail")
  if (all(!is.na(rows$ci_high) & rows$ci_high < margin)) "pass" else "inconclusive"
}

reserve_rows <- function(cores, ranks_per_node, row) {
  cost <- 100 * cores / (ranks_per_node - cores)
  high <- row$ci_high
  data.frame(cores = cores, nodes = row$nodes, every_ns = row$every_ns, cost_percent = cost, saved_percent = row$slowdown_percent,
             saved_low = row$ci_low, saved_high = high,
             verdict = ifelse(row$ci_low > cost, "pays", ifelse(!is.na(high) & high < cost, "does not pay", "undecided")))
}

# What bursts cost many ranks that wait for each other: closed forms, and the chain of waits from step to step (docs/methods.md, Projection).

# A single rank, or all of them hit at the same moment, work-conserving: what bursts take of the time is missing, whatever the step.
slowdown_alone <- function(load) load / (1 - load)

largest_cost <- function(noise, n) {
  order <- order(noise$costs_s)
  below <- cumsum(noise_weights(noise)[order])
  sum(noise$costs_s[order] * diff(c(0, pmin(1, below)^n)))
}

# Any number of ranks: the most bursts that a step can meet, each the most costly one. NA where bursts keep to no period: there is no such number.
slowdown_limit <- function(noise, work_s) {
  if (is.na(noise$period_s)) return(NA_real_)
  most <- max(noise$costs_s)
  bursts_in_step(noise, work_s, most) * most / work_s + most / work_s
}

# Bursts of a period that every rank meets in a step, whatever its phase.
bursts_in_step <- function(noise, work_s, cost_s) max(0, ceiling(work_s / (noise$period_s - cost_s) - 1e-9) - 1)

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

# Column by column: the distribution function of a sum, by the weights of one of its parts and the function of the other, on one grid from 0 on.
convolved_with <- function(mass, cdf) {
  n <- stats::nextn(2 * nrow(cdf))
  padded <- rbind(cdf, matrix(0, n - nrow(cdf), ncol(cdf)))
  sums <- stats::mvfft(stats::mvfft(padded) * stats::fft(c(mass, rep(0, n - length(mass)))), inverse = TRUE)
  pmax(Re(sums[seq_len(nrow(cdf)), , drop = FALSE]) / n, 0)
}

# Sums of a random number of costs: `transform` of their characteristic function.
compound <- function(mass, transform) pmax(0, Re(stats::fft(transform(stats::fft(mass)), inverse = TRUE)) / length(mass))

# Slowdown in the long run by the chain of waits from step to step, each closed by an ideal barrier (docs/methods.md, Projection): P(W' <= x | W = w)
# = F1(x) (F(x) - rate int_x^(x+w) S(u) du)^(n-1), F of the sum of bursts that begin within the work (one period: so many whole, and one more with a
# probability; else compound Poisson), F1 the same in CPU time, for the rank that all waited for. `cells`: of the grid of waits.
slowdown_chain <- function(noise, n, work_s, cells = NULL) {
  weights <- noise_weights(noise)
  mean_s <- sum(weights * noise$costs_s)
  load <- noise$rate_hz * mean_s
  most <- max(noise$costs_s)
  if (load >= 1) return(Inf)
  if (n == 1) return(slowdown_alone(load))
  periodic <- !is.na(noise$period_s)
  if (periodic) {
    whole <- bursts_in_step(noise, work_s, mean_s)
    rest <- work_s - whole * (noise$period_s - mean_s)
    base_s <- whole * mean_s
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
    rates <- noise$rate_hz * c(1, 1 / (1 - load))
    count <- rates[2] * work_s
    base_s <- rates[1] * work_s * mean_s
    far <- min(stats::qpois(1e-7 / n, count, lower.tail = FALSE) * most,
               count * mean_s + 12 * sqrt(count * sum(weights * noise$costs_s^2)) + 3 * most)
    sums <- function(mass, per_s) compound(mass, function(f) exp(per_s * work_s * (f - 1)))
  }
  far <- max(far, most)
  cells <- cells %||% clamp(16 * far / mean_s, c(160, 480))
  # The largest cost on a point of the grid: most waits are that long.
  h <- most / max(1, floor(cells * most / far))
  size <- ceiling(far / h) + 2
  mass <- on_grid(noise$costs_s, weights, h, 2 * size)
  met <- sums(mass, rates[1])[seq_len(size)]
  alone <- pmin(1, cumsum(sums(mass, rates[2])[seq_len(size)]))
  tail <- pmax(0, 1 - cumsum(mass[seq_len(size)])) # S on [kh, (k+1)h)
  area <- c(0, cumsum(tail * h))
  fresh <- pmax(0, seq(0, size - 1) * h - base_s)
  # What began within the last w and is not over after another x: rows x, columns w.
  reach <- outer(seq(0, size - 1), fresh / h, "+")
  upto <- function(k) area[pmin(floor(k) + 1, size + 1)] + (k - floor(k)) * h * tail[pmin(floor(k) + 1, size)] * (k < size)
  left <- noise$rate_hz * matrix(upto(as.numeric(reach)) - area[seq_len(size)], size)
  # A burst under way comes on top of those that are met in any case.
  base <- if (periodic) compound(mass, function(f) f^whole)[seq_len(size)] else met
  if (base[1] < 1 - 1e-12) left <- pmin(convolved_with(base, left), 1)
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

# What is fixed before anything is measured (Vehtari, Simpson, Gelman, Yao, Gabry 2024, Pareto smoothed importance sampling).
tail_design <- list(share = 0.2, per_root = 3, least = 5, most_shape = 0.7, prior = 10, prior_shape = 0.5)

# The tail of costs, s, as a generalised Pareto distribution: `shape` (0 exponential, 1/a Pareto of index a), `needed` (bursts that a mean over it
# takes), `heavy` (the shape is above what so many bursts can tell, or 0.7). Zhang and Stephens (2009); Vehtari et al. (2024).
tail_shape <- function(costs_s) {
  n <- length(costs_s)
  m <- ceiling(min(tail_design$share * n, tail_design$per_root * sqrt(n)))
  none <- list(shape = NA_real_, scale_s = NA_real_, threshold_s = NA_real_, n = 0, needed = NA_real_, heavy = FALSE)
  if (m < tail_design$least || m >= n) return(none)
  costs <- sort(costs_s)
  threshold <- costs[n - m]
  over <- costs[(n - m + 1):n] - threshold
  over <- over[over > 0]
  if (length(over) < tail_design$least || over[length(over)] < 1e-6 * threshold) return(none)
  fit <- fit_generalised_pareto(over)
  k <- length(over)
  shape <- (fit$shape * k + tail_design$prior * tail_design$prior_shape) / (k + tail_design$prior)
  list(shape = shape, scale_s = fit$scale, threshold_s = threshold, n = k, needed = if (shape < 1) 10^(1 / (1 - max(0, shape))) else Inf,
       heavy = shape > min(tail_design$most_shape, 1 - 1 / log10(n)))
}

# `x`: ascending, above 0. The profile likelihood of theta = -shape / scale, averaged over a grid that the data set.
fit_generalised_pareto <- function(x) {
  n <- length(x)
  grid <- 30 + floor(sqrt(n))
  theta <- 1 / x[n] + (1 - sqrt(grid / (seq_len(grid) - 0.5))) / (3 * x[floor(n / 4 + 0.5)])
  shape <- vapply(theta, function(t) mean(log1p(-t * x)), 0)
  likelihood <- n * (log(-theta / shape) - shape - 1)
  weights <- vapply(likelihood, function(l) 1 / sum(exp(likelihood - l)), 0)
  at <- sum(theta * weights)
  shape <- mean(log1p(-at * x))
  list(shape = shape, scale = -shape / at)
}

# `pattern$kept`: an environment with `rows` (a list of data frames: `nodes`, `every_ns`, `phase`, `noise`, `replicate`, `slowdown`) and `merged` (are these all
# the draws there are?). `compute()`: the draws of `pattern$replicates`. `noise$role`: `recorded`, `fewer` and `more` bursts, each `cheaper`, `dearer`.
keep_draws <- function(pattern, noise, n, work_s, spread_s, compute) {
  kept <- pattern$kept
  if (is.null(kept)) return(compute())
  cell <- data.frame(nodes = n, every_ns = round(1e9 * work_s), phase = if (is.null(spread_s)) "independent" else "common", noise = noise$role)
  if (kept$merged) {
    at <- Reduce(`&`, lapply(names(cell), function(name) kept$rows[[name]] == cell[[name]]))
    if (!any(at)) abort_data("--merge: no draws of ", nodes_words(n), ", every ", format_time(work_s), ", phases ", cell$phase, ", bursts ", cell$noise)
    return(kept$rows$slowdown[at])
  }
  draws <- compute()
  kept$rows <- rbind(kept$rows, cbind(cell, replicate = pattern$replicates, slowdown = draws, row.names = NULL))
  draws
}

replicates_option <- function(text) {
  if (is.null(text)) return(NULL)
  ends <- suppressWarnings(as.numeric(strsplit(text, "-", fixed = TRUE)[[1]]))
  whole <- length(ends) %in% 1:2 && grepl("^[0-9]+(-[0-9]+)?$", text) && min(ends) >= 1 && max(ends) <= 1e6 && !is.unsorted(ends)
  if (!whole) abort_usage("--replicates: '", text, "' is not a number, nor two (try 1-10)")
  seq(ends[1], ends[length(ends)])
}

# What a job hands on beside its draws: the options, and the noise, in numbers that lose nothing.
handed_on <- function(projection, values) {
  exact <- function(x) if (is.list(x)) lapply(x, exact) else if (is.numeric(x)) I(sprintf("%.17g", x)) else x
  asked <- values[setdiff(names(values), c("replicates", asked_when_merged))]
  list(asked = lapply(asked, as.character), noise = exact(projection$noise), sequence = exact(projection$request$pattern$sequence))
}

asked_when_merged <- c("merge", "json", "csv", "out", "margin")

# The parts that jobs wrote: `values` (their options), `noise`, `sequence`, `rows` of draws.
read_replicates <- function(files) {
  parts <- lapply(files, read_replicate_file)
  same <- function(name) vapply(parts, function(part) identical(part[[name]], parts[[1]][[name]]), TRUE)
  for (name in c("version", "asked", "noise", "sequence")) {
    other <- which(!same(name))[1]
    if (!is.na(other)) abort_data("--merge: ", files[other], " is of another ", c(version = "version of noiselab", asked = "question", noise = "record",
                                                                            sequence = "profile")[[name]], " than ", files[1])
  }
  numbers <- lapply(parts, function(part) unique(part$rows$replicate))
  if (anyDuplicated(unlist(numbers)) > 0) {
    twice <- unlist(numbers)[duplicated(unlist(numbers))][1]
    abort_data("--merge: replicate ", twice, " is in ", paste(files[vapply(numbers, function(one) twice %in% one, TRUE)], collapse = " and in "))
  }
  rows <- bind_rows(lapply(parts, `[[`, "rows"))
  c(parts[[1]][c("asked", "noise", "sequence")], list(rows = rows[order(rows$replicate), ]))
}

replicate_columns <- c("nodes", "every_ns", "phase", "noise", "replicate", "slowdown")

read_replicate_file <- function(file) {
  if (!file.exists(file)) abort_data(file, " is missing")
  got <- tryCatch(jsonlite::fromJSON(file), error = function(e) abort_damaged(file, 1, "not JSON"))
  whole <- is.list(got) && identical(got$program, "noiselab-project") && is.list(got$handed_on) && is.data.frame(got$replicates) &&
    setequal(names(got$replicates), replicate_columns)
  if (!whole) abort_data(file, " was not written by noiselab project --replicates --json")
  number <- function(x) if (is.list(x)) lapply(x, number) else {
    value <- suppressWarnings(as.numeric(x))
    if (is.character(x) && !anyNA(value[x != "NA"])) value else x
  }
  list(version = got$version, asked = lapply(got$handed_on$asked, function(x) if (identical(x, "TRUE")) TRUE else x), noise = number(got$handed_on$noise), sequence = got$handed_on$sequence,
       rows = got$replicates[replicate_columns])
}
