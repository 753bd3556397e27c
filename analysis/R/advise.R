# Which collective algorithm is the fastest here: differences of paired rounds within a launch, judged over
# fresh launches.

# A gain of the library's default that nobody would change a setting for, percent.
advise_margin_percent <- 5

# A verdict of a row: a faster algorithm is shown, none that is faster by the margin can be there, or
# neither; or one is shown, and a launch showed that the library does not follow a rule for it. Of a setting
# for whole launches, at one size: it is shown to be slower there.
advise_words <- c(use = "use", keep = "keep", open = "undecided", refused = "refused", slower = "slower")

# The share of the planned launches that choose the candidate. The others, which did not choose it, measure
# it: the winner of a comparison looks better in the data that made it win than it is.
screening_share <- 1 / 5
advise_launches <- 4

# Within a launch an algorithm is compared with the library's default by the pseudo-median of the rounds'
# log ratios; the first launches choose the candidate of each row, the others say what it gains, the launch
# being the unit (docs/methods.md, Algorithms). Intervals hold together, by Bonferroni over rows and looks.
# What the library replaces by another (`in_fact`) is never advised. `rows`: per operation, size and
# condition (`quiet`: off halves, `noise`: on halves) the candidate with what it gains (percent less time)
# and what is excluded of all (`could_have_seen_percent`); `algorithms`: each by all launches,
# `lost_ns_per_ns` of CPU time that the noise took, `late_ns_per_ns` of lateness.
advise_table <- function(campaign, alpha = 0.01, margin = advise_margin_percent) {
  arms <- advise_arms(campaign)
  rounds <- advise_rounds(campaign, arms)
  look <- advise_look(campaign, alpha, unique(rounds$launch))
  launches <- look$launches
  if (length(launches) < if (is.null(staged_plan(campaign))) advise_launches else 2) {
    abort_data(length(launches), " launch(es) with algorithms in ", paste(campaign$dirs, collapse = " "),
               ": choosing and confirming take ", advise_launches, " (noiselab run advise --launches)",
               sprintf("; %s", look$note))
  }
  rounds <- rounds[rounds$launch %in% launches, ]
  screening <- screening_launches(campaign, launches)
  figures <- bind_rows(lapply(split(rounds, in_order(rounds$launch)), launch_figures))
  levels <- campaign$rows[["level_requested_percent"]][campaign$rows[["arm"]] == "on"]
  judged <- advise_judged(figures, arms, screening, look$alpha, margin)
  library <- library_of(campaign)
  list(rows = rules_judged(judged$rows, tried_rules(campaign$dirs), library), library = library,
       algorithms = algorithm_rows(figures, arms, look$alpha), figures = figures, each = judged$each,
       n_launches = length(launches), n_screening = length(screening),
       level_percent = if (length(levels) > 0) max(levels) else NA_real_,
       late = campaign$launches[[launches[1]]]$options[["late"]]$arrival %||% NA_character_,
       alpha = look$alpha, note = look$note)
}

library_of <- function(campaign) {
  versions <- vapply(unname(campaign$launches), function(l) sub(",.*", "", show_json(l$mpi$version)), "")
  printable(paste(unique(gsub("[[:space:]]+", " ", sub("^MPICH Version:", "MPICH", trimws(versions)))),
                  collapse = " and "))
}

# Rows of verdicts by figures of launches: all bounds together at `alpha`, `each` by itself.
advise_judged <- function(figures, arms, screening, alpha, margin) {
  cells <- unique(arms[c("operation", "bytes", "ranks")])
  cells$nodes <- vapply(seq_len(nrow(cells)), function(i) {
    nodes <- arms$nodes[of_call(arms, cells[i, ])]
    if (length(unique(nodes)) == 1) as.numeric(nodes[1]) else NA_real_
  }, NA_real_)
  each <- alpha / (2 * nrow(cells))
  judged <- lapply(seq_len(nrow(cells)), function(i) {
    mine <- arms[of_call(arms, cells[i, ]), ]
    mine <- mine[!duplicated(mine$algorithm), ]
    if (!"default" %in% mine$algorithm || nrow(mine) < 2) return(NULL)
    at <- figures[of_call(figures, cells[i, ]), ]
    conditions <- c("quiet", if (any(is.finite(at$noise))) "noise")
    bind_rows(lapply(conditions, function(condition) {
      cbind(cells[i, ], advise_row(at, mine, condition, screening, each, margin), row.names = NULL)
    }))
  })
  list(rows = bind_rows(judged), figures = figures, each = each)
}

