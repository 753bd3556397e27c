test_that("a word that is near to a known one is asked about, others get the list", {
  known <- c("time", "preempted", "detour", "base")
  expect_equal(nearest_word("tiem", known), "time")
  expect_equal(nearest_word("pre", known), "preempted")
  expect_equal(nearest_word("Base", known), "base")
  expect_equal(nearest_word("detours", known), "detour")
  expect_equal(nearest_word("xyz", known), NA_character_)
  expect_equal(nearest_word("", known), NA_character_)
  expect_equal(did_you_mean("tmie", known), " (did you mean time?)")
  expect_equal(did_you_mean("xyz", known), " (try time, preempted, detour, base)")
  # two that begin alike: neither
  expect_equal(nearest_word("--al", c("--alpha", "--all", "--csv")), "--all")
})

test_that("slips in options, analyses, channels and tables are met halfway", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  says <- function(text, ...) {
    got <- status_of("noiselab-analyze", ...)
    expect_equal(got$status, 2L)
    expect_match(got$err, text, fixed = TRUE, all = FALSE)
  }
  says("unknown option '--alhpa' (did you mean --alpha?)", "--alhpa", "0.05", dir)
  says("unknown option '--frobnicate' (try --help)", "--frobnicate", dir)
  says("--channel: 'tiem' is not a channel (did you mean time?)", "--channel", "tiem", dir)
  says("'agnet' is neither a directory nor an analysis (did you mean agent?)", "agnet", dir)
  says("--table: 'verdict' is not a table (did you mean verdicts?)", dir, "--csv", "--table", "verdict")
})

test_that("a file of limits reports all its errors at once", {
  file <- tempfile()
  writeLines(c("# ours", "detuor.alone.lost <= 0.1 percent", "detour.alone.lost <= 0.1 percnt", "nonsense"), file)
  error <- tryCatch(read_limits(file), error = identity)
  expect_s3_class(error, "nl_error_damaged")
  expect_match(conditionMessage(error), ":2: unknown check 'detuor' \\(did you mean detour\\?\\); .*:3: unknown unit .*did you mean percent.*; .*:4: ")
  unlink(file)
})
