# What a node's noise would cost where many such nodes wait for each other. It is always printed; it is
# judged only where somebody gave a margin.

# How many nodes, and how much time between two synchronisations, the cost is printed for where nobody asked
# about others.
scale_stated <- list(nodes = 1000, every_s = 1e-3, most = 4)

# What was asked: `nodes`, `every_s`, `percent` (how much the noise may cost; NA: nobody gave a margin),
# `unseen_s` (the longest burst that may come and was not seen), `all` (every node is judged by it; else only
# nodes whose noise nothing else judges). `margin`: NULL, a percentage of one node, or a list of `percent`,
# `nodes`, `every_s` and perhaps `unseen_s`, which comes before `own`: the percentage of a line `margin scale`
# of the limits, NULL: there is none.
scale_question <- function(margin = NULL, own = NULL) {
  at <- if (is.list(margin)) {
    margin
  } else if (is.null(margin) || !is.null(own)) {
    scale_stated
  } else {
    list(nodes = 1, every_s = scale_stated$every_s)
  }
  list(nodes = at$nodes, every_s = at$every_s, unseen_s = at$unseen_s %||% usual_unseen_s,
       percent = (if (is.list(margin)) margin$percent) %||% own %||% margin %||% NA_real_,
       all = is.list(margin) || !is.null(own))
}

# The percentage of a line `margin scale` among the margins of a file of limits; NULL: there is none.
scale_line_of <- function(margins) {
  if ("scale" %in% margins$kind) utils::tail(margins$percent[margins$kind == "scale"], 1)
}

at_scale_words <- function(asked) {
  if (asked$nodes == 1) return("a program on this node alone")
  sprintf("a program on %s such nodes that synchronise every %s", count_words(asked$nodes),
          format_time(asked$every_s))
}

# A row per node: slowdown in percent (Inf: bursts leave no time to work; `ci_high` NA: open), `longer`: how
# many times as long decides (NA: it is decided, Inf: no time does), `longest_s`: a pass holds if no burst is
# longer. The scans with all CPUs busy see all that interrupts a node for a few seconds, the records other
# tasks all the time: it has to pass both, and fails by one. Without a margin there is no verdict.
noise_at_scale <- function(acceptance, scans, asked, alpha) {
  hosts <- acceptance$hosts
  # where nothing is judged by it, of many nodes those that lost most
  if (is.na(asked$percent) && length(hosts) > scale_stated$most) {
    share <- vapply(known_others(acceptance$others), function(o) o$busy_s / o$span_s / o$n_cpus, 0)
    lost <- tapply(share, factor(vapply(known_others(acceptance$others), `[[`, "", "host"), hosts), mean)
    hosts <- utils::head(hosts[order(-ifelse(is.na(lost), 0, lost))], scale_stated$most)
  }
  bind_rows(lapply(hosts, function(host) {
    noises <- node_noises(acceptance, scans, host)
    if (length(noises) == 0) return(NULL)
    judge_scale(host, noises, asked, alpha / length(noises), blind_at_scale(acceptance, noises, host))
  }))
}

# What a node's cost at scale is computed from: `scans`, `records` and `waits`, of which a run has some.
node_noises <- function(acceptance, scans, host) {
  mine <- scans[scans$host == host, ]
  noises <- list(
    scans = if (NROW(mine) > 0) noise_or_all(noise_of_scans(mine)),
    records = record_noise(Filter(function(o) o$host == host, known_others(acceptance$others)))
  )
  # where switches are not recorded the ranks' own waits bound what scans of seconds do not see
  if (is.null(noises$records)) noises$waits <- wait_noise(acceptance$figures, host)
  Filter(Negate(is.null), noises)
}

# Why this node cannot pass at scale, however long it is watched; NA: it can.
blind_at_scale <- function(acceptance, noises, host) {
  if (is.null(noises$scans)) return("the check 'detour' was not run, and of interrupts nothing is known")
  if (is.null(noises$waits)) blind_words(acceptance$others, host) else NA_character_
}

