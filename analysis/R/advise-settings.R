# Advice on what holds for a whole launch: the eager limit, and where ranks are placed. The launches of a
# set have a setting each, in random order.

least_step_sizes <- 6
least_side_sizes <- 3

# What the plan of such a campaign says: `compares` (eager, mapping), `launches` (launch, set, setting).
# NULL: it compares none.
settings_plan <- function(dirs) {
  schedule <- campaign_schedule(dirs)
  if (!isTRUE(schedule$keys["arms"] %in% c("eager", "mapping"))) return(NULL)
  setting <- vapply(schedule$launches$arguments, function(words) {
    paste(sub("^--with=", "", words[startsWith(words, "--with=")]), collapse = " ")
  }, "")
  reference <- unname(schedule$keys["reference"])
  list(
    compares = unname(schedule$keys["arms"]),
    reference = reference,
    launches = data.frame(launch = schedule$launches$launch, set = schedule$launches$set, setting = setting,
                          arm = ifelse(setting == reference, "default", setting))
  )
}

# As advise_table(), the set in the place of the launch: each setting against the reference of its set. The
# first third of the sets chooses a candidate over all sizes, the others say what it gains, over all
# (operation `all`) and for each. `settings`: a row per setting, with `in_use` (the library says that it had
# it) and the memory it may take.
settings_table <- function(campaign, alpha = 0.01, margin = advise_margin_percent, program = NULL) {
  plan <- settings_plan(campaign$dirs)
  look <- campaign_looks(campaign, alpha)
  there <- plan$launches[plan$launches$launch %in% names(campaign$launches), ]
  whole <- names(which(table(there$set) == length(unique(plan$launches$arm))))
  there <- there[there$set %in% whole, ]
  if (length(whole) < advise_launches) {
    abort_data(length(whole), " complete set(s) of launches in ", paste(campaign$dirs, collapse = " "),
               ": choosing and confirming take ", advise_launches, " (noiselab run advise --launches)")
  }
  rounds <- settings_rounds(campaign, there)
  figures <- bind_rows(lapply(split(rounds, in_order(rounds$launch)), launch_figures))
  figures <- rbind(figures, over_all(figures, program))
  screening <- utils::head(unique(figures$launch), ceiling(length(whole) / 3))
  arms <- unique(figures[c("operation", "bytes", "ranks", "algorithm")])
  arms <- cbind(launch = figures$launch[1], arms, number = NA_integer_, in_fact = arms$algorithm)
  rows <- settings_rows(figures, arms, screening, look$alpha, margin)
  settings <- merge(setting_rows(figures, look$alpha), in_use_of(campaign, there), by = "setting",
                    sort = FALSE)
  settings <- settings[order(match(settings$setting, c("default", unique(plan$launches$setting)))), ]
  c(
    plan[c("compares", "reference")],
    list(rows = rows, settings = settings,
         steps = if (plan$compares == "eager") settings_steps(figures, look$alpha), n_sets = length(whole),
         n_screening = length(screening), alpha = look$alpha, note = look$note)
  )
}

settings_rounds <- function(campaign, there) {
  rows <- campaign$rows[campaign$rows[["launch"]] %in% there$launch, ]
  at <- match(as.character(rows[["launch"]]), there$launch)
  cells <- paste(rows[["operation"]], rows[["bytes"]])
  n_cells <- length(unique(cells))
  # a setting acts in every operation, and the typical one is not touched by what else the machine does;
  # under noise it is the mean that is paid
  ns <- operation_ns_at(rows, seq_along(at))
  typical <- rows[["base_ns"]]
  is_typical <- rows[["arm"]] == "off" & !is.na(typical) & typical > 0
  ns[is_typical] <- typical[is_typical]
  frame <- data.frame(launch = sprintf("set-%04.0f", there$set[at]), operation = rows[["operation"]],
                      bytes = rows[["bytes"]], ranks = rows[["ranks"]], algorithm = there$arm[at],
                      arm = rows[["arm"]], late_by_ns = NA_real_, round = rows[["pair"]] %/% n_cells,
                      x = log(ns), delivered = rows[["level_delivered_percent"]])
  frame <- frame[is.finite(frame$x), ]
  frame[order(frame$launch), ]
}

