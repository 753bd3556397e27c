# Comparing values that others measured, one a run: the exact permutation test of ranks, and the interval
# that belongs to it.

exact_runs <- 60    # up to so many of both sides all orders are counted, of more some are drawn
drawn_orders <- 19999

# The smallest one-sided p that runs can have: all of one side beyond all of the other. Of pairs: all
# differences of one sign.
smallest_p <- function(n_a, n_b) 1 / choose(n_a + n_b, n_b)
smallest_p_of_pairs <- function(n) 0.5^n

# One-sided p of "y tends to be larger" (`greater`) and "smaller" (`less`): by the sum of the ranks of y,
# ties at their mean rank, over all ways to call so many of all runs y, each as likely as the other. `se`:
# of p, where orders were drawn (seed 1); 0: exact. Pitman, E. J. G. (1937) Supplement to the J. R. Statist.
# Soc. 4, 119-130; Wilcoxon, F. (1945) Biometrics Bulletin 1, 80-83.
rank_p <- function(x, y) {
  ranks <- round(2 * rank(c(x, y)))
  sum_y <- sum(utils::tail(ranks, length(y)))
  if (length(ranks) <= exact_runs) {
    ways <- rank_sum_ways(ranks, length(y))
    at <- seq_along(ways) - 1
    return(list(greater = sum(ways[at >= sum_y]), less = sum(ways[at <= sum_y]), se = 0))
  }
  drawn <- with_seed(
    1, vapply(seq_len(drawn_orders), function(i) sum(ranks[sample.int(length(ranks), length(y))]), 0)
  )
  p <- (1 + c(sum(drawn >= sum_y), sum(drawn <= sum_y))) / (1 + drawn_orders)
  list(greater = p[1], less = p[2], se = sqrt(min(p) * (1 - min(p)) / drawn_orders))
}

# The probability of each sum (from 0 on) of n of these whole numbers, all choices as likely.
rank_sum_ways <- function(ranks, n) {
  most <- sum(utils::tail(sort(ranks), n))
  ways <- matrix(0, n + 1, most + 1)
  ways[1, 1] <- 1
  for (r in ranks) {
    kept <- seq_len(most + 1 - r)
    if (r <= most) ways[-1, r + kept] <- ways[-1, r + kept] + ways[-(n + 1), kept]
  }
  ways[n + 1, ] / choose(length(ranks), n)
}

# Two-sided p of the difference of means under the same permutations, for who pays for rare long runs; not
# what the verdict rests on.
means_p <- function(x, y) {
  all <- c(x, y)
  seen <- abs(mean(y) - mean(x))
  n <- length(y)
  difference <- function(sum_y) {
    abs(sum_y / n - (sum(all) - sum_y) / length(x)) >= seen - 1e-12 * max(abs(all))
  }
  if (choose(length(all), n) <= drawn_orders) {
    return(list(p = mean(difference(utils::combn(length(all), n, function(i) sum(all[i])))), se = 0))
  }
  drawn <- with_seed(1, vapply(seq_len(drawn_orders), function(i) sum(all[sample.int(length(all), n)]), 0))
  p <- (1 + sum(difference(drawn))) / (1 + drawn_orders)
  list(p = p, se = sqrt(p * (1 - p) / drawn_orders))
}

# Which of the differences of all pairs, from the smallest on, is the lower end of an interval that leaves
# out at most `alpha` on that side; 0: so few runs have none. Lehmann, E. L. (1963) Ann. Math. Statist. 34,
# 1507-1512.
end_of_interval <- function(n_a, n_b, alpha) {
  if (max(n_a, n_b) > 50) {
    return(max(0, floor(n_a * n_b / 2 - stats::qnorm(1 - alpha) * sqrt(n_a * n_b * (n_a + n_b + 1) / 12))))
  }
  sum(stats::pwilcox(0:(n_a * n_b), n_b, n_a) <= alpha * (1 + 1e-9))
}

