# The rule of an agent's answer on simulated campaigns of known truth: does each interval of confidence 0.98
# hold it, and how often is an answer to the hardest margin, the truth itself, wrong? Part of make
# bench-stats.

# Bursts of a stretch: from one begin to the next (the first from the stretch's begin), and length of each,
# ns.
agent_shapes <- list(
  periodic = function(n) {
    list(gap = 25e7 * c(runif(1), rep(1, n - 1)), length = 2.5e6 * exp(rnorm(n, 0, 0.05)))
  },
  poisson = function(n) list(gap = rexp(n, 4e-9), length = 2.5e6 * exp(rnorm(n, 0, 0.05))),
  heavy = function(n) list(gap = rexp(n, 8e-9), length = rlnorm(n, log(6e5), 1)),
  # a third of the bursts in two parts, the second 6 ms after the first; each up to 10 ms late
  torn = function(n) {
    late <- runif(n, 0, 1e7)
    gap <- 25e7 * c(runif(1), rep(1, n - 1)) + diff(c(0, late))
    length <- 2.5e6 * exp(rnorm(n, 0, 0.05))
    twice <- runif(n) < 1 / 3
    part <- rep(seq_len(n), 1 + twice)
    second <- duplicated(part)
    gap <- ifelse(second, 6e6, gap[part] - 6e6 * c(FALSE, twice)[part])
    list(gap = gap, length = length[part] * ifelse(twice[part], ifelse(second, 0.15, 0.85), 1),
         once = !second)
  },
  # most runs of a minute hold one of them or none, in stretches that nothing disturbs
  rare = function(n) list(gap = rexp(n, 5e-11), length = 5e7 * exp(rnorm(n, 0, 0.05))),
  none = function(n) list(gap = rep(1e18, n), length = rep(1, n))
)
# Share of time that bursts take, each costing 1.02 times its length and 20 us.
agent_truth <- function(shape) {
  x <- switch(shape, periodic = , poisson = , torn = 4e-9 * (1.02 * 2.5e6 * exp(0.05^2 / 2) + 2e4),
              heavy = 8e-9 * (1.02 * 6e5 * exp(0.5) + 2e4),
              rare = 5e-11 * (1.02 * 5e7 * exp(0.05^2 / 2) + 2e4), none = 0)
  100 * x / (1 - x)
}

# What the agent costs beyond its bursts, by name: percent of all the time, or skewed: of `halves` of the
# stretches, slower by `by`; or interruptions of `ns` that nobody is recorded for, so many per second.
agent_effects <- list("0" = list(percent = 0), "1" = list(percent = 1), "5" = list(percent = 5),
                      "10" = list(percent = 10),
                      "1 of 100 halves 50 % slower" = list(halves = 0.01, by = 0.5),
                      "10 ms 0.5 per s" = list(per_s = 0.5, ns = 1e7),
                      "2 ms 2.5 per s" = list(per_s = 2.5, ns = 2e6),
                      "2 ms 5 per s" = list(per_s = 5, ns = 2e6),
                      "3 of 100 halves 20 % slower" = list(halves = 0.03, by = 0.2),
                      "0.3 ms 20 per s" = list(per_s = 20, ns = 3e5))
effect_truth <- function(name) {
  e <- agent_effects[[name]]
  100 *
    (if (!is.null(e$halves)) {
      e$halves * e$by
    } else if (!is.null(e$per_s)) {
      e$per_s * e$ns / 1e9
    } else {
      e$percent / 100
    })
}

# Scatter of a slice of 0.2 ms, what others take (per second, mean ns), how far the speed wanders (log, per
# root of a second), how much the speed of each stretch differs by itself, and of how many it is another one
# altogether.
agent_machines <- list(
  quiet = list(jitter = 0.01, others_per_s = 5, others_ns = 1e5, wander = 0.001, level = 0.012, jumps = 0),
  wandering = list(jitter = 0.02, others_per_s = 10, others_ns = 2e5, wander = 0.02, level = 0.02,
                   jumps = 0.01),
  busy = list(jitter = 0.02, others_per_s = 20, others_ns = 2e6, wander = 0.01, level = 0.03, jumps = 0.05)
)

