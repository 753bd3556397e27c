# 3 ms lost per sample
three_ms <- sweep_campaign(c(0.1, 1, 10), c(3, 0.3, 0.03), operations = c("barrier", "alltoall"),
                           bytes = c(0, 2048))
analysis <- analyze_campaign(three_ms, margin = 0.5, channels = c("time", "preempted"))

test_that("the shortest safe interval is found, with the cost of a sample and its interval", {
  sweep <- interval_sweep(analysis, margin = 0.5)
  expect_equal(sweep$safe$interval_s, 1)
  expect_equal(sweep$answer, "pass")
  expect_equal(sweep$steps$interval_s, c(10, 1, 0.1))
  expect_equal(sweep$steps$answer, c("pass", "pass", "fail"))
  expect_equal(sweep$model$cost_s, c(3e-3, 3e-3), tolerance = 0.03)
  expect_true(all(sweep$model$cost_low_s < sweep$model$cost_s & sweep$model$cost_high_s > sweep$model$cost_s))
  expect_equal(sweep$model$interval_at_margin_s, 200 * sweep$model$cost_s)
  expect_true(all(sweep$rows$ci_low < sweep$rows$estimate & sweep$rows$estimate < sweep$rows$ci_high))
  expect_true(all(sweep$rows$detection_limit > 0))
  expect_equal(
    sweep$sentences,
    paste("agent: sampling every 1 s or less often keeps every operation that was run below 0.5 % with 99 %",
          "confidence; at 100 ms it is above.")
  )
  text <- part_lines(intervals_part(sweep))
  expect_match(text, "ms lost per sample", all = FALSE)
  expect_lte(max(nchar(text)), 110)
  expect_match(as.character(report_sweep(analysis)), "sampling every 1 s or less often")
})

test_that("steps go down from the longest interval and stop at the first that is not shown to be safe", {
  # A quiet shorter interval below an unsafe longer one is not called safe.
  sweep <- interval_sweep(sweep_campaign(c(1, 10, 60), c(0, 3, 0)), margin = 0.5)
  expect_equal(sweep$steps$answer, c("pass", "fail", "pass"))
  expect_equal(sweep$steps$safe, c(TRUE, FALSE, FALSE))
  expect_equal(sweep$safe$interval_s, 60)
  # and one operation that is not safe makes the interval unsafe
  slow <- which(
    three_ms$rows$operation == "barrier" & three_ms$rows$arm == "on" & three_ms$rows$kind == "agent@1s"
  )
  one <- three_ms
  one$rows <- data.table::copy(one$rows)
  one$rows$wall_ns[slow] <- one$rows$wall_ns[slow] * 1.03
  one <- interval_sweep(one, margin = 0.5)
  expect_equal(one$safe$interval_s, 10)
  expect_equal(one$steps$worst[2], "barrier")
})

test_that("no safe interval, and a run that cannot tell, are told apart", {
  none <- sweep_campaign(c(1, 10), c(3, 3))
  fail <- interval_sweep(none, margin = 0.5)
  expect_equal(fail$answer, "fail")
  expect_match(fail$sentences, "no interval that was run is safe: at 10 s, the longest, it is above 0.5 %",
               fixed = TRUE)
  open <- interval_sweep(none, margin = 3)
  expect_equal(open$answer, "inconclusive")
  expect_match(open$sentences,
               paste0("no interval that was run is shown to be below 3 %: at 10 s this run cannot tell ",
                      "\\(barrier: up to [0-9.]+ %\\)"))
  # what has no verdict has no bound either: in the sentence stands why, in the table none
  open$rows$reason[open$rows$interval_s == 10] <- "only an effect above 40 % would be detected: measure on"
  open$steps$worst_high[open$steps$interval_s == 10] <- NA
  expect_match(sweep_sentences(open), "cannot tell (barrier: only an effect above 40 % would be detected).",
               fixed = TRUE)
  shown <- intervals_table(open)$columns
  expect_identical(shown$bound_high$text == "-", open$rows$interval_s == 10)
})

