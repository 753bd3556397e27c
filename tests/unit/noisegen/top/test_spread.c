/* How often the interval of a minute's record holds what a record of an hour says that it costs: simulated
 * noise of several kinds. */
#include "common/base/nl_rng.h"
#include "noisegen/top/spread.h"
#include "tests/unit/unit.h"

enum { US = 1000, MS = 1000000, MOST = 400000, RECORDS = 100 };
#define S INT64_C(1000000000)

static struct nt_event events[MOST];

/* A kind of noise on one node. */
struct kind {
    const char *name;
    double per_second;
    int64_t length_ns; /* mean */
    enum { FIXED, EXPONENTIAL, PARETO } lengths;
    int is_periodic; /* with a jitter of a tenth */
    int n_in;        /* bursts in a clump, one after another, with gaps of 300 us */
    int n_cpus;      /* hit at once */
    int n_nodes;
    int64_t every_ns;
    int fewest; /* of RECORDS whose interval holds it */
};

static double exponential(struct nl_rng *rng) { return -log(1 - nl_rng_uniform(rng)); }

static size_t noise(const struct kind *k, int64_t span_ns, struct nl_rng *rng) {
    size_t n = 0;
    double phase = nl_rng_uniform(rng), at = 0;
    for (int64_t i = 0;; i++) {
        double begin = k->is_periodic ? ((double)i + phase + 0.1 * nl_rng_uniform(rng)) / k->per_second * 1e9
                                      : at + exponential(rng) / k->per_second * 1e9;
        if (begin < at) begin = at;
        at = begin;
        for (int j = 0; j < k->n_in; j++) {
            double length = (double)k->length_ns;
            if (k->lengths == EXPONENTIAL) length *= exponential(rng);
            if (k->lengths == PARETO) length *= 0.6 * pow(1 - nl_rng_uniform(rng), -1 / 2.5);
            if (at + length >= (double)span_ns || n + (size_t)k->n_cpus > MOST) return n;
            for (int cpu = 0; cpu < k->n_cpus; cpu++)
                events[n++] = (struct nt_event){(int64_t)at, (int64_t)(at + length) + 1, cpu};
            at += length + (j + 1 < k->n_in ? 300 * US : 0);
        }
    }
}

/* Slowdown by a walk, of 1; its standard error. */
static double walked(const struct kind *k, size_t n, int64_t span_ns, int64_t n_visits, uint64_t seed,
                     double *error) {
    struct nt_walk *walk;
    assert_int_equal(
        nt_walk_open(&walk, events, n, span_ns, k->n_cpus, NULL, k->n_nodes, k->every_ns, seed), 0);
    nt_walk_go(walk, n_visits);
    struct nt_walked w = nt_walk_result(walk);
    nt_walk_close(walk);
    assert_true(w.n_steps > 0);
    double mean = w.stall_ns / w.n_steps, variance = w.squares / w.n_steps - mean * mean;
    *error = sqrt((variance > 0 ? variance : 0) / w.n_steps) / (double)k->every_ns;
    return w.stall_ns / w.work_ns;
}

static struct nt_spread_ends ends_of(const struct kind *k, size_t n, int64_t span_ns, double slowdown,
                                     double error) {
    struct nt_spread *spread;
    struct nt_walk *walk; /* its windows */
    assert_int_equal(nt_walk_open(&walk, events, n, span_ns, k->n_cpus, NULL, k->n_nodes, k->every_ns, 3), 0);
    assert_int_equal(nt_spread_open(&spread, events, nt_walk_windows(walk), n, span_ns, 0, k->n_nodes,
                                    k->every_ns, 3),
                     0);
    nt_walk_close(walk);
    nt_spread_go(spread, slowdown * (double)k->every_ns, 200);
    struct nt_spread_ends ends = nt_spread_result(spread, slowdown > 0 ? error / slowdown : 0);
    nt_spread_close(spread);
    return ends;
}

