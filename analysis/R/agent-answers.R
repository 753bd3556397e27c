# The answers about agents, a row per agent and operation: headline, table, report, JSON and exit status are all made of them.

#' The answers about the agents of a campaign
#'
#' @param analysis An `nl_analysis`; `taken`, `locked`: results of `agent_taken()` and `locked_by_launch()`.
#' @return A data frame, a row per agent and operation in the scope of the main answer: `kind`, `operation`, `bytes`, `launch`, `scope`,
#'   what `agent_rule()` returns, `outcome` (of Holm's correction over the rows: `detected`, `detected alone`, `not detected`, `inconclusive`),
#'   `state` (in `locked_states`), `n_bursts`, `watched_s` (for how long bursts were recorded), `limit` (slowdown that would have been found),
#'   `reason` (why bursts give no figure), `whole_reason` (why on/off gives none), `note`, `needs_s` (measured seconds that would decide the
#'   margin), `parts_high` (text: what the margin's parts may be).
#' @noRd
agent_answers <- function(analysis, taken, locked) {
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!has_level(rows$level_requested_percent) & rows$channel == "time", ]
  answers <- bind_rows(lapply(seq_len(nrow(rows)), function(i) answer_row(rows[i, ], analysis, taken, locked)))
  if (nrow(answers) == 0) return(NULL)
  alpha <- rows$alpha
  sure <- stats::p.adjust(answers$p_value, "holm") <= alpha
  answers$outcome <- ifelse(answers$case == "less" | is.na(answers$value), "inconclusive",
                            ifelse(!answers$found, "not detected", ifelse(sure %in% TRUE, "detected", "detected alone")))
  answers
}

answer_row <- function(row, analysis, taken, locked) {
  mine <- locked_of_answer(row, analysis, locked)
  bursts <- mine$figure[[1]]
  own <- main_taken(taken[taken$kind %in% as.character(row$kind), ])
  agree <- agree_margin(if (NROW(own) > 0) mean(own$account_percent) else NA_real_)
  whole <- if (is.na(row$reason)) {
    figure_as(figure_of_t(row$raw_margin, row$raw_margin_se, row$raw_margin_df), function(x) 100 * expm1(x))
  }
  watched <- mine$watched_s %||% 0
  # Quick halves tell what lies beyond bursts; where there was none at all, the whole.
  quick <- mine$beyond[[1]]
  beyond <- if (!is.null(bursts)) quick
  by_quick <- is.null(bursts) && !is.null(quick)
  if (by_quick) whole <- quick
  got <- agent_rule(bursts, whole, beyond, agree, row$alpha, analysis$margin, watched)
  if (is.null(bursts) && !by_quick) {
    # Its own test is exact.
    got[c("value", "low", "high", "p_value")] <- row[c("estimate", "ci_low", "ci_high", "p_one_sided")]
    got$found <- isTRUE(row$verdict == "detected")
    if (!is.null(analysis$margin)) {
      got$margin_verdict <- as.character(row$margin_verdict)
      got$margin_by <- if (got$margin_verdict %in% "inconclusive") NA_character_ else "on/off"
      got$p_above <- p_above(row, analysis$margin)
      # Quick halves hardly see bursts.
      if (got$margin_verdict %in% "below" && isTRUE(mine$is_quick) && isTRUE(mine$n_bursts > 0)) got$margin_verdict <- "inconclusive"
    }
  }
  limit <- if (by_quick) reach_of(quick, row$alpha) + reach_of(quick, 0.05) else if (is.null(bursts) || got$case == "more") row$detection_limit else mine$limit_percent
  needs <- if (!identical(got$margin_verdict, "inconclusive")) NA_real_ else if (is.null(bursts) && !by_quick) row$margin_needs_s else {
    if (by_quick) whole_needs(quick, analysis$margin, row$alpha) * measured_s(row, analysis$campaign) else parts_need_s(bursts, whole, beyond, analysis$margin, row$alpha, watched) * measured_s(row, analysis$campaign)
  }
  parts <- if (is.null(bursts) || is.null(analysis$margin)) NA_character_ else
    margin_parts(bursts, beyond %||% (if (!is.null(whole)) beyond_figure(whole, bursts)), row$alpha / 6, watched)
  data.frame(kind = as.character(row$kind), operation = as.character(row$operation), bytes = row$bytes, ranks = row$ranks, launch = row$launch,
             scope = row$scope, got, state = mine$state %||% "unrecorded", n_bursts = mine$n_bursts %||% NA_real_, watched_s = watched,
             limit = limit, reason = if (is.null(bursts)) mine$reason %||% "bursts are not recorded against slices of the loop" else NA_character_,
             whole_reason = if (by_quick) NA_character_ else row$reason, note = attr(quick, "note") %||% NA_character_, needs_s = needs, parts_high = parts, alpha = row$alpha)
}

