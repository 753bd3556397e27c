in_memory <- function(...) simulated_acceptance(seed = 1, ...)

# A file of limits, as parsed.
limits_of <- function(...) {
  file <- tempfile()
  on.exit(unlink(file))
  writeLines(c(...), file)
  read_limits(file)
}

judged_by <- function(result, kind) result$judgements[result$judgements$kind == kind, ]

test_that("a check that was skipped is shown with its reason, and is no obstacle unless it has a limit", {
  a <- in_memory()
  a$figures <- a$figures[a$figures$check != "completeness", ]
  at <- a$checks$check == "completeness"
  a$checks[at, "status"] <- "skipped"
  a$checks[at, "reason"] <- "it takes two ranks"
  result <- judge_acceptance(a)
  row <- result$checks[result$checks$check == "completeness", ]
  expect_equal(c(row$status, row$verdict), c("skipped", "skipped"))
  expect_match(row$reason, "it takes two ranks")
  expect_equal(result$verdict, "pass")
  expect_match(paste(format_acceptance(result), collapse = "\n"), "completeness: .*it takes two ranks")
  limited <- judge_acceptance(a, limits_of("completeness.coefficient >= 0.5 ratio"))
  expect_equal(limited$verdict, "inconclusive")
  expect_match(limited$checks$reason[limited$checks$check == "completeness"], "no launch has this figure")
})

test_that("a limit on what nobody measured leaves the run inconclusive, even of a check that was not asked for", {
  result <- judge_acceptance(in_memory(), limits_of("topology.per_channel >= 1 GB/s"))
  expect_equal(result$verdict, "inconclusive")
  row <- result$checks[result$checks$check == "topology", ]
  expect_equal(c(row$status, row$verdict), c("not asked for", "inconclusive"))
  expect_match(result$answer, "topology cannot be decided")
  unknown_size <- judge_acceptance(in_memory(), limits_of("bandwidth.one_way 8KiB >= 1 GB/s"))
  expect_equal(unknown_size$verdict, "inconclusive")
})

test_that("a check that failed to run, or that a dying launch left planned, is inconclusive", {
  for (status in c("failed", "planned")) {
    a <- in_memory()
    a$figures <- a$figures[a$figures$check != "completeness", ]
    a$checks$status[a$checks$check == "completeness"] <- status
    result <- judge_acceptance(a)
    expect_equal(result$verdict, "inconclusive")
    expect_match(result$answer, "completeness cannot be decided")
  }
})

test_that("limits are held with their size, unit and direction", {
  verdicts <- function(line, ...) judged_by(judge_acceptance(in_memory(...), limits_of(line)), "limit")
  expect_equal(unique(verdicts("latency.between.half_round_trip 8 <= 3 us")$verdict), "pass")
  expect_equal(unique(verdicts("latency.between.half_round_trip 8 <= 1.5 us")$verdict), "fail")
  # the simulated speed is 1e10 B/s
  expect_equal(unique(verdicts("bandwidth.one_way 64KiB >= 8 GiB/s")$verdict), "pass")
  expect_equal(unique(verdicts("bandwidth.one_way 64KiB >= 12 GB/s")$verdict), "fail")
  rows <- verdicts("detour.alone.lost <= 0.6 %", slow_node = 2)
  expect_equal(rows$verdict[match(c("node1", "node2", "node3"), rows$entity)], c("pass", "fail", "pass"))
  # of completeness a size is the number of nodes
  expect_equal(verdicts("completeness.nodes.coefficient 3 >= 0.8 ratio")$verdict, "pass")
  expect_equal(verdicts("completeness.nodes.coefficient 4 >= 0.8 ratio")$verdict, "inconclusive")
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
    expect_match(paste(result$notes, collapse = " "), sprintf("%d nodes?: none is compared with the others, which takes three", nodes))
    expect_equal(result$nodes$verdict, rep("pass", nodes))
    expect_match(paste(format_acceptance(result), collapse = "\n"), "which takes three")
    expect_gt(nchar(acceptance_json(result)), 100)
  }
})

