#include "common/base/nl_rng.h"
#include "detector/plan/plan.h"
#include "tests/unit/unit.h"
#include "detector/design/spending.h"
#include "detector/plan/sequential.h"

static void assert_about(double value, double wanted, double share) {
    assert_near(value, wanted, share * fabs(wanted));
}

TEST(quantiles_agree_with_tables) {
    assert_about(nd_normal_tail(5), 2.866515718791939e-07, 1e-13);
    assert_about(nd_normal_quantile(1e-20), 9.262340089798409, 1e-13);
    assert_about(nd_normal_quantile(0.5) + 1, 1, 1e-14);
    /* Student: 1 degree of freedom is Cauchy, 2 has a closed form */
    assert_about(nd_student_quantile(0.01, 1), 1 / tan(M_PI * 0.01), 1e-12);
    assert_about(nd_student_quantile(1e-9, 1), 1 / tan(M_PI * 1e-9), 1e-12);
    assert_about(nd_student_quantile(0.3, 2), 0.4 * sqrt(2 / (4 * 0.3 * 0.7)), 1e-12);
    /* from another implementation */
    assert_about(nd_student_quantile(0.005, 4), 4.604094871349993, 1e-12);
    assert_about(nd_student_quantile(1e-9, 30), 8.445862796274243, 1e-12);
    assert_about(nd_student_quantile(1e-30, 5), 1568392.559097973, 1e-12);
    assert_about(nd_student_quantile(0.2, 7), 0.8960296443137651, 1e-12);
    assert_about(nd_student_quantile(0.01, 1e5), 2.326385165355268, 1e-12);
    assert_about(nd_student_quantile(1e-12, 1e5), 7.035371742393577, 1e-12);
}

TEST(the_student_tail_undoes_its_quantile) {
    for (double df = 1; df < 1e6; df *= 3)
        for (double p = 0.49; p > 1e-40; p /= 7)
            assert_about(nd_student_tail(nd_student_quantile(p, df), df), p, 1e-10);
    assert_about(nd_student_tail(-2, 9) + nd_student_tail(2, 9), 1, 1e-14);
    assert_about(nd_student_tail(0, 9), 0.5, 1e-15);
}

TEST(boundaries_of_five_equal_looks_are_the_published_ones) {
    /* one-sided 0.025, z to three decimals */
    static const struct {
        const char *spending;
        double z[5];
    } known[] = {{"obrien-fleming", {4.877, 3.357, 2.680, 2.290, 2.031}},
                 {"pocock", {2.438, 2.427, 2.410, 2.397, 2.386}}};
    const double fractions[] = {0.2, 0.4, 0.6, 0.8, 1};
    for (int i = 0; i < 2; i++) {
        double p[5];
        assert_int_equal(nd_spending_bounds(nl_find(nd_spendings, known[i].spending), 0.025, fractions, 5, p),
                         0);
        for (int k = 0; k < 5; k++) {
            double z = nd_normal_quantile(p[k]);
            if (fabs(z - known[i].z[k]) > 0.00051)
                fail_msg("%s, look %d: z = %.5f, wanted %.3f", known[i].spending, k + 1, z, known[i].z[k]);
        }
    }
}

