# The analysis of a campaign: every cell, within each launch and across launches.

# With fewer launches than this an interval over launches is honest and useless (three: t = 7 at 98 %): the
# main answer is about the launches that were run.
launches_for_more <- 5

#' Analyze a campaign
#'
#' Per operation, size, treatment (kind, pattern, placement, phase), level and channel: effect with
#' confidence interval, one-sided test (on slower or more than off), detection limit and verdict. Within a
#' launch the randomised order of the halves supports an exact test for *that* launch (scope "this launch").
#' Where the design gives every on half the same whole number of bursts, the typical shift is tested, by
#' signed ranks (see `rank_inference()`); elsewhere the mean, by sign flips (see
#' `randomisation_inference()`). With two launches or more the pairs of all together are about "these
#' launches"; with the launch as the unit (Student's test on launch summaries, or Welch's when each launch
#' has one arm only) the answer is about "launches like these".
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param alpha One-sided level of the tests, length 1; intervals have confidence 1 - 2 alpha.
#' @param power Power at the detection limit, length 1.
#' @param channels Character: names of channels (`noiselab analyze --help`); NULL for all but those that
#' want to be
#'   asked for.
#' @param margin Slowdown in percent, length 1, that verdicts of the channel `time` are to be judged
#' against, see
#'   `margin_verdict()`; NULL: none.
#' @param mixed Logical, length 1: judge launches together although they differ in MPI library, kernel or
#' version.
#' @return An object of class `nl_analysis`, a list:
#'   * `verdicts`: data frame, one row per scope x launch x operation x bytes x treatment x channel x level:
#'     `kind`, `pattern`, `placement`, `phase` (the treatment), `level_requested_percent` (`Inf`: a
#'     treatment from outside
#'     has no level; JSON and CSV have nothing there),
#'     `level_delivered_percent` (CPU time of the generator in the on halves over their wall time and the
#'     CPUs it loads,
#'     percent of one CPU), `delivered_ratio` (that over the requested level),
#'     `delivered_note`, `n_pairs`, `n_launches`, `estimate`, `ci_low`, `ci_high` (each end a one-sided
#'     bound of
#'     confidence 1 - alpha, as the test has it), `estimator`, `estimator_note` (what the verdict rests on,
#'     and why),
#'     `mean`, `mean_low`, `mean_high` (what a user pays), `adjusted_mean`, `adjusted_low`, `adjusted_high`
#'     (of `time` and `preempted`, less
#'     what `adjusted_for` names; NA where that was not declared or is withheld, see `adjusted_note`),
#'     `detection_limit` (all
#'     in `unit`), `z`, `p_one_sided`, `test`, `test_kind` (`sign_flip`, `signed_rank`, `t`, `welch`),
#'     `unit_of_inference` (`pair`, `launch` or `set of launches`), `heterogeneity_p` (of the launches,
#'     Cochran's Q),
#'     `stepdown`, `familywise` (logical: detected with the chance of any false detection over all
#'     operations, sizes,
#'     treatments and channels of the scope at alpha), `verdict` (`detected`, `not detected`, `inconclusive`),
#'     `verdict_because` (`test`, `higher_level_failed`, `no_test`, `refused`), `reason` (why there is no
#'     test, or no
#'     verdict, else NA), `margin_verdict`, `margin_of` (`mean` or `adjusted mean`), `margin_estimate`,
#'     `margin_low`,
#'     `margin_high` (what the margin is judged by), `margin_needs_s` (where that is inconclusive: measured
#'     seconds that
#'     would decide it with probability `power`, if the effect is as estimated), `main` (logical: of the
#'     main answer),
#'     `se_effect` (in `unit`);
#'   * `thresholds`: see `thresholds()`;
#'   * `amplification`: slowdown over preempted share per level, with Fieller's interval;
#'   * `treatments`: data frame, one row per treatment: `kind`, `pattern`, `placement`, `phase`;
#'   * `margin_answer` (with a margin, else NULL): a list of `answer` (`pass`, `fail`, `inconclusive`) and
#'     `reason`;
#'   * `looks`: how often this campaign may have been looked at, and what that leaves of alpha, see
#'     `campaign_looks()`;
#'   * `notes` (character), `alpha`, `power`, `margin`, `campaign`, `pairs` (see `pair_rows()`),
#'     `differences` (list by channel: on minus off of each pair on the scale of its test, in the order of
#'     `pairs`).
#' @references Khudoleeva, A. and Stefanov, K. (2021) doi:10.14529/cmse210105. Kalibera, T. and
#'   Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM (the launch as the unit).
#' @examples
#' \dontrun{
#' analysis <- analyze_campaign(read_campaign("campaign"))
#' subset(analysis$verdicts, channel == "time")[, c("level_requested_percent", "verdict")]
#' }
#' @export
analyze_campaign <- function(campaign, alpha = 0.01, power = 0.95, channels = NULL, margin = NULL,
                             mixed = FALSE) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign),
                 "the result of read_campaign()")
  check_probability(alpha, "alpha")
  check_probability(power, "power")
  check_argument(is.null(margin) || is_number(margin) && margin >= 0, "margin", margin,
                 "one number of at least 0")
  wanted <- check_channels(channels)
  check_argument(alpha < 0.5, "alpha", alpha, "one number below 0.5")
  looks <- campaign_looks(campaign, alpha)
  if (looks$for_all) alpha <- looks$alpha
  settings <- list(alpha = alpha, power = power, conf = 1 - 2 * alpha, is_sequential = FALSE)
  pairs <- pair_rows(campaign$rows)
  unpaired <- length(pairs$off) == 0
  if (unpaired && !one_arm_launches(campaign$rows)) {
    abort_data("no complete pair in ", paste(campaign$dirs, collapse = " "), " (", pairs$n_unpaired,
               " rows without a partner): let the run go on for longer")
  }
  measured <- measure_pairs(campaign, pairs, wanted)
  within <- if (unpaired) {
    list()
  } else {
    analyze_cells(measured, campaign, settings)
  }
  over_launches <- with_alpha(settings, looks$alpha)
  pooled <- if (unpaired || length(campaign$launches) < 2) {
    list()
  } else {
    analyze_pooled(measured, within, campaign, over_launches)
  }
  across <- if (!unpaired) {
    across_verdicts(within, over_launches)
  } else if (in_sets(campaign)) {
    set_verdicts(campaign, wanted, over_launches)
  } else {
    unpaired_verdicts(campaign, wanted, over_launches)
  }
  rows <- c(within$verdicts, pooled$verdicts, across$verdicts)
  if (length(rows) == 0) {
    abort_data("no launch-level verdict: fewer than 2 launches of the same operation, size and level")
  }
  rows <- refuse_conditions(bind_rows(rows), campaign, mixed)
  verdicts <- decide_all(rows, margin)
  verdicts$margin_needs_s <- margin_needs(verdicts, campaign, margin, power)
  analysis <- list(
    verdicts = verdicts,
    thresholds = mark_main(thresholds(verdicts, alpha)),
    amplification = mark_main(in_reading_order(bind_rows(c(within$amplification, pooled$amplification,
                                                           across$amplification)))),
    treatments = treatment_table(campaign),
    notes = c(if (looks$for_all || any(verdicts$scope %in% scopes_across)) looks$note,
              analysis_notes(campaign, pairs, measured, verdicts, alpha, unpaired)),
    looks = looks[c("looks", "planned", "present", "alpha")],
    margin_answer = if (!is.null(margin)) margin_answer_of(verdicts, margin),
    alpha = alpha,
    power = power,
    margin = margin,
    campaign = campaign,
    pairs = pairs,
    differences = measured$differences
  )
  structure(analysis, class = "nl_analysis")
}

