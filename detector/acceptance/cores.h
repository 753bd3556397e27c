/* Which CPUs of the nodes are looked at, and by which rank. */
#ifndef NX_CORES_H
#define NX_CORES_H

#include "detector/acceptance/accept_run.h"

/* Shares the CPUs of every node out among its ranks: a rank has the one that it is bound to, and those without a rank go round. Fills
 * r->cores, r->n_cores, r->n_slots. Nodes take their turns together, or, where they are parts of one machine, one after the other.
 * Collective. 0, or -1 with a reason. */
int nx_cores_share(struct nx_run *r, char reason[NX_REASON_BYTES]);

enum { NX_MASK_BYTES = 1024 /* CPU c is bit c % 8 of byte c / 8 */ };

/* Gives every CPU in `cpus` one of the node's ranks, into owners[8 * NX_MASK_BYTES]; -1: not looked at. The rank that is bound to this CPU
 * alone; else ranks in turn that are bound to it among others; else ranks in turn. Pure.
 * @param masks  what each rank is bound to, one behind the other. @param bound  the CPU of a rank that is bound to one; -1. */
void nx_cores_assign(int *owners, const unsigned char *cpus, const unsigned char *masks, const int *bound, int n_ranks);

#endif
