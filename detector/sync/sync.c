#include "detector/sync/sync.h"

/* ---- exchanges between two ranks, and an eye on the own clock ---- */

/* Asked at T', answered with the other's clock T0, the answer here at T'': offset_ns is right to rtt_ns/2. */
struct nd_exchange {
    int64_t local_ns;  /* (T' + T'')/2, on the asker's clock */
    int64_t offset_ns; /* local_ns - T0 */
    int64_t rtt_ns;    /* T'' - T' */
};

/* What was seen of a clock that cannot be. Larger numbers are surer about whose clock it was. */
enum nd_sync_fault { ND_SYNC_GOOD, ND_SYNC_STEPPED_OF_TWO, ND_SYNC_STEPPED, ND_SYNC_BACKWARDS };

/* One rank's end of all exchanges, and what it has seen of its own clock. */
struct nd_pingpong {
    const struct nd_clock *clock;
    MPI_Comm comm;
    int rank, n_ranks; /* of `comm` */
    const struct nd_sync_model
        *model;          /* answers are in global time by this model; NULL: the clock's own time */
    int64_t n_exchanges; /* asked for */

    int64_t last_ns; /* the last reading: none may be smaller */
    /* the clock beside CLOCK_MONOTONIC_RAW at the last look */
    int is_watched;
    int64_t watched_ns, watched_raw_ns, watched_error_ns;

    enum nd_sync_fault fault;
    int64_t fault_ns; /* by how much */
};

/* The fastest that two clocks may drift apart; what is faster counts as a step. NTP slews by 500 ppm at most.
 */
#define ND_SYNC_MAX_RATE 1000e-6

enum { TAG_ASK = 1, TAG_ANSWER, TAG_DOWN };

static void note_fault(struct nd_pingpong *p, enum nd_sync_fault fault, int64_t ns) {
    if (fault <= p->fault) return;
    p->fault = fault;
    p->fault_ns = ns;
}

static int64_t read_clock(struct nd_pingpong *p) {
    int64_t now_ns = nd_clock_now(p->clock);
    if (__builtin_expect(now_ns < p->last_ns, 0)) note_fault(p, ND_SYNC_BACKWARDS, now_ns - p->last_ns);
    p->last_ns = now_ns;
    return now_ns;
}

/* How far both clocks have gone since the last look: a difference above ND_SYNC_MAX_RATE is a step of this
 * rank's own. */
static void watch_clock(struct nd_pingpong *p) {
    int64_t before_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    int64_t now_ns = read_clock(p);
    int64_t after_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    /* the clock was read between the two: however long the rank stood still there, that is no step */
    int64_t raw_ns = before_ns + (after_ns - before_ns) / 2, error_ns = (after_ns - before_ns + 1) / 2;
    if (p->is_watched) {
        int64_t step_ns = (now_ns - p->watched_ns) - (raw_ns - p->watched_raw_ns);
        /* 1 us: what reading the counter out of order and rounding may add */
        double most_ns = ND_SYNC_MAX_RATE * (double)(raw_ns - p->watched_raw_ns) +
                         (double)(error_ns + p->watched_error_ns) + 2 * p->clock->resolution_ns + 1000;
        if ((double)llabs(step_ns) > most_ns) note_fault(p, ND_SYNC_STEPPED, step_ns);
    }
    p->is_watched = 1;
    p->watched_ns = now_ns;
    p->watched_raw_ns = raw_ns;
    p->watched_error_ns = error_ns;
}

/* How far the offset of an exchange may be off at most, ns: half the round trip, and what the clocks'
 * resolution and rates add to it. */
static double bound_ns(const struct nd_pingpong *p, const struct nd_exchange *e) {
    return (double)e->rtt_ns / 2 * (1 + ND_SYNC_MAX_RATE) + p->clock->resolution_ns + 1;
}

static struct nd_exchange exchange(struct nd_pingpong *p, int peer) {
    int64_t other_ns, asked_ns = read_clock(p);
    MPI_Send(&asked_ns, 1, MPI_INT64_T, peer, TAG_ASK, p->comm);
    MPI_Recv(&other_ns, 1, MPI_INT64_T, peer, TAG_ANSWER, p->comm, MPI_STATUS_IGNORE);
    int64_t rtt_ns = read_clock(p) - asked_ns;
    p->n_exchanges++;
    return (struct nd_exchange){
        .local_ns = asked_ns + rtt_ns / 2, .offset_ns = asked_ns + rtt_ns / 2 - other_ns, .rtt_ns = rtt_ns};
}

