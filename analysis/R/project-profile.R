# One run of a program under noiselab profile: shares of time, who waited for whom and why, and what an
# interruption would cost.

profile_tables <- c("operations", "ranks", "exposure", "calls", "counters")

# ---- arrivals ----------------------------------------------------------------------------------

# Calls that every rank of the communicator looked at, with what each rank lost in them: `last_ns`, arrival
# of the last; `waited_ns`; `noise_ns`, preempted and, where it did not sleep, off its CPU. The following,
# one for the call, add up to the mean of `waited_ns`: `noise_waited_ns` goes away without noise,
# `carried_ns` then if all leave the call before at one time (who loses its CPU within a call leaves it
# late), `unequal_ns` is the rest. The means over ranks of these add up to it, too: `within_ns` and
# `between_ns`, the wait for the last of the own node, and from there for the last of all.
whole_calls <- function(arrivals) {
  a <- as.data.frame(arrivals)
  a$group <- group_numbers(combine_keys(a$communicator, a$call))
  whole <- tabulate(a$group)[a$group] == a$ranks & !duplicated(a[c("group", "rank")]) &
    a$operation == a$operation[match(a$group, a$group)]
  a <- a[!a$group %in% a$group[!whole], ]
  a$group <- group_numbers(a$group)
  a$noise_ns <- pmax(0, a$preempted_ns) + ifelse(a$slept == 1, 0, a$off_cpu_ns)
  a$own_ns <- own_work_ns(a)
  a$last_ns <- largest_by(a$arrived_ns, a$group)
  a$waited_ns <- a$last_ns - a$arrived_ns
  mean_wait <- function(arrived_ns) mean_by(largest_by(arrived_ns, a$group) - arrived_ns, a$group)
  within <- function(x, most) pmin(pmax(x, 0), most)
  wait_ns <- mean_wait(a$arrived_ns)
  quiet_ns <- a$arrived_ns - a$noise_ns
  a$noise_waited_ns <- within(wait_ns - mean_wait(quiet_ns), wait_ns)
  a$carried_ns <- within(mean_wait(quiet_ns) - mean_wait(quiet_ns - a$since_ns), wait_ns - a$noise_waited_ns)
  a$unequal_ns <- wait_ns - a$noise_waited_ns - a$carried_ns
  node_last_ns <- largest_by(a$arrived_ns, group_numbers(combine_keys(a$group, a$node)))
  a$within_ns <- node_last_ns - a$arrived_ns
  a$between_ns <- a$last_ns - node_last_ns
  a
}

# Time between two sampled calls that was neither in other MPI calls nor lost to noise outside of them, ns.
# Where the profile does not know how much was lost inside these calls, as much as they can hold was.
own_work_ns <- function(a) {
  lost_ns <- if (is.null(a$mpi_preempted_ns)) {
    NA_real_
  } else {
    a$mpi_preempted_ns + ifelse(a$slept == 1, 0, a$mpi_off_cpu_ns)
  }
  inside_ns <- pmin(ifelse(is.na(lost_ns), a$mpi_ns, lost_ns), a$mpi_ns, a$noise_ns)
  pmax(0, a$arrived_ns - a$since_ns - a$mpi_ns - (a$noise_ns - inside_ns))
}

group_numbers <- function(key) match(key, unique(key))

# The largest of each group, in every row of it; groups are numbered from 1.
largest_by <- function(x, group) {
  at <- order(group, x)
  ends <- at[!duplicated(group[at], fromLast = TRUE)]
  x[ends][match(group, group[ends])]
}

mean_by <- function(x, group) (rowsum(x, group)[, 1] / tabulate(group))[group]

# Where most of the program's time is between its calls: of most ranks, and of those the longest.
main_communicator <- function(calls) {
  span <- tapply(calls$left_ns, calls$communicator, max) - tapply(calls$since_ns, calls$communicator, min)
  ranks <- calls$ranks[match(names(span), calls$communicator)]
  names(span)[order(-ranks, -span)][1]
}

