# perfctr-*.csv: written by printOutput() of LIKWID 5.2.2 itself (its Lua library, with invented counts:
# this needs no counters), of which the tables and rows that are asked for were kept; mpirun-mem.csv: by
# hand, as printMpiOutput() of its likwid-mpirun writes.
likwid_file <- function(name) test_path("likwid", name)

# The file with some lines changed, removed at the end of the test.
changed <- function(name, change, env = parent.frame()) {
  file <- file.path(local_folder(env), "likwid.csv")
  writeLines(change(readLines(likwid_file(name))), file)
  file
}

test_that("the metrics of every region and thread are read, and nothing else", {
  rows <- read_likwid(likwid_file("perfctr-clock.csv"))
  expect_equal(nrow(rows), 4 * 2 * 2) # regions, metrics, threads
  expect_equal(unique(rows$region),
               c("barrier:off", "barrier:collectd", "alltoall_2048:off", "alltoall_2048:collectd"))
  clock <- rows[rows$metric == "Clock [MHz]", ]
  expect_equal(clock$value[1:4], c(2400, 2400.5, 2290, 2290.5))
  expect_equal(clock$thread[1:2], c("HWThread 0", "HWThread 1"))
  expect_equal(unique(rows$group), "CLOCK")
  expect_length(attr(rows, "raw_only"), 0)
})

test_that(paste0("the form of likwid-mpirun is read, what a thread does not count is unknown, and a region ",
                 "with counts only is told apart"), {
  rows <- read_likwid(likwid_file("mpirun-mem.csv"))
  expect_equal(unique(rows$thread), c("node1:0:0", "node1:1:1"))
  expect_equal(rows$value[rows$metric == "Memory bandwidth [MBytes/s]"], c(20.5, NA))
  rows <- read_likwid(changed("mpirun-mem.csv", function(x) x[1:4]))
  expect_equal(nrow(rows), 0)
  expect_equal(attr(rows, "raw_only"), "barrier:off")
})

test_that("lines of other programs between the tables are passed over", {
  file <- changed("perfctr-clock.csv", function(x) {
    c("Hello, world", "----", x[1:2], "a warning,with commas", x[-(1:2)], "bye")
  })
  expect_equal(read_likwid(file)$value, read_likwid(likwid_file("perfctr-clock.csv"))$value)
})

test_that("damage is refused with file and line, and a file without marker regions says what was wanted", {
  refused <- function(change, words, class = "nl_error_damaged") {
    expect_error(read_likwid(changed("mpirun-mem.csv", change, parent.frame())), words, class = class)
  }
  refused(function(x) x[1:7], "likwid.csv:7: the table that begins in line 5 ends after 1 of 3 rows")
  refused(function(x) x[-9], "likwid.csv:9: the table that begins in line 5 ends after 2 of 3 rows")
  refused(function(x) sub("0.7000,0.7000", "0.7000,0.7x", x, fixed = TRUE),
          "likwid.csv:8: '0.7x' is not a number")
  refused(function(x) sub("^CPI,0.7000,0.7000$", "CPI,0.7000", x), "likwid.csv:8: has 2 fields, wanted 3")
  refused(function(x) x[-6], "likwid.csv:6: the table that begins in line 5 has no line of names")
  refused(function(x) x[1:5], "likwid.csv:5: the table that begins in line 5 has no line of names")
  refused(function(x) sub("MEM,2$", "MEM,many", x), "likwid.csv:1: .* is not the head of a table")
  refused(function(x) "Marker API result file does not exist.", "wanted the output of likwid-perfctr -m -O",
          "nl_error_data")
  refused(function(x) sub("Region barrier:off,", "", x), "run likwid-perfctr with -m", "nl_error_data")
  expect_error(read_likwid("nowhere.csv"), "missing", class = "nl_error_data")
})
