# Two acceptance campaigns, before and after.

# Figure by figure and node by node: B against A with its interval, Holm's correction over all figures.
# `margin`: percent of A's value by which a figure may be worse (at least the floor of its kind), or NULL.
# Schuirmann (1987).
compare_acceptance <- function(a, b, margin = NULL, alpha = 0.01, power = 0.95) {
  sides <- lapply(list(a, b), function(side) {
    units <- acceptance_units(side)
    figures <- figure_table(units, alpha, watched_time(side))
    cbind(figures, id = figure_id(figures))
  })
  both <- intersect(sides[[1]]$id, sides[[2]]$id)
  if (length(both) == 0) {
    abort_data("the two campaigns have no figure in common: other nodes, other checks or other sizes")
  }
  rows <- change_rows(sides[[1]][match(both, sides[[1]]$id), ], sides[[2]][match(both, sides[[2]]$id), ],
                      margins_in_use(margin), alpha, power)
  rows$margin_verdict <- if (is.null(margin)) NA_character_ else rows$margin_verdict
  rows$verdict <- ifelse(is.na(rows$margin_verdict) | rows$verdict == "changed", rows$verdict,
                         ifelse(rows$margin_verdict == "pass" & rows$within, "same", "inconclusive"))
  verdict <- if (is.null(margin)) "pass" else worst_verdict(rows$margin_verdict)
  changed <- rows[rows$verdict == "changed", ]
  n <- as.list(table(factor(rows$margin_verdict, c("fail", "pass", "inconclusive"))))
  answer <- paste0(
    sprintf("%d of %d figures changed (%d for the worse)", nrow(changed), nrow(rows), sum(changed$worse)),
    if (!is.null(margin)) {
      sprintf("; by more than the margin of %g %% %d got worse, %d did not, %d cannot be told", margin,
              n$fail, n$pass, n$inconclusive)
    },
    "."
  )
  only <- setdiff(union(sides[[1]]$id, sides[[2]]$id), both)
  list(
    rows = rows[setdiff(names(rows), c("kind", "within"))],
    verdict = verdict,
    answer = answer,
    notes = c(
      if (length(only) > 0) {
        sprintf("%d figures are in one campaign only, and left out", length(only))
      },
      if (!is.null(margin)) {
        margins_note(margins_in_use(margin), unique(rows$kind))
      },
      sprintf("A: %s", a$notes),
      sprintf("B: %s", b$notes)
    ),
    alpha = alpha,
    margin = margin
  )
}

# Each figure of B against the same of A. Where nothing happened on either side, or nothing scattered, the
# ends of the two intervals bound the change.
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
    # of an exact bound, or what bursts that nobody saw could take: the ends of both; intervals that know
    # nothing stay unknown
    scaled <- function(x) ifelse(log_scale, log(pmax(x, 1e-300)), x)
    wide <- exact | a$metric %in% burst_metrics
    list(low = ifelse(wide, scaled(b_ends$low) - scaled(a_ends$high), estimate - reach),
         high = ifelse(wide, scaled(b_ends$high) - scaled(a_ends$low), estimate + reach))
  }
  sign <- ifelse(a$worse == "less", -1, 1)
  border <- margin_of(margins, margin_kinds(a$check, a$metric), a$value, ifelse(log_scale, "log", "linear"),
                      a$worse)
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
  data.frame(
    a[c(figure_key, "what", "entity", "unit")],
    kind = margin_kinds(a$check, a$metric),
    value_a = a$value,
    value_b = b$value,
    effect = shown(estimate),
    ci_low = shown(two$low),
    ci_high = shown(two$high),
    effect_unit = effect_unit_of(ifelse(log_scale, "log", "linear"), a$unit),
    margin = abs(shown(sign * border)),
    detection_limit = shown(limit),
    p_two_sided = p_two,
    p_holm = p_holm,
    worse = sign * estimate > 0,
    verdict = ifelse(changed %in% TRUE, "changed", "inconclusive"),
    margin_verdict = verdict,
    within = upper < border & -ifelse(sign > 0, one$low, -one$high) < border,
    n_a = a$n,
    n_b = b$n,
    reason = ifelse(
      exact,
      ifelse(is.na(upper), "its scatter is unknown",
             ifelse(nzchar(bound_words(b)), bound_words(b), "nothing happened on either side")),
      NA_character_
    ),
    row.names = NULL
  )
}

change_words <- function(rows) {
  words <- ifelse(rows$verdict == "changed", ifelse(rows$worse, "changed: worse", "changed: better"),
                  rows$verdict)
  ifelse(rows$margin_verdict %in% "fail", paste0(words, ", beyond the margin"), words)
}

