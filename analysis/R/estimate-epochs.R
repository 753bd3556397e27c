# What one period looks like: a series folded at a period.

# Folds the series `x` at a period: times (`t_s`, the middle of each value) modulo `period_s` (from two
# median distances to a third of the span) are cut into bins, each bin's mean is one point of the profile,
# to which a box (one stretch raised over the rest) is fitted by least squares. Before, slow drift is taken
# off: the running median, over five stretches of whole periods, of the stretches' means, which leaves the
# profile as it is. `bins`: NULL: as many as the length of a value (`width_s`, NULL: the median distance)
# and ten values per bin allow, 512 at most.
#
# A list: `profile` (the mean of each bin with values, above what is not raised); `p` (against a constant,
# where neighbouring periods say what red noise makes of it); `phase` (where the raised part begins),
# `duty`, `amplitude`, `cost` (amplitude x duty) with `_se` by the jackknife over up to 20 stretches, and
# the width of a bin; `limit`: the largest cost of a box of duty up to 1/2 that the test at `alpha` would
# have missed with 1 - `power`; `bins`, `span_s`, `period_s`, `reason` (why all else is NA, else NA). Leahy,
# D. A. et al. (1983) Astrophysical Journal 266, 160-170; Kovacs, G., Zucker, S. and Mazeh, T. (2002)
# Astronomy and Astrophysics 391, 369-377 (the box).
epoch_fold <- function(x, t_s, period_s, bins = NULL, width_s = NULL, alpha = 0.01, power = 0.95) {
  reason <- fold_reason(x, t_s, period_s)
  if (!is.na(reason)) return(no_fold(period_s, reason))
  step <- stats::median(diff(t_s))
  span <- t_s[length(t_s)] - t_s[1] + step
  width <- width_s %||% step
  bins <- bins %||%
    max(4, min(512, length(x) %/% 10, if (width > 0) floor(period_s / width * (1 + 1e-9)) else Inf))
  y <- detrend_periods(x, t_s, period_s)
  sums <- fold_sums(y, t_s, period_s, bins)
  if (sum(sums$n > 0) < 3) return(no_fold(period_s, "the values fall into fewer than 3 bins of the period"))
  box <- box_fit(sums$sum, sums$n)
  c(
    list(profile = (sums$sum / sums$n - box$low)[sums$n > 0]),
    fold_test(y, t_s, period_s, bins, sums, span, alpha, power),
    list(phase = box$start / bins, duty = box$width / bins, amplitude = box$amplitude,
         cost = box$amplitude * box$width / bins),
    box_errors(y, t_s, period_s, bins, box),
    list(bins = bins, span_s = span, period_s = period_s, reason = NA_character_)
  )
}

fold_reason <- function(x, t_s, period_s) {
  reason <- series_reason(x, t_s)
  if (!is.na(reason)) return(reason)
  step <- stats::median(diff(t_s))
  span <- t_s[length(t_s)] - t_s[1] + step
  if (period_s > span / 3 * (1 + 1e-9)) {
    return(sprintf("the period %s is longer than a third of the span %s", format_time(period_s),
                   format_time(span)))
  }
  if (period_s < 2 * step * (1 - 1e-6)) {
    return(sprintf("the period %s is below two samples (one every %s)", format_time(period_s),
                   format_time(step)))
  }
  NA_character_
}

no_fold <- function(period_s, reason) {
  values <- c("p", "limit", "phase", "duty", "amplitude", "cost", "phase_se", "duty_se", "amplitude_se",
              "cost_se", "bins", "span_s")
  c(list(profile = numeric()), stats::setNames(as.list(rep(NA_real_, length(values))), values),
    list(period_s = period_s, reason = reason))
}

# A running median of the values themselves would follow a profile that is raised half of the time. Means of
# whole periods hold the same share of it each.
detrend_periods <- function(x, t_s, period_s) {
  each <- ceiling(16 * stats::median(diff(t_s)) / period_s)
  stretch <- floor((t_s - t_s[1]) / (each * period_s))
  last <- stretch[length(stretch)]
  # What is left of a period at the end would be a mean of a part of it.
  ends <- t_s[1] + (last + 1) * each * period_s
  short <- t_s[length(t_s)] + stats::median(diff(t_s)) < ends - 0.05 * each * period_s
  if (last > 0 && short) stretch[stretch == last] <- last - 1
  sums <- rowsum(cbind(x, 1), stretch, reorder = FALSE)
  means <- sums[, 1] / sums[, 2]
  at <- rowsum(t_s, stretch, reorder = FALSE)[, 1] / sums[, 2]
  if (length(means) < 3) return(x - mean(x))
  smooth <- stats::runmed(means, min(5, 2 * ((length(means) - 1) %/% 2) + 1))
  x - stats::approx(at, smooth, t_s, rule = 2)$y
}

