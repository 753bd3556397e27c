#include "detector/acceptance/started.h"

enum { LEAST_STARTS = 16 };

static const struct row { const char *operation; int64_t bytes; } rows[] = {{"barrier", 0}, {"allreduce", 8}, {"alltoall", 2048}};
enum { N_ROWS = sizeof rows / sizeof *rows };

struct state { struct nx_started started[N_ROWS]; };

static int open_collective(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state = calloc(1, sizeof *s);
    snprintf(t->reason, sizeof t->reason, "not enough memory");
    if (nx_agree(r, !s, t->reason) || nx_need_starter(r, t)) return -1;
    for (int i = 0; i < N_ROWS; i++) {
        int rc = nx_started_open(r, &s->started[i], nd_op_find(rows[i].operation), rows[i].bytes, t->reason);
        if (rc) return rc;
    }
    return 0;
}

/* Share of all time that went into operations longer than twice the median, percent. */
static double long_share(const struct nl_hist *h) {
    double limit = 2. * (double)nl_hist_quantile(h, 0.5), all = 0, above = 0;
    for (int i = 0; i < NL_HIST_BINS; i++) {
        if (!h->bins[i]) continue;
        double middle = ((double)nl_hist_lo(i) + (double)nl_hist_hi(i) - 1) / 2, sum = middle * (double)h->bins[i];
        all += sum;
        if (middle > limit) above += sum;
    }
    return all > 0 ? 100 * above / all : NAN;
}

static void add(struct nx_run *r, const struct row *op, const char *metric, const char *unit, double value, int rank, int64_t n) {
    struct nx_row row = nx_row(metric, unit, value);
    snprintf(row.variant, sizeof row.variant, "%s", op->operation);
    if (op->bytes) row.bytes = op->bytes;
    row.rank = rank;
    row.n = n;
    nx_add(r, &row);
}

static const struct { const char *metric; double q; } quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};

/* What the starts just made came to (rank 0). */
static void add_figures(struct nx_run *r, const struct row *op) {
    const struct nl_hist *h = &r->starter->measures[ND_MEASURE_GLOBAL];
    const struct nd_start_half *half = &r->starter->half;
    int64_t n = half->n_starts;
    for (int i = 0; i < 3; i++) add(r, op, quantiles[i].metric, "ns", (double)nl_hist_quantile(h, quantiles[i].q), -1, n);
    add(r, op, "mean", "ns", (double)half->global_ns / (double)n, -1, n);
    add(r, op, "longest", "ns", (double)nl_hist_max(h), -1, n);
    add(r, op, "above_twice_median", "percent", long_share(h), -1, n);
    add(r, op, "late_starts", "percent", 100. * (double)half->n_late / (double)n, -1, n);
    for (int rank = 0; rank < r->team.n_ranks; rank++) {
        const struct nd_start_rank *sums = &r->starter->rank_sums[rank];
        add(r, op, "last_start", "percent", 100. * (double)sums->last_starts / (double)n, rank, n);
        add(r, op, "last_end", "percent", 100. * (double)sums->last_ends / (double)n, rank, n);
        add(r, op, "last_start_cost", "ns", (double)sums->start_cost_ns / (double)n, rank, n);
        add(r, op, "last_end_cost", "ns", (double)sums->end_cost_ns / (double)n, rank, n);
    }
    struct nl_hist *all = nx_hist(r, "time", op->operation, -1, op->bytes);
    if (all) nl_hist_join(all, h);
    else r->has_no_memory = 1;
}

static int measure_collective(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    for (int i = 0; i < N_ROWS; i++) {
        if (nx_started_run(r, &s->started[i], t->budget_ns / N_ROWS, LEAST_STARTS, t->reason)) return -1;
        if (r->team.rank == 0) add_figures(r, &rows[i]);
    }
    return 0;
}

static void close_collective(struct nx_task *t) {
    struct state *s = t->state;
    for (int i = 0; s && i < N_ROWS; i++) nx_started_close(&s->started[i]);
    free(s);
}

const struct nx_check nx_check_collective = {
    .name = "collective",
    .help = "synchronised barrier, allreduce and alltoall: quantiles, share of time above twice the median, who was last", .unit = "ns",
    .least_ranks = 2, .quick_share = 9, .full_share = 16, .open = open_collective, .measure = measure_collective, .close = close_collective,
};
