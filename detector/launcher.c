#include "launcher.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "nl_units.h"

static const struct {
    const char *name, *rank, *n_ranks, *local_rank;
} launchers[] = {
    /* mpirun inside a Slurm job sets both: the MPI library's own come first */
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

static int read_number(const char *variable, int *out) {
    const char *text = getenv(variable);
    int64_t n;
    if (!text || nl_parse_int(text, 0, INT_MAX, &n)) return -1;
    *out = (int)n;
    return 0;
}

void nd_launcher_read(struct nd_launcher *l) {
    for (unsigned i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        struct nd_launcher found = {.name = launchers[i].name};
        if (read_number(launchers[i].rank, &found.rank) || read_number(launchers[i].n_ranks, &found.n_ranks) ||
            read_number(launchers[i].local_rank, &found.local_rank))
            continue;
        *l = found;
        return;
    }
    *l = (struct nd_launcher){.name = "none", .n_ranks = 1};
}
