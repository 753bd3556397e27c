# The facts of the answer: what terminal and report both say, from the same rows. Text is made of them
# elsewhere.

# What a row of verdicts says, one of a closed set; alone: see is_alone().
outcomes <- c("detected", "detected alone", "not detected", "inconclusive")

row_outcome <- function(rows) ifelse(is_alone(rows), "detected alone", rows$verdict)

# The facts of an answer in the widest scope of an analysis: a row per operation, size, treatment and
# channel that had a load; NULL: none. Beside the family's columns `level_requested_percent` (the lowest),
# `outcome`, `level_percent` (the smallest level detected with all families counted together, else the
# smallest detected alone; NA: none; `Inf`: a treatment without a level), `alone_percent` (a smaller level
# that is detected alone, else NA), of the row at that level `estimate`, `ci_low`, `ci_high` (in `unit`),
# `limit` (in `unit`: the largest detection limit of the levels that were judged and not detected, NA:
# none), `reason` (of the first level without a verdict, else NA).
answer_facts <- function(analysis) {
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$level_requested_percent > 0 & !vapply(channels[rows$channel], `[[`, TRUE, "control"), ]
  if (nrow(rows) == 0) return(NULL)
  rows$outcome <- row_outcome(rows)
  bind_rows(lapply(split_families(rows), family_facts))
}

family_facts <- function(rows) {
  rows <- rows[order(rows$level_requested_percent), ]
  level <- rows$level_requested_percent
  sure <- rows$outcome == "detected"
  alone <- rows$outcome == "detected alone"
  open <- rows$outcome == "not detected"
  at <- if (any(sure)) which(sure)[1] else if (any(alone)) which(alone)[1] else nrow(rows)
  found <- any(sure | alone)
  smaller <- any(sure) && any(alone[seq_len(at)])
  refused <- !is.na(rows$reason)
  of <- function(name) rows[[name]][at]
  columns <- intersect(
    c("scope", "launch", "operation", "bytes", "ranks", treatment_columns, "channel", "unit",
      "level_requested_percent"),
    names(rows)
  )
  cbind(
    rows[1, columns],
    data.frame(
      outcome = if (any(sure)) {
        "detected"
      } else if (found) {
        "detected alone"
      } else if (any(open)) {
        "not detected"
      } else {
        "inconclusive"
      },
      level_percent = if (found) level[at] else NA_real_,
      alone_percent = if (smaller) level[which(alone)[1]] else NA_real_,
      estimate = of("estimate"),
      ci_low = of("ci_low"),
      ci_high = of("ci_high"),
      limit = if (any(open)) max_or_na(rows$detection_limit[open]) else NA_real_,
      reason = if (any(refused)) rows$reason[refused][1] else NA_character_
    ),
    row.names = NULL
  )
}

is_clean <- function(analysis) NROW(analysis$verdicts) == 0

# The answer to a person: sentences, one table, and what to beware of, from these facts.

# From this level on the highest one is a positive control: a set-up that works detects it (docs/methods.md,
# Planning).
control_percent <- 5
least_control_pairs <- 7
# What of a CPU is worth a sentence, percent.
busy_percent <- 2
# So many operations by name in a sentence; the table has all.
most_named <- 4

# The answer on one screen, see view_lines(). NULL where nothing above level 0 was analyzed in a channel of
# effects.
answer_view <- function(analysis, command = all_command(analysis$campaign$dirs)) {
  sentences <- answer_sentences(analysis)
  if (length(sentences) == 0) return(NULL)
  warnings <- answer_warnings(analysis)
  notes <- setdiff(unique(analysis$notes), warnings)
  new_view(sentences, answer_table(analysis), answer_legend(analysis), warnings, length(notes), command,
           report_beside(analysis$campaign$dirs))
}

