# Slowdown locked to bursts: what each recorded burst of a load cost the loop, from slices of it
# (docs/methods.md, Burst-locked slowdown).

# What is fixed before anything is measured.
locked_design <- list(
  # a burst's window goes on for so long after its end, and at least for so many slices
  tail_ns = 5e5, tail_slices = 2,
  local_slices = 501,              # the local median of a slice is that of so many around it
  # a window counts for at most so many times its length: no single outlier decides, but few may be
  bound = 3, most_bounded = 0.2, most_cut = 0.01, cut_alpha = 0.05,
  least_bursts = 5, least_stretches = 20, most_covered = 0.8,
  flat_share = 0.1,                # what may be lost before the bursts, as a share of what they cost
  shifts = c(200, 1000), looked_up = 5e5,
  groups = 16,                     # blocks of time
  # others are masked where so much is left, and where they are not more frequent in windows at this level
  least_masked = 0.5, mask_alpha = 0.1
)

# Why there is no figure, and that there is one: a closed set, the worst last.
locked_states <- c("measured", "few", "dense", "busy", "not flat", "unrecorded")

# What a slice took beyond the local median of its stretch.
#   ns: length of each slice; n: slices of each stretch, in their order.
slice_excess <- function(ns, n, window = locked_design$local_slices) {
  n <- n[n > 0]
  if (length(n) == 0) return(numeric())
  parts <- split(ns, rep(seq_along(n), n))
  middle <- lapply(parts, function(x) {
    if (length(x) <= window) {
      rep(stats::median(x), length(x))
    } else {
      as.numeric(stats::runmed(x, window, endrule = "constant"))
    }
  })
  excess <- ns - unlist(middle, use.names = FALSE)
  # A loop begins with cold caches, and bursts keep clear of where halves begin: what all first slices have
  # in common is no background.
  if (length(n) >= locked_design$least_stretches) for (k in 1:3) {
    kth <- (cumsum(n) - n + k)[n >= k]
    excess[kth] <- excess[kth] - stats::median(excess[kth])
  }
  excess
}

# One node's slices in one cell, in the order of time. `at`: when each began; `stretch`: the half or the
# part of one that it is in.
loop_timeline <- function(start_ns, n, ns) {
  start_ns <- start_ns[n > 0]
  n <- n[n > 0]
  stretch <- rep(seq_along(n), n)
  begin <- cumsum(ns) - ns
  last <- cumsum(n)
  list(ns = ns, at = start_ns[stretch] + begin - begin[(last - n + 1)[stretch]], stretch = stretch,
       last = last, excess = slice_excess(ns, n))
}

tail_of <- function(timeline) {
  max(locked_design$tail_ns, locked_design$tail_slices * stats::median(timeline$ns))
}

# The bursts that begin within slices, with those that come before the window of the one before has ended
# taken as one: `start`, `end` (ns), `cpu_ns` (all of them together), `first`, `last` (slices of the
# window), `length` (of the window, ns), `stretch`, `on_record` (where the window begins on the record, ns,
# without what lies between stretches).
burst_windows <- function(timeline, bursts, tail_ns = tail_of(timeline)) {
  slice <- findInterval(bursts$start_ns, timeline$at)
  inside <- slice > 0
  inside[inside] <- bursts$start_ns[inside] < (timeline$at + timeline$ns)[slice[inside]]
  bursts <- bursts[inside, ]
  slice <- slice[inside]
  if (nrow(bursts) == 0) return(NULL)
  end <- bursts$start_ns + bursts$duration_ns
  far <- cummax(end)
  new <- c(TRUE, bursts$start_ns[-1] > far[-nrow(bursts)] + tail_ns | diff(timeline$stretch[slice]) != 0)
  group <- cumsum(new)
  first <- slice[new]
  ends <- far[c(which(new)[-1] - 1, nrow(bursts))]
  stretch_last <- timeline$last[timeline$stretch[first]]
  reach <- pmin(ends + tail_ns, (timeline$at + timeline$ns)[stretch_last])
  last <- pmin(pmax(first, findInterval(reach, timeline$at, left.open = TRUE)), stretch_last)
  start <- bursts$start_ns[new]
  # A burst torn in two by another task may have both parts in one slice, which is lost once.
  apart <- c(TRUE, first[-1] > last[-length(last)])
  window <- cumsum(apart)
  final <- c(which(apart)[-1] - 1, length(apart))
  data.frame(start = start[apart], end = ends[final],
             cpu_ns = as.numeric(rowsum(as.numeric(rowsum(bursts$duration_ns, group)), window)),
             first = first[apart], last = last[final], length = pmax(1, reach[final] - start[apart]),
             stretch = timeline$stretch[first[apart]],
             on_record = (cumsum(timeline$ns) - timeline$ns)[first[apart]])
}

# Halves begin together on all nodes, whose clocks do not agree: times of different nodes are compared
# within halves.
stretch_begin <- function(timeline) timeline$at[c(1, timeline$last[-length(timeline$last)] + 1)]

