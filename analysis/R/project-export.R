# The noise of every node as files of other simulators, so that an answer can be checked there.

project_exports <- c("loggopsim", "simgrid", "goal")

# Nodes above which there would be too many files, and hosts in SimGrid's platform.
most_exported <- 1024

# The bursts of every node, as `simulated_ends()` meets them in its first draw: `rank` from 0, `start_s` after the first step began (below
# 0: under way), `cost_s`.
node_bursts_of <- function(noise, n, span_s, seed) {
  got <- .Call("bursts", n, noise_form(noise), some_costs(noise$costs_s), span_s, seed, PACKAGE = "noiselab")
  data.frame(rank = got[, 1], start_s = got[, 2], cost_s = got[, 3])
}

# Into a new directory: noise.N for each node (LogGOPSim: start and duration, ns; SimGrid: when the speed changes, and to which share), and SimGrid's
# platform.xml and hosts. GOAL is a program: see goal_lines().
export_noise <- function(projection, form, dir) {
  request <- projection$request
  n <- projection$headline$nodes
  if (n > most_exported) abort_usage("--export: at most ", format_count(most_exported), " nodes (try --nodes 64)")
  if (dir.exists(dir) || !dir.create(dir, showWarnings = FALSE)) abort_usage("--out: cannot make the directory '", dir, "', or it is there already")
  pattern <- request$pattern %||% pattern_request(list(pattern = "barrier"))
  steps <- simulation_plan(projection$noise, n, projection$headline$every_ns / 1e9, pattern)$steps
  if (form == "goal") {
    steps <- max(1, min(steps, floor(most_goal_lines / (n * (1 + 2 * pattern_rounds(pattern$name, n))))))
    work <- rank_deeds(pattern, n, projection$headline$every_ns / 1e9, noise_form(projection$noise), some_costs(projection$noise$costs_s), steps, request$seed)
    writeLines(goal_lines(work, n, pattern), file.path(dir, "program.goal"))
    return(sprintf("%s of %s on %s, with their noise, in %s, as LogGOPSim reads it (-L %.0f -o %.0f -G %g).", counted(steps, "step"), pattern$name,
                   nodes_words(n), file.path(dir, "program.goal"), 1e9 * pattern$latency_s, 1e9 * pattern$overhead_s, 1e9 * pattern$per_byte_s))
  }
  span_s <- steps * projection$headline$every_ns / 1e9 * (2 + projection$headline$slowdown_percent / 50)
  bursts <- node_bursts_of(projection$noise, n, span_s, request$seed)
  for (rank in seq_len(n) - 1) {
    own <- bursts[bursts$rank == rank & bursts$start_s + bursts$cost_s > 0, ]
    writeLines(switch(form, loggopsim = loggopsim_lines(own), simgrid = simgrid_lines(own)), file.path(dir, paste0("noise.", rank)))
  }
  if (form == "simgrid") {
    writeLines(simgrid_platform(n, request$pattern$latency_s %||% 2.5e-6), file.path(dir, "platform.xml"))
    writeLines(paste0("h", seq_len(n) - 1), file.path(dir, "hosts"))
  }
  sprintf("Noise of %s for %s in %s, as %s reads it.", nodes_words(n), format_long(span_s), dir,
          c(loggopsim = "LogGOPSim", simgrid = "SimGrid")[[form]])
}

most_goal_lines <- 2e6

# What each rank does in the first draw, in order: `rank` from 0, `did` (`calc`, `send`, `recv`), `peer`, `tag`, `extra_s` (of `calc`: how long it took, with
# the bursts in it; of a message: how much longer than its overhead). `form`: `noise_form()`.
rank_deeds <- function(pattern, n, work_s, form, costs_s, steps, seed) {
  got <- .Call("deeds", pattern$name, n, pattern$bytes, c(pattern$latency_s, pattern$overhead_s, pattern$per_byte_s), form, costs_s, work_s,
               as.integer(steps), seed, PACKAGE = "noiselab")
  got <- got[got[, 1] >= 0, , drop = FALSE]
  data.frame(rank = got[, 1], did = c("calc", "send", "recv")[1 + got[, 2]], peer = got[, 3], tag = got[, 4], extra_s = got[, 5])
}

# A program as LogGOPSim reads it: each rank's deeds one after the other, what bursts took as part of `calc`. Run without noise, it takes as long as ours.
goal_lines <- function(deeds, n, pattern) {
  bytes <- switch(pattern$name, barrier = 1, ring = max(1, pattern$bytes / n), pattern$bytes)
  c(paste("num_ranks", n), unlist(lapply(split(deeds, factor(deeds$rank, seq_len(n) - 1)), function(own) {
    ns <- sprintf("calc %.0f", 1e9 * own$extra_s)
    message <- own$did != "calc"
    sent <- sprintf("%s %.0fb %s %.0f tag %.0f", own$did, bytes, ifelse(own$did == "send", "to", "from"), own$peer, own$tag)
    # A burst before a message has left, or after one has come.
    held <- message & own$extra_s > 5e-10
    lines <- as.vector(rbind(ifelse(held & own$did == "send", ns, NA), ifelse(message, sent, ns), ifelse(held & own$did == "recv", ns, NA)))
    lines <- lines[!is.na(lines)]
    label <- seq_along(lines)
    c("", sprintf("rank %.0f {", own$rank[1]), sprintf("l%d: %s", label, lines), sprintf("l%d requires l%d", label[-1], label[-length(label)]), "}")
  }), use.names = FALSE))
}

loggopsim_lines <- function(bursts) {
  start <- pmax(0, bursts$start_s)
  sprintf("%.0f\t%.0f", 1e9 * start, 1e9 * (bursts$start_s + bursts$cost_s - start))
}

# What begins before another ends is one burst: a host has one speed. No speed of 0: SimGrid would take the host for broken.
simgrid_lines <- function(bursts) {
  end <- cummax(bursts$start_s + bursts$cost_s)
  first <- c(TRUE, bursts$start_s[-1] > end[-nrow(bursts)])[seq_along(end)]
  last <- c(first[-1], TRUE)[seq_along(end)]
  at <- c(rbind(pmax(0, bursts$start_s[first]), end[last]))
  c(if (!isTRUE(at[1] == 0)) "0 1", sprintf("%.12g %s", at, rep_len(c("1e-9", "1"), length(at))))
}

simgrid_platform <- function(n, latency_s) {
  pairs <- if (n > 1) utils::combn(n, 2) - 1 else matrix(0, 2, 0)
  c("<?xml version='1.0'?>", "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">", "<platform version=\"4.1\">",
    " <zone id=\"all\" routing=\"Full\">",
    sprintf("  <host id=\"h%d\" speed=\"1Gf\" availability_file=\"noise.%d\"/>", seq_len(n) - 1, seq_len(n) - 1),
    sprintf("  <link id=\"l\" bandwidth=\"1000GBps\" latency=\"%gs\" sharing_policy=\"FATPIPE\"/>", latency_s),
    sprintf("  <route src=\"h%d\" dst=\"h%d\"><link_ctn id=\"l\"/></route>", pairs[1, ], pairs[2, ]), " </zone>", "</platform>")
}
