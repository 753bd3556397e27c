# Who of the other tasks works because the agent is there: an account of each with an interval, and its
# bursts for the projection to many nodes.

# Below this share of a CPU, over both arms, a task is not tested: it costs nothing, and each test makes the
# others harder.
least_behalf_percent <- 0.005

# Per launch, node and task that ran on the ranks' CPUs (`others.HOST.trace`): what it uses more of them
# with the agent, percent of one CPU, with `low` and `high` (one-sided `alpha` each), `on_percent` (all that
# it uses there while the agent is on), `more_bursts` (share of its bursts that are more than without the
# agent), `group` (as in behalf_groups), `p_value`, `p_holm`: over the rows of its group, each at half of
# alpha: threads of the kernel, which work for whoever asks, are few, and the others on a busy node hundreds.
# NULL: single bursts of others are not on record. Which tasks are tested does not depend on the arms. Where
# the agent is frozen between short halves, whether a task has more is tested by these pairs, too, whose
# order is random, each at half of alpha: freezing shifts work and so changes its rate, but brings none. How
# much it is the undisturbed stretches say, and the pairs only where stretches are too few.
behalf_accounts <- function(campaign, alpha = 0.01) {
  rows <- bind_rows(lapply(agent_shifts(campaign), function(shift) {
    bursts <- others_in_halves(campaign, as.character(shift$launch), as.character(shift$host), shift$rows)
    if (NROW(bursts) == 0) return(NULL)
    seconds <- sum(shift$rows[["wall_ns"]]) / 1e9
    used <- tapply(bursts$duration_ns, bursts$task, sum) / seconds / 1e7
    bind_rows(lapply(names(used)[used >= least_behalf_percent], function(task) {
      mine <- bursts[bursts$task %in% task, ]
      ns <- numeric(nrow(shift$rows))
      sums <- rowsum(mine$duration_ns, mine$half)
      ns[as.integer(rownames(sums))] <- sums[, 1]
      got <- either_account(account_shift(shift, ns), if (shift$is_quick) paired_shift(shift, ns), alpha)
      if (is.null(got)) return(NULL)
      data.frame(launch = as.character(shift$launch), host = as.character(shift$host), kind = shift$kind,
                 task = task,
                 group = group_of_task(campaign, shift, task), got[c("percent", "low", "high")],
                 on_percent = 100 * sum(ns[shift$on]) / sum(shift$rows[["wall_ns"]][shift$on]),
                 more_bursts = more_bursts(mine$half, shift), p_value = got$p_value)
    }))
  }))
  if (NROW(rows) == 0) return(NULL)
  rows$p_holm <- holm_by_group(rows$p_value, rows$group)
  rows
}

# Holm's correction within each group, each at its part of alpha.
holm_by_group <- function(p, group) {
  pmin(1, length(behalf_groups) * stats::ave(p, group, FUN = function(p) stats::p.adjust(p, "holm")))
}

# Bursts of other tasks on the ranks' CPUs, with the number of the half in `half`; NULL: not all are on
# record.
others_in_halves <- function(campaign, id, host, rows) {
  file <- file.path(campaign$paths[[id]], paste0("others.", host, ".trace"))
  if (length(file) != 1 || !file.exists(file)) return(NULL)
  bursts <- read_bursts(file)
  keys <- attr(bursts, "keys")
  is_zero <- function(key) identical(as.character(key %||% "0"), "0")
  if (!is_zero(keys$not_kept) || !is_zero(keys$lost)) return(NULL)
  order <- order(rows[["start_ns"]])
  halves <- data.frame(start = rows[["start_ns"]][order], wall = rows[["wall_ns"]][order], row = order)
  bursts <- bursts[!is.na(bursts$task), ]
  bursts$task <- pool_of_task(bursts$task)
  in_halves(bursts, halves)
}

# The kernel's workers of a pool take whatever work comes next: kworker/u8:1 and kworker/u8:2 are kworker/u8,
# kworker/1:0H is kworker/1H.
pool_of_task <- function(task) sub("^(kworker/u?[0-9]+):[0-9]+", "\\1", task)