# Bursts of several nodes hold all ranks up, and each node's slices hold all of it: one record of slices,
# that of the node with the most bursts, and the bursts of all on its clock. Those that overlap are then one
# window. `parts`: lists of `timeline` and `bursts` per node.
on_one_timeline <- function(parts) {
  parts <- parts[order(-vapply(parts, function(part) NROW(part$bursts), 0))]
  home <- parts[[1]]
  begin <- stretch_begin(home$timeline)
  moved <- function(part, bursts) {
    there <- stretch_begin(part$timeline)
    at <- findInterval(bursts$start_ns, there)
    bursts <- bursts[at > 0 & at <= length(begin), ]
    at <- at[at > 0 & at <= length(begin)]
    bursts$start_ns <- bursts$start_ns - there[at] + begin[at]
    bursts
  }
  if (length(parts) == 1) return(home)
  join <- function(what) {
    all <- bind_rows(c(list(home[[what]]), lapply(parts[-1], function(part) moved(part, part[[what]]))))
    all[order(all$start_ns), ]
  }
  home$bursts <- join("bursts")
  # who else ran is known where all nodes say it
  home["others"] <- list(if (!any(vapply(parts, function(part) is.null(part$others), NA))) join("others"))
  home
}

bounded <- function(sums, length) {
  pmax(pmin(sums, locked_design$bound * length), -locked_design$bound * length)
}

# Slices that windows cover.
covered_slices <- function(timeline, windows) {
  covered <- rep(FALSE, length(timeline$ns))
  if (NROW(windows) > 0) covered[sequence(windows$last - windows$first + 1, windows$first)] <- TRUE
  covered
}

# Slices in which other tasks ran (`others`: their bursts on the ranks' CPUs; NULL: not known), where these
# may be left out of windows and of what lies between them alike: they come to windows no more often than
# elsewhere (else they may be the agent's doing), and enough is left of both. A flag per slice; NULL:
# nothing is left out.
others_slices <- function(timeline, windows, others) {
  theirs <- if (NROW(others) > 0) burst_windows(timeline, others[order(others$start_ns), ])
  if (is.null(theirs)) return(NULL)
  inside <- covered_slices(timeline, windows)
  hit <- covered_slices(timeline, theirs)
  share <- sum(timeline$ns[inside]) / sum(timeline$ns)
  n <- sum(inside[theirs$first])
  if (stats::pbinom(n - 1, nrow(theirs), min(1, share), lower.tail = FALSE) <= locked_design$mask_alpha) {
    return(NULL)
  }
  left <- function(of) sum(of & !hit) >= locked_design$least_masked * sum(of)
  touched <- windows_touched(windows, hit)
  if (
    !left(!inside) || mean(!touched) < locked_design$least_masked ||
      sum(!touched) < locked_design$least_bursts
  ) {
    return(NULL)
  }
  hit
}

# Whether windows hold a slice of these.
windows_touched <- function(windows, hit) {
  sums <- c(0, cumsum(hit))
  sums[windows$last + 1] > sums[windows$first]
}

# Slices in no window, one after the other, with sums to look up: what windows would have held elsewhere.
# `hit`: slices that are left out.
quiet_record <- function(timeline, windows, hit = NULL) {
  covered <- covered_slices(timeline, windows)
  free <- which(!covered & !(hit %||% FALSE))
  most <- locked_design$bound * tail_of(timeline)
  per_slice <- mean(pmax(pmin(timeline$excess[free], most), -most))
  list(free = free, per_slice = per_slice, ends = c(0, cumsum(timeline$ns[free])),
       sums = c(0, cumsum(timeline$excess[free] - per_slice)))
}

# Windows of one node: what was lost in each, before each, and what the train of bursts would have found
# elsewhere, shifted around the quiet record. `others`: bursts of other tasks: where they may be
# (`others_slices()`), they are left out of both, and `windows` are those without them; `all`: with them, by
# which the bursts' CPU time and rate go.
locked_track <- function(timeline, bursts, n_shifts = NULL, others = NULL) {
  all <- burst_windows(timeline, bursts)
  if (is.null(all)) return(NULL)
  total_ns <- sum(timeline$ns)
  covered <- sum(timeline$ns[covered_slices(timeline, all)]) / total_ns
  hit <- others_slices(timeline, all, others)
  quiet <- quiet_record(timeline, all, hit)
  if (covered > locked_design$most_covered || length(quiet$free) < 20) {
    return(list(windows = all, all = all, covered = covered, total_ns = total_ns))
  }
  windows <- if (is.null(hit)) all else all[!windows_touched(all, hit), ]
  n <- nrow(windows)
  sums <- c(0, cumsum(timeline$excess - quiet$per_slice))
  whole <- sums[windows$last + 1] - sums[windows$first]
  lost <- bounded(whole, windows$length)
  place <- quiet$ends[findInterval(windows$first, quiet$free) + 1]
  length_ns <- quiet$ends[length(quiet$ends)]
  if (is.null(n_shifts)) {
    n_shifts <- min(max(locked_design$looked_up / n, locked_design$shifts[1]), locked_design$shifts[2])
  }
  # what the background cuts, it cuts on top of what the bursts cost; of a cost near the bound it need not
  # be told
  usual <- min(max(0, stats::median(whole / windows$length)), locked_design$bound / 2)
  elsewhere <- found_elsewhere(windows, place, quiet, n_shifts, usual)
  n_cut <- sum(whole > locked_design$bound * windows$length)
  by_chance <- stats::quantile(elsewhere[3, ], 1 - locked_design$cut_alpha, type = 1, names = FALSE)
  list(windows = windows, all = all, place = place, quiet = quiet, covered = covered, total_ns = total_ns,
       lost = lost, elsewhere = elsewhere[1, ], bounded = mean(elsewhere[2, ]) / n, n_cut = n_cut,
       is_cut = n_cut > by_chance + locked_design$most_cut * n,
       before = lost_before(timeline, windows, quiet, sums), room = length_ns / mean(windows$length))
}

