#include "detector/nodes/launcher.h"

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/nl_error.h"
#include "common/base/nl_units.h"

static const struct {
    const char *name, *rank, *n_ranks, *local_rank;
} launchers[] = {
    /* mpirun inside a Slurm job sets both: the MPI library's own come first */
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    /* of the step: a batch script has SLURM_NTASKS as well, and what it starts without srun is alone */
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
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

int nd_launcher_check(const struct nd_launcher *l, int n_ranks) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    if (l->n_ranks == 1 || n_ranks > 1) return 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    if (l->rank == 0)
        nl_error(
            "%s started %d ranks, but the MPI library of this program sees 1: use the mpirun that belongs to it (%s), or srun with the "
            "--mpi= that it knows",
            l->name, l->n_ranks, version);
    return -1;
}