# The mean over operations and sizes of each set and setting, by shares of a program's time or equal ones:
# rows of an operation `all`.
over_all <- function(figures, program) {
  share <- rep(1, nrow(figures))
  if (!is.null(program)) {
    share <- program$share[match(paste(figures$operation, figures$bytes),
                                 paste(program$operation, program$bytes))]
  }
  bind_rows(lapply(
    split(seq_len(nrow(figures)), in_order(paste(figures$launch, figures$algorithm))),
    function(i) {
      one <- figures[i[1], ]
      mean_of <- function(x) stats::weighted.mean(x, share[i])
      one[c("operation", "bytes")] <- list("all", 0)
      one[c("quiet", "noise")] <- lapply(figures[i, c("quiet", "noise")], mean_of)
      one[c("quiet_ns", "noise_ns")] <- lapply(figures[i, c("quiet_ns", "noise_ns")],
                                               function(x) exp(mean_of(log(x))))
      one
    }
  ))
}

# The row over all, which chooses, and what its candidate gains for each operation and size: all bounds
# together at alpha.
settings_rows <- function(figures, arms, screening, alpha, margin) {
  cells <- unique(arms[c("operation", "bytes", "ranks")])
  cells <- cells[order(cells$operation != "all"), ]
  each <- alpha / (2 * nrow(cells))
  of_all <- arms[arms$operation == "all", ]
  bind_rows(lapply(c("quiet", "noise"), function(condition) {
    if (!any(is.finite(figures[[condition]]))) return(NULL)
    first <- advise_row(figures[figures$operation == "all", ], of_all, condition, screening, each, margin)
    rest <- lapply(which(cells$operation != "all"), function(i) {
      at <- figures[of_call(figures, cells[i, ]), ]
      mine <- arms[of_call(arms, cells[i, ]) & arms$algorithm %in% c("default", first$algorithm), ]
      row <- advise_row(at, mine, condition, screening, each, margin)
      if (isTRUE(row$gain_high_percent < 0)) row$verdict <- advise_words[["slower"]]
      cbind(cells[i, ], row, row.names = NULL)
    })
    bind_rows(c(list(cbind(cells[1, ], first, row.names = NULL)), rest))
  }))
}

setting_rows <- function(figures, alpha) {
  all <- figures[figures$operation == "all", ]
  bind_rows(lapply(unique(all$algorithm), function(name) {
    mine <- all[all$algorithm == name, ]
    got <- gain_ends(mine$quiet, alpha / 2)
    data.frame(setting = name, quiet_ns = exp(mean(log(mine$quiet_ns))), gain_percent = got[[1]],
               gain_low_percent = got[[2]], gain_high_percent = got[[3]],
               noise_percent = gain_percent_of(mean(mine$noise)))
  }))
}

# Of each setting: whether the library says that it was in use, and what memory it may take. What nobody
# says is NA.
in_use_of <- function(campaign, there) {
  bind_rows(lapply(split(there, there$arm), function(mine) {
    infos <- campaign$launches[mine$launch]
    words <- strsplit(mine$setting[1], "=", fixed = TRUE)[[1]]
    name <- sub("^OMPI_MCA_", "", words[1])
    transport <- sub("_eager_limit$", "", name)
    if (!grepl("^btl_[a-z]+_eager_limit$", name)) {
      return(data.frame(setting = mine$arm[1], in_use = NA, limit_bytes = NA_real_, buffers = NA_real_,
                        peers = NA_real_, memory_bytes = NA_real_))
    }
    parameter <- function(info, key) as.numeric(info$mpi$parameters[[key]] %||% NA_real_)
    limit <- vapply(infos, parameter, 0, key = name)
    buffers <- parameter(infos[[1]], paste0(transport, "_free_list_max"))
    hosts <- length(infos[[1]]$hosts)
    # those on the same node, of a transport in shared memory
    peers <- if (transport == "btl_tcp") {
      infos[[1]]$ranks - infos[[1]]$ranks / hosts
    } else {
      infos[[1]]$ranks / hosts - 1
    }
    buffers <- if (isTRUE(buffers > 0)) buffers else NA_real_
    data.frame(setting = mine$arm[1], in_use = all(limit == as_number(words[2])), limit_bytes = limit[[1]],
               buffers = buffers, peers = peers, memory_bytes = limit[[1]] * peers * buffers)
  }))
}