# What a train of windows would have found on a quiet record, its own or another launch's, shifted around it
# so many times: sums over the train, how many windows count in part only, and how many would with the usual
# cost of a burst (of its window's length) in them.
found_elsewhere <- function(windows, place, quiet, n_shifts, usual = 0) {
  length_ns <- quiet$ends[length(quiet$ends)]
  # Multiples of the golden ratio: even without falling in step with the bursts.
  shift <- (seq_len(n_shifts) * 0.6180339887498949) %% 1 * length_ns
  most <- locked_design$bound * windows$length
  begin <- outer(place, shift, "+") %% length_ns
  last <- length(quiet$ends)
  from <- clamp(findInterval(begin, quiet$ends), c(1, last - 1))
  to <- pmin(pmax(findInterval(pmin(begin + windows$length, length_ns), quiet$ends, left.open = TRUE), from),
             last - 1)
  held <- matrix(quiet$sums[to + 1] - quiet$sums[from], nrow(windows))
  rbind(colSums(bounded(held, windows$length)), colSums(held > most),
        colSums(held > most - usual * windows$length))
}

# The train of a launch on the records of other launches: `shifts`, means over the bursts, and `places`, how
# many of them are news; NULL without others.
found_in_others <- function(track, others) {
  others <- Filter(function(other) length(other$lost) > 0, others)
  if (length(others) == 0) return(NULL)
  n <- nrow(track$windows)
  each <- max(20, ceiling(length(track$elsewhere) / length(others)))
  shifts <- lapply(others, function(other) {
    found_elsewhere(track$windows, track$place, other$quiet, each)[1, ] / n
  })
  list(shifts = unlist(shifts),
       places = sum(vapply(others, function(other) max(2, min(each, other$room / n)), 0)))
}

# What was lost in as long a time before each burst's first slice; NA where that is not all quiet, or not
# recorded.
lost_before <- function(timeline, windows, quiet, sums) {
  free <- seq_along(timeline$ns) %in% quiet$free
  from <- findInterval(timeline$at[windows$first] - windows$length, timeline$at) + 1
  to <- windows$first - 1
  crowded <- c(0, cumsum(!free))
  known <- from >= 1 & from <= to
  known[known] <- timeline$stretch[from[known]] == timeline$stretch[windows$first[known]] &
    crowded[to[known] + 1] == crowded[from[known]]
  lost <- rep(NA_real_, nrow(windows))
  lost[known] <- bounded(sums[to[known] + 1] - sums[from[known]], windows$length[known])
  lost
}

