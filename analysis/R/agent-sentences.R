# The answers about an agent in one sentence each.

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
  reach <- (high - low) / 2
  digits <- if (!is.finite(reach) || reach <= 0) 3 else min(6, max(0, 1 - floor(log10(reach))))
  sprintf("%.*f %% (%.*f to %.*f)", digits, x, digits, low, digits, high)
}

# One per operation and agent: the slowdown, what could have been seen, and where it lies against the margin.
agent_sentences <- function(analysis) {
  if (!has_agent(analysis$campaign)) return(character())
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!has_level(rows$level_requested_percent), ]
  time <- rows[rows$channel == "time", ]
  taken <- agent_taken(analysis$campaign, analysis$alpha)
  vapply(seq_len(nrow(time)), function(i) {
    row <- time[i, ]
    same <- rows$operation == row$operation & rows$bytes == row$bytes & rows$kind == row$kind & rows$scope == row$scope &
      rows$launch %in% row$launch
    preempted <- rows[same & rows$channel == "preempted", ]
    own <- taken_words(main_taken(taken[taken$kind %in% as.character(row$kind), ]), analysis$alpha)
    by <- if (is.null(own)) preempted_words(preempted) else paste0("; ", own)
    paste0(agent_title(row$kind, analysis$campaign), " ", slowdown_words(row), margin_words_of(row, analysis), by, ".")
  }, "")
}

slowdown_words <- function(row) {
  name <- sub(",", "", panel_name(row))
  if (!is.na(row$reason)) return(sprintf("on %s: whether it slows it cannot be told (%s)", name, row$reason))
  effect <- percent_words(row$estimate, row$ci_low, row$ci_high)
  seen <- sprintf("this run could have seen %s %%", format_effect(row$detection_limit, FALSE))
  if (row$verdict == "detected") return(sprintf("slows %s by %s; %s", name, effect, seen))
  sprintf("was not found to slow %s: %s; %s", name, effect, seen)
}

preempted_words <- function(row) {
  if (nrow(row) != 1 || !is.na(row$reason)) return("")
  effect <- percent_words(row$estimate, row$ci_low, row$ci_high)
  if (row$verdict == "detected") sprintf("; it takes %s of one CPU from the ranks of a node", effect) else {
    sprintf("; it was not seen to take CPU time from the ranks (%s %% of one CPU would have been)",
            format_effect(row$detection_limit, FALSE))
  }
}

margin_words_of <- function(row, analysis) {
  if (is.null(analysis$margin)) return("")
  margin <- format_level(analysis$margin)
  sure <- format_confidence(row$alpha)
  rests <- margin_rests_on(row)
  by <- if (is.na(rests)) "" else paste0(", ", rests)
  switch(row$margin_verdict, above = sprintf("; that is above the margin of %s %% with %s confidence%s", margin, sure, by),
         below = sprintf("; it stays below the margin of %s %% with %s confidence%s", margin, sure, by),
         sprintf("; on which side of the margin of %s %% it lies is not decided", margin))
}

# "it takes CPU 3 for 41 us every 100 ms", per node.
burst_sentences <- function(bursts) {
  vapply(seq_len(NROW(bursts)), function(i) {
    row <- bursts[i, ]
    if (row$n_activities == 0) return(sprintf("%s: %s (%s of it were measured)", row$host, row$reason, format_span(row$seconds)))
    cpus <- strsplit(row$cpus, ",", fixed = TRUE)[[1]]
    where <- if (identical(cpus, "-")) "a rank's CPU" else if (length(cpus) == 1) paste("CPU", cpus) else if (row$cpu_share > 0.9) {
      paste("mostly CPU", cpus[1])
    } else paste("the CPUs", join_words(utils::head(cpus, 4)))
    who <- if (row$source == "thread") "the ranks lost" else "it takes"
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
