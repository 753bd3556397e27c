# A setting of the operating system against its reference: faster, slower, no difference beyond a margin, or
# undecided.

# Such a launch has its settings in launch.json (options.settings): keys with their values, and the values
# of each arm.
settings_of <- function(info) if (is.list(info$options$settings)) info$options$settings

has_settings <- function(campaign) {
  any(vapply(campaign$launches, function(info) !is.null(settings_of(info)), TRUE))
}

placebo_arm <- "placebo"

# Compares the arms of each operation and size with the reference. Each arm stands once in every set of
# blocks, in random order, so the signs of the differences within sets are exchangeable without an effect
# (randomisation_inference(); with five launches or more Student's interval on one mean a launch). Both
# sides count: an interval has confidence 1 - 2 alpha, and a difference is stated where its two-sided
# p-value is at most 2 alpha with Holm's correction over all arms, operations and sizes. The placebo writes
# the reference's values again, so what it costs is what writing costs; a difference below the upper bound
# of that is not stated. Where halves show the arm before them (carry_over()) nothing is stated. `margin`:
# percent, on both sides; NULL: none, and "no difference" cannot be found. A list: `rows`, a data frame, one
# row per operation, size and arm: `operation`, `bytes`, `ranks`, `kind`, `label` ("KEY OTHER instead of
# REFERENCE"), `estimate`, `ci_low`, `ci_high` (percent of the time, above 0: slower), `p_two_sided`,
# `p_holm`, `writing_percent` (upper bound of what writing costs), `n`, `unit_of_inference`, `outcome`
# (slower, faster, no difference, undecided), `reason` (why it is undecided, else NA), `needs_s` (how long a
# run would decide, NA: not known), `preempted_percent` (CPU time of other tasks on the ranks' CPUs more
# than with the reference, percent of one CPU), `settling_percent` (effect of the arm before, of this
# arm's), `settling_p`; `writing` (the same of the placebo); `margin`, `alpha`, `power`, `answer` (with a
# margin: pass, fail, inconclusive), `settings` (each file, what was found and is now), `notes`, `took_s`.
compare_settings <- function(campaign, margin = NULL, alpha = 0.01, power = 0.95) {
  dirs <- paste(campaign$dirs, collapse = " ")
  if (!has_settings(campaign)) abort_data("no launch of ", dirs, " compares settings (noiselab run setting)")
  told <- unique(lapply(unname(campaign$launches), settings_of))
  if (length(told) > 1) abort_data("these launches compare different settings: analyse them one by one")
  pairs <- pair_rows(campaign$rows)
  if (length(pairs$off) == 0) abort_data("no complete set of arms in ", dirs, ": measure for longer")
  settings <- list(alpha = alpha, power = power, conf = 1 - 2 * alpha)
  all <- arm_effects(campaign, pairs, settings)
  carried <- carry_over(campaign$rows, all)
  all[c("settling_percent", "settling_p")] <- carried[c("settling_percent", "settling_p")]
  writing <- all[all$kind == placebo_arm, ]
  rows <- all[all$kind != placebo_arm, ]
  cell <- c("operation", "bytes", "ranks")
  arms <- vapply(told[[1]]$arms, function(arm) as.character(arm$kind), "")
  rows <- rows[order(match(row_key(rows, cell), unique(row_key(rows, cell))), match(rows$kind, arms)), ]
  rows$writing_percent <- writing_bound(writing)[match(row_key(rows, cell), row_key(writing, cell))]
  rows$writing_percent[is.na(rows$writing_percent)] <- Inf
  rows$label <- arm_labels(told[[1]])[rows$kind]
  rows$p_holm <- stats::p.adjust(rows$p_two_sided, "holm")
  took_s <- campaign_seconds(campaign)
  rows <- judge_settings(rows, margin, settings, took_s)
  rownames(rows) <- NULL
  list(rows = rows, writing = writing, margin = margin, alpha = alpha, power = power,
       answer = if (!is.null(margin)) setting_answer(rows, margin), settings = kept_settings(campaign),
       notes = c(campaign$notes, settings_left(campaign)), took_s = took_s, campaign = campaign)
}

