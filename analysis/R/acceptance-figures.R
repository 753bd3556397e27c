# Every figure of an acceptance campaign with its interval: geometric mean for times and rates, exact bounds where nothing happened.

figure_table <- function(units, alpha, watched = NULL) {
  if (nrow(units) == 0) return(figure_table(one_unit, alpha, watched)[0, ])
  rows <- bind_rows(lapply(parts_by(units, units$check, units$variant, units$metric, units$size), figures_of_key, watched))
  rows$name <- figure_name(rows)
  ends <- figure_bounds(rows, alpha)
  rows$ci_low <- ends$low
  rows$ci_high <- ends$high
  rows
}

# One figure of all its entities: mean, standard error and degrees of freedom on the scale of tests ("more": not turned), and what exact
# bounds need.
figures_of_key <- function(part, watched) {
  scale <- usable_scale(part)
  unit <- combine_keys(part$launch, part$repetition)
  table <- unit_table(to_scale(part$x, scale, "more"), unit, part$entity)
  launch <- part$launch[!duplicated(unit)]
  got <- column_scatter(table, launch)
  excess <- ifelse(is.na(got$excess), 0, pmax(0, got$excess))
  variance <- got$within + excess
  over <- function(v, df) ifelse(v > 0, v^2 / df, 0)
  first <- rows_at(part, which(!duplicated(part$entity)))
  by <- match(part$entity, first$entity)
  n_by <- tabulate(by)
  median <- if (all(n_by == n_by[1])) row_medians(matrix(part$x[order(by)], length(n_by), byrow = TRUE)) else
    as.vector(tapply(part$x, by, stats::median))
  do.call(frame, c(unclass(first)[c(figure_key, "what", "worse", "of", "entity", "unit")],
                   list(scale = scale, value = from_scale(got$mean, scale, "more"), se = sqrt(variance),
        df = variance^2 / (over(got$within, got$within_df) + over(excess, got$n_launches - 1)), n = got$n, n_launches = got$n_launches,
        median = median, all_zero = tabulate(by[part$x == 0], length(n_by)) == n_by, events = as.vector(rowsum(part$trials, by))), watched_of(first, watched)))
}

# Seconds of CPU time in which the events of a figure could have been seen, and those in which bursts could, with the bursts.
watched_of <- function(rows, watched) {
  none <- list(watched_s = NA_real_, bursts_s = NA_real_, bursts = 0)
  if (is.null(watched) || !any(rows$check %in% c("detour", "quantum"))) return(none)
  own <- watched[watched$check == rows$check[1] & watched$variant == rows$variant[1], ]
  own <- tapply(own$seconds, own$host, sum)
  all <- rowsum(watched[c("seconds", "bursts")], watched$host)
  at <- match(rows$entity, rownames(all))
  list(watched_s = as.vector(own[rows$entity]), bursts_s = all$seconds[at], bursts = all$bursts[at])
}

# Two-sided interval at 1 - alpha, in the figure's unit; of zeros and numbers of events exact where that is wider: Poisson for events per second of
# CPU time, Clopper and Pearson for shares of starts. What bursts that nobody saw could take belongs to the upper end of shares of time.
figure_bounds <- function(rows, alpha) {
  log_scale <- rows$scale == "log"
  centre <- ifelse(log_scale, log(pmax(rows$value, 1e-300)), rows$value)
  known <- rows$n > 1 & is.finite(rows$se) & rows$se > 0
  reach <- ifelse(known, stats::qt(1 - alpha / 2, rows$df) * rows$se, NA_real_)
  back <- function(x) ifelse(log_scale, exp(x), x)
  low <- back(centre - reach)
  high <- back(centre + reach)
  rate <- rows$metric == "detours" & !is.na(rows$watched_s)
  if (any(rate)) {
    e <- rows$events[rate]
    low[rate] <- pmin(low[rate], ifelse(e > 0, stats::qgamma(alpha / 2, pmax(1, e)), 0) / rows$watched_s[rate], na.rm = TRUE)
    high[rate] <- pmax(high[rate], stats::qgamma(1 - alpha / 2, e + 1) / rows$watched_s[rate], na.rm = TRUE)
  }
  share <- rows$check == "collective" & rows$metric %in% c("late_starts", "last_start", "last_end") & rows$events > 0
  if (any(share)) {
    n <- rows$events[share]
    k <- pmin(n, rows$value[share] / 100 * n)
    low[share] <- pmin(low[share], 100 * ifelse(k > 0, stats::qbeta(alpha / 2, pmax(k, 1e-9), n - k + 1), 0), na.rm = TRUE)
    high[share] <- pmax(high[share], 100 * ifelse(k < n, stats::qbeta(1 - alpha / 2, k + 1, pmax(n - k, 1e-9)), 1), na.rm = TRUE)
  }
  burst <- rows$check %in% c("detour", "quantum") & rows$metric %in% burst_metrics & !is.na(rows$bursts_s)
  if (any(burst)) {
    extra <- most_in_bursts(rows$bursts[burst], rows$bursts_s[burst], alpha / 2)
    zero <- rows$all_zero[burst]
    low[burst] <- ifelse(zero, 0, low[burst])
    high[burst] <- ifelse(zero, 0, high[burst]) + extra
  }
  data.frame(low = low, high = high)
}

