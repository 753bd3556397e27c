# Three figures of an agent's cost side by side: what it took from the ranks by the records, what its bursts cost the loop, and what
# switching it on costs in all; and whether the last two agree.

# Half of "agree", fixed before anything is measured: percent of an operation's time, or this share of the CPU time that the agent has by
# its own account, whichever is larger. How far the compared figures scatter is no part of it.
agree_percent <- 0.05
agree_share <- 0.1

agree_margin <- function(account_percent) pmax(agree_percent, agree_share * ifelse(is.finite(account_percent), account_percent, 0))

figure_names <- c(taken = "taken (attributed)", locked = "by bursts (locked)", all = "in all (on/off)", alone = "in all, less others")

#' The figures of an agent's cost
#'
#' @param analysis An `nl_analysis`.
#' @param taken,locked Data frames: of `agent_taken()` and `locked_by_launch()` (NULL: none).
#' @return A data frame, a row per agent, operation and figure: `kind`, `operation`, `bytes`, `launch`, `scope`, `figure` (`taken`: percent
#'   of one CPU; `locked`, `all`, and where it is on record `alone`, which is `all` less what other tasks took from the ranks: percent of the
#'   operation's time), `value`, `low`, `high`, `limit`, `p_value`, `outcome` (`detected`, `detected alone`,
#'   `not detected`, `inconclusive`), `reason` (why there is none), `n_bursts` (that `locked`
#'   rests on; NA of others); and attribute `agreement`: per agent and
#'   operation `difference`, `low`, `high` (all less locked), `margin`, `agreement` (`agree`, `disagree`, `cannot be compared`), `reason`.
#' @noRd
agent_figures <- function(analysis, taken = agent_taken(analysis$campaign, analysis$alpha),
                          locked = locked_by_launch(analysis$campaign, analysis$alpha)) {
  verdicts <- main_rows(analysis$verdicts)
  time <- verdicts[!has_level(verdicts$level_requested_percent) & verdicts$channel == "time", ]
  parts <- lapply(seq_len(nrow(time)), function(i) {
    row <- time[i, ]
    own <- main_taken(taken[taken$kind %in% as.character(row$kind), ])
    list(rows = bind_rows(list(figure_of_taken(row, own, analysis$alpha), figure_of_locked(row, locked, analysis), figure_of_all(row),
                               figure_of_alone(row, analysis))),
         account = if (nrow(own) > 0) mean(own$account_percent) else NA_real_)
  })
  structure(bind_rows(lapply(parts, `[[`, "rows")), agreement = bind_rows(lapply(parts, function(p) figures_agree(p$rows, p$account))))
}

figure_row <- function(row, figure, value, low, high, limit, p_value, outcome, reason, n_bursts = NA_real_) {
  data.frame(kind = as.character(row$kind), operation = as.character(row$operation), bytes = row$bytes, launch = row$launch,
             scope = row$scope,
             figure = figure, value = value, low = low, high = high, limit = limit, p_value = p_value, outcome = outcome, reason = reason,
             n_bursts = n_bursts)
}

figure_without <- function(row, figure, reason) {
  figure_row(row, figure, NA_real_, NA_real_, NA_real_, NA_real_, NA_real_, "inconclusive", reason)
}

figure_of_taken <- function(row, own, alpha) {
  if (nrow(own) == 0) return(figure_without(row, "taken", "no account of the agent (agent.HOST.csv)"))
  own <- own[1, ]
  figure_row(row, "taken", own$taken_percent, own$taken_low, own$taken_high, own$limit_percent, own$p_value,
             if (!is.na(own$reason)) "inconclusive" else if (isTRUE(own$p_value <= alpha)) "detected" else "not detected", own$reason)
}

figure_of_all <- function(row) {
  figure_row(row, "all", row$estimate, row$ci_low, row$ci_high, row$detection_limit, row$p_one_sided, row_outcome(row), row$reason)
}

# The slowdown in all less what tasks that nobody named took from the ranks meanwhile; NULL where that is not on record, or the agent moves
# it.
figure_of_alone <- function(row, analysis) {
  a <- row$raw_adjusted[[1]]
  if (is.null(a) || a$is_withheld || !grepl("others", a$covariate) || !is.na(row$reason)) return(NULL)
  figure_row(row, "alone", row$adjusted_mean, row$adjusted_low, row$adjusted_high,
             to_effect("time", detection_limit(a$se, a$df, row$alpha, analysis$power)), a$p,
             if (isTRUE(a$p <= row$alpha)) "detected" else "not detected", NA_character_)
}

