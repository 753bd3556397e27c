# The words of the answers about agents: one sentence for each case of the rule.

has_agent <- function(campaign) any(vapply(campaign$launches, switches_agent, TRUE))

# "collectd at 0.1 s", where the interval between two samples is known.
agent_title <- function(kind, campaign) {
  ns <- unlist(lapply(campaign$launches, function(info) info$options$agent_interval_ns %||% info$options$agent_period_ns))
  ns <- unique(ns[is.finite(ns) & ns > 0])
  # A campaign of several intervals has them in the treatment's name.
  if (length(ns) == 1 && !grepl("@", kind, fixed = TRUE)) paste(kind, "at", format_time(ns / 1e9)) else kind
}

# Of the treatments that have no level; the intervals of a sweep are no names of their own.
agent_names <- function(analysis) unique(sub("@.*", "", analysis$treatments$kind[analysis$treatments$pattern %in% no_word]))

# A number for a sentence; its ends have as many decimals.
percent_words <- function(x, low, high) {
  if (!is.finite(high)) return(sprintf("%s %% (at least %s)", three(x), three(low)))
  reach <- (high - low) / 2
  digits <- if (!is.finite(reach) || reach <= 0) 3 else min(6, max(0, 1 - floor(log10(reach))))
  sprintf("%.*f %% (%.*f to %.*f)", digits, x, digits, low, digits, high)
}

# One text per row of the answers, each said once.
answer_words_of_agents <- function(answers, analysis, taken = NULL) {
  words <- lapply(seq_len(NROW(answers)), function(i) {
    row <- answers[i, ]
    agent_case_words(row, agent_title(row$kind, analysis$campaign), operation_name(row, answers), analysis, taken)
  })
  unique(unlist(words))
}

# `x`: the agent; `on`: the operation.
agent_case_words <- function(row, x, on, analysis, taken = NULL) {
  effect <- percent_words(row$value, row$low, row$high)
  slows <- if (row$found) sprintf("%s slows %s by %s", x, on, effect) else sprintf("%s was not found to slow %s: %s", x, on, effect)
  seen <- if (row$found || is.na(row$limit)) "" else sprintf("; %s would have been", percent_of(row$limit))
  whole <- if (!is.na(row$whole)) sprintf(" (in all %s)", percent_words(row$whole, row$whole_low, row$whole_high)) else ""
  switch(row$case,
    agree = sprintf("%s%s its bursts%s; beyond them less than %s %% either way.", slows, if (row$found) ", through" else " by", seen,
                    three(max(abs(c(row$beyond_low, row$beyond_high))))),
    open = sprintf("%s%s its bursts%s; %s.", slows, if (row$found) " through" else " by", seen, if (is.na(row$beyond)) {
      sprintf("what lies beyond them is not known%s", if (is.na(row$whole_reason)) "" else sprintf(" (%s)", row$whole_reason))
    } else sprintf("anything beyond them is below %s %%%s", three(row$beyond_most), whole)),
    more = sprintf("%s in all: %s through its bursts, %s beyond them.", slows, percent_of(row$bursts),
                   percent_words(row$beyond, row$beyond_low, row$beyond_high)),
    less = sprintf("The bursts of %s cost %s on %s, but in all it slows it by less than %s %%: the two contradict; no slowdown is stated.", x,
                   percent_words(row$value, row$low, row$high), on, three(max(0, row$whole_high))),
    alone = alone_words(row, x, on, analysis, taken)
  )
}

# Without a figure by bursts: why, and on/off.
alone_words <- function(row, x, on, analysis, taken) {
  told <- !is.na(row$value)
  result <- if (!told) sprintf("%s on %s cannot be told by on/off either (%s).", x, on, row$whole_reason) else if (row$found) {
    sprintf("By on/off it slows %s by %s.", on, percent_words(row$value, row$low, row$high))
  } else sprintf("By on/off it was not found to slow %s: %s%s.", on, percent_words(row$value, row$low, row$high),
                 if (is.na(row$limit)) "" else sprintf("; %s would have been", percent_of(row$limit)))
  own <- if (!is.null(taken)) main_taken(taken[taken$kind %in% row$kind, ])
  if (row$state == "busy") return(c(busy_words(row, x, on, own, analysis), if (told) result))
  if (row$state == "few" && isTRUE(row$n_bursts == 0)) return(c(sprintf(
    "%s never had a rank's CPU in %s (bursts rarer than one in %s are not excluded).", x, format_span(row$watched_s),
    format_span(row$watched_s / -log(row$alpha))), result))
  if (row$state == "few") return(c(sprintf("%s had a rank's CPU %s in %s only: %d times are needed to tell what a burst costs.", x,
                                           counted(row$n_bursts, "time"), format_span(row$watched_s), locked_design$least_bursts), result))
  if (row$state == "not flat") return(c(sprintf("On %s %s: none is charged to %s.", on, sub(": what made it.*", "", row$reason), x), result))
  if (row$state == "dense") return(c(sprintf("%s: %s.", x, row$reason), result))
  if (!told) return(result)
  c(sprintf("%s %s by on/off: %s%s.", x, if (row$found) paste("slows", on) else paste("was not found to slow", on),
            percent_words(row$value, row$low, row$high), if (row$found || is.na(row$limit)) "" else
              sprintf("; %s would have been", percent_of(row$limit))), sprintf("There is no figure by bursts: %s.", row$reason))
}