/* n > 0 exchanges with `peer`, who answers as many; `best` is the one of the shortest round trip. */
static void ask(struct nd_pingpong *p, int peer, int n, struct nd_exchange *best) {
    *best = exchange(p, peer);
    for (int i = 1; i < n; i++) {
        struct nd_exchange e = exchange(p, peer);
        if (e.rtt_ns < best->rtt_ns) *best = e;
    }
}

#define ENOUGH INT64_MIN /* asked in place of a time: no more will come */

/* What was asked; ENOUGH has no answer. */
static int64_t answer_one(struct nd_pingpong *p, int peer) {
    int64_t asked_ns;
    MPI_Recv(&asked_ns, 1, MPI_INT64_T, peer, TAG_ASK, p->comm, MPI_STATUS_IGNORE);
    if (asked_ns == ENOUGH) return asked_ns;
    int64_t now_ns = read_clock(p);
    if (p->model) now_ns = nd_sync_to_global(p->model, now_ns);
    MPI_Send(&now_ns, 1, MPI_INT64_T, peer, TAG_ANSWER, p->comm);
    return asked_ns;
}

static void answer(struct nd_pingpong *p, int peer, int n) {
    for (int i = 0; i < n; i++)
        answer_one(p, peer);
}

/* The binomial tree over `comm`: rank r's parent is r without its lowest set bit. In round k the ranks that
 * differ in bit k only are pairs, so a walk takes ceil(log2 n) rounds. Every rank makes n exchanges with its
 * parent: 1, with the best; 0 at the root. Collective. */
static int walk(struct nd_pingpong *p, int n, struct nd_exchange *best) {
    for (int bit = 1; bit < p->n_ranks; bit <<= 1) {
        if (p->rank & bit) {
            ask(p, p->rank - bit, n, best);
            return 1; /* its children, of lower bits, are done */
        }
        if (p->rank + bit < p->n_ranks) answer(p, p->rank + bit, n);
    }
    return 0;
}

/* The root does nothing. Each rank then calls hand_down. */
static void take_from_above(struct nd_pingpong *p, void *data, int size) {
    if (p->rank != 0)
        MPI_Recv(data, size, MPI_BYTE, p->rank & (p->rank - 1), TAG_DOWN, p->comm, MPI_STATUS_IGNORE);
}

static void hand_down(struct nd_pingpong *p, const void *data, int size) {
    int end = p->rank ? p->rank & -p->rank : p->n_ranks,
        bit = 1; /* children differ in one bit below the lowest set one */
    while (bit < end)
        bit <<= 1;
    /* the child with the deepest tree below it first */
    while (bit >>= 1)
        if (p->rank + bit < p->n_ranks) MPI_Send(data, size, MPI_BYTE, p->rank + bit, TAG_DOWN, p->comm);
}

/* Offset and drift along a binomial tree, after HCA3 (Hunold & Carpen-Amarie, Hierarchical Clock
 * Synchronization in MPI, CLUSTER 2018, doi 10.1109/CLUSTER.2018.00050): every rank fits a line through
 * offsets to its parent, and the lines on the way to rank 0 are composed. The tree is walked once per point,
 * and between points everybody sleeps, so the run takes no longer with more ranks until walks fill it. */

/* BURST: exchanges per point, of which the one of the shortest round trip counts; WARM_UP: exchanges that
 * only make connections */
enum { BURST = 10, WARM_UP = 4, N_ANCHORS = 8 };
#define ANCHOR_AGE_NS ((int64_t)60 * 1000000000) /* longer ago, a clock may have been warmer */
/* A slope this many standard errors from earlier ones: another rate. Where ranks share CPUs, one in some
 * hundreds is off by five. */
#define SAME_RATE_ERRORS 6
/* An error that neighbouring points share, as a share of the shortest round trip: slopes over TCP scattered
 * by about what it gives. */
#define UNSEEN_SHARE 0.01

/* offset = offset_ns + slope * (local - at_ns); its two errors are independent, at_ns being the mean. */
struct line {
    int64_t at_ns, offset_ns;
    double slope;
    double offset_se_ns, slope_se;
    double offset_bound_ns, slope_bound; /* wrong by no more than this */
};

/* Where the line of an earlier run was. */
struct anchor {
    int64_t at_ns, offset_ns;
    double se_ns, bound_ns;
};

