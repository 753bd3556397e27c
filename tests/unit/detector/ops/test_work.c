#include "detector/ops/ops.h"
#include "tests/unit/unit.h"
#include "detector/ops/work.h"

static int64_t time_of(int64_t n_steps) {
    int64_t start = nl_now_ns(CLOCK_MONOTONIC_RAW);
    nd_work(n_steps);
    return nl_now_ns(CLOCK_MONOTONIC_RAW) - start;
}

/* The shortest of many trials: whatever else runs only adds. Both amounts in turn, so that a change of
 * frequency meets both. */
static void shortest_times(int64_t few, int64_t many, int64_t *few_ns, int64_t *many_ns) {
    *few_ns = *many_ns = INT64_MAX;
    for (int i = 0; i < 50; i++) {
        int64_t a = time_of(few), b = time_of(many);
        if (a < *few_ns) *few_ns = a;
        if (b < *many_ns) *many_ns = b;
    }
}

TEST(four_times_the_steps_take_four_times_as_long) {
    int64_t one_ns, four_ns;
    shortest_times(100000, 400000, &one_ns, &four_ns);
    double ratio = (double)four_ns / (double)one_ns;
    print_message("# ratio %.3f\n", ratio);
    assert_true(ratio > 3.2 && ratio < 4.8);
}

TEST(the_rate_tells_how_long_steps_take) {
    double rate = nd_work_rate();
    /* a step is a chain of three instructions: more than a tenth of a ns, less than a microsecond */
    assert_true(rate > 1e-3 && rate < 10);
    int64_t ns, unused;
    shortest_times((int64_t)(rate * 500000), 0, &ns, &unused);
    print_message("# 500 us of work took %.1f us\n", (double)ns / 1e3);
    /* within a factor of two: the processor may have changed its frequency in between */
    assert_true(ns > 250000 && ns < 1000000);
}
