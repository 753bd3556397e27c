# What an agent costs many nodes, who works on its behalf, and that one screen, JSON and tables do not
# contradict each other.

scale_campaign <- function(env = parent.frame(), ...) {
  dir <- local_folder(env)
  simulate_agent_campaign(dir, pairs = 60, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                          slowdown_percent = 0.5, seed = 3, ...)
  add_agent_slices(dir, 500)
}

delayedAssign("with_bursts", scale_campaign(globalenv()))

one_line <- function(lines) gsub(" +", " ", paste(lines, collapse = " "))

test_that(paste0("a margin of many nodes is judged at that size, repeated in words, and the interval that ",
                 "keeps it is named"), {
  coarse_walks()
  judged <- function(margin, ...) {
    status_of("noiselab-analyze", "agent", with_bursts, "--margin", margin, ...)
  }
  fail <- judged("1%:nodes=1000,every=1ms")
  expect_equal(fail$status, 1L)
  expect_match(
    one_line(fail$out),
    paste0("Margin of 1 % on 1,000 nodes that synchronise every 1 ms: fail, its bursts alone cost [0-9.]+ % ",
           "\\([0-9.]+ to [0-9.]+\\)")
  )
  expect_match(
    one_line(fail$out),
    paste0("with samples [0-9.]+ (ms|s|min) apart it would stay below\\.|no interval up to a day is shown ",
           "to stay below\\.")
  )
  expect_no_match(one_line(fail$out), "Margin of 1 %:")
  expect_lte(length(fail$out), 24)
  json <- jsonlite::fromJSON(paste(judged("1%:nodes=1000,every=1ms", "--json")$out, collapse = "\n"))
  expect_equal(
    json[c("margin_percent", "margin_nodes", "margin_every_ns", "margin_answer", "margin_words")],
    list(margin_percent = 1, margin_nodes = 1000, margin_every_ns = 1e6, margin_answer = "fail",
         margin_words = "1 % on 1,000 nodes that synchronise every 1 ms")
  )
  expect_gt(json$margin_low_percent, 1)
  expect_gt(json$margin_slowdown_percent, json$margin_low_percent)
  expect_true(any(grepl("^Margin of 1 % on 1,000 nodes", json$sentences)))
  # twelve seconds of record bound no rare bursts on a thousand nodes
  open <- judged("100%:nodes=1000,every=1ms")
  expect_equal(open$status, 3L)
  expect_match(one_line(open$out),
               "Margin of 100 % on 1,000 nodes that synchronise every 1 ms: inconclusive, its bursts cost ")
  # whoever knows that none is longer than 1 ms promises more by the same record, and the answer says by what
  passes <- lapply(c("", ",unseen=1ms"), function(unseen) {
    got <- judged(paste0("400%:nodes=2,every=100ms", unseen), "--json")
    c(jsonlite::fromJSON(paste(got$out, collapse = "\n")), status = got$status)
  })
  for (i in 1:2) {
    expect_equal(passes[[i]]$status, 0L)
    words <- paste0(
      "pass, at most [0-9.]+ % with bursts that were not seen and other effects \\(if no burst is longer ",
      "than ",
      c("50 ms", "1 ms")[i],
      "\\)\\."
    )
    expect_match(passes[[i]]$sentences,
                 paste0("Margin of 400 % on 2 nodes that synchronise every 100 ms: ", words), all = FALSE)
  }
  expect_equal(c(passes[[1]]$margin_unseen_ns, passes[[2]]$margin_unseen_ns), c(5e7, 1e6))
  expect_lt(passes[[2]]$margin_high_percent, passes[[1]]$margin_high_percent / 1.2)
  # not run beside a program: its step has to be said
  refused <- judged("1%:nodes=1000")
  expect_equal(refused$status, 2L)
  expect_match(refused$err, "does not say how often the nodes synchronise (try 1%:nodes=1000,every=1ms)",
               fixed = TRUE)
})