# The shift, in standard deviations of one run, that the one-sided test finds with probability `power`; Inf:
# none. Up to 30 runs a side by 2,000 draws (seed 1) of normal runs, of more by the test's efficiency for
# them (3 / pi).
limits_known <- new.env(parent = emptyenv())
limit_in_sd <- function(n_a, n_b, alpha, power) {
  name <- paste(n_a, n_b, alpha, power)
  limits_known[[name]] <- limits_known[[name]] %||% shift_found(n_a, n_b, alpha, power)
  limits_known[[name]]
}

shift_found <- function(n_a, n_b, alpha, power) {
  k <- end_of_interval(n_a, n_b, alpha)
  if (k == 0) return(Inf)
  if (max(n_a, n_b) > 30) {
    return((stats::qnorm(1 - alpha) + stats::qnorm(power)) * sqrt((1 / n_a + 1 / n_b) * pi / 3))
  }
  lowest <- with_seed(1, vapply(seq_len(2000), function(i) {
    sort(outer(stats::rnorm(n_b), stats::rnorm(n_a), "-"), partial = k)[k]
  }, 0))
  unname(stats::quantile(-lowest, power))
}

most_needed <- 10000

# How many runs of each side the one-sided test needs to find a shift of `distance` with probability
# `power`, runs scattering by `sd`; never fewer than can be below alpha at all. NA: more than `most_needed`.
runs_needed <- function(distance, sd, alpha, power) {
  n <- 2
  while (smallest_p(n, n) > alpha * (1 + 1e-9)) n <- n + 1
  enough <- function(n) isTRUE(limit_in_sd(n, n, alpha, power) * sd <= abs(distance))
  if (is.na(sd) || enough(n)) return(n)
  low <- n
  while (!enough(n)) {
    if (n >= most_needed) return(NA_real_)
    low <- n
    n <- min(most_needed, 2 * n)
  }
  while (n - low > 1) {
    middle <- (low + n) %/% 2
    if (enough(middle)) n <- middle else low <- middle
  }
  n
}

# ---- two sides ---------------------------------------------------------------------------------

# B against A, each of read_values(). `better`: "lower" or "higher" values, NULL: higher where the unit is a
# rate (.../s). Two-sided at `alpha`; of the margin (percent) one-sided. `rows`, one for each measurement
# that both have: `what`, `unit`, `n_a`, `n_b`, `median_a`, `median_b`, `scale` (`ratio`, or `difference`
# where a value is 0 or below), `effect` (the Hodges-Lehmann estimate of the shift: percent of a ratio, else
# in the unit) with `ci_low`, `ci_high` at `confidence` (1 - alpha, or the highest that so few runs have),
# `p_higher`, `p_lower` (one-sided), `p_two_sided`, `p_se`, `p_holm` (over the rows), `p_means`,
# `p_means_se`, `smallest_p_one_sided`, `detection_limit` (percent or unit, Inf: none), `runs_needed` (of
# each side), `better`, `verdict`, `familywise`, `margin_verdict`, `reason`.
compare_values <- function(a, b, margin_percent = NULL, alpha = 0.01, power = 0.95, better = NULL) {
  sides <- same_measurements(a, b)
  what <- intersect(unique(sides$a$what), unique(sides$b$what))
  one <- lapply(what, function(w) list(a = sides$a[sides$a$what == w, ], b = sides$b[sides$b$what == w, ]))
  if (all(vapply(one, function(m) nrow(m$a) == 1 && nrow(m$b) == 1, TRUE))) {
    n <- runs_needed(Inf, NA_real_, alpha / 2 / length(what), power)
    abort_data("one run of A and one of B", if (length(what) > 1) " of each measurement",
               ": no verdict, as one run says nothing of how ", "much runs scatter; at alpha ", format(alpha),
               " at least ", n, " runs of each are needed")
  }
  rows <- bind_rows(lapply(
    one, value_row,
    list(alpha = alpha, power = power, margin = margin_percent, better = better, n_rows = length(what))
  ))
  rows <- decide_values(rows, alpha, margin_percent)
  margin <- rows$margin_verdict
  answer <- if (is.null(margin_percent)) {
    NA_character_
  } else if (any(margin == "fail")) {
    "fail"
  } else if (all(margin == "pass")) {
    "pass"
  } else {
    "inconclusive"
  }
  structure(
    list(
      rows = rows,
      answer = answer,
      kind = a$kind,
      margin_percent = margin_percent,
      alpha = alpha,
      power = power,
      notes = c(a$notes, b$notes, sides$notes),
      sides = data.frame(side = c("A", "B"), file = c(a$file, b$file), kind = c(a$kind, b$kind),
                         values = c(nrow(a$rows), nrow(b$rows)))
    ),
    class = "nl_values"
  )
}

