/* The completeness coefficient: whether exchanges that run at once disturb each other. */
#ifndef NX_COMPLETENESS_H
#define NX_COMPLETENESS_H

#include <mpi.h>

#include "common/base/nl_usual.h"

struct nx_completeness {
    double link_bytes_per_s; /* S: one way, mean over disjoint pairs, one pair at a time */
    double exchange_ns;      /* T_e: everybody with everybody at once, the slowest rank's, mean over repeats */
    double own_ns;           /* the same of this rank */
    double coefficient;      /* F_e = X (N - 1) / S / T_e; 1: they do not */
    int64_t n;               /* exchanges timed */
};

/* Measures it among the ranks of `comm`, at least two; all figures on all of them. No allocation. Collective.
 * @param send,receive  (ranks - 1) * bytes each. @param peers  ranks - 1. @param requests  2 * (ranks - 1).
 * @param slice_ns  about how long it takes.
 * Source: Kurgalin, Krivtsov & Parshina. */
void nx_completeness_measure(MPI_Comm comm, const char *send, char *receive, int *peers, MPI_Request *requests, int bytes, int64_t slice_ns,
                             struct nx_completeness *c);

#endif
