# Pairing of off and on rows. All keys are numbers: text joins would dominate 10^6 rows.

# Pairs of off and on rows: in design `lockin` halves with the same pair number, in `blocks` and `single`
# every on block of a set with the set's off block. Pairs that an interruption left incomplete are left out
# and counted. A cell is what is judged together: pairs of one launch, operation, size, treatment and level.
# A list: `off`, `on` (row numbers, in run order), `cell` (a code per pair), `cells` (data frame, a row per
# code: launch, operation, size, ranks, design, treatment and level as far as the rows have them),
# `n_unpaired` (rows).
pair_rows <- function(rows) {
  cells <- cell_key(rows)
  key <- combine_keys(cells, rows[["pair"]])
  off <- which(rows[["arm"]] == "off")
  on <- which(rows[["arm"]] == "on")
  partner <- off[match(key[on], key[off])]
  # an undisturbed stretch of an agent has none by design
  alone <- if (is.null(rows[["design"]])) FALSE else rows[["design"]][on] == "quick"
  n_unpaired <- sum(is.na(partner) & !alone) + length(off) - length(unique(partner[!is.na(partner)]))
  on <- on[!is.na(partner)]
  partner <- partner[!is.na(partner)]
  cell <- code_of(combine_keys(cells[on], rows[["level_requested_percent"]][on], treatment_code(rows, on)))
  first <- on[!duplicated(cell)]
  columns <- intersect(c("launch", "operation", "bytes", "ranks", "design", "level_requested_percent"),
                       names(rows))
  cells <- as.data.frame(c(lapply(stats::setNames(columns, columns), function(n) rows[[n]][first]),
                           treatment_of(rows, first)))
  list(off = partner, on = on, cell = cell, cells = cells, n_unpaired = n_unpaired)
}

# What the halves lost to others than the treatment, so that intervals become shorter.

# What the halves of each pair lost to others than the treatment, where that is known: to the hypervisor
# (the slowest rank's steal, where all launches declared it as a covariate before they began), and to tasks
# that nobody named (where an agent's companion recorded who ran while ranks waited: that it is used follows
# from the record being there). NULL without either. `d`: log ratio of the times per operation less that
# loss; `moved_percent`: what the loss adds to the log ratio, times 100 (a small loss: percent of the wall
# time, on minus off); attribute `of`: its name.
lost_time <- function(campaign, pairs) {
  kept <- Filter(Negate(is.null), list(steal = kept_of_steal(campaign), others = kept_of_others(campaign)))
  if (length(kept) == 0) return(NULL)
  of <- join_words(names(kept))
  kept <- pmax(Reduce(`*`, kept), 1 - most_lost)
  speed <- log_or_na(operation_ns(campaign$rows) * kept)
  moved <- log(kept)[pairs$off] - log(kept)[pairs$on]
  structure(data.frame(d = speed[pairs$on] - speed[pairs$off], moved_percent = 100 * moved), of = of)
}

# Share of each half's wall time that is left.
kept_of_steal <- function(campaign) {
  lost <- campaign$rows[["rank_steal_ns_max"]]
  if (
    is.null(lost) ||
      !all(vapply(campaign$launches, function(info) "steal" %in% unlist(info$options$adjust), NA))
  ) {
    return(NULL)
  }
  1 - pmax(lost / campaign$rows[["wall_ns"]], 0)
}

# The record has the sum over a node's ranks. Whoever waits holds up all, so time in which any of them waits
# is lost once: of ranks that are held up independently of each other, 1 - (1 - share)^ranks. Nothing is
# fitted.
kept_of_others <- function(campaign) {
  shares <- waited_for_others(campaign)
  if (is.null(shares)) return(NULL)
  ranks <- table(node_key(campaign$ranks))
  kept <- rep(1, nrow(campaign$rows))
  for (node in shares) {
    n <- pmax(1, c(ranks[node$of]), na.rm = TRUE)
    kept[node$at] <- kept[node$at] * (1 - pmin(pmax(node$share / n, 0), 1))^n
  }
  if (any(kept < 1)) kept
}

