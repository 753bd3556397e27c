# Walks of trains: N nodes that go through recorded bursts at random offsets, or meet bursts at any time,
# step after step (src/walk.c).

# `events`: bursts that a cell may meet, in the walk of the record and in each of the three for its ends;
# `least_steps`, `steps`: of a walk, at least and usually; `some_steps`: where these are dear; `few_steps`:
# where each meets so many bursts that all are alike; `circuits`: of a period that was declared;
# `saturated`: bursts that hit a step, from which on all steps are alike; `most_nodes`: beyond them the walk
# would not fit into memory; `most_common`: of nodes that are hit together so many are walked; `most_load`:
# above it bursts at any time are not; `dense`: bursts of a node in a step, beyond which it is no dearer (as
# in src/walk.c); `most_own`: above it nodes that are hit together have the same costs, or some would have no
# time.
project_walk <- list(events = 8e5, end_events = 2.5e5, least_steps = 40, some_steps = 16, few_steps = 6,
                     steps = 400, circuits = 8, draws = c(4, 1000), usual_draws = 32, saturated = 40,
                     most_common = 4096, most_nodes = 2^21, events_per_node = 0.3, few_nodes = 2000,
                     most_load = 0.9, most_own = 0.5, dense = 10)

# A train without times: bursts of these costs, so often each, at any time.
random_train <- function(noise) {
  if (is.null(noise$weights)) noise <- grouped_noise(noise)
  order <- order(noise$costs_s)
  share <- cumsum(noise$weights[order])
  list(first = 0L, length_s = 0, share = share / share[length(share)], start_s = 0,
       cost_s = noise$costs_s[order], cpu = 0L, rate_hz = noise$rate_hz, bursts_hz = noise$rate_hz,
       span_s = Inf)
}

# Slowdowns in both halves of each draw, a column each; NaN: a draw had too many events. `range_s`: below 0:
# independent; `span_s`: above 0: halves are so long, and have as many steps as that gives.
walk_halves <- function(train, n, work_s, draws, warm, steps, most = Inf, range_s = -1, own_costs = FALSE,
                        seed = 1, span_s = 0) {
  form <- c(n, work_s, range_s, own_costs, warm, steps, most, span_s)
  .Call("walk", as.integer(train$first), train$length_s, train$share, train$start_s, train$cost_s,
        as.integer(train$cpu), train$rate_hz, form, as.integer(c(0, draws)), seed, PACKAGE = "noiselab")
}

# NULL where a walk would meet too many bursts. Else `halves` of all draws.
walk_train <- function(train, n, work_s, events, range_s = -1, own_costs = FALSE, seed = 1) {
  fixed <- project_walk
  # (few nodes fit into the caches, and take a third of the time)
  if (n < fixed$few_nodes) events <- 3 * events
  is_dense <- train$rate_hz == 0 && !own_costs && train$bursts_hz * work_s > fixed$dense &&
    all(train$cpu == 0)
  events_in <- function(stretch) n * if (is_dense) fixed$dense else train$bursts_hz * work_s * stretch
  per_step <- events_in(1)
  if (n > min(fixed$most_nodes, 2 * events) || per_step * fixed$few_steps > events) return(NULL)
  # (draws are four at least)
  affordable <- max(events / (5 * per_step), min(fixed$some_steps, events / per_step))
  least <- clamp(affordable, c(fixed$few_steps, fixed$least_steps))
  walk <- function(...) {
    walk_halves(train, n, work_s, ..., range_s = range_s, own_costs = own_costs, seed = seed)
  }
  pilot <- walk(2, ceiling(least / 4), ceiling(least / 4), 2 * events)
  if (anyNA(pilot)) return(NULL)
  stretch <- 1 + mean(pilot)
  per_step <- events_in(stretch)
  span_s <- 0
  if (isTRUE(train$is_period)) {
    # Whole periods, or what is left of one would count for as much as a whole.
    span_s <- train$span_s *
      ceiling(max(fixed$circuits / 2, fixed$steps / 2 * work_s * stretch / train$span_s))
    steps <- 2 * span_s / (work_s * stretch)
  } else {
    # A record says nothing new when it is walked again.
    whole <- max(fixed$steps, min(1e7, train$span_s / (work_s * stretch)))
    steps <- clamp(events / (1.25 * fixed$usual_draws * per_step), c(least, whole))
  }
  half <- ceiling(steps / 2)
  draws <- clamp(events / (1.25 * per_step * steps + fixed$events_per_node * n), fixed$draws)
  if (per_step * steps * draws > 20 * events) return(NULL)
  halves <- walk(floor(draws), ceiling(half / 2), half, 20 * events / floor(draws) + 1e4, span_s = span_s)
  if (anyNA(halves)) NULL else halves
}

# `value`: mean slowdown, a share; `se`: its standard error; `draws`: what runs differ by that have one draw
# of the offsets each, as far as it lasts from one half of a walk to the other. `wander`: offsets change
# during a run.
walked <- function(halves, wander = FALSE) {
  each <- colMeans(halves)
  n <- length(each)
  if (wander) {
    # a run spends equal times, not equal work, at all offsets
    inverse <- mean(1 / (1 + each))
    return(list(value = 1 / inverse - 1, se = stats::sd(1 / (1 + each)) / sqrt(n) / inverse^2,
                draws = rep(1 / inverse - 1, n)))
  }
  variance <- stats::var(each)
  lasting <- if (variance > 0) clamp(stats::cov(halves[1, ], halves[2, ]) / variance, c(0, 1)) else 0
  list(value = mean(each), se = sqrt(variance / n), draws = mean(each) + sqrt(lasting) * (each - mean(each)))
}
