# The answers about agents, a row per agent and operation: headline, table, report, JSON and exit status are
# all made of them.

# A row per agent and operation in the scope of the main answer: what `agent_rule()` gives, `outcome` by
# Holm's correction over the rows, `watched_s` (for how long bursts were recorded), `limit` (slowdown that
# would have been detected), `needs_s` (measured seconds that would decide the margin).
agent_answers <- function(analysis, taken, locked) {
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!has_level(rows$level_requested_percent) & rows$channel == "time", ]
  answers <- bind_rows(lapply(seq_len(nrow(rows)), function(i) {
    answer_row(rows[i, ], analysis, taken, locked)
  }))
  if (nrow(answers) == 0) return(NULL)
  alpha <- rows$alpha
  sure <- stats::p.adjust(answers$p_value, "holm") <= alpha
  answers$outcome <- ifelse(
    answers$case == "less" | is.na(answers$value), "inconclusive",
    ifelse(!answers$found, "not detected", ifelse(sure %in% TRUE, "detected", "detected alone"))
  )
  answers
}

answer_row <- function(row, analysis, taken, locked) {
  mine <- locked_of_answer(row, analysis, locked)
  bursts <- mine$figure[[1]]
  own <- main_taken(taken[taken$kind %in% as.character(row$kind), ])
  agree <- agree_margin(if (NROW(own) > 0) mean(own$account_percent) else NA_real_)
  percent <- function(figure) figure_as(figure, function(x) 100 * expm1(x))
  # What is printed is the mean, whatever margin was asked; less what others took, where that may be judged,
  # it stands in for it against the margin.
  whole <- if (is.na(row$reason)) percent(figure_of_t(row$raw_mean, row$raw_mean_se, row$raw_mean_df))
  judged <- if (!is.null(whole) && row$margin_of %in% "adjusted mean") {
    percent(adjusted_figure(row$raw_adjusted[[1]]))
  } else {
    whole
  }
  watched <- mine$watched_s %||% watched_by_rows(row, analysis$campaign)
  seen <- if (is.null(bursts)) mine$seen_ns[[1]]
  # Quick halves tell what lies beyond bursts.
  quick <- mine$beyond[[1]]
  by_quick <- is.null(bursts) && !is.null(quick)
  if (by_quick) whole <- judged <- with_unseen(quick, watched, seen)
  # Short segments are no picture of the whole: what was due comes when the agent is thawed. In campaigns of
  # 1.1.0 and before, each also began with a scrape.
  stretches <- if (is.null(bursts) && !by_quick) stretch_figure(row, analysis$campaign)
  if (!is.null(stretches)) whole <- judged <- percent(stretches)
  got <- agent_rule(bursts, whole, if (!is.null(bursts)) quick, agree, row$alpha, analysis$margin, watched,
                    seen, judged, if (by_quick) quick)
  if (is.null(bursts) && !by_quick && is.null(stretches)) {
    # Its own test is exact.
    got[c("value", "low", "high", "p_value")] <- row[c("estimate", "ci_low", "ci_high", "p_one_sided")]
    got$found <- isTRUE(row$verdict == "detected")
    if (!is.null(analysis$margin)) {
      below <- got$margin_verdict %in% "below" && row$margin_verdict %in% "below"
      # Quick halves hardly see bursts.
      if (below && is_quick_answer(row, analysis$campaign)) below <- FALSE
      got$margin_verdict <- if (row$margin_verdict %in% "above") {
        "above"
      } else if (below) {
        "below"
      } else {
        "inconclusive"
      }
      got$margin_by <- if (got$margin_verdict %in% "inconclusive") NA_character_ else "on/off"
      got$p_above <- p_above(row, analysis$margin)
    }
  }
  # nor do so few stretches see bursts that come seldom
  if (!is.null(stretches) && got$margin_verdict %in% "below") {
    got[c("margin_verdict", "margin_by")] <- list("inconclusive", NA_character_)
  }
  scraper <- scraper_percent(analysis$campaign, as.character(row$kind))
  is_scrapers <- is_scrapers_margin(got, scraper, analysis$margin)
  if (is_scrapers) got[c("margin_verdict", "margin_by")] <- list("inconclusive", NA_character_)
  alone <- if (by_quick) quick else if (!is.null(stretches)) whole
  limit <- if (!is.null(alone)) {
    reach_of(alone, row$alpha) + reach_of(alone, 0.05)
  } else if (is.null(bursts) || got$case == "more") {
    row$detection_limit
  } else {
    mine$limit_percent
  }
  rest <- if (by_quick) {
    quick
  } else if (is.null(bursts)) {
    judged
  } else {
    quick %||% (if (!is.null(whole)) beyond_figure(whole, bursts))
  }
  needs <- if (!identical(got$margin_verdict, "inconclusive") || is_scrapers || is.null(rest)) NA_real_ else
    measured_s(row, analysis$campaign) * parts_need_s(bursts, rest, analysis$margin, row$alpha, watched)
  parts <- if (is.null(analysis$margin)) {
    NA_character_
  } else if (is_scrapers) {
    sprintf(paste0("the total lies above it, and may do so by the scraper, which used %s of one CPU on this ",
                   "machine"),
            percent_of(scraper))
  } else if (is.null(bursts) && !by_quick && is_quick_answer(row, analysis$campaign)) {
    "its bursts are not known, and those that come seldom are hardly seen"
  } else {
    margin_parts(bursts, rest, row$alpha, watched, seen)
  }
  data.frame(
    kind = as.character(row$kind),
    operation = as.character(row$operation),
    bytes = row$bytes,
    ranks = row$ranks,
    launch = row$launch,
    scope = row$scope,
    got,
    state = mine$state %||% "unrecorded",
    n_bursts = mine$n_bursts %||% NA_real_,
    n_seen = if (is.null(mine$seen_ns[[1]])) {
      NA_real_
    } else {
      length(mine$seen_ns[[1]])
    },
    watched_s = watched,
    unseen = unseen_percent(watched, row$alpha / if (is.null(bursts)) 2 else 6, seen),
    by_quick = by_quick,
    n_stretches = attr(stretches, "n") %||% NA_integer_,
    limit = limit,
    reason = if (is.null(bursts)) {
      mine$reason %||% "bursts are not recorded against slices of the loop"
    } else {
      NA_character_
    },
    whole_reason = if (by_quick) NA_character_ else row$reason,
    scraper_percent = scraper,
    note = attr(quick, "note") %||% NA_character_,
    needs_s = needs,
    parts_high = parts,
    alpha = row$alpha
  )
}

