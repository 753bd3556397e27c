# How many pairs, and how many launches, does an answer need?

# Pairs that a test needs: the smallest number with which a one-sided Student's test of the mean difference
# finds a true effect with the wanted power (noncentral t with n - 1 degrees of freedom). With the margin
# for the effect it is what shows, with that probability, that an effect that is not there lies below the
# margin. `effect`, `sd` (of one pair's difference): in one unit, such as log ratios. A row: `n` (pairs),
# `power` (reached with n), `reason` (why n is NA).
plan_pairs <- function(effect, sd, alpha = 0.01, power = 0.95, least = 2) {
  reason <- no_plan(effect, sd)
  if (!is.na(reason)) return(planned(reason = reason))
  reached <- function(n) effect_power(effect, sd / sqrt(n), n - 1, alpha)
  n <- smallest_n(reached, power, least)
  if (is.na(n)) return(planned(reason = sprintf("more than %g pairs", most_pairs)))
  planned(n, reached(n))
}

most_pairs <- 1e12

planned <- function(n = NA_real_, power = NA_real_, reason = NA_character_) {
  data.frame(n = n, power = power, reason = reason)
}

no_plan <- function(effect, sd) {
  if (!is_number(sd) || sd < 0) return("the scatter is unknown")
  if (sd == 0) return("there is no scatter in the data, so nothing is known about it")
  if (effect <= 0) "a test for slower cannot find an effect of 0 or below" else NA_character_
}

# Power is taken to rise with n: doubled until it is reached, then halved down.
smallest_n <- function(reached, power, least) {
  low <- least - 1
  high <- least
  while (reached(high) < power) {
    if (high >= most_pairs) return(NA_real_)
    low <- high
    high <- 2 * high
  }
  while (high - low > 1) {
    middle <- floor((low + high) / 2)
    if (reached(middle) < power) low <- middle else high <- middle
  }
  high
}

# Launches, and pairs in each, that an answer about launches like these needs. The launch is the unit: the
# mean of a launch of r pairs has the variance T_2^2 + T_1^2 / r. r is Kalibera and Jones' best count, from
# what a pair (`pair_s`) and a launch beside its pairs (`launch_s`) cost; the number of launches then
# follows from Student's test on their means, see plan_pairs(). Where launches add no variance of their own,
# as many launches are taken as the exact sign-flip check of launch means needs, and r follows from them.
# `sd_pair`, `sd_launch`: T_1 and T_2. `launches`: NULL: the best. `seconds`: of all launches. Kalibera, T.
# and Jones, R. (2013) Rigorous benchmarking in reasonable time, ISMM.
plan_launches <- function(effect, sd_pair, sd_launch, pair_s, launch_s, alpha = 0.01, power = 0.95,
                          launches = NULL, least = 7) {
  result <- function(n = NA_real_, r = NA_real_, power = NA_real_, reason = NA_character_) {
    data.frame(n_launches = n, pairs_per_launch = r, seconds = n * (launch_s + r * pair_s), power = power,
               reason = reason)
  }
  reason <- no_plan(effect, sd_pair)
  if (is.na(reason) && identical(as.numeric(launches), 1)) {
    reason <- "one launch cannot speak for launches like these"
  }
  if (!is.na(reason)) return(result(reason = reason))
  if (is.null(launches) && sd_launch == 0) launches <- pairs_needed(alpha)
  launch_sd <- function(r) sqrt(sd_launch^2 + sd_pair^2 / r)
  if (is.null(launches)) {
    # A square root that is whole on paper may be above it in its last bits.
    r <- max(least, ceiling(sqrt(launch_s / pair_s) * sd_pair / sd_launch - 1e-9))
    found <- plan_pairs(effect, launch_sd(r), alpha, power)
    return(
      if (is.na(found$n)) {
        result(reason = "more launches than can be counted")
      } else {
        result(found$n, r, found$power)
      }
    )
  }
  reached <- function(r) {
    effect_power(effect, launch_sd(r) / sqrt(launches), launches - 1, alpha)
  }
  # With endless pairs launches still differ by sd_launch.
  if (sd_launch > 0 && reached(Inf) < power || reached(most_pairs) < power) {
    return(result(reason = sprintf("%g launches are too few, however long they are", launches)))
  }
  r <- smallest_n(reached, power, least)
  result(launches, r, reached(r))
}

# What a plan rests on: the scatter of a pair, measured in a pilot or assumed, by half-period.

