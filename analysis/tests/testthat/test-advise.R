# A campaign of three algorithms: `factor` is what each takes of the default's time.
algorithms_campaign <- function(factors, launches = 6, pairs = 20, env = parent.frame(),
                                in_fact = names(factors), bytes = 1024, seed = 1) {
  operations <- paste0("allreduce=", names(factors))
  dir <- local_campaign(operations = operations, bytes = bytes, levels_percent = 5, pairs = pairs,
                        launches = launches, seed = seed, env = env)
  each_halves(dir, function(rows) {
    rows[["wall_ns"]] <- round(rows[["wall_ns"]] * factors[match(rows[["operation"]], operations)])
    rows
  })
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$algorithms <- unlist(
        lapply(bytes, function(size) {
          lapply(seq_along(factors), function(i) {
            list(operation = "allreduce", bytes = size, algorithm = names(factors)[i], number = i - 1L,
                 in_fact = in_fact[i])
          })
        }),
        recursive = FALSE
      )
      info
    })
  }
  dir
}

each_halves <- function(dir, change) {
  for (file in list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)) {
    data.table::fwrite(
      change(data.table::fread(file, colClasses = list(character = "launch"), integer64 = "double")), file,
      quote = FALSE
    )
  }
}

three <- c(default = 1, ring = 1.2, linear = 0.7)
delayedAssign("three_algorithms", algorithms_campaign(three, env = globalenv()))
delayedAssign("three_advice", advise_table(read_campaign(three_algorithms)))

test_that("a faster algorithm is found, with what it gains", {
  advice <- three_advice
  quiet <- advice$rows[advice$rows$condition == "quiet", ]
  expect_equal(quiet[c("verdict", "algorithm", "number")],
               data.frame(verdict = "use", algorithm = "linear", number = 2), ignore_attr = TRUE)
  expect_true(quiet$gain_low_percent < 30 && 30 < quiet$gain_high_percent)
  expect_equal(advice$rows$condition, c("quiet", "noise"))
  expect_equal(c(advice$n_launches, advice$n_screening), c(6, 2))
  expect_equal(advice$algorithms$algorithm, c("default", "ring", "linear"))
  # the default's own time, not the candidate's
  expect_equal(quiet$default_ns, 2000, tolerance = 0.1)
})

test_that("where the default is the fastest it is kept, and a gain that was excluded is said", {
  advice <- advise_table(read_campaign(algorithms_campaign(c(default = 1, ring = 1.3))))
  expect_equal(unique(advice$rows$verdict), "keep")
  expect_equal(advice$rows$could_have_seen_percent, c(0, 0))
  expect_null(advise_rules(advice$rows))
})

test_that("an algorithm that the library replaces is never advised", {
  advice <- advise_table(read_campaign(algorithms_campaign(c(default = 1, ring = 0.5, linear = 1.3),
                                                           in_fact = c("default", "linear", "linear"))))
  expect_equal(unique(advice$rows$algorithm), "linear")
  expect_equal(advice$algorithms$in_fact, c("default", "linear", "linear"))
})

# Gives a campaign of three algorithms halves of late ranks, each beside an off half, round by round: of a
# ns that the last rank comes late an algorithm loses `costs`.
with_late_ranks <- function(dir, costs, late_by_ns = 5000) {
  each_halves(dir, function(rows) {
    n <- nrow(unique(data.frame(rows[["operation"]], rows[["bytes"]])))
    late <- data.table::copy(rows)
    is_on <- late[["arm"]] == "on"
    off <- late[["wall_ns"]][!is_on][match(late[["pair"]][is_on],
                                           late[["pair"]][!is_on])] / late[["operations"]][is_on]
    data.table::set(
      late,
      which(is_on),
      "wall_ns",
      round(
        late[["operations"]][is_on] * (off + late_by_ns * costs[sub(".*=", "", late[["operation"]][is_on])])
      )
    )
    late[["late_ns"]] <- ifelse(is_on, late_by_ns * late[["operations"]], NA)
    for (name in c("level_requested_percent", "pattern", "placement", "phase")) late[[name]][is_on] <- NA
    late[["kind"]][is_on] <- "late-any"
    rows[["late_ns"]] <- NA_real_
    of_round <- function(pair, first) pair %/% n * 2 * n + first + pair %% n
    late[["pair"]] <- of_round(late[["pair"]], n)
    rows[["pair"]] <- of_round(rows[["pair"]], 0)
    both <- rbind(rows, late)
    both <- both[order(both[["pair"]], both[["order"]]), ]
    both[["start_ns"]] <- cumsum(c(0, utils::head(both[["wall_ns"]], -1)))
    both
  })
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$options$late <- list(arrival = "late-any", arrival_ns = late_by_ns)
      info[c("rows", "pairs_planned")] <- lapply(info[c("rows", "pairs_planned")], `*`, 2)
      info
    })
  }
  dir
}