# CPU time of what asks the agent (--scrape), percent of one CPU, while the agent was on undisturbed (in
# campaigns of 1.1.0 and before each quick half began with a scrape); 0: nothing asks it.
scraper_percent <- function(campaign, kind) {
  account <- campaign$agents
  if (is.null(account[["scraper_cpu_ns"]])) return(0)
  on <- which(is_agent_row(account) & as.character(account[["kind"]]) == kind)
  for (id in unique(as.character(account[["launch"]][on]))) {
    parts <- planned_parts(campaign, id)
    if (is.null(parts)) next
    on <- on[account[["launch"]][on] != id | account[["planned_ns"]][on] %in% parts$undisturbed]
  }
  used <- per_second(account, on, "scraper_cpu_ns") / 1e7
  if (is.na(used)) 0 else used
}

# A slowdown that is known by on/off alone has the scraper's work in it, which is no work of the agent: on a
# cluster it is another machine's. Ranks that wait for each other may pay its CPU time twice.
is_scrapers_margin <- function(got, scraper, margin) {
  got$margin_verdict %in% "above" && !got$margin_by %in% "bursts" && scraper > 0 &&
    isTRUE(max(got$low, got$whole_low, na.rm = TRUE) - 2 * scraper <= margin)
}

# Where the scraper is a part of what is stated, or of what is left open. What it does while the agent answers
# lies in windows of the agent's bursts, too.
scraper_words <- function(answers) {
  scraper <- max(0, answers$scraper_percent, na.rm = TRUE)
  if (scraper < 0.05) return(NULL)
  counts_in <- function(x) any(is.na(x) | scraper > 0.1 * x)
  by_bursts <- all(answers$lead == "bursts")
  of <- c(if (counts_in(answers$value)) "this slowdown",
          if (by_bursts && counts_in(answers$beyond_most)) "the other effects")
  if (length(of) == 0) return(NULL)
  sprintf("The scraper used %s of one CPU on this machine: that is part of %s.", percent_of(scraper),
          paste(of, collapse = " or of "))
}

# The mean less what others took, with what the agent may have moved of that on each side.
adjusted_figure <- function(adjusted) {
  figure <- figure_of_t(adjusted$estimate, adjusted$se, adjusted$df)
  figure_of(figure$value, function(a) figure$ends(a) + moved_ends(adjusted))
}

rows_of_answer <- function(row, campaign) {
  rows <- campaign$rows
  which(
    is_agent_row(rows) & as.character(rows[["kind"]]) %in% as.character(row$kind) &
      rows[["operation"]] == as.character(row$operation) & rows[["bytes"]] == row$bytes &
      (is.na(row$launch) | as.character(rows[["launch"]]) %in% row$launch)
  )
}

# Of quick halves what an undisturbed stretch with the agent takes longer than the nearest long half of the
# launch without it: the mean of the logarithms of these ratios, over launches where they are enough. NULL:
# another design, or fewer than least_stretches. Attribute `n`: how many.
least_stretches <- 7