# Character, one element per sentence: what was found, how large it is, and what could have been seen; none
# without a load.
answer_sentences <- function(analysis) {
  families <- answer_facts(analysis)
  if (is.null(families)) return(character())
  channel <- main_channel(families$channel)
  rows <- families[families$channel == channel, ]
  # What has no level, such as an agent, is told by itself, and first.
  outside <- !has_level(rows$level_requested_percent)
  taken <- families[families$channel == "preempted" & channel == "time", ]
  # An agent's answer comes before what follows from it.
  by_rule <- !is.null(analysis$agent_answers)
  c(
    if (by_rule) agents_sentences(analysis)[1],
    margin_sentence(analysis),
    if (by_rule) {
      agents_sentences(analysis)[-1]
    } else {
      unlist(
        lapply(
          split(rows[outside, ], in_order(as.character(rows$kind[outside]))),
          function(part) {
            c(
              channel_sentences(part, analysis),
              outside_taken_sentence(
                taken[
                  taken$kind == part$kind[1] & !has_level(taken$level_requested_percent),
                ],
                analysis
              )
            )
          }
        ),
        use.names = FALSE
      )
    },
    upper_first(c(channel_sentences(rows[!outside, ], analysis),
                  taken_sentence(taken[has_level(taken$level_requested_percent), ], analysis)))
  )
}

# The channel that the answer is about: time, where it was analyzed.
main_channel <- function(names) if ("time" %in% names) "time" else as.character(names[1])

percent_of <- function(x, unit = "%") paste(plain(x), if (startsWith(unit, "%")) "%" else unit)

# A family in a sentence: operation, size where there are several, treatment where there are several.
family_name <- function(rows, analysis) {
  name <- operation_name(rows, analysis$verdicts)
  label <- label_in(rows, analysis)
  paste0(name, ifelse(nzchar(label), paste0(" (", label, ")"), ""))
}

# The size is said where an operation was run with several; so are the ranks.
operation_name <- function(rows, all) {
  several <- function(column) tapply(all[[column]], all$operation, function(x) length(unique(x))) > 1
  name <- as.character(rows$operation)
  name <- paste0(name, ifelse(several("bytes")[name], paste0(" ", format_count_each(rows$bytes), " B"), ""))
  paste0(
    name,
    ifelse(several("ranks")[as.character(rows$operation)], paste0(", ", format_level(rows$ranks), " ranks"),
           "")
  )
}

# What each family is sensitive to with its effect, then what was missed with what would have been detected.
channel_sentences <- function(rows, analysis) {
  if (nrow(rows) == 0) return(NULL)
  name <- if (has_level(rows$level_requested_percent[1])) {
    family_name(rows, analysis)
  } else {
    operation_name(rows, analysis$verdicts)
  }
  found <- which(rows$outcome %in% c("detected", "detected alone"))
  found <- found[order(rows$level_percent[found])]
  missed <- which(rows$outcome == "not detected")
  open <- which(rows$outcome == "inconclusive")
  c(
    if (length(found) > 0) {
      sensitive_sentence(rows[found, ], name[found], analysis, nrow(rows))
    },
    missed_sentence(rows, name, found, missed, analysis),
    if (length(open) > 0) {
      sprintf("%s cannot be judged%s.", few_words(name[open], most_named), open_reason(rows$reason[open]))
    }
  )
}

open_reason <- function(reason) {
  reason <- unique(reason)
  if (length(reason) == 1 && !is.na(reason)) sprintf(" (%s)", reason) else ""
}

