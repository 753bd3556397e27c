#include "detector/sync/sync.h"
#include "detector/sync/sync_pingpong.h"

extern const struct nd_sync_method nd_sync_tree, nd_sync_linear, nd_sync_ring;

const struct nd_sync_method *const nd_sync_methods[] = {&nd_sync_tree, &nd_sync_linear, &nd_sync_ring, NULL};

enum { CHECKS = 3, CHECK_EXCHANGES = 10 }; /* the residual: so many walks, of each the best of so many exchanges */
enum { SHARED_LOOKS = 3 };

/* ---- who shares a clock -------------------------------------------------------------------------------------------------------------- */

/* Whether the ranks' readings may come from one clock: then whatever is read before a barrier is no later than what is read after it, on
 * any rank. Finds clocks that differ by more than a barrier lasts (time namespaces, processors out of step). Collective over `node`. */
static int is_one_clock(const struct nd_clock *clock, MPI_Comm node) {
    for (int i = 0; i < SHARED_LOOKS; i++) {
        int64_t latest_ns[2]; /* the latest reading before, and the earliest after it, negative */
        int64_t mine_ns[2] = {nd_clock_now(clock)};
        MPI_Barrier(node);
        mine_ns[1] = -nd_clock_now(clock);
        MPI_Allreduce(mine_ns, latest_ns, 2, MPI_INT64_T, MPI_MAX, node);
        /* 1 us: a counter may be read out of order by some of it */
        if (latest_ns[0] > -latest_ns[1] + 1000) return 0;
    }
    return 1;
}

static void find_domains(struct nd_sync *s) {
    int is_alone = s->clock->is_fake || s->clock->kind->is_per_process || !s->options.method->is_hierarchical || s->options.every_rank;
    MPI_Allreduce(MPI_IN_PLACE, &is_alone, 1, MPI_INT, MPI_MAX, s->team->node);
    if (!is_alone) is_alone = !is_one_clock(s->clock, s->team->node);
    MPI_Comm_split(s->team->node, is_alone ? s->team->node_rank : 0, s->team->node_rank, &s->domain);
    int domain_rank, is_head;
    MPI_Comm_rank(s->domain, &domain_rank);
    is_head = domain_rank == 0;
    MPI_Comm_split(s->team->world, is_head ? 0 : MPI_UNDEFINED, s->team->rank, &s->heads);
    MPI_Allreduce(&is_head, &s->n_heads, 1, MPI_INT, MPI_SUM, s->team->world);
}

int nd_sync_open(struct nd_sync *s, const struct nd_sync_options *o, const struct nd_clock *clock, const struct nd_team *team) {
    *s = (struct nd_sync){.options = *o, .clock = clock, .team = team, .heads = MPI_COMM_NULL, .domain = MPI_COMM_NULL};
    if (!s->options.method) s->options.method = &nd_sync_tree;
    if (s->options.patience < 1) s->options.patience = ND_SYNC_PATIENCE;
    if (s->options.n_points < 1) s->options.n_points = ND_SYNC_POINTS;
    if (s->options.span_ns < 1) s->options.span_ns = ND_SYNC_SPAN_NS;
    find_domains(s);
    size_t state_bytes = s->options.method->state_bytes ? s->options.method->state_bytes(&s->options) : 0;
    s->pingpong = malloc(sizeof *s->pingpong);
    if (state_bytes) s->state = calloc(1, state_bytes);
    int has_failed = !s->pingpong || (state_bytes && !s->state);
    MPI_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, team->world);
    if (has_failed) {
        nd_sync_close(s);
        return -1;
    }
    nd_pingpong_open(s->pingpong, clock, s->heads);
    return 0;
}

void nd_sync_close(struct nd_sync *s) {
    if (s->heads != MPI_COMM_NULL) MPI_Comm_free(&s->heads);
    if (s->domain != MPI_COMM_NULL) MPI_Comm_free(&s->domain);
    NL_FREE(s->pingpong, s->state);
    s->pingpong = NULL;
    s->state = NULL;
}

/* ---- the residual -------------------------------------------------------------------------------------------------------------------- */

/* How far this rank's model is off: what it is off against its parent in the tree, by new exchanges, and what the parent is off itself. So
 * it takes log n rounds, whatever the method was. Collective over `heads`. */
static double measure_residual(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    double off_ns[CHECKS] = {0}, above_ns[CHECKS] = {0}, largest_ns = 0;
    p->model = &s->model;
    for (int i = 0; i < CHECKS; i++) {
        struct nd_exchange e;
        if (nd_pingpong_walk(p, CHECK_EXCHANGES, &e))
            off_ns[i] = (double)(nd_sync_to_global(&s->model, e.local_ns) - (e.local_ns - e.offset_ns));
    }
    p->model = NULL;
    nd_pingpong_take_from_above(p, above_ns, (int)sizeof above_ns);
    for (int i = 0; i < CHECKS; i++) {
        off_ns[i] += above_ns[i];
        largest_ns = fmax(largest_ns, fabs(off_ns[i]));
    }
    nd_pingpong_hand_down(p, off_ns, (int)sizeof off_ns);
    return largest_ns;
}