# The rows of both sides, of the same kind, names and units, or refused.
same_measurements <- function(a, b) {
  at <- function(side, line) paste0(side$file, if (!is.na(line)) paste0(":", line))
  if (a$kind != b$kind) {
    abort_usage("'", a$file, "' is ", values_kinds[[a$kind]], " and '", b$file, "' is ",
                values_kinds[[b$kind]], ": nothing to compare")
  }
  if (!is.null(a$column) && !is.null(b$column) && a$column != b$column) {
    abort_usage(at(b, b$line), ": the column is '", printable(b$column), "', that of ", at(a, a$line),
                " is '", printable(a$column), "': nothing to compare")
  }
  names <- list(a = unique(a$rows$what), b = unique(b$rows$what))
  # Two commands, or two versions of one, may be what is compared.
  notes <- NULL
  if (a$kind == "hyperfine" && lengths(names)[1] == 1 && lengths(names)[2] == 1 && names$a != names$b) {
    notes <- sprintf("A is '%s', B is '%s'", names$a, names$b)
    a$rows$what <- b$rows$what <- ""
  } else {
    if (length(intersect(names$a, names$b)) == 0) {
      abort_usage("A and B have nothing in common: ", a$file, " has ", few_words(names$a), "; ", b$file,
                  " has ", few_words(names$b))
    }
    only <- list(A = setdiff(names$a, names$b), B = setdiff(names$b, names$a))
    notes <- unlist(lapply(names(only), function(side) {
      if (length(only[[side]]) > 0) sprintf("only in %s: %s", side, few_words(only[[side]], 6))
    }))
  }
  for (side in list(a, b)) {
    first <- match(side$rows$what, a$rows$what)
    odd <- which(!is.na(first) & side$rows$unit != a$rows$unit[first])[1]
    if (!is.na(odd)) {
      abort_usage(at(side, side$rows$line[odd]), ": unit '", side$rows$unit[odd], "', where ",
                  at(a, a$rows$line[first[odd]]), " has '", a$rows$unit[first[odd]], "'")
    }
  }
  list(a = a$rows, b = b$rows, notes = notes)
}

value_row <- function(m, settings) {
  ratio <- all(c(m$a$value, m$b$value) > 0)
  x <- if (ratio) log(m$a$value) else m$a$value
  y <- if (ratio) log(m$b$value) else m$b$value
  n_a <- length(x)
  n_b <- length(y)
  effect <- function(shift) if (ratio) 100 * expm1(shift) else shift
  p <- rank_p(x, y)
  means <- means_p(m$a$value, m$b$value)
  differences <- sort(outer(y, x, "-"))
  k <- end_of_interval(n_a, n_b, settings$alpha / 2)
  confidence <- if (k == 0) 1 - 2 * smallest_p(n_a, n_b) else 1 - settings$alpha
  k <- max(1, k)
  sd <- if (n_a + n_b > 2) sqrt((sum((x - mean(x))^2) + sum((y - mean(y))^2)) / (n_a + n_b - 2)) else NA_real_
  if (isTRUE(sd <= 1e-12 * max(abs(c(x, y))))) sd <- NA_real_
  better <- settings$better %||% if (grepl("/s$", m$a$unit[1])) "higher" else "lower"
  limit <- limit_in_sd(n_a, n_b, settings$alpha / 2 / settings$n_rows, settings$power)
  estimate <- stats::median(differences)
  margin <- value_margin(x, y, ratio, better, estimate, sd, settings)
  data.frame(what = m$a$what[1], unit = m$a$unit[1], n_a = n_a, n_b = n_b,
             median_a = stats::median(m$a$value), median_b = stats::median(m$b$value),
             scale = if (ratio) "ratio" else "difference", effect = effect(estimate),
             ci_low = effect(differences[k]), ci_high = effect(rev(differences)[k]), confidence = confidence,
             p_higher = p$greater, p_lower = p$less, p_two_sided = min(1, 2 * min(p$greater, p$less)),
             p_se = p$se, p_means = means$p, p_means_se = means$se,
             smallest_p_one_sided = smallest_p(n_a, n_b),
             detection_limit = if (is.infinite(limit)) Inf else effect(limit * sd),
             runs_needed = runs_needed(estimate, sd, settings$alpha / 2 / settings$n_rows, settings$power),
             better = better, margin)
}

