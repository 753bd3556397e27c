# The projection as text on one screen, and as data.

at_least <- function(rows) !is.na(rows$reason)

projected_words <- function(row) {
  kind <- projected_kind(row)
  high <- if (at_least(row)) NA_real_ else row$ci_high
  figure <- slowdown_words(row$slowdown_percent, row$ci_low, high)
  if (kind %in% c("endless", "absurd") || is.na(row$ci_high_recorded)) return(figure)
  recorded <- sprintf("at most %s if no burst costs more than those recorded", plain(row$ci_high_recorded))
  has_interval <- endsWith(figure, ")")
  if (has_interval) sub(")$", paste0("; ", recorded, ")"), figure) else sprintf("%s (%s)", figure, recorded)
}

projected_kind <- function(row) {
  slowdown_kind(row$slowdown_percent, row$ci_low, if (at_least(row)) NA_real_ else row$ci_high)
}

count_words <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)

nodes_words <- function(n) if (n == 1) "1 node" else paste(count_words(n), "nodes")

projection_sentences <- function(projection) {
  noise <- projection$noise
  row <- projection$headline
  rows <- projection$rows[projection$rows$phase == "independent" & projection$rows$every_ns == row$every_ns, ]
  most <- rows[which.max(rows$nodes), ]
  pattern <- projection$request$pattern
  often <- if (is.null(pattern)) {
    "synchronises every"
  } else if (!is.null(pattern$sequence)) {
    "does what was profiled, after every"
  } else {
    paste0("does ", pattern$name, " after every")
  }
  # (what is too large for a figure already is no smaller on more nodes)
  further <- if (most$nodes > row$nodes && !projected_kind(row) %in% c("absurd", "endless")) {
    switch(projected_kind(most),
           endless = sprintf("; on %s bursts leave no time to work", nodes_words(most$nodes)),
           absurd = sprintf("; on %s the program takes %s", nodes_words(most$nodes), projected_words(most)),
           sprintf("; at %s by %s%s", nodes_words(most$nodes), projected_words(most),
                   bounded_words(most, noise)))
  }
  program <- sprintf("a program on %s that %s %s", nodes_words(row$nodes), often,
                     format_time(row$every_ns / 1e9))
  slows <- switch(projected_kind(row),
                  endless = sprintf("%s leaves %s no time to work", noise$name, program),
                  absurd = sprintf("%s makes %s take %s", noise$name, program, projected_words(row)),
                  sprintf("%s slows %s by %s", noise$name, program, projected_words(row)))
  # (a name of a file or a task keeps its letters)
  if (row$nodes > 1) {
    slows <- paste("If bursts hit nodes independently,", sub("^(A|What) ", "\\L\\1 ", slows, perl = TRUE))
  }
  c(
    paste0(slows, further %||% bounded_words(row, noise), "."),
    margin_projected_words(projection),
    margin_size_words(projection),
    vapply(seq_len(NROW(projection$reserve)),
           function(i) reserve_words(projection$reserve[i, ], projection$request), "")
  )
}

bounded_words <- function(row, noise) {
  if (
    is.na(row$limit_percent) || projected_kind(row) != "closed" || at_least(row) ||
      row$slowdown_percent < 0.95 * row$limit_percent
  ) {
    return("")
  }
  most <- max(noise$costs_s)
  sprintf(", the maximum, because one burst costs %s%s",
          if (length(unique(noise$costs_s)) > 1) "at most " else "", format_time(signif(most, 2)))
}

