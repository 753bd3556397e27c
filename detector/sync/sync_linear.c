/* Offsets of ranks 1 to n-1, one after the other, against rank 0 (Kurnosov, MPIPerf, 2012): n - 1 rounds, no drift. */
#include "detector/sync/sync_pingpong.h"

static void run(struct nd_sync *s) {
    struct nd_pingpong *p = s->pingpong;
    struct nd_exchange best;
    int turn = 0;
    if (p->rank == 0) {
        for (int rank = 1; rank < p->n_ranks; rank++) {
            /* a rank asks only when it is its turn: an early question would reach rank 0 amid the exchanges of another */
            MPI_Send(&turn, 1, MPI_INT, rank, 0, p->comm);
            nd_pingpong_answer(p, rank, 0);
        }
        return;
    }
    MPI_Recv(&turn, 1, MPI_INT, 0, 0, p->comm, MPI_STATUS_IGNORE);
    nd_pingpong_ask_patiently(p, 0, s->options.patience, &best);
    s->model = (struct nd_sync_model){.at_ns = best.local_ns, .offset_ns = best.offset_ns};
    s->report.is_measured = 1;
    s->report.rtt_ns = best.rtt_ns;
    s->report.bound_ns = nd_pingpong_bound_ns(p, &best);
}

const struct nd_sync_method nd_sync_linear = {
    .name = "linear", .help = "offsets, every rank in turn against rank 0; takes time in proportion to the ranks", .run = run,
};
