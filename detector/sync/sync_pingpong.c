#include "detector/sync/sync_pingpong.h"

enum { TAG_ASK = 1, TAG_ANSWER, TAG_DOWN };
/* exchanges at most, in units of the patience: a shortest round trip that falls for ever is no reason to go on */
enum { PATIENCE_CAP = 100 };

void nd_pingpong_open(struct nd_pingpong *p, const struct nd_clock *clock, MPI_Comm comm) {
    *p = (struct nd_pingpong){.clock = clock, .comm = comm, .last_ns = INT64_MIN};
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->n_ranks);
}

void nd_pingpong_fault(struct nd_pingpong *p, enum nd_sync_fault fault, int64_t ns, int peer) {
    if (fault <= p->fault) return;
    p->fault = fault;
    p->fault_ns = ns;
    p->fault_peer = peer;
}

static int64_t read_clock(struct nd_pingpong *p) {
    int64_t now_ns = nd_clock_now(p->clock);
    if (__builtin_expect(now_ns < p->last_ns, 0)) nd_pingpong_fault(p, ND_SYNC_BACKWARDS, now_ns - p->last_ns, p->rank);
    p->last_ns = now_ns;
    return now_ns;
}

void nd_pingpong_watch(struct nd_pingpong *p) {
    int64_t before_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    int64_t now_ns = read_clock(p);
    int64_t after_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    /* the clock was read some time between the two: however long the rank stood still there, that is not taken for a step */
    int64_t raw_ns = before_ns + (after_ns - before_ns) / 2, error_ns = (after_ns - before_ns + 1) / 2;
    if (p->is_watched) {
        int64_t step_ns = (now_ns - p->watched_ns) - (raw_ns - p->watched_raw_ns);
        /* 1 us: what reading the counter out of order and rounding may add */
        double most_ns = ND_SYNC_MAX_RATE * (double)(raw_ns - p->watched_raw_ns) + (double)(error_ns + p->watched_error_ns) +
                         2 * p->clock->resolution_ns + 1000;
        if ((double)llabs(step_ns) > most_ns) nd_pingpong_fault(p, ND_SYNC_STEPPED, step_ns, p->rank);
    }
    p->is_watched = 1;
    p->watched_ns = now_ns;
    p->watched_raw_ns = raw_ns;
    p->watched_error_ns = error_ns;
}

double nd_pingpong_bound_ns(const struct nd_pingpong *p, const struct nd_exchange *e) {
    return (double)e->rtt_ns / 2 * (1 + ND_SYNC_MAX_RATE) + p->clock->resolution_ns + 1;
}

/* `is_asking` 0 tells the peer to stop answering. */
static void send_request(struct nd_pingpong *p, int peer, int64_t is_asking) {
    MPI_Send(&is_asking, 1, MPI_INT64_T, peer, TAG_ASK, p->comm);
}

static struct nd_exchange exchange(struct nd_pingpong *p, int peer) {
    int64_t other_ns, asked_ns = read_clock(p);
    send_request(p, peer, 1);
    MPI_Recv(&other_ns, 1, MPI_INT64_T, peer, TAG_ANSWER, p->comm, MPI_STATUS_IGNORE);
    int64_t rtt_ns = read_clock(p) - asked_ns;
    p->n_exchanges++;
    return (struct nd_exchange){.local_ns = asked_ns + rtt_ns / 2, .offset_ns = asked_ns + rtt_ns / 2 - other_ns, .rtt_ns = rtt_ns};
}

/* Makes n > 0 exchanges with `peer`, who answers as many; `best` is the one of the shortest round trip. */
static void ask(struct nd_pingpong *p, int peer, int n, struct nd_exchange *best) {
    *best = exchange(p, peer);
    for (int i = 1; i < n; i++) {
        struct nd_exchange e = exchange(p, peer);
        if (e.rtt_ns < best->rtt_ns) *best = e;
    }
}

void nd_pingpong_ask_patiently(struct nd_pingpong *p, int peer, int patience, struct nd_exchange *best) {
    int64_t n_left = (int64_t)PATIENCE_CAP * patience;
    *best = exchange(p, peer);
    for (int n_without_gain = 0; n_without_gain < patience && --n_left > 0; n_without_gain++) {
        struct nd_exchange e = exchange(p, peer);
        if (e.rtt_ns >= best->rtt_ns) continue;
        *best = e;
        n_without_gain = -1;
    }
    send_request(p, peer, 0);
}

void nd_pingpong_answer(struct nd_pingpong *p, int peer, int n) {
    for (int i = 0; n == 0 || i < n; i++) {
        int64_t is_asking;
        MPI_Recv(&is_asking, 1, MPI_INT64_T, peer, TAG_ASK, p->comm, MPI_STATUS_IGNORE);
        if (!is_asking) return;
        int64_t now_ns = read_clock(p);
        if (p->model) now_ns = nd_sync_to_global(p->model, now_ns);
        MPI_Send(&now_ns, 1, MPI_INT64_T, peer, TAG_ANSWER, p->comm);
    }
}

int nd_pingpong_walk(struct nd_pingpong *p, int n, struct nd_exchange *best) {
    for (int bit = 1; bit < p->n_ranks; bit <<= 1) {
        if (p->rank & bit) {
            ask(p, p->rank - bit, n, best);
            return 1; /* its children, of lower bits, are done */
        }
        if (p->rank + bit < p->n_ranks) nd_pingpong_answer(p, p->rank + bit, n);
    }
    return 0;
}

void nd_pingpong_take_from_above(struct nd_pingpong *p, void *data, int size) {
    if (p->rank != 0) MPI_Recv(data, size, MPI_BYTE, p->rank & (p->rank - 1), TAG_DOWN, p->comm, MPI_STATUS_IGNORE);
}

void nd_pingpong_hand_down(struct nd_pingpong *p, const void *data, int size) {
    int end = p->rank ? p->rank & -p->rank : p->n_ranks; /* children differ in one bit below the lowest set one */
    int bit = 1;
    while (bit < end) bit <<= 1;
    /* the child with the deepest tree below it first */
    while (bit >>= 1)
        if (p->rank + bit < p->n_ranks) MPI_Send(data, size, MPI_BYTE, p->rank + bit, TAG_DOWN, p->comm);
}
