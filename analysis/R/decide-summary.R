# Judging published tables of mean, standard deviation and number of runs.

summary_keys <- c("table", "config", "op", "bytes")

# A CSV file with these columns, `level_percent` of one CPU (0 = clean), SDs and means in seconds; others
# are ignored, lines that start with `#`, too. Adds `mean_half_unit_s`, `sd_half_unit_s`: half a unit of the
# last digit printed (without a point the last digit is taken for the last one known), NA where the number
# is not decimal. Errors name file and line.
read_summary <- function(file) {
  if (!file.exists(file) || dir.exists(file)) abort_usage("'", file, "' is not a file")
  lines <- read_text_lines(file)
  at <- which(!grepl("^\\s*(#|$)", lines, useBytes = TRUE))
  if (length(at) < 2) abort_data(file, " has no rows: give a table with a header and a row per level")
  cells <- strsplit(paste0(lines[at], ",\u0001"), ",", fixed = TRUE)
  width <- lengths(cells) - 1
  header <- stripped(cells[[1]][seq_len(width[1])])
  missing <- setdiff(summary_rules$name, header)
  if (length(missing) > 0) abort_damaged(file, at[1], "column '", missing[1], "' is missing")
  bad <- which(width != width[1])
  if (length(bad) > 0) {
    abort_damaged(file, at[bad[1]], "has ", width[bad[1]], " fields, the header has ", width[1])
  }
  text <- lapply(stats::setNames(nm = summary_rules$name), function(name) {
    vapply(cells[-1], function(cell) stripped(cell[match(name, header)]), "")
  })
  table <- lapply(summary_rules$name, function(name) {
    summary_column(text[[name]], summary_rules[summary_rules$name == name, ], file, at[-1])
  })
  table <- as.data.frame(stats::setNames(table, summary_rules$name))
  table$mean_half_unit_s <- half_unit(text$mean_s)
  table$sd_half_unit_s <- half_unit(text$sd_s)
  check_summary(table, file, at[-1])
}

summary_column <- function(x, rule, file, line) {
  refuse <- function(i, wanted) {
    abort_damaged(file, line[i], rule$name, " is '", shortened(printable(x[i])), "', wanted ", wanted)
  }
  if (rule$kind == "text") {
    if (any(x == "")) refuse(which(x == "")[1], "text")
    return(x)
  }
  value <- suppressWarnings(as.numeric(x))
  bad <- which(!is.finite(value))
  if (length(bad) > 0) refuse(bad[1], "a finite number")
  if (any(value < rule$lowest)) refuse(which(value < rule$lowest)[1], paste("at least", rule$lowest))
  if (rule$kind == "whole" && any(value != floor(value))) {
    refuse(which(value != floor(value))[1], "a whole number")
  }
  if (rule$name %in% c("sd_s", "mean_s") && any(value <= 0)) {
    refuse(which(value <= 0)[1], "a number above 0")
  }
  # what nobody measured would keep every search for a level busy
  beyond <- which(rule$name %in% c("sd_s", "mean_s") & (value < 1e-15 | value > 1e12) | value > 1e15)
  if (length(beyond) > 0) {
    refuse(
      beyond[1],
      if (grepl("_s$", rule$name)) {
        "seconds from 1e-15 to 1e12"
      } else {
        "at most 1e15"
      }
    )
  }
  value
}

# `where` says which line of which file a row of `table` came from.
check_summary <- function(table, file = "argument 'df'", line = seq_len(nrow(table))) {
  key <- do.call(paste, c(table[summary_keys], sep = " "))
  twice <- anyDuplicated(paste(key, table$level_percent))
  if (twice > 0) {
    abort_damaged(file, line[twice], "level ", table$level_percent[twice], " of (", key[twice],
                  ") occurs twice")
  }
  clean <- key[table$level_percent == 0]
  orphan <- which(!key %in% clean)
  if (length(orphan) > 0) {
    abort_damaged(file, line[orphan[1]], "(", key[orphan[1]], ") has no row with level_percent 0 ",
                  "to compare with")
  }
  table
}

