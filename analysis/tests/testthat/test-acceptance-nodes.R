# Units of one figure: a row per node, launch and repetition, from a matrix units x nodes.
units_of <- function(table, launch, ...) {
  at <- expand.grid(unit = seq_len(nrow(table)), node = seq_len(ncol(table)))
  data.frame(check = "quantum", variant = "alone", metric = "lost", size = NA_real_, unit = "percent",
             of = "node", entity = paste0("node", at$node), launch = launch[at$unit], repetition = at$unit,
             x = as.vector(table), place = 0, what = "time lost", worse = "more", scale = "linear",
             compared = TRUE, placed = FALSE, ...)
}

test_that(paste0("with three nodes and one launch the comparison is Student's test of a node against the ",
                 "mean of the other two"), {
  table <- rbind(c(1, 1.2, 3), c(1.1, 0.9, 3.3), c(0.9, 1.05, 2.8), c(1.15, 1, 3.1))
  rows <- compare_nodes(units_of(table, rep("a", 4)), margins = margins_in_use(50))
  score <- table[, 3] - rowMeans(table[, 1:2])
  border <- 0.5 * mean(table[, 1:2])
  # the two others differ by less than they scatter, so that nothing is added
  expect_equal(rows$p_one_sided[3], t.test(score, mu = border, alternative = "greater")$p.value)
  expect_equal(rows$margin[3], border)
  expect_equal(rows$upper[3], -t.test(-score, conf.level = 0.99, alternative = "greater")$conf.int[1])
  expect_equal(rows$effect[3], mean(score))
  expect_equal(c(rows$ci_low[3], rows$ci_high[3]), as.vector(t.test(score, conf.level = 0.99)$conf.int))
  # the two others are compared with one that is far away, and that differ from them: nothing can be said of
  # them
  expect_equal(rows$verdict, c("inconclusive", "inconclusive", "fail"))
  expect_match(rows$reason[1], "more time does not decide")
})

test_that(paste0("a node is passed by a bound below the margin, failed by one above it, and else left open ",
                 "with the time that decides"), {
  set.seed(1)
  table <- matrix(rnorm(75, 1, 0.1), 15)
  launch <- rep(1:3, each = 5)
  verdicts <- function(shift, percent) {
    table[, 5] <- table[, 5] + shift
    rows <- compare_nodes(units_of(table, launch), margins = margins_in_use(percent), measured_s = 36)
    rows[rows$entity == "node5", ]
  }
  expect_equal(verdicts(0, 50)$verdict, "pass")
  expect_equal(verdicts(1, 50)$verdict, "fail")
  open <- verdicts(0.45, 50)
  expect_equal(open$verdict, "inconclusive")
  expect_gt(open$times_as_long, 1)
  expect_match(open$reason, "times as long would decide \\(--seconds [0-9]+s\\)")
  # a shift that is there for certain and below the margin does not fail; a margin below what can be told
  # never passes
  expect_equal(verdicts(0.3, 100)$verdict, "pass")
  expect_equal(verdicts(0.3, 20)$verdict, "inconclusive")
  # so many times as long: the same bound with a standard error that is smaller by the root
  expect_equal(times_as_long(0, 1, 2, 1e6, 0, 0.01), (2 * qnorm(0.99))^2, tolerance = 1e-4)
  expect_equal(times_as_long(0, 1, 2, 1e6, 1, 0.01), Inf)
})

test_that(paste0("margins are relative with a floor, of the kind of each figure, and a limits file or ",
                 "--margin changes them"), {
  m <- margins_in_use()
  expect_equal(margin_of(m, "share", c(0.05, 10), "linear", "more"), c(0.2, 2))
  expect_equal(margin_of(m, "bandwidth", 1e9, "log", "less"), -log(0.9))
  expect_equal(margin_of(m, "latency", c(100, 2000), "log", "more"), log(c(1.5, 1.1)))
  expect_equal(
    margin_kinds(
      c("detour", "detour", "quantum", "latency", "bandwidth", "collective", "detour", "completeness"),
      c("lost", "detours", "quantum", "half_round_trip", "one_way", "p50", "longest", "coefficient")
    ),
    c("share", "rate", "work", "latency", "bandwidth", "collective", "longest", "ratio")
  )
  # of every figure the unit is that in which noiselab-accept writes it
  units <- unique(simulated_acceptance()$figures[c("check", "metric", "unit")])
  units <- units[units$check != "integrity", ]
  expect_equal(about_measures(units$check, units$metric, "unit")$unit, units$unit)
  own <- attr(limits_of("margin share 5 % 1 %", "margin latency 3 %"), "margins")
  got <- margins_in_use(7, own)
  expect_equal(got$percent[match(c("share", "latency", "work"), got$kind)], c(5, 3, 7))
  expect_equal(got$floor[match(c("share", "latency"), got$kind)], c(1, 50))
})

