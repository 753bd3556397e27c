summary_text <- function(judged) unlist(lapply(summary_parts(judged), part_lines))

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

table_of <- function(...) {
  file <- tempfile(fileext = ".csv")
  writeLines(c("# comment", "table,config,op,bytes,level_percent,mean_s,sd_s,n", ...), file)
  file
}

test_that("a broken table, and numbers that nobody measured, are refused with file and line", {
  clean <- "1,I,barrier,0,0,100,1,5"
  for (row in c(
    paste0("1,I,barrier,0,1,",
           c("NaN,1,5", "101,0,5", "101,1,1", "101,1", "1,1e308,5", "1e308,1,5", "1,1e-300,5", "1,1,1e300")),
    clean,
    "1,II,barrier,0,1,101,1,5",
    "1,I,barrier,0,-1,101,1,5"
  )) {
    file <- table_of(clean, row)
    expect_error(read_summary(file), paste0(basename(file), ":4: "), class = "nl_error_damaged")
  }
  writeLines(c("table,config", "1,I"), file)
  expect_error(read_summary(file), "column 'op' is missing", class = "nl_error_damaged")
  expect_error(read_summary("no-such-file.csv"), class = "nl_error_usage")
  expect_error(read_summary(table_of()), "no rows", class = "nl_error_data")
})

one_pair <- function(m0, s0, n0, m1, s1, n1, half_mean = 0.5, half_sd = 0.05) {
  data.frame(table = "1", config = "I", op = "barrier", bytes = 0, level_percent = c(0, 1),
             mean_s = c(m0, m1), sd_s = c(s0, s1), n = c(n0, n1), mean_half_unit_s = half_mean,
             sd_half_unit_s = half_sd)
}

# Numbers with exactly this mean and SD.
with_moments <- function(n, mean, sd) mean + sd * as.numeric(scale(with_seed(n, rnorm(n))))

test_that("a margin is judged as t.test on raw numbers of the same mean and SD judges it", {
  clean <- with_moments(6, 100, 1)
  noisy <- with_moments(9, 101.2, 1.5)
  df <- one_pair(mean(clean), sd(clean), 6, mean(noisy), sd(noisy), 9)
  rows <- judge_summary(df, margin_percent = 5)$rows
  # The bounds are the multiples of the clean mean that Welch's test just cannot tell from the noisy one.
  low <- 1 + rows$bound_low_percent / 100
  high <- 1 + rows$bound_high_percent / 100
  expect_equal(t.test(noisy, low * clean, alternative = "greater")$p.value, 0.01, tolerance = 1e-6)
  expect_equal(t.test(noisy, high * clean, alternative = "less")$p.value, 0.01, tolerance = 1e-6)
  # Nearly the interval of the difference over the clean mean, whose own scatter that leaves out.
  expect_equal(c(low, high) - 1, as.numeric(t.test(noisy, clean, conf.level = 0.98)$conf.int) / mean(clean),
               tolerance = 0.02)
  verdict <- function(margin) judge_summary(df, margin_percent = margin)$rows$margin_verdict
  expect_equal(verdict(100 * (high - 1) + 1e-4), "within the margin")
  expect_equal(verdict(100 * (high - 1) - 1e-4), "inconclusive")
  df$mean_s[2] <- 110
  expect_equal(judge_summary(df, margin_percent = 5)$answer, "fail")
  expect_equal(judge_summary(df, margin_percent = 20)$answer, "pass")
  df$mean_s[2] <- 90
  expect_equal(judge_summary(df, margin_percent = 5)[["rows"]]$margin_verdict,
               "faster by more than the margin")
})

test_that("a clean mean that may be 0 leaves the interval open above", {
  got <- judge_summary(one_pair(1, 3, 3, 2, 1, 3), margin_percent = 5)
  expect_equal(got$rows$bound_high_percent, Inf)
  expect_match(summary_text(got), "inconclusive", all = FALSE)
})

test_that("a margin decides the exit status of noiselab analyze summary", {
  file <- system.file("extdata", "khudoleeva2021.csv", package = "noiselab")
  status <- function(margin, ...) status_of("noiselab-analyze", "summary", file, "--margin", margin, ...)
  expect_equal(status("1%")$status, 1L)
  expect_equal(status("20%")$status, 0L)
  expect_equal(status("5%")$status, 3L)
  expect_lte(max(nchar(status("5%", "--all")$out)), 98)
  expect_match(status("5%")$out[1], "^Margin of 5 % of the clean mean: inconclusive")
  expect_equal(status("0%")$status, 2L)
  expect_equal(status_of("noiselab-analyze", "summary", file)$status, 0L)
})