margin_size_words <- function(projection) {
  if (is.null(projection$below)) return(NULL)
  margin <- projection$request$margin %||% usual_margin
  below <- projection$below
  noise <- projection$noise
  # What passed on so many nodes is below it on fewer.
  if (identical(projection$margin_answer, "pass")) {
    below <- max(below, projection$request$judged, na.rm = TRUE)
  }
  if (is.na(below)) {
    return(sprintf("The record leaves open whether the slowdown stays below %s %% even on one node.",
                   format_level(margin)))
  }
  if (below < 1) {
    return(sprintf("The slowdown is above %s %% on a single node already.", format_level(margin)))
  }
  at_once <- is.finite(below) && projection$request$spread_s == 0 &&
    slowdown_alone(min(0.999, noise$rate_hz * max(noise$costs_s))) < margin / 100
  sprintf(
    "The slowdown stays below %s %% %s%s%s.",
    format_level(margin),
    if (is.finite(below)) {
      paste(if (below < 2) "on" else "up to", nodes_words(two_digits_below(below)))
    } else {
      "on any number of nodes"
    },
    if (at_once) ", or on any number if all are hit at the same moment" else "",
    promise_words(projection)
  )
}

# "(if no burst is longer than 50 ms)", where what is promised rests on that.
promise_words <- function(projection) {
  longest_s <- rests_on_unseen_s(projection$noise, projection$request$unseen_s)
  if (is.null(longest_s)) "" else if_none_longer(longest_s)
}

# Never above it.
two_digits_below <- function(x) {
  digit <- 10^max(0, floor(log10(x)) - 1)
  digit * floor(x / digit + 1e-9)
}

two_digits_above <- function(x) {
  digit <- 10^(floor(log10(x)) - 1)
  digit * ceiling(x / digit - 1e-9)
}

# What a margin was of: "of one node's slowdown", "on 1,000 nodes that synchronise every 1 ms".
judged_words <- function(request) {
  nodes <- request$judged
  if (isTRUE(request$judges_one_node)) return("of one node's slowdown")
  listed <- function(x, form) {
    x <- vapply(x, form, "")
    if (length(x) > 3) paste(x[1], "to", x[length(x)]) else join_words(x)
  }
  sprintf("on %s %s that synchronise every %s", listed(nodes, count_words),
          if (identical(as.numeric(nodes), 1)) "node" else "nodes", listed(request$every_s, format_time))
}

margin_projected_words <- function(projection) {
  request <- projection$request
  if (is.null(request$margin)) return(NULL)
  answer <- projection$margin_answer
  shortest <- projection$shortest_s %||% c(independent = NA, common = NA)
  several <- length(request$judged) * length(request$every_s) > 1 && !isTRUE(request$judges_one_node)
  slowdown <- if (several) "a slowdown" else "the slowdown"
  words <- c(
    pass = paste0(if (is.finite(projection$noise$watched_s)) "by the bursts recorded, ",
                  if (several) "every slowdown" else slowdown, " is below it", promise_words(projection)),
    fail = paste(slowdown, "is above it"),
    inconclusive = if (isTRUE(projection$unseen_decides)) {
      "the bursts recorded stay below it, but longer ones that were never seen may not"
    } else {
      "an interval reaches over it, or is open"
    }
  )
  every <- function(s) {
    if (is.na(s)) {
      "however far apart bursts are, up to a day, it is not shown to stay below"
    } else {
      paste("if bursts are at least", format_time(two_digits_above(s)), "apart, it stays below")
    }
  }
  sprintf(
    "Margin of %s %% %s: %s, %s%s.%s",
    format_level(request$margin),
    judged_words(request),
    answer,
    words[[answer]],
    if (is.null(projection$shortest_s)) {
      ""
    } else {
      paste0("; ", every(shortest[["independent"]]))
    },
    if (any(request$judged > 1)) at_once_words(projection$common_answer, shortest[["common"]]) else ""
  )
}

at_once_words <- function(answer, shortest_s) {
  paste0(
    " If all nodes are hit at the same moment, it ",
    if (answer == "pass") "stays below" else "is not shown to stay below",
    if (answer != "pass" && !is.na(shortest_s)) {
      sprintf(" (it does if bursts are at least %s apart)", format_time(two_digits_above(shortest_s)))
    },
    "."
  )
}