settings_steps <- function(figures, alpha) {
  figures <- figures[figures$operation != "all", ]
  groups <- split(figures, in_order(paste(figures$algorithm, figures$operation)))
  tests <- length(groups)
  bind_rows(lapply(groups, function(mine) {
    bytes <- sort(unique(mine$bytes))
    launches <- unique(mine$launch)
    times <- matrix(
      mine$quiet_ns[match(paste(rep(launches, length(bytes)), rep(bytes, each = length(launches))),
                          paste(mine$launch, mine$bytes))],
      length(launches)
    )
    steps <- latency_steps(bytes, times, alpha / tests)
    if (nrow(steps) > 0) cbind(setting = mine$algorithm[1], operation = mine$operation[1], steps)
  }))
}

# A time is a line, start + bytes x slope, and another beyond a change of protocol, searched in turn on both
# sides of each found: the place with the least squares of relative errors, its step by Student's interval
# over launches (rows of `times`, ns; a column per size), at `alpha` over the places. Muggeo (2003),
# Statistics in Medicine 22, 3055; Vostrikova (1981), Soviet Mathematics Doklady 24, 55.
latency_steps <- function(bytes, times, alpha = 0.01) {
  none <- data.frame(from_bytes = numeric(), to_bytes = numeric(), low_bytes = numeric(),
                     high_bytes = numeric(), percent = numeric(), percent_low = numeric(),
                     percent_high = numeric())
  n <- length(bytes)
  times <- times[stats::complete.cases(times), , drop = FALSE]
  if (n < least_step_sizes || nrow(times) < 2) return(none)
  places <- seq(least_side_sizes, n - least_side_sizes)
  misfit <- vapply(places, function(k) {
    apply(times, 1, function(t) {
      line_through(bytes[1:k], t[1:k])$misfit + line_through(bytes[(k + 1):n], t[(k + 1):n])$misfit
    })
  }, numeric(nrow(times)))
  misfit <- matrix(misfit, nrow(times))
  k <- places[which.min(colSums(misfit))]
  middle <- (bytes[k] + bytes[k + 1]) / 2
  # of all sizes of a side, and so of a place that is not the right one less
  step <- apply(times, 1, function(t) {
    log(line_through(bytes[(k + 1):n], t[(k + 1):n])$at(middle) / line_through(bytes[1:k], t[1:k])$at(middle))
  })
  got <- mean_of_launches(step, alpha / (2 * length(places)))
  if (!isTRUE(got[["low"]] > 0 || got[["high"]] < 0)) return(none)
  own <- places[apply(misfit, 1, which.min)]
  found <- data.frame(from_bytes = bytes[k], to_bytes = bytes[k + 1], low_bytes = bytes[min(own, k)],
                      high_bytes = bytes[max(own, k) + 1], percent = 100 * expm1(got[["estimate"]]),
                      percent_low = 100 * expm1(got[["low"]]), percent_high = 100 * expm1(got[["high"]]))
  side <- function(i) latency_steps(bytes[i], times[, i, drop = FALSE], alpha / 2)
  rbind(side(seq_len(k)), found, side(seq(k + 1, n)))
}

# The line of times by sizes with the least relative errors: `misfit` (their squares' sum), `at` (its value,
# a small one of the times at least).
line_through <- function(bytes, times) {
  w <- 1 / times^2
  centre <- sum(w * bytes) / sum(w)
  mean_ns <- sum(w * times) / sum(w)
  slope <- sum(w * (bytes - centre) * (times - mean_ns)) / sum(w * (bytes - centre)^2)
  list(misfit = sum(w * (times - mean_ns - slope * (bytes - centre))^2),
       at = function(x) max(mean_ns + slope * (x - centre), min(times) / 10))
}

