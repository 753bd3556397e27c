# Planned looks at a run under way, with alpha spending: the mathematics of the detector's --stop-when, and its check.

# One entry per way to spend. `spent`: one-sided error that may have been made by the share t of the run.
spending_functions <- list(
  `obrien-fleming` = list(
    name = "obrien-fleming", formula = "2 (1 - Phi(z(1 - alpha/2) / sqrt(t)))",
    help = "little at first: the last look is nearly that of a run without looks",
    spent = function(alpha, t) {
      2 * stats::pnorm(stats::qnorm(alpha / 2, lower.tail = FALSE) / sqrt(t), lower.tail = FALSE)
    }
  ),
  pocock = list(
    name = "pocock", formula = "alpha log(1 + (e - 1) t)",
    help = "evenly: earlier ends, and a stricter last look",
    spent = function(alpha, t) alpha * log1p(expm1(1) * t)
  )
)

#' Boundaries of planned looks
#'
#' The nominal one-sided p that a test must reach at each look, so that the chance to reach it at any look is `alpha`
#' when there is no effect. By recursive integration of the joint normal distribution of the statistics.
#'
#' @param fractions Numeric, length 1 to 100: share of the planned run at each look (no unit), rising by at least 0.001,
#'   above 0 and at most 1.
#' @param alpha One-sided error over all looks, length 1, at most 0.2.
#' @param spending Character, length 1: a name in `spending_functions`.
#' @return A data frame, one row per look: `look` (from 1), `fraction`, `alpha_spent` (error spent up to and with this
#'   look), `nominal_p` (one-sided), `z` (its normal quantile). With one look at 1 the nominal p is `alpha`.
#' @details The statistics of a mean at several looks are, for known scatter, jointly normal with independent
#'   increments; their density among the runs that have not crossed is carried from look to look on Gauss-Legendre
#'   panels no wider than the smallest step. With unknown scatter the nominal p is used with Student's distribution,
#'   which keeps the error to a good approximation.
#' @references Armitage, P., McPherson, C. K. and Rowe, B. C. (1969) Journal of the Royal Statistical Society A 132,
#'   235-244. Jennison, C. and Turnbull, B. W. (2000) Group Sequential Methods with Applications to Clinical Trials,
#'   chapters 7 and 19.
#' @noRd
spending_bounds <- function(fractions, alpha = 0.01, spending = "obrien-fleming") {
  check_numeric(fractions, "fractions")
  n <- length(fractions)
  check_argument(n >= 1 && n <= 100, "fractions", n, "1 to 100 looks")
  check_argument(fractions[1] > 0 && fractions[n] <= 1 && all(diff(c(0, fractions)) > 0.001 - 1e-12), "fractions",
                 fractions, "shares of the run from above 0 to 1, rising by at least 0.001")
  check_argument(is_number(alpha, 0) && alpha <= 0.2, "alpha", alpha, "one number above 0 and at most 0.2")
  check_spending(spending)
  spent <- spending_functions[[spending]]$spent(alpha, fractions)
  step <- sqrt(diff(c(0, fractions)))
  increment <- diff(c(0, spent))
  nodes <- list(at = 0, weight = 1)  # before the first step the sum is 0
  z <- numeric(n)
  for (k in seq_len(n)) {
    scale <- sqrt(fractions[k])
    z[k] <- crossing_bound(nodes, step[k], scale, increment[k])
    if (k < n) nodes <- step_on(nodes, step[k], c(-8, z[k]) * scale, min(step))
  }
  data.frame(look = seq_len(n), fraction = fractions, alpha_spent = spent,
             nominal_p = stats::pnorm(z, lower.tail = FALSE), z = z)
}

check_spending <- function(spending) {
  check_argument(is_text(spending) && spending %in% names(spending_functions), "spending", spending,
                 join_words(names(spending_functions), "or"))
}