test_that("beside a program its own step counts: one iteration, as long as it takes without the agent", {
  coarse_walks()
  campaign <- list(
    launches = list(list(follows = list(beat = "MPI_Allreduce"))),
    rows = data.frame(arm = c("off", "off", "on"), wall_ns = c(1e9, 3e9, 9e9), operations = c(100, 100, 100))
  )
  got <- with_own_step(margin_request("2%:nodes=64", step_known = TRUE), campaign)
  expect_equal(got$every_s, 0.02)
  expect_equal(got$words, "2 % on 64 nodes that synchronise as often as the program does, every 20 ms")
})

test_that(paste0("where more was found beyond its bursts the line at scale says at least, and no margin of ",
                 "many nodes is passed"), {
  coarse_walks()
  report <- agent_report(read_campaign(with_bursts, arms = "any"),
                         scale_margin = margin_request("400%:nodes=2,every=100ms"))
  expect_true(is.na(scale_of_agent(report)$reason))
  expect_equal(report$scale_answer$answer, "pass")
  report$behalf <- data.frame(p_holm = 1e-6)
  report$kept <- new.env()
  # who works on its behalf comes before what it used itself
  named <- utils::modifyList(
    report,
    list(
      behalf = data.frame(group = "others", percent = 2, low = 1.9, high = 2.1, p_holm = 1e-6,
                          tasks = "daemon")
    )
  )
  said <- report_sentences(named)
  expect_lt(grep("^On behalf of collectd other tasks take 2", said), grep("^Scheduler records show", said))
  expect_match(scale_of_agent(report)$reason, "^at least")
  expect_match(scale_sentence(scale_of_agent(report), "x"), "at least [0-9.]+ % slower")
  expect_equal(scale_margin_answer(report)$answer, "inconclusive")
  expect_match(scale_margin_answer(report)$reason, "what was found beyond them is not projected")
})

# A campaign of 40 pairs in memory; `more`: percent of a CPU that others take more of with the agent.
beside_daemon <- function(seed, more) {
  set.seed(seed)
  n <- 40
  rows <- data.frame(launch = "L", host = "n1", operation = "barrier", bytes = 0,
                     pair = rep(seq_len(n), each = 2), order = rep(1:2, n),
                     arm = as.vector(vapply(seq_len(n), function(i) sample(c("off", "on")), c("", ""))),
                     wall_ns = 1e9)
  rows$kind <- ifelse(rows$arm == "on", "asker", "off")
  rows$level_requested_percent <- ifelse(rows$arm == "on", Inf, 0)
  rows$start_ns <- 1e9 * seq_len(2 * n)
  on <- rows$arm == "on"
  rows[taken_parts] <- 0
  rows$preempted_by_others_ns <- stats::rgamma(2 * n, 4, 4 / 5e6) +
    ifelse(on, more * 1e7 * stats::rgamma(2 * n, 9, 9), 0)
  rows$preempted_by_kernel_ns <- stats::rgamma(2 * n, 2, 2 / 1e6)
  rows$preempted_ns <- rows$preempted_by_others_ns + rows$preempted_by_kernel_ns
  rows[c("agent_on_ranks_ns", "others_on_ranks_ns")] <- 0
  task <- function(arm, name, group, ns) {
    data.frame(launch = "L", host = "n1", source = "cpu", arm = arm,
               kind = if (arm == "on") "asker" else "off",
               level_requested_percent = if (arm == "on") Inf else 0, cpu = 0, task = name, group = group,
               bursts = 100, cpu_ns = NA_real_, wall_ns = ns, p50_ns = 1e4, p90_ns = 1e4, p99_ns = 1e4,
               max_ns = 1e4, threads = 1)
  }
  tasks <- rbind(task("on", "daemon", "other", more * 4e8 + 1e6), task("off", "daemon", "other", 1e6),
                 task("on", "cron", "other", 1e8), task("off", "cron", "other", 1e8),
                 task("on", "kworker", "kernel", 1e7), task("off", "kworker", "kernel", 1e7))
  list(agents = rows, tasks = tasks, launches = list(L = list(options = list(design = "blocks"))))
}

