# What an agent used by its own account, what the ranks lost, and whether the two agree.

# Per launch, node and agent: its own account (`agent.HOST.csv`), the CPU time that the node's ranks lost
# beyond the off halves, and whether its CPU time on their CPUs explains that: the whole interval of the
# difference within `agree_margin()`, less what other tasks on record took. Over three launches or more a
# row per node and agent for launches like these (`launch` NA).
agent_accounts <- function(campaign, alpha = 0.01, over = alpha) {
  shifts <- agent_shifts(campaign)
  rows <- bind_rows(lapply(shifts, account_row, campaign = campaign, alpha = alpha))
  if (nrow(rows) == 0) return(rows)
  across <- lapply(split(shifts, vapply(shifts, function(s) paste(s$host, s$kind), "")), across_account,
                   rows = rows, alpha = over)
  bind_rows(c(list(rows), Filter(Negate(is.null), across)))
}

per_second <- function(rows, at, column) {
  known <- at[!is.na(rows[[column]][at])]
  if (length(known) == 0) NA_real_ else 1e9 * sum(rows[[column]][known]) / sum(rows[["wall_ns"]][known])
}

account_row <- function(shift, campaign, alpha) {
  rows <- shift$rows
  on <- shift$on
  rate <- function(column, at = on) per_second(rows, at, column)
  largest <- function(column) max_or_na(rows[[column]][on])
  c(
    list(scope = scope_launch, launch = shift$launch, host = shift$host, kind = shift$kind,
         n_pairs = length(shift$preempted), seconds = sum(rows[["wall_ns"]][on]) / 1e9,
         cpu_percent = rate("agent_cpu_ns") / 1e7, on_ranks_percent = rate("agent_on_ranks_ns") / 1e7,
         off_cpu_percent = rate("agent_cpu_ns", shift$off) / 1e7,
         scraper_percent = rate("scraper_cpu_ns") / 1e7, observer_percent = rate("observer_cpu_ns") / 1e7,
         observer_on_ranks_percent = rate("observer_on_ranks_ns") / 1e7, wakeups_per_s = rate("wakeups"),
         switches_per_s = rate("voluntary_switches") + rate("involuntary_switches"),
         processes = largest("processes"), started_per_s = rate("started"), rss_kib = largest("rss_kib"),
         read_bytes_per_s = rate("read_bytes"), written_bytes_per_s = rate("written_bytes"),
         switch_ns_p50 = stats::median(rows[["switch_ns"]], na.rm = TRUE),
         switch_ns_max = max_or_na(rows[["switch_ns"]])),
    agreement_of(shift$preempted, shift$agent, alpha, others = shift$others,
                 account = rate("agent_cpu_ns") / 1e3)
  )
}

# `preempted`, `agent`, `others`: on minus off of each pair, us per second; `account`: the agent's own CPU
# time, us per second.
agreement_of <- function(preempted, agent, alpha, groups = 256, others = NA_real_, account = NA_real_) {
  conf <- 1 - 2 * alpha
  known <- is.finite(preempted) & is.finite(agent)
  lost <- batch_mean_ci(preempted[is.finite(preempted)], conf, groups)
  # what the ranks lost to nobody else on record
  d <- (preempted - ifelse(is.finite(others), others, 0))[known] - agent[known]
  est <- batch_mean_ci(d, conf, groups)
  used <- if (any(is.finite(agent))) mean(agent[is.finite(agent)]) else NA_real_
  tolerance <- 1e4 * agree_margin(account / 1e4)
  c(
    list(
      preempted_us_per_s = lost$estimate,
      preempted_low = lost$low,
      preempted_high = lost$high,
      agent_us_per_s = used,
      others_us_per_s = if (any(is.finite(others))) {
        mean(others[is.finite(others)])
      } else {
        NA_real_
      },
      difference_us_per_s = est$estimate,
      difference_low = est$low,
      difference_high = est$high,
      tolerance_us_per_s = tolerance
    ),
    judge_agreement(est, used, tolerance, length(d), length(preempted))
  )
}

