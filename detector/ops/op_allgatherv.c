#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int64_t n = nd_op_shares(s, &s->receive_counts, &s->receive_displs, 0), size = s->datatype->size_bytes;
    int share = nd_op_share(s, s->rank);
    if (n < 0 || nd_op_buffers(s, share * size, n * size)) return -1;
    nd_moved_fill(s->datatype, s->send, 0, share, s->rank, 0);
    return 0;
}

static int call(struct nd_op_state *s) {
    return MPI_Allgatherv(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs, s->type, s->comm);
}

static int start(struct nd_op_state *s) {
    return MPI_Iallgatherv(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs, s->type, s->comm,
                           &s->request);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; from < s->n_ranks; from++)
        if (nd_moved_check(s->datatype, s->receive, s->receive_displs[from], s->receive_counts[from], from, 0)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return (bytes + ND_DATA_MOST_BYTES) * (1 + (int64_t)n_ranks); }

#define MEANING "; bytes is what each rank contributes, give or take an element"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE, .is_synchronising = 1,                \
    .prepare = prepare, .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_allgatherv = {
    .name = "allgatherv",
    .help = "MPI_Allgatherv" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_iallgatherv = {
    .name = "iallgatherv",
    .help = "MPI_Iallgatherv with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Allgatherv_init)(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs,
                                               s->type, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_allgatherv_init = {
    .name = "allgatherv_init",
    .help = "persistent MPI_Allgatherv: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
