# The setting of the generator that loads CPUs as a recorded agent did.

# What noiselab-gen takes.
generator_period_s <- c(1e-3, 60)
generator_level_percent <- c(0.001, 100)

equal_length <- 0.1      # lengths this near to that of the generator's bursts count as equal
reads_per_cpu_s <- 1e6   # bytes: from here on an agent is a reader of files
parallel_from <- 1.5     # CPUs at a time: from here on an agent runs on several at once

#' The generator's setting that is like an agent
#'
#' From the times at which an agent was on a CPU: its level, its period and how regular it is, as options of
#' `noiselab-gen`. Bursts of one activity are joined to groups first (threads of an agent hand over to each other), by the
#' gap that makes the groups keep to a period best.
#'
#' @param bursts Data frame from [read_bursts()]: `start_ns`, `duration_ns`, and as far as known `cpu` and `kind`.
#' @param windows Data frame of the stretches in which the agent was watched: `start_ns`, `length_ns`, on the clock of the
#'   bursts; NULL: one, as long as the trace says (`span_ns`), else to the last start and a mean distance more.
#' @param read_bytes,cpu_ns Bytes that the agent read and CPU time that it used while it was watched, length 1 each; NA:
#'   unknown. They decide between the kinds `procfs` and `spin`.
#' @param told_s The period that the agent is said to have, in seconds, length 1; NA: unknown. It counts where the windows are
#'   too short to show one.
#' @return A list: `pattern` (`periodic`, `jittered`, `bursts` or `poisson`, which is given where no period was found),
#'   `period_s` (of the activity), `jitter_percent` (of the room in the period), `group` and `spacing_s` (pattern
#'   `bursts`, else NA), `level_percent` (of each CPU), `cpus` (numbers; none where the trace has none), `kind`,
#'   `kind_reason`, `groups` (number), `bursts` (number), `gap_s` (bursts nearer than that are one activity), `burst_s` (CPU time of
#'   one of the generator's bursts), `lengths_s` (10 %, 50 % and 90 % quantiles of the CPU time of the groups),
#'   `share_at_period` (of the CPU time, in groups at their place in the period), `places_filled` (share of the periods
#'   that have a group), `ks_lengths` (Kolmogorov-Smirnov distance of the lengths, equal within 10 %, from the
#'   generator's), `ks_distances` (pattern `poisson`: that of the distances from the exponential distribution), `far_share`
#'   (of the CPU time, in groups that are more than half as long again, or less than half as long, as the generator's burst),
#'   `goodness` (`good`: at least 90 % of the CPU time at the period, or a `ks_distances` of at most 0.1, and a `far_share` of
#'   at most 20 %; `fair`: 80 % and 50 %; else `poor`), `watched_s`, `command` (words), `notes`.
#' @references Lewis, P. A. W. (1964) A branching Poisson process model for the analysis of computer failure patterns,
#'   Journal of the Royal Statistical Society B 26, 398-456 (clusters of events).
#' @examples
#' at <- 0:59 * 1e9
#' fit <- equivalent_setting(data.frame(start_ns = at, duration_ns = 4e5, cpu = 1))
#' paste(fit$command, collapse = " ")
#' @export
equivalent_setting <- function(bursts, windows = NULL, read_bytes = NA_real_, cpu_ns = NA_real_, told_s = NA_real_) {
  check_argument(is.data.frame(bursts) && all(c("start_ns", "duration_ns") %in% names(bursts)), "bursts", class(bursts),
                 "a data frame with start_ns and duration_ns")
  if (nrow(bursts) == 0) abort_data("the trace has no burst: nothing ran while it was recorded")
  windows <- windows %||% whole_trace(bursts)
  placed <- bursts_in_windows(bursts, windows)
  if (nrow(placed) == 0) abort_data("no burst in the stretches in which the agent was on")
  watched <- data.frame(length_s = windows$length_ns / 1e9)
  fit <- find_pattern(placed, watched, told_s)
  inner <- inner_pattern(placed, fit)
  # What is small against the activity has no length of its own to be compared.
  lengths <- if (is.null(inner)) fit$groups$cpu_s[is_major(fit$groups)] else placed$duration_s
  total <- 100 * sum(placed$duration_s) / sum(watched$length_s)
  where <- loaded_cpus(placed)
  kind <- equivalent_kind(bursts, read_bytes, cpu_ns)
  got <- list(
    pattern = if (is.null(inner)) fit$pattern else "bursts", period_s = fit$period_s,
    jitter_percent = 100 * fit$jitter, group = inner$group %||% NA_real_, spacing_s = inner$spacing_s %||% NA_real_,
    level_percent = total / where$n, cpus = where$cpus, kind = kind$kind, kind_reason = kind$reason,
    groups = nrow(fit$groups), bursts = nrow(placed), gap_s = fit$gap_s,
    burst_s = total / where$n / 100 * fit$period_s / (inner$group %||% 1),
    lengths_s = stats::quantile(lengths, c(0.1, 0.5, 0.9), names = FALSE), share_at_period = fit$share,
    places_filled = fit$filled, watched_s = sum(watched$length_s)
  )
  got <- c(got, equivalent_fit(got, fit$groups, lengths))
  setting <- equivalent_command(got)
  c(got, list(command = setting$words, notes = c(fit$why, where$note, setting$notes)))
}

# As the generator takes a trace that does not say how long it is.
whole_trace <- function(bursts) {
  first <- bursts$start_ns[1]
  told <- suppressWarnings(as.numeric(attr(bursts, "keys")$span_ns))
  n <- nrow(bursts)
  if (n == 1 && !is_number(told, 0)) abort_data("one burst in a trace that does not say how long it is (# span_ns: N) has no level")
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
  placed <- data.frame(start_s = (bursts$start_ns[inside] - start) / 1e9,
                       duration_s = pmin(bursts$duration_ns[inside], end_ns[inside] - bursts$start_ns[inside]) / 1e9,
                       window = at[inside], cpu = if (is.null(bursts$cpu)) rep(NA_real_, sum(inside)) else bursts$cpu[inside])
  placed[order(placed$window, placed$start_s), ]
}

