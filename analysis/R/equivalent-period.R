# When an activity comes back: bursts to groups, and the period, or the lack of one, in the times of groups.

# A comb of this many groups at least: fewer keep to some period by chance.
fewest_groups <- 6
# How far from its place in the period (in periods) a group may begin: of few groups less can be believed.
comb_tolerances <- c(0.05, 0.1, 0.25)
kept_share <- 0.8 # of the CPU time, and of the places, that a period has to explain

# Bursts of one activity as one row: an agent's threads hand over to each other, so that single bursts are an artefact.
# `bursts`: start_s, duration_s, window, sorted by window and start. Returns start_s, cpu_s (the sum), wall_s, bursts, window.
group_bursts <- function(bursts, gap_s) {
  n <- nrow(bursts)
  end <- bursts$start_s + bursts$duration_s
  # The latest end so far within the window, in one pass: windows lie further apart than anything in them.
  apart <- (bursts$window - bursts$window[1]) * (2 * max(end) + 1)
  begun <- c(-Inf, cummax(end + apart)[-n])
  first <- bursts$start_s + apart - begun > gap_s
  id <- cumsum(first)
  data.frame(start_s = bursts$start_s[first], cpu_s = as.numeric(rowsum(bursts$duration_s, id)),
             wall_s = as.numeric(tapply(end, id, max)) - bursts$start_s[first],
             bursts = tabulate(id), window = bursts$window[first])
}

# Gaps worth trying: none, and four per decade up to the longest silence.
trial_gaps <- function(bursts) {
  groups <- group_bursts(bursts, 0)
  silence <- within_windows(groups$start_s, groups$window) - utils::head(groups$wall_s, -1)
  silence <- silence[is.finite(silence) & silence > 0]
  if (length(silence) == 0) return(0)
  c(0, 10^seq(log10(1e-6), log10(max(1e-6, silence)), by = 0.25))
}

# Distances of neighbours; NA where a window begins.
within_windows <- function(x, window) ifelse(diff(window) == 0, diff(x), NA_real_)

# Those that make up the activity: small ones in between (a timer, a log line) are not its beat.
is_major <- function(groups) {
  by <- order(groups$cpu_s)
  middle <- groups$cpu_s[by][which(cumsum(groups$cpu_s[by]) >= sum(groups$cpu_s) / 2)[1]]
  groups$cpu_s >= 0.2 * middle
}

# The period of the bursts: the smallest gap whose groups keep to one about as well as any. A list: `pattern`
# (`periodic`, `jittered`, `poisson`), `groups`, `gap_s`, `period_s`, `jitter` (share of the room in the period), `share` (of
# the CPU time in groups at their places), `filled` (share of the places that have one), `why`. `told_s`: the period that the
# agent is said to have; it counts where no stretch is long enough to show one.
find_pattern <- function(bursts, windows, told_s = NA_real_) {
  gaps <- trial_gaps(bursts)
  trials <- lapply(gaps, function(gap) c(list(gap_s = gap), groups = list(group_bursts(bursts, gap))))
  trials <- trials[!duplicated(vapply(trials, function(trial) nrow(trial$groups), 0L))]
  fits <- lapply(trials, function(trial) {
    fit <- comb_period(trial$groups, windows) %||% order_period(trial$groups, windows)
    if (is.null(fit)) return(NULL)
    # Groups that nearly touch the next ones are not groups, but what a large gap makes of chance.
    room <- fit$period_s * if (fit$pattern == "periodic") 0.5 else 0.25
    if (trial$gap_s == 0 || trial$gap_s + stats::median(trial$groups$wall_s) <= room) c(trial, fit)
  })
  fits <- Filter(Negate(is.null), fits)
  if (length(fits) == 0) return(told_period(trials, windows, told_s) %||% without_period(trials, windows))
  share <- vapply(fits, `[[`, 0, "share")
  fits[[which(share >= max(share) - 0.02)[1]]]
}

# One group at a fixed place of every period.
comb_period <- function(groups, windows) {
  major <- groups[is_major(groups), ]
  distance <- stats::na.omit(within_windows(major$start_s, major$window))
  if (length(distance) < fewest_groups - 1) return(NULL)
  tries <- unique(stats::quantile(distance, c(0.25, 0.5, 0.75), names = FALSE))
  fits <- Filter(Negate(is.null), lapply(tries[tries > 0], fit_comb, major = major, groups = groups, windows = windows))
  if (length(fits) == 0) return(NULL)
  fits[[which.max(vapply(fits, `[[`, 0, "share"))]]
}

fit_comb <- function(period, major, groups, windows) {
  number <- stats::ave(c(0, round(replace(diff(major$start_s), diff(major$window) != 0, 0) / period)), major$window, FUN = cumsum)
  for (step in 1:4) {
    period <- slope_within(number, major$start_s, major$window)
    if (!is.finite(period) || period <= 0) return(NULL)
    phase <- stats::ave(major$start_s - number * period, major$window, FUN = stats::median)
    again <- round((major$start_s - phase) / period)
    if (identical(again, number)) break
    number <- again
  }
  away <- (major$start_s - phase) / period - number
  n <- nrow(major)
  # Two of the groups are used up by period and phase; several periods and gaps are tried.
  by_chance <- vapply(comb_tolerances, function(near) {
    40 * stats::pbinom(sum(abs(away) <= near) - 3, n - 2, 2 * near, lower.tail = FALSE)
  }, 0)
  place <- paste(major$window, number)
  at <- abs(away) <= 0.25
  places <- number_of_places(number, major$window, windows, period)
  filled <- length(unique(place[at])) / places
  share <- sum(major$cpu_s[at]) / sum(groups$cpu_s)
  one_each <- sum(at) <= 1.2 * length(unique(place[at]))
  if (min(by_chance) > 0.01 || share < kept_share || filled < kept_share || !one_each) return(NULL)
  jitter <- jitter_share(away[at], major$cpu_s, period)
  list(pattern = if (jitter >= 0.1) "jittered" else "periodic", period_s = period, jitter = jitter, share = share,
       filled = min(1, filled), places = round(places))
}

