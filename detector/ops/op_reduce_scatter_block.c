#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int64_t n = (int64_t)s->count * s->n_ranks;
    if (nd_op_buffers(s, s->bytes * s->n_ranks, s->bytes)) return -1;
    nd_reduced_fill(s->datatype, s->reduction, s->send, n, s->rank);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Reduce_scatter_block(s->send, s->receive, s->count, s->type, s->reduce, s->comm); }

static int start(struct nd_op_state *s) {
    return MPI_Ireduce_scatter_block(s->send, s->receive, s->count, s->type, s->reduce, s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    int64_t first_i = (int64_t)s->rank * s->count;
    return nd_reduced_check(s->datatype, s->reduction, s->receive, s->count, 0, s->n_ranks - 1, first_i);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return bytes + bytes * n_ranks; }

#define MEANING "; bytes is what each rank receives of a vector of ranks x bytes"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_double, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE | ND_USES_REDUCTION,                 \
    .is_synchronising = 1, .prepare = prepare, .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_reduce_scatter_block = {
    .name = "reduce_scatter_block",
    .help = "MPI_Reduce_scatter_block" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_ireduce_scatter_block = {
    .name = "ireduce_scatter_block",
    .help = "MPI_Ireduce_scatter_block with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Reduce_scatter_block_init)(s->send, s->receive, s->count, s->type, s->reduce, s->comm, MPI_INFO_NULL,
                                                         &s->request);
}

const struct nd_op nd_op_reduce_scatter_block_init = {
    .name = "reduce_scatter_block_init",
    .help = "persistent MPI_Reduce_scatter_block: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