stretch_figure <- function(row, campaign) {
  if (!is_quick_answer(row, campaign)) return(NULL)
  rows <- as.data.frame(campaign$rows)
  x <- log_or_na(operation_ns(rows))
  on <- undisturbed_rows(campaign, rows_of_answer(row, campaign))
  middle <- as.numeric(rows[["start_ns"]]) + as.numeric(rows[["wall_ns"]]) / 2
  nearest <- vapply(on, function(i) {
    off <- which(rows[["arm"]] == "off" & rows[["launch"]] == rows[["launch"]][i] &
                   rows[["operation"]] == rows[["operation"]][i] & rows[["bytes"]] == rows[["bytes"]][i])
    off <- off[rows[["planned_ns"]][off] == max(c(0, rows[["planned_ns"]][off]))]
    if (length(off) == 0) NA_integer_ else off[which.min(abs(middle[off] - middle[i]))]
  }, 0L)
  d <- x[on] - x[nearest]
  known <- is.finite(d)
  if (sum(known) < least_stretches) return(NULL)
  est <- widest_mean(d[known], as.character(rows[["launch"]][on][known]), row$alpha)
  if (isTRUE(est$se > 0)) structure(figure_of_t(est$estimate, est$se, est$df), n = sum(known))
}

# Undisturbed seconds with the agent, where no bursts are on record.
watched_by_rows <- function(row, campaign) {
  sum(campaign$rows[["wall_ns"]][undisturbed_rows(campaign, rows_of_answer(row, campaign))]) / 1e9
}

is_quick_answer <- function(row, campaign) {
  ids <- unique(as.character(campaign$rows[["launch"]][rows_of_answer(row, campaign)]))
  !all(vapply(ids, function(id) is.null(planned_parts(campaign, id)), TRUE))
}

# The row of `locked` for a row of verdicts: of its launch, or of several together; NULL: none.
locked_of_answer <- function(row, analysis, locked) {
  if (NROW(locked) == 0) return(NULL)
  campaign <- analysis$campaign$rows
  launches <- if (is.na(row$launch)) {
    unique(as.character(campaign[["launch"]][as.character(campaign[["kind"]]) %in% as.character(row$kind)]))
  } else {
    row$launch
  }
  mine <- locked[
    locked$operation == as.character(row$operation) & locked$bytes == row$bytes & locked$launch %in% launches,
  ]
  if (nrow(mine) == 0) return(NULL)
  if (nrow(mine) == 1) return(mine)
  like <- row$scope == scope_campaign
  one <- pool_locked(mine, 2 * row$alpha, like)[1, ]
  one$watched_s <- sum(mine$watched_s)
  one$is_quick <- any(mine$is_quick)
  one$seen_ns <- list(if (!any(vapply(mine$seen_ns, is.null, TRUE))) unlist(mine$seen_ns))
  one$beyond <- list(pool_beyond(mine$beyond, like))
  one
}

pool_beyond <- function(figures, like) {
  if (any(vapply(figures, is.null, TRUE))) return(NULL)
  values <- vapply(figures, `[[`, 0, "value")
  if (like) return(figure_of_t(mean(values), stats::sd(values) / sqrt(length(values)), length(values) - 1))
  n <- vapply(figures, attr, 0, "n")
  figures_together(figures, function(...) sum(n * c(...)) / sum(n))
}

measured_s <- function(row, campaign) {
  rows <- campaign$rows
  mine <- rows[["operation"]] == as.character(row$operation) &
    (is.na(row$launch) | as.character(rows[["launch"]]) %in% row$launch)
  sum(rows[["wall_ns"]][mine]) / 1e9
}

# How many times as long, if every estimate is as it is: intervals shrink with the root of the time, what
# was not seen with the time. `rest`: what lies beyond the bursts, or all of it where those have no figure.
parts_need_s <- function(bursts, rest, margin, alpha, watched_s) {
  each <- alpha / if (is.null(bursts)) 2 else 6
  at <- function(times) {
    reach <- function(figure) (figure$ends(each)[2] - figure$value) / sqrt(times)
    l <- (if (is.null(bursts)) 0 else bursts$value + reach(bursts)) + unseen_percent(watched_s * times, each)
    (1 + l / 100) * (1 + (max(0, rest$value) + reach(rest)) / 100) - 1 - margin / 100
  }
  if (!isTRUE(at(1e8) < 0)) return(Inf)
  if (at(1) < 0) 1 else exp(stats::uniroot(function(t) at(exp(t)), log(c(1, 1e8)))$root)
}

reach_of <- function(figure, alpha) diff(figure$ends(alpha)) / 2

margin_parts <- function(bursts, rest, alpha, watched_s, seen_ns = numeric()) {
  each <- alpha / if (is.null(bursts)) 2 else 6
  high <- if (!is.null(bursts)) bursts$ends(each)[2]
  unseen <- unseen_percent(watched_s, each, seen_ns)
  paste0(
    "upper bounds: ",
    if (!is.null(high)) sprintf("recorded bursts %s, ", upper_words(high)),
    sprintf(
      "%s bursts %s, ",
      if (length(seen_ns) > 0) {
        "the few recorded and unrecorded"
      } else {
        "unrecorded"
      },
      upper_words(unseen)
    ),
    if (is.null(rest)) {
      "other effects are not known"
    } else {
      sprintf("%s %s", if (is.null(bursts)) "all else" else "other effects",
              upper_words(beyond_bound(rest, each)))
    }
  )
}

