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

# ---- what a margin is judged by ----------------------------------------------------------------

# Covariates that every launch declared before it ran.
declared_covariates <- function(campaign) {
  as.character(Reduce(intersect, lapply(unname(campaign$launches), function(info) unlist(info$options$adjust))))
}

# Estimate and one-sided bounds behind each verdict on the margin, in columns of their own.
margin_columns <- function(verdicts) {
  judged <- !is.na(verdicts$margin_verdict)
  for (name in c("estimate", "low", "high")) {
    from <- if (name == "estimate") name else paste0("bound_", name)
    verdicts[[paste0("margin_", name)]] <- ifelse(judged, verdicts[[from]], NA_real_)
  }
  verdicts
}

# An adjustment chosen after looking must not turn a margin: its verdicts are then those of `analyze(adjust)`, the same
# analysis with the covariates that were declared.
margin_as_declared <- function(analysis, analyze) {
  declared <- intersect(analysis$adjust, declared_covariates(analysis$campaign))
  late <- setdiff(analysis$adjust, declared)
  if (is.null(analysis$margin) || length(late) == 0) return(analysis)
  plain <- analyze(if (length(declared) > 0) declared)
  key <- function(rows) do.call(paste, c(unname(rows[c(family_columns(rows), "level_requested_percent")]), sep = "\r"))
  at <- match(key(analysis$verdicts), key(plain$verdicts))
  of_margin <- grep("^margin_", names(analysis$verdicts), value = TRUE)
  analysis$verdicts[of_margin] <- plain$verdicts[at, of_margin]
  analysis$margin_answer <- plain$margin_answer
  analysis$notes <- c(sprintf(
    "the margin is judged by slowdowns %s: %s was not declared before the run, and what is chosen after it decides nothing",
    if (length(declared) > 0) paste("adjusted for", join_words(declared), "only") else "that are not adjusted", join_words(late)
  ), analysis$notes)
  analysis
}

answer_status <- function(answer) c(pass = 0L, fail = 1L, inconclusive = 3L)[[answer]]

