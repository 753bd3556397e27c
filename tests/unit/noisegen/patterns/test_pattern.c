/* Patterns: when their bursts come, how long these are, and what they refuse. */
#include "noisegen/kinds/kinds.h"
#include "noisegen/patterns/pattern.h"
#include "tests/unit/files.h"

#define MS INT64_C(1000000)

static char path[PATH_MAX];

FIXTURE(set_up) {
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/trace", folder);
    return 0;
}

/* A shape and a request for it: 1 % in bursts every 10 ms. */
struct asked {
    struct ng_shape shape;
    struct ng_pattern_request request;
    struct nl_trace trace; /* owned, as are the sources */
    struct ng_source *sources[32];
    int n_sources;
};

static void forget(struct asked *a) {
    while (a->n_sources)
        ng_source_free(a->sources[--a->n_sources]);
    nl_trace_close(&a->trace);
}

static struct asked *ask(void) {
    static struct asked asked;
    asked.trace.fd = -1;
    asked.shape = (struct ng_shape){.jitter = 1, .group = 5, .scale_period = 1, .scale_burst = 1, .seed = 1};
    asked.request = (struct ng_pattern_request){
        .shape = &asked.shape, .period_ns = 10 * MS, .level = 0.01, .trace_cpu = -1};
    return &asked;
}

/* A test of what it asks for. */
#define ASKED(name)                                                                                          \
    static void name##_asks(struct asked *a);                                                                \
    TEST(name) {                                                                                             \
        struct asked *a = ask();                                                                             \
        name##_asks(a);                                                                                      \
        forget(a);                                                                                           \
    }                                                                                                        \
    static void name##_asks(struct asked *a)

static struct ng_source *open_source(const char *name, struct asked *asked) {
    struct ng_source *source = ng_pattern_find(name)->open(&asked->request);
    assert_non_null(source);
    assert_true(asked->n_sources < 32);
    asked->sources[asked->n_sources++] = source;
    EQUAL(source->n_read, 0, source->position_ns, 0);
    return source;
}

static struct ng_burst next_of(struct ng_source *source) {
    struct ng_burst burst;
    assert_int_equal(source->next(source->context, &burst), 1);
    return burst;
}

static void give_trace(struct asked *a, const char *text) {
    char reason[2 * PATH_MAX];
    forget(a);
    put("trace", text);
    if (nl_trace_check(path, NL_TRACE_OF_USER, &a->trace, reason, sizeof reason)) fail_msg("%s", reason);
    a->request.trace = &a->trace;
}

/* ---- the table ---- */

TEST(every_row_has_a_name_and_a_help_line) {
    int n = 0;
    for (const struct ng_pattern *const *p = ng_patterns; *p; p++, n++) {
        for (const char *c = (*p)->name; *c; c++)
            assert_true(islower((unsigned char)*c));
        assert_ptr_equal(ng_pattern_find((*p)->name), *p);
        assert_null(strchr((*p)->help, '\n'));
        /* only a source has a place to go on from */
        assert_true(!(*p)->is_continued || (*p)->open);
    }
    assert_int_equal(n, 5);
    assert_string_equal(ng_patterns[0]->name, "periodic"); /* the default */
    assert_null(ng_pattern_find("random"));
    assert_null(ng_pattern_find(""));
}

ASKED(a_plan_takes_from_the_pattern_what_it_decides) {
    struct ng_plan plan = {.duty_cap = 0.7};
    struct ng_source *source = open_source("poisson", a);
    ng_source_skip(ng_pattern_find("poisson"), &a->request, source, 0.5); /* it has no place to begin at */
    EQUAL(source->position_ns, 0, source->n_read, 0);
    a->shape.jitter = 0.3;
    a->shape.seed = 77;
    ng_pattern_fill(ng_pattern_find("periodic"), &a->request, NULL, &plan);
    assert_int_equal(plan.period_ns, 10 * MS);
    assert_near(plan.level, 0.01, 0);
    assert_near(plan.jitter, 0, 0);
    assert_null(plan.source);
    assert_near(plan.duty_cap, 0.7, 0);
    ng_pattern_fill(ng_pattern_find("jittered"), &a->request, NULL, &plan);
    assert_near(plan.jitter, 0.3, 0);
    assert_int_equal(plan.random_seed, 77);
    a->request.is_counted = 1;
    ng_pattern_fill(ng_pattern_find("poisson"), &a->request, source, &plan);
    assert_near(plan.jitter, 0, 0);
    assert_ptr_equal(plan.source, source);
    assert_int_equal(plan.is_counted, 1);
    ng_source_free(NULL);
}

