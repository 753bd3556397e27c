/* The pacing arithmetic and the loops, on a simulated machine: its clock moves only when somebody works, sleeps or is preempted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pace.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

/* ---- the simulated machine ---- */

struct simulation {
    int64_t now_ns, cpu_ns;
    int64_t wake_cost_ns;   /* CPU time of one sleep and wake-up */
    int64_t quantum_ns;     /* CPU time of one quantum of work */
    int64_t read_cost_ns;   /* CPU time of one look at the CPU clock */
    int64_t stop_at_ns;     /* an interruption comes at this time; 0: none */
    int64_t taken_from_ns;  /* the CPU is taken by somebody else from here ... */
    int64_t taken_until_ns; /* ... to here */
    int64_t outlier_ns;     /* wake-up number 100 costs this much more */
    int64_t period_ns;      /* to watch the CPU time of single periods; 0: do not */
    int64_t most_in_period_ns, in_period_ns, period;
    int n_sleeps;
};

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

static int64_t sim_now(void *context) {
    return ((struct simulation *)context)->now_ns;
}

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
    int is_stopped = s->stop_at_ns > 0 && (deadline_ns == NG_FOREVER || s->stop_at_ns < deadline_ns);
    int64_t until_ns = is_stopped ? s->stop_at_ns : deadline_ns;
    assert_true(until_ns >= 0); /* otherwise this sleep would never end */
    if (until_ns > s->now_ns) s->now_ns = until_ns;
    use_cpu(s, s->wake_cost_ns + (s->n_sleeps == 100 ? s->outlier_ns : 0));
    return is_stopped;
}

static int sim_sleep_for(void *context, int64_t duration_ns) {
    struct simulation *s = context;
    return sim_sleep_until(context, s->now_ns + duration_ns);
}

static void sim_work(void *state) {
    struct simulation *s = state;
    use_cpu(s, s->quantum_ns);
}

/* Everything one run needs, on the heap because of the histogram. */
struct world {
    struct simulation sim;
    struct ng_plan plan;
    struct ng_account account;
    struct ng_wake_cost wake;
    struct ng_lateness lateness;
};

static int make_world(void **state) {
    struct world *w = calloc(1, sizeof *w);
    if (!w) return -1;
    w->sim = (struct simulation){.now_ns = 1000 * MS, .wake_cost_ns = 20 * US, .quantum_ns = 200, .read_cost_ns = 500};
    w->plan = (struct ng_plan){.start_ns = 1000 * MS,
                               .period_ns = 10 * MS,
                               .length_ns = 10000 * MS,
                               .level = 0.01,
                               .duty_cap = 1,
                               .carry_bursts = 10,
                               .is_bounded = 1};
    *state = w;
    return 0;
}

static int free_world(void **state) {
    free(*state);
    return 0;
}

static int run(struct world *w, int (*loop)(const struct ng_plan *, const struct ng_machine *, const struct ng_run *)) {
    struct ng_machine machine = {.context = &w->sim,
                                 .now_ns = sim_now,
                                 .cpu_ns = sim_cpu,
                                 .sleep_until = sim_sleep_until,
                                 .sleep_for = sim_sleep_for,
                                 .interrupted = sim_interrupted,
                                 .work = sim_work,
                                 .work_state = &w->sim};
    struct ng_run run = {.account = &w->account, .wake = &w->wake, .lateness = &w->lateness};
    return loop(&w->plan, &machine, &run);
}

static double ratio(const struct world *w) {
    return (double)w->account.delivered_ns / w->account.requested_ns;
}

static void assert_near(double value, double wanted, double tolerance) {
    if (value >= wanted - tolerance && value <= wanted + tolerance) return;
    fail_msg("%.9g is not within %.3g of %.9g", value, tolerance, wanted);
}

/* requested = delivered + dropped + owed, whatever happened. */
static void assert_balanced(const struct world *w) {
    const struct ng_account *a = &w->account;
    assert_near((double)a->delivered_ns + a->dropped_ns + a->owed_ns, a->requested_ns, 1);
}