reserve_words <- function(row, request) {
  verbs <- if (row$cores == 1) c("costs", "saves") else c("cost", "save")
  sprintf("%s of %d left free %s %s %% and %s %s %% (%s to %s): %s.", counted(row$cores, "core"),
          request$ranks_per_node, verbs[1], format_effect(row$cost_percent, FALSE), verbs[2],
          format_effect(row$saved_percent, FALSE), format_effect(row$saved_low, FALSE),
          if (is.na(row$saved_high)) "?" else format_effect(row$saved_high, FALSE),
          c(pays = "that pays", "does not pay" = "that does not pay", undecided = "undecided")[[row$verdict]])
}

projection_table <- function(projection, most = 5) {
  rows <- projection$rows[projection$rows$phase == "independent", ]
  every <- unique(rows$every_ns)
  nodes <- unique(rows$nodes)
  if (length(nodes) > most) nodes <- nodes[unique(round(seq(1, length(nodes), length.out = most)))]
  cell <- function(n) {
    at <- rows[rows$nodes == n, ]
    at <- at[match(every, at$every_ns), ]
    text <- ifelse(at_least(at), paste0(">= ", format_effect(at$ci_low, FALSE)),
                   format_effect(at$slowdown_percent, FALSE))
    text[is.na(at$slowdown_percent)] <- "no time to work"
    same <- at_least(at) | format_effect(at$ci_low, FALSE) == format_effect(at$ci_high, FALSE)
    ends <- ifelse(same, "",
                   sprintf(" (%s-%s)", format_effect(at$ci_low, FALSE), format_effect(at$ci_high, FALSE)))
    col_number(paste(if (n == nodes[1]) nodes_words(n) else count_words(n)), at$slowdown_percent,
               paste0(text, ends))
  }
  limit <- rows$limit_percent[match(every, rows$every_ns)]
  common <- projection$rows[projection$rows$phase == "common" & projection$rows$nodes == max(nodes), ]
  common <- common$slowdown_percent[match(every, common$every_ns)]
  columns <- c(
    list(every = col_words("every", format_time(every / 1e9))),
    lapply(stats::setNames(nodes, paste0("n", nodes)), cell),
    list(limit = col_number("limit", limit, format_effect(limit, FALSE)),
         common = col_number("at once", common, format_effect(common, FALSE)))
  )
  do.call(new_table, columns)
}

projection_legend <- function(projection) {
  noise <- projection$noise
  request <- projection$request
  costs <- unique(noise$costs_s)
  sprintf(
    "slowdown in %%, %s interval; %s; %s, cost %s; %s; %s; if all nodes are like %s",
    format_confidence(request$alpha),
    if (is.na(noise$period_s)) {
      sprintf("bursts %s, %s per s", if (is.null(noise$records)) "at any time" else "as recorded",
              format_level(noise$rate_hz))
    } else {
      paste("a burst every", format_time(noise$period_s))
    },
    if (length(costs) == 1) {
      format_time(costs)
    } else {
      paste(format_time(signif(stats::median(noise$costs_s), 3)), "to", format_time(signif(max(costs), 3)))
    },
    noise$cost_words,
    if (request$wander) {
      "phases wander"
    } else if (is.null(noise$records)) {
      "phases fixed for a run, at random"
    } else {
      "begun at random"
    },
    pattern_words(request$pattern),
    if (is.finite(noise$watched_s)) {
      sprintf("the %d recorded for %s", noise$n_nodes, format_span(noise$watched_s, 3))
    } else {
      "this one"
    }
  )
}

pattern_words <- function(pattern) {
  if (is.null(pattern)) return("barriers free")
  what <- if (is.null(pattern$sequence)) sprintf("%s of %s", pattern$name, size_words(pattern$bytes)) else {
    sprintf("the profile's %s", counted(nrow(pattern$sequence), "step"))
  }
  sprintf("%s: latency %s, overhead %s, %s GB/s", what, format_time(pattern$latency_s),
          format_time(pattern$overhead_s), format_level(1e-9 / pattern$per_byte_s))
}

