# The intervals in which an agent took the ranks' CPUs: how long, how often, and with which period.

most_slices_of_bursts <- 2^17

# Per launch and node the bursts of `bursts.HOST.trace` in the halves with the agent, those that follow each
# other closely as one activity, and their period: by the distances of activities where half of them are
# within a tenth of the median, else by the spectrum of the time taken, at a tenth of alpha
# (docs/methods.md, Real agents). `per_period_us`: time on the CPU in each; `fap` of the strongest period.
agent_bursts <- function(campaign, alpha = 0.01) {
  files <- campaign$bursts
  parts <- lapply(seq_len(NROW(files)), function(i) node_bursts(files[i, ], campaign, alpha))
  parts <- Filter(Negate(is.null), parts)
  structure(bind_rows(lapply(parts, `[[`, "row")), activities = bind_rows(lapply(parts, `[[`, "activities")))
}

node_bursts <- function(file, campaign, alpha) {
  if (!knows_agents_tasks(campaign, as.character(file$launch), as.character(file$host))) return(NULL)
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
  row <- list(launch = file$launch, host = file$host,
              source = keys$source %||% (tasks$source[1] %||% NA_character_),
              kind = as.character(account[["kind"]][on[1]]), n_bursts = nrow(bursts))
  if (nrow(bursts) == 0) {
    return(list(
      row = c(
        row,
        list(n_activities = 0, seconds = seconds, activities_per_s = 0, duty_percent = 0,
             reason = "no burst lies in a half with the agent")
      )
    ))
  }
  gap <- activity_gap(bursts)
  activities <- merge_activities(bursts, gap)
  on_cpu <- sort(tapply(bursts$duration_ns, ifelse(is.na(bursts$cpu), "-", bursts$cpu), sum),
                 decreasing = TRUE)
  at <- function(x, p) unname(stats::quantile(x, p, type = 1)) / 1000
  given_s <- given_period_s(campaign$launches[[as.character(file$launch)]])
  period <- if (!is.na(given_s) && named) {
    given_period(given_s, activities, bursts, seconds)
  } else {
    activity_period(activities, bursts, halves, alpha, named)
  }
  row <- c(
    row,
    list(n_activities = nrow(activities), seconds = seconds, activities_per_s = nrow(activities) / seconds,
         gap_us = gap / 1000, cpus = paste(names(on_cpu), collapse = ","),
         cpu_share = unname(on_cpu[1] / sum(on_cpu)), p50_us = at(activities$took, 0.5),
         p90_us = at(activities$took, 0.9), p99_us = at(activities$took, 0.99),
         max_us = max(activities$took) / 1000, duty_percent = sum(bursts$duration_ns) / seconds / 1e7),
    period
  )
  list(
    row = row,
    activities = data.frame(launch = file$launch, host = file$host, half = activities$half,
                            start_s = activities$start / 1e9,
                            in_half_s = (activities$start - account[["start_ns"]][activities$half]) / 1e9,
                            length_us = activities$took / 1000, bursts = activities$n, cpu = activities$cpu)
  )
}

# An agent that two commands switch, or that is only scraped, is not known by its tasks: what runs for the
# companion is the commands, not the agent.
knows_agents_tasks <- function(campaign, id, host = NULL) {
  agents <- campaign$launches[[id]]$agents
  if (!is.null(host)) agents <- Filter(function(a) identical(as.character(a$host), host), agents)
  !any(vapply(agents, function(a) a$way %||% "", "") %in% c("switch", "scrape"))
}

# The period that was given, or measured before the launch (of a sweep: the interval), s; NA: none.
given_period_s <- function(info) {
  ns <- info$options$agent_interval_ns %||% info$options$agent_period_ns
  if (is_number(ns, 0)) ns / 1e9 else NA_real_
}