judge_agreement <- function(est, used, tolerance, n, pairs) {
  unable <- if (pairs == 0) {
    "no launch has an off and an on half together that are long enough for the system's accounts"
  } else if (is.na(used)) {
    "the agent's CPU time on the ranks' CPUs is not known"
  } else if (n == 0) {
    "no pair of an off and an on half has both figures"
  } else if (is.na(est$low)) {
    sprintf("%s of halves: too few for an interval", counted(n, "pair"))
  }
  answer <- if (!is.null(unable)) NULL else if (est$low > tolerance || est$high < -tolerance) "disagree" else
    if (est$low >= -tolerance && est$high <= tolerance) "agree"
  list(
    agreement = answer %||% "cannot be compared",
    reason = if (!is.null(answer)) {
      NA_character_
    } else {
      unable %||%
        sprintf(
          paste(
            paste0("the ranks gain and lose by other causes, too: the difference is known to \u00b1%s ",
                   "\u00b5s/s only, and %s \u00b5s/s are"),
            "allowed; measure for longer, or with less on the ranks' CPUs"
          ),
          three((est$high - est$low) / 2),
          three(tolerance)
        )
    }
  )
}

across_account <- function(shifts, rows, alpha) {
  if (length(shifts) < 3) return(NULL)
  mine <- rows[rows$host == shifts[[1]]$host & rows$kind == shifts[[1]]$kind, ]
  weighted <- function(column) sum(mine[[column]] * mine$seconds) / sum(mine$seconds)
  rates <- grep("_percent$|_per_s$", names(rows)[seq_len(match("switch_ns_p50", names(rows)) - 1)],
                value = TRUE)
  average <- function(key) vapply(shifts, function(s) mean(s[[key]][is.finite(s[[key]])]), 0)
  largest <- function(column) max(mine[[column]])
  c(
    list(scope = scope_campaign, launch = NA_character_, host = mine$host[1], kind = mine$kind[1],
         n_pairs = sum(mine$n_pairs), seconds = sum(mine$seconds)),
    lapply(stats::setNames(rates, rates), weighted),
    list(processes = largest("processes"), rss_kib = largest("rss_kib"),
         switch_ns_p50 = stats::median(mine$switch_ns_p50), switch_ns_max = largest("switch_ns_max")),
    agreement_of(average("preempted"), average("agent"), alpha, groups = Inf, others = average("others"),
                 account = 1e4 * weighted("cpu_percent"))
  )
}

# One text per account row: what could explain a difference, the largest first; "" where they agree.
agreement_causes <- function(account, tasks, most = 3) {
  vapply(seq_len(nrow(account)), function(i) {
    row <- account[i, ]
    if (row$agreement != "disagree") return("")
    d <- row$difference_us_per_s
    if (d < 0) {
      return(paste(
        paste0("the ranks lost less than the agent used: it ran on their CPUs also while a rank did not ",
               "want to run (it waited,"),
        "or yielded), or its time is counted by ticks"
      ))
    }
    # Tasks on record are no part of the difference: interrupts and the hypervisor are.
    seen <- if (is.na(row$others_us_per_s)) names(cause_names) else c("irq", "softirq", "steal")
    mine <- tasks[
      tasks$launch %in% row$launch & tasks$host == row$host & tasks$kind %in% row$kind &
        tasks$group %in% seen,
    ]
    woken <- vapply(split(mine, mine$group), function(part) sum(part$shift_us_per_s, na.rm = TRUE), 0)
    causes <- c(
      stats::setNames(woken, cause_names[names(woken)]),
      "context switches and cold caches" = 2 * row$switches_per_s,
      "the scraper" = if (is.na(row$others_us_per_s)) 1e4 * row$scraper_percent,
      "noiselab's own observer" = if (is.na(row$others_us_per_s)) {
        1e4 * row$observer_on_ranks_percent
      }
    )
    causes <- sort(causes[is.finite(causes) & causes > 0.1 * d], decreasing = TRUE)
    if (length(causes) == 0) {
      return("the ranks lost more than the agent used, and no task, interrupt or steal on record explains it")
    }
    sprintf(
      "the ranks lost more than the agent used; %s",
      join_words(sprintf("%s: about %s \u00b5s/s", names(causes),
                         format_effect(causes, FALSE))[seq_len(min(most, length(causes)))])
    )
  }, "")
}

