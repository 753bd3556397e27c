test_that("a loop without noise gives back what each burst cost, by hand", {
  ns <- rep(2e5, 1000)
  at <- c(100, 300, 500, 700, 900)
  ns[at] <- ns[at] + 3e5
  begin <- cumsum(ns) - ns
  bursts <- data.frame(start_ns = 1e12 + begin[at] + 1000, duration_ns = 2e5, cpu = 0)
  got <- locked_cost(locked_track(loop_timeline(1e12, 1000, ns), bursts))
  expect_equal(c(got$cost_ns, got$n_bursts), c(3e5, 5))
  seconds <- (1000 * 2e5 + 5 * 3e5) / 1e9
  expect_equal(got$bursts_per_s, 5 / seconds)
  expect_equal(got$slowdown_percent, 100 * 1.5e-3 / 0.2)
  expect_equal(got$amplification, 1.5)
  expect_equal(got$state, "measured")
})

test_that("a slice that two parts of a torn burst touch is lost once", {
  ns <- rep(2e5, 1000)
  at <- c(100, 300, 500, 700, 900)
  ns[at] <- ns[at] + 3e6
  begin <- cumsum(ns) - ns
  # both within one slice, farther from each other than a tail
  bursts <- data.frame(start_ns = 1e12 + sort(c(begin[at] + 1000, begin[at] + 2e6)), duration_ns = 1e6,
                       cpu = 0)
  got <- locked_cost(locked_track(loop_timeline(1e12, 1000, ns), bursts))
  expect_equal(c(got$n_bursts, got$cost_ns, got$amplification), c(5, 3e6, 1.5))
})

test_that("the interval holds the truth, and no burst that costs something is missed", {
  got <- lapply(1:10, function(seed) locked_cost(loop_track(simulate_loop(seed = seed), n_shifts = 200)))
  got <- do.call(rbind, got)
  expect_true(all(got$p_value < 1e-12))
  inside <- got$cost_low_ns <= 5e5 & got$cost_high_ns >= 5e5
  expect_gte(sum(inside), 9)
  expect_equal(mean(got$cost_ns), 5e5, tolerance = 0.01)
  # the limit is that of the scatter of the shifts, of which so many are news
  track <- loop_track(simulate_loop(seed = 1), n_shifts = 200)
  n <- nrow(track$windows)
  places <- track$room / n
  limit <- detection_limit(stats::sd(track$elsewhere / n) * sqrt(1 + 1 / places),
                           places - 1) * got$bursts_per_s[1] / 1e9
  expect_equal(got$limit_percent[1], 100 * limit / (1 - limit))
})

test_that("bursts that cost nothing are found no more often than alpha says", {
  got <- lapply(1:24, function(seed) {
    locked_cost(loop_track(simulate_loop(seconds = 5, cost_us = 0, seed = seed, random = TRUE),
                           n_shifts = 200))
  })
  got <- do.call(rbind, got)
  expect_lte(sum(got$p_value < 0.01), 2)
  expect_gte(sum(got$cost_low_ns <= 0 & got$cost_high_ns >= 0), 22)
  expect_gt(mean(got$p_value), 0.3)
})

test_that("short bursts that met more of the background than all shifts are not found by it", {
  # thirteen of three hundred such records, by the shifts' deviation alone
  p <- vapply(c(1010, 1139, 1154, 1162, 1173), function(seed) {
    loop <- simulate_loop(seconds = 6, period_s = 0.01, length_us = 100, cost_us = 0, seed = seed)
    locked_cost(loop_track(loop, n_shifts = 250))$p_value
  }, 0)
  expect_true(all(p > 0.01))
  found <- locked_cost(loop_track(simulate_loop(seconds = 6, period_s = 0.01, length_us = 100, seed = 1),
                                  n_shifts = 250))
  expect_lt(found$p_value, 1e-6)
})

test_that("an outlier of the background counts for three windows at most", {
  loop <- simulate_loop(cost_us = 0, noise_per_s = 0)
  slice <- findInterval(loop$bursts$start_ns[50], loop$begin_ns + cumsum(loop$ns) - loop$ns)
  loop$ns[slice] <- loop$ns[slice] + 5e8
  later <- loop$bursts$start_ns > loop$bursts$start_ns[50]
  loop$bursts$start_ns[later] <- loop$bursts$start_ns[later] + 5e8
  got <- locked_cost(loop_track(loop))
  expect_lt(got$cost_ns, 3 * 1e6 / 99 * 1.1)
})

