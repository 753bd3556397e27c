/* Small parallel programs used as load whose results are known: one row and one file each. Source of the list: Kurgalin, Krivtsov &
 * Parshina. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"

struct nx_kernel {
    const char *name;
    int64_t quick_size, full_size; /* of the whole problem, whatever the number of ranks: strong scaling */
    /* The next number of ranks it can use after `n` (0: the first), at most `most`; 0: there is none. */
    int (*next_ranks)(int n, int most);
    /* Runs once on all ranks of `comm`. Sets the time without preparation and check, ns (this rank's), and whether the result is wrong
     * (this rank's share of it). Collective. 0, or -1 when memory is short on any rank (the same on all). */
    int (*run)(MPI_Comm comm, int64_t size, double *ns, int *is_wrong);
};

/* For the rows: numbers of ranks that double; whether memory is short on any rank. */
int nx_kernel_doubling(int n, int most);
int nx_kernel_lacks(MPI_Comm comm, int lacks);
