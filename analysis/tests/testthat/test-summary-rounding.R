test_that("half a unit of the last digit printed", {
  expect_equal(half_unit(c("12.34", "558.0", "431", "400", "1.2e3", "1.50E-2", "5.", ".5", "+3.0", "0x10", "", "1e")),
               c(0.005, 0.05, 0.5, 0.5, 50, 5e-5, 0.5, 0.05, 0.05, NA, NA, NA))
})

test_that("digits keep their zeros when a file is read", {
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  writeLines(c("table,config,op,bytes,level_percent,mean_s,sd_s,n", "1,I,barrier,0,0,400.0, 1.30 ,5", "1,I,barrier,0,1,4.1e2,2,5"), file)
  got <- read_summary(file)
  expect_equal(got$mean_s, c(400, 410))
  expect_equal(got$mean_half_unit_s, c(0.05, 5))
  expect_equal(got$sd_half_unit_s, c(0.005, 0.5))
})

one_pair <- function(m0, s0, n0, m1, s1, n1, half_mean = 0.5, half_sd = 0.05) {
  data.frame(table = "1", config = "I", op = "barrier", bytes = 0, level_percent = c(0, 1), mean_s = c(m0, m1),
             sd_s = c(s0, s1),
             n = c(n0, n1), mean_half_unit_s = half_mean, sd_half_unit_s = half_sd)
}

test_that("rules P and N at the corners of the box are as computed by hand", {
  # P: bound 100 + 4.604 * 1 / sqrt(5) = 102.06. Best corner: 99.5 + 4.604 * 0.95 / sqrt(5) = 101.46, worst 100.5 +
  # 4.604 * 1.05 / sqrt(5) = 102.66; the noisy mean is 0.5 either way.
  sure <- function(m1) judge_summary(one_pair(100, 1, 5, m1, 1, 5))$rows[c("rule_p", "rule_p_sure")]
  expect_equal(unlist(sure(103.2)), c(rule_p = TRUE, rule_p_sure = TRUE))
  expect_equal(unlist(sure(103.1)), c(rule_p = TRUE, rule_p_sure = FALSE))
  expect_equal(unlist(sure(101.0)), c(rule_p = FALSE, rule_p_sure = FALSE))
  expect_equal(unlist(sure(100.9)), c(rule_p = FALSE, rule_p_sure = TRUE))
  # N: the same with 4.604 * 1.05 / sqrt(5) = 2.162 (worst) or 1.956 (best) less.
  sure <- function(m1) judge_summary(one_pair(100, 1, 5, m1, 1, 5))$rows[c("rule_n", "rule_n_sure")]
  expect_equal(unlist(sure(105.4)), c(rule_n = TRUE, rule_n_sure = TRUE))
  expect_equal(unlist(sure(105.3)), c(rule_n = TRUE, rule_n_sure = FALSE))
  expect_equal(unlist(sure(103.0)), c(rule_n = FALSE, rule_n_sure = FALSE))
  expect_equal(unlist(sure(102.8)), c(rule_n = FALSE, rule_n_sure = TRUE))
})

test_that("Welch's p stays within its range on a fine grid over the box, and reaches its ends", {
  cases <- list(one_pair(100, 1, 5, 102, 1, 5), one_pair(100, 0.1, 2, 104, 2, 3, 0.5, 0.05),
                one_pair(100, 3, 20, 99, 1, 2, 0.05, 0.5),
                one_pair(100, 0.3, 10, 100.9, 0.3, 8, 0.05, 0.05), one_pair(100, 0.04, 4, 101, 0.03, 4, 0.5, 0.05))
  for (case in cases) {
    range <- welch_range(case[1, ], case[2, ])
    ends <- function(x, half) seq(max(x - half, 1e-9), x + half, length.out = 41)
    grid <- expand.grid(s0 = ends(case$sd_s[1], case$sd_half_unit_s[1]),
                        s1 = ends(case$sd_s[2], case$sd_half_unit_s[2]),
                        d = diff(case$mean_s) + c(-2, 0, 2) * case$mean_half_unit_s[1])
    p <- welch_test(0, grid$s0, case$n[1], grid$d, grid$s1, case$n[2])$p_one_sided
    expect_true(all(p >= range$low * (1 - 1e-6) - 1e-12 & p <= range$high * (1 + 1e-6) + 1e-12))
    expect_equal(c(min(p), max(p)), c(range$low, range$high), tolerance = 0.02)
  }
})

