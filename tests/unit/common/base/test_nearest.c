/* Slips of the pen in names, and the name that was meant. */
#include "common/base/nl_nearest.h"
#include "tests/unit/unit.h"

TEST(edits_are_letters_put_in_left_out_exchanged_or_swapped_but_not_case_dashes_and_the_prefix_of_mpi) {
    static const struct {
        const char *a, *b;
        int n;
    } rows[] = {{"barrier", "barrier", 0},
                {"barier", "barrier", 1},
                {"barrrier", "barrier", 1},
                {"barrjer", "barrier", 1},
                {"barreir", "barrier", 1},
                {"kitten", "sitting", 3},
                {"", "scan", 4},
                {"scan", "", 4},
                {"MPI_Allreduce", "allreduce", 0},
                {"reduce-scatter", "reduce_scatter", 0},
                {"all-reduce", "allreduce", 1},
                {"what is longer than any name in any table of this program, and so is no slip of any",
                 "barrier", INT_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(nl_edit_distance(rows[i].a, rows[i].b), rows[i].n);
}

/* The answer among names of operations, which are as like each other as names of a table are. */
static const char *among_operations(const char *word) {
    static const char *const names[] = {
        "empty",    "barrier",   "bcast",     "reduce",         "allreduce", "gather",  "scatter",
        "allgather", "alltoall", "alltoallv", "reduce_scatter", "scan",      "exscan",  "ibarrier",
        "ibcast",   "ireduce",   "iallreduce", "barrier_init",  "bcast_init", "pingpong"};
    static char text[96];
    struct nl_nearest n;
    nl_nearest_begin(&n, word);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nl_nearest_offer(&n, names[i]);
    return nl_nearest_tell(&n, text, sizeof text);
}

TEST(the_operation_that_was_meant_is_found_and_what_is_like_none_is_left_without_a_guess) {
    static const char *const slips[][2] = {{"allredcue", "allreduce"},
                                           {"all_reduce", "allreduce"},
                                           {"MPI_Alltoall", "alltoall"},
                                           {"barier", "barrier"},
                                           {"bcat", "bcast"},
                                           {"reduce_scat", "reduce_scatter"},
                                           {"Ibarrier", "ibarrier"},
                                           {"foo", NULL},
                                           {"", NULL},
                                           {"x", NULL},
                                           {"zzzzzzzzzzzz", NULL}};
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        char wanted[96] = "";
        if (slips[i][1]) snprintf(wanted, sizeof wanted, ": did you mean %s?", slips[i][1]);
        assert_string_equal(among_operations(slips[i][0]), wanted);
    }
}
