# Traces in R, by the reader of the generator. What it takes and refuses: tests/unit/common/trace,
# tests/cli/traces.bats.

local_trace <- function(lines, env = parent.frame()) {
  file <- tempfile(fileext = ".trace")
  do.call(on.exit, list(bquote(unlink(.(file))), add = TRUE), envir = env)
  writeLines(lines, file)
  file
}

test_that("a damaged trace is named by file and line, when it is read", {
  refused <- function(lines, message) {
    expect_error(read_bursts(local_trace(lines)), message, class = "nl_error_damaged")
  }
  refused(c("# source: cpu", "0\t1\t1", "5\tx\t1"), ":3: the duration is not a positive whole number")
  refused(c("0\t1\t1", "5\t1"), ":2: has 2 columns, the lines before it have 3")
  refused(c("9\t1\t1", "", "5\t1\t1"), ":3: starts before the burst above it")
  refused("7", ":1: has no duration")
  expect_error(read_bursts(tempfile()), "is missing", class = "nl_error_data")
  expect_error(read_trace(local_trace("# nothing")), "holds no burst", class = "nl_error_damaged")
  expect_error(read_trace(local_trace("5\t1000")), "has no level", class = "nl_error_data")
})

test_that("a trace that a launch left may be empty or cut, and earlier versions' may overlap", {
  none <- read_bursts(local_trace(c("# source: thread", "# lost: 3")))
  expect_equal(nrow(none), 0)
  expect_named(none, c("start_ns", "duration_ns", "cpu", "kind", "task"))
  expect_equal(attr(none, "keys")$lost, "3")
  file <- local_trace(c("# source: cpu", "0\t10\t1\t-\ta", "5\t0\t1\t-\tb"))
  cat("70\t1\t1", file = file, append = TRUE)
  bursts <- read_bursts(file)
  expect_equal(bursts$duration_ns, c(10, 0))
  expect_equal(bursts$task, c("a", "b"))
  expect_error(read_trace(file), ":3: ", class = "nl_error_damaged")
})

test_that("columns, comments and the length of a trace are read, in any order, and long times exactly", {
  bursts <- read_bursts(local_trace(c("# host: n1", "7\t500\t3\tspin\tcron", "# span_ns: 9000",
                                      "2000\t600\t3\t-\t-", "# lost: 2")))
  expect_equal(
    bursts,
    data.frame(start_ns = c(7, 2000), duration_ns = c(500, 600), cpu = 3, kind = c("spin", NA),
               task = c("cron", NA)),
    ignore_attr = c("keys", "span_ns", "has_span", "percent", "words", "converted")
  )
  expect_equal(attr(bursts, "keys"), list(host = "n1", span_ns = "9000", lost = "2"))
  expect_match(attr(bursts, "words"), "^2 bursts on 1 CPU in 9 us: busy for 12.2 % of a CPU, ")
  # beyond 2^53 times count from the first burst
  far <- read_bursts(local_trace(c("1800000000000000001\t500", "1800000000000001003\t500")))
  expect_equal(far$start_ns, c(0, 1002))
})

test_that("a user's trace is seconds from the begin of the time watched, of one node or several", {
  recorded <- local_trace(c("# origin_monotonic_ns: 5", "# span_ns: 2000000000",
                            "500000000\t1000000\t1\t-\ta", "1000000000\t2000000\t0\t-\tb"))
  one <- read_trace(recorded)
  expect_equal(one,
               data.frame(cpu = c(1, 0), start_s = c(0.5, 1), stop_s = c(0.501, 1.002), task = c("a", "b")),
               ignore_attr = c("watched_s", "tasks", "percent", "words", "converted", "keys"))
  expect_equal(attr(one, "watched_s"), 2)
  # without a recorder's word it begins with the first burst, and ends a mean distance behind the last one
  plain <- local_trace(c("500000000\t1000000", "700000000\t1000000"))
  expect_equal(read_trace(plain)$start_s, c(0, 0.2))
  expect_equal(attr(read_trace(plain), "watched_s"), 0.4)
  both <- read_traces(c(recorded, plain), tasks = "b")
  expect_equal(both$node, 1)
  expect_equal(both$task, "b")
  expect_equal(attr(both, "watched_s"), c(2, 0.4))
  expect_equal(attr(both, "tasks"), c("a", "b"))
  expect_equal(read_traces(c(recorded, plain))$node, c(1, 1, 2, 2))
})

test_that("of many traces the busiest is said, and the range of the others", {
  here <- environment()
  files <- vapply(1:5,
                  function(i) local_trace(c("# span_ns: 1000000000", sprintf("0\t%d", i * 1000000)), here),
                  "")
  expect_length(attr(read_traces(files[1:3]), "words"), 3)
  words <- attr(read_traces(files), "words")
  expect_length(words, 2)
  expect_match(words[1], paste0(basename(files[5]), ": 1 burst in 1 s: busy for 0.5 % of a CPU"),
               fixed = TRUE)
  expect_equal(words[2], "of the 5 traces this is the busiest; the others are busy for 0.1 to 0.4 % of a CPU")
})
