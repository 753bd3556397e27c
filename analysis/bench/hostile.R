# Part `tests` of bench-stats.R: the tests, intervals and limits of verdicts on hostile differences, without files: pairs of
# halves are drawn, a coin orders each pair, and what the analysis calls of one cell is called. Sourced by bench-stats.R.

picked <- function(name) strsplit(Sys.getenv(name), ",")[[1]]
pair_numbers <- if (length(picked("BENCH_PAIRS")) > 0) as.numeric(picked("BENCH_PAIRS")) else c(20, 60, 400)
power_share <- 5         # so many times fewer campaigns for power than for false alarms
block_size <- 100        # campaigns that are drawn together
efficiency_wanted <- c(quiet = 0.95, steal = 4)

# ---- machines --------------------------------------------------------------------------------------

# Each draws `n` halves (rows, in time order) of `m` campaigns (columns): what is added to the log of the time (scatter 1), or
# points of a share. `steal`: the share of each half that the slowest rank lost, where that is known.
wander <- function(n, m, phi) {
  x <- matrix(stats::rnorm((n + 200) * m), n + 200)
  x[1, ] <- x[1, ] / sqrt(1 - phi^2)
  matrix(stats::filter(x, phi, "recursive"), n + 200)[-(1:200), , drop = FALSE]
}

white <- function(n, m) matrix(stats::rnorm(n * m), n)
chance <- function(n, m, share) matrix(stats::runif(n * m) < share, n)
pareto <- function(n, m) matrix(stats::runif(n * m)^(-1 / 1.5), n)

# Bursts begin in one half of 70 and last for four on average: in each of those the slowest rank loses a share of a third.
steal_bursts <- function(n, m) {
  begins <- chance(n + 40, m, 1 / 70)
  lasts <- matrix(stats::rgeom(length(begins), 1 / 4), n + 40)
  is_on <- matrix(FALSE, n + 40, m)
  for (at in which(begins)) {
    row <- (at - 1) %% (n + 40) + 1
    is_on[row:min(n + 40, row + lasts[at]), (at - 1) %/% (n + 40) + 1] <- TRUE
  }
  share <- is_on * matrix(stats::rbeta(length(is_on), 2, 4), n + 40)
  share[-(1:40), , drop = FALSE]
}

with_steal <- function(n, m) {
  lost <- steal_bursts(n, m) + matrix(stats::rexp(n * m, 1 / 2e-4), n)
  # Another rank's loss at other moments is added to the slowest one's.
  other <- steal_bursts(n, m) * 0.2
  list(halves = 0.004 * white(n, m) - log1p(-pmin(lost + other, 0.9)), steal = pmin(lost, 0.9))
}

machines <- list(
  "white noise" = list(draw = white),
  "Student's t, 1.5 df" = list(draw = function(n, m) matrix(stats::rt(n * m, 1.5), n)),
  "Pareto 1.5 spikes" = list(draw = function(n, m) white(n, m) + chance(n, m, 0.05) * 5 * pareto(n, m)),
  "drift of 3 SD a pair" = list(draw = function(n, m) white(n, m) + 3 * row(matrix(0, n, m)) / 2),
  "AR(1) 0.98" = list(draw = function(n, m) wander(n, m, 0.98) + 0.5 * white(n, m)),
  "1/f" = list(draw = function(n, m) Reduce(`+`, lapply(1 - 2^-(1:9), function(phi) sqrt(1 - phi^2) * wander(n, m, phi)))),
  "steal in rare long bursts" = list(draw = with_steal, is_stolen = TRUE),
  "60 % of differences 0" = list(draw = function(n, m) chance(n, m, 1 - sqrt(0.6)) * stats::rlnorm(n * m, 0, 1.5), is_counted = TRUE),
  "95 % of differences 0" = list(draw = function(n, m) chance(n, m, 1 - sqrt(0.95)) * stats::rlnorm(n * m, 0, 1.5), is_counted = TRUE),
  "clock of 1 SD" = list(draw = function(n, m) round(white(n, m)), is_coarse = TRUE)
)

