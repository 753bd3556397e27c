# Node against node, and link against link: who stands out. Works from three nodes on.

# Every figure that nodes have, repetition by repetition: node against the median of the others, link
# against the worst of its ends' other links (docs/methods.md, Judging). `watched`: of `watched_time()`, or
# NULL: no bound for bursts that nobody saw; `measured_s`: seconds of all checks, for what is said of longer
# runs; `shared`: nodes that share a CPU: links between nodes have a margin of 100 % then. Gives a row per
# figure and node or link, effects positive where worse, in `effect_unit`. Satterthwaite (1946), Smyth
# (2004), Rousseeuw and Croux (1993).
compare_nodes <- function(units, alpha = 0.01, margins = margins_in_use(), classes = NULL, watched = NULL,
                          measured_s = NA_real_, power = 0.95, shared = NULL) {
  units <- rows_at(units, which(units$compared))
  rows <- bind_rows(lapply(parts_by(units, units$check, units$variant, units$metric, units$size),
                           compare_figure, classes, NROW(shared) > 0))
  if (nrow(rows) == 0) return(rows)
  tested <- is.na(rows$reason)
  n <- max(1, sum(tested))
  log_scale <- rows$effect_unit == "percent"
  border <- margin_of(margins, margin_kinds(rows$check, rows$metric), rows$others_value,
                      ifelse(log_scale, "log", "linear"), rows$worse)
  border <- pmax(border, rows$least_margin)
  rows$p_one_sided <- ifelse(
    tested, pmax(1e-300, stats::pt((rows$score - border) / rows$se, rows$df, lower.tail = FALSE)), NA_real_
  )
  rows$p_holm <- stats::p.adjust(rows$p_one_sided, "holm")
  # what each node could lose to bursts that no scan of it saw, percent of a CPU
  total <- if (!is.null(watched)) {
    rowsum(watched[c("seconds", "bursts")], watched$host)
  }
  at <- match(rows$entity, rownames(total))
  unseen <- if (is.null(watched)) {
    0
  } else {
    ifelse(rows$metric %in% burst_metrics, most_in_bursts(total$bursts[at], total$seconds[at], alpha), 0)
  }
  upper <- rows$score + stats::qt(1 - alpha, rows$df) * rows$se + unseen
  rows$verdict <- three_outcomes(upper, border, rows$p_holm, alpha)
  # What a run of this length does not decide for most nodes is not looked at: a property of the figure and
  # the run, never of one node. Of three or four a bad one is a large part of what the others differ by:
  # there it is what the run decides for one of them, and a node is left out whose own scatter would do, but
  # whose others differ: the one that makes them differ is looked at in its own row.
  z <- stats::qnorm(1 - (1 - healthy_power) / n)
  room <- border - (stats::qt(1 - alpha, rows$df) + z) * rows$se - unseen
  typical <- stats::ave(
    room,
    combine_keys(rows$check, rows$variant, rows$metric, rows$size, rows$kind),
    FUN = function(x) {
      if (length(x) < 5) {
        max(x, -Inf, na.rm = TRUE)
      } else {
        stats::median(x, na.rm = TRUE)
      }
    }
  )
  own_se <- sqrt(pmax(0, rows$se^2 - rows$fixed))
  own_room <- border - (stats::qt(1 - alpha, pmax(1, rows$n_units - rows$n_launches)) + z) * own_se - unseen
  of_others <- (rows$others + 1 < 5 & room <= 0 & own_room > 0) %in% TRUE
  rows$looked <- !tested | rows$verdict == "fail" | !is.na(typical) & typical > 0 & !of_others
  # degrees of freedom in steps of 5 %, downwards: of thousands of links few are different then
  found <- ifelse(tested, detection_limit(rows$se, 1.05^floor(log(rows$df, 1.05)), alpha / n, power) + border,
                  NA_real_)
  longer <- times_as_long(rows$score, border, rows$se, rows$df, rows$fixed,
                          ifelse(rows$score > border, alpha / n, alpha))
  room <- pmax(0, border - rows$score - stats::qt(1 - alpha, rows$df) * rows$se)
  rows$times_as_long <- ifelse(
    rows$verdict == "inconclusive" & tested,
    pmax(longer, ifelse(unseen > 0 & rows$score < border, unseen / pmax(room, border / 4), 1)), NA_real_
  )
  shown <- function(x) {
    ifelse(log_scale, ifelse(rows$worse == "less", -100 * expm1(-x), 100 * expm1(x)), x)
  }
  reach <- stats::qt(1 - alpha / 2, rows$df) * rows$se
  rows$effect <- shown(rows$score)
  rows$ci_low <- shown(rows$score - reach)
  rows$ci_high <- shown(rows$score + reach)
  rows$upper <- shown(upper)
  rows$margin <- shown(border)
  rows$detection_limit <- shown(found)
  open <- which(rows$verdict == "inconclusive" & tested)
  rows$reason[open] <- undecided_words(rows_at(rows, open), rep_len(unseen, nrow(rows))[open], measured_s)
  rows[c(figure_key, "what", "unit", "worse", "kind", "entity", "class", "others", "n_launches", "n_units",
         "value", "others_value", "effect", "ci_low", "ci_high", "upper", "margin", "effect_unit",
         "detection_limit", "df", "p_one_sided", "p_holm", "verdict", "looked", "times_as_long", "reason")]
}

