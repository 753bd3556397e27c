# Who else ran, and what a node's noise would cost at scale: records whose answers are known.

# 5 % on 1,000 nodes that synchronise every 1 ms.
five <- list(percent = 5, nodes = 1000, every_s = 1e-3, unseen_s = 1e-4)

# A node of 2 CPUs on which others take `share` of the time in parts of 3 s, `tasks` and `lengths` as
# noiselab-record has them.
record_of <- function(shares, tasks, lengths, source = "cpu") {
  n <- length(shares)
  begun <- if (source == "cpu") as.list(rep(sum(vapply(lengths, `[[`, 0, 2)) / n, n))
  list(source = source, span_ns = 3e9 * n, wall_on_cpu_ns = 6e9 * sum(shares), lost = 0, not_kept = 0,
       steal_ns = 0, tasks = tasks, source_reason = if (source == "cpu") "" else "cpu: not allowed",
       block_busy_ns = if (source == "cpu") as.list(6e9 * shares), block_activities = begun,
       cpu_activity_lengths = lengths)
}

taker <- function(task, busy_ns, bursts, burst_ns, period_ns = NULL, cpus = "1") {
  list(task = task, busy_ns = busy_ns, bursts = bursts, burst_ns = burst_ns, longest_ns = 1.005 * burst_ns,
       period_ns = period_ns, cpus = cpus)
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
    writeLines(
      unlist(lapply(0:1, function(cpu) {
        c(
          sprintf("# scan: repetition 1 variant all cpu %d wall_ns %.0f detours %d kept %d", cpu,
                  scan_s * 1e9, length(at), length(at)),
          sprintf("%.0f\t%.0f\t%d", at, scan_ns, cpu)
        )
      })),
      file.path(dir, "detours.node1.trace")
    )
    a$paths <- c("sim-0001" = dir)
    a$left_out <- "node1" # periods of its detours take most of the time, and are not looked at here
  }
  a
}

quiet_record <- function(...) {
  record_of(rep(c(0.003, 0.005), 8), list(taker("kworker", 48e7 * 0.6, 4800, 30000, cpus = "0,1")),
            list(list(5000, 4000), list(9000, 800)), ...)
}

test_that(paste0("the first line says how much a node lost, to whom, and how long at most; tasks with ",
                 "bursts follow"), {
  coarse_walks()
  # 20 ms each second on one of two CPUs, 48 s: 1 % of its CPUs, and 0.4 % that kworker took
  record <- record_of(
    rep(c(0.013, 0.015), 8),
    list(taker("busy", 0.96e9, 48, 20e6, 1e9), taker("kworker", 0.384e9, 9600, 40000, cpus = "0,1")),
    list(list(40000, 9600), list(20e6, 48))
  )
  r <- judge_acceptance(node_with(record))
  expect_match(
    r$noise[1],
    paste0(
      "^Node node1: other tasks used 1\\.40 % \\(1\\.(29|3[0-9]) to 1\\.(4[0-9]|5[01])\\) of the CPU time, ",
      "at most 20 ms at once: ",
      "most by busy 1.00 % and kworker 0\\.400 %\\.$"
    )
  )
  expect_identical(cpus_words(c("3", "1,0", "-")), c("CPU 3", "the CPUs 1 and 0", "CPU -"))
  expect_identical(cpus_words("0,1,2,3,4,5"), "the CPUs 0, 1, 2, 3 and 2 more")
  expect_identical(r$noise[2], "On node1, busy takes CPU 1 for 20 ms every 1 s (2.00 % of a CPU).")
  expect_equal(r$figures$value[r$figures$check == "others"], 1.4)
  # a part of the time without a burst is 0, and 16 parts have 15 degrees of freedom
  f <- r$figures[r$figures$check == "others", ]
  expect_equal(f$ci_high - f$value, stats::qt(0.995, 15) * stats::sd(rep(c(1.3, 1.5), 8)) / 4)
  # who is always there has no period, and what is small is not named
  takers <- node_takers(read_others(list(
    launch = "x",
    others = list(list(
      host = "a",
      n_cpus = 2,
      record = record_of(rep(0.5, 4),
                         list(taker("spins", 11e9, 3000, 3.9e6, 4e6), taker("tick", 0.1e9, 9, 1e7, 1e9)),
                         list(list(3.9e6, 3000)))
    ))
  )))
  expect_true(all(is.na(takers$period_s[takers$task == "spins"])))
  expect_identical(is_named_task(takers), c(TRUE, TRUE))
})