# Two ranks on a shared virtual machine that its hypervisor takes some percent from (docs/methods.md). At 10
# ms the scatter of a pair that the rank interval has, 4 %; at 1 and 5 s, where the wander of the base speed
# rules and ranks gain nothing, sqrt(2) times the Allan deviation of the log loop time. The figure is the
# scatter times the root of the time over sqrt(2), %/sqrt(s).
assumed_time <- data.frame(tau_s = c(0.01, 1, 5), figure_percent = c(4 * sqrt(0.01 / 2), 2.1, 4))
assumed_overhead_s <- 3e-4
assumed_launch_s <- 2
assumed_warmup_s <- 0.5

# Scatter without a pilot, of the log ratio.
assumed_scatter <- function(half_s) {
  x <- log(assumed_time$tau_s)
  y <- log(assumed_time$figure_percent)
  beyond <- y[3] + (y[3] - y[2]) / (x[3] - x[2]) * (log(half_s) - x[3])
  sqrt(2 / half_s) / 100 * exp(if (half_s > 5) beyond else stats::approx(x, y, log(half_s), rule = 2)$y)
}

# The part of a campaign that one cell of the plan is about.
pilot_cell <- function(campaign, operation, bytes, ranks) {
  rows <- campaign$rows
  campaign$rows <- rows[
    which(rows[["operation"]] == operation & rows[["ranks"]] == ranks & rows[["bytes"]] == bytes),
  ]
  campaign$launches <- campaign$launches[intersect(names(campaign$launches),
                                                   unique(campaign$rows[["launch"]]))]
  pairs <- pair_rows(campaign$rows)
  d <- measure_pairs(campaign, pairs, "time")$differences$time
  level <- pairs$cells$level_requested_percent[pairs$cell]
  if (length(level) > 0 && !any(has_level(level))) {
    abort_usage("--pilot: the treatment ", pairs$cells$kind[1], " has no level: give a pilot with --levels")
  }
  known <- is.finite(d)
  # The blank: small effects are sought, and a large load scatters more.
  blank <- if (any(known)) min(level[known]) else NA_real_
  use <- which(known & level == blank)
  label <- list(design = pairs$cells$design[1], level_requested_percent = blank,
                pattern = pairs$cells$pattern[1])
  list(d = d[use], by_ranks = typical_design(label),
       launch = as.character(campaign$rows[["launch"]][pairs$on[use]]), level = blank)
}

# The length that was asked for; a loop of a fixed number of operations comes near it.
nominal_half <- function(campaign) {
  asked <- unlist(lapply(campaign$launches, function(info) info$options$half_period_ns)) / 1e9
  if (length(asked) == 0) return(stats::median(campaign$rows[["wall_ns"]]) / 1e9)
  if (length(unique(asked)) > 1) {
    abort_usage("--pilot: launches have half-periods of ",
                paste(format_seconds(sort(unique(asked))), collapse = ", "),
                ": give the directories of launches that have the same")
  }
  asked[1]
}

# Of a campaign with several designs, that with half-periods: a block says less about them.
pilot_launches <- function(campaign) {
  design <- vapply(campaign$launches, function(info) info$options$design %||% "lockin", "")
  keep <- names(design)[if (any(design == "lockin")) design == "lockin" else TRUE]
  campaign$launches <- campaign$launches[keep]
  campaign$rows <- campaign$rows[which(campaign$rows[["launch"]] %in% keep), ]
  campaign
}

# One launch's estimate and its standard error, as the test of its cell has them: of ranks the interval's
# half-width over the normal quantile.
launch_mean <- function(d, by_ranks) {
  est <- batch_mean_ci(d)
  ranks <- if (by_ranks) pseudo_median(d, 0.98)
  if (!isTRUE(ranks$se > 0)) return(data.frame(mean = est$estimate, se = est$se, n = length(d), df = est$df))
  data.frame(mean = ranks$estimate, se = ranks$se, n = length(d), df = length(d) - 1)
}

