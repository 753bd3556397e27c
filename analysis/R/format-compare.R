# Output of a comparison for people and for programs.

#' Format a comparison
#'
#' @param comparison An `nl_comparison` from [compare_campaigns()].
#' @return `format_comparison()`: character, one element per line of at most 98 columns; `comparison_json()`: one
#'   string, an object with `schema`, `program`, `version`, `alpha`, `power`, `margin_percent`, `paired`, `answer`,
#'   `sides`, `rows`, `differs` (arrays of objects) and `notes`; `comparison_csv()`: character, the rows as lines of a
#'   CSV file.
#' @examples
#' before <- file.path(tempdir(), "before")
#' after <- file.path(tempdir(), "after")
#' simulate_campaign(before, pairs = 10, launches = 2, levels_percent = 5, seed = 1, prefix = "before")
#' simulate_campaign(after, pairs = 10, launches = 2, levels_percent = 5, seed = 2, prefix = "after")
#' got <- compare_campaigns(read_campaign(before), read_campaign(after))
#' cat(format_comparison(got)[1:6], sep = "\n")
#' unlink(c(before, after), recursive = TRUE)
#' @export
format_comparison <- function(comparison) {
  rows <- comparison$rows
  cell <- do.call(paste, c(rows[comparison_cell], sep = "\r"))
  blocks <- lapply(split(rows, in_order(cell)), format_comparison_block, comparison = comparison)
  sides <- comparison$sides
  span <- ifelse(is.na(sides$first_utc), "time unknown",
                 ifelse(sides$first_utc == sides$last_utc, sides$first_utc,
                        paste(sides$first_utc, "to", sides$last_utc)))
  c(wrap_line(sprintf("%s: %s, %s launch%s, started %s", sides$side, sides$dirs, format_count(sides$launches),
                      ifelse(sides$launches == 1, "", "es"), span), 0),
    wrap_line(comparison_intro(comparison), 0), "", unlist(blocks, use.names = FALSE), format_comparison_margin(comparison),
    format_differs(comparison$differs), format_notes(comparison$notes))
}

comparison_intro <- function(comparison) {
  sprintf(paste("B against A%s, alpha %g two-sided (%g each way); words: after Holm's correction over the rows of a",
                "family (%s); limit: the change that the corrected test finds with power %g; intervals: each row by",
                "itself. Change: percent of times (of a slowdown: of the time under load), points of shares (preempted:",
                "percent of one CPU, detour: percent of wall time), B less A of amplifications"),
          if (comparison$paired) ", launches paired in time" else "", comparison$alpha, comparison$alpha / 2,
          paste(names(comparison_families), collapse = ", "), comparison$power)
}

measure_names <- c(time = "time", p50 = "p50", p99 = "p99", p99.9 = "p99.9", preempted = "preempted", detour = "detour",
                   slowdown = "slowdown", amplification = "amplification")

format_comparison_block <- function(rows, comparison) {
  first <- rows[1, ]
  title <- sprintf("%s, %s B, %s ranks%s   (%s)", first$operation, format_count(first$bytes), format_level(first$ranks),
                   if (first$mode == "loop") "" else paste0(", start ", first$mode), comparison_scopes(rows))
  form <- "  %-17s %8s %8s %8s %20s %7s %7s  %s"
  head <- sprintf(form, "", "A", "B", "change", sprintf("%g %% CI", 100 * (1 - comparison$alpha)), "p Holm", "limit",
                  "verdict")
  label <- paste0(measure_names[rows$measure], ifelse(rows$level_requested_percent > 0,
                                                     paste0(" ", level_label(rows)), ""))
  unit <- ifelse(rows$family %in% c("time", "tail"), ", \u00b5s", "")
  scale <- ifelse(rows$family %in% c("time", "tail"), 1 / 1000, 1)
  percent <- ifelse(rows$family %in% c("share", "slowdown") & rows$level_requested_percent == 0, ", %", "")
  value <- function(x) ifelse(is.na(x), "-", sprintf("%.4g", x * scale))
  word <- paste0(ifelse(rows$verdict == no_difference, "no difference", rows$verdict), ifelse(rows$familywise %in% FALSE, "*", ""))
  lines <- sprintf(form, paste0(label, unit, percent), value(rows$value_a), value(rows$value_b),
                   format_change(rows$effect), change_interval(rows$ci_low, rows$ci_high), format_p(rows$p_holm),
                   format_change(rows$detection_limit, sign = FALSE), word)
  reasons <- split(label, in_order(rows$reason))
  c(wrap_line(title, 0), head, comparison_lines(rows, lines),
    if (any(rows$familywise %in% FALSE)) wrap_line("*: by itself, not with Holm's correction over the rows of the family"),
    wrap_line(sprintf("inconclusive: %s (%s)", names(reasons), vapply(reasons, paste, "", collapse = ", "))), "")
}