/* ---- arithmetic ---- */

static void a_plan_of_25_ms_has_three_periods_of_10_ms_and_the_last_share_is_half(void **state) {
    (void)state;
    struct ng_plan plan = {.period_ns = 10 * MS, .length_ns = 25 * MS, .level = 0.1};
    assert_int_equal(ng_n_periods(&plan), 3);
    assert_near(ng_share_ns(&plan, 0, 1), 1e6, 0.01);
    assert_near(ng_share_ns(&plan, 2, 3), 0.5e6, 0.01);
    assert_near(ng_share_ns(&plan, 0, 3), 2.5e6, 0.01);
    assert_near(ng_share_ns(&plan, 2, 2), 0, 0);
}

static void a_plan_at_level_0_has_no_periods(void **state) {
    (void)state;
    struct ng_plan plan = {.period_ns = 10 * MS, .length_ns = 25 * MS, .level = 0};
    assert_int_equal(ng_n_periods(&plan), 0);
    assert_int_equal(ng_n_due(&plan, 20 * MS), 0);
}

static void bursts_become_due_at_their_times_and_never_after_the_last(void **state) {
    (void)state;
    struct ng_plan plan = {.start_ns = 100 * MS, .period_ns = 10 * MS, .length_ns = 30 * MS, .level = 0.1};
    assert_int_equal(ng_burst_ns(&plan, 2), 120 * MS);
    assert_int_equal(ng_n_due(&plan, 100 * MS - 1), 0);
    assert_int_equal(ng_n_due(&plan, 100 * MS), 1);
    assert_int_equal(ng_n_due(&plan, 120 * MS - 1), 2);
    assert_int_equal(ng_n_due(&plan, 900 * MS), 3);
}

static void a_share_smaller_than_a_wake_up_is_saved_until_it_pays_for_one(void **state) {
    (void)state;
    /* shares of 2 us, a wake-up costs 15 us: the first of eight bursts (16 us) can pay; n is 100 */
    struct ng_plan plan = {.period_ns = 20 * MS, .length_ns = 2000 * MS, .level = 0.0001};
    struct ng_account account = {0};
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 0), 7);
    account.owed_ns = -5000; /* overdrawn: 20 us missing, ten shares */
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 0), 9);
    account.owed_ns = 14000; /* one share is enough */
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 3), 3);
    account.owed_ns = -1e6; /* never within this plan */
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 0), 100);
    plan.is_bounded = 1; /* alone, the sleep afterwards is paid, too: 30 us, fifteen shares */
    account.owed_ns = 0;
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 0), 14);
}

static void a_share_larger_than_a_wake_up_runs_every_period(void **state) {
    (void)state;
    struct ng_plan plan = {.period_ns = 10 * MS, .length_ns = 1000 * MS, .level = 0.01};
    struct ng_account account = {0};
    for (int64_t k = 0; k < 100; k += 33) assert_int_equal(ng_next_burst(&plan, &account, 15 * US, k), k);
    assert_int_equal(ng_next_burst(&plan, &account, 15 * US, 100), 100);
}

static void work_is_what_is_owed_within_what_the_cap_leaves(void **state) {
    (void)state;
    struct ng_plan plan = {.period_ns = 10 * MS, .length_ns = 1000 * MS, .level = 0.01, .duty_cap = 0.02};
    struct ng_account account = {.owed_ns = 100000};
    assert_int_equal(ng_work_ns(&plan, &account, 20 * US, 0), 100000);
    assert_int_equal(ng_work_ns(&plan, &account, 20 * US, 150000), 50000); /* 200 us cap, 150 used */
    assert_int_equal(ng_work_ns(&plan, &account, 20 * US, 250000), 0);
    plan.is_bounded = 1;
    assert_int_equal(ng_work_ns(&plan, &account, 20 * US, 0), 80000); /* less the sleep that follows */
    account.owed_ns = -5;
    assert_int_equal(ng_work_ns(&plan, &account, 20 * US, 0), 0);
}

