# Reading the raw file of a launch: every start of every rank (docs/reference/formats.md, "Raw file").

raw_version_known <- 1
raw_block_bytes <- 44  # of a block, before its values
raw_wide_bytes <- 20

# Where the raw file is: a plain name is in the launch's folder, and so is any that moved along with it.
raw_file_of <- function(dir, info) {
  name <- start_of(info)$raw
  if (is.null(name)) return(NULL)
  inside <- file.path(dir, basename(name))
  if (grepl("/", name, fixed = TRUE) && file.exists(name)) name else inside
}

# ---- header and index --------------------------------------------------------------------------

# Everything but the values: the header, and one row per block with the byte it begins at. The whole file is
# checked here; a block that the file does not hold whole belongs to a launch that did not end well.
raw_index <- function(file, info) {
  if (!file.exists(file)) {
    abort_data(file, " is missing (launch.json names it): copy it along, or leave this launch out")
  }
  size <- file.size(file)
  con <- file(file, "rb")
  on.exit(close(con))
  header <- raw_header(con, file, size, info)
  found <- raw_scan(con, file, size, header)
  c(
    header,
    list(file = file, blocks = found$blocks, notes = if (!is.na(found$cut)) refuse_cut(info, file, found$cut))
  )
}

# What lies from this byte on is no whole block: damage of a launch that ended well, of any other a note.
refuse_cut <- function(info, file, byte) {
  if (identical(info$ended, "complete")) {
    abort_damaged_byte(file, byte, "the file ends within this block: it was cut off; copy it again")
  }
  sprintf("%s: the launch ended within the block at byte %s; what follows is left out", file,
          format_count(byte))
}

raw_header <- function(con, file, size, info) {
  got <- binary_header(con, file, size, info, "NLSTARTS", raw_version_known, "raw file")
  header <- got$header
  refuse <- function(ok, key, wanted) refuse_header(ok, header, file, key, wanted)
  refuse(is_number(header$ranks, 0) && header$ranks == floor(header$ranks), "ranks",
         "a whole number of at least 1")
  refuse(json_types$mode$is(header$mode), "mode", paste("one of", json_types$mode$name))
  refuse(json_types$number$is(header$late_bound_ns), "late_bound_ns", "a number or null")
  c(
    list(launch = header$launch, ranks = header$ranks, start = got$start,
         late_bound_ns = header$late_bound_ns %||% Inf),
    check_cells_header(header, file)
  )
}

raw_scan <- function(con, file, size, header) {
  at <- header$start
  rows <- list()
  while (at < size) {
    seek(con, at)
    head <- readBin(con, "raw", raw_block_bytes)
    known <- seq_len(min(4, length(head)))
    if (any(head[known] != charToRaw("BLCK")[known])) {
      abort_damaged_byte(file, at, "no block begins here (wanted BLCK): the file is damaged; copy it again")
    }
    if (length(head) < raw_block_bytes) break
    numbers <- c(u32(readBin(head[5:28], "integer", 6, 4, endian = "little")),
                 readBin(head[29:44], "double", 2, 8, endian = "little"))
    check_raw_block(numbers, header, file, at)
    length <- raw_block_bytes + 8 * numbers[3] + 12 * numbers[3] * header$ranks + raw_wide_bytes * numbers[6]
    if (at + length > size) break
    rows[[length(rows) + 1]] <- c(at, numbers)
    at <- at + length
  }
  blocks <- as.data.frame(matrix(as.numeric(unlist(rows)), ncol = 9, byrow = TRUE))
  names(blocks) <- c("at", "config", "arm", "n", "order", "switches", "wide", "pair", "first")
  list(blocks = blocks, cut = if (at < size) at else NA_real_)
}

