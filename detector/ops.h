/* The operations that can be timed: one row of nd_ops and one small file each. */
#ifndef ND_OPS_H
#define ND_OPS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* What an operation works on; filled in by `prepare`, released by nd_op_close. */
struct nd_op_state {
    MPI_Comm comm;
    int rank, n_ranks;
    int64_t bytes;
    int count;      /* elements of the operation's data type */
    void *send;     /* owned; NULL where the operation has no data */
    void *receive;  /* owned */
};

struct nd_op {
    const char *name;   /* as in MPI, lower case */
    const char *help;
    int has_bytes;      /* 0: --bytes does not apply */
    int bytes_multiple; /* message sizes must be a multiple of this */
    /* Allocates and fills the buffers for s->bytes. Required. 0, or -1 when memory is short. Local. */
    int (*prepare)(struct nd_op_state *s);
    /* One operation. Required. Collective. */
    int (*call)(struct nd_op_state *s);
    /* Whether the last call left the right data. Required. 0, or -1 when it did not. Local. */
    int (*check)(const struct nd_op_state *s);
    /* Memory that `prepare` takes on each rank, in bytes. Required. */
    int64_t (*memory_bytes)(int64_t bytes, int n_ranks);
};

extern const struct nd_op *const nd_ops[]; /* ends with NULL */

/* The row with that name, NULL when there is none. */
const struct nd_op *nd_op_find(const char *name);

/* Fills `s` and calls the row's `prepare`. 0 or -1. Local. */
int nd_op_open(const struct nd_op *op, struct nd_op_state *s, MPI_Comm comm, int64_t bytes);

/* Frees what nd_op_open made; fine on a zeroed state. */
void nd_op_close(struct nd_op_state *s);

/* Helpers for the rows: buffers of n bytes (at least 1) each, zeroed and touched. 0 or -1. */
int nd_op_buffers(struct nd_op_state *s, int64_t send_bytes, int64_t receive_bytes);

#endif
