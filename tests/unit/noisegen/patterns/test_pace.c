/* The pacing arithmetic and the loops, on a simulated machine: its clock moves only when somebody works,
 * sleeps or is preempted. */
#include "common/base/nl_rng.h"
#include "noisegen/patterns/pattern.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

/* ---- the simulated machine ---- */

struct simulation {
    int64_t now_ns, cpu_ns;
    int64_t wake_cost_ns;   /* CPU time of one sleep and wake-up */
    int64_t wake_delay_ns;  /* wall time by which a timer comes late */
    int64_t quantum_ns;     /* CPU time of one quantum of work */
    int64_t read_cost_ns;   /* CPU time of one look at the CPU clock */
    int64_t stop_at_ns;     /* an interruption comes at this time; 0: none */
    int64_t taken_from_ns;  /* the CPU is taken by somebody else from here ... */
    int64_t taken_until_ns; /* ... to here */
    int64_t period_ns;      /* to watch the CPU time of single periods; 0: do not */
    int64_t most_in_period_ns, in_period_ns, period;
    int n_sleeps;
    int64_t n_quanta;
    int64_t fails_at;    /* this quantum of work cannot be done; 0: none */
    int quanta_per_unit; /* how many quanta a unit of dose takes; 0: one */
    /* what an onlooker sees of the first spells of CPU use: from a wake-up to the next sleep */
    struct spell {
        int64_t begin_ns, cpu_ns;
    } spells[256];
    int n_spells;
    int64_t spell_cpu_ns; /* CPU clock at the begin of the spell */
};

static void end_spell(struct simulation *s) {
    if (s->n_spells > 0 && s->n_spells <= 256)
        s->spells[s->n_spells - 1].cpu_ns = s->cpu_ns - s->spell_cpu_ns;
}

static void begin_spell(struct simulation *s) {
    s->spell_cpu_ns = s->cpu_ns;
    if (s->n_spells < 256) s->spells[s->n_spells].begin_ns = s->now_ns;
    s->n_spells++;
}

/* Passes wall time until the CPU is ours. */
static void wait_for_cpu(struct simulation *s) {
    if (s->now_ns >= s->taken_from_ns && s->now_ns < s->taken_until_ns) s->now_ns = s->taken_until_ns;
}

static void use_cpu(struct simulation *s, int64_t ns) {
    wait_for_cpu(s);
    s->now_ns += ns;
    s->cpu_ns += ns;
    if (s->period_ns == 0) return;
    if (s->now_ns / s->period_ns != s->period) s->in_period_ns = 0;
    s->period = s->now_ns / s->period_ns;
    s->in_period_ns += ns;
    if (s->in_period_ns > s->most_in_period_ns) s->most_in_period_ns = s->in_period_ns;
}

static int64_t sim_now(void *context) { return ((struct simulation *)context)->now_ns; }

static int64_t sim_cpu(void *context) {
    struct simulation *s = context;
    use_cpu(s, s->read_cost_ns);
    return s->cpu_ns;
}

static int sim_interrupted(void *context) {
    struct simulation *s = context;
    return s->stop_at_ns > 0 && s->now_ns >= s->stop_at_ns;
}

static int sim_sleep_until(void *context, int64_t deadline_ns) {
    struct simulation *s = context;
    s->n_sleeps++;
    end_spell(s);
    int is_stopped = s->stop_at_ns > 0 && (deadline_ns == NG_FOREVER || s->stop_at_ns < deadline_ns);
    int64_t until_ns = is_stopped ? s->stop_at_ns : deadline_ns;
    assert_true(until_ns >= 0); /* otherwise this sleep would never end */
    if (until_ns > s->now_ns) s->now_ns = until_ns + (is_stopped ? 0 : s->wake_delay_ns);
    begin_spell(s);
    use_cpu(s, s->wake_cost_ns);
    return is_stopped;
}

static int64_t sim_work(void *state) {
    struct simulation *s = state;
    use_cpu(s, s->quantum_ns);
    s->n_quanta++;
    if (s->fails_at > 0 && s->n_quanta >= s->fails_at) return -1;
    if (s->quanta_per_unit > 1 && s->n_quanta % s->quanta_per_unit != 0) return 0;
    return 1;
}

struct list {
    const struct ng_burst *bursts;
    int n, i;
    int fails_at; /* reading this one fails; 0: none does */
};

/* Everything one run needs, on the heap because of the histogram. */
struct world {
    struct simulation sim;
    struct ng_plan plan;
    struct ng_account account;
    struct ng_wake_cost wake, delay;
    int is_early; /* sleeps end ahead of the expected delay */
    struct ng_lateness lateness;
    struct ng_tally tallies[2];
    int units_per_wake_up;
    _Atomic int64_t n_run_shared, requested_shared;
    struct ng_source source, *pattern; /* the second is owned */
    struct list list;
};

static struct world *new_world(void) {
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->sim = (struct simulation){
        .now_ns = 1000 * MS, .wake_cost_ns = 20 * US, .quantum_ns = 200, .read_cost_ns = 500};
    w->plan = (struct ng_plan){.start_ns = 1000 * MS,
                               .period_ns = 10 * MS,
                               .length_ns = 10000 * MS,
                               .level = 0.01,
                               .duty_cap = 1,
                               .carry_bursts = 10,
                               .is_bounded = 1};
    return w;
}

/* The CPU is somebody else's meanwhile. */
static void lose_cpu(struct world *w, int64_t from_ns, int64_t until_ns) {
    w->sim.taken_from_ns = from_ns;
    w->sim.taken_until_ns = until_ns;
}

