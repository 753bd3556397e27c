test_that("the interval of a difference keeps each side of both intervals", {
  # by hand: 3 - 1; low: 2 - sqrt(1^2 + 0.5^2), high: 2 + sqrt(2^2 + 0.25^2)
  got <- difference_of(3, 2, 5, 1, 0.75, 1.5)
  expect_equal(got$value, 2)
  expect_equal(got$low, 2 - sqrt(1.25))
  expect_equal(got$high, 2 + sqrt(4 + 0.0625))
  # of normal estimates it is the usual one
  usual <- difference_of(1, 1 - 3, 1 + 3, 0, -4, 4)
  expect_equal(c(usual$low, usual$high), 1 + c(-5, 5))
  expect_true(is.na(difference_of(1, NA, 2, 0, 0, 0)$low))
})

rows_of <- function(bursts, beyond, whole, unseen = 0.01) {
  ends <- function(name, x) {
    stats::setNames(data.frame(x[1], x[2], x[3]), paste0(name, c("", "_low", "_high")))
  }
  cbind(data.frame(operation = "barrier", bytes = 0, ranks = 2, new = "new", old = "old"),
        ends("bursts", bursts), ends("beyond", beyond), ends("whole", whole),
        data.frame(unseen = unseen, cpu = 0.1, needs_s = 90))
}

test_that("pass, fail and undecided follow from bursts, other effects and what was not seen", {
  verdict <- function(..., margin = 0.2) version_verdict(rows_of(...), margin)
  expect_equal(verdict(c(0, -0.02, 0.02), c(0, -0.1, 0.1), c(0, -5, 5)), "pass")
  # what was not seen, or lies beyond, takes the pass away
  expect_equal(verdict(c(0, -0.02, 0.02), c(0, -0.1, 0.1), c(0, -5, 5), unseen = 0.3), "inconclusive")
  expect_equal(verdict(c(0, -0.02, 0.02), c(0, -0.3, 0.3), c(0, -5, 5)), "inconclusive")
  # a version that is better beyond its bursts does not make room for worse ones
  expect_equal(verdict(c(0.25, 0.22, 0.28), c(-1, -2, -0.5), c(0, -5, 5)), "fail")
  expect_equal(verdict(c(0.5, 0.4, 0.6), c(0, -0.1, 0.1), c(0.5, -4, 5)), "fail")
  # unless the whole is shown to lie below: then the two contradict each other, and nothing fails
  expect_equal(verdict(c(0.5, 0.4, 0.6), c(0, -0.1, 0.1), c(-1, -1.5, -0.5), unseen = 1), "inconclusive")
  expect_equal(verdict(c(NA, NA, NA), c(NA, NA, NA), c(0.5, 0.3, 0.7)), "fail")
  expect_equal(verdict(c(NA, NA, NA), c(NA, NA, NA), c(0, -0.1, 0.1)), "pass")
  expect_equal(version_answer(data.frame(verdict = c("pass", "inconclusive"))), "inconclusive")
  expect_equal(version_answer(data.frame(verdict = c("inconclusive", "fail"))), "fail")
})

result_of <- function(rows, margin = 0.2) {
  rows$verdict <- if (is.null(margin)) NA else version_verdict(rows, margin)
  account <- function(percent) {
    list(accounts = data.frame(launch = "l1", cpu_percent = percent), analysis = NULL)
  }
  list(rows = rows, answer = if (!is.null(margin)) version_answer(rows), margin = margin, alpha = 0.01,
       names = c(new = "agent|2", old = "agent-1"), notes = character(),
       reports = list(new = account(0.5), old = account(0.4)))
}

test_that("the answer says the verdict, all three differences, and what would decide", {
  fail <- result_of(rows_of(c(0.5, 0.4, 0.6), c(0, -0.1, 0.1), c(0.5, -4, 5)))
  said <- version_sentences(fail)[1]
  expect_match(
    said,
    paste0("^Fail: new costs barrier more than 0.2 % above what old costs[.] Through its bursts new slows ",
           "barrier by 0.5 points more")
  )
  expect_match(said, "more than old (+0.400 to +0.600); by other effects +0.000 points", fixed = TRUE)
  open <- version_sentences(result_of(rows_of(c(0, -0.1, 0.1), c(0, -0.3, 0.3), c(0, -5, 5))))[1]
  expect_match(
    open,
    "^Undecided: .*Bursts of new that were not seen may cost 0.010 %[.] Measuring for 90 s in total decides"
  )
  expect_match(version_sentences(result_of(rows_of(c(0, -0.1, 0.1), c(0, -1, 1), c(0, -5, 5)), NULL))[1],
               "^Through its bursts")
  expect_match(versions_view(fail, "c")$sentences, "agent|2 uses 0.5 % of one CPU, agent-1 0.4 %.",
               fixed = TRUE, all = FALSE)
})

