#include "detector/acceptance/transfer.h"

enum { TAG = 7, LOOK_EVERY_NS = 100000 };

void nx_meet(const struct nx_link *l) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, l->peer, TAG, NULL, 0, MPI_BYTE, l->peer, TAG, l->comm,
                 MPI_STATUS_IGNORE);
}

int64_t nx_one_way(const struct nx_link *l, int64_t n) {
    int64_t start_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (int64_t i = 0; i < n; i++) {
        if (l->is_first) MPI_Send(l->send, l->bytes, MPI_BYTE, l->peer, TAG, l->comm);
        MPI_Recv(l->receive, l->bytes, MPI_BYTE, l->peer, TAG, l->comm, MPI_STATUS_IGNORE);
        if (!l->is_first) MPI_Send(l->send, l->bytes, MPI_BYTE, l->peer, TAG, l->comm);
    }
    return nl_now_ns(CLOCK_MONOTONIC_RAW) - start_ns;
}

int64_t nx_two_way(const struct nx_link *l, int64_t n) {
    MPI_Request requests[2];
    nx_meet(l);
    int64_t start_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (int64_t i = 0; i < n; i++) {
        MPI_Irecv(l->receive, l->bytes, MPI_BYTE, l->peer, TAG, l->comm, &requests[0]);
        MPI_Isend(l->send, l->bytes, MPI_BYTE, l->peer, TAG, l->comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return nl_now_ns(CLOCK_MONOTONIC_RAW) - start_ns;
}

void nx_exchange(MPI_Comm comm, const struct nx_buffers *b, int n_peers, int bytes) {
    for (int k = 0; k < n_peers; k++)
        MPI_Irecv(b->receive + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, b->peers[k], TAG, comm,
                  &b->requests[k]);
    for (int k = 0; k < n_peers; k++)
        MPI_Isend(b->send + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, b->peers[k], TAG, comm,
                  &b->requests[n_peers + k]);
    MPI_Waitall(2 * n_peers, b->requests, MPI_STATUSES_IGNORE);
}

int64_t nx_fit(int64_t n_done, int64_t least, int64_t took_ns, int64_t slice_ns) {
    if (n_done < least) return least - n_done;
    double fit = (double)(slice_ns - took_ns) * (double)n_done / (double)(took_ns > 0 ? took_ns : 1);
    return fit < 0.5 ? 0 : fit < 1 ? 1 : fit < (double)n_done ? (int64_t)fit : n_done;
}

int64_t nx_how_many_more(MPI_Comm comm, int64_t n_done, int64_t least, int64_t begin_ns, int64_t slice_ns) {
    int64_t n = nx_fit(n_done, least, nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns, slice_ns);
    MPI_Bcast(&n, 1, MPI_INT64_T, 0, comm);
    return n;
}

double nx_largest(MPI_Comm comm, double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
    return value;
}

void nx_quiet_barrier(MPI_Comm comm) {
    MPI_Request request;
    int is_done = 0;
    MPI_Ibarrier(comm, &request);
    while (!is_done) {
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (!is_done) nl_sleep_ns(LOOK_EVERY_NS);
    }
}

void nx_words_fill(void *array, int bytes, uint32_t first) {
    uint32_t *words = array;
    for (int i = 0; i < bytes / 4; i++)
        words[i] = first + (uint32_t)i;
}

int64_t nx_words_check(const void *array, int bytes, int64_t from, uint32_t first,
                       struct nx_wrong_word *wrong) {
    const uint32_t *words = array;
    for (int64_t i = from / 4; i < bytes / 4; i++) {
        uint32_t expected = first + (uint32_t)i;
        if (__builtin_expect(words[i] == expected, 1)) continue;
        unsigned char is[4], should[4];
        int k = 0;
        memcpy(is, &words[i], 4);
        memcpy(should, &expected, 4);
        while (is[k] == should[k])
            k++;
        *wrong = (struct nx_wrong_word){4 * i + k, expected, words[i]};
        return 4 * (i + 1);
    }
    return -1;
}

enum { LEAST = 3, MOST = 2000 };

static int64_t now(void) { return nl_now_ns(CLOCK_MONOTONIC_RAW); }

static int times(int64_t slice_ns, double one_ns) {
    double n = (double)slice_ns / (one_ns > 1 ? one_ns : 1);
    return n < LEAST ? LEAST : n > MOST ? MOST : (int)n;
}

/* Ranks 0 and 1, then 2 and 3, and so on, one pair after the other. The first pair finds how many round trips
 * fill the time. */
static double link_speed(MPI_Comm comm, int rank, int n_ranks, const struct nx_buffers *b, int bytes,
                         int64_t slice_ns) {
    const struct nx_link l = {.comm = comm,
                              .peer = rank ^ 1,
                              .is_first = rank % 2 == 0,
                              .send = b->send,
                              .receive = b->receive,
                              .bytes = bytes};
    int n_pairs = n_ranks / 2, n = 0;
    double speed = 0;
    for (int pair = -1; pair < n_pairs; pair++) {
        int is_mine = rank / 2 == (pair < 0 ? 0 : pair);
        if (is_mine && pair < 0) n = times(slice_ns / n_pairs, (double)nx_one_way(&l, 2) / 2);
        if (pair < 0) MPI_Bcast(&n, 1, MPI_INT, 0, comm);
        if (is_mine && pair >= 0) {
            nx_one_way(&l, 1);
            double ns = (double)nx_one_way(&l, n);
            if (l.is_first) speed = 2e9 * (double)bytes * n / ns;
        }
        nx_quiet_barrier(comm);
    }
    MPI_Allreduce(MPI_IN_PLACE, &speed, 1, MPI_DOUBLE, MPI_SUM, comm);
    return speed / n_pairs;
}

void nx_completeness_measure(MPI_Comm comm, const struct nx_buffers *b, int bytes, int64_t slice_ns,
                             struct nx_completeness *c) {
    int rank, n_ranks;
    double slowest = 0, own = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    for (int k = 1; k < n_ranks; k++)
        b->peers[k - 1] = (rank + k) % n_ranks;
    c->link_bytes_per_s = link_speed(comm, rank, n_ranks, b, bytes, slice_ns / 2);
    nx_exchange(comm, b, n_ranks - 1, bytes); /* connections, caches */
    int64_t begin_ns = now(), n = 0, more;
    while (n < MOST && (more = nx_how_many_more(comm, n, LEAST, begin_ns, slice_ns / 2)) > 0)
        for (int64_t until = n + more; n < until; n++) {
            MPI_Barrier(comm);
            int64_t start_ns = now();
            nx_exchange(comm, b, n_ranks - 1, bytes);
            double took_ns = (double)(now() - start_ns);
            own += took_ns;
            slowest += nx_largest(comm, took_ns);
        }
    c->n = n;
    c->exchange_ns = slowest / (double)n;
    c->own_ns = own / (double)n;
    c->coefficient = (double)bytes * (n_ranks - 1) / c->link_bytes_per_s * 1e9 / c->exchange_ns;
}

enum { OP_TAG = 9 };

static int check(const struct nd_op_state *s) {
    (void)s; /* whether data arrive as they left is what the check integrity asks */
    return 0;
}

/* -1: nobody. */
static int partner(const struct nd_op_state *s) { return (s->rank ^ 1) < s->n_ranks ? s->rank ^ 1 : -1; }
static int is_sender(const struct nd_op_state *s) { return s->rank % 2 == 0; }
static int send(struct nd_op_state *s) {
    return MPI_Send(s->send, s->count, s->type, partner(s), OP_TAG, s->comm);
}
static int receive(struct nd_op_state *s) {
    return MPI_Recv(s->receive, s->count, s->type, partner(s), OP_TAG, s->comm, MPI_STATUS_IGNORE);
}

static int wtime(struct nd_op_state *s) {
    volatile double now = MPI_Wtime();
    (void)now, (void)s;
    return MPI_SUCCESS;
}

static int send_nonblocking(struct nd_op_state *s) {
    MPI_Request request;
    if (partner(s) < 0) return MPI_SUCCESS;
    if (is_sender(s))
        MPI_Isend(s->send, s->count, s->type, partner(s), OP_TAG, s->comm, &request);
    else
        MPI_Irecv(s->receive, s->count, s->type, partner(s), OP_TAG, s->comm, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int send_blocking(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return is_sender(s) ? send(s) : receive(s);
}

static int sendrecv(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return MPI_Sendrecv(s->send, s->count, s->type, partner(s), OP_TAG, s->receive, s->count, s->type,
                        partner(s), OP_TAG, s->comm, MPI_STATUS_IGNORE);
}

static int send_and_recv(struct nd_op_state *s) {
    if (partner(s) < 0) return MPI_SUCCESS;
    return is_sender(s) ? send(s) || receive(s) : receive(s) || send(s);
}

#define MESSAGE .has_bytes = 1, .datatype = &nd_type_byte, .check = check

const struct nd_op nx_op_wtime = {.name = "wtime", .help = "MPI_Wtime", MESSAGE, .call = wtime};
const struct nd_op nx_op_send_nonblocking = {
    .name = "isend+wait", .help = "MPI_Isend with MPI_Wait", MESSAGE, .call = send_nonblocking};
const struct nd_op nx_op_send_blocking = {.name = "send", .help = "MPI_Send", MESSAGE, .call = send_blocking};
const struct nd_op nx_op_sendrecv = {.name = "sendrecv", .help = "MPI_Sendrecv", MESSAGE, .call = sendrecv};
const struct nd_op nx_op_send_and_recv = {
    .name = "send+recv", .help = "MPI_Send and MPI_Recv", MESSAGE, .call = send_and_recv};
