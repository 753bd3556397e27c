# The comments before each exported function, as lines without their mark.
delayedAssign("help_pages", {
  lines <- unlist(lapply(list.files(test_path("..", "..", "R"), "\\.R$", full.names = TRUE), readLines))
  starts <- match(paste(exported(), "<- function"), sub("\\(.*", "", lines))
  pages <- lapply(starts, function(at) {
    first <- max(which(!startsWith(lines[seq_len(at - 1)], "#'"))) + 1
    sub("^#' ?", "", lines[first:(at - 1)])
  })
  stats::setNames(pages, exported())
})
help_of <- function(name) help_pages[[name]]

exported <- function() sort(getNamespaceExports("noiselab"))

test_that("the package exports what a person would call, and no more", {
  expect_equal(exported(), c("analyze_campaign", "read_campaign", "run_program", "write_report"))
})

test_that("every exported function says what it returns, and has an example", {
  for (name in exported()) {
    expect_true(any(startsWith(help_of(name), "@return ")), label = name)
    expect_true("@examples" %in% help_of(name), label = name)
  }
})
