/* spin: arithmetic in registers. Takes CPU time and nothing else: no cache, no memory. */
#include "noisegen/kinds/kinds.h"

static int64_t work(void *state) {
    (void)state;
    uint64_t x = 1;
    for (int i = 0; i < 64; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x)); /* keeps the compiler from computing the end result */
    }
    return 0;
}

const struct ng_kind ng_kind_spin = {
    .name = "spin",
    .help = "arithmetic in registers: CPU time only",
    .period_ns = 10000000,
    .work = work,
};