static void missed_time_is_carried_up_to_the_cap_and_the_rest_dropped(void **state) {
    (void)state;
    /* shares of 100 us, two may be carried, plus the 20 us of a wake-up: 220 us */
    struct ng_plan plan = {.period_ns = 10 * MS, .length_ns = 1000 * MS, .level = 0.01, .carry_bursts = 2};
    struct ng_account account = {.owed_ns = 450000};
    ng_carry(&plan, &account, 20 * US, 100000); /* 350 us missed beside the current share */
    assert_near(account.dropped_ns, 130000, 0.01);
    assert_near(account.carried_ns, 220000, 0.01);
    assert_near(account.owed_ns, 320000, 0.01);
    ng_carry(&plan, &account, 20 * US, 100000); /* the same 220 us once more: not counted twice */
    assert_near(account.carried_ns, 220000, 0.01);
    ng_charge(&account, 200000);                /* pays the oldest: 20 us of it are left, and 100 of the current share */
    account.owed_ns += 100000;                  /* the next period */
    ng_carry(&plan, &account, 20 * US, 100000); /* 120 us missed, 20 of them old */
    assert_near(account.carried_ns, 320000, 0.01);
    assert_near(account.dropped_ns, 130000, 0.01);
}

static void the_cost_of_a_wake_up_is_a_median_that_ignores_outliers(void **state) {
    (void)state;
    struct ng_wake_cost wake = {0};
    assert_int_equal(ng_wake_cost_ns(&wake), 20000);
    ng_wake_cost_add(&wake, 12000);
    assert_int_equal(ng_wake_cost_ns(&wake), 12000);
    ng_wake_cost_add(&wake, 5000000);
    ng_wake_cost_add(&wake, 13000);
    assert_int_equal(ng_wake_cost_ns(&wake), 13000);
    for (int i = 0; i < 20; i++) ng_wake_cost_add(&wake, 30000 + i);
    assert_int_equal(ng_wake_cost_ns(&wake), 30016); /* the median of the last seven, 30013 to 30019 */
}

static void random_bursts_lie_within_their_periods_and_in_their_middle_on_average(void **state) {
    (void)state;
    struct ng_plan plan = {
        .start_ns = 5 * MS, .period_ns = 10 * MS, .length_ns = 40000 * MS, .level = 0.1, .is_random = 1, .random_seed = 7};
    double sum = 0;
    for (int64_t k = 0; k < 4000; k++) {
        int64_t offset_ns = ng_burst_ns(&plan, k) - plan.start_ns - k * plan.period_ns;
        assert_in_range(offset_ns, 0, 9 * MS); /* the burst of 1 ms still fits */
        sum += (double)offset_ns;
    }
    /* uniform on 0..9 ms: mean 4.5 ms, standard error 9/sqrt(12 * 4000) = 0.041 ms */
    assert_near(sum / 4000, 4.5e6, 4 * 0.041e6);
}

static void the_same_seed_gives_the_same_bursts_and_another_one_does_not(void **state) {
    (void)state;
    struct ng_plan a = {.period_ns = 10 * MS, .length_ns = 1000 * MS, .level = 0.1, .is_random = 1, .random_seed = 7}, b = a, c = a;
    c.random_seed = 8;
    int n_equal = 0;
    for (int64_t k = 0; k < 100; k++) {
        assert_int_equal(ng_burst_ns(&a, k), ng_burst_ns(&b, k));
        n_equal += ng_burst_ns(&a, k) == ng_burst_ns(&c, k);
    }
    assert_true(n_equal < 5);
}

static void a_burst_is_late_after_a_tenth_of_the_period_or_1_ms(void **state) {
    (void)state;
    assert_int_equal(ng_late_bound_ns(1 * MS), 100 * US);
    assert_int_equal(ng_late_bound_ns(10 * MS), 1 * MS);
    assert_int_equal(ng_late_bound_ns(60000 * MS), 1 * MS);
}

