test_that("a margin's verdict is that of the interval of confidence 1 - 2 alpha", {
  # Estimate, standard error 1, normal: the 98 % interval is estimate +- 2.326, the margin +-5.
  word <- function(estimate) {
    margin_verdicts(pnorm(5 - estimate), pnorm(estimate - 5), pnorm(-5 - estimate), pnorm(estimate + 5), 0.01)
  }
  expect_equal(word(7.33), "slower by more than the margin")
  expect_equal(word(7.32), "inconclusive")
  expect_equal(word(2.68), "inconclusive")
  expect_equal(word(2.67), "within the margin")
  expect_equal(word(-2.67), "within the margin")
  expect_equal(word(-2.68), "within the margin or faster")
  expect_equal(word(-7.33), "faster by more than the margin")
})

test_that("slower by more needs Holm's correction over the rows, the others do not", {
  above <- c(0.006, 0.5, 0.999)
  got <- margin_verdicts(above, 1 - above, rep(0.001, 3), rep(0.999, 3), 0.01)
  expect_equal(got, c("inconclusive", "inconclusive", "within the margin"))
  expect_match(margin_reason(above, 0.01)[1], "Holm")
  expect_true(all(is.na(margin_reason(above, 0.01)[-1])))
  expect_equal(margin_verdicts(c(0.003, 0.5, 0.9), rep(0.9, 3), rep(0.9, 3), rep(0.9, 3), 0.01)[1],
               "slower by more than the margin")
})

test_that("all rows make one answer and its exit status", {
  w <- margin_words
  expect_equal(margin_answer(w[["within"]]), "pass")
  expect_equal(margin_answer(w[c("within", "below", "not_above")]), "pass")
  expect_equal(margin_answer(w[c("within", "open")]), "inconclusive")
  expect_equal(margin_answer(w[c("above", "open")]), "fail")
  expect_equal(margin_answer(character()), "inconclusive")
  expect_equal(vapply(c("pass", "fail", "inconclusive"), answer_status, 0L), c(pass = 0L, fail = 1L, inconclusive = 3L))
})

test_that("rows without a p-value are inconclusive", {
  expect_equal(margin_verdicts(NA_real_, NA_real_, NA_real_, NA_real_, 0.01), "inconclusive")
})

test_that("a margin is a percentage above 0, with or without its sign", {
  expect_equal(margin_option("1%"), 1)
  expect_equal(margin_option("0.25 %"), 0.25)
  expect_equal(margin_option("2"), 2)
  expect_null(margin_option(NULL))
  for (bad in c("0", "-1", "x", "1s", "100", "", "%")) {
    expect_error(margin_option(bad), "--margin", class = "nl_error_usage")
  }
})

# Halves of the hypervisor's time that explain a slowdown of 3 % away: what a covariate that moves with the load does.
explained_campaign <- function(declared = NULL) {
  campaign <- do.call(simulated_campaign, c(quiet, list(pairs = 60, levels_percent = 2, seed = 1)))
  rows <- campaign$rows
  at <- pair_rows(rows)
  d <- log(rows$wall_ns[at$on] / rows$operations[at$on] / (rows$wall_ns[at$off] / rows$operations[at$off]))
  steal <- rep(0, nrow(rows))
  steal[at$on] <- pmax(0, d) * rows$wall_ns[at$on]
  data.table::set(campaign$rows, j = "steal_ns", value = steal)
  for (id in names(campaign$launches)) campaign$launches[[id]]$options$adjust <- as.list(declared)
  campaign
}

test_that("an adjustment that was chosen after looking does not turn a margin", {
  late <- analyze_campaign(explained_campaign(), channels = "time", margin = 1, adjust = "steal")
  plain <- analyze_campaign(explained_campaign(), channels = "time", margin = 1)
  expect_lt(late$verdicts$bound_high, 1)
  expect_equal(plain$margin_answer$answer, "fail")
  expect_equal(late$margin_answer, plain$margin_answer)
  columns <- c("margin_verdict", "margin_estimate", "margin_low", "margin_high")
  expect_equal(late$verdicts[columns], plain$verdicts[columns])
  expect_equal(plain$verdicts$margin_low, plain$verdicts$bound_low)
  expect_match(late$notes[1], "judged by slowdowns that are not adjusted: steal was not declared before the run")
  text <- format_verdicts(late)
  expect_match(text, "answer: fail", all = FALSE)
  shown <- sub(".*\\] +", "", grep("slower by more than the margin", text, value = TRUE))
  expect_equal(shown, "slower by more than the margin")
})

test_that("a covariate that was declared before the run adjusts the margin's estimate, too", {
  declared <- analyze_campaign(explained_campaign("steal"), channels = "time", margin = 1, adjust = "steal")
  expect_equal(declared$margin_answer$answer, "pass")
  expect_false(any(grepl("declared", declared$notes)))
  both <- analyze_campaign(explained_campaign("steal"), channels = "time", margin = 1, adjust = c("steal", "drift"))
  expect_equal(both$verdicts$margin_low, declared$verdicts$margin_low)
  expect_match(both$notes[1], "adjusted for steal only: drift was not declared")
})