# The exact upper bound of the rate of bursts, times their length, percent.
most_in_bursts <- function(bursts, seconds, alpha) {
  pmin(100, 100 * stats::qgamma(1 - alpha, bursts + 1) / seconds * burst_ns * 1e-9)
}

# Shares of time that rare bursts take, too.
burst_metrics <- c("lost", "lost_worst_cpu", "preempted", "steal")

effect_unit_of <- function(scale, unit) {
  ifelse(scale == "log", "percent", ifelse(unit == "percent", "points", unit))
}
effect_words <- function(unit) ifelse(unit == "percent", "%", unit)

undecided_words <- function(rows, unseen, measured_s) {
  unit <- effect_words(rows$effect_unit)
  longer <- ceiling(rows$times_as_long * 10) / 10
  paste0(
    "up to ",
    format_effect(rows$upper, FALSE),
    " ",
    unit,
    " worse",
    ifelse(
      unseen > 0,
      paste0(" (", format_effect(unseen, FALSE), " of it by bursts of ", format_time(burst_ns / 1e9),
             " that nobody saw)"),
      ""
    ),
    ", margin ",
    format_effect(rows$margin, FALSE),
    " ",
    unit,
    ", fails from ",
    format_effect(rows$detection_limit, FALSE),
    " ",
    unit,
    "; ",
    ifelse(
      is.finite(longer),
      paste0(format_effect(longer, FALSE), " times as long would decide",
             if (!is.na(measured_s)) paste0(" (--seconds ", ceiling(longer * measured_s), "s)")),
      "more time does not decide: the others differ as much by themselves"
    )
  )
}

compare_figure <- function(part, classes = NULL, shares = FALSE) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  part$y <- to_scale(part$x, scale, worse)
  unit <- combine_keys(part$launch, part$repetition)
  table <- unit_table(part$y, unit, part$entity)
  launch <- part$launch[!duplicated(unit)]
  if (part$placed[1]) {
    table <- without_places(table, part, unit)
    if (is.null(table)) return(NULL)
  }
  group <- class_of_columns(colnames(table), part, classes)
  bind_rows(lapply(unique(group), function(class) {
    compare_class(table[, group == class, drop = FALSE], part, launch, scale, class,
                  shares && part$of[1] == "pair" && scale == "log")
  }))
}

unit_table <- function(y, unit, entity) {
  units <- unique(unit)
  entities <- unique(entity)
  at <- match(unit, units) + length(units) * (match(entity, entities) - 1L)
  table <- matrix(NA_real_, length(units), length(entities), dimnames = list(NULL, entities))
  if (anyDuplicated(at)) {
    sums <- rowsum(cbind(y, 1), at, reorder = FALSE)
    table[as.integer(rownames(sums))] <- sums[, 1] / sums[, 2]
  } else {
    table[at] <- y
  }
  table
}

# The others of one class. Of links between two classes only links are told apart.
compare_class <- function(table, part, launch, scale, class, shares = FALSE) {
  worse <- part$worse[1]
  pairs <- part$of[1] == "pair"
  scores <- if (shares) {
    list(link = worst_link_scores(table))
  } else if (pairs) {
    pair_scores(table, crosses = grepl(" x ", class, fixed = TRUE))
  } else {
    list(node = list(score = table - medians_without(table), level = table))
  }
  bind_rows(lapply(names(scores), function(kind) {
    s <- scores[[kind]]
    if (NCOL(s$score) < 3) return(NULL)
    tests <- score_tests(s$score, launch,
                         between = if (shares) list(v = 0, df = 1) else between_others(s$level, launch))
    level <- colMeans(s$level, na.rm = TRUE)
    around <- as.vector(medians_without(matrix(level, 1)))
    about <- lapply(unclass(part)[c(figure_key, "what", "unit", "worse")], `[`, 1)
    do.call(
      frame,
      c(
        about,
        list(kind = kind, entity = colnames(s$score), class = class, others = ncol(s$score) - 1,
             value = from_scale(level, scale, worse), others_value = from_scale(around, scale, worse),
             effect_unit = effect_unit_of(scale, part$unit[1]), least_margin = if (shares) log(2) else 0),
        tests
      )
    )
  }))
}

