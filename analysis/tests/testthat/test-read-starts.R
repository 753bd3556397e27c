launch_of <- function(dir) file.path(dir, "sim-1")
raw_bytes <- function(dir) {
  file <- file.path(launch_of(dir), "starts.bin")
  readBin(file, "raw", file.size(file))
}
put_bytes <- function(dir, bytes) writeBin(bytes, file.path(launch_of(dir), "starts.bin"))

# Two ranks, one block of two starts, as docs/reference/formats.md lays it out; took_ns of rank 0 in the
# second start is 5e9 and does not fit into 32 bits.
golden <- function() {
  header <- charToRaw(paste0(
    '{"launch":"sim-1","ranks":2,"mode":"window","late_bound_ns":1000,',
    '"configs":[{"operation":"barrier","bytes":0}],',
    '"arms":[{"arm":"off","level_requested_percent":0,"kind":null,"pattern":null,"placement":null,',
    '"phase":null}]}'
  ))
  hex <- function(...) as.raw(strtoi(strsplit(paste(...), " +")[[1]], 16))
  c(hex("4E 4C 53 54 41 52 54 53", "01 00 00 00", "DB 00 00 00"), header,
    hex("42 4C 43 4B", "00 00 00 00", "00 00 00 00", "02 00 00 00"),  # BLCK, config, arm, starts
    hex("01 00 00 00", "03 00 00 00", "01 00 00 00"),                 # order, switches, wide
    hex("00 00 00 00 00 00 1C 40", "00 00 00 00 00 00 10 40"),        # pair 7, first 4
    hex("00 00 00 00 00 00 00 00", "00 00 00 00 00 88 C3 40"),        # scheduled 0, 10000
    hex("05 00 00 00", "E9 03 00 00", "05 00 00 00", "E9 03 00 00", "2C 01 00 00", "00 00 00 80"),
    hex("0A 00 00 00", "14 00 00 00", "0A 00 00 00", "EC FF FF FF", "90 01 00 00", "F4 01 00 00"),
    hex("00 00 00 00", "02 00 00 00", "01 00 00 00", "00 00 00 20 5F A0 F2 41"))
}

test_that("a file written by hand is read as the contract says", {
  dir <- local_starts(raw = "starts.bin")
  put_bytes(dir, golden())
  got <- as.data.frame(read_starts(launch_of(dir)))
  wanted <- data.frame(start = c(4, 4, 5, 5), rank = c(0, 1, 0, 1), scheduled_ns = c(0, 0, 1e4, 1e4),
                       overshoot_ns = c(5, 10, 1001, 20), arrival_ns = c(5, 10, 1001, -20),
                       took_ns = c(300, 400, 5e9, 500), late = c(FALSE, FALSE, TRUE, TRUE), pair = 7,
                       order = 1, switches = 3, bytes = 0)
  expect_equal(got[names(wanted)], wanted, ignore_attr = TRUE)
  expect_equal(as.character(unique(got$operation)), "barrier")
  expect_true(all(is.na(got$kind)))
  got <- as.data.frame(read_starts(launch_of(dir), by = "start"))
  wanted <- data.frame(global_ns = c(410, 5e9 + 1001), spread_ns = c(5, 1021), after_last_ns = c(400, 5e9),
                       overshoot_ns = c(10, 1001), first_start_rank = c(0, 1), last_start_rank = c(1, 0),
                       last_end_rank = c(1, 0), late = c(FALSE, TRUE))
  expect_equal(got[names(wanted)], wanted, ignore_attr = TRUE)
})

test_that("what is written is read back, and agrees with the rows", {
  dir <- local_starts(raw = "starts.bin", ranks = 3, nodes = 2, operations = c("barrier", "bcast"),
                      bytes = c(0, 8), half_period_ns = 2e5, start = "round")
  starts <- read_starts(launch_of(dir), by = "start")
  rows <- as.data.frame(read_campaign(dir)$rows)
  by <- as.data.frame(starts)[c("pair", "order")]
  sums <- aggregate(
    data.frame(n = 1, as.data.frame(starts)[c("global_ns", "spread_ns", "after_last_ns")],
               late_starts = starts$late),
    by,
    sum
  )
  sums$overshoot_ns_max <- aggregate(starts$overshoot_ns, by, max)$x
  both <- merge(rows, sums, by = c("pair", "order"))
  expect_equal(nrow(both), nrow(rows))
  expect_equal(both$operations, both$n)
  for (name in c("global_ns", "spread_ns", "after_last_ns", "late_starts", "overshoot_ns_max")) {
    expect_equal(both[[paste0(name, ".x")]], both[[paste0(name, ".y")]])
  }
  ranks <- read_starts(launch_of(dir))
  expect_equal(nrow(ranks), 3 * nrow(starts))
  expect_equal(sum(ranks$rank == starts$last_end_rank[rep(seq_len(nrow(starts)), each = 3)]), nrow(starts))
  expect_equal(unique(as.character(ranks$kind[ranks$arm == "on"])), "spin")
})

