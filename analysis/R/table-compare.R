# Output of a comparison for people and for programs.

# Beside the view: every change, the margin, and what else differs.
comparison_parts <- function(comparison) {
  rows <- comparison$rows
  sides <- comparison$sides
  span <- ifelse(
    is.na(sides$first_utc), "time unknown",
    ifelse(sides$first_utc == sides$last_utc, sides$first_utc, paste(sides$first_utc, "to", sides$last_utc))
  )
  label <- change_label(rows)
  cell <- cell_words(rows)
  treated <- rows$level_requested_percent > 0
  factors <- varying_factors(rows[treated, ])
  group <- if (length(factors) > 0) {
    ifelse(treated, paste0(", ", treatment_label(rows, factors, named = TRUE)), "")
  } else {
    ""
  }
  scopes <- vapply(split(rows, factor(cell, unique(cell))), comparison_scopes, "")
  reasons <- split(paste(label, cell, sep = " of "), in_order(rows$reason))
  judged <- rows[in_margin(rows), ]
  differs <- comparison$differs
  list(
    new_part(
      sprintf("%s: %s, %s, started %s", sides$side, sides$dirs,
              vapply(sides$launches, counted, "", "launch", "launches"), span),
      change_table(rows, comparison, label, paste0(cell, group)),
      comparison_intro(comparison),
      c(
        sprintf("%s: %s", names(scopes), scopes),
        if (any(rows$familywise %in% FALSE)) {
          "alone: by itself, not with Holm's correction over the rows of the family"
        },
        sprintf("inconclusive: %s (%s)", names(reasons), vapply(reasons, few_words, "", 8))
      )
    ),
    if (!is.null(comparison$margin_percent)) {
      new_part(
        sprintf("margin %g %% of %s: %s", comparison$margin_percent, margin_of_what(rows), comparison$answer),
        change_margin_table(judged, comparison, cell_words(judged)),
        sprintf(
          paste0("by the interval of confidence %g %% against +-%g %%; slower by more: after Holm's ",
                 "correction over these rows"),
          100 * (1 - 2 * comparison$alpha),
          comparison$margin_percent
        ),
        sprintf("inconclusive: %s", unique(stats::na.omit(judged$margin_reason)))
      )
    },
    new_part(
      if (nrow(differs) == 0) {
        "what differs: nothing that is recorded"
      } else {
        "what differs"
      },
      NULL,
      NULL,
      sprintf("%s: A %s; B %s", differs$what, differs$a, differs$b)
    )
  )
}

# On one screen: is B slower or faster, by how much, what could have been seen; then the clean times and
# whatever changed.
comparison_view <- function(comparison, operands) {
  rows <- comparison$rows
  rows$sure <- rows$verdict != "inconclusive" & rows$verdict != no_difference & !rows$familywise %in% FALSE
  shown <- rows[rows$family == "time" | rows$sure, ]
  shown <- shown[order(shown$family != "time"), ]
  table <- change_table(shown, comparison, change_label(shown))
  table$columns$p_holm <- NULL
  table$mark <- NULL
  table$columns <- c(
    list(cell = col_words("operation", short_cell(shown, rows))),
    table$columns,
    if (!is.null(comparison$margin_percent)) {
      list(
        margin_verdict = col_words(sprintf("margin %g %%", comparison$margin_percent),
                                   short_margin(shown$margin_verdict))
      )
    }
  )
  differs <- comparison$differs
  new_view(
    c(agents_changed_sentences(comparison$agents), comparison_sentences(comparison, rows)),
    table,
    "change: B against A, percent of times and points of shares; limit: the change that would be detected",
    c(
      sprintf("inconclusive: %s", unique(stats::na.omit(rows$reason[rows$family == "time"]))),
      comparison$busy,
      if (nrow(differs) > 0) {
        sprintf("A and B also differ in %s: the change may be theirs", few_words(differs$what, 5))
      }
    ),
    length(unique(comparison$notes)),
    all_command(operands, program = "compare")
  )
}

change_label <- function(rows) {
  paste0(measure_names[rows$measure],
         ifelse(rows$level_requested_percent > 0, paste0(" ", level_label(rows)), ""))
}

# Operation, with its size and number of ranks where there are several.
short_cell <- function(rows, all) {
  name <- operation_name(rows, all)
  paste0(name, ifelse(rows$mode == "loop" | length(unique(all$mode)) == 1, "", paste0(", start ", rows$mode)))
}