test_that("what other tasks do more of with the agent is named as done on its behalf, and chance seldom is", {
  coarse_walks()
  got <- on_its_behalf(beside_daemon(1, 2))
  hit <- got[got$p_holm <= 0.01, ]
  expect_equal(hit[c("group", "tasks")], data.frame(group = "others", tasks = "daemon"))
  expect_true(hit$low < 2 && 2 < hit$high)
  expect_match(
    behalf_words(got, "asker"),
    paste0("^On behalf of asker other tasks take [0-9.]+ % \\([0-9.]+ to [0-9.]+\\) of one CPU \\(daemon\\) ",
           "more from the ranks while it is on\\.$")
  )
  false <- vapply(1:100,
                  function(seed) !is.null(behalf_words(on_its_behalf(beside_daemon(seed, 0)), "asker")), TRUE)
  expect_lte(sum(false), qbinom(0.999, 100, 0.01))
  expect_null(on_its_behalf(list(agents = data.frame(), launches = list())))
})

test_that("an agent that commands switch, or that is only scraped, is given no bursts of those commands", {
  coarse_walks()
  for (way in c("switch", "scrape")) {
    dir <- local_folder()
    file.copy(list.files(with_bursts, full.names = TRUE), dir, recursive = TRUE)
    for (file in list.files(dir, "^launch.json$", recursive = TRUE, full.names = TRUE)) {
      info <- jsonlite::read_json(file)
      info$agents[[1]]$way <- way
      jsonlite::write_json(info, file, auto_unbox = TRUE, null = "null", digits = NA)
    }
    said <- one_line(status_of("noiselab-analyze", "agent", dir)$out)
    expect_match(said, "which tasks are the agent's is not known")
    expect_no_match(said, "it runs on|On 1,000 nodes|preempts|never ran|did not run|through its bursts")
  }
})

test_that("scrapes that took longer than their period are in the headline with what was really done", {
  coarse_walks()
  campaign <- function(scrapes, left_out) {
    list(
      launches = list(list(
        options = list(agent_period_ns = 2.5e8),
        agents = list(list(
          scraper = list(period_ns = 2.5e8, scrapes = scrapes, failed = 0, left_out = left_out)
        ))
      ))
    )
  }
  # 700 ms each at a period of 250 ms: every third is made
  expect_equal(agent_title("exporter", campaign(40, 80)),
               "exporter, scraped every 750 ms on average (asked for: every 250 ms),")
  expect_equal(agent_title("exporter", campaign(240, 3)), "exporter at 250 ms")
  expect_equal(
    agent_title(
      "exporter",
      list(
        launches = list(list(options = list(agent_period_ns = 2.5e8), agents = list(list(scraper = NULL))))
      )
    ),
    "exporter at 250 ms"
  )
})

test_that("an interval that tells nothing is words, and what has no end is never a number", {
  coarse_walks()
  expect_equal(percent_words(-98.1, -Inf, Inf), "a figure that has no upper end")
  expect_equal(percent_words(41, 12.5, Inf), "at least 12.5 %")
  expect_equal(percent_words(-0.281, -13.7, 15.2), "0 % (-14 to 15)")
  expect_equal(c(plain(Inf), format_effect(-Inf), three(Inf)), c("open", "open", "open"))
  analysis <- list(
    campaign = list(launches = list(),
                    rows = data.frame(arm = "off", preempted_ns_sum = 9e8, wall_ns = 1e9, ranks = 2))
  )
  row <- data.frame(kind = "X", operation = "barrier", bytes = 0, ranks = 2, case = "alone", value = -13.6,
                    low = -68.6, high = 211, found = FALSE, limit = 892, state = "unrecorded",
                    reason = no_records, whole = -13.6, whole_low = -68.6, whole_high = 211,
                    whole_reason = NA_character_, alpha = 0.01, by_quick = FALSE, beyond_most = NA_real_)
  said <- answer_words_of_agents(row, analysis)
  expect_match(
    said[1],
    paste0("^By time nothing can be told of barrier with X: the machine was too busy \\(other tasks held ",
           "the ranks' CPUs 45 % of the time without it\\)\\.$")
  )
  expect_no_match(paste(said, collapse = " "), "892|211|Inf")
})