upper_words <- function(percent) if (is.finite(percent)) paste(three(percent), "%") else "not bounded"

# One answer over all agents and operations: fail with Holm's correction, pass where every row lies below.
agent_margin_answer <- function(answers) {
  if (NROW(answers) == 0) return(list(answer = "inconclusive", reason = "no agent was judged by loop time"))
  verdict <- answers$margin_verdict
  answer <- answer_with_holm(verdict, answers$p_above, answers$alpha)
  decided <- if (answer == "fail") {
    answers[
      verdict %in% "above" & stats::p.adjust(answers$p_above, "holm") <= answers$alpha,
    ]
  } else {
    answers
  }
  several <- length(unique(answers$kind)) > 1
  by_bursts <- any(decided$margin_by %in% "bursts")
  reason <- if (answer == "inconclusive") {
    margin_open_words(answers)
  } else if (several && answer == "fail") {
    paste0("that of ", join_words(names_of_agents(decided$kind)), if (by_bursts) " by its bursts")
  } else if (by_bursts) {
    if (several) "by bursts" else "by its bursts"
  } else {
    NA_character_
  }
  list(answer = answer, reason = reason)
}

# Without the interval that tells launches of one agent apart.
names_of_agents <- function(kinds) unique(sub("@[^@]*$", "", kinds))

margin_open_words <- function(answers) {
  if (any(answers$margin_verdict %in% "above")) {
    return(
      "one slowdown lies above the margin by itself, but not with all agents and operations counted together"
    )
  }
  open <- answers[!answers$margin_verdict %in% "below", ]
  # where there are several, whose it is
  several <- length(unique(answers$kind)) > 1
  of <- function(at) if (several) paste0(names_of_agents(open$kind[at][1]), ": ") else ""
  contradicts <- which(open$case == "less")
  if (length(contradicts) > 0) {
    return(paste0(of(contradicts), "its bursts and the total slowdown contradict each other"))
  }
  known <- which(!is.na(open$parts_high))
  if (length(known) > 0) return(paste0(of(known), open$parts_high[known[1]]))
  "an interval reaches over the margin, or an agent could not be judged"
}

# The answer of one agent on one operation. `bursts`, `whole`, `beyond`: figures (percent) or NULL: by
# bursts, in all by on/off, and beyond the bursts where that was measured by itself (quick halves). With
# `bursts` each claim has alpha / 2. `agree`: half of "agree"; `watched_s`: for how long bursts were
# recorded, undisturbed; `seen_ns`: lengths of those on record that are in no figure; `judged`: stands in
# for `whole` against the margin; `rest`: of a whole that is made of unseen bursts and of this. `case`
# `alone`: on/off is all there is.
agent_rule <- function(bursts, whole, beyond = NULL, agree = agree_percent, alpha = 0.01, margin = NULL,
                       watched_s = 0, seen_ns = numeric(), judged = whole, rest = NULL) {
  each <- if (is.null(bursts)) alpha else alpha / 2
  apart <- beyond %||% (if (!is.null(bursts) && !is.null(whole)) beyond_figure(whole, bursts))
  # Measured by itself it says more of the whole than on/off does.
  if (!is.null(bursts) && !is.null(beyond)) whole <- in_all_figure(bursts, beyond)
  ends <- function(figure) {
    if (is.null(figure)) c(NA_real_, NA_real_) else figure$ends(each)
  }
  of <- function(figure) if (is.null(figure)) NA_real_ else figure$value
  beside <- ends(apart)
  case <- if (is.null(bursts)) {
    "alone"
  } else if (is.null(apart)) {
    "open"
  } else if (max(abs(beside)) <= agree) {
    "agree"
  } else if (beside[1] > 0) {
    "more"
  } else if (beside[2] < 0) {
    "less"
  } else {
    "open"
  }
  lead <- if (is.null(bursts) || case == "more") whole else bursts
  side <- if (is.null(margin)) {
    list(verdict = NA_character_, by = NA_character_, p_above = NA_real_)
  } else {
    margin_side(bursts, if (is.null(beyond)) judged else whole, apart, beyond, rest, alpha, margin, watched_s,
                seen_ns)
  }
  p <- figure_p(lead, 0) * if (is.null(bursts)) 1 else 2
  most <- if (is.null(apart)) rest else apart
  list(
    lead = if (is.null(bursts) || case == "more") "on/off" else "bursts",
    case = case,
    value = of(lead),
    low = ends(lead)[1],
    high = ends(lead)[2],
    p_value = min(1, p),
    found = case != "less" && isTRUE(p <= alpha),
    beyond = of(apart),
    beyond_low = beside[1],
    beyond_high = beside[2],
    beyond_most = if (is.null(most)) {
      NA_real_
    } else {
      beyond_bound(most, if (is.null(bursts)) alpha / 2 else each)
    },
    bursts = of(bursts),
    bursts_low = ends(bursts)[1],
    bursts_high = ends(bursts)[2],
    whole = of(whole),
    whole_low = ends(whole)[1],
    whole_high = ends(whole)[2],
    margin_verdict = side$verdict,
    margin_by = side$by,
    p_above = side$p_above
  )
}

