#include "detector/measure/starts.h"
#include "tests/unit/files.h"
#include "detector/measure/arrival.h"

static double delays[ND_ARRIVAL_CYCLE];
static char reason[512];

static int fill(const char *name, int rank, int n_ranks, uint64_t seed, const char *trace) {
    const struct nd_arrival *a = nl_find(nd_arrivals, name);
    assert_non_null(a);
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++)
        delays[i] = -1; /* what is not filled in is seen */
    reason[0] = '\0';
    struct nd_arrival_request request = {.rank = rank, .n_ranks = n_ranks, .seed = seed, .trace = trace};
    return nd_arrival_fill(a, &request, delays, reason, sizeof reason);
}

static void assert_all_are(double share) {
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++)
        assert_true(delays[i] == share);
}

/* Checks a pattern whose ranks have the same share at every start. */
static void assert_shares(const char *name, int n_ranks, const double *shares) {
    for (int rank = 0; rank < n_ranks; rank++) {
        assert_int_equal(fill(name, rank, n_ranks, 1, NULL), 0);
        assert_all_are(shares[rank]);
    }
}

TEST(the_fixed_patterns_have_the_shares_computed_by_hand) {
    assert_shares("none", 3, (const double[]){0, 0, 0});
    assert_shares("late-one", 4, (const double[]){0, 0, 0, 1});
    assert_shares("late-half", 2, (const double[]){0, 1});
    assert_shares("late-half", 4, (const double[]){0, 0, 1, 1});
    assert_shares("late-half", 5, (const double[]){0, 0, 0, 1, 1});
    assert_shares("late-half", 1, (const double[]){0});
    assert_shares("ramp", 1, (const double[]){0});
    assert_shares("ramp", 2, (const double[]){0, 1});
    assert_shares("ramp", 5, (const double[]){0, 0.25, 0.5, 0.75, 1});
}

TEST(of_late_any_one_rank_is_late_at_each_start_and_each_about_as_often) {
    double late[3][ND_ARRIVAL_CYCLE];
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(fill("late-any", rank, 3, 7, NULL), 0);
        memcpy(late[rank], delays, sizeof delays);
    }
    int n[3] = {0};
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++) {
        assert_true(late[0][i] + late[1][i] + late[2][i] == 1);
        for (int rank = 0; rank < 3; rank++)
            n[rank] += late[rank][i] == 1;
    }
    /* a third of 1024 with standard deviation 15 */
    for (int rank = 0; rank < 3; rank++)
        assert_in_range(n[rank], 266, 416);
    assert_int_equal(fill("late-any", 0, 3, 8, NULL), 0);
    assert_memory_not_equal(late[0], delays, sizeof delays);
}

/* The mean of 64 x 1024 uniform numbers is 0.5 +- 0.0011; five of them either way. The variance is 1/12 +-
 * 0.0003. */
TEST(random_shares_are_uniform) {
    double sum = 0, sum_squares = 0;
    const int n_ranks = 64, n = n_ranks * ND_ARRIVAL_CYCLE;
    for (int rank = 0; rank < n_ranks; rank++) {
        assert_int_equal(fill("random", rank, n_ranks, 20, NULL), 0);
        for (int i = 0; i < ND_ARRIVAL_CYCLE; i++) {
            assert_true(delays[i] >= 0 && delays[i] < 1);
            sum += delays[i];
            sum_squares += (delays[i] - 0.5) * (delays[i] - 0.5);
        }
    }
    assert_true(sum / n > 0.5 - 0.0056 && sum / n < 0.5 + 0.0056);
    assert_true(sum_squares / n > 1. / 12 - 0.0015 && sum_squares / n < 1. / 12 + 0.0015);
}

/* Correlation of two independent series of 1024: 0 +- 0.031; five of them either way. */
TEST(random_shares_follow_from_seed_and_rank_alone) {
    static double first[ND_ARRIVAL_CYCLE];
    fill("random", 3, 8, 20, NULL);
    memcpy(first, delays, sizeof first);
    fill("random", 3, 64, 20, NULL);
    assert_memory_equal(first, delays, sizeof first);
    static const struct {
        int rank;
        uint64_t seed;
    } others[] = {{4, 20}, {0, 20}, {3, 21}};
    for (int k = 0; k < 3; k++) {
        double product = 0;
        fill("random", others[k].rank, 8, others[k].seed, NULL);
        for (int i = 0; i < ND_ARRIVAL_CYCLE; i++)
            product += (first[i] - 0.5) * (delays[i] - 0.5) * 12 / ND_ARRIVAL_CYCLE;
        assert_true(product > -0.156 && product < 0.156);
    }
}

