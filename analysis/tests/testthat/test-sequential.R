test_that("five equal looks have the published boundaries", {
  of <- function(spending) round(spending_bounds((1:5) / 5, 0.025, spending)$z, 3)
  expect_equal(of("obrien-fleming"), c(4.877, 3.357, 2.680, 2.290, 2.031))
  expect_equal(of("pocock"), c(2.438, 2.427, 2.410, 2.397, 2.386))
})

test_that("two looks agree with a direct integral of the bivariate normal distribution", {
  for (spending in names(spending_functions)) {
    bounds <- spending_bounds(c(0.3, 1), 0.05, spending)
    z <- bounds$z
    rho <- sqrt(0.3)
    later <- integrate(function(x) dnorm(x) * pnorm((z[2] - rho * x) / sqrt(1 - rho^2), lower.tail = FALSE), -10, z[1],
                       rel.tol = 1e-10)$value
    expect_equal(pnorm(z[1], lower.tail = FALSE) + later, 0.05, tolerance = 1e-8)
    expect_equal(bounds$nominal_p[1], bounds$alpha_spent[1])
    expect_equal(bounds$alpha_spent[2], 0.05)
  }
})

test_that("one look at the end spends all of alpha, and one before it only its share", {
  expect_equal(spending_bounds(1, 0.01)$nominal_p, 0.01)
  expect_equal(spending_bounds(0.5, 0.01, "pocock")$nominal_p, 0.01 * log(1 + (exp(1) - 1) / 2))
  expect_equal(spending_bounds(0.25, 0.01)$nominal_p, 2 * (1 - pnorm(2 * qnorm(0.995))), tolerance = 1e-6)
})

test_that("a step of a thousandth of the run is integrated, too", {
  tiny <- spending_bounds(c(0.5, 0.501), 0.05, "pocock")
  x <- with_seed(1, stats::rnorm(4e5))
  # Those who had not crossed at 0.5 and do at 0.501: a step of SD sqrt(0.001).
  crossed <- x <= tiny$z[1] &
    sqrt(0.5) * x + sqrt(0.001) * with_seed(2, stats::rnorm(4e5)) > tiny$z[2] * sqrt(0.501)
  expected <- diff(tiny$alpha_spent)
  expect_lt(abs(mean(crossed) - expected), 4 * sqrt(expected / 4e5))
})

test_that("looks that cannot be are refused", {
  expect_error(spending_bounds(numeric()), "1 to 100 looks", class = "nl_error_usage")
  expect_error(spending_bounds(c(0.5, 0.5)), "rising", class = "nl_error_usage")
  expect_error(spending_bounds(c(0.5, 1.1)), "at most 1|from above 0 to 1", class = "nl_error_usage")
  expect_error(spending_bounds(1, spending = "evenly"), "obrien-fleming or pocock", class = "nl_error_usage")
  expect_error(spending_bounds(1, alpha = 0.6), "alpha", class = "nl_error_usage")
})

# Share of runs without an effect that are called slower at any of the looks, by Student's test at the looks' p.
overall_error <- function(looks, p, n_runs = 20000, shift = 0, side = 1) {
  most <- max(looks)
  x <- with_seed(7, matrix(stats::rnorm(n_runs * most, shift), n_runs))
  sums <- x[, 1]
  squares <- x[, 1]^2
  crossed <- logical(n_runs)
  for (n in 2:most) {
    sums <- sums + x[, n]
    squares <- squares + x[, n]^2
    k <- match(n, looks)
    if (is.na(k)) next
    t <- (sums / n - shift) / sqrt((squares - sums^2 / n) / (n - 1) / n)
    crossed <- crossed | side * t > stats::qt(p[k], n - 1, lower.tail = FALSE)
  }
  mean(crossed)
}

test_that("looking after each of 5 to 30 pairs makes some 18 % of 5 %, and spending keeps the 5 %", {
  looks <- 5:30
  expect_gt(overall_error(looks, rep(0.05, 26)), 0.17)
  expect_lt(overall_error(looks, rep(0.05, 26)), 0.21)
  for (spending in names(spending_functions)) {
    error <- overall_error(looks, spending_bounds(looks / 30, 0.05, spending)$nominal_p)
    # Three sigma of 20,000 runs are 0.46 points; Student's distribution in place of the normal one adds some 0.3 here,
    # where the first look has 5 pairs.
    expect_gt(error, 0.045)
    expect_lt(error, 0.058)
  }
})

