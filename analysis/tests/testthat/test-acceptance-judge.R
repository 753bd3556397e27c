# Each campaign is simulated once.
simulated <- new.env()
in_memory <- function(seed = 1, ...) {
  key <- paste(deparse(list(seed = seed, ...)), collapse = "")
  if (is.null(simulated[[key]])) simulated[[key]] <- simulated_acceptance(seed = seed, ...)
  simulated[[key]]
}

judged_by <- function(result, kind) result$judgements[result$judgements$kind == kind, ]

test_that(paste0("a check that was skipped is no obstacle unless it has a limit, one that failed or was ",
                 "left planned, or not asked for with a limit, leaves the run open"), {
  without <- function(status, ..., reason = NA) {
    a <- in_memory()
    a$figures <- a$figures[a$figures$check != "completeness", ]
    a$checks[a$checks$check == "completeness", c("status", "reason")] <- list(
      status, reason
    )
    judge_acceptance(a, ...)
  }
  row_of <- function(result, check) {
    result$checks[result$checks$check == check, ]
  }
  skipped <- without("skipped", reason = "it takes two ranks")
  expect_equal(unlist(row_of(skipped, "completeness")[c("status", "verdict", "reason")], use.names = FALSE),
               c("skipped", "skipped", "sim-0001: skipped, it takes two ranks"))
  expect_equal(skipped$verdict, "pass")
  expect_match(paste(format_acceptance(skipped), collapse = "\n"), "completeness: .*it takes two ranks")
  limited <- without("skipped", limits_of("completeness.coefficient >= 0.5 ratio"))
  expect_match(row_of(limited, "completeness")$reason, "no launch has this figure")
  unasked <- judge_acceptance(in_memory(), limits_of("topology.per_channel >= 1 GB/s"))
  expect_equal(unlist(row_of(unasked, "topology")[c("status", "verdict")], use.names = FALSE),
               c("not asked for", "inconclusive"))
  expect_match(unasked$answer, "no check failed; topology is inconclusive")
  open <- list(limited, unasked, without("failed"), without("planned"),
               judge_acceptance(in_memory(), limits_of("bandwidth.one_way 8KiB >= 1 GB/s")))
  expect_equal(unique(vapply(open, `[[`, "", "verdict")), "inconclusive")
  for (result in open[3:4]) {
    expect_match(result$answer, "completeness is inconclusive")
  }
})

test_that("where nothing but data was judged, it is said so and how to get limits, and that is no pass", {
  one <- judge_acceptance(in_memory(nodes = 1))
  expect_equal(c(one$verdict, one$judged, one$nodes$verdict), c("inconclusive", "data", "inconclusive"))
  expect_match(one$answer,
               "^DATA CORRECT, NOISE MEASURED, NOT JUDGED on 1 node: no margin, limits or reference given")
  a <- in_memory(nodes = 1)
  a$figures <- a$figures[a$figures$check != "integrity", ]
  expect_match(judge_acceptance(a)$answer, "^NOISE MEASURED, NOT JUDGED")
  # a file in which no limit is active judges nothing either
  expect_equal(
    judge_acceptance(in_memory(nodes = 1),
                     limits_of("# detour.alone.lost <= 1 %", "margin share 5 %"))$judged,
    "data"
  )
  wrong <- judge_acceptance(in_memory(nodes = 2, mismatches = 1))
  expect_equal(wrong$verdict, "fail")
})