# As noiselab-record has a process; `main`: how many bursts make up its time, and what they take.
process <- function(task, pid, busy_ns, bursts, burst_ns, main = c(bursts, busy_ns), cgroup = "",
                    kernel = FALSE, ...) {
  c(
    taker(task, busy_ns, bursts, burst_ns, ...),
    list(pid = pid, processes = 1, pids = paste(pid, collapse = ""), cgroup = cgroup, main_bursts = main[1],
         main_busy_ns = main[2], kernel = kernel)
  )
}

test_that(paste0("what is printed of a task is consistent: its share is its rate times its burst, and ",
                 "shorter bursts are apart"), {
  coarse_walks()
  # 48 s: 20.05 ms every 999.7 ms, and 3,000 bursts of 224 us beside them, which once made 3.41 % of it
  record <- record_of(
    rep(0.02, 16),
    list(
      process("twin", 4711, 48 * 20.05e6 + 3000 * 224e3, 3048, 224e3, c(48, 48 * 20.05e6),
              "/system.slice/twin.service", period_ns = 999.7e6),
      process("twin", 4712, 48 * 4 * 2e6, 192, 2e6, cpus = "0", period_ns = 250e6),
      # the period of a part of its bursts: 8.0 ms, 79.9 times a second would be 63.9 %, whatever period a
      # part of them keeps
      process("mixed", 99, 48 * 79.9 * 8e6, 48 * 79.9, 8e6, cpus = "0", period_ns = 7.75e6),
      process("kworker", NULL, 48e6, 4800, 1e4, kernel = TRUE)
    ),
    list(list(20e6, 48))
  )
  r <- judge_acceptance(node_with(record))
  causes <- r$causes
  expect_equal(causes$duty_percent[match(4711, causes$pid)], 100 * 20.05 / 999.7, tolerance = 1e-6)
  expect_equal(causes$shorter_percent[match(4711, causes$pid)], 100 * 3000 * 224e3 / 48e9)
  expect_equal(causes$duty_percent[match(4712, causes$pid)], 0.8, tolerance = 1e-6)
  expect_true(
    is.na(causes$period_s[match(99, causes$pid)]) || abs(causes$duty_percent[match(99, causes$pid)] - 103) < 1
  )
  with_burst <- causes[!is.na(causes$burst_s), ]
  expect_equal(
    with_burst$duty_percent,
    100 * with_burst$burst_s * ifelse(is.na(with_burst$period_s), with_burst$per_s, 1 / with_burst$period_s)
  )
  expect_match(
    r$noise,
    paste0("twin (PID 4711) of twin.service takes CPU 1 for 20.05 ms every 999.7 ms (2.01 % of a CPU; ",
           "another 1.40 % in shorter bursts)"),
    fixed = TRUE,
    all = FALSE
  )
  expect_match(r$noise, "twin (PID 4712) takes CPU 0 for 2 ms every 250 ms (0.800 % of a CPU)", fixed = TRUE,
               all = FALSE)
  expect_identical(causes$unit[match(4711, causes$pid)], "twin.service")
  expect_identical(causes$cause[causes$task == "kworker"], "kernel")
  # each by itself at scale, in the order of what it costs
  expect_true(all(diff(stats::na.omit(causes$at_scale_percent)) < 1))
  expect_match(
    grep("^CPU time", r$noise, value = TRUE),
    "^CPU time of node1, by cause: tasks .* %, kernel threads 0\\.[0-9]+ %.* and interrupts and firmware"
  )
})

# One task of a node of 2 CPUs, watched for 36 s: `pieces` of `piece_ns` each `period_ns`, `apart_ns` between
# them, beside 100 bursts of 10 us each second.
periodic_record <- function(pieces, piece_ns, period_ns, apart_ns = 0) {
  n <- round(36e9 / period_ns)
  task <- c(
    process("busy", 7, n * pieces * piece_ns, n, pieces * piece_ns, period_ns = period_ns),
    list(main_pieces = n * pieces, main_parted_ns = n * (pieces - 1) * apart_ns,
         main_piece_lengths = as.list(rep(piece_ns, 16)))
  )
  record <- record_of(rep(n * pieces * piece_ns / 36e9, 12), list(task),
                      list(list(1e4, 3600), list(0.997 * piece_ns, n * pieces)))
  record
}

