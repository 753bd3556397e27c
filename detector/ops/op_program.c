#include "detector/ops/op_rows.h"

/* The row is no entry of nd_ops: what is run is not ours to call, see detector/program. */

static int prepare(struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int call(struct nd_op_state *s) {
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

const struct nd_op nd_op_program = {
    .name = "program",
    .help = "a beat of the program that is followed (--app)",
    .is_synchronising = 1,
    .prepare = prepare,
    .call = call,
    .check = check,
    .memory_bytes = memory_bytes,
};
