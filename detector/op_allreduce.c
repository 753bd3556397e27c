#include "ops.h"

/* Element i of rank r is r + i % 17 + 1: small whole numbers, so that the sum is exact in any order of summation. */
static int prepare(struct nd_op_state *s) {
    if (nd_op_buffers(s, s->bytes, s->bytes)) return -1;
    s->count = (int)(s->bytes / (int64_t)sizeof(double));
    double *send = s->send;
    for (int i = 0; i < s->count; i++) send[i] = s->rank + i % 17 + 1;
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Allreduce(s->send, s->receive, s->count, MPI_DOUBLE, MPI_SUM, s->comm); }

static int check(const struct nd_op_state *s) {
    const double *receive = s->receive;
    double ranks = s->n_ranks, ranks_sum = ranks * (ranks - 1) / 2;
    for (int i = 0; i < s->count; i++)
        if (receive[i] != ranks_sum + ranks * (i % 17 + 1)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)n_ranks;
    return 2 * bytes;
}

const struct nd_op nd_op_allreduce = {
    .name = "allreduce",
    .help = "MPI_Allreduce, sum of doubles; bytes is the vector's size",
    .has_bytes = 1,
    .bytes_multiple = sizeof(double),
    .prepare = prepare,
    .call = call,
    .check = check,
    .memory_bytes = memory_bytes,
};
