/* Work of a fixed amount: the same instructions on every rank and in every call, whatever the clock says, so that differences in when ranks
 * are done are the machine's. */
#pragma once

#include "common/base/nl_usual.h"

/* Runs n steps of arithmetic that the compiler can neither shorten nor split; no memory, no system call. */
void nd_work(int64_t n_steps);

/* Steps per ns on this CPU now: the fastest of several trials of about 1 ms. Local. */
double nd_work_rate(void);