# The smallest level that each is sensitive to, with its effect: lowest level first.
sensitive_sentence <- function(rows, name, analysis, n_all) {
  time <- rows$channel[1] == "time"
  sure <- format_confidence(2 * min(analysis$verdicts$alpha))
  named <- utils::head(seq_along(name), most_named)
  dosed <- has_level(rows$level_percent)
  level_of <- function(i) if (dosed[i]) rows$level_percent[i] else as.character(rows$kind[i])
  each <- vapply(named, function(i) {
    row <- rows[i, ]
    level <- if (dosed[i]) {
      sprintf("%s %%", format_level(row$level_percent))
    } else {
      agent_title(as.character(row$kind), analysis$campaign)
    }
    remark <- c(if (row$outcome == "detected alone") "alone",
                if (!is.na(row$alone_percent)) sprintf("%s %% alone", format_level(row$alone_percent)))
    # Those of one level stand behind it.
    verb <- if (i > 1 && level_of(i) == level_of(i - 1)) "" else paste0(level, if (time) " slows " else
        sprintf(" raises %s of ", row$channel))
    sprintf("%s%s by %s (%s%s to %s%s)", verb, name[i], percent_of(row$estimate, row$unit),
            if (i == 1) paste(sure, "interval ") else "", plain(row$ci_low), plain(row$ci_high),
            if (length(remark) > 0) paste0("; ", paste(remark, collapse = ", ")) else "")
  }, "")
  rest <- length(name) - length(named)
  what <- paste0(join_words(c(each, if (rest > 0) sprintf("%d more", rest))), ".")
  if (!all(dosed)) return(what)
  if (n_all == 1) return(sub("^([^ ]+) %", "a load of \\1 % of one CPU", what))
  of <- if (several_treatments(analysis)) "operations and treatments" else "operations"
  who <- if (length(name) == n_all) {
    (if (n_all == 2) {
      sprintf("both %s are", of)
    } else {
      sprintf("all %d %s are", n_all, of)
    })
  } else {
    sprintf("%d of %d %s %s", length(name), n_all, of, if (length(name) == 1) "is" else "are")
  }
  sprintf("%s sensitive to a load of %s %% of one CPU%s: %s", who, format_level(max(rows$level_percent)),
          if (length(unique(rows$level_percent)) > 1) " or less" else "", what)
}

# Never "nothing" without what would have been detected.
missed_sentence <- function(rows, name, found, missed, analysis) {
  effect <- if (rows$channel[1] == "time") "a slowdown of" else "an effect of"
  would <- function(at) {
    at <- at[!is.na(rows$limit[at])]
    if (length(at) == 0) return("the detection limit is not known")
    shown <- utils::head(at[order(rows$limit[at])], most_named)
    limit <- percent_of(rows$limit[shown], rows$unit[1])
    sprintf("%s %s would have been detected with probability %g", effect,
            join_words(paste0(limit, if (length(at) > 1) sprintf(" (%s)", name[shown])), "or"),
            analysis$power)
  }
  below <- found[!is.na(rows$limit[found])]
  outside <- !has_level(rows$level_requested_percent[1])
  c(
    if (length(missed) > 0 && outside) {
      sprintf("%s was not found to slow %s; %s.", agent_title(as.character(rows$kind[1]), analysis$campaign),
              few_words(name[missed], most_named), would(missed))
    },
    if (length(missed) > 0 && !outside) {
      sprintf("no level was detected on %s; %s.", few_words(name[missed], most_named), would(missed))
    },
    if (length(below) > 0) {
      sprintf("smaller levels were not detected on %s; %s.", few_words(name[below], most_named), would(below))
    }
  )
}

# The load itself, as the ranks' CPUs show it.
taken_sentence <- function(rows, analysis) {
  found <- rows[rows$outcome %in% c("detected", "detected alone") & has_level(rows$level_percent), ]
  if (nrow(found) == 0) return(NULL)
  level <- sort(unique(found$level_percent))
  by <- vapply(level, function(l) {
    name <- family_name(found[found$level_percent == l, ], analysis)
    sprintf("%s %% and above%s", format_level(l), if (length(level) == 1 && nrow(found) == nrow(rows)) "" else
            sprintf(" (%s)", few_words(name, most_named)))
  }, "")
  sprintf("At %s, ranks measurably lose CPU time.", join_words(by))
}

