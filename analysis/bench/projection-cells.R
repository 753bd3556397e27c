# Is what noiselab project says of a record true? Machines whose noise is known are simulated by
# tests/reference, which shares nothing with the analysis: what they cost many nodes, and what a recorder sees
# of one or a few of them. Each record is then given to the program as a user would. Part of make bench-stats
# (projection, and scale for sentences about margins and numbers of nodes).

# A cell: words of the reference simulator, nodes, seconds between two synchronisations, nodes recorded, and
# seconds of each record.
projection_cell <- function(name, machine, nodes, step_s, seconds, recorded = 1, options = "") {
  data.frame(cell = name, machine = machine, nodes = nodes, step_s = step_s, seconds = seconds,
      recorded = recorded, options = options)
}

# Beside each machine of which a false answer was known stands a second one with other numbers.
projection_cells <- function() rbind(
  projection_cell("16 CPUs at once", "gap_s=1 cost=fixed:1e-3 cpus=16", 1000, 1e-3, 60),
  projection_cell("6 CPUs at once, exponential", "gap_s=0.3 cost=exponential:4e-4 cpus=6", 500, 2e-3, 60),
  projection_cell("8 CPUs at once, own costs", "gap_s=0.5 cost=exponential:5e-4 cpus=8 hit=own-costs", 300,
      1e-3, 60),
  projection_cell("4 CPUs, each by itself", "gap_s=2 cost=fixed:1e-3 cpus=4 hit=own", 500, 1e-3, 60),
  projection_cell("2 CPUs, 1 ms apart", "gap_s=1 cost=fixed:1e-3 cpus=2 lag_s=1e-3", 1000, 1e-3, 60),
  projection_cell("4 CPUs, 0.3 ms apart", "gap_s=0.7 cost=fixed:5e-4 cpus=4 lag_s=3e-4", 400, 2e-3, 60),
  projection_cell("clumps 2 ms apart", "arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=2e-3",
      1000, 1e-3, 60),
  projection_cell("clumps 1 ms apart", "arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=1e-3",
      1000, 1e-3, 60),
  projection_cell("clumps 0.3 ms apart", "arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=3e-4",
      1000, 1e-3, 60),
  projection_cell("clumps of 1 ms, 50 us apart",
      "arrivals=one-by-one gap_s=5 cost=fixed:1e-3 clump=10 apart_s=1.05e-3", 1000, 1e-3, 120),
  projection_cell("clumps of 6, exponential", "gap_s=0.5 cost=exponential:2e-4 clump=6 apart_s=5e-4", 300,
      1e-3, 60),
  projection_cell("clumps of 15, far apart",
      "arrivals=one-by-one gap_s=10 cost=fixed:1e-3 clump=15 apart_s=0.3", 30, 1e-2, 240),
  projection_cell("load 5 %", "gap_s=0.02 cost=fixed:1e-3", 16, 0.1, 60),
  projection_cell("load 10 %", "gap_s=0.01 cost=fixed:1e-3", 16, 0.1, 60),
  projection_cell("load 20 %", "gap_s=0.005 cost=fixed:1e-3", 16, 0.1, 60),
  projection_cell("load 40 %", "gap_s=0.0025 cost=fixed:1e-3", 16, 0.1, 60),
  projection_cell("load 30 %", "gap_s=0.005 cost=fixed:1.5e-3", 40, 0.05, 60),
  projection_cell("load 25 %, exponential, long steps", "gap_s=0.008 cost=exponential:2e-3", 64, 0.2, 60),
  projection_cell("load 15 %, exponential", "gap_s=0.02 cost=exponential:3e-3", 32, 0.05, 60),
  projection_cell("10 ms each second, 10000 nodes", "gap_s=1 cost=fixed:1e-2", 1e4, 1e-3, 60),
  projection_cell("4 ms each 3 s, 3000 nodes", "gap_s=3 cost=exponential:4e-3", 3000, 1e-3, 120),
  projection_cell("10 % of beats left out, 1 node",
      "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 left_out=0.1", 1, 1e-2, 60),
  projection_cell("20 % of beats left out, 1 node",
      "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 left_out=0.2", 1, 1e-2, 60),
  projection_cell("35 % of beats left out", "arrivals=periodic gap_s=0.04 cost=fixed:1e-3 left_out=0.35", 50,
      1e-2, 60),
  projection_cell("fixed phases, 10 nodes", "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", 10, 1e-3, 60),
  projection_cell("fixed phases, 10 nodes, long steps", "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", 10,
      1e-2, 60),
  projection_cell("fixed phases, 100 nodes", "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", 100, 1e-3, 60),
  projection_cell("fixed phases, 30 nodes, exponential", "arrivals=periodic gap_s=0.25 cost=exponential:1e-3",
      30, 2e-3, 60),
  projection_cell("wandering phases", "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 spread=0.01", 100, 1e-3,
    60, options = "--wander"),
  projection_cell("late beats", "arrivals=periodic gap_s=0.2 cost=exponential:1e-3 late_s=0.05", 100, 1e-3,
      60),
  projection_cell("about 3 bursts, 1 node", "gap_s=20 cost=fixed:1e-3", 1, 1e-2, 60),
  projection_cell("about 5 bursts, 10 nodes", "gap_s=12 cost=exponential:2e-3", 10, 1e-2, 60),
  projection_cell("20 bursts, Pareto 1.5, 1 node", "gap_s=3 cost=pareto:1e-3:1.5:0.05", 1, 1e-2, 60),
  projection_cell("40 bursts, Pareto 2.5, 10 nodes", "gap_s=3 cost=pareto:1e-3:2.5:0.05", 10, 1e-2, 120),
  projection_cell("one long burst expected, 1 node", "gap_s=0.1 cost=two:1e-4:1e-2:0.00166667", 1, 1e-3, 60),
  projection_cell("one long burst expected", "gap_s=0.1 cost=two:1e-4:1e-2:0.00166667", 100, 1e-3, 60),
  projection_cell("two long bursts expected", "gap_s=0.05 cost=two:2e-4:2e-2:0.00166667", 30, 1e-2, 60),
  projection_cell("unequal rates, 3 nodes recorded", "gap_s=0.2 cost=fixed:1e-3 rate_sd=0.5", 300, 1e-3, 60,
      3),
  projection_cell("unequal rates, 6 nodes recorded", "gap_s=0.5 cost=exponential:5e-4 rate_sd=0.8", 300, 2e-3,
      60, 6),
  projection_cell("unequal costs, 3 nodes recorded", "gap_s=0.2 cost=fixed:1e-3 cost_sd=0.5", 300, 1e-3, 60,
      3),
  projection_cell("unequal costs, 8 nodes recorded", "gap_s=0.5 cost=exponential:5e-4 cost_sd=0.3", 100, 2e-3,
      60, 8),
  projection_cell("10 ms each 20 s", "gap_s=20 cost=fixed:1e-2", 1000, 1e-3, 600),
  projection_cell("load 0.01 %, 10000 nodes", "gap_s=1 cost=exponential:1e-4", 1e4, 1e-3, 600),
  projection_cell("load 0.01 %, 10^6 nodes, too short", "gap_s=10 cost=fixed:1e-3", 1e6, 0.1, 600),
  projection_cell("load 0.1 %, 10^6 nodes", "gap_s=0.1 cost=exponential:1e-4", 1e6, 1e-4, 1000),
  projection_cell("load 0.2 %, 100 nodes", "gap_s=0.05 cost=exponential:1e-4", 100, 1e-3, 60),
  projection_cell("load 0.2 %, 10000 nodes", "gap_s=0.05 cost=exponential:1e-4", 1e4, 1e-3, 60, 4),
  projection_cell("load 1 %, 10^5 bursts", "gap_s=1e-3 cost=exponential:1e-5", 1000, 1e-3, 100),
  projection_cell("load 2 %, 10^5 nodes", "gap_s=0.01 cost=exponential:2e-4", 1e5, 1e-4, 100),
  projection_cell("load 1 %, 1 node", "gap_s=0.1 cost=exponential:1e-3", 1, 0.1, 60),
  projection_cell("two values, 100 nodes", "gap_s=0.1 cost=two:1e-4:2e-3:0.05", 100, 1e-3, 60),
  projection_cell("two values, 10000 nodes", "gap_s=0.02 cost=two:5e-5:5e-4:0.1", 1e4, 1e-4, 60),
  projection_cell("Pareto 2.5, 100 nodes", "gap_s=0.05 cost=pareto:1e-4:2.5:0.05", 100, 1e-3, 60),
  projection_cell("Pareto 2.5, 10000 nodes", "gap_s=0.05 cost=pareto:1e-4:2.5:0.05", 1e4, 1e-3, 600),
  projection_cell("Pareto 1.5, 100 nodes", "gap_s=0.05 cost=pareto:1e-4:1.5:0.05", 100, 1e-3, 60),
  projection_cell("Pareto 1.5, 1000 nodes", "gap_s=0.05 cost=pareto:1e-4:1.5:0.05", 1000, 1e-2, 600),
  projection_cell("long steps", "gap_s=0.5 cost=exponential:2e-3", 1000, 0.1, 600),
  projection_cell("short steps", "gap_s=0.5 cost=exponential:2e-3", 100, 1e-4, 60)
)

