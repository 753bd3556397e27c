/* Operations without MPI, whose time is known beforehand (Kurnosov 2012, MPIPerf). */
#include "detector/ops/ops.h"

/* When all start together, n ranks take n us between two readings around the call: so the wait is shorter by
 * two. A clock that jumps backwards ends it. */
static int up(struct nd_op_state *s) {
    const int64_t start_ns = nd_clock_now(s->clock),
                  end_ns = start_ns + (int64_t)(s->rank + 1) * 1000 - (int64_t)(2 * s->clock->read_ns);
    int64_t now_ns;
    do
        now_ns = nd_clock_now(s->clock);
    while (now_ns < end_ns && now_ns >= start_ns);
    return 0;
}

static int nothing(struct nd_op_state *s) {
    (void)s;
    return 0;
}

const struct nd_op nd_op_empty = {.name = "empty",
                                  .help = "does nothing: the floor of the harness itself",
                                  .is_self_test = 1,
                                  .call = nothing};
const struct nd_op nd_op_waitpattern_up = {
    .name = "waitpattern-up",
    .help = "self-test: rank i waits i + 1 microseconds, so n ranks that start together take n",
    .is_self_test = 1,
    .call = up,
};
const struct nd_op nd_op_waitpattern_null = {.name = "waitpattern-null",
                                             .help = "self-test: returns at once, so it takes 0",
                                             .is_self_test = 1,
                                             .call = nothing};
/* No entry of nd_ops: what is run is not ours to call, see detector/program. */
const struct nd_op nd_op_program = {.name = "program",
                                    .help = "a beat of the program that is followed (--app)",
                                    .is_synchronising = 1,
                                    .call = nothing};
