# Three figures of an agent's cost side by side: what it took from the ranks by the records, what its bursts cost the loop, and what
# switching it on costs in all; and whether the last two agree.

# Half of "agree", fixed before anything is measured: percent of an operation's time, or this share of the agent's own CPU time, whichever is larger.
agree_percent <- 0.05
agree_share <- 0.1

agree_margin <- function(account_percent) pmax(agree_percent, agree_share * ifelse(is.finite(account_percent), account_percent, 0))

figure_names <- c(taken = "taken (attributed)", locked = "by bursts (locked)", all = "in all (on/off)", alone = "in all, less others")

# A row per agent, operation and figure: `taken` (percent of one CPU), `locked`, `all`, and `alone`, which is `all` less what other tasks took from
# the ranks (percent of the operation's time). Attribute `agreement`: per agent and operation the difference of all and locked.
agent_figures <- function(analysis, taken = agent_taken(analysis$campaign, analysis$alpha),
                          locked = locked_by_launch(analysis$campaign, analysis$alpha)) {
  verdicts <- main_rows(analysis$verdicts)
  time <- verdicts[!has_level(verdicts$level_requested_percent) & verdicts$channel == "time", ]
  parts <- lapply(seq_len(nrow(time)), function(i) {
    own <- main_taken(taken[taken$kind %in% as.character(time$kind[i]), ])
    list(rows = three_figures(time[i, ], own, locked, analysis), account = if (nrow(own) > 0) mean(own$account_percent) else NA_real_)
  })
  structure(bind_rows(lapply(parts, `[[`, "rows")), agreement = bind_rows(lapply(parts, function(p) figures_agree(p$rows, p$account))))
}

# `alone` is left out where what others took is not on record, or the agent moves it.
three_figures <- function(row, own, locked, analysis) {
  outcome_of <- function(reason, p, alpha) if (!is.na(reason)) "inconclusive" else if (isTRUE(p <= alpha)) "detected" else "not detected"
  figure <- function(figure, value = NA_real_, low = NA_real_, high = NA_real_, limit = NA_real_, p_value = NA_real_, reason = NA_character_,
                     alpha = row$alpha, outcome = outcome_of(reason, p_value, alpha), n_bursts = NA_real_) {
    data.frame(kind = as.character(row$kind), operation = as.character(row$operation), bytes = row$bytes, launch = row$launch, scope = row$scope,
               figure = figure, value = value, low = low, high = high, limit = limit, p_value = p_value, outcome = outcome, reason = reason, n_bursts = n_bursts)
  }
  mine <- locked_of_answer(row, analysis, locked)
  a <- row$raw_adjusted[[1]]
  bind_rows(list(
    if (nrow(own) == 0) figure("taken", reason = "no account of the agent (agent.HOST.csv)") else with(
      own[1, ], figure("taken", taken_percent, taken_low, taken_high, limit_percent, p_value, reason, alpha = analysis$alpha)),
    if (is.null(mine)) figure("locked", reason = "bursts are not recorded against slices of the loop") else if (mine$state != "measured") {
      figure("locked", reason = mine$reason)
    } else with(mine, figure("locked", slowdown_percent, slowdown_low, slowdown_high, limit_percent, p_value, n_bursts = n_bursts)),
    figure("all", row$estimate, row$ci_low, row$ci_high, row$detection_limit, row$p_one_sided, row$reason, outcome = row_outcome(row)),
    if (!is.null(a) && !a$is_withheld && grepl("others", a$covariate) && is.na(row$reason)) {
      figure("alone", row$adjusted_mean, row$adjusted_low, row$adjusted_high,
             to_effect("time", detection_limit(a$se, a$df, row$alpha, analysis$power)), a$p)
    }
  ))
}

# Equivalence of the two slowdowns: the interval of their difference inside the margin, outside of it, or neither.
figures_agree <- function(rows, account_percent) {
  # Less what others took, where that is known: of the two it is that by rule.
  all <- rows[rows$figure == if (any(rows$figure == "alone")) "alone" else "all", ]
  locked <- rows[rows$figure == "locked", ]
  margin <- agree_margin(account_percent)
  half <- function(row) (row$high - row$low) / 2
  reach <- sqrt(half(all)^2 + half(locked)^2)
  difference <- all$value - locked$value
  word <- if (is.na(reach)) "cannot be compared" else if (abs(difference) + reach <= margin) "agree" else
    if (abs(difference) - reach > margin)
    "disagree" else "cannot be compared"
  reason <- if (is.na(locked$value)) locked$reason else if (is.na(reach)) all$reason else if (word == "cannot be compared") {
    sprintf("their difference is known to \u00b1%s %% only", three(reach))
  } else NA_character_
  data.frame(all[c("kind", "operation", "bytes", "launch", "scope")], difference = difference, low = difference - reach, high = difference +
             reach,
             margin = margin, agreement = word, reason = reason)
}

