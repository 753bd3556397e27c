# Output for people (a table of 100 columns) and for programs (JSON, CSV).

format_p <- function(p) {
  ifelse(is.na(p), "-", ifelse(p <= 1e-300, "<1e-300", ifelse(p < 1e-4, sprintf("%.0e", p),
                                                               sprintf("%.4f", p))))
}

format_effect <- function(x, sign = TRUE) {
  digits <- ifelse(is.na(x) | abs(x) >= 100, 0, ifelse(abs(x) >= 10, 1, ifelse(abs(x) >= 1, 2, 3)))
  text <- sprintf(if (sign) "%+.*f" else "%.*f", digits, x)
  small <- !is.na(x) & x != 0 & abs(x) < 0.0095
  text[small] <- sprintf(if (sign) "%+.1e" else "%.1e", x[small])
  small <- small & abs(x) >= 0.00095
  text[small] <- sprintf(if (sign) "%+.4f" else "%.4f", x[small])
  ifelse(is.na(x), "-", text)
}

format_interval <- function(low, high) {
  ifelse(is.na(low) | is.na(high), "-", paste0("[", format_effect(low), ", ", format_effect(high), "]"))
}

# Of an interval that leaves `alpha`: in percent, as long as that tells it from 100 %.
format_confidence <- function(alpha) if (alpha >= 1e-5) sprintf("%.7g %%", 100 * (1 - alpha)) else sprintf("1 - %.2g", alpha)

format_count <- function(x) format(x, scientific = FALSE, trim = TRUE)

format_level <- function(x) ifelse(is.finite(x), sprintf("%g", signif(x, 3)), "-")

#' Format verdicts for people
#'
#' One block per operation, size and scope, at most 100 columns wide; then thresholds, amplification
#' and cost, then notes. Where several treatments were run, each block names them by the factors that vary,
#' and a table sets their slowdowns side by side, followed by what slows each operation most against the
#' others. A factor that has one value everywhere is named once, at the top, unless it is the default
#' (kind spin, pattern periodic, placement last, phase random).
#'
#' @param analysis An `nl_analysis` from [analyze_campaign()].
#' @param estimators Logical, length 1: also the table of estimators.
#' @return Character, one element per line.
#' @examples
#' dir <- file.path(tempdir(), "format")
#' simulate_campaign(dir, pairs = 20, levels_percent = c(0, 5), seed = 1)
#' cat(format_verdicts(analyze_campaign(read_campaign(dir), channels = "time")), sep = "\n")
#' unlink(dir, recursive = TRUE)
#' @export
format_verdicts <- function(analysis, estimators = FALSE) {
  verdicts <- main_rows(analysis$verdicts)
  block <- paste(verdicts$scope, verdicts$launch, verdicts$operation, verdicts$bytes, sep = "\r")
  blocks <- lapply(split(verdicts, factor(block, unique(block))), format_block, analysis = analysis)
  constant <- constant_treatment(analysis$treatments)
  c(if (nzchar(constant)) c(paste("treatment:", constant), ""), unlist(blocks, use.names = FALSE),
    channel_legend(verdicts), wrap_line(agent_sentences(analysis)), if (has_agent(analysis$campaign)) "",
    format_margin(analysis), if (estimators) format_estimators(analysis), format_side_by_side(analysis), format_contrasts(analysis), format_thresholds(analysis),
    format_costs(analysis), format_notes(c(scope_note(analysis$verdicts), analysis$notes)), format_answer(analysis))
}

# Lines of a table in groups, each under a line that names its treatment; as they are where there is one.
under_treatments <- function(rows, lines, analysis) {
  factors <- varying_factors(analysis$treatments)
  if (length(factors) == 0 || nrow(rows) == 0) return(lines)
  label <- treatment_label(rows, factors, named = TRUE)
  groups <- split(lines, in_order(label))
  unlist(Map(function(name, group) c(paste0("  ", name, ":"), group), names(groups), groups), use.names = FALSE)
}