/* ---- poisson ---- */

enum { N_GAPS = 20000 };

/* The gaps between bursts, in mean distances. */
static double *gaps(uint64_t seed) {
    struct asked *a = ask();
    double *gap = malloc(N_GAPS * sizeof *gap);
    assert_non_null(gap);
    a->shape.seed = seed;
    struct ng_source *source = open_source("poisson", a);
    int64_t before_ns = 0;
    for (int i = 0; i < N_GAPS; i++) {
        struct ng_burst burst = next_of(source);
        assert_true(burst.due_ns >= before_ns);
        assert_near(burst.share, 100e3, 1e-6);
        assert_int_equal(burst.kind, -1);
        gap[i] = (double)(burst.due_ns - before_ns) / 10e6;
        before_ns = burst.due_ns;
    }
    forget(a);
    return gap;
}

NL_ORDER(by_size, double)

TEST(the_gaps_of_poisson_bursts_are_exponential_independent_and_where_their_seed_says) {
    double *again = gaps(1);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double *gap = gaps(seed), most = 0;
        int n_same = 0;
        for (int i = 0; i < N_GAPS; i++)
            n_same += gap[i] == again[i];
        assert_true(seed == 1 ? n_same == N_GAPS : n_same < 5);
        for (int lag = 1; lag <= 5; lag++) {
            double sum = 0;
            for (int i = lag; i < N_GAPS; i++)
                sum += (gap[i] - 1) * (gap[i - lag] - 1);
            assert_near(sum / (N_GAPS - lag), 0, 4 / sqrt(N_GAPS));
        }
        qsort(gap, N_GAPS, sizeof *gap, by_size);
        for (int i = 0; i < N_GAPS; i++) {
            double p = 1 - exp(-gap[i]), below = p - (double)i / N_GAPS, above = (double)(i + 1) / N_GAPS - p;
            most = fmax(most, fmax(below, above));
        }
        /* Kolmogorov and Smirnov: one sample in a hundred has more than 1.63/sqrt(n) */
        assert_true(most < 1.63 / sqrt(N_GAPS));
        free(gap);
    }
    free(again);
}

/* ---- bursts of bursts ---- */

ASKED(groups_of_bursts_come_at_their_times_and_do_not_drift) {
    static const int64_t wanted_ms[] = {0, 2, 4, 30, 32, 34, 60, 62, 64, 90};
    struct ng_burst burst = {0};
    a->shape.group = 3;
    a->shape.spacing_ns = 2 * MS;
    struct ng_source *source = open_source("bursts", a);
    for (size_t i = 0; i < sizeof wanted_ms / sizeof *wanted_ms; i++) {
        burst = next_of(source);
        EQUAL(burst.due_ns, wanted_ms[i] * MS, burst.kind, -1);
        assert_near(burst.share, 100e3, 1e-6);
    }
    a->shape.group = 7;
    a->request.period_ns = 3333333;
    source = open_source("bursts", a);
    for (int64_t i = 0; i <= 7 * 100000; i++)
        burst = next_of(source);
    assert_int_equal(burst.due_ns, INT64_C(100000) * 7 * 3333333);
}

