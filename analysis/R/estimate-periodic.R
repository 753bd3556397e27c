# Periodic noise: what comes back, how often, when, and what it costs.

most_periods <- 8

# Looks for periods in each series of each launch and operation: `time` (log time per operation of the
# halves), `preempted` (percent of wall time, over all ranks) and of raw starts `starts` (percent of time,
# in slices). What was found is folded, taken off, and the search repeated, up to eight times. `periods`:
# periods asked for, s; each gets a row, found or not. NULL: none. `arm`: halves of the arm `off`, `on`, or
# `all`. Gives a data frame, one row per launch x operation x bytes x series x period: `launch`,
# `operation`, `bytes`, `arm`, `series`, `source` (`asked`; `tick`: the kernel's tick, where launch.json
# knows it; `found`; `search`: nothing was found), `period_s`, `period_se_s` (0 for a period that was
# given), `fap` (false-alarm probability; of periods that were asked for that of the fold), `p_fold` (of the
# fold alone, against its neighbouring periods), `harmonics` (lines that stand out by themselves), `mark`
# (`tick`, `load`, `sampling` or empty: what the period may come from), `duty` (share of the period that is
# raised), `amplitude_percent` (raise), `phase` (share of the period by which the raised part begins after
# the launch's time zero), `phase_s`, `cost_percent` (mean over the period: amplitude x duty), standard
# errors with `_se`, `limit_percent` (cost that would have been detected with probability 0.95, whatever the
# duty up to 1/2; of `search` the largest semi-amplitude of a sinusoid over all periods searched), `n`,
# `span_s`, `note`, `reason` (why there are no numbers, else NA). Percent of time per operation for `time`,
# of wall time for the other two. The attribute `notes`.
periodic_noise <- function(campaign, periods = NULL, arm = "off", alpha = 0.01) {
  got <- periodic_series(campaign, arm)
  rows <- bind_rows(lapply(got$series, function(s) {
    search_series(s, campaign$launches[[s$launch]], unique(periods), arm, alpha)
  }))
  structure(rows, notes = c(campaign$notes, got$notes, periodic_notes(campaign, rows)))
}

# ---- one series --------------------------------------------------------------------------------

search_series <- function(s, info, periods, arm, alpha) {
  known <- list(tick_s = tick_period(info), load_s = if (arm != "off") load_period(info),
                sampling_s = s$sampling_s)
  label <- data.frame(launch = s$launch, operation = s$operation, bytes = s$bytes, arm = arm,
                      series = s$series)
  state <- look_again(list(s = s, label = label, known = known, alpha = alpha, rows = list(),
                           taken = numeric()))
  for (period in periods) state <- asked_period(state, period)
  is_asked <- any(abs(1 / state$taken - 1 / (known$tick_s %||% Inf)) < 1.5 / attr(state$spectrum, "span_s"),
                  na.rm = TRUE)
  if (!is.null(known$tick_s) && !is_asked) state <- tick_row(state)
  before <- length(state$rows)
  for (i in seq_len(most_periods)) {
    family <- find_family(state$spectrum, alpha)
    if (is.null(family)) break
    state <- found_period(state, family)
  }
  last <- length(state$rows)
  if (last == before) state <- nothing_found(state)
  else if (!is.null(family)) {
    state$rows[[last]]$note <- join_notes(state$rows[[last]]$note,
                                          sprintf("the search ended after %d periods", most_periods))
  }
  bind_rows(state$rows)
}

add_row <- function(state, row) {
  state$rows <- c(state$rows, list(row))
  state
}

fold_at <- function(state, period) {
  epoch_fold(state$s$x, state$s$t_s, period, width_s = state$s$width_s, alpha = state$alpha)
}

