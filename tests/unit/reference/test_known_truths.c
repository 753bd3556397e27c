/* The reference simulator against slowdowns that other programs have found, and against relations of which no
   list has numbers. */
#include "tests/unit/reference/truths.h"

/* Chained steps, phases of each draw uniform and fixed for a run, 2.5 % of the time: found by two other
   programs, with their standard errors. They depend on the step's share of the period alone. */
TEST(fixed_phases_cost_what_two_other_programs_found) {
    static const struct {
        double period_s, cost_s, step_s;
        uint64_t nodes;
        double percent, error;
    } rows[] = {{0.1, 2.5e-3, 1e-4, 10, 28.5, 0.2},    {0.1, 2.5e-3, 1e-4, 30, 112, 0.9},
                {0.1, 2.5e-3, 1e-4, 100, 815, 8},      {0.1, 2.5e-3, 1e-4, 1000, 2463, 1},
                {0.1, 2.5e-3, 1e-4, 10000, 2500, 0.5}, {0.1, 2.5e-3, 1e-3, 10, 27.0, 0.2},
                {0.01, 250e-6, 1e-4, 30, 87.3, 0.7},   {0.1, 2.5e-3, 1e-3, 100, 211.6, 0.6},
                {0.1, 2.5e-3, 1e-3, 1000, 250, 0.05},  {0.1, 2.5e-3, 1e-2, 10, 16.7, 0.2},
                {1e-3, 25e-6, 1e-4, 100, 25, 0.02},    {0.01, 250e-6, 1e-2, 10, 3.12, 0.01},
                {1e-3, 25e-6, 1e-3, 100, 4.95, 0.01},  {0.01, 250e-6, 1e-2, 1000, 5, 0.01},
                {1e-3, 25e-6, 1e-2, 10, 2.73, 0.005},  {1e-3, 25e-6, 1e-2, 100, 2.75, 0.005}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[128];
        snprintf(words, sizeof words, "arrivals=periodic gap_s=%g cost=fixed:%g", rows[i].period_s,
                 rows[i].cost_s);
        /* of many nodes one draw is like another */
        assert_truth(words, rows[i].nodes, rows[i].step_s, rows[i].nodes < 1000 ? 800 : 8, 0.004,
                     rows[i].percent, rows[i].error);
    }
}

/* How far one run differs from another: a projection has to hold it. */
TEST(fixed_phases_spread_as_two_other_programs_found) {
    static const struct {
        double step_s;
        uint64_t nodes;
        double spread;
    } rows[] = {{1e-4, 10, 3},   {1e-3, 10, 3.3},  {1e-3, 100, 13},
                {1e-2, 10, 3.1}, {1e-1, 10, 0.09}, {1e-1, 100, 0.09}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rs_truth truth =
            truth_of("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", rows[i].nodes, rows[i].step_s, 400, 0);
        assert_near(truth.spread, rows[i].spread, 0.2 * rows[i].spread);
    }
}

/* A sampler of 33 us per second. */
TEST(a_short_sampler_costs_what_was_worked_out) {
    const char *own = "arrivals=periodic gap_s=1 cost=fixed:33e-6";
    assert_truth(own, 1, 1e-3, 100, 0.01, 0.0033, 0.0001);
    assert_truth(own, 100, 1e-3, 100, 0.01, 0.32, 0.005);
    assert_truth(own, 1000, 1e-3, 100, 0.01, 2.1, 0.03);
    assert_truth(own, 10000, 1e-3, 8, 0.01, 3.3, 0.03);
    assert_truth("arrivals=periodic gap_s=1 cost=fixed:33e-6 phase=same", 10000, 1e-3, 8, 0.01, 0.0033,
                 0.0001);
}

/* Machines of which it was said by other programs what they cost, to so many digits; beside each a second
   one, whose truth follows from a relation. */
TEST(machines_cost_what_other_programs_found) {
    static const struct {
        const char *words;
        uint64_t nodes;
        double step_s, percent, known_to;
    } rows[] = {
        {"gap_s=1 cost=fixed:1e-3 cpus=16", 1000, 1e-3, 74, 0.5},
        {"gap_s=1 cost=fixed:2e-3", 1000, 1e-3, 163.5, 0.5},
        {"gap_s=2 cost=fixed:2e-3 cpus=8", 1000, 1e-3, 104, 0.5},
        {"arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=2e-3", 1000, 1e-3, 10, 0.02},
        {"arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=1e-3", 1000, 1e-3, 17, 0.2},
        {"arrivals=one-by-one gap_s=1 cost=fixed:1e-4 clump=10 apart_s=3e-4", 1000, 1e-3, 45, 0.6},
        {"arrivals=one-by-one gap_s=5 cost=fixed:1e-3 clump=10 apart_s=1.05e-3", 1000, 1e-3, 389, 1},
        {"gap_s=0.02 cost=fixed:1e-3", 16, 0.1, 10.0, 0.05},
        {"gap_s=0.01 cost=fixed:1e-3", 16, 0.1, 18.3, 0.05},
        {"gap_s=0.005 cost=fixed:1e-3", 16, 0.1, 37.1, 0.05},
        {"gap_s=0.0025 cost=fixed:1e-3", 16, 0.1, 93.2, 0.1},
        {"gap_s=1 cost=fixed:1e-2", 10000, 1e-3, 1466, 2},
        {"arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 left_out=0.1", 1, 1e-2, 2.300, 0.002},
        {"arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 left_out=0.2", 1, 1e-2, 2.036, 0.002},
        {"arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 phase=same", 1000, 1e-3, 2.564, 0.0005},
        {"gap_s=20 cost=fixed:1e-2", 1000, 1e-3, 62, 0.3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_truth(rows[i].words, rows[i].nodes, rows[i].step_s, 100, 0.002, rows[i].percent,
                     rows[i].known_to);
    }
}

/* Times that are all so many times as long change nothing. */
TEST(the_unit_of_time_does_not_matter) {
    struct rs_truth ms = truth_of("gap_s=0.5 cost=exponential:1e-3 clump=3 apart_s=4e-4", 200, 2e-3, 8, 0);
    struct rs_truth s = truth_of("gap_s=500 cost=exponential:1 clump=3 apart_s=0.4", 200, 2, 8, 0);
    assert_near(ms.slowdown, s.slowdown, 1e-6 * s.slowdown);
}

/* Of many nodes only the rate of all of them together matters; of few each one's own. */
TEST(unequal_nodes_spread_as_their_rates_do) {
    struct rs_truth equal = truth_of("gap_s=1 cost=fixed:1e-3", 1000, 1e-3, 60, 0),
                    unequal = truth_of("gap_s=1 cost=fixed:1e-3 rate_sd=1", 1000, 1e-3, 60, 0);
    assert_near(unequal.slowdown, equal.slowdown, 0.02 * equal.slowdown);
    assert_true(unequal.spread > 0.5 && equal.spread == 0);
    struct rs_truth few = truth_of("gap_s=1 cost=fixed:1e-3 rate_sd=0.5", 3, 5e-3, 400, 0);
    /* 0.3 % on average, by a lognormal factor each */
    assert_near(few.slowdown, 0.3, 0.02);
    assert_near(few.spread, 0.1 * sqrt(3 * (exp(0.25) - 1)), 0.02);
}

/* A node may not lose all of its time, however it is drawn. */
TEST(nodes_of_any_rate_have_time_to_work) {
    struct rs_truth truth = truth_of("gap_s=1 cost=fixed:0.3 rate_sd=2", 3, 1e-1, 60, 0);
    assert_true(isfinite(truth.slowdown) && truth.slowdown > 40);
}
