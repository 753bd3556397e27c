# Another program takes 15 % of a rank's CPU in both arms, and the record of who ran while it waited is off
# by `blur` each time. `moved`: so much more of it with the treatment.
beside_others <- function(seed, slowdown = 0, moved = 0, ranks = 1, blur = 0.02) {
  campaign <- simulated_campaign(
    pairs = 40, levels_percent = numeric(), external = "placebo", operations = "barrier", bytes = 0,
    slowdown_percent = slowdown, half_period_ns = 1e8, seed = seed, ranks = ranks,
    noise = list(agent = list(duty = 0.3, amplitude = 0.5), white = list(sd = 0.004))
  )
  rows <- campaign$rows
  set.seed(seed + 1e6)
  own <- (rows$arm == "on") * attr(campaign, "truth")$preempted_percent / 100 * rows$wall_ns
  recorded <- pmax(0, rows$preempted_ns_sum - own) * exp(stats::rnorm(nrow(rows), 0, blur)) +
    (rows$arm == "on") * moved * rows$wall_ns
  campaign$agents <- data.frame(rows[, c("launch", "operation", "bytes", "pair", "order")], host = "n1",
                                preempted_by_others_ns = round(recorded))
  campaign$ranks <- data.frame(launch = unique(rows$launch), host = "n1", rank = seq_len(ranks) - 1)
  campaign
}

adjusted_for_others <- function(campaign, alpha = 0.05) {
  lost <- lost_time(campaign, pair_rows(campaign$rows))
  adjusted_mean(list(lost = lost), list(alpha = alpha, conf = 1 - 2 * alpha, power = 0.95))
}

test_that("hand-computed: time that ranks waited for others is lost once, and nothing is fitted", {
  rows <- data.frame(launch = "L", operation = "barrier", bytes = 0, pair = 0, order = 1:2,
                     arm = c("off", "on"), operations = 1000, wall_ns = c(1e9, 1.25e9))
  campaign <- list(rows = rows, ranks = data.frame(launch = "L", host = c("a", "a", "b")),
                   launches = list(L = list()))
  campaign$agents <- rbind(cbind(rows[1:5], host = "a", preempted_by_others_ns = c(0, 0.5e9)),
                           cbind(rows[1:5], host = "b", preempted_by_others_ns = c(0, 0.125e9)))
  # two ranks of node a wait a fifth of the time each, the one of b a tenth
  kept <- c(1, 0.8^2 * 0.9)
  expect_equal(kept_of_others(campaign), kept)
  lost <- lost_time(campaign, list(on = 2, off = 1))
  expect_equal(lost$d, log(1.25 * kept[2]))
  expect_equal(lost$moved_percent, -100 * log(kept[2]))
  expect_equal(attr(lost, "of"), "others")
  # of a node that was not recorded nothing is known, and nobody who took nothing is a covariate
  campaign$agents <- campaign$agents[campaign$agents$host == "a", ]
  expect_null(lost_time(campaign, list(on = 2, off = 1)))
  campaign$ranks <- campaign$ranks[1:2, ]
  campaign$agents$preempted_by_others_ns <- 0
  expect_null(lost_time(campaign, list(on = 2, off = 1)))
})

test_that(paste0("less what others took a placebo is found as often as alpha says, and the better the ",
                 "record the more on/off knows"), {
  n <- 160
  got <- vapply(
    seq_len(n),
    function(seed) {
      # every other time a bad record, and two ranks, of which only one was held up
      campaign <- if (seed %% 2 == 0) {
        beside_others(seed, ranks = 2, blur = 0.3)
      } else {
        beside_others(seed)
      }
      pairs <- pair_rows(campaign$rows)
      speed <- log(operation_ns(campaign$rows))
      a <- adjusted_for_others(campaign)
      c(a$p, mean(a$values), mean(speed[pairs$on] - speed[pairs$off]), a$is_withheld)
    },
    numeric(4)
  )
  false <- sum(got[1, ] <= 0.05, na.rm = TRUE)
  expect_lte(false, qbinom(0.999, n, 0.05))
  expect_gte(false, qbinom(0.001, n, 0.05))
  expect_lte(sum(got[4, ]), qbinom(0.999, n, 0.05))
  gain <- function(at) stats::var(got[3, at]) / stats::var(got[2, at])
  good <- seq_len(n) %% 2 == 1
  expect_gt(gain(good), 100)
  expect_gt(gain(!good), 1)
})

test_that(paste0("a slowdown is found at its size less what others took, and others that the treatment ",
                 "moves withhold it"), {
  a <- adjusted_for_others(beside_others(1, slowdown = 2))
  expect_true(a$low < log(1.02) && a$high > log(1.02))
  expect_lt(a$high - a$low, 0.02)
  moved <- adjusted_for_others(beside_others(1, moved = 0.1))
  expect_true(moved$is_withheld)
  expect_true(all(is.na(unlist(moved[c("estimate", "low", "high", "p")]))))
})

test_that("the rest of what the ranks lost is on minus off without others", {
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 40, operations = "barrier", bytes = 0, agent_burst_ns = 1e6,
                          slowdown_percent = 1, others = TRUE,
                          noise = list(agent = list(duty = 0.3, amplitude = 0.5), white = list(sd = 0.004)),
                          seed = 5)
  rows <- agent_report(read_campaign(dir, arms = "any"))$analysis$verdicts
  rest <- rows[rows$channel == "preempted", ]
  expect_equal(rest$adjusted_for, "others")
  expect_true(rest$adjusted_low < 1 && rest$adjusted_high > 1)
  expect_lt(rest$adjusted_high - rest$adjusted_low, (rest$mean_high - rest$mean_low) / 3)
  time <- rows[rows$channel == "time", ]
  expect_lt(time$adjusted_high - time$adjusted_low, (time$mean_high - time$mean_low) / 3)
})
