# How much of a nonblocking operation hides behind work: ibcast alone, ibcast+work, and work:ibcast, the work alone.

overlap_base <- function(operation) sub("\\+work$", "", sub("^work:", "", operation))

overlap_role <- function(operation) {
  ifelse(startsWith(operation, "work:"), "work", ifelse(endsWith(operation, "+work"), "both", "alone"))
}

#' Overlap of nonblocking operations with work
#'
#' The share of the operation's time that disappears behind work done between its start and its completion,
#' 1 - (both - work) / alone. Halves are compared within the same round of the schedule, so that slow drift of the
#' machine cancels; the interval is Fieller's. 1: all of it hides; 0: nothing; below 0: operation and work
#' together take longer than one after the other. Nothing is clamped.
#'
#' @param campaign An `nl_campaign` from [read_campaign()] (`arms = "any"` will do).
#' @param conf Confidence of the intervals, length 1.
#' @return A data frame, one row per scope x launch x operation x bytes x ranks x arm x level x treatment: `scope`,
#'   `launch` (NA over launches: the launch is then the unit, the interval Student's), `operation` (without work),
#'   `bytes`, `ranks`, `arm`, `level_requested_percent`, `kind`, `pattern`, `placement`, `phase`, `n` (rounds, or
#'   launches), `alone_ns`, `both_ns`, `work_ns` (mean time of one), `overlap`, `overlap_low`, `overlap_high` (share, of
#'   mean times), `median_overlap` (share, of the median times of single starts: what a start without disturbance
#'   does; of launches with synchronised starts), `reason` (why there is no overlap, else NA). No rows without such
#'   operations.
#' @references Fieller, E. C. (1954), see `fieller_ratio()`.
#' @noRd
overlap_shares <- function(campaign, conf = 0.99) {
  check_probability(conf, "conf")
  rows <- campaign$rows
  base <- overlap_base(rows[["operation"]])
  at <- which(base %in% base[overlap_role(rows[["operation"]]) != "alone"])
  if (length(at) == 0) return(data.frame())
  table <- as.data.frame(rows[at, c("launch", "bytes", "ranks", "pair", "order", "arm", "level_requested_percent",
                                    treatment_columns), with = FALSE])
  table$operation <- base[at]
  table$role <- overlap_role(rows[["operation"]][at])
  table$time <- operation_ns_at(rows, at)
  by <- c("launch", "operation", "bytes", "ranks", "arm", "level_requested_percent", treatment_columns)
  key <- do.call(paste, c(lapply(table[by], as.character), sep = "\r"))
  within <- bind_rows(lapply(split(table, in_order(key)), function(g) {
    cbind(data.frame(scope = scope_launch), g[1, by], overlap_of(g, conf))
  }))
  within[treatment_columns] <- lapply(within[treatment_columns], as.character)
  within$median_overlap <- vapply(seq_len(nrow(within)), function(i) median_overlap(campaign$starts_hist, within[i, ]), 0)
  across <- lapply(groups_across(within, setdiff(by, "launch")), function(g) {
    x <- g$overlap[!is.na(g$overlap)]
    ci <- batch_mean_ci(x, conf, groups = Inf)
    g[1, c("scope", "launch")] <- list(scope_campaign, NA)
    g[1, c("alone_ns", "both_ns", "work_ns")] <- colMeans(g[c("alone_ns", "both_ns", "work_ns")])
    g[1, c("n", "overlap", "overlap_low", "overlap_high")] <- list(length(x), ci$estimate, ci$low, ci$high)
    g$median_overlap[1] <- mean(g$median_overlap)
    g$reason[1] <- if (length(x) > 1) NA_character_ else "fewer than 2 launches have a value"
    g[1, ]
  })
  table <- bind_rows(c(across, list(within)))
  table[order(table$scope != scope_campaign, table$launch, table$operation, table$bytes, table$arm != "off",
              table$level_requested_percent), ] |> `rownames<-`(NULL)
}

# Every round of a schedule runs each configuration in each arm equally often: the k-th half of one belongs
# to the same round as the k-th of the others.
overlap_of <- function(g, conf) {
  g <- g[order(g$pair, g$order), ]
  times <- split(g$time, factor(g$role, c("alone", "both", "work")))
  n <- min(lengths(times))
  lacking <- names(times)[lengths(times) == 0]
  mean_of <- function(role) if (length(times[[role]]) > 0) mean(times[[role]]) else NA_real_
  part <- lapply(times, utils::head, n)
  known <- Reduce(`&`, lapply(part, is.finite), rep(TRUE, n))
  part <- lapply(part, `[`, known)
  ratio <- if (length(lacking) > 0) {
    no_ratio(paste("no half of", join_words(c(alone = "the operation alone", both = "both together", work = "the work alone")[lacking])))
  } else fieller_ratio(part$both - part$work, part$alone, conf)
  data.frame(n = sum(known), alone_ns = mean_of("alone"), both_ns = mean_of("both"), work_ns = mean_of("work"),
             overlap = 1 - ratio$estimate, overlap_low = 1 - ratio$high, overlap_high = 1 - ratio$low, reason = ratio$reason)
}

