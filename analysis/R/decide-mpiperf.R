# The report that MPIPerf publishes, from every start; and rules that say when to stop.

mpiperf_confidences <- c(0.9, 0.95, 0.99)

# Summary as published by MPIPerf, a row: late starts are dropped, then the share `trim` of the rest,
# floor(trim n_c / 2) from each end; mean, standard error (of the remaining values as if they were a sample:
# too small for a trimmed mean) and Student's interval are of what is left. **Dropping slow starts deletes
# the noise**: this is to compare with published figures, no verdict uses it. (The published method also
# drops starts that *end* late; here no end is late.) `n_t`: starts, `n_c`: not late, `n_s`: left. Kurnosov,
# M. G. (2012) MPIPerf, a package for benchmarking the communication functions of MPI libraries.
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

# After how many starts would a measurement have stopped? NA: it would have gone on. `stop_by_count()` is
# MPIPerf's variant 1: more than 100 starts, or more than 30 not late. `stop_by_error()` its variant 2:
# relative standard error of those not late at most 0.05, and at least 10 of them. Kurnosov (2012), see
# `published_summary()`.
stop_by_count <- function(late) as.numeric(which(seq_along(late) > 100 | cumsum(!late) > 30)[1])

stop_by_error <- function(time_ns, late) {
  valid <- which(!late)
  if (length(valid) < 2) return(NA_real_)
  # Centred first, so that sums of squares do not lose the scatter.
  x <- time_ns[valid] - time_ns[valid[1]]
  n <- seq_along(x)
  centre <- cumsum(x) / n
  variance <- pmax(0, (cumsum(x^2) - n * centre^2) / pmax(1, n - 1))
  relative <- sqrt(variance / n) / abs(centre + time_ns[valid[1]])
  as.numeric(valid[which(n >= 10 & relative <= 0.05)[1]])
}

# A row per launch, operation and size, of the off arm, from the raw files under `dirs`: `launch`,
# `operation`, `bytes`, `ranks`, and the columns of `published_summary()`, and after how many starts the
# rules would have stopped: `stop_count`, `stop_error` (NA: not yet). The attribute `notes` says what was
# left out.
mpiperf_report <- function(dirs, trim = 0.25) {
  parts <- list()
  notes <- each_raw(dirs, " and is left out", function(raw, con) {
    parts <<- c(parts, launch_summaries(raw, con, trim))
  })
  if (length(parts) == 0) {
    abort_data("no start of the arm off in a raw file of ", paste(dirs, collapse = " "),
               ": run noiselab-detect with --starts window:raw=starts.bin (or round)")
  }
  structure(bind_rows(parts), notes = as.character(notes))
}

launch_summaries <- function(raw, con, trim) {
  off <- raw$arms$arm[raw$blocks$arm + 1] == "off"
  lapply(sort(unique(raw$blocks$config[off])), function(config) {
    got <- collect_starts(con, raw, raw$blocks[off & raw$blocks$config == config, ],
                          c("global_ns", "overshoot_ns"), summarise_starts)
    late <- got$overshoot_ns > raw$late_bound_ns
    cbind(data.frame(launch = raw$launch, operation = raw$configs$operation[config + 1],
                     bytes = raw$configs$bytes[config + 1], ranks = raw$ranks),
          published_summary(got$global_ns, late, trim),
          data.frame(stop_count = stop_by_count(late), stop_error = stop_by_error(got$global_ns, late)))
  })
}

# ---- noiselab analyze mpiperf ------------------------------------------------------------------

mpiperf_words <- function(trim) {
  dropped <- if (trim > 0) {
    sprintf("late starts and %g %% of the others (half from each end) are dropped", 100 * trim)
  } else "late starts are dropped, nothing is trimmed"
  paste0("As MPIPerf publishes it: ", dropped,
         ". This deletes noise, and no verdict of noiselab uses it; the mean, ",
         "median and maximum of all starts stand beside.")
}

four_us <- function(ns) sprintf("%.4g", ns / 1000)

# Operation, bytes and ranks, the columns, the launch.
mpiperf_table <- function(report, ...) {
  new_table(operation = col_words("operation", report$operation), bytes = col_number("bytes", report$bytes),
            ranks = col_number("ranks", report$ranks), ..., launch = col_words("launch", report$launch))
}

# Beside the view.
mpiperf_part <- function(report) {
  us <- function(label, name) col_number(label, report[[name]], four_us)
  new_part(
    "published report, times in \u00b5s",
    mpiperf_table(report, n_c = col_number("n_c", report$n_c), se_ns = us("SE", "se_ns"),
                  min_ns = us("Tmin", "min_ns"), max_ns = us("Tmax", "max_ns"),
                  e90_ns = us("E 0.90", "e90_ns"), e95_ns = us("0.95", "e95_ns"),
                  e99_ns = us("0.99", "e99_ns"), all_median_ns = us("median of all", "all_median_ns"),
                  stop_count = col_number("by count", report$stop_count),
                  stop_error = col_number("by error", report$stop_error)),
    paste(
      paste0("n_c: starts not late; SE: standard error of T; E: SE times Student's quantile, half of the ",
             "interval; by: after how many starts a rule"),
      paste0("would have stopped: by count over 100, or over 30 not late; by error at a relative SE of ",
             "those not late of 0.05, and 10 of them")
    )
  )
}

mpiperf_view <- function(report, trim, operands) {
  us <- function(label, name) col_number(label, report[[name]], four_us, "\u00b5s")
  table <- mpiperf_table(
    report,
    n_t = col_number("starts", report$n_t),
    n_s = col_number("used", report$n_s),
    mean_ns = us("T", "mean_ns"),
    ci99_low_ns = col_number(
      "99 % CI",
      report$ci99_low_ns,
      ifelse(is.na(report$ci99_low_ns), "-",
             sprintf("[%s, %s]", four_us(report$ci99_low_ns), four_us(report$ci99_high_ns)))
    ),
    all_mean_ns = us("mean of all", "all_mean_ns"),
    all_max_ns = us("longest", "all_max_ns")
  )
  new_view(
    sprintf("The published report of MPIPerf for %s: T, the mean of the starts that are left after trimming.",
            counted(nrow(report), "row")),
    table,
    "used: not late, and left after trimming; mean of all, longest: of all starts",
    mpiperf_words(trim),
    length(attr(report, "notes")),
    all_command(operands, "mpiperf"),
    report_beside(operands)
  )
}
