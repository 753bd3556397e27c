/* How a launch spends its time, for people. */
#ifndef NX_PLAN_H
#define NX_PLAN_H

#include "options.h"

/* Prints the plan: checks, repetitions, seconds. `n_ranks`: as the launcher says. Local. */
void nx_plan_print(const struct nx_options *o, int n_ranks);

#endif
