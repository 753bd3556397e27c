/* What the files of the rows (op_*.c) lean on: buffers, counts, and the persistent operations of this MPI library. */
#ifndef ND_OP_ROWS_H
#define ND_OP_ROWS_H

#include "detector/ops/ops.h"

/* Persistent collectives are part of MPI 4. Open MPI had them before: as an extension with names of its own in 4, by their right names in
 * 5. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ND_HAS_PERSISTENT 1
#define ND_PERSISTENT_CALL(name) MPIX_##name
#endif
#elif MPI_VERSION >= 4 || defined(OPEN_MPI)
#define ND_HAS_PERSISTENT 1
#define ND_PERSISTENT_CALL(name) MPI_##name
#endif

#ifndef ND_HAS_PERSISTENT
#define ND_HAS_PERSISTENT 0
#endif

/* Sets of buffers of that size, as s->options want them; s->send and s->receive are the first set's. What `prepare` then writes into
 * s->send is copied to the other sets. 0, or -1 when memory is short. Local. */
int nd_op_buffers(struct nd_op_state *s, int64_t send_bytes, int64_t receive_bytes);

/* Only a root holds what belongs to all ranks: with a rotating one, every rank comes to be it. */
static inline int nd_op_holds_all(const struct nd_op_state *s) { return s->rank == s->root || s->options->rotates_root; }

/* Elements that share number k of an operation with unequal shares has: s->count - 1, s->count, s->count + 1 in turn, at least 1. (None at
 * all would let ranks leave before that one has entered.) */
static inline int nd_op_share(const struct nd_op_state *s, int k) {
    int n = s->count + k % 3 - 1;
    return n < 1 ? 1 : n;
}

/* Allocates n_ranks counts and displacements: counts[q] = nd_op_share(first + q), one after the other without gaps.
 * @return elements of all together, -1 when memory is short. Local. */
int64_t nd_op_shares(struct nd_op_state *s, int **counts, int **displs, int first);

/* Allocates s->types, n_ranks times s->type, and makes elements into bytes in the displacements: what alltoallw wants. 0 or -1. Local. */
int nd_op_types(struct nd_op_state *s);

/* Allocates s->requests, two for each rank. 0 or -1. Local. */
int nd_op_requests(struct nd_op_state *s);

#endif
