/* A launch that follows a running program. */
#pragma once

#include "detector/run_state.h"

/* follow_program.c: finds the program's ranks and beat; sleeps on their CPUs. Lengthens halves that hold too
 * few beats. 0 or -1. */
int nd_run_follow_program(struct nd_run *r, struct nd_options *o);
