/* What the process launcher says before MPI_Init: the generator must be started by the node's first rank while it is still safe to fork. */
#pragma once

#define ND_LONE_BYTES 256

struct nd_launcher {
    const char *name; /* "Open MPI", "Slurm", ...; "none" for a process started alone */
    int rank, n_ranks;
    int local_rank; /* -1: the launcher does not say */
};

/* Reads the launcher's environment variables. Local; cannot fail: a process without a launcher is rank 0 of 1. */
void nd_launcher_read(struct nd_launcher *l);

/* Whether MPI sees fewer ranks than the launcher started. A launcher that the library cannot talk to leaves every rank alone, each with a
 * campaign of its own. `n_ranks`: size of MPI_COMM_WORLD. Local.
 * @param said  receives what is wrong and what to do, in a line; unchanged otherwise. */
int nd_launcher_is_lone(const struct nd_launcher *l, int n_ranks, char said[ND_LONE_BYTES]);

/* The same with a message, of rank 0 alone where the launcher says on which node a rank is. Local, after MPI_Init; 0, or -1. */
int nd_launcher_check(const struct nd_launcher *l, int n_ranks);
