/* Work of a fixed amount, for operations and checks. */
#pragma once

#include "detector/ops/ops.h"

/* Work of a fixed amount, whatever the clock says: n steps of arithmetic that the compiler can neither
 * shorten nor split. */
void nd_work(int64_t n_steps);
double nd_work_rate(void); /* steps per ns on this CPU now: the fastest of several trials of about 1 ms */
