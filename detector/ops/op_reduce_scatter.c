#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    int64_t n = nd_op_shares(s, &s->receive_counts, &s->receive_displs, 0), size = s->datatype->size_bytes;
    if (n < 0 || nd_op_buffers(s, n * size, s->receive_counts[s->rank] * size)) return -1;
    nd_reduced_fill(s->datatype, s->reduction, s->send, n, s->rank);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Reduce_scatter(s->send, s->receive, s->receive_counts, s->type, s->reduce, s->comm); }

static int start(struct nd_op_state *s) {
    return MPI_Ireduce_scatter(s->send, s->receive, s->receive_counts, s->type, s->reduce, s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    int n = s->receive_counts[s->rank], first_i = s->receive_displs[s->rank];
    return nd_reduced_check(s->datatype, s->reduction, s->receive, n, 0, s->n_ranks - 1, first_i);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return (bytes + ND_DATA_MOST_BYTES) * (1 + (int64_t)n_ranks); }

#define MEANING "; bytes is what each rank receives of a vector of ranks x bytes, give or take an element"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_double, .limit = ND_LIMIT_ELEMENTS, .uses = ND_USES_DATATYPE | ND_USES_REDUCTION,                 \
    .is_synchronising = 1, .prepare = prepare, .check = check, .memory_bytes = memory_bytes

const struct nd_op nd_op_reduce_scatter = {
    .name = "reduce_scatter",
    .help = "MPI_Reduce_scatter" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_ireduce_scatter = {
    .name = "ireduce_scatter",
    .help = "MPI_Ireduce_scatter with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Reduce_scatter_init)(s->send, s->receive, s->receive_counts, s->type, s->reduce, s->comm, MPI_INFO_NULL,
                                                   &s->request);
}

const struct nd_op nd_op_reduce_scatter_init = {
    .name = "reduce_scatter_init",
    .help = "persistent MPI_Reduce_scatter: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
