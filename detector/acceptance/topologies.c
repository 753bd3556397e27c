#include "detector/acceptance/topologies.h"

static int everybody(int n) { return n; }

static void put(int *out, int k, int rank) { if (out) out[k] = rank; }

static int star(int n, int rank, int *out) {
    int k = 0;
    for (int i = rank == 0 ? 1 : 0; i < (rank == 0 ? n : 1); i++) put(out, k++, i);
    return k;
}

static int ring(int n, int rank, int *out) {
    int left = (rank + n - 1) % n, right = (rank + 1) % n;
    if (n < 2) return 0;
    put(out, 0, left < right ? left : right);
    if (left == right) return 1;
    put(out, 1, left < right ? right : left);
    return 2;
}

static int complete(int n, int rank, int *out) {
    int k = 0;
    for (int i = 0; i < n; i++)
        if (i != rank) put(out, k++, i);
    return k;
}

/* The largest divisor of n that is not above its root of that degree: the short side of a grid that is as square as n allows. */
static int short_side(int n, double degree) {
    int side = (int)floor(pow(n, 1 / degree) + 1e-9);
    while (side > 1 && n % side) side--;
    return side < 1 ? 1 : side;
}

/* Neighbours in a grid without wrap-around whose sides are given, the last one varying fastest. */
static int grid(const int *sides, int n_sides, int rank, int *out) {
    int k = 0, lower[3], upper[3], n_lower = 0, n_upper = 0, stride = 1;
    for (int d = n_sides - 1; d >= 0; d--) {
        int at = rank / stride % sides[d];
        if (at > 0) lower[n_lower++] = rank - stride;
        if (at < sides[d] - 1) upper[n_upper++] = rank + stride;
        stride *= sides[d];
    }
    for (int i = n_lower - 1; i >= 0; i--) put(out, k++, lower[i]);
    for (int i = 0; i < n_upper; i++) put(out, k++, upper[i]);
    return k;
}

static void sides_2d(int n, int sides[2]) {
    sides[0] = short_side(n, 2);
    sides[1] = n / sides[0];
}

static void sides_3d(int n, int sides[3]) {
    sides[0] = short_side(n, 3);
    sides_2d(n / sides[0], sides + 1);
}

static int grid_2d(int n, int rank, int *out) {
    int sides[2];
    sides_2d(n, sides);
    return grid(sides, 2, rank, out);
}

static int grid_3d(int n, int rank, int *out) {
    int sides[3];
    sides_3d(n, sides);
    return grid(sides, 3, rank, out);
}

static const char *shape_2d(int n, char *buf, size_t size) {
    int sides[2];
    sides_2d(n, sides);
    snprintf(buf, size, "%dx%d", sides[0], sides[1]);
    return buf;
}

static const char *shape_3d(int n, char *buf, size_t size) {
    int sides[3];
    sides_3d(n, sides);
    snprintf(buf, size, "%dx%dx%d", sides[0], sides[1], sides[2]);
    return buf;
}

static int power_of_two(int n) {
    int p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

static int hypercube(int n, int rank, int *out) {
    int k = 0;
    for (int bit = n / 2; bit > 0; bit /= 2)
        if (rank & bit) put(out, k++, rank ^ bit);
    for (int bit = 1; bit < n; bit *= 2)
        if (!(rank & bit)) put(out, k++, rank ^ bit);
    return k;
}

const struct nx_topology nx_topologies[] = {
    {"star", everybody, star, NULL}, {"ring", everybody, ring, NULL}, {"complete", everybody, complete, NULL},
    {"grid2d", everybody, grid_2d, shape_2d}, {"grid3d", everybody, grid_3d, shape_3d},
    {"hypercube", power_of_two, hypercube, NULL},
    {0},
};

int64_t nx_channels(const struct nx_topology *t, int n) {
    int64_t ends = 0;
    for (int rank = 0; rank < n; rank++) ends += t->neighbours(n, rank, NULL);
    return ends / 2;
}
