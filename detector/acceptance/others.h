/* Who else had a node's CPUs during a launch: noiselab-record, started by the node's first rank and ended
 * with the last check. */
#pragma once

#include "detector/acceptance/accept_run.h"

/* Starts it on the node's first rank. Before MPI_Init: an initialised MPI must not fork. Ranks and what
 * started them are no others.
 * @param longest_ns  it ends by itself then, whatever happens to us. */
void nx_others_start(struct nx_others *others, const struct nd_launcher *launcher, int64_t longest_ns);

/* Ends it. What is to be said of the node as JSON (docs/reference/formats.md, "others", without the host), to
 * be freed; NULL: another rank answers for it. Local. */
char *nx_others_stop(struct nx_others *others);
