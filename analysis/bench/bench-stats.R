# make bench-stats: do the verdicts hold what they state? Run:
#   NOISELAB_R_LIB=<library with noiselab> Rscript bench/bench-stats.R [campaigns] [simulated] [located]
#   [acceptance] [agent] [projection]
#   [advise] [placebo]
# Simulated campaigns with known truth, and placebo launches on this machine. Every
# figure stands beside its bound and its Monte Carlo standard error. `campaigns` is the number per shape: 2000
# take an hour or two on two cores with nothing else to do.
file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
here <- dirname(normalizePath(file))
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
# the parts of the package, of which it exports few
attach(asNamespace("noiselab"), name = "parts of noiselab", warn.conflicts = FALSE)
source(file.path(here, "..", "tests", "simulate.R"), chdir = TRUE)
RNGkind("L'Ecuyer-CMRG")
set.seed(20210105)
data.table::setDTthreads(1)
cores <- as.numeric(Sys.getenv("MC_CORES", max(1, min(2, parallel::detectCores(), na.rm = TRUE))))

alpha <- 0.01
power <- 0.95
both <- c(time = "time", preempted = "preempted")
missed <- 0

# ---- figures and bounds --------------------------------------------------------------------------

# One row per question asked of a share: its bounds, in percent.
bounds <- list(
  false_alarms = list(text = "false alarms", low = 0, high = 1.3),
  coverage = list(text = "interval covers", low = 97.5, high = 98.5),
  power = list(text = "detected", low = 93, high = 97),
  agent_covers = list(text = "interval covers", low = 97, high = 99),
  projection_covers = list(text = "interval holds", low = 97, high = 99.7),
  next_run = list(text = "holds the next run", low = 97, high = 99.5),
  wrong = list(text = "wrong", low = 0, high = 1),
  refused = list(text = "no upper end", low = 0, high = 30)
)

line <- function(name, value, wanted, holds) {
  cat(sprintf("  %-44s %15s  wanted %-13s %s\n", name, value, wanted, holds))
  if (startsWith(holds, "NO")) missed <<- missed + 1
}

# `hits`: one logical per campaign, NA where it has no answer.
share <- function(name, hits, kind, of = "") {
  if (!is.null(slice_rows)) {
    row <- list(figure = paste0(name, of), kind = kind, unknown = sum(is.na(hits)), n = sum(!is.na(hits)),
                hits = sum(hits, na.rm = TRUE))
    slice_rows <<- c(slice_rows, list(row))
    return(invisible())
  }
  bound <- bounds[[kind]]
  name <- paste0(name, ": ", bound$text, of, ", %")
  wanted <- if (bound$low == 0) {
    sprintf("<= %.3g", bound$high)
  } else {
    sprintf("%.4g to %.4g", bound$low, bound$high)
  }
  unknown <- sum(is.na(hits))
  hits <- hits[!is.na(hits)]
  n <- length(hits)
  if (n == 0) return(skip(name, "no campaign has an answer"))
  percent <- 100 * mean(hits)
  # a share of 0 or 1 has an error, too: one hit and one miss are added
  smoothed <- (sum(hits) + 1) / (n + 2)
  error <- 100 * sqrt(smoothed * (1 - smoothed) / n)
  beyond <- max(bound$low - percent, percent - bound$high)
  at <- if (percent < bound$low) bound$low else bound$high
  holds <- if (beyond <= 0) {
    "yes"
  } else if (beyond <= 2 * sqrt(at * (100 - at) / n)) {
    "within MC error"
  } else {
    "NO"
  }
  if (unknown > 0) holds <- sprintf("%s (%d of %d without an answer)", holds, unknown, n + unknown)
  line(name, sprintf("%.2f +- %.2f", percent, error), wanted, holds)
}

# Campaigns are simulated in slices, each of which adds rows to docs/evidence/FILE; what is printed are the
# sums of all its rows that `is_mine` picks, and no campaign is drawn twice: a run that was ended goes on.
# `counted`: campaigns that rows have; `draw`: from the numbers of a slice's campaigns to its lines.
# MINUTES: no further slice after these; SLICE (100): campaigns.
slice_size <- as.numeric(Sys.getenv("SLICE", "100"))
last_slice <- Sys.time() + as.numeric(Sys.getenv("MINUTES", "1e6")) * 60
version <- packageDescription("noiselab")$Version

