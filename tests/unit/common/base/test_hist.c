#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/nl_hist.h"
#include "common/base/nl_rng.h"

static struct nl_hist hist;

static int empty(void **state) {
    (void)state;
    memset(&hist, 0, sizeof hist);
    return 0;
}

static void every_bin_begins_where_the_one_before_ends(void **state) {
    (void)state;
    assert_int_equal(nl_hist_lo(0), 0);
    for (int i = 0; i + 1 < NL_HIST_BINS; i++) assert_true(nl_hist_hi(i) == nl_hist_lo(i + 1) && nl_hist_hi(i) > nl_hist_lo(i));
}

static void bins_are_at_most_one_percent_wide(void **state) {
    (void)state;
    for (int i = NL_HIST_SUB; i + 1 < NL_HIST_BINS; i++)
        assert_true((double)(nl_hist_hi(i) - nl_hist_lo(i)) <= 0.01 * (double)nl_hist_lo(i));
}

static void values_fall_into_the_bin_that_holds_them(void **state) {
    (void)state;
    struct nl_rng rng;
    nl_rng_init(&rng, 1, 0);
    for (int i = 0; i < 100000; i++) {
        int64_t value = (int64_t)(nl_rng_next(&rng) >> (1 + nl_rng_below(&rng, 62)));
        int bin = nl_hist_index(value);
        assert_true(nl_hist_lo(bin) <= value && (value < nl_hist_hi(bin) || bin == NL_HIST_BINS - 1));
    }
}

static void the_extremes_have_bins(void **state) {
    (void)state;
    assert_int_equal(nl_hist_index(-5), 0);
    assert_int_equal(nl_hist_index(0), 0);
    assert_int_equal(nl_hist_index(127), 127);
    assert_int_equal(nl_hist_index(128), 128);
    assert_int_equal(nl_hist_index(256), 256);
    assert_int_equal(nl_hist_index(INT64_MAX), NL_HIST_BINS - 1);
}

static void an_empty_histogram_has_no_quantile(void **state) {
    (void)state;
    assert_int_equal(nl_hist_total(&hist), 0);
    assert_int_equal(nl_hist_quantile(&hist, 0.5), -1);
    assert_int_equal(nl_hist_max(&hist), -1);
}

static void quantiles_of_one_to_a_hundred_are_known(void **state) {
    (void)state;
    for (int i = 1; i <= 100; i++) nl_hist_add(&hist, i);
    assert_int_equal(nl_hist_total(&hist), 100);
    assert_int_equal(nl_hist_quantile(&hist, 0.5), 50);
    assert_int_equal(nl_hist_quantile(&hist, 0.99), 99);
    assert_int_equal(nl_hist_quantile(&hist, 0), 1);
    assert_int_equal(nl_hist_quantile(&hist, 1), 100);
    assert_int_equal(nl_hist_max(&hist), 100);
}

static void a_large_value_keeps_its_size_within_one_percent(void **state) {
    (void)state;
    nl_hist_add(&hist, 123456789);
    int64_t q = nl_hist_quantile(&hist, 0.5);
    assert_true(q > 123456789 * 0.99 && q < 123456789 * 1.01);
}

static void joined_histograms_hold_both_counts(void **state) {
    (void)state;
    static struct nl_hist other;
    for (int i = 1; i <= 50; i++) nl_hist_add(&hist, i);
    for (int i = 50; i <= 100; i++) nl_hist_add(&other, i);
    nl_hist_join(&hist, &other);
    assert_int_equal(nl_hist_total(&hist), 101);
    assert_int_equal(nl_hist_total(&other), 51);
    assert_int_equal(hist.bins[nl_hist_index(50)], 2);
    assert_int_equal(nl_hist_max(&hist), 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bin_begins_where_the_one_before_ends),
        cmocka_unit_test(bins_are_at_most_one_percent_wide),
        cmocka_unit_test(values_fall_into_the_bin_that_holds_them),
        cmocka_unit_test(the_extremes_have_bins),
        cmocka_unit_test_setup(an_empty_histogram_has_no_quantile, empty),
        cmocka_unit_test_setup(quantiles_of_one_to_a_hundred_are_known, empty),
        cmocka_unit_test_setup(a_large_value_keeps_its_size_within_one_percent, empty),
        cmocka_unit_test_setup(joined_histograms_hold_both_counts, empty),
    };
    return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
