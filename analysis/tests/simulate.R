# Simulated campaigns, and what checks a run's looks, for scripts beside the package's own tests:
# source(".../analysis/tests/simulate.R", chdir = TRUE)
local({
  parts <- new.env(parent = asNamespace("noiselab"))
  for (file in list.files("testthat", "^helper-s", full.names = TRUE)) sys.source(file, parts)
  attach(parts, name = "simulated campaigns", warn.conflicts = FALSE)
})