test_that("zeros are no certainty: bounds are exact, with the time that was watched", {
  quiet <- function(watched_s, line) {
    a <- in_memory(nodes = 1, lost_percent = 0, watched_s = watched_s, launches = 1)
    judged_by(judge_acceptance(a, limits_of(line)), "limit")
  }
  # 1 launch, 5 repetitions, 2 CPUs, alone and all: 20 scans
  short <- quiet(0.012, "detour.alone.lost <= 0.5 %")
  expect_equal(short$verdict, "inconclusive")
  # 0.24 s of the detour check and 0.1 s of the quantum check
  expect_equal(short$ci_high, 100 * -log(0.005) / 0.34 * 0.05, tolerance = 0.01)
  expect_match(
    short$reason,
    "bursts of 50 ms: none was seen in 34[0-9.]+ ms of CPU time, so that they may take up to 7[0-9.]+ %"
  )
  expect_equal(quiet(6, "detour.alone.lost <= 0.5 %")$verdict, "pass")
  figures <- data.frame(check = c("detour", "detour", "collective"),
                        metric = c("detours", "detours", "late_starts"),
                        unit = c("per_s", "per_s", "percent"), scale = "linear", value = c(0, 2, 0), se = 0,
                        df = NaN, n = 3, all_zero = c(TRUE, FALSE, TRUE), events = c(0, 5, 400),
                        watched_s = c(0.12, 2.5, NA), bursts_s = c(0.12, 2.5, NA), bursts = 0)
  got <- figure_bounds(figures, 0.1)
  expect_equal(got$low, c(0, qgamma(0.05, 5) / 2.5, 0))
  expect_equal(got$high, c(-log(0.05) / 0.12, qgamma(0.95, 6) / 2.5, 100 * (1 - 0.05^(1 / 400))))
  expect_match(bound_words(cbind(figures, ci_high = got$high))[1],
               "no event in 120 ms: below 25.0 per second", fixed = TRUE)
  # one late start in 20 repetitions of 5 starts: Student's end is too low, the binomial's is not
  once <- data.frame(check = "collective", metric = "late_starts", unit = "percent", scale = "linear",
                     value = 1, se = 1, df = 19, n = 20, all_zero = FALSE, events = 100, watched_s = NA,
                     bursts_s = NA, bursts = 0)
  expect_equal(figure_bounds(once, 0.01),
               data.frame(low = 1 - qt(0.995, 19), high = 100 * qbeta(0.995, 2, 99)))
  # values that are all the same, and not 0, have an unknown scatter
  same <- in_memory(nodes = 1)
  same$figures$value[same$figures$metric == "quantum"] <- 1e5
  rows <- judged_by(judge_acceptance(same, limits_of("quantum.alone.quantum <= 1 ms")), "limit")
  expect_equal(rows$verdict, "inconclusive")
  expect_match(rows$reason, "all repetitions agree exactly")
})

test_that(paste0("rare long bursts that were not seen leave a node open in a quick run, and are found in a ",
                 "long one"), {
  verdicts <- function(watched_s, ...) {
    rows <- judge_acceptance(in_memory(watched_s = watched_s, ...))$comparisons
    rows[rows$metric == "lost", ]
  }
  expect_false(any(verdicts(0.12)$verdict == "pass"))
  expect_match(verdicts(0.12)$reason[1], "by bursts of 50 ms that nobody saw")
  expect_true(all(verdicts(20)$verdict == "pass"))
  long <- verdicts(20, burst_node = 2)
  expect_false(any(long$verdict[long$entity == "node2"] == "pass"))
})

test_that("a judged limit's row shows that figure and that limit", {
  row <- function(line) {
    checks <- judge_acceptance(in_memory(), limits_of(line))$checks
    checks[checks$check == "detour", c("verdict", "name", "limit")]
  }
  expect_equal(unlist(row("detour.all.longest <= 1 ns")),
               c(verdict = "fail", name = "detour.all.longest.node1", limit = "<= 1 ns"), ignore_attr = TRUE)
  shown <- row("detour.all.lost_worst_cpu <= 1 %")
  expect_equal(shown$verdict, "pass")
  expect_match(shown$name, "^detour.all.lost_worst_cpu.node[123]$")
  # one CPU per node has no worst one
  expect_false("lost_worst_cpu" %in% acceptance_units(in_memory(cpus = 1))$metric)
  expect_equal(shown$limit, "<= 1 %")
})

test_that("a limit fails only beyond what all limits together allow by chance", {
  # of a hundred figures at their limit one interval in two hundred lies beyond it
  set.seed(11)
  figures <- data.frame(check = "latency", variant = "between", metric = "half_round_trip", size = 8,
                        what = "", of = "pair", entity = as.character(1:400), unit = "ns", scale = "log",
                        value = 1000 * exp(rnorm(400, 0, 0.01)), se = 0.01, df = 1000, n = 10,
                        all_zero = FALSE, events = 0, watched_s = NA_real_, bursts_s = NA_real_, bursts = 0)
  ends <- figure_bounds(figures, 0.01)
  figures[c("ci_low", "ci_high")] <- ends
  expect_gt(sum(ends$low > 1000), 0)
  rows <- judge_limits(figures, limits_of("latency.half_round_trip <= 1 us"), "limits", 0.01)
  expect_false(any(rows$verdict == "fail"))
  expect_equal(rows$verdict[ends$low > 1000], rep("inconclusive", sum(ends$low > 1000)))
})

