# The variants of acceptance's figures: a closed list, so that a limit on one that there is not is refused. tests/cli/analyze.bats compares
# it with the tables of noiselab-accept.
acceptance_variants <- list(
  latency = c("within", "within-near", "between", "between-at-once"),
  bandwidth = c("within", "within-near", "between", "between-at-once"),
  opcost = c("wtime", "barrier", "allreduce-scalar", "allreduce-vector", "reduce-scalar", "reduce-vector", "bcast", "gather", "isend+wait",
             "send",
             "sendrecv", "send+recv"),
  completeness = c("nodes", "ranks"),
  topology = c("star", "ring", "complete", "grid2d", "grid3d", "hypercube"),
  quantum = c("alone", "all"),
  detour = c("alone", "all"),
  collective = c("barrier", "allreduce", "alltoall"),
  kernels = c("matmul", "sort", "montecarlo")
)

# Grids have their shape behind the name: grid2d:4x2.
is_variant <- function(check, variant) sub("^(grid[23]d):[0-9]+(x[0-9]+)+$", "\\1", variant) %in% acceptance_variants[[check]]
