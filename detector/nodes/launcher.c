#include "detector/nodes/launcher.h"

#include <mpi.h>

#include "common/base/nl_units.h"

static const struct {
    const char *name, *rank, *n_ranks, *local_rank;
} launchers[] = {
    /* mpirun inside a Slurm job sets both: the MPI library's own come first */
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK"},
    {"Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    /* a batch script has the job's number of tasks and is its task 0: what it starts by itself is one of
       them, and alone */
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};
enum { N_LAUNCHERS = sizeof launchers / sizeof *launchers };

static int read_number(const char *variable, int *out) {
    const char *text = getenv(variable);
    int64_t n;
    if (!text || nl_parse_int(text, 0, INT_MAX, &n)) return -1;
    *out = (int)n;
    return 0;
}

void nd_launcher_read(struct nd_launcher *l) {
    /* one that says all it should is believed before one that does not: srun --mpi=pmi2 sets half of PMI's */
    for (int needs_local = 1; needs_local >= 0; needs_local--)
        for (int i = 0; i < N_LAUNCHERS; i++) {
            struct nd_launcher found = {.name = launchers[i].name, .local_rank = -1};
            if (read_number(launchers[i].rank, &found.rank) ||
                read_number(launchers[i].n_ranks, &found.n_ranks) || found.rank >= found.n_ranks ||
                (read_number(launchers[i].local_rank, &found.local_rank) && needs_local))
                continue;
            *l = found;
            return;
        }
    *l = (struct nd_launcher){.name = "none", .n_ranks = 1};
}

int nd_launcher_is_lone(const struct nd_launcher *l, int n_ranks, char said[ND_LONE_BYTES]) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    if (n_ranks >= l->n_ranks) return 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    if (!strcmp(l->name, "Slurm"))
        snprintf(said, ND_LONE_BYTES,
                 "Slurm started %d tasks, MPI sees %d: srun --mpi=pmix (of those in srun --mpi=list), or "
                 "mpirun in the allocation",
                 l->n_ranks, n_ranks);
    else
        snprintf(said, ND_LONE_BYTES,
                 "%s started %d ranks, MPI sees %d: the mpirun that belongs to %.80s, or srun with a --mpi= "
                 "that it knows",
                 l->name, l->n_ranks, n_ranks, version);
    return 1;
}

int nd_launcher_check(const struct nd_launcher *l, int n_ranks) {
    char said[ND_LONE_BYTES];
    if (!nd_launcher_is_lone(l, n_ranks, said)) return 0;
    if (l->rank == 0 || l->local_rank < 0) nl_error("%s", said);
    return -1;
}