figure_of_locked <- function(row, locked, analysis) {
  mine <- locked_of_answer(row, analysis, locked)
  if (is.null(mine)) return(figure_without(row, "locked", "bursts are not recorded against slices of the loop"))
  if (mine$state != "measured") return(figure_without(row, "locked", mine$reason))
  figure_row(row, "locked", mine$slowdown_percent, mine$slowdown_low, mine$slowdown_high, mine$limit_percent, mine$p_value,
             if (isTRUE(mine$p_value <= row$alpha)) "detected" else "not detected", NA_character_, mine$n_bursts)
}

# Equivalence of the two slowdowns: the interval of their difference inside the margin, outside of it, or neither.
figures_agree <- function(rows, account_percent) {
  # Less what others took, where that is known: of the two it is that by rule.
  all <- rows[rows$figure == if (any(rows$figure == "alone")) "alone" else "all", ]
  locked <- rows[rows$figure == "locked", ]
  margin <- agree_margin(account_percent)
  half <- function(row) (row$high - row$low) / 2
  reach <- sqrt(half(all)^2 + half(locked)^2)
  difference <- all$value - locked$value
  word <- if (is.na(reach)) "cannot be compared" else if (abs(difference) + reach <= margin) "agree" else
    if (abs(difference) - reach > margin)
    "disagree" else "cannot be compared"
  reason <- if (is.na(locked$value)) locked$reason else if (is.na(reach)) all$reason else if (word == "cannot be compared") {
    sprintf("their difference is known to \u00b1%s %% only", three(reach))
  } else NA_character_
  data.frame(all[c("kind", "operation", "bytes", "launch", "scope")], difference = difference, low = difference - reach, high = difference +
             reach,
             margin = margin, agreement = word, reason = reason)
}

figures_table <- function(figures, unicode = shows_unicode()) {
  figures <- figures[!(figures$figure == "taken" & duplicated(paste(figures$kind, figures$figure))), ]
  one <- length(unique(figures$kind)) == 1
  new_table(
    figure = col_words("figure", paste0(figure_names[figures$figure], ifelse(figures$figure == "taken", "",
        paste0(", ", figure_on(figures))))),
    kind = if (!one) col_words("agent", figures$kind), value = col_number("cost", figures$value, format_effect, "%"),
    low = col_interval("interval", figures$low, figures$high), limit = col_number("limit", figures$limit,
        function(x) format_effect(x, FALSE), "%"),
    outcome = col_verdict("verdict", figures$outcome, unicode), mark = figures$outcome
  )
}

figure_on <- function(rows) sub(",", "", vapply(seq_len(nrow(rows)), function(i) panel_name(rows[i, ]), ""))

figures_legend <- paste("taken: % of one CPU, by who ran while a rank waited; by bursts and in all: % of the operation's time; limit: what would have",
                        "been found")

# Why a figure is not there, each reason once.
figure_reasons <- function(figures) {
  lacking <- figures[is.na(figures$value) & !is.na(figures$reason), ]
  unique(sprintf("no figure %s: %s", figure_names[lacking$figure], lacking$reason))
}

figure_estimates <- function(figures, alpha) {
  if (NROW(figures) == 0) return(NULL)
  apart <- attr(figures, "agreement")
  kept <- figures[!figures$figure %in% c("all", "alone"), ]
  bind_rows(list(
    as_estimates(kept, c(taken = "taken_attributed_percent", locked = "slowdown_by_bursts_percent")[kept$figure], ci_low = kept$low,
                 ci_high = kept$high,
                 confidence = 1 - 2 * alpha, detection_limit = kept$limit, p_one_sided = kept$p_value, n_unit = NA, verdict = kept$outcome),
    as_estimates(apart, "slowdown_beyond_bursts_percent", value = apart$difference, ci_low = apart$low, ci_high = apart$high,
                 confidence = 1 - 2 * alpha, verdict = apart$agreement)
  ))
}
