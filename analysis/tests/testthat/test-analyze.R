test_that("known truth is found: estimates inside their intervals, the placebo not detected", {
  got <- analyze_campaign(simulated_campaign(pairs = 250, levels_percent = c(0, 0.1, 1, 5), seed = 11),
                          channels = c("time", "preempted"))
  truth <- attr(got$campaign, "truth")
  time <- got$verdicts[got$verdicts$channel == "time", ]
  expect_true(all(time$ci_low <= truth$slowdown_percent & truth$slowdown_percent <= time$ci_high))
  expect_equal(time$verdict, c("not detected", time$verdict[2], "detected", "detected"))
  expect_true(time$detection_limit[1] > 0 && time$detection_limit[1] < 1)
  expect_equal(unique(time$estimator), "pseudo-median")
  preempted <- got$verdicts[got$verdicts$channel == "preempted", ]
  expect_equal(preempted$estimate, truth$preempted_percent, tolerance = 0.02)
  expect_equal(unique(preempted$estimator), "pseudo-median")
  expect_equal(preempted$verdict[-1], rep("detected", 3))
  ratio <- got$amplification[got$amplification$level_requested_percent == 5, ]
  expect_true(ratio$ci_low <= 1.5 && 1.5 <= ratio$ci_high)
  expect_equal(ratio$amplification, time$estimate[4] / preempted$estimate[4], tolerance = 1e-6)
  expect_true(all(got$verdicts$scope == "this launch"))
})

test_that("blocks: every on block of a set is compared with the off block of the set", {
  got <- analyze_campaign(
    simulated_campaign(design = "blocks", pairs = 30, levels_percent = c(0, 5), wander_sd = 1e-4),
    channels = "time"
  )
  expect_equal(got$verdicts$n_pairs, c(30, 30))
  expect_equal(got$verdicts$verdict[2], "detected")
})

test_that("a single loop per arm gives an estimate but no inference", {
  got <- analyze_campaign(simulated_campaign(design = "single", levels_percent = 5), channels = "time")
  expect_equal(c(got$verdicts$verdict, got$verdicts$verdict_because, got$verdicts$reason),
               c("inconclusive", "no_test", "one loop per arm"))
  expect_false(is.na(got$verdicts$estimate))
})

test_that("across launches the launch is the unit", {
  got <- analyze_campaign(
    simulated_campaign(launches = 4, pairs = 30, levels_percent = c(0, 5), launch_sd = 0.002),
    channels = "time"
  )
  across <- got$verdicts[got$verdicts$scope == "launches like these", ]
  each <- got$verdicts[got$verdicts$scope == "this launch" & got$verdicts$level_requested_percent == 5, ]
  d <- log1p(each$estimate / 100)
  wanted <- t.test(d, alternative = "greater")
  expect_equal(across$p_one_sided[2], wanted$p.value)
  expect_equal(across$estimate[2], 100 * expm1(mean(d)))
  expect_equal(across$n_launches[2], 4)
})

test_that("a clean launch has no period, and is not unlike one that has; two periods are", {
  dir <- local_campaign(design = "single", arms = "off", launches = 2, prefix = "clean", levels_percent = 5)
  simulate_campaign(dir, design = "single", arms = "on", launches = 2, prefix = "noisy", levels_percent = 5)
  unlike <- function(periods) {
    for (id in names(periods)) {
      edit_info(file.path(dir, id, "launch.json"), info$options["period_ns"] <- list(periods[[id]]))
    }
    grep("UNLIKE", analyze_campaign(read_campaign(dir), channels = "time")$notes, value = TRUE)
  }
  expect_equal(unlike(list(`clean-1` = NULL, `clean-2` = NULL)), character())
  expect_match(unlike(list(`noisy-2` = 2e7)), "period_ns differs")
})

test_that("too few pairs, constant data and no pair are inconclusive or refused", {
  got <- analyze_campaign(simulated_campaign(pairs = 6, levels_percent = 5), channels = c("time", "steal"))
  expect_equal(got$verdicts$reason[1], "6 informative pairs, a test at alpha 0.01 needs 7")
  dir <- local_campaign(pairs = 20, levels_percent = 5)
  # that the hypervisor took nothing at all is known
  got <- analyze_campaign(read_campaign(dir), channels = "steal")
  expect_equal(got$verdicts$verdict, "not detected")
  campaign <- read_campaign(dir)
  data.table::set(campaign$rows, j = "wall_ns", value = ifelse(campaign$rows$arm == "on", 1.1e7, 1e7))
  data.table::set(campaign$rows, j = "operations", value = 1000)
  expect_match(analyze_campaign(campaign, channels = "time")$verdicts$reason, "all differences are equal")
  dir <- local_campaign(pairs = 20, levels_percent = 5, ended = NA)
  edit_lines(halves_of(dir), function(x) {
    c(x[1], x[-1][!duplicated(sub("^([^,]*,){4}([0-9]+),.*", "\\2", x[-1]))])
  })
  expect_error(analyze_campaign(read_campaign(dir)), "no complete pair", class = "nl_error_data")
})

