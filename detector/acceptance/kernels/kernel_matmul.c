/* Block matrix product on a k x k process grid: C += A(row, s) B(s, column) for s = 0..k-1, the blocks broadcast along rows and columns
 * (van de Geijn & Watts 1997). Elements are small whole numbers, so that every sum is exact. */
#include "detector/acceptance/kernels/kernels.h"

static double a(int64_t i, int64_t j) { return (double)((7 * i + 3 * j) % 11 - 5); }
static double b(int64_t i, int64_t j) { return (double)((5 * i + 2 * j) % 13 - 6); }
static double weight(int64_t j) { return (double)(j % 5 + 1); }

struct grid {
    int k, row, column;
    int64_t size, n; /* rows of the matrix, and of a block; the last blocks reach beyond the matrix, and are zero there */
    MPI_Comm along_row, along_column;
    double *a, *b, *c, *a_now, *b_now; /* n x n each */
};

static int squares(int n, int most) {
    int k = 1;
    while (k * k <= n) k++;
    return k * k <= most ? k * k : 0;
}

static void fill(double *block, const struct grid *g, double (*value)(int64_t, int64_t)) {
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j < g->n; j++) {
            int64_t row = g->row * g->n + i, column = g->column * g->n + j;
            block[i * g->n + j] = row < g->size && column < g->size ? value(row, column) : 0;
        }
}

static void add_product(double *restrict c, const double *restrict x, const double *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < n; l++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += x[i * n + l] * y[l * n + j];
}

static void multiply(struct grid *g) {
    int64_t n_elements = g->n * g->n;
    for (int s = 0; s < g->k; s++) {
        double *x = g->column == s ? g->a : g->a_now, *y = g->row == s ? g->b : g->b_now;
        MPI_Bcast(x, (int)n_elements, MPI_DOUBLE, s, g->along_row);
        MPI_Bcast(y, (int)n_elements, MPI_DOUBLE, s, g->along_column);
        add_product(g->c, x, y, g->n);
    }
}

/* Weighted sums of this block's rows against A times the weighted sums of B's rows over the same columns. */
static int check(const struct grid *g) {
    int wrong = 0;
    int64_t first = g->column * g->n, last = first + g->n < g->size ? first + g->n : g->size;
    for (int64_t i = 0; i < g->n && g->row * g->n + i < g->size; i++) {
        double is = 0, should = 0;
        for (int64_t j = first; j < last; j++) is += weight(j) * g->c[i * g->n + j - first];
        for (int64_t l = 0; l < g->size; l++) {
            double sum = 0;
            for (int64_t j = first; j < last; j++) sum += weight(j) * b(l, j);
            should += a(g->row * g->n + i, l) * sum;
        }
        wrong |= is != should;
        if (i == 8) break; /* nine rows of every block: the check must not take longer than the product */
    }
    return wrong;
}

static int run(MPI_Comm comm, int64_t size, double *ns, int *is_wrong) {
    struct grid g = {.k = 1, .size = size};
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    while ((g.k + 1) * (g.k + 1) <= n_ranks) g.k++;
    g.row = rank / g.k;
    g.column = rank % g.k;
    g.n = (size + g.k - 1) / g.k;
    size_t n = (size_t)(g.n * g.n);
    double *memory = calloc(5 * n, sizeof *memory);
    if (nx_kernel_lacks(comm, !memory)) {
        free(memory);
        return -1;
    }
    g.a = memory, g.b = memory + n, g.c = memory + 2 * n, g.a_now = memory + 3 * n, g.b_now = memory + 4 * n;
    MPI_Comm_split(comm, g.row, g.column, &g.along_row);
    MPI_Comm_split(comm, g.column, g.row, &g.along_column);
    fill(g.a, &g, a);
    fill(g.b, &g, b);
    MPI_Barrier(comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    multiply(&g);
    *ns = (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns);
    *is_wrong = check(&g);
    MPI_Comm_free(&g.along_row);
    MPI_Comm_free(&g.along_column);
    free(memory);
    return 0;
}

const struct nx_kernel nx_kernel_matmul = {.name = "matmul", .quick_size = 400, .full_size = 1200, .next_ranks = squares, .run = run};
