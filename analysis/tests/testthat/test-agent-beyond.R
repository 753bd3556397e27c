# Quick halves: slices of 0.2 ms, the loop slower by `percent` with the agent, bursts of 2 ms in some halves
# with it.
quick_halves <- function(n = 200, percent = 0, jitter = 0.01, hit = 5, seed = 1, slices = 100) {
  set.seed(seed)
  order <- sample(0:1, n, TRUE)
  blocks <- data.frame(pair = rep(seq_len(n), each = 2),
                       arm = as.vector(rbind(ifelse(order, "on", "off"), ifelse(order, "off", "on"))),
                       first = 1 + slices * (0:(2 * n - 1)), n = slices, planned_ns = 25e6)
  ns <- 2e5 * exp(stats::rnorm(2 * n * slices, 0, jitter))
  on <- which(blocks$arm == "on")
  ns <- ns * rep(ifelse(blocks$arm == "on", 1 + percent / 100, 1), each = slices)
  bursts <- NULL
  blocks$start_ns <- 25e6 * (seq_len(2 * n) - 1)
  for (i in on[seq_len(hit) * (n %/% max(1, hit))]) {
    at <- blocks$first[i] + 40
    bursts <- rbind(
      bursts,
      data.frame(start_ns = blocks$start_ns[i] + sum(ns[blocks$first[i]:(at - 1)]) + 1e4, duration_ns = 2e6)
    )
    ns[at] <- ns[at] + 2e6
  }
  list(blocks = blocks, ns = ns,
       bursts = bursts %||% data.frame(start_ns = numeric(), duration_ns = numeric()))
}

masked <- function(x) masked_pairs(x$blocks, x$ns, x$bursts, 5e5)

test_that("hand-computed: what bursts cost is masked, and the same time in the partner", {
  x <- quick_halves(n = 10, percent = 1, jitter = 0, hit = 3)
  got <- masked(x)
  expect_equal(got$d, rep(log(1.01), 10))
  # 2.01 ms of slice 41, and those that begin within 2.5 ms of the burst
  expect_equal(sum(got$kept < 1), 3)
  expect_equal(min(got$kept), 0.87, tolerance = 0.03)
  # the slow slice of a partner at the same place goes with it, another stays
  x <- quick_halves(n = 10, jitter = 0, hit = 1)
  on <- which(masked(x)$kept < 1)
  off <- which(x$blocks$pair == masked(x)$pair[on] & x$blocks$arm == "off")
  there <- x
  there$ns[x$blocks$first[off] + 41] <- 1e7
  expect_equal(masked(there)$raw[on], 0)
  there$ns[x$blocks$first[off] + 5] <- 1e7
  expect_lt(masked(there)$raw[on], -0.1)
  # cut to twice a slice, of some 87 to 100
  expect_true(masked(there)$d[on] < -0.0095 && masked(there)$d[on] > -0.0125)
})

test_that("a burst that began before its half is masked as far as it reaches into it", {
  x <- quick_halves(n = 8, jitter = 0, hit = 0)
  on <- which(x$blocks$arm == "on")[3]
  x$bursts <- data.frame(start_ns = x$blocks$start_ns[on] - 1e6, duration_ns = 2e6)
  x$ns[x$blocks$first[on] + 0:1] <- 1e6
  expect_equal(masked(x)$d, rep(0, 8))
})

test_that("what lies beyond the bursts is found and covered, with bursts and without", {
  held <- vapply(1:50, function(seed) {
    ends <- quick_figure(masked(quick_halves(n = 60, percent = 0.5, hit = 6, seed = seed)))$ends(0.01)
    ends[1] <= 0.5 && 0.5 <= ends[2]
  }, TRUE)
  expect_gte(sum(held), qbinom(0.001, 50, 0.98))
  expect_lt(figure_p(quick_figure(masked(quick_halves(percent = 0.5))), 0), 1e-6)
  expect_null(quick_figure(masked(quick_halves(n = 6, hit = 1))))
})