format_changes <- function(comparison) {
  rows <- comparison$rows
  shown <- utils::head(changes_in_order(rows), max(most_failing, sum(rows$verdict == "changed")))
  c(
    comparison$answer,
    "",
    table_lines(changes_table(shown), indent = 0, width = Inf),
    if (nrow(rows) > nrow(shown)) {
      sprintf("  and %d more (--csv has all)", nrow(rows) - nrow(shown))
    },
    "",
    format_notes(comparison$notes)
  )
}

changes_in_order <- function(rows) {
  rows[
    order(!rows$margin_verdict %in% "fail", match(rows$verdict, c("changed", "inconclusive", "same")),
          rows$p_holm),
  ]
}

changes_view <- function(comparison, operands) {
  shown <- utils::head(changes_in_order(comparison$rows), 30)
  table <- changes_table(shown)
  table$columns <- table$columns[c("name", "value_b", "effect", "verdict")]
  table$columns$name <- col_words("figure", cut_middle(figure_name(shown), 40), folds = FALSE)
  table$columns$verdict <- col_words("verdict", sub("changed: ", "", sub(",.*", "", change_words(shown))))
  table$mark <- NULL
  new_view(comparison$answer, table, "change: B against A with its interval",
           notes = length(unique(comparison$notes)), command = all_command(operands, program = "compare"))
}

# Long names keep their ends, which tell them apart.
cut_middle <- function(text, most) {
  half <- (most - 3) %/% 2
  ifelse(nchar(text) > most, paste0(substr(text, 1, half), "...", substring(text, nchar(text) - half + 1)),
         text)
}

changes_table <- function(shown) {
  unit <- effect_words(shown$effect_unit)
  new_table(
    name = col_words("figure", figure_name(shown)),
    value_a = col_number("A", shown$value_a, format_figure(shown$value_a, shown$unit)),
    value_b = col_number("B", shown$value_b, format_figure(shown$value_b, shown$unit)),
    effect = col_number(
      "change", shown$effect,
      paste(format_effect(shown$effect), unit, format_interval(shown$ci_low, shown$ci_high))
    ),
    margin = col_number("margin", shown$margin, paste(format_effect(shown$margin, FALSE), unit)),
    p_holm = col_number("p", shown$p_holm, format_p),
    detection_limit = col_number("limit", shown$detection_limit,
                                 paste(format_effect(shown$detection_limit, FALSE), unit)),
    verdict = col_words("verdict", change_words(shown)),
    mark = change_words(shown)
  )
}

# Acceptance campaigns over nights; the campaign is the unit. A figure of a node changed at the split of its
# nights with the largest t of the means before and after, with Bonferroni's correction over splits and
# series; `since` is the first night after it, `effect` is positive where worse, `back` are nodes that
# failed in several nights.
acceptance_trend <- function(results, alpha = 0.01, power = 0.95) {
  results <- results[order(vapply(results, `[[`, "", "ended_utc"))]
  date <- vapply(results, `[[`, "", "ended_utc")
  nights <- data.frame(date = date,
                       campaign = vapply(results, function(r) paste(r$acceptance$dirs, collapse = " "), ""),
                       verdict = vapply(results, `[[`, "", "verdict"))
  values <- bind_rows(lapply(seq_along(results), function(i) cbind(date = date[i], results[[i]]$figures)))
  values$figure <- figure_quantity(values)
  values$figure <- paste0(values$figure,
                          ifelse(is.na(values$size), "", paste0(".", format_count(values$size))))
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
  series$verdict <- ifelse(
    moved, ifelse(series$score > 0, "worse", "better"),
    ifelse(series$bounded | series$inside & !is.na(limit) & limit < series$border, "steady", "inconclusive")
  )
  series$since <- ifelse(moved, series$since, "")
  series$effect <- shown(series$score)
  series$margin <- shown(series$border)
  series$detection_limit <- shown(limit)
  back <- nodes_back(results)
  result <- list(
    nights = nights,
    values = values[c("date", "name", "figure", "entity", "unit", "value", "ci_low", "ci_high")],
    series = series[c("name", "nights", "before", "after", "unit", "since", "effect", "effect_unit", "margin",
                      "detection_limit", "p", "verdict")],
    back = back,
    notes = grep(" is left out since ", unlist(lapply(results, `[[`, "notes")), value = TRUE, fixed = TRUE),
    alpha = alpha
  )
  last <- nights$verdict[nrow(nights)]
  result$verdict <- if (last == "fail" || any(series$verdict == "worse")) "fail" else
    if (last == "pass" && all(series$verdict %in% c("steady", "better"))) "pass" else "inconclusive"
  result$answer <- trend_answer(result)
  result
}