# Each agent by the one rule, then what it took where that is not said already.
agents_sentences <- function(analysis) {
  answers <- analysis$agent_answers
  taken <- analysis$agent_taken
  unlist(lapply(unique(answers$kind), function(kind) {
    mine <- answers[answers$kind == kind, ]
    own <- if (!any(mine$state == "busy")) {
      taken_words(main_taken(taken[taken$kind %in% kind, ]), analysis$alpha,
                  on_ranks_percent(analysis$campaign, kind))
    }
    c(answer_words_of_agents(mine, analysis, taken), scraper_words(mine),
      if (!is.null(own)) paste0(upper_first(own), "."))
  }))
}

# What an agent used on the ranks' CPUs of a node while it ran undisturbed, percent of one CPU.
on_ranks_percent <- function(campaign, kind) {
  account <- campaign$agents
  on <- which(is_agent_row(account) & as.character(account[["kind"]]) == kind)
  quick <- vapply(unique(as.character(account[["launch"]][on])),
                  function(id) planned_parts(campaign, id)$undisturbed %||% NA_real_, 0)
  planned <- account[["planned_ns"]] %||% rep(NA_real_, nrow(account))
  of_launch <- quick[as.character(account[["launch"]][on])]
  per_second(account, on[is.na(of_launch) | planned[on] %in% of_launch], "agent_on_ranks_ns") / 1e7
}

# The CPU time that an agent takes from the ranks of a node: over the operations.
outside_taken_sentence <- function(rows, analysis) {
  taken <- agent_taken(analysis$campaign, analysis$alpha)
  own <- if (nrow(rows) > 0) {
    taken_words(main_taken(taken[taken$kind %in% as.character(rows$kind), ]), analysis$alpha)
  }
  if (!is.null(own)) return(paste0(upper_first(own), "."))
  found <- rows[rows$outcome %in% c("detected", "detected alone"), ]
  if (nrow(found) == 0) return(if (nrow(rows) > 0 && any(!is.na(rows$limit))) sprintf(
    "No lost CPU time was detected; %s %% of one CPU would have been detected.", format_span_of(rows$limit)))
  sprintf("It takes %s %% of one CPU from the ranks of a node (%s interval %s to %s).",
          format_span_of(found$estimate), format_confidence(2 * min(analysis$verdicts$alpha)),
          plain(min(found$ci_low)), plain(max(found$ci_high)))
}

margin_sentence <- function(analysis) {
  if (!is.null(analysis$margin)) margin_answer_words(analysis$margin, analysis$margin_answer)
}

margin_answer_words <- function(margin, answer, of = "") {
  # Else the reason is what it rests on.
  rests <- if (answer$answer != "inconclusive" && !is.na(answer$reason %||% NA)) {
    paste0(", ", answer$reason)
  } else {
    ""
  }
  sprintf(
    "Margin of %s %%%s: %s, %s%s.",
    format_level(margin),
    of,
    answer$answer,
    c(pass = "every effect is below it", fail = "an effect is above it",
      inconclusive = answer$reason)[[answer$answer]],
    rests
  )
}

# ---- the table ---------------------------------------------------------------------------------

# A row per operation, treatment and level above 0; beyond what a screen holds, one per operation and
# treatment: at the smallest level that was detected, or the highest.
answer_rows <- function(analysis, most = 14) {
  rows <- widest_scope(analysis$verdicts)
  control <- vapply(channels[rows$channel], `[[`, TRUE, "control")
  dosed <- rows[rows$level_requested_percent > 0 & !control, ]
  shown <- lead_by_answers(dosed[dosed$channel == main_channel(dosed$channel), ], analysis$agent_answers)
  if (nrow(shown) <= most) return(shown)
  bind_rows(lapply(split_families(shown), function(family) {
    family <- family[order(family$level_requested_percent), ]
    family[c(which(family$verdict == "detected"), nrow(family))[1], ]
  }))
}