test_that("what a late rank costs by algorithm is recovered, and is no noise", {
  factors <- c(default = 1, ring = 1, linear = 1)
  of <- function(env = parent.frame()) algorithms_campaign(factors, launches = 4, pairs = 16, env = env)
  noise <- read_campaign(of())
  campaign <- read_campaign(with_late_ranks(of(), c(default = 1, ring = 0.4, linear = 1.5)))
  # the noise's halves are those that there were before
  expect_equal(nrow(campaign$rows), nrow(noise$rows))
  expect_equal(levels(campaign$rows[["kind"]]), "spin")
  expect_false("late_ns" %in% names(campaign$rows))
  expect_equal(nrow(campaign[["late"]]), nrow(noise$rows))
  advice <- advise_table(campaign)
  expect_equal(advice$late, "late-any")
  late <- advice$algorithms[match(names(factors), advice$algorithms$algorithm), ]
  expect_equal(late$late_ns_per_ns, c(1, 0.4, 1.5), tolerance = 0.02)
  expect_equal(late$late_by_ns, rep(5000, 3))
  expect_true(all(late$late_low <= late$late_ns_per_ns & late$late_ns_per_ns <= late$late_high))
  # ring alone stands late ranks, and nothing is better in anything else
  expect_equal(late$front, c(FALSE, TRUE, FALSE))
  # simulate_campaign's amplification is 1.5
  expect_true(all(advice$algorithms$lost_low < 1.5 & 1.5 < advice$algorithms$lost_high))
  said <- status_of("noiselab-analyze", c("advise", campaign$dirs))$out
  expect_match(said, "late ns/ns", all = FALSE)
  expect_match(paste(said, collapse = " "), "comes late \\(late-any, 5\\.00 .s\\)")
  expect_lte(length(said), 24)
  expect_lte(max(nchar(said[!grepl("^noiselab", said)])), 100)
  # the picture of the report: both figures of all, by quiet time
  frame <- plot_pareto(list(campaign = campaign, alpha = 0.01), draw = FALSE)
  expect_equal(nrow(frame), 6)
  expect_equal(frame$lost_ns_per_ns[frame$figure == "late ranks" & frame$algorithm == "ring"], 0.4,
               tolerance = 0.02)
  expect_match(alt_pareto(frame), "on the front.*ring 1")
  campaign$launches <- lapply(campaign$launches, function(info) info[names(info) != "algorithms"])
  expect_null(pareto_data(campaign, 0.01))
})

test_that("an algorithm is off the front where another is shown to be better and in nothing to be worse", {
  figures <- function(quiet, lost, late) {
    algorithm <- c("default", "a", "b")
    data.frame(launch = rep(as.character(1:6), each = 3), operation = "bcast", bytes = 8, ranks = 2,
               algorithm = algorithm, in_fact = algorithm, quiet = quiet + rep(c(-1e-3, 1e-3), each = 3),
               lost = lost, late_lost = late)
  }
  front <- function(...) {
    f <- figures(...)
    arms <- f[f$launch == "1", ]
    vapply(1:3, function(i) is_on_front(f, arms, arms[i, ], 0.01), NA)
  }
  scatter <- sin(1:18) / 50
  expect_equal(front(c(0, 0.2, 0.3), 1 + scatter, 1 + scatter), c(TRUE, FALSE, FALSE))
  # a is slower and stands noise
  expect_equal(front(c(0, 0.2, 0.3), rep(c(1, 0.5, 1), 6), 1), c(TRUE, TRUE, FALSE))
  # no lateness was measured
  expect_equal(front(c(0, 0.2, 0), 1, NA), c(TRUE, FALSE, TRUE))
})

