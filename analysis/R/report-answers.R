# The sentences of a report: its answer, and one for each of its questions. All are made of the rows that
# the tables show.

# The sentences of the first screen.
report_answer <- function(analysis) {
  campaign <- analysis$campaign
  if (!is.null(analysis$own)) return(analysis$own$sentences)
  if (is_clean(analysis)) return(clean_answer(analysis))
  if (compares_algorithms(campaign)) {
    margin <- analysis$margin %||% advise_margin_percent
    return(advice_sentences(advice_of(campaign, campaign$dirs, analysis$alpha, margin), margin))
  }
  if (has_versions(campaign)) {
    return(version_sentences(compare_versions(campaign, analysis$margin, analysis$alpha)))
  }
  if (has_settings(campaign)) {
    return(setting_sentences(compare_settings(campaign, analysis$margin, analysis$alpha, analysis$power)))
  }
  if (!is.null(analysis$agent$answers)) {
    agent_view(analysis$agent, analysis$campaign$dirs)$sentences
  } else {
    answer_sentences(analysis)
  }
}

# Of experiments with an analysis of their own the `question` and the `sentences` that answer it; NULL: of all
# others, and where that analysis cannot answer.
own_answer <- function(analysis) {
  asked <- campaign_asked(analysis$campaign$dirs)$analysis %||% ""
  word <- own_words()[[asked, exact = TRUE]]
  if (is.null(word)) return(NULL)
  tryCatch(list(question = word$question, sentences = word$sentences(analysis)),
           nl_error = function(e) NULL)
}

report_where <- function(campaign) {
  launches <- unname(campaign$launches)
  hosts <- unique(unlist(lapply(launches, function(info) {
    lapply(info$hosts, function(h) show_json(h$host, NULL))
  })))
  ranks <- sort(unique(vapply(launches, function(info) as.numeric(info$ranks %||% NA), 0)), na.last = TRUE)
  counts <- join_words(ifelse(is.na(ranks), "an unknown number of", format_count_each(ranks)))
  days <- substr(
    range(unlist(lapply(launches, function(info) show_json(info$started_utc, ""))), na.rm = TRUE), 1, 10
  )
  paste(
    c(
      paste0(
        if (length(hosts) == 1) {
          hosts
        } else if (length(hosts) > 1) {
          paste(length(hosts), "nodes")
        } else {
          "this machine"
        },
        ", ",
        counts,
        if (identical(ranks, 1)) " rank" else " ranks"
      ),
      counted(length(launches), "launch", "launches"),
      if (all(nzchar(days))) paste(unique(days), collapse = " to ")
    ),
    collapse = "; "
  )
}

# Rows above level 0 of a channel that have an estimate, or (`column`) something else.
dosed_rows <- function(analysis, channel, column = "estimate") {
  rows <- widest_scope(analysis$verdicts)
  rows[rows$channel == channel & rows$level_requested_percent > 0 & !is.na(rows[[column]]), ]
}

# What the first box says where bursts were recorded leads; what time alone says of it is told as such.
slower_sentence <- function(analysis) {
  answers <- analysis$agent$answers
  led <- if (!is.null(answers)) answers[answers$lead %in% "bursts", ]
  if (NROW(led) == 0) return(time_sentence(analysis))
  paste(c(answer_words_of_agents(led, analysis),
          "What follows goes by time alone, which tells less than recorded bursts.",
          time_sentence(analysis)),
        collapse = " ")
}

time_sentence <- function(analysis) {
  rows <- dosed_rows(analysis, "time", "verdict")
  if (nrow(rows) == 0) return("Times were not analyzed.")
  counts <- table(factor(row_outcome(rows), outcomes))
  counts <- counts[counts > 0]
  at <- rows[rows$level_requested_percent == max(rows$level_requested_percent) & !is.na(rows$estimate), ]
  judged <- sprintf("of %s by time %s", counted(nrow(rows), "row"), join_words(paste(counts, names(counts))))
  if (nrow(at) == 0) return(paste0(upper_first(judged), "."))
  of <- function(row) {
    sprintf("%s %% %s on %s", format_effect(row$estimate), format_interval(row$ci_low, row$ci_high),
            cell_panel(row, analysis))
  }
  level <- at$level_requested_percent[1]
  sprintf(
    "%s the slowdown is %s%s; %s.",
    if (has_level(level)) {
      sprintf("At %s %% of one CPU", format_level(level))
    } else {
      paste("With", at$kind[1], "on")
    },
    of(at[which.max(at$estimate), ]),
    if (nrow(at) > 1) {
      paste(" at most,", of(at[which.min(at$estimate), ]), "at least")
    } else {
      ""
    },
    judged
  )
}

