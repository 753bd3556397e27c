# What an agent used by its own account, what the ranks lost, and whether the two agree.

agreement_words <- c("agree", "disagree", "cannot be compared")

is_agent_row <- function(rows) rows[["arm"]] == "on" & !has_level(rows[["level_requested_percent"]])

#' What an agent used, and what the ranks lost by it
#'
#' Per launch, node and arm: the agent's own account (CPU time of its processes, wake-ups, context switches, memory, bytes)
#' from `agent.HOST.csv`, the CPU time that the ranks of the node lost in the arm's halves beyond the off halves, and
#' whether the agent's CPU time on the ranks' CPUs explains it.
#'
#' @param campaign An `nl_campaign` from [read_campaign()].
#' @param alpha One-sided level, length 1: intervals of the differences have confidence 1 - 2 alpha.
#' @return A data frame, one row per launch x node (host) x agent (`scope` "this launch"), and per node and agent over
#'   the launches where there are three or more (`scope` "launches like these", `launch` NA): `scope`, `launch`, `host`,
#'   `kind` (the agent), `n_pairs`, `seconds` (measured with it), then of its halves `cpu_percent` (of one CPU),
#'   `on_ranks_percent` (of it on CPUs of ranks), `off_cpu_percent` (what it still used in off halves),
#'   `scraper_percent`, `observer_percent`, `observer_on_ranks_percent`, `wakeups_per_s`, `switches_per_s`,
#'   `migrations_per_s`, `processes`, `started_per_s`, `rss_kib`, `read_bytes_per_s`, `written_bytes_per_s`,
#'   `switch_ns_p50`, `switch_ns_max`, `lost_switches`, `switch_ins`, `switch_outs`; in us per second, on minus off:
#'   `preempted_us_per_s`, `preempted_low`, `preempted_high`, `agent_us_per_s` (on ranks' CPUs), `others_us_per_s` (other tasks
#'   there, by the records of the CPUs), `difference_us_per_s` (preempted minus agent, and minus others where known),
#'   `difference_low`, `difference_high`, `tolerance_us_per_s`; `agreement` (`agree`, `disagree`, `cannot be compared`), `reason` (why they
#'   cannot be compared, else NA). Unknown figures are NA.
#' @details They agree where the whole interval of the difference lies within the margin that is fixed before measuring (`agree_margin()`:
#'   500 us/s, or a tenth of the agent's CPU time by its own account, whichever is larger), and disagree where all of it lies outside. What
#'   other tasks took of the ranks' CPUs is taken off where it is on record: kernel threads and daemons come and go whatever the arm. The
#'   difference is taken within each half, where the agent's bursts cancel, and then within each pair; the estimate is the mean over pairs,
#'   which sees what happens in few halves.
#' @noRd
agent_accounts <- function(campaign, alpha = 0.01, over = alpha) {
  check_argument(inherits(campaign, "nl_campaign"), "campaign", class(campaign), "the result of read_campaign()")
  check_probability(alpha, "alpha")
  shifts <- agent_shifts(campaign)
  rows <- bind_rows(lapply(shifts, account_row, campaign = campaign, alpha = alpha))
  if (nrow(rows) == 0) return(rows)
  across <- lapply(split(shifts, vapply(shifts, function(s) paste(s$host, s$kind), "")), across_account, rows = rows, alpha = over)
  bind_rows(c(list(rows), Filter(Negate(is.null), across)))
}

# One entry per launch x host x treatment (agents and generators): `rows` of agent.HOST.csv, numbers of its `on` halves,
# and per pair, in us per second, `preempted` and `agent` (on minus off), in run order.
agent_shifts <- function(campaign, agents_only = TRUE) {
  all <- campaign$agents
  if (NROW(all) == 0) return(list())
  parts <- split(seq_len(nrow(all)), in_order(paste(all[["launch"]], all[["host"]], sep = "\r")))
  unlist(lapply(unname(parts), function(at) {
    rows <- all[at, ]
    pairs <- pair_rows(rows)
    rate <- function(column, at) 1e6 * (rows[[column]] %||% rep(NA_real_, nrow(rows)))[at] / rows[["wall_ns"]][at]
    on <- which(rows[["arm"]] == "on" & (!agents_only | is_agent_row(rows)))
    # Between quick halves the agent is frozen: what it does by itself the stretches show that nothing disturbs, and frozen it has nothing.
    parts <- planned_parts(campaign, as.character(rows[["launch"]][1]))
    if (!is.null(parts)) on <- on[rows[["planned_ns"]][on] %in% parts$undisturbed | !is_agent_row(rows[on, ])]
    lapply(unname(split(on, in_order(paste(rows[["kind"]][on], rows[["level_requested_percent"]][on])))), function(on) {
      mine <- which(pairs$on %in% on)
      alone <- !is.null(parts) && is_agent_row(rows[on[1], ])
      shift <- function(column) rate(column, pairs$on[mine]) - rate(column, pairs$off[mine])
      list(launch = rows[["launch"]][1], host = rows[["host"]][1], kind = as.character(rows[["kind"]][on[1]]),
           level = rows[["level_requested_percent"]][on[1]], is_quick = alone, rows = rows, on = on, off = which(rows[["arm"]] == "off"),
           preempted = shift("preempted_ns"), agent = shift("agent_on_ranks_ns"), others = shift("others_on_ranks_ns"),
           waited = lapply(taken_parts, function(column) {
             if (alone) ratio_alone(rows, on, column) else ratio_shift(rows, pairs$on[mine], pairs$off[mine], column)
           }))
    })
  }), recursive = FALSE)
}

