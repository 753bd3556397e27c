# On which side of a margin an agent's slowdown lies: by on/off, which sees all of it, and by its bursts, a part that is known sooner.

margin_sources <- c(all = "on/off", locked = "bursts")

#' The margin by on/off and by bursts
#'
#' Of an agent's rows whose bursts were recorded, two figures can decide, so each is tested at half of alpha (its p-value counts twice).
#' *Above*: either one lies above the margin, for bursts are a part of the whole. *Below*: on/off lies below it; or the bursts do,
#' nothing was shown beyond them, and they hold the agent's CPU time: what it used on CPUs without a rank is no more than the margin of
#' agreement. The latter rests on the bursts, which is said with how well the whole is known.
#'
#' @param verdicts The `verdicts` of an `nl_analysis` with a margin.
#' @param figures The result of `agent_figures()`.
#' @param accounts The result of `agent_accounts()`.
#' @param margin Percent, length 1.
#' @param alpha Of `figures`, length 1.
#' @return `verdicts`, of such rows with another `margin_verdict` (and without `margin_needs_s` where that decides), and for all rows the
#'   columns `margin_by` (`on/off`, `bursts`; NA: undecided), `margin_p_bursts` (one-sided, of bursts above the margin; NA without them) and
#'   `margin_known` (half-width of the slowdown in all, percent, where the answer rests on bursts; else NA).
#' @noRd
bursts_in_margin <- function(verdicts, figures, accounts, margin, alpha) {
  decided <- verdicts$margin_verdict %in% c("above", "below")
  verdicts$margin_by <- ifelse(decided, margin_sources[["all"]], NA_character_)
  verdicts$margin_p_bursts <- verdicts$margin_known <- NA_real_
  locked <- figures[figures$figure == "locked" & is.finite(figures$high), ]
  apart <- attr(figures, "agreement")
  at <- which(verdicts$channel == "time" & !has_level(verdicts$level_requested_percent) & !is.na(verdicts$margin_verdict))
  for (i in at) {
    row <- verdicts[i, ]
    mine <- locked[same_cell(locked, row), ]
    if (nrow(mine) == 0) next
    bursts <- bursts_against(mine[1, ], margin, alpha)
    beyond <- apart[same_cell(apart, row), ]
    whole <- whole_against(row, margin)
    hit <- function(p) isTRUE(2 * p <= row$alpha)
    held <- !isTRUE(beyond$low[1] > 0) && bursts_hold(accounts, row)
    side <- if (hit(whole[["above"]])) c("above", "all") else if (hit(bursts[["above"]])) c("above", "locked") else
      if (hit(whole[["below"]])) c("below", "all") else if (hit(bursts[["below"]]) && held) c("below", "locked") else c("inconclusive", NA)
    verdicts$margin_verdict[i] <- side[1]
    verdicts$margin_by[i] <- margin_sources[side[2]]
    verdicts$margin_p_bursts[i] <- bursts[["above"]]
    if (side[2] %in% "locked") verdicts$margin_known[i] <- (row$ci_high - row$ci_low) / 2
    if (side[1] != "inconclusive") verdicts$margin_needs_s[i] <- NA_real_
  }
  verdicts
}

same_cell <- function(figures, row) {
  figures$kind == as.character(row$kind) & figures$operation == as.character(row$operation) & figures$bytes == row$bytes &
    figures$scope == as.character(row$scope) & figures$launch %in% row$launch
}

# One-sided p of bursts above and below the margin; `alpha`: their interval has confidence 1 - 2 alpha.
bursts_against <- function(figure, margin, alpha) {
  se <- (figure$high - figure$low) / 2 / stats::qt(1 - alpha, figure$df)
  t <- (figure$value - margin) / se
  c(above = stats::pt(t, figure$df, lower.tail = FALSE), below = stats::pt(t, figure$df))
}

whole_against <- function(row, margin) {
  if (!is.na(row$reason)) return(c(above = NA_real_, below = NA_real_))
  shift <- log1p(margin / 100)
  c(above = p_beyond(row, shift), below = p_beyond(row, shift, -1))
}

# Is next to all of the agent's CPU time on the ranks' CPUs, where its bursts are seen?
bursts_hold <- function(accounts, row) {
  mine <- accounts[accounts$kind == as.character(row$kind) & !is.na(accounts$launch), ]
  if (!is.na(row$launch)) mine <- mine[mine$launch == row$launch, ]
  nrow(mine) > 0 && isTRUE(all(mine$cpu_percent - mine$on_ranks_percent <= agree_margin(mine$cpu_percent)))
}

# What an answer of these rows rests on; NA where on/off decides.
margin_rests_on <- function(rows) {
  rows <- rows[rows$margin_by %in% margin_sources[["locked"]], ]
  if (nrow(rows) == 0) return(NA_character_)
  known <- suppressWarnings(max(rows$margin_known, na.rm = TRUE))
  paste0("by its bursts", if (any(rows$margin_verdict == "below")) paste0("; ", if (is.finite(known)) {
    sprintf("the slowdown in all is known to \u00b1%s %% only", three(known))
  } else "the slowdown in all is not known"))
}
