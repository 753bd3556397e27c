/* Which nodes are treated. */
#pragma once

#include "detector/plan/plan.h"

/* Whether a name means this host, whatever the case; where one of the two is without its domain, by what is
 * before the first dot. */
int nd_host_is_called(const char *host, const char *name);

/* Whether --noise-nodes means a node; `has_rank_0`: rank 0 runs on it. */
int nd_nodes_hold(const struct nd_nodes *nodes, const char *host, int has_rank_0);

/* Whether every name in the list means a node of this launch; rank 0 says what is wrong. Collective. 0, or -1
 * (the same on all ranks). */
int nd_nodes_check(const struct nd_nodes *nodes, const struct nd_team *team, const char *host);

/* Where in its period a node's noise begins, 0..1. `own`, `common`: drawn for this node, and for all. It is
 * number `index` of n. */
double nd_noise_phase(enum nd_phase phase, double own, double common, int index, int n);