test_that("a detected placebo is said aloud", {
  dir <- local_campaign(pairs = 40, levels_percent = 0, slowdown_percent = 5)
  expect_match(analyze_campaign(read_campaign(dir))$notes, "PLACEBO DETECTED", all = FALSE)
})

test_that("what was delivered is one figure: CPU time over wall time of the on halves and their CPUs", {
  expect_equal(delivered_percent(c(1, 4, NA), c(300, 100, 50)), 1.75)
  expect_true(is.na(delivered_percent(NA_real_, 100)))
  expect_equal(delivered_ratio(0.5, 1), 0.5)
  expect_true(is.na(delivered_ratio(0, 0)))
  expect_true(is.na(delivered_ratio(3, Inf)))
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  on <- which(data.table::fread(halves_of(dir))$arm == "on") + 1
  # another account of what was asked for makes no second figure
  edit_cells(halves_of(dir), on, level_delivered_percent = 3, delivered_ns = 1000, requested_ns = 1010)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  expect_equal(got$verdicts$level_delivered_percent, 3)
  expect_equal(got$verdicts$delivered_ratio, 3 / 5)
  expect_match(got$notes, "delivered 3 % of one CPU for 5 % requested", all = FALSE)
  # a dose that missed its mark is a dose all the same; within 5 % nothing is said
  expect_equal(got$verdicts$verdict, "detected")
  note <- function(percent) {
    delivered_note(list(level_requested_percent = 1, level_delivered_percent = percent))
  }
  expect_equal(is.na(c(note(1.04), note(1.06), note(NA))), c(TRUE, FALSE, TRUE))
  expect_no_match(paste(got$notes, collapse = " "), "of the CPU time requested|times the dose")
})

test_that("a channel without any difference in the dosed pairs is inconclusive, not an error", {
  verdict <- launch_verdict(
    list(scope = scope_launch, launch = "L", design = "lockin", operation = "barrier", bytes = 0, ranks = 2,
         level_requested_percent = 0.01, level_delivered_percent = 0.01),
    "detour",
    list(d = c(rep(c(1, -1), 20), rep(0, 10)), bursts = c(rep(0, 40), rep(1, 10)),
         due = c(rep(0, 40), rep(1, 10)), delivered = c(rep(0, 40), rep(1, 10)), resolution = 0),
    1,
    list(alpha = 0.01, power = 0.95, conf = 0.98, is_sequential = FALSE)
  )
  expect_match(verdict$reason, "all differences are equal")
  expect_true(is.na(verdict$p_one_sided))
})

test_that("a channel that is almost always 0 is inconclusive, however many pairs there are", {
  d <- c(rep(0, 300), 1)
  expect_match(cell_reason(list(design = "lockin"), channels$detour, d, sum(d != 0), 0.01),
               "1 informative pair,")
})

test_that("preempted time that is mostly 0 by the scheduler is an answer, not a lack of one", {
  dir <- local_campaign(pairs = 60, levels_percent = c(0, 5))
  file <- Sys.glob(file.path(dir, "*", "halves.csv"))
  halves <- utils::read.csv(file, colClasses = "character", check.names = FALSE)
  placebo <- which(halves$level_requested_percent == "0")
  halves$preempted_ns_max[placebo] <- halves$preempted_ns_sum[placebo] <- "0"
  halves$preempted_ns_max[placebo[1]] <- halves$preempted_ns_sum[placebo[1]] <- "40000"
  utils::write.csv(halves, file, row.names = FALSE, quote = FALSE, na = "")
  verdicts <- analyze_campaign(read_campaign(dir), channels = "preempted")$verdicts
  expect_match(verdicts$verdict[verdicts$level_requested_percent == 0], "^not detected$")
  expect_equal(verdicts$verdict[verdicts$level_requested_percent == 5], "detected")
  # the blank has next to no scatter: its limit is that of the account, one estimator serves both rows
  expect_equal(verdicts$estimator, rep("pseudo-median", 2))
  expect_lt(verdicts$detection_limit[1], verdicts$detection_limit[2])
})

