test_that("slips in options, analyses, channels and tables are met halfway", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  says <- function(text, ...) expect_refused("noiselab-analyze", c(...), text)
  says("unknown option '--alhpa': did you mean --alpha\\?", "--alhpa", "0.05", dir)
  says("unknown option '--frobnicate' \\(try --help\\)", "--frobnicate", dir)
  says("--channel: 'tiem' is not a channel: did you mean time\\?", "--channel", "tiem", dir)
  says("'agnet' is neither a directory nor an analysis: did you mean agent\\?", "agnet", dir)
  says("--table: 'verdict' is not a table: did you mean verdicts\\?", dir, "--csv", "--table", "verdict")
})

test_that("the word that was meant is named, as the programs in C name it, and nothing is guessed where nothing is near", {
  ops <- c("barrier", "allreduce", "alltoall", "bcast")
  for (typed in c("allredcue", "AllReduce", "allr")) expect_equal(did_you_mean(typed, ops), ": did you mean allreduce?")
  expect_equal(did_you_mean("bcat", ops), ": did you mean bcast?")
  expect_equal(did_you_mean("agnet", c("nodes", "agent")), ": did you mean agent?")
  expect_equal(did_you_mean("agnet", "agent"), ": did you mean agent?")
  expect_equal(did_you_mean("half_period", "half-period", before = "--"), ": did you mean --half-period?")
  for (typed in c("foo", "", "x", "zzzzzzzzzzzz")) expect_equal(did_you_mean(typed, ops, ""), "")
  expect_equal(did_you_mean("barrier", character(), ""), "")
  expect_equal(did_you_mean("foo", ops), " (try barrier, allreduce, alltoall, bcast)")
})

test_that("a time takes its unit, but where the option's name says it", {
  expect_equal(duration_option("10ms", "--half-period"), 0.01)
  expect_equal(duration_option("2min", "--half-period"), 120)
  expect_error(duration_option("10", "--half-period"), "'10' is not a positive duration with its unit", class = "nl_error_usage")
  expect_equal(duration_option("10", "--seconds"), 10)
  expect_equal(size_option("2"), 2)
})

test_that("every program prints its help with every option, and lists its tables for completion: four fields on a line", {
  for (name in names(programs())) {
    help <- status_of(name, "--help")
    expect_equal(help$status, 0L)
    expect_match(help$out[1], paste0("Usage: ", sub("-", " ", name)))
    for (o in programs()[[name]]$options()) expect_match(help$out, paste0("^  --", o$name, "( |$)"), all = FALSE)
    got <- status_of(name, "--list-tables")
    expect_equal(got$status, 0L)
    fields <- strsplit(got$out, "\t", fixed = TRUE)
    expect_true(all(lengths(fields) == 4 & vapply(fields, function(f) all(nzchar(f)), TRUE)))
    expect_true("--help" %in% vapply(fields, `[`, "", 2))
  }
  expect_error(run_program("noiselab-none"), class = "nl_error_usage")
})
