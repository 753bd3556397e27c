#include "detector/ops/data.h"
#include "tests/unit/unit.h"

enum { MANY_RANKS = 100000 };

static int64_t brute_force(const struct nd_reduction *r, int first, int last, int64_t i) {
    int64_t result = r->value(first, i);
    for (int rank = first + 1; rank <= last; rank++)
        result = r->combine(result, r->value(rank, i));
    return result;
}

TEST(every_data_type_gives_back_what_was_put_at_any_address) {
    char buffer[5 * ND_DATA_MOST_BYTES];
    for (int k = 0; nd_datatypes[k]; k++) {
        const struct nd_datatype *t = nd_datatypes[k];
        assert_true(t->size_bytes >= 1 && t->size_bytes <= ND_DATA_MOST_BYTES);
        for (int shift = 0; shift < ND_DATA_MOST_BYTES; shift++) {
            memset(buffer, 0x77, sizeof buffer);
            t->put(buffer + shift, 1, 162);
            t->put(buffer + shift, 2, 3);
            assert_int_equal(t->get(buffer + shift, 1), 162);
            assert_int_equal(t->get(buffer + shift, 2), 3);
            /* and nothing beside */
            EQUAL(buffer[shift + t->size_bytes - 1], 0x77, buffer[shift + 3 * t->size_bytes], 0x77);
        }
    }
}

TEST(what_is_no_whole_number_equals_none) {
    const double odd_doubles[] = {NAN, INFINITY, -INFINITY, 0.5, 162.25, 0x1p53, -0x1p60};
    const float odd_floats[] = {NAN, INFINITY, -INFINITY, 0.5F, 162.25F, 0x1p53F, -0x1p60F};
    for (int i = 0; i < 7; i++) {
        assert_true(nd_type_double.get(odd_doubles, i) == INT64_MIN);
        assert_true(((const struct nd_datatype *)nl_find(nd_datatypes, "float"))->get(odd_floats, i) ==
                    INT64_MIN);
    }
}

TEST(a_data_type_knows_the_reductions_that_mpi_gives_it) {
    static const struct {
        const char *type, *reductions;
    } known[] = {
        {"byte", " band bor bxor "},
        {"int", " sum prod min max land lor lxor band bor bxor "},
        {"long", " sum prod min max land lor lxor band bor bxor "},
        {"float", " sum prod min max "},
        {"double", " sum prod min max "},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; nd_reductions[k]; k++) {
            char name[16] = " ";
            strcat(strcat(name, nd_reductions[k]->name), " ");
            int is_known = strstr(known[i].reductions, name) != NULL;
            assert_int_equal(strstr(nd_reductions[k]->help, known[i].type) != NULL, is_known);
            assert_int_equal(nd_reduction_knows(nd_reductions[k], nl_find(nd_datatypes, known[i].type)),
                             is_known);
        }
}