unseen_warning <- function(projection) {
  unseen <- projection$unseen
  if (is.null(unseen)) return(NULL)
  short <- any(grepl("were not recorded", projection$rows$reason, fixed = TRUE))
  is_short <- unseen$watch_s < 3600
  sprintf(
    "%sbursts of %s rarer than one in %s of a node were not recorded: %s%s would exclude %s %%",
    if (short) "where it says >= the record is too short for the size: " else "",
    format_time(unseen$longest_s),
    format_span(projection$noise$watched_s / -log(projection$request$alpha / 2), 3),
    if (is.na(unseen$high_percent)) {
      ""
    } else {
      sprintf("with them it is up to %s %%; ", format_effect(unseen$high_percent, FALSE))
    },
    paste(count_words(signif(unseen$watch_s / if (is_short) 60 else 3600, 2)),
          if (is_short) "node-minutes" else "node-hours"),
    format_level(projection$request$margin %||% usual_margin)
  )
}

tail_warning <- function(projection) {
  reason <- grep("shape", projection$rows$reason, fixed = TRUE, value = TRUE)
  if (length(reason) > 0) sub("at least: ", "where it says >= ", reason[1], fixed = TRUE)
}

projection_head <- function(projection) {
  noise <- projection$noise
  request <- projection$request
  ns <- function(seconds) round(1e9 * (seconds %||% NA))
  watched <- function(x) if (is.finite(noise$watched_s)) x
  list(
    alpha = request$alpha / 2,
    name = noise$name,
    period_ns = ns(noise$period_s),
    bursts_per_s = noise$rate_hz,
    burst_cost_ns = mean(noise$costs_s) * 1e9,
    burst_cost_max_ns = max(noise$costs_s) * 1e9,
    burst_cost_low_ratio = noise$scale[1],
    burst_cost_high_ratio = noise$scale[2],
    n_bursts = watched(noise$n_bursts),
    watched_s = watched(noise$watched_s),
    nodes_recorded = watched(noise$n_nodes),
    seed = request$seed,
    below_percent = request$margin %||% usual_margin,
    below_until_nodes = if (isTRUE(is.finite(projection$below))) projection$below,
    pattern = request$pattern$name,
    margin_percent = request$margin,
    margin_words = if (!is.null(request$margin)) {
      sprintf("%s %% %s", format_level(request$margin), judged_words(request))
    },
    margin_answer = projection$margin_answer,
    common_phase_answer = projection$common_answer,
    shortest_period_ns = ns(unname(projection$shortest_s["independent"])),
    shortest_period_common_ns = ns(unname(projection$shortest_s["common"])),
    unseen_ns = ns(projection$unseen$longest_s),
    unseen_high_percent = projection$unseen$high_percent,
    watch_s = projection$unseen$watch_s,
    tail_shape = noise$tail$shape,
    tail_bursts = noise$tail$n,
    tail_needs_bursts = if (is.finite(noise$tail$needed %||% NA)) {
      ceiling(noise$tail$needed)
    },
    sentences = texts(projection_sentences(projection))
  )
}

scale_nodes <- 1000
scale_step_s <- 1e-3

# NULL where the bursts are not known. `noise` is evaluated here: what it signals is no error of the answer
# that it stands below.
scale_of <- function(noise, every_s = scale_step_s, alpha = 0.02) {
  tryCatch(project_noise(noise, scale_nodes, every_s, alpha, phases = "independent"),
           nl_error_data = function(e) NULL)
}

# NULL without a row. `dirs`: of the command that says more; at most one line.
scale_sentence <- function(row, dirs) {
  if (is.null(row)) return(NULL)
  figure <- switch(projected_kind(row), endless = "bursts leave no time to work",
                   absurd = paste("a program takes", projected_words(row)),
                   paste(projected_words(row), "slower"))
  said <- sprintf("Projection for %s synchronising every %s: %s; see noiselab project",
                  nodes_words(row$nodes), format_time(row$every_ns / 1e9), figure)
  paste(c(said, vapply(dirs, quote_word, "")), collapse = " ")
}

# The noise of every node as files of other simulators, so that an answer can be checked there.

project_exports <- c("loggopsim", "simgrid", "goal")

# Nodes above which there would be too many files, and hosts in SimGrid's platform.
most_exported <- 1024

