/* The operations that can be timed: a row of nd_ops each. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"
#include "detector/ops/buffers.h"
#include "detector/ops/data.h"
#include "detector/sync/clocks.h"

/* How operations are run; the same for all of a launch. */
struct nd_op_options {
    const struct nd_datatype *datatype; /* NULL: the operation's own (byte for moving, double for reducing) */
    const struct nd_reduction *reduction; /* NULL: sum */
    int root;                             /* of rooted operations */
    int rotates_root;                     /* 1: the next operation has the next root */
    struct nd_buffer_options buffer;
    int checks_every; /* 1: receive buffers are poisoned before every operation, which is checked after it */
};

struct nd_op;

struct nd_late;
struct nd_per_call;

/* What an operation works on; filled in by nd_op_open and the row's `open` and `prepare`, released by
 * nd_op_close. */
struct nd_op_state {
    const struct nd_op *op;
    int (*call)(struct nd_op_state *s); /* what is timed: op->call, or starting and waiting */
    const struct nd_op_options *options;
    MPI_Comm comm; /* the caller's, or what the row's `open` made of it */
    int rank, n_ranks;
    int64_t bytes;
    int root;  /* of the next call; of the last one until nd_op_advance */
    int count; /* elements of `type` */
    int n_own; /* elements of this rank's share: `count`, give or take one with unequal shares */
    const struct nd_datatype *datatype;   /* NULL where there are no data */
    const struct nd_reduction *reduction; /* NULL where nothing is reduced */
    MPI_Datatype type;
    MPI_Op reduce;
    struct nd_buffers buffers; /* all sets; owned */
    void *send, *receive;      /* the current set's; borrowed from `buffers` */
    int n_peers;               /* ranks that have a share of this one's buffers */
    int *peers; /* who they are, in the order of the shares; NULL: all ranks; owned by the row's `open` */
    int *counts,
        *displs; /* unequal shares, one after the other: n_peers each; NULL where they are equal; owned */
    MPI_Aint *addresses;     /* neighbor_alltoallw: `displs` in the type that it wants; owned */
    MPI_Datatype *types;     /* alltoallw: n_peers times `type`; owned */
    MPI_Request request;     /* nonblocking: the one under way */
    MPI_Request *persistent; /* one per set of buffers; owned */
    int n_persistent;
    MPI_Request *requests;        /* loadtest: two for each rank; owned */
    uint32_t counter;             /* loadtest: what the next array begins with */
    int needs_advance;            /* 1: nd_op_advance has something to do between two operations */
    const struct nd_clock *clock; /* what the wait patterns look at; CLOCK_MONOTONIC_RAW unless the caller
                                     sets another after opening */
    struct nd_late *late;         /* with nd_late_call: what it waits by; borrowed. NULL otherwise */
    const struct nd_per_call *per_call; /* what holds while it is called; NULL: nothing; borrowed */
};

enum { ND_USES_DATATYPE = 1, ND_USES_REDUCTION = 2, ND_USES_ROOT = 4 };
enum nd_completion { ND_BLOCKING, ND_NONBLOCKING, ND_PERSISTENT };

enum nd_part { ND_OWN, ND_ALL /* a share for each peer; of a rooted operation on the root only */ };
enum nd_shares {
    ND_EQUAL,
    ND_UNEQUAL /* counts and displacements */,
    ND_UNEQUAL_BYTES /* displacements in bytes, a type for each peer */
};
enum nd_receivers {
    ND_TO_EVERY,
    ND_TO_ROOT,
    ND_TO_OTHERS /* all but the root */,
    ND_TO_LATER /* all but rank 0 */
};

