written <- function(bytes) {
  file <- tempfile()
  writeBin(if (is.character(bytes)) charToRaw(bytes) else bytes, file)
  file
}

test_that("lines are read as they are, and what is no text is refused with its line", {
  expect_identical(read_text_lines(written("one\ntw\u00f6\n\nfour")), c("one", "tw\u00f6", "", "four"))
  expect_identical(read_text_lines(written(raw())), character())
  nul <- written(c(charToRaw("one\ntwo\nth"), as.raw(0), charToRaw("ree\n")))
  expect_error(read_text_lines(nul), paste0(nul, ":3: has a NUL byte"), fixed = TRUE,
               class = "nl_error_damaged")
  latin <- written(c(charToRaw("one\ntw"), as.raw(0xf6), charToRaw("\n")))
  expect_error(read_text_lines(latin), paste0(latin, ":2: is not UTF-8"), fixed = TRUE,
               class = "nl_error_damaged")
  expect_length(read_text_lines(latin, utf8 = FALSE), 2)
  long <- written(paste0("one\n", strrep("x", longest_line + 1), "\n"))
  expect_error(read_text_lines(long), paste0(long, ":2: is longer than 1000000 bytes"), fixed = TRUE,
               class = "nl_error_damaged")
})

test_that("a pipe and a device are refused at once", {
  pipe <- tempfile()
  expect_identical(system2("mkfifo", pipe), 0L)
  expect_error(read_text_lines(pipe), "is not a regular file", class = "nl_error_usage")
  expect_error(read_json_file(pipe), "is not a regular file", class = "nl_error_usage")
  expect_error(read_text_lines("/dev/zero"), "is not a regular file", class = "nl_error_usage")
})

test_that("JSON is read, and what is none never reaches the parser's message", {
  expect_identical(read_json_file(written('{"a": [1, {"b": null}]}')), list(a = list(1L, list(b = NULL))))
  for (text in c('{"schema": 1, %p }', '{"schema": 1,\n %s%s%s%s%n }', "{", "", "%n", '{"a": "\u0001"}')) {
    file <- written(text)
    said <- expect_error(read_json_file(file), class = "nl_error_damaged")
    expect_match(conditionMessage(said), "not a JSON file", fixed = TRUE)
    expect_no_match(conditionMessage(said), "0x|%")
  }
  deep <- written(paste0("\n", strrep("[", 1e5)))
  expect_error(read_json_file(deep), paste0(deep, ":2: not a JSON file (nested too deeply)"), fixed = TRUE,
               class = "nl_error_damaged")
  nul <- written(c(charToRaw('{"a":\n"'), as.raw(0), charToRaw('"}')))
  expect_error(read_json_file(nul), paste0(nul, ":2: has a NUL byte"), fixed = TRUE,
               class = "nl_error_damaged")
})

test_that("a table of LIKWID is not believed how long it is", {
  file <- written(
    "TABLE,Region barrier:off,Group 1 Metric,CLOCK,900000000\nMetric,HWThread 0\nClock [MHz],2400\n"
  )
  before <- gc(reset = TRUE)
  expect_error(read_likwid(file), "the table that begins in line 1 ends after 1 of 9e+08 rows", fixed = TRUE,
               class = "nl_error_damaged")
  expect_lt(gc()[2, 6], before[2, 6] + 100) # MB
})

test_that("a cell that is no UTF-8 is refused with file, line and column", {
  dir <- local_campaign(pairs = 5)
  file <- list.files(dir, "^halves.csv$", recursive = TRUE, full.names = TRUE)[1]
  lines <- readLines(file)
  lines[3] <- sub("(,[0-9]+)(,[0-9.]*)$", "\\1\xb5\\2", lines[3], useBytes = TRUE)
  writeLines(lines, file, useBytes = TRUE)
  said <- expect_error(read_campaign(dir), class = "nl_error_damaged")
  expect_match(conditionMessage(said), "halves.csv:3: .* wanted UTF-8")
})

test_that("a line of many blanks takes no time that grows with their square", {
  file <- tempfile("limits")
  writeLines(c("# ours", paste0("detour.lost", strrep(" ", 60000), "<= 1 percent  # mine")), file)
  took <- system.time(lines <- read_stripped_lines(file))[["user.self"]]
  expect_equal(lines, c("", "detour.lost <= 1 percent"))
  # it took 13 s of CPU time
  expect_lt(took, 2)
})

test_that("a published table is refused at once for a cell of blanks, and in a line that can be read", {
  file <- tempfile("summary")
  writeLines(c("table,config,op,bytes,count,nodes,level_percent,mean_s,sd_s,n",
               paste0("1,I,allreduce,2048,100,4,", strrep(" ", 120000), strrep("[", 500), ",318.7,3.19,6"),
               paste0("1,I,allreduce,2048,100,4,[", strrep(" ", 120000), "[,318.7,3.19,6")), file)
  took <- system.time(error <- tryCatch(read_summary(file), error = conditionMessage))[["user.self"]]
  expect_match(error, ":2: level_percent is '\\[+\\.\\.\\.', wanted a finite number", perl = TRUE)
  expect_lt(nchar(error) - nchar(file), 120)
  # looking for blanks at an end took 24 s of CPU time
  expect_lt(took, 3)
})