# It is the one that counts, whatever beats within it.
given_period <- function(period_s, activities, bursts, seconds) {
  list(period_s = period_s, period_low = period_s, period_high = period_s, period_by = "given",
       per_period_us = 1e6 * period_s * sum(bursts$duration_ns) / 1e9 / seconds,
       n_distances = sum(diff(activities$half) == 0), fap = NA_real_,
       phase = circular_phase(activities$start / 1e9, period_s), reason = NA_character_)
}

# The bursts that begin in one of the halves, with its row as `half`. The companion that records them and
# the rank that times the half are two processes: a burst may lie a little before its half.
in_halves <- function(bursts, halves, slack_ns = 1e6) {
  at <- findInterval(bursts$start_ns + slack_ns, halves$start)
  inside <- at > 0 & bursts$start_ns < halves$start[pmax(1, at)] + halves$wall[pmax(1, at)]
  bursts <- bursts[inside, ]
  bursts$half <- halves$row[at[inside]]
  bursts
}

# Silences between bursts are of two sorts, within an activity and between activities, where an agent has
# several threads: the cut that parts their logarithms best (Otsu), if the two sorts are a factor of ten
# apart, and never above 20 ms.
activity_gap <- function(bursts, most_ns = 2e7) {
  gaps <- silences(bursts)[diff(bursts$half) == 0]
  gaps <- sort(log10(pmax(1000, gaps)))
  n <- length(gaps)
  if (n < 20) return(0)
  k <- seq_len(n - 1)
  total <- cumsum(gaps)
  low <- total[k] / k
  high <- (total[n] - total[k]) / (n - k)
  between <- as.numeric(k) * (n - k) * (high - low)^2 # beyond 2^31 for many bursts
  cut <- which.max(between)
  if (high[cut] - low[cut] < 1 || 10^gaps[cut] > most_ns) return(0)
  10^((gaps[cut] + gaps[cut + 1]) / 2)
}

# From the end of all of the half that came before to the next start, ns.
silences <- function(bursts) {
  ends <- stats::ave(bursts$start_ns + bursts$duration_ns, bursts$half, FUN = cummax)
  bursts$start_ns[-1] - ends[-nrow(bursts)]
}

# Consecutive bursts of a half with less than `gap` between them.
merge_activities <- function(bursts, gap) {
  new <- c(TRUE, diff(bursts$half) != 0 | silences(bursts) > gap)
  group <- cumsum(new)
  longest <- order(group, -bursts$duration_ns)
  longest <- longest[!duplicated(group[longest])]
  data.frame(half = bursts$half[new], start = bursts$start_ns[new],
             took = as.numeric(rowsum(bursts$duration_ns, group)), n = tabulate(group),
             cpu = bursts$cpu[longest])
}

least_distances <- 8
least_period_bursts <- 10 # lengths of a burst

