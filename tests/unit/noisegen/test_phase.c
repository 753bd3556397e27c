/* Phase: where in time a generator begins, so that nodes are in step, out of step, or unrelated. Several
 * nodes are asked at once here. */
#include "noisegen/gen_options.h"
#include "tests/unit/unit.h"
#include "noisegen/phase.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

/* Node `node` of `n_nodes`, whose clocks show these times at one moment. */
struct node {
    struct ng_options options;
    int64_t monotonic_ns, realtime_ns;
};

static struct node make_node(const char *pattern, enum ng_phase phase, int node, int n_nodes) {
    struct node n = {
        .options = {.phase = phase, .period_ns = 10 * MS, .node = node, .n_nodes = n_nodes, .n_patterns = 1}};
    n.options.patterns[0] = ng_pattern_find(pattern);
    n.options.shape = (struct ng_shape){.group = 5, .seed = 1, .scale_period = 1};
    /* nodes were started at different times, and ask at different times */
    n.monotonic_ns = 5 * SECOND + node * INT64_C(777777777);
    n.realtime_ns = INT64_C(1790000000) * SECOND + 123456789 + node * 3 * MS;
    return n;
}

/* When it begins, by the clock that the nodes share. */
static int64_t begin_ns(const struct node *n) {
    int64_t start_ns = ng_phase_start_ns(&n->options, n->monotonic_ns, n->realtime_ns);
    assert_true(start_ns >= n->monotonic_ns); /* never in the past */
    return start_ns - n->monotonic_ns + n->realtime_ns;
}

TEST(an_offset_counts_from_now) {
    struct node n = make_node("periodic", NG_PHASE_OFFSET, 0, 0);
    assert_int_equal(ng_phase_start_ns(&n.options, n.monotonic_ns, n.realtime_ns), n.monotonic_ns);
    n.options.phase_ns = 7 * MS;
    assert_int_equal(ng_phase_start_ns(&n.options, n.monotonic_ns, n.realtime_ns), n.monotonic_ns + 7 * MS);
}

/* After how long each pattern is where it was; those without a period: a second. */
static const struct {
    const char *pattern;
    int64_t repeat_ns;
} rows[] = {{"periodic", 10 * MS},
            {"jittered", 10 * MS},
            {"bursts", 50 * MS},
            {"poisson", SECOND},
            {"replay", SECOND}};
enum { N_ROWS = sizeof rows / sizeof *rows };

TEST(aligned_nodes_begin_with_a_multiple_of_their_pattern_and_staggered_ones_are_spread_evenly_over_it) {
    for (int i = 0; i < N_ROWS; i++)
        for (int n_nodes = 1; n_nodes <= 7; n_nodes++)
            for (int node = 0; node < n_nodes; node++)
                for (int phase = NG_PHASE_ALIGNED; phase <= NG_PHASE_STAGGERED; phase++) {
                    struct node n = make_node(rows[i].pattern, (enum ng_phase)phase, node, n_nodes);
                    int64_t wanted_ns = phase == NG_PHASE_ALIGNED ? 0 : rows[i].repeat_ns * node / n_nodes;
                    assert_in_range(begin_ns(&n) % rows[i].repeat_ns - wanted_ns + 1, 0,
                                    2); /* rounded to a nanosecond */
                    assert_in_range(begin_ns(&n) - n.realtime_ns, 1,
                                    (phase == NG_PHASE_ALIGNED ? 1 : 2) * rows[i].repeat_ns);
                }
    struct node n = make_node("periodic", NG_PHASE_ALIGNED, 0, 4);
    n.realtime_ns = INT64_C(1790000000) * SECOND; /* who asks at the very moment waits for the next one */
    assert_int_equal(begin_ns(&n), n.realtime_ns + 10 * MS);
}

TEST(random_nodes_lie_anywhere_and_each_where_its_seed_says) {
    enum { N = 2000 };
    double sum = 0;
    int64_t before_ns = -1;
    for (int node = 0; node < N; node++) {
        struct node n = make_node("periodic", NG_PHASE_RANDOM, node, N),
                    again = make_node("periodic", NG_PHASE_RANDOM, node, N);
        again.monotonic_ns += 999;
        again.realtime_ns += 3 * SECOND; /* another time, the same phase */
        int64_t phase_ns = begin_ns(&n) % (10 * MS);
        assert_int_equal(phase_ns, begin_ns(&again) % (10 * MS));
        again.options.shape.seed = 2;
        assert_int_not_equal(phase_ns, begin_ns(&again) % (10 * MS));
        assert_int_not_equal(phase_ns, before_ns);
        assert_true(begin_ns(&n) - n.realtime_ns <= 20 * MS);
        before_ns = phase_ns;
        sum += (double)phase_ns;
    }
    /* uniform on 10 ms: mean 5, standard error 10/sqrt(12 n) = 0.065 ms */
    assert_in_range((int64_t)(sum / N), 5 * MS - 260000, 5 * MS + 260000);
}

TEST(a_node_that_does_not_know_its_number_goes_by_its_name) {
    struct node a = make_node("periodic", NG_PHASE_RANDOM, 0, 0), b = a,
                first = make_node("periodic", NG_PHASE_RANDOM, 0, 4);
    b.monotonic_ns += SECOND;
    b.realtime_ns += SECOND;
    assert_int_equal(begin_ns(&a) % (10 * MS), begin_ns(&b) % (10 * MS));
    assert_int_not_equal(begin_ns(&a) % (10 * MS), begin_ns(&first) % (10 * MS));
}
