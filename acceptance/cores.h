/* Which CPUs of the nodes are looked at, and by which rank. */
#ifndef NX_CORES_H
#define NX_CORES_H

#include "run.h"

/* Shares the CPUs of every node out among its ranks: a rank has the one that it is bound to, and those without a rank go round. Fills r->cores,
 * r->n_cores, r->n_slots. Nodes take their turns together, or, where they are parts of one machine, one after the other. Collective. 0, or -1
 * with a reason. */
int nx_cores_share(struct nx_run *r, char reason[NX_REASON_BYTES]);

#endif