# Sums of the values at each of the places 1 to n.
sums_at <- function(x, at, n) {
  sums <- rowsum(x, at, reorder = FALSE)
  replace(numeric(n), as.numeric(rownames(sums)), sums)
}

fold_bin <- function(t_s, period_s, bins) pmin(bins - 1, floor(((t_s / period_s) %% 1) * bins)) + 1

# Per bin: number and sum of the values; `variance` of a value around its bin's mean.
fold_sums <- function(y, t_s, period_s, bins) {
  bin <- fold_bin(t_s, period_s, bins)
  n <- tabulate(bin, bins)
  sum <- sums_at(y, bin, bins)
  within <- sum(y^2) - sum(sum[n > 0]^2 / n[n > 0])
  list(n = n, sum = sum, variance = max(within, 0) / max(1, length(y) - sum(n > 0)))
}

fold_chi_square <- function(sums) {
  used <- sums$n > 0
  mean <- sum(sums$sum) / sum(sums$n)
  between <- sum(sums$n[used] * (sums$sum[used] / sums$n[used] - mean)^2)
  if (sums$variance == 0) if (between > 0) Inf else 0 else between / sums$variance
}

# Against a constant. Where noise is red the statistic is large without any period, so it is measured
# against the same at neighbouring periods: from 3 to 12 resolved frequencies away on either side, where no
# line of this period reaches.
fold_test <- function(y, t_s, period_s, bins, sums, span, alpha, power) {
  df <- sum(sums$n > 0) - 1
  chi_square <- fold_chi_square(sums)
  off_hz <- 1 / period_s + c(-12:-3, 3:12) * 1.37 / span
  off_hz <- off_hz[off_hz >= 2 / span]
  off <- vapply(off_hz, function(f) fold_chi_square(fold_sums(y, t_s, 1 / f, bins)), 0)
  level <- if (isTRUE(mean(off) > 0)) mean(off) else df
  # The profile of red noise is mostly its first harmonics, which scatter as if there were fewer bins.
  worth <- max(1, min(df, 2 * level^2 / stats::var(off)))
  if (!is.finite(worth)) worth <- df
  df_off <- length(off) * worth
  p <- stats::pf(chi_square / level, worth, df_off, lower.tail = FALSE)
  ncp <- noncentrality(worth * stats::qf(1 - alpha, worth, df_off), worth, power)
  # A box of amplitude a and duty d adds n a^2 d (1 - d) / variance; its cost a d is largest at d = 1/2.
  limit <- sqrt(ncp * level / worth * sums$variance / length(y))
  list(p = p, limit = limit)
}

# The box that explains most: from bin `start` (from 0) on, `width` bins are raised by `amplitude` over `low`.
box_fit <- function(sum, n) {
  bins <- length(n)
  total <- sum(sum)
  count <- sum(n)
  run <- function(v) c(0, cumsum(c(v, v)))
  sums <- run(sum)
  counts <- run(n)
  best <- list(gain = -Inf)
  from <- seq_len(bins)
  for (width in from[-bins]) {
    inside <- sums[from + width] - sums[from]
    n_in <- counts[from + width] - counts[from]
    n_out <- count - n_in
    raise <- inside / n_in - (total - inside) / n_out
    gain <- raise^2 * n_in * n_out / count
    # not a number where nothing is inside, or nothing outside
    gain[is.na(raise) | raise <= 0] <- -Inf
    top <- which.max(gain)
    if (gain[top] > best$gain * (1 + 1e-12) + 1e-300) {
      best <- list(gain = gain[top], start = top - 1, width = width, amplitude = raise[top],
                   low = (total - inside[top]) / n_out[top])
    }
  }
  if (!is.finite(best$gain)) {
    list(gain = 0, start = 0, width = bins, amplitude = 0, low = total / count)
  } else {
    best
  }
}

