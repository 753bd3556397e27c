night <- function(i, ...) {
  judge_acceptance(simulated_acceptance(seed = i, launches = 2, repetitions = 3,
                                        started = sprintf("2026-03-%02d", i), drift_sd = 0.01, ...))
}
delayedAssign("good_nights", lapply(1:8, night))
# From the sixth night on node2 is slow.
delayedAssign("worse_trend",
              acceptance_trend(c(good_nights[1:5], lapply(6:8, night, slow_node = 2, work_percent = 10))))

test_that("a node that gets worse is named with the night since which it is, and equal nights name nothing", {
  rows <- worse_trend$series[worse_trend$series$verdict == "worse", ]
  expect_true("quantum.alone.quantum.node2" %in% rows$name)
  expect_equal(substr(rows$since[rows$name == "quantum.alone.quantum.node2"], 1, 10), "2026-03-06")
  expect_false(any(grepl("quantum.*node[13]$", rows$name)))
  expect_equal(worse_trend$verdict, "fail")
  expect_match(paste(worse_trend$answer, collapse = " "), "since 2026-03-06")
  expect_equal(worse_trend$back[c("host", "failed")], data.frame(host = "node2", failed = 3),
               ignore_attr = TRUE)
  same <- acceptance_trend(good_nights)
  expect_false(any(same$series$verdict == "worse"))
  expect_equal(same$series$since[same$series$verdict != "better"],
               rep("", sum(same$series$verdict != "better")))
  # of three nights nothing can be told, and that is no pass
  few <- acceptance_trend(good_nights[1:3])
  expect_equal(few$verdict, "inconclusive")
  expect_match(few$answer, "it takes four nights", all = FALSE)
})

test_that("the plot of nights marks the node that changed and its night, and needs two", {
  frame <- plot_acceptance_trend(worse_trend, draw = FALSE)
  at <- frame$name == "quantum.alone.quantum.node2"
  expect_equal(unique(substr(frame$since[at], 1, 10)), "2026-03-06")
  expect_equal(frame$value[at],
               worse_trend$values$value[worse_trend$values$name == "quantum.alone.quantum.node2"] / 1000)
  # every node of a figure is there, for comparison, and no more panels than fit
  expect_setequal(frame$entity[frame$panel == frame$panel[at][1]], paste0("node", 1:3))
  expect_lte(length(unique(frame$panel)), most_trends)
  expect_match(alt_acceptance_trend(frame), "quantum.alone.quantum.node2 worse since 2026-03-06")
  built <- ggplot2::ggplot_build(plot_acceptance_trend(worse_trend))
  expect_equal(
    as.numeric(unique(built$data[[1]]$xintercept[
      built$data[[1]]$PANEL == levels(factor(built$data[[1]]$PANEL))[1]
    ])),
    as.numeric(night_time(unique(frame$since[at])))
  )
  expect_match(alt_acceptance_trend(plot_acceptance_trend(acceptance_trend(good_nights[1:2]), draw = FALSE)),
               "none changed")
  expect_null(plot_acceptance_trend(acceptance_trend(good_nights[1])))
})

test_that("a series that fell by its margin is not steady, and one that kept its level is", {
  part <- data.frame(date = sprintf("2026-01-%02dT00:00:00Z", 1:8), name = "x", check = "bandwidth",
                     metric = "one_way", unit = "bytes_per_s", scale = "log", worse = "less",
                     value = 1e9 * c(1, 1.004, 0.997, 1.001, 0.9, 0.904, 0.897, 0.901))
  night <- function(i) {
    list(
      ended_utc = part$date[i],
      verdict = "pass",
      figures = cbind(part[i, -1], variant = "within", size = 8, entity = "n1", ci_low = NA_real_,
                      ci_high = NA_real_),
      margins = margins_in_use(),
      acceptance = list(dirs = "x"),
      nodes = data.frame(host = "n1", verdict = "pass")
    )
  }
  fell <- acceptance_trend(lapply(1:8, night))$series
  expect_lt(fell$detection_limit, fell$margin)
  expect_equal(fell$verdict, "inconclusive")
  part$value <- 1e9 * c(1, 1.004, 0.997, 1.001, 1.002, 0.998, 1.003, 0.999)
  expect_equal(acceptance_trend(lapply(1:8, night))$series$verdict, "steady")
})

