# By which mechanism an agent disturbs: counters around halves whose truth is known.

# A table of 60 pairs of halves of one launch. `more`: what an on half has more of, per second, by column;
# `longer`: factors of trials. What a quiet machine counts is drawn: events at random, trials with 5 %.
counted_halves <- function(seed, more = numeric(), longer = numeric(), n = 60, launch = "L") {
  set.seed(seed)
  rows <- data.frame(launch = launch, node = 0, host = "n1", operation = "barrier", bytes = 0,
                     pair = rep(seq_len(n), each = 2), order = rep(0:1, n),
                     arm = as.vector(vapply(seq_len(n), function(i) sample(c("off", "on")), c("", ""))))
  on <- rows$arm == "on"
  rows$kind <- ifelse(on, "watcher", "")
  rows$level_requested_percent <- ifelse(on, Inf, 0)
  rows$planned_ns <- rep(sample(c(2.5e7, 2.5e8), n, TRUE), each = 2)
  rows$span_ns <- rows$planned_ns * stats::runif(2 * n, 1, 1.05)
  usual <- c(irq_timer = 250, irq_reschedule = 20, irq_call = 10, irq_tlb = 2, irq_device = 30, irq_other = 0,
             softirq_timer = 100, softirq_net = 5, softirq_block = 5, softirq_tasklet = 0, softirq_sched = 50,
             softirq_rcu = 120, faults = 1, rank_involuntary = 10, rank_moves = 0)
  for (name in names(usual)) {
    rate <- usual[[name]] + ifelse(on, c(more[name], 0)[1 + is.na(more[name])], 0)
    rows[[name]] <- stats::rpois(2 * n, rate * rows$span_ns / 1e9)
  }
  trials <- c(speed_ns = 5000, memory_ns = 90, lock_ns = 1500)
  for (name in names(trials)) {
    spread <- if (name == "speed_ns") 0.0005 else 0.05
    rows[[name]] <- trials[[name]] * exp(stats::rnorm(2 * n, 0, spread)) *
      ifelse(on, c(longer[name], 1)[1 + is.na(longer[name])], 1)
  }
  rows[c("mperf", "aperf", "cycles", "instructions", "cache_misses", "cpu_switches")] <- NA_real_
  rows
}

counted_campaign <- function(rows, agent_us = NULL) {
  agents <- if (is.null(agent_us)) {
    data.frame()
  } else {
    data.frame(arm = "on", kind = "watcher", agent_on_ranks_ns = 1e3 * agent_us, wall_ns = 1e9)
  }
  list(counters = rows, agents = agents, launches = list(L = list()))
}

named <- function(...) {
  got <- mechanism_changes(counted_campaign(...))
  got$counter[got$named]
}

test_that("each mechanism is named by what the kernel counts more of with it, and by nothing else", {
  expect_equal(named(counted_halves(1, c(irq_call = 2000))), "function_calls")
  # a shootdown is counted as a function call, too
  expect_equal(named(counted_halves(2, c(irq_call = 2000, irq_tlb = 2000))), "tlb_shootdowns")
  # which drops the translations of a rank's pages, and comes from a task that holds its lock
  expect_equal(named(counted_halves(2, c(irq_tlb = 5000), c(memory_ns = 1.15, lock_ns = 1.8))),
               "tlb_shootdowns")
  expect_equal(named(counted_halves(3, c(irq_timer = 5000, softirq_timer = 3000, rank_involuntary = 5000))),
               "timer_interrupts")
  expect_equal(named(counted_halves(4, longer = c(lock_ns = 20))), "memory_lock")
  expect_equal(named(counted_halves(5, longer = c(speed_ns = 1.02))), "core_speed")
  # by the clock, where it may be read
  slower <- counted_halves(5, longer = c(speed_ns = 1.02))
  slower$mperf <- slower$span_ns
  slower$aperf <- 1.3 * slower$span_ns * exp(stats::rnorm(nrow(slower), 0, 0.001)) /
    ifelse(slower$arm == "on", 1.02, 1)
  got <- mechanism_changes(counted_campaign(slower))
  expect_equal(got$counter[got$named], "core_clock")
  expect_match(mechanism_words(got, "x"), "^With x their CPUs' clock is [12][.0-9]* % slower[.]$")
  expect_equal(named(counted_halves(6, longer = c(memory_ns = 1.4))), "memory_latency")
  expect_equal(named(counted_halves(7, c(faults = 2000))), "page_faults")
  expect_equal(named(counted_halves(8, c(irq_device = 500, softirq_net = 400))), "device_interrupts")
})

