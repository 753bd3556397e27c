# Units of one figure: a row per node, launch and repetition, from a matrix units x nodes.
units_of <- function(table, launch, ...) {
  at <- expand.grid(unit = seq_len(nrow(table)), node = seq_len(ncol(table)))
  data.frame(check = "quantum", variant = "alone", metric = "lost", size = NA_real_, unit = "percent", of = "node", entity = paste0("node", at$node),
             launch = launch[at$unit], repetition = at$unit, x = as.vector(table), place = 0, what = "time lost", worse = "more", scale = "linear",
             compared = TRUE, placed = FALSE, ...)
}

test_that("with three nodes and one launch the comparison is Student's test of a node against the mean of the other two", {
  table <- rbind(c(1, 1.2, 3), c(1.1, 0.9, 3.3), c(0.9, 1.05, 2.8), c(1.15, 1, 3.1))
  rows <- compare_nodes(units_of(table, rep("a", 4)))
  score <- table[, 3] - rowMeans(table[, 1:2])
  # the two others differ by less than they scatter, so that nothing is added
  expect_equal(rows$p_one_sided[3], t.test(score, alternative = "greater")$p.value)
  expect_equal(rows$effect[3], mean(score))
  expect_equal(c(rows$ci_low[3], rows$ci_high[3]), as.vector(t.test(score, conf.level = 0.99)$conf.int))
  expect_equal(rows$verdict, c("pass", "pass", "fail"))
})

test_that("Holm's correction is over all nodes, links and figures", {
  rows <- compare_nodes(acceptance_units(simulated_acceptance(nodes = 4, seed = 4)))
  expect_setequal(rows$kind, c("node", "link"))
  p <- rows$p_one_sided
  by_hand <- pmin(1, cummax(sort(p) * rev(seq_along(p))))
  expect_equal(sort(rows$p_holm), by_hand)
  # known answer: of 3 nodes and 2 figures the smallest p is taken six times
  table <- rbind(c(1, 1.2, 3), c(1.1, 0.9, 3.3), c(0.9, 1.05, 2.8), c(1.15, 1, 3.1))
  two <- units_of(table, rep("a", 4))
  both <- compare_nodes(rbind(two, transform(two, metric = "other", x = rev(x))))
  expect_equal(min(both$p_holm), 6 * min(both$p_one_sided))
})

test_that("scatter of columns is that of each by itself, with gaps", {
  set.seed(1)
  table <- matrix(rnorm(60), 12)
  launch <- rep(c("a", "b", "c"), each = 4)
  table[1:5, 2] <- NA
  table[, 3] <- NA
  table[2:12, 4] <- NA
  got <- column_scatter(table, launch)
  for (j in 1:5) {
    x <- table[, j]
    groups <- split(x[!is.na(x)], launch[!is.na(x)])
    if (length(unlist(groups)) < 2) {
      expect_match(got$reason[j], "one repetition")
      next
    }
    n <- lengths(groups)
    within <- sum(vapply(groups, function(g) sum((g - mean(g))^2), 0)) / (sum(n) - length(groups)) / sum(n)
    expect_equal(got$within[j], within)
    expect_equal(got$within_df[j], sum(n) - length(groups))
    expect_equal(got$excess[j], var(vapply(groups, mean, 0)) / length(groups) - within)
    expect_equal(got$mean[j], mean(unlist(groups)))
  }
})

test_that("what placements scatter is taken from all nodes, so that a node whose launches agree by luck is not blamed", {
  set.seed(2)
  launch <- rep(c("a", "b", "c"), each = 5)
  own <- matrix(rep(rnorm(9), each = 5), 15) # of launch and node; much larger than what repetitions scatter
  own[, 1] <- 0.9
  table <- own + matrix(rnorm(45, 0, 0.01), 15)
  rows <- compare_nodes(units_of(table, launch))
  expect_true(all(rows$verdict == "pass"))
  score <- table[, 1] - rowMeans(table[, 2:3])
  expect_gt(rows$p_one_sided[1], 0.01)
})

test_that("a comparison of many links takes seconds, and leaving one out or not hardly matters", {
  set.seed(3)
  table <- matrix(rnorm(15 * 40), 15)
  launch <- rep(1:3, each = 5)
  exact <- between_others(table[, 1:30], launch)
  expect_length(exact$v, 30)
  expect_equal(between_others(table, launch)$df[1], 0.37 * 38)
  # links that differ by themselves, with a standard deviation of 3
  expect_equal(mean(between_others(table + rep(rnorm(40, 0, 3), each = 15), launch)$v), 9, tolerance = 0.5)
})

test_that("the variance of a median of normal values is nearly that of many samples", {
  set.seed(4)
  for (k in c(2, 3, 5, 9)) {
    seen <- var(apply(matrix(rnorm(k * 20000), k), 2, median))
    expect_lt(abs(log(median_variance(k) / seen)), 0.16)
  }
})
