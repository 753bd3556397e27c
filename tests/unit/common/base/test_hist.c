#include "common/base/nl_hist.h"
#include "common/base/nl_rng.h"
#include "tests/unit/unit.h"

TEST(every_bin_begins_where_the_one_before_ends_and_is_at_most_one_percent_wide) {
    assert_int_equal(nl_hist_lo(0), 0);
    for (int i = 0; i + 1 < NL_HIST_BINS; i++) {
        assert_true(nl_hist_hi(i) == nl_hist_lo(i + 1) && nl_hist_hi(i) > nl_hist_lo(i));
        assert_true(i < NL_HIST_SUB ||
                    (double)(nl_hist_hi(i) - nl_hist_lo(i)) <= 0.01 * (double)nl_hist_lo(i));
    }
    EQUAL(nl_hist_index(-5), 0, nl_hist_index(0), 0, nl_hist_index(127), 127, nl_hist_index(128), 128);
    EQUAL(nl_hist_index(256), 256, nl_hist_index(INT64_MAX), NL_HIST_BINS - 1);
}

TEST(values_fall_into_the_bin_that_holds_them) {
    struct nl_rng rng;
    nl_rng_init(&rng, 1, 0);
    for (int i = 0; i < 100000; i++) {
        int64_t value = (int64_t)(nl_rng_next(&rng) >> (1 + nl_rng_below(&rng, 62)));
        int bin = nl_hist_index(value);
        assert_true(nl_hist_lo(bin) <= value && (value < nl_hist_hi(bin) || bin == NL_HIST_BINS - 1));
    }
}

TEST(quantiles_are_known_and_joined_histograms_hold_both_counts) {
    static struct nl_hist hist, other;
    EQUAL(nl_hist_total(&hist), 0, nl_hist_quantile(&hist, 0.5), -1, nl_hist_max(&hist), -1);
    for (int i = 1; i <= 50; i++)
        nl_hist_add(&hist, i);
    for (int i = 51; i <= 100; i++)
        nl_hist_add(&other, i);
    nl_hist_join(&hist, &other);
    EQUAL(nl_hist_total(&other), 50, nl_hist_total(&hist), 100, nl_hist_quantile(&hist, 0.5), 50,
          nl_hist_quantile(&hist, 0.99), 99);
    EQUAL(nl_hist_quantile(&hist, 0), 1, nl_hist_quantile(&hist, 1), 100, nl_hist_max(&hist), 100);
    nl_hist_add(&hist, 123456789);
    int64_t q = nl_hist_quantile(&hist, 1);
    assert_true(q > 123456789 * 0.99 && q < 123456789 * 1.01);
}
