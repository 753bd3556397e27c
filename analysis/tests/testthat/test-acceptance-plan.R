# How long a run against a reference must be.

test_that(paste0("a plan decides what can be decided in ten minutes, in the shortest time that does, and ",
                 "the rest is listed with its margin"), {
  reference <- simulated_acceptance(nodes = 1, launches = 5, lost_sd = 2, lost_percent = 1, seed = 1)
  plan <- plan_acceptance(reference, launches = 1)
  expect_gte(plan$measuring_s, accept_plan$least_s)
  expect_lte(plan$measuring_s, accept_plan$most_s)
  rows <- plan$rows
  able <- rows$total_s <= plan$measuring_s & rows$may_fail
  expect_equal(rows$decides, able %in% TRUE)
  # nothing that ten minutes decide is left out, and more time decides more
  expect_false(any(rows$total_s > plan$measuring_s & rows$total_s <= accept_plan$most_s, na.rm = TRUE))
  expect_gte(sum(plan_acceptance(reference, 1, seconds = 600)$rows$decides),
             sum(plan_acceptance(reference, 1, seconds = 5)$rows$decides))
  # by hand: the margin from which a run decides is (t + z) s, and what launches differ by
  lost <- rows[rows$metric == "lost" & rows$variant == "alone", ]
  part <- acceptance_units(reference)
  part <- part[
    part$check == "detour" & part$variant == "alone" & part$metric == "lost",
  ]
  within <- mean(tapply(part$x, part$launch, var))
  n_figures <- nrow(unique(acceptance_units(reference)[is_learnt(acceptance_units(reference)),
                                                       c(figure_key, "entity")]))
  z <- qnorm(1 - 0.05 / n_figures)
  n <- 25 * plan$measuring_s / (sum(check_seconds(reference)))
  between <- max(0, var(tapply(part$x, part$launch, mean)) - within / 5)
  expect_equal(lost$needed, (qt(0.995, max(1, n - 1)) + z) * sqrt(within / n) + z * sqrt(between),
               tolerance = 1e-6)
  view <- view_lines(accept_plan_view(plan))
  expect_match(
    paste(view, collapse = " "),
    "passes a healthy node with probability 0.95, by simulated: [0-9]+ of [0-9]+ figures are decided"
  )
  expect_match(view, "^noiselab run acceptance --launches 1 --seconds [0-9]+s --reference simulated",
               all = FALSE)
})

test_that("a plan without two quiet launches, or without any figure, says what is missing", {
  one <- plan_acceptance(simulated_acceptance(nodes = 1, launches = 1, seed = 2), launches = 1)
  expect_false(one$decides_noise)
  expect_match(one$notes, "none of its figures of noise is decided in this time: measure the reference in",
               all = FALSE)
  # no time makes a run pass by it: the shortest, and no promise of a probability
  expect_equal(one$measuring_s, accept_plan$least_s)
  said <- accept_plan_view(one)$sentences
  expect_match(said, "^No run can pass by simulated, because it decides nothing about noise\\.", all = FALSE)
  expect_false(any(grepl("probability|^noiselab run", said)))
  empty <- simulated_acceptance(nodes = 1, seed = 2)
  empty$figures <- empty$figures[empty$figures$check == "integrity", ]
  expect_error(plan_acceptance(empty), "no figure that a run could be held against", class = "nl_error_data")
})

test_that("the front end plans, and refuses what means nothing to it", {
  dir <- tempfile()
  simulate_acceptance(dir, nodes = 1, launches = 4, seed = 3)
  got <- status_of("noiselab-plan", "acceptance", "--reference", dir, "--launches", "2", "--json")
  expect_equal(got$status, 0L)
  json <- jsonlite::fromJSON(got$out)
  expect_equal(json$launches, 2)
  expect_true(all(c("check", "metric", "margin", "needed", "decides", "total_s") %in% names(json$figures)))
  expect_gt(json$total_s, json$measuring_s)
  for (words in list(c("acceptance"), c("acceptance", "--reference", dir, "--detect", "1"),
                     c("--detect", "1", "--reference", dir))) {
    expect_equal(do.call(status_of, as.list(c("noiselab-plan", words)))$status, 2L)
  }
})

test_that(paste0("a healthy machine held against its own reference passes at the planned length, and one ",
                 "that loses more fails"), {
  reference <- simulated_acceptance(nodes = 1, launches = 5, seed = 10)
  verdicts <- function(...) {
    vapply(
      1:12,
      function(i) {
        judge_acceptance(simulated_acceptance(nodes = 1, seed = 100 + i, ...), reference = reference)$verdict
      },
      ""
    )
  }
  expect_gte(sum(verdicts(launches = 1, repetitions = 12) == "pass"), 11)
  expect_true(all(verdicts(launches = 1, repetitions = 12, slow_node = 1, extra_lost_percent = 2) == "fail"))
})

