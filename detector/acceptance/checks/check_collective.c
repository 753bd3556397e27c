#include "detector/acceptance/started.h"

enum { LEAST_STARTS = 16 };

static const struct nx_started_row rows[] = {{"barrier", NULL, "barrier", 0},
                                             {"allreduce", NULL, "allreduce", 8},
                                             {"alltoall", NULL, "alltoall", 2048}};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int open_collective(struct nx_run *r, struct nx_task *t) {
    return nx_started_open(r, t, t->state, rows, N_ROWS);
}

/* Share of all time that went into operations longer than twice the median, percent. */
static double long_share(const struct nl_hist *h) {
    double limit = 2. * (double)nl_hist_quantile(h, 0.5), all = 0, above = 0;
    for (int i = 0; i < NL_HIST_BINS; i++) {
        if (!h->bins[i]) continue;
        double middle = ((double)nl_hist_lo(i) + (double)nl_hist_hi(i) - 1) / 2,
               sum = middle * (double)h->bins[i];
        all += sum;
        if (middle > limit) above += sum;
    }
    return all > 0 ? 100 * above / all : NAN;
}

static const struct {
    const char *metric;
    double q;
} quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};

/* What the starts just made came to (rank 0). */
static void add_figures(struct nx_run *r, const struct nx_started_row *op) {
    const struct nl_hist *h = &r->starter->measures[ND_MEASURE_GLOBAL];
    const struct nd_start_half *half = &r->starter->half;
    struct nx_row row = nx_row(op->variant);
    int64_t n = half->n_starts;
    if (op->bytes) row.bytes = op->bytes;
    for (int i = 0; i < 3; i++)
        nx_put(r, &row, quantiles[i].metric, "ns", (double)nl_hist_quantile(h, quantiles[i].q), n);
    nx_put(r, &row, "mean", "ns", (double)half->global_ns / (double)n, n);
    nx_put(r, &row, "longest", "ns", (double)nl_hist_max(h), n);
    nx_put(r, &row, "above_twice_median", "percent", long_share(h), n);
    nx_put(r, &row, "late_starts", "percent", 100. * (double)half->n_late / (double)n, n);
    for (int rank = 0; rank < r->team.n_ranks; rank++) {
        row.rank = rank;
        const struct nd_start_rank *sums = &r->starter->rank_sums[rank];
        nx_put(r, &row, "last_start", "percent", 100. * (double)sums->last_starts / (double)n, n);
        nx_put(r, &row, "last_end", "percent", 100. * (double)sums->last_ends / (double)n, n);
        nx_put(r, &row, "last_start_cost", "ns", (double)sums->start_cost_ns / (double)n, n);
        nx_put(r, &row, "last_end_cost", "ns", (double)sums->end_cost_ns / (double)n, n);
    }
    struct nl_hist *all = nx_hist(r, "time", op->variant, -1, op->bytes);
    if (all)
        nl_hist_join(all, h);
    else
        r->has_no_memory = 1;
}

static int measure_collective(struct nx_run *r, struct nx_task *t) {
    struct nx_started *started = t->state;
    for (int i = 0; i < N_ROWS; i++) {
        if (nx_started_run(r, &started[i], t->budget_ns / N_ROWS, LEAST_STARTS, t->reason)) return -1;
        if (r->team.rank == 0) add_figures(r, &rows[i]);
    }
    return 0;
}

static void close_collective(void *state) { nx_started_close(state, N_ROWS); }

const struct nx_check nx_check_collective = {
    .name = "collective",
    .help = "synchronised barrier, allreduce and alltoall: quantiles, share of time above twice the median, "
            "who was last",
    .unit = "ns",
    .least_ranks = 2,
    .quick_share = 9,
    .full_share = 16,
    .open = open_collective,
    .measure = measure_collective,
    .state_bytes = N_ROWS * sizeof(struct nx_started),
    .close = close_collective,
};