# ---- the reference -------------------------------------------------------------------------------

reference_program <- file.path(Sys.getenv("NOISELAB_BUILD", file.path(here, "..", "..", "build")), "tests",
    "reference", "reference")

reference <- function(...) {
  got <- suppressWarnings(system2(reference_program, c(...), stdout = TRUE))
  if (!is.null(attr(got, "status"))) stop("tests/reference/reference ", paste(...), ": status ", attr(got,
      "status"))
  got
}

words_of <- function(machine) strsplit(machine, " ", fixed = TRUE)[[1]]

# Percent: `mean`, and `draws`: what single runs cost, where these differ (else the mean). Many nodes are
# walked for fewer steps.
reference_truth <- function(cell) {
  size <- c(sprintf("nodes=%.0f", cell$nodes), sprintf("step_s=%.9g", cell$step_s))
  many <- if (cell$nodes >= 1e6) c("gaps=0", "steps=200", "draws=3") else if (cell$nodes >= 1e5) c("gaps=0",
      "draws=8") else if (cell$nodes >= 3000) c("gaps=5", "draws=16") else "draws=300"
  is_fixed <- grepl("arrivals=periodic", cell$machine) && !grepl("spread=|phase=s",
      cell$machine) || grepl("(rate|cost)_sd=", cell$machine)
  if (is_fixed) {
    # chance within a run is no difference between runs, nor is a part of a period at its end: both are made
    # small
    many <- c(many, sprintf("gaps=%.0f", min(4000, max(100, 2e4 / cell$nodes))))
    draws <- as.numeric(reference("truth", words_of(cell$machine), size, many, "each=yes"))
    return(list(mean = mean(draws), error = stats::sd(draws) / sqrt(length(draws)), draws = draws))
  }
  row <- utils::read.csv(text = reference("truth", words_of(cell$machine), size, many, "precision=0.002"))
  list(mean = row$slowdown_percent, error = row$standard_error, draws = row$slowdown_percent)
}