# One row per operation, size and arm.
arm_effects <- function(campaign, pairs, settings) {
  x <- log_or_na(operation_ns(campaign$rows))
  taken <- channels$preempted$value(campaign$rows, 1)
  cells <- pairs$cells
  of <- row_key(cells, c("operation", "bytes", "ranks", "kind"))[pairs$cell]
  launch <- as.character(cells$launch)[pairs$cell]
  bind_rows(lapply(unname(split(seq_along(of), in_order(of))), function(at) {
    d <- x[pairs$on[at]] - x[pairs$off[at]]
    at <- at[is.finite(d)]
    first <- cells[pairs$cell[at[1]], ]
    label <- data.frame(operation = as.character(first$operation), bytes = first$bytes, ranks = first$ranks,
                        kind = as.character(first$kind))
    cbind(label, setting_effect(d[is.finite(d)], launch[at], settings),
          preempted_percent = mean(taken[pairs$on[at]] - taken[pairs$off[at]]))
  }))
}

# Of the differences of logarithms within sets, in run order, and their launches.
setting_effect <- function(d, launch, settings) {
  by_launch <- as.numeric(tapply(d, in_order(launch), mean))
  over <- length(by_launch) >= launches_for_more
  one <- function(d) randomisation_inference(d, settings$alpha, with_limit = FALSE)
  got <- if (over) launches_inference(by_launch, settings) else one(d)
  other_side <- if (over) 1 - got$p else one(-d)$p
  least <- pairs_needed(settings$alpha)
  enough <- over || length(d) >= least
  data.frame(
    estimate = 100 * expm1(got$estimate), ci_low = 100 * expm1(got$low), ci_high = 100 * expm1(got$high),
    p_two_sided = if (enough) min(1, 2 * min(got$p, other_side)) else NA_real_, se = got$se,
    n = if (over) length(by_launch) else length(d), unit_of_inference = if (over) "launch" else "pair",
    reason = if (enough) NA_character_ else {
      sprintf("%s; a test at alpha %g needs %d", counted(length(d), "set"), settings$alpha, least)
    }
  )
}

# What writing may cost at most, on either side, percent; where nothing is known of it, anything.
writing_bound <- function(writing) {
  bound <- pmax(abs(writing$ci_low), abs(writing$ci_high))
  ifelse(is.finite(bound), bound, Inf)
}

# Does a half show the arm before it? Of each arm and the reference (and the placebo, which has its values):
# times less the mean of their set and of their arm, by whether the half before had the other values. Where
# an effect outlives its arm, halves after that arm are shifted its way, and halves of the arm that follow
# another one the other way. Student's test of that shift, two-sided. A row for each of `cells`:
# `settling_percent`, `settling_p`; NA of the placebo.
carry_over <- function(rows, cells) {
  rows <- as.data.frame(rows)[order(as.character(rows[["launch"]]), rows[["start_ns"]]), ]
  rows$state <- ifelse(rows$arm == "off" | rows$kind %in% placebo_arm, "", as.character(rows$kind))
  follows <- c(FALSE, rows$launch[-1] == rows$launch[-nrow(rows)])
  rows$before <- ifelse(follows, c(NA, rows$state[-nrow(rows)]), NA)
  rows$x <- log_or_na(operation_ns(rows))
  rows <- rows[is.finite(rows$x) & !is.na(rows$before), ]
  bind_rows(lapply(seq_len(nrow(cells)), function(i) {
    kind <- cells$kind[i]
    cell <- rows$operation == cells$operation[i] & rows$bytes == cells$bytes[i]
    mine <- cell & rows$state %in% c("", kind) & rows$before %in% c("", kind)
    one <- rows[mine, ]
    none <- data.frame(settling_percent = NA_real_, settling_p = NA_real_)
    if (kind == placebo_arm || nrow(one) < 10) return(none)
    arm <- paste(one$arm, one$state)
    set <- paste(one$launch, one$pair)
    # less the means of sets and arms, which are nearly balanced
    less_means <- function(x, of) x - stats::ave(x, of, FUN = mean)
    centred <- function(x) {
      for (i in 1:5) x <- less_means(less_means(x, set), arm)
      x
    }
    shift <- centred((one$before == kind) - (one$state == kind))
    if (sum(shift^2) < 2) return(none)
    x <- centred(one$x)
    slope <- sum(x * shift) / sum(shift^2)
    df <- nrow(one) - length(unique(arm)) - length(unique(set))
    if (df < 3) return(none)
    se <- sqrt(sum((x - slope * shift)^2) / df / sum(shift^2))
    data.frame(settling_percent = 100 * expm1(slope),
               settling_p = if (se > 0) 2 * stats::pt(-abs(slope / se), df) else NA_real_)
  }))
}

# Seconds from the first half to the last, of all launches.
campaign_seconds <- function(campaign) {
  rows <- campaign$rows
  launch <- as.character(rows[["launch"]])
  ends <- tapply(rows[["start_ns"]] + rows[["wall_ns"]], launch, max)
  sum(ends - tapply(rows[["start_ns"]], launch, min)) / 1e9
}