# The one schedule of a campaign, with `stages` (launches at the end of each; NA: it has none). NULL: there
# is none, or there are several.
campaign_schedule <- function(dirs) {
  file <- file.path(unique(dirs), schedule_file)
  if (length(file) != 1 || !file.exists(file)) return(NULL)
  schedule <- read_schedule(file)
  schedule$stages <- as_number(strsplit(as.character(schedule$keys["stages"]), ",", fixed = TRUE)[[1]])
  schedule
}

# The launches that choose: the first stage of a schedule; where it has none, a share of what it planned; of
# launches without one, of those.
screening_launches <- function(campaign, launches) {
  home <- dirname(normalizePath(campaign$paths, mustWork = FALSE))[match(launches, names(campaign$paths))]
  share_of <- function(ids) utils::head(ids, ceiling(length(ids) * screening_share))
  chosen <- lapply(unique(home), function(dir) {
    schedule <- campaign_schedule(dir)
    if (is.null(schedule)) return(share_of(launches[home == dir]))
    if (anyNA(schedule$stages)) {
      share_of(schedule$launches$launch)
    } else {
      utils::head(schedule$launches$launch, schedule$stages[1])
    }
  })
  intersect(launches, unlist(chosen))
}

call_key <- function(rows) paste(rows$operation, rows$bytes, rows$ranks)
of_call <- function(frame, cell) {
  frame$operation == cell$operation & frame$bytes == cell$bytes & frame$ranks == cell$ranks
}

advise_arms <- function(campaign) {
  arms <- bind_rows(lapply(names(campaign$launches), function(id) {
    info <- campaign$launches[[id]]
    bind_rows(lapply(info$algorithms, function(a) {
      data.frame(launch = id, operation = a$operation, bytes = a$bytes, ranks = info$ranks,
                 nodes = info$nodes, algorithm = a$algorithm, number = a$number, in_fact = a$in_fact)
    }))
  }))
  if (is.null(arms) || nrow(arms) == 0) {
    abort_data("no launch in ", paste(campaign$dirs, collapse = " "),
               " compares algorithms: noiselab run advise makes such launches")
  }
  arms
}

# Log of the time of an operation, in ns, by launch, arm (off, on: noise, late) and round; `delivered` is
# the noise's CPU time in percent, `late_by_ns` by how much the last rank of an operation came late.
advise_rounds <- function(campaign, arms) {
  rows <- data.table::rbindlist(list(campaign$rows, campaign[["late"]]), use.names = TRUE, fill = TRUE)
  late_ns <- rows[["late_ns"]] %||% rep(NA_real_, nrow(rows))
  words <- strsplit(rows[["operation"]], "=", fixed = TRUE)
  named <- lengths(words) == 2 & rows[["launch"]] %in% arms$launch
  frame <- data.frame(launch = as.character(rows[["launch"]]), operation = vapply(words, `[`, "", 1),
                      bytes = rows[["bytes"]], ranks = rows[["ranks"]], algorithm = vapply(words, `[`, "", 2),
                      arm = ifelse(is.na(late_ns), rows[["arm"]], "late"),
                      late_by_ns = late_ns / rows[["operations"]], pair = rows[["pair"]],
                      x = log(operation_ns_at(rows, seq_along(rows[["pair"]]))),
                      delivered = rows[["level_delivered_percent"]])[named, ]
  treated <- paste(rows[["operation"]], rows[["bytes"]], rows[["level_requested_percent"]],
                   is.na(late_ns))[named]
  on <- frame$arm != "off"
  cells <- tapply(treated[on], frame$launch[on], function(x) length(unique(x)))
  frame$round <- frame$pair %/% as.numeric(cells[frame$launch])
  frame[is.finite(frame$x), ]
}