test_that(paste0("bursts cut by the background have an upper end all the same, and bursts that cost more ",
                 "than is counted have none"), {
  # a hundred bursts of 2.5 ms, and another task twice a second, 9 ms on the average
  beside <- lapply(1:20, function(seed) {
    loop_track(simulate_loop(25, 0.25, 2500, noise_per_s = 1.9, noise_us = 9000, seed = seed), n_shifts = 200)
  })
  expect_gt(sum(vapply(beside, function(t) t$n_cut, 0) > 1), 3)
  expect_lte(sum(vapply(beside, function(t) t$is_cut, TRUE)), 2)
  expect_gte(sum(vapply(beside, function(t) locked_cost(t)$cost_high_ns < 4e6, TRUE)), 18)
  # each costs five times its length; or one in ten does
  expect_equal(locked_cost(loop_track(simulate_loop(25, 0.25, 2500, 12500), n_shifts = 200))$cost_high_ns,
               Inf)
  loop <- simulate_loop(25, 0.25, 2500)
  some <- findInterval(loop$bursts$start_ns[seq(5, 95, 10)] - loop$begin_ns, cumsum(loop$ns) - loop$ns)
  loop$ns[some] <- loop$ns[some] + 1e7
  for (k in rev(seq(5, 95, 10))) {
    loop$bursts$start_ns[-seq_len(k)] <- loop$bursts$start_ns[-seq_len(k)] + 1e7
  }
  expect_equal(locked_cost(loop_track(loop, n_shifts = 200))$cost_high_ns, Inf)
})

test_that("bursts that follow slowness are withheld", {
  loop <- simulate_loop(seed = 3)
  loop$bursts$start_ns <- loop$bursts$start_ns + 8e5 # each is recorded after what it is said to have cost
  got <- locked_cost(loop_track(loop))
  expect_equal(got$state, "not flat")
  expect_true(is.na(got$cost_ns))
  expect_match(got$reason, "slower before the bursts already")
})

test_that("a few bursts, none, and bursts without a pause between them have a reason and no figure", {
  loop <- simulate_loop(seconds = 2)
  few <- loop
  few$bursts <- few$bursts[1:4, ]
  expect_equal(locked_cost(loop_track(few))$state, "few")
  few$bursts <- few$bursts[0, ]
  expect_equal(locked_cost(loop_track(few))$n_bursts, 0)
  dense <- loop
  dense$bursts <- data.frame(start_ns = dense$begin_ns + seq(0, 1.9e9, 1.1e6), duration_ns = 5e5, cpu = 0)
  expect_equal(locked_cost(loop_track(dense))$state, "dense")
})

test_that("where the loop is held up all the time there is no figure", {
  loop <- simulate_loop(seconds = 3, noise_per_s = 100, noise_us = 1e4)
  got <- locked_cost(loop_track(loop, n_shifts = 200))
  expect_equal(got$state, "busy")
  expect_match(got$reason, "delayed [0-9]+ % of equally long burst-free windows")
})

test_that("bursts that overlap or follow within a window are one, with the CPU time of all", {
  timeline <- loop_timeline(0, 100, rep(2e5, 100))
  bursts <- data.frame(start_ns = c(1e6, 1.1e6, 1.5e6, 8e6), duration_ns = c(5e5, 1e5, 1e5, 1e5))
  got <- burst_windows(timeline, bursts)
  expect_equal(got$start, c(1e6, 8e6))
  expect_equal(got$end, c(1.6e6, 8.1e6))
  expect_equal(got$cpu_ns, c(7e5, 1e5))
  expect_equal(got$first, c(6, 41))
  expect_equal(got$last, c(11, 43))
})

test_that("windows end with their half, and bursts between halves are not counted", {
  timeline <- loop_timeline(c(0, 1e8), c(10, 10), rep(2e5, 20))
  bursts <- data.frame(start_ns = c(1.95e6, 5e7, 1e8), duration_ns = 1e5)
  got <- burst_windows(timeline, bursts)
  expect_equal(got$first, c(10, 11))
  expect_equal(got$last, c(10, 13))
  expect_equal(got$length, c(5e4, 6e5))
})

test_that("the p-value counts shifts where they can, and goes on by the normal tail", {
  shifts <- qnorm(ppoints(999))
  expect_equal(shift_p(-10, shifts, 999), 1)
  expect_equal(shift_p(0, shifts, 999), 0.501, tolerance = 1e-3)
  expect_equal(shift_p(0, shifts, 9), 0.55, tolerance = 1e-2)
  expect_lt(shift_p(10, shifts, 999), 1e-12)
  expect_gt(shift_p(10, shifts, 3), 1e-3)
  expect_gt(shift_p(1000, shifts, 999), 0)
})