# The spectrum of what is left. Around the lines of a period that was taken off, up to a twentieth of their
# distance, it is no longer looked at: bursts that are now longer, now shorter have side bands there.
look_again <- function(state) {
  spectrum <- periodogram(state$s$x, state$s$t_s)
  for (period in state$taken) {
    f <- spectrum$frequency_hz
    width <- max(1.5 / attr(spectrum, "span_s"), 0.05 / period)
    spectrum$z[f > 0.5 / period & abs(f - round(f * period) / period) < width] <- 0
    for (alias in aliases_of(state$s$t_s, seq_len(64) / period)) {
      spectrum$z[abs(f - alias) < max(1.5 / attr(spectrum, "span_s"), 0.01 / period)] <- 0
    }
  }
  state$spectrum <- spectrum
  state
}

asked_period <- function(state, period) {
  fold <- fold_at(state, period)
  row <- describe(state, fold, "asked", 0, fold$p)
  if (is.na(fold$reason) && fold$p > state$alpha) row <- not_detected(row, state)
  # A multiple of the true period shows, too; the search then finds that one.
  shorter <- if (is.na(row$reason)) shorter_period(1 / period, spectrum_grid(state$spectrum))
  if (!is.null(shorter)) {
    row$note <- join_notes(row$note,
                           sprintf("a multiple of %s, which explains it all", format_time(1 / shorter)))
  }
  state <- add_row(state, row)
  if (is.na(row$reason) && is.null(shorter)) take_off(state, period, fold) else state
}

tick_row <- function(state) {
  period <- state$known$tick_s
  fold <- fold_at(state, period)
  if (!is.na(fold$reason)) return(add_row(state, describe(state, fold, "tick", NA_real_, NA_real_)))
  # The tick's clock and the launch's may differ a little.
  within <- max(1.5 / fold$span_s, 2e-4 / period)
  family <- find_family(state$spectrum, state$alpha, near = 1 / period, within_hz = within)
  if (is.null(family)) return(add_row(state, not_detected(describe(state, fold, "tick", 0, fold$p), state)))
  family$frequency_hz <- 1 / period
  found_period(state, family, "tick")
}

found_period <- function(state, family, source = "found") {
  fine <- refine_frequency(state$s$x, state$s$t_s, family$frequency_hz, state$spectrum)
  period <- 1 / fine$frequency_hz
  fold <- fold_at(state, period)
  row <- describe(state, fold, source, fine$se_hz * period^2, family$fap)
  row$harmonics <- nrow(harmonic_lines(state$spectrum, fine$frequency_hz))
  vague <- isTRUE(fold$cost < 2 * fold$cost_se)
  unconfirmed <- is.na(fold$reason) && fold$p > state$alpha
  # Lines stand out, but what they add up to in a period is not raised anywhere: noise that comes and goes,
  # such as load that the scheduler moves at its ticks.
  if (unconfirmed && vague) {
    row <- without_numbers(
      row,
      sprintf("lines stand out of the spectrum (FAP %s), but folded they do not differ from noise (p = %s)",
              format_p(row$fap), format_p(row$p_fold))
    )
  } else if (unconfirmed) {
    row$note <- join_notes(row$note, sprintf("the fold alone does not show it (p = %s)", format_p(fold$p)))
  }
  else
  if (vague) {
    row$note <- join_notes(row$note, "the period is there, but other noise hides its burst and its cost")
  }
  take_off(add_row(state, row), period, fold)
}

# The profile is subtracted, in bins as fine as the number of values allows: harmonics above the highest
# frequency are in the series, too, by their aliases. Short series have few bins, and harmonics are fitted
# instead.
take_off <- function(state, period, fold) {
  s <- state$s
  fine <- min(512, length(s$x) %/% 10)
  if (is.na(fold$reason) && fine >= 64) {
    sums <- fold_sums(detrend_periods(s$x, s$t_s, period), s$t_s, period, fine)
    state$s$x <- s$x - (sums$sum / pmax(1, sums$n))[fold_bin(s$t_s, period, fine)]
    bin <- fold_bin(s$t_s, period, fold$bins)
    # No two bursts are alike: what their mean leaves of them would ring at all frequencies. A short one is
    # bridged by a straight line (a gap would let the slow noise leak to where the burst's harmonics were).
    margin <- max(1, round(2 * fold$phase_se * fold$bins))
    width <- round(fold$duty * fold$bins) + 2 * margin
    if (width <= fold$bins / 4) {
      keep <- (bin - 1 - round(fold$phase * fold$bins) + margin) %% fold$bins >= width
      state$s$x[!keep] <- stats::approx(s$t_s[keep], state$s$x[keep], s$t_s[!keep], rule = 2)$y
    }
  } else {
    k <- seq_len(max(1, min(32, length(s$x) %/% 20)))
    angle <- outer(2 * pi * ((s$t_s / period) %% 1), k)
    state$s$x <- stats::lm.fit(cbind(1, cos(angle), sin(angle)), s$x)$residuals
  }
  state$taken <- c(state$taken, period)
  look_again(state)
}