test_that(paste0("an agent that only uses CPU time is given no mechanism, though each of its bursts brings ",
                 "interrupts and switches"), {
  of_bursts <- c(irq_timer = 100, irq_reschedule = 100, rank_involuntary = 100, softirq_sched = 40)
  expect_equal(named(counted_halves(9, of_bursts), agent_us = 1e4), character())
  # the same number without bursts to explain it costs nothing that counts; ten times as many do
  expect_equal(named(counted_halves(9, 10 * of_bursts), agent_us = 1e5), character())
  expect_true("timer_interrupts" %in% named(counted_halves(9, 20 * of_bursts), agent_us = 1e4))
  # bursts that do little but wake up, by what that costs here, are interruptions and not work
  storm <- function(wake_ns, agent_us) {
    of_wakes <- c(irq_timer = 12000, rank_involuntary = 9000, softirq_sched = 300)
    campaign <- counted_campaign(counted_halves(11, of_wakes), agent_us)
    campaign$launches$L$counters <- list(read = TRUE, wake_ns = wake_ns)
    got <- mechanism_changes(campaign)
    got$counter[got$named]
  }
  expect_equal(storm(18000, 4e5), "timer_interrupts")
  expect_equal(storm(1000, 4e5), character())
  expect_equal(storm(1000, 5e4), "timer_interrupts")
  # bursts of threads of the kernel that work on its behalf bring as many as its own
  campaign <- counted_campaign(counted_halves(9, c(rank_involuntary = 600)), 1e3)
  named_beside <- function(behalf) {
    got <- mechanism_changes(campaign, behalf = behalf)
    got$counter[got$named]
  }
  expect_equal(named_beside(list()), "rank_switches")
  expect_equal(named_beside(list(other = 1e4)), "rank_switches")
  flushers <- data.frame(launch = "L", host = "n1", kind = "watcher", percent = c(0.6, 0.4, 9),
                         p_holm = c(0.001, 0.002, 0.4))
  groups <- data.frame(launch = c("L", "M"), host = "n1", kind = "watcher", percent = c(0.3, 0.1), p_holm = 0)
  expect_equal(behalf_use(groups, flushers, 0.01), list(watcher = 1e4))
  expect_equal(behalf_use(groups, NULL, 0.01), list(watcher = 2e3))
  expect_length(behalf_use(NULL, NULL, 0.01), 0)
  expect_equal(named_beside(behalf_use(groups, flushers, 0.01)), character())
  # less of it is no cause
  expect_equal(named(within(counted_halves(10), irq_timer <- ifelse(arm == "on", 0, irq_timer))), character())
})

test_that(paste0("without a difference something is named in one run of a hundred at most, and the interval ",
                 "holds what is there"), {
  hits <- vapply(1:60, function(seed) length(named(counted_halves(seed))) > 0, NA)
  expect_lte(sum(hits), stats::qbinom(0.999, 60, 0.01))
  holds <- vapply(
    1:60,
    function(seed) {
      got <- mechanism_changes(counted_campaign(counted_halves(seed, c(irq_call = 300))))
      row <- got[got$counter == "function_calls", ]
      row$low <= 300 && 300 <= row$high
    },
    NA
  )
  expect_gte(sum(holds), stats::qbinom(0.001, 60, 0.98))
})

test_that("a rate is a ratio of sums by hand, and with five launches launches are the unit", {
  rows <- data.frame(launch = "L", host = "n1", operation = "barrier", bytes = 0, pair = rep(1:8, each = 2),
                     arm = c("off", "on"), kind = c("", "x"), level_requested_percent = c(0, Inf),
                     span_ns = rep(c(1e9, 1e9, 2e9, 2e9), 4), irq_tlb = rep(c(1, 11, 4, 30), 4))
  rows$irq_tlb[1] <- 2
  got <- mechanism_changes(counted_campaign(rows))
  # 4 x (11 + 30) in 12 s; 4 x (1 + 4) + 1 in 12 s
  expect_equal(c(got$on, got$off, got$change, got$n_pairs), c(164 / 12, 21 / 12, 143 / 12, 8))
  launches <- do.call(rbind,
                      lapply(1:5, function(i) counted_halves(i, c(irq_call = 500), launch = paste0("L", i))))
  got <- mechanism_changes(counted_campaign(launches))
  each <- vapply(1:5, function(i) {
    mine <- mechanism_changes(counted_campaign(launches[launches$launch == paste0("L", i), ]))
    mine$change[mine$counter == "function_calls"]
  }, 0)
  mine <- got[got$counter == "function_calls", ]
  expect_equal(mine$high - mine$change, stats::qt(0.99, 4) * stats::sd(each) / sqrt(5), tolerance = 0.2)
})

