/* Differences on - off of a figure, pair by pair, while a run is under way. */
#pragma once

#include "detector/design/schedule.h"

/* Running mean and sum of squared deviations (Welford 1962). */
struct nd_moments { int64_t n; double mean, m2; };

struct nd_pairs;

/* @param n_arms  on arms and off. NULL when memory is short. */
struct nd_pairs *nd_pairs_open(int n_configs, int n_arms);

/* Takes a half's figure: each on half pairs with the off half of its pair or set. NaN makes no pair.
 * @param config  from 0: whose differences are kept apart; may be 0 throughout, because the halves of a pair follow each other. */
void nd_pairs_half(struct nd_pairs *p, int config, const struct nd_step *step, double value);

/* Differences so far of an arm (from 1; 0 is off). */
const struct nd_moments *nd_pairs_of(const struct nd_pairs *p, int config, int arm);
void nd_pairs_close(struct nd_pairs *p);
