# Reading slices.HOST.bin: how long every few hundred operations of the loop took (docs/reference/formats.md, "slices.HOST.bin").

slices_version_known <- 1
slices_head_words <- 13  # of a block, before its slices
slices_magic <- sum(as.integer(charToRaw("SLCE")) * 256^(0:3))

#' Read the slices of a node
#'
#' @param file Character, length 1: a `slices.HOST.bin`.
#' @param info The launch's parsed `launch.json`.
#' @return A list: `host` (text), `blocks` (data frame, one row per block in the order of the file: `operation`, `bytes`, `arm` (`off` or
#'   `on`), `pair`, `order`, `start_ns` (CLOCK_MONOTONIC), `operations` (per slice), `first` (index of its first slice), `n` (slices), `cut`
#'   (logical: its last slices are missing)), `ns` (numeric: length of each slice), `notes` (character).
#' @details Signals `nl_error_schema` for a version this package does not know, and `nl_error_damaged` with file and byte. A launch that did
#'   not end as `complete` may end within a block: that block is left out and noted; a file that ends within its header has no blocks.
#' @noRd
read_slices <- function(file, info) {
  size <- file.size(file)
  con <- file(file, "rb")
  on.exit(close(con))
  if (!identical(info$ended, "complete") && header_is_cut(con, size)) return(no_slices(file))
  got <- binary_header(con, file, size, info, "NLSLICES", slices_version_known, "file of slices")
  header <- check_cells_header(got$header, file)
  refuse_header(is_text(got$header$host), got$header, file, "host", "a text")
  words <- readBin(con, "integer", floor((size - got$start) / 4), 4, endian = "little")
  byte_of <- function(word) got$start + 4 * (word - 1)
  at <- block_starts(words, file, byte_of)
  end <- at$end + 1
  notes <- character()
  if (got$start + 4 * at$end < size) {
    if (identical(info$ended, "complete")) {
      abort_damaged_byte(file, byte_of(end), "the file ends within this block: it was cut off; copy it again")
    }
    notes <- sprintf("%s: the launch ended within the block at byte %s; what follows is left out", file, format_count(byte_of(end)))
  }
  blocks <- slice_blocks(words, at$starts, header, file, byte_of)
  of_block <- rep(seq_along(at$starts), blocks$n)
  within <- sequence(blocks$n)
  ns <- if (length(of_block) == 0) numeric() else u32(words[at$starts[of_block] + slices_head_words - 1 + within])
  check_slice_sums(words, at$starts, ns, of_block, within, file, byte_of)
  if (any(blocks$cut)) notes <- c(notes, sprintf("%s: %d blocks lack their last slices: the loop was faster than the pilot", file,
                                                 sum(blocks$cut)))
  list(host = got$header$host, blocks = blocks, ns = ns, notes = notes)
}

header_is_cut <- function(con, size) {
  if (size < 16) return(TRUE)
  length <- u32(readBin(con, "integer", 4, 4, endian = "little")[4])
  seek(con, 0)
  16 + length > size
}

# Of a launch that died before it had written anything.
no_slices <- function(file) {
  blocks <- data.frame(operation = character(), bytes = numeric(), arm = character(), pair = numeric(), order = numeric(),
                       start_ns = numeric(), operations = numeric(), first = numeric(),
                       n = numeric(), cut = logical())
  list(host = sub("^slices\\.(.+)\\.bin$", "\\1", basename(file)), blocks = blocks, ns = numeric(),
       notes = sprintf("%s: the launch ended before it was written; it has no slices", file))
}

# Where blocks begin (word numbers), and the last word of the last whole one.
block_starts <- function(words, file, byte_of) {
  n_words <- length(words)
  starts <- numeric()
  n <- 0
  at <- 1
  while (at + slices_head_words - 1 <= n_words) {
    if (words[at] != slices_magic) abort_damaged_byte(file, byte_of(at),
                                                      "no block begins here (wanted SLCE): the file is damaged; copy it again")
    next_at <- at + slices_head_words + u32(words[at + 10])
    if (next_at - 1 > n_words) break
    n <- n + 1
    starts[n] <- at
    at <- next_at
  }
  list(starts = starts, end = at - 1)
}

slice_blocks <- function(words, starts, header, file, byte_of) {
  column <- function(i) u32(words[starts + i])
  wide <- function(i) column(i) + 4294967296 * column(i + 1)
  config <- column(1)
  arm <- column(2)
  n <- column(10)
  bad <- which(config >= nrow(header$configs) | arm >= nrow(header$arms) | column(9) < 1)[1]
  if (!is.na(bad)) abort_damaged_byte(file, byte_of(starts[bad]),
                                      "the block names an operation or an arm that the header has not: the file is damaged; copy it again")
  data.frame(header$configs[config + 1, ], arm = header$arms$arm[arm + 1], pair = wide(5), order = column(3), start_ns = wide(7),
             operations = column(9), first = cumsum(c(1, n))[seq_along(n)], n = n, cut = bitwAnd(words[starts + 4], 2L) > 0, row.names = NULL)
}

# The two sums of each block: of its words, and of its words times their number, both without what exceeds 32 bits.
check_slice_sums <- function(words, starts, ns, of_block, within, file, byte_of) {
  if (length(starts) == 0) return(invisible())
  modulus <- 4294967296
  plain <- weighted <- numeric(length(starts))
  for (i in 1:10) {
    value <- u32(words[starts + i])
    plain <- plain + value
    weighted <- weighted + (i * value) %% modulus
  }
  has <- unique(of_block)
  plain[has] <- plain[has] + as.numeric(rowsum(ns, of_block, reorder = FALSE))
  weighted[has] <- weighted[has] + as.numeric(rowsum(((within + 10) * ns) %% modulus, of_block, reorder = FALSE))
  wrong <- which(plain %% modulus != u32(words[starts + 11]) | weighted %% modulus != u32(words[starts + 12]))[1]
  if (!is.na(wrong)) abort_damaged_byte(file, byte_of(starts[wrong]),
                                        "the sums of this block are wrong: the file is damaged; copy it again")
}