static int run(struct world *w, enum ng_run_end (*loop)(const struct ng_plan *, const struct ng_machine *,
                                                        const struct ng_run *)) {
    const struct ng_load loads[] = {
        {.work = sim_work, .state = &w->sim, .units_per_wake_up = w->units_per_wake_up},
        {.work = sim_work, .state = &w->sim}};
    struct ng_machine machine = {.context = &w->sim,
                                 .now_ns = sim_now,
                                 .cpu_ns = sim_cpu,
                                 .sleep_until = sim_sleep_until,
                                 .interrupted = sim_interrupted,
                                 .loads = loads};
    struct ng_run run = {.account = &w->account,
                         .tallies = w->tallies,
                         .wake = &w->wake,
                         .delay = w->is_early ? &w->delay : NULL,
                         .lateness = &w->lateness,
                         .n_run_shared = &w->n_run_shared,
                         .requested_shared = &w->requested_shared};
    return loop(&w->plan, &machine, &run);
}

static void complete(struct world *w) { assert_int_equal(run(w, ng_run_deadline), NG_RUN_COMPLETE); }

static double ratio(const struct world *w) { return (double)w->account.delivered_ns / w->account.requested; }

/* requested = delivered + dropped + owed, whatever happened; and the kinds together had just that. */
static void assert_balanced(const struct world *w) {
    const struct ng_account *a = &w->account;
    const struct ng_tally *t = w->tallies;
    double rounding = 1 + 1e-9 * a->requested;
    assert_near(ng_delivered(a, w->plan.is_counted) + a->dropped + a->owed, a->requested, rounding);
    assert_near(t[0].requested + t[1].requested, a->requested, rounding);
    EQUAL(t[0].delivered_ns + t[1].delivered_ns, a->delivered_ns, t[0].delivered_units + t[1].delivered_units,
          a->delivered_units);
    EQUAL(t[0].n_run + t[1].n_run, a->n_run, w->n_run_shared, a->n_run);
    assert_true(a->carried >= 0 && a->dropped >= 0 && a->old >= 0);
}

/* Every test ends with a balanced account. */
static void end_world(struct world **w) {
    assert_balanced(*w);
    ng_source_free((*w)->pattern);
    free(*w);
}

/* A test of one world. */
#define PACED(name)                                                                                          \
    static void name##_in(struct world *w);                                                                  \
    TEST(name) {                                                                                             \
        OWNED(end_world) struct world *w = new_world();                                                      \
        name##_in(w);                                                                                        \
    }                                                                                                        \
    static void name##_in(struct world *w)

/* ---- arithmetic ---- */

TEST(a_plan_has_its_periods_and_their_shares_and_a_dose_is_right_within_its_tolerance) {
    struct ng_plan plan = {.start_ns = 100 * MS, .period_ns = 10 * MS, .length_ns = 25 * MS, .level = 0.1},
                   none = plan, even = plan;
    none.level = 0;
    even.length_ns = 30 * MS;
    EQUAL(ng_n_periods(&plan), 3, ng_n_periods(&even), 3, ng_n_periods(&none), 0);
    assert_near(ng_share(&plan, 0, 1), 1e6, 0.01);
    assert_near(ng_share(&plan, 2, 3), 0.5e6, 0.01);
    assert_near(ng_share(&plan, 0, 3), 2.5e6, 0.01);
    assert_near(ng_share(&plan, 2, 2), 0, 0);
    EQUAL(ng_within_tolerance(100, 104, 5), 1, ng_within_tolerance(100, 96, 5), 1,
          ng_within_tolerance(100, 106, 5), 0);
    EQUAL(ng_within_tolerance(100, 94, 5), 0, ng_within_tolerance(0, 94, 5), -1);
}

TEST(the_cost_of_a_wake_up_is_a_median_that_ignores_outliers) {
    static const int64_t costs_ns[] = {12000, 5000000, 13000, 30000, 30001,
                                       30002, 30003,   30004, 30005, 30006};
    static const struct {
        int n;
        int64_t median_ns;
    } rows[] = {{0, 20000}, {1, 12000}, {3, 13000}, {10, 30003}}; /* of the last seven */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ng_wake_cost wake = {.n_samples = rows[i].n};
        for (int k = 0; k < rows[i].n; k++)
            wake.samples_ns[k % NG_WAKE_SAMPLES] = costs_ns[k];
        assert_int_equal(ng_wake_cost_ns(&wake), rows[i].median_ns);
    }
}

/* ---- the deadline loop ---- */

PACED(at_level_0_it_sleeps_once_and_at_level_100_never) {
    OWNED(end_world) struct world *full = new_world();
    w->plan.level = 0;
    complete(w);
    EQUAL(w->sim.n_sleeps, 1, w->account.n_planned, 0, w->account.n_run, 0);
    assert_near(w->account.requested, 0, 0);
    assert_true(w->account.delivered_ns > 0); /* the one wake-up is not hidden */
    full->plan.level = 1;
    full->plan.length_ns = 1000 * MS;
    complete(full);
    assert_int_equal(full->sim.n_sleeps, 0);
    assert_in_range(full->sim.now_ns, 2000 * MS, 2000 * MS + 100 * US);
    assert_near(ratio(full), 1, 0.0005);
}

PACED(shares_smaller_than_a_wake_up_are_saved_until_they_pay_for_one) {
    w->plan.level = 0.0002; /* 2 us in each of 1,000 periods, and a wake-up costs 20 */
    complete(w);
    assert_in_range(w->account.n_run, 80, 95);
    EQUAL(w->account.n_planned, 1000, w->account.n_merged, 1000 - w->account.n_run);
    assert_near(ratio(w), 1, 0.03);
}

