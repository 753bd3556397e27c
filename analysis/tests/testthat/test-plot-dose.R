test_that("one level and a level without a test are drawn, without a message", {
  analysis <- analyze_campaign(simulated_campaign(pairs = 4, levels_percent = 5, kinds = c("spin", "cache")), channels = "time")
  expect_silent(ggplot2::ggplotGrob(plot_dose(analysis)))
})
