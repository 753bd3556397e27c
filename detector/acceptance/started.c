#include "detector/acceptance/started.h"
#include "detector/starts/starter.h"

enum { PILOT_STARTS = 4, CHUNKS = 16, LEAST_CHUNK = 4, WARM_UP = 2, MEETINGS = 8, LEAST_POINTS = 16 };
#define PLAN_NS       INT64_C(500000000) /* how long looking for the slot may take */
#define SYNC_EVERY_NS INT64_C(10000000000)
#define SYNC_SHARE                                                                                           \
    50 /* clocks are synchronised anew after so many times what it takes, if that is longer                  \
        */
#define PILOT_NS       INT64_C(100000000)
#define GUARD_NS       INT64_C(20000000000) /* a wait that is longer means that a clock jumped */
#define UNSYNCHRONISED "the ranks' starts could not be synchronised: see what was said on stderr"
static const struct nd_op_options
    plain; /* data types, roots and buffers as operations have them of themselves */

/* Told around each chunk of starts; any rank's word ends the run for all. */
static void look_at_time(void *context, int begins) {
    struct nx_started *s = context;
    if (!begins && (nl_mono_ns() > s->until_ns || *s->stop_asked)) s->is_over = 1;
}

/* At most n starts, in chunks after which the time is looked at. */
static int run_starts(struct nx_run *r, struct nx_started *s, int64_t n, int64_t most_ns,
                      char reason[NX_REASON_BYTES]) {
    struct nd_loop_result result;
    int64_t before_ns = nl_mono_ns();
    s->until_ns = before_ns + most_ns;
    s->is_over = 0;
    s->loop.n_operations = n;
    s->loop.chunk = n / CHUNKS > LEAST_CHUNK ? n / CHUNKS : LEAST_CHUNK;
    nd_starter_run(r->starter, &s->loop, &result);
    if (result.n_operations > 0)
        s->start_ns = (double)nd_team_max(&r->team, nl_mono_ns() - before_ns) / (double)result.n_operations;
    if (!r->starter->is_broken) return 0;
    return nl_say(reason, NX_REASON_BYTES, "a clock jumped or ran backwards");
}

/* Offsets in the fit of a synchronisation: so many that it takes about a second at most, where a message
 * takes as long as it does in barriers. */
static int n_points(struct nx_run *r) {
    MPI_Barrier(r->team.world);
    int64_t begin_ns = nl_mono_ns();
    for (int i = 0; i < MEETINGS; i++)
        MPI_Barrier(r->team.world);
    int64_t point_ns = nd_team_max(&r->team, 10 * (nl_mono_ns() - begin_ns) / MEETINGS),
            n = ND_SYNC_SPAN_NS / (point_ns + 1);
    return n > ND_SYNC_POINTS ? ND_SYNC_POINTS : n < LEAST_POINTS ? LEAST_POINTS : (int)n;
}

/* Slow networks synchronise less often. Collective. */
static int64_t sync_every_ns(struct nx_run *r) {
    int64_t ns = SYNC_SHARE * r->starter->sync.run_ns;
    MPI_Bcast(&ns, 1, MPI_INT64_T, 0, r->team.world);
    return ns > SYNC_EVERY_NS ? ns : SYNC_EVERY_NS;
}