struct nd_edge {
    int n_anchors;
    struct anchor anchors[N_ANCHORS]; /* oldest first */
    struct nd_exchange points[];      /* n_points of them; overwritten by each run */
};

static void sleep_until(int64_t at_ns) {
    struct timespec at = nl_timespec(at_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {}
}

/* Two offsets each right to half their round trip: what they differ by beyond that and ND_SYNC_MAX_RATE is a
 * step of a clock. */
static void look_for_step(struct nd_pingpong *p, const struct nd_exchange *a, const struct nd_exchange *b) {
    int64_t step_ns = b->offset_ns - a->offset_ns;
    double most_ns = ND_SYNC_MAX_RATE * (double)llabs(b->local_ns - a->local_ns) +
                     (double)(a->rtt_ns + b->rtt_ns) / 2 + 4 * p->clock->resolution_ns;
    if (fabs((double)step_ns) > most_ns + 1000) note_fault(p, ND_SYNC_STEPPED_OF_TWO, step_ns);
}

static void take_points(struct nd_sync *s, struct nd_exchange *points) {
    struct nd_pingpong *p = s->pingpong;
    struct nd_exchange warm_up;
    int n = s->options.n_points;
    walk(p, WARM_UP, &warm_up);
    int64_t start_ns = nl_mono_ns(), step_ns = n > 1 ? s->options.span_ns / (n - 1) : 0;
    for (int i = 0; i < n; i++) {
        sleep_until(start_ns + i * step_ns);
        watch_clock(p);
        if (walk(p, BURST, &points[i]) && i > 0) look_for_step(p, &points[i - 1], &points[i]);
    }
}

/* ---- fits ---- */

NL_ORDER_BY(compare_rtt, struct nd_exchange, rtt_ns)

/* Weighted least squares. What a round trip took beyond the shortest one it may have lost in one direction:
 * half of that, beside that of the median point, is the point's standard deviation. Sorts the points. */
static struct line fit(const struct nd_pingpong *p, struct nd_exchange *points, int n) {
    const double resolution_ns = fmax(p->clock->resolution_ns, 1);
    qsort(points, (size_t)n, sizeof *points, compare_rtt);
    const struct nd_exchange origin = points[0];
    double usual_ns = (double)(points[n / 2].rtt_ns - origin.rtt_ns) / 2 + resolution_ns + 1;
    double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, chi2 = 0, s_bound = 0, sx_bound = 0;
    for (int pass = 0; pass < 2; pass++) {
        double mean_x = pass ? sx / sw : 0, mean_y = pass ? sy / sw : 0;
        for (int i = 0; i < n; i++) {
            double sd_ns = usual_ns + (double)(points[i].rtt_ns - origin.rtt_ns) / 2, w = 1 / (sd_ns * sd_ns);
            double x = (double)(points[i].local_ns - origin.local_ns) - mean_x,
                   y = (double)(points[i].offset_ns - origin.offset_ns) - mean_y;
            if (pass) {
                sxx += w * x * x;
                sxy += w * x * y;
                chi2 += w * y * y;
                s_bound += w * bound_ns(p, &points[i]);
                sx_bound += w * fabs(x) * bound_ns(p, &points[i]);
            } else {
                sw += w;
                sx += w * x;
                sy += w * y;
            }
        }
    }
    struct line l = {
        .at_ns = origin.local_ns + llround(sx / sw),
        .offset_ns = origin.offset_ns + llround(sy / sw),
        .offset_bound_ns = s_bound / sw,
        .slope_se = INFINITY,
        .slope_bound = ND_SYNC_MAX_RATE,
    };
    double scale = 1; /* how the points scatter, against what their round trips make one expect */
    double unseen_ns = UNSEEN_SHARE * (double)origin.rtt_ns + resolution_ns / n;
    if (sxx > 0) {
        l.slope = sxy / sxx;
        if (n > 2) scale = fmax(chi2 - l.slope * sxy, 0) / (n - 2);
        l.slope_bound = fmin(l.slope_bound, sx_bound / sxx);
        l.slope_se = hypot(sqrt(scale / sxx), unseen_ns / sqrt(sxx / sw));
    }
    l.offset_se_ns = hypot(sqrt(scale / sw), unseen_ns);
    return l;
}

/* The mean of this run's slope and the one from the best anchor, by their errors, which are independent. */
static void use_memory(struct nd_edge *edge, struct line *l) {
    double best_se = INFINITY, best_slope = 0, best_bound = 0;
    for (int i = 0; i < edge->n_anchors; i++) {
        const struct anchor *a = &edge->anchors[i];
        double dt_ns = (double)(l->at_ns - a->at_ns), se = hypot(l->offset_se_ns, a->se_ns) / dt_ns;
        if (dt_ns <= 0 || se >= best_se) continue;
        best_se = se;
        best_slope = (double)(l->offset_ns - a->offset_ns) / dt_ns;
        best_bound = (l->offset_bound_ns + a->bound_ns) / dt_ns;
    }
    if (isfinite(best_se) && fabs(best_slope - l->slope) > SAME_RATE_ERRORS * hypot(best_se, l->slope_se)) {
        edge->n_anchors = 0;
    } else if (isfinite(best_se)) {
        double w = 1 / (best_se * best_se), w_own = 1 / (l->slope_se * l->slope_se);
        l->slope = (w * best_slope + w_own * l->slope) / (w + w_own);
        l->slope_bound = (w * best_bound + w_own * l->slope_bound) / (w + w_own);
        l->slope_se = 1 / sqrt(w + w_own);
    }
}

/* Keeps the line of this run for later ones: one per eighth of the age, so that a full memory reaches back
 * over all of it. */
static void remember(struct nd_edge *edge, const struct line *l) {
    int n = edge->n_anchors;
    if (n > 0 && l->at_ns - edge->anchors[n - 1].at_ns < ANCHOR_AGE_NS / N_ANCHORS) return;
    /* the newest stays however old it is: better than none */
    int n_old = n == N_ANCHORS;
    while (n_old < n - 1 && l->at_ns - edge->anchors[n_old].at_ns > ANCHOR_AGE_NS)
        n_old++;
    n -= n_old;
    memmove(edge->anchors, edge->anchors + n_old, (size_t)n * sizeof *edge->anchors);
    edge->anchors[n] = (struct anchor){l->at_ns, l->offset_ns, l->offset_se_ns, l->offset_bound_ns};
    edge->n_anchors = n + 1;
}

/* What a rank tells its children: its clock against rank 0's. */
struct known {
    struct nd_sync_model model;
    double offset_bound_ns, slope_bound;
};

/* The exact composition of two affine maps, in which the rates multiply: (1 - s)(1 - t) = 1 - (s + t - s t).
 */
static struct known compose(const struct line *child, const struct known *parent) {
    const struct nd_sync_model *m = &parent->model;
    double since_ns = (double)(child->at_ns - child->offset_ns - m->at_ns); /* on the parent's clock */
    return (struct known){
        .model.at_ns = child->at_ns,
        .model.offset_ns = child->offset_ns + m->offset_ns + llround(m->drift * since_ns),
        .model.drift = child->slope + m->drift - child->slope * m->drift,
        .offset_bound_ns =
            child->offset_bound_ns + parent->offset_bound_ns + parent->slope_bound * fabs(since_ns) + 1,
        .slope_bound = child->slope_bound + parent->slope_bound,
    };
}

static void run_tree(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    struct nd_edge *edge = s->edge;
    struct known here = {0};
    take_points(s, edge->points);
    take_from_above(p, &here, (int)sizeof here);
    if (p->rank > 0) {
        struct line l = fit(p, edge->points, s->options.n_points);
        use_memory(edge, &l);
        remember(edge, &l);
        here = compose(&l, &here);
        s->report.is_measured = 1;
        s->report.rtt_ns = edge->points[0].rtt_ns; /* sorted */
        s->report.bound_ns = here.offset_bound_ns;
    }
    s->model = here.model;
    hand_down(p, &here, (int)sizeof here);
}

/* ---- offsets alone, as MPIPerf has them (docs/methods.md) ---- */

enum { PATIENCE = 100 /* exchanges without a shorter round trip */, MOST_EXCHANGES = 20000 };

/* Exchanges until the least round trip has not changed for PATIENCE of them. */
static void ask_until_stable(struct nd_pingpong *p, int peer, struct nd_exchange *best) {
    int64_t enough = ENOUGH;
    ask(p, peer, WARM_UP, best);
    *best = exchange(p, peer);
    for (int n = 0, since = 0; since < PATIENCE && n < MOST_EXCHANGES; n++) {
        struct nd_exchange e = exchange(p, peer);
        since = e.rtt_ns < best->rtt_ns ? 0 : since + 1;
        if (since == 0) *best = e;
    }
    MPI_Send(&enough, 1, MPI_INT64_T, peer, TAG_ASK, p->comm);
}

static void answer_until_told(struct nd_pingpong *p, int peer) {
    while (answer_one(p, peer) != ENOUGH) {}
}

/* This rank's clock by its offset to one whose own is known. */
static void take_offset(struct nd_sync *s, const struct nd_exchange *best, const struct known *of_peer) {
    s->model = (struct nd_sync_model){.at_ns = best->local_ns,
                                      .offset_ns = best->offset_ns + of_peer->model.offset_ns};
    s->report.is_measured = 1;
    s->report.rtt_ns = best->rtt_ns;
    s->report.bound_ns = bound_ns(s->pingpong, best) + of_peer->offset_bound_ns;
}

/* Every rank in turn against rank 0. */
static void run_linear(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    const struct known root = {0};
    struct nd_exchange best = {0};
    for (int rank = 1; rank < p->n_ranks; rank++) {
        if (p->rank == 0) answer_until_told(p, rank);
        if (p->rank != rank) continue;
        ask_until_stable(p, 0, &best);
        take_offset(s, &best, &root);
    }
}

/* Every rank against its left neighbour, in pairs that do not share a rank; offsets are summed up from rank 0
 * on, and so are errors. */
static void run_ring(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    struct known left = {0};
    struct nd_exchange best = {0};
    for (int is_odd = 1; is_odd >= 0; is_odd--) {
        if (p->rank > 0 && p->rank % 2 == is_odd)
            ask_until_stable(p, p->rank - 1, &best);
        else if (p->rank % 2 != is_odd && p->rank + 1 < p->n_ranks)
            answer_until_told(p, p->rank + 1);
    }
    if (p->rank > 0) {
        MPI_Recv(&left, (int)sizeof left, MPI_BYTE, p->rank - 1, TAG_DOWN, p->comm, MPI_STATUS_IGNORE);
        take_offset(s, &best, &left);
    }
    left = (struct known){.model = s->model, .offset_bound_ns = s->report.bound_ns};
    if (p->rank + 1 < p->n_ranks) MPI_Send(&left, (int)sizeof left, MPI_BYTE, p->rank + 1, TAG_DOWN, p->comm);
}

static const struct nd_sync_method
    tree = {"tree", "offset and drift along a tree of the nodes, in log n rounds", run_tree},
    linear = {"linear",
              "offsets, every rank in turn against rank 0: time grows with the ranks, and drift is not known",
              run_linear},
    ring = {
        "ring",
        "offsets, every rank against its left neighbour, summed up: errors add up, and drift is not known",
        run_ring};

const struct nd_sync_method *const nd_sync_methods[] = {&tree, &linear, &ring, NULL};

enum {
    CHECKS = 3,
    CHECK_EXCHANGES = 10,
    SHARED_LOOKS = 3
}; /* the residual: so many walks, of each the best of so many exchanges */

/* ---- who shares a clock ---- */

/* Whether the ranks' readings may come from one clock: what is read before a barrier is no later than what is
 * read after it. Finds clocks that differ by more than a barrier lasts (time namespaces, processors out of
 * step). Collective over `node`. */
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
    int is_alone = s->clock->is_fake || s->clock->kind->is_per_process || s->options.every_rank;
    MPI_Allreduce(MPI_IN_PLACE, &is_alone, 1, MPI_INT, MPI_MAX, s->team->node);
    if (!is_alone) is_alone = !is_one_clock(s->clock, s->team->node);
    MPI_Comm_split(s->team->node, is_alone ? s->team->node_rank : 0, s->team->node_rank, &s->domain);
    int domain_rank, is_head;
    MPI_Comm_rank(s->domain, &domain_rank);
    is_head = domain_rank == 0;
    MPI_Comm_split(s->team->world, is_head ? 0 : MPI_UNDEFINED, s->team->rank, &s->heads);
    MPI_Allreduce(&is_head, &s->n_heads, 1, MPI_INT, MPI_SUM, s->team->world);
}

