# An agent and its replay by the generator: do they slow the same code by the same?

# An agent and the replay of its bursts by the generator (pattern `replay`): is the slowdown the same? Two
# one-sided tests of the difference against a margin fixed before measuring, within launches or pairs where
# these hold both, else over sets or launches (docs/methods.md, Agent and replay). An agent whose slowdown
# was not detected gives nothing to compare with. Schuirmann (1987). `margin`: half-width of "the same",
# percent of the time of an operation; NULL: the default above. Gives a list: `rows`, a data frame, one row
# per operation, size, agent and replay: `operation`, `bytes`, `ranks`, `agent`, `replay` (kind of the
# generator and its level), `level_requested_percent`, `agent_percent`, `agent_low`, `agent_high`,
# `replay_percent`, `replay_low`, `replay_high` (slowdowns with two-sided intervals of confidence 1 -
# alpha), `agent_preempted_percent`, `replay_preempted_percent` (of one CPU), `difference_percent` (by how
# much longer the operation takes under the agent than under the replay), `bound_low`, `bound_high` (its
# two-sided interval of confidence 1 - 2 alpha), `detection_limit` (of the difference), `margin_percent`,
# `margin_from`, `p_same` (of the two one-sided tests, the larger), `p_holm` (two-sided, of any difference,
# Holm over the rows), `verdict` (`same`, `agent slows more`, `replay slows more`, `inconclusive`),
# `reason`, `n`, `unit_of_inference`, `test`; `answer` (`pass`: all the same, `fail`: one is not,
# `inconclusive`), `sentences`, `margin`, `alpha`, `power`, `notes`.
compare_replay <- function(campaign, margin = NULL, alpha = 0.01, power = 0.95) {
  analysis <- analysis_for(campaign, check_replay, alpha = alpha, power = power)
  rows <- replay_rows(analysis, margin)
  if (nrow(rows) == 0) abort_data("no operation was run under both the agent and its replay")
  result <- list(rows = rows, answer = worst_verdict(replay_answers[rows$verdict]), margin = margin,
                 alpha = analysis$alpha, power = analysis$power, notes = analysis$notes)
  result$sentences <- replay_sentences(result)
  result
}

# Are there rows of an agent, and of a replay?
has_replay <- function(campaign) {
  rows <- campaign$rows
  on <- rows[["arm"]] == "on"
  external <- !has_level(rows[["level_requested_percent"]])
  any(on & external) && any(on & !external & rows[["pattern"]] %in% "replay")
}

check_replay <- function(campaign) {
  if (has_replay(campaign)) return(invisible())
  abort_data(
    "a comparison needs rows of an agent and rows of a replay of it (noiselab run agent --compare-replay, ",
    "or noiselab-detect with ",
    "an agent and --gen '--replay FILE' --levels LEVEL)"
  )
}

replay_rows <- function(analysis, margin) {
  verdicts <- main_rows(analysis$verdicts)
  time <- verdicts[verdicts$channel == "time", ]
  agents <- time[!has_level(time$level_requested_percent), ]
  replays <- time[
    has_level(time$level_requested_percent) & time$level_requested_percent > 0 & time$pattern %in% "replay",
  ]
  parts <- lapply(seq_len(nrow(agents)), function(i) {
    lapply(
      which(rows_like(replays, agents[i, ], c("operation", "bytes", "ranks", "design", "scope", "launch"))),
      function(j) {
        replay_row(agents[i, ], replays[j, ], analysis, margin)
      }
    )
  })
  rows <- bind_rows(unlist(parts, recursive = FALSE))
  if (nrow(rows) == 0) return(rows)
  rows$p_holm <- stats::p.adjust(rows$p_two_sided, "holm")
  decide_replay(rows, analysis$alpha)
}