# One-sided p of "B is worse by more than the margin" and of "it is not", and the runs of each side that
# would decide.
value_margin <- function(x, y, ratio, better, estimate, sd, settings) {
  none <- data.frame(p_worse_than_margin = NA_real_, p_within_margin = NA_real_,
                     runs_needed_margin = NA_real_)
  if (is.null(settings$margin)) return(none)
  if (!ratio) {
    abort_usage("--margin is a percentage, and values of 0 and below have no ratio: compare without it")
  }
  border <- log1p(c(lower = 1, higher = -1)[[better]] * settings$margin / 100)
  p <- rank_p(x, y - border)
  worse <- c(lower = "greater", higher = "less")[[better]]
  none$p_worse_than_margin <- p[[worse]]
  none$p_within_margin <- p[[setdiff(c("greater", "less"), worse)]]
  none$runs_needed_margin <- runs_needed(estimate - border, sd, settings$alpha, settings$power)
  none
}

decide_values <- function(rows, alpha, margin) {
  rows$p_holm <- stats::p.adjust(rows$p_two_sided, "holm")
  one <- rows$n_a == 1 & rows$n_b == 1
  few <- 2 * rows$smallest_p_one_sided > alpha * (1 + 1e-9)
  # Where values tie, the interval and the test must agree.
  apart <- rows$ci_low > 0 | rows$ci_high < 0
  found <- !few & apart & rows$p_two_sided <= alpha * (1 + 1e-9)
  rows$verdict <- ifelse(few, "inconclusive",
                         ifelse(found, ifelse(rows$effect > 0, "higher", "lower"), no_difference))
  rows$familywise <- ifelse(found, rows$p_holm <= alpha * (1 + 1e-9), NA)
  rows$margin_verdict <- if (is.null(margin)) NA_character_ else {
    ifelse(stats::p.adjust(rows$p_worse_than_margin, "holm") <= alpha, "fail",
           ifelse(rows$p_within_margin <= alpha, "pass", "inconclusive"))
  }
  rows$reason <- ifelse(
    one,
    "one run each says nothing of how much runs scatter",
    ifelse(
      few,
      sprintf(
        "%d and %d runs: one-sided p is never below 1/%s%s, and each side is tested at %s",
        rows$n_a,
        rows$n_b,
        format_count(1 / rows$smallest_p_one_sided),
        ifelse(rows$n_a == rows$n_b,
               sprintf(" (1/%s by signs of pairs)", format_count(1 / smallest_p_of_pairs(rows$n_a))), ""),
        format(alpha / 2)
      ),
      NA
    )
  )
  rows
}

# ---- output ------------------------------------------------------------------------------------

# A change for people: percent, and the ratio where it is a large one.
shift_words <- function(row) {
  if (row$scale == "difference") {
    return(sprintf("by %s%s", plain(abs(row$effect)), ifelse(nzchar(row$unit), paste0(" ", row$unit), "")))
  }
  sprintf(
    "by %s %%%s",
    plain(abs(row$effect)),
    if (abs(log1p(row$effect / 100)) > log(1.5)) {
      sprintf(" (%.3g times A)", 1 + row$effect / 100)
    } else {
      ""
    }
  )
}