static char path[PATH_MAX];

FIXTURE(make_file) {
    snprintf(path, sizeof path, "%s/trace", make_folder(state) ? "" : folder);
    return !folder[0];
}

TEST_WITH(every_rank_goes_round_its_delays, make_file, remove_tree) {
    put("trace", "# recorded by hand\n\n  1\t500 0 60000000000 # three of them\n#2 9\n0 7");
    assert_int_equal(fill("trace", 1, 4, 1, path), 0);
    for (int i = 0; i < ND_ARRIVAL_CYCLE; i++)
        assert_true(delays[i] == ((const double[]){500, 0, 60e9})[i % 3]);
    assert_int_equal(fill("trace", 0, 4, 1, path), 0);
    assert_all_are(7);
    for (int rank = 2; rank < 4; rank++) {
        assert_int_equal(fill("trace", rank, 4, 1, path), 0);
        assert_all_are(0);
    }
    /* lines may end as on Windows */
    put("trace", "0 1 2\r\n1 3\r\n");
    assert_int_equal(fill("trace", 0, 2, 1, path), 0);
    assert_true(delays[0] == 1 && delays[1] == 2 && delays[2] == 1);
}

TEST_WITH(a_rank_has_up_to_a_full_cycle_of_delays, make_file, remove_tree) {
    for (int more = 0; more < 2; more++) {
        char text[8 * ND_ARRIVAL_CYCLE] = "0", *at = text + 1;
        for (int i = 0; i < ND_ARRIVAL_CYCLE + more; i++)
            at += sprintf(at, " %d", i);
        put("trace", text);
        for (int rank = 0; rank < 2; rank++)
            assert_int_equal(fill("trace", rank, 2, 1, path), -more);
    }
    assert_non_null(strstr(reason, ":1: rank 0 has more than 1024 delays"));
}

TEST_WITH(what_is_wrong_in_a_trace_is_said_with_file_and_line_on_every_rank, make_file, remove_tree) {
    static const struct {
        const char *text, *where, *what;
    } wrong[] = {
        {"0 5\n1 5us\n", ":2: ", "'5us' is not a delay"},
        {"# one\n\n0 5 -7\n", ":3: ", "'-7' is not a delay"},
        {"0 60000000001\n", ":1: ", "'60000000001' is not a delay in whole ns from 0 to 60000000000"},
        {"0 00000000000000000000000000000000000000000001\n",
         ":1: ", "'0000000000000000000000000000...' is not a delay"},
        {"one 5\n", ":1: ", "'one' is not the number of a rank"},
        {"-1 5\n", ":1: ", "'-1' is not the number of a rank"},
        {"1 5\n0 6\n1 7\n", ":3: ", "rank 1 is given twice"},
        {"0 5\n4 6\n", ":2: ", "there is no rank 4"},
        {"0 5\n1\n2 6\n", ":2: ", "rank 1 has no delay"},
        {"0 5\n1 # 6\n", ":2: ", "rank 1 has no delay"},
        {"", ": ", "there is no delay in it"},
        {"# nothing\n\n", ": ", "there is no delay in it"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char begin[PATH_MAX + 32];
        put("trace", wrong[i].text);
        snprintf(begin, sizeof begin, "%s%s", path, wrong[i].where);
        for (int rank = 0; rank < 4; rank++) {
            assert_int_equal(fill("trace", rank, 4, 1, path), -1);
            if (strncmp(reason, begin, strlen(begin)) != 0 || !strstr(reason, wrong[i].what))
                fail_msg("'%s': %s", wrong[i].text, reason);
            assert_null(strchr(reason, '\n'));
        }
    }
}

TEST_WITH(bytes_that_are_no_text_do_not_reach_the_message, make_file, remove_tree) {
    put_bytes("trace", "0 5\0007\033[2J\n", 10);
    assert_int_equal(fill("trace", 0, 1, 1, path), -1);
    assert_non_null(strstr(reason, ":1: '5?7?[2J' is not a delay"));
}

TEST(a_trace_that_cannot_be_read_says_so) {
    assert_int_equal(fill("trace", 0, 1, 1, NULL), -1);
    assert_non_null(strstr(reason, "needs a file"));
    assert_int_equal(fill("trace", 0, 1, 1, "/nowhere/trace"), -1);
    assert_non_null(strstr(reason, "/nowhere/trace: No such file"));
    assert_int_equal(fill("trace", 0, 1, 1, "/tmp"), -1);
    assert_non_null(strstr(reason, "/tmp: cannot be read"));
}
