/* What becomes of the records of synchronised starts: sums over ranks, who was last. */
#include "detector/measure/starts.h"
#include "common/base/nl_rng.h"
#include "tests/unit/unit.h"
#include "detector/measure/start_sum.h"

TEST(of_equal_times_the_lower_rank_counts_and_one_rank_costs_nobody) {
    struct nd_start_sum a = nd_start_sum_of(3, 10, 20, 0, 100), b = nd_start_sum_of(1, 10, 20, 0, 100);
    struct nd_start_sum lone = nd_start_sum_of(0, 10, 20, 7, 5);
    double within, between;
    nd_start_sum_join(&a, &b);
    EQUAL(a.first_start_rank, 1, a.last_start_rank, 1, a.last_end_rank, 1, a.second_start_ns, 10);
    EQUAL(nd_start_cost_ns(a.last_start_ns, a.second_start_ns), 0,
          nd_start_cost_ns(lone.last_start_ns, lone.second_start_ns), 0);
    assert_int_equal(lone.n_late, 1);
    nd_start_sum_node(&lone, 1);
    nd_start_sum_variance(&lone, 1, &within, &between);
    assert_true(within == 0 && between == 0);
}

/* Joins n ranks' parts in a random tree and compares with what sorting says. */
TEST(any_order_of_joining_gives_what_sorting_gives) {
    struct nl_rng rng;
    nl_rng_init(&rng, 5, 0);
    for (int round = 0; round < 200; round++) {
        enum { MOST = 9 };
        struct nd_start_sum parts[MOST];
        int64_t starts[MOST], ends[MOST];
        int n = 2 + (int)nl_rng_below(&rng, MOST - 1), left = n;
        for (int i = 0; i < n; i++) {
            starts[i] = (int64_t)nl_rng_below(&rng, 6) - 2; /* many equal ones */
            ends[i] = starts[i] + (int64_t)nl_rng_below(&rng, 6);
            parts[i] = nd_start_sum_of(i, starts[i], ends[i], starts[i], 1);
        }
        while (left > 1) {
            int a = (int)nl_rng_below(&rng, (uint64_t)left),
                b = (a + 1 + (int)nl_rng_below(&rng, (uint64_t)left - 1)) % left;
            nd_start_sum_join(&parts[a], &parts[b]);
            parts[b] = parts[--left];
            if (a == left) a = b;
        }
        int first = 0, last = 0, last_end = 0, n_late = 0;
        for (int i = 1; i < n; i++) {
            if (starts[i] < starts[first]) first = i;
            if (starts[i] > starts[last]) last = i;
            if (ends[i] > ends[last_end]) last_end = i;
        }
        int64_t second = INT64_MIN, second_end = INT64_MIN;
        for (int i = 0; i < n; i++) {
            if (i != last && starts[i] > second) second = starts[i];
            if (i != last_end && ends[i] > second_end) second_end = ends[i];
            n_late += starts[i] > 1;
        }
        EQUAL(parts[0].first_start_rank, first, parts[0].last_start_rank, last, parts[0].last_end_rank,
              last_end);
        EQUAL(parts[0].second_start_ns, second, parts[0].second_end_ns, second_end, parts[0].overshoot_ns,
              starts[last]);
        EQUAL(parts[0].n_late, n_late);
    }
}

/* Two nodes of two ranks: arrivals 0, 2 and 10, 12. Means 1 and 11, variance within 1, between 25, all 26. */
TEST(the_variance_of_arrivals_splits_into_within_and_between_nodes) {
    struct nd_start_sum a = nd_start_sum_of(0, 0, 20, 0, 100), b = nd_start_sum_of(1, 2, 20, 0, 100);
    struct nd_start_sum c = nd_start_sum_of(2, 10, 20, 0, 100), d = nd_start_sum_of(3, 12, 20, 0, 100);
    double within, between;
    nd_start_sum_join(&a, &b);
    nd_start_sum_join(&c, &d);
    nd_start_sum_node(&a, 2);
    nd_start_sum_node(&c, 2);
    nd_start_sum_join(&a, &c);
    nd_start_sum_variance(&a, 4, &within, &between);
    assert_true(fabs(within - 1) < 1e-12);
    assert_true(fabs(between - 25) < 1e-12);
}