replay_row <- function(agent, replay, analysis, margin) {
  test <- replay_difference(agent, replay, analysis)
  alpha <- analysis$alpha
  effect <- function(x) 100 * expm1(x)
  known <- isTRUE(test$se > 0)
  reach <- if (known) stats::qt(1 - alpha, test$df) * test$se else NA_real_
  preempted <- analysis$verdicts[analysis$verdicts$channel == "preempted", ]
  taken <- function(row) {
    c(
      preempted$estimate[rows_like(preempted, row,
                                   c("scope", "launch", "operation", "bytes", "ranks", arm_columns()))],
      NA
    )[1]
  }
  wide <- replay_margin(agent, margin, agent_account(analysis$campaign, as.character(agent$kind)))
  border <- log1p(wide$percent / 100)
  one_sided <- function(at, below) {
    if (known) {
      stats::pt((test$estimate - at) / test$se, test$df, lower.tail = below)
    } else {
      NA_real_
    }
  }
  refused <- c(agent$reason, replay$reason)
  reason <- c(test$reason, wide$reason, refused[!is.na(refused)], NA)
  c(list(
    operation = agent$operation,
    bytes = agent$bytes,
    ranks = agent$ranks,
    scope = agent$scope,
    launch = agent$launch,
    agent = as.character(agent$kind),
    replay = paste0(replay$kind, ", ", format_level(replay$level_requested_percent), " %"),
    level_requested_percent = replay$level_requested_percent,
    agent_percent = agent$estimate,
    agent_low = agent$ci_low,
    agent_high = agent$ci_high,
    replay_percent = replay$estimate,
    replay_low = replay$ci_low,
    replay_high = replay$ci_high,
    agent_preempted_percent = taken(agent),
    replay_preempted_percent = taken(replay),
    difference_percent = effect(test$estimate),
    bound_low = effect(test$estimate - reach),
    bound_high = effect(test$estimate + reach),
    detection_limit = if (known) {
      effect(detection_limit(test$se, test$df, alpha / 2, analysis$power))
    } else {
      NA_real_
    },
    margin_percent = wide$percent,
    margin_from = wide$from,
    p_same = max(one_sided(border, TRUE), one_sided(-border, FALSE)),
    p_two_sided = if (known) {
      2 * stats::pt(-abs(test$estimate / test$se), test$df)
    } else {
      NA_real_
    },
    p_agent_more = one_sided(border, FALSE),
    p_replay_more = one_sided(-border, TRUE),
    n = test$n,
    unit_of_inference = test$unit,
    test = test$name,
    reason = reason[!is.na(reason)][1] %||% NA_character_
  ))
}

# CPU time of the agent by its own account, percent of one CPU and mean over nodes; NA: not known.
agent_account <- function(campaign, kind) {
  rows <- campaign$agents
  if (NROW(rows) == 0) return(NA_real_)
  per_second(rows, which(is_agent_row(rows) & as.character(rows[["kind"]]) == kind), "agent_cpu_ns") / 1e7
}

# Half of "the same".
replay_margin <- function(agent, margin, account = NA_real_) {
  if (!is.null(margin)) return(list(percent = margin, from = "given", reason = NA_character_))
  percent <- agree_margin(account)
  list(
    percent = percent,
    from = if (percent > agree_percent) {
      sprintf("%g %% of the agent's CPU time", 100 * agree_share)
    } else {
      "fixed"
    },
    reason = if (isTRUE(agent$p_one_sided <= agent$alpha)) {
      NA_character_
    } else {
      sprintf(
        paste0("the agent's own slowdown was not detected (limit %s %%), so there is nothing that a replay ",
               "could equal"),
        format_effect(agent$detection_limit, FALSE)
      )
    }
  )
}

# The difference of the mean log ratios, agent minus replay, with its standard error.
replay_difference <- function(agent, replay, analysis) {
  if (!is.na(agent$launch)) return(pairs_difference(agent, replay, analysis))
  launches <- analysis$verdicts
  launches <- launches[
    launches$channel == "time" & !is.na(launches$launch) & is.finite(launches$raw_estimate),
  ]
  launches <- launches[rows_like(launches, agent, c("operation", "bytes", "ranks", "design")), ]
  a <- launches[rows_like(launches, agent, arm_columns()), ]
  b <- launches[rows_like(launches, replay, arm_columns()), ]
  matched_difference(
    a$raw_estimate, a$launch, b$raw_estimate, b$launch, "launch", "t on differences within launches"
  ) %||% set_difference(agent, replay, analysis) %||% welch_difference(agent, replay, "launch")
}

arm_columns <- function() c(treatment_columns, "level_requested_percent")

# Of what stands at the same place on both sides; NULL: fewer than two places.
matched_difference <- function(x, at_x, y, at_y, unit, name) {
  both <- intersect(at_x, at_y)
  if (length(both) < 2) return(NULL)
  d <- x[match(both, at_x)] - y[match(both, at_y)]
  means <- batch_mean_ci(d, groups = if (unit == "pair") 256 else Inf)
  list(estimate = means$estimate, se = means$se, df = means$df, n = length(d), unit = unit, name = name,
       reason = if (isTRUE(means$se > 0)) NA_character_ else "the scatter of the differences is unknown")
}

