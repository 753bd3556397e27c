#include "common/base/nl_words.h"
#include "detector/ops/ops.h"
#include "tests/unit/unit.h"

TEST(edits_are_letters_put_in_left_out_exchanged_or_swapped_but_not_case_dashes_and_the_prefix_of_mpi) {
    static const struct { const char *a, *b; int n; } rows[] = {
        {"barrier", "barrier", 0}, {"barier", "barrier", 1}, {"barrrier", "barrier", 1}, {"barrjer", "barrier", 1},
        {"barreir", "barrier", 1}, {"kitten", "sitting", 3}, {"", "scan", 4},            {"scan", "", 4},
        {"MPI_Allreduce", "allreduce", 0}, {"reduce-scatter", "reduce_scatter", 0}, {"all-reduce", "allreduce", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_int_equal(nl_edit_distance(rows[i].a, rows[i].b), rows[i].n);
}

TEST(words_without_end_are_far) {
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(nl_edit_distance(text, "barrier"), INT_MAX);
    assert_int_equal(nl_edit_distance("barrier", text), INT_MAX);
}

/* The answer among the operations. */
static const char *among_operations(const char *word) {
    static char text[96];
    struct nl_nearest n;
    nl_nearest_begin(&n, word);
    for (int i = 0; nd_ops[i]; i++) nl_nearest_offer(&n, nd_ops[i]->name);
    return nl_nearest_tell(&n, text, sizeof text);
}

TEST(the_operation_that_was_meant_is_found) {
    static const char *const slips[][2] = {
        {"allredcue", "allreduce"}, {"all_reduce", "allreduce"}, {"MPI_Alltoall", "alltoall"},      {"barier", "barrier"},
        {"bcat", "bcast"},          {"allgater", "allgather"},   {"reduce_scat", "reduce_scatter"}, {"Ibarrier", "ibarrier"}};
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        char wanted[96] = ": did you mean ";
        strcat(strcat(wanted, slips[i][1]), "?");
        assert_string_equal(among_operations(slips[i][0]), wanted);
    }
}

TEST(what_is_like_nothing_is_left_without_a_guess) {
    static const char *const words[] = {"foo", "", "x", "zzzzzzzzzzzz"};
    for (int i = 0; i < 4; i++) assert_string_equal(among_operations(words[i]), "");
}