# Rate of the on halves less that of the off halves, us per second, each a ratio of sums: halves that others made long count by their
# length. One value per pair, whose mean is that difference and whose standard error is that of its linearisation; NA where a half has no
# value.
ratio_shift <- function(rows, on, off, column) {
  values <- rows[[column]] %||% rep(NA_real_, nrow(rows))
  known <- is.finite(values[on]) & is.finite(values[off])
  d <- rep(NA_real_, length(on))
  if (!any(known)) return(d)
  arm <- function(at) {
    x <- 1e6 * values[at[known]]
    wall <- rows[["wall_ns"]][at[known]]
    rate <- sum(x) / sum(wall)
    rate + (x - rate * wall) / mean(wall)
  }
  d[known] <- arm(on) - arm(off)
  d
}

# The same of halves that have no partner.
ratio_alone <- function(rows, on, column) {
  values <- (rows[[column]] %||% rep(NA_real_, nrow(rows)))[on]
  on <- on[is.finite(values)]
  x <- 1e6 * values[is.finite(values)]
  wall <- rows[["wall_ns"]][on]
  rate <- sum(x) / sum(wall)
  rate + (x - rate * wall) / mean(wall)
}

# Sum over the rows that have a value, per second of theirs.
per_second <- function(rows, at, column) {
  known <- at[!is.na(rows[[column]][at])]
  if (length(known) == 0) NA_real_ else 1e9 * sum(rows[[column]][known]) / sum(rows[["wall_ns"]][known])
}

account_row <- function(shift, campaign, alpha) {
  rows <- shift$rows
  on <- shift$on
  rate <- function(column, at = on) per_second(rows, at, column)
  largest <- function(column) if (all(is.na(rows[[column]][on]))) NA_real_ else max(rows[[column]][on], na.rm = TRUE)
  switches <- rows[["switch_ns"]][!is.na(rows[["switch_ns"]])]
  total <- function(column) if (all(is.na(rows[[column]]))) NA_real_ else sum(rows[[column]], na.rm = TRUE)
  c(list(scope = scope_launch, launch = shift$launch, host = shift$host, kind = shift$kind, n_pairs = length(shift$preempted),
         seconds = sum(rows[["wall_ns"]][on]) / 1e9, cpu_percent = rate("agent_cpu_ns") / 1e7,
         on_ranks_percent = rate("agent_on_ranks_ns") / 1e7, off_cpu_percent = rate("agent_cpu_ns", shift$off) / 1e7,
         scraper_percent = rate("scraper_cpu_ns") / 1e7, observer_percent = rate("observer_cpu_ns") / 1e7,
         observer_on_ranks_percent = rate("observer_on_ranks_ns") / 1e7, wakeups_per_s = rate("wakeups"),
         switches_per_s = rate("voluntary_switches") + rate("involuntary_switches"), migrations_per_s = rate("migrations"),
         processes = largest("processes"), started_per_s = rate("started"), rss_kib = largest("rss_kib"),
         read_bytes_per_s = rate("read_bytes"), written_bytes_per_s = rate("written_bytes"),
         switch_ns_p50 = if (length(switches) > 0) stats::median(switches) else NA_real_,
         switch_ns_max = if (length(switches) > 0) max(switches) else NA_real_,
         lost_switches = total("lost_switches"), switch_ins = total("switch_ins"), switch_outs = total("switch_outs")),
    agreement_of(shift$preempted, shift$agent, alpha, others = shift$others, account = rate("agent_cpu_ns") / 1e3))
}

# What the ranks lost to nobody but the agent, as far as it is on record who else ran on their CPUs.
less_others <- function(preempted, others) preempted - ifelse(is.finite(others), others, 0)

# `preempted`, `agent`, `others`: on minus off of each pair, us per second; `account`: the agent's own CPU time, us per second.
agreement_of <- function(preempted, agent, alpha, groups = 256, others = NA_real_, account = NA_real_) {
  conf <- 1 - 2 * alpha
  known <- is.finite(preempted) & is.finite(agent)
  lost <- batch_mean_ci(preempted[is.finite(preempted)], conf, groups)
  d <- less_others(preempted, others)[known] - agent[known]
  est <- batch_mean_ci(d, conf, groups)
  used <- if (any(is.finite(agent))) mean(agent[is.finite(agent)]) else NA_real_
  tolerance <- 1e4 * agree_margin(account / 1e4)
  c(list(preempted_us_per_s = lost$estimate, preempted_low = lost$low, preempted_high = lost$high, agent_us_per_s = used,
         others_us_per_s = if (any(is.finite(others))) mean(others[is.finite(others)]) else NA_real_,
         difference_us_per_s = est$estimate, difference_low = est$low, difference_high = est$high, tolerance_us_per_s = tolerance),
    judge_agreement(est, used, tolerance, length(d), length(preempted)))
}

