# The margin of an agent by on/off and by its bursts.

# On/off knows the slowdown of 0.5 % to some 0.7 only, its bursts to 0.01.
short_campaign <- function(env = parent.frame(), elsewhere = FALSE, ...) {
  dir <- local_folder(env)
  simulate_agent_campaign(dir, pairs = 12, operations = "barrier", bytes = 0, agent_burst_ns = 5e5, slowdown_percent = 0.5, seed = 3, ...)
  add_agent_slices(dir, 500)
  if (!elsewhere) edit_accounts(dir)
  dir
}

# The agent's own account is of the ranks' CPUs alone.
edit_accounts <- function(dir) {
  for (file in list.files(dir, "^agent\\..*csv$", recursive = TRUE, full.names = TRUE)) {
    rows <- utils::read.csv(file, na.strings = "")
    rows$agent_cpu_ns <- rows$agent_on_ranks_ns
    data.table::fwrite(as_in_files(rows), file, na = "", scipen = 50)
  }
}

time_row <- function(report) {
  rows <- main_rows(report$analysis$verdicts)
  rows[rows$channel == "time", ]
}

test_that("bursts decide where on/off does not, and the answer says what it rests on", {
  dir <- short_campaign()
  campaign <- read_campaign(dir, arms = "any")
  alone <- analyze_campaign(campaign, margin = 1)$verdicts
  expect_equal(alone$margin_verdict[alone$channel == "time"], "inconclusive")
  below <- agent_report(campaign, margin = 1)
  expect_equal(unlist(time_row(below)[c("margin_verdict", "margin_by")], use.names = FALSE), c("below", "bursts"))
  expect_true(is.na(time_row(below)$margin_needs_s))
  answer <- agent_answer(below)
  expect_equal(answer$answer, "pass")
  expect_match(answer$reason, "^by its bursts; the slowdown in all is known to \u00b10\\.[0-9]+ % only$")
  above <- agent_report(campaign, margin = 0.3)
  expect_equal(unlist(time_row(above)[c("margin_verdict", "margin_by")], use.names = FALSE), c("above", "bursts"))
  expect_equal(agent_answer(above), list(answer = "fail", reason = "by its bursts"))
  for (margin in c("1%", "0.3%")) {
    said <- status_of("noiselab-analyze", "agent", dir, "--margin", margin)
    expect_equal(said$status, if (margin == "1%") 0L else 1L)
    expect_match(paste(said$out, collapse = " "), if (margin == "1%") "every effect is below it, by its bursts" else "is above it, by its bursts")
  }
  expect_match(agent_sentences(below$analysis), "stays below the margin of 1 % with 99 % confidence, by its bursts; the slowdown in all is known")
})

test_that("bursts do not speak for CPU time that an agent has elsewhere, nor against what was shown beyond them", {
  campaign <- read_campaign(short_campaign(elsewhere = TRUE), arms = "any")
  expect_equal(time_row(agent_report(campaign, margin = 1))$margin_verdict, "inconclusive")
  # a part above the margin is above it wherever the rest runs
  expect_equal(time_row(agent_report(campaign, margin = 0.3))$margin_verdict, "above")
  report <- agent_report(read_campaign(short_campaign(), arms = "any"), margin = 1)
  beyond <- report$figures
  attr(beyond, "agreement")$low <- 0.1
  judge <- function(...) bursts_in_margin(analyze_campaign(report$campaign, margin = 1)$verdicts, ..., margin = 1, alpha = 0.01)
  expect_equal(judge(report$figures, report$accounts)$margin_verdict[1], "below")
  expect_equal(judge(beyond, report$accounts)$margin_verdict[1], "inconclusive")
})