# The z at which the chance to be above it for the first time after a step is p. Bisection down to neighbouring numbers:
# the detector does the same, and both must agree.
crossing_bound <- function(nodes, step, scale, p) {
  low <- -8
  high <- 40
  repeat {
    z <- (low + high) / 2
    if (z == low || z == high) return(z)
    crossed <- sum(nodes$weight * stats::pnorm((z * scale - nodes$at) / step, lower.tail = FALSE))
    if (crossed > p) low <- z else high <- z
  }
}

# Six-point rule of Gauss and Legendre on -1..1: the positive half.
gauss_points <- c(0.2386191860831969, 0.6612093864662645, 0.9324695142031521)
gauss_weights <- c(0.4679139345726910, 0.3607615730481386, 0.1713244923791704)

# Density of the sum after a step among the runs within `range`, as points and weights (the rule's times the density).
step_on <- function(nodes, step, range, width) {
  panels <- ceiling(diff(range) / width)
  half <- diff(range) / panels / 2
  centre <- range[1] + (2 * seq_len(panels) - 1) * half
  at <- as.vector(outer(half * c(-rev(gauss_points), gauss_points), centre, "+"))
  density <- vapply(at, function(x) sum(nodes$weight * stats::dnorm(x - nodes$at, sd = step)), 0)
  list(at = at, weight = half * rep(c(rev(gauss_weights), gauss_weights), panels) * density)
}

#' Three-way decision at a look
#'
#' The repeated confidence interval of the mean log ratio at a look, against a margin of slowdown: `above` when the
#' whole interval lies above it, `below` when it lies below, `open` otherwise. With nominal p from `spending_bounds()`
#' the chance that `above` is ever said of a slowdown at or below the margin is at most alpha, and so is that of `below`
#' for one at or above it.
#'
#' @param n Whole numbers, length k or 1: complete pairs of each cell.
#' @param mean,sd Numeric, length k or 1: mean and standard deviation of their log ratios on/off (no unit).
#' @param nominal_p One-sided p of the look, length 1, at most 0.5.
#' @param margin Slowdown in percent, length 1, at least 0. With 0 `below` is never said.
#' @return A data frame, one row per cell: `n`, `mean`, `sd`, `low`, `high` (log ratios), `low_percent`, `high_percent`
#'   (as slowdown, %), `decision`, `reason` (why nothing could be decided, else NA). The interval is NA with fewer than
#'   two pairs or without scatter.
#' @references Jennison, C. and Turnbull, B. W. (1989) Interim analyses: the repeated confidence interval approach,
#'   Journal of the Royal Statistical Society B 51, 305-361.
#' @noRd
sequential_look <- function(n, mean, sd, nominal_p, margin = 0) {
  check_argument(is.numeric(n) && all(is.finite(n)) && all(n >= 0) && all(n == floor(n)), "n", n,
                 "whole numbers from 0")
  check_argument(is_number(nominal_p, 0) && nominal_p <= 0.5, "nominal_p", nominal_p,
                 "one number above 0 and at most 0.5")
  check_argument(is_number(margin) && margin >= 0, "margin", margin, "one number of percent, at least 0")
  k <- if (length(n) == 0) 0 else max(length(n), length(mean), length(sd))
  each <- function(x, name) {
    if (all(is.na(x))) x <- as.numeric(x)
    check_argument(is.numeric(x) && length(x) %in% c(1, k), name, length(x), paste("one number, or", k))
    rep_len(x, k)
  }
  n <- each(n, "n")
  mean <- each(mean, "mean")
  sd <- each(sd, "sd")
  reason <- ifelse(n < 2, "fewer than 2 pairs", ifelse(is.na(mean) | is.na(sd), "mean or scatter is not known",
                   ifelse(sd <= 0, "all differences are equal, their scatter is unknown", NA)))
  known <- is.na(reason)
  reach <- rep(NA_real_, k)
  reach[known] <- stats::qt(nominal_p, n[known] - 1, lower.tail = FALSE) * sd[known] / sqrt(n[known])
  low <- mean - reach
  high <- mean + reach
  limit <- log1p(margin / 100)
  decision <- ifelse(known & low > limit, "above", ifelse(known & margin > 0 & high < limit, "below", "open"))
  data.frame(n = n, mean = mean, sd = sd, low = low, high = high, low_percent = 100 * expm1(low),
             high_percent = 100 * expm1(high), decision = decision, reason = as.character(reason))
}

