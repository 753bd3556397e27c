# How long an acceptance run must be, so that a healthy node passes: by a reference, and by a margin at scale.

# The shortest measuring time within `most_s` at which as many figures are decided as within `most_s`, all
# together with `healthy_power` by the reference's own scatter. `rows`: as `reference_power()` has them,
# with `total_s`: measuring time of all checks together from which the figure is decided.
accept_plan <- list(least_s = 36, most_s = 600, start_s = 5)

plan_acceptance <- function(reference, launches = NULL, margins = margins_in_use(), alpha = 0.01,
                            seconds = NULL) {
  known_good <- quiet_launches(reference)
  reference <- known_good$reference
  units <- known_good$units[is_learnt(known_good$units), ]
  if (NROW(units) == 0) abort_data("the reference has no figure that a run could be held against")
  parts <- split(units, in_order(paste(units$check, units$variant, units$metric, units$size, sep = "\r")))
  have <- check_seconds(reference)
  checks_s <- sum(have[names(have) != "others"])
  hosts <- length(reference$hosts)
  launches <- launches %||% min(3, hosts)
  days <- length(unique(substr(unlist(lapply(reference$launches, function(info) info$started_utc %||% "")), 1,
                               10)))
  n_figures <- nrow(unique(units[c(figure_key, "entity")]))
  at <- function(total_s) {
    design <- list(launches = launches, seconds = have * total_s / checks_s,
                   repetitions = check_repetitions(reference) * total_s / checks_s)
    reference_power(parts, design, alpha, margins, have, days, n_figures)
  }
  rows <- at(seconds %||% accept_plan$least_s)
  share <- have[rows$check] / checks_s
  rows$total_s <- ifelse(rows$may_fail & !is.na(rows$limit), rows$seconds / share, NA_real_)
  within <- is.finite(rows$total_s) & rows$total_s <= accept_plan$most_s
  # where no time decides the noise, no run passes, and a longer one is no help
  can_pass <- any(within & rows$metric %in% noise_metrics) && is.na(known_good$busy)
  total_s <- seconds %||% max(accept_plan$least_s, if (can_pass) rows$total_s[within])
  rows <- cbind(at(total_s), total_s = rows$total_s)
  rows$decides <- rows$decides & !is.na(rows$limit) & rows$may_fail
  noise <- rows$decides & rows$metric %in% noise_metrics & is.na(known_good$busy)
  list(
    rows = rows,
    measuring_s = total_s,
    launches = launches,
    takes_s = total_s + launches * accept_plan$start_s,
    busy = known_good$busy,
    notes = c(
      known_good$notes,
      if (!any(noise)) {
        paste0("none of its figures of noise is decided in this time: measure the reference in more ",
               "launches, or when the machine is quiet")
      }
    ),
    decides_noise = any(noise),
    dirs = reference$dirs,
    alpha = alpha
  )
}

# `at_scale`: what `plan_at_scale()` says, where somebody asked about many nodes.
accept_plan_view <- function(plan, at_scale = NULL, all = FALSE) {
  rows <- plan$rows[!is.na(plan$rows$limit), ]
  # of several sizes and variants the one that takes longest
  worst <- rows[order(rows$decides, -rows$total_s), ]
  worst <- worst[!duplicated(paste(worst$check, worst$metric)), ]
  worst <- worst[order(!worst$decides, match(worst$check, names(acceptance_checks))), ]
  if (all) worst <- rows
  when <- ifelse(
    is.na(worst$total_s),
    "never: one launch, or no scatter",
    ifelse(is.finite(worst$total_s),
           format_span(ifelse(is.finite(worst$total_s), pmax(worst$total_s, 1), 1), 2), "no time does")
  )
  name <- paste0(
    figure_quantity(worst),
    ifelse(is.na(worst$size), "", paste0(".", format_count_each(ifelse(is.na(worst$size), 0, worst$size))))
  )
  table <- new_table(
    figure = col_words("figure", cut_middle(name, 40), folds = FALSE),
    margin = col_words("margin", margin_text_each(worst$margin, worst$margin_unit)),
    needed = col_words("decides from", margin_text_each(worst$needed, worst$margin_unit)),
    time = col_words("margin decided in", when),
    looked = col_words("this run", ifelse(worst$decides, "decides", "not judged"))
  )
  by <- few_words(plan$dirs, 2)
  figures <- sprintf("%d of %d figures are decided", sum(plan$rows$decides), nrow(plan$rows))
  run <- sprintf("run of %s of measuring in %s (%s with its starts)", format_span(plan$measuring_s, 2),
                 counted(plan$launches, "launch", "launches"), format_span(plan$takes_s, 2))
  references <- paste(sprintf("--reference %s", vapply(plan$dirs, quote_word, "")), collapse = " ")
  new_view(
    c(
      if (!is.null(at_scale)) scale_plan_lines(at_scale, by),
      if (plan$decides_noise) {
        sprintf("A %s passes a healthy node with probability %g, by %s: %s.", run, healthy_power, by, figures)
      } else if (is.null(at_scale)) {
        sprintf("No run can pass by %s, because it decides nothing about noise. In a %s, %s.", by, run,
                figures)
      },
      if (plan$decides_noise) {
        sprintf("noiselab run acceptance --launches %d --seconds %.0fs %s", plan$launches,
                ceiling(plan$measuring_s), references)
      }
    ),
    table,
    "of each kind the figure that takes longest",
    plan$notes,
    0
  )
}

