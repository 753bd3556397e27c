# The rule, case by case.

figure <- function(value, se = 0.01) figure_of_t(value, se, Inf)

test_that("what leads follows from what is on record, and the case from what lies beyond the bursts", {
  case <- function(...) agent_rule(...)[c("lead", "case", "found")]
  is <- function(lead, case, found = TRUE) list(lead = lead, case = case, found = found)
  expect_equal(case(figure(1.07), figure(1.06)), is("bursts", "agree"))
  expect_equal(case(figure(1.07), figure(-4.6, 4)), is("bursts", "open"))
  expect_equal(case(figure(1.07), figure(6.1, 0.4)), is("on/off", "more"))
  expect_equal(case(figure(1.07), figure(0, 0.1)), is("bursts", "less", FALSE))
  expect_equal(case(figure(1.07), NULL), is("bursts", "open"))
  expect_equal(case(NULL, figure(-4.6, 4)), is("on/off", "alone", FALSE))
  expect_equal(case(figure(1.07), figure(-50, 100), figure(0.01, 0.02), agree = 0.1), is("bursts", "agree"))
})

test_that("two claims have half of alpha each, one has all of it", {
  got <- agent_rule(figure(1, 0.1), figure(1, 10))
  expect_equal(c(got$low, got$high), 1 + c(-1, 1) * qnorm(0.995) * 0.1)
  expect_equal(got$beyond_most, diff(beyond_figure(figure(1, 10), figure(1, 0.1))$ends(0.005)) / 2, tolerance = 1e-5)
  alone <- agent_rule(NULL, figure(1, 0.1))
  expect_equal(c(alone$low, alone$high), 1 + c(-1, 1) * qnorm(0.99) * 0.1)
})

test_that("a pass needs the whole below the margin, or bursts, those unseen and what may lie beyond together", {
  side <- function(..., watched_s = 1e4) unlist(agent_rule(..., margin = 2, watched_s = watched_s)[c("margin_verdict", "margin_by")], use.names = FALSE)
  undecided <- c("inconclusive", NA)
  expect_equal(side(figure(1.07), figure(1.06)), c("below", "on/off"))
  # bursts below, the rest known to 5 % only: the record that passed by its bursts
  expect_equal(side(figure(1.07), figure(1.1, 2)), undecided)
  expect_equal(side(figure(1.07), figure(1.1, 2), figure(0.02, 0.1)), c("below", "bursts"))
  # watched so shortly that rare long bursts may cost more than what is left
  expect_equal(side(figure(1.07), figure(1.1, 2), figure(0.02, 0.1), watched_s = 10), undecided)
  expect_equal(side(NULL, figure(1, 0.1)), c("below", "on/off"))
  # an estimate far below 0 beyond the bursts is no pass
  expect_equal(side(figure(1.07), figure(-4.6, 4.6)), undecided)
})

test_that("a fail needs the whole above the margin, or bursts above and the whole not shown below", {
  side <- function(...) agent_rule(..., margin = 2, watched_s = 1e4)$margin_verdict
  expect_equal(side(figure(1), figure(6, 0.4)), "above")
  expect_equal(side(figure(2.5), figure(2, 5)), "above")
  expect_equal(side(figure(2.5), figure(0, 0.1)), "inconclusive")
  expect_equal(side(figure(2.5), NULL), "above")
  expect_equal(agent_rule(figure(2.5, 0.2), NULL, margin = 2)$p_above, 2 * pnorm(-2.5), tolerance = 1e-3)
})
