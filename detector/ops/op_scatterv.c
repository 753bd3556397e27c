#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int64_t n = nd_op_shares(s, &s->send_counts, &s->send_displs, 0), size = s->datatype->size_bytes;
    int is_sender = nd_op_holds_all(s);
    if (n < 0 || nd_op_buffers(s, is_sender ? n * size : 0, nd_op_share(s, s->rank) * size)) return -1;
    for (int to = 0; is_sender && to < s->n_ranks; to++)
        nd_moved_fill(s->datatype, s->send, s->send_displs[to], s->send_counts[to], s->rank, to);
    return 0;
}

static int call(struct nd_op_state *s) {
    return MPI_Scatterv(s->send, s->send_counts, s->send_displs, s->type, s->receive, nd_op_share(s, s->rank), s->type, s->root, s->comm);
}

static int start(struct nd_op_state *s) {
    return MPI_Iscatterv(s->send, s->send_counts, s->send_displs, s->type, s->receive, nd_op_share(s, s->rank), s->type, s->root, s->comm,
                         &s->request);
}

static int check(const struct nd_op_state *s) {
    return nd_moved_check(s->datatype, s->receive, 0, nd_op_share(s, s->rank), s->root, s->rank);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return (bytes + ND_DATA_MOST_BYTES) * (1 + (int64_t)n_ranks); }

#define MEANING "; bytes is what each rank receives, give or take an element"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE | ND_USES_ROOT, .prepare = prepare,    \
    .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_scatterv = {
    .name = "scatterv",
    .help = "MPI_Scatterv" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_iscatterv = {
    .name = "iscatterv",
    .help = "MPI_Iscatterv with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Scatterv_init)(s->send, s->send_counts, s->send_displs, s->type, s->receive, nd_op_share(s, s->rank), s->type,
                                             s->root, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_scatterv_init = {
    .name = "scatterv_init",
    .help = "persistent MPI_Scatterv: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