check_raw_block <- function(numbers, header, file, at) {
  refuse <- function(ok, byte, ...) if (!isTRUE(ok)) abort_damaged_byte(file, at + byte, ...)
  whole <- function(x) is.finite(x) && x >= 0 && x == floor(x)
  refuse(numbers[1] < nrow(header$configs), 4, "config is ", numbers[1], ", the header has ",
         nrow(header$configs))
  refuse(numbers[2] < nrow(header$arms), 8, "arm is ", numbers[2], ", the header has ", nrow(header$arms))
  refuse(numbers[6] <= 3 * numbers[3] * header$ranks, 24, numbers[6], " wide values for ", numbers[3],
         " starts")
  refuse(whole(numbers[7]), 28, "pair is ", numbers[7], ", wanted a whole number")
  refuse(whole(numbers[8]), 36, "first is ", numbers[8], ", wanted a whole number")
}

# ---- values ------------------------------------------------------------------------------------

# One block: `scheduled` (length n) and `overshoot`, `arrival`, `took` (matrices, start x rank), all in ns.
raw_values <- function(con, raw, blocks, i) {
  n <- blocks$n[i]
  at <- blocks$at[i]
  seek(con, at + raw_block_bytes)
  scheduled <- readBin(con, "double", n, 8, endian = "little")
  values <- readBin(con, "integer", 3 * n * raw$ranks, 4, endian = "little")
  dim(values) <- c(n, 3, raw$ranks)
  if (blocks$wide[i] > 0) values <- put_wide(con, raw, blocks[i, ], values)
  after <- at + raw_block_bytes + 8 * n
  if (anyNA(values)) {
    abort_damaged_byte(raw$file, after + 4 * (which(is.na(values))[1] - 1),
                       "a value that did not fit is not among the wide ones")
  }
  if (!all(is.finite(scheduled))) {
    abort_damaged_byte(raw$file, after - 8 * n + 8 * (which(!is.finite(scheduled))[1] - 1),
                       "scheduled_ns is not a number")
  }
  one <- function(i) matrix(as.numeric(values[, i, ]), n, raw$ranks)
  list(scheduled = scheduled, overshoot = one(1), arrival = one(2), took = one(3))
}

put_wide <- function(con, raw, block, values) {
  begins <- block[["at"]] + raw_block_bytes + 8 * block[["n"]] + 4 * length(values)
  bytes <- matrix(readBin(con, "raw", raw_wide_bytes * block[["wide"]]), raw_wide_bytes)
  where <- matrix(
    u32(readBin(as.vector(bytes[1:12, ]), "integer", 3 * block[["wide"]], 4, endian = "little")), 3
  )
  value <- readBin(as.vector(bytes[13:20, ]), "double", block[["wide"]], 8, endian = "little")
  good <- where[1, ] < raw$ranks & where[2, ] < 3 & where[3, ] < block[["n"]] & is.finite(value)
  at <- cbind(where[3, ], where[2, ], where[1, ]) + 1
  good[good] <- is.na(values[at[good, , drop = FALSE]])
  bad <- which(!good | duplicated(at))[1]
  if (!is.na(bad)) {
    abort_damaged_byte(raw$file, begins + raw_wide_bytes * (bad - 1),
                       "a wide value for no field of this block")
  }
  values[at] <- value
  values
}

# What the rows of a block have in common, `times` each.
block_columns <- function(raw, blocks, times) {
  config <- rep(blocks$config + 1, times)
  arm <- rep(blocks$arm + 1, times)
  pick <- function(x, at) as_word(x)[at]
  table <- list(launch = rep(pick(raw$launch, 1), length(config)),
                operation = pick(raw$configs$operation, config), bytes = raw$configs$bytes[config],
                arm = pick(raw$arms$arm, arm),
                level_requested_percent = raw$arms$level_requested_percent[arm])
  c(table, lapply(raw$arms[treatment_columns], `[`, arm),
    list(pair = rep(blocks$pair, times), order = rep(as.integer(blocks$order), times),
         switches = rep(blocks$switches, times)))
}

