# What two campaigns have in common, what differs between them, and when they were taken.

check_comparable <- function(a, b) {
  twice <- intersect(a$paths, b$paths)
  if (length(twice) > 0) {
    abort_usage("launch '", basename(twice[1]),
                "' is in A and in B: a campaign compared with itself says nothing; give two directories")
  }
  twice <- intersect(names(a$launches), names(b$launches))
  if (length(twice) > 0) {
    abort_usage("launch id '", twice[1], "' is in A and in B (a copy): give two campaigns that were measured apart")
  }
  for (campaign in list(a, b)) {
    if (!any(campaign$rows[["arm"]] == "off")) {
      abort_data("no row of the arm off in ", paste(campaign$dirs, collapse = " "),
                 ": the clean operations are what is compared first")
    }
  }
  modes <- lapply(list(a, b), function(campaign) unique(vapply(campaign$launches, start_mode, "")))
  if (length(intersect(modes[[1]], modes[[2]])) == 0) {
    abort_usage("operations were started by ", join_words(modes[[1]]), " in A and by ", join_words(modes[[2]]),
                " in B: their times are different things; measure both with the same --starts")
  }
}

check_common <- function(summaries) {
  names <- lapply(summaries, function(s) unique(cell_words(s[s$family == "time", ])))
  if (length(intersect(names$a, names$b)) > 0) return(invisible())
  abort_usage("A and B have nothing in common: A has ", few_words(names$a), "; B has ", few_words(names$b),
              "; measure the same operation, bytes, ranks and --starts in both")
}

cell_words <- function(rows) {
  sprintf("%s %s B, %s ranks%s", rows$operation, format_count(rows$bytes), format_count(rows$ranks),
          ifelse(rows$mode == "loop", "", paste0(", start ", rows$mode)))
}

# ---- when launches were made -------------------------------------------------------------------

