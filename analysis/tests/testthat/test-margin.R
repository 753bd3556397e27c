test_that("a margin's verdict is that of the interval of confidence 1 - 2 alpha", {
  # Estimate, standard error 1, normal: the 98 % interval is estimate +- 2.326, the margin +-5.
  word <- function(estimate) {
    margin_verdicts(pnorm(5 - estimate), pnorm(estimate - 5), pnorm(-5 - estimate), pnorm(estimate + 5), 0.01)
  }
  expect_equal(
    vapply(c(7.33, 7.32, 2.68, 2.67, -2.67, -2.68, -7.33), word, ""),
    c("slower by more than the margin", "inconclusive", "inconclusive", "within the margin",
      "within the margin", "within the margin or faster", "faster by more than the margin")
  )
})

test_that(paste0("slower by more needs Holm's correction over the rows, the others do not, and without a ",
                 "p-value nothing is concluded"), {
  above <- c(0.006, 0.5, 0.999)
  got <- margin_verdicts(above, 1 - above, rep(0.001, 3), rep(0.999, 3), 0.01)
  expect_equal(got, c("inconclusive", "inconclusive", "within the margin"))
  expect_match(margin_reason(above, 0.01)[1], "Holm")
  expect_true(all(is.na(margin_reason(above, 0.01)[-1])))
  expect_equal(margin_verdicts(NA_real_, NA_real_, NA_real_, NA_real_, 0.01), "inconclusive")
  expect_equal(margin_verdicts(c(0.003, 0.5, 0.9), rep(0.9, 3), rep(0.9, 3), rep(0.9, 3), 0.01)[1],
               "slower by more than the margin")
})

test_that("all rows make one answer and its exit status", {
  w <- margin_words
  expect_equal(
    vapply(
      list("within", c("within", "below", "not_above"), c("within", "open"), c("above", "open"), character()),
      function(names) margin_answer(w[names]), ""
    ),
    c("pass", "pass", "inconclusive", "fail", "inconclusive")
  )
  expect_equal(vapply(c("pass", "fail", "inconclusive"), answer_status, 0L),
               c(pass = 0L, fail = 1L, inconclusive = 3L))
})

test_that("a margin is a percentage above 0, with or without its sign", {
  expect_equal(vapply(c("1%", "0.25 %", "2"), margin_option, 0), c(1, 0.25, 2), ignore_attr = TRUE)
  for (bad in c("0", "-1", "x", "1s", "100", "", "%")) {
    expect_error(margin_option(bad), "--margin", class = "nl_error_usage")
  }
})

# A campaign in which the hypervisor took time of some halves, as `taken(rows, pairs)` says (ns): it is in
# their wall time.
stolen_from <- function(taken, declared = "steal", slowdown = 0.2) {
  campaign <- do.call(
    simulated_campaign,
    utils::modifyList(quiet, list(pairs = 400, levels_percent = 2, slowdown_percent = slowdown, seed = 1))
  )
  rows <- campaign$rows
  lost <- with_seed(4, taken(rows, pair_rows(rows)))
  for (name in c("rank_steal_ns_max", "rank_steal_ns_sum")) {
    data.table::set(campaign$rows, j = name, value = lost)
  }
  data.table::set(campaign$rows, j = "wall_ns", value = rows$wall_ns + lost)
  for (id in names(campaign$launches)) campaign$launches[[id]]$options$adjust <- as.list(declared)
  campaign
}

rarely <- function(rows, pairs) ifelse(stats::runif(nrow(rows)) < 0.02, 5e6 * stats::runif(nrow(rows)), 0)
when_on <- function(rows, pairs) ifelse(rows$arm == "on", 2e5, 0)

test_that("what the hypervisor took at random is taken off the mean that a margin is judged by", {
  campaign <- stolen_from(rarely)
  got <- analyze_campaign(campaign, channels = "time", margin = 1)$verdicts
  expect_equal(got$adjusted_for, "steal")
  expect_lt(got$adjusted_high - got$adjusted_low, 0.3 * (got$mean_high - got$mean_low))
  expect_true(got$adjusted_low < 0.2 && 0.2 < got$adjusted_high)
  # the steal is not shown to move by less than a tenth of the margin, so it decides nothing
  expect_equal(got$margin_of, "mean")
  wide <- analyze_campaign(campaign, channels = "time", margin = 30)$verdicts
  expect_equal(wide$margin_of, "adjusted mean")
  expect_lt(wide$adjusted_high, wide$margin_high)
  expect_lt(wide$margin_low, wide$adjusted_low)
})

test_that("what a covariate may have moved counts against the margin", {
  row <- function(low, high) {
    rows <- data.frame(channel = "time", mean = 1, mean_low = 0.5, mean_high = 1.5, raw_mean = 0.01,
                       raw_mean_se = 0.002, raw_mean_df = Inf)
    rows$raw_mean_values <- list(c(0.005, 0.015))
    rows$raw_adjusted <- list(list(estimate = 0.0096, low = 0.0095, high = 0.0097, se = 4e-5, df = Inf,
                                   values = c(0.0095, 0.0097), moved = list(low = low, high = high),
                                   is_withheld = FALSE))
    rows
  }
  # 0.96 % and up to 0.06 % that it moved: not shown to be below 1 %
  near <- margin_interval(row(0.02, 0.06), 1)
  expect_equal(near$margin_of, "adjusted mean")
  expect_equal(log1p(unlist(near[c("margin_low", "margin_high")]) / 100), c(0.0095, 0.0103),
               ignore_attr = TRUE)
  expect_equal(margin_verdict(near$margin_low, near$margin_high, 1), "inconclusive")
  expect_equal(near$raw_margin_values[[1]], c(0.0095, 0.0097))
  # less than none at the other end
  other <- margin_interval(row(-0.06, -0.02), 1)
  expect_equal(log1p(unlist(other[c("margin_low", "margin_high")]) / 100), c(0.0089, 0.0097),
               ignore_attr = TRUE)
  expect_equal(other$raw_margin_values[[1]], c(0.0089, 0.0091))
  # moved by more than a tenth of the margin: the mean
  expect_equal(margin_interval(row(0.02, 0.11), 1)$margin_high, 1.5)
})

test_that("a covariate that the treatment moves is withheld, and one that was not declared is not used", {
  moved <- analyze_campaign(stolen_from(when_on), channels = "time", margin = 1)$verdicts
  expect_true(is.na(moved$adjusted_mean))
  expect_match(moved$adjusted_note, "withheld: the treatment moves it")
  expect_equal(moved$margin_verdict, "above")
  late <- analyze_campaign(stolen_from(rarely, declared = NULL), channels = "time", margin = 1)
  expect_true(is.na(late$verdicts$adjusted_mean))
  expect_equal(late$verdicts$margin_of, "mean")
})
