/* What the process launcher says before MPI_Init: the generator must be started by the node's first rank while it is still safe to fork. */
#ifndef ND_LAUNCHER_H
#define ND_LAUNCHER_H

struct nd_launcher {
    const char *name; /* "Open MPI", "Slurm", ...; "none" for a process started alone */
    int rank, n_ranks, local_rank;
};

/* Reads the launcher's environment variables. Local; cannot fail: a process without a launcher is rank 0 of 1. */
void nd_launcher_read(struct nd_launcher *l);

/* Whether the MPI library knows of the ranks that the launcher started. A launcher that the library cannot talk to leaves every rank alone,
 * each with a campaign of its own. `n_ranks`: size of MPI_COMM_WORLD. Local, after MPI_Init; 0, or -1 after a message, which rank 0 alone
 * writes. */
int nd_launcher_check(const struct nd_launcher *l, int n_ranks);

#endif
