#include "detector/acceptance/completeness.h"

#include "common/base/nl_clock.h"
#include "detector/acceptance/transfer.h"

enum { LEAST = 3, MOST = 2000 };

static int64_t now(void) { return nl_now_ns(CLOCK_MONOTONIC_RAW); }

static int times(int64_t slice_ns, double one_ns) {
    double n = (double)slice_ns / (one_ns > 1 ? one_ns : 1);
    return n < LEAST ? LEAST : n > MOST ? MOST : (int)n;
}

static double largest(MPI_Comm comm, double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
    return value;
}

/* Ranks 0 and 1, then 2 and 3, and so on, one pair after the other. The first pair finds how many round trips fill the time. */
static double link_speed(MPI_Comm comm, int rank, int n_ranks, const char *send, char *receive, int bytes, int64_t slice_ns) {
    const struct nx_link l = {
        .comm = comm, .peer = rank ^ 1, .is_first = rank % 2 == 0, .send = (void *)send, .receive = receive, .bytes = bytes};
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

void nx_completeness_measure(MPI_Comm comm, const char *send, char *receive, int *peers, MPI_Request *requests, int bytes, int64_t slice_ns,
                             struct nx_completeness *c) {
    int rank, n_ranks;
    double slowest = 0, own = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    for (int k = 1; k < n_ranks; k++) peers[k - 1] = (rank + k) % n_ranks;
    c->link_bytes_per_s = link_speed(comm, rank, n_ranks, send, receive, bytes, slice_ns / 2);
    nx_exchange(comm, peers, n_ranks - 1, send, receive, bytes, requests); /* connections, caches */
    int64_t begin_ns = now(), n = 0, more;
    while (n < MOST && (more = nx_how_many_more(comm, n, LEAST, begin_ns, slice_ns / 2)) > 0)
        for (int64_t until = n + more; n < until; n++) {
            MPI_Barrier(comm);
            int64_t start_ns = now();
            nx_exchange(comm, peers, n_ranks - 1, send, receive, bytes, requests);
            double took_ns = (double)(now() - start_ns);
            own += took_ns;
            slowest += largest(comm, took_ns);
        }
    c->n = n;
    c->exchange_ns = slowest / (double)n;
    c->own_ns = own / (double)n;
    c->coefficient = (double)bytes * (n_ranks - 1) / c->link_bytes_per_s * 1e9 / c->exchange_ns;
}
