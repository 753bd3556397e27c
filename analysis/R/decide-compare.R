# Comparing two campaigns: before and after an upgrade, node against node. The launch is the unit.

# What is compared: one entry per family of tests. On the scale `log` the effect is the percent change of
# the mean of logs, B against A; on the scale `linear` it is B minus A.
comparison_families <- list(
  time = list(scale = "log", unit = "%", more = "slower", less = "faster",
              question = "Is the clean operation slower?"),
  tail = list(scale = "log", unit = "%", more = "slower", less = "faster",
              question = "Are the clean operation's quantiles larger?"),
  share = list(scale = "linear", unit = "points", more = "more", less = "less",
               question = "Is more time lost to other processes and long operations without a load?"),
  slowdown = list(scale = "log", unit = "%", more = "more sensitive", less = "less sensitive",
                  question = "Does the same load slow the operation more?"),
  amplification = list(scale = "linear", unit = "% per %", more = "larger", less = "smaller",
                       question = "Does the same preempted CPU time cost more?")
)

scope_systems <- "launches like these of A and of B"

comparison_cell <- c("operation", "bytes", "ranks", "mode")
comparison_key <- c("family", "measure", comparison_cell, "kind", "pattern", "placement", "phase",
                    "level_requested_percent")

# B against A, per operation, size and number of ranks: one summary of each launch, compared by Welch's
# test. Holm's correction is over a family (docs/methods.md, Comparing two campaigns). `rows`: `value_a`,
# `value_b` in ns for time and quantiles (geometric means over launches), percent for shares and slowdowns;
# `effect` with `ci_low`, `ci_high` (confidence 1 - alpha) in `unit`; `detection_limit`: of the test as
# corrected; `bound_low`, `bound_high` (confidence 1 - 2 alpha); `se`, `df` on the scale of the test.
# `answer`: `pass`, `fail`, `inconclusive`, NA without a margin (of the clean time, or of an agent's
# slowdown); `differs`: provenance that is not the same.
compare_campaigns <- function(a, b, margin_percent = NULL, alpha = 0.01, power = 0.95) {
  check_comparable(a, b)
  # A side that is still growing, or has grown beyond its plan, has been looked at before.
  looks <- list(a = campaign_looks(a, alpha), b = campaign_looks(b, alpha))
  alpha <- min(looks$a$alpha, looks$b$alpha)
  settings <- list(alpha = alpha, power = power, margin = margin_percent)
  summaries <- list(a = side_summaries(a), b = side_summaries(b))
  check_common(summaries)
  keys <- lapply(summaries, row_key, comparison_key)
  common <- intersect(keys$a, keys$b)
  at <- lapply(keys, function(key) split(seq_along(key), factor(key, common)))
  rows <- bind_rows(lapply(seq_along(common), function(i) {
    compare_row(summaries$a[at$a[[i]], ], summaries$b[at$b[[i]], ])
  }))
  rows <- decide_comparison(rows, settings)
  sides <- rbind(side_row("A", a), side_row("B", b))
  structure(
    list(
      rows = rows,
      answer = if (is.null(margin_percent)) {
        NA_character_
      } else {
        margin_answer(rows$margin_verdict[in_margin(rows)])
      },
      differs = differing_provenance(a, b),
      notes = c(
        sprintf("%s: %s", rep(c("A", "B"), lengths(lapply(looks, `[[`, "note"))),
                unlist(lapply(looks, `[[`, "note"))),
        comparison_notes(a, b, summaries, keys)
      ),
      sides = sides,
      margin_percent = margin_percent,
      alpha = alpha,
      power = power
    ),
    class = "nl_comparison"
  )
}

# ---- tests -------------------------------------------------------------------------------------

