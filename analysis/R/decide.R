# From estimates to verdicts.

# Levels are tested from the highest, each at one-sided `alpha`, up to the first that fails, which keeps the
# chance of any false detection at or below alpha without a correction. Level 0 (the placebo) stands alone.
# `p`: NA counts as failed. `detected`, `not detected`, or `not tested` (a higher level failed). Marcus, R.,
# Peritz, E. and Gabriel, K. R. (1976) Biometrika 63, 655-660.
step_down <- function(level, p, alpha = 0.01) {
  if (length(level) == 0) return(character())
  hit <- !is.na(p) & p <= alpha
  word <- ifelse(hit, step_words[["hit"]], step_words[["miss"]])
  dosed <- which(level > 0)
  by_level <- dosed[order(level[dosed], decreasing = TRUE)]
  failed <- which(!hit[by_level])
  if (length(failed) > 0) {
    word[by_level[seq_along(by_level) > failed[1]]] <- step_words[["untested"]]
  }
  word
}

step_words <- c(hit = "detected", miss = "not detected", untested = "not tested")

# Adds stepdown and verdict to the rows of one scope, launch, operation, bytes and channel. `verdict` is one
# of three words, `verdict_because` of four: what decided.
decide_family <- function(rows, alpha) {
  rows$stepdown <- step_down(rows$level_requested_percent, rows$p_one_sided, alpha)
  refused <- if (is.null(rows$refused)) rep(FALSE, nrow(rows)) else rows$refused
  passed_over <- rows$stepdown == step_words[["untested"]] & rows$p_one_sided <= alpha
  rows$verdict_because <- ifelse(!is.na(rows$reason), ifelse(refused, "refused", "no_test"),
                                 ifelse(passed_over %in% TRUE, "higher_level_failed", "test"))
  rows$verdict <- ifelse(rows$verdict_because != "test", "inconclusive",
                         ifelse(rows$stepdown == step_words[["hit"]], "detected", "not detected"))
  rows
}

# `above`, `below` or `inconclusive` (also where an end is NA), from one interval of confidence 1 - 2 alpha:
# an effect is above the margin when the whole interval is, below when the whole interval is (two one-sided
# tests), and else nothing has been shown. Schuirmann, D. J. (1987) Journal of Pharmacokinetics and
# Biopharmaceutics 15, 657-680.
margin_verdict <- function(low, high, margin) {
  ifelse(!is.na(low) & low > margin, "above", ifelse(!is.na(high) & high < margin, "below", "inconclusive"))
}

# Step-down in several families at once (`p`: a list, in the order of testing; NA counts as failed): each
# tests its levels from the highest and starts with an equal part of alpha; when all its levels are
# detected, its part goes in equal shares to those that are not through (Holm's correction along the
# levels). The chance of any false detection is at most alpha. Holm, S. (1979) Scandinavian Journal of
# Statistics 6, 65-70; Bretz, F. et al. (2009) Statistics in Medicine 28, 586-604.
step_down_families <- function(p, alpha = 0.01) {
  done <- integer(length(p))
  lengths <- lengths(p)
  share <- rep(alpha / max(1, length(p)), length(p))
  share[lengths == 0] <- 0
  repeat {
    open <- which(done < lengths)
    hit <- open[vapply(open, function(i) isTRUE(p[[i]][done[i] + 1] <= share[i]), TRUE)]
    if (length(hit) == 0) break
    i <- hit[1]
    done[i] <- done[i] + 1L
    if (done[i] < lengths[i]) next
    others <- setdiff(which(done < lengths), i)
    if (length(others) > 0) share[others] <- share[others] + share[i] / length(others)
    share[i] <- 0
  }
  Map(function(values, n) seq_along(values) <= n, p, done)
}

# One answer to "is the slowdown within the margin?" over all rows of one scope: fail where a level lies
# above it also with all families counted together, pass where every row lies below (which needs no
# correction: all have to), else inconclusive.
margin_answer_of <- function(verdicts, margin) {
  rows <- main_rows(verdicts)
  rows <- rows[!is.na(rows$margin_verdict), ]
  if (nrow(rows) == 0) {
    return(list(answer = "inconclusive", reason = "no level above 0 was judged by loop time"))
  }
  p <- lapply(split_families(rows), function(family) {
    family <- family[order(-family$level_requested_percent), ]
    vapply(seq_len(nrow(family)), function(i) p_above(family[i, ], margin), 0)
  })
  above <- any(unlist(step_down_families(p, min(rows$alpha))))
  answer <- if (above) "fail" else if (all(rows$margin_verdict == "below")) "pass" else "inconclusive"
  alone <- !above && any(rows$margin_verdict == "above")
  list(
    answer = answer,
    reason = if (alone) {
      "a level lies above the margin by itself, but not with all operations and sizes counted together"
    } else if (answer == "inconclusive") {
      "an interval reaches over the margin, or a level could not be judged"
    } else {
      NA_character_
    }
  )
}

# One-sided p of "slower by more than the margin", of the mean that the margin is judged by.
p_above <- function(row, margin) {
  if (!is.na(row$reason)) return(NA_real_)
  shift <- log1p(margin / 100)
  values <- row$raw_margin_values[[1]]
  if (row$unit_of_inference == "pair" && row$test_kind != "t" && length(values) > 0) {
    return(sign_flip_test(values - shift)$p)
  }
  stats::pt((row$raw_margin - shift) / row$raw_margin_se, row$raw_margin_df, lower.tail = FALSE)
}

# A question with three answers: is the effect beyond a margin, inside it, or can the data not tell?

margin_words <- c(above = "slower by more than the margin", within = "within the margin",
                  not_above = "within the margin or faster", below = "faster by more than the margin",
                  open = "inconclusive")

