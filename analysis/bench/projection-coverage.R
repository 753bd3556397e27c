# Does the interval of a projection hold the truth? Machines of known bursts, of which some nodes are recorded for a minute each; part of make bench-stats.

# 20 bursts per s, 100 us on average; `at`: the cost that a burst exceeds with such a probability.
projection_shapes <- list(
  exponential = function(p) -1e-4 * log(p),
  bounded = function(p) 2e-4 * (1 - p),
  "Pareto 2.5" = function(p) 0.6e-4 * p^(-1 / 2.5)
)
projection_rate_hz <- 20
projection_step_s <- 1e-3
projection_watched_s <- 60 # each node
projection_columns <- c("n", "could", "answered", "holds")

# Of all costs, the rarest 1 in 10^6.
projection_truth <- function(shape, ranks) {
  above <- 10^seq(0, -6, length.out = 3000)
  middle <- sqrt(above[-1] * above[-length(above)])
  costs <- projection_shapes[[shape]](middle)
  noise <- node_noise("truth", costs, NA, rate_hz = projection_rate_hz)
  order <- order(costs)
  noise$costs_s <- costs[order]
  noise$weights <- (-diff(above) / (1 - 1e-6))[order]
  slowdown_chain(noise, ranks, projection_step_s, cells = 1200)
}

# `could`: is the record as long as the size asks for? `answered`: with an upper end.
projection_outcome <- function(shape, recorded, ranks, truth, seed) {
  watched_s <- recorded * projection_watched_s
  costs <- with_seed(seed, projection_shapes[[shape]](stats::runif(stats::rpois(1, projection_rate_hz * watched_s))))
  noise <- node_noise("seen", costs, NA, rate_hz = length(costs) / watched_s, watched_s = watched_s, n_nodes = recorded)
  got <- project_cell(noise, ranks, projection_step_s, "independent")
  c(n = 1, could = -log(0.01) * ranks * projection_step_s <= watched_s, answered = !is.na(got$high), holds = !is.na(got$high) && got$low <= truth && truth <= got$high)
}

projection_file <- function() file.path(here, "..", "..", "docs", "evidence", "projection-coverage.csv")

# `n`: machines per cell in all; what the file has already is not run again. CELLS: a regular expression; MINUTES: no further slice after these.
projection_coverage <- function(n) {
  file <- projection_file()
  version <- packageDescription("noiselab")$Version
  slice <- as.numeric(Sys.getenv("SLICE", "100"))
  limit <- Sys.time() + as.numeric(Sys.getenv("MINUTES", "1e6")) * 60
  cells <- expand.grid(ranks = c(100, 1e3, 1e4, 1e5), recorded = c(3, 16), shape = names(projection_shapes), stringsAsFactors = FALSE)
  key <- function(rows) sprintf("%s %.0f %.0f", rows$shape, rows$recorded, rows$ranks)
  cells <- cells[grepl(Sys.getenv("CELLS"), key(cells)), ]
  if (!file.exists(file)) writeLines(c(
    "# The 98 % interval of a projection on simulated machines: of n, the record is long enough for the size (could), has an upper end (answered), holds the truth.",
    "# command: make bench-stats CAMPAIGNS=1000 PARTS=projection (goes on from here)",
    paste(c("date", "version", "shape", "recorded", "ranks", "first", projection_columns), collapse = ",")), file)
  mine <- function(cell) {
    had <- utils::read.csv(file, comment.char = "#")
    had[had$version == version & key(had) == key(cell), projection_columns]
  }
  cat("Projection to many ranks: 98 % intervals of machines of which 3 or 16 nodes are recorded for a minute each\n")
  for (i in seq_len(nrow(cells))) {
    cell <- cells[i, ]
    truth <- NULL
    while ((done <- sum(mine(cell)$n)) < n && Sys.time() <= limit) {
      truth <- truth %||% projection_truth(cell$shape, cell$ranks)
      seeds <- done + seq_len(min(slice, n - done))
      got <- do.call(rbind, parallel::mclapply(seeds, function(seed) projection_outcome(cell$shape, cell$recorded, cell$ranks, truth, seed), mc.cores = cores))
      cat(paste(c(format(Sys.Date()), version, cell$shape, cell$recorded, format(cell$ranks, scientific = FALSE), seeds[1], colSums(got)), collapse = ","), "\n",
          sep = "", file = file, append = TRUE)
    }
    sums <- colSums(mine(cell))
    if (sums[["n"]] == 0) next
    hits <- function(name, of) rep(c(TRUE, FALSE), c(sums[[name]], sums[[of]] - sums[[name]]))
    name <- sprintf("%s, %d nodes, %s ranks", cell$shape, cell$recorded, format(cell$ranks, scientific = FALSE))
    share(name, hits("holds", "answered"), "agent_covers")
    if (sums[["could"]] > 0) share(name, !hits("answered", "could"), "refused")
  }
}