# A value as a file has it.
field <- function(x) if (is.character(x)) x else format_count(x)

rows_of <- function(file) {
  utils::read.csv(file.path(here, "..", "..", "docs", "evidence", file), comment.char = "#")
}

in_evidence <- function(file, n, is_mine, counted, draw) {
  repeat {
    rows <- rows_of(file)
    rows <- rows[is_mine(rows), ]
    done <- counted(rows)
    if (done >= n || Sys.time() > last_slice) return(rows)
    lines <- draw(done + seq_len(min(slice_size, n - done)))
    cat(paste0(lines, "\n"), sep = "", file = file.path(here, "..", "..", "docs", "evidence", file),
        append = TRUE)
  }
}

# A row per figure of a shape, of earlier versions, too: rows of an analysis that gave other verdicts have
# to go. `do`: from campaigns' numbers to shares.
slice_rows <- NULL # of the slice under way: figures, and their counts
is_last_pass <- TRUE # what is known is printed

in_slices <- function(shape, n, do) {
  if (is_last_pass) title("%s", shape) else fresh_seeds()
  shape <- gsub(",", ";", shape)
  rows <- in_evidence(
    "verdicts.csv",
    n,
    function(rows) rows$shape == shape,
    function(rows) max(0, rows$first + rows$campaigns - 1),
    function(numbers) {
      slice_rows <<- list()
      do(numbers)
      lines <- vapply(
        slice_rows,
        function(row) {
          paste(
            c(shape, row$figure, row$kind, numbers[1], length(numbers), row$unknown, row$n, row$hits, version,
              format(Sys.Date())),
            collapse = ","
          )
        },
        ""
      )
      slice_rows <<- NULL
      lines
    }
  )
  if (!is_last_pass) return(invisible())
  for (mine in split(rows, factor(paste(rows$figure, rows$bound), unique(paste(rows$figure, rows$bound))))) {
    share(mine$figure[1], c(hits_of(sum(mine$hits), sum(mine$n)), rep(NA, sum(mine$unknown))), mine$bound[1])
  }
}

# A row per slice of each row of `cells`, of this version. `outcome`: of a cell, a function from a seed to
# named numbers, of which rows hold the sums; `show` gets a cell and all of its sums. CELLS: a regular
# expression.
in_cells <- function(file, n, cells, outcome, show) {
  columns <- names(rows_of(file))
  key_of <- function(rows) {
    do.call(
      paste,
      lapply(rows[names(cells)], function(x) {
        if (is.character(x)) x else format_count_each(x)
      })
    )
  }
  cells <- cells[grepl(Sys.getenv("CELLS"), key_of(cells)), ]
  for (cell in split(cells, seq_len(nrow(cells)))) {
    draw <- NULL
    had <- in_evidence(
      file,
      n,
      function(rows) rows$version == version & key_of(rows) == key_of(cell),
      function(rows) sum(rows$n),
      function(seeds) {
        draw <<- draw %||% outcome(cell)
        sums <- colSums(do.call(rbind, each(seeds, draw)), na.rm = TRUE)
        row <- c(list(date = format(Sys.Date()), version = version, first = seeds[1]), cell, signif(sums, 6))
        paste(vapply(row[columns], field, ""), collapse = ",")
      }
    )
    if (nrow(had) > 0) show(cell, colSums(had[setdiff(columns, c("date", "version", "first", names(cells)))]))
  }
}

# `hits` of `of` campaigns.
hits_of <- function(hits, of) rep(c(TRUE, FALSE), c(hits, max(0, of - hits)))

skip <- function(name, why) cat(sprintf("  %-44s skipped: %s\n", name, why))

# ---- simulated campaigns -------------------------------------------------------------------------

