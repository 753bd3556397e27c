# A small campaign in a directory of its own, removed at the end of the test.
local_campaign <- function(..., env = parent.frame()) {
  dir <- tempfile("campaign")
  do.call(on.exit, list(bquote(unlink(.(dir), recursive = TRUE)), add = TRUE), envir = env)
  simulate_campaign(dir, ...)
  dir
}

halves_of <- function(dir) list.files(dir, "halves.csv|blocks.csv", recursive = TRUE, full.names = TRUE)[1]

# Rewrites one file of a campaign line by line.
edit_lines <- function(file, change) writeLines(change(readLines(file)), file)

published <- function() read_summary(system.file("extdata", "khudoleeva2021.csv", package = "noiselab"))