test_that("a node that no limit, reference or other node judges is not passed", {
  result <- judge_acceptance(in_memory(nodes = 5, models = c(3, 2)))
  expect_equal(result$verdict, "inconclusive")
  expect_match(result$answer, "nothing judges the noise of node4, node5")
  expect_equal(result$nodes$verdict, rep(c("pass", "inconclusive"), c(3, 2)))
})

test_that("limits are held with their size, unit and direction", {
  verdicts <- function(line, ...) judged_by(judge_acceptance(in_memory(...), limits_of(line)), "limit")
  # the simulated speed is 1e10 B/s; of completeness a size is the number of nodes
  for (case in list(c("latency.between.half_round_trip 8 <= 3 us", "pass"),
                    c("latency.between.half_round_trip 8 <= 1.5 us", "fail"),
                    c("bandwidth.one_way 64KiB >= 8 GiB/s", "pass"),
                    c("bandwidth.one_way 64KiB >= 12 GB/s", "fail"),
                    c("completeness.nodes.coefficient 3 >= 0.8 ratio", "pass"),
                    c("completeness.nodes.coefficient 4 >= 0.8 ratio", "inconclusive"))) {
    expect_equal(unique(verdicts(case[1])$verdict), case[2], info = case[1])
  }
  rows <- verdicts("detour.alone.lost <= 0.6 %", slow_node = 2)
  expect_equal(rows$verdict[match(c("node1", "node2", "node3"), rows$entity)], c("pass", "fail", "pass"))
  one <- verdicts("completeness.nodes.coefficient >= 0.8 ratio", launches = 1, repetitions = 1)
  expect_equal(one$verdict, "inconclusive")
  expect_match(one$reason, "one repetition")
})

test_that("one node and two are measured and held against limits, and it is said that none is compared", {
  for (nodes in 1:2) {
    result <- judge_acceptance(in_memory(nodes = nodes), limits_of("detour.alone.lost <= 0.5 %"))
    expect_equal(result$verdict, "pass")
    expect_equal(unique(judged_by(result, "limit")$verdict), "pass")
    expect_equal(nrow(judged_by(result, "node")), 0)
    expect_match(paste(result$notes, collapse = " "),
                 sprintf("%d nodes?: none is compared with the others, which takes three", nodes))
    expect_equal(result$nodes$verdict, rep("pass", nodes))
    expect_equal(result$judged, "noise")
    # JSON needs plain vectors
    for (name in c("checks", "judgements", "figures", "nodes", "comparisons")) {
      expect_true(all(vapply(result[[name]], function(x) is.null(dim(x)) && !is.list(x), TRUE)), label = name)
    }
  }
})

test_that(paste0("nodes that share a CPU are compared by what was scanned alone, and by the links of nodes ",
                 "that do not share it"), {
  shared <- function(...) {
    a <- in_memory(...)
    a$shared <- data.frame(host_a = "node1", host_b = "node2", cpu = 0)
    judge_acceptance(a)
  }
  result <- shared(slow_node = 2)
  rows <- result$comparisons
  expect_setequal(rows$variant[rows$kind == "node"], "alone")
  expect_false("inconclusive" %in% rows$verdict[rows$variant == "between"])
  expect_match(paste(result$notes, collapse = " "), "node1 and node2 share CPU 0")
  expect_equal(unique(rows$entity[rows$verdict == "fail"]), "node2")
  healthy <- shared()$comparisons
  expect_setequal(healthy$entity[healthy$kind == "link"], c("node1 - node3", "node2 - node3"))
  # what sharing makes of a link is within a margin of 100 %
  expect_equal(unique(healthy$margin[healthy$check == "latency"]), 100)
  expect_false("fail" %in% shared(slow_link = c(2, 3), slow_percent = 60)$comparisons$verdict)
  slow <- shared(slow_link = c(2, 3), slow_percent = 400)$judgements
  expect_equal(unique(slow$entity[slow$verdict == "fail"]), "node2 - node3")
})