numbers_of_rows <- c("duty", "duty_se", "amplitude_percent", "amplitude_se_percent", "phase", "phase_se",
                     "phase_s", "cost_percent", "cost_se_percent")

describe <- function(state, fold, source, period_se, fap) {
  log_scale <- state$s$series == "time"
  percent <- function(x) if (log_scale) 100 * expm1(x) else x
  amplitude <- percent(fold$amplitude)
  slope <- if (log_scale) 100 * exp(fold$amplitude) else 1
  cost <- amplitude * fold$duty
  # The phase at time zero depends on the period, too: it turns around the middle of the series.
  middle <- if (length(state$s$t_s) > 0) mean(state$s$t_s) else 0
  span <- attr(state$spectrum, "span_s")
  row <- data.frame(
    state$label,
    source = source,
    period_s = fold$period_s,
    period_se_s = period_se,
    fap = fap,
    p_fold = fold$p,
    harmonics = NA_integer_,
    mark = period_mark(fold$period_s, state$known, span),
    duty = fold$duty,
    duty_se = fold$duty_se,
    amplitude_percent = amplitude,
    amplitude_se_percent = slope * fold$amplitude_se,
    phase = fold$phase,
    phase_se = sqrt(fold$phase_se^2 + (middle * period_se / fold$period_s^2)^2),
    phase_s = fold$phase * fold$period_s,
    cost_percent = cost,
    cost_se_percent = if (isTRUE(fold$cost > 0)) {
      cost / fold$cost * fold$cost_se
    } else {
      fold$cost_se
    },
    limit_percent = percent(fold$limit),
    n = length(state$s$x),
    span_s = span,
    note = NA_character_,
    reason = fold$reason
  )
  if (source == "asked" && is.na(fold$reason)) {
    row$harmonics <- nrow(harmonic_lines(state$spectrum, 1 / fold$period_s))
  }
  row$note <- resolution_note(state$s, fold)
  row
}

without_numbers <- function(row, reason) {
  row[numbers_of_rows] <- NA_real_
  row$reason <- reason
  row
}

not_detected <- function(row, state) {
  row$note <- NA_character_
  without_numbers(
    row,
    sprintf("not detected at %g; a cost of %s %% would have been detected", state$alpha,
            plain(row$limit_percent))
  )
}

nothing_found <- function(state) {
  spectrum <- state$spectrum
  reason <- attr(spectrum, "reason")
  limit <- NA_real_
  if (is.na(reason)) {
    limits <- line_limit(spectrum, state$alpha, 0.95)
    size <- if (state$s$series == "time") 100 * expm1(limits$amplitude) else limits$amplitude
    limit <- max(size)
    reason <- sprintf(
      "no %speriod at %g from %s to %s; a sinusoid of semi-amplitude %s to %s %% would have been detected",
      if (length(state$taken) > 0) "other " else "", state$alpha, format_time(min(limits$period_s)),
      format_time(max(limits$period_s)), plain(min(size)), plain(limit)
    )
  }
  row <- describe(state, no_fold(NA_real_, reason), "search", NA_real_, NA_real_)
  row$limit_percent <- limit
  add_row(state, row)
}

join_notes <- function(...) {
  notes <- c(...)
  notes <- notes[!is.na(notes)]
  if (length(notes) == 0) NA_character_ else paste(notes, collapse = "; ")
}

# ---- what a period may come from ---------------------------------------------------------------