int nd_sync_open(struct nd_sync *s, const struct nd_sync_options *o, const struct nd_clock *clock,
                 const struct nd_team *team) {
    *s = (struct nd_sync){
        .options = *o, .clock = clock, .team = team, .heads = MPI_COMM_NULL, .domain = MPI_COMM_NULL};
    if (!s->options.method) s->options.method = nd_sync_methods[0];
    if (s->options.n_points < 1) s->options.n_points = ND_SYNC_POINTS;
    if (s->options.span_ns < 1) s->options.span_ns = ND_SYNC_SPAN_NS;
    find_domains(s);
    s->pingpong = malloc(sizeof *s->pingpong);
    s->edge = calloc(1, sizeof *s->edge + (size_t)s->options.n_points * sizeof *s->edge->points);
    int has_failed = !s->pingpong || !s->edge;
    MPI_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, team->world);
    if (has_failed) {
        nd_sync_close(s);
        return -1;
    }
    *s->pingpong = (struct nd_pingpong){.clock = clock, .comm = s->heads, .last_ns = INT64_MIN};
    if (s->heads == MPI_COMM_NULL) return 0;
    MPI_Comm_rank(s->heads, &s->pingpong->rank);
    MPI_Comm_size(s->heads, &s->pingpong->n_ranks);
    return 0;
}