test_that("a node that was lost in a launch fails, and no more when that launch was completed later", {
  campaign <- simulate_acceptance(tempfile(), launches = 2)
  schedule <- c("# schema: 1", "# experiment: acceptance", "# lost: sim-0001 node1",
                "# lost: sim-0009 node2,node3", paste(schedule_columns, collapse = "\t"),
                "sim-0001\t1\t-\t3\t--seconds\t1s")
  writeLines(schedule, file.path(campaign, "schedule.tsv"))
  result <- judge_acceptance(read_acceptance(campaign))
  bad <- judged_by(result, "lost")
  expect_equal(bad$entity, c("node2", "node3"))
  expect_equal(result$nodes$verdict[2:3], c("fail", "fail"))
  expect_match(result$answer, "^FAIL on 3 nodes: node2, node3 failed \\(lost\\)")
  expect_match(acceptance_view(result, "dir")$warnings[1], "^node2: lost, 1 launch: see what ended it")
})

test_that("what the reference lacks, has beyond, or has of another number of ranks, is said and not judged", {
  reference <- in_memory(seed = 2)
  reference$figures <- reference$figures[reference$figures$check != "detour", ]
  a <- in_memory()
  a$figures <- a$figures[a$figures$check != "completeness", ]
  at <- a$figures$check == "bandwidth"
  a$figures$bytes[at] <- 131072
  result <- judge_acceptance(a, reference = reference)
  rows <- judged_by(result, "reference")
  expect_false(any(rows$check %in% c("detour", "bandwidth")))
  expect_true("latency" %in% rows$check)
  notes <- paste(result$notes, collapse = "\n")
  expect_match(notes,
               "the reference lacks [0-9]+ figures, not judged by it: bandwidth.between.one_way.131072")
  expect_match(notes,
               "the reference has 2 figures that were not measured here: .*completeness.nodes.coefficient.3")
  # of another number of ranks: nodes and pairs, not what hangs on the number
  other <- judge_acceptance(in_memory(), reference = in_memory(seed = 2, nodes = 5))
  expect_setequal(judged_by(other, "reference")$check, c("latency", "bandwidth", "detour", "quantum"))
  expect_match(paste(other$notes, collapse = "\n"), "the reference has 5 ranks, this campaign 3")
})

test_that(paste0("values of nodes crossed with launches are worth less than as many independent ones, and ",
                 "as many where neither differs"), {
  # by hand: two launches (rows) of three nodes; mean squares 24 of launches, 2 of nodes, 0 left over
  got <- crossed_scatter(rbind(1:3, 5:7))
  expect_equal(
    got,
    list(mean = 4, sd = sqrt(24 / 3 + 2 / 2), n = (24 / 3 + 2 / 2) / ((24 + 2) / 6),
         df = 9^2 / (8^2 / 1 + 1^2 / 2))
  )
  expect_equal(crossed_scatter(matrix(c(1, 2, 3, 5, 6, 7))),
               list(mean = 4, sd = sd(c(1, 2, 3, 5, 6, 7)), n = 6, df = 5))
  set.seed(12)
  equal <- crossed_scatter(matrix(rnorm(400), 20))
  expect_equal(c(equal$sd, equal$mean), c(1, 0), tolerance = 0.15)
  expect_gt(equal$n, 150)
  nodes <- crossed_scatter(matrix(rnorm(40, 0, 0.1), 10) + rep(c(-3, -1, 1, 3), each = 10))
  expect_lt(nodes$n, 4.1)
  expect_lt(nodes$df, 3.1)
  # a gap is filled by what its launch and its node say
  gap <- rbind(1:3, c(5, NA, 7))
  expect_equal(crossed_scatter(gap)$sd, crossed_scatter(rbind(1:3, 5:7))$sd, tolerance = 0.2)
})

test_that("a campaign that ended before its self-check is judged by what ran, and passes no node", {
  a <- in_memory()
  a$self_check <- list(dirs = character(), planned = TRUE, why_not = NA_character_)
  result <- judge_acceptance(a)
  expect_equal(result$nodes$verdict, rep("inconclusive", 3))
  expect_match(result$answer, "it was planned, but there is no launch of it")
})