# ---- launches that were run so -----------------------------------------------------------------

sequential_types <- c(stop_when = "text", margin_percent = "amount", alpha = "amount", spending = "text",
                      looks_planned = "amount", rounds_planned = "amount", looks = "objects", decided = "flag")
look_types <- c(look = "amount", fraction = "amount", rounds = "amount", nominal_p = "amount", cells = "objects")
look_cell_types <- c(operation = "text", bytes = "amount", level_percent = "amount", kind = "string",
                     pattern = "string", placement = "string", phase = "string", n = "amount",
                     mean_log_ratio = "number", sd = "number",
                     low_percent = "number", high_percent = "number", decision = "text")

# Stops where `sequential` of a launch.json is not as docs/reference/formats.md has it.
check_sequential_json <- function(info, file) {
  sequential <- info$sequential
  if (is.null(sequential)) return(invisible())
  check_json(info["pairs_planned"], c(pairs_planned = "amount"), file)
  check_json(sequential, sequential_types, file, "sequential.")
  refuse <- function(key, value, ...) {
    abort_damaged(file, 1, "key 'sequential.", key, "' is ", show_json(value), ", wanted ", ...)
  }
  if (!sequential$spending %in% names(spending_functions)) {
    refuse("spending", sequential$spending, join_words(names(spending_functions), "or"))
  }
  if (sequential$alpha <= 0 || sequential$alpha > 0.2) refuse("alpha", sequential$alpha, "a number up to 0.2")
  planned <- sequential$rounds_planned
  if (planned < 1) refuse("rounds_planned", planned, "at least 1")
  before <- 0
  for (i in seq_along(sequential$looks)) {
    look <- sequential$looks[[i]]
    prefix <- paste0("sequential.looks[", i - 1, "].")
    check_json(look, look_types, file, prefix)
    if (look$rounds <= before || look$rounds > planned) {
      refuse(paste0("looks[", i - 1, "].rounds"), look$rounds, "more than before, and at most ", planned)
    }
    if (look$nominal_p <= 0 || look$nominal_p > 0.5) {
      refuse(paste0("looks[", i - 1, "].nominal_p"), look$nominal_p, "a number above 0 and at most 0.5")
    }
    before <- look$rounds
    for (cell in look$cells) {
      check_json(cell, look_cell_types, file, paste0(prefix, "cells."))
      if (!cell$decision %in% c("open", "above", "below")) {
        refuse(paste0("looks[", i - 1, "].cells.decision"), cell$decision, "open, above or below")
      }
    }
  }
}

# Share of the planned pairs (sets) that are complete; NA where the launch does not say. The rows that were read count:
# a launch that was killed has no number of its own.
share_run <- function(info) {
  rows <- info$sequential$rows_read %||% info$rows
  planned <- info$pairs_planned
  if (is.null(rows) || is.null(planned)) return(NA_real_)
  factors <- info$options[c("levels_percent", paste0(treatment_columns, "s"))]
  arms <- if (identical(info$options$design, "lockin")) 2 else 1 + prod(pmax(1, lengths(factors)))
  min(1, floor(rows / arms) / planned)
}

