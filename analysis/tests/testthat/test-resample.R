test_that("the interval of a few pairs is that of their subset means", {
  d <- c(3, 5, 4, 6, 5.5, 4.5, 5.2, 3.3, 6.1, 2.9)
  got <- randomisation_inference(d, alpha = 0.05)
  # All means over nonempty subsets, by hand: theta is kept while more than 5 % of the sign patterns reach it.
  member <- as.matrix(expand.grid(rep(list(0:1), 10)))[-1, ]
  means <- sort(drop(member %*% d) / rowSums(member))
  n <- 2^10
  expect_equal(got$low, means[floor(0.05 * n)], tolerance = 1e-6)
  expect_equal(got$high, rev(means)[floor(0.05 * n)], tolerance = 1e-6)
  expect_equal(got$estimate, mean(d))
  expect_equal(got$p, 1 / n)
})

test_that("bounds and test agree, for few and for many pairs", {
  set.seed(4)
  for (n in c(9, 20, 60, 700)) {
    for (shift in c(0.1, 0.5)) {
      d <- shift * 12 / sqrt(n) + stats::rt(n, 2)
      got <- randomisation_inference(d)
      expect_equal(got$low > 0, got$p <= 0.01)
      moved <- randomisation_inference(d + 5)
      expect_equal(moved$low, got$low + 5, tolerance = 1e-6)
      expect_equal(moved$limit, got$limit, tolerance = 1e-6)
    }
  }
})

test_that("with light tails interval and limit are nearly Student's", {
  set.seed(5)
  d <- stats::rnorm(250, 1)
  got <- randomisation_inference(d)
  student <- stats::t.test(d, conf.level = 0.98)$conf.int
  expect_equal(c(got$low, got$high), as.numeric(student), tolerance = 0.02)
  wanted <- stats::power.t.test(n = 250, sd = stats::sd(d), sig.level = 0.01, power = 0.95,
                                type = "one.sample", alternative = "one.sided")$delta
  expect_equal(got$limit, wanted, tolerance = 0.06)
})

test_that("more than 256 pairs are flipped in groups of neighbours, and all count the same", {
  set.seed(6)
  d <- stats::rnorm(1000)
  got <- randomisation_inference(d)
  expect_equal(got$estimate, mean(d))
  expect_equal(got$df, 255)
  expect_true(got$low < mean(d) && mean(d) < got$high)
})

test_that("a level beyond the random patterns is judged by Student's t, and says so", {
  d <- stats::qnorm(stats::ppoints(100), 1)
  got <- randomisation_inference(d, alpha = 1e-5)
  expect_equal(got$method, "t on batch means")
  expect_equal(got$low, 1 - stats::qt(1 - 1e-5, 99) * stats::sd(d) / 10)
})

test_that("no pair, one pair and equal pairs have no interval", {
  for (d in list(numeric(), 3)) {
    got <- randomisation_inference(d)
    expect_true(all(is.na(unlist(got[c("low", "high", "limit")]))))
  }
  expect_true(is.na(randomisation_inference(rep(2, 30))$limit))
  expect_true(is.na(randomisation_inference(c(1, 2, 3))$low))
})

test_that("the signed-rank test and its interval agree, with ties and zeros, too", {
  set.seed(8)
  for (n in c(9, 30, 60, 700)) {
    for (shift in c(0, 0.3, 0.8)) {
      d <- shift * 8 / sqrt(n) + stats::rt(n, 2)
      for (x in list(d, round(2 * d) / 2, ifelse(stats::runif(n) < 0.6, 0, d))) {
        got <- rank_inference(x)
        expect_equal(got$low > 0, got$p <= 0.01)
        expect_true(got$low <= got$estimate && got$estimate <= got$high)
      }
    }
  }
})

test_that("differences that are nearly all 0 are no scatter: the limit is what can be told from nothing", {
  blank <- c(rep(0, 300), 3, -2, 8)
  got <- rank_inference(blank, resolution = 1e-5)
  expect_equal(c(got$estimate, got$limit), c(0, 1e-5))
  expect_gt(got$p, 0.1)
  expect_lt(rank_inference(blank + 2e-5)$p, 1e-10)
  zeros <- rank_inference(rep(0, 50), resolution = 1e-5)
  expect_equal(c(zeros$p, zeros$limit), c(1, 1e-5))
})

test_that("the limit of the signed-rank test is that of all averages of two, of which few are looked at", {
  set.seed(10)
  x <- cbind(stats::rnorm(7), round(stats::rcauchy(7)))
  averages <- function(v) outer(v, v, "+")[upper.tri(diag(7), diag = TRUE)] / 2
  for (at in c(-1.1, 0, 0.3)) expect_equal(walsh_counter(x)(at), colSums(apply(x, 2, averages) > at))
  for (d in list(stats::rt(14, 2), round(stats::rnorm(30), 1), stats::rnorm(60))) {
    n <- length(d)
    pairs <- n * (n + 1) / 2
    most <- if (n <= 50) {
      stats::qsignrank(0.99, n)
    } else {
      floor(pairs / 2 + 0.5 + stats::qnorm(0.99) * sqrt(n * (n + 1) * (2 * n + 1) / 24))
    }
    residual <- d - pseudo_median(d)$estimate
    needed <- apply(sign_matrix(n)[1001:1100, seq_len(n)], 1, function(sign) {
      ordered <- sort(outer(sign * residual, sign * residual, "+")[upper.tri(diag(n), diag = TRUE)] / 2)
      c(-ordered[pairs - most], ordered[most + 1])
    })
    expect_equal(order_limit(d, 0.01, 0.95), stats::quantile(needed, 0.95, names = FALSE, type = 6))
  }
})

test_that("the power at the limit of the signed-rank test is the one stated", {
  set.seed(9)
  found <- replicate(60, {
    d <- stats::rt(120, 3)
    signed_rank_test(stats::rt(120, 3) + rank_inference(d)$limit)$p <= 0.01
  })
  # 0.95 within four standard errors
  expect_gt(mean(found), 0.95 - 4 * sqrt(0.95 * 0.05 / 60))
})