test_that(paste0("what a task costs at scale is what its pieces cost at its period, and all of a node's ",
                 "noise costs no less"), {
  # Truths of 1,000 nodes that synchronise every 1 ms, by build/tests/reference/reference truth
  # arrivals=periodic nodes=1000 step_s=1e-3 and: gap_s=1 cost=fixed:2.005e-2; gap_s=1 cost=fixed:4e-3
  # clump=5 apart_s=8e-3; gap_s=0.25 cost=fixed:8e-3. (At any time instead of each second the first would
  # cost 2,400 %.)
  truths <- list(
    list(1971, periodic_record(1, 20.05e6, 1e9)),
    # a busy CPU takes 20 ms a slice of 4 ms at a time: nobody waits for all of it at once
    list(400, periodic_record(5, 4e6, 1e9, 4e6)),
    list(799, periodic_record(1, 8e6, 0.25e9))
  )
  for (one in truths) {
    r <- judge_acceptance(node_with(one[[2]], scan_ns = 1000))
    whole <- r$figures[r$figures$check == "scale", ]
    part <- r$causes[which(r$causes$task == "busy"), ]
    expect_equal(whole$value, one[[1]], tolerance = 0.03)
    expect_equal(part$at_scale_percent, one[[1]], tolerance = 0.03)
    expect_lt(part$at_scale_low, one[[1]])
    expect_gt(part$at_scale_high, one[[1]])
    expect_lte(part$at_scale_percent, whole$value)
    expect_lte(part$at_scale_low, whole$ci_low)
    expect_lte(part$at_scale_high, whole$ci_high %else% Inf)
  }
})

test_that("bursts on many CPUs, each busy in part, leave time to work", {
  # on each of 64 CPUs 1 ms in each 100 ms, which together are 64 % of one
  record <- record_of(rep(0.01, 12), list(), list(list(1e6, 64 * 360)))
  others <- read_others(list(launch = "sim", others = list(list(host = "n", n_cpus = 64, reason = NULL,
                                                                record = record))))
  cell <- scale_cell(record_noise(others), utils::modifyList(five, list(percent = NA_real_, nodes = 1)), 0.02)
  # reference truth gap_s=0.1 cost=fixed:1e-3 cpus=64 hit=own nodes=1 step_s=1e-3
  expect_equal(cell$value, 56.2, tolerance = 0.05)
})

test_that("a disturber of 20 ms a second, and of 2 ms, is named where others use 80 % of the CPUs", {
  coarse_walks()
  for (burst_ns in c(20e6, 2e6)) {
    others <- lapply(1:12, function(i) {
      process(paste0("busy", i), 100 + i, 48e9 * 0.13, 48 * 40, 3.2e6, cpus = "0,1")
    })
    record <- record_of(rep(0.8, 16),
                        c(others, list(process("backup", 7, 48 * burst_ns, 48, burst_ns, period_ns = 1e9))),
                        list(list(20e6, 48)))
    r <- judge_acceptance(node_with(record))
    words <- sprintf("backup (PID 7) takes CPU 1 for %s every 1 s", format_time(burst_ns / 1e9))
    expect_match(r$noise, words, fixed = TRUE, all = FALSE)
    # on the first screen, too, with and without a margin
    expect_match(paste(view_lines(acceptance_view(r, "dir")), collapse = " "), "backup (PID 7)", fixed = TRUE)
    expect_match(
      gsub(
        "\n",
        " ",
        paste(view_lines(acceptance_view(judge_acceptance(node_with(record), margin = five), "dir")),
              collapse = " ")
      ),
      words,
      fixed = TRUE
    )
  }
})

test_that("processes that come and go are one row; monitors are agents", {
  coarse_walks()
  shells <- lapply(1:9, function(i) process("sh", 500 + i, 4e6, 1, 4e6))
  r <- judge_acceptance(node_with(record_of(
    rep(0.01, 16), c(shells, list(process("collectd", 8, 48e7, 48, 1e7, period_ns = 1e9))),
    list(list(1e7, 48))
  )))
  expect_equal(r$causes[r$causes$task == "sh", c("processes", "percent_of_cpu")],
               data.frame(processes = 9, percent_of_cpu = 100 * 36e6 / 48e9), ignore_attr = TRUE)
  expect_identical(r$causes$cause[r$causes$task == "collectd"], "agent")
})