# Agents' rows have the figure that leads (agent_rule()), and how it was found.
lead_by_answers <- function(rows, answers) {
  rows$lead <- rep(NA_character_, nrow(rows))
  rows$beyond_most <- rep(NA_real_, nrow(rows))
  if (is.null(answers)) return(rows)
  same <- c("kind", "operation", "bytes", "scope", "launch")
  at <- match(row_key(rows, same), row_key(answers, same))
  at[has_level(rows$level_requested_percent) | rows$channel != "time"] <- NA
  i <- which(!is.na(at))
  mine <- answers[at[i], ]
  rows[i, c("estimate", "ci_low", "ci_high", "lead", "beyond_most")] <- mine[c(
    "value", "low", "high", "lead", "beyond_most"
  )]
  rows[i, c("margin_low", "margin_high")] <- mine[c("low", "high")]
  rows$alpha[i] <- ifelse(mine$case == "alone", mine$alpha, mine$alpha / 2)
  rows$verdict[i] <- sub(" alone", "", mine$outcome)
  rows$familywise[i] <- mine$outcome == "detected"
  if (!all(is.na(mine$margin_verdict))) rows$margin_verdict[i] <- mine$margin_verdict
  rows
}

answer_table <- function(analysis, unicode = shows_unicode(), rows = answer_rows(analysis)) {
  all <- widest_scope(analysis$verdicts)
  taken <- all[all$channel == "preempted", ]
  same <- c("scope", "launch", "operation", "bytes", "ranks", treatment_columns, "level_requested_percent")
  at <- match(row_key(rows, same), row_key(taken, same))
  percent <- channels[[rows$channel[1]]]$transform == "log_ratio"
  alphas <- unique(rows$alpha)
  label <- label_in(rows, analysis)
  outcome <- row_outcome(rows)
  margin <- !is.null(analysis$margin) && rows$channel[1] == "time"
  columns <- list(
    operation = col_words("operation", operation_name(rows, analysis$verdicts)),
    treatment = if (any(nzchar(label))) col_words("treatment", label),
    level_requested_percent = if (any(has_level(rows$level_requested_percent))) {
      col_number("level", rows$level_requested_percent,
                 ifelse(has_level(rows$level_requested_percent), level_label(rows), "on"))
    },
    estimate = col_number(
      if (rows$channel[1] == "time") {
        "slowdown"
      } else {
        as.character(rows$channel[1])
      },
      rows$estimate,
      format_effect,
      if (percent) "%" else ""
    ),
    ci_low = col_interval(
      if (length(alphas) == 1) {
        paste(format_confidence(2 * alphas), "interval")
      } else {
        "interval"
      },
      rows$ci_low,
      rows$ci_high
    ),
    lead = if (!all(is.na(rows$lead))) col_words("by", rows$lead),
    beyond = if (any(is.finite(rows$beyond_most))) {
      col_number("beyond, below", rows$beyond_most, three, "%")
    },
    preempted = if (!all(is.na(at)) && !has_own_record(analysis) && rows$channel[1] != "preempted") {
      col_number("preempted", taken$estimate[at], format_effect, "%")
    },
    margin_verdict = if (margin) {
      col_verdict(sprintf("margin %s %%", format_level(analysis$margin)), rows$margin_verdict, unicode)
    },
    verdict = col_verdict("verdict", outcome, unicode),
    mark = outcome
  )
  pictured <- c(
    columns,
    list(
      picture = if (!margin) {
        col_picture(rows$estimate, rows$ci_low, rows$ci_high, rows$verdict == "detected", unicode)
      }
    )
  )
  table <- do.call(new_table, pictured)
  # The picture is for where there is room.
  if (table_width(table) > text_width) do.call(new_table, columns) else table
}

# Is it known who took the CPU? The sum over everybody is then no news.
has_own_record <- function(analysis) {
  !is.null(analysis$agent_taken) && any(is.na(main_taken(analysis$agent_taken)$reason))
}