# Of one launch and each arm: its log ratio to the default in the same rounds, quiet and under noise, and
# what the noise costs it.
launch_figures <- function(rounds) {
  centre <- function(d) if (length(d) > 0) pseudo_median(d)$estimate else NA_real_
  bind_rows(lapply(split(rounds, in_order(call_key(rounds))), function(mine) {
    by_round <- function(algorithm, arm) {
      at <- mine$algorithm == algorithm & mine$arm == arm
      tapply(mine$x[at], mine$round[at], mean)
    }
    ratio <- function(a, b) {
      both <- intersect(names(a), names(b))
      centre(as.numeric(a[both] - b[both]))
    }
    # what a ns of lateness costs: 1 is the lateness itself
    late_cost <- function(algorithm, off) {
      late <- by_round(algorithm, "late")
      both <- intersect(names(late), names(off))
      at <- mine$algorithm == algorithm & mine$arm == "late"
      by_ns <- tapply(mine$late_by_ns[at], mine$round[at], mean)
      centre(as.numeric((exp(late[both]) - exp(off[both])) / by_ns[both]))
    }
    base <- list(off = by_round("default", "off"), on = by_round("default", "on"))
    bind_rows(lapply(unique(mine$algorithm), function(algorithm) {
      off <- by_round(algorithm, "off")
      on <- by_round(algorithm, "on")
      dose <- mean(mine$delivered[mine$algorithm == algorithm & mine$arm == "on"])
      data.frame(mine[1, c("launch", "operation", "bytes", "ranks")], algorithm = algorithm,
                 quiet = ratio(off, base$off), noise = ratio(on, base$on),
                 quiet_ns = exp(centre(as.numeric(off))), noise_ns = exp(centre(as.numeric(on))),
                 lost = if (isTRUE(dose > 0)) 100 * expm1(ratio(on, off)) / dose else NA_real_,
                 late_lost = late_cost(algorithm, off),
                 late_by_ns = mean(mine$late_by_ns[mine$algorithm == algorithm & mine$arm == "late"]),
                 row.names = NULL)
    }))
  }))
}

mean_of_launches <- function(x, alpha) {
  unlist(batch_mean_ci(x[is.finite(x)], 1 - 2 * alpha, Inf)[c("estimate", "low", "high")])
}

gain_percent_of <- function(log_ratio) -100 * expm1(log_ratio)
# Of launches: percent, low and high end.
gain_ends <- function(x, alpha) {
  unname(gain_percent_of(mean_of_launches(x, alpha)[c("estimate", "high", "low")]))
}

# What a candidate gains at most, percent, of all launches that have it: a bound of its own, at `alpha`.
may_gain_percent <- function(figures, algorithm, condition, alpha) {
  gain_percent_of(mean_of_launches(figures[[condition]][figures$algorithm == algorithm], alpha)[["low"]])
}

advise_row <- function(figures, arms, condition, screening, alpha, margin) {
  figures$d <- figures[[condition]]
  distinct <- arms$algorithm[arms$algorithm != "default" & arms$in_fact == arms$algorithm]
  first <- figures[figures$launch %in% screening, ]
  scores <- vapply(distinct, function(a) mean(first$d[first$algorithm == a]), 0)
  best <- distinct[which.min(scores)]
  fresh <- figures[!figures$launch %in% screening, ]
  base <- figures[[paste0(condition, "_ns")]][figures$algorithm == "default"]
  row <- data.frame(condition = condition, default_ns = exp(mean(log(base))), algorithm = NA_character_,
                    number = NA_integer_, gain_percent = NA_real_, gain_low_percent = NA_real_,
                    gain_high_percent = NA_real_, could_have_seen_percent = NA_real_,
                    verdict = advise_words[["open"]])
  if (length(distinct) == 0) {
    row[c("could_have_seen_percent", "verdict")] <- list(0, advise_words[["keep"]])
    return(row)
  }
  if (length(best) == 0) return(row)
  got <- mean_of_launches(fresh$d[fresh$algorithm == best], alpha)
  row$algorithm <- best
  row$number <- arms$number[arms$algorithm == best][1]
  row[c("gain_percent", "gain_low_percent",
        "gain_high_percent")] <- gain_percent_of(got[c("estimate", "high", "low")])
  # the choice plays no part here: whichever candidate is the faster one, its own bound has to miss. The
  # default may itself be the fastest.
  row$could_have_seen_percent <- max(
    0, vapply(distinct, may_gain_percent, 0, figures = figures, condition = condition, alpha = alpha)
  )
  # a gain that is shown, and shown to be below the margin, is no reason to change anything
  row$verdict <- if (isTRUE(row$could_have_seen_percent <= margin)) {
    advise_words[["keep"]]
  } else if (isTRUE(got[["high"]] < 0 && row$gain_high_percent > margin)) {
    advise_words[["use"]]
  } else {
    advise_words[["open"]]
  }
  row
}