margin_text_each <- function(x, unit) mapply(margin_text, x, unit)

# ---- a margin at scale ---------------------------------------------------------------------------

# What is tried: measuring times, the longest first of those within `accept_plan$most_s`, and lengths of the
# longest burst that was not seen.
scale_plan <- list(lengths_s = c(36, 60, 120, 180, 300, 600, 1200, 1800, 3600),
                   unseen_s = c(1, 2, 5) * rep(10^(-6:-2), each = 3))

# How long a run must be so that the noisiest node of `acceptance` passes what was `asked` of many nodes with
# `healthy_power`, if a run finds what this campaign found. Gives `host`, `value`, `low` (of its cost,
# percent), `measuring_s` (NA: no time of `scale_plan` does), `unseen_s` (the longest burst that may go
# unseen, with which `measuring_s` is enough; NA: none does), `needed` (the margin in percent from which the
# longest planned run decides; NA: none), `blind` (why no run passes; NA: it can). `seconds`: only this
# measuring time.
plan_at_scale <- function(acceptance, asked, alpha = 0.01, seconds = NULL) {
  have <- check_seconds(acceptance)
  checks_s <- sum(have[names(have) != "others"])
  scans <- detour_scans(acceptance$paths)
  stated <- noise_at_scale(acceptance, scans, utils::modifyList(asked, list(percent = NA_real_)), alpha)
  if (NROW(stated) == 0 || !(checks_s > 0)) {
    abort_data("the campaign has no record of bursts, by which a margin of many nodes could be planned")
  }
  worst <- stated[order(-ifelse(is.na(stated$ci_high), Inf, stated$ci_high), -stated$value), ][1, ]
  noises <- node_noises(acceptance, scans, worst$host)
  n <- length(noises)
  own_sd <- vapply(noises, own_spread, 0, asked, alpha / n)
  needed <- function(total_s, unseen_s) {
    at <- utils::modifyList(asked, list(unseen_s = unseen_s))
    max(mapply(needed_margin, noises, own_sd = own_sd,
               MoreArgs = list(asked = at, alpha = alpha / n, times = total_s / checks_s,
                               power = 1 - (1 - healthy_power) / n)))
  }
  passes <- function(total_s, unseen_s = asked$unseen_s) needed(total_s, unseen_s) < asked$percent
  plan <- list(host = worst$host, value = worst$value, low = worst$ci_low, asked = asked,
               measuring_s = NA_real_, unseen_s = NA_real_, needed = NA_real_,
               blind = blind_at_scale(acceptance, noises, worst$host), longest_s = worst$longest_s,
               tried_s = seconds %||% max(scale_plan$lengths_s))
  if (!is.na(plan$blind)) return(plan)
  lengths_s <- seconds %||% scale_plan$lengths_s
  at <- first_that(lengths_s, passes)
  if (!is.na(at)) {
    plan[c("measuring_s", "unseen_s")] <- list(lengths_s[at], asked$unseen_s)
    return(plan)
  }
  lengths_s <- seconds %||% lengths_s[lengths_s <= accept_plan$most_s]
  most_s <- max(lengths_s)
  shorter <- rev(scale_plan$unseen_s[scale_plan$unseen_s < asked$unseen_s])
  at <- first_that(shorter, function(unseen_s) passes(most_s, unseen_s))
  if (!is.na(at)) {
    plan$unseen_s <- shorter[at]
    plan$measuring_s <- lengths_s[first_that(lengths_s, passes, plan$unseen_s)]
  } else {
    at_most <- needed(most_s, min(scale_plan$unseen_s))
    if (is.finite(at_most)) plan$needed <- at_most
  }
  plan
}