static void the_tolerance_holds_on_both_sides_and_nothing_asked_is_neither(void **state) {
    (void)state;
    assert_int_equal(ng_within_tolerance(100, 104, 5), 1);
    assert_int_equal(ng_within_tolerance(100, 96, 5), 1);
    assert_int_equal(ng_within_tolerance(100, 106, 5), 0);
    assert_int_equal(ng_within_tolerance(100, 94, 5), 0);
    assert_int_equal(ng_within_tolerance(0, 94, 5), -1);
}

/* ---- the deadline loop ---- */

static void levels_are_delivered_whatever_a_wake_up_costs(void **state) {
    static const double levels[] = {0.0001, 0.001, 0.003, 0.01, 0.1, 0.5, 0.99, 1};
    static const int64_t wake_costs_ns[] = {500, 3 * US, 20 * US, 50 * US};
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (size_t j = 0; j < sizeof wake_costs_ns / sizeof *wake_costs_ns; j++) {
            struct world *w;
            assert_int_equal(make_world((void **)&w), 0);
            w->plan.level = levels[i];
            w->sim.wake_cost_ns = wake_costs_ns[j];
            int64_t n_periods = levels[i] < 0.05 ? 1000 : 100; /* simulated work takes real time */
            w->plan.length_ns = n_periods * w->plan.period_ns;
            assert_int_equal(run(w, ng_run_deadline), 0);
            assert_near(w->account.requested_ns, levels[i] * (double)w->plan.length_ns, 1);
            assert_near(ratio(w), 1, 0.005);
            assert_balanced(w);
            assert_int_equal(w->account.n_planned, n_periods);
            assert_int_equal(w->account.n_merged, n_periods - w->account.n_run);
            free(w);
        }
    }
}

static void a_cheap_wake_up_runs_every_burst_and_a_dear_one_merges_them(void **state) {
    struct world *w = *state;
    w->plan.level = 0.0001; /* 1 us per period */
    w->sim.wake_cost_ns = 10 * US;
    run(w, ng_run_deadline);
    /* a wake-up with its look at the clock costs 10.5 us, so a burst every eleventh period or so */
    assert_in_range(w->account.n_run, 80, 100);
    assert_int_equal(w->account.n_planned, 1000);
    assert_int_equal(w->account.n_run + w->account.n_merged, 1000);
    /* nothing was missed: saving up is not carrying over */
    assert_near(w->account.carried_ns, 0, 0);
    assert_near(w->account.dropped_ns, 0, 1);
}

static void at_level_0_it_sleeps_once_until_the_end(void **state) {
    struct world *w = *state;
    w->plan.level = 0;
    assert_int_equal(run(w, ng_run_deadline), 0);
    assert_int_equal(w->sim.n_sleeps, 1);
    assert_int_equal(w->account.n_planned, 0);
    assert_int_equal(w->account.n_run, 0);
    assert_near(w->account.requested_ns, 0, 0);
    assert_true(w->account.delivered_ns > 0); /* the one wake-up is not hidden */
}

static void at_level_100_it_never_sleeps_and_still_ends_on_time(void **state) {
    struct world *w = *state;
    w->plan.level = 1;
    w->plan.length_ns = 1000 * MS;
    assert_int_equal(run(w, ng_run_deadline), 0);
    assert_int_equal(w->sim.n_sleeps, 0);
    assert_in_range(w->sim.now_ns, 2000 * MS, 2000 * MS + 100 * US);
    assert_near(ratio(w), 1, 0.0005);
}

static void an_expensive_wake_up_is_paid_back_by_the_bursts_after_it(void **state) {
    struct world *w = *state;
    w->sim.outlier_ns = 5 * MS; /* fifty bursts of 100 us */
    run(w, ng_run_deadline);
    assert_near(ratio(w), 1, 0.001);
    assert_true(w->account.n_merged >= 49);
    assert_balanced(w);
}