bound_words <- function(rows) {
  rate <- rows$metric == "detours" & rows$all_zero & !is.na(rows$watched_s)
  burst <- rows$metric %in% burst_metrics & !is.na(rows$bursts_s)
  ifelse(is.na(rows$ci_high), ifelse(rows$n < 2, "its scatter is unknown (one repetition)",
                                     ifelse(rows$all_zero, "all repetitions are 0, and for how long it was watched is not known",
                                                                                                  "all repetitions agree exactly, their scatter is unknown")),
         ifelse(rate, sprintf("no event in %s: below %s per second", format_time(rows$watched_s), format_effect(rows$ci_high, FALSE)),
                ifelse(burst, sprintf("bursts of %s: %s in %s of CPU time, so that they may take up to %s %%", format_time(burst_ns / 1e9),
                                      ifelse(rows$bursts > 0, format_count_each(rows$bursts), "none was seen"),
                                      format_time(rows$bursts_s), format_effect(most_in_bursts(rows$bursts, rows$bursts_s, 0.005), FALSE)), "")))
}

# What a node's noise would cost where many such nodes wait for each other: a verdict where nothing else judges the noise.

# noiselab's own question: a program that synchronises so many nodes so often. How much it may cost is the margin of kind `scale`.
scale_asked <- list(nodes = 1000, every_s = 1e-3)

at_scale_words <- function() sprintf("%s such nodes that synchronise every %s", format_count(scale_asked$nodes), format_time(scale_asked$every_s))

