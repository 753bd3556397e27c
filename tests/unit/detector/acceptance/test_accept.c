#include "detector/acceptance/scanning.h"
#include "detector/acceptance/node_pairs.h"
#include "detector/acceptance/topologies.h"
#include "tests/unit/unit.h"

/* ---- pairs of nodes */

enum { MOST = 200 };

/* Times that two players meet in the rounds taken, into `met`; every round must pair both ways, and each
 * player once. */
static void count_meetings(int n, int n_rounds, int (*round_of)(int n, int k),
                           unsigned char met[MOST][MOST]) {
    memset(met, 0, MOST * MOST);
    for (int k = 0; k < n_rounds; k++) {
        int n_resting = 0, round = round_of(n, k);
        for (int i = 0; i < n; i++) {
            int partner = nx_partner(n, round, i);
            if (partner < 0) {
                n_resting++;
                continue;
            }
            assert_in_range(partner, 0, n - 1);
            assert_int_not_equal(partner, i);
            assert_int_equal(nx_partner(n, round, partner), i);
            met[i][partner]++;
        }
        assert_int_equal(n_resting, n % 2);
    }
}

static int same(int n, int k) { return n ? k : 0; }

TEST(a_tournament_pairs_everybody_once_and_of_more_than_64_nodes_each_with_at_least_15_others) {
    static unsigned char met[MOST][MOST];
    for (int n = 2; n <= MOST; n++)
        for (int is_covering = 0; is_covering < 2; is_covering++) {
            if (is_covering)
                count_meetings(n, nx_covering_rounds(n), nx_covering_round, met);
            else
                count_meetings(n, nx_rounds(n), same, met);
            for (int i = 0; i < n; i++) {
                int n_partners = 0;
                for (int j = 0; j < n; j++) {
                    assert_in_range(met[i][j], 0, i != j);
                    n_partners += met[i][j];
                }
                assert_true(is_covering && n > NX_ALL_PAIRS_NODES ? n_partners >= NX_COVER_ROUNDS - 1
                                                                  : n_partners == n - 1);
            }
        }
    EQUAL(nx_rounds(1), 0, nx_rounds(0), 0);
}

TEST(a_quick_launch_takes_whole_rounds_of_pairs_alone_and_at_least_one) {
    EQUAL(nx_alone_rounds(1, 1), 0, nx_alone_rounds(3, 1), 3, nx_alone_rounds(16, 1), 15,
          nx_alone_rounds(64, 1), 3);
    EQUAL(nx_alone_rounds(1000, 1), 1, nx_alone_rounds(64, 0), 63);
}

/* ---- topologies */

static const struct nx_topology *topology(const char *name) {
    const struct nx_topology *t = nx_topologies;
    while (t->name && strcmp(t->name, name) != 0)
        t++;
    assert_non_null(t->name);
    return t;
}