# As `simulated_ends()` meets them in its first draw: `rank` from 0, `start_s` after the first step began
# (below 0: under way), `cost_s`.
node_bursts_of <- function(noise, n, span_s, seed) {
  got <- .Call("bursts", n, noise_form(noise), some_costs(noise$costs_s), span_s, seed,
               recorded_activities(noise), PACKAGE = "noiselab")
  data.frame(rank = got[, 1], start_s = got[, 2], cost_s = got[, 3])
}

# Into a new directory: noise.N for each node (LogGOPSim: start and duration, ns; SimGrid: when the speed
# changes, and to which share), or a program.
export_noise <- function(projection, form, dir) {
  request <- projection$request
  n <- projection$headline$nodes
  if (n > most_exported) {
    abort_usage("--export: at most ", format_count(most_exported), " nodes (try --nodes 64)")
  }
  if (dir.exists(dir) || !dir.create(dir, showWarnings = FALSE)) {
    abort_usage("--out: cannot make the directory '", dir, "', or it is there already")
  }
  pattern <- request$pattern %||% pattern_request(list(pattern = "barrier"))
  steps <- simulation_plan(projection$noise, n, projection$headline$every_ns / 1e9,
                           pattern)$turns * nrow(pattern_steps(pattern))
  if (form == "goal") {
    steps <- max(1, min(steps, floor(most_goal_lines / (n * (1 + 2 * pattern_rounds(pattern, n))))))
    work <- rank_deeds(pattern, n, projection$headline$every_ns / 1e9, noise_form(projection$noise),
                       some_costs(projection$noise$costs_s), steps, request$seed,
                       recorded_activities(projection$noise))
    writeLines(goal_lines(work, n, pattern), file.path(dir, "program.goal"))
    return(sprintf("%s of %s on %s, with their noise, in %s, as LogGOPSim reads it (-L %.0f -o %.0f -G %g).",
                   counted(steps, "step"), pattern$name, nodes_words(n), file.path(dir, "program.goal"),
                   1e9 * pattern$latency_s, 1e9 * pattern$overhead_s, 1e9 * pattern$per_byte_s))
  }
  span_s <- steps * projection$headline$every_ns / 1e9 * (2 + projection$headline$slowdown_percent / 50)
  bursts <- node_bursts_of(projection$noise, n, span_s, request$seed)
  for (rank in seq_len(n) - 1) {
    own <- bursts[bursts$rank == rank & bursts$start_s + bursts$cost_s > 0, ]
    writeLines(switch(form, loggopsim = loggopsim_lines(own), simgrid = simgrid_lines(own)),
               file.path(dir, paste0("noise.", rank)))
  }
  if (form == "simgrid") {
    writeLines(simgrid_platform(n, request$pattern$latency_s %||% 2.5e-6), file.path(dir, "platform.xml"))
    writeLines(paste0("h", seq_len(n) - 1), file.path(dir, "hosts"))
  }
  sprintf("Noise of %s for %s in %s, as %s reads it.", nodes_words(n), format_span(span_s, 3), dir,
          c(loggopsim = "LogGOPSim", simgrid = "SimGrid")[[form]])
}

most_goal_lines <- 2e6

# What each rank does in the first draw: `extra_s` of `calc`: how long it took, bursts included; of a
# message: how much longer than its overhead.
rank_deeds <- function(pattern, n, work_s, form, costs_s, steps, seed, train = NULL) {
  step <- pattern_steps(pattern)
  got <- .Call("deeds", step$name, n, step$bytes,
               c(pattern$latency_s, pattern$overhead_s, pattern$per_byte_s), form, costs_s,
               work_s * step$work, as.integer(steps), seed, train, PACKAGE = "noiselab")
  got <- got[got[, 1] >= 0, , drop = FALSE]
  data.frame(rank = got[, 1], did = c("calc", "send", "recv")[1 + got[, 2]], peer = got[, 3], tag = got[, 4],
             extra_s = got[, 5])
}