# Differences of pairs, on minus off: the coin decides which half is on. `plus` is added where the treatment is on.
ordered <- function(halves, coin) {
  n <- nrow(halves)
  coin * (halves[seq(2, n, 2), , drop = FALSE] - halves[seq(1, n, 2), , drop = FALSE])
}

draw_coin <- function(n, m) matrix(sample(c(-1, 1), n * m, replace = TRUE), n)

# `halves`, and `steal` where it is known.
draw_machine <- function(machine, n_pairs, m) {
  got <- machine$draw(2 * n_pairs, m)
  if (is.list(got)) got else list(halves = got)
}

# n campaigns in blocks, whose seeds no other block has: `do(m)` gives a data frame of one row per campaign.
last_seed <- 3e6
in_blocks <- function(n, do) {
  starts <- seq(1, n, block_size)
  before <- last_seed
  last_seed <<- last_seed + length(starts)
  do.call(rbind, each(seq_along(starts), function(i) {
    set.seed(before + i)
    do(min(block_size, n - starts[i] + 1))
  }))
}

per_column <- function(x, f) do.call(rbind.data.frame, lapply(seq_len(ncol(x)), function(j) f(x[, j], j)))

# ---- what a test can attain -------------------------------------------------------------------------

# Largest chance not above `alpha` with which the sum of terms with random signs reaches some value: a test with few terms, or with
# terms on a grid, has no other levels. Terms on a grid by convolution, others by their number.
attainable <- function(terms, alpha) {
  terms <- abs(terms[terms != 0])
  n <- length(terms)
  if (n < ceiling(-log2(alpha))) return(0)
  whole <- 2 * terms
  if (max(abs(whole - round(whole))) > 1e-9) return(if (n > 20) alpha else floor(alpha * 2^n) / 2^n)
  whole <- round(whole)
  chances <- 1
  for (step in whole) {
    padded <- c(chances, numeric(step))
    chances <- (padded + c(numeric(step), chances)) / 2
  }
  tail <- rev(cumsum(rev(chances)))
  max(0, tail[tail <= alpha * (1 + 1e-9)])
}

# Without equal differences all campaigns have the same ranks.
mean_attainable <- function(d, alpha, by_ranks) {
  if (!anyDuplicated(abs(d[, 1]))) d <- d[, 1, drop = FALSE]
  mean(apply(d, 2, function(x) {
    attainable(if (by_ranks) ifelse(x == 0, 0, rank(abs(x))) else x, alpha)
  }))
}

# Shares of false alarms and of covered zeros, against what the test can attain.
judge_level <- function(name, p, low, high, reach) {
  usual <- reach[["level"]] > 0.95 * alpha
  bounds$level <<- list(text = "false alarms", low = if (usual) 0.7 else 70 * reach[["level"]], high = if (usual) 1.3 else
                        min(1.3, 130 * reach[["level"]]))
  full <- 100 * (1 - 2 * reach[["ends"]])
  bounds$held <<- list(text = "interval covers 0", low = 98.5, high = max(99.5, round(full + 0.5, 2)))
  share(name, p <= alpha, "level", if (usual) "" else sprintf(" (attainable %.2f)", 100 * reach[["level"]]))
  share(name, low <= 0 & high >= 0, "held")
}

# ---- level, coverage, efficiency ---------------------------------------------------------------------

two_estimates <- function(d, j) {
  ranks <- rank_inference(d, alpha / 2, with_limit = FALSE)
  means <- randomisation_inference(d, alpha / 2, with_limit = FALSE)
  columns <- c("estimate", "low", "high", "p")
  c(stats::setNames(ranks[columns], paste0("rank_", columns)), stats::setNames(means[columns], paste0("mean_", columns)))
}