TEST(intervals_of_a_minute_hold_what_an_hour_says) {
    static const struct kind kinds[] = {
        {"1 ms once a second, at any time", 1, MS, FIXED, 0, 1, 1, 1000, MS, 88},
        {"exponential, 10 a second", 10, 200 * US, EXPONENTIAL, 0, 1, 1, 1000, MS, 88},
        {"exponential, once in 10 s", 0.1, 5 * MS, EXPONENTIAL, 0, 1, 1, 1000, MS, 88},
        {"periodic, 2 ms each second", 1, 2 * MS, FIXED, 1, 1, 1, 100, MS, 88},
        {"periodic, each 5 s", 0.2, 5 * MS, EXPONENTIAL, 1, 1, 1, 1000, 10 * MS, 88},
        {"clumps of ten", 0.5, 300 * US, FIXED, 0, 10, 1, 1000, MS, 88},
        {"16 CPUs at once", 0.5, MS, EXPONENTIAL, 0, 1, 16, 1000, MS, 86},
        {"Pareto 2.5, 5 a second", 5, 500 * US, PARETO, 0, 1, 1, 1000, MS, 80},
        {"one node", 5, MS, EXPONENTIAL, 0, 1, 1, 1, 10 * MS, 88},
        {"100 nodes, 100 ms", 5, 3 * MS, EXPONENTIAL, 0, 1, 1, 100, 100 * MS, 88},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct kind *k = &kinds[i];
        struct nl_rng rng;
        double error;
        int n_held = 0;
        nl_rng_init(&rng, 7, i);
        double truth = walked(k, noise(k, 3600 * S, &rng), 3600 * S, 1000000, 1, &error);
        for (int r = 0; r < RECORDS; r++) {
            size_t n = noise(k, 60 * S, &rng);
            double slowdown = walked(k, n, 60 * S, 10000, (uint64_t)r, &error);
            struct nt_spread_ends ends = ends_of(k, n, 60 * S, slowdown, error);
            n_held += slowdown * ends.low <= truth && truth <= slowdown * ends.high;
        }
        print_message("%s: %d of %d\n", k->name, n_held, RECORDS);
        if (n_held < k->fewest) fail_msg("%s: %d of %d intervals hold it", k->name, n_held, RECORDS);
    }
}

TEST(bursts_of_a_clock_leave_less_in_doubt_than_as_many_at_any_time_and_few_of_them_more) {
    struct kind k = {"", 2, MS, FIXED, 0, 1, 1, 100, MS, 0};
    struct nt_spread_ends ends[3];
    for (int i = 0; i < 3; i++) {
        struct nl_rng rng;
        double error;
        nl_rng_init(&rng, 5, 0);
        k.is_periodic = i == 0;
        k.per_second = i == 2 ? 0.1 : 2;
        size_t n = noise(&k, 60 * S, &rng);
        ends[i] = ends_of(&k, n, 60 * S, walked(&k, n, 60 * S, 200000, 1, &error), 0);
        assert_true(ends[i].low <= 1 && ends[i].high > 1);
    }
    assert_true(ends[0].low > ends[1].low && ends[0].high < ends[1].high);
    assert_true(ends[1].low > ends[2].low && ends[1].high < ends[2].high);
}

TEST(what_is_too_short_for_its_size_or_empty_has_no_upper_end) {
    struct kind k = {"", 10, MS, FIXED, 0, 1, 1, 1000, MS, 0};
    struct nl_rng rng;
    nl_rng_init(&rng, 5, 0);
    size_t n = noise(&k, 10 * S, &rng);
    assert_true(ends_of(&k, n, 10 * S, 0.9, 0.01).high > 1);
    k.n_nodes = 3000; /* a step of all is 3 s of the record: once in 11 s */
    assert_near(ends_of(&k, n, 10 * S, 0.99, 0.01).high, -1, 0);
    k.n_nodes = 10;
    assert_near(ends_of(&k, 0, 10 * S, 0, 0).high, -1, 0);
    /* what the walk may be wrong by is within it */
    struct nt_spread_ends sure = ends_of(&k, n, 10 * S, 0.1, 0), unsure = ends_of(&k, n, 10 * S, 0.1, 0.02);
    assert_near(unsure.high - 1, hypot(sure.high - 1, 1.96 * 0.2), 1e-9);
    assert_near(1 - unsure.low, hypot(1 - sure.low, 1.96 * 0.2), 1e-9);
}
