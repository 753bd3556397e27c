# The intervals in which an agent took the ranks' CPUs: how long, how often, and with which period.

most_slices_of_bursts <- 2^17

#' When an agent takes the CPU
#'
#' The single bursts of `bursts.HOST.trace` in the halves with the agent: by context-switch records those of the agent's
#' tasks, by the ranks' own records all intervals in which a rank was off its CPU. Bursts that follow each other closely
#' are one *activity*: threads that switch among themselves are no news to the rank.
#'
#' The period is the median distance of activities in the same half, where these distances are regular (half of them
#' within a tenth of the median). Else it is that of the spectrum of the time taken, in slices of the halves with the
#' agent (`periodogram()`, harmonics summed), if it stands out at a tenth of alpha and is not longer than a half. Switching an agent off may
#' shift its phase, so distances are preferred: they need no phase that lasts for the whole run. Where a busy machine makes them uncertain
#' by more than 0.1 %, and the spectrum has a period within 5 % of theirs, that one is the more exact.
#'
#' @inheritParams agent_accounts
#' @return A data frame, one row per launch x node: `launch`, `host`, `source`, `kind`, `n_bursts`, `n_activities`,
#'   `seconds` (measured with the agent), `activities_per_s`, `gap_us` (bursts closer than this are one activity), `cpus` (text, those with
#'   most time first), `cpu_share` (of the first of them), `p50_us`, `p90_us`, `p99_us`, `max_us` (time on the CPU of an
#'   activity), `per_period_us` (time on the CPU in each period: the median of an activity where distances are regular, else
#'   the mean over the periods; among bursts without a name what the folded series holds above its part that is not raised, see
#'   `epoch_fold()`; NA without a period), `burst_p50_us` (of a single burst), `duty_percent` (of one CPU), `period_s`, `period_low`,
#'   `period_high` (s), `period_by` (`distances`, `spectrum`, or empty), `n_distances`, `fap` (of the strongest period in the
#'   spectrum; NA where the distances decide),
#'   `phase` (share of the period by which the activity begins after the time zero of the files), `reason` (why there is no
#'   period, else NA). Attribute `activities`: data frame, one row per activity: `launch`, `host`, `half` (row of the half
#'   among those of the node), `start_s`, `in_half_s` (since the half's begin), `length_us` (time on the CPU), `bursts`, `cpu`.
#' @references See `periodogram()`.
#' @noRd
agent_bursts <- function(campaign, alpha = 0.01) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  check_probability(alpha, "alpha")
  files <- campaign$bursts
  parts <- lapply(seq_len(NROW(files)), function(i) node_bursts(files[i, ], campaign, alpha))
  parts <- Filter(Negate(is.null), parts)
  structure(bind_rows(lapply(parts, `[[`, "row")), activities = bind_rows(lapply(parts, `[[`, "activities")))
}