# What a block's starts come to over all ranks: the later of several at the same time is the lower rank.
summarise_starts <- function(values) {
  end <- values$arrival + values$took
  n <- nrow(end)
  row <- seq_len(n)
  first <- max.col(-values$arrival, "first")
  last <- max.col(values$arrival, "first")
  last_end <- max.col(end, "first")
  last_start_ns <- values$arrival[cbind(row, last)]
  global_ns <- end[cbind(row, last_end)]
  list(global_ns = global_ns, spread_ns = last_start_ns - values$arrival[cbind(row, first)],
       after_last_ns = global_ns - last_start_ns, overshoot_ns = largest_overshoot(values),
       first_start_rank = first - 1, last_start_rank = last - 1, last_end_rank = last_end - 1)
}

largest_overshoot <- function(values) {
  values$overshoot[cbind(seq_len(nrow(values$overshoot)), max.col(values$overshoot, "first"))]
}

start_numbers <- function(blocks) sequence(blocks$n) - 1 + rep(blocks$first, blocks$n)

# Blocks in groups of some 10^5 values each: work on many short blocks at once, and hold few.
block_groups <- function(raw, blocks, values_at_once) {
  at <- which(blocks$n > 0)
  unname(split(at, (cumsum(blocks$n[at]) * raw$ranks - 1) %/% values_at_once))
}

# The values of several blocks, one below the other.
group_values <- function(con, raw, blocks, group) {
  values <- lapply(group, function(i) raw_values(con, raw, blocks, i))
  if (length(values) == 1) return(values[[1]])
  matrices <- c("overshoot", "arrival", "took")
  c(list(scheduled = unlist(lapply(values, `[[`, "scheduled"))),
    lapply(stats::setNames(matrices, matrices), function(n) do.call(rbind, lapply(values, `[[`, n))))
}

# Fills named vectors of a value for each start of the blocks with what `take` makes of a group.
collect_starts <- function(con, raw, blocks, columns, take) {
  got <- stats::setNames(lapply(columns, function(n) numeric(sum(blocks$n))), columns)
  filled <- 0
  for (group in block_groups(raw, blocks, 1e5)) {
    part <- take(group_values(con, raw, blocks, group))
    to <- filled + seq_along(part[[1]])
    for (name in columns) got[[name]][to] <- part[[name]]
    filled <- filled + length(to)
  }
  got
}

# In the order of the starts, a row for each rank: `launch`, `operation`, `bytes`, `arm`,
# `level_requested_percent`, the treatment, `pair`, `order`, `switches` (involuntary context switches of all
# ranks in that part of the half), `start` (number within its half, from 0), `rank`, `scheduled_ns` (common
# clock, since the launch's first half), `overshoot_ns` (actual minus the rank's own scheduled start),
# `arrival_ns` (minus the common one), `took_ns` (end minus start on the rank's own clock), `late` (on some
# rank the overshoot was above the bound that the file names).
ranks_table <- function(con, raw, blocks) {
  values <- group_values(con, raw, blocks, seq_len(nrow(blocks)))
  n <- raw$ranks
  of_start <- function(x) rep(x, each = n)
  by_start <- function(x) as.vector(t(x))
  data.table::setDT(c(
    block_columns(raw, blocks, blocks$n * n),
    list(start = of_start(start_numbers(blocks)), scheduled_ns = of_start(values$scheduled),
         rank = rep(seq_len(n) - 1L, sum(blocks$n)), overshoot_ns = by_start(values$overshoot),
         arrival_ns = by_start(values$arrival), took_ns = by_start(values$took),
         late = of_start(largest_overshoot(values) > raw$late_bound_ns))
  ))[]
}

# ---- every start as CSV, a few blocks at a time ------------------------------------------------

# `write` gets data.tables of some 10^5 rows, in order, of one launch after the other.
stream_starts <- function(dirs, write) {
  each_raw(dirs, "", function(raw, con) {
    for (group in block_groups(raw, raw$blocks, 2e5)) write(ranks_table(con, raw, raw$blocks[group, ]))
  })
}

# Hands the raw file of each launch to `take`, open. Returns notes; `so`: what becomes of a launch without
# one.
each_raw <- function(dirs, so, take) {
  unlist(lapply(unique(normalizePath(unlist(lapply(dirs, find_launches)))), function(dir) {
    info <- read_launch_json(file.path(dir, "launch.json"))
    file <- raw_file_of(dir, info)
    if (is.null(file)) {
      return(paste0("launch ", info$launch, " has no raw file (it ran without raw=FILE)", so))
    }
    raw <- raw_index(file, info)
    con <- file(raw$file, "rb")
    on.exit(close(con))
    take(raw, con)
    raw$notes
  }))
}

