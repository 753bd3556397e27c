# fuzz.R MUTATE SECONDS SEED FOLDER: mutants of the files of small campaigns, given to the programs of the package, each in a process of its
# own. Prints one line per file: inputs, and those that crashed, hung (10 s of CPU time) or ended with a status outside of the table. Exit status 1 if
# there was one; their inputs stay in FOLDER.
library(noiselab)
source("analysis/tests/simulate.R", chdir = TRUE)
arguments <- commandArgs(TRUE)
mutate <- arguments[1]
until <- Sys.time() + as.numeric(arguments[2])
seed <- as.integer(arguments[3])
folder <- arguments[4]
patience_s <- as.numeric(Sys.getenv("FUZZ_PATIENCE", "10"))
statuses <- c(0L, 1L, 2L, 3L) # 70 is a bug

example <- file.path(folder, "campaign")
dir.create(example, recursive = TRUE)
simulate_campaign(example, pairs = 20, levels_percent = c(0, 5), seed = 1)
launch <- list.dirs(example, recursive = FALSE)[1]
summary_file <- file.path(folder, "summary.csv")
invisible(file.copy(system.file("extdata", "khudoleeva2021.csv", package = "noiselab"), summary_file))
limits_file <- file.path(folder, "limits")
writeLines(c("# ours", "detour.alone.lost <= 0.1 percent", "bandwidth.between.one_way 4MiB >= 10 GB/s"), limits_file)

# target(FILE, PLACE): a file, and what is run when a mutant has taken its place
target <- function(file, ...) list(file = file, arguments = c(...))
targets <- c(
  lapply(list.files(launch, full.names = TRUE), target, example, "--csv"),
  list(target(summary_file, "summary", summary_file, "--csv"), target(limits_file, "acceptance", "--limits", limits_file))
)

# Seconds of CPU time that a process has had; NA when it is gone. Clock ticks are 1/100 s in all that Linux tells.
cpu_s <- function(pid) {
  stat <- tryCatch(readLines(file.path("/proc", pid, "stat"), warn = FALSE), error = function(e) NULL, warning = function(w) NULL)
  if (is.null(stat)) return(NA)
  sum(as.numeric(strsplit(sub(".*\\) ", "", stat), " ")[[1]][12:13])) / 100
}

# The exit status; NA: it crashed, Inf: it hung: by its own CPU time, as others may have the machine, or by ten times as much by the clock.
run_one <- function(arguments) {
  job <- parallel::mcparallel({
    sink <- file("/dev/null", "w")
    sink(sink)
    sink(sink, type = "message")
    run_program("noiselab-analyze", arguments)
  }, silent = TRUE)
  begin <- Sys.time()
  repeat {
    got <- parallel::mccollect(job, wait = FALSE, timeout = 1)
    if (length(got) > 0) return(if (is.numeric(got[[1]])) got[[1]] else NA)
    # a job that died says nothing, for ever
    if (!dir.exists(file.path("/proc", job$pid))) return(NA)
    if (isTRUE(cpu_s(job$pid) > patience_s) || Sys.time() - begin > 10 * patience_s) {
      tools::pskill(job$pid, tools::SIGKILL)
      parallel::mccollect(job, wait = FALSE)
      return(Inf)
    }
  }
}

n_bad <- 0
all <- 0
share <- as.numeric(difftime(until, Sys.time(), units = "secs")) / length(targets)
for (target in targets) {
  original <- readBin(target$file, "raw", file.size(target$file))
  ends <- Sys.time() + share
  counts <- c(inputs = 0, crashed = 0, hung = 0, status = 0)
  while (Sys.time() < ends) {
    i <- counts[["inputs"]]
    prefix <- file.path(folder, "mutant")
    stopifnot(system2(mutate, c(seed, i, 1, shQuote(target$file), shQuote(prefix))) == 0)
    file.rename(paste0(prefix, i), paste0(target$file, ".mutant"))
    file.copy(paste0(target$file, ".mutant"), target$file, overwrite = TRUE)
    got <- run_one(target$arguments)
    word <- if (is.na(got)) "crashed" else if (is.infinite(got)) "hung" else if (!got %in% statuses) "status"
    if (!is.null(word)) {
      counts[word] <- counts[word] + 1
      file.rename(paste0(target$file, ".mutant"), file.path(folder, paste0("bad-", basename(target$file), "-", i)))
    }
    unlink(paste0(target$file, ".mutant"))
    writeBin(original, target$file)
    counts["inputs"] <- i + 1
  }
  cat(sprintf("%-24s %6d inputs, %d crashed, %d hung, %d ended with a status outside of the table\n", basename(target$file),
              counts["inputs"],
              counts["crashed"], counts["hung"], counts["status"]))
  n_bad <- n_bad + sum(counts[-1])
  all <- all + counts
}
cat(all, sep = ",", file = file.path(folder, "analysis.counts"))
quit(status = if (n_bad > 0) 1 else 0)
