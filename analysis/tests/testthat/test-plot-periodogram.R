test_that("the spectrum is drawn with its background, and thinned without losing its peaks", {
  dir <- local_starts(raw = "starts.bin", pairs = 30, half_period_ns = 1e6)
  analysis <- analyze_campaign(read_campaign(dir))
  frame <- plot_periodogram(analysis, draw = FALSE)
  expect_true(all(frame$threshold_percent2 > frame$background_percent2))
  s <- plotted_series(analysis$campaign)[[1]]
  expect_equal(s$series, "starts")
  spectrum <- periodogram(s$x, s$t_s)
  expect_lt(nrow(frame), nrow(spectrum))
  expect_equal(max(frame$power_percent2), max(spectrum$power))
  drawn <- plot_periodogram(analysis)
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
  expect_match(drawn$labels$subtitle, "n = ")
  expect_match(alt_periodogram(frame), "Spectrum of the noise. barrier: .* between periods of")
})

test_that("without 16 halves there is no spectrum", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  expect_null(plot_periodogram(analyze_campaign(read_campaign(dir))))
})
