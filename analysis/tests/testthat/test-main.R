# Processes of these programs are run by tests/cli; status_of() needs none.
test_that("usage and data errors have their own status and one line each, and JSON stands alone on stdout", {
  expect_refused("noiselab-analyze", c("--jsn", "x"), "noiselab-analyze: unknown option '--jsn'")
  expect_refused("noiselab-analyze", local_folder(), "noiselab-analyze: no launch in", 3L)
  got <- status_of("noiselab-analyze", "--json", "--channel", "time,preempted",
                   local_campaign(pairs = 10, levels_percent = c(0, 5)))
  expect_equal(got[c("status", "err")], list(status = 0L, err = character()))
  expect_equal(jsonlite::fromJSON(got$out)$schema, 1)
})

test_that("every wrong command line gets status 2 and one line", {
  for (args in list(character(), c("a", "--alpha", "x"), c("a", "--alpha"), c("a", "--channel", "tiem"),
                    c("a", "--json", "--csv"), c("a", "--json=1"), c("-x", "a"), c("a", "--table", "cost"),
                    c("a", "--csv", "--table", "costs"),
                    c("summary", "no-such.csv", "--csv", "--table", "cost"), c("summary"),
                    c("summary", "no-such.csv"), "no-such-dir")) {
    expect_refused("noiselab-analyze", args)
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
  for (name in plot_table()$name) {
    expect_equal(grepl(paste0("\n  ", name, " "), help, fixed = TRUE),
                 !name %in% c("acceptance-trend", "scale"), label = name)
  }
})

test_that("words that answer an experiment of their own say all that is asked of them", {
  words <- own_words()
  expect_true(all(c("intervals", "reproducibility", "stability") %in% names(words)))
  for (name in names(words)) {
    word <- words[[name]]
    lacking <- setdiff(c("operands", "run", "help", "question", "sentences"), names(word))
    expect_equal(lacking, character(), info = sprintf("word_%s()", name))
    expect_equal(names(formals(word$run)), c("operands", "values", "form"), info = sprintf("word_%s()", name))
  }
})

test_that("summary prints text, JSON and CSV, and --out writes a file", {
  file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
  summary <- function(...) status_of("noiselab-analyze", "summary", file, ...)$out
  expect_match(summary(), "alltoall", all = FALSE)
  got <- json_of("summary", file)
  expect_equal(nrow(got$rows), 15)
  expect_true(all(
    c("table", "config", "op", "bytes", "level_percent", "slowdown_percent", "rule_p", "rule_n",
      "welch_p_one_sided", "welch_p_two_sided", "holm_p") %in% names(got$rows)
  ))
  expect_true(all(c("threshold_rule_p_percent", "threshold_rule_n_percent") %in% names(got$configurations)))
  out <- file.path(local_folder(), "summary.csv")
  expect_equal(summary("--csv", "--out", out), character())
  expect_equal(readLines(out), summary("--csv"))
})

test_that("an unexpected failure has status 70", {
  said <- utils::capture.output(status <- run_front_end("noiselab-analyze", function() stop("odd")),
                                type = "message")
  expect_equal(status, 70L)
  expect_equal(said, "noiselab-analyze: odd")
})

test_that("--csv prints the table asked for", {
  dir <- local_campaign(pairs = 10, levels_percent = 5, kinds = c("spin", "cache"))
  table <- function(...) data.table::fread(text = status_of("noiselab-analyze", dir, "--csv", ...)$out)
  expect_equal(table()$kind[1], "cache")
  for (name in csv_tables) {
    expect_true("kind" %in% names(table("--table", name, "--channel", "time,preempted")))
  }
})