static void a_short_loss_of_the_cpu_is_made_up_for(void **state) {
    struct world *w = *state;
    w->sim.taken_from_ns = 2000 * MS - 1;
    w->sim.taken_until_ns = 2035 * MS; /* three bursts of 100 us are missed, ten may be carried */
    run(w, ng_run_deadline);
    assert_near(ratio(w), 1, 0.001);
    assert_near(w->account.dropped_ns, 0, 25000);
    assert_near(w->account.carried_ns, 300000, 40000);
    assert_int_equal(w->account.n_late, 1);
    assert_near((double)w->lateness.max_ns, 35e6, 0.1e6);
    assert_balanced(w);
}

static void a_long_loss_of_the_cpu_is_dropped_beyond_the_cap(void **state) {
    struct world *w = *state;
    w->sim.taken_from_ns = 2000 * MS - 1;
    w->sim.taken_until_ns = 3000 * MS; /* a hundred bursts, 10 ms of work: 1 ms is carried, 9 ms are dropped */
    run(w, ng_run_deadline);
    assert_near(w->account.dropped_ns, 9e6, 0.1e6);
    assert_near(w->account.carried_ns, 1e6, 0.1e6);
    assert_near((double)w->account.delivered_ns, 91e6, 0.2e6);
    assert_balanced(w);
}

static void without_carrying_nothing_missed_is_made_up_for(void **state) {
    struct world *w = *state;
    w->plan.carry_bursts = 0;
    w->sim.taken_from_ns = 2000 * MS - 1;
    w->sim.taken_until_ns = 2095 * MS;
    run(w, ng_run_deadline);
    assert_near(w->account.dropped_ns, 9 * 100e3, 45000);
    assert_balanced(w);
}

static void the_duty_cap_holds_in_every_period_while_missed_time_is_repaid(void **state) {
    struct world *w = *state;
    w->plan.duty_cap = 0.02;
    w->plan.start_ns = 1000 * MS;
    w->sim.period_ns = 10 * MS;
    w->sim.taken_from_ns = 2000 * MS - 1;
    w->sim.taken_until_ns = 2050 * MS + 1;
    run(w, ng_run_deadline);
    /* 200 us, and one quantum and one look at the clock of overshoot */
    assert_true(w->sim.most_in_period_ns > 190 * US);
    assert_true(w->sim.most_in_period_ns <= 200 * US + 2 * US);
    assert_near(ratio(w), 1, 0.001);
    assert_balanced(w);
}

static void random_bursts_deliver_the_same_level(void **state) {
    struct world *w = *state;
    w->plan.is_random = 1;
    w->plan.random_seed = 42;
    run(w, ng_run_deadline);
    assert_near(ratio(w), 1, 0.001);
    assert_int_equal(w->account.n_run, 1000);
    w->plan.start_ns = w->sim.now_ns;
    w->plan.level = 0.0005; /* merged and random */
    w->account = (struct ng_account){0};
    run(w, ng_run_deadline);
    assert_near(ratio(w), 1, 0.005);
    assert_true(w->account.n_merged > 0);
}

static void a_run_of_uneven_length_still_delivers_its_level(void **state) {
    struct world *w = *state;
    w->plan.length_ns = 1005 * MS;
    run(w, ng_run_deadline);
    assert_near(w->account.requested_ns, 10.05e6, 1);
    assert_near(ratio(w), 1, 0.005);
}

static void an_interruption_ends_a_sleep_and_only_begun_bursts_count_as_planned(void **state) {
    struct world *w = *state;
    w->sim.stop_at_ns = 1504 * MS;
    assert_int_equal(run(w, ng_run_deadline), 1);
    assert_in_range(w->sim.now_ns, 1504 * MS, 1504 * MS + 100 * US);
    assert_int_equal(w->account.n_planned, 51);
    assert_near(ratio(w), 1, 0.02);
}