test_that("a reference of one launch never makes a figure fail", {
  reference <- in_memory(seed = 2, nodes = 8, launches = 1)
  rows <- judged_by(
    judge_acceptance(in_memory(nodes = 8, slow_node = 2, slow_percent = 100), reference = reference),
    "reference"
  )
  expect_false(any(rows$verdict == "fail"))
  bad <- rows[rows$check == "latency" & rows$entity == "node2 - node3", ]
  expect_match(bad$reason,
               "the reference has 140 values of 1 launch: what changes between launches is not in its bound")
  # nor passes one by a bound that no machine could miss
  expect_false(any(rows$verdict[rows$check == "latency"] == "pass"))
  # of fewer than five values nothing is learnt
  few <- judged_by(
    judge_acceptance(in_memory(), reference = in_memory(seed = 2, launches = 1, repetitions = 4)), "reference"
  )
  expect_equal(unique(few$verdict[few$check == "completeness"]), "inconclusive")
  expect_match(few$reason[few$check == "completeness"][1],
               "4 values of the reference are too few \\(5 are needed\\)")
})

test_that(paste0("a reference that was measured on a busy machine passes nothing, and no limit is shown ",
                 "that nothing could reach"), {
  reference <- in_memory(seed = 2, launches = 6)
  good <- judged_by(judge_acceptance(in_memory(), reference = reference), "reference")
  at <- good$metric == "half_round_trip"
  shown <- as.numeric(sub("^<= ([0-9.]+) .*", "\\1", good$limit[at])) *
    ifelse(grepl("\u00b5s", good$limit[at]), 1000, 1)
  expect_true(all(shown < 1.4 * good$value[at]))
  with_tasks <- function(percent) {
    rows <- reference$figures[
      reference$figures$check == "detour" & reference$figures$metric == "lost",
    ]
    rows[c("metric", "value")] <- list("preempted", percent)
    reference$figures <- rbind(reference$figures, rows)
    judge_acceptance(in_memory(), reference = reference)
  }
  busy <- with_tasks(32)
  expect_false(any(judged_by(busy, "reference")$verdict == "pass"))
  expect_match(
    judged_by(busy, "reference")$reason,
    paste0("other tasks used up to 32.0 % of a CPU during launch sim-0001, .* of the reference: repeat them ",
           "when the machine is quiet .--wait-quiet 5min.$"),
    all = FALSE
  )
  expect_match(busy$notes, "the reference passes nothing", all = FALSE)
  expect_equal(judged_by(with_tasks(1), "reference")$verdict,
               judged_by(judge_acceptance(in_memory(), reference = reference), "reference")$verdict)
})

test_that(paste0("a reference passes nothing that is worse than its own worst and the margin, however far ",
                 "its bound is"), {
  reference <- simulated_acceptance(nodes = 3, launches = 2, repetitions = 3, seed = 1)
  rows <- judge_acceptance(in_memory(seed = 2, slow_node = 2, slow_percent = 60),
                           reference = reference)$judgements
  rows <- rows[
    rows$kind == "reference" & rows$metric == "half_round_trip" & grepl("node2", rows$entity),
  ]
  expect_gt(nrow(rows), 0)
  expect_false(any(rows$verdict == "pass"))
  good <- judge_acceptance(in_memory(seed = 2), reference = reference)$judgements
  expect_true(all(good$verdict[good$kind == "reference" & good$metric == "half_round_trip"] == "pass"))
  # nor one that only its value keeps, while its interval reaches beyond
  later <- simulated_acceptance(nodes = 3, seed = 2)
  figures <- judge_acceptance(later)$figures
  figures <- figures[figures$metric == "half_round_trip", ]
  figures$ci_high <- 1.6 * figures$value
  wide <- judge_reference(later, figures, reference, 0.01)$rows
  expect_false(any(wide$verdict == "pass"))
  expect_match(wide$reason, "its interval reaches beyond .*, the worst of the reference and the margin",
               all = FALSE)
})

