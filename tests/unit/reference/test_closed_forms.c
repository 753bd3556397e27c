/* The reference simulator against what can be computed by hand. */
#include "tests/unit/reference/truths.h"

/* what rounding and parts of a period leave of a truth without chance, percent */
static const double rounding = 0.02;

TEST(one_node_loses_what_bursts_take_of_the_time_whatever_the_step) {
    const double steps_s[] = {1e-4, 1e-3, 1e-2, 0.3};
    for (size_t i = 0; i < 4; i++) {
        assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", 1, steps_s[i], 200, 0.001,
                     100 * 2.5 / 97.5, rounding);
        assert_truth("gap_s=0.05 cost=fixed:5e-3", 1, steps_s[i], 200, 0.002, 100 * 0.1 / 0.9, rounding);
        assert_truth("gap_s=0.02 cost=exponential:6e-3", 1, steps_s[i], 200, 0.005, 100 * 0.3 / 0.7,
                     rounding);
    }
    assert_truth("gap_s=0.1 cost=pareto:2e-3:2.5:0.05", 1, 1e-2, 400, 0.003, 100 * 0.02 / 0.98, rounding);
    assert_truth("gap_s=0.1 cost=two:1e-3:9e-3:0.25", 1, 1e-2, 400, 0.003, 100 * 0.03 / 0.97, rounding);
    assert_truth("gap_s=0.1 cost=fixed:1e-3 clump=7 apart_s=3e-4", 1, 1e-2, 400, 0.003, 100 * 0.07 / 0.93,
                 rounding);
    assert_truth("arrivals=one-by-one gap_s=0.1 cost=fixed:1e-3 clump=7 apart_s=3e-3", 1, 1e-2, 400, 0.003,
                 100 * 0.07 / 0.93, rounding);
    assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 left_out=0.1", 1, 1e-2, 400, 0.002,
                 100 * 0.0225 / 0.9775, rounding);
    assert_truth("arrivals=periodic gap_s=0.04 cost=fixed:2e-3 left_out=0.35 late_s=0.03", 1, 1e-2, 400,
                 0.002, 100 * 0.0325 / 0.9675, rounding);
}

TEST(nodes_that_are_hit_alike_lose_what_one_loses) {
    assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 phase=same", 1000, 1e-3, 200, 0.001,
                 100 * 2.5 / 97.5, rounding);
    assert_truth("gap_s=0.05 cost=exponential:5e-3 phase=same", 300, 1e-3, 200, 0.002, 100 * 0.1 / 0.9,
                 rounding);
    /* shared beats of a fixed cost are the same bursts, by the way that has a queue for each node */
    assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3 phase=shared", 50, 1e-3, 20, 0.001,
                 100 * 2.5 / 97.5, rounding);
}

TEST(cpus_that_are_hit_alike_lose_what_one_loses) {
    struct rs_truth one = truth_of("gap_s=1 cost=fixed:1e-3", 300, 1e-3, 8, 0);
    struct rs_truth sixteen = truth_of("gap_s=1 cost=fixed:1e-3 cpus=16", 300, 1e-3, 8, 0);
    struct rs_truth in_turn = truth_of("gap_s=1 cost=fixed:1e-3 cpus=3 lag_s=1e-12", 300, 1e-3, 8, 0);
    assert_near(sixteen.slowdown, one.slowdown, 1e-9);
    assert_near(in_turn.slowdown, one.slowdown, 1e-3);
    /* each by itself they are nodes */
    struct rs_truth nodes = truth_of("gap_s=1 cost=fixed:1e-3", 1200, 1e-3, 8, 0),
                    cpus = truth_of("gap_s=1 cost=fixed:1e-3 cpus=4 hit=own", 300, 1e-3, 8, 0);
    assert_near(cpus.slowdown, nodes.slowdown, 1e-9);
}

TEST(the_limit_is_the_most_bursts_that_a_step_can_meet) {
    assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3", 3000, 1e-2, 8, 0, 25, rounding);
    assert_truth("arrivals=periodic gap_s=0.01 cost=fixed:250e-6", 3000, 1e-2, 8, 0, 5, rounding);
    assert_truth("arrivals=periodic gap_s=1e-3 cost=fixed:25e-6", 3000, 1e-2, 8, 0, 2.75, rounding);
    assert_truth("arrivals=periodic gap_s=0.2 cost=fixed:3e-3", 20000, 5e-3, 8, 0, 60, rounding);
}