node_bursts <- function(file, campaign, alpha) {
  account <- campaign$agents
  account <- account[account[["launch"]] == file$launch & account[["host"]] == file$host, ]
  on <- which(is_agent_row(account))
  if (length(on) == 0) return(NULL)
  bursts <- read_bursts(file$file)
  keys <- attr(bursts, "keys")
  tasks <- as.data.frame(campaign$tasks)
  tasks <- tasks[tasks$launch == file$launch & tasks$host == file$host, ]
  mine <- unique(tasks$task[tasks$group == "agent"])
  named <- length(mine) > 0 && any(bursts$task %in% mine)
  if (named) bursts <- bursts[bursts$task %in% mine, ]
  halves <- data.frame(start = account[["start_ns"]][on], wall = account[["wall_ns"]][on], row = on)
  halves <- halves[order(halves$start), ]
  bursts <- in_halves(bursts, halves)
  seconds <- sum(halves$wall) / 1e9
  row <- list(launch = file$launch, host = file$host, source = keys$source %||% (tasks$source[1] %||% NA_character_),
              kind = as.character(account[["kind"]][on[1]]), n_bursts = nrow(bursts))
  if (nrow(bursts) == 0) return(list(row = c(row, list(n_activities = 0, seconds = seconds, activities_per_s = 0, duty_percent = 0,
                                                       reason = "no burst lies in a half with the agent"))))
  gap <- activity_gap(bursts)
  activities <- merge_activities(bursts, gap)
  on_cpu <- sort(tapply(bursts$duration_ns, ifelse(is.na(bursts$cpu), "-", bursts$cpu), sum), decreasing = TRUE)
  at <- function(x, p) unname(stats::quantile(x, p, type = 1)) / 1000
  period <- activity_period(activities, bursts, halves, alpha, named)
  row <- c(row, list(
    n_activities = nrow(activities), seconds = seconds, activities_per_s = nrow(activities) / seconds, gap_us = gap / 1000,
    cpus = paste(names(on_cpu), collapse = ","), cpu_share = unname(on_cpu[1] / sum(on_cpu)),
    p50_us = at(activities$took, 0.5), p90_us = at(activities$took, 0.9), p99_us = at(activities$took, 0.99),
    max_us = max(activities$took) / 1000, burst_p50_us = at(bursts$duration_ns, 0.5),
    duty_percent = sum(bursts$duration_ns) / seconds / 1e7
  ), period)
  list(row = row, activities = data.frame(
    launch = file$launch, host = file$host, half = activities$half, start_s = activities$start / 1e9,
    in_half_s = (activities$start - account[["start_ns"]][activities$half]) / 1e9, length_us = activities$took / 1000,
    bursts = activities$n, cpu = activities$cpu
  ))
}

# The bursts that begin in one of the halves, with its row as `half`. The companion that records them and the rank that
# times the half are two processes: a burst may lie a little before its half.
in_halves <- function(bursts, halves, slack_ns = 1e6) {
  at <- findInterval(bursts$start_ns + slack_ns, halves$start)
  inside <- at > 0 & bursts$start_ns < halves$start[pmax(1, at)] + halves$wall[pmax(1, at)]
  bursts <- bursts[inside, ]
  bursts$half <- halves$row[at[inside]]
  bursts
}

# Silences between bursts are of two sorts, within an activity and between activities, where an agent has several threads:
# the cut that parts their logarithms best (Otsu), if the two sorts are a factor of ten apart, and never above 20 ms.
activity_gap <- function(bursts, most_ns = 2e7) {
  gaps <- silences(bursts)
  gaps <- sort(log10(pmax(1000, gaps)))
  n <- length(gaps)
  if (n < 20) return(0)
  k <- seq_len(n - 1)
  total <- cumsum(gaps)
  low <- total[k] / k
  high <- (total[n] - total[k]) / (n - k)
  between <- k * (n - k) * (high - low)^2
  cut <- which.max(between)
  if (high[cut] - low[cut] < 1 || 10^gaps[cut] > most_ns) return(0)
  10^((gaps[cut] + gaps[cut + 1]) / 2)
}

# From the end of all that came before to the next start, within halves, ns.
silences <- function(bursts) {
  n <- nrow(bursts)
  if (n < 2) return(numeric())
  ends <- stats::ave(bursts$start_ns + bursts$duration_ns, bursts$half, FUN = cummax)
  (bursts$start_ns[-1] - ends[-n])[diff(bursts$half) == 0]
}

# Consecutive bursts of a half with less than `gap` between them.
merge_activities <- function(bursts, gap) {
  ends <- stats::ave(bursts$start_ns + bursts$duration_ns, bursts$half, FUN = cummax)
  n <- nrow(bursts)
  new <- c(TRUE, diff(bursts$half) != 0 | bursts$start_ns[-1] - ends[-n] > gap)
  group <- cumsum(new)
  longest <- order(group, -bursts$duration_ns)
  longest <- longest[!duplicated(group[longest])]
  data.frame(half = bursts$half[new], start = bursts$start_ns[new], took = as.numeric(rowsum(bursts$duration_ns, group)),
             n = tabulate(group), cpu = bursts$cpu[longest])
}

least_distances <- 8

