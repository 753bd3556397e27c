# Effects of the values of a setting on the time of operations, within sets of blocks.

# What an answer may rest on: `all` operations; `steady`: these, in sets of blocks in which the machine kept
# its speed; `undisturbed`: of these sets the operations that nothing interrupts; `tasks`: what the tasks
# take that are shown to take more or less, in all sets; `interruptions`: whatever interrupts operations, in
# all sets. Columns of `all` have the names that they have in every table of effects, those of the others
# begin with the name of their part.
setting_parts <- c("all", "steady", "undisturbed", "tasks", "interruptions")

columns_of_all <- c(percent = "estimate", low = "ci_low", high = "ci_high", p = "p_two_sided")

part_column <- function(part, name) {
  if (part != "all") paste0(part, "_", name) else if (name %in% names(columns_of_all)) {
    columns_of_all[[name]]
  } else {
    name
  }
}

of_part <- function(rows, part, name) rows[[part_column(part, name)]] %||% rep(NA_real_, nrow(rows))

# `rows` of effects with those of a part in the place of all.
with_part <- function(rows, part) {
  for (name in c("percent", "low", "high")) rows[[columns_of_all[[name]]]] <- of_part(rows, part, name)
  rows
}

# Mean time of an operation without what interrupts it: by slices of the loop where they are known
# (interrupted_share()), else each detour (of the rank with most) at the pilot's median instead. NA where
# neither is known.
undisturbed_ns <- function(rows) {
  of_detours <- (rows[["detour_ns"]] %||% rep(NA_real_, nrow(rows))) / rows[["wall_ns"]]
  of_slices <- rows[["interrupted_share"]] %||% rep(NA_real_, nrow(rows))
  share <- pmin(1, ifelse(is.na(of_slices), of_detours, of_slices))
  ifelse(share < 1, operation_ns(rows) * (1 - share), NA_real_)
}

# A slice of the loop is compared with the median of so many around it, in its block: a machine that changes
# its speed within a block has two medians there, and what lasts for less than half of them interrupts.
slices_around <- 101
# Operations wait for all ranks, so each node shows what interrupts any of them: more need not be read.
most_nodes_read <- 4

# Of each row the share of the loop's time that slices are longer than the median of those around them, of
# slices that are more than twice as long; the mean of the nodes that are read. NA where none was recorded, or
# can be read. Attribute `notes`: which cannot, and why.
interrupted_share <- function(campaign) {
  same <- c("operation", "bytes", "pair", "order")
  share <- rep(NA_real_, nrow(campaign$rows))
  notes <- character()
  for (id in intersect(names(campaign$launches), names(campaign$paths))) {
    files <- list.files(campaign$paths[[id]], "^slices\\..+\\.bin$", full.names = TRUE)
    mine <- which(campaign$rows[["launch"]] == id)
    keys <- row_key(campaign$rows[mine, ], same)
    by_node <- vapply(utils::head(files, most_nodes_read), function(file) {
      got <- tryCatch(read_slices(file, campaign$launches[[id]]), nl_error = identity)
      if (inherits(got, "nl_error")) {
        notes <<- c(notes, paste("interruptions are not known by", conditionMessage(got)))
        return(rep(NA_real_, length(mine)))
      }
      interrupted_blocks(got$ns, got$blocks$n)[match(keys, row_key(got$blocks, same))]
    }, numeric(length(mine)))
    if (length(by_node) > 0) share[mine] <- rowMeans(matrix(by_node, length(mine)), na.rm = TRUE)
  }
  structure(ifelse(is.finite(share), share, NA_real_), notes = notes)
}

# As interrupted_share() of blocks, of which `n` slices of length `ns` follow each other.
interrupted_blocks <- function(ns, n) {
  excess <- slice_excess(ns, n, slices_around)
  beyond <- ifelse(excess > ns - excess, excess, 0)
  block <- factor(rep(seq_along(n), n), seq_along(n))
  as.numeric(tapply(beyond, block, sum) / tapply(ns, block, sum))
}

# p-value of a difference from the reference and from the placebo, to the same side: the larger one. Without a
# placebo nothing is known of what writing costs, and it is 1.
p_of_both <- function(rows, part = "all") {
  of <- function(name) of_part(rows, part, name)
  p <- pmax(of("p"), of("rewritten_p"))
  p[is.na(of("rewritten_p")) | (of("percent") * of("rewritten_percent") <= 0) %in% TRUE] <- 1
  p[is.na(of("p"))] <- NA
  p
}

# A set is unlike the others from here on: so many medians.
unlike_medians <- 5
most_stepped <- 1 / 3
least_steady <- 1 / 2

