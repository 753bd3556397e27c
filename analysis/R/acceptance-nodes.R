# Node against node, and link against link: who stands out. Works from three nodes on.

#' Which node, and which link, stands out
#'
#' Every figure that nodes have is compared repetition by repetition, so that what hit all of them alike cancels. A node's score is its
#' value less the median of the other nodes'. Figures of pairs of nodes are told apart into nodes and links: a node's score is the (lower)
#' median over its pairs less the median over the pairs without it; a link's is its value less the larger of the medians over the other
#' pairs of its two ends. So one slow pair of three is a slow link, two with a common end are a slow node. All scores lean
#' to 0, never to blame.
#'
#' The test asks whether the mean score is above 0 (or above `margin`): its variance is the sum of what repetitions scatter, of what
#' launches (other placements) scatter beyond that, and of what the other nodes differ from each other beyond that (from five
#' others on by the median absolute deviation, so that several bad nodes do not hide each other); degrees of freedom after Satterthwaite.
#' With three equal nodes the repetitions carry the test; where the other two differ by themselves, little can be said, and little is.
#' Holm's correction is over all nodes, links and figures.
#'
#' @param units Data frame: what is compared, one row per figure, node or pair (`entity`, `of`), `launch` and `repetition`, with `x`.
#' @param alpha Family-wise level, length 1.
#' @param margin Percent (or percent points) that a node may be worse by, length 1.
#' @param power Power at the detection limit, length 1.
#' @return Data frame, one row per figure and node or link: `check`, `variant`, `metric`, `size`, `kind` (`node` or `link`), `entity`, `others`
#'   (number), `n_launches`, `n_units`, `value` and `others_value` (in `unit`), `effect` with `ci_low`, `ci_high` and `detection_limit` (positive: worse),
#'   all in `effect_unit`, `z` (distance from the median of the others in their scatter, for comparison), `df`, `p_one_sided`, `p_holm`,
#'   `verdict` (`pass`, `fail`, `inconclusive`), `reason`.
#' @references Holm, S. (1979) Scandinavian Journal of Statistics 6, 65-70. Satterthwaite, F. E. (1946) Biometrics Bulletin 2, 110-114. Rousseeuw, P. J. and
#'   Croux, C. (1993) JASA 88, 1273-1283 (efficiency of the median absolute deviation).
#' @noRd
compare_nodes <- function(units, alpha = 0.01, margin = 0, power = 0.95) {
  check_probability(alpha, "alpha")
  check_argument(is_number(margin) && margin >= 0, "margin", margin, "one number of at least 0")
  units <- units[units$compared, ]
  key <- paste(units$check, units$variant, units$metric, units$size, sep = "\r")
  rows <- bind_rows(lapply(split(units, in_order(key)), compare_figure))
  if (nrow(rows) == 0) return(rows)
  tested <- is.na(rows$reason)
  percent <- rows$effect_unit %in% c("percent", "points")
  border <- ifelse(rows$effect_unit == "percent", log1p(margin / 100), ifelse(percent, margin, 0))
  rows$p_one_sided <- ifelse(tested, pmax(1e-300, stats::pt((rows$score - border) / rows$se, rows$df, lower.tail = FALSE)), NA_real_)
  rows$p_holm <- stats::p.adjust(rows$p_one_sided, "holm")
  n <- sum(tested)
  shown <- function(x) ifelse(rows$effect_unit == "percent", ifelse(rows$worse == "less", -100 * expm1(-x), 100 * expm1(x)), x)
  reach <- stats::qt(1 - alpha / 2, rows$df) * rows$se
  rows$effect <- shown(rows$score)
  rows$ci_low <- shown(rows$score - reach)
  rows$ci_high <- shown(rows$score + reach)
  rows$detection_limit <- NA_real_
  if (n > 0) rows$detection_limit[tested] <- detection_limit(rows$se[tested], rows$df[tested], alpha / n, power)
  rows$detection_limit <- shown(rows$detection_limit + border)
  rows$verdict <- ifelse(!tested, "inconclusive", ifelse(rows$p_holm <= alpha, "fail", "pass"))
  rows[c(figure_key, "what", "unit", "worse", "kind", "entity", "others", "n_launches", "n_units", "value", "others_value", "effect", "ci_low", "ci_high",
         "effect_unit", "detection_limit", "z", "df", "p_one_sided", "p_holm", "verdict", "reason")]
}

