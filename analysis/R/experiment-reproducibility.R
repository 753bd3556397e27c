# Do launches agree with each other?

reproducibility_launches <- 3

# The mean time of the off arm in each launch, and the relative standard error RSE = sd / (mean sqrt(n)) of
# these means over launches; its interval from that of the standard deviation, as if the means were normal.
# All starts count. A row per operation x bytes x ranks: `n_launches`, `mean_ns`, `sd_ns`, `lowest_ns`,
# `highest_ns`, `rse_percent`, `rse_low_percent`, `rse_high_percent`, `reason` (no RSE, which needs 3
# launches, else NA). Kurnosov, M. G. (2012), see `published_summary()`.
reproducibility <- function(campaign, conf = 0.99) {
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  if (length(off) == 0) abort_data("no row of the arm off in ", paste(campaign$dirs, collapse = " "))
  time <- operation_ns_at(rows, off) * rows[["operations"]][off]
  # One launch in loops and one with synchronised starts measure different things.
  mode <- vapply(campaign$launches, start_mode, "")[rows[["launch"]][off]]
  key <- combine_keys(code_of(rows[["operation"]][off]), rows[["bytes"]][off], rows[["ranks"]][off],
                      code_of(mode == "loop"))
  parts <- lapply(split(seq_along(off), in_order(key)), function(at) {
    launch <- in_order(rows[["launch"]][off[at]])
    means <- as.numeric(tapply(time[at], launch, sum) / tapply(rows[["operations"]][off[at]], launch, sum))
    first <- off[at[1]]
    cbind(
      data.frame(operation = rows[["operation"]][first], bytes = rows[["bytes"]][first],
                 ranks = rows[["ranks"]][first],
                 mode = if (length(unique(mode[at])) == 1) mode[at[1]] else "several"),
      relative_error(means, conf)
    )
  })
  table <- bind_rows(unname(parts))
  table <- table[order(match(table$operation, unique(table$operation)), table$bytes, table$ranks), ]
  rownames(table) <- NULL
  table
}

# The RSE of the means of launches, any unit, and its interval: that of a standard deviation by chi-square.
relative_error <- function(means, conf) {
  n <- length(means)
  sd <- if (n > 1) stats::sd(means) else NA_real_
  known <- n >= reproducibility_launches
  rse <- if (known) 100 * sd / (mean(means) * sqrt(n)) else NA_real_
  factor <- if (known) {
    sqrt((n - 1) / stats::qchisq(c(1 + conf, 1 - conf) / 2, n - 1))
  } else {
    c(NA_real_, NA_real_)
  }
  data.frame(
    n_launches = n,
    mean_ns = mean(means),
    sd_ns = sd,
    lowest_ns = min(means),
    highest_ns = max(means),
    rse_percent = rse,
    rse_low_percent = rse * factor[1],
    rse_high_percent = rse * factor[2],
    reason = if (known) {
      NA_character_
    } else {
      sprintf("%d launch%s, the RSE needs %d", n, if (n == 1) "" else "es", reproducibility_launches)
    }
  )
}

# ---- noiselab analyze reproducibility ----------------------------------------------------------

word_reproducibility <- function() {
  list(
    operands = "DIR...",
    options = "alpha",
    run = analyze_reproducibility,
    question = "How well does the mean time repeat from launch to launch?",
    sentences = function(analysis) {
      table <- reproducibility(analysis$campaign, 1 - analysis$alpha)
      check_reproducibility(table)
      reproducibility_sentence(table)
    },
    help = "the relative standard error over launches, by number of ranks (3 launches or more)"
  )
}

analyze_reproducibility <- function(operands, values, form) {
  conf <- 1 - alpha_option(values$alpha)
  campaign <- read_campaign(operands, arms = "any")
  table <- reproducibility(campaign, conf)
  check_reproducibility(table)
  notes <- campaign$notes
  answered(form, NULL, list(confidence = conf), list(rows = table), notes, list(),
           reproducibility_view(table, conf, notes, operands))
}

# A question with an answer needs one row at least that has it.
check_reproducibility <- function(table) {
  if (all(!is.na(table$reason))) {
    abort_data("reproducibility: at most ", max(table$n_launches),
               " launch(es) of an operation, size and number of ranks; it ", "needs ",
               reproducibility_launches, ": run more launches into the same directory")
  }
}

rse_table <- function(table, conf) {
  us <- function(x) sprintf("%.4g", x / 1000)
  new_table(
    operation = col_words("operation", table$operation),
    bytes = col_number("bytes", table$bytes),
    ranks = col_number("ranks", table$ranks),
    n_launches = col_number("launches", table$n_launches),
    mean_ns = col_number("mean", table$mean_ns, us),
    lowest_ns = col_number("lowest", table$lowest_ns, us),
    highest_ns = col_number("highest", table$highest_ns, us),
    rse_percent = col_number("RSE %", table$rse_percent, plain),
    rse_low_percent = col_number(sprintf("%g %% CI", 100 * conf), table$rse_low_percent,
                                 format_interval(table$rse_low_percent, table$rse_high_percent, plain))
  )
}

reproducibility_sentence <- function(table) {
  known <- table[!is.na(table$rse_percent), ]
  worst <- known[which.max(known$rse_percent), ]
  sprintf(
    "Repeated launches agree within a relative standard error of %s %%%s; the worst is %s with %s ranks.",
    paste(unique(plain(range(known$rse_percent))), collapse = " to "),
    if (nrow(known) == 1) {
      ""
    } else {
      sprintf(" over %d rows", nrow(known))
    },
    panel_name(worst),
    format_level(worst$ranks)
  )
}

reproducibility_view <- function(table, conf, notes, operands) {
  new_view(
    reproducibility_sentence(table),
    rse_table(table, conf),
    "times in \u00b5s; RSE: standard error of the mean over launches, percent of it; all starts count",
    sprintf("no RSE: %s", unique(stats::na.omit(table$reason))),
    length(unique(notes)),
    all_command(operands, "reproducibility"),
    report_beside(operands)
  )
}