test_that("what switching alone could not tell on a busy machine is words, and no figure", {
  for (whole in list(c(56.8, NA, NA), c(-13, -70, 200), c(3, -Inf, Inf))) {
    busy <- result_of(rows_of(c(NA, NA, NA), c(NA, NA, NA), whole))
    busy$campaign <- list(rows = data.frame(arm = "off", preempted_ns_sum = 9e8, wall_ns = 1e9, ranks = 2))
    expect_match(
      version_sentences(busy)[1],
      paste0("^Undecided: whether new costs barrier 0.2 % more than old. By time nothing can be told of it: ",
             "the machine was too busy [(]other tasks held the ranks' CPUs 45 % of the time without it[)][.]")
    )
    expect_no_match(paste(table_lines(versions_table(busy)), collapse = " "), "[0-9]")
  }
})

test_that("a summary for a pull request and a test report hold the answer, and escape what names have", {
  fail <- result_of(rows_of(c(0.5, 0.4, 0.6), c(0, -0.1, 0.1), c(0.5, -4, 5)))
  view <- versions_view(fail, "c")
  text <- versions_markdown(fail, view)
  expect_equal(text[1], "### agent\\|2 against agent-1: fail")
  expect_match(text, "| barrier | +0.500 (+0.400 to +0.600) |", fixed = TRUE, all = FALSE)
  expect_equal(sum(grepl("^\\|", text)), 3)
  fail$names[["new"]] <- "a<b"
  xml <- versions_junit(fail, view)
  expect_match(xml, "<testsuite name=\"noiselab\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">",
               fixed = TRUE, all = FALSE)
  expect_match(xml, "classname=\"a&lt;b\" name=\"barrier", fixed = TRUE, all = FALSE)
  open <- versions_junit(result_of(rows_of(c(0, -0.1, 0.1), c(0, -0.3, 0.3), c(0, -5, 5))), view)
  expect_match(open, "<skipped message=", fixed = TRUE, all = FALSE)
  expect_match(open, "skipped=\"1\"", fixed = TRUE, all = FALSE)
  if (requireNamespace("xml2", quietly = TRUE)) {
    expect_equal(xml2::xml_attr(xml2::read_xml(paste(xml, collapse = "\n")), "failures"), "1")
  }
  # by switching alone there is nothing to say of bursts; names are no markup, and warnings are told
  alone <- fail
  alone$rows[c("bursts", "bursts_low", "bursts_high")] <- NA_real_
  alone$names[["new"]] <- "#1 [x](y) @a~b"
  view$warnings <- "busy_machine"
  text <- versions_markdown(alone, view)
  expect_equal(text[1], "### \\#1 \\[x\\](y) \\@a\\~b against agent-1: fail")
  expect_match(text, "| barrier | - | ", fixed = TRUE, all = FALSE)
  expect_match(text, "> busy\\_machine\n", fixed = TRUE, all = FALSE)
})

test_that("what is left of a campaign with one version has its rows and the rows without an agent", {
  rows <- data.table::data.table(launch = "l", operation = "barrier", bytes = 0, pair = c(1, 1, 2, 2, 3),
                                 arm = c("off", "on", "on", "off", "on"),
                                 kind = c(NA, "new", "old", NA, "new"))
  campaign <- list(rows = rows, launches = list(l = list(options = list(agent = "new", against = "old"))),
                   dirs = "c", agents = data.table::data.table(kind = c("", "new", "old")))
  expect_true(has_versions(campaign))
  new <- only_version(campaign, "new")
  expect_equal(new$rows$pair, c(1, 1, 3))
  expect_equal(new$agents$kind, c("", "new"))
  expect_false(has_versions(new))
  expect_error(compare_versions(list(launches = list(list(options = list(agent = "x"))), dirs = "c")),
               "two versions", class = "nl_error_data")
  # on a busy machine the time may be up before a round is whole
  expect_error(check_both_measured(list(new = list(answers = rows), old = list(answers = NULL)),
                                   c(new = "agent-2", old = "agent-1")),
               "whole with agent-1, so .*--seconds.*--wait-quiet", class = "nl_error_data")
  expect_silent(check_both_measured(list(new = list(answers = rows), old = list(answers = rows)),
                                    c(new = "agent-2", old = "agent-1")))
})