void nd_sync_close(struct nd_sync *s) {
    if (s->heads != MPI_COMM_NULL) MPI_Comm_free(&s->heads);
    if (s->domain != MPI_COMM_NULL) MPI_Comm_free(&s->domain);
    NL_FREE(s->pingpong, s->edge);
    s->pingpong = NULL;
    s->edge = NULL;
}

/* How far this rank's model is off: against its parent, by new exchanges, and what the parent is. Collective
 * over `heads`. */
static double measure_residual(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    double off_ns[CHECKS] = {0}, above_ns[CHECKS] = {0}, largest_ns = 0;
    p->model = &s->model;
    for (int i = 0; i < CHECKS; i++) {
        struct nd_exchange e;
        if (walk(p, CHECK_EXCHANGES, &e))
            off_ns[i] = (double)(nd_sync_to_global(&s->model, e.local_ns) - (e.local_ns - e.offset_ns));
    }
    p->model = NULL;
    take_from_above(p, above_ns, (int)sizeof above_ns);
    for (int i = 0; i < CHECKS; i++) {
        off_ns[i] += above_ns[i];
        largest_ns = fmax(largest_ns, fabs(off_ns[i]));
    }
    hand_down(p, off_ns, (int)sizeof off_ns);
    return largest_ns;
}

