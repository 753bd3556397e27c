#include "detector/ops/ops.h"

/* The load test of Kurgalin, Krivtsov & Parshina (Voronezh State University): every rank posts receives of an
 * integer array from every rank, sends every rank an array filled with a counter shifted by its own rank, and
 * each array is checked against its sender's shift. The counter goes on from call to call, so that data of an
 * earlier call are wrong ones. */

/* Element i of what a rank sends; never negative, as the bytes of poisoned buffers are. */
static int shifted(uint32_t counter, int rank, int i) {
    return (int)((counter + (uint32_t)rank + (uint32_t)i) & INT32_MAX);
}

static void fill(struct nd_op_state *s) {
    for (int i = 0; i < s->count; i++)
        s->datatype->put(s->send, i, shifted(s->counter, s->rank, i));
}

static int prepare(struct nd_op_state *s) {
    if (nd_op_requests(s)) return -1;
    fill(s);
    return 0;
}

static int call(struct nd_op_state *s) {
    char *receive = s->receive;
    for (int from = 0; from < s->n_ranks; from++)
        MPI_Irecv(receive + from * s->bytes, s->count, s->type, from, 0, s->comm, &s->requests[from]);
    for (int k = 0; k < s->n_ranks; k++) {
        int to = (s->rank + k) % s->n_ranks; /* not all to the same rank first */
        MPI_Isend(s->send, s->count, s->type, to, 0, s->comm, &s->requests[s->n_ranks + k]);
    }
    return MPI_Waitall(2 * s->n_ranks, s->requests, MPI_STATUSES_IGNORE);
}

static int check(const struct nd_op_state *s) {
    for (int from = 0; from < s->n_ranks; from++)
        for (int i = 0; i < s->count; i++)
            if (s->datatype->get(s->receive, (int64_t)from * s->count + i) != shifted(s->counter, from, i))
                return -1;
    return 0;
}

static void advance(struct nd_op_state *s) {
    s->counter += (uint32_t)s->count;
    fill(s);
}

const struct nd_op nd_op_loadtest = {
    .name = "loadtest",
    .help = "point-to-point messages from every rank to every rank, a running counter in each; bytes is the "
            "size of a message, of whole ints",
    .has_bytes = 1,
    .datatype = &nd_type_int,
    .receives = ND_ALL,
    .is_synchronising = 1,
    .prepare = prepare,
    .call = call,
    .check = check,
    .advance = advance,
};