# For each noisy row: rule P (the noisy mean lies above the clean mean's two-sided 99 % interval), rule N
# (the two intervals do not overlap), Welch's test, and Holm's correction over all rows of the file; of the
# rules `..._sure`: the same verdict at all values that round to what was printed (NA: not known; of
# thresholds at least where TRUE). `rule_p_false_alarm`: the one-sided rate that rule P really has at these
# n; thresholds: the smallest level from which every higher level is detected; `bound_low_percent`,
# `bound_high_percent`: interval of the slowdown, by inverting Welch's test of mean against multiples of the
# clean mean. Khudoleeva and Stefanov (2021); Fieller (1954).
judge_summary <- function(df, alpha = 0.01, power = 0.95, margin_percent = NULL) {
  missing <- setdiff(summary_rules$name, names(df))
  check_argument(length(missing) == 0, "df", paste("no column", missing[1]),
                 paste("the columns", paste(summary_rules$name, collapse = ", ")))
  for (column in c("level_percent", "mean_s", "sd_s", "n")) check_numeric(df[[column]], column)
  check_argument(all(df$n >= 2), "n", min(df$n, Inf), "at least 2 runs in every row")
  check_argument(all(df$sd_s > 0), "sd_s", min(df$sd_s, Inf), "standard deviations above 0")
  df <- check_summary(as.data.frame(df))
  for (column in c("mean_half_unit_s", "sd_half_unit_s")) if (is.null(df[[column]])) df[[column]] <- NA_real_
  key <- row_key(df, summary_keys)
  noisy <- which(df$level_percent > 0)
  if (length(noisy) == 0) abort_data("the table has no row with level_percent above 0")
  clean <- match(key[noisy], ifelse(df$level_percent == 0, key, NA))
  rows <- judge_rows(df[noisy, ], df[clean, ], alpha, power)
  box <- round_box(df[clean, ], df[noisy, ])
  for (rule in names(box)) rows[[paste0(rule, "_sure")]] <- box[[rule]]$always == box[[rule]]$ever
  if (!is.null(margin_percent)) {
    rows <- cbind(rows, judge_margin(df[clean, ], df[noisy, ], margin_percent, alpha))
  }
  first <- which(!duplicated(key[noisy]))
  configurations <- rows[first, summary_keys]
  for (rule in c("rule_p", "rule_n")) {
    threshold <- function(detected) vapply(first, function(i) {
      mine <- key[noisy] == key[noisy][i]
      if (anyNA(detected[mine])) NA_real_ else threshold_level(rows$level_percent[mine], detected[mine])
    }, 0)
    configurations[[paste0("threshold_", rule, "_percent")]] <- threshold(rows[[rule]])
    known <- vapply(first, function(i) !anyNA(box[[rule]]$always[key[noisy] == key[noisy][i]]), TRUE)
    same <- mapply(identical, threshold(box[[rule]]$always), threshold(box[[rule]]$ever))
    configurations[[paste0("threshold_", rule, "_sure")]] <- ifelse(known, same, NA)
  }
  rownames(rows) <- rownames(configurations) <- NULL
  judged <- list(rows = rows, configurations = configurations)
  if (is.null(margin_percent)) return(judged)
  c(judged, list(margin_percent = margin_percent, answer = margin_answer(rows$margin_verdict)))
}

judge_rows <- function(noisy, clean, alpha, power) {
  reach <- function(x) stats::qt(0.995, x$n - 1) * x$sd_s / sqrt(x$n)
  upper <- clean$mean_s + reach(clean)
  w <- welch_test(clean$mean_s, clean$sd_s, clean$n, noisy$mean_s, noisy$sd_s, noisy$n)
  cbind(noisy[c(summary_keys, "level_percent")], data.frame(
    slowdown_percent = 100 * (noisy$mean_s / clean$mean_s - 1),
    rule_p = noisy$mean_s > upper, rule_n = noisy$mean_s - reach(noisy) > upper,
    welch_p_one_sided = w$p_one_sided, welch_p_two_sided = w$p_two_sided,
    holm_p = stats::p.adjust(w$p_one_sided, "holm"),
    rule_p_false_alarm = rule_p_false_alarm(clean$n, noisy$n),
    detection_limit_percent = 100 * detection_limit(w$se, w$df, alpha, power) / clean$mean_s,
    n_clean = clean$n, n_noisy = noisy$n
  ))
}

# Slowdown against a margin: is the noisy mean above (below) 1 + m and 1 - m times the clean one?
judge_margin <- function(clean, noisy, margin_percent, alpha) {
  borders <- 1 + c(margin_percent, -margin_percent) / 100
  against <- function(border) {
    w <- welch_test(border * clean$mean_s, border * clean$sd_s, clean$n, noisy$mean_s, noisy$sd_s, noisy$n)
    list(above = w$p_one_sided, below = stats::pt(w$t, w$df))
  }
  top <- against(borders[1])
  bottom <- against(borders[2])
  verdict <- margin_verdicts(top$above, top$below, bottom$above, bottom$below, alpha)
  bounds <- welch_ratio(clean, noisy, 1 - 2 * alpha)
  data.frame(bound_low_percent = 100 * (bounds$low - 1), bound_high_percent = 100 * (bounds$high - 1),
             margin_verdict = verdict, margin_reason = margin_reason(top$above, alpha))
}