/* The room of a burst of 1 ms in its period is 9 ms. */
TEST(random_bursts_lie_within_their_periods_and_in_their_middle_on_average_where_the_seed_says) {
    enum { N = 250 };
    int64_t first_ns[3];
    for (uint64_t seed = 7; seed < 10; seed++) {
        OWNED(end_world) struct world *w = new_world();
        double sum = 0;
        w->plan.start_ns += 1 * MS; /* so that the first one is slept for, too */
        w->plan.length_ns = N * w->plan.period_ns;
        w->plan.level = 0.1;
        w->plan.jitter = 1;
        w->plan.random_seed = seed / 2; /* 3, 4, 4 */
        complete(w);
        for (int k = 0; k < N; k++) {
            int64_t offset_ns = w->sim.spells[k].begin_ns - w->plan.start_ns - k * w->plan.period_ns;
            assert_in_range(offset_ns, 0, 9 * MS);
            sum += (double)offset_ns;
        }
        first_ns[seed - 7] = w->sim.spells[0].begin_ns;
        assert_near(sum / N, 4.5e6, 4 * 9e6 / sqrt(12. * N)); /* uniform */
    }
    assert_true(first_ns[0] != first_ns[1] && first_ns[1] == first_ns[2]);
}

PACED(a_short_loss_of_the_cpu_is_made_up_for) {
    lose_cpu(w, 2000 * MS - 1, 2035 * MS); /* three bursts of 100 us are missed, ten may be carried */
    run(w, ng_run_deadline);
    assert_near(ratio(w), 1, 0.001);
    assert_near(w->account.dropped, 0, 25000);
    assert_near(w->account.carried, 300000, 40000);
    assert_int_equal(w->account.n_late, 1);
    assert_near((double)w->lateness.max_ns, 35e6, 0.1e6);
}

/* ---- under a detector: short plans of one account, each ended by the next command ---- */

/* A half of 10 ms with one burst, `start_ns` from now, until the next command comes. */
static void run_half(struct world *w, int64_t start_ns, int64_t stop_ns) {
    w->plan.is_bounded = 0;
    w->plan.length_ns = 10 * MS;
    w->plan.start_ns = w->sim.now_ns + start_ns;
    w->sim.stop_at_ns = w->sim.now_ns + stop_ns;
    assert_int_equal(run(w, ng_run_deadline), NG_RUN_INTERRUPTED);
}

TEST(an_account_keeps_its_level_over_many_short_runs) {
    static const double levels[] = {0, 0.0001, 0.001, 0.01, 0.1};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        OWNED(end_world) struct world *w = new_world();
        w->plan.level = levels[i];
        w->sim.quantum_ns = 500;
        for (int k = 0; k < 1000; k++)
            run_half(w, 1 * MS, 10 * MS);
        assert_near(w->account.requested, levels[i] * 10e9, 1);
        assert_near((double)w->account.delivered_ns, levels[i] * 10e9,
                    levels[i] > 0 ? 0.005 * levels[i] * 10e9 + 21000 : 0);
        EQUAL(w->account.n_planned, levels[i] > 0 ? 1000 : 0, levels[i] > 0 ? 1000 : w->sim.n_sleeps, 1000);
    }
}

PACED(a_run_that_is_always_cut_short_does_not_save_up_more_than_the_cap) {
    w->plan.level = 0.5; /* 5 ms per burst, of which 1 ms is run */
    w->plan.carry_bursts = 2;
    for (int i = 0; i < 50; i++)
        run_half(w, 0, 1 * MS);
    assert_true(w->account.owed <= 10e6 + 100e3);
    assert_true(w->account.dropped > 150e6);
}

/* 1 us in each half of 10 ms, a wake-up costs 20 us: what was delivered is never further than a wake-up's
 * half from what was due, so that it is right on average wherever one stops. */
PACED(a_small_dose_swings_about_what_is_due_under_a_detector) {
    double sum_ns = 0, most_ns = 0;
    int n = 2000;
    w->plan.level = 0.0001;
    for (int i = 0; i < n; i++) {
        run_half(w, 2 * MS, 12 * MS);
        sum_ns += w->account.owed;
        most_ns = fmax(most_ns, fabs(w->account.owed));
    }
    assert_true(most_ns < 15e3);
    assert_near(sum_ns / n, 0, 2500);
    assert_near(ratio(w), 1, 0.01);
}

/* What was used before the first sleep is the command's, not the half's. */
PACED(the_way_to_the_first_sleep_is_not_charged_under_a_detector) {
    w->sim.read_cost_ns = 30 * US; /* of every look at the CPU clock */
    int64_t before_ns = w->sim.cpu_ns;
    run_half(w, 2 * MS, 12 * MS);
    /* two looks before the first sleep, and the wake-up by the command */
    assert_int_equal(w->sim.cpu_ns - before_ns - w->account.delivered_ns, 2 * 30 * US + w->sim.wake_cost_ns);
}

/* ---- sources: bursts that come one after the other ---- */

static int next_of_list(void *context, struct ng_burst *burst) {
    struct list *list = context;
    if (list->fails_at > 0 && list->i >= list->fails_at) return -1;
    if (list->i == list->n) return 0;
    *burst = list->bursts[list->i++];
    return 1;
}

/* The world gets a source of these bursts, which end with the plan. */
static void give(struct world *w, const struct ng_burst *bursts, int n) {
    w->list = (struct list){.bursts = bursts, .n = n};
    w->source = (struct ng_source){.context = &w->list, .next = next_of_list};
    w->plan.source = &w->source;
}

/* Bursts without end, as irregular as recorded ones: exponential distances, and every length within a factor
 * of a thousand. */
struct endless {
    struct nl_rng rng;
    double due_ns, distance_ns, share, spread; /* spread: decades */
    int kinds;                                 /* they take turns */
    int64_t n;
};