test_that("at a slowdown of the margin itself, above and below are each said at most as often as alpha", {
  looks <- c(20, 40, 60, 80, 100)
  p <- spending_bounds(looks / 100, 0.05)$nominal_p
  for (side in c(1, -1)) {
    error <- overall_error(looks, p, shift = 3, side = side)
    expect_gt(error, 0.045)
    expect_lt(error, 0.055)
  }
})

# ---- launches

# A simulated launch of one operation as if it had been looked at after `rounds` of `planned` rounds; what the detector
# would have written is computed plainly, pair by pair.
sequential_campaign <- function(dir, rounds, planned, margin = 1, alpha = 0.01, levels = c(0, 5), ...) {
  simulate_campaign(dir, pairs = max(rounds), levels_percent = levels, seed = 3, jitter_sd = 0.01, ...)
  rows <- utils::read.csv(halves_of(dir))
  rows$y <- log(rows$wall_ns / rows$operations)
  dosed <- levels[levels > 0]
  n_cells <- if (any(grepl("halves", halves_of(dir)))) length(levels) else 1
  p <- spending_bounds(rounds / planned, alpha, "pocock")$nominal_p
  look <- function(i) {
    cells <- lapply(dosed, function(level) {
      seen <- rows[rows$pair <= rounds[i] * n_cells, ]
      on <- seen[seen$arm == "on" & seen$level_requested_percent == level, ]
      off <- seen[seen$arm == "off", ]
      d <- vapply(seq_len(nrow(on)), function(j) on$y[j] - off$y[off$pair == on$pair[j]], 0)
      half <- qt(1 - p[i], length(d) - 1) * sd(d) / sqrt(length(d))
      bounds <- 100 * (exp(mean(d) + c(-half, half)) - 1)
      decision <- if (bounds[1] > margin) "above" else if (bounds[2] < margin) "below" else "open"
      list(operation = "barrier", bytes = 0, level_percent = level, kind = "spin", pattern = "periodic",
           placement = "last", phase = "random", n = length(d), mean_log_ratio = mean(d), sd = sd(d),
           low_percent = bounds[1], high_percent = bounds[2], decision = decision)
    })
    list(look = i, fraction = rounds[i] / planned, rounds = rounds[i], nominal_p = p[i], cells = cells)
  }
  looks <- lapply(seq_along(rounds), look)
  last <- vapply(looks[[length(looks)]]$cells, `[[`, "", "decision")
  edit_info(launch_of(dir), {
    info$pairs_planned <- planned * n_cells
    info$sequential <- list(stop_when = "decided", margin_percent = margin, alpha = alpha, spending = "pocock",
                            looks_planned = 5, rounds_planned = planned, looks = looks, decided = all(last != "open"))
  })
}

launch_of <- function(dir) list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)[1]

sequential_dir <- function(..., env = parent.frame()) local_campaign(..., make = sequential_campaign, env = env)

test_that("every look is found again in the rows, and one that is not is named", {
  dir <- sequential_dir(c(20, 40), 100, levels = c(0, 2, 5), design = "blocks")
  expect_equal(check_sequential(read_campaign(dir))$agrees, rep(TRUE, 4))
  dir <- sequential_dir(c(20, 40), 100)
  edit_info(launch_of(dir), {
    mean <- info$sequential$looks[[2]]$cells[[1]]$mean_log_ratio
    info$sequential$looks[[2]]$cells[[1]]$mean_log_ratio <- mean * (1 + 1e-6)
    info$sequential$looks[[1]]$nominal_p <- 0.003
  })
  checked <- check_sequential(read_campaign(dir))
  expect_equal(checked$agrees, c(FALSE, FALSE))
  expect_equal(checked$reason, c("nominal_p differ from the rows", "mean_log_ratio differ from the rows"))
  edit_info(launch_of(dir), info$sequential$looks[[2]]$cells[[1]][c("decision", "n")] <- list("below", 39))
  expect_match(check_sequential(read_campaign(dir))$reason[2], "n, mean_log_ratio and decision")
})

