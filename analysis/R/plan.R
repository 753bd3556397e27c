# How many pairs, and how many launches, does an answer need?

#' Pairs that a test needs
#'
#' The smallest number of pairs with which a one-sided Student's test of the mean difference finds a true effect
#' with the wanted power (noncentral t with n - 1 degrees of freedom); or, with `margin`, with which the
#' interval of confidence 1 - 2 alpha lies inside the margin with that probability when the truth is `effect` (two
#' one-sided tests). Beyond 5000 degrees of freedom the normal distribution stands for Student's.
#'
#' @param effect Numeric, length 1: true effect, any unit (for log ratios: log of the ratio).
#' @param sd Numeric, length 1: standard deviation of one pair's difference, unit of `effect`.
#' @param alpha,power Probabilities, length 1.
#' @param margin Numeric, length 1 (from -margin to margin) or 2 (from, to; from -Inf: only the upper end is asked), unit of `effect`; NULL: detection.
#' @param least Smallest answer, length 1, at least 2.
#' @return A data frame of one row: `n` (pairs; NA where there is no answer), `power` (reached with n), `reason` (why n
#'   is NA, else NA).
#' @references Schuirmann, D. J. (1987) Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680 (two one-sided
#'   tests).
#' @examples
#' plan_pairs(effect = 1, sd = 1)$n # as power.t.test(delta = 1, type = "one.sample", alternative = "one.sided")
#' plan_pairs(effect = 0, sd = 1, margin = 0.5)$n
#' @export
plan_pairs <- function(effect, sd, alpha = 0.01, power = 0.95, margin = NULL, least = 2) {
  check_argument(is_number(effect), "effect", effect, "one number")
  check_probability(alpha, "alpha")
  check_probability(power, "power")
  check_argument(is_number(least, 1), "least", least, "a number of at least 2")
  if (!is.null(margin)) {
    check_argument(is.numeric(margin) && length(margin) %in% 1:2 && !anyNA(margin) && is.finite(max(margin)), "margin", margin,
                   "one or two numbers")
    if (length(margin) == 1) margin <- abs(margin) * c(-1, 1)
  }
  reason <- no_plan(effect, sd, margin)
  if (!is.na(reason)) return(planned(reason = reason))
  reached <- function(n) test_power(n, effect, sd, alpha, margin)
  n <- smallest_n(reached, power, least)
  if (is.na(n)) return(planned(reason = sprintf("more than %g pairs", most_pairs)))
  planned(n, reached(n))
}

most_pairs <- 1e12

planned <- function(n = NA_real_, power = NA_real_, reason = NA_character_) data.frame(n = n, power = power,
                                                                                       reason = reason)

no_plan <- function(effect, sd, margin) {
  if (!is_number(sd) || sd < 0) return("the scatter is unknown")
  if (sd == 0) return("there is no scatter in the data, so nothing is known about it")
  if (is.null(margin) && effect <= 0) return("a test for slower cannot find an effect of 0 or below")
  if (!is.null(margin) && (effect <= margin[1] || effect >= margin[2])) {
    return("the expected effect is not inside the margin")
  }
  NA_character_
}

# Power is taken to rise with n: doubled until it is reached, then halved down.
smallest_n <- function(reached, power, least) {
  low <- least - 1
  high <- least
  while (reached(high) < power) {
    if (high >= most_pairs) return(NA_real_)
    low <- high
    high <- 2 * high
  }
  while (high - low > 1) {
    middle <- floor((low + high) / 2)
    if (reached(middle) < power) low <- middle else high <- middle
  }
  high
}

test_power <- function(n, effect, sd, alpha, margin = NULL) {
  df <- n - 1
  se <- sd / sqrt(n)
  if (is.null(margin)) return(effect_power(effect, se, df, alpha))
  cut <- stats::qt(1 - alpha, df)
  # Given s, the estimated over the true standard error, the rest is normal.
  given <- function(s) {
    pmax(0, stats::pnorm((margin[2] - effect) / se - cut * s) - stats::pnorm((margin[1] - effect) / se + cut * s))
  }
  if (df > 5000) return(given(1))
  ends <- sqrt(stats::qchisq(c(1e-13, 1 - 1e-13), df) / df)
  density <- function(s) 2 * s * df * stats::dchisq(df * s^2, df)
  cells <- seq(ends[1], ends[2], length.out = 9)
  sum(vapply(1:8, function(i) {
    stats::integrate(function(s) given(s) * density(s), cells[i], cells[i + 1], rel.tol = 1e-8, abs.tol = 1e-12,
                     subdivisions = 200, stop.on.error = FALSE)$value
  }, 0))
}