compare_row <- function(group_a, group_b) {
  family <- comparison_families[[group_a$family[1]]]
  a <- group_a[is.finite(group_a$x), ]
  b <- group_b[is.finite(group_b$x), ]
  result <- compare_launches(a, b)
  why <- unique(stats::na.omit(c(group_a$why, group_b$why)))
  if (nrow(a) == 0 || nrow(b) == 0) {
    side <- paste(c("A", "B")[c(nrow(a), nrow(b)) == 0], collapse = " and ")
    result$reason <- paste0("no value on side ", side, if (length(why) > 0) paste0(": ", why[1]))
  }
  value <- function(x) {
    if (length(x) == 0) return(NA_real_)
    if (group_a$family[1] == "slowdown") return(100 * expm1(mean(x)))
    if (family$scale == "log") exp(mean(x)) else mean(x)
  }
  cbind(
    group_a[1, comparison_key],
    data.frame(unit = family$unit, value_a = value(a$x), value_b = value(b$x),
               result[c("estimate", "se", "df")], n_a = nrow(a), n_b = nrow(b), scope = scope_systems,
               reason = result$reason),
    row.names = NULL
  )
}

compare_launches <- function(a, b) {
  none <- list(
    estimate = if (nrow(a) > 0 && nrow(b) > 0) {
      mean(b$x) - mean(a$x)
    } else {
      NA_real_
    },
    se = NA_real_,
    df = NA_real_
  )
  one <- c("A", "B")[c(nrow(a), nrow(b)) < 2]
  if (length(one) > 0) {
    return(c(
      none,
      reason = sprintf("one launch of %s has it: there is no scatter between launches to compare with",
                       paste(one, collapse = " and of "))
    ))
  }
  w <- welch_test(mean(a$x), stats::sd(a$x), nrow(a), mean(b$x), stats::sd(b$x), nrow(b))
  if (w$se <= 1e-12 * max(abs(c(a$x, b$x)))) {
    return(c(none, reason = "all launches agree exactly, their scatter is unknown"))
  }
  c(none["estimate"], w[c("se", "df")], reason = NA_character_)
}

# Intervals, Holm's correction over each family, limits, words.
decide_comparison <- function(rows, settings) {
  alpha <- settings$alpha
  tested <- is.na(rows$reason)
  log_scale <- vapply(comparison_families[rows$family], `[[`, "", "scale") == "log"
  effect <- function(x) ifelse(log_scale, 100 * expm1(x), x)
  one_sided <- function(border, below) {
    ifelse(tested, stats::pt((rows$estimate - border) / rows$se, rows$df, lower.tail = below), NA_real_)[at]
  }
  reach <- function(level) ifelse(tested, stats::qt(1 - level, rows$df) * rows$se, NA_real_)
  rows$effect <- effect(rows$estimate)
  rows$ci_low <- effect(rows$estimate - reach(alpha / 2))
  rows$ci_high <- effect(rows$estimate + reach(alpha / 2))
  rows$bound_low <- effect(rows$estimate - reach(alpha))
  rows$bound_high <- effect(rows$estimate + reach(alpha))
  rows$p_two_sided <- ifelse(tested, pmax(1e-300, 2 * stats::pt(-abs(rows$estimate / rows$se), rows$df)),
                             NA_real_)
  rows$p_holm <- stats::ave(rows$p_two_sided, rows$family, FUN = function(p) stats::p.adjust(p, "holm"))
  n_tests <- stats::ave(as.numeric(tested), rows$family, FUN = sum)
  rows$detection_limit <- effect(vapply(seq_len(nrow(rows)), function(i) {
    if (tested[i]) {
      detection_limit(rows$se[i], rows$df[i], alpha / 2 / n_tests[i], settings$power)
    } else {
      NA_real_
    }
  }, 0))
  # What an interval by itself shows and Holm's correction does not is marked, so that no interval
  # contradicts its word.
  rows$verdict <- comparison_words(rows, alpha)
  rows$familywise <- ifelse(is.na(rows$reason) & rows$verdict != no_difference,
                            !is.na(rows$p_holm) & rows$p_holm <= alpha, NA)
  rows$margin_verdict <- rows$margin_reason <- NA_character_
  at <- which(in_margin(rows))
  if (!is.null(settings$margin) && length(at) > 0) {
    border <- log1p(c(settings$margin, -settings$margin) / 100)
    above <- one_sided(border[1], FALSE)
    rows$margin_verdict[at] <- margin_verdicts(above, one_sided(border[1], TRUE), one_sided(border[2], FALSE),
                                               one_sided(border[2], TRUE), alpha)
    rows$margin_reason[at] <- ifelse(tested[at], margin_reason(above, alpha), rows$reason[at])
  }
  ordered <- do.call(
    order,
    c(
      list(match(rows$operation, unique(rows$operation)), rows$bytes, rows$ranks, rows$mode,
           match(rows$family, names(comparison_families)), match(rows$measure, unique(rows$measure))),
      unname(as.list(rows[treatment_columns])),
      list(rows$level_requested_percent)
    )
  )
  columns <- c(comparison_key, "unit", "value_a", "value_b", "effect", "ci_low", "ci_high", "p_two_sided",
               "p_holm", "detection_limit", "bound_low", "bound_high", "margin_verdict", "margin_reason",
               "verdict", "familywise", "reason", "scope", "n_a", "n_b", "se", "df")
  rows <- rows[ordered, columns]
  rownames(rows) <- NULL
  rows
}

