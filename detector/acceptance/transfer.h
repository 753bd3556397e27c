/* Messages between ranks, timed. Nothing here allocates or prints. Times are ns of CLOCK_MONOTONIC_RAW. */
#ifndef NX_TRANSFER_H
#define NX_TRANSFER_H

#include <mpi.h>

#include "common/base/nl_usual.h"

/* One end of a pair. */
struct nx_link {
    MPI_Comm comm;
    int peer;
    int is_first; /* 1: sends first, and what it times counts */
    void *send, *receive;
    int bytes;
};

/* Both ends wait for each other. Local to the pair. */
void nx_meet(const struct nx_link *l);

/* One way: n round trips by blocking MPI_Send and MPI_Recv. Returns their time on this rank. Published rate: 2 n bytes / time.
 * Source: Kurgalin, Krivtsov & Parshina (one-way test). Collective over the pair. */
int64_t nx_one_way(const struct nx_link *l, int64_t n);

/* Two way: n times MPI_Irecv and MPI_Isend on both ends, which meet first, then both are waited for. Published rate: 2 n bytes / time. */
int64_t nx_two_way(const struct nx_link *l, int64_t n);

/* Receives from and sends to every one of n_peers at once and waits for all: `bytes` each, the k-th peer's at k * bytes of both buffers.
 * @param requests  2 * n_peers of them. */
void nx_exchange(MPI_Comm comm, const int *peers, int n_peers, const char *send, char *receive, int bytes, MPI_Request *requests);

/* How many more repeats to make before the time is looked at again, when n_done of them took took_ns of slice_ns: none when less than half
 * of one more fits; what makes up `least`; else what fits, but not more than were made, because their mean is all that is known. Pure. */
int64_t nx_fit(int64_t n_done, int64_t least, int64_t took_ns, int64_t slice_ns);

/* nx_fit by rank 0's clock, for repeats that began at its CLOCK_MONOTONIC_RAW begin_ns. Collective. */
int64_t nx_how_many_more(MPI_Comm comm, int64_t n_done, int64_t least, int64_t begin_ns, int64_t slice_ns);

/* Whether rank 0's CLOCK_MONOTONIC_RAW stands before `until_ns`: for loops that a busy machine makes longer than they were planned.
 * Collective. */
int nx_has_time(MPI_Comm comm, int64_t until_ns);

/* Waits for the other ranks without keeping a CPU busy: looks every so often and sleeps in between. Collective. */
void nx_quiet_barrier(MPI_Comm comm);

#endif
