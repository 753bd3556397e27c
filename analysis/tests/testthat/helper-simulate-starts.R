# Synchronised starts of a simulated launch: what the detector adds to its files for them, and the raw file.

simulated_bound_ns <- 1000

# Adds the columns to rows and ranks and the key to info; writes the files that only such launches have.
simulate_starts <- function(id, rows, ranks, info, model, dir) {
  drawn <- draw_starts(rows, model)
  rows <- cbind(rows, start_columns(drawn, rows, model))
  last <- who_is_last(drawn)
  ranks <- cbind(ranks, rank_columns(drawn, last, rows, ranks))
  node <- simulated_nodes(model)
  ranks$host <- paste0("node", node[ranks$rank + 1])
  write <- function(table, name) data.table::fwrite(table, file.path(dir, name), na = "", scipen = 50)
  write(simulate_starts_hist(drawn, rows), "starts_hist.csv")
  write(simulate_clocks(drawn, model, node), "clocks.csv")
  if (!is.null(model$raw)) write_raw_starts(file.path(dir, model$raw), drawn, rows, id, model)
  known <- !is.na(model$ended)
  info$start <- list(mode = model$start, late_bound_ns = simulated_bound_ns,
                     residual_ns = if (max(node) > 1) 120 else 0, starts = if (known) nrow(drawn$arrival),
                     late_starts = if (known) sum(drawn$late), raw = model$raw)
  list(rows = rows, ranks = ranks, info = info)
}

simulated_nodes <- function(model) (seq_len(model$ranks) - 1) %/% ceiling(model$ranks / model$nodes) + 1

# Every start of every rank: matrices, start x rank. Overshoots of some 50 ns, one start in 500 late by
# microseconds on one rank; operations end shortly after the last rank has come.
draw_starts <- function(rows, model) {
  half <- rep(seq_len(nrow(rows)), rows[["operations"]])
  number <- sequence(rows[["operations"]]) - 1
  n <- length(half)
  ranks <- model$ranks
  overshoot <- matrix(round(20 + stats::rexp(n * ranks, 1 / 30)), n, ranks)
  late <- which(stats::runif(n) < 0.002)
  who <- cbind(late, sample.int(ranks, length(late), replace = TRUE))
  overshoot[who] <- overshoot[who] + round(2000 + stats::rexp(length(late), 1 / 5000))
  arrival <- overshoot
  if (!is.null(model$late_rank)) {
    at <- which(stats::runif(n) < 1 / 3)
    arrival[at, model$late_rank + 1] <- arrival[at, model$late_rank + 1] +
      round(stats::rexp(length(at), 1 / 3000))
  }
  end <- row_max(arrival) + attr(rows, "each_ns")[half] * exp(stats::rnorm(n, 0, 0.02))
  took <- round(pmax(end + stats::rexp(n * ranks, 1 / 20) - arrival, 1))
  slot <- rows[["wall_ns"]] / rows[["operations"]]
  scheduled <- round(rows[["start_ns"]][half] + number * slot[half])
  list(half = half, number = number, scheduled = scheduled, overshoot = overshoot, arrival = arrival,
       took = took, late = row_max(overshoot) > simulated_bound_ns)
}

start_columns <- function(drawn, rows, model) {
  s <- summarise_starts(drawn)
  total <- function(x) as.vector(rowsum(as.numeric(x), drawn$half))
  node <- simulated_nodes(model)
  means <- vapply(unique(node), function(k) rowMeans(drawn$arrival[, node == k, drop = FALSE]),
                  numeric(length(drawn$half)))
  means <- matrix(means, length(drawn$half))
  ours <- means[, node, drop = FALSE]
  quantile_of <- function(p) {
    vapply(split(s$overshoot_ns, drawn$half), function(x) unname(stats::quantile(x, p, type = 1)), 0)
  }
  data.table::data.table(
    global_ns = total(s$global_ns), after_last_ns = total(s$after_last_ns), spread_ns = total(s$spread_ns),
    late_starts = total(drawn$late), overshoot_ns_p50 = quantile_of(0.5),
    overshoot_ns_p99 = quantile_of(0.99), overshoot_ns_max = quantile_of(1),
    slot_ns = round(rows[["wall_ns"]] / rows[["operations"]]),
    within_ns2 = total(rowMeans((drawn$arrival - ours)^2)) / rows[["operations"]],
    between_ns2 = total(rowMeans((ours - rowMeans(drawn$arrival))^2)) / rows[["operations"]]
  )
}

