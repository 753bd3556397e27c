/* What recorded interruptions cost at scale, against answers that are known otherwise: by hand, from the
 * formulas of renewal and order statistics, and from programs that share nothing with the walk (a plain loop
 * over all ranks and steps, here; tables of independent simulators for the rest). */
#include "common/base/nl_rng.h"
#include "noisegen/top/walk.h"
#include "tests/unit/unit.h"

enum { US = 1000, MS = 1000000, MOST = 200000 };
#define S INT64_C(1000000000)

static struct nt_event events[MOST];

/* Slowdown in percent after about that many visits. */
static double slowdown(size_t n, int64_t span_ns, int n_cpus, const double *base, int n_nodes,
                       int64_t every_ns, int64_t n_visits) {
    struct nt_walk *walk;
    assert_int_equal(nt_walk_open(&walk, events, n, span_ns, n_cpus, base, n_nodes, every_ns, 7), 0);
    nt_walk_go(walk, n_visits);
    struct nt_walked walked = nt_walk_result(walk);
    nt_walk_close(walk);
    assert_true(walked.work_ns > 0);
    return 100 * walked.stall_ns / walked.work_ns;
}

static double exponential(struct nl_rng *rng) { return -log(1 - nl_rng_uniform(rng)); }

/* One burst of that length each period. */
static size_t periodic(int64_t length_ns, int64_t period_ns, int64_t span_ns) {
    size_t n = 0;
    for (int64_t at = 0; at + period_ns <= span_ns; at += period_ns)
        events[n++] = (struct nt_event){at, at + length_ns, 0};
    return n;
}

/* At random times `per_second` clumps of `n_in` bursts, `gap_ns` from start to start, on the first n_cpus
 * CPUs at once; one that would begin within another begins after it. */
static size_t clumps(double per_second, int n_in, int64_t length_ns, int64_t gap_ns, int n_cpus,
                     int64_t span_ns) {
    struct nl_rng rng;
    size_t n = 0;
    nl_rng_init(&rng, 11, 0);
    for (double at = 0;;) {
        at += exponential(&rng) / per_second * 1e9;
        if (at + (double)(n_in * (gap_ns + length_ns)) > (double)span_ns) return n;
        for (int i = 0; i < n_in; i++)
            for (int cpu = 0; cpu < n_cpus; cpu++) {
                int64_t start_ns = (int64_t)at + i * gap_ns;
                events[n++] = (struct nt_event){start_ns, start_ns + length_ns, cpu};
            }
        at += (double)((n_in - 1) * gap_ns + length_ns);
    }
}

static void assert_about(double value, double wanted, double share) {
    if (fabs(value - wanted) > share * wanted) print_error("%g for %g\n", value, wanted);
    assert_near(value, wanted, share * fabs(wanted));
}

TEST(a_quiet_node_costs_nothing_and_a_node_alone_its_share) {
    assert_near(slowdown(0, S, 2, NULL, 1000, MS, 10000), 0, 0);
    /* d / (T - d), whatever the steps */
    assert_about(slowdown(periodic(2500 * US, 100 * MS, 60 * S), 60 * S, 1, NULL, 1, MS, 200000), 2.564,
                 0.02);
    assert_about(slowdown(periodic(25 * US, MS, 60 * S), 60 * S, 1, NULL, 1, 10 * MS, 200000), 2.564, 0.02);
    assert_about(slowdown(periodic(70 * US, 10 * MS, S), S, 1, NULL, 1, 3 * MS, 200000), 0.7049, 0.02);
    /* what was not recorded one by one: 4 % of the CPU that loses most */
    double base[2] = {0.01, 0.04};
    assert_about(slowdown(0, S, 2, base, 1000, MS, 10000), 100 * (1 / 0.96 - 1), 1e-3);
}

