# The one rule by which an agent's answer is made, fixed before anything is measured (docs/methods.md, One answer for an agent).

agent_cases <- c("agree", "open", "more", "less", "alone")

#' The answer of one agent on one operation
#'
#' @param bursts,whole,beyond Figures (percent) or NULL: slowdown by bursts, in all by on/off, and beyond the bursts where it was measured by
#'   itself (quick halves). With `bursts` each claim has alpha / 2.
#' @param agree Percent, length 1: half of "agree".
#' @param alpha One-sided level, length 1.
#' @param margin Percent, or NULL; `watched_s`, for how long bursts were recorded.
#' @return A list: `lead` (`bursts`, `on/off`), `case` (in `agent_cases`; `alone`: on/off is all there is), `value`, `low`, `high`,
#'   `found`, `p_value` of what leads; `beyond`, `beyond_low`, `beyond_high`, `beyond_most` (the bound that is printed), `bursts`, `whole`, `whole_low`,
#'   `whole_high`; `margin_verdict` (`above`, `below`, `inconclusive`, NA), `margin_by` (`on/off`, `bursts`), `p_above`, `p_below`.
#' @noRd
agent_rule <- function(bursts, whole, beyond = NULL, agree = agree_percent, alpha = 0.01, margin = NULL, watched_s = 0) {
  each <- if (is.null(bursts)) alpha else alpha / 2
  apart <- beyond %||% (if (!is.null(bursts) && !is.null(whole)) beyond_figure(whole, bursts))
  # Measured by itself it says more of the whole than on/off does.
  if (!is.null(bursts) && !is.null(beyond)) whole <- in_all_figure(bursts, beyond)
  ends <- function(figure) if (is.null(figure)) c(NA_real_, NA_real_) else figure$ends(each)
  of <- function(figure) if (is.null(figure)) NA_real_ else figure$value
  rest <- ends(apart)
  case <- if (is.null(bursts)) "alone" else if (is.null(apart)) "open" else if (max(abs(rest)) <= agree) "agree" else
    if (rest[1] > 0) "more" else if (rest[2] < 0) "less" else "open"
  lead <- if (is.null(bursts) || case == "more") whole else bursts
  side <- margin_side(bursts, whole, apart, beyond, alpha, each, margin, watched_s)
  p <- figure_p(lead, 0) * if (is.null(bursts)) 1 else 2
  list(lead = if (is.null(bursts) || case == "more") "on/off" else "bursts", case = case, value = of(lead), low = ends(lead)[1],
       high = ends(lead)[2], p_value = min(1, p), found = case != "less" && isTRUE(p <= alpha),
       beyond = of(apart), beyond_low = rest[1], beyond_high = rest[2], beyond_most = if (is.null(apart)) NA_real_ else beyond_bound(apart, each),
       bursts = of(bursts), whole = of(whole), whole_low = ends(whole)[1], whole_high = ends(whole)[2], margin_verdict = side$verdict, margin_by = side$by,
       p_above = side$p_above)
}

# Pass: the whole lies below, or its parts do together, each at a sixth of alpha: bursts, those unseen, and what lies beyond. Fail: the whole
# lies above, or the bursts do and the whole is not shown below. Both: a contradiction, and no answer.
margin_side <- function(bursts, whole, apart, beyond, alpha, each, margin, watched_s) {
  none <- list(verdict = NA_character_, by = NA_character_, p_above = NA_real_)
  if (is.null(margin)) return(none)
  high <- function(figure, a) if (is.null(figure)) Inf else figure$ends(a)[2]
  third <- alpha / 6
  # A whole that is made of bursts and beyond leaves out what was not seen.
  whole_high <- if (!is.null(bursts) && !is.null(beyond)) Inf else high(whole, each)
  parts_high <- if (is.null(bursts) || is.null(apart)) Inf else {
    100 * ((1 + (high(bursts, third) + unseen_percent(watched_s, third)) / 100) * (1 + beyond_bound(apart, third) / 100) - 1)
  }
  p_whole <- figure_p(whole, margin)
  p_bursts <- if (is.null(bursts) || isTRUE(high(whole, each) < margin)) NA_real_ else figure_p(bursts, margin)
  p_above <- min(1, c(p_whole, p_bursts) * if (is.null(bursts)) 1 else 2, na.rm = TRUE)
  above <- p_above <= alpha
  below <- c("on/off" = whole_high < margin, bursts = parts_high < margin)
  verdict <- if ((above || isTRUE(figure_p(bursts, margin) <= each)) && any(below)) "inconclusive" else if (above) "above" else if (any(below)) "below" else "inconclusive"
  by <- switch(verdict, above = if (isTRUE(p_whole <= each)) "on/off" else "bursts", below = names(which(below))[1], NA_character_)
  list(verdict = verdict, by = by, p_above = p_above)
}
