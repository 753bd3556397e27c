test_that("the published summary is that computed by hand", {
  # 1 to 8 are not late; a quarter of 8 is dropped, one from each end: 2 to 7
  got <- published_summary(c(8, 1, 7, 2, 90, 6, 3, 5, 4), late = c(rep(FALSE, 4), TRUE, rep(FALSE, 4)))
  expect_equal(unlist(got[c("n_t", "n_c", "n_s")], use.names = FALSE), c(9, 8, 6))
  expect_equal(got$mean_ns, 4.5)
  expect_equal(got$se_ns, sqrt(3.5 / 6))
  expect_equal(c(got$min_ns, got$max_ns), c(2, 7))
  # Student's quantiles at 5 degrees of freedom, from a table
  expect_equal(c(got$e90_ns, got$e95_ns, got$e99_ns), sqrt(3.5 / 6) * c(2.0150, 2.5706, 4.0321),
               tolerance = 1e-4)
  expect_equal(got$ci95_high_ns - got$ci95_low_ns, 2 * got$e95_ns)
  # nobody loses the slow ones
  expect_equal(c(got$all_mean_ns, got$all_median_ns, got$all_max_ns), c(14, 5, 90))
  expect_equal(published_summary(1:8, rep(FALSE, 8), trim = 0)$n_s, 8)
  # 15 at 25 %: 3.75, half of it from each end, whole values only
  expect_equal(published_summary(1:15, rep(FALSE, 15))[c("n_s", "min_ns", "max_ns")],
               data.frame(n_s = 13L, min_ns = 2L, max_ns = 14L), ignore_attr = TRUE)
})

test_that("no start, one start and equal starts are handled", {
  none <- published_summary(numeric(), logical())
  expect_equal(unlist(none[c("n_t", "n_c", "n_s")], use.names = FALSE), c(0, 0, 0))
  expect_true(all(is.na(none[-(1:3)])))
  late <- published_summary(c(5, 6), c(TRUE, TRUE))
  expect_equal(late$n_c, 0)
  expect_true(is.na(late$mean_ns))
  expect_equal(late$all_mean_ns, 5.5)
  one <- published_summary(7, FALSE)
  expect_equal(c(one$mean_ns, one$min_ns, one$max_ns), c(7, 7, 7))
  expect_true(is.na(one$se_ns) && is.na(one$e99_ns))
  same <- published_summary(rep(7, 10), rep(FALSE, 10))
  expect_equal(c(same$se_ns, same$e95_ns, same$ci99_low_ns), c(0, 0, 7))
})

test_that("stop rule 1 ends after 31 starts on time or 101 of any kind", {
  expect_equal(stop_by_count(rep(FALSE, 50)), 31)
  expect_equal(stop_by_count(rep(FALSE, 30)), NA_real_)
  expect_equal(stop_by_count(rep(TRUE, 200)), 101)
  expect_equal(stop_by_count(rep(c(TRUE, FALSE), 100)), 62)
  expect_equal(stop_by_count(logical()), NA_real_)
})

test_that("stop rule 2 ends at a relative standard error of 0.05, and not before 10 starts on time", {
  expect_equal(stop_by_error(rep(c(9, 11), 20), rep(FALSE, 40)), 10)
  # n even: sd^2 = 25 n / (n - 1), se / mean = 0.5 / sqrt(n - 1); at n = 101 it is just above 0.05
  expect_equal(stop_by_error(rep(c(5, 15), 100), rep(FALSE, 200)), 102)
  expect_equal(stop_by_error(rep(c(5, 15), 40), rep(FALSE, 80)), NA_real_)
  # late starts are not looked at, but they count
  expect_equal(stop_by_error(c(rep(1e9, 5), rep(c(9, 11), 20)), rep(c(TRUE, FALSE), c(5, 40))), 15)
  expect_equal(stop_by_error(rep(3, 20), rep(FALSE, 20)), 10)
  expect_equal(stop_by_error(3, FALSE), NA_real_)
  expect_equal(stop_by_error(numeric(), logical()), NA_real_)
  # large times with a small scatter keep it
  expect_equal(stop_by_error(1e12 + rep(c(-1, 1), 20), rep(FALSE, 40)), 10)
})

test_that("the report has a row per launch and operation, of the off arm", {
  dir <- local_starts(raw = "starts.bin", launches = 2, operations = c("barrier", "bcast"), bytes = c(0, 64))
  got <- mpiperf_report(dir)
  expect_setequal(paste(got$launch, got$operation, got$bytes),
                  c("sim-1 barrier 0", "sim-1 bcast 64", "sim-2 barrier 0", "sim-2 bcast 64"))
  one <- got[got$launch == "sim-2" & got$operation == "bcast", ]
  starts <- read_starts(file.path(dir, "sim-2"), operations = "bcast", arms = "off", by = "start")
  expect_equal(as.list(one[names(published_summary(1, FALSE))]),
               as.list(published_summary(starts$global_ns, starts$late)))
  expect_equal(one$stop_count, stop_by_count(starts$late))
  text <- status_of("noiselab-analyze", "mpiperf", dir)$out
  expect_match(paste(text, collapse = " "), "no verdict of +noiselab uses +it")
  parsed <- jsonlite::fromJSON(status_of("noiselab-analyze", "mpiperf", "--json", "--trim", "0", dir)$out)
  expect_equal(parsed$trim, 0)
  expect_equal(parsed$rows$n_s, parsed$rows$n_c)
  expect_equal(nrow(data.table::fread(text = status_of("noiselab-analyze", "mpiperf", "--csv", dir)$out)), 4)
})

test_that("launches without raw files are left out and said", {
  dir <- local_starts(raw = "starts.bin")
  simulate_campaign(dir, pairs = 2, levels_percent = 5, prefix = "loop", seed = 2)
  got <- mpiperf_report(dir)
  expect_equal(nrow(got), 1)
  expect_match(attr(got, "notes"), "loop-1 has no raw file")
})
