/* Messages between ranks, timed. Nothing here allocates or prints. Times are ns of CLOCK_MONOTONIC_RAW. */
#pragma once

#include <mpi.h>

#include "detector/ops/ops.h"

struct nx_link {
    MPI_Comm comm;
    int peer;
    int is_first; /* 1: sends first, and what it times counts */
    void *send, *receive;
    int bytes;
};

/* Both ends wait for each other. Local to the pair. */
void nx_meet(const struct nx_link *l);

/* One way: n round trips by blocking MPI_Send and MPI_Recv. Returns their time on this rank. Published rate:
 * 2 n bytes / time. Source: Kurgalin, Krivtsov & Parshina (one-way test). Collective over the pair. */
int64_t nx_one_way(const struct nx_link *l, int64_t n);

/* Two way: n times MPI_Irecv and MPI_Isend on both ends, which meet first, then both are waited for.
 * Published rate: 2 n bytes / time. */
int64_t nx_two_way(const struct nx_link *l, int64_t n);

/* What exchanges with several peers need; owned. */
struct nx_buffers {
    char *send, *receive;
    int *peers;
    MPI_Request *requests; /* two for each peer */
};

/* Receives from and sends to n_peers at once and waits for all: `bytes` each, the k-th peer's at k * bytes of
 * both buffers. */
void nx_exchange(MPI_Comm comm, const struct nx_buffers *b, int n_peers, int bytes);

/* How many more repeats to make before the time is looked at again, when n_done of them took took_ns of
 * slice_ns: none when less than half of one more fits; what makes up `least`; else what fits, but not more
 * than were made, because their mean is all that is known. Pure. */
int64_t nx_fit(int64_t n_done, int64_t least, int64_t took_ns, int64_t slice_ns);

/* nx_fit by rank 0's clock, for repeats that began at its CLOCK_MONOTONIC_RAW begin_ns. Collective. */
int64_t nx_how_many_more(MPI_Comm comm, int64_t n_done, int64_t least, int64_t begin_ns, int64_t slice_ns);

/* The largest of all ranks. Collective. */
double nx_largest(MPI_Comm comm, double value);

/* Waits for the other ranks without keeping a CPU busy: looks every so often and sleeps in between.
 * Collective. */
void nx_quiet_barrier(MPI_Comm comm);

/* Arrays whose every word is known: a counter, shifted by who sends it to whom. Pure. */

/* A word that is not what it should be. */
struct nx_wrong_word {
    int64_t offset_bytes; /* of the first byte that differs */
    uint32_t expected, found;
};

/* First word of what `sender` sends to `receiver` when the counter stands there; word i is that plus i. The
 * shifts are odd constants apart, so that an array that went astray, or one of an earlier exchange, is not
 * taken for another one. Source: Kurgalin, Krivtsov & Parshina (load test). */
static inline uint32_t nx_words_first(uint32_t counter, int sender, int receiver) {
    return counter * UINT32_C(0x01000193) + (uint32_t)sender * UINT32_C(0x9e3779b1) +
           (uint32_t)receiver * UINT32_C(0x85ebca77);
}

/* Fills `bytes` bytes, a multiple of 4. */
void nx_words_fill(void *array, int bytes, uint32_t first);

/* The next wrong word from byte `from` (a multiple of 4) on. @return where to go on from, -1: no more is
 * wrong. */
int64_t nx_words_check(const void *array, int bytes, int64_t from, uint32_t first,
                       struct nx_wrong_word *wrong);

/* The completeness coefficient: whether exchanges that run at once disturb each other. */

struct nx_completeness {
    double link_bytes_per_s; /* S: one way, mean over disjoint pairs, one pair at a time */
    double exchange_ns; /* T_e: everybody with everybody at once, the slowest rank's, mean over repeats */
    double own_ns;      /* the same of this rank */
    double coefficient; /* F_e = X (N - 1) / S / T_e; 1: they do not */
    int64_t n;          /* exchanges timed */
};

/* Measures it among the ranks of `comm`, at least two, in about slice_ns; all figures on all of them. `b` has
 * room for all but one of them. No allocation. Collective. Source: Kurgalin, Krivtsov & Parshina. */
void nx_completeness_measure(MPI_Comm comm, const struct nx_buffers *b, int bytes, int64_t slice_ns,
                             struct nx_completeness *c);

/* Operations between pairs of ranks, as rows of the detector's kind, so that they are timed like its own.
 * Rank r has to do with rank r ^ 1; the last one of an odd number has nobody, and does nothing. */

extern const struct nd_op nx_op_wtime, nx_op_send_nonblocking, nx_op_send_blocking, nx_op_sendrecv,
    nx_op_send_and_recv;
