# What synchronised starts were like: how well they began, who was late, what the clocks did.

# A campaign without synchronised starts cannot answer.
check_synchronised <- function(campaign) {
  modes <- vapply(campaign$launches, start_mode, "")
  if (all(modes == "loop")) {
    abort_data("no launch in ", paste(campaign$dirs, collapse = " "), " has synchronised starts: run ",
               "noiselab-detect with --starts window or --starts round")
  }
}

# Quality of synchronised starts; all are counted, late ones as well. A row per operation x bytes x ranks x
# start mode x arm x level x treatment, over all launches with them. Overshoot: over starts and ranks;
# global: last end minus scheduled start; `on_time_p99_ns`: without late starts; `spread_ns`: mean of last
# minus first start; `within_percent`, `between_percent`: shares of the variance of arrivals between ranks
# of a node and between nodes.
start_quality <- function(campaign) {
  check_synchronised(campaign)
  rows <- campaign$rows
  at <- which(!is.na(rows[["global_ns"]]))
  mode <- vapply(campaign$launches, start_mode, "")
  cell <- combine_keys(code_of(rows[["operation"]])[at], rows[["bytes"]][at], rows[["ranks"]][at],
                       code_of(mode[rows[["launch"]][at]]), code_of(rows[["arm"]])[at],
                       rows[["level_requested_percent"]][at], treatment_code(rows, at))
  table <- bind_rows(lapply(unname(split(at, in_order(cell))), function(part) {
    first <- part[1]
    of <- unique(rows[["launch"]][part])
    what <- c(lapply(stats::setNames(nm = c("operation", "bytes", "ranks", "arm", "level_requested_percent")),
                     function(n) rows[[n]][first]), treatment_of(rows, first))
    column <- function(name) rows[[name]][part]
    starts <- sum(column("operations"))
    variance <- vapply(c("within_ns2", "between_ns2"),
                       function(n) sum(column(n) * column("operations"), na.rm = TRUE), 0)
    share <- if (sum(variance) > 0) 100 * variance / sum(variance) else c(NA_real_, NA_real_)
    quantile_of <- start_quantiles(campaign$starts_hist, of, what)
    data.frame(what, mode = unname(mode[of[1]]), n_launches = length(of), starts = starts,
               late_starts = sum(column("late_starts"), na.rm = TRUE),
               late_percent = 100 * sum(column("late_starts"), na.rm = TRUE) / starts,
               overshoot_p50_ns = quantile_of("overshoot", 0.5),
               overshoot_p99_ns = quantile_of("overshoot", 0.99),
               overshoot_max_ns = max_or_na(column("overshoot_ns_max")),
               global_p50_ns = quantile_of("global", 0.5), global_p99_ns = quantile_of("global", 0.99),
               on_time_p99_ns = quantile_of("on_time", 0.99), spread_ns = sum(column("spread_ns")) / starts,
               within_percent = share[1], between_percent = share[2])
  }))
  table <- table[
    order(table$operation, table$bytes, table$ranks, table$mode, table$arm != "off",
          table$level_requested_percent),
  ]
  rownames(table) <- NULL
  table
}

# A function that gives quantiles of a measure over the launches `of`, for the cell `what`.
start_quantiles <- function(hist, of, what) {
  same <- hist[["launch"]] %in% of
  for (name in names(what)) {
    if (name == "ranks" || is.na(what[[name]])) next
    same <- same & !is.na(hist[[name]]) & hist[[name]] == what[[name]]
  }
  function(measure, p) {
    at <- which(same & hist[["measure"]] == measure)
    hist_quantile(hist[["lo_ns"]][at], hist[["hi_ns"]][at], hist[["count"]][at], p)
  }
}

