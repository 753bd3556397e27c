written <- function(..., ext = ".csv") {
  file <- tempfile(fileext = ext)
  writeLines(as.character(c(...)), file)
  file
}
values_of <- function(..., column = NULL) read_values(written(...), column)
damaged <- function(line, words, ..., column = NULL) {
  file <- written(...)
  got <- expect_error(read_values(file, column), class = "nl_error_damaged")
  expect_match(conditionMessage(got), paste0(basename(file), ":", line, ": "), fixed = TRUE)
  expect_match(conditionMessage(got), words)
}

table_of_omb <- function(values, head = "# Size       Avg Latency(us)   Max Latency(us)") {
  c("[host:12] Rank 0 bound to package[0][core:0]", "", "# OSU MPI Allreduce Latency Test v7.3",
    "# Datatype: MPI_CHAR.", head, sprintf("%-12d %12.2f %12.2f", c(8L, 1024L), values, 2 * values))
}

hyperfine <- function(commands) {
  as.character(jsonlite::toJSON(list(results = lapply(names(commands), function(name) {
    list(command = name, mean = mean(commands[[name]]), times = commands[[name]],
         exit_codes = I(rep(0, length(commands[[name]]))))
  })), auto_unbox = TRUE, digits = NA))
}

test_that("plain columns, with and without a header", {
  got <- values_of("# taken on Monday", "10.247", "", " 12 ", "9.978e0")
  expect_equal(got$rows$value, c(10.247, 12, 9.978))
  expect_equal(got$rows$line, c(2, 4, 5))
  expect_equal(values_of("time_us", "1", "2")$rows$unit, c("us", "us"))
  expect_equal(
    values_of("run,rate (MB/s)", "1,7", "2,9", column = "rate (MB/s)")$rows[c(
      "value", "unit"
    )],
    data.frame(value = c(7, 9), unit = "MB/s")
  )
  expect_equal(values_of("\"a,b\";time", "\"x;y\";3", "z;4", column = "time")$rows$value, c(3, 4))
  expect_error(values_of("run,time", "1,7"), "2 columns (run, time): say which", fixed = TRUE,
               class = "nl_error_usage")
  expect_error(values_of("run,time", "1,7", column = "tome"), "did you mean time", class = "nl_error_usage")
})

test_that("what is mixed up is refused with its line", {
  damaged(3, "'fast' is not a number", "1", "2", "fast")
  damaged(2, "'NaN' is not a number", "1", "NaN")
  damaged(2, "'1e999' is not a number", "1", "1e999")
  damaged(3, "3 fields, the header has 2", "a,b", "1,2", "1,2,3", column = "a")
  damaged(2, "2 values", "1", "2,3")
  damaged(8, "4 fields, the head of the table has 3", table_of_omb(c(1, 2)), "8 1 2 3", "1024 1 2")
  damaged(1, "values before the head", "8 2.5", table_of_omb(c(1, 2)))
  damaged(1, "neither hyperfine", "{\"what\": 1}")
  damaged(1, "no header with fields", "pass|2024-02-21|17")
  damaged(3, "2 fields, the header has 3", "result|bw_value|bw_unit", "pass|1|MB/s", "pass|2")
  damaged(2, "'quick' is not a number", "result|bw_value|bw_unit", "pass|quick|MB/s")
  expect_error(values_of(""), "is empty", class = "nl_error_data")
  expect_error(read_values(tempdir()), "no file", class = "nl_error_usage")
  expect_error(values_of(as.character(1:2001)), "give one value a run", class = "nl_error_usage")
})

test_that("each table of OMB is a run of each size", {
  got <- values_of(table_of_omb(c(2, 5)), table_of_omb(c(3, 6)))
  expect_equal(got$kind, "omb")
  expect_equal(got$rows$what, rep(c("Allreduce, 8 B", "Allreduce, 1024 B"), 2))
  expect_equal(got$rows$value, c(2, 5, 3, 6))
  expect_equal(unique(got$rows$unit), "us")
  expect_match(got$notes, "2 lines that belong to no table")
  expect_equal(values_of(table_of_omb(c(2, 5)), column = "Max Latency(us)")$rows$value, c(4, 10))
  barrier <- values_of("# OSU MPI Barrier Latency Test v7.3", "# Avg Latency(us)", "             1.53")
  expect_equal(unlist(barrier$rows[c("what", "value", "unit")], use.names = FALSE),
               c("Barrier", "1.53", "us"))
  rate <- values_of("# OSU MPI Multiple Bandwidth / Message Rate Test v7.3",
                    "# Size                  MB/s        Messages/s", "1   4.35   4350000.0")
  expect_equal(rate$rows$unit, "MB/s")
})

test_that("hyperfine's JSON has the runs, its CSV has not", {
  got <- values_of(hyperfine(list("sleep 1" = c(1.01, 1.02), "sleep 2" = c(2.01, 2.02))))
  expect_equal(got$rows$value, c(1.01, 1.02, 2.01, 2.02))
  expect_equal(unique(got$rows$unit), "s")
  expect_error(values_of("command,mean,stddev,median,user,system,min,max", "sleep 1,1,0.1,1,0,0,0.9,1.1"),
               "use --export-json", class = "nl_error_data")
  # One command each may be what is compared.
  both <- compare_values(values_of(hyperfine(list(old = 1:6 + 0.5))),
                         values_of(hyperfine(list(new = 11:16 + 0.5))))
  expect_equal(both$rows$verdict, "higher")
  expect_match(both$notes, "A is 'old', B is 'new'")
})

