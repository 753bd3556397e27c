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

# The code of the examples, without what needs a campaign of the reader's (\\dontrun).
examples_of <- function(name) {
  lines <- help_of(name)
  code <- lines[-seq_len(match("@examples", lines))]
  gsub("(?s)\\\\dontrun\\{.*?\n\\}", "", paste(code[!cumsum(startsWith(code, "@"))], collapse = "\n"), perl = TRUE)
}

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

test_that("the examples run", {
  for (name in exported()) {
    expect_error(utils::capture.output(suppressMessages(eval(parse(text = examples_of(name)), new.env(parent = globalenv())))), NA, label = name)
  }
})
