test_that("p-values and effects print sanely", {
  expect_equal(format_p(c(NA, 0, 1e-300, 3e-12, 0.01234)), c("-", "<1e-300", "<1e-300", "3e-12", "0.0123"))
  expect_equal(format_effect(c(1e100, -2e7, 9e6)), c("+1.0e+100", "-2.0e+07", "+9000000"))
  expect_equal(format_effect(c(NA, 123.4, 12.34, 1.234, 0.1234, 0.00123, 1e-5)),
               c("-", "+123", "+12.3", "+1.23", "+0.123", "+0.0012", "+1.0e-05"))
  expect_equal(format_interval(NA, 1), "-")
})

test_that("a projected slowdown is a figure, an end of it, or words, and the same of each printer", {
  expect_identical(slowdown_words(8.2, 7.1, 9.4), "8.20 % (7.10 to 9.40)")
  expect_identical(slowdown_words(8.2), "8.20 %")
  expect_identical(slowdown_words(8.2, 0, NA), "8.20 %")
  expect_identical(slowdown_words(8012, 546, NA), "at least 546 %")
  expect_identical(slowdown_words(999.4, 990, 1200), "999 % (990 to 1200)")
  expect_identical(slowdown_words(1000, 990, 1200), "more than ten times as long")
  expect_identical(slowdown_words(Inf, Inf, NA), "no time to work")
  expect_identical(slower_words(1000), "would take more than ten times as long")
  expect_identical(slower_words(NA), "would have no time to work")
  expect_identical(slower_words(2, 1, NA), "would be at least 1.00 % slower")
  row <- function(value, low, high, reason = NA_character_, recorded = NA_real_) {
    data.frame(nodes = 1000, every_ns = 1e6, slowdown_percent = value, ci_low = low, ci_high = high,
               reason = reason, ci_high_recorded = recorded)
  }
  said <- function(...) sub("; see noiselab project d$", "", scale_sentence(row(...), "d"))
  of <- "Projection for 1,000 nodes synchronising every 1 ms: "
  expect_identical(said(8.2, 7.1, 9.4), paste0(of, "8.20 % (7.10 to 9.40) slower"))
  expect_identical(said(8.2, 7.1, NA, "at least: x"), paste0(of, "at least 7.10 % slower"))
  beyond <- " at most 9.00 if no burst costs more than those recorded"
  expect_identical(said(8.2, 7.1, 99, NA, 9), paste0(of, "8.20 % (7.10 to 99.0;", beyond, ") slower"))
  expect_identical(said(8.2, 7.1, NA, "at least: x", 9), paste0(of, "at least 7.10 % (", substring(beyond, 2),
                                                                ") slower"))
  expect_identical(said(8012, 7000, 9000), paste0(of, "a program takes more than ten times as long"))
  expect_identical(said(NA, NA, NA, "at least: x"), paste0(of, "bursts leave no time to work"))
  expect_identical(projected_range(8012, 7000, 9000), "more than ten times the program's own time")
  # of several sizes
  sentences <- function(...) {
    rows <- rbind(...)
    rows[c("phase", "limit_percent")] <- list("independent", NA)
    projection_sentences(list(noise = list(name = "A burst"), request = list(), rows = rows,
                              headline = rows[1, ]))
  }
  larger <- transform(row(2500, 2500, 2500), nodes = 10000)
  program <- "a program on 1,000 nodes that synchronises every 1 ms"
  by <- paste("If bursts hit nodes independently, a burst slows", program, "by 5.00 % (4.00 to 6.00); ")
  expect_identical(sentences(row(5, 4, 6), larger),
                   paste0(by, "on 10,000 nodes the program takes more than ten times as long."))
  expect_identical(sentences(row(5, 4, 6), transform(row(NA, NA, NA, "at least: x"), nodes = 10000)),
                   paste0(by, "on 10,000 nodes bursts leave no time to work."))
  expect_identical(sentences(row(2463, 2450, 2480), larger),
                   paste("If bursts hit nodes independently, a burst makes", program,
                         "take more than ten times as long."))
})

test_that("the table fits 100 columns and names scope, alpha, power and limits", {
  text <- format_verdicts(analyze_campaign(simulated_campaign(pairs = 15,
                                                              operations = c("barrier", "alltoall"),
                                                              bytes = c(0, 2048))))
  expect_lte(max(nchar(text)), 100)
  expect_match(text, "scope: this launch, sim-1; unit: pair, n = 15", all = FALSE)
  expect_match(text, "limit = effect found with power 0.95", all = FALSE)
  expect_match(text, "typical half: by design every on half holds the", all = FALSE)
})

test_that("JSON is an object with every part, null for unknown values and full precision", {
  dir <- local_campaign(pairs = 15, levels_percent = c(0, 5))
  analysis <- analyze_campaign(read_campaign(dir))
  got <- jsonlite::fromJSON(status_of("noiselab-analyze", dir, "--json")$out, simplifyVector = FALSE)
  expect_equal(got$schema, 1)
  expect_true(all(c("verdicts", "thresholds", "amplification", "notes") %in% names(got)))
  expect_null(got$verdicts[[1]]$reason)
  expect_true("reason" %in% names(got$verdicts[[1]]))
  expect_equal(got$verdicts[[1]]$estimate, analysis$verdicts$estimate[1], tolerance = 1e-14)
  csv <- data.table::fread(text = status_of("noiselab-analyze", dir, "--csv", "--table", "verdicts")$out)
  expect_equal(nrow(csv), nrow(analysis$verdicts))
})

test_that("treatments are named by the factors that vary, and constant ones once", {
  dir <- local_campaign(pairs = 15, levels_percent = c(0, 5), operations = c("barrier", "alltoall"),
                        kinds = c("spin", "cache"), phases = "aligned", treatment_factor = c(1, 2))
  text <- format_verdicts(analyze_campaign(read_campaign(dir), channels = "time"))
  expect_lte(max(nchar(text)), 100)
  expect_equal(text[1], "treatment: phase aligned")
  expect_equal(sum(grepl("aligned", text)), 1)
  expect_false(any(grepl("pattern|placement", text)))
  # verdicts of both operations, and thresholds
  expect_gte(sum(text == "  kind cache:"), 3)
  text <- format_verdicts(analyze_campaign(simulated_campaign(pairs = 15, levels_percent = 5),
                                           channels = "time"))
  expect_false(any(grepl("spin|periodic|treatment", text)))
})

test_that("no figure has more digits than a reader can use, however wide an interval is", {
  wide <- c(2.4e-75, 3.1e-9, 5, 8.6e70)
  for (text in list(format_time(wide), format_effect(wide), format_count(wide), format_figure(wide, "ns"),
                    format_figure(wide, "percent"), format_figure(wide, "count"),
                    format_figure(wide, "bytes_per_s"), format_figure(wide, "per_s"))) {
    expect_true(all(nchar(text) <= 22), info = paste(text, collapse = "; "))
  }
  expect_equal(format_time(c(8.6e70, 2.4e-75, 1.5, 0, -0.25)),
               c("8.6e+70 s", "2.4e-66 ns", "1.5 s", "0 ns", "-250 ms"))
  # Two repetitions that differ by a factor: Student's interval of the log with one degree of freedom.
  x <- log(c(2e-6, 9e-6))
  ends <- exp(mean(x) + c(-1, 1) * qt(0.995, 1) * stats::sd(x) / sqrt(2)) * 1e9
  expect_lt(max(nchar(format_figure(ends, "ns"))), 14)
})