/* The table of independent phases, means over draws of them. */
TEST(periodic_bursts_cost_what_independent_programs_say) {
    static const struct {
        int64_t length_ns, period_ns, every_ns;
        int n_nodes;
        double wanted, within;
    } cells[] = {
        {2500 * US, 100 * MS, MS, 10, 27.0, 0.04},      {2500 * US, 100 * MS, MS, 30, 87.3, 0.05},
        {2500 * US, 100 * MS, MS, 100, 211.6, 0.03},    {2500 * US, 100 * MS, MS, 1000, 250, 0.01},
        {2500 * US, 100 * MS, 10 * MS, 10, 16.7, 0.05}, {2500 * US, 100 * MS, 10 * MS, 100, 25, 0.01},
        {250 * US, 10 * MS, 10 * MS, 10, 3.12, 0.02},   {250 * US, 10 * MS, 10 * MS, 100, 4.95, 0.02},
        {250 * US, 10 * MS, 10 * MS, 1000, 5.0, 0.01},  {25 * US, MS, 10 * MS, 10, 2.73, 0.02},
        {25 * US, MS, 10 * MS, 1000, 2.75, 0.02},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        size_t n = periodic(cells[i].length_ns, cells[i].period_ns, 10 * S);
        assert_about(slowdown(n, 10 * S, 1, NULL, cells[i].n_nodes, cells[i].every_ns, 500000),
                     cells[i].wanted, cells[i].within);
    }
}

TEST(bursts_on_all_cpus_at_once_are_one_event_and_clumps_meet_steps_as_they_are) {
    assert_about(slowdown(clumps(1, 1, MS, 0, 16, 600 * S), 600 * S, 16, NULL, 1000, MS, 500000), 74, 0.05);
    assert_about(slowdown(clumps(1, 10, 100 * US, 2 * MS, 1, 600 * S), 600 * S, 1, NULL, 1000, MS, 500000),
                 10.0, 0.05);
    assert_about(slowdown(clumps(1, 10, 100 * US, 300 * US, 1, 600 * S), 600 * S, 1, NULL, 1000, MS, 500000),
                 45, 0.06);
    assert_about(slowdown(clumps(1, 10, 100 * US, MS, 1, 600 * S), 600 * S, 1, NULL, 1000, MS, 500000), 17,
                 0.06);
    assert_about(slowdown(clumps(0.2, 10, MS, 1050 * US, 1, 3000 * S), 3000 * S, 1, NULL, 1000, MS, 500000),
                 389, 0.06);
}

/* Bursts that begin while others are waited for count. */
TEST(high_loads_cost_what_queues_of_bursts_do) {
    static const double wanted[] = {10.0, 18.3, 37.1, 93.2}, loads[] = {0.05, 0.10, 0.20, 0.40};
    for (int i = 0; i < 4; i++) {
        /* work-conserving: a burst that comes while another one lasts comes after it */
        struct nl_rng rng;
        size_t n = 0;
        double at = 0, free_at = 0;
        nl_rng_init(&rng, 5, (uint64_t)i);
        while ((at += exponential(&rng) / loads[i] * MS) < 120e9 && n < MOST) {
            if (at > free_at) free_at = at;
            events[n++] = (struct nt_event){(int64_t)free_at, (int64_t)free_at + MS, 0};
            free_at += MS;
        }
        int64_t span_ns = n == MOST ? (int64_t)free_at : 120 * S;
        assert_about(slowdown(n, span_ns, 1, NULL, 16, 100 * MS, 500000), wanted[i], 0.06);
    }
}