# Bound to a CPU, at home on several at once, or wandering: the generator stays where it is put.
loaded_cpus <- function(placed) {
  if (all(is.na(placed$cpu))) {
    return(list(n = 1, cpus = numeric(), note = "the trace names no CPU: without --on the generator takes the first that it may use"))
  }
  share <- sort(tapply(placed$duration_s, placed$cpu, sum), decreasing = TRUE) / sum(placed$duration_s)
  cpus <- as.numeric(names(share))
  busy <- group_bursts(placed, 0)
  at_once <- sum(placed$duration_s) / sum(busy$wall_s)
  if (length(cpus) > 1 && at_once >= parallel_from) {
    n <- min(length(cpus), round(at_once))
    return(list(n = n, cpus = sort(cpus[seq_len(n)]),
                note = sprintf("the agent ran on %.1f CPUs at a time: the level is that of each of %d", at_once, n)))
  }
  wanders <- share[1] < 0.95
  list(n = 1, cpus = cpus[1], note = if (wanders) sprintf(
    "the agent wandered over the CPUs %s, on one at a time; the generator stays on the one that had most of it (%.0f %%)",
    join_words(format_count(sort(cpus))), 100 * share[1]))
}

equivalent_kind <- function(bursts, read_bytes, cpu_ns) {
  named <- unique(bursts$kind[!is.na(bursts$kind)])
  if (length(named) == 1) return(list(kind = named, reason = "the trace names it"))
  rate <- read_bytes / (cpu_ns / 1e9)
  if (!is.finite(rate)) {
    return(list(kind = "spin",
                reason = "CPU time only: what the agent did with it was not recorded (see --kind procfs for one that reads /proc)"))
  }
  words <- sprintf("it read %s MB per second of its CPU time", format_level(rate / 1e6))
  if (rate >= reads_per_cpu_s) list(kind = "procfs", reason = words) else list(kind = "spin", reason = words)
}

# How good the likeness is.
equivalent_fit <- function(got, groups, lengths) {
  short <- mean(lengths < got$burst_s * (1 - equal_length))
  long <- mean(lengths > got$burst_s * (1 + equal_length))
  distances <- if (got$pattern == "poisson") exponential_distance(within_windows(groups$start_s, groups$window)) else NA_real_
  # The share of CPU time in lengths far from the generator's matters more than their number.
  far <- sum(lengths[abs(lengths / got$burst_s - 1) > 0.5]) / sum(lengths)
  at_place <- if (got$pattern == "poisson") 1 - distances else if (is.na(got$share_at_period)) got$places_filled else got$share_at_period
  ks <- max(short, long)
  goodness <- if (is.na(at_place)) "poor" else if (at_place >= 0.9 && far <= 0.2 && ks <= 0.25) "good" else {
    if (at_place >= 0.8 && far <= 0.5) "fair" else "poor"
  }
  list(ks_lengths = ks, ks_distances = distances, far_share = far, goodness = goodness)
}

# Kolmogorov-Smirnov distance of positive numbers from the exponential distribution of their mean.
exponential_distance <- function(x) {
  x <- sort(x[is.finite(x)])
  n <- length(x)
  if (n < 2) return(NA_real_)
  expected <- stats::pexp(x, 1 / mean(x))
  max(abs(expected - (seq_len(n) - 1) / n), abs(expected - seq_len(n) / n))
}

equivalent_command <- function(got) {
  notes <- character()
  per_burst <- got$period_s / if (is.na(got$group)) 1 else got$group
  period <- min(max(per_burst, generator_period_s[1]), generator_period_s[2])
  if (period != per_burst) {
    notes <- sprintf("the generator's periods are %s to %s: the level is kept, the period (%s) is not", format_time(generator_period_s[1]),
                     format_time(generator_period_s[2]), format_time(per_burst))
  }
  level <- min(max(got$level_percent, generator_level_percent[1]), generator_level_percent[2])
  if (level != got$level_percent) {
    notes <- c(notes, sprintf("the agent's level, %s %%, is outside what the generator paces (%g to %g %%)",
                              format_level(got$level_percent),
                              generator_level_percent[1], generator_level_percent[2]))
  }
  jittered <- got$pattern == "jittered"
  words <- c("noiselab-gen", "--kind", got$kind, if (got$pattern != "periodic") c("--pattern", got$pattern),
             "--level", plain_number(level), "--period", option_time(period),
             if (jittered) c("--jitter", plain_number(got$jitter_percent, 2)),
             if (got$pattern == "bursts") c("--group", format_count(got$group), "--spacing", option_time(got$spacing_s)),
             if (length(got$cpus) > 0) c("--on", paste0("cpu:", format_count(got$cpus), collapse = ",")), "--duration", "60s")
  list(words = words, notes = notes)
}

plain_number <- function(x, digits = 3) format(signif(x, digits), scientific = FALSE, drop0trailing = TRUE, trim = TRUE)

# A time as options take it: four digits, in the unit that leaves at least 1.
option_time <- function(seconds) {
  ns <- round(signif(seconds, 4) * 1e9)
  scale <- c(s = 1e9, ms = 1e6, us = 1e3, ns = 1)
  unit <- which(ns >= scale)[1]
  paste0(format(ns / scale[[unit]], scientific = FALSE, drop0trailing = TRUE, trim = TRUE, digits = 10), names(scale)[unit])
}