# Figures of `n` launches: log ratios to the default, scattered by 2 % from launch to launch.
advise_figures <- function(truth, n, sd = 0.02) {
  figures <- expand.grid(launch = as.character(seq_len(n)), algorithm = c("default", names(truth)),
                         stringsAsFactors = FALSE)
  figures$quiet <- ifelse(
    figures$algorithm == "default", 0,
    stats::rnorm(nrow(figures), c(0, truth)[match(figures$algorithm, c("default", names(truth)))], sd)
  )
  figures$quiet_ns <- 1
  figures
}
advise_arms_of <- function(truth) {
  algorithm <- c("default", names(truth))
  data.frame(algorithm = algorithm, in_fact = algorithm, number = seq_along(algorithm))
}

test_that("the same algorithm many times over is falsely advised no more often than alpha", {
  set.seed(11)
  truth <- stats::setNames(numeric(6), letters[1:6])
  false <- replicate(
    150,
    advise_row(advise_figures(truth, 8), advise_arms_of(truth), "quiet", as.character(1:3), 0.01,
               0.1)$verdict == "use"
  )
  expect_lte(sum(false), stats::qbinom(0.999, 150, 0.01))
})

test_that("alpha is shared by all that is judged: beside a second call a gain is surer by half", {
  set.seed(13)
  truth <- c(a = log(0.9))
  of <- function(frame, bytes) cbind(frame, operation = "bcast", bytes = bytes, ranks = 2, nodes = 1)
  figures <- of(advise_figures(truth, 8), 8)
  arms <- of(advise_arms_of(truth), 8)
  low <- function(figures, arms, alpha) {
    rows <- advise_judged(cbind(figures, noise = NA_real_), arms, as.character(1:3), alpha, 5)$rows
    rows$gain_low_percent[rows$bytes == 8]
  }
  both <- low(rbind(figures, transform(figures, bytes = 16)), rbind(arms, transform(arms, bytes = 16)), 0.01)
  expect_equal(both, low(figures, arms, 0.005))
  expect_lt(both, low(figures, arms, 0.01))
})

test_that("a default that one of many candidates beats is kept no more often than alpha", {
  set.seed(12)
  # d gains 8 %, and the margin is 5: the choice of one launch is mostly another one
  truth <- c(a = 0, b = 0, c = 0, d = log(0.92), e = 0, f = 0)
  rows <- bind_rows(replicate(
    150, advise_row(advise_figures(truth, 8, sd = 0.04), advise_arms_of(truth), "quiet", "1", 0.01, 5),
    simplify = FALSE
  ))
  expect_gt(mean(rows$algorithm != "d"), 0.1)
  expect_lte(sum(rows$verdict == "keep"), stats::qbinom(0.999, 150, 0.01))
  # and where none does, all of them say so
  same <- advise_row(advise_figures(0 * truth, 30), advise_arms_of(truth), "quiet", as.character(1:6), 0.01,
                     5)
  expect_equal(same$verdict, "keep")
  expect_gt(same$could_have_seen_percent, 0)
})

test_that(paste0("the launches that choose are those of the plan, however many come later, and each that ",
                 "comes is a look"), {
  dir <- three_algorithms
  on.exit(unlink(file.path(dir, "schedule.tsv")))
  ids <- sort(basename(list.dirs(dir, recursive = FALSE)))
  plan <- function(planned) {
    writeLines(
      c("# schema: 1", "# experiment: advise", "launch\tset\tnodes\tranks\targuments",
        paste0(planned, "\t-\t-\t2\t--op\tbarrier")),
      file.path(dir, "schedule.tsv")
    )
    advise_table(read_campaign(dir))
  }
  expect_equal(plan(ids)[c("n_launches", "n_screening", "alpha")],
               list(n_launches = 6L, n_screening = 2L, alpha = 0.01))
  later <- plan(utils::head(ids, 4))
  expect_equal(later[c("n_screening", "alpha")], list(n_screening = 1L, alpha = 0.01 / 9))
  expect_match(later$note, "look 3 at this campaign")
  # before all are there the rest is not spent yet
  expect_lt(plan(c(ids, "later"))$alpha, 0.01)
})

# A campaign that is measured in stages, with launches to come.
staged_campaign <- function(factors, stages, budget_s, launches = stages[1], ..., pairs = 12,
                            env = parent.frame()) {
  in_stages(algorithms_campaign(factors, launches = launches, pairs = pairs, ..., env = env), stages,
            budget_s)
}
in_stages <- function(dir, stages, budget_s) {
  ids <- sort(basename(list.dirs(dir, recursive = FALSE)))
  planned <- c(ids, sprintf("later-%d", seq_len(stages[length(stages)] - length(ids))))
  writeLines(
    c("# schema: 1", "# experiment: advise", paste0("# stages: ", paste(stages, collapse = ",")),
      paste("# budget_s:", budget_s), "launch\tset\tnodes\tranks\targuments",
      paste0(planned, "\t-\t-\t2\t--op\tbarrier")),
    file.path(dir, "schedule.tsv")
  )
  dir
}

