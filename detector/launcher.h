/* What the process launcher says before MPI_Init: the generator must be started by the node's first rank while it is still safe to fork. */
#ifndef ND_LAUNCHER_H
#define ND_LAUNCHER_H

struct nd_launcher {
    const char *name; /* "Open MPI", "Slurm", ...; "none" for a process started alone */
    int rank, n_ranks, local_rank;
};

/* Reads the launcher's environment variables. Local; cannot fail: a process without a launcher is rank 0 of 1. */
void nd_launcher_read(struct nd_launcher *l);

#endif