comparison_sentences <- function(comparison, rows) {
  time <- rows[rows$family == "time", ]
  changed <- time[time$sure, ]
  open <- time[time$verdict == "inconclusive", ]
  same <- time[!time$sure & time$verdict != "inconclusive", ]
  other <- rows[rows$family != "time" & rows$sure, ]
  sure <- sprintf("%g %% interval ", 100 * (1 - comparison$alpha))
  ways <- unique(changed$verdict)
  c(
    if (!is.na(comparison$answer)) {
      sprintf("Margin of %g %% of %s: %s.", comparison$margin_percent, margin_of_what(comparison$rows),
              comparison$answer)
    },
    vapply(
      ways,
      function(way) {
        part <- utils::head(changed[changed$verdict == way, ], most_named)
        rest <- sum(changed$verdict == way) - nrow(part)
        each <- sprintf("%s by %s %% (%s%s to %s)", short_cell(part, rows),
                        format_effect(abs(part$effect), FALSE), c(sure, rep("", nrow(part) - 1)),
                        format_effect(pmin(abs(part$ci_low), abs(part$ci_high)), FALSE),
                        format_effect(pmax(abs(part$ci_low), abs(part$ci_high)), FALSE))
        sprintf("B is %s than A: %s.", way, join_words(c(each, if (rest > 0) sprintf("%d more", rest))))
      },
      "",
      USE.NAMES = FALSE
    ),
    if (nrow(same) > 0) {
      sprintf(
        paste0("No difference in clean time was found on %s; a change of %s %% would have been detected ",
               "with probability %g."),
        few_words(short_cell(same, rows), most_named),
        format_span_of(same$detection_limit),
        comparison$power
      )
    },
    if (nrow(open) > 0) {
      sprintf("%s cannot be compared.", few_words(short_cell(open, rows), most_named))
    },
    if (nrow(other) > 0) {
      sprintf("%s changed, too: %s.", upper_first(counted(nrow(other), "other figure")),
              few_words(unique(measure_names[other$measure]), 6))
    }
  )
}

comparison_intro <- function(comparison) {
  sprintf(
    paste(
      "B against A, alpha %g two-sided (%g each way); words: after Holm's correction over the rows of a",
      "family (%s); limit: the change that the corrected test finds with power %g; intervals: each row by",
      paste0("itself. Change: percent of times (of a slowdown: of the time under load), points of shares ",
             "(preempted:"),
      "percent of one CPU, detour: percent of wall time), B less A of amplifications"
    ),
    comparison$alpha,
    comparison$alpha / 2,
    paste(names(comparison_families), collapse = ", "),
    comparison$power
  )
}

measure_names <- c(time = "time", p50 = "p50", p99 = "p99", p99.9 = "p99.9", preempted = "preempted",
                   detour = "detour", slowdown = "slowdown", amplification = "amplification")

# The changes `rows` under their names.
change_table <- function(rows, comparison, name, by = NULL) {
  micro <- rows$family %in% c("time", "tail")
  unit <- ifelse(
    micro, ", \u00b5s",
    ifelse(rows$family %in% c("share", "slowdown") & rows$level_requested_percent == 0, ", %", "")
  )
  value <- function(x) ifelse(is.na(x), "-", sprintf("%.4g", ifelse(micro, x / 1000, x)))
  word <- ifelse(rows$verdict == no_difference, "no difference", rows$verdict)
  new_table(
    measure = col_words("figure", paste0(name, unit)),
    value_a = col_number("A", rows$value_a, value(rows$value_a)),
    value_b = col_number("B", rows$value_b, value(rows$value_b)),
    effect = col_number("change", rows$effect, format_effect),
    ci_low = col_number(sprintf("%g %% CI", 100 * (1 - comparison$alpha)), rows$ci_low,
                        format_interval(rows$ci_low, rows$ci_high)),
    p_holm = col_number("p Holm", rows$p_holm, format_p),
    detection_limit = col_number("limit", rows$detection_limit, plain),
    verdict = col_words("verdict", paste0(word, ifelse(rows$familywise %in% FALSE, " (alone)", ""))),
    by = by,
    mark = rows$verdict
  )
}

# What n counts.
comparison_scopes <- function(rows) {
  tested <- rows[is.na(rows$reason), ]
  if (nrow(tested) == 0) return("nothing could be tested")
  sprintf("%s, n = %s and %s", scope_systems, format_range(tested$n_a), format_range(tested$n_b))
}

change_margin_table <- function(rows, comparison, name) {
  new_table(
    cell = col_words("", name), effect = col_number("change %", rows$effect, format_effect),
    bound_low = col_number(sprintf("%g %% CI", 100 * (1 - 2 * comparison$alpha)), rows$bound_low,
                           format_interval(rows$bound_low, rows$bound_high)),
    margin_verdict = col_words("verdict", short_margin(rows$margin_verdict)), mark = rows$margin_verdict
  )
}

# Of two campaigns that are compared: each side's, as long as they differ.
busy_sides <- function(a, b) {
  said <- c(A = busy_sentence(a), B = busy_sentence(b))
  said <- sub("^the machine was busy: ", "", sub(busy_advice, "", said, fixed = TRUE))
  if (length(said) > 0) {
    paste0("the machine was busy: ", paste0(names(said), ": ", said, collapse = "; "), busy_advice)
  }
}

# Rows of the one table that all analyses have.
value_estimates <- function(comparison) {
  rows <- comparison$rows
  unit <- ifelse(rows$scale == "ratio", "percent",
                 gsub("[^a-z]+", "_", tolower(ifelse(nzchar(rows$unit), rows$unit, "units"))))
  as_estimates(
    rows,
    paste0("value_change_", unit),
    operation = ifelse(nzchar(rows$what), rows$what, NA),
    value = rows$effect,
    n = rows$n_a + rows$n_b,
    n_unit = "run",
    p_one_sided = pmin(rows$p_higher, rows$p_lower),
    detection_limit = ifelse(is.finite(rows$detection_limit), rows$detection_limit, NA),
    verdict = ifelse(rows$verdict == no_difference, "no_difference",
                     paste0(rows$verdict, ifelse(rows$familywise %in% FALSE, "_alone", "")))
  )
}