row_max <- function(x) Reduce(pmax, lapply(seq_len(ncol(x)), function(k) x[, k]))

# Per start who was first and last, and by how much the last was behind the second last (0 with one rank).
who_is_last <- function(drawn) {
  s <- summarise_starts(drawn)
  behind <- function(x) {
    if (ncol(x) == 1) return(rep(0, nrow(x)))
    top <- cbind(seq_len(nrow(x)), max.col(x, "first"))
    row_max(x) - row_max(replace(x, top, -Inf))
  }
  list(first = s$first_start_rank, last = s$last_start_rank, last_end = s$last_end_rank,
       start_cost = behind(drawn$arrival), end_cost = behind(drawn$arrival + drawn$took))
}

rank_columns <- function(drawn, last, rows, ranks) {
  code <- function(table) {
    do.call(
      paste,
      c(
        table[,
          c("arm", "level_requested_percent", treatment_columns),
          with = FALSE
        ],
        sep = "\r"
      )
    )
  }
  group <- code(rows)[drawn$half]
  bind_rows(Map(function(rank, key) {
    mine <- group == key
    at <- function(who) mine & who == rank
    data.frame(first_starts = sum(at(last$first)), last_starts = sum(at(last$last)),
               last_ends = sum(at(last$last_end)), start_cost_ns = sum(last$start_cost[at(last$last)]),
               end_cost_ns = sum(last$end_cost[at(last$last_end)]),
               overshoot_ns_sum = sum(drawn$overshoot[mine, rank + 1]),
               overshoot_ns_max = max(drawn$overshoot[mine, rank + 1]))
  }, ranks$rank, code(data.table::as.data.table(ranks))))
}

simulate_starts_hist <- function(drawn, rows) {
  s <- summarise_starts(drawn)
  code <- code_of(combine_keys(code_of(rows[["operation"]]), rows[["bytes"]], code_of(rows[["arm"]]),
                               rows[["level_requested_percent"]], treatment_code(rows)))
  bind_rows(lapply(unique(code), function(k) {
    at <- code[drawn$half] == k
    first <- match(k, code)
    values <- list(global = s$global_ns[at], on_time = s$global_ns[at & !drawn$late],
                   after_last = s$after_last_ns[at], spread = s$spread_ns[at],
                   overshoot = as.vector(drawn$overshoot[at, ]))
    bind_rows(lapply(names(values), function(measure) {
      counts <- table(hist_bin(values[[measure]]))
      if (length(counts) == 0) return(NULL)
      lo <- as.numeric(names(counts))
      data.frame(operation = rows[["operation"]][first], bytes = rows[["bytes"]][first],
                 arm = rows[["arm"]][first],
                 level_requested_percent = rows[["level_requested_percent"]][first], measure = measure,
                 lo_ns = lo, hi_ns = lo + hist_width(lo), count = as.vector(counts),
                 treatment_of(rows, first))
    }))
  }))
}

# Two synchronisations, at the start and in the middle; ranks beside their node's first share its clock.
simulate_clocks <- function(drawn, model, node) {
  at <- c(-1e6, round(max(drawn$scheduled) / 2))
  measured <- as.integer(!duplicated(node) & node > 1)
  bind_rows(lapply(1:2, function(run) {
    drift <- 5 * (node - 1)
    data.frame(run = run, reason = c("first", "schedule")[run], method = "tree",
               rank = seq_len(model$ranks) - 1, host = paste0("node", node), at_ns = at[run],
               measured = measured, offset_ns = round(2e6 * (node - 1) + drift * 1e-6 * (at[run] - at[1])),
               drift_ppm = drift, rtt_ns = 4000 * measured, residual_ns = 120 * measured,
               exchanges = 300 * measured)
  }))
}

# ---- the raw file ------------------------------------------------------------------------------