# The mean less the steal, as verdicts have it: NA where it is withheld.
adjusted_row <- function(d, adjusted, moved) {
  cell <- list(d = d, lost = data.frame(d = adjusted, moved_percent = moved))
  settings <- function(alpha) list(alpha = alpha, conf = 1 - 2 * alpha, power = power)
  test <- adjusted_mean(cell, settings(alpha))
  ends <- if (test$is_withheld) list(low = NA_real_, high = NA_real_) else
    randomisation_inference(test$values, alpha / 2, with_limit = FALSE)
  list(adjusted_estimate = mean(adjusted), adjusted_detected = test$low > 0, adjusted_low = ends$low, adjusted_high = ends$high,
       is_withheld = test$is_withheld)
}

levels_of <- function(name, machine, n_pairs, n) {
  rows <- in_blocks(n, function(m) {
    drawn <- draw_machine(machine, n_pairs, m)
    coin <- draw_coin(n_pairs, m)
    d <- ordered(drawn$halves, coin)
    rows <- per_column(d, two_estimates)
    if (isTRUE(machine$is_stolen)) {
      adjusted <- ordered(drawn$halves + log1p(-drawn$steal), coin)
      moved <- -100 * ordered(log1p(-drawn$steal), coin)
      rows <- cbind(rows, per_column(adjusted, function(x, j) adjusted_row(d[, j], x, moved[, j])), stolen = colMeans(drawn$steal))
    }
    rows
  })
  set.seed(last_seed)
  some <- ordered(draw_machine(machine, n_pairs, 20)$halves, draw_coin(n_pairs, 20))
  reach <- function(by_ranks) c(level = mean_attainable(some, alpha, by_ranks), ends = mean_attainable(some, alpha / 2, by_ranks))
  of <- sprintf("%d pairs, ", n_pairs)
  judge_level(paste0(of, "typical shift"), rows$rank_p, rows$rank_low, rows$rank_high, reach(TRUE))
  judge_level(paste0(of, "mean"), rows$mean_p, rows$mean_low, rows$mean_high, reach(FALSE))
  efficient <- function(what, estimate, least) {
    ratio <- stats::var(rows$mean_estimate) / stats::var(estimate)
    # of two variances of correlated normal values: Pitman (1939), 4 (1 - rho^2) / n for the logarithm of their ratio
    error <- 2 * ratio * sqrt((1 - stats::cor(rows$mean_estimate, estimate)^2) / length(estimate))
    holds <- if (ratio >= least) "yes" else if (ratio >= least - 2 * error) "within MC error" else "NO"
    line(sprintf("%s%s: variance of the mean over its own", of, what), sprintf("%.3f +- %.3f", ratio, error), paste(">=", least), holds)
  }
  if (name == "white noise") efficient("typical shift", rows$rank_estimate, efficiency_wanted[["quiet"]])
  if (isTRUE(machine$is_stolen)) {
    cat(sprintf("  %ssteal %.1f %% of the wall time\n", of, 100 * mean(rows$stolen)))
    bounds$withheld <<- list(text = "withheld", low = 0.7, high = 1.3)
    bounds$level <<- list(text = "false alarms", low = 0.7, high = 1.3)
    # Two coins that are told apart by few differences have few levels; then only the upper bound is asked for.
    if (n_pairs < 60) bounds$withheld$low <<- bounds$level$low <<- 0
    share(paste0(of, "adjusted mean"), rows$is_withheld, "withheld")
    share(paste0(of, "adjusted mean"), rows$adjusted_detected[!rows$is_withheld], "level")
    share(paste0(of, "adjusted mean"), (rows$adjusted_low <= 0 & rows$adjusted_high >= 0)[!rows$is_withheld], "held")
    efficient("typical shift", rows$rank_estimate, efficiency_wanted[["steal"]])
    efficient("adjusted mean", rows$adjusted_estimate, efficiency_wanted[["steal"]])
  }
}

# ---- power at the stated limit -----------------------------------------------------------------------