# A campaign of one node whose ticks take `scan_ns`, and other tasks `lengths` at a time; scans of 20 s in
# 48 s of measuring.
ticking <- function(scan_ns = 2000, lengths = list(list(5000, 4000), list(9000, 800)), source = "cpu") {
  record <- list(source = source, span_ns = 48e9, wall_on_cpu_ns = 27e6, lost = 0, not_kept = 0, steal_ns = 0,
                 tasks = list(), block_busy_ns = as.list(rep(27e6 / 16, 16)),
                 block_activities = as.list(rep(300, 16)), cpu_activity_lengths = lengths)
  a <- simulated_acceptance(nodes = 1)
  a$others <- read_others(list(launch = "sim-0001",
                               others = list(list(host = "node1", n_cpus = 2, record = record))))
  dir <- tempfile("launch")
  dir.create(dir)
  at <- round(seq(0.1, 2000) * 1e7)
  writeLines(
    unlist(lapply(0:1, function(cpu) {
      c(sprintf("# scan: repetition 1 variant all cpu %d wall_ns 20000000000 detours 2000 kept 2000", cpu),
        sprintf("%.0f\t%.0f\t%d", at, scan_ns, cpu))
    })),
    file.path(dir, "detours.node1.trace")
  )
  a$paths <- c("sim-0001" = dir)
  a
}
asked_at <- function(percent, unseen_s = usual_unseen_s) {
  list(percent = percent, nodes = 1000, every_s = 1e-3, unseen_s = unseen_s, all = TRUE)
}

test_that(paste0("a margin of many nodes is planned: the shortest run that passes it, else the longest ",
                 "burst that may go unseen, else what the noise costs already"), {
  coarse_walks()
  campaign <- ticking()
  short <- plan_at_scale(campaign, asked_at(5, 1e-5))
  expect_true(short$measuring_s %in% scale_plan$lengths_s)
  expect_match(scale_plan_lines(short, "ref")[1],
               "^A run of .* of measuring passes a node like node1, .*margin of 5 %, with probability 0.95")
  expect_match(scale_plan_lines(short, "ref")[2],
               "^noiselab run acceptance --seconds [0-9]+s --margin 5%:nodes=1000,every=1ms,unseen=10us$")
  # bursts of a second that come as rarely as an hour does not exclude cost such a program more
  long <- plan_at_scale(campaign, asked_at(5, 1))
  expect_lt(long$unseen_s, 0.1)
  expect_lte(long$measuring_s, accept_plan$most_s)
  said <- scale_plan_lines(long, "ref")
  expect_match(said[1],
               "^No run of up to 60 min passes .*: bursts of up to 1 s that nobody saw may cost more")
  expect_match(said[3], ",unseen=[0-9]+(us|ms)$")
  # what the plan says is what the judge says of a run so long
  scans <- node_noises(campaign, detour_scans(campaign$paths), "node1")$scans
  measured_s <- sum(check_seconds(campaign))
  at <- function(plan, unseen_s) {
    scale_cell(watched_longer(scans, plan$measuring_s / measured_s), asked_at(5, unseen_s), 0.005)$high
  }
  expect_lt(at(long, long$unseen_s), 5)
  expect_false(isTRUE(at(utils::modifyList(long, list(measuring_s = 3600)), 1) < 5))
  # 1 ms of every 10 ms is lost already
  loud <- plan_at_scale(ticking(scan_ns = 1e6), asked_at(5))
  expect_true(is.na(loud$measuring_s))
  expect_match(scale_plan_lines(loud, "ref"),
               "whatever unseen= says: with what was recorded a program would be [0-9.]+ % slower already")
  # who sees no bursts promises nothing
  blind <- plan_at_scale(ticking(source = "proc"), asked_at(5))
  expect_match(scale_plan_lines(blind, "ref"), "^No run of up to 60 min passes .*: the tasks' accounts")
})

test_that("a search finds the first value that holds, where all behind it do", {
  for (n in 0:6) for (first in seq_len(n + 1)) {
    expect_equal(first_that(seq_len(n), function(x) x >= first), if (first > n) NA_integer_ else first)
  }
})

test_that("a longer record of many bursts is looked at as one of few is", {
  coarse_walks()
  many <- node_noise("many", rep(2e-6, 1.2e6), rate_hz = 100, watched_s = 12000)
  expect_equal(watched_longer(many, 4)$watched_s, 48000)
  unknown <- many
  unknown$tail$known <- FALSE
  expect_identical(watched_longer(unknown, 64)$n_bursts, 64 * many$n_bursts)
  # the margin is between its cost and its upper end
  few <- node_noise("few", rep(2e-6, 40), rate_hz = 1, watched_s = 40)
  asked <- asked_at(2, 1e-6)
  expect_true(is.finite(longer_scale(few, asked, 0.01)))
  expect_gt(watched_longer(few, 0.25)$n_bursts, 9)
})
