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

# `n`: machines per cell in all.
projection_coverage <- function(n) {
  cat("Projection to many ranks: 98 % intervals of machines of which 3 or 16 nodes are recorded for a minute each\n")
  cells <- expand.grid(ranks = c(100, 1e3, 1e4, 1e5), recorded = c(3, 16), shape = names(projection_shapes), stringsAsFactors = FALSE)
  in_cells("projection-coverage.csv", n, cells, function(cell) {
    truth <- projection_truth(cell$shape, cell$ranks)
    function(seed) projection_outcome(cell$shape, cell$recorded, cell$ranks, truth, seed)
  }, function(cell, sums) {
    name <- sprintf("%s, %d nodes, %s ranks", cell$shape, cell$recorded, format_count(cell$ranks))
    share(name, hits_of(sums[["holds"]], sums[["answered"]]), "agent_covers")
    if (sums[["could"]] > 0) share(name, !hits_of(sums[["answered"]], sums[["could"]]), "refused")
  })
}