# The noise of a machine within one launch. Halves of 10 ms, 60 pairs; the load costs nothing beyond itself.
pairs <- 60
shapes <- list(
  "white noise" = list(noise = "white"),
  "AR(1) wander" = list(noise = list(ar1 = list(sd = 0.004, phi = 0.98), white = list())),
  "1/f wander" = list(noise = list(one_over_f = list(sd = 0.006, exponent = 1.2), white = list(sd = 0.002))),
  "linear drift" = list(noise = list(drift = list(percent_per_s = 8), white = list())),
  "lognormal spikes" = list(
    noise = list(lognormal = list(rate = 0.3, median_ns = 3e4, sd_log = 1.5), white = list())
  ),
  "Pareto 1.5 in every half" = list(noise = list(pareto = list(rate = 1, scale_ns = 5e3), white = list())),
  "rare Pareto 1.5" = list(
    noise = list(ar1 = list(), pareto = list(rate = 0.02, scale_ns = 5e4), white = list())
  ),
  "periodic agent" = list(
    noise = list(agent = list(period_s = 0.137, duty = 0.1, amplitude = 0.3), white = list())
  )
)

# What a campaign of several launches is like; `unset`: nobody knows which launches ran side by side.
launch_shapes <- list(
  "10 launches with effects of their own" = list(
    launches = 10, pairs = 20, launch_sd = 0.004, base_sd = 0.02, noise = c("ar1", "white"), null_level = 1,
    unset = FALSE
  ),
  "randomised launches, 10 sets" = list(
    design = "launches", launches = 10, base_sd = 0.01, noise = "white", null_level = 0, unset = FALSE
  ),
  "unpaired launches, 10 and 10" = list(
    design = "launches", launches = 10, base_sd = 0.01, noise = "white", null_level = 0, unset = TRUE
  )
)

# Each block of figures has machines and coins of its own: what chance did to one says nothing about the next.
first_seed <- 0
most_campaigns <- 2e4
fresh_seeds <- function() first_seed <<- first_seed + 2 * most_campaigns
title <- function(...) {
  cat(sprintf(...), "\n", sep = "")
  fresh_seeds()
}

simulate <- function(i, ..., coin = i) {
  simulated_campaign(..., seed = first_seed + i, coin_seed = first_seed + coin, cost_ns = 0)
}

analyze <- function(campaign, channels = c("time", "preempted")) {
  analyze_campaign(campaign, alpha = alpha, power = power, channels = channels)
}

# These campaigns, on all cores: a list.
each <- function(numbers, do) {
  got <- parallel::mclapply(numbers, do, mc.cores = cores)
  failed <- vapply(got, function(x) is.null(x) || inherits(x, "try-error"), TRUE)
  if (any(failed)) stop("campaign ", which(failed)[1], ": ", format(got[[which(failed)[1]]]))
  got
}

# estimate, interval, p and limit of one cell.
figures_of <- function(verdicts, channel, level, scope) {
  row <- verdicts[
    verdicts$channel == channel & verdicts$level_requested_percent == level & verdicts$scope == scope,
  ]
  stopifnot(nrow(row) == 1)
  c(low = row$ci_low, high = row$ci_high, p = row$p_one_sided, limit = row$detection_limit)
}

column <- function(rows, name) vapply(rows, `[[`, 0, name)
covered <- function(rows, truth) column(rows, "low") <= truth & truth <= column(rows, "high")
detected <- function(rows) {
  p <- column(rows, "p")
  ifelse(is.na(p), FALSE, p <= alpha)
}

# The table of random signs is drawn once, before there are several processes.
draw_signs <- function() invisible(sign_flip_test(stats::rnorm(400)))

