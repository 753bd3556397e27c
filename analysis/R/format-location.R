# What `noiselab analyze nodes` prints.

location_lines <- 20  # most nodes or ranks with a line of their own; the rest are summed up

#' Format the location of noise
#'
#' @param location An `nl_location` from [locate_noise()].
#' @return Character, one element per line: the answer, then per treatment and level a line for each node (of many, those where
#'   something was found) and a table.
#' @noRd
format_location <- function(location) {
  constant <- constant_treatment(location$nodes)
  c(wrap_line(location$answer, 0), if (nzchar(constant)) paste("treatment:", constant), "",
    unlist(lapply(location_parts(location), part_lines), use.names = FALSE), format_location_margin(location), format_notes(location$notes))
}

# One for each treatment and level of `nodes`.
location_parts <- function(location, nodes = location$nodes) {
  factors <- varying_factors(location$nodes)
  dose <- dose_key(nodes)
  unname(lapply(split(seq_len(nrow(nodes)), in_order(dose)), function(at) {
    rows <- nodes[at, ]
    ranks <- location$ranks[dose_key(location$ranks) == dose[at[1]], ]
    new_part(location_head(rows, factors, location), location_table(rows, location), if (at[1] == 1) location_words(location), location_verdicts(rows, ranks))
  }))
}

location_head <- function(rows, factors, location) {
  treatment <- treatment_label(rows[1, ], factors, named = TRUE)
  dose <- if (isTRUE(rows$level_requested_percent[1] == 0)) "placebo (level 0)" else level_label(rows[1, ], " % of one CPU")
  tested <- sum(!is.na(rows$p_one_sided))
  unit <- rows$unit_of_inference[1]
  n <- if (unit == "pair") rows$n_pairs else rows$n_launches
  sprintf("%s%s   (scope: %s; unit: %s, n = %s; alpha %g one-sided, Holm over %s)", if (nzchar(treatment)) {
    paste0(treatment, ", ")
  } else "", dose, rows$scope[1], unit, format_range(n), location$alpha, counted(tested, "node"))
}

# A line per node with something to say; of many, those without are counted.
location_verdicts <- function(rows, ranks) {
  shown <- rows$found %in% c("here", "trace")
  if (nrow(rows) <= location_lines) shown[] <- TRUE
  rows_shown <- rows[shown, ]
  rows_shown <- utils::head(rows_shown[order(match(rows_shown$found, c("here", "trace", "not detected", "inconclusive")),
                                             -rows_shown$preempted_shift_percent), ], 2 * location_lines)
  lines <- vapply(seq_len(nrow(rows_shown)), function(i) location_verdict(rows_shown[i, ], ranks), "")
  rest <- rows[!rows$host %in% rows_shown$host, ]
  counts <- vapply(split(rest, in_order(rest$found)), function(part) {
    paste0(counted(nrow(part), "other node"), ": ", part$found[1],
           if (part$found[1] == "not detected") sprintf(", limits %s %%", format_span_of(part$detection_limit)))
  }, "")
  c(lines, counts)
}

location_verdict <- function(row, ranks) {
  shift <- sprintf("%s %% of a CPU (%s to %s), p = %s", format_digits(row$preempted_shift_percent, row),
                   format_digits(row$ci_low, row), format_digits(row$ci_high, row), format_p(row$p_holm))
  share <- if (is.na(row$extra_share_percent)) "" else {
    sprintf(", %s %% of the extra preempted time", format_effect(row$extra_share_percent, FALSE))
  }
  paste0(row$host, ": ", switch(row$found,
    here = paste0("the noise is here: ", shift, share, which_ranks(ranks[ranks$host == row$host, ])),
    trace = paste0("traces, less than a tenth of the most: ", shift),
    "not detected" = sprintf("not detected, limit %s %%", format_effect(row$detection_limit, FALSE)),
    paste0("inconclusive: ", row$reason)
  ))
}

# With as many digits as tell the ends of the interval apart.
format_digits <- function(x, row) {
  width <- row$ci_high - row$ci_low
  digits <- if (isTRUE(width > 0)) min(6, max(2, 1 - floor(log10(width)))) else 2
  sprintf("%+.*f", as.integer(digits), x)
}

