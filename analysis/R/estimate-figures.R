# What an answer about an agent is made of, as pure functions (docs/methods.md, One answer for an agent).

# Half of "agree", fixed before anything is measured: percent of an operation's time, or this share of the
# agent's own CPU time, whichever is larger.
agree_percent <- 0.05
agree_share <- 0.1

agree_margin <- function(account_percent) {
  pmax(agree_percent, agree_share * ifelse(is.finite(account_percent), account_percent, 0))
}

# A figure: `value`, and `ends`, a function of a one-sided level that gives c(low, high), each a bound at
# that level.
figure_of <- function(value, ends) list(value = value, ends = ends)

# Student's; `se`, `df` may have several entries, of which the widest counts.
figure_of_t <- function(value, se, df) {
  figure_of(value, function(a) value + c(-1, 1) * max(stats::qt(a, df, lower.tail = FALSE) * se))
}

figure_as <- function(figure, f) figure_of(f(figure$value), function(a) f(figure$ends(a)))

# Of f(values) that rises in every figure with sign 1 and falls where it is -1: the distances of the ends
# are added in squares, each on its own side (Zou and Donner 2008, Statistics in Medicine 27, 1693).
figures_together <- function(figures, f, sign = rep(1, length(figures))) {
  values <- lapply(figures, `[[`, "value")
  centre <- do.call(f, values)
  figure_of(centre, function(a) {
    reach <- vapply(seq_along(figures), function(i) {
      ends <- figures[[i]]$ends(a)
      if (sign[i] < 0) ends <- rev(ends)
      vapply(ends, function(end) abs(do.call(f, replace(values, i, end)) - centre), 0)
    }, numeric(2))
    centre + c(-1, 1) * sqrt(rowSums(reach^2))
  })
}

# Least one-sided level at which the figure lies above (`side` 1) or below (-1) a border.
figure_p <- function(figure, border, side = 1) {
  if (is.null(figure) || is.na(figure$value)) return(NA_real_)
  beyond <- function(log_a) side * (figure$ends(exp(log_a))[if (side > 0) 1 else 2] - border)
  least <- 1e-15
  range <- log(c(least, 0.4999))
  if (!isTRUE(beyond(range[2]) > 0)) return(1)
  if (isTRUE(beyond(range[1]) > 0)) return(least)
  exp(stats::uniroot(beyond, range, tol = 1e-6)$root)
}

# Time lost per CPU time taken, ns: A = sum(l - b) / sum(c), in the order of time; `background`: what a
# window loses elsewhere, by `places` places, with standard error `spread`. By bursts, blocks, or the places
# elsewhere, whichever is widest. Cochran (1977) Sampling Techniques, ch. 6.
amplification_figure <- function(lost, cpu_ns, background, spread, places, groups = locked_design$groups) {
  n <- length(lost)
  ratio <- (sum(lost) - n * background) / sum(cpu_ns)
  residual <- lost - background - ratio * cpu_ns
  blocks <- batch_mean_ci(residual, 0.99, groups)
  se <- c(stats::sd(residual) / sqrt(n), blocks$se, spread) / mean(cpu_ns)
  figure_of_t(ratio, se, c(n - 1, blocks$df, places - 1))
}

# CPU time of bursts per time recorded, ns; attribute `period_ns`. With a period (see `regular_train()`):
# CPU time of a beat over the period, and what comes beside it. Else the sum over the time: by 16 blocks,
# never better than at random (Fay and Feuer 1997, Stat. Med. 16, 791).
use_figure <- function(start_ns, cpu_ns, stretch, total_ns) {
  train <- regular_train(start_ns, cpu_ns, stretch)
  if (!is.null(train)) {
    n <- length(train$cpu_ns)
    own <- batch_mean_ci(train$cpu_ns, 0.99, locked_design$groups)
    middle <- mean(train$distances)
    se <- sqrt((c(stats::sd(train$cpu_ns) / sqrt(n), own$se) / mean(train$cpu_ns))^2 +
                 (stats::sd(train$distances) / sqrt(length(train$distances)) / middle)^2)
    beats <- figure_as(figure_of_t(log(mean(train$cpu_ns) / middle), se, c(n - 1, own$df)), exp)
    figure <- if (length(train$beside) == 0) {
      beats
    } else {
      figures_together(list(beats, random_use(train$beside, total_ns)), `+`)
    }
    return(structure(figure, period_ns = train$period_ns))
  }
  share <- sum(cpu_ns) / total_ns
  groups <- locked_design$groups
  block <- factor(pmin(groups, 1 + floor(start_ns / total_ns * groups)), seq_len(groups))
  sums <- as.numeric(tapply(cpu_ns, block, sum, default = 0))
  log_se <- stats::sd(sums) / sqrt(groups) / mean(sums)
  structure(figure_of(share, function(a) {
    poisson <- random_use(cpu_ns, total_ns)$ends(a)
    blocks <- share * exp(c(-1, 1) * stats::qt(a, groups - 1, lower.tail = FALSE) * log_se)
    c(min(poisson[1], blocks[1]), max(poisson[2], blocks[2]))
  }), period_ns = NA_real_)
}