within_launch <- function(shape, numbers) {
  run <- function(i, coin, ...) do.call(simulate, c(list(i, coin = coin, pairs = pairs, ...), shape))
  got <- each(numbers, function(i) {
    clean <- analyze(run(i, i, levels_percent = 0, slowdown_percent = 0))$verdicts
    null <- lapply(both, function(channel) figures_of(clean, channel, 0, "this launch"))
    # The same machine under another randomisation, with effects of the size of the stated limits.
    limit <- vapply(null, `[[`, 0, "limit")
    if (anyNA(limit)) return(list(null = null, limit = limit))
    loaded <- analyze(run(i, i + 1e6, levels_percent = limit[["preempted"]],
                          slowdown_percent = limit[["time"]]))$verdicts
    effect <- lapply(both, function(channel) figures_of(loaded, channel, limit[["preempted"]], "this launch"))
    list(null = null, limit = limit, effect = effect)
  })
  for (channel in c("time", "preempted")) {
    null <- lapply(got, function(x) x$null[[channel]])
    share(channel, detected(null), "false_alarms")
    share(channel, covered(null, 0), "coverage", " 0")
    stated <- Filter(function(x) !anyNA(x$limit), got)
    if (length(stated) == 0) {
      skip(paste(channel, "with effect"), "no campaign states a limit")
      next
    }
    effect <- lapply(stated, function(x) x$effect[[channel]])
    share(channel, covered(effect, vapply(stated, function(x) x$limit[[channel]], 0)), "coverage",
          " the effect")
    share(channel, detected(effect), "power", " at its limit")
  }
}

across_launches <- function(shape, numbers) {
  scope <- "launches like these"
  arguments <- shape[setdiff(names(shape), c("null_level", "unset"))]
  run <- function(i, channels, ...) {
    campaign <- do.call(simulate, c(list(i, ...), arguments))
    if (shape$unset) campaign$launches <- lapply(campaign$launches, function(info) {
      info$options["set"] <- list(NULL)
      info
    })
    analyze(campaign, channels)$verdicts
  }
  # The launches' own slowdowns are those of levels above 0; the preempted share has no effect only at level
  # 0.
  levels <- c(time = shape$null_level, preempted = 0)
  null <- each(numbers, function(i) {
    verdicts <- run(i, unname(both), levels_percent = unique(unname(levels)), slowdown_percent = 0)
    lapply(both, function(channel) figures_of(verdicts, channel, levels[[channel]], scope))
  })
  limit <- vapply(both, function(channel) {
    stats::median(vapply(null, function(x) x[[channel]][["limit"]], 0), na.rm = TRUE)
  }, 0)
  # One channel at a time: a slower loop dilutes the preempted share.
  effect <- lapply(both, function(channel) each(numbers, function(i) {
    level <- if (channel == "preempted") limit[["preempted"]] else 1
    slowdown <- if (channel == "time") limit[["time"]] else 0
    verdicts <- run(i + most_campaigns, channel, levels_percent = level, slowdown_percent = slowdown)
    figures_of(verdicts, channel, level, scope)
  }))
  for (channel in c("time", "preempted")) {
    rows <- lapply(null, `[[`, channel)
    share(channel, detected(rows), "false_alarms")
    share(channel, covered(rows, 0), "coverage", " 0")
    rows <- effect[[channel]]
    share(channel, covered(rows, limit[[channel]]), "coverage", " the effect")
    share(channel, detected(rows), "power", " at the median limit")
  }
}

# Levels 0.1, 0.3 and 1 %, of which the highest alone, or none, slows the code down.
step_down_family <- function(n) {
  effects <- list("no effect" = c(0, 0, 0), "effect of 1 % only" = c(0, 0, 5))
  for (name in c("white noise", "1/f wander", "Pareto 1.5 in every half")) {
    for (effect in names(effects)) {
      in_slices(
        sprintf("Step-down over 0.1, 0.3 and 1 %% (time, any false one), %s, %s", name, effect),
        n,
        function(numbers) {
          slow <- effects[[effect]]
          any_false <- each(numbers, function(i) {
            arguments <- list(i, levels_percent = c(0.1, 0.3, 1), slowdown_percent = slow, pairs = pairs)
            verdicts <- analyze(do.call(simulate, c(arguments, shapes[[name]])), "time")$verdicts
            innocent <- verdicts$level_requested_percent %in% c(0.1, 0.3, 1)[slow == 0]
            any(verdicts$stepdown[innocent] == "detected")
          })
          share("any", unlist(any_false), "false_alarms")
        }
      )
    }
  }
}