judge_scale <- function(host, noises, asked, alpha, blind = NA_character_) {
  margin <- asked$percent
  ends <- lapply(noises, scale_cell, asked, alpha)
  # waits are lumped: they say how much it is at most
  of_bursts <- names(ends) != "waits"
  value <- vapply(ends, `[[`, 0, "value")[of_bursts]
  low <- vapply(ends, `[[`, 0, "low")[of_bursts]
  high <- vapply(ends, `[[`, 0, "high")
  if (!any(of_bursts)) return(NULL)
  top <- which.max(value)
  row <- data.frame(host = host, value = value[top], ci_low = max(low),
                    ci_high = if (anyNA(high)) NA_real_ else max(high, value[top]), verdict = NA_character_,
                    reason = NA_character_, longer = NA_real_,
                    longest_s = max(asked$unseen_s, unlist(lapply(noises[of_bursts], `[[`, "costs_s"))))
  if (is.na(margin)) return(row)
  row$verdict <- "inconclusive"
  if (any(low > margin)) {
    row$verdict <- "fail"
  } else if (!is.na(blind)) {
    row$reason <- blind
  } else if (all(!is.na(high) & high < margin)) {
    row$verdict <- "pass"
  } else {
    row$longer <- max(vapply(noises[is.na(high) | high >= margin], longer_scale, 0, asked, alpha))
    row$reason <- paste0(
      if (anyNA(high)) {
        paste0(stats::na.omit(vapply(ends, `[[`, "", "reason"))[1], "; ")
      },
      if (is.finite(row$longer)) {
        sprintf("a run %s times as long would decide", format_effect(row$longer, FALSE))
      } else {
        sprintf("no run up to %d times as long would decide%s", most_longer,
                unseen_hint(noises, asked, alpha))
      }
    )
  }
  row
}

# `high`: with bursts that the record does not exclude; NA where only these may be above the margin.
scale_cell <- function(noise, asked, alpha) {
  if (is.na(noise$rate_hz)) return(list(value = Inf, low = Inf, high = Inf, reason = NA_character_))
  got <- project_cell(noise, asked$nodes, asked$every_s, "independent", alpha, unseen_s = asked$unseen_s,
                      effort = 0.3, recorded = TRUE)
  if (isTRUE(100 * got$recorded < asked$percent) && !isTRUE(100 * got$bound < asked$percent)) {
    got$bound <- NA_real_
    got$reason <- sprintf("at least: rarer bursts of up to %s may cost more", format_time(asked$unseen_s))
  }
  list(value = 100 * got$value, low = 100 * got$low, high = 100 * got$bound, reason = got$reason)
}

# By `unseen=` in the margin a user says how long a burst can be at most: said where that would decide.
unseen_hint <- function(noises, asked, alpha) {
  short <- utils::modifyList(asked, list(unseen_s = 1e-6))
  if (all(vapply(noises, leaves_margin, TRUE, short, alpha, most_longer))) {
    sprintf(", unless no burst can be as long as %s (say so: unseen=TIME in the margin)",
            format_time(asked$unseen_s))
  } else {
    ""
  }
}

most_longer <- 64L

# The same noise watched for longer: the first power of two at which its interval leaves the margin, as it
# does from there on; Inf: none up to `most`.
longer_scale <- function(noise, asked, alpha, most = most_longer) {
  times <- 2^seq_len(log2(most))
  at <- first_that(times, function(times) leaves_margin(noise, asked, alpha, times))
  if (is.na(at)) Inf else times[at]
}

# Does the interval of a record so many times as long leave the margin?
leaves_margin <- function(noise, asked, alpha, times) {
  cell <- scale_cell(watched_longer(noise, times), asked, alpha)
  isTRUE(cell$high < asked$percent) || cell$low > asked$percent
}

noise_or_all <- function(noise) tryCatch(noise, nl_error = function(e) list(rate_hz = NA_real_))

# What the ranks of a node waited for their CPUs in each check and repetition, as one burst of each, the
# longest of its ranks: what that costs is never less than what their bursts cost. NULL: older launches do
# not say.
wait_noise <- function(figures, host) {
  rows <- figures[
    figures$check == "others" & figures$metric == "waited" & figures$host == host & !is.na(figures$value),
  ]
  if (nrow(rows) == 0) return(NULL)
  interval <- in_order(paste(rows$launch, rows$start_ns))
  seconds <- tapply(rows$value / 100 * rows$wall_ns * 1e-9, interval, max)
  watched_s <- sum(tapply(rows$wall_ns * 1e-9, interval, max))
  waits <- as.vector(seconds[seconds > 0])
  if (length(waits) == 0) waits <- 1e-6
  noise_or_all(node_noise("What ranks waited for their CPUs", waits, rate_hz = length(waits) / watched_s,
                          watched_s = watched_s))
}

# How many bursts of a record are laid out; `seed`: where.
record_layout <- list(most_bursts = 1e5, seed = 1)

