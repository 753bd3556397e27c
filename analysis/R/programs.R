# The programs of the package: one entry per front end.

# `run` gets the arguments and returns the exit status. A function, because the entries refer to functions of files
# that are read later.
programs <- function() list(
  "noiselab-analyze" = main_analyze,
  "noiselab-report" = main_report,
  "noiselab-plan" = main_plan,
  "noiselab-plot" = main_plot,
  "noiselab-compare" = main_compare
)

#' Run a program of the package
#'
#' What the commands `noiselab analyze`, `noiselab report` and so on call.
#'
#' @param name Character, length 1: the program, such as `noiselab-analyze`.
#' @param args Character: its command line arguments.
#' @return Integer, length 1: the exit status, see [main_analyze()].
#' @examples
#' file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
#' run_program("noiselab-analyze", c("summary", file, "--csv"))
#' @export
run_program <- function(name, args = character()) {
  check_argument(is_text(name) && name %in% names(programs()), "name", name, paste(names(programs()), collapse = ", "))
  programs()[[name]](args)
}
