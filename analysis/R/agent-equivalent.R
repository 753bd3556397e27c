# The setting of the generator that loads CPUs as a recorded agent did.

# What noiselab-gen takes.
generator_period_s <- c(1e-3, 60)
generator_level_percent <- c(0.001, 100)

reads_per_cpu_s <- 1e6   # bytes: from here on an agent is a reader of files
parallel_from <- 1.5     # CPUs at a time: from here on an agent runs on several at once

# The generator's setting that is like an agent, from the times at which it was on a CPU. Bursts of one
# activity are joined to groups first, by the gap that makes the groups keep to a period best. Lewis, P. A.
# W. (1964), Journal of the Royal Statistical Society B 26, 398-456. `bursts`: data frame from
# read_bursts(): `start_ns`, `duration_ns`, and as far as known `cpu` and `kind`. `windows`: data frame of
# the stretches in which the agent was watched: `start_ns`, `length_ns`, on the clock of the bursts; NULL:
# one, as long as the trace says (`span_ns`), else to the last start and a mean distance more. `read_bytes`,
# `cpu_ns`: bytes that the agent read and CPU time that it used while it was watched each; NA: unknown. They
# decide between the kinds `procfs` and `spin`. `told_s`: the period that the agent is said to have, in
# seconds; NA: unknown. It counts where the windows are too short to show one. Gives a list: `pattern`
# (`periodic`, `jittered` or `poisson`, which is given where no period was found), `period_s` (of the
# activity), `jitter_percent` (of the room in the period), `level_percent` (of each CPU), `cpus` (numbers;
# none where the trace has none), `kind`, `kind_reason`, `groups` (number), `bursts` (number), `gap_s`
# (bursts nearer than that are one activity), `burst_s` (CPU time of one of the generator's bursts),
# `lengths_s` (10 %, 50 % and 90 % quantiles of the CPU time of the groups), `share_at_period` (of the CPU
# time, in groups at their place in the period), `places_filled` (share of the periods that have a group),
# `ks_distances` (pattern `poisson`: Kolmogorov-Smirnov distance of the groups' distances from the
# exponential distribution), `far_share` (of the CPU time, in groups that are more than half as long again,
# or less than half as long, as the generator's burst), `goodness` (`good`: at least 90 % of the CPU time at
# the period, or a `ks_distances` of at most 0.1, a `far_share` of at most 20 %, and at most a quarter of
# the lengths more than 10 % off on one side; `fair`: 80 % and 50 %; else `poor`), `watched_s`, `command`
# (words), `notes`.
equivalent_setting <- function(bursts, windows = NULL, read_bytes = NA_real_, cpu_ns = NA_real_,
                               told_s = NA_real_) {
  if (nrow(bursts) == 0) abort_data("the trace has no burst: nothing ran while it was recorded")
  windows <- windows %||% whole_trace(bursts)
  placed <- bursts_in_windows(bursts, windows)
  if (nrow(placed) == 0) abort_data("no burst in the segments in which the agent was on")
  watched <- data.frame(length_s = windows$length_ns / 1e9)
  fit <- find_pattern(placed, watched, told_s)
  # What is small against the activity has no length of its own to be compared.
  lengths <- fit$groups$cpu_s[is_major(fit$groups)]
  total <- 100 * sum(placed$duration_s) / sum(watched$length_s)
  where <- loaded_cpus(placed)
  kind <- equivalent_kind(bursts, read_bytes, cpu_ns)
  got <- list(pattern = fit$pattern, period_s = fit$period_s, jitter_percent = 100 * fit$jitter,
              level_percent = total / where$n, cpus = where$cpus, kind = kind$kind, kind_reason = kind$reason,
              groups = nrow(fit$groups), bursts = nrow(placed), gap_s = fit$gap_s,
              burst_s = total / where$n / 100 * fit$period_s,
              lengths_s = stats::quantile(lengths, c(0.1, 0.5, 0.9), names = FALSE),
              share_at_period = fit$share, places_filled = fit$filled, watched_s = sum(watched$length_s))
  got <- c(got, equivalent_fit(got, fit$groups, lengths))
  setting <- equivalent_command(got)
  c(got, list(command = setting$words, notes = c(fit$why, where$note, setting$notes)))
}

# As the generator takes a trace that does not say how long it is.
whole_trace <- function(bursts) {
  first <- bursts$start_ns[1]
  told <- suppressWarnings(as.numeric(attr(bursts, "keys")$span_ns))
  n <- nrow(bursts)
  if (n == 1 && !is_number(told, 0)) {
    abort_data("one burst in a trace that does not say how long it is (# span_ns: N) has no level")
  }
  span <- max(bursts$start_ns) - first
  length <- max(span + span / max(1, n - 1), max(bursts$start_ns + bursts$duration_ns) - first)
  data.frame(start_ns = first, length_ns = if (is_number(told, 0)) told else length)
}