answer_legend <- function(analysis) {
  rows <- answer_rows(analysis)
  stretches <- analysis$agent_answers$n_stretches
  by_stretches <- length(stretches) > 0 && all((stretches > 0) %in% TRUE)
  n <- paste(
    format_range(if (by_stretches) stretches else rows$n_tested),
    if (by_stretches) "undisturbed stretches" else
      c(pair = "pairs per level", launch = "launches",
        "set of launches" = "sets of launches")[[rows$unit_of_inference[1]]]
  )
  paste0(sprintf("about %s, %s; alpha %g one-sided", rows$scope[1], n, min(rows$alpha)),
         if (any(is_alone(rows))) "; alone: not with all operations and channels counted together")
}

# ---- warnings ----------------------------------------------------------------------------------

# The most important first, each with what to do.
answer_warnings <- function(analysis) {
  loud <- grep("^[A-Z]{3}", analysis$notes, value = TRUE)
  c(
    control_sentence(analysis),
    loud,
    refused_warning(analysis),
    heterogeneity_warning(analysis),
    grep("not ok|was killed|ended as|interim look", analysis$notes, value = TRUE),
    if (is.null(analysis$agent_answers)) {
      margin_needs_warning(answer_rows(analysis), analysis$margin_answer, analysis$power)
    } else {
      answers_need_words(analysis$agent_answers, analysis)
    },
    quota_sentence(analysis$campaign),
    busy_sentence(analysis$campaign)
  )
}

# Rows without a verdict, each reason once.
refused_warning <- function(analysis) {
  rows <- answer_rows(analysis)
  rows <- rows[!rows$lead %in% "bursts", ]
  failed <- rows$verdict_because == "higher_level_failed"
  reason <- ifelse(failed & is.na(rows$reason),
                   "levels are tested downwards, and a higher one was not detected: measure for longer",
                   rows$reason)
  if (all(is.na(reason))) return(NULL)
  vapply(split(which(!is.na(reason)), in_order(reason[!is.na(reason)])), function(at) {
    by <- split(level_label(rows[at, ]), in_order(operation_name(rows[at, ], analysis$verdicts)))
    sprintf("inconclusive: %s: %s", if (length(at) == nrow(rows)) "all rows" else
            paste0(names(by), " at ", vapply(by, paste, "", collapse = ", "), collapse = "; "),
            reason[at[1]])
  }, "", USE.NAMES = FALSE)
}

# How much longer, where the margin is undecided.
margin_needs_warning <- function(rows, answer, power) {
  needs <- rows$margin_needs_s[rows$margin_verdict %in% "inconclusive" & is.finite(rows$margin_needs_s)]
  if (!identical(answer$answer, "inconclusive") || length(needs) == 0) return(NULL)
  open_margin_words(needs, power)
}

# How long an undecided margin takes: `needs`, s, of each row that is open.
open_margin_words <- function(needs, power) {
  if (min(needs) > most_needed_s) {
    return(paste0("undecided: no run of up to a month would decide; a slowdown is too close to the margin, ",
                  "or scatters too much here"))
  }
  sprintf(
    "undecided: measuring for %s in total decides with probability %g, if the estimates are right",
    if (max(needs) > most_needed_s) {
      paste("more than", format_span(min(needs)))
    } else {
      format_span(max(needs))
    },
    power
  )
}

heterogeneity_warning <- function(analysis) {
  rows <- analysis$verdicts[
    analysis$verdicts$channel == "time" & analysis$verdicts$level_requested_percent > 0,
  ]
  main <- main_rows(rows)
  p <- main$heterogeneity_p[!is.na(main$heterogeneity_p)]
  if (length(p) == 0 || min(1, length(p) * min(p)) > 0.01) return(NULL)
  wide <- all(main$scope == scope_campaign)
  sprintf(
    "launches vary more than the pairs within them (p = %s): the answer is about %s",
    format_p(min(1, length(p) * min(p))),
    if (wide) {
      "launches like these, and as wide as they scatter"
    } else {
      sprintf("these launches; for others run %d launches or more", launches_for_more)
    }
  )
}