test_that("each treatment is judged as if it had been run alone", {
  for (design in c("lockin", "blocks")) {
    dir <- local_campaign(pairs = 20, levels_percent = c(0, 1, 5), kinds = c("spin", "cache"),
                          design = design, patterns = c("periodic", "poisson"), treatment_factor = 1:4)
    both <- read_campaign(dir)
    together <- analyze_campaign(both, channels = c("time", "preempted"))
    expect_equal(nrow(together$treatments), 4)
    alone <- both
    mine <- both$rows$kind %in% "cache" & both$rows$pattern %in% "poisson"
    pair <- both$rows$pair[mine]
    alone$rows <- both$rows[mine | both$rows$arm == "off" & both$rows$pair %in% pair, ]
    alone <- analyze_campaign(alone, channels = c("time", "preempted"))
    for (part in c("verdicts", "thresholds", "amplification")) {
      wanted <- alone[[part]]
      got <- together[[part]]
      got <- got[got$kind == "cache" & got$pattern == "poisson", ]
      rownames(got) <- NULL
      # What is counted together differs, on purpose.
      got$familywise <- wanted$familywise <- NULL
      # the resolution of an account is that of the campaign's halves
      expect_equal(got, wanted, tolerance = 0.01)
    }
  }
})

test_that("where the number of bursts varies ranks find, and the mean says how large", {
  got <- analyze_campaign(
    simulated_campaign(pairs = 60, levels_percent = 5, patterns = "poisson", half_period_ns = 4e7, seed = 5),
    channels = c("time", "preempted")
  )
  preempted <- got$verdicts[got$verdicts$channel == "preempted", ]
  expect_equal(preempted$estimator, "mean")
  expect_match(preempted$estimator_note, "mean, found by ranks: the number of bursts varies")
  expect_equal(preempted$estimate, attr(got$campaign, "truth")$preempted_percent, tolerance = 0.1)
})

test_that("the step-down of one treatment does not stop another", {
  dir <- local_campaign(pairs = 60, levels_percent = c(1, 5), kinds = c("spin", "cache"),
                        treatment_factor = c(0, 1), cost_ns = 0)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  verdicts <- split(got$verdicts$verdict, got$verdicts$kind)
  expect_equal(verdicts$cache, c("detected", "detected"))
  expect_match(verdicts$spin[2], "^not detected")
  med <- with(got$thresholds, stats::setNames(med_percent, kind))
  expect_equal(med[c("cache", "spin")], c(cache = 1, spin = NA))
})

test_that("launches of several kinds are pooled by kind, and what one launch has stays its own", {
  dir <- local_campaign(pairs = 12, levels_percent = 5, launches = 2, kinds = "spin", prefix = "a")
  simulate_campaign(dir, pairs = 12, levels_percent = 5, launches = 3, kinds = "cache", prefix = "b",
                    seed = 2)
  simulate_campaign(dir, pairs = 12, levels_percent = 5, kinds = "mem", prefix = "c", seed = 3)
  got <- analyze_campaign(read_campaign(dir), channels = "time")
  across <- got$verdicts[got$verdicts$scope == "launches like these", ]
  expect_equal(across[c("kind", "n_launches")], data.frame(kind = c("cache", "spin"), n_launches = c(3L, 2L)),
               ignore_attr = TRUE)
  shown <- main_rows(got$verdicts)
  expect_equal(shown$kind, c("cache", "spin", "mem"))
  expect_equal(widest_scope(got$verdicts)$kind, c("cache", "spin", "mem"))
  expect_false(any(grepl("UNLIKE", got$notes)))
})

test_that("launches of one arm each are compared by Welch's test on launch means, per treatment", {
  dir <- local_campaign(design = "single", arms = "off", launches = 4, prefix = "clean", levels_percent = 5,
                        wander_sd = 1e-4)
  simulate_campaign(dir, design = "single", arms = "on", launches = 3, prefix = "noisy", seed = 2,
                    levels_percent = 5, wander_sd = 1e-4)
  simulate_campaign(dir, design = "single", arms = "on", launches = 5, prefix = "worse", seed = 3,
                    levels_percent = 5, wander_sd = 1e-4, kinds = "cache", treatment_factor = 2)
  campaign <- read_campaign(dir)
  got <- analyze_campaign(campaign, channels = "time")
  y <- log(campaign$rows$wall_ns / campaign$rows$operations)
  kind <- as.character(campaign$rows$kind)
  wanted <- t.test(y[kind %in% "cache"], y[is.na(kind)], alternative = "greater")
  expect_equal(got$verdicts$p_one_sided[got$verdicts$kind == "cache"], wanted$p.value)
  expect_equal(got$verdicts[c("scope", "verdict")],
               data.frame(scope = rep("launches like these", 2), verdict = "detected"), ignore_attr = TRUE)
  expect_match(format_verdicts(got), "unpaired", all = FALSE)
})