test_that("hand-computed: two figures share alpha", {
  row <- data.frame(channel = "time", kind = "a", operation = "barrier", bytes = 0, launch = "L", scope = scope_launch,
                    level_requested_percent = Inf, margin_verdict = "below", margin_needs_s = 60, reason = NA_character_, alpha = 0.01,
                    unit_of_inference = "pair", test_kind = "t", raw_margin = 0, raw_margin_df = Inf, ci_low = -1, ci_high = 1)
  row$raw_margin_values <- list(numeric())
  figures <- figures_by_hand(0, 0, 5)
  figures$df <- Inf
  figures$n_bursts <- 100
  attr(figures, "agreement") <- figures_agree(figures, 1)
  accounts <- data.frame(kind = "a", launch = "L", cpu_percent = 1, on_ranks_percent = 1)
  verdict <- function(z) {
    row$raw_margin_se <- log1p(1 / 100) / z
    bursts_in_margin(row, figures, accounts, 1, 0.01)$margin_verdict
  }
  # on/off below the margin by so many standard errors, bursts know nothing
  expect_equal(c(verdict(2.4), verdict(2.6)), c("inconclusive", "below"))
  bursts <- bursts_against(transform(figures[1, ], value = 3, high = 3 + qt(0.99, 4), low = 3 - qt(0.99, 4), df = 4), 1, 0.01)
  expect_equal(bursts[["above"]], pt(-2, 4))
  expect_equal(sum(bursts), 1)
})

test_that("no more than alpha of answers are wrong at the margin itself, whatever decides", {
  set.seed(1)
  n <- 1000
  q <- qnorm(0.99)
  row <- data.frame(channel = "time", kind = "a", operation = "barrier", bytes = 0, launch = "L", scope = scope_launch,
                    level_requested_percent = Inf, margin_verdict = "inconclusive", margin_needs_s = 60, reason = NA_character_, alpha = 0.01,
                    unit_of_inference = "pair", test_kind = "t", raw_margin_df = Inf, raw_margin_se = 0.002)
  row$raw_margin_values <- list(numeric())
  accounts <- data.frame(kind = "a", launch = "L", cpu_percent = 1, on_ranks_percent = 1)
  words <- replicate(n, {
    all <- log1p(0.01) + rnorm(1, 0, 0.002)
    locked <- 1 + rnorm(1, 0, 0.05)
    row$raw_margin <- all
    row$ci_low <- 100 * (all - q * 0.002)
    row$ci_high <- 100 * (all + q * 0.002)
    figures <- figures_by_hand(locked, 100 * all, 0.05 * q)
    figures[figures$figure == "all", c("low", "high")] <- row[c("ci_low", "ci_high")]
    figures$df <- Inf
    attr(figures, "agreement") <- figures_agree(figures, 1)
    bursts_in_margin(row, figures, accounts, 1, 0.01)$margin_verdict
  })
  most <- qbinom(0.999, n, 0.01)
  expect_lte(sum(words == "above"), most)
  expect_lte(sum(words == "below"), most)
  expect_gt(sum(words != "inconclusive"), qbinom(0.001, n, 0.01))
})

test_that("about launches like these the launch is the unit of bursts, too", {
  group <- function(slowdown) cbind(data.frame(launch = seq_along(slowdown), operation = "barrier", bytes = 0), locked_row(list(
    n_bursts = 100, bursts_per_s = 4, burst_cpu_ns = 2.5e6, cost_ns = 2.5e6, cost_low_ns = 2.4e6, cost_high_ns = 2.6e6,
    slowdown_low = 0, slowdown_high = 0, p_value = 1e-9, limit_percent = 0.1, amplification = 1, amplification_low = 0.9,
    amplification_high = 1.1, absorbed_share = 0, z = 4, state = "measured", seconds = 25)))
  x <- c(1, 2, 3, 1, 2)
  rows <- group(x)
  rows$slowdown_percent <- x
  rows$slowdown_low <- x - 0.01
  rows$slowdown_high <- x + 0.01
  rows$figure <- lapply(x, figure_of_t, se = 0.01 / qnorm(0.99), df = Inf)
  these <- pool_locked(rows)
  like <- pool_locked(rows, like = TRUE)
  expect_equal(c(like$slowdown_low, like$slowdown_high), as.numeric(t.test(x, conf.level = 0.98)$conf.int))
  expect_equal(like$p_value, t.test(x, alternative = "greater")$p.value)
  expect_lt(these$slowdown_high, like$slowdown_high)
  expect_equal(like$cost_low_ns, these$cost_low_ns)
})
