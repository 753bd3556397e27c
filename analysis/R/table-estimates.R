# What programs read: every number of an analysis as a row of one table, whatever the analysis
# (docs/reference/formats.md, the schema in inst/schema). Words are closed and have no blanks; the unit of
# `value` and all that goes with it is the end of `quantity`.

estimate_columns <- c("quantity", "channel", "main", "scope", "launch", "host", "rank", "operation", "bytes",
                      "ranks", "kind", "pattern", "placement", "phase", "level_requested_percent",
                      "level_delivered_percent", "agent_interval_s", "value", "ci_low", "ci_high",
                      "confidence", "detection_limit", "p_one_sided", "p_two_sided", "n", "n_unit", "verdict",
                      "margin_verdict", "reason")

text_columns <- c("quantity", "channel", "scope", "launch", "host", "operation", "kind", "pattern",
                  "placement", "phase", "n_unit", "verdict", "margin_verdict", "reason")

# What --csv --table prints of most words of noiselab analyze.
estimates_or_rows <- c("estimates", "rows")

# "launches like these" as launches_like_these.
closed_word <- function(x) ifelse(is.na(x), NA_character_, gsub("[^a-z0-9.]+", "_", tolower(as.character(x))))

# Rows with every column, in order. `...`: columns by name, whatever `rows` has under the same names goes
# first.
as_estimates <- function(rows, quantity, ...) {
  n <- NROW(rows)
  if (n == 0) return(NULL)
  given <- c(list(quantity = quantity), list(...))
  columns <- lapply(stats::setNames(estimate_columns, estimate_columns), function(name) {
    value <- if (name %in% names(given)) given[[name]] else rows[[name]]
    if (is.null(value)) value <- NA
    value <- rep_len(value, n)
    if (name %in% text_columns) {
      as.character(value)
    } else if (name == "main") {
      as.logical(value)
    } else {
      as.numeric(value)
    }
  })
  for (name in c("scope", "n_unit", "verdict", "margin_verdict")) {
    columns[[name]] <- closed_word(columns[[name]])
  }
  as.data.frame(columns)
}

# Of a campaign: effects, thresholds and amplification.
campaign_estimates <- function(analysis) {
  verdicts <- analysis$verdicts
  thresholds <- analysis$thresholds
  amplification <- analysis$amplification
  confidence <- 1 - analysis$alpha
  level <- function(quantity, name) if (NROW(thresholds) > 0) {
    of <- function(part) thresholds[[paste0(name, part)]]
    as_estimates(thresholds, quantity, value = of("_percent"), ci_low = of("_low_percent"),
                 ci_high = of("_high_percent"), confidence = confidence, detection_limit = NA,
                 n = thresholds$n_tested, n_unit = unit_of(thresholds), verdict = NA, reason = of("_reason"))
  }
  # What leads an agent's answer is its main row; on/off and bursts by themselves stand beside it, and say
  # what they are.
  answers <- analysis$agent_answers
  beside <- !is.null(answers) & !has_level(verdicts$level_requested_percent) &
    verdicts$channel %in% c("time", "locked")
  quantity <- vapply(channels, `[[`, "", "quantity")[verdicts$channel]
  quantity[beside] <- c(time = "slowdown_on_off_percent",
                        locked = "slowdown_by_all_bursts_percent")[verdicts$channel[beside]]
  verdicts$main[beside] <- FALSE
  bind_rows(Filter(
    Negate(is.null),
    list(
      if (!is.null(answers)) headline_estimates(answers),
      as_estimates(verdicts, quantity, value = verdicts$estimate, confidence = 1 - 2 * verdicts$alpha,
                   n = verdicts$n_tested, n_unit = verdicts$unit_of_inference,
                   verdict = row_outcome(verdicts)),
      level("smallest_detected_level_percent", "med"),
      level("detectable_level_percent", "lod"),
      if (NROW(amplification) > 0) {
        as_estimates(
          amplification, "amplification_ratio", value = amplification$amplification,
          confidence = 1 - 2 * analysis$alpha,
          n = ifelse(unit_of(amplification) == "launch", amplification$n_launches, amplification$n_pairs),
          n_unit = unit_of(amplification)
        )
      }
    )
  ))
}

# The figure that the first sentence has, of each agent and operation.
headline_estimates <- function(answers) {
  as_estimates(answers, "slowdown_percent", channel = "time", main = TRUE, ci_low = answers$low,
               ci_high = answers$high, confidence = 1 - ifelse(answers$case == "alone", 2, 1) * answers$alpha,
               detection_limit = answers$limit, p_one_sided = answers$p_value, n = NA, n_unit = NA,
               verdict = answers$outcome)
}

# What a row of a scope counts.
unit_of <- function(rows) ifelse(rows$scope == scope_campaign, "launch", "pair")

location_estimates <- function(location) {
  part <- function(rows, quantity) if (NROW(rows) > 0) {
    as_estimates(rows, quantity, value = rows$preempted_shift_percent, confidence = 1 - location$alpha,
                 n = ifelse(rows$unit_of_inference == "pair", rows$n_pairs, rows$n_launches),
                 n_unit = rows$unit_of_inference, verdict = rows$found)
  }
  bind_rows(list(part(location$nodes, "node_preempted_shift_percent"),
                 part(location$ranks, "rank_preempted_shift_percent")))
}

