#include "detector/ops/op_rows.h"

/* Kurnosov's wait patterns (2012, MPIPerf): operations whose time is known beforehand, so that what a measurement says of them is its own
 * error. */

static int prepare(struct nd_op_state *s) {
    (void)s;
    return 0;
}

/* WaitPatternUp: when all ranks start together, n ranks take n microseconds, from the reading of the clock before the call to the one after
 * it. Of these the wait itself is all but two readings: the one that it begins with, and the one that follows it. A clock that jumps
 * backwards ends the wait. */
static int up(struct nd_op_state *s) {
    const int64_t start_ns = nd_clock_now(s->clock), end_ns = start_ns + (int64_t)(s->rank + 1) * 1000 - (int64_t)(2 * s->clock->read_ns);
    int64_t now_ns;
    do now_ns = nd_clock_now(s->clock);
    while (now_ns < end_ns && now_ns >= start_ns);
    return 0;
}

static int null(struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int check(const struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)bytes, (void)n_ranks;
    return 0;
}

const struct nd_op nd_op_waitpattern_up = {
    .name = "waitpattern-up",
    .help = "self-test: rank i waits i + 1 microseconds, so n ranks that start together take n",
    .is_self_test = 1,
    .prepare = prepare,
    .call = up,
    .check = check,
    .memory_bytes = memory_bytes,
};

const struct nd_op nd_op_waitpattern_null = {
    .name = "waitpattern-null",
    .help = "self-test: returns at once, so it takes 0",
    .is_self_test = 1,
    .prepare = prepare,
    .call = null,
    .check = check,
    .memory_bytes = memory_bytes,
};
