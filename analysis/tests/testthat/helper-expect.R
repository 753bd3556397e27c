# Whether a long text, such as a page, has a pattern. testthat's own escapes all of it for a message that is
# seldom said: 40 % of the time of the tests of reports.
expect_match <- function(object, regexp, ...) in_long_text(testthat::expect_match, TRUE, object, regexp, ...)
expect_no_match <- function(object, regexp, ...) {
  in_long_text(testthat::expect_no_match, FALSE, object, regexp, ...)
}

in_long_text <- function(usual, wanted, object, regexp, ...) {
  if (length(object) != 1 || is.na(object) || nchar(object, "bytes") < 1e4) return(usual(object, regexp, ...))
  testthat::expect(
    grepl(regexp, object, ...) == wanted,
    sprintf("a text of %d bytes has %s match of '%s'", nchar(object, "bytes"), if (wanted) "no" else "a",
            regexp)
  )
  invisible(object)
}