# `named`: all bursts are the agent's.
activity_period <- function(activities, bursts, halves, alpha, named = TRUE) {
  distances <- diff(activities$start)[diff(activities$half) == 0] / 1e9
  n <- length(distances)
  # Threads that wake up after one another are one burst in parts, and their distance is no period.
  least_s <- least_period_bursts * stats::median(bursts$duration_ns) / 1e9
  answer <- function(period, low, high, by, per_period_us = NA_real_, phase = NA_real_, fap = NA_real_,
                     reason = NA_character_) {
    if (isTRUE(period < least_s)) {
      reason <- sprintf(
        "they come %s apart, below %d times their length: the distance of bursts within a train, no period",
        format_time(signif(period, 3)), least_period_bursts
      )
      period <- low <- high <- per_period_us <- phase <- NA_real_
      by <- ""
    }
    list(period_s = period, period_low = low, period_high = high, period_by = by,
         per_period_us = per_period_us, n_distances = n, fap = fap, phase = phase, reason = reason)
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
  if (!is.null(by_distances) && !isTRUE(found$fap <= alpha / 10 && abs(found$period / centre - 1) < 0.05)) {
    return(by_distances)
  }
  # A half without a whole period says nothing about it: switching shifts the agent's phase.
  fits <- isTRUE(found$period <= max(halves$wall) / 1e9)
  if (isTRUE(found$fap <= alpha / 10) && fits) {
    reach <- stats::qnorm(1 - alpha / 2) * found$se
    fold <- epoch_fold(found$series$x, found$series$t_s, found$period, width_s = found$series$width_s,
                       alpha = alpha)
    each <- if (!is.null(by_distances)) by_distances$per_period_us else if (named) {
      1e6 * found$period * sum(bursts$duration_ns) / sum(halves$wall)
    } else 1e4 * found$period * sum(fold$profile) / fold$bins
    # (All that is above the part that is not raised: the box would miss the tails of bursts of uneven
    # length.)
    return(answer(found$period, found$period - reach, found$period + reach, "spectrum", each, fold$phase,
                  found$fap))
  }
  few <- if (n < least_distances) {
    sprintf("only %d distances within halves, and the spectrum shows no period", n)
  }
  answer(NA_real_, NA_real_, NA_real_, "", fap = found$fap,
         reason = few %||% "the activities do not keep to a period")
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
  list(series = series, period = 1 / fine$frequency_hz, se = fine$se_hz / fine$frequency_hz^2,
       fap = family$fap)
}

# Slices that lie wholly in a half: `t_s` (middle), `x` (percent of the slice that was taken), `width_s`.
taken_series <- function(bursts, halves) {
  first <- halves$start[1]
  span <- halves$start[nrow(halves)] + halves$wall[nrow(halves)] - first
  slice <- max(span / most_slices_of_bursts, 1e5)
  from <- ceiling((halves$start - first) / slice)
  count <- pmax(0, floor((halves$start + halves$wall - first) / slice) - from)
  keep <- rep(from, count) + sequence(count)
  taken <- into_slices((bursts$start_ns - first) / slice, pmax(1e-9, bursts$duration_ns / slice),
                       bursts$duration_ns / slice, ceiling(span / slice) + 1)
  list(t_s = (first + (keep - 0.5) * slice) / 1e9, x = 100 * pmin(1, taken[keep]), width_s = slice / 1e9)
}

# Mean direction of the starts on the circle of the period, as a share of it.
circular_phase <- function(start_s, period_s) {
  angle <- 2 * pi * (start_s / period_s)
  (atan2(mean(sin(angle)), mean(cos(angle))) / (2 * pi)) %% 1
}

task_sources <- c(
  cpu = "by context-switch records of the CPUs: which task ran, from when to when",
  thread = paste0("by records of the ranks' own threads: when a rank was off its CPU is exact, which task ",
                  "ran instead is not known"),
  schedstat = paste0("by /proc/PID/task/*/schedstat sampled from another CPU: CPU time and groups are ",
                     "right, single bursts are not")
)

treated_groups <- c("agent", "scraper", "generator")

own_groups <- c("rank", "idle")

# The tasks that ran on the ranks' CPUs in the measured halves of an arm, beside the off halves
# (`tasks.HOST.csv`): what is switched on purpose first, then by shift of CPU time (us per second). `share`:
# of the shift of the ranks' preempted time, with the interval of that shift where it is above 0. Lengths of
# several CPUs are means of quantiles, by bursts.
agent_tasks <- function(campaign, alpha = 0.01) {
  rows <- as.data.frame(campaign$tasks)
  rows$kind <- as.character(rows$kind)
  rows <- rows[!rows$group %in% own_groups, ]
  if (nrow(rows) == 0) return(data.frame())
  rows[rows$arm == "off", c("kind", "level_requested_percent")] <- list("off", 0)
  rows$time_ns <- ifelse(is.na(rows$cpu_ns), rows$wall_ns, rows$cpu_ns)
  seconds <- arm_seconds(campaign)
  of_arm <- c("launch", "host", "kind", "level_requested_percent")
  of_node <- c("launch", "host", "task", "group")
  sums <- bind_rows(lapply(unname(split(rows, in_order(row_key(rows, c(of_arm, "task", "group"))))),
                           task_sums, seconds = seconds))
  on <- sums[sums$kind != "off", ]
  off <- sums[sums$kind == "off", ]
  # What ran in off halves only is a row, too: it did not run with the agent.
  gone <- merge(unique(on[of_arm]), off[setdiff(names(off), of_arm[3:4])], sort = FALSE)
  gone <- gone[!row_key(gone, c(of_arm, "task", "group")) %in% row_key(on, c(of_arm, "task", "group")), ]
  gone[c("bursts_per_s", "us_per_s")] <- 0 * gone[c("bursts_per_s", "us_per_s")]
  gone[c("p50_us", "p90_us", "p99_us", "max_us")] <- NA_real_ *
    gone[c("p50_us", "p90_us", "p99_us", "max_us")]
  on <- rbind(on, gone[names(on)])
  beside <- match(row_key(on, of_node), row_key(off, of_node))
  known_zero <- function(x) {
    ifelse(is.na(beside), ifelse(arm_key(on$launch, on$host, "off", 0) %in% names(seconds), 0, NA_real_),
           x[beside])
  }
  on$off_bursts_per_s <- known_zero(off$bursts_per_s)
  on$off_us_per_s <- known_zero(off$us_per_s)
  on$shift_us_per_s <- on$us_per_s - on$off_us_per_s
  place <- function(columns) match(row_key(on, columns), row_key(on, columns))
  on <- on[
    order(place(of_arm[1:2]), has_level(on$level_requested_percent), place(of_arm),
          !on$group %in% treated_groups, -on$shift_us_per_s, -on$us_per_s),
  ]
  shared_shift(on, campaign, alpha)
}

arm_key <- function(launch, host, kind, level) {
  paste(launch, host, kind, ifelse(kind == "off", 0, level), sep = "\r")
}

arm_seconds <- function(campaign) {
  account <- campaign$agents
  kind <- ifelse(account[["arm"]] == "off", "off", as.character(account[["kind"]]))
  sums <- rowsum(account[["wall_ns"]],
                 arm_key(account[["launch"]], account[["host"]], kind, account[["level_requested_percent"]]))
  stats::setNames(sums[, 1] / 1e9, rownames(sums))
}

task_sums <- function(part, seconds) {
  first <- part[1, ]
  span <- unname(seconds[arm_key(first$launch, first$host, first$kind, first$level_requested_percent)])
  weight <- ifelse(is.na(part$bursts), 0, part$bursts)
  quantile <- function(x) {
    known <- !is.na(x) & weight > 0
    if (any(known)) sum(x[known] * weight[known]) / sum(weight[known]) / 1000 else NA_real_
  }
  busiest <- unique(part$cpu[order(-part$time_ns)])
  list(launch = first$launch, host = first$host, source = first$source, kind = first$kind,
       level_requested_percent = first$level_requested_percent,
       task = if (first$task == "?") first$group else printable(first$task), group = first$group,
       cpus = paste(busiest[!is.na(busiest) & busiest >= 0], collapse = ","),
       bursts_per_s = sum_or_na(part$bursts) / span, us_per_s = sum_or_na(part$time_ns) / span / 1000,
       p50_us = quantile(part$p50_ns), p90_us = quantile(part$p90_ns), p99_us = quantile(part$p99_ns),
       max_us = max_or_na(part$max_ns) / 1000)
}

shared_shift <- function(table, campaign, alpha) {
  shifts <- agent_shifts(campaign, agents_only = FALSE)
  lost <- lapply(shifts, function(s) batch_mean_ci(s$preempted[is.finite(s$preempted)], 1 - 2 * alpha))
  at <- match(arm_key(table$launch, table$host, table$kind, table$level_requested_percent),
              vapply(shifts, function(s) arm_key(s$launch, s$host, s$kind, s$level), ""))
  of <- function(key) vapply(lost, function(x) as.numeric(x[[key]]), 0)[at]
  clear <- !is.na(of("low")) & of("low") > 0
  share <- function(key) ifelse(clear, table$shift_us_per_s / of(key), NA_real_)
  table$share <- share("estimate")
  ends <- cbind(share("low"), share("high"))
  table$share_low <- pmin(ends[, 1], ends[, 2])
  table$share_high <- pmax(ends[, 1], ends[, 2])
  table
}

task_evidence <- function(campaign) {
  if (NROW(campaign$tasks) == 0) return(character())
  nodes <- unique(as.data.frame(campaign$tasks)[c("launch", "host", "source")])
  vapply(seq_len(nrow(nodes)), function(i) {
    node <- nodes[i, ]
    agent <- Filter(function(a) identical(a$host, node$host), campaign$launches[[node$launch]]$agents)
    agent <- if (length(agent) > 0) agent[[1]]
    rows <- campaign$agents[
      campaign$agents[["launch"]] == node$launch & campaign$agents[["host"]] == node$host,
    ]
    lost <- agent$lost_switches %||% sum_or_na(rows[["lost_switches"]])
    ins <- agent$ins %||% sum_or_na(rows[["switch_ins"]])
    outs <- agent$outs %||% sum_or_na(rows[["switch_outs"]])
    why <- if (is_text(agent$source_reason)) {
      sprintf(" (no better source: %s)", printable(agent$source_reason))
    } else {
      ""
    }
    known <- unname(task_sources[node$source])
    balance <- if (isTRUE(ins == outs)) {
      sprintf("%s switches in and out", format_count(ins))
    } else if (!anyNA(c(ins, outs))) {
      sprintf("%s switches in and %s out", format_count(ins), format_count(outs))
    }
    losses <- if (isTRUE(lost > 0)) {
      sprintf("%s RECORDS WERE LOST: times are too small", format_count(lost))
    } else if (!is.na(lost)) {
      "none lost"
    }
    paste0(node$launch, ", ", node$host, ": ",
           if (is.na(known)) paste("source", printable(node$source)) else known, why,
           if (length(c(balance, losses)) > 0) paste0("; ", paste(c(balance, losses), collapse = ", ")))
  }, "")
}

# What an agent costs beyond its bursts, from quick halves between which it is frozen: bursts are masked in
# both halves of a pair.

# Rows of a design with quick halves: which are stretches that nothing disturbs, and how long the halves
# were planned; NA: another design.
planned_parts <- function(campaign, id) {
  options <- campaign$launches[[id]]$options
  if (!identical(options$design, "quick")) return(NULL)
  list(quick = c(options$half_period_ns, options$long_half_ns), undisturbed = options$block_ns)
}

undisturbed_rows <- function(campaign, at) {
  ids <- as.character(campaign$rows[["launch"]][at])
  planned <- campaign$rows[["planned_ns"]][at]
  keep <- rep(TRUE, length(at))
  for (id in unique(ids)) {
    parts <- planned_parts(campaign, id)
    if (!is.null(parts)) keep[ids == id] <- planned[ids == id] %in% parts$undisturbed
  }
  at[keep]
}

# Log ratios of quick halves without what bursts cost. `blocks`: a row per half; `ns`: lengths of all
# slices; `tail_ns`: how long a burst's window goes on after its end; `others`: bursts of other tasks in
# both arms: what they touch in one half of a pair is left out of both, where they come no more often with
# it (else they may be its doing). Per pair in the order of time `raw` (log of mean slice, on over off), `d`
# (no slice counts for more than `most_medians` medians of its half), `kept` (share of the slices).
masked_pairs <- function(blocks, ns, bursts, tail_ns, others = NULL) {
  blocks <- blocks[blocks$n > 0, ]
  on <- blocks[blocks$arm == "on", ]
  off <- blocks[blocks$arm == "off", ]
  on <- on[on$pair %in% off$pair, ]
  on <- on[order(on$start_ns), ]
  off <- off[match(on$pair, off$pair), ]
  if (nrow(on) == 0) return(NULL)
  sums <- c(0, cumsum(ns))
  length_of <- function(half) sums[half$first + half$n] - sums[half$first]
  # Bursts that reach into a half, also those that begin before it: the pair, and where in the half.
  reaching <- function(bursts, half) {
    order <- order(half$start_ns)
    ends <- bursts$start_ns + bursts$duration_ns + tail_ns
    at <- findInterval(ends, half$start_ns[order])
    reach <- at > 0 & bursts$start_ns < (half$start_ns + length_of(half))[order][pmax(1, at)]
    pair <- order[at[reach]]
    data.frame(pair = pair, begin = bursts$start_ns[reach] - half$start_ns[pair],
               end = ends[reach] - half$start_ns[pair])
  }
  hits <- reaching(bursts, on)
  if (NROW(others) > 0) {
    with <- reaching(others, on)
    without <- reaching(others, off)
    n <- nrow(with) + nrow(without)
    more <- n > 0 && stats::pbinom(nrow(with) - 1, n, 0.5, lower.tail = FALSE) <= locked_design$mask_alpha
    if (!more) hits <- rbind(hits, with, without)
  }
  hit <- split(seq_len(nrow(hits)), hits$pair)
  # Sum of the slices that are left, the same with long ones cut, and their number.
  total <- function(half, i) {
    slices <- half$first[i] - 1 + seq_len(half$n[i])
    own <- ns[slices]
    masked <- rep(FALSE, length(slices))
    for (k in hit[[as.character(i)]]) {
      begin <- sums[slices] - sums[half$first[i]]
      masked <- masked | begin + own > hits$begin[k] & begin < hits$end[k]
    }
    left <- own[!masked]
    c(sum(left), sum(pmin(left, most_medians * stats::median(own))), length(left))
  }
  each <- function(half) vapply(seq_len(nrow(half)), function(i) total(half, i), numeric(3))
  with <- each(on)
  without <- each(off)
  ratio <- function(k) log(with[k, ] / with[3, ]) - log(without[k, ] / without[3, ])
  data.frame(pair = on$pair, planned_ns = on$planned_ns, raw = ratio(1), d = ratio(2),
             kept = pmin(with[3, ] / on$n, without[3, ] / off$n))
}

# An interruption counts for as much as its slice would have lasted once more; a pair for so many robust
# standard deviations from the centre.
most_medians <- 2
most_deviations <- 3

most_reach <- function(d) if (stats::mad(d) > 0) most_deviations * stats::mad(d) else Inf

least_kept <- 0.25

# Neighbouring pairs hang together for less than a part of so many.
beyond_groups <- 64

# Huber's estimate with the median absolute deviation for scale, by its influence function over all values
# or groups of neighbours, whichever is wider. Huber, P. J. (1981) Robust Statistics, chapters 3 and 6.
robust_figure <- function(d) {
  reach <- most_reach(d)
  centre <- stats::median(d)
  for (i in 1:100) {
    w <- clamp(d - centre, c(-reach, reach))
    centre <- centre + mean(w)
    if (abs(mean(w)) < 1e-12) break
  }
  each <- batch_mean_ci(w, 0.98, Inf)
  groups <- batch_mean_ci(w, 0.98, beyond_groups)
  figure_of_t(centre, c(each$se, groups$se) / mean(abs(d - centre) <= reach), c(each$df, groups$df))
}

# Slowdown beyond the bursts, percent, of `masked_pairs()`; NULL with fewer than seven pairs. The centre is
# Huber's; what its bounds cut is rare and long, and the mean effect holds it: it is bounded by itself and
# added (`cut_figure()`). Where long halves show another effect than short ones, what the agent leaves
# behind lasts longer than those: the long ones alone.
quick_figure <- function(pairs, alpha = 0.01) {
  pairs <- pairs[is.finite(pairs$d) & is.finite(pairs$raw) & pairs$kept >= least_kept, ]
  if (NROW(pairs) < 7) return(NULL)
  note <- NULL
  long <- pairs$planned_ns > min(pairs$planned_ns)
  if (sum(long) >= 3 && sum(!long) >= 3) {
    p <- p_of_t(pairs$d[long], pairs$d[!long])
    if (isTRUE(p <= alpha) && sum(long) >= 7) {
      note <- sprintf(
        paste0("short and long halves differ (p = %s): what it leaves behind lasts longer than a short ",
               "half, so the long ones count alone"),
        format_p(p)
      )
      pairs <- pairs[long, ]
    }
  }
  centre <- figure_as(robust_figure(pairs$d), expm1)
  cut <- cut_figure(
    pairs$raw, log1p(centre$value) + clamp(pairs$d - log1p(centre$value), c(-1, 1) * most_reach(pairs$d))
  )
  p <- figure_p(cut, 0)
  if (isTRUE(p <= alpha)) {
    note <- c(
      note,
      sprintf(
        "long interruptions that its bursts do not hold come more often with it (p = %s): they count in full",
        format_p(p)
      )
    )
  }
  structure(figure_as(with_cut(centre, cut, alpha), function(x) 100 * x), n = nrow(pairs),
            note = if (length(note) > 0) paste(note, collapse = "; "))
}

# Mean of what was cut from a pair, with the agent less without, as a share of an undisturbed half. `raw`,
# `left`: log ratios before and after. Each arm's is a sum of events that come at random: bounds of a
# compound Poisson process, those of the two arms joined in squares.
cut_figure <- function(raw, left) {
  with <- ifelse(raw > left, exp(raw) - exp(left), 0)
  without <- ifelse(raw < left, exp(-raw) - exp(-left), 0)
  n <- length(raw)
  most <- max(with, without)
  arm <- function(sizes) {
    figure_of(sum(sizes) / n, function(a) {
      if (most == 0) c(0, 0) else compound_poisson_ends(sizes, a, most) / n
    })
  }
  figures_together(list(arm(with), arm(without)), `-`, c(1, -1))
}

# An agent makes no interruption rarer: what was cut is never taken off, and raises the lower end only where
# it is shown to be there (so that end has two ways to miss, and half of the level for each).
with_cut <- function(centre, cut, alpha) {
  both <- figures_together(list(centre, cut), `+`)
  figure_of(if (figure_p(cut, 0) <= alpha) both$value else centre$value, function(a) {
    least <- centre$ends(a / 2)[1]
    c(if (cut$ends(a / 2)[1] > 0) max(least, both$ends(a / 2)[1]) else least,
      max(centre$ends(a)[2], both$ends(a)[2]))
  })
}

p_of_t <- function(...) tryCatch(stats::t.test(...)$p.value, error = function(e) NA_real_)

# Of the rows `at` of a launch; NULL where there is none, or no record of bursts. Without a burst the whole
# lies beyond.
beyond_of_rows <- function(campaign, id, at, reader = read_slices, alpha = 0.01) {
  parts <- planned_parts(campaign, id)
  if (is.null(parts)) return(NULL)
  rows <- campaign$rows
  mine <- which(
    rows[["launch"]] == id & rows[["operation"]] == rows[["operation"]][at[1]] &
      rows[["bytes"]] == rows[["bytes"]][at[1]] & rows[["planned_ns"]] %in% parts$quick
  )
  on <- mine[rows[["arm"]][mine] == "on"]
  got <- if (length(on) > 0) locked_parts(campaign, id, on, reader)
  if (!is.list(got)) return(NULL)
  slices <- reader(got$file, campaign$launches[[id]])
  key <- function(x) paste(x[["operation"]], x[["bytes"]], x[["pair"]], x[["order"]], x[["arm"]], sep = "\r")
  blocks <- slices$blocks
  blocks$planned_ns <- rows[["planned_ns"]][mine][match(key(blocks), key(rows[mine, ]))]
  blocks <- blocks[!is.na(blocks$planned_ns), ]
  quick_figure(masked_pairs(blocks, slices$ns, got$bursts, tail_of(got$timeline), got$others), alpha)
}

# One entry per launch x host x treatment (agents and generators): `rows` of agent.HOST.csv, numbers of its
# `on` halves, and per pair, in us per second, `preempted` and `agent` (on minus off), in run order.
agent_shifts <- function(campaign, agents_only = TRUE) {
  all <- campaign$agents
  if (NROW(all) == 0) return(list())
  parts <- split(seq_len(nrow(all)), in_order(paste(all[["launch"]], all[["host"]], sep = "\r")))
  unlist(lapply(unname(parts), function(at) {
    rows <- all[at, ]
    pairs <- pair_rows(rows)
    rate <- function(column, at) {
      1e6 * (rows[[column]] %||% rep(NA_real_, nrow(rows)))[at] / rows[["wall_ns"]][at]
    }
    on <- which(rows[["arm"]] == "on" & (!agents_only | is_agent_row(rows)))
    # Between quick halves the agent is frozen: what it does by itself the stretches show that nothing
    # disturbs, and frozen it has nothing.
    parts <- planned_parts(campaign, as.character(rows[["launch"]][1]))
    if (!is.null(parts)) on <- on[rows[["planned_ns"]][on] %in% parts$undisturbed | !is_agent_row(rows[on, ])]
    lapply(
      unname(split(on, in_order(paste(rows[["kind"]][on], rows[["level_requested_percent"]][on])))),
      function(on) {
        mine <- which(pairs$on %in% on)
        alone <- !is.null(parts) && is_agent_row(rows[on[1], ])
        shift <- function(column) {
          rate(column, pairs$on[mine]) - rate(column, pairs$off[mine])
        }
        list(
          launch = rows[["launch"]][1],
          host = rows[["host"]][1],
          kind = as.character(rows[["kind"]][on[1]]),
          level = rows[["level_requested_percent"]][on[1]],
          is_quick = alone,
          rows = rows,
          on = on,
          off = which(rows[["arm"]] == "off"),
          preempted = shift("preempted_ns"),
          agent = shift("agent_on_ranks_ns"),
          others = shift("others_on_ranks_ns"),
          waited = lapply(taken_parts, function(column) {
            if (alone) {
              ratio_shift(rows, on, NULL, column)
            } else {
              ratio_shift(rows, pairs$on[mine], pairs$off[mine], column)
            }
          })
        )
      }
    )
  }), recursive = FALSE)
}

# On less off (NULL: the halves have no partners), us per second, each a ratio of sums, so that long halves
# count by their length: a value per pair, whose mean is the difference and whose standard error that of its
# linearisation.
ratio_shift <- function(rows, on, off, column) {
  values <- rows[[column]] %||% rep(NA_real_, nrow(rows))
  known <- is.finite(values[on])
  if (!is.null(off)) known <- known & is.finite(values[off])
  arm <- function(at) {
    x <- 1e6 * values[at[known]]
    wall <- rows[["wall_ns"]][at[known]]
    rate <- sum(x) / sum(wall)
    rate + (x - rate * wall) / mean(wall)
  }
  d <- rep(NA_real_, length(on))
  if (any(known)) d[known] <- arm(on) - if (is.null(off)) 0 else arm(off)
  d
}

taken_parts <- c(agent = "preempted_by_agent_ns", others = "preempted_by_others_ns",
                 kernel = "preempted_by_kernel_ns", noiselab = "preempted_by_noiselab_ns",
                 unknown = "preempted_unknown_ns")