static int next_without_end(void *context, struct ng_burst *burst) {
    struct endless *e = context;
    e->due_ns -= log(1 - nl_rng_uniform(&e->rng)) * e->distance_ns;
    double factor = pow(10, (nl_rng_uniform(&e->rng) - 0.5) * e->spread);
    *burst = (struct ng_burst){.due_ns = (int64_t)e->due_ns,
                               .share = e->share * factor,
                               .kind = e->kinds ? (int)(e->n % e->kinds) : -1};
    e->n++;
    return 1;
}

static void give_endless(struct world *w, struct endless *e, uint64_t seed) {
    nl_rng_init(&e->rng, seed, 0);
    w->source = (struct ng_source){.context = e, .next = next_without_end};
    w->plan.source = &w->source;
}

/* The world runs a pattern at its plan's level. */
static void give_pattern(struct world *w, const char *name) {
    static const struct ng_shape shape = {.group = 5, .seed = 11};
    const struct ng_pattern *pattern = ng_pattern_find(name);
    struct ng_pattern_request request = {.shape = &shape,
                                         .period_ns = w->plan.period_ns,
                                         .level = w->plan.level,
                                         .is_counted = w->plan.is_counted,
                                         .trace_cpu = -1};
    w->pattern = pattern->open(&request);
    assert_non_null(w->pattern);
    ng_pattern_fill(pattern, &request, w->pattern, &w->plan);
}

TEST(levels_are_delivered_whatever_a_wake_up_costs) {
    static const char *const names[] = {NULL, "poisson", "bursts",
                                        "recorded"}; /* NULL: even bursts, by the formula */
    static const double levels[] = {0.0001, 0.001, 0.01, 0.05, 0.5, 0.99, 1};
    static const int64_t wake_costs_ns[] = {500, 3 * US, 20 * US, 50 * US};
    for (size_t i = 0; i < 4 * sizeof levels / sizeof *levels; i++) {
        for (size_t j = 0; j < sizeof wake_costs_ns / sizeof *wake_costs_ns; j++) {
            const size_t kind = i % 4;
            OWNED(end_world) struct world *w = new_world();
            struct endless recorded = {
                .distance_ns = 10e6, .share = levels[i / 4] * 10e6 * 0.47, .spread = 2};
            int64_t n_periods = levels[i / 4] < 0.05 ? 2000 : 300; /* simulated work takes real time */
            if (kind > 0 && levels[i / 4] > 0.5) continue;
            w->plan.level = kind == 2 && levels[i / 4] == 0.5
                                ? 0.09
                                : levels[i / 4]; /* groups of five are not possible above 10 % */
            w->sim.wake_cost_ns = wake_costs_ns[j];
            w->plan.length_ns = n_periods * w->plan.period_ns;
            if (kind == 3)
                give_endless(w, &recorded, 5);
            else if (kind > 0)
                give_pattern(w, names[kind]);
            complete(w);
            /* what was asked for is the level: even ones and groups exactly, random ones as far as their
             * number allows */
            double wanted = w->plan.level * (double)w->plan.length_ns;
            assert_near(w->account.requested / wanted, 1,
                        kind == 0   ? 1e-6
                        : kind == 2 ? 0.001
                                    : 5 / sqrt((double)n_periods));
            assert_near(ratio(w), 1, kind == 0 ? 0.005 : 0.01);
            assert_int_equal(w->account.n_merged, w->account.n_planned - w->account.n_run);
            if (kind == 0) assert_int_equal(w->account.n_planned, n_periods);
        }
    }
}

TEST(a_replayed_burst_is_as_long_as_asked) {
    static const int64_t wake_costs_ns[] = {500, 5 * US, 20 * US, 50 * US};
    for (size_t j = 0; j < sizeof wake_costs_ns / sizeof *wake_costs_ns; j++) {
        OWNED(end_world) struct world *w = new_world();
        struct ng_burst bursts[200];
        struct nl_rng rng;
        int64_t at_ns = 0;
        nl_rng_init(&rng, 3, 0);
        for (int i = 0; i < 200; i++) {
            /* 80 us to 80 ms: over many windows, too */
            bursts[i] = (struct ng_burst){
                .due_ns = at_ns, .share = 80e3 * pow(1000, nl_rng_uniform(&rng)), .kind = -1};
            at_ns += (int64_t)bursts[i].share + 1 * MS + (int64_t)nl_rng_below(&rng, 20 * MS);
        }
        w->sim.wake_cost_ns = wake_costs_ns[j];
        w->plan.length_ns = at_ns + 1 * MS;
        w->plan.start_ns += 1 * MS; /* so that the first one is slept for, too */
        w->plan.carry_bursts = 0;
        give(w, bursts, 200);
        complete(w);
        EQUAL(w->account.n_run, 200, w->sim.n_spells, 201);
        for (int i = 0; i < 200; i++) {
            double tolerance = bursts[i].share > 200e3 ? 0.01 * bursts[i].share : 2e3;
            /* the first one is shorter by what is kept back for going to sleep the last time */
            if (i == 0) tolerance += (double)wake_costs_ns[j] + 500;
            assert_int_equal(w->sim.spells[i].begin_ns, w->plan.start_ns + bursts[i].due_ns);
            assert_near((double)w->sim.spells[i].cpu_ns, bursts[i].share, tolerance);
        }
        assert_int_equal(w->account.n_late, 0);
        assert_near(w->account.dropped, 0, 0);
        assert_near(w->account.carried, 0, 0);
        assert_near(ratio(w), 1, 0.0001);
    }
}

