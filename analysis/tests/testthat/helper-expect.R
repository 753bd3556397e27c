# Whether a long text, such as a page, has a pattern. testthat's own escapes all of it for a message that is seldom
# said: 40 % of the time of the tests of reports.
expect_match <- function(object, regexp, ..., fixed = FALSE) {
  if (length(object) != 1 || is.na(object) || nchar(object, "bytes") < 1e4) return(testthat::expect_match(object, regexp, ...,
      fixed = fixed))
  testthat::expect(grepl(regexp, object, fixed = fixed, ...), sprintf("a text of %d bytes has no match of '%s'", nchar(object, "bytes"),
      regexp))
  invisible(object)
}

expect_no_match <- function(object, regexp, ..., fixed = FALSE) {
  if (length(object) != 1 || is.na(object) || nchar(object, "bytes") < 1e4) return(testthat::expect_no_match(object, regexp, ...,
      fixed = fixed))
  testthat::expect(!grepl(regexp, object, fixed = fixed, ...), sprintf("a text of %d bytes has a match of '%s'", nchar(object, "bytes"),
      regexp))
  invisible(object)
}