# Pass: bursts that were not seen, and the whole, lie below together, or all parts do: bursts, those unseen,
# and what lies beyond; bounds share what the claim has of alpha. No pass without the bursts that were not
# seen: a whole by on/off leaves out what comes more rarely than it was watched. Fail: the whole lies above,
# or the bursts do and the whole is not shown below. Both: a contradiction, and no answer.
margin_side <- function(bursts, whole, apart, beyond, rest, alpha, margin, watched_s, seen_ns) {
  each <- if (is.null(bursts)) alpha else alpha / 2
  high <- function(figure, a) if (is.null(figure)) Inf else figure$ends(a)[2]
  together <- function(l, r) 100 * ((1 + l / 100) * (1 + r / 100) - 1)
  below_all <- function(a, figure) {
    if (is.null(figure)) {
      Inf
    } else {
      together(unseen_percent(watched_s, a, seen_ns), beyond_bound(figure, a))
    }
  }
  # (A whole that is made of bursts and beyond is one of parts.)
  whole_high <- if (!is.null(bursts) && !is.null(beyond)) Inf else below_all(each / 2, rest %||% whole)
  third <- alpha / 6
  parts_high <- if (is.null(bursts) || is.null(apart)) Inf else
    together(high(bursts, third) + unseen_percent(watched_s, third, seen_ns), beyond_bound(apart, third))
  p_whole <- figure_p(whole, margin)
  p_bursts <- if (is.null(bursts) || isTRUE(high(whole, each) < margin)) {
    NA_real_
  } else {
    figure_p(bursts, margin)
  }
  p_above <- min(1, c(p_whole, p_bursts) * if (is.null(bursts)) 1 else 2, na.rm = TRUE)
  above <- p_above <= alpha
  below <- c("on/off" = whole_high < margin, bursts = parts_high < margin)
  verdict <- if ((above || isTRUE(figure_p(bursts, margin) <= each)) && any(below)) {
    "inconclusive"
  } else if (above) {
    "above"
  } else if (any(below)) {
    "below"
  } else {
    "inconclusive"
  }
  by <- switch(verdict, above = if (isTRUE(p_whole <= each)) "on/off" else "bursts",
               below = names(which(below))[1], NA_character_)
  list(verdict = verdict, by = by, p_above = p_above)
}

# Several agents of one campaign, or one at several intervals, side by side: what each takes and costs, and
# how often it may sample.

# A row per agent and interval: what it takes (percent of one CPU), the slowdown of the operation on which
# that is surest, `amplification` (slowdown by what was taken, where both were found), `safe_interval_s`
# (where the upper end, with what may lie beyond bursts, would be the margin, if each sample costs the
# same), `cost_s` (time that the operation loses by a sample).
several_agents <- function(report) {
  if (NROW(report$answers) > 0) bind_rows(lapply(unique(report$answers$kind), several_row, report))
}

several_row <- function(kind, report) {
  answers <- report$answers[report$answers$kind == kind, ]
  known <- answers[is.finite(answers$low) & answers$case != "less", ]
  # Nothing is chosen by its estimate: the outcome has Holm's correction over agents and operations, and so
  # has the one named.
  worst <- known[order(match(known$outcome, outcomes), -known$low)[1], ]
  own <- main_taken(report$taken[report$taken$kind %in% kind, ])
  taken <- function(column) (own[[column]] %||% NA_real_)[1]
  found <- isTRUE(grepl("^detected", worst$outcome))
  margin <- report$margin
  interval_s <- sampling_interval_s(kind, report$campaign)
  # the most that it may cost on any operation: the figure with what may lie beyond the bursts
  rest <- ifelse(answers$lead == "bursts" & is.finite(answers$beyond_most), answers$beyond_most, 0)
  high <- 100 * ((1 + answers$high / 100) * (1 + rest / 100) - 1)
  all <- if (length(high) == 0 || anyNA(high) || any(answers$lead == "bursts" & is.na(answers$beyond_most))) {
    NA_real_
  } else {
    max(high)
  }
  data.frame(
    agent = sub("@[^@]*$", "", kind),
    interval_s = interval_s,
    cpu_percent = mean_or_na(report$accounts$cpu_percent[
      report$accounts$kind == kind & !is.na(report$accounts$launch)
    ]),
    taken_percent = taken("taken_percent"),
    taken_low = taken("taken_low"),
    taken_high = taken("taken_high"),
    slowdown_percent = worst$value,
    slowdown_low = worst$low,
    slowdown_high = worst$high,
    operation = worst$operation,
    bytes = worst$bytes,
    by = if (nrow(known) > 0) worst$lead else NA_character_,
    outcome = if (nrow(known) > 0) worst$outcome else "inconclusive",
    amplification = if (found && isTRUE(taken("p_value") <= report$alpha)) {
      worst$value / taken("taken_percent")
    } else {
      NA_real_
    },
    margin_answer = if (is.null(margin)) {
      NA_character_
    } else {
      c(
        fail = "above", pass = "below", inconclusive = "undecided"
      )[[answer_with_holm(answers$margin_verdict, answers$p_above, answers$alpha)]]
    },
    safe_interval_s = if (is.null(margin) || nrow(known) == 0 || !isTRUE(worst$low > 0)) {
      NA_real_
    } else {
      interval_s * all / margin
    },
    limit = if (found) NA_real_ else max_or_na(known$limit),
    cost_s = if (isTRUE(worst$low > 0)) {
      worst$value / 100 * interval_s
    } else {
      NA_real_
    },
    reason = if (nrow(known) > 0) {
      NA_character_
    } else {
      c(stats::na.omit(answers$whole_reason), NA)[1]
    }
  )
}