# What bursts cost, a row with the columns of `locked_row()`: see docs/methods.md, Burst-locked slowdown.
# `others`: tracks of other launches of the cell: the train of bursts is put on their records, too, the
# larger p and the wider scatter count. `scheduled`: did noiselab itself draw when bursts come? Else their
# rate is an estimate, and what may have been lost before them is taken off the lower end. Davison, A. C.
# and Hinkley, D. V. (1997) Bootstrap Methods and their Application, chapter 4; Rambachan, A. and Roth, J.
# (2023) A more credible approach to parallel trends, Review of Economic Studies 90 (time before bursts).
locked_cost <- function(track, alpha = 0.01, conf = 1 - alpha, power = 0.95, others = list(),
                        scheduled = FALSE) {
  windows <- track$windows
  n <- NROW(windows)
  if (n == 0) return(locked_none("few", "no burst on a rank's CPU lies in a slice", n_bursts = 0))
  all <- track$all
  known <- list(n_bursts = nrow(all), bursts_per_s = nrow(all) / track$total_ns * 1e9,
                burst_cpu_ns = mean(all$cpu_ns), seconds = track$total_ns / 1e9)
  none <- function(...) do.call(locked_none, c(list(...), known))
  if (n < locked_design$least_bursts) {
    return(none(
      "few", sprintf("%d bursts on the ranks' CPUs, at least %d are needed", n, locked_design$least_bursts)
    ))
  }
  lost <- track$lost
  if (length(lost) == 0) {
    return(none("dense", "bursts follow each other so closely that no time is left to compare with"))
  }
  if (track$bounded > locked_design$most_bounded) {
    return(none(
      "busy",
      sprintf(
        paste0("other tasks delayed %.0f %% of equally long burst-free windows; the burst cost cannot be ",
               "separated from theirs"),
        100 * track$bounded
      )
    ))
  }
  shifts <- track$elsewhere / n
  # Shifts beyond these hardly differ from those: at steady bursts the period holds so many windows beside
  # one another.
  places <- max(2, min(length(shifts), track$room / n))
  spread <- stats::sd(shifts) * sqrt(1 + 1 / places)
  between <- found_in_others(track, others)
  if (!is.null(between)) spread <- max(spread, stats::sd(between$shifts) * sqrt(1 + 1 / between$places))
  amplification <- amplification_figure(lost, windows$cpu_ns, mean(shifts), spread, places)
  cost <- amplification$value * known$burst_cpu_ns
  before <- before_bursts(track$before - mean(shifts), cost, alpha, scheduled)
  if (is.character(before)) return(none("not flat", before))
  use <- if (scheduled) {
    figure_of_t(sum(all$cpu_ns) / track$total_ns, 0, Inf)
  } else {
    use_figure(all$on_record, all$cpu_ns, all$stretch, track$total_ns)
  }
  lower <- if (!is.null(before)) function(a) before(a) / known$burst_cpu_ns
  at_least <- track$is_cut
  figure <- bursts_figure(amplification, use, lower, at_least)
  own <- stats::sd(lost) / sqrt(n)
  p <- shift_p(mean(lost), shifts, places, own)
  if (!is.null(between)) p <- max(p, shift_p(mean(lost), between$shifts, between$places, own))
  if (!is.null(before)) p <- max(p, figure_p(figure, 0))
  # What bursts that cost something scatter is their cost's, not the background's.
  error <- if (p <= alpha) spread else max(spread, own)
  slowdown <- function(cost_ns) {
    share <- cost_ns * known$bursts_per_s / 1e9
    if (isTRUE(share < 1)) 100 * share / (1 - share) else NA_real_
  }
  amplified <- amplification$ends((1 - conf) / 2)
  if (!is.null(before)) amplified[1] <- amplified[1] - max(0, lower((1 - conf) / 2))
  if (at_least) amplified[2] <- Inf
  ends <- figure$ends((1 - conf) / 2)
  locked_row(
    c(
      known,
      list(cost_ns = cost, cost_low_ns = amplified[1] * known$burst_cpu_ns,
           cost_high_ns = amplified[2] * known$burst_cpu_ns, slowdown_percent = figure$value,
           slowdown_low = ends[1], slowdown_high = ends[2], p_value = p,
           limit_percent = slowdown(detection_limit(error, places - 1, alpha, power)),
           amplification = amplification$value, amplification_low = amplified[1],
           amplification_high = amplified[2], z = (mean(lost) - mean(shifts)) / max(spread, own),
           state = "measured")
    ),
    figure
  )
}

# `places`: how many of the shifts are news; `own`: standard error of the observed mean by the bursts
# themselves. Few places hardly know how rarely the background comes and how much it then takes: bursts that
# met more of it than all shifts scatter by it, too.
shift_p <- function(observed, shifts, places, own = 0) {
  counted <- (1 + places * mean(shifts >= observed)) / (1 + places)
  spread <- stats::sd(shifts) * sqrt(1 + 1 / places)
  if (any(shifts >= observed) || spread == 0) return(counted)
  z <- (observed - mean(shifts)) / max(spread, own)
  skew <- max(1e-3, mean(((shifts - mean(shifts)) / stats::sd(shifts))^3))
  shape <- 4 / skew^2
  tails <- c(stats::pt(z, places - 1, lower.tail = FALSE),
             stats::pgamma(shape + z * sqrt(shape), shape, lower.tail = FALSE))
  min(counted, max(.Machine$double.xmin, tails))
}

# What was lost before bursts begin speaks against them as the cause. A text: why there is no figure; NULL:
# the time before is shown to be flat; else what may have been lost there, a function of the level.
before_bursts <- function(before, cost, alpha, scheduled = FALSE) {
  before <- before[!is.na(before)]
  if (length(before) < locked_design$least_bursts) {
    return(
      if (!scheduled) {
        "too few bursts had a quiet time before them to tell whether the loop was slower already"
      }
    )
  }
  blocks <- batch_mean_ci(before, 1 - 2 * alpha, locked_design$groups)
  allowed <- locked_design$flat_share * max(0, cost)
  if (isTRUE(blocks$low > allowed)) {
    return(sprintf(
      paste0("the loop was slower before the bursts already (by %.3g us in as long a time; they cost %.3g): ",
             "the bursts may be the consequence, not the cause"),
      mean(before) / 1000,
      cost / 1000
    ))
  }
  if (scheduled || blocks$high <= allowed) return(NULL)
  figure <- figure_of_t(mean(before), blocks$se, blocks$df)
  function(a) figure$ends(a)[2]
}

