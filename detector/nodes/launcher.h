/* What the process launcher says before MPI_Init: the generator must be started by the node's first rank
 * while it is still safe to fork. */
#pragma once

#define ND_LONE_BYTES 256

struct nd_launcher {
    const char *name; /* "Open MPI", "Slurm", ...; "none" for a process started alone */
    int rank, n_ranks;
    int local_rank; /* -1: the launcher does not say */
};

/* A process without a launcher is rank 0 of 1. Local. */
void nd_launcher_read(struct nd_launcher *l);

/* Whether MPI sees fewer ranks than the launcher started: the library cannot talk to it, and every rank is
 * alone. `said`: what to do. */
int nd_launcher_is_lone(const struct nd_launcher *l, int n_ranks, char said[ND_LONE_BYTES]);

/* The same with a message, of rank 0 alone where that is known. After MPI_Init; 0, -1. */
int nd_launcher_check(const struct nd_launcher *l, int n_ranks);
