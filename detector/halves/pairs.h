/* Differences on - off of a figure, pair by pair. */
#pragma once

#include "detector/halves/half_sum.h"

/* Differences on - off of a figure, pair by pair. n_arms: with off. NULL when memory is short. */
struct nd_pairs *nd_pairs_open(int n_configs, int n_arms);

/* Each on half pairs with the off half of its pair or set. NaN makes no pair. */
void nd_pairs_half(struct nd_pairs *p, int config, const struct nd_step *step, double value);

/* Of an arm (from 1; 0 is off). */
const struct nd_moments *nd_pairs_of(const struct nd_pairs *p, int config, int arm);
void nd_pairs_close(struct nd_pairs *p);
