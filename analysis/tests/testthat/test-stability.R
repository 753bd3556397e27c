# In memory, or in files where a program reads it.
campaign_of <- function(..., pairs = 60, launches = 3, levels_percent = c(0, 2), make = simulated_campaign) {
  make(pairs = pairs, launches = launches, levels_percent = levels_percent, ...)
}
files_of <- function(..., env = parent.frame()) campaign_of(..., env = env, make = local_campaign)

test_that("every figure of a configuration is that of its definition", {
  campaign <- campaign_of(base_sd = 0.01)
  row <- stability_table(campaign)
  expect_equal(nrow(row), 1)
  rows <- as.data.frame(campaign$rows)
  rows$time <- rows$wall_ns / rows$operations
  off <- split(rows$time[rows$arm == "off"], rows$launch[rows$arm == "off"])
  means <- vapply(off, mean, 0)
  expect_equal(row$mean_ns, mean(means))
  expect_equal(row$cv_launches_percent, 100 * sd(means) / mean(means))
  expect_equal(row$cv_launches_low_percent, row$cv_launches_percent * sqrt(2 / qchisq(0.99, 2)))
  expect_equal(row$cv_launches_high_percent, row$cv_launches_percent * sqrt(2 / qchisq(0.01, 2)))
  analysis <- analyze_campaign(campaign, channels = "time")
  level <- analysis$pairs$cells$level_requested_percent[analysis$pairs$cell]
  d <- analysis$differences$time
  expect_equal(row$slowdown_percent, 100 * expm1(mean(d[level == 2])))
  expect_equal(row$p_one_sided, sign_flip_test(d[level == 2])$p)
  # the interval of the one-sided test beside it
  expect_equal(row$slowdown_low_percent, 100 * expm1(randomisation_inference(d[level == 2], 0.01)$low))
  # from other orders of the same noise; near that of a t test, which this noise would allow
  expect_equal(row$limit_percent, 100 * expm1(randomisation_inference(d[level == 0], 0.01, 0.95)$limit))
  expect_equal(row$limit_percent, 100 * expm1(detection_limit(sd(d[level == 0]) / sqrt(180), 179)),
               tolerance = 0.1)
  slope <- row$slowdown_percent / row$level_delivered_percent
  expect_equal(row$lod_percent, row$limit_percent / slope)
  # half of each launch's time is the placebo's pairs'
  span <- sum(tapply(rows$start_ns + rows$wall_ns, rows$launch, max)) / 1e9
  expect_equal(row$machine_s, span / 2)
  expect_equal(row$merit, row$lod_percent * sqrt(span / 2))
  expect_true(row$merit_low < row$merit && row$merit < row$merit_high)
  expect_true(stability_table(campaign, spread = 1.001 * row$cv_launches_high_percent)$suitable)
})

test_that("the interval of the figure of merit is that of its parts on the scale of logs", {
  blank <- list(se = 0.01, df = 50, limit = 0.04)
  effect <- data.frame(slowdown_percent = 3, slowdown_low_percent = 2, slowdown_high_percent = 4,
                       level_delivered_percent = 1,
                       level_requested_percent = 1)
  row <- merit_row(blank, effect, 4, 0.01)
  upper <- sqrt(50 / qchisq(0.01, 50))
  expect_equal(row$merit_high / row$merit, exp(sqrt(log(upper)^2 + log(3 / 2)^2)))
  expect_equal(row$merit, row$limit_percent / 3 * 2)
  effect$slowdown_low_percent <- -1
  expect_true(is.na(merit_row(blank, effect, 4, 0.01)$merit_high))
})

test_that("the figure of merit does not depend on how long was measured", {
  short <- stability_table(campaign_of(pairs = 60))
  long <- stability_table(campaign_of(pairs = 600))
  expect_equal(short$merit, long$merit, tolerance = 0.25)
  expect_lt(long$lod_percent, short$lod_percent / 2)
})

test_that("what does not react is never recommended, however quiet it is", {
  table <- stability_table(campaign_of(operations = c("quiet", "barrier"), amplification = c(0, 1.5)))
  expect_equal(table$reacts, c(TRUE, FALSE))
  expect_equal(table$operation, c("barrier", "quiet"))
  expect_equal(table$reason, c(NA, "does not react"))
  expect_true(is.na(table$merit[2]))
  advice <- recommend_configuration(table)
  expect_equal(advice$row$operation, "barrier")
  expect_match(advice$commands, "--op barrier", all = TRUE)
})

