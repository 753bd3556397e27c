# Which rank and node of a simulated launch lost what: the files ranks.csv and nodes.csv.

# (Synchronised starts have places of their own, see simulate-starts.R.)
several_places <- function(model) model$nodes > 1 && model$start == "loop"

# Preempted time of each half (rows) and rank (columns), ns. On one node rank 0 has all of it. On several the load is on
# the last rank of each treated node, what the machine itself takes hits any rank, and every rank has a little of its
# own.
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

# One row per place (rank, or node) and arm: sums over the halves of the arm, and mean and SD over its pairs of the
# difference of preempted shares, in percent of one CPU. `preempted` has a column per place, `first` the columns that name it.
simulate_table <- function(rows, preempted, first, slowest) {
  code <- combine_keys(code_of(rows[["arm"]]), rows[["level_requested_percent"]], treatment_code(rows))
  arms <- lapply(unique(code), function(x) which(code == x))
  wall <- rows[["wall_ns"]]
  pairs <- pair_rows(rows)
  shift <- 100 * (preempted[pairs$on, , drop = FALSE] / wall[pairs$on] - preempted[pairs$off, , drop = FALSE] / wall[pairs$off])
  bind_rows(lapply(arms, function(at) {
    one <- at[1]
    mine <- which(pairs$on %in% at)
    of_pairs <- length(mine) > 1 && !identical(rows[["design"]][1], "single")
    total <- function(column) sum(rows[[column]][at])
    moved <- shift[mine, , drop = FALSE]
    means <- colMeans(moved)
    n <- nrow(first)
    cbind(first, data.frame(
      arm = rows[["arm"]][one], level_requested_percent = rows[["level_requested_percent"]][one], halves = length(at),
      wall_ns = total("wall_ns"), preempted_ns = colSums(preempted[at, , drop = FALSE]), detours = total("detours"),
      detour_ns = total("detour_ns"), involuntary_switches = total("involuntary_switches"),
      times_slowest = tabulate(slowest[at], n), treatment_of(rows, one), pairs = if (of_pairs) length(mine) else NA,
      preempted_shift_percent_mean = if (of_pairs) means else NA,
      preempted_shift_percent_sd = if (of_pairs) sqrt(colSums((moved - rep(means, each = nrow(moved)))^2) / (nrow(moved) - 1)) else NA
    ), row.names = NULL)
  }))
}

simulate_ranks <- function(rows, preempted, model) {
  rank <- seq_len(model$ranks) - 1
  cpu <- if (model$nodes == 1) rank else sequence(rle(simulated_nodes(model))$lengths) - 1
  table <- simulate_table(rows, preempted, data.frame(rank = rank, host = paste0("node", simulated_nodes(model)), cpu = cpu),
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
