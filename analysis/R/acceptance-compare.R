# Two acceptance campaigns, before and after.

#' Compare two acceptance campaigns
#'
#' Figure by figure and node by node: B against A, with interval; Holm's correction over all figures. With a margin, every figure has one of
#' three outcomes: it got worse by more (the bound is beyond, all figures counted together), it did not (the bound is within), or it cannot
#' be told.
#'
#' @param a,b `nl_acceptance` from [read_acceptance()].
#' @param margin Percent of A's value by which a figure may be worse, length 1 (never less than the floor of its kind of figure), or NULL.
#' @param alpha Two-sided level of `changed`, one-sided of the margin, length 1.
#' @param power Power at the detection limit, length 1.
#' @return A list: `rows` (data frame, one row per figure and node or pair that both have: `check`, `variant`, `metric`, `size`, `entity`,
#'   `unit`, `value_a`, `value_b`, `effect` (percent, or in the unit where there is no logarithm) with `ci_low`, `ci_high`, `effect_unit`,
#'   `margin`, `detection_limit`, `p_two_sided`, `p_holm`, `worse` (logical: B is), `verdict` (`changed`, `same`, `inconclusive`),
#'   `margin_verdict` (`pass`, `fail`, `inconclusive`; NA without a margin), `n_a`, `n_b`, `reason`), `verdict` (with a margin: `pass`
#'   nothing got worse by more, `fail`, `inconclusive`), `answer`, `notes`, `alpha`, `margin`.
#' @references Schuirmann, D. J. (1987) Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680.
#' @examples
#' \dontrun{
#' compare_acceptance(read_acceptance("before"), read_acceptance("after"))$answer
#' }
#' @export
compare_acceptance <- function(a, b, margin = NULL, alpha = 0.01, power = 0.95) {
  check_argument(inherits(a, "nl_acceptance") && inherits(b, "nl_acceptance"), "a", class(a), "results of read_acceptance()")
  check_probability(alpha, "alpha")
  sides <- lapply(list(a, b), function(side) {
    units <- acceptance_units(side)
    figures <- figure_table(units, alpha, watched_time(side))
    cbind(figures, id = figure_id(figures))
  })
  both <- intersect(sides[[1]]$id, sides[[2]]$id)
  if (length(both) == 0) abort_data("the two campaigns have no figure in common: other nodes, other checks or other sizes")
  rows <- change_rows(sides[[1]][match(both, sides[[1]]$id), ], sides[[2]][match(both, sides[[2]]$id), ], margins_in_use(margin), alpha,
                      power)
  rows$margin_verdict <- if (is.null(margin)) NA_character_ else rows$margin_verdict
  rows$verdict <- ifelse(is.na(rows$margin_verdict) | rows$verdict == "changed", rows$verdict,
                         ifelse(rows$margin_verdict == "pass" & rows$within, "same", "inconclusive"))
  verdict <- if (is.null(margin)) "pass" else worst_verdict(rows$margin_verdict)
  changed <- rows[rows$verdict == "changed", ]
  answer <- sprintf("%d of %d figures changed (%d for the worse)%s.", nrow(changed), nrow(rows), sum(changed$worse),
                    if (is.null(margin)) "" else {
    sprintf("; by more than the margin of %g %% %d got worse, %d did not, %d cannot be told", margin, sum(rows$margin_verdict == "fail"),
            sum(rows$margin_verdict == "pass"),
            sum(rows$margin_verdict == "inconclusive"))
  })
  only <- setdiff(union(sides[[1]]$id, sides[[2]]$id), both)
  list(rows = rows[c(figure_key, "what", "entity", "unit", "value_a", "value_b", "effect", "ci_low", "ci_high", "effect_unit", "margin",
                     "detection_limit", "p_two_sided", "p_holm",
                     "worse", "verdict", "margin_verdict", "n_a", "n_b", "reason")], verdict = verdict, answer = answer,
       notes = c(if (length(only) > 0) sprintf("%d figures are in one campaign only, and left out", length(only)),
                 if (!is.null(margin)) margins_note(margins_in_use(margin), unique(rows$kind)),
                 sprintf("A: %s", a$notes), sprintf("B: %s", b$notes)), alpha = alpha, margin = margin)
}

