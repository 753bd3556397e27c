/* Activities: bursts that follow each other closely, as one. */
#pragma once

#include "noisegen/recorder/summary.h"

/* Joins bursts, sorted by start, that are at most gap_ns apart; by_cpu: each CPU for itself. activities: room
 * for n; sorted by start. Their number. */
size_t nr_activities(const struct nr_burst *bursts, size_t n, int64_t gap_ns, int by_cpu,
                     struct nr_activity *activities);

/* Finds gap (gap_ns 0) and period together (docs/methods.md, Recording who ran). bursts: sorted by start. 0,
 * -1 without memory. */
int nr_rhythm(const struct nr_burst *bursts, size_t n, int64_t gap_ns, struct nr_rhythm *rhythm);
