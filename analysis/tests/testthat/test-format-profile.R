# The words of a profile.

test_that("sizes are those of the messages, not the power of two below them", {
  expect_equal(vapply(c(8, 1000, 8000, 4096, 98304, 2^21, 5000.5, 123456789), size_words, ""),
               c("8 B", "1000 B", "8000 B", "4 KiB", "96 KiB", "2 MiB", "some 4.88 KiB", "some 118 MiB"))
  rows <- data.frame(operation = c("bcast", "barrier"), bytes_lo = c(4096, 0), bytes = c(24000, 0), calls = c(3, 2))
  expect_equal(operation_words(rows), c("bcast 8000 B", "barrier"))
})