# `n` of the `pairs` have both figures.
judge_agreement <- function(est, used, tolerance, n, pairs) {
  answer <- function(word, reason = NA_character_) list(agreement = word, reason = reason)
  unable <- function(...) answer("cannot be compared", reason = sprintf(...))
  if (pairs == 0) return(unable("no launch has an off and an on half together"))
  if (is.na(used)) return(unable("the agent's CPU time on the ranks' CPUs is not known"))
  if (n == 0) return(unable("no pair of an off and an on half has both figures"))
  if (is.na(est$low)) return(unable("%d pair%s of halves: too few for an interval", n, if (n == 1) "" else "s"))
  if (est$low > tolerance || est$high < -tolerance) return(answer("disagree"))
  if (est$low >= -tolerance && est$high <= tolerance) return(answer("agree"))
  unable(paste("the ranks gain and lose by other causes, too: the difference is known to \u00b1%s \u00b5s/s only, and %s \u00b5s/s are",
               "allowed; measure for longer, or with less on the ranks' CPUs"), three((est$high - est$low) / 2), three(tolerance))
}

# The launch as the unit.
across_account <- function(shifts, rows, alpha) {
  if (length(shifts) < 3) return(NULL)
  mine <- rows[rows$host == shifts[[1]]$host & rows$kind == shifts[[1]]$kind, ]
  weighted <- function(column) sum(mine[[column]] * mine$seconds) / sum(mine$seconds)
  rates <- grep("_percent$|_per_s$", names(rows)[seq_len(match("switch_ns_p50", names(rows)) - 1)], value = TRUE)
  average <- function(key) vapply(shifts, function(s) mean(s[[key]][is.finite(s[[key]])]), 0)
  largest <- function(column) max(mine[[column]])
  c(list(scope = scope_campaign, launch = NA_character_, host = mine$host[1], kind = mine$kind[1], n_pairs = sum(mine$n_pairs),
         seconds = sum(mine$seconds)), lapply(stats::setNames(rates, rates), weighted),
    list(processes = largest("processes"), rss_kib = largest("rss_kib"), switch_ns_p50 = stats::median(mine$switch_ns_p50),
         switch_ns_max = largest("switch_ns_max"), lost_switches = sum(mine$lost_switches),
         switch_ins = sum(mine$switch_ins), switch_outs = sum(mine$switch_outs)),
    agreement_of(average("preempted"), average("agent"), alpha, groups = Inf, others = average("others"), account = 1e4 * weighted("cpu_percent")))
}

# ---- what a difference may mean ----------------------------------------------------------------

# One text per account row: what could explain a difference, the largest first; "" where they agree.
agreement_causes <- function(account, tasks, most = 3) {
  vapply(seq_len(nrow(account)), function(i) {
    row <- account[i, ]
    if (row$agreement != "disagree") return("")
    d <- row$difference_us_per_s
    if (d < 0) {
      return(paste("the ranks lost less than the agent used: it ran on their CPUs also while a rank did not want to run (it waited,",
                   "or yielded), or its time is counted by ticks"))
    }
    # Tasks on record are no part of the difference: interrupts and the hypervisor are.
    seen <- if (is.na(row$others_us_per_s)) names(cause_names) else c("irq", "softirq", "steal", "quota")
    causes <- c(woken_groups(tasks[tasks$launch %in% row$launch & tasks$host == row$host & tasks$kind %in% row$kind & tasks$group %in% seen,
                                   ]),
                "context switches and cold caches" = 2 * row$switches_per_s,
                "the scraper" = if (is.na(row$others_us_per_s)) 1e4 * row$scraper_percent,
                "noiselab's own observer" = if (is.na(row$others_us_per_s)) 1e4 * row$observer_on_ranks_percent)
    causes <- sort(causes[is.finite(causes) & causes > 0.1 * d], decreasing = TRUE)
    if (length(causes) == 0) return("the ranks lost more than the agent used, and no task, interrupt or steal on record explains it")
    sprintf("the ranks lost more than the agent used; %s", join_words(sprintf("%s: about %s \u00b5s/s", names(causes),
                                                                               format_effect(causes, FALSE))[seq_len(min(most, length(causes)))]))
  }, "")
}

cause_names <- c(kernel = "kernel threads that ran more with it", other = "other tasks that ran more with it",
                 irq = "interrupts", softirq = "soft interrupts", steal = "the hypervisor", noiselab = "noiselab's own tasks",
                 scraper = "the scraper's tasks", quota = "the CPU quota of their cgroup")

woken_groups <- function(tasks) {
  tasks <- tasks[tasks$group %in% names(cause_names), ]
  if (nrow(tasks) == 0) return(numeric())
  sums <- tapply(tasks$shift_us_per_s, tasks$group, sum, na.rm = TRUE)
  stats::setNames(as.numeric(sums), cause_names[names(sums)])
}