# Each figure of B against the same of A. Where nothing happened on either side, or nothing scattered, the ends of the two intervals bound
# the change.
change_rows <- function(a, b, margins, alpha, power) {
  log_scale <- a$scale == "log" & b$scale == "log"
  # the same scale on both sides: a linear one has to be made of a logarithmic
  side <- function(x) list(mean = ifelse(log_scale, log(pmax(x$value, 1e-300)), x$value),
                           variance = (x$se * ifelse(!log_scale & x$scale == "log", x$value, 1))^2, df = x$df)
  a_side <- side(a)
  b_side <- side(b)
  exact <- !(a$n > 1 & b$n > 1) | !is.finite(a_side$variance + b_side$variance) | a$all_zero | b$all_zero |
    !(a_side$variance + b_side$variance > 0)
  over <- function(s) ifelse(s$variance > 0, s$variance^2 / s$df, 0)
  variance <- a_side$variance + b_side$variance
  se <- ifelse(exact, NA_real_, sqrt(variance))
  df <- ifelse(exact, NA_real_, variance^2 / (over(a_side) + over(b_side)))
  estimate <- b_side$mean - a_side$mean
  ends <- function(level) {
    reach <- stats::qt(1 - level, df) * se
    a_ends <- figure_bounds(a, 2 * level)
    b_ends <- figure_bounds(b, 2 * level)
    # of an exact bound, or what bursts that nobody saw could take: the ends of both; intervals that know nothing stay unknown
    scaled <- function(x) ifelse(log_scale, log(pmax(x, 1e-300)), x)
    wide <- exact | a$metric %in% burst_metrics
    list(low = ifelse(wide, scaled(b_ends$low) - scaled(a_ends$high), estimate - reach),
         high = ifelse(wide, scaled(b_ends$high) - scaled(a_ends$low), estimate + reach))
  }
  sign <- ifelse(a$worse == "less", -1, 1)
  border <- margin_of(margins, margin_kinds(a$check, a$metric, a$unit), a$value, ifelse(log_scale, "log", "linear"), a$worse)
  p_worse <- stats::pt((sign * estimate - border) / se, df, lower.tail = FALSE)
  one <- ends(alpha)
  two <- ends(alpha / 2)
  upper <- ifelse(sign > 0, one$high, -one$low)
  p_two <- pmax(1e-300, 2 * stats::pt(-abs(estimate / se), df))
  shown <- function(x) ifelse(log_scale, 100 * expm1(x), x)
  limit <- rep(NA_real_, length(se))
  if (any(!exact)) limit[!exact] <- detection_limit(se[!exact], df[!exact], alpha / 2 / sum(!exact), power)
  p_holm <- stats::p.adjust(p_two, "holm")
  verdict <- three_outcomes(upper, border, stats::p.adjust(p_worse, "holm"), alpha)
  # exact bounds have no p: their ends decide, at a share of the level for each figure and each side
  strict <- ends(alpha / 2 / length(se))
  low <- ifelse(sign > 0, strict$low, -strict$high)
  verdict[exact & !is.na(low) & low > border] <- "fail"
  changed <- p_holm <= alpha | exact & (strict$low > 0 | strict$high < 0)
  data.frame(a[c(figure_key, "what", "entity", "unit")], kind = margin_kinds(a$check, a$metric, a$unit), value_a = a$value,
             value_b = b$value, effect = shown(estimate), ci_low = shown(two$low), ci_high = shown(two$high),
             effect_unit = ifelse(log_scale, "percent", ifelse(a$unit == "percent", "points", a$unit)), margin = abs(shown(sign * border)),
             detection_limit = shown(limit), p_two_sided = p_two, p_holm = p_holm,
             worse = sign * estimate > 0, verdict = ifelse(changed %in% TRUE, "changed", "inconclusive"), margin_verdict = verdict,
             within = upper < border & -ifelse(sign > 0, one$low, -one$high) < border,
             n_a = a$n, n_b = b$n, reason = ifelse(exact, ifelse(is.na(upper), "its scatter is unknown", ifelse(nzchar(bound_words(b)), bound_words(b), "nothing happened on either side")), NA_character_), row.names = NULL)
}

# The changed ones first; not more than a reader looks through.
shown_changes <- function(rows) utils::head(changes_in_order(rows), max(most_failing, sum(rows$verdict == "changed")))

change_words <- function(rows) {
  words <- ifelse(rows$verdict == "changed", ifelse(rows$worse, "changed: worse", "changed: better"), rows$verdict)
  ifelse(rows$margin_verdict %in% "fail", paste0(words, ", beyond the margin"), words)
}

format_changes <- function(comparison) {
  rows <- comparison$rows
  shown <- shown_changes(rows)
  c(comparison$answer, "", table_lines(changes_table(shown), indent = 0, width = Inf),
    if (nrow(rows) > nrow(shown)) sprintf("  and %d more (--csv has all)", nrow(rows) - nrow(shown)), "", format_notes(comparison$notes))
}

changes_in_order <- function(rows) rows[order(!rows$margin_verdict %in% "fail", match(rows$verdict, c("changed", "inconclusive", "same")),
                                              rows$p_holm), ]

changes_view <- function(comparison, operands) {
  rows <- changes_in_order(comparison$rows)
  shown <- utils::head(rows, 30)
  word <- ifelse(shown$verdict == "changed", ifelse(shown$worse, "worse", "better"), shown$verdict)
  table <- new_table(
    name = col_words("figure", cut_middle(figure_name(shown), 40), folds = FALSE),
    value_b = col_number("B", shown$value_b, format_figure(shown$value_b, shown$unit)),
    effect = col_number("change", shown$effect, paste(format_effect(shown$effect), change_unit(shown),
                                                      format_interval(shown$ci_low, shown$ci_high))),
    verdict = col_words("verdict", word)
  )
  new_view(comparison$answer, table, "change: B against A with its interval",
           notes = length(unique(comparison$notes)), command = all_command(operands, program = "compare"))
}

change_unit <- function(rows) {
  unit <- unname(c(percent = "%", points = "points")[rows$effect_unit])
  ifelse(is.na(unit), rows$effect_unit, unit)
}

# Long names keep their ends, which tell them apart.
cut_middle <- function(text, most) {
  half <- (most - 3) %/% 2
  ifelse(nchar(text) > most, paste0(substr(text, 1, half), "...", substring(text, nchar(text) - half + 1)), text)
}

changes_table <- function(shown) {
  unit <- change_unit(shown)
  new_table(
    name = col_words("figure", figure_name(shown)), value_a = col_number("A", shown$value_a, format_figure(shown$value_a, shown$unit)),
    value_b = col_number("B", shown$value_b, format_figure(shown$value_b, shown$unit)),
    effect = col_number("change", shown$effect, paste(format_effect(shown$effect), unit, format_interval(shown$ci_low, shown$ci_high))),
    margin = col_number("margin", shown$margin, paste(format_effect(shown$margin, FALSE), unit)),
    p_holm = col_number("p", shown$p_holm, format_p),
    detection_limit = col_number("limit", shown$detection_limit, paste(format_effect(shown$detection_limit, FALSE), unit)),
    verdict = col_words("verdict", change_words(shown)), mark = change_words(shown)
  )
}
