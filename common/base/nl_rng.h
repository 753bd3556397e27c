/* Seeded random numbers: the same seed gives the same schedule on every machine.
 * Generator: xoshiro256** (Blackman & Vigna 2021, doi 10.1145/3460772), seeded by splitmix64. */
#pragma once

#include "common/base/nl_usual.h"

struct nl_rng {
    uint64_t s[4];
};

static inline uint64_t nl_splitmix64(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Starts a stream; different `stream` numbers of one seed are independent. */
static inline void nl_rng_init(struct nl_rng *rng, uint64_t seed, uint64_t stream) {
    uint64_t state = seed;
    state = nl_splitmix64(&state) ^ (stream * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; i++)
        rng->s[i] = nl_splitmix64(&state);
}

static inline uint64_t nl_rotl64(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

/* Next 64 random bits. */
static inline uint64_t nl_rng_next(struct nl_rng *rng) {
    uint64_t *s = rng->s;
    uint64_t result = nl_rotl64(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = nl_rotl64(s[3], 45);
    return result;
}

/* Uniform in [0, 1), 53 bits. */
static inline double nl_rng_uniform(struct nl_rng *rng) { return (double)(nl_rng_next(rng) >> 11) * 0x1p-53; }

/* Uniform in 0..n-1, without modulo bias (n > 0). */
static inline uint64_t nl_rng_below(struct nl_rng *rng, uint64_t n) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x;
    do
        x = nl_rng_next(rng);
    while (x >= limit);
    return x % n;
}

/* Fisher-Yates shuffle of the numbers in `a`. */
static inline void nl_rng_shuffle(struct nl_rng *rng, int *a, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = (int)nl_rng_below(rng, (uint64_t)i + 1);
        int t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}