# What n counts, in each scope that has a test.
comparison_scopes <- function(rows) {
  n <- function(scope) {
    tested <- rows[rows$scope == scope & is.na(rows$reason), ]
    if (nrow(tested) > 0) sprintf("%s, n = %s and %s", scope, format_range(tested$n_a), format_range(tested$n_b))
  }
  two <- n(scope_two)
  words <- c(n(scope_systems), if (!is.null(two)) paste(two, "groups of pairs"))
  if (length(words) == 0) "nothing could be tested" else paste(words, collapse = "; ")
}

# Two launches a side may leave limits of many digits.
format_change <- function(x, sign = TRUE) {
  ifelse(!is.na(x) & abs(x) >= 1e5, sprintf(if (sign) "%+.0e" else "%.0e", x), format_effect(x, sign))
}

change_interval <- function(low, high) {
  ifelse(is.na(low) | is.na(high), "-", paste0("[", format_change(low), ", ", format_change(high), "]"))
}

# Rows under a line that names their treatment, where there is more than one.
comparison_lines <- function(rows, lines) {
  treated <- rows$level_requested_percent > 0
  factors <- varying_factors(rows[treated, ])
  if (length(factors) == 0) return(lines)
  label <- treatment_label(rows[treated, ], factors, named = TRUE)
  c(lines[!treated], unlist(Map(function(name, group) c(paste0("  ", name, ":"), group), levels(in_order(label)),
                                split(lines[treated], in_order(label))), use.names = FALSE))
}

format_comparison_margin <- function(comparison) {
  if (is.null(comparison$margin_percent)) return(NULL)
  rows <- comparison$rows[comparison$rows$family == "time", ]
  form <- paste0("  %-", max(nchar(cell_words(rows))), "s %9s %20s  %s")
  lines <- sprintf(form, cell_words(rows), format_change(rows$effect), change_interval(rows$bound_low, rows$bound_high),
                   short_margin(rows$margin_verdict))
  c(sprintf("margin %g %% of the clean time: %s", comparison$margin_percent, comparison$answer),
    wrap_line(paste(sprintf("by the interval of confidence %g %% against", 100 * (1 - 2 * comparison$alpha)),
                    sprintf("+-%g %%; slower by more: after Holm's correction over these rows",
                            comparison$margin_percent))),
    sprintf(form, "", "change %", sprintf("%g %% CI", 100 * (1 - 2 * comparison$alpha)), "verdict"), lines,
    wrap_line(sprintf("inconclusive: %s", unique(stats::na.omit(rows$margin_reason)))), "")
}

format_differs <- function(differs) {
  if (nrow(differs) == 0) return(c("what differs: nothing that is recorded", ""))
  c("what differs", unlist(lapply(seq_len(nrow(differs)), function(i) {
    wrap_line(sprintf("%s: A %s; B %s", differs$what[i], differs$a[i], differs$b[i]))
  })), "")
}

#' @rdname format_comparison
#' @export
comparison_json <- function(comparison) {
  to_json(list(
    schema = 1L, program = "noiselab-compare", version = package_version_text(), alpha = comparison$alpha,
    power = comparison$power, margin_percent = comparison$margin_percent %||% NA_real_, paired = comparison$paired,
    answer = comparison$answer, sides = comparison$sides, rows = comparison$rows, differs = comparison$differs,
    notes = as.character(unique(comparison$notes))
  ), single = c("schema", "program", "version", "alpha", "power", "margin_percent", "paired", "answer"))
}

#' @rdname format_comparison
#' @export
comparison_csv <- function(comparison) csv_lines(comparison$rows)