/* Beats at the same moment, costs of each node's own: a beat holds all up for as long as the longest of its
   bursts. */
TEST(a_beat_of_exponential_costs_holds_up_for_their_greatest) {
    double harmonic = 0;
    for (int i = 1; i <= 1024; i++)
        harmonic += 1. / i;
    assert_near(harmonic, 7.509, 5e-4);
    double lost_s = 1e-3 * harmonic;
    assert_truth("arrivals=periodic gap_s=0.1 cost=exponential:1e-3 phase=shared", 1024, 1e-2, 100, 0.003,
                 100 * lost_s / (0.1 - lost_s), rounding);
    lost_s = 2e-3 * (1 + 1. / 2 + 1. / 3);
    assert_truth("arrivals=periodic gap_s=0.3 cost=exponential:2e-3 phase=shared", 3, 1e-2, 100, 0.003,
                 100 * lost_s / (0.3 - lost_s), rounding);
    /* the same for CPUs of one node */
    assert_truth("arrivals=periodic gap_s=0.3 cost=exponential:2e-3 cpus=3 hit=own-costs", 1, 1e-2, 100,
                 0.003, 100 * lost_s / (0.3 - lost_s), rounding);
}

TEST(a_beat_that_is_left_out_now_and_then_holds_up_if_it_comes_on_any_node) {
    double lost_s = 5e-3 * (1 - pow(1 - 0.02, 40));
    assert_truth("arrivals=periodic gap_s=0.1 cost=fixed:5e-3 left_out=0.98 phase=shared", 40, 1e-2, 100,
                 0.003, 100 * lost_s / (0.1 - lost_s), rounding);
}

/* Steps that are far shorter than anything else: all stand still while any node has a burst, and phases are
   points on a circle (Stevens 1939). */
TEST(steps_without_length_stand_still_while_any_node_has_a_burst) {
    struct rs_machine machine = machine_of("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3");
    double share = 0, squares = 0;
    enum { DRAWS = 300 };
    for (unsigned i = 0; i < DRAWS; i++) {
        struct rs_result run;
        assert_int_equal(rs_run(&machine, 10, 1e-5, (struct rs_length){400, 2}, i, &run), 0);
        double still = run.slowdown / (1 + run.slowdown);
        share += still / DRAWS;
        squares += still * still / DRAWS;
    }
    /* a step of 10 us ends at most so much later than it could */
    assert_near(share, 1 - pow(0.975, 10), 3 * sqrt((squares - share * share) / DRAWS) + 0.002);
}

/* Of bursts that are rare, each costs a long step what it takes. */
TEST(rare_bursts_cost_in_proportion_to_their_number) {
    assert_truth("gap_s=1000 cost=fixed:1e-4", 100, 1e-2, 8, 0.01, 100 * 100 / 1000. * 1e-4, 1e-5);
    assert_truth("gap_s=400 cost=exponential:2e-4", 10, 1e-2, 8, 0.01, 100 * 10 / 400. * 2e-4, 1e-5);
}

TEST(slowdown_rises_with_nodes_between_its_two_bounds) {
    struct rs_machine machine = machine_of("arrivals=periodic gap_s=0.1 cost=fixed:2.5e-3");
    double before = 0;
    for (uint64_t nodes = 1; nodes <= 4096; nodes *= 4) {
        struct rs_result run;
        assert_int_equal(rs_run(&machine, nodes, 1e-3, (struct rs_length){4000, 40}, 7, &run), 0);
        /* node i has the same phase in all of them */
        assert_true(run.slowdown >= before - 1e-3);
        assert_true(run.slowdown >= 0.025 / 0.975 - 1e-3 && run.slowdown <= 2.5 + 1e-9);
        before = run.slowdown;
    }
}