tick_period <- function(info) {
  text <- unlist(lapply(info$hosts, function(host) host$tick))
  hz <- suppressWarnings(as.numeric(sub("^([0-9]+) Hz.*$", "\\1", text)))
  hz <- unique(hz[is.finite(hz) & hz > 0])
  if (length(hz) == 1) 1 / hz
}

load_period <- function(info) {
  period <- info$options$period_ns
  if (is_number(period, 0)) period / 1e9
}

# Of harmonics of these, too: a fundamental may have been taken off before.
period_mark <- function(period, known, span) {
  if (is.na(period) || is.na(span)) return("")
  is_of <- function(reference, most) {
    any(vapply(reference, function(r) {
      k <- round(r / period)
      k >= 1 && k <= most && r < span / 8 && abs(1 / period - k / r) < 1 / span
    }, TRUE))
  }
  if (is_of(known$tick_s, 64)) {
    "tick"
  } else if (is_of(known$load_s, 64)) {
    "load"
  } else if (is_of(known$sampling_s, 4)) {
    "sampling"
  } else {
    ""
  }
}

resolution_note <- function(s, fold) {
  if (!is.na(fold$reason) || fold$duty * fold$period_s > 2 * s$width_s) return(NA_character_)
  sprintf("one value covers %s: the burst may be shorter and higher", format_time(s$width_s))
}

# Where frequencies above the highest that even samples can show turn up; none where the samples are too
# uneven for it.
aliases_of <- function(t_s, frequencies) {
  gaps <- diff(t_s)
  if (length(gaps) < 2) return(numeric())
  step <- stats::median(gaps)
  # Over a long series the last digits of the distance count.
  place <- (t_s - t_s[1]) / step
  if (max(abs(place - round(place))) < 0.1) step <- (t_s[length(t_s)] - t_s[1]) / round(place[length(place)])
  f <- frequencies[frequencies > 1 / (2 * step) & 1 / frequencies > 10 * stats::mad(gaps)]
  abs(f - round(f * step) / step)
}

periodic_notes <- function(campaign, rows) {
  raw <- vapply(campaign$launches, function(info) !is.null(start_of(info)$raw), TRUE)
  c(if (!any(raw)) {
      paste(
        paste0("no launch has a raw file: halves show periods above two of their distances only; for ticks ",
               "and short"),
        "bursts run noiselab-detect with --starts round:raw=starts.bin"
      )
    }, if (any(rows$mark == "sampling")) {
      "sampling: the schedule itself comes back with this period (half, round, or batch of starts)"
    })
}

# ---- noiselab analyze periodic -----------------------------------------------------------------

analyze_periodic <- function(operands, values, form) {
  alpha <- alpha_option(values$alpha)
  arm <- values$arm %||% "off"
  if (!arm %in% periodic_arms) {
    abort_usage("--arm: '", arm, "' is not an arm", did_you_mean(arm, periodic_arms))
  }
  campaign <- read_campaign(operands, arms = "any")
  rows <- periodic_noise(campaign, period_option(values$period), arm, alpha)
  if (nrow(rows) == 0) {
    abort_data("no row of the arm ", arm, " in ", paste(operands, collapse = " "), ": try --arm all")
  }
  answered(form, values$table, list(alpha = alpha), list(periods = rows), attr(rows, "notes"),
           periodic_parts(rows), periodic_view(rows, alpha, operands))
}

# Times with units, several separated by commas or given again.
period_option <- function(texts) {
  if (is.null(texts)) return(NULL)
  words <- trimws(unlist(strsplit(texts, ",", fixed = TRUE)))
  if (length(words) == 0) words <- ""
  unique(vapply(words, duration_option, 0, name = "--period", USE.NAMES = FALSE))
}

