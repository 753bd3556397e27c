/* seed: the generator as published (Khudoleeva & Stefanov 2021, doi 10.14529/cmse210105), kept for
 * comparison: a whole array of 250,000 long long is summed between two looks at the clock, and the clock is
 * the wall's. */
#include "noisegen/kinds/kinds.h"

enum { N_ELEMENTS = 250000 };

static int prepare(const struct ng_kind_options *options, void *state, char *reason, size_t reason_size) {
    (void)options;
    (void)reason;
    (void)reason_size;
    long long *array = state;
    for (int i = 0; i < N_ELEMENTS; i++)
        array[i] = i;
    return 0;
}

static int64_t work(void *state) {
    const long long *array = state;
    long long sum = 0;
    for (int i = 0; i < N_ELEMENTS; i++)
        sum += array[i];
    __asm__ volatile("" : : "r"(sum));
    return 0;
}

const struct ng_kind ng_kind_seed = {
    .name = "seed",
    .help = "the published loop of 2021 (wall time), for comparison",
    .pacing = NG_PACING_PUBLISHED,
    .period_ns = 1000000000,
    .array_bytes = N_ELEMENTS * sizeof(long long),
    .state_bytes = N_ELEMENTS * sizeof(long long),
    .prepare = prepare,
    .work = work,
};