# What other tasks took of a node, as trains of bursts on its CPUs. A record says how long each CPU was away
# in one piece, and how many such pieces began in each part of the time; of the tasks with most time also
# their periods, and in how many pieces each burst was. So each task that keeps a period is laid out by
# itself, and what is left at random.
record_noise <- function(others) {
  others <- Filter(function(o) o$source != "proc" && o$is_whole && NROW(o$lengths) > 0, others)
  if (length(others) == 0) return(NULL)
  n <- sum(vapply(others, function(o) sum(o$lengths$n), 0))
  # of too many a part of the time
  part <- min(1, record_layout$most_bursts / n)
  bursts <- with_seed(record_layout$seed, bind_rows(lapply(seq_along(others), function(i) {
    cbind(record = i, laid_out(others[[i]], part))
  })))
  watched <- data.frame(node = others[[1]]$host, seconds = part * vapply(others, `[[`, 0, "span_s"))
  noise_or_all(watched_longer(node_train("Other tasks", bursts, watched, cost_words = by_cpu_time), 1 / part))
}

# What one task alone took: a row of `node_takers()`.
task_noise <- function(row) {
  part <- min(1, record_layout$most_bursts / max(1, row$main_pieces))
  row[c("main_bursts", "main_busy_s", "main_pieces", "main_parted_s", "span_s")] <-
    part * row[c("main_bursts", "main_busy_s", "main_pieces", "main_parted_s", "span_s")]
  bursts <- with_seed(record_layout$seed, cbind(record = 1, task_bursts(row, row$span_s, 0)))
  watched <- data.frame(node = 1, seconds = row$span_s)
  watched_longer(node_train(row$task, bursts, watched, cost_words = by_cpu_time), 1 / part)
}

# Bursts of a part of one launch: `start_s`, `stop_s`, `cpu`.
laid_out <- function(o, part) {
  span_s <- part * o$span_s
  lengths <- o$lengths
  sums <- c("main_bursts", "main_busy_s", "main_pieces", "main_parted_s")
  parts <- lapply(seq_len(NROW(o$tasks)), function(i) {
    t <- o$tasks[i, ]
    if (!keeps_period(t$main_bursts / o$span_s, t$period_s, t$main_busy_s / t$main_bursts)) return(NULL)
    lengths <<- without_pieces(lengths, pieces_of(t), t$main_pieces)
    t[sums] <- part * t[sums]
    task_bursts(t, span_s, task_cpu(t, o))
  })
  n <- diff(round(c(0, cumsum(part * lengths$n))))
  bind_rows(c(parts, list(scattered_pieces(rep(lengths$seconds, n), span_s, o$n_cpus, o$begun))))
}

# Pieces on CPUs by chance, in any order: they lie in the time that those before them on their CPU leave, as
# many in each part of the time as `begun` says.
scattered_pieces <- function(length_s, span_s, n_cpus, begun) {
  n <- length(length_s)
  if (!isTRUE(sum(begun) > 0)) begun <- 1
  cpu <- sample.int(n_cpus, n, TRUE) - 1
  at <- (sample.int(length(begun), n, TRUE, begun) - stats::runif(n)) / length(begun)
  order <- order(cpu, at)
  cpu <- cpu[order]
  length_s <- length_s[order]
  before_s <- stats::ave(length_s, cpu, FUN = function(x) cumsum(x) - x)
  lost_s <- stats::ave(length_s, cpu, FUN = sum)
  start_s <- at[order] * pmax(0, span_s - lost_s) + before_s
  data.frame(start_s = start_s, stop_s = start_s + length_s, cpu = cpu)
}

# How long pieces are; older records do not say.
pieces_of <- function(task) {
  pieces_s <- unlist(task$pieces_s)
  if (length(pieces_s) == 0) task$main_busy_s / task$main_bursts else pieces_s
}

# `pieces_s`: means of equal parts of `n` pieces, each of which is among the lengths near to it.
without_pieces <- function(lengths, pieces_s, n) {
  for (piece_s in pieces_s) {
    left <- n / length(pieces_s)
    apart <- abs(log(lengths$seconds / piece_s))
    for (i in order(apart)[seq_len(sum(apart < log(2)))]) {
      taken <- min(left, lengths$n[i])
      lengths$n[i] <- lengths$n[i] - taken
      left <- left - taken
      if (left <= 0) break
    }
  }
  lengths
}

# The CPU on which a task had most of its time, as a number from 0 on; where that is not known, any.
task_cpu <- function(task, o) {
  cpu <- suppressWarnings(as.numeric(sub(",.*", "", task$cpus)))
  if (is.na(cpu)) sample.int(o$n_cpus, 1) - 1 else cpu %% o$n_cpus
}

