/* Algorithms of collectives and exchanges of neighbours, as rounds. */
#include "patterns.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int64_t log2_up(int64_t p) {
    int64_t rounds = 0;
    while (((int64_t)1 << rounds) < p)
        rounds++;
    return rounds;
}

static double all_bytes(int64_t p, double bytes) { return (void)p, bytes; }
static double no_bytes(int64_t p, double bytes) { return (void)p, (void)bytes, 1; }
static double share_of_bytes(int64_t p, double bytes) {
    return bytes / (double)p > 1 ? bytes / (double)p : 1;
}

/* Dissemination (Hensgen, Finkel, Manber 1988). */
static int64_t behind(int64_t p, int64_t rank, int64_t round) {
    return (rank - ((int64_t)1 << round) % p + p) % p;
}
static int64_t ahead(int64_t p, int64_t rank, int64_t round) { return (rank + ((int64_t)1 << round)) % p; }

/* Recursive doubling (Thakur, Rabenseifner, Gropp 2005); ranks beyond the largest power of two hand theirs to
 * one below first, and get it back last. */
static int64_t power_below(int64_t p) {
    int64_t power = 1;
    while (power * 2 <= p)
        power *= 2;
    return power;
}

static int64_t doubling_rounds(int64_t p) { return log2_up(power_below(p)) + (power_below(p) < p ? 2 : 0); }

static int64_t doubling(int64_t p, int64_t rank, int64_t round, int receives) {
    int64_t power = power_below(p), extra = power < p;
    if (extra && round == 0) {
        if (rank >= power) return receives ? -1 : rank - power;
        return receives && rank + power < p ? rank + power : -1;
    }
    if (extra && round == doubling_rounds(p) - 1) {
        if (rank >= power) return receives ? rank - power : -1;
        return !receives && rank + power < p ? rank + power : -1;
    }
    return rank < power ? rank ^ ((int64_t)1 << (round - extra)) : -1;
}

static int64_t doubling_from(int64_t p, int64_t rank, int64_t round) { return doubling(p, rank, round, 1); }
static int64_t doubling_to(int64_t p, int64_t rank, int64_t round) { return doubling(p, rank, round, 0); }

/* A binomial tree: down from rank 0, with the farthest first; up to it, with the nearest first. */
static int64_t down_from(int64_t p, int64_t rank, int64_t round) {
    int64_t far = (int64_t)1 << (log2_up(p) - 1 - round);
    return rank % (2 * far) == far ? rank - far : -1;
}

static int64_t down_to(int64_t p, int64_t rank, int64_t round) {
    int64_t far = (int64_t)1 << (log2_up(p) - 1 - round);
    return rank % (2 * far) == 0 && rank + far < p ? rank + far : -1;
}

static int64_t up_from(int64_t p, int64_t rank, int64_t round) {
    return down_to(p, rank, log2_up(p) - 1 - round);
}
static int64_t up_to(int64_t p, int64_t rank, int64_t round) {
    return down_from(p, rank, log2_up(p) - 1 - round);
}

/* A ring: reduce-scatter, then allgather. */
static int64_t ring_rounds(int64_t p) { return 2 * (p - 1); }
static int64_t left_of(int64_t p, int64_t rank, int64_t round) { return (void)round, (rank + p - 1) % p; }
static int64_t right_of(int64_t p, int64_t rank, int64_t round) { return (void)round, (rank + 1) % p; }

/* Everybody with everybody, one at a time. */
static int64_t pair_rounds(int64_t p) { return p - 1; }
static int64_t pair_from(int64_t p, int64_t rank, int64_t round) { return (rank + p - 1 - round) % p; }
static int64_t pair_to(int64_t p, int64_t rank, int64_t round) { return (rank + 1 + round) % p; }

/* Neighbours in a torus of nearly equal sides: two rounds for each side. */
static void sides_of(int64_t p, int n, int64_t *side) {
    for (int i = 0; i < n; i++) {
        int64_t wanted = (int64_t)floor(pow((double)p, 1.0 / (n - i)) + 1e-9);
        while (p % wanted != 0)
            wanted--;
        side[i] = wanted;
        p /= wanted;
    }
}

static int64_t neighbour(int64_t p, int64_t rank, int64_t round, int n, int sign) {
    int64_t side[3], stride = 1;
    sides_of(p, n, side);
    for (int64_t i = 0; i < round / 2; i++)
        stride *= side[i];
    int64_t length = side[round / 2], at = rank / stride % length, step = round % 2 == 0 ? sign : -sign;
    return length == 1 ? -1 : rank + ((at + step + length) % length - at) * stride;
}

static int64_t halo2_rounds(int64_t p) { return (void)p, 4; }
static int64_t halo2_from(int64_t p, int64_t rank, int64_t round) { return neighbour(p, rank, round, 2, -1); }
static int64_t halo2_to(int64_t p, int64_t rank, int64_t round) { return neighbour(p, rank, round, 2, 1); }
static int64_t halo3_rounds(int64_t p) { return (void)p, 6; }
static int64_t halo3_from(int64_t p, int64_t rank, int64_t round) { return neighbour(p, rank, round, 3, -1); }
static int64_t halo3_to(int64_t p, int64_t rank, int64_t round) { return neighbour(p, rank, round, 3, 1); }

static const struct pattern patterns[] = {
    {"barrier", log2_up, behind, ahead, no_bytes, 0},
    {"allreduce", doubling_rounds, doubling_from, doubling_to, all_bytes, 1},
    {"doubling", doubling_rounds, doubling_from, doubling_to, all_bytes,
     0}, /* the same, rank by rank: for tests */
    {"bcast", log2_up, down_from, down_to, all_bytes, 0},
    {"reduce", log2_up, up_from, up_to, all_bytes, 0},
    {"ring", ring_rounds, left_of, right_of, share_of_bytes, 0},
    {"alltoall", pair_rounds, pair_from, pair_to, all_bytes, 0},
    {"halo2d", halo2_rounds, halo2_from, halo2_to, all_bytes, 0},
    {"halo3d", halo3_rounds, halo3_from, halo3_to, all_bytes, 0},
};

const struct pattern *find_pattern(const char *name) {
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(patterns[i].name, name) == 0) return &patterns[i];
    return NULL;
}