cpu_sentence <- function(analysis) {
  tasks <- analysis$agent$tasks
  rows <- dosed_rows(analysis, "preempted")
  if (nrow(rows) == 0) return("Preempted time was not measured, so what took the CPU is not known.")
  at <- rows[rows$level_requested_percent == max(rows$level_requested_percent), ]
  top <- at[which.max(at$estimate), ]
  low <- at[which.min(at$estimate), ]
  felt <- rows[row_outcome(rows) == "detected" & has_level(rows$level_requested_percent), ]
  paste0(
    if (has_level(top$level_requested_percent)) {
      sprintf("At %s %% requested, ", format_level(top$level_requested_percent))
    } else {
      paste0("With ", top$kind, " on, ")
    },
    sprintf(
      "other tasks took %s from the ranks",
      if (nrow(at) > 1) {
        sprintf("%s to %s %% of one CPU", plain(low$estimate), plain(top$estimate))
      } else {
        sprintf("%s %% of one CPU %s", plain(top$estimate), format_interval(top$ci_low, top$ci_high))
      }
    ),
    if (nrow(felt) > 0) {
      sprintf("; the smallest level with a detected loss is %s %%",
              format_level(min(felt$level_requested_percent)))
    },
    if (NROW(tasks) > 0 && any(!is.na(tasks$share))) {
      who <- tasks[which.max(tasks$share), ]
      sprintf("; most of it %s: %s of what the ranks lost", who$task, share_words(who))
    },
    "."
  )
}

# The largest limit over the levels of each operation: what holds for all of them.
seen_sentence <- function(analysis) {
  rows <- dosed_rows(analysis, "time", "detection_limit")
  if (nrow(rows) == 0) {
    return("The detection limits are unknown: nothing can be said of smaller or larger effects.")
  }
  limits <- tapply(rows$detection_limit, in_order(panel_name(rows)), max)
  low <- which.min(limits)
  high <- which.max(limits)
  what <- if (length(limits) == 1) sprintf("%s %% on %s", plain(limits[[1]]), names(limits)) else
    sprintf("%s %% on %s to %s %% on %s", plain(limits[[low]]), names(limits)[low], plain(limits[[high]]),
            names(limits)[high])
  sprintf(
    "At every level tested, a slowdown of %s would have been detected with power %g at one-sided alpha %s.",
    what, analysis$power, join_words(vapply(sort(unique(rows$alpha)), format_nominal, ""))
  )
}

where_sentence <- function(analysis) {
  location <- analysis$location
  if (is.null(location)) {
    return(if (has_starts(analysis$campaign)) late_sentence(analysis$campaign) else if (!is_clean(analysis)) {
      "The launches do not say which rank lost what (no ranks.csv)."
    })
  }
  if (several_nodes(analysis)) return(paste(location$answer, collapse = " "))
  ranks <- answering_rows(location$ranks)
  ranks <- ranks[!is.na(ranks$preempted_shift_percent), ]
  if (nrow(ranks) == 0) return("No rank's preempted time is known in both arms.")
  top <- ranks[which.max(ranks$preempted_shift_percent), ]
  here <- unique(ranks$rank[ranks$found == "here"])
  who <- sprintf("rank %s%s, %s %% of its CPU %s", format_count(top$rank),
                 if (isTRUE(top$cpu >= 0)) sprintf(" (CPU %s)", format_count(top$cpu)) else "",
                 format_effect(top$preempted_shift_percent), format_interval(top$ci_low, top$ci_high))
  if (length(unique(ranks$rank)) == 1) return(sprintf("There is one rank: %s on %s.", who, top$host))
  if (length(here) == 0) {
    return(sprintf("No rank of %s was found to lose more CPU time with the treatment on; the most: %s.",
                   top$host, who))
  }
  sprintf("On %s %d of %d ranks lost more CPU time with the treatment on; the most: %s.", top$host,
          length(here), length(unique(ranks$rank)), who)
}

has_starts <- function(campaign) any(vapply(campaign$launches, start_mode, "") != "loop")

late_sentence <- function(campaign) {
  late <- late_ranks(campaign, "rank")
  if (NROW(late) == 0) return(NULL)
  top <- late[1, ]
  sprintf(
    paste0("The costliest latecomer is rank %s on %s: last to end in %.3g %% of the starts (%.3g %% if all ",
           "were alike)."),
    format_count(top$rank),
    top$host,
    top$last_ends_percent,
    top$expected_percent
  )
}

clean_answer <- function(analysis) {
  table <- start_quality(analysis$campaign)
  late <- sum(table$late_starts)
  worst <- max_or_na(table$overshoot_p99_ns)
  c(
    sprintf(
      "%s synchronised starts were made, %s %% of them late%s.",
      format_count(sum(table$starts)),
      plain(100 * late / sum(table$starts)),
      if (is.na(worst)) {
        ""
      } else {
        sprintf("; 99 %% of starts began within %s \u00b5s of their time", plain(worst / 1000))
      }
    ),
    "There is one arm only, so nothing is compared."
  )
}

