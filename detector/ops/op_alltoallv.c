#include "detector/ops/op_rows.h"

/* What rank a sends to rank b is share number a + b: both ends know it. */
static int prepare(struct nd_op_state *s) {
    int64_t n = nd_op_shares(s, &s->send_counts, &s->send_displs, s->rank), size = s->datatype->size_bytes;
    if (n < 0 || nd_op_shares(s, &s->receive_counts, &s->receive_displs, s->rank) < 0 || nd_op_buffers(s, n * size, n * size)) return -1;
    for (int to = 0; to < s->n_ranks; to++) nd_moved_fill(s->datatype, s->send, s->send_displs[to], s->send_counts[to], s->rank, to);
    return 0;
}

static int call(struct nd_op_state *s) {
    return MPI_Alltoallv(s->send, s->send_counts, s->send_displs, s->type, s->receive, s->receive_counts, s->receive_displs, s->type,
                         s->comm);
}

static int start(struct nd_op_state *s) {
    return MPI_Ialltoallv(s->send, s->send_counts, s->send_displs, s->type, s->receive, s->receive_counts, s->receive_displs, s->type,
                          s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; from < s->n_ranks; from++)
        if (nd_moved_check(s->datatype, s->receive, s->receive_displs[from], s->receive_counts[from], from, s->rank)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return 2 * (bytes + ND_DATA_MOST_BYTES) * n_ranks; }

#define MEANING "; bytes is what each rank sends to each rank, give or take an element"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE, .is_synchronising = 1,                \
    .prepare = prepare, .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_alltoallv = {
    .name = "alltoallv",
    .help = "MPI_Alltoallv" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_ialltoallv = {
    .name = "ialltoallv",
    .help = "MPI_Ialltoallv with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Alltoallv_init)(s->send, s->send_counts, s->send_displs, s->type, s->receive, s->receive_counts,
                                              s->receive_displs, s->type, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_alltoallv_init = {
    .name = "alltoallv_init",
    .help = "persistent MPI_Alltoallv: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
