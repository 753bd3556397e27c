/* How doses and numbers of operations follow a machine whose speed wanders: simulated halves, bursts and all.
 */
#include "detector/design/follow.h"
#include "common/base/nl_rng.h"
#include "tests/unit/unit.h"

#define HALF_NS 10000000

/* A machine: how long an operation takes now, against the pilot. */
struct machine {
    struct nl_rng rng;
    double speed;   /* log of it */
    double steps;   /* 0: a random walk within 30 %; else jumps between 1 and this */
    double scatter; /* of single halves, log */
    double spikes;  /* share of halves that last up to three times as long */
    int64_t n;
};

static double normal(struct nl_rng *rng) {
    return sqrt(-2 * log(1 - nl_rng_uniform(rng))) * cos(2 * 3.14159265358979 * nl_rng_uniform(rng));
}

static double half_ns(struct machine *m, double operations) {
    m->n++;
    if (m->steps > 0)
        m->speed = m->n / 200 % 2 ? log(m->steps) : 0;
    else
        m->speed += 0.02 * normal(&m->rng);
    if (m->steps == 0 && fabs(m->speed) > log(1.3)) m->speed = copysign(log(1.3), m->speed);
    double ns = HALF_NS * operations * exp(m->speed + m->scatter * normal(&m->rng));
    if (nl_rng_uniform(&m->rng) < m->spikes) ns *= 1 + 2 * nl_rng_uniform(&m->rng);
    return ns;
}

struct outcome {
    double ratio;      /* delivered over level x wall time */
    double mean_ns;    /* of the off halves */
    double lost_share; /* of bursts that their half did not hold */
    int64_t n_set;     /* times that the number of operations was set anew */
};

/* Pairs of an off and an on half, as the detector runs them: bursts on one CPU lengthen the half that they
 * are in, what a half did not hold is made up for in the next one, and numbers of operations are set between
 * rounds of four pairs. */
static struct outcome measure(struct machine *m, double level_percent, int64_t n_bursts, int n_pairs,
                              double pilot_error) {
    struct outcome o = {0};
    struct nd_follow f;
    struct nd_ledger ledger = {0};
    int64_t operations = (int64_t)(1e5 / pilot_error), n_lost = 0;
    double delivered_ns = 0, wall_ns = 0, owed_ns = 0, stretch = nd_follow_stretch(level_percent / 100);
    nd_follow_init(&f, HALF_NS, (double)operations * 1e-5 * HALF_NS * pilot_error);
    for (int pair = 0; pair < n_pairs; pair++) {
        if (pair % 4 == 0) {
            int64_t to = nd_follow_operations(&f, operations);
            if (to != operations) nd_follow_rescale(&f, operations, to);
            o.n_set += to != operations;
            operations = to;
        }
        int on_first = nl_rng_uniform(&m->rng) < 0.5;
        for (int order = 0; order < 2; order++) {
            double undisturbed_ns = half_ns(m, (double)operations * 1e-5), took_ns = undisturbed_ns;
            if ((order == 0) != on_first) {
                nd_follow_off(&f, (int64_t)took_ns);
                o.mean_ns += took_ns / n_pairs;
                continue;
            }
            struct nd_bursts b;
            nd_follow_draw(&f, n_bursts, level_percent, stretch, 0, nl_rng_uniform(&m->rng), &b);

            double dose_ns = (double)(b.n * b.burst_ns), got_ns = 0;
            int64_t n_held = 0;
            /* the generator's account: the extra time is owed from the command on */
            owed_ns += nd_ledger_extra_ns(&ledger, dose_ns);
            for (; n_held < b.n && (double)(b.first_ns + n_held * b.period_ns) < took_ns; n_held++) {
                owed_ns += (double)b.burst_ns;
                if (owed_ns <= 0) continue;
                got_ns += owed_ns;
                took_ns += owed_ns;
                owed_ns = 0;
            }
            /* what a burst does beyond its half is paid for, and not in the half */
            double beyond_ns = got_ns * (nl_rng_uniform(&m->rng) < 0.02 ? nl_rng_uniform(&m->rng) : 0);
            got_ns -= beyond_ns;
            took_ns -= beyond_ns;
            delivered_ns += got_ns;
            nd_ledger_half(&ledger, dose_ns, got_ns);
            ledger.owed_ns = owed_ns;
            n_lost += b.n - n_held;
            wall_ns += took_ns;
        }
    }
    o.ratio = delivered_ns / (wall_ns * level_percent / 100);
    o.lost_share = (double)n_lost / ((double)n_pairs * (double)n_bursts);
    return o;
}

static struct machine machine(uint64_t seed, double steps, double scatter, double spikes) {
    struct machine m = {.steps = steps, .scatter = scatter, .spikes = spikes};
    nl_rng_init(&m.rng, seed, 0);
    return m;
}

static void assert_between(double value, double least, double most, const char *what) {
    if (!(value >= least && value <= most)) fail_msg("%s: %g is not from %g to %g", what, value, least, most);
}

TEST(doses_are_delivered_while_the_speed_wanders_by_30_percent) {
    const double levels[] = {0.01, 0.1, 1, 5, 20}, scatters[] = {0, 0.04, 0.1};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (size_t s = 0; s < sizeof scatters / sizeof *scatters; s++)
            for (int64_t n_bursts = 1; n_bursts <= 10; n_bursts += 9) {
                struct machine m = machine(1 + s, 0, scatters[s], 0.02);
                struct outcome o = measure(&m, levels[l], n_bursts, 10000, 1);
                assert_between(o.ratio, 0.98, 1.02, "delivered/requested");
                assert_between(o.mean_ns, 0.75 * HALF_NS, 1.25 * HALF_NS, "length of halves");
                assert_between(o.lost_share, 0, 0.06, "bursts that came too late");
            }
}

