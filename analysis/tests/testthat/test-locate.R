spread <- function(..., env = parent.frame()) {
  local_campaign(nodes = 3, ranks = 6, ..., env = env)
}

delayedAssign("one_of_three",
              spread(noise_nodes = 2, levels_percent = c(0, 1), pairs = 60, seed = 1, env = globalenv()))

test_that("noise on one node of three is found there, on its rank, and nowhere else", {
  campaign <- read_campaign(one_of_three)
  got <- locate_noise(campaign)
  expect_equal(got$answer, "The noise is on node2.")
  top <- got$nodes[got$nodes$level_requested_percent == 1, ]
  expect_equal(top$found, c("not detected", "here", "not detected"))
  expect_equal(top$preempted_shift_percent[2], 1.02, tolerance = 0.01)
  expect_equal(top$extra_share_percent[2], 100, tolerance = 0.02)
  expect_true(all(is.finite(top$detection_limit)))
  expect_equal(top$slowest_on_percent, c(0, 100, 0))
  expect_equal(top$ranks_percent, rep(100 / 3, 3))
  ranks <- got$ranks[got$ranks$found == "here", ]
  expect_equal(unique(ranks$rank), 3)
  expect_equal(unique(ranks$cpu), 1)
  expect_equal(got$nodes$found[got$nodes$level_requested_percent == 0], rep("not detected", 3))
  # clearly less than a tenth of the most is a trace
  at <- campaign$nodes$host == "node3" & campaign$nodes$arm == "on" &
    campaign$nodes$level_requested_percent == 1
  campaign$nodes$preempted_shift_percent_mean[at] <- 0.03
  campaign$nodes$preempted_shift_percent_sd[at] <- 0.01
  traced <- locate_noise(campaign)
  expect_equal(traced$nodes$found[traced$nodes$level_requested_percent == 1],
               c("not detected", "here", "trace"))
  expect_equal(traced$answer, "The noise is on node2; traces of it on node3.")
})

test_that("the shift of a node is that of its pairs: mean, Student's interval and p by hand", {
  dir <- spread(noise_nodes = 3, levels_percent = 1, pairs = 25, seed = 4)
  nodes <- utils::read.csv(file.path(dir, "sim-1", "nodes.csv"))
  on <- nodes[nodes$arm == "on", ]
  got <- locate_noise(read_campaign(dir))$nodes
  expect_equal(got$host, on$host)
  expect_equal(got$preempted_shift_percent, on$preempted_shift_percent_mean)
  se <- on$preempted_shift_percent_sd / 5
  expect_equal(got$ci_low, on$preempted_shift_percent_mean - qt(0.995, 24) * se)
  p <- pt(on$preempted_shift_percent_mean / se, 24, lower.tail = FALSE)
  expect_equal(got$p_one_sided, p)
  expect_equal(got$p_holm, p.adjust(p, "holm"))
  expect_equal(got$detection_limit, detection_limit(se, 24, 0.01 / 3))
  off <- nodes[nodes$arm == "off", ]
  expect_equal(got$clean_preempted_percent, 100 * off$preempted_ns / off$wall_ns)
  expect_equal(unique(got$scope), "this launch")
  # The rows have the same: preempted time of the node's pairs, over all ranks.
  rows <- read_campaign(dir)$rows
  pairs <- pair_rows(rows)
  share <- 100 * rows$preempted_ns_sum / rows$wall_ns
  expect_equal(sum(got$preempted_shift_percent), mean(share[pairs$on] - share[pairs$off]))
})