TEST(heavy_tails_are_not_dropped_on_an_undisturbed_cpu) {
    static const double carry_bursts[] = {0, 10};
    for (int seed = 1; seed <= 20; seed++) {
        OWNED(end_world) struct world *w = new_world();
        /* four decades of lengths at about 30 % of a CPU: the longest bursts outlast dozens of the others'
         * dates and windows */
        struct endless recorded = {.distance_ns = 1e6, .share = 0.3e6 * 0.0921, .spread = 4};
        w->plan.carry_bursts = carry_bursts[seed % 2];
        w->plan.period_ns = seed % 3 ? 1 * MS : 10 * MS;
        w->plan.level = 0.3;
        w->plan.length_ns = 1000 * MS;
        w->sim.wake_cost_ns = seed % 5 * 10 * US + 500;
        w->sim.quantum_ns = 1000;
        w->plan.is_bounded = 0; /* what cannot end in time is then not dropped either */
        w->sim.stop_at_ns = 2000 * MS;
        give_endless(w, &recorded, (uint64_t)seed);
        assert_int_equal(run(w, ng_run_deadline), NG_RUN_INTERRUPTED);
        assert_near(w->account.dropped, 0, 0);
        assert_near(w->account.requested, 300e6, 150e6);
    }
}

TEST(a_loss_of_the_cpu_within_a_long_burst_is_carried_up_to_the_cap) {
    static const struct {
        int64_t lost_ns;
        double dropped_ns;
    } rows[] = {{1 * MS, 0},
                {5 * MS, 0},
                {50 * MS, 39e6}}; /* ten shares of 1 ms may be carried, and 1 ms is no lateness */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OWNED(end_world) struct world *w = new_world();
        const struct ng_burst bursts[] = {{10 * MS, 300e6, -1}};
        w->plan.level = 0.1;
        w->plan.length_ns = 3000 * MS;
        lose_cpu(w, 1100 * MS, 1100 * MS + rows[i].lost_ns);
        give(w, bursts, 1);
        complete(w);
        assert_near(w->account.dropped, rows[i].dropped_ns, 0.1e6);
        assert_near((double)w->account.delivered_ns, 300e6 - rows[i].dropped_ns, 0.1e6);
    }
}

PACED(the_duty_cap_holds_in_every_window_of_a_source_and_nothing_is_lost_by_it) {
    const struct ng_burst bursts[] = {
        {10 * MS, 50e6, -1}, {313 * MS, 8e6, -1}, {316 * MS, 8e6, -1}, {800 * MS, 1e6, -1}};
    w->plan.duty_cap = 0.2;
    w->plan.carry_bursts = 0;
    w->plan.length_ns = 1500 * MS;
    w->sim.period_ns = 10 * MS;
    give(w, bursts, 4);
    complete(w);
    assert_true(w->sim.most_in_period_ns > 1900 * US);
    assert_true(w->sim.most_in_period_ns <= 2000 * US + 2 * US);
    assert_near(w->account.dropped, 0, 0);
    assert_near(ratio(w), 1, 0.001);
    assert_int_equal(w->account.n_planned, 4);
    assert_true(w->account.n_run <= 4); /* going on in the next window is no burst of its own */
}

PACED(a_source_keeps_its_place_over_many_short_runs) {
    enum { N = 20000 };
    static struct ng_burst bursts[N];
    struct nl_rng rng;
    int64_t at_ns = 0, time_run_ns = 0;
    nl_rng_init(&rng, 17, 0);
    for (int i = 0; i < N; i++) {
        at_ns += (int64_t)nl_rng_below(&rng, 2 * MS);
        bursts[i] = (struct ng_burst){
            .due_ns = at_ns, .share = 1000 + (double)nl_rng_below(&rng, 100000), .kind = -1};
    }
    w->plan.is_bounded = 0;
    w->plan.level = 0.05;
    w->sim.quantum_ns = 500;
    give(w, bursts, N);
    for (int i = 0; i < 1000; i++) {
        int64_t asked_ns = 1 * MS + (int64_t)nl_rng_below(&rng, 20 * MS);
        w->plan.start_ns = w->sim.now_ns + (int64_t)nl_rng_below(&rng, 2 * MS) -
                           1 * MS / 2; /* in a while, or a little ago */
        w->plan.length_ns = asked_ns;
        w->sim.stop_at_ns =
            w->plan.start_ns + (int64_t)nl_rng_below(&rng, 25 * MS); /* before or after its end */
        int64_t before_ns = w->source.position_ns, begin_ns = w->sim.now_ns;
        ng_first_start_ns(&w->plan, &w->account,
                          ng_wake_cost_ns(&w->wake)); /* looks ahead, and must take nothing away */
        assert_int_equal(run(w, ng_run_deadline), NG_RUN_INTERRUPTED);
        int64_t ran_ns = w->source.position_ns - before_ns;
        assert_in_range(ran_ns, 0, asked_ns);
        /* its time stands still between the runs; an interruption is noticed within a quantum and a look at
         * the clock */
        int64_t wanted_ns = (w->sim.stop_at_ns > begin_ns ? w->sim.stop_at_ns : begin_ns) - w->plan.start_ns;
        if (wanted_ns < asked_ns)
            assert_near((double)ran_ns, (double)wanted_ns, 50 * US);
        else
            assert_int_equal(ran_ns, asked_ns);
        time_run_ns += ran_ns;
    }
    double content = 0;
    int64_t n = 0;
    for (; n < N && bursts[n].due_ns <= time_run_ns; n++)
        content += bursts[n].share;
    EQUAL(w->source.position_ns, time_run_ns, w->account.n_planned, n);
    assert_near(w->account.requested, content, 1);
}

