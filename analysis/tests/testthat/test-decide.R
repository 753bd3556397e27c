test_that("the detection limit is Currie's for known scatter and power.t.test's for estimated", {
  expect_equal(detection_limit(2, Inf), 2 * (qnorm(0.99) + qnorm(0.95)))
  n <- 12
  delta <- detection_limit(1 / sqrt(n), n - 1)
  expect_equal(power.t.test(n, delta, sd = 1, sig.level = 0.01, type = "one.sample",
                            alternative = "one.sided")$power, 0.95, tolerance = 1e-6)
  # The integral for few degrees of freedom continues pt().
  few <- detection_factor(3, 0.01, 0.95)
  expect_equal(pt(qt(0.99, 3), 3, few, lower.tail = FALSE), 0.95, tolerance = 1e-5)
  expect_gt(detection_factor(1, 0.01, 0.95), detection_factor(2, 0.01, 0.95))
  # Of many degrees of freedom and at the small levels of thousands of links it nears the normal distribution.
  for (df in c(10, 100, 421, 1583.376, 4999)) for (level in c(0.01, 1e-4, 2.172968e-06, 1e-9)) {
    factor <- detection_factor(df, level, 0.95)
    expect_equal(pt(qt(level, df, lower.tail = FALSE), df, factor, lower.tail = FALSE), 0.95,
                 tolerance = 1e-5)
    expect_gte(factor, qnorm(1 - level) + qnorm(0.95))
  }
  for (df in c(1, 1.3, 2)) expect_gt(detection_factor(df, 1e-7, 0.95), detection_factor(df, 1e-6, 0.95))
  expect_true(is.na(detection_limit(0, 10)))
  expect_true(is.na(detection_limit(NA, 10)))
})

test_that("the step-down stops at the first level that fails", {
  expect_equal(step_down(c(0.1, 0.3, 1), c(0.001, 0.2, 0.001)), c("not tested", "not detected", "detected"))
  expect_equal(step_down(c(0, 1), c(0.001, 0.5)), c("detected", "not detected"))
  expect_equal(step_down(1, NA), "not detected")
  expect_equal(step_down(numeric(), numeric()), character())
})

test_that("a verdict is one of three words, and what decided it one of four", {
  rows <- data.frame(level_requested_percent = c(0, 0.1, 0.3, 1), p_one_sided = c(0.4, 0.001, 0.2, 1e-9),
                     reason = NA_character_)
  got <- decide_family(rows, 0.01)
  expect_equal(got$verdict, c("not detected", "inconclusive", "not detected", "detected"))
  expect_equal(got$verdict_because, c("test", "higher_level_failed", "test", "test"))
  rows$reason[1] <- "one loop per arm"
  rows$refused <- c(FALSE, FALSE, FALSE, TRUE)
  rows$reason[4] <- "the load was absent"
  got <- decide_family(rows, 0.01)
  expect_equal(got$verdict[c(1, 4)], rep("inconclusive", 2))
  expect_equal(got$verdict_because[c(1, 4)], c("no_test", "refused"))
})

test_that("one interval gives three verdicts", {
  expect_equal(margin_verdict(c(1.1, -2, 0.5, NA, 1), c(2, 0.9, 1.5, 2, 3), 1),
               c("above", "below", "inconclusive", "inconclusive", "inconclusive"))
})

test_that("a family that is through hands its alpha on", {
  # Two families at 0.005 each. a stops at its second level; b passes both, so a is tested again with all of
  # alpha.
  got <- step_down_families(list(a = c(0.001, 0.008), b = c(0.004, 0.005)), alpha = 0.01)
  expect_equal(got, list(a = c(TRUE, TRUE), b = c(TRUE, TRUE)))
  got <- step_down_families(list(a = c(0.001, 0.008), b = c(0.004, 0.006)), alpha = 0.01)
  expect_equal(got, list(a = c(TRUE, FALSE), b = c(TRUE, FALSE)))
  # One level each is Holm's procedure.
  p <- c(0.002, 0.2, 0.004, 0.0049, NA)
  expect_equal(unlist(step_down_families(as.list(p), 0.01)),
               (stats::p.adjust(p, "holm", 5) <= 0.01) %in% TRUE)
  expect_equal(step_down_families(list(), 0.01), list())
})

test_that("the monotone fit is that of isoreg", {
  set.seed(1)
  for (k in c(1, 2, 5, 9)) {
    y <- stats::rnorm(k)
    expect_equal(monotone_fit(y), stats::isoreg(y)$yf)
  }
  # Weights: 3 and 2 are pooled, 2 counts twice.
  expect_equal(monotone_fit(c(1, 3, 2), c(1, 1, 2)), c(1, 7 / 3, 7 / 3))
  expect_equal(monotone_fit(numeric()), numeric())
})

test_that("the level that reaches an effect lies on the line between two levels", {
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 1.1), 0.55)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 0.1), 0.05)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 2), 1)
  expect_equal(level_reaching(c(0.1, 1), c(0.2, 2), 2.1), Inf)
  # An effect below 0 counts as none, and the first level that reaches it is taken.
  expect_equal(level_reaching(c(1, 2, 3), c(-1, 1, 1), 1), 2)
})

rows <- data.frame(launch = "L", operation = rep(c("a", "b"), each = 4), bytes = 0,
                   pair = c(1, 1, 2, 2, 1, 1, 2, 3),
                   arm = c("on", "off", "off", "on", "off", "on", "off", "on"),
                   level_requested_percent = c(1, 0, 0, 0.5, 0, 1, 0, 1))

test_that("halves pair within launch, operation and pair number, and the rest is counted", {
  got <- pair_rows(rows)
  expect_equal(got$on, c(1, 4, 6))
  expect_equal(got$off, c(2, 3, 5))
  expect_equal(got$n_unpaired, 2)
  expect_equal(got$cells$level_requested_percent[got$cell], c(1, 0.5, 1))
})

test_that("in a set every on block pairs with the off block", {
  set <- data.frame(launch = "L", operation = "a", bytes = 0, pair = 1, arm = c("on", "off", "on"),
                    level_requested_percent = c(1, 0, 0.5))
  expect_equal(pair_rows(set)[c("off", "on", "n_unpaired")],
               list(off = c(2L, 2L), on = c(1L, 3L), n_unpaired = 0L))
})

test_that("one arm, one row and no row give no pair", {
  expect_equal(length(pair_rows(rows[rows$arm == "on", ])$on), 0)
  expect_equal(pair_rows(rows[1, ])$n_unpaired, 1)
  expect_equal(length(pair_rows(rows[0, ])$on), 0)
})

test_that("a treatment is a cell of its own, and one off block serves all treatments of its set", {
  set <- data.frame(launch = "L", operation = "a", bytes = 0, pair = 1, arm = c("on", "off", "on", "on"),
                    level_requested_percent = c(1, 0, 1, 0), kind = c("spin", NA, "cache", "cache"))
  got <- pair_rows(set)
  expect_equal(got[c("off", "on", "cell")], list(off = c(2L, 2L, 2L), on = c(1L, 3L, 4L), cell = 1:3))
  expect_equal(got$cells$kind, c("spin", "cache", "cache"))
  set$kind <- factor(set$kind)
  expect_equal(pair_rows(set)$cell, 1:3)
})