locked_columns <- c(
  stats::setNames(
    as.list(rep(NA_real_, 16)),
    c("n_bursts", "seconds", "bursts_per_s", "burst_cpu_ns", "cost_ns", "cost_low_ns", "cost_high_ns",
      "slowdown_percent", "slowdown_low", "slowdown_high", "p_value", "limit_percent", "amplification",
      "amplification_low", "amplification_high", "z")
  ),
  list(state = NA_character_, reason = NA_character_)
)

# `figure`: see estimate-figures.R; NULL: none.
locked_row <- function(values, figure = NULL) {
  row <- as.data.frame(utils::modifyList(locked_columns, lapply(values, unname)))
  row$figure <- list(figure)
  row
}

locked_none <- function(state, reason, ...) locked_row(list(..., state = state, reason = reason))

# Burst-locked slowdown of launches: from the files of a campaign to a row per launch and operation.

# Of every launch with an agent, per operation and size, what its bursts on the ranks' CPUs cost the loop
# while it ran undisturbed; NULL without one. `alpha`: one-sided level of the limit and of the look at the
# time before the bursts; intervals have 1 - 2 alpha. Columns: those of `locked_row()`: `n_bursts` (those
# that follow each other within a window are one), `seconds` (of loop time with the agent), `cost_ns` (of a
# burst, to all ranks), `slowdown_percent` (cost x bursts per second, of the time that is left),
# `amplification` (cost over CPU time); `watched_s` (undisturbed time with it), `is_quick` (quick halves?),
# `beyond` (their figure), `seen_ns` (lengths of all of its bursts in measured time with it, quick halves as
# well).
locked_by_launch <- function(campaign, alpha = 0.01, reader = slices_reader()) {
  rows <- campaign$rows
  on <- rows[["arm"]] == "on" & is_agent_row(rows)
  ids <- Filter(function(id) switches_agent(campaign$launches[[id]]),
                unique(as.character(rows[["launch"]][on])))
  cells <- unlist(unname(lapply(ids, function(id) {
    mine <- which(on & rows[["launch"]] == id)
    mine <- undisturbed_rows(campaign, mine)
    unname(split(mine, in_order(paste(rows[["operation"]][mine], rows[["bytes"]][mine]))))
  })), recursive = FALSE)
  key <- vapply(cells,
                function(at) paste(rows[["operation"]][at[1]], rows[["bytes"]][at[1]], rows[["kind"]][at[1]]),
                "")
  tracks <- lapply(cells, function(at) {
    track_of_rows(campaign, as.character(rows[["launch"]][at[1]]), at, reader)
  })
  bind_rows(lapply(seq_along(cells), function(i) {
    first <- cells[[i]][1]
    others <- Filter(is.list, tracks[setdiff(which(key == key[i]), i)])
    id <- as.character(rows[["launch"]][first])
    row <- cbind(
      data.frame(launch = id, operation = as.character(rows[["operation"]][first]),
                 bytes = rows[["bytes"]][first]),
      cost_of_track(tracks[[i]], alpha, 1 - 2 * alpha, others = others)
    )
    row$watched_s <- sum(rows[["wall_ns"]][cells[[i]]]) / 1e9
    row$is_quick <- !is.null(planned_parts(campaign, id))
    row$beyond <- list(
      if (row$state %in% c("measured", "few")) beyond_of_rows(campaign, id, cells[[i]], reader, alpha)
    )
    row$seen_ns <- list(seen_bursts(campaign, id, row$operation, row$bytes))
    row
  }))
}

# Lengths, ns, of the agent's bursts on the ranks' CPUs in the measured halves of a cell with it, of any
# kind; NULL: not all are known.
seen_bursts <- function(campaign, id, operation, bytes) {
  account <- campaign$agents
  on <- is_agent_row(account) & account[["launch"]] == id & account[["operation"]] == operation &
    account[["bytes"]] == bytes
  hosts <- unique(as.character(account[["host"]][on]))
  each <- lapply(hosts, function(host) {
    bursts <- own_bursts_of(campaign, id, host)
    if (is.character(bursts)) return(NULL)
    mine <- which(on & account[["host"]] == host)
    halves <- data.frame(start = account[["start_ns"]][mine], wall = account[["wall_ns"]][mine], row = mine)
    as.numeric(in_halves(on_ranks(bursts, campaign, id, host), halves[order(halves$start), ])$duration_ns)
  })
  if (length(each) > 0 && !any(vapply(each, is.null, TRUE))) unlist(each)
}

