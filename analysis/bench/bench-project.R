# Times the projection's engines, beside the bandwidth of memory.
# Run: NOISELAB_R_LIB=<library with noiselab> Rscript bench/bench-project.R [ranks] [steps] [bursts]
# Prints lines `name value`. Recursive doubling over 2^20 ranks takes 20 rounds; in cache-sized blocks they
# are two passes over 16 bytes read and 8 written per rank, and the work of a step is a third.
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
engine <- asNamespace("noiselab")
given <- as.numeric(commandArgs(TRUE))
ranks <- if (length(given) > 0) given[1] else 2^20
steps <- if (length(given) > 1) given[2] else 40
bursts <- if (length(given) > 2) given[3] else 1e6

# On a machine that others use the two differ.
took <- function(work) system.time(work, gcFirst = TRUE)[c("elapsed", "user.self")]
elapsed <- function(work) took(work)[["elapsed"]]
peak <- function() {
  said <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", said)) / 1024
}
say <- function(name, value) cat(sprintf("%s %.4g\n", name, value))

# A record of bursts of some 20 us at random times, as a user would give it: default sizes, and a margin.
trace <- tempfile("record")
set.seed(1)
span_s <- bursts * 6e-3
start_s <- sort(stats::runif(bursts, 0, span_s))
start_s <- start_s[c(TRUE, diff(start_s) > 2e-4)]
cost_s <- pmin(1e-6 + stats::rexp(length(start_s), 5e4), 1.9e-4)
lines <- sprintf("%.0f\t%.0f\t0\t-\tx", 1e9 * start_s, 1e9 * cost_s)
writeLines(c(sprintf("# span_ns: %.0f", 1e9 * span_s), lines), trace)
rm(start_s, cost_s, lines)
project <- function(...) {
  out <- tempfile()
  on.exit(unlink(out))
  elapsed(engine$run_program("noiselab-project", c("--trace", trace, "--out", out, ...)))
}
say("long_trace_s", project())
say("long_trace_margin_s", project("--margin", "50%:nodes=1000,every=1ms"))
unlink(trace)

pattern <- list(name = "allreduce", bytes = 8, latency_s = 2.5e-6, overhead_s = 1.5e-6, per_byte_s = 1e-10)
simulate <- function(last) engine$simulated_ends(pattern, ranks, 1e-3, c(1, last), c(1, 1, 1), 33e-6, 1, 1)
# What is set up once counts once.
both <- (took(simulate(2 + steps)) - took(simulate(2))) / steps
per_step <- both[["elapsed"]]
rounds <- log2(ranks)
copied <- numeric(2^24)
copies <- 5
per_byte <- elapsed(for (i in seq_len(copies)) copied <- copied + 1) / (copies * 2 * 8 * length(copied))

say("ns_per_rank_and_round", 1e9 * per_step / (ranks * rounds))
say("cpu_ns_per_rank_and_round", 1e9 * both[["user.self"]] / (ranks * rounds))
say("minutes_of_1e6_ranks_1e4_steps", per_step * 1e4 * (1e6 * 20) / (ranks * rounds) / 60)
say("bytes_moved_per_rank_and_round", (2 * 24 + 24) / rounds)
say("of_memory_bandwidth", (2 * 24 + 24) * ranks * per_byte / per_step)
say("peak_mib", peak())
noise <- engine$node_noise("bench", 33e-6, 1)
say("analytic_s_1e6_ranks", elapsed(engine$project_cell(noise, 1e6, 1e-4, "independent")))