# Less the mean of the place, where every node has been in every place equally often; else NULL: place and
# node cannot be told apart.
without_places <- function(table, part, unit) {
  place <- tapply(part$place, list(in_order(unit), in_order(part$entity)), `[`, 1)
  if (anyNA(place) || anyNA(table)) return(NULL)
  counts <- table(rep(colnames(place), each = nrow(place)), place)
  if (length(unique(as.vector(counts))) != 1 || ncol(counts) != ncol(place)) return(NULL)
  table - stats::ave(as.vector(table), as.vector(place)) + mean(table)
}

# `crosses`: the pairs' ends are of two classes, so that their nodes cannot be told from each other.
pair_scores <- function(table, crosses = FALSE) {
  ends <- pair_ends(colnames(table))
  nodes <- sort(unique(as.vector(ends)))
  if (length(nodes) < 3) return(NULL)
  has <- function(node) ends[, 1] == node | ends[, 2] == node
  of <- lapply(stats::setNames(nm = nodes), function(node) which(has(node)))
  over <- function(f) {
    matrix(vapply(nodes, f, numeric(nrow(table))), nrow(table), dimnames = list(rownames(table), nodes))
  }
  # Of each pair: the medians over the other pairs of its ends.
  end <- lapply(1:2, function(side) {
    got <- table
    for (node in unique(ends[, side])) {
      columns <- of[[node]]
      mine <- ends[columns, side] == node
      got[, columns[mine]] <- medians_without(table[, columns, drop = FALSE])[, mine]
    }
    got
  })
  link <- list(level = table, score = table - pmax(end[[1]], end[[2]], na.rm = TRUE))
  if (crosses) return(list(link = link))
  level <- over(function(node) row_medians(table[, of[[node]], drop = FALSE], low = TRUE))
  all <- if (length(nodes) > few_columns) row_medians(table)
  list(
    node = list(
      level = level,
      score = over(function(node) level[, node] - (all %||% row_medians(table[, !has(node), drop = FALSE])))
    ),
    link = link
  )
}

# Of each link: its level, less the worst of the other links of its ends.
worst_link_scores <- function(table) {
  ends <- pair_ends(colnames(table))
  worst <- vapply(seq_len(ncol(table)), function(i) {
    others <- setdiff(which(ends[, 1] %in% ends[i, ] | ends[, 2] %in% ends[i, ]), i)
    if (length(others) == 0) {
      rep(NA_real_, nrow(table))
    } else {
      do.call(pmax, c(lapply(others, function(j) table[, j]), na.rm = TRUE))
    }
  }, numeric(nrow(table)))
  list(level = table, score = table - matrix(worst, nrow(table)))
}

# The median of every row: NA where nothing is known. `low`: the lower of the two in the middle.
row_medians <- function(table, low = FALSE) {
  sorted <- sorted_rows(table)
  kth <- function(k) sorted$values[cbind(seq_along(k), k)]
  middle <- kth(pmax(1, (sorted$known + 1) %/% 2))
  if (!low) middle <- (middle + kth(pmax(1, sorted$known %/% 2 + 1))) / 2
  stats::setNames(ifelse(sorted$known == 0, NA_real_, middle), rownames(table))
}

# Of every row and column: the median of the row without that column.
medians_without <- function(table) {
  if (ncol(table) == 1) return(table * NA)
  sorted <- sorted_rows(table)
  is_known <- !is.na(table)
  n <- sorted$known - is_known
  # the k-th of the others: one further where the left out stands before it
  kth <- function(k) {
    at <- pmin(ncol(table), k + (is_known & sorted$rank <= k))
    sorted$values[cbind(as.vector(row(table)), as.vector(at))]
  }
  # `n` has the shape and the names of the table
  n[] <- ifelse(n == 0, NA_real_, (kth(pmax(1, (n + 1) %/% 2)) + kth(n %/% 2 + 1)) / 2)
  n
}

# Every row in increasing order, what is not known last; the place of each value in it, and how many of each
# row are known.
sorted_rows <- function(table) {
  by <- order(row(table), table)
  place <- matrix(0, nrow(table), ncol(table))
  place[by] <- rep(seq_len(ncol(table)), nrow(table))
  list(values = matrix(table[by], nrow(table), byrow = TRUE), rank = place, known = rowSums(!is.na(table)))
}

