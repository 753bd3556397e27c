#include "ops.h"

/* Byte i of what rank r sends to rank q; both ends can compute it. */
static unsigned char pattern(int from, int to, int64_t i) { return (unsigned char)(from * 31 + to * 17 + i); }

static int prepare(struct nd_op_state *s) {
    int64_t total = s->bytes * s->n_ranks;
    if (nd_op_buffers(s, total, total)) return -1;
    s->count = (int)s->bytes;
    unsigned char *send = s->send;
    for (int to = 0; to < s->n_ranks; to++)
        for (int64_t i = 0; i < s->bytes; i++) send[to * s->bytes + i] = pattern(s->rank, to, i);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Alltoall(s->send, s->count, MPI_BYTE, s->receive, s->count, MPI_BYTE, s->comm); }

static int check(const struct nd_op_state *s) {
    const unsigned char *receive = s->receive;
    for (int from = 0; from < s->n_ranks; from++)
        for (int64_t i = 0; i < s->bytes; i++)
            if (receive[from * s->bytes + i] != pattern(from, s->rank, i)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return 2 * bytes * n_ranks; }

const struct nd_op nd_op_alltoall = {
    .name = "alltoall",
    .help = "MPI_Alltoall; bytes is what each rank sends to each rank",
    .has_bytes = 1,
    .bytes_multiple = 1,
    .prepare = prepare,
    .call = call,
    .check = check,
    .memory_bytes = memory_bytes,
};