test_that("nodes known to be bad are left out from their date on", {
  file <- tempfile()
  writeLines(c("# ours", "node2 2026-03-02 bad DIMM", "node9 2026-01-01 gone"), file)
  known <- read_known_bad(file)
  expect_equal(known$reason, c("bad DIMM", "gone"))
  a <- simulated_acceptance(nodes = 4, slow_node = 2, started = "2026-03-02")
  result <- judge_acceptance(leave_out(a, known))
  expect_equal(result$acceptance$hosts, c("node1", "node3", "node4"))
  expect_false(any(result$judgements$verdict == "fail"))
  expect_match(paste(result$notes, collapse = " "), "left out since 2026-03-02: node2 \\(bad DIMM\\)")
  expect_match(paste(result$notes, collapse = " "), "not in this campaign, of those known to be bad: node9")
  writeLines("node[2-3].example.org 2026-03-02 bad rack", file)
  expect_equal(leave_out(a, read_known_bad(file))$hosts, c("node1", "node4"))
  writeLines(c("node[1-3] 2026-03-02 bad rack", "node2 2026-03-03 again"), file)
  expect_error(read_known_bad(file), ":2: 'node2' stands in the file already", class = "nl_error_damaged")
  before <- simulated_acceptance(nodes = 4, slow_node = 2, started = "2026-03-01")
  expect_equal(leave_out(before, known)$hosts, before$hosts)
  for (bad in c("node2", "node2 soon bad", "node2 2026-02-31 bad")) {
    writeLines(bad, file)
    expect_error(read_known_bad(file), ":1: ", class = "nl_error_damaged")
  }
})

test_that("the front end follows several campaigns, and writes OpenMetrics and references for ReFrame", {
  top <- local_folder()
  dirs <- file.path(top, 1:2)
  for (i in 1:2) simulate_acceptance(dirs[i], seed = i, started = sprintf("2026-03-%02d", i))
  got <- status_of("noiselab-analyze", "acceptance", dirs[1], dirs[2])
  expect_equal(got$status, 3L)
  expect_match(got$out[1], "^INCONCLUSIVE over 2 nights: the last, of 2026-03-02, is pass")
  expect_match(
    status_of("noiselab-analyze", "acceptance", dirs[1], dirs[2], "--csv", "--table", "nights")$out[1],
    "date.*verdict"
  )
  expect_equal(status_of("noiselab-plot", "acceptance-trend", dirs[1], dirs[2], "--csv")$status, 0L)
  expect_match(status_of("noiselab-plot", "acceptance-trend", dirs[1])$err,
               "needs two acceptance campaigns or more")
  expect_match(status_of("noiselab-plot", "acceptance-trend,acceptance-map", dirs[1], dirs[2])$err,
               "plots of several nights and an acceptance campaign are drawn apart")
  refused <- status_of("noiselab-analyze", "acceptance", dirs[1], dirs[2], "--lines")
  expect_equal(refused$status, 2L)
  metrics <- file.path(top, "metrics")
  status_of("noiselab-analyze", "acceptance", dirs[1], "--write", paste0("openmetrics=", metrics))
  lines <- readLines(metrics)
  expect_equal(lines[length(lines)], "# EOF")
  expect_true(all(grepl(
    '^(# (TYPE|HELP|EOF)|noiselab_acceptance_[a-z_]+(\\{([a-z]+="[^"]*",?)+\\})? -?[0-9NaN.e+-]+$)', lines
  )))
  expect_true('noiselab_acceptance_verdict{verdict="pass"} 1' %in% lines)
  expect_match(
    lines,
    paste0('noiselab_acceptance_figure\\{check="detour",variant="alone",metric="lost",size="",',
           'entity="node2",',
           'unit="percent"\\} 0.0[0-9]+'),
    all = FALSE
  )
  references <- tempfile()
  status_of("noiselab-analyze", "acceptance", "--write", paste0("reframe=", references), dirs[1])
  got <- jsonlite::fromJSON(references, simplifyVector = FALSE)[["*"]]$acceptance
  expect_equal(got[["latency.between.half_round_trip.8"]][2:4], list(NULL, 0.1, "ns"))
  expect_equal(got[["bandwidth.between.one_way.65536"]][2:4], list(-0.1, NULL, "bytes_per_s"))
})

