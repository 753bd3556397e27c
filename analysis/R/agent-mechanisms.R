# By which mechanism a load or an agent disturbs, besides its CPU time: what the kernel and the ranks count
# around each half (counters.HOST.csv), on minus off, and which of what changed may be named as a cause.

# The counters that are looked at. `value`: of a table of halves; of a `rate` a number per half, which is
# compared per second; of a `ratio` (time of a trial) on and off are compared by their logarithms. `words`:
# a rate, "TLB shootdowns"; a ratio, a format with the change in words (`longer`). `each_us`: the most that
# one event costs a rank, by rule of thumb: a rate that could not cost `agree_percent` (estimate-figures.R)
# is named by nobody. `least`: the same for a ratio, percent. `by_bursts`: each burst on a rank's CPU brings
# some by itself. `of_wakes`: a wake-up brings one, which costs at least what a wake-up that does nothing
# costs on this machine. `follows`: counters whose events bring these, and are named in their place.
counter <- function(column, words, each_us = NA_real_, least = NA_real_, by_bursts = FALSE,
                    of_wakes = FALSE, follows = NULL, value = function(rows) rows[[column]],
                    longer = c("longer", "as long"), kind = if (is.na(each_us)) "ratio" else "rate") {
  as.list(environment())
}

mechanism_counters <- list(
  function_calls = counter("irq_call", "function-call interrupts", each_us = 5,
                           value = function(rows) pmax(0, rows[["irq_call"]] - rows[["irq_tlb"]])),
  tlb_shootdowns = counter("irq_tlb", "TLB shootdowns", each_us = 5),
  timer_interrupts = counter("irq_timer", "local timer interrupts", each_us = 3, by_bursts = TRUE,
                             of_wakes = TRUE),
  reschedule_interrupts = counter("irq_reschedule", "rescheduling interrupts", each_us = 3, by_bursts = TRUE,
                                  of_wakes = TRUE),
  device_interrupts = counter("irq_device", "device interrupts", each_us = 10),
  other_interrupts = counter("irq_other", "interrupts of other kinds", each_us = 5, by_bursts = TRUE),
  timer_softirqs = counter("softirq_timer", "timer softirqs", each_us = 5, by_bursts = TRUE,
                           follows = "timer_interrupts"),
  network_softirqs = counter("softirq_net", "network softirqs", each_us = 20, follows = "device_interrupts"),
  block_softirqs = counter("softirq_block", "block softirqs", each_us = 20, follows = "device_interrupts"),
  tasklets = counter("softirq_tasklet", "tasklets", each_us = 10),
  scheduler_softirqs = counter("softirq_sched", "scheduler softirqs", each_us = 5, by_bursts = TRUE,
                               follows = c("timer_interrupts", "reschedule_interrupts")),
  rcu_softirqs = counter("softirq_rcu", "RCU softirqs", each_us = 5, by_bursts = TRUE,
                         follows = "timer_interrupts"),
  cpu_switches = counter("cpu_switches", "context switches", each_us = 3, by_bursts = TRUE, of_wakes = TRUE,
                         follows = c("timer_interrupts", "reschedule_interrupts")),
  rank_switches = counter("rank_involuntary", "involuntary context switches of ranks", each_us = 3,
                          by_bursts = TRUE, of_wakes = TRUE,
                          follows = c("timer_interrupts", "reschedule_interrupts")),
  rank_migrations = counter("rank_moves", "migrations of ranks", each_us = 1000),
  page_faults = counter("faults", "page faults of ranks", each_us = 2),
  # each line of the trial has a page of its own, whose translation a shootdown drops
  memory_latency = counter("memory_ns", "memory and the shared cache take ranks %s", least = 8,
                           follows = "tlb_shootdowns"),
  # the effective frequency, where it may be read
  core_clock = counter("mperf", "their CPUs' clock is %s", least = 0.5, longer = c("slower", "as slow"),
                       value = function(rows) rows[["mperf"]] / rows[["aperf"]]),
  core_speed = counter("speed_ns", "their CPUs take %s for the same instructions", least = 0.5,
                       follows = "core_clock"),
  # who changes a rank's memory map from outside has it locked while it shoots translations down
  memory_lock = counter("lock_ns", "a change of a rank's memory map takes %s (another task holds its lock)",
                        least = 50, follows = "tlb_shootdowns"),
  cache_misses = counter("cache_misses", "an instruction has %s last-level cache misses", least = 20,
                         longer = c("more", "as many"),
                         value = function(rows) rows[["cache_misses"]] / rows[["instructions"]]),
  cycles = counter("cycles", "an instruction takes %s cycles", least = 5, longer = c("more", "as many"),
                   value = function(rows) rows[["cycles"]] / rows[["instructions"]])
)

