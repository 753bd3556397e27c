# What the digits that a table does not print could change.

# Half a unit of the last digit printed; NA for what is not a decimal number.
half_unit <- function(text) {
  pattern <- "^[+-]?([0-9]*)(\\.([0-9]*))?([eE]([+-]?[0-9]+))?$"
  decimal <- grepl(pattern, text) & grepl("[0-9]", text)
  fraction <- nchar(sub(pattern, "\\3", text))
  exponent <- sub(pattern, "\\5", text)
  exponent <- suppressWarnings(ifelse(decimal & nzchar(exponent), as.numeric(exponent), 0))
  ifelse(decimal, 0.5 * 10^(exponent - fraction), NA_real_)
}

# Verdicts over the box of all values that round to the printed means and SDs. Rules P and N compare sums in which every
# one of the four has a fixed sign, so their extremes are at corners; Welch: welch_range().
round_box <- function(clean, noisy, alpha) {
  k0 <- stats::qt(0.995, clean$n - 1) / sqrt(clean$n)
  k1 <- stats::qt(0.995, noisy$n - 1) / sqrt(noisy$n)
  # `way`: 1 for the corner that favours detection, -1 for the other.
  p_at <- function(way) {
    box_end(noisy, "mean", way) - box_end(clean, "mean", -way) - k0 * box_end(clean, "sd", -way)
  }
  n_at <- function(way) p_at(way) - k1 * box_end(noisy, "sd", -way)
  rule <- function(margin_at) list(always = margin_at(-1) > 0, ever = margin_at(1) > 0)
  welch <- welch_range(clean, noisy)
  # Holm's p-values rise with every p-value, so those of the ends are their ends; rows that share a clean row cannot all
  # be at their ends at once, so the range is rather too wide.
  holm <- lapply(welch, stats::p.adjust, method = "holm")
  rule_p <- rule(p_at)
  rule_n <- rule(n_at)
  agree <- function(x) x$always == x$ever
  same <- function(range) (range$low <= alpha) == (range$high <= alpha)
  whole <- !anyNA(welch$low)  # p.adjust() leaves NA out, but a p-value that is not known may be small
  list(rule_p = rule_p, rule_n = rule_n, columns = data.frame(
    rule_p_sure = agree(rule_p), rule_n_sure = agree(rule_n), welch_sure = same(welch),
    holm_sure = if (whole) same(holm) else NA,
    welch_p_low = welch$low, welch_p_high = welch$high, holm_p_low = if (whole) holm$low else NA_real_,
    holm_p_high = if (whole) holm$high else NA_real_
  ))
}

# The value of `mean_s` or `sd_s` at the upper (way 1) or lower end of its box.
box_end <- function(table, what, way) {
  pmax(if (what == "sd") 0 else -Inf, table[[paste0(what, "_s")]] + way * table[[paste0(what, "_half_unit_s")]])
}

# Smallest and largest one-sided p-value of Welch's test over the box. For given SDs p falls with the difference D of
# the means, so that D is at an end. For given D > 0 and a given ratio of the SDs the degrees of freedom are fixed and p
# rises with the size of the SDs (for D < 0 it falls): the extremes lie where the ray of that ratio enters or leaves the
# box, on its edges. Along an edge p need not be monotone (df changes), so each is searched.
welch_range <- function(clean, noisy) {
  low <- high <- rep(NA_real_, nrow(clean))
  halves <- c("mean_half_unit_s", "sd_half_unit_s")
  for (i in which(stats::complete.cases(clean[halves], noisy[halves]))) {
    ends <- lapply(list(clean[i, ], noisy[i, ]), function(row) c(box_end(row, "sd", -1), box_end(row, "sd", 1)))
    extreme <- function(way) {
      difference <- box_end(noisy[i, ], "mean", way) - box_end(clean[i, ], "mean", -way)
      p <- function(sd0, sd1) welch_p(difference, sd0, clean$n[i], sd1, noisy$n[i])
      edges <- c(lapply(ends[[1]], function(s) function(u) p(s, u)), lapply(ends[[2]], function(s) function(u) p(u, s)))
      spans <- ends[c(2, 2, 1, 1)]
      found <- mapply(function(f, span) search_edge(f, span, -way), edges, spans)
      if (way > 0) min(found) else max(found)
    }
    low[i] <- extreme(1)
    high[i] <- extreme(-1)
  }
  list(low = low, high = high)
}

# The largest (way 1) or smallest value of `f` on an interval: a grid, then the neighbourhood of its best point.
search_edge <- function(f, span, way, points = 33) {
  u <- seq(span[1], span[2], length.out = points)
  values <- f(u)
  best <- which.max(way * values)
  around <- u[c(max(1, best - 1), min(points, best + 1))]
  if (around[1] == around[2]) return(values[best])
  fine <- stats::optimize(f, around, maximum = way > 0, tol = 1e-9 * around[2])[[2]]
  if (way > 0) max(values[best], fine) else min(values[best], fine)
}

# As welch_test(), for a difference and SDs that may be 0.
welch_p <- function(difference, sd0, n0, sd1, n1) {
  p <- welch_test(0, sd0, n0, difference, sd1, n1)$p_one_sided
  p[sd0 + sd1 == 0] <- if (difference > 0) 0 else if (difference < 0) 1 else 0.5
  p
}
