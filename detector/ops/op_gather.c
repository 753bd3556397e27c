#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    if (nd_op_buffers(s, s->bytes, nd_op_holds_all(s) ? s->bytes * s->n_ranks : 0)) return -1;
    nd_moved_fill(s->datatype, s->send, 0, s->count, s->rank, 0);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Gather(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm); }

static int start(struct nd_op_state *s) {
    return MPI_Igather(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; s->rank == s->root && from < s->n_ranks; from++)
        if (nd_moved_check(s->datatype, s->receive, (int64_t)from * s->count, s->count, from, 0)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return bytes + bytes * n_ranks; }

#define MEANING "; bytes is what each rank contributes"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .uses = ND_USES_DATATYPE | ND_USES_ROOT, .prepare = prepare, .check = check,                \
    .memory_bytes = memory_bytes

const struct nd_op nd_op_gather = {
    .name = "gather",
    .help = "MPI_Gather" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_igather = {
    .name = "igather",
    .help = "MPI_Igather with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Gather_init)(s->send, s->count, s->type, s->receive, s->count, s->type, s->root, s->comm, MPI_INFO_NULL,
                                           &s->request);
}

const struct nd_op nd_op_gather_init = {
    .name = "gather_init",
    .help = "persistent MPI_Gather: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