# Bursts with the number of their window, cut at its ends, in seconds from its start.
bursts_in_windows <- function(bursts, windows) {
  windows <- windows[order(windows$start_ns), ]
  at <- findInterval(bursts$start_ns, windows$start_ns)
  end_ns <- c(-Inf, windows$start_ns + windows$length_ns)[at + 1]
  inside <- at > 0 & bursts$start_ns < end_ns
  start <- windows$start_ns[at[inside]]
  placed <- data.frame(
    start_s = (bursts$start_ns[inside] - start) / 1e9,
    duration_s = pmin(bursts$duration_ns[inside], end_ns[inside] - bursts$start_ns[inside]) / 1e9,
    window = at[inside],
    cpu = if (is.null(bursts$cpu)) {
      rep(NA_real_, sum(inside))
    } else {
      bursts$cpu[inside]
    }
  )
  placed[order(placed$window, placed$start_s), ]
}

# Bound to a CPU, at home on several at once, or wandering: the generator stays where it is put.
loaded_cpus <- function(placed) {
  if (all(is.na(placed$cpu))) {
    return(list(n = 1, cpus = numeric(),
                note = "the trace names no CPU: without --on the generator takes the first that it may use"))
  }
  share <- sort(tapply(placed$duration_s, placed$cpu, sum), decreasing = TRUE) / sum(placed$duration_s)
  cpus <- as.numeric(names(share))
  busy <- group_bursts(placed, 0)
  at_once <- sum(placed$duration_s) / sum(busy$wall_s)
  if (length(cpus) > 1 && at_once >= parallel_from) {
    n <- min(length(cpus), round(at_once))
    return(list(
      n = n, cpus = sort(cpus[seq_len(n)]),
      note = sprintf("the agent ran on %.1f CPUs at a time: the level is that of each of %d", at_once, n)
    ))
  }
  wanders <- share[1] < 0.95
  list(
    n = 1,
    cpus = cpus[1],
    note = if (wanders) {
      sprintf(
        paste0("the agent wandered over the CPUs %s, on one at a time; the generator stays on the one that ",
               "had most of it (%.0f %%)"),
        join_words(format_count(sort(cpus))),
        100 * share[1]
      )
    }
  )
}

equivalent_kind <- function(bursts, read_bytes, cpu_ns) {
  named <- unique(bursts$kind[!is.na(bursts$kind)])
  if (length(named) == 1) return(list(kind = named, reason = "the trace names it"))
  rate <- read_bytes / (cpu_ns / 1e9)
  if (!is.finite(rate)) {
    return(list(
      kind = "spin",
      reason = paste0("CPU time only: what the agent did with it was not recorded (see --kind procfs for ",
                      "one that reads /proc)")
    ))
  }
  words <- sprintf("it read %s MB per second of its CPU time", format_level(rate / 1e6))
  if (rate >= reads_per_cpu_s) list(kind = "procfs", reason = words) else list(kind = "spin", reason = words)
}

# How good the likeness is.
equivalent_fit <- function(got, groups, lengths) {
  distances <- if (got$pattern == "poisson") {
    exponential_distance(within_windows(groups$start_s, groups$window))
  } else {
    NA_real_
  }
  # The share of CPU time in lengths far from the generator's matters more than their number.
  far <- sum(lengths[abs(lengths / got$burst_s - 1) > 0.5]) / sum(lengths)
  at_place <- if (got$pattern == "poisson") {
    1 - distances
  } else if (is.na(got$share_at_period)) {
    got$places_filled
  } else {
    got$share_at_period
  }
  near <- function(place, most_far) isTRUE(at_place >= place && far <= most_far)
  alike <- max(mean(lengths < got$burst_s * 0.9), mean(lengths > got$burst_s * 1.1)) <= 0.25
  list(
    ks_distances = distances,
    far_share = far,
    goodness = if (near(0.9, 0.2) && alike) {
      "good"
    } else if (near(0.8, 0.5)) {
      "fair"
    } else {
      "poor"
    }
  )
}

# Kolmogorov-Smirnov distance of positive numbers from the exponential distribution of their mean.
exponential_distance <- function(x) {
  x <- x[is.finite(x)]
  if (length(x) < 2) NA_real_ else suppressWarnings(unname(stats::ks.test(x, "pexp", 1 / mean(x))$statistic))
}

equivalent_command <- function(got) {
  notes <- character()
  period <- min(max(got$period_s, generator_period_s[1]), generator_period_s[2])
  if (period != got$period_s) {
    notes <- sprintf("the generator's periods are %s to %s: the level is kept, the period (%s) is not",
                     format_time(generator_period_s[1]), format_time(generator_period_s[2]),
                     format_time(got$period_s))
  }
  level <- min(max(got$level_percent, generator_level_percent[1]), generator_level_percent[2])
  if (level != got$level_percent) {
    notes <- c(notes, sprintf("the agent's level, %s %%, is outside what the generator paces (%g to %g %%)",
                              format_level(got$level_percent),
                              generator_level_percent[1], generator_level_percent[2]))
  }
  keys <- if (got$pattern == "jittered") paste0(":jitter=", plain_number(got$jitter_percent, 2))
  words <- c(
    "noiselab-gen",
    "--kind",
    got$kind,
    if (got$pattern != "periodic") c("--pattern", paste0(got$pattern, keys)),
    "--level",
    plain_number(level),
    "--period",
    option_time(period),
    if (length(got$cpus) > 0) {
      c("--on", paste0("cpu:", format_count(got$cpus), collapse = ","))
    },
    "--duration",
    "60s"
  )
  list(words = words, notes = notes)
}

