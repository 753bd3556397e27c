rows <- data.frame(operation = c("barrier", "bcast", "alltoall"), slowdown_percent = c(0.5, NA, 12.25),
                   ci_low_percent = c(0.1, NA, 10), verdict = c("detected", "inconclusive", "not detected"))

made <- function(...) {
  new_table(operation = col_words("operation", rows$operation),
            slowdown_percent = col_number("slowdown", rows$slowdown_percent, format_effect, "%"),
            ci_low_percent = col_number("CI", rows$ci_low_percent, c("[a]", "-", "[b, c]")),
            verdict = col_words("verdict", rows$verdict, style = c("bold", "", "dim")), ...)
}

test_that("text has a header with units, numbers to the right, words to the left, no blanks at the ends", {
  expect_equal(table_lines(made()), c(
    "  operation  slowdown %      CI  verdict",
    "  barrier        +0.500     [a]  detected",
    "  bcast               -       -  inconclusive",
    "  alltoall        +12.2  [b, c]  not detected"
  ))
})

test_that("a table that is too wide folds its widest words, and loses none", {
  long <- new_table(name = col_words("name", "a"),
                    why = col_words("why", paste(rep("word", 60), collapse = " ")), n = col_number("n", 3))
  text <- table_lines(long, width = 60)
  expect_lte(max(nchar(text)), 60)
  expect_equal(sum(lengths(regmatches(text, gregexpr("word", text)))), 60)
  expect_equal(sum(grepl("3$", text)), 1)
})

test_that(paste0("groups have a line of their own, once; styles are there when asked for, and never change ",
                 "what is read"), {
  text <- table_lines(made(by = c("kind spin", "kind spin", "kind cache")))
  expect_equal(text[c(2, 5)], c("  kind spin:", "  kind cache:"))
  expect_length(text, 6)
  coloured <- table_lines(made(), colour = TRUE)
  expect_match(coloured[2], "\033[1mdetected    \033[0m", fixed = TRUE)
  expect_equal(gsub(" +$", "", gsub("\033\\[[0-9]*m", "", coloured)), table_lines(made()))
  expect_false(wants_colour()) # the tests' output is no terminal
})

test_that("HTML says what heads what, and gives numbers their values to sort by", {
  html <- as.character(table_html(made(mark = rows$verdict), caption = "a < b", id = "t"))
  expect_match(html, '<table id="t">')
  expect_match(html, "<caption>a &lt; b</caption>", fixed = TRUE)
  expect_match(html, '<th scope="col" class="num">slowdown %</th>', fixed = TRUE)
  expect_match(html, '<th scope="row">barrier</th>', fixed = TRUE)
  expect_match(html, '<td class="num" data-value="12.25">+12.2</td>', fixed = TRUE)
  expect_match(html, '<td class="num">-</td>', fixed = TRUE)
  expect_match(html, '<tr class="not-detected">', fixed = TRUE)
  grouped <- as.character(table_html(made(by = c("x", "x", "y"))))
  expect_equal(lengths(regmatches(grouped, gregexpr("<tbody>", grouped))), 2)
  expect_match(grouped, '<th scope="rowgroup" colspan="4">y</th>', fixed = TRUE)
})

test_that("a table without rows has its header", {
  none <- new_table(operation = col_words("operation", character()),
                    slowdown_percent = col_number("slowdown", numeric(), format_effect))
  expect_equal(table_lines(none), "  operation  slowdown")
  expect_match(as.character(table_html(none)), "<tbody></tbody>")
})
