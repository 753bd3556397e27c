#include "detector/acceptance/topologies.h"

static void put(int *out, int k, int rank) {
    if (out) out[k] = rank;
}

static int star(const struct nx_topology *t, int n, int rank, int *out) {
    int k = 0;
    (void)t;
    for (int i = rank == 0 ? 1 : 0; i < (rank == 0 ? n : 1); i++)
        put(out, k++, i);
    return k;
}

static int ring(const struct nx_topology *t, int n, int rank, int *out) {
    int left = (rank + n - 1) % n, right = (rank + 1) % n;
    (void)t;
    if (n < 2) return 0;
    put(out, 0, left < right ? left : right);
    if (left == right) return 1;
    put(out, 1, left < right ? right : left);
    return 2;
}

static int complete(const struct nx_topology *t, int n, int rank, int *out) {
    int k = 0;
    (void)t;
    for (int i = 0; i < n; i++)
        if (i != rank) put(out, k++, i);
    return k;
}

/* Sides of a grid that is as square as n allows: each is the largest divisor of what the ones before it left
 * that is not above its root. */
static void find_sides(int n, int n_sides, int sides[3]) {
    for (int d = n_sides; d > 0; d--) {
        int side = (int)floor(pow(n, 1. / d) + 1e-9);
        while (side > 1 && n % side)
            side--;
        *sides++ = side = d == 1 ? n : side < 1 ? 1 : side;
        n /= side;
    }
}

/* Neighbours in a grid without wrap-around, the last side varying fastest. */
static int grid(const struct nx_topology *t, int n, int rank, int *out) {
    int k = 0, sides[3], lower[3], upper[3], n_lower = 0, n_upper = 0, stride = 1;
    find_sides(n, t->n_sides, sides);
    for (int d = t->n_sides - 1; d >= 0; d--) {
        int at = rank / stride % sides[d];
        if (at > 0) lower[n_lower++] = rank - stride;
        if (at < sides[d] - 1) upper[n_upper++] = rank + stride;
        stride *= sides[d];
    }
    for (int i = n_lower - 1; i >= 0; i--)
        put(out, k++, lower[i]);
    for (int i = 0; i < n_upper; i++)
        put(out, k++, upper[i]);
    return k;
}

static int hypercube(const struct nx_topology *t, int n, int rank, int *out) {
    int k = 0;
    (void)t;
    for (int bit = n / 2; bit > 0; bit /= 2)
        if (rank & bit) put(out, k++, rank ^ bit);
    for (int bit = 1; bit < n; bit *= 2)
        if (!(rank & bit)) put(out, k++, rank ^ bit);
    return k;
}

const struct nx_topology nx_topologies[] = {
    {"star", star, 0},
    {"ring", ring, 0},
    {"complete", complete, 0},
    {"grid2d", grid, 2},
    {"grid3d", grid, 3},
    {"hypercube", hypercube, 0},
    {0},
};

int nx_topology_ranks(const struct nx_topology *t, int n) {
    int power = 1;
    while (power <= n / 2)
        power *= 2;
    return t->neighbours == hypercube ? power : n;
}

const char *nx_topology_tell(const struct nx_topology *t, int n, char *buf, size_t size) {
    int sides[3];
    find_sides(n, t->n_sides, sides);
    snprintf(buf, size, "%s", t->name);
    for (int d = 0; d < t->n_sides; d++)
        snprintf(buf + strlen(buf), size - strlen(buf), "%c%d", d ? 'x' : ':', sides[d]);
    return buf;
}

int64_t nx_channels(const struct nx_topology *t, int n) {
    int64_t ends = 0;
    for (int rank = 0; rank < n; rank++)
        ends += t->neighbours(t, n, rank, NULL);
    return ends / 2;
}