test_that("an odd number of ranks, one per node, is judged as any", {
  result <- judge_acceptance(in_memory(nodes = 5, cpus = 1, slow_node = 4))
  rows <- judged_by(result, "node")
  expect_equal(unique(rows$entity[rows$verdict == "fail"]), "node4")
  # one CPU per node has no worst one
  expect_false("lost_worst_cpu" %in% result$figures$metric)
})

test_that("nodes that share a CPU are compared by what was scanned alone", {
  a <- in_memory(slow_node = 2)
  a$shared <- data.frame(host_a = "node1", host_b = "node2", cpu = 0)
  result <- judge_acceptance(a)
  rows <- result$comparisons
  expect_setequal(rows$variant, "alone")
  expect_match(paste(result$notes, collapse = " "), "node1 and node2 share CPU 0")
  expect_equal(unique(rows$entity[rows$verdict == "fail"]), "node2")
})

test_that("a reference of fewer than five values judges nothing", {
  result <- judge_acceptance(in_memory(), reference = simulated_acceptance(seed = 2, launches = 1, repetitions = 4))
  rows <- judged_by(result, "reference")
  expect_equal(unique(rows$verdict[rows$check == "completeness"]), "inconclusive")
  expect_match(rows$reason[rows$check == "completeness"][1], "4 values of the reference are too few \\(5 are needed\\)")
  expect_equal(result$verdict, "inconclusive")
})

test_that("what the reference lacks, and what it has beyond, is said and not judged", {
  reference <- simulated_acceptance(seed = 2)
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
  expect_match(notes, "the reference lacks [0-9]+ figures, not judged by it: bandwidth.between.one_way.131072")
  expect_match(notes, "the reference has 2 figures that were not measured here: .*completeness.nodes.coefficient.3")
})

test_that("a reference of another number of ranks judges nodes and pairs, not what hangs on the number", {
  result <- judge_acceptance(in_memory(), reference = simulated_acceptance(seed = 2, nodes = 5))
  rows <- judged_by(result, "reference")
  expect_setequal(rows$check, c("latency", "bandwidth", "detour", "quantum"))
  expect_match(paste(result$notes, collapse = "\n"), "the reference has 5 ranks, this campaign 3")
})

test_that("values of few launches are worth less than as many independent ones, and as many where launches agree", {
  # Mee and Owen's formulas by hand: two launches of three values
  x <- c(1, 2, 3, 5, 6, 7)
  got <- reference_scatter(x, rep(1:2, each = 3))
  ratio <- (3 * 8 / 1 - 1) / 3 # MSB = 3 var(2, 6) = 24, MSW = 1
  expect_equal(got$mean, 4)
  expect_equal(got$sd, sqrt(24 / 3 + 2 / 3))
  expect_equal(got$n, 6 * (ratio + 1) / (3 * ratio + 1))
  expect_equal(got$df, (ratio + 1)^2 / ((ratio + 1 / 3)^2 / 1 + (2 / 3) / 6))
  expect_lt(got$n, 2.3)
  same <- reference_scatter(c(1, 2, 3, 1, 2, 3), rep(1:2, each = 3))
  expect_equal(c(same$n, same$mean), c(6, 2))
  expect_equal(reference_scatter(x, 1:6), list(mean = 4, sd = sd(x), n = 6, df = 5))
})

test_that("judgements hold plain vectors, which JSON needs", {
  result <- judge_acceptance(in_memory(slow_node = 2, mismatches = 1), limits_of("detour.alone.lost <= 0.6 %"), simulated_acceptance(seed = 2))
  for (name in c("checks", "judgements", "figures", "nodes", "comparisons")) {
    expect_true(all(vapply(result[[name]], function(x) is.null(dim(x)) && !is.list(x), TRUE)), label = name)
  }
  got <- jsonlite::fromJSON(acceptance_json(result))
  expect_equal(got$judgements$verdict, result$judgements$verdict)
})
