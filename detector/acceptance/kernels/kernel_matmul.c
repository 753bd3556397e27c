/* Block matrix product on a k x k process grid: C += A(row, s) B(s, column) for s = 0..k-1, the blocks
 * broadcast along rows and columns (van de Geijn & Watts 1997). Elements are small whole numbers, so that
 * every sum is exact. */
#include "detector/acceptance/kernels/kernels.h"

static double a(int64_t i, int64_t j) { return (double)((7 * i + 3 * j) % 11 - 5); }
static double b(int64_t i, int64_t j) { return (double)((5 * i + 2 * j) % 13 - 6); }
static double weight(int64_t j) { return (double)(j % 5 + 1); }

struct grid {
    int k, row, column;
    int64_t size, n; /* rows of the matrix, and of a block; the last blocks reach beyond the matrix, and are
                        zero there */
    MPI_Comm along_row, along_column;
    double *a, *b, *c, *a_now, *b_now; /* n x n each */
};

static int squares(int n, int most) {
    int k = 1;
    while (k * k <= n)
        k++;
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
            for (int64_t j = 0; j < n; j++)
                c[i * n + j] += x[i * n + l] * y[l * n + j];
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
        for (int64_t j = first; j < last; j++)
            is += weight(j) * g->c[i * g->n + j - first];
        for (int64_t l = 0; l < g->size; l++) {
            double sum = 0;
            for (int64_t j = first; j < last; j++)
                sum += weight(j) * b(l, j);
            should += a(g->row * g->n + i, l) * sum;
        }
        wrong |= is != should;
        if (i == 8) break; /* nine rows of every block: the check must not take longer than the product */
    }
    return wrong;
}

static int side_of(int n_ranks) {
    int k = 1;
    while ((k + 1) * (k + 1) <= n_ranks)
        k++;
    return k;
}

static int64_t bytes(int64_t size, int n_ranks) {
    int64_t n = (size + side_of(n_ranks) - 1) / side_of(n_ranks);
    return 5 * n * n * (int64_t)sizeof(double);
}

static void run(struct nx_kernel_run *r) {
    struct grid g = {.k = side_of(r->n_ranks), .size = r->size, .a = r->memory};
    g.row = r->rank / g.k;
    g.column = r->rank % g.k;
    g.n = (g.size + g.k - 1) / g.k;
    size_t n = (size_t)(g.n * g.n);
    g.b = g.a + n, g.c = g.b + n, g.a_now = g.c + n, g.b_now = g.a_now + n;
    MPI_Comm_split(r->comm, g.row, g.column, &g.along_row);
    MPI_Comm_split(r->comm, g.column, g.row, &g.along_column);
    fill(g.a, &g, a);
    fill(g.b, &g, b);
    MPI_Barrier(r->comm);
    int64_t begin_ns = nl_now_ns(CLOCK_MONOTONIC_RAW);
    multiply(&g);
    r->ns = (double)(nl_now_ns(CLOCK_MONOTONIC_RAW) - begin_ns);
    r->is_wrong = check(&g);
    MPI_Comm_free(&g.along_row);
    MPI_Comm_free(&g.along_column);
}

const struct nx_kernel nx_kernel_matmul = {.name = "matmul",
                                           .quick_size = 400,
                                           .full_size = 1200,
                                           .next_ranks = squares,
                                           .bytes = bytes,
                                           .run = run};