# The row of `locked` for a row of verdicts: of its launch, or of several together; NULL: none.
locked_of_answer <- function(row, analysis, locked) {
  if (NROW(locked) == 0) return(NULL)
  campaign <- analysis$campaign$rows
  launches <- if (is.na(row$launch)) unique(as.character(campaign[["launch"]][as.character(campaign[["kind"]]) %in% as.character(row$kind)])) else row$launch
  mine <- locked[locked$operation == as.character(row$operation) & locked$bytes == row$bytes & locked$launch %in% launches, ]
  if (nrow(mine) == 0) return(NULL)
  if (nrow(mine) == 1) return(mine)
  like <- row$scope == scope_campaign
  one <- pool_locked(mine, 2 * row$alpha, like)[1, ]
  one$watched_s <- sum(mine$watched_s)
  one$is_quick <- any(mine$is_quick)
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
  mine <- rows[["operation"]] == as.character(row$operation) & (is.na(row$launch) | as.character(rows[["launch"]]) %in% row$launch)
  sum(rows[["wall_ns"]][mine]) / 1e9
}

# How many times as long, if every estimate is as it is: intervals shrink with the root of the time, what was not seen with the time.
parts_need_s <- function(bursts, whole, beyond, margin, alpha, watched_s) {
  rest <- beyond %||% (if (!is.null(whole)) beyond_figure(whole, bursts))
  if (is.null(rest)) return(NA_real_)
  at <- function(times) {
    reach <- function(figure) (figure$ends(alpha / 6)[2] - figure$value) / sqrt(times)
    l <- bursts$value + reach(bursts) + unseen_percent(watched_s * times, alpha / 6)
    (1 + l / 100) * (1 + (max(0, rest$value) + reach(rest)) / 100) - 1 - margin / 100
  }
  if (!isTRUE(at(1e8) < 0)) return(Inf)
  if (at(1) < 0) 1 else exp(stats::uniroot(function(t) at(exp(t)), log(c(1, 1e8)))$root)
}

# Of a figure by itself.
whole_needs <- function(figure, margin, alpha) if (figure$value >= margin) Inf else max(1, (reach_of(figure, alpha) / (margin - figure$value))^2)

reach_of <- function(figure, alpha) diff(figure$ends(alpha)) / 2

margin_parts <- function(bursts, rest, alpha, watched_s) {
  high <- bursts$ends(alpha)[2]
  paste0(if (is.finite(high)) sprintf("its bursts cost up to %s %%", three(high)) else "there is no upper end of what its bursts cost",
         sprintf(", unseen ones up to %s %%, ", three(unseen_percent(watched_s, alpha))),
         if (is.null(rest)) "what lies beyond is not known" else sprintf("and beyond them up to %s %%", three(beyond_bound(rest, alpha))))
}

# One answer over all agents and operations: fail with Holm's correction, pass where every row lies below.
agent_margin_answer <- function(answers) {
  if (NROW(answers) == 0) return(list(answer = "inconclusive", reason = "no agent was judged by loop time"))
  verdict <- answers$margin_verdict
  above <- verdict %in% "above" & stats::p.adjust(answers$p_above, "holm") <= answers$alpha
  answer <- if (any(above)) "fail" else if (all(verdict %in% "below")) "pass" else "inconclusive"
  decided <- if (any(above)) answers[above, ] else answers
  reason <- if (answer == "inconclusive") margin_open_words(answers) else
    if (any(decided$margin_by %in% "bursts")) "by its bursts" else NA_character_
  list(answer = answer, reason = reason)
}

margin_open_words <- function(answers) {
  if (any(answers$margin_verdict %in% "above")) {
    return("one slowdown lies above the margin by itself, but not with all agents and operations counted together")
  }
  open <- answers[!answers$margin_verdict %in% "below", ]
  if (any(open$case == "less")) return("its bursts and the slowdown in all contradict each other")
  parts <- open$parts_high[!is.na(open$parts_high)]
  if (length(parts) > 0) parts[1] else "an interval reaches over the margin, or an agent could not be judged"
}