# Bursts at even distances; NULL: three in four do not keep to it within a tenth. Parts that other tasks
# tore, less than a quarter of the longest usual distance (0.9 quantile) apart, are one beat; what has less
# than half of the usual CPU time is beside it.
regular_train <- function(start_ns, cpu_ns, stretch) {
  distances <- diff(start_ns)[diff(stretch) == 0]
  if (length(distances) < least_distances) return(NULL)
  joined <- c(Inf, diff(start_ns)) <= stats::quantile(distances, 0.9, names = FALSE) / 4 &
    c(FALSE, diff(stretch) == 0)
  begin <- which(!joined)
  cpu <- as.numeric(rowsum(cpu_ns, cumsum(!joined)))
  beat <- cpu >= stats::median(cpu) / 2
  start <- start_ns[begin][beat]
  distances <- diff(start)[diff(stretch[begin][beat]) == 0]
  if (length(distances) < least_distances) return(NULL)
  centre <- stats::median(distances)
  if (mean(abs(distances - centre) <= 0.1 * centre) < 0.75) return(NULL)
  list(period_ns = centre, cpu_ns = cpu[beat], distances = distances, beside = cpu[!beat])
}

random_use <- function(cpu_ns, total_ns) {
  figure_of(sum(cpu_ns) / total_ns, function(a) compound_poisson_ends(cpu_ns, a) / total_ns)
}

# Bounds of the expected sum of events that come at random, each of another size, from those that came;
# `most`: the largest that may come.
compound_poisson_ends <- function(sizes, alpha, most = NULL) {
  sizes <- sizes[sizes > 0]
  most <- max(most, sizes, 0)
  if (most == 0) return(c(0, NA_real_))
  y <- sum(sizes)
  v <- sum(sizes^2)
  c(
    if (y > 0) v / (2 * y) * stats::qchisq(alpha, 2 * y^2 / v) else 0,
    (v + most^2) / (2 * (y + most)) *
      stats::qchisq(alpha, 2 * (y + most)^2 / (v + most^2), lower.tail = FALSE)
  )
}

# Percent of the time without them: L = x / (1 - x), x = A U. `before_high`: what may have been lost before
# each burst, as a share of its CPU time (upper bound, a function of the level): off the lower end.
# `at_least`: bursts were cut, there is no upper end.
bursts_figure <- function(amplification, use, before_high = NULL, at_least = FALSE) {
  less <- figure_of(amplification$value, function(a) {
    ends <- amplification$ends(a)
    if (!is.null(before_high)) ends[1] <- ends[1] - max(0, before_high(a))
    if (at_least) ends[2] <- Inf
    ends
  })
  figure_as(figures_together(list(less, use), `*`), function(x) ifelse(x < 1, 100 * x / (1 - x), Inf))
}

# Bursts rarer than one in the time watched were not seen: what those of at most `unseen_ns` each may cost,
# percent, one-sided. `seen_ns`: lengths of bursts that are on record and in no figure; without any it is
# unseen_ns * -log(alpha) / T.
unseen_ns <- 5e7

unseen_percent <- function(watched_s, alpha, seen_ns = numeric()) {
  if (!isTRUE(watched_s > 0)) return(Inf)
  compound_poisson_ends(seen_ns, alpha, unseen_ns)[2] / watched_s / 1e7
}

# All of it, where bursts are too few for a figure and `beyond` leaves them out: the upper end has what
# those seen and those not seen may cost.
with_unseen <- function(beyond, watched_s, seen_ns = numeric()) {
  figure_of(beyond$value, function(a) {
    c(beyond$ends(a)[1],
      100 * ((1 + unseen_percent(watched_s, a / 2, seen_ns) / 100) * (1 + beyond$ends(a / 2)[2] / 100) - 1))
  })
}

# (1 + S) = (1 + L)(1 + R), percent: one of the three from the two others.
in_all_figure <- function(bursts, beyond) {
  figures_together(list(bursts, beyond), function(l, r) 100 * ((1 + l / 100) * (1 + r / 100) - 1))
}

beyond_figure <- function(whole, bursts) {
  figures_together(list(whole, bursts), function(s, l) 100 * ((1 + s / 100) / (1 + l / 100) - 1), c(1, -1))
}

# Never smaller than what could have been seen: an estimate far below 0 is luck (Cowan, Cranmer, Gross and
# Vitells 2011, arXiv:1105.3166).
beyond_bound <- function(beyond, alpha) {
  ends <- beyond$ends(alpha)
  max(ends[2], (ends[2] - ends[1]) / 2)
}
