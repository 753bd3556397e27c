#' Differences between treatments
#'
#' Which treatment slows an operation more, at the same level? Mean log ratios of the `time` channel are
#' compared by Welch's test: of pairs within a launch, of launch summaries across launches. The two samples
#' are taken as independent. (In the designs `blocks` and `single`, and across launches that hold both
#' treatments, they share something, so there the interval is rather too wide than too narrow.)
#'
#' @param verdicts Data frame: the `verdicts` of [analyze_campaign()].
#' @param alpha Probability, length 1: intervals have confidence 1 - alpha.
#' @return A data frame, one row per scope x launch x operation x bytes x level above 0 x pair of treatments
#'   a and b: `kind_a`, `pattern_a`, `placement_a`, `phase_a` and the same with `_b`; `slowdown_a_percent`,
#'   `slowdown_b_percent`; `difference_percent` (by how much longer the operation takes under a than under
#'   b) with its interval `ci_low`, `ci_high` (each by itself), `se_log` and `df` (of the difference of
#'   mean log ratios), `p_two_sided`, `p_holm` (corrected for all levels and pairs of treatments of that
#'   operation and size), `n_a`, `n_b` (pairs or launches), `reason` (why there is no test, else NA). NULL
#'   where no two treatments share a level and a scope.
#' @references Welch, B. L. (1947) Biometrika 34, 28-35. Holm, S. (1979) Scandinavian Journal of Statistics
#'   6, 65-70.
#' @noRd
treatment_contrasts <- function(verdicts, alpha = 0.01) {
  check_argument(is.data.frame(verdicts) && "raw_se" %in% names(verdicts), "verdicts", class(verdicts),
                 "the verdicts of analyze_campaign()")
  check_probability(alpha, "alpha")
  rows <- verdicts[verdicts$channel == "time" & verdicts$level_requested_percent > 0 &
                     is.finite(verdicts$raw_estimate), ]
  if (is.null(rows$refused)) rows$refused <- rep(FALSE, nrow(rows))
  key_of <- function(columns) code_of(do.call(paste, c(rows[columns], sep = "\r")))
  family <- c("scope", "launch", "design", "operation", "bytes", "ranks")
  pairs <- lapply(split(seq_len(nrow(rows)), key_of(c(family, "level_requested_percent"))), function(at) {
    if (length(at) < 2) return(NULL)
    both <- utils::combn(at, 2)
    data.frame(a = both[1, ], b = both[2, ])
  })
  pairs <- bind_rows(unname(Filter(Negate(is.null), pairs)))
  # Pairs of several launches together tell treatments apart only where both ran in all of those launches.
  ran_in <- launches_of(rows)
  pairs <- pairs[rows$scope[pairs$a] != scope_these | ran_in[pairs$a] == ran_in[pairs$b], ]
  if (nrow(pairs) == 0) return(NULL)
  a <- rows[pairs$a, ]
  b <- rows[pairs$b, ]
  w <- welch_from_errors(b$raw_estimate, b$raw_se, b$raw_df, a$raw_estimate, a$raw_se, a$raw_df)
  # Where a launch must not be judged, neither must its contrasts; too few pairs are no such reason.
  refused <- ifelse(a$refused, a$reason, ifelse(b$refused, b$reason, NA_character_))
  known <- is.finite(w$se) & w$se > 0 & is.na(refused)
  reach <- ifelse(known, stats::qt(1 - alpha / 2, ifelse(known, w$df, 1)) * w$se, NA_real_)
  p <- ifelse(known, w$p_two_sided, NA_real_)
  named <- function(treatment, suffix) stats::setNames(treatment, paste0(names(treatment), suffix))
  got <- cbind(
    a[c(family, "level_requested_percent")], named(a[treatment_columns], "_a"),
    named(b[treatment_columns], "_b"),
    data.frame(
      slowdown_a_percent = a$estimate, slowdown_b_percent = b$estimate,
      difference_percent = 100 * expm1(w$difference), ci_low = 100 * expm1(w$difference - reach),
      ci_high = 100 * expm1(w$difference + reach), se_log = ifelse(known, w$se, NA_real_),
      df = ifelse(known, w$df, NA_real_), p_two_sided = p,
      p_holm = stats::ave(p, key_of(family)[pairs$a], FUN = function(p) stats::p.adjust(p, "holm")),
      n_a = a$raw_n, n_b = b$raw_n,
      reason = ifelse(known, NA_character_, ifelse(is.na(refused), "the scatter of the treatments is unknown", refused))
    )
  )
  rownames(got) <- NULL
  got
}

# Welch's test of two estimates with their standard errors and degrees of freedom, which may be infinite.
welch_from_errors <- function(estimate0, se0, df0, estimate1, se1, df1) {
  se <- sqrt(se0^2 + se1^2)
  df <- se^4 / (se0^4 / df0 + se1^4 / df1)
  difference <- estimate1 - estimate0
  list(difference = difference, se = se, df = df, p_two_sided = 2 * stats::pt(-abs(difference / se), df))
}

# The launches in which each row's operation, size, treatment and level were run, as one text.
launches_of <- function(rows) {
  key <- do.call(paste, c(unname(rows[c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent")]),
                          sep = "\r"))
  stats::ave(ifelse(rows$scope == scope_launch, as.character(rows$launch), ""), key,
             FUN = function(ids) paste(sort(unique(ids)), collapse = " "))
}

# Per operation and level the treatment that slows most, against each of the others: few enough to print.
worst_contrasts <- function(contrasts, analysis) {
  if (NROW(contrasts) == 0) return(NULL)
  rows <- main_rows(contrasts)
  factors <- varying_factors(analysis$treatments)
  side <- function(rows, suffix) {
    treatment_label(stats::setNames(rows[paste0(treatment_columns, suffix)], treatment_columns), factors)
  }
  rows$a <- side(rows, "_a")
  rows$b <- side(rows, "_b")
  key <- do.call(paste, c(rows[c("scope", "launch", "operation", "bytes", "ranks", "level_requested_percent")],
                          sep = "\r"))
  bind_rows(lapply(split(rows, factor(key, unique(key))), function(group) {
    slowdown <- c(group$slowdown_a_percent, group$slowdown_b_percent)
    worst <- c(group$a, group$b)[which.max(slowdown)]
    turned <- turn_contrasts(group[group$b == worst, ])
    group <- rbind(group[group$a == worst, ], turned)
    group[order(-group$slowdown_b_percent), ]
  }))
}

# The same contrasts, seen from b.
turn_contrasts <- function(rows) {
  swap <- function(rows, one, other) {
    rows[c(one, other)] <- rows[c(other, one)]
    rows
  }
  for (name in c(treatment_columns, "n")) rows <- swap(rows, paste0(name, "_a"), paste0(name, "_b"))
  rows <- swap(swap(rows, "a", "b"), "slowdown_a_percent", "slowdown_b_percent")
  turn <- function(percent) 100 * (1 / (1 + percent / 100) - 1)
  rows$difference_percent <- turn(rows$difference_percent)
  rows[c("ci_low", "ci_high")] <- list(turn(rows$ci_high), turn(rows$ci_low))
  rows
}
