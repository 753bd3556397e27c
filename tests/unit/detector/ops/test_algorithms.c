#include "detector/ops/algorithms.h"
#include "tests/unit/unit.h"

TEST(an_algorithm_that_suits_the_call_is_itself) {
    assert_string_equal(nd_algorithm_in_fact("allreduce", "ring", 4, 4), "ring");
    assert_string_equal(nd_algorithm_in_fact("allreduce", "rabenseifner", 4, 7), "rabenseifner");
    assert_string_equal(nd_algorithm_in_fact("bcast", "scatter_allgather", 16, 16), "scatter_allgather");
    assert_string_equal(nd_algorithm_in_fact("barrier", "two_proc", 0, 2), "two_proc");
    assert_string_equal(nd_algorithm_in_fact("allgather", "recursive_doubling", 1, 8), "recursive_doubling");
    assert_string_equal(nd_algorithm_in_fact("barrier", "default", 0, 3), "default");
}

TEST(fewer_elements_than_ranks_make_another_of_it) {
    assert_string_equal(nd_algorithm_in_fact("allreduce", "ring", 3, 4), "recursive_doubling");
    assert_string_equal(nd_algorithm_in_fact("allreduce", "segmented_ring", 3, 4), "recursive_doubling");
    assert_string_equal(nd_algorithm_in_fact("allreduce", "rabenseifner", 3, 7), "basic_linear");
    assert_string_equal(nd_algorithm_in_fact("reduce", "rabenseifner", 1, 2), "linear");
    assert_string_equal(nd_algorithm_in_fact("bcast", "scatter_allgather_ring", 15, 16), "basic_linear");
}

TEST(a_ring_of_segments_has_none_unless_they_are_set) {
    assert_string_equal(nd_algorithm_in_fact("allreduce", "segmented_ring", 65536, 4), "ring");
}

TEST(so_do_numbers_of_ranks) {
    assert_string_equal(nd_algorithm_in_fact("allgather", "neighbor", 100, 5), "ring");
    assert_string_equal(nd_algorithm_in_fact("allgather", "neighbor", 100, 6), "neighbor");
    assert_string_equal(nd_algorithm_in_fact("allgather", "recursive_doubling", 100, 6), "bruck");
    assert_null(nd_algorithm_in_fact("barrier", "two_proc", 0, 3));
    assert_null(nd_algorithm_in_fact("alltoall", "two_proc", 100, 4));
}

TEST(the_same_name_of_another_operation_is_another_algorithm) {
    assert_string_equal(nd_algorithm_in_fact("reduce_scatter", "ring", 1, 4), "ring");
    assert_string_equal(nd_algorithm_in_fact("barrier", "recursive_doubling", 0, 6), "recursive_doubling");
}