format_block <- function(rows, analysis) {
  alpha <- analysis$alpha
  power <- analysis$power
  first <- rows[1, ]
  title <- sprintf("%s, %s B, %s ranks   (%s)", first$operation, format_count(first$bytes),
                   format_level(first$ranks),
                   if (is.na(first$launch)) {
                     sprintf("scope: %s; unit: %s, n = %s", first$scope, first$unit_of_inference,
                             if (first$unit_of_inference == "pair") paste(format_range(rows$n_pairs), "per level,", max(rows$n_launches), "launches") else
                               format_count(max(rows$n_launches)))
                   } else {
                     sprintf("scope: %s, %s; unit: pair, n = %s per level", first$scope, first$launch,
                             format_range(rows$n_pairs))
                   })
  units <- c(pair = "pairs", launch = "launches", "set of launches" = "sets of launches")[[first$unit_of_inference]]
  what <- sprintf("alpha %g one-sided; n = %s tested; limit = effect found with power %g", first$alpha, units, power)
  header <- sprintf("%-7s %7s %9s %6s %9s %20s %8s %9s  %s", "channel", "level %", "delivered", "n",
                    "effect", paste(format_confidence(2 * first$alpha), "CI"), "p", "limit", "verdict")
  lines <- sprintf("%-7s %7s %9s %6s %9s %20s %8s %9s  %s", rows$channel,
                   format_level(rows$level_requested_percent),
                   format_level(rows$level_delivered_percent), format_count(rows$n_tested),
                   format_effect(rows$estimate),
                   format_interval(rows$ci_low, rows$ci_high), format_p(rows$p_one_sided),
                   format_effect(rows$detection_limit, sign = FALSE), short_verdict(rows))
  alone <- is_alone(rows)
  c(title, paste0("  ", what), paste0("  ", header), under_treatments(rows, paste0("  ", lines), analysis),
    wrap_line(with_rows(rows, rows$reason, "inconclusive")),
    wrap_line(with_rows(rows, ifelse(nzchar(rows$estimator_note), rows$estimator_note, NA), "estimate")),
    if (any(alone)) wrap_line(paste("detected (alone): at alpha in its own channel and operation, not with the chance of any",
                                    "false detection over all of them at alpha")),
    "")
}

# Each text once, with the rows that it concerns. Figures in a text that differ from row to row are left to the rows.
with_rows <- function(rows, text, word) {
  same <- sub("only an effect above [^ ]+ % could have been seen", "only an effect above the limit could have been seen", text)
  same <- gsub("(in|;) [0-9.e+-]+ % of (the pairs|them)", "\\1 some of \\2", same)
  known <- which(!is.na(same))
  vapply(split(known, in_order(same[known])), function(at) {
    by <- split(rows$level_requested_percent[at], in_order(rows$channel[at]))
    whole <- vapply(names(by), function(name) length(by[[name]]) == sum(rows$channel == name), TRUE)
    levels <- vapply(by, function(x) paste(format_level(sort(unique(x))), collapse = ", "), "")
    part <- paste0(names(by), ifelse(whole | levels == "-", "", paste0(" at ", levels, " %")))
    sprintf("%s: %s: %s", word, if (all(whole) && length(by) == length(unique(rows$channel))) "all" else paste(part, collapse = "; "), same[at[1]])
  }, "", USE.NAMES = FALSE)
}

# The limit has its own column, and reasons their own lines.
short_verdict <- function(rows) {
  ifelse(rows$verdict_because == "higher_level_failed", "inconcl. (higher level failed)", ifelse(is_alone(rows), "detected (alone)", rows$verdict))
}

# Detected at alpha in its own family, but not with the chance of any false detection over all of them at alpha.
is_alone <- function(rows) rows$verdict == "detected" & rows$familywise %in% FALSE

# Each channel of the tables in a line: its unit, and the question that it answers.
channel_lines <- function(rows) {
  units <- unique(rows[c("channel", "unit")])
  sprintf("%s, %s: %s", units$channel, units$unit, vapply(channels[units$channel], `[[`, "", "question"))
}

