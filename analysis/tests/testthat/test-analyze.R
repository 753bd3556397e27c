test_that("known truth is found: estimates inside their intervals, the placebo not detected", {
  dir <- local_campaign(pairs = 250, levels_percent = c(0, 0.1, 1, 5), seed = 11)
  got <- analyze_campaign(read_campaign(dir))
  truth <- simulate_campaign(tempfile(), pairs = 1, levels_percent = c(0, 0.1, 1, 5), seed = 11)
  time <- got$verdicts[got$verdicts$channel == "time", ]
  expect_true(all(time$ci_low <= truth$slowdown_percent & truth$slowdown_percent <= time$ci_high))
  expect_match(time$verdict[1], "^not detected \\(limit 0\\.[0-9]+ %\\)$")
  expect_equal(time$verdict[3:4], c("detected", "detected"))
  stolen <- got$verdicts[got$verdicts$channel == "stolen", ]
  expect_equal(stolen$estimate, truth$stolen_percent, tolerance = 0.02)
  expect_equal(unique(stolen$estimator), "pseudo-median")
  expect_equal(stolen$verdict[-1], rep("detected", 3))
  cost <- got$cost[got$cost$level_requested_percent > 0, ]
  expect_true(all(cost$ci_low <= 2000 & 2000 <= cost$ci_high))
  ratio <- got$amplification[got$amplification$level_requested_percent == 5, ]
  expect_true(ratio$ci_low <= 1.5 && 1.5 <= ratio$ci_high)
  expect_true(all(got$verdicts$scope == "this launch"))
})

test_that("blocks: every on block of a set is compared with the off block of the set", {
  dir <- local_campaign(design = "blocks", pairs = 30, levels_percent = c(0, 5), wander_sd = 1e-4)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  expect_equal(got$verdicts$n_pairs, c(30, 30))
  expect_equal(got$verdicts$verdict[2], "detected")
})

test_that("a single loop per arm gives an estimate but no inference", {
  dir <- local_campaign(design = "single", levels_percent = 5)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  expect_equal(got$verdicts$verdict, "inconclusive: one loop per arm")
  expect_false(is.na(got$verdicts$estimate))
})

test_that("across launches the launch is the unit", {
  dir <- local_campaign(launches = 4, pairs = 30, levels_percent = c(0, 5), launch_sd = 0.002)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  across <- got$verdicts[got$verdicts$scope == "launches like these", ]
  each <- got$verdicts[got$verdicts$scope == "this launch" & got$verdicts$level_requested_percent == 5, ]
  d <- log1p(each$estimate / 100)
  wanted <- t.test(d, alternative = "greater")
  expect_equal(across$p_one_sided[2], wanted$p.value)
  expect_equal(across$p_check[2], 1 / 16)
  expect_equal(across$estimate[2], 100 * expm1(mean(d)))
  expect_equal(across$n_launches[2], 4)
})

test_that("launches of one arm each are compared by Welch's test on launch means", {
  dir <- local_campaign(design = "single", arms = "off", launches = 4, prefix = "clean", seed = 1,
                        levels_percent = 5, wander_sd = 1e-4)
  simulate_campaign(dir, design = "single", arms = "on", launches = 5, prefix = "noisy", seed = 2,
                    levels_percent = 5, wander_sd = 1e-4)
  campaign <- read_campaign(dir)
  got <- analyze_campaign(campaign, channels = "time")$verdicts
  y <- log(campaign$rows$wall_ns / campaign$rows$operations)
  on <- campaign$rows$arm == "on"
  wanted <- t.test(y[on], y[!on], alternative = "greater")
  expect_equal(got$p_one_sided, wanted$p.value)
  expect_equal(got$scope, "launches like these")
  expect_equal(got$verdict, "detected")
  expect_match(format_verdicts(analyze_campaign(campaign)), "unpaired", all = FALSE)
})

test_that("too few pairs, constant data and no pair are inconclusive or refused", {
  dir <- local_campaign(pairs = 6, levels_percent = 5)
  got <- analyze_campaign(read_campaign(dir), channels = c("time", "steal"))
  expect_match(got$verdicts$verdict[1], "inconclusive: 6 informative pairs, a test at alpha 0.01 needs 7")
  dir <- local_campaign(pairs = 20, levels_percent = 5)
  got <- analyze_campaign(read_campaign(dir), channels = "steal")
  expect_match(got$verdicts$verdict, "inconclusive: all differences are equal")
  dir <- local_campaign(pairs = 20, levels_percent = 5, ended = NA)
  edit_lines(halves_of(dir), function(x) c(x[1], x[-1][!duplicated(sub("^([^,]*,){4}([0-9]+),.*", "\\2", x[-1]))]))
  expect_error(analyze_campaign(read_campaign(dir)), "no complete pair", class = "nl_error_data")
})

test_that("a detected placebo is said aloud", {
  dir <- local_campaign(pairs = 40, levels_percent = 0, slowdown_percent = 5)
  expect_match(analyze_campaign(read_campaign(dir))$notes, "PLACEBO DETECTED", all = FALSE)
})

test_that("a delivered load outside 5 % of the requested one is noted on its row", {
  label <- function(got) list(level_requested_percent = 1, level_delivered_percent = got)
  expect_true(is.na(delivered_note(label(1.04))))
  expect_match(delivered_note(label(0.6)), "delivered 0.6 % for 1 % requested")
  expect_true(is.na(delivered_note(label(NA))))
})

test_that("false alarms and coverage are as stated (small seeded check)", {
  set.seed(42)
  p <- replicate(400, sign_flip_test(stats::rt(30, 2))$p)
  # 400 tests at 1 %: more than 12 would happen with probability below 1e-4.
  expect_lte(sum(p <= 0.01), 12)
  rank_p <- replicate(400, signed_rank_test(stats::rcauchy(60))$p)
  expect_lte(sum(rank_p <= 0.01), 12)
  covered <- replicate(400, {
    ci <- pseudo_median(stats::rcauchy(60))
    ci$low <= 0 && 0 <= ci$high
  })
  expect_gte(sum(covered), 386)
})

test_that("a channel without any difference in the dosed pairs is inconclusive, not an error", {
  verdict <- launch_verdict(
    list(scope = scope_launch, launch = "L", design = "lockin", operation = "barrier", bytes = 0,
         ranks = 2, level_requested_percent = 0.01, level_delivered_percent = 0.01),
    "steal", c(rep(c(1, -1), 20), rep(0, 10)),
    data.frame(bursts = c(rep(0, 40), rep(1, 10)), due = c(rep(0, 40), rep(1, 10)),
               delivered = c(rep(0, 40), rep(1, 10))),
    list(alpha = 0.01, power = 0.95, conf = 0.99)
  )
  expect_match(verdict$reason, "all differences are equal")
  expect_true(is.na(verdict$p_one_sided))
})

test_that("amplification agrees with the slowdown of the time channel on noisy loop times", {
  dir <- local_campaign(pairs = 2000, levels_percent = 5, jitter_sd = 0.1, seed = 3)
  analysis <- analyze_campaign(read_campaign(dir))
  time <- subset(analysis$verdicts, channel == "time")
  stolen <- subset(analysis$verdicts, channel == "stolen")
  expect_equal(analysis$amplification$amplification, time$estimate / stolen$mean, tolerance = 1e-6)
})

test_that("a channel that is almost always 0 is inconclusive, however many pairs there are", {
  d <- c(rep(0, 300), 1)
  expect_match(cell_reason(list(design = "lockin"), d, sum(d != 0), 0.01), "1 informative pair,")
})
