# Every figure of an acceptance campaign with its interval: geometric mean for times and rates, exact bounds
# where nothing happened.

figure_table <- function(units, alpha, watched = NULL) {
  if (nrow(units) == 0) return(figure_table(one_unit, alpha, watched)[0, ])
  rows <- bind_rows(lapply(parts_by(units, units$check, units$variant, units$metric, units$size),
                           figures_of_key, watched))
  rows$name <- figure_name(rows)
  ends <- figure_bounds(rows, alpha)
  rows$ci_low <- ends$low
  rows$ci_high <- ends$high
  rows
}

# One figure of all its entities: mean, standard error and degrees of freedom on the scale of tests ("more":
# not turned), and what exact bounds need.
figures_of_key <- function(part, watched) {
  scale <- usable_scale(part)
  unit <- combine_keys(part$launch, part$repetition)
  table <- unit_table(to_scale(part$x, scale, "more"), unit, part$entity)
  launch <- part$launch[!duplicated(unit)]
  got <- column_scatter(table, launch)
  excess <- ifelse(is.na(got$excess), 0, pmax(0, got$excess))
  variance <- got$within + excess
  over <- function(v, df) ifelse(v > 0, v^2 / df, 0)
  first <- rows_at(part, which(!duplicated(part$entity)))
  by <- match(part$entity, first$entity)
  n_by <- tabulate(by)
  median <- if (all(n_by == n_by[1])) row_medians(matrix(part$x[order(by)], length(n_by), byrow = TRUE)) else
    as.vector(tapply(part$x, by, stats::median))
  do.call(
    frame,
    c(
      unclass(first)[c(figure_key, "what", "worse", "of", "entity", "unit")],
      list(scale = scale, value = from_scale(got$mean, scale, "more"), se = sqrt(variance),
           df = variance^2 / (over(got$within, got$within_df) + over(excess, got$n_launches - 1)), n = got$n,
           n_launches = got$n_launches, median = median,
           all_zero = tabulate(by[part$x == 0], length(n_by)) == n_by,
           events = as.vector(rowsum(part$trials, by))),
      watched_of(first, watched)
    )
  )
}

# Seconds of CPU time in which the events of a figure could have been seen, and those in which bursts could,
# with the bursts.
watched_of <- function(rows, watched) {
  none <- list(watched_s = NA_real_, bursts_s = NA_real_, bursts = 0)
  if (is.null(watched) || !any(rows$check %in% checks_with("scan", "yes"))) return(none)
  own <- watched[watched$check == rows$check[1] & watched$variant == rows$variant[1], ]
  own <- tapply(own$seconds, own$host, sum)
  all <- rowsum(watched[c("seconds", "bursts")], watched$host)
  at <- match(rows$entity, rownames(all))
  list(watched_s = as.vector(own[rows$entity]), bursts_s = all$seconds[at], bursts = all$bursts[at])
}

# Two-sided interval at 1 - alpha, in the figure's unit; of zeros and numbers of events exact where that is
# wider: Poisson for events per second of CPU time, Clopper and Pearson for shares of starts. What bursts
# that nobody saw could take belongs to the upper end of shares of time.
figure_bounds <- function(rows, alpha) {
  log_scale <- rows$scale == "log"
  centre <- ifelse(log_scale, log(pmax(rows$value, 1e-300)), rows$value)
  known <- rows$n > 1 & is.finite(rows$se) & rows$se > 0
  reach <- ifelse(known, stats::qt(1 - alpha / 2, rows$df) * rows$se, NA_real_)
  back <- function(x) ifelse(log_scale, exp(x), x)
  low <- back(centre - reach)
  high <- back(centre + reach)
  rate <- rows$metric == "detours" & !is.na(rows$watched_s)
  if (any(rate)) {
    e <- rows$events[rate]
    low[rate] <- pmin(low[rate],
                      ifelse(e > 0, stats::qgamma(alpha / 2, pmax(1, e)), 0) / rows$watched_s[rate],
                      na.rm = TRUE)
    high[rate] <- pmax(high[rate], stats::qgamma(1 - alpha / 2, e + 1) / rows$watched_s[rate], na.rm = TRUE)
  }
  share <- rows$check == "collective" & rows$metric %in% c("late_starts", "last_start", "last_end") &
    rows$events > 0
  if (any(share)) {
    n <- rows$events[share]
    k <- pmin(n, rows$value[share] / 100 * n)
    low[share] <- pmin(low[share], 100 * ifelse(k > 0, stats::qbeta(alpha / 2, pmax(k, 1e-9), n - k + 1), 0),
                       na.rm = TRUE)
    high[share] <- pmax(high[share],
                        100 * ifelse(k < n, stats::qbeta(1 - alpha / 2, k + 1, pmax(n - k, 1e-9)), 1),
                        na.rm = TRUE)
  }
  burst <- rows$check %in% checks_with("scan", "yes") & rows$metric %in% burst_metrics & !is.na(rows$bursts_s)
  if (any(burst)) {
    extra <- most_in_bursts(rows$bursts[burst], rows$bursts_s[burst], alpha / 2)
    zero <- rows$all_zero[burst]
    low[burst] <- ifelse(zero, 0, low[burst])
    # no more than all of the time can be lost
    high[burst] <- pmin(ifelse(zero, 0, high[burst]) + extra, pmax(100, rows$value[burst]))
  }
  data.frame(low = low, high = high)
}

bound_words <- function(rows) {
  rate <- rows$metric == "detours" & rows$all_zero & !is.na(rows$watched_s)
  burst <- rows$metric %in% burst_metrics & !is.na(rows$bursts_s)
  ifelse(
    is.na(rows$ci_high),
    ifelse(
      rows$n < 2,
      "its scatter is unknown (one repetition)",
      ifelse(rows$all_zero, "all repetitions are 0, and for how long it was watched is not known",
             "all repetitions agree exactly, their scatter is unknown")
    ),
    ifelse(
      rate,
      sprintf("no event in %s: below %s per second", format_time(rows$watched_s),
              format_effect(rows$ci_high, FALSE)),
      ifelse(
        burst,
        sprintf("bursts of %s: %s in %s of CPU time, so that they may take up to %s %%",
                format_time(burst_ns / 1e9),
                ifelse(rows$bursts > 0, format_count_each(rows$bursts), "none was seen"),
                format_time(rows$bursts_s),
                format_effect(most_in_bursts(rows$bursts, rows$bursts_s, 0.005), FALSE)),
        ""
      )
    )
  )
}

# Periods of the detours of each CPU: the strongest of its scans. `p`: of the spectrum's family of lines,
# times the number of scans.
detour_periods <- function(acceptance, scans, alpha) {
  known <- which(vapply(scans$detours, NROW, 0L) >= least_distances & !scans$host %in% acceptance$left_out)
  found <- bind_rows(lapply(known, function(i) {
    s <- scans[i, ]
    period <- spectral_period(cbind(s$detours[[1]], half = 1), data.frame(start = 0, wall = s$wall_ns), alpha)
    data.frame(launch = names(acceptance$paths)[s$launch], host = s$host, variant = s$variant, cpu = s$cpu,
               period_s = period$period, se_s = period$se, p = period$fap)
  }))
  if (nrow(found) == 0) return(NULL)
  found$p <- pmin(1, found$p * nrow(found))
  found <- found[!is.na(found$p) & found$p <= alpha, ]
  found <- found[order(found$p), ]
  found[!duplicated(found[c("launch", "host", "variant", "cpu")]), ]
}