PACED(a_slotted_source_goes_on_by_its_slot_however_long_it_ran) {
    enum { N = 3000 };
    static struct ng_burst bursts[N];
    struct nl_rng rng;
    double content = 0;
    int64_t n = 0;
    nl_rng_init(&rng, 5, 0);
    for (int i = 0; i < N; i++)
        bursts[i] = (struct ng_burst){.due_ns = i * 1 * MS, .share = 5000 + (double)i, .kind = -1};
    w->plan.is_bounded = 0;
    w->plan.is_slotted = 1;
    w->plan.level = 0.005;
    w->plan.length_ns = 10 * MS;
    w->sim.wake_cost_ns = 2 * US;
    give(w, bursts, N);
    for (int64_t i = 0; i < 300; i++) {
        int64_t half_ns = 2 * MS + (int64_t)nl_rng_below(&rng, 15 * MS);
        w->plan.start_ns = w->sim.now_ns + 100 * US;
        w->sim.stop_at_ns = w->plan.start_ns + half_ns;
        int64_t first_ns = ng_first_start_ns(&w->plan, &w->account, ng_wake_cost_ns(&w->wake));
        assert_true(first_ns >= w->plan.start_ns);
        assert_int_equal(run(w, ng_run_deadline), NG_RUN_INTERRUPTED);
        assert_int_equal(w->source.position_ns, (i + 1) * 10 * MS);
        /* what was due while it ran: no more than the slot, and nothing twice */
        for (int64_t k = i * 10; k < (i + 1) * 10 && bursts[k].due_ns - i * 10 * MS <= half_ns; k++) {
            content += bursts[k].share;
            n++;
        }
        assert_near((double)w->account.n_planned, (double)n,
                    1 + i / 100); /* a burst at the very end of a half may count or not */
    }
    assert_near(w->account.requested / content, 1, 0.005);
    assert_near(w->account.dropped, 0, 0);
}

PACED(a_source_that_cannot_be_read_any_more_ends_the_run_at_once) {
    const struct ng_burst bursts[] = {{0, 300e3, -1}, {20 * MS, 700e3, -1}, {40 * MS, 100e3, -1}};
    give(w, bursts, 3);
    w->list.fails_at = 2;
    assert_int_equal(run(w, ng_run_deadline), NG_RUN_FAILED);
    assert_true(w->sim.now_ns < 1100 * MS); /* not after the ten seconds of the plan */
    /* and under a detector it does not wait for the next command either */
    w->plan.is_bounded = 0;
    w->sim.stop_at_ns = 9000 * MS;
    assert_int_equal(run(w, ng_run_deadline), NG_RUN_FAILED);
    assert_true(w->sim.now_ns < 1100 * MS);
}

TEST(a_kind_that_cannot_go_on_ends_the_run_at_once) {
    for (int i = 0; i < 5; i++) {
        OWNED(end_world) struct world *w = new_world();
        struct endless recorded = {.distance_ns = 10e6, .share = 100e3};
        w->plan.is_bounded = i % 2 == 0;
        if (i == 2 || i == 3) give_endless(w, &recorded, 1);
        w->sim.fails_at = 2500; /* of some 450 a burst */
        w->sim.stop_at_ns = 9000 * MS;
        assert_int_equal(run(w, i < 4 ? ng_run_deadline : ng_run_published), NG_RUN_FAILED);
        EQUAL(w->sim.n_quanta, 2500, i < 4 ? w->account.delivered_units : 2499, 2499);
        assert_true(w->sim.now_ns < 1500 * MS);
    }
    /* and one that fails while the last rest is worked off */
    OWNED(end_world) struct world *before = new_world();
    OWNED(end_world) struct world *last = new_world();
    before->plan.length_ns = last->plan.length_ns = 1000 * MS;
    run(before, ng_run_deadline);
    last->sim.fails_at = before->sim.n_quanta;
    assert_int_equal(run(last, ng_run_deadline), NG_RUN_FAILED);
}

PACED(more_tiny_bursts_than_can_be_merged_wake_it_once_per_window) {
    struct endless tiny = {.distance_ns = 1000, .share = 1};
    w->plan.level = 0.001;
    w->plan.length_ns = 100 * MS; /* 100,000 bursts of 1 ns, of which 41,000 would pay for one wake-up */
    give_endless(w, &tiny, 1);
    complete(w);
    assert_near((double)w->account.n_planned, 100e3, 5 * sqrt(100e3));
    assert_near(w->account.requested, (double)w->account.n_planned, 1e-3);
    /* each wake-up takes so long that another burst comes meanwhile */
    assert_in_range(w->account.n_run, w->account.n_planned / NG_WINDOW,
                    2 * (w->account.n_planned / NG_WINDOW + 1));
    /* what it cannot help using it does not hide */
    assert_true(ratio(w) > 1);
}

PACED(an_interruption_ends_a_burst_at_the_next_quantum_and_cancels_its_rest) {
    const struct ng_burst bursts[] = {{0, 300e3, -1}, {20 * MS, 700e6, -1}, {2000 * MS, 100e3, -1}};
    OWNED(end_world) struct world *even = new_world();
    even->plan.level = 0.5;
    even->plan.period_ns = 5000 * MS;
    even->sim.stop_at_ns = 2000 * MS; /* within the first burst of 2.5 s */
    w->sim.stop_at_ns = 1120 * MS;
    give(w, bursts, 3);
    for (int i = 0; i < 2; i++) {
        struct world *one = i ? w : even;
        assert_int_equal(run(one, ng_run_deadline), NG_RUN_INTERRUPTED);
        assert_in_range(one->sim.now_ns, one->sim.stop_at_ns, one->sim.stop_at_ns + 50 * US);
        assert_near(ratio(one), 1, 0.001);
        assert_near(one->account.dropped, 0, 1);
    }
    assert_int_equal(w->account.n_planned, 2);
    assert_near(w->account.requested, 100.3e6, 0.1e6);
}