# Halves are cut into blocks of at most `most` starts, as the detector's buffer does.
write_raw_starts <- function(file, drawn, rows, id, model, most = 4096) {
  configs <- unique(rows[, c("operation", "bytes")])
  treated <- c("arm", "level_requested_percent", treatment_columns)
  on <- unique(rows[rows[["arm"]] == "on", treated, with = FALSE])
  arms <- rbind(data.table::data.table(arm = "off", level_requested_percent = 0), on, fill = TRUE)
  key <- function(table, columns) do.call(paste, c(table[, columns, with = FALSE], sep = "\r"))
  config <- match(key(rows, c("operation", "bytes")), key(configs, c("operation", "bytes"))) - 1
  arm <- ifelse(rows[["arm"]] == "off", 0, match(key(rows, treated), key(arms, treated)) - 1)
  header <- list(launch = id, ranks = model$ranks, mode = model$start, late_bound_ns = simulated_bound_ns,
                 configs = configs, arms = arms)
  con <- file(file, "wb")
  on.exit(close(con))
  writeBin(raw_header_bytes(header), con)
  for (at in split(seq_along(drawn$half), drawn$half * 2^20 + drawn$number %/% most)) {
    half <- drawn$half[at[1]]
    part <- function(x) x[at, , drop = FALSE]
    writeBin(raw_block(config[half], arm[half], rows[["order"]][half], rows[["involuntary_switches"]][half],
                       rows[["pair"]][half], drawn$number[at[1]], drawn$scheduled[at], part(drawn$overshoot),
                       part(drawn$arrival), part(drawn$took)), con)
  }
}

raw_header_bytes <- function(header) {
  text <- charToRaw(as.character(jsonlite::toJSON(header, auto_unbox = TRUE, na = "null", null = "null",
                                                  digits = NA)))
  c(charToRaw("NLSTARTS"), raw_numbers(c(raw_version_known, length(text)), 4), text)
}

# Numbers as little-endian bytes: `size` 4: whole, 8: floating.
raw_numbers <- function(x, size) {
  writeBin(if (size == 4) as.integer(x) else as.numeric(x), raw(), size, endian = "little")
}

# `overshoot`, `arrival`, `took`: matrices, start x rank, ns. What does not fit into 32 bits goes to the end.
raw_block <- function(config, arm, order, switches, pair, first, scheduled, overshoot, arrival, took) {
  n <- length(scheduled)
  values <- array(c(overshoot, arrival, took), c(n, ncol(arrival), 3))
  values <- aperm(values, c(1, 3, 2))
  wide <- which(abs(values) > .Machine$integer.max, arr.ind = TRUE)
  tail <- lapply(seq_len(nrow(wide)), function(i) {
    c(raw_numbers(wide[i, c(3, 2, 1)] - 1, 4), raw_numbers(values[wide[i, , drop = FALSE]], 8))
  })
  values[wide] <- NA
  c(charToRaw("BLCK"), raw_numbers(c(config, arm, n, order, switches, nrow(wide)), 4),
    raw_numbers(c(pair, first), 8), raw_numbers(scheduled, 8), raw_numbers(as.vector(values), 4),
    unlist(tail))
}

# Which rank and node of a simulated launch lost what: the files ranks.csv and nodes.csv.

# (Synchronised starts have places of their own, see simulate-starts.R.)
several_places <- function(model) model$nodes > 1 && model$start == "loop"

# Preempted time of each half (rows) and rank (columns), ns. On one node rank 0 has all of it. On several
# the load is on the last rank of each treated node, what the machine itself takes hits any rank, and every
# rank has a little of its own.
simulate_preempted <- function(rows, model) {
  n <- length(rows$pair)
  preempted <- matrix(0, n, model$ranks)
  if (!several_places(model)) {
    preempted[, 1] <- rows$preempted_ns_sum
    return(preempted)
  }
  node <- simulated_nodes(model)
  treated <- match(model$noise_nodes, rev(node))
  treated <- model$ranks + 1 - treated
  preempted[] <- stats::rnorm(length(preempted), 200, 100)
  preempted[, treated] <- preempted[, treated] + rows$load_ns / length(treated)
  hit <- cbind(seq_len(n), sample.int(model$ranks, n, replace = TRUE))
  preempted[hit] <- preempted[hit] + pmax(0, rows$preempted_ns_sum - rows$load_ns)
  round(preempted)
}