# A program as LogGOPSim reads it: each rank's deeds one after the other, what bursts took as part of
# `calc`. Run without noise, it takes as long as ours.
goal_lines <- function(deeds, n, pattern) {
  bytes <- switch(pattern$name, barrier = 1, ring = max(1, pattern$bytes / n), pattern$bytes)
  c(paste("num_ranks", n), unlist(lapply(split(deeds, factor(deeds$rank, seq_len(n) - 1)), function(own) {
    ns <- sprintf("calc %.0f", 1e9 * own$extra_s)
    message <- own$did != "calc"
    sent <- sprintf("%s %.0fb %s %.0f tag %.0f", own$did, bytes, ifelse(own$did == "send", "to", "from"),
                    own$peer, own$tag)
    # A burst before a message has left, or after one has come.
    held <- message & own$extra_s > 5e-10
    lines <- as.vector(rbind(ifelse(held & own$did == "send", ns, NA), ifelse(message, sent, ns),
                             ifelse(held & own$did == "recv", ns, NA)))
    lines <- lines[!is.na(lines)]
    label <- seq_along(lines)
    c("", sprintf("rank %.0f {", own$rank[1]), sprintf("l%d: %s", label, lines),
      sprintf("l%d requires l%d", label[-1], label[-length(label)]), "}")
  }), use.names = FALSE))
}

loggopsim_lines <- function(bursts) {
  start <- pmax(0, bursts$start_s)
  sprintf("%.0f\t%.0f", 1e9 * start, 1e9 * (bursts$start_s + bursts$cost_s - start))
}

# What begins before another ends is one burst: a host has one speed. No speed of 0: SimGrid would take the
# host for broken.
simgrid_lines <- function(bursts) {
  end <- cummax(bursts$start_s + bursts$cost_s)
  first <- c(TRUE, bursts$start_s[-1] > end[-nrow(bursts)])[seq_along(end)]
  last <- c(first[-1], TRUE)[seq_along(end)]
  at <- c(rbind(pmax(0, bursts$start_s[first]), end[last]))
  c(if (!isTRUE(at[1] == 0)) "0 1", sprintf("%.12g %s", at, rep_len(c("1e-9", "1"), length(at))))
}

simgrid_platform <- function(n, latency_s) {
  pairs <- if (n > 1) utils::combn(n, 2) - 1 else matrix(0, 2, 0)
  c(
    "<?xml version='1.0'?>",
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">",
    "<platform version=\"4.1\">",
    " <zone id=\"all\" routing=\"Full\">",
    sprintf("  <host id=\"h%d\" speed=\"1Gf\" availability_file=\"noise.%d\"/>", seq_len(n) - 1,
            seq_len(n) - 1),
    sprintf("  <link id=\"l\" bandwidth=\"1000GBps\" latency=\"%gs\" sharing_policy=\"FATPIPE\"/>",
            latency_s),
    sprintf("  <route src=\"h%d\" dst=\"h%d\"><link_ctn id=\"l\"/></route>", pairs[1, ], pairs[2, ]),
    " </zone>",
    "</platform>"
  )
}

pattern_request <- function(values) {
  pattern <- keyed_option("pattern", values$pattern, c("bytes", "latency", "overhead", "bandwidth"))
  name <- names_option("pattern", pattern$value, project_patterns, "pattern")
  keys <- pattern$keys
  if (is.null(name)) {
    if (!is.null(values$replicates)) abort_usage("--replicates: is for --pattern only")
    return(NULL)
  }
  if (length(name) != 1) abort_usage("--pattern: one at a time")
  replicates <- replicates_option(values$replicates)
  list(name = name, replicates = replicates,
       kept = if (!is.null(replicates)) list2env(list(rows = NULL, merged = FALSE)),
       bytes = size_option(keys$bytes %||% "8"),
       latency_s = duration_option(keys$latency, "--pattern: latency") %||% 2.5e-6,
       overhead_s = duration_option(keys$overhead, "--pattern: overhead") %||% 1.5e-6,
       per_byte_s = 1 / size_option(keys$bandwidth %||% "10GB"))
}

usual_margin <- 1 # percent, where none was given