test_that("launches together count by their bursts, and the worst state wins", {
  row <- function(slowdown, reach, n, state = "measured") {
    row <- cbind(
      data.frame(launch = "a", operation = "barrier", bytes = 0),
      locked_row(list(n_bursts = n, bursts_per_s = 4, burst_cpu_ns = 2.5e6, cost_ns = 2.5e6,
                      cost_low_ns = 2.4e6, cost_high_ns = 2.6e6, slowdown_percent = slowdown,
                      slowdown_low = slowdown - reach, slowdown_high = slowdown + reach, p_value = 1e-4,
                      limit_percent = 0.1, amplification = 1, amplification_low = 0.9,
                      amplification_high = 1.1, z = 4, state = state, seconds = n / 4))
    )
    row$figure <- list(figure_of_t(slowdown, reach / qnorm(0.99), Inf))
    row
  }
  got <- pool_locked(rbind(row(1, 0.1, 100), row(2, 0.1, 300)))
  expect_equal(got$slowdown_percent, 1.75)
  expect_equal(got$slowdown_high - got$slowdown_low, 2 * 0.1 * sqrt(0.25^2 + 0.75^2))
  expect_equal(got$n_launches, 2)
  expect_lt(got$heterogeneity_p, 1e-6)
  expect_lt(got$p_value, 1e-4)
  expect_equal(pool_locked(rbind(row(1, 0.1, 100), row(2, 0.1, 300, "not flat")))$state, "not flat")
  expect_equal(pool_locked(row(1, 0.1, 100))$slowdown_percent, 1)
  expect_null(pool_locked(row(1, 0.1, 100)[0, ]))
})

test_that("bursts of several nodes that overlap are one window, and others are added", {
  # 0.5 ms each 100 ms on each of two nodes, whose clocks have other origins; a third of the second's bursts
  # come with the first's
  loop <- simulate_loop(seed = 4)
  timeline <- loop_timeline(loop$begin_ns, loop$n, loop$ns)
  there <- loop
  there$begin_ns <- loop$begin_ns + 12345678
  there$bursts$start_ns <- there$bursts$start_ns + 12345678
  other <- list(timeline = loop_timeline(there$begin_ns, there$n, there$ns), bursts = there$bursts)
  both <- on_one_timeline(list(list(timeline = timeline, bursts = loop$bursts), other))
  got <- locked_cost(locked_track(both$timeline, both$bursts, 200))
  one <- locked_cost(locked_track(timeline, loop$bursts, 200))
  expect_equal(got$n_bursts, one$n_bursts)
  expect_equal(got$slowdown_percent, one$slowdown_percent)
  expect_equal(got$amplification, one$amplification / 2)
  # a third at once: as many windows as there are places
  alone <- seq(1, nrow(loop$bursts), 3)
  parted <- on_one_timeline(list(list(timeline = timeline, bursts = loop$bursts[-alone[-1], ]),
                                 within(other, bursts <- bursts[alone, ])))
  expect_equal(locked_cost(locked_track(parted$timeline, parted$bursts, 200))$slowdown_percent,
               one$slowdown_percent)
})

test_that(paste0("with other launches placebos are found no more often than alpha says, costs are, and a ",
                 "wilder launch widens what is known"), {
  one <- function(seed, ...) {
    loop_track(simulate_loop(seconds = 5, seed = seed, ...), n_shifts = 200)
  }
  quiet <- lapply(1:4, function(seed) one(seed + 500, cost_us = 0))
  p <- vapply(1:24, function(seed) locked_cost(one(seed, cost_us = 0, random = TRUE), others = quiet)$p_value,
              0)
  expect_lte(sum(p <= 0.05), qbinom(0.999, 24, 0.05))
  expect_gt(mean(p), 0.4)
  found <- one(1, cost_us = 200)
  expect_lt(locked_cost(found, others = quiet)$p_value, 1e-6)
  wild <- list(one(900, cost_us = 0, noise_per_s = 200, noise_us = 400))
  alone <- locked_cost(found)
  beside <- locked_cost(found, others = wild)
  expect_gt(beside$p_value, alone$p_value)
  expect_gt(beside$limit_percent, 1.5 * alone$limit_percent)
  expect_equal(beside$cost_ns, alone$cost_ns)
})