# What one screen says, as figures: of the first sentence, the table and JSON; and claims that exclude each
# other.
test_that("one screen does not contradict itself, and JSON's main row is the headline's figure", {
  coarse_walks()
  few <- local_folder()
  simulate_agent_campaign(few, pairs = 12, operations = "barrier", bytes = 0, agent_burst_ns = 2e5,
                          agent_period_ns = 2.9e9, slowdown_percent = 0, seed = 5)
  several <- local_folder()
  simulate_agent_campaign(several, pairs = 12, operations = c("barrier", "allreduce", "alltoall"), bytes = 8,
                          agent_burst_ns = 5e5, slowdown_percent = 0.5, seed = 4)
  dirs <- list(with_bursts, short = add_agent_slices(few, 200),
               local_agent(pairs = 30, agent_burst_ns = 1e6, seed = 2), add_agent_slices(several, 500),
               local_agent(pairs = 12, source = "thread"))
  for (dir in dirs) {
    report <- agent_report(read_campaign(dir, arms = "any"))
    screen <- status_of("noiselab-analyze", "agent", dir)$out
    text <- one_line(screen)
    expect_lte(length(screen), 24)
    expect_lte(max(nchar(screen)), 100)
    # both commands for one of them: they take the answers from one function
    for (command in c(list("agent"), if (identical(dir, dirs[[1]])) list(character()))) {
      json <- jsonlite::fromJSON(paste(status_of("noiselab-analyze", command, dir, "--json")$out,
                                       collapse = "\n"))
      main <- subset(json$estimates,
                     main & channel %in% "time" & is.na(level_requested_percent) & !is.na(value))
      answers <- report$answers
      expect_equal(main$quantity, rep("slowdown_percent", nrow(answers)))
      expect_equal(main$value, answers$value, tolerance = 1e-6)
      expect_equal(main$ci_low, answers$low, tolerance = 1e-6)
      for (i in seq_len(nrow(answers))) {
        expect_match(text, percent_words(answers$value[i], answers$low[i], answers$high[i]), fixed = TRUE)
      }
      beside <- subset(json$estimates, grepl("^slowdown", quantity) & !quantity %in% "slowdown_percent")
      expect_false(any(beside$main))
    }
    # no burst is told of whom never ran, and none is unseen that the account has
    never <- grepl("did not run on a rank's CPU|it never ran", text)
    expect_false(never && grepl("it runs on", text))
    used <- report$accounts$on_ranks_percent
    if (grepl("was detected; [0-9.]+ % of one CPU would have been detected", text) && isTRUE(max(used) > 0)) {
      expect_match(text, "it runs on the ranks' CPUs for")
    }
    if (grepl("through its bursts", text)) {
      expect_match(text, "Projection for 1,000 nodes synchronising every 1 ms: ")
    }
  }
})

test_that(paste0("a campaign that was asked of many nodes is answered so by its analysis and its report, ",
                 "whose first box is the first screen"), {
  coarse_walks()
  dir <- scale_campaign()
  id <- list.files(dir)
  writeLines(
    c("# schema: 1", "# experiment: agent", "# margin_percent: 1%:nodes=1000,every=1ms",
      "launch\tset\tnodes\tranks\twords", paste(id, 1, "-", 2, "-", sep = "\t")),
    file.path(dir, "schedule.tsv")
  )
  said <- status_of("noiselab-analyze", "agent", dir)
  # the status answers only whoever asks here
  expect_equal(said$status, 0L)
  expect_match(one_line(said$out), "Margin of 1 % on 1,000 nodes that synchronise every 1 ms: fail")
  plain <- status_of("noiselab-analyze", dir)
  expect_equal(plain$status, 0L)
  expect_no_match(one_line(plain$out), "Margin of")
  report <- agent_report(read_campaign(dir, arms = "any"),
                         scale_margin = agent_margin("1%:nodes=1000,every=1ms"))
  analysis <- report$analysis
  analysis$scale_margin <- report$scale_margin
  analysis$agent <- agent_of(analysis)
  box <- report_answer(analysis)
  screen <- report_sentences(report)
  expect_equal(box, screen)
  for (sentence in box) {
    if (nchar(sentence) < 400 && !grepl("see noiselab project", sentence)) {
      expect_match(one_line(said$out), sentence, fixed = TRUE)
    }
  }
})