# Slices of stretches of `n` each, in the order of time; `on`: with the agent, which has `beyond` its bursts
# one of `agent_effects`.
agent_loop <- function(n, on, shape, beyond, machine) {
  effect <- agent_effects[[beyond]]
  m <- agent_machines[[machine]]
  total <- sum(n)
  speed <- cumsum(rnorm(total, 0, m$wander * sqrt(2e-4)))
  level <- rnorm(length(n), 0, m$level) +
    ifelse(runif(length(n)) < m$jumps, sample(c(-0.9, 0.9), length(n), TRUE), 0)
  ns <- 2e5 * exp(speed - mean(speed) + rep(level, n) + rnorm(total, 0, m$jitter))
  hit <- sample.int(total, rpois(1, m$others_per_s * total * 2e-4), TRUE)
  extra <- rowsum(rexp(length(hit), 1 / m$others_ns), hit)
  at <- as.integer(rownames(extra))
  ns[at] <- ns[at] + extra
  stretch <- rep(seq_along(n), n)
  slower <- rep(1 + (effect$percent %||% 0) / 100, length(n))
  if (!is.null(effect$halves)) slower[runif(length(n)) < effect$halves] <- 1 + effect$by
  ns[on[stretch]] <- ns[on[stretch]] * slower[stretch][on[stretch]]
  if (!is.null(effect$per_s)) {
    with <- which(on[stretch])
    hit <- table(with[sample.int(length(with), rpois(1, effect$per_s * length(with) * 2e-4), TRUE)])
    at <- as.integer(names(hit))
    ns[at] <- ns[at] + effect$ns * as.integer(hit)
  }
  first <- cumsum(c(1, n))[seq_along(n)]
  bursts <- lapply(which(on), function(i) {
    slices <- first[i] + seq_len(n[i]) - 1
    work <- c(0, cumsum(ns[slices]))
    b <- agent_shapes[[shape]](20 + ceiling(20 * n[i] * 2e-4))
    start <- cumsum(b$gap)
    cost <- 1.02 * b$length + 2e4 * (b$once %||% TRUE)
    place <- start - cumsum(c(0, cost[-length(cost)]))
    keep <- cummin(place >= 0 & place < work[length(work)]) == 1
    k <- findInterval(place[keep], work)
    got <- rowsum(as.numeric(cost[keep]), k)
    list(slice = slices[as.integer(rownames(got))], cost = got, stretch = rep(i, sum(keep)),
         start = start[keep], length = b$length[keep])
  })
  for (b in bursts) ns[b$slice] <- ns[b$slice] + b$cost
  sums <- c(0, cumsum(ns))
  # a pause of a second between two stretches
  begin <- sums[first] + 1e9 * seq_along(n)
  starts <- as.numeric(unlist(lapply(bursts, function(b) begin[b$stretch] + b$start)))
  list(
    ns = ns,
    n = n,
    first = first,
    start_ns = begin,
    bursts = data.frame(start_ns = starts, duration_ns = as.numeric(unlist(lapply(bursts, `[[`, "length"))),
                        cpu = rep(0, length(starts)))
  )
}

# A campaign of `seconds` measured seconds: undisturbed stretches and quick halves, or on/off blocks of a
# second and a half.
agent_campaign <- function(design, shape, beyond, machine, seconds, seed) {
  set.seed(seed)
  if (design == "blocks") {
    pairs <- round(seconds / 3)
    coin <- sample(0:1, pairs, TRUE)
    on <- as.vector(rbind(coin, 1 - coin)) == 1
    n <- rep(7500, 2 * pairs)
    undisturbed <- on
    planned <- rep(15e8, 2 * pairs)
    pair <- rep(seq_len(pairs), each = 2)
  } else {
    # 1 s undisturbed, 24 short pairs and a long one, 8 ms for each switch
    rounds <- round(seconds / 3.1)
    each <- lapply(seq_len(rounds), function(i) {
      long <- sample(rep(c(FALSE, TRUE), c(24, 1)))
      coin <- sample(0:1, 25, TRUE)
      list(on = c(TRUE, as.vector(rbind(coin, 1 - coin)) == 1),
           n = c(5000, rep(ifelse(long, 1250, 125), each = 2)),
           planned = c(1e9, rep(ifelse(long, 25e7, 25e6), each = 2)),
           pair = c(1, rep(1 + seq_len(25), each = 2)) + 100 * i)
    })
    of <- function(key) unlist(lapply(each, `[[`, key))
    on <- of("on")
    n <- of("n")
    planned <- of("planned")
    pair <- of("pair")
    undisturbed <- planned == 1e9
  }
  loop <- agent_loop(n, on, shape, beyond, machine)
  slices <- sequence(n[undisturbed], loop$first[undisturbed])
  timeline <- loop_timeline(loop$start_ns[undisturbed], n[undisturbed], loop$ns[slices])
  got <- locked_cost(locked_track(timeline, loop$bursts, 200), 0.01, 0.98)
  blocks <- data.frame(pair = pair, arm = ifelse(on, "on", "off"), start_ns = loop$start_ns,
                       first = loop$first, n = n, planned_ns = planned)
  none <- loop$bursts[0, ]
  whole <- rest <- NULL
  if (design == "blocks") {
    d <- masked_pairs(blocks, loop$ns, none, 0)$raw  # nothing cut: bursts are part of it
    est <- batch_mean_ci(d, 0.98)
    whole <- figure_as(figure_of_t(est$estimate, est$se, est$df), function(x) 100 * expm1(x))
  } else rest <- quick_figure(masked_pairs(blocks[!undisturbed, ], loop$ns, loop$bursts, tail_of(timeline)))
  list(bursts = got$figure[[1]], whole = whole, beyond = rest, watched_s = sum(timeline$ns) / 1e9,
       seen_ns = loop$bursts$duration_ns)
}