# The highest level, where it is a control: not detected by time, it says something of the set-up, not of
# the load.
control_sentence <- function(analysis) {
  # where algorithms are compared the load is one of two conditions, and no control of the set-up
  if (compares_algorithms(analysis$campaign)) return(NULL)
  rows <- main_rows(analysis$verdicts)
  level <- rows$level_requested_percent
  top <- suppressWarnings(max(level[has_level(level)]))
  if (top < control_percent) return(NULL)
  at <- rows[level == top, ]
  # Fewer pairs than a verdict needs say nothing of the set-up.
  least <- pmax(least_control_pairs, pairs_needed(at$alpha))
  missed <- at[
    at$channel == "time" & at$verdict != "detected" & is.na(at$reason) &
      !(at$n_pairs < least & at$unit_of_inference == "pair"),
  ]
  if (nrow(missed) == 0) return(NULL)
  felt <- at[at$channel == "preempted" & at$verdict == "detected", ]
  where <- join_words(unique(panel_name(missed)))
  if (all(panel_name(missed) %in% panel_name(felt))) {
    return(sprintf(
      paste(
        paste0("POSITIVE CONTROL MISSED: %s %% was not detected by time on %s, though it reached the ranks ",
               "(channel preempted):"),
        "something else disturbs them more; measure for longer, or on a quieter machine."
      ),
      format_level(top),
      where
    ))
  }
  sprintf(
    paste(
      paste0("BROKEN SET-UP: not even %s %% was detected on %s, so nothing else here is an answer. Check: ",
             "was the load delivered (%s %% of"),
      "one CPU)? Were ranks on the loaded CPUs (%s)?%s"
    ),
    format_level(top),
    where,
    format_span_of(missed$level_delivered_percent, format_level),
    control_places(analysis$campaign),
    if (is.null(busy_sentence(analysis$campaign))) {
      ""
    } else {
      " Was the machine too busy (below)?"
    }
  )
}

# CPUs of the generators against those of the ranks.
control_places <- function(campaign) {
  say <- function(x) if (length(x) == 0) "unknown" else paste(sort(unique(unlist(x))), collapse = ", ")
  sprintf("load on CPU %s, ranks on CPU %s", say(lapply(certificates(campaign), function(g) unlist(g$cpus))),
          say(campaign$ranks[["cpu"]]))
}

# ---- in the whole text -------------------------------------------------------------------------

# Where nothing but the placebo ran, what it shows is the answer: how far on and off differ by themselves,
# and what could have been seen.
placebo_sentence <- function(analysis) {
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$level_requested_percent %in% 0 & rows$channel %in% "time" & !is.na(rows$estimate), ]
  if (nrow(rows) == 0) return(NULL)
  sprintf(
    paste0("%s: the placebo (level 0, no load in either half) differs by %s %% (%s)%s; a slowdown of %s %% ",
           "would have been detected."),
    vapply(seq_len(nrow(rows)), function(i) family_name(rows[i, ], analysis), ""),
    format_effect(rows$estimate),
    paste(format_effect(rows$ci_low), "to", format_effect(rows$ci_high)),
    ifelse(rows$verdict %in% "detected", ", which it should not: something else came with the halves", ""),
    plain(rows$detection_limit)
  )
}

