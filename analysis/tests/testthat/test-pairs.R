rows <- data.frame(launch = "L", operation = rep(c("a", "b"), each = 4), bytes = 0,
                   pair = c(1, 1, 2, 2, 1, 1, 2, 3), arm = c("on", "off", "off", "on", "off", "on", "off", "on"),
                   level_requested_percent = c(1, 0, 0, 0.5, 0, 1, 0, 1))

test_that("halves pair within launch, operation and pair number, and the rest is counted", {
  got <- pair_rows(rows)
  expect_equal(got$on, c(1, 4, 6))
  expect_equal(got$off, c(2, 3, 5))
  expect_equal(got$n_unpaired, 2)
  expect_equal(got$cells$level_requested_percent[got$cell], c(1, 0.5, 1))
})

test_that("in a set every on block pairs with the off block", {
  set <- data.frame(launch = "L", operation = "a", bytes = 0, pair = 1, arm = c("on", "off", "on"), level_requested_percent = c(1, 0, 0.5))
  expect_equal(pair_rows(set)[c("off", "on", "n_unpaired")], list(off = c(2L, 2L), on = c(1L, 3L), n_unpaired = 0L))
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
