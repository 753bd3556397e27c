#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Barrier(s->comm); }

static int start(struct nd_op_state *s) { return MPI_Ibarrier(s->comm, &s->request); }

static int check(const struct nd_op_state *s) {
    (void)s;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)bytes, (void)n_ranks;
    return 0;
}

#define FAMILY .is_synchronising = 1, .prepare = prepare, .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_barrier = {
    .name = "barrier",
    .help = "MPI_Barrier",
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_ibarrier = {
    .name = "ibarrier",
    .help = "MPI_Ibarrier with MPI_Wait",
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) { return ND_PERSISTENT_CALL(Barrier_init)(s->comm, MPI_INFO_NULL, &s->request); }

const struct nd_op nd_op_barrier_init = {
    .name = "barrier_init",
    .help = "persistent MPI_Barrier: MPI_Start with MPI_Wait",
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