test_that("without the privilege the accounts say who, and a launch without a record says so", {
  coarse_walks()
  record <- record_of(0.01, list(taker("busy", 0.06e9, NULL, NULL)), list(), source = "proc")
  record$tasks[[1]]$longest_ns <- NULL
  r <- judge_acceptance(node_with(record))
  expect_match(
    r$noise[1],
    paste0("^Node node1: other tasks used 1\\.00 % of the CPU time: most by busy 1\\.00 %; the tasks' ",
           "accounts in /proc show no bursts.*CAP_PERFMON")
  )
  expect_match(tail(r$noise, 1), "^Projection: with the noise of node1, ")
  bare <- judge_acceptance(node_with(NULL, reason = "noiselab-record cannot be run"))
  expect_match(
    bare$noise[1],
    paste0("^Node node1 lost .* of its CPU time in detours; who used it was not recorded \\(noiselab-record ",
           "cannot be run\\)\\.$")
  )
  killed <- node_with(NULL, reason = "")
  killed$others <- read_others(list(launch = "sim-0001", hosts = list(list(host = "node1")), others = list()))
  expect_match(judge_acceptance(killed)$noise[1],
               "who used it was not recorded \\(the launch did not end\\)\\.$")
  expect_length(judge_acceptance(simulated_acceptance(nodes = 1))$noise, 0)
})

test_that(paste0("one node alone has no verdict about noise that nobody asked for: what was measured is ",
                 "printed, and how to make it one"), {
  coarse_walks()
  burst <- record_of(rep(c(0.013, 0.015), 8), list(taker("busy", 0.96e9, 48, 20e6, 1e9)),
                     list(list(40000, 9600), list(20e6, 48)))
  first <- judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20))
  expect_identical(c(first$verdict, first$judged), c("inconclusive", "data"))
  expect_length(first$asked, 0)
  expect_false(any(first$judgements$kind == "scale"))
  expect_match(first$answer, "^DATA CORRECT, NOISE MEASURED, NOT JUDGED on 1 node: no margin")
  expect_match(
    first$hint,
    paste0("^For a verdict: noiselab analyze acceptance --margin 5%:nodes=1000,every=1ms simulated; ",
           ".*--reference DIR .*--limits FILE")
  )
  view <- view_lines(acceptance_view(first, "dir"))
  expect_lte(length(view), 24)
  expect_match(view, "^  busy +1 +20 ms +every 1 s +2.00 % +1.00 % +over 1000 %$", all = FALSE)
  expect_match(paste(view, collapse = " "), "For a verdict: ")
  expect_match(
    tail(first$noise, 1),
    paste0("^Projection: with the noise of node1, a program on 1,000 such nodes that synchronise every 1 ms ",
           "would take more than ten times as long \\(busy over 1000 % alone\\)\\.$")
  )
  # nothing asked is nothing failed: a node's file offers no draining
  dir <- tempfile()
  write_node_files(first, dir)
  expect_equal(readLines(file.path(dir, "node1.txt"))[c(1, 3)], c("verdict: inconclusive", "asked: no"))
  # of one node, as a margin without nodes is meant: 1.4 % of its CPUs
  one <- judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20), margin = 5)
  expect_match(tail(one$noise, 1), "a program on this node alone")
  expect_identical(one$judged, "noise")
})