# A row per node: slowdown in percent (Inf: bursts leave no time to work; `ci_high` NA: open), `longer`: how many times as long decides (NA: it is
# decided, Inf: no time does). The scans with all CPUs busy see all that interrupts a node for a few seconds, the records other tasks all the time:
# it has to pass both, and fails by one.
noise_at_scale <- function(acceptance, scans, margin, alpha) {
  bind_rows(lapply(acceptance$hosts, function(host) {
    mine <- scans[scans$host == host, ]
    noises <- list(scans = if (NROW(mine) > 0) noise_or_all(noise_of_scans(mine)),
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

noise_or_all <- function(noise) tryCatch(noise, nl_error = function(e) list(rate_hz = NA_real_))

record_noise <- function(others) {
  others <- Filter(function(o) o$source != "proc" && o$is_whole, others)
  lengths <- bind_rows(lapply(others, `[[`, "lengths"))
  if (NROW(lengths) == 0) return(NULL)
  watched_s <- sum(vapply(others, `[[`, 0, "span_s"))
  begun <- unlist(lapply(others, `[[`, "begun"))
  noise_or_all(node_noise("Other tasks", rep(lengths$seconds, lengths$n), rate_hz = sum(lengths$n) / watched_s, watched_s = watched_s,
                          dispersion = if (length(begun) > 1 && mean(begun) > 0) stats::var(begun) / mean(begun) else 1))
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
                ci_high = scale$ci_high, n = 1, n_launches = 1)
  rows$name <- figure_name(rows)
  bind_rows(list(figures, rows))
}

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

# Periods of the detours of each CPU: the strongest of its scans. `p`: of the spectrum's family of lines, times the number of scans.
detour_periods <- function(acceptance, scans, alpha) {
  known <- which(vapply(scans$detours, NROW, 0L) >= least_distances & !scans$host %in% acceptance$left_out)
  found <- bind_rows(lapply(known, function(i) {
    s <- scans[i, ]
    period <- spectral_period(cbind(s$detours[[1]], half = 1), data.frame(start = 0, wall = s$wall_ns), alpha)
    data.frame(launch = names(acceptance$paths)[s$launch], host = s$host, variant = s$variant, cpu = s$cpu, period_s = period$period, se_s = period$se,
               p = period$fap)
  }))
  if (nrow(found) == 0) return(NULL)
  found$p <- pmin(1, found$p * nrow(found))
  found <- found[!is.na(found$p) & found$p <= alpha, ]
  found <- found[order(found$p), ]
  found[!duplicated(found[c("launch", "host", "variant", "cpu")]), ]
}

# Who else had a node's CPUs while it was measured: what noiselab-record saw during the launches (`others` of launch.json).

# What is named beside the shares: tasks that take a CPU for longer than any tick, as often as to matter.
named_task <- list(percent = 1, burst_s = 1e-4, duty = 0.5)

# The tasks of a node over all its launches, the busiest first: `percent` of its CPUs, `percent_of_cpu` of one.
node_takers <- function(others) {
  tasks <- bind_rows(lapply(others, `[[`, "tasks"))
  if (NROW(tasks) == 0) return(NULL)
  span_s <- sum(vapply(others, `[[`, 0, "span_s"))
  cpus <- max(vapply(others, `[[`, 0, "n_cpus"))
  busiest <- tasks[order(-tasks$busy_s), ]
  first <- busiest[!duplicated(busiest$task), ]
  busy <- rowsum(busiest$busy_s, busiest$task)[first$task, 1]
  first$percent_of_cpu <- 100 * busy / span_s
  first$percent <- first$percent_of_cpu / cpus
  first$longest_s <- vapply(first$task, function(t) max(busiest$longest_s[busiest$task == t]), 0)
  first$per_s <- vapply(first$task, function(t) sum(busiest$bursts[busiest$task == t]), 0) / span_s
  # who is on a CPU without a pause has no period
  first$period_s[!(first$burst_s < named_task$duty * first$period_s) %in% TRUE] <- NA
  first[order(-first$percent), ]
}

is_named_task <- function(takers) {
  (takers$percent_of_cpu >= named_task$percent & takers$burst_s >= named_task$burst_s) %in% TRUE
}

# The node that lost most and who took it, the tasks that come in bursts, and how far the others are from it; empty where no launch tells.
noise_lines <- function(acceptance, figures) {
  rows <- figures[figures$check == "others" & figures$metric == "taken", ]
  if (nrow(rows) == 0) return(scan_line(acceptance, figures))
  rows <- rows[order(-rows$value), ]
  worst <- rows[1, ]
  mine <- Filter(function(o) o$host == worst$entity, known_others(acceptance$others))
  takers <- node_takers(mine)
  longest_s <- suppressWarnings(max(unlist(lapply(mine, function(o) o$lengths$seconds))))
  by_account <- any(vapply(mine, `[[`, "", "source") == "proc")
  most <- utils::head(takers[takers$percent >= 0.005, ], 3)
  c(paste0(
    sprintf("node %s lost %s%s of its CPUs to others", worst$entity, format_figure(worst$value, "percent"), interval_text(worst)),
    if (is.finite(longest_s)) paste0(", longest ", format_time(longest_s)),
    if (NROW(most) > 0) paste0("; most to ", join_words(sprintf("%s (%s)", most$task, format_figure(most$percent, "percent")))),
    if (by_account) paste0("; by the tasks' accounts in /proc only, which know no bursts and nothing of tasks that ended (root, CAP_PERFMON or ",
                           "perf_event_paranoid <= 0 would tell)"),
    if (nrow(rows) > 1) sprintf("; the other %s at most %s", if (nrow(rows) == 2) "node" else sprintf("%d nodes", nrow(rows) - 1),
                                format_figure(rows$value[2], "percent")), "."
  ), taker_lines(worst$entity, takers))
}

interval_text <- function(row) {
  if (is.na(row$ci_low) || is.na(row$ci_high)) return("")
  sprintf(" (%s to %s)", format_effect(max(0, row$ci_low), FALSE), format_effect(row$ci_high, FALSE))
}

taker_lines <- function(host, takers) {
  t <- utils::head(takers[is_named_task(takers), ], 3)
  if (NROW(t) == 0) return(NULL)
  each <- sprintf("%s takes CPU %s for %s %s (%s of a CPU)", t$task, t$cpus, format_time(t$burst_s),
                  ifelse(is.na(t$period_s), sprintf("at a time, %s per second without a period", format_effect(t$per_s, FALSE)),
                         paste("every", format_time(t$period_s))), format_figure(t$percent_of_cpu, "percent"))
  paste0("On ", host, ", ", paste(each, collapse = "; "), ".")
}

# Where nobody recorded who ran the scans tell how much was lost.
scan_line <- function(acceptance, figures) {
  rows <- figures[figures$check == "detour" & figures$metric == "lost" & figures$variant == "alone", ]
  if (length(acceptance$others) == 0 || nrow(rows) == 0) return(NULL)
  worst <- rows[which.max(rows$value), ]
  why <- stats::na.omit(vapply(acceptance$others, `[[`, "", "reason"))
  sprintf("node %s lost %s%s of its CPUs in detours; who took it was not recorded (%s).", worst$entity, format_figure(worst$value, "percent"),
          interval_text(worst), if (length(why) > 0) why[1] else "no time passed")
}
