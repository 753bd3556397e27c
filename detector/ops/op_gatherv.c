#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int64_t n = nd_op_shares(s, &s->receive_counts, &s->receive_displs, 0), size = s->datatype->size_bytes;
    int share = nd_op_share(s, s->rank);
    if (n < 0 || nd_op_buffers(s, share * size, nd_op_holds_all(s) ? n * size : 0)) return -1;
    nd_moved_fill(s->datatype, s->send, 0, share, s->rank, 0);
    return 0;
}

static int call(struct nd_op_state *s) {
    return MPI_Gatherv(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs, s->type, s->root,
                       s->comm);
}

static int start(struct nd_op_state *s) {
    return MPI_Igatherv(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs, s->type, s->root,
                        s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; s->rank == s->root && from < s->n_ranks; from++)
        if (nd_moved_check(s->datatype, s->receive, s->receive_displs[from], s->receive_counts[from], from, 0)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return (bytes + ND_DATA_MOST_BYTES) * (1 + (int64_t)n_ranks); }

#define MEANING "; bytes is what each rank contributes, give or take an element"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE | ND_USES_ROOT, .prepare = prepare,    \
    .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_gatherv = {
    .name = "gatherv",
    .help = "MPI_Gatherv" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_igatherv = {
    .name = "igatherv",
    .help = "MPI_Igatherv with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Gatherv_init)(s->send, nd_op_share(s, s->rank), s->type, s->receive, s->receive_counts, s->receive_displs,
                                            s->type, s->root, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_gatherv_init = {
    .name = "gatherv_init",
    .help = "persistent MPI_Gatherv: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
