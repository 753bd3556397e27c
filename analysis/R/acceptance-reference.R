# Limits learnt from a campaign that was good.

least_reference <- 5

# A reference for which other tasks had this much of a CPU says what a busy machine does: no machine could miss its limits.
busy_reference_percent <- 5

busy_reference <- function(units) {
  busy <- units[units$metric %in% c("preempted", "taken") & units$unit == "percent", ]
  if (nrow(busy) == 0) return(NA_character_)
  mean <- tapply(busy$x, list(busy$entity, busy$metric), mean)
  worst <- max(mean, na.rm = TRUE)
  if (worst < busy_reference_percent) return(NA_character_)
  sprintf("measure the reference when the machine is quiet: other tasks took %s of a CPU on %s", format_figure(worst, "percent"),
          rownames(mean)[which(mean == worst, arr.ind = TRUE)[1, 1]])
}

# What was learnt from the reference, and what could not be.
judge_reference <- function(acceptance, figures, reference, alpha, margins = margins_in_use()) {
  learnt <- acceptance_units(reference)
  busy <- busy_reference(learnt)
  sizes <- lapply(list(reference, acceptance), function(a) sort(unique(vapply(a$launches, function(info) as.numeric(info$ranks), 0))))
  other_size <- !identical(sizes[[1]], sizes[[2]])
  # Of all ranks together, or shared out among them: nothing to learn from another number of ranks.
  hangs <- function(rows) rows$of == "cluster" & rows$check != "completeness" |
    rows$metric %in% acceptance_measures$name[acceptance_measures$placed]
  if (other_size) learnt <- learnt[!hangs(learnt), ]
  key <- function(x) paste(x$check, x$variant, x$metric, x$size, sep = "\r")
  parts <- split(learnt, in_order(key(learnt)))
  known <- key(figures) %in% names(parts)
  lacks <- figures[!known & !(other_size & hangs(figures)), ]
  lost <- setdiff(names(parts), key(figures))
  notes <- c(
    if (other_size) sprintf("the reference has %s ranks, this campaign %s: figures of all ranks together are not judged by it",
                            format_range(sizes[[1]]), format_range(sizes[[2]])),
    if (nrow(lacks) > 0) sprintf("the reference lacks %s, not judged by it: %s", counted(nrow(lacks), "figure"), few_words(lacks$name, 4)),
    if (length(lost) > 0) sprintf("the reference has %s that were not measured here: %s", counted(length(lost), "figure"),
                                  few_words(unname(vapply(parts[lost], function(p) figure_name(cbind(p[1, figure_key], entity = "")), "")), 4))
  )
  f <- figures[known, ]
  if (nrow(f) == 0) return(list(notes = notes))
  days <- length(unique(substr(unlist(lapply(reference$launches, function(info) info$started_utc %||% "")), 1, 10)))
  bounds <- bind_rows(lapply(parts[unique(key(f))], tolerance_bound, 1 - alpha / nrow(f), alpha, days, margins))
  bound <- bounds[match(key(f), unique(key(f))), ]
  verdict <- ifelse(is.na(bound$limit), "inconclusive", against_limit(f$ci_low, f$ci_high, bound$limit, bound$relation))
  beyond <- verdict == "fail" & !bound$may_fail
  verdict[beyond] <- "inconclusive"
  # Of few values the bound is far: what may be worse than the worst of them, and than its margin allows, is not known to be good.
  unknown <- verdict == "pass" & ifelse(bound$relation == "<=", f$ci_high > bound$worst, f$ci_low < bound$worst)
  verdict[unknown] <- "inconclusive"
  # What no machine could miss is nothing to pass by.
  refused <- verdict == "pass" & (!is.na(busy) | !bound$may_miss)
  verdict[refused] <- "inconclusive"
  reason <- ifelse(verdict != "inconclusive", NA_character_, ifelse(unknown,
      paste("may be worse than the worst of the reference, and its margin:", format_figure(bound$worst, f$unit)),
                   ifelse(refused & !is.na(busy), busy, ifelse(!is.na(bound$reason), bound$reason, interval_reason(f, "bound")))))
  # a pass is by the nearer of the two, and that is what is shown
  nearer <- ifelse(bound$relation == "<=", pmin(bound$limit, bound$worst), pmax(bound$limit, bound$worst))
  shown <- ifelse(verdict == "fail", bound$limit, nearer)
  list(rows = judgement(f$check, f$what, verdict, variant = f$variant, metric = f$metric, size = f$size, entity = f$entity, value = f$value,
                        ci_low = f$ci_low, ci_high = f$ci_high,
                        unit = f$unit, limit = ifelse(is.na(bound$limit) | refused, "", paste(bound$relation, format_figure(shown, f$unit))),
                        source = bound$source, kind = "reference",
                        reason = reason), notes = c(if (!is.na(busy)) paste("the reference passes nothing:", busy), notes))
}

