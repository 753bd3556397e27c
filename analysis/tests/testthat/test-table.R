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

test_that("a wide table keeps two blanks between columns: headings fold first, then words, then figures", {
  causes <- function(unit) {
    new_table(who = col_words("who", c("a-task-with-a-name (PID 4711)", "interrupts and firmware")),
              unit = col_words("unit", c(unit, "-")), burst = col_words("burst", c("20.05 ms", "-")),
              often = col_words("how often", c("every 999.7 ms", "-")),
              duty = col_number("of a CPU", NA, c("2.01 %", "-")),
              node = col_number("of the node", NA, c("1.00 %", "0.050 %")),
              scale = col_words("cost at scale", c("over 1000 %", "-")))
  }
  apart <- function(text) strsplit(trimws(text), " {2,}")[[1]]
  # where two lines of headings are enough, a row is one line
  expect_length(table_lines(causes("-")), 4)
  for (unit in c("systemd-tmpfiles-clean.service", strrep("x", 120))) {
    text <- table_lines(causes(unit))
    expect_lte(max(nchar(text)), 98)
    # the first line of headings and of a row has as many columns as there are, however narrow
    expect_length(apart(text[1]), 7)
    first <- grep("a-task", text)
    expect_length(apart(text[first]), 7)
  }
  # nothing of a word that was cut is lost
  expect_equal(sum(lengths(regmatches(text, gregexpr("x", text)))), 120)
  # an agent's account with its last column: of one launch, whose name is long, each row is a line
  row <- data.frame(
    launch = "20261129T134753Z-b81d-0001", host = "node-0123.cluster.example.org", cpu_percent = 1.234,
    on_ranks_percent = 0.123, wakeups_per_s = 12345, rss_kib = 123456, written_bytes_per_s = 1234567,
    agreement = "cannot be compared", preempted_us_per_s = 1
  )
  for (rows in list(transform(row, host = "vm"), rbind(row, transform(row, launch = "another")))) {
    text <- table_lines(account_columns(rows))
    expect_lte(max(nchar(text)), 98)
    expect_length(apart(text[1]), 7)
    expect_length(apart(grep("cannot be compared", text, value = TRUE)[1]), 7)
  }
  expect_length(table_lines(account_columns(transform(row, host = "vm"))), 2)
  # headings alone fold where that is enough, a number keeps its %
  narrow <- new_table(a = col_number("CPU time of the agent", 1, "2.00 %"), b = col_number("lost %", 2, "3"))
  expect_identical(table_lines(narrow, width = 24), c("     CPU time of  lost %", "       the agent",
                                                      "          2.00 %       3"))
  expect_identical(table_lines(narrow, width = 10)[1:4], c("     CPU  lost %", "    time", "  of the",
                                                           "   agent"))
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