# The rows that a margin is about: what an agent costs, where both sides ran it, else the clean time.
in_margin <- function(rows) {
  agents <- rows$family == "slowdown" & !has_level(rows$level_requested_percent)
  if (any(agents)) agents else rows$family == "time"
}

margin_of_what <- function(rows) {
  if (any(rows$family == "slowdown" & in_margin(rows))) {
    "the agent's slowdown"
  } else {
    "the clean time"
  }
}

comparison_words <- function(rows, alpha) {
  word <- function(name) unname(vapply(comparison_families[rows$family], `[[`, "", name))
  ifelse(
    !is.na(rows$reason),
    "inconclusive",
    ifelse(!is.na(rows$p_two_sided) & rows$p_two_sided <= alpha,
           ifelse(rows$effect > 0, word("more"), word("less")), no_difference)
  )
}

no_difference <- "no difference found"

# What a comparison of campaigns compares: one summary per launch and figure.

tail_quantiles <- c(p50 = 0.5, p99 = 0.99, p99.9 = 0.999)

# One row per launch and thing compared: `x` on the scale of its family, `why` there is none.
side_summaries <- function(campaign) {
  clean <- clean_summaries(campaign)
  all <- bind_rows(list(clean, tail_summaries(campaign, clean), treated_summaries(campaign)))
  all$mode <- unname(vapply(campaign$launches, start_mode, "")[all$launch])
  all[order(match(all$family, names(comparison_families))), ]
}

summary_frame <- function(cells, family, measure, x, why = NA_character_) {
  got <- data.frame(launch = as.character(cells$launch), family = family, measure = measure,
                    operation = as.character(cells$operation),
                    bytes = cells$bytes, ranks = cells$ranks)
  for (name in treatment_columns) got[[name]] <- as.character(cells[[name]] %||% NA)
  got$level_requested_percent <- cells$level_requested_percent %||% 0
  x[!is.finite(x)] <- NA_real_
  cbind(got, data.frame(x = x, why = why))
}

# Means over the off halves of each launch and cell.
clean_summaries <- function(campaign) {
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  key <- cell_key(rows)[off]
  first <- off[!duplicated(key)]
  cells <- as.data.frame(lapply(stats::setNames(nm = c("launch", "operation", "bytes", "ranks")),
                                function(n) rows[[n]][first]))
  n_generators <- row_generators(campaign)
  one <- function(family, name) {
    value <- channel_values(rows, n_generators, channels[[name]]) %||% rep(NA_real_, nrow(rows))
    x <- as.numeric(tapply(value[off], in_order(key), mean, na.rm = TRUE))
    summary_frame(cells, family, name, x,
                  why = ifelse(is.finite(x), NA, paste("channel", name, "was not measured")))
  }
  bind_rows(list(one("time", "time"), one("share", "preempted"), one("share", "detour")))
}

