/* Arrays whose every word is known: a counter, shifted by who sends it to whom. Pure. */
#ifndef NX_WORDS_H
#define NX_WORDS_H

#include "common/base/nl_usual.h"

/* A word that is not what it should be. */
struct nx_wrong_word {
    int64_t offset_bytes; /* of the first byte that differs */
    uint32_t expected, found;
};

/* First word of what `sender` sends to `receiver` when the counter stands there; word i is that plus i. The shifts are odd constants apart,
 * so that an array that went astray, or one of an earlier exchange, is not taken for another one. Source: Kurgalin, Krivtsov & Parshina
 * (load test). */
static inline uint32_t nx_words_first(uint32_t counter, int sender, int receiver) {
    return counter * UINT32_C(0x01000193) + (uint32_t)sender * UINT32_C(0x9e3779b1) + (uint32_t)receiver * UINT32_C(0x85ebca77);
}

/* Fills `bytes` bytes, a multiple of 4. */
void nx_words_fill(void *array, int bytes, uint32_t first);

/* The next wrong word from byte `from` (a multiple of 4) on. @return where to go on from, -1: no more is wrong. */
int64_t nx_words_check(const void *array, int bytes, int64_t from, uint32_t first, struct nx_wrong_word *wrong);

#endif