compare_figure <- function(part) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  part$y <- to_scale(part$x, scale, worse)
  unit <- paste(part$launch, part$repetition)
  table <- tapply(part$y, list(in_order(unit), in_order(part$entity)), mean)
  launch <- part$launch[match(rownames(table), unit)]
  pairs <- part$of[1] == "pair"
  if (part$placed[1]) {
    table <- without_places(table, part, unit)
    if (is.null(table)) return(NULL)
  }
  scores <- if (pairs) pair_scores(table) else list(node = node_scores(table))
  bind_rows(lapply(names(scores), function(kind) {
    s <- scores[[kind]]
    if (NCOL(s$score) < 3) return(NULL)
    tests <- score_tests(s$score, s$level, launch)
    level <- colMeans(s$level, na.rm = TRUE)
    others <- vapply(seq_along(level), function(j) stats::median(level[-j]), 0)
    spread <- vapply(seq_along(level), function(j) stats::mad(level[-j]), 0)
    effect_unit <- if (scale == "log") "percent" else if (part$unit[1] == "percent") "points" else part$unit[1]
    cbind(part[1, c(figure_key, "what", "unit", "worse")], kind = kind, entity = colnames(s$score), others = ncol(s$score) - 1,
          value = from_scale(level, scale, worse), others_value = from_scale(others, scale, worse), effect_unit = effect_unit,
          z = ifelse(spread > 0, (level - others) / spread, NA_real_), tests, row.names = NULL)
  }))
}

# Less the mean of the place, where every node has been in every place equally often; else NULL: place and node cannot be told apart.
without_places <- function(table, part, unit) {
  place <- tapply(part$place, list(in_order(unit), in_order(part$entity)), `[`, 1)
  if (anyNA(place) || anyNA(table)) return(NULL)
  counts <- table(rep(colnames(place), each = nrow(place)), place)
  if (length(unique(as.vector(counts))) != 1 || ncol(counts) != ncol(place)) return(NULL)
  table - stats::ave(as.vector(table), as.vector(place)) + mean(table)
}

# `score`, `level`: matrices, units x nodes.
node_scores <- function(table) {
  score <- vapply(seq_len(ncol(table)), function(j) table[, j] - row_medians(table[, -j, drop = FALSE]), numeric(nrow(table)))
  list(score = matrix(score, nrow(table), dimnames = dimnames(table)), level = table)
}

pair_scores <- function(table) {
  ends <- pair_ends(colnames(table))
  nodes <- sort(unique(as.vector(ends)))
  if (length(nodes) < 3) return(NULL)
  has <- function(node) ends[, 1] == node | ends[, 2] == node
  over <- function(names, f) matrix(vapply(names, f, numeric(nrow(table))), nrow(table), dimnames = list(rownames(table), names))
  level <- over(nodes, function(node) row_medians(table[, has(node), drop = FALSE], low = TRUE))
  list(
    node = list(level = level, score = over(nodes, function(node) level[, node] - row_medians(table[, !has(node), drop = FALSE]))),
    link = list(level = table, score = over(colnames(table), function(pair) {
      at <- match(pair, colnames(table))
      end <- lapply(ends[at, ], function(node) {
        other <- has(node)
        other[at] <- FALSE
        row_medians(table[, other, drop = FALSE])
      })
      table[, at] - pmax(end[[1]], end[[2]], na.rm = TRUE)
    }))
  )
}

# `low`: the lower of the two in the middle.
row_medians <- function(table, low = FALSE) {
  if (ncol(table) == 1) return(table[, 1])
  apply(table, 1, function(x) {
    x <- sort(x)
    n <- length(x)
    if (n == 0) NA_real_ else if (low) x[(n + 1) %/% 2] else stats::median(x)
  })
}

# Mean of every score, its standard error and degrees of freedom. `score`, `level`: matrices, units x nodes (or links).
score_tests <- function(score, level, launch) {
  scatter <- column_scatter(score, launch)
  between <- between_others(level, launch)
  # What placements scatter is a property of all nodes alike: where a node's own launches agree by luck, that of all holds.
  pooled <- max(0, mean(scatter$excess, na.rm = TRUE))
  lucky <- !is.na(scatter$excess) & scatter$excess < pooled
  excess <- ifelse(is.na(scatter$excess), 0, pmax(0, pooled, scatter$excess))
  excess_df <- (scatter$n_launches - 1) * ifelse(lucky, ncol(score) - 1, 1)
  variance <- scatter$within + excess + between$v
  over <- function(v, df) ifelse(v > 0, v^2 / df, 0) # Satterthwaite, all columns at once
  df <- variance^2 / (over(scatter$within, scatter$within_df) + over(excess, excess_df) + over(between$v, between$df))
  reason <- ifelse(is.na(scatter$reason) & !variance > 0, "all repetitions agree exactly, their scatter is unknown", scatter$reason)
  known <- is.na(reason)
  data.frame(n_launches = scatter$n_launches, n_units = scatter$n, score = scatter$mean, se = ifelse(known, sqrt(variance), NA_real_),
             df = ifelse(known, df, NA_real_), reason = reason)
}

