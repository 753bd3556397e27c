/* The operations that can be timed: one row of nd_ops each, and four short functions. What they have in common (data types, buffers, roots,
 * nonblocking and persistent forms) is in ops.c, buffers.c and data.c. */
#ifndef ND_OPS_H
#define ND_OPS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "detector/ops/buffers.h"
#include "detector/sync/clocks.h"
#include "detector/ops/data.h"

/* How operations are run; the same for all of a launch. */
struct nd_op_options {
    const struct nd_datatype *datatype;   /* NULL: the operation's own (byte for moving, double for reducing) */
    const struct nd_reduction *reduction; /* NULL: sum */
    int root;                             /* of rooted operations */
    int rotates_root;                     /* 1: the next operation has the next root */
    struct nd_buffer_options buffer;
    int checks_every;                     /* 1: receive buffers are poisoned before every operation, which is checked after it */
};

struct nd_op;

struct nd_late;

/* What an operation works on; filled in by nd_op_open and the row's `prepare`, released by nd_op_close. */
struct nd_op_state {
    const struct nd_op *op;
    int (*call)(struct nd_op_state *s); /* what is timed: op->call, or starting and waiting */
    const struct nd_op_options *options;
    MPI_Comm comm;
    int rank, n_ranks;
    int64_t bytes;
    int root;         /* of the next call; of the last one until nd_op_advance */
    int count;        /* elements of `type` */
    const struct nd_datatype *datatype;   /* NULL where there are no data */
    const struct nd_reduction *reduction; /* NULL where nothing is reduced */
    MPI_Datatype type;
    MPI_Op reduce;
    struct nd_buffers buffers;   /* all sets; owned */
    void *send, *receive;        /* the current set's; borrowed from `buffers` */
    int *send_counts, *send_displs, *receive_counts, *receive_displs; /* n_ranks each, NULL where not needed; owned */
    MPI_Datatype *types;         /* alltoallw: n_ranks times `type`; owned */
    MPI_Request request;         /* nonblocking: the one under way */
    MPI_Request *persistent;     /* one per set of buffers; owned */
    int n_persistent;
    MPI_Request *requests;       /* loadtest: two for each rank; owned */
    uint32_t counter;            /* loadtest: what the next array begins with */
    int needs_advance;           /* 1: nd_op_advance has something to do between two operations */
    const struct nd_clock *clock; /* what the wait patterns look at; CLOCK_MONOTONIC_RAW unless the caller sets another after opening */
    struct nd_late *late;         /* with nd_late_call: what it waits by; borrowed. NULL otherwise */
};

enum { ND_USES_DATATYPE = 1, ND_USES_REDUCTION = 2, ND_USES_ROOT = 4 };
enum nd_completion { ND_BLOCKING, ND_NONBLOCKING, ND_PERSISTENT };

/* What must not be more than an int holds. */
enum nd_int_limit {
    ND_LIMIT_COUNT,    /* elements of one message */
    ND_LIMIT_ELEMENTS, /* elements of all ranks together: displacements, or the vector that is shared out */
    ND_LIMIT_BYTES     /* bytes of all ranks together: displacements of alltoallw */
};

struct nd_op {
    const char *name;   /* as in MPI, lower case */
    const char *help;
    int has_bytes;      /* 0: --bytes does not apply, and there are no buffers */
    const struct nd_datatype *datatype; /* its own; NULL without data */
    enum nd_int_limit limit;
    int uses;           /* ND_USES_...: options that mean something to it */
    int is_synchronising; /* 1: no rank can leave before all have entered (barrier, allreduce, alltoall, ...) */
    int is_self_test;   /* 1: no MPI in it; its time is known beforehand */
    enum nd_completion completion;
    /* Sizes and fills the buffers for s->bytes (helpers: op_rows.h). Required. 0, or -1 when memory is short. Local. */
    int (*prepare)(struct nd_op_state *s);
    /* One operation. Required for blocking rows; the others get it from `start`. Collective. */
    int (*call)(struct nd_op_state *s);
    /* Nonblocking: starts one. Persistent: makes the request for the current set of buffers. Either leaves it in s->request. Collective. */
    int (*start)(struct nd_op_state *s);
    /* Whether the last call left the right data. Required. 0, or -1 when it did not. Local. */
    int (*check)(const struct nd_op_state *s);
    /* Changes what is sent next, in the current set; the row then always wants nd_op_advance. NULL: nothing. Local. */
    void (*advance)(struct nd_op_state *s);
    /* Memory that one set of buffers takes on the rank that needs most, in bytes. Required. */
    int64_t (*memory_bytes)(int64_t bytes, int n_ranks);
};

extern const struct nd_op *const nd_ops[]; /* ends with NULL; persistent rows only where the library has them */

/* A program that is followed in place of an operation: no entry of nd_ops. */
extern const struct nd_op nd_op_program;

/* The row with that name, NULL when there is none. */
const struct nd_op *nd_op_find(const char *name);

/* The data type and the reduction that an operation works with under these options; NULL where it has none. Local, no MPI. */
const struct nd_datatype *nd_op_datatype(const struct nd_op *op, const struct nd_op_options *o);
const struct nd_reduction *nd_op_reduction(const struct nd_op *op, const struct nd_op_options *o);

/* Why an operation cannot be run so: a size that splits an element, more elements than an int counts, a root that is not there, a reduction
 * its data type does not know, a rotating root for a persistent operation. NULL: it can. The text is in `reason`. Local, no MPI. */
const char *nd_op_problem(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes, int n_ranks, char *reason,
                          size_t reason_size);

/* Memory that nd_op_open takes on this rank, all sets of buffers together, bytes. Local. */
int64_t nd_op_memory_bytes(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes, int n_ranks);

/* Fills `s`, allocates, fills buffers; receive buffers begin poisoned. `options` must outlive it, and nd_op_problem must know nothing
 * against them.
 * 0, or -1 when memory is short or the CPU for the first touch cannot be had. Collective for persistent operations (-1 on all ranks
 * then). */
int nd_op_open(const struct nd_op *op, const struct nd_op_options *options, struct nd_op_state *s, MPI_Comm comm, int64_t bytes);

/* What has to happen between two operations, untimed: next root, next set of buffers, caches emptied, receive buffer poisoned. No
 * allocation, no output. Local. Call it only where s->needs_advance. */
void nd_op_advance(struct nd_op_state *s);

/* Frees what nd_op_open made; fine on a zeroed state. Collective for persistent operations. */
void nd_op_close(struct nd_op_state *s);

#endif
