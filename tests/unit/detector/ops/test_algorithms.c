#include "detector/ops/algorithms.h"
#include "tests/unit/unit.h"

TEST(an_algorithm_is_itself_unless_elements_or_ranks_do_not_suit_it) {
    static const struct {
        const char *operation, *algorithm;
        int64_t count;
        int n_ranks;
        const char *in_fact;
    } rows[] = {
        {"allreduce", "ring", 4, 4, "ring"},
        {"allreduce", "rabenseifner", 4, 7, "rabenseifner"},
        {"bcast", "scatter_allgather", 16, 16, "scatter_allgather"},
        {"barrier", "two_proc", 0, 2, "two_proc"},
        {"allgather", "recursive_doubling", 1, 8, "recursive_doubling"},
        {"barrier", "default", 0, 3, "default"},
        /* fewer elements than ranks */
        {"allreduce", "ring", 3, 4, "recursive_doubling"},
        {"allreduce", "segmented_ring", 3, 4, "recursive_doubling"},
        {"allreduce", "rabenseifner", 3, 7, "basic_linear"},
        {"reduce", "rabenseifner", 1, 2, "linear"},
        {"bcast", "scatter_allgather_ring", 15, 16, "basic_linear"},
        {"allreduce", "segmented_ring", 65536, 4, "ring"}, /* segments there are none unless they are set */
        /* numbers of ranks */
        {"allgather", "neighbor", 100, 5, "ring"},
        {"allgather", "neighbor", 100, 6, "neighbor"},
        {"allgather", "recursive_doubling", 100, 6, "bruck"},
        {"barrier", "two_proc", 0, 3, NULL},
        {"alltoall", "two_proc", 100, 4, NULL},
        /* the same name of another operation */
        {"reduce_scatter", "ring", 1, 4, "ring"},
        {"barrier", "recursive_doubling", 0, 6, "recursive_doubling"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got =
            nd_algorithm_in_fact(rows[i].operation, rows[i].algorithm, rows[i].count, rows[i].n_ranks);
        if (!got != !rows[i].in_fact || (got && strcmp(got, rows[i].in_fact) != 0))
            fail_msg("row %zu: %s", i, got ? got : "none");
    }
}
