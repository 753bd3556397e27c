# What an agent's noise costs on many nodes: the line below its answer, and a margin that is asked of that
# size.

# NULL where its bursts are not known, or several agents were there. Computed once.
scale_of_agent <- function(report) {
  if (is.null(report$analysis) || NROW(report$agents) > 1) return(NULL)
  kept <- report$kept
  if (is.null(kept$scale)) {
    row <- scale_of(
      noise_of_campaign(report$campaign, reader = report$reader,
                        records = records_with_behalf(report$campaign, behalf_named(report))),
      alpha = 2 * report$alpha
    )
    # what else was found is not projected
    if (!is.null(row) && found_beyond(report)) {
      row$reason <- "at least: more was found beyond the bursts that are projected"
      row$ci_high_recorded <- NA_real_
    }
    kept$scale <- list(row)
  }
  kept$scale[[1]]
}

# Was anything found beyond the bursts that are projected, by loop times or by the account of other tasks?
# What tasks with an account of their own may cost explains what loop times found beyond its own bursts.
found_beyond <- function(report) {
  named <- behalf_named(report)
  groups <- report$behalf$group[report$behalf$p_holm <= report$alpha]
  more <- report$answers$case %in% "more"
  if (is.null(named)) {
    return(any(more) || length(report$behalf$p_holm[report$behalf$p_holm <= report$alpha]) > 0)
  }
  any(!groups %in% named$group) || any(more & !(report$answers$beyond_low <= behalf_most(named)))
}

# A margin of the slowdown at a size, judged: `answer`, `reason` (words), `low`, `high` (percent, bounds at
# `alpha` / 2 each, the upper one with bursts that were not seen and with other effects), `percent`,
# `keeps_s` (between two samples, or bursts, from which on it would stay below, if each costs the same; NA:
# none is known; Inf: it is no question of that), `request`.
scale_margin_answer <- function(report) {
  request <- with_own_step(report$scale_margin, report$campaign)
  open <- function(reason, ...) {
    utils::modifyList(
      list(answer = "inconclusive", reason = reason, percent = NA_real_, low = NA_real_, high = NA_real_,
           keeps_s = NA_real_, request = request),
      list(...)
    )
  }
  if (NROW(report$agents) > 1) return(open("several agents were measured: ask of each by itself"))
  noise <- tryCatch(
    noise_of_campaign(report$campaign, reader = report$reader,
                      records = records_with_behalf(report$campaign, behalf_named(report))),
    nl_error = function(e) conditionMessage(e)
  )
  if (is.character(noise)) return(open(paste0("its bursts are not known: ", sub("[.]$", "", noise))))
  answers <- report$answers
  got <- size_figures(noise, request, report$alpha)
  rest <- if (NROW(answers) == 0 || anyNA(answers$beyond_most)) NA_real_ else max(answers$beyond_most)
  seen <- max(got$high, got$unseen_high) # NA: no upper end
  high <- 100 * ((1 + seen / 100) * (1 + rest / 100) - 1)
  more <- found_beyond(report)
  figures <- list(percent = got$percent, low = got$low, high = high)
  margin <- request$percent
  if (isTRUE(got$low > margin)) {
    keeps <- kept_from(noise, request, report)
    return(utils::modifyList(
      open(NA_character_),
      c(
        figures,
        list(
          answer = "fail",
          keeps_s = keeps,
          reason = paste0("its bursts alone cost ", projected_range(got$percent, got$low, got$high),
                          if (more) "; more was found beyond them")
        )
      )
    ))
  }
  if (isTRUE(high < margin) && !more) {
    return(utils::modifyList(
      open(NA_character_),
      c(
        figures,
        list(
          answer = "pass",
          reason = paste0("at most ", slowdown_words(high),
                          " with bursts that were not seen and other effects",
                          if_none_longer(max(request$unseen_s, noise$costs_s)))
        )
      )
    ))
  }
  # rarer samples do not help where only what was not seen is open
  keeps <- if (isTRUE(got$high < margin)) NULL else
    kept_from(noise, request, report)
  do.call(
    open,
    c(
      list(paste0(
        "its bursts cost ",
        projected_range(got$percent, got$low, got$high),
        "; ",
        if (more) {
          "what was found beyond them is not projected"
        } else if (is.na(seen)) {
          "bursts that come more rarely than the record is long may cost more"
        } else if (is.na(rest)) {
          "other effects are not known"
        } else {
          sprintf("with those not seen and other effects up to %s", projected_range(high, high, high))
        }
      )),
      figures,
      list(keeps_s = keeps %||% Inf)
    )
  )
}

