# Whatever prints an answer prints the same one: what stands on the first screen stands in the JSON and in
# the report.

squashed <- function(text) trimws(gsub("[[:space:]]+", " ", paste(text, collapse = " ")))

# The text of a page's first box, without tags.
answer_box <- function(file) {
  html <- squashed(readLines(file, encoding = "UTF-8"))
  box <- sub("<section id=\"(?!answer)[a-z]+\".*$", "", html, perl = TRUE)
  text <- gsub("<[^>]+>", " ", box)
  for (code in list(c("&lt;", "<"), c("&gt;", ">"), c("&#39;", "'"), c("&quot;", "\""), c("&amp;", "&"))) {
    text <- gsub(code[1], code[2], text, fixed = TRUE)
  }
  squashed(text)
}

# Each sentence of the JSON stands on the screen as it is, or the screen says how many it left out; then in
# the report.
expect_one_answer <- function(words, dir, report = TRUE, program = "noiselab-analyze") {
  info <- paste(c(program, words), collapse = " ")
  screen <- status_of(program, words, dir)$out
  expect_lte(length(screen), 24, label = info)
  expect_lte(max(nchar(screen, "width")), 100, label = info)
  said <- jsonlite::fromJSON(paste(status_of(program, words, dir, "--json")$out,
                                   collapse = "\n"))$first_screen
  expect_gt(length(said), 0, label = info)
  shown <- vapply(said, function(sentence) grepl(squashed(sentence), squashed(screen), fixed = TRUE), TRUE)
  left_out <- sub(".*\\(and ([0-9]+) more sentences?\\).*", "\\1", squashed(screen))
  left_out <- if (grepl("^[0-9]+$", left_out)) as.integer(left_out) else 0
  expect_equal(sum(!shown), left_out, info = paste(c(info, said[!shown]), collapse = "\n"))
  if (!report) return(invisible())
  file <- file.path(local_folder(), "r.html")
  expect_equal(status_of("noiselab-report", dir, "--out", file)$status, 0L, info = info)
  box <- answer_box(file)
  for (sentence in said) {
    expect_true(grepl(squashed(sentence), box, fixed = TRUE), info = paste0(info, ": ", sentence, "\n", box))
  }
}

test_that("of a load: found, undecided on a busy machine, and several operations", {
  expect_one_answer(NULL, local_campaign(pairs = 20, levels_percent = c(0, 5), slowdown_percent = 5))
  expect_one_answer(
    NULL, local_campaign(pairs = 6, levels_percent = 1, slowdown_percent = 0, base_sd = 0.5, seed = 2)
  )
  expect_one_answer(
    NULL,
    local_campaign(pairs = 12, levels_percent = c(0, 0.3, 1),
                   operations = c("barrier", "allreduce", "alltoall"), launches = 2, seed = 3)
  )
})

test_that("of an agent: through its bursts, not found, and beside other work", {
  add <- function(burst_us, ..., env = parent.frame()) {
    dir <- local_folder(env)
    simulate_agent_campaign(dir, pairs = 12, operations = "barrier", bytes = 0,
                            agent_burst_ns = 1e3 * burst_us, ...)
    add_agent_slices(dir, burst_us)
    dir
  }
  expect_one_answer("agent", add(500, slowdown_percent = 0.5, seed = 3))
  expect_one_answer("agent", add(500, slowdown_percent = 0.5, base_sd = 0.5, seed = 4))
  expect_one_answer("agent", local_agent(pairs = 10, slowdown_percent = 0, seed = 5))
})

test_that("of acceptance: healthy, a slow node, and wrong data", {
  expect_one_answer("acceptance", local_acceptance(seed = 1))
  expect_one_answer("acceptance", local_acceptance(slow_node = 2, seed = 2))
})

test_that("of experiments without a report of their own kind", {
  dir <- local_campaign(pairs = 40, launches = 3, levels_percent = c(0, 2))
  expect_one_answer("stability", dir, report = FALSE)
  starts <- local_starts(pairs = 2, launches = 3, arms = "off", design = "single", base_sd = 0.05)
  expect_one_answer("reproducibility", starts, report = FALSE)
  expect_one_answer(c("--burst", "1ms", "--period", "100ms"), character(), report = FALSE,
                    program = "noiselab-project")
})