static void an_interruption_ends_a_burst_at_the_next_quantum_and_cancels_its_rest(void **state) {
    struct world *w = *state;
    w->plan.level = 0.5;
    w->plan.period_ns = 5000 * MS;
    w->sim.stop_at_ns = 2000 * MS; /* within the first burst of 2.5 s */
    assert_int_equal(run(w, ng_run_deadline), 1);
    assert_in_range(w->sim.now_ns, 2000 * MS, 2000 * MS + 2 * US);
    assert_near(ratio(w), 1, 0.001);
    assert_near(w->account.dropped_ns, 0, 1);
}

/* ---- under a detector: short plans of one account, each ended by the next command ---- */

/* Runs `n` halves of 10 ms with one burst each. */
static void run_halves(struct world *w, int n) {
    w->plan.is_bounded = 0;
    w->plan.period_ns = 10 * MS;
    w->plan.length_ns = 10 * MS;
    for (int i = 0; i < n; i++) {
        w->plan.start_ns = w->sim.now_ns + 1 * MS;
        w->sim.stop_at_ns = w->sim.now_ns + 10 * MS;
        assert_int_equal(run(w, ng_run_deadline), 1);
    }
}

static void an_account_keeps_its_level_over_many_short_runs(void **state) {
    static const double levels[] = {0.0001, 0.001, 0.01, 0.1};
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct world *w;
        assert_int_equal(make_world((void **)&w), 0);
        w->plan.level = levels[i];
        w->sim.quantum_ns = 500;
        run_halves(w, 1000);
        assert_near(w->account.requested_ns, levels[i] * 10e9, 1);
        assert_near((double)w->account.delivered_ns, levels[i] * 10e9, 0.005 * levels[i] * 10e9 + 21000);
        assert_int_equal(w->account.n_planned, 1000);
        assert_balanced(w);
        free(w);
    }
}

static void a_share_below_a_wake_up_leaves_most_runs_without_a_burst(void **state) {
    struct world *w = *state;
    w->plan.level = 0.0001; /* 1 us per run, 20.5 us per wake-up */
    run_halves(w, 1000);
    assert_in_range(w->account.n_run, 40, 50);
    assert_int_equal(w->account.n_merged, 1000 - w->account.n_run);
    assert_near(w->account.dropped_ns, 0, 0);
}

static void a_run_at_level_0_charges_nothing_to_its_account(void **state) {
    struct world *w = *state;
    w->plan.level = 0;
    run_halves(w, 100);
    assert_int_equal(w->account.delivered_ns, 0);
    assert_int_equal(w->sim.n_sleeps, 100);
}

static void a_run_that_is_always_cut_short_does_not_save_up_more_than_the_cap(void **state) {
    struct world *w = *state;
    w->plan.level = 0.5; /* 5 ms per burst ... */
    w->plan.carry_bursts = 2;
    w->plan.is_bounded = 0;
    w->plan.length_ns = 10 * MS;
    for (int i = 0; i < 50; i++) {
        w->plan.start_ns = w->sim.now_ns;
        w->sim.stop_at_ns = w->sim.now_ns + 1 * MS; /* ... of which 1 ms is run */
        assert_int_equal(run(w, ng_run_deadline), 1);
    }
    assert_true(w->account.owed_ns <= 10e6 + 100e3);
    assert_true(w->account.dropped_ns > 150e6);
    assert_balanced(w);
}

static void a_run_ends_with_its_last_period_even_when_no_command_comes(void **state) {
    struct world *w = *state;
    w->plan.level = 1;
    w->plan.is_bounded = 0;
    w->plan.length_ns = 10 * MS;
    w->sim.stop_at_ns = 5000 * MS;
    assert_int_equal(run(w, ng_run_deadline), 1);
    assert_near((double)w->account.delivered_ns, 10e6, 5000);
}

/* ---- the published loop ---- */