# The interval of noisy mean / clean mean: the multiples of the clean mean from which Welch's test cannot
# tell the noisy one.
welch_ratio <- function(clean, noisy, conf) {
  bounds <- vapply(seq_len(nrow(clean)), function(i) {
    t_at <- function(ratio) {
      w <- welch_test(ratio * clean$mean_s[i], ratio * clean$sd_s[i], clean$n[i], noisy$mean_s[i],
                      noisy$sd_s[i], noisy$n[i])
      # As a normal quantile, whose scale does not depend on df.
      -sign(w$t) * stats::qnorm(stats::pt(-abs(w$t), w$df, log.p = TRUE), log.p = TRUE)
    }
    z <- stats::qnorm((1 + conf) / 2)
    ratio <- noisy$mean_s[i] / clean$mean_s[i]
    variance <- function(x) (x$sd_s[i] / x$mean_s[i])^2 / x$n[i]
    relative <- sqrt(variance(clean) + variance(noisy))
    find <- function(wanted, way) {
      # For far multiples t goes to that of the clean mean against 0: where this is small, the bound lies at
      # infinity.
      edge <- ratio * exp(way * pmin(100, relative * 2^(0:30)))
      beyond <- vapply(edge, function(r) way * (t_at(r) - wanted) < 0, TRUE)
      if (!any(beyond)) return(if (way > 0) Inf else 0)
      stats::uniroot(function(r) t_at(r) - wanted, sort(c(ratio, edge[which(beyond)[1]])),
                     tol = 1e-12 * ratio)$root
    }
    c(find(z, -1), find(-z, 1))
  }, c(0, 0))
  list(low = bounds[1, ], high = bounds[2, ])
}

# The one-sided chance that rule P calls a level detected that has no effect, for `n0` clean and `n1` noisy
# runs of equal standard deviation (Khudoleeva and Stefanov 2021).
rule_p_false_alarm <- function(n0, n1) {
  stats::pt(stats::qt(0.995, n0 - 1) / sqrt(1 + n0 / n1), n0 - 1, lower.tail = FALSE)
}

# The smallest level from which every higher level is detected, NA if the highest is not.
threshold_level <- function(level, detected) {
  by_level <- order(level, decreasing = TRUE)
  run <- cumprod(detected[by_level]) == 1
  if (!any(run)) NA_real_ else min(level[by_level][run])
}

# What the digits that a table does not print could change.

# Half a unit of the last digit printed; NA for what is not a decimal number.
half_unit <- function(text) {
  pattern <- "^[+-]?([0-9]*)(\\.([0-9]*))?([eE]([+-]?[0-9]+))?$"
  decimal <- grepl(pattern, text) & grepl("[0-9]", text)
  fraction <- nchar(sub(pattern, "\\3", text))
  exponent <- sub(pattern, "\\5", text)
  exponent <- suppressWarnings(ifelse(decimal & nzchar(exponent), as.numeric(exponent), 0))
  ifelse(decimal, 0.5 * 10^(exponent - fraction), NA_real_)
}

# Verdicts over the box of all values that round to the printed means and SDs: rules P and N compare sums in
# which every one of the four has a fixed sign, so their extremes are at corners.
round_box <- function(clean, noisy) {
  k0 <- stats::qt(0.995, clean$n - 1) / sqrt(clean$n)
  k1 <- stats::qt(0.995, noisy$n - 1) / sqrt(noisy$n)
  # The value of `mean_s` or `sd_s` at the upper (way 1) or lower end of its box.
  end <- function(table, what, way) {
    pmax(if (what == "sd") 0 else -Inf,
         table[[paste0(what, "_s")]] + way * table[[paste0(what, "_half_unit_s")]])
  }
  # `way`: 1 for the corner that favours detection, -1 for the other.
  p_at <- function(way) end(noisy, "mean", way) - end(clean, "mean", -way) - k0 * end(clean, "sd", -way)
  n_at <- function(way) p_at(way) - k1 * end(noisy, "sd", -way)
  lapply(list(rule_p = p_at, rule_n = n_at), function(at) list(always = at(-1) > 0, ever = at(1) > 0))
}
