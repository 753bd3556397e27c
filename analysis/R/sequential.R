# Planned looks at a run under way, with alpha spending: the mathematics of the detector's --stop-when.

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

# Boundaries of planned looks: the nominal one-sided p that a test must reach at each look, at the shares `fractions` of the run (1 to
# 100, rising by at least 0.001 to at most 1), so that the chance to reach it at any look is `alpha` (at most 0.2) without an effect. A
# row per look: `look`, `fraction`, `alpha_spent` (up to and with it), `nominal_p`, `z`. For known scatter the statistics are jointly
# normal with independent increments; their density among the runs that have not crossed is carried from look to look on Gauss-Legendre
# panels no wider than the smallest step. With unknown scatter the nominal p is used with Student's distribution, which keeps the error to
# a good approximation. Armitage, P., McPherson, C. K. and Rowe, B. C. (1969) JRSS A 132, 235-244; Jennison, C. and Turnbull, B. W. (2000)
# Group Sequential Methods, chapters 7 and 19.
spending_bounds <- function(fractions, alpha = 0.01, spending = "obrien-fleming") {
  check_numeric(fractions, "fractions")
  n <- length(fractions)
  check_argument(n >= 1 && n <= 100, "fractions", n, "1 to 100 looks")
  check_argument(fractions[1] > 0 && fractions[n] <= 1 && all(diff(c(0, fractions)) > 0.001 - 1e-12), "fractions",
                 fractions, "shares of the run from above 0 to 1, rising by at least 0.001")
  check_argument(is_number(alpha, 0) && alpha <= 0.2, "alpha", alpha, "one number above 0 and at most 0.2")
  check_argument(is_text(spending) && spending %in% names(spending_functions), "spending", spending, join_words(names(spending_functions), "or"))
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
  data.frame(look = seq_len(n), fraction = fractions, alpha_spent = spent, nominal_p = stats::pnorm(z, lower.tail = FALSE), z = z)
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

# ---- launches that were run so -----------------------------------------------------------------

# Stops where `sequential` of a launch.json is not as docs/reference/formats.md has it, beyond the types of its keys.
check_sequential_json <- function(info, file) {
  sequential <- info$sequential
  if (is.null(sequential)) return(invisible())
  need <- function(ok, key, value, ...) if (!ok) abort_damaged(file, 1, "key '", key, "' is ", show_json(value, "missing"), ", wanted ", ...)
  need(json_types$amount$is(info$pairs_planned), "pairs_planned", info$pairs_planned, json_types$amount$name)
  need(sequential$spending %in% names(spending_functions), "sequential.spending", sequential$spending, join_words(names(spending_functions), "or"))
  need(sequential$alpha > 0 && sequential$alpha <= 0.2, "sequential.alpha", sequential$alpha, "a number up to 0.2")
  planned <- sequential$rounds_planned
  need(planned >= 1, "sequential.rounds_planned", planned, "at least 1")
  before <- 0
  for (i in seq_along(sequential$looks)) {
    look <- sequential$looks[[i]]
    prefix <- paste0("sequential.looks[", i - 1, "].")
    need(look$rounds > before && look$rounds <= planned, paste0(prefix, "rounds"), look$rounds, "more than before, and at most ", planned)
    need(look$nominal_p > 0 && look$nominal_p <= 0.5, paste0(prefix, "nominal_p"), look$nominal_p, "a number above 0 and at most 0.5")
    before <- look$rounds
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

# The one-sided alpha that tests of a launch must use: `alpha` without planned looks; the nominal p of the last look where the launch
# ended with it; where it was interrupted, that of a further look at the share of the run that it reached. The error planned for the
# launch counts, not `alpha`: `sequential_notes()` says so.
launch_alpha <- function(info, alpha = 0.01) {
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

# What planned looks mean for the analysis of a launch at `alpha` (NULL: not compared): lines for the notes; none without them.
sequential_notes <- function(info, alpha = NULL) {
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
