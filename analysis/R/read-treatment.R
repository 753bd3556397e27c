# What an on half was treated with, beside its level: four factors that a design can cross.

# Each factor, and what its word is where nobody asked for another one.
treatment_defaults <- c(kind = "spin", pattern = "periodic", placement = "last", phase = "random")
treatment_columns <- names(treatment_defaults)

# What names a verdict and an amplification beside the channel: launch, cell and dose.
label_columns <- c("scope", "launch", "design", "operation", "bytes", "ranks", treatment_columns)
dose_columns <- c("level_requested_percent", "level_delivered_percent")

# Words with a closed list (docs/reference/formats.md); kinds and placements are open.
treatment_words <- list(pattern = c("periodic", "jittered", "poisson", "bursts", "replay"),
                        phase = c("random", "aligned", "staggered"))

# A treatment from outside, such as an agent, has no level: it is there, or it is not. A number stands for
# it that no level equals and that lies above 0, so that comparisons keep its rows (NA would drop them);
# files have an empty field.
no_level <- Inf

# The pattern, placement and phase of such a treatment.
no_word <- "none"

# The level with its unit, or the treatment's name where it has none.
level_label <- function(rows, unit = " %") {
  level <- rows[["level_requested_percent"]]
  ifelse(has_level(level), paste0(format_level(level), unit), as.character(rows[["kind"]] %||% "treatment"))
}

# The same for bare levels of an analysis: what has none is named where only one treatment has none.
level_words <- function(level, analysis) {
  names <- analysis$treatments$kind[analysis$treatments$pattern %in% no_word]
  level_label(list(level_requested_percent = level,
                   kind = rep(if (length(names) == 1) names else "treatment", length(level))))
}

# Words as a factor, in the order in which they come.
as_word <- function(x) factor(x, unique(x[!is.na(x)]))

# The factors of treatment that a data frame has, as text.
treatment_of <- function(rows, at) {
  columns <- intersect(treatment_columns, names(rows))
  lapply(stats::setNames(columns, columns), function(n) as.character(rows[[n]][at]))
}

# One whole number per combination of treatment factors in the rows `at`; factors of one word say nothing
# and are passed over, so one treatment costs nothing. Off rows have no treatment: 0 in each factor.
treatment_code <- function(rows, at = seq_len(nrow(rows))) {
  codes <- lapply(intersect(treatment_columns, names(rows)), function(n) {
    x <- rows[[n]]
    if (is.factor(x) && nlevels(x) < 2) return(NULL)
    code <- if (is.factor(x)) as.integer(x)[at] else match(x[at], unique(x[!is.na(x)]))
    code[is.na(code)] <- 0L
    code
  })
  codes <- Filter(Negate(is.null), codes)
  if (length(codes) == 0) rep(1, length(at)) else do.call(combine_keys, codes)
}

# The treatments of a campaign, one row each, in the order asked for (else as they first ran).
treatment_table <- function(campaign) {
  rows <- campaign$rows
  on <- which(rows[["arm"]] == "on")
  first <- on[!duplicated(treatment_code(rows, on))]
  table <- as.data.frame(treatment_of(rows, first))
  asked <- function(column) {
    unlist(lapply(campaign$launches, function(info) info$options[[paste0(column, "s")]]), use.names = FALSE)
  }
  ranks <- lapply(treatment_columns, function(n) match(table[[n]], unique(c(asked(n), table[[n]]))))
  table <- table[do.call(order, ranks), , drop = FALSE]
  rownames(table) <- NULL
  table
}

# Names of the factors that take more than one value.
varying_factors <- function(rows) {
  columns <- intersect(treatment_columns, names(rows))
  # What is none belongs to a treatment that its kind names.
  Filter(function(n) length(setdiff(unique(as.character(rows[[n]])), if (n != "kind") no_word)) > 1, columns)
}

# "cache, poisson", or "kind cache, pattern poisson" with `named`; "" without factors.
treatment_label <- function(rows, factors, named = FALSE) {
  if (length(factors) == 0) return(rep("", NROW(rows[[1]])))
  words <- lapply(factors, function(n) if (named) paste(n, rows[[n]]) else as.character(rows[[n]]))
  do.call(paste, c(words, sep = ", "))
}

# The label of each row by the factors that vary in this analysis; "" where there is one treatment.
label_in <- function(rows, analysis) treatment_label(rows, varying_factors(analysis$treatments))

several_treatments <- function(analysis) NROW(analysis$treatments) > 1

