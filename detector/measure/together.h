/* How the ranks end a loop together at a number of operations that none of them knew beforehand: because it
 * lasts too long by the clock of one of them, or because one was asked to stop.
 *
 * Where nobody can leave an operation before all have entered it, and the ranks share a node, they share a
 * page: a rank that wants an end writes after operation c that the loop ends with c + 1; all others see it
 * once they have left c + 1, which they cannot before this rank has entered it. Elsewhere they tell each
 * other, at numbers of operations that follow from what was told before, how long the loop has lasted: by a
 * nonblocking sum of maxima that is waited for when the next one is due, so that all decide alike. */
#pragma once

#include <mpi.h>

#include "detector/nodes/team.h"

struct nd_together_page;

struct nd_together {
    struct nd_together_page
        *page;            /* of the node's ranks; NULL: there are several nodes, or it cannot be had */
    MPI_Comm comm;        /* of the messages */
    int64_t n_operations; /* of all loops so far; the same on all ranks */
    int is_alone;         /* one rank */
};

void nd_together_open(struct nd_together *t, const struct nd_team *team);
void nd_together_close(struct nd_together *t); /* collective; fine where comm is MPI_COMM_NULL */

/* One loop on one rank. For measure.c. */
struct nd_ending {
    struct nd_together *together;
    const _Atomic uint64_t *end_at; /* where an end stands; of a page, or one that never comes */
    uint64_t before;                /* operations of the loops before */
    uint64_t n;                     /* of this one, done */
    int64_t n_most;                 /* it may have */
    int64_t begin_ns, most_ns;      /* CLOCK_MONOTONIC; how long it may last */
    int is_over;                    /* 1: by messages, it ends here */
    /* by messages */
    MPI_Request request;
    int64_t mine_ns, longest_ns; /* what this rank tells of how long it lasted; the longest of all. INT64_MAX:
                                    it is to stop */
    int64_t told_at,
        next_at;  /* numbers of operations: when that was, and when the next word is due; INT64_MAX: never */
    int64_t step; /* operations from word to word */
    double planned_ns; /* what an operation was expected to take */
    int is_least;
};

/* `is_meeting`: nobody leaves an operation before all have entered it; `is_least`: it is to last no less than
 * most_ns either. */
void nd_ending_begin(struct nd_ending *e, struct nd_together *t, int is_meeting, int64_t n_most,
                     int64_t most_ns, double planned_ns, int is_least);

static inline int nd_ending_is_here(const struct nd_ending *e) {
    return atomic_load_explicit(e->end_at, memory_order_acquire) - e->before - 1 <
           e->n; /* ends of loops before are far above n */
}

/* This rank wants an end. `now_ns`: INT64_MAX for one that does not come from the clock. */
void nd_ending_ask(struct nd_ending *e, int64_t now_ns);

/* At operation number next_at: what was told last is taken in, and the next word given. Collective, as the
 * end where there are messages. */
void nd_ending_tell(struct nd_ending *e, int64_t now_ns);

void nd_ending_finish(struct nd_ending *e);