analyze_settings <- function(campaign, operands, alpha, margin, values, form) {
  program <- advised_program(operands)
  advice <- settings_table(campaign, alpha, margin, program)
  notes <- unique(c(busy_sentence(campaign), advice$note))
  verdict <- settings_verdict(advice)
  typed <- if (verdict == advise_words[["use"]]) {
    paste("export", strsplit(settings_row(advice)$algorithm, " ", fixed = TRUE)[[1]])
  }
  if (!is.null(program)) {
    advice$gain <- settings_gain(advice, program)
    advice$verified <- program_verified(operands, advice$gain, alpha)
  }
  if (!is.null(values$write$rules) && length(typed) > 0) write_output(typed, values$write$rules)
  said <- function() settings_lines(advice, alpha, margin, campaign, typed)
  answered(
    form,
    NULL,
    c(list(alpha = alpha, margin_percent = margin), advice[c("compares", "reference")],
      list(verdict = verdict, sets = advice$n_sets, sets_screening = advice$n_screening),
      program_head(advice), list(first_screen = texts(settings_sentences(advice, margin)))),
    pick(advice, c("rows", "settings", "steps")),
    notes,
    c(said(), "", settings_row_lines(advice), alarm_lines(notes)),
    c(said(), alarm_lines(notes), all_pointer(operands, "each operation and size")),
    answer = if (verdict == advise_words[["open"]]) "inconclusive" else "pass"
  )
}

settings_row <- function(advice) {
  advice$rows[
    advice$rows$condition == "quiet" & advice$rows$operation == "all",
  ]
}

settings_verdict <- function(advice) {
  row <- settings_row(advice)
  is_used <- row$verdict == advise_words[["use"]]
  if (is_used && identical(advice$settings$in_use[advice$settings$setting == row$algorithm], FALSE)) {
    advise_words[["refused"]]
  } else {
    row$verdict
  }
}

settings_gain <- function(advice, program) {
  row <- settings_row(advice)
  is_used <- settings_verdict(advice) == advise_words[["use"]]
  there <- paste(program$operation, program$bytes) %in% paste(advice$rows$operation, advice$rows$bytes)
  share <- sum(program$share[there])
  of <- function(x) if (is_used) share * x else 0
  list(percent = of(row$gain_percent), low_percent = of(row$gain_low_percent),
       high_percent = of(row$gain_high_percent), advised = as.integer(is_used))
}

setting_words <- function(advice, setting = advice$settings$setting) {
  full <- ifelse(setting == "default", advice$reference, setting)
  value <- function(name) {
    ifelse(grepl(paste0(name, "="), full), sub(paste0(".*", name, "=([^ ]*).*"), "\\1", full), "")
  }
  if (advice$compares == "eager") {
    bytes <- as_number(sub(".*=", "", full))
    return(ifelse(is.na(bytes), sub(".*=", "", full), format_bytes_each(bytes)))
  }
  by <- value("OMPI_MCA_rmaps_base_mapping_policy")
  ranked <- value("OMPI_MCA_rmaps_base_ranking_policy")
  ifelse(by == "", sub(".*=", "", full), paste0(by, ifelse(ranked == "", "", paste(", ranked by", ranked))))
}

settings_sentence <- function(advice, margin) {
  row <- settings_row(advice)
  slower <- advice$rows[advice$rows$condition == "quiet" & advice$rows$verdict == advise_words[["slower"]], ]
  what <- if (advice$compares == "eager") "eager limit" else "mapping"
  named <- function(x) paste(what, setting_words(advice, x))
  got <- sprintf(
    "%s %% less time (%s %%) than with %s, over %s", three(row$gain_percent), gain_bounds(row, " to "),
    setting_words(advice, "default"),
    counted(sum(advice$rows$condition == "quiet") - 1, "operation and size", "operations and sizes")
  )
  paste0(
    switch(
      settings_verdict(advice),
      use = sprintf("With %s they take %s.", named(row$algorithm), got),
      keep = sprintf("Keep %s: a gain of more than %g %% is excluded for every other one.", named("default"),
                     margin),
      refused = sprintf("%s would be faster, but the library did not take it.", named(row$algorithm)),
      sprintf("Undecided: with %s they take %s. More time (--seconds) or launches decide.",
              named(row$algorithm), got)
    ),
    if (nrow(slower) > 0) {
      sprintf(" Slower with %s: %s.", named(row$algorithm),
              join_words(sprintf("%s (%s %%)", operation_sizes(slower), three(-slower$gain_percent))))
    }
  )
}

