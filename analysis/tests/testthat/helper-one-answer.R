# For tests of what is printed: the first screen, the JSON and the first box of the report say the same.

squashed <- function(text) trimws(gsub("[[:space:]]+", " ", paste(text, collapse = " ")))

# The text of a page's first box, without tags.
answer_box <- function(file) {
  html <- squashed(readLines(file, encoding = "UTF-8"))
  box <- sub("<section id=\"(?!answer)[a-z]+\".*$", "", html, perl = TRUE)
  text <- gsub("<[^>]+>", " ", box)
  for (code in list(c("&lt;", "<"), c("&gt;", ">"), c("&#39;", "'"), c("&quot;", "\""), c("&amp;", "&"))) {
    text <- gsub(code[1], code[2], text, fixed = TRUE)
  }
  squashed(text)
}

# Each sentence of the JSON stands on the screen as it is, or the screen says how many it left out; then in
# the report, whose pictures nobody looks at here.
expect_one_answer <- function(words, dir, report = TRUE, program = "noiselab-analyze") {
  remembered_projections()
  empty_pictures()
  info <- paste(c(program, words), collapse = " ")
  screen <- status_of(program, words, dir)$out
  expect_lte(length(screen), 24, label = info)
  expect_lte(max(nchar(screen, "width")), 100, label = info)
  said <- jsonlite::fromJSON(paste(status_of(program, words, dir, "--json")$out,
                                   collapse = "\n"))$first_screen
  expect_gt(length(said), 0, label = info)
  shown <- vapply(said, function(sentence) grepl(squashed(sentence), squashed(screen), fixed = TRUE), TRUE)
  left_out <- sub(".*\\(and ([0-9]+) more sentences?\\).*", "\\1", squashed(screen))
  left_out <- if (grepl("^[0-9]+$", left_out)) as.integer(left_out) else 0
  expect_equal(sum(!shown), left_out, info = paste(c(info, said[!shown]), collapse = "\n"))
  if (!report) return(invisible())
  file <- file.path(local_folder(), "r.html")
  expect_equal(status_of("noiselab-report", dir, "--out", file)$status, 0L, info = info)
  box <- answer_box(file)
  for (sentence in said) {
    expect_true(grepl(squashed(sentence), box, fixed = TRUE), info = paste0(info, ": ", sentence, "\n", box))
  }
}

# The campaign as the runner planned it: by what it answers, and what it was asked.
planned_as <- function(dir, experiment, analyses = "", margin = "-") {
  launches <- basename(dirname(Sys.glob(file.path(dir, "*", "launch.json"))))
  writeLines(
    c("# schema: 1", paste("# experiment:", experiment), paste("# analyses:", analyses),
      paste("# margin_percent:", margin), "launch\tset\tnodes\tranks\targuments",
      paste(launches, "1", "-", "2", "--seconds", "1", sep = "\t")),
    file.path(dir, "schedule.tsv")
  )
  dir
}