utc_seconds <- function(text) {
  as.numeric(as.POSIXct(text, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC"))
}

# One row per launch: `launch`, `started` and `ended`, seconds (NA where unknown), in the order of starts.
launch_times <- function(campaign) {
  of <- function(key) utc_seconds(vapply(campaign$launches, function(info) info[[key]] %||% NA_character_, ""))
  times <- data.frame(launch = names(campaign$launches), started = of("started_utc"), ended = of("ended_utc"))
  times[order(times$started, times$launch), ]
}

# Number of each launch in the order of starts, by launch id, over both campaigns.
paired_turns <- function(a, b) {
  turns <- lapply(list(A = a, B = b), function(campaign) {
    times <- launch_times(campaign)
    lost <- times$launch[is.na(times$started)]
    if (length(lost) > 0) {
      abort_usage("--paired: launch ", printable(lost[1]), " has no started_utc: its place in time is not known")
    }
    tied <- times$launch[duplicated(times$started)]
    if (length(tied) > 0) {
      abort_usage("--paired: launch ", printable(tied[1]), " started in the same second as another one of its side: ",
                  "their order is not known")
    }
    stats::setNames(seq_along(times$launch), times$launch)
  })
  n <- lengths(turns)
  if (n[["A"]] != n[["B"]]) {
    abort_usage("--paired: A has ", n[["A"]], " launch(es) and B has ", n[["B"]],
                ": pairs need the same number of both")
  }
  c(turns$A, turns$B)
}

# Were launches taken in turn? In time order every two hold one of A and one of B.
taken_in_turn <- function(a, b) {
  times <- rbind(cbind(launch_times(a), side = "A"), cbind(launch_times(b), side = "B"))
  if (anyNA(times$started) || anyDuplicated(times$started) || length(a$launches) != length(b$launches)) return(FALSE)
  side <- times$side[order(times$started)]
  length(side) >= 4 && all(side[c(TRUE, FALSE)] != side[c(FALSE, TRUE)])
}

# The time between two campaigns that do not overlap, in s; NA where they do, or where times are not known.
time_apart <- function(a, b) {
  span <- function(campaign) {
    times <- launch_times(campaign)
    c(min(times$started), max(times$started, times$ended, na.rm = TRUE))
  }
  x <- span(a)
  y <- span(b)
  gap <- max(y[1] - x[2], x[1] - y[2])
  if (is.na(gap) || gap < 0) NA_real_ else gap
}

side_row <- function(side, campaign) {
  times <- launch_times(campaign)
  known <- times$started[!is.na(times$started)]
  text <- function(pick) {
    if (length(known) == 0) NA_character_ else format(.POSIXct(pick(known), "UTC"), "%Y-%m-%dT%H:%M:%SZ")
  }
  data.frame(side = side, dirs = paste(campaign$dirs, collapse = " "), launches = length(campaign$launches),
             first_utc = text(min), last_utc = text(max))
}

# ---- what differs ------------------------------------------------------------------------------

of_hosts <- function(key) function(info) unique(vapply(info$hosts, function(host) show_json(host[[key]]), ""))

# Options that say where files went, or that follow from what is listed anyway.
options_passed_over <- c("out", "seconds", "operations", "bytes", "levels_percent", "generator", "kind", "set", "arms")

provenance_rows <- list(
  list(what = "host", get = of_hosts("host")), list(what = "kernel", get = of_hosts("kernel")),
  list(what = "tick", get = of_hosts("tick")), list(what = "governor", get = of_hosts("governor")),
  list(what = "SMT", get = of_hosts("smt")), list(what = "CPU model", get = of_hosts("cpu_model")),
  list(what = "isolated CPUs", get = of_hosts("cmdline_isolcpus")),
  list(what = "nohz_full", get = of_hosts("nohz_full")),
  list(what = "cpuset", get = of_hosts("cpuset")), list(what = "topology", get = of_hosts("topology")),
  list(what = "clock source", get = of_hosts("clocksource")),
  list(what = "MPI library", get = function(info) show_json(info$mpi$library)),
  list(what = "MPI version", get = function(info) show_json(info$mpi$version)),
  list(what = "MPI parameters", get = function(info) show_json(info$mpi$parameters, "none")),
  list(what = "ranks", get = function(info) show_json(info$ranks)),
  list(what = "nodes", get = function(info) show_json(info$nodes)),
  list(what = "binding", get = function(info) {
    show_json(vapply(info$placement, function(rank) show_json(rank$binding), ""), "none")
  }),
  list(what = "noiselab version", get = function(info) show_json(info$version)),
  list(what = "noiselab commit", get = function(info) show_json(info$git)),
  # launches that do not say were measured before there was a choice
  list(what = "preempted time by", get = function(info) info$preempted_by %||% "clocks"),
  list(what = "clock of operations", get = function(info) show_json(info$clock$name)),
  list(what = "start", get = function(info) start_mode(info))
)

# The values of both sides, launch by launch; rows where the sets of values are not the same.
differing_provenance <- function(a, b) {
  infos <- list(a = a$launches, b = b$launches)
  names <- unique(unlist(lapply(c(infos$a, infos$b), function(info) names(info$options))))
  names <- setdiff(names, options_passed_over)
  of_option <- lapply(names, function(name) list(what = paste("option", name),
                                                 get = function(info) show_json(info$options[[name]], "none")))
  rows <- lapply(c(provenance_rows, of_option), function(row) {
    values <- lapply(infos, function(side) sort(unique(unlist(lapply(side, row$get)))))
    if (identical(values$a, values$b)) return(NULL)
    text <- lapply(values, function(v) if (length(v) == 0) "unknown" else few_words(v, 3))
    data.frame(what = row$what, a = text$a, b = text$b)
  })
  rows <- bind_rows(c(rows, list(differing_thresholds(infos))))
  if (nrow(rows) == 0) data.frame(what = character(), a = character(), b = character()) else rows
}

# Above which time an operation counts as a detour: detour shares are made with it. Every launch finds its own; medians
# that are a tenth apart are told.
differing_thresholds <- function(infos) {
  threshold <- function(cell) {
    if (is.null(cell$detour_threshold_ns) || !is_text(cell$operation)) return(NULL)
    data.frame(cell = paste(cell$operation, format_count(cell$bytes %||% 0), "B"),
               ns = as.numeric(cell$detour_threshold_ns))
  }
  of <- lapply(infos, function(side) bind_rows(lapply(unname(side), function(info) {
    bind_rows(lapply(info$cells, threshold))
  })))
  if (any(vapply(of, nrow, 0L) == 0)) return(NULL)
  bind_rows(lapply(intersect(of$a$cell, of$b$cell), function(cell) {
    ns <- lapply(of, function(side) side$ns[side$cell == cell])
    middle <- vapply(ns, stats::median, 0)
    if (max(middle) <= 1.1 * min(middle)) return(NULL)
    text <- lapply(ns, function(x) paste(paste(unique(format_count(range(x))), collapse = " to "), "ns"))
    data.frame(what = paste("detour threshold,", cell), a = text$a, b = text$b)
  }))
}

# ---- notes -------------------------------------------------------------------------------------

comparison_notes <- function(a, b, summaries, keys, rows, settings) {
  of_side <- function(side, campaign) {
    notes <- unique(campaign$notes)
    more <- length(notes) - 2
    sprintf("%s: %s", side, c(utils::head(notes, if (more > 1) 2 else 3), if (more > 1) {
      sprintf("%d more notes on its launches: noiselab analyze %s", more, paste(campaign$dirs, collapse = " "))
    }))
  }
  in_turn <- taken_in_turn(a, b)
  gap <- time_apart(a, b)
  paired <- if (settings$paired && !in_turn) {
    paste("launches were not taken in turn (A, B, A, B or in sets of one each): those paired share no more than",
          "their number, and pairing only costs degrees of freedom")
  } else if (!settings$paired && in_turn) {
    "launches of A and B were taken in turn: --paired compares each with its neighbour, which removes slow drift"
  }
  drift <- if (!is.na(gap)) {
    sprintf(paste("A and B do not overlap in time (%s between them): drift of the machine is in every difference;",
                  "launches taken in turn would show whose it is"), format_span(gap, 3))
  }
  c(paired, drift, unlike_side("A", a), unlike_side("B", b), only_on_one_side(summaries, keys),
    disagreeing_checks(rows, settings$alpha),
    coarse_checks(rows, settings$alpha), of_side("A", a), of_side("B", b))
}

# Launches of a side are taken as alike.
unlike_side <- function(side, campaign) {
  designs <- unique(vapply(campaign$launches, function(info) info$options$design, ""))
  c(if (length(designs) > 1) sprintf("%s mixes designs (%s)", side, join_words(designs)),
    sub("^UNLIKE LAUNCHES: ", paste0("UNLIKE LAUNCHES in ", side, ": "), unlike_launches(campaign)))
}

only_on_one_side <- function(summaries, keys) {
  sides <- list(a = "b", b = "a")
  unlist(lapply(names(sides), function(side) {
    s <- summaries[[side]]
    other <- summaries[[sides[[side]]]]
    lost <- setdiff(cell_words(s), cell_words(other))
    treated <- s$family == "slowdown" & !keys[[side]] %in% keys[[sides[[side]]]] & !cell_words(s) %in% lost
    words <- ifelse(has_level(s$level_requested_percent), paste0(" (", treatment_label(s, treatment_columns), ")"), "")
    level <- unique(paste0(cell_words(s), at_level(s), words)[treated])
    c(if (length(lost) > 0) paste0("only in ", toupper(side), ": ", few_words(lost, 6)),
      if (length(level) > 0) paste0("treated only in ", toupper(side), ": ", few_words(level, 4)))
  }))
}

# " at 1 %"; a treatment without a level is there or not.
at_level <- function(rows) {
  level <- rows$level_requested_percent
  ifelse(has_level(level), paste0(" at ", format_level(level), " %"), paste0(" under ", rows$kind))
}

row_words <- function(rows) {
  paste0(rows$measure, " of ", cell_words(rows), ifelse(rows$level_requested_percent > 0,
                                                       at_level(rows), ""))
}

# Student's distribution is an assumption; the permutation of launches is none.
disagreeing_checks <- function(rows, alpha) {
  able <- !is.na(rows$p_check) & rows$smallest_check <= alpha
  odd <- rows[which(able & (rows$p_two_sided <= alpha) != (rows$p_check <= alpha)), ]
  if (nrow(odd) == 0) return(NULL)
  sprintf("the check disagrees: %s: p = %s by %s, %s by %s; take it for undecided", row_words(odd),
          format_p(odd$p_two_sided), odd$test, format_p(odd$p_check), odd$check)
}

coarse_checks <- function(rows, alpha) {
  coarse <- !is.na(rows$p_check) & rows$smallest_check > alpha
  if (!any(coarse)) return(NULL)
  sprintf(paste("so few launches allow the check no p below %s, so at alpha %g it cannot confirm: words rest on",
                "Student's distribution"), format_p(max(rows$smallest_check[coarse])), alpha)
}