# Reading slices.HOST.bin: how long every few hundred operations of the loop took
# (docs/reference/formats.md, "slices.HOST.bin").

slices_version_known <- 1
slices_head_words <- 13  # of a block, before its slices
slices_magic <- sum(as.integer(charToRaw("SLCE")) * 256^(0:3))

# A slices.HOST.bin of the launch `info`: `host`, `blocks` (in the order of the file: `operation`, `bytes`,
# `arm`, `pair`, `order`, `start_ns` (CLOCK_MONOTONIC), `operations` (per slice), `first` (index of its
# first slice), `n`, `cut` (its last slices are missing)), `ns` (length of each slice), `notes`. Signals
# `nl_error_schema` for a version it does not know, and `nl_error_damaged` with file and byte. A launch that
# did not end as `complete` may end within a block, which is left out and noted; one that ends within its
# header has no blocks.
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
  notes <- if (got$start + 4 * at$end < size) refuse_cut(info, file, byte_of(at$end + 1))
  blocks <- slice_blocks(words, at$starts, header, file, byte_of)
  of_block <- rep(seq_along(at$starts), blocks$n)
  within <- sequence(blocks$n)
  ns <- if (length(of_block) == 0) {
    numeric()
  } else {
    u32(words[at$starts[of_block] + slices_head_words - 1 + within])
  }
  check_slice_sums(words, at$starts, ns, of_block, within, file, byte_of)
  if (any(blocks$cut)) {
    notes <- c(
      notes,
      sprintf("%s: %d blocks lack their last slices: the loop was faster than the pilot", file,
              sum(blocks$cut))
    )
  }
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
  list(
    host = sub("^slices\\.(.+)\\.bin$", "\\1", basename(file)),
    ns = numeric(),
    blocks = data.frame(operation = character(), bytes = numeric(), arm = character(), pair = numeric(),
                        order = numeric(), start_ns = numeric(), operations = numeric(), first = numeric(),
                        n = numeric(), cut = logical()),
    notes = sprintf("%s: the launch ended before it was written; it has no slices", file)
  )
}

# Where blocks begin (word numbers), and the last word of the last whole one.
block_starts <- function(words, file, byte_of) {
  starts <- numeric()
  at <- 1
  while (at + slices_head_words - 1 <= length(words)) {
    if (words[at] != slices_magic) {
      abort_damaged_byte(file, byte_of(at),
                         "no block begins here (wanted SLCE): the file is damaged; copy it again")
    }
    next_at <- at + slices_head_words + u32(words[at + 10])
    if (next_at - 1 > length(words)) break
    starts[length(starts) + 1] <- at
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
  if (!is.na(bad)) {
    abort_damaged_byte(
      file, byte_of(starts[bad]),
      "the block names an operation or an arm that the header has not: the file is damaged; copy it again"
    )
  }
  data.frame(header$configs[config + 1, ], arm = header$arms$arm[arm + 1], pair = wide(5), order = column(3),
             start_ns = wide(7), operations = column(9), first = cumsum(c(1, n))[seq_along(n)], n = n,
             cut = bitwAnd(words[starts + 4], 2L) > 0, row.names = NULL)
}

# The two sums of each block: of its words, and of its words times their number, both without what exceeds
# 32 bits.
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
  weighted[has] <- weighted[has] +
    as.numeric(rowsum(((within + 10) * ns) %% modulus, of_block, reorder = FALSE))
  wrong <- which(
    plain %% modulus != u32(words[starts + 11]) | weighted %% modulus != u32(words[starts + 12])
  )[1]
  if (!is.na(wrong)) {
    abort_damaged_byte(file, byte_of(starts[wrong]),
                       "the sums of this block are wrong: the file is damaged; copy it again")
  }
}
