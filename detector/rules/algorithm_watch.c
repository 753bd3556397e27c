#include "detector/rules/algorithm_watch.h"

#include <dlfcn.h>

#include "common/base/nl_usual.h"

static const char *volatile seen;
static volatile int is_watching, has_parts;
static long watched;

void nd_watch_begin(MPI_Comm comm) {
    /* a pointer in Open MPI; a number elsewhere, where nothing is seen */
    watched = (long)comm;
    seen = NULL;
    has_parts = 0;
    is_watching = 1;
}

const char *nd_watch_end(void) {
    is_watching = 0;
    return seen ? seen : has_parts ? "parts" : "";
}

static void note(const char *name, const long *words, int n_words) {
    if (!is_watching || seen) return;
    for (int i = 0; i < n_words; i++)
        if (words[i] == watched) seen = name;
    has_parts = 1;
}

/* Arguments are handed on as words, more than any of them has: a count is an int in 4.x and a size_t in 5.x,
 * and both are a word. */
#define WORDS long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define WATCH(name)                                                                                          \
    int ompi_coll_base_##name(WORDS);                                                                        \
    int ompi_coll_base_##name(WORDS) {                                                                       \
        static int (*next)(WORDS);                                                                           \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, "ompi_coll_base_" #name);                              \
        if (!next) abort();                                                                                  \
        note(#name, (const long[]){a, b, c, d, e, f, g, h, i, j, k, l}, 12);                                 \
        return next(a, b, c, d, e, f, g, h, i, j, k, l);                                                     \
    }

/* Of 4.1 and 5.0: what the component `tuned` calls. */
WATCH(allgather_intra_basic_linear)
WATCH(allgather_intra_bruck)
WATCH(allgather_intra_direct_messaging)
WATCH(allgather_intra_k_bruck)
WATCH(allgather_intra_neighborexchange)
WATCH(allgather_intra_recursivedoubling)
WATCH(allgather_intra_ring)
WATCH(allgather_intra_sparbit)
WATCH(allgather_intra_two_procs)
WATCH(allgatherv_intra_basic_default)
WATCH(allgatherv_intra_bruck)
WATCH(allgatherv_intra_neighborexchange)
WATCH(allgatherv_intra_ring)
WATCH(allgatherv_intra_sparbit)
WATCH(allgatherv_intra_two_procs)
WATCH(allreduce_intra_allgather_reduce)
WATCH(allreduce_intra_basic_linear)
WATCH(allreduce_intra_nonoverlapping)
WATCH(allreduce_intra_recursivedoubling)
WATCH(allreduce_intra_redscat_allgather)
WATCH(allreduce_intra_ring)
WATCH(allreduce_intra_ring_segmented)
WATCH(alltoall_intra_basic_linear)
WATCH(alltoall_intra_bruck)
WATCH(alltoall_intra_linear_sync)
WATCH(alltoall_intra_pairwise)
WATCH(alltoall_intra_two_procs)
WATCH(alltoallv_intra_basic_linear)
WATCH(alltoallv_intra_pairwise)
WATCH(barrier_intra_basic_linear)
WATCH(barrier_intra_bruck)
WATCH(barrier_intra_doublering)
WATCH(barrier_intra_recursivedoubling)
WATCH(barrier_intra_tree)
WATCH(barrier_intra_two_procs)
WATCH(bcast_intra_basic_linear)
WATCH(bcast_intra_binomial)
WATCH(bcast_intra_bintree)
WATCH(bcast_intra_chain)
WATCH(bcast_intra_knomial)
WATCH(bcast_intra_pipeline)
WATCH(bcast_intra_scatter_allgather)
WATCH(bcast_intra_scatter_allgather_ring)
WATCH(bcast_intra_split_bintree)
WATCH(exscan_intra_linear)
WATCH(exscan_intra_recursivedoubling)
WATCH(gather_intra_basic_linear)
WATCH(gather_intra_binomial)
WATCH(gather_intra_linear_sync)
WATCH(reduce_intra_basic_linear)
WATCH(reduce_intra_binary)
WATCH(reduce_intra_binomial)
WATCH(reduce_intra_chain)
WATCH(reduce_intra_in_order_binary)
WATCH(reduce_intra_knomial)
WATCH(reduce_intra_pipeline)
WATCH(reduce_intra_redscat_gather)
WATCH(reduce_scatter_block_basic_linear)
WATCH(reduce_scatter_block_intra_butterfly)
WATCH(reduce_scatter_block_intra_recursivedoubling)
WATCH(reduce_scatter_block_intra_recursivehalving)
WATCH(reduce_scatter_intra_basic_recursivehalving)
WATCH(reduce_scatter_intra_butterfly)
WATCH(reduce_scatter_intra_nonoverlapping)
WATCH(reduce_scatter_intra_ring)
WATCH(scan_intra_linear)
WATCH(scan_intra_recursivedoubling)
WATCH(scatter_intra_basic_linear)
WATCH(scatter_intra_binomial)
WATCH(scatter_intra_linear_nb)