cell_label <- function(pattern) list(
  scope = "this launch", launch = "x", design = "lockin", operation = "barrier", bytes = 0, ranks = 2, kind = "spin", pattern = pattern,
  placement = "last", phase = "random", level_requested_percent = 1, level_delivered_percent = 1, delivered_ratio = 1
)

# One verdict as analyze_campaign() makes it: p and limit. Differences in points for `preempted`, of logs for `time`.
verdict_of <- function(channel, d, pattern, resolution) {
  n <- length(d)
  cell <- list(d = d, bursts = rep(1, n), due = rep(1, n), delivered = rep(1, n), resolution = resolution)
  settings <- list(alpha = alpha, power = power, conf = 1 - 2 * alpha, is_sequential = FALSE)
  row <- launch_verdict(cell_label(pattern), channel, cell, 1, settings)
  c(p = row$p_one_sided, limit = row$detection_limit)
}

power_of <- function(machine, n_pairs, n) {
  counted <- isTRUE(machine$is_counted)
  channel <- if (counted) "preempted" else "time"
  # Logs of times scatter by percents.
  scale <- if (counted || isTRUE(machine$is_stolen)) 1 else 0.004
  kinds <- c("typical shift" = "periodic", "mean" = "poisson")
  if (counted) kinds <- kinds[1]
  # A nanosecond of 10 ms, in points.
  resolution <- if (counted) 1e-5 else 0
  for (kind in names(kinds)) {
    rows <- in_blocks(n, function(m) {
      halves <- scale * draw_machine(machine, n_pairs, m)$halves
      null <- ordered(halves, draw_coin(n_pairs, m))
      again <- ordered(halves, draw_coin(n_pairs, m))
      per_column(null, function(d, j) {
        limit <- verdict_of(channel, d, kinds[[kind]], resolution)[["limit"]]
        x <- again[, j] + if (channel == "time") log1p(limit / 100) else limit
        p <- if (is.na(limit)) NA_real_ else if (kind == "mean") randomisation_inference(x, alpha, with_limit = FALSE)$p else
          signed_rank_test(x)$p
        list(limit = limit, p = p)
      })
    })
    known <- !is.na(rows$limit)
    name <- sprintf("%d pairs, %s", n_pairs, kind)
    if (any(!known)) cat(sprintf("  %s: no limit stated in %.1f %% of the campaigns\n", name, 100 * mean(!known)))
    # No limit lies below what can be told from nothing: there it is found more often.
    least <- known & rows$limit <= resolution * (1 + 1e-9)
    if (any(least)) {
      bounds$always <<- list(text = "detected at the resolution", low = 93, high = 100)
      share(name, rows$p[least] <= alpha, "always")
    }
    share(name, rows$p[known & !least] <= alpha, "power", " at its limit")
  }
}

# ---- a covariate that the treatment moves -------------------------------------------------------------

# The treatment brings steal of its own: `moves` times the margin, of which the mean slowdown is `truth` times the margin in all. The
# margin is decided by what margin_interval() has: wrong is "below" where the truth is the margin, and "above" where it is, too.
margin_percent <- 1

