/* Offset and drift along a binomial tree, after HCA3 (Hunold & Carpen-Amarie, Hierarchical Clock Synchronization in MPI, CLUSTER 2018,
 * doi 10.1109/CLUSTER.2018.00050): every rank fits a line through offsets to its parent, and the lines on the way to rank 0 are composed.
 *
 * All edges are measured in the same stretch of time: the tree is walked once per point, in ceil(log2 n) rounds of disjoint pairs, and
 * between points everybody sleeps, so the run takes no longer with more ranks until the walks fill the span. */
#include "detector/sync/sync_pingpong.h"

enum { BURST = 10 };       /* exchanges per point, of which the one of the shortest round trip counts */
enum { WARM_UP = 4 };      /* exchanges that only make connections */
enum { N_ANCHORS = 8 };
#define ANCHOR_AGE_NS ((int64_t)60 * 1000000000) /* longer ago, a clock may have been warmer */
/* A slope this many standard errors from that of earlier runs: the clock has another rate now. Not fewer: where ranks share CPUs, one
 * slope in some hundreds is off by five. */
#define SAME_RATE_ERRORS 6
/* The two ways of a round trip do not take the same time, and what they differ by wanders: a part of the error that neighbouring points
 * share, so that their scatter does not show it. As a share of the shortest round trip; over TCP slopes scattered by about what this
 * gives. */
#define UNSEEN_SHARE 0.01

/* A line through the offsets of one edge. offset = offset_ns + slope * (local - at_ns); its two errors are independent, at_ns being the
 * mean. */
struct line {
    int64_t at_ns, offset_ns;
    double slope;
    double offset_se_ns, slope_se;
    double offset_bound_ns, slope_bound; /* wrong by no more than this */
};

/* Where the line of an earlier run was. */
struct anchor { int64_t at_ns, offset_ns; double se_ns, bound_ns; };

/* An edge's memory, of the child. */
struct edge {
    int n_anchors;
    struct anchor anchors[N_ANCHORS]; /* oldest first */
    struct nd_exchange points[];      /* n_points of them; overwritten by each run */
};

static size_t state_bytes(const struct nd_sync_options *o) {
    return sizeof(struct edge) + (size_t)o->n_points * sizeof(struct nd_exchange);
}

/* ---- points -------------------------------------------------------------------------------------------------------------------------- */

static void sleep_until(int64_t at_ns) {
    struct timespec at = nl_timespec(at_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* Two offsets each right to half their round trip: what they differ by beyond that and ND_SYNC_MAX_RATE is a step of one of the two
 * clocks. */
static void look_for_step(struct nd_pingpong *p, const struct nd_exchange *a, const struct nd_exchange *b) {
    int64_t step_ns = b->offset_ns - a->offset_ns;
    double most_ns =
        ND_SYNC_MAX_RATE * (double)llabs(b->local_ns - a->local_ns) + (double)(a->rtt_ns + b->rtt_ns) / 2 + 4 * p->clock->resolution_ns;
    if (fabs((double)step_ns) > most_ns + 1000) nd_pingpong_fault(p, ND_SYNC_STEPPED_OF_TWO, step_ns, p->rank & (p->rank - 1));
}

static void take_points(struct nd_sync *s, struct nd_exchange *points) {
    struct nd_pingpong *p = s->pingpong;
    struct nd_exchange warm_up;
    int n = s->options.n_points;
    nd_pingpong_walk(p, WARM_UP, &warm_up);
    int64_t start_ns = nl_mono_ns(), step_ns = n > 1 ? s->options.span_ns / (n - 1) : 0;
    for (int i = 0; i < n; i++) {
        sleep_until(start_ns + i * step_ns);
        nd_pingpong_watch(p);
        if (nd_pingpong_walk(p, BURST, &points[i]) && i > 0) look_for_step(p, &points[i - 1], &points[i]);
    }
}

/* ---- fits ---------------------------------------------------------------------------------------------------------------------------- */

NL_ORDER_BY(compare_rtt, struct nd_exchange, rtt_ns)

/* Weighted least squares. What a round trip took beyond the shortest one it may have lost in one direction, and then the offset is wrong by
 * half of it: this excess, beside that of the median point, is the point's standard deviation, so that a point whose every exchange was
 * disturbed counts for next to nothing. Sorts the points. */
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
                s_bound += w * nd_pingpong_bound_ns(p, &points[i]);
                sx_bound += w * fabs(x) * nd_pingpong_bound_ns(p, &points[i]);
            } else {
                sw += w;
                sx += w * x;
                sy += w * y;
            }
        }
    }
    struct line l = {
        .at_ns = origin.local_ns + llround(sx / sw), .offset_ns = origin.offset_ns + llround(sy / sw), .offset_bound_ns = s_bound / sw,
        .slope_se = INFINITY, .slope_bound = ND_SYNC_MAX_RATE,
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

/* Makes the slope better by lines of earlier runs: the mean of this run's slope and the one from the best anchor, by their errors. They
 * are independent, as a line's height in its middle is independent of its slope. */
static void use_memory(struct edge *edge, struct line *l) {
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

/* Keeps the line of this run for later ones: one per eighth of the age, so that a full memory reaches back over all of it. */
static void remember(struct edge *edge, const struct line *l) {
    int n = edge->n_anchors;
    if (n > 0 && l->at_ns - edge->anchors[n - 1].at_ns < ANCHOR_AGE_NS / N_ANCHORS) return;
    /* the newest stays however old it is: better than none */
    int n_old = n == N_ANCHORS;
    while (n_old < n - 1 && l->at_ns - edge->anchors[n_old].at_ns > ANCHOR_AGE_NS) n_old++;
    n -= n_old;
    memmove(edge->anchors, edge->anchors + n_old, (size_t)n * sizeof *edge->anchors);
    edge->anchors[n] = (struct anchor){l->at_ns, l->offset_ns, l->offset_se_ns, l->offset_bound_ns};
    edge->n_anchors = n + 1;
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------------- */

/* What a rank tells its children: its clock against rank 0's. */
struct known { struct nd_sync_model model; double offset_bound_ns, slope_bound; };

/* The child's clock against rank 0's from the child's against its parent's and the parent's against rank 0's: the exact composition of the
 * two affine maps, in which the rates multiply, (1 - s)(1 - t) = 1 - (s + t - s t). */
static struct known compose(const struct line *child, const struct known *parent) {
    const struct nd_sync_model *m = &parent->model;
    double since_ns = (double)(child->at_ns - child->offset_ns - m->at_ns); /* on the parent's clock */
    return (struct known){
        .model.at_ns = child->at_ns,
        .model.offset_ns = child->offset_ns + m->offset_ns + llround(m->drift * since_ns),
        .model.drift = child->slope + m->drift - child->slope * m->drift,
        .offset_bound_ns = child->offset_bound_ns + parent->offset_bound_ns + parent->slope_bound * fabs(since_ns) + 1,
        .slope_bound = child->slope_bound + parent->slope_bound,
    };
}

static void run(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    struct edge *edge = s->state;
    struct known here = {0};
    take_points(s, edge->points);
    nd_pingpong_take_from_above(p, &here, (int)sizeof here);
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
    nd_pingpong_hand_down(p, &here, (int)sizeof here);
}

const struct nd_sync_method nd_sync_tree = {
    .name = "tree", .help = "offset and drift along a tree of the nodes, in log n rounds", .has_drift = 1, .is_hierarchical = 1,
    .state_bytes = state_bytes, .run = run,
};
