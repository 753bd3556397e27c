# What an agent costs beyond its bursts, from quick halves between which it is frozen: the bursts' windows are masked in the half with it, and
# the same stretch of time in the half without it.

# Rows of a design with quick halves: which are stretches that nothing disturbs, and how long the halves were planned; NA: another design.
planned_parts <- function(campaign, id) {
  options <- campaign$launches[[id]]$options
  if (!identical(options$design, "quick")) return(NULL)
  list(quick = c(options$half_period_ns, options$long_half_ns), undisturbed = options$block_ns)
}

# Of these rows those in which an agent ran undisturbed: all, but for quick halves.
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

#' Log ratios of quick halves without what bursts cost
#'
#' @param blocks Data frame, a row per half: `pair`, `arm`, `start_ns`, `first`, `n` (its slices), `planned_ns`.
#' @param ns Numeric: length of all slices.
#' @param bursts Data frame: `start_ns`, `duration_ns`.
#' @param tail_ns How long a burst's window goes on after its end.
#' @return A data frame, a row per pair in the order of time: `pair`, `planned_ns`, `d` (log of mean slice, on over off), `kept` (share of
#'   the slices).
#' @noRd
masked_pairs <- function(blocks, ns, bursts, tail_ns) {
  blocks <- blocks[blocks$n > 0, ]
  on <- blocks[blocks$arm == "on", ]
  off <- blocks[blocks$arm == "off", ]
  on <- on[on$pair %in% off$pair, ]
  on <- on[order(on$start_ns), ]
  off <- off[match(on$pair, off$pair), ]
  if (nrow(on) == 0) return(NULL)
  sums <- c(0, cumsum(ns))
  ends <- bursts$start_ns + bursts$duration_ns + tail_ns
  length_of <- function(half) sums[half$first + half$n] - sums[half$first]
  # Bursts that reach into a half, also those that begin before it.
  at <- findInterval(ends, on$start_ns)
  reach <- at > 0 & bursts$start_ns < (on$start_ns + length_of(on))[pmax(1, at)]
  hit <- split(which(reach), at[reach])
  total <- function(half, i, from, to) {
    slices <- half$first[i] - 1 + seq_len(half$n[i])
    begin <- sums[slices] - sums[half$first[i]]
    masked <- rep(FALSE, length(slices))
    for (k in seq_along(from)) masked <- masked | begin + ns[slices] > from[k] & begin < to[k]
    c(sum(ns[slices][!masked]), sum(!masked))
  }
  time <- cbind(length_of(on), on$n, length_of(off), off$n)
  for (name in names(hit)) {
    i <- as.integer(name)
    from <- bursts$start_ns[hit[[name]]] - on$start_ns[i]
    to <- ends[hit[[name]]] - on$start_ns[i]
    time[i, ] <- c(total(on, i, from, to), total(off, i, from, to))
  }
  data.frame(pair = on$pair, planned_ns = on$planned_ns, d = log(time[, 1] / time[, 2]) - log(time[, 3] / time[, 4]),
             kept = pmin(time[, 2] / on$n, time[, 4] / off$n))
}

# Pairs of which less than this is left are no pairs.
least_kept <- 0.25

#' Slowdown beyond the bursts
#'
#' @param pairs Result of `masked_pairs()`.
#' @param alpha Of the test whether short and long halves differ, length 1.
#' @return A figure (percent), with attributes `n` (pairs) and `note`; NULL with fewer than seven pairs. The mean over all pairs, by pairs
#'   or by blocks of them, whichever is wider. Where long halves show another effect than short ones what the agent leaves behind when it is frozen lasts
#'   longer than a short half: then the long ones alone.
#' @noRd
quick_figure <- function(pairs, alpha = 0.01) {
  pairs <- pairs[is.finite(pairs$d) & pairs$kept >= least_kept, ]
  if (NROW(pairs) < 7) return(NULL)
  long <- pairs$planned_ns > min(pairs$planned_ns)
  note <- NULL
  if (sum(long) >= 3 && sum(!long) >= 3) {
    p <- stats::t.test(pairs$d[long], pairs$d[!long])$p.value
    if (isTRUE(p <= alpha) && sum(long) >= 7) {
      note <- sprintf("short and long halves differ (p = %s): what it leaves behind lasts longer than a short half, so the long ones count alone",
                      format_p(p))
      pairs <- pairs[long, ]
    }
  }
  each <- batch_mean_ci(pairs$d, 0.98)
  blocks <- batch_mean_ci(pairs$d, 0.98, locked_design$groups)
  figure <- figure_of_t(each$estimate, c(each$se, blocks$se), c(each$df, blocks$df))
  structure(figure_as(figure, function(x) 100 * expm1(x)), n = nrow(pairs), note = note)
}

# Of the rows `at` of a launch; NULL where there is none, or no record of bursts.
beyond_of_rows <- function(campaign, id, at, reader = read_slices, alpha = 0.01) {
  parts <- planned_parts(campaign, id)
  if (is.null(parts)) return(NULL)
  rows <- campaign$rows
  mine <- which(rows[["launch"]] == id & rows[["operation"]] == rows[["operation"]][at[1]] & rows[["bytes"]] == rows[["bytes"]][at[1]] &
                rows[["planned_ns"]] %in% parts$quick)
  on <- mine[rows[["arm"]][mine] == "on"]
  got <- if (length(on) > 0) locked_parts(campaign, id, on, reader)
  if (!is.list(got)) return(NULL)
  slices <- reader(got$file, campaign$launches[[id]])
  key <- function(x) paste(x[["operation"]], x[["bytes"]], x[["pair"]], x[["order"]], x[["arm"]], sep = "\r")
  blocks <- slices$blocks
  blocks$planned_ns <- rows[["planned_ns"]][mine][match(key(blocks), key(rows[mine, ]))]
  blocks <- blocks[!is.na(blocks$planned_ns), ]
  quick_figure(masked_pairs(blocks, slices$ns, got$bursts, tail_of(got$timeline)), alpha)
}