# Number of generators of each row's launch: said at its start, so a killed launch has it, too. Without any,
# the agents count, one per treated node.
row_generators <- function(campaign) {
  rows <- campaign$rows
  counts <- vapply(names(campaign$launches), function(id) {
    info <- campaign$launches[[id]]
    generators <- as.numeric(info$n_generators %||% length(info$generators))
    max(1, if (generators > 0) generators else info$n_agents %||% length(info$agents))
  }, 0)
  if (length(counts) == 1) return(unname(counts))
  unname(counts[match(rows[["launch"]], names(counts))])
}

# Of each row, on the scale of the test; NULL where it was not measured.
channel_values <- function(rows, n_generators, channel) {
  if (any(vapply(channel$columns, function(column) all(is.na(rows[[column]] %||% NA)), TRUE))) return(NULL)
  value <- channel$value(rows, n_generators)
  if (all(is.na(value))) NULL else if (channel$transform == "log_ratio") log_or_na(value) else value
}

# Per channel the differences of all pairs, on the scale of its test; and which pairs form a cell.
measure_pairs <- function(campaign, pairs, wanted) {
  rows <- campaign$rows
  n_generators <- row_generators(campaign)
  absent <- character()
  differences <- resolution <- list()
  for (name in wanted) {
    if (is.null(channels[[name]]$value)) next
    value <- channel_values(rows, n_generators, channels[[name]])
    if (is.null(value)) {
      absent <- c(absent, paste0("channel ", name, ": not measured"))
      next
    }
    differences[[name]] <- value[pairs$on] - value[pairs$off]
    # A time that is counted in ns cannot tell less than 1 ns of a half from nothing.
    resolution[[name]] <- if (isTRUE(channels[[name]]$zero_is_known)) {
      100 / stats::median(rows[["wall_ns"]])
    } else {
      0
    }
  }
  at <- pairs$on
  members <- unname(split(seq_along(pairs$cell), pairs$cell))
  list(
    differences = differences,
    resolution = resolution,
    absent = absent,
    on = at,
    locked = "locked" %in% wanted,
    cells = pairs$cells,
    members = members,
    lost = if (length(at) > 0) {
      list(time = lost_time(campaign, pairs), preempted = lost_to_others(campaign, pairs, n_generators))
    },
    level_delivered = rows[["level_delivered_percent"]][at],
    bursts = rows[["bursts"]][at],
    due = rows[["bursts_due"]][at],
    wall_ns = rows[["wall_ns"]][at]
  )
}

