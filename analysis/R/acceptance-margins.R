# How much worse still counts as the same: one row per kind of figure.

# `percent`: of the value that it is held against; never less than `floor` (in `unit`), so that 0.05 % and 0.1 % of a CPU are the same.
margin_kind <- function(kind, percent, floor, unit, what) data.frame(kind = kind, percent = percent, floor = floor, unit = unit,
    what = what)

acceptance_margins <- do.call(rbind, list(
  margin_kind("latency", 10, 50, "ns", "times of messages"),
  margin_kind("bandwidth", 10, 0, "bytes_per_s", "speeds"),
  margin_kind("work", 3, 0, "ns", "times of a fixed amount of work"),
  margin_kind("share", 20, 0.2, "percent", "shares of time or of starts"),
  margin_kind("rate", 50, 100, "per_s", "events per second"),
  margin_kind("collective", 20, 1000, "ns", "times of collectives and what one node costs them"),
  margin_kind("longest", 100, 1e5, "ns", "longest times and quantiles"),
  margin_kind("ratio", 5, 0.02, "ratio", "ratios"),
  margin_kind("scale", 5, 0, "percent", "what a node's noise would cost 1,000 such nodes that synchronise every 1 ms: of the program's time")
))

# The longest interruption that is looked for: time that bursts of this length could take without one being seen belongs to the bound of a
# share.
burst_ns <- 50e6

# The kind of every figure, from its unit and, of times, from what they are of.
margin_kinds <- function(check, metric, unit) {
  longest <- metric %in% c("longest", names(detour_quantiles)) & (check == "detour" | check == "collective" & metric != "p50")
  time <- ifelse(longest, "longest", ifelse(check == "latency", "latency",
                                            ifelse(check %in% c("quantum", "kernels") | metric == "base", "work", "collective")))
  by_unit <- c(bytes_per_s = "bandwidth", percent = "share", per_s = "rate", ratio = "ratio")
  known <- unname(by_unit[unit])
  ifelse(is.na(known), time, known)
}

# The table with what the user said: `percent` for all kinds (NULL: each its own), and rows of a limits file (`kind`, `percent`, `floor`;
# NA: as it is).
margins_in_use <- function(percent = NULL, own = NULL) {
  table <- acceptance_margins
  if (!is.null(percent)) table$percent <- percent
  at <- match(own$kind, table$kind)
  table$percent[at] <- own$percent
  table$floor[at] <- ifelse(is.na(own$floor), table$floor[at], own$floor)
  table
}

# The margin of figures in `unit`, against the values they are held against. On a logarithmic scale a difference of logarithms.
margin_of <- function(margins, kind, against, scale, worse) {
  at <- match(kind, margins$kind)
  scale <- rep_len(scale, length(against))
  worse <- rep_len(worse, length(against))
  size <- abs(against)
  allowed <- pmax(margins$percent[at] / 100 * size, margins$floor[at])
  # less is worse: the value may fall to value - allowed
  log_allowed <- ifelse(worse == "less", -log(pmax(1e-9, 1 - allowed / size)), log1p(allowed / size))
  ifelse(scale == "log", log_allowed, allowed)
}

allowed_words <- function(margins, kind) {
  row <- margins[match(kind, margins$kind), ]
  paste0(format_effect(row$percent, FALSE), " %", ifelse(row$floor > 0, paste(", at least", format_figure(row$floor, row$unit)), ""))
}

# One line for people: all margins that judged something.
margins_note <- function(margins, kinds) {
  shown <- margins[margins$kind %in% kinds, ]
  if (nrow(shown) == 0) return(NULL)
  paste0("margins (--margin, or a line `margin KIND PERCENT % [FLOOR UNIT]` of the limits): ",
         paste0(shown$kind, " ", allowed_words(margins, shown$kind), collapse = "; "))
}

# `margin KIND PERCENT % [FLOOR UNIT]` of a limits file.
parse_margin <- function(text, file, line) {
  stop_here <- function(...) abort_damaged(file, line, ...)
  part <- regmatches(text, regexec("^margin\\s+(\\S+)\\s+([0-9.]+)\\s*%(\\s+([0-9.]+)\\s*(\\S+))?$", text))[[1]]
  if (length(part) == 0) stop_here("'", printable(text),
                                   "' is not margin KIND PERCENT % [FLOOR UNIT] (such as margin share 20 % 0.2 percent)")
  row <- acceptance_margins[acceptance_margins$kind == part[2], ]
  if (nrow(row) == 0) stop_here("unknown kind of figure '", printable(part[2]), "'", did_you_mean(part[2], acceptance_margins$kind))
  units <- limit_units[[row$unit]]
  if (nzchar(part[6]) && !part[6] %in% names(units)) stop_here("unknown unit '", printable(part[6]), "' of ", part[2],
      did_you_mean(part[6], names(units)))
  data.frame(line = line, kind = part[2], percent = as.numeric(part[3]), floor = if (nzchar(part[6])) as.numeric(part[5]) *
             units[[part[6]]] else NA_real_)
}

# pass: the bound is below the margin; fail: it lies above when all comparisons are counted; else open. `score`: more is worse, on the scale
# of tests.
three_outcomes <- function(upper, margin, p_holm, alpha) {
  verdict <- ifelse(!is.na(upper) & upper < margin, "pass", "inconclusive")
  ifelse(!is.na(p_holm) & p_holm <= alpha, "fail", verdict)
}

# How many times as long decides: what time cannot make smaller (`fixed`, a variance) stays, the rest (`se`^2 - `fixed`) falls with time.
times_as_long <- function(score, margin, se, df, fixed, alpha) {
  reach <- abs(margin - score) / stats::qt(1 - alpha, df)
  left <- reach^2 - fixed
  ifelse(left > 0, pmax(1, (se^2 - fixed) / left), Inf)
}