test_that("nothing passes by time of the ranks' CPUs that nobody accounts for", {
  coarse_walks()
  of <- function(percent, resolution = 0.1, blind = NULL) {
    list(
      launches = list(
        L = list(
          cpu_account = list(list(host = "n1", worst_cpu = list(cpu = 3L, unaccounted_percent = percent),
                                  resolution_percent = resolution, blind = blind))
        )
      )
    )
  }
  pass <- list(answer = "pass", reason = NA_character_)
  expect_equal(passes_accounted(pass, of(0.5), 1), pass)
  expect_equal(passes_accounted(pass, of(4, resolution = 5), 1), pass)
  expect_equal(passes_accounted(pass, list(launches = list(list())), 1), pass)
  open <- passes_accounted(pass, of(4, blind = "tasks of other users are hidden"), 1)
  expect_equal(
    open,
    list(answer = "inconclusive",
         reason = "4 % of CPU 3 of n1 is unaccounted for: tasks of other users are hidden")
  )
  fail <- list(answer = "fail", reason = "by its bursts")
  expect_equal(passes_accounted(fail, of(4), 1), fail)
})

# The campaign with bursts, beside tasks whose bursts on the ranks' CPUs are known: `each`: name and
# milliseconds in every half with the agent, and without.
with_others <- function(each, env = parent.frame()) {
  dir <- local_folder(env)
  file.copy(list.files(with_bursts, full.names = TRUE), dir, recursive = TRUE)
  for (file in list.files(dir, "^agent[.].*[.]csv$", recursive = TRUE, full.names = TRUE)) {
    rows <- utils::read.csv(file)
    set.seed(nchar(basename(dirname(file))))
    bursts <- bind_rows(lapply(names(each), function(name) {
      ms <- each[[name]][1 + (rows$arm == "off")]
      # one after the other, so that no two run at once on a CPU
      offset_ms <- 20 + 60 * match(name, names(each)) + stats::runif(nrow(rows), 0, 40)
      data.frame(start = round(rows$start_ns + 1e6 * offset_ms),
                 ns = round(1e6 * ms * stats::rgamma(nrow(rows), 100, 100)), name = name)[ms > 0, ]
    }))
    bursts <- bursts[order(bursts$start), ]
    writeLines(
      c("# not_kept: 0", "# lost: 0", "# origin_monotonic_ns: 5000000000000",
        sprintf("# span_ns: %.0f", max(rows$start_ns + rows$wall_ns)),
        sprintf("%.0f %.0f 0 spin %s", bursts$start, bursts$ns, bursts$name)),
      file.path(dirname(file), sub("^agent[.](.*)[.]csv$", "others.\\1.trace", basename(file)))
    )
  }
  dir
}

# Slowdown of `n` nodes that work `step_s` and wait for each other, percent; each node meets, at a place of
# its own, the bursts (`start`, `cost`, s) of a record of `span` seconds, again and again. A simulation of
# its own: queues of bursts in wall time.
barrier_loop <- function(bursts, span, n, step_s, steps, seed = 1) {
  set.seed(seed)
  nodes <- lapply(seq_len(n), function(i) {
    start <- sort((bursts$start + stats::runif(1, 0, span)) %% span)
    cost <- bursts$cost[order((bursts$start - bursts$start[which.min(bursts$start)]) %% span)]
    cost <- rep_len(cost, 3 * length(start))
    start <- c(start, start + span, start + 2 * span)
    end <- Reduce(function(before, at) max(before, start[at]) + cost[at], seq_along(start), 0,
                  accumulate = TRUE)[-1]
    list(start = pmax(start, c(0, end[-length(end)])), end = end)
  })
  finish <- function(node, t) {
    left <- step_s
    at <- findInterval(t, node$end) + 1
    repeat {
      if (at > length(node$start) || t + left <= node$start[at]) return(t + left)
      left <- left - max(0, node$start[at] - t)
      t <- node$end[at]
      at <- at + 1
    }
  }
  t <- 0
  for (step in seq_len(steps)) t <- max(vapply(nodes, finish, 0, t))
  100 * (t / (steps * step_s) - 1)
}

