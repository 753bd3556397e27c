#include "detector/ops/neighbours.h"

enum { DIMENSIONS = ND_NEIGHBOURS / 2 };

int nd_neighbours_open(struct nd_op_state *s) {
    int sizes[DIMENSIONS] = {0}, is_periodic[DIMENSIONS];
    for (int i = 0; i < DIMENSIONS; i++)
        is_periodic[i] = 1;
    MPI_Dims_create(s->n_ranks, DIMENSIONS, sizes);
    MPI_Cart_create(s->comm, DIMENSIONS, sizes, is_periodic, 0, &s->comm);
    s->peers = calloc(ND_NEIGHBOURS, sizeof *s->peers);
    if (!s->peers) return -1;
    for (int i = 0; i < DIMENSIONS; i++)
        MPI_Cart_shift(s->comm, i, 1, &s->peers[2 * i], &s->peers[2 * i + 1]);
    return 0;
}

void nd_neighbours_close(struct nd_op_state *s) {
    MPI_Comm_free(&s->comm);
    free(s->peers);
}
