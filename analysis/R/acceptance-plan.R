# How long an acceptance run against a reference must be, so that a healthy node passes.

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
  within <- rows$total_s[is.finite(rows$total_s) & rows$total_s <= accept_plan$most_s]
  total_s <- seconds %||% max(accept_plan$least_s, within)
  rows <- cbind(at(total_s), total_s = rows$total_s)
  rows$decides <- rows$decides & !is.na(rows$limit) & rows$may_fail
  noise <- rows$decides & rows$metric %in% c("lost", "lost_worst_cpu", "taken")
  list(
    rows = rows,
    measuring_s = total_s,
    launches = launches,
    takes_s = total_s + launches * accept_plan$start_s,
    busy = known_good$busy,
    notes = c(
      known_good$notes,
      if (!any(noise)) {
        paste0("no figure of noise is decided in this time: a run of it cannot pass; measure the reference ",
               "in more launches, or when the machine is quiet")
      }
    ),
    decides_noise = any(noise),
    dirs = reference$dirs,
    alpha = alpha
  )
}

accept_plan_view <- function(plan, all = FALSE) {
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
  table <- new_table(
    figure = col_words(
      "figure",
      paste0(
        figure_quantity(worst),
        ifelse(is.na(worst$size), "",
               paste0(".", format_count_each(ifelse(is.na(worst$size), 0, worst$size))))
      )
    ),
    margin = col_words("margin", margin_text_each(worst$margin, worst$margin_unit)),
    needed = col_words("decides from", margin_text_each(worst$needed, worst$margin_unit)),
    time = col_words("margin decided in", when),
    looked = col_words("this run", ifelse(worst$decides, "decides", "not looked at"))
  )
  head <- sprintf(
    paste0("A run of %s of measuring in %s (%s with its starts) passes a healthy node with probability %g, ",
           "by %s: %d of %d figures are decided."),
    format_span(plan$measuring_s, 2),
    counted(plan$launches, "launch", "launches"),
    format_span(plan$takes_s, 2),
    healthy_power,
    few_words(plan$dirs, 2),
    sum(plan$rows$decides),
    nrow(plan$rows)
  )
  new_view(
    c(
      head,
      sprintf("noiselab run acceptance --launches %d --seconds %.0fs %s", plan$launches,
              ceiling(plan$measuring_s),
              paste(sprintf("--reference %s", vapply(plan$dirs, quote_word, "")), collapse = " "))
    ),
    table,
    "of each kind the figure that takes longest",
    plan$notes,
    0
  )
}

margin_text_each <- function(x, unit) mapply(margin_text, x, unit)