test_that("what differs from launch to launch is not reproducible", {
  dir <- files_of(base_sd = 0.3)
  table <- stability_table(read_campaign(dir))
  expect_true(table$reacts)
  expect_match(table$reason, "^not reproducible \\(CV over launches above 5 %\\)$")
  expect_null(recommend_configuration(table)$row)
  expect_equal(recommend_configuration(table)$commands, character())
  expect_true(stability_table(read_campaign(dir), spread = 1000)$suitable)
  got <- status_of("noiselab-analyze", "stability", dir)
  expect_equal(got$status, 3L)
  expect_match(got$err, "no configuration is shown to be reproducible and to react")
  expect_match(got$out, "^No configuration is shown to be reproducible", all = FALSE)
})

test_that("what is reproducible is decided by the bound of the scatter, and else undecided", {
  dir <- files_of(base_sd = 0.03)
  table <- stability_table(read_campaign(dir))
  # The estimate is within the limit; three launches do not show that the scatter is.
  expect_lt(table$cv_launches_percent, 5)
  expect_gt(table$cv_launches_high_percent, 5)
  expect_equal(table$reproducible, "undecided")
  expect_false(table$suitable)
  expect_match(
    table$reason,
    paste0("^reproducible or not is undecided: over 3 launches the CV is .* %, and below 5 % is not shown; ",
           "run more launches$")
  )
  expect_null(recommend_configuration(table)$row)
  got <- status_of("noiselab-analyze", "stability", dir)
  expect_equal(got$status, 3L)
  expect_match(got$out, "[Bb]arrier, 2 ranks reacts and may be reproducible: run more launches", all = FALSE)
  expect_match(got$out, "98 % CI", all = FALSE)
})

test_that("fewer than 3 launches, one pair, and no level above 0 have their reasons", {
  expect_match(stability_table(campaign_of(launches = 2))$reason, "2 launches, reproducibility needs 3")
  expect_match(stability_table(campaign_of(launches = 1, pairs = 1))$reason,
               "1 pairs, a test at alpha 0.01 needs 7.*1 launch,")
  expect_match(stability_table(campaign_of(levels_percent = 0))$reason, "no level above 0")
  same <- campaign_of(pairs = 5)
  same$rows$wall_ns <- 1e7
  constant <- stability_table(same)
  expect_false(constant$reacts)
  expect_equal(constant$cv_launches_percent, 0)
  expect_equal(recommend_configuration(constant[0, ])$why, "there is no configuration")
})

test_that("ranks and operations in a block tell configurations apart", {
  dir <- files_of()
  simulate_campaign(dir, pairs = 60, launches = 3, levels_percent = c(0, 2), ranks = 4, prefix = "four",
                    jitter_sd = 0.02)
  simulate_campaign(dir, pairs = 60, launches = 3, levels_percent = c(0, 2), design = "blocks",
                    prefix = "counted")
  for (i in 1:3) edit_info(file.path(dir, paste0("counted-", i), "launch.json"), info$options$count <- 5000)
  campaign <- read_campaign(dir)
  table <- stability_table(campaign)
  expect_setequal(configuration_name(table),
                  c("barrier, 2 ranks", "barrier, 4 ranks", "barrier, 2 ranks, blocks of 5000"))
  expect_false(is.unsorted(table$merit))
  counted <- stability_table(campaign, spread = 100)
  counted <- recommend_configuration(counted[!is.na(counted$count), ])
  expect_match(counted$commands, "--design blocks --block .* --count 5000")
  text <- status_of("noiselab-analyze", "stability", dir)$out
  expect_true(all(nchar(text) <= 98))
  expect_match(text, "x5000", all = FALSE)
})

test_that("text and JSON name the treatment, and the plan that is recommended runs", {
  dir <- files_of(kinds = c("spin", "cache"), treatment_factor = c(1, 2))
  got <- status_of("noiselab-analyze", "stability", dir)
  expect_equal(got$status, 0L)
  expect_match(got$out, "kind cache", all = FALSE)
  json <- json_of("stability", dir)
  expect_equal(json$rows$kind[1], "cache")
  expect_match(json$recommendation$commands[1], paste("--pilot", dir), fixed = TRUE)
  expect_equal(status_of("noiselab-analyze", "stability", "--spread", "x", dir)$status, 2L)
  expect_equal(status_of("noiselab-analyze", "--spread", "5", dir)$status, 2L)
  # the recommended plan is one that runs
  plan <- sub("noiselab plan ", "", json$recommendation$commands[1])
  expect_equal(status_of("noiselab-plan", c(strsplit(plan, " ")[[1]], "--launches", "1"))$status, 0L)
})