figures_table <- function(figures, unicode = shows_unicode()) {
  figures <- figures[!(figures$figure == "taken" & duplicated(paste(figures$kind, figures$figure))), ]
  one <- length(unique(figures$kind)) == 1
  new_table(
    figure = col_words("figure", paste0(figure_names[figures$figure], ifelse(figures$figure == "taken", "",
        paste0(", ", sub(",", "", panel_name(figures)))))),
    kind = if (!one) col_words("agent", figures$kind), value = col_number("cost", figures$value, format_effect, "%"),
    low = col_interval("interval", figures$low, figures$high), limit = col_number("limit", figures$limit,
        function(x) format_effect(x, FALSE), "%"),
    outcome = col_verdict("verdict", figures$outcome, unicode), mark = figures$outcome
  )
}

figures_legend <- paste("taken: % of one CPU, by who ran while a rank waited; by bursts and in all: % of the operation's time; limit: what would have",
                        "been found")

figure_estimates <- function(figures, alpha) {
  if (NROW(figures) == 0) return(NULL)
  apart <- attr(figures, "agreement")
  kept <- figures[!figures$figure %in% c("all", "alone"), ]
  bind_rows(list(
    as_estimates(kept, c(taken = "taken_attributed_percent", locked = "slowdown_by_bursts_percent")[kept$figure], ci_low = kept$low,
                 ci_high = kept$high,
                 confidence = 1 - 2 * alpha, detection_limit = kept$limit, p_one_sided = kept$p_value, n_unit = NA, verdict = kept$outcome),
    as_estimates(apart, "slowdown_beyond_bursts_percent", value = apart$difference, ci_low = apart$low, ci_high = apart$high,
                 confidence = 1 - 2 * alpha, verdict = apart$agreement)
  ))
}

# What an answer is made of, as pure functions (docs/methods.md, One answer for an agent). A figure: `value`, and `ends`, a function of a one-sided
# level that gives c(low, high), each a bound at that level.

figure_of <- function(value, ends) list(value = value, ends = ends)

# Student's; `se`, `df` may have several entries, of which the widest counts.
figure_of_t <- function(value, se, df) {
  figure_of(value, function(a) value + c(-1, 1) * max(stats::qt(a, df, lower.tail = FALSE) * se))
}

figure_as <- function(figure, f) figure_of(f(figure$value), function(a) f(figure$ends(a)))

# Of f(values) that rises in every figure with sign 1 and falls where it is -1: the distances of the ends are added in squares, each on its
# own side (Zou and Donner 2008, Statistics in Medicine 27, 1693).
figures_together <- function(figures, f, sign = rep(1, length(figures))) {
  values <- lapply(figures, `[[`, "value")
  centre <- do.call(f, values)
  figure_of(centre, function(a) {
    reach <- vapply(seq_along(figures), function(i) {
      ends <- figures[[i]]$ends(a)
      if (sign[i] < 0) ends <- rev(ends)
      vapply(ends, function(end) abs(do.call(f, replace(values, i, end)) - centre), 0)
    }, numeric(2))
    centre + c(-1, 1) * sqrt(rowSums(reach^2))
  })
}

# Least one-sided level at which the figure lies above (`side` 1) or below (-1) a border.
figure_p <- function(figure, border, side = 1) {
  if (is.null(figure) || is.na(figure$value)) return(NA_real_)
  beyond <- function(log_a) side * (figure$ends(exp(log_a))[if (side > 0) 1 else 2] - border)
  least <- 1e-15
  range <- log(c(least, 0.4999))
  if (!isTRUE(beyond(range[2]) > 0)) return(1)
  if (isTRUE(beyond(range[1]) > 0)) return(least)
  exp(stats::uniroot(beyond, range, tol = 1e-6)$root)
}

# Time lost per CPU time taken, ns: A = sum(l - b) / sum(c), in the order of time; `background`: what a window loses elsewhere, by `places` places,
# with standard error `spread`. By bursts, blocks, or the places elsewhere, whichever is widest. Cochran (1977) Sampling Techniques, ch. 6.
amplification_figure <- function(lost, cpu_ns, background, spread, places, groups = locked_design$groups) {
  n <- length(lost)
  ratio <- (sum(lost) - n * background) / sum(cpu_ns)
  residual <- lost - background - ratio * cpu_ns
  blocks <- batch_mean_ci(residual, 0.99, groups)
  se <- c(stats::sd(residual) / sqrt(n), blocks$se, spread) / mean(cpu_ns)
  figure_of_t(ratio, se, c(n - 1, blocks$df, places - 1))
}