test_that(paste0("nodes on another switch, or with another CPU, are compared among themselves, and a class ",
                 "of two with nobody"), {
  twelve <- simulated_acceptance(nodes = 16, switches = c(12, 4), launches = 2, repetitions = 3, seed = 5)
  result <- judge_acceptance(twelve)
  expect_false(any(result$judgements$verdict == "fail"))
  expect_equal(unname(table(result$nodes$class)), unname(table(c(rep(1, 12), rep(2, 4)))))
  expect_match(paste(result$notes, collapse = " "),
               "compared within 2 classes \\(by groups in the latencies\\): node1, node2")
  # a slow node is no class of its own, nor are two
  for (slow in list(4, c(2, 4))) {
    a <- simulated_acceptance(nodes = 6, slow_node = slow, slow_percent = 60, seed = 6)
    expect_equal(latency_groups(acceptance_units(a), a$hosts), rep(1, 6))
  }
  models <- judge_acceptance(simulated_acceptance(nodes = 5, models = c(3, 2), seed = 7))
  expect_false(any(models$judgements$verdict == "fail"))
  notes <- paste(models$notes, collapse = " ")
  expect_match(notes, "node4, node5: a class of fewer than three is judged by limits and a reference only")
  expect_match(models$nodes$reason[4], "its noise was not judged")
  # a file of the site decides where there is one, and Slurm's topology before the latencies
  file <- tempfile()
  writeLines(c("# ours", "thin node1 node2,node3", "fat node4 node5"), file)
  expect_equal(node_classes(models$acceptance, NULL, read_classes(file))$network,
               c("thin", "thin", "thin", "fat", "fat"))
  writeLines(c("thin node[1-2],node3.example.org", "fat node[4-5]", "fat other[001-100]x"), file)
  expect_equal(node_classes(models$acceptance, NULL, read_classes(file))$network,
               c("thin", "thin", "thin", "fat", "fat"))
  writeLines("thin nod[1-5]", file)
  expect_error(node_classes(models$acceptance, NULL, read_classes(file)),
               "no node of this campaign has a class", class = "nl_error_usage")
  writeLines("thin node[1-", file)
  expect_error(read_classes(file), ":1: 'node\\[1-': a bracket has no end", class = "nl_error_damaged")
  writeLines(c("thin node1", "fat node1"), file)
  expect_error(read_classes(file), ":2: 'node1' has a class already", class = "nl_error_damaged")
  a <- models$acceptance
  for (id in names(a$launches)) {
    for (i in 1:5) {
      a$launches[[id]]$hosts[[i]][c("cpu_model", "switch")] <-
        list("one", if (i < 3) "leaf1" else "leaf2")
    }
  }
  got <- node_classes(a, acceptance_units(a))
  expect_equal(unique(got$by), "Slurm's topology")
  expect_equal(got$network, paste("switch", c("leaf1", "leaf1", "leaf2", "leaf2", "leaf2")))
})

test_that("a name means a host with or without the domain, and never two", {
  expect_equal(hosts_meant(c("n2", "N1.a", "n9"), c("n1.a", "n2.b", "n3"), "--x"), c(2L, 1L, NA))
  expect_equal(hosts_meant(character(), "n1", "--x"), integer())
  for (case in list(list("n1", c("n1.a", "n1.b")), list("n1.a", c("n1", "n1.a")),
                    list(c("n1", "n1.a"), "n1.a"))) {
    expect_error(hosts_meant(case[[1]], case[[2]], "--x"), "--x: 'n1", class = "nl_error_usage")
  }
})

test_that("medians without each column are those of the others", {
  set.seed(9)
  table <- matrix(round(rnorm(60), 1), 10)
  table[sample(60, 8)] <- NA
  by_hand <- vapply(1:6, function(j) apply(table[, -j], 1, median, na.rm = TRUE), numeric(10))
  expect_equal(medians_without(table), by_hand)
  expect_equal(row_medians(table), apply(table, 1, median, na.rm = TRUE))
})

test_that("Holm's correction is over all nodes, links and figures", {
  rows <- compare_nodes(acceptance_units(simulated_acceptance(nodes = 4, seed = 4)))
  expect_setequal(rows$kind, c("node", "link"))
  p <- rows$p_one_sided
  by_hand <- pmin(1, cummax(sort(p) * rev(seq_along(p))))
  expect_equal(sort(rows$p_holm), by_hand)
  # known answer: of 3 nodes and 2 figures the smallest p is taken six times
  table <- rbind(c(1, 1.2, 3), c(1.1, 0.9, 3.3), c(0.9, 1.05, 2.8), c(1.15, 1, 3.1))
  two <- units_of(table, rep("a", 4))
  both <- compare_nodes(rbind(two, transform(two, metric = "quantum", x = rev(x))))
  expect_equal(min(both$p_holm), 6 * min(both$p_one_sided))
})