algorithm_rows <- function(figures, arms, alpha) {
  arms <- arms[!duplicated(arms[c("operation", "bytes", "ranks", "algorithm")]), ]
  bind_rows(lapply(seq_len(nrow(arms)), function(i) {
    mine <- figures[of_call(figures, arms[i, ]) & figures$algorithm == arms$algorithm[i], ]
    lost <- mean_of_launches(mine$lost, alpha)
    late <- mean_of_launches(mine$late_lost, alpha)
    data.frame(arms[i, c("operation", "bytes", "ranks", "algorithm", "number", "in_fact")],
               quiet_ns = exp(mean(log(mine$quiet_ns))), noise_ns = exp(mean(log(mine$noise_ns))),
               lost_ns_per_ns = lost[["estimate"]], lost_low = lost[["low"]], lost_high = lost[["high"]],
               late_ns_per_ns = late[["estimate"]], late_low = late[["low"]], late_high = late[["high"]],
               late_by_ns = mean(mine$late_by_ns),
               front = is_on_front(figures[of_call(figures, arms[i, ]), ], arms, arms[i, ], alpha),
               row.names = NULL)
  }))
}

# The figures of a front: quiet time, and what a ns of noise and of lateness costs; less is better.
front_figures <- c("quiet", "lost", "late_lost")

# Whether no other algorithm is shown to be better in one figure without being shown to be worse in another.
# What the library replaces by another algorithm is that one, and not on it.
is_on_front <- function(figures, arms, arm, alpha) {
  if (arm$in_fact != arm$algorithm) return(FALSE)
  others <- setdiff(arms$algorithm[of_call(arms, arm) & arms$in_fact == arms$algorithm], arm$algorithm)
  !any(vapply(others, is_beaten_by, NA, figures = figures, algorithm = arm$algorithm, alpha = alpha))
}

is_beaten_by <- function(other, figures, algorithm, alpha) {
  of <- function(name) figures[figures$algorithm == name, ]
  both <- intersect(of(algorithm)$launch, of(other)$launch)
  bounds <- lapply(front_figures, function(column) {
    value <- function(name) of(name)[[column]][match(both, of(name)$launch)]
    mean_of_launches(value(algorithm) - value(other), alpha)
  })
  any(vapply(bounds, function(b) isTRUE(b[["low"]] > 0), NA)) &&
    !any(vapply(bounds, function(b) isTRUE(b[["high"]] < 0), NA))
}

# Numbers of the collectives in a rules file: the enumeration of Open MPI
# (ompi/mca/coll/base/coll_base_functions.h), 4.1 and 5.0.
rules_collectives <- c(allgather = 0, allgatherv = 1, allreduce = 2, alltoall = 3, alltoallv = 4,
                       alltoallw = 5, barrier = 6, bcast = 7, exscan = 8, gather = 9, gatherv = 10,
                       reduce = 11, reduce_scatter = 12, reduce_scatter_block = 13, scan = 14, scatter = 15)

# Their sizes in a rules file are of all ranks together (by the algorithm that ran, with 4.1.4).
rules_of_totals <- c("allgather", "alltoall", "gather", "reduce_scatter", "reduce_scatter_block", "scatter")
# The ranks' shares of these differ by an element, so that their size is known to that (of 16 bytes at most)
# for each rank.
rules_of_shares <- c("allgatherv", "reduce_scatter")
share_slack_bytes <- 16
# The library asks for these without a size: no rule for one is followed.
rules_without_sizes <- c("alltoallv", "alltoallw", "exscan", "scan")

