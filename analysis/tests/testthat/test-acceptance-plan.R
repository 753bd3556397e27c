# How long a run against a reference must be.

test_that(paste0("a plan decides what can be decided in ten minutes, in the shortest time that does, and ",
                 "the rest is listed with its margin"), {
  reference <- simulated_acceptance(nodes = 1, launches = 5, lost_sd = 2, lost_percent = 1, seed = 1)
  plan <- plan_acceptance(reference, launches = 1)
  expect_gte(plan$measuring_s, accept_plan$least_s)
  expect_lte(plan$measuring_s, accept_plan$most_s)
  rows <- plan$rows
  able <- rows$total_s <= plan$measuring_s & rows$may_fail
  expect_equal(rows$decides, able %in% TRUE)
  # nothing that ten minutes decide is left out, and more time decides more
  expect_false(any(rows$total_s > plan$measuring_s & rows$total_s <= accept_plan$most_s, na.rm = TRUE))
  expect_gte(sum(plan_acceptance(reference, 1, seconds = 600)$rows$decides),
             sum(plan_acceptance(reference, 1, seconds = 5)$rows$decides))
  # by hand: the margin from which a run decides is (t + z) s, and what launches differ by
  lost <- rows[rows$metric == "lost" & rows$variant == "alone", ]
  part <- acceptance_units(reference)
  part <- part[
    part$check == "detour" & part$variant == "alone" & part$metric == "lost",
  ]
  within <- mean(tapply(part$x, part$launch, var))
  n_figures <- nrow(unique(acceptance_units(reference)[is_learnt(acceptance_units(reference)),
                                                       c(figure_key, "entity")]))
  z <- qnorm(1 - 0.05 / n_figures)
  n <- 25 * plan$measuring_s / (sum(check_seconds(reference)))
  between <- max(0, var(tapply(part$x, part$launch, mean)) - within / 5)
  expect_equal(lost$needed, (qt(0.995, max(1, n - 1)) + z) * sqrt(within / n) + z * sqrt(between),
               tolerance = 1e-6)
  view <- view_lines(accept_plan_view(plan))
  expect_match(
    paste(view, collapse = " "),
    "passes a healthy node with probability 0.95, by simulated: [0-9]+ of [0-9]+ figures are decided"
  )
  expect_match(view, "^noiselab run acceptance --launches 1 --seconds [0-9]+s --reference simulated",
               all = FALSE)
})

test_that("a plan without two quiet launches, or without any figure, says what is missing", {
  one <- plan_acceptance(simulated_acceptance(nodes = 1, launches = 1, seed = 2), launches = 1)
  expect_false(one$decides_noise)
  expect_match(one$notes, "a run of it cannot pass; measure the reference in more launches", all = FALSE)
  empty <- simulated_acceptance(nodes = 1, seed = 2)
  empty$figures <- empty$figures[empty$figures$check == "integrity", ]
  expect_error(plan_acceptance(empty), "no figure that a run could be held against", class = "nl_error_data")
})

test_that("the front end plans, and refuses what means nothing to it", {
  dir <- tempfile()
  simulate_acceptance(dir, nodes = 1, launches = 4, seed = 3)
  got <- status_of("noiselab-plan", "acceptance", "--reference", dir, "--launches", "2", "--json")
  expect_equal(got$status, 0L)
  json <- jsonlite::fromJSON(got$out)
  expect_equal(json$launches, 2)
  expect_true(all(c("check", "metric", "margin", "needed", "decides", "total_s") %in% names(json$figures)))
  expect_gt(json$total_s, json$measuring_s)
  for (words in list(c("acceptance"), c("acceptance", "--reference", dir, "--detect", "1"),
                     c("--detect", "1", "--reference", dir))) {
    expect_equal(do.call(status_of, as.list(c("noiselab-plan", words)))$status, 2L)
  }
})

test_that(paste0("a healthy machine held against its own reference passes at the planned length, and one ",
                 "that loses more fails"), {
  reference <- simulated_acceptance(nodes = 1, launches = 5, seed = 10)
  verdicts <- function(...) {
    vapply(
      1:12,
      function(i) {
        judge_acceptance(simulated_acceptance(nodes = 1, seed = 100 + i, ...), reference = reference)$verdict
      },
      ""
    )
  }
  expect_gte(sum(verdicts(launches = 1, repetitions = 12) == "pass"), 11)
  expect_true(all(verdicts(launches = 1, repetitions = 12, slow_node = 1, extra_lost_percent = 2) == "fail"))
})
