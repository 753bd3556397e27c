# A simulated launch of one operation as if it had been looked at after `rounds` of `planned` rounds; what
# the detector would have written is computed plainly, pair by pair.
sequential_campaign <- function(dir, rounds, planned, margin = 1, alpha = 0.01, levels = c(0, 5), ...) {
  simulate_campaign(dir, pairs = max(rounds), levels_percent = levels, seed = 3, jitter_sd = 0.01, ...)
  rows <- utils::read.csv(halves_of(dir))
  rows$y <- log(rows$wall_ns / rows$operations)
  dosed <- levels[levels > 0]
  n_cells <- if (any(grepl("halves", halves_of(dir)))) length(levels) else 1
  p <- alpha * c(0.3, 0.5)
  look <- function(i) {
    cells <- lapply(dosed, function(level) {
      seen <- rows[rows$pair <= rounds[i] * n_cells, ]
      on <- seen[seen$arm == "on" & seen$level_requested_percent == level, ]
      off <- seen[seen$arm == "off", ]
      d <- vapply(seq_len(nrow(on)), function(j) on$y[j] - off$y[off$pair == on$pair[j]], 0)
      c(
        list(operation = "barrier", bytes = 0, level_percent = level, kind = "spin", pattern = "periodic",
             placement = "last", phase = "random"),
        interval_of_look(d, p[i], margin)
      )
    })
    list(look = i, fraction = rounds[i] / planned, rounds = rounds[i], nominal_p = p[i], cells = cells)
  }
  looks <- lapply(seq_along(rounds), look)
  last <- vapply(looks[[length(looks)]]$cells, `[[`, "", "decision")
  edit_info(launch_of(dir), {
    info$pairs_planned <- planned * n_cells
    info$sequential <- list(stop_when = "decided", margin_percent = margin, alpha = alpha,
                            spending = "pocock", looks_planned = 5, rounds_planned = planned, looks = looks,
                            decided = all(last != "open"))
  })
}

launch_of <- function(dir) list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)[1]

sequential_dir <- function(..., env = parent.frame()) {
  local_campaign(..., make = sequential_campaign, env = env)
}

test_that("every look is found again in the rows, and one that is not is named", {
  dir <- sequential_dir(c(20, 40), 100, levels = c(0, 2, 5), design = "blocks")
  expect_equal(check_sequential(read_campaign(dir))$agrees, rep(TRUE, 4))
  dir <- sequential_dir(c(20, 40), 100)
  edit_info(launch_of(dir), {
    mean <- info$sequential$looks[[2]]$cells[[1]]$mean_log_ratio
    info$sequential$looks[[2]]$cells[[1]][c("mean_log_ratio", "decision",
                                            "n")] <- list(mean * (1 + 1e-6), "below", 39)
  })
  checked <- check_sequential(read_campaign(dir))
  expect_equal(checked$agrees, c(TRUE, FALSE))
  expect_match(checked$reason[2], "n, mean_log_ratio and decision")
})

test_that(paste0("a launch without looks keeps the alpha that was asked for, one that stopped at a look has ",
                 "that look's, and says so"), {
  plain <- simulated_campaign(pairs = 10, levels_percent = 5)$launches[[1]]
  expect_equal(launch_alpha(plain, 0.03), 0.03)
  expect_equal(sequential_notes(plain, 0.03), character())
  campaign <- read_campaign(sequential_dir(c(20, 40), 100))
  info <- campaign$launches[[1]]
  expect_equal(launch_alpha(info, 0.01), 0.005)
  expect_match(
    campaign$notes,
    "sequential: stopped at look 2 of 5, nominal one-sided alpha 0.005 .0.01 in all.; decided: yes",
    all = FALSE
  )
  # another alpha than the planned one is refused, and said
  expect_equal(launch_alpha(info, 0.05), 0.005)
  expect_match(sequential_notes(info, 0.05), "planned with alpha 0.01, which is used instead of 0.05",
               all = FALSE)
  expect_length(sequential_notes(info, 0.01), 1)
})

test_that(paste0("an interrupted launch is judged by what may be spent since its last look, up to the share ",
                 "of the run that it reached"), {
  dir <- sequential_dir(c(20, 40), 100)
  interrupt <- function(rounds, ended) {
    edit_info(launch_of(dir), {
      info$ended <- ended
      info$sequential$looks <- Filter(function(look) look$rounds <= rounds, info$sequential$looks)
    })
  }
  spent <- function(t) 0.01 * log(1 + (exp(1) - 1) * t)
  interrupt(20, "interrupted") # rows of 40 rounds, one look after 20
  info <- read_campaign(dir)$launches[[1]]
  expect_equal(launch_alpha(info, 0.01), spent(0.4) - spent(0.2))
  expect_match(sequential_notes(info), "ended between looks, after 1 of 5")
  interrupt(0, NULL) # killed before the first look
  expect_equal(launch_alpha(read_campaign(dir)$launches[[1]], 0.01), spent(0.4))
  expect_equal(vapply(spending_functions, function(f) f(0.01, 1), 0),
               c(`obrien-fleming` = 0.01, pocock = 0.01))
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
  refuses(function(s) utils::modifyList(s, list(spending = "evenly")),
          "sequential.spending' is evenly, wanted obrien-fleming or pocock")
  refuses(function(s) utils::modifyList(s, list(alpha = 0)), "sequential.alpha' is 0")
  refuses(function(s) { s$looks_planned <- NULL; s }, "sequential.looks_planned' is missing")
  refuses(function(s) { s$looks[[1]]$nominal_p <- 2; s }, "nominal_p' is 2")
  refuses(function(s) { s$looks[[1]]$cells[[1]]$decision <- "maybe"; s }, "decision' is maybe")
  refuses(function(s) { s$looks[[1]]$cells[[1]]$n <- "x"; s }, "cells\\[0\\].n' is x")
  refuses(function(s) list("decided"), "sequential' is decided, wanted an object")
})