#' Repetitions at each level
#'
#' How often to repeat each level but the highest so that the variance of the mean is smallest for the total cost:
#' r_i = ceil(sqrt(c_(i+1) / c_i * T_i^2 / T_(i+1)^2)), at least 1.
#'
#' @param costs Numeric, length k: cost of one repetition at each level from the lowest (a pair; then what a launch
#' costs
#'   beyond its pairs; ...), same unit.
#' @param variances Numeric, length k: variance components T_i^2 from the lowest.
#' @return Numeric, length k - 1: repetitions at the levels 1 to k - 1; Inf where the level above adds no variance
#' (repeating
#'   it then only costs), 1 where its own adds none.
#' @references Kalibera, T. and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM, section 5.
#' @noRd
repetition_counts <- function(costs, variances) {
  check_numeric(costs, "costs")
  check_numeric(variances, "variances")
  check_argument(all(costs > 0), "costs", costs, "numbers above 0")
  check_argument(length(variances) == length(costs), "variances", length(variances), paste(length(costs),
                                                                                           "variances, as costs"))
  k <- length(costs)
  if (k < 2) return(numeric())
  variances <- pmax(0, variances)
  own <- variances[-k]
  above <- variances[-1]
  # A square root that is whole on paper may be above it in its last bits.
  count <- ceiling(sqrt(costs[-1] / costs[-k] * own / above) - 1e-9)
  ifelse(own == 0, 1, pmax(1, count))
}

#' Launches, and pairs in each, that an answer about launches like these needs
#'
#' The launch is the unit: the mean of a launch of r pairs has the variance T_2^2 + T_1^2 / r. r is Kalibera and Jones'
#' best count; the number of launches then follows from Student's test on their means, see [plan_pairs()]. Where
#' launches add no variance of their own, as many launches are taken as the exact sign-flip check of launch means
#' needs, and r follows from them.
#'
#' @param effect Numeric, length 1: true effect, any unit.
#' @param sd_pair,sd_launch Numeric, length 1: T_1 and T_2, standard deviation of pairs within a launch and between
#'   launches, unit of `effect`.
#' @param pair_s,launch_s Seconds, length 1: what one pair costs, and what a launch costs beside its pairs.
#' @param alpha,power,margin As in [plan_pairs()].
#' @param launches Number of launches, length 1; NULL: the best.
#' @param least Fewest pairs in a launch, length 1.
#' @return A data frame of one row: `n_launches`, `pairs_per_launch`, `seconds` (all launches), `power` (reached),
#' `reason`
#'   (why they are NA, else NA).
#' @references Kalibera, T. and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM.
#' @examples
#' plan_launches(effect = 1, sd_pair = 4, sd_launch = 0.5, pair_s = 0.02, launch_s = 2)
#' @export
plan_launches <- function(effect, sd_pair, sd_launch, pair_s, launch_s, alpha = 0.01, power = 0.95, margin = NULL,
                          launches = NULL, least = 7) {
  check_argument(is_number(pair_s, 0), "pair_s", pair_s, "seconds above 0")
  check_argument(is_number(launch_s, 0), "launch_s", launch_s, "seconds above 0")
  check_argument(is_number(sd_launch) && sd_launch >= 0, "sd_launch", sd_launch, "a number of at least 0")
  check_argument(is.null(launches) || is_number(launches, 0), "launches", launches, "a number of launches")
  if (!is.null(margin) && length(margin) == 1) margin <- abs(margin) * c(-1, 1)
  reason <- no_plan(effect, sd_pair, margin)
  if (is.na(reason) && identical(as.numeric(launches), 1)) reason <- "one launch cannot speak for launches like these"
  if (!is.na(reason)) return(planned_launches(reason = reason))
  if (is.null(launches) && sd_launch == 0) launches <- pairs_needed(alpha)
  launch_sd <- function(r) sqrt(sd_launch^2 + sd_pair^2 / r)
  if (is.null(launches)) {
    r <- max(least, repetition_counts(c(pair_s, launch_s), c(sd_pair, sd_launch)^2))
    found <- plan_pairs(effect, launch_sd(r), alpha, power, margin)
    if (is.na(found$n)) return(planned_launches(reason = "more launches than can be counted"))
    return(planned_launches(found$n, r, found$n * (launch_s + r * pair_s), found$power))
  }
  reached <- function(r) test_power(launches, effect, launch_sd(r), alpha, margin)
  # With endless pairs launches still differ by sd_launch.
  if (sd_launch > 0 && reached(Inf) < power || reached(most_pairs) < power) {
    return(planned_launches(reason = sprintf("%g launches are too few, however long they are", launches)))
  }
  r <- smallest_n(reached, power, least)
  planned_launches(launches, r, launches * (launch_s + r * pair_s), reached(r))
}

planned_launches <- function(n = NA_real_, r = NA_real_, seconds = NA_real_, power = NA_real_, reason = NA_character_) {
  data.frame(n_launches = n, pairs_per_launch = r, seconds = seconds, power = power, reason = reason)
}