cause_names <- c(kernel = "kernel threads that ran more with it", other = "other tasks that ran more with it",
                 irq = "interrupts", softirq = "soft interrupts", steal = "the hypervisor",
                 noiselab = "noiselab's own tasks", scraper = "the scraper's tasks")

# What an agent took from the ranks, attributed by the records of their CPUs: time in which a rank could
# have run and the agent ran in its place.

# Per launch, node and agent: the time in which it ran on a rank's CPU while that rank waited, on minus off,
# percent of one CPU; Student's over pairs or 16 blocks of them, whichever is wider, with fewer than 20
# bursts the interval of their count (docs/methods.md, Real agents). Of several launches a row over all
# (`launch` NA), the nodes of a launch being one. `over`: alpha over launches, of which more may come.
agent_taken <- function(campaign, alpha = 0.01, power = 0.95, over = alpha) {
  rows <- bind_rows(lapply(agent_shifts(campaign), function(shift) {
    taken_row(shift, alpha, power, campaign$tasks,
              knows_agents_tasks(campaign, as.character(shift$launch), as.character(shift$host)))
  }))
  if (nrow(rows) == 0) return(rows)
  pooled <- lapply(split(rows, in_order(rows$kind)), pool_taken, alpha = over, power = power)
  bind_rows(c(list(rows), Filter(Negate(is.null), pooled)))
}

no_records <- paste(
  paste0("who ran on the ranks' CPUs was not recorded: root, CAP_PERFMON or kernel.perf_event_paranoid of ",
         "at most 0, and ranks bound to CPUs,"),
  "would add it"
)

few_bursts <- 20

taken_row <- function(shift, alpha, power, tasks = NULL, known_tasks = TRUE) {
  mean_of <- function(part) {
    d <- shift$waited[[part]]
    if (any(is.finite(d))) mean(d[is.finite(d)]) / 1e4 else NA_real_
  }
  d <- shift$waited$agent / 1e4
  d <- d[is.finite(d)]
  est <- wider_mean_ci(d, 1 - 2 * alpha)
  reason <- if (!known_tasks) {
    no_tasks_of_its_own
  } else if (length(shift$preempted) == 0 && !shift$is_quick) {
    "no pair of an off and an on half"
  } else if (length(d) == 0) {
    no_records
  } else if (length(d) < 3) {
    "fewer than three pairs of halves"
  } else {
    NA_character_
  }
  mine <- tasks[
    tasks[["launch"]] %in% shift$launch & tasks[["host"]] %in% shift$host & tasks[["group"]] %in% "agent" &
      tasks[["arm"]] %in% "on",
  ]
  n <- if (NROW(mine) > 0) sum(mine[["bursts"]]) else NA_real_
  c(
    list(scope = scope_launch, launch = shift$launch, host = shift$host, kind = shift$kind,
         n_pairs = length(d), account_percent = per_second(shift$rows, shift$on, "agent_cpu_ns") / 1e7),
    taken_test(est, alpha, power, reason, n, sum(shift$rows[["wall_ns"]][shift$on]) / 1e9),
    stats::setNames(lapply(names(taken_parts)[-1], mean_of), paste0(names(taken_parts)[-1], "_percent"))
  )
}

