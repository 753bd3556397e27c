/* Whether the bursts of a task come at a period. */
#pragma once

#include "noisegen/top/top.h"

/* The period of bursts by their starts, rising: what most of the time between them is a multiple of; bursts
 * that come closely together are one. 0: none. */
int64_t nt_period(const int64_t *starts_ns, int n);
