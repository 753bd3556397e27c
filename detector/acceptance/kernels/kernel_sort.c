/* Odd-even block sort: every rank sorts its block, then neighbours exchange blocks in turn, one keeps the smaller half, the other the
 * larger (Baudet & Stevenson 1978). */
#include "detector/acceptance/kernels/kernels.h"
#include "common/base/nl_rng.h"

enum { TAG = 5 };

struct sums { uint64_t sum, parity; };

static int compare(const void *x, const void *y) {
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

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
        if (takes_x) i += step;
        else j += step;
    }
}

static void sort(MPI_Comm comm, int rank, int n_ranks, uint32_t *block, uint32_t *other, uint32_t *merged, int n) {
    qsort(block, (size_t)n, sizeof *block, compare);
    for (int phase = 0; phase < n_ranks; phase++) {
        int peer = (rank + phase) % 2 == 0 ? rank + 1 : rank - 1;
        if (peer < 0 || peer >= n_ranks) continue;
        MPI_Sendrecv(block, n, MPI_UINT32_T, peer, TAG, other, n, MPI_UINT32_T, peer, TAG, comm, MPI_STATUS_IGNORE);
        keep_half(block, other, n, rank < peer, merged);
        memcpy(block, merged, (size_t)n * sizeof *block);
    }
}

/* Whether this block rises and does not begin below the end of the one before it. */
static int is_unsorted(MPI_Comm comm, int rank, int n_ranks, const uint32_t *block, int n) {
    uint32_t before = 0;
    int up = rank + 1 < n_ranks ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL, wrong;
    MPI_Sendrecv(&block[n - 1], 1, MPI_UINT32_T, up, TAG, &before, 1, MPI_UINT32_T, down, TAG, comm, MPI_STATUS_IGNORE);
    wrong = before > block[0];
    for (int i = 1; i < n; i++) wrong |= block[i - 1] > block[i];
    return wrong;
}

static int run(MPI_Comm comm, int64_t size, double *ns, int *is_wrong) {
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    int n = (int)((size + n_ranks - 1) / n_ranks);
    uint32_t *memory = calloc(3 * (size_t)n, sizeof *memory), *block = memory;
    if (nx_kernel_lacks(comm, !memory)) {
        free(memory);
        return -1;
    }
    for (int i = 0; i < n; i++) { /* the same elements, whatever the number of ranks */
        uint64_t state = (uint64_t)rank * (uint64_t)n + (uint64_t)i;
        block[i] = (uint32_t)nl_splitmix64(&state);
    }
    struct sums before = sums_of(comm, block, n);
    MPI_Barrier(comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    sort(comm, rank, n_ranks, block, memory + n, memory + 2 * n, n);
    *ns = (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns);
    struct sums after = sums_of(comm, block, n);
    *is_wrong = is_unsorted(comm, rank, n_ranks, block, n) || before.sum != after.sum || before.parity != after.parity;
    free(memory);
    return 0;
}

const struct nx_kernel nx_kernel_sort = {
    .name = "sort", .quick_size = 1 << 20, .full_size = 1 << 24, .next_ranks = nx_kernel_doubling, .run = run};