# What an interruption of `delta_ns` of one rank costs, as a share of it: its time and rank are taken at
# random. A rank that works arrives later by it, and delays the call by what is beyond its wait; one that
# waits anyway is delayed by what is left of it when the last arrives; within the operation all of it
# counts. The interval is that of a ratio of sums over calls.
exposure_of <- function(calls, delta_ns, conf) {
  z <- stats::qnorm((1 + conf) / 2)
  w <- calls$waited_ns
  time <- rowsum(pmax(0, calls$left_ns - calls$since_ns), calls$group)[, 1]
  n <- length(time)
  one <- function(delta) {
    working <- pmax(0, calls$arrived_ns - calls$since_ns) * pmax(0, delta - w)
    waiting <- ifelse(w < delta, delta * w - w^2 / 2, delta^2 / 2)
    operating <- pmax(0, calls$left_ns - calls$last_ns)
    cost <- rowsum(working + waiting + operating * delta, calls$group)[, 1]
    ratio <- sum(cost) / sum(time) / delta
    se <- if (n > 1) sqrt(n / (n - 1) * sum((cost / delta - ratio * time)^2)) / sum(time) else NA_real_
    data.frame(interruption_ns = delta, cost_ns = ratio * delta, cost_low_ns = max(0, ratio - z * se) * delta,
               cost_high_ns = min(1, ratio + z * se) * delta, calls = n)
  }
  do.call(rbind, lapply(delta_ns, one))
}

# ---- the whole ---------------------------------------------------------------------------------

exposure_lengths_ns <- c(1e4, 1e5, 1e6, 1e7)

# A list: shares (of the ranks' time, by class), operations, ranks, exposure, calls, counters (data.frames;
# exposure and calls NULL without arrivals, counters where the kernel's were not read), waiting (a list of
# sums), notes.
profile_report <- function(profile, alpha = 0.01) {
  conf <- 1 - 2 * alpha
  calls <- whole_calls(profile$arrivals)
  total <- sum(profile$ranks[["wall_ns"]])
  operations <- profile_operations(profile, calls, total)
  shares <- tapply(
    operations$share,
    factor(operations$class, c("synchronising", "collective", "nonblocking", "point-to-point")), sum,
    default = 0
  )
  notes <- profile$notes
  if (nrow(calls) == 0) {
    ranks <- profile_ranks(profile, NULL)
    return(list(
      profile = profile,
      shares = shares,
      operations = operations[names(operations) != "key"],
      ranks = ranks,
      counters = counters_of_profile(profile$ranks),
      largest = largest_waiting(profile, operations, ranks),
      notes = c(
        paste0(
          "no synchronising call was sampled on all its ranks: who is late, and the exposure, are not known",
          if (is_python(profile$info)) python_advice
        ),
        notes
      )
    ))
  }
  main <- calls[calls$communicator == main_communicator(calls), ]
  main$group <- group_numbers(main$group)
  ranks <- profile_ranks(profile, main)
  sleeps <- any(main$off_cpu_ns[main$slept == 1] > 0)
  list(
    profile = profile,
    shares = shares,
    operations = operations[names(operations) != "key"],
    ranks = ranks,
    main = main,
    conf = conf,
    largest = largest_waiting(profile, operations, ranks),
    waiting = list(wait_ns = mean(main$waited_ns), noise_ns = mean(main$noise_waited_ns),
                   carried_ns = mean(main$carried_ns), unequal_ns = mean(main$unequal_ns),
                   within_ns = mean(main$within_ns), between_ns = mean(main$between_ns)),
    exposure = exposure_of(main, exposure_lengths_ns, conf),
    calls = profile_calls(main),
    counters = counters_of_profile(profile$ranks),
    notes = c(
      coupling_note(main),
      notes,
      if (sleeps) {
        paste0("a rank gave up its CPU of itself between calls: what it was off its CPU then counts as its ",
               "own work, not as noise")
      }
    )
  )
}

# mpi4py's lower-case reductions and broadcasts of Python objects are trees of sends and receives.
python_advice <- paste0(
  "; calls of mpi4py in lower case (comm.allreduce) send pickled objects from rank to rank: those in upper ",
  "case ",
  "(comm.Allreduce), of arrays, can be sampled"
)

is_python <- function(info) {
  any(grepl("^python[0-9.]*$", basename(c(unlist(info$command), info$profiled_program %||% ""))))
}

