test_that("the exact sign-flip p-value is counted over all patterns", {
  expect_equal(sign_flip_test(c(1, 2, 3))$p, 1 / 8)
  # Sums of +-1 +-2 +-3 that reach 1 + 2 - 3 = 0: 5 of 8 patterns.
  expect_equal(sign_flip_test(c(1, 2, -3))$p, 5 / 8)
  all_signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), 11)))
  d <- c(0.3, -0.1, 0.5, 0.2, 0.9, -0.4, 0.1, 0.7, 0.6, -0.2, 0.35)
  expect_equal(sign_flip_test(d)$p, mean(all_signs %*% d >= sum(d) - 1e-12))
})

test_that("no pair, one pair and constant differences are handled", {
  expect_true(is.na(sign_flip_test(numeric())$p))
  expect_equal(sign_flip_test(1)$p, 1 / 2)
  expect_equal(sign_flip_test(c(0, 0, 0))$p, 1)
  expect_equal(sign_flip_test(rep(2, 10))$p, 2^-10)
})

test_that("Monte Carlo agrees with enumeration", {
  d <- sin(1:18) + 0.35
  exact <- sign_flip_test(d)
  carlo <- sampled(d)
  expect_equal(c(exact$method, carlo$method), c("sign-flip, exact", "sign-flip, Monte Carlo"))
  expect_lt(abs(carlo$p - exact$p), 4 * sqrt(exact$p * (1 - exact$p) / 19999))
})

test_that("the random signs leave the caller's random numbers alone", {
  set.seed(5)
  before <- .Random.seed
  sign_store$whole <- NULL
  p <- sign_flip_test(cos(1:300))$p
  expect_identical(.Random.seed, before)
  expect_identical(sign_flip_test(cos(1:300))$p, p)
})

test_that("what a test gives does not depend on how many columns of random signs others needed before it", {
  d <- cos(1:30) + 0.3
  sign_store$whole <- NULL
  alone <- sampled(d, 0.01)
  expect_equal(ncol(sign_store$whole), 32)
  sampled(cos(1:200))
  expect_gt(ncol(sign_store$whole), 2 * 30)
  expect_identical(sampled(d, 0.01), alone)
})

test_that("the signed-rank test agrees with wilcox.test", {
  d <- c(1.1, -0.2, 0.8, 2.4, 0.3, -0.5, 1.7)
  expect_equal(signed_rank_test(d)$p, wilcox.test(d, alternative = "greater")$p.value)
  long <- sin(1:40 * 1.3) + 0.2
  expect_equal(signed_rank_test(long)$p, wilcox.test(long, alternative = "greater")$p.value)
  tied <- rep(c(-1, 1, 2, 3), 9)
  expect_equal(signed_rank_test(tied - 0.6)$p,
               wilcox.test(tied - 0.6, alternative = "greater", exact = FALSE)$p.value, tolerance = 0.2)
  # 1 and 1 share rank 1.5; with 2: V = 6 is reached by 1 of 8 patterns.
  expect_equal(signed_rank_test(c(1, 1, 2, 0))$p, 1 / 8)
})

test_that("the signed-rank test copes with nothing but zeros and with overwhelming evidence", {
  expect_equal(signed_rank_test(c(0, 0))$p, 1)
  expect_true(is.na(signed_rank_test(numeric())$p))
  expect_equal(signed_rank_test(3)$p, 1 / 2)
  p <- signed_rank_test(seq(1, 2, length.out = 1e4))$p
  expect_equal(p, 1e-300)
  expect_equal(format_p(p), "<1e-300")
})

test_that("zeros are ranked and have no sign, as Pratt did", {
  # ranks of |0|, |0|, |1|, |2|, |3|: 1.5, 1.5, 3, 4, 5; of the 8 patterns of 3, 4, 5 only one reaches 12
  expect_equal(signed_rank_test(c(0, 0, 1, 2, 3))$p, 1 / 8)
  # -3 + 4 + 5 = 6: reached by +++ and -++, and 3 - 4 + 5 = 4 is not
  expect_equal(signed_rank_test(c(0, 0, -1, 2, 3))$p, 2 / 8)
})

test_that("the signed rank test is exact with zeros and ties up to 50 pairs that are not zero", {
  # sums of 16 nearly equal ranks lie in heaps by the number of positive ones; of 2^16 patterns all are
  # counted
  d <- c(numeric(300), with_seed(3, stats::rlnorm(16)) * c(-1, 1)[1 + (1:16 > 3)])
  s <- (sign(d) * rank(abs(d)))[d != 0]
  expect_equal(rank_tail(abs(s), sum(s[s > 0])), enumerate_flips(s))
  # half ranks
  tied <- c(1, 1, -2, 3, 3, 3, 4, -4, 5)
  ranks <- rank(abs(tied))
  expect_equal(rank_tail(ranks, sum(ranks[tied > 0])), enumerate_flips(sign(tied) * ranks))
  # where the saddlepoint was off by a factor of two
  heaps <- c(numeric(380), seq(1, 2, length.out = 24) * c(-1, 1)[1 + (1:24 > 6)])
  got <- signed_rank_test(heaps)
  expect_equal(got$method, "signed rank, exact")
  expect_equal(rank_tail(1:40, 600), stats::psignrank(599, 40, lower.tail = FALSE))
})

test_that("the saddlepoint tail is near the exact one, far out and with heavy tails", {
  for (total in c(300, 900, 1300, 1700)) {
    expect_equal(flip_tail(1:60, total - 1), stats::psignrank((1830 + total) / 2 - 1, 60, lower.tail = FALSE),
                 tolerance = 0.01)
  }
  set.seed(3)
  for (k in 1:20) {
    s <- stats::rt(20, 1.5) + k / 8
    exact <- enumerate_flips(s)
    if (exact > 1e-5 && exact < 0.999) expect_lt(abs(log(flip_tail(s, sum(s)) / exact)), 0.3)
  }
  expect_equal(flip_tail(rep(1, 40), 40), 2^-40)
  expect_equal(flip_tail(c(1, 2), -3.5), 1)
})

test_that("the sign-flip test does not stop at one over the number of its patterns", {
  d <- stats::qnorm(stats::ppoints(400)) + 0.5
  got <- sign_flip_test(d)
  expect_equal(got$method, "sign-flip, saddlepoint")
  expect_lt(got$p, 1e-12)
  expect_gt(got$p, 1e-30)
})