# Scatter of pairs in a pilot's cell, and what its launches add.
pilot_scatter <- function(cell) {
  launches <- bind_rows(lapply(split(cell$d, in_order(cell$launch)), launch_mean, by_ranks = cell$by_ranks))
  use <- is.finite(launches$se)
  if (!any(use)) {
    abort_data(sprintf(
      "the pilot has %d pair(s) of this cell at its lowest level, its scatter needs 2: run it longer",
      length(cell$d)
    ))
  }
  variance <- mean((launches$n * launches$se^2)[use])
  if (variance == 0) {
    abort_data(
      "all pairs of the pilot are equal, so nothing is known about their scatter: measure for longer"
    )
  }
  k <- nrow(launches)
  between <- if (k > 1) stats::var(launches$mean) else NA_real_
  below <- mean(launches$se[use]^2)
  list(
    sd = sqrt(variance),
    sd_high = sd_upper(sqrt(variance), sum(launches$df[use])),
    by_ranks = cell$by_ranks,
    n_launches = k,
    n_pairs = sum(launches$n),
    level = cell$level,
    sd_launch = sqrt(max(0, between - below)),
    # With 80 % certainty the variance of launch means is at most this.
    sd_launch_high = if (k > 1) {
      sqrt(max(0, sd_upper(sqrt(between), k - 1)^2 - below))
    } else {
      NA_real_
    }
  )
}

# Upper bound of a standard deviation, right with 80 % certainty.
sd_upper <- function(sd, df) sd * sqrt(df / stats::qchisq(0.2, df))

# Mean time (s) between the rows of a launch, whose rows are in the order of their starts.
launch_overhead <- function(campaign) {
  rows <- campaign$rows
  gap <- vapply(split(seq_len(nrow(rows)), in_order(rows[["launch"]])), function(at) {
    n <- length(at)
    (rows[["start_ns"]][at[n]] - rows[["start_ns"]][at[1]] - sum(rows[["wall_ns"]][at[-n]])) / (n - 1) / 1e9
  }, 0)
  gap <- gap[is.finite(gap) & gap >= 0]
  if (length(gap) > 0) mean(gap) else assumed_overhead_s
}

# What a launch took beyond its rows: from its start to the next one's, where they followed each other.
# Start times are whole seconds.
start_to_start <- function(campaign) {
  times <- launch_times(campaign)
  rows <- campaign$rows
  span <- vapply(times$launch, function(id) {
    at <- which(rows[["launch"]] == id)
    max(rows[["start_ns"]][at] + rows[["wall_ns"]][at]) / 1e9
  }, 0)
  extra <- diff(times$started) - utils::head(span, -1)
  extra <- extra[is.finite(extra) & extra > 0 & extra < 60]
  if (length(extra) == 0) NA_real_ else stats::median(extra)
}

# A plan: for every operation and size what it takes, and the run that gives it to all of them.

# What is asked: one entry per goal, with the effect (a log ratio) that the test has to find.
plan_goals <- function(request) {
  goals <- list(detect = list(request$detect, "detect a slowdown of %s %%"),
                equivalence = list(request$margin, "show that it is below %s %%, if it is 0 %%"))
  lapply(Filter(function(goal) !is.null(goal[[1]]), goals), function(goal) {
    list(effect = log1p(goal[[1]] / 100), text = sprintf(goal[[2]], format_level(goal[[1]])))
  })
}

# request: list of detect, margin (percent; NULL where not asked), alpha, power, operations, bytes, ranks,
# half_s, launches, levels (percent); NULL where left open. campaign: of the pilot, or NULL.
make_plan <- function(request, campaign = NULL) {
  basis <- if (is.null(campaign)) assumed_basis(request) else pilot_basis(request, pilot_launches(campaign))
  # One pair in each level, treatment, operation and size.
  arms <- nrow(basis$cells) * basis$n_arms
  basis$round_s <- 2 * arms * (basis$half_s + basis$overhead_s)
  across <- basis$n_launches > 1 && !identical(as.numeric(request$launches), 1)
  goals <- plan_goals(request)
  plan_rows <- function(launches, launches_upper) {
    bind_rows(lapply(names(goals), function(name) {
      bind_rows(lapply(seq_along(basis$scatter), function(i) {
        cbind(goal = name, basis$cells[i, ],
              plan_cell(goals[[name]], basis$scatter[[i]], basis, request, across, launches, launches_upper))
      }))
    }))
  }
  rows <- plan_rows(request$launches, request$launches)
  # All share the run's launches: the largest number of them, and what is then enough of pairs.
  if (across && !anyNA(rows$n_launches)) {
    most <- max(rows$n_launches_upper)
    rows <- plan_rows(max(rows$n_launches), if (is.na(most)) request$launches else most)
  }
  run <- plan_of_run(rows, basis, arms)
  list(request = request, goals = goals, basis = basis, cells = rows, run = run, across = across,
       command = plan_command(run, basis), notes = plan_notes(rows, basis, request, across))
}