# Quantiles of the operation times in the off arm. Bins are read as if their values lay evenly in them: the
# middle of a bin would be the same in all launches, and their scatter 0.
tail_summaries <- function(campaign, clean) {
  cells <- clean[clean$measure == "time", ]
  hist <- campaign$hist
  off <- which(hist[["arm"]] == "off")
  key <- function(frame, at) {
    paste(frame[["launch"]][at], frame[["operation"]][at], frame[["bytes"]][at], sep = "\r")
  }
  members <- split(off, factor(key(hist, off), key(cells, seq_len(nrow(cells)))))
  bind_rows(lapply(names(tail_quantiles), function(name) {
    p <- tail_quantiles[[name]]
    x <- vapply(members, function(at) {
      hist_quantile(hist[["lo_ns"]][at], hist[["hi_ns"]][at], hist[["count"]][at], p, within = TRUE)
    }, 0)
    counted <- vapply(members, function(at) sum(hist[["count"]][at]), 0)
    why <- ifelse(counted == 0, "single operations were not timed",
                  ifelse(counted * (1 - p) < 1 - 1e-9,
                         sprintf("fewer than %g operations for %s", round(1 / (1 - p)), name), NA))
    x[!is.na(why)] <- NA
    summary_frame(cells, "tail", name, unname(log_or_na(x)), why = why)
  }))
}

# Mean log ratio on/off and amplification of the pairs of each launch and level above 0.
treated_summaries <- function(campaign) {
  rows <- campaign$rows
  pairs <- pair_rows(rows)
  wanted <- which(pairs$cells$level_requested_percent > 0)
  if (length(wanted) == 0) return(set_summaries(campaign))
  differences <- measure_pairs(campaign, pairs, c("time", "preempted"))$differences
  slow <- differences$time
  preempted <- differences$preempted %||% rep(NA_real_, length(slow))
  members_of <- split(seq_along(pairs$cell), factor(pairs$cell, seq_len(nrow(pairs$cells))))
  bind_rows(lapply(wanted, function(i) {
    members <- members_of[[i]]
    members <- members[is.finite(slow[members])]
    # As in cell_amplification().
    known <- members[is.finite(preempted[members])]
    ratio <- fieller_ratio(slowdown_parts(slow[known]), preempted[known])
    cell <- pairs$cells[i, ]
    none <- if (length(members) == 0) "no pair has a value" else NA_character_
    rbind(summary_frame(cell, "slowdown", "slowdown", mean(slow[members]), none),
          summary_frame(cell, "amplification", "amplification", ratio$estimate, ratio$reason))
  }))
}

# Where every launch has one arm: each treated launch against the off launch of its set.
set_summaries <- function(campaign) {
  if (!one_arm_launches(campaign$rows) || !in_sets(campaign)) return(NULL)
  on <- set_differences(campaign, "time")
  on <- on[on$level_requested_percent > 0, ]
  if (nrow(on) == 0) return(NULL)
  summary_frame(on, "slowdown", "slowdown", on$difference,
                ifelse(is.finite(on$difference), NA_character_, "the set has no off launch"))
}

# What two campaigns have in common, what differs between them, and when they were taken.

