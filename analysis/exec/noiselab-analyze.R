# Front end of `noiselab analyze`: Rscript --vanilla exec/noiselab-analyze.R ARGS
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
if (!requireNamespace("noiselab", quietly = TRUE)) {
  writeLines("noiselab-analyze: the R package noiselab or one of its dependencies is missing (run make)", stderr())
  quit("no", 2)
}
quit("no", noiselab::main_analyze(commandArgs(TRUE)))
