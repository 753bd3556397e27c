#ifndef NOISELAB_COUNTER_H
#define NOISELAB_COUNTER_H

#include <stdint.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/* A number above 0 and below 1 that depends on its counters alone: the same for any number of threads, and in
 * any order. */
static inline double counter_uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = mix(seed + 0x9e3779b97f4a7c15ULL * (a + 1));
    x = mix(x + 0x9e3779b97f4a7c15ULL * (b + 1));
    x = mix(x + 0x9e3779b97f4a7c15ULL * (c + 1));
    return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

#endif
