# A plan: for every operation and size what it takes, and the run that gives it to all of them.

# What is asked: one entry per goal. `effect` and `margin` on the scale of the channel's test.
plan_goals <- function(request) {
  scale <- function(x) if (channels[[request$channel]]$transform == "log_ratio") log1p(x / 100) else x
  say <- function(x) paste0(format_level(x), if (channel_is_relative(request$channel)) " %" else " points")
  what <- if (request$channel == "time") "a slowdown of" else paste("a change of", request$channel, "of")
  goals <- list()
  if (!is.null(request$detect)) {
    goals$detect <- list(effect = scale(request$detect), margin = NULL, text = paste("detect", what,
                                                                                     say(request$detect)))
  }
  if (!is.null(request$margin)) {
    goals$equivalence <- list(
      effect = scale(request$expect), margin = c(-Inf, scale(request$margin)),
      text = sprintf("show that it is below %s, if it is %s", say(request$margin), say(request$expect))
    )
  }
  goals
}

channel_is_relative <- function(channel) channels[[channel]]$transform == "log_ratio"

# request: list of detect, margin, expect (percent, or points; NULL where not asked), channel, alpha, power, operations,
# bytes, ranks, half_s, launches, levels (percent), n_levels; NULL where left open. campaign: of the pilot, or NULL.
make_plan <- function(request, campaign = NULL) {
  basis <- if (is.null(campaign)) assumed_basis(request) else pilot_basis(request, pilot_launches(campaign))
  basis$half_s <- request$half_s %||% basis$half_s
  scatters <- lapply(seq_len(nrow(basis$cells)), function(i) cell_scatter(basis, i, request))
  # One pair in each level, treatment, operation and size.
  arms <- nrow(basis$cells) * basis$n_arms
  basis$round_s <- 2 * arms * (basis$half_s + basis$overhead_s)
  across <- basis$n_launches > 1 && !identical(as.numeric(request$launches), 1)
  goals <- plan_goals(request)
  plan_rows <- function(launches, launches_upper) {
    bind_rows(lapply(names(goals), function(name) {
      bind_rows(lapply(seq_along(scatters), function(i) {
        cbind(goal = name, basis$cells[i, ],
              plan_cell(goals[[name]], scatters[[i]], basis, request, across, launches, launches_upper))
      }))
    }))
  }
  rows <- plan_rows(request$launches, request$launches)
  # All share the run's launches: the largest number of them, and what is then enough of pairs.
  if (across && !anyNA(rows$n_launches)) {
    most <- max(rows$n_launches_upper)
    rows <- plan_rows(max(rows$n_launches), if (is.na(most)) request$launches else most)
  }
  run <- plan_of_run(rows, basis, request, across, arms)
  list(request = request, goals = goals, basis = basis, cells = rows, run = run, across = across,
       command = plan_command(run, basis, request), notes = plan_notes(rows, run, basis, request, across))
}

assumed_basis <- function(request) {
  cells <- expand.grid(bytes = request$bytes %||% 2048, operation = request$operations %||% c("barrier", "allreduce",
                                                                                              "alltoall"),
                       stringsAsFactors = FALSE)
  cells$bytes[cells$operation %in% c("barrier", "ibarrier")] <- 0
  cells <- unique(cells)
  half <- request$half_s %||% 0.01
  list(cells = data.frame(operation = cells$operation, bytes = cells$bytes, ranks = request$ranks %||% NA_real_),
       half_s = half, overhead_s = assumed_overhead_s, launch_s = assumed_launch_s + assumed_warmup_s, n_launches = 0,
       levels = plan_levels(request, NULL), n_arms = plan_n_levels(request, NULL), extra = NULL,
       period_s = min(half, 0.01), scatter = assumed_scatter(request$channel, half))
}

