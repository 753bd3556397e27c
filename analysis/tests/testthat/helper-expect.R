# Whether a long text, such as a page, has a pattern. testthat's own escapes all of it for a message that is seldom said: 40 % of the time of the
# tests of reports.
expect_match <- function(object, regexp, ...) in_long_text(testthat::expect_match, TRUE, object, regexp, ...)
expect_no_match <- function(object, regexp, ...) in_long_text(testthat::expect_no_match, FALSE, object, regexp, ...)

in_long_text <- function(usual, wanted, object, regexp, ...) {
  if (length(object) != 1 || is.na(object) || nchar(object, "bytes") < 1e4) return(usual(object, regexp, ...))
  testthat::expect(grepl(regexp, object, ...) == wanted, sprintf("a text of %d bytes has %s match of '%s'", nchar(object, "bytes"),
                                                                if (wanted) "no" else "a", regexp))
  invisible(object)
}

# testthat's own make ready to print a difference before they look for one: 5 % of the time of all tests. What is the same to the last bit is no difference
# to them either.
expect_equal <- function(object, expected, ..., label = NULL) {
  if (is_same(object, expected)) return(testthat::succeed())
  testthat::expect_equal(object, expected, ..., label = label %||% deparse1(substitute(object)), expected.label = deparse1(substitute(expected)))
}
expect_identical <- function(object, expected, ...) {
  if (identical(object, expected)) return(testthat::succeed())
  testthat::expect_identical(object, expected, ..., label = deparse1(substitute(object)), expected.label = deparse1(substitute(expected)))
}
expect_true <- function(object, ..., label = NULL) {
  if (identical(object, TRUE)) return(testthat::succeed())
  testthat::expect_true(object, ..., label = label %||% deparse1(substitute(object)))
}
expect_false <- function(object, ..., label = NULL) {
  if (identical(object, FALSE)) return(testthat::succeed())
  testthat::expect_false(object, ..., label = label %||% deparse1(substitute(object)))
}

# Numbers may be whole in one and not in the other.
is_same <- function(a, b) {
  plain <- function(x) is.numeric(x) && is.null(attributes(x)) && !anyNA(x)
  identical(a, b) || plain(a) && plain(b) && length(a) == length(b) && all(a == b)
}