test_that(paste0("one node alone is judged by the margin that is given: quiet enough, not, or how much ",
                 "longer it takes"), {
  coarse_walks()
  quiet <- judge_acceptance(node_with(quiet_record(), scan_ns = 2000, scan_s = 20), margin = five)
  expect_identical(c(quiet$verdict, quiet$judged), c("pass", "noise"))
  expect_match(quiet$answer, "^PASS on 1 node")
  expect_match(tail(quiet$noise, 1),
               paste0("1,000 such nodes that synchronise every 1 ms .* slower.*: below your margin of 5 % ",
                      "\\(if no burst is longer than 100 \u00b5s\\)\\.$"))
  # minutes of record bound no bursts of 50 ms on a thousand nodes, and what was not said is not assumed
  unsaid <- judge_acceptance(node_with(quiet_record(), scan_ns = 2000, scan_s = 20),
                             margin = five[c("percent", "nodes", "every_s")])
  expect_identical(unsaid$verdict, "inconclusive")
  expect_match(tail(unsaid$noise, 1),
               paste0("rarer bursts of up to 50 ms may cost more; no run up to 64 times as long would ",
                      "decide, unless no burst can be as long as 50 ms \\(say so: unseen=TIME in ",
                      "the margin\\)"))
  burst <- record_of(rep(c(0.013, 0.015), 8), list(taker("busy", 0.96e9, 48, 20e6, 1e9)),
                     list(list(40000, 9600), list(20e6, 48)))
  loud <- judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20), margin = five)
  expect_identical(c(loud$verdict, loud$nodes$verdict), c("fail", "fail"))
  expect_match(loud$answer, "^FAIL on 1 node: node1 failed \\(scale\\)")
  # a step of 1 ms on 1,000 nodes meets one of their bursts of 20 ms in a second almost always: about 20
  # steps more for each
  expect_gt(loud$figures$value[loud$figures$check == "scale"], 1500)
  # what is seen for too short a time to know its tail
  short <- judge_acceptance(node_with(quiet_record(), scan_ns = 60000, per_s = 0.5, scan_s = 4),
                            margin = five)
  expect_identical(short$verdict, "inconclusive")
  expect_match(tail(short$noise, 1),
               "not decided against your margin of 5 % .*a run [0-9]+(\\.[0-9]+)? times as long would decide")
  unscanned <- judge_acceptance(node_with(quiet_record(), scan_ns = NULL), margin = five)$checks
  expect_match(unscanned$reason[unscanned$check == "scale"], "'detour' was not run")
  # a margin of the user's own, and a limit beside it
  expect_identical(
    judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20),
                     margin = list(percent = 5000, nodes = 1000, every_s = 1e-3))$verdict,
    "pass"
  )
  file <- tempfile()
  writeLines(c("others.taken <= 0.1 percent"), file)
  limited <- judge_acceptance(node_with(quiet_record(), scan_ns = 2000, scan_s = 20),
                              limits = read_limits(file))
  expect_identical(limited$judgements$kind[limited$judgements$check == "others"], "limit")
  expect_identical(limited$verdict, "fail")
  expect_false(any(limited$judgements$kind == "scale"))
  writeLines("margin scale 5000 %", file)
  lined <- judge_acceptance(node_with(burst, scan_ns = 2000, scan_s = 20), limits = read_limits(file))
  expect_identical(lined$judgements$verdict[lined$judgements$kind == "scale"], "pass")
})

test_that("what has no end is words in text, JSON, lines, OpenMetrics and a node's file", {
  coarse_walks()
  # bursts that leave no time
  all <- judge_acceptance(node_with(quiet_record(), scan_ns = 1e7, per_s = 100), margin = five)
  expect_identical(all$verdict, "fail")
  expect_match(tail(all$noise, 1), "would have no time to work")
  dir <- tempfile()
  write_node_files(all, dir)
  json <- answer_json("noiselab-analyze", acceptance_head(all), acceptance_data(all))
  for (text in list(format_acceptance(all), json, acceptance_lines(all), openmetrics_lines(all),
                    readLines(file.path(dir, "node1.txt")))) {
    expect_false(any(grepl("\\bInf\\b", text)))
    expect_match(paste(gsub("_", " ", text), collapse = "\n"), "more than the record can say")
  }
  view <- view_lines(acceptance_view(all, "dir"))
  expect_false(any(grepl("\\bInf\\b", view)))
  # in its table a word, and below it what that means
  expect_match(view, "^  scale +\\S+ fail +unbounded +node1 ", all = FALSE)
  expect_match(paste(view, collapse = " "), "; unbounded: more than the record can say", fixed = TRUE)
})