# Of a node with the noise: the ranks that lost more, each with its CPU.
which_ranks <- function(ranks) {
  here <- ranks[ranks$found == "here", ]
  if (nrow(here) == 0) {
    limits <- ranks$detection_limit
    return(if (all(is.na(limits))) "" else paste0("; no single rank, limits ", format_span_of(limits), " %"))
  }
  here <- here[order(-here$preempted_shift_percent), ]
  cpu <- ifelse(here$cpu >= 0, paste0(" (CPU ", format_count(here$cpu), ")"), "")
  paste0("; ", if (nrow(here) == 1) "rank " else "ranks ", few_words(paste0(format_count_each(here$rank), cpu), 4))
}

location_table <- function(rows, location) {
  rows <- utils::head(rows[order(-rows$preempted_shift_percent), ], location_lines)
  rows <- rows[order(match(rows$host, location$nodes$host)), ]
  plain <- function(x) format_effect(x, FALSE)
  new_table(
    host = col_words("node", rows$host), ranks = col_number("ranks", rows$ranks),
    clean_preempted_percent = col_number("clean %", rows$clean_preempted_percent, plain),
    preempted_shift_percent = col_number("shift %", rows$preempted_shift_percent, format_effect),
    ci_low = col_interval(paste(format_confidence(location$alpha), "CI"), rows$ci_low, rows$ci_high),
    p_holm = col_number("p Holm", rows$p_holm, format_p),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    extra_share_percent = col_number("extra", rows$extra_share_percent, function(x) sprintf("%.1f", x)),
    slowest_off_percent = col_number("slow off", rows$slowest_off_percent, plain),
    slowest_on_percent = col_number("slow on", rows$slowest_on_percent, plain),
    ranks_percent = col_number("ranks %", rows$ranks_percent, plain)
  )
}

# On one screen: which node, then the nodes at the highest level of the first treatment.
location_view <- function(location, operands) {
  rows <- answering_rows(location$nodes)
  rows <- rows[dose_key(rows) == dose_key(rows)[1], ]
  margin <- location$margin_answer
  here <- rows[rows$found == "here", ]
  new_view(c(
    location$answer, if (!is.null(margin)) margin_answer_words(location$margin, margin, " of one CPU"),
    if (nrow(here) == 1) paste0(location_verdict(here, location$ranks[dose_key(location$ranks) == dose_key(here), ]), ".") else {
      if (nrow(here) == 0 && !all(is.na(rows$detection_limit))) sprintf("A node that lost %s %% of one CPU more would have been seen with probability %g.",
                                                                        format_span_of(rows$detection_limit), location$power)
    }
  ), location_table(rows, location),
  paste0("preempted time of the node's ranks, on minus off, percent of ONE CPU, at ", level_label(rows[1, ], " %"),
         "; extra: share of all nodes; slow: share of halves with the slowest rank"),
  notes = length(unique(location$notes)), command = all_command(operands, "nodes"), report = report_beside(operands))
}

format_location_margin <- function(location) {
  if (is.null(location$margin)) return(NULL)
  rows <- location$nodes[!is.na(location$nodes$margin_verdict), ]
  counts <- table(factor(rows$margin_verdict, c("above", "below", "inconclusive")))
  answer <- location$margin_answer
  c(sprintf("against the margin of %s %% of one CPU (one %s CI per node and level)", format_level(location$margin),
            format_confidence(2 * location$alpha)),
    wrap_line(c(sprintf("above %d, below %d, inconclusive %d", counts[1], counts[2], counts[3]),
                paste0("answer: ", answer$answer, if (!is.na(answer$reason)) paste0(" (", answer$reason, ")")))), "")
}

location_words <- function(location) {
  more <- length(unique(location$nodes$host)) > location_lines
  paste0("shift: preempted time of the node's ranks, on minus off, in percent of ONE CPU; clean: the same in off halves; limit: the shift that this ",
         "test, as corrected, finds with power ", location$power, "; extra: share of the extra preempted time of all nodes; slow: share of the ",
         "halves in which the slowest rank was there, off and on, beside the node's share of the ranks",
         if (more) paste0(" (the ", location_lines, " nodes that lost most; all: noiselab analyze nodes --csv)"))
}