# Truth and ideal interval of a cell, which are found once and kept beside the reference.
known_of <- function(cell) {
  file <- file.path(dirname(reference_program), "known", paste0(gsub("[^A-Za-z0-9.]+", "-", cell$cell),
      ".rds"))
  if (file.exists(file)) {
    had <- readRDS(file)
    if (identical(unlist(had$cell), unlist(cell))) return(had)
  }
  dir.create(dirname(file), FALSE)
  truth <- reference_truth(cell)
  found <- list(cell = cell, truth = truth, ideal = ideal_interval(cell, truth))
  saveRDS(found, file)
  found
}

# ---- an ideal interval ---------------------------------------------------------------------------

# Who knew of which kind a machine is (but not how often bursts come, how long they are, or which tail they
# have) could do no better than this from such a record: parameters by maximum likelihood, whose errors are
# carried over by how much the truth changes with each, and the spread between runs. Ends in percent.
ideal_interval <- function(cell, truth, level = 0.98) {
  z <- stats::qnorm((1 + level) / 2)
  key <- function(name, default) {
    word <- grep(paste0("^", name, "="), words_of(cell$machine), value = TRUE)
    if (length(word) == 0) default else sub("^[^=]*=", "", word)
  }
  number <- function(name, default) as.numeric(key(name, default))
  cost <- strsplit(key("cost", ""), ":", fixed = TRUE)[[1]]
  value <- as.numeric(cost[-1])
  gap_s <- number("gap_s", NA)
  beats <- cell$recorded * cell$seconds / gap_s * (1 - number("left_out", 0))
  bursts <- beats * number("clump", 1) * if (grepl("hit=own", cell$machine)) number("cpus", 1) else 1
  if (grepl("hit=own( |$)", cell$machine)) beats <- beats * number("cpus", 1)
  # how nodes differ is known from those that were recorded alone
  between <- function(sd) {
    if (sd == 0) return(0)
    expm1(sd^2) / cell$recorded * (stats::qt((1 + level) / 2, cell$recorded - 1) / z)^2
  }
  # how the logarithm of the truth changes with that of a parameter
  elasticity <- function(change) {
    at <- function(by) {
      changed <- cell
      words <- words_of(cell$machine)
      for (name in names(change(by))) {
        words <- c(words[!startsWith(words, paste0(name, "="))], paste0(name, "=", change(by)[[name]]))
      }
      changed$machine <- paste(words, collapse = " ")
      reference_truth(changed)$mean
    }
    log(at(1.2) / at(1 / 1.2)) / (2 * log(1.2))
  }
  costs <- function(values) list(cost = paste(c(cost[1], sprintf("%.9g", values)), collapse = ":"))
  # one more parameter: its elasticity, and the variance of its logarithm
  variance <- switch(
    cost[1],
    fixed = 0,
    exponential = elasticity(function(by) costs(value * by))^2 / bursts,
    two = elasticity(function(by) costs(value * c(1, 1, by)))^2 * (1 - value[3]) / (bursts * value[3]),
    pareto = {
      mean_of <- function(least, shape) {
        below <- least / value[3]
        shape * least / (shape - 1) * (1 - below^(shape - 1)) / (1 - below^shape)
      }
      least <- stats::uniroot(function(m) mean_of(m, value[2]) - value[1], c(1e-3, 1) * value[1])$root
      elasticity(function(by) costs(c(mean_of(least, value[2] * by), value[2] * by, value[3])))^2 / bursts
    }
  )
  if (number("cost_sd", 0) > 0) {
    variance <- variance + elasticity(function(by) costs(value * c(by, 1,
        by)[seq_along(value)]))^2 * between(number("cost_sd", 0))
  }
  rate <- if (key("arrivals", "poisson") == "periodic" && number("left_out",
      0) == 0) 0 else elasticity(function(by) list(gap_s = gap_s / by))
  up <- rate * log(stats::qgamma((1 + level) / 2, beats + 1) / beats)
  down <- rate * log(beats / stats::qgamma((1 - level) / 2, beats))
  if (key("arrivals", "poisson") == "periodic") up <- down <- rate * z * sqrt(number("left_out", 0) / beats)
  variance <- variance + rate^2 * between(number("rate_sd", 0))
  # nobody needs an end to better than one percent of it
  variance <- variance + if (length(truth$draws) > 1) stats::var(log(truth$draws)) else 0
  ends <- sqrt(c(down, up)^2 + z^2 * variance + 0.01^2)
  truth$mean * exp(c(-1, 1) * ends)
}