test_that("a cost without an upper end is said by its lower one, the same in sentence and table", {
  row <- data.frame(host = "n1", value = c(8012, 3.2, 8012, 8012, 8.2), ci_low = c(546, 1.1, 1500, 7000, 7.1),
                    ci_high = c(NA, NA, NA, 9000, 9.4), verdict = NA, reason = NA)
  asked <- scale_question()
  said <- vapply(1:5, function(i) scale_line(row[i, ], NULL, asked), "")
  expect_match(said[1], "every 1 ms would be at least 546 % slower.", fixed = TRUE)
  expect_match(said[2], "every 1 ms would be at least 1.10 % slower.", fixed = TRUE)
  expect_match(said[3:4], "every 1 ms would take more than ten times as long.", fixed = TRUE)
  expect_match(said[5], "every 1 ms would be 8.20 % (7.10 to 9.40) slower.", fixed = TRUE)
  shown <- figure_interval(cbind(row, check = "scale", unit = "percent"))
  expect_identical(shown, c(">= 546 %", ">= 1.10 %", "over 1000 %", "over 1000 %", "8.20 % [7.10 %, 9.40 %]"))
  causes <- data.frame(at_scale_percent = c(8012, 3.2, 8012, NA, Inf),
                       at_scale_low = c(546, 1.1, 7000, NA, Inf), at_scale_high = c(NA, NA, 9000, NA, NA))
  expect_identical(cause_slowdowns(causes), c(">= 546 %", "3.20 %", "over 1000 %", "-", "unbounded"))
  # and in the report, where a task keeps the letters of its name
  causes[c("host", "task", "pid", "processes")] <- list("n1", "backup", 7, 1)
  most <- function(i) who_sentence(list(causes = causes[i, ], at_scale = asked))
  program <- "with it alone, a program on 1,000 such nodes that synchronise every 1 ms"
  expect_identical(most(1), paste0("Most would be due to backup (PID 7) on n1: ", program,
                                   " would be at least 546 % slower."))
  expect_match(most(3), paste(program, "would take more than ten times as long."), fixed = TRUE)
  # beside a lower end a part is a lower end, too, so that no part seems to be more than the whole
  causes$cause <- "task"
  parts <- cbind(causes[c(2, 2), ], row.names = NULL)
  parts[c("at_scale_percent", "at_scale_low")] <- list(c(864, 132), c(520, 61))
  open <- data.frame(host = "n1", value = 900, ci_low = 546, ci_high = NA, verdict = NA, reason = NA)
  expect_match(scale_line(open, NULL, asked, parts),
               "at least 546 % slower (backup (PID 7) >= 520 % and backup (PID 7) >= 61.0 % alone).",
               fixed = TRUE)
  open$ci_high <- 2000
  expect_match(scale_line(open, NULL, asked, parts),
               "(backup (PID 7) 864 % and backup (PID 7) 132 % alone).", fixed = TRUE)
})

test_that("a record that sees no bursts, and none at all, pass nothing", {
  coarse_walks()
  proc <- quiet_record()
  proc[c("source", "source_reason", "cpu_activity_lengths",
         "block_activities")] <- list("proc", "cpu: not allowed", list(), NULL)
  blind <- judge_acceptance(node_with(proc, scan_ns = 2000, scan_s = 20), margin = five)
  expect_identical(blind$verdict, "inconclusive")
  expect_match(tail(blind$noise, 1), "accounts in /proc show no bursts")
  none <- judge_acceptance(
    node_with(NULL, scan_ns = 2000, scan_s = 20, reason = "noiselab-record cannot be run"), margin = five
  )
  expect_match(tail(none$noise, 1), "who else ran was not recorded in every launch")
  expect_identical(none$verdict, "inconclusive")
})

