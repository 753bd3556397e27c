# The report that MPIPerf publishes, from every start; and rules that say when to stop.

mpiperf_confidences <- c(0.9, 0.95, 0.99)

# Summary as published by MPIPerf, a row: late starts are dropped, then the share `trim` of the rest, floor(trim n_c / 2) from each end;
# mean, standard error (of the remaining values as if they were a sample: too small for a trimmed mean) and Student's interval are of what
# is left. **Dropping slow starts deletes the noise**: this is to compare with published figures, no verdict uses it. (The published
# method also drops starts that *end* late; here no end is late.) Columns: `n_t` (starts), `n_c` (not late), `n_s` (left), `mean_ns`,
# `se_ns`, `min_ns`, `max_ns`, `e90_ns`, `e95_ns`, `e99_ns` (half-widths), `ci90_low_ns` to `ci99_high_ns`; of all starts `all_mean_ns`,
# `all_median_ns`, `all_max_ns`; NA where too few are left. Kurnosov, M. G. (2012) MPIPerf, a package for benchmarking the communication
# functions of MPI libraries.
published_summary <- function(time_ns, late, trim = 0.25) {
  valid <- time_ns[!late]
  n_c <- length(valid)
  drop <- floor(trim * n_c / 2 + 1e-9)
  if (drop > 0) valid <- sort(valid)[(drop + 1):(n_c - drop)]
  n_s <- length(valid)
  centre <- if (n_s > 0) mean(valid) else NA_real_
  se <- if (n_s > 1) stats::sd(valid) / sqrt(n_s) else NA_real_
  e <- if (n_s > 1) se * stats::qt(1 - (1 - mpiperf_confidences) / 2, n_s - 1) else rep(NA_real_, 3)
  at <- function(f, x) if (length(x) > 0) f(x) else NA_real_
  data.frame(
    n_t = length(time_ns), n_c = n_c, n_s = n_s, mean_ns = centre, se_ns = se, min_ns = at(min, valid),
    max_ns = at(max, valid), e90_ns = e[1], e95_ns = e[2], e99_ns = e[3], ci90_low_ns = centre - e[1],
    ci90_high_ns = centre + e[1], ci95_low_ns = centre - e[2], ci95_high_ns = centre + e[2],
    ci99_low_ns = centre - e[3], ci99_high_ns = centre + e[3], all_mean_ns = at(mean, time_ns),
    all_median_ns = at(stats::median, time_ns), all_max_ns = at(max, time_ns)
  )
}

# After how many starts would a measurement have stopped? NA: it would have gone on. `stop_by_count()` is MPIPerf's variant 1: more than
# 100 starts, or more than 30 not late. `stop_by_error()` its variant 2: relative standard error of those not late at most 0.05, and at
# least 10 of them. `stop_by_median()`: the larger half of the median's interval (of `conf`, by order statistics) at most `precision` of
# the median, of those not late; it looks after each of the first 100 and then whenever there are 2 % more. `noiselab-detect --starts
# window:stop-rule=...` has the same three, and looks once in a stage. Kurnosov (2012), see `published_summary()`; David, H. A. and
# Nagaraja, H. N. (2003) Order Statistics, section 7.1.
stop_by_count <- function(late) first_true(seq_along(late) > 100 | cumsum(!late) > 30)

stop_by_error <- function(time_ns, late) {
  valid <- which(!late)
  if (length(valid) < 2) return(NA_real_)
  # Centred first, so that sums of squares do not lose the scatter.
  x <- time_ns[valid] - time_ns[valid[1]]
  n <- seq_along(x)
  centre <- cumsum(x) / n
  variance <- pmax(0, (cumsum(x^2) - n * centre^2) / pmax(1, n - 1))
  relative <- sqrt(variance / n) / abs(centre + time_ns[valid[1]])
  valid[first_true(n >= 10 & !is.na(relative) & relative <= 0.05)]
}

stop_by_median <- function(time_ns, late = rep(FALSE, length(time_ns)), precision = 0.01, conf = 0.99) {
  valid <- which(!late)
  for (n in looks(length(valid))) {
    if (isTRUE(median_half_width(time_ns[valid[seq_len(n)]], conf) <= precision)) return(as.numeric(valid[n]))
  }
  NA_real_
}

looks <- function(n, each = 100, growth = 1.02) {
  grown <- if (n > each) unique(ceiling(each * growth^seq_len(floor(log(n / each, growth)))))
  c(seq_len(min(n, each)), grown[grown <= n])
}

# The larger half of the median's interval over the median; NA below the number of values that allow the confidence
# (8 for 0.99).
median_half_width <- function(x, conf) {
  n <- length(x)
  low <- stats::qbinom((1 - conf) / 2, n, 0.5)
  # The interval from the low-th to the (n + 1 - low)-th value misses the median with 2 P(B < low).
  if (low > 0 && 2 * stats::pbinom(low - 1, n, 0.5) > 1 - conf) low <- low - 1
  if (low < 1) return(NA_real_)
  middle <- (n + 1) / 2
  wanted <- unique(c(low, floor(middle), ceiling(middle), n + 1 - low))
  sorted <- sort(x, partial = wanted)
  centre <- mean(sorted[c(floor(middle), ceiling(middle))])
  max(sorted[n + 1 - low] - centre, centre - sorted[low]) / abs(centre)
}

first_true <- function(x) {
  at <- which(x)
  if (length(at) == 0) NA_real_ else as.numeric(at[1])
}