assumed_basis <- function(request) {
  cells <- expand.grid(bytes = request$bytes %||% 2048,
                       operation = request$operations %||% c("barrier", "allreduce", "alltoall"),
                       stringsAsFactors = FALSE)
  cells$bytes[cells$operation %in% c("barrier", "ibarrier")] <- 0
  cells <- unique(cells)
  half <- request$half_s %||% 0.01
  levels <- plan_levels(request, NULL)
  scatter <- list(sd = assumed_scatter(half), sd_high = NA_real_, sd_launch = NA_real_,
                  sd_launch_high = NA_real_)
  list(
    cells = data.frame(operation = cells$operation, bytes = cells$bytes, ranks = request$ranks %||% NA_real_),
    half_s = half, overhead_s = assumed_overhead_s, launch_s = assumed_launch_s + assumed_warmup_s,
    n_launches = 0, levels = levels, n_arms = length(levels), period_s = min(half, 0.01),
    scatter = rep(list(scatter), nrow(cells))
  )
}

pilot_basis <- function(request, campaign) {
  cells <- pilot_cells(request, campaign)
  scatter <- lapply(seq_len(nrow(cells)), function(i) {
    pilot_scatter(pilot_cell(campaign, cells$operation[i], cells$bytes[i], cells$ranks[i]))
  })
  half <- nominal_half(campaign)
  if (isTRUE(abs(request$half_s / half - 1) > 0.05)) {
    abort_usage("--half-period: the pilot has halves of ", format_seconds(half),
                " and says nothing of others: measure a pilot with ", "--half-period ",
                format_seconds(request$half_s))
  }
  options <- lapply(campaign$launches, `[[`, "options")
  most_s <- function(key) max(0, unlist(lapply(options, `[[`, key))) / 1e9
  treatments <- treatment_table(campaign)
  levels <- plan_levels(request, sort(unique(unlist(lapply(options, `[[`, "levels_percent")))))
  launch <- start_to_start(campaign)
  list(
    cells = cells,
    half_s = half,
    overhead_s = launch_overhead(campaign),
    launch_s = if (is.na(launch)) {
      assumed_launch_s + most_s("warmup_ns")
    } else {
      launch
    },
    launch_known = !is.na(launch),
    n_launches = min(vapply(scatter, `[[`, 0, "n_launches")),
    levels = levels,
    n_arms = length(levels) * nrow(treatments),
    extra = treatment_words_of(treatments, campaign),
    period_s = most_s("period_ns"),
    scatter = scatter,
    dirs = campaign$dirs
  )
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
  if (is.null(ranks)) {
    abort_usage("--ranks: the pilot has launches of ", join_words(counts), " ranks: say which")
  }
  has <- paste(unique(sprintf("%s %s B (%s ranks)", there$operation, format_count(there$bytes),
                              format_count(there$ranks))), collapse = ", ")
  refuse <- function(option, value) abort_usage(option, ": ", value, " is not in the pilot, which has ", has)
  if (!ranks %in% counts) refuse("--ranks", ranks)
  there <- there[there$ranks == ranks, ]
  missing <- setdiff(request$operations, there$operation)
  if (length(missing) > 0) refuse("--op", paste0("'", missing[1], "'"))
  if (!is.null(request$operations)) there <- there[there$operation %in% request$operations, ]
  if (!is.null(request$bytes)) {
    sized <- setdiff(request$bytes, there$bytes)
    if (length(sized) > 0 && any(there$bytes > 0)) refuse("--bytes", sized[1])
    there <- there[there$bytes %in% c(0, request$bytes), ]
  }
  rownames(there) <- NULL
  there
}

# Levels of the run: as given, as in the pilot, or the placebo and, as loads slow by their own size at
# least, a level of the size of the effect.
plan_levels <- function(request, pilot) {
  request$levels %||% pilot %||% c(0, signif(min(90, request$detect %||% request$margin), 2))
}

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