test_that(paste0("tasks that cannot be seen pass nothing: neither a margin nor a limit, and how much they ",
                 "used is printed"), {
  coarse_walks()
  account <- function(percent, blind = NULL) {
    list(unaccounted_percent = percent, resolution_percent = 0.05, blind = blind)
  }
  hidden <- quiet_record()
  hidden$account <- account(69.4, "/proc is mounted with hidepid=2: tasks of other users cannot be seen")
  whole <- quiet_record()
  whole$account <- account(0.04)
  unknown <- quiet_record()
  unknown["account"] <- list(account(NULL))
  of <- function(record, ...) {
    judge_acceptance(node_with(record, scan_ns = 2000, scan_s = 20), ...)
  }
  expect_identical(of(whole, margin = five)$verdict, "pass")
  for (record in list(hidden, unknown)) {
    expect_identical(of(record, margin = five)$verdict, "inconclusive")
  }
  expect_match(of(hidden)$noise[1],
               "69.4 % of the CPU time was used by nobody who could be seen (/proc is mounted with hidepid=2",
               fixed = TRUE)
  expect_match(tail(of(hidden, margin = five)$noise, 1),
               "69.4 % of the CPU time was used by nobody who could be seen")
  limit <- limits_of("others.taken <= 1 percent")
  expect_identical(of(whole, limits = limit)$verdict, "pass")
  got <- of(hidden, limits = limit)
  expect_identical(got$verdict, "inconclusive")
  expect_match(got$judgements$reason[got$judgements$check == "others"], "hidepid")
  # a list of tasks that lacks somebody does not say 0 %: who is hidden counts as others
  listed <- record_of(0.01, list(taker("busy", 0.06e9, NULL, NULL)), list(), source = "proc")
  listed$tasks[[1]]$longest_ns <- NULL
  listed$account <- account(69.4, "hidepid")
  expect_match(of(listed)$noise[1], "^Node node1: other tasks used 70.4 % of the CPU time")
  # within what a share may be worse by it is no obstacle
  little <- quiet_record()
  little$account <- account(0.15)
  expect_identical(of(little, limits = limit)$verdict, "pass")
  # all that nobody was seen to use may be the others': 0.4 % of theirs and 0.45 % pass 1 %, not 0.7 %
  part <- quiet_record()
  part$account <- account(0.45)
  expect_identical(of(part, limits = limit)$verdict, "pass")
  got <- of(part, limits = limits_of("others.taken <= 0.7 percent"))$judgements
  got <- got[got$check == "others", ]
  expect_identical(got$verdict, "inconclusive")
  expect_gt(got$ci_high, 0.4 + 0.45)
  expect_match(got$reason, "0.450 % of the CPU time was used by nobody who could be seen", fixed = TRUE)
})

test_that("against a reference only what nobody was seen to use beyond the reference's own counts", {
  coarse_walks()
  known <- function(percent, launches = 1) {
    a <- simulated_acceptance(nodes = 1, launches = launches)
    a$others <- do.call(c, lapply(names(a$launches), function(launch) {
      record <- quiet_record()
      # no two launches are alike
      more <- 1 + match(launch, names(a$launches)) / 50
      record$block_busy_ns <- lapply(record$block_busy_ns, `*`, more)
      record$account <- list(unaccounted_percent = percent, resolution_percent = 0.05)
      read_others(list(launch = launch,
                       others = list(list(host = "node1", n_cpus = 2, reason = NULL, record = record))))
    }))
    a$figures <- bind_rows(list(a$figures, taken_figures(a$others)))
    a
  }
  judged <- function(percent, of_reference) {
    rows <- judge_acceptance(known(percent), reference = known(of_reference, 5))$judgements
    rows[rows$check == "others", ]
  }
  # the margin is 0.5 points: a machine whose interrupts take 0.6 % passes, as its reference had them
  expect_identical(judged(0.6, 0.6)$verdict, "pass")
  expect_identical(judged(0.3, 0)$verdict, "pass")
  # what was not there before may be somebody
  new <- judged(0.9, 0.1)
  expect_identical(new$verdict, "inconclusive")
  expect_match(new$reason, "^0.900 % of the CPU time was used by nobody who could be seen")
  # and what takes its place as well is not told from it
  expect_identical(judged(1.4, 0.6)$verdict, "inconclusive")
})

test_that(paste0("a burst of seconds once in minutes, which no scan saw and no record could, is in what the ",
                 "ranks waited, and is not passed"), {
  coarse_walks()
  # without privileges: 60 checks of 1 s, in each of which two ranks waited `each_s`, and one of 0.7 s
  with_waits <- function(each_s, burst_s) {
    a <- node_with(NULL, scan_ns = 2000, scan_s = 20, reason = "noiselab-record cannot be run")
    row <- function(rank) {
      data.frame(launch = "sim-0001", check = "others", variant = "", metric = "waited", unit = "percent",
                 value = 100 * c(rep(each_s, 59), if (rank == 1) burst_s else each_s), n = NA_real_,
                 repetition = rep(1:5, 12), start_ns = seq_len(60) * 1e9, wall_ns = 1e9, host = "node1",
                 rank = rank, peer_host = "")
    }
    a$figures <- bind_rows(list(a$figures, row(0), row(1)))
    judge_acceptance(a, margin = five)
  }
  quiet <- with_waits(1e-6, 1e-6)
  expect_identical(quiet$verdict, "pass")
  burst <- with_waits(1e-6, 0.7)
  expect_identical(burst$verdict, "inconclusive")
  expect_equal(max(wait_noise(burst$acceptance$figures, "node1")$costs_s), 0.7)
  expect_equal(wait_noise(burst$acceptance$figures, "node1")$watched_s, 60)
})