analyze_cells <- function(measured, campaign, settings) {
  # A fork costs more than the cells of a small campaign.
  each <- if (sum(lengths(measured$members)) > 1e5) in_processes else lapply
  reader <- slices_reader()
  results <- each(seq_along(measured$members), function(i) {
    cell <- measured$cells[i, ]
    # A launch that was looked at while it ran has spent part of its alpha before it ended.
    launch_settings <- sequential_settings(campaign$launches[[cell$launch]], settings)
    label <- cell_label(cell, scope_launch)
    locked <- if (measured$locked) {
      locked_verdict(campaign, label, measured$on[measured$members[[i]]], launch_settings, reader)
    }
    analyze_cell(measured, label, measured$members[[i]], 1, launch_settings, locked)
  })
  parts_of(results)
}

cell_label <- function(cell, scope) {
  c(list(scope = scope), cell[c(setdiff(label_columns, "scope"), "level_requested_percent")])
}

parts_of <- function(results) {
  list(verdicts = unlist(lapply(results, `[[`, "verdicts"), recursive = FALSE),
       amplification = unname(lapply(results, `[[`, "amplification")))
}

# The pairs of all launches together. The order within every pair was drawn, so the test is as exact as
# within one launch; it is about the launches that were run, whatever others would show.
analyze_pooled <- function(measured, within, campaign, settings) {
  cells <- measured$cells
  by <- intersect(c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent"),
                  names(cells))
  key <- row_key(cells, by)
  groups <- Filter(function(at) length(unique(cells$launch[at])) > 1,
                   split(seq_len(nrow(cells)), in_order(key)))
  alone <- bind_rows(within$verdicts)
  own_key <- row_key(alone, by)
  results <- lapply(groups, function(at) {
    first <- cells[at[1], ]
    first$launch <- NA_character_
    label <- cell_label(first, scope_these)
    alphas <- vapply(cells$launch[at],
                     function(id) sequential_settings(campaign$launches[[id]], settings)$alpha, 0)
    pooled <- settings
    pooled$alpha <- min(alphas)
    locked <- locked_pooled_verdict(alone[own_key == key[at[1]] & alone$channel == "locked", ], label, pooled)
    got <- analyze_cell(measured, label, unlist(measured$members[at]), length(unique(cells$launch[at])),
                        pooled, locked)
    got$verdicts <- lapply(got$verdicts, function(row) {
      mine <- alone[own_key == key[at[1]] & alone$channel == row$channel, ]
      row$heterogeneity_p <- heterogeneity(mine$raw_estimate, mine$raw_full_se)
      row
    })
    got
  })
  parts_of(results)
}

# `locked`: the verdict by bursts, NULL: none.
analyze_cell <- function(measured, label, members, n_launches, settings, locked = NULL) {
  label$level_delivered_percent <- delivered_percent(measured$level_delivered[members],
                                                     measured$wall_ns[members])
  label$delivered_ratio <- delivered_ratio(label$level_delivered_percent, label$level_requested_percent)
  verdicts <- lapply(names(measured$differences), function(name) {
    d <- measured$differences[[name]][members]
    at <- members[is.finite(d)]
    cell <- list(d = measured$differences[[name]][at], bursts = measured$bursts[at], due = measured$due[at],
                 delivered = measured$level_delivered[at], resolution = measured$resolution[[name]],
                 lost = lost_of_pairs(measured$lost[[name]], at))
    launch_verdict(label, name, cell, n_launches, settings)
  })
  list(verdicts = c(verdicts, if (!is.null(locked)) list(locked)),
       amplification = cell_amplification(measured, label, members, n_launches, settings))
}