# How often each rank (or node) was the last to start and the last to end, and what that cost the others:
# the time by which it was behind the second last, summed (`start_cost_ns`, `end_cost_ns`). Where all are
# alike each is last in its share, 1/n. Over all launches and operations, the costliest first; percent of
# the starts. `cpu`: -1: not bound. NULL without synchronised starts.
late_ranks <- function(campaign, by = "rank") {
  table <- as.data.frame(campaign$ranks)
  table <- table[!is.na(table$last_ends %||% rep(NA, nrow(table))), ]
  if (nrow(table) == 0) return(NULL)
  ranks_of <- vapply(split(table$rank, table$launch), function(r) length(unique(r)), 0L)
  table$ranks <- unname(ranks_of[table$launch])
  # Every start has one rank that ended last, so the sum over ranks is the number of starts.
  starts_of <- tapply(table$last_ends, table$launch, sum)
  group <- if (by == "rank") {
    paste(table$ranks, table$rank, table$cpu, table$host)
  } else {
    paste(table$ranks, table$host)
  }
  parts <- lapply(split(table, in_order(group)), function(g) {
    launches <- unique(g$launch)
    starts <- sum(starts_of[launches])
    percent <- function(x) 100 * sum(x) / starts
    members <- length(unique(paste(g$launch, g$rank))) / length(launches)
    who <- if (by == "rank") g[1, c("ranks", "rank", "cpu", "host")] else {
      data.frame(ranks = g$ranks[1], host = g$host[1], node_ranks = members)
    }
    cbind(who, data.frame(
      n_launches = length(launches), starts = starts, expected_percent = 100 * members / g$ranks[1],
      last_starts_percent = percent(g$last_starts), last_ends_percent = percent(g$last_ends),
      start_cost_ns = sum(g$start_cost_ns), end_cost_ns = sum(g$end_cost_ns)
    ))
  })
  table <- bind_rows(unname(parts))
  table <- table[order(table$ranks, -(table$start_cost_ns + table$end_cost_ns)), ]
  rownames(table) <- NULL
  table
}

# A row per launch and rank whose clock was compared with another: `runs` (synchronisations), `drift_ppm`
# (of the last). No rows where all ranks share a clock; NULL without synchronised starts.
clock_runs <- function(campaign) {
  table <- as.data.frame(campaign$clocks)
  if (nrow(table) == 0) return(NULL)
  table <- table[table$measured > 0, ]
  parts <- lapply(split(table, in_order(paste(table$launch, table$rank))), function(g) {
    g <- g[order(g$run), ]
    n <- nrow(g)
    data.frame(launch = g$launch[1], rank = g$rank[1], host = g$host[1], runs = n,
               last_offset_ns = g$offset_ns[n], drift_ppm = g$drift_ppm[n],
               shortest_rtt_ns = -max_or_na(-g$rtt_ns), largest_residual_ns = max_or_na(g$residual_ns))
  })
  bind_rows(unname(parts))
}

# ---- noiselab analyze starts -------------------------------------------------------------------

starts_notes <- function(campaign) {
  modes <- vapply(campaign$launches, start_mode, "")
  without <- names(modes)[modes == "loop"]
  missing <- setdiff(names(modes)[modes != "loop"], unique(campaign$starts_hist$launch))
  c(campaign$notes, unlike_starts(campaign),
    sprintf("launch %s has no synchronised starts and is left out", without),
    sprintf("launch %s has no histograms of starts: its quantiles are unknown", missing))
}

starts_parts <- function(campaign) {
  list(
    new_part(
      "how well starts began, times in \u00b5s",
      quality_table(start_quality(campaign)),
      paste(
        paste0("over: overshoot, actual minus scheduled start, over ranks and starts; time: last end minus ",
               "scheduled start; spread: mean of last minus"),
        paste0("first start; nodes: share of the variance of arrivals that lies between nodes. Late starts ",
               "are counted in everything.")
      )
    ),
    late_part(campaign, "rank"),
    late_part(campaign, "node"),
    clocks_part(campaign)
  )
}

quality_table <- function(table) {
  new_table(arm = col_words("arm", arm_words(table)), starts = col_number("starts", table$starts),
            late_percent = col_number("late %", table$late_percent, plain),
            overshoot_p50_ns = col_number("over p50", table$overshoot_p50_ns, in_us),
            overshoot_p99_ns = col_number("p99", table$overshoot_p99_ns, in_us),
            overshoot_max_ns = col_number("max", table$overshoot_max_ns, in_us),
            global_p50_ns = col_number("time p50", table$global_p50_ns, in_us),
            global_p99_ns = col_number("p99", table$global_p99_ns, in_us),
            spread_ns = col_number("spread", table$spread_ns, in_us),
            between_percent = col_number("nodes %", table$between_percent, function(x) sprintf("%.0f", x)),
            by = paste0(panel_name(table), ", ", format_count(table$ranks), " ranks (", table$mode, ")"))
}

