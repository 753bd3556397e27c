#ifndef NOISELAB_PATTERNS_H
#define NOISELAB_PATTERNS_H

#include <stdint.h>

/* What P ranks send each other in rounds. In a round a rank sends at most one message and then receives at
 * most one. */
struct pattern {
    const char *name;
    int64_t (*rounds)(int64_t p);
    int64_t (*from)(int64_t p, int64_t rank,
                    int64_t round);                        /* whose message the rank receives, -1: of none */
    int64_t (*to)(int64_t p, int64_t rank, int64_t round); /* to whom it sends, -1: to none */
    double (*bytes)(int64_t p, double bytes); /* of a message, of an operation of so many bytes */
    int doubles; /* in round k rank r and r ^ 2^k exchange, where p is a power of two */
};

/* The pattern of that name, NULL: there is none. */
const struct pattern *find_pattern(const char *name);

#endif
