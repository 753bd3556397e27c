/* Log ratios of the channel `time`, pair by pair, while a run is under way. */
#ifndef ND_PAIRS_H
#define ND_PAIRS_H

#include "channels.h"

/* Running mean and sum of squared deviations (Welford 1962). */
struct nd_moments {
    int64_t n;
    double mean, m2;
};

struct nd_pairs;

/* @param n_arms  on arms and off. NULL when memory is short. */
struct nd_pairs *nd_pairs_open(int n_configs, int n_arms);

/* Takes a half: each on half pairs with the off half of its pair or set. A half without a value makes no pair. */
void nd_pairs_half(struct nd_pairs *p, const struct nd_half *h);

/* Log ratios on/off so far of an arm (from 1; 0 is off). */
const struct nd_moments *nd_pairs_of(const struct nd_pairs *p, int config, int arm);

/* NULL is fine. */
void nd_pairs_close(struct nd_pairs *p);

#endif