# `est`: estimate, se and df, percent; `n`: bursts that it rests on, NA: not known; `seconds`: watched.
taken_test <- function(est, alpha, power, reason, n = NA_real_, seconds = NA_real_) {
  row <- list(taken_percent = NA_real_, taken_low = NA_real_, taken_high = NA_real_, limit_percent = NA_real_,
              p_value = NA_real_, se = NA_real_, df = NA_real_, reason = reason)
  if (!is.na(reason)) return(row)
  row[c("taken_percent", "se", "df")] <- est[c("estimate", "se", "df")]
  # Without scatter nothing is known of how far it goes; but what is 0 in every pair was not there.
  if (!isTRUE(est$se > 1e-12 * abs(est$estimate))) {
    if (est$estimate != 0) row$reason <- "all pairs agree exactly" else row$p_value <- 1
    if (est$estimate == 0 && !is.na(seconds)) {
      row[c("taken_low", "taken_high", "limit_percent")] <- c(0, rep(unseen_percent(seconds, alpha), 2))
    }
    return(row)
  }
  ends <- est$estimate + c(-1, 1) * stats::qt(1 - alpha, est$df) * est$se
  if (isTRUE(n > 0 && n < few_bursts)) {
    count <- est$estimate * c(stats::qgamma(alpha, n), stats::qgamma(1 - alpha, n + 1)) / n
    ends <- c(min(ends[1], count[1]), max(ends[2], count[2]))
  }
  row[c("taken_low", "taken_high")] <- ends
  row$limit_percent <- (stats::qt(1 - alpha, est$df) + stats::qt(power, est$df)) * est$se
  row$p_value <- stats::pt(est$estimate / est$se, est$df, lower.tail = FALSE)
  row
}

# These launches: their mean, with the scatter within them; with launches enough it is about launches like
# these.
pool_taken <- function(rows, alpha, power) {
  if (nrow(rows) < 2) return(NULL)
  launches <- bind_rows(lapply(split(rows, in_order(rows$launch)), function(mine) {
    data.frame(taken_percent = mean(mine$taken_percent), se = mean(mine$se), df = min(mine$df))
  }))
  k <- nrow(launches)
  se <- sqrt(sum(launches$se^2)) / k
  # Welch and Satterthwaite's degrees of freedom of a sum
  df <- if (isTRUE(se > 0)) (k * se)^4 / sum(launches$se^4 / launches$df) else Inf
  like <- k >= launches_for_more
  between <- stats::sd(launches$taken_percent) / sqrt(k)
  if (like && isTRUE(stats::qt(1 - alpha, k - 1) * between > stats::qt(1 - alpha, df) * se)) {
    se <- between
    df <- k - 1
  }
  means <- lapply(rows[c("account_percent", paste0(names(taken_parts)[-1], "_percent"))], mean)
  as.data.frame(c(
    list(scope = if (like) scope_campaign else scope_these, launch = NA_character_, host = NA_character_,
         kind = rows$kind[1], n_pairs = sum(rows$n_pairs)),
    means,
    taken_test(list(estimate = mean(launches$taken_percent), se = se, df = df), alpha, power,
               c(rows$reason[!is.na(rows$reason)], NA)[1])
  ))
}

# Work that other tasks do because the agent is there, such as a daemon that it asks: time in which ranks
# waited for tasks that are not the agent's, or for kernel threads, on minus off, per launch and node. A row
# per group: `percent` of one CPU with `low`, `high` (one-sided `alpha` each), `p_value`, `p_holm` over all
# rows, `tasks` (those with the largest shift, by the table of tasks). Halves with a partner: by pairs,
# whose order is random. Undisturbed stretches have none: each is held against the off halves up to the next
# one. Holm, S. (1979).
on_its_behalf <- function(campaign, alpha = 0.01) {
  rows <- bind_rows(lapply(agent_shifts(campaign), function(shift) {
    bind_rows(lapply(names(behalf_groups), function(group) {
      d <- if (shift$is_quick) stretch_shift(shift, taken_parts[[group]]) else shift$waited[[group]]
      got <- shift_account(d, alpha)
      if (!is.null(got)) {
        data.frame(launch = as.character(shift$launch), host = as.character(shift$host), kind = shift$kind,
                   group = group, got)
      }
    }))
  }))
  if (NROW(rows) == 0) return(NULL)
  rows$p_holm <- stats::p.adjust(rows$p_value, "holm")
  tasks <- agent_tasks(campaign, alpha)
  rows$tasks <- vapply(seq_len(nrow(rows)), function(i) {
    row <- rows[i, ]
    mine <- tasks[
      tasks$launch %in% row$launch & tasks$host %in% row$host & tasks$kind %in% row$kind &
        tasks$group %in% behalf_groups[[row$group]] & tasks$shift_us_per_s > 0,
    ]
    sums <- sort(tapply(mine$shift_us_per_s, mine$task, sum), decreasing = TRUE)
    paste(names(sums)[sums >= 0.2 * sum(sums)], collapse = ", ")
  }, "")
  rows
}