TEST(topologies_have_the_channels_that_their_shapes_have) {
    static const struct {
        const char *name;
        int n;
        int64_t n_channels;
        const char *shape;
    } known[] = {
        {"star", 1, 0, NULL},        {"star", 2, 1, NULL},        {"star", 7, 6, NULL},
        {"ring", 1, 0, NULL},        {"ring", 2, 1, NULL},        {"ring", 3, 3, NULL},
        {"ring", 8, 8, NULL},        {"complete", 1, 0, NULL},    {"complete", 6, 15, NULL},
        {"grid2d", 6, 7, "2x3"},     {"grid2d", 9, 12, "3x3"},    {"grid2d", 7, 6, "1x7"},
        {"grid2d", 1, 0, "1x1"},     {"grid2d", 12, 17, "3x4"},   {"grid3d", 8, 12, "2x2x2"},
        {"grid3d", 27, 54, "3x3x3"}, {"grid3d", 12, 20, "2x2x3"}, {"grid3d", 5, 4, "1x1x5"},
        {"hypercube", 1, 0, NULL},   {"hypercube", 2, 1, NULL},   {"hypercube", 8, 12, NULL},
        {"hypercube", 16, 32, NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char told[40];
        const struct nx_topology *t = topology(known[i].name);
        assert_int_equal(nx_channels(t, known[i].n), known[i].n_channels);
        if (known[i].shape)
            assert_contains(nx_topology_tell(t, known[i].n, told, sizeof told), known[i].shape);
    }
    EQUAL(nx_topology_ranks(topology("hypercube"), 7), 4, nx_topology_ranks(topology("hypercube"), 8), 8);
    EQUAL(nx_topology_ranks(topology("ring"), 7), 7);
}

TEST(neighbours_are_mutual_rising_and_as_many_as_are_said) {
    for (const struct nx_topology *t = nx_topologies; t->name; t++)
        for (int most = 1; most <= 40; most++) {
            int n = nx_topology_ranks(t, most), mine[MOST], theirs[MOST];
            for (int rank = 0; rank < n; rank++) {
                int n_mine = t->neighbours(t, n, rank, mine);
                assert_int_equal(t->neighbours(t, n, rank, NULL), n_mine);
                for (int k = 0; k < n_mine; k++) {
                    assert_in_range(mine[k], 0, n - 1);
                    assert_true(mine[k] != rank && (k == 0 || mine[k] > mine[k - 1]));
                    int n_theirs = t->neighbours(t, n, mine[k], theirs), is_back = 0;
                    for (int j = 0; j < n_theirs; j++)
                        is_back |= theirs[j] == rank;
                    assert_true(is_back);
                }
            }
        }
}

/* ---- arrays of known words */

TEST(every_flipped_byte_is_found_where_it_is) {
    enum { BYTES = 64 };
    uint32_t words[BYTES / 4];
    unsigned char *bytes = (unsigned char *)words;
    for (int at = 0; at < BYTES; at++) {
        struct nx_wrong_word w;
        uint32_t first = nx_words_first(7, 1, 2);
        nx_words_fill(words, BYTES, first);
        assert_int_equal(nx_words_check(words, BYTES, 0, first, &w), -1);
        bytes[at] ^= 0xff;
        int64_t next = nx_words_check(words, BYTES, 0, first, &w);
        EQUAL(next, 4 * (at / 4 + 1), w.offset_bytes, at, w.expected, first + (uint32_t)(at / 4), w.found,
              words[at / 4]);
        assert_int_equal(nx_words_check(words, BYTES, next, first, &w), -1);
    }
}

TEST(arrays_of_other_ranks_or_of_an_earlier_exchange_are_wrong_in_every_word) {
    enum { BYTES = 4096 };
    static uint32_t words[BYTES / 4];
    static const int others[][3] = {{4, 1, 2}, {5, 2, 1}, {5, 1, 3}, {5, 3, 2}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct nx_wrong_word w;
        int n = 0;
        nx_words_fill(words, BYTES, nx_words_first((uint32_t)others[i][0], others[i][1], others[i][2]));
        for (int64_t at = 0; (at = nx_words_check(words, BYTES, at, nx_words_first(5, 1, 2), &w)) >= 0;)
            n++;
        assert_int_equal(n, BYTES / 4);
    }
}

/* ---- keeping to the time */

/* Time that repeats of `one_ns` take until nx_fit has enough of them; and how many they are. */
static int64_t time_of_repeats(int64_t one_ns, int64_t least, int64_t slice_ns, int64_t *n) {
    *n = 0;
    for (int64_t more; (more = nx_fit(*n, least, *n * one_ns, slice_ns)) > 0;) {
        assert_true(*n == 0 ? more == least : more <= *n);
        *n += more;
    }
    return *n * one_ns;
}

TEST(repeats_fill_their_time_to_half_of_one_or_are_the_least) {
    for (int64_t one_ns = 1; one_ns < 1000000; one_ns += 1 + one_ns / 7)
        for (int64_t slice_ns = 0; slice_ns < 10000000; slice_ns = 3 * slice_ns + 1) {
            int64_t n, took_ns = time_of_repeats(one_ns, 3, slice_ns, &n);
            assert_true(n == 3 ? 2 * slice_ns < 7 * one_ns : 2 * llabs(took_ns - slice_ns) <= one_ns);
        }
    assert_int_equal(nx_fit(0, 2, 0, 0), 2);
    assert_int_equal(nx_fit(1, 2, 1000000, 0), 1);
    assert_int_equal(nx_fit(2, 2, 0, 100), 2); /* a clock that does not move */
    assert_int_equal(nx_fit(2, 2, INT64_MAX / 2, INT64_MAX / 4), 0);
}

/* Repetitions of a check that takes `factor` times its budget and `fixed_ns` besides, among n; its whole time
 * in *took_ns. */
static int repetitions_of(int64_t planned_ns, int n, double factor, int64_t fixed_ns, int64_t *took_ns) {
    struct nx_task t = {.planned_ns = planned_ns};
    for (int k = 1; k <= n; k++) {
        int64_t budget_ns = nx_task_budget_ns(&t, k, n);
        assert_in_range(budget_ns, 0, planned_ns > 0 ? planned_ns : 1);
        if (budget_ns == 0) continue;
        t.took_ns += (int64_t)(factor * (double)budget_ns) + fixed_ns;
        t.n_repetitions++;
    }
    *took_ns = t.took_ns;
    return t.n_repetitions;
}

TEST(a_check_that_takes_longer_makes_up_for_it_and_keeps_its_planned_time) {
    enum { PLANNED = 1000000 };
    static const struct {
        double factor;
        int64_t planned_ns, fixed_ns;
        int n, n_made;
        int64_t took_ns;
    } rows[] = {
        {1, PLANNED, 0, 10, 10, 10 * PLANNED},
        {0.5, PLANNED, 0, 10, 10, 5 * PLANNED}, /* time that is left is not used up */
        /* two are made whatever they take, and no more */
        {1, PLANNED, 50 * PLANNED, 10, NX_LEAST_REPETITIONS, 0},
        {1, 0, 5, 3, NX_LEAST_REPETITIONS, 0},
    };
    int64_t took_ns;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            repetitions_of(rows[i].planned_ns, rows[i].n, rows[i].factor, rows[i].fixed_ns, &took_ns),
            rows[i].n_made);
        if (rows[i].took_ns) assert_int_equal(took_ns, rows[i].took_ns);
    }
    for (double factor = 1; factor < 2; factor += 0.1)
        for (int64_t fixed_ns = 0; fixed_ns < 4 * PLANNED; fixed_ns += PLANNED / 10) {
            int n = repetitions_of(PLANNED, 10, factor, fixed_ns, &took_ns);
            assert_in_range(n, NX_LEAST_REPETITIONS, 10);
            assert_in_range(took_ns, 0, 12 * PLANNED);
        }
}

