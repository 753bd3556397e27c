# The front ends of the R package: Rscript --vanilla exec/noiselab.R NAME ARGS, with a NAME of
# noiselab:::programs().
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
words <- commandArgs(TRUE)
if (!requireNamespace("noiselab", quietly = TRUE)) {
  writeLines(paste0(words[1], ": the R package noiselab or one of its dependencies is missing (run make)"),
             stderr())
  quit("no", 2)
}
quit("no", noiselab::run_program(words[1], words[-1]))