values_interval_words <- function(row) {
  unit <- if (row$scale == "ratio") " %" else ""
  sprintf("%.3g %% interval of the change %s to %s%s", 100 * row$confidence, format_effect(row$ci_low),
          format_effect(row$ci_high), unit)
}

limit_words <- function(row) {
  if (!is.finite(row$detection_limit)) return("-")
  paste0(plain(row$detection_limit), if (row$scale == "ratio") " %")
}

one_sided_words <- function(row) {
  p <- min(row$p_higher, row$p_lower)
  ways <- round(1 / p)
  drawn <- if (row$p_se > 0) {
    sprintf(" +- %.1g, by %s drawn orders", row$p_se, format_count(drawn_orders))
  } else {
    ""
  }
  if (row$p_se == 0 && abs(p * ways - 1) < 1e-9 && ways < 1e6) {
    sprintf("1/%d = %s", ways, format_p(p))
  } else {
    paste0(format_p(p), drawn)
  }
}

values_sentences <- function(comparison) {
  rows <- comparison$rows
  of <- function(row) if (nrow(rows) > 1) paste0(row$what, ": ") else ""
  words <- function(row) {
    way <- if (row$effect >= 0) "higher" else "lower"
    if (row$verdict == "inconclusive") {
      return(c(
        sprintf("%sNo verdict at alpha %g. %s.", of(row), comparison$alpha, upper_first(row$reason)),
        sprintf("In these runs B is %s than A %s, one-sided p = %s; %s, the highest that so few runs have.",
                way, shift_words(row), one_sided_words(row), values_interval_words(row))
      ))
    }
    if (row$verdict == no_difference) {
      return(sprintf(
        paste0("%sNo difference was found (p = %s, both sides); %s. A change of %s would have been detected ",
               "with probability %g."),
        of(row),
        format_p(row$p_two_sided),
        values_interval_words(row),
        limit_words(row),
        comparison$power
      ))
    }
    sprintf(
      "%sB is %s than A %s; %s; one-sided p = %s%s.",
      of(row),
      row$verdict,
      shift_words(row),
      values_interval_words(row),
      one_sided_words(row),
      if (isFALSE(row$familywise)) {
        sprintf(", which is not below %g with all %d rows counted together", comparison$alpha, nrow(rows))
      } else {
        ""
      }
    )
  }
  order <- order(match(rows$verdict, c("higher", "lower", no_difference, "inconclusive")), rows$p_two_sided)
  said <- utils::head(order, if (nrow(rows) > 1) 2 else 1)
  rest <- table(factor(rows$verdict[setdiff(order, said)],
                       c("higher", "lower", no_difference, "inconclusive")))
  rest <- rest[rest > 0]
  c(if (!is.na(comparison$answer)) values_margin_words(comparison),
    unlist(lapply(said, function(i) words(rows[i, ]))), needed_words(comparison, rows[said[1], ]),
    if (length(rest) > 0) sprintf("The other rows: %s.", paste(rest, names(rest), collapse = ", ")))
}

values_margin_words <- function(comparison) {
  rows <- comparison$rows
  sprintf(
    "Margin of %g %% (B %s by more is worse): %s%s.",
    comparison$margin_percent,
    paste(unique(c(lower = "higher", higher = "lower")[rows$better]), collapse = " or "),
    comparison$answer,
    if (comparison$answer != "inconclusive") {
      ""
    } else {
      open <- rows[rows$margin_verdict == "inconclusive", ]
      n <- max(open$runs_needed_margin)
      if (is.na(n)) {
        "; the change is too close to the margin for any number of runs up to 10,000"
      } else {
        sprintf("; %d new runs of each would decide", n)
      }
    }
  )
}

# How many runs would decide, where these did not.
needed_words <- function(comparison, row) {
  if (row$verdict != "inconclusive") return(NULL)
  n <- row$runs_needed
  if (is.na(n)) {
    return(sprintf("More than %d runs of each would be needed, if the change is what it is here.",
                   most_needed))
  }
  sprintf(
    paste(
      "%d new runs of each would decide with probability %g, if change and scatter are what they are here;",
      "fix their number before, and do not add to these until p is small."
    ),
    n,
    comparison$power
  )
}