test_that("what others take and jumps of the speed hardly widen it, unless they come with the agent", {
  quiet <- quick_halves(hit = 0)
  x <- quiet
  set.seed(4)
  # in every eighth half another task of 4 ms, in some the machine is 60 % faster
  at <- x$blocks$first[sample(400, 50)] + sample(50, 50)
  x$ns[at] <- x$ns[at] + 4e6
  for (i in sample(400, 12)) x$ns[x$blocks$first[i] - 1 + 1:100] <- 0.6 * x$ns[x$blocks$first[i] - 1 + 1:100]
  got <- quick_figure(masked(x))
  mean_reach <- 100 * stats::qnorm(0.99) * stats::sd(masked(x)$raw) / sqrt(200)
  expect_lt(got$value - got$ends(0.01)[1], 0.1 * mean_reach)
  # as many were cut without the agent, but that it adds none is known only as well as their mean is
  expect_gt(got$ends(0.01)[2] - got$value, 0.7 * mean_reach)
  expect_lt(got$ends(0.01)[2] - got$value, 2 * mean_reach)
  expect_null(attr(quick_figure(masked(x)), "note"))
  # with the agent alone they are what it costs: 2 % of a half of 20 ms in the mean
  on <- x$blocks[x$blocks$arm == "on", ][seq(1, 200, 8), ]
  with <- quiet
  with$ns[on$first + 50] <- with$ns[on$first + 50] + 3.2e6
  got <- quick_figure(masked(with))
  expect_match(attr(got, "note"), "^long interruptions that its bursts do not hold come more often with it")
  expect_true(got$ends(0.01)[1] < 2 && 2 < got$ends(0.01)[2] && got$value > 1.4)
})

# Pairs of a minute, drawn half by half without slices: others take 0.1 ms five times a second in both arms;
# with the agent some halves are slower, or interruptions of `ns` come `per_s` times a second.
skewed_pairs <- function(seed, halves = 0, by = 0, per_s = 0, ns = 0) {
  set.seed(seed)
  seconds <- rep(c(rep(0.025, 24), 0.25), 19)
  n <- length(seconds)
  lost <- function(per_s, ns, most) {
    k <- stats::rpois(n, per_s * seconds)
    each <- ns(sum(k))
    sums <- numeric(n)
    if (length(each) > 0) sums[k > 0] <- rowsum(pmin(each, most), rep(seq_len(n), k))[, 1]
    sums / (1e9 * seconds)
  }
  slower <- ifelse(stats::runif(n) < halves, 1 + by, 1)
  arm <- function(with) {
    state <- .Random.seed
    ratio <- function(most) {
      .Random.seed <<- state
      x <- lost(5, function(k) stats::rexp(k, 1e-5), most)
      if (with) slower * (1 + x + lost(per_s, function(k) rep(ns, k), most)) else 1 + x
    }
    both <- lapply(c(raw = Inf, d = 2e5), ratio)
    level <- exp(stats::rnorm(n, 0, 0.012))
    lapply(both, `*`, level)
  }
  on <- arm(TRUE)
  off <- arm(FALSE)
  data.frame(pair = seq_len(n), planned_ns = 1e9 * seconds, raw = log(on$raw / off$raw),
             d = log(on$d / off$d), kept = 1)
}

test_that(paste0("what is cut is bounded and added: of rare long effects the bound holds, and the interval ",
                 "the truth"), {
  cells <- list(list(0.5, halves = 0.01, by = 0.5), list(0.5, per_s = 0.5, ns = 1e7),
                list(0.6, halves = 0.03, by = 0.2), list(0.7, per_s = 1, ns = 7e6), list(0),
                list(0.6, per_s = 20, ns = 3e5))
  for (cell in cells) {
    got <- vapply(
      1:80,
      function(seed) {
        figure <- quick_figure(do.call(skewed_pairs, c(seed, cell[-1])))
        c(figure$ends(0.01)[1] <= cell[[1]] && cell[[1]] <= figure$ends(0.01)[2],
          beyond_bound(figure, 0.005) < cell[[1]])
      },
      c(TRUE, TRUE)
    )
    expect_gte(sum(got[1, ]), qbinom(0.001, 80, 0.97))
    expect_lte(sum(got[2, ]), qbinom(0.999, 80, 0.01))
  }
})

test_that(paste0("hand-computed: what was cut counts in the arm that it came in, and an arm without any has ",
                 "the other's largest for its bound"), {
  cut <- cut_figure(c(log(1.5), 0, 0, 0), c(0, 0, 0, 0))
  expect_equal(cut$value, 0.5 / 4)
  up <- compound_poisson_ends(0.5, 0.01)[2] / 4
  without <- -log(0.01) * 0.5 / 4
  expect_equal(cut$ends(0.01)[2], 0.125 + up - 0.125)
  expect_equal(cut$ends(0.01)[1],
               0.125 - sqrt((0.125 - compound_poisson_ends(0.5, 0.01)[1] / 4)^2 + without^2))
  # the same without the agent
  expect_equal(cut_figure(-c(log(1.5), 0, 0, 0), c(0, 0, 0, 0))$ends(0.01), -rev(cut$ends(0.01)))
  none <- cut_figure(c(0.1, 0), c(0.1, 0))
  expect_equal(c(none$value, none$ends(0.01)), c(0, 0, 0))
})

