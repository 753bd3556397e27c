crossed <- function(...) {
  analyze_campaign(simulated_campaign(pairs = 8, levels_percent = c(0, 1, 5), ...), channels = "time")
}

test_that("the data are the estimates, with colour by treatment", {
  analysis <- crossed(kinds = c("spin", "cache"), patterns = c("periodic", "poisson"))
  frame <- plot_treatments(analysis, draw = FALSE)
  expect_equal(nrow(frame), 12)
  expect_setequal(frame$treatment, c("spin, periodic", "spin, poisson", "cache, periodic", "cache, poisson"))
  expect_equal(unique(frame$row), "")
  expect_equal(frame$estimate, analysis$verdicts$estimate)
  drawn <- plot_treatments(analysis)
  expect_equal(levels(drawn$data$treatment)[1], "spin, periodic")
  # no two treatments at the same place
  expect_equal(anyDuplicated(drawn$data[c("panel", "x")]), 0)
  expect_match(alt_treatments(frame), "^Slowdown by treatment. barrier: at 5 % most by [a-z]+, [a-z]+ \\(\\+")
})

test_that("beyond seven treatments the longest factor has the colours and the others the rows", {
  treatments <- expand.grid(kind = c("a", "b", "c"), pattern = c("periodic", "poisson"), placement = c("last", "all"),
                            phase = "random", stringsAsFactors = FALSE)
  expect_equal(treatment_keys(treatments), list(colour = "kind", row = c("pattern", "placement")))
  expect_equal(treatment_keys(treatments[1:6, ]), list(colour = c("kind", "pattern"), row = character()))
  only <- data.frame(kind = letters[1:9], pattern = "periodic", placement = "last", phase = "random")
  expect_equal(treatment_keys(only), list(colour = "kind", row = character()))
  look <- treatment_look(35)
  expect_equal(anyDuplicated(paste(look$colours, look$shapes)), 0)
  analysis <- crossed(kinds = c("a", "b", "c"), placements = c("rank:0", "rank:1", "all"))
  expect_s3_class(ggplot2::ggplotGrob(plot_treatments(analysis)), "gtable")
  expect_equal(unique(plot_treatments(analysis, draw = FALSE)$row), c("all", "rank:0", "rank:1"))
})

test_that("one level and a level without a test are drawn, without a message", {
  analysis <- analyze_campaign(simulated_campaign(pairs = 4, levels_percent = 5, kinds = c("spin", "cache")), channels = "time")
  expect_silent(ggplot2::ggplotGrob(plot_treatments(analysis)))
  expect_silent(ggplot2::ggplotGrob(plot_dose(analysis)))
})