values_table <- function(comparison) {
  rows <- comparison$rows
  unit <- ifelse(rows$scale == "ratio", " %", "")
  each <- function(f) vapply(seq_len(nrow(rows)), function(i) f(rows[i, ]), "")
  new_table(
    what = if (nrow(rows) > 1) col_words("", shortened(rows$what)),
    unit = if (any(nzchar(rows$unit))) col_words("unit", rows$unit),
    n_a = col_words("runs", sprintf("%d, %d", rows$n_a, rows$n_b)),
    median_a = col_number("A", rows$median_a, sprintf("%.4g", rows$median_a)),
    median_b = col_number("B", rows$median_b, sprintf("%.4g", rows$median_b)),
    effect = col_number("change", rows$effect, paste0(format_effect(rows$effect), unit)),
    ci_low = col_number("interval", rows$ci_low, format_interval(rows$ci_low, rows$ci_high)),
    confidence = if (length(unique(rows$confidence)) > 1) {
      col_number("of", rows$confidence, sprintf("%.3g %%", 100 * rows$confidence))
    },
    p_two_sided = col_number("p", rows$p_two_sided, format_p),
    detection_limit = col_number("limit", rows$detection_limit, each(limit_words)),
    verdict = col_words(
      "verdict",
      paste0(ifelse(rows$verdict == no_difference, "no difference", rows$verdict),
             ifelse(rows$familywise %in% FALSE, " (alone)", ""))
    ),
    margin = if (!is.na(comparison$answer)) {
      col_words(sprintf("margin %g %%", comparison$margin_percent), rows$margin_verdict)
    },
    mark = rows$verdict
  )
}

values_view <- function(comparison, operands) {
  rows <- comparison$rows
  differs <- which(rows$p_means <= comparison$alpha & rows$verdict == no_difference)
  new_view(
    values_sentences(comparison),
    values_table(comparison),
    "A, B: medians; change: of B against A; p: both sides; limit: the change that would be detected",
    c(
      if (length(differs) > 0) {
        sprintf(
          "means differ (p = %s), and most runs do not: a few runs are far off%s; look at them one by one",
          format_p(rows$p_means[differs[1]]),
          if (nrow(rows) > 1) {
            paste0(" (", few_words(rows$what[differs], 3), ")")
          } else {
            ""
          }
        )
      },
      comparison$notes
    ),
    0,
    all_command(operands, program = "compare")
  )
}

values_parts <- function(comparison) {
  rows <- comparison$rows
  list(new_part(
    "how it was tested",
    new_table(what = col_words("", ifelse(nzchar(rows$what), shortened(rows$what), "values")),
              p_higher = col_number("p higher", rows$p_higher, format_p),
              p_lower = col_number("p lower", rows$p_lower, format_p),
              p_holm = col_number("p Holm", rows$p_holm, format_p),
              p_se = col_number("se of p", rows$p_se, plain),
              p_means = col_number("p means", rows$p_means, format_p),
              smallest = col_number("never below", rows$smallest_p_one_sided, format_p),
              runs_needed = col_number("runs needed", rows$runs_needed)),
    paste(
      "B against A, alpha",
      format(comparison$alpha),
      "two-sided: permutation test of the ranks, all orders of up to",
      exact_runs,
      "runs counted, of more",
      format_count(drawn_orders),
      paste0("drawn (seed 1); change and interval: the median of all pairs' differences (of logs where all ",
             "values are above 0), and the ends"),
      paste0("that the test does not refuse (Hodges and Lehmann). p means: of the difference of means under ",
             "the same permutations. Never below: the smallest one-sided p"),
      "that so many runs can have. Runs needed: of each side, for this change and scatter, by normal runs"
    ),
    c(
      sprintf("%s: %s, %s", comparison$sides$side, comparison$sides$file,
              vapply(comparison$sides$values, counted, "", "value"))
    )
  ))
}