test_that("where long halves show what short ones do not, the long ones count alone, and it is said", {
  short <- masked(quick_halves(n = 100, hit = 0))
  long <- masked(quick_halves(n = 20, percent = 1, hit = 0, seed = 2))
  long$planned_ns <- 25e7
  got <- quick_figure(rbind(short, long))
  expect_equal(attr(got, "n"), 20)
  expect_match(attr(got, "note"), "^short and long halves differ")
  expect_equal(got$value, 1, tolerance = 0.1)
  same <- masked(quick_halves(n = 20, hit = 0, seed = 2))
  same$planned_ns <- 25e7
  expect_equal(attr(quick_figure(rbind(short, same)), "n"), 120)
})

# A campaign with quick halves as launches write it: of 60 pairs the first 20 are undisturbed stretches,
# whose off halves are not there.
quick_campaign <- function(beyond_percent = 0, env = parent.frame()) {
  dir <- local_folder(env)
  simulate_agent_campaign(dir, pairs = 60, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                          slowdown_percent = 0, seed = 3)
  campaign <- read_campaign(dir, arms = "any")
  path <- campaign$paths[[1]]
  host <- as.character(campaign$agents$host[1])
  file <- file.path(path, "launch.json")
  info <- jsonlite::read_json(file)
  info$options[c("design", "half_period_ns", "long_half_ns", "block_ns")] <- list("quick", 25e6, 25e7, 1e9)
  info$rows <- 100
  jsonlite::write_json(info, file, auto_unbox = TRUE, null = "null", digits = NA)
  for (name in c("halves.csv", paste0("agent.", host, ".csv"))) {
    rows <- utils::read.csv(file.path(path, name), na.strings = "")
    first <- rows$pair %in% unique(rows$pair)[1:20]
    rows$planned_ns <- ifelse(first, 1e9, 25e6)
    rows <- rows[!(first & rows$arm == "off"), ]
    if (name == "halves.csv") halves <- rows
    data.table::fwrite(as_in_files(rows), file.path(path, name), na = "", scipen = 50)
  }
  trace <- file.path(path, paste0("bursts.", host, ".trace"))
  edit_lines(trace, function(lines) sub("^# origin:.*", "# origin_monotonic_ns: 0", lines))
  bursts <- read_bursts(trace)
  set.seed(1)
  blocks <- do.call(rbind, lapply(seq_len(nrow(halves)), function(i) {
    on <- halves$arm[i] == "on"
    ns <- round(
      2e5 * exp(rnorm(floor(0.95 * halves$wall_ns[i] / 2e5) - 10, 0, 0.01)) *
        if (on) 1 + beyond_percent / 100 else 1
    )
    for (at in bursts$start_ns[
      on & bursts$start_ns >= halves$start_ns[i] & bursts$start_ns < halves$start_ns[i] + halves$wall_ns[i]
    ]) {
      slice <- findInterval(at - halves$start_ns[i], cumsum(ns) - ns)
      ns[slice] <- ns[slice] + 5e5
    }
    slice_block(ns, pair = halves$pair[i], order = halves$order[i], start_ns = halves$start_ns[i],
                arm = as.integer(on))
  }))
  write_slices(file.path(path, paste0("slices.", host, ".bin")), campaign$launches[[1]]$launch, blocks, host)
  dir
}

delayedAssign("quick_launch", quick_campaign(env = globalenv()))