# Likely, and with what the scatter may be at most.
plan_cell <- function(goal, scatter, basis, request, across, launches, launches_upper) {
  least <- pairs_needed(request$alpha)
  base <- data.frame(half_period_s = basis$half_s, sd = 100 * scatter$sd, sd_upper = 100 * scatter$sd_high,
                     sd_launch = 100 * scatter$sd_launch, sd_launch_upper = 100 * scatter$sd_launch_high)
  if (!across) {
    find <- function(sd) {
      if (is.na(sd)) {
        planned()
      } else {
        plan_pairs(goal$effect, sd, request$alpha, request$power, least)
      }
    }
    likely <- find(scatter$sd)
    launches <- launches %||% 1
    return(cbind(base, n_pairs = likely$n, n_pairs_upper = find(scatter$sd_high)$n, n_launches = launches,
                 n_launches_upper = launches, pairs_per_launch = pmax(least, ceiling(likely$n / launches)),
                 power = likely$power, reason = likely$reason))
  }
  find_launches <- function(sd, sd_launch, launches) {
    plan_launches(goal$effect, sd, sd_launch, basis$round_s, basis$launch_s, request$alpha, request$power,
                  launches, least)
  }
  likely <- find_launches(scatter$sd, scatter$sd_launch, launches)
  worst <- find_launches(scatter$sd_high, scatter$sd_launch_high, launches_upper)
  # Without a scatter of launches seen, the likely plan takes the least number of launches, and may cost more.
  if (isTRUE(worst$seconds < likely$seconds)) worst <- likely
  cbind(base, n_pairs = likely$n_launches * likely$pairs_per_launch,
        n_pairs_upper = worst$n_launches * worst$pairs_per_launch, n_launches = likely$n_launches,
        n_launches_upper = worst$n_launches, likely[c("pairs_per_launch", "power", "reason")])
}

# The run that is enough for every row of the plan.
plan_of_run <- function(rows, basis, arms) {
  lost <- anyNA(rows$n_pairs)
  launches <- max(rows$n_launches)
  per_launch <- max(rows$pairs_per_launch)
  total <- function(launches, pairs) launches * (basis$launch_s + pairs * basis$round_s)
  run <- list(
    n_launches = launches,
    pairs_per_launch = per_launch,
    measuring_s = per_launch * arms * 2 * basis$half_s,
    total_s = total(launches, per_launch),
    total_upper_s = max(total(max(rows$n_launches_upper), max(rows$n_pairs_upper / rows$n_launches_upper)),
                        total(launches, per_launch))
  )
  if (lost) run[] <- NA_real_
  c(run, list(arms = arms, reason = if (lost) stats::na.omit(rows$reason)[1] else NA_character_))
}

plan_command <- function(run, basis) {
  if (is.na(run$total_s)) return(NA_character_)
  list_of <- function(x) paste(x, collapse = ",")
  bytes <- setdiff(unique(basis$cells$bytes), 0)
  ranks <- unique(basis$cells$ranks)
  # A period other than the default one belongs to the pairs that were seen.
  usual <- isTRUE(all.equal(basis$period_s, min(basis$half_s, 0.01)))
  paste(c(
    "noiselab run sensitivity", paste("--op", list_of(unique(basis$cells$operation))),
    if (length(bytes) > 0) paste("--bytes", list_of(format_count_each(bytes))),
    paste("--levels", list_of(format_level(basis$levels))), basis$extra,
    paste("--half-period", format_seconds(basis$half_s)),
    if (basis$period_s > 0 && !usual) paste("--period", format_seconds(basis$period_s)),
    paste("--seconds", paste0(format_count(ceiling(1000 * run$measuring_s - 1e-6) / 1000), "s")),
    if (!is.na(ranks)) paste("--ranks", format_count(ranks)),
    if (run$n_launches > 1) paste("--launches", format_count(run$n_launches))
  ), collapse = " ")
}

plan_notes <- function(rows, basis, request, across) {
  assumed <- is.null(basis$dirs)
  one <- assumed || basis$n_launches < 2
  c(
    if (assumed) {
      sprintf(
        paste(
          paste0("the scatter is an assumption, not a measurement of this machine: measure a pilot ",
                 "(noiselab run sensitivity --op %s"),
          "--levels 0,1 --seconds 30 --out pilot) and give --pilot pilot"
        ),
        paste(unique(basis$cells$operation), collapse = ",")
      )
    },
    if (one) {
      paste(
        "\"launches like these\" cannot be promised",
        if (assumed) {
          "without a pilot of several launches:"
        } else {
          "from one launch:"
        },
        "how much launches differ is unknown. Run a pilot with --launches 5 (7 are better), and give it"
      )
    },
    if (one && isTRUE(request$launches > 1)) {
      paste0("with several launches noiselab analyze judges launches like these; the number of pairs here ",
             "is for these launches together")
    },
    if (across) {
      paste("how much launches differ comes from", basis$n_launches,
            "launches at the pilot's lowest level; a load may differ more between launches")
    },
    if (across && any(rows$sd_launch == 0)) {
      paste0("the pilot's launches differ no more than their pairs explain: their number is that of the ",
             "sign-flip check")
    },
    if (assumed && is.null(request$levels)) {
      "the levels are a guess: which load has the effect is not known before (give --levels LIST)"
    }
  )
}
