# Conditions that a user can cause. The class decides the exit status of the front ends.

nl_abort <- function(class, ...) {
  stop(errorCondition(paste0(...), class = c(class, "nl_error"), call = NULL))
}

abort_usage <- function(...) nl_abort("nl_error_usage", ...)
abort_data <- function(...) nl_abort("nl_error_data", ...)
abort_schema <- function(...) nl_abort("nl_error_schema", ...)

abort_damaged <- function(file, line, ...) {
  nl_abort("nl_error_damaged", file, ":", format(line, scientific = FALSE), ": ", ...)
}

# Stops unless `ok`, saying which argument, the value it got and the value it wanted.
check_argument <- function(ok, argument, value, wanted) {
  if (isTRUE(ok)) return(invisible(TRUE))
  got <- tryCatch(paste(format(utils::head(unlist(value), 3)), collapse = ", "),
                  error = function(e) class(value)[1])
  if (length(got) == 0 || !nzchar(got)) got <- "nothing"
  abort_usage("argument '", argument, "': got ", got, ", wanted ", wanted)
}

is_number <- function(x, above = -Inf, below = Inf) {
  is.numeric(x) && length(x) == 1 && is.finite(x) && x > above && x < below
}

check_probability <- function(value, argument) {
  check_argument(is_number(value, 0, 1), argument, value, "one number between 0 and 1")
}

check_numeric <- function(value, argument) {
  check_argument(is.numeric(value) && !anyNA(value) && all(is.finite(value)), argument, value,
                 "finite numbers")
}