# The factors that have one value in all rows and another than the default: "kind cache, phase aligned".
constant_treatment <- function(rows) {
  columns <- setdiff(intersect(treatment_columns, names(rows)), varying_factors(rows))
  odd <- columns[vapply(columns, function(n) {
    !as.character(rows[[n]][1]) %in% c(treatment_defaults[[n]], if (n != "kind") no_word)
  }, TRUE)]
  if (NROW(rows) == 0 || length(odd) == 0) "" else treatment_label(rows[1, ], odd, named = TRUE)
}

# A median of halves trims the load away where halves hold a varying number of bursts; only the periodic
# pattern gives each the same.
varying_bursts <- function(pattern) {
  !is.null(pattern) && !is.na(pattern) && !pattern %in% c("periodic", no_word)
}

scope_launch <- "this launch"
scope_these <- "these launches"
scope_campaign <- "launches like these"
scopes_across <- c(scope_these, scope_campaign)

one_arm_launches <- function(rows) {
  arms <- unique(data.frame(launch = rows[["launch"]], arm = rows[["arm"]]))
  !anyDuplicated(arms$launch) && length(unique(arms$arm)) == 2
}

interval_of <- function(info) {
  interval <- info$options$agent_interval_ns
  if (is_number(interval, 0)) interval else NA_real_
}

# In a campaign whose launches ran an agent at several sampling intervals (`options.agent_interval_ns`) each
# interval is a treatment of its own, `agent@interval` in `kind`: what is not the same treatment must not be
# judged together. `read_campaign()` does it.
name_intervals <- function(campaign) {
  interval <- vapply(campaign$launches, interval_of, 0)
  if (length(unique(stats::na.omit(interval))) < 2) return(campaign)
  # The off launch of a set has no interval.
  label <- rep("", length(interval))
  known <- !is.na(interval)
  label[known] <- paste0("@", vapply(interval[known] / 1e9, option_time, ""))
  for (table in intersect(c("rows", "hist", "ranks", "nodes", "agents", "tasks"), names(campaign))) {
    rows <- campaign[[table]]
    if (NROW(rows) == 0 || is.null(rows[["kind"]])) next
    at <- which(!is.na(rows[["kind"]]) & !has_level(rows[["level_requested_percent"]]))
    kind <- as.character(rows[["kind"]])
    kind[at] <- paste0(kind[at], label[match(rows[["launch"]][at], names(interval))])
    data.table::set(rows, j = "kind", value = as_word(kind))
    campaign[[table]] <- rows
  }
  campaign
}

# The rows of the main answer.
main_rows <- function(rows) if (is.null(rows$main)) rows else rows[rows$main, ]

panel_name <- function(rows) {
  bytes <- rows[["bytes"]]
  paste0(rows[["operation"]], ifelse(bytes > 0, paste0(", ", format_count(bytes), " B"), ""))
}

is_agent_row <- function(rows) rows[["arm"]] == "on" & !has_level(rows[["level_requested_percent"]])

# Does this campaign have an agent at two intervals or more?
is_sweep <- function(campaign) length(unique(stats::na.omit(vapply(campaign$launches, interval_of, 0)))) > 1

# "collectd at 0.1 s", where the interval between two samples is known.
agent_title <- function(kind, campaign) {
  ns <- unlist(lapply(campaign$launches, function(info) {
    info$options$agent_interval_ns %||% info$options$agent_period_ns
  }))
  ns <- unique(ns[is.finite(ns) & ns > 0])
  # A campaign of several intervals has them in the treatment's name.
  if (length(ns) != 1 || grepl("@", kind, fixed = TRUE)) return(kind)
  done_s <- scraped_every_s(campaign)
  if (!is.na(done_s)) {
    return(sprintf("%s, scraped every %s on average (asked for: every %s),", kind,
                   format_time(signif(done_s, 2)), format_time(ns / 1e9)))
  }
  paste(kind, "at", format_time(ns / 1e9))
}

# Where scrapes took longer than their period: the time between two of them that was really kept, s; NA: as
# asked, or not known.
scraped_every_s <- function(campaign) {
  scrapers <- unlist(lapply(campaign$launches, function(info) lapply(info$agents, `[[`, "scraper")),
                     recursive = FALSE)
  scrapers <- Filter(
    function(x) is_number(x$period_ns, 0) && is_number(x$scrapes, 0) && is_number(x$left_out, 0), scrapers
  )
  if (length(scrapers) == 0) return(NA_real_)
  of <- function(key) vapply(scrapers, function(x) as.numeric(x[[key]]), 0)
  if (sum(of("left_out")) < least_left_out * sum(of("scrapes"))) return(NA_real_)
  mean(of("period_ns")) / 1e9 * (1 + sum(of("left_out")) / sum(of("scrapes")))
}

least_left_out <- 0.1 # of the scrapes that were made, so that it is said