sequential_settings <- function(info, settings) {
  settings$is_sequential <- !is.null(info$sequential)
  alpha <- launch_alpha(info, settings$alpha)
  # How far the launch got is unknown: next to nothing of alpha can be counted on. An early look spends less
  # than a double can tell from nothing.
  with_alpha(settings, if (is.na(alpha)) 1e-9 else max(alpha, 1e-15))
}

with_alpha <- function(settings, alpha) utils::modifyList(settings, list(alpha = alpha, conf = 1 - 2 * alpha))

# Which estimate a verdict rests on follows from the design alone, never from what came out. `cell`: of the
# pairs that have a value `d`, `bursts`, `due` and `delivered` (level) of their on halves, `lost` (see
# lost_time()), and `resolution`.
launch_verdict <- function(label, name, cell, n_launches, settings) {
  channel <- channels[[name]]
  n <- length(cell$d)
  # At an early look few pairs face an alpha that ranks cannot reach: the detector's own rule, Student's t,
  # decides there.
  early <- settings$is_sequential && settings$alpha < few_flips / (n_flips + 1)
  typical <- channel$typical && typical_design(label) && !early
  by_ranks <- typical || channel$test == "signed_rank"
  dosed <- rep(TRUE, n)
  if (by_ranks) {
    dosed <- dosed_pairs(cell$due, label$level_requested_percent)
    # Too few dosed pairs for any test: all pairs then give a verdict with its (large) limit.
    if (sum(dosed) < pairs_needed(settings$alpha)) dosed[] <- TRUE
  }
  tested <- cell$d[dosed]
  means <- mean_inference(channel, cell$d, typical, settings)
  est <- if (typical) typical_shift(tested, dosed, cell, label, settings) else if (by_ranks) {
    mean_beside_ranks(means, tested, dosed, cell, settings)
  } else c(means, list(estimator = "mean", why = if (name == "time") mean_why(label, early) else ""))
  # Nothing at all happened in any half: that is known to the resolution of the account.
  if (isTRUE(channel$zero_is_known) && n > 0 && all(cell$d == 0)) est$limit <- cell$resolution
  est$mean <- means
  est$adjusted <- adjusted_mean(cell, settings)
  # Where a 0 is no coarse clock's, not to differ is an answer.
  informative <- if (!by_ranks || isTRUE(channel$zero_is_known)) tested else tested[tested != 0]
  needed <- if (identical(est$method, "t on batch means")) 2 else pairs_needed(settings$alpha)
  reason <- cell_reason(label, channel, tested, length(informative), settings$alpha, needed)
  verdict_row(label, name, n, length(tested), n_launches, est, reason, settings, "pair", cell$d)
}

# Does the design give every on half, or every one that bursts are due in, the same whole number of bursts?
# Then the typical half is shifted as much as the mean one, and the pseudo-median stands for both.
typical_design <- function(label) {
  identical(as.character(label$design), "lockin") && has_level(label$level_requested_percent) &&
    !varying_bursts(label$pattern %||% "periodic")
}

mean_why <- function(label, early) {
  if (early) return("mean: the rule by which the run ended at an early look")
  if (!identical(as.character(label$design), "lockin")) return("mean: blocks are too few for ranks")
  if (!has_level(label$level_requested_percent)) {
    return("mean: what the treatment does varies from half to half")
  }
  sprintf("mean: in pattern %s the number of bursts varies from half to half", label$pattern)
}

# The mean with its interval. Where it is the tested estimate, or the one that a margin is judged by, by
# inversion of the sign-flip test, and with its limit where it is tested; else Student's on batch means.
mean_inference <- function(channel, d, typical, settings) {
  if (typical && channel$name != "time") return(batch_mean_ci(d, settings$conf))
  if (settings$is_sequential && settings$alpha < few_flips / (n_flips + 1)) {
    # The detector decides at its looks by Student's t, which also few pairs can reach.
    return(student_inference(batch_mean_ci(d, settings$conf), length(d), settings$alpha, settings$power))
  }
  randomisation_inference(d, settings$alpha, settings$power, with_limit = !typical && channel$test == "mean")
}

# The pseudo-median of the dosed pairs, scaled to the mean load of all.
typical_shift <- function(tested, dosed, cell, label, settings) {
  share <- if (all(dosed)) 1 else dosed_share(cell$delivered, dosed)
  got <- rank_inference(tested, settings$alpha, settings$power, cell$resolution)
  for (name in c("estimate", "low", "high", "se", "limit")) got[[name]] <- got[[name]] * share
  c(
    got,
    list(
      estimator = "pseudo-median",
      why = paste0(
        "typical half: by design every on half holds the same load",
        if (!all(dosed)) {
          sprintf(", where one is due (in %.3g %% of the pairs; scaled to the mean load)", 100 * mean(dosed))
        },
        bursts_remark(cell$bursts[dosed], label$level_requested_percent)
      )
    )
  )
}