plain_number <- function(x, digits = 3) {
  format(signif(x, digits), scientific = FALSE, drop0trailing = TRUE, trim = TRUE)
}

# When an activity comes back: bursts to groups, and the period, or the lack of one, in the times of groups.

# A comb of this many groups at least: fewer keep to some period by chance.
fewest_groups <- 6
# How far from its place in the period (in periods) a group may begin: of few groups less can be believed.
comb_tolerances <- c(0.05, 0.1, 0.25)
kept_share <- 0.8 # of the CPU time, and of the places, that a period has to explain

# Bursts of one activity as one row: an agent's threads hand over to each other, so that single bursts are
# an artefact. `bursts`: start_s, duration_s, window, sorted by window and start. Returns start_s, cpu_s
# (the sum), wall_s, window.
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
             window = bursts$window[first])
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

# The period of the bursts: the smallest gap whose groups keep to one about as well as any. A list:
# `pattern` (`periodic`, `jittered`, `poisson`), `groups`, `gap_s`, `period_s`, `jitter` (share of the room
# in the period), `share` (of the CPU time in groups at their places), `filled` (share of the places that
# have one), `why`. `told_s`: the period that the agent is said to have; it counts where no stretch is long
# enough to show one.
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
  fits <- Filter(Negate(is.null),
                 lapply(tries[tries > 0], fit_comb, major = major, groups = groups, windows = windows))
  if (length(fits) == 0) return(NULL)
  fits[[which.max(vapply(fits, `[[`, 0, "share"))]]
}

fit_comb <- function(period, major, groups, windows) {
  number <- stats::ave(c(0, round(replace(diff(major$start_s), diff(major$window) != 0, 0) / period)),
                       major$window, FUN = cumsum)
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
  list(pattern = if (jitter >= 0.1) "jittered" else "periodic", period_s = period, jitter = jitter,
       share = share, filled = min(1, filled))
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
  # Of places drawn evenly the scatter is 0.29 periods; of independent bursts it grows with the root of
  # their number.
  if (stats::sd(away) > 0.35 || share < kept_share) return(NULL)
  list(pattern = "jittered", period_s = period, jitter = jitter_share(away, major$cpu_s, period),
       share = share, filled = 1)
}

# The room in a period is what the burst leaves of it; of places drawn evenly from a share of it, that
# share. (Twice the distance of the quartiles: a burst that was interrupted has a second part, which is
# late.)
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
  c(
    trial,
    list(
      pattern = "periodic",
      period_s = told_s,
      jitter = NA_real_,
      share = NA_real_,
      filled = min(1, sum(is_major(trial$groups)) * told_s / sum(windows$length_s)),
      why = sprintf(
        "the recorded segments are too short to show a period: %s is what the agent is said to have",
        format_time(told_s)
      )
    )
  )
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
  c(
    trial,
    list(
      pattern = "poisson",
      period_s = sum(windows$length_s) / n,
      jitter = NA_real_,
      share = NA_real_,
      filled = NA_real_,
      why = if (few) {
        sprintf(
          "%d group%s of bursts %s too few to tell a period from chance (%d are needed): record for longer",
          n, if (n == 1) "" else "s", if (n == 1) "is" else "are", fewest_groups
        )
      } else if (is.na(scatter[at])) {
        "no period: too few groups of bursts follow each other in one segment"
      } else {
        sprintf("no period: the distances of %d groups of bursts scatter by %.0f %% of their mean", n,
                100 * scatter[at])
      }
    )
  )
}

analyze_equivalent <- function(operands, values, form) {
  sources <- unlist(lapply(operands, equivalent_sources), recursive = FALSE)
  fits <- lapply(sources, function(source) {
    fit <- equivalent_setting(source$bursts, source$windows, source$read_bytes, source$cpu_ns, source$told_s)
    fit$notes <- as.character(c(source$notes, fit$notes))
    c(list(agent = source$agent, host = source$host), fit)
  })
  notes <- unlist(lapply(fits, `[[`, "notes"))
  settings <- lapply(fits, function(fit) {
    arrays <- c("cpus", "lengths_s", "command", "notes")
    fit[arrays] <- lapply(fit[arrays], I)
    fit
  })
  answered(form, NULL, if (form == "json") list(settings = settings),
           if (form == "csv") list(equivalent_frame(fits)), NULL, unlist(lapply(fits, format_equivalent)),
           equivalent_view(fits, operands), notes)
}
