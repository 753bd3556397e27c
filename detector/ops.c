#include "ops.h"

#include <stdlib.h>
#include <string.h>

extern const struct nd_op nd_op_empty, nd_op_barrier, nd_op_allreduce, nd_op_alltoall;

const struct nd_op *const nd_ops[] = {&nd_op_empty, &nd_op_barrier, &nd_op_allreduce, &nd_op_alltoall, NULL};

const struct nd_op *nd_op_find(const char *name) {
    for (int i = 0; nd_ops[i]; i++)
        if (strcmp(nd_ops[i]->name, name) == 0) return nd_ops[i];
    return NULL;
}

int nd_op_open(const struct nd_op *op, struct nd_op_state *s, MPI_Comm comm, int64_t bytes) {
    *s = (struct nd_op_state){.comm = comm, .bytes = bytes};
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->n_ranks);
    return op->prepare(s);
}

void nd_op_close(struct nd_op_state *s) {
    free(s->send);
    free(s->receive);
    s->send = s->receive = NULL;
}

int nd_op_buffers(struct nd_op_state *s, int64_t send_bytes, int64_t receive_bytes) {
    size_t n_send = send_bytes > 0 ? (size_t)send_bytes : 1, n_receive = receive_bytes > 0 ? (size_t)receive_bytes : 1;
    /* a page of alignment: results must not depend on where malloc happened to put a buffer */
    if (posix_memalign(&s->send, 4096, n_send)) s->send = NULL;
    if (posix_memalign(&s->receive, 4096, n_receive)) s->receive = NULL;
    if (!s->send || !s->receive) {
        nd_op_close(s);
        return -1;
    }
    memset(s->send, 0, n_send);
    memset(s->receive, 0, n_receive);
    return 0;
}
