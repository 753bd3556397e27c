test_that("words become factors without losing where there is none", {
  expect_equal(as_word(c("spin", NA, "cache")), factor(c("spin", NA, "cache"), c("spin", "cache")))
  expect_equal(as_word(c(NA, "spin")), factor(c(NA, "spin")))
  expect_equal(as_word(c(NA_character_, NA)), factor(c(NA, NA), character()))
  expect_equal(as_word(character()), factor(character()))
})

rows <- data.frame(kind = c("spin", NA, "cache", "cache"), pattern = c("periodic", NA, "periodic", "poisson"),
                   placement = c("last", NA, "last", "last"), phase = c("random", NA, "random", "random"))

test_that("each combination of factors has its own code", {
  expect_equal(length(unique(treatment_code(rows))), 4)
  expect_equal(code_of(treatment_code(rows, c(1, 3, 1))), c(1, 2, 1))
  factors <- as.data.frame(lapply(rows, factor))
  expect_equal(code_of(treatment_code(factors)), code_of(treatment_code(rows)))
  expect_equal(treatment_code(data.frame(x = 1:3)), c(1, 1, 1))
  expect_equal(length(treatment_code(rows[0, ])), 0)
})

test_that("a label names what varies, and what is constant is named where it is not the default", {
  on <- rows[c(1, 3, 4), ]
  expect_equal(varying_factors(on), c("kind", "pattern"))
  expect_equal(treatment_label(on, c("kind", "pattern")),
               c("spin, periodic", "cache, periodic", "cache, poisson"))
  expect_equal(treatment_label(on[2, ], "kind", named = TRUE), "kind cache")
  expect_equal(treatment_label(on, character()), c("", "", ""))
  expect_equal(constant_treatment(on), "")
  on$phase <- "aligned"
  expect_equal(constant_treatment(on), "phase aligned")
  expect_equal(constant_treatment(on[3, ]), "kind cache, pattern poisson, phase aligned")
  expect_equal(constant_treatment(on[0, ]), "")
})

test_that("treatments are in the order asked for, not that of the first halves", {
  table <- treatment_table(list(rows = data.frame(rows, arm = c("on", "off", "on", "on")),
                                launches = list(list(options = list(kinds = list("cache", "spin"))))))
  expect_equal(table$kind, c("cache", "cache", "spin"))
  expect_equal(table$pattern, c("periodic", "poisson", "periodic"))
})

test_that("only the periodic pattern gives every half the same", {
  expect_false(varying_bursts("periodic"))
  expect_false(varying_bursts(NULL))
  expect_false(varying_bursts(NA))
  for (pattern in setdiff(treatment_words$pattern, "periodic")) expect_true(varying_bursts(pattern))
})