/* ---- runs ---------------------------------------------------------------------------------------------------------------------------- */

/* One line about this rank's clock. `n_others`: as many have the same to say, and do not. */
static void say_fault(const struct nd_sync *s, int n_others) {
    const struct nd_pingpong *p = s->pingpong;
    const char *name = s->clock->kind->name;
    double us = (double)p->fault_ns / 1000;
    char what[96], others[64] = "";
    if (p->fault == ND_SYNC_BACKWARDS) snprintf(what, sizeof what, "ran backwards by %.3f us", -us);
    else if (p->fault == ND_SYNC_STEPPED) snprintf(what, sizeof what, "jumped by %+.3f us", us);
    else {
        int world_rank;
        MPI_Group heads, world;
        MPI_Comm_group(s->heads, &heads);
        MPI_Comm_group(s->team->world, &world);
        MPI_Group_translate_ranks(heads, 1, &p->fault_peer, world, &world_rank);
        MPI_Group_free(&heads);
        MPI_Group_free(&world);
        snprintf(what, sizeof what, "jumped by %+.3f us against that of rank %d", us, world_rank);
    }
    if (n_others > 0) snprintf(others, sizeof others, " (and the clocks of %d more ranks likewise)", n_others);
    nl_error("clock synchronisation: clock '%s' of rank %d %s%s; %s", name, s->team->rank, what, others,
             strcmp(name, "monotonic-raw") ? "use the key clock=monotonic-raw of --starts"
                                           : "the machine's own clock is at fault (was it suspended or migrated?)");
}

/* Brings residual and faults together. Collective. */
static int conclude(struct nd_sync *s) {
    double mine[2] = {s->report.residual_ns, s->pingpong->fault}, largest[2];
    MPI_Allreduce(mine, largest, 2, MPI_DOUBLE, MPI_MAX, s->team->world);
    s->residual_ns = largest[0];
    int fault = (int)largest[1];
    if (fault == ND_SYNC_GOOD) return 0;
    /* a clock that stepped makes its partners see steps too: only those speak who are sure that it was theirs, and of these the first */
    int least = fault < ND_SYNC_STEPPED ? fault : ND_SYNC_STEPPED, is_mine = (int)s->pingpong->fault >= least;
    int n_offenders, first_offender = is_mine ? s->team->rank : INT_MAX;
    MPI_Allreduce(&is_mine, &n_offenders, 1, MPI_INT, MPI_SUM, s->team->world);
    MPI_Allreduce(MPI_IN_PLACE, &first_offender, 1, MPI_INT, MPI_MIN, s->team->world);
    if (first_offender == s->team->rank) say_fault(s, n_offenders - 1);
    s->pingpong->fault = ND_SYNC_GOOD;
    return -1;
}

/* Tells the ranks that share a clock what its head knows. Collective over `domain`. */
static void share_in_domain(struct nd_sync *s) {
    struct { struct nd_sync_model model; struct nd_sync_report report; } head = {s->model, s->report};
    MPI_Bcast(&head, (int)sizeof head, MPI_BYTE, 0, s->domain);
    if (s->heads != MPI_COMM_NULL) return;
    s->model = head.model;
    s->report = head.report;
    s->report.is_measured = 0;
    s->report.rtt_ns = s->report.n_exchanges = 0;
}

int nd_sync_run(struct nd_sync *s) {
    MPI_Barrier(s->team->world);
    int64_t start_ns = nl_mono_ns();
    s->model = (struct nd_sync_model){0};
    s->report = (struct nd_sync_report){0};
    nd_pingpong_watch(s->pingpong);
    if (s->n_heads > 1) {
        s->pingpong->n_exchanges = 0;
        if (s->heads != MPI_COMM_NULL) {
            s->options.method->run(s);
            s->report.residual_ns = measure_residual(s);
            s->report.n_exchanges = s->pingpong->n_exchanges;
            s->report.at_ns = nd_sync_to_global(&s->model, nd_clock_now(s->clock));
            s->report.offset_ns = s->model.offset_ns;
            s->report.drift_ppm = s->model.drift * 1e6;
        }
        nd_pingpong_watch(s->pingpong);
        share_in_domain(s);
    }
    int status = conclude(s);
    s->run_ns = nl_mono_ns() - start_ns;
    s->n_runs++;
    return status;
}

int nd_sync_check(struct nd_sync *s) {
    nd_pingpong_watch(s->pingpong);
    if (s->n_heads > 1) {
        if (s->heads != MPI_COMM_NULL) s->report.residual_ns = measure_residual(s);
        MPI_Bcast(&s->report.residual_ns, 1, MPI_DOUBLE, 0, s->domain);
        nd_pingpong_watch(s->pingpong);
    }
    return conclude(s);
}
