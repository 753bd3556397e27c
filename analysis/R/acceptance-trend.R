# Acceptance over nights: what changed, when, and which nodes come back.

#' Follow acceptance campaigns over nights
#'
#' The campaign (a night) is the unit. Each figure of each node or pair is a series; where it changed is the split of its nights with the
#' largest t of the means before and after, with Bonferroni's correction over splits and series. A change names the first night after it.
#'
#' @param results List of `nl_acceptance_verdict`, one per campaign, each judged by itself.
#' @param alpha Level over all series, length 1.
#' @param power Power at the detection limit, length 1.
#' @return A list of class `nl_acceptance_trend`: `nights` (data frame: `date`, `campaign`, `verdict`), `values` (`date`, `name`, `figure`
#'   (the name without the node), `entity`, `unit`, `value`, `ci_low`, `ci_high`), `series` (one row per figure and entity: `name`, `nights`, `before`, `after`, `unit`, `since`
#'   (date of the change, or ""), `effect` with `effect_unit` (positive: worse), `margin`, `detection_limit`, `p`, `verdict` (`worse`,
#'   `better`, `steady`: a change by the margin would have been found, and none that is not excluded is as large, `inconclusive`)), `back` (nodes that failed in more than one night:
#'   `host`, `failed`, `nights`, `last`), `verdict` (`pass`: the last night passed, nothing got worse, and every series would have shown the
#'   margin), `answer`, `notes`, `alpha`.
#' @noRd
acceptance_trend <- function(results, alpha = 0.01, power = 0.95) {
  results <- results[order(vapply(results, `[[`, "", "ended_utc"))]
  date <- vapply(results, `[[`, "", "ended_utc")
  nights <- data.frame(date = date, campaign = vapply(results, function(r) paste(r$acceptance$dirs, collapse = " "), ""),
                       verdict = vapply(results, `[[`, "", "verdict"))
  values <- bind_rows(lapply(seq_along(results), function(i) cbind(date = date[i], results[[i]]$figures)))
  values$figure <- figure_quantity(values)
  values$figure <- paste0(values$figure, ifelse(is.na(values$size), "", paste0(".", format_count(values$size))))
  parts <- split(values, in_order(values$name))
  series <- bind_rows(lapply(parts, series_change, results[[1]]$margins, alpha))
  n <- max(1, sum(!is.na(series$p)))
  series$p <- pmin(1, series$p * n)
  shown <- function(x) ifelse(series$scale == "log", 100 * expm1(x), x)
  limit <- rep(NA_real_, nrow(series))
  known <- !is.na(series$se) & series$se > 0
  # two-sided, over all splits and series, of what the last two nights show
  for (splits in unique(series$df[known])) {
    at <- known & series$df %in% splits
    limit[at] <- detection_limit(series$se[at], splits, alpha / n / 2 / splits, power)
  }
  # beyond the margin, not only above nothing
  moved <- !is.na(series$p_margin) & series$p_margin * n <= alpha
  series$verdict <- ifelse(moved, ifelse(series$score > 0, "worse", "better"),
                           ifelse(series$bounded | series$inside & !is.na(limit) & limit < series$border, "steady", "inconclusive"))
  series$since <- ifelse(moved, series$since, "")
  series$effect <- shown(series$score)
  series$margin <- shown(series$border)
  series$detection_limit <- shown(limit)
  back <- nodes_back(results, date)
  result <- list(nights = nights, values = values[c("date", "name", "figure", "entity", "unit", "value", "ci_low", "ci_high")],
                 series = series[c("name", "nights", "before", "after", "unit", "since", "effect", "effect_unit", "margin",
                                   "detection_limit", "p", "verdict")], back = back,
                 notes = grep(" is left out since ", unlist(lapply(results, `[[`, "notes")), value = TRUE, fixed = TRUE), alpha = alpha)
  last <- nights$verdict[nrow(nights)]
  result$verdict <- if (last == "fail" || any(series$verdict == "worse")) "fail" else
    if (last == "pass" && all(series$verdict %in% c("steady", "better"))) "pass" else "inconclusive"
  result$answer <- trend_answer(result)
  structure(result, class = "nl_acceptance_trend")
}

