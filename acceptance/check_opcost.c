#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exchanges.h"
#include "started.h"
#include "transfer.h"

enum { SCALAR_BYTES = 8, VECTOR_BYTES = 8192, LEAST = 4, MOST = 20000, LOOK_EVERY = 64 };

/* The published list (Kurgalin, Krivtsov & Parshina), in its order. */
static const struct row {
    const char *variant;
    const struct nd_op *own;   /* NULL: the detector's operation of that name */
    const char *operation;
    int64_t bytes;
} rows[] = {
    {"wtime", &nx_op_wtime, NULL, SCALAR_BYTES},
    {"barrier", NULL, "barrier", 0},
    {"allreduce-scalar", NULL, "allreduce", SCALAR_BYTES},
    {"allreduce-vector", NULL, "allreduce", VECTOR_BYTES},
    {"reduce-scalar", NULL, "reduce", SCALAR_BYTES},
    {"reduce-vector", NULL, "reduce", VECTOR_BYTES},
    {"bcast", NULL, "bcast", VECTOR_BYTES},
    {"gather", NULL, "gather", VECTOR_BYTES},
    {"isend+wait", &nx_op_send_nonblocking, NULL, VECTOR_BYTES},
    {"send", &nx_op_send_blocking, NULL, VECTOR_BYTES},
    {"sendrecv", &nx_op_sendrecv, NULL, VECTOR_BYTES},
    {"send+recv", &nx_op_send_and_recv, NULL, VECTOR_BYTES},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

struct state {
    struct nx_started started[N_ROWS];
};

static int open_opcost(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state = calloc(1, sizeof *s);
    snprintf(t->reason, sizeof t->reason, "not enough memory");
    if (nx_agree(r, !s, t->reason) || nx_need_starter(r, t)) return -1;
    for (int i = 0; i < N_ROWS; i++) {
        const struct nd_op *op = rows[i].own ? rows[i].own : nd_op_find(rows[i].operation);
        int rc = nx_started_open(r, &s->started[i], op, rows[i].bytes, t->reason);
        if (rc) return rc;
    }
    return 0;
}

static int64_t now(void) { return nl_now_ns(CLOCK_MONOTONIC_RAW); }

/* DT: mean time between two readings of the clock. */
static double clock_cost(int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        int64_t t1 = now(), t2 = now();
        sum += t2 - t1;
    }
    return (double)sum / n;
}

/* Whether the clock is looked at before run i: often at first, when nobody knows yet how long a run takes. */
static int is_look(int i) { return i >= LEAST && (i % LOOK_EVERY == 0 || (i & (i - 1)) == 0); }

/* Mean of t2 - t1 over as many runs, set in *n, as the time holds, of: barrier, t1, operation (NULL: none), barrier, t2. */
static double between_barriers(struct nx_run *r, struct nd_op_state *op, int64_t slice_ns, int *n) {
    int64_t sum = 0, until_ns = now() + slice_ns;
    for (*n = 0; *n < MOST; ++*n) {
        if (is_look(*n) && !nx_has_time(r->team.world, until_ns)) break;
        MPI_Barrier(r->team.world);
        int64_t t1 = now();
        if (op) op->call(op);
        MPI_Barrier(r->team.world);
        sum += now() - t1;
    }
    return (double)sum / *n;
}

/* The largest of all ranks: an operation's time is its slowest rank's. */
static double largest(struct nx_run *r, double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, r->team.world);
    return value;
}

static void add(struct nx_run *r, const struct row *op, const char *metric, double value_ns, int64_t n) {
    struct nx_row row = nx_row(metric, "ns", value_ns);
    if (r->team.rank != 0) return;
    if (op) snprintf(row.variant, sizeof row.variant, "%s", op->variant);
    if (op && op->bytes) row.bytes = op->bytes;
    row.n = n;
    nx_add(r, &row);
}

static int measure_opcost(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int64_t slice_ns = t->budget_ns / (2 * N_ROWS + 1);
    /* DT and DB of this repetition: both drift */
    int n;
    double dt_ns = clock_cost(MOST), db_ns = between_barriers(r, NULL, slice_ns, &n) - dt_ns;
    add(r, NULL, "clock_cost", dt_ns, MOST);
    add(r, NULL, "barrier_cost", largest(r, db_ns), n);
    for (int i = 0; i < N_ROWS; i++) {
        struct nd_op_state *op = &s->started[i].state;
        double mean_ns = between_barriers(r, op, slice_ns, &n);
        add(r, &rows[i], "published", largest(r, mean_ns - dt_ns - db_ns), n);
        if (nx_started_run(r, &s->started[i], slice_ns, 2 * LEAST, t->reason)) return -1;
        const struct nd_start_half *half = &r->starter->half;
        if (r->team.rank == 0) add(r, &rows[i], "synchronised", (double)half->global_ns / (double)half->n_starts, half->n_starts);
        if (r->team.rank == 0)
            add(r, &rows[i], "synchronised_p50", (double)nl_hist_quantile(&r->starter->measures[ND_MEASURE_GLOBAL], 0.5), half->n_starts);
    }
    return 0;
}

static void close_opcost(struct nx_task *t) {
    struct state *s = t->state;
    for (int i = 0; s && i < N_ROWS; i++) nx_started_close(&s->started[i]);
    free(s);
}

const struct nx_check nx_check_opcost = {
    .name = "opcost",
    .help = "MPI operations: between barriers with the cost of clock and barrier taken out, and with synchronised starts",
    .unit = "ns",
    .least_ranks = 2,
    .quick_share = 6,
    .full_share = 8,
    .open = open_opcost,
    .measure = measure_opcost,
    .close = close_opcost,
};
