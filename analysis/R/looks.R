# Looks at a campaign that grows: each is a chance of a false alarm, and the error is spent over them.

#' Looks at a campaign
#'
#' A campaign with a `schedule.tsv` says how many launches were planned, so the error of the tests over launches can be
#' kept however often it is analyzed:
#'
#' * While fewer are there than were planned this is an interim look: tests use what O'Brien and Fleming's function has
#'   spent of alpha by that share of the launches, which leaves nearly all of it to the end.
#' * Launches beyond the plan are taken for having been added one at a time (sets of launches: a set at a time), after
#'   the answer so far had been seen. Look number L uses alpha / L^2: all looks together, however many, spend at most
#'   1.64 alpha, and as they share their launches about alpha. A schedule that was made after the launches of
#'   another had ended counts as one look more.
#'
#' The tests of single launches are not concerned: nothing is added to a launch.
#'
#' A schedule may plan a look after each of its launches (`looks`), and the campaign then ends when one of them decides. Each look has an
#' equal part of alpha, of single launches too: whatever the looks have in common, all of them spend at most alpha.
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param alpha One-sided level of all looks together, length 1.
#' @return A list: `looks` (number of this look; NA where no schedule says what was planned), `planned`, `present`
#'   (numbers of launches), `share` (of the planned ones; 1 at most), `alpha` (one-sided level of this look's tests over
#'   launches), `for_all` (is it that of single launches, too?), `note` (character: none where it is the one look that was planned).
#' @references O'Brien, P. C. and Fleming, T. R. (1979) Biometrics 35, 549-556. Lan, K. K. G. and DeMets, D. L. (1983)
#'   Biometrika 70, 659-663.
#' @noRd
campaign_looks <- function(campaign, alpha = 0.01) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  check_probability(alpha, "alpha")
  progress <- campaign$progress
  result <- function(looks, planned, present, share, spent, note = character(), for_all = FALSE) {
    list(looks = looks, planned = planned, present = present, share = share, alpha = spent, for_all = for_all, note = note)
  }
  n <- length(campaign$launches)
  if (NROW(progress) == 0) return(result(NA_real_, NA_real_, n, NA_real_, alpha))
  planned <- sum(progress$planned)
  present <- sum(progress$complete) + sum(progress$unplanned) + elsewhere(campaign, progress$dir)
  if (isTRUE(any(progress$looks > 1))) {
    parts <- max(present, sum(pmax(progress$looks, progress$planned, na.rm = TRUE)))
    return(result(present, parts, present, min(1, present / parts), alpha / parts, sprintf(
      "a look after each of %d launches was planned: tests use alpha %s, %g by their number, and this is look %d", parts,
      format_nominal(alpha / parts), alpha, present), TRUE))
  }
  added <- ceiling(max(0, present - planned) / launches_per_look(campaign))
  later <- later_schedules(campaign, progress)
  looks <- 1 + added + later
  share <- min(1, present / planned)
  # Without a complete launch there is nothing to look at, and what is there is judged as the smallest share.
  spent <- if (share < 1) spending_functions[["obrien-fleming"]]$spent(alpha, max(share, 1 / planned)) else alpha
  spent <- max(spent / looks^2, 1e-15)
  text <- c(
    if (looks > 1) sprintf(
      paste("look %g at this campaign: %d launches were planned, %d are there%s; each added one is taken for a look, and tests",
            "over launches use alpha %s (%g over %g^2)"),
      looks, planned, present, if (later > 0) sprintf(", in %d schedules made one after the other", later + 1) else "",
      format_nominal(spent), alpha, looks
    ),
    if (share < 1) sprintf(
      "interim look: %d of %d planned launches are there; tests over launches use alpha %s, what is spent of %g by then (O'Brien-Fleming)",
      present, planned, format_nominal(spent), alpha
    )
  )
  result(looks, planned, present, share, spent, as.character(text))
}

# Launches that lie in no directory with a schedule.
elsewhere <- function(campaign, scheduled) {
  sum(!dirname(normalizePath(campaign$paths, mustWork = FALSE)) %in% normalizePath(scheduled, mustWork = FALSE))
}

# One launch can be added at a time; where each has one arm, a set of them.
launches_per_look <- function(campaign) {
  if (!one_arm_launches(campaign$rows) || !in_sets(campaign)) return(1)
  max(1, round(mean(table(vapply(campaign$launches, set_of, 0)))))
}

# Schedules that were made when all launches of the earlier ones had ended, of an operation and size that they have.
later_schedules <- function(campaign, progress) {
  if (nrow(progress) < 2 || anyNA(progress$created_utc)) return(0)
  progress <- progress[order(progress$created_utc), ]
  home <- match(dirname(normalizePath(campaign$paths, mustWork = FALSE)), normalizePath(progress$dir, mustWork = FALSE))
  ended <- vapply(campaign$launches, function(info) info$ended_utc %||% NA_character_, "")
  rows <- campaign$rows
  cells <- unique(data.frame(home = home[match(as.character(rows[["launch"]]), names(campaign$launches))],
                             cell = paste(rows[["operation"]], rows[["bytes"]])))
  sum(vapply(seq_len(nrow(progress))[-1], function(i) {
    before <- ended[home %in% seq_len(i - 1)]
    shared <- intersect(cells$cell[cells$home %in% i], cells$cell[cells$home %in% seq_len(i - 1)])
    length(before) > 0 && length(shared) > 0 && !anyNA(before) && all(before < progress$created_utc[i])
  }, TRUE))
}

# Settings of the tests over launches.
look_settings <- function(looks, settings) {
  settings$alpha <- looks$alpha
  settings$conf <- 1 - 2 * looks$alpha
  settings
}