# The machine was too busy to tell bursts: what was taken from the ranks is known all the same.
busy_words <- function(row, x, on, own, analysis) {
  # too few stretches for an interval
  if (NROW(own) == 1 && is.na(own$taken_percent) && isTRUE(own$account_percent > 0)) {
    return(sprintf("%s used %s of one CPU by its own account; what that cost %s could not be told here: %s.", x, percent_of(own$account_percent), on,
                   busy_by(analysis)))
  }
  if (NROW(own) != 1 || !is.na(own$reason) || !isTRUE(own$p_value <= row$alpha)) {
    return(sprintf("What the bursts of %s cost %s cannot be told: %s.", x, on, row$reason))
  }
  direct <- direct_loss(own$taken_percent, row, analysis)
  paste0(sprintf("%s takes %s of one CPU from the ranks", x, percent_words(own$taken_percent, max(0, own$taken_low), own$taken_high)),
         if (!is.na(direct$percent)) sprintf("; by the cost of an interruption in this campaign's profile (%s per ms) some %s *direct loss*, caches excluded",
                                             direct$words, percent_of(direct$percent)),
         "; the whole could not be told here: ", busy_by(analysis), ".")
}

# What an interruption costs, by the campaign's own measurement: ns per ns.
direct_loss <- function(taken_percent, row, analysis) {
  cost <- analysis$interruption_ns %||% NA_real_
  list(percent = taken_percent * cost / 1e6, words = if (is.na(cost)) "" else format_time(signif(cost, 3) / 1e9))
}

busy_by <- function(analysis) {
  rows <- analysis$campaign$rows
  off <- which(rows[["arm"]] == "off")
  share <- if (is.null(rows[["preempted_ns_sum"]])) NA_real_ else
    100 * mean_or_na(rows[["preempted_ns_sum"]][off] / (rows[["wall_ns"]][off] * pmax(1, rows[["ranks"]][off])))
  if (isTRUE(share >= busy_percent)) sprintf("other tasks held the ranks' CPUs %s %% of the time without it", format_level(share)) else
    "other tasks held the loop up"
}

# "it takes CPU 3 for 41 us every 100 ms", per node. Where the period is known beforehand, given or recorded before the launch, it is that one: a
# beat within it is another thing.
burst_sentences <- function(bursts, campaign = NULL) {
  vapply(seq_len(NROW(bursts)), function(i) {
    row <- bursts[i, ]
    if (row$n_activities == 0) return(sprintf("%s: %s (%s of it were measured)", row$host, row$reason, format_span(row$seconds)))
    cpus <- strsplit(row$cpus, ",", fixed = TRUE)[[1]]
    where <- if (identical(cpus, "-")) "a rank's CPU" else if (length(cpus) == 1) paste("CPU", cpus) else if (row$cpu_share > 0.9) {
      paste("mostly CPU", cpus[1])
    } else paste("the CPUs", join_words(utils::head(cpus, 4)))
    who <- if (row$source == "thread") "the ranks lost" else "it takes"
    told_s <- (campaign$launches[[as.character(row$launch)]]$options$agent_period_ns %||% NA_real_) / 1e9
    if (isTRUE(told_s > 0) && row$source != "thread" && !isTRUE(abs(row$period_s / told_s - 1) <= 0.05)) {
      return(sprintf("%s: %s %s for %s in each %s%s", row$host, who, where, format_time(signif(row$duty_percent / 100 * told_s, 3)),
                     format_time(signif(told_s, 4)), if (is.na(row$period_s)) "" else
                       sprintf(", in bursts with a period of %s", format_time(signif(row$period_s, 4)))))
    }
    if (is.na(row$period_s)) {
      return(sprintf("%s: %s %s for %s (median), %s times a second, with no fixed period", row$host, who, where,
                     format_time(signif(row$p50_us, 3) / 1e6), format_effect(row$activities_per_s, FALSE)))
    }
    if (is.na(row$per_period_us)) return(sprintf("%s: %s %s with a period of %s", row$host, who, where,
                                                 format_time(signif(row$period_s, 4))))
    sprintf("%s: %s %s for %s every %s", row$host, who, where, format_time(signif(row$per_period_us, 3) / 1e6),
            format_time(signif(row$period_s, 4)))
  }, "")
}
