#include "common/base/nl_error.h"
#include "detector/acceptance/accept_run.h"

enum {
    KEPT = 100 /* mismatches of a rank that are written; all are counted */,
    WINDOW_BYTES = 64 << 20,
    N_SIZES = 3
};
/* below and above the sizes at which libraries change from sending at once to asking first (4 KiB to 64 KiB)
 */
static const int sizes[N_SIZES] = {1 << 10, 16 << 10, NX_FAULT_BYTES};

struct state {
    int n_peers_most; /* in one exchange */
    struct nx_buffers buffers;
    uint32_t counter;
    struct nx_mismatch kept[KEPT];
    int n_kept, n_written;
    int64_t n_arrays, n_bytes, n_mismatches; /* of the repetition */
};

static int open_integrity(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int n = r->team.n_ranks, most = WINDOW_BYTES / 2 / sizes[N_SIZES - 1];
    s->n_peers_most = n < most ? n : most;
    /* where ranks are many and memory is short the windows are smaller; two peers they hold in any case */
    while (nx_lacks_memory(r, 2 * (int64_t)s->n_peers_most * sizes[N_SIZES - 1], t->reason)) {
        if (s->n_peers_most <= 2) return 1;
        s->n_peers_most = s->n_peers_most > 4 ? s->n_peers_most / 2 : 2;
    }
    int64_t bytes = (int64_t)s->n_peers_most * sizes[N_SIZES - 1];
    return nx_buffers_lack(r, t, &s->buffers, bytes, s->n_peers_most) ? -1 : 0;
}

static void keep(struct nx_run *r, struct state *s, int sender, int bytes, const struct nx_wrong_word *w) {
    s->n_mismatches++;
    if (s->n_kept == KEPT) return;
    s->kept[s->n_kept++] = (struct nx_mismatch){r->repetition,   sender,      r->team.rank, bytes,
                                                w->offset_bytes, w->expected, w->found};
}

/* Exchanges with those peers and looks at what came. `corrupts`: the byte asked for is turned round in what
 * leaves. */
static void exchange(struct nx_run *r, struct state *s, int n_peers, int bytes, int corrupts) {
    const struct nx_fault *f = &r->o->fault;
    int rank = r->team.rank;
    for (int k = 0; k < n_peers; k++) {
        char *array = s->buffers.send + (size_t)k * (size_t)bytes;
        nx_words_fill(array, bytes, nx_words_first(s->counter, rank, s->buffers.peers[k]));
        if (corrupts && f->is_given && f->sender == rank && f->receiver == s->buffers.peers[k] &&
            f->offset_bytes < bytes)
            array[f->offset_bytes] ^= (char)0xff;
    }
    nx_exchange(r->team.world, &s->buffers, n_peers, bytes);
    for (int k = 0; k < n_peers; k++) {
        const char *array = s->buffers.receive + (size_t)k * (size_t)bytes;
        uint32_t first = nx_words_first(s->counter, s->buffers.peers[k], rank);
        struct nx_wrong_word wrong;
        for (int64_t at = 0; (at = nx_words_check(array, bytes, at, first, &wrong)) >= 0;)
            keep(r, s, s->buffers.peers[k], bytes, &wrong);
        s->n_arrays++;
        s->n_bytes += bytes;
    }
}

/* Every rank with every rank, itself too, as many at a time as memory holds. Ranks at distance d on either
 * side come together, so that two ranks are in each other's window at the same time. */
static void exchange_all(struct nx_run *r, struct state *s, int bytes, int corrupts) {
    int n = r->team.n_ranks, rank = r->team.rank, n_peers = 0;
    for (int d = 0; d <= n / 2; d++) {
        int up = (rank + d) % n, down = (rank + n - d) % n;
        s->buffers.peers[n_peers++] = up;
        if (up != down) s->buffers.peers[n_peers++] = down;
        if (d < n / 2 && n_peers + 2 <= s->n_peers_most) continue;
        exchange(r, s, n_peers, bytes, corrupts);
        n_peers = 0;
    }
    s->counter++;
}

static void take_mismatches(struct nx_run *r, int rank, const void *data, int64_t bytes) {
    const struct nx_mismatch *m = data;
    (void)rank;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *m; i++)
        nx_record_mismatch(r->record, &m[i], r->hosts[r->node_of[m[i].sender]].host,
                           r->hosts[r->node_of[m[i].receiver]].host);
}

static int measure_integrity(struct nx_run *r, struct nx_task *t) {
    struct state *s = t->state;
    int64_t begin_ns = nl_mono_ns(), all_mismatches;
    s->n_arrays = s->n_bytes = s->n_mismatches = 0;
    for (int go_on = 1, n = 0; go_on; n++) {
        for (int i = 0; i < N_SIZES; i++)
            exchange_all(r, s, sizes[i], n == 0);
        go_on = nl_mono_ns() - begin_ns < t->budget_ns && !*r->stop_asked;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, r->team.world); /* rank 0's time counts */
    }
    struct nx_row row = nx_row("");
    row.rank = r->team.rank; /* who received them */
    nx_put(r, &row, "mismatches", "count", (double)s->n_mismatches, s->n_arrays);
    nx_put(r, &row, "received", "bytes", (double)s->n_bytes, s->n_arrays);
    nx_collect(r, s->kept + s->n_written, (s->n_kept - s->n_written) * (int64_t)sizeof *s->kept,
               take_mismatches);
    s->n_written = s->n_kept;
    MPI_Allreduce(&s->n_mismatches, &all_mismatches, 1, MPI_INT64_T, MPI_SUM, r->team.world);
    r->n_wrong += all_mismatches;
    return 0;
}

static void close_integrity(void *state) { nx_buffers_close(&((struct state *)state)->buffers); }

const struct nx_check nx_check_integrity = {
    .name = "integrity",
    .help = "data errors: every rank exchanges with every rank at once, small and large messages",
    .unit = "count",
    .least_ranks = 1,
    .quick_share = 4,
    .full_share = 10,
    .open = open_integrity,
    .measure = measure_integrity,
    .state_bytes = sizeof(struct state),
    .close = close_integrity,
};