test_that(paste0("files say the interval, each interval is a treatment, and the front end ends with the ",
                 "answer's status"), {
  dir <- local_folder()
  for (i in 1:2) {
    do.call(
      simulate_campaign,
      c(
        quiet,
        list(dir, external = "agent", slowdown_percent = c(3, 0.01)[i], launches = 2, pairs = 15,
             prefix = c("often", "seldom")[i], seed = i)
      )
    )
  }
  status <- function(...) status_of("noiselab-analyze", "intervals", dir, ...)
  expect_match(status()$err, "two sampling intervals or more")
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$options$agent_interval_ns <- if (grepl("/often-", file)) {
        1e8
      } else {
        1e10
      }
      info
    })
  }
  campaign <- read_campaign(dir)
  expect_setequal(levels(campaign$rows$kind), c("agent@100ms", "agent@10s"))
  expect_setequal(stats::na.omit(unique(as.character(campaign$hist$kind))), c("agent@100ms", "agent@10s"))
  expect_equal(json_of("intervals", dir, "--margin", "1%")$safe$interval_s, 10)
  expect_equal(c(status("--margin", "0.0001", "--csv")$status, status()$status), c(3L, 0L))
})

test_that("a campaign without intervals stays as it is", {
  plain <- simulated_campaign(external = "agent", pairs = 10, seed = 1)
  expect_identical(name_intervals(plain), plain)
  expect_error(interval_sweep(plain), "two sampling intervals or more", class = "nl_error_data")
  analysis <- analyze_campaign(plain, channels = "time")
  expect_null(plot_intervals(analysis, draw = FALSE))
  expect_null(report_sweep(analysis))
})

test_that("one launch per interval is judged by its pairs, sets of launches by the set", {
  sweep <- interval_sweep(sweep_campaign(c(1, 10), c(2, 0), launches = 1), margin = 0.5)
  expect_equal(unique(sweep$rows$unit_of_inference), "pair")
  expect_equal(sweep$safe$interval_s, 10)
  campaign <- simulated_campaign(external = "agent", design = "launches", pairs = 20, launches = 6, seed = 3)
  for (id in names(campaign$launches)) {
    set <- campaign$launches[[id]]$options$set
    if (campaign$launches[[id]]$options$arms == "on") {
      campaign$launches[[id]]$options$agent_interval_ns <- if (set > 3) {
        1e9
      } else {
        1e10
      }
    }
  }
  sets <- interval_sweep(name_intervals(campaign))
  expect_equal(sets$rows$unit_of_inference, rep("set of launches", 2))
  expect_equal(sets$rows$n, c(3, 3))
})

test_that("the plot has a point per operation and interval, the margin and the safe region", {
  analysis <- analyze_campaign(sweep_campaign(c(0.1, 1), c(3, 0)), margin = 0.5, channels = "time")
  frame <- plot_intervals(analysis, draw = FALSE)
  expect_equal(frame$interval_s, c(1, 0.1))
  expect_equal(frame$series, c("below the margin", "above the margin"))
  drawn <- ggplot2::ggplot_build(plot_intervals(analysis))
  expect_equal(length(drawn$data), 7) # safe region, zero, margin, guide, two bars, points
  expect_equal(
    alt_intervals(frame),
    sprintf("Slowdown by sampling interval. barrier: %s %% at 100 ms, %s %% at 1 s, safe from 1 s on.",
            format_effect(frame$estimate[2]), format_effect(frame$estimate[1]))
  )
  expect_equal(size_intervals(frame, analysis)[1], 9)
  without <- plot_intervals(analyze_campaign(analysis$campaign, channels = "time"), draw = FALSE)
  expect_equal(without$series, c("not detected", "detected"))
  expect_true(all(is.na(without$margin_percent)))
})
