/* Waiting until the CPUs of a node are quiet. */
#pragma once

#include "detector/acceptance/accept_run.h"

/* Waits on the node's first rank, at most so long (0: not), until no CPU that this node's processes may use
 * is more than 2 % busy or stolen; says who keeps them busy where that takes longer. Before the record of the
 * others begins. Local. */
void nx_wait_quiet(struct nx_others *others, const struct nd_launcher *launcher, int64_t most_ns,
                   const volatile int *stop_asked);