test_that("two launches are pooled by their pairs, three are the unit themselves", {
  dir <- spread(levels_percent = 1, pairs = 20, launches = 3, seed = 2)
  ids <- list.dirs(dir, recursive = FALSE)
  means <- vapply(ids, function(id) {
    nodes <- utils::read.csv(file.path(id, "nodes.csv"))
    unlist(nodes[nodes$arm == "on" & nodes$host == "node1",
                 c("preempted_shift_percent_mean", "preempted_shift_percent_sd")])
  }, c(0, 0))
  two <- locate_noise(read_campaign(ids[1:2]))$nodes[1, ]
  expect_equal(two$unit_of_inference, "pair")
  expect_equal(two$n_pairs, 40)
  expect_equal(two$preempted_shift_percent, mean(means[1, 1:2]))
  expect_equal(two$se, sqrt(sum(20 * means[2, 1:2]^2)) / 40)
  expect_equal(two$df, 38)
  three <- locate_noise(read_campaign(dir))$nodes[1, ]
  expect_equal(three$unit_of_inference, "launch")
  expect_equal(three$se, sd(means[1, ]) / sqrt(3))
  expect_equal(three$df, 2)
  expect_equal(three$scope, "launches like these")
})

test_that("without noise no node is found, and the limits are said", {
  quiet <- 0
  for (seed in 1:8) {
    dir <- spread(levels_percent = 0, pairs = 20, seed = seed)
    got <- locate_noise(read_campaign(dir))
    quiet <- quiet + all(got$nodes$found == "not detected")
    expect_true(all(is.finite(got$nodes$detection_limit)))
  }
  expect_gte(quiet, 7)
  expect_match(got$answer,
               "No node was found to lose more CPU time under the load \\(limits .* % of one CPU, 3 nodes\\)")
})

test_that("noise on several nodes, on all, and on the only node is said as such", {
  answer <- function(...) {
    locate_noise(read_campaign(local_campaign(levels_percent = 1, pairs = 30, ...)))$answer
  }
  expect_match(answer(nodes = 4, ranks = 8, noise_nodes = c(1, 4)),
               "^The noise is on node[14], node[14] \\(2 of 4 nodes\\), most on node")
  expect_match(answer(nodes = 2, ranks = 4, noise_nodes = 1:2), "^The noise is on all 2 nodes, most on node")
  expect_equal(answer(nodes = 1, ranks = 2), "The noise is on node1, the only node.")
})

test_that("launches of one arm are compared within their sets, and without sets not at all", {
  dir <- spread(noise_nodes = 2, levels_percent = c(0.5, 2), design = "launches", launches = 5, pairs = 1,
                seed = 3)
  campaign <- read_campaign(dir)
  got <- locate_noise(campaign)
  expect_equal(got$answer, "The noise is on node2.")
  expect_equal(unique(got$nodes$unit_of_inference), "set of launches")
  expect_equal(unique(got$nodes$df), 4)
  for (id in names(campaign$launches)) campaign$launches[[id]]$options$set <- NULL
  expect_match(locate_noise(campaign)$nodes$reason, "which belong to no sets")
})

test_that("sets with two off launches are not guessed at", {
  dir <- spread(noise_nodes = 2, levels_percent = 1, design = "launches", launches = 3, pairs = 1, seed = 3)
  campaign <- read_campaign(dir)
  for (id in names(campaign$launches)) campaign$launches[[id]]$options$set <- 1
  expect_error(locate_noise(campaign), "set 1 has two off launches: .* \\(--arms on:set=N\\)",
               class = "nl_error_data")
})

test_that("two nodes of one name are refused: they would pass for two launches", {
  dir <- spread(levels_percent = 1, pairs = 12)
  for (file in file.path(dir, "sim-1", c("nodes.csv", "ranks.csv"))) {
    edit_lines(file, function(x) gsub("node[12]", "node", x))
  }
  expect_error(locate_noise(read_campaign(dir)), "sim-1 has two nodes called 'node'", class = "nl_error_data")
})

test_that("a treatment from outside is located without a level, and named", {
  dir <- spread(noise_nodes = 3, external = "agent-1s", design = "launches", launches = 6, pairs = 1,
                seed = 3)
  got <- locate_noise(read_campaign(dir))
  expect_equal(got$answer, "The noise is on node3.")
  expect_true(all(is.na(json_of("nodes", dir)$nodes$level_requested_percent)))
  expect_match(
    status_of("noiselab-analyze", "nodes", dir, "--csv", "--table", "nodes")$out[
      2
    ],
    "^agent-1s,none,none,none,,node1,"
  )
})

