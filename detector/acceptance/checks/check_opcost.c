#include "detector/acceptance/started.h"

enum { SCALAR_BYTES = 8, VECTOR_BYTES = 8192, LEAST = 2, LEAST_STARTS = 4, MOST = 20000, N_READINGS = 20000 };

/* The published list (Kurgalin, Krivtsov & Parshina), in its order. */
static const struct nx_started_row rows[] = {
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
    int next;            /* row that the next repetition begins with */
    int n_taken[N_ROWS]; /* repetitions in which a row was measured */
};

static int open_opcost(struct nx_run *r, struct nx_task *t) {
    return nx_started_open(r, t, ((struct state *)t->state)->started, rows, N_ROWS);
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

/* Mean of t2 - t1 over as many runs, set in *n, as the time holds, of: barrier, t1, operation (NULL: none),
 * barrier, t2. */
static double between_barriers(struct nx_run *r, struct nd_op_state *op, int64_t slice_ns, int64_t *n) {
    int64_t sum = 0, begin_ns = now(), more;
    for (*n = 0; *n < MOST && (more = nx_how_many_more(r->team.world, *n, LEAST, begin_ns, slice_ns)) > 0;
         *n += more)
        for (int64_t i = 0; i < more; i++) {
            MPI_Barrier(r->team.world);
            int64_t t1 = now();
            if (op) op->call(op);
            MPI_Barrier(r->team.world);
            sum += now() - t1;
        }
    return (double)sum / (double)*n;
}

static void add(struct nx_run *r, const struct nx_started_row *op, const char *metric, double value_ns,
                int64_t n) {
    struct nx_row row = nx_row(op ? op->variant : "");
    if (op && op->bytes) row.bytes = op->bytes;
    if (r->team.rank == 0) nx_put(r, &row, metric, "ns", value_ns, n);
}

/* One row, each figure its slowest rank's: as published, and with synchronised starts. */
static int measure_row(struct nx_run *r, struct nx_task *t, int row, int64_t slice_ns, double dt_ns,
                       double db_ns) {
    struct state *s = t->state;
    int64_t n;
    double mean_ns = between_barriers(r, &s->started[row].state, slice_ns, &n);
    add(r, &rows[row], "published", nx_largest(r->team.world, mean_ns - dt_ns - db_ns), n);
    if (nx_started_run(r, &s->started[row], slice_ns, LEAST_STARTS, t->reason)) return -1;
    s->n_taken[row]++;
    if (r->team.rank != 0) return 0;
    const struct nd_start_half *half = &r->starter->half;
    add(r, &rows[row], "synchronised", (double)half->global_ns / (double)half->n_starts, half->n_starts);
    add(r, &rows[row], "synchronised_p50",
        (double)nl_hist_quantile(&r->starter->measures[ND_MEASURE_GLOBAL], 0.5), half->n_starts);
    return 0;
}

/* Says what the time did not hold; nothing where it held all. */
static void say_left_out(struct nx_task *t) {
    const struct state *s = t->state;
    int least = s->n_taken[0], most = least, used;
    for (int i = 1; i < N_ROWS; i++) {
        if (s->n_taken[i] < least) least = s->n_taken[i];
        if (s->n_taken[i] > most) most = s->n_taken[i];
    }
    if (least > t->n_repetitions) return; /* all, in those before and in this one */
    used = snprintf(t->reason, sizeof t->reason,
                    "no time for all operations in each repetition: %d to %d figures of each", least, most);
    for (int i = 0, n = 0; i < N_ROWS && used < (int)sizeof t->reason; i++)
        if (s->n_taken[i] == 0)
            used += snprintf(t->reason + used, sizeof t->reason - (size_t)used, "%s%s",
                             n++ ? ", " : "; none of ", rows[i].variant);
}

/* Where barriers are slow, not all rows fit: then a repetition goes on where the one before ended, and has so
 * many rows at least that those made in any case have them all. A row that is fast leaves its time to the
 * others. */
static int measure_opcost(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    const int least = (N_ROWS + NX_LEAST_REPETITIONS - 1) / NX_LEAST_REPETITIONS;
    int64_t n, begin_ns = now();
    /* DT and DB of this repetition: both drift */
    double dt_ns = clock_cost(N_READINGS),
           db_ns = between_barriers(r, NULL, t->budget_ns / (2 * N_ROWS + 1), &n) - dt_ns;
    add(r, NULL, "clock_cost", dt_ns, N_READINGS);
    add(r, NULL, "barrier_cost", nx_largest(r->team.world, db_ns), n);
    for (int i = 0; i < N_ROWS; i++) {
        int64_t left_ns = t->budget_ns - (now() - begin_ns);
        MPI_Bcast(&left_ns, 1, MPI_INT64_T, 0, r->team.world);
        if (left_ns <= 0 && i >= least) break;
        if (measure_row(r, t, s->next, left_ns > 0 ? left_ns / (2 * (N_ROWS - i)) : 0, dt_ns, db_ns))
            return -1;
        s->next = (s->next + 1) % N_ROWS;
    }
    say_left_out(t);
    return 0;
}

static void close_opcost(void *state) { nx_started_close(((struct state *)state)->started, N_ROWS); }

const struct nx_check nx_check_opcost = {
    .name = "opcost",
    .help = "time of MPI operations: between barriers (less the cost of clock and barrier), and with "
            "synchronised starts",
    .unit = "ns",
    .least_ranks = 2,
    .quick_share = 6,
    .full_share = 8,
    .open = open_opcost,
    .measure = measure_opcost,
    .state_bytes = sizeof(struct state),
    .close = close_opcost,
};