test_that("a launch without looks keeps the alpha that was asked for, and has nothing to check or say", {
  campaign <- read_campaign(local_campaign(pairs = 10, levels_percent = 5))
  expect_equal(launch_alpha(campaign$launches[[1]], 0.03), 0.03)
  expect_equal(nrow(check_sequential(campaign)), 0)
  expect_equal(sequential_notes(campaign$launches[[1]], 0.03), character())
})

test_that("a launch that stopped at a look has that look's nominal alpha, and says so", {
  dir <- sequential_dir(c(20, 40), 100)
  campaign <- read_campaign(dir)
  info <- campaign$launches[[1]]
  p <- spending_bounds(c(0.2, 0.4), 0.01, "pocock")$nominal_p
  expect_equal(launch_alpha(info, 0.01), p[2])
  wanted <- "sequential: stopped at look 2 of 5, nominal one-sided alpha %s .0.01 in all.; decided: yes"
  expect_match(campaign$notes, sprintf(wanted, format(signif(p[2], 3))), all = FALSE)
  # another alpha than the planned one is refused, and said
  expect_equal(launch_alpha(info, 0.05), p[2])
  expect_match(sequential_notes(info, 0.05), "planned with alpha 0.01, which is used instead of 0.05", all = FALSE)
  expect_length(sequential_notes(info, 0.01), 1)
})

test_that("an interrupted launch is judged at the share of the run that it reached", {
  dir <- sequential_dir(c(20, 40), 100)
  interrupt <- function(rounds, ended) edit_info(launch_of(dir), {
    info$ended <- ended
    info$sequential$looks <- Filter(function(look) look$rounds <= rounds, info$sequential$looks)
  })
  interrupt(20, "interrupted")  # rows of 40 rounds, one look after 20
  info <- read_campaign(dir)$launches[[1]]
  expect_equal(launch_alpha(info, 0.01), spending_bounds(c(0.2, 0.4), 0.01, "pocock")$nominal_p[2])
  expect_match(sequential_notes(info), "ended between looks, after 1 of 5")
  interrupt(0, NULL)  # killed before the first look
  info <- read_campaign(dir)$launches[[1]]
  expect_equal(launch_alpha(info, 0.01), spending_bounds(0.4, 0.01, "pocock")$nominal_p)
  expect_match(read_campaign(dir)$notes, "decided: ", all = FALSE)
})

test_that("a damaged account of looks is refused, with file and key", {
  dir <- sequential_dir(c(20, 40), 100)
  file <- launch_of(dir)
  before <- readLines(file)
  refuses <- function(change, pattern) {
    edit_info(file, info$sequential <- change(info$sequential))
    expect_error(read_campaign(dir), pattern, class = "nl_error_damaged")
    writeLines(before, file)
  }
  refuses(function(s) utils::modifyList(s, list(spending = "evenly")), "sequential.spending' is evenly")
  refuses(function(s) utils::modifyList(s, list(alpha = 0)), "sequential.alpha' is 0")
  refuses(function(s) { s$looks_planned <- NULL; s }, "sequential.looks_planned' is missing")
  refuses(function(s) { s$looks[[2]]$rounds <- 20; s }, "looks\\[1\\].rounds' is 20, wanted more than before")
  refuses(function(s) { s$looks[[1]]$nominal_p <- 2; s }, "nominal_p' is 2")
  refuses(function(s) { s$looks[[1]]$cells[[1]]$decision <- "maybe"; s }, "decision' is maybe")
  refuses(function(s) { s$looks[[1]]$cells[[1]]$n <- "x"; s }, "cells\\[0\\].n' is x")
  edit_info(file, info$pairs_planned <- NULL)
  expect_error(read_campaign(dir), "pairs_planned' is missing", class = "nl_error_damaged")
  edit_info(file, {
    info$pairs_planned <- 200
    info$options$set <- "first"
  })
  expect_error(read_campaign(dir), "options.set' is first, wanted a number", class = "nl_error_damaged")
  writeLines(before, file)
  refuses(function(s) list("decided"), "sequential' is decided, wanted an object")
})
