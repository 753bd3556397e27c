# Two acceptance campaigns, before and after.

#' Compare two acceptance campaigns
#'
#' Figure by figure and node by node: B against A, with interval; Holm's correction over all figures. With a margin, two one-sided tests
#' tell whether a figure stayed within it.
#'
#' @param a,b `nl_acceptance` from [read_acceptance()].
#' @param margin Percent (or percent points) within which a figure counts as the same, length 1, or NULL.
#' @param alpha Two-sided level of `changed`, one-sided of the margin, length 1.
#' @param power Power at the detection limit, length 1.
#' @return A list: `rows` (data frame, one row per figure and node or pair that both have: `check`, `variant`, `metric`, `size`, `entity`, `unit`, `value_a`, `value_b`,
#'   `effect` (percent, or in the unit where there is no logarithm) with `ci_low`, `ci_high`, `effect_unit`, `detection_limit`, `p_two_sided`, `p_holm`, `worse` (logical: B is),
#'   `verdict` (`changed`, `same`, `inconclusive`), `n_a`, `n_b`), `verdict` (with a margin: `pass` nothing got worse by more, `fail`, `inconclusive`), `answer`, `notes`,
#'   `alpha`, `margin`.
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
    split(units, in_order(paste(units$check, units$variant, units$metric, units$size, units$entity, sep = "\r")))
  })
  both <- intersect(names(sides[[1]]), names(sides[[2]]))
  if (length(both) == 0) abort_data("the two campaigns have no figure in common: other nodes, other checks or other sizes")
  rows <- bind_rows(lapply(both, function(key) change_of(sides[[1]][[key]], sides[[2]][[key]], alpha)))
  tested <- !is.na(rows$se)
  rows$p_holm <- stats::p.adjust(rows$p_two_sided, "holm")
  rows$detection_limit <- NA_real_
  if (any(tested)) rows$detection_limit[tested] <- detection_limit(rows$se[tested], rows$df[tested], alpha / 2 / sum(tested), power)
  rows$detection_limit <- ifelse(rows$effect_unit == "percent", 100 * expm1(rows$detection_limit), rows$detection_limit)
  bounded <- rows$effect_unit %in% c("percent", "points") & !is.null(margin)
  m <- margin %||% NA_real_
  inside <- bounded & tested & rows$bound_low > -m & rows$bound_high < m
  rows$verdict <- ifelse(inside, "same", ifelse(tested & rows$p_holm <= alpha, "changed", "inconclusive"))
  wrong_way <- ifelse(rows$direction == "more", rows$effect > 0, rows$effect < 0)
  rows$worse <- wrong_way & rows$effect != 0
  beyond <- bounded & rows$verdict == "changed" & rows$worse
  verdict <- if (any(beyond)) "fail" else if (any(bounded & rows$verdict == "inconclusive")) "inconclusive" else "pass"
  changed <- rows[rows$verdict == "changed", ]
  answer <- sprintf("%d of %d figures changed (%d for the worse)%s.", nrow(changed), nrow(rows), sum(changed$worse),
                    if (is.null(margin)) "" else sprintf(", %d stayed within %g %%, %d cannot be told", sum(rows$verdict == "same"), margin, sum(rows$verdict == "inconclusive")))
  only <- setdiff(union(names(sides[[1]]), names(sides[[2]])), both)
  list(rows = rows[c(figure_key, "what", "entity", "unit", "value_a", "value_b", "effect", "ci_low", "ci_high", "effect_unit", "detection_limit", "p_two_sided", "p_holm",
                     "worse", "verdict", "n_a", "n_b")], verdict = verdict, answer = answer,
       notes = c(if (length(only) > 0) sprintf("%d figures are in one campaign only, and left out", length(only)), sprintf("A: %s", a$notes),
                 sprintf("B: %s", b$notes)), alpha = alpha, margin = margin)
}

change_of <- function(a, b, alpha) {
  scale <- usable_scale(rbind(a, b))
  means <- lapply(list(a, b), function(part) mean_by_launch(to_scale(part$x, scale, "more"), part$launch))
  parts <- rbind(means[[1]]$parts, means[[2]]$parts)
  variance <- sum(parts$v)
  known <- all(is.na(c(means[[1]]$reason, means[[2]]$reason))) && variance > 0
  estimate <- means[[2]]$mean - means[[1]]$mean
  se <- if (known) sqrt(variance) else NA_real_
  df <- if (known) satterthwaite(parts) else NA_real_
  shown <- function(x) if (scale == "log") 100 * expm1(x) else x
  reach <- function(level) stats::qt(1 - level, df) * se
  cbind(a[1, c(figure_key, "what", "entity", "unit")], data.frame(
    direction = a$worse[1], value_a = from_scale(means[[1]]$mean, scale, "more"), value_b = from_scale(means[[2]]$mean, scale, "more"),
    effect = shown(estimate), ci_low = shown(estimate - reach(alpha / 2)), ci_high = shown(estimate + reach(alpha / 2)),
    bound_low = shown(estimate - reach(alpha)), bound_high = shown(estimate + reach(alpha)),
    effect_unit = if (scale == "log") "percent" else if (a$unit[1] == "percent") "points" else a$unit[1], se = se, df = df,
    p_two_sided = if (known) max(1e-300, 2 * stats::pt(-abs(estimate / se), df)) else NA_real_, n_a = means[[1]]$n, n_b = means[[2]]$n
  ), row.names = NULL)
}

# The changed ones first; not more than a reader looks through.
shown_changes <- function(rows) utils::head(changes_in_order(rows), max(most_failing, sum(rows$verdict == "changed")))

change_words <- function(rows) ifelse(rows$verdict == "changed", ifelse(rows$worse, "changed: worse", "changed: better"), rows$verdict)

format_changes <- function(comparison) {
  rows <- comparison$rows
  shown <- shown_changes(rows)
  c(comparison$answer, "", table_lines(changes_table(shown), indent = 0, width = Inf),
    if (nrow(rows) > nrow(shown)) sprintf("  and %d more (--csv has all)", nrow(rows) - nrow(shown)), "", format_notes(comparison$notes))
}

changes_in_order <- function(rows) rows[order(match(rows$verdict, c("changed", "inconclusive", "same")), rows$p_holm), ]

changes_view <- function(comparison, operands) {
  rows <- changes_in_order(comparison$rows)
  shown <- utils::head(rows, 30)
  word <- ifelse(shown$verdict == "changed", ifelse(shown$worse, "worse", "better"), shown$verdict)
  table <- new_table(
    name = col_words("figure", cut_middle(figure_name(shown), 40), folds = FALSE),
    value_b = col_number("B", shown$value_b, format_figure(shown$value_b, shown$unit)),
    effect = col_number("change", shown$effect, paste(format_effect(shown$effect), change_unit(shown), format_interval(shown$ci_low, shown$ci_high))),
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
    p_holm = col_number("p", shown$p_holm, format_p),
    detection_limit = col_number("limit", shown$detection_limit, paste(format_effect(shown$detection_limit, FALSE), unit)),
    verdict = col_words("verdict", change_words(shown))
  )
}

acceptance_change_json <- function(comparison) {
  to_json(list(schema = 1L, program = "noiselab-compare", version = package_version_text(), answer = comparison$answer, alpha = comparison$alpha,
               margin_percent = comparison$margin %||% NA_real_, verdict = comparison$verdict, estimates = acceptance_change_estimates(comparison), rows = comparison$rows, notes = as.character(unique(comparison$notes))),
          single = c("schema", "program", "version", "answer", "alpha", "margin_percent", "verdict"))
}
