/* When the bursts of a node begin. */
#pragma once

#include "noisegen/gen_options.h"

/* Begin of the first period, CLOCK_MONOTONIC, by both clocks now. Aligned: the next whole multiple of the
 * pattern's period on CLOCK_REALTIME, or the next whole second of patterns without one. Staggered: node i of
 * n is i/n of that later. Random: later by a part of it drawn for this node. */
int64_t ng_phase_start_ns(const struct ng_options *options, int64_t monotonic_ns, int64_t realtime_ns);
