# What an answer is about: one launch, the launches that were run, or launches like these.

# Marks the rows of the main answer in a column `main`: across launches where there are several. With fewer launches than
# say anything of others, that is the pooled scope; what only one launch has stays in that launch's own.
mark_main <- function(rows) {
  if (NROW(rows) == 0) return(rows)
  treatment <- c(treatment_columns, paste0(treatment_columns, "_a"), paste0(treatment_columns, "_b"))
  columns <- intersect(c("operation", "bytes", "ranks", "design", treatment, "level_requested_percent", "channel"), names(rows))
  key <- code_of(do.call(paste, c(unname(as.list(rows[columns])), sep = "\r")))
  few <- length(unique(rows$launch[!is.na(rows$launch)])) < launches_for_more
  wanted <- if (few) c(scope_these, scope_campaign, scope_launch) else c(scope_campaign, scope_these, scope_launch)
  rank <- match(rows$scope, wanted)
  rows$main <- rank == stats::ave(rank, key, FUN = min)
  rows
}

# The rows of the main answer.
main_rows <- function(rows) if (is.null(rows$main)) rows else rows[rows$main, ]

# Said where other scopes are not shown.
scope_note <- function(verdicts) {
  if (!any(!verdicts$main & verdicts$scope == scope_launch)) return(NULL)
  "verdicts of each launch on its own: noiselab analyze with --csv or --json"
}
