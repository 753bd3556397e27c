# What only a boot can change: one launch a boot, and the boot is the unit.

# The folders of such a campaign are called NAME-BOOT, NAME is what was booted with, and BOOT the first
# digits of the boot's number.
boot_pattern <- "^(.+)-([0-9a-f]{8})$"

# Mean logarithm of the time of an operation, a row per boot, operation and size: `name`, `boot`,
# `operation`, `bytes`, `ranks`, `started`, `x`.
boot_rows <- function(dirs) {
  bind_rows(lapply(dirs, function(dir) {
    parts <- regmatches(basename(dir), regexec(boot_pattern, basename(dir)))[[1]]
    if (length(parts) != 3) {
      abort_data("'", dir, "' is no launch of noiselab run setting --between-boots NAME (NAME-BOOT)")
    }
    campaign <- read_campaign(dir, arms = "any")
    rows <- campaign$rows
    x <- log_or_na(operation_ns(rows))
    key <- row_key(rows, c("operation", "bytes", "ranks"))
    first <- !duplicated(key)
    started <- campaign$launches[[1]]$started_utc %||% ""
    data.frame(name = parts[2], boot = parts[3], operation = as.character(rows[["operation"]][first]),
               bytes = rows[["bytes"]][first], ranks = rows[["ranks"]][first], started = started,
               x = as.numeric(tapply(x, in_order(key), mean, na.rm = TRUE)))
  }))
}

# How many boots of each of two names a two-sided test at 2 alpha takes: all orders are as likely, and the
# most extreme one has to be at most alpha on its side, over `comparisons` (operations and sizes) by Holm's
# correction. `beside`: so many there are of one name; NA where none are enough.
boots_needed <- function(alpha, comparisons = 1, beside = NULL) {
  if (identical(as.numeric(beside), 0)) return(NA_real_)
  n <- 1
  while (smallest_p(n, beside %||% n) > alpha / comparisons) n <- n + 1
  n
}

# Compares two names by the exact permutation test of ranks over boots, with the interval that belongs to
# it. A list: `rows`, a data frame, one row per operation and size: `operation`, `bytes`, `ranks`,
# `reference`, `other`, `n_reference`, `n_other`, `estimate` (percent, above 0: the other is slower),
# `ci_low`, `ci_high`, `p_two_sided`, `outcome`; `needed` (boots of each), `boots` (names with their
# numbers), `answer`.
compare_boots <- function(dirs, margin = NULL, alpha = 0.01) {
  all <- boot_rows(dirs)
  if (any(duplicated(all[c("boot", "operation", "bytes", "ranks")]))) {
    abort_data("one boot has two launches: a boot counts once")
  }
  measured <- tapply(row_key(all, c("operation", "bytes", "ranks")), all$boot,
                     function(keys) paste(sort(keys), collapse = "\r"))
  if (length(unique(measured)) > 1) {
    abort_data("these boots did not measure the same operations, sizes and ranks: ",
               join_words(names(measured)[measured != measured[[1]]]), " differ from ", names(measured)[1])
  }
  names <- unique(all$name[order(all$started)])
  if (length(names) > 2) {
    abort_data("there are boots of ", join_words(names), ": name the folders of two of them")
  }
  boots <- vapply(names, function(name) length(unique(all$boot[all$name == name])), 0)
  key <- row_key(all, c("operation", "bytes", "ranks"))
  comparisons <- length(unique(key))
  enough <- length(names) == 2 && smallest_p(boots[[1]], boots[[2]]) <= alpha / comparisons
  rows <- if (enough) bind_rows(lapply(unname(split(all, in_order(key))), boot_row, names, margin, alpha))
  if (NROW(rows) > 0) {
    shown <- stats::p.adjust(rows$p_two_sided, "holm") <= 2 * alpha
    within <- if (is.null(margin)) FALSE else (rows$ci_low > -margin & rows$ci_high < margin) %in% TRUE
    rows$outcome <- ifelse(within, "no difference",
                           ifelse(!shown, "undecided", ifelse(rows$estimate > 0, "slower", "faster")))
  }
  answer <- if (!is.null(margin)) if (NROW(rows) == 0) "inconclusive" else setting_answer(rows, margin)
  list(rows = rows, names = names, boots = boots, needed = boots_needed(alpha, comparisons),
       beside = vapply(boots, function(n) boots_needed(alpha, comparisons, n), 0),
       comparisons = comparisons, margin = margin, alpha = alpha, answer = answer)
}

