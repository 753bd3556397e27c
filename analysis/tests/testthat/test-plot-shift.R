hist_of <- function(lo, count, launch = "a", width = 1) {
  data.frame(launch = launch, lo_ns = lo, hi_ns = lo + width, count = count)
}

test_that("a shift of all operations is the same at every quantile", {
  off <- hist_of(seq(1000, 1990, 10), 50, width = 10)
  on <- hist_of(seq(1100, 2090, 10), 50, width = 10)
  got <- shift_within(on, off, 0.01)
  expect_equal(got$shift_us, rep(0.1, 11))
  expect_equal(got$off_us[got$p == 0.5], 1.4995)
  expect_true(all(got$low_us < 0.1 & got$high_us > 0.1, na.rm = TRUE))
})

test_that("across launches it is the mean with Student's interval of their scatter", {
  launches <- c("a", "b", "c")
  make <- function(add) do.call(rbind, Map(function(launch, add) hist_of(0:99 + add, 10, launch), launches, add))
  off <- make(c(0, 1000, 2000))
  on <- make(c(0, 1000, 2000) + c(10, 20, 30))
  got <- shift_across(on, off, launches, 0.01)
  expect_equal(got$shift_us, rep(0.02, 11))
  expect_equal(got$high_us[5], 0.02 + stats::qt(0.995, 2) * 0.01 / sqrt(3))
  expect_equal(unique(got$unit), "launches")
})

test_that("campaigns give a curve per level, by launches from three on", {
  for (launches in 2:3) {
    dir <- local_campaign(pairs = 6, launches = launches, levels_percent = c(0, 5))
    analysis <- analyze_campaign(read_campaign(dir))
    frame <- plot_shift(analysis, draw = FALSE)
    expect_equal(nrow(frame), 22)
    expect_equal(unique(frame$unit), if (launches == 3) "launches" else "operations")
    words <- plot_shift(analysis)$labels
    expect_match(words$subtitle, if (launches == 3) "n = 3 launches" else "operations as if independent, n = ")
  }
  top <- frame[frame$level_requested_percent == 5, ]
  expect_gt(top$shift_us[top$p == 0.5], 0)
  expect_equal(top$on_us - top$off_us, top$shift_us)
  expect_match(alt_shift(frame), "barrier: at 5 % the median moves by \\+")
})

test_that("treatments share the off curve, and without off operations there is no shift", {
  dir <- local_campaign(pairs = 6, levels_percent = 5, kinds = c("spin", "cache"))
  frame <- plot_shift(analyze_campaign(read_campaign(dir)), draw = FALSE)
  parts <- split(frame$off_us, frame$panel)
  expect_equal(names(parts), c("barrier, cache", "barrier, spin"))
  expect_equal(parts[[1]], parts[[2]])
  for (file in list.files(dir, "hist.csv", recursive = TRUE, full.names = TRUE)) edit_lines(file, function(x) x[!grepl(",off,", x)])
  expect_null(plot_shift(analyze_campaign(read_campaign(dir))))
})
