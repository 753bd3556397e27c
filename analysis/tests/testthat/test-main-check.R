# noiselab analyze --check-options: what noiselab run asks before it measures.

checked <- function(...) status_of("noiselab-analyze", "--check-options", ...)

test_that("good options are silent, of a campaign and of every analysis that has them", {
  file <- tempfile()
  on.exit(unlink(file))
  writeLines("rack1 n1 n2", file)
  for (args in list(
    character(), c("--margin", "1%", "--level", "0.1,1"), c("agent", "--margin", "1%:nodes=1000,every=1ms"),
    c("stability", "--spread", "5"),
    c("acceptance", "--classes", file, "--write", paste0("junit=", file, ".xml"), "--margin", "5"),
    c("periodic", "--arm", "off", "--period", "1s,100ms")
  )) {
    expect_equal(checked(args), list(status = 0L, err = character(), out = character()))
  }
})

test_that("each is refused as its answer would be, and no campaign is read", {
  refused <- function(text, ...) {
    got <- checked(...)
    expect_equal(got$status, 2L)
    expect_length(got$err, 1)
    expect_match(got$err, text, fixed = TRUE)
  }
  refused("--margin: '0,5' is not a percentage above 0 and below 100 (try 0.5%", "--margin", "0,5")
  refused("--margin: '1%:nodes=9,every=1ms' is of many nodes; noiselab run agent", "advise", "--margin",
          "1%:nodes=9,every=1ms")
  refused("--alpha: '1' is not a probability", "--alpha", "1")
  refused("--channel: 'tine' is not a channel: did you mean time?", "--channel", "tine")
  refused("--level: 'x' is not a list of levels", "--level", "x")
  refused("--margin does not apply to stability", "stability", "--margin", "1")
  refused("--spread: '0' is not a percentage", "stability", "--spread", "0")
  refused("'/nowhere' is not a directory", "acceptance", "--write", "junit=/nowhere/file")
  refused("'/dev/null' is a device, wanted a file name", "acceptance", "--write", "junit=/dev/null")
  refused("'/dev/full' is a device, wanted a file name", "acceptance", "--write", "junit=/dev/full")
  refused("--write: 'x=y' is not WHAT=FILE", "acceptance", "--write", "x=y")
  refused("'/nowhere/limits' is no file", "acceptance", "--limits", "/nowhere/limits")
  refused("--check-options: wanted one analysis, or none, got 'dir'", "agent", "dir")
})
