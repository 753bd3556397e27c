# A question with three answers: is the effect beyond a margin, inside it, or can the data not tell?

margin_words <- c(above = "slower by more than the margin", within = "within the margin",
                  not_above = "within the margin or faster", below = "faster by more than the margin",
                  open = "inconclusive")

# Verdicts of one row each against -m and +m, from four one-sided p-values: of an effect above +m, below +m, above
# -m and below -m. Each of the last three at alpha is the same as the interval of confidence 1 - 2 alpha lying on that
# side of its border. "Above" needs Holm's correction over the rows besides: one row in many lies there by chance. "All
# are inside" needs none, since every row has to pass.
margin_verdicts <- function(above, below, above_low, below_low, alpha) {
  hit <- function(p) !is.na(p) & p <= alpha
  ifelse(hit(stats::p.adjust(above, "holm")), margin_words[["above"]],
         ifelse(hit(below_low), margin_words[["below"]],
                ifelse(hit(below) & hit(above_low), margin_words[["within"]],
                       ifelse(hit(below), margin_words[["not_above"]], margin_words[["open"]]))))
}

# Why a row is inconclusive although its own interval lies above the margin.
margin_reason <- function(above, alpha, several = length(above) > 1) {
  ifelse(several & !is.na(above) & above <= alpha & stats::p.adjust(above, "holm") > alpha,
         "above the margin by itself, but not with Holm's correction over all rows", NA_character_)
}

# For tables, whose title names the margin.
short_margin <- function(verdict) sub(" than the margin| the margin", "", verdict)

# One answer for all rows: pass, fail or inconclusive.
margin_answer <- function(verdict) {
  if (any(verdict == margin_words[["above"]])) "fail"
  else if (length(verdict) == 0 || any(verdict == margin_words[["open"]])) "inconclusive"
  else "pass"
}

# What a margin is judged by: `margin_of` (`mean` or `adjusted mean`), `margin_estimate`, `margin_low`, `margin_high` (percent),
# and what its test needs. It is the mean slowdown, which a user pays; the mean less a covariate that was declared before
# the run stands in for it only where the covariate is shown not to move by a tenth of the margin.
margin_interval <- function(rows, margin) {
  adjusted <- rows$channel == "time" & vapply(rows$raw_adjusted, function(a) !is.null(margin) && is_unmoved(a, margin), TRUE)
  rows$margin_of <- ifelse(adjusted, "adjusted mean", "mean")
  rows[c("margin_estimate", "margin_low", "margin_high")] <- rows[c("mean", "mean_low", "mean_high")]
  rows[c("raw_margin", "raw_margin_se", "raw_margin_df", "raw_margin_values")] <-
    rows[c("raw_mean", "raw_mean_se", "raw_mean_df", "raw_mean_values")]
  for (i in which(adjusted)) {
    a <- rows$raw_adjusted[[i]]
    least <- min(0, a$moved$low) / 100
    ends <- c(a$estimate, a$low + least, a$high + max(0, a$moved$high) / 100)
    rows[i, c("margin_estimate", "margin_low", "margin_high")] <- as.list(to_effect("time", ends))
    # Tests of "above the margin" get the least that it can be.
    rows[i, c("raw_margin", "raw_margin_se", "raw_margin_df")] <- c(list(a$estimate + least), a[c("se", "df")])
    rows$raw_margin_values[[i]] <- a$values + least
  }
  rows
}

is_unmoved <- function(adjusted, margin) {
  !is.null(adjusted) && !adjusted$is_withheld && isTRUE(max(abs(unlist(adjusted$moved[c("low", "high")]))) < margin / 10)
}

answer_status <- function(answer) c(pass = 0L, fail = 1L, inconclusive = 3L)[[answer]]