# Ranks that wait for each other between these calls, too, are all late when one is.
coupling_note <- function(main) {
  share <- sum(main$mpi_ns) / max(1, sum(main$arrived_ns - main$since_ns))
  if (share > 0.05) {
    sprintf(
      paste(
        paste0("ranks spent %s of the time between these calls in other MPI calls, where they may wait for ",
               "each other: whose delay it was"),
        "is known less well"
      ),
      percent_of_time(share)
    )
  }
}

# ---- where most of the waiting is -----------------------------------------------------------------

# The operation in which ranks wait most, whatever call it is: of sampled synchronising calls the waiting is
# measured; in others it is the time beyond their shortest call, in which nobody was late. A rank is waited
# for where it spends less time in these calls than the others, by a fifth of the waiting at least: where
# ranks are late in turn it is none. A list: `words` (of the operation), `share` (of the ranks' time),
# `each_ns` (mean over calls and ranks), `is_measured`, `rank` (that is waited for; NA: none), with it
# `longer` (its time between calls against the mean of the others', a share) and `by_noise` (of that excess,
# the share that was noise; NA: not sampled). NULL: no waiting of half a percent of the time.
largest_waiting <- function(profile, operations, ranks) {
  total <- sum(profile$ranks[["wall_ns"]])
  all <- as.data.frame(profile$operations)
  all$communicator[is.na(all$communicator)] <- ""
  all$key <- combine_keys(all$operation, all$bytes_lo, all$communicator, all$ranks)
  sampled <- operations[!is.na(operations$waiting), ]
  rows <- data.frame(key = sampled$key, waited_ns = sampled$waiting * sampled$inside_ns,
                     rank = rep(NA_real_, nrow(sampled)))
  for (one in split(all, all$key)) {
    if (one$key[1] %in% rows$key || length(unique(one$rank)) < 2) next
    mean_ns <- one$inside_ns / pmax(1, one$calls)
    often <- one$calls >= stats::median(one$calls) / 2
    least <- which.min(ifelse(often, mean_ns, Inf))
    alone_ns <- if (is.null(one$shortest_ns) || anyNA(one$shortest_ns)) {
      mean_ns[least]
    } else {
      min(one$shortest_ns[often])
    }
    waited_ns <- sum(one$calls * pmax(0, mean_ns - alone_ns))
    later_ns <- mean(mean_ns[often & seq_along(mean_ns) != least]) - mean_ns[least]
    is_awaited <- isTRUE(later_ns > 0.2 * waited_ns / sum(one$calls))
    rows <- rbind(
      rows,
      data.frame(key = one$key[1], waited_ns = waited_ns,
                 rank = if (is_awaited) one$rank[least] else NA_real_)
    )
  }
  if (nrow(rows) == 0 || max(rows$waited_ns) < 0.005 * total) return(NULL)
  top <- rows[which.max(rows$waited_ns), ]
  row <- operations[operations$key == top$key, ]
  c(
    list(words = operation_words(row), share = top$waited_ns / total, each_ns = top$waited_ns / row$calls,
         is_measured = top$key %in% sampled$key, rank = top$rank),
    if (!is.na(top$rank)) awaited_rank(top$rank, all, ranks)
  )
}

# What the rank that others wait for does longer than they: by all calls, and by the sampled stretches what
# of it was noise.
awaited_rank <- function(rank, operations, ranks) {
  between <- rowsum(operations$outside_ns, operations$rank)[, 1]
  own <- names(between) == rank
  longer <- between[own] / mean(between[!own]) - 1
  by_noise <- NA_real_
  if (!is.null(ranks$own_ns)) {
    excess <- function(x) x[ranks$rank == rank] - mean(x[ranks$rank != rank])
    work_ns <- excess(ranks$own_ns)
    noise_ns <- excess(ranks$outside_noise_ns)
    if (isTRUE(work_ns + noise_ns > 0)) {
      by_noise <- min(1, max(0, noise_ns / (max(0, work_ns) + max(0, noise_ns))))
    }
  }
  list(longer = unname(longer), by_noise = by_noise)
}