pilot_basis <- function(request, campaign) {
  cells <- pilot_cells(request, campaign)
  scatter <- lapply(seq_len(nrow(cells)), function(i) {
    pilot_scatter(pilot_cell(campaign, cells$operation[i], cells$bytes[i], cells$ranks[i], request$channel),
                  request$channel)
  })
  costs <- pilot_costs(campaign)
  options <- lapply(campaign$launches, `[[`, "options")
  period <- max(0, unlist(lapply(options, `[[`, "period_ns"))) / 1e9
  treatments <- treatment_table(campaign)
  levels <- sort(unique(unlist(lapply(options, `[[`, "levels_percent"))))
  warmup <- max(0, unlist(lapply(options, `[[`, "warmup_ns"))) / 1e9
  # All cells share the run's half-period: the worst of them decides at each.
  tables <- bind_rows(lapply(scatter, `[[`, "table"))
  worst <- stats::aggregate(sd ~ half_s, tables, max)
  in_all <- table(tables$half_s)
  worst <- worst[in_all[as.character(worst$half_s)] == length(scatter), ]
  list(cells = cells, half_s = best_half(worst, costs$overhead_s, period), overhead_s = costs$overhead_s,
       launch_s = costs$launch_s + if (costs$launch_known) 0 else warmup, launch_known = costs$launch_known,
       n_launches = min(vapply(scatter, `[[`, 0, "n_launches")), levels = plan_levels(request, levels),
       n_arms = plan_n_levels(request, levels) * nrow(treatments), extra = treatment_words_of(treatments, campaign),
       period_s = period, pilot = scatter, dirs = campaign$dirs)
}

# Operations and sizes of the pilot that are planned for; asked for and not there is an error.
pilot_cells <- function(request, campaign) {
  rows <- campaign$rows
  first <- which(!duplicated(combine_keys(code_of(rows[["operation"]]), rows[["bytes"]], rows[["ranks"]])))
  there <- data.frame(operation = as.character(rows[["operation"]][first]), bytes = rows[["bytes"]][first],
                      ranks = rows[["ranks"]][first])
  there <- there[order(match(there$operation, unique(there$operation)), there$bytes, there$ranks), ]
  counts <- sort(unique(there$ranks))
  ranks <- request$ranks %||% if (length(counts) == 1) counts
  if (is.null(ranks)) abort_usage("--ranks: the pilot has launches of ", join_words(counts), " ranks: say which")
  has <- paste(unique(sprintf("%s %s B (%s ranks)", there$operation, format_count(there$bytes),
                              format_count(there$ranks))), collapse = ", ")
  if (!ranks %in% counts) abort_usage("--ranks: ", ranks, " is not in the pilot, which has ", has)
  there <- there[there$ranks == ranks, ]
  missing <- setdiff(request$operations, there$operation)
  if (length(missing) > 0) abort_usage("--op: '", missing[1], "' is not in the pilot, which has ", has)
  if (!is.null(request$operations)) there <- there[there$operation %in% request$operations, ]
  if (!is.null(request$bytes)) {
    sized <- setdiff(request$bytes, there$bytes)
    if (length(sized) > 0 && any(there$bytes > 0)) {
      abort_usage("--bytes: ", sized[1],
                  " is not in the pilot, which has ", has)
    }
    there <- there[there$bytes %in% c(0, request$bytes), ]
  }
  rownames(there) <- NULL
  there
}

# Levels of the run: as given, as in the pilot, or the placebo and, as loads slow by their own size at least, a level of
# the size of the effect and larger ones.
plan_levels <- function(request, pilot) {
  if (!is.null(request$levels)) return(request$levels)
  k <- request$n_levels
  if (is.null(k) && !is.null(pilot)) return(pilot)
  k <- k %||% 2
  sought <- min(90, request$detect %||% request$margin)
  if (k == 1) return(sought)
  # Equal steps of about half a decade, up to 90 % of a CPU.
  step <- min(sqrt(10), (90 / sought)^(1 / max(1, k - 2)))
  c(0, signif(sought * step^(seq_len(k - 1) - 1), 2))
}

plan_n_levels <- function(request, pilot) length(plan_levels(request, pilot))