over_both <- "the interval reaches over both"

judge_settings <- function(rows, margin, settings, took_s) {
  shown <- (rows$p_holm <= 2 * settings$alpha) %in% TRUE
  alone <- (rows$p_two_sided <= 2 * settings$alpha) %in% TRUE & !shown
  above_writing <- (abs(rows$estimate) > rows$writing_percent) %in% TRUE
  unsettled <- (rows$settling_p * max(1, sum(!is.na(rows$settling_p))) <= settings$alpha) %in% TRUE
  within <- !is.null(margin) & (rows$ci_low > -(margin %||% 0) & rows$ci_high < (margin %||% 0)) %in% TRUE
  why <- rep(over_both, nrow(rows))
  why[alone] <- "it differs by itself, but not with all comparisons counted together"
  why[shown] <- sprintf("the difference is not above what writing alone may cost, %s %%",
                        plain(rows$writing_percent[shown]))
  why[shown & above_writing | within] <- NA_character_
  why[unsettled] <- sprintf("blocks still show the setting before them (by %s %%), so it settles more slowly",
                            plain(abs(rows$settling_percent[unsettled])))
  rows$reason <- ifelse(is.na(rows$reason), why, rows$reason)
  rows$outcome <- ifelse(!is.na(rows$reason), "undecided",
                  ifelse(within, "no difference", ifelse(rows$estimate > 0, "slower", "faster")))
  # as if the estimate were the truth: until the interval no longer holds 0, or lies within the margin
  effect <- abs(log1p(rows$estimate / 100))
  distance <- pmax(effect, if (is.null(margin)) 0 else log1p(margin / 100) - effect)
  times <- ((stats::qnorm(1 - settings$alpha) + stats::qnorm(settings$power)) * rows$se / distance)^2
  open <- rows$outcome == "undecided" & !unsettled & is.finite(times)
  rows$needs_s <- ifelse(open, took_s * pmax(1, times), NA_real_)
  rows
}

# Is no value slower by more than the margin? Fail where one is shown to be.
setting_answer <- function(rows, margin) {
  above <- rows$outcome == "slower" & rows$ci_low > margin
  below <- rows$outcome != "undecided" & rows$ci_high < margin
  if (any(above)) "fail" else if (all(below)) "pass" else "inconclusive"
}

# "kernel.numa_balancing 0 instead of 1", by arm.
arm_labels <- function(told) {
  keys <- vapply(told$settings, function(one) printable(one$key), "")
  reference <- vapply(told$settings, function(one) printable(one$values[[1]]), "")
  labels <- vapply(told$arms, function(arm) {
    values <- vapply(arm$values, printable, "")
    if (all(values == reference)) return("the references written again")
    join_words(sprintf("%s %s instead of %s", keys, values, reference)[values != reference])
  }, "")
  stats::setNames(labels, vapply(told$arms, function(arm) as.character(arm$kind), ""))
}

# What each file was and what it is now, of all nodes and launches that say it.
kept_settings <- function(campaign) {
  of_agent <- function(agent) lapply(agent$settings, function(one) data.frame(
    host = printable(agent$host), file = printable(one$file), found = printable(one$found),
    left = printable(one$left)))
  parts <- lapply(unname(campaign$launches), function(info) {
    unlist(lapply(info$agents, of_agent), recursive = FALSE)
  })
  unique(bind_rows(unlist(parts, recursive = FALSE)))
}

settings_left <- function(campaign) {
  table <- kept_settings(campaign)
  odd <- if (NROW(table) > 0) table[table$found != table$left, ]
  if (NROW(odd) > 0) sprintf("%s on %s was '%s' and is '%s' now", odd$file, odd$host, odd$found, odd$left)
}

# ---- words -------------------------------------------------------------------------------------

setting_sentences <- function(result) {
  rows <- result$rows
  c(
    vapply(seq_len(nrow(rows)), function(i) setting_sentence(rows[i, ], result$margin), ""),
    sprintf("Intervals have %s confidence, both sides counted; %s %s %%.",
            format_confidence(2 * result$alpha), "writing the same value again costs at most",
            plain(max(writing_bound(result$writing))))
  )
}