test_that(paste0("a reference separates: beyond its own bound and the margin fails, within passes, a busy ",
                 "launch of it is left out and said"), {
  coarse_walks()
  # others of 0.15 % of the CPUs, by launches and blocks as of an idle machine, and a burst of 20 ms each
  # second on one of two CPUs
  with_others <- function(extra, seed, launches, busy = integer()) {
    a <- simulated_acceptance(nodes = 1, launches = launches, seed = seed)
    set.seed(seed)
    a$others <- unlist(
      lapply(seq_len(launches), function(l) {
        shares <- pmax(0, rnorm(16, 0.0015 + rnorm(1, 0, 1e-4) + extra + (l %in% busy) * 0.3, 0.0004))
        record <- list(source = "cpu", span_ns = 12e9, wall_on_cpu_ns = 24e9 * mean(shares), lost = 0,
                       not_kept = 0, steal_ns = 0, tasks = list(),
                       block_busy_ns = as.list(24e9 / 16 * shares), block_activities = as.list(rep(50, 16)),
                       cpu_activity_lengths = list(list(5000, 800)))
        read_others(list(launch = sprintf("sim-%04d", l),
                         others = list(list(host = "node1", n_cpus = 2, record = record))))
      }),
      recursive = FALSE
    )
    a$figures <- bind_rows(list(a$figures, taken_figures(a$others)))
    a
  }
  reference <- with_others(0, 100, 5)
  of <- function(...) judge_acceptance(with_others(...), reference = reference)
  taken <- function(result) {
    result$judgements[result$judgements$metric == "taken", ]
  }
  healthy <- lapply(1:10, function(i) of(0, i, 1))
  expect_true(all(vapply(healthy, function(r) taken(r)$verdict, "") == "pass"))
  bad <- lapply(1:10, function(i) of(0.01, i, 1))
  expect_true(all(vapply(bad, function(r) taken(r)$verdict, "") == "fail"))
  expect_true(all(vapply(bad, `[[`, "", "verdict") == "fail"))
  # the interval shown lies wholly above the limit shown
  expect_gt(taken(bad[[1]])$ci_low, as.numeric(sub("<= ([0-9.]+) %", "\\1", taken(bad[[1]])$limit)))
  expect_match(paste(healthy[[1]]$notes, collapse = "\n"),
               "by this reference a run of this length decides: .*others.taken from 0.0[0-9]+ % on")
  # a launch of the reference that was taken on a busy machine takes nothing from the others
  left <- judge_acceptance(with_others(0.01, 1, 1), reference = with_others(0, 100, 5, busy = 3))
  expect_identical(taken(left)$verdict, "fail")
  expect_match(
    left$notes,
    paste0("other tasks used up to 30.* % of a CPU during launch sim-0003 of the reference: repeat it .*; ",
           "it is left out"),
    all = FALSE
  )
  refused <- judge_acceptance(with_others(0, 1, 1), reference = with_others(0, 100, 2, busy = 1))
  expect_match(refused$notes, "the reference passes nothing: other tasks used", all = FALSE)
  expect_match(refused$answer, paste0("^INCONCLUSIVE on 1 node: no check failed, and nothing passes by the ",
                                      "reference, because other tasks used up to .*: repeat it "))
  expect_false(any(grepl("other tasks used up to", acceptance_view(refused, "refused")$warnings)))
  expect_false(refused$verdict == "pass")
})