# Where bursts bring some by themselves: what they could cost as a share of the CPU time that the treatment
# has on the ranks' CPUs.
least_cost_of_bursts <- 0.25
least_counted_pairs <- 7

# Per treatment (agent, or load at a level) a row per counter, over all launches and nodes: `counter`,
# `kind`, `n_pairs`, `off`, `on` (per second on the ranks' CPUs of a node; of a ratio ns or a number),
# `change`, `low`, `high` (per second; of a ratio percent; one-sided `alpha` each), `p_value` (of more in on
# halves), `p_holm` over the counters of a treatment, `z`, `cost_percent` (the most that it could cost),
# `named`. `swapped`: off minus on instead. `behalf`: what others use on the ranks' CPUs on behalf of a
# treatment, us per second, by its kind (behalf_use()): their bursts bring some by themselves, too.
mechanism_changes <- function(campaign, alpha = 0.01, swapped = FALSE, behalf = list()) {
  all <- campaign$counters
  if (NROW(all) == 0) return(NULL)
  all <- as.data.frame(all)
  paired <- counted_pairs(all)
  if (nrow(paired) == 0) return(NULL)
  if (swapped) paired[c("off", "on")] <- paired[c("on", "off")]
  used <- bursts_use(campaign)
  wake_us <- wake_up_us(campaign)
  treatment <- paste(paired$kind, paired$level, sep = "\r")
  bind_rows(lapply(split(paired, in_order(treatment)), function(pairs) {
    rows <- bind_rows(lapply(names(mechanism_counters), function(name) {
      counter_row(name, all, pairs, alpha, wake_us)
    }))
    if (nrow(rows) == 0) return(NULL)
    rows$p_holm <- stats::p.adjust(rows$p_value, "holm")
    rows <- cbind(kind = pairs$kind[1], level_requested_percent = pairs$level[1], rows)
    kind <- as.character(pairs$kind[1])
    own <- used[[kind]] %||% load_use(pairs$level[1])
    rows$named <- are_named(rows, alpha, own + (behalf[[kind]] %||% 0))
    rows
  }))
}

# Off and on halves of a pair, by row: `off`, `on`, `kind`, `level`, `launch`, `turn` (order of time).
counted_pairs <- function(rows) {
  key <- paste(rows$launch, rows$host, rows$operation, rows$bytes, rows$pair, sep = "\r")
  off <- which(rows$arm == "off")
  on <- which(rows$arm == "on")
  partner <- off[match(key[on], key[off])]
  on <- on[!is.na(partner)]
  partner <- partner[!is.na(partner)]
  data.frame(off = partner, on = on, kind = as.character(rows$kind[on]),
             level = rows$level_requested_percent[on], launch = as.character(rows$launch[on]))
}

# `wake_us`: what a wake-up costs here at least.
counter_row <- function(name, rows, pairs, alpha, wake_us = 0) {
  counter <- mechanism_counters[[name]]
  x <- as.numeric(counter$value(rows))
  if (length(x) != nrow(rows)) return(NULL)
  got <- if (counter$kind == "rate") rate_pairs(x, rows$span_ns, pairs) else ratio_pairs(x, pairs)
  if (length(got$d) < least_counted_pairs) return(NULL)
  est <- widest_mean(got$d, got$launch, alpha)
  if (!isTRUE(est$se > 0)) return(NULL)
  unit <- if (counter$kind == "rate") identity else function(x) 100 * expm1(x)
  change <- unit(est$estimate)
  data.frame(
    counter = name,
    unit = counter$kind,
    n_pairs = length(got$d),
    off = got$off,
    on = got$on,
    change = change,
    low = unit(est$low),
    high = unit(est$high),
    p_value = stats::pt(est$estimate / est$se, est$df, lower.tail = FALSE),
    z = est$estimate / est$se,
    cost_percent = if (counter$kind == "rate") {
      change * max(counter$each_us, if (counter$of_wakes) wake_us) / 1e4
    } else {
      NA_real_
    }
  )
}