# After the answer: which estimates the verdicts rest on.
format_answer <- function(analysis) {
  answer <- answer_sentences(analysis)
  lines <- c(answer, if (length(answer) == 0) placebo_sentence(analysis),
             upper_first(c(rests_on(analysis), answer_warnings(analysis))))
  if (length(lines) == 0) return(NULL)
  c(sprintf("answer (%s, alpha %g)", main_rows(analysis$verdicts)$scope[1], analysis$alpha), wrap_line(lines),
    "")
}
# Which estimate the verdicts rest on, by channel: one line.
rests_on <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  rows <- rows[rows$level_requested_percent > 0 & rows$channel %in% c("time", "preempted"), ]
  if (nrow(rows) == 0) return(NULL)
  of <- vapply(split(rows$estimator, in_order(rows$channel)), function(x) join_words(unique(x)), "")
  why <- unique(sub("[,;].*", "", rows$estimator_note[rows$channel == "time" & nzchar(rows$estimator_note)]))
  if (length(unique(of)) == 1) of <- stats::setNames(of[1], join_words(names(of)))
  paste0("verdicts rest on ", paste0("the ", of, " (", names(of), ")", collapse = ", "),
         if (length(why) == 1) paste0("; ", why), ".")
}

busy_advice <- "; this raises the detection limits: stop other work, or measure when it is idle."

# How busy the machine was, where that matters: before the run, and in the off halves.
busy_sentence <- function(campaign) {
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  share <- function(column, per) if (is.null(rows[[column]])) NA_real_ else 100 *
    mean_or_na(rows[[column]][off] / (rows[["wall_ns"]][off] * per))
  throttled <- if (is.null(rows)) NA_real_ else throttled_percent(rows, off)
  # who stands still by a quota waits for a CPU that nobody has
  others <- share("preempted_ns_sum", pmax(1, rows[["ranks"]][off])) - if (is.na(throttled)) 0 else throttled
  steal <- max(c(-Inf, share("rank_steal_ns_max", 1), share("steal_ns", 1)), na.rm = TRUE)
  before <- unlist(lapply(campaign$launches, function(info) vapply(info$before$nodes, function(node) {
    cpus <- Filter(function(cpu) is.numeric(cpu$busy_percent) && is.numeric(cpu$steal_percent), node$cpus)
    max(0, vapply(cpus, function(cpu) cpu$busy_percent + cpu$steal_percent, 0))
  }, 0)))
  said <- c(
    if (isTRUE(max(c(0, before)) >= busy_percent)) {
      sprintf("before the run a rank's CPU was busy for %s %% of the time%s", format_level(max(before)),
              busy_with(campaign))
    },
    if (isTRUE(others >= busy_percent)) {
      sprintf("without the load other tasks took %s %% of the ranks' CPUs", format_level(others))
    },
    if (isTRUE(throttled >= busy_percent)) {
      sprintf("a CPU quota%s stopped the ranks for %s %% of the off halves", quota_words(campaign),
              format_level(throttled))
    },
    if (isTRUE(steal >= busy_percent)) {
      sprintf("the hypervisor took %s %% in the off halves", format_level(steal))
    }
  )
  if (length(said) > 0) paste0("the machine was busy: ", join_words(said), busy_advice)
}

# Names of the tasks that the look saw most.
busy_with <- function(campaign) {
  tasks <- unlist(
    lapply(campaign$launches, function(info) {
      lapply(info$before$nodes, function(node) lapply(node$cpus, `[[`, "tasks"))
    }),
    recursive = FALSE
  )
  tasks <- unlist(unlist(tasks, recursive = FALSE), recursive = FALSE)
  names <- unique(unlist(lapply(tasks, function(task) if (is.list(task)) printable(task$name))))
  if (length(names) == 0) "" else sprintf(" (%s)", paste(utils::head(names, 3), collapse = ", "))
}

# The verdicts a plot shows, per treatment: those of the main answer, or of its first launch.
widest_scope <- function(verdicts) {
  rows <- main_rows(verdicts)
  label <- treatment_label(rows, varying_factors(verdicts))
  across <- rows$scope != scope_launch
  first <- rows$launch[match(label, label)]
  rows[across | !label %in% label[across] & rows$launch == first, ]
}

# One list per launch and generator: the certificate, and the launch it belongs to.
certificates <- function(campaign) {
  unlist(lapply(unname(campaign$launches), function(info) {
    lapply(info$generators, function(g) c(list(launch = info$launch), g))
  }), recursive = FALSE)
}
