#include "ops.h"

static int prepare(struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Barrier(s->comm); }

static int check(const struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)bytes, (void)n_ranks;
    return 0;
}

const struct nd_op nd_op_barrier = {
    .name = "barrier",
    .help = "MPI_Barrier",
    .bytes_multiple = 1,
    .prepare = prepare,
    .call = call,
    .check = check,
    .memory_bytes = memory_bytes,
};