# Standard errors by leaving out one stretch of whole periods after the other; edges are known to a bin at
# best.
box_errors <- function(y, t_s, period_s, bins, box, most = 20) {
  none <- list(phase_se = NA_real_, duty_se = NA_real_, amplitude_se = NA_real_, cost_se = NA_real_)
  period <- floor((t_s - t_s[1]) / period_s)
  groups <- min(most, period[length(period)] + 1)
  if (groups < 3) return(none)
  group <- floor(period * groups / (period[length(period)] + 1))
  bin <- fold_bin(t_s, period_s, bins)
  key <- group * bins + bin
  n <- matrix(tabulate(key, groups * bins), bins)
  sum <- matrix(sums_at(y, key, groups * bins), bins)
  used <- which(colSums(n) > 0)
  if (length(used) < 3) return(none)
  kept <- vapply(used, function(g) {
    b <- box_fit(rowSums(sum[, -g, drop = FALSE]), rowSums(n[, -g, drop = FALSE]))
    # The phase is a place on a circle: nearest to that of all.
    c(phase = ((b$start - box$start) / bins + 0.5) %% 1, duty = b$width / bins, amplitude = b$amplitude,
      cost = b$amplitude * b$width / bins)
  }, numeric(4))
  g <- length(used)
  se <- sqrt((g - 1) / g * rowSums((kept - rowMeans(kept))^2))
  edge <- 1 / bins / sqrt(12)
  list(phase_se = sqrt(se[["phase"]]^2 + edge^2), duty_se = sqrt(se[["duty"]]^2 + 2 * edge^2),
       amplitude_se = se[["amplitude"]], cost_se = se[["cost"]])
}

# The series in which periods are looked for: the halves of a launch, and the starts of its raw file in
# slices.

# A list, one entry per launch x operation x bytes x series: `launch`, `operation`, `bytes`, `series`, `t_s`
# (middle of each value, since the launch's time zero), `x` (time: log of ns per operation; preempted,
# starts: percent of time), `width_s`, `sampling_s` (periods that the schedule itself has), `reason`.
periodic_series <- function(campaign, arm = "off") {
  arms <- if (arm == "all") c("off", "on") else arm
  notes <- character()
  series <- list()
  for (id in names(campaign$launches)) {
    info <- campaign$launches[[id]]
    at <- which(campaign$rows[["launch"]] == id)
    rounds <- schedule_periods(campaign$rows, at, info)
    chosen <- at[campaign$rows[["arm"]][at] %in% arms]
    cells <- split(chosen, code_of(cell_key(campaign$rows)[chosen]))
    series <- c(
      series,
      unlist(lapply(unname(cells), row_series, rows = campaign$rows, sampling_s = rounds), recursive = FALSE)
    )
    if (!is.null(start_of(info)$raw)) {
      raw <- tryCatch(raw_series(campaign$paths[[id]], info, arms, rounds), nl_error_data = conditionMessage)
      if (is.character(raw)) notes <- c(notes, raw) else {
        series <- c(series, raw$series)
        notes <- c(notes, raw$notes)
      }
    }
  }
  list(series = series, notes = notes)
}

# The half, and the round: the time in which the schedule comes back to the same cell.
schedule_periods <- function(rows, at, info) {
  start_s <- rows[["start_ns"]][at] / 1e9
  half <- stats::median(rows[["wall_ns"]][at]) / 1e9
  pair <- rows[["pair"]][at]
  first <- !duplicated(pair)
  n_cells <- if (identical(info$options$design, "lockin")) {
    on <- at[rows[["arm"]][at] == "on"]
    max(
      1,
      length(unique(combine_keys(cell_key(rows)[on], rows[["level_requested_percent"]][on],
                                 treatment_code(rows, on))))
    )
  } else 1
  begins <- start_s[first][seq(1, sum(first), by = n_cells)]
  c(half, if (length(begins) > 1) stats::median(diff(begins)))
}

row_series <- function(at, rows, sampling_s) {
  wall <- rows[["wall_ns"]][at]
  preempted <- rows[["preempted_ns_sum"]][at]
  label <- list(launch = as.character(rows[["launch"]][at[1]]),
                operation = as.character(rows[["operation"]][at[1]]), bytes = rows[["bytes"]][at[1]])
  t_s <- (rows[["start_ns"]][at] + wall / 2) / 1e9
  values <- list(time = log_or_na(operation_ns_at(rows, at)),
                 preempted = if (any(is.finite(preempted))) 100 * preempted / wall)
  lapply(names(Filter(Negate(is.null), values)), function(name) {
    keep <- which(is.finite(values[[name]]))
    keep <- keep[order(t_s[keep])]
    keep <- keep[!duplicated(t_s[keep])]
    c(
      label,
      list(series = name, t_s = t_s[keep], x = values[[name]][keep],
           width_s = stats::median(wall[keep]) / 1e9, sampling_s = sampling_s, reason = NA_character_)
    )
  })
}

