/* Monte Carlo sum: points in the unit square that lie in the quarter circle. Chunks have streams of their
 * own, so that the count does not depend on the number of ranks. */
#include "detector/acceptance/kernels/kernels.h"
#include "common/base/nl_rng.h"

enum { CHUNK = 10000, SEED = 20260101 };

static int64_t hits_of(int64_t chunk) {
    struct nl_rng rng;
    int64_t hits = 0;
    nl_rng_init(&rng, SEED, (uint64_t)chunk);
    for (int i = 0; i < CHUNK; i++) {
        double x = nl_rng_uniform(&rng), y = nl_rng_uniform(&rng);
        hits += x * x + y * y < 1;
    }
    return hits;
}

static void run(struct nx_kernel_run *r) {
    int rank = r->rank, n_ranks = r->n_ranks;
    int64_t n_chunks = r->size / CHUNK, hits = 0, again = 0, kept = 0;
    MPI_Barrier(r->comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    for (int64_t chunk = rank; chunk < n_chunks; chunk += n_ranks) {
        int64_t mine = hits_of(chunk);
        if (chunk == rank) kept = mine;
        hits += mine;
    }
    MPI_Allreduce(MPI_IN_PLACE, &hits, 1, MPI_INT64_T, MPI_SUM, r->comm);
    r->ns = (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns);
    /* the count's error is that of drawing: 6 of its standard deviations are never exceeded; and a chunk
     * counted again must be the same */
    double n = (double)(n_chunks * CHUNK), expected = n * M_PI / 4, sd = sqrt(expected * (1 - M_PI / 4));
    if (rank < n_chunks) again = hits_of(rank);
    r->is_wrong = again != kept || fabs((double)hits - expected) > 6 * sd;
}

const struct nx_kernel nx_kernel_montecarlo = {.name = "montecarlo",
                                               .quick_size = 20000000,
                                               .full_size = 400000000,
                                               .next_ranks = nx_kernel_doubling,
                                               .run = run};