test_that("one node behind another switch that nobody told of is open, and fails nothing", {
  result <- judge_acceptance(simulated_acceptance(switches = c(2, 1), seed = 1))
  expect_equal(result$verdict, "inconclusive")
  rows <- result$judgements[
    result$judgements$check %in% c("latency", "bandwidth") & result$judgements$entity == "node3",
  ]
  expect_match(rows$reason[rows$check == "latency"],
               "or a switch of its own, of which neither Slurm's topology nor --classes says anything")
  expect_equal(unique(rows$verdict), "inconclusive")
})

test_that("two nodes that are a class by their latencies are not passed, and classes so found are named", {
  result <- judge_acceptance(simulated_acceptance(nodes = 6, switches = c(4, 2), seed = 2))
  expect_equal(sort(unique(result$classes$network)), c("switch 1", "switch 2"))
  expect_equal(result$verdict, "inconclusive")
  rows <- result$judgements[result$judgements$kind == "class", ]
  expect_equal(paste(rows$check, rows$entity),
               c("latency node5", "latency node6", "bandwidth node5", "bandwidth node6"))
  expect_equal(unique(rows$reason), "its class has fewer than three nodes: give limits or a reference")
  expect_equal(result$nodes$verdict, rep(c("pass", "inconclusive"), c(4, 2)))
  expect_match(
    result$answer,
    "latency, bandwidth are inconclusive. Classes of the network were found in the latencies only"
  )
  limits <- limits_of("latency.half_round_trip <= 1 ms", "bandwidth.one_way >= 1 MB/s")
  expect_equal(judge_acceptance(result$acceptance, limits)$verdict, "pass")
})

test_that("ranks of a node share its starts: each counts once, and shares of time are none of starts", {
  a <- simulated_acceptance(nodes = 1, launches = 1, repetitions = 2)
  own <- a$figures[a$figures$metric == "last_end_cost", ]
  own[c("metric", "unit", "value")] <- list("last_start", "percent", 0)
  above <- own
  above[c("metric", "host")] <- list("above_twice_median", "")
  a$figures <- rbind(a$figures, own, transform(own, rank = 1), above)
  figures <- judge_acceptance(a)$figures
  expect_equal(figures$ci_high[figures$metric == "last_start"], 100 * (1 - 0.005^(1 / 200)))
  expect_true(is.na(figures$ci_high[figures$metric == "above_twice_median"]))
})

test_that(paste0("a change that is not beyond the margin, and a series without scatter, are neither worse ",
                 "nor certain"), {
  part <- function(value, low = NULL, high = NULL) {
    rows <- data.frame(date = sprintf("2026-01-%02dT00:00:00Z", seq_along(value)), name = "x",
                       check = "quantum", metric = "quantum", unit = "ns", scale = "log", worse = "more",
                       value = value)
    if (is.null(low)) rows else cbind(rows, ci_low = low, ci_high = high)
  }
  # about the margin of 3 %, with little scatter: surely a change, not surely beyond
  near <- series_change(part(c(100, 100.1, 100, 100.1, 103.1, 103.2, 103.1, 103.2)), margins_in_use())
  expect_lt(near$p, 1e-6)
  expect_gt(near$score, near$border)
  expect_gt(near$p_margin, 0.01)
  expect_lt(
    series_change(part(c(100, 100.1, 100, 100.1, 110.1, 110.2, 110.1, 110.2)), margins_in_use())$p_margin,
    1e-4
  )
  flat <- rep(100, 6)
  expect_equal(series_change(part(flat), margins_in_use())[c("p", "bounded")],
               data.frame(p = NA_real_, bounded = FALSE))
  expect_true(series_change(part(flat, 99, 101), margins_in_use())$bounded)
  expect_false(series_change(part(flat, 99, 105), margins_in_use())$bounded)
  expect_false(series_change(part(flat, NA_real_, NA_real_), margins_in_use())$bounded)
  # the limit is that of the last two nights
  y <- log(c(100, 101, 100, 120, 121, 120))
  step <- series_change(part(exp(y)), margins_in_use())
  expect_equal(step[c("since", "score")],
               data.frame(since = "2026-01-04T00:00:00Z", score = mean(y[4:6]) - mean(y[1:3])))
  expect_equal(step$p, min(1, 4 * t.test(y[4:6], y[1:3], var.equal = TRUE)$p.value))
  expect_equal(step$se,
               sqrt(sum(c(y[1:3] - mean(y[1:3]), y[4:6] - mean(y[4:6]))^2) / 4) * sqrt(1 / 2 + 1 / 4))
})
