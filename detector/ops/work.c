#include "detector/ops/work.h"
#include "detector/ops/ops.h"

void nd_work(int64_t n_steps) {
    uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
    for (int64_t i = 0; i < n_steps; i++) {
        /* shift, exclusive or and product need each other's result and the step before: no core overlaps them
         */
        x ^= x >> 29;
        x *= UINT64_C(0xbf58476d1ce4e5b9);
        __asm__ volatile(
            ""
            : "+r"(x)); /* the compiler must have x here: no step is merged, hoisted or dropped */
    }
}

double nd_work_rate(void) {
    enum { TRIALS = 10 };
    static const double trial_ns = 1e6;
    /* so many take long against the readings of the clock even on a fast core, and no more than a few ms on a
     * slow one */
    static const int64_t fewest_steps = 200000;
    int64_t n_steps = fewest_steps;
    double best = 0;
    for (int i = 0; i < TRIALS; i++) {
        int64_t start = nl_now_ns(CLOCK_MONOTONIC_RAW);
        nd_work(n_steps);
        int64_t ns = nl_now_ns(CLOCK_MONOTONIC_RAW) - start;
        if (ns > 0 && (double)n_steps > best * (double)ns) best = (double)n_steps / (double)ns;
        n_steps = (int64_t)(best * trial_ns);
        if (n_steps < fewest_steps) n_steps = fewest_steps;
    }
    return best;
}