/* Of these rows the level, the spacing and whether doses are counted are asked for; NULL: they can be had. */
ASKED(groups_that_would_be_one_burst_or_overlap_are_refused) {
    static const struct {
        double level;
        int64_t spacing_ns;
        int is_counted;
        const char *problem;
    } rows[] = {
        {0.01, 0, 0, NULL},
        {0.1, 0, 0, "--pattern: spacing: bursts of 1 ms every 1 ms would be one long burst"},
        {0.0999, 0, 0, NULL},
        {0.01, 20 * MS, 0,
         "--pattern: spacing: 5 bursts every 20 ms do not fit into 50 ms (group x --period)"},
        {0.01, 50 * MS / 4 - 25000, 0, NULL}, /* just in time for the next group */
        {0.01, 50 * MS / 4 - 24999, 0, "do not fit into"},
        {0.01, 1, 1, NULL}, /* how long units of dose take is not known */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char buf[256];
        a->request.level = rows[i].level;
        a->request.is_counted = rows[i].is_counted;
        a->shape.spacing_ns = rows[i].spacing_ns;
        const char *problem = ng_pattern_find("bursts")->problem(&a->request, buf, sizeof buf);
        if (rows[i].problem)
            assert_contains(problem, rows[i].problem);
        else
            assert_null(problem);
    }
}

ASKED(groups_begin_at_a_share_of_their_repetition) {
    static const struct {
        double share;
        int64_t position_ns, n_read, next_ms;
    } rows[] = {{0.05, 2500000, 1, 3},
                {0, 0, 0, 0},
                {0.999, 49950000, 1, 50}}; /* 2.5 ms of 50: three bursts are over */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ng_source *source = open_source("bursts", a);
        ng_source_skip(ng_pattern_find("bursts"), &a->request, source, rows[i].share);
        EQUAL(source->position_ns, rows[i].position_ns, source->n_read, rows[i].n_read);
        if (source->n_read)
            assert_int_equal(source->ring[0].due_ns, rows[i].next_ms * MS); /* read already, and not lost */
        assert_int_equal(next_of(source).due_ns, (rows[i].next_ms + source->n_read) * MS);
    }
}

/* ---- replay ---- */

ASKED(a_replayed_trace_has_its_times_from_the_first_burst_on_scaled_and_looped) {
    static const struct {
        const char *text;
        double scale_period, scale_burst;
        int is_looped;
        struct {
            int64_t due_ns;
            double share;
        } bursts[5];
    } rows[] = {
        {"1000\t10\n1500\t20\n4000\t30\n", 1, 1, 0, {{0, 10}, {500, 20}, {3000, 30}}},
        {"7\t10\n22\t15\n107\t1\n", 0.1, 0.25, 0, {{0, 2.5}, {1 /* 1.5 */, 3.75}, {10, 0.25}}},
        /* by the wall clock: a double of this size counts in steps of 256 */
        {"1790000000123456789\t10\n1790000000123456889\t10\n1790000003123456890\t10\n",
         1,
         1,
         0,
         {{0, 10}, {100, 10}, {3000000101, 10}}},
        {"# span_ns: 1000\n100\t10\n300\t20\n",
         2,
         1,
         1,
         {{0, 10}, {400, 20}, {2000, 10}, {2400, 20}, {4000, 10}}},
    };
    struct ng_burst burst;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        give_trace(a, rows[i].text);
        a->shape.scale_period = rows[i].scale_period;
        a->shape.scale_burst = rows[i].scale_burst;
        a->shape.is_looped = rows[i].is_looped;
        struct ng_source *source = open_source("replay", a);
        for (int k = 0; k < 5 && rows[i].bursts[k].share > 0; k++) {
            burst = next_of(source);
            EQUAL(burst.due_ns, rows[i].bursts[k].due_ns, burst.kind, -1);
            assert_near(burst.share, rows[i].bursts[k].share, 1e-12);
        }
        if (!rows[i].is_looped)
            EQUAL(source->next(source->context, &burst), 0, source->next(source->context, &burst), 0);
    }
}

