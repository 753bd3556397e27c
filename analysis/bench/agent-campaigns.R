# What noiselab analyze agent says of whole campaigns of known machines: files as launches write them, whose
# times come from the machine below, which shares nothing with the analysis. The agent works by the clock of
# the wall: what is due while it is frozen begins when it goes on, and a burst that is not done when it is
# frozen is done in its next halves. Part of make bench-stats (agent).

# Bursts: when they are due, and how long each is, ns; `margin`: percent, which is below the truth, so that a
# pass is wrong. `others`: points by which the share of CPU time that other tasks take is larger with the
# agent (it costs nothing here); `percent`: what the agent costs beside its bursts; `sd`: of the logarithm of
# a half's time.
campaign_cells <- list(
  "50 ms every 20 s" = list(design = "quick", seconds = 60, gap_s = 20, ns = 5e7, percent = 0, others = 0,
      sd = 0.012, margin = 0.25),
  "20 ms every 6 s" = list(design = "quick", seconds = 60, gap_s = 6, ns = 2e7, percent = 0, others = 0,
      sd = 0.012, margin = 0.32),
  "30 ms every 40 s" = list(design = "quick", seconds = 90, gap_s = 40, ns = 3e7, percent = 0, others = 0,
      sd = 0.012, margin = 0.07),
  "1 % and 0.35 points of others" = list(design = "lockin", pairs = 200, gap_s = Inf, ns = 0, percent = 1,
      others = 0.35, sd = 0.0025 / sqrt(2), margin = 1),
  "0.6 % and -0.4 points of others" = list(design = "lockin", pairs = 120, gap_s = Inf, ns = 0, percent = 0.6,
      others = -0.4, sd = 0.003, margin = 0.6)
)

campaign_truth <- function(cell) {
  share <- cell$ns / 1e9 / cell$gap_s
  100 * ((1 + share / (1 - share)) * (1 + cell$percent / 100) - 1)
}

# Segments in the order of time: arm, pair, planned length, ns.
campaign_plan <- function(cell) {
  pair <- function(planned) {
    arms <- if (stats::runif(1) < 0.5) c("on", "off") else c("off", "on")
    data.frame(arm = arms, order = 0:1, planned = planned)
  }
  parts <- if (cell$design == "lockin") lapply(seq_len(cell$pairs), function(i) pair(2e8)) else {
    # a second that nothing disturbs, then 24 short pairs and a long one
    unlist(lapply(seq_len(round(cell$seconds / 3.1)), function(i) {
      c(list(data.frame(arm = "on", order = 0, planned = 1e9)), lapply(sample(rep(c(25e6, 25e7), c(24, 1))),
          pair))
    }), recursive = FALSE)
  }
  for (i in seq_along(parts)) parts[[i]]$pair <- i - 1
  do.call(rbind, parts)
}

# The machine: for each segment its slices (of 0.2 ms of work), and the bursts on record.
campaign_run <- function(plan, cell) {
  switch_ns <- 8e6
  now <- 1e8
  gap_ns <- function() if (is.finite(cell$gap_s)) stats::rexp(1, 1e-9 / cell$gap_s) else Inf
  due <- now + gap_ns()
  left <- 0 # of a burst that was frozen
  bursts <- list()
  slices <- vector("list", nrow(plan))
  start <- wall <- taken <- numeric(nrow(plan))
  for (i in seq_len(nrow(plan))) {
    on <- plan$arm[i] == "on"
    start[i] <- now
    speed <- exp(stats::rnorm(1, 0, cell$sd)) * if (on) 1 + cell$percent / 100 else 1
    ns <- 2e5 * speed * exp(stats::rnorm(round(plan$planned[i] / 2e5), 0, 0.01))
    # no half lasts longer than twice its time
    ends <- now + 2 * plan$planned[i]
    if (on) repeat {
      from <- if (left > 0) now else due
      if (from >= min(now + sum(ns), ends)) break
      work <- if (left > 0) left else cell$ns
      done <- min(work, ends - max(from, now))
      at <- findInterval(max(from, now) - now, c(0, cumsum(ns)), all.inside = TRUE)
      ns[at] <- ns[at] + done
      bursts[[length(bursts) + 1]] <- c(max(from, now), done)
      taken[i] <- taken[i] + done
      left <- work - done
      if (due <= from) due <- max(from, due) + gap_ns()
      if (left > 0) break
    }
    kept <- cumsum(ns) <= 2 * plan$planned[i] + 1
    ns <- round(ns[kept])
    slices[[i]] <- ns
    wall[i] <- if (all(kept)) sum(ns) + 2e4 else 2 * plan$planned[i]
    now <- now + wall[i] + switch_ns
  }
  list(slices = slices, start = round(start), wall = round(wall), taken = round(taken),
       bursts = round(do.call(rbind, c(list(matrix(0, 0, 2)), bursts))))
}