# On halves lose `moves` margins of steal besides, and the treatment's own slowdown is the rest. `bursts`: the machine's own steal is
# rare and long; else every half loses some, so that a small move stays within its scatter.
moving_covariate <- function(n_pairs, n, moves, bursts) {
  rows <- in_blocks(n, function(m) {
    # Means scatter alike with few pairs and with many.
    few <- sqrt(n_pairs / 400)
    lost <- if (bursts) with_steal(2 * n_pairs, m)$steal else few * matrix(stats::rexp(2 * n_pairs * m, 1 / 0.0028), 2 * n_pairs)
    work <- few * 0.002 * white(2 * n_pairs, m)
    coin <- draw_coin(n_pairs, m)
    second <- matrix(FALSE, 2 * n_pairs, m)
    second[seq(2, 2 * n_pairs, 2), ] <- coin > 0
    second[seq(1, 2 * n_pairs, 2), ] <- coin < 0
    added <- moves * margin_percent / 100
    # Of the time that is left: the same slowdown of every half, for which the intervals are exact.
    steal <- 1 - (1 - pmin(lost, 0.9)) * (1 - second * added)
    total <- work - log1p(-steal)
    own <- log1p(margin_percent / 100) + log1p(-added)
    d <- ordered(total, coin) + own
    adjusted <- ordered(work, coin) + own
    moved <- -100 * ordered(log1p(-steal), coin)
    per_column(d, function(x, j) {
      cell <- list(d = x, lost = data.frame(d = adjusted[, j], moved_percent = moved[, j]), bursts = rep(1, n_pairs), due = rep(1, n_pairs),
                   delivered = rep(1, n_pairs), resolution = 0)
      settings <- list(alpha = alpha, power = power, conf = 1 - 2 * alpha, is_sequential = FALSE)
      mean_of <- randomisation_inference(x, alpha, with_limit = FALSE)
      a <- adjusted_mean(cell, settings)
      effect <- function(y) if (is.null(y)) NA_real_ else 100 * expm1(y)
      row <- data.frame(mean = effect(mean_of$estimate), mean_low = effect(mean_of$low), mean_high = effect(mean_of$high),
                        adjusted_mean = effect(a$estimate), adjusted_low = effect(a$low), adjusted_high = effect(a$high),
                        raw_mean = mean_of$estimate, raw_mean_se = mean_of$se, raw_mean_df = mean_of$df)
      row$raw_mean_values <- list(x)
      row$raw_adjusted <- list(a)
      got <- margin_interval(row, margin_percent)
      list(verdict = margin_verdict(got$margin_low, got$margin_high, margin_percent), is_adjusted = got$margin_of == "adjusted mean",
           is_withheld = a$is_withheld, is_own = a$low <= own && own <= a$high)
    })
  })
  name <- sprintf("%d pairs, %s, moved by %g of the margin", n_pairs, if (bursts) "bursts" else "some in every half", moves)
  cat(sprintf("  %s: withheld in %.1f %%, decided by the adjusted mean in %.1f %%\n", name, 100 * mean(rows$is_withheld), 100 *
              mean(rows$is_adjusted)))
  # Both ends at alpha: an interval of 98 %.
  bounds$own <<- list(text = "covers the treatment's own part", low = 97.4, high = 98.6)
  if (mean(rows$is_withheld) < 0.9) share("    adjusted mean", rows$is_own[!rows$is_withheld], "own")
  share("    wrong \"below\"", rows$verdict == "below", "false_alarms")
  share("    wrong \"above\"", rows$verdict == "above", "false_alarms")
}

# BENCH_SHAPES: names of machines (parts of them), separated by commas, besides `moving`.
hostile <- function(n) {
  asked <- picked("BENCH_SHAPES")
  wanted <- function(name) length(asked) == 0 || any(vapply(asked, grepl, TRUE, name, fixed = TRUE))
  cat(sprintf("Tests, intervals and limits: %d campaigns per shape and number of pairs (power: %d), alpha %g one-sided, intervals of %g %%\n",
              n, ceiling(n / power_share), alpha, 100 * (1 - alpha)))
  invisible(sign_flip_test(stats::rnorm(400)))
  for (name in Filter(wanted, names(machines))) {
    cat(name, "\n", sep = "")
    for (n_pairs in pair_numbers) {
      levels_of(name, machines[[name]], n_pairs, n)
      power_of(machines[[name]], n_pairs, ceiling(n / power_share))
    }
  }
  if (wanted("moving")) {
    cat(sprintf("A covariate that the treatment moves: the mean slowdown is the margin of %g %%\n", margin_percent))
    for (n_pairs in pair_numbers) {
      for (moves in c(0, 0.3)) moving_covariate(n_pairs, n, moves, bursts = TRUE)
      for (moves in c(-0.04, 0, 0.04, 0.07, 0.3)) moving_covariate(n_pairs, n, moves, bursts = FALSE)
    }
  }
}