# What speaks for or against the run: data frame `check`, `result` (`good`, `look`: not as it should be,
# `unknown`), `finding`.
trust_checks <- function(analysis) {
  # `good`: NA: not known
  word <- function(good) if (is.na(good)) "unknown" else if (good) "good" else "look"
  check <- function(name, good, finding) data.frame(check = name, result = word(good), finding = finding)
  of_campaign <- campaign_checks(analysis$campaign, check)
  rows <- main_rows(analysis$verdicts)
  bind_rows(Filter(
    Negate(is.null),
    c(of_campaign[1:2], if (NROW(rows) > 0) verdict_checks(rows, analysis, check), of_campaign[3:4])
  ))
}

campaign_checks <- function(campaign, check) {
  complete <- vapply(campaign$launches, function(info) identical(info$ended, "complete"), TRUE)
  planned <- if (NROW(campaign$progress) > 0) sum(campaign$progress$planned) else length(complete)
  done <- if (NROW(campaign$progress) > 0) sum(campaign$progress$complete) else sum(complete)
  ok <- unlist(lapply(certificates(campaign), function(g) lapply(g$levels, function(level) level$ok)))
  busy <- busy_sentence(campaign)
  starts <- if (has_starts(campaign)) start_quality(campaign)
  late <- 100 * sum(starts$late_starts) / sum(starts$starts)
  list(
    check("Launches ended as planned", all(complete) && done == planned, sprintf("%d of %d", done, planned)),
    if (length(ok) > 0) {
      check(
        "Load delivered as requested",
        all(ok),
        if (all(ok)) {
          sprintf("all %d levels of all generators within the tolerance", length(ok))
        } else {
          sprintf(
            "%d of %d levels of generators are not within the tolerance; results use what was delivered",
            sum(!ok), length(ok)
          )
        }
      )
    },
    check(
      "The machine was quiet",
      is.null(busy),
      if (is.null(busy)) {
        sprintf("nothing else took %g %% of a rank's CPU", busy_percent)
      } else {
        upper_first(sub("^the machine was busy: ", "", busy))
      }
    ),
    if (!is.null(starts)) {
      check("Starts were in time", late <= 1,
            sprintf("%s %% of %s were late", plain(late), format_count(sum(starts$starts))))
    }
  )
}

verdict_checks <- function(rows, analysis, check) {
  level <- rows$level_requested_percent
  n_placebo <- sum(level == 0)
  loud <- length(grep("^PLACEBO DETECTED", analysis$notes))
  top <- suppressWarnings(max(level[has_level(level)]))
  missed <- control_sentence(analysis)
  p <- rows$heterogeneity_p[rows$channel == "time" & !is.na(rows$heterogeneity_p)]
  p <- min(1, length(p) * min(p, 1))
  list(
    check(
      "Placebo (level 0)",
      if (n_placebo == 0) NA else loud == 0,
      if (n_placebo == 0) {
        "none was run"
      } else if (loud == 0) {
        sprintf("not detected in %s", counted(n_placebo, "row"))
      } else {
        sprintf("detected in %s, counted together: the generator's mere presence shows, or a fault",
                counted(loud, "row"))
      }
    ),
    if (is.finite(top) && top >= control_percent) {
      check(
        sprintf("Positive control (%s %%)", format_level(top)),
        is.null(missed),
        if (is.null(missed)) {
          "detected by time on every operation"
        } else {
          upper_first(sub("^[A-Z -]+: ", "", missed))
        }
      )
    },
    if (any(rows$channel == "time" & !is.na(rows$heterogeneity_p))) {
      check(
        "Launches agree",
        p > 0.01,
        sprintf("%s by more than their pairs explain: p = %s, over all rows",
                if (p > 0.01) "not seen to differ" else "they differ", format_p(p))
      )
    }
  )
}

trust_sentence <- function(checks) {
  look <- checks$check[checks$result == "look"]
  if (length(look) == 0) return(sprintf("Nothing speaks against it: %s.",
                                        counted(sum(checks$result == "good"), "check") |> paste("passed")))
  sprintf("%d of %d checks passed; look at: %s.", sum(checks$result == "good"), nrow(checks),
          join_words(tolower(look)))
}

trust_table <- function(checks) {
  word <- c(good = "pass", look = "look", unknown = "unknown")[checks$result]
  html_table(
    list(check = checks$check, finding = checks$finding, result = ifelse(word == "look", "look at it", word)),
    text = c("check", "finding", "result"), wrap = "finding",
    verdict = ifelse(word == "look", "look at it", word)
  )
}

report_alarms <- function(analysis) {
  progress <- analysis$campaign$progress
  unfinished <- if (NROW(progress) > 0) progress_notes(progress[progress$complete < progress$planned, ])
  unique(upper_first(c(
    unfinished, # why rows have no verdict stands with the rows
    if (!is_clean(analysis)) setdiff(answer_warnings(analysis), refused_warning(analysis))
  )))
}