# Options of the pilot that are not the detector's defaults and change what a pair is.
treatment_words_of <- function(treatments, campaign) {
  flags <- c(kind = "--kind", pattern = "--pattern", placement = "--on", phase = "--phase")
  words <- unlist(lapply(intersect(treatment_columns, names(treatments)), function(column) {
    values <- unique(treatments[[column]])
    if (identical(values, treatment_defaults[[column]])) return(NULL)
    # Places that are compared are options of their own; a plus joins the CPUs of one.
    if (column == "placement") return(paste("--on", gsub("+", ",", values, fixed = TRUE)))
    paste(flags[[column]], paste(values, collapse = ","))
  }))
  mode <- unique(vapply(campaign$launches, start_mode, ""))
  c(words, if (length(mode) == 1 && mode != "loop") paste("--starts", mode))
}

cell_scatter <- function(basis, i, request) {
  if (is.null(basis$pilot)) return(list(sd = basis$scatter$sd, df = NA_real_, source = "assumed", sd_launch = NA_real_,
                                        sd_launch_high = NA_real_))
  pilot <- basis$pilot[[i]]
  at <- scatter_at(pilot$table, basis$half_s)
  if (is.null(at)) {
    said <- format_seconds(c(min(pilot$table$half_s), max(pilot$table$half_s), basis$half_s))
    abort_usage("--half-period: the pilot has halves of ", said[1], " and tells of up to ", said[2], ", not of ",
                said[3], ": measure a pilot with --half-period ", said[3])
  }
  list(sd = at$sd, df = at$df, source = at$source, sd_launch = pilot$sd_launch, sd_launch_high = pilot$sd_launch_high,
       n_pairs = pilot$n_pairs, n_launches = pilot$n_launches, level = pilot$level)
}

plan_cell <- function(goal, scatter, basis, request, across, launches, launches_upper) {
  to_percent <- if (channel_is_relative(request$channel)) 100 else 1
  sd_high <- if (is.na(scatter$df)) NA_real_ else sd_upper(scatter$sd, scatter$df)
  base <- data.frame(half_period_s = basis$half_s, sd = to_percent * scatter$sd, sd_upper = to_percent * sd_high,
                     sd_source = scatter$source, sd_df = scatter$df, sd_launch = to_percent * scatter$sd_launch,
                     sd_launch_upper = to_percent * scatter$sd_launch_high)
  if (across) return(cbind(base, plan_cell_launches(goal, scatter, sd_high, basis, request, launches, launches_upper)))
  find <- function(sd) {
    if (is.na(sd)) return(planned())
    plan_pairs(goal$effect, sd, request$alpha, request$power, goal$margin, least = pairs_needed(request$alpha))
  }
  likely <- find(scatter$sd)
  launches <- launches %||% 1
  per_launch <- pmax(pairs_needed(request$alpha), ceiling(likely$n / launches))
  cbind(base, n_pairs = likely$n, n_pairs_upper = find(sd_high)$n, n_launches = launches, n_launches_upper = launches,
        pairs_per_launch = per_launch, power = likely$power, reason = likely$reason)
}

plan_cell_launches <- function(goal, scatter, sd_high, basis, request, launches, launches_upper) {
  find <- function(sd, sd_launch, launches) {
    plan_launches(goal$effect, sd, sd_launch, basis$round_s, basis$launch_s, request$alpha, request$power, goal$margin,
                  launches = launches, least = pairs_needed(request$alpha))
  }
  likely <- find(scatter$sd, scatter$sd_launch, launches)
  worst <- find(sd_high, scatter$sd_launch_high, launches_upper)
  # Without a scatter of launches seen, the likely plan takes the least number of launches, and may cost more.
  cost <- function(plan) plan$n_launches * (basis$launch_s + plan$pairs_per_launch * basis$round_s)
  if (isTRUE(cost(worst) < cost(likely))) worst <- likely
  data.frame(n_pairs = likely$n_launches * likely$pairs_per_launch,
             n_pairs_upper = worst$n_launches * worst$pairs_per_launch, n_launches = likely$n_launches,
             n_launches_upper = worst$n_launches, pairs_per_launch = likely$pairs_per_launch, power = likely$power,
             reason = likely$reason)
}

