slices_file <- function(...) {
  file <- tempfile(fileext = ".bin")
  write_slices(file, "a", ...)
  file
}
info <- list(launch = "a", ended = "complete")

test_that("blocks come back with their half, begin and slices, also beyond 31 and 32 bits", {
  ns <- c(200000, 2147483648, 4294967295, 1)
  file <- slices_file(rbind(slice_block(ns, pair = 2^33 + 5, start_ns = 2^40 + 3),
                            slice_block(7, order = 0, arm = 0, flags = 2)))
  got <- read_slices(file, info)
  expect_equal(got$host, "node1")
  expect_equal(got$ns, c(ns, 7))
  wanted <- data.frame(pair = c(2^33 + 5, 0), order = c(1, 0), arm = c("on", "off"),
                       start_ns = c(2^40 + 3, 1e12), first = c(1, 5), n = c(4, 1), operation = "barrier",
                       cut = c(FALSE, TRUE))
  expect_equal(got$blocks[names(wanted)], wanted, ignore_attr = TRUE)
  expect_match(got$notes, "1 blocks lack their last slices")
})

test_that(paste0("a killed launch keeps every whole block, and a complete one that is cut off is refused ",
                 "with the byte"), {
  file <- slices_file(rbind(slice_block(1:10), slice_block(1:10, pair = 1)))
  bytes <- readBin(file, "raw", file.size(file))
  begin <- length(bytes) - 4 * 23
  for (keep in c(begin + 2, begin + 40, length(bytes) - 3)) {
    writeBin(bytes[seq_len(keep)], file)
    got <- read_slices(file, list(launch = "a"))
    expect_equal(got$blocks$pair, 0)
    expect_match(got$notes, format(begin, big.mark = ""), all = FALSE)
    expect_error(read_slices(file, info), paste0("byte ", begin, ": the file ends within this block"),
                 class = "nl_error_damaged")
  }
})

test_that("every changed bit of a block is found, and named with its byte", {
  file <- slices_file(rbind(slice_block(c(200000, 210000)), slice_block(c(200000, 210000), pair = 1)))
  bytes <- readBin(file, "raw", file.size(file))
  begin <- length(bytes) - 4 * 15
  for (at in c(5, 17, 25, 33, 37, 45, 53, 57) + begin) {
    damaged <- bytes
    damaged[at] <- xor(damaged[at], as.raw(64))
    writeBin(damaged, file)
    expect_error(read_slices(file, info), paste0("byte ", begin), class = "nl_error_damaged")
  }
  damaged <- bytes
  damaged[begin + 1] <- as.raw(0)
  writeBin(damaged, file)
  expect_error(read_slices(file, info), "wanted SLCE", class = "nl_error_damaged")
})

test_that("another launch's file, another version and another file are refused", {
  expect_error(read_slices(slices_file(slice_block(1)), list(launch = "b")), "wanted 'b'",
               class = "nl_error_damaged")
  expect_error(read_slices(slices_file(slice_block(1), version = 2), info), "version 2",
               class = "nl_error_schema")
  file <- tempfile()
  writeLines("something else altogether", file)
  expect_error(read_slices(file, info), "wanted NLSLICES", class = "nl_error_damaged")
})

test_that("a launch that died before the header was written has no slices, and a complete one is refused", {
  file <- slices_file(slice_block(1:10))
  bytes <- readBin(file, "raw", file.size(file))
  for (keep in c(0, 40)) {
    writeBin(bytes[seq_len(keep)], file)
    got <- read_slices(file, list(launch = "a"))
    expect_match(got$notes, "it has no slices")
    expect_null(locked_track(
      timeline_of(got, data.frame(operation = "barrier", bytes = 0, pair = 0, order = 1)),
      data.frame(start_ns = 1, duration_ns = 1)
    ))
    expect_error(read_slices(file, info), class = "nl_error_damaged")
  }
  # one that died before its first block has none either
  expect_equal(nrow(read_slices(slices_file(slice_block(1)[0, ]), info)$blocks), 0)
})
