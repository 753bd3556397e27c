/* Offsets of every rank against its left neighbour, summed up from rank 0 on (Kurnosov, MPIPerf, 2012): two rounds, but errors add up along
 * the ring; no drift. */
#include "detector/sync/sync_pingpong.h"

static void run(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    struct nd_exchange best = {0};
    /* odd ranks ask first, then the even ones: every rank talks to one other at a time */
    for (int round = 0; round < 2; round++) {
        int is_asking = p->rank % 2 != round;
        if (is_asking && p->rank > 0) nd_pingpong_ask_patiently(p, p->rank - 1, s->options.patience, &best);
        if (!is_asking && p->rank + 1 < p->n_ranks) nd_pingpong_answer(p, p->rank + 1, 0);
    }
    s->model.at_ns = best.local_ns;
    MPI_Scan(&best.offset_ns, &s->model.offset_ns, 1, MPI_INT64_T, MPI_SUM, p->comm);
    s->report.is_measured = p->rank > 0;
    s->report.rtt_ns = best.rtt_ns;
    double bound_ns = p->rank > 0 ? nd_pingpong_bound_ns(p, &best) : 0;
    MPI_Scan(&bound_ns, &s->report.bound_ns, 1, MPI_DOUBLE, MPI_SUM, p->comm);
}

const struct nd_sync_method nd_sync_ring = {
    .name = "ring", .help = "offsets, every rank against its left neighbour, summed up; two rounds, but errors add up", .run = run,
};
