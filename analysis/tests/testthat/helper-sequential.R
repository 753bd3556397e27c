# Every look of launches with `--stop-when decided`, again from their rows, against what the detector wrote
# while it ran.

# The repeated interval of a look from log ratios `d`, and on which side of the margin (percent) it lies.
interval_of_look <- function(d, nominal_p, margin) {
  n <- length(d)
  mean <- if (n > 0) mean(d) else NA_real_
  sd <- if (n > 1) stats::sd(d) else NA_real_
  reach <- if (isTRUE(sd > 0)) stats::qt(nominal_p, n - 1, lower.tail = FALSE) * sd / sqrt(n) else NA_real_
  ends <- mean + c(-reach, reach)
  limit <- log1p(margin / 100)
  decision <- if (isTRUE(ends[1] > limit)) {
    "above"
  } else if (margin > 0 && isTRUE(ends[2] < limit)) {
    "below"
  } else {
    "open"
  }
  # a very wide interval has no number, which JSON writes as null
  percent <- ifelse(is.finite(expm1(ends)), 100 * expm1(ends), NA)
  list(n = n, mean_log_ratio = mean, sd = sd, low_percent = percent[1], high_percent = percent[2],
       decision = decision)
}

# One row per launch, look and cell: what the rows say, `difference` (the largest relative one; of bounds,
# which may lie near 0, on the scale of the interval), `agrees`, `reason` (what differs, else NA).
check_sequential <- function(campaign, tolerance = 1e-9) {
  launches <- Filter(function(info) length(info$sequential$looks) > 0, unname(campaign$launches))
  bind_rows(lapply(launches, function(info) {
    plan <- info$sequential
    pairs <- pairs_of_launch(campaign, info)
    bind_rows(lapply(plan$looks, function(look) bind_rows(lapply(look$cells, function(cell) {
      d <- pairs$d[pairs$round < look$rounds & in_cell(pairs, cell)]
      compare_cell(look, cell, interval_of_look(d, look$nominal_p, plan$margin_percent), tolerance)
    }))))
  }))
}

# Log ratios of a launch: a data frame with the labels of the cell, `round` (from 0) and `d`.
pairs_of_launch <- function(campaign, info) {
  rows <- campaign$rows[campaign$rows[["launch"]] == info$launch, ]
  pairs <- pair_rows(rows)
  value <- log_or_na(operation_ns(rows))
  # pairs are numbered through from round to round
  per_round <- info$pairs_planned / info$sequential$rounds_planned
  number <- match(rows[["pair"]], sort(unique(rows[["pair"]]))) - 1
  frame <- pairs$cells[pairs$cell, ]
  frame$round <- floor(number[pairs$on] / per_round)
  frame$d <- value[pairs$on] - value[pairs$off]
  frame[is.finite(frame$d), ]
}

in_cell <- function(pairs, cell) {
  same <- pairs$operation == cell$operation & pairs$bytes == cell$bytes &
    abs(pairs$level_requested_percent - cell$level_percent) <= 1e-9 * cell$level_percent
  for (name in intersect(treatment_columns, names(cell))) {
    same <- same & as.character(pairs[[name]]) == cell[[name]]
  }
  same
}

compare_cell <- function(look, cell, mine, tolerance) {
  scale <- c(mean_log_ratio = mine$sd, low_percent = mine$high_percent - mine$low_percent,
             high_percent = mine$high_percent - mine$low_percent)
  differ <- vapply(names(mine), function(name) {
    a <- mine[[name]]
    b <- cell[[name]]
    if (is.null(b) || is.na(a) || is.na(b)) return(if (is.na(a) && (is.null(b) || is.na(b))) 0 else Inf)
    if (identical(a, b) || a == b) {
      0
    } else if (is.character(a)) {
      Inf
    } else {
      abs(a - b) / max(abs(a), abs(b), scale[name] / 2, na.rm = TRUE)
    }
  }, 0)
  wrong <- names(differ)[differ > tolerance]
  data.frame(
    look = look$look,
    operation = cell$operation,
    level_percent = cell$level_percent,
    mine,
    difference = max(differ),
    agrees = length(wrong) == 0,
    reason = if (length(wrong) > 0) {
      paste(join_words(wrong), "differ from the rows")
    } else {
      NA_character_
    }
  )
}