# What came of the design's bursts, said and no more.
bursts_remark <- function(bursts, level) {
  if (level == 0 || length(bursts) == 0 || anyNA(bursts)) return("")
  agree <- max(tabulate(match(bursts, unique(bursts)))) / length(bursts)
  if (agree >= 0.95) "" else sprintf("; %.0f %% of them did", 100 * agree)
}

# A heavy-tailed background under bursts that vary from half to half: ranks decide whether there is an
# effect, and the mean says how large it is, because the typical half holds less than the mean one. Load
# takes, it does not give: where ranks find it, the interval of the mean ends above 0.
mean_beside_ranks <- function(means, tested, dosed, cell, settings) {
  ranks <- rank_inference(tested, settings$alpha, settings$power, cell$resolution)
  est <- means
  est[c("p", "z", "method")] <- ranks[c("p", "z", "method")]
  if (isTRUE(ranks$p <= settings$alpha) && isTRUE(means$estimate > 0) && isTRUE(est$low <= 0)) {
    est$low <- min(means$estimate, max(cell$resolution, 1e-9))
  }
  share <- if (all(dosed)) 1 else dosed_share(cell$delivered, dosed)
  c(
    est[setdiff(names(est), "limit")],
    list(limit = share * ranks$limit, estimator = "mean",
         why = "mean, found by ranks: the number of bursts varies from half to half")
  )
}

cell_reason <- function(label, channel, d, n, alpha, needed = pairs_needed(alpha)) {
  if (length(d) == 0) return("no pair has a value")
  if (identical(label$design, "single")) return("one loop per arm")
  if (length(d) >= needed && min(d) == max(d) && !(d[1] == 0 && isTRUE(channel$zero_is_known))) {
    return("all differences are equal, their scatter is unknown")
  }
  if (n < needed) {
    return(sprintf("%d informative pair%s, a test at alpha %g needs %d", n, if (n == 1) "" else "s", alpha,
                   needed))
  }
  NA_character_
}

cell_amplification <- function(measured, label, members, n_launches, settings) {
  if (is.null(measured$differences$time) || is.null(measured$differences$preempted)) return(NULL)
  slow <- measured$differences$time[members]
  taken <- measured$differences$preempted[members]
  typical <- typical_design(label)
  dosed <- !typical | dosed_pairs(measured$due[members], label$level_requested_percent)
  at <- which(dosed & is.finite(slow) & is.finite(taken))
  both <- list(slow = slow[at], taken = taken[at])
  if (typical) both <- lapply(both, shift_values)
  slow <- slowdown_parts(both$slow)
  ratio <- if (label$level_requested_percent == 0) {
    no_ratio("no load at level 0")
  } else {
    fieller_ratio(slow, both$taken, settings$conf)
  }
  ratio_row(label, ratio, length(members), n_launches)
}

# Values whose mean is the pseudo-median of the differences and whose scatter is that of its estimate: to
# first order a pseudo-median is its value plus a mean of signed ranks.
shift_values <- function(d) {
  got <- pseudo_median(d)
  score <- sign(d - got$estimate) * data.table::frank(abs(d - got$estimate), ties.method = "average")
  score <- score - mean(score)
  spread <- stats::sd(score)
  if (!isTRUE(spread > 0) || is.na(got$se)) return(rep(got$estimate, length(d)))
  got$estimate + score * got$se * sqrt(length(d)) / spread
}

# Log ratios in percent, scaled so that their mean is the slowdown of the `time` row: the mean of the ratios
# themselves would be larger by half their variance.
slowdown_parts <- function(log_ratio) {
  centre <- mean(log_ratio)
  100 * log_ratio * if (isTRUE(centre != 0)) expm1(centre) / centre else 1
}

ratio_row <- function(label, ratio, n_pairs, n_launches) {
  c(
    label[intersect(c(label_columns, dose_columns), names(label))],
    list(n_pairs = n_pairs, n_launches = n_launches, amplification = ratio$estimate, ci_low = ratio$low,
         ci_high = ratio$high, reason = ratio$reason)
  )
}