# Rows of `locked_by_launch()` together, one per operation and size, with `n_launches` and `heterogeneity_p`
# (Cochran's Q; NA of one launch): about these launches. Each counts by its bursts; the worst state wins,
# and without a figure of one there is none. `alpha`: intervals have 1 - alpha. `like`: about launches like
# these: the launch is the unit then.
pool_locked <- function(rows, alpha = 0.02, like = FALSE) {
  if (NROW(rows) == 0) return(NULL)
  groups <- split(rows, in_order(paste(rows$operation, rows$bytes)))
  bind_rows(lapply(groups, function(group) {
    cell <- pool_locked_cell(group, alpha)
    if (like && cell$state == "measured" && nrow(group) > 1) cell <- over_launches(cell, group, alpha)
    cbind(group[1, c("operation", "bytes")], cell, row.names = NULL)
  }))
}

# What launches differ by counts, too.
over_launches <- function(cell, group, alpha) {
  k <- nrow(group)
  for (columns in list(c("cost_ns", "cost_low_ns", "cost_high_ns"),
                       c("amplification", "amplification_low", "amplification_high"))) {
    reach <- stats::qt(1 - alpha / 2, k - 1) * stats::sd(group[[columns[1]]]) / sqrt(k)
    centre <- cell[[columns[1]]]
    cell[[columns[2]]] <- min(cell[[columns[2]]], centre - reach)
    cell[[columns[3]]] <- max(cell[[columns[3]]], centre + reach)
  }
  se <- stats::sd(group$slowdown_percent) / sqrt(k)
  these <- cell$figure[[1]]
  cell$figure <- list(figure_of(these$value, function(a) {
    ends <- these$ends(a)
    reach <- stats::qt(1 - a, k - 1) * se
    c(min(ends[1], these$value - reach), max(ends[2], these$value + reach))
  }))
  cell[c("slowdown_low", "slowdown_high")] <- as.list(cell$figure[[1]]$ends(alpha / 2))
  if (se > 0) {
    cell$p_value <- max(cell$p_value, stats::pt(cell$slowdown_percent / se, k - 1, lower.tail = FALSE))
  }
  cell$limit_percent <- max(cell$limit_percent, detection_limit(se, k - 1, alpha / 2), na.rm = TRUE)
  cell
}

pool_locked_cell <- function(group, alpha) {
  k <- nrow(group)
  worst <- which.max(match(group$state, locked_states))
  if (group$state[worst] != "measured" || k == 1) {
    return(cbind(group[worst, c(names(locked_columns), "figure")], n_launches = k, heterogeneity_p = NA_real_,
                 row.names = NULL))
  }
  q <- stats::qnorm(1 - alpha / 2)
  se <- function(low, high) (group[[high]] - group[[low]]) / (2 * q)
  pooled <- function(value, low, high, weight) {
    weight <- weight / sum(weight)
    centre <- sum(weight * group[[value]])
    reach <- q * sqrt(sum((weight * se(low, high))^2))
    stats::setNames(list(centre, centre - reach, centre + reach), c(value, low, high))
  }
  share <- group$seconds / sum(group$seconds)
  figure <- figures_together(group$figure, function(...) sum(share * c(...)))
  ends <- figure$ends(alpha / 2)
  z <- sum(stats::qnorm(pmin(pmax(group$p_value, .Machine$double.xmin), 1 - 1e-16),
                        lower.tail = FALSE)) / sqrt(k)
  values <- c(
    list(n_bursts = sum(group$n_bursts), seconds = sum(group$seconds),
         bursts_per_s = sum(group$n_bursts) / sum(group$seconds),
         burst_cpu_ns = stats::weighted.mean(group$burst_cpu_ns, group$n_bursts)),
    pooled("cost_ns", "cost_low_ns", "cost_high_ns", group$n_bursts),
    list(slowdown_percent = figure$value, slowdown_low = ends[1], slowdown_high = ends[2]),
    pooled("amplification", "amplification_low", "amplification_high", group$n_bursts * group$burst_cpu_ns),
    list(p_value = max(.Machine$double.xmin, stats::pnorm(z, lower.tail = FALSE)),
         limit_percent = sqrt(sum((share * group$limit_percent)^2)), z = z, state = "measured")
  )
  row <- locked_row(values, figure)
  cbind(row, n_launches = k,
        heterogeneity_p = heterogeneity(group$slowdown_percent, se("slowdown_low", "slowdown_high")))
}

# The rows `at` of one launch, all under the same treatment.
locked_of_rows <- function(campaign, id, at, alpha, conf, power = 0.95, reader = read_slices) {
  cost_of_track(track_of_rows(campaign, id, at, reader), alpha, conf, power,
                scheduled = !is_agent_row(campaign$rows[at[1], ]))
}