/* ---- CPUs of a node */

enum { N_RANKS = 3, N_CPUS = 8 };

/* Masks of a few CPUs: bit c is CPU c. */
static void owners_are(unsigned cpus, const unsigned masks[N_RANKS], const int bound[N_RANKS],
                       const int wanted[N_CPUS]) {
    static union nx_mask of_node, of_ranks[N_RANKS];
    static int owners[8 * NX_MASK_BYTES];
    of_node.bytes[0] = (unsigned char)cpus;
    for (int rank = 0; rank < N_RANKS; rank++)
        of_ranks[rank].bytes[0] = (unsigned char)masks[rank];
    nx_cores_assign(owners, &of_node, of_ranks, bound, N_RANKS);
    for (int cpu = 0; cpu < 8 * NX_MASK_BYTES; cpu++)
        assert_int_equal(owners[cpu], cpu < N_CPUS ? wanted[cpu] : -1);
}

TEST(every_cpu_has_the_rank_that_is_bound_to_it_or_one_that_may_use_it) {
    /* each bound to one CPU, two of them to the same: the lower rank has it; the others go round */
    owners_are(0x3f, (const unsigned[]){2, 8, 8}, (const int[]){1, 3, 3},
               (const int[]){0, 0, 1, 1, 2, 0, -1, -1});
    /* bound to several, halves of the node: each stays in its own; CPU 7 is nobody's, and has the next one */
    owners_are(0xff, (const unsigned[]){0x0f, 0x70, 0x70}, (const int[]){-1, -1, -1},
               (const int[]){0, 0, 0, 0, 1, 2, 1, 2});
    /* not bound */
    owners_are(0xff, (const unsigned[]){0xff, 0xff, 0xff}, (const int[]){-1, -1, -1},
               (const int[]){0, 1, 2, 0, 1, 2, 0, 1});
    /* a CPU that is not looked at */
    owners_are(0x01, (const unsigned[]){1, 2, 4}, (const int[]){0, 1, 2},
               (const int[]){0, -1, -1, -1, -1, -1, -1, -1});
}

/* ---- samples and scans */

TEST(a_sample_has_its_mean_its_spread_and_its_middle) {
    double even[] = {4, 1, 3, 2}, one[] = {5};
    struct nx_row s = nx_row("");
    nx_row_sum_up(&s, even, 4);
    assert_true(s.n == 4 && s.value == 2.5 && s.min == 1 && s.max == 4 && s.median == 2.5 &&
                fabs(s.sd - 1.2909944487358056) < 1e-12);
    nx_row_sum_up(&s, one, 1);
    assert_true(s.value == 5 && s.median == 5 && isnan(s.sd));
    nx_row_sum_up(&s, one, 0);
    assert_true(s.n == 0 && isnan(s.value) && isnan(s.median));
}

TEST(a_scan_counts_what_it_keeps_and_loses_no_time_unsaid) {
    enum { ROOM = 100000 };
    static struct nl_hist hist;
    static struct nx_detour detours[ROOM];
    struct nl_ticks ticks;
    nl_ticks_calibrate(&ticks);
    struct nx_scan s = {.ticks = &ticks,
                        .span_ns = 100000000,
                        .threshold_ns = 1000,
                        .hist = &hist,
                        .detours = detours,
                        .n_room = ROOM};
    nx_scan_detours(&s);
    int64_t sum = 0, longest = 0;
    assert_int_equal(nl_hist_total(&hist), s.n_detours);
    assert_true(s.n_detours < ROOM);
    for (int64_t i = 0; i < s.n_detours; i++) {
        sum += detours[i].duration_ns;
        if (detours[i].duration_ns > longest) longest = detours[i].duration_ns;
        if (i > 0) assert_true(detours[i].start_ns >= detours[i - 1].start_ns + detours[i - 1].duration_ns);
    }
    EQUAL(sum, s.lost_ns, longest, s.longest_ns);
    /* turns and detours make up the time, but for what noting them took */
    double whole = s.base_ns * (double)s.n_turns + (double)s.lost_ns;
    assert_true(whole < 1.02 * (double)s.wall_ns && whole > 0.9 * (double)s.wall_ns);
    assert_true(s.looked_ns <= s.wall_ns && (double)s.looked_ns > 0.9 * (double)s.wall_ns);
}
