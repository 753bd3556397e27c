/* Which nodes are treated, and where each of them stands among the others. */
#pragma once

#include "detector/options/options.h"
#include "detector/nodes/team.h"

/* Whether a name that the user gave means this host: equal letter for letter, whatever their case; where one of the two is without its
 * domain, the names before the first dot. Local. */
int nd_host_is_called(const char *host, const char *name);

/* Whether --noise-nodes means a node: `has_rank_0` says whether rank 0 runs on it. Knows nothing of arms. Local. */
int nd_nodes_hold(const struct nd_nodes *nodes, const char *host, int has_rank_0);

/* Adds to n_meant[i] the nodes that the i-th name of the list means, here this one, and to n_meant[list length + i] those of them that are
 * not called so letter for letter. Local. */
void nd_nodes_count(const struct nd_nodes *nodes, const char *host, int *n_meant);

/* Index of the first name that, so counted over all nodes, means none, or several of which not all are called so; -1: there is none.
 * Local. */
int nd_nodes_find_wrong(const struct nd_nodes *nodes, const int *n_meant);

/* Whether every name in the list means a node of this launch, and one without its domain only one; otherwise rank 0 says which one does
 * not, and what the nodes are called.
 * Collective. 0, or -1 (the same on all ranks). */
int nd_nodes_check(const struct nd_nodes *nodes, const struct nd_team *team, const char *host);

/* Where in its period a node's noise begins, 0..1.
 * @param own, common  drawn for this node and half, and for the half on all nodes: 0..1.
 * @param index, n  which of the n treated nodes it is, from 0. */
double nd_noise_phase(enum nd_phase phase, double own, double common, int index, int n);
