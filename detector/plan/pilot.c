#include "detector/plan/pilot.h"
#include "detector/plan/plan.h"
#include "detector/measure/slices.h"

#define PILOT_NS      INT64_C(20000000)  /* length of one of the pilot's loops, at most a half */
#define PILOT_MOST_NS INT64_C(400000000) /* slow operations get fewer loops */
#define PILOT_ALL_NS                                                                                         \
    INT64_C(8000000000) /* of all operations and sizes together: so do the many of a launch with hundreds */
#define PILOT_SHARE                                                                                          \
    10 /* ... and this part of the measuring time, where that is less: those of a short launch, too */
/* together long enough to see past the first moments, when caches and clocks still settle */
enum { PILOT_LOOPS = 25, PILOT_LEAST = 3 };
enum {
    PILOT_LENGTHS = 4
}; /* a loop ends by the clock after so many of its planned lengths: a machine may be busy from time to time
    */

/* Of the slowest rank, ns; at least 1. It may end by the clock: `n` is what it had. */
static int64_t timed_loop(const struct nd_team *team, const struct nd_loop *loop, int64_t *n) {
    struct nd_loop_result r;
    MPI_Barrier(team->world);
    nd_loop_warm(loop, 1);
    nd_loop_run(loop, &r);
    *n = r.n_operations > 0 ? r.n_operations : 1;
    int64_t wall_ns = nd_team_max(team, r.wall_ns);
    return wall_ns > 0 ? wall_ns : 1;
}

/* Mean time of an operation in the fastest of a few loops, ns: a half that gets longer still holds its noise
 * periods, a shorter one not. */
static double fastest_loop(const struct nd_team *team, const struct nd_loop *loop, int64_t most_ns) {
    double fastest_ns = 0;
    int64_t total_ns = 0;
    for (int i = 0; i < PILOT_LOOPS && (i < PILOT_LEAST || total_ns < most_ns); i++) {
        int64_t n, wall_ns = timed_loop(
                       team, loop, &n); /* the slowest rank's: all ranks see the same, and stop together */
        double mean_ns = (double)wall_ns / (double)n;
        total_ns += wall_ns;
        if (i == 0 || mean_ns < fastest_ns) fastest_ns = mean_ns;
    }
    return fastest_ns;
}

int nd_pilot_run(const struct nd_team *team, struct nd_together *together, const struct nd_options *o,
                 int config, struct nd_op_state *state, const struct nl_ticks *ticks, struct nl_hist *scratch,
                 struct nd_starter *starter, struct nd_start_plan *plan, struct nd_cell *cell) {
    const struct nd_op *op = o->configs[config].op;
    struct nd_loop loop = {.op = op,
                           .state = state,
                           .n_operations = 1,
                           .ticks = ticks,
                           .typical_ns = 0,
                           .detour_threshold_ns = INT64_MAX,
                           .starter = starter,
                           .plan = plan,
                           .together = together};
    int64_t wanted_ns = o->half_ns < PILOT_NS ? o->half_ns : PILOT_NS;
    for (;;) { /* double until the loop is long enough: connections and caches are set up on the way */
        loop.chunk = loop.n_operations;
        loop.most_ns = PILOT_LENGTHS * wanted_ns;
        loop.operation_ns = (double)wanted_ns / (double)loop.n_operations;
        loop.look_every = nd_slices_operations(loop.operation_ns);
        int64_t n, wall_ns = timed_loop(team, &loop, &n);
        if (wall_ns >= wanted_ns / 2 || loop.n_operations > INT64_C(1) << 40) break;
        loop.n_operations *= 2;
    }
    int wrong = o->check != ND_CHECK_OFF && nd_op_check(state) != 0;
    if (nd_team_agree(team, wrong ? ND_FLAG_SETUP : 0)) return -1;

    memset(scratch, 0, sizeof *scratch);
    loop.hist = nd_options_times_operations(o) ? scratch : NULL;
    int64_t all_ns = o->measure_ns / PILOT_SHARE,
            share_ns = (all_ns < PILOT_ALL_NS ? all_ns : PILOT_ALL_NS) / o->n_configs;
    cell->pilot_ns = fastest_loop(team, &loop, share_ns < PILOT_MOST_NS ? share_ns : PILOT_MOST_NS);
    int64_t median_ns = loop.hist ? nl_hist_quantile(scratch, 0.5) : (int64_t)cell->pilot_ns;
    cell->typical_ns = nd_team_max(team, median_ns);
    cell->detour_threshold_ns = o->detour_threshold_ns;
    if (cell->detour_threshold_ns == 0)
        cell->detour_threshold_ns = cell->typical_ns + (cell->typical_ns > 1000 ? cell->typical_ns : 1000);
    cell->n_operations = o->count ? o->count : (int64_t)((double)o->half_ns / cell->pilot_ns);
    if (cell->n_operations < 1) cell->n_operations = 1;
    return 0;
}