test_that(paste0("a worker driven by the agent is named with its share, and its bursts are projected; one ",
                 "that works anyway is neither"), {
  coarse_walks()
  # 200 ms halves: 4 ms are 2 % of a CPU; and a second machine with a worker that has work of its own, too
  machines <- list(list(each = list(worker = c(4, 0), cron = c(2, 2)), percent = 2),
                   list(each = list(helper = c(3, 1)), percent = 1))
  for (machine in machines) {
    machine$dir <- with_others(machine$each)
    report <- agent_report(read_campaign(machine$dir, arms = "any"))
    named <- behalf_named(report)
    expect_equal(unique(named$task), names(machine$each)[1])
    expect_true(all(named$low < machine$percent & machine$percent < named$high))
    expect_lt(max(named$high - named$low), 0.2 * machine$percent)
    said <- report_sentences(report)
    expect_match(
      said,
      sprintf(
        paste0("^On behalf of collectd, %s uses [0-9.]+ %% \\([0-9.]+ to [0-9.]+\\) of one CPU more on the ",
               "ranks' CPUs while it is on; the projection includes it\\.$"),
        named$task[1]
      ),
      all = FALSE
    )
    row <- scale_of_agent(report)
    expect_true(is.na(row$reason))
    expect_no_match(scale_sentence(row, "x"), "at least")
    # 50 nodes, 10 ms: the agent's bursts of 0.5 ms each 100 ms, and those on its behalf
    size <- margin_request("9999%:nodes=50,every=10ms")
    got <- size_figures(
      noise_of_campaign(report$campaign, records = records_with_behalf(report$campaign, named)), size, 0.01
    )
    alone <- size_figures(noise_of_campaign(report$campaign), size, 0.01)
    worker <- data.frame(start = seq(0.01, by = 0.2, length.out = 40), cost = machine$percent * 2e-3)
    agent <- data.frame(start = seq(0, by = 0.1, length.out = 80), cost = 5e-4)
    both <- rbind(worker, agent)
    truth <- mean(vapply(1:3, function(seed) barrier_loop(both[order(both$start), ], 8, 50, 0.01, 250, seed),
                         0))
    expect_true(got$low < truth * 1.1 && truth * 0.9 < got$high,
                label = sprintf("%.3g (%.3g to %.3g) for %.3g", got$percent, got$low, got$high, truth))
    expect_gt(got$low, alone$high)
    # noiselab project reads the same bursts, and says so
    asked <- status_of("noiselab-project", machine$dir, "--nodes", "50", "--every", "10ms", "--json")
    projected <- jsonlite::fromJSON(paste(asked$out, collapse = "\n"))
    expect_match(projected$notes,
                 paste("^On behalf of collectd.*,", named$task[1], "uses .*the projection includes it"),
                 all = FALSE)
    expect_gt(subset(projected$projections, phase == "independent")$ci_low, alone$high)
  }
  # what does not depend on the agent is never named, and adds nothing
  report <- agent_report(read_campaign(with_others(list(cron = c(4, 4))), arms = "any"))
  expect_equal(report$behalf_tasks$task[1], "cron")
  expect_null(behalf_named(report))
  expect_no_match(report_sentences(report), "On behalf of")
  plain <- scale_of_agent(agent_report(read_campaign(with_bursts, arms = "any")))$slowdown_percent
  expect_equal(scale_of_agent(report)$slowdown_percent, plain, tolerance = 0.05)
  # what found no room in the record is not guessed
  dir <- with_others(list(worker = c(4, 0)))
  edit_lines(list.files(dir, "^others", recursive = TRUE, full.names = TRUE)[1],
             function(lines) sub("not_kept: 0", "not_kept: 7", lines))
  expect_null(agent_report(read_campaign(dir, arms = "any"))$behalf_tasks)
})

