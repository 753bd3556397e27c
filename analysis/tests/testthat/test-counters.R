# Files of two arms beside the launches of a campaign: `off` and `on` are lists of figures by LIKWID's names.
put_counters <- function(dir, off, on, arm = "agent", operation = "barrier", file = "likwid.csv") {
  table <- function(arm, figures) {
    c(sprintf("TABLE,Region %s:%s,Group 1 Metric,MEM,%d", operation, arm, length(figures)),
      "Metric,HWThread 0", paste0(names(figures), ",", unlist(figures)))
  }
  for (launch in list.dirs(dir, recursive = FALSE)) {
    writeLines(c(table("off", off), table(arm, on)), file.path(launch, file))
  }
}

figures <- function(clock = 2400, cpi = 0.7, l3 = 1000, memory = 500) {
  list("Clock [MHz]" = clock, "CPI" = cpi, "L3 bandwidth [MBytes/s]" = l3,
       "Memory bandwidth [MBytes/s]" = memory)
}

analysis_of <- function(dir) analyze_campaign(read_campaign(dir), channels = c("time", "preempted", "base"))
counters_in <- function(dir) counters_by_arm(analysis_of(dir))

test_that("a lower clock, damaged caches and preempted time are told from each other", {
  preempted <- analysis_of(local_campaign(external = "agent", slowdown_percent = 4, amplification = 1,
                                          pairs = 60, seed = 1))
  clean <- analysis_of(local_campaign(external = "agent", slowdown_percent = 4, amplification = 1000,
                                      pairs = 60, seed = 1))
  cause <- function(analysis, on) {
    put_counters(analysis$campaign$dirs, figures(), on)
    counters_by_arm(analysis)$causes
  }
  expect_equal(cause(preempted, figures())$cause, "preempted time")
  expect_equal(cause(clean, figures(clock = 2310))$cause, "hint: lower clock")
  expect_equal(cause(clean, figures(cpi = 0.75, memory = 600))$cause, "hint: cache damage")
  expect_equal(cause(preempted, figures(clock = 2310, cpi = 0.75, l3 = 1150))$cause,
               "preempted time + hint: lower clock + hint: cache damage")
  # just below each threshold
  near <- cause(clean, figures(clock = 2353, cpi = 0.71, l3 = 1099, memory = 549))
  expect_equal(near$cause, "unexplained")
  expect_equal(near$clock_percent, 100 * (2353 / 2400 - 1))
  expect_match(near$why, "clock frequency -1.96 %, cycles per instruction +1.43 %, L3 traffic +9.90 %",
               fixed = TRUE)
  # more traffic at the same cycles per instruction does no damage; more cycles alone are waiting
  expect_equal(cause(clean, figures(memory = 900))$cause, "unexplained")
  expect_equal(cause(clean, figures(cpi = 0.9))$cause, "unexplained")
  some <- cause(clean, figures()["Clock [MHz]"])
  expect_equal(some$cause, "too little is known")
  expect_match(some$why, "cache traffic was not measured")
})

test_that("a cause is a hint until the interval over launches says so", {
  dir <- local_campaign(external = "agent", slowdown_percent = 4, amplification = 1000, pairs = 40,
                        launches = 4, seed = 1)
  analysis <- analysis_of(dir)
  with_clocks <- function(clocks) {
    launches <- list.dirs(dir, recursive = FALSE)
    for (i in seq_along(launches)) {
      one <- tempfile()
      dir.create(file.path(one, "launch"), recursive = TRUE)
      put_counters(one, figures(), figures(clock = clocks[i]))
      file.copy(file.path(one, "launch", "likwid.csv"), launches[i], overwrite = TRUE)
      unlink(one, recursive = TRUE)
    }
    counters_by_arm(analysis)$causes$cause
  }
  expect_equal(with_clocks(c(2300, 2305, 2310, 2302)), "lower clock")
  expect_equal(with_clocks(c(2100, 2390, 2310, 2402)), "hint: lower clock")
})