test_that(paste0("a launch of which nodes.csv is lost but ranks.csv is not is left out of the nodes and ",
                 "kept for the ranks, and said"), {
  dir <- spread(noise_nodes = 2, levels_percent = 1, pairs = 20, launches = 2)
  unlink(file.path(dir, "sim-1", "nodes.csv"))
  got <- locate_noise(read_campaign(dir))
  expect_equal(got$nodes$n_launches, rep(1, 3))
  expect_equal(got$ranks$n_launches, rep(2, 6))
  expect_match(got$notes, "launch sim-1 has no nodes.csv", all = FALSE)
  unlink(file.path(dir, "sim-2", "nodes.csv"))
  expect_error(locate_noise(read_campaign(dir)), "has nodes.csv", class = "nl_error_data")
})

test_that(paste0("one pair, no scatter, a damaged row and no rows by rank are inconclusive or refused, not ",
                 "an error of the program"), {
  dir <- spread(levels_percent = 1, pairs = 1)
  expect_equal(unique(locate_noise(read_campaign(dir))$nodes$found), "inconclusive")
  dir <- spread(levels_percent = 1, pairs = 12)
  file <- file.path(dir, "sim-1", "nodes.csv")
  edit_cells(file, grep(",on,", readLines(file)), preempted_shift_percent_sd = "0")
  expect_match(locate_noise(read_campaign(dir))$nodes$reason, "all differences are equal")
  edit_cells(file, 3, preempted_shift_percent_sd = "-1")
  expect_error(read_campaign(dir), "nodes.csv:3: preempted_shift_percent_sd is '-1'",
               class = "nl_error_damaged")
  unlink(file.path(dir, "sim-1", c("nodes.csv", "ranks.csv")))
  expect_error(locate_noise(read_campaign(dir)), "ranks.csv", class = "nl_error_data")
})

test_that("the margin is judged per node, and decides the exit status", {
  expect_equal(status_of("noiselab-analyze", "nodes", one_of_three, "--margin", "2")$status, 0L)
  above <- status_of("noiselab-analyze", "nodes", one_of_three, "--margin", "0.5")
  expect_equal(above$status, 1L)
  expect_match(above$out, "Margin of 0.5 % of one CPU: fail", all = FALSE)
  short <- spread(noise_nodes = 2, levels_percent = 1, pairs = 1)
  expect_equal(status_of("noiselab-analyze", "nodes", short, "--margin", "0.5")$status, 3L)
})

test_that("analyze nodes answers for levels that were asked for", {
  dir <- spread(noise_nodes = 2, levels_percent = c(0, 0.3, 1), pairs = 30, seed = 1)
  json <- json_of("nodes", dir, "--level", "0.3")
  expect_equal(unique(json$nodes$level_requested_percent), 0.3)
  expect_equal(json$answer, "The noise is on node2.")
  expect_equal(status_of("noiselab-analyze", "nodes", dir, "--channel", "time")$status, 2L)
})

test_that("text for many nodes has a line for those with the noise and counts the others, in 100 columns", {
  dir <- local_campaign(nodes = 60, ranks = 120, noise_nodes = 7, levels_percent = 1, pairs = 20, seed = 2)
  text <- part_lines(location_parts(locate_noise(read_campaign(dir)))[[1]])
  expect_true(all(nchar(text) <= 100))
  expect_match(text, "  node7: with the load its ranks lose ", all = FALSE)
  expect_lt(length(text), 50)
})

test_that("each treatment has a sentence of its own", {
  dir <- spread(noise_nodes = 2, levels_percent = 1, kinds = c("spin", "cache"), pairs = 30, seed = 1)
  expect_setequal(locate_noise(read_campaign(dir))$answer,
                  c("Under spin: the noise is on node2.", "Under cache: the noise is on node2."))
})
