#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int is_sender = nd_op_holds_all(s);
    if (nd_op_buffers(s, is_sender ? s->bytes * s->n_ranks : 0, s->bytes)) return -1;
    for (int to = 0; is_sender && to < s->n_ranks; to++) nd_moved_fill(s->datatype, s->send, (int64_t)to * s->count, s->count, s->rank, to);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Scatter(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm); }

static int start(struct nd_op_state *s) {
    return MPI_Iscatter(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    return nd_moved_check(s->datatype, s->receive, 0, s->count, s->root, s->rank);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return bytes + bytes * n_ranks; }

#define MEANING "; bytes is what each rank receives"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .uses = ND_USES_DATATYPE | ND_USES_ROOT, .prepare = prepare, .check = check,                \
    .memory_bytes = memory_bytes

const struct nd_op nd_op_scatter = {
    .name = "scatter",
    .help = "MPI_Scatter" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_iscatter = {
    .name = "iscatter",
    .help = "MPI_Iscatter with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Scatter_init)(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm, MPI_INFO_NULL,
                                            &s->request);
}

const struct nd_op nd_op_scatter_init = {
    .name = "scatter_init",
    .help = "persistent MPI_Scatter: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