test_that("after a stage what is decided gets no more time, and arms that are slower for certain neither", {
  # ring is no faster for certain; linear is faster: the next stage confirms it
  dir <- staged_campaign(c(default = 1, ring = 3, linear = 0.7), c(4, 8, 12), 10000)
  campaign <- read_campaign(dir)
  following <- advise_next(campaign)
  expect_equal(following$op, c("allreduce=default:1024", "allreduce=linear:1024"))
  expect_equal(following$stages[c(1, 3)], c(4, 4 + following$launches))
  # a look of three has a third of alpha, and nothing is advised by what chose
  advice <- advise_table(campaign)
  expect_equal(advice$alpha, 0.01 / 3)
  expect_equal(unique(advice$rows$verdict), "undecided")
  # less time, fewer launches; none left: as many as confirm
  few <- advise_next(read_campaign(in_stages(dir, c(4, 8, 12), 1)))
  expect_equal(few[c("launches", "seconds")], list(launches = 2, seconds = 1))
  # all are slower for certain: decided
  none <- advise_next(read_campaign(staged_campaign(c(default = 1, ring = 3, linear = 3), c(4, 8, 12),
                                                    10000)))
  expect_equal(none[c("launches", "stages")], list(launches = 0, stages = c(4, 4, 4)))
  # in the middle of a stage the plan stands, and its launches are not looked at
  middle <- read_campaign(staged_campaign(c(default = 1, linear = 0.7), c(4, 8, 12), 10000, launches = 6))
  expect_null(advise_next(middle))
  expect_equal(advise_table(middle)$n_launches, 4)
  expect_match(advise_table(middle)$note,
               "stage 2 of 3 is not complete: its 2 launches are not analysed yet")
  # its end shows what it had to
  extra <- staged_campaign(c(default = 1, linear = 0.7), c(4, 8, 12), 10000, launches = 8)
  expect_equal(advise_table(read_campaign(extra))$rows$verdict, c("use", "use"))
  file <- tempfile("plan")
  expect_equal(status_of("noiselab-analyze", c("advise", "--write", paste0("plan=", file), dir))$status, 0)
  expect_equal(grep("^op ", readLines(file), value = TRUE), "op allreduce=default:1024,allreduce=linear:1024")
  # launches beyond the plan are looks of their own
  lines <- readLines(file.path(in_stages(extra, c(4, 6, 8), 10000), "schedule.tsv"))
  writeLines(sub("4,6,8", "2,4,6", utils::head(lines, -2)), file.path(extra, "schedule.tsv"))
  expect_equal(advise_table(read_campaign(extra))$alpha, 0.01 / 3 / 9)
  expect_error(advise_next(read_campaign(three_algorithms)), "not measured in stages")
})

test_that(paste0("what a busy machine left out stays out, and arms that go on are counted among those ",
                 "measured last"), {
  dir <- staged_campaign(c(default = 1, linear = 0.7), c(4, 8, 12), 10000, bytes = c(1024, 8))
  first <- sort(basename(list.dirs(dir, recursive = FALSE)))[1]
  each_halves(dir, function(rows) rows[rows[["launch"]] == first | rows[["bytes"]] == 1024, ])
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    if (basename(dirname(file)) != first) {
      edit_json(file, function(info) {
        info$rows <- info$rows / 2
        info$algorithms <- Filter(function(row) row$bytes == 1024, info$algorithms)
        info
      })
    }
  }
  following <- advise_next(read_campaign(dir))
  expect_equal(following$op, c("allreduce=default:1024", "allreduce=linear:1024"))
  expect_equal(following$why, "stage 2 of 3: 1 of 1 cases go on, with 2 of 2 arms")
})

test_that("a launch takes what lies until the next one, too, but no pause", {
  expect_equal(launch_took_s(c(0, 12, 24, 1000), c(10, 20, 34, 1010)), c(12, 12, 13, 13))
  expect_equal(launch_took_s(5, 15), 12)
})

