# Times both front ends as processes on a campaign of about 10^6 rows, beside plain readers of the same
# file. Run: NOISELAB_R_LIB=<library with noiselab> Rscript bench/bench-analyze.R [rows]
args <- commandArgs(FALSE)
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", args, value = TRUE))))
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
source(file.path(here, "..", "tests", "simulate.R"), chdir = TRUE)
rows_wanted <- as.numeric(c(commandArgs(TRUE), 1e6)[1])

dir <- tempfile("bench")
crossed <- tempfile("bench-crossed")
simulate <- function(dir, treatments, ...) {
  simulate_campaign(dir, operations = c("barrier", "allreduce", "alltoall"),
                              bytes = c(0, 2048, 2048), levels_percent = c(0, 0.01, 0.1, 0.3, 1),
                              pairs = ceiling(rows_wanted / 30 / treatments), seed = 1, ...)
}
simulate(dir, 1)
simulate(crossed, 4, kinds = c("spin", "cache"), patterns = c("periodic", "poisson"))
file <- list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)

# Elapsed and CPU seconds (children included): on a shared machine the two differ.
seconds <- function(...) {
  t <- system.time(..., gcFirst = TRUE)
  c(elapsed = t[["elapsed"]], cpu = sum(t[c("user.self", "sys.self", "user.child", "sys.child")]))
}
process <- function(program, ...) {
  seconds(stopifnot(
    system2(file.path(R.home("bin"), "Rscript"),
            c("--vanilla", shQuote(file.path(here, "..", "exec", "noiselab.R")), program, ...),
            stdout = FALSE) == 0
  ))
}
# 4,096 ranks on 256 nodes: what grows with the ranks are ranks.csv, nodes.csv and launch.json.
wide <- tempfile("bench-ranks")
simulate_campaign(wide, operations = c("barrier", "allreduce"), bytes = c(0, 2048),
                  levels_percent = c(0, 0.1, 1), pairs = 50, nodes = 256, ranks = 4096,
                  noise_nodes = c(17, 120), seed = 1)
# 100,000 ranks on 10,000 nodes, which only have to be read and judged at all
widest <- tempfile("bench-widest")
if (rows_wanted >= 1e6) {
  simulate_campaign(widest, operations = "barrier", bytes = 0, levels_percent = c(0, 1), pairs = 8,
                    nodes = 1e4, ranks = 1e5, seed = 1)
}
figures <- rbind(
  "Rscript, nothing else" = seconds(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", "0"),
                                            stdout = FALSE)),
  "data.table::fread" = seconds(n <- nrow(data.table::fread(file, integer64 = "double"))),
  "noiselab-analyze" = process("noiselab-analyze", shQuote(dir), "--json"),
  "  4 treatments" = process("noiselab-analyze", shQuote(crossed), "--json"),
  "noiselab-report" = process("noiselab-report", shQuote(dir)),
  "4,096 ranks: nodes" = process("noiselab-analyze", "nodes", shQuote(wide), "--json"),
  "  verdicts" = process("noiselab-analyze", shQuote(wide), "--json"),
  "  report" = process("noiselab-report", shQuote(wide)),
  "100,000 ranks: nodes" = if (rows_wanted >= 1e6) {
    process("noiselab-analyze", "nodes", shQuote(widest), "--json")
  },
  "  verdicts" = if (rows_wanted >= 1e6) {
    process("noiselab-analyze", shQuote(widest), "--json")
  },
  "utils::read.csv" = seconds(utils::read.csv(file))
)
cat(sprintf("%d rows, %.0f MB\n", n, file.size(file) / 1e6))
cat(sprintf("  %-22s %6.2f s elapsed %6.2f s CPU\n", rownames(figures), figures[, 1], figures[, 2]), sep = "")
cat(sprintf("  analyze: wanted 5 s, %s; report: wanted 10 s, %s\n",
            if (figures["noiselab-analyze", 1] <= 5) "reached" else "missed",
            if (figures["noiselab-report", 1] <= 10) "reached" else "missed"))
cat(sprintf("  4,096 ranks read and located: wanted 10 s, %s\n",
            if (figures["4,096 ranks: nodes", 1] <= 10) "reached" else "missed"))
unlink(c(dir, crossed, wide, widest), recursive = TRUE)