# Percent, with bounds of confidence 1 - `alpha`: `high` of bursts like those recorded, `unseen_high` with
# bursts that the record does not exclude; NA: above the margin of `request`.
size_figures <- function(noise, request, alpha) {
  cell <- project_cell(noise, request$nodes, request$every_s, "independent", alpha,
                       unseen_s = request$unseen_s, recorded = TRUE)
  row <- data.frame(nodes = request$nodes, every_ns = 1e9 * request$every_s,
                    slowdown_percent = 100 * cell$value, ci_high = 100 * cell$high,
                    bound_percent = 100 * cell$bound, ci_high_recorded = 100 * cell$recorded)
  unseen <- unseen_bursts(
    noise, row, list(alpha = alpha, unseen_s = request$unseen_s, seed = 1, margin = request$percent)
  )
  high <- if (is.na(row$ci_high_recorded)) row$ci_high else row$ci_high_recorded
  list(percent = 100 * cell$value, low = 100 * cell$low, high = high,
       unseen_high = if (is.null(unseen)) high else unseen$high_percent)
}

# Between two samples, where their interval is known, else between bursts, s: the same bursts, so many times
# as rarely.
kept_from <- function(noise, request, report) {
  between_s <- interval_below(noise, request$nodes, request$every_s, request$percent, report$alpha,
                              request$unseen_s)
  interval_s <- agents_interval_s(report)
  if (is.na(interval_s)) between_s else interval_s * between_s * noise$rate_hz
}

agents_interval_s <- function(report) {
  kind <- unique(report$answers$kind)
  if (length(kind) == 1) sampling_interval_s(kind, report$campaign) else NA_real_
}

projected_range <- function(value, low, high) {
  if (!is.finite(value)) return("all of the time")
  slowdown_words(value, low, high, "more than ten times the program's own time")
}

# A program's own step is one iteration of it, as long as it takes without the agent.
with_own_step <- function(request, campaign) {
  if (!is.na(request$every_s)) return(request)
  rows <- campaign$rows
  off <- rows[["arm"]] == "off" & rows[["operations"]] > 0
  if (!any(vapply(campaign$launches, function(info) is.list(info$follows), TRUE)) || !any(off)) {
    abort_usage("--margin: '", request$text, "' does not say how often the nodes synchronise (try ",
                sub(":.*", "", request$text), ":nodes=", request$nodes, ",every=1ms)")
  }
  request$every_s <- sum(rows[["wall_ns"]][off]) / sum(rows[["operations"]][off]) / 1e9
  request$words <- sprintf("%s, every %s", margin_scale_words(request$percent, request$nodes, NA),
                           format_time(signif(request$every_s, 3)))
  request
}

scale_margin_sentence <- function(judged, interval_s = NA_real_) {
  if (is.null(judged)) return(NULL)
  between <- if (is.na(interval_s)) "bursts" else "samples"
  keeps <- if (isTRUE(judged$keeps_s == Inf)) {
    ""
  } else if (is.na(judged$keeps_s)) {
    "; no interval up to a day is shown to stay below"
  } else {
    sprintf("; with %s %s apart it would stay below", between, format_time(signif(judged$keeps_s, 2)))
  }
  sprintf("Margin of %s: %s, %s%s.", judged$request$words, judged$answer, judged$reason,
          if (judged$answer == "pass") "" else keeps)
}