test_that("on a busy machine the first cells of the plan go on, as many as have enough rounds", {
  busy <- function(pairs, bytes) {
    advise_next(read_campaign(staged_campaign(c(default = 1, ring = 1), c(4, 8, 12), 600, launches = 1,
                                              pairs = pairs, bytes = bytes)))
  }
  expect_null(busy(8, 1024))
  # one cell goes on in any case
  expect_null(busy(2, 1024))
  cut <- busy(4, c(1024, 8))
  expect_equal(cut$op, c("allreduce=default:1024", "allreduce=ring:1024"))
  expect_equal(cut[c("launches", "stages")], list(launches = 11, stages = c(4, 8, 12)))
  expect_match(cut$why, "4 rounds: 1 of 2 cases go on")
})

# A profile of two ranks of 1 s each: rows of operations.csv, both ranks the same.
advised_profile <- function(...) {
  rows <- rbind(...)
  operations <- cbind(launch = "a", rank = rep(0:1, each = nrow(rows)), rbind(rows, rows), root = NA,
                      longest_ns = 1, outside_ns = 0)
  list(
    ranks = data.frame(rank = 0:1, wall_ns = 1e9),
    operations = operations,
    arrivals = data.frame(launch = character(), communicator = character(), ranks = numeric(),
                          call = numeric(), operation = character(), rank = numeric(), node = numeric(),
                          since_ns = numeric(), arrived_ns = numeric(), left_ns = numeric(),
                          preempted_ns = numeric(), off_cpu_ns = numeric(), slept = numeric(),
                          mpi_ns = numeric())
  )
}
profiled <- function(operation, bytes_lo, calls, bytes, inside_ns, class = "synchronising",
                     communicator = "world", ranks = 2) {
  data.frame(operation, class, bytes_lo, communicator, ranks, calls, bytes, inside_ns)
}

test_that("of a program the blocking collectives with 1 % of its time are compared, at their sizes", {
  cells <- program_cells(advised_profile(
    profiled("bcast", 1024, 10, 15000, 2e7, "collective"), profiled("allreduce", 4, 1000, 4000, 3e8),
    profiled("allreduce", 1024, 3, 4000, 2e8), profiled("barrier", 0, 5, 0, 1e8),
    profiled("reduce", 8, 5, 40, 9e6, "collective"), profiled("gatherv", 8, 5, 40, 5e7, "collective"),
    profiled("alltoall", 8, 5, 40, 4e7, ranks = 1, communicator = "part"),
    profiled("send", 8, 5, 40, 4e8, "point-to-point")
  ))
  expect_equal(cells$operation, c("allreduce", "allreduce", "barrier", "gatherv", "alltoall", "bcast"))
  expect_equal(cells$left_out, c("", "", "", "", "on 1 of 2 ranks", ""))
  # elements of 8 bytes; 4000 bytes in 3 calls: between 1024 and 2047
  expect_equal(cells$bytes, c(8, 1336, 0, 8, 8, 1500))
  expect_equal(cells[2, c("from_bytes", "to_bytes")], data.frame(from_bytes = 1024, to_bytes = 2047),
               ignore_attr = TRUE)
  expect_equal(cells[1, c("share", "calls")], data.frame(share = 0.3, calls = 1000), ignore_attr = TRUE)
  expect_error(program_cells(advised_profile(profiled("send", 8, 5, 40, 4e8, "point-to-point"))),
               "no blocking collective")
  expect_error(
    program_cells(advised_profile(profiled("alltoall", 8, 5, 40, 4e8, ranks = 1, communicator = "part"))),
    "alltoall on 1 of 2 ranks"
  )
  # the rule of the first one holds for 4 bytes, and for what was measured
  rows <- with_rule_sizes(
    data.frame(operation = "allreduce", bytes = c(8, 1336), ranks = 2, condition = "quiet", number = 3L,
               verdict = c("use", "keep")),
    cells
  )
  expect_equal(grep(" 0 0$", advise_rules(rows), value = TRUE),
               c("0 0 0 0", "0 0 0 0", "4 3 0 0", "9 0 0 0", "0 0 0 0"))
})

