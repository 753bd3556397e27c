# Do launches agree with each other?

reproducibility_launches <- 3

#' Reproducibility over launches
#'
#' The mean time of the off arm in each launch; the relative standard error RSE = sd / (mean sqrt(n)) of these
#' means over n launches; its interval from that of the standard deviation, as if the means were normal. All
#' starts count.
#'
#' @param campaign An `nl_campaign` from [read_campaign()] (`arms = "any"` will do).
#' @param conf Confidence of the interval, length 1.
#' @return A data frame, one row per operation x bytes x ranks: `operation`, `bytes`, `ranks`, `n_launches`, `mean_ns`
#'   (mean of the launch means), `sd_ns` (between launches), `lowest_ns`, `highest_ns` (launch means), `rse_percent`,
#'   `rse_low_percent`, `rse_high_percent`, `reason` (why there is no RSE, else NA: it needs 3 launches).
#' @references Kurnosov, M. G. (2012), see `published_summary()`.
#' @noRd
reproducibility <- function(campaign, conf = 0.99) {
  check_probability(conf, "conf")
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  if (length(off) == 0) abort_data("no row of the arm off in ", paste(campaign$dirs, collapse = " "))
  time <- operation_ns_at(rows, off) * rows[["operations"]][off]
  # One launch in loops and one with synchronised starts measure different things.
  mode <- vapply(campaign$launches, start_mode, "")[rows[["launch"]][off]]
  key <- combine_keys(code_of(rows[["operation"]][off]), rows[["bytes"]][off], rows[["ranks"]][off], code_of(mode == "loop"))
  parts <- lapply(split(seq_along(off), in_order(key)), function(at) {
    launch <- in_order(rows[["launch"]][off[at]])
    means <- as.numeric(tapply(time[at], launch, sum) / tapply(rows[["operations"]][off[at]], launch, sum))
    first <- off[at[1]]
    cbind(data.frame(operation = rows[["operation"]][first], bytes = rows[["bytes"]][first], ranks = rows[["ranks"]][first],
                     mode = if (length(unique(mode[at])) == 1) mode[at[1]] else "several"),
          relative_error(means, conf))
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
  factor <- if (known) sqrt((n - 1) / stats::qchisq(c(1 + conf, 1 - conf) / 2, n - 1)) else c(NA_real_, NA_real_)
  data.frame(n_launches = n, mean_ns = mean(means), sd_ns = sd, lowest_ns = min(means), highest_ns = max(means),
             rse_percent = rse, rse_low_percent = rse * factor[1], rse_high_percent = rse * factor[2],
             reason = if (known) NA_character_ else sprintf("%d launch%s, the RSE needs %d", n, if (n == 1) "" else "es",
                                                            reproducibility_launches))
}

# ---- noiselab analyze reproducibility ----------------------------------------------------------

# A question with an answer needs one row at least that has it.
check_reproducibility <- function(table) {
  if (all(!is.na(table$reason))) {
    abort_data("reproducibility: at most ", max(table$n_launches), " launch(es) of an operation, size and number of ranks; it ",
               "needs ", reproducibility_launches, ": run more launches into the same directory")
  }
}

format_reproducibility <- function(table, conf, notes) {
  c("reproducibility over launches, times in \u00b5s",
    wrap_line("RSE: standard error of the mean over launches in percent of it, sd / (mean sqrt(n)); all starts count"),
    table_lines(rse_table(table, conf)), wrap_line(sprintf("no RSE: %s", unique(stats::na.omit(table$reason)))), "", format_notes(notes))
}

rse_table <- function(table, conf) {
  us <- function(x) sprintf("%.4g", x / 1000)
  percent <- function(x) format_effect(x, FALSE)
  interval <- ifelse(is.na(table$rse_percent), "-", paste0("[", percent(table$rse_low_percent), ", ", percent(table$rse_high_percent), "]"))
  new_table(
    operation = col_words("operation", table$operation), bytes = col_number("bytes", table$bytes), ranks = col_number("ranks", table$ranks),
    n_launches = col_number("launches", table$n_launches), mean_ns = col_number("mean", table$mean_ns, us),
    lowest_ns = col_number("lowest", table$lowest_ns, us), highest_ns = col_number("highest", table$highest_ns, us),
    rse_percent = col_number("RSE %", table$rse_percent, percent),
    rse_low_percent = col_number(sprintf("%g %% CI", 100 * conf), table$rse_low_percent, interval)
  )
}

reproducibility_view <- function(table, conf, notes, operands) {
  known <- table[!is.na(table$rse_percent), ]
  worst <- known[which.max(known$rse_percent), ]
  new_view(sprintf("Repeated launches agree within a relative standard error of %s %%%s; the worst is %s with %s ranks.",
                   paste(unique(format_effect(range(known$rse_percent), FALSE)), collapse = " to "), if (nrow(known) == 1) "" else
                     sprintf(" over %d rows", nrow(known)),
                   panel_name(worst), format_level(worst$ranks)),
           rse_table(table, conf), "times in \u00b5s; RSE: standard error of the mean over launches, percent of it; all starts count",
           sprintf("no RSE: %s", unique(stats::na.omit(table$reason))), length(unique(notes)), all_command(operands, "reproducibility"), report_beside(operands))
}