# Files of such a campaign, in `dir`, from those of a launch that is like it in everything but times.
write_campaign <- function(dir, template, cell) {
  plan <- campaign_plan(cell)
  run <- campaign_run(plan, cell)
  dir.create(dir)
  file.copy(list.files(template, full.names = TRUE), dir, recursive = TRUE)
  path <- list.dirs(dir, recursive = FALSE)[1]
  host <- sub("^agent\\.(.*)\\.csv$", "\\1", list.files(path, "^agent\\..*csv$"))[1]
  n <- nrow(plan)
  on <- plan$arm == "on"
  others <- round(run$wall * pmax(0, 0.01 + stats::rnorm(n, 0, 0.001) + on * cell$others / 100))
  operations <- 500 * pmax(1, lengths(run$slices))
  for (name in c("halves.csv", paste0("agent.", host, ".csv"))) {
    had <- utils::read.csv(file.path(path, name), na.strings = "")
    rows <- had[match(plan$arm, had$arm), ]
    rows[c("pair", "order", "arm", "start_ns", "wall_ns")] <- list(plan$pair, plan$order, plan$arm, run$start,
        run$wall)
    if (name == "halves.csv") {
      rows[c("planned_ns", "operations", "preempted_ns_max", "preempted_ns_sum")] <- list(plan$planned,
          operations, run$taken + others, run$taken + others)
      rows$delivered_ns <- ifelse(on, run$taken, 0)
      rows$level_delivered_percent <- ifelse(on, 100 * run$taken / run$wall, 0)
    } else {
      rows[c("agent_cpu_ns", "agent_on_ranks_ns", "preempted_by_agent_ns")] <- run$taken
      rows[c("others_on_ranks_ns", "preempted_by_others_ns")] <- others
      rows$preempted_ns <- run$taken + others
    }
    data.table::fwrite(rows, file.path(path, name), na = "", scipen = 50)
  }
  writeLines(c("# source: cpu", "# origin_monotonic_ns: 0", paste("# host:", host), "# lost: 0",
      "# start_ns\tduration_ns\tcpu\tkind\ttask",
               sprintf("%.0f\t%.0f\t1\t-\tcollectd", run$bursts[, 1], run$bursts[,
                   2])), file.path(path, paste0("bursts.", host, ".trace")))
  info <- jsonlite::read_json(file.path(path, "launch.json"))
  if (cell$design == "quick") {
    info$options[c("design", "half_period_ns", "long_half_ns", "block_ns")] <- list("quick", 25e6, 25e7, 1e9)
  }
  info$rows <- n
  jsonlite::write_json(info, file.path(path, "launch.json"), auto_unbox = TRUE, null = "null", digits = NA)
  blocks <- do.call(rbind, lapply(seq_len(n), function(i) {
    slice_block(run$slices[[i]], pair = plan$pair[i], order = plan$order[i], start_ns = run$start[i],
        arm = as.integer(on[i]))
  }))
  write_slices(file.path(path, paste0("slices.", host, ".bin")), info$launch, blocks, host)
}

campaign_outcome <- function(name, template, seed) {
  cell <- campaign_cells[[name]]
  set.seed(seed)
  dir <- tempfile("campaign")
  on.exit(unlink(dir, recursive = TRUE))
  write_campaign(dir, template, cell)
  out <- file.path(dir, "answer.json")
  said <- utils::capture.output(
    status <- run_program("noiselab-analyze", c("agent", dir, "--margin", sprintf("%.6g", cell$margin),
        "--json", "--out", out)), type = "message"
  )
  if (!file.exists(out)) stop(name, ", seed ", seed, ": status ", status, ": ", paste(said, collapse = " "))
  c(n = 1, wrong_pass = status == 0, failed = status == 1, inconclusive = status == 3)
}

agent_campaigns <- function(n) {
  cat("Whole campaigns with an agent: a pass is wrong where the margin is not above the truth\n")
  cells <- data.frame(cell = names(campaign_cells), margin = vapply(campaign_cells, `[[`, 0, "margin"),
                      truth = vapply(campaign_cells, function(cell) signif(campaign_truth(cell), 4), 0))
  in_cells("agent-campaigns.csv", n, cells, function(cell) {
    template <- tempfile("template")
    simulate_agent_campaign(template, pairs = 3, operations = "barrier", bytes = 0, slowdown_percent = 0,
        others = TRUE, seed = 1)
    function(seed) campaign_outcome(cell$cell, template, seed)
  }, function(cell, sums) {
    share(cell$cell, hits_of(sums[["wrong_pass"]], sums[["n"]]), "wrong", " pass")
    if (campaign_truth(campaign_cells[[cell$cell]]) <= campaign_cells[[cell$cell]]$margin) {
      share(cell$cell, hits_of(sums[["failed"]], sums[["n"]]), "wrong", " fail")
    }
  })
}