TEST(a_plan_that_ends_within_a_burst_of_a_source_asks_for_what_fits) {
    static const double shares[] = {100e6, 3000e6, 1e15};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        OWNED(end_world) struct world *w = new_world();
        const struct ng_burst bursts[] = {{0, 300e3, -1}, {900 * MS, shares[i], -1}};
        w->plan.length_ns = 1000 * MS;
        give(w, bursts, 2);
        complete(w);
        assert_in_range(w->sim.now_ns, 2000 * MS - 100 * US, 2000 * MS + 100 * US);
        assert_near(w->account.requested, 100.3e6,
                    1.1e6); /* what a CPU that begins 1 ms late could not do is not asked for either */
        assert_near(ratio(w), 1, 0.001);
        assert_near(w->account.dropped, 0, 1);
        assert_int_equal(w->account.n_run, 2);
    }
}

PACED(what_was_lost_before_the_end_of_a_plan_is_dropped_all_the_same) {
    const struct ng_burst bursts[] = {{900 * MS, 50e6, -1}};
    w->plan.carry_bursts = 1000;
    w->plan.length_ns = 1000 * MS;
    lose_cpu(w, 1910 * MS, 1990 * MS); /* 10 ms before, 10 ms after, 30 ms missing */
    give(w, bursts, 1);
    complete(w);
    assert_near((double)w->account.delivered_ns, 20e6, 0.1e6);
    assert_near(w->account.requested, 50e6, 1);
    assert_near(w->account.dropped, 30e6, 0.1e6);
}

/* ---- several kinds ---- */

PACED(each_kind_of_a_source_gets_its_own_part) {
    enum { N = 900 };
    static struct ng_burst bursts[N];
    double wanted[2] = {0};
    for (int i = 0; i < N; i++) {
        int kind = i % 9 == 8; /* the second kind has every ninth burst: twice as long */
        bursts[i] =
            (struct ng_burst){.due_ns = i * 10 * MS, .share = kind ? 200e3 : 100e3, .kind = kind ? -1 : 0};
        wanted[kind] += bursts[i].share;
    }
    w->plan.kind = 1; /* of those that name none */
    give(w, bursts, N);
    complete(w);
    for (int kind = 0; kind < 2; kind++) {
        assert_near(w->tallies[kind].requested, wanted[kind], 1);
        assert_near((double)w->tallies[kind].delivered_ns / wanted[kind], 1, 0.01);
        assert_int_equal(w->tallies[kind].n_run, kind ? 100 : 800);
    }
}

/* ---- counted doses ---- */

/* A plan of this many units per second, for `seconds`. */
static void count_doses(struct world *w, double per_s, int64_t seconds) {
    w->plan.is_counted = 1;
    w->plan.level = per_s * 1e-9;
    w->plan.length_ns = seconds * 1000 * MS;
}

TEST(counted_plans_deliver_exactly_their_rate_times_their_time) {
    static const struct {
        double per_s;
        int64_t period_ms, seconds, wanted;
        int quanta_per_unit, units_per_wake_up;
    } rows[] = {
        {1000, 10, 10, 10000, 1, 0},  /* ten units a burst */
        {100, 10, 10, 1000, 7, 0},    /* one unit a burst, of several quanta each */
        {150, 10, 10, 1500, 3, 0},    /* one and a half */
        {0.5, 10, 100, 50, 40, 0},    /* a unit every 200 periods: it wakes up for nothing less */
        {1. / 3, 1000, 60, 20, 1, 0}, /* not a binary fraction */
        {33.3, 10, 10, 333, 1, 0},     {0.1, 1000, 9, 0, 1, 0},   /* less than one */
        {100, 10, 10, 1000, 1, 1},                                /* the wake-up is the unit */
        {50, 10, 10, 500, 1, 1},       {250, 10, 10, 2500, 1, 1}, /* it is one of the units */
        {123457, 10, 1, 123457, 1, 0},
    };
    static const char *const patterns[] = {"periodic", "jittered", "bursts", "poisson"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int j = 0; j < 4; j++) {
            OWNED(end_world) struct world *w = new_world();
            w->plan.period_ns = rows[i].period_ms * MS;
            count_doses(w, rows[i].per_s, rows[i].seconds);
            w->sim.quanta_per_unit = rows[i].quanta_per_unit;
            w->units_per_wake_up = rows[i].units_per_wake_up;
            if (j == 1)
                w->plan.jitter = 1;
            else if (j > 1)
                give_pattern(w, patterns[j]);
            complete(w);
            /* random bursts ask for what they are, not for what they are on average; units are whole */
            if (j < 2) assert_near(w->account.requested, rows[i].per_s * (double)rows[i].seconds, 1e-6);
            int64_t wanted = j < 2 ? rows[i].wanted : (int64_t)(w->account.requested + 1e-6);
            int is_fraction = w->account.requested - (double)wanted > 1e-6;
            assert_in_range(w->account.delivered_units, wanted, wanted + is_fraction);
            if (j == 0 && i == 3)
                EQUAL(w->account.n_run, 50, w->account.n_planned, 10000, w->sim.n_sleeps, 51);
            assert_near(w->account.dropped, 0, 1);
        }
    }
}

TEST(a_counted_unit_may_outlast_its_period) {
    static const double carry_bursts[] = {0, 10};
    for (int i = 0; i < 4; i++) {
        OWNED(end_world) struct world *w = new_world();
        count_doses(w, 20, 10);
        w->plan.carry_bursts = carry_bursts[i % 2];
        w->sim.quanta_per_unit = 100000; /* 20 ms of the 50 that a unit has */
        w->sim.quantum_ns = 200;
        if (i / 2) give_pattern(w, "bursts");
        complete(w);
        assert_near((double)w->account.delivered_units, 200, 1);
        assert_near(w->account.dropped, 0, 1);
    }
}

