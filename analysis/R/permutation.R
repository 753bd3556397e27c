# Permutation test of two samples, the check of Welch's test where launches are the unit.

#' Permutation test of two samples
#'
#' Under the hypothesis that both samples come from the same distribution, every way to say which of the n + m
#' values are those of `y` is equally likely. The statistic is the difference of the means. Up to `relabelings` such
#' ways all are counted; beyond, as many less one are drawn at random from a fixed seed (so that the same data give the
#' same p-values), and the one seen counts as one more.
#'
#' @param x,y Numeric, length n and m: the two samples, same unit.
#' @param relabelings Whole number, length 1: up to so many relabelings are enumerated.
#' @return A list: `difference` (mean of `y` minus mean of `x`, unit of the data), `p_one_sided` (`y` larger),
#'   `p_two_sided` (difference as far from 0, either way), `smallest_p` (the smallest two-sided p-value these sizes
#'   allow), `relabelings` (number looked at), `method`. The p-values are NA where a sample is empty.
#' @references Fisher, R. A. (1935) The Design of Experiments. Phipson, B. and Smyth, G. K. (2010) Statistical
#'   Applications in Genetics and Molecular Biology 9, article 39 (random relabelings: the one seen counts).
#' @noRd
permutation_test <- function(x, y, relabelings = 20000) {
  check_numeric(x, "x")
  check_numeric(y, "y")
  check_argument(is_number(relabelings, 1) && relabelings == floor(relabelings), "relabelings", relabelings,
                 "a whole number above 1")
  n <- length(x) + length(y)
  if (length(x) == 0 || length(y) == 0) {
    return(list(difference = NA_real_, p_one_sided = NA_real_, p_two_sided = NA_real_, smallest_p = NA_real_,
                relabelings = 0, method = "none: an empty sample"))
  }
  centre <- mean(c(x, y))
  z <- c(x, y) - centre  # the mean of all carries rounding errors and nothing else
  which_y <- relabel(n, length(y), relabelings)
  # With the total fixed, the difference of the means grows with the sum of y.
  sums <- colSums(matrix(z[which_y$at], nrow = length(y)))
  seen <- sum(z[length(x) + seq_along(y)])
  tie <- 1e-9 * sum(abs(z))
  # The random ones are joined by the one seen.
  extra <- if (which_y$all) 0 else 1
  share <- function(reached) (sum(reached) + extra) / (length(sums) + extra)
  list(difference = mean(y) - mean(x), p_one_sided = share(sums >= seen - tie),
       p_two_sided = share(abs(sums) >= abs(seen) - tie),
       smallest_p = (if (length(x) == length(y)) 2 else 1) / if (which_y$all) length(sums) else choose(n, length(y)),
       relabelings = length(sums) + extra,
       method = if (which_y$all) "permutation, exact" else "permutation, Monte Carlo")
}

# Columns of `at`: the places of y. Those drawn are the same for every test of the same sizes, kept for the session.
relabel_store <- new.env(parent = emptyenv())

relabel <- function(n, n_y, relabelings) {
  if (choose(n, n_y) <= relabelings) return(list(all = TRUE, at = utils::combn(n, n_y)))
  name <- paste(n, n_y, relabelings)
  if (is.null(relabel_store[[name]])) {
    draw <- function(i) sample.int(n, n_y)
    relabel_store[[name]] <- with_seed(20210105, vapply(seq_len(relabelings - 1), draw, integer(n_y)))
  }
  list(all = FALSE, at = relabel_store[[name]])
}
