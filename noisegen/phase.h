/* Where in time a generator alone begins, so that noise on several nodes is in step, out of step, or unrelated. */
#pragma once

#include "noisegen/gen_options.h"

/* Begin of the first period, CLOCK_MONOTONIC.
 *
 * Aligned: the next whole multiple of the pattern's period on CLOCK_REALTIME, which nodes share as well as their time service keeps it; for
 * periods that divide a second that is in step with the second. Poisson and replayed patterns, which have no period, begin with the next
 * whole second, so they must be started within the same second on all nodes. Staggered: node i of n is i/n of that period later. Random:
 * later by a part of it drawn for this node.
 *
 * @param monotonic_ns, realtime_ns  the two clocks now. */
int64_t ng_phase_start_ns(const struct ng_options *options, int64_t monotonic_ns, int64_t realtime_ns);