# A row per launch, operation and size, of the off arm, from the raw files under `dirs`: `launch`, `operation`, `bytes`, `ranks`, the
# columns of `published_summary()`, and after how many starts the rules would have stopped: `stop_count`, `stop_error`, `stop_median` (NA:
# not yet). The attribute `notes` says what was left out.
mpiperf_report <- function(dirs, trim = 0.25) {
  parts <- list()
  notes <- each_raw(dirs, " and is left out", function(raw, con) parts <<- c(parts, launch_summaries(raw, con, trim)))
  if (length(parts) == 0) {
    abort_data("no start of the arm off in a raw file of ", paste(dirs, collapse = " "),
               ": run noiselab-detect with --starts window:raw=starts.bin (or round)")
  }
  structure(bind_rows(parts), notes = as.character(notes))
}

launch_summaries <- function(raw, con, trim) {
  off <- raw$arms$arm[raw$blocks$arm + 1] == "off"
  lapply(sort(unique(raw$blocks$config[off])), function(config) {
    got <- collect_starts(con, raw, raw$blocks[off & raw$blocks$config == config, ], 1, c("global_ns", "overshoot_ns"), summarise_starts)
    late <- got$overshoot_ns > raw$late_bound_ns
    cbind(data.frame(launch = raw$launch, operation = raw$configs$operation[config + 1],
                     bytes = raw$configs$bytes[config + 1], ranks = raw$ranks),
          published_summary(got$global_ns, late, trim),
          data.frame(stop_count = stop_by_count(late), stop_error = stop_by_error(got$global_ns, late),
                     stop_median = stop_by_median(got$global_ns, late)))
  })
}

# ---- noiselab analyze mpiperf ------------------------------------------------------------------

mpiperf_words <- function(trim) {
  dropped <- if (trim > 0) {
    sprintf("late starts and %g %% of the others (half from each end) are dropped", 100 * trim)
  } else "late starts are dropped, nothing is trimmed"
  paste0("As MPIPerf publishes it: ", dropped, ". This deletes noise, and no verdict of noiselab uses it; the mean, ",
         "median and maximum of all starts stand beside.")
}

format_mpiperf <- function(report, trim) {
  us <- function(x) ifelse(is.na(x), "-", sprintf("%.4g", x / 1000))
  count <- function(x) ifelse(is.na(x), "-", format_count(x))
  interval <- function(p) {
    low <- report[[paste0("ci", p, "_low_ns")]]
    ifelse(is.na(low), "-", paste0("[", us(low), ", ", us(report[[paste0("ci", p, "_high_ns")]]), "]"))
  }
  # Each table has the same first three columns and the launch as its last.
  table <- function(columns) {
    shown <- Map(function(label, text) col_number(label, NA, text), names(columns), columns)
    c(table_lines(do.call(new_table, c(list(
      operation = col_words("operation", report$operation), bytes = col_number("bytes", report$bytes),
      ranks = col_number("ranks", report$ranks)
    ), shown, list(launch = col_words("launch", report$launch))))), "")
  }
  c("published report, times in \u00b5s", wrap_line(mpiperf_words(trim)),
    wrap_line(paste("n_t: starts; n_c: not late; n_s: after trimming; T: their mean, with standard error SE; E: SE times Student's",
                    "quantile at 0.95")),
    table(list(n_t = count(report$n_t), n_c = count(report$n_c), n_s = count(report$n_s), "T" = us(report$mean_ns),
               SE = us(report$se_ns), Tmin = us(report$min_ns), Tmax = us(report$max_ns), E = us(report$e95_ns))),
    table(list("CI 0.90" = interval(90), "CI 0.95" = interval(95), "CI 0.99" = interval(99))),
    "all starts, and after how many of them a rule would have stopped (-: not yet)",
    wrap_line(paste("by count: over 100, or over 30 not late; by error: relative SE of those not late <= 0.05, and 10 of them; by",
                    "median: its 99 % interval within 1 %, of those not late")),
    table(list(mean = us(report$all_mean_ns), median = us(report$all_median_ns), max = us(report$all_max_ns),
               "by count" = count(report$stop_count), "by error" = count(report$stop_error),
               "by median" = count(report$stop_median))),
    format_notes(attr(report, "notes")))
}

mpiperf_view <- function(report, trim, operands) {
  us <- function(x) sprintf("%.4g", x / 1000)
  interval <- ifelse(is.na(report$ci99_low_ns), "-", paste0("[", us(report$ci99_low_ns), ", ", us(report$ci99_high_ns), "]"))
  table <- new_table(
    operation = col_words("operation", report$operation), bytes = col_number("bytes", report$bytes),
    ranks = col_number("ranks", report$ranks),
    n_t = col_number("starts", report$n_t), n_s = col_number("used", report$n_s), mean_ns = col_number("T", report$mean_ns, us, "\u00b5s"),
    ci99_low_ns = col_number("99 % CI", report$ci99_low_ns, interval), all_mean_ns = col_number("mean of all", report$all_mean_ns, us,
        "\u00b5s"),
    all_max_ns = col_number("longest", report$all_max_ns, us, "\u00b5s"), launch = col_words("launch", report$launch)
  )
  new_view(sprintf("The published report of MPIPerf for %s: T, the mean of the starts that are left after trimming.",
                   counted(nrow(report), "row")),
           table, "used: not late, and left after trimming; mean of all, longest: of all starts", mpiperf_words(trim),
           length(attr(report, "notes")), all_command(operands, "mpiperf"), report_beside(operands))
}