/* Without following, this is what was measured: doses for 10 ms in halves of 12. */
TEST(doses_are_delivered_on_a_machine_that_jumps_to_twice_the_time_and_after_a_wrong_pilot) {
    static const struct {
        double steps, pilot_error;
        int n_bursts, n_pairs, least_set;
    } rows[] = {{2, 1, 1, 4000, 20},  {2, 1, 10, 4000, 20}, /* there are 40 jumps */
                {1, 0.4, 1, 2000, 0}, {1, 0.85, 1, 2000, 0}, {1, 1.2, 1, 2000, 0}, {1, 3, 1, 2000, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct machine m = machine(3 + i, rows[i].steps, 0.04, 0.02);
        struct outcome o = measure(&m, 1, rows[i].n_bursts, rows[i].n_pairs, rows[i].pilot_error);
        assert_between(o.ratio, 0.98, 1.02, "delivered/requested");
        assert_between(o.mean_ns, 0.75 * HALF_NS, 1.27 * HALF_NS, "length of halves");
        assert_true(o.n_set >= rows[i].least_set);
    }
}

TEST(one_long_pause_is_no_sign_of_the_next) {
    struct nd_follow f;
    nd_follow_init(&f, HALF_NS, HALF_NS);
    for (int i = 0; i < 20; i++)
        nd_follow_off(&f, HALF_NS);
    nd_follow_off(&f, INT64_C(1000) * HALF_NS);
    assert_between(nd_follow_typical_ns(&f), HALF_NS, HALF_NS, "typical");
    assert_between(nd_follow_mean_ns(&f), HALF_NS, 1.15 * HALF_NS, "mean");
    assert_int_equal(nd_follow_operations(&f, 1000), 1000);
}

TEST(operations_stay_while_halves_are_near_their_length) {
    struct nd_follow f;
    nd_follow_init(&f, HALF_NS, HALF_NS);
    assert_int_equal(nd_follow_operations(&f, 1000), 1000); /* nothing is known yet */
    for (int i = 0; i < 20; i++)
        nd_follow_off(&f, (int64_t)(1.2 * HALF_NS));
    assert_int_equal(nd_follow_operations(&f, 1000), 1000);
    for (int i = 0; i < 20; i++)
        nd_follow_off(&f, 2 * HALF_NS);
    int64_t to = nd_follow_operations(&f, 1000);
    assert_between((double)to, 450, 510, "operations");
    nd_follow_rescale(&f, 1000, to);
    assert_between(nd_follow_typical_ns(&f), 0.9 * HALF_NS, 1.02 * HALF_NS, "after the change");
    assert_int_equal(nd_follow_operations(&f, to), to);
    for (int i = 0; i < 20; i++)
        nd_follow_off(&f, INT64_C(1000000) * HALF_NS);
    assert_int_equal(nd_follow_operations(&f, 3), 1); /* never none */
}

TEST(bursts_keep_clear_of_both_ends) {
    struct nd_follow f;
    nd_follow_init(&f, HALF_NS, HALF_NS);
    for (double level = 0.01; level <= 100; level *= 1.7)
        for (int64_t n = 1; n <= 10; n++)
            for (double u = 0; u < 1; u += 0.249) {
                struct nd_bursts b;
                nd_follow_draw(&f, n, level, nd_follow_stretch(level / 100), 1000, u, &b);
                int64_t end_ns = b.first_ns + (n - 1) * b.period_ns + b.burst_ns;
                assert_true(b.first_ns >= 1000);
                /* the half lasts as long as its operations and its bursts */
                assert_true(b.first_ns - 1000 + (n - 1) * b.period_ns < HALF_NS + (n - 1) * b.burst_ns);
                if (level < 50) assert_true((double)(end_ns - 1000) <= (double)n * (double)b.period_ns);
                assert_true(b.period_ns >= HALF_NS / n);
            }
}

TEST(what_halves_lacked_is_made_up_for_once) {
    struct nd_ledger l = {0};
    static const struct {
        int n;
        double delivered_ns, owed_ns, extra_ns;
    } rows[] = {
        {1, 100, 0, 0},
        {1, 0, 0, 100}, /* its burst came too late */
        {0, 0, 100, 0},
        {1, 250, 0, -50}, /* or the generator still owes it, and brings it itself */
        {50, 0, 0, 100},
        {4, 200, 0, 0}}; /* the load could not run at all: at most as much again, and four doses of it */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        l.owed_ns = rows[i].owed_ns;
        for (int k = 0; k < rows[i].n; k++)
            nd_ledger_half(&l, 100, rows[i].delivered_ns);
        assert_float_equal(nd_ledger_extra_ns(&l, 100), rows[i].extra_ns, 1e-9);
    }
}

TEST(a_half_is_lengthened_by_its_bursts) {
    assert_float_equal(nd_follow_stretch(0), 1, 1e-12);
    assert_float_equal(nd_follow_stretch(0.2), 1.25, 1e-12);
    assert_float_equal(nd_follow_stretch(1), 4, 1e-12);
}
