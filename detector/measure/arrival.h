/* Patterns of late arrivals. */
#pragma once

#include "detector/measure/starts.h"

/* Of this rank: shares of the amount, or ns with `needs_trace`. 0, or -1 with a reason, the same on every
 * rank. Local. */
int nd_arrival_fill(const struct nd_arrival *a, const struct nd_arrival_request *r, double *delays,
                    char *reason, size_t reason_size);
