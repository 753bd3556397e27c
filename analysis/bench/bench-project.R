# Times the projection's engines, beside the bandwidth of memory. Run: NOISELAB_R_LIB=<library with noiselab> Rscript bench/bench-project.R [ranks] [steps]
# Prints lines `name value`. Recursive doubling over 2^20 ranks takes 20 rounds; in cache-sized blocks they are two passes over 16 bytes read and 8 written
# per rank, and the work of a step is a third.
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
engine <- asNamespace("noiselab")
given <- as.numeric(commandArgs(TRUE))
ranks <- if (length(given) > 0) given[1] else 2^20
steps <- if (length(given) > 1) given[2] else 40

# On a machine that others use the two differ.
took <- function(work) system.time(work, gcFirst = TRUE)[c("elapsed", "user.self")]
elapsed <- function(work) took(work)[["elapsed"]]
pattern <- list(name = "allreduce", bytes = 8, latency_s = 2.5e-6, overhead_s = 1.5e-6, per_byte_s = 1e-10)
simulate <- function(last) engine$simulated_ends(pattern, ranks, 1e-3, c(1, last), c(1, 1, 1), 33e-6, 1, 1)
# What is set up once counts once.
both <- (took(simulate(2 + steps)) - took(simulate(2))) / steps
per_step <- both[["elapsed"]]
rounds <- log2(ranks)
copied <- numeric(2^24)
copies <- 5
per_byte <- elapsed(for (i in seq_len(copies)) copied <- copied + 1) / (copies * 2 * 8 * length(copied))
peak <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024

say <- function(name, value) cat(sprintf("%s %.4g\n", name, value))
say("ns_per_rank_and_round", 1e9 * per_step / (ranks * rounds))
say("cpu_ns_per_rank_and_round", 1e9 * both[["user.self"]] / (ranks * rounds))
say("minutes_of_1e6_ranks_1e4_steps", per_step * 1e4 * (1e6 * 20) / (ranks * rounds) / 60)
say("bytes_moved_per_rank_and_round", (2 * 24 + 24) / rounds)
say("of_memory_bandwidth", (2 * 24 + 24) * ranks * per_byte / per_step)
say("peak_mib", peak)
noise <- engine$node_noise("bench", 33e-6, 1)
say("analytic_s_1e6_ranks", elapsed(engine$project_cell(noise, 1e6, 1e-4, "independent")))