# One series over nights: the split with the largest t. `score`: on the scale of tests, more is worse; `se`
# of the difference between the last two nights and those before: the last night alone is no split.
# `bounded`: no night differs, and none could by the margin. `inside`: of every split with two nights on
# each side, and of this one, the interval lies within the margin (one-sided, 1 - alpha).
series_change <- function(part, margins, alpha = 0.01) {
  scale <- if (part$scale[1] == "log" && all(part$value > 0)) "log" else "linear"
  worse <- part$worse[1]
  y <- to_scale(part$value, scale, worse)
  n <- length(y)
  first <- stats::median(part$value)
  border <- margin_of(margins, margin_kinds(part$check[1], part$metric[1]), first, scale, worse)
  row <- data.frame(name = part$name[1], nights = n, before = NA_real_, after = NA_real_, unit = part$unit[1],
                    since = "", scale = scale, score = 0, border = border, se = NA_real_, df = NA_real_,
                    p = NA_real_, p_margin = NA_real_, bounded = FALSE, inside = FALSE,
                    effect_unit = effect_unit_of(scale, part$unit[1]))
  if (n < 4) return(row)
  each <- vapply(2:(n - 1), function(k) { # the first night after the split
    a <- y[seq_len(k - 1)]
    b <- y[k:n]
    spread <- sqrt((sum((a - mean(a))^2) + sum((b - mean(b))^2)) / (n - 2))
    c(mean(b) - mean(a), spread, spread * sqrt(1 / length(a) + 1 / length(b)))
  }, numeric(3))
  # Without scatter there is no test: a series that never moved is steady where the interval of each night
  # says so.
  scattered <- each[2, ] > 1e-12 * max(abs(y))
  if (!any(scattered)) {
    ends <- c(part$ci_low, part$ci_high)
    row$bounded <- length(ends) == 2 * n && length(unique(y)) == 1 &&
      isTRUE(all(
        abs(
          to_scale(
            pmax(
              ends,
              if (scale == "log") {
                1e-300
              } else {
                -Inf
              }
            ),
            scale,
            worse
          ) - rep(y, 2)
        ) < border
      ))
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
  row$p_margin <- min(
    1, 2 * stats::pt((abs(row$score) - border) / each[3, at], n - 2, lower.tail = FALSE) * ncol(each)
  )
  row
}

nodes_back <- function(results) {
  failed <- table(in_order(unlist(lapply(results, function(r) r$nodes$host[r$nodes$verdict == "fail"]))))
  failed <- failed[failed > 1]
  data.frame(host = as.character(names(failed)), failed = as.vector(failed),
             nights = rep(length(results), length(failed)))
}

trend_answer <- function(result) {
  s <- result$series
  last <- result$nights[nrow(result$nights), ]
  worse <- s[s$verdict == "worse", ]
  worse <- worse[order(worse$p), ]
  day <- function(x) substr(x, 1, 10)
  c(
    sprintf("%s over %s: the last, of %s, is %s.", toupper(result$verdict),
            counted(nrow(result$nights), "night"), day(last$date), last$verdict),
    if (nrow(worse) > 0) {
      paste0("Got worse: ", few_words(sprintf("%s since %s", worse$name, day(worse$since)), 4), ".")
    },
    if (nrow(result$back) > 0) {
      paste0(
        "Came back: ",
        few_words(
          sprintf("%s, failed in %d of %d nights", result$back$host, result$back$failed, result$back$nights),
          4
        ),
        "."
      )
    },
    if (any(s$verdict == "inconclusive")) {
      sprintf("%d of %d series would not have shown their margin%s.", sum(s$verdict == "inconclusive"),
              nrow(s), if (nrow(result$nights) < 4) ": it takes four nights" else "")
    }
  )
}

trend_table <- function(rows) {
  unit <- effect_words(rows$effect_unit)
  new_table(
    name = col_words("figure", cut_middle(rows$name, 40), folds = FALSE),
    before = col_number("before", rows$before, format_figure(rows$before, rows$unit)),
    after = col_number("after", rows$after, format_figure(rows$after, rows$unit)),
    since = col_words("since", ifelse(nzchar(rows$since), substr(rows$since, 1, 10), "-")),
    detection_limit = col_number("limit", rows$detection_limit,
                                 paste(format_effect(rows$detection_limit, FALSE), unit)),
    verdict = col_words("verdict", rows$verdict)
  )
}

trend_tables <- c("series", "nights", "values", "back")

ordered_series <- function(result) {
  result$series[
    order(match(result$series$verdict, c("worse", "better", "inconclusive", "steady")), result$series$p),
  ]
}

format_trend <- function(result) {
  c(result$answer, "", table_lines(trend_table(ordered_series(result)), indent = 0, width = Inf), "",
    format_notes(unique(result$notes)))
}

trend_view <- function(result, dirs) {
  new_view(result$answer, trend_table(utils::head(ordered_series(result), 12)),
           "limit: a change that these nights would have shown", notes = length(unique(result$notes)),
           command = all_command(dirs, "acceptance"))
}
