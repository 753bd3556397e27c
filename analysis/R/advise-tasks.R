# Which tasks take more, or less, of the ranks' CPUs with a value of a setting: each by itself. What one task
# takes hardly scatters, where the machine's speed and what all others do make all of the time scatter.

# Bursts of other tasks on the ranks' CPUs, of launches whose nodes have all of them on record: `row` (number
# of the block), `host`, `task`, `start_ns`, `duration_ns`. Attributes `nodes` (of each block, how many have
# a record; NA: not all bursts are known), `notes` (which record cannot be read, and why).
bursts_of_tasks <- function(campaign) {
  rows <- as.data.frame(campaign$rows)
  nodes <- rep(NA_integer_, nrow(rows))
  notes <- character()
  bursts <- bind_rows(lapply(intersect(names(campaign$launches), names(campaign$paths)), function(id) {
    mine <- which(rows[["launch"]] == id)
    files <- list.files(campaign$paths[[id]], "^others\\..+\\.trace$")
    parts <- lapply(sub("^others\\.(.+)\\.trace$", "\\1", files), function(host) {
      got <- tryCatch(others_in_halves(campaign, id, host, rows[mine, ]), nl_error = identity)
      if (inherits(got, "nl_error")) {
        notes <<- c(notes, paste("tasks are not known by", conditionMessage(got)))
      }
      if (!is.data.frame(got)) return(NULL)
      cbind(row = mine[got$half], host = rep(host, nrow(got)), got[c("task", "start_ns", "duration_ns")])
    })
    if (length(parts) == 0 || any(vapply(parts, is.null, TRUE))) return(NULL)
    nodes[mine] <<- length(files)
    bind_rows(parts)
  }))
  structure(bursts, nodes = nodes, notes = notes)
}

# Share of each block's time that these bursts take, the mean of its nodes. `once`: bursts of a node at the
# same moment, on several CPUs, count once, as the loop waits for its slowest rank.
taken_share <- function(bursts, wall_ns, nodes, once = FALSE) {
  ns <- bursts$duration_ns
  if (once && length(ns) > 0) {
    bursts <- bursts[order(bursts$row, bursts$host, bursts$start_ns), ]
    end <- bursts$start_ns + bursts$duration_ns
    before <- stats::ave(end, paste(bursts$row, bursts$host, sep = "\r"),
                         FUN = function(end) c(-Inf, cummax(end)[-length(end)]))
    ns <- pmax(0, end - pmax(bursts$start_ns, before))
  }
  share <- numeric(length(wall_ns))
  if (length(ns) > 0) {
    sums <- rowsum(ns, bursts$row)
    share[as.integer(rownames(sums))] <- sums[, 1]
  }
  pmin(most_lost, share / wall_ns / nodes)
}

