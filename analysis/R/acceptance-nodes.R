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
#' @examples
#' compare_nodes(noiselab:::acceptance_units(simulated_acceptance(slow_node = 2, seed = 1)))[1:3, c("entity", "effect", "verdict")]
#' @export
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
  rows$detection_limit[tested] <- detection_limit(rows$se[tested], rows$df[tested], alpha / n, power)
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
    tests <- bind_rows(lapply(seq_len(ncol(s$score)), function(j) score_test(s$score[, j], launch, s$level[, -j, drop = FALSE])))
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

# Mean of a score, its standard error and degrees of freedom. `others`: levels of the others, units x others.
score_test <- function(score, launch, others) {
  known <- is.finite(score)
  own <- mean_by_launch(score[known], launch[known])
  between <- between_others(others, launch)
  parts <- rbind(own$parts, between)
  variance <- sum(parts$v)
  reason <- own$reason
  if (is.na(reason) && !variance > 0) reason <- "all repetitions agree exactly, their scatter is unknown"
  data.frame(n_launches = own$n_launches, n_units = own$n, score = own$mean, se = if (is.na(reason)) sqrt(variance) else NA_real_,
             df = if (is.na(reason)) satterthwaite(parts) else NA_real_, reason = reason)
}

satterthwaite <- function(parts) {
  parts <- parts[parts$v > 0, ]
  sum(parts$v)^2 / sum(parts$v^2 / parts$df)
}

# Mean with the parts of its variance: repetitions, and what launches scatter beyond them.
mean_by_launch <- function(x, launch) {
  n <- length(x)
  means <- tapply(x, launch, mean)
  k <- length(means)
  parts <- data.frame(v = numeric(), df = numeric())
  reason <- NA_character_
  if (n < 2) {
    reason <- "one repetition: its scatter is unknown"
  } else if (n == k) {
    parts <- data.frame(v = stats::var(x) / n, df = n - 1)
  } else {
    within <- sum((x - means[as.character(launch)])^2) / (n - k) / n
    excess <- if (k > 1) max(0, stats::var(as.vector(means)) / k - within) else 0
    parts <- data.frame(v = c(within, excess), df = c(n - k, max(1, k - 1)))
  }
  list(mean = if (n > 0) mean(x) else NA_real_, n = n, n_launches = k, parts = parts, reason = reason)
}

# What the others differ from each other, beyond what their own scatter explains; of a new one among them.
between_others <- function(others, launch) {
  k <- ncol(others)
  none <- data.frame(v = numeric(), df = numeric())
  if (k < 2) return(none)
  # Differences of the others from their own mean: what hits all alike is no difference.
  centred <- others - rowMeans(others, na.rm = TRUE)
  level <- colMeans(centred, na.rm = TRUE)
  own <- mean(apply(centred, 2, function(x) sum(mean_by_launch(x[is.finite(x)], launch[is.finite(x)])$parts$v))) * k / (k - 1)
  robust <- k >= 5
  v <- max(0, (if (robust) stats::mad(level)^2 else stats::var(level)) - own) * (1 + 1 / k)
  if (!is.finite(v) || v == 0) none else data.frame(v = v, df = max(1, if (robust) 0.37 * (k - 1) else k - 1))
}