# The sentences that come first wherever the advice is read.
settings_sentences <- function(advice, margin) {
  c(settings_sentence(advice, margin),
    if (!is.null(advice$gain)) gain_words(advice$gain, advice$verified, "the program", "for the program"))
}

settings_lines <- function(advice, alpha, margin, campaign, typed) {
  s <- advice$settings
  interval <- ifelse(s$setting == "default", "-", paste0("[", gain_bounds(s), "]"))
  memory <- if (any(!is.na(s$memory_bytes))) {
    ifelse(is.na(s$memory_bytes), "-",
           sprintf("%s (%g x %g)", format_bytes_each(s$memory_bytes), s$buffers, s$peers))
  }
  table <- new_table(
    col_words(if (advice$compares == "eager") "eager limit" else "mapping", setting_words(advice)),
    col_words("mean", format_time(s$quiet_ns / 1e9)),
    col_words("quiet, %", ifelse(s$setting == "default", "-", three(s$gain_percent))),
    col_words("interval, %", interval),
    col_words("noise, %", ifelse(s$setting == "default", "-", three(s$noise_percent))),
    if (advice$compares == "eager") {
      col_words("a step between", steps_words(advice))
    },
    if (!is.null(memory)) col_words("memory per rank", memory)
  )
  first <- campaign$launches[[1]]
  holds <- sprintf("holds for %s, %d ranks on %s (%s)", library_of(campaign), as.integer(first$ranks),
                   counted(length(first$hosts), "node"), printable(show_json(first$hosts[[1]]$topology)))
  c(
    wrap_line(paste(settings_sentences(advice, margin), collapse = " ")),
    "",
    table_lines(table),
    wrap_line(paste0(
      sprintf(
        paste0("gain over all, from %d sets of launches in random order; %d chose, the others say what it ",
               "gains; intervals of each by itself at %g %%; "),
        advice$n_sets,
        advice$n_screening,
        100 * (1 - alpha)
      ),
      if (!is.null(memory)) {
        "memory per rank, at most: limit x (buffers x peers), as the library says; "
      },
      holds
    )),
    if (length(typed) > 0) {
      c("To select it (unset to undo; an option of mpirun or srun beats it):", paste0("  ", typed))
    }
  )
}

format_bytes_each <- function(bytes) vapply(bytes, function(b) if (is.na(b)) "-" else size_words(b), "")

steps_words <- function(advice) {
  vapply(advice$settings$setting, function(name) {
    mine <- advice$steps[advice$steps$setting == name, ]
    if (NROW(mine) == 0) return("none shown")
    best <- mine[which.max(abs(log1p(mine$percent / 100))), ]
    paste0(sprintf("%.0f and %.0f B: %+.0f %%", best$low_bytes, best$high_bytes, best$percent),
           if (nrow(mine) > 1) sprintf(", %d more", nrow(mine) - 1L))
  }, "")
}

settings_row_lines <- function(advice) {
  rows <- advice$rows
  table_lines(new_table(col_words("operation", rows$operation), col_words("size", size_column(rows$bytes)),
                        col_words("condition", rows$condition),
                        col_words("default", format_time(rows$default_ns / 1e9)),
                        col_words("setting", setting_words(advice, rows$algorithm)),
                        col_words("gain, %", three(rows$gain_percent)),
                        col_words("interval, %", paste0("[", gain_bounds(rows), "]")),
                        col_words("", rows$verdict)))
}