test_that("what a program gains is calls times difference, and runs say whether it did", {
  program <- data.frame(operation = c("allreduce", "bcast"), bytes = c(8, 8), from_bytes = 8, to_bytes = 8,
                        ranks = 2, calls = c(1e5, 10), share = c(0.5, 0.1), program_ns = 1e9, left_out = "")
  rows <- data.frame(operation = c("allreduce", "bcast"), bytes = 8, ranks = 2, condition = "quiet",
                     verdict = c("use", "keep"), default_ns = 2000, gain_percent = 20, gain_low_percent = 10,
                     gain_high_percent = 30)
  # 1e5 x 2 us x 20 % of 1 s
  gain <- program_gain(rows, program)
  expect_equal(gain, list(percent = 4, low_percent = 2, high_percent = 6, advised = 1L))
  expect_equal(program_gain(transform(rows, verdict = "keep"), program)$percent, 0)
  expect_null(program_verified(tempfile("program"), gain, 0.01))
  scatter <- c(0, 2, -2, 1, 0, 0, -1)
  by <- function(ratio, sd) verified_by(log(ratio) + sd * scatter, gain, 0.01)
  held <- by(0.96, 0.001)
  expect_equal(held[c("pairs", "verdict")], list(pairs = 7L, verdict = "held"))
  expect_equal(held$percent, 4)
  expect_equal(vapply(list(by(1, 0.001), by(0.8, 0.001), by(0.96, 0.1)), `[[`, "", "verdict"),
               c("less", "more", "undecided"))
  expect_match(program_sentence(program, rows[1, ], gain, NULL),
               "Not compared: bcast 8 B for want of time (10.0 %).", fixed = TRUE)
  expect_match(program_sentence(program, rows, gain, held),
               "Predicted with the rules: 4 % less time (2 to 6 %). 7 pairs of runs: ", fixed = TRUE)
})

test_that("rules hold for what was measured only, and of totals where the library asks for those", {
  row <- function(operation, bytes, verdict, number, ranks = 4) {
    data.frame(operation = operation, bytes = bytes, ranks = ranks, condition = "quiet", number = number,
               verdict = verdict)
  }
  plain <- function(rows) sub(" #.*", "", advise_rules(rows))
  expect_equal(
    plain(row("allreduce", 1024, "use", 3L)),
    c("1", "2", "3", "0", "1", "0 0 0 0", "4", "3", "0 0 0 0", "1024 3 0 0", "1025 0 0 0", "5", "1",
      "0 0 0 0")
  )
  for (operation in c("alltoall", "gather", "scatter", "reduce_scatter_block"))
    expect_equal(plain(row(operation, 1024, "use", 3L))[8:11], c("3", "0 0 0 0", "4096 3 0 0", "4097 0 0 0"))
  # of shares that differ by an element
  expect_equal(plain(row("reduce_scatter", 1024, "use", 3L))[8:11],
               c("3", "0 0 0 0", "4032 3 0 0", "4161 0 0 0"))
  expect_equal(plain(row("allgatherv", 8, "use", 3L))[8:10], c("2", "0 3 0 0", "25 0 0 0"))
  near <- plain(rbind(row("allgatherv", 8, "use", 3L), row("allgatherv", 16, "use", 2L)))
  expect_equal(near[8:11], c("3", "0 3 0 0", "12 2 0 0", "33 0 0 0"))
  # without a size: forced for all sizes, or not at all
  for (operation in c("alltoallv", "scan", "exscan")) {
    expect_null(advise_rules(row(operation, 1024, "use", 2L)))
    expect_match(advise_forced(row(operation, 1024, "use", 2L)),
                 sprintf("export OMPI_MCA_coll_tuned_%s_algorithm=2 ", operation))
    expect_match(advise_forced(rbind(row(operation, 8, "keep", 1L), row(operation, 1024, "use", 2L))),
                 "cannot be selected by size")
  }
  expect_match(advise_rules(row("bcast", 8, "use", 5L), "Open MPI v4.1.4")[1], "; holds for Open MPI v4.1.4$")
  expect_equal(plain(row("barrier", 0, "use", 4L))[8:10], c("2", "0 4 0 0", "1 0 0 0"))
  # the same advice at two sizes holds between them; another's rule ends where the next size begins
  between <- plain(rbind(row("bcast", 8, "use", 5L), row("bcast", 2048, "use", 5L),
                         row("bcast", 4096, "keep", 7L)))
  expect_equal(between[8:11], c("3", "0 0 0 0", "8 5 0 0", "2049 0 0 0"))
  expect_null(advise_rules(row("bcast", 8, "undecided", 5L)))
  # han hands on the same calls, by sizes of a rank, and has its own way with all others
  of_han <- function(...) sub(" #.*", "", advise_rules(row(...), han = TRUE))
  expect_equal(
    of_han("allgather", 1024, "use", 4L),
    c("1", "0", "1", "2", "3", "1", "1", "0 han", "4", "3", "0 han", "1024 tuned", "1025 han", "5", "1",
      "0 han")
  )
  expect_null(advise_rules(row("alltoall", 1024, "use", 4L), han = TRUE))
  expect_equal(
    vapply(
      list(c(2, "Open MPI v5.0.1"), c(1, "Open MPI v5.0.1"), c(2, "Open MPI v4.1.4"), c(2, "Open MPI v10.0")),
      function(of) has_han(data.frame(nodes = as.numeric(of[1])), of[2]), NA
    ),
    c(TRUE, FALSE, FALSE, TRUE)
  )
})

