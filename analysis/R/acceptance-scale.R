# What a node's noise would cost where many such nodes wait for each other: a verdict where nothing else judges the noise.

# noiselab's own question: a program that synchronises so many nodes so often. How much it may cost is the margin of kind `scale`.
scale_asked <- list(nodes = 1000, every_s = 1e-3)

at_scale_words <- function() sprintf("%s such nodes that synchronise every %s", format_count(scale_asked$nodes), format_time(scale_asked$every_s))

# One row per node: `host`, `value`, `ci_low`, `ci_high` (slowdown in percent; Inf: bursts leave no time to work; `ci_high` NA: open),
# `verdict`, `reason`, `longer` (how many times as long decides; NA: it is decided, Inf: no time does). The detours of the scans with all CPUs
# busy are all that interrupts a node, seen for a few seconds; the records are of other tasks only, seen all the time: it has to pass both,
# and fails by one.
noise_at_scale <- function(acceptance, margin, alpha) {
  scans <- scans_of_nodes(acceptance)
  bind_rows(lapply(acceptance$hosts, function(host) {
    noises <- list(scans = scan_noise(scans[scans$host == host, ]),
                   records = record_noise(Filter(function(o) o$host == host, known_others(acceptance$others))))
    noises <- Filter(Negate(is.null), noises)
    if (length(noises) == 0) return(NULL)
    judge_scale(host, noises, margin, alpha / length(noises))
  }))
}

judge_scale <- function(host, noises, margin, alpha) {
  ends <- lapply(noises, scale_cell, alpha)
  value <- vapply(ends, `[[`, 0, "value")
  low <- vapply(ends, `[[`, 0, "low")
  high <- vapply(ends, `[[`, 0, "high")
  top <- which.max(value)
  row <- data.frame(host = host, value = value[top], ci_low = max(low), ci_high = if (anyNA(high)) NA_real_ else max(high, value[top]),
                    verdict = "inconclusive", reason = NA_character_, longer = NA_real_)
  if (any(low > margin)) {
    row$verdict <- "fail"
  } else if (is.null(noises$scans)) {
    row$reason <- "the check 'detour' was not run, and of interrupts nothing is known"
  } else if (all(!is.na(high) & high < margin)) {
    row$verdict <- "pass"
  } else {
    row$longer <- max(vapply(noises[is.na(high) | high >= margin], longer_scale, 0, margin, alpha))
    row$reason <- paste0(if (anyNA(high)) paste0(stats::na.omit(vapply(ends, `[[`, "", "reason"))[1], "; "),
                         if (is.finite(row$longer)) sprintf("a run %s times as long would decide", format_effect(row$longer, FALSE)) else
                           "the margin is too near for any run to decide")
  }
  row
}

# Slowdown in percent, with interval.
scale_cell <- function(noise, alpha) {
  if (is.na(noise$rate_hz)) return(list(value = Inf, low = Inf, high = Inf, reason = NA_character_))
  got <- project_cell(noise, scale_asked$nodes, scale_asked$every_s, "independent", alpha)
  list(value = 100 * got$value, low = 100 * got$low, high = 100 * got$high, reason = got$reason)
}

# The same noise watched for longer: the first power of two at which its interval leaves the margin.
longer_scale <- function(noise, margin, alpha, most = 64, most_bursts = 2e6) {
  for (times in 2^(1:log2(most))) {
    if (length(noise$costs_s) * times > most_bursts) break
    more <- noise
    more$watched_s <- noise$watched_s * times
    more$costs_s <- rep(noise$costs_s, each = times)
    cell <- scale_cell(more, alpha)
    if (isTRUE(cell$high < margin) || cell$low > margin) return(times)
  }
  Inf
}

# `rate_hz` NA: the bursts leave no time to work.
noise_or_all <- function(...) tryCatch(node_noise(...), nl_error = function(e) list(rate_hz = NA_real_))