PACED(the_duty_cap_holds_in_counted_plans_and_the_rest_is_reported) {
    /* 2 us a unit, 1000 units in 10 ms: 20 % asked for, 5 % allowed */
    count_doses(w, 1e5, 2);
    w->sim.quanta_per_unit = 10;
    w->plan.duty_cap = 0.05;
    w->sim.period_ns = 10 * MS;
    complete(w);
    assert_true(w->sim.most_in_period_ns <= 500 * US + 3 * US);
    assert_near((double)w->account.delivered_units, 0.05 * 2e9 / 2000, 3000);
    /* ten bursts' worth may be outstanding; at the end that is given up as well */
    assert_near(w->account.dropped, 200e3 - (double)w->account.delivered_units, 1);
    assert_near(w->account.owed, 0, 1e-6);
}

TEST(a_loss_of_the_cpu_is_made_up_for_in_units_up_to_the_cap) {
    static const struct {
        int64_t lost_ms;
        double dropped, carried;
    } rows[] = {{35, 0, 30}, {1000, 900, 100}};
    for (int i = 0; i < 4; i++) {
        OWNED(end_world) struct world *w = new_world();
        count_doses(w, 1000, 10);
        if (i / 2) give_pattern(w, "bursts");
        lose_cpu(w, 2000 * MS - 1, 2000 * MS - 1 + rows[i % 2].lost_ms * MS);
        complete(w);
        assert_near(w->account.dropped, rows[i % 2].dropped, 12);
        if (i / 2 == 0) assert_near(w->account.carried, rows[i % 2].carried, 12);
        assert_near((double)w->account.delivered_units, 10000 - w->account.dropped, 1);
    }
}

/* ---- early wake-ups ---- */

TEST(sleeps_that_end_late_are_begun_so_much_earlier) {
    static const int64_t delays_ns[] = {0, 5 * US, 60 * US, 180 * US};
    for (size_t i = 0; i < 3 * sizeof delays_ns / sizeof *delays_ns; i++) {
        OWNED(end_world) struct world *w = new_world();
        struct endless recorded = {.distance_ns = 10e6, .share = 100e3, .spread = 0};
        w->is_early = 1;
        w->sim.wake_delay_ns = delays_ns[i / 3];
        if (i % 3 == 1) give_endless(w, &recorded, 2);
        if (i % 3 == 2) count_doses(w, 1000, 10);
        complete(w);
        /* but for the first ones, which have to find out */
        int64_t wake_ns = w->sim.wake_cost_ns + 2 * US;
        assert_true(nl_hist_quantile(&w->lateness.hist, 0.5) < wake_ns);
        if (i % 3 != 1) assert_true(nl_hist_quantile(&w->lateness.hist, 0.99) < wake_ns);
        assert_true(w->lateness.max_ns <= delays_ns[i / 3] + wake_ns || i % 3 == 1);
        if (i % 3 != 2) assert_near(ratio(w), 1, 0.003);
        if (i % 3 == 2) assert_int_equal(w->account.delivered_units, 10000);
        if (i % 3 != 1) assert_int_equal(w->account.n_run, 1000);
    }
}

PACED(no_sleep_ends_more_than_200_us_ahead_of_its_burst) {
    w->is_early = 1;
    w->sim.wake_delay_ns = 5 * MS;
    complete(w);
    assert_in_range(nl_hist_quantile(&w->lateness.hist, 0.5), 4780 * US, 4880 * US);
}

PACED(a_burst_close_behind_another_one_does_not_begin_far_ahead_of_its_time) {
    /* the gap between two bursts of a pair is shorter than the lead */
    enum { N = 100 };
    struct ng_burst bursts[2 * N];
    for (int i = 0; i < N; i++) {
        bursts[2 * i] = (struct ng_burst){.due_ns = i * 10 * MS, .share = 500e3, .kind = -1};
        bursts[2 * i + 1] = (struct ng_burst){.due_ns = i * 10 * MS + 650 * US, .share = 500e3, .kind = -1};
    }
    w->is_early = 1;
    w->sim.wake_delay_ns = 180 * US;
    w->plan.length_ns = 1000 * MS;
    give(w, bursts, 2 * N);
    complete(w);
    assert_near(ratio(w), 1, 0.001);
    /* early by the gap or late by the rest of the delay, whichever is less */
    assert_true(nl_hist_quantile(&w->lateness.hist, 0.99) < 115 * US);
}

/* ---- the published loop ---- */

TEST(the_published_loop_overshoots_by_whole_quanta_and_counts_lost_time_as_work) {
    static const struct {
        double level;
        int64_t quantum_ns, lost_ms;
        double ratio, tolerance;
    } rows[] = {
        {0.0001, 170 * US, 0, 1.7, 0.01}, /* 100 us of each second by passes of the array */
        {0.01, 100 * US, 20, 0.9, 0.02},  /* the first burst of 10 ms but for two quanta */
    };
    for (int i = 0; i < 2; i++) {
        OWNED(end_world) struct world *w = new_world();
        w->plan.period_ns = 1000 * MS;
        w->plan.level = rows[i].level;
        w->sim.quantum_ns = rows[i].quantum_ns;
        w->sim.wake_cost_ns = 0;
        if (rows[i].lost_ms) lose_cpu(w, 1000 * MS + 50 * US, 1000 * MS + rows[i].lost_ms * MS);
        assert_int_equal(run(w, ng_run_published), 0);
        assert_near(ratio(w), rows[i].ratio, rows[i].tolerance);
    }
}

PACED(a_published_loop_stopped_before_its_begin_asks_for_nothing) {
    w->plan.start_ns = 5000 * MS;
    w->sim.stop_at_ns = 2000 * MS;
    assert_int_equal(run(w, ng_run_published), NG_RUN_INTERRUPTED);
    assert_near(w->account.requested, 0, 0);
    assert_int_equal(w->account.n_planned, 0);
}