# The columns of the rows that follow from it.
place_rows <- function(rows, preempted, model) {
  if (!several_places(model)) return(rows)
  rows$preempted_ns_sum <- rowSums(preempted)
  rows$preempted_rank <- rows$slowest_rank <- max.col(preempted, "first") - 1L
  rows$preempted_ns_max <- preempted[cbind(seq_len(nrow(preempted)), rows$preempted_rank + 1L)]
  rows
}

# One row per place (rank, or node) and arm: sums over the halves of the arm, and mean and SD over its pairs
# of the difference of preempted shares, in percent of one CPU. `preempted` has a column per place, `first`
# the columns that name it.
simulate_table <- function(rows, preempted, first, slowest) {
  code <- combine_keys(code_of(rows[["arm"]]), rows[["level_requested_percent"]], treatment_code(rows))
  arms <- lapply(unique(code), function(x) which(code == x))
  wall <- rows[["wall_ns"]]
  pairs <- pair_rows(rows)
  shift <- 100 *
    (preempted[pairs$on, , drop = FALSE] / wall[pairs$on] -
      preempted[pairs$off, , drop = FALSE] / wall[pairs$off])
  bind_rows(lapply(arms, function(at) {
    one <- at[1]
    mine <- which(pairs$on %in% at)
    of_pairs <- length(mine) > 1 && !identical(rows[["design"]][1], "single")
    total <- function(column) sum(rows[[column]][at])
    moved <- shift[mine, , drop = FALSE]
    means <- colMeans(moved)
    n <- nrow(first)
    do.call(
      frame,
      c(
        as.list(first),
        list(arm = rows[["arm"]][one], level_requested_percent = rows[["level_requested_percent"]][one],
             halves = length(at), wall_ns = total("wall_ns"),
             preempted_ns = colSums(preempted[at, , drop = FALSE]), detours = total("detours"),
             detour_ns = total("detour_ns"), involuntary_switches = total("involuntary_switches"),
             times_slowest = tabulate(slowest[at], n)),
        treatment_of(rows, one),
        list(
          pairs = if (of_pairs) length(mine) else NA,
          preempted_shift_percent_mean = if (of_pairs) means else NA,
          preempted_shift_percent_sd = if (of_pairs) {
            sqrt(colSums((moved - rep(means, each = nrow(moved)))^2) / (nrow(moved) - 1))
          } else {
            NA
          }
        )
      )
    )
  }))
}

simulate_ranks <- function(rows, preempted, model) {
  rank <- seq_len(model$ranks) - 1
  cpu <- if (model$nodes == 1) rank else sequence(rle(simulated_nodes(model))$lengths) - 1
  table <- simulate_table(rows, preempted,
                          data.frame(rank = rank, host = paste0("node", simulated_nodes(model)), cpu = cpu),
                          rows[["slowest_rank"]] + 1)
  table[order(table$rank), ]
}

simulate_nodes <- function(rows, preempted, model) {
  node <- simulated_nodes(model)
  first <- data.frame(launch = rows[["launch"]][1], node = seq_len(max(node)) - 1,
                      host = paste0("node", seq_len(max(node))), ranks = tabulate(node))
  table <- simulate_table(rows, t(rowsum(t(preempted), node)), first, node[rows[["slowest_rank"]] + 1])
  table[order(table$node), ]
}

# Every start of the raw file in the launch folder `dir`: by rank, or over all ranks. Attribute `notes`:
# what was left out.
read_starts <- function(dir, operations = NULL, arms = c("off", "on"), by = "rank") {
  info <- read_launch_json(file.path(dir, "launch.json"))
  raw <- raw_index(raw_file_of(dir, info), info)
  con <- file(raw$file, "rb")
  on.exit(close(con))
  blocks <- raw$blocks[
    raw$arms$arm[raw$blocks$arm + 1] %in% arms & raw$configs$operation[raw$blocks$config + 1] %in%
        (operations %||% raw$configs$operation),
  ]
  if (nrow(blocks) == 0) return(data.frame())
  table <- if (by == "start") {
    got <- c(summarise_starts(values <- group_values(con, raw, blocks, seq_len(nrow(blocks)))),
             list(scheduled_ns = values$scheduled))
    data.table::setDT(c(block_columns(raw, blocks, blocks$n), list(start = start_numbers(blocks)), got,
                        list(late = got$overshoot_ns > raw$late_bound_ns)))
  } else ranks_table(con, raw, blocks)
  data.table::setattr(table, "notes", raw$notes)[]
}