in_reading_order <- function(rows) {
  if (nrow(rows) == 0) return(rows)
  channel <- if (is.null(rows$channel)) rep(0, nrow(rows)) else match(rows$channel, names(channels))
  treatment <- unname(as.list(rows[intersect(treatment_columns, names(rows))]))
  rows <- rows[
    do.call(
      order,
      c(
        list(match(rows$scope, c(scope_these, scope_campaign, scope_launch)), rows$launch, rows$operation,
             rows$bytes),
        treatment,
        list(channel, rows$level_requested_percent)
      )
    ),
  ]
  rownames(rows) <- NULL
  rows
}

decide_all <- function(rows, margin) {
  rows <- margin_interval(rows, margin)
  families <- split_families(in_reading_order(rows))
  verdicts <- bind_rows(lapply(families, function(family) decide_family(family, family$alpha[1])))
  verdicts$familywise <- familywise(verdicts)
  verdicts$margin_verdict <- NA_character_
  if (!is.null(margin)) {
    at <- which(verdicts$channel == "time" & verdicts$level_requested_percent > 0)
    judged <- margin_verdict(verdicts$margin_low[at], verdicts$margin_high[at], margin)
    verdicts$margin_verdict[at] <- ifelse(is.na(verdicts$reason[at]), judged, "inconclusive")
  }
  mark_main(verdicts)
}

# Which levels are detected with the error over all families of the scope at alpha. The placebo and the
# controls are no families: nobody claims an effect of theirs.
familywise <- function(verdicts) {
  found <- rep(NA, nrow(verdicts))
  control <- vapply(channels[verdicts$channel], `[[`, TRUE, "control")
  tested <- which(verdicts$level_requested_percent > 0 & !control)
  scope <- paste(verdicts$scope, verdicts$launch)
  for (one in split(tested, in_order(scope[tested]))) {
    families <- split_families(cbind(
      verdicts[one, c(family_columns(verdicts), "level_requested_percent", "p_one_sided")], at = one
    ))
    families <- lapply(families, function(rows) rows[order(-rows$level_requested_percent), ])
    # A launch that was looked at while it ran has another alpha than its neighbours.
    detected <- step_down_families(lapply(families, `[[`, "p_one_sided"), min(verdicts$alpha[one]))
    for (i in seq_along(families)) found[families[[i]]$at] <- detected[[i]]
  }
  found
}

# ---- across launches ---------------------------------------------------------------------------

# Groups of one operation, size, treatment and level (and channel) that occur in two launches or more.
groups_across <- function(rows, columns) {
  unname(Filter(function(group) length(unique(group$launch)) > 1,
                split(rows, in_order(row_key(rows, columns)))))
}

across_label <- function(group) {
  c(list(scope = scope_campaign, launch = NA_character_, design = group$design[1],
         operation = group$operation[1], bytes = group$bytes[1],
         ranks = if (length(unique(group$ranks)) == 1) group$ranks[1] else NA_real_),
    as.list(group[1, intersect(treatment_columns, names(group)), drop = FALSE]),
    list(level_requested_percent = group$level_requested_percent[1],
         level_delivered_percent = mean_or_na(group$level_delivered_percent),
         delivered_ratio = mean_or_na(group$delivered_ratio)))
}

across_verdicts <- function(within, settings) {
  by <- c("operation", "bytes", "ranks", "design", treatment_columns, "level_requested_percent")
  verdicts <- lapply(groups_across(bind_rows(within$verdicts), c(by, "channel")), function(group) {
    across_verdict(group, settings)
  })
  parts <- Filter(Negate(is.null), within$amplification)
  list(
    verdicts = verdicts,
    amplification = if (length(parts) > 0) {
      lapply(groups_across(bind_rows(parts), by), across_ratio, settings)
    }
  )
}

# The launch is the unit: one summary per launch, of the estimate that its verdict rests on.
across_verdict <- function(group, settings) {
  name <- group$channel[1]
  robust <- all(group$estimator == "pseudo-median")
  x <- group$raw_estimate[is.finite(group$raw_estimate)]
  est <- launches_inference(x, settings)
  est$estimator <- if (robust) "mean of launch pseudo-medians" else "mean of launch means"
  est$why <- ""
  mean_values <- group$raw_mean[is.finite(group$raw_mean)]
  est$mean <- batch_mean_ci(mean_values, settings$conf, groups = Inf)
  reason <- if (length(x) < 2) "fewer than 2 launches have a value" else if (min(x) == max(x)) {
    "all launches agree exactly, their scatter is unknown"
  } else NA_character_
  row <- verdict_row(across_label(group), name, sum(group$n_pairs), length(x), length(x), est, reason,
                     settings, "launch", mean_values)
  row$heterogeneity_p <- heterogeneity(group$raw_estimate, group$raw_full_se)
  row
}