most_slices <- 2^18
least_starts <- 4  # in a slice

# Of the raw file, read twice block by block: memory does not grow with the number of starts.
raw_series <- function(dir, info, arms, sampling_s) {
  raw <- raw_index(raw_file_of(dir, info), info)
  con <- file(raw$file, "rb")
  on.exit(close(con))
  wanted <- raw$arms$arm[raw$blocks$arm + 1] %in% arms & raw$blocks$n > 0
  series <- lapply(seq_len(nrow(raw$configs)), function(i) {
    blocks <- raw$blocks[wanted & raw$blocks$config == i - 1, ]
    if (nrow(blocks) == 0) return(NULL)
    c(
      list(launch = raw$launch, operation = raw$configs$operation[i], bytes = raw$configs$bytes[i],
           series = "starts"),
      sliced_starts(con, raw, blocks, sampling_s)
    )
  })
  list(series = Filter(Negate(is.null), series), notes = raw$notes)
}

# The share of each slice of time that was lost, in percent: how much longer its starts took than a typical
# one, over the time they cover. A start that lasts for several slices counts in each. Slices covered by
# less than half have no value.
sliced_starts <- function(con, raw, blocks, sampling_s) {
  plan <- slice_plan(con, raw, blocks)
  lost <- numeric(plan$slices)
  covered <- numeric(plan$slices)
  for (group in block_groups(raw, blocks, 2e5)) {
    values <- group_values(con, raw, blocks, group)
    took <- do.call(pmax, lapply(seq_len(raw$ranks), function(r) values$arrival[, r] + values$took[, r]))
    # A start covers the time up to the next one; a longer break is time that nobody looked at.
    from <- (values$scheduled - plan$first) / plan$slice_ns
    until <- pmax(took, pmin(c(diff(values$scheduled), plan$distance_ns), took + 2 * plan$distance_ns))
    # Spread over a slice at least: with sharp edges a pattern of a few starts would leave a beat with the
    # slices.
    long <- pmax(took / plan$slice_ns, 1)
    middle <- from + took / plan$slice_ns / 2
    lost <- lost + into_slices(middle - long / 2, long, (took - plan$typical_ns) / plan$slice_ns, plan$slices)
    covered <- covered + into_slices(from, until / plan$slice_ns, until / plan$slice_ns, plan$slices)
  }
  keep <- which(covered >= 0.5)
  list(t_s = (plan$first + (keep - 0.5) * plan$slice_ns) / 1e9,
       x = 100 * pmin(1, lost[keep] / pmin(1, covered[keep])), width_s = plan$slice_ns / 1e9,
       sampling_s = c(sampling_s, plan$block_s), reason = NA_character_)
}

slice_plan <- function(con, raw, blocks) {
  some <- unique(round(seq(1, nrow(blocks), length.out = 30)))
  sample <- lapply(some, function(i) {
    values <- raw_values(con, raw, blocks, i)
    list(took = apply(values$arrival + values$took, 1, max), distance = diff(values$scheduled))
  })
  ends <- vapply(seq_len(nrow(blocks)), function(i) {
    seek(con, blocks$at[i] + raw_block_bytes)
    range(readBin(con, "double", blocks$n[i], 8, endian = "little"))
  }, numeric(2))
  typical <- stats::median(unlist(lapply(sample, `[[`, "took")))
  distance <- max(stats::median(c(unlist(lapply(sample, `[[`, "distance")))), typical, na.rm = TRUE)
  first <- min(ends)
  span <- max(ends) + typical - first
  slice <- max(span / most_slices, least_starts * distance)
  list(first = first, slice_ns = slice, slices = floor(span / slice) + 1, typical_ns = typical,
       distance_ns = distance, block_s = if (ncol(ends) > 2) stats::median(diff(sort(ends[1, ]))) / 1e9)
}

# Amounts that fall evenly on the times from `from` on, `length` long (in slices), summed up slice by slice.
into_slices <- function(from, length, amount, slices) {
  first <- pmin(slices, pmax(1, floor(from) + 1))
  last <- pmin(slices, pmax(first, ceiling(from + length)))
  # Most lie in one slice, some in a few.
  times <- last - first + 1
  at <- rep(first, times) + sequence(times) - 1
  begin <- rep(from, times)
  all <- rep(length, times)
  share <- pmax(0, pmin(begin + all, at) - pmax(begin, at - 1)) / all
  sums_at(share * rep(amount, times), at, slices)
}