struct nd_op {
    const char *name; /* as in MPI, lower case */
    const char *help;
    int has_bytes;                      /* 0: --bytes does not apply, and there are no buffers */
    const struct nd_datatype *datatype; /* its own; NULL without data */
    enum nd_part sends, receives;       /* what the buffers hold */
    enum nd_shares shares;
    int n_peers; /* ranks that each one exchanges shares with, as `open` says who they are; 0: all ranks */
    enum nd_receivers receivers; /* the ranks that are given something */
    int is_prefix;        /* of a reduction. 1: over the ranks up to this one (with ND_TO_LATER: before it) */
    int uses;             /* ND_USES_...: options that mean something to it */
    int is_synchronising; /* 1: no rank can leave before all have entered (barrier, allreduce, alltoall, ...)
                           */
    int is_self_test;     /* 1: no MPI in it; its time is known beforehand */
    enum nd_completion completion;
    /* Before there are buffers: may put a communicator of its own, with the same ranks, into s->comm, and the
     * peers into s->peers; `close` frees both. NULL: nothing. `open`: 0, or -1 when memory is short.
     * Collective; after a failure `close` is called. */
    int (*open)(struct nd_op_state *s);
    void (*close)(struct nd_op_state *s);
    /* Readies the state and writes what is sent first into s->send. NULL: as the fields above say. 0, or -1
     * when memory is short. Local. */
    int (*prepare)(struct nd_op_state *s);
    /* One operation. Required for blocking rows; the others get it from `start`. Collective. */
    int (*call)(struct nd_op_state *s);
    /* Nonblocking: starts one. Persistent: makes the request for the current set of buffers. Either leaves it
     * in s->request. Collective. */
    int (*start)(struct nd_op_state *s);
    /* In place of what nd_op_check compares with. NULL: as the fields above say. Local. */
    int (*check)(const struct nd_op_state *s);
    /* Changes what is sent next, in the current set; the row then always wants nd_op_advance. NULL: nothing.
     * Local. */
    void (*advance)(struct nd_op_state *s);
};

extern const struct nd_op
    *const nd_ops[]; /* ends with NULL; persistent rows only where the library has them */

/* A program that is followed in place of an operation: no entry of nd_ops. */
extern const struct nd_op nd_op_program;

/* What an operation works with under these options; NULL where it has none. Local, no MPI. */
const struct nd_datatype *nd_op_datatype(const struct nd_op *op, const struct nd_op_options *o);
const struct nd_reduction *nd_op_reduction(const struct nd_op *op, const struct nd_op_options *o);

/* Why an operation cannot be run so, in `reason`; NULL: it can. Local, no MPI. */
const char *nd_op_problem(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes, int n_ranks,
                          char *reason, size_t reason_size);

/* Memory that one set of buffers takes on the rank that needs most; and all that nd_op_open takes, bytes.
 * Local. */
int64_t nd_op_set_bytes(const struct nd_op *op, int64_t bytes, int n_ranks);

int64_t nd_op_memory_bytes(const struct nd_op *op, const struct nd_op_options *o, int64_t bytes, int n_ranks);

/* Receive buffers begin poisoned. `options` must outlive it. 0, or -1 when memory is short. Collective for
 * persistent operations, and for rows with `open`. */
int nd_op_open(const struct nd_op *op, const struct nd_op_options *options, struct nd_op_state *s,
               MPI_Comm comm, int64_t bytes);

int nd_op_receives(const struct nd_op_state *s);

/* Whether the last call left the right data: 0, -1. Local. */
int nd_op_check(const struct nd_op_state *s);

/* Between two operations, untimed: next root, next set, caches emptied, receive buffer poisoned. Only where
 * s->needs_advance. */
void nd_op_advance(struct nd_op_state *s);

/* Frees what nd_op_open made; fine on a zeroed state. Collective for persistent operations, and for rows with
 * `close`. */
void nd_op_close(struct nd_op_state *s);

/* Persistent collectives are part of MPI 4. Open MPI had them before: in 4 as an extension with names of its
 * own. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ND_HAS_PERSISTENT        1
#define ND_PERSISTENT_CALL(name) MPIX_##name
#endif
#elif MPI_VERSION >= 4 || defined(OPEN_MPI)
#define ND_HAS_PERSISTENT        1
#define ND_PERSISTENT_CALL(name) MPI_##name
#endif

#ifndef ND_HAS_PERSISTENT
#define ND_HAS_PERSISTENT 0
#endif

/* Allocates s->requests, two for each rank. 0 or -1. Local. */
int nd_op_requests(struct nd_op_state *s);
