# The facts of the answer: what terminal and report both say, from the same rows. Text is made of them elsewhere.

# What a row of verdicts says, one of a closed set. Alone: at alpha in its own family (operation, size, treatment,
# channel), but not with the chance of any false detection over all families at alpha.
outcomes <- c("detected", "detected alone", "not detected", "inconclusive")

row_outcome <- function(rows) ifelse(is_alone(rows), "detected alone", rows$verdict)

#' The facts of an answer
#'
#' What was detected, what was not and would have been, and what could not be judged, in the widest scope of an analysis.
#'
#' @param analysis An `nl_analysis` from [analyze_campaign()].
#' @return A list:
#'   * `families`: data frame, one row per operation, size, treatment and channel that had a load: `scope`, `launch`,
#'     `operation`, `bytes`, `ranks`, `kind`, `pattern`, `placement`, `phase`, `channel`, `unit`, `level_requested_percent` (the lowest;
#'     `Inf`: a treatment without a level); `outcome` (`detected`, `detected alone`: not with all families counted together, `not detected`,
#'     `inconclusive`); `level_percent` (the smallest level detected with all families counted together, else the smallest detected alone;
#'     NA: none; `Inf`: a treatment without a level), `below_percent` (the next lower one, 0: none), `alone_percent` (a smaller level that
#'     is detected alone, else NA); of the row at that level `estimate`, `ci_low`, `ci_high` (in `unit`), `p_one_sided`;
#'     `limit` (in `unit`: the largest detection limit of the levels that were judged and not detected, NA: none), `n_levels`,
#'     `n_refused` (levels, and of them those without a verdict), `reason` (of the first of these, else NA);
#'   * `smallest`: the row of `families` with the smallest level that is detected with all families counted together (of
#'     equal ones that of `time`), NULL: none; `alone`: the same of what is detected alone at a smaller level, NULL;
#'   * `refused`: data frame, one row per reason why rows have no verdict: `reason`, `n` (rows).
#' @examples
#' \dontrun{
#' answer_facts(analyze_campaign(read_campaign("campaign")))$smallest[c("channel", "level_percent")]
#' }
#' @export
answer_facts <- function(analysis) {
  check_argument(inherits(analysis, "nl_analysis"), "analysis", class(analysis), "the result of analyze_campaign()")
  rows <- widest_scope(analysis$verdicts)
  rows <- rows[rows$level_requested_percent > 0 & !vapply(channels[rows$channel], `[[`, TRUE, "control"), ]
  if (nrow(rows) == 0) return(list(families = NULL, smallest = NULL, alone = NULL, refused = refused_reasons(rows)))
  rows$outcome <- row_outcome(rows)
  families <- bind_rows(lapply(split_families(rows), family_facts))
  list(families = families, smallest = smallest_family(families, families$level_percent, families$outcome == "detected"),
       alone = smallest_alone(families), refused = refused_reasons(rows))
}

family_facts <- function(rows) {
  rows <- rows[order(rows$level_requested_percent), ]
  level <- rows$level_requested_percent
  sure <- rows$outcome == "detected"
  alone <- rows$outcome == "detected alone"
  open <- rows$outcome == "not detected"
  at <- if (any(sure)) which(sure)[1] else if (any(alone)) which(alone)[1] else nrow(rows)
  found <- any(sure | alone)
  smaller <- any(sure) && any(alone[seq_len(at)])
  refused <- !is.na(rows$reason)
  of <- function(name) rows[[name]][at]
  columns <- intersect(c("scope", "launch", "operation", "bytes", "ranks", treatment_columns, "channel", "unit", "level_requested_percent"),
                       names(rows))
  cbind(rows[1, columns], data.frame(
    outcome = if (any(sure)) "detected" else if (found) "detected alone" else if (any(open)) "not detected" else "inconclusive",
    level_percent = if (found) level[at] else NA_real_, below_percent = if (found) c(0, level)[at] else NA_real_,
    alone_percent = if (smaller) level[which(alone)[1]] else NA_real_, estimate = of("estimate"), ci_low = of("ci_low"),
    ci_high = of("ci_high"), p_one_sided = of("p_one_sided"),
    limit = if (any(open)) max_or_na(rows$detection_limit[open]) else NA_real_, n_levels = nrow(rows), n_refused = sum(refused),
    reason = if (any(refused)) rows$reason[refused][1] else NA_character_
  ), row.names = NULL)
}

smallest_family <- function(families, level, use) {
  use <- which(use & is.finite(level))
  if (length(use) == 0) return(NULL)
  families[use[order(level[use], families$channel[use] != "time")][1], ]
}

smallest_alone <- function(families) {
  level <- ifelse(families$outcome == "detected alone", families$level_percent, families$alone_percent)
  row <- smallest_family(families, level, !is.na(level))
  if (is.null(row)) return(NULL)
  row$level_percent <- min(level[is.finite(level)])
  sure <- families$level_percent[families$outcome == "detected"]
  if (row$level_percent < min(Inf, sure)) row
}

# Each reason once, the most frequent first.
refused_reasons <- function(rows) {
  counts <- sort(table(rows$reason[!is.na(rows$reason)]), decreasing = TRUE)
  data.frame(reason = as.character(names(counts)), n = as.integer(counts))
}

is_clean <- function(analysis) NROW(analysis$verdicts) == 0