intervals_estimates <- function(sweep) {
  rows <- sweep$rows
  as_estimates(rows, "slowdown_percent", kind = rows$agent, agent_interval_s = rows$interval_s,
               value = rows$estimate, confidence = 1 - 2 * sweep$alpha, n_unit = rows$unit_of_inference,
               verdict = short_verdict_words(rows))
}

replay_estimates <- function(result) {
  rows <- result$rows
  of <- function(name, quantity, ...) {
    as_estimates(rows, quantity, value = rows[[paste0(name, "_percent")]],
                 ci_low = rows[[paste0(name, "_low")]], ci_high = rows[[paste0(name, "_high")]],
                 confidence = 1 - 2 * result$alpha, n_unit = rows$unit_of_inference, ...)
  }
  none <- list(detection_limit = NA, verdict = NA, reason = NA)
  bind_rows(list(
    do.call(of, c(list("agent", "agent_slowdown_percent", kind = rows$agent), none)),
    do.call(of, c(list("replay", "replay_slowdown_percent", kind = rows$replay), none)),
    as_estimates(rows, "agent_less_replay_percent", kind = rows$agent, value = rows$difference_percent,
                 ci_low = rows$bound_low, ci_high = rows$bound_high, confidence = 1 - 2 * result$alpha,
                 p_two_sided = rows$p_holm, n_unit = rows$unit_of_inference)
  ))
}

# The ends of the names of changes, by family.
change_units <- c(time = "_change_percent", tail = "_change_percent", share = "_change_points",
                  slowdown = "_change_percent", amplification = "_change_ratio")

comparison_estimates <- function(comparison) {
  rows <- comparison$rows
  alone <- rows$familywise %in% FALSE
  as_estimates(
    rows,
    paste0(rows$measure, change_units[rows$family]),
    value = rows$effect,
    confidence = 1 - comparison$alpha,
    n = rows$n_a + rows$n_b,
    n_unit = "launch",
    verdict = ifelse(rows$verdict == no_difference, "no_difference",
                     paste0(rows$verdict, ifelse(alone, "_alone", "")))
  )
}

# What an agent used, beside what it took from the ranks.
agent_estimates <- function(report) {
  taken <- main_taken(report$taken)
  answers <- report$answers
  by_bursts <- answers[is.finite(answers$bursts), ]
  accounts <- report$accounts
  used <- function(column, quantity) if (NROW(accounts) > 0) {
    as_estimates(accounts, quantity, value = accounts[[column]], verdict = NA, n = accounts$n_pairs,
                 n_unit = "pair", reason = NA)
  }
  bind_rows(Filter(
    Negate(is.null),
    list(
      if (!is.null(report$analysis)) campaign_estimates(report$analysis),
      as_estimates(
        taken,
        "taken_attributed_percent",
        value = taken$taken_percent,
        ci_low = taken$taken_low,
        ci_high = taken$taken_high,
        confidence = 1 - 2 * report$alpha,
        detection_limit = taken$limit_percent,
        p_one_sided = taken$p_value,
        n = taken$n_pairs,
        n_unit = "pair",
        verdict = ifelse(
          is.na(taken$taken_percent), "inconclusive",
          ifelse(taken$p_value %in% NA | taken$p_value > report$alpha, "not detected", "detected")
        )
      ),
      as_estimates(by_bursts, "slowdown_by_bursts_percent", channel = "locked", main = FALSE,
                   value = by_bursts$bursts, ci_low = by_bursts$bursts_low, ci_high = by_bursts$bursts_high,
                   confidence = 1 - by_bursts$alpha, verdict = NA),
      as_estimates(answers, "slowdown_beyond_bursts_percent", main = FALSE, value = answers$beyond,
                   ci_low = answers$beyond_low, ci_high = answers$beyond_high, confidence = 1 - answers$alpha,
                   verdict = NA),
      used("cpu_percent", "agent_cpu_percent"),
      used("on_ranks_percent", "agent_cpu_of_ranks_percent"),
      used("rss_kib", "agent_memory_kib"),
      if (NROW(accounts) > 0) {
        as_estimates(accounts, "preempted_less_agent_us_per_s", value = accounts$difference_us_per_s,
                     ci_low = accounts$difference_low, ci_high = accounts$difference_high,
                     confidence = 1 - 2 * report$alpha, n = accounts$n_pairs, n_unit = "pair",
                     verdict = accounts$agreement)
      }
    )
  ))
}

acceptance_estimates <- function(result) {
  figures <- result$figures
  if (NROW(figures) == 0) return(NULL)
  as_estimates(figures, paste0(figure_quantity(figures), "_", figures$unit), host = figures$entity,
               bytes = figures$size, confidence = 1 - result$alpha, n = NA, n_unit = NA,
               verdict = closed_word(figures$verdict))
}

# The figure without what it was measured on.
figure_quantity <- function(rows) {
  paste0(rows$check,
         ifelse(nzchar(rows$variant), paste0(".", gsub("[^A-Za-z0-9_.+-]", "-", rows$variant)), ""), ".",
         rows$metric)
}

acceptance_change_estimates <- function(comparison) {
  rows <- comparison$rows
  as_estimates(
    rows, paste0(figure_quantity(rows), "_change_", rows$effect_unit), host = rows$entity, bytes = rows$size,
    value = rows$effect, confidence = 1 - comparison$alpha, n = rows$n_a + rows$n_b, n_unit = "launch",
    verdict = ifelse(rows$verdict == "changed", ifelse(rows$worse, "worse", "better"), rows$verdict)
  )
}
