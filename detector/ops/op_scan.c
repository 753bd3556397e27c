#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    if (nd_op_buffers(s, s->bytes, s->bytes)) return -1;
    nd_reduced_fill(s->datatype, s->reduction, s->send, s->count, s->rank);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Scan(s->send, s->receive, s->count, s->type, s->reduce, s->comm); }

static int start(struct nd_op_state *s) { return MPI_Iscan(s->send, s->receive, s->count, s->type, s->reduce, s->comm, &s->request); }

static int check(const struct nd_op_state *s) {
    return nd_reduced_check(s->datatype, s->reduction, s->receive, s->count, 0, s->rank, 0);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)n_ranks;
    return 2 * bytes;
}

#define MEANING "; bytes is the vector's size"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_double, .uses = ND_USES_DATATYPE | ND_USES_REDUCTION, .prepare = prepare, .check = check,         \
    .memory_bytes = memory_bytes

const struct nd_op nd_op_scan = {
    .name = "scan",
    .help = "MPI_Scan" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_iscan = {
    .name = "iscan",
    .help = "MPI_Iscan with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Scan_init)(s->send, s->receive, s->count, s->type, s->reduce, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_scan_init = {
    .name = "scan_init",
    .help = "persistent MPI_Scan: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
