test_that("each rank has a line, and its share is compared with 1/n", {
  dir <- local_starts(ranks = 4, late_rank = 2, half_period_ns = 3e5)
  frame <- plot_lateness(analyze_campaign(read_campaign(dir)), draw = FALSE)
  expect_equal(sort(unique(frame$line)), 0:3)
  expect_equal(levels(factor(frame$panel)), c("last to end", "last to start"))
  # over all lines every start has one rank that was last: the mean of times_expected over ranks is 1
  means <- tapply(frame$times_expected, list(frame$panel, frame$start_s), mean)
  expect_equal(range(means), c(1, 1))
  starts <- frame[frame$panel == "last to start", ]
  expect_gt(weighted.mean(starts$times_expected[starts$line == 2], starts$starts[starts$line == 2]), 1.5)
  expect_match(alt_lateness(frame), "last to start: rank 2 ")
})

test_that("many ranks share lines: by node, or by number where there is one node or too many", {
  campaign <- function(n, host) {
    list(ranks = data.frame(launch = "a", rank = seq_len(n) - 1, host = host(seq_len(n) - 1)), launches = list(a = list(ranks = n)))
  }
  lines <- function(n, host) lateness_groups(campaign(n, host), "a", n)
  expect_equal(lines(64, function(r) "x")$line, 0:63)
  by_node <- lines(4096, function(r) paste0("n", r %/% 128))
  expect_equal(max(by_node$line), 31)
  expect_equal(by_node$label[129], "n1")
  by_number <- lines(4096, function(r) "x")
  expect_equal(max(by_number$line), 63)
  expect_equal(by_number$label[65], "64 to 127")
  expect_lte(max(lines(4096, function(r) paste0("n", r))$line), 63)
  # a joint line is compared with its joint share
  table <- data.frame(slice = 0, start_ns = 0, end_ns = 1e9, rank = c(0, 1, 100), starts = 10, last_starts = c(3, 2, 5),
                      last_ends = c(0, 0, 10))
  frame <- lateness_frame(table, lines(128, function(r) "x"))
  at <- frame[frame$panel == "last to start" & frame$times_expected > 0, ]
  expect_equal(at$times_expected, c(5, 5) / 10 / (2 / 128))
})

test_that("one rank, and launches in loops, have no map", {
  dir <- local_starts(ranks = 1)
  expect_null(plot_lateness(analyze_campaign(read_campaign(dir))))
  dir <- local_campaign(pairs = 4, levels_percent = 5)
  expect_null(plot_lateness(analyze_campaign(read_campaign(dir))))
})