# Beside the view: what was looked for and not found, and what is said of what was.
periodic_parts <- function(rows) {
  without <- rows[!is.na(rows$reason), ]
  period <- ifelse(
    without$source == "search", "",
    paste0(ifelse(without$source == "tick", "tick of ", ""), format_time(without$period_s), ": ")
  )
  list(
    new_part(
      "columns",
      NULL,
      paste(
        paste0("series time: time per operation; preempted, starts: share of wall time (starts: of the raw ",
               "file); cost: the raise, over the whole period;"),
        paste0("begins: start of the raised part after the launch's time zero; lines: harmonics that stand ",
               "out; \u00b1: one standard error; would have been"),
        "detected: with probability 0.95"
      ),
      sprintf("%s, %s: %s", rows$series, format_time(rows$period_s), rows$note)[
        !is.na(rows$note)
      ]
    ),
    if (nrow(without) > 0) {
      new_part(
        "not found",
        NULL,
        NULL,
        sprintf("%s, %s, arm %s, %s: %s%s", panel_name(without), without$launch, without$arm, without$series,
                period, without$reason)
      )
    }
  )
}

periodic_table <- function(shown, by = NULL) {
  new_table(
    series = col_words("series", shown$series),
    period_s = col_number("period", shown$period_s, period_words(shown$period_s, shown$period_se_s)),
    cost_percent = col_number("cost %", shown$cost_percent,
                              with_error(shown$cost_percent, shown$cost_se_percent)),
    duty = col_number("duty %", shown$duty, with_error(100 * shown$duty, 100 * shown$duty_se)),
    phase_s = col_number("begins", shown$phase_s,
                         period_words(shown$phase_s, shown$phase_se * shown$period_s)),
    harmonics = col_number("lines", shown$harmonics),
    fap = col_number("FAP", shown$fap, format_p),
    remark = col_words("", shown$mark),
    by = by
  )
}

# On one screen: the periods that were found, the surest first, and what would have been detected where none
# was.
periodic_view <- function(rows, alpha, operands) {
  found <- rows[is.na(rows$reason), ]
  found <- found[order(found$fap), ]
  first <- found[1, ]
  notes <- unique(attr(rows, "notes"))
  why <- unique(rows$reason[!is.na(rows$reason)])
  new_view(
    if (nrow(found) == 0) {
      paste0("No periodic noise was found (", few_words(why, 2), ").")
    } else {
      sprintf(
        "Noise comes back every %s%s (series %s of %s, false-alarm probability %s); %s found in all.",
        format_time(signif(first$period_s, 4)),
        if (is.na(first$cost_percent)) {
          ""
        } else {
          sprintf(" and costs %s %%", plain(first$cost_percent))
        },
        first$series,
        panel_name(first),
        format_p(first$fap),
        if (nrow(found) == 1) {
          "1 period was"
        } else {
          sprintf("%d periods were", nrow(found))
        }
      )
    },
    if (nrow(found) > 0) {
      periodic_table(found, paste0(panel_name(found), ", ", found$launch, ", arm ", found$arm))
    },
    if (nrow(found) > 0) {
      sprintf("duty: share of the period that is raised; begins: after time zero; FAP: at most %g per series",
              alpha)
    },
    notes = length(notes),
    command = all_command(operands, "periodic"),
    report = report_beside(operands)
  )
}

# With as many decimals as the standard error deserves.
with_error <- function(x, se) {
  digits <- ifelse(is.na(se) | se <= 0, 3, pmin(4, pmax(0, -floor(log10(pmax(se, 1e-9))))))
  ifelse(is.na(se), plain(x), sprintf("%.*f \u00b1 %.*f", digits, x, digits, se))
}

# A time and its standard error in the same unit, with as many decimals as the error deserves.
period_words <- function(seconds, se) {
  one <- function(s, e) {
    if (is.na(s)) return("-")
    if (is.na(e) || e <= 0) return(format_time(s))
    scale <- c(s = 1, ms = 1e-3, "\u00b5s" = 1e-6, ns = 1e-9)
    unit <- which(max(s, e) >= scale)[1]
    if (is.na(unit)) unit <- 4
    digits <- min(6, max(0, -floor(log10(e / scale[[unit]]))))
    sprintf("%.*f \u00b1 %.*f %s", digits, s / scale[[unit]], digits, e / scale[[unit]], names(scale)[unit])
  }
  mapply(one, seconds, se, USE.NAMES = FALSE)
}

periodic_arms <- c("off", "on", "all")