simulated <- function(n) {
  cat(sprintf(
    paste0("Simulated: %d campaigns per shape, alpha %g one-sided, %d pairs of 10 ms halves unless said,\n",
           "  shares in percent +- Monte Carlo (MC) standard error; ",
           "within MC error: beyond a bound by two of ",
           "them at most\n"),
    n, alpha, pairs
  ))
  draw_signs()
  # every shape has a slice before one has two
  begin <- first_seed
  for (most in unique(pmin(n, seq(slice_size, n + slice_size - 1, slice_size)))) {
    first_seed <<- begin
    is_last_pass <<- most == n
    for (name in names(shapes)) {
      in_slices(name, most, function(numbers) within_launch(shapes[[name]], numbers))
    }
    for (name in names(launch_shapes)) {
      in_slices(name, most, function(numbers) across_launches(launch_shapes[[name]], numbers))
    }
    step_down_family(most)
  }
}

# ---- located noise -------------------------------------------------------------------------------

# Halves of a node that wander together while nothing is added: the order within pairs alone makes their
# differences independent. Three nodes are three series; the rest of the campaign is a template.
located <- function(n) {
  n_pairs <- 100
  dir <- file.path(tempdir(), "located")
  simulate_campaign(dir, nodes = 3, ranks = 3, pairs = 10, levels_percent = 1, seed = 1)
  campaign <- read_campaign(dir)
  unlink(dir, recursive = TRUE)
  on <- campaign$nodes$arm == "on"
  series <- function(phi) {
    halves <- as.numeric(stats::filter(stats::rnorm(2 * n_pairs + 1000), phi, "recursive"))[-(1:1000)]
    sample(c(-1, 1), n_pairs, replace = TRUE) * diff(halves)[c(TRUE, FALSE)]
  }
  title("Located noise: %d series of %d pairs, no effect", n, n_pairs)
  for (phi in c(0.5, 0.9, 0.99)) {
    p <- each(seq_len(ceiling(n / 3)), function(i) {
      set.seed(first_seed + i)
      x <- replicate(3, series(phi))
      campaign$nodes$pairs[on] <- n_pairs
      campaign$nodes$preempted_shift_percent_mean[on] <- colMeans(x)
      campaign$nodes$preempted_shift_percent_sd[on] <- apply(x, 2, stats::sd)
      locate_noise(campaign, alpha, power)$nodes$p_one_sided
    })
    share(sprintf("autocorrelation %g", phi), unlist(p) <= alpha, "false_alarms")
    fresh_seeds()
  }
}

# ---- acceptance: who is failed, who is passed ----------------------------------------------------

# What is wrong with each kind of cluster (acceptance-machines.R), by the number of nodes; who may be named;
# whether it is more than the margin, so that a pass is wrong.
source(file.path(here, "acceptance-machines.R"), local = TRUE)
minority <- function(n) c(n - n %/% 4 - (n < 4), n %/% 4 + (n < 4))
slow <- function(percent) function(n) list(bad = 2, slow_percent = percent)
acceptance_cells <- list(
  "healthy" = list(model = function(n) list(), named = "^$", beyond = FALSE),
  "one node 1 % slow" = list(model = slow(1), named = "\\bnode2\\b", beyond = FALSE),
  "one node 5 % slow" = list(model = slow(5), named = "\\bnode2\\b", beyond = TRUE),
  "one node 30 % slow" = list(model = slow(30), named = "\\bnode2\\b", beyond = TRUE),
  "one link 30 % slow" = list(model = function(n) list(bad_link = c(1, 3), link_percent = 30),
                              named = "^node1 - node3$", beyond = TRUE),
  "rare long bursts" = list(model = function(n) list(bad = 2, long_hz = 0.2), named = "\\bnode2\\b",
                            beyond = TRUE),
  "two switches" = list(model = function(n) list(switches = minority(n)), named = "^$", beyond = FALSE),
  "two CPU models" = list(model = function(n) list(models = minority(n)), named = "^$", beyond = FALSE)
)