# A text: why there is none; NULL: no burst.
track_of_rows <- function(campaign, id, at, reader) {
  parts <- locked_parts(campaign, id, at, reader)
  if (is.character(parts)) return(parts)
  track <- locked_track(parts$timeline, parts$bursts, others = parts$others)
  if (!is_agent_row(campaign$rows[at[1], ])) {
    track <- paid_bursts(track, sum(campaign$rows[["delivered_ns"]][at]))
  }
  track
}

cost_of_track <- function(track, alpha, conf, power = 0.95, others = list(), scheduled = FALSE) {
  if (is.character(track)) {
    locked_none("unrecorded", track)
  } else {
    locked_cost(track, alpha, conf, power, others, scheduled)
  }
}

# The generator notes when a burst began and ended; where others had the CPU meanwhile that is longer than
# what it ran, which its account knows.
paid_bursts <- function(track, delivered_ns) {
  share <- delivered_ns / sum(track$all$cpu_ns)
  if (isTRUE(share > 0 && share < 1)) {
    for (which in c("windows", "all")) {
      track[[which]]$cpu_ns <- track[[which]]$cpu_ns * share
    }
  }
  track
}

# Reads each file once.
slices_reader <- function() {
  read <- new.env()
  function(file, info) {
    if (is.null(read[[file]])) assign(file, read_slices(file, info), envir = read)
    read[[file]]
  }
}

# ---- as rows of verdicts -----------------------------------------------------------------------

# A launch's row of the channel `locked`; NULL where there is no load, or nothing was recorded of it.
locked_verdict <- function(campaign, label, at, settings, reader) {
  if (length(at) == 0 || !isTRUE(label$level_requested_percent > 0)) return(NULL)
  got <- locked_of_rows(campaign, label$launch, at, settings$alpha, settings$conf, settings$power, reader)
  if (got$state == "unrecorded") return(NULL)
  label$level_delivered_percent <- delivered_percent(campaign$rows[["level_delivered_percent"]][at],
                                                     campaign$rows[["wall_ns"]][at])
  label$delivered_ratio <- delivered_ratio(label$level_delivered_percent, label$level_requested_percent)
  locked_verdict_row(label, got, length(at), 1, settings)
}

# Of the rows of single launches; NULL without any.
locked_pooled_verdict <- function(rows, label, settings) {
  if (NROW(rows) < 2) return(NULL)
  got <- pool_locked_cell(bind_rows(rows$raw_locked), 2 * settings$alpha)
  label[c("level_delivered_percent", "delivered_ratio")] <- list(
    mean(rows$level_delivered_percent), mean(rows$delivered_ratio)
  )
  locked_verdict_row(label, got, sum(rows$n_pairs), nrow(rows), settings)
}

locked_verdict_row <- function(label, got, n_pairs, n_launches, settings) {
  q <- stats::qnorm(1 - settings$alpha)
  est <- list(estimate = got$slowdown_percent, low = got$slowdown_low, high = got$slowdown_high,
              se = (got$slowdown_high - got$slowdown_low) / (2 * q), df = Inf, p = got$p_value, z = got$z,
              limit = got$limit_percent, method = "shifts of the bursts", estimator = "mean",
              why = "what a burst costs, times bursts per second")
  est$mean <- est[c("estimate", "low", "high", "se", "df")]
  row <- verdict_row(label, "locked", n_pairs, got$n_bursts, n_launches, est, got$reason, settings, "burst",
                     est$estimate)
  row$raw_locked <- list(got)
  row
}

# The slices of these rows, and the bursts of their load on the ranks' CPUs of all nodes; or why there are
# none, a text.
locked_parts <- function(campaign, id, at, reader = read_slices) {
  info <- campaign$launches[[id]]
  rows <- campaign$rows[at, ]
  dir <- campaign$paths[[id]]
  files <- list.files(dir, "^slices\\..+\\.bin$")
  if (length(files) == 0) return(if (start_mode(info) == "loop") "no slices of the loop were recorded" else
                                 "synchronised starts have no slices")
  is_agents <- is_agent_row(rows)[1]
  lacking <- setdiff(loaded_hosts(campaign, id, is_agents), sub("^slices\\.(.+)\\.bin$", "\\1", files))
  if (length(lacking) > 0) return(paste("no slices of", few_words(lacking, 3)))
  parts <- lapply(files, function(file) {
    host <- sub("^slices\\.(.+)\\.bin$", "\\1", file)
    bursts <- if (is_agents) recorded_bursts_of_agent(campaign, id, host) else bursts_of_generator(dir, host)
    if (is.character(bursts)) return(bursts)
    list(file = file.path(dir, file), timeline = timeline_of(reader(file.path(dir, file), info), rows),
         bursts = on_ranks(bursts, campaign, id, host),
         others = if (is_agents) others_bursts(campaign, id, host))
  })
  wrong <- Filter(is.character, parts)
  if (length(wrong) > 0) wrong[[1]] else on_one_timeline(parts)
}