# `named`: all bursts are the agent's.
activity_period <- function(activities, bursts, halves, alpha, named = TRUE) {
  distances <- diff(activities$start)[diff(activities$half) == 0] / 1e9
  n <- length(distances)
  answer <- function(period, low, high, by, per_period_us = NA_real_, phase = NA_real_, fap = NA_real_, reason = NA_character_) {
    list(period_s = period, period_low = low, period_high = high, period_by = by, per_period_us = per_period_us,
         n_distances = n, fap = fap, phase = phase, reason = reason)
  }
  by_distances <- NULL
  if (n >= least_distances) {
    centre <- stats::median(distances)
    if (stats::median(abs(distances - centre)) <= 0.1 * centre) {
      ends <- sort(distances)[pmax(1, stats::qbinom(c(alpha / 2, 1 - alpha / 2), n, 0.5) + c(0, 1))]
      ends[2] <- max(centre, ends[2], na.rm = TRUE)
      by_distances <- answer(centre, ends[1], ends[2], "distances", stats::median(activities$took) / 1000,
                             circular_phase(activities$start / 1e9, centre))
      if (ends[2] - ends[1] <= 0.002 * centre) return(by_distances)
    }
  }
  found <- spectral_period(bursts, halves, alpha)
  if (!is.null(by_distances) && !isTRUE(found$fap <= alpha / 10 && abs(found$period / centre - 1) < 0.05)) return(by_distances)
  # A half without a whole period says nothing about it: switching shifts the agent's phase.
  fits <- isTRUE(found$period <= max(halves$wall) / 1e9)
  if (isTRUE(found$fap <= alpha / 10) && fits) {
    reach <- stats::qnorm(1 - alpha / 2) * found$se
    fold <- epoch_fold(found$series$x, found$series$t_s, found$period, width_s = found$series$width_s, alpha = alpha)
    each <- if (!is.null(by_distances)) by_distances$per_period_us else if (named) {
      1e6 * found$period * sum(bursts$duration_ns) / sum(halves$wall)
    } else 1e4 * found$period * sum(fold$profile$mean) / fold$bins
    # (All that is above the part that is not raised: the box would miss the tails of bursts of uneven length.)
    return(answer(found$period, found$period - reach, found$period + reach, "spectrum", each, fold$phase, found$fap))
  }
  few <- if (n < least_distances) sprintf("only %d distances within halves, and the spectrum shows no period", n)
  answer(NA_real_, NA_real_, NA_real_, "", fap = found$fap, reason = few %||% "the activities do not keep to a period")
}

# The strongest family of lines of the share of time taken, in slices of the halves.
spectral_period <- function(bursts, halves, alpha) {
  none <- list(period = NA_real_, se = NA_real_, fap = NA_real_)
  series <- taken_series(bursts, halves)
  if (!is.na(series_reason(series$x, series$t_s))) return(none)
  spectrum <- periodogram(series$x, series$t_s)
  family <- find_family(spectrum, alpha)
  if (is.null(family)) return(none)
  fine <- refine_frequency(series$x, series$t_s, family$frequency_hz, spectrum)
  list(series = series, period = 1 / fine$frequency_hz, se = fine$se_hz / fine$frequency_hz^2, fap = family$fap)
}

# Slices that lie wholly in a half: `t_s` (middle), `x` (percent of the slice that was taken), `width_s`.
taken_series <- function(bursts, halves) {
  first <- halves$start[1]
  span <- halves$start[nrow(halves)] + halves$wall[nrow(halves)] - first
  slice <- max(span / most_slices_of_bursts, 1e5)
  from <- ceiling((halves$start - first) / slice)
  count <- pmax(0, floor((halves$start + halves$wall - first) / slice) - from)
  keep <- rep(from, count) + sequence(count)
  taken <- into_slices((bursts$start_ns - first) / slice, pmax(1e-9, bursts$duration_ns / slice), bursts$duration_ns / slice,
                       ceiling(span / slice) + 1)
  list(t_s = (first + (keep - 0.5) * slice) / 1e9, x = 100 * pmin(1, taken[keep]), width_s = slice / 1e9)
}

# Mean direction of the starts on the circle of the period, as a share of it.
circular_phase <- function(start_s, period_s) {
  angle <- 2 * pi * (start_s / period_s)
  (atan2(mean(sin(angle)), mean(cos(angle))) / (2 * pi)) %% 1
}
