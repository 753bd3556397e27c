#include "detector/ops/op_rows.h"

static int prepare(struct nd_op_state *s) {
    if (nd_op_buffers(s, s->bytes, s->bytes * s->n_ranks)) return -1;
    nd_moved_fill(s->datatype, s->send, 0, s->count, s->rank, 0);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Allgather(s->send, s->count, s->type, s->receive, s->count, s->type, s->comm); }

static int start(struct nd_op_state *s) {
    return MPI_Iallgather(s->send, s->count, s->type, s->receive, s->count, s->type, s->comm, &s->request);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; from < s->n_ranks; from++)
        if (nd_moved_check(s->datatype, s->receive, (int64_t)from * s->count, s->count, from, 0)) return -1;
    return 0;
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) { return bytes + bytes * n_ranks; }

#define MEANING "; bytes is what each rank contributes"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .uses = ND_USES_DATATYPE, .is_synchronising = 1, .prepare = prepare, .check = check,        \
    .memory_bytes = memory_bytes

const struct nd_op nd_op_allgather = {
    .name = "allgather",
    .help = "MPI_Allgather" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_iallgather = {
    .name = "iallgather",
    .help = "MPI_Iallgather with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Allgather_init)(s->send, s->count, s->type, s->receive, s->count, s->type, s->comm, MPI_INFO_NULL,
                                              &s->request);
}

const struct nd_op nd_op_allgather_init = {
    .name = "allgather_init",
    .help = "persistent MPI_Allgather: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