TEST(costs_have_the_means_that_they_are_asked_for) {
    static const struct {
        const char *words;
        double mean_s, sd_s;
    } rows[] = {{"gap_s=1 cost=fixed:3e-4", 3e-4, 0},
                {"gap_s=1 cost=exponential:3e-4", 3e-4, 3e-4},
                {"gap_s=1 cost=two:1e-4:1e-2:0.01", 1.99e-4, 9.85e-4},
                {"gap_s=1 cost=pareto:3e-4:2.5:0.05", 3e-4, 3e-4},
                {"gap_s=1 cost=pareto:3e-4:1.5:0.05", 3e-4, 2e-3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rs_machine machine = machine_of(rows[i].words);
        struct rs_random random = rs_stream(5, 1, 2, 3);
        double sum = 0, most = 0;
        enum { N = 400000 };
        for (int k = 0; k < N; k++) {
            double cost = rs_draw_cost(&machine, &random);
            sum += cost;
            most = fmax(most, cost);
            assert_true(cost > 0 && cost >= machine.least_s * (1 - 1e-12));
        }
        assert_near(sum / N, rows[i].mean_s, 4 * rows[i].sd_s / sqrt(N) + 1e-12);
        if (machine.costs == RS_PARETO) assert_true(most <= machine.cap_s * (1 + 1e-12));
    }
}

/* Of a Pareto variable the share above x is (least / x)^index, but for what the cap leaves out. */
TEST(pareto_costs_have_the_tail_that_they_are_asked_for) {
    struct rs_machine machine = machine_of("gap_s=1 cost=pareto:1e-4:1.5:10");
    struct rs_random random = rs_stream(6, 0, 0, 0);
    int above[2] = {0};
    enum { N = 1000000 };
    for (int k = 0; k < N; k++) {
        double times = rs_draw_cost(&machine, &random) / machine.least_s;
        above[0] += times > 4;
        above[1] += times > 25;
    }
    assert_near((double)above[0] / N, 1 / 8., 4 * sqrt(1 / 8. / N));
    assert_near((double)above[1] / N, 1 / 125., 4 * sqrt(1 / 125. / N));
}

TEST(words_that_say_no_machine_are_refused) {
    static const char *const wrong[] = {"cost",
                                        "cost=fixed",
                                        "cost=fixed:-1",
                                        "cost=two:1:2",
                                        "cost=none:1",
                                        "cost=fixed:1x",
                                        "gap_s=nan",
                                        "clump=0",
                                        "clump=2.5",
                                        "cpus=4096",
                                        "arrivals=weekly",
                                        "phase=other",
                                        "gap=1",
                                        "gap_s=1:2",
                                        "left_out=inf",
                                        "hit=all",
                                        "cost=pareto:1:2",
                                        "gap_s=",
                                        "=1",
                                        "cost=exponential:1:2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rs_machine machine = RS_PLAIN;
        if (!rs_set(&machine, wrong[i])) fail_msg("'%s' is not refused", wrong[i]);
    }
    struct rs_machine busy = RS_PLAIN;
    assert_null(rs_set(&busy, "gap_s=1e-3"));
    assert_non_null(rs_complete(&busy));
    assert_null(rs_set(&busy, "cost=fixed:0.96e-3"));
    assert_contains(rs_complete(&busy), "95 %");
}

/* A record has what happened: walked by hand, it gives the lost time of the machine. */
TEST(a_record_has_the_bursts_of_each_cpu_in_order_and_apart) {
    struct rs_machine machine = machine_of("gap_s=0.02 cost=exponential:6e-3 cpus=2 lag_s=1e-3");
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_int_equal(rs_record(&machine, 3, 0, 200, file), 0);
    fclose(file);
    int64_t start, duration, before = 0, free_from[2] = {0}, sums[2] = {0};
    int cpu, n = 0, used;
    assert_contains(text, "\n# span_ns: 200000000000\n");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#') continue;
        assert_int_equal(
            sscanf(line, "%" SCNd64 "\t%" SCNd64 "\t%d\t-\tagent%n", &start, &duration, &cpu, &used), 3);
        EQUAL(line[used], 0, cpu, cpu & 1);
        assert_true(duration > 0 && start >= before && start > free_from[cpu] &&
                    start + duration <= 200000000000);
        before = start;
        free_from[cpu] = start + duration;
        sums[cpu] += duration;
        n++;
    }
    assert_true(n > 10000);
    for (cpu = 0; cpu < 2; cpu++)
        assert_near((double)sums[cpu] / 2e11, 0.3, 0.02);
    free(text);
}