agent_outcome <- function(design, shape, beyond, machine, seconds, seed) {
  got <- agent_campaign(design, shape, beyond, machine, seconds, seed)
  bursts <- agent_truth(shape)
  rest_truth <- effect_truth(beyond)
  all <- 100 * ((1 + bursts / 100) * (1 + rest_truth / 100) - 1)
  holds <- function(figure, truth) {
    if (is.null(figure)) {
      NA
    } else {
      ends <- figure$ends(0.01)
      ends[1] <= truth && truth <= ends[2]
    }
  }
  seen <- if (is.null(got$bursts)) got$seen_ns else numeric()
  quick <- if (is.null(got$bursts)) got$beyond
  whole <- if (!is.null(quick)) with_unseen(quick, got$watched_s, seen) else got$whole
  side <- function(margin) {
    agent_rule(got$bursts, whole, if (is.null(quick)) got$beyond, agree_margin(bursts), margin = margin,
               watched_s = got$watched_s, seen_ns = seen, rest = quick)
  }
  rest <- got$beyond %||% (if (!is.null(got$bursts)) beyond_figure(got$whole, got$bursts))
  whole <- whole %||% (if (!is.null(got$bursts) && !is.null(rest)) in_all_figure(got$bursts, rest))
  at <- side(all)
  # the margin that bursts alone keep, and all does not
  between <- if (rest_truth > 0) side((bursts + all) / 2)$margin_verdict else "inconclusive"
  c(n = 1, with_bursts = !is.null(got$bursts), holds_bursts = holds(got$bursts, bursts),
    with_all = !is.null(whole), holds_all = holds(whole, all), with_beyond = !is.null(rest),
    holds_beyond = holds(rest, rest_truth),
    below_false = !is.null(rest) && isTRUE(at$beyond_most < rest_truth),
    wrong_pass = at$margin_verdict == "below" || between == "below",
    wrong_fail = at$margin_verdict == "above", pass_half = side(all / 2)$margin_verdict == "below",
    pass_double = side(2 * all)$margin_verdict == "below", found = at$found)
}

# `n`: campaigns per cell in all. SECONDS: of each campaign of the constant effects.
agent_answers <- function(n) {
  cat(
    paste0("One answer for an agent: intervals of confidence 0.98, wrong answers to a margin that is the ",
           "truth (alpha 0.01)\n")
  )
  grid <- function(...) expand.grid(..., stringsAsFactors = FALSE)
  skewed <- setdiff(names(agent_effects), c("0", "1", "5", "10"))
  cells <- rbind(
    grid(machine = "quiet", beyond = "0", shape = "rare", design = c("quick", "blocks"), seconds = 60),
    grid(machine = "quiet", beyond = skewed, shape = c("none", "periodic"), design = "quick", seconds = 60),
    grid(machine = "busy", beyond = c("1", "2 ms 2.5 per s", "2 ms 5 per s"), shape = "periodic",
         design = "quick", seconds = 60),
    grid(machine = names(agent_machines), beyond = c("0", "1", "5", "10"),
         shape = c("periodic", "poisson", "heavy", "torn"), design = c("quick", "blocks"),
         seconds = as.numeric(Sys.getenv("SECONDS", "24")))
  )
  in_cells("agent-answer.csv", n, cells, function(cell) function(seed) {
    agent_outcome(cell$design, cell$shape, cell$beyond, cell$machine, cell$seconds, seed)
  }, function(cell, sums) {
    name <- sprintf("%s, %s, %s beyond, %s", cell$design, cell$shape, cell$beyond, cell$machine)
    for (figure in c("bursts", "all", "beyond")) {
      of <- sums[[paste0("with_", figure)]]
      if (of > 0) {
        share(paste0(name, ", ", figure), hits_of(sums[[paste0("holds_", figure)]], of), "agent_covers")
      }
    }
    share(paste0(name, ", below R*"), hits_of(sums[["below_false"]], sums[["n"]]), "wrong")
    for (answer in c("pass", "fail")) {
      share(paste0(name, ", wrong ", answer), hits_of(sums[[paste0("wrong_", answer)]], sums[["n"]]), "wrong")
    }
  })
}