test_that("both forms of ReFrame's run report, and its perflog, say the same", {
  case <- function(...) {
    list(name = "stream", system = "cluster:gpu", environment = "gnu", result = "pass", ...)
  }
  old <- lapply(c(11, 12), function(v) {
    case(perfvars = list(list(name = "triad", value = v, unit = "GB/s", reference = 10)))
  })
  new <- lapply(c(11, 12), function(v) {
    case(perfvalues = list("cluster:gpu:triad" = list(v, 10, NULL, NULL, "GB/s", "pass")))
  })
  report <- function(cases) {
    as.character(jsonlite::toJSON(list(session_info = list(), runs = list(list(testcases = cases))),
                                  auto_unbox = TRUE, null = "null"))
  }
  for (cases in list(old, new)) {
    got <- values_of(report(cases))
    expect_equal(got$rows$value, c(11, 12))
    expect_equal(unique(got$rows$what), "stream cluster:gpu gnu triad")
    expect_equal(unique(got$rows$unit), "GB/s")
  }
  expect_error(values_of(report(new), column = "copy"), "no performance variable 'copy'",
               class = "nl_error_data")
  log <- values_of("result|name|system|partition|environ|triad_value|triad_unit|triad_ref",
                   "pass|stream|cluster|gpu|gnu|11|GB/s|10", "fail|stream|cluster|gpu|gnu|12|GB/s|10",
                   "pass|stream|cluster|gpu|gnu|None|GB/s|10")
  expect_equal(log$rows$value, c(11, 12))
  expect_equal(unique(log$rows$what), "stream cluster gpu gnu triad")
  expect_match(log$notes, "1 run of the test failed")
})

test_that("files of different kinds, columns or units are not compared", {
  refused <- function(a, b, words) expect_error(compare_values(a, b), words, class = "nl_error_usage")
  refused(values_of("1", "2"), values_of(table_of_omb(c(1, 2))), "a column of values.*tables of OMB")
  refused(values_of("t_us", "1"), values_of("t_ms", "1"), ":1: the column is 't_ms'")
  refused(values_of(table_of_omb(c(1, 2))),
          values_of("# OSU MPI Bcast Latency Test", "# Size   Avg Latency(us)", "8  1"), "nothing in common")
  other <- values_of(
    sub("(us)", "(ms)", table_of_omb(c(1, 2), "# Size       Avg Latency(us)   Latency (us)"), fixed = TRUE),
    column = "Avg Latency(ms)"
  )
  refused(values_of(table_of_omb(c(1, 2))), other, ":6: unit 'ms'")
})

test_that("the command line compares files, and says the same in text, JSON and CSV", {
  a <- written(10.247, 12.000, 9.978, 12.695, 13.080)
  b <- written(5.591, 6.217, 6.836)
  got <- status_of("noiselab-compare", a, b)
  expect_equal(got$status, 0L)
  expect_match(paste(got$out, collapse = " "), "No verdict at alpha 0.01", fixed = TRUE)
  expect_match(paste(got$out, collapse = " "), "1/56 = 0.0179", fixed = TRUE)
  expect_match(paste(got$out, collapse = " "), "5 new runs of each", fixed = TRUE)
  expect_equal(status_of("noiselab-compare", a, b, "--margin", "1%")$status, 3L)
  expect_equal(status_of("noiselab-compare", a, b, "--margin", "1%", "--alpha", "0.02")$status, 0L)
  expect_equal(status_of("noiselab-compare", b, a, "--margin", "1%", "--alpha", "0.02")$status, 1L)
  expect_equal(
    status_of("noiselab-compare", a, b, "--margin", "1%", "--alpha", "0.02", "--better", "higher")$status, 1L
  )
  json <- jsonlite::fromJSON(status_of("noiselab-compare", a, b, "--json")$out)
  expect_equal(json$rows$p_lower, 1 / 56)
  expect_equal(json$estimates$verdict, "inconclusive")
  expect_match(json$first_screen, "1/56", all = FALSE)
  csv <- data.table::fread(text = status_of("noiselab-compare", a, b, "--csv", "--table", "rows")$out)
  expect_equal(csv$effect, json$rows$effect, tolerance = 1e-9)
  closed <- jsonlite::read_json(system.file("schema", "analysis.json",
                                            package = "noiselab"))$properties$estimates$items$properties
  for (alpha in c("0.01", "0.1")) {
    row <- jsonlite::fromJSON(status_of("noiselab-compare", a, b, "--json", "--alpha", alpha)$out)$estimates
    for (name in c("n_unit", "verdict")) expect_true(row[[name]] %in% unlist(closed[[name]]$enum))
  }
  expect_equal(status_of("noiselab-compare", written(1), written(2))$status, 3L)
  for (args in list(c(a, a), c(a, tempdir()), c(a, b, "--better", "up"), c(a, b, "--column", "x"))) {
    expect_refused("noiselab-compare", args)
  }
  expect_refused("noiselab-compare", c(tempdir(), tempfile(), "--column", "x"))
})
