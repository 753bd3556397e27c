/* Small parallel programs used as load whose results are known: one row and one file each. Source of the
 * list: Kurgalin, Krivtsov & Parshina. */
#pragma once

#include <mpi.h>

#include "common/base/nl_usual.h"

struct nx_kernel_run {
    MPI_Comm comm;
    int rank, n_ranks;
    int64_t size;
    void *memory; /* zeros */
    double ns;    /* this rank's, without preparation and check */
    int is_wrong; /* this rank's share of the result */
};

struct nx_kernel {
    const char *name;
    int64_t quick_size, full_size; /* of the whole problem, whatever the number of ranks: strong scaling */
    /* The next number of ranks it can use after `n` (0: the first), at most `most`; 0: there is none. */
    int (*next_ranks)(int n, int most);
    /* What each rank needs. NULL: nothing. */
    int64_t (*bytes)(int64_t size, int n_ranks);
    /* Runs once on all ranks of `comm`. Sets time and result. Collective. */
    void (*run)(struct nx_kernel_run *k);
};

/* For the rows: numbers of ranks that double. */
int nx_kernel_doubling(int n, int most);
