/* What launchers say of their ranks in the environment, as the real ones print it, and when a rank is alone
 * that should not be. */
#include "detector/nodes/launcher.h"
#include "tests/unit/unit.h"

enum { N_VARIABLES = 6 };

struct environment {
    const char *variables[N_VARIABLES][2];
    struct nd_launcher wanted;
};

static int clear(void **state) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_LOCAL_RANK",
                                        "MPI_LOCALRANKID",
                                        "MV2_COMM_WORLD_RANK",
                                        "MV2_COMM_WORLD_SIZE",
                                        "MV2_COMM_WORLD_LOCAL_RANK",
                                        "PALS_RANKID",
                                        "PALS_LOCAL_RANKID",
                                        "FLUX_TASK_RANK",
                                        "FLUX_JOB_SIZE",
                                        "FLUX_TASK_LOCAL_ID",
                                        "JSM_NAMESPACE_RANK",
                                        "JSM_NAMESPACE_SIZE",
                                        "JSM_NAMESPACE_LOCAL_RANK",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_LOCALID"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

static struct nd_launcher read_from(const char *const variables[N_VARIABLES][2]) {
    struct nd_launcher l;
    clear(NULL);
    for (int i = 0; i < N_VARIABLES && variables[i][0]; i++)
        setenv(variables[i][0], variables[i][1], 1);
    nd_launcher_read(&l);
    return l;
}

TEST(every_launcher_says_how_many_ranks_it_started) {
    static const struct environment environments[] = {
        {{{NULL}}, {.name = "none", .rank = 0, .n_ranks = 1, .local_rank = 0}},
        {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
         {.name = "Open MPI", .rank = 3, .n_ranks = 8, .local_rank = 1}},
        {{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}},
         {.name = "Hydra", .rank = 1, .n_ranks = 2, .local_rank = 1}},
        {{{"PALS_RANKID", "5"},
          {"PALS_LOCAL_RANKID", "1"},
          {"PMI_RANK", "5"},
          {"PMI_SIZE", "6"},
          {"PMI_LOCAL_RANK", "1"}},
         {.name = "PALS", .rank = 5, .n_ranks = 6, .local_rank = 1}},
        /* srun --mpi=none, and srun --mpi=pmi2, which adds PMI's */
        {{{"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", "2"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_LOCALID", "0"}},
         {.name = "Slurm", .rank = 2, .n_ranks = 4, .local_rank = 0}},
        {{{"SLURM_PROCID", "2"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_LOCALID", "0"},
          {"PMI_RANK", "2"},
          {"PMI_SIZE", "4"}},
         {.name = "Slurm", .rank = 2, .n_ranks = 4, .local_rank = 0}},
        {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}},
         {.name = "Slurm", .rank = 2, .n_ranks = 4, .local_rank = -1}},
        {{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}, {.name = "PMI", .rank = 2, .n_ranks = 4, .local_rank = -1}},
        /* a step of one task in a job of four */
        {{{"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", "0"},
          {"SLURM_STEP_NUM_TASKS", "1"},
          {"SLURM_LOCALID", "0"}},
         {.name = "Slurm", .rank = 0, .n_ranks = 1, .local_rank = 0}},
        /* an allocation without a step: salloc's shell */
        {{{"SLURM_NTASKS", "4"}}, {.name = "none", .rank = 0, .n_ranks = 1, .local_rank = 0}},
        /* mpirun inside of a job */
        {{{"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", "0"},
          {"SLURM_LOCALID", "0"},
          {"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
         {.name = "Open MPI", .rank = 1, .n_ranks = 2, .local_rank = 1}},
        /* values that are no numbers, and a rank outside of its world, are nobody's */
        {{{"SLURM_NTASKS", "4(x2)"}, {"SLURM_PROCID", "0"}},
         {.name = "none", .rank = 0, .n_ranks = 1, .local_rank = 0}},
        {{{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}},
         {.name = "none", .rank = 0, .n_ranks = 1, .local_rank = 0}},
    };
    for (size_t i = 0; i < sizeof environments / sizeof *environments; i++) {
        const struct nd_launcher *wanted = &environments[i].wanted,
                                 got = read_from(environments[i].variables);
        assert_string_equal(got.name, wanted->name);
        EQUAL(got.rank, wanted->rank, got.n_ranks, wanted->n_ranks, got.local_rank, wanted->local_rank);
    }
}

TEST(a_rank_is_alone_where_mpi_sees_fewer_than_the_launcher_started) {
    char said[ND_LONE_BYTES];
    static const char *const slurm[N_VARIABLES][2] = {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}};
    static const char *const hydra[N_VARIABLES][2] = {
        {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}};
    struct nd_launcher l = read_from(slurm);
    assert_true(nd_launcher_is_lone(&l, 1, said));
    assert_string_equal(
        said,
        "Slurm started 4 tasks, MPI sees 1: srun --mpi=pmix (of those in srun --mpi=list), or mpirun in the "
        "allocation");
    assert_true(nd_launcher_is_lone(&l, 2, said));
    assert_non_null(strstr(said, "MPI sees 2: "));
    assert_false(nd_launcher_is_lone(&l, 4, said));
    /* a job of several parts, each with a count of its own, is one world */
    assert_false(nd_launcher_is_lone(&l, 8, said));
    l = read_from(hydra);
    assert_true(nd_launcher_is_lone(&l, 1, said));
    assert_non_null(strstr(said, "Hydra started 2 ranks, MPI sees 1: the mpirun that belongs to "));
}

GROUP(clear, clear)
