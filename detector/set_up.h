/* What a launch opens before its first half, and closes at its end. */
#pragma once

#include "detector/run_state.h"

/* set_up.c: each step is collective, says what is wrong where it is wrong, and is agreed on by all ranks; 0
 * or -1. */
int nd_run_allocate(struct nd_run *r);
int nd_run_set_up_nodes(struct nd_run *r);
int nd_run_open_clocks(struct nd_run *r);
int nd_run_set_up(struct nd_run *r); /* all of them, and the rest */
void nd_run_tear_down(struct nd_run *r);
void nd_run_report_clock_step(
    const struct nd_run *r); /* one line about what this rank knows of a clock that jumped, if anything */