# Between two samples of this agent, as it was told or found; NA where that is not known, or its launches
# differ.
sampling_interval_s <- function(kind, campaign) {
  rows <- campaign$rows
  launches <- unique(as.character(rows[["launch"]][
    as.character(rows[["kind"]]) == kind & !has_level(rows[["level_requested_percent"]])
  ]))
  ns <- unique(unlist(lapply(campaign$launches[launches], function(info) {
    info$options$agent_interval_ns %||% info$options$agent_period_ns
  })))
  if (length(ns) == 1 && is.finite(ns) && ns > 0) ns / 1e9 else NA_real_
}

several_sentence <- function(rows) {
  hit <- rows[grepl("^detected", rows$outcome), ]
  top <- hit[order(-hit$slowdown_percent)[1], ]
  if (nrow(hit) == 0) {
    return(paste0(
      sprintf("None of %d agents was found to slow an operation", nrow(rows)),
      if (all(is.na(rows$limit))) {
        "."
      } else {
        sprintf("; %s %% would have been detected.", format_span_of(rows$limit[!is.na(rows$limit)]))
      }
    ))
  }
  sprintf(
    "%d of %d agents slow an operation, most of all %s%s by %s on %s.",
    nrow(hit),
    nrow(rows),
    top$agent,
    if (is.na(top$interval_s)) {
      ""
    } else {
      paste(" at", format_time(top$interval_s))
    },
    percent_words(top$slowdown_percent, top$slowdown_low, top$slowdown_high),
    top$operation
  )
}

# `whole`: also the amplification beside a margin, for which a screen has no room.
several_table <- function(rows, margin, whole = FALSE) {
  new_table(
    agent = col_words("agent", rows$agent),
    interval_s = col_number("every", rows$interval_s, function(x) vapply(x, format_time, "")),
    cpu_percent = col_number("CPU", rows$cpu_percent, three, "%"),
    taken_percent = col_number("taken", rows$taken_percent, three, "%"),
    slowdown_percent = col_number("slower", rows$slowdown_percent, format_effect, "%"),
    low = col_number("interval", rows$slowdown_low,
                     format_interval(rows$slowdown_low, rows$slowdown_high, plain)),
    operation = col_words("on", rows$operation),
    source = col_words("by", rows$by),
    amplification = if (is.null(margin) || whole) col_number("ampl.", rows$amplification, three),
    cost = if (is.null(margin)) {
      col_number("per sample", rows$cost_s, function(x) vapply(signif(x, 3), format_time, ""))
    },
    margin = if (!is.null(margin)) col_words("margin", rows$margin_answer),
    safe = if (!is.null(margin)) {
      col_number("safe", rows$safe_interval_s, function(x) vapply(signif(x, 3), format_time, ""))
    },
    mark = rows$outcome
  )
}

several_legend <- function(margin, whole = FALSE) {
  paste0(
    "CPU, taken from the ranks: % of one CPU; slowdown of the operation that it slows most",
    if (is.null(margin) || whole) "; ampl.: slowdown by taken",
    if (is.null(margin)) "; per sample: time that it then loses",
    if (!is.null(margin)) "; safe: the shortest interval below the margin, if each sample costs the same"
  )
}

# The words of the answers about agents: one sentence for each case of the rule.

has_agent <- function(campaign) any(vapply(campaign$launches, switches_agent, TRUE))

# A number for a sentence; its ends have as many decimals. An interval with one end is said by that end alone.
percent_words <- function(x, low, high) {
  if (!is.finite(high)) {
    return(
      if (isTRUE(low > 0)) {
        sprintf("at least %s %%", three(low))
      } else {
        "a figure that has no upper end"
      }
    )
  }
  reach <- (high - low) / 2
  digits <- if (!is.finite(reach) || reach <= 0) 3 else min(6, max(0, 1 - floor(log10(reach))))
  # nothing is "-0"
  number <- function(x) sub("^-(0[.]?0*)$", "\\1", sprintf("%.*f", digits, x))
  sprintf("%s %% (%s to %s)", number(x), number(low), number(high))
}