# Per second, each pair a part of a ratio of sums, so that long halves count by their length (the
# linearisation of it).
rate_pairs <- function(x, span_ns, pairs) {
  known <- is.finite(x[pairs$off]) & is.finite(x[pairs$on])
  if (!any(known)) return(list(d = numeric()))
  arm <- function(at) {
    at <- at[known]
    rate <- 1e9 * sum(x[at]) / sum(span_ns[at])
    list(rate = rate, each = rate + (1e9 * x[at] - rate * span_ns[at]) / mean(span_ns[at]))
  }
  on <- arm(pairs$on)
  off <- arm(pairs$off)
  list(d = on$each - off$each, launch = pairs$launch[known], off = off$rate, on = on$rate)
}

ratio_pairs <- function(x, pairs) {
  known <- which(x[pairs$off] > 0 & x[pairs$on] > 0)
  if (length(known) == 0) return(list(d = numeric()))
  on <- x[pairs$on[known]]
  off <- x[pairs$off[known]]
  list(d = log(on / off), launch = pairs$launch[known], off = exp(mean(log(off))), on = exp(mean(log(on))))
}

# Student's over pairs or over 16 blocks, whichever is wider; with launches enough over them.
widest_mean <- function(d, launch, alpha) {
  conf <- 1 - 2 * alpha
  by_launch <- vapply(split(d, in_order(launch)), mean, 0)
  if (length(by_launch) >= launches_for_more) return(batch_mean_ci(by_launch, conf, Inf))
  wider_mean_ci(d, conf)
}

# What may be said to come with it: there is more of it, by Holm's correction over all counters; it could
# cost what counts; and neither the bursts on the ranks' CPUs nor another counter that is named bring it.
# `used_us`: CPU time on the ranks' CPUs, of it and of others on its behalf, us per second.
are_named <- function(rows, alpha, used_us = NA_real_) {
  counters <- mechanism_counters[rows$counter]
  of <- function(key) vapply(counters, function(counter) counter[[key]], counters[[1]][[key]])
  least <- ifelse(of("by_bursts") & is.finite(used_us),
                  pmax(agree_percent, least_cost_of_bursts * used_us / 1e4), agree_percent)
  enough <- ifelse(rows$unit == "rate", rows$cost_percent >= least, rows$change >= of("least"))
  named <- rows$p_holm <= alpha & enough & rows$change > 0
  named <- named %in% TRUE
  behind <- vapply(counters, function(counter) isTRUE(any(counter$follows %in% rows$counter[named])), NA)
  named & !behind
}

# CPU time of each agent on the ranks' CPUs of a node, us per second.
bursts_use <- function(campaign) {
  accounts <- campaign$agents
  if (NROW(accounts) == 0) return(list())
  on <- which(accounts[["arm"]] == "on" & is.finite(accounts[["agent_on_ranks_ns"]]))
  lapply(split(on, as.character(accounts[["kind"]][on])), function(at) {
    1e6 * sum(accounts[["agent_on_ranks_ns"]][at]) / sum(accounts[["wall_ns"]][at])
  })
}

# The same of a load: its level; NA: it has none.
load_use <- function(level) if (is.finite(level)) 1e4 * level else NA_real_

# mechanism_changes() of a campaign of loads: with `label`, "spin at 10 %". NULL: it has other treatments, or
# nothing was counted.
load_mechanisms <- function(campaign, alpha = 0.01) {
  if (has_agent(campaign)) return(NULL)
  rows <- mechanism_changes(campaign, alpha)
  if (NROW(rows) == 0 || !all(is.finite(rows$level_requested_percent))) return(NULL)
  cbind(label = sprintf("%s at %s %%", printable(as.character(rows$kind)),
                        format_level(rows$level_requested_percent)), rows)
}