test_that(paste0("of what a task does anyway as much is left out: bursts, where it has more of them, or a ",
                 "part of each"), {
  coarse_walks()
  bursts <- data.frame(start_ns = 1:1000, duration_ns = 10)
  more <- on_behalf(bursts, 0.5, 0.5)
  expect_equal(c(nrow(more), unique(more$duration_ns)), c(500, 10))
  expect_equal(max(diff(more$start_ns)), 2)
  longer <- on_behalf(bursts, 0.25, 0)
  expect_equal(c(nrow(longer), unique(longer$duration_ns)), c(1000, 2.5))
  both <- on_behalf(bursts, 0.3, 0.6)
  expect_equal(c(nrow(both), sum(both$duration_ns)), c(600, 3000))
  expect_equal(nrow(on_behalf(bursts[0, ], 1, 1)), 0)
  expect_equal(on_behalf(bursts, 1.2, 1), bursts)
})

test_that("threads of the kernel and other tasks are corrected apart, each at half of alpha", {
  # two of the kernel: 0.001 times 2, times 2 groups; three others: 0.001 times 3, times 2
  expect_equal(holm_by_group(c(0.001, 0.04, 0.001, 0.02, 0.9), c("kernel", "kernel", rep("others", 3))),
               c(0.004, 0.08, 0.006, 0.08, 1))
  # however many others there are, one of the kernel stays what it is
  expect_equal(holm_by_group(c(0.001, rep(0.5, 200)), c("kernel", rep("others", 200)))[1], 0.002)
  expect_equal(holm_by_group(numeric(), character()), numeric())
})

test_that(paste0("what the kernel's workers do on behalf of an agent is seen between short halves, too, and ",
                 "its size by undisturbed stretches where these are enough"), {
  coarse_walks()
  expect_equal(pool_of_task(c("kworker/u8:12", "kworker/1:0H", "kworker/0:3", "ksoftirqd/1", "cron:1")),
               c("kworker/u8", "kworker/1H", "kworker/0", "ksoftirqd/1", "cron:1"))
  # 60 pairs of 25 ms and `n` stretches of 1 s, each before some pairs; the worker has 1 % more with the agent
  quick <- function(seed, n, more = 1) {
    set.seed(seed)
    arms <- as.vector(vapply(1:60, function(i) sample(c("off", "on")), c("", "")))
    rows <- data.frame(launch = "L", host = "n1", operation = "barrier", bytes = 0,
                       pair = c(rep(1:60, each = 2), 60 + seq_len(n)), arm = c(arms, rep("on", n)),
                       start_ns = c(1e9 + 2.5e7 * (1:120), 1e9 + 2.5e7 * 120 * (seq_len(n) - 0.5) / n),
                       wall_ns = c(rep(2.5e7, 120), rep(1e9, n)))
    rows$kind <- ifelse(rows$arm == "on", "asker", "off")
    rows$level_requested_percent <- ifelse(rows$arm == "on", Inf, 0)
    list(rows = rows, on = 120 + seq_len(n), off = which(rows$arm == "off"), kind = "asker", is_quick = TRUE,
         ns = rows$wall_ns * (stats::rgamma(nrow(rows), 20, 2e4) + (rows$arm == "on") * more / 100))
  }
  account <- function(shift) {
    either_account(account_shift(shift, shift$ns), paired_shift(shift, shift$ns), 0.01)
  }
  few <- account(quick(1, 4))
  expect_lt(few$p_value, 1e-6)
  expect_true(few$low < 1 && 1 < few$high)
  shift <- quick(2, 12)
  many <- account(shift)
  expect_equal(many[c("percent", "low", "high")],
               shift_account(account_shift(shift, shift$ns), 0.01)[c("percent", "low", "high")])
  expect_lt(many$p_value, 1e-6)
  false <- vapply(1:200, function(seed) account(quick(seed, 12, 0))$p_value <= 0.01, TRUE)
  expect_lte(sum(false), stats::qbinom(0.999, 200, 0.01))
})