# Sets of blocks by what the machine's speed did, a row for each of `rows`: `set`, its number; `stepped`: the
# sets before and after it have different speeds (further apart than unlike_medians times the median of that
# distance), so the machine's speed changed for longer than a set, which does not depend on this set's own
# times; `steady`: not stepped, and the times of its own blocks lie as close together as those of others. Both
# are the same for any order of the set's arms, so its differences have either sign with equal chance without
# an effect, in the sets that are left as in all. Speeds are those of operations that nothing interrupts;
# where these are not known, of all, and no set is `steady`. Where a third of the sets would be stepped, or
# fewer than half steady, none is: the machine has no speed that it keeps. `quiet`, `x`: logarithms of times.
set_states <- function(rows, x, quiet) {
  series <- row_key(rows, c("launch", "operation", "bytes", "ranks"))
  set <- code_of(paste(series, rows[["pair"]], sep = "\r"))
  known <- is.finite(quiet)
  speed <- ifelse(known, quiet, x)
  of_set <- function(values, f) as.numeric(tapply(values, set, f))
  level <- of_set(speed, function(v) stats::median(v, na.rm = TRUE))
  spread <- of_set(speed, function(v) diff(range(v)))
  start <- of_set(as.numeric(rows[["start_ns"]]), min)
  all_known <- of_set(known, all) == 1
  of_series <- series[match(seq_along(level), set)]
  stepped <- steady <- logical(length(level))
  for (mine in split(seq_along(level), in_order(of_series))) {
    mine <- mine[order(start[mine])]
    n <- length(mine)
    jump <- c(NA, abs(level[mine][-(1:2)] - level[mine][-c(n - 1, n)]), NA)[seq_len(n)]
    odd <- (jump > unlike_medians * stats::median(jump, na.rm = TRUE)) %in% TRUE
    if (mean(odd) < most_stepped) stepped[mine] <- odd
    close <- spread[mine] <= unlike_medians * stats::median(spread[mine], na.rm = TRUE)
    close <- close %in% TRUE & all_known[mine] & !stepped[mine]
    if (mean(close) >= least_steady) steady[mine] <- close
  }
  data.frame(set = set, stepped = stepped[set], steady = steady[set])
}

# Of each pair the placebo of its set.
rewritten_of <- function(pairs) {
  written <- as.character(pairs$cells$kind)[pairs$cell] %in% placebo_arm
  pairs$on[written][match(pairs$off, pairs$off[written])]
}

# The effect of the pairs `at`: of `values` in their blocks less those of the blocks `others`; NULL: none is
# known.
within_sets <- function(pairs, at, values, others, settings) {
  d <- values[pairs$on[at]] - values[others[at]]
  known <- is.finite(d)
  launch <- as.character(pairs$cells$launch)[pairs$cell[at]]
  if (any(known)) setting_effect(d[known], launch[known], settings)
}

# Columns of a part: an effect against the reference, and against the placebo of the same sets; NULL: not
# known.
as_part <- function(name, got, rewritten) {
  columns <- c(percent = "estimate", low = "ci_low", high = "ci_high", p = "p_two_sided", se = "se")
  named <- function(got, prefix) {
    got <- lapply(columns, function(column) if (is.null(got)) NA_real_ else got[[column]])
    stats::setNames(as.data.frame(got), vapply(paste0(prefix, names(columns)),
                                               function(column) part_column(name, column), ""))
  }
  cbind(named(got, ""), named(rewritten, "rewritten_"))
}

# One row per operation, size and arm.
arm_effects <- function(campaign, pairs, settings) {
  x <- log_or_na(operation_ns(campaign$rows))
  quiet <- log_or_na(undisturbed_ns(campaign$rows))
  interrupted <- x - quiet
  taken <- channels$preempted$value(campaign$rows, 1)
  states <- set_states(as.data.frame(campaign$rows), x, quiet)[pairs$off, ]
  cells <- pairs$cells
  of <- row_key(cells, c("operation", "bytes", "ranks", "kind"))[pairs$cell]
  rewritten <- rewritten_of(pairs)
  bind_rows(lapply(unname(split(seq_along(of), in_order(of))), function(at) {
    at <- at[is.finite(x[pairs$on[at]] - x[pairs$off[at]])]
    first <- cells[pairs$cell[at[1]], ]
    label <- data.frame(operation = as.character(first$operation), bytes = first$bytes, ranks = first$ranks,
                        kind = as.character(first$kind))
    kept <- at[!states$stepped[at]]
    steady <- at[states$steady[at]]
    against <- function(at, values, others) within_sets(pairs, at, values, others, settings)
    part <- function(name, at, values) {
      is_placebo <- label$kind == placebo_arm
      as_part(name, against(at, values, pairs$off), if (!is_placebo) against(at, values, rewritten))
    }
    whole <- against(kept, x, pairs$off)
    # where no set is left out besides, it is the same as all
    apart <- if (length(steady) < length(kept)) steady else integer()
    cbind(label, whole[c("n", "unit_of_inference", "reason")], part("all", kept, x),
          part("steady", apart, x), part("undisturbed", if (length(steady) > 0) steady else kept, quiet),
          part("interruptions", kept, interrupted),
          sets = length(at), stepped_sets = length(at) - length(kept),
          steady_sets = if (length(steady) > 0) length(steady) else NA_integer_,
          preempted_percent = mean(taken[pairs$on[at]] - taken[pairs$off[at]]))
  }))
}

# Of the differences of logarithms within sets, in run order, and their launches.
setting_effect <- function(d, launch, settings) {
  by_launch <- as.numeric(tapply(d, in_order(launch), mean))
  over <- length(by_launch) >= launches_for_more
  one <- function(d) randomisation_inference(d, settings$alpha, with_limit = FALSE)
  got <- if (over) launches_inference(by_launch, settings) else one(d)
  other_side <- if (over) 1 - got$p else one(-d)$p
  least <- pairs_needed(settings$alpha)
  enough <- over || length(d) >= least
  data.frame(
    estimate = 100 * expm1(got$estimate), ci_low = 100 * expm1(got$low), ci_high = 100 * expm1(got$high),
    p_two_sided = if (enough) min(1, 2 * min(got$p, other_side)) else NA_real_, se = got$se,
    n = if (over) length(by_launch) else length(d), unit_of_inference = if (over) "launch" else "pair",
    reason = if (enough) NA_character_ else {
      sprintf("%s; a test at alpha %g needs %d", counted(length(d), "set"), settings$alpha, least)
    }
  )
}