# Mean of every score (units x nodes or links), its standard error and degrees of freedom.
score_tests <- function(score, launch, between) {
  scatter <- column_scatter(score, launch)
  # What placements scatter is a property of all nodes alike: where a node's own launches agree by luck,
  # that of all holds.
  pooled <- max(0, mean(scatter$excess, na.rm = TRUE))
  # Where it scatters more, by luck or by itself, it is drawn to that of all as far as all are alike.
  own_df <- scatter$n_launches - 1
  lucky <- !is.na(scatter$excess) & scatter$excess < pooled
  prior <- pmin(common_df(scatter$within + scatter$excess, own_df), own_df * (ncol(score) - 2))
  excess <- ifelse(is.na(scatter$excess), 0,
                   pmax(0, pooled, pooled + (scatter$excess - pooled) * own_df / (prior + own_df)))
  excess_df <- ifelse(lucky, own_df * (ncol(score) - 1), own_df + prior)
  variance <- scatter$within + excess + between$v
  over <- function(v, df) ifelse(v > 0, v^2 / df, 0) # Satterthwaite, all columns at once
  df <- variance^2 /
    (over(scatter$within, scatter$within_df) + over(excess, excess_df) + over(between$v, between$df))
  reason <- ifelse(is.na(scatter$reason) & !variance > 0,
                   "all repetitions agree exactly, their scatter is unknown", scatter$reason)
  known <- is.na(reason)
  frame(n_launches = scatter$n_launches, n_units = scatter$n, score = scatter$mean,
        se = ifelse(known, sqrt(variance), NA_real_), fixed = between$v, df = ifelse(known, df, NA_real_),
        reason = reason)
}

# How many degrees of freedom the variance that all columns have in common is worth beside a column's own
# (Smyth 2004, section 6.2, by moments of logarithms): many where variances `v` with `df` each differ as
# chance makes them differ, 0 below `least_common` columns.
least_common <- 10

common_df <- function(v, df) {
  known <- is.finite(v) & v > 0 & df > 0
  if (sum(known) < least_common) return(0)
  half <- df[known] / 2
  beyond <- stats::var(log(v[known]) - digamma(half) + log(half)) - mean(trigamma(half))
  if (beyond <= 0) return(Inf)
  # trigamma falls from Inf to 0: its inverse
  2 *
    exp(
      stats::uniroot(function(x) log(trigamma(exp(x))) - log(beyond), c(-12, 12), extendInt = "downX",
                     check.conv = FALSE)$root
    )
}

# Of every column: its mean, the variance of that mean by what repetitions scatter within launches
# (`within`, with `within_df`), and what launches scatter beyond it (`excess`, which chance can make
# negative; NA: one launch, or one repetition of each).
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
  between <- colSums((means - rep(colSums(means, na.rm = TRUE) / k, each = nrow(means)))^2,
                     na.rm = TRUE) / (k - 1) / k
  list(mean = unname(mean), n = unname(n), n_launches = unname(k), within = unname(within),
       within_df = unname(within_df), excess = ifelse(single | k < 2, NA_real_, unname(between - within)),
       reason = unname(ifelse(n < 2, "one repetition: its scatter is unknown", NA_character_)))
}

row_mads <- function(table) 1.4826 * row_medians(abs(table - row_medians(table)))

# Up to so many columns each is left out in turn; of more, one weighs nothing.
few_columns <- 30

# For each column: what the others differ from each other, beyond what their own scatter explains; of a new
# one among them.
between_others <- function(table, launch) {
  k <- ncol(table) - 1
  if (k < 2) return(list(v = rep(0, ncol(table)), df = 1))
  robust <- k >= 5
  # The others of each column beside each other; of many columns all of them, once.
  each <- k < few_columns
  take <- if (each) rep(seq_len(k + 1), k + 1)[-seq(1, (k + 1)^2, k + 2)] else seq_len(k + 1)
  size <- if (each) k else k + 1
  set <- rep(seq_len(length(take) / size), each = size)
  known <- is.finite(table)
  # Differences from the mean of all: what hits all alike is no difference.
  sums <- rowSums(ifelse(known, table, 0))
  counts <- rowSums(known)
  means <- if (each) (sums - ifelse(known, table, 0)) / (counts - known) else matrix(sums / counts)
  scatter <- column_scatter(table[, take, drop = FALSE] - means[, set, drop = FALSE], launch)
  own <- scatter$within + pmax(0, scatter$excess, na.rm = TRUE)
  own <- rowMeans(matrix(ifelse(is.finite(own), own, NA), ncol = size, byrow = TRUE),
                  na.rm = TRUE) * size / (size - 1)
  level <- matrix(scatter$mean, ncol = size, byrow = TRUE)
  spread <- if (robust) {
    row_mads(level)^2
  } else {
    rowSums((level - rowMeans(level, na.rm = TRUE))^2, na.rm = TRUE) / (rowSums(!is.na(level)) - 1)
  }
  v <- rep_len(pmax(0, spread - own) * (1 + median_variance(k)), k + 1)
  list(v = ifelse(is.finite(v), v, 0), df = max(1, if (robust) 0.37 * (k - 1) else k - 1))
}

# Variance of the median of k normal values, in their variances (of two it is the mean; else within 15 %,
# rather too large).
median_variance <- function(k) if (k == 2) 1 / 2 else pi / 2 / (k + pi / 2 - 1)