test_that(paste0("a run that is too short for a margin does not look at it, says from which margin and in ",
                 "what time it would, and fails all the same what is far beyond"), {
  noisy <- function(...) {
    simulated_acceptance(lost_percent = 3, lost_sd = 1, launch_sd = 0.05, ...)
  }
  reference <- noisy(nodes = 1, launches = 5, seed = 50)
  got <- judge_acceptance(noisy(nodes = 1, launches = 1, seed = 51), reference = reference)
  expect_false("lost" %in% got$judgements$metric[got$judgements$verdict == "inconclusive"])
  expect_match(
    paste(got$notes, collapse = "\n"),
    paste0("not judged, as a run of this length does not decide it for a healthy node either: ",
           ".*detour.alone.lost \\(margin .*; from .* on")
  )
  # what nothing of its noise was decided about is no pass
  expect_false(got$verdict == "pass")
  far <- judge_acceptance(noisy(nodes = 1, launches = 3, seed = 52, slow_node = 1, extra_lost_percent = 60),
                          reference = reference)
  expect_true("fail" %in% far$judgements$verdict[far$judgements$metric == "lost"])
  # the same scatter of nodes beside each other, where bursts that nobody saw are more than the margin
  short <- judge_acceptance(in_memory(watched_s = 0.12))
  expect_false(any(short$judgements$kind == "node" & short$judgements$metric == "lost"))
  expect_identical(short$verdict, "inconclusive")
  expect_match(
    short$notes,
    paste0("not judged, node against node, as a run of this length does not decide it for most of them: ",
           ".*detour.alone.lost \\([0-9.]+ times as long would\\)"),
    all = FALSE
  )
  # one node alone hides nothing: its own scatter is no reason not to look at it
  expect_false(judge_acceptance(in_memory(burst_node = 2, watched_s = 20))$verdict == "pass")
})

test_that("good later campaigns keep the bounds of a reference of few nodes and launches", {
  fails <- function(seed, nodes, launches, ...) {
    set.seed(seed)
    part <- function(launches) {
      at <- expand.grid(launch = seq_len(launches), entity = seq_len(nodes))
      cbind(at, x = rnorm(launches)[at$launch] + rnorm(nodes)[at$entity] + rnorm(nrow(at)), of = "node",
            scale = "linear", worse = "more")
    }
    # of a campaign of one launch of other nodes all values are held against it
    any(
      part(1)$x >
        reference_bound(cbind(part(launches), check = "detour", metric = "lost", unit = "percent"),
                        1 - 0.01 / nodes,
                        margins_in_use(0, data.frame(kind = "share", percent = 0, floor = 0)))$limit
    )
  }
  expect_lte(sum(vapply(1:150, fails, TRUE, nodes = 4, launches = 10)), 4)
  expect_lte(sum(vapply(1:150, fails, TRUE, nodes = 8, launches = 4)), 4)
})

test_that(paste0("two campaigns differ beyond a margin only when the bound does, of all figures, also of ",
                 "rates and of nothing"), {
  side <- in_memory
  rows_of <- function(a, b, margin = 5) compare_acceptance(a, b, margin)$rows
  a <- side(1)
  # every second a hundred detours, and a hundred times as many
  with_detours <- function(x, rate) {
    base <- x$figures[
      x$figures$metric == "base" & x$figures$variant == "alone",
    ]
    base[c("metric", "unit")] <- list("detours", "per_s")
    set.seed(1)
    base$n <- rpois(nrow(base), rate * 4)
    base$value <- base$n / 4
    x$figures <- rbind(x$figures, base)
    x
  }
  more <- compare_acceptance(with_detours(a, 10), with_detours(side(2), 1000), 5)
  expect_equal(unique(c(more$verdict, more$rows$margin_verdict[more$rows$metric == "detours"])), "fail")
  # nothing on either side: the bound of it is stated
  none <- rows_of(with_detours(a, 0), with_detours(side(2), 0))
  none <- none[none$metric == "detours", ]
  expect_equal(unique(none$effect), 0)
  expect_true(all(none$ci_high > 0 & none$ci_low < 0))
  expect_equal(unique(none$margin_verdict), "pass")
  expect_match(none$reason, "no event in 120 s: below 0.0[0-9]+ per second")
  # from nothing to something, and back
  for (way in c("worse", "better")) {
    ends <- list(with_detours(a, 0), with_detours(side(2), 1000))
    rows <- do.call(rows_of, if (way == "worse") ends else rev(ends))
    expect_equal(
      unique(rows[rows$metric == "detours", c("verdict", "margin_verdict", "worse")]),
      data.frame(verdict = "changed", margin_verdict = if (way == "worse") "fail" else "pass",
                 worse = way == "worse"),
      ignore_attr = TRUE
    )
  }
  # +3 % with an interval around it is no failure at a margin of 5 %, and 0.05 against 0.1 % of a CPU is
  # within the floor
  slower <- rows_of(a, side(2, latency_ns = 2060))
  expect_false(any(slower$margin_verdict == "fail"))
  share <- rows_of(a, side(2, lost_percent = 0.1))
  expect_false(any(share$margin_verdict[share$metric == "lost"] == "fail"))
  much <- rows_of(a, side(2, lost_percent = 20))
  expect_true("fail" %in% much$margin_verdict[much$metric == "lost"])
  # the better is never a failure
  expect_false(any(
    rows_of(side(2, lost_percent = 20), a)$margin_verdict[much$metric == "lost"] !=
      "pass"
  ))
})