test_that(paste0("variables of a library without rules are advised where all sizes have the same advice, ",
                 "and tried where they were measured"), {
  row <- function(operation, bytes, verdict, algorithm) {
    data.frame(operation = operation, bytes = bytes, ranks = 4, nodes = 1, condition = c("quiet", "noise"),
               verdict = c(verdict, "undecided"), algorithm = algorithm)
  }
  mpich <- "MPICH 5.0.2"
  rows <- rbind(row("allreduce", 8, "use", "ring"), row("allreduce", 1024, "use", "ring"),
                row("bcast", 8, "use", "tree"), row("bcast", 1024, "use", "nb"), row("scan", 8, "use", "smp"),
                row("scan", 1024, "keep", "smp"))
  expect_equal(which(is_selected(rows, mpich)), c(1, 3))
  expect_equal(exports_of(advise_forced(rows, mpich)),
               paste0("export MPIR_CVAR_ALLREDUCE_", c("INTRA_ALGORITHM=ring", "DEVICE_COLLECTIVE=0")))
  expect_equal(grep("MPICH's variables hold for all", advise_forced(rows, mpich)), 3:4)
  tried <- function(with) {
    data.frame(how = c("without", "without", "with", "with"), operation = "allreduce", bytes = c(8, 1024),
               ranks = 4, wanted = c("ring", "ring", "default", "default"),
               ran = c("ring", "ring", "ring", with), nodes = 1)
  }
  expect_equal(rules_judged(rows, tried("ring"), mpich)$verdict[c(1, 3, 5)], c("use", "use", "use"))
  # the call failed, or the number of the name is another algorithm's
  for (ran in c("-", "tree")) {
    judged <- rules_judged(rows, tried(ran), mpich)
    expect_equal(judged$verdict[c(1, 3, 5)], c("use", "refused", "use"))
    expect_null(exports_of(advise_forced(judged, mpich)))
  }
})

test_that(paste0("a rule that the library does not follow is no advice, and one that nobody tried is said ",
                 "to be so"), {
  dir <- three_algorithms
  file <- file.path(dir, "advice.tried")
  on.exit(unlink(file))
  n <- 2
  tried <- function(advised = "linear", less = "tree", before = "tree", nodes = 1, forced = "linear") {
    writeLines(
      paste(
        c(paste("without allreduce 1024", n - 1, "default", before),
          paste("without allreduce 1024", n, "default tree"),
          paste("without allreduce 1024", n, "linear", forced),
          paste("without allreduce 1024", n + 1, "default tree"),
          paste("with allreduce 1024", n - 1, "default", less),
          paste("with allreduce 1024", n, "default", advised),
          paste("with allreduce 1024", n, "linear linear"),
          paste("with allreduce 1024", n + 1, "default tree")),
        nodes
      ),
      file
    )
  }
  judged <- function() rules_judged(three_advice$rows, tried_rules(dir))
  quiet <- function() subset(judged(), condition == "quiet")
  expect_equal(quiet()[c("verdict", "rule")], data.frame(verdict = "use", rule = "untried"),
               ignore_attr = TRUE)
  rules <- tempfile("rules")
  expect_match(status_of("noiselab-analyze", c("advise", dir, "--write", paste0("rules=", rules)))$out,
               "these rules were not tried", all = FALSE)
  tried()
  expect_equal(quiet()$rule, "acts")
  expect_match(advise_rules(judged())[1], "each rule was tried and acts")
  # forced it is what the default runs anyway
  tried(advised = "tree", forced = "tree")
  expect_equal(quiet()$rule, "acts")
  # by the same ranks on other nodes nothing is shown; what another component takes is nobody's choice
  tried(nodes = 2)
  expect_equal(quiet()$rule, "untried")
  tried(advised = "parts", forced = "parts")
  expect_equal(quiet()$rule, "refused")
  # it does not run, or at other numbers of ranks as well
  for (how in list(list("tree"), list(less = "linear"))) {
    do.call(tried, how)
    expect_equal(quiet()[c("verdict", "rule")], data.frame(verdict = "refused", rule = "refused"),
                 ignore_attr = TRUE)
  }
  unlink(rules)
  got <- status_of("noiselab-analyze", c("advise", dir, "--write", paste0("rules=", rules)))
  expect_false(file.exists(rules))
  expect_false(any(grepl("OMPI_MCA", got$out)))
  expect_match(gsub("\\s+", " ", paste(got$out, collapse = " ")),
               "In 1 case another algorithm is faster, but this library does not follow a rule for it.")
  # nobody could watch, or the launch broke off
  tried("-")
  writeLines(sub("linear linear", "linear -", readLines(file)), file)
  expect_equal(quiet()$rule, "untried")
  writeLines(c("without allreduce", ""), file)
  expect_equal(quiet()$rule, "untried")
})