# The first of `values` for which `holds` holds, as it does for all behind it; NA: for none.
first_that <- function(values, holds, ...) {
  n <- length(values)
  if (n == 0 || !holds(values[n], ...)) return(NA_integer_)
  low <- 0
  high <- n
  while (high - low > 1) {
    middle <- (low + high) %/% 2
    if (holds(values[middle], ...)) high <- middle else low <- middle
  }
  high
}

# The margin (percent) that a run `times` as long as the record passes with probability `power`: its upper
# end, and what records of that length differ by, and this one from the truth (`own_sd`, of the logarithm; NA:
# it is too short to tell). What bursts that nobody saw may cost does not differ. Inf: there is no upper end.
needed_margin <- function(noise, asked, alpha, times, power, own_sd = NA_real_) {
  if (is.na(noise$rate_hz)) return(Inf)
  longer <- watched_longer(noise, times)
  whole <- cell_unseen(longer, asked, alpha, asked$unseen_s)
  if (!is.finite(whole$high)) return(Inf)
  # of costs that tell those beyond them nothing depends on what was not seen
  rests <- !is.null(rests_on_unseen_s(longer, asked$unseen_s))
  seen <- if (rests) cell_unseen(longer, asked, alpha) else whole
  high <- if (is.finite(seen$high)) min(seen$high, whole$high) else whole$high
  if (!(seen$value > 0)) return(whole$high)
  sd <- log(high / seen$value) / stats::qnorm(1 - alpha / 2)
  own_sd <- own_sd %else% (sd * sqrt(times))
  whole$high + high * expm1(stats::qnorm(power) * sqrt(sd^2 + own_sd^2))
}

# What a record's own cost is known by, of its logarithm; NA: it has no upper end.
own_spread <- function(noise, asked, alpha) {
  if (is.na(noise$rate_hz)) return(NA_real_)
  cell <- cell_unseen(noise, asked, alpha)
  if (is.finite(cell$high) && cell$value > 0) {
    log(cell$high / cell$value) / stats::qnorm(1 - alpha / 2)
  } else {
    NA_real_
  }
}

cell_unseen <- function(noise, asked, alpha, unseen_s = min(scale_plan$unseen_s)) {
  scale_cell(noise, utils::modifyList(asked, list(unseen_s = unseen_s, percent = NA_real_)), alpha)
}

# A time as an option takes it.
plain_time <- function(seconds) gsub("\u00b5", "u", gsub(" ", "", format_time(seconds)), fixed = TRUE)

scale_plan_lines <- function(plan, by) {
  asked <- plan$asked
  what <- sprintf("a node like %s, for %s with a margin of %s %%", plan$host, at_scale_words(asked),
                  format_level(asked$percent))
  none <- sprintf("No run of up to %s passes %s, by %s", format_span(plan$tried_s, 2), what, by)
  if (!is.na(plan$blind)) return(sprintf("%s: %s.", none, plan$blind))
  if (is.na(plan$measuring_s)) {
    return(sprintf(
      "%s, whatever unseen= says: %s.%s",
      none,
      if (is.infinite(plan$value)) {
        "what was recorded leaves no time to work"
      } else {
        sprintf("with what was recorded a program %s already", slower_words(plan$value))
      },
      if (is.na(plan$needed)) {
        ""
      } else {
        sprintf(" With bursts that short a run of %s passes it from a margin of %s %% on.",
                format_span(min(plan$tried_s, accept_plan$most_s), 2), format_effect(plan$needed, FALSE))
      }
    ))
  }
  command <- sprintf(
    "noiselab run acceptance --seconds %.0fs --margin %s%%:nodes=%s,every=%s%s",
    plan$measuring_s, format_level(asked$percent), format_level(asked$nodes), plain_time(asked$every_s),
    if (plan$unseen_s == usual_unseen_s) "" else paste0(",unseen=", plain_time(plan$unseen_s))
  )
  passes <- sprintf("A run of %s of measuring passes", format_span(plan$measuring_s, 2))
  if (plan$unseen_s == asked$unseen_s) {
    return(c(sprintf("%s %s, with probability %g, by %s%s.", passes, what, healthy_power, by,
                     if_none_longer(max(asked$unseen_s, plan$longest_s))),
             command))
  }
  c(sprintf("%s: bursts of up to %s that nobody saw may cost more.", none, format_time(asked$unseen_s)),
    sprintf(
      "%s it with probability %g if no burst of such nodes is longer than %s; if you know that, say so:",
      passes, healthy_power, format_time(max(plan$unseen_s, plan$longest_s))
    ),
    command)
}