satterthwaite <- function(parts) {
  parts <- parts[parts$v > 0, ]
  sum(parts$v)^2 / sum(parts$v^2 / parts$df)
}

# Of every column: its mean, the variance of that mean by what repetitions scatter within launches (`within`, with `within_df`), and what
# launches scatter beyond it (`excess`, which chance can make negative; NA: one launch, or one repetition of each).
column_scatter <- function(table, launch) {
  known <- is.finite(table)
  x <- ifelse(known, table, 0)
  group <- code_of(launch)
  counts <- rowsum(known + 0, group)
  means <- rowsum(x, group) / counts
  n <- colSums(known)
  k <- colSums(counts > 0)
  mean <- colSums(x) / n
  single <- n == k # the launches' means are all there is
  centre <- means[group, , drop = FALSE]
  centre[, single] <- rep(mean[single], each = nrow(table))
  within_df <- ifelse(single, n - 1, n - k)
  within <- colSums(ifelse(known, (table - centre)^2, 0)) / within_df / n
  between <- colSums(sweep(means, 2, colSums(means, na.rm = TRUE) / k)^2, na.rm = TRUE) / (k - 1) / k
  data.frame(mean = unname(mean), n = unname(n), n_launches = unname(k), within = unname(within), within_df = unname(within_df),
             excess = ifelse(single | k < 2, NA_real_, unname(between - within)),
             reason = ifelse(n < 2, "one repetition: its scatter is unknown", NA_character_))
}

# The parts of the variance of one mean, none below 0.
scatter_parts <- function(scatter) {
  if (!is.na(scatter$reason)) return(data.frame(v = numeric(), df = numeric()))
  excess <- if (!is.na(scatter$excess)) c(max(0, scatter$excess), scatter$n_launches - 1)
  data.frame(v = c(scatter$within, excess[1]), df = c(scatter$within_df, excess[2]))
}

# Mean with the parts of its variance: repetitions, and what launches scatter beyond them.
mean_by_launch <- function(x, launch) {
  scatter <- column_scatter(matrix(x), launch)
  list(mean = scatter$mean, n = scatter$n, n_launches = scatter$n_launches, parts = scatter_parts(scatter), reason = scatter$reason)
}

# Up to so many columns each is left out in turn; of more, one weighs nothing.
few_columns <- 30

# For each column: what the others differ from each other, beyond what their own scatter explains; of a new one among them.
between_others <- function(table, launch) {
  k <- ncol(table) - 1
  if (k < 2) return(data.frame(v = rep(0, ncol(table)), df = 1))
  robust <- k >= 5
  # Differences from the mean of all: what hits all alike is no difference.
  own_of <- function(columns) {
    centred <- columns - rowMeans(columns, na.rm = TRUE)
    scatter <- column_scatter(centred, launch)
    of <- scatter$within + pmax(0, scatter$excess, na.rm = TRUE)
    list(level = scatter$mean, own = mean(of[is.finite(of)]) * ncol(columns) / (ncol(columns) - 1))
  }
  all <- if (k >= few_columns) own_of(table)
  v <- vapply(seq_len(k + 1), function(j) {
    got <- if (is.null(all)) own_of(table[, -j, drop = FALSE]) else list(level = all$level[-j], own = all$own)
    spread <- if (robust) stats::mad(got$level, na.rm = TRUE)^2 else stats::var(got$level, na.rm = TRUE)
    max(0, spread - got$own) * (1 + median_variance(k))
  }, 0)
  data.frame(v = ifelse(is.finite(v), v, 0), df = max(1, if (robust) 0.37 * (k - 1) else k - 1))
}

# Variance of the median of k normal values, in their variances (of two it is the mean; else within 15 %, rather too large).
median_variance <- function(k) if (k == 2) 1 / 2 else pi / 2 / (k + pi / 2 - 1)
