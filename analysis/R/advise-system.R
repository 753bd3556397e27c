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
# p-value is at most 2 alpha with Holm's correction over all arms, operations, sizes and parts. The placebo
# writes the reference's values again, so what writing costs is in it as in the arm: an arm has to differ, to
# the same side, from the reference and from the placebo of the same set, and the larger p-value of both
# counts (intersection-union; R. L. Berger, Technometrics 24, 1982). Where halves show the arm before them
# (carry_over()) nothing is stated. `margin`: percent, on both sides; NULL: none, and "no difference" cannot
# be found.
#
# A difference may be shown by five parts (setting_parts), and the first that shows it leads. The time of
# operations that nothing interrupts, and of interruptions (slices of the loop far above the median of those
# around them, or operations far above the pilot's median), whose excess is seldom, long, and nearly all of
# the scatter beside other tasks: both together are what is paid (`all`).
# Sets across which the machine changed its speed are in no part of it (set_states()). The same in sets within
# which it kept its speed (`steady`): where the machine's speed jumps, a few sets make nearly all of the
# scatter. Of these the first part of the time alone (`undisturbed`). Of all sets what those tasks take that
# are shown to take more or less (`tasks`, task_effects()), and the second part alone (`interruptions`); a
# machine's speed is in neither. Where parts of the time are shown to change to opposite sides, and nothing
# shows which is more, nothing is stated. "No difference" is only stated of `all`: a load that a setting
# starts is all interruptions, and what it does now and then makes sets unlike others.
#
# A list: `rows`, a data frame, one row per operation, size and arm: `operation`, `bytes`, `ranks`, `kind`,
# `label` ("KEY OTHER instead of REFERENCE"), `estimate`, `ci_low`, `ci_high` (percent of the time, above 0:
# slower), `p_two_sided` (against the reference), `rewritten_percent`, `rewritten_low`, `rewritten_high`,
# `rewritten_p` (the same against the placebo), `p_holm` (of both together), the same of the other parts as
# `PART_percent`, `PART_low`, `PART_high`, `PART_p`, `PART_rewritten_percent` and so on, `PART_p_holm`;
# `writing_percent`, `undisturbed_writing_percent` (upper bound of what writing costs), `n`,
# `unit_of_inference`, `sets`, `stepped_sets`, `steady_sets` (their numbers), `outcome` (slower, faster, no
# difference, undecided), `by` (the part that shows the difference), `taken_by` (the tasks of the part
# `tasks`), `reason` (why it is undecided, else NA), `needs_s` (how long a run would decide, NA: not known),
# `preempted_percent` (CPU time of other tasks on the ranks' CPUs more than with the reference, percent of one
# CPU), `settling_percent` (effect of the arm before, of this arm's), `settling_p`; `tasks` (those of
# task_effects(), with `label`; NULL: not known); `writing` (as `rows`, of the placebo); `margin`, `alpha`,
# `power`, `answer` (with a margin: pass, fail, inconclusive), `settings` (each file, what was found and is
# now), `notes`, `took_s`.
compare_settings <- function(campaign, margin = NULL, alpha = 0.01, power = 0.95) {
  dirs <- paste(campaign$dirs, collapse = " ")
  if (!has_settings(campaign)) abort_data("no launch of ", dirs, " compares settings (noiselab run setting)")
  told <- unique(lapply(unname(campaign$launches), settings_of))
  if (length(told) > 1) abort_data("these launches compare different settings: analyse them one by one")
  pairs <- pair_rows(campaign$rows)
  if (length(pairs$off) == 0) abort_data("no complete set of arms in ", dirs, ": measure for longer")
  interrupted <- interrupted_share(campaign)
  campaign$rows$interrupted_share <- as.numeric(interrupted)
  settings <- list(alpha = alpha, power = power, conf = 1 - 2 * alpha)
  all <- arm_effects(campaign, pairs, settings)
  of_tasks <- task_effects(campaign, pairs, all, settings)
  all <- of_tasks$rows
  all[c("settling_percent", "settling_p")] <- surest_carry_over(campaign$rows, all)
  writing <- all[all$kind == placebo_arm, ]
  rows <- all[all$kind != placebo_arm, ]
  cell <- c("operation", "bytes", "ranks")
  arms <- vapply(told[[1]]$arms, function(arm) as.character(arm$kind), "")
  rows <- rows[order(match(row_key(rows, cell), unique(row_key(rows, cell))), match(rows$kind, arms)), ]
  rows$writing_percent <- writing_bound(writing)[match(row_key(rows, cell), row_key(writing, cell))]
  rows$writing_percent[is.na(rows$writing_percent)] <- Inf
  rows$undisturbed_writing_percent <-
    writing_bound(with_part(writing, "undisturbed"))[match(row_key(rows, cell), row_key(writing, cell))]
  rows$label <- arm_labels(told[[1]])[rows$kind]
  if (!is.null(of_tasks$tasks)) of_tasks$tasks$label <- arm_labels(told[[1]])[of_tasks$tasks$kind]
  p <- vapply(setting_parts, function(part) p_of_both(rows, part), numeric(nrow(rows)))
  p[] <- stats::p.adjust(p, "holm")
  rows[vapply(setting_parts, part_column, "", "p_holm")] <- as.data.frame(matrix(p, nrow(rows)))
  took_s <- campaign_seconds(campaign)
  rows <- judge_settings(rows, margin, settings, took_s)
  rownames(rows) <- NULL
  list(rows = rows, writing = writing, margin = margin, alpha = alpha, power = power,
       answer = if (!is.null(margin)) setting_answer(rows, margin), settings = kept_settings(campaign),
       mechanisms = setting_mechanisms(campaign, told[[1]], alpha),
       tasks = of_tasks$tasks,
       notes = c(campaign$notes, attr(interrupted, "notes"), of_tasks$notes, left_out_words(all),
                 settings_left(campaign)),
       took_s = took_s,
       campaign = campaign)
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
# `settling_percent`, `settling_p`; NA of the placebo. `time`: of an operation, by rows.
carry_over <- function(rows, cells, time = operation_ns) {
  rows <- as.data.frame(rows)[order(as.character(rows[["launch"]]), rows[["start_ns"]]), ]
  rows$state <- ifelse(rows$arm == "off" | rows$kind %in% placebo_arm, "", as.character(rows$kind))
  follows <- c(FALSE, rows$launch[-1] == rows$launch[-nrow(rows)])
  rows$before <- ifelse(follows, c(NA, rows$state[-nrow(rows)]), NA)
  rows$x <- log_or_na(time(rows))
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

# The carry-over of all or of undisturbed operations, whichever is surer, its p-value for two of them.
surest_carry_over <- function(rows, cells) {
  all <- carry_over(rows, cells)
  quiet <- carry_over(rows, cells, undisturbed_ns)
  known <- is.finite(quiet$settling_p)
  surer <- known & (quiet$settling_p < all$settling_p | is.na(all$settling_p))
  p <- ifelse(surer, quiet$settling_p, all$settling_p)
  data.frame(settling_percent = ifelse(surer, quiet$settling_percent, all$settling_percent),
             settling_p = ifelse(known, pmin(1, 2 * p), p))
}

# Seconds from the first half to the last, of all launches.
campaign_seconds <- function(campaign) {
  rows <- campaign$rows
  launch <- as.character(rows[["launch"]])
  ends <- tapply(rows[["start_ns"]] + rows[["wall_ns"]], launch, max)
  sum(ends - tapply(rows[["start_ns"]], launch, min)) / 1e9
}

over_both <- "the interval reaches over both"

# The first of the parts that shows a difference leads.
judge_settings <- function(rows, margin, settings, took_s) {
  most <- 2 * settings$alpha
  n <- nrow(rows)
  by_part <- function(f) matrix(unlist(lapply(setting_parts, f)) %in% TRUE, n)
  reference <- by_part(function(part) of_part(rows, part, "p") <= most)
  both <- by_part(function(part) p_of_both(rows, part) <= most)
  found <- by_part(function(part) of_part(rows, part, "p_holm") <= most)
  # what a part changes, the whole is to show as well, as far as it is known; it may show more
  fits <- by_part(function(part) {
    less <- ifelse(of_part(rows, part, "percent") > 0, of_part(rows, part, "low") > rows$ci_high,
                   of_part(rows, part, "high") < rows$ci_low)
    !(part %in% parts_of_time & less %in% TRUE)
  })
  shown <- found & fits
  by <- apply(shown, 1, function(row) which(row)[1])
  against <- against_each_other(rows, found, by)
  unsettled <- (rows$settling_p * max(1, sum(!is.na(rows$settling_p))) <= settings$alpha) %in% TRUE
  within <- !is.null(margin) & (rows$ci_low > -(margin %||% 0) & rows$ci_high < (margin %||% 0)) %in% TRUE
  why <- vapply(seq_len(n), function(i) {
    if (against[i] && !within[i]) return(opposite_words(rows[i, ], found[i, ]))
    if (!is.na(by[i]) || within[i]) return(NA_character_)
    if (any(found[i, ])) return(outside_words(rows[i, ], setting_parts[found[i, ]][1]))
    if (any(both[i, ])) return("it differs by itself, but not with all comparisons counted together")
    alone <- which(reference[i, ])
    if (length(alone) == 0) return(over_both)
    not_from_rewritten(rows[i, ], setting_parts[alone[1]])
  }, "")
  why[unsettled] <- sprintf("blocks still show the setting before them (by %s %%), so it settles more slowly",
                            plain(abs(rows$settling_percent[unsettled])))
  rows$reason <- ifelse(is.na(rows$reason), why, rows$reason)
  rows$by <- setting_parts[ifelse(within | is.na(by), 1, by)]
  leading <- vapply(seq_len(n), function(i) of_part(rows[i, ], rows$by[i], "percent"), 0)
  rows$outcome <- ifelse(!is.na(rows$reason), "undecided",
                  ifelse(within, "no difference", ifelse(leading > 0, "slower", "faster")))
  # as if the estimates were the truth: until neither interval of a part holds 0, or that of all lies within
  # the margin
  z <- stats::qnorm(1 - settings$alpha) + stats::qnorm(settings$power)
  size <- function(percent) abs(log1p(percent / 100))
  times_for <- function(se, distance) (z * se / distance)^2
  to_differ <- lapply(setting_parts, function(part) {
    of <- function(name) of_part(rows, part, name)
    pmax(times_for(of("se"), size(of("percent"))),
         times_for(of("rewritten_se"), size(of("rewritten_percent"))), na.rm = TRUE)
  })
  room <- if (is.null(margin)) 0 else pmax(0, log1p(margin / 100) - size(rows$estimate))
  times <- do.call(pmin, c(to_differ, list(times_for(rows$se, room), na.rm = TRUE)))
  open <- rows$outcome == "undecided" & !unsettled & is.finite(times)
  rows$needs_s <- ifelse(open, took_s * pmax(1, times), NA_real_)
  rows
}

# Parts of the time are shown to differ to opposite sides, and no part with all of it shows a difference.
parts_of_time <- c("undisturbed", "tasks", "interruptions")

against_each_other <- function(rows, found, by) {
  sides <- vapply(parts_of_time, function(part) {
    ifelse(found[, match(part, setting_parts)], sign(of_part(rows, part, "percent")), 0)
  }, numeric(nrow(rows)))
  sides <- matrix(sides, nrow(rows))
  !setting_parts[by] %in% c("all", "steady") & apply(sides, 1, min) < 0 & apply(sides, 1, max) > 0
}

outside_words <- function(row, part) {
  sprintf("%sit changes by %s, and all of the time together by less", where_part[[part]],
          setting_change_words(with_part(row, part)))
}

opposite_words <- function(row, found) {
  parts <- intersect(setting_parts[found], parts_of_time)
  each <- vapply(parts, function(part) {
    sprintf("%s by %s", sub(", $", "", where_part[[part]]), setting_change_words(with_part(row, part)))
  }, "")
  paste("parts of it change to opposite sides:", join_words(each))
}

where_part <- c(all = "", steady = "where the machine keeps its speed, ",
                undisturbed = "where nothing interrupts it, ",
                tasks = "by what tasks take of its ranks' CPUs, ", interruptions = "by what interrupts it, ")

not_from_rewritten <- function(row, part) {
  said <- function(name) format_effect(of_part(row, part, paste0("rewritten_", name)))
  written <- if (is.na(of_part(row, part, "rewritten_percent"))) {
    "what writing alone costs was not measured"
  } else {
    sprintf("not, to the same side, from the same value written again (%s %%, %s to %s)",
            said("percent"), said("low"), said("high"))
  }
  sprintf("%sit differs from the reference, but %s", where_part[[part]], written)
}

# Is no value slower by more than the margin? Fail where one is shown to be.
setting_answer <- function(rows, margin) {
  # of a part alone, where all together may be as much; boots have no parts
  by <- rows[["by"]] %||% rep("all", nrow(rows))
  low <- vapply(seq_len(nrow(rows)), function(i) of_part(rows[i, ], by[i], "low"), 0)
  above <- rows$outcome == "slower" & low > margin & rows$ci_high >= margin
  below <- rows$outcome != "undecided" & rows$ci_high < margin
  if (any(above)) "fail" else if (all(below)) "pass" else "inconclusive"
}

# By which mechanism: mechanism_changes() of each arm against the reference, and of the reference against the
# arm, as a setting may take something away; `label` says which against which, `more_with` whether it is more
# with the `arm` or the `reference`. NULL: nothing was counted.
setting_mechanisms <- function(campaign, told, alpha = 0.01) {
  rows <- bind_rows(lapply(c("arm", "reference"), function(side) {
    got <- mechanism_changes(campaign, alpha, swapped = side == "reference")
    got <- if (NROW(got) > 0) got[got$kind != placebo_arm, ]
    if (NROW(got) == 0) return(NULL)
    labels <- arm_labels(told, reversed = side == "reference")
    cbind(label = unname(labels[as.character(got$kind)]), more_with = side, got)
  }))
  if (NROW(rows) > 0) rows
}

# "kernel.numa_balancing 0 instead of 1", by arm; `reversed`: "kernel.numa_balancing 1 instead of 0".
arm_labels <- function(told, reversed = FALSE) {
  keys <- vapply(told$settings, function(one) printable(one$key), "")
  reference <- vapply(told$settings, function(one) printable(one$values[[1]]), "")
  labels <- vapply(told$arms, function(arm) {
    values <- vapply(arm$values, printable, "")
    if (all(values == reference)) return("the references written again")
    sides <- if (reversed) list(reference, values) else list(values, reference)
    join_words(sprintf("%s %s instead of %s", keys, sides[[1]], sides[[2]])[values != reference])
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
    # of one task that decides all is said
    if (!all(rows$by %in% "tasks" & !grepl(",| and ", rows$taken_by))) task_words(result$tasks),
    unlist(lapply(by_label(result), function(mine) mechanism_words(mine, mine$label[1])), use.names = FALSE),
    sprintf("Intervals have %s confidence, both sides counted; %s %s %%%s.",
            format_confidence(2 * result$alpha), "writing the same value again costs at most",
            plain(max(writing_bound(result$writing))), quiet_writing_words(result))
  )
}

quiet_writing_words <- function(result) {
  most <- max(writing_bound(with_part(result$writing, "undisturbed")))
  if (!is.finite(most)) return("")
  sprintf(", %s %% where nothing interrupts the operations", plain(most))
}

setting_sentence <- function(row, margin) {
  what <- panel_name(row)
  range <- sprintf("%s to %s", format_effect(row$ci_low), format_effect(row$ci_high))
  leading <- with_part(row, row$by)
  ends <- sort(abs(c(leading$ci_low, leading$ci_high)))
  switch(
    row$outcome,
    slower = ,
    faster = paste0(
      sprintf("%s makes %s %s %% %s (%s to %s)", row$label, what, plain(abs(leading$estimate)), row$outcome,
              plain(ends[1]), plain(ends[2])),
      c(all = "",
        steady = sprintf(" in %s of %s sets of blocks, those in which the machine kept its speed",
                         format_level(row$steady_sets), format_level(row$sets)),
        undisturbed = " where nothing interrupts it",
        tasks = sprintf(" by what %s %s of its ranks' CPUs", row$taken_by,
                        if (grepl(",| and ", row$taken_by)) "take" else "takes"),
        interruptions = " by what interrupts it")[[row$by]],
      if (row$by != "all") {
        sprintf("; %s the change is %s, which does not decide",
                c(steady = "in all of them", undisturbed = "with interruptions", tasks = "all together",
                  interruptions = "all together")[[row$by]],
                setting_change_words(row))
      },
      "."
    ),
    "no difference" = sprintf("%s makes no difference to %s beyond +-%s %%: the change is %s %% (%s).",
                              row$label, what, format_level(margin), format_effect(row$estimate), range),
    undecided = sprintf("%s: this run does not decide whether it changes %s (%s %%, %s), because %s.%s%s",
                        row$label, what, format_effect(row$estimate), range, undecided_because(row, margin),
                        sharper_words(row), decides_in(row$needs_s))
  )
}

sharper_words <- function(row) {
  said <- function(part) setting_change_words(with_part(row, part))
  known <- function(part) is.finite(of_part(row, part, "high"))
  paste(c(
    if (known("steady")) {
      sprintf(" Where the machine kept its speed (%s of %s sets of blocks) the change is %s.",
              format_level(row$steady_sets), format_level(row$sets), said("steady"))
    },
    if (known("undisturbed") && !known("steady")) {
      sprintf(" Where nothing interrupts it the change is %s.", said("undisturbed"))
    },
    if (known("interruptions")) sprintf(" What interrupts it changes it by %s.", said("interruptions"))
  ), collapse = "")
}

# "+0.07 % (-0.14 to +0.28)"
setting_change_words <- function(row) {
  sprintf("%s %% (%s to %s)", format_effect(row$estimate), format_effect(row$ci_low),
          format_effect(row$ci_high))
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
    c(
      part_remarks(all, labels),
      if (NROW(found) > 0) {
        sprintf("%s: %s was '%s', and is '%s' now", found$host, found$file, found$found, found$left)
      }
    )
  )
}

by_label <- function(result) {
  rows <- result$mechanisms
  if (is.null(rows)) list() else split(rows, in_order(rows$label))
}

# What tasks take more or less with each value.
setting_task_parts <- function(result) {
  rows <- result$tasks
  if (NROW(rows) == 0) return(NULL)
  list(new_part(
    sprintf("what tasks take more of the ranks' CPUs (%s CI; percent of one CPU, mean of a node)",
            format_confidence(2 * result$alpha)),
    new_table(
      label = col_words("arm", rows$label), task = col_words("task", rows$task),
      percent = col_number("more", rows$percent, format_effect, "%"),
      low = col_interval("interval", rows$low, rows$high),
      rewritten_percent = col_number("than rewritten", rows$rewritten_percent, format_effect, "%"),
      p_holm = col_number("p (Holm)", rows$p_holm, format_p),
      named = col_words("named", ifelse(rows$named, "yes", "")), by = panel_name(rows)
    )
  ))
}

# A table for each arm, and for the reference against it.
setting_mechanism_parts <- function(result) {
  unname(lapply(by_label(result), function(mine) {
    new_part(
      sprintf("what is counted more with %s (%g %% CI; a node's ranks' CPUs together)", mine$label[1],
              100 * (1 - 2 * result$alpha)),
      mechanism_columns(mine),
      remarks = uncounted_notes(result$campaign)
    )
  }))
}

# Of each arm the change of the parts that not all blocks or times are in.
part_remarks <- function(rows, labels) {
  unlist(lapply(setdiff(setting_parts, "all"), function(part) {
    known <- which(is.finite(of_part(rows, part, "percent")))
    vapply(known, function(i) {
      sprintf("%s, %s, %s%s, p = %s", labels[i], panel_name(rows[i, ]), sub(",? $", ": ", where_part[[part]]),
              setting_change_words(with_part(rows[i, ], part)), format_p(of_part(rows[i, ], part, "p")))
    }, "")
  }), use.names = FALSE)
}

# Which sets are left out, and why; NULL: none is.
left_out_words <- function(rows) {
  stepped <- max(rows$stepped_sets)
  unlike <- max(0, rows$sets - rows$stepped_sets - rows$steady_sets, na.rm = TRUE)
  if (stepped + unlike == 0) return(NULL)
  paste0(
    sprintf("of %s sets of blocks", format_level(max(rows$sets))),
    if (stepped > 0) {
      sprintf(" up to %s are left out, because the sets before and after them have different speeds",
              format_level(stepped))
    },
    if (stepped > 0 && unlike > 0) ", and",
    if (unlike > 0) {
      sprintf(paste(" up to %s are in no part that is steady or undisturbed, because the machine's speed",
                    "changed within them"), format_level(unlike))
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
  warnings <- c(settings_left(result$campaign), busy_sentence(result$campaign))
  new_view(setting_sentences(result), setting_table(result), legend, warnings,
           length(unique(result$notes)), all_command(operands, "setting"), report_beside(operands))
}

analyze_setting <- function(operands, values, form) {
  values <- as_asked(values, operands, "margin")
  o <- tested_options(values)
  result <- compare_settings(read_campaign(operands), o$margin, o$alpha, o$power)
  without_se <- function(rows) rows[!grepl("(^|_)se$", names(rows))]
  answered(form, values$table,
           c(o[c("alpha", "power")],
             list(margin_percent = o$margin, answer = result$answer, took_s = result$took_s)),
           list(estimates = setting_estimates(result), rows = without_se(result$rows),
                writing = without_se(result$writing), settings = result$settings,
                mechanisms = result$mechanisms, tasks = result$tasks),
           result$notes,
           c(list(setting_part(result)), setting_task_parts(result), setting_mechanism_parts(result)),
           setting_view(result, operands),
           c(setting_sentences(result), result$notes), if (!is.null(o$margin)) result$answer)
}

setting_estimates <- function(result) {
  rows <- result$rows
  of <- function(part, quantity) {
    mine <- with_part(rows[is.finite(of_part(rows, part, "percent")), ], part)
    as_estimates(mine, quantity, channel = "time", main = part == "all", value = mine$estimate,
                 confidence = 1 - 2 * result$alpha, n_unit = mine$unit_of_inference, verdict = mine$outcome)
  }
  rbind(of("all", "setting_change_percent"), of("steady", "setting_steady_percent"),
        of("undisturbed", "setting_undisturbed_percent"),
        of("tasks", "setting_tasks_percent"), of("interruptions", "setting_interruptions_percent"))
}