/* Any record, against a loop that looks at every rank in every step, with offsets of its own. */
static double slow_slowdown(size_t n, int64_t span_ns, int n_cpus, int n_nodes, int64_t every_ns,
                            int n_steps) {
    struct nl_rng rng;
    double stall_ns = 0;
    nl_rng_init(&rng, 99, 0);
    int64_t now_ns = 0, *offsets = calloc((size_t)n_nodes, sizeof *offsets);
    for (int i = 0; i < n_nodes; i++) offsets[i] = (int64_t)(nl_rng_uniform(&rng) * (double)span_ns);
    for (int s = 0; s < n_steps; s++) {
        int64_t last_ns = 0;
        if (s % 100 == 0)
            for (int i = 0; i < n_nodes; i++) offsets[i] = (int64_t)(nl_rng_uniform(&rng) * (double)span_ns);
        for (int i = 0; i < n_nodes; i++)
            for (int cpu = 0; cpu < n_cpus; cpu++) {
                int64_t at_ns = (now_ns + offsets[i]) % span_ns, begin_ns = at_ns, left_ns = every_ns;
                /* the record twice, so that none ends within a step */
                for (size_t e = 0; e < 2 * n && left_ns > 0; e++) {
                    int64_t round_ns = e < n ? 0 : span_ns, start_ns = events[e % n].start_ns + round_ns,
                            end_ns = events[e % n].end_ns + round_ns;
                    if (events[e % n].cpu != cpu || end_ns <= at_ns) continue;
                    if (start_ns > at_ns) {
                        int64_t work_ns = start_ns - at_ns < left_ns ? start_ns - at_ns : left_ns;
                        left_ns -= work_ns;
                        at_ns += work_ns;
                    }
                    if (left_ns > 0) at_ns = end_ns;
                }
                at_ns += left_ns;
                if (at_ns - begin_ns > last_ns) last_ns = at_ns - begin_ns;
            }
        if (s % 100 >= 8) stall_ns += (double)(last_ns - every_ns) / ((double)every_ns * n_steps * 0.92);
        now_ns += last_ns;
    }
    free(offsets);
    return 100 * stall_ns;
}

TEST(a_record_of_several_cpus_costs_what_a_loop_over_all_ranks_says) {
    struct nl_rng rng;
    nl_rng_init(&rng, 3, 0);
    for (int record = 0; record < 3; record++) {
        size_t n = 0;
        for (int cpu = 0; cpu < 3; cpu++)
            for (double at = 0; at < 0.5e9; n++) {
                double length = 20e3 * pow(1 - nl_rng_uniform(&rng), -1 / 1.5); /* Pareto */
                if (length > 8e6) length = 8e6;
                at += exponential(&rng) * (record == 0 ? 20e6 : record == 1 ? 3e6 : 60e6);
                events[n] = (struct nt_event){(int64_t)at, (int64_t)(at + length), cpu};
                at += length;
            }
        int64_t span_ns = S;
        int n_nodes = record == 2 ? 7 : 60;
        double wanted = slow_slowdown(n, span_ns, 3, n_nodes, 2 * MS, 6000);
        assert_about(slowdown(n, span_ns, 3, NULL, n_nodes, 2 * MS, 500000), wanted, 0.06);
    }
}

/* More bursts than are walked: every step of every node meets ten or eleven of them. */
TEST(of_many_small_bursts_those_in_one_step_count_together) {
    size_t n = 0;
    for (int64_t at = 0; at < 10 * S && n < MOST; at += 100 * US)
        events[n++] = (struct nt_event){at, at + 5 * US, 0};
    assert_about(slowdown(n, 10 * S, 1, NULL, 1000, MS, 300000), 5.5, 0.02); /* n d / g */
}

/* Two tasks that take turns on a CPU for as long as it is watched: no step would end. */
TEST(a_cpu_that_others_have_all_the_time_is_one_that_loses_nearly_all) {
    alarm(60); /* a walk that does not end */
    size_t n = 0;
    for (int64_t at = 0; at < S; at += 4 * MS) events[n++] = (struct nt_event){at, at + 4 * MS, 0};
    assert_about(slowdown(n, S, 2, NULL, 1000, MS, 10000), 19900, 1e-6);
    /* beside another CPU that has bursts, and with a gap now and then */
    for (int64_t at = 0; at < S; at += 10 * MS) events[n++] = (struct nt_event){at, at + MS, 1};
    assert_about(slowdown(n, S, 2, NULL, 1000, MS, 10000), 19900, 1e-6);
    events[0].end_ns -= 3 * MS;
    assert_about(slowdown(n, S, 2, NULL, 1000, MS, 10000), 19900, 1e-6);
    /* with a little more room it is walked */
    events[1].end_ns -= 3 * MS;
    assert_true(slowdown(n, S, 2, NULL, 10, MS, 100000) > 9900);
    alarm(0);
}
