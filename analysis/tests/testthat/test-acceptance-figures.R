# Who else ran, and what a node's noise would cost at scale: records whose answers are known.

# A node of 2 CPUs on which others take `share` of the time in parts of 3 s, `tasks` and `lengths` as noiselab-record has them.
record_of <- function(shares, tasks, lengths, source = "cpu") {
  n <- length(shares)
  begun <- if (source == "cpu") as.list(rep(sum(vapply(lengths, `[[`, 0, 2)) / n, n))
  list(source = source, span_ns = 3e9 * n, wall_on_cpu_ns = 6e9 * sum(shares), lost = 0, not_kept = 0, steal_ns = 0, tasks = tasks,
       source_reason = if (source == "cpu") "" else "cpu: not allowed", block_busy_ns = if (source == "cpu") as.list(6e9 * shares),
       block_activities = begun, cpu_activity_lengths = lengths)
}

taker <- function(task, busy_ns, bursts, burst_ns, period_ns = NULL, cpus = "1") {
  list(task = task, busy_ns = busy_ns, bursts = bursts, burst_ns = burst_ns, longest_ns = 1.005 * burst_ns, period_ns = period_ns, cpus = cpus)
}

# One node, what others took of it, and detours of `scan_ns` each, `per_s` of them, in scans of `scan_s`.
node_with <- function(record, scan_ns = 5000, per_s = 100, scan_s = 4, reason = NULL) {
  a <- simulated_acceptance(nodes = 1)
  others <- list(list(host = "node1", n_cpus = 2, reason = reason, record = record))
  a$others <- read_others(list(launch = "sim-0001", others = others))
  a$figures <- bind_rows(list(a$figures, taken_figures(a$others)))
  if (!is.null(scan_ns)) {
    dir <- tempfile("launch")
    dir.create(dir)
    at <- round(seq(0.1, scan_s * per_s) * 1e9 / per_s)
    writeLines(unlist(lapply(0:1, function(cpu) c(
      sprintf("# scan: repetition 1 variant all cpu %d wall_ns %.0f detours %d kept %d", cpu, scan_s * 1e9, length(at), length(at)),
      sprintf("%.0f\t%.0f\t%d", at, scan_ns, cpu)
    ))), file.path(dir, "detours.node1.trace"))
    a$paths <- c("sim-0001" = dir)
    a$left_out <- "node1" # periods of its detours take most of the time, and are not looked at here
  }
  a
}

quiet_record <- function(...) record_of(rep(c(0.003, 0.005), 8), list(taker("kworker", 48e7 * 0.6, 4800, 30000, cpus = "0,1")),
                                       list(list(5000, 4000), list(9000, 800)), ...)

test_that("the first line says how much a node lost, to whom, and how long at most; tasks with bursts follow", {
  # 20 ms each second on one of two CPUs, 48 s: 1 % of its CPUs, and 0.4 % that kworker took
  record <- record_of(rep(c(0.013, 0.015), 8), list(taker("busy", 0.96e9, 48, 20e6, 1e9), taker("kworker", 0.384e9, 9600, 40000, cpus = "0,1")),
                      list(list(40000, 9600), list(20e6, 48)))
  r <- judge_acceptance(node_with(record))
  expect_match(r$noise[1], paste0("^node node1 lost 1\\.40 % \\(1\\.(29|3[0-9]) to 1\\.(4[0-9]|5[01])\\) of its CPUs to others, longest 20 ms; ",
                                  "most to busy \\(1.00 %\\) and kworker \\(0\\.400 %\\)\\.$"))
  expect_identical(r$noise[2], "On node1, busy takes CPU 1 for 20 ms every 1 s (2.00 % of a CPU).")
  expect_equal(r$figures$value[r$figures$check == "others"], 1.4)
  # a part of the time without a burst is 0, and 16 parts have 15 degrees of freedom
  f <- r$figures[r$figures$check == "others", ]
  expect_equal(f$ci_high - f$value, stats::qt(0.995, 15) * stats::sd(rep(c(1.3, 1.5), 8)) / 4)
  # who is always there has no period, and what is small is not named
  takers <- node_takers(read_others(list(launch = "x", others = list(list(host = "a", n_cpus = 2, record = record_of(
    rep(0.5, 4), list(taker("spins", 11e9, 3000, 3.9e6, 4e6), taker("tick", 0.1e9, 9, 1e7, 1e9)), list(list(3.9e6, 3000))
  ))))))
  expect_true(all(is.na(takers$period_s[takers$task == "spins"])))
  expect_identical(is_named_task(takers), c(TRUE, FALSE))
})