test_that("without a slowdown there is nothing to explain", {
  dir <- local_campaign(external = "agent", slowdown_percent = 0, pairs = 60, seed = 2)
  put_counters(dir, figures(), figures(clock = 2000))
  causes <- counters_in(dir)$causes
  expect_equal(causes$cause, "not slower")
  expect_match(causes$why, "no slowdown was detected (limit ", fixed = TRUE)
})

test_that("traffic adds up over threads, the launch is the unit, and LIKWID's own files are read", {
  dir <- local_campaign(operations = c("barrier", "alltoall"), bytes = c(0, 2048), external = "collectd",
                        slowdown_percent = 4, pairs = 40, launches = 2, seed = 3)
  for (launch in list.dirs(dir, recursive = FALSE)) {
    for (name in c("perfctr-clock.csv", "perfctr-l3.csv")) {
      file.copy(test_path("likwid", name), file.path(launch, paste0("likwid-", name)))
    }
  }
  counters <- counters_in(dir)
  l3 <- counters$changes[counters$changes$figure == "l3" & counters$changes$label == "alltoall_2048", ]
  expect_equal(c(l3$off, l3$on, l3$n_launches), c(2 * 900.125, 2 * 1200.5, 2))
  expect_equal(l3$change_percent, 100 * (1200.5 / 900.125 - 1))
  cause <- counters$causes$cause[counters$causes$label == "alltoall_2048"]
  expect_match(cause, "cache damage")
  expect_false(any(grepl("cache damage", counters$causes$cause[counters$causes$label == "barrier"])))
  text <- view_lines(counters_view(counters, dir))
  expect_match(text, "alltoall_2048 under collectd: .*cache damage", all = FALSE)
  expect_lte(max(nchar(text)), 100)
})

test_that("generator arms are found by kind and level, and regions of no arm are said", {
  dir <- local_campaign(levels_percent = 5, pairs = 40, seed = 4)
  put_counters(dir, figures(), figures(clock = 2300), arm = "spin_5")
  expect_equal(counters_in(dir)$causes$arm, "spin_5")
  put_counters(dir, figures(), figures(), arm = "other", file = "likwid-2.csv")
  expect_match(counters_in(dir)$notes, "barrier:other is of no operation and arm", all = FALSE)
})

test_that("an agent's intervals are arms of their own", {
  dir <- local_campaign(external = "agent", slowdown_percent = 4, pairs = 20, launches = 2, seed = 1)
  for (i in 1:2) edit_json(file.path(dir, paste0("sim-", i), "launch.json"), function(info) {
    info$options$agent_interval_ns <- c(1e9, 1e10)[i]
    info
  })
  put_counters(dir, figures(), figures(clock = 2200))
  expect_setequal(counters_in(dir)$causes$arm, c("agent@1s", "agent@10s"))
})

test_that(paste0("the front end says once that counters are missing, with status 3, and damaged files do ",
                 "not cost the report"), {
  dir <- local_campaign(external = "agent", slowdown_percent = 4, pairs = 40, seed = 1)
  got <- status_of("noiselab-analyze", "counters", dir)
  expect_equal(got$status, 3L)
  expect_match(got$err, "no hardware counters were recorded")
  expect_length(got$err, 1)
  analysis <- analysis_of(dir)
  expect_match(as.character(report_counters(analysis)), "No hardware counters were recorded")
  writeLines("TABLE,Region", file.path(dir, "sim-1", "likwid.csv"))
  expect_match(as.character(report_counters(analysis)), "cannot be used: .*likwid.csv:1")
  put_counters(dir, figures(), figures(clock = 2300))
  expect_match(as.character(report_counters(analysis)), "lower clock")
  expect_equal(json_of("counters", dir)$causes$arm, "agent")
  expect_null(report_counters(analyze_campaign(simulated_campaign(levels_percent = 1, pairs = 20, seed = 1),
                                               channels = "time")))
})
