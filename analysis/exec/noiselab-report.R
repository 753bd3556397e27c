# Front end of `noiselab report`: Rscript --vanilla exec/noiselab-report.R ARGS
library_dir <- Sys.getenv("NOISELAB_R_LIB")
if (nzchar(library_dir)) .libPaths(c(library_dir, .libPaths()))
if (!requireNamespace("noiselab", quietly = TRUE)) {
  writeLines("noiselab-report: the R package noiselab or one of its dependencies is missing (run make)", stderr())
  quit("no", 2)
}
quit("no", noiselab::main_report(commandArgs(TRUE)))
