/* Odd-even block sort: every rank sorts its block, then neighbours exchange blocks in turn, one keeps the
 * smaller half, the other the larger (Baudet & Stevenson 1978). */
#include "detector/acceptance/kernels/kernels.h"
#include "common/base/nl_rng.h"

enum { TAG = 5 };

struct sums {
    uint64_t sum, parity;
};

NL_ORDER(compare, uint32_t)

/* What does not change when elements move. */
static struct sums sums_of(MPI_Comm comm, const uint32_t *block, int n) {
    struct sums s = {0, 0};
    for (int i = 0; i < n; i++) {
        s.sum += block[i];
        s.parity ^= (uint64_t)block[i] * UINT64_C(0x9e3779b97f4a7c15);
    }
    MPI_Allreduce(MPI_IN_PLACE, &s.sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &s.parity, 1, MPI_UINT64_T, MPI_BXOR, comm);
    return s;
}

/* The n smallest (or largest) of two sorted blocks, into `out`, rising. */
static void keep_half(const uint32_t *x, const uint32_t *y, int n, int keeps_smaller, uint32_t *out) {
    int i = keeps_smaller ? 0 : n - 1, j = i, step = keeps_smaller ? 1 : -1;
    for (int k = i; k >= 0 && k < n; k += step) {
        int takes_x = keeps_smaller ? j >= n || (i < n && x[i] <= y[j]) : j < 0 || (i >= 0 && x[i] > y[j]);
        out[k] = takes_x ? x[i] : y[j];
        if (takes_x)
            i += step;
        else
            j += step;
    }
}

static void sort(MPI_Comm comm, int rank, int n_ranks, uint32_t *block, uint32_t *other, uint32_t *merged,
                 int n) {
    qsort(block, (size_t)n, sizeof *block, compare);
    for (int phase = 0; phase < n_ranks; phase++) {
        int peer = (rank + phase) % 2 == 0 ? rank + 1 : rank - 1;
        if (peer < 0 || peer >= n_ranks) continue;
        MPI_Sendrecv(block, n, MPI_UINT32_T, peer, TAG, other, n, MPI_UINT32_T, peer, TAG, comm,
                     MPI_STATUS_IGNORE);
        keep_half(block, other, n, rank < peer, merged);
        memcpy(block, merged, (size_t)n * sizeof *block);
    }
}

/* Whether this block rises and does not begin below the end of the one before it. */
static int is_unsorted(MPI_Comm comm, int rank, int n_ranks, const uint32_t *block, int n) {
    uint32_t before = 0;
    int up = rank + 1 < n_ranks ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL, wrong;
    MPI_Sendrecv(&block[n - 1], 1, MPI_UINT32_T, up, TAG, &before, 1, MPI_UINT32_T, down, TAG, comm,
                 MPI_STATUS_IGNORE);
    wrong = before > block[0];
    for (int i = 1; i < n; i++)
        wrong |= block[i - 1] > block[i];
    return wrong;
}

static int64_t bytes(int64_t size, int n_ranks) {
    return 3 * ((size + n_ranks - 1) / n_ranks) * (int64_t)sizeof(uint32_t);
}

static void run(struct nx_kernel_run *r) {
    int n = (int)((r->size + r->n_ranks - 1) / r->n_ranks);
    uint32_t *block = r->memory;
    for (int i = 0; i < n; i++) { /* the same elements, whatever the number of ranks */
        uint64_t state = (uint64_t)r->rank * (uint64_t)n + (uint64_t)i;
        block[i] = (uint32_t)nl_splitmix64(&state);
    }
    struct sums before = sums_of(r->comm, block, n);
    MPI_Barrier(r->comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    sort(r->comm, r->rank, r->n_ranks, block, block + n, block + 2 * n, n);
    r->ns = (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns);
    struct sums after = sums_of(r->comm, block, n);
    r->is_wrong = is_unsorted(r->comm, r->rank, r->n_ranks, block, n) || before.sum != after.sum ||
                  before.parity != after.parity;
}

const struct nx_kernel nx_kernel_sort = {.name = "sort",
                                         .quick_size = 1 << 20,
                                         .full_size = 1 << 24,
                                         .next_ranks = nx_kernel_doubling,
                                         .bytes = bytes,
                                         .run = run};