# ---- the judge -----------------------------------------------------------------------------------

# What noiselab project says of the record whose number is `seed`: a list, of which `reason` says why it has
# no upper end, or was refused.
asked_of_program <- function(cell, truth, seed) {
  folder <- tempfile("record")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  reference("record", words_of(cell$machine), sprintf("seconds=%.9g", cell$seconds), sprintf("recorded=%d",
      cell$recorded),
            sprintf("seed=%.0f", 1e6 + seed), paste0("out=", folder))
  traces <- list.files(folder, full.names = TRUE)
  out <- file.path(folder, "answer.json")
  said <- file.path(folder, "said")
  connection <- file(said, "w")
  sink(connection, type = "message")
  status <- tryCatch(run_program("noiselab-project", c(
    rbind("--trace", traces), "--nodes", sprintf("%.0f", cell$nodes), "--every", sprintf("%.0fns",
        1e9 * cell$step_s),
    # a margin is below 100 %
    if (truth$mean < 100) c("--margin", sprintf("%.6g", truth$mean)),
    if (nzchar(cell$options)) strsplit(cell$options, " ", fixed = TRUE)[[1]], "--json", "--out", out
  )), finally = {
    sink(type = "message")
    close(connection)
  })
  if (!file.exists(out)) return(list(refused = TRUE, reason = sub("^noiselab-project: ", "",
      utils::tail(readLines(said), 1)), status = status))
  answer <- jsonlite::fromJSON(out)
  row <- answer$projections[answer$projections$phase == "independent", ]
  list(refused = FALSE, low = row$ci_low, high = row$ci_high, value = row$slowdown_percent,
      reason = row$reason, margin = answer$margin_answer,
       nodes = nodes_said(answer$sentences), status = status)
}