# Verdicts of one row each against -m and +m, from four one-sided p-values: of an effect above +m, below +m,
# above -m and below -m. Each of the last three at alpha is the same as the interval of confidence 1 - 2
# alpha lying on that side of its border. "Above" needs Holm's correction over the rows besides: one row in
# many lies there by chance. "All are inside" needs none, since every row has to pass.
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

# One verdict for many.
worst_verdict <- function(verdicts) {
  known <- intersect(c("fail", "inconclusive", "pass"), verdicts)
  if (length(known) == 0) "measured, not judged" else known[1]
}

# One answer for rows `above`, `below` or neither: that one is above has to hold with Holm's correction over
# all.
answer_with_holm <- function(verdict, p_above, alpha) {
  if (any(verdict %in% "above" & stats::p.adjust(p_above, "holm") <= alpha, na.rm = TRUE)) return("fail")
  if (length(verdict) > 0 && all(verdict %in% "below")) "pass" else "inconclusive"
}

# One answer for all rows: pass, fail or inconclusive.
margin_answer <- function(verdict) {
  if (any(verdict == margin_words[["above"]])) "fail"
  else if (length(verdict) == 0 || any(verdict == margin_words[["open"]])) "inconclusive"
  else "pass"
}

# What a margin is judged by: `margin_of` (`mean` or `adjusted mean`), `margin_estimate`, `margin_low`,
# `margin_high` (percent), and what its test needs. It is the mean slowdown, which a user pays; the mean
# less a covariate that was declared before the run stands in for it only where the covariate is shown not
# to move by a tenth of the margin.
margin_interval <- function(rows, margin) {
  adjusted <- rows$channel == "time" &
    vapply(rows$raw_adjusted, function(a) !is.null(margin) && is_unmoved(a, margin), TRUE)
  rows$margin_of <- ifelse(adjusted, "adjusted mean", "mean")
  rows[c("margin_estimate", "margin_low", "margin_high")] <- rows[c("mean", "mean_low", "mean_high")]
  rows[c("raw_margin", "raw_margin_se", "raw_margin_df", "raw_margin_values")] <-
    rows[c("raw_mean", "raw_mean_se", "raw_mean_df", "raw_mean_values")]
  for (i in which(adjusted)) {
    a <- rows$raw_adjusted[[i]]
    least <- moved_ends(a)[1]
    ends <- c(a$estimate, a$low, a$high) + c(0, moved_ends(a))
    rows[i, c("margin_estimate", "margin_low", "margin_high")] <- as.list(to_effect("time", ends))
    # Tests of "above the margin" get the least that it can be.
    rows[i, c("raw_margin", "raw_margin_se", "raw_margin_df")] <- c(
      list(a$estimate + least), a[c("se", "df")]
    )
    rows$raw_margin_values[[i]] <- a$values + least
  }
  rows
}

# What the treatment may have moved the covariate by widens the interval, on each side by itself; it never
# moves both ends one way.
moved_ends <- function(adjusted) c(min(0, adjusted$moved$low), max(0, adjusted$moved$high)) / 100

is_unmoved <- function(adjusted, margin) {
  !is.null(adjusted) && !adjusted$is_withheld &&
    isTRUE(max(abs(unlist(adjusted$moved[c("low", "high")]))) < margin / 10)
}

# How much longer a run had to be to say on which side of a margin a slowdown lies.

# Measured seconds (of all arms of the launches), NA where the answer is there or cannot be foreseen. The
# distance of the estimate from the margin is taken for the true one; standard errors shrink with the root
# of the time.
margin_needs <- function(verdicts, campaign, margin, power) {
  needs <- rep(NA_real_, nrow(verdicts))
  if (is.null(margin)) return(needs)
  at <- which(verdicts$margin_verdict %in% "inconclusive" & is.na(verdicts$reason))
  rows <- campaign$rows
  seconds <- rowsum(rows[["wall_ns"]], as.character(rows[["launch"]]))[, 1] / 1e9
  for (i in at) {
    row <- verdicts[i, ]
    took <- if (is.na(row$launch)) sum(seconds) else seconds[[row$launch]]
    distance <- abs(row$raw_margin - log1p(margin / 100))
    # Two bounds at alpha each: of the one beyond which the estimate lies, the probability counts.
    times <- ((stats::qnorm(1 - row$alpha) + stats::qnorm(power)) * row$raw_margin_se / distance)^2
    needs[i] <- took * max(1, times)
  }
  needs
}

most_needed_s <- 30 * 86400

# "45 s", "14 min", "3.2 h", "5 days": for planning, two digits.
format_span <- function(seconds, digits = 2) {
  unit <- c(days = 86400, h = 3600, min = 60, s = 1)
  vapply(seconds, function(s) {
    # Below two of a unit the next smaller one says it better.
    at <- which(s >= c(2, 2, 2, 0) * unit)[1]
    paste(format(signif(s / unit[[at]], digits), scientific = FALSE), names(unit)[at])
  }, "")
}

# Of what it was asked, in words; of many nodes with the interval that keeps it.
margin_words_head <- function(request, scale = NULL) {
  c(
    list(margin_words = request$words),
    if (request$at_scale) {
      list(
        margin_nodes = request$nodes,
        margin_every_ns = 1e9 * request$every_s,
        margin_unseen_ns = 1e9 * request$unseen_s,
        margin_slowdown_percent = scale$percent,
        margin_low_percent = scale$low,
        margin_high_percent = scale$high,
        margin_kept_from_ns = if (isTRUE(is.finite(scale$keeps_s))) {
          1e9 * scale$keeps_s
        }
      )
    }
  )
}

# What JSON says of a margin.
margin_head <- function(margin, answer) {
  list(margin_percent = margin, margin_answer = answer$answer, margin_reason = answer$reason)
}