# Nodes of ranks that had the load, by the agent's account or the generator's trace.
loaded_hosts <- function(campaign, id, is_agents) {
  ranks <- as.character(campaign$ranks[["host"]][campaign$ranks[["launch"]] == id])
  if (is_agents) {
    rows <- campaign$agents[campaign$agents[["launch"]] == id, ]
    if (NROW(rows) == 0) return(character())
    return(intersect(
      as.character(rows[["host"]][is_agent_row(rows) & (rows[["agent_cpu_ns"]] > 0) %in% TRUE]), ranks
    ))
  }
  traces <- list.files(campaign$paths[[id]], "^generator\\..+\\.trace$", full.names = TRUE)
  loaded <- vapply(traces, function(file) any(grepl("^[0-9]", readLines(file, 20))), TRUE)
  intersect(sub("^generator\\.(.+)\\.trace$", "\\1", basename(traces[loaded])), ranks)
}

timeline_of <- function(slices, rows) {
  same <- c("operation", "bytes", "pair", "order")
  blocks <- slices$blocks[row_key(slices$blocks, same) %in% row_key(rows, same), ]
  loop_timeline(blocks$start_ns, blocks$n, slices$ns[sequence(blocks$n, blocks$first)])
}

# On the clock of the slices.
absolute_bursts <- function(bursts, file) {
  origin <- suppressWarnings(as.numeric(attr(bursts, "keys")$origin_monotonic_ns %||% NA))
  if (is.na(origin)) return(paste0("'", basename(file), "' does not say when its time begins"))
  bursts$start_ns <- bursts$start_ns + origin
  bursts
}

recorded_bursts_of_agent <- function(campaign, id, host) {
  bursts <- own_bursts_of(campaign, id, host)
  if (is.character(bursts)) bursts else absolute_bursts(bursts, attr(bursts, "file"))
}

no_tasks_of_its_own <- paste0("which tasks are the agent's is not known: commands switch or scrape it ",
                              "(--agent-pid, --agent-cgroup or --agent-unit would name them)")

# On the launch's own clock, with `keys` and `file`; a text: why there are none.
own_bursts_of <- function(campaign, id, host) {
  file <- campaign$bursts$file[campaign$bursts$launch == id & campaign$bursts$host == host]
  if (!knows_agents_tasks(campaign, id, host)) return(no_tasks_of_its_own)
  if (length(file) == 0) return("no bursts of the agent were recorded")
  bursts <- read_bursts(file)
  not_kept <- suppressWarnings(as.numeric(attr(bursts, "keys")$not_kept %||% 0))
  if (isTRUE(not_kept > 0)) {
    return(sprintf(
      "%s bursts found no room in the record (--who auto:keep-bursts=yes keeps more, less time needs fewer)",
      not_kept
    ))
  }
  tasks <- campaign$tasks
  mine <- unique(tasks[["task"]][
    tasks[["launch"]] == id & tasks[["host"]] == host & tasks[["group"]] == "agent"
  ])
  # By its own account nothing on ranks' CPUs: bursts of tasks that nobody could name are not the agent's
  # then.
  cpu_ns <- campaign$agents[["agent_on_ranks_ns"]][
    campaign$agents[["launch"]] == id & campaign$agents[["host"]] == host
  ]
  if (nrow(bursts) > 0 && !any(bursts$task %in% mine) && !(length(cpu_ns) > 0 && all(cpu_ns %in% 0))) {
    return("the bursts' tasks were not identified; run as root or with CAP_PERFMON")
  }
  structure(bursts[bursts$task %in% mine, ], keys = attr(bursts, "keys"), file = file)
}

# Of other tasks and kernel threads on the ranks' CPUs; NULL: not all are on record.
others_bursts <- function(campaign, id, host) {
  file <- file.path(campaign$paths[[id]], paste0("others.", host, ".trace"))
  if (!file.exists(file)) return(NULL)
  bursts <- read_bursts(file)
  keys <- attr(bursts, "keys")
  if (
    !identical(as.character(keys$not_kept %||% "0"), "0") || !identical(as.character(keys$lost %||% "0"), "0")
  ) {
    return(NULL)
  }
  bursts <- absolute_bursts(bursts, file)
  if (!is.character(bursts)) on_ranks(bursts, campaign, id, host)
}

bursts_of_generator <- function(dir, host) {
  file <- file.path(dir, paste0("generator.", host, ".trace"))
  if (file.exists(file)) {
    absolute_bursts(read_bursts(file), file)
  } else {
    "no bursts of the generator were recorded"
  }
}

# Bursts elsewhere cost no rank its CPU.
on_ranks <- function(bursts, campaign, id, host) {
  ranks <- campaign$ranks
  cpus <- unique(ranks[["cpu"]][ranks[["launch"]] == id & ranks[["host"]] == host])
  cpus <- cpus[!is.na(cpus) & cpus >= 0]
  if (length(cpus) == 0) return(bursts)
  bursts[is.na(bursts$cpu) | bursts$cpu %in% cpus, ]
}
