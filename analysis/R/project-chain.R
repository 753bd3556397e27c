# What bursts cost many ranks that wait for each other: closed forms, and the chain of waits from step to step (docs/methods.md, Projection).

# A single rank, or all of them hit at the same moment, work-conserving: what bursts take of the time is missing, whatever the step.
slowdown_alone <- function(load) load / (1 - load)

# The mean of the largest of n costs.
largest_cost <- function(noise, n) {
  order <- order(noise$costs_s)
  below <- cumsum(noise_weights(noise)[order])
  sum(noise$costs_s[order] * diff(c(0, pmin(1, below)^n)))
}

slowdown_common <- function(noise, n) {
  load <- noise$rate_hz * largest_cost(noise, n)
  if (load < 1) slowdown_alone(load) else Inf
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

# Sums of a random number of costs: `transform` of their characteristic function.
compound <- function(mass, transform) pmax(0, Re(stats::fft(transform(stats::fft(mass)), inverse = TRUE)) / length(mass))

#' The chain of waits
#'
#' Steps of equal work, each closed by an ideal barrier. A step that begins after a wait of w finds ranks that were done early, and may be in
#' the middle of a burst that began meanwhile; the one that all waited for is not. The wait of a step is the largest over ranks of the bursts
#' that they meet.
#'
#' @param noise From `node_noise()`.
#' @param n Number of ranks, or nodes, that are hit independently of one another, length 1.
#' @param work_s Work of a step, s, length 1.
#' @param cells Number of cells of the grid of waits.
#' @return The slowdown in the long run, a share, length 1: of phases that wander where there is a period.
#' @details P(W' <= x | W = w) = F1(x) (F(x) - rate int_x^(x+w) S(u) du)^(n-1): F of the sum of bursts that begin within the work (one period: a
#'   rank meets so many whole, and one more with a probability; else compound Poisson), F1 the same in CPU time, for the rank that all waited for.
#' @noRd
slowdown_chain <- function(noise, n, work_s, cells = 160) {
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
  if (base[1] < 1 - 1e-12) {
    lag <- outer(seq_len(size), seq_len(size), "-")
    left <- pmin(matrix(ifelse(lag < 0, 0, base[pmax(lag, 0) + 1]), size) %*% left, 1)
  }
  within <- pmin(1, cumsum(met))
  cdf <- alone * pmax(within - left, 0)^(n - 1)
  cdf[size, ] <- 1
  step <- rbind(cdf[1, ], diff(cdf))
  step[step < 0] <- 0
  step <- sweep(step, 2, colSums(step), "/")
  p <- rep(1 / size, size)
  balance <- step - diag(size)
  balance[1, ] <- 1
  p <- tryCatch(solve(balance, c(1, rep(0, size - 1)), tol = 1e-20), error = function(e) {
    for (i in 1:500) p <- as.numeric(step %*% p)
    p
  })
  max(slowdown_alone(load), sum(p * seq(0, size - 1)) * h / work_s)
}
