/* How a launch spends its time: for people, or as one JSON object for programs (docs/reference/formats.md). */
#ifndef NX_PLAN_H
#define NX_PLAN_H

#include "detector/acceptance/accept_options.h"

/* Prints the plan: checks, repetitions, seconds. `n_ranks`: as the launcher says. Local. */
void nx_plan_print(const struct nx_options *o, int n_ranks);

/* The same as JSON, one line. Returns 0, or -1 when memory is short or stdout is full. Local. */
int nx_plan_print_json(const struct nx_options *o, int n_ranks);

#endif
