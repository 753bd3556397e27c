test_that("the report is one file that needs nothing else and holds every plot with alt text", {
  dir <- local_campaign(pairs = 12, launches = 2, levels_percent = c(0, 5))
  file <- file.path(dir, "report.html")
  expect_equal(write_report(read_campaign(dir), file), file)
  html <- paste(readLines(file), collapse = "\n")
  expect_false(grepl("(src|href)=\"(https?:|//|[a-z_]+/)", html))
  expect_false(grepl("<script", html))
  images <- regmatches(html, gregexpr("<img [^>]*>", html))[[1]]
  expect_equal(length(images), nrow(plot_table()))
  expect_true(all(grepl("src=\"data:image/png;base64,iVBOR", images)))
  expect_true(all(grepl("alt=\"[A-Z]", images)))
  expect_match(html, "senses 5 % of one CPU by loop time")
  expect_match(html, "Generator certificates")
  expect_match(html, "simulate_campaign seed 1")
  made <- list.files(file.path(dir, "report_files"))
  expect_setequal(made, as.vector(outer(plot_table()$name, c(".png", ".csv"), paste0)))
  expect_equal(list.files(dir, "^\\.report", all.files = TRUE), character())
})

test_that("what a user supplied is escaped", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  edit_lines(file.path(dir, "sim-1", "launch.json"), function(x) {
    sub('"warnings": \\[\\]', '"warnings": ["<script>alert(1)</script>"]', x)
  })
  file <- file.path(dir, "r.html")
  write_report(read_campaign(dir), file)
  html <- paste(readLines(file), collapse = "\n")
  expect_match(html, "&lt;script&gt;alert(1)&lt;/script&gt;", fixed = TRUE)
  expect_false(grepl("<script>", html, fixed = TRUE))
})

test_that("a place that does not exist is refused before anything is written", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  expect_error(write_report(read_campaign(dir), file.path(dir, "no", "r.html")), "directory",
               class = "nl_error_usage")
})
