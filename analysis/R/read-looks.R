# Launches with planned looks (the detector's --stop-when): what their tests have of alpha.

# One-sided error that may have been made by the share t of the run, by the way to spend it.
spending_functions <- list(
  `obrien-fleming` = function(alpha, t) {
    2 * stats::pnorm(stats::qnorm(alpha / 2, lower.tail = FALSE) / sqrt(t), lower.tail = FALSE)
  },
  pocock = function(alpha, t) alpha * log1p(expm1(1) * t)
)

# Share of the planned pairs (sets) that are complete; NA where the launch does not say. The rows that were
# read count: a launch that was killed has no number of its own.
share_run <- function(info) {
  rows <- info$sequential$rows_read %||% info$rows
  planned <- info$pairs_planned
  if (is.null(rows) || is.null(planned)) return(NA_real_)
  factors <- info$options[c("levels_percent", paste0(treatment_columns, "s"))]
  arms <- if (identical(info$options$design, "lockin")) 2 else 1 + prod(pmax(1, lengths(factors)))
  min(1, floor(rows / arms) / planned)
}

# The one-sided alpha that tests of a launch must use: `alpha` without planned looks; the nominal p of the
# last look where the launch ended with it; where it was interrupted, what may be spent between the last
# look and the share of the run that it reached (a further look at that p makes no more than that error,
# whatever it has in common with the others). The error planned for the launch counts, not `alpha`:
# `sequential_notes()` says so.
launch_alpha <- function(info, alpha = 0.01) {
  plan <- info$sequential
  if (is.null(plan)) return(alpha)
  n <- length(plan$looks)
  if (n > 0 && identical(info$ended, "complete")) return(plan$looks[[n]]$nominal_p)
  spent <- spending_functions[[plan$spending]]
  last <- if (n > 0) plan$looks[[n]]$rounds / plan$rounds_planned else 0
  share <- share_run(info)
  # Right after a look nothing is left but that look.
  if (n > 0 && (is.na(share) || share <= last)) return(plan$looks[[n]]$nominal_p)
  spent(plan$alpha, share) - (if (n > 0) spent(plan$alpha, last) else 0)
}

# What planned looks mean for the analysis of a launch at `alpha` (NULL: not compared): lines for the notes;
# none without them.
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