# Per launch and node: `at` (rows of the campaign), `share` (of their wall time, summed over ranks, in which
# they waited for tasks that nobody named), `of`. NULL unless that is known of every half and node.
waited_for_others <- function(campaign) {
  rows <- campaign$rows
  account <- campaign$agents
  if (NROW(account) == 0 || is.null(account[["preempted_by_others_ns"]]) || NROW(campaign$ranks) == 0) {
    return(NULL)
  }
  same <- c("launch", "operation", "bytes", "pair", "order")
  at <- match(row_key(account, same), row_key(rows, same))
  share <- account[["preempted_by_others_ns"]] / rows[["wall_ns"]][at]
  parts <- lapply(split(which(!is.na(at)), node_key(account)[!is.na(at)]),
                  function(i) list(at = at[i], share = share[i]))
  of_launch <- split(seq_len(nrow(rows)), as.character(rows[["launch"]]))
  nodes <- unique(node_key(campaign$ranks))
  complete <- vapply(nodes, function(node) {
    part <- parts[[node]]
    !is.null(part) && setequal(part$at, of_launch[[sub("\r.*", "", node)]]) && all(is.finite(part$share))
  }, TRUE)
  if (all(complete)) Map(c, parts[nodes], of = nodes) else NULL
}

node_key <- function(rows) paste(rows[["launch"]], rows[["host"]], sep = "\r")

# Of the channel preempted: what is left without them, in percent of one CPU as the channel is. Columns as
# of lost_time().
lost_to_others <- function(campaign, pairs, n_generators) {
  shares <- waited_for_others(campaign)
  if (!any(vapply(shares, function(node) any(node$share > 0), TRUE))) return(NULL)
  others <- numeric(nrow(campaign$rows))
  for (node in shares) others[node$at] <- others[node$at] + 100 * node$share
  others <- others / n_generators
  rest <- channels$preempted$value(campaign$rows, n_generators) - others
  structure(
    data.frame(d = rest[pairs$on] - rest[pairs$off], moved_percent = others[pairs$on] - others[pairs$off]),
    of = "others"
  )
}

lost_of_pairs <- function(lost, at) if (!is.null(lost)) structure(lost[at, ], of = attr(lost, "of"))

# A half of which nearly all was lost says next to nothing of the rest.
most_lost <- 0.9

# The mean effect less what others took (steal, other tasks), NULL where that is not known. The covariate's
# own difference is tested two-sided: where the treatment moves it, the adjusted mean answers another
# question and is withheld.
adjusted_mean <- function(cell, settings) {
  lost <- cell$lost
  if (is.null(lost) || nrow(lost) == 0 || !all(is.finite(lost$d)) || !all(is.finite(lost$moved_percent))) {
    return(NULL)
  }
  got <- if (settings$alpha < few_flips / (n_flips + 1)) {
    student_inference(batch_mean_ci(lost$d, settings$conf), nrow(lost), settings$alpha, settings$power)
  } else randomisation_inference(lost$d, settings$alpha, with_limit = FALSE)
  moved <- randomisation_inference(lost$moved_percent, max(settings$alpha, 0.001), with_limit = FALSE)
  p <- min(1, 2 * min(moved$p, sign_flip_test(-lost$moved_percent)$p))
  of <- attr(lost, "of")
  got <- c(
    got[c("estimate", "low", "high", "se", "df", "p")],
    list(covariate = of, values = lost$d, moved = moved[c("estimate", "low", "high")],
         is_withheld = isTRUE(p <= settings$alpha))
  )
  got$note <- sprintf("%s on minus off: %s %% %s of wall time, p = %s%s", of, format_effect(moved$estimate),
                      format_interval(moved$low, moved$high), format_p(p),
                      if (got$is_withheld) "; withheld: the treatment moves it" else "")
  if (got$is_withheld) got[c("estimate", "low", "high", "p")] <- NA_real_
  got
}

# What was delivered, the one figure of it: CPU time of the generator in the on halves over their wall time
# and the CPUs that it loads, in percent of one CPU. `percent`: that of each half, `wall_ns`: its wall time.
delivered_percent <- function(percent, wall_ns) {
  known <- is.finite(percent) & is.finite(wall_ns)
  if (any(known)) sum(percent[known] * wall_ns[known]) / sum(wall_ns[known]) else NA_real_
}

# Delivered over requested level. NA at level 0, and without a level.
delivered_ratio <- function(level_delivered, level_requested) {
  if (level_requested == 0 || !has_level(level_requested)) return(NA_real_)
  level_delivered / level_requested
}