answer_words_of_agents <- function(answers, analysis, taken = NULL) {
  words <- lapply(seq_len(NROW(answers)), function(i) {
    row <- answers[i, ]
    agent_case_words(row, agent_title(row$kind, analysis$campaign), operation_name(row, answers), analysis,
                     taken)
  })
  unique(unlist(words))
}

# `x`: the agent; `on`: the operation.
agent_case_words <- function(row, x, on, analysis, taken = NULL) {
  untold <- row$case == "alone" && !is.na(row$value) && !is_told(row$low, row$high) &&
    !(row$found && isTRUE(row$low > 0))
  if (untold) {
    return(alone_words(
      row,
      x,
      on,
      sprintf("By time nothing can be told of %s with %s: the machine was too busy%s.", on, x,
              too_busy_words(analysis)),
      analysis,
      taken
    ))
  }
  effect <- percent_words(row$value, row$low, row$high)
  slows <- if (row$found) {
    sprintf("%s slows %s by %s", x, on, effect)
  } else {
    sprintf("%s was not found to slow %s: %s", x, on, effect)
  }
  seen <- if (row$found || is.na(row$limit)) {
    ""
  } else {
    sprintf("; %s would have been detected", percent_of(row$limit))
  }
  whole <- if (!is.na(row$whole)) {
    sprintf(" (total %s)", percent_words(row$whole, row$whole_low, row$whole_high))
  } else {
    ""
  }
  switch(
    row$case,
    agree = sprintf("%s%s its bursts%s; other effects are below %s %% either way.", slows,
                    if (row$found) ", through" else " by", seen,
                    three(max(abs(c(row$beyond_low, row$beyond_high))))),
    open = sprintf(
      "%s%s its bursts%s; %s.",
      slows,
      if (row$found) " through" else " by",
      seen,
      if (is.na(row$beyond)) {
        sprintf("other effects are not known%s",
                if (is.na(row$whole_reason)) "" else sprintf(" (%s)", row$whole_reason))
      } else {
        sprintf("other effects add less than %s %%%s", three(row$beyond_most), whole)
      }
    ),
    more = sprintf("%s in total: %s through its bursts, %s by other effects.", slows, percent_of(row$bursts),
                   percent_words(row$beyond, row$beyond_low, row$beyond_high)),
    less = sprintf(
      paste0("The bursts of %s cost %s on %s, but in total it slows it by less than %s %%: the two ",
             "contradict; no slowdown is stated."),
      x,
      percent_words(row$value, row$low, row$high),
      on,
      three(max(0, row$whole_high))
    ),
    alone = alone_words(
      row,
      x,
      on,
      if (isTRUE(row$by_quick)) {
        sprintf("%s by on/off, unseen bursts included; other effects add less than %s %%.", slows,
                three(row$beyond_most))
      } else {
        sprintf("%s by on/off%s%s.", slows, stretches_words(row), seen)
      },
      analysis,
      taken
    )
  )
}

stretches_words <- function(row) {
  if (!isTRUE(row$n_stretches > 0)) return("")
  sprintf(", in %s with it", counted(row$n_stretches, "undisturbed stretch", "undisturbed stretches"))
}

# Without a figure by bursts: why, and `result`, on/off.
alone_words <- function(row, x, on, result, analysis, taken) {
  own <- if (!is.null(taken)) main_taken(taken[taken$kind %in% row$kind, ])
  told <- !is.na(row$value)
  if (!told) {
    result <- if (row$state != "busy") {
      sprintf("%s on %s cannot be told by on/off either (%s).", x, on, row$whole_reason)
    }
  }
  why <- switch(row$state,
    busy = busy_words(row, x, on, own, analysis),
    few = few_bursts_words(row, x),
    "not flat" = sprintf("On %s %s: none is charged to %s.", on, sub(": what made it.*", "", row$reason), x),
    dense = sprintf("%s: %s.", x, row$reason)
  )
  c(why, result, if (is.null(why) && told) sprintf("There is no figure by bursts: %s.", row$reason))
}