# One-sided normal tolerance bound, on the side that is worse. `may_fail`: the reference is of several launches and of enough values, so
# that what it has not seen is no reason to fail. `may_miss`: a machine could miss the bound.
tolerance_bound <- function(part, share, alpha, days = 1, margins = margins_in_use()) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  table <- unit_table(to_scale(part$x, scale, worse), part$launch, part$entity)
  n <- sum(!is.na(table))
  of <- if (part$of[1] == "cluster") "launches" else paste0("launches x ", part$of[1], "s")
  one_day <- if (days == 1) " of one day" else ""
  bound <- function(limit, n, of, may_fail, reason = NA_character_, may_miss = TRUE) {
    frame(limit = limit, worst = worst, relation = if (worse == "more") "<=" else ">=",
          source = sprintf("reference, n = %d %s%s", n, of, one_day), may_fail = may_fail, may_miss = may_miss, reason = reason)
  }
  beyond <- function(y) from_scale(y + margin_of(margins, margin_kinds(part$check[1], part$metric[1]),
                                                 from_scale(y, scale, worse), scale, worse), scale, worse)
  worst <- beyond(max(table, na.rm = TRUE))
  # Without scatter nothing is known of what is usual: the value and its margin, which can be kept but not missed.
  agreed <- function(s) if (!(s$sd > 1e-12 * abs(s$mean))) beyond(s$mean)
  if (n < least_reference || nrow(table) < 2) {
    y <- to_scale(part$x, scale, worse)
    if (length(y) < least_reference) {
      return(bound(NA_real_, length(y), "repetitions", FALSE, sprintf("%d values of the reference are too few (%d are needed)", length(y),
          least_reference)))
    }
    s <- list(mean = mean(y), sd = stats::sd(y), n = length(y), df = length(y) - 1)
    limit <- agreed(s) %||% tolerance_limit(s, share, alpha, scale, worse)
    return(bound(limit, length(y), "repetitions", FALSE, if (!is.null(agreed(s))) agree_exactly else
                 sprintf("the reference has %s of %s: what changes between launches is not in its bound, which no machine could miss (%d of two launches or more are needed)", counted(n, "value"), counted(nrow(table), "launch", "launches"), least_reference),
                 may_miss = !is.null(agreed(s))))
  }
  s <- crossed_scatter(table)
  if (!is.null(agreed(s))) bound(agreed(s), n, of, FALSE, agree_exactly) else
    bound(tolerance_limit(s, share, alpha, scale, worse), n, of, TRUE)
}

agree_exactly <- "all values of the reference agree exactly"

tolerance_limit <- function(s, share, alpha, scale, worse) {
  root <- sqrt(s$n)
  k <- suppressWarnings(stats::qt(1 - alpha, s$df, ncp = stats::qnorm(share) * root)) / root
  from_scale(s$mean + k * s$sd, scale, worse)
}

# Random effects of launches (rows) and nodes (columns): mean and standard deviation of a new value of a new launch and node, the number of
# independent values that the mean is worth, and the degrees of freedom (Satterthwaite). Mean squares below the residual one count as it.
# With one column, one-way over launches.
crossed_scatter <- function(table) {
  a <- nrow(table)
  b <- ncol(table)
  if (b == 1) return(list(mean = mean(table), sd = stats::sd(table), n = a, df = a - 1))
  gaps <- is.na(table)
  mean <- mean(table, na.rm = TRUE)
  if (any(gaps)) table[gaps] <- (outer(rowMeans(table, na.rm = TRUE), colMeans(table, na.rm = TRUE), `+`) - mean)[gaps]
  row <- rowMeans(table)
  column <- colMeans(table)
  df <- c(a - 1, b - 1, (a - 1) * (b - 1) - sum(gaps))
  square <- c(b * stats::var(row), a * stats::var(column), sum((table - outer(row, column, `+`) + mean(table))^2) / max(1, df[3]))
  square[1:2] <- pmax(square[1:2], square[3])
  part <- square * c(1 / b, 1 / a, 1 - 1 / a - 1 / b)
  of_mean <- max((square[1] + square[2] - square[3]) / (a * b), max(square) / (a * b))
  total <- sum(part)
  if (!total > 0) return(list(mean = mean, sd = 0, n = a * b, df = a - 1))
  list(mean = mean, sd = sqrt(total), n = total / of_mean, df = total^2 / sum((part^2 / pmax(1, df))[part > 0]))
}
