# Front ends run as processes, as the shell wrapper runs them.
run <- function(program, ...) {
  library_dir <- dirname(system.file(package = "noiselab"))
  script <- system.file("exec", "noiselab.R", package = "noiselab")
  out <- tempfile()
  err <- tempfile()
  on.exit(unlink(c(out, err)))
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script), program, shQuote(c(...))),
                    stdout = out, stderr = err, env = paste0("NOISELAB_R_LIB=", shQuote(library_dir)))
  list(status = status, out = readLines(out), err = readLines(err))
}

test_that("analyze prints a table and exits 0; JSON alone goes to stdout", {
  dir <- local_campaign(pairs = 10, levels_percent = c(0, 5))
  got <- run("noiselab-analyze", dir)
  expect_equal(got$status, 0)
  expect_match(got$out, "detected", all = FALSE)
  got <- run("noiselab-analyze", "--json", "--channel", "time,preempted", dir)
  expect_equal(got$status, 0)
  expect_equal(jsonlite::fromJSON(got$out)$schema, 1)
  expect_equal(got$err, character())
})

test_that("usage errors and data errors have their own status and one line each", {
  cases <- list(
    list(2, "noiselab-analyze: unknown option '--jsn'", c("--jsn", "x")),
    list(3, "noiselab-analyze: no launch in", dirname(tempfile(tmpdir = tempfile())))
  )
  dir.create(cases[[2]][[3]])
  for (case in cases) {
    got <- run("noiselab-analyze", case[[3]])
    expect_equal(got$status, case[[1]])
    expect_equal(length(got$err), 1)
    expect_match(got$err, case[[2]])
    expect_equal(got$out, character())
  }
})

# The rest of the command line needs no process: status_of() in the helper.
test_that("every wrong command line gets status 2 and one line", {
  for (args in list(character(), c("a", "--alpha", "x"), c("a", "--alpha"), c("a", "--channel", "tiem"),
                    c("a", "--json", "--csv"), c("a", "--json=1"), c("-x", "a"), c("a", "--table", "cost"),
                    c("a", "--csv", "--table", "costs"), c("summary", "no-such.csv", "--csv", "--table", "cost"), c("summary"),
                    c("summary", "no-such.csv"), "no-such-dir")) {
    got <- status_of("noiselab-analyze", args)
    expect_equal(got$status, 2L)
    expect_equal(length(got$err), 1)
    expect_match(got$err, "^noiselab-analyze: ")
  }
  expect_equal(status_of("noiselab-report", "--json", "a")$status, 2L)
})

test_that("help lists every channel, analysis, table and plot", {
  help <- paste(status_of("noiselab-analyze", "--help")$out, collapse = "\n")
  for (name in names(channels)) expect_match(help, name)
  for (word in analyze_words()) expect_match(help, paste("noiselab analyze \\[OPTIONS\\]", word$name))
  for (name in unlist(lapply(analyze_words(), `[[`, "tables"))) expect_match(help, name)
  help <- paste(status_of("noiselab-report", "--help")$out, collapse = "\n")
  # a report is of one campaign
  for (name in plot_table()$name) expect_equal(grepl(name, help, fixed = TRUE), name != "acceptance-trend", label = name)
})

test_that("summary prints text, JSON and CSV, and --out writes a file", {
  file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
  expect_match(status_of("noiselab-analyze", "summary", file)$out, "alltoall", all = FALSE)
  expect_equal(nrow(jsonlite::fromJSON(status_of("noiselab-analyze", "summary", "--json", file)$out)$rows), 15)
  expect_equal(length(status_of("noiselab-analyze", "summary", "--csv", file)$out), 16)
  out <- tempfile()
  expect_equal(status_of("noiselab-analyze", "summary", file, "--csv", "--out", out)$out, character())
  expect_equal(length(readLines(out)), 16)
  unlink(out)
})

test_that("an unexpected failure has status 70", {
  said <- utils::capture.output(status <- run_front_end("noiselab-analyze", function() stop("odd")), type = "message")
  expect_equal(status, 70L)
  expect_equal(said, "noiselab-analyze: odd")
})

test_that("--csv prints the table asked for", {
  dir <- local_campaign(pairs = 10, levels_percent = 5, kinds = c("spin", "cache"))
  table <- function(...) data.table::fread(text = status_of("noiselab-analyze", dir, "--csv", ...)$out)
  expect_equal(table()$kind[1], "cache")
  expect_equal(nrow(table("--table", "contrasts", "--channel", "time")), 1)
  for (name in csv_tables) expect_true(any(c("kind", "kind_a") %in% names(table("--table", name, "--channel", "time,preempted"))))
  # nothing to print is not an error
  dir <- local_campaign(pairs = 10, levels_percent = 5)
  expect_equal(status_of("noiselab-analyze", dir, "--csv", "--table", "contrasts")[c("status", "out")],
               list(status = 0L, out = character()))
})