# From Open MPI 5 on its component han has these before tuned, where ranks are on several nodes. A file of
# its own hands them on; its sizes are of a rank.
rules_of_han <- c("allgather", "allgatherv", "allreduce", "barrier", "bcast", "gather", "reduce", "scatter")

# What short launches ran without rules and with them (noiselab run advise): `how` (without, with),
# `operation`, `bytes`, `ranks`, `wanted` (an algorithm that was forced, or default), `ran` (a function of
# the library; -: was not seen; parts: another component took the call), `nodes`.
tried_rules <- function(dirs) {
  files <- file.path(dirs, "advice.tried")
  words <- strsplit(as.character(unlist(lapply(files[file.exists(files)], readLines, warn = FALSE))), " ",
                    fixed = TRUE)
  words <- words[lengths(words) == 7]
  column <- function(i) vapply(words, `[`, "", i)
  data.frame(how = column(1), operation = column(2), bytes = as_number(column(3)),
             ranks = as_number(column(4)), wanted = column(5), ran = column(6), nodes = as_number(column(7)))
}

as_number <- function(text) suppressWarnings(as.numeric(text))

# Whether the library has no rules, but variables that hold for all sizes, ranks and communicators
# (detector/ops/per_call.c).
has_variables_only <- function(library) startsWith(library, "MPICH")

# The rows that can be selected: by a rule for their size; or by a variable, where all sizes of the
# operation that were measured have the same advice.
is_selected <- function(rows, library = "") {
  is_used <- rows$condition == "quiet" & rows$verdict == advise_words[["use"]]
  if (!has_variables_only(library)) return(is_used & !rows$operation %in% rules_without_sizes)
  is_used & !rows$operation %in%
      names(which(tapply(ifelse(is_used, rows$algorithm, "")[rows$condition == "quiet"],
                         rows$operation[rows$condition == "quiet"],
                         function(x) any(x == "") || length(unique(x)) > 1)))
}

# Whether the rule of a row acts: with the rules the advised algorithm runs at its number of ranks, on as
# many nodes as it was measured on, and at one rank less and one more what runs without. What another
# component takes is no algorithm that rules choose. Variables hold for other numbers, too.
rule_acts <- function(row, tried, library = "") {
  mine <- tried[
    tried$operation == row$operation & tried$bytes == row$bytes &
      (tried$ranks != row$ranks | tried$nodes %in% row$nodes),
  ]
  ran <- function(how, ranks, wanted) mine$ran[mine$how == how & mine$ranks == ranks & mine$wanted == wanted]
  advised <- ran("without", row$ranks, row$algorithm)
  got <- ran("with", row$ranks, "default")
  if (length(advised) != 1 || length(got) != 1 || advised == "-") return("untried")
  beside <- has_variables_only(library) ||
    all(vapply(row$ranks + c(-1, 1),
               function(n) identical(ran("without", n, "default"), ran("with", n, "default")), NA))
  if (advised == got && advised != "parts" && beside) "acts" else "refused"
}

rules_judged <- function(rows, tried, library = "") {
  is_ruled <- is_selected(rows, library)
  rows$rule <- rep(NA_character_, nrow(rows))
  rows$rule[is_ruled] <- vapply(which(is_ruled), function(i) rule_acts(rows[i, ], tried, library), "")
  rows$verdict[rows$rule %in% "refused"] <- advise_words[["refused"]]
  rows
}

has_han <- function(rows, library) any(!rows$nodes %in% 1) && grepl("Open MPI v([5-9]|[1-9][0-9])", library)