/* A walk that is looked at in between crosses with chance alpha: 200,000 of them, three sigma. */
TEST(the_overall_error_of_many_looks_is_alpha) {
    enum { WALKS = 200000 };
    static const double unequal[] = {0.1, 0.15, 0.6, 0.9, 1};
    struct nl_rng rng;
    nl_rng_init(&rng, 20250101, 1);
    for (int i = 0; nd_spendings[i]; i++) {
        double p[5], z[5];
        const double end = 1;
        int n_crossed = 0;
        assert_int_equal(nd_spending_bounds(nd_spendings[i], 0.01, &end, 1, p),
                         0); /* a single look spends all */
        assert_about(p[0], 0.01, 1e-12);
        assert_int_equal(nd_spending_bounds(nd_spendings[i], 0.05, unequal, 5, p), 0);
        for (int k = 0; k < 5; k++)
            z[k] = nd_normal_quantile(p[k]);
        for (int w = 0; w < WALKS; w++) {
            double sum = 0, before = 0;
            int has_crossed = 0;
            for (int k = 0; k < 5; k++) {
                double angle = 2 * M_PI * nl_rng_uniform(&rng),
                       radius = sqrt(-2 * log1p(-nl_rng_uniform(&rng)));
                sum += sqrt(unequal[k] - before) * radius * cos(angle);
                before = unequal[k];
                has_crossed |= sum > z[k] * sqrt(before);
            }
            n_crossed += has_crossed;
        }
        if (fabs((double)n_crossed / WALKS - 0.05) > 3 * sqrt(0.05 * 0.95 / WALKS))
            fail_msg("%s: %d of %d", nd_spendings[i]->name, n_crossed, WALKS);
    }
}

TEST(twenty_looks_at_a_small_alpha_are_finite_and_get_less_strict) {
    double fractions[ND_MAX_LOOKS], p[ND_MAX_LOOKS];
    for (int k = 0; k < ND_MAX_LOOKS; k++)
        fractions[k] = (k + 1) / 20.;
    assert_int_equal(nd_spending_bounds(nd_spendings[0], 1e-6, fractions, ND_MAX_LOOKS, p), 0);
    for (int k = 0; k < ND_MAX_LOOKS; k++) {
        assert_true(p[k] > 0 && p[k] < 1e-6);
        if (k > 0) assert_true(p[k] > p[k - 1]);
    }
}

TEST(looks_are_spread_evenly_over_the_rounds) {
    int64_t rounds[ND_MAX_LOOKS];
    nd_look_rounds(100, 5, rounds);
    for (int k = 0; k < 5; k++)
        assert_int_equal(rounds[k], 20 * (k + 1));
    nd_look_rounds(7, 5, rounds); /* 1.4, 2.8, 4.2, 5.6, 7, each rounded up */
    const int64_t wanted[] = {2, 3, 5, 6, 7};
    for (int k = 0; k < 5; k++)
        assert_int_equal(rounds[k], wanted[k]);
    for (int64_t n = ND_MAX_LOOKS; n < INT64_C(1) << 60; n += 1 + n / 3) {
        nd_look_rounds(n, ND_MAX_LOOKS, rounds);
        for (int k = 1; k < ND_MAX_LOOKS; k++)
            assert_true(rounds[k] > rounds[k - 1]);
        assert_int_equal(rounds[ND_MAX_LOOKS - 1], n);
    }
}

TEST(a_decision_follows_from_the_interval) {
    static const struct {
        int64_t n;
        double mean, sd, p, margin_percent;
        enum nd_decision decision;
    } rows[] = {{5, 0.02, 0.01, 0.005, 0, ND_OPEN},
                {5, 0.03, 0.01, 0.005, 0, ND_ABOVE},
                {5, 0.03, 0.01, 0.005, 1, ND_OPEN},
                {5, 0.03, 0.01, 0.005, 10, ND_BELOW},
                {5, 0.03, 0.01, 0.005, 5.2, ND_BELOW},
                {5, 0.03, 0.01, 0.005, 5.18, ND_OPEN}, /* log(1 + 5.2 %) = 0.0507 is above 0.0506 */
                {50, -0.5, 0.01, 0.01, 0, ND_OPEN},
                {50, -0.5, 0.01, 0.01, 0.001, ND_BELOW}, /* margin zero is never undercut */
                {0, 0, -1, 0.01, 1, ND_OPEN},
                {1, 0.5, -1, 0.01, 1, ND_OPEN},
                {100, 0.5, 0, 0.01, 1, ND_OPEN}}; /* without scatter */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nd_look_cell cell = {.n = rows[i].n, .mean = rows[i].mean, .sd = rows[i].sd};
        nd_sequential_decide(&cell, rows[i].p, rows[i].margin_percent);
        assert_int_equal(cell.decision, rows[i].decision);
        assert_int_equal(isnan(cell.low), rows[i].n < 2 || rows[i].sd <= 0);
        if (i > 0) continue;
        /* by hand: t(0.005, 4) = 4.604094871, so 0.02 -+ 4.604094871 x 0.01 / sqrt(5) = 0.02 -+ 0.0205901 */
        assert_about(cell.low, 0.02 - 0.020590138, 1e-5);
        assert_about(cell.high, 0.02 + 0.020590138, 1e-7);
    }
}

