# Which configuration to measure with: one that repeats, and reacts to a load.

# A clean time that scatters more than this from launch to launch, in percent, is not reproducible.
reproducible_percent <- 5

# Per configuration (operation, size, ranks, design, operations in a block; treatment): how well its clean
# time repeats over launches, and whether it reacts to the highest level (sign-flip test, Holm over
# configurations). The figure of merit is the detection limit as a level times the root of the machine time
# (wall time times nodes) of its pairs, percent of one CPU times root of a second; the best comes first.
# `spread`: largest coefficient of variation over launches, in percent, of what is called reproducible.
# Khudoleeva and Stefanov (2021), stage 1; Zou and Donner (2008) for the interval of the quotient.
stability_table <- function(campaign, alpha = 0.01, power = 0.95, spread = reproducible_percent) {
  pairs <- pair_rows(campaign$rows)
  if (length(pairs$off) == 0) {
    abort_data("no complete pair in ", paste(campaign$dirs, collapse = " "),
               ": let the launches go on for longer")
  }
  pairs$d <- measure_pairs(campaign, pairs, "time")$differences$time
  pairs$known <- is.finite(pairs$d)
  cells <- pairs$cells
  cells$count <- vapply(campaign$launches, function(info) as.numeric(info$options$count %||% NA),
                        0)[cells$launch]
  columns <- c("operation", "bytes", "ranks", "design", "count", intersect(treatment_columns, names(cells)))
  parts <- lapply(split(seq_len(nrow(cells)), in_order(row_key(cells, columns))), function(at) {
    cbind(cells[at[1], columns], configuration_row(campaign, pairs, at, alpha, power))
  })
  table <- bind_rows(unname(parts))
  table$p_holm <- stats::p.adjust(table$p_one_sided, "holm")
  table$reacts <- !is.na(table$p_holm) & table$p_holm <= alpha
  # The upper bound of the scatter of launches lies below, its lower bound above, or neither does.
  table$reproducible <- ifelse(
    (table$cv_launches_high_percent <= spread) %in% TRUE, "reproducible",
    ifelse((table$cv_launches_low_percent > spread) %in% TRUE, "not reproducible", "undecided")
  )
  table$suitable <- table$reacts & table$reproducible == "reproducible"
  table$reason <- vapply(seq_len(nrow(table)), function(i) unsuitable_reason(table[i, ], alpha, spread), "")
  # A configuration that does not react has no figure of merit that means anything.
  table[c("merit", "merit_low", "merit_high", "lod_percent")][!table$reacts, ] <- NA_real_
  table <- table[order(!table$suitable, table$merit, -table$reacts), ]
  rownames(table) <- NULL
  table
}

configuration_row <- function(campaign, pairs, at, alpha, power) {
  cells <- pairs$cells[at, ]
  of_level <- function(level) which(pairs$cell %in% at[cells$level_requested_percent == level] & pairs$known)
  clean <- clean_figures(campaign, cells, 1 - 2 * alpha)
  top <- max(cells$level_requested_percent)
  blank <- of_level(min(cells$level_requested_percent))
  reference <- if (top > 0) of_level(top) else integer()
  effect <- reaction(campaign, pairs, reference, top, alpha)
  limit <- randomisation_inference(pairs$d[blank], alpha, power)
  cbind(clean, effect, merit_row(limit, effect, machine_seconds(campaign, pairs, blank), alpha))
}

reaction <- function(campaign, pairs, at, level, alpha) {
  d <- pairs$d[at]
  est <- randomisation_inference(d, alpha, with_limit = FALSE)
  delivered <- mean_or_na(campaign$rows[["level_delivered_percent"]][pairs$on[at]])
  # A test that could not reach alpha with these pairs says nothing.
  able <- length(d) >= pairs_needed(alpha) && isTRUE(est$se > 0)
  percent <- function(x) to_effect("time", x)
  data.frame(n_pairs = length(d), level_requested_percent = if (length(at) > 0) level else NA_real_,
             level_delivered_percent = delivered,
             slowdown_percent = percent(est$estimate), slowdown_low_percent = percent(est$low),
             slowdown_high_percent = percent(est$high), p_one_sided = if (able) est$p else NA_real_)
}