# On one screen: were starts on time, and who was late.
starts_view <- function(campaign, operands) {
  table <- start_quality(campaign)
  late <- sum(table$late_starts) / sum(table$starts)
  ranks <- late_ranks(campaign)
  ahead <- ranks[1, ]
  notes <- unique(starts_notes(campaign))
  new_view(
    c(
      sprintf(
        paste0("%s %% of %s starts were late; ranks began %s \u00b5s after the scheduled time at the ",
               "median, at most %s \u00b5s at p99."),
        plain(100 * late),
        format_count(sum(table$starts)),
        in_us(stats::median(table$overshoot_p50_ns, na.rm = TRUE)),
        in_us(max_or_na(table$overshoot_p99_ns))
      ),
      if (NROW(ranks) > 0 && isTRUE(ahead$last_ends_percent > 1.2 * ahead$expected_percent)) {
        sprintf(
          paste0("Rank %s (CPU %s of %s) held the others up most: last to end in %.3g %% of the starts, ",
                 "%.3g %% expected."),
          format_count(ahead$rank),
          format_count(ahead$cpu),
          ahead$host,
          ahead$last_ends_percent,
          ahead$expected_percent
        )
      }
    ),
    quality_table(table),
    paste0("times in \u00b5s; over: actual minus scheduled start; time: last end minus scheduled start; ",
           "spread: last minus first start"),
    if (late > 0.01) {
      "late starts are counted in everything: leave more time between starts, or use a quieter machine"
    },
    length(notes),
    all_command(operands, "starts"),
    report_beside(operands)
  )
}

late_part <- function(campaign, by, most = 10) {
  table <- late_ranks(campaign, by)
  if (is.null(table) || by == "node" && length(unique(table$host)) < 2) return(NULL)
  shown <- unlist(lapply(split(seq_len(nrow(table)), table$ranks), utils::head, most), use.names = FALSE)
  rest <- nrow(table) - length(shown)
  rows <- table[shown, ]
  percent <- function(x) sprintf("%.4g", x)
  ms <- function(x) plain(x / 1e6)
  new_part(
    paste0("who was late, by ", by, ", the costliest first"),
    new_table(ranks = col_number("ranks", rows$ranks), rank = if (by == "rank") col_number("rank", rows$rank),
              cpu = if (by == "rank") col_number("CPU", rows$cpu),
              node_ranks = if (by == "node") col_number("on it", rows$node_ranks),
              host = col_words("host", rows$host),
              expected_percent = col_number("expected", rows$expected_percent, percent),
              last_starts_percent = col_number("last start", rows$last_starts_percent, percent),
              last_ends_percent = col_number("last end", rows$last_ends_percent, percent),
              start_cost_ns = col_number("start cost ms", rows$start_cost_ns, ms),
              end_cost_ns = col_number("end cost ms", rows$end_cost_ns, ms)),
    paste(
      paste0("percent of the starts in which it was last to start, and last to end; expected: if all were ",
             "alike; cost: by how much it was then"),
      "behind the second last, over all starts"
    ),
    if (rest > 0) sprintf("and %d more: noiselab analyze starts --csv --table %ss", rest, by)
  )
}

clocks_part <- function(campaign, most = 10) {
  table <- clock_runs(campaign)
  if (is.null(table)) return(NULL)
  if (nrow(table) == 0) {
    return(new_part("clocks: all ranks share one, there was nothing to synchronise", NULL))
  }
  rest <- max(0, nrow(table) - most)
  rows <- utils::head(table[order(-table$largest_residual_ns), ], most)
  new_part(
    "clocks against that of rank 0, the least certain first",
    new_table(
      launch = col_words("launch", rows$launch), rank = col_number("rank", rows$rank),
      host = col_words("host", rows$host), runs = col_number("runs", rows$runs),
      last_offset_ns = col_number("offset ms", rows$last_offset_ns, function(x) sprintf("%.6f", x / 1e6)),
      drift_ppm = col_number("drift ppm", rows$drift_ppm, function(x) sprintf("%+.3f", x)),
      shortest_rtt_ns = col_number("RTT \u00b5s", rows$shortest_rtt_ns, in_us),
      largest_residual_ns = col_number("residual \u00b5s", rows$largest_residual_ns, in_us)
    ),
    paste0("offset and drift of the last synchronisation, shortest round trip, largest residual when ",
           "checked right after"),
    if (rest > 0) sprintf("and %d more: noiselab analyze starts --csv --table clocks", rest)
  )
}

arm_words <- function(rows) {
  label <- treatment_label(rows, varying_factors(rows[rows$arm == "on", ]))
  what <- ifelse(rows$arm == "off", "off", paste0("on ", format_level(rows$level_requested_percent), " %"))
  ifelse(rows$arm == "on" & nzchar(label), paste0(what, ", ", label), what)
}