# The run that is enough for every row of the plan.
plan_of_run <- function(rows, basis, request, across, arms) {
  if (anyNA(rows$n_pairs)) {
    reasons <- unique(stats::na.omit(rows$reason))
    return(list(n_launches = NA_real_, pairs_per_launch = NA_real_, measuring_s = NA_real_, total_s = NA_real_,
                total_upper_s = NA_real_,
                arms = arms, reason = reasons[1]))
  }
  launches <- max(rows$n_launches)
  per_launch <- max(rows$pairs_per_launch)
  total <- function(launches, pairs) launches * (basis$launch_s + pairs * basis$round_s)
  upper <- total(max(rows$n_launches_upper), max(rows$n_pairs_upper / rows$n_launches_upper))
  upper <- max(upper, total(launches, per_launch))
  list(n_launches = launches, pairs_per_launch = per_launch, measuring_s = per_launch * arms * 2 * basis$half_s,
       total_s = total(launches, per_launch), total_upper_s = upper, arms = arms, reason = NA_character_)
}

plan_command <- function(run, basis, request) {
  if (is.na(run$total_s)) return(NA_character_)
  list_of <- function(x) paste(x, collapse = ",")
  bytes <- setdiff(unique(basis$cells$bytes), 0)
  ranks <- unique(basis$cells$ranks)
  # A period other than the default one belongs to the pairs that were seen.
  usual <- isTRUE(all.equal(basis$period_s, min(basis$half_s, 0.01)))
  own_period <- !is.null(basis$pilot) && basis$period_s > 0 && !usual
  paste(c(
    "noiselab run sensitivity", paste("--op", list_of(unique(basis$cells$operation))),
    if (length(bytes) > 0) paste("--bytes", list_of(format_count_each(bytes))),
    paste("--levels", list_of(format_level(basis$levels))), basis$extra,
    paste("--half-period", format_seconds(basis$half_s)),
    if (own_period) paste("--period", format_seconds(basis$period_s)),
    paste("--seconds", paste0(format_count(ceiling(1000 * run$measuring_s - 1e-6) / 1000), "s")),
    if (!is.na(ranks)) paste("--ranks", format_count(ranks)),
    if (run$n_launches > 1) paste("--launches", format_count(run$n_launches))
  ), collapse = " ")
}

plan_notes <- function(rows, run, basis, request, across) {
  assumed <- is.null(basis$pilot)
  one <- assumed || basis$n_launches < 2
  guessed <- is.null(request$levels) && (assumed || !is.null(request$n_levels))
  operations <- paste(unique(basis$cells$operation), collapse = ",")
  c(
    if (assumed) {
      paste("the scatter is an assumption, not a measurement of this machine: measure a pilot (noiselab run",
            "sensitivity --op", operations, "--levels 0,1 --seconds 30 --out pilot) and give --pilot pilot")
    },
    if (one) {
      paste("\"launches like these\" cannot be promised",
            if (assumed) "without a pilot of several launches:" else "from one launch:",
            "how much launches differ is unknown. Run a pilot with --launches 5 (7 are better), and give it")
    },
    if (one && isTRUE(request$launches > 1)) {
      paste("with several launches noiselab analyze judges launches like these; the number of pairs here is for these",
            "launches together")
    },
    if (across) {
      paste("how much launches differ comes from", basis$n_launches, "launches at the pilot's lowest level; a load may",
            "differ more between launches")
    },
    if (across && any(rows$sd_launch == 0)) {
      paste("the pilot's launches differ no more than their pairs explain: their number is that of the sign-flip check")
    },
    if (request$channel %in% c("preempted", "detour")) {
      paste("planned for the pseudo-median's interval; where most halves of a small level hold no burst, so many pairs",
            "more are needed")
    },
    if (any(rows$sd_source == "allan")) {
      paste("scatter at this half-period: from the Allan deviation of the off halves, which have others between them:",
            "an upper estimate")
    },
    if (guessed) "the levels are a guess: which load has the effect is not known before (give --levels LIST)"
  )
}