/* What else it refuses: tests/cli/gen.bats. */
ASKED(what_a_trace_cannot_do_is_refused) {
    char buf[2 * PATH_MAX];
    const struct ng_pattern *replay = ng_pattern_find("replay");
    give_trace(a, "# span_ns: 50\n1000\t10\n");
    a->request.is_counted = 1;
    assert_contains(replay->problem(&a->request, buf, sizeof buf),
                    "--rate: a trace says how long its bursts are");
    a->request.is_counted = 0;
    assert_null(replay->problem(&a->request, buf, sizeof buf)); /* one burst, once */
    a->shape.is_looped = 1;
    assert_contains(replay->problem(&a->request, buf, sizeof buf),
                    "begin 50 ns apart on average, wanted 200 ns or more");
    a->shape.scale_period = 4;
    assert_null(replay->problem(&a->request, buf, sizeof buf));
    give_trace(a, "0\t10\n9000000000000000000\t10\n"); /* 285 years */
    assert_contains(replay->problem(&a->request, buf, sizeof buf), "would last longer than ten years");
    a->shape.scale_period = 1e-6;
    assert_null(replay->problem(&a->request, buf, sizeof buf));
}

ASKED(every_cpu_gets_its_own_lines) {
    struct ng_burst burst;
    give_trace(a, "0\t10\t3\n5\t20\t9\n50\t11\t3\n60\t21\t9\n");
    for (int cpu = -1; cpu < 2; cpu++) {
        a->request.trace_cpu = cpu;
        struct ng_source *source = open_source("replay", a);
        int n = 0;
        double sum = 0;
        while (source->next(source->context, &burst) > 0) {
            n++;
            sum += burst.share;
        }
        assert_int_equal(n, cpu < 0 ? 4 : 2);
        assert_near(sum, cpu < 0 ? 62 : cpu == 0 ? 21 : 41, 0);
    }
}

ASKED(kinds_are_those_that_the_request_maps_them_to) {
    int kind_of_row[32] = {0};
    for (int i = 0; ng_kinds[i]; i++)
        kind_of_row[i] = ng_kinds[i] == ng_kind_find("net") ? 7 : 2;
    give_trace(a, "0\t10\t-\tspin\n50\t20\t-\tnet\n");
    a->request.kind_of_row = kind_of_row;
    struct ng_source *source = open_source("replay", a);
    assert_int_equal(next_of(source).kind, 2);
    assert_int_equal(next_of(source).kind, 7);
    give_trace(a, "0\t10\n50\t20\n"); /* none is named: that of the plan */
    source = open_source("replay", a);
    assert_int_equal(next_of(source).kind, -1);
}

ASKED(a_trace_that_changes_fails_its_source) {
    struct ng_burst burst;
    for (int is_skipping = 0; is_skipping < 2; is_skipping++) {
        give_trace(a, "0\t10\n500\t20\n");
        struct ng_source *source = open_source("replay", a);
        put("trace", "0\t10\n400\t5\n500\n");
        if (is_skipping) {
            ng_source_skip(ng_pattern_find("replay"), &a->request, source, 0.99);
            assert_true(source->is_ended);
            assert_true(source->has_failed);
        } else {
            next_of(source);
            next_of(source);
            assert_int_equal(source->next(source->context, &burst), -1);
        }
    }
}

ASKED(a_trace_begins_at_a_share_of_its_round) {
    const struct ng_pattern *replay = ng_pattern_find("replay");
    give_trace(a, "# span_ns: 1000\n100\t10\n400\t20\n800\t30\n");
    a->shape.is_looped = 1;
    a->shape.scale_period = 10;
    struct ng_source *source = open_source("replay", a);
    ng_source_skip(replay, &a->request, source, 0.5);
    EQUAL(source->position_ns, 5000, source->ring[0].due_ns, 7000);
    assert_int_equal(next_of(source).due_ns, 10000);
    source = open_source("replay", a);
    ng_source_skip(replay, &a->request, source, 0.95); /* beyond the last: the next round */
    assert_int_equal(source->ring[0].due_ns, 10000);
    a->shape.is_looped = 0;
    source = open_source("replay", a);
    ng_source_skip(replay, &a->request, source, 0.95); /* and without one, the end */
    assert_true(source->is_ended);
    assert_false(source->has_failed);
}

GROUP(set_up, remove_tree)