# On minus off, us per second, of what a task had in each half: by pairs, or of undisturbed stretches, which
# have no partner.
account_shift <- function(shift, ns) {
  if (!shift$is_quick) return(paired_shift(shift, ns, function(pairs) pairs$on %in% shift$on))
  rows <- shift$rows
  rows$account_ns <- ns
  stretch_shift(utils::modifyList(shift, list(rows = rows)), "account_ns")
}

# The same by all pairs of the agent, short ones included.
paired_shift <- function(shift, ns,
                         is_mine = function(pairs) shift$rows[["kind"]][pairs$on] %in% shift$kind) {
  rows <- shift$rows
  rows$account_ns <- ns
  pairs <- pair_rows(rows)
  mine <- which(is_mine(pairs))
  ratio_shift(rows, pairs$on[mine], pairs$off[mine], "account_ns")
}

# The account by `d`, or by `more` where `d` has none; the test by both together.
either_account <- function(d, more, alpha) {
  got <- shift_account(d, alpha)
  also <- if (!is.null(more)) shift_account(more, alpha)
  if (is.null(got) || is.null(also)) return(got %||% also)
  got$p_value <- min(1, 2 * min(got$p_value, also$p_value))
  got
}

# The mean of shifts in us per second, as percent of one CPU, by values or by blocks of them, whichever is
# wider; NULL where they are too few.
shift_account <- function(d, alpha) {
  d <- d[is.finite(d)] / 1e4
  if (length(d) < least_behalf || !isTRUE(stats::sd(d) > 0)) return(NULL)
  est <- wider_mean_ci(d, 1 - 2 * alpha)
  list(percent = est$estimate, low = est$low, high = est$high,
       p_value = stats::pt(est$estimate / est$se, est$df, lower.tail = FALSE))
}

more_bursts <- function(half, shift) {
  n <- tabulate(half, nrow(shift$rows))
  per_second <- function(at) sum(n[at]) / sum(shift$rows[["wall_ns"]][at])
  max(0, 1 - per_second(shift$off) / per_second(shift$on))
}

group_of_task <- function(campaign, shift, task) {
  tasks <- campaign$tasks
  is_mine <- tasks[["launch"]] %in% shift$launch & tasks[["host"]] %in% shift$host &
    pool_of_task(as.character(tasks[["task"]])) %in% task
  known <- tasks[["group"]][is_mine]
  hit <- names(behalf_groups)[behalf_groups %in% known]
  if (length(hit) > 0) hit[1] else "others"
}

# The tasks that are shown to work on its behalf.
behalf_named <- function(report) {
  rows <- report$behalf_tasks
  if (NROW(rows) == 0) return(NULL)
  rows <- rows[rows$p_holm <= report$alpha & rows$percent > 0, ]
  if (nrow(rows) > 0) rows
}

# By the kind of an agent, what others use on its behalf of a node's ranks' CPUs, us per second: those of
# `groups` (on_its_behalf()) or of `tasks` (behalf_accounts()) that are shown to, whichever are more.
behalf_use <- function(groups, tasks, alpha) {
  shown <- function(rows) if (NROW(rows) > 0) rows[(rows$p_holm <= alpha & rows$percent > 0) %in% TRUE, ]
  of_kind <- function(rows, kind) {
    mine <- rows[rows$kind %in% kind, ]
    if (NROW(mine) == 0) return(0)
    1e4 * mean(rowsum(mine$percent, paste(mine$launch, mine$host, sep = "\r")))
  }
  parts <- list(shown(groups), shown(tasks))
  kinds <- unique(unlist(lapply(parts, function(rows) as.character(rows$kind))))
  lapply(stats::setNames(kinds, kinds), function(kind) max(vapply(parts, of_kind, 0, kind)))
}