test_that("few pairs, a constant and no table give nothing", {
  expect_null(mechanism_changes(list(counters = NULL)))
  expect_equal(NROW(mechanism_changes(counted_campaign(counted_halves(1, n = 6)))), 0)
  constant <- within(counted_halves(1), irq_call <- irq_tlb <- 0)
  expect_false(any(
    c("function_calls", "tlb_shootdowns") %in% mechanism_changes(counted_campaign(constant))$counter
  ))
})

test_that("the sentence names the strongest first, and what stands for other effects is joined with them", {
  rows <- mechanism_changes(counted_campaign(counted_halves(1, c(irq_call = 1180, faults = 600),
                                                            c(lock_ns = 3))))
  expect_match(
    mechanism_words(rows, "watcher"),
    paste0("^With watcher a change of a rank's memory map takes (3(\\.[01])? times as long|[0-9]{3} % ",
           "longer) \\(another task holds its lock\\); with it come 1,[12][0-9]0 function-call interrupts ",
           "and [0-9]{3} page faults of ranks a second more on the ranks' CPUs\\.$")
  )
  two <- mechanism_changes(counted_campaign(counted_halves(1, c(irq_call = 1180))))
  expect_match(
    mechanism_words(two, "watcher", TRUE),
    "^With the other effects come 1,[12][0-9]0 function-call interrupts a second more on the ranks' CPUs\\.$"
  )
  expect_null(mechanism_words(mechanism_changes(counted_campaign(counted_halves(1))), "watcher"))
  shown <- table_lines(mechanism_columns(rows))
  expect_match(shown, "function calls", all = FALSE)
})

test_that("what a machine cannot count is said by name", {
  launches <- list(
    L = list(counters = list(read = TRUE, hardware = "no hardware counters", not_there = "schedstat")),
    M = list(counters = list(read = FALSE))
  )
  said <- uncounted_notes(list(launches = launches))
  expect_match(said, "no hardware counters", all = FALSE)
  expect_match(said, "no /proc/schedstat", all = FALSE)
  expect_match(said, "too short", all = FALSE)
})

test_that("loads have a table for each level, in which their own bursts name nothing", {
  # a load of 10 % in bursts each 10 ms: each brings a wake-up and a switch; it also shoots translations down
  at <- function(seed, level, more) {
    rows <- counted_halves(seed, more, launch = paste0("L", level))
    rows$kind <- ifelse(rows$arm == "on", "ipi", "")
    rows$level_requested_percent <- ifelse(rows$arm == "on", level, 0)
    rows
  }
  bursts <- c(irq_timer = 100, rank_involuntary = 100)
  campaign <- counted_campaign(rbind(at(1, 1, bursts / 10), at(2, 10, c(bursts, irq_tlb = 3000))))
  got <- load_mechanisms(campaign)
  expect_equal(unique(got$label), c("ipi at 1 %", "ipi at 10 %"))
  expect_equal(got$counter[got$named], "tlb_shootdowns")
  expect_equal(got$label[got$named], "ipi at 10 %")
  # more timers there are, by Holm's correction, too
  expect_lt(got$p_holm[got$label == "ipi at 10 %" & got$counter == "timer_interrupts"], 0.01)
  parts <- load_mechanism_parts(got, campaign)
  expect_length(parts, 2)
  expect_match(part_lines(parts[[2]]), "^ *tlb shootdowns .* yes$", all = FALSE)
  expect_null(load_mechanism_parts(NULL, campaign))
  expect_null(load_mechanisms(list(counters = data.frame(), launches = list())))
  # what has no level is another treatment
  expect_null(load_mechanisms(counted_campaign(counted_halves(3))))
})