test_that("analyses have the channel locked where slices and bursts were recorded, with the known cost", {
  dir <- add_slices(local_campaign(pairs = 60, levels_percent = 1, operations = "barrier", seed = 2))
  analysis <- analyze_campaign(read_campaign(dir), channels = c("time", "locked"))
  row <- subset(analysis$verdicts, channel == "locked")
  expect_equal(nrow(row), 1)
  expect_equal(row$verdict, "detected")
  share <- 100e-6 * row$raw_locked[[1]]$bursts_per_s
  expect_equal(row$estimate, 100 * share / (1 - share), tolerance = 0.05)
  expect_true(row$ci_low < row$estimate & row$ci_high > row$estimate)
  expect_equal(c(row$unit_of_inference, row$test_kind), c("burst", "shifts"))
  expect_gt(row$detection_limit, 0)
})

test_that("launches together have it, too, and bursts that cost nothing are not detected", {
  dir <- add_slices(
    local_campaign(pairs = 60, launches = 2, levels_percent = 1, operations = "barrier", seed = 2),
    cost_us = 0
  )
  rows <- subset(analyze_campaign(read_campaign(dir), channels = c("time", "locked"))$verdicts,
                 channel == "locked")
  expect_setequal(rows$scope, c(scope_launch, scope_these, scope_campaign))
  expect_equal(unique(rows$verdict[rows$scope == scope_these]), "not detected")
  expect_equal(subset(rows, scope == scope_these)$n_launches, 2)
})

test_that("bursts on CPUs without a rank do not count, and without a trace there is no row", {
  dir <- add_slices(local_campaign(pairs = 20, levels_percent = 1, operations = "barrier", seed = 2))
  trace <- list.files(dir, "generator", recursive = TRUE, full.names = TRUE)
  edit_lines(trace, function(lines) sub("\t[0-9]+$", "\t999", lines))
  campaign <- read_campaign(dir)
  on <- which(campaign$rows$arm == "on")
  got <- locked_of_rows(campaign, names(campaign$launches), on, 0.01, 0.99)
  expect_equal(got$n_bursts, 0)
  unlink(trace)
  got <- locked_of_rows(campaign, names(campaign$launches), on, 0.01, 0.99)
  expect_equal(got[c("state", "reason")],
               data.frame(state = "unrecorded", reason = "no bursts of the generator were recorded"))
  expect_false("locked" %in% analyze_campaign(campaign)$verdicts$channel)
})

test_that("a launch with an agent has a row per operation, and one without slices says so", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 10, seed = 1)
  got <- locked_by_launch(read_campaign(dir))
  expect_equal(got$state, "unrecorded")
  expect_match(got$reason, "no slices")
  expect_equal(
    names(got),
    c("launch", "operation", "bytes", names(locked_columns), "figure", "watched_s", "is_quick", "beyond",
      "seen_ns")
  )
})

test_that("a node that had the load and lacks its slices leaves no figure, and is named", {
  dir <- add_slices(local_campaign(pairs = 20, levels_percent = 1, operations = "barrier", seed = 2))
  campaign <- read_campaign(dir)
  id <- names(campaign$launches)
  host <- as.character(campaign$ranks$host[1])
  path <- campaign$paths[[id]]
  more <- campaign$ranks[1, ]
  more$host <- "node9"
  campaign$ranks <- rbind(campaign$ranks, more)
  file.copy(file.path(path, paste0("generator.", host, ".trace")), file.path(path, "generator.node9.trace"))
  got <- locked_of_rows(campaign, id, which(campaign$rows$arm == "on"), 0.01, 0.98)
  expect_equal(got[c("state", "reason")], data.frame(state = "unrecorded", reason = "no slices of node9"))
})

test_that("a record that had no room for all bursts gives no figure by bursts", {
  file <- file.path(local_folder(), "bursts.n1.trace")
  campaign <- list(bursts = data.frame(launch = "one", host = "n1", file = file),
                   tasks = data.frame(launch = "one", host = "n1", task = "top", group = "agent"))
  record <- function(not_kept) {
    writeLines(c("# origin_monotonic_ns: 0", paste("# not_kept:", not_kept), "0\t41000\t0\t-\ttop"), file)
    recorded_bursts_of_agent(campaign, "one", "n1")
  }
  expect_equal(nrow(record(0)), 1)
  expect_match(record(17), "^17 bursts found no room in the record")
  # of nobody's name: the agent's, unless by its own account it took nothing there
  campaign$tasks$group <- "other"
  campaign$agents <- data.frame(launch = "one", host = "n1", agent_on_ranks_ns = c(0, 400))
  expect_match(record(0), "^the bursts' tasks were not identified; run as root")
  campaign$agents$agent_on_ranks_ns <- 0
  expect_equal(nrow(record(0)), 0)
})