# The bursts that make up a task's time: with its period, or at any time, each in as many pieces as they had,
# between which others had the CPU.
task_bursts <- function(task, span_s, cpu) {
  n <- max(1, round(task$main_bursts))
  n_pieces <- max(n, round(task$main_pieces))
  of <- rep(seq_len(n), diff(round(seq(0, n_pieces, length.out = n + 1))))
  length_s <- rep_len(pieces_of(task), n_pieces)[sample.int(n_pieces)]
  length_s <- length_s * task$main_busy_s / sum(length_s)
  gap_s <- if (n_pieces > n) task$main_parted_s / (n_pieces - n) else 0
  start_s <- if (is.na(task$period_s)) {
    sort(stats::runif(n, 0, span_s))
  } else {
    (seq_len(n) - 1 + stats::runif(1)) * task$period_s
  }
  begin_s <- stats::ave(length_s + gap_s, of, FUN = function(x) cumsum(x) - x) + start_s[of]
  within <- begin_s < span_s
  data.frame(start_s = begin_s, stop_s = begin_s + length_s, cpu = cpu)[within, ]
}

# The verdicts: of every node where somebody asked about many nodes, of those whose noise nothing else
# judges where the margin is of one node.
scale_judgements <- function(scale, judgements, hosts, asked) {
  if (NROW(scale) == 0 || is.na(asked$percent)) return(NULL)
  rows <- judgements[judges_noise(judgements), ]
  # a limit or a reference on the whole cluster judges all
  judged <- if (asked$all) {
    character()
  } else if (any(rows$kind %in% c("limit", "reference"))) {
    hosts
  } else {
    names(Filter(length, judged_hosts(rows, hosts)))
  }
  scale <- scale[!scale$host %in% judged, ]
  if (nrow(scale) == 0) return(NULL)
  judgement("scale", paste("slowdown of", at_scale_words(asked)), scale$verdict, metric = "slowdown",
            entity = scale$host, value = scale$value, ci_low = scale$ci_low, ci_high = scale$ci_high,
            unit = "percent", limit = sprintf("<= %s %%", format_level(asked$percent)),
            source = "your margin", kind = "scale", reason = scale$reason)
}

scale_figures <- function(scale, figures, asked) {
  if (nrow(figures) > 0) figures$remark <- NA_character_ else figures$remark <- character()
  if (NROW(scale) == 0) return(figures)
  rows <- frame(check = "scale", variant = "", metric = "slowdown", size = NA_real_,
                what = paste("slowdown of", at_scale_words(asked)), worse = "more", of = "node",
                entity = scale$host, unit = "percent", scale = "linear", value = scale$value,
                ci_low = scale$ci_low, ci_high = scale$ci_high, n = 1, n_launches = 1,
                remark = ifelse(is.infinite(scale$value), unbounded_words, NA_character_))
  rows$name <- figure_name(rows)
  bind_rows(list(figures, rows))
}

scale_line <- function(scale, judgements, asked, causes = NULL) {
  if (NROW(scale) == 0) return(NULL)
  worst <- scale[order(match(scale$verdict, c("fail", "inconclusive", "pass")), -scale$value), ][1, ]
  is_judge <- any(judgements$kind == "scale")
  verdict <- c(pass = "below", fail = "above", inconclusive = "not decided against")
  cost <- slower_words(worst$value, max(0, worst$ci_low), worst$ci_high)
  mine <- if (NROW(causes) > 0) {
    causes[causes$host %in% worst$host & is.finite(causes$at_scale_percent), ]
  }
  if (!is.null(mine)) mine <- utils::head(mine[order(-mine$at_scale_percent), ], 3)
  by <- if (NROW(mine) > 0) {
    sprintf(" (%s alone)", join_words(paste(
      cause_words(mine), cause_slowdowns(mine, is.finite(worst$value) && !is.finite(worst$ci_high))
    )))
  }
  sprintf(
    "Projection: with the noise of %s, %s %s%s%s.",
    worst$host,
    at_scale_words(asked),
    cost,
    by %||% "",
    if (is_judge) {
      sprintf(": %s your margin of %s %%%s", verdict[[worst$verdict]], format_level(asked$percent),
              if (worst$verdict == "pass") {
                if_none_longer(worst$longest_s)
              } else if (is.na(worst$reason)) {
                ""
              } else {
                paste0(" (", worst$reason, ")")
              })
    } else {
      ""
    }
  )
}