# Student's test and interval on one value per launch or set.
launches_inference <- function(x, settings, method = "t on launch summaries") {
  means <- batch_mean_ci(x, settings$conf, groups = Inf)
  t <- if (isTRUE(means$se > 0)) means$estimate / means$se else NA_real_
  c(means, list(p = max(1e-300, stats::pt(t, means$df, lower.tail = FALSE)), z = t, method = method))
}

across_ratio <- function(group, settings) {
  x <- group$amplification[!is.na(group$amplification)]
  means <- if (length(x) < 2) no_ratio(group$reason[!is.na(group$reason)][1]) else {
    c(batch_mean_ci(x, settings$conf, groups = Inf), reason = NA_character_)
  }
  if (length(x) < 2 && is.na(means$reason)) means$reason <- "fewer than 2 launches have a value"
  ratio_row(across_label(group), means, sum(group$n_pairs), length(x))
}

# ---- unpaired launches: each has one arm (the published design) --------------------------------

unpaired_verdicts <- function(campaign, wanted, settings) {
  means <- launch_means(campaign, wanted)
  by <- c("operation", "bytes", "ranks", treatment_columns, "channel", "level_requested_percent")
  on <- means[means$arm == "on", ]
  verdicts <- lapply(split(on, in_order(row_key(on, by))), function(group) {
    off <- means[
      means$arm == "off" & means$operation == group$operation[1] & means$bytes == group$bytes[1] &
        means$ranks == group$ranks[1] & means$channel == group$channel[1],
    ]
    welch_verdict(group, off, settings)
  })
  list(verdicts = unname(verdicts))
}

# One mean per launch, operation, treatment, level and channel, on the scale of the test.
launch_means <- function(campaign, wanted) {
  rows <- campaign$rows
  n_generators <- row_generators(campaign)
  key <- combine_keys(cell_key(rows), rows[["level_requested_percent"]], rows[["arm"]], treatment_code(rows))
  first <- which(!duplicated(key))
  columns <- c("launch", "design", "operation", "bytes", "ranks", "arm", "level_requested_percent")
  frame <- as.data.frame(c(lapply(stats::setNames(columns, columns), function(n) rows[[n]][first]),
                           treatment_of(rows, first)))
  average <- function(x) as.numeric(tapply(x, factor(key, unique(key)), mean))
  groups <- unname(split(seq_along(key), factor(key, unique(key))))
  frame$level_delivered_percent <- vapply(
    groups, function(at) delivered_percent(rows[["level_delivered_percent"]][at], rows[["wall_ns"]][at]), 0
  )
  frame$delivered_ratio <- mapply(delivered_ratio, frame$level_delivered_percent,
                                  frame$level_requested_percent)
  parts <- lapply(wanted, function(name) {
    value <- if (!is.null(channels[[name]]$value)) channel_values(rows, n_generators, channels[[name]])
    if (!is.null(value)) cbind(frame, channel = name, value = average(value))
  })
  bind_rows(parts)
}

# Welch's test from means, standard deviations and sizes of the clean (0) and the noisy (1) sample:
# `difference`, `se`, `t`, `df`, `p_one_sided` (noisy above clean), `p_two_sided`. Welch, B. L. (1947)
# Biometrika 34, 28-35.
welch_test <- function(mean0, sd0, n0, mean1, sd1, n1) {
  v0 <- sd0^2 / n0
  v1 <- sd1^2 / n1
  se <- sqrt(v0 + v1)
  df <- se^4 / (v0^2 / (n0 - 1) + v1^2 / (n1 - 1))
  t <- (mean1 - mean0) / se
  list(difference = mean1 - mean0, se = se, t = t, df = df,
       p_one_sided = stats::pt(t, df, lower.tail = FALSE),
       p_two_sided = 2 * stats::pt(abs(t), df, lower.tail = FALSE))
}

welch_verdict <- function(on, off, settings) {
  name <- on$channel[1]
  x <- on$value[is.finite(on$value)]
  y <- off$value[is.finite(off$value)]
  enough <- length(x) > 1 && length(y) > 1
  w <- if (enough) welch_test(mean(y), stats::sd(y), length(y), mean(x), stats::sd(x), length(x))
  se <- if (enough && w$se > 0) w$se else NA_real_
  reach <- if (is.na(se)) NA_real_ else stats::qt(1 - settings$alpha, w$df) * se
  difference <- if (length(x) > 0 && length(y) > 0) mean(x) - mean(y) else NA_real_
  means <- list(estimate = difference, low = difference - reach, high = difference + reach, se = se,
                df = if (is.na(se)) NA_real_ else w$df)
  est <- c(means, list(estimator = "difference of launch means", why = "", mean = means,
                       own_se = stats::sd(x) / sqrt(length(x)), own_df = length(x) - 1, own_n = length(x),
                       p = if (is.na(se)) NA_real_ else max(1e-300, w$p_one_sided),
                       z = if (is.na(se)) NA_real_ else w$t, method = "Welch on launch means"))
  reason <- if (!enough) {
    sprintf("%d clean and %d noisy launches, Welch's test needs 2 of each", length(y), length(x))
  } else if (is.na(se)) "all launches agree exactly, their scatter is unknown" else NA_character_
  verdict_row(across_label(on), name, 0, length(x) + length(y), length(x) + length(y), est, reason, settings,
              "launch", x)
}