static void the_published_loop_overshoots_by_whole_quanta(void **state) {
    struct world *w = *state;
    w->plan.period_ns = 1000 * MS;
    w->plan.level = 0.0001;       /* 100 us of each second */
    w->sim.quantum_ns = 170 * US; /* one pass of the array */
    w->sim.wake_cost_ns = 0;
    assert_int_equal(run(w, ng_run_published), 0);
    assert_near(ratio(w), 1.7, 0.01);
}

static void the_published_loop_counts_lost_time_as_work(void **state) {
    struct world *w = *state;
    w->plan.period_ns = 1000 * MS;
    w->sim.quantum_ns = 100 * US;
    w->sim.wake_cost_ns = 0;
    w->sim.taken_from_ns = 1000 * MS + 50 * US; /* the first burst of 10 ms, all but two quanta */
    w->sim.taken_until_ns = 1020 * MS;
    run(w, ng_run_published);
    assert_near(ratio(w), 0.9, 0.02);
}

int main(void) {
#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, free_world)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_of_25_ms_has_three_periods_of_10_ms_and_the_last_share_is_half),
        cmocka_unit_test(a_plan_at_level_0_has_no_periods),
        cmocka_unit_test(bursts_become_due_at_their_times_and_never_after_the_last),
        cmocka_unit_test(a_share_smaller_than_a_wake_up_is_saved_until_it_pays_for_one),
        cmocka_unit_test(a_share_larger_than_a_wake_up_runs_every_period),
        cmocka_unit_test(work_is_what_is_owed_within_what_the_cap_leaves),
        cmocka_unit_test(missed_time_is_carried_up_to_the_cap_and_the_rest_dropped),
        cmocka_unit_test(the_cost_of_a_wake_up_is_a_median_that_ignores_outliers),
        cmocka_unit_test(random_bursts_lie_within_their_periods_and_in_their_middle_on_average),
        cmocka_unit_test(the_same_seed_gives_the_same_bursts_and_another_one_does_not),
        cmocka_unit_test(a_burst_is_late_after_a_tenth_of_the_period_or_1_ms),
        cmocka_unit_test(the_tolerance_holds_on_both_sides_and_nothing_asked_is_neither),
        cmocka_unit_test(levels_are_delivered_whatever_a_wake_up_costs),
        WORLD_TEST(a_cheap_wake_up_runs_every_burst_and_a_dear_one_merges_them),
        WORLD_TEST(at_level_0_it_sleeps_once_until_the_end),
        WORLD_TEST(at_level_100_it_never_sleeps_and_still_ends_on_time),
        WORLD_TEST(an_expensive_wake_up_is_paid_back_by_the_bursts_after_it),
        WORLD_TEST(a_short_loss_of_the_cpu_is_made_up_for),
        WORLD_TEST(a_long_loss_of_the_cpu_is_dropped_beyond_the_cap),
        WORLD_TEST(without_carrying_nothing_missed_is_made_up_for),
        WORLD_TEST(the_duty_cap_holds_in_every_period_while_missed_time_is_repaid),
        WORLD_TEST(random_bursts_deliver_the_same_level),
        WORLD_TEST(a_run_of_uneven_length_still_delivers_its_level),
        WORLD_TEST(an_interruption_ends_a_sleep_and_only_begun_bursts_count_as_planned),
        WORLD_TEST(an_interruption_ends_a_burst_at_the_next_quantum_and_cancels_its_rest),
        cmocka_unit_test(an_account_keeps_its_level_over_many_short_runs),
        WORLD_TEST(a_share_below_a_wake_up_leaves_most_runs_without_a_burst),
        WORLD_TEST(a_run_at_level_0_charges_nothing_to_its_account),
        WORLD_TEST(a_run_that_is_always_cut_short_does_not_save_up_more_than_the_cap),
        WORLD_TEST(a_run_ends_with_its_last_period_even_when_no_command_comes),
        WORLD_TEST(the_published_loop_overshoots_by_whole_quanta),
        WORLD_TEST(the_published_loop_counts_lost_time_as_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