# Of several CPUs a node is hit by what hits any of them.
scan_noise <- function(scans) {
  if (NROW(scans) == 0) return(NULL)
  scans <- scans[scans$variant == (if (any(scans$variant == "all")) "all" else scans$variant[1]), ]
  parts <- bind_rows(scans$detours)
  watched_s <- sum(scans$wall_ns) / 1e9 / length(unique(scans$cpu))
  # a scan without a detour: the shortest one that is looked for, once
  if (NROW(parts) == 0) parts <- data.frame(start_ns = 0, duration_ns = 1000)
  noise_or_all("What interrupts a CPU", pmax(parts$duration_ns, 1) / 1e9, rate_hz = nrow(parts) / watched_s, watched_s = watched_s,
               dispersion = count_dispersion(parts$start_ns / 1e9, max(parts$start_ns / 1e9, 1e-9)))
}

scans_of_nodes <- function(acceptance) {
  files <- list.files(acceptance$paths, "^detours\\..*\\.trace$", full.names = TRUE)
  bind_rows(lapply(files, function(file) {
    scans <- read_detour_trace(file)
    if (nrow(scans) > 0) scans$host <- sub("^detours\\.(.*)\\.trace$", "\\1", basename(file))
    scans
  }))
}

# Others that had a CPU of the node, over its launches.
record_noise <- function(others) {
  others <- Filter(function(o) o$source != "proc" && o$is_whole, others)
  lengths <- bind_rows(lapply(others, `[[`, "lengths"))
  if (NROW(lengths) == 0) return(NULL)
  watched_s <- sum(vapply(others, `[[`, 0, "span_s"))
  begun <- unlist(lapply(others, `[[`, "begun"))
  noise_or_all("Other tasks", rep(lengths$seconds, lengths$n), rate_hz = sum(lengths$n) / watched_s, watched_s = watched_s,
               dispersion = if (length(begun) > 1 && mean(begun) > 0) max(1, stats::var(begun) / mean(begun)) else 1)
}

# Judged by it are the nodes whose noise nothing else judges; the others' figure stands beside.
scale_judgements <- function(scale, judgements, hosts, margin) {
  if (NROW(scale) == 0) return(NULL)
  rows <- judgements[judgements$kind %in% setdiff(noise_kinds, "link"), ]
  # a limit or a reference on the whole cluster judges all
  judged <- if (any(rows$kind %in% c("limit", "reference"))) hosts else names(Filter(length, judged_hosts(rows, hosts)))
  scale <- scale[!scale$host %in% judged, ]
  if (nrow(scale) == 0) return(NULL)
  judgement("scale", paste("slowdown of", at_scale_words()), scale$verdict, metric = "slowdown", entity = scale$host, value = scale$value,
            ci_low = scale$ci_low, ci_high = scale$ci_high, unit = "percent", limit = sprintf("<= %s %%", format_level(margin)),
            source = "noiselab's own margin", kind = "scale", reason = scale$reason)
}

scale_figures <- function(scale, figures) {
  if (NROW(scale) == 0) return(figures)
  rows <- frame(check = "scale", variant = "", metric = "slowdown", size = NA_real_, what = paste("slowdown of", at_scale_words()), worse = "more",
                of = "node", entity = scale$host, unit = "percent", scale = "linear", value = scale$value, ci_low = scale$ci_low,
                ci_high = scale$ci_high, n = 1, n_launches = 1, all_zero = FALSE, events = 0, watched_s = NA_real_, bursts_s = NA_real_, bursts = 0)
  rows$name <- figure_name(rows)
  bind_rows(list(figures, rows))
}

# What is said of it: one sentence.
scale_line <- function(scale, judgements, margin) {
  if (NROW(scale) == 0) return(NULL)
  worst <- scale[order(match(scale$verdict, c("fail", "inconclusive", "pass")), -scale$value), ][1, ]
  is_judge <- any(judgements$kind == "scale")
  verdict <- c(pass = "quiet enough", fail = "not quiet enough", inconclusive = "whether that is quiet enough cannot be told")
  cost <- if (is.infinite(worst$value)) "no time to work" else sprintf(
    "%s%s", format_figure(worst$value, "percent"),
    if (is.na(worst$ci_high)) sprintf(" (at least %s)", format_effect(max(0, worst$ci_low), FALSE)) else interval_text(worst)
  )
  sprintf("The noise of %s would %s %s %s%s.", worst$host, if (is.infinite(worst$value)) "leave" else "cost", at_scale_words(), cost,
          if (is_judge) sprintf(": %s by noiselab's own margin of %s %%%s", verdict[[worst$verdict]], format_level(margin),
                                if (is.na(worst$reason)) "" else paste0(" (", worst$reason, ")")) else "")
}