# The number of nodes up to which a sentence says that the margin is kept: NA: none does; 0: on a single node
# it is not.
nodes_said <- function(sentences) {
  said <- regmatches(sentences, regexpr("up to [0-9,]+ nodes?", sentences))
  if (length(said) > 0) return(as.numeric(gsub("[^0-9]", "", said[1])))
  if (any(grepl("below [0-9.]+ % .*on any number of nodes|stays on any number of nodes", sentences,
      ignore.case = TRUE))) return(Inf)
  NA_real_
}

projection_outcome <- function(cell, truth, ideal, seed) {
  got <- asked_of_program(cell, truth, seed)
  none <- c(n = 1, refused = 0, open = 0, holds = 0, too_low = 0, too_high = 0, log_width = 0, wide = 0,
      wrong_pass = 0, wrong_fail = 0, said_nodes = 0,
            false_nodes = 0, value = 0)
  if (got$refused) return(list(counts = replace(none, "refused", 1), reason = got$reason))
  is_open <- length(got$high) == 0 || is.na(got$high)
  high <- if (is_open) Inf else got$high
  width <- (high - got$low) / diff(ideal)
  by_interval <- if (high < truth$mean) "pass" else if (got$low > truth$mean) "fail" else "inconclusive"
  verdict <- got$margin %||% by_interval
  # of a truth of 100 % or more no margin was asked about
  says_nodes <- truth$mean < 100 && !is.na(got$nodes)
  counts <- c(
    n = 1, refused = 0, open = is_open,
    holds = if (is_open) 0 else mean(got$low <= truth$draws & truth$draws <= high),
    too_low = mean(truth$draws > high), too_high = mean(truth$draws < got$low),
    log_width = if (is_open) 0 else log(width), wide = !is_open && width > 3,
    wrong_pass = verdict == "pass", wrong_fail = verdict == "fail",
    said_nodes = says_nodes, false_nodes = says_nodes && got$nodes > cell$nodes, value = got$value
  )
  list(counts = counts, reason = if (is_open) got$reason %||% "no upper end" else "")
}

# A record of numbers and quotes is one of words.
reason_words <- function(reasons) {
  reasons <- reasons[nzchar(reasons) & !is.na(reasons)]
  if (length(reasons) == 0) return("")
  words <- gsub("[0-9][0-9.,]*", "N", gsub("/[^ ]*/", "", reasons))
  # of a file a cell has one reason
  gsub(",", ";", names(sort(-table(words)))[1])
}

projection_file <- "projection-cells.csv"

# `n`: records per cell in all. CELLS: a regular expression. Each cell has a slice before one has two.
projection_coverage <- function(n) {
  cat("Projection: what noiselab project says of records of known machines; truths by tests/reference\n")
  # an answer takes a second or more
  slice_size <<- min(slice_size, 20)
  cells <- projection_cells()
  cells <- cells[grepl(Sys.getenv("CELLS"), cells$cell), ]
  for (most in unique(pmin(n, seq(slice_size, n + slice_size - 1, slice_size)))) {
    for (i in seq_len(nrow(cells))) judge_cell(cells[i, ], most)
  }
  rows <- rows_of(projection_file)
  rows <- rows[rows$version == project_version() & rows$cell %in% cells$cell, ]
  for (mine in split(rows, factor(rows$cell, unique(rows$cell)))) show_projection_cell(mine)
  share("all records", hits_of(sum(rows$open + rows$refused), sum(rows$n)), "refused")
}

# The commit: an analysis that gives other answers has other rows.
project_version <- function() {
  got <- suppressWarnings(system2("git", c("-C", shQuote(here), "describe", "--always"), stdout = TRUE,
      stderr = FALSE))
  Sys.getenv("JUDGED", if (length(got) == 1) got else version)
}

judge_cell <- function(cell, n) {
  judged <- project_version()
  gsub_comma <- function(x) gsub(",", ";", x)
  name <- gsub_comma(cell$cell)
  in_evidence(projection_file, n, function(rows) rows$version == judged & rows$cell == name,
      function(rows) sum(rows$n), function(seeds) {
    known <- known_of(cell)
    truth <- known$truth
    ideal <- known$ideal
    began <- Sys.time()
    got <- each(seeds, function(seed) projection_outcome(cell, truth, ideal, seed))
    sums <- colSums(do.call(rbind, lapply(got, `[[`, "counts")))
    took_s <- as.numeric(Sys.time() - began, units = "secs") / length(seeds)
    row <- c(list(date = format(Sys.Date()), version = judged, cell = name, machine = cell$machine,
        nodes = cell$nodes, step_s = cell$step_s,
                  recorded = cell$recorded, seconds = cell$seconds, truth = signif(truth$mean, 5),
                  spread = if (length(truth$draws) > 1) signif(stats::sd(truth$draws),
                      3) else 0, ideal_low = signif(ideal[1], 4),
                  ideal_high = signif(ideal[2], 4), first = seeds[1]), signif(sums, 5),
             list(s_each = signif(took_s, 3), reason = reason_words(vapply(got, `[[`, "", "reason"))))
    line <- paste(vapply(row[names(rows_of(projection_file))], field, ""), collapse = ",")
    cat("  ", line, "\n", sep = "")
    line
  })
}

