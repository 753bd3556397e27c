# The help page of an exported function as text, from the sources.
help_of <- function(name) {
  pages <- list.files(test_path("..", "..", "man"), "\\.Rd$", full.names = TRUE)
  text <- lapply(pages, readLines)
  found <- Filter(function(page) any(page == sprintf("\\alias{%s}", name)), text)
  paste(unlist(found), collapse = "\n")
}

exported <- function() sort(getNamespaceExports("noiselab"))

test_that("the package exports what a person would call, and no more", {
  expect_lte(length(exported()), 30)
  expect_true(all(c("read_campaign", "analyze_campaign", "answer_facts", "draw_plot", "write_report") %in% exported()))
})

test_that("every exported function has a help page with its value and an example", {
  for (name in exported()) {
    page <- help_of(name)
    expect_match(page, "\\value{", fixed = TRUE, label = name)
    expect_match(page, "\\examples{", fixed = TRUE, label = name)
  }
})

run_examples <- function(pages, short = TRUE) {
  for (page in pages) {
    code <- tempfile(fileext = ".R")
    tools::Rd2ex(page, code, commentDonttest = short)
    if (!file.exists(code)) next
    expect_error(utils::capture.output(suppressMessages(source(code, local = new.env(parent = globalenv()), echo = FALSE))), NA,
                 label = basename(page))
    unlink(code)
  }
}
help_pages <- function() list.files(test_path("..", "..", "man"), "\\.Rd$", full.names = TRUE)

test_that("the examples run", {
  run_examples(help_pages())
})

test_that("the examples that take longer run", {
  skip_unless_long()
  run_examples(Filter(function(page) any(grepl("donttest", readLines(page))), help_pages()), short = FALSE)
})

test_that("a plot is drawn by its name, as data or as a picture", {
  analysis <- analyze_campaign(simulated_campaign(levels_percent = c(0, 5), pairs = 20, seed = 1), channels = "time")
  expect_equal(draw_plot("forest", analysis, draw = FALSE), plot_forest(analysis, draw = FALSE))
  expect_s3_class(draw_plot("forest", analysis), "ggplot")
  expect_null(draw_plot("intervals", analysis))
  expect_error(draw_plot("forrest", analysis), "name", class = "nl_error_usage")
  expect_error(draw_plot("acceptance-matrix", analysis), "nl_acceptance_verdict", class = "nl_error_usage")
})