test_that("without the privilege the accounts say who, and a launch without a record says so", {
  record <- record_of(0.01, list(taker("busy", 0.06e9, NULL, NULL)), list(), source = "proc")
  record$tasks[[1]]$longest_ns <- NULL
  r <- judge_acceptance(node_with(record))
  expect_match(r$noise[1], "^node node1 lost 1\\.00 % of its CPUs to others; most to busy \\(1\\.00 %\\); by the tasks' accounts in /proc only.*CAP_PERFMON")
  expect_match(r$noise[2], "^The noise of node1 would cost")
  bare <- judge_acceptance(node_with(NULL, reason = "noiselab-record cannot be run"))
  expect_match(bare$noise[1], "^node node1 lost .* of its CPUs in detours; who took it was not recorded \\(noiselab-record cannot be run\\)\\.$")
  killed <- node_with(NULL, reason = "")
  killed$others <- read_others(list(launch = "sim-0001", hosts = list(list(host = "node1")), others = list()))
  expect_match(judge_acceptance(killed)$noise[1], "who took it was not recorded \\(the launch did not end\\)\\.$")
  expect_length(judge_acceptance(simulated_acceptance(nodes = 1))$noise, 0)
})

test_that("one node alone has a verdict about noise: quiet enough, not, or how much longer it takes", {
  quiet <- judge_acceptance(node_with(quiet_record(), scan_ns = 2000, scan_s = 20))
  expect_identical(c(quiet$verdict, quiet$judged), c("pass", "noise"))
  expect_match(quiet$answer, "^PASS on 1 node")
  expect_match(tail(quiet$noise, 1), "1000 such nodes that synchronise every 1 ms .*: quiet enough by noiselab's own margin of 5 %\\.$")
  burst <- record_of(rep(c(0.013, 0.015), 8), list(taker("busy", 0.96e9, 48, 20e6, 1e9)), list(list(40000, 9600), list(20e6, 48)))
  loud <- judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20))
  expect_identical(c(loud$verdict, loud$nodes$verdict), c("fail", "fail"))
  expect_match(loud$answer, "^FAIL on 1 node: node1 failed \\(scale\\)")
  # a step of 1 ms on 1,000 nodes meets one of their bursts of 20 ms in a second almost always: about 20 steps more for each
  expect_gt(loud$figures$value[loud$figures$check == "scale"], 1500)
  # what is seen for too short a time to know its tail
  short <- judge_acceptance(node_with(quiet_record(), scan_ns = 60000, per_s = 0.5, scan_s = 4))
  expect_identical(short$verdict, "inconclusive")
  expect_match(tail(short$noise, 1), "whether that is quiet enough cannot be told .*a run [0-9]+(\\.[0-9]+)? times as long would decide")
  unscanned <- judge_acceptance(node_with(quiet_record(), scan_ns = NULL))$checks
  expect_match(unscanned$reason[unscanned$check == "scale"], "'detour' was not run")
  # bursts that leave no time
  all <- judge_acceptance(node_with(quiet_record(), scan_ns = 9e6, per_s = 100))
  expect_identical(all$verdict, "fail")
  expect_match(tail(all$noise, 1), "would leave 1000 such nodes .* no time to work")
  # a margin of the user's own, and a limit that judges instead
  expect_identical(judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20), margin = 5000)$verdict, "pass")
  file <- tempfile()
  writeLines(c("margin scale 1 %", "others.taken <= 0.1 percent"), file)
  limited <- judge_acceptance(node_with(quiet_record(), scan_ns = 2000, scan_s = 20), limits = read_limits(file))
  expect_identical(limited$judgements$kind[limited$judgements$check == "others"], "limit")
  expect_identical(limited$verdict, "fail")
  expect_false(any(limited$judgements$kind == "scale"))
})