test_that("scatter of columns is that of each by itself, with gaps", {
  set.seed(1)
  table <- matrix(rnorm(60), 12)
  launch <- rep(c("a", "b", "c"), each = 4)
  table[1:5, 2] <- NA
  table[, 3] <- NA
  table[2:12, 4] <- NA
  got <- column_scatter(table, launch)
  for (j in 1:5) {
    x <- table[, j]
    groups <- split(x[!is.na(x)], launch[!is.na(x)])
    if (length(unlist(groups)) < 2) {
      expect_match(got$reason[j], "one repetition")
      next
    }
    n <- lengths(groups)
    within <- sum(vapply(groups, function(g) sum((g - mean(g))^2), 0)) / (sum(n) - length(groups)) / sum(n)
    expect_equal(got$within[j], within)
    expect_equal(got$within_df[j], sum(n) - length(groups))
    expect_equal(got$excess[j], var(vapply(groups, mean, 0)) / length(groups) - within)
    expect_equal(got$mean[j], mean(unlist(groups)))
  }
})

test_that(paste0("what placements scatter is taken from all nodes, so that a node whose launches agree by ",
                 "luck is not blamed"), {
  set.seed(2)
  launch <- rep(c("a", "b", "c"), each = 5)
  own <- matrix(rep(rnorm(9), each = 5), 15) # of launch and node; much larger than what repetitions scatter
  own[, 1] <- 0.9
  table <- own + matrix(rnorm(45, 0, 0.01), 15)
  rows <- compare_nodes(units_of(table, launch))
  expect_false(any(rows$verdict == "fail"))
  expect_gt(rows$p_one_sided[1], 0.01)
})

test_that(paste0("the variance of a median is nearly that of many samples, and leaving one out of many ",
                 "columns hardly matters"), {
  set.seed(3)
  # links that differ by themselves, with a standard deviation of 3
  table <- matrix(rnorm(15 * 40), 15) + rep(rnorm(40, 0, 3), each = 15)
  expect_equal(mean(between_others(table, rep(1:3, each = 5))$v), 9, tolerance = 0.5)
  expect_equal(between_others(table[, 1:30], rep(1:3, each = 5))$df[1], 0.37 * 28)
  for (k in c(2, 3, 5, 9)) {
    seen <- var(apply(matrix(rnorm(k * 3000), k), 2, median))
    expect_lt(abs(log(median_variance(k) / seen)), 0.16)
  }
})

test_that(paste0("variances that differ by chance alone are worth many degrees of freedom in common, others ",
                 "few, and few columns none"), {
  set.seed(3)
  expect_gt(common_df(stats::rchisq(2000, 2), rep(2, 2000)), 50)
  # variances of 4 in common: those of F(2, 4), by its definition
  expect_equal(common_df(stats::rf(20000, 2, 4), rep(2, 20000)), 4, tolerance = 0.1)
  expect_equal(common_df(1:9, rep(2, 9)), 0)
})

test_that(paste0("healthy nodes of many links pass a long run, and a third node behind a switch that nobody ",
                 "told of fails no short one"), {
  verdicts <- vapply(
    1:3, function(i) judge_acceptance(simulated_acceptance(nodes = 12, seed = i, watched_s = 8))$verdict, ""
  )
  expect_gte(sum(verdicts == "pass"), 2)
  # seeds of which the bandwidth failed
  failed <- vapply(
    1:6,
    function(i) {
      judge_acceptance(simulated_acceptance(nodes = 3, seed = i, repetitions = 2, watched_s = 0.25,
                                            switches = c(2, 1)))$verdict == "fail"
    },
    TRUE
  )
  expect_false(any(failed))
})

test_that("every figure's check is in the contract, and those that nodes are compared by have a class", {
  expect_setequal(setdiff(acceptance_measures$check, names(acceptance_checks)), character())
  compared <- unique(acceptance_measures$check[acceptance_measures$compared])
  expect_true(all(class_of_check(compared) %in% c("hardware", "network")),
              info = "class in common/contract/checks.table")
  for (check in names(acceptance_checks)) {
    head <- acceptance_checks[[check]]$head
    if (!is.null(head)) {
      expect_true(head %in% acceptance_measures$name[acceptance_measures$check == check],
                  info = paste(check, "has no figure", head))
    }
  }
  expect_equal(class_of_check(c("detour", "latency")), c("hardware", "network"))
})

test_that("nodes are not compared by a check of which nobody said what it depends on", {
  expect_error(class_of_check("memory-latency"),
               "by the check 'memory-latency': common/contract/checks.table has no class",
               class = "nl_error_data")
  expect_error(class_of_check("scale"), "has no class for it", class = "nl_error_data")
})