test_that("the front end prints a table, writes rules, and its status is the answer's", {
  dir <- three_algorithms
  rules <- tempfile("rules")
  got <- status_of("noiselab-analyze", c("advise", dir, "--write", paste0("rules=", rules)))
  expect_equal(got$status, 0)
  expect_match(paste(got$out, collapse = "\n"), "linear takes [0-9.]+ % less time")
  expect_match(paste(got$out, collapse = "\n"), "OMPI_MCA_coll_tuned_dynamic_rules_filename=")
  expect_lte(length(got$out), 24)
  expect_equal(readLines(rules)[2], "2 # allreduce")
  json <- jsonlite::fromJSON(paste(status_of("noiselab-analyze", c("advise", dir, "--json"))$out,
                                   collapse = "\n"))
  expect_equal(json$rows$verdict, c("use", "use"))
  expect_equal(nrow(utils::read.csv(text = status_of("noiselab-analyze", c("advise", dir, "--csv"))$out)), 2)
  expect_no_match(got$out, "busy")
  each_halves(dir, function(rows) {
    rows[["preempted_ns_sum"]] <- round(0.3 * rows[["wall_ns"]])
    rows
  })
  said <- status_of("noiselab-analyze", c("advise", dir))$out
  expect_length(grep("^ *! the machine was busy: without the load other tasks took", said), 1)
  few <- status_of("noiselab-analyze", c("advise", list.dirs(dir, recursive = FALSE)[1:3]))
  expect_equal(few$status, 3)
  expect_match(few$err, "choosing and confirming take 4", all = FALSE)
  none <- status_of("noiselab-analyze", c("advise", local_campaign(pairs = 10)))
  expect_match(none$err, "no launch in .* compares algorithms", all = FALSE)
})

test_that("the report of a comparison of algorithms leads with the advice, under its own question", {
  dir <- three_algorithms
  file <- file.path(local_folder(), "r.html")
  expect_equal(status_of("noiselab-report", dir, "--out", file)$status, 0L)
  html <- gsub("[[:space:]]+", " ", paste(readLines(file, encoding = "UTF-8"), collapse = " "))
  expect_match(html, "Which algorithm is the fastest here", fixed = TRUE)
  expect_no_match(html, "BROKEN SET-UP|POSITIVE CONTROL")
  said <- jsonlite::fromJSON(paste(status_of("noiselab-analyze", "advise", dir, "--json")$out,
                                   collapse = "\n"))$first_screen
  expect_match(said[1], "In 1 of 1 cases, another algorithm is faster than the library's default",
               fixed = TRUE)
  box <- gsub("&#39;", "'", html, fixed = TRUE)
  for (sentence in said) expect_match(box, sentence, fixed = TRUE)
  screen <- gsub("[[:space:]]+", " ", paste(status_of("noiselab-analyze", "advise", dir)$out, collapse = " "))
  for (sentence in said) expect_match(screen, sentence, fixed = TRUE)
})

test_that("cases without a verdict are counted in a sentence, quiet and under noise", {
  expect_identical(undecided_cases(1, 1), " More time (--seconds) decides the case that is undecided.")
  expect_identical(undecided_cases(1, 0),
                   " More time (--seconds) decides the case that is undecided, under noise.")
  expect_identical(undecided_cases(5, 3),
                   paste0(" More time (--seconds) decides the 5 cases that are undecided: ",
                          "3 quiet and 2 under noise."))
})

test_that("the advice is the same on its screen, in its JSON and in the report", {
  expect_one_answer("advise", planned_as(three_algorithms, "advise", "advise"))
})
