# Bursts as noiselab-gen's patterns place them (noisegen/patterns/pattern.c), for 60 s, with the scatter of
# a real machine.
bursts_of <- function(pattern, level_percent, period_s, seconds = 60, jitter = 1, seed = 1) {
  set.seed(seed)
  length_s <- level_percent / 100 * period_s
  n <- floor(seconds / period_s)
  start <- switch(pattern,
    periodic = (seq_len(n) - 1) * period_s,
    jittered = (seq_len(n) - 1) * period_s + jitter * stats::runif(n) * (period_s - length_s),
    poisson = Filter(function(t) t < seconds, cumsum(stats::rexp(2 * n + 50, 1 / period_s)))
  )
  start <- start + abs(stats::rnorm(length(start), 0, 2e-5)) # wake-ups are late
  duration <- length_s * exp(stats::rnorm(length(start), 0, 0.02))
  for (i in seq_along(start)[-1]) start[i] <- max(start[i], start[i - 1] + duration[i - 1]) # one CPU
  structure(data.frame(start_ns = round(start * 1e9), duration_ns = round(duration * 1e9), cpu = 1),
            keys = list(span_ns = format(seconds * 1e9, scientific = FALSE)))
}

near <- function(got, wanted, percent) expect_lt(abs(got / wanted - 1), percent / 100)

test_that("level within 5 % and period within 1 % come back from every pattern with a period", {
  for (pattern in c("periodic", "jittered")) for (case in list(c(0.05, 0.04), c(1, 5))) {
    period <- case[1]
    level <- case[2]
    fit <- equivalent_setting(bursts_of(pattern, level, period))
    expect_equal(fit$pattern, pattern)
    near(fit$level_percent, level, 5)
    near(fit$period_s, period, 1)
    expect_equal(fit$goodness, "good")
    expect_gte(fit$share_at_period, 0.99)
    if (pattern == "jittered") near(fit$jitter_percent, 100, 30)
  }
  near(equivalent_setting(bursts_of("jittered", 1, 0.1, jitter = 0.3))$jitter_percent, 30, 15)
})

test_that("independent bursts have no period, which is said, and are given as poisson", {
  fits <- lapply(1:15, function(i) equivalent_setting(bursts_of("poisson", 1, 1, seconds = 10 + i, seed = i)))
  found <- vapply(fits, `[[`, "", "pattern")
  expect_lte(sum(found != "poisson"), 2) # chance of more is below 1 % when each errs with 1 %
  fit <- equivalent_setting(bursts_of("poisson", 1, 0.02))
  expect_equal(fit$pattern, "poisson")
  expect_match(fit$notes, "no period: the distances of", all = FALSE)
  near(fit$level_percent, 1, 5)
  near(fit$period_s, 0.02, 5)
  expect_lt(fit$ks_distances, 0.05)
  expect_match(paste(fit$command, collapse = " "), "--kind spin --pattern poisson --level [01]")
})

test_that("an agent's threads and its small timers do not hide its beat", {
  set.seed(3)
  main <- (0:59) + 0.2
  # three bursts within 2 ms, 10 us to 1 ms apart, and a timer of 20 us at any time
  parts <- c(main, main + 4e-4, main + 1.7e-3)
  timer <- sort(stats::runif(80, 0, 60))
  bursts <- data.frame(start_ns = round(c(parts, timer) * 1e9), duration_ns = c(rep(3e5, 180), rep(2e4, 80)),
                       cpu = 0)
  bursts <- bursts[order(bursts$start_ns), ]
  fit <- equivalent_setting(bursts)
  expect_equal(fit$pattern, "periodic")
  near(fit$period_s, 1, 0.1)
  near(fit$lengths_s[2], 9e-4, 1)
  expect_gte(fit$share_at_period, 0.95)
})

test_that("halves of a campaign are windows: a phase that moves and silence between them do no harm", {
  set.seed(4)
  windows <- data.frame(start_ns = (0:29) * 2e9, length_ns = 1e9)
  phase <- stats::runif(30, 0, 0.1)
  bursts <- data.frame(
    start_ns = round(rep(windows$start_ns, each = 10) + (rep(phase, each = 10) + rep(0:9, 30) * 0.1) * 1e9),
    duration_ns = 4e4
  )
  fit <- equivalent_setting(bursts, windows)
  expect_equal(fit$pattern, "periodic")
  near(fit$period_s, 0.1, 0.1)
  near(fit$level_percent, 0.04, 0.1)
  # one burst in each: only what the agent is said to do tells the period
  short <- data.frame(start_ns = (0:29) * 2e9 + 3e8, duration_ns = 4e5)
  told <- equivalent_setting(short, windows, told_s = 1)
  expect_equal(c(told$pattern, told$period_s), c("periodic", "1"))
  expect_match(told$notes, "is what the agent is said to have", all = FALSE)
  expect_match(equivalent_setting(short, windows)$notes, "no period", all = FALSE)
})

