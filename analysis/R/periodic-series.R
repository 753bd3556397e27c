# The series in which periods are looked for: the halves of a launch, and the starts of its raw file in slices.

# A list, one entry per launch x operation x bytes x series: `launch`, `operation`, `bytes`, `series`, `t_s` (middle
# of each value, since the launch's time zero), `x` (time: log of ns per operation; preempted, starts: percent of time),
# `width_s`, `sampling_s` (periods that the schedule itself has), `reason`.
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
    series <- c(series, unlist(lapply(unname(cells), row_series, rows = campaign$rows, sampling_s = rounds),
                               recursive = FALSE))
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
    max(1, length(unique(combine_keys(cell_key(rows)[on], rows[["level_requested_percent"]][on],
                                      treatment_code(rows, on)))))
  } else 1
  begins <- start_s[first][seq(1, sum(first), by = n_cells)]
  c(half, if (length(begins) > 1) stats::median(diff(begins)))
}

row_series <- function(at, rows, sampling_s) {
  wall <- rows[["wall_ns"]][at]
  preempted <- rows[["preempted_ns_sum"]][at]
  label <- list(launch = as.character(rows[["launch"]][at[1]]), operation = as.character(rows[["operation"]][at[1]]),
                bytes = rows[["bytes"]][at[1]])
  t_s <- (rows[["start_ns"]][at] + wall / 2) / 1e9
  values <- list(time = log_or_na(operation_ns_at(rows, at)), preempted = if (any(is.finite(preempted))) 100 * preempted / wall)
  lapply(names(Filter(Negate(is.null), values)), function(name) {
    keep <- which(is.finite(values[[name]]))
    keep <- keep[order(t_s[keep])]
    keep <- keep[!duplicated(t_s[keep])]
    c(label, list(series = name, t_s = t_s[keep], x = values[[name]][keep], width_s = stats::median(wall[keep]) / 1e9,
                  sampling_s = sampling_s, reason = NA_character_))
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
    c(list(launch = raw$launch, operation = raw$configs$operation[i], bytes = raw$configs$bytes[i], series = "starts"),
      sliced_starts(con, raw, blocks, sampling_s))
  })
  list(series = Filter(Negate(is.null), series), notes = raw$notes)
}

# The share of each slice of time that was lost, in percent: how much longer its starts took than a typical one, over
# the time they cover. A start that lasts for several slices counts in each. Slices covered by less than half have no
# value.
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
    # Spread over a slice at least: with sharp edges a pattern of a few starts would leave a beat with the slices.
    long <- pmax(took / plan$slice_ns, 1)
    middle <- from + took / plan$slice_ns / 2
    lost <- lost + into_slices(middle - long / 2, long, (took - plan$typical_ns) / plan$slice_ns, plan$slices)
    covered <- covered + into_slices(from, until / plan$slice_ns, until / plan$slice_ns, plan$slices)
  }
  keep <- which(covered >= 0.5)
  list(t_s = (plan$first + (keep - 0.5) * plan$slice_ns) / 1e9, x = 100 * pmin(1, lost[keep] / pmin(1, covered[keep])),
       width_s = plan$slice_ns / 1e9, sampling_s = c(sampling_s, plan$block_s), reason = NA_character_)
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
  list(first = first, slice_ns = slice, slices = floor(span / slice) + 1, typical_ns = typical, distance_ns = distance,
       block_s = if (ncol(ends) > 2) stats::median(diff(sort(ends[1, ]))) / 1e9)
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
  sums <- rowsum(share * rep(amount, times), at, reorder = FALSE)
  replace(numeric(slices), as.numeric(rownames(sums)), sums)
}