#' One-sided alpha that tests of a launch must use
#'
#' A launch that was looked at while it ran has spent part of its error before its end. At the look where it ended, its
#' tests and intervals hold the planned error when they use the nominal p of that look.
#'
#' @param info The parsed `launch.json` of one launch, from `read_launch()`.
#' @param alpha One-sided level asked for, length 1.
#' @return A number: `alpha` for a launch without planned looks. With looks, the nominal one-sided p of the last look
#'   where the launch ended with it; where the launch was interrupted, that of a further look at the share of the run
#'   that it reached. The error planned for the launch counts, and not `alpha`: `sequential_notes()` says so.
#' @seealso `spending_bounds()`
#' @noRd
launch_alpha <- function(info, alpha = 0.01) {
  check_argument(is.list(info) && !is.null(info$launch), "info", class(info), "the launch.json of a launch")
  check_probability(alpha, "alpha")
  plan <- info$sequential
  if (is.null(plan)) return(alpha)
  looks <- plan$looks
  done <- vapply(looks, function(look) look$rounds / plan$rounds_planned, 0)
  if (length(looks) > 0 && identical(info$ended, "complete")) return(looks[[length(looks)]]$nominal_p)
  last <- max(0, done)
  share <- share_run(info)
  # Between two looks less than 0.001 of the run apart the integration has no grid; the look before is near enough.
  if (length(looks) > 0 && (is.na(share) || share < last + 0.001)) return(looks[[length(looks)]]$nominal_p)
  if (is.na(share)) return(NA_real_)
  bounds <- spending_bounds(c(done, max(share, 0.001)), plan$alpha, plan$spending)
  bounds$nominal_p[nrow(bounds)]
}

#' What planned looks mean for the analysis of a launch
#'
#' @param info The parsed `launch.json` of one launch, from `read_launch()`.
#' @param alpha One-sided level that the analysis was asked for, length 1; NULL: not compared.
#' @return Character: lines for the notes; none for a launch without planned looks.
#' @noRd
sequential_notes <- function(info, alpha = NULL) {
  check_argument(is.list(info) && !is.null(info$launch), "info", class(info), "the launch.json of a launch")
  if (!is.null(alpha)) check_probability(alpha, "alpha")
  plan <- info$sequential
  if (is.null(plan)) return(character())
  say <- function(...) paste0("launch ", info$launch, ": sequential: ", ...)
  n <- length(plan$looks)
  where <- if (!identical(info$ended, "complete")) {
    sprintf("ended between looks, after %d of %g", n, plan$looks_planned)
  } else sprintf("stopped at look %d of %g", n, plan$looks_planned)
  nominal <- launch_alpha(info, alpha %||% plan$alpha)
  planned <- format_nominal(plan$alpha)
  c(say(where, ", nominal one-sided alpha ", format_nominal(nominal), " (", planned, " in all); decided: ",
        if (isTRUE(plan$decided)) "yes" else "no"),
    if (!is.null(alpha) && abs(alpha - plan$alpha) > 1e-9 * alpha) {
      say("it was planned with alpha ", planned, ", which is used instead of ", format_nominal(alpha))
    })
}

format_nominal <- function(p) if (is.na(p)) "unknown" else format(signif(p, 3), digits = 3)

#' Check the looks of launches against their rows
#'
#' Computes every look of a launch that was run with `--stop-when decided` again from its rows, and compares it with
#' what the detector wrote while it ran.
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param tolerance Largest relative difference of numbers, length 1. Bounds are compared on the scale of the interval's
#'   half-width, because they may lie near 0.
#' @return A data frame, one row per launch, look and cell: `launch`, `look`, `operation`, `bytes`, `kind`, `pattern`,
#'   `placement`, `phase`, `level_percent`, `n`, `nominal_p`, `mean_log_ratio`, `sd`, `low_percent`, `high_percent` (%),
#'   `decision` (all from the rows), `difference` (the largest relative one), `agrees` (logical), `reason` (what
#'   differs, else NA). No rows where no launch had looks.
#' @noRd
check_sequential <- function(campaign, tolerance = 1e-9) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  check_argument(is_number(tolerance, 0), "tolerance", tolerance, "one number above 0")
  launches <- Filter(function(info) length(info$sequential$looks) > 0, campaign$launches)
  rows <- bind_rows(lapply(launches, function(info) {
    check_launch_looks(info, pairs_of_launch(campaign, info), tolerance)
  }))
  rownames(rows) <- NULL
  rows
}