show_projection_cell <- function(rows) {
  sums <- colSums(rows[c("n", "refused", "open", "holds", "wide", "log_width", "wrong_pass", "wrong_fail",
      "false_nodes")])
  answered <- sums[["n"]] - sums[["refused"]] - sums[["open"]]
  name <- rows$cell[1]
  if (answered > 0) {
    share(name, hits_of(round(sums[["holds"]]), answered), "projection_covers")
    width <- exp(sums[["log_width"]] / answered)
    line(paste0(name, ": width / ideal one"), sprintf("%.2f", width), "<= 3", if (width <= 3) "yes" else "NO")
  } else skip(name, paste("no answer with two ends:", rows$reason[nrow(rows)]))
  for (answer in c("pass", "fail")) share(name, hits_of(sums[[paste0("wrong_", answer)]], sums[["n"]]),
      "wrong", paste0(" ", answer))
  share(name, hits_of(sums[["false_nodes"]], sums[["n"]]), "wrong", " number of nodes")
}

# ---- draws of --pattern --------------------------------------------------------------------------

# How far one run lies from another is known from few draws alone. Draws of the reference, of which each time
# one more is the next run, stand in files of --replicates in place of those that the program made; what
# --merge says of them has to hold the next one.
pattern_machines <- list(
  "10 nodes" = "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 nodes=10 step_s=1e-3",
  "10 nodes, long steps" = "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 nodes=10 step_s=1e-2",
  "100 nodes" = "arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 nodes=100 step_s=1e-3",
  "unequal rates" = "gap_s=0.2 cost=fixed:1e-3 rate_sd=0.5 nodes=30 step_s=1e-3"
)

pattern_outcome <- function(file, population, k, seed) {
  set.seed(seed)
  drawn <- sample(population, k + 1)
  answer <- jsonlite::read_json(file)
  own <- vapply(answer$replicates, function(row) row$phase == "independent", NA)
  answer$replicates[own] <- Map(function(row, value) replace(row, "slowdown", value), answer$replicates[own],
      drawn[seq_len(k)])
  part <- tempfile("part")
  out <- tempfile("answer")
  on.exit(unlink(c(part, out)))
  jsonlite::write_json(answer, part, auto_unbox = TRUE, null = "null", digits = NA)
  run_program("noiselab-project", c("--merge", part, "--json", "--out", out))
  row <- subset(jsonlite::fromJSON(out)$projections, phase == "independent")
  high <- if (is.na(row$ci_high)) Inf else row$ci_high
  c(n = 1, holds = row$ci_low <= 100 * drawn[k + 1] && 100 * drawn[k + 1] <= high, open = is.infinite(high))
}

pattern_draws <- function(n) {
  cat("Draws of --pattern: does the interval of so many hold the next run?\n")
  cells <- expand.grid(machine = names(pattern_machines), draws = c(4, 10, 60), stringsAsFactors = FALSE)
  cells$machine <- gsub(",", ";", cells$machine)
  in_cells("pattern-draws.csv", n, cells, function(cell) {
    words <- pattern_machines[[gsub(";", ",", cell$machine)]]
    population <- as.numeric(reference("truth", words_of(words), "draws=3000", "each=yes")) / 100
    file <- tempfile("replicates")
    run_program("noiselab-project", c("--burst", "2.5ms", "--period", "100ms", "--nodes", "10", "--every",
        "1ms", "--pattern", "barrier",
                                      "--replicates", paste0("1-", cell$draws), "--json", "--out", file))
    function(seed) pattern_outcome(file, population, cell$draws, seed)
  }, function(cell, sums) {
    share(sprintf("%s, %d draws", cell$machine, cell$draws), hits_of(sums[["holds"]], sums[["n"]]),
        "next_run")
  })
}
