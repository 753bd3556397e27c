test_that("rules P and N give the published thresholds", {
  got <- judge_summary(published())
  table3 <- got$configurations[got$configurations$table == "3", ]
  # Clean 431, SD 1.3, n 22: upper bound 431 + 2.831 * 1.3 / sqrt(22) = 431.78. All means are above.
  expect_equal(table3$threshold_rule_p_percent, 0.01)
  # 0.3 %: 434 - 4.032 * 1.7 / sqrt(6) = 431.20 overlaps; 0.5 %: 435 - 3.707 * 1.5 / sqrt(7) = 432.90.
  expect_equal(table3$threshold_rule_n_percent, 0.5)
  rows <- got$rows[got$rows$table == "3", ]
  expect_true(all(rows$rule_p))
  expect_equal(rows$rule_n, c(FALSE, FALSE, FALSE, FALSE, TRUE, TRUE, TRUE))
})

test_that("the rows of tables 1 and 2 are judged as plain arithmetic judges them", {
  rows <- judge_summary(published())$rows
  expect_equal(nrow(rows), 15)
  one <- rows[rows$table == "1" & rows$config == "I", ]
  expect_equal(one$slowdown_percent, 100 * (328.3 / 318.7 - 1))
  expect_equal(one$rule_p, 328.3 > 318.7 + qt(0.995, 5) * 3.19 / sqrt(6))
  expect_equal(one$rule_n, 328.3 - qt(0.995, 6) * 4.95 / sqrt(7) > 318.7 + qt(0.995, 5) * 3.19 / sqrt(6))
  v <- c(3.19^2 / 6, 4.95^2 / 7)
  t <- (328.3 - 318.7) / sqrt(sum(v))
  df <- sum(v)^2 / sum(v^2 / c(5, 6))
  expect_equal(one$welch_p_one_sided, pt(t, df, lower.tail = FALSE))
  expect_equal(one$welch_p_two_sided, 2 * one$welch_p_one_sided)
  expect_equal(rows$holm_p, p.adjust(rows$welch_p_one_sided, "holm"))
  unstable <- rows[rows$table == "2" & rows$config == "II", ]
  expect_true(unstable$rule_p)
  expect_false(unstable$rule_n)
})

test_that("rule P's false-alarm rate is the known one", {
  expect_equal(round(rule_p_false_alarm(c(5, 22, 22), c(5, 5, 22)), 3), c(0.016, 0.118, 0.029))
})

test_that("a threshold needs every higher level detected", {
  expect_equal(threshold_level(c(0.1, 0.3, 1), c(TRUE, FALSE, TRUE)), 1)
  expect_true(is.na(threshold_level(c(0.1, 1), c(TRUE, FALSE))))
  expect_true(is.na(threshold_level(numeric(), logical())))
})

bad_table <- function(...) {
  file <- tempfile(fileext = ".csv")
  writeLines(c("# comment", "table,config,op,bytes,level_percent,mean_s,sd_s,n", ...), file)
  file
}

test_that("a broken table is refused with file and line", {
  clean <- "1,I,barrier,0,0,100,1,5"
  refused <- function(line, ...) {
    file <- bad_table(...)
    on.exit(unlink(file))
    expect_error(read_summary(file), paste0(basename(file), ":", line, ": "), class = "nl_error_damaged")
  }
  refused(4, clean, "1,I,barrier,0,1,NaN,1,5")
  refused(4, clean, "1,I,barrier,0,1,101,0,5")
  refused(4, clean, "1,I,barrier,0,1,101,1,1")
  refused(4, clean, "1,I,barrier,0,1,101,1")
  refused(4, clean, clean)
  refused(4, clean, "1,II,barrier,0,1,101,1,5")
  refused(4, clean, "1,I,barrier,0,-1,101,1,5")
  file <- tempfile()
  writeLines(c("table,config", "1,I"), file)
  expect_error(read_summary(file), "column 'op' is missing", class = "nl_error_damaged")
  unlink(file)
  expect_error(read_summary("no-such-file.csv"), class = "nl_error_usage")
  file <- bad_table()
  expect_error(read_summary(file), "no rows", class = "nl_error_data")
  unlink(file)
})

# Numbers with exactly this mean and SD.
with_moments <- function(n, mean, sd) mean + sd * as.numeric(scale(with_seed(n, rnorm(n))))

test_that("a margin is judged as t.test on raw numbers of the same mean and SD judges it", {
  clean <- with_moments(6, 100, 1)
  noisy <- with_moments(9, 101.2, 1.5)
  df <- data.frame(table = "1", config = "I", op = "barrier", bytes = 0, level_percent = c(0, 1),
                   mean_s = c(mean(clean), mean(noisy)),
                   sd_s = c(sd(clean), sd(noisy)), n = c(6, 9))
  rows <- judge_summary(df, margin_percent = 5)$rows
  # The bounds are the multiples of the clean mean that Welch's test just cannot tell from the noisy one.
  low <- 1 + rows$bound_low_percent / 100
  high <- 1 + rows$bound_high_percent / 100
  expect_equal(t.test(noisy, low * clean, alternative = "greater")$p.value, 0.01, tolerance = 1e-6)
  expect_equal(t.test(noisy, high * clean, alternative = "less")$p.value, 0.01, tolerance = 1e-6)
  # Nearly the interval of the difference over the clean mean, whose own scatter that leaves out.
  expect_equal(c(low, high) - 1, as.numeric(t.test(noisy, clean, conf.level = 0.98)$conf.int) / mean(clean), tolerance = 0.02)
  verdict <- function(margin) judge_summary(df, margin_percent = margin)$rows$margin_verdict
  expect_equal(verdict(100 * (high - 1) + 1e-4), "within the margin")
  expect_equal(verdict(100 * (high - 1) - 1e-4), "inconclusive")
  df$mean_s[2] <- 110
  expect_equal(judge_summary(df, margin_percent = 5)$answer, "fail")
  expect_equal(judge_summary(df, margin_percent = 20)$answer, "pass")
  df$mean_s[2] <- 90
  expect_equal(judge_summary(df, margin_percent = 5)[["rows"]]$margin_verdict, "faster by more than the margin")
})

test_that("a clean mean that may be 0 leaves the interval open above", {
  df <- data.frame(table = "1", config = "I", op = "barrier", bytes = 0, level_percent = c(0, 1), mean_s = c(1, 2),
                   sd_s = c(3, 1), n = c(3, 3))
  expect_equal(judge_summary(df, margin_percent = 5)$rows$bound_high_percent, Inf)
  expect_match(format_summary(judge_summary(df, margin_percent = 5)), "inconclusive", all = FALSE)
})

test_that("a margin decides the exit status of noiselab analyze summary", {
  file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
  status <- function(margin, ...) status_of("noiselab-analyze", "summary", file, "--margin", margin, ...)
  expect_equal(status("1%")$status, 1L)
  expect_equal(status("20%")$status, 0L)
  expect_equal(status("5%")$status, 3L)
  expect_lte(max(nchar(status("5%", "--all")$out)), 98)
  expect_match(status("5%")$out[1], "^Margin of 5 % of the clean mean: inconclusive")
  json <- jsonlite::fromJSON(status("20%", "--json")$out)
  expect_equal(json$answer, "pass")
  expect_equal(json$margin_percent, 20)
  expect_equal(unique(json$rows$margin_verdict), "within the margin")
  expect_equal(status("0%")$status, 2L)
  expect_equal(status_of("noiselab-analyze", "summary", file)$status, 0L)
})