# CPU time of bursts per time recorded, ns; attribute `period_ns`. With a period (see `regular_train()`): CPU time of a beat over the period, and
# what comes beside it. Else the sum over the time: by 16 blocks, never better than at random (Fay and Feuer 1997, Stat. Med. 16, 791).
use_figure <- function(start_ns, cpu_ns, stretch, total_ns) {
  train <- regular_train(start_ns, cpu_ns, stretch)
  if (!is.null(train)) {
    n <- length(train$cpu_ns)
    own <- batch_mean_ci(train$cpu_ns, 0.99, locked_design$groups)
    middle <- mean(train$distances)
    se <- sqrt((c(stats::sd(train$cpu_ns) / sqrt(n), own$se) / mean(train$cpu_ns))^2 +
                 (stats::sd(train$distances) / sqrt(length(train$distances)) / middle)^2)
    beats <- figure_as(figure_of_t(log(mean(train$cpu_ns) / middle), se, c(n - 1, own$df)), exp)
    figure <- if (length(train$beside) == 0) beats else figures_together(list(beats, random_use(train$beside, total_ns)), `+`)
    return(structure(figure, period_ns = train$period_ns))
  }
  share <- sum(cpu_ns) / total_ns
  groups <- locked_design$groups
  block <- factor(pmin(groups, 1 + floor(start_ns / total_ns * groups)), seq_len(groups))
  sums <- as.numeric(tapply(cpu_ns, block, sum, default = 0))
  log_se <- stats::sd(sums) / sqrt(groups) / mean(sums)
  structure(figure_of(share, function(a) {
    poisson <- random_use(cpu_ns, total_ns)$ends(a)
    blocks <- share * exp(c(-1, 1) * stats::qt(a, groups - 1, lower.tail = FALSE) * log_se)
    c(min(poisson[1], blocks[1]), max(poisson[2], blocks[2]))
  }), period_ns = NA_real_)
}

# Bursts at even distances; NULL: three in four do not keep to it within a tenth. Parts that other tasks tore, less than a quarter of the longest
# usual distance (0.9 quantile) apart, are one beat; what has less than half of the usual CPU time is beside it.
regular_train <- function(start_ns, cpu_ns, stretch) {
  distances <- diff(start_ns)[diff(stretch) == 0]
  if (length(distances) < least_distances) return(NULL)
  joined <- c(Inf, diff(start_ns)) <= stats::quantile(distances, 0.9, names = FALSE) / 4 & c(FALSE, diff(stretch) == 0)
  begin <- which(!joined)
  cpu <- as.numeric(rowsum(cpu_ns, cumsum(!joined)))
  beat <- cpu >= stats::median(cpu) / 2
  start <- start_ns[begin][beat]
  distances <- diff(start)[diff(stretch[begin][beat]) == 0]
  if (length(distances) < least_distances) return(NULL)
  centre <- stats::median(distances)
  if (mean(abs(distances - centre) <= 0.1 * centre) < 0.75) return(NULL)
  list(period_ns = centre, cpu_ns = cpu[beat], distances = distances, beside = cpu[!beat])
}

random_use <- function(cpu_ns, total_ns) figure_of(sum(cpu_ns) / total_ns, function(a) compound_poisson_ends(cpu_ns, a) / total_ns)

# Bounds of the expected sum of events that come at random, each of another size, from those that came.
compound_poisson_ends <- function(sizes, alpha) {
  sizes <- sizes[sizes > 0]
  if (length(sizes) == 0) return(c(0, NA_real_))
  y <- sum(sizes)
  v <- sum(sizes^2)
  most <- max(sizes)
  c(v / (2 * y) * stats::qchisq(alpha, 2 * y^2 / v),
    (v + most^2) / (2 * (y + most)) * stats::qchisq(alpha, 2 * (y + most)^2 / (v + most^2), lower.tail = FALSE))
}

# Percent of the time without them: L = x / (1 - x), x = A U. `before_high`: what may have been lost before each burst, as a share of its CPU time
# (upper bound, a function of the level): off the lower end. `at_least`: bursts were cut, there is no upper end.
bursts_figure <- function(amplification, use, before_high = NULL, at_least = FALSE) {
  less <- figure_of(amplification$value, function(a) {
    ends <- amplification$ends(a)
    if (!is.null(before_high)) ends[1] <- ends[1] - max(0, before_high(a))
    if (at_least) ends[2] <- Inf
    ends
  })
  figure_as(figures_together(list(less, use), `*`), function(x) ifelse(x < 1, 100 * x / (1 - x), Inf))
}

# Bursts rarer than one in the time watched were not seen: what those of at most `unseen_ns` each may cost, percent, one-sided.
unseen_ns <- 5e7

unseen_percent <- function(watched_s, alpha) if (watched_s > 0) 100 * unseen_ns / 1e9 * -log(alpha) / watched_s else Inf

# (1 + S) = (1 + L)(1 + R), percent: one of the three from the two others.
in_all_figure <- function(bursts, beyond) {
  figures_together(list(bursts, beyond), function(l, r) 100 * ((1 + l / 100) * (1 + r / 100) - 1))
}

beyond_figure <- function(whole, bursts) {
  figures_together(list(whole, bursts), function(s, l) 100 * ((1 + s / 100) / (1 + l / 100) - 1), c(1, -1))
}

# Never smaller than what could have been seen: an estimate far below 0 is luck (Cowan, Cranmer, Gross and Vitells 2011, arXiv:1105.3166).
beyond_bound <- function(beyond, alpha) {
  ends <- beyond$ends(alpha)
  max(ends[2], (ends[2] - ends[1]) / 2)
}
