/* What a launch finds on its nodes before it measures. */
#pragma once

#include "detector/run_state.h"

/* look_around.c: what the ranks' CPUs do before anything is measured; waits for quiet ones where that was
 * asked. -1: asked to stop. */
int nd_run_look_around(struct nd_run *r);

/* The CPUs to look at, flags that are to be freed: the ranks' own, or where they are not bound all that this
 * process may use. NULL: no memory. Of a node's first rank. */
unsigned char *nd_run_choose_cpus(const struct nd_run *r, int *n_cpus);