test_that("one CPU, several at once and wandering are told apart", {
  at <- (0:59) * 1e9
  both <- equivalent_setting(data.frame(start_ns = rep(at, each = 2), duration_ns = 1e7, cpu = c(4, 2)))
  expect_equal(both$cpus, c(2, 4))
  near(both$level_percent, 1, 2)
  expect_match(paste(both$command, collapse = " "), "--on cpu:2,cpu:4")
  wanders <- equivalent_setting(data.frame(start_ns = at, duration_ns = 1e7, cpu = rep(c(0, 1, 1), 20)))
  expect_equal(wanders$cpus, 1)
  expect_match(wanders$notes, "wandered over the CPUs 0 and 1", all = FALSE)
  expect_match(equivalent_setting(data.frame(start_ns = at, duration_ns = 1e7))$notes, "names no CPU",
               all = FALSE)
})

test_that("the kind follows from what the agent read, or is said to be unknown", {
  bursts <- bursts_of("periodic", 1, 1)
  expect_equal(equivalent_setting(bursts, read_bytes = 2e7, cpu_ns = 6e8)$kind, "procfs")
  little <- equivalent_setting(bursts, read_bytes = 1000, cpu_ns = 6e8)
  expect_equal(little$kind, "spin")
  expect_match(little$kind_reason, "it read 0.00167 MB per second")
  expect_match(equivalent_setting(bursts)$kind_reason, "was not recorded")
  bursts$kind <- "cache"
  expect_equal(equivalent_setting(bursts)$kind, "cache")
})

test_that("what the generator cannot pace is said", {
  slow <- equivalent_setting(data.frame(start_ns = (0:19) * 9e10, duration_ns = 1e3))
  expect_match(slow$notes, "1 ms to 60 s: the level is kept, the period (90 s) is not", fixed = TRUE,
               all = FALSE)
  expect_match(slow$notes, "outside what the generator paces", all = FALSE)
  expect_match(paste(slow$command, collapse = " "), "--level 0.001 --period 60s")
  expect_error(equivalent_setting(data.frame(start_ns = numeric(), duration_ns = numeric())), "no burst",
               class = "nl_error_data")
  expect_error(equivalent_setting(data.frame(start_ns = 5, duration_ns = 10)), "has no level",
               class = "nl_error_data")
  few <- equivalent_setting(data.frame(start_ns = (1:4) * 1e9, duration_ns = 1e6))
  expect_match(few$notes, "4 groups of bursts are too few to tell a period from chance", all = FALSE)
  expect_equal(option_time(c(1, 0.0999997, 2.5e-3)[1]), "1s")
  expect_equal(option_time(0.0999997), "100ms")
  expect_equal(option_time(0.0099987), "9.999ms")
})

test_that("the front end takes traces and campaigns, and prints text, JSON and CSV", {
  file <- file.path(local_folder(), "mine.trace")
  bursts <- bursts_of("periodic", 0.3, 0.1)
  start <- format(bursts$start_ns, scientific = FALSE, trim = TRUE)
  writeLines(c("# host: node7", "# span_ns: 60000000000", paste(start, bursts$duration_ns, 1, sep = "\t")),
             file)
  text <- status_of("noiselab-analyze", "equivalent", file)
  expect_equal(text$status, 0L)
  expect_equal(text$out[1], "mine on node7 is like")
  expect_match(text$out[3], "noiselab-gen --kind spin --level 0.3 --period 100ms --on cpu:1 --duration 60s")
  expect_match(status_of("noiselab-analyze", "equivalent", file, "--csv")$out[2], "^mine,node7,periodic,0.1")
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 10, launches = 2, levels_percent = 1, half_period_ns = 3e8, seed = 1)
  got <- json_of("equivalent", dir)$settings[1, ]
  expect_equal(unlist(got[c("agent", "kind", "pattern")], use.names = FALSE),
               c("collectd", "procfs", "periodic"))
  near(got$period_s, 0.1, 1)
  near(got$level_percent, 0.041, 10) # bursts of 41 us, drawn
  expect_equal(status_of("noiselab-analyze", "equivalent", "nowhere")$status, 2L)
  expect_equal(status_of("noiselab-analyze", "equivalent", local_campaign(pairs = 10, seed = 1))$status, 3L)
})
