# fuzz.R FOLDER SECONDS: makes a small campaign, a table of others and limits in FOLDER; then runs
# noiselab-analyze with the words of each line of stdin, in a process of its own, and prints how that ended:
# its status, 139 where it crashed, 124 where it had so much CPU time (others may have the machine), or ten
# times as much by the clock.
library(noiselab)
source("analysis/tests/simulate.R", chdir = TRUE)
arguments <- commandArgs(TRUE)
folder <- arguments[1]
patience_s <- as.numeric(arguments[2])
example <- file.path(folder, "campaign")
dir.create(example)
simulate_campaign(example, pairs = 20, levels_percent = c(0, 5), seed = 1)
invisible(file.copy(system.file("extdata", "khudoleeva2021.csv", package = "noiselab"),
                    file.path(folder, "summary.csv")))
writeLines(c("# ours", "detour.alone.lost <= 0.1 percent", "bandwidth.between.one_way 4MiB >= 10 GB/s"),
           file.path(folder, "limits"))
cat("ready\n")

run_one <- function(words) {
  job <- parallel::mcparallel({
    sink <- file("/dev/null", "w")
    sink(sink)
    sink(sink, type = "message")
    run_program("noiselab-analyze", words)
  }, silent = TRUE)
  begin <- Sys.time()
  repeat {
    got <- parallel::mccollect(job, wait = FALSE, timeout = 1)
    if (length(got) > 0) return(if (is.numeric(got[[1]])) got[[1]] else 139)
    # a job that died says nothing, for ever
    if (!dir.exists(file.path("/proc", job$pid))) return(139)
    cpu_s <- suppressWarnings(as.numeric(system2("ps", c("-o", "cputimes=", "-p", job$pid), stdout = TRUE)))
    if (isTRUE(cpu_s > patience_s) || Sys.time() - begin > 10 * patience_s) {
      tools::pskill(job$pid, tools::SIGKILL)
      parallel::mccollect(job, wait = FALSE)
      return(124)
    }
  }
}

asked <- file("stdin", "r")
while (length(line <- readLines(asked, 1)) > 0) cat(run_one(strsplit(line, " ")[[1]]), "\n")