test_that("each launch of an agent is judged on the others' records, too", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 12, launches = 3, operations = "barrier", bytes = 0,
                          agent_burst_ns = 5e5, seed = 3)
  campaign <- read_campaign(add_agent_slices(dir, 500), arms = "any")
  got <- locked_by_launch(campaign)
  expect_equal(got$launch, names(campaign$launches))
  expect_true(all(got$state == "measured" & got$p_value < 1e-6))
  rows <- lapply(names(campaign$launches), function(id) {
    which(campaign$rows$launch == id & campaign$rows$arm == "on")
  })
  tracks <- Map(function(id, at) track_of_rows(campaign, id, at, read_slices), names(campaign$launches), rows)
  expect_equal(got$limit_percent[2],
               locked_cost(tracks[[2]], 0.01, 0.98, others = unname(tracks[-2]))$limit_percent)
  expect_gt(got$limit_percent[2], locked_cost(tracks[[2]], 0.01, 0.98)$limit_percent * (1 - 1e-9))
})

# A loop of 60 s with bursts of 2.5 ms each 250 ms, which cost what they last, and a kernel thread of 5 ms
# each half second; `with`: it comes in the middle of every other burst's window in place of at its own
# time.
beside_kernel_thread <- function(seed, with = FALSE, cost_us = 2500) {
  loop <- simulate_loop(seconds = 60, period_s = 0.25, length_us = 2500, cost_us = cost_us, noise_per_s = 0,
                        seed = seed, random = TRUE)
  total <- sum(loop$ns)
  at <- if (with) {
    loop$bursts$start_ns[c(TRUE, FALSE)] - loop$begin_ns + 1000
  } else {
    sort(stats::runif(120, 0, total - 1e7))
  }
  slice <- findInterval(at, cumsum(loop$ns) - loop$ns)
  moved <- numeric(length(loop$ns))
  for (i in slice) moved[i] <- moved[i] + 5e6
  # what comes later begins later
  after <- function(t) {
    vapply(t, function(x) sum(moved[seq_len(max(0, findInterval(x, cumsum(loop$ns) - loop$ns) - 1))]), 0)
  }
  loop$bursts$start_ns <- loop$bursts$start_ns + after(loop$bursts$start_ns - loop$begin_ns)
  others <- data.frame(start_ns = round(loop$begin_ns + at + after(at)), duration_ns = 5e6, cpu = 0)
  loop$ns <- loop$ns + moved
  list(loop = loop, others = others)
}

test_that(paste0("slices in which others ran are left out, which makes the cost of bursts sharper and ",
                 "leaves it true"), {
  got <- lapply(1:8, function(seed) {
    x <- beside_kernel_thread(seed)
    list(bare = locked_cost(loop_track(x$loop, n_shifts = 200)),
         masked = locked_cost(loop_track(x$loop, n_shifts = 200, others = x$others)))
  })
  width <- function(which) {
    vapply(got, function(g) g[[which]]$amplification_high - g[[which]]$amplification_low, 0)
  }
  expect_lt(stats::median(width("masked") / width("bare")), 0.5)
  holds <- vapply(got, function(g) g$masked$amplification_low <= 1 && 1 <= g$masked$amplification_high, NA)
  expect_gte(sum(holds), 7)
  # their rate and CPU time are those of all bursts, with others or not
  expect_equal(got[[1]]$masked$n_bursts, got[[1]]$bare$n_bursts)
  expect_equal(got[[1]]$masked$burst_cpu_ns, got[[1]]$bare$burst_cpu_ns)
})

test_that("what comes more often with the bursts than elsewhere is their doing, and stays in", {
  x <- beside_kernel_thread(1, with = TRUE)
  same <- function(others) locked_cost(loop_track(x$loop, n_shifts = 200, others = others))
  expect_equal(same(x$others)$slowdown_percent, same(NULL)$slowdown_percent)
  expect_gt(same(x$others)$amplification, 1.5)
  # nothing on record, and others in nearly all of the time, leave nothing out
  expect_equal(same(x$others[0, ])$slowdown_percent, same(NULL)$slowdown_percent)
  dense <- data.frame(start_ns = x$loop$begin_ns + 1e6 * (0:59000), duration_ns = 1e5, cpu = 0)
  expect_equal(same(dense)$slowdown_percent, same(NULL)$slowdown_percent)
})
