# How much longer a run had to be to say on which side of a margin a slowdown lies.

# Measured seconds (of all arms of the launches), NA where the answer is there or cannot be foreseen. The distance of the
# estimate from the margin is taken for the true one; standard errors shrink with the root of the time.
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

margin_needs_words <- function(rows, analysis) {
  rows <- rows[rows$margin_verdict %in% "inconclusive" & !is.na(rows$margin_needs_s), ]
  if (nrow(rows) == 0) return(character())
  name <- paste0(panel_name(rows), ", ", level_label(rows))
  vapply(seq_len(nrow(rows)), function(i) {
    needs <- rows$margin_needs_s[i]
    if (needs > most_needed_s) return(sprintf("%s: the slowdown is so close to the margin that no run of a month would decide", name[i]))
    sprintf("%s: runs like this of %s in all would decide with probability %g, if the slowdown is as estimated", name[i],
            format_span(needs), analysis$power)
  }, "")
}

# "45 s", "14 min", "3.2 h", "5 days": for planning, two digits.
format_span <- function(seconds, digits = 2) {
  unit <- c(days = 86400, h = 3600, min = 60, s = 1)
  vapply(seconds, function(s) {
    # Below two of a unit the next smaller one says it better.
    at <- which(s >= c(2, 2, 2, 0) * unit)[1]
    paste(format(signif(s / unit[[at]], digits), scientific = FALSE), names(unit)[at])
  }, "")
}
