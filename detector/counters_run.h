/* Counters of the kernel and of the ranks around each half. */
#pragma once

#include "detector/run_state.h"

/* counters_run.c, nothing without a load. open is collective, after the folder is known; 0 or -1. begin and
 * end stand around a loop, end while the arm is still on. */
int nd_counters_open(struct nd_run *r);
void nd_counters_close(struct nd_run *r);
void nd_counters_begin(struct nd_run *r);
void nd_counters_end(struct nd_run *r, struct nd_sample *s); /* `s` gets what this rank found */
void nd_counters_row(struct nd_run *r, const struct nd_step *step,
                     const struct nd_half_sum *node); /* `node`: sum over its ranks */