# ---- notes -------------------------------------------------------------------------------------

# Launches are pooled by operation, size, ranks, design, treatment and level; what else differs is said.
unlike_launches <- function(campaign) {
  told <- function(key) {
    # What a launch has not (the period of a load, in a clean launch) it has no other value of.
    known <- Filter(function(info) !is.null(info$options[[key]]), campaign$launches)
    values <- vapply(known, function(info) {
      printable(paste(format(unlist(info$options[[key]])), collapse = " "))
    }, "")
    if (length(unique(values)) > 1) {
      sprintf("UNLIKE LAUNCHES: %s differs (%s): \"launches like these\" mixes them", key,
              paste(unique(values), collapse = ", "))
    }
  }
  c(unlist(lapply(c("period_ns", "half_period_ns", "block_ns", "noise_nodes", "generator_options"), told)),
    unlike_starts(campaign))
}

# A loop pipelines operations, a synchronised start does not: their times are different things.
unlike_starts <- function(campaign) {
  modes <- unique(vapply(campaign$launches, start_mode, ""))
  if (length(modes) < 2) return(NULL)
  sprintf("UNLIKE LAUNCHES: operations were started by %s: \"launches like these\" mixes them",
          join_words(modes))
}

analysis_notes <- function(campaign, pairs, measured, verdicts, alpha, unpaired) {
  other_alpha <- unlist(lapply(campaign$launches, function(info) sequential_notes(info, alpha)[-1]),
                        use.names = FALSE)
  notes <- c(campaign$notes, other_alpha, measured$absent, unlike_launches(campaign))
  if (unpaired) {
    notes <- c(notes, if (in_sets(campaign)) {
      "every launch has one arm only: each is compared with the off launch of its set (paired)"
    } else "every launch has one arm only: launches are compared unpaired (Welch)")
  } else if (pairs$n_unpaired > 0) {
    notes <- c(notes, sprintf("%d row(s) without a partner (interrupted pairs) left out", pairs$n_unpaired))
  }
  lost <- vapply(measured$differences, function(d) sum(!is.finite(d)), 0)
  lost <- lost[lost > 0]
  notes <- c(notes, sprintf("channel %s: %d pair(s) have no value and are left out", names(lost), lost))
  # One placebo in a hundred is detected by chance, and there are many: the alarm is corrected for all.
  control <- vapply(channels[verdicts$channel], `[[`, TRUE, "control")
  placebo <- verdicts[verdicts$level_requested_percent == 0 & !is.na(verdicts$p_one_sided) & !control, ]
  placebo <- main_rows(placebo)
  placebo <- placebo[stats::p.adjust(placebo$p_one_sided, "holm") <= alpha, ]
  factors <- varying_factors(verdicts)
  where <- function(rows) {
    label <- treatment_label(rows, factors)
    paste0(rows$operation, " ", format_count(rows$bytes), " B", ifelse(nzchar(label), ", ", ""), label)
  }
  loud <- sprintf(paste("PLACEBO DETECTED: %s, %s, %s: p = %s at level 0. The generator's mere",
                        "presence or a fault shows; distrust this channel's other verdicts"),
                  where(placebo), placebo$channel,
                  ifelse(is.na(placebo$launch), placebo$scope, placebo$launch),
                  format_p(placebo$p_one_sided))
  odd <- unique(verdicts[!is.na(verdicts$delivered_note) & verdicts$scope == scope_launch,
                         c("launch", "operation", "bytes", intersect(treatment_columns, names(verdicts)),
                           "delivered_note", "delivered_ratio")])
  off <- vapply(split(odd, in_order(odd$launch)), function(mine) {
    worst <- mine[which.max(abs(log(pmax(mine$delivered_ratio, 1e-9)))), ]
    sprintf("%s: over 5 %% off the load requested in %s, most in %s: %s", worst$launch,
            counted(nrow(mine), "cell"), where(worst), worst$delivered_note)
  }, "", USE.NAMES = FALSE)
  c(loud, notes, off)
}