test_that("half a unit of the last digit printed", {
  expect_equal(
    half_unit(c("12.34", "558.0", "431", "400", "1.2e3", "1.50E-2", "5.", ".5", "+3.0", "0x10", "", "1e")),
    c(0.005, 0.05, 0.5, 0.5, 50, 5e-5, 0.5, 0.05, 0.05, NA, NA, NA)
  )
})

test_that("digits keep their zeros when a file is read", {
  got <- read_summary(table_of("1,I,barrier,0,0,400.0, 1.30 ,5", "1,I,barrier,0,1,4.1e2,2,5"))
  expect_equal(got$mean_s, c(400, 410))
  expect_equal(got$mean_half_unit_s, c(0.05, 5))
  expect_equal(got$sd_half_unit_s, c(0.005, 0.5))
})

test_that("rules P and N at the corners of the box are as computed by hand", {
  # P: bound 100 + 4.604 * 1 / sqrt(5) = 102.06. Best corner: 99.5 + 4.604 * 0.95 / sqrt(5) = 101.46, worst
  # 100.5 + 4.604 * 1.05 / sqrt(5) = 102.66; the noisy mean is 0.5 either way.
  sure <- function(rule) {
    lapply(m1, function(m1) {
      unlist(
        judge_summary(one_pair(100, 1, 5, m1, 1, 5))$rows[paste0(
          "rule_", rule, c("", "_sure")
        )],
        use.names = FALSE
      )
    })
  }
  wanted <- list(c(TRUE, TRUE), c(TRUE, FALSE), c(FALSE, FALSE), c(FALSE, TRUE))
  m1 <- c(103.2, 103.1, 101.0, 100.9)
  expect_equal(sure("p"), wanted)
  # N: the same with 4.604 * 1.05 / sqrt(5) = 2.162 (worst) or 1.956 (best) less.
  m1 <- c(105.4, 105.3, 103.0, 102.8)
  expect_equal(sure("n"), wanted)
})

test_that("without half-units nothing is said about rounding", {
  df <- one_pair(100, 1, 5, 103, 1, 5)
  got <- judge_summary(df[setdiff(names(df), c("mean_half_unit_s", "sd_half_unit_s"))], margin_percent = 1)
  sure <- unlist(lapply(got[c("rows", "configurations")], function(part) part[grep("_sure$", names(part))]))
  expect_length(sure, 4)
  expect_true(all(is.na(sure)))
  expect_match(summary_text(got), "digits that were printed are not known", all = FALSE)
})

test_that("exact numbers are sure of everything", {
  got <- judge_summary(one_pair(100, 1, 5, 103, 1, 5, 0, 0))
  expect_true(all(unlist(got$rows[grep("_sure$", names(got$rows))])))
})

test_that("of the published table, table 3 hangs on digits that are not printed, and one row of table 1", {
  got <- judge_summary(published())
  unsure <- function(column) with(got$rows[!got$rows[[column]], ], paste(table, config, level_percent))
  expect_equal(unsure("rule_p_sure"), c("3 IV 0.01", "3 IV 0.05"))
  expect_equal(unsure("rule_n_sure"), c("1 II 1", "3 IV 0.01", "3 IV 0.1", "3 IV 0.3"))
  # By hand: 431.5 + 2.831 * 1.35 / sqrt(22) = 432.31 > 431.5, the lower end of 432.
  expect_gt(431.5 + qt(0.995, 21) * 1.35 / sqrt(22), 431.5)
  expect_lt(430.5 + qt(0.995, 21) * 1.25 / sqrt(22), 432.5)
  # A threshold is sure where every verdict it rests on is: that of table 3, 0.01 % by rule P, is not.
  three <- got$configurations[got$configurations$table == "3", ]
  expect_equal(unlist(three[c("threshold_rule_p_sure", "threshold_rule_n_sure")], use.names = FALSE),
               c(FALSE, FALSE))
  expect_equal(got$configurations$threshold_rule_p_sure, rep(c(TRUE, FALSE), c(8, 1)))
  text <- summary_text(got)
  expect_match(text, "yes\\?", all = FALSE)
  expect_match(text, "hangs on digits that are not printed", all = FALSE)
  expect_lte(max(nchar(text)), 98)
})