static void half(struct nd_sequential *s, int level, int order, int64_t wall_ns) {
    nd_sequential_half(s, &(struct nd_half){.step = {.level = level, .order = order},
                                            .all.wall_ns = wall_ns,
                                            .n_operations = 100});
}

static struct nd_sequential *plan(int n_arms, const double *levels_percent) {
    static struct nd_options options, *const o = &options;
    options = (struct nd_options){.n_configs = 1};
    o->n_arms = n_arms;
    for (int i = 0; i < n_arms; i++)
        o->arms[i].level_percent = levels_percent[i];
    o->n_rounds = 6;
    o->sequential = (struct nd_sequential_options){
        .stops = 1, .margin_percent = 1, .alpha = 0.05, .n_looks = 2, .spending = nd_spendings[1]};
    nd_look_rounds(o->n_rounds, 2, o->sequential.rounds);
    struct nd_sequential *s = nd_sequential_open(o);
    assert_non_null(s);
    return s;
}

TEST(pairs_give_n_mean_and_scatter_of_each_level_above_zero) {
    const double levels[] = {0, 5};
    struct nd_sequential *s = plan(2, levels);
    /* log ratios log 1.1, log 1.2, log 1.3 of level 5 %; off first or last; the placebo between them counts
     * nowhere */
    const int64_t on_ns[] = {110000, 120000, 130000};
    double sum = 0, squares = 0;
    for (int i = 0; i < 3; i++) {
        half(s, i % 2 ? ND_OFF : 1, 0, i % 2 ? 100000 : on_ns[i]);
        half(s, i % 2 ? 1 : ND_OFF, 1, i % 2 ? on_ns[i] : 100000);
        half(s, ND_OFF, 0, 100000);
        half(s, 0, 1, 500000);
        sum += log((double)on_ns[i] / 1e5);
    }
    for (int i = 0; i < 3; i++)
        squares += pow(log((double)on_ns[i] / 1e5) - sum / 3, 2);
    half(s, 1, 0, 999999); /* a pair that is not complete, and one without a time */
    half(s, ND_OFF, 0, 0);
    half(s, 1, 1, 100000);
    const struct nd_look *l = nd_sequential_look(s, 0);
    EQUAL(l->look, 1, l->rounds, 3);
    assert_about(l->fraction, 0.5, 1e-15);
    EQUAL(l->n_cells, 1, l->cells[0].arm, 1, l->cells[0].n, 3);
    assert_about(l->cells[0].mean, sum / 3, 1e-13);
    assert_about(l->cells[0].sd, sqrt(squares / 2), 1e-12);
    nd_sequential_close(s);
}

TEST(every_on_block_pairs_with_the_off_block_of_its_set) {
    const double levels[] = {1, 5};
    struct nd_sequential *s = plan(2, levels);
    /* on before off, on after off */
    half(s, 0, 0, 200000);
    half(s, ND_OFF, 1, 100000);
    half(s, 1, 2, 300000);
    half(s, ND_OFF, 0, 100000);
    half(s, 1, 1, 300000);
    half(s, 0, 2, 200000);
    const struct nd_look *l = nd_sequential_look(s, 0);
    EQUAL(l->n_cells, 2, l->cells[0].n, 2);
    assert_about(l->cells[0].mean, log(2), 1e-13);
    assert_about(l->cells[1].mean, log(3), 1e-13);
    assert_int_equal(l->n_decided, 0); /* all differences are equal */
    nd_sequential_close(s);
}