check_comparable <- function(a, b) {
  twice <- intersect(a$paths, b$paths)
  if (length(twice) > 0) {
    abort_usage("launch '", basename(twice[1]),
                "' is in A and in B: a campaign compared with itself says nothing; give two directories")
  }
  twice <- intersect(names(a$launches), names(b$launches))
  if (length(twice) > 0) {
    abort_usage("launch id '", twice[1],
                "' is in A and in B (a copy): give two campaigns that were measured apart")
  }
  for (campaign in list(a, b)) {
    if (!any(campaign$rows[["arm"]] == "off")) {
      abort_data("no row of the arm off in ", paste(campaign$dirs, collapse = " "),
                 ": the clean operations are what is compared first")
    }
  }
  modes <- lapply(list(a, b), function(campaign) unique(vapply(campaign$launches, start_mode, "")))
  if (length(intersect(modes[[1]], modes[[2]])) == 0) {
    abort_usage("operations were started by ", join_words(modes[[1]]), " in A and by ",
                join_words(modes[[2]]),
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

# One row per launch: `launch`, `started` and `ended`, seconds (NA where unknown), in the order of starts.
launch_times <- function(campaign) {
  of <- function(key) {
    as.numeric(as.POSIXct(vapply(campaign$launches, function(info) info[[key]] %||% NA_character_, ""), "UTC",
                          "%Y-%m-%dT%H:%M:%OS"))
  }
  times <- data.frame(launch = names(campaign$launches), started = of("started_utc"), ended = of("ended_utc"))
  times[order(times$started, times$launch), ]
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
of_launch <- function(path, absent = "unknown") {
  function(info) {
    show_json(Reduce(function(x, key) x[[key]], path, info), absent)
  }
}

# Options that say where files went, or that follow from what is listed anyway.
options_passed_over <- c("out", "seconds", "operations", "bytes", "levels_percent", "generator", "kind",
                         "set", "arms")

# Options that say which agent was measured.
agent_options_asked <- c("agent", "agent_options", "agent_cmd", "agent_pid", "agent_cgroup", "agent_unit",
                         "agent_on", "agent_off", "agent_name", "agent_interval_ns", "agent_period_ns",
                         "scrape", "scrape_period")

# What is compared, by the words for it: functions of a launch. A function, because start_mode() is in a
# file that is read later.
provenance <- function() {
  c(
    lapply(
      c(host = "host", kernel = "kernel", tick = "tick", governor = "governor", SMT = "smt",
        "CPU model" = "cpu_model", "isolated CPUs" = "cmdline_isolcpus", nohz_full = "nohz_full",
        cpuset = "cpuset", topology = "topology", "clock source" = "clocksource"),
      of_hosts
    ),
    lapply(list("MPI library" = c("mpi", "library"), "MPI version" = c("mpi", "version")), of_launch),
    "MPI parameters" = of_launch(c("mpi", "parameters"), "none"),
    lapply(c(ranks = "ranks", nodes = "nodes"), of_launch),
    binding = function(info) {
      show_json(vapply(info$placement, function(rank) show_json(rank$binding), ""), "none")
    },
    lapply(c("noiselab version" = "version", "noiselab commit" = "git"), of_launch),
    # launches that do not say were measured before there was a choice
    "preempted time by" = of_launch("preempted_by", "clocks"),
    "clock of operations" = of_launch(c("clock", "name")),
    start = start_mode
  )
}

# With the options of these launches, but for those `passed_over`.
provenance_of <- function(infos, passed_over = "out") {
  names <- setdiff(unique(unlist(lapply(infos, function(info) names(info$options)))), passed_over)
  c(
    provenance(),
    lapply(stats::setNames(names, paste("option", names, recycle0 = TRUE)),
           function(name) of_launch(c("options", name), "none"))
  )
}

# The values of both sides, launch by launch; rows where the sets of values are not the same.
differing_provenance <- function(a, b) {
  infos <- list(a = a$launches, b = b$launches)
  # which agent it is, is the question where both have one
  question <- if (all(vapply(infos, function(side) any(vapply(side, switches_agent, TRUE)), TRUE))) {
    agent_options_asked
  }
  of <- provenance_of(c(infos$a, infos$b), c(options_passed_over, question))
  rows <- bind_rows(c(Map(function(what, get) {
    values <- lapply(infos, function(side) sort(unique(unlist(lapply(side, get)))))
    if (identical(values$a, values$b)) return(NULL)
    text <- lapply(values, function(v) if (length(v) == 0) "unknown" else few_words(v, 3))
    data.frame(what = what, a = text$a, b = text$b)
  }, names(of), of), list(differing_thresholds(infos))))
  if (nrow(rows) == 0) data.frame(what = character(), a = character(), b = character()) else rows
}

# Above which time an operation counts as a detour: detour shares are made with it. Every launch finds its
# own; medians that are a tenth apart are told.
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

comparison_notes <- function(a, b, summaries, keys) {
  of_side <- function(side, campaign) {
    notes <- unique(campaign$notes)
    more <- length(notes) - 2
    sprintf("%s: %s", side, c(utils::head(notes, if (more > 1) 2 else 3), if (more > 1) {
      sprintf("%d more notes on its launches: noiselab analyze %s", more,
              paste(campaign$dirs, collapse = " "))
    }))
  }
  gap <- time_apart(a, b)
  drift <- if (!is.na(gap)) {
    sprintf(
      paste("A and B do not overlap in time (%s between them): drift of the machine is in every difference;",
            "launches taken in turn would show whose it is"),
      format_span(gap, 3)
    )
  }
  c(drift, unlike_side("A", a), unlike_side("B", b), only_on_one_side(summaries, keys), of_side("A", a),
    of_side("B", b))
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
    words <- ifelse(has_level(s$level_requested_percent),
                    paste0(" (", treatment_label(s, treatment_columns), ")"), "")
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