# Exactly one group in every period, anywhere in it: starts then follow their number and never stray.
order_period <- function(groups, windows) {
  major <- groups[is_major(groups), ]
  n <- nrow(major)
  if (n < 2 * fewest_groups || length(unique(major$window)) > n / fewest_groups) return(NULL)
  number <- stats::ave(numeric(n), major$window, FUN = seq_along)
  period <- slope_within(number, major$start_s, major$window)
  if (!is.finite(period) || period <= 0) return(NULL)
  away <- (major$start_s - number * period) / period
  away <- away - stats::ave(away, major$window)
  share <- sum(major$cpu_s) / sum(groups$cpu_s)
  # Of places drawn evenly the scatter is 0.29 periods; of independent bursts it grows with the root of their number.
  if (stats::sd(away) > 0.35 || share < kept_share) return(NULL)
  list(pattern = "jittered", period_s = period, jitter = jitter_share(away, major$cpu_s, period), share = share, filled = 1,
       places = n)
}

# The room in a period is what the burst leaves of it; of places drawn evenly from a share of it, that share. (Twice the
# distance of the quartiles: a burst that was interrupted has a second part, which is late.)
jitter_share <- function(away, cpu_s, period) {
  room <- max(0.01, 1 - mean(cpu_s) / period)
  share <- 2 * stats::IQR(away) / room
  if (is.na(share)) 0 else min(1, share)
}

# Least squares, with an intercept for each window: switching an agent off and on moves its phase.
slope_within <- function(x, y, window) {
  x <- x - stats::ave(x, window)
  y <- y - stats::ave(y, window)
  sum(x * y) / sum(x^2)
}

# From the first to the last group of each window; but time without any group counts, too.
number_of_places <- function(number, window, windows, period) {
  spans <- tapply(number, window, function(k) max(k) - min(k) + 1)
  max(sum(spans), sum(windows$length_s) / period - nrow(windows))
}

# A burst or so in each stretch: no distance says anything of the period.
told_period <- function(trials, windows, told_s) {
  if (is.na(told_s) || stats::median(windows$length_s) >= 3 * told_s) return(NULL)
  near <- vapply(trials, function(trial) trial$gap_s, 0) <= 0.25 * told_s
  trial <- trials[[max(which(near))]]
  c(trial, list(pattern = "periodic", period_s = told_s, jitter = NA_real_, share = NA_real_,
                filled = min(1, sum(is_major(trial$groups)) * told_s / sum(windows$length_s)), places = NA_real_,
                why = sprintf("the stretches watched are too short to show a period: %s is what the agent is said to have", format_time(told_s))))
}

# No period: groups as clumps, so that what is left comes independently of each other as far as it can.
without_period <- function(trials, windows) {
  scatter <- vapply(trials, function(trial) {
    distance <- stats::na.omit(within_windows(trial$groups$start_s, trial$groups$window))
    if (length(distance) < 3) NA_real_ else stats::sd(distance) / mean(distance)
  }, 0)
  calm <- which(scatter <= 1.2)
  at <- if (length(calm) > 0) calm[1] else if (all(is.na(scatter))) 1 else which.min(scatter)
  trial <- trials[[at]]
  n <- nrow(trial$groups)
  few <- n < fewest_groups
  c(trial, list(pattern = "poisson", period_s = sum(windows$length_s) / n, jitter = NA_real_, share = NA_real_, filled = NA_real_,
                places = NA_real_, why = if (few) {
                  sprintf("%d group%s of bursts %s too few to tell a period from chance (%d are needed): record for longer", n,
                          if (n == 1) "" else "s", if (n == 1) "is" else "are", fewest_groups)
                } else if (is.na(scatter[at])) "no period: too few groups of bursts follow each other in one stretch" else {
                  sprintf("no period: the distances of %d groups of bursts scatter by %.0f %% of their mean", n, 100 * scatter[at])
                }))
}

# Are the bursts within a group a pattern of their own? `group` (their number) and `spacing_s`, or NULL.
inner_pattern <- function(bursts, fit) {
  groups <- fit$groups[is_major(fit$groups), ]
  usual <- stats::median(groups$bursts)
  if (fit$pattern != "periodic" || usual < 2 || mean(groups$bursts == usual) < kept_share) return(NULL)
  id <- findInterval(bursts$start_s, fit$groups$start_s)
  if (length(unique(fit$groups$window)) > 1) return(NULL)
  inner <- diff(bursts$start_s)[diff(id) == 0]
  # Bursts at the same time are those of several CPUs.
  equal <- min(inner) > mean(bursts$duration_s) && (length(inner) < 2 || stats::sd(inner) <= 0.1 * mean(inner))
  even <- stats::sd(bursts$duration_s) <= 0.1 * mean(bursts$duration_s)
  if (!equal || !even) return(NULL)
  list(group = usual, spacing_s = stats::median(inner))
}