behalf_groups <- c(others = "other", kernel = "kernel")
least_behalf <- 7

# us per second in each undisturbed stretch, less those in the off halves up to the next one.
stretch_shift <- function(shift, column) {
  rows <- shift$rows
  if (is.null(rows[[column]])) return(numeric())
  on <- shift$on[order(rows[["start_ns"]][shift$on])]
  after <- findInterval(rows[["start_ns"]][shift$off], rows[["start_ns"]][on])
  vapply(seq_along(on), function(i) {
    off <- shift$off[after == i]
    1e6 *
      (rows[[column]][on[i]] / rows[["wall_ns"]][on[i]] -
        sum(rows[[column]][off]) / sum(rows[["wall_ns"]][off]))
  }, 0)
}

# One sentence; NULL: nothing is shown.
behalf_words <- function(rows, x, alpha = 0.01) {
  hit <- rows[rows$p_holm <= alpha, ]
  if (NROW(hit) == 0) return(NULL)
  each <- vapply(split(hit, in_order(hit$group)), function(part) {
    first <- part[which.min(part$p_holm), ]
    sprintf("%s %s of one CPU%s",
            c(others = "other tasks take", kernel = "kernel threads take")[[first$group]],
            percent_words(first$percent, max(0, first$low), first$high),
            if (nzchar(first$tasks)) sprintf(" (%s)", first$tasks) else "")
  }, "")
  sprintf("On behalf of %s %s more from the ranks while it is on.", x, join_words(each))
}

# The rows that the answer is about: over all launches where there are several.
main_taken <- function(rows) if (any(is.na(rows$launch))) rows[is.na(rows$launch), ] else rows

# What the scheduler's records say; NULL without records. `on_ranks`: what it used on their CPUs, percent of
# one; waited for or not.
taken_words <- function(row, alpha = 0.01, on_ranks = NA_real_) {
  if (NROW(row) != 1 || !is.na(row$reason)) return(NULL)
  ran <- if (isTRUE(on_ranks > 0)) {
    sprintf("it runs on the ranks' CPUs for %s %% of one CPU", format_effect(on_ranks, FALSE))
  }
  if (row$taken_percent == 0 && row$p_value == 1) {
    return(paste0("scheduler records show: ",
                  if (is.null(ran)) "it never ran" else paste0(ran, ", but never"),
                  " where a rank waited for its CPU"))
  }
  if (row$p_value > alpha) {
    return(paste0(
      "scheduler records show: ",
      if (!is.null(ran)) paste0(ran, "; "),
      sprintf("no CPU time taken from waiting ranks was detected; %s %% of one CPU would have been detected",
              format_effect(row$limit_percent, FALSE))
    ))
  }
  sprintf(
    "scheduler records show: it preempts a node's ranks for %s of one CPU%s",
    percent_words(row$taken_percent, max(0, row$taken_low), row$taken_high),
    if (is.na(row$account_percent)) {
      ""
    } else {
      sprintf(", and uses %s %%", format_effect(row$account_percent, FALSE))
    }
  )
}
