# What run advise measures next: what is not decided yet, in the time that is left.

# Rounds of a launch below which its figures say little: then fewer cells are measured, the first ones of
# the plan.
least_rounds <- 8
# What lies between two launches that were run one after the other, s, at most, and where nobody knows.
most_between_s <- 60
between_s <- 2
# What a launch takes before its pilots, s; the pilots' part goes by the number of arms.
launch_fixed_s <- 2
most_added <- 60

# The one schedule of a campaign that is measured in stages: `launches` (ids, in order), `stages` (launches
# that are complete at the end of each: the first chooses, and each ends with a look), `budget_s`. NULL:
# there is none.
staged_plan <- function(campaign) {
  schedule <- campaign_schedule(campaign$dirs)
  if (anyNA(schedule$stages) || length(schedule$stages) < 2) return(NULL)
  list(launches = schedule$launches$launch, stages = schedule$stages,
       budget_s = as_number(schedule$keys["budget_s"]))
}

# What this look uses of alpha, and which launches. A campaign in stages has a look at the end of each, of
# an equal part of alpha; launches of a stage that is not complete are not looked at. Of all others:
# campaign_looks().
advise_look <- function(campaign, alpha, launches) {
  plan <- staged_plan(campaign)
  if (is.null(plan)) return(c(campaign_looks(campaign, alpha)[c("alpha", "note")], list(launches = launches)))
  n <- complete_launches(campaign, plan)
  ended <- plan$stages[plan$stages <= n]
  seen <- max(0, ended)
  parts <- length(plan$stages)
  added <- setdiff(launches, plan$launches)
  looks <- 1 + length(added)
  list(
    alpha = alpha / parts / looks^2,
    launches = setdiff(launches, plan$launches[seq_along(plan$launches) > seen]),
    note = c(
      if (length(added) > 0) {
        sprintf("%d launches were added to the plan: each is taken for a look, and alpha divided by %g",
                length(added), looks^2)
      },
      if (n > seen) {
        sprintf("stage %d of %d is not complete: its %s not analysed yet", length(ended) + 1, parts,
                counted(n - seen, "launch is", "launches are"))
      }
    )
  )
}

complete_launches <- function(campaign, plan) {
  is_there <- vapply(plan$launches, function(id) identical(campaign$launches[[id]]$ended, "complete"), NA)
  sum(cumprod(is_there))
}

# What is measured next. After the first launch of a campaign in stages: as many cells go on as have
# `least_rounds`, the first of the plan. After a stage: cells with a condition that is open, each with the
# default, its candidate and the arms not shown to gain less than the margin, in the time that is left.
# NULL: all goes on as planned; or `op` (words of `--op`), `launches`, `seconds`, `stages`, `why`.
advise_next <- function(campaign, alpha = 0.01, margin = advise_margin_percent) {
  plan <- staged_plan(campaign)
  if (is.null(plan)) {
    abort_data(paste(campaign$dirs, collapse = " "), " is not measured in stages: nothing is to be planned")
  }
  n <- complete_launches(campaign, plan)
  arms <- advise_arms(campaign)
  if (n == 1 && plan$stages[1] > 1) return(next_if_busy(campaign, plan, arms))
  last <- length(plan$stages)
  if (!n %in% plan$stages || n == plan$stages[last]) return(NULL)
  advice <- advise_table(campaign, alpha, margin)
  # what was left out before stays out, also where a later look would call it open again
  before <- arms[arms$launch == plan$launches[n], ]
  left <- arms_left(advice, before, margin)
  stage <- match(n, plan$stages)
  if (nrow(left) == 0) {
    # as many looks as were planned, of which the last ones see nothing new
    return(list(op = character(), launches = 0, seconds = 0, stages = pmin(plan$stages, n),
                why = "all cases that were measured to the end are decided"))
  }
  time <- launch_times_of(campaign, plan, n, nrow(left), nrow(before))
  open <- nrow(unique(left[c("operation", "bytes")]))
  ends <- if (last - stage == 1) n + time$launches else n + c(ceiling(time$launches / 2), time$launches)
  list(
    op = op_words(left),
    launches = time$launches,
    seconds = time$seconds,
    stages = c(plan$stages[seq_len(stage)], ends),
    why = sprintf("stage %d of %d: %d of %d cases go on, with %d of %d arms", stage + 1, last, open,
                  nrow(unique(before[c("operation", "bytes")])), nrow(left), nrow(before))
  )
}