channel_legend <- function(rows) c(wrap_line(channel_lines(rows)), "")

format_range <- function(n) {
  n <- range(n)
  if (n[1] == n[2]) format_count(n[1]) else paste(format_count(n), collapse = " to ")
}

wrap_line <- function(text, indent = 2) {
  unlist(lapply(text, strwrap, width = 98, indent = indent, exdent = indent + 2))
}

format_thresholds <- function(analysis) {
  rows <- analysis$thresholds
  if (is.null(rows) || nrow(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  without <- rows$kind[rows$pattern %in% no_word]
  lacking <- sprintf("no dose-response, threshold or level of %s: the treatment has no level", join_words(unique(without)))
  rows <- rows[!rows$pattern %in% no_word, ]
  if (nrow(rows) == 0) return(c(lacking, ""))
  n <- sprintf("%s %s", format_count(rows$n_tested), ifelse(is.na(rows$launch), "launches", "pairs"))
  name <- paste0(rows$operation, ifelse(rows$bytes > 0, paste0(" ", format_count(rows$bytes), " B"), ""), " ", rows$channel)
  lines <- sprintf("  %-26s %-22s %-30s %s", name,
                   ifelse(is.na(rows$med_percent), paste("none", format_levels(rows$med_low_percent, rows$med_high_percent)),
                          paste(format_level(rows$med_percent), format_levels(rows$med_low_percent, rows$med_high_percent))),
                   paste(format_level(rows$lod_percent), format_levels(rows$lod_low_percent, rows$lod_high_percent)), n)
  c(sprintf("thresholds, in percent of one CPU, each with its %g %% CI", 100 * (1 - analysis$alpha)),
    wrap_line(paste("MED: smallest level detected [those that runs like this detect more often than not]; LOD: level whose",
                    "effect reaches the placebo's limit; n: pairs or launches per level")),
    sprintf("  %-26s %-22s %-30s %s", "operation, channel", "MED", "LOD", "n"),
    under_treatments(rows, lines, analysis), format_d_delta(rows, analysis),
    wrap_line(threshold_reasons(rows, analysis)), if (length(without) > 0) wrap_line(lacking), "")
}

# Intervals of levels: 0 and infinity are open ends.
format_levels <- function(low, high) {
  end <- function(x) ifelse(is.infinite(x), "above all", format_level(x))
  ifelse(is.na(low) | is.na(high), "", ifelse(is.infinite(low), "[above all]", paste0("[", end(low), ", ", end(high), "]")))
}

# The level that slows by delta is asked of loop times only.
format_d_delta <- function(rows, analysis) {
  rows <- rows[rows$channel == "time", ]
  if (nrow(rows) == 0) return(NULL)
  label <- label_in(rows, analysis)
  wrap_line(sprintf("slowed by %g %% at level: %s%s %s %s%s", rows$delta_percent, panel_name(rows),
                    ifelse(nzchar(label), paste0(" (", label, ")"), ""),
                    ifelse(is.na(rows$d_delta_percent), "none tested", paste(format_level(rows$d_delta_percent), "%")),
                    format_levels(rows$d_delta_low_percent, rows$d_delta_high_percent),
                    ifelse(is.na(rows$d_delta_reason), "", paste0(" (", rows$d_delta_reason, ")"))))
}

# The three-way verdicts, and the one answer.
format_margin <- function(analysis) {
  if (is.null(analysis$margin)) return(NULL)
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!is.na(rows$margin_verdict), ]
  words <- c(above = "slower by more than the margin", below = "slowed by less than the margin", inconclusive = "inconclusive")
  alpha <- unique(rows$alpha)
  head <- if (length(alpha) == 1) {
    sprintf("against the margin of %s %% (one %s CI, both one-sided tests at alpha %g)", format_level(analysis$margin),
            format_confidence(2 * alpha), alpha)
  } else sprintf("against the margin of %s %% (each row by one CI of its own alpha, see above)", format_level(analysis$margin))
  lines <- sprintf("  %-16s %9s %7s %9s %22s  %s", rows$operation, format_count(rows$bytes),
                   format_level(rows$level_requested_percent), format_effect(rows$margin_estimate),
                   format_interval(rows$margin_low, rows$margin_high), words[rows$margin_verdict])
  answer <- analysis$margin_answer
  c(head, under_treatments(rows, lines, analysis), wrap_line(margin_needs_words(rows, analysis)),
    wrap_line(paste0("answer: ", answer$answer, if (!is.na(answer$reason)) paste0(" (", answer$reason, ")"))), "")
}

format_estimators <- function(analysis) {
  rows <- analysis$estimators
  if (NROW(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  head <- c(sprintf("estimates of the slowdown, percent, with %g %% CI", 100 * (1 - 2 * analysis$alpha)),
            wrap_line("gain: adjusting is worth so many times the pairs"))
  lines <- sprintf("  %-12s %8s %7s  %-12s %9s %22s %6s  %s", rows$operation, format_count(rows$bytes),
                   format_level(rows$level_requested_percent), rows$estimator, format_effect(rows$estimate),
                   format_interval(rows$ci_low, rows$ci_high), ifelse(is.na(rows$gain), "", format_effect(rows$gain, FALSE)),
                   ifelse(is.na(rows$reason), "", "see below"))
  remark <- unique(rbind(data.frame(name = rows$estimator, text = rows$note),
                         data.frame(name = rows$estimator, text = rows$reason)))
  remark <- remark[!is.na(remark$text) & nzchar(remark$text), ]
  c(head, under_treatments(rows, lines, analysis), wrap_line(paste0(remark$name, ": ", remark$text)), "")
}

threshold_reasons <- function(rows, analysis) {
  reason <- c(ifelse(is.na(rows$med_reason), NA, paste("no MED:", rows$med_reason)),
              ifelse(is.na(rows$lod_reason), NA, paste("no LOD:", rows$lod_reason)))
  label <- label_in(rows, analysis)
  name <- rep(paste0(rows$operation, " ", rows$channel, ifelse(nzchar(label), paste0(" (", label, ")"), "")), 2)
  known <- !is.na(reason)
  vapply(split(name[known], reason[known]), function(x) paste(unique(x), collapse = ", "), "") |>
    (\(who) if (length(who) == 0) character() else paste0(names(who), ": ", who))()
}

format_costs <- function(analysis) {
  pair_up <- function(rows, value) {
    if (nrow(rows) == 0) return(NULL)
    rows <- main_rows(rows)
    rows[!is.na(rows[[value]]), ]
  }
  amplification <- pair_up(analysis$amplification, "amplification")
  cost <- pair_up(analysis$cost, "cost_ns")
  lines <- function(rows, value) {
    under_treatments(rows, sprintf(
      "  %-16s %9s %7s %10s %24s  %s", rows$operation, format_count(rows$bytes),
      format_level(rows$level_requested_percent), format_effect(rows[[value]], sign = FALSE),
      format_interval(rows$ci_low, rows$ci_high), ifelse(is.na(rows$launch), rows$scope, rows$launch)
    ), analysis)
  }
  c(if (NROW(amplification) > 0) c("amplification: slowdown % / mean preempted %, by level, with CI",
                                   lines(amplification, "amplification"), ""),
    if (NROW(cost) > 0) c("cost of one interruption beyond the load itself, in ns, by level, with CI",
                          lines(cost, "cost_ns"), ""))
}

# Slowdowns of the treatments at each level: one matrix of texts per operation, a row per treatment and a
# column per level above 0; NULL where there is one treatment. `cell` makes the text of the verdicts.
side_by_side <- function(analysis, cell) {
  if (!several_treatments(analysis)) return(NULL)
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$channel == "time" & rows$level_requested_percent > 0 & !is.na(rows$estimate), ]
  if (nrow(rows) == 0) return(NULL)
  label <- label_in(rows, analysis)
  labels <- intersect(label_in(analysis$treatments, analysis), label)
  name <- panel_name(rows)
  if (length(unique(rows$ranks)) > 1) name <- paste0(name, ", ", format_level(rows$ranks), " ranks")
  lapply(split(seq_len(nrow(rows)), in_order(name)), function(at) {
    levels <- sort(unique(rows$level_requested_percent[at]))
    text <- worst <- matrix("", length(labels), length(levels),
                            dimnames = list(labels, ifelse(has_level(levels), paste(format_level(levels), "%"), "no level")))
    place <- cbind(match(label[at], labels), match(rows$level_requested_percent[at], levels))
    text[place] <- cell(rows[at, ])
    largest <- stats::ave(rows$estimate[at], rows$level_requested_percent[at], FUN = max)
    worst[place] <- ifelse(rows$estimate[at] == largest, "worst", "")
    list(text = text, worst = worst)
  })
}

format_side_by_side <- function(analysis) {
  tables <- side_by_side(analysis, function(rows) {
    paste0(format_effect(rows$estimate), ifelse(rows$verdict == "detected", " ", "?"))
  })
  if (is.null(tables)) return(NULL)
  lines <- lapply(names(tables), function(name) {
    text <- tables[[name]]$text
    text[] <- paste0(text, ifelse(tables[[name]]$worst == "worst", "*", " "))
    width <- max(nchar(c(rownames(text), name)))
    columns <- seq_len(ncol(text))
    lapply(split(columns, (columns - 1) %/% max(1, (98 - width) %/% 12)), function(j) {
      head <- c(name, paste0(colnames(text)[j], "  "))
      apply(rbind(head, cbind(rownames(text), text[, j, drop = FALSE])), 1, function(x) {
        trimws(sprintf("  %-*s%s", width, x[1], paste(sprintf("%12s", x[-1]), collapse = "")), "right")
      })
    })
  })
  c("slowdown %, by treatment and requested level (* the largest at the level, ? not detected)", unlist(lines, use.names = FALSE), "")
}

format_contrasts <- function(analysis) {
  rows <- worst_contrasts(analysis$contrasts, analysis)
  if (NROW(rows) == 0) return(NULL)
  level <- ifelse(has_level(rows$level_requested_percent), at_level(rows), "")
  block <- paste0("  ", panel_name(rows), level, ": longer under ", rows$a, " than under")
  width <- max(nchar(rows$b), 20)
  lines <- sprintf("    %-*s %9s %22s %8s  %s", width, rows$b, format_effect(rows$difference_percent),
                   format_interval(rows$ci_low, rows$ci_high), format_p(rows$p_holm),
                   ifelse(is.na(rows$launch), rows$scope, rows$launch))
  c("the treatment that slows most at each level, against each other one",
    wrap_line(sprintf(paste("percent by which the operation takes longer, with %g %% CI (Welch); p two-sided, by Holm over",
                            "all levels and pairs of treatments of the operation; scope"), 100 * (1 - analysis$alpha))),
    unlist(Map(c, unique(block), split(lines, in_order(block))), use.names = FALSE), "")
}

format_notes <- function(notes) {
  if (length(notes) == 0) return(NULL)
  c("notes", wrap_line(paste("-", unique(notes))))
}

#' Verdicts as JSON or CSV
#'
#' @param analysis An `nl_analysis` from [analyze_campaign()].
#' @param table Character, length 1: `verdicts`, `thresholds`, `amplification`, `cost`, `contrasts` or `estimators`.
#' @return `verdicts_json()`: one string, an object with `schema`, `program`, `version`, `alpha`,
#'   `power`, `launches`, `verdicts`, `thresholds`, `amplification`, `cost`, `contrasts`, `estimators` (arrays of
#'   objects), `margin_percent`, `margin_answer`, `margin_reason`, `looks` (of [campaign_looks()]) and `notes`; numbers in full precision, unknown values null. `verdicts_csv()`: character, the
#'   wanted table as lines of a CSV file; none where it has no rows.
#' @examples
#' dir <- file.path(tempdir(), "json")
#' simulate_campaign(dir, pairs = 10, levels_percent = 5, seed = 1)
#' analysis <- analyze_campaign(read_campaign(dir), channels = "time")
#' substr(verdicts_json(analysis), 1, 60)
#' verdicts_csv(analysis)[1]
#' unlink(dir, recursive = TRUE)
#' @export
verdicts_json <- function(analysis) {
  to_json(list(
    schema = 1L, program = "noiselab-analyze", version = package_version_text(),
    alpha = analysis$alpha, power = analysis$power, launches = names(analysis$campaign$launches),
    verdicts = public_verdicts(analysis$verdicts), thresholds = analysis$thresholds,
    amplification = analysis$amplification, cost = analysis$cost, contrasts = analysis$contrasts,
    estimators = analysis$estimators, margin_percent = analysis$margin %||% NA_real_,
    margin_answer = analysis$margin_answer$answer %||% NA_character_,
    margin_reason = analysis$margin_answer$reason %||% NA_character_, looks = lapply(analysis$looks, jsonlite::unbox), notes = as.character(unique(analysis$notes))
  ), single = c("schema", "program", "version", "alpha", "power", "margin_percent", "margin_answer", "margin_reason"))
}

#' @rdname verdicts_json
#' @export
verdicts_csv <- function(analysis, table = "verdicts") {
  check_argument(is_text(table) && table %in% csv_tables, "table", table, paste(csv_tables, collapse = ", "))
  rows <- if (table == "verdicts") public_verdicts(analysis$verdicts) else analysis[[table]]
  if (NROW(rows) == 0) character() else csv_lines(rows)
}

csv_tables <- c("verdicts", "thresholds", "amplification", "cost", "contrasts", "estimators")

public_verdicts <- function(verdicts) verdicts[!startsWith(names(verdicts), "raw_") & names(verdicts) != "refused"]

to_json <- function(x, single = character()) {
  x[single] <- lapply(x[single], jsonlite::unbox)
  x <- lapply(x, function(part) if (is.null(part)) list() else part)
  as.character(jsonlite::toJSON(x, dataframe = "rows", na = "null", null = "null", digits = NA,
                                pretty = TRUE))
}

# The table as files have it: no field where there is no level.
without_levels <- function(frame) {
  for (name in intersect(c("level_requested_percent", "level"), names(frame))) {
    level <- frame[[name]]
    if (is.numeric(level)) frame[[name]] <- ifelse(has_level(level), level, NA_real_)
  }
  frame
}

csv_lines <- function(frame) {
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  data.table::fwrite(without_levels(frame), file, na = "", quote = "auto")
  readLines(file)
}

package_version_text <- function() as.character(utils::packageVersion("noiselab"))

#' Format judged tables
#'
#' A `?` after a verdict, a p-value or a threshold: digits that are not printed in the table could turn it.
#'
#' @param judged The result of [judge_summary()].
#' @return `format_summary()`: character, one element per line; `summary_json()`: one string with
#'   `schema`, `rows`, `configurations` and, with a margin, `margin_percent` and `answer`; `summary_csv()`: character,
#'   the rows as CSV lines.
#' @examples
#' file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
#' cat(format_summary(judge_summary(read_summary(file)))[1:4], sep = "\n")
#' @export
format_summary <- function(judged) {
  rows <- judged$rows
  doubt <- function(text, sure) paste0(text, ifelse(!is.na(sure) & !sure, "?", ""))
  yes <- function(x, sure) doubt(ifelse(x, "yes", "no"), sure)
  head <- c("table", "config", "op", "bytes", "level", "slower %", "P", "N", "Welch p", "Holm p",
            "P alarm", "limit %")
  widths <- c("%-5s", "%-6s", "%-10s", "%8s", "%6s", "%9s", "%4s", "%4s", "%8s", "%8s", "%8s", "%8s")
  form <- paste(widths, collapse = " ")
  lines <- sprintf(form, rows$table, rows$config, rows$op, format_count(rows$bytes),
                   format_level(rows$level_percent), format_effect(rows$slowdown_percent),
                   yes(rows$rule_p, rows$rule_p_sure), yes(rows$rule_n, rows$rule_n_sure),
                   doubt(format_p(rows$welch_p_one_sided), rows$welch_sure),
                   doubt(format_p(rows$holm_p), rows$holm_sure),
                   sprintf("%.2f %%", 100 * rows$rule_p_false_alarm),
                   format_effect(rows$detection_limit_percent, sign = FALSE))
  thresholds <- judged$configurations
  c(do.call(sprintf, c(form, as.list(head))), lines, "",
    wrap_line(paste("P: the noisy mean lies above the clean mean's 99 % CI; N: the two CIs do not",
                    "overlap; Welch and Holm (over all rows): one-sided; P alarm: the false-alarm",
                    "rate rule P has at these n; limit: slowdown that Welch's test finds at",
                    "alpha 0.01 with power 0.95."), 0), wrap_line(doubt_words(judged), 0), "",
    "smallest level from which every higher level is detected, percent of one CPU",
    sprintf("  %-5s %-6s %-10s %8s %12s %12s", "table", "config", "op", "bytes", "by rule P",
            "by rule N"),
    sprintf("  %-5s %-6s %-10s %8s %12s %12s", thresholds$table, thresholds$config, thresholds$op,
            format_count(thresholds$bytes),
            doubt(format_level(thresholds$threshold_rule_p_percent), thresholds$threshold_rule_p_sure),
            doubt(format_level(thresholds$threshold_rule_n_percent), thresholds$threshold_rule_n_sure)),
    format_summary_margin(judged, doubt))
}

doubt_words <- function(judged) {
  sure <- unlist(lapply(judged[c("rows", "configurations")], function(part) part[grep("_sure$", names(part))]))
  if (all(is.na(sure))) return("The digits that were printed are not known: what rounding could change is not said.")
  if (all(sure, na.rm = TRUE)) return("No verdict hangs on the rounding of the printed means and SDs.")
  paste("?: hangs on digits that are not printed. A 12.34 may be anything from 12.335 to 12.345, a 431 from 430.5 to",
        "431.5; n is exact. Verdicts of tests: at alpha 0.01.")
}

format_summary_margin <- function(judged, doubt) {
  if (is.null(judged$answer)) return(NULL)
  rows <- judged$rows
  form <- "  %-5s %-6s %-10s %8s %6s %9s %18s  %s"
  c("", sprintf("margin %g %% of the clean mean: %s", judged$margin_percent, judged$answer),
    sprintf(form, "table", "config", "op", "bytes", "level", "slower %", "98 % CI", "verdict"),
    sprintf(form, rows$table, rows$config, rows$op, format_count(rows$bytes), format_level(rows$level_percent),
            format_effect(rows$slowdown_percent), format_interval(rows$bound_low_percent, rows$bound_high_percent),
            doubt(short_margin(rows$margin_verdict), rows$margin_sure)),
    wrap_line(paste("CI: Welch's, by inversion; a verdict is that of the interval, slower by more after Holm's",
                    "correction over all rows; fail: any row is slower by more; pass: none is, and none is inconclusive")),
    wrap_line(sprintf("inconclusive: %s", unique(stats::na.omit(rows$margin_reason)))))
}

#' @rdname format_summary
#' @export
summary_json <- function(judged) {
  to_json(c(list(schema = 1L), judged), single = c("schema", intersect(c("margin_percent", "answer"), names(judged))))
}

#' @rdname format_summary
#' @export
summary_csv <- function(judged) csv_lines(judged$rows)