# How the clean time repeats.
clean_figures <- function(campaign, cells, conf) {
  rows <- campaign$rows
  off <- which(
    rows[["arm"]] == "off" & rows[["launch"]] %in% cells$launch & rows[["operation"]] == cells$operation[1] &
      rows[["bytes"]] == cells$bytes[1]
  )
  time <- operation_ns_at(rows, off)
  known <- is.finite(time) & time > 0
  means <- as.numeric(tapply(time[known], in_order(rows[["launch"]][off][known]), mean))
  over <- relative_error(means, conf)
  # The RSE is the CV over the root of the number of launches.
  root <- sqrt(over$n_launches)
  lockin <- !identical(as.character(cells$design[1]), "blocks") &&
    !identical(as.character(cells$design[1]), "single")
  asked <- unlist(lapply(campaign$launches[unique(cells$launch)], function(info) {
    info$options$half_period_ns
  })) / 1e9
  half_s <- if (lockin && length(asked) > 0) {
    stats::median(asked)
  } else {
    stats::median(rows[["wall_ns"]][off]) / 1e9
  }
  data.frame(half_s = half_s, n_launches = length(means), mean_ns = mean(means),
             cv_launches_percent = over$rse_percent * root,
             cv_launches_low_percent = over$rse_low_percent * root,
             cv_launches_high_percent = over$rse_high_percent * root)
}

# Wall time of the pairs `at` times nodes: of each launch the share that its pairs have in it.
machine_seconds <- function(campaign, pairs, at) {
  rows <- campaign$rows
  launch <- rows[["launch"]]
  sum(0, vapply(split(at, in_order(as.character(launch[pairs$on[at]]))), function(mine) {
    id <- as.character(launch[pairs$on[mine[1]]])
    all <- which(launch == id)
    span <- (max(rows[["start_ns"]][all] + rows[["wall_ns"]][all]) - min(rows[["start_ns"]][all])) / 1e9
    span * length(mine) / sum(launch[pairs$on] == id) * (campaign$launches[[id]]$nodes %||% 1)
  }, 0))
}

# The limit in slowdown and in level, and the level times the root of the time. The interval of the quotient
# limit / slope comes from those of the two, on the scale of logs.
merit_row <- function(blank, effect, machine_s, alpha) {
  limit <- blank$limit
  factor <- sqrt(blank$df / stats::qchisq(c(1 - alpha, alpha), blank$df))
  level <- if (is.na(effect$level_delivered_percent)) {
    effect$level_requested_percent
  } else {
    effect$level_delivered_percent
  }
  if (!isTRUE(has_level(level))) level <- NA_real_
  slope <- c(effect$slowdown_percent, effect$slowdown_low_percent, effect$slowdown_high_percent) / level
  limit_percent <- to_effect("time", limit)
  known <- isTRUE(slope[1] > 0) && !is.na(limit)
  lod <- if (known) limit_percent / slope[1] else NA_real_
  merit <- lod * sqrt(machine_s)
  low <- if (known) exp(-sqrt(log(factor[1])^2 + log(slope[3] / slope[1])^2)) else NA_real_
  high <- if (known && isTRUE(slope[2] > 0)) {
    exp(sqrt(log(factor[2])^2 + log(slope[1] / slope[2])^2))
  } else {
    NA_real_
  }
  data.frame(limit_percent = limit_percent, lod_percent = lod, machine_s = machine_s, merit = merit,
             merit_low = merit * low, merit_high = merit * high)
}

unsuitable_reason <- function(row, alpha, spread) {
  if (row$suitable) return(NA_character_)
  paste(c(if (!row$reacts) {
      if (is.na(row$p_one_sided)) {
        if (is.na(row$level_requested_percent)) "no level above 0" else {
          sprintf("%d pairs, a test at alpha %g needs %d that differ", row$n_pairs, alpha,
                  pairs_needed(alpha))
        }
      } else "does not react"
    }, if (row$n_launches < reproducibility_launches) {
      sprintf("%d launch%s, reproducibility needs %d", row$n_launches, if (row$n_launches == 1) "" else "es",
              reproducibility_launches)
    } else if (row$reproducible == "not reproducible") {
      sprintf("not reproducible (CV over launches above %g %%)", spread)
    } else if (row$reproducible == "undecided") {
      sprintf(
        paste0("reproducible or not is undecided: over %d launches the CV is %s %%, and %s %g %% is not ",
               "shown; run more launches"),
        row$n_launches,
        plain(row$cv_launches_percent),
        if (row$cv_launches_percent <= spread) "below" else "above",
        spread
      )
    }), collapse = "; ")
}