/* One line about this rank's clock. `n_others`: as many have the same to say, and do not. */
static void say_fault(const struct nd_sync *s, int n_others) {
    const struct nd_pingpong *p = s->pingpong;
    const char *name = s->clock->kind->name;
    double us = (double)p->fault_ns / 1000;
    char what[96], others[64] = "";
    if (p->fault == ND_SYNC_BACKWARDS)
        snprintf(what, sizeof what, "ran backwards by %.3f us", -us);
    else
        snprintf(what, sizeof what, "jumped by %+.3f us%s", us,
                 p->fault == ND_SYNC_STEPPED ? "" : " against another rank's");
    if (n_others > 0)
        snprintf(others, sizeof others, " (and the clocks of %d more ranks likewise)", n_others);
    nl_error("clock synchronisation: clock '%s' of rank %d %s%s; %s", name, s->team->rank, what, others,
             strcmp(name, "monotonic-raw")
                 ? "use the key clock=monotonic-raw of --starts"
                 : "the machine's own clock is at fault (was it suspended or migrated?)");
}

/* Brings residual and faults together. Collective. */
static int conclude(struct nd_sync *s) {
    double mine[2] = {s->report.residual_ns, s->pingpong->fault}, largest[2];
    MPI_Allreduce(mine, largest, 2, MPI_DOUBLE, MPI_MAX, s->team->world);
    s->residual_ns = largest[0];
    int fault = (int)largest[1];
    if (fault == ND_SYNC_GOOD) return 0;
    /* a clock that stepped makes its partners see steps too: only those speak who are sure that it was
     * theirs, and of these the first */
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
    struct {
        struct nd_sync_model model;
        struct nd_sync_report report;
    } head = {s->model, s->report};
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
    watch_clock(s->pingpong);
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
        watch_clock(s->pingpong);
        share_in_domain(s);
    }
    int status = conclude(s);
    s->run_ns = nl_mono_ns() - start_ns;
    s->n_runs++;
    return status;
}

int nd_sync_check(struct nd_sync *s) {
    watch_clock(s->pingpong);
    if (s->n_heads > 1) {
        if (s->heads != MPI_COMM_NULL) s->report.residual_ns = measure_residual(s);
        MPI_Bcast(&s->report.residual_ns, 1, MPI_DOUBLE, 0, s->domain);
        watch_clock(s->pingpong);
    }
    return conclude(s);
}