static int need_starter(struct nx_run *r, struct nx_task *t) {
    struct nd_op_state state = {0};
    struct nd_loop loop = {.op = nl_find(nd_ops, "barrier"),
                           .state = &state,
                           .n_operations = 1,
                           .chunk = 1,
                           .ticks = &r->ticks,
                           .detour_threshold_ns = INT64_MAX,
                           .stop_asked = r->stop_asked};
    if (r->starter && !r->starter->is_broken) return 0;
    snprintf(t->reason, sizeof t->reason, UNSYNCHRONISED);
    if (r->starter) return -1; /* failed before */
    r->start = (struct nd_start_options){.mode = nl_find(nd_start_modes, "round"),
                                         .arrival = nd_arrivals[0],
                                         .arrival_factor = 1,
                                         .gamma = 1.1,
                                         .eps = 0.25,
                                         .n_stage_starts = 4,
                                         .n_first_starts = 4,
                                         .precision_percent = 1,
                                         .sync = {.n_points = n_points(r)},
                                         .sync_every_ns = SYNC_EVERY_NS,
                                         .plan_ns = PLAN_NS};
    r->starter = calloc(1, sizeof *r->starter);
    if (nx_agree(r, !r->starter, t->reason, UNSYNCHRONISED)) return -1;
    int failed = nd_starter_open(r->starter, &r->start, &r->team, r->n_allowed, NULL, NULL);
    if (!failed) r->start.sync_every_ns = sync_every_ns(r);
    /* planning is collective: a rank that failed to open must not leave the others waiting in it */
    failed = nx_agree(r, failed || nd_op_open(loop.op, &plain, &state, r->team.world, 0), t->reason,
                      UNSYNCHRONISED) ||
             nd_starter_plan(r->starter, &loop, &r->plan, "barrier", r->seed);
    if (state.op) nd_op_close(&state);
    if (failed)
        r->starter->is_broken = 1;
    else
        t->reason[0] = '\0';
    return failed ? -1 : 0;
}

static int open_one(struct nx_run *r, struct nx_started *s, const struct nd_op *op, int64_t bytes,
                    char reason[NX_REASON_BYTES]) {
    *s = (struct nx_started){.op = op};
    const char *problem = nd_op_problem(op, &plain, bytes, r->team.n_ranks, reason, NX_REASON_BYTES);
    if (problem || nx_lacks_memory(r, nd_op_memory_bytes(op, &plain, bytes, r->team.n_ranks), reason))
        return 1;
    if (nx_agree(r, nd_op_open(op, &plain, &s->state, r->team.world, bytes) != 0, reason,
                 "not enough memory for %s", op->name))
        return -1;
    s->state.clock = &r->starter->clock;
    s->loop = (struct nd_loop){.op = op,
                               .state = &s->state,
                               .n_operations = 1,
                               .chunk = 1,
                               .ticks = &r->ticks,
                               .detour_threshold_ns = INT64_MAX,
                               .stop_asked = &s->is_over,
                               .starter = r->starter,
                               .plan = &s->plan,
                               .on_stretch = look_at_time,
                               .context = s};
    s->stop_asked = r->stop_asked;
    s->until_ns = INT64_MAX;
    s->plan = r->plan;
    s->plan.meets_first = !op->is_synchronising;
    s->plan.guard_ns = GUARD_NS;
    nd_loop_warm(&s->loop, WARM_UP); /* connections */
    int is_wrong = nx_agree(r, nd_op_check(&s->state) != 0, reason, "%s returned wrong data", op->name);
    r->n_wrong += is_wrong;
    return -is_wrong;
}

int nx_started_open(struct nx_run *r, struct nx_task *t, struct nx_started *s,
                    const struct nx_started_row *rows, int n) {
    int rc = need_starter(r, t);
    for (int i = 0; i < n && rc == 0; i++)
        rc = open_one(r, &s[i], rows[i].own ? rows[i].own : nl_find(nd_ops, rows[i].operation), rows[i].bytes,
                      t->reason);
    return rc;
}

int nx_started_run(struct nx_run *r, struct nx_started *s, int64_t slice_ns, int least,
                   char reason[NX_REASON_BYTES]) {
    nd_starter_keep_in_step(r->starter);
    /* how long a start takes is not known before the first time; where it is long that time is all
     * there is */
    if (s->start_ns == 0) {
        if (run_starts(r, s, PILOT_STARTS, PILOT_NS, reason)) return -1;
        if (PILOT_STARTS >= least && s->start_ns * PILOT_STARTS > (double)slice_ns) {
            nd_starter_accept(r->starter);
            return 0;
        }
    }
    int64_t n = (int64_t)((double)slice_ns / (s->start_ns > 1 ? s->start_ns : 1));
    if (n < least) n = least;
    if (n > ND_BATCH) n = ND_BATCH;
    if (run_starts(r, s, n, slice_ns + slice_ns / 5, reason)) return -1;
    nd_starter_accept(r->starter);
    return 0;
}

void nx_started_close(struct nx_started *s, int n) {
    for (int i = 0; i < n; i++)
        if (s[i].op) nd_op_close(&s[i].state);
}