# What is advised where no rule can select it by size: `export` lines that force the algorithm for all sizes
# and numbers of ranks, where all that were measured have the same advice, and what cannot be selected.
advise_forced <- function(rows, library = "") {
  by_variable <- has_variables_only(library)
  rows <- rows[rows$condition == "quiet" & (by_variable | rows$operation %in% rules_without_sizes), ]
  is_used <- rows$verdict == advise_words[["use"]]
  unlist(lapply(unique(rows$operation[is_used]), function(operation) {
    mine <- rows$operation == operation
    if (!all(is_used[mine]) || length(unique(rows$algorithm[mine])) > 1) {
      sprintf(
        "  (%s cannot be selected by size: %s)",
        operation,
        if (by_variable) {
          "MPICH's variables hold for all"
        } else {
          "Open MPI asks its rules without one"
        }
      )
    }
    else
    if (by_variable) {
      sprintf(
        "  export %s",
        paste0("MPIR_CVAR_", toupper(operation), c("_INTRA_ALGORITHM=", "_DEVICE_COLLECTIVE="),
               c(rows$algorithm[mine][1], 0))
      )
    }
    else
    sprintf(
      "  export OMPI_MCA_coll_tuned_%s_algorithm=%d  # all sizes and numbers of ranks",
      operation,
      as.integer(rows$number[mine][1])
    )
  }))
}

# Text of a rules file: what is advised for exactly the ranks and sizes that were measured, the library's
# own choice (0) everywhere else. Between two measured sizes with the same advice that advice holds, too.
# `library`: the version that it was measured with, which the detector reads from the first line
# (detector/ops/algorithms.c). `han`: the file by which han hands the same calls on to tuned. NULL: nothing
# is advised.
advise_rules <- function(rows, library = "", han = FALSE) {
  rows <- rows[rows$condition == "quiet", ]
  ruled <- if (han) rules_of_han else setdiff(names(rules_collectives), rules_without_sizes)
  used <- rows[rows$verdict == advise_words[["use"]] & rows$operation %in% ruled, ]
  if (nrow(used) == 0) return(NULL)
  sizes <- function(mine) {
    mine <- mine[order(mine$bytes), ]
    number <- ifelse(mine$verdict == advise_words[["use"]], mine$number, 0)
    each <- ifelse(mine$operation %in% rules_of_totals & !han, mine$ranks, 1)
    slack <- ifelse(mine$operation %in% rules_of_shares, share_slack_bytes, 0)
    from <- pmax(0, (mine$from_bytes %||% mine$bytes) - slack) * each
    until <- ((mine$to_bytes %||% mine$bytes) + slack) * each + 1
    # sizes that are nearer to each other than their shares: each has half of what is between
    near <- which(utils::tail(from, -1) < utils::head(until, -1))
    from[near + 1] <- until[near] <- floor((mine$bytes[near] + mine$bytes[near + 1]) / 2 * each[near])
    goes_on <- c(number[-1] == number[-length(number)], FALSE)
    at <- data.frame(from = c(0, from, until[!goes_on]), number = c(0, number, rep(0, sum(!goes_on))),
                     rank = c(0, rep(2, length(from)), rep(1, sum(!goes_on))))
    # where one ends and another begins the latter holds; a barrier has no size: its rule begins at 0
    at <- at[order(at$from, at$rank), ]
    at <- at[!duplicated(at$from, fromLast = TRUE), ]
    if (han) at$number <- pmin(at$number, 1)
    at[c(TRUE, at$number[-1] != at$number[-nrow(at)]), ]
  }
  lines <- c(paste0(
    length(unique(used$operation)),
    " # collectives",
    if (nzchar(library)) paste0("; holds for ", library),
    if (length(used$rule) > 0 && all(used$rule %in% "acts")) "; each rule was tried and acts"
  ))
  for (operation in unique(used$operation)) {
    ranks <- sort(unique(used$ranks[used$operation == operation]))
    bounds <- sort(unique(c(if (han) 1 else 0, ranks, ranks + 1)))
    lines <- c(
      lines,
      paste(rules_collectives[[operation]], "#", operation),
      if (han) c("1 # levels", "2 # the whole communicator"),
      paste(length(bounds), "# numbers of ranks")
    )
    for (n in bounds) {
      at <- if (n %in% ranks) {
        sizes(rows[rows$operation == operation & rows$ranks == n, ])
      } else {
        data.frame(from = 0, number = 0)
      }
      lines <- c(
        lines,
        paste(n, "# ranks from here on"),
        paste(nrow(at), "# sizes"),
        if (han) {
          sprintf("%.0f %s", at$from, ifelse(at$number > 0, "tuned", "han"))
        } else {
          sprintf("%.0f %d 0 0", at$from, as.integer(at$number))
        }
      )
    }
  }
  lines
}
