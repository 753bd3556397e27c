#include "detector/ops/op_rows.h"

/* MPI_Bcast has one buffer. Here the root sends another than it receives into when others are root, so that every root has data of its
 * own. */
static void *buffer(const struct nd_op_state *s) { return s->rank == s->root ? s->send : s->receive; }

static int prepare(struct nd_op_state *s) {
    if (nd_op_buffers(s, s->bytes, s->bytes)) return -1;
    nd_moved_fill(s->datatype, s->send, 0, s->count, s->rank, 0);
    return 0;
}

static int call(struct nd_op_state *s) { return MPI_Bcast(buffer(s), s->count, s->type, s->root, s->comm); }

static int start(struct nd_op_state *s) { return MPI_Ibcast(buffer(s), s->count, s->type, s->root, s->comm, &s->request); }

static int check(const struct nd_op_state *s) {
    return s->rank == s->root ? 0 : nd_moved_check(s->datatype, s->receive, 0, s->count, s->root, 0);
}

static int64_t memory_bytes(int64_t bytes, int n_ranks) {
    (void)n_ranks;
    return 2 * bytes;
}

#define MEANING "; bytes is the message's size"
#define FAMILY                                                                                                                             \
    .has_bytes = 1, .datatype = &nd_type_byte, .uses = ND_USES_DATATYPE | ND_USES_ROOT, .prepare = prepare, .check = check,                \
    .memory_bytes = memory_bytes

const struct nd_op nd_op_bcast = {
    .name = "bcast",
    .help = "MPI_Bcast" MEANING,
    FAMILY,
    .call = call,
};

const struct nd_op nd_op_ibcast = {
    .name = "ibcast",
    .help = "MPI_Ibcast with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_NONBLOCKING,
    .start = start,
};

#if ND_HAS_PERSISTENT
static int make(struct nd_op_state *s) {
    return ND_PERSISTENT_CALL(Bcast_init)(buffer(s), s->count, s->type, s->root, s->comm, MPI_INFO_NULL, &s->request);
}

const struct nd_op nd_op_bcast_init = {
    .name = "bcast_init",
    .help = "persistent MPI_Bcast: MPI_Start with MPI_Wait" MEANING,
    FAMILY,
    .completion = ND_PERSISTENT,
    .start = make,
};
#endif