setting_sentence <- function(row, margin) {
  what <- panel_name(row)
  range <- sprintf("%s to %s", format_effect(row$ci_low), format_effect(row$ci_high))
  ends <- sort(abs(c(row$ci_low, row$ci_high)))
  switch(
    row$outcome,
    slower = ,
    faster = sprintf("%s makes %s %s %% %s (%s to %s).", row$label, what, plain(abs(row$estimate)),
                     row$outcome, plain(ends[1]), plain(ends[2])),
    "no difference" = sprintf("%s makes no difference to %s beyond +-%s %%: the change is %s %% (%s).",
                              row$label, what, format_level(margin), format_effect(row$estimate), range),
    undecided = sprintf("%s: this run does not decide whether it changes %s (%s %%, %s), because %s.%s",
                        row$label, what, format_effect(row$estimate), range, undecided_because(row, margin),
                        decides_in(row$needs_s))
  )
}

undecided_because <- function(row, margin) {
  if (row$reason != over_both) return(row$reason)
  if (is.null(margin)) "the interval holds 0" else {
    sprintf("the interval holds 0 and reaches beyond +-%s %%", format_level(margin))
  }
}

decides_in <- function(needs_s) {
  if (is.na(needs_s) || needs_s > most_needed_s) return("")
  sprintf(" Measuring for %s in total decides with probability 0.95, if the estimates are right.",
          format_span(needs_s))
}

setting_part <- function(result) {
  all <- bind_rows(list(result$rows[names(result$writing)], result$writing))
  all$outcome <- c(result$rows$outcome, rep("writing", nrow(result$writing)))
  labels <- c(result$rows$label, rep("the reference written again", nrow(result$writing)))
  found <- result$settings
  new_part(
    "each arm against the reference",
    new_table(
      label = col_words("arm", labels), estimate = col_number("change", all$estimate, format_effect, "%"),
      ci_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), all$ci_low, all$ci_high),
      p_two_sided = col_number("p", all$p_two_sided, format_p), n = col_number("n", all$n),
      preempted_percent = col_number("other tasks", all$preempted_percent, format_effect, "%"),
      settling_percent = col_number("settling", all$settling_percent, format_effect, "%"),
      outcome = col_words("outcome", all$outcome),
      by = paste0(panel_name(all), ", ", format_level(all$ranks), " ranks")
    ),
    paste0(
      "change: of the time of the operation, above 0 is slower; p: two-sided, before Holm's correction; ",
      "other tasks: their CPU time on the ranks' CPUs more than with the reference, percent of one CPU; ",
      "settling: what of the arm before shows in a block"
    ),
    if (NROW(found) > 0) {
      sprintf("%s: %s was '%s', and is '%s' now", found$host, found$file, found$found, found$left)
    }
  )
}

setting_table <- function(result) {
  rows <- result$rows
  new_table(
    label = col_words("setting", rows$label),
    estimate = col_number("change", rows$estimate, format_effect, "%"),
    ci_low = col_interval(paste(format_confidence(2 * result$alpha), "CI"), rows$ci_low, rows$ci_high),
    writing_percent = col_number("writing", rows$writing_percent, plain),
    preempted_percent = col_number("other tasks", rows$preempted_percent, format_effect),
    n = col_number("n", rows$n), outcome = col_verdict("outcome", rows$outcome),
    by = paste0(panel_name(rows), ", ", format_level(rows$ranks), " ranks")
  )
}

setting_view <- function(result, operands) {
  units <- c(pair = "sets of blocks", launch = "launches")
  legend <- paste0(
    "change: of the time, above 0 is slower; writing: what writing may cost, percent; other tasks: CPU time ",
    "on ",
    "the ranks' CPUs more than with the reference, percent of one CPU; n: ",
    join_words(unique(units[result$rows$unit_of_inference]))
  )
  new_view(setting_sentences(result), setting_table(result), legend, settings_left(result$campaign),
           length(unique(result$notes)), all_command(operands, "setting"), report_beside(operands))
}

analyze_setting <- function(operands, values, form) {
  values <- as_asked(values, operands, "margin")
  o <- tested_options(values)
  result <- compare_settings(read_campaign(operands), o$margin, o$alpha, o$power)
  without_se <- function(rows) rows[setdiff(names(rows), "se")]
  answered(form, values$table,
           c(o[c("alpha", "power")],
             list(margin_percent = o$margin, answer = result$answer, took_s = result$took_s)),
           list(estimates = setting_estimates(result), rows = without_se(result$rows),
                writing = without_se(result$writing), settings = result$settings),
           result$notes, list(setting_part(result)), setting_view(result, operands),
           c(setting_sentences(result), result$notes), if (!is.null(o$margin)) result$answer)
}

setting_estimates <- function(result) {
  rows <- result$rows
  as_estimates(rows, "setting_change_percent", channel = "time", main = TRUE, value = rows$estimate,
               confidence = 1 - 2 * result$alpha, n_unit = rows$unit_of_inference, verdict = rows$outcome)
}