test_that("p need not be monotone in an SD: the extremes are looked for along the edges", {
  # With few degrees of freedom on one side, a little scatter on the other raises them faster than it lowers t.
  p <- function(s0) welch_p(20, s0, 30, 1, 2)
  s0 <- seq(0, 50, length.out = 201)
  expect_lt(min(p(s0)), 0.9 * min(p(range(s0))))
  expect_equal(search_edge(p, c(0, 50), -1), min(p(seq(0, 50, length.out = 20001))), tolerance = 1e-6)
})

test_that("SDs that may be 0 leave no p that is not a number", {
  expect_equal(c(welch_p(1, 0, 5, 0, 5), welch_p(-1, 0, 5, 0, 5), welch_p(0, 0, 5, 0, 5)), c(0, 1, 0.5))
  range <- welch_range(one_pair(100, 0.04, 4, 101, 0.03, 4)[1, ], one_pair(100, 0.04, 4, 101, 0.03, 4)[2, ])
  expect_equal(range$low, 0)
  expect_equal(range$high, 0.5)
})

test_that("without half-units nothing is said about rounding", {
  df <- one_pair(100, 1, 5, 103, 1, 5)
  got <- judge_summary(df[setdiff(names(df), c("mean_half_unit_s", "sd_half_unit_s"))], margin_percent = 1)
  sure <- c(unlist(got$rows[grep("_sure$|_low$|_high$", names(got$rows))]),
            unlist(got$configurations[grep("_sure$", names(got$configurations))]))
  expect_length(sure, 11)
  expect_true(all(is.na(sure)))
  expect_match(format_summary(got), "digits that were printed are not known", all = FALSE)
})

test_that("exact numbers are sure of everything", {
  got <- judge_summary(one_pair(100, 1, 5, 103, 1, 5, 0, 0), margin_percent = 1)
  expect_true(all(unlist(got$rows[grep("_sure$", names(got$rows))])))
  expect_equal(c(got$rows$welch_p_low, got$rows$welch_p_high), rep(got$rows$welch_p_one_sided, 2))
})

test_that("of the published table, table 3 hangs on digits that are not printed, and one row of table 1", {
  got <- judge_summary(published())
  unsure <- function(column) with(got$rows[!got$rows[[column]], ], paste(table, config, level_percent))
  expect_equal(unsure("rule_p_sure"), c("3 IV 0.01", "3 IV 0.05"))
  expect_equal(unsure("rule_n_sure"), c("1 II 1", "3 IV 0.01", "3 IV 0.1", "3 IV 0.3"))
  expect_equal(unsure("welch_sure"), c("3 IV 0.01", "3 IV 0.1", "3 IV 0.3"))
  expect_equal(unsure("holm_sure"), unsure("welch_sure"))
  # By hand: 431.5 + 2.831 * 1.35 / sqrt(22) = 432.31 > 431.5, the lower end of 432.
  expect_gt(431.5 + qt(0.995, 21) * 1.35 / sqrt(22), 431.5)
  expect_lt(430.5 + qt(0.995, 21) * 1.25 / sqrt(22), 432.5)
  # A threshold is sure where every verdict it rests on is: that of table 3, 0.01 % by rule P, is not.
  three <- got$configurations[got$configurations$table == "3", ]
  expect_equal(unlist(three[c("threshold_rule_p_sure", "threshold_rule_n_sure")], use.names = FALSE), c(FALSE, FALSE))
  expect_equal(got$configurations$threshold_rule_p_sure, rep(c(TRUE, FALSE), c(8, 1)))
  text <- format_summary(got)
  expect_match(text, "yes\\?", all = FALSE)
  expect_match(text, "hangs on digits that are not printed", all = FALSE)
  expect_lte(max(nchar(text)), 98)
})