# Log ratios of one launch: a data frame with the labels of the cell, `round` (from 0) and `d`.
pairs_of_launch <- function(campaign, info) {
  rows <- campaign$rows[campaign$rows[["launch"]] == info$launch, ]
  pairs <- pair_rows(rows)
  value <- log_or_na(operation_ns(rows))
  # Pairs are numbered through from round to round.
  per_round <- info$pairs_planned / info$sequential$rounds_planned
  number <- match(rows[["pair"]], sort(unique(rows[["pair"]]))) - 1
  columns <- c("operation", "bytes", treatment_columns, "level_requested_percent")
  frame <- pairs$cells[pairs$cell, intersect(columns, names(pairs$cells)), drop = FALSE]
  frame$round <- floor(number[pairs$on] / per_round)
  frame$d <- value[pairs$on] - value[pairs$off]
  frame[is.finite(frame$d), ]
}

check_launch_looks <- function(info, pairs, tolerance) {
  plan <- info$sequential
  looks <- plan$looks
  bounds <- spending_bounds(vapply(looks, `[[`, 0, "rounds") / plan$rounds_planned, plan$alpha, plan$spending)
  bind_rows(lapply(seq_along(looks), function(i) {
    bind_rows(lapply(looks[[i]]$cells, function(cell) {
      d <- pairs$d[pairs$round < looks[[i]]$rounds & in_cell(pairs, cell)]
      compare_cell(info$launch, looks[[i]], cell, d, bounds$nominal_p[i], plan$margin_percent, tolerance)
    }))
  }))
}

in_cell <- function(pairs, cell) {
  same <- pairs$operation == cell$operation & pairs$bytes == cell$bytes &
    abs(pairs$level_requested_percent - cell$level_percent) <= 1e-9 * cell$level_percent
  for (name in intersect(treatment_columns, names(cell))) same <- same & as.character(pairs[[name]]) == cell[[name]]
  same
}

compare_cell <- function(launch, look, cell, d, nominal_p, margin, tolerance) {
  n <- length(d)
  mine <- sequential_look(n, if (n > 0) mean(d) else NA_real_, if (n > 1) stats::sd(d) else NA_real_, nominal_p, margin)
  # expm1() of a very wide interval has no number, which JSON writes as null.
  percent <- c(low_percent = mine$low_percent, high_percent = mine$high_percent)
  percent[!is.finite(percent)] <- NA
  width <- if (anyNA(percent)) 0 else diff(percent) / 2
  differ <- c(
    n = off_by(n, cell$n), nominal_p = off_by(nominal_p, look$nominal_p),
    mean_log_ratio = off_by(mine$mean, cell$mean_log_ratio, mine$sd), sd = off_by(mine$sd, cell$sd),
    low_percent = off_by(percent[[1]], cell$low_percent, width),
    high_percent = off_by(percent[[2]], cell$high_percent, width),
    decision = if (mine$decision == cell$decision) 0 else Inf
  )
  wrong <- names(differ)[differ > tolerance]
  data.frame(launch = launch, look = look$look, operation = cell$operation, bytes = cell$bytes,
             cell[intersect(treatment_columns, names(cell))], level_percent = cell$level_percent, n = n,
             nominal_p = nominal_p, mean_log_ratio = mine$mean, sd = mine$sd, low_percent = percent[[1]],
             high_percent = percent[[2]], decision = mine$decision, difference = max(differ),
             agrees = length(wrong) == 0,
             reason = if (length(wrong) > 0) paste(join_words(wrong), "differ from the rows") else NA_character_)
}

# Relative difference of two numbers, of which one or both may be unknown; `scale`: what else they are measured on.
off_by <- function(mine, theirs, scale = 0) {
  theirs <- theirs %||% NA_real_
  if (is.na(mine) && is.na(theirs)) return(0)
  if (is.na(mine) || is.na(theirs)) return(Inf)
  if (mine == theirs) return(0)
  abs(mine - theirs) / max(abs(mine), abs(theirs), scale, na.rm = TRUE)
}