accept_outcome <- function(cell, seed) {
  truth <- acceptance_cells[[cell$truth]]
  result <- judge_acceptance(
    do.call(machine_campaign,
            c(list(nodes = cell$nodes, length = cell$length, seed = seed), truth$model(cell$nodes))),
    alpha = alpha
  )
  fails <- result$verdict == "fail"
  others <- !all(grepl(truth$named, result$judgements$entity[result$judgements$verdict == "fail"]))
  c(n = 1, wrong_fail = others, wrong_pass = truth$beyond && result$verdict == "pass",
    inconclusive = result$verdict == "inconclusive", named = fails && !others,
    passed = result$verdict == "pass")
}

acceptance <- function(n) {
  cat("Acceptance: campaigns of 3 launches of a known truth\n")
  cells <- expand.grid(truth = names(acceptance_cells), length = names(machine_lengths), nodes = c(3, 16, 64),
                       stringsAsFactors = FALSE)
  in_cells(
    "acceptance-machines.csv",
    n,
    cells,
    function(cell) function(seed) accept_outcome(cell, seed),
    function(cell, sums) {
      name <- sprintf("%s, %d nodes, %s", cell$truth, cell$nodes, cell$length)
      for (wrong in c("fail", "pass")) {
        share(name, hits_of(sums[[paste0("wrong_", wrong)]], sums[["n"]]), "wrong", paste0(" ", wrong))
      }
      cat(sprintf("  %-44s passed %.1f %%, inconclusive %.1f %%, rightly named %.1f %%\n", "",
                  100 * sums[["passed"]] / sums[["n"]], 100 * sums[["inconclusive"]] / sums[["n"]],
                  100 * sums[["named"]] / sums[["n"]]))
    }
  )
  if (nzchar(Sys.getenv("CELLS"))) return(invisible())
  against <- function(launches, ...) unlist(each(seq_len(ceiling(n / 10)), function(i) {
    rows <- judge_acceptance(simulated_acceptance(seed = i, ...),
                             reference = simulated_acceptance(seed = n + i, launches = launches))$judgements
    paste(c("", rows$entity[rows$kind == "reference" & rows$verdict == "fail"]), collapse = " ")
  }))
  for (launches in c(3, 6)) {
    share(sprintf("clean against a reference of %d launches", launches), against(launches) != "",
          "false_alarms")
  }
  share("slow node of 3 against a reference", !grepl("node2", against(6, slow_node = 2)), "false_alarms",
        " (node not failed)")
}

# ---- placebo launches on this machine ------------------------------------------------------------

placebo <- function(n) {
  mpirun <- Sys.getenv("NOISELAB_MPIRUN", "mpirun")
  if (!nzchar(Sys.which(mpirun))) return(skip("Placebo launches", paste("there is no", mpirun)))
  missed <<- missed + (system2(file.path(here, "..", "..", "tests", "bench", "placebo-verdicts.sh")) != 0)
}

# ---- main ----------------------------------------------------------------------------------------

source(file.path(here, "agent-answer.R"), local = TRUE)
source(file.path(here, "agent-campaigns.R"), local = TRUE)
source(file.path(here, "projection-cells.R"), local = TRUE)
source(file.path(here, "advise.R"), local = TRUE)
parts <- list(simulated = simulated, located = located, acceptance = acceptance, agent = function(n) {
  agent_campaigns(n)
  agent_answers(n)
}, projection = projection_coverage, pattern = pattern_draws,
              advise = advise_simulated, placebo = placebo)
asked <- commandArgs(TRUE)
n <- 2000
if (length(asked) > 0 && grepl("^[1-9][0-9]*$", asked[1])) {
  n <- as.numeric(asked[1])
  asked <- asked[-1]
}
if (length(asked) == 0) asked <- names(parts)
if (n > most_campaigns || !all(asked %in% names(parts))) {
  message("bench-stats: at most ", most_campaigns, " campaigns, and these parts: ",
          paste(names(parts), collapse = ", "))
  quit(status = 2)
}
for (part in asked) {
  took <- system.time(parts[[part]](n))
  cat(sprintf("  (%s: %.0f s, %d cores)\n\n", part, took[["elapsed"]], cores))
}
if (missed > 0) cat(missed, "figures missed their bound\n")
