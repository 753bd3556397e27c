test_that("pooled lines have their launches below them, and hold what the verdicts say", {
  dir <- local_campaign(pairs = 12, launches = 3, levels_percent = c(0, 1, 5),
                        operations = c("reduce", "barrier"))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_forest(analysis, draw = FALSE)
  expect_equal(sum(frame$pooled), 4)
  expect_equal(sum(!frame$pooled), 12)
  expect_equal(unique(frame$panel), c("reduce", "barrier"))
  wanted <- subset(analysis$verdicts,
                   scope == scope_these & operation == "reduce" & level_requested_percent == 5)
  got <- subset(frame, pooled & panel == "reduce" & level_requested_percent == 5)
  expect_equal(c(got$estimate_percent, got$ci_low_percent, got$ci_high_percent),
               c(wanted$estimate, wanted$ci_low, wanted$ci_high))
  expect_equal(got$verdict, "detected")
  expect_true(all(is.na(frame$bound_low_percent)) && all(is.na(frame$margin_percent)))
  expect_equal(plot_forest(analysis)$labels$subtitle,
               "scope: these launches; unit of inference: the pair, n = 36 pairs per level")
  expect_match(alt_forest(frame), "reduce: most at 5 %: \\+[0-9.]+ % \\[.*\\]; [12] detected")
})

test_that("launches with other numbers of ranks, and treatments of one launch, are lines of their own", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  simulate_campaign(dir, pairs = 8, levels_percent = 5, ranks = 4, prefix = "four", seed = 2)
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  frame <- plot_forest(analysis, draw = FALSE)
  expect_equal(frame$label, c("2 ranks, 5 %", "4 ranks, 5 %"))
  expect_equal(anyDuplicated(forest_lines(frame, analysis)$line), 0)
  # of one launch, and none where there is nothing to show
  of <- function(levels, channel) {
    plot_forest(
      analyze_campaign(simulated_campaign(pairs = 8, levels_percent = levels, kinds = c("spin", "cache")),
                       channels = channel),
      draw = FALSE
    )
  }
  expect_equal(of(c(1, 5), "time")$label, c("spin, 1 %", "spin, 5 %", "cache, 1 %", "cache, 5 %"))
  expect_null(of(0, "time"))
  expect_null(of(5, "preempted"))
})

test_that("a margin is shaded, with the verdicts and intervals that belong to it", {
  analysis <- analyze_campaign(simulated_campaign(pairs = 12, levels_percent = c(1, 2, 5)), channels = "time")
  analysis$margin <- 3
  analysis$verdicts$margin_verdict <- c("below", "inconclusive", "above")
  analysis$verdicts$margin_low <- c(1, 2, 4)
  analysis$verdicts$margin_high <- c(2, 4, 9)
  frame <- plot_forest(analysis, draw = FALSE)
  expect_equal(frame$verdict, c("below", "inconclusive", "above"))
  expect_equal(frame$bound_high_percent, c(2, 4, 9))
  drawn <- plot_forest(analysis)
  expect_match(gsub("\\s+", " ", drawn$labels$caption),
               "98 % interval that the verdict on the margin comes from .*margin of 3 %")
  expect_s3_class(ggplot2::ggplotGrob(drawn), "gtable")
})