# One sentence; NULL: nothing is shown. Several launches: the mean over them.
behalf_tasks_words <- function(rows, x) {
  if (NROW(rows) == 0) return(NULL)
  each <- vapply(split(rows, in_order(rows$task)), function(mine) {
    sprintf("%s uses %s", mine$task[1],
            percent_words(mean(mine$percent), max(0, min(mine$low)), max(mine$high)))
  }, "")
  sprintf(paste("On behalf of %s, %s of one CPU more on the ranks' CPUs while it is on;",
                "the projection includes it."),
          x, join_words(each))
}

# What others cost one node at most, percent: they hold one rank up for as long as they run.
behalf_most <- function(rows) {
  shares <- tapply(rows$high, paste(rows$launch, rows$host), sum) / 100
  most <- max(shares)
  if (most < 1) 100 * most / (1 - most) else Inf
}

# A node's part of a record with the bursts of the agent and of `behalf`, of its undisturbed halves; NULL
# without any.
part_with_behalf <- function(campaign, id, host, behalf) {
  account <- campaign$agents
  account <- account[account[["launch"]] == id & account[["host"]] == host, ]
  on <- which(is_agent_row(account))
  parts <- planned_parts(campaign, id)
  if (!is.null(parts)) on <- on[account[["planned_ns"]][on] %in% parts$undisturbed]
  if (length(on) == 0) return(NULL)
  own <- own_bursts_of(campaign, id, host)
  own <- if (is.data.frame(own)) own[c("start_ns", "duration_ns", "cpu")]
  mine <- behalf[behalf$launch == id & behalf$host == host, ]
  others <- if (nrow(mine) > 0) others_in_halves(campaign, id, host, account)
  others <- bind_rows(lapply(seq_len(nrow(mine)), function(i) {
    bursts <- others[others$task == mine$task[i], c("start_ns", "duration_ns", "cpu")]
    on_behalf(bursts, mine$percent[i] / mine$on_percent[i], mine$more_bursts[i])
  }))
  bursts <- bind_rows(list(own, others))
  bursts <- bursts[order(bursts$start_ns), ]
  halves <- data.frame(start = account[["start_ns"]][on], wall = account[["wall_ns"]][on])
  part_of_halves(bursts, halves, host, paste(id, host))
}

# Of a task's bursts what together has that share of their time: what it does anyway is not on somebody's
# behalf. Where it has more bursts with the agent so many are kept, spread evenly; where they are only
# longer, each counts in part.
on_behalf <- function(bursts, share, more) {
  share <- min(1, share)
  kept <- if (more >= share) more else 1
  bursts <- bursts[diff(c(0, floor(seq_len(nrow(bursts)) * kept + 1e-9))) > 0, ]
  bursts$duration_ns <- bursts$duration_ns * share / kept
  bursts
}

# All nodes' records, with the agent's bursts and those on its behalf (NULL: nobody's): `parts`, and
# `scale`, the ends of the factor by which others' time is known.
records_with_behalf <- function(campaign, behalf) {
  if (NROW(behalf) == 0) return(NULL)
  nodes <- unique(behalf[c("launch", "host")])
  all <- campaign$agents
  its <- data.frame(launch = as.character(all[["launch"]]), host = as.character(all[["host"]]))
  its <- its[is_agent_row(all), ]
  nodes <- unique(rbind(nodes, its))
  parts <- Filter(Negate(is.null), lapply(seq_len(nrow(nodes)), function(i) {
    part_with_behalf(campaign, nodes$launch[i], nodes$host[i], behalf)
  }))
  lost <- function(part) sum(part$bursts$stop_s - part$bursts$start_s)
  watched_s <- sum(vapply(parts, function(part) sum(part$watched$seconds), 0))
  total_percent <- 100 * sum(vapply(parts, lost, 0)) / watched_s
  of_node <- paste(behalf$launch, behalf$host)
  off <- function(column) mean(tapply(behalf[[column]] - behalf$percent, of_node, sum))
  list(parts = parts, scale = pmax(1e-3, 1 + c(off("low"), off("high")) / total_percent))
}