# A self-check as judge_self_check() reads it, of a set of nodes.
self_check_of <- function(nodes, level, right, chosen = "node1") {
  data.frame(launch = "x", nodes = nodes, kind = "spin", level = level, chosen = chosen,
             named = if (right) chosen else "", right = right, problem = NA_character_)
}

test_that(paste0("each set of nodes has its self-check, all of them count, and a heavy load tells ",
                 "insensitive from broken"), {
  one <- self_check_of("node1,node2", 1, TRUE)
  expect_match(set_words(cbind(one, asks = TRUE)),
               "^1 % of a CPU \\(spin\\) on node1: the localiser named node1$")
  expect_equal(strength_words(1),
               "1 of 1 found, so that with confidence 0.95 such a node is found in at least 5 % of runs")
  expect_match(strength_words(20), "at least 86.1 %")
  today <- rbind(self_check_of("node1,node2", 1, FALSE), self_check_of("node1,node2", 10, TRUE))
  today$asks <- c(TRUE, FALSE)
  expect_match(set_words(today), "named no node; 10 % .* named node1: insensitive today, not broken")
  broken <- transform(today, right = FALSE)
  expect_match(set_words(broken), "not even the heavy load was found")
  result <- list(
    self_check = list(verdict = "inconclusive",
                      each = cbind(rbind(one, self_check_of("node3,node4", 1, FALSE, "node3")), asks = TRUE)),
    acceptance = list(hosts = paste0("node", 1:4))
  )
  expect_equal(doubted_hosts(result), c("node3", "node4"))
})

test_that("a campaign of words alone, and one that died before its first row, have a verdict", {
  words <- in_memory(nodes = 4)
  words$figures <- words$figures[words$figures$check == "integrity", ]
  result <- judge_acceptance(words)
  expect_equal(c(result$verdict, result$judged), c("inconclusive", "data"))
  expect_match(result$answer, "^DATA CORRECT, NOISE MEASURED, NOT JUDGED on 4 nodes")
  expect_equal(names(result$figures), names(judge_acceptance(in_memory())$figures))
  expect_equal(judge_acceptance(words, limits_of("detour.alone.lost <= 1 %"), in_memory())$verdict,
               "inconclusive")
  died <- words
  died$figures <- died$figures[0, ]
  result <- judge_acceptance(died)
  expect_equal(c(result$verdict, result$judged, nrow(result$figures)), c("inconclusive", "nothing", "0"))
  expect_gt(nchar(answer_json("noiselab-analyze", acceptance_head(result), acceptance_data(result))), 100)
  expect_match(paste(format_acceptance(result), collapse = "\n"), "NOISE MEASURED, NOT JUDGED")
  expect_error(compare_acceptance(words, words), "no figure in common")
})

test_that("a reference whose values are all the same, or all zero, is no certainty", {
  reference <- in_memory(seed = 2, lost_percent = 0, launches = 6)
  rows <- judged_by(judge_acceptance(in_memory(lost_percent = 1), reference = reference), "reference")
  lost <- rows[rows$check == "detour" & rows$metric == "lost", ]
  expect_equal(unique(lost$verdict), "inconclusive")
  expect_equal(unique(lost$reason), "all values of the reference agree exactly")
  # within the margin of shares of time
  expect_equal(unique(lost$limit), "<= 0.500 %")
  within <- judged_by(judge_acceptance(in_memory(lost_percent = 0.02, watched_s = 60), reference = reference),
                      "reference")
  expect_equal(unique(within$verdict[within$metric == "lost"]), "pass")
  one <- judged_by(
    judge_acceptance(in_memory(lost_percent = 1),
                     reference = in_memory(seed = 2, lost_percent = 0, launches = 1)),
    "reference"
  )
  expect_equal(unique(one$reason[one$metric == "lost"]), "all values of the reference agree exactly")
})