test_that(paste0("a launch with quick halves: bursts from undisturbed stretches, what lies beyond from the ",
                 "halves, one sentence"), {
  report <- agent_report(read_campaign(quick_launch, arms = "any"))
  answers <- report$answers
  expect_equal(answers[c("lead", "case")], data.frame(lead = "bursts", case = "agree"))
  # 0.5 ms each 100 ms
  expect_equal(answers$value, 0.5, tolerance = 0.05)
  expect_lt(answers$beyond_most, 0.1)
  expect_equal(report$accounts$seconds, sum(subset(report$campaign$rows, planned_ns == 1e9)$wall_ns) / 1e9)
  expect_match(
    answer_sentences(report$analysis)[1],
    paste0("^collectd at 100 ms slows barrier by 0.50[0-9]* % .*, through its bursts; other effects are ",
           "below 0.0[0-9]+ % either way.$")
  )
  more <- agent_report(read_campaign(quick_campaign(1), arms = "any"))$answers
  expect_equal(more$case, "more")
  expect_equal(more$value, 1.5, tolerance = 0.05)
  expect_true(more$beyond_low < 1 && more$beyond_high > 1)
})

test_that(paste0("bursts on record in quick halves alone are none that nobody saw: no pass by them, and no ",
                 "sentence that it never ran"), {
  dir <- quick_campaign()
  campaign <- read_campaign(dir, arms = "any")
  stretches <- subset(campaign$rows, planned_ns == 1e9)
  edit_lines(
    list.files(dir, "^bursts.*trace$", recursive = TRUE, full.names = TRUE),
    function(lines) {
      start <- suppressWarnings(as.numeric(sub("\t.*", "", lines)))
      lines[
        !vapply(start,
                function(s) any(s >= stretches$start_ns - 1e6 & s < stretches$start_ns + stretches$wall_ns),
                NA) %in% TRUE
      ]
    }
  )
  report <- agent_report(read_campaign(dir, arms = "any"), margin = 1)
  answers <- report$answers
  expect_equal(answers$n_bursts, 0)
  expect_gt(answers$n_seen, 10)
  expect_equal(answers$margin_verdict, "inconclusive")
  # watched is what nothing disturbed, not the quick halves
  expect_equal(answers$watched_s, sum(stretches$wall_ns) / 1e9)
  expect_gt(answers$high, unseen_percent(answers$watched_s, 0.005))
  expect_match(answer_sentences(report$analysis)[1], "ran on a rank's CPU only in short segments")
  expect_no_match(paste(answer_sentences(report$analysis), collapse = " "), "did not run on a rank's CPU")
})

test_that("short segments without a record of bursts pass no margin, however large", {
  dir <- quick_campaign()
  unlink(list.files(dir, "^bursts.*trace$", recursive = TRUE, full.names = TRUE))
  report <- agent_report(read_campaign(dir, arms = "any"), margin = 50)
  expect_equal(report$answers$state, "unrecorded")
  expect_equal(
    report$analysis$margin_answer,
    list(answer = "inconclusive",
         reason = "its bursts are not known, and those that come seldom are hardly seen")
  )
})

test_that("a launch cut short before an undisturbed stretch is read all the same", {
  campaign <- read_campaign(quick_launch, arms = "any")
  campaign$rows <- campaign$rows[campaign$rows$planned_ns < 1e9, ]
  campaign$agents <- campaign$agents[campaign$agents$planned_ns < 1e9, ]
  report <- agent_report(campaign)
  expect_equal(report$answers$lead, "on/off")
  expect_match(paste(unlist(agent_view(report, "there")), collapse = " "), "by on/off")
})

test_that("what others touch in one half of a pair is left out of both, unless they come with the agent", {
  # 1.5 ms in every other pair, as often with the agent as without
  x <- quick_halves(n = 60, percent = 0.5, hit = 0)
  rows <- c(which(x$blocks$arm == "on")[1:15], which(x$blocks$arm == "off")[31:45])
  others <- do.call(rbind, lapply(rows, function(i) {
    at <- x$blocks$first[i] + 20
    data.frame(start_ns = x$blocks$start_ns[i] + sum(x$ns[x$blocks$first[i]:(at - 1)]) + 1e4,
               duration_ns = 1.5e6)
  }))
  for (i in rows) x$ns[x$blocks$first[i] + 20] <- x$ns[x$blocks$first[i] + 20] + 1.5e6
  left_out <- function(x, others) masked_pairs(x$blocks, x$ns, x$bursts, 5e5, others)
  expect_lt(stats::sd(left_out(x, others)$raw), 0.2 * stats::sd(left_out(x, NULL)$raw))
  expect_equal(mean(left_out(x, others)$raw), log(1.005), tolerance = 0.2)
  expect_equal(sum(left_out(x, others)$kept < 1), 30)
  # all of them with the agent: its doing
  with <- others[1:15, ]
  expect_equal(left_out(x, with), left_out(x, NULL))
})