# `rows`: these rows of effects with the part `tasks`, the time that tasks take which are shown to take more
# or less (logarithms of the time that this makes of a block, as of the other parts), and `taken_by` (their
# names). `tasks`: a row for each operation, size, arm and task: `task`, `percent`, `low`, `high` (of one
# CPU, more than with the reference, mean of a node), `rewritten_percent` (than with the reference written
# again), `p_two_sided` (of both, as p_of_both()), `p_holm` (over all these rows), `named`. `notes`. A task
# that takes less than `least_behalf_percent` in all is not tested: which are does not depend on the arms.
task_effects <- function(campaign, pairs, rows, settings) {
  bursts <- bursts_of_tasks(campaign)
  nodes <- attr(bursts, "nodes")
  notes <- attr(bursts, "notes")
  cell <- c("operation", "bytes", "ranks", "kind")
  of <- row_key(pairs$cells, cell)[pairs$cell]
  rewritten <- rewritten_of(pairs)
  wall_ns <- as.numeric(campaign$rows[["wall_ns"]])
  usable <- !is.na(nodes[pairs$on]) & !is.na(nodes[pairs$off]) & !is.na(nodes[rewritten])
  used <- if (NROW(bursts) > 0) {
    100 * tapply(bursts$duration_ns, bursts$task, sum) / sum(wall_ns[!is.na(nodes)])
  }
  wanted <- names(used)[used >= least_behalf_percent]
  by_task <- split(bursts, factor(bursts$task, wanted))
  effects <- function(i, values, others) {
    at <- which(of == row_key(rows[i, ], cell) & usable)
    if (length(at) == 0) return(NULL)
    within_sets(pairs, at, values, others, settings)
  }
  tested <- which(rows$kind != placebo_arm)
  tasks <- bind_rows(lapply(tested, function(i) bind_rows(lapply(wanted, function(task) {
    share <- taken_share(by_task[[task]], wall_ns, nodes)
    got <- effects(i, share, pairs$off)
    again <- effects(i, share, rewritten)
    if (is.null(got) || is.null(again)) return(NULL)
    row <- as_part("all", got, again)
    # a share is no logarithm
    of_cpu <- function(percent) 100 * log1p(percent / 100)
    data.frame(rows[i, cell], task = task, percent = of_cpu(row$estimate), low = of_cpu(row$ci_low),
               high = of_cpu(row$ci_high), rewritten_percent = of_cpu(row$rewritten_percent),
               p_two_sided = p_of_both(row), row.names = NULL)
  }))))
  if (all(is.na(nodes)) && length(notes) == 0) {
    notes <- "which tasks take more or less is not known: not all of their bursts are on record"
  }
  if (NROW(tasks) > 0) {
    tasks$p_holm <- stats::p.adjust(tasks$p_two_sided, "holm")
    tasks$named <- (tasks$p_holm <= 2 * settings$alpha) %in% TRUE
    tasks <- tasks[order(!tasks$named, tasks$p_holm), ]
  }
  part <- bind_rows(lapply(seq_len(nrow(rows)), function(i) {
    mine <- if (NROW(tasks) > 0) tasks[tasks$named & row_key(tasks, cell) == row_key(rows[i, ], cell), ]
    if (NROW(mine) == 0) return(cbind(as_part("tasks", NULL, NULL), taken_by = NA_character_))
    slowed <- -log1p(-taken_share(bursts[bursts$task %in% mine$task, ], wall_ns, nodes, once = TRUE))
    one <- as_part("tasks", effects(i, slowed, pairs$off), effects(i, slowed, rewritten))
    # that there is such a task is what is tested first
    one$tasks_p <- max(one$tasks_p, min(mine$p_holm))
    cbind(one, taken_by = few_words(mine$task[order(-abs(mine$percent))], 3))
  }))
  list(rows = cbind(rows, part), tasks = if (NROW(tasks) > 0) tasks, notes = notes)
}

# "With kernel.knob 0 instead of 1 kcompactd0 takes 0.30 % (0.21 to 0.39) of one CPU less from the ranks."
task_words <- function(rows) {
  named <- rows[rows$named, ]
  if (NROW(named) == 0) return(NULL)
  several <- length(unique(panel_name(rows))) > 1
  groups <- split(named, in_order(paste(named$label, named$operation, named$bytes, sep = "\r")))
  vapply(unname(groups), function(mine) {
    shown <- utils::head(mine, 3)
    each <- sprintf("%s takes %s %% (%s to %s) of one CPU %s from the ranks", shown$task,
                    plain(abs(shown$percent)), plain(pmin(abs(shown$low), abs(shown$high))),
                    plain(pmax(abs(shown$low), abs(shown$high))), ifelse(shown$percent > 0, "more", "less"))
    more <- nrow(mine) - nrow(shown)
    others <- if (more > 0) paste(counted(more, "other task"), "more or less")
    sprintf("With %s%s %s.", mine$label[1], if (several) paste(" in", panel_name(mine[1, ])) else "",
            join_words(c(each, others)))
  }, "")
}
