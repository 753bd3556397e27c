two_dirs <- function(...) {
  side <- function(...) kept_campaign(pairs = 8, launches = 3, levels_percent = c(0, 5), ...)
  c(side(seed = 1, prefix = "a", ...), side(seed = 2, prefix = "b", operation_ns = 2200, ...))
}
delayedAssign("dirs", two_dirs())

test_that("the status answers the margin, and is 0 where none is asked about", {
  status <- function(...) status_of("noiselab-compare", dirs, ...)$status
  expect_equal(status(), 0L)
  expect_equal(status("--margin", "1%"), 1L)
  expect_equal(status("--margin=50%"), 0L)
  expect_equal(status_of("noiselab-compare", rev(dirs), "--margin", "1")$status, 0L)
  expect_equal(status_of("noiselab-compare", list.files(dirs[1], full.names = TRUE)[1],
                         list.files(dirs[2], full.names = TRUE)[1], "--margin", "1%")$status, 3L)
})

test_that("text, JSON and CSV say the same", {
  dirs <- two_dirs(operations = c("barrier", "reduce_scatter_block"), bytes = c(0, 1048576),
                   kinds = c("spin", "cache"))
  text <- status_of("noiselab-compare", dirs, "--margin", "1%", "--all")$out
  expect_lte(max(nchar(text)), 98)
  for (word in c("slower", "what differs", "launches like these of A and of B", "margin 1 %", "kind cache")) {
    expect_match(text, word, all = FALSE)
  }
  json <- jsonlite::fromJSON(status_of("noiselab-compare", dirs, "--json", "--margin", "1%")$out)
  expect_equal(json$schema, 1)
  expect_equal(json$program, "noiselab-compare")
  expect_equal(json$margin_percent, 1)
  expect_equal(json$answer, "fail")
  got <- status_of("noiselab-compare", dirs, "--csv", "--table", "rows")
  csv <- as.data.frame(data.table::fread(text = got$out))
  expect_equal(csv$effect, json$rows$effect, tolerance = 1e-9)
  expect_equal(names(csv), names(json$rows))
  more <- local_campaign(pairs = 4, launches = 2, levels_percent = 5, operations = c("barrier", "scan"),
                         prefix = "more", seed = 3)
  expect_match(status_of("noiselab-compare", dirs[1], more, "--csv")$err,
               "^noiselab-compare: note: only in B: scan", all = FALSE)
  expect_null(jsonlite::fromJSON(status_of("noiselab-compare", dirs, "--json")$out)$answer)
})

test_that("every wrong command line gets status 2 and one line", {
  for (args in list("a", c("a", "b", "c"), c("a", "b"), c(dirs[1], paste0(dirs[1], "/")),
                    c(dirs, "--json", "--csv"), c(dirs, "--margin", "-1%"), c(dirs, "--alpha", "2"),
                    c(dirs, "--power", "0"), c(dirs, "--pair"))) {
    expect_refused("noiselab-compare", args)
  }
})

test_that("--alpha and --power reach the comparison", {
  limit <- function(...) {
    jsonlite::fromJSON(status_of("noiselab-compare", dirs, "--json", ...)$out)$rows$detection_limit[1]
  }
  usual <- limit()
  expect_lt(limit("--alpha", "0.1"), usual)
  expect_lt(limit("--power", "0.6"), usual)
})