# Of the configurations that are reproducible and react, the one with the best figure of merit: `row` (NULL:
# none), `why` (sentences), `equal` (names of those whose interval reaches the best's figure), `commands`
# (how to go on). Khudoleeva, A. and Stefanov, K. (2021) doi:10.14529/cmse210105 (stage 1).
recommend_configuration <- function(table) {
  suitable <- table[table$suitable & !is.na(table$merit), ]
  if (nrow(suitable) == 0) {
    open <- table[table$reacts & table$reproducible == "undecided", ]
    return(list(
      row = NULL,
      equal = character(),
      commands = character(),
      why = if (nrow(table) == 0) {
        "there is no configuration"
      } else {
        c(
          "no configuration is shown to be reproducible and to react",
          sprintf("%s reacts and may be reproducible: run more launches",
                  utils::head(configuration_name(open), 1))
        )
      }
    ))
  }
  suitable <- suitable[order(suitable$merit), ]
  best <- suitable[1, ]
  rest <- suitable[-1, ]
  equal <- rest[!is.na(rest$merit_low) & !is.na(best$merit_high) & rest$merit_low <= best$merit_high, ]
  list(row = best, why = recommendation_words(best), equal = configuration_name(equal),
       commands = recommendation_commands(best))
}

recommendation_words <- function(best) {
  c(sprintf("it reacts: %s %% slower at a level of %s %%, p = %s (Holm)", plain(best$slowdown_percent),
            format_level(best$level_requested_percent), format_p(best$p_holm)),
    sprintf("it is reproducible: launches scatter by %s %%, and by no more than %s %%",
            plain(best$cv_launches_percent), plain(best$cv_launches_high_percent)),
    paste("it senses most for its time: in one second of the machine", format_level(best$merit),
          "% of one CPU, falling as the root of the seconds"))
}

configuration_name <- function(rows) {
  if (nrow(rows) == 0) return(character())
  paste0(panel_name(rows), ", ", format_level(rows$ranks), ifelse(rows$ranks == 1, " rank", " ranks"),
         ifelse(is.na(rows$count), ifelse(rows$design == "lockin", "", paste0(", ", rows$design)),
                paste0(", blocks of ", format_count_each(rows$count))))
}

recommendation_commands <- function(best) {
  blocks <- best$design != "lockin"
  cell <- paste0("--op ", best$operation, if (best$bytes > 0) paste(" --bytes", format_count(best$bytes)),
                 " --ranks ", format_count(best$ranks))
  how <- if (blocks) {
    paste0("--design blocks --block ", format_seconds(signif(best$half_s, 2)),
           if (!is.na(best$count)) paste(" --count", format_count(best$count)))
  } else paste("--half-period", format_seconds(best$half_s))
  c(if (!blocks) paste("noiselab plan --detect 0.1%", cell, how, "--pilot DIR"),
    paste("noiselab run sensitivity", cell, how, "--levels 0,0.1,0.3,1"))
}

# ---- noiselab analyze stability ----------------------------------------------------------------

word_stability <- function() {
  list(
    operands = "DIR...",
    options = c("alpha", "spread"),
    run = analyze_stability,
    question = "Which operation, size and number of ranks is the one to measure with?",
    sentences = function(analysis) {
      stability_sentences(recommend_configuration(stability_table(analysis$campaign, analysis$alpha)))
    },
    help = c(
      "which configuration (operation, size, ranks, count) repeats and reacts to the highest level, and",
      "what to measure with; status 3 when none does both"
    )
  )
}