# All ranks together. `waiting`: of the time inside, the share that was waiting for the last; NA where it
# was not looked at.
profile_operations <- function(profile, calls, total) {
  all <- as.data.frame(profile$operations)
  all$communicator[is.na(all$communicator)] <- "" # point to point calls that name none
  key <- combine_keys(all$operation, all$bytes_lo, all$communicator, all$ranks)
  sums <- rowsum(all[c("calls", "bytes", "inside_ns", "outside_ns")], key, reorder = FALSE)
  rows <- cbind(key = key[!duplicated(key)],
                all[!duplicated(key), c("operation", "class", "bytes_lo", "communicator", "ranks")], sums)
  rows$longest_ns <- largest_by(all$longest_ns, group_numbers(key))[!duplicated(key)]
  rows <- rows[order(-rows$inside_ns), ]
  rownames(rows) <- NULL
  rows$share <- rows$inside_ns / max(1, total)
  rows$mean_ns <- rows$inside_ns / pmax(1, rows$calls)
  rows$waiting <- NA_real_
  if (nrow(calls) > 0) {
    inside <- pmax(0, calls$left_ns - calls$arrived_ns)
    of <- rowsum(cbind(pmin(calls$waited_ns, inside), inside), calls$operation)
    rows$waiting <- (of[, 1] / pmax(1, of[, 2]))[match(rows$operation, rownames(of))]
  }
  rows
}

# `late_ns`: mean arrival after the mean of the others; `preempted_ns`, `off_cpu_ns`, `own_ns` and
# `other_mpi_ns`: of its time between calls, mean.
profile_ranks <- function(profile, main) {
  ranks <- as.data.frame(profile$ranks)[c("rank", "host", "node", "state", "wall_ns", "mpi_ns",
                                          "clock_bound_ns")]
  if (is.null(main)) return(ranks)
  n <- main$ranks
  m <- data.frame(times_last = as.numeric(main$rank == last_ranks(main)),
                  late_ns = (main$arrived_ns - mean_by(main$arrived_ns, main$group)) * n / (n - 1),
                  waited_ns = main$waited_ns, preempted_ns = main$preempted_ns, off_cpu_ns = main$off_cpu_ns,
                  own_ns = main$own_ns, other_mpi_ns = main$mpi_ns,
                  outside_noise_ns = pmax(0, main$arrived_ns - main$since_ns - main$own_ns - main$mpi_ns))
  sums <- rowsum(m, main$rank)
  sums[-1] <- sums[-1] / tabulate(match(main$rank, as.integer(rownames(sums))))
  cbind(ranks, sums[match(ranks$rank, as.integer(rownames(sums))), ])
}

# Of each row's call the rank that arrived last, the lowest of several.
last_ranks <- function(main) {
  last <- main[main$waited_ns == 0, ]
  last$rank[match(main$group, last$group)]
}

# A row for each call that was looked at: the timeline of lateness.
profile_calls <- function(main) {
  first <- !duplicated(main$group)
  mean_of <- function(name) mean_by(main[[name]], main$group)[first]
  data.frame(communicator = main$communicator[first], call = main$call[first],
             operation = main$operation[first], at_ns = main$last_ns[first],
             last_rank = last_ranks(main)[first], wait_ns = mean_of("waited_ns"),
             noise_wait_ns = mean_of("noise_waited_ns"), carried_wait_ns = mean_of("carried_ns"),
             unequal_wait_ns = mean_of("unequal_ns"), within_ns = mean_of("within_ns"),
             between_ns = mean_of("between_ns"))
}

# Lines "rank delay_ns ...": how much later than the first each rank arrived, as noiselab-detect --arrival
# trace reads them.
arrival_trace_lines <- function(report, most = 1024) {
  m <- report$main
  if (is.null(m)) abort_data("--write arrivals: no synchronising call was sampled on all its ranks")
  m$delay <- round(m$arrived_ns + largest_by(-m$arrived_ns, m$group))
  kept <- utils::head(sort(unique(m$call)), most)
  m <- m[m$call %in% kept, ]
  m <- m[order(m$rank, m$call), ]
  delays <- vapply(split(m$delay, m$rank), function(x) paste(format_count_each(x), collapse = " "), "")
  c(sprintf("# %s, %s: arrival after the first rank, ns", m$operation[1], counted(length(kept), "call")),
    paste(names(delays), delays))
}
