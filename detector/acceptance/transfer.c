#include "detector/acceptance/transfer.h"

#include "common/base/nl_clock.h"

enum { TAG = 7, LOOK_EVERY_NS = 100000 };

void nx_meet(const struct nx_link *l) {
    MPI_Sendrecv(NULL, 0, MPI_BYTE, l->peer, TAG, NULL, 0, MPI_BYTE, l->peer, TAG, l->comm, MPI_STATUS_IGNORE);
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

void nx_exchange(MPI_Comm comm, const int *peers, int n_peers, const char *send, char *receive, int bytes, MPI_Request *requests) {
    for (int k = 0; k < n_peers; k++) MPI_Irecv(receive + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, peers[k], TAG, comm, &requests[k]);
    for (int k = 0; k < n_peers; k++)
        MPI_Isend(send + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, peers[k], TAG, comm, &requests[n_peers + k]);
    MPI_Waitall(2 * n_peers, requests, MPI_STATUSES_IGNORE);
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

int nx_has_time(MPI_Comm comm, int64_t until_ns) {
    int has = nl_now_ns(CLOCK_MONOTONIC_RAW) < until_ns;
    MPI_Bcast(&has, 1, MPI_INT, 0, comm);
    return has;
}

void nx_quiet_barrier(MPI_Comm comm) {
    MPI_Request request;
    int is_done = 0;
    MPI_Ibarrier(comm, &request);
    for (;;) {
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) return;
        struct timespec pause = nl_timespec(LOOK_EVERY_NS);
        nanosleep(&pause, NULL);
    }
}
