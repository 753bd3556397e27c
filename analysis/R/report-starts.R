# The report's tables on synchronised starts, and the analysis where there is nothing to compare.

report_starts <- function(campaign) if (has_starts(campaign)) lapply(starts_parts(campaign), part_tags)

# An analysis of launches that hold one arm only: nothing is compared, but starts can be looked at.
clean_analysis <- function(campaign, alpha) {
  check_probability(alpha, "alpha")
  arm <- unique(campaign$rows[["arm"]])
  structure(list(
    verdicts = data.frame(), thresholds = NULL, amplification = data.frame(), cost = data.frame(), contrasts = NULL,
    treatments = treatment_table(campaign),
    notes = c(sprintf("all rows are of arm %s: nothing is compared, there are no verdicts", arm), starts_notes(campaign)),
    alpha = alpha, power = 0.95, campaign = campaign, pairs = NULL
  ), class = "nl_analysis")
}

is_clean <- function(analysis) NROW(analysis$verdicts) == 0