# "None" is said only where none is on record anywhere in measured time, whatever kind of half it is in.
few_bursts_words <- function(row, x) {
  elsewhere <- row$n_seen - row$n_bursts
  if (isTRUE(row$n_bursts == 0) && !isTRUE(elsewhere > 0)) {
    return(sprintf(
      "%s did not run on a rank's CPU in %s; bursts rarer than one in %s are not excluded (up to %s).", x,
      format_span(row$watched_s), format_span(row$watched_s / -log(row$alpha)), percent_of(row$unseen)
    ))
  }
  if (isTRUE(row$n_bursts == 0)) {
    return(sprintf(
      paste0("%s ran on a rank's CPU only in short segments (%s), not in %s of undisturbed time: estimating ",
             "the cost of a burst takes %d there."),
      x,
      counted(elsewhere, "time"),
      format_span(row$watched_s),
      locked_design$least_bursts
    ))
  }
  sprintf(
    "%s ran on a rank's CPU only %s in %s of undisturbed time%s: estimating the cost of a burst takes %d.",
    x,
    counted(row$n_bursts, "time"),
    format_span(row$watched_s),
    if (isTRUE(elsewhere > 0)) {
      sprintf(" (and %s in short segments)", counted(elsewhere, "time"))
    } else {
      ""
    },
    locked_design$least_bursts
  )
}

# The machine was too busy to tell bursts: what was taken from the ranks is known all the same.
busy_words <- function(row, x, on, own, analysis) {
  # too few stretches for an interval
  if (NROW(own) == 1 && is.na(own$taken_percent) && isTRUE(own$account_percent > 0)) {
    return(sprintf("%s used %s of one CPU by its own account; what that cost %s could not be told here: %s.",
                   x, percent_of(own$account_percent), on, busy_by(analysis)))
  }
  if (NROW(own) != 1 || !is.na(own$reason) || !isTRUE(own$p_value <= row$alpha)) {
    return(sprintf("What the bursts of %s cost %s cannot be told: %s.", x, on, row$reason))
  }
  cost_ns <- analysis$interruption_ns %||% NA_real_
  paste0(
    sprintf("%s takes %s of one CPU from the ranks", x,
            percent_words(own$taken_percent, max(0, own$taken_low), own$taken_high)),
    if (!is.na(cost_ns)) {
      sprintf(
        paste0("; by the cost of an interruption in this campaign's profile (%s per ms) some %s *direct ",
               "loss*, caches excluded"),
        format_time(signif(cost_ns, 3) / 1e9),
        percent_of(own$taken_percent * cost_ns / 1e6)
      )
    },
    "; the whole could not be told here: ",
    busy_by(analysis),
    "."
  )
}

too_busy_words <- function(analysis) {
  if (is.null(analysis$campaign)) return("")
  share <- others_percent(analysis$campaign$rows)
  if (isTRUE(share >= busy_percent)) {
    sprintf(" (other tasks held the ranks' CPUs %s %% of the time without it)", format_level(share))
  } else {
    ""
  }
}

# Of the ranks' CPUs in the off halves.
others_percent <- function(rows) {
  off <- which(rows[["arm"]] == "off")
  if (is.null(rows[["preempted_ns_sum"]])) return(NA_real_)
  100 * mean_or_na(rows[["preempted_ns_sum"]][off] / (rows[["wall_ns"]][off] * pmax(1, rows[["ranks"]][off])))
}

busy_by <- function(analysis) {
  share <- others_percent(analysis$campaign$rows)
  if (isTRUE(share >= busy_percent)) {
    sprintf("other tasks held the ranks' CPUs %s %% of the time without it", format_level(share))
  } else {
    "other tasks held the loop up"
  }
}

# "On n1, it runs on CPU 3 for 41 us every 100 ms", per node. Where the period is known beforehand, given or
# recorded before the launch, it is that one: a beat within it is another thing.
burst_sentences <- function(bursts) {
  vapply(seq_len(NROW(bursts)), function(i) {
    row <- bursts[i, ]
    if (row$n_activities == 0) {
      return(sprintf("On %s, %s (%s of it were measured).", row$host, row$reason, format_span(row$seconds)))
    }
    cpus <- strsplit(row$cpus, ",", fixed = TRUE)[[1]]
    mainly <- length(cpus) > 1 && isTRUE(row$cpu_share > 0.9)
    place <- if (identical(cpus, "-")) "a rank's CPU" else cpus_words(if (mainly) cpus[1] else row$cpus)
    where <- paste0(if (row$source == "thread") "the ranks lost " else "it runs ", if (mainly) "mainly ",
                    if (row$source != "thread") "on ", place)
    if (isTRUE(row$period_by == "given")) {
      return(sprintf("On %s, %s for %s in each %s.", row$host, where,
                     format_time(signif(row$per_period_us, 3) / 1e6), format_time(signif(row$period_s, 4))))
    }
    if (is.na(row$period_s)) {
      return(sprintf("On %s, %s for %s (median), %s times a second, with no fixed period.", row$host, where,
                     format_time(signif(row$p50_us, 3) / 1e6), format_effect(row$activities_per_s, FALSE)))
    }
    if (is.na(row$per_period_us)) return(sprintf("On %s, %s with a period of %s.", row$host, where,
                                                 format_time(signif(row$period_s, 4))))
    sprintf("On %s, %s for %s every %s.", row$host, where, format_time(signif(row$per_period_us, 3) / 1e6),
            format_time(signif(row$period_s, 4)))
  }, "")
}