op_words <- function(arms) {
  arms <- arms[
    order(match(paste(arms$operation, arms$algorithm), unique(paste(arms$operation, arms$algorithm)))),
  ]
  paste0(arms$operation, "=", arms$algorithm, ifelse(arms$bytes > 0, sprintf(":%.0f", arms$bytes), ""))
}

rounds_of <- function(campaign, ids) {
  rows <- campaign$rows[as.character(campaign$rows[["launch"]]) %in% ids & campaign$rows[["arm"]] == "off", ]
  counts <- table(as.character(rows[["launch"]]), paste(rows[["operation"]], rows[["bytes"]]))
  stats::median(apply(counts, 1, min))
}

next_if_busy <- function(campaign, plan, arms) {
  first <- plan$launches[1]
  mine <- arms[arms$launch == first, ]
  rounds <- rounds_of(campaign, first)
  if (rounds >= least_rounds) return(NULL)
  cell <- in_order(paste(mine$operation, mine$bytes))
  fits <- cumsum(table(cell)) <= nrow(mine) * rounds / least_rounds
  kept <- mine[cell %in% levels(cell)[fits | seq_along(fits) == 1], ]
  n_cells <- length(unique(paste(kept$operation, kept$bytes)))
  if (n_cells == nlevels(cell)) return(NULL)
  list(
    op = op_words(kept),
    launches = length(plan$launches) - 1,
    seconds = campaign$launches[[first]]$options$seconds,
    stages = plan$stages,
    why = sprintf(
      paste0("the machine is busy, and a launch has %g rounds: %d of %d cases go on, the first ones (more ",
             "time, --seconds, holds more)"),
      rounds,
      n_cells,
      nlevels(cell)
    )
  )
}

arms_left <- function(advice, arms, margin) {
  open <- advice$rows[advice$rows$verdict == advise_words[["open"]], ]
  arms <- arms[!duplicated(arms[c("operation", "bytes", "ranks", "algorithm")], fromLast = TRUE), ]
  wanted <- vapply(seq_len(nrow(arms)), function(i) {
    rows <- open[of_call(open, arms[i, ]), ]
    if (nrow(rows) == 0 || !arms$in_fact[i] %in% c("default", arms$algorithm[i])) return(FALSE)
    if (arms$algorithm[i] == "default" || arms$algorithm[i] %in% rows$algorithm) return(TRUE)
    mine <- advice$figures[of_call(advice$figures, arms[i, ]), ]
    may <- vapply(rows$condition,
                  function(condition) may_gain_percent(mine, arms$algorithm[i], condition, advice$each), 0)
    !isTRUE(all(may <= margin))
  }, NA)
  arms[wanted, ]
}

# What launches took with all that lies before the next one; a pause of those who resume a campaign is none
# of it.
launch_took_s <- function(started_s, ended_s) {
  between <- started_s[-1] - ended_s[-length(ended_s)]
  known <- between >= 0 & between <= most_between_s
  usual <- if (any(known)) stats::median(between[known]) else between_s
  ended_s - started_s + c(ifelse(known, between, usual), usual)
}

# Launches and measuring seconds of each for the time that is left, with `n_arms` where there were `n_before`.
launch_times_of <- function(campaign, plan, n, n_arms, n_before) {
  infos <- campaign$launches[plan$launches[seq_len(n)]]
  utc <- function(name) {
    as.numeric(as.POSIXct(vapply(infos, function(info) info[[name]], ""), format = "%Y-%m-%dT%H:%M:%OSZ",
                          tz = "UTC"))
  }
  took <- launch_took_s(utc("started_utc"), utc("ended_utc"))
  measured <- vapply(infos, function(info) info$options$seconds, 0)
  of_arms <- max(0, took[n] - measured[[n]] - launch_fixed_s) / n_before
  start_s <- launch_fixed_s + of_arms * n_arms
  rounds <- rounds_of(campaign, plan$launches[n])
  round_s <- measured[[n]] / max(1, rounds) * n_arms / n_before
  left_s <- plan$budget_s - sum(took)
  seconds <- max(1, ceiling(max(16, rounds) * round_s), ceiling(start_s))
  # one launch at least for each stage that is left, and two that confirm
  least <- max(length(plan$stages) - match(n, plan$stages), 2 - (n - plan$stages[1]))
  launches <- floor(left_s / (seconds + start_s))
  if (launches < least) seconds <- max(1, floor(left_s / least - start_s))
  list(seconds = seconds, launches = min(most_added, max(least, launches)))
}