analyze_stability <- function(operands, values, form) {
  alpha <- alpha_option(values$alpha)
  spread <- percent_option("spread", values$spread, "5", reproducible_percent)
  campaign <- read_campaign(operands)
  table <- stability_table(campaign, alpha, spread = spread)
  advice <- recommend_configuration(table)
  pilot <- paste("--pilot", paste(vapply(operands, quote_word, ""), collapse = " "))
  advice$commands <- sub("--pilot DIR", pilot, advice$commands, fixed = TRUE)
  notes <- brief_notes(campaign)
  best <- if (is.null(advice$row)) NA_character_ else configuration_name(advice$row)
  lines <- answered(
    form,
    NULL,
    list(alpha = alpha, spread_percent = spread,
         recommendation = c(list(name = best), lapply(pick(advice, c("why", "equal", "commands")), texts))),
    list(rows = table),
    notes,
    list(new_part("what follows", NULL, NULL, c(paste("-", advice$why), advice$commands))),
    stability_view(table, advice, alpha, spread, notes, operands)
  )
  write_output(as_lines(lines, values), values$out)
  # Said after the table is printed: the table is the reason.
  if (is.null(advice$row)) {
    abort_data(
      "stability: ", paste(advice$why, collapse = "; "),
      ": run more launches (--launches), for longer (--seconds), or try other operations, sizes and counts"
    )
  }
  NULL
}

how_measured <- function(table) {
  timed <- paste0(format_seconds(table$half_s),
                  ifelse(table$design == "lockin", "", paste0(" ", table$design)))
  ifelse(is.na(table$count), timed, paste0("x", format_count_each(table$count)))
}

stability_sentences <- function(advice) {
  best <- advice$row
  if (is.null(best)) return(upper_first(paste0(advice$why, ".")))
  c(sprintf("Measure with %s: %s.", configuration_name(best), advice$why[1]),
    upper_first(paste0(advice$why[2], ".")),
    if (length(advice$equal) > 0) {
      sprintf("%s could not be distinguished from it.", few_words(advice$equal, 3))
    })
}

# On one screen: what to measure with and why, then every configuration.
stability_view <- function(table, advice, alpha, spread, notes, operands) {
  best <- advice$row
  shown <- stability_rows(
    table,
    list(
      cv_launches_percent = col_number("CV", table$cv_launches_percent, plain, "%"),
      cv_launches_low_percent = col_number(
        confidence_name(2 * alpha), table$cv_launches_low_percent,
        format_interval(table$cv_launches_low_percent, table$cv_launches_high_percent, plain)
      ),
      slowdown_percent = col_number("slower", table$slowdown_percent, format_effect, "%"),
      slowdown_low_percent = col_interval(confidence_name(2 * alpha), table$slowdown_low_percent,
                                          table$slowdown_high_percent),
      merit = col_number("merit", table$merit, format_level),
      suitable = col_words("suitable", ifelse(table$suitable, "yes", "no"))
    )
  )
  new_view(
    stability_sentences(advice),
    shown,
    sprintf(
      paste0("CV: scatter of the clean time over launches, at most %g %% wanted; merit: level within reach ",
             "of one second, low is good"),
      spread
    ),
    c(
      if (length(advice$commands) > 0) {
        paste("go on with:", advice$commands[length(advice$commands)])
      },
      not_suitable_words(table)
    ),
    length(unique(notes)),
    all_command(operands, "stability"),
    report_beside(operands)
  )
}

# Where there are several treatments, each has a line above its rows.
stability_rows <- function(table, columns) {
  label <- treatment_label(table, varying_factors(table), named = TRUE)
  do.call(
    new_table,
    c(
      list(operation = col_words("operation", table$operation), bytes = col_number("bytes", table$bytes),
           ranks = col_number("ranks", table$ranks), half = col_words("half", how_measured(table))),
      columns,
      list(by = if (any(nzchar(label))) label)
    )
  )
}

confidence_name <- function(alpha) sprintf("%g %% CI", 100 * (1 - alpha))

# Each reason once, with the configurations that it keeps out.
not_suitable_words <- function(table) {
  not <- table[!table$suitable, ]
  if (nrow(not) == 0) return(character())
  left <- vapply(split(configuration_name(not), in_order(not$reason)), paste, "", collapse = "; ")
  unname(sprintf("not suitable, %s: %s", names(left), left))
}