boot_row <- function(rows, names, margin, alpha) {
  x <- rows$x[rows$name == names[1]]
  y <- rows$x[rows$name == names[2]]
  p <- rank_p(x, y)
  d <- sort(outer(y, x, `-`))
  at <- end_of_interval(length(x), length(y), alpha)
  percent <- function(i) if (at >= 1) 100 * expm1(d[i]) else NA_real_
  cbind(
    rows[1, c("operation", "bytes", "ranks")],
    data.frame(reference = names[1], other = names[2], n_reference = length(x), n_other = length(y),
               estimate = 100 * expm1(stats::median(d)), ci_low = percent(at),
               ci_high = percent(length(d) + 1 - at), p_two_sided = min(1, 2 * min(p$greater, p$less))),
    row.names = NULL
  )
}

boot_sentences <- function(result) {
  counted_boots <- join_words(sprintf("%s of %s", result$boots, result$names))
  if (is.null(result$rows)) {
    return(sprintf(
      paste(
        paste0("There are boots: %s. The exact two-sided test at %s takes %d of each%s%s, so these do not ",
               "decide anything:"),
        "boot again, in random order, and run the same command."
      ),
      counted_boots,
      format_confidence(2 * result$alpha),
      result$needed,
      if (result$comparisons > 1) sprintf(" for %d operations and sizes", result$comparisons) else "",
      beside_words(result)
    ))
  }
  vapply(seq_len(nrow(result$rows)), function(i) {
    row <- result$rows[i, ]
    range <- sprintf("(%s to %s)", format_effect(row$ci_low), format_effect(row$ci_high))
    sprintf("%s instead of %s, %s: %s, %s %% %s; boots: %s, p = %s, both sides.", row$other, row$reference,
            panel_name(row), row$outcome, format_effect(row$estimate), range, counted_boots,
            format_p(row$p_two_sided))
  }, "")
}

# ", or 14 of another name beside 2 of plain": what would also do with the boots that there are, of the name
# with most of them.
beside_words <- function(result) {
  most <- which.max(result$boots)
  beside <- result$beside[[most]]
  if (beside >= result$needed) return("")
  sprintf(", or %d beside the %d of %s", beside, result$boots[[most]], result$names[most])
}

boot_table <- function(result) {
  rows <- result$rows
  if (is.null(rows)) return(NULL)
  new_table(operation = col_words("operation", panel_name(rows)),
            estimate = col_number("change", rows$estimate, format_effect, "%"),
            ci_low = col_interval("interval", rows$ci_low, rows$ci_high),
            p = col_number("p", rows$p_two_sided, format_p),
            n = col_words("boots", paste(rows$n_reference, rows$n_other, sep = " + ")),
            outcome = col_verdict("outcome", rows$outcome))
}

analyze_boots <- function(operands, values, form) {
  o <- tested_options(values)
  result <- compare_boots(operands, o$margin, o$alpha)
  view <- new_view(boot_sentences(result), boot_table(result),
                   if (!is.null(result$rows)) "change: of the time, above 0 is slower",
                   command = all_command(operands, "boots"))
  answered(
    form,
    NULL,
    list(alpha = o$alpha, margin_percent = o$margin, answer = result$answer, boots = as.list(result$boots),
         boots_needed = result$needed),
    list(rows = result$rows),
    NULL,
    list(),
    view,
    boot_sentences(result),
    if (!is.null(o$margin)) result$answer
  )
}