median_overlap <- function(hist, row) {
  if (nrow(hist) == 0) return(NA_real_)
  of <- as.list(row[c("operation", "bytes", "arm", "level_requested_percent", treatment_columns)])
  time <- vapply(c("%s", "%s+work", "work:%s"), function(form) {
    start_quantiles(hist, row$launch, c(operation = sprintf(form, of$operation), of[-1]))("global", 0.5)
  }, 0)
  unname(1 - (time[2] - time[3]) / time[1])
}

# ---- noiselab analyze overlap ------------------------------------------------------------------

check_overlap <- function(table, campaign) {
  if (nrow(table) == 0) {
    abort_data("no operation with work in ", paste(campaign$dirs, collapse = " "), ": run noiselab-detect with --overlap")
  }
  if (all(is.na(table$overlap))) abort_data("overlap: ", table$reason[1])
}

format_overlap <- function(table, conf, notes) {
  table <- mark_main(table)
  rows <- main_rows(table)
  negative <- !is.na(rows$overlap) & rows$overlap < 0
  c("overlap of nonblocking operations with work, times in \u00b5s",
    wrap_line(paste("overlap = 1 - (both - work) / alone, in percent, halves of the same round compared; hidden: the same kept",
                    "within 0 and 100; median: the same of the median times of single starts")),
    table_lines(overlap_table(rows, conf)),
    wrap_line(c(sprintf("none: %s", unique(stats::na.omit(rows$reason))),
                if (any(negative)) "below 0: operation and work together take longer than one after the other")),
    "", format_notes(c(scope_note(table), notes)))
}

arm_words <- function(rows) {
  label <- treatment_label(rows, varying_factors(rows[rows$arm == "on", ]))
  what <- ifelse(rows$arm == "off", "off", paste0("on ", format_level(rows$level_requested_percent), " %"))
  ifelse(rows$arm == "on" & nzchar(label), paste0(what, ", ", label), what)
}

overlap_table <- function(rows, conf) {
  us <- function(x) format_effect(x / 1000, FALSE)
  percent <- function(x) format_effect(100 * x)
  interval <- ifelse(is.na(rows$overlap), "-", paste0("[", percent(rows$overlap_low), ", ", percent(rows$overlap_high), "]"))
  new_table(
    operation = col_words("operation", rows$operation), bytes = col_number("bytes", rows$bytes), arm = col_words("arm", arm_words(rows)),
    n = col_number("n", rows$n), alone_ns = col_number("alone", rows$alone_ns, us), both_ns = col_number("both", rows$both_ns, us),
    work_ns = col_number("work", rows$work_ns, us), hidden = col_number("hidden %", rows$overlap,
        function(x) format_effect(100 * pmin(1, pmax(0, x)), FALSE)),
    overlap = col_number("overlap %", rows$overlap, percent), overlap_low = col_number(sprintf("%g %% CI", 100 * conf), rows$overlap_low,
        interval),
    median_overlap = col_number("median %", rows$median_overlap, percent),
    scope = col_words("scope", ifelse(is.na(rows$launch), rows$scope, rows$launch))
  )
}

overlap_view <- function(table, conf, notes, operands) {
  rows <- main_rows(mark_main(table))
  known <- rows[!is.na(rows$overlap) & rows$arm == "off", ]
  if (nrow(known) == 0) known <- rows[!is.na(rows$overlap), ]
  percent <- function(x) sprintf("%.0f %%", 100 * x)
  shown <- utils::head(known, 4)
  new_view(paste0(join_words(sprintf("%s hides %s of its time behind work (%g %% interval %s to %s)", panel_name(shown),
                                     percent(pmin(1, pmax(0, shown$overlap))), 100 * conf, percent(shown$overlap_low), percent(shown$overlap_high))), "."),
           overlap_table(rows, conf), "times in \u00b5s; overlap = 1 - (both - work) / alone; hidden: the same kept within 0 and 100",
           c(sprintf("no overlap: %s", unique(stats::na.omit(rows$reason))),
             if (any(known$overlap < 0)) "below 0: operation and work together take longer than one after the other"),
           length(unique(notes)), all_command(operands, "overlap"), report_beside(operands))
}

overlap_json <- function(table, conf, notes) {
  to_json(list(schema = 1L, program = "noiselab-analyze", version = package_version_text(), confidence = conf, rows = table,
               notes = as.character(unique(notes))), single = c("schema", "program", "version", "confidence"))
}