# A table of each load.
load_mechanism_parts <- function(rows, campaign, alpha = 0.01) {
  if (NROW(rows) == 0) return(NULL)
  unname(lapply(split(rows, in_order(rows$label)), function(mine) {
    new_part(sprintf("what changed besides with %s (on minus off, %g %% CI; a node's ranks' CPUs together)",
                     mine$label[1], 100 * (1 - 2 * alpha)),
             mechanism_columns(mine), remarks = uncounted_notes(campaign))
  }))
}

# CPU time of a wake-up that does nothing, us, on the slowest node of the slowest launch; 0: no launch says.
wake_up_us <- function(campaign) {
  of_launch <- function(info) if (is.list(info$counters)) info$counters$wake_ns
  ns <- unlist(lapply(campaign$launches, of_launch), use.names = FALSE)
  max(0, as.numeric(ns)[is.finite(as.numeric(ns))]) / 1e3
}

# One sentence, the strongest first; NULL: nothing changed that may be a cause. `beyond`: whether more was
# found than bursts explain.
mechanism_words <- function(rows, x, beyond = FALSE) {
  rows <- rows[rows$named %in% TRUE, ]
  if (NROW(rows) == 0) return(NULL)
  rows <- rows[order(-rows$z), ]
  rates <- rows[rows$unit == "rate", ]
  often <- sprintf("%s %s", vapply(rates$change, events_words, ""),
                   vapply(rates$counter, function(name) mechanism_counters[[name]]$words, ""))
  slower <- rows[rows$unit == "ratio", ]
  longer <- vapply(seq_len(nrow(slower)), function(i) {
    counter <- mechanism_counters[[slower$counter[i]]]
    sprintf(counter$words, longer_words(slower$change[i], counter$longer))
  }, "")
  often <- if (length(often) > 0) sprintf("%s a second more on the ranks' CPUs", join_words(often))
  with <- if (beyond) "With the other effects come" else sprintf("With %s come", x)
  parts <- if (rows$unit[1] == "rate") c(paste(with, often), longer) else {
    c(sprintf("With %s %s", if (beyond) "the other effects" else x, longer[1]), longer[-1],
      if (!is.null(often)) paste("with it come", often))
  }
  paste0(paste(parts, collapse = "; "), ".")
}

# "35 % longer", "3.2 times as long"
longer_words <- function(percent, words) {
  if (percent < 200) return(sprintf("%s %% %s", format_effect(signif(percent, 2), FALSE), words[1]))
  sprintf("%s times %s", events_words(signif(1 + percent / 100, 2)), words[2])
}

# "1,180", "42", "0.35"
events_words <- function(x) {
  if (x >= 100) {
    format(signif(round(x), 3), big.mark = ",", scientific = FALSE)
  } else {
    format_effect(signif(x, 3), FALSE)
  }
}

# For --all and the report.
mechanism_columns <- function(rows) {
  rows <- rows[order(!rows$named, -rows$z), ]
  new_table(
    counter = col_words("counter", gsub("_", " ", rows$counter)),
    unit = col_words("unit", ifelse(rows$unit == "rate", "/s", "ns or ratio")),
    off = col_number("off", rows$off, three),
    on = col_number("on", rows$on, three),
    change = col_number("on - off", rows$change, function(x) {
      paste0(three(x), ifelse(rows$unit == "rate", "", " %"))
    }),
    ends = col_interval("interval", rows$low, rows$high),
    p_holm = col_number("p (Holm)", rows$p_holm, format_p),
    named = col_words("named", ifelse(rows$named, "yes", ""))
  )
}

# What of it cannot be known here, by name: one sentence for each cause.
uncounted_notes <- function(campaign) {
  unique(unlist(lapply(campaign$launches, function(info) {
    counters <- info$counters
    if (!is.list(counters)) return(NULL)
    c(
      if (is_text(counters$hardware)) printable(counters$hardware),
      if (is_text(counters$not_there)) {
        sprintf("the kernel here has no /proc/%s, so what it counts is not known",
                printable(counters$not_there))
      },
      if (isFALSE(counters$read)) {
        "what the kernel counts was not read around halves, which are too short for it"
      }
    )
  }), use.names = FALSE))
}