TEST(the_expected_result_is_that_of_combining_one_by_one) {
    static const int ends[][2] = {{0, 0},  {0, 1},  {0, 2},  {3, 3},  {7, 40},  {0, 40},  {0, 41},
                                  {5, 45}, {5, 46}, {0, 81}, {0, 82}, {1, 122}, {0, 255}, {40, 1000}};
    for (int k = 0; nd_reductions[k]; k++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            for (int64_t i = 0; i < 2 * ND_DATA_CYCLE; i += 3)
                assert_int_equal(nd_reduction_expected(nd_reductions[k], ends[e][0], ends[e][1], i),
                                 brute_force(nd_reductions[k], ends[e][0], ends[e][1], i));
    for (int k = 0; nd_reductions[k]; k++)
        for (int64_t i = 0; i < 5; i++)
            assert_int_equal(nd_reduction_expected(nd_reductions[k], 0, MANY_RANKS - 1, i),
                             brute_force(nd_reductions[k], 0, MANY_RANKS - 1, i));
}

/* The largest partial results are those of all ranks: when a type holds them, and none on the way is larger,
 * every order is exact. */
TEST(every_type_holds_every_partial_result_of_a_hundred_thousand_ranks) {
    char buffer[ND_DATA_MOST_BYTES];
    for (int k = 0; nd_reductions[k]; k++)
        for (int t = 0; nd_datatypes[t]; t++) {
            if (!nd_reduction_knows(nd_reductions[k], nd_datatypes[t])) continue;
            for (int64_t i = 0; i < ND_DATA_CYCLE; i++)
                for (int last = 0; last < MANY_RANKS; last += 9999) {
                    int64_t expected = nd_reduction_expected(nd_reductions[k], 0, last, i);
                    nd_datatypes[t]->put(buffer, 0, expected);
                    assert_int_equal(nd_datatypes[t]->get(buffer, 0), expected);
                    if (nd_datatypes[t]->is_floating)
                        assert_true(expected > -(1 << 24) && expected < 1 << 24);
                }
        }
}

TEST(a_missing_rank_is_seen_among_as_many_as_values_differ) {
    for (int k = 0; nd_reductions[k]; k++)
        for (int n = 2; n <= ND_DATA_RANK_CYCLE; n++)
            for (int missing = 0; missing < n; missing++) {
                int n_seen = 0;
                for (int64_t i = 0; i < ND_DATA_CYCLE; i++) {
                    int first = missing == 0;
                    int64_t without = nd_reductions[k]->value(first, i);
                    for (int rank = first + 1; rank < n; rank++)
                        if (rank != missing)
                            without = nd_reductions[k]->combine(without, nd_reductions[k]->value(rank, i));
                    n_seen += without != nd_reduction_expected(nd_reductions[k], 0, n - 1, i);
                }
                assert_true(n_seen > 0);
            }
}

/* 1 when the element consists of nothing but the byte that buffers are poisoned with. */
static int is_poison(const struct nd_datatype *t, int64_t value) {
    unsigned char buffer[ND_DATA_MOST_BYTES], poison[ND_DATA_MOST_BYTES];
    memset(poison, ND_DATA_POISON, sizeof poison);
    t->put(buffer, 0, value);
    return memcmp(buffer, poison, (size_t)t->size_bytes) == 0;
}

TEST(a_poisoned_element_is_never_a_right_one) {
    assert_true(is_poison(&nd_type_byte, ND_DATA_POISON));
    for (int t = 0; nd_datatypes[t]; t++) {
        for (int64_t i = 0; i < 2 * ND_DATA_CYCLE; i++)
            assert_false(is_poison(nd_datatypes[t], nd_moved_value(5, 6, i)));
        for (int k = 0; nd_reductions[k]; k++) {
            if (!nd_reduction_knows(nd_reductions[k], nd_datatypes[t])) continue;
            for (int last = 0; last < 3 * ND_DATA_RANK_CYCLE; last++)
                for (int64_t i = 0; i < ND_DATA_CYCLE; i++)
                    assert_false(
                        is_poison(nd_datatypes[t], nd_reduction_expected(nd_reductions[k], 0, last, i)));
        }
    }
}

TEST(what_was_filled_passes_its_check_and_any_changed_byte_does_not) {
    enum { N = 400, AT = 3 };
    unsigned char buffer[(N + 2 * AT) * ND_DATA_MOST_BYTES];
    for (int t = 0; nd_datatypes[t]; t++) {
        const struct nd_datatype *type = nd_datatypes[t];
        nd_moved_fill(type, buffer, AT, N, 2, 9);
        assert_int_equal(nd_moved_check(type, buffer, AT, N, 2, 9), 0);
        for (int i = 0; i < N; i++)
            assert_int_equal(type->get(buffer, AT + i), nd_moved_value(2, 9, i));
        for (int byte = AT * type->size_bytes; byte < (AT + N) * type->size_bytes; byte++) {
            buffer[byte] ^= 0x80;
            assert_int_equal(nd_moved_check(type, buffer, AT, N, 2, 9), -1);
            buffer[byte] ^= 0x80;
        }
        buffer[AT * type->size_bytes - 1] ^= 0xFF; /* beside it, nothing matters */
        buffer[(AT + N) * type->size_bytes] ^= 0xFF;
        assert_int_equal(nd_moved_check(type, buffer, AT, N, 2, 9), 0);
    }
}

TEST(a_reduced_vector_passes_its_check_and_any_changed_byte_does_not) {
    enum { N = 400 };
    unsigned char buffer[N * ND_DATA_MOST_BYTES];
    for (int t = 0; nd_datatypes[t]; t++)
        for (int k = 0; nd_reductions[k]; k++) {
            const struct nd_datatype *type = nd_datatypes[t];
            const struct nd_reduction *r = nd_reductions[k];
            if (!nd_reduction_knows(r, type)) continue;
            for (int i = 0; i < N; i++)
                type->put(buffer, i, brute_force(r, 1, 5, 1000 + i));
            assert_int_equal(nd_reduced_check(type, r, buffer, N, 1, 5, 1000), 0);
            for (int byte = 0; byte < N * type->size_bytes; byte += 3) {
                buffer[byte] ^= 0x80;
                assert_int_equal(nd_reduced_check(type, r, buffer, N, 1, 5, 1000), -1);
                buffer[byte] ^= 0x80;
            }
            nd_reduced_fill(type, r, buffer, N, 4);
            for (int i = 0; i < N; i++)
                assert_int_equal(type->get(buffer, i), r->value(4, i));
        }
}

TEST(data_of_another_rank_or_place_are_wrong) {
    unsigned char buffer[1024];
    nd_moved_fill(&nd_type_byte, buffer, 0, sizeof buffer, 2, 5);
    for (int from = 0; from < 100; from++) /* all others of a cycle, but for the sums that are alike */
        for (int to = 0; to < 100; to++)
            assert_int_equal(nd_moved_check(&nd_type_byte, buffer, 0, 8, from, to) == 0,
                             (from * 31 + to * 17 - 2 * 31 - 5 * 17) % ND_DATA_CYCLE == 0);
    for (int shift = 1; shift < 1000; shift *= 2)
        assert_int_equal(nd_moved_check(&nd_type_byte, buffer, shift, 8, 2, 5), -1);
    for (int rank = 1; rank < 100; rank++) { /* neighbours and the way back */
        assert_int_not_equal(nd_moved_value(rank, 5, 0), nd_moved_value(rank - 1, 5, 0));
        assert_int_not_equal(nd_moved_value(5, rank, 0), nd_moved_value(5, rank - 1, 0));
    }
    assert_int_not_equal(nd_moved_value(2, 5, 0), nd_moved_value(5, 2, 0));
}