test_that("many short blocks give what one long one gives", {
  dir <- local_starts(raw = "starts.bin")
  whole <- raw_index(file.path(launch_of(dir), "starts.bin"),
                     read_launch_json(file.path(launch_of(dir), "launch.json")))
  table <- read_starts(launch_of(dir))
  header <- raw_bytes(dir)[seq_len(whole$start)]
  con <- file(whole$file, "rb")
  values <- raw_values(con, whole, whole$blocks, 1)
  close(con)
  b <- whole$blocks[1, ]
  parts <- lapply(seq_len(b$n), function(i) {
    row <- function(m) m[i, , drop = FALSE]
    raw_block(b$config, b$arm, b$order, b$switches, b$pair, i - 1, values$scheduled[i], row(values$overshoot),
              row(values$arrival), row(values$took))
  })
  put_bytes(dir, c(header, unlist(parts)))
  expect_equal(as.data.frame(read_starts(launch_of(dir))), as.data.frame(table)[seq_len(b$n * 2), ],
               ignore_attr = TRUE)
})

test_that("a block cut short is left out and said in a killed launch, and an error in another", {
  cut <- function(dir, n) put_bytes(dir, utils::head(raw_bytes(dir), -n))
  for (n in c(1, 1500)) {
    dir <- local_starts(raw = "starts.bin", ended = NA)
    all <- read_starts(launch_of(dir), by = "start")
    cut(dir, n)
    some <- read_starts(launch_of(dir), by = "start")
    expect_lt(nrow(some), nrow(all))
    expect_equal(as.data.frame(some), as.data.frame(all)[seq_len(nrow(some)), ], ignore_attr = TRUE)
    expect_match(attr(some, "notes"), "within the block at byte [0-9]+; what follows is left out")
  }
  # not one whole block
  put_bytes(dir, utils::head(golden(), -1))
  expect_equal(nrow(read_starts(launch_of(dir))), 0)
  expect_equal(nrow(read_starts(launch_of(dir), by = "start")), 0)
  dir <- local_starts(raw = "starts.bin")
  cut(dir, 1)
  expect_error(read_starts(launch_of(dir)), "starts.bin: byte [0-9]+: the file ends within this block",
               class = "nl_error_damaged")
})

test_that("damage is named with file and byte", {
  dir <- local_starts(raw = "starts.bin")
  at <- function(byte, ...) replace(golden(), byte + seq_along(c(...)), as.raw(c(...)))
  # the header ends at byte 235, where the block begins; its values at 279
  cases <- list(list(at(0, 0x20), "byte 0: no raw file"),
                list(at(12, 0xff, 0xff), "byte 12: the header is longer"),
                list(at(16, 0x20), "byte 16: the header is no JSON"),
                list(at(28, 0x32), "byte 16: key 'launch'"),
                list(at(235, 0x20), "byte 235: no block begins here"),
                list(at(239, 9), "byte 239: config is 9"), list(at(243, 9), "byte 243: arm is 9"),
                list(at(259, 99), "byte 259: 99 wide values"),
                list(at(269, 0xf8, 0x7f), "byte 263: pair is NaN"), list(at(276, 0x11), "byte 271: first is"),
                list(at(293, 0xf0, 0x7f), "byte 287: scheduled_ns is not a number"),
                list(at(295, 0, 0, 0, 0x80), "byte 295: .*did not fit"),
                list(at(343 + 8, 0), "byte 343: a wide value for no field"),
                list(at(343 + 4, 9), "byte 343: a wide value for no field"),
                list(golden()[1:3], "byte 0: no raw file"))
  for (case in cases) {
    put_bytes(dir, case[[1]])
    expect_error(read_starts(launch_of(dir)), case[[2]], class = "nl_error_damaged")
  }
  put_bytes(dir, at(8, 2))
  expect_error(read_starts(launch_of(dir)), "version 2", class = "nl_error_schema")
})

test_that("a lost raw file is said, and 32-bit numbers without sign are read beyond 2^31", {
  dir <- local_starts(raw = "starts.bin")
  unlink(file.path(launch_of(dir), "starts.bin"))
  expect_error(read_starts(launch_of(dir)), "starts.bin is missing", class = "nl_error_data")
  expect_equal(u32(c(5L, -1L, NA)), c(5, 4294967295, 2147483648))
})