# One series over nights: the split with the largest t. `score`: on the scale of tests, more is worse; `se` of the difference between the
# last two nights and those before: the last night alone is no split. `bounded`: no night differs, and none could by the margin. `inside`: of
# every split with two nights on each side, and of this one, the interval lies within the margin (one-sided, 1 - alpha).
series_change <- function(part, margins, alpha = 0.01) {
  scale <- if (part$scale[1] == "log" && all(part$value > 0)) "log" else "linear"
  worse <- part$worse[1]
  y <- to_scale(part$value, scale, worse)
  n <- length(y)
  first <- stats::median(part$value)
  border <- margin_of(margins, margin_kinds(part$check[1], part$metric[1], part$unit[1]), first, scale, worse)
  row <- data.frame(name = part$name[1], nights = n, before = NA_real_, after = NA_real_, unit = part$unit[1], since = "", scale = scale,
                    score = 0, border = border, se = NA_real_, df = NA_real_,
                    p = NA_real_, p_margin = NA_real_, bounded = FALSE, inside = FALSE, effect_unit = if (scale == "log") "percent" else if (part$unit[1] == "percent") "points" else part$unit[1])
  if (n < 4) return(row)
  each <- vapply(2:(n - 1), function(k) { # the first night after the split
    a <- y[seq_len(k - 1)]
    b <- y[k:n]
    spread <- sqrt((sum((a - mean(a))^2) + sum((b - mean(b))^2)) / (n - 2))
    c(mean(b) - mean(a), spread, spread * sqrt(1 / length(a) + 1 / length(b)))
  }, numeric(3))
  # Without scatter there is no test: a series that never moved is steady where the interval of each night says so.
  scattered <- each[2, ] > 1e-12 * max(abs(y))
  if (!any(scattered)) {
    ends <- c(part$ci_low, part$ci_high)
    row$bounded <- length(ends) == 2 * n && length(unique(y)) == 1 && isTRUE(all(abs(to_scale(pmax(ends, if (scale == "log") 1e-300 else
        -Inf), scale, worse) - rep(y, 2)) < border))
    return(row)
  }
  t <- ifelse(scattered, each[1, ] / each[3, ], NA_real_)
  at <- which.max(abs(t))
  asked <- c(FALSE, rep(TRUE, ncol(each) - 1))
  asked[at] <- TRUE
  row$inside <- all((abs(each[1, ]) + stats::qt(1 - alpha, n - 2) * each[3, ])[asked] < border)
  row$score <- each[1, at]
  row$since <- part$date[at + 1]
  row$before <- from_scale(mean(y[seq_len(at)]), scale, worse)
  row$after <- from_scale(mean(y[(at + 1):n]), scale, worse)
  row$se <- each[2, at] * sqrt(1 / 2 + 1 / (n - 2))
  row$df <- n - 2
  row$p <- min(1, 2 * stats::pt(-abs(t[at]), n - 2) * ncol(each))
  row$p_margin <- min(1, 2 * stats::pt((abs(row$score) - border) / each[3, at], n - 2, lower.tail = FALSE) * ncol(each))
  row
}

nodes_back <- function(results, date) {
  bad <- bind_rows(lapply(seq_along(results), function(i) {
    host <- results[[i]]$nodes$host[results[[i]]$nodes$verdict == "fail"]
    data.frame(host = host, date = rep(date[i], length(host)))
  }))
  if (NROW(bad) == 0) return(data.frame(host = character(), failed = integer(), nights = integer(), last = character()))
  got <- bind_rows(lapply(split(bad, in_order(bad$host)), function(b) data.frame(host = b$host[1], failed = nrow(b),
      nights = length(results), last = max(b$date))))
  got[got$failed > 1, ]
}

trend_answer <- function(result) {
  s <- result$series
  last <- result$nights[nrow(result$nights), ]
  worse <- s[s$verdict == "worse", ]
  worse <- worse[order(worse$p), ]
  day <- function(x) substr(x, 1, 10)
  c(sprintf("%s over %s: the last, of %s, is %s.", toupper(result$verdict), counted(nrow(result$nights), "night"), day(last$date),
            last$verdict),
    if (nrow(worse) > 0) paste0("Got worse: ", few_words(sprintf("%s since %s", worse$name, day(worse$since)), 4), "."),
    if (nrow(result$back) > 0) paste0("Came back: ", few_words(sprintf("%s, failed in %d of %d nights", result$back$host,
        result$back$failed, result$back$nights), 4), "."),
    if (any(s$verdict == "inconclusive")) sprintf("%d of %d series would not have shown their margin%s.", sum(s$verdict == "inconclusive"), nrow(s), if (nrow(result$nights) < 4) ": it takes four nights" else ""))
}

trend_table <- function(rows) {
  unit <- effect_words(rows$effect_unit)
  new_table(
    name = col_words("figure", cut_middle(rows$name, 40), folds = FALSE),
    before = col_number("before", rows$before, format_figure(rows$before, rows$unit)),
    after = col_number("after", rows$after, format_figure(rows$after, rows$unit)),
    since = col_words("since", ifelse(nzchar(rows$since), substr(rows$since, 1, 10), "-")),
    detection_limit = col_number("limit", rows$detection_limit, paste(format_effect(rows$detection_limit, FALSE), unit)),
    verdict = col_words("verdict", rows$verdict)
  )
}

trend_tables <- c("series", "nights", "values", "back")

ordered_series <- function(result) {
  result$series[order(match(result$series$verdict, c("worse", "better", "inconclusive", "steady")), result$series$p), ]
}

format_trend <- function(result) {
  c(result$answer, "", table_lines(trend_table(ordered_series(result)), indent = 0, width = Inf), "", format_notes(unique(result$notes)))
}

trend_view <- function(result, dirs) {
  new_view(result$answer, trend_table(utils::head(ordered_series(result), 12)), "limit: a change that these nights would have shown",
           notes = length(unique(result$notes)), command = all_command(dirs, "acceptance"))
}