# Of independent summaries: a standard error is a standard deviation over the root of n = df + 1.
welch_difference <- function(agent, replay, unit) {
  w <- welch_test(replay$raw_estimate, replay$raw_se * sqrt(replay$raw_df + 1), replay$raw_df + 1,
                  agent$raw_estimate, agent$raw_se * sqrt(agent$raw_df + 1), agent$raw_df + 1)
  list(estimate = w$difference, se = w$se, df = w$df, n = agent$raw_n + replay$raw_n, unit = unit,
       name = paste0("Welch on ", if (unit == "pair") "pairs" else "launch summaries"),
       reason = if (isTRUE(w$se > 0)) NA_character_ else "the scatter of the differences is unknown")
}

# In one launch: where an agent's and a replay's half stand against the same off half, that half drops out.
pairs_difference <- function(agent, replay, analysis) {
  cells <- analysis$pairs$cells
  number <- analysis$campaign$rows[["pair"]][analysis$pairs$on]
  slow <- analysis$differences$time
  of <- function(row) {
    mine <- which(rows_like(cells, row, c("launch", "operation", "bytes", arm_columns())))
    which(analysis$pairs$cell %in% mine & is.finite(slow))
  }
  a <- of(agent)
  b <- of(replay)
  (if (agent$design != "lockin") {
    matched_difference(slow[a], number[a], slow[b], number[b], "pair",
                       "t on differences of halves of the same set")
  }) %||% welch_difference(agent, replay, "pair")
}

# In sets of launches of one arm each: by set. NULL where there are none.
set_difference <- function(agent, replay, analysis) {
  campaign <- analysis$campaign
  if (!one_arm_launches(campaign$rows) || !in_sets(campaign)) return(NULL)
  on <- set_differences(campaign, "time")
  on <- on[is.finite(on$difference), ]
  a <- on[rows_like(on, agent, c("operation", "bytes", arm_columns())), ]
  b <- on[rows_like(on, replay, c("operation", "bytes", arm_columns())), ]
  matched_difference(a$difference, a$set, b$difference, b$set, "set of launches",
                     "t on differences within sets of launches")
}

replay_answers <- c(same = "pass", inconclusive = "inconclusive", "agent slows more" = "fail",
                    "replay slows more" = "fail")

# "Same" needs no correction, since all rows have to be; a row that is called different does.
decide_replay <- function(rows, alpha) {
  hit <- function(p) !is.na(p) & p <= alpha
  tested <- is.na(rows$reason)
  more <- hit(stats::p.adjust(rows$p_agent_more, "holm"))
  less <- hit(stats::p.adjust(rows$p_replay_more, "holm"))
  rows$verdict <- data.table::fcase(
    !tested, "inconclusive",
    more, "agent slows more",
    less, "replay slows more",
    hit(rows$p_same), "same",
    default = "inconclusive"
  )
  rows[c("p_agent_more", "p_replay_more", "p_two_sided")] <- NULL
  rows
}

replay_sentences <- function(result) {
  rows <- result$rows
  vapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    both <- sprintf("%s: %s slows by %s %%, its replay (%s) by %s %%", panel_name(row), row$agent,
                    format_effect(row$agent_percent), row$replay, format_effect(row$replay_percent))
    apart <- sprintf("difference %s %% %s", format_effect(row$difference_percent),
                     format_interval(row$bound_low, row$bound_high))
    margin <- paste0("\u00b1", format_effect(row$margin_percent, FALSE), " %")
    judged <- switch(
      row$verdict,
      same = sprintf("the same within %s (%s)", margin, row$margin_from),
      inconclusive = if (is.na(row$reason)) {
        sprintf("whether they are the same within %s cannot be told", margin)
      } else {
        row$reason
      },
      paste0("not the same: the ", row$verdict, ", by more than ", margin)
    )
    paste0(both, "; ", apart, "; ", judged, ".")
  }, "")
}

analyze_replay <- function(operands, values, form) {
  o <- tested_options(with_asked_margin(values, operands))
  result <- compare_replay(read_campaign(operands), o$margin, o$alpha, o$power)
  answered(
    form,
    values$table,
    list(alpha = o$alpha, power = o$power, margin_percent = o$margin, answer = result$answer,
         sentences = texts(result$sentences)),
    list(estimates = replay_estimates(result), rows = result$rows),
    result$notes,
    list(),
    replay_view(result, operands),
    c(result$sentences, result$notes),
    if (!is.null(values$margin)) result$answer
  )
}
